"""Plans of steps in lists (proto 9.3)."""
import json

import pytest

from clitest import Ended, start
from flowrig import Flows, call
from zplantest import later, wait_until


@pytest.fixture
def flows(rig):
    return Flows(rig)


def plans(rig, **asked):
    found, after = [], {}
    while True:
        page = rig.client.done("list", json.dumps({**asked, **after})).json
        found += page["plans"]
        if "next" not in page:
            return found
        after = {"after": page["next"]}


def titles(rig, **asked):
    return sorted(plan["description"] for plan in plans(rig, **asked))


def test_plans_of_steps_are_listed_by_their_run_only(rig, flows):
    flows.put("two", {"a": call(), "b": call(), "w": {"wait": 3600}})
    rig.client.added(later(description="other"))
    ident = flows.start("two")
    both = flows.expect("a", "b")
    run = both["a"].flow["run"]
    assert titles(rig) == ["other", "two"]
    assert titles(rig, state="execute") == ["two"] and titles(rig, limit=1) == ["other", "two"]
    for asked in run, int(run, 16):
        assert titles(rig, flow_run=asked) == ["two", "two/a", "two/b"]
    assert titles(rig, flow_run=run, station="jobs") == ["two/a", "two/b"]
    assert titles(rig, flow_run=run, title="*/b") == ["two/b"]
    step = plans(rig, flow_run=run, station="jobs", title="two/a")[0]
    assert step["flow"] == both["a"].flow and "step" not in step
    whole = next(plan for plan in plans(rig) if plan["plan_id"] == int(ident, 16))
    assert f"{whole['flow_run']:x}" == run
    assert titles(rig, flow_run="7") == []
    assert "flow_run" in rig.client.refused("list", '{"flow_run": "x"}')


def test_a_sub_flow_is_a_step(rig, flows):
    flows.put("inner", {"x": call()})
    flows.put("outer", {"a": {"target": "inner"}})
    flows.start("outer")
    inner = flows.call().flow["run"]
    outer = next(plan for plan in plans(rig))
    assert titles(rig) == ["outer"]
    assert titles(rig, flow_run=outer["flow_run"]) == ["outer", "outer/a"]
    assert titles(rig, flow_run=inner) == ["inner/x", "outer/a"]


def test_zplan_lists_the_plans_and_outcomes_of_a_run(rig, flows):
    flows.put("two", {"a": call(), "b": call()})
    flows.start("two")
    both = flows.expect("a", "b")
    run = both["a"].flow["run"]
    flows.done(both["a"])
    where = ["--connect", rig.ipc("q")]
    wait_until(lambda: flows.states(run)["a"] == "finished", "a has ended")
    listed = Ended(start(*where, "list", "--flow-run", run, "--json")).done().splitlines()
    assert {json.loads(line)["title"] for line in listed} >= {"two", "two/b"}
    assert all(json.loads(line).get("flow_run", run) == run for line in listed)
    ended = [json.loads(line) for line in Ended(start(*where, "history", "--flow-run", run, "--json")).done().splitlines()]
    assert [(one["flow_run"], one["step"]) for one in ended] == [(run, "a")]
    assert "two/a" not in Ended(start(*where, "list")).done()
