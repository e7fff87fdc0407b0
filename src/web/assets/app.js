// The console: sign-in, the frame around the pages, their addresses, keys.
import {render, useEffect, useErrorBoundary, useRef, useState} from './htm-preact.js';
import {get, signIn, signOut, stream, whenSignedOut} from './api.js';
import {Dialogs, Field, Messages, Select, Trouble, currentZone, html, s, setZone, useData, zones} from './ui.js';
import {setLanguage, t} from './text.js';
import {Overview} from './overview.js';
import {Plans, Running, Dead} from './plans.js';
import {Plan} from './plan.js';
import {PlanForm} from './form.js';
import {Runs} from './runs.js';
import {Calendar} from './calendar.js';
import {Callbacks, Doctor, Kinds, Limits, Targets} from './station.js';
import {Flow, FlowRun, Flows} from './flows.js';
import {findText} from './find.js';

// address: [page, title, in the menu]
const pages = {
  '': [Overview, 'Overview', true], plans: [Plans, 'Plans', true], running: [Running, 'Running', true], runs: [Runs, 'Runs', true],
  dead: [Dead, 'Dead letters', true], flows: [Flows, 'Flows', true], calendar: [Calendar, 'Calendar', true],
  targets: [Targets, 'Targets', true], callbacks: [Callbacks, 'Callbacks', true], limits: [Limits, 'Limits', true],
  kinds: [Kinds, 'Kinds', true], doctor: [Doctor, 'Doctor', true],
  plan: [Plan, 'Plan'], new: [PlanForm, 'New plan'], edit: [PlanForm, 'Edit plan'], flow: [Flow, 'Flow'], 'flow-run': [FlowRun, 'Flow run'],
};

// A word of an address, which may have been typed by hand.
function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [page, ...words] = path.split('/').map(decoded);
  return {page: Object.hasOwn(pages, page) ? page : '', words, query: Object.fromEntries(new URLSearchParams(query || ''))};
}

