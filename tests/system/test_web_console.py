"""The console in Debian's Chromium: every page empty and full, without an error, a foreign request or an accessibility
violation; what people come for, as they would do it."""
import glob
import hashlib
import io
import os
import re
import tarfile
import time
import urllib.request

import pytest

from flowrig import Call, Flows, call
from webtest import Web, needs_web
from zplantest import FT, ST, WAIT, at_once, later, wait_until

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is not there")
from selenium.webdriver.chrome.options import Options      # noqa: E402
from selenium.webdriver.chrome.service import Service      # noqa: E402
from selenium.webdriver.common.by import By                # noqa: E402

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "web", "assets")
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
PAGES = ["", "plans", "running", "runs", "dead", "flows", "calendar", "targets", "callbacks", "limits", "kinds", "doctor", "new"]
HOSTILE = "<img src=x onerror=\"document.title='stolen'\"><script>document.title='stolen'</script>"
AXE = "https://registry.npmjs.org/axe-core/-/axe-core-4.10.2.tgz"
VENDORED = {"htm-preact.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7"}

pytestmark = [needs_web, pytest.mark.timeout(400),
              pytest.mark.skipif(not os.path.exists(DRIVER), reason="chromium-driver is not there")]


@pytest.fixture(scope="module")
def chromium():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1300,900", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(DRIVER), options=options)
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
        self.until(lambda: self.heading(), "the page is there")

    def heading(self):
        return self.driver.execute_script("const h = document.querySelector('main h1'); return h && h.textContent")

    def until(self, check, what):
        return wait_until(check, what, 3 * WAIT)

    def text(self):
        return self.driver.execute_script("return document.body.innerText")

    def shows(self, text):
        self.until(lambda: text in self.text(), f"{text!r} is shown")

    def calm(self):
        """All that the page asked for has been answered."""
        self.until(lambda: self.driver.execute_script(
            "return !/Reading…/.test(document.body.innerText) && performance.getEntriesByType('resource').every(e => e.responseEnd)"),
            "it is calm")

    def click(self, text, tag="button"):
        """The first that is seen and says so."""
        found = self.until(lambda: [one for one in self.driver.find_elements(By.TAG_NAME, tag)
                                    if one.text.strip() == text and one.is_displayed()], f"{tag} {text!r}")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found[0])
        found[0].click()

    def fill(self, name, value):
        field = self.driver.find_element(By.NAME, name)
        field.clear()
        field.send_keys(value)

    def at_failure(self):
        """What a person would have seen, for the report."""
        log = [entry["message"] for entry in self.driver.get_log("browser")]
        return "\n".join([self.driver.current_url, self.text(), *log, self.web.said()[-3000:]])

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


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


def look_at(console, page, axe, allowed=()):
    console.open(page)
    console.calm()
    assert [error for error in console.errors() if not any(part in error for part in allowed)] == [], page
    hosts = console.driver.execute_script("return performance.getEntriesByType('resource').map(e => new URL(e.name).host)")
    assert set(hosts) <= {f"127.0.0.1:{console.web.port}"}
    assert "stolen" not in console.driver.title
    if axe:
        found = console.driver.execute_async_script(
            axe + "; axe.run(document, {resultTypes: ['violations']}).then(r => arguments[arguments.length - 1]"
            "(r.violations.map(v => v.id + ': ' + v.nodes[0].html.slice(0, 200))))")
        assert found == [], page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page or "overview")
def test_every_page_without_a_plan(empty, axe, page):
    look_at(empty, page, axe)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page or "overview")
def test_every_page_with_plans(full, axe, page):
    look_at(full, page, axe)


def test_the_pages_of_one_thing(full, axe):
    rig = full.rig
    for page, said in ((f"plan/{rig.dead}", "cannot connect to database"), (f"plan/{rig.later[1]}", "report 2"),
                       (f"edit/{rig.later[1]}", "Fields, as JSON"), ("flow/etl", "load"), (f"flow-run/{rig.flow_run}", "disk full"),
                       (f"runs?plan={rig.dead}", "cannot connect to database"), ("plans?order=time", "report 2")):
        look_at(full, page, axe)
        full.shows(said)


def test_a_plan_that_is_not_there(full):
    full.open("plan/77")
    full.shows("no plan 77")


@pytest.mark.parametrize("page", ["", "plans", "runs", "new", "calendar"], ids=lambda page: page or "overview")
def test_a_small_window(full, page):
    """Nothing is wider than the window but what scrolls by itself."""
    full.driver.set_window_size(500, 900)       # the least that Chromium takes
    try:
        full.open(page)
        full.calm()
        assert full.driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        full.driver.set_window_size(1300, 900)


