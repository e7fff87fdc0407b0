"""Flow runs in the station: steps in their order, values, joins, failures, coming back; and that they survive."""
import json
import time

import pytest

from clitest import zplan
from flowrig import Flows, call
from zplantest import CMD, ERROR, FT, RETRY, ST, every, wait_until

CHAIN = {"a": call(), "b": call(["a"], args=["=steps.a.value.n + 1"]), "c": call(["b"], json={"got": "=steps.b.value"})}


@pytest.fixture
def flows(rig):
    return Flows(rig)


def test_a_chain_passes_values_on_and_ends_its_plan(rig, flows):
    """B067, B077: Steps run in their order, and have finished."""
    flows.put("chain", CHAIN, output={"last": "=steps.c.value"})
    news = rig.subscribe("chain")
    ident = flows.start("chain")
    first = flows.call()
    run = first.flow["run"]
    assert first.flow == {"name": "chain", "version": 1, "run": run, "step": "a", "generation": 0, "undo": False}
    assert flows.show(run)["state"] == "running"
    flows.done(first, {"n": 41})
    assert flows.next("b", ["x"]).args == ["42"]
    assert flows.next("c", "over").json == {"got": ["x"]}
    outcome = news.recv()
    while outcome.before[0] != b"chain":
        outcome = news.recv()
    assert outcome.code == ST.OK and json.loads(outcome.frames[-1]) == {"last": "over"}
    rig.gone(ident, "chain")
    shown = flows.until(run, "finished")
    assert [step["state"] for step in shown["steps"]] == ["finished"] * 3
    assert shown["output"] == {"last": "over"}
    assert not rig.db.keys("plan:msg:*")


def test_steps_of_a_plan_are_named_in_their_results(rig, flows):
    flows.put("chain", CHAIN)
    news = rig.subscribe("chain/")
    flows.start("chain")
    flows.next("a", {"n": 1})
    told = news.recv()
    assert told.before[0] == b"chain/a" and told.code == ST.OK


def test_a_join_starts_once(rig, flows):
    """B003: a step waits for all that it is behind. B096: it waits for all of its sources."""
    flows.put("diamond", {"a": call(), "b": call(["a"]), "c": call(["a"]), "d": call(["b", "c"])})
    flows.start("diamond")
    flows.next("a")
    both = flows.expect("b", "c")
    flows.done(both["b"])
    flows.nothing()
    flows.done(both["c"])
    flows.next("d")
    flows.nothing()


def test_at_most_max_parallel_are_in_flight(rig, flows):
    """B002: at most `max_parallel` calls of a run are in flight.
    B099: steps without edges are roots: none need a start node."""
    flows.put("wide", {f"s{i}": call() for i in range(6)}, max_parallel=2)
    flows.start("wide")
    first = flows.expect("s0", "s1")
    flows.nothing()
    flows.done(first["s1"])
    flows.next("s2")
    flows.next("s3")


def test_five_calls_of_a_run_are_in_flight_by_default(flows):
    """B002: five of one run; another run has its own."""
    flows.put("wide", {f"s{i}": call() for i in range(8)})
    flows.start("wide")
    first = flows.expect(*(f"s{i}" for i in range(5)))
    flows.nothing()
    flows.start("wide")
    flows.expect(*(f"s{i}" for i in range(5)))
    flows.nothing()
    flows.done(first["s3"])
    sixth = flows.call()
    assert (sixth.name, sixth.flow["run"]) == ("s5", first["s3"].flow["run"])
    flows.nothing()


def test_each_step_goes_to_its_target(rig, flows):
    """B041: a step names the target that does it."""
    flows.put("two", {"a": call(), "b": call(target="news")})
    flows.start("two")
    sent = rig.news.recv()
    assert sent.plan["flow"]["step"] == "b"
    rig.news.answer(sent, ST.OK)
    first = flows.next("a")
    flows.nothing()
    flows.until(first.flow["run"], "finished")


def test_a_failure_fails_the_run_and_its_plan(rig, flows):
    """B055: what is behind a failure stays none, and the run fails."""
    flows.put("night", {"a": call(), "b": call(["a"]), "alarm": call([{"step": "a", "on": "failed"}])})
    news = rig.subscribe("night")
    ident = flows.start("night")
    first = flows.call()
    flows.fail(first)
    flows.next("alarm")
    shown = flows.until(first.flow["run"], "failed")
    states = {step["step"]: step for step in shown["steps"]}
    assert states["a"]["error"] == "disk full" and states["a"]["state"] == "failed"
    assert states["b"]["state"] == "none" and states["b"]["why"] == "a failed: disk full"
    assert shown["failed"] == ["a"]
    told = [news.recv() for _ in range(3)]
    assert [t.before[0] for t in told] == [b"night/a", b"night/alarm", b"night"]
    assert told[2].code == ST.FAILED
    plan = wait_until(lambda: rig.message(ident, "night"), "the flow plan is parked")
    assert plan["error_info"] == "a: disk full"


def test_a_failure_waits_for_the_others_unless_it_is_handled(rig, flows):
    """B098: The run fails when its other steps have ended; a failure that is caught does not fail it."""
    flows.put("night", {"a": call(), "b": call()})
    flows.put("calm", {"a": call(), "b": call([{"step": "a", "on": "caught"}])})
    flows.start("night")
    both = flows.expect("a", "b")
    run = both["a"].flow["run"]
    flows.fail(both["a"])
    wait_until(lambda: flows.states(run)["a"] == "failed", "a has failed")
    assert flows.show(run)["state"] == "running"
    flows.done(both["b"])
    shown = flows.until(run, "failed")
    assert (shown["failures"], shown["failed"]) == (1, ["a"])
    flows.start("calm")
    first = flows.call()
    flows.fail(first)
    flows.next("b")
    shown = flows.until(first.flow["run"], "finished")
    assert shown["failures"] == 1 and "failed" not in shown
    assert "\nfailures       1, handled ones included\n" in zplan("--connect", rig.ipc("q"), "flow", "show", first.flow["run"]).done()