function SignIn({onDone, ended}) {
  const [error, setError] = useState(null), field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const submit = async event => {
    event.preventDefault();
    try {
      await signIn(new FormData(event.target).get('token').trim());
      onDone();
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<main><h1 tabindex="-1">${t('Sign in')}</h1>${ended && html`<p class="message warn" role="alert">${t('Your session has ended. Sign in again: the page stays as it is.')}</p>`}<form onSubmit=${submit} class="form">
    <${Field} label=${t('Token')} hint=${t('It begins with zpw_. Who runs this station makes one: zplan web user NAME --key FILE')}><input name="token" ref=${field} type="password" autocomplete="current-password" required /></${Field}>
    <p class="buttons"><button class="primary">${t('Sign in')}</button></p></form><${Trouble} error=${error} /></main>`;
}

function Menu({page, who, onZone}) {
  const dead = useData('v1/stats', undefined, 15000);
  const count = dead.data && dead.data.dead;
  useEffect(() => {
    document.title = `${count ? `(${count}) ` : ''}${dead.error ? 'down · ' : ''}${t(pages[page][1])} · zplan`;
  }, [page, count, dead.error]);
  return html`<header><a class="brand" href="#/">zplan</a><nav aria-label=${t('Pages')}>${Object.entries(pages).filter(([, [, , shown]]) => shown).map(([name, [, title]]) =>
    html`<a href=${'#/' + name} aria-current=${name === page ? 'page' : undefined}>${t(title)}${name === 'dead' && count ? ` ${count}` : ''}</a>`)}</nav>
    <form role="search" onSubmit=${findText}><input id="find" name="text" type="search" placeholder="/" aria-label=${t('Find a plan by id, name or title, or a target')} /></form>
    <${Select} label=${t('Time zone of all times')} value=${currentZone()} options=${zones()} onChange=${name => {
    setZone(name);
    onZone();
  }} />
    ${who && who.users && html`<span>${s(who.user)}</span><button onClick=${signOut}>${t('Sign out')}</button>`}
    </header>${dead.error && html`<div class="banner bad" role="alert">${s(dead.error.message)} ${t('What is shown may be old.')}</div>`}`;
}

const shortcuts = {p: 'plans', d: 'dead', r: 'runs', o: '', f: 'flows', t: 'targets', c: 'calendar'};
function useKeys() {
  useEffect(() => {
    let before = '';
    const press = event => {
      if (event.target.matches('input, select, textarea') || event.ctrlKey || event.metaKey || event.altKey ||
          localStorage.getItem('zplan.keys') === 'off') return;
      if (event.key === '/') {
        event.preventDefault();
        const field = document.getElementById('find');
        if (field) field.focus();
      } else if (before === 'g' && event.key in shortcuts) {
        location.hash = '#/' + shortcuts[event.key];
      } else if (event.key === 'j' && !event.target.closest('.rows')) {
        const row = document.querySelector('tr[data-row]');
        if (row) row.focus();
      }
      before = event.key;
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

// `zplan:run` when a run has ended, while the page is seen, and `zplan:seen` when it is seen again: a browser has six connections to a host, and pages that are
// hidden, or kept for the way back, would hold them.
function streamWhileSeen() {
  let end = null;
  const say = what => dispatchEvent(new Event('zplan:' + what));
  const change = event => {
    const seen = !document.hidden && event.type !== 'pagehide';
    if (seen && !end) {
      end = stream({what: 'results'}, found => found.event === 'run' && say('run'));
      say(event.type === 'start' ? 'run' : 'seen');
    } else if (!seen && end) {
      end();
      end = null;
    }
  };
  const events = [[document, 'visibilitychange'], [window, 'pagehide'], [window, 'pageshow']];
  events.forEach(([target, name]) => target.addEventListener(name, change));
  change({type: 'start'});
  return () => {
    events.forEach(([target, name]) => target.removeEventListener(name, change));
    if (end) end();
  };
}

// What is thrown while a part is drawn is shown in its place: nothing would be drawn any more.
function Guarded({children}) {
  const [error] = useErrorBoundary();
  return error ? html`<h1 tabindex="-1">zplan</h1><${Trouble} error=${error} /><p>${t('This is a defect of the console. Load it again, or go to another page.')}</p>` : children;
}

function App() {
  const [address, setAddress] = useState(readAddress());
  const [, draw] = useState(0);
  const [turn, setTurn] = useState(0);
  const [who, setWho] = useState(null);
  const [state, setState] = useState('asking');     // then in; out; or ended: the page is kept for who signs in again
  const main = useRef(null), user = useRef();
  // What one may is known from here: it is asked for until it is.
  const ask = async () => {
    try {
      const found = await get('v1/session');
      if (user.current !== undefined && user.current !== found.user) setTurn(number => number + 1);      // nobody finds another's page
      user.current = found.user;
      setWho(found);
      setState('in');
    } catch (error) {
      if (error.status === 401) return;
      setState('in');
      setTimeout(ask, 5000);
    }
  };
  useKeys();
  useEffect(() => {
    whenSignedOut(ended => {
      if (!ended) user.current = undefined;     // a wrong token at the next sign-in ends no session
      setState(ended && user.current !== undefined ? 'ended' : 'out');
    });
    ask();
    const change = () => setAddress(readAddress());
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  useEffect(() => state === 'in' ? streamWhileSeen() : undefined, [state]);
  const place = [address.page, ...address.words].join('/'), before = useRef(place);
  useEffect(() => {
    const heading = main.current && main.current.querySelector('h1');
    if (heading && before.current !== place) heading.focus();
    before.current = place;
  }, [place]);
  if (state === 'asking') return html`<main><h1>zplan</h1></main>`;
  if (state === 'out') return html`<${SignIn} onDone=${ask} /><${Messages} />`;
  const [Page] = pages[address.page];
  const may = role => !!who && (!who.roles || (who.roles.includes(role) && !who.readonly));
  return html`${state === 'ended' && html`<${SignIn} onDone=${ask} ended=${true} />`}<div key=${turn} hidden=${state === 'ended'}><a class="skip" href="#main" onClick=${event => {
    event.preventDefault();
    main.current.querySelector('h1').focus();
  }}>${t('Skip to the page')}</a><${Menu} page=${address.page} who=${who} onZone=${() => draw(number => number + 1)} />
    <main id="main" ref=${main}><${Guarded} key=${place}><${Page} words=${address.words} query=${address.query} may=${may} who=${who} /></${Guarded}></main></div>
    <${Messages} /><${Dialogs} />`;
}

setLanguage('en');
render(html`<${Guarded}><${App} /></${Guarded}>`, document.body);
