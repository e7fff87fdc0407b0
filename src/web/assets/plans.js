// Lists of plans: all by filters, those that run, and dead letters.
import {useEffect, useState} from './htm-preact.js';
import {ask, get, patiently, pause, post, queryOf} from './api.js';
import {Empty, More, PlanName, Rows, Select, State, Time, Trouble, act, confirmed, durationText, html, isNone, notify, planLink, reasonOf, s, scheduleText, useData, useOnce, usePages} from './ui.js';
import {Connect} from './connect.js';
import {t} from './text.js';

const base = id => `v1/plans/${encodeURIComponent(s(id))}`;
const STATES = ['', 'queued', 'running', 'retrying', 'paused', 'error', 'closed'];
const ROUNDS = 20;
const ORDERS = [['id', 'newest id last'], ['time', 'next run'], ['stopped', 'stopped last'], ['dead', 'dead letters']];

// Actions on many plans: word -> [text, done, asks first]
const actions = {pause: ['Pause', 'paused'], resume: ['Resume', 'resumed'], run: ['Run now', 'started'], close: ['Close', 'closed', true], remove: ['Remove', 'removed', true]};

// `reload` is called with the ids of those that it failed for.
async function actOnPlans(word, plans, reload, body = {}) {
  const [text, done, asks] = actions[word] || [word, word];
  const ids = plans.map(plan => plan.id), names = plans.map(plan => s(plan.title) || s(plan.id));
  if ((asks || ids.length > 1) && !await confirmed(t('{action} {count} plans?', {action: t(text), count: ids.length}), names, t('{action} {count}', {action: t(text), count: ids.length}))) return;
  const failed = new Map();
  for (const id of ids)
    await patiently(() => word === 'remove' ? ask('DELETE', base(id)) : post(`${base(id)}/${word}`, body)).catch(error => failed.set(id, reasonOf(error)));
  const reasons = [...new Set(failed.values())].slice(0, 3).join('; '), count = ids.length - failed.size;
  if (!failed.size) notify(t('{count} {done}.', {count, done: t(done)}));
  else notify(ids.length === 1 ? reasons : t('{count} {done}, {failed} failed: {reasons}', {count, done: t(done), failed: failed.size, reasons}), 'bad');
  reload(new Set(failed.keys()));
}

const passes = error => !error.status || error.status === 429 || error.status >= 500;

// The job, when it has left this state. It goes on whether or not an answer about it is lost.
async function jobAfter(number, state, look = () => {}) {
  for (let lost = 0; ; await pause(lost ? 1000 : 100)) {
    let job;
    try {
      job = await get(`v1/bulk/${number}`);
    } catch (error) {
      if (!passes(error) || ++lost > 60) throw error;
      continue;
    }
    lost = 0;
    look(job);
    if (job.state === 'failed') throw new Error(job.errors.map(one => s(one.detail)).join('; '));
    if (job.state !== state) return job;
  }
}

// Counts the target's plans that are not stopped, and pauses them once `confirm` of their number says so: {count, done,
// rejected, unknown}, or null.
async function pauseRound(target, confirm, look) {
  const idle = new Set();       // jobs to remove: a job that is removed while it runs would stop
  try {
    const counted = [];
    for (const state of ['queued', 'running', 'retrying']) {
      const {number} = await patiently(() => post('v1/bulk', {action: 'pause', filter: {target, state}}));
      idle.add(number);
      counted.push(await jobAfter(number, 'counting'));
    }
    const total = {count: counted.reduce((sum, job) => sum + job.count, 0), done: 0, rejected: 0, unknown: 0};
    if (total.count && !await confirm(total.count)) return null;
    for (const {number, count} of counted.filter(job => job.count)) {
      idle.delete(number);
      await post(`v1/bulk/${number}/start`, {count});
      const ended = await jobAfter(number, 'running', job => look(total.done + job.done, total.count));
      for (const name of ['done', 'rejected', 'unknown']) total[name] += ended[name];
      idle.add(number);
    }
    return total;
  } finally {
    for (const number of idle) await ask('DELETE', `v1/bulk/${number}`).catch(() => {});
  }
}

async function confirmPause(target, count) {
  const {items} = await get('v1/plans', {target, order: 'time', limit: 20});
  const title = count === 1 ? t('Pause 1 plan of {target}?', {target}) : t('Pause {count} plans of {target}?', {count, target});
  return confirmed(title, items.map(plan => s(plan.title) || s(plan.id)), t('Pause {count}', {count}));
}

