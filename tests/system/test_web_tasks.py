"""What people come to the console for: twelve tasks, each from Overview and in a number of clicks that is counted; one of
them with keys only; pictures for the documentation."""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import time
import zlib

import pytest

from clitest import ZPLAN
from consolerig import By, Keys, chromium, console, needs_console    # noqa: F401
from flowrig import Flows, call
from webtest import make_web                                          # noqa: F401
from zplanprocs import DIES_WITH_PARENT, REPO
from zplantest import FT, PAUSE, QUEUE, RETRY, ST, WAIT, at_once, every, later, wait_until

pytestmark = needs_console


def fail(rig, reason="cannot connect to database", output="line 1\nline 2"):
    """A plan `payroll` whose run has failed for good."""
    ident = rig.client.added(at_once(description="payroll", retry={"strategy": "none"}))
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED, [(FT.STATUS, f"-failed: {reason}".encode()), (FT.CONTENT, output.encode())])
    wait_until(lambda: rig.message(ident).get("verdict"), "it has failed")
    return ident


def finish_all(rig, status=ST.OK):
    """Each dispatch that has come, also one that is sent again."""
    while rig.jobs.socket.poll(0):
        rig.jobs.finish(rig.jobs.recv(), status)


def state_of(rig, ident):
    return rig.message(ident)["plan_state"]


# -- at 3 in the morning

def test_is_it_the_station_or_redis(console):
    """No click: Overview names what is down, and what to do."""
    with console.task(0):
        console.shows("● Healthy")
        console.shows("● Redis up")
        console.rig.redis.stop()
        console.shows("✕ Redis down")
        console.shows("● Station up")
        console.shows("✕ Not healthy")
        console.shows("start Redis, or check")
        console.rig.redis.start()
        console.shows("● Redis up")
        console.shows("● Healthy")
        console.rig.station.stop()
        console.shows("✕ Station down")
        console.shows("✕ Not healthy")
        console.until(lambda: "Redis" not in console.text(), "nothing is known of Redis")
        console.shows("systemctl status zpland")
        console.rig.station.start()
        console.shows("● Healthy")


def test_what_ran_before_the_page_was_opened(console):
    """Overview shows the day as the gateway has recorded it, with what failed."""
    def recorded(name):
        return [value for value in console.web.get("/v1/series?step=600").json[name] if value is not None]
    wait_until(lambda: recorded("plans"), "the first numbers are recorded", 60)
    fail(console.rig)
    wait_until(lambda: any(recorded("failed")), "the failure is recorded", 60)
    with console.task(0):
        console.until(lambda: "0 ended well, 1 failed" in console.driver.execute_script("return document.body.textContent"), "it is in the chart")


def test_what_failed_tonight_and_its_output(console):
    fail(console.rig)
    with console.task(1) as task:
        console.shows("cannot connect to database")
        assert "line 2" not in console.text()
        task.click("Output", "summary")
        console.shows("line 2")


def test_run_that_one_again(console):
    ident = fail(console.rig)
    with console.task(2) as task:
        task.click("payroll", "a")
        task.click("Run now")
        run = console.rig.jobs.recv()
        assert run.mailbox.decode() == "*" + ident
        console.rig.jobs.finish(run, ST.FAILED, [(FT.STATUS, b"-failed: still no database")])
        console.shows("still no database")


def test_is_its_worker_connected(console):
    """A target without a worker says so, and since when."""
    console.rig.client.added(at_once(retry={"strategy": "fixed", "interval": 1}))
    console.rig.jobs.answer(console.rig.jobs.recv(), ST.NOT_WORKER)
    with console.task(1) as task:
        task.click("Targets", "a", "nav")
        console.shows("✕ no worker since")
        console.until(lambda: finish_all(console.rig) or "no worker since" not in console.text(), "it has a worker")
        assert re.search(r"jobs\s+api\s+● connected", console.text())
    with console.task(0):
        console.until(lambda: re.search(r"jobs\s+api\s+● connected", console.text()), "Overview has it as well")


