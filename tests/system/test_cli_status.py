"""zplan status: the station on one screen."""
import json
import time

import pytest

from clitest import PlanStation, Refusal, Terminal, columns_of, zplan
from pulltest import Worker, add, with_pile
from zplantest import FT, ST, at_once, every, later, wait_until


def status(rig, *args):
    return zplan("--connect", rig.ipc("q"), "status", *args)


def found(rig):
    return json.loads(status(rig, "--json").out)


def ends(rig, *frames, status=ST.FAILED):
    rig.jobs.finish(rig.jobs.recv(), status, frames)


def table(text, heading):
    """The rows below a heading, up to an empty line."""
    return text.partition(f"\n{heading} ")[2].partition("\n\n")[0].splitlines()[1:]


def test_nothing_is_there(rig):
    out = status(rig).out
    assert "\nNo plan is stored: zplan add --help\n" in out and out.endswith("Targets: jobs connected, news connected\n")


def test_what_runs_what_failed_and_what_comes_next(rig):
    for hours in (7, 3, 1, 5, 2, 6, 4):
        rig.client.added(every(3600 * hours, 9, description=f"in {hours} h"))
    once = {"retry": {"strategy": "none"}}
    broken = rig.client.added(at_once(description="broken", key="nightly", **once))
    ends(rig, (FT.STATUS, b"-failed: no disk"))
    nameless = rig.client.added(at_once(description="", **once), head=[(FT.COMMAND, b"sweep")])
    ends(rig)
    rig.client.added(at_once(description="of lines", **once))
    ends(rig, (FT.STATUS, b"-failed: exit 1"), (FT.CONTENT, b"begin\nTraceback:\nKeyError: 'x'\n"))
    running = rig.client.added(at_once(description="at work"))
    rig.jobs.answer(rig.jobs.recv(), ST.WAITING, [(FT.STATUS, b"40 %")])
    wait_until(lambda: len(found(rig)["failed"]) == 3 and any(
        "progress" in plan for plan in found(rig)["running"]), "all of it is kept")
    said = found(rig)
    assert [plan["title"] for plan in said["coming"]] == [f"in {hours} h" for hours in range(1, 6)]
    assert [(plan["id"], plan["progress"]) for plan in said["running"]] == [(running, "40 %")]
    assert [(run["title"], run["failures"], run["recovered"]) for run in said["failed"]] == [
        ("of lines", 1, False), ("", 1, False), ("broken", 1, False)]
    assert said["failed"][2]["plan"] == broken and said["failed"][2]["name"] == "nightly"
    assert said["failed"][1]["plan"] == nameless and said["failed"][1]["command"] == "sweep"
    assert (said["paused"], said["dead"], said["healthy"]) == (0, 3, False)     # the last 3 runs failed
    out = status(rig).out
    assert out.startswith("not healthy: the last 3 runs of target jobs failed: ")
    row, = table(out, "RUNNING")
    assert row.startswith("at work ") and row.endswith(" jobs         40 %")
    lines, command, name = table(out, "FAILED SINCE YESTERDAY")
    assert command.startswith("sweep ")
    assert lines.startswith("of lines ") and lines.endswith(" failed exit 1: KeyError: 'x'")
    assert name.startswith("nightly ") and name.endswith(" failed no disk")
    assert [row.split("  ")[0] for row in table(out, "NEXT")] == [f"in {hours} h" for hours in range(1, 6)]
    assert "\n3 plans have failed permanently: zplan list --state failed\n" in out
    assert "No plan" not in out


def test_a_plan_that_failed_again_and_again_has_one_row(rig):
    rig.client.added(every(3600, 9, key="flaky", plan_time=int(time.time()) - 3598, retry={"strategy": "fixed", "interval": 1}))
    for reason in (b"-failed: first", b"-failed: second"):
        ends(rig, (FT.STATUS, reason))
    ends(rig, status=ST.OK)
    wait_until(lambda: found(rig)["failed"] and found(rig)["failed"][0]["recovered"], "it has recovered")
    run, = found(rig)["failed"]
    assert (run["name"], run["failures"]) == ("flaky", 2) and "second" in run["reason"]
    row, = table(status(rig).out, "FAILED SINCE YESTERDAY")
    assert row.split()[:2] == ["flaky", "2"] and row.endswith(" ok     second")


def test_plans_that_are_paused_are_counted(rig):
    for number in range(3):
        rig.client.done("pause", rig.client.added(later()))
    out = status(rig).out
    assert "\nNo plan is queued.\n3 plans are paused: zplan list --state paused\n" in out
    assert found(rig)["paused"] == 3


