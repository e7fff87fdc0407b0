// A new plan, or a change of one: what, when, policies; the next times are computed by the station while one types.
import {useEffect, useRef, useState} from './htm-preact.js';
import {ask, post} from './api.js';
import {Copy, Field, PlanName, Select, Trouble, baseTime, currentZone, hasNumber, html, instantText, knownZone, notify, oddNumbers, parseJson, planLink, s, scheduleText, useData, useOnce, zones} from './ui.js';
import {t} from './text.js';

const WHEN = [['none', 'At once'], ['time', 'Once, at a time'], ['day', 'Each day'], ['week', 'Each week'], ['month', 'Each month'], ['hour', 'Every n hours'], ['minute', 'Every n minutes'], ['second', 'Every n seconds'], ['cron', 'Cron']];
const DAYS = [['1', 'Monday'], ['2', 'Tuesday'], ['3', 'Wednesday'], ['4', 'Thursday'], ['5', 'Friday'], ['6', 'Saturday'], ['0', 'Sunday']];
const RETRY = [['', 'until it succeeds'], ['none', 'not at all'], ['fixed', 'after a fixed time'], ['exponential', 'after longer and longer times']];
const CALENDAR = ['day', 'week', 'month'];

export const fresh = () => ({title: '', target: '', command: '', args: '', name: '', when: 'day', value: '1', time: '02:00', at: '', cron: '0 2 * * *', repeat: '', timezone: zones()[zones().length - 1],
  retry: '', interval: '30', max: '3', timeout: '', callback: '', misfire: '', overlap: '', hold: false, more: ''});

// Days, weeks and months are times of a clock on the wall: cron says them.
function cronOf(form) {
  const [hour, minute] = form.time.split(':').map(Number), day = Number(form.value);
  switch (form.when) {
  case 'cron': return form.cron.trim();
  case 'day': return `${minute} ${hour} * * *`;
  case 'week': return `${minute} ${hour} * * ${day}`;
  case 'month': return `${minute} ${hour} ${day > 0 ? day : day === 0 ? 'L' : `L${day}`} * *`;
  default: return '';
  }
}

// What POST /plans takes.
export function documentOf(form) {
  const cron = cronOf(form);
  const spec = {plan_type: cron ? 'cron' : form.when};
  if (cron) Object.assign(spec, {cron, timezone: form.timezone});
  else if (form.when === 'time') spec.plan_time = baseTime(form.timezone, form.at.slice(11, 16) || '00:00', form.at.slice(0, 10));
  else if (form.when !== 'none') spec.plan_value = Number(form.value);
  if (!['none', 'time'].includes(form.when)) spec.plan_repet = form.repeat ? Number(form.repeat) : -1;
  if (form.name) spec.key = form.name;
  if (form.retry) spec.retry = form.retry === 'none' ? {strategy: 'none'} : {strategy: form.retry, interval: Number(form.interval), max: Number(form.max)};
  if (form.timeout) spec.timeout = Number(form.timeout);
  if (form.misfire) spec.misfire = form.misfire;
  if (form.overlap) spec.overlap_policy = form.overlap;
  if (form.callback) spec.callback = {success: {url: form.callback}, error: {url: form.callback}, form: 'event'};
  if (form.more.trim()) Object.assign(spec, parseJson(form.more));
  const document = {target: form.target, title: form.title, command: form.command, spec};
  const args = form.args.split('\n').filter(Boolean);
  if (args.length) document.args = args;
  if (form.hold) document.hold = true;
  return document;
}

