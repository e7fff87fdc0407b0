// Flows: which there are, a definition as a graph, a run as the same graph with the states of its steps.
import {useState} from './htm-preact.js';
import {joined, post} from './api.js';
import {Empty, More, Rows, State, Time, Trouble, act, confirmed, html, isNone, s, useData, useOnce, usePages} from './ui.js';
import {t} from './text.js';

const BOX = {w: 150, h: 34, dx: 190, dy: 50};
const tones = {finished: 'good', failed: 'bad', running: 'busy', accepted: 'busy', new: 'busy', skipped: 'calm', cancelled: 'warn'};

const sourcesOf = (name, definition) => {
  const after = (definition.steps[name].after || []).map(one => typeof one === 'object' ? one.step : one);
  return [...after, ...(definition.edges || []).filter(edge => edge.target === name).map(edge => edge.source)].filter(source => source in definition.steps);
};

// The layer of each step: after all steps that it waits for.
function layersOf(definition) {
  const depth = new Map();
  const of = (name, seen = new Set()) => {
    if (depth.has(name)) return depth.get(name);
    if (seen.has(name)) return 0;
    const sources = sourcesOf(name, definition);
    const found = sources.length ? 1 + Math.max(...sources.map(source => of(source, new Set([...seen, name])))) : 0;
    depth.set(name, found);
    return found;
  };
  Object.keys(definition.steps).forEach(name => of(name));
  return depth;
}

export function Graph({definition, states = {}, onChoose}) {
  const names = Object.keys(definition.steps || {});
  if (names.length > 500) return html`<p>${t('{count} steps are too many for a picture: see the list.', {count: names.length})}</p>`;
  const depth = layersOf(definition), used = new Map(), at = new Map();
  for (const name of names) {
    const layer = depth.get(name), row = used.get(layer) || 0;
    used.set(layer, row + 1);
    at.set(name, {x: 10 + layer * BOX.dx, y: 10 + row * BOX.dy});
  }
  const width = 20 + BOX.dx * (1 + Math.max(0, ...depth.values())), height = 20 + BOX.dy * Math.max(1, ...used.values());
  return html`<div class="graph scroll"><svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label=${t('The steps, from left to right')}>
    ${names.flatMap(name => sourcesOf(name, definition).map(source => {
    const from = at.get(source), to = at.get(name);
    const x = from.x + BOX.w, y = from.y + BOX.h / 2;
    return html`<path d=${`M${x} ${y} C${x + 25} ${y} ${to.x - 25} ${to.y + BOX.h / 2} ${to.x} ${to.y + BOX.h / 2}`} />`;
  }))}
    ${names.map(name => {
    const {x, y} = at.get(name), state = states[name];
    const content = html`<rect x=${x} y=${y} width=${BOX.w} height=${BOX.h} rx="5" /><text x=${x + 8} y=${y + 15}>${name.length > 20 ? name.slice(0, 19) + '…' : name}</text><text x=${x + 8} y=${y + 29}>${s(state || definition.steps[name].target || (definition.steps[name].wait ? 'wait' : definition.steps[name].signal ? 'signal' : ''))}</text>`;
    return html`<g class=${tones[state] || ''}>${onChoose ? html`<a href="#step" tabindex="0" onClick=${event => {
      event.preventDefault();
      onChoose(name);
    }}>${content}</a>` : content}</g>`;
  })}</svg></div>`;
}

// Of a step with items also which of them failed: the first ones are named.
const reasonOf = step => [step.error || step.why, ...((step.items && step.items.errors) || []).map(one => `${one.item}: ${s(one.error)}`)].filter(Boolean).join('; ');

// A page looks at so many of the newest runs, of whatever flow.
function RunList({query}) {
  const runs = usePages('v1/flow-runs', query, {live: true, every: 5000, most: 400});
  if (isNone(runs)) return html`<p class="quiet">${t('None yet.')}</p>`;
  return html`<${Trouble} error=${runs.error} /><div class="scroll"><table><thead><tr><th scope="col">${t('Run')}</th><th scope="col">${t('Flow')}</th><th scope="col">${t('State')}</th><th scope="col">${t('Began')}</th><th scope="col">${t('Ended')}</th></tr></thead>
    <tbody>${runs.items.map(run => html`<tr key=${s(run.run)}><td><a href=${'#/flow-run/' + encodeURIComponent(s(run.run))}>${s(run.run)}</a></td><td>${s(run.flow)} ${s(run.version)}</td><td><${State} of=${run.state} /></td><td><${Time} at=${run.began_at} /></td><td>${run.ended_at && html`<${Time} at=${run.ended_at} />`}</td></tr>`)}</tbody></table></div><${More} pages=${runs} />`;
}

export function Flows() {
  const flows = usePages('v1/flows', {limit: 100}, {live: true, most: 400});
  return html`<h1 tabindex="-1">${t('Flows')}</h1><${Trouble} error=${flows.error} />
    ${isNone(flows) ? html`<${Empty}><p>${t('There are none yet.')}</p><pre>zplan flow put greeting.yaml\nzplan flow start greeting --wait</pre></${Empty}>`
    : html`<div class="scroll"><table><thead><tr><th scope="col">${t('Flow')}</th><th scope="col" class="number">${t('Version')}</th><th scope="col" class="number">${t('Steps')}</th><th scope="col">${t('Bounded')}</th></tr></thead><tbody>${flows.items.map(flow => html`<tr key=${s(flow.name)}><td><a href=${'#/flow/' + encodeURIComponent(s(flow.name))}>${s(flow.name)}</a></td><td class="number">${s(flow.use)}</td><td class="number">${s(flow.steps)}</td><td>${flow.bounded ? t('yes') : t('no')}</td></tr>`)}</tbody></table></div><${More} pages=${flows} />`}
    <h2>${t('Runs')}</h2><${RunList} query=${{limit: 50}} />`;
}

