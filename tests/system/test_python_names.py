"""src/clients/python/zplan.py: names and ids of plans, the names of JSON, durations, what runs wrote."""
import asyncio
import inspect
import json
import sys
import threading
import time
from datetime import datetime, timedelta, timezone

import pytest

from clitest import zplan as cli
from zplanprocs import REPO, wait_until
from test_votes import NAMES, start, vote, with_board
from zplantest import FT, ST

sys.path.insert(0, REPO + "/src/clients/python")
import zplan  # noqa: E402 pylint: disable=wrong-import-position

NONE = {"strategy": "none"}
FAR = 4102444800


@pytest.fixture(scope="module")
def rig(make_shared):
    """One station for all: what a test submits is its own."""
    return with_board(make_shared)


@pytest.fixture
def client(rig):
    with zplan.Client(rig.ipc("q"), rig.ipc("p"), timeout="20s") as made:
        yield made


def dispatched(rig, wanted):
    """The next run that is wanted: other tests leave some behind."""
    run = rig.jobs.recv()
    while run.code == zplan._CODE_CANCEL or not wanted(run):
        run = rig.jobs.recv()
    return run


def run_of(rig, plan):
    return dispatched(rig, lambda run: run.mailbox[1:].decode() == plan.id)


def ends(rig, plan, status=ST.OK, *frames):
    """The next run of this plan ends so."""
    run = run_of(rig, plan)
    rig.jobs.finish(run, status, list(frames))
    return run


# -- the names of JSON

RICH = [
    {"every": "1h30m", "repeat": 5, "title": "every", "jitter": "2m", "timeout": timedelta(minutes=5),
     "misfire": "latest", "misfire_window": "1h", "priority": 3, "group": "g", "tenant": 7, "creator": "ann",
     "category": "c", "log": "outcome", "overlap_policy": "queue", "ext": {"a": [1, {"b": "5m"}]},
     "retry": 3, "on_failure": {"command": "alarm", "title": "t"},
     "callback": {"success": {"url": "@hook"}},
     "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    {"cron": ["0 8 * * 1", "0 9 * * 2"], "timezone": "Europe/Berlin", "gap": "skip", "overlap": "last",
     "start_time": "2027-01-01T00:00:00Z", "end_time": datetime(2100, 1, 1, tzinfo=timezone.utc), "context": "more"},
    {"every": "2d", "repeat": 6, "cycle": [1, 2], "skip_set": 1, "no_keep": True},
    {"plan_type": "week", "plan_value": 1, "plan_repet": -1},
    {"at": FAR, "frames": ((FT.BIN, b"\xff\0"), (FT.CONTENT, b"text"))},
    {"delay": "3h", "hold": True},
]


@pytest.mark.parametrize("fields", RICH, ids=lambda fields: next(iter(fields)))
def test_a_plan_has_the_names_of_the_command_line(rig, client, fields):
    plan = client.submit("jobs", "report", "monthly", **fields)
    printed = json.loads(cli("--connect", rig.ipc("q"), "show", plan.id, "--json").done())
    assert dict(client.get(plan.id)) == printed
    client.pause(plan.id) if "hold" not in fields else client.resume(plan.id)
    state = "paused" if "hold" not in fields else "queued"
    assert plan.id in {one["id"] for one in client.list(state=state)} and client.get(plan)["state"] == state
    client.skip(plan.id) if "every" in fields and "cycle" not in fields else None
    printed = json.loads(cli("--connect", rig.ipc("q"), "show", plan.id, "--json").done())
    assert dict(client.get(plan.id)) == printed
    listed = {one["id"]: one for one in client.list(target="jobs")}[plan.id]
    assert listed.items() <= printed.items() and listed["target"] == "jobs"
    client.remove(plan.id)


def test_names_of_the_wire_stay_readable(client):
    plan = client.submit("jobs", "x", at=FAR, title="t", name="wired")
    stored = client.get(plan)
    for new, old, value in (("id", "plan_id", int(plan.id, 16)), ("title", "description", "t"), ("name", "key", "wired"),
                            ("target", "station", "jobs"), ("state", "plan_state", 1)):
        assert stored[old] == stored.wire[old] == stored.get(old) == value and old in stored
        assert new in stored and old not in dict(stored)
    assert stored["spec"]["plan_time"] == stored["plan_time"] == FAR and stored["next_at"] == "2100-01-01T00:00:00.000Z"
    assert plan.next_at == stored["next_at"]
    assert "nothing" not in stored and stored.get("nothing", 5) == 5
    with pytest.raises(KeyError):
        stored["nothing"]
    client.remove(plan)


