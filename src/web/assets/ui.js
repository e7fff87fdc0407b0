// What all pages are made of. Whatever came from the station becomes a child through `s`, so that it is text.
import {html, useCallback, useEffect, useMemo, useRef, useState} from './htm-preact.js';
import {Problem, get, getPage, isSignedOut, joined} from './api.js';
import {t} from './text.js';

export {html};

export const s = value => value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

// -- settings of this browser

const ZONE = 'zplan.zone';
export const zones = () => [...new Set(['UTC', Intl.DateTimeFormat().resolvedOptions().timeZone])];
let zone = localStorage.getItem(ZONE) || 'UTC';
export const currentZone = () => zone;
export function setZone(name) {
  zone = name;
  localStorage.setItem(ZONE, name);
}

export const FAILED = 'failed,timeout,not_taken';      // the statuses of runs that failed, whatever the reason

// -- times

const formats = new Map();
function format(zone, ms) {
  const key = zone + ms;
  if (!formats.has(key))
    formats.set(key, new Intl.DateTimeFormat('en-GB', {
      timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit',
      second: '2-digit', ...(ms ? {fractionalSecondDigits: 3} : {}), hourCycle: 'h23'}));
  return formats.get(key);
}

// The zone, or UTC where this browser does not know it, as while it is typed.
export function knownZone(name) {
  try {
    format(name, false);
    return name;
  } catch {
    return 'UTC';
  }
}