# -- what people come for

def test_what_failed_tonight_and_run_it_again(full):
    """Overview, one click to the plan, one to run it."""
    full.open()
    full.shows("cannot connect to database")
    full.driver.find_element(By.PARTIAL_LINK_TEXT, "payroll").click()
    full.click("Run now")
    run = full.rig.jobs.recv()
    assert run.mailbox.decode() == "*" + full.rig.dead
    full.rig.jobs.finish(run, ST.FAILED, [(FT.STATUS, b"-failed: still no database")])
    full.shows("still no database")      # without reloading


def test_find_a_plan_by_half_a_title_and_pause_it(full):
    full.open()
    full.fill("text", "port 3\n")
    full.until(lambda: "title=" in full.driver.current_url, "it is looked for")
    full.driver.find_element(By.LINK_TEXT, "report 3") if full.shows("report 3") is None else None
    full.driver.find_element(By.LINK_TEXT, "report 3").click()
    full.click("Pause")
    wait_until(lambda: full.rig.message(full.rig.later[2])["plan_state"] == 5, "it is paused")
    full.click("Resume")
    wait_until(lambda: full.rig.message(full.rig.later[2])["plan_state"] == 1, "it is queued")


def test_many_are_asked_about_first(full):
    full.open("plans?title=report*")
    full.shows("report 8")
    boxes = full.driver.find_elements(By.CSS_SELECTOR, "tbody input[type=checkbox]")
    for box in boxes[-2:]:
        box.click()
    full.click("Pause")
    full.shows("Pause 2 plans?")
    full.click("Go back")
    assert full.rig.message(full.rig.later[7])["plan_state"] == 1
    full.click("Pause")
    full.click("Pause 2")
    wait_until(lambda: full.rig.message(full.rig.later[7])["plan_state"] == 5, "it is paused")


def test_every_night_at_two(empty):
    """The next five are shown before it is stored."""
    empty.open("new")
    empty.fill("target", "jobs")
    empty.fill("command", "backup")
    empty.fill("title", "every night")
    empty.shows("02:00:00")
    assert len(empty.driver.find_elements(By.CSS_SELECTOR, "aside ol li")) == 5
    assert "zplan add --target jobs --command backup --daily 02:00" in empty.text()
    empty.click("Store the plan")
    empty.until(lambda: "#/plan/" in empty.driver.current_url, "its page")
    (plan,) = empty.rig.client.done("list", {"title": "every night"}).json["plans"]
    assert plan["cron"] == "0 2 * * *" and plan["command"] == "backup"


def test_a_flow_is_retried(full):
    full.open(f"flow-run/{failed_run(full.rig)}")
    full.shows("disk full")
    full.click("Retry")
    full.shows("Retry these steps")
    [button for button in full.driver.find_elements(By.CSS_SELECTOR, "dialog button.danger")][0].click()
    full.shows("It goes on.")
    one = Call(full.rig.jobs.recv())
    assert one.step == "send"
    full.rig.jobs.finish(one.run, ST.OK)
    full.rig.jobs.finish(Call(full.rig.jobs.recv()).run, ST.OK)
    full.until(lambda: full.driver.find_elements(By.CSS_SELECTOR, "main > p .state.good"), "it has finished")


def test_the_station_goes_away_and_comes_back(empty):
    empty.open()
    empty.shows("Healthy")
    empty.rig.station.stop()
    empty.shows("What is shown may be old.")
    empty.rig.station.start()
    empty.until(lambda: "What is shown may be old." not in empty.text(), "it is back")


# -- the files themselves

def test_no_html_is_made_of_data():
    for path in glob.glob(os.path.join(ASSETS, "*.js")):
        if os.path.basename(path) in VENDORED:
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert not re.search(r"innerHTML|outerHTML|dangerouslySetInnerHTML|srcdoc|\beval\b|Function\s*\(|document\.write|insertAdjacent", text), path


def test_the_vendored_files_are_as_they_were_published():
    for name, wanted in VENDORED.items():
        with open(os.path.join(ASSETS, name), "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == wanted, name


def test_the_first_load_is_small():
    import gzip
    files = [path for path in glob.glob(os.path.join(ASSETS, "*")) if not path.endswith("meson.build")]
    size = 0
    for path in files:
        with open(path, "rb") as file:
            size += len(gzip.compress(file.read(), 9))
    assert size < 100_000 and time.time()
