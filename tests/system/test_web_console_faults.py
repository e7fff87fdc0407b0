"""The console when something goes wrong: answers that fail, are late, are many or partial, and presses that come twice."""
from contextlib import contextmanager

import pytest

from consolerig import By, chromium, console, empty, full, needs_console    # noqa: F401
from selenium.webdriver.support.ui import Select
from webtest import make_web, plan      # noqa: F401

pytestmark = needs_console

# What the gateway is asked for goes through `rule`, which may answer in its place: (path, options) -> a Response, or nothing.
ANSWERS = """
    window.real ||= window.fetch;
    window.asked = [];
    window.json = (body, status = 200, headers = {}) => new Response(JSON.stringify(body), {status, headers: {'Content-Type': 'application/json', ...headers}});
    const rule = async (path, options) => { %s };
    window.fetch = async (path, options = {}) => {
        asked.push({path: String(path), method: options.method || 'GET', body: options.body, headers: options.headers || {}});
        return await rule(String(path), options) || real(path, options);
    };"""


def answers(console, rule):
    console.driver.execute_script(ANSWERS % rule)


def asked(console, method, part):
    """What was asked for with this method and a path with this part."""
    return [one for one in console.driver.execute_script("return asked") if one["method"] == method and part in one["path"]]


def go(console, page, heading=None):
    """To another page, without loading the console again."""
    console.driver.execute_script("location.hash = '#/' + arguments[0]", page)
    if heading:
        console.until(lambda: console.heading() == heading, heading)


def enter(console, selector, value):
    """At once: what is cleared and then typed may be drawn again between."""
    console.driver.execute_script("""
        const field = document.querySelector(arguments[0]);
        field.value = arguments[1];
        field.dispatchEvent(new Event('input', {bubbles: true}))""", selector, value)


def choose(console, label, text):
    Select(console.driver.find_element(By.CSS_SELECTOR, f"select[aria-label='{label}']")).select_by_visible_text(text)


# -- nothing that is thrown stops the console

def test_a_time_zone_that_is_half_typed(empty):
    """The times are shown in UTC until there is such a zone; no plan is stored in a zone that there is not."""
    def times():
        return empty.driver.execute_script("return [...document.querySelectorAll('aside ol li')].map(one => one.innerText)")
    empty.open("new")
    choose(empty, "Schedule", "Every n hours")
    enter(empty, "[name=timezone]", "Asia/Tok")
    empty.until(lambda: times() and all("UTC" in one for one in times()), "the times in UTC")
    enter(empty, "[name=timezone]", "Asia/Tokyo")
    empty.until(lambda: times() and all("Asia/Tokyo" in one for one in times()), "the times there")
    choose(empty, "Schedule", "Once, at a time")
    enter(empty, "[name=at]", "2031-12-24T18:00")
    empty.until(lambda: times() and "18:00:00 Asia/Tokyo" in times()[0], "the time there")
    enter(empty, "[name=timezone]", "Asia/Tok")
    empty.shows("there is no Asia/Tok")


@pytest.mark.parametrize("page", ["plan/50%", "constructor"])
def test_an_address_that_is_wrong(empty, page):
    empty.open(page)
    go(empty, "plans", "Plans")


def test_a_page_that_cannot_be_drawn(empty):
    """It is shown that it cannot; the other pages are as ever."""
    empty.open("plans")
    answers(empty, "if (path.startsWith('v1/stats')) return json({targets: 7})")
    go(empty, "")
    empty.shows("a defect of the console")
    go(empty, "plans", "Plans")


def test_a_connection_that_is_cut_in_an_answer(empty):
    empty.open("plans")
    answers(empty, """
        const cut = {status: 200, ok: true, headers: new Headers(), text: () => Promise.reject(new TypeError('network error'))};
        if (path.startsWith('v1/health')) return cut""")
    for page, heading in (("doctor", "Doctor"), ("", "Overview")):
        go(empty, page, heading)
        empty.shows("The gateway does not answer.")
    answers(empty, "")
    empty.shows("● Healthy")


# -- presses that come twice, and answers that are lost

def press_twice(console, text):
    console.shows(text)
    console.driver.execute_script("""
        const button = [...document.querySelectorAll('button')].find(one => one.innerText.trim() === arguments[0]);
        button.click();
        button.click()""", text)


