"""Events of a flow run that meet: one order or the other, never both. And runs at their bounds."""
import json
import os
import signal

import pytest

from faulttest import is_whole
from flowrig import Flows, call
from zplantest import CMD, FT, ST, wait_until

PAIR = {"a": call(), "b": call(["a"], args=["=default(steps.a.value, 'none')"])}


def test_an_undo_that_starts_with_a_timeout_is_not_taken_for_its_call(rig):
    """In the same moment the run is looked at: that the plan of its call is gone says nothing about the undo."""
    flows = Flows(rig)
    undo = {"target": "jobs", "command": "free", "on": "started"}
    flows.put("slow", {"a": call(undo=undo, retry={"strategy": "fixed", "interval": 100})}, timeout=2)
    flows.start("slow")
    flows.fail(flows.call())
    freed = flows.call()
    assert freed.flow["undo"]
    flows.done(freed)
    shown = flows.until(freed.flow["run"], "timeout")
    assert shown["steps"][0]["state"] == "cancelled"


def test_finally_that_starts_with_a_timeout_is_not_lost(rig):
    """It is placed in the same moment as the run is looked at."""
    flows = Flows(rig)
    flows.put("slow", {"w": {"wait": 3600}, "last": call()}, timeout=1, **{"finally": "last"})
    flows.start("slow")
    run = flows.next("last").flow["run"]
    shown = flows.until(run, "timeout")
    assert {step["step"]: step["state"] for step in shown["steps"]} == {"w": "cancelled", "last": "finished"}
    wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 1, "only the flow plan is left, parked")


def test_a_timer_goes_with_its_wait(rig):
    """Also when the run turns to its undo in that moment, and when the wait begins anew."""
    flows = Flows(rig)
    flows.put("trip", {"a": call(undo={"target": "jobs", "command": "free"}), "w": {"wait": 3600},
                       "s": {"signal": {"timeout": 3600}}})
    flows.start("trip")
    run = flows.next("a").flow["run"]
    wait_until(lambda: flows.states(run)["a"] == "finished", "a has ended")
    flows.flow("retry", run, '{"restart": true}')
    assert flows.next("a").flow["generation"] == 1
    wait_until(lambda: flows.states(run)["a"] == "finished", "a has ended again")
    wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 3, "the flow plan and two timers are there")
    flows.flow("cancel", run)
    step = flows.call()
    assert step.flow["undo"]
    flows.done(step)
    flows.until(run, "cancelled")
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "no timer is left")


def test_a_timer_goes_with_its_signal(rig):
    """Whether it came or was a rejection, and after a retry, too; then nothing keeps the flow."""
    flows = Flows(rig)
    flows.put("ask", {"s": {"signal": {"timeout": 3600}}, "b": call(["s"])})
    ident = flows.start("ask")
    run = flows.run_of(ident, "ask")
    for retries in range(3):
        wait_until(lambda: flows.states(run)["s"] == "running", "it waits")
        wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 2, "the flow plan and a timer are there")
        flows.flow("reject", run, "s", "no")
        wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 1, "the timer is gone")
        flows.until(run, "failed")
        flows.flow("retry", run)
    wait_until(lambda: flows.states(run)["s"] == "running", "it waits")
    flows.flow("signal", run, "s", '"yes"')
    wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 2, "the timer is gone, and b was placed")
    flows.next("b")
    rig.gone(ident, "ask")
    wait_until(lambda: rig.client.manage("flow", "remove", "ask").code == ST.OK, "no plan of it is counted")


def test_each_attempt_of_a_flow_plan_has_its_time(rig):
    flows = Flows(rig)
    flows.put("slow", {"a": call()}, timeout=1)
    news = rig.subscribe("slow")
    flows.start("slow", retry={"strategy": "fixed", "interval": 1, "max": 1})
    runs = []
    for _ in range(2):
        step = flows.call()
        flows.jobs.answer(step.run, ST.RUNING)
        assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
        runs.append(step.flow["run"])
    assert runs[0] == runs[1]
    results = []
    while len(results) < 2:
        packet = news.recv()
        results += [packet.code] if packet.before[0] == b"slow" else []
    assert results == [ST.TIMEOUT] * 2


