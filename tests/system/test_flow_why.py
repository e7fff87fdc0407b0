"""why of steps and of flow plans (proto 9.11), and cancel of a step by its run (9.2)."""
import pytest

from flowrig import Flows, call
from zplantest import ST, later, wait_until


@pytest.fixture
def flows(rig):
    return Flows(rig)


def why(rig, name):
    return rig.client.done("why", name).json


def texts(rig, name):
    return [reason["why"] for reason in why(rig, name)["reasons"]]


def test_a_step_waits_for_a_source(rig, flows):
    flows.put("etl", {"extract": call(), "load": call(["extract"]), "report": call(["load"])})
    flows.start("etl")
    first = flows.call()
    run = first.flow["run"]
    flows.jobs.answer(first.run, ST.RUNING)
    wait_until(lambda: not any("answered yet" in words for words in texts(rig, first.ident)), "RUNING has come")
    reason, = texts(rig, f"{run}/load")
    assert reason.startswith("load waits for extract: running since 20") and reason.endswith("(target jobs)")
    assert texts(rig, f"{run}/report") == ["report waits for load: waits for other steps"]
    own = why(rig, f"{run}/extract")
    assert (own["run"], own["flow"], own["step"], own["running"]) == (run, "etl", "extract", True)
    assert [reason["why"].split(" since ")[0] for reason in own["reasons"]] == ["a run is in progress"]
    assert f"{own['plan_id']:x}" == first.ident
    assert [reason["why"] for reason in own["reasons"]] == texts(rig, first.ident)
    flows.done(first)
    flows.fail(flows.call(), "disk full")
    flows.until(run, "failed")
    assert texts(rig, f"{run}/extract") == ["it has finished"]
    assert texts(rig, f"{run}/load") == ["it has failed: disk full"]
    assert texts(rig, f"{run}/report") == ["blocked: load failed: disk full"]


def test_max_parallel_and_items(rig, flows):
    flows.put("wide", {"a": call(), "b": call(), "each": call(for_each=4, max_parallel=1)}, max_parallel=2)
    flows.start("wide")
    both = flows.expect("a", "b")
    run = both["a"].flow["run"]
    assert texts(rig, f"{run}/each") == ["2 steps are in flight, max_parallel is 2"]
    flows.done(both["a"])
    flows.call()
    reasons = texts(rig, f"{run}/each")
    assert reasons[0] == "1 items are in flight, max_parallel of each is 1"
    assert reasons[-1].startswith("each.0: running since")
    assert texts(rig, f"{run}/each.0")[0].startswith("a run is in progress since")


def test_waits_signals_and_suspension(rig, flows):
    flows.put("human", {"a": call(), "w": {"wait": 3600}, "b": {"after": ["a"], "let": {"x": "1"}},
                        "yes": {"signal": {"count": 2, "who": ["lead", "ops-*"], "timeout": 3600}}, "c": call(["yes"])})
    flows.start("human")
    first = flows.call()
    run = first.flow["run"]
    found = why(rig, f"{run}/yes")["reasons"][0]
    assert found["why"].startswith("waits for 2 signals of lead, ops-*, until 20") and found["until"] == "a signal" and found["at"]
    assert texts(rig, f"{run}/w")[0].startswith("waits, until 20")
    assert texts(rig, f"{run}/c")[0].startswith("c waits for yes: waits for 2 signals of lead, ops-*, until 20")
    flows.flow("suspend", run, "lunch")
    flows.done(first)
    wait_until(lambda: flows.states(run)["a"] == "finished", "a has ended")
    assert texts(rig, f"{run}/b")[0] == "the run is suspended"


def test_a_flow_plan_says_what_is_in_flight(rig, flows):
    flows.put("inner", {"x": call()})
    flows.put("outer", {"a": call(), "sub": {"target": "inner"}, "w": {"wait": 3600}})
    ident = flows.start("outer")
    calls = flows.expect("a", "x")
    run = calls["a"].flow["run"]
    found = why(rig, ident)
    assert found["run"] == run and found["running"]
    reasons = [reason["why"] for reason in found["reasons"]]
    assert reasons[0].startswith("a: running since") and reasons[2].startswith("w waits, until 20")
    assert len(reasons) == 3 and reasons[1].startswith("sub: running since") and "(flow inner)" in reasons[1]
    inner = why(rig, f"{run}/sub")
    assert [reason["why"].split(" since ")[0] for reason in inner["reasons"]] == ["x: running"]
    assert inner["run"] == run and inner["step"] == "sub"