def test_one_press_stores_one_plan(empty):
    """A second press while it is sent does nothing; after a lost answer it is sent under the same key, what was changed under another."""
    empty.open("new")
    empty.fill("target", "jobs")
    empty.fill("command", "a")
    answers(empty, """if (options.method === 'POST' && path === 'v1/plans') {
        await new Promise(resolve => window.go = resolve);
        return json({detail: 'no answer in 8 seconds'}, 504)
    }""")
    press_twice(empty, "Store the plan")
    empty.until(lambda: empty.driver.execute_script("return !!window.go"), "it was sent")
    empty.driver.execute_script("go()")
    empty.shows("no answer in 8 seconds")
    first, = asked(empty, "POST", "v1/plans")
    answers(empty, "")
    press_twice(empty, "Store the plan")
    empty.shows("The plan is stored.")
    second, = asked(empty, "POST", "v1/plans")
    assert first["headers"]["Idempotency-Key"] == second["headers"]["Idempotency-Key"] and first["body"] == second["body"]
    go(empty, "new", "New plan")
    empty.fill("target", "jobs")
    empty.fill("command", "a")
    answers(empty, "if (options.method === 'POST' && path === 'v1/plans') return json({detail: 'not now'}, 503)")
    for title in ("a", "b"):
        empty.fill("title", title)
        empty.click("Store the plan")
        empty.until(lambda: [one for one in asked(empty, "POST", "v1/plans") if f'"title":"{title}"' in one["body"]], "it was sent")
        empty.shows("not now")
    assert len({one["headers"]["Idempotency-Key"] for one in asked(empty, "POST", "v1/plans")}) == 2


def test_a_plan_of_the_name_exists(full):
    """Nothing was stored then, and it is not said that it was."""
    ident = full.web.added(plan("the first", key="taken"))["id"]
    full.open("new")
    full.fill("target", "jobs")
    full.fill("command", "b")
    full.fill("name", "taken")
    full.click("Store the plan")
    full.shows("There is a plan of this name already. It was not changed: the first")
    assert "The plan is stored." not in full.text() and full.heading() == "New plan"
    full.click("the first", "a")
    full.until(lambda: full.heading() == "the first", "its page")
    answers(full, "")
    press_twice(full, "Skip the next")
    full.shows("The next run is skipped.")
    assert len(asked(full, "POST", "/skip")) == 1
    full.rig.client.done("remove", ident)


def test_what_failed_of_many(full):
    """One message for all; a gateway that has too much to do is asked again; what failed stays selected."""
    idents = [full.web.added(plan(f"batch {n}"))["id"] for n in range(3)]
    full.open("plans?title=batch*")
    full.shows("batch 2")
    answers(full, """if (path.endsWith('/pause')) {
        window.many = (window.many || 0) + 1;
        if (many === 1) return json({title: 'too many requests'}, 429, {'Retry-After': '1'});
        if (path.includes('%s')) return json({detail: 'it is locked'}, 409);
    }""" % idents[1])
    full.driver.find_element(By.CSS_SELECTOR, "thead input[type=checkbox]").click()
    full.click("Pause")
    full.until(lambda: full.driver.execute_script("return document.querySelector('dialog')?.innerText.match(/^batch [0-9]$/gm)?.length") == 3, "which plans")
    full.click("Pause 3")
    full.shows("2 paused, 1 failed: it is locked")
    full.shows("1 selected")
    states = [full.web.get(f"/v1/plans/{ident}").json["state"] for ident in idents]
    assert states == ["paused", "queued", "paused"]
    for ident in idents:
        full.rig.client.done("remove", ident)


# -- lists of which the station looks at a part at a time

NO_END = "return json({items: [], next: 'on'})"
IN_TWO = """const query = new URLSearchParams(path.split('?')[1]);
    return json(query.get('after') === 'on' ? {items: [%s]} : {items: [%s], next: 'on'})"""


def test_failed_tonight_is_whatever_failed(empty):
    """Also what timed out, from 18:00 on in the zone that is shown, and however many outcomes are between."""
    empty.open("plans")
    empty.driver.execute_script("localStorage.setItem('zplan.zone', 'Asia/Tokyo')")
    try:
        empty.open("plans")
        run = "{entry: '1-0', plan: '1', title: 'payroll', status: 'timeout', reason: 'it took too long'}"
        answers(empty, "if (path.startsWith('v1/runs') && path.includes('timeout')) {" + IN_TWO % (run, "") + "}")
        go(empty, "")
        empty.shows("it took too long")
        assert "T09%3A00%3A00" in asked(empty, "GET", "v1/runs")[0]["path"]
        empty.click("All of them", "a")
        empty.until(lambda: empty.heading() == "Runs", "the list")
        empty.shows("it took too long")
    finally:
        empty.driver.execute_script("localStorage.removeItem('zplan.zone')")
    empty.open("plans")
    answers(empty, "if (path.startsWith('v1/runs')) " + NO_END)
    go(empty, "")
    empty.shows("Nothing that failed was found so far.")
    assert "Nothing failed." not in empty.text()


