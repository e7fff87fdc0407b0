"""The history of flow plans and of the plans of steps (proto 9.4)."""
import json

import pytest

from flowrig import Flows, call
from zplantest import ST, at_once


@pytest.fixture
def flows(rig):
    return Flows(rig)


def history(rig, **asked):
    return rig.client.done("history", json.dumps(asked)).json["runs"]


def test_outcomes_name_run_and_step(rig, flows):
    """B073: Runs of flows, of steps and of plain plans are distinguished."""
    flows.put("chain", {"a": call(), "b": call(["a"], for_each=2)})
    ident = flows.start("chain")
    run = flows.next("a").flow["run"]
    for each in flows.expect("b.0", "b.1").values():
        flows.done(each)
    flows.until(run, "finished")
    rig.gone(ident, "chain")
    plain = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv(), ST.OK)
    rig.gone(plain)
    runs = history(rig)
    number = int(run, 16)
    assert [(each.get("flow_run"), each.get("step")) for each in runs[:1]] == [(number, "a")]
    assert sorted(each.get("step", "") for each in runs) == ["", "", "a", "b.0", "b.1"]
    whole = [each for each in runs if each["plan"] == ident]
    assert [(each["flow_run"], each["station"]) for each in whole] == [(number, "chain")] and "step" not in whole[0]
    alone = [each for each in runs if each["plan"] == plain]
    assert "flow_run" not in alone[0] and "step" not in alone[0]
    assert not any("undo" in each for each in runs)


def test_the_history_of_one_run(rig, flows):
    flows.put("chain", {"a": call(), "b": call(["a"])})
    idents = [flows.start("chain") for _ in range(2)]
    runs = [flows.call() for _ in range(2)]
    for each in runs:
        flows.done(each)
        flows.next("b")
    for ident in idents:
        rig.gone(ident, "chain")
    for each in runs:
        name = each.flow["run"]
        for asked in name, int(name, 16):
            assert sorted(entry.get("step", "") for entry in history(rig, flow_run=asked)) == ["", "a", "b"]
        assert [entry["step"] for entry in history(rig, flow_run=name, newest=True, station="jobs")] == ["b", "a"]
    assert history(rig, flow_run=7) == []
    for wrong in 0, "x", True, -1:
        assert "flow_run" in rig.client.refused("history", json.dumps({"flow_run": wrong}))


def test_an_undo_is_told_from_its_step(rig, flows):
    flows.put("trip", {"hotel": call(undo={"target": "jobs", "command": "free"}), "pay": call(["hotel"])})
    flows.start("trip")
    run = flows.next("hotel", "h1").flow["run"]
    flows.fail(flows.call())
    flows.next("hotel")
    flows.until(run, "failed")
    found = [(entry["step"], entry.get("undo", False)) for entry in history(rig, flow_run=run, station="jobs")]
    assert found == [("hotel", False), ("pay", False), ("hotel", True)]


def test_outcomes_are_restored_with_their_run(rig, flows):
    flows.put("chain", {"a": call()})
    ident = flows.start("chain")
    run = flows.next("a").flow["run"]
    rig.gone(ident, "chain")
    entry = next(entry for entry in history(rig) if entry.get("step") == "a")
    rig.db.delete("plan:history")
    rig.client.done("restore", "history", json.dumps({"runs": [entry]}))
    restored, = history(rig, flow_run=run)
    assert (restored["flow_run"], restored["step"]) == (int(run, 16), "a")
