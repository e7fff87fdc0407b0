"""Flow runs under failure: the station dies at every point of a run's life, and Redis goes away under it.

Nothing is lost; no step runs twice but those that were in flight; no run stands still.
"""
import json
import time

import pytest

from faulttest import Pair, died
from flowplay import DONE, EVERY_STEP, Played, put_all
from flowrig import Flows, call
from redissteps import frozen, proxied
from zplantest import CMD, FT, ST, wait_until

SHORT = ("--exec-timeout", "2")     # seconds: what a station that dies leaves behind waits that long


def arm(rig, point):
    """From its next start on it dies at this point."""
    rig.station.stop()
    rig.station.env["ZPLAN_FAILPOINT"] = point
    rig.station.start()
    rig.client = rig.dealer()


def whole_run(played, point):
    """A run of every kind of step, through a death: it ends as if nothing had been."""
    played.rig.dealer().send(CMD.PLAN, [(FT.PLAN, b'{"description": "all", "plan_type": 0}'), (FT.STATION_ID, b"all")])
    played.until(lambda: played.root("all"), "the run has begun")
    shown = played.ended(played.root("all"), "finished")
    assert played.deaths == 1, point
    played.none_doubled(*EVERY_STEP)
    assert [one.json for one in played.calls if one.name == "d"][-1] == {"s": "yes", "each": [None] * 3}
    assert all(step["state"] == "finished" for step in shown["steps"])
    played.all_gone()


POINTS = ["claim_done", "flow_begun", "flow_begun:2", "flow_placed:4", "flow_end", "flow_end:7", "flow_over", "flow_over:2",
          "flow_sub_end", "flow_timer", "result_done:2", "result_sent:3"]


@pytest.mark.parametrize("point", POINTS)
def test_a_death_at_a_point_of_a_run(make_rig, point):
    """B003: the end of a step and what follows from it are one write: none is lost, none is doubled."""
    rig = make_rig(*SHORT)
    put_all(Flows(rig))
    arm(rig, point)
    whole_run(Played(rig), point)


@pytest.mark.parametrize("point", ["flow_end:2", "flow_over"])
def test_a_standby_goes_on_with_the_runs(make_rig, point):
    """B078: Of two stations the second one ends what the first one began."""
    pair = Pair(make_rig(*SHORT, start=False))
    rig = pair.rig
    try:
        rig.redis.start()
        rig.station.env["ZPLAN_FAILPOINT"] = point
        pair.start()
        put_all(Flows(rig))
        played = Played(rig)

        def takes_over():
            died(pair.stations[0])
            played.deaths += 1
            played.in_flight |= {one.ident for one in played.calls if rig.left(one.ident)}
            pair.takes_over(1)
            played.client = rig.client
            played.is_dead = lambda: False
        played.revive = takes_over
        whole_run(played, point)
    finally:
        pair.close()


def test_a_death_while_a_run_is_read(make_rig):
    rig = make_rig(*SHORT)
    put_all(Flows(rig))
    hold = [True]
    played = Played(rig, lambda step: None if step.name == "b" and hold[0] else DONE)
    rig.dealer().submit(json.loads('{"description": "all", "plan_type": 0}'), station="all", head=[])
    played.until(lambda: any(one.name == "b" for one in played.calls), "b is in flight")
    arm(rig, "flow_read")
    played.client = rig.dealer()
    hold[0] = False
    played.in_flight |= {one.ident for one in played.calls if rig.left(one.ident)}
    first = next(one for one in played.calls if one.name == "b")
    played.client.result(first.ident, ST.OK, [(FT.LOCAL_ID, first.run.local_id)])
    played.ended(played.root("all"), "finished")
    assert played.deaths == 1
    played.none_doubled(*EVERY_STEP)
    played.all_gone()


def test_a_death_when_more_is_to_be_decided(make_rig):
    """Nothing is in flight, and the run has not come to its end: the next owner goes on at once."""
    steps = {f"s{at}": {"let": {"x": "1"}} for at in range(3000)}
    rig = make_rig(*SHORT)
    rig.client.done("flow", "put", json.dumps({"flow": "more", "steps": {**steps, "last": call()}, "finally": "last"}))
    arm(rig, "flow_more")
    played = Played(rig)
    start = time.monotonic()
    rig.dealer().send(CMD.PLAN, [(FT.PLAN, b'{"description": "more", "plan_type": 0}'), (FT.STATION_ID, b"more")])
    played.until(lambda: played.root("more"), "the last step is called")
    assert played.deaths == 1
    assert time.monotonic() - start < 10
    played.ended(played.root("more"), "finished")
    played.all_gone()


@pytest.mark.parametrize("point", ["flow_cancel", "flow_cancelled"])
def test_a_death_while_calls_are_cancelled(make_rig, point):
    """What is in flight is cancelled by the next owner; then what was done is undone, and the run ends."""
    rig = make_rig("--exec-timeout", "60")
    flows = Flows(rig)
    flows.put("trip", {"a": call(undo={"target": "jobs", "command": "free"}), "b": call(["a"]), "w": {"wait": 3600}})
    arm(rig, point)
    held = []
    played = Played(rig, lambda step: held.append(step) if step.name == "b" else DONE)
    rig.dealer().submit({"description": "trip", "plan_type": 0}, station="trip", head=[])
    played.until(lambda: held, "b is in flight")
    rig.jobs.answer(held[0].run, ST.RUNING)
    rig.state(held[0].ident, ST.RUNING)
    run = played.root("trip")
    played.ask("cancel", run)
    played.until(lambda: played.deaths, "it has died")
    if point == "flow_cancel":      # nothing was written, and nobody was answered
        assert played.ask("cancel", run)[0] == ST.OK
    shown = played.ended(run, "cancelled")
    assert {step["step"]: step["state"] for step in shown["steps"]} == {"a": "finished", "b": "cancelled", "w": "cancelled"}
    assert [one.flow["undo"] for one in played.calls] == [False, False, True]
    played.all_gone()