def test_stop_all_plans_of_a_target(console):
    """Also those that run and those that are retried; not what was stopped before, nor other targets."""
    rig = console.rig
    closed = rig.client.added(later())
    rig.client.done("close", closed)
    dead = fail(rig)
    idents = [rig.client.added({**later(3600 * n), "description": f"report {n}"}) for n in range(1, 6)]
    hourly = every(3600, -1, plan_time=int(time.time()) - 3700, misfire="latest", retry={"strategy": "fixed", "interval": 3600, "max": 5})
    idents.append(rig.client.added({**hourly, "description": "retried"}))
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED, [(FT.STATUS, b"-failed: no")])
    wait_until(lambda: state_of(rig, idents[-1]) == RETRY, "it will be retried")
    idents.append(rig.client.added({**hourly, "description": "in progress"}))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    news = rig.client.added(later(), station="news")
    with console.task(3) as task:
        task.click("Targets", "a", "nav")
        task.click("Pause its plans", within="tbody tr:first-child")
        console.shows(f"Pause {len(idents)} plans of jobs?")
        console.shows("report 1")
        task.click(f"Pause {len(idents)}")
        console.shows(f"{len(idents)} paused.")
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    wait_until(lambda: [state_of(rig, ident) for ident in idents] == [PAUSE] * len(idents), "all are paused")
    assert rig.message(news, "news")["plan_state"] == QUEUE
    assert rig.client.done("message", closed).json["plan_state"] != PAUSE and rig.message(dead)["verdict"]


def test_what_was_missed_in_the_outage(console):
    rig = console.rig
    ident = rig.client.added(every(1, -1, description="report"))
    rig.jobs.finish(rig.jobs.recv())
    rig.station.stop()
    back = time.time() + 4
    wait_until(lambda: time.time() > back, "some occurrences have passed")
    rig.station.start()

    def missed():
        finish_all(rig)
        return [run for run in rig.client.done("history", ident).json["runs"] if run["status"] == ST.MISSED]
    wait_until(missed, "history has what was missed", 3 * WAIT)
    rig.client.done("pause", ident)
    count = missed()[0]["missed"]
    with console.task(2) as task:
        task.click("Runs", "a", "nav")
        task.click("Missed since yesterday")
        console.shows("All runs")           # of this list alone; the one before has its row, too
        console.shows(f"{count} occurrences did not run")
        console.shows("report")


def test_find_a_plan_by_half_a_title(console):
    """The only one that matches is shown at once; of several the list."""
    for n in range(1, 9):
        console.rig.client.added({**later(3600 * n), "description": f"report {n}"})
    with console.task(1) as task:
        task.click_field("text")
        task.type("port 3\n")
        console.until(lambda: console.heading() == "report 3", "its page")
    with console.task(1) as task:
        task.click_field("text")
        task.type("port\n")
        console.shows("report 8")
        assert console.heading() == "Plans"


def test_why_did_it_not_run(console):
    rig = console.rig
    rig.client.done("limit", "set", "station:jobs", '{"concurrency": 1}')
    rig.client.added(at_once(description="first"))
    first = rig.jobs.recv()
    rig.jobs.answer(first, ST.RUNING)
    rig.client.added(at_once(description="second"))
    with console.task(2) as task:
        task.click("plans", "a", ".figures")
        task.click("second", "a", "tbody")
        console.shows("limit")
        rig.jobs.finish(first)
        console.until(lambda: finish_all(rig) or "● ok" in console.text(), "it has run")


# -- on the first day

def terminal(rig, folder):
    """The environment of a terminal on the machine of the station."""
    path = os.pathsep.join([os.path.dirname(ZPLAN), os.environ["PATH"]])
    return {"cwd": folder, "env": {"PATH": path, "ZPLAN_CONNECT": rig.ipc("q"), "PYTHONPATH": os.path.join(REPO, "src", "clients", "python")},
            "stdin": subprocess.DEVNULL}


def texts_to_connect(console):
    return dict(console.driver.execute_script(
        "return [...document.querySelectorAll('h3')].map(one => [one.firstChild.textContent.trim(), one.nextElementSibling.textContent])"))