export function instantText(instant, zoneName = zone, ms = false) {
  const at = new Date(instant);
  if (isNaN(at)) return s(instant);
  const part = Object.fromEntries(format(knownZone(zoneName), ms).formatToParts(at).map(({type, value}) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second}${ms ? '.' + part.fractionalSecond : ''}`;
}

// This time of day in the zone, today or on that day, as Unix seconds: by asking what the clock shows there.
export function baseTime(zone, clock, day) {
  if (knownZone(zone) !== zone) throw new Error(t('Time zone: there is no {zone}.', {zone: zone || '""'}));
  const [hour, minute] = clock.split(':').map(Number);
  const date = day || instantText(Date.now(), zone).slice(0, 10);
  let guess = Date.parse(`${date}T${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00Z`);
  for (let i = 0; i < 3; i++) {
    const shown = Date.parse(instantText(guess, zone).replace(' ', 'T') + 'Z');
    guess += Date.parse(`${date}T${clock.padStart(5, '0')}:00Z`) - shown;
  }
  return Math.round(guess / 1000);
}

// 18:00 of yesterday in the zone of all times.
export function yesterdayEvening() {
  const today = Date.parse(instantText(Date.now()).slice(0, 10));
  return new Date(1000 * baseTime(knownZone(zone), '18:00', new Date(today - 86400000).toISOString().slice(0, 10))).toISOString();
}

export function durationText(seconds) {
  const value = Math.abs(Number(seconds));
  if (!isFinite(value)) return '';
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  if (value < 172800) return `${Math.floor(value / 3600)} h ${Math.floor(value / 60) % 60} min`;
  return `${Math.round(value / 86400)} d`;
}

export function relativeText(instant) {
  const seconds = (new Date(instant) - Date.now()) / 1000;
  return seconds > 0 ? t('in {span}', {span: durationText(seconds)}) : t('{span} ago', {span: durationText(seconds)});
}

export function Time({at, ms = false}) {
  if (!at) return html`<span class="quiet">${t('never')}</span>`;
  const others = zones().concat('UTC').map(name => `${instantText(at, name, true)} ${name}`);
  return html`<time datetime=${s(at)} tabindex="0" title=${[...new Set(others), relativeText(at)].join('\n')}>${instantText(at, zone, ms)}</time>`;
}

// -- data

const RUNS_MS = 500;        // behind the first of many runs
const RUNS_EACH_MS = 2000;
const SLOW_MS = 10000;

// A function that makes `read`, or notes to make it again while it is in progress: no answer is overtaken, however slow.
function oneAtATime(read) {
  let busy = false, again = false;
  return async () => {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      await read();
    }
    busy = false;
  };
}

const isIdle = () => document.hidden || isSignedOut();

// `read` each `every` ms while the page is seen, when it is seen again, and when runs have ended, unless it changes slowly.
function useReads(read, every, runs = every && every < SLOW_MS) {
  useEffect(() => {
    let soon = 0, last = 0;
    const onRun = () => {
      if (soon || isIdle()) return;
      soon = setTimeout(() => {
        soon = 0;
        last = Date.now();
        read();
      }, Math.max(RUNS_MS, last + RUNS_EACH_MS - Date.now()));
    };
    const onTime = () => isIdle() || read();
    const timer = every && setInterval(onTime, every);
    if (every || runs) addEventListener('zplan:seen', onTime);
    if (runs) addEventListener('zplan:run', onRun);
    return () => {
      clearInterval(timer);
      clearTimeout(soon);
      removeEventListener('zplan:run', onRun);
      removeEventListener('zplan:seen', onTime);
    };
  }, [read, every, runs]);
}

// `read` while it is allowed, always the same function.
function useQuietly(allowed, read) {
  const now = useRef();
  now.current = allowed;
  return useCallback(() => now.current && read(), [read]);
}

// What GET of `path` gives: {data, error, loading, reload, short}; read again each `every` ms. What has a limit is a page; if fewer
// were found so far, it is `short`, and not read again by itself: each time it would read on for two seconds.
export function useData(path, query, every = 0) {
  const [found, setFound] = useState({loading: true});
  const key = path && path + JSON.stringify(query || {}), now = useRef(key);
  now.current = key;
  const reload = useMemo(() => oneAtATime(async () => {
    if (!path) return;
    const set = change => now.current === key && setFound(change);
    try {
      const data = await (query && query.limit ? getPage : get)(path, query);
      set({data, loading: false});
    } catch (error) {
      set(before => ({...before, error, loading: false}));
    }
  }), [key]);
  useEffect(() => {
    setFound({loading: true});
    reload();
  }, [key]);
  const short = !!(query && query.limit && found.data && found.data.next && found.data.items.length < query.limit);
  const quietly = useQuietly(!short, reload);
  useReads(quietly, every);
  return {...found, reload, short};
}

// Pages of a list behind each other: {items, next, error, loading, more, reload, short: fewer than a page were found, old: it is
// not read again by itself, or that failed}. Without a path there are none. While `live`, one page is, if that is quick; `most`: more items are not kept.
export function usePages(path, query, {live, every = 0, most = Infinity} = {}) {
  const [found, setFound] = useState({items: [], loading: true});
  const key = path + JSON.stringify(query), now = useRef(key), after = useRef('');
  now.current = key;
  const read = useMemo(() => oneAtATime(async () => {
    const from = after.current;
    if (!path) return;
    try {
      const page = await getPage(path, {...query, after: from});
      const short = !!page.next && page.items.length < query.limit;
      if (now.current === key && from === after.current) setFound(old => {
        const items = from ? joined(old.items, page.items) : page.items;
        return {items: items.slice(-most), dropped: (from ? old.dropped : 0) + Math.max(0, items.length - most), next: page.next, first: !from, short, loading: false};
      });
    } catch (error) {
      if (now.current === key) setFound(old => ({...old, error, loading: false}));
    }
  }), [key]);
  const from = place => {
    after.current = place;
    setFound(old => ({...old, loading: true}));
    read();
  };
  useEffect(() => {
    setFound({items: [], loading: true});
    from('');
  }, [key]);
  const fresh = live && !found.loading && !found.short && (found.first || !!found.error && !found.items.length);
  const quietly = useQuietly(fresh, read);
  useReads(quietly, every, live !== undefined);
  return {...found, old: live !== undefined && !found.loading && (!fresh || !!found.error), more: () => from(found.next), reload: () => from('')};
}

// What /health finds of one level, each with what to do: [{text, do}].
export const findingsOf = (health, level) => (health.findings || []).filter(one => one.level === level);

// Whether a target can run plans, by its entry of /targets and its figures of /stats.
export function TargetState({target, figures = {}}) {
  if (!target.connected) return html`<span class="bad">✕ ${t('not connected')}</span>`;
  if (figures.no_worker_at) return html`<span class="bad">✕ ${t('no worker since')} <${Time} at=${figures.no_worker_at} /></span>`;
  return html`<span class="good">● ${target.type === 'pull' ? t('ready') : t('connected')}</span>`;
}

// -- messages, for people and screen readers

let show = () => {};
export function notify(text, kind = 'good') {
  show({text, kind});
}
export function Messages() {
  const [message, setMessage] = useState(null);
  useEffect(() => {
    show = setMessage;
  }, []);
  useEffect(() => {
    if (!message || message.kind === 'bad') return undefined;
    const timer = setTimeout(() => setMessage(null), 6000);
    return () => clearTimeout(timer);
  }, [message]);
  return html`<div class="messages" role="status" aria-live="polite">${message &&
    html`<p class=${'message ' + message.kind}>${s(message.text)} <button class="plain" aria-label=${t('Close')} onClick=${() => setMessage(null)}>×</button></p>`}</div>`;
}

export function Trouble({error}) {
  if (!error) return null;
  return html`<p class="message bad" role="alert">${error instanceof Problem && error.status ? s(error.status) + ': ' : ''}${s(error.message)}</p>`;
}

// What is shown in place of an empty list.
export function Empty({children}) {
  return html`<div class="empty">${children}</div>`;
}

// -- asking before something dangerous: Enter does not confirm

let openDialog = () => {};
export function confirmed(title, lines, word) {
  return new Promise(resolve => openDialog({title, lines, word, resolve}));
}
export function Dialogs() {
  const [asked, setAsked] = useState(null);
  const element = useRef(null);
  useEffect(() => {
    openDialog = setAsked;
  }, []);
  useEffect(() => {
    if (asked && element.current && !element.current.open) element.current.showModal();
  }, [asked]);
  if (!asked) return null;
  const end = answer => {
    element.current.close();        // the focus goes back to where it was
    setAsked(null);
    asked.resolve(answer);
  };
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onCancel=${() => end(false)}>
    <h2 id="dialog-title">${s(asked.title)}</h2>
    <ul>${asked.lines.slice(0, 20).map(line => html`<li>${s(line)}</li>`)}</ul>
    <p class="buttons"><button onClick=${() => end(false)}>${t('Go back')}</button>
    <button class="danger" onClick=${() => end(true)}>${s(asked.word)}</button></p></dialog>`;
}

// -- small things

const marks = {ok: '●', running: '▶', queued: '○', retrying: '↻', paused: '‖', error: '✕', failed: '✕', closed: '■', missed: '–',
  timeout: '⌛', not_taken: '?', cancelled: '⊘', finished: '●', skipped: '↷', none: '·', new: '○', accepted: '◐', suspended: '‖', undoing: '↶', undone: '↶', parked: '✕'};
const tones = {ok: 'good', finished: 'good', running: 'busy', accepted: 'busy', new: 'busy', retrying: 'warn', paused: 'warn', suspended: 'warn',
  undoing: 'warn', undone: 'warn', parked: 'bad', missed: 'warn', error: 'bad', failed: 'bad', timeout: 'bad', not_taken: 'bad'};

// A state by shape and word, not by its colour alone.
export function State({of}) {
  const word = s(of) || 'none';
  return html`<span class=${'state ' + (tones[word] || 'calm')}><span aria-hidden="true">${marks[word] || '•'}</span> ${word.replace('_', ' ')}</span>`;
}

export const planLink = id => `#/plan/${encodeURIComponent(s(id))}`;
export function PlanName({plan}) {
  const id = plan.plan || plan.id;
  return html`<a href=${planLink(id)}>${s(plan.title) || s(plan.name) || s(id)}</a>`;
}

export function Copy({text, label}) {
  return html`<button type="button" class="plain" title=${t('Copy')} onClick=${async () => {
    await navigator.clipboard.writeText(s(text));
    notify(t('Copied.'));
  }}>${label || t('Copy')}</button>`;
}

// Whether a browser would write another number: 9007199254740993, or 1.0 as the integer 1. 0.10 and 1e21 are only written otherwise.
const isOdd = token => /[.eE]/.test(token) ? !/[.e]/.test(String(Number(token))) : String(Number(token)) !== token;

// The numbers in a JSON text that are odd: {path: the names of the fields around it, '' of an array; name: its field's; token}.
export function oddNumbers(text) {
  const found = [], path = [];
  let name = '';
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\]:]/g)) {
    if (token[0] === '"') name = JSON.parse(token);
    else if (token === ':') path[path.length - 1] = name;
    else if (token === '{' || token === '[') path.push('');
    else if (token === '}' || token === ']') path.pop();
    else if (isOdd(token)) found.push({path: [...path], name: path.filter(Boolean).pop() || '', token});
  }
  return found;
}