@pytest.mark.parametrize("fields, words, error", [
    ({}, "disk full", "disk full"), ({"timeout": 1}, None, "timeout: "),
    ({"args": ["=1 / 0"]}, None, "args[0]: column 3: division by zero")], ids=["result", "timeout", "expression"])
def test_a_step_fails(flows, fields, words, error):
    """B069: By its result, by its timeout, or as an expression of it cannot be computed."""
    flows.put("night", {"first": call(), "a": call(["first"], **fields), "b": call(["a"])})
    flows.start("night")
    run = flows.next("first").flow["run"]
    if words:
        flows.fail(flows.call(), words)
    shown = flows.until(run, "failed")
    states = {step["step"]: step for step in shown["steps"]}
    assert states["a"]["state"] == "failed" and states["a"]["error"].startswith(error), shown
    assert states["b"]["state"] == "none" and shown["failed"] == ["a"]


def test_a_call_is_accepted_until_its_target_says_that_it_runs(rig, flows):
    """B065, B066: A claimed call is accepted, with RUNING it runs, and behind a failure it waits again."""
    flows.put("one", {"a": call(retry={"strategy": "fixed", "interval": 1000, "max": 1})})
    flows.start("one")
    first = flows.call()
    run = first.flow["run"]
    assert flows.states(run) == {"a": "accepted"}
    assert flows.show(run, {"state": "accepted"})["steps"] and not flows.show(run, {"state": "running"})["steps"]
    flows.jobs.answer(first.run, ST.RUNING)
    wait_until(lambda: flows.states(run) == {"a": "running"}, "RUNING has come")
    flows.fail(first)
    wait_until(lambda: flows.states(run) == {"a": "new"}, "it waits for its retry")


def test_the_states_of_steps(rig, flows):
    """B062: Each state of a step; and a transition that there is none of is rejected, or does nothing."""
    rig.client.done("station", "add", f"away=api@{rig.ipc('a')}")
    flows.put("all", {"good": call(), "bad": call(), "gone": call(), "sent": call(), "busy": call(), "new": call(target="away"),
                      "off": call(**{"if": "1 > 2"}), "none": call(["bad"])}, max_parallel=9)
    flows.start("all")
    calls = flows.expect("good", "bad", "gone", "sent", "busy")
    run = calls["good"].flow["run"]
    flows.done(calls["good"])
    flows.jobs.answer(calls["busy"].run, ST.RUNING)
    flows.fail(calls["bad"])
    rig.client.done("cancel", f"{run}/gone")
    states = {"good": "finished", "bad": "failed", "gone": "cancelled", "sent": "accepted", "busy": "running", "new": "new",
              "off": "skipped", "none": "none"}
    wait_until(lambda: flows.states(run) == states, "each has a state of its own")
    for step, word in (("good", "skip"), ("busy", "skip"), ("sent", "skip"), ("off", "skip"), ("bad", "signal"), ("new", "reject")):
        assert step in flows.refused(word, run, step), (step, word)
    for step in "good", "bad", "gone":
        for status in ST.RUNING, ST.OK, ST.FAILED:
            flows.client.result(calls[step].ident, status, [(FT.LOCAL_ID, calls[step].run.local_id)])
    rig.settle()
    assert flows.states(run) == states


def test_of_two_results_the_first_one_counts(rig, flows):
    """B092, B115: Results that come twice, late, or for a plan that is unknown change no state."""
    flows.put("pair", {"a": call(), "b": call(["a"], args=["=steps.a.value"])})
    flows.start("pair")
    first = flows.call()
    flows.jobs.answer(first.run, ST.OK, [(FT.JSON, b"1"), (FT.LOCAL_ID, first.run.local_id)])     # before RUNING
    second = flows.call()
    flows.jobs.answer(first.run, ST.RUNING)
    flows.fail(first)
    flows.client.result(first.ident, ST.FAILED, [(FT.LOCAL_ID, first.run.local_id)])
    flows.client.result("77", ST.OK)
    assert second.name == "b" and second.args == ["1"]
    rig.settle()
    assert flows.states(first.flow["run"]) == {"a": "finished", "b": "accepted"}
    flows.done(second)
    flows.until(first.flow["run"], "finished")
    flows.nothing()


def test_a_step_is_one_row_however_often_it_is_called(flows):
    """B075: A row for each step; retries are the same row, and those by hand have a number."""
    flows.put("pair", {"a": call(retry={"strategy": "fixed", "interval": 1, "max": 1}), "b": call(["a"])})
    flows.start("pair")
    first = flows.call()
    run = first.flow["run"]
    flows.fail(first)
    flows.next("a")
    flows.next("b")
    shown = flows.until(run, "finished")
    assert [(step["step"], step.get("generation", 0)) for step in shown["steps"]] == [("a", 0), ("b", 0)]
    flows.flow("retry", run, '{"steps": ["b"]}')
    flows.next("b")
    shown = flows.until(run, "finished")
    assert [(step["step"], step.get("generation", 0)) for step in shown["steps"]] == [("a", 0), ("b", 1)]


def test_the_times_of_a_run(flows):
    """B071: When it began, when it changed last, and when it ended."""
    flows.put("pair", {"a": call(), "b": call(["a"])})
    before = int(time.time() * 1000) - 1000
    flows.start("pair")
    run = flows.next("a").flow["run"]
    second = flows.call()
    going = flows.show(run)
    assert before <= going["began_ms"] <= going["updated_ms"] and not going.get("ended_ms")
    flows.done(second)
    ended = flows.until(run, "finished")
    assert ended["began_ms"] == going["began_ms"] <= going["updated_ms"] <= ended["ended_ms"] == ended["updated_ms"]


