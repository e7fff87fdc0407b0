// The station: targets, limits, kinds, callbacks, and its health.
import {useState} from './htm-preact.js';
import {ask, post} from './api.js';
import {Empty, Field, More, PlanName, State, TargetState, Time, Trouble, act, confirmed, durationText, findingsOf, html, isNone, parseJson, s, useData, useOnce, usePages} from './ui.js';
import {Connect} from './connect.js';
import {pauseTarget} from './plans.js';
import {t} from './text.js';

export function Targets({may}) {
  const targets = useData('v1/targets', undefined, 5000), stats = useData('v1/stats', undefined, 5000);
  const numbers = new Map(((stats.data && stats.data.targets) || []).map(one => [s(one.name), one]));
  const items = targets.data ? targets.data.items : [];
  const [busy, once] = useOnce(), [progress, setProgress] = useState({});
  const pauseAll = name => once(async () => {
    await pauseTarget(name, (done, count) => setProgress({name, done, count}));
    setProgress({});
    stats.reload();
  });
  return html`<h1 tabindex="-1">${t('Targets and workers')}</h1><${Trouble} error=${targets.error} />
    ${targets.data && items.length === 0 && html`<${Empty}><p>${t('No target is known yet.')}</p></${Empty}>`}
    ${items.length > 0 && html`<div class="scroll"><table><thead><tr><th scope="col">${t('Target')}</th><th scope="col">${t('Type')}</th><th scope="col">${t('State')}</th><th scope="col" class="number">${t('Sent')}</th><th scope="col" class="number">${t('Well')}</th><th scope="col" class="number">${t('Failed')}</th><th scope="col" class="number">${t('Due')}</th><th scope="col" class="number">${t('Unanswered')}</th><th scope="col">${t('Actions')}</th></tr></thead>
      <tbody>${items.map(target => {
    const one = numbers.get(s(target.name)) || {};
    return html`<tr key=${s(target.name)}><th scope="row"><a href=${'#/plans?target=' + encodeURIComponent(s(target.name))}>${s(target.name)}</a></th><td>${s(target.type)}</td>
        <td><${TargetState} target=${target} figures=${one} /></td>
        <td class="number">${s(one.sent)}</td><td class="number">${s(one.ended_well)}</td><td class="number">${s(one.failed)}</td><td class="number">${s(one.ready)}</td><td class="number">${s(one.unanswered)}</td>
        <td aria-busy=${busy}>${may('manage') && html`<button onClick=${() => pauseAll(s(target.name))}>${progress.name === s(target.name) ? t('{done} of {count} paused', progress) : t('Pause its plans')}</button>`}</td></tr>`;
  })}</tbody></table></div>`}<section class="card"><${Connect} /></section>`;
}

export function Limits({may}) {
  const found = useData('v1/limits', undefined, 10000);
  const [error, setError] = useState(null);
  const put = async event => {
    event.preventDefault();
    const form = new FormData(event.target), body = {};
    for (const name of ['concurrency', 'rate', 'burst']) if (form.get(name)) body[name] = Number(form.get(name));
    try {
      await ask('PUT', `v1/limits/${encodeURIComponent(form.get('name'))}`, {body});
      event.target.reset();
      setError(null);
      found.reload();
    } catch (problem) {
      setError(problem);
    }
  };
  const items = found.data ? found.data.items : [];
  return html`<h1 tabindex="-1">${t('Limits')}</h1><p>${t('How many runs of a target or a group at a time, and how many a second.')}</p><${Trouble} error=${found.error} />
    ${found.data && items.length === 0 ? html`<${Empty}>${t('There are none.')}</${Empty}>` : html`<div class="scroll"><table><thead><tr><th scope="col">${t('Of')}</th><th scope="col" class="number">${t('At a time')}</th><th scope="col" class="number">${t('A second')}</th><th scope="col" class="number">${t('Burst')}</th><th scope="col" class="number">${t('Running')}</th><th scope="col">${t('Actions')}</th></tr></thead>
      <tbody>${items.map(limit => html`<tr key=${s(limit.name)}><th scope="row">${s(limit.name)}</th><td class="number">${s(limit.concurrency)}</td><td class="number">${s(limit.rate)}</td><td class="number">${s(limit.burst)}</td><td class="number">${s(limit.busy ?? limit.running)}</td>
      <td>${may('manage') && html`<button onClick=${async () => {
    await act(() => ask('DELETE', `v1/limits/${encodeURIComponent(s(limit.name))}`), t('Removed.'));
    found.reload();
  }}>${t('Remove')}</button>`}</td></tr>`)}</tbody></table></div>`}
    ${may('manage') && html`<form class="filters" onSubmit=${put}><${Field} label=${t('Of')}><input name="name" required placeholder="station:jobs" /></${Field}><${Field} label=${t('At a time')}><input name="concurrency" type="number" min="1" /></${Field}><${Field} label=${t('A second')}><input name="rate" type="number" min="0.001" step="any" /></${Field}><${Field} label=${t('Burst')}><input name="burst" type="number" min="1" /></${Field}><button>${t('Set')}</button></form>`}<${Trouble} error=${error} />`;
}