// Whether this number is in it, however deep.
export const hasNumber = (value, number) => value === number || value !== null && typeof value === 'object' && Object.values(value).some(one => hasNumber(one, number));

// What a person typed as JSON.
export function parseJson(text) {
  const parsed = JSON.parse(text), [odd] = oddNumbers(text);
  if (odd) throw new Error(t('{name}: a browser cannot send {token} as it is. Write it otherwise, or use zplan.', odd));
  return parsed;
}

export function Field({label, error, children, hint}) {
  return html`<label class="field"><span>${label}</span>${children}${hint && html`<small>${hint}</small>`}${error && html`<small class="bad" role="alert">${s(error)}</small>`}</label>`;
}

export function Select({value, options, onChange, label}) {
  return html`<select aria-label=${label} value=${value} onChange=${event => onChange(event.target.value)}>${options.map(option => {
    const [key, text] = Array.isArray(option) ? option : [option, option];
    return html`<option value=${key} selected=${key === value}>${s(text)}</option>`;
  })}</select>`;
}

// Bars, and the same as a table for people who cannot see them. `bars`: [{label, value, bad: its part that is drawn as bad,
// text: in place of the value, href}]
export function Bars({bars, label}) {
  const most = Math.max(1, ...bars.map(bar => bar.value));
  const width = 100 / Math.max(1, bars.length);
  return html`<figure class="bars"><svg viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label=${label}>${bars.map((bar, i) =>
    html`<rect x=${i * width} width=${width * 0.8} y=${24 - 23 * bar.value / most} height=${23 * bar.value / most}><title>${s(bar.label)}: ${s(bar.text || bar.value)}</title></rect>
      ${bar.bad > 0 && html`<rect class="bad" x=${i * width} width=${width * 0.8} y=${24 - 23 * bar.bad / most} height=${23 * bar.bad / most} />`}`)}</svg>
    <details><summary>${t('As a table')}</summary><table><tbody>${bars.filter(bar => bar.value).map(bar =>
      html`<tr><th scope="row">${bar.href ? html`<a href=${bar.href}>${s(bar.label)}</a>` : s(bar.label)}</th><td class="number">${s(bar.text || bar.value)}</td></tr>`)}</tbody></table></details></figure>`;
}