def test_a_run_has_the_names_of_the_command_line(rig, client):
    plan = client.submit("jobs", "x", every="1s", name="runs", retry=NONE, no_keep=True)
    for status in (ST.OK, ST.FAILED, ST.NOT_FIND, ST.TIMEOUT):
        ends(rig, plan, status)
    rig.jobs.answer(run_of(rig, plan), ST.RUNING)
    stored = wait_until(lambda: [one for one in (client.get(plan),) if one.wire["last_state"] == ST.RUNING], "it runs")[0]
    printed = json.loads(cli("--connect", rig.ipc("q"), "show", plan.id, "--json").done())
    assert dict(stored) == printed and stored["running"] and stored["last"]["status"] is None
    answer = client.cancel(plan)
    assert (answer["id"], answer["notified"], answer["plan_id"]) == (plan.id, True, int(plan.id, 16))
    client.pause(plan) if client.get(plan)["state"] != "paused" else None
    rows = wait_until(lambda: [r for r in (list(client.history(plan="runs")),) if len(r) >= 5], "the runs")[0]
    printed = [json.loads(line) for line in
               cli("--connect", rig.ipc("q"), "history", plan.id, "--json").done().splitlines()]
    assert [dict(row) for row in rows] == printed
    assert [row["status"] for row in rows[:4]] == ["ok", "failed", "failed", "timeout"]
    assert rows[2]["code"] == "not_find" and rows[0].wire["status"] == ST.OK and rows[0]["took_s"] >= 0
    client.remove(plan)


def test_last_nights_failures(rig, client):
    plan = client.submit("jobs", "x", name="night", every="1s", retry=0, no_keep=True)
    for status in (ST.OK, ST.FAILED, ST.OK, ST.TIMEOUT):
        ends(rig, plan, status)
    client.pause(plan)
    wait_until(lambda: len(list(client.history(plan=plan.id))) == 4, "the runs")
    for since in ("12h", timedelta(hours=12), datetime.now() - timedelta(hours=12), "2026-01-01T00:00:00Z", "43200s"):
        assert [run["status"] for run in client.history(plan="night", since=since, failed=True)] == ["failed", "timeout"]
    assert [run["status"] for run in client.history(plan="night", failed=True, newest=True)] == ["timeout", "failed"]
    every = list(client.history(plan="night"))
    assert list(client.history(plan="night", since="1h")) == every
    assert list(client.history(plan="night", since="1h", newest=True)) == every[::-1]
    assert list(client.history(plan="night", since=every[1]["seq"])) == every[2:]
    assert list(client.history(plan="night", since=str(every[1]["seq"]))) == every[2:]
    middle = every[2].wire["ended"]
    assert list(client.history(plan="night", since=datetime.fromtimestamp(middle, timezone.utc))) == every[2:]
    assert list(client.history(plan="night", since=timedelta(0))) == []
    # One that was restored has no number, and does not hide those before it.
    entry, = rig.db.xrevrange("plan:history", count=1)
    rig.db.xadd("plan:history", {**entry[1], b"t": 1000}, id=f"{every[3]['seq']}-999")
    assert len(list(client.history(plan="night"))) == 5 and list(client.history(plan="night", since="1h")) == every
    with pytest.raises(ValueError, match="since: want"):
        list(client.history(since="soon"))
    client.remove(plan)


# -- ids and names

@pytest.mark.parametrize("name, ref", [("nightly", "nightly"), ("weekly", "key:weekly"), ("feed", "feed"),
                                       ("cafe", "key:cafe"), ("ünder", "ünder"), ("a b/c", "a b/c")])
def test_a_name_is_taken_wherever_an_id_is(rig, client, name, ref):
    plan = client.submit("jobs", "x", name=name, every="1d")
    assert client.get(ref)["id"] == client.get(int(plan.id, 16))["id"] == client.get(plan.id.upper())["id"] == plan.id
    assert client.pause(ref)["state"] == "paused" and client.resume(ref)["state"] == "queued"
    assert client.update(ref, title="later", timeout="5m")["spec"]["timeout"] == 300
    assert len(client.next(ref)) == 10
    before = client.next(ref)
    client.skip(ref)
    assert client.next(ref)[0] == before[1]
    assert client.output(ref) is None
    client.run(ref)
    ends(rig, plan, ST.OK, (FT.CONTENT, b"well"))
    row, = wait_until(lambda: list(client.history(plan=ref)), "the run")
    assert row["plan"] == plan.id and client.output(ref).text == "well"
    client.run(ref)
    run_of(rig, plan)
    assert client.cancel(ref, "by ann")["id"] == plan.id
    assert [one["id"] for one in client.list(name=name)] == [plan.id]
    assert client.end(ref)["state"] == "closed"
    client.remove(ref)
    with pytest.raises(zplan.Rejected) as refused:
        client.get(ref)
    assert refused.value.status == "not found"


