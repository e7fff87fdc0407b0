// One plan: why it does not run now, its runs and the coming ones, its fields and frames, and what can be done.
import {post, ask} from './api.js';
import {Copy, State, Time, Trouble, act, confirmed, durationText, html, s, scheduleText, useData, useOnce} from './ui.js';
import {RunRows} from './runs.js';
import {t} from './text.js';

const nameOf = plan => s(plan.title) || s(plan.name) || s(plan.id);

export function Plan({words, may}) {
  const id = words[0], base = `v1/plans/${encodeURIComponent(id)}`;
  const found = useData(base, {frames: 1}, 5000);
  const next = useData(`${base}/next`, {count: 10}, 5000);
  const why = useData(`${base}/why`, undefined, 5000);
  const runs = useData(`${base}/runs`, {newest: 1, limit: 20, output: 1}, 5000);
  const plan = found.data;
  const reload = () => [found, next, why, runs].forEach(one => one.reload());
  const [busy, once] = useOnce();
  const run = (call, done) => once(async () => {
    await act(call, done);
    reload();
  });
  const gone = found.error && found.error.status === 404;
  if (!plan || gone) return html`<h1 tabindex="-1">${plan ? nameOf(plan) : html`${t('Plan')} ${s(id)}`}</h1>${plan ? html`<p role="status">${t('It has ended, or was removed.')}</p>` : found.error ? html`<${Trouble} error=${found.error} />` : html`<p>${t('Reading…')}</p>`}
    ${runs.data && runs.data.items.length > 0 && html`<h2>${t('Its runs')}</h2><${RunRows} runs=${runs.data.items} open=${true} />`}`;
  const stopped = ['paused', 'error', 'closed'].includes(plan.state);
  const items = runs.data ? runs.data.items : [];
  return html`<h1 tabindex="-1">${nameOf(plan)}</h1><${Trouble} error=${found.error} />
    <p><${State} of=${plan.state} /> ${plan.name && html`<span class="quiet">${t('name')} ${s(plan.name)}</span> `}<${Copy} text=${plan.id} label=${s(plan.id)} />
      ${plan.stopped && html`<span class="warn"> ${s(plan.stopped.why)} ${plan.stopped.by ? t('by {who}', {who: s(plan.stopped.by)}) : ''} ${plan.stopped.at && html`<${Time} at=${plan.stopped.at} />`}</span>`}</p>
    ${may('manage') && html`<p class="buttons" aria-busy=${busy}><button class="primary" onClick=${() => run(() => post(`${base}/run`), t('It runs.'))}>${t('Run now')}</button>
      ${stopped ? html`<button title=${t('If a time has passed, it runs at once.')} onClick=${() => run(() => post(`${base}/resume`), t('Resumed.'))}>${t('Resume')}</button>`
    : html`<button onClick=${() => run(() => post(`${base}/pause`), t('Paused.'))}>${t('Pause')}</button>`}
      <button onClick=${() => run(() => post(`${base}/skip`, {count: 1}), t('The next run is skipped.'))}>${t('Skip the next')}</button>
      ${plan.state === 'running' && html`<button onClick=${async () => await confirmed(t('Cancel this run?'), [s(plan.title) || s(plan.id)], t('Cancel the run')) && run(() => post(`${base}/cancel`, {reason: 'cancelled in the console'}), t('Cancelled.'))}>${t('Cancel the run')}</button>`}
      <a class="button" href=${'#/edit/' + encodeURIComponent(id)}>${t('Edit')}</a>
      <button onClick=${async () => await confirmed(t('Close this plan?'), [t('It runs no more, and is kept.')], t('Close')) && run(() => post(`${base}/close`), t('Closed.'))}>${t('Close')}</button>
      <button class="danger" onClick=${async () => {
    if (!await confirmed(t('Remove this plan?'), [s(plan.title) || s(plan.id)], t('Remove'))) return;
    if (await act(() => ask('DELETE', base), t('Removed.')) !== null) location.hash = '#/plans';
  }}>${t('Remove')}</button></p>`}
    <section class="card" aria-label=${t('Why not now')}><h2>${t('Why not now?')}</h2><${Trouble} error=${why.error} />${why.data && html`<${Why} answer=${why.data} />`}</section>
    <h2>${t('Time line')}</h2><ol class="timeline">${items.slice(0, 8).reverse().map(one => html`<li title=${s(one.reason)}><${State} of=${one.status} /> ${durationText((Date.parse(one.ended_at) - Date.parse(one.started_at)) / 1000)}</li>`)}<li class="now">${t('now')}</li>
      ${next.data && (next.data.never ? html`<li class="bad">${t('never again')}</li>` : (next.data.next || []).slice(0, 5).map(at => html`<li><${Time} at=${at} /></li>`))}</ol>
    <div class="split"><section><h2>${t('Runs')}</h2><${Trouble} error=${runs.error} />${runs.data && (items.length ? html`<${RunRows} runs=${items} open=${true} /><p><a href=${'#/runs?plan=' + encodeURIComponent(s(plan.id))}>${t('All runs')}</a></p>` : html`<p class="quiet">${runs.data.next ? t('No run was found so far.') : t('It has not run yet.')}</p>`)}${runs.short && html`<p><button onClick=${runs.reload}>${t('Read again')}</button></p>`}
      ${plan.failures && plan.failures.length > 0 && html`<h2>${t('Last failures')}</h2><div class="scroll"><table><tbody>${plan.failures.map(one => html`<tr><td><${Time} at=${one.ended_at} /></td><td><${State} of=${one.status} /></td><td>${s(one.reason)}</td></tr>`)}</tbody></table></div>`}</section>
    <section><h2>${t('What and when')}</h2><dl class="facts"><dt>${t('Target')}</dt><dd>${s(plan.target)}</dd><dt>${t('Schedule')}</dt><dd>${s(scheduleText(plan))}</dd>
      <dt>${t('Next run')}</dt><dd><${Time} at=${plan.next_at} /></dd>${Object.entries(plan.counts || {}).map(([name, value]) => html`<dt>${s(name)}</dt><dd>${s(value)}</dd>`)}</dl>
      <h2>${t('Frames')}</h2><pre>${JSON.stringify({command: plan.command, args: plan.args, frames: plan.frames}, null, 1)}</pre>
      <details><summary>${t('All fields as JSON')}</summary><pre>${JSON.stringify(plan, null, 1)}</pre></details>
      <p><${Copy} text=${`zplan show ${plan.id}`} label=${t('Copy as zplan show')} /> <${Copy} text=${`curl ${location.origin}${location.pathname}${base}`} label=${t('Copy as curl')} /></p></section></div>`;
}

// The findings of `why`, whatever their names.
function Why({answer}) {
  const lines = answer.reasons || answer.why || answer.findings || answer.items;
  if (Array.isArray(lines)) return lines.length ? html`<ul>${lines.map(line => html`<li>${s(line.why || line.text || line)}${line.until && html` <span class="quiet">${t('until {what}', {what: s(line.until)})}</span>`}</li>`)}</ul>` : html`<p>${t('Nothing keeps it back.')}</p>`;
  return html`<dl class="facts">${Object.entries(answer).filter(([, value]) => typeof value !== 'object').map(([name, value]) => html`<dt>${s(name)}</dt><dd>${s(value)}</dd>`)}</dl>`;
}
