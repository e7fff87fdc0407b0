// What is typed into the search field: an id, a name, a target, or part of a title.
import {get, getPage} from './api.js';

// The only plan whose title matches, else the list.
async function findTitle(title) {
  let found = {items: []};
  try {
    found = await getPage('v1/plans', {title, limit: 2});
  } catch { /* the list's page shows why */ }
  location.hash = found.items.length === 1 && !found.next ? `#/plan/${encodeURIComponent(found.items[0].id)}` : `#/plans?title=${encodeURIComponent(title)}`;
}

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
    await findTitle(/[*?[]/.test(text) ? text : `*${text}*`);
  }
}
