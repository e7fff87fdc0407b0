"""The console in Debian's Chromium: the browser, axe-core, and stations with a gateway in front."""
import io
import os
import tarfile
import urllib.request
from contextlib import contextmanager

import pytest

from flowrig import Call, Flows, call
from webtest import Web, needs_web
from zplantest import FT, ST, WAIT, at_once, later, wait_until

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is not installed")
from selenium.webdriver.chrome.options import Options      # noqa: E402
from selenium.webdriver.chrome.service import Service      # noqa: E402
from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException     # noqa: E402
from selenium.webdriver.common.by import By                # noqa: E402
from selenium.webdriver.common.keys import Keys            # noqa: E402

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
HOSTILE = "<img src=x onerror=\"document.title='stolen'\"><script>document.title='stolen'</script>"
AXE = "https://registry.npmjs.org/axe-core/-/axe-core-4.10.2.tgz"
SIZE = (1300, 900)

# For all tests of a module: `pytestmark = needs_console`.
needs_console = [needs_web, pytest.mark.timeout(400),
                 pytest.mark.skipif(not os.path.exists(DRIVER), reason="chromium-driver is not installed")]


def start_chromium():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1300,900", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


@pytest.fixture(scope="module")
def chromium():
    driver = start_chromium()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def axe():
    """The text of axe-core, or None where the registry is out of reach."""
    try:
        with urllib.request.urlopen(AXE, timeout=20) as answer:
            with tarfile.open(fileobj=io.BytesIO(answer.read())) as package:
                return package.extractfile("package/axe.min.js").read().decode()
    except OSError:
        return None


