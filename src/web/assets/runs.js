// Runs that have ended: of all, by night, status, target, plan; with what each wrote.
import {queryOf} from './api.js';
import {Empty, FAILED, More, PlanName, Select, State, Time, Trouble, durationText, html, isNone, s, usePages, yesterdayEvening} from './ui.js';
import {t} from './text.js';

const STATUSES = ['', FAILED, 'failed', 'ok', 'timeout', 'not_taken', 'cancelled', 'missed'];

export function Output({output, open}) {
  if (!output) return null;
  const kept = s(output.head).length + s(output.tail).length;
  return html`<details open=${open}><summary>${t('Output')}</summary><pre>${s(output.head)}${output.tail ? `\n… ${t('cut: {size} bytes', {size: s(output.size)})} …\n${s(output.tail)}` : output.size > kept ? '\n…' : ''}</pre></details>`;
}

// `open`: the output of the first is shown at once.
export function RunRows({runs, open = false}) {
  return html`<div class="scroll"><table><thead><tr><th scope="col">${t('Ended')}</th><th scope="col">${t('Plan')}</th><th scope="col">${t('Status')}</th><th scope="col" class="number">${t('Took')}</th><th scope="col">${t('Worker')}</th><th scope="col">${t('Reason')}</th></tr></thead>
    <tbody>${runs.map((run, i) => html`<tr key=${s(run.entry)}><td><${Time} at=${run.ended_at} /></td><td><${PlanName} plan=${run} /></td><td><${State} of=${run.status} />${run.callback && html` <span class="quiet">${t('callback')} ${s(run.callback.state)}</span>`}</td>
      <td class="number">${durationText((Date.parse(run.ended_at) - Date.parse(run.started_at)) / 1000)}</td><td>${s(run.worker)}</td><td>${run.missed === 1 ? t('1 occurrence did not run') : run.missed ? t('{count} occurrences did not run', {count: s(run.missed)}) : s(run.reason)}<${Output} output=${run.output} open=${open && i === 0} /></td></tr>`)}</tbody></table></div>`;
}

export function Runs({query}) {
  const pages = usePages('v1/runs', {limit: 50, newest: 1, output: 1, ...query}, {most: 400});
  const set = fields => {
    location.hash = '#/runs' + queryOf({...query, ...fields});
  };
  const night = status => {
    set({status, from: yesterdayEvening(), to: ''});
  };
  return html`<h1 tabindex="-1">${t('Runs')}</h1>
    <p class="filters"><${Select} label=${t('Status')} value=${query.status || ''} options=${STATUSES.map(status => [status, status === FAILED ? t('any failure') : status.replace('_', ' ') || t('any status')])} onChange=${status => set({status})} />
      <button onClick=${() => night(query.status)}>${t('Since yesterday 18:00')}</button><button onClick=${() => night('missed')}>${t('Missed since yesterday')}</button>${query.from && html`<span>${t('since')} <${Time} at=${query.from} /></span>`}
      ${query.plan && html`<span>${t('of plan')} <a href=${'#/plan/' + encodeURIComponent(query.plan)}>${s(query.plan)}</a></span>`}
      ${Object.keys(query).length > 0 && html`<a class="button" href="#/runs">${t('All runs')}</a>`}<button onClick=${pages.reload}>${t('Read again')}</button></p>
    <${Trouble} error=${pages.error} />
    ${isNone(pages) ? html`<${Empty}>${t('No run is so.')}</${Empty}>` : html`<${RunRows} runs=${pages.items} /><${More} pages=${pages} />`}`;
}
