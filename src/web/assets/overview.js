// Overview: healthy or not and what to do, what fails, runs, is late, and comes next.
import {useEffect, useState} from './htm-preact.js';
import {Bars, Empty, PlanName, State, Time, Trouble, durationText, html, instantText, s, useData} from './ui.js';
import {Connect} from './connect.js';
import {t} from './text.js';

const sinceYesterday = () => {
  const at = new Date();
  at.setDate(at.getDate() - 1);
  at.setHours(18, 0, 0, 0);
  return at.toISOString();
};

// Rates of the last half hour, from the counters of each look.
function useRates(stats) {
  const [series, setSeries] = useState([]);
  useEffect(() => {
    if (!stats) return;
    const {runs_sent: sent = 0, runs_failed: failed = 0} = stats.counters || {};
    setSeries(old => [...old, {at: Date.now(), sent, failed}].slice(-361));
  }, [stats]);
  return series.slice(1).map((now, i) => {
    const seconds = Math.max(0.001, (now.at - series[i].at) / 1000);
    return {at: now.at, sent: Math.max(0, (now.sent - series[i].sent) / seconds), failed: Math.max(0, (now.failed - series[i].failed) / seconds)};
  });
}

export function Overview() {
  const health = useData('v1/health', undefined, 5000);
  const stats = useData('v1/stats', undefined, 5000);
  const load = useData('v1/load', undefined, 10000);
  const targets = useData('v1/targets', undefined, 10000);
  const [from] = useState(sinceYesterday);
  const failed = useData('v1/runs', {newest: 1, status: 'failed', from, limit: 8, output: 1}, 10000);
  const rates = useRates(stats.data);
  const now = stats.data || {}, found = health.error && health.error.body.problems ? health.error.body : health.data || {};
  const last = rates[rates.length - 1];
  const list = targets.data ? targets.data.items : [];
  return html`<h1 tabindex="-1">${t('Overview')}</h1>
    <section aria-label=${t('Health')} class="card"><p><b class=${(found.problems || []).length ? 'bad' : 'good'}>${(found.problems || []).length ? '✕ ' + t('Not healthy') : health.data ? '● ' + t('Healthy') : ''}</b>
      ${(found.problems || []).map(problem => html`<span class="message bad">${s(problem.text || problem)}${problem.do && html` <b>${s(problem.do)}</b>`}</span>`)}
      ${(found.warnings || []).length > 0 && html` <a href="#/doctor">${t('{count} warnings', {count: found.warnings.length})}</a>`}</p>
      ${!health.data && html`<${Trouble} error=${health.error} />`}
      <ul class="figures"><li><b>${s(now.plans)}</b> <a href="#/plans">${t('plans')}</a></li><li><b>${s(now.due)}</b> ${t('due')}</li>
        <li><b>${s(now.running)}</b> <a href="#/running">${t('running')}</a></li><li><b class=${now.dead ? 'bad' : ''}>${s(now.dead)}</b> <a href="#/dead">${t('dead')}</a></li>
        <li><b>${last ? last.sent.toFixed(1) : '–'}</b> ${t('runs/s')}</li><li>${t('next')} ${now.next_at ? html`<${Time} at=${now.next_at} />` : '–'}</li></ul></section>
    <div class="cards">
    <section class="card"><h2>${t('Failed since yesterday 18:00')}</h2><${Trouble} error=${failed.error} />
      ${failed.data && failed.data.items.length === 0 && html`<p class="good">● ${t('Nothing failed.')}</p>`}
      ${failed.data && failed.data.items.length > 0 && html`<div class="scroll"><table><tbody>${failed.data.items.map(run => html`<tr><td><${Time} at=${run.ended_at} /></td><td><${PlanName} plan=${run} /></td><td><${State} of=${run.status} /></td><td>${s(run.reason)}
        ${run.output && html`<details><summary>${t('Output')}</summary><pre>${s(run.output.head)}${run.output.tail ? '\n…\n' + s(run.output.tail) : ''}</pre></details>`}</td></tr>`)}</tbody></table></div>
        <p><a href=${'#/runs?status=failed&from=' + encodeURIComponent(from)}>${t('All of them')}</a></p>`}</section>
    <section class="card"><h2>${t('The coming hour')}</h2><${Trouble} error=${load.error} />
      ${load.data && html`<${Bars} label=${t('Plans due in each minute of the coming hour')} bars=${load.data.counts.map((value, i) => {
    const at = Date.parse(load.data.from) + i * load.data.step_s * 1000;
    return {value, label: instantText(at).slice(11, 16), href: `#/plans?order=time&from=${Math.round(at / 1000)}&to=${Math.round(at / 1000) + load.data.step_s}`};
  })} /><p class="quiet">${t('{count} plans are due in this hour', {count: load.data.total})}</p>`}</section>
    <section class="card"><h2>${t('Runs a second')}</h2>${rates.length ? html`<${Bars} label=${t('Runs sent a second since this page was opened')} bars=${rates.map(rate => ({label: instantText(rate.at).slice(11), value: Math.round(rate.sent * 10) / 10}))} />` : html`<p class="quiet">${t('It is drawn while this page is open.')}</p>`}</section>
    <section class="card"><h2>${t('Targets')}</h2><${Trouble} error=${targets.error} />
      ${targets.data && list.length === 0 ? html`<${Empty}><p>${t('No target is known yet.')}</p><${Connect} /></${Empty}>`
    : html`<table><tbody>${list.map(target => html`<tr><th scope="row"><a href=${'#/plans?target=' + encodeURIComponent(s(target.name))}>${s(target.name)}</a></th><td>${s(target.type)}</td><td>${target.connected ? html`<span class="good">● ${t('connected')}</span>` : html`<span class="bad">✕ ${t('not connected')}</span>`}</td></tr>`)}</tbody></table>`}
      <p><a href="#/targets">${t('Connect a worker')}</a></p></section></div>
    <p class="quiet">${stats.data && t('zplan {version}, up {span}', {version: s(now.version), span: durationText(now.uptime_s)})}</p>`;
}