class Console:
    """The pages of one gateway in the browser."""

    def __init__(self, driver, rig, web):
        self.driver, self.rig, self.web = driver, rig, web
        self.base = f"http://127.0.0.1:{web.port}/"

    def open(self, page=""):
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(f"{self.base}#/{page}")
        self.driver.execute_script("""
            window.clicks = 0;
            addEventListener('click', event => {
                window.clicks += event.detail > 0;
                if (window.wanted && wanted.contains(event.target)) window.wanted = null;
            }, true)""")
        self.until(lambda: self.heading(), "the page is there")

    def heading(self):
        return self.driver.execute_script("const h = document.querySelector('main h1'); return h && h.textContent")

    def until(self, check, what):
        # Not more often: each question costs the browser more than a page does.
        return wait_until(check, what, 3 * WAIT, 0.1)

    def text(self):
        return self.driver.execute_script("return document.body.innerText")

    def shows(self, text):
        self.until(lambda: text in self.text(), f"{text!r} is shown")

    def calm(self):
        """All that the page asked for has been answered."""
        self.until(lambda: self.driver.execute_script(
            "return !/Reading…/.test(document.body.innerText) && performance.getEntriesByType('resource').every(e => e.responseEnd)"),
            "it is calm")

    def click(self, text, tag="button", within="body"):
        """The first that is seen and has this text."""
        def clicked():
            found = None
            try:
                found = self.driver.execute_script("""
                    const found = [...document.querySelectorAll(arguments[0])].find(one => one.checkVisibility() && one.innerText.trim() === arguments[1]);
                    if (found) found.scrollIntoView({block: 'center'});
                    return window.wanted = found""", f"{within} {tag}", text)
                if found:
                    found.click()
            except (StaleElementReferenceException, ElementClickInterceptedException):      # it was drawn again
                pass
            # It may have moved below the mouse: then something else was clicked, or nothing.
            return found and self.driver.execute_script("return !window.wanted")
        self.until(clicked, f"{tag} {text!r}")

    def clicks(self):
        """Clicks of the mouse that have come to the page since it was loaded."""
        return self.driver.execute_script("return window.clicks")

    def fill(self, name, value):
        field = self.driver.find_element(By.NAME, name)
        # What is cleared first comes back when the page is drawn before the first key: the page is not told of it.
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(value)

    def press(self, *keys):
        """To whatever has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def focused(self):
        """The text of what has the focus."""
        return self.driver.execute_script("return document.activeElement.innerText.trim()")

    def tab_to(self, text, most=60):
        """Press Tab until what has this text has the focus."""
        for _ in range(most):
            self.press(Keys.TAB)
            if self.focused() == text:
                return
        raise AssertionError(f"{text!r} is not reached by Tab")

    @contextmanager
    def task(self, clicks):
        """A task, from Overview on, in at most so many clicks; what has been done with the keyboard is not counted."""
        self.open()
        self.until(lambda: self.heading() == "Overview", "Overview")
        task = Task(self, clicks)
        yield task
        assert self.clicks() == task.clicks <= clicks, "other clicks than counted, or the page was loaded again"

    @contextmanager
    def scheme(self, name):
        """As with a browser that prefers `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def at_failure(self):
        """What a person would have seen, for the report."""
        log = [entry["message"] for entry in self.driver.get_log("browser")]
        return "\n".join([self.driver.current_url, self.text(), *log, self.web.said()[-3000:]])

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


class Task:
    """What a person does: each click is counted."""

    def __init__(self, console, most):
        self.console, self.most, self.clicks = console, most, 0

    def click(self, text, tag="button", within="body"):
        self.clicks += 1
        assert self.clicks <= self.most, f"{text!r} is click {self.clicks} of {self.most}"
        self.console.click(text, tag, within)

    def click_field(self, name):
        self.clicks += 1
        assert self.clicks <= self.most, f"field {name!r} is click {self.clicks} of {self.most}"
        self.console.driver.find_element(By.NAME, name).click()

    def type(self, *keys):
        self.console.press(*keys)


@pytest.fixture(scope="module")
def empty(make_shared, chromium):
    rig = make_shared()
    web = Web(rig.folder, rig.ipc("q"), events=rig.ipc("e"))
    yield Console(chromium, rig, web)
    web.stop()


def failed_run(rig):
    """The name of a new run of etl, which has failed in its second step."""
    flows = Flows(rig)
    flows.start("etl")
    for status in (ST.OK, ST.FAILED):
        one = Call(rig.jobs.recv())
        rig.jobs.finish(one.run, status, [(FT.STATUS, b"disk full")])
    run = one.flow["run"]
    wait_until(lambda: flows.show(run)["state"] == "failed", "the flow has failed")
    return run


@pytest.fixture
def console(rig, make_web, chromium):
    """A station of the test's own."""
    yield Console(chromium, rig, make_web(rig))
    chromium.get("about:blank")


@pytest.fixture(scope="module")
def full(make_shared, chromium):
    """With plans in all states, whose words are hostile; runs, and a flow whose run has failed."""
    rig = make_shared()
    rig.dead = rig.client.added(at_once(description="payroll " + HOSTILE, retry={"strategy": "none"}))
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED, [(FT.STATUS, b"-failed: cannot connect to database"),
                                                 (FT.CONTENT, f"line 1\n{HOSTILE}".encode())])
    wait_until(lambda: rig.message(rig.dead).get("verdict"), "it is dead")
    rig.later = [rig.client.added({**later(3600 * n + 60), "description": f"report {n}"}) for n in range(1, 9)]
    rig.client.done("pause", rig.later[0])
    Flows(rig).put("etl", {"load": call(), "send": call(["load"]), "tell": call(["send"])})
    rig.flow_run = failed_run(rig)
    rig.client.done("limit", "set", "station:jobs", '{"concurrency": 4}')
    rig.client.done("kind", "put", "nightly", '{"retry": {"strategy": "none"}}')
    web = Web(rig.folder, rig.ipc("q"), events=rig.ipc("e"))
    yield Console(chromium, rig, web)
    web.stop()


def look_at(console, page, axe):
    """The page has no error, asks no other host, and is accessible."""
    console.open(page)
    console.calm()
    errors = console.errors()
    assert errors == [], (page, errors)
    hosts = console.driver.execute_script("return performance.getEntriesByType('resource').map(e => new URL(e.name).host)")
    assert set(hosts) <= {f"127.0.0.1:{console.web.port}"}
    assert "stolen" not in console.driver.title
    if axe:
        found = console.driver.execute_async_script(
            axe + "; axe.run(document, {resultTypes: ['violations']}).then(r => arguments[arguments.length - 1]"
            "(r.violations.map(v => v.id + ': ' + v.nodes[0].html.slice(0, 200))))")
        assert found == [], page
