// Requests to the gateway: the session, problems, pages, and the live stream.
const SESSION = 'zplan.session';
const ANSWER_MS = 15000;     // the gateway itself answers after 8 s at most
const READ_ON_MS = 2000;

// What the gateway said is wrong; `errors` name the fields.
export class Problem extends Error {
  constructor(status, body, after) {
    super(body.detail || body.title || `HTTP ${status}`);
    this.status = status;
    this.code = body.code || '';
    this.errors = body.errors || [];
    this.after = Number(after) || 0;    // seconds: Retry-After
    this.body = body;
  }
}

let session = sessionStorage.getItem(SESSION) || '';
let onSignedOut = () => {}, signedOut = false;

export const isSignedOut = () => signedOut;

// `call` is called with whether the session ended by itself.
export function whenSignedOut(call) {
  onSignedOut = call;
}

function setSession(value) {
  session = value;
  if (value) sessionStorage.setItem(SESSION, value);
  else sessionStorage.removeItem(SESSION);
}

function headersOf(more) {
  return session ? {...more, Authorization: `Bearer ${session}`} : {...more};
}

export function queryOf(fields) {
  const given = Object.entries(fields || {}).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return given.length ? '?' + new URLSearchParams(given).toString() : '';
}

// {json, source: its text, etag, status} of a good answer; whatever else happens is thrown as a Problem.
export async function ask(method, path, {query, body, headers} = {}) {
  const more = body === undefined ? headers : {'Content-Type': 'application/json', ...headers};
  const used = session;
  let response, text;
  try {
    response = await fetch(path + queryOf(query), {
      method, signal: AbortSignal.timeout(ANSWER_MS), headers: headersOf(more), body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store'});
    text = await response.text();
  } catch {
    throw new Problem(0, {title: 'The gateway does not answer.'});
  }
  let json = null;
  try {
    json = text ? JSON.parse(text) : null;
  } catch {        // a proxy's page
    if (response.ok) throw new Problem(response.status, {title: 'The answer is not of the gateway.'});
  }
  if (response.status === 401 && used === session) {      // not one that was replaced meanwhile
    setSession('');
    signedOut = true;
    onSignedOut(true);
  }
  if (!response.ok) throw new Problem(response.status, json && typeof json === 'object' ? json : {}, response.headers.get('Retry-After'));
  return {json, source: text, etag: response.headers.get('ETag'), status: response.status};
}

export async function get(path, query) {
  return (await ask('GET', path, {query})).json;
}

export async function post(path, body = {}) {
  return (await ask('POST', path, {body})).json;
}

export const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

// What `call` gives, which is made again while there are too many requests, when the gateway says: in some seconds.
export async function patiently(call) {
  for (let left = 10; ; left--) {
    try {
      return await call();
    } catch (error) {
      if (error.status !== 429 || !error.after || error.after > 5 || !left) throw error;
      await pause(1000 * error.after);
    }
  }
}

// A step of a subflow has its run as well.
const idOf = item => item.entry || item.step || item.id || item.run || item.name;

// What moved between two pages meanwhile stands in both.
export function joined(items, more) {
  const known = new Set(items.map(idOf));
  return items.concat(more.filter(item => !known.has(idOf(item))));
}

// A page of `limit` items or more. The station looks at a bounded part of a list for each answer, in which few may match,
// or none: it is read on for two seconds. `next`: there may be more.
export async function getPage(path, query) {
  const end = Date.now() + READ_ON_MS;
  let page = await get(path, query);
  while (page.next && page.items.length < query.limit && Date.now() < end) {
    await pause(20);        // a session has 50 requests a second
    const more = await patiently(() => get(path, {...query, after: page.next}));
    page = {...more, items: joined(page.items, more.items)};
  }
  return page;
}

export async function signIn(token) {
  const {json} = await ask('POST', 'v1/session', {body: {token}});
  setSession(json.session);
  signedOut = false;
}

export async function signOut() {
  try {
    await ask('DELETE', 'v1/session');
  } finally {
    setSession('');
    onSignedOut(false);
  }
}

// Events of the live stream, as {event, id, data}, to `call`; it comes back by itself, behind the last id. Returns a
// function that ends it. `state` is called with true when it is connected, with false when not.
export function stream(fields, call, state = () => {}) {
  const abort = new AbortController();
  let last = '', waited = 1000;

  function take(block) {
    const found = {event: 'message', id: '', data: ''};
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':');
      if (colon < 1) continue;
      const value = line.slice(colon + 1).replace(/^ /, '');
      const name = line.slice(0, colon);
      if (name === 'data') found.data += (found.data ? '\n' : '') + value;
      else if (name in found) found[name] = value;
    }
    if (found.id) last = found.id;
    if (!found.data) return;
    try {
      found.data = JSON.parse(found.data);
    } catch {
      return;
    }
    call(found);
  }

  async function read() {
    const headers = headersOf(last ? {'Last-Event-ID': last} : {});
    const response = await fetch('v1/stream' + queryOf(fields), {headers, signal: abort.signal, cache: 'no-store'});
    if (response.status === 404 || response.status === 405) return false;
    if (!response.ok || !response.body) return true;
    state(true);
    waited = 1000;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ;) {
      const {value, done} = await reader.read();
      if (done) return true;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      blocks.forEach(take);
    }
  }

  (async () => {
    for (let goesOn = true; goesOn && !abort.signal.aborted;) {
      try {
        goesOn = await read();
      } catch { /* cut: again */ }
      state(false);
      await pause(waited);
      waited = Math.min(2 * waited, 15000);
    }
  })();
  return () => abort.abort();
}