// The same plan as a line for a shell, but for its fields as JSON.
export function shellOf(form) {
  const quote = text => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
  const words = ['zplan', 'add', '--target', form.target || 'TARGET', '--command', form.command || 'COMMAND'];
  if (form.when === 'day') words.push('--daily', form.time);
  else if (form.when === 'week') words.push('--weekly', `${DAYS.find(([key]) => key === form.value)[1].slice(0, 3).toLowerCase()}@${form.time}`);
  else if (form.when === 'month') words.push('--monthly', `${form.value}@${form.time}`);
  else if (form.when === 'cron') words.push('--cron', form.cron);
  else if (form.when === 'time') words.push('--at', form.at);
  else if (form.when !== 'none') words.push('--every', `${form.value}${form.when[0]}`);
  for (const arg of form.args.split('\n').filter(Boolean)) words.push('--arg', arg);
  if (form.repeat && !['none', 'time'].includes(form.when)) words.push('--repeat', form.repeat);
  words.push('--retry', !form.retry ? 'forever' : form.retry === 'none' ? 'none' : `${form.retry}:${form.interval}s:${form.max}`);
  if (form.timeout) words.push('--run-timeout', `${form.timeout}s`);
  if (form.callback) words.push('--callback', form.callback);
  if (form.hold) words.push('--hold');
  if (form.title) words.push('--title', form.title);
  if (form.name) words.push('--name', form.name);
  if (form.timezone !== 'UTC' && (cronOf(form) || form.when === 'time')) words.push('--timezone', form.timezone);
  return words.map(quote).join(' ');
}