// Pauses all plans of a target, however many: their number is confirmed. A plan may change its state while the three states
// are counted, so it is done again until none is found. `look` is called with how many of how many are paused.
export async function pauseTarget(target, look) {
  await act(async () => {
    for (let paused = 0, round = 0; ; round++) {
      const before = paused, total = await pauseRound(target, count => round > 0 || confirmPause(target, count), (done, count) => look(before + done, before + count));
      if (!total) return;
      paused += total.done;
      if (total.done && round < ROUNDS) continue;
      if (total.count) notify(t('{count} paused, {rejected} rejected, {unknown} unknown.', {count: paused, rejected: total.rejected, unknown: total.unknown}), 'bad');
      else notify(t('{count} paused.', {count: paused}));
      return;
    }
  });
}

export const lastCell = plan => plan.last && plan.last.started_at ? html`<${State} of=${plan.last.status} /> ${plan.last.took_s === undefined ? '' : durationText(plan.last.took_s)}` : html`<span class="quiet">–</span>`;

const columns = () => [
  {title: t('Plan'), cell: plan => html`<${PlanName} plan=${plan} />`},
  {title: t('Target'), cell: plan => s(plan.target)},
  {title: t('Schedule'), cell: plan => s(scheduleText(plan))},
  {title: t('Next run'), cell: plan => plan.state === 'queued' || plan.state === 'retrying' ? html`<${Time} at=${plan.next_at} />` : html`<span class="quiet">–</span>`},
  {title: t('Last'), cell: lastCell},
  {title: t('State'), cell: plan => html`<${State} of=${plan.state} />`},
  {title: t('Id'), cell: plan => html`<a href=${planLink(plan.id)}>${s(plan.id)}</a>`},
];

function go(page, query) {
  location.hash = `#/${page}${queryOf(query)}`;
}

export function Plans({query, may}) {
  const targets = useData('v1/targets');
  const [chosen, choose] = useState(new Set()), [busy, once] = useOnce(), [title, setTitle] = useState('');
  const pages = usePages('v1/plans', {limit: 100, ...query}, {live: chosen.size === 0});
  const set = (name, value) => go('plans', {...query, [name]: value});
  const names = targets.data ? targets.data.items.map(target => s(target.name)) : [];
  useEffect(() => {
    choose(new Set());
    setTitle(query.title || '');
  }, [JSON.stringify(query)]);
  const filtered = Object.keys(query).some(name => name !== 'order');
  return html`<h1 tabindex="-1">${t('Plans')}</h1>
    <form class="filters" onSubmit=${event => {
    event.preventDefault();
    set('title', title);
  }}>
      <${Select} label=${t('State')} value=${query.state || ''} options=${STATES.map(state => [state, state || t('any state')])} onChange=${value => set('state', value)} />
      <${Select} label=${t('Target')} value=${query.target || ''} options=${[['', t('any target')], ...names]} onChange=${value => set('target', value)} />
      <${Select} label=${t('Order')} value=${query.order || 'id'} options=${ORDERS.map(([key, text]) => [key, t(text)])} onChange=${value => go('plans', {...query, order: value === 'id' ? '' : value, from: '', to: ''})} />
      <input name="title" type="search" value=${title} onInput=${event => setTitle(event.target.value)} aria-label=${t('Title, * matches anything')} placeholder=${t('title, as report*')} />
      <button>${t('Filter')}</button>${filtered && html`<a class="button" href="#/plans">${t('All plans')}</a>`}
      ${may('submit') && html`<a class="button" href="#/new">+ ${t('New plan')}</a>`}</form>
    ${query.from && html`<p>${t('Due between')} <${Time} at=${query.from * 1000} /> ${t('and')} <${Time} at=${query.to * 1000} /></p>`}
    <${Trouble} error=${pages.error} />
    ${isNone(pages) ? (filtered || query.order ? html`<${Empty}>${t('No plan is so.')}</${Empty}>`
    : html`<${Empty}><p>${t('There are no plans yet.')} <a href="#/new">${t('Make the first one')}</a>, ${t('or')}</p><pre>zplan add --target jobs --command report --weekly mon@08:30</pre>${names.length === 0 && html`<${Connect} />`}</${Empty}>`)
    : html`<${Rows} label=${t('Plans')} columns=${columns()} rows=${pages.items} chosen=${chosen} onChoose=${may('manage') ? choose : undefined} /><${More} pages=${pages} />`}
    ${chosen.size > 0 && html`<p class="buttons" role="toolbar" aria-label=${t('Actions')} aria-busy=${busy}><b>${t('{count} selected', {count: chosen.size})}</b>${Object.entries(actions).map(([word, [text]]) =>
    html`<button class=${word === 'remove' ? 'danger' : ''} onClick=${() => once(() => actOnPlans(word, [...chosen].map(id => pages.items.find(plan => plan.id === id) || {id}), failed => {
      choose(failed);
      pages.reload();
    }))}>${t(text)}</button>`)}</p>`}`;
}