def test_an_id_goes_before_a_name(client):
    named = client.submit("jobs", "x", name="beef", at=FAR)
    assert client.get("beef")["id"] == named.id
    client.submit("jobs", "x", id="beef", at=FAR)
    assert client.get("beef")["id"] == "beef" and client.get("key:beef")["id"] == named.id
    client.remove("key:beef")
    client.remove("beef")


# -- durations

@pytest.mark.parametrize("value, seconds", [
    (5, 5), (2.5, 2.5), ("90", 90), ("5s", 5), ("5m", 300), ("1h30m", 5400), ("2d", 172800), ("1d2h3m4s", 93784),
    (timedelta(minutes=5), 300)])
def test_a_duration(value, seconds):
    assert zplan._duration("x", value) == seconds


@pytest.mark.parametrize("value", ["", "5w", "m", "5m1h", "-5", "5 m", None, [], True])
def test_no_duration(value):
    with pytest.raises(ValueError, match="x: want a duration"):
        zplan._duration("x", value)


@pytest.mark.parametrize("every, kind, count", [
    (5, "second", 5), (3600, "second", 3600), (86400, "day", 1), (36000 * 60, "day", 25), ("1h30m", "minute", 90),
    ("2h", "hour", 2), ("1d", "day", 1), (timedelta(days=2), "day", 2), (timedelta(minutes=90), "second", 5400),
    (timedelta(seconds=10), "second", 10), (timedelta(hours=10), "hour", 10)])
def test_every(every, kind, count):
    assert zplan._every(every) == {"plan_type": kind, "plan_value": count}


@pytest.mark.parametrize("late", [{"delay": "3h"}, {"delay": timedelta(hours=3)}, {"delay": 10800}, {"at": "3h"},
                                  {"at": timedelta(hours=3)},
                                  {"at": lambda: datetime.now() + timedelta(hours=3)},
                                  {"at": lambda: datetime.now(timezone.utc) + timedelta(hours=3)}])
def test_in_three_hours(client, late):
    late = {name: value() if callable(value) else value for name, value in late.items()}
    before = time.time()
    plan = client.submit("jobs", "x", **late)
    assert before + 10799 <= plan.first <= time.time() + 10801
    # A duration is kept, as of `zplan add --in`: no clock and no slow request makes it missed.
    assert client.get(plan)["spec"]["no_keep"] == (not isinstance(late.get("at"), datetime))
    client.remove(plan)


@pytest.mark.parametrize("fields, named", [
    ({"every": 0.5}, "every"), ({"timeout": timedelta(milliseconds=1)}, "timeout"), ({"jitter": "soon"}, "jitter"),
    ({"retry": "thrice"}, "retry"), ({"delay": "soon"}, "delay"), ({"delay": 1, "at": 1}, "delay"),
    ({"name": "a", "key": "b"}, "name"), ({"retry": {"strategy": "fixed", "interval": "soon"}}, "interval")])
def test_what_cannot_be_is_an_error_of_the_caller(client, fields, named):
    with pytest.raises(ValueError, match=named):
        client.submit("jobs", "never", **fields)


# -- failing

@pytest.mark.parametrize("retry, stored", [
    (3, {"strategy": "exponential", "interval": 10, "max": 3}), (0, NONE), ("none", NONE), ("forever", None),
    ({"strategy": "fixed", "interval": "1m", "max": 2}, {"strategy": "fixed", "interval": 60, "max": 2})])
def test_retry(client, retry, stored):
    plan = client.submit("jobs", "x", at=FAR, retry=retry)
    kept = client.get(plan)["spec"].get("retry")
    assert kept == stored or stored.items() <= kept.items()
    client.update(plan, retry="forever")
    assert "retry" not in client.get(plan)["spec"]
    client.remove(plan)


def test_on_failure(rig, client):
    plan = client.submit("jobs", "report", "monthly", name="guarded", title="the report", retry=0, on_failure="alarm")
    run = ends(rig, plan, ST.FAILED, (FT.STATUS, b"-failed: no paper"))
    call = dispatched(rig, lambda call: call.get(FT.COMMAND) == b"alarm")
    outcome = json.loads(call.get(FT.ARG))
    assert {"plan": plan.id, "name": "guarded", "title": "the report", "target": "jobs", "command": "report",
            "status": "failed", "exec_id": f"{run.exec_id:x}"}.items() <= outcome.items()
    assert "no paper" in outcome["reason"]
    rig.jobs.finish(call)
    with pytest.raises(zplan.Rejected) as refused:
        client.submit("jobs", "x", on_failure={"command": "alarm", "station": "nobody"})
    assert "on_failure" in refused.value.reason
    later = client.submit("jobs", "x", at=FAR)
    assert client.update(later, on_failure="alarm")["spec"]["on_failure"] == {"command": "alarm"}
    client.remove(later)
    client.remove("guarded")