// A table of which only the rows that are seen are in the document. `columns`: [{title, cell, number}].
const ROW = 34, AHEAD = 8;      // AHEAD: rows that are drawn above and below what is seen
export function Rows({columns, rows, label, chosen, onChoose, keyOf = row => row.id}) {
  const box = useRef(null);
  const [top, setTop] = useState(0), [height, setHeight] = useState(innerHeight);
  useEffect(() => {
    const change = () => setHeight(innerHeight);
    addEventListener('resize', change);
    return () => removeEventListener('resize', change);
  }, []);
  const drawn = Math.ceil(0.7 * height / ROW) + 2 * AHEAD;        // the box has 70 % of the window
  const first = Math.max(0, Math.min(Math.floor(top / ROW) - AHEAD, rows.length - drawn));
  const seen = rows.slice(first, first + drawn);
  const choose = (key, on) => {
    const next = new Set(chosen);
    if (on) next.add(key);
    else next.delete(key);
    onChoose(next);
  };
  const move = event => {
    const step = {j: 1, k: -1, ArrowDown: 1, ArrowUp: -1}[event.key];
    const row = event.target.closest('tr[data-row]');
    if (row && event.target === row && event.key === 'Enter') row.querySelector('a, button').click();
    if (!step || event.target.matches('input, select, textarea')) return;
    const other = !row ? box.current.querySelector('tr[data-row]') : step > 0 ? row.nextElementSibling : row.previousElementSibling;
    if (other && other.dataset.row) {
      event.preventDefault();
      other.focus();
    }
  };
  return html`<div class="rows" ref=${box} tabindex="0" role="region" aria-label=${label} onScroll=${event => setTop(event.target.scrollTop)} onKeyDown=${move}>
    <table aria-rowcount=${rows.length}><thead><tr>${onChoose && html`<th scope="col"><input type="checkbox" aria-label=${t('Select all')}
      checked=${rows.length > 0 && chosen.size === rows.length} onChange=${event => onChoose(new Set(event.target.checked ? rows.map(keyOf) : []))} /></th>`}
      ${columns.map(column => html`<th scope="col" class=${column.number ? 'number' : ''}>${column.title}</th>`)}</tr></thead>
    <tbody>${first > 0 && html`<tr aria-hidden="true" class="space" ref=${element => element && (element.style.height = first * ROW + 'px')}></tr>`}
    ${seen.map((row, i) => html`<tr key=${keyOf(row)} data-row="1" tabindex="-1" aria-rowindex=${first + i + 1}>${onChoose && html`<td><input type="checkbox" aria-label=${t('Select {name}', {name: keyOf(row)})}
      checked=${chosen.has(keyOf(row))} onChange=${event => choose(keyOf(row), event.target.checked)} /></td>`}
      ${columns.map(column => html`<td class=${column.number ? 'number' : ''}>${column.cell(row)}</td>`)}</tr>`)}
    ${first + drawn < rows.length && html`<tr aria-hidden="true" class="space" ref=${element => element && (element.style.height = (rows.length - first - drawn) * ROW + 'px')}></tr>`}</tbody></table></div>`;
}