def test_the_retry_of_a_step_is_its_plans(rig, flows):
    """B049: a step that failed is retried by its strategy."""
    flows.put("tough", {"a": call(retry={"strategy": "fixed", "interval": 1, "max": 1}), "b": call(["a"])})
    flows.start("tough")
    first = flows.call()
    flows.fail(first)
    again = flows.call()
    assert again.flow == first.flow and again.ident == first.ident
    flows.done(again)
    flows.next("b")


def test_the_retry_of_a_flow_plan_goes_on_where_it_failed(rig, flows):
    flows.put("night", {"a": call(), "b": call(["a"])})
    flows.start("night", retry={"strategy": "fixed", "interval": 1, "max": 2})
    first = flows.call()
    flows.done(first)
    flows.fail(flows.call())
    again = flows.call()
    assert again.step == "b" and again.flow["run"] == first.flow["run"]
    flows.done(again)
    flows.until(first.flow["run"], "finished")


def test_a_retry_of_a_flow_plan_that_fails_at_once_is_retried_too(rig, flows):
    """Its step only computes: the run ends in the moment in which it goes on."""
    flows.put("night", {"a": {"let": {"x": "1 / input.days"}}})
    ident = flows.start("night", {"days": 0}, retry={"strategy": "sequence", "sequence": [0], "max": 2})
    plan = wait_until(lambda: (rig.message(ident, "night") or {}).get("plan_state") == ERROR and rig.message(ident, "night"),
                      "its retries are exhausted")
    assert plan["error_count"] == 3
    log = flows.flow("log", f"{plan['flow_run']:x}")["log"]
    assert [(line["step"], line["state"]) for line in log] == [("a", "failed")] * 3


def test_the_log_of_a_run_is_bounded(rig, flows):
    """The last 1000 lines are there; in Redis up to 100 more."""
    names = [f"s{at}" for at in range(1300)]
    steps = {name: {"let": {"x": "1"}, "after": before} for name, before in zip(names, [[], *([name] for name in names)])}
    flows.put("long", {**steps, "last": call([names[-1]])})
    flows.start("long")
    last = flows.call()
    for _ in range(2):      # the second time it is read from Redis
        log = flows.flow("log", last.flow["run"])["log"]
        assert len(log) == 1000 and (log[-1]["step"], log[-1]["state"]) == ("last", "new")
        assert 1000 <= rig.db.llen("plan:flow:log:" + last.flow["run"]) <= 1100
        rig.restart()
    computed = [line["step"] for line in log if line["state"] == "finished"]
    assert len(computed) > 990 and computed == names[-len(computed):]


def test_an_undo_of_a_sub_flow_that_has_nothing_to_undo(rig, flows):
    undo = {"target": "jobs", "command": "free"}
    flows.put("inner", {"x": call(), "y": call(["x"], undo=undo, **{"if": "1 > 2"})})
    flows.put("outer", {"in": {"target": "inner", "json": {}, "undo": "inner"}, "pay": call(["in"])})
    ident = flows.start("outer")
    flows.next("x")
    pay = flows.call()
    flows.fail(pay)
    assert flows.until(pay.flow["run"], "failed")["failed"] == ["pay"]
    wait_until(lambda: rig.message(ident, "outer")["plan_state"] == ERROR, "its flow plan has failed")
    flows.nothing()


def test_for_each_runs_a_window_of_items_and_collects(rig, flows):
    flows.put("each", {"list": call(), "work": call(["list"], for_each="=steps.list.value", args=["=item", "=index"],
                                                    max_parallel=2),
                       "sum": call(["work"], json={"all": "=steps.work.value"})})
    flows.start("each")
    flows.next("list", ["x", "y", "z"])
    first = flows.expect("work.0", "work.1")
    assert first["work.1"].args == ["y", "1"]
    flows.done(first["work.1"], 11)
    flows.next("work.2", 12)
    flows.done(first["work.0"], 10)
    assert flows.next("sum").json == {"all": [10, 11, 12]}


def test_a_wait_and_a_signal(rig, flows):
    flows.put("human", {"ask": call(), "pause": {"after": ["ask"], "wait": 1}, "yes": {"after": ["pause"], "signal": {}},
                        "act": call(["yes"], args=["=steps.yes.value.who"])})
    ident = flows.start("human")
    first = flows.call()
    run, asked = first.flow["run"], time.time()
    flows.done(first)
    wait_until(lambda: flows.states(run)["yes"] == "running", "the signal is waited for")
    assert time.time() - asked > 0.8
    assert "no step" in flows.refused("signal", run, "nobody")
    flows.flow("signal", run, "yes", '{"who": "ann"}')
    assert flows.next("act").args == ["ann"]
    flows.until(run, "finished")
    rig.gone(ident, "human")
    assert not rig.db.keys("plan:msg:*")


def test_a_signal_that_is_late_skips(rig, flows):
    flows.put("late", {"yes": {"signal": {"timeout": 1, "on_timeout": "fail"}},
                       "sorry": call([{"step": "yes", "on": "caught"}])})
    flows.start("late")
    run = flows.next("sorry").flow["run"]
    flows.until(run, "finished")


