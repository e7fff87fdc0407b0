"""The console in Debian's Chromium: every page empty and full, without an error, a foreign request or an accessibility
violation, in light and dark."""
import glob
import hashlib
import os
import re

import pytest

from consolerig import (By, Call, axe, chromium, empty, failed_run, full, look_at, needs_console)    # noqa: F401
from flowrig import Flows, call
from zplantest import ST, wait_until

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "web", "assets")
PAGES = ["", "plans", "running", "runs", "dead", "flows", "calendar", "targets", "callbacks", "limits", "kinds", "doctor", "new"]
VENDORED = {"htm-preact.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7"}

pytestmark = needs_console


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page or "overview")
def test_every_page_without_a_plan(empty, axe, page):
    look_at(empty, page, axe)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page or "overview")
def test_every_page_with_plans(full, axe, page):
    look_at(full, page, axe)


def pages_of_one_thing(rig):
    return ((f"plan/{rig.dead}", "cannot connect to database"), (f"plan/{rig.later[1]}", "report 2"),
            (f"edit/{rig.later[1]}", "Fields, as JSON"), ("flow/etl", "load"), (f"flow-run/{rig.flow_run}", "disk full"),
            (f"runs?plan={rig.dead}", "cannot connect to database"), ("plans?order=time", "report 2"))


def test_the_pages_of_one_thing(full, axe):
    for page, text in pages_of_one_thing(full.rig):
        look_at(full, page, axe)
        full.shows(text)


@pytest.mark.parametrize("page", ["", "plans", "runs", "dead", "flows", "calendar", "targets", "doctor", "new"],
                         ids=lambda page: page or "overview")
def test_pages_in_dark(full, axe, page):
    with full.scheme("dark"):
        look_at(full, page, axe)


def test_the_pages_of_one_thing_in_dark(full, axe):
    with full.scheme("dark"):
        for page, _ in pages_of_one_thing(full.rig):
            look_at(full, page, axe)


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


# -- what people do

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


def test_failed_items_and_a_parked_undo_are_shown(full):
    flows = Flows(full.rig)
    undo = {"target": "jobs", "command": "free", "retry": {"strategy": "none"}}
    flows.put("trip", {"book": call(for_each=2, undo=undo, max_parallel=1)})
    flows.start("trip")
    flows.next("book.0")
    one = flows.call()
    flows.fail(one, "no room")
    flows.fail(flows.call())
    full.open(f"flow-run/{one.flow['run']}")
    full.shows("The undo of book.0 has failed")
    full.shows("1: no room")


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


def test_the_first_load_is_small(full):
    """Page, style, script and icon; then what the overview asks the station. An event meanwhile makes it ask again."""
    full.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    full.open()
    full.calm()
    loaded = full.driver.execute_script("""
        const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
        return all.map(one => [new URL(one.name).pathname, one.encodedBodySize])""")
    files = [path for path, _ in loaded if not path.startswith("/v1/")]
    assert len(files) == 4 and len({path for path, _ in loaded}) <= 12, loaded
    assert 0 < sum(size for _, size in loaded) < 100_000, loaded