# -- what runs wrote

def test_output(rig, client):
    plan = client.submit("jobs", "x", every="1s", repeat=3, retry=0)
    ends(rig, plan, ST.OK, (FT.CONTENT, b"all well\n"))
    ends(rig, plan, ST.FAILED, (FT.CONTENT, b"a" * 5000))
    first, second = wait_until(lambda: [r for r in (list(client.history(plan=plan.id)),) if len(r) == 2], "both")[0]
    last = client.output(plan)
    assert (last.size, last.whole, last.run["status"]) == (5000, False, "failed")
    assert last.text == "a" * 1024 + "\n[... 2952 bytes are not kept ...]\n" + "a" * 1024
    for run in (first["seq"], str(first["seq"]), first["entry"]):
        one = client.output(plan, run=run)
        assert (one.text, one.whole, one.run["seq"]) == ("all well\n", True, first["seq"])
    with pytest.raises(zplan.Rejected, match="no run 999999"):
        client.output(plan, run=999999)
    with pytest.raises(ValueError, match="run: "):
        client.output(plan, run="x")
    ends(rig, plan, ST.OK, (FT.BIN, b"\xff\0"))
    rig.gone(plan.id)
    assert client.output(plan).head == b"\xff\0"            # it has ended, and is kept
    rows = list(client.history(plan=plan.id, output=True))
    assert [row["output"]["size"] for row in rows] == [9, 5000, 2]
    with pytest.raises(zplan.Rejected, match="no find|not found"):
        client.output("never")


def test_the_last_result_is_whole(rig, client):
    plan = client.submit("jobs", "x", every="1s", name="beef", repeat=3, retry=0)
    assert client.result("beef") is None and client.answers(plan) == []
    text = "ü" * 70000
    for status, frames in ((ST.FAILED, [(FT.CONTENT, b"no disk")]), (ST.OK, [(FT.STATUS, b"fine"), (FT.JSON, text.encode())])):
        before = len(list(client.history(plan="beef")))
        ends(rig, plan, status, *frames)
        wait_until(lambda: len(list(client.history(plan="beef"))) > before, "the outcome")
        result = client.result("beef")
        assert (result.worker, result.ok, result.content) == ("jobs", status == ST.OK, frames[-1][1])
    assert (result.text, result.status, result.reason) == (text, "ok", "fine") and ("JSON", text.encode()) in result.frames
    assert client.answers(plan) == [result]
    ends(rig, plan, ST.OK, (FT.CONTENT, b"x" * 70000))
    rig.gone(plan.id)
    cut = client.result("beef")         # it has ended, and is no id
    assert cut.content is None and cut.output.size == 70000 and "4464 bytes are not kept" in cut.text
    with pytest.raises(zplan.Rejected) as refused:
        client.result("never")
    assert refused.value.status == "not found"


def test_a_failure_that_wrote_nothing_has_its_reason(rig, client):
    plan = client.submit("jobs", "x", retry=0)
    ends(rig, plan, ST.NOT_FIND, (FT.STATUS, b"-no find: no such report"))
    assert client.wait(plan, timeout=20).text == client.result(plan).text != ""
    assert "no such report" in client.result(plan).text and client.result(plan).code == "not_find"
    assert client.output(plan) is None


def test_a_run_behind_thousands_of_others(rig, client):
    """A page of the history that has no run of the plan is not its end."""
    plan = client.submit("jobs", "x", every="1d")
    client.run(plan)
    ends(rig, plan, ST.OK, (FT.CONTENT, b"found"))
    run, = wait_until(lambda: list(client.history(plan=plan.id)), "the outcome")
    with rig.db.pipeline(transaction=False) as pipe:
        entry, = rig.db.xrevrange("plan:history", count=1)
        for n in range(6000):
            pipe.xadd("plan:history", {**entry[1], b"p": b"7" if b"p" in entry[1] else b""},
                      id=f"{run['seq']}-{n + 1000}")
        pipe.execute()
    assert client.output(plan).text == client.output(plan, run=run["seq"]).text == "found"
    with pytest.raises(zplan.Rejected):
        client.output(plan, run=run["seq"] + 1)