def test_a_sub_flow_is_a_step(rig, flows):
    """B040: a flow is a step of another one."""
    flows.put("inner", {"x": call(args=["=input.n"])}, output={"m": "=steps.x.value"})
    flows.put("outer", {"a": {"target": "inner", "json": {"n": "=input.n * 2"}}, "b": call(["a"], args=["=steps.a.value.m"])})
    ident = flows.start("outer", {"n": 21})
    inner = flows.call()
    assert inner.flow["name"] == "inner" and inner.args == ["42"]
    flows.done(inner, 7)
    outer = flows.next("b")
    assert outer.args == ["7"]
    run = outer.flow["run"]
    shown = flows.until(run, "finished")
    assert shown["steps"][0]["run"] == inner.flow["run"]
    assert flows.show(inner.flow["run"])["state"] == "finished"
    rig.gone(ident, "outer")


def test_cancel_ends_what_is_in_flight(rig, flows):
    """B070: The worker is notified, and what has not begun never starts."""
    flows.put("long", {"a": call(), "w": {"wait": 3600}, "b": call(["a", "w"])})
    news = rig.subscribe("long")
    ident = flows.start("long")
    first = flows.call()
    flows.jobs.answer(first.run, ST.RUNING)
    run = first.flow["run"]
    flows.flow("cancel", run, "no more")
    told = flows.jobs.recv()
    assert told.code == CMD.CLOSE_REQUEST and told.mailbox == first.run.mailbox
    shown = flows.until(run, "cancelled")
    assert {step["step"]: step["state"] for step in shown["steps"]} == {"a": "cancelled", "w": "cancelled", "b": "none"}
    outcome = news.recv()
    while outcome.before[0] != b"long":
        outcome = news.recv()
    assert outcome.code == ST.CANCELLED
    rig.gone(ident, "long")
    assert not rig.db.keys("plan:msg:*")


def test_undo_runs_backwards(rig, flows):
    flows.put("trip", {"hotel": call(command="book", undo={"target": "jobs", "command": "free", "args": ["=self.value"]}),
                       "flight": call(["hotel"], command="book", undo={"target": "jobs", "command": "free",
                                                                       "args": ["=self.value"]}),
                       "pay": call(["flight"], command="pay")})
    flows.start("trip")
    flows.next("hotel", "h1")
    flows.next("flight", "f1")
    flows.fail(flows.call())
    undo = [flows.call()]
    assert undo[0].flow["undo"] and undo[0].args == ["f1"]
    flows.done(undo[0])
    undo.append(flows.call())
    assert undo[1].args == ["h1"]
    flows.done(undo[1])
    flows.until(undo[0].flow["run"], "failed")


def test_a_failed_run_is_retried_by_hand(rig, flows):
    flows.put("night", {"a": call(), "b": call(["a"]), "c": call(["b"])})
    flows.start("night")
    first = flows.call()
    flows.done(first)
    flows.fail(flows.call())
    run = first.flow["run"]
    flows.until(run, "failed")
    flows.flow("retry", run)
    again = flows.next("b")
    assert again.flow["run"] == run
    flows.next("c")
    flows.until(run, "finished")


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_call_that_is_retried_has_nothing_of_the_one_before(rig, flows, goes_on):
    """Its plan has the same id: the keys that an operator, or a death at the wrong moment, left are not its own."""
    flows.put("night", {"a": call(), "b": call(), "c": call(["a"])})
    flows.start("night")
    calls = {one.name: one for one in (flows.call(), flows.call())}
    run = calls["a"].flow["run"]
    flows.fail(calls["a"])
    if not goes_on:
        flows.done(calls["b"])
        flows.until(run, "failed")
    keys = [f"plan:{kind}:jobs:{calls['a'].ident}" for kind in ("failed", "work", "team")]
    wait_until(lambda: not rig.db.exists(f"plan:msg:jobs:{calls['a'].ident}"), "its plan is gone")
    for key in keys:
        rig.db.hset(key, "w1", "{}")
    flows.flow("retry", run)
    again = flows.call()
    assert (again.name, again.ident) == ("a", calls["a"].ident) and not rig.db.exists(*keys)
    flows.done(again)
    if goes_on:
        flows.done(calls["b"])
    flows.next("c")
    flows.until(run, "finished")


def test_skip_is_a_success(rig, flows):
    """B096, B107: A step that an operator skips counts as finished."""
    flows.put("night", {"a": call(), "b": call(["a"], args=["=steps.a.value"])})
    flows.start("night")
    first = flows.call()
    flows.fail(first)
    run = first.flow["run"]
    flows.until(run, "failed")
    flows.flow("skip", run, "a", '{"value": "by hand", "reason": "it was done"}')
    assert flows.next("b").args == ["by hand"]
    assert flows.until(run, "finished")["steps"][0]["state"] == "skipped"


def cancelled_run(rig, flows):
    """A run whose two calls were in flight when it was cancelled."""
    flows.put("two", {"a": call(), "b": call(), "c": call(["a"])})
    flows.start("two")
    calls = flows.expect("a", "b")
    run = calls["a"].flow["run"]
    flows.flow("cancel", run)
    for one in calls.values():
        rig.jobs.finish(one.run, ST.CANCELLED)
    flows.until(run, "cancelled")
    assert flows.states(run) == {"a": "cancelled", "b": "cancelled", "c": "none"}
    return run


def outcomes(rig, flow):
    runs = rig.client.done("history", {"limit": 1000}).json["runs"]
    return [one["status"] for one in runs if one["station"] == flow]


def test_a_cancelled_run_that_skips_finish_at_once_has_an_outcome(rig, flows):
    run = cancelled_run(rig, flows)
    wait_until(lambda: outcomes(rig, "two") == [ST.CANCELLED], "the flow plan has ended")
    flows.flow("skip", run, "c")
    assert flows.show(run)["state"] == "cancelled", "a and b stay cancelled"
    flows.flow("skip", run, "a")
    assert "step b stays cancelled" in flows.show(run)["error"]
    flows.flow("skip", run, "b")
    flows.until(run, "finished")
    wait_until(lambda: outcomes(rig, "two") == [ST.CANCELLED, ST.OK], "and its end is an outcome")


