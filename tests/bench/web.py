#!/usr/bin/python3
"""What zplan-web does a second, and how soon its pages are there: tests/bench/web.py [--plans N] [--seconds N] [--clients N]

Starts a Redis (everysec), a zpland and a zplan-web of its own and puts the plans into Redis. wrk, of the Debian package of
this name, asks for pages of plans and submits plans that are due in ten years. Then each page of the console is opened in
Chromium, once with an empty cache and once more, until what was read is shown; and a list is scrolled through.
ZPLAN_BIN_DIR says where the programs are.
"""
import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from list_pages import fill                                                    # noqa: E402
from consolerig import start_chromium                                           # noqa: E402
from webtest import Web                                                         # noqa: E402
from zplantest import Rig, wait_until                                           # noqa: E402

PAGES = ("", "plans", "running", "runs", "calendar", "dead", "targets", "limits", "callbacks", "flows", "doctor", "new")

SUBMIT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"target": "jobs", "command": "do", "title": "of a bench", "spec": {"plan_type": "time", "plan_time": "2036-11-28T00:00:00Z"}}'
"""

# When nothing that is asked for is missing and nothing is drawn any more, milliseconds since the page was asked for.
WATCH = """
    window.shownAt = 0;
    const look = () => {
        const main = document.querySelector('main');
        if (main && main.querySelector('h1') && !/Reading/.test(main.innerText)) window.shownAt ||= performance.now();
        else window.shownAt = 0;
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);"""

SCROLL = """
    const done = arguments[0], frames = [];
    let last = performance.now();
    const step = now => {
        frames.push(now - last);
        last = now;
        scrollBy(0, 120);
        if (frames.length < 400) requestAnimationFrame(step);
        else done({slow: frames.filter(one => one > 50).length, nodes: document.querySelectorAll('*').length});
    };
    requestAnimationFrame(step);"""


def wrk(options, url, script=None):
    """(requests a second, {percentile: ms})"""
    command = ["wrk", "-t1", f"-c{options.clients}", f"-d{options.seconds}", "--latency", *(["-s", script] if script else []), url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    units = {"us": 0.001, "ms": 1, "s": 1000}
    times = {float(part): float(time) * units[unit] for part, time, unit in re.findall(r"^ +(\d+)% +([\d.]+)(us|ms|s)$", text, re.M)}
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    assert not failed, text
    return float(re.search(r"Requests/sec: +([\d.]+)", text)[1]), times


def idle(persistence):
    return not persistence["aof_rewrite_in_progress"] and not persistence.get("aof_rewrite_scheduled") and not persistence["rdb_bgsave_in_progress"]


def browser():
    driver = start_chromium()
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    driver.set_script_timeout(60)
    return driver


def shown(driver, url, cold):
    if cold:
        driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    driver.get("about:blank")
    driver.get(url)
    seen = []

    def still():
        seen.append(driver.execute_script("return window.shownAt"))
        return seen[-1] and seen[-3:].count(seen[-1]) == 3 and seen[-1]
    return wait_until(still, "the page is shown", 60, 0.05)


def measure_pages(base, rounds):
    driver = browser()
    try:
        for page in PAGES:
            cold = [shown(driver, f"{base}/#/{page}", True) for _ in range(rounds)]
            warm = [shown(driver, f"{base}/#/{page}", False) for _ in range(rounds)]
            print(f"page {page or 'overview':12} {statistics.median(cold):6.0f} ms cold, {statistics.median(warm):6.0f} ms warm, "
                  f"slowest {max(cold + warm):6.0f} ms", flush=True)
        shown(driver, f"{base}/#/plans", False)
        print("scrolled through plans: {slow} of 400 frames above 50 ms, {nodes} nodes".format(**driver.execute_async_script(SCROLL)))
    finally:
        driver.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=1000000)
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5, help="so often is each page opened, cold and warm")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        parser.error("wrk is not installed: apt-get install wrk")
    rig, web = Rig(), None
    try:
        rig.start()
        fill(rig, options.plans)
        wait_until(lambda: idle(rig.db.info("persistence")), "Redis has rewritten its file", 600)
        web = Web(rig.folder, rig.ipc("q"), "--log-level", "warn", events=rig.ipc("e"))
        base = f"http://127.0.0.1:{web.port}"
        print(f"{options.plans} plans, {options.clients} clients")
        for name, path in (("plans by id", "limit=100"), ("plans by time", "limit=100&order=time")):
            rate, times = wrk(options, f"{base}/v1/plans?{path}")
            print(f"{name:14} {rate:8,.0f} pages a second, p50 {times[50]:.1f} ms, p99 {times[99]:.1f} ms", flush=True)
        script = pathlib.Path(rig.folder, "submit.lua")     # wrk reads it twice
        script.write_text(SUBMIT, encoding="utf-8")
        rate, times = wrk(options, f"{base}/v1/plans", script)
        print(f"submissions    {rate:8,.0f} a second, p50 {times[50]:.1f} ms, p99 {times[99]:.1f} ms", flush=True)
        measure_pages(base, options.rounds)
    finally:
        if web:
            web.process.terminate()
            web.process.wait(60)
        rig.close()


if __name__ == "__main__":
    main()
