"""Occurrences that did not run are rows of the history, and misfire policies at submission (proto 6.3, 9.4).

features: D007
"""
import json
import time

import pytest

from clitest import objects, zplan
from test_policies import fail, history, outcomes
from zplantest import FT, PAUSE, ST, at_once, every, later

STEP = 1000


def past(**fields):
    """Ten occurrences lie before the submission, the last of them some 500 s ago."""
    base = int(time.time()) - 10 * STEP - STEP // 2
    return base, every(STEP, 99, plan_time=base, hold=True, **fields)


def rows(rig, ident):
    return [run for run in history(rig, ident) if run["status"] == ST.MISSED]


@pytest.mark.parametrize("policy, kept", [
    ({}, 0), ({"no_keep": False}, 0), ({"misfire": "skip"}, 0), ({"misfire": "latest"}, 1), ({"misfire": 3}, 3),
    ({"misfire": 10}, 10), ({"misfire": 1000}, 10), ({"misfire": "all"}, 10), ({"no_keep": True}, 10),
    ({"misfire": "all", "misfire_window": 3 * STEP}, 3), ({"misfire": 5, "misfire_window": 3 * STEP}, 3),
    ({"misfire": "latest", "misfire_window": 10}, 0)], ids=str)
def test_a_submission_makes_up_for_what_its_policy_says(rig, policy, kept):
    before = time.time()
    base, plan = past(**policy)
    ident = rig.client.added(plan, gid="77")
    missed, stored = 10 - kept, rig.message(ident)
    assert stored["plan_time"] == base + (missed + 1) * STEP
    assert (stored.get("missed", 0), stored["skip_num"]) == (missed, missed)
    preview = rig.client.done("next", {name: value for name, value in plan.items() if name != "hold"}).json["next"]
    assert preview[0] == stored["plan_time"]
    assert rig.client.added(plan, gid="77") == ident        # the same again is no other decision
    found = history(rig, ident)
    if not missed:
        assert found == []
        return
    row, = found
    assert (row["status"], row["seq"], row["state"], row["station"]) == (ST.MISSED, 0, PAUSE, "jobs")
    assert (row["missed"], row["missed_first"], row["missed_last"], row["missed_why"]) == (
        missed, base + STEP, base + missed * STEP, "submission")
    assert row["nominal"] == row["missed_first"]
    assert row["reason"] == f"missed: {missed}, before the plan was submitted"
    assert before - 1 < row["fired"] <= row["ended"] < time.time() + 1


@pytest.mark.parametrize("plan, runs", [
    ({}, False), ({"misfire": "skip"}, False), ({"misfire": "latest"}, True), ({"misfire": 7}, True),
    ({"misfire": "all"}, True), ({"no_keep": True}, True), ({"misfire": "all", "misfire_window": 50}, False),
    ({"misfire": "latest", "misfire_window": 500}, True)], ids=str)
def test_a_time_that_is_past(rig, plan, runs):
    plan = later(-100, **plan)
    if not runs:
        reply = rig.client.submit(plan)
        assert reply.code == ST.PLANERROR and not rig.client.done("history").json["runs"]
        return
    ident = rig.client.added(plan)
    run = rig.jobs.recv()
    assert run.plan_time == plan["plan_time"]
    rig.jobs.finish(run)
    rig.gone(ident)


def test_what_was_made_up_for_runs_in_order(rig):
    base, plan = past(misfire=3)
    ident = rig.client.added({**plan, "hold": False})
    for n in (8, 9, 10):
        run = rig.jobs.recv()
        assert run.plan_time == base + n * STEP
        rig.jobs.finish(run)
    rig.repet(ident, 3)
    assert [run["status"] for run in history(rig, ident)] == [ST.MISSED, ST.OK, ST.OK, ST.OK]


def test_a_plan_that_would_never_run_is_refused_and_in_no_history(rig):
    _, plan = past(misfire="all", misfire_window=10)
    reply = rig.client.submit({**plan, "plan_repet": 5})
    assert reply.code == ST.PLANERROR and reply.text.startswith("-plan error: plan_repet: ")
    _, plan = past(misfire="all", end_time=int(time.time()) - 1)
    assert rig.client.submit(plan).code == ST.PLANERROR
    assert rig.client.done("history").json["runs"] == []


def test_among_others_in_one_call(rig):
    _, missing = past()
    plans = [missing if n % 3 == 0 else later() for n in range(60)]
    for n, plan in enumerate(plans):
        rig.client.send(0x02, [(FT.PLAN, json.dumps(plan).encode()), (FT.STATION_ID, b"jobs"),
                               (FT.COMMAND, b"do"), (FT.REQUEST_ID, str(n).encode())])
    idents = {}
    for _ in plans:
        reply = rig.client.recv()
        assert reply.code == ST.PLAN
        idents[int(reply.get(FT.REQUEST_ID))] = reply.get(FT.GLOBAL_ID).decode()
    found = rig.client.done("history").json["runs"]
    assert sorted(run["plan"] for run in found) == sorted(idents[n] for n in range(0, 60, 3))
    assert len({run["entry"] for run in found}) == 20