const newKey = () => crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}-console`;

export function PlanForm({words}) {
  const [form, setForm] = useState(fresh());
  const [preview, setPreview] = useState({});
  const [problem, setProblem] = useState(null);
  const [before, setBefore] = useState(null);
  const [existing, setExisting] = useState(null);
  const [busy, once] = useOnce(), sent = useRef({});
  const targets = useData('v1/targets'), kinds = useData('v1/kinds');
  const set = name => event => setForm(old => ({...old, [name]: event.target ? event.target.type === 'checkbox' ? event.target.checked : event.target.value : event}));
  const id = words[0];
  useEffect(() => {
    if (!id) return;
    ask('GET', `v1/plans/${encodeURIComponent(id)}`).then(({json, etag, source}) => setBefore({plan: json, etag, odd: oddNumbers(source), text: JSON.stringify(json.spec, null, 1), title: json.title || ''}), setProblem);
  }, [id]);
  useEffect(() => {
    if (id) return undefined;
    const timer = setTimeout(async () => {
      try {
        const document = documentOf(form);
        setPreview({zone: knownZone(form.timezone), next: await post('v1/preview?count=5', {...document, target: document.target || 'preview', command: document.command || 'preview'})});
      } catch (error) {
        setPreview({error});
      }
    }, 200);
    return () => clearTimeout(timer);
  }, [JSON.stringify(form), id]);
  if (id) return html`<${Edit} before=${before} problem=${problem} id=${id} />`;
  const errorOf = name => problem && (problem.errors || []).filter(one => s(one.pointer).endsWith('/' + name)).map(one => one.detail).join('; ');
  const submit = async () => {
    setProblem(null);
    setExisting(null);
    try {
      const body = documentOf(form), text = JSON.stringify(body);
      // One key for a document: sent again, as after a lost answer, it is the same plan.
      if (sent.current.text !== text) sent.current = {text, key: newKey(), unknown: false};
      const {json, status} = await ask('POST', 'v1/plans', {body, headers: {'Idempotency-Key': sent.current.key}});
      const keeps = !['update', 'replace'].includes(body.spec.if_exists);
      if (status === 200 && body.spec.key && keeps && !sent.current.unknown) {
        setExisting(json);
        return;
      }
      notify(t('The plan is stored.'));
      location.hash = planLink(json.id);
    } catch (error) {
      if (!error.status || error.status >= 500) sent.current.unknown = true;
      setProblem(error);
    }
  };
  const list = targets.data ? targets.data.items.map(target => s(target.name)) : [];
  const next = preview.next;
  const other = [currentZone(), ...zones(), 'UTC'].find(name => name !== preview.zone);
  return html`<h1 tabindex="-1">${t('New plan')}</h1><form onSubmit=${event => {
    event.preventDefault();
    once(submit);
  }}><div class="split"><div>
    <h2>${t('What')}</h2><div class="form"><${Field} label=${t('Target')} error=${errorOf('target')}><input name="target" list="targets" required value=${form.target} onInput=${set('target')} /><datalist id="targets">${list.map(name => html`<option value=${name} />`)}</datalist></${Field}>
      <${Field} label=${t('Command')} error=${errorOf('command')}><input name="command" value=${form.command} onInput=${set('command')} /></${Field}>
      <${Field} label=${t('Title')} error=${errorOf('title')}><input name="title" value=${form.title} onInput=${set('title')} /></${Field}>
      <${Field} label=${t('Name')} hint=${t('Submitted again, it is the same plan.')} error=${errorOf('key')}><input name="name" value=${form.name} onInput=${set('name')} /></${Field}>
      <div class="wide"><${Field} label=${t('Arguments, a line each')}><textarea name="args" value=${form.args} onInput=${set('args')}></textarea></${Field}></div></div>
    <h2>${t('When')}</h2><div class="form"><${Field} label=${t('Schedule')} error=${errorOf('plan_type')}><${Select} label=${t('Schedule')} value=${form.when} options=${WHEN.map(([key, text]) => [key, t(text)])} onChange=${when => setForm(old => ({...old, when, value: '1'}))} /></${Field}>
      ${form.when === 'week' && html`<${Field} label=${t('Weekday')}><${Select} label=${t('Weekday')} value=${form.value} options=${DAYS.map(([key, text]) => [key, t(text)])} onChange=${set('value')} /></${Field}>`}
      ${form.when === 'month' && html`<${Field} label=${t('Day of the month')} hint=${t('0: the last day, -1: the one before')} error=${errorOf('plan_value')}><input name="value" type="number" min="-31" max="31" value=${form.value} onInput=${set('value')} /></${Field}>`}
      ${['hour', 'minute', 'second'].includes(form.when) && html`<${Field} label=${t('Every')} error=${errorOf('plan_value')}><input name="value" type="number" min="1" max="32766" value=${form.value} onInput=${set('value')} /></${Field}>`}
      ${CALENDAR.includes(form.when) && html`<${Field} label=${t('Time of day')}><input name="time" type="time" required value=${form.time} onInput=${set('time')} /></${Field}>`}
      ${form.when === 'time' && html`<${Field} label=${t('At')}><input name="at" type="datetime-local" required value=${form.at} onInput=${set('at')} /></${Field}>`}
      ${form.when === 'cron' && html`<${Field} label=${t('Cron expression')} error=${errorOf('cron')}><input name="cron" required value=${form.cron} onInput=${set('cron')} /></${Field}>`}
      ${form.when !== 'none' && html`<${Field} label=${t('Time zone')} error=${errorOf('timezone')}><input name="timezone" list="zones" value=${form.timezone} onInput=${set('timezone')} /><datalist id="zones">${(Intl.supportedValuesOf ? Intl.supportedValuesOf('timeZone') : zones()).map(name => html`<option value=${name} />`)}</datalist></${Field}>`}
      ${!['none', 'time'].includes(form.when) && html`<${Field} label=${t('How often')} hint=${t('empty: without end')} error=${errorOf('plan_repet')}><input name="repeat" type="number" min="1" value=${form.repeat} onInput=${set('repeat')} /></${Field}>`}</div>
    <details><summary>${t('Policies')}</summary><div class="form"><${Field} label=${t('After a failure, try again')}><${Select} label=${t('After a failure, try again')} value=${form.retry} options=${RETRY.map(([key, text]) => [key, t(text)])} onChange=${set('retry')} /></${Field}>
      ${['fixed', 'exponential'].includes(form.retry) && html`<${Field} label=${t('Seconds')}><input type="number" min="1" value=${form.interval} onInput=${set('interval')} /></${Field}><${Field} label=${t('At most so often')}><input type="number" min="1" value=${form.max} onInput=${set('max')} /></${Field}>`}
      <${Field} label=${t('A run may take seconds')} error=${errorOf('timeout')}><input type="number" min="1" value=${form.timeout} onInput=${set('timeout')} /></${Field}>
      <${Field} label=${t('Tell this web hook')} error=${errorOf('callback')}><input type="url" value=${form.callback} onInput=${set('callback')} /></${Field}>
      <label><input type="checkbox" checked=${form.hold} onChange=${set('hold')} /> ${t('Store it paused')}</label>
      <div class="wide"><${Field} label=${t('More fields, as JSON')} hint=${kinds.data && kinds.data.items.length ? t('kinds: {names}', {names: kinds.data.items.map(kind => s(kind.name)).join(', ')}) : ''}><textarea value=${form.more} onInput=${set('more')} placeholder='{"kind": "nightly"}'></textarea></${Field}></div></div></details>
    <${Trouble} error=${problem} />${existing && html`<p class="message warn" role="alert">${t('There is a plan of this name already. It was not changed:')} <${PlanName} plan=${existing} /></p>`}
    <p class="buttons" aria-busy=${busy}><button class="primary">${t('Store the plan')}</button><a class="button" href="#/plans">${t('Go back')}</a></p></div>
    <aside class="card" aria-live="polite"><h2>${t('When it would run')}</h2>${preview.error && html`<p class="bad">${s(preview.error.message)}${(preview.error.errors || []).map(one => html`<br />${s(one.pointer)}: ${s(one.detail)}`)}</p>`}
      ${next && (next.never ? html`<p class="bad">${t('Never.')}</p>` : html`<ol>${(next.next || []).map(at => html`<li><time datetime=${s(at)}>${instantText(at, preview.zone)}</time> ${preview.zone}${other && html`<br /><span class="quiet">${instantText(at, other)} ${other}</span>`}</li>`)}</ol>`)}
      <p class="quiet">${s(scheduleText({spec: {plan_type: cronOf(form) ? 'cron' : form.when, plan_value: Number(form.value), cron: cronOf(form), timezone: form.timezone, plan_repet: Number(form.repeat)}}))}</p>
      <h3>${t('The same in a shell')} <${Copy} text=${shellOf(form)} label=${t('Copy the line')} /></h3><pre>${shellOf(form)}</pre></aside></div></form>`;
}

// A stored plan: its fields as JSON. What was changed is sent, unless somebody changed the plan meanwhile.
function Edit({before, problem, id}) {
  const [draft, setDraft] = useState(null);
  const [title, setTitle] = useState(null);
  const [error, setError] = useState(null);
  const [busy, once] = useOnce();
  if (!before) return html`<h1 tabindex="-1">${t('Edit plan')}</h1><${Trouble} error=${problem} />`;
  const text = draft === null ? before.text : draft, name = title === null ? before.title : title;
  const save = async () => {
    try {
      const spec = parseJson(text), patch = {};
      for (const field of new Set([...Object.keys(spec), ...Object.keys(before.plan.spec)]))
        if (JSON.stringify(spec[field]) !== JSON.stringify(before.plan.spec[field])) patch[field] = field in spec ? spec[field] : null;
      // What the station has may be sent only as it is: a changed field that still has the number would change it.
      const lost = before.odd.find(({path, token}) => path[0] === 'spec' && path[1] in patch && hasNumber(patch[path[1]], Number(token)));
      if (lost) throw new Error(t('{name}: a browser cannot send {token} as it is. Write it otherwise, or use zplan.', lost));
      const body = {spec: patch};
      if (name !== before.title) body.title = name;
      await ask('PATCH', `v1/plans/${encodeURIComponent(id)}`, {body, headers: {'If-Match': before.etag}});
      notify(t('Changed.'));
      location.hash = `#/plan/${encodeURIComponent(id)}`;
    } catch (found) {
      setError(found.status === 412 ? {status: 412, message: t('Somebody changed it meanwhile: read it again.')} : found);
    }
  };
  return html`<h1 tabindex="-1">${t('Edit plan')} ${s(before.title) || s(id)}</h1><form onSubmit=${event => {
    event.preventDefault();
    once(save);
  }}><div class="form"><${Field} label=${t('Title')}><input value=${name} onInput=${event => setTitle(event.target.value)} /></${Field}>
    <div class="wide"><${Field} label=${t('Fields, as JSON')}><textarea rows="20" value=${text} onInput=${event => setDraft(event.target.value)}></textarea></${Field}></div></div>
    <${Trouble} error=${error} />${(error && error.errors || []).map(one => html`<p class="bad">${s(one.pointer)}: ${s(one.detail)}</p>`)}
    <p class="buttons" aria-busy=${busy}><button class="primary" disabled=${text === before.text && name === before.title}>${t('Save')}</button><a class="button" href=${'#/plan/' + encodeURIComponent(id)}>${t('Go back')}</a></p></form>`;
}
