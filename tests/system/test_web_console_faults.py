"""The console when something goes wrong: answers that fail, are late, are many or partial, and presses that come twice."""
import pytest

from consolerig import By, chromium, empty, full, needs_console    # noqa: F401
from selenium.webdriver.support.ui import Select
from webtest import plan

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


def choose(console, label, text):
    Select(console.driver.find_element(By.CSS_SELECTOR, f"select[aria-label='{label}']")).select_by_visible_text(text)


# -- nothing that is thrown stops the console

def test_a_time_zone_that_is_half_typed(empty):
    """The times are shown in UTC until there is such a zone; no plan is stored in a zone that there is not."""
    def times():
        return [one.text for one in empty.driver.find_elements(By.CSS_SELECTOR, "aside ol li")]
    empty.open("new")
    choose(empty, "Schedule", "Every n hours")
    empty.fill("timezone", "Asia/Tok")
    empty.until(lambda: times() and all("UTC" in one for one in times()), "the times in UTC")
    empty.fill("timezone", "Asia/Tokyo")
    empty.until(lambda: times() and all("Asia/Tokyo" in one for one in times()), "the times there")
    choose(empty, "Schedule", "Once, at a time")
    empty.driver.execute_script("""
        const at = document.querySelector('input[name=at]');
        at.value = '2031-12-24T18:00';
        at.dispatchEvent(new Event('input', {bubbles: true}))""")
    empty.until(lambda: times() and "18:00:00 Asia/Tokyo" in times()[0], "the time there")
    empty.fill("timezone", "Asia/Tok")
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
    full.click("Pause 3")
    full.shows("2 paused, 1 failed: it is locked")
    full.shows("1 selected")
    states = [full.web.get(f"/v1/plans/{ident}").json["state"] for ident in idents]
    assert states == ["paused", "queued", "paused"]
    for ident in idents:
        full.rig.client.done("remove", ident)