def test_a_cancelled_run_of_which_one_step_is_retried_stays_cancelled(rig, flows):
    """What nobody has done yet is not finished."""
    run = cancelled_run(rig, flows)
    flows.flow("retry", run, '{"steps": ["a"]}')
    flows.next("a")
    flows.next("c")
    shown = flows.until(run, "cancelled")
    assert shown["error"] == "step b stays cancelled: retry or skip it"
    flows.flow("retry", run)
    flows.next("b")
    flows.until(run, "finished")


def test_what_is_running_has_to_be_cancelled_before_it_is_skipped(rig, flows):
    """Else a call, or what a sub-flow undoes, would still be there when the step is retried."""
    flows.put("inner", {"x": call(undo={"target": "jobs", "command": "free"}), "y": call(["x"])})
    flows.put("outer", {"in": {"target": "inner", "json": {}}, "a": call(), "each": call(for_each=1), "z": call(["in"])})
    ident = flows.start("outer")
    first = flows.expect("x", "a", "each.0")
    run = flows.run_of(ident, "outer")
    flows.done(first["x"])
    assert flows.call().step == "y"
    for step in ("in", "a", "each.0", "each"):
        assert flows.refused("skip", run, step) == f"flow: {step} is running: cancel it first"
    rig.client.done("cancel", f"{run}/in")
    undo = flows.call()
    assert undo.step == "x" and undo.flow["undo"]
    assert flows.refused("skip", run, "in") == "flow: in is running: cancel it first"
    flows.done(undo)
    wait_until(lambda: flows.states(run)["in"] == "cancelled", "it is cancelled")
    flows.flow("skip", run, "in")
    flows.next("z")


def test_suspend_and_resume(rig, flows):
    flows.put("chain", CHAIN)
    flows.start("chain")
    first = flows.call()
    run = first.flow["run"]
    assert flows.flow("suspend", run, "wait")["state"] == "suspended"
    flows.done(first, {"n": 1})
    flows.nothing()
    assert flows.flow("resume", run)["state"] == "running"
    flows.next("b")


def test_runs_and_log(rig, flows):
    flows.put("chain", CHAIN)
    flows.start("chain")
    run = flows.next("a", {"n": 1}).flow["run"]
    flows.next("b")
    flows.next("c")
    flows.until(run, "finished")
    runs = flows.flow("runs")["runs"]
    assert [(r["run"], r["flow"], r["state"]) for r in runs] == [(run, "chain", "finished")]
    assert flows.flow("runs", {"state": "failed"})["runs"] == []
    log = flows.flow("log", run)["log"]
    assert [(line["step"], line["state"]) for line in log if line["state"] == "finished"] == [
        ("a", "finished"), ("b", "finished"), ("c", "finished")]


def test_params_and_input(rig, flows):
    flows.put("etl", {"a": call(args=["=day", "=n"])}, params={"day": "=#idc.shouldFireTime.format('yyyyMMdd')", "n": 3})
    before = time.gmtime()
    flows.start("etl", {"n": 4}, timezone="UTC")
    assert flows.next("a").args in [[time.strftime("%Y%m%d", day), "4"] for day in (before, time.gmtime())]


def test_a_kill_loses_nothing(rig, flows):
    """The station is killed with calls in flight and steps placed; the next one goes on with the run."""
    flows.put("wide", {"a": call(), "b": call(["a"]), "c": call(["a"]), "d": call(["b", "c"])})
    flows.start("wide")
    flows.next("a", 1)
    both = flows.expect("b", "c")
    flows.done(both["b"])
    run = both["b"].flow["run"]
    wait_until(lambda: flows.states(run)["b"] == "finished", "b has ended")
    flows.jobs.answer(both["c"].run, ST.RUNING)
    rig.state(both["c"].ident, ST.RUNING)
    rig.station.kill()
    rig.station.start()
    # The worker was at it, and tells the new station.
    local_id = both["c"].run.local_id
    flows.client.result(both["c"].ident, ST.OK, [(FT.JSON, b"3"), (FT.LOCAL_ID, local_id)])
    flows.next("d")
    flows.until(run, "finished")


def test_a_schedule_runs_it_again(rig, flows):
    flows.put("tick", {"a": call()})
    start = int(time.time()) + 1
    rig.client.added({"description": "tick", "plan_type": 2, "plan_value": 1, "plan_repet": 2}, station="tick", head=[])
    first, second = flows.next("a"), flows.next("a")
    assert first.flow["run"] != second.flow["run"]
    assert start


def test_each_run_has_a_row_with_its_plan(rig, flows):
    """B057, B058, B059: RUN is the `exec_id` of its claim; the key names its schedule; manual runs are there too."""
    flows.put("tick", {"a": call()})
    plan = every(1000, -1, plan_time=int(time.time()) - 1000, key="primary/tick")
    ident = rig.client.added(plan, station="tick", head=[])
    automatic = flows.next("a").flow["run"]
    flows.until(automatic, "finished")
    rig.client.done("run", ident)
    manual = flows.next("a").flow["run"]
    flows.until(manual, "finished")
    assert [(row["run"], row["plan"]) for row in flows.flow("runs")["runs"]] == [(manual, ident), (automatic, ident)]

    def ended():
        rows = rig.client.done("history", {"limit": 1000}).json["runs"]
        return [(f"{row['exec_id']:x}", row["key"]) for row in rows if row["station"] == "tick"]
    wait_until(lambda: ended() == [(automatic, "primary/tick"), (manual, "primary/tick")], "both have ended")
    assert rig.message(ident, "tick")["real_repet"] == 1, "the manual run is none of the schedule"