def test_a_key_whose_plan_is_replaced_begins_anew(rig):
    _, plan = past(key="nightly", if_exists="replace")
    ident = rig.client.added(plan)
    rig.client.added({**plan, "description": "another"})
    assert [row["missed"] for row in rows(rig, ident)] == [10, 10] and rig.message(ident)["missed"] == 10
    # An update of the same times misses nothing more.
    rig.client.added({**plan, "if_exists": "update"})
    assert len(rows(rig, ident)) == 2 and rig.message(ident)["missed"] == 10
    rig.client.added({**plan, "if_exists": "update", "plan_value": 2 * STEP})
    assert [row["missed"] for row in rows(rig, ident)] == [10, 10, 5] and rig.message(ident)["missed"] == 15


@pytest.mark.parametrize("log, count", [("none", 0), ("trigger", 1), ("trans", 1)])
def test_log(rig, log, count):
    _, plan = past(log=log)
    ident = rig.client.added(plan)
    assert len(rows(rig, ident)) == count and rig.message(ident)["missed"] == 10


def test_done_leaves_a_row(rig):
    """What was due while a person had to decide."""
    base = int(time.time()) - 3 * STEP - STEP // 2
    ident = rig.client.added(every(STEP, 99, plan_time=base, no_keep=True, retry={"strategy": "none", "need_manual": True}))
    fail(rig, rig.jobs.recv())
    outcomes(rig, ident, 1)
    rig.client.done("update", ident, {"revision": rig.message(ident)["revision"], "misfire": "skip"})
    rig.client.done("done", ident)
    row, = rows(rig, ident)
    assert (row["missed"], row["missed_first"], row["missed_last"]) == (2, base + 2 * STEP, base + 3 * STEP)
    assert row["missed_why"] == "misfire" and rig.message(ident)["missed"] == 2


def test_a_failure_that_is_given_up(rig):
    base = int(time.time()) - 3 * STEP - STEP // 2
    ident = rig.client.added(every(STEP, 99, plan_time=base, misfire=3, retry={"strategy": "none"}, overlap_policy="skip"))
    for n in (1, 2, 3):
        run = rig.jobs.recv()
        assert run.plan_time == base + n * STEP
        fail(rig, run)
    assert [run["status"] for run in outcomes(rig, ident, 3)] == [ST.FAILED] * 3


def test_the_last_of_a_plan_that_ends(rig):
    """It goes another way into Redis than the end of a plan that missed nothing."""
    second = int(time.time())
    ident = rig.client.added(every(1, 3, plan_time=second, overlap_policy="skip"))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    time.sleep(max(0, second + 4.2 - time.time()))
    rig.jobs.finish(run)
    rig.gone(ident)
    done, missed = outcomes(rig, ident, 2)
    left = 3 - (run.plan_time - second)
    assert done["status"] == ST.OK and (missed["status"], missed["missed"]) == (ST.MISSED, left)
    assert missed["state"] == 7 and rig.db.exists(rig.key(ident)) == 0


def test_what_zplan_history_prints(rig):
    base, plan = past(misfire="latest", description="night")
    ident = rig.client.added(plan)
    rig.client.done("close", rig.client.added(later()))
    again = rig.client.added(at_once(description="fine"))
    run = rig.jobs.recv()
    rig.jobs.finish(run)
    outcomes(rig, again, 1)

    def said(*args):
        return zplan("--connect", rig.ipc("q"), "--timeout", "20000", "--times", "unix", "history", *args).done()
    found, = objects(zplan("--connect", rig.ipc("q"), "--timeout", "20000", "history", ident, "--json=wire"))
    lines = said().splitlines()
    assert len(lines) == 3
    row, = [line for line in lines if line.startswith("night ")]
    assert row.split()[1:7] == [found["entry"], "jobs", str(base + STEP), "-", "-", "missed"]
    assert row.endswith(f" missed: 9, before the plan was submitted, {base + STEP} to {base + 9 * STEP}")
    assert said("--state", "missed").splitlines()[1:] == [row]
    assert "night" not in said("--state", "failed")
    assert (found["status"], found["missed"]) == (ST.MISSED, 9)


def test_a_forgotten_outcome_is_no_end_of_the_history(rig):
    """Its name is not given again: Redis takes none twice, and what it does not take replaces the history."""
    first, second = (rig.client.added(past()[1]) for _ in range(2))
    kept, forgotten = rows(rig, first) + rows(rig, second)
    epoch = rig.client.done("history").json["epoch"]
    assert rig.client.done("forget", {"epoch": epoch, "entries": [forgotten["entry"]]}).json == {"forgotten": 1}
    rig.restart()
    third = rig.client.added(past()[1])
    assert rows(rig, first) == [kept] and rows(rig, second) == []
    found, = rows(rig, third)
    assert found["entry"] not in (kept["entry"], forgotten["entry"])