@pytest.mark.parametrize("command, state", [("pause", "paused"), ("close", "closed")])
def test_a_plan_that_waits_for_nothing_has_no_next_time(rig, command, state):
    ident = rig.client.added(every(3600, 9, key="nightly", timezone="Europe/Berlin"))
    rig.client.done(command, ident)
    rows = zplan("--connect", rig.ipc("q"), "show", "nightly").done().splitlines()
    assert "next           -" in rows and "time zone      Europe/Berlin" in rows
    assert any(row.startswith(f"state          {state}, 20") for row in rows), rows
    assert "command        do" in rows and "schedule       every 3600 s" in rows


def test_progress_of_a_run_that_a_worker_fetched(make_rig):
    rig = with_pile(make_rig)
    ident = add(rig, key="fetched")
    worker = Worker(rig, "w1")
    worker.one()
    worker.alive(ident, progress="3 of 4")
    wait_until(lambda: found(rig)["running"], "it runs")
    assert table(status(rig).out, "RUNNING")[0].endswith(" pile         3 of 4")
    shown = zplan("--connect", rig.ipc("q"), "show", "fetched").done()
    assert "\nprogress       3 of 4, w1\n" in shown
    heading, row = zplan("--connect", rig.ipc("q"), "team", "fetched").done().splitlines()[1:]
    assert row[heading.index("PROGRESS"):].startswith("3 of 4")


def test_it_fits_the_terminal(rig):
    """Long texts everywhere, of wide characters, too."""
    long = "the quarterly report of the sales department " * 4
    for title in (long, "\u6bcf\u9031\u306e\u5831\u544a\u66f8 " * 20):
        rig.client.added(at_once(description=title, retry={"strategy": "none"}))
        ends(rig, (FT.STATUS, f"-failed: {title}".encode()))
        rig.client.added(every(0, 9, description=title, kind=8, cron="0,5,10,15,20,25 0-23/2 1-31 JAN,MAR,MAY *"))
    rig.client.added(at_once(description=long))
    rig.jobs.answer(rig.jobs.recv(), ST.WAITING, [(FT.STATUS, (long[:200]).encode())])
    wait_until(lambda: len(found(rig)["failed"]) == 2 and found(rig)["running"], "all of it is kept")
    for columns in (60, 80, 120):
        out = Terminal("--connect", rig.ipc("q"), "--color", "never", "status", columns=columns).end()[1]
        assert "RUNNING" in out and "FAILED" in out and "NEXT" in out and "\u2026" in out
        assert max(columns_of(line) for line in out.splitlines()) <= columns, out
        assert len(out.splitlines()) <= 24


class Doctored(PlanStation):
    """Of whose commands some are denied."""

    def __init__(self, *denied):
        super().__init__()

        def before(word, *_):
            if word in denied:
                raise Refusal(ST.DENY, f"-deny: the key has no role observe for {word}")
        self.before = before

    def do_health(self):
        return {"healthy": True, "findings": []}


def test_what_comes_next_is_found_behind_ten_thousand_plans():
    """By its time, not among the first ids; and plans out of the queue are counted there, too."""
    with Doctored() as station:
        station.do_stats = lambda: {"targets": []}
        for _ in range(10_000):
            station.add("fill", plan_time=4102444800)
        station.add("retried", plan_time=1000, plan_state=3)
        for number in range(7, 0, -1):
            station.add(f"number {number}", plan_time=4102000000 + number)
        station.add("paused", plan_state=5)
        station.add("broken", plan_state=6)
        said = json.loads(station.zplan("status", "--json").out)
        assert [plan["title"] for plan in said["coming"]] == [f"number {number}" for number in range(1, 6)]
        assert (said["paused"], said["dead"]) == (1, 1)


@pytest.mark.parametrize("denied, part, left", [
    ("history", "failures", ["healthy", "NEXT ", "Targets"]),
    ("list", "plans", ["healthy", "FAILED", "Targets"]),
    ("stats", "targets", ["healthy", "FAILED", "NEXT "]),
    ("health", "health", ["FAILED", "NEXT ", "Targets"])])
def test_what_it_may_not_see_is_named_and_the_rest_is_shown(denied, part, left):
    with Doctored(denied) as station:
        station.add("first")
        station.outcome("bad", ST.FAILED, publish=False)
        station.runs[-1].update(fired=later()["plan_time"], ended=later()["plan_time"])
        station.do_stats = lambda: {"targets": [{"name": "jobs", "connected": True}]}
        ended = station.zplan("status")
        assert ended.code == (denied == "health") and not ended.err
        assert f"Not shown: {part}: -deny: the key has no role observe for {denied}\n" in ended.out
        assert all(word in ended.out for word in left), ended.out
        said = json.loads(station.zplan("status", "--json").out)
        assert list(said["hidden"].values()) == [[part]]


def test_one_reason_is_said_once():
    with Doctored() as station:
        def before(word, *_):
            if word != "health":
                raise Refusal(ST.NET_ERROR, "-net error: Redis is away")
        station.before = before
        assert station.zplan("status").out == "healthy\nNot shown: targets, failures, plans: -net error: Redis is away\n"
