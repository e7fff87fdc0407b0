"""The console when something goes wrong: answers that fail, are late, are many or partial, and presses that come twice."""
import pytest

from consolerig import By, Keys, chromium, empty, full, needs_console    # noqa: F401
from selenium.webdriver.support.ui import Select

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