def test_no_callback_was_found_so_far(empty):
    empty.open("plans")
    answers(empty, "if (path.startsWith('v1/callbacks')) " + NO_END)
    go(empty, "callbacks", "Callbacks")
    empty.shows("0 found so far")
    assert "None waits." not in empty.text()
    answers(empty, "")
    empty.click("Go on")
    empty.shows("None waits.")


def test_what_few_plans_match_is_searched_for(full):
    """The list is read on, and has what moved between two pages once."""
    ident = full.rig.later[2]
    one = "{id: '%s', title: 'report 3', target: 'jobs', state: 'queued', spec: {}}" % ident
    full.open("targets")
    answers(full, "if (/^v1.plans[?]/.test(path)) {" + IN_TWO % (one, "") + "}")
    full.fill("text", "rare\n")
    full.until(lambda: full.heading() == "report 3", "its page")
    answers(full, "if (/^v1.plans[?]/.test(path)) {" + IN_TWO % (f"{one}, {one.replace(ident, '77')}", one) + "}")
    go(full, "plans?title=rare", "Plans")
    full.shows("2 shown")


def test_lists_do_not_end_silently(full):
    full.open("targets")
    answers(full, """
        const query = new URLSearchParams(path.split('?')[1]), items = (count, make) => Array.from({length: count}, (_, n) => make(n));
        if (path.startsWith('v1/runs')) return json({items: items(420, n => ({entry: `${n}-0`, plan: '1', status: 'ok'}))});
        if (query.get('order') === 'running') return json(query.get('after') ? {items: [{id: 'last', title: 'the last'}]} : {items: items(100, n => ({id: `r${n}`})), next: 'on'});
        if (path.startsWith('v1/flow-runs?') && query.get('flow')) return json(query.get('after') ? {items: [{run: 'abc', flow: 'etl', state: 'failed'}]} : {items: [], next: 'on'});
        if (path.startsWith('v1/flow-runs/abc/steps')) return json(query.get('after') ? {items: [{run: 'sub', step: 'last', state: 'failed', error: 'in the very last'}]} : {items: items(1000, n => ({run: 'sub', step: `s${n}`, state: 'finished'})), next: 's999'});
        if (path === 'v1/flow-runs/abc') return json({run: 'abc', flow: 'etl', version: 1, state: 'failed', steps: items(1000, n => ({run: 'sub', step: `s${n}`, state: 'finished'})), next: 's999'})""")
    go(full, "runs", "Runs")
    full.shows("400 shown (20 before them are not)")
    go(full, "running", "Running")
    full.shows("100 shown")
    full.click("Show more")
    full.shows("the last")
    go(full, "flow/etl", "Flow etl")
    full.click("abc", "a")
    full.until(lambda: full.heading() == "Run abc", "its page")
    full.shows("1000 shown")
    full.click("Show more")
    full.shows("in the very last")
    assert full.driver.execute_script("return document.querySelectorAll('main tr').length") < 400


# -- what is shown is read again

def test_a_slow_answer_is_shown(empty):
    """Runs that end all the time do not begin a second request before the first is answered."""
    empty.open("plans")
    answers(empty, """if (path.startsWith('v1/health')) {
        window.most = Math.max(window.most || 0, window.now = (window.now || 0) + 1);
        await new Promise(resolve => setTimeout(resolve, 1500));
        now--;
    }""")
    empty.driver.execute_script("window.often = setInterval(() => dispatchEvent(new Event('zplan:run')), 100)")
    go(empty, "")
    empty.shows("● Healthy")
    empty.until(lambda: len(asked(empty, "GET", "v1/health")) >= 2, "it is asked again")
    assert empty.driver.execute_script("clearInterval(often); return most") == 1


def test_a_gateway_that_does_not_answer(empty):
    empty.open("plans")
    answers(empty, "if (path.startsWith('v1/limits')) await new Promise((_, no) => options.signal && options.signal.addEventListener('abort', () => no(options.signal.reason)))")
    empty.driver.execute_script("const timeout = AbortSignal.timeout; AbortSignal.timeout = ms => timeout.call(AbortSignal, ms / 100)")
    go(empty, "limits", "Limits")
    empty.shows("The gateway does not answer.")