def test_connect_a_worker(console, tmp_path):
    """The lines that are shown are run as they stand there, and their results are shown."""
    with console.task(1) as task:
        task.click("Connect a worker", "a")
        console.shows("zplan work --pull reports")
        text = texts_to_connect(console)["Shell"]
        worker = subprocess.Popen([*DIES_WITH_PARENT, "bash", "-ec", text], **terminal(console.rig, tmp_path))
        try:
            console.until(lambda: re.search(r"reports\s+pull\s+● ready\s+1\s+1\s", console.text()), "its first run has ended well")
        finally:
            worker.terminate()      # bash: the worker ends with its parent
            worker.wait(WAIT)


def test_a_worker_in_python_and_in_c(console, tmp_path):
    console.open("targets")
    console.shows("PullWorker")
    texts = texts_to_connect(console)
    rig = console.rig
    rig.client.done("station", "add", "reports=pull")
    ident = rig.client.added(at_once(), station="reports", head=[(FT.COMMAND, b"report")])
    assert "tcp://127.0.0.1:7920" in texts["Python"] and "tcp://127.0.0.1:7920" in texts["C"]
    worker = subprocess.Popen([sys.executable, "-c", texts["Python"].replace("tcp://127.0.0.1:7920", rig.ipc("q"))],
                              **terminal(rig, tmp_path))
    try:
        console.until(lambda: re.search(r"reports\s+pull\s+● ready\s+1\s+1\s", console.text()), "it has done the job")
    finally:
        worker.kill()
        worker.wait(WAIT)
    source = ("#include <zplan_worker.h>\nstatic int on_report (struct zplan_job *job, struct zplan_answer *answer, void *context);\n"
              "int main (void)\n{\n" + texts["C"] + "\n}\n"
              "static int on_report (struct zplan_job *job, struct zplan_answer *answer, void *context)\n"
              "{\n    (void)job, (void)answer, (void)context;\n    return 1;\n}\n")
    subprocess.run(["cc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(REPO, "include"), "-x", "c", "-"],
                   input=source, text=True, check=True, timeout=WAIT)


def in_zone(console, name):
    console.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": name})


def spec_of(rig, ident):
    """What of a plan its schedule and policies are."""
    message = rig.message(ident)
    return {name: message.get(name) for name in ("plan_type", "plan_value", "plan_repet", "cron", "timezone", "description", "retry",
                                                 "timeout", "callback", "plan_state")}


def test_every_night_at_two_and_the_same_as_a_line(console, tmp_path):
    """B082: The next five are shown in two zones before it is stored. One click more copies it as a line of zplan."""
    rig = console.rig
    in_zone(console, "Europe/Berlin")
    console.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    try:
        with console.task(3) as task:
            task.click("+ New plan", "a")
            console.until(lambda: console.heading() == "New plan", "the form")
            task.type(Keys.TAB, "jobs", Keys.TAB, "backup", Keys.TAB, "every night")
            console.until(lambda: len(console.driver.find_elements(By.CSS_SELECTOR, "aside ol li")) == 5, "the next five")
            for line in console.driver.find_elements(By.CSS_SELECTOR, "aside ol li"):
                assert re.fullmatch(r"\d{4}-\d\d-\d\d 02:00:00 Europe/Berlin\n\d{4}-\d\d-\d\d 0[01]:00:00 UTC", line.text)
            task.click("Copy the line")
            console.shows("Copied.")
            line = console.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
            assert task.clicks == 2
            task.click("Store the plan")
            console.until(lambda: console.heading() == "every night", "its page")
    finally:
        in_zone(console, "")
    assert line == "zplan add --target jobs --command backup --daily 02:00 --retry forever --title 'every night' --timezone Europe/Berlin"
    subprocess.run([*DIES_WITH_PARENT, "bash", "-ec", line], check=True, timeout=WAIT, **terminal(rig, tmp_path))
    one, other = rig.client.done("list", {"title": "every night"}).json["plans"]
    assert (one["cron"], one["command"], one["timezone"]) == ("0 2 * * *", "backup", "Europe/Berlin")
    assert [other[name] for name in ("plan_time", "command", "timezone")] == [one[name] for name in ("plan_time", "command", "timezone")]


FORMS = ({"when": "day", "time": "03:15", "args": "a b\n'c'"}, {"when": "week", "value": "3", "time": "08:30"},
         {"when": "month", "value": "0", "time": "23:00"}, {"when": "month", "value": "-1"}, {"when": "month", "value": "15", "repeat": "3"},
         {"when": "cron", "cron": "*/5 8 * * MON", "timezone": "UTC"}, {"when": "hour", "value": "2", "repeat": "5"},
         {"when": "minute", "value": "10", "retry": "fixed"}, {"when": "second", "value": "3000", "retry": "exponential", "timeout": "90"},
         {"when": "time", "at": "2031-12-24T18:00"}, {"when": "none", "hold": True, "retry": "none", "name": "once"})


def test_the_line_makes_the_plan_of_the_form(console, tmp_path):
    """B085: For each kind of schedule, and with policies."""
    console.open("new")
    shown = console.driver.execute_async_script("""
        const [forms, done] = arguments;
        import(document.querySelector('script').src).then(all => all.modules['form.js']).then(m => done(forms.map(form => {
            const whole = {...m.fresh(), timezone: 'Europe/Berlin', target: 'jobs', command: 'do', ...form};
            return [m.documentOf(whole), m.shellOf(whole)];
        })))""", FORMS)
    for form, (document, line) in zip(FORMS, shown):
        one = console.web.get(f"/v1/plans/{console.web.added(document)['id']}").json
        if "name" in form:
            assert console.web.ask("DELETE", f"/v1/plans/{one['id']}").status == 204
        ended = subprocess.run([*DIES_WITH_PARENT, "bash", "-ec", line + " --json"], capture_output=True, text=True, timeout=WAIT, **terminal(console.rig, tmp_path))
        assert (ended.returncode, ended.stderr) == (0, ""), line
        other = console.web.get(f"/v1/plans/{json.loads(ended.stdout)['id']}").json
        for name in ("command", "args", "state", "name", "counts"):
            assert one.get(name) == other.get(name), (line, name)
        once = form["when"] in ("none", "time")      # 0 and 1 are the same then
        for name in ("retry", "timeout", *(() if once else ("plan_repet",))):
            assert one["spec"].get(name) == other["spec"].get(name), (line, name)
        if form["when"] not in ("none", "hour", "minute", "second"):
            assert one["next_at"] == other["next_at"], line


def test_the_params_of_a_flow_are_typed_as_json(console):
    """B086: They are among the more fields of a new plan."""
    flows = Flows(console.rig)
    flows.put("with-params", {"a": call(args=["=x"])}, params={"x": 1})
    console.open("new")
    for name, text in (("target", "with-params"), ("title", "five")):
        console.driver.find_element(By.NAME, name).send_keys(text)
    console.driver.find_element(By.XPATH, "//summary[text()='Policies']").click()
    console.driver.find_element(By.CSS_SELECTOR, "details textarea").send_keys('{"params": {"x": 5}}')
    console.click("Store the plan")
    console.until(lambda: console.heading() == "five", "its page")
    plan, = console.rig.client.done("list", {"title": "five"}).json["plans"]
    assert plan["params"] == {"x": 5}
    ident = f"{plan['plan_id']:x}"
    console.rig.client.done("run", ident)
    one = flows.next("a")
    assert one.args == ["5"]
    flows.until(one.flow["run"], "finished")
    console.rig.client.done("remove", ident)
    flows.client.done("flow", "remove", "with-params")


def test_see_its_first_result(console):
    """No click after it was stored, and nothing is loaded again."""
    rig = console.rig
    with console.task(2) as task:
        task.click("+ New plan", "a")
        console.until(lambda: console.heading() == "New plan", "the form")
        task.type(Keys.TAB, "jobs", Keys.TAB, "backup", Keys.TAB, "first", Keys.TAB, Keys.TAB, Keys.TAB, "At once")
        task.click("Store the plan")
        run = rig.jobs.recv()
        rig.jobs.answer(run, ST.RUNING)
        console.until(lambda: console.heading() == "first", "its page")
        rig.jobs.finish(run, ST.OK, [(FT.CONTENT, b"14 files saved")])
        console.shows("14 files saved")


# -- with the keyboard

def test_find_and_pause_a_plan_with_keys_only(console):
    """Search, walk through the list, open, pause: the focus is where one is, and stays there."""
    rig = console.rig
    idents = [rig.client.added({**later(3600 * n), "description": f"report {n}"}) for n in range(1, 4)]
    with console.task(0) as task:
        task.type("/")
        console.until(lambda: console.driver.switch_to.active_element.get_attribute("id") == "find", "the search has the focus")
        task.type("report\n")
        console.until(lambda: console.focused() == "Plans", "the list")
        console.shows("report 3")
        task.type("j")
        console.until(lambda: console.focused().startswith("report 1"), "the first row")
        task.type("j")
        console.until(lambda: console.focused().startswith("report 2"), "the second row")
        assert console.driver.execute_script("return document.activeElement.matches(':focus-visible')")
        task.type(Keys.ENTER)
        console.until(lambda: console.focused() == "report 2", "its page")
        console.shows("Run now")
        console.tab_to("Pause")
        task.type(Keys.SPACE)
        console.until(lambda: console.focused() == "Resume", "it is paused, and can be resumed")
        assert state_of(rig, idents[1]) == PAUSE
        task.type(Keys.ENTER)
        console.until(lambda: console.focused() == "Pause", "it is resumed")
        assert [state_of(rig, ident) for ident in idents] == [QUEUE] * 3


def test_enter_does_not_confirm(console):
    """What is dangerous begins with the focus on the way back."""
    ident = console.rig.client.added({**later(), "description": "payroll"})
    console.open(f"plan/{ident}")
    console.tab_to("Remove")
    console.press(Keys.ENTER)
    console.shows("Remove this plan?")
    console.press(Keys.ENTER)
    console.until(lambda: "Remove this plan?" not in console.text(), "it was not confirmed")
    console.until(lambda: console.focused() == "Remove", "the focus is back")
    assert console.rig.message(ident)


# -- beside each other

def test_pages_that_were_left_hold_no_connection(console):
    """A browser keeps such pages for the way back, and has six connections to a host: a seventh page would wait for a minute."""
    console.driver.set_page_load_timeout(1.5 * WAIT)
    try:
        for page in ("", "targets", "doctor", "plans") * 3:
            console.open(page)
            console.calm()
    finally:
        console.driver.set_page_load_timeout(300)
    console.driver.get("about:blank")
    console.driver.back()
    console.shows("There are no plans yet.")
    console.open()
    fail(console.rig)
    console.shows("cannot connect to database")


# -- pictures for the documentation

def fill_with_a_day(rig):
    """A station in use, with the words of people: plans, runs, a flow whose run has failed; (plan, run of the flow)."""
    def added(title, hour, minute=0, days="*", **fields):
        return rig.client.added({"description": title, "plan_type": "cron", "cron": f"{minute} {hour} * * {days}", "plan_repet": -1,
                                 "timezone": "Europe/Berlin", **fields})

    def ran(ident, status, *pairs):
        rig.client.done("run", ident)
        rig.jobs.finish(rig.jobs.recv(), status, pairs)
        wait_until(lambda: rig.message(ident)["plan_state"] == QUEUE, "the run has ended")
    weekly = added("Weekly sales report", 8, 30, "MON", key="sales-weekly")
    nightly = added("Nightly backup", 2, key="backup")
    for hour, title in ((6, "Exchange rates"), (7, "Stock levels"), (9, "Invoices by mail"), (12, "Price list"), (18, "Close of day"),
                        (22, "Search index")):
        added(title, hour, 15)
    added("Ping suppliers", "8-18", "*/10", "MON-FRI")
    added("Payroll", 5, 0, "FRI")
    for n in range(40):
        added(f"Statement of customer {1001 + n}", 4 + n % 3, n, "TUE,THU" if n % 2 else "*", category="statement")
        added(f"Orders of shop {1 + n}", "*", (n * n * 7) % 60, category="orders")
    for n in range(5):
        ran(weekly, ST.OK, (FT.CONTENT, f"{1180 + 17 * n} rows, sent to sales@example.com".encode()))
    ran(nightly, ST.OK, (FT.CONTENT, b"14,208 files, 3.1 GiB"))
    rig.client.done("update", nightly, json.dumps({"revision": rig.message(nightly)["revision"], "retry": {"strategy": "none"}}))
    ran(nightly, ST.FAILED, (FT.STATUS, b"disk full: /backup"), (FT.CONTENT, b"13,877 files\ntar: /backup: No space left on device"))
    flows = Flows(rig)
    flows.put("daily-load", {
        "extract-orders": call(), "extract-customers": call(), "clean": call(["extract-orders", "extract-customers"]),
        "load": call(["clean"]), "check": call(["load"]), "report": call(["check"]), "archive": call(["load"])})
    flows.start("daily-load")
    for _ in range(4):
        flows.done(flows.call())
    ended = set()
    while ended != {"check", "archive"}:
        one = flows.call()
        ended.add(one.step)
        if one.step == "check":
            flows.fail(one, "orders without a customer: 12")
        else:
            flows.done(one)
    run = one.flow["run"]
    flows.until(run, "failed")
    return weekly, run


@pytest.mark.skipif("ZPLAN_SCREENSHOTS" not in os.environ, reason="ZPLAN_SCREENSHOTS names no folder")
def test_screenshots(console):
    """Overview, a plan, a run of a flow and the calendar as PNG, in the folder of ZPLAN_SCREENSHOTS."""
    folder = os.path.abspath(os.environ["ZPLAN_SCREENSHOTS"])
    os.makedirs(folder, exist_ok=True)
    weekly, run = fill_with_a_day(console.rig)
    console.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1200, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    try:
        for name, page, text in (("overview", "", "Nightly backup"), ("plan", f"plan/{weekly}", "sent to sales@example.com"),
                                 ("flow-run", f"flow-run/{run}", "orders without a customer"), ("calendar", "calendar", "in the next 7 days")):
            with console.scheme("light"):
                console.open(page)
                console.shows(text)
                if not page:
                    console.until(lambda: "It is drawn" not in console.text(), "the rates are drawn")
                console.calm()
                console.driver.execute_script("document.activeElement.blur()")
                write_png(os.path.join(folder, name + ".png"), console.driver.get_screenshot_as_png())
    finally:
        console.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def unfiltered(data):
    """The rows of a PNG of 8 bits a channel without an alpha channel, as the pixels that they show."""
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (8, 2)
    packed, at = b"", 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    raw, step, above = zlib.decompress(packed), 3 * width, bytes(3 * width)
    for at in range(0, height * (step + 1), step + 1):
        rule, row = raw[at], bytearray(raw[at + 1:at + 1 + step])
        for i in range(step if rule else 0):
            left, up, corner = row[i - 3] if i >= 3 else 0, above[i], above[i - 3] if i >= 3 else 0
            near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            row[i] = row[i] + (0, left, up, (left + up) // 2, near)[rule] & 255
        above = row
        yield [tuple(row[i:i + 3]) for i in range(0, step, 3)]


def write_png(path, data):
    """The picture in its 256 most frequent colours, which makes it small."""
    rows = list(unfiltered(data))
    count = collections.Counter(pixel for row in rows for pixel in row)
    colours = [pixel for pixel, _ in count.most_common(256)]
    number = {pixel: min(range(len(colours)), key=lambda at: sum((one - other) ** 2 for one, other in zip(pixel, colours[at])))
              for pixel in count}
    packed = zlib.compress(b"".join(b"\0" + bytes(number[pixel] for pixel in row) for row in rows), 9)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", bytes(value for colour in colours for value in colour)), (b"IDAT", packed), (b"IEND", b""))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
                                                  for name, body in chunks))
    assert os.path.getsize(path) < 80_000, path
