// The coming load: hours of the next seven days, minutes of the next hours.
import {Bars, Time, Trouble, html, instantText, s, useData} from './ui.js';
import {useState} from './htm-preact.js';
import {t} from './text.js';

const HOUR = 3600;

export function Calendar() {
  const [from] = useState(() => Math.floor(Date.now() / 1000 / HOUR) * HOUR);
  const week = useData('v1/load', {from, to: from + 168 * HOUR, step: HOUR}, 10000);
  const hour = useData('v1/load', {from: Math.floor(Date.now() / 60000) * 60, to: Math.floor(Date.now() / 60000) * 60 + 2 * HOUR, step: 60}, 10000);
  const counts = week.data ? week.data.counts : [];
  const days = new Map();
  counts.forEach((count, i) => {
    const at = from + i * HOUR, text = instantText(at * 1000), day = text.slice(0, 10), hour = Number(text.slice(11, 13));
    const cells = days.get(day) || [], same = cells.find(one => one.hour === hour);
    days.set(day, cells);
    if (same) { // when the clock is put back, an hour comes twice
      same.count += count;
      same.to = at + HOUR;
    } else cells.push({count, hour, at, to: at + HOUR});
  });
  const most = Math.max(1, ...[...days.values()].flat().map(cell => cell.count));
  const level = count => count ? 'h' + Math.min(4, 1 + Math.floor(4 * Math.log1p(count) / Math.log1p(most + 1))) : '';
  return html`<h1 tabindex="-1">${t('Calendar')}</h1><p>${t('How many plans are due when, by the next time of each. A number leads to its plans.')}</p><${Trouble} error=${week.error} />
    ${week.data && html`<div class="scroll"><table class="heat"><caption class="quiet">${t('{count} plans in the next 7 days; at most {most} in one hour', {count: s(week.data.total), most})}</caption>
      <colgroup><col width="95" /><col span="24" /></colgroup><thead><tr><th scope="col">${t('Day')}</th>${Array.from({length: 24}, (_, h) => html`<th scope="col">${h}</th>`)}</tr></thead><tbody>${[...days].map(([day, cells]) => html`<tr><th scope="row">${day}</th>${Array.from({length: 24}, (_, h) => {
    const cell = cells.find(one => one.hour === h);
    return html`<td class=${cell ? level(cell.count) : ''}>${cell && cell.count ? html`<a class=${level(cell.count)} href=${`#/plans?order=time&from=${cell.at}&to=${cell.to}`}>${s(cell.count)}</a>` : ''}</td>`;
  })}</tr>`)}</tbody></table></div>`}
    <h2>${t('The next two hours')}</h2>${hour.data && html`<${Bars} label=${t('Plans due in each minute')} bars=${hour.data.counts.map((value, i) => {
    const at = Date.parse(hour.data.from) / 1000 + i * 60;
    return {value, label: instantText(at * 1000).slice(11, 16), href: `#/plans?order=time&from=${at}&to=${at + 60}`};
  })} /><p class="quiet">${t('from')} <${Time} at=${hour.data.from} /></p>`}`;
}