def test_each_voter_has_an_answer(rig, client):
    plan = client.submit("board", "approve", every="1d")
    client.run(plan)
    run = rig.board.recv()
    start(rig, run)
    for name in NAMES:
        vote(rig, run, name, pairs=[(FT.CONTENT, b"yes of " + name.encode())])
    wait_until(lambda: not client.get(plan)["running"], "its end")
    assert {one.worker: one.text for one in client.answers(plan)} == {name: f"yes of {name}" for name in NAMES}


def test_replayed_results_have_their_content(rig, client):
    since = client.manage("history", {"newest": True, "limit": 1})["last"]
    plan = client.submit("jobs", "x", name="replayed", every="1s", repeat=2)
    ends(rig, plan, ST.OK, (FT.CONTENT, b"b" * 5000))
    ends(rig, plan, ST.OK, (FT.CONTENT, b"whole"))
    rig.gone(plan.id)
    results = client.results(since=since, timeout=20)
    cut, whole = next(results), next(results)
    assert cut.replayed and cut.name == "replayed" and cut.content is None and "2952 bytes are not kept" in cut.text
    assert (whole.content, whole.text, whole.id, whole.exec_id) == (b"whole", "whole", plan.id, whole.plan["exec_id"])


# -- waiting for the end

def in_thread(call):
    done = []
    thread = threading.Thread(target=lambda: done.append(call()))
    thread.start()
    return thread, done


def test_wait_for_a_plan(rig, client):
    plan = client.submit("jobs", "x", name="awaited", at=FAR)
    with pytest.raises(TimeoutError, match=f"{plan.id} has not ended within 0.1: it is queued"):
        client.wait(plan, timeout=0.1)

    def wait():
        with zplan.Client(rig.ipc("q"), rig.ipc("p"), timeout=20) as other:     # a client is for one thread
            return other.wait("awaited", timeout="30s")
    thread, done = in_thread(wait)
    client.update(plan, plan_time=int(time.time()) + 1, no_keep=True)
    ends(rig, plan, ST.OK, (FT.CONTENT, b"done"))
    thread.join(30)
    assert client.result("awaited").content == b"done"
    assert (done[0].id, done[0].name, done[0].ok, done[0].status, done[0].text) == \
        (plan.id, "awaited", True, "ok", "done")
    assert client.wait("awaited").text == client.wait(plan.id).text == "done"       # it has ended before


def test_wait_goes_on_through_retries(rig, client):
    plan = client.submit("jobs", "x", retry={"strategy": "fixed", "interval": 1, "max": 1})
    for _ in range(2):
        ends(rig, plan, ST.FAILED, (FT.STATUS, b"-failed: no paper"))
    result = client.wait(plan, timeout=30)
    assert not result.ok and result.status == "failed" and "no paper" in result.text
    assert result.plan["status"] == "failed"


def test_wait_for_what_never_ran(client):
    plan = client.submit("jobs", "x", at=FAR)
    client.end(plan)
    assert client.wait(plan, timeout=20) is None
    client.remove(plan)
    with pytest.raises(zplan.Rejected) as refused:
        client.wait(plan, timeout=20)
    assert refused.value.status == "not found"


# -- asyncio

def test_both_clients_have_the_same_methods():
    def methods(of):
        return {name: function for name, function in inspect.getmembers(of, inspect.isfunction) if name[0] != "_"}
    one, other = methods(zplan.Client), methods(zplan.AsyncClient)
    assert set(one) == set(other)
    for name in one:
        assert other[name].__doc__ == one[name].__doc__ and one[name].__doc__, name
        assert str(inspect.signature(one[name]).parameters) == str(inspect.signature(other[name]).parameters), name


def test_asyncio(rig):
    async def use():
        async with zplan.AsyncClient(rig.ipc("q"), rig.ipc("p"), timeout=20) as client:
            plan = await client.submit("jobs", "x", name="looped", delay="1s")
            assert (await client.get("looped"))["id"] == plan.id
            assert await client.output("looped") is None
            waiting = asyncio.create_task(client.wait("looped", timeout=30))
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, lambda: ends(rig, plan, ST.OK, (FT.CONTENT, b"done")))
            assert (await waiting).text == (await client.output("looped")).text == "done"
            assert (await client.result("looped")).text == (await client.answers(plan))[0].text == "done"
            assert [run["plan"] async for run in client.history(plan="looped")] == [plan.id]
            with pytest.raises(TimeoutError):
                far = await client.submit("jobs", "x", at=FAR)
                await client.wait(far, timeout=0.1)
            await client.remove(far)
    asyncio.run(use())
