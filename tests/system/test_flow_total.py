"""total_timeout of a step: it bounds all of its call, whatever that waits for, at the station as in a simulation."""
import json

import pytest

from clitest import zplan
from faulttest import Pair, is_whole
from flowplay import Played
from flowrig import Flows, call
from test_flow_faults import arm
from zplantest import CMD, ST, wait_until

LATE = "total_timeout: not ended within 1 s"
FOR_EVER = {"strategy": "fixed", "interval": 1000, "max": 3}


@pytest.fixture
def flows(rig):
    return Flows(rig)


def failed(flows, ident, name="f"):
    """The run of this flow plan and the error of its step a, when that has failed; no plan is left but the flow plan."""
    shown = flows.until(flows.run_of(ident, name), "failed")
    wait_until(lambda: flows.rig.db.keys("plan:msg:*") == [flows.rig.key(ident, name).encode()], "its plans are gone")
    step = next(step for step in shown["steps"] if step["step"] == "a")
    assert step["state"] == "failed" and shown["failed"] == ["a"]
    return shown, step["error"]


def simulated(tmp_path, steps, *options, **inner):
    """The error of the step a in a simulation of the same."""
    files = []
    for name, value in {"f": steps, **inner}.items():
        files.append(str(tmp_path / name))
        (tmp_path / name).write_text(json.dumps({"flow": name, "steps": value}))
    row = json.loads(zplan("flow", "simulate", *files, "--at", "2026-01-31T02:00", "--json", *options).done())
    assert row["outcome"] == "failed" and row["uncaught"] == ["a"]
    return next(event["why"] for event in row["events"] if (event["step"], event["what"]) == ("a", "failed"))


def test_a_call_that_waits_for_its_retry(flows, tmp_path):
    steps = {"a": call(total_timeout=1, retry=FOR_EVER)}
    flows.put("f", steps)
    ident = flows.start("f")
    flows.fail(flows.call(), "not yet 9")
    assert failed(flows, ident)[1] == f"{LATE}: not yet 9"
    assert simulated(tmp_path, steps, "--fail", "a") == LATE


def test_a_call_that_waits_for_an_operator(rig, flows, tmp_path):
    """It is no plan that has failed permanently any more."""
    steps = {"a": call(total_timeout=2, retry={"strategy": "none", "need_manual": True})}
    flows.put("f", {**steps, "b": call([{"step": "a", "on": "caught"}])})
    flows.start("f")
    one = flows.call()
    flows.fail(one, "not yet 9")
    wait_until(lambda: (rig.message(one.ident) or {}).get("verdict"), "it waits for an operator")
    flows.next("b")
    shown = flows.until(one.flow["run"], "finished")
    assert shown["steps"][0]["error"] == "total_timeout: not ended within 2 s: not yet 9"
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all plans are gone")
    is_whole(rig)
    assert not rig.db.exists("plan:stopped", "plan:dead")
    assert simulated(tmp_path, steps, "--fail", "a") == "total_timeout: not ended within 2 s"


def test_a_target_that_is_not_connected(rig, flows, tmp_path):
    rig.client.done("station", "add", f"away=api@{rig.ipc('a')}")
    steps = {"a": call(target="away", total_timeout=1)}
    flows.put("f", steps)
    assert failed(flows, flows.start("f"))[1].startswith(LATE)
    away = "--outage", "away=00:00..12:00", "--outage", "away=12:00..00:00"
    assert simulated(tmp_path, steps, *away) == LATE


def test_a_call_that_lasts(flows, tmp_path):
    """Its target gets the cancel, and a result that comes after that is late."""
    steps = {"a": call(total_timeout=1), "b": call(["a"])}
    flows.put("f", steps)
    ident = flows.start("f")
    one = flows.call()
    flows.jobs.answer(one.run, ST.RUNING)
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    flows.done(one)
    shown, error = failed(flows, ident)
    assert error == LATE and flows.states(shown["run"])["b"] == "none"
    assert simulated(tmp_path, steps, "--never", "a") == LATE