export function Kinds({may}) {
  const found = useData('v1/kinds');
  const [error, setError] = useState(null);
  const put = async event => {
    event.preventDefault();
    const form = new FormData(event.target);
    try {
      await ask('PUT', `v1/kinds/${encodeURIComponent(form.get('name'))}`, {body: {spec: parseJson(form.get('spec'))}});
      setError(null);
      found.reload();
    } catch (problem) {
      setError(problem);
    }
  };
  const items = found.data ? found.data.items : [];
  return html`<h1 tabindex="-1">${t('Kinds')}</h1><p>${t('Fields that plans of a kind share.')}</p><${Trouble} error=${found.error} />
    ${found.data && items.length === 0 ? html`<${Empty}>${t('There are none.')}</${Empty}>` : items.map(kind => html`<section class="card" key=${s(kind.name)}><h2>${s(kind.name)}</h2><pre>${JSON.stringify(kind.spec, null, 1)}</pre><p><a href=${'#/plans?kind=' + encodeURIComponent(s(kind.name))}>${t('Its plans')}</a>
      ${may('manage') && html` <button onClick=${async () => {
    if (!await confirmed(t('Remove this kind?'), [s(kind.name)], t('Remove'))) return;
    await act(() => ask('DELETE', `v1/kinds/${encodeURIComponent(s(kind.name))}`), t('Removed.'));
    found.reload();
  }}>${t('Remove')}</button>`}</p></section>`)}
    ${may('manage') && html`<form class="form" onSubmit=${put}><${Field} label=${t('Name')}><input name="name" required /></${Field}><div class="wide"><${Field} label=${t('Fields, as JSON')}><textarea name="spec" required>${'{"retry": {"strategy": "fixed", "interval": 30, "max": 3}}'}</textarea></${Field}></div><p class="buttons"><button>${t('Put')}</button></p></form>`}<${Trouble} error=${error} />`;
}