export function Flow({words}) {
  const name = words[0];
  const found = useData(`v1/flows/${encodeURIComponent(name)}`);
  const flow = found.data;
  return html`<h1 tabindex="-1">${t('Flow')} ${s(name)}</h1><${Trouble} error=${found.error} />
    ${flow && html`<p>${t('version {use} of {last}', {use: s(flow.use), last: s(flow.last)})}</p><${Graph} definition=${flow.definition} /><details><summary>${t('The definition')}</summary><pre>${JSON.stringify(flow.definition, null, 1)}</pre></details>`}
    <h2>${t('Runs')}</h2><${RunList} query=${{flow: name, limit: 100}} /><p><a href=${'#/plans?target=' + encodeURIComponent(name)}>${t('Plans of this flow')}</a></p>`;
}

export function FlowRun({words, may}) {
  const id = words[0], base = `v1/flow-runs/${encodeURIComponent(id)}`;
  const [chosen, choose] = useState(null);
  const found = useData(base, undefined, 2000), log = useData(`${base}/log`, undefined, 5000);
  const run = found.data;
  const flow = useData(run ? `v1/flows/${encodeURIComponent(s(run.flow))}` : null, run ? {version: run.version} : undefined);
  // A run says the first thousand of its steps.
  const further = usePages(run && run.next ? `${base}/steps` : '', {limit: 1000}, {live: true, every: 5000});
  const steps = run ? joined(run.steps || [], further.items) : [], states = Object.fromEntries(steps.map(step => [step.step, step.state]));
  const step = steps.find(one => one.step === chosen);
  const [, once] = useOnce();
  const carry = (word, body, done) => once(async () => {
    await act(() => post(`${base}/${word}`, body), done);
    found.reload();
  });
  const ended = run && ['finished', 'failed', 'cancelled', 'timeout'].includes(run.state);
  const order = {failed: 0, running: 1, accepted: 2, new: 3};
  return html`<h1 tabindex="-1">${t('Run')} ${s(id)}</h1><${Trouble} error=${found.error} />
    ${run && html`<p><${State} of=${run.state} /> ${s(run.flow)} ${s(run.version)} · <${Time} at=${run.began_at} /> ${run.ended_at && html`→ <${Time} at=${run.ended_at} />`} ${run.error && html`<span class="bad">${s(run.error)}</span>`} ${run.undo_parked && html`<span class="bad">${t('The undo of {call} has failed, and the run waits: zplan flow reset tries it again, zplan flow done goes on.', {call: s(run.undo_parked)})}</span>`}</p>
      ${may('manage') && html`<p class="buttons">${(run.failed || []).length || ended ? html`<button class="primary" onClick=${async () => await confirmed(t('Retry these steps, and all behind them?'), (run.failed || []).length ? run.failed : [t('what failed or was cancelled')], t('Retry')) && carry('retry', {}, t('It goes on.'))}>${t('Retry')}</button>` : ''}
        ${!ended && run.state !== 'suspended' && html`<button onClick=${() => carry('hold', {}, t('Nothing further starts.'))}>${t('Suspend')}</button>`}${run.state === 'suspended' && html`<button onClick=${() => carry('resume', {}, t('It goes on.'))}>${t('Resume')}</button>`}
        ${!ended && html`<button class="danger" onClick=${async () => await confirmed(t('Cancel this run?'), [s(run.flow)], t('Cancel the run')) && carry('cancel', {}, t('Cancelled.'))}>${t('Cancel')}</button>`}</p>`}
      ${flow.data && html`<${Graph} definition=${flow.data.definition} states=${states} onChoose=${choose} />`}
      ${step && html`<section class="card" aria-live="polite"><h2>${s(step.step)} <${State} of=${step.state} /></h2><dl class="facts">${Object.entries(step).filter(([name]) => name !== 'step' && name !== 'state').map(([name, value]) => html`<dt>${s(name)}</dt><dd>${name === 'plan' ? html`<a href=${'#/plan/' + encodeURIComponent(s(value))}>${s(value)}</a>` : s(value)}</dd>`)}</dl>
        <p class="buttons">${may('manage') && html`<button onClick=${() => carry('retry', {steps: [step.step]}, t('It runs again.'))}>${t('Retry from here')}</button><button onClick=${async () => await confirmed(t('Skip this step?'), [step.step], t('Skip')) && carry('skip', {step: step.step}, t('Skipped.'))}>${t('Skip')}</button>`}
        ${/signal/.test(s(step.why)) && html`<button onClick=${() => carry('signal', {step: step.step, value: true}, t('Signalled.'))}>${t('Signal')}</button>`}</p></section>`}
      <h2>${t('Steps')}</h2><${Rows} label=${t('Steps')} keyOf=${one => one.step} rows=${[...steps].sort((a, b) => (order[a.state] ?? 9) - (order[b.state] ?? 9))} columns=${[
    {title: t('Step'), cell: one => html`<button class="plain" onClick=${() => choose(one.step)}>${s(one.step)}</button>`},
    {title: t('State'), cell: one => html`<${State} of=${one.state} />`}, {title: t('Undo'), cell: one => s(one.undo)}, {title: t('Reason'), cell: reasonOf}]} />${run.next && html`<${More} pages=${further} />`}`}
    <details><summary>${t('Log')}</summary><table><tbody>${((log.data && log.data.items) || []).map(line => html`<tr><td><${Time} at=${line.at} ms=${true} /></td><th scope="row">${s(line.step)}${line.item === undefined ? '' : '.' + s(line.item)}</th><td><${State} of=${line.state} /></td><td>${s(line.detail)}</td></tr>`)}</tbody></table></details>`;
}