def test_a_flow_plan_that_is_not_due(rig, flows):
    flows.put("one", {"a": call()})
    ident = rig.client.added(later(description="one"), station="one", head=[])
    assert texts(rig, ident) == ["it is not due yet"]


def test_what_there_is_not(rig, flows):
    flows.put("one", {"a": call()})
    flows.start("one")
    run = flows.call().flow["run"]
    for name in f"{run}/b", f"{run}/a.0", "7/a":
        for word in "why", "cancel":
            rig.client.refused(word, name, status=ST.NOT_FIND)
    for name in f"{run}/", f"{run}/a.x", f"{run}/a/b", f"x/a":
        rig.client.refused("why", name)


def test_cancel_of_a_step(rig, flows):
    flows.put("two", {"a": call(), "b": call(["a"]), "c": call([{"step": "a", "on": "caught"}], on_error="continue")})
    flows.start("two")
    first = flows.call()
    run = first.flow["run"]
    flows.jobs.answer(first.run, ST.RUNING)
    answer = rig.client.done("cancel", f"{run}/a", "no need").json
    assert answer["told"] is True and f"{answer['plan_id']:x}" == first.ident
    shown = flows.until(run, "failed")
    states = {step["step"]: step for step in shown["steps"]}
    assert states["a"]["state"] == "cancelled" and shown["failed"] == ["a"]
    assert states["b"]["why"].startswith("a cancelled") and states["c"]["state"] == "skipped"
    assert "no call of a is in flight" in rig.client.refused("cancel", f"{run}/a")


def test_cancel_of_a_step_that_has_no_run(rig, flows):
    rig.client.done("station", "add", f"away=api@{rig.ipc('a')}")
    flows.put("two", {"a": call(target="away"), "b": call(["a"])})
    ident = flows.start("two")
    run = flows.run_of(ident, "two")
    wait_until(lambda: any("not connected" in text for text in texts(rig, f"{run}/a")), "a waits for its target")
    answer = rig.client.done("cancel", f"{run}/a").json
    assert answer["told"] is False
    shown = flows.until(run, "failed")
    assert shown["steps"][0]["state"] == "cancelled" and shown["failed"] == ["a"]


def test_cancel_of_an_item_and_of_a_sub_flow(rig, flows):
    flows.put("inner", {"x": call()})
    flows.put("outer", {"each": call(for_each=2, tolerate=1), "sub": {"target": "inner"}})
    flows.start("outer")
    calls = flows.expect("each.0", "each.1", "x")
    run = calls["each.0"].flow["run"]
    assert "name an item" in rig.client.refused("cancel", f"{run}/each")
    rig.client.done("cancel", f"{run}/each.1")
    rig.client.done("cancel", f"{run}/sub")
    flows.done(calls["each.0"])
    shown = flows.until(run, "failed")
    states = {step["step"]: step["state"] for step in shown["steps"]}
    assert states == {"each": "finished", "sub": "cancelled"} and shown["failed"] == ["sub"]
    assert flows.show(calls["x"].flow["run"])["state"] == "cancelled"


def test_an_undo_that_is_parked(rig, flows):
    flows.put("trip", {"hotel": call(undo={"target": "jobs", "command": "free", "retry": {"strategy": "none"}}),
                       "pay": call(["hotel"])})
    ident = flows.start("trip")
    run = flows.next("hotel").flow["run"]
    flows.fail(flows.call())
    undo = flows.call()
    assert texts(rig, f"{run}/hotel")[0].startswith("a run is in progress")
    assert texts(rig, ident)[0].startswith("hotel: its undo: running since")
    flows.fail(undo)
    wait_until(lambda: texts(rig, ident) == ["hotel: its undo has failed, and is parked"], "the undo is parked")