def test_a_plan_that_has_ended_meanwhile(full):
    ident = full.web.added(plan("short"))["id"]
    full.open(f"plan/{ident}")
    full.shows("Run now")
    full.rig.client.done("remove", ident)
    full.shows("It has ended, or was removed.")
    assert "Run now" not in full.text() and full.heading() == "short"


def test_a_list_is_read_again(full):
    """When runs have ended, while it is one page and nothing is selected; else it is offered."""
    idents = []

    def another(title):
        idents.append(full.web.added(plan(title))["id"])
        full.driver.execute_script("dispatchEvent(new Event('zplan:run'))")
    full.open("plans?title=new*")
    full.shows("0 shown" if "0 shown" in full.text() else "No plan is so.")
    another("new 1")
    full.shows("new 1")
    full.driver.find_element(By.CSS_SELECTOR, "tbody input[type=checkbox]").click()
    full.shows("1 selected")
    another("new 2")
    full.click("Read again")
    full.shows("new 2")
    full.shows("1 selected")
    for ident in idents:
        full.rig.client.done("remove", ident)


def test_a_list_that_could_not_be_read_is_read_again(empty):
    empty.open("plans")
    answers(empty, "if (/^v1.plans[?].*dead/.test(path) && !window.back) return json({detail: 'not now'}, 503)")
    go(empty, "dead", "Dead letters")
    empty.shows("not now")
    empty.shows("Read again")
    empty.driver.execute_script("window.back = true; dispatchEvent(new Event('zplan:run'))")
    empty.shows("There are none.")


def test_a_search_is_not_repeated_by_itself(full):
    """It takes two seconds each time."""
    ident = full.rig.later[3]
    full.open("targets")
    answers(full, f"if (path.includes('{ident}/runs')) " + NO_END)
    go(full, f"plan/{ident}")
    full.shows("No run was found so far.")
    searched, seen = (len(asked(full, "GET", part)) for part in ("/runs", "/why"))
    full.driver.execute_script("dispatchEvent(new Event('zplan:run'))")
    full.until(lambda: len(asked(full, "GET", "/why")) > seen, "the page is read again")
    assert len(asked(full, "GET", "/runs")) == searched
    full.click("Read again")
    full.until(lambda: len(asked(full, "GET", "/runs")) > searched, "it is searched again")


def test_all_plans_of_a_target_are_paused(console):
    """Also those that were missed at first, as they changed their state; a lost answer stops nothing."""
    idents = [console.web.added(plan(f"report {n}"))["id"] for n in range(3)]
    console.open("targets")
    answers(console, """
        if (path === 'v1/bulk' && options.body.includes('queued') && !window.first) {
            window.first = true;
            return real(path, {...options, body: JSON.stringify({action: 'pause', filter: {target: 'jobs', state: 'queued', title: 'report 1'}})});
        }
        if (/bulk.[0-9]+$/.test(path) && !options.body && (options.method || 'GET') === 'GET' && (window.looks = (window.looks || 0) + 1) % 2) throw new TypeError('cut')""")
    console.click("Pause its plans", within="tbody tr:first-child")
    console.shows("Pause 1 plan of jobs?")
    console.click("Pause 1")
    console.shows("3 paused.")
    assert {console.web.get(f"/v1/plans/{ident}").json["state"] for ident in idents} == {"paused"}
    assert console.web.get("/v1/bulk").json["items"] == []


# -- who is signed in

@contextmanager
def from_the_start(console, rule):
    """`answers`, also while the console is loaded."""
    command = console.driver.execute_cdp_cmd
    script = command("Page.addScriptToEvaluateOnNewDocument", {"source": ANSWERS % rule})
    try:
        yield
    finally:
        command("Page.removeScriptToEvaluateOnNewDocument", script)


def test_who_is_asked_for_until_it_is_known(empty):
    with from_the_start(empty, """if (path === 'v1/session') {
            window.times = (window.times || 0) + 1;
            return times === 1 ? json({detail: 'the station is away'}, 503) : json({user: 'ann', users: true, roles: ['observe']});
        }"""):
        empty.open()
        empty.shows("● Healthy")
        assert "+ New plan" not in empty.text()
        empty.shows("Sign out")
        assert "+ New plan" not in empty.text()
        go(empty, "doctor", "Doctor")
        empty.shows("OpenAPI")
        assert "Prometheus" not in empty.text()


