"""flow retry RUN STEP.ITEM at the station: exactly the named items run, or it is rejected and changes nothing."""
import json

import pytest

from flowrig import Flows, call
from zplantest import wait_until


@pytest.fixture
def flows(rig):
    return Flows(rig)


def retry(flows, run, *names):
    flows.flow("retry", run, json.dumps({"steps": names}))


def ran(flows, run, error, *names):
    """These calls end well, and nothing else is called; then the step has failed with this error."""
    for one in flows.expect(*names).values():
        flows.done(one)
    step = flows.until(run, "failed")["steps"][0]
    assert (step["state"], step.get("error")) == ("failed", error)
    flows.nothing()


@pytest.fixture
def two_failed(flows):
    """A run whose items 1 and 3 of 4 have failed."""
    flows.put("w2", {"each": call(for_each=4, tolerate=0)})
    flows.start("w2")
    calls = flows.expect(*(f"each.{i}" for i in range(4)))
    for at, one in enumerate(calls.values()):
        flows.fail(calls[f"each.{at}"], "not yet") if at % 2 else flows.done(calls[f"each.{at}"])
    run = calls["each.0"].flow["run"]
    flows.until(run, "failed")
    return run


def test_a_failed_item_runs_while_another_one_has_failed(flows, two_failed):
    retry(flows, two_failed, "each.1")
    ran(flows, two_failed, "1 of 4 items failed", "each.1")
    retry(flows, two_failed, "each.3")
    flows.next("each.3")
    flows.until(two_failed, "finished")


def test_an_item_that_had_finished_runs_again(flows, two_failed):
    """Under a key of its own."""
    retry(flows, two_failed, "each.0")
    ran(flows, two_failed, "2 of 4 items failed", "each.0")
    assert flows.calls[-1].flow["generation"] == 1


def test_an_item_that_never_started_runs(flows):
    flows.put("w1", {"each": call(for_each=5, max_parallel=1)})
    flows.start("w1")
    first = flows.call()
    flows.fail(first)
    run = first.flow["run"]
    flows.until(run, "failed")
    retry(flows, run, "each.4")
    ran(flows, run, "1 of 5 items failed", "each.4")
    retry(flows, run, "each.0")
    for name in "each.0", "each.1", "each.2", "each.3":     # no more have failed than is tolerated: the rest follows
        flows.next(name)
    flows.until(run, "finished")


def test_what_can_not_run_is_rejected(flows):
    """And changes nothing."""
    flows.put("f", {"a": call(), "each": call(["a"], for_each=2)})
    flows.start("f")
    run = flows.next("a").flow["run"]
    for one in flows.expect("each.0", "each.1").values():
        flows.fail(one)
    flows.until(run, "failed")
    retry(flows, run, "a")
    flows.fail(flows.call())
    wait_until(lambda: flows.show(run)["state"] == "failed", "a has failed")
    before = flows.show(run)
    for names, why in (("each.0",), "each is blocked, and cannot run: a failed: disk full"), (("each.7",), "no such step: 'each.7'"):
        assert why in flows.refused("retry", run, json.dumps({"steps": names}))
    assert flows.show(run) == before
    flows.nothing()
