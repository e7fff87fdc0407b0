// Overview: healthy or not and what to do, what fails, runs, is late, and comes next.
import {useEffect, useRef, useState} from './htm-preact.js';
import {queryOf} from './api.js';
import {Bars, Empty, FAILED, PlanName, State, TargetState, Time, Trouble, durationText, findingsOf, html, instantText, s, useData, yesterdayEvening} from './ui.js';
import {Connect} from './connect.js';
import {t} from './text.js';

// Runs sent a second between the last two looks.
function useRate(stats) {
  const last = useRef(null), [rate, setRate] = useState(null);
  useEffect(() => {
    if (!stats) return;
    const now = {at: Date.now(), sent: (stats.counters || {}).runs_sent || 0}, before = last.current;
    last.current = now;
    // A station that started again counts from 0.
    if (before && now.sent >= before.sent) setRate((now.sent - before.sent) / Math.max(0.001, (now.at - before.at) / 1000));
  }, [stats]);
  return rate;
}

// The night is there when the page is opened in the morning: the gateway has recorded it.
function Day({series}) {
  const {data, error} = series;
  if (!data) return html`<${Trouble} error=${error} />`;
  const bars = data.sent.map((sent, i) => {
    const well = data.ended_well[i] || 0, bad = data.failed[i] || 0;
    const at = Date.parse(data.from) + i * data.step_s * 1000;
    return {value: well + bad, bad, label: instantText(at).slice(0, 16), text: bad ? t('{well} ended well, {bad} failed', {well, bad}) : String(well),
      href: bad ? `#/runs?from=${encodeURIComponent(new Date(at).toISOString())}&to=${encodeURIComponent(new Date(at + data.step_s * 1000).toISOString())}` : null};
  });
  if (data.sent.every(value => value === null)) return html`<p class="quiet">${t('Nothing is recorded yet: it begins when zplan-web starts.')}</p>`;
  return html`<${Bars} label=${t('Runs that ended in each ten minutes of the last 24 hours')} bars=${bars} />`;
}

const Up = ({name, up}) => html`<span class=${up ? 'good' : 'bad'}>${up ? '●' : '✕'} ${name} ${up ? t('up') : t('down')}</span>`;

// Healthy or not, whose fault it is, and what to do. What a station said before it went away does not count.
function Health({health}) {
  const {data, error} = health;
  if (!data && !error) return html`<p>${t('Reading…')}</p>`;
  const found = error ? error.body.findings && error.body : data;
  const problems = found ? findingsOf(found, 'problem') : [{text: error.message, do: error.status ? t('On its machine: systemctl status zpland') : t('On its machine: systemctl status zplan-web')}];
  const warnings = found ? findingsOf(found, 'warning') : [];
  return html`<p role="status"><b class=${problems.length ? 'bad' : 'good'}>${problems.length ? '✕ ' + t('Not healthy') : '● ' + t('Healthy')}</b>
    ${error && !error.status ? html` · <${Up} name=${t('Gateway')} />` : html` · <${Up} name=${t('Station')} up=${!!found} />`}${found && html` · <${Up} name="Redis" up=${s(found.redis && found.redis.state) === 'up'} />`}
    ${warnings.length > 0 && html` · <a href="#/doctor">${t('{count} warnings', {count: warnings.length})}</a>`}</p>
    ${problems.map(problem => html`<p class="message bad">${s(problem.text)}<br /><b>${s(problem.do)}</b></p>`)}`;
}

const SHOWN = 8;