export function Running({may}) {
  const pages = usePages('v1/plans', {order: 'running', limit: 100}, {live: true, every: 2000, most: 400});
  const cancel = async plan => {
    if (await confirmed(t('Cancel this run?'), [s(plan.title) || s(plan.id)], t('Cancel the run'))) {
      await act(() => post(`${base(plan.id)}/cancel`, {reason: 'cancelled in the console'}), t('Cancelled.'));
      pages.reload();
    }
  };
  return html`<h1 tabindex="-1">${t('Running')}</h1><${Trouble} error=${pages.error} />
    ${isNone(pages) ? html`<${Empty}>${t('Nothing runs now.')}</${Empty}>`
    : html`<div class="scroll"><table><thead><tr><th scope="col">${t('Plan')}</th><th scope="col">${t('Target')}</th><th scope="col">${t('Since')}</th><th scope="col">${t('Progress')}</th><th scope="col">${t('Actions')}</th></tr></thead>
      <tbody>${pages.items.map(plan => html`<tr key=${s(plan.id)}><td><${PlanName} plan=${plan} /></td><td>${s(plan.target)}</td><td>${plan.last && html`<${Time} at=${plan.last.started_at} />`}</td><td>${s(plan.progress)}</td>
      <td>${may('manage') && html`<button onClick=${() => cancel(plan)}>${t('Cancel')}</button>`}</td></tr>`)}</tbody></table></div><${More} pages=${pages} />`}`;
}

export function Dead({may}) {
  const pages = usePages('v1/plans', {order: 'dead', limit: 100}, {live: true});
  const groups = new Map();
  for (const plan of pages.items) {
    const name = `${s(plan.target)}: ${s(plan.last && plan.last.reason) || s(plan.last && plan.last.status)}`;
    groups.set(name, [...(groups.get(name) || []), plan]);
  }
  const [busy, once] = useOnce();
  const onAll = (word, plans, body) => once(() => actOnPlans(word, plans, pages.reload, body));
  const resolve = plans => {
    const remark = prompt(t('How was it resolved?'), '');
    if (remark !== null) onAll('done', plans, {remark});
  };
  return html`<h1 tabindex="-1">${t('Dead letters')}</h1><p>${t('Plans that failed for good, callbacks among them. They stay until somebody decides.')}</p><${Trouble} error=${pages.error} />
    ${isNone(pages) && html`<${Empty}><p class="good">● ${t('There are none.')}</p></${Empty}>`}
    ${[...groups].map(([name, plans]) => html`<section class="card"><h2>${name} <span class="quiet">${plans.length}</span></h2>
      ${may('manage') && html`<p class="buttons" aria-busy=${busy}><button onClick=${() => onAll('resume', plans)}>${t('Try all again')}</button><button onClick=${() => resolve(plans)}>${t('Resolve')}</button><button class="danger" onClick=${() => onAll('remove', plans)}>${t('Remove')}</button></p>`}
      <div class="scroll"><table><tbody>${plans.slice(0, 50).map(plan => html`<tr key=${s(plan.id)}><td><${PlanName} plan=${plan} /></td><td>${plan.last && html`<${Time} at=${plan.last.started_at} />`}</td><td>${s(plan.verdict)}</td>
      <td>${may('manage') && html`<button onClick=${() => onAll('resume', [plan])}>${t('Try again')}</button> <a class="button" href=${'#/edit/' + encodeURIComponent(s(plan.id))}>${t('Edit')}</a>`}</td></tr>`)}</tbody></table></div></section>`)}
    ${!isNone(pages) && html`<${More} pages=${pages} />`}`;
}