def test_a_sub_flow(flows, tmp_path):
    """Its run is cancelled, so its `finally` runs; a retry of the step goes on with it."""
    inner, steps = {"x": call(), "y": call(["x"])}, {"a": {"target": "inner", "json": {}, "total_timeout": 1}}
    flows.put("inner", {**inner, "last": call()}, **{"finally": "last"})
    flows.put("f", steps)
    ident = flows.start("f")
    flows.next("x")
    held = flows.call()
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    flows.next("last")
    shown, error = failed(flows, ident)
    assert error == LATE and flows.states(held.flow["run"]) == {"x": "finished", "y": "cancelled", "last": "finished"}
    assert flows.show(held.flow["run"])["state"] == "cancelled"
    flows.flow("retry", shown["run"])
    flows.next("y")
    flows.next("last")
    flows.until(shown["run"], "finished")
    assert simulated(tmp_path, steps, "--never", "a/y", inner=inner) == LATE


def test_an_item_behind_a_limit(rig, flows, tmp_path):
    rig.client.done("limit", "set", "group:one", {"concurrency": 1})
    steps = {"hold": call(group="one"), "w": {"wait": 1}, "a": call(["w"], for_each=1, group="one", total_timeout=1)}
    flows.put("f", steps)
    ident = flows.start("f")
    hold = flows.call()
    assert hold.name == "hold"
    wait_until(lambda: flows.states(hold.flow["run"])["a"] == "failed", "the item has failed")
    flows.done(hold)
    assert failed(flows, ident)[1] == f"1 of 1 items failed: {LATE}"
    flows.nothing()
    assert simulated(tmp_path, steps, "--limit", "group:one=1", "--last", "hold=1h") == f"1 of 1 items failed: {LATE}"


def test_a_pull_target_without_a_worker(rig, flows, tmp_path):
    rig.client.done("station", "add", "pile=pull")
    steps = {"a": call(target="pile", total_timeout=1)}
    flows.put("f", steps)
    assert failed(flows, flows.start("f"))[1] == LATE
    assert simulated(tmp_path, steps, "--workers", "pile=1", "--never", "a") == LATE


def test_a_call_that_ends_in_time_leaves_no_timer(rig, flows):
    """Also when it is retried, skipped or cancelled."""
    flows.put("f", {name: call(total_timeout=1000) for name in "abc"})
    ident = flows.start("f")
    calls = flows.expect("a", "b", "c")
    run = calls["a"].flow["run"]
    assert len(rig.db.keys("plan:msg:f:*")) == 4
    flows.done(calls["a"])
    flows.flow("retry", run, '{"steps": ["b"]}')
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    flows.next("b")
    rig.client.done("cancel", f"{run}/c")
    flows.until(run, "failed")
    wait_until(lambda: rig.db.keys("plan:msg:*") == [rig.key(ident, "f").encode()], "no timer is left")


@pytest.mark.parametrize("point", ["flow_timer", "flow_cancel", "flow_cancelled"])
def test_a_death_while_it_ends_a_call(make_rig, point):
    """The next owner goes on: that it was this and no cancel is not forgotten."""
    rig = make_rig("--exec-timeout", "60")
    flows = Flows(rig)
    flows.put("f", {"a": call(total_timeout=1), "b": call([{"step": "a", "on": "caught"}])})
    arm(rig, point)
    held = []
    played = Played(rig, lambda step: held.append(step) if step.name == "a" else (ST.OK, None))
    rig.dealer().submit({"description": "f", "plan_type": 0}, station="f", head=[])
    played.until(lambda: held, "a is in flight")
    rig.jobs.answer(held[0].run, ST.RUNING)
    rig.state(held[0].ident, ST.RUNING)
    played.until(lambda: played.deaths, "it has died")
    run = played.root("f")
    shown = played.ended(run, "finished")
    assert shown["steps"][0]["state"] == "failed" and shown["steps"][0]["error"] == LATE
    assert [one.name for one in played.calls] == ["a", "b"]
    played.all_gone()


def test_a_standby_ends_a_call(make_rig):
    """Its timer is in Redis."""
    pair = Pair(make_rig("--exec-timeout", "2", start=False))
    rig = pair.rig
    try:
        rig.redis.start()
        pair.start()
        flows = Flows(rig)
        flows.put("f", {"a": call(total_timeout=3, retry=FOR_EVER)})
        rig.client.added({"description": "f", "plan_type": 0}, station="f", head=[])
        one = flows.call()
        flows.fail(one, "not yet 9")
        wait_until(lambda: flows.states(one.flow["run"])["a"] == "new", "it waits for its retry")
        pair.stations[0].kill()
        pair.takes_over(1)
        flows.client = rig.client
        shown = flows.until(one.flow["run"], "failed")
        assert shown["steps"][0]["error"] == "total_timeout: not ended within 3 s: not yet 9"
    finally:
        pair.close()