export function Overview({may}) {
  const health = useData('v1/health', undefined, 5000);
  const stats = useData('v1/stats', undefined, 5000);
  const load = useData('v1/load', undefined, 10000);
  const targets = useData('v1/targets', undefined, 10000);
  const from = yesterdayEvening();
  const failed = useData('v1/runs', {newest: 1, status: FAILED, from, limit: SHOWN, output: 1}, 10000);
  const all = '#/runs' + queryOf({status: FAILED, from});
  const series = useData('v1/series', {step: 600}, 60000);
  const rate = useRate(stats.data);
  const now = stats.data || {}, figures = new Map((now.targets || []).map(one => [s(one.name), one]));
  const list = targets.data ? targets.data.items : [];
  return html`<h1 tabindex="-1">${t('Overview')}</h1>
    <section aria-label=${t('Health')} class="card"><${Health} health=${health} />
      <ul class="figures"><li><b>${s(now.plans)}</b> <a href="#/plans">${t('plans')}</a></li><li><b>${s(now.due)}</b> ${t('due')}</li>
        <li><b>${s(now.running)}</b> <a href="#/running">${t('running')}</a></li><li><b class=${now.dead ? 'bad' : ''}>${s(now.dead)}</b> <a href="#/dead">${t('dead')}</a></li>
        <li><b>${rate === null ? '–' : rate.toFixed(1)}</b> ${t('runs/s')}</li><li>${t('next')} ${now.next_at ? html`<${Time} at=${now.next_at} />` : '–'}</li>${may('submit') && html`<li><a class="button" href="#/new">+ ${t('New plan')}</a></li>`}</ul></section>
    <div class="cards">
    <section class="card wide"><h2>${t('Failed since yesterday 18:00')}</h2><${Trouble} error=${failed.error} />
      ${failed.data && failed.data.items.length === 0 && (failed.data.next ? html`<p>${t('Nothing that failed was found so far.')} <a href=${all}>${t('Go on')}</a></p>` : html`<p class="good">● ${t('Nothing failed.')}</p>`)}
      ${failed.data && failed.data.items.length > 0 && html`<div class="scroll"><table><tbody>${failed.data.items.slice(0, SHOWN).map(run => html`<tr key=${s(run.entry)}><td><${Time} at=${run.ended_at} /></td><td><${PlanName} plan=${run} /></td><td><${State} of=${run.status} /></td><td>${s(run.reason)}
        ${run.output && html`<details><summary>${t('Output')}</summary><pre>${s(run.output.head)}${run.output.tail ? '\n…\n' + s(run.output.tail) : ''}</pre></details>`}</td></tr>`)}</tbody></table></div>
        <p><a href=${all}>${t('All of them')}</a></p>`}${failed.short && html`<p><button onClick=${failed.reload}>${t('Read again')}</button></p>`}</section>
    <section class="card"><h2>${t('The coming hour')}</h2><${Trouble} error=${load.error} />
      ${load.data && html`<${Bars} label=${t('Plans due in each minute of the coming hour')} bars=${load.data.counts.map((value, i) => {
    const at = Date.parse(load.data.from) + i * load.data.step_s * 1000;
    return {value, label: instantText(at).slice(11, 16), href: `#/plans?order=time&from=${Math.round(at / 1000)}&to=${Math.round(at / 1000) + load.data.step_s}`};
  })} /><p class="quiet">${load.data.total === 1 ? t('1 plan is due in this hour') : t('{count} plans are due in this hour', {count: load.data.total})}</p>`}</section>
    <section class="card"><h2>${t('Runs of the last 24 hours')}</h2><${Day} series=${series} /></section>
    <section class="card"><h2>${t('Targets')}</h2><${Trouble} error=${targets.error} />
      ${targets.data && list.length === 0 ? html`<${Empty}><p>${t('No target is known yet.')}</p><${Connect} /></${Empty}>`
    : html`<table><tbody>${list.map(target => html`<tr><th scope="row"><a href=${'#/plans?target=' + encodeURIComponent(s(target.name))}>${s(target.name)}</a></th><td>${s(target.type)}</td><td><${TargetState} target=${target} figures=${figures.get(s(target.name))} /></td></tr>`)}</tbody></table>`}
      <p><a href="#/targets">${t('Connect a worker')}</a></p></section></div>
    <p class="quiet">${stats.data && t('zplan {version}, up {span}', {version: s(now.version), span: durationText(now.uptime_s)})}</p>`;
}