@pytest.mark.parametrize("word", ["cancel", "remove"])
def test_a_death_before_the_run_of_a_sub_flow_is_cancelled(make_rig, word):
    """The run above is over, and its plan gone; the next owner cancels the run within all the same."""
    rig = make_rig("--exec-timeout", "60")
    flows = Flows(rig)
    flows.put("inner", {"a": call(), "b": call(["a"])})
    flows.put("outer", {"sub": {"target": "inner", "json": {}}})
    arm(rig, "flow_cancel_sub")
    held = []
    played = Played(rig, held.append)
    flows.client = rig.client
    ident = flows.start("outer")
    outer = flows.run_of(ident, "outer")
    played.until(lambda: held, "a is in flight")
    rig.jobs.answer(held[0].run, ST.RUNING)
    rig.state(held[0].ident, ST.RUNING)
    inner = held[0].flow["run"]
    words = ("flow", "cancel", outer) if word == "cancel" else ("remove", ident)
    rig.client.send(CMD.NONE, [(FT.COMMAND, words[0].encode()), *((FT.ARG, one.encode()) for one in words[1:])])
    played.until(lambda: played.deaths, "it has died")
    played.ended(inner, "cancelled")
    assert [one.name for one in played.calls] == ["a"], "b was not called"
    played.all_gone()


def test_an_occurrence_that_was_only_claimed_is_not_the_one_before(make_rig):
    """The station dies between the claim of the second occurrence of a schedule and its begin."""
    rig = make_rig(*SHORT)
    flows, news = Flows(rig), rig.subscribe("tick")
    flows.put("tick", {"a": call()})
    ident = rig.client.added({"description": "tick", "plan_type": 2, "plan_value": 3600, "plan_repet": 3}, station="tick",
                             head=[])
    rig.due_now(ident, "tick")
    first = flows.call()
    flows.fail(first)
    while (told := news.recv()).before[0] != b"tick":
        pass
    assert told.code == ST.FAILED
    arm(rig, "claim_done")
    played = Played(rig)
    rig.due_now(ident, "tick")
    played.until(lambda: played.deaths and played.calls, "the second occurrence runs")
    assert played.calls[0].flow["run"] != first.flow["run"]
    played.ended(played.calls[0].flow["run"], "finished")


# Redis.

def under_way(rig, count=5):
    """Runs whose first calls are in flight."""
    played = Played(rig)
    held = []
    played.answer = held.append
    for _ in range(count):
        rig.client.added({"description": "all", "plan_type": 0}, station="all", head=[])
    played.until(lambda: len(held) == count, "all have begun")
    played.answer = lambda step: DONE
    return played, held


def end_all(rig, played, held):
    """What was in flight ends, and so does every run, with no step doubled."""
    runs = {step.flow["run"] for step in held}
    for run in runs:
        played.ended(run, "finished")
    calls = [(one.ident, one.flow["generation"]) for one in played.calls]
    assert len(calls) == len(set(calls)) == len(EVERY_STEP) * len(runs)
    played.all_gone()


def finish(rig, held):
    for step in held:
        rig.jobs.finish(step.run)


def test_redis_restarts_under_runs(make_rig):
    rig = make_rig(redis_args=("--appendfsync", "always"))
    put_all(Flows(rig))
    played, held = under_way(rig)
    rig.redis.kill()
    finish(rig, held)
    rig.redis.start()
    end_all(rig, played, held)


def test_the_connection_is_cut_under_runs(make_rig):
    rig = proxied(make_rig)
    put_all(Flows(rig))
    played, held = under_way(rig)
    for at, step in enumerate(held):
        rig.jobs.finish(step.run)
        if at % 2:
            rig.proxy.cut_all()
    end_all(rig, played, held)


def test_redis_stalls_under_runs(make_rig):
    rig = make_rig()
    put_all(Flows(rig))
    played, held = under_way(rig)
    with frozen(rig.redis.process):
        finish(rig, held)
        time.sleep(5)       # the stall itself
    end_all(rig, played, held)


def test_redis_is_full_under_runs(make_rig):
    """New runs are refused; those that are under way go on to their end."""
    rig = make_rig(redis_args=("--appendfsync", "always"))
    put_all(Flows(rig))
    played, held = under_way(rig)
    admin = rig.redis.client()
    admin.config_set("maxmemory", 1)
    finish(rig, held)
    for step in held:
        played.ended(step.flow["run"], "finished")
    admin.config_set("maxmemory", 0)
    end_all(rig, played, held)


def test_a_run_whose_rows_are_damaged_says_so(rig):
    """And goes on when they are repaired."""
    flows = Flows(rig)
    flows.put("ask", {"s": {"signal": {}}})
    run = flows.run_of(flows.start("ask"), "ask")
    wait_until(lambda: flows.states(run)["s"] == "running", "it waits")
    rig.station.stop()
    node = f"plan:flow:node:{run}"
    before = rig.db.get(node)
    rig.db.setrange(node, 0, b"\xff")
    rig.station.start()
    for words in (("show", run), ("log", run), ("cancel", run), ("signal", run, "s"), ("retry", run)):
        assert f"run {run} is damaged: " in flows.refused(*words)
    why = rig.client.manage("why", f"{run}/s")
    assert f"run {run} is damaged: " in why.text
    assert f"event=flow.damaged run={run}" in rig.station.log_tail()
    rig.db.set(node, before)
    flows.flow("signal", run, "s")
    flows.until(run, "finished")