// Whether all was read, and there is nothing.
export const isNone = pages => !pages.loading && !pages.error && !pages.items.length && !pages.next;

export function More({pages}) {
  return html`<p class="more"><span class="quiet">${pages.loading ? t('Reading…') : pages.short ? t('{count} found so far', {count: pages.items.length}) : t('{count} shown', {count: pages.items.length})}${pages.dropped > 0 && ' ' + t('({count} before them are not)', {count: pages.dropped})}</span>
    ${!pages.loading && pages.next && html` <button onClick=${pages.more}>${pages.short ? t('Go on') : t('Show more')}</button>`}${pages.old && html` <button onClick=${pages.reload}>${t('Read again')}</button>`}</p>`;
}

// -- the schedule in cells of a table, not in sentences

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
export function scheduleText(plan) {
  const spec = plan.spec || {}, value = spec.plan_value;
  const unit = {second: 's', minute: 'min', hour: 'h', day: 'd'}[spec.plan_type];
  const zoneName = spec.timezone ? `, ${spec.timezone}` : '';
  const times = spec.plan_repet > 0 ? `, ${spec.plan_repet}×` : '';
  if (unit) return spec.cycle ? `cycle ${s(spec.cycle)}${zoneName}` : `${t('every')} ${value} ${unit}${times}${zoneName}`;
  switch (spec.plan_type) {
  case 'week': return `${t('week')}: ${WEEKDAYS[value] || s(value)}${times}${zoneName}`;
  case 'month': return `${t('month')}: ${value > 0 ? value : value === 0 ? t('last day') : t('last day {n}', {n: value})}${times}${zoneName}`;
  case 'cron': return `cron: ${[].concat(spec.cron || []).map(s).join('; ')}${times}${zoneName}`;
  case 'time': return t('once, at a time');
  case 'none': return t('once');
  default: return s(spec.plan_type);
  }
}

// -- actions

export const reasonOf = error => error.status === 504 ? t('The station did not answer: the outcome is unknown. Look at the plan.') : error.message;

// [whether a call is in progress, a function that makes one unless one is]: a second press does nothing.
export function useOnce() {
  const [busy, setBusy] = useState(false), now = useRef(false);
  return [busy, async call => {
    if (now.current) return;
    setBusy(now.current = true);
    try {
      await call();
    } finally {
      setBusy(now.current = false);
    }
  }];
}

export async function act(call, done) {
  try {
    const answer = await call();
    if (done) notify(done);
    return answer === undefined ? true : answer;
  } catch (error) {
    notify(reasonOf(error), 'bad');
    return null;
  }
}