def test_the_runs_of_unknown_numbers(rig, flows):
    assert flows.refused("show", "5", status=ST.NOT_FIND) == "flow: no run 5 is known"
    assert "want the number of a run" in flows.refused("show", "x")


def test_ended_runs_are_swept(make_rig):
    rig = make_rig("--flow-count", "1")
    flows = Flows(rig)
    flows.put("each", {"work": call(for_each=2, args=["=index"])})
    runs = []
    for _ in range(3):
        flows.start("each")
        both = flows.expect("work.0", "work.1")
        for one in both.values():
            flows.done(one)
        runs.append(both["work.0"].flow["run"])
        flows.until(runs[-1], "finished")
    wait_until(lambda: rig.db.zcard("plan:flow:ended") == 1, "the older runs are swept", 60)
    kept = {key.decode().split(":")[3] for key in rig.db.keys("plan:flow:*") if key.count(b":") > 2 and b":def:" not in key}
    assert kept == {runs[-1]}
    assert [run["run"] for run in flows.flow("runs")["runs"]] == [runs[-1]]


def test_a_run_that_goes_on_is_not_swept(make_rig):
    """It had ended; others end while it is retried, and a restart reads it."""
    rig = make_rig("--flow-count", "1")
    flows = Flows(rig)
    flows.put("pair", {"a": call(), "b": call(["a"])})
    flows.put("other", {"c": call()})
    flows.start("pair")
    run = flows.next("a").flow["run"]
    flows.fail(flows.call())
    flows.until(run, "failed")
    flows.flow("retry", run)
    again = flows.call()
    flows.jobs.answer(again.run, ST.RUNING)     # or it is sent again before the sweep
    assert again.name == "b" and rig.db.zscore("plan:flow:ended", run) is None
    others = []
    for _ in range(3):
        flows.start("other")
        others.append(flows.next("c").flow["run"])
        flows.until(others[-1], "finished")
    wait_until(lambda: not any(rig.db.exists(f"plan:flow:run:{one}") for one in others[:2]), "the older runs are swept", 60)
    rig.restart()
    flows.client.result(again.ident, ST.OK, [(FT.LOCAL_ID, again.run.local_id)])
    flows.until(run, "finished")


def test_a_sub_run_whose_parent_goes_on_is_not_swept(make_rig):
    """It may be undone yet."""
    rig = make_rig("--flow-count", "1")
    flows = Flows(rig)
    flows.put("inner", {"x": call(undo={"target": "jobs", "command": "free"})})
    flows.put("outer", {"in": {"target": "inner", "json": {}, "undo": "inner"}, "pay": call(["in"])})
    flows.put("other", {"c": call()})
    flows.start("outer")
    inner = flows.next("x").flow["run"]
    pay = flows.call()
    flows.jobs.answer(pay.run, ST.RUNING)       # or it is sent again before the sweep
    ended = [inner]
    for _ in range(3):
        flows.start("other")
        ended.append(flows.next("c").flow["run"])
    wait_until(lambda: not any(rig.db.exists(f"plan:flow:run:{run}") for run in ended[1:3]), "the older runs are swept", 60)
    assert rig.db.exists(f"plan:flow:run:{inner}")
    flows.fail(pay)
    undo = flows.call()
    assert undo.flow["undo"] and undo.flow["run"] == inner
    flows.done(undo)
    flows.until(pay.flow["run"], "failed")

    def swept():
        flows.start("other")        # one that ended later
        flows.next("c")
        return not rig.db.exists(f"plan:flow:run:{inner}")
    wait_until(swept, "now it is swept", 60)


def test_an_item_that_is_skipped_lets_finally_run_again(rig, flows):
    flows.put("each", {"work": call(for_each=2, args=["=index"]), "after": call(["work"]), "clean": call()}, **{"finally": "clean"})
    flows.start("each")
    both = flows.expect("work.0", "work.1")
    flows.done(both["work.0"])
    flows.fail(both["work.1"])
    run = flows.next("clean").flow["run"]
    flows.until(run, "failed")
    flows.flow("skip", run, "work.1")
    flows.next("after")
    flows.next("clean")
    flows.until(run, "finished")


def test_a_signal_of_many_bytes(rig, flows):
    flows.put("human", {"ask": call(), "yes": {"after": ["ask"], "signal": {}}})
    flows.start("human")
    run = flows.call().flow["run"]
    assert "at most 65536 bytes" in flows.refused("signal", run, "yes", json.dumps("x" * 70000))
    flows.flow("signal", run, "yes", json.dumps("x" * 60000))