def outcomes_of(rig, name):
    """The outcomes of the flow plans of this flow, by their plan."""
    runs = rig.client.done("history", {"limit": 1000}).json["runs"]
    return [(run["plan"], run["status"]) for run in runs if run["station"] == name]


def pipelined(rig, *words):
    client = rig.dealer()
    client.send(CMD.NONE, [(FT.COMMAND, b"flow"), *((FT.ARG, a.encode()) for a in words)])
    return client


def meeting(rig, nth, step, words):
    """The end of a call and a command at the same time, in both orders; the reply to the command."""
    flows = Flows(rig)
    if nth % 2:
        flows.done(step, "end")
    client = pipelined(rig, *words)
    if not nth % 2:
        flows.done(step, "end")
    reply = client.recv()
    client.close()
    return reply


TIMES = 12


def test_skip_meets_the_end(rig):
    flows = Flows(rig)
    flows.put("pair", PAIR)
    for nth in range(TIMES):
        flows.start("pair")
        first = flows.call()
        run = first.flow["run"]
        reply = meeting(rig, nth, first, ("skip", run, "a", '{"value": "skip"}'))
        second = flows.call()
        assert second.step == "b" and second.args == ["skip" if reply.code == ST.OK else "end"]
        flows.done(second)
        shown = flows.until(run, "finished")
        assert shown["steps"][0]["state"] == ("skipped" if reply.code == ST.OK else "finished")
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all plans are gone")


def test_cancel_meets_the_end(rig):
    flows = Flows(rig)
    flows.put("pair", {"a": call()})
    for nth in range(TIMES):
        ident = flows.start("pair")
        first = flows.call()
        run = first.flow["run"]
        reply = meeting(rig, nth, first, ("cancel", run))
        rig.gone(ident, "pair")
        while rig.jobs.socket.poll(0):
            assert rig.jobs.recv().code == CMD.CLOSE_REQUEST
        state = flows.show(run)["state"]
        assert state in (("cancelled",) if reply.code == ST.OK else ("finished",))
    codes = [status for _, status in outcomes_of(rig, "pair")]
    assert len(codes) == TIMES
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all plans are gone")


def test_retry_meets_the_end(rig):
    """b runs once more, and the run ends once: no flow plan is left, and none has two ends."""
    flows = Flows(rig)
    flows.put("pair", {"a": call(), "b": call(["a"])})
    for nth in range(TIMES):
        flows.start("pair")
        flows.next("a")
        second = flows.call()
        run = second.flow["run"]
        reply = meeting(rig, nth, second, ("retry", run, '{"steps": ["b"]}'))
        assert reply.code == ST.OK, reply
        again = flows.call()
        assert again.step == "b" and again.flow["run"] == run
        before = len(outcomes_of(rig, "pair"))
        flows.done(again)
        flows.until(run, "finished")
        wait_until(lambda: not rig.db.keys("plan:msg:*"), "all plans are gone")
        assert len(outcomes_of(rig, "pair")) == before + 1, "one flow plan ends with the run"


def test_of_two_signals_one_counts(rig):
    flows = Flows(rig)
    flows.put("ask", {"s": {"signal": {}}, "b": call(["s"], args=["=steps.s.value"])})
    for _ in range(TIMES):
        ident = flows.start("ask")
        run = flows.run_of(ident, "ask")
        wait_until(lambda: flows.states(run)["s"] == "running", "it waits")
        clients = [pipelined(rig, "signal", run, "s", f'"{word}"') for word in ("one", "two")]
        codes = [client.recv().code for client in clients]
        second = flows.call()
        assert codes.count(ST.OK) == 1 and second.args == [("one", "two")[codes.index(ST.OK)]]
        flows.done(second)
        flows.until(run, "finished")


def test_a_hundred_joins_at_once(rig):
    """B003: the middle steps of a hundred diamonds end in the same moment: each join starts once.
    B097: the middle steps of a hundred diamonds end in the same moment: each join starts once."""
    flows = Flows(rig)
    flows.put("diamond", {"a": call(), "b": call(["a"]), "c": call(["a"]), "d": call(["b", "c"])})
    for _ in range(100):
        flows.start("diamond")
    middle = []
    while len(middle) < 200:
        step = flows.call()
        if step.step == "a":
            flows.done(step)
        else:
            middle.append(step)
    assert {step.step for step in middle} == {"b", "c"}
    for step in middle:
        flows.done(step)
    last = [flows.call() for _ in range(100)]
    assert {step.step for step in last} == {"d"} and len({step.flow["run"] for step in last}) == 100
    for step in last:
        flows.done(step)
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all have ended")
    flows.nothing(0.1)
    assert len(flows.flow("runs", {"state": "finished", "limit": 1000})["runs"]) == 100
    is_whole(rig)