def test_a_session_that_ends_leaves_the_page(empty):
    """What was filled in is there behind the sign-in, but not for somebody else."""
    with from_the_start(empty, """
            if (window.ended && path !== 'v1/session') return json({detail: 'expired'}, 401);
            if (path === 'v1/session') return json({user: window.next || 'ann', users: true, roles: ['observe', 'submit', 'manage'], session: 'zps_x'})"""):
        for user, kept in (("ann", "a draft"), ("bob", "")):
            empty.open("new")
            empty.fill("target", "jobs")
            empty.fill("title", "a draft")
            empty.driver.execute_script("window.ended = true; document.querySelector('button.primary').click()")
            empty.shows("Your session has ended.")
            assert empty.heading() == "Sign in" and "Store the plan" not in empty.text()
            empty.driver.execute_script("window.ended = false; window.next = arguments[0]", user)
            empty.fill("token", "zpw_x\n")
            empty.until(lambda: empty.heading() == "New plan", "the page")
            assert empty.driver.find_element(By.NAME, "title").get_attribute("value") == kept
        empty.driver.execute_script("sessionStorage.clear()")


def test_a_wrong_token_behind_a_sign_out(empty):
    """No session has ended by itself, and no page is kept."""
    with from_the_start(empty, """if (path === 'v1/session') return options.method === 'POST' ? json({detail: 'no such token'}, 401)
            : json({user: 'ann', users: true, roles: ['observe'], session: 'zps_x'})"""):
        empty.open()
        empty.click("Sign out")
        empty.until(lambda: empty.heading() == "Sign in", "the sign-in")
        empty.fill("token", "zpw_x\n")
        empty.shows("no such token")
        assert "Your session has ended." not in empty.text()


# -- for everybody

def test_a_choice_does_not_move_the_focus(full):
    full.open("plans")
    full.shows("report 1")

    def focus():
        return full.driver.execute_script("return document.activeElement.getAttribute('aria-label')")
    for label, text, heading in (("State", "paused", "Plans"), ("Time zone of all times", "UTC", "Plans"), ("Status", "failed", "Runs")):
        if full.heading() != heading:
            full.click(heading, "a", "nav")
            full.until(lambda: full.focused() == heading, "the page has the focus")
            full.shows("cannot connect to database")
        full.driver.find_element(By.CSS_SELECTOR, f"select[aria-label='{label}']").send_keys(text)
        full.calm()
        assert focus() == label
    assert "status=failed" in full.driver.current_url
    full.open("new")
    assert full.driver.execute_script("""return [...document.querySelectorAll('label.field > select')].every(
        one => one.getAttribute('aria-label') === one.previousElementSibling.textContent)""")
    full.open("calendar")
    full.until(lambda: full.driver.find_elements(By.CSS_SELECTOR, ".heat a"), "the days")
    assert full.driver.execute_script("return Math.min(...[...document.querySelectorAll('.heat a')].map(one => one.getBoundingClientRect().height))") >= 24


# -- numbers that a browser would change

def test_a_number_is_not_changed(full):
    full.open("new")
    enter(full, "textarea[placeholder]", '{"kind": "12345678901234567890", "priority": 1.0}')
    full.shows("priority: a browser cannot send 1.0 as it is.")
    enter(full, "textarea[placeholder]", '{"list": ["x", 9007199254740993]}')
    full.shows("list: a browser cannot send 9007199254740993 as it is.")
    enter(full, "textarea[placeholder]", '{"list": [0.10, 0.10000000000000001, 1e21, 12345678901234567000]}')
    full.until(lambda: "a browser cannot send" not in full.text(), "these are sent")
    answers(full, """if (path === 'v1/plans/77')
        return new Response('{"id": "77", "title": "large", "spec": {"input": {"a": 12345678901234567890, "b": 1}, "timeout": 5, "priority": 1.0, "share": 0.10000000000000001}}', {headers: {ETag: '"1-1"'}})""")
    go(full, "edit/77")
    full.shows("Fields, as JSON")

    def save(*changes, press=full.click):
        for before, after in changes:
            full.driver.execute_script("""
                const text = document.querySelector('textarea');
                text.value = text.value.replace(arguments[0], arguments[1]);
                text.dispatchEvent(new Event('input', {bubbles: true}))""", before, after)
        press("Save")
    save(('"b": 1', '"b": 2'))
    full.shows("a: a browser cannot send 12345678901234567890 as it is.")
    assert asked(full, "PATCH", "") == []
    save(('"b": 2', '"b": 1'), ('"timeout": 5', '"timeout": 6'), ('"priority": 1', '"priority": 5'), press=lambda text: press_twice(full, text))
    full.shows("no plan 77")
    assert [one["body"] for one in asked(full, "PATCH", "")] == ['{"spec":{"timeout":6,"priority":5}}']
