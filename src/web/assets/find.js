// What is typed into the search field: an id, a name, a target, or part of a title.
import {get} from './api.js';

export async function findText(event) {
  event.preventDefault();
  const text = new FormData(event.target).get('text').trim();
  if (!text) return;
  event.target.reset();
  const names = [/^[0-9a-f]{1,16}$/.test(text) ? text : '', `key:${text}`].filter(Boolean);
  for (const name of names) {
    try {
      const plan = await get(`v1/plans/${encodeURIComponent(name)}`);
      location.hash = `#/plan/${encodeURIComponent(plan.id)}`;
      return;
    } catch { /* it is none */ }
  }
  try {
    await get(`v1/targets/${encodeURIComponent(text)}`);
    location.hash = `#/plans?target=${encodeURIComponent(text)}`;
  } catch {
    location.hash = `#/plans?title=${encodeURIComponent(/[*?[]/.test(text) ? text : `*${text}*`)}`;
  }
}