# Bounds.

def test_a_star_of_2000_steps(rig):
    """B095: All successors of a step start."""
    flows = Flows(rig)
    flows.put("star", {"hub": call(), **{f"s{at}": call(["hub"]) for at in range(2000)},
                       "end": call([f"s{at}" for at in range(2000)])}, max_parallel=10000)
    flows.start("star")
    run = flows.next("hub").flow["run"]
    seen = set()
    for _ in range(2000):
        step = flows.call()
        seen.add(step.step)
        flows.done(step)
    assert len(seen) == 2000
    flows.next("end")
    assert flows.until(run, "finished")


def test_3000_items_in_a_window_of_64(rig):
    flows = Flows(rig)
    flows.put("each", {"e": call(for_each=3000, args=["=index"], max_parallel=64, collect="count"),
                       "sum": call(["e"], json="=steps.e.value")}, max_parallel=100)
    flows.start("each")
    waiting, seen = [], set()
    while len(seen) < 3000:
        step = flows.call()
        assert step.step == "e" and step.args[0] not in seen
        seen.add(step.args[0])
        waiting.append(step)
        assert len(waiting) <= 64
        if len(waiting) == 64 or len(seen) == 3000:
            for step in waiting:
                flows.done(step)
            waiting = []
    assert flows.next("sum").json == {"finished": 3000, "failed": 0}


def test_sixteen_flows_within_each_other(rig):
    flows = Flows(rig)
    flows.put("n16", {"a": call()}, output={"depth": "=steps.a.value"})
    for at in range(15, 0, -1):
        flows.put(f"n{at}", {"a": {"target": f"n{at + 1}", "json": {}}}, output={"depth": "=steps.a.value.depth + 1"})
    ident = flows.start("n1")
    run = flows.run_of(ident, "n1")
    assert flows.call().flow["name"] == "n16"
    flows.done(flows.calls[-1], 1)
    assert flows.until(run, "finished")["output"] == {"depth": 16}
    rig.gone(ident, "n1")
    assert not rig.db.keys("plan:msg:*")


@pytest.mark.parametrize("size", [65536, 65537])
def test_a_value_at_its_bound(rig, size):
    flows = Flows(rig)
    flows.put("big", {"a": call(), "b": call(["a"], args=["=steps.a.value.length()"]),
                      "c": call([{"step": "b", "on": "failed"}])})
    flows.start("big")
    first = flows.call()
    flows.done(first, "x" * (size - 2))
    follower = flows.call()
    shown = flows.show(first.flow["run"])["steps"][0]
    assert (follower.name, shown.get("not_kept", False)) == (("b", False) if size == 65536 else ("c", True))
    assert follower.name == "c" or follower.args == [str(size - 2)]


def test_runs_that_wait_stand_in_redis_only(make_rig):
    """A thousand with an input of 8 KB; the station holds only a few, and each goes on when it is its turn."""
    rig = make_rig(env={"ZPLAN_FAILPOINT": "flow_few_lives"})
    flows, data = Flows(rig), json.dumps({"text": "x" * 8000}).encode()
    flows.put("ask", {"s": {"signal": {}}, "b": call(["s"], args=["=input.text.length()"])})

    def begin(count):
        for at in range(count):
            rig.client.send(CMD.PLAN, [(FT.PLAN, b'{"description": "ask", "plan_type": 0}'), (FT.STATION_ID, b"ask"),
                                       (FT.JSON, data)])
            if at % 50 == 49:
                for _ in range(50):
                    assert rig.client.recv().code == ST.PLAN
        wait_until(lambda: rig.db.zcard("plan:flow:runs") == begun[0] + count, "all have begun")
        begun[0] += count
    begun = [0]
    begin(200)
    before = rig.station.rss_mib()
    begin(800)
    grown = rig.station.rss_mib() - before
    if "ASAN_OPTIONS" not in os.environ:
        assert grown < 6, f"{grown} MiB"
    for run in rig.db.zrange("plan:flow:runs", 0, -1, )[::100]:
        flows.flow("signal", run.decode(), "s")
        assert flows.next("b").args == ["8000"]
        flows.until(run.decode(), "finished")