export function Callbacks({may}) {
  const pages = usePages('v1/callbacks', {limit: 100}, {live: true, most: 400}), targets = useData('v1/targets');
  const [error, setError] = useState(null), [sent, setSent] = useState(''), [busy, once] = useOnce();
  const test = async form => {
    try {
      const made = await post('v1/callback-tests', {target: form.get('target'), callback: {success: {url: form.get('url')}}});
      setSent(s(made.id));
      setError(null);
      pages.reload();
    } catch (problem) {
      setError(problem);
    }
  };
  const redeliver = plan => once(async () => {
    await act(() => post(`v1/callbacks/${encodeURIComponent(s(plan.id))}/redeliver`), t('It is sent again.'));
    pages.reload();
  });
  return html`<h1 tabindex="-1">${t('Callbacks')}</h1><p>${t('Outcomes that are sent over HTTP, and were not delivered yet.')}</p><${Trouble} error=${pages.error} />
    ${isNone(pages) ? html`<${Empty}><p class="good">● ${t('None waits.')}</p><pre>zplan add --command backup --daily 2:00 --callback https://hooks.example/alert</pre></${Empty}>`
    : html`<div class="scroll"><table><thead><tr><th scope="col">${t('Of')}</th><th scope="col">${t('State')}</th><th scope="col" class="number">${t('Tries')}</th><th scope="col">${t('Next try')}</th><th scope="col">${t('Reason')}</th><th scope="col">${t('Actions')}</th></tr></thead>
      <tbody>${pages.items.map(plan => html`<tr key=${s(plan.id)}><td><${PlanName} plan=${plan} /></td><td><${State} of=${plan.state} /></td><td class="number">${s(plan.counts && plan.counts.failures)}</td><td>${plan.state === 'error' ? '–' : html`<${Time} at=${plan.next_at} />`}</td><td>${s(plan.last && plan.last.reason)}</td>
      <td>${may('manage') && html`<button onClick=${() => redeliver(plan)}>${t('Send again')}</button>`}</td></tr>`)}</tbody></table></div><${More} pages=${pages} />`}
    ${may('manage') && html`<section class="card"><h2>${t('Send a test')}</h2><p>${t('It reports no run, and takes the path of all callbacks: you see what your receiver gets.')}</p><form class="filters" aria-busy=${busy} onSubmit=${event => {
    event.preventDefault();
    once(() => test(new FormData(event.target)));
  }}>
      <${Field} label=${t('Target')}><select name="target">${(targets.data ? targets.data.items : []).filter(one => !one.callbacks).map(one => html`<option key=${s(one.name)}>${s(one.name)}</option>`)}</select></${Field}><${Field} label=${t('URL')}><input name="url" type="url" required placeholder="https://hooks.example/alert" /></${Field}><button>${t('Send')}</button></form>
      ${sent && html`<p role="status"><a href=${'#/runs?target=callbacks&plan=' + encodeURIComponent(sent)}>${t('Placed. What became of it')}</a></p>`}<${Trouble} error=${error} /></section>`}`;
}

export function Doctor({who}) {
  const health = useData('v1/health', undefined, 10000), stats = useData('v1/stats', undefined, 10000);
  const found = health.error ? health.error.body.findings && health.error.body : health.data;
  const rows = stats.data ? Object.entries(stats.data).filter(([, value]) => typeof value !== 'object') : [];
  const list = (level, tone) => findingsOf(found, level).map(item => html`<li class=${tone}>${s(item.text)}<br /><b>${s(item.do)}</b></li>`);
  return html`<h1 tabindex="-1">${t('Doctor')}</h1>${!found && html`<${Trouble} error=${health.error} />`}
    ${found && html`<section class="card"><h2>${found.healthy ? html`<span class="good">● ${t('Healthy')}</span>` : html`<span class="bad">✕ ${t('Not healthy')}</span>`}</h2><ul>${list('problem', 'bad')}${list('warning', 'warn')}</ul>
      <dl class="facts">${Object.entries(found).filter(([, value]) => typeof value !== 'object').map(([name, value]) => html`<dt>${s(name)}</dt><dd>${s(value)}</dd>`)}${Object.entries(found.redis || {}).map(([name, value]) => html`<dt>redis ${s(name)}</dt><dd>${s(value)}</dd>`)}</dl></section>`}
    <h2>${t('Numbers')}</h2><${Trouble} error=${stats.error} /><table><tbody>${rows.map(([name, value]) => html`<tr><th scope="row">${s(name)}</th><td>${name.endsWith('_s') ? durationText(value) : s(value)}</td></tr>`)}
      ${Object.entries((stats.data && stats.data.counters) || {}).map(([name, value]) => html`<tr><th scope="row">${s(name)}</th><td>${s(value)}</td></tr>`)}</tbody></table>
    <p>${who && !who.users && html`<a href="metrics">${t('Metrics for Prometheus')}</a> · `}<a href="v1/openapi.json">OpenAPI</a></p>
    <h2>${t('Keys')}</h2><p><kbd>/</kbd> ${t('find')}, <kbd>g</kbd> ${t('and then')} <kbd>o</kbd> <kbd>p</kbd> <kbd>r</kbd> <kbd>d</kbd> <kbd>f</kbd> <kbd>t</kbd> <kbd>c</kbd>, <kbd>j</kbd> <kbd>k</kbd> ${t('in tables')}. <button onClick=${event => {
    const off = localStorage.getItem('zplan.keys') === 'off';
    localStorage.setItem('zplan.keys', off ? 'on' : 'off');
    event.target.textContent = off ? t('Turn them off') : t('Turn them on');
  }}>${localStorage.getItem('zplan.keys') === 'off' ? t('Turn them on') : t('Turn them off')}</button></p>`;
}