def test_signals_of_many_bytes_together(rig, flows):
    """What waits for a step is bounded in all."""
    flows.put("crowd", {"ask": call(), "yes": {"after": ["ask"], "signal": {"count": 1000}}})
    flows.start("crowd")
    ask = flows.call()
    run, value = ask.flow["run"], json.dumps("x" * 65000)
    for _ in range(16 * 1024 * 1024 // 65000 + 1):
        flows.flow("signal", run, "yes", value)
    assert "16 MiB already" in flows.refused("signal", run, "yes", value)
    flows.flow("cancel", run)
    flows.until(run, "cancelled")


def test_a_retry_of_an_ended_run_goes_on_in_its_parked_flow_plan(rig, flows):
    """Its schedule goes on with it, and no second flow plan is placed."""
    flows.put("pair", {"a": call(), "b": call(["a"])})
    ident = rig.client.added(every(1000, 2, plan_time=int(time.time()) - 1000, key="night", retry={
        "strategy": "none", "need_manual": True}), station="pair", head=[])
    flows.next("a")
    second = flows.call()
    run = second.flow["run"]
    flows.fail(second)
    flows.until(run, "failed")
    wait_until(lambda: rig.message(ident, "pair")["plan_state"] == ERROR, "it is parked")
    assert "no such step" in flows.refused("retry", run, '{"steps": ["x"]}')
    assert rig.message(ident, "pair")["plan_state"] == ERROR, "nothing was changed"
    flows.flow("retry", run)
    flows.next("b")
    assert flows.until(run, "finished")["plan"] == ident
    wait_until(lambda: rig.message(ident, "pair")["real_repet"] == 1, "the occurrence has ended")
    assert len(rig.db.keys("plan:msg:*")) == 1
    runs = rig.client.done("history", {"limit": 1000}).json["runs"]
    assert [one["status"] for one in runs if one["station"] == "pair"] == [ST.FAILED, ST.OK]


@pytest.mark.parametrize("word, options", [("skip", ["b"]), ("retry", [])])
def test_a_run_that_is_mended_while_its_flow_plan_waits_for_its_retry(rig, flows, word, options):
    """It goes on at once, and its end is that of the flow plan: nothing runs once more."""
    flows.put("pair", {"a": call(), "b": call(["a"])})
    ident = flows.start("pair", retry={"strategy": "fixed", "interval": 2, "max": 9})
    flows.next("a")
    second = flows.call()
    run = second.flow["run"]
    flows.fail(second)
    wait_until(lambda: rig.message(ident, "pair")["plan_state"] == RETRY, "it waits for its retry")
    flows.flow(word, run, *options)
    if word == "retry":
        flows.next("b")
    flows.until(run, "finished")
    rig.gone(ident, "pair")
    flows.nothing(2.5)      # not even when it would have been retried
    runs = [one["status"] for one in rig.client.done("history", {"limit": 1000}).json["runs"] if one["station"] == "pair"]
    assert runs == [ST.FAILED, ST.OK] and len(flows.flow("runs")["runs"]) == 1


@pytest.mark.parametrize("steps, words", [
    ({"a": call(), "b": call(), "c": call(["a", "b"])}, ("skip", "a")),
    ({"a": call(), "each": call(for_each=2), "c": call(["a", "each"])}, ("skip", "each.0")),
    ({"a": {"let": {"x": "1 / 0"}}, "b": call(), "c": call(["a", "b"])}, ("retry", '{"steps": ["a"]}')),
])
def test_a_command_that_leaves_a_run_failed_calls_no_other_step(rig, flows, steps, words):
    flows.put("two", steps)
    ident = flows.start("two")
    for _ in range(sum(step.get("for_each", 1) for step in steps.values() if "target" in step) - 1):
        failed = flows.call()
        flows.fail(failed)
    run = failed.flow["run"]
    flows.until(run, "failed")
    wait_until(lambda: rig.message(ident, "two")["plan_state"] == ERROR, "it is parked")
    assert flows.flow(words[0], run, *words[1:])["state"] == "failed"
    flows.nothing()
    assert rig.message(ident, "two")["plan_state"] == ERROR and flows.show(run)["state"] == "failed"
    flows.flow("retry", run)
    assert flows.call().step != "c", "now it was asked for"


def test_a_step_that_fails_again_before_its_flow_plan_is_claimed(rig, flows):
    """The plan ends with it; that is not the time of its own retry, which would call other failed steps."""
    works = {"if": "!has(input.hold)"}
    flows.put("two", {"a": call(**works), "b": call(**works), "c": call(["a", "b"]),
                      "held": {"signal": {}, "if": "has(input.hold)"}})
    ident = flows.start("two")
    for one in flows.expect("a", "b").values():
        flows.fail(one)
    run = one.flow["run"]
    wait_until(lambda: rig.message(ident, "two")["plan_state"] == ERROR, "it is parked")
    rig.client.done("limit", "set", "station:two", '{"concurrency": 1}')
    holds = flows.run_of(flows.start("two", {"hold": True}), "two")
    flows.flow("retry", run, '{"steps": ["a"]}')
    again = flows.call()
    assert again.step == "a" and again.flow["run"] == run
    flows.fail(again, "once more")
    flows.until(run, "failed")
    rig.restart()       # what ended it is known in Redis
    flows.client = rig.client
    before = rig.message(ident, "two")["revision"]
    flows.flow("signal", holds, "held")
    wait_until(lambda: rig.message(ident, "two")["revision"] != before and rig.message(ident, "two")["plan_state"] == ERROR,
               "it is parked again")
    flows.nothing()
    assert flows.show(run)["state"] == "failed"


def test_a_limit_of_a_flow_holds_its_runs_back(rig, flows):
    """From its begin to its end, also over a restart."""
    flows.put("etl", {"s": {"signal": {}}, "a": call(["s"])})
    rig.client.done("limit", "set", "station:etl", '{"concurrency": 1}')
    for _ in range(2):
        flows.start("etl")

    def runs():
        return [one["run"] for one in flows.flow("runs")["runs"]]
    wait_until(runs, "one has begun")
    run, = runs()
    for _ in range(2):
        flows.nothing()
        assert runs() == [run]
        rig.restart()
        flows.client = rig.client
    flows.flow("signal", run, "s")
    flows.done(flows.call())
    wait_until(lambda: len(runs()) == 2, "the next has begun")


def test_a_limit_of_a_sub_flow_holds_its_runs_back(rig, flows):
    flows.put("inner", {"x": call()})
    flows.put("outer", {"each": {"for_each": 3, "target": "inner", "json": {}, "max_parallel": 3}})
    rig.client.done("limit", "set", "station:inner", '{"concurrency": 1}')
    flows.start("outer")
    for _ in range(3):
        one = flows.call()
        flows.nothing()
        flows.done(one)


def test_a_limit_of_a_group_is_for_the_calls_of_a_run(rig, flows):
    """B002: not for the run itself: its calls would wait for it."""
    flows.put("etl", {"a": call(), "b": call()})
    rig.client.done("limit", "set", "group:night", '{"concurrency": 1}')
    flows.start("etl", group="night")
    first = flows.call()
    flows.nothing()
    flows.done(first)
    flows.done(flows.call())
    flows.until(first.flow["run"], "finished")


@pytest.mark.parametrize("step", ["", ".0", "s.", "s.x"])
def test_a_command_names_its_step(flows, step):
    flows.put("ask", {"s": {"signal": {}}})
    run = flows.run_of(flows.start("ask"), "ask")
    for words in (("signal", run, step), ("reject", run, step, "no"), ("skip", run, step)):
        assert flows.refused(*words) == f"flow: want STEP or STEP.ITEM, got '{step}'"
    assert flows.states(run)["s"] == "running", "nothing was changed"


def test_what_is_no_json_is_refused(flows):
    flows.put("ask", {"s": {"signal": {}}})
    run = flows.run_of(flows.start("ask"), "ask")
    for words in (("show", run), ("signal", run, "s"), ("skip", run, "s"), ("retry", run)):
        assert flows.refused(*words, "{") == "flow: want JSON"
    for word, options, rule in (
            ("retry", '[]', "want an object of options"), ("retry", '{"steps": "a"}', "steps: want a list of steps"),
            ("retry", '{"fresh": 1}', "fresh: want true or false"), ("retry", '{"all": true}', "'all': unknown field"),
            ("retry", '{"restart": "no"}', "restart: want true or false"), ("retry", '{"reason": 5}', "reason: want a text")):
        assert rule in flows.refused(word, run, options)
    assert "want an object of options" in flows.refused("skip", run, "s", "5")
    assert "reason: want a text" in flows.refused("skip", run, "s", '{"reason": []}')
    assert "want an object of filters" in flows.refused("show", run, "[]")
    assert flows.states(run)["s"] == "running", "nothing was changed"


def test_an_undo_that_failed_is_tried_again_or_resolved(rig, flows):
    undo = {"target": "jobs", "command": "free", "retry": {"strategy": "none"}}
    flows.put("trip", {"hotel": call(undo=undo), "pay": call(["hotel"])})
    flows.start("trip")
    run = flows.next("hotel").flow["run"]
    assert "no undo of hotel has failed" in rig.client.refused("done", f"{run}/hotel")
    flows.fail(flows.call())
    for word in ("reset", "done"):
        again = flows.call()
        assert again.flow["undo"] and again.step == "hotel"
        flows.fail(again)
        wait_until(lambda: "its undo has failed" in flows.show(run)["steps"][0].get("why", ""), "it is parked")
        assert flows.show(run)["state"] == "undoing"
        assert "no undo of pay has failed" in rig.client.refused(word, f"{run}/pay")
        assert rig.client.manage(word, f"{run}/hotel").code == ST.OK
    flows.until(run, "failed")
    flows.nothing()


def test_a_run_that_is_suspended_while_it_is_undone_says_so(flows):
    undo = {"target": "jobs", "command": "free"}
    flows.put("trip", {"a": call(undo=undo), "b": call(["a"], undo=undo), "pay": call(["b"])})
    flows.start("trip")
    flows.next("a")
    flows.next("b")
    pay = flows.call()
    run = pay.flow["run"]
    assert "suspended" not in flows.show(run)
    flows.fail(pay)
    undone = flows.call()
    shown = flows.flow("suspend", run, "hold on")
    assert shown["state"] == "undoing" and shown["suspended"]
    flows.done(undone)
    flows.nothing()
    assert flows.show(run)["suspended"]
    assert "suspended" not in flows.flow("resume", run)
    flows.next("a")
    flows.until(run, "failed")


@pytest.mark.parametrize("former", [False, True])
def test_a_parked_undo_that_was_ended_with_force_is_read_again(rig, flows, former):
    """`former`: stations before 2026-11-28 stored such a run with its undo parked."""
    undo = {"target": "jobs", "command": "free", "retry": {"strategy": "none"}}
    flows.put("trip", {"hotel": call(undo=undo), "pay": call(["hotel"])})
    flows.start("trip")
    run = flows.next("hotel").flow["run"]
    for words in ("no credit", "cannot"):
        flows.fail(flows.call(), words)
    wait_until(lambda: "its undo has failed" in flows.show(run)["steps"][0].get("why", ""), "it is parked")
    flows.flow("cancel", run, "force")
    flows.until(run, "failed")
    state = rig.db.hget("plan:flow:run:" + run, "run.state")
    assert b"undo_parked" not in state
    if former:
        rig.db.hset("plan:flow:run:" + run, "run.state", state + b" undo_parked")
    rig.restart()
    flows.client = rig.client
    shown = flows.show(run)
    assert shown["state"] == "failed" and "why" not in shown["steps"][0]


def test_flow_parallel_is_for_flows_that_say_nothing(make_rig):
    rig = make_rig("--flow-parallel", "2")
    flows = Flows(rig)
    flows.put("said", {"e": call(for_each=4)}, max_parallel=3)
    flows.put("unsaid", {"e": call(for_each=4)})
    for name, most in (("said", 3), ("unsaid", 2)):
        flows.start(name)
        calls = [flows.call() for _ in range(most)]
        flows.nothing()
        for one in calls:
            flows.done(one)
        for _ in range(4 - most):
            flows.done(flows.call())
        flows.until(calls[0].flow["run"], "finished")