@pytest.mark.parametrize("word", ["remove", "close", "cancel"])
@pytest.mark.parametrize("fields", [{}, {"for_each": 1}], ids=["one", "items"])
def test_the_plan_of_a_sub_flow_is_taken_away(rig, word, fields):
    """Its run is cancelled, and the step of the run above as well, which goes on."""
    flows = Flows(rig)
    flows.put("inner", {"x": call()})
    flows.put("outer", {"in": {"target": "inner", "json": {}, **fields}, "behind": call([{"step": "in", "on": "ended"}])})
    ident = flows.start("outer")
    inner = flows.call()
    flows.jobs.answer(inner.run, ST.RUNING)
    run = flows.run_of(ident, "outer")
    (plan,) = flows.client.done("list", {"station": "inner", "flow_run": run}).json["plans"]
    flows.client.done(word, f"{plan['plan_id']:x}")
    assert flows.until(inner.flow["run"], "cancelled")
    flows.next("behind")
    wait_until(lambda: flows.show(run)["state"] in ("failed", "finished"), "the run above has ended")
    assert flows.states(run)["in"] in ("cancelled", "failed")
    flows.rig.gone(f"{plan['plan_id']:x}", "inner")


@pytest.mark.parametrize("step", [{"wait": 3600}, {"signal": {"timeout": 3600}}], ids=["wait", "signal"])
def test_a_flow_plan_whose_run_only_waits_is_removed(rig, step):
    flows = Flows(rig)
    flows.put("waits", {"w": step})
    ident = flows.start("waits")
    run = flows.run_of(ident, "waits")
    assert flows.client.done("remove", ident).get(FT.GLOBAL_ID) == ident.encode()
    flows.until(run, "cancelled")
    flows.rig.gone(ident, "waits")


def test_a_call_that_ends_well_while_it_is_retried_is_another_one_then(rig):
    """The command and the result meet while Redis is stopped. Its target, which knows calls by their generation, answers the new one."""
    flows = Flows(rig)
    flows.put("again", {"a": call()})
    flows.start("again")
    first = flows.call()
    flows.jobs.answer(first.run, ST.RUNING)
    run = first.flow["run"]
    wait_until(lambda: flows.states(run)["a"] == "running", "it is known to run")
    rig.redis.process.send_signal(signal.SIGSTOP)
    try:
        words = [(FT.ARG, word) for word in (b"retry", run.encode(), b'{"steps": ["a"]}')]
        rig.client.send(CMD.NONE, [(FT.COMMAND, b"flow"), *words])
        rig.client.result(first.ident, ST.OK, [(FT.LOCAL_ID, first.run.local_id)])
        rig.client.send(CMD.PING, [])
        reply = rig.client.recv()
    finally:
        rig.redis.process.send_signal(signal.SIGCONT)
    assert reply.code == ST.OK and rig.client.recv().code == ST.OK
    second = flows.call()
    assert (second.step, second.flow["generation"]) == ("a", first.flow["generation"] + 1)
    flows.done(second, 2)
    flows.until(run, "finished")


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restart"])
@pytest.mark.parametrize("step", [{"wait": 1}, {"signal": {"timeout": 1, "on_timeout": "skip"}}], ids=["wait", "signal"])
def test_waits_end_while_their_runs_use_a_limit_up(rig, step, restarts):
    """Timers are no runs: they wait for no limit, and count for none."""
    flows = Flows(rig)
    flows.put("napper", {"w": step})
    rig.client.done("limit", "set", "station:napper", {"concurrency": 1})
    idents = [flows.start("napper") for _ in range(3)]
    flows.run_of(idents[0], "napper")
    if restarts:
        rig.restart()
    for ident in idents:
        rig.gone(ident, "napper")
    assert not rig.db.exists("plan:class") and not rig.db.keys("plan:msg:*")
    began = sorted(run["began_ms"] for run in flows.flow("runs")["runs"])
    assert min(second - first for first, second in zip(began, began[1:])) >= 900
