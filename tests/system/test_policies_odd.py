"""Policies where things cross: an answer of a run that is over, a skip before `done`, a target that goes away
behind a failure, a run in doubt whose time ends (proto 5.3, 6.3, 7.3, 7.4, 9.2).

features: C024, C026, C041, C042, D004, D007, E020
"""
import time

import pytest

from zplantest import (CMD, ERROR, FT, PAUSE, QUEUE, RETRY, ST, FakeTarget, at_once, every,
                       wait_until)

PENDING, MANUAL = 2, 3                                  # verdicts
BY_HAND = {"strategy": "none", "need_manual": True}


def fail(rig, run):
    rig.jobs.answer(run, ST.RUNING)
    rig.jobs.answer(run, ST.FAILED, [(FT.STATUS, b"why"), (FT.LOCAL_ID, run.local_id)])


def statuses(rig, ident):
    return [run["status"] for run in rig.client.done("history", ident).json["runs"]]


def pending(rig, ident):
    return wait_until(lambda: (m := rig.message(ident)).get("verdict") == PENDING and m, "pending")


def timed_out(rig, ident):
    """A run that gave a sign of life, and whose time is over; its target is told."""
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    told = rig.jobs.recv()
    assert told.code == CMD.CLOSE_REQUEST and told.local_id == run.local_id
    rig.state(ident, ST.TIMEOUT)
    return run


@pytest.mark.parametrize("status", [ST.OK, ST.FAILED])
def test_C042_what_a_run_that_timed_out_brings_is_not_its_retrys(rig, status):
    """Its worker answers late, by its mailbox alone."""
    ident = rig.client.added(at_once(timeout=4))
    first = timed_out(rig, ident)
    second = rig.jobs.recv()
    assert (second.plan_time, second.exec_id > first.exec_id) == (first.plan_time, True)
    rig.jobs.answer(first, status)
    rig.settle()
    assert rig.message(ident)["plan_state"] != RETRY
    assert statuses(rig, ident) == [ST.TIMEOUT]
    rig.jobs.finish(second)
    rig.gone(ident)
    assert statuses(rig, ident) == [ST.TIMEOUT, ST.OK]


def test_C042_a_run_that_was_given_up_does_not_time_out_as_well(make_rig):
    """Its target gave no status: that uses up no retry, also when its time is over then."""
    rig = make_rig("--send-timeout", "200")
    ident = rig.client.added(at_once(timeout=2, retry=BY_HAND))
    rig.jobs.recv()
    rig.state(ident, ST.RECV_ERROR)
    rig.client.done("pause", ident)
    time.sleep(8)           # its run is kept in memory for a while behind its retry
    message = rig.message(ident)
    assert (message["plan_state"], message["last_state"]) == (PAUSE, ST.RECV_ERROR)
    assert (message["error_count"], message["tries"], message.get("verdict", 0)) == (0, 1, 0)
    assert statuses(rig, ident) == [ST.RECV_ERROR]
    rig.client.done("reset", ident)
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)


def test_C024_done_behind_a_skip_loses_no_occurrence(rig):
    ident = rig.client.added(every(1, -1, no_keep=True, retry=BY_HAND))
    first = rig.jobs.recv()
    fail(rig, first)
    pending(rig, ident)
    rig.client.done("skip", ident, "1")
    message = rig.message(ident)
    assert (message["plan_state"], message["plan_time"]) == (ERROR, first.plan_time + 1)
    shown = rig.client.done("done", ident).json
    assert (shown["verdict"], shown["plan_state"]) == (MANUAL, QUEUE)
    run = rig.jobs.recv()
    assert (run.plan_time, run.plan["skip_num"]) == (first.plan_time + 1, 1)


def test_C024_done_leaves_out_what_was_skipped_while_the_run_was_out(rig):
    ident = rig.client.added(every(1, -1, no_keep=True, retry=BY_HAND))
    first = rig.jobs.recv()
    rig.jobs.answer(first, ST.RUNING)
    rig.client.done("skip", ident, "2")
    fail(rig, first)
    pending(rig, ident)
    rig.client.done("done", ident)
    run = rig.jobs.recv()
    assert (run.plan_time, run.plan["skip_num"]) == (first.plan_time + 3, 3)
    assert run.plan.get("skip_wait", 0) == 0


def test_C024_done_takes_the_words_of_a_pause_away(rig):
    ident = rig.client.added(every(1, -1, no_keep=True, retry=BY_HAND))
    fail(rig, rig.jobs.recv())
    pending(rig, ident)
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.client.done("pause", ident)
    assert "running" in rig.client.refused("done", ident)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.state(ident, ST.OK)
    assert rig.message(ident)["plan_state"] == PAUSE
    assert "stopped" not in rig.client.done("done", ident).json
    rig.jobs.finish(rig.jobs.recv())


def test_D004_what_failed_is_not_missed_when_its_target_goes_away(rig):
    """It is tried again at its own time, though newer ones were due since."""
    ident = rig.client.added(every(1, -1, misfire="latest"))
    first = rig.jobs.recv()
    fail(rig, first)
    again = rig.jobs.recv()
    assert again.plan_time == first.plan_time
    rig.jobs.answer(again, ST.NOT_WORKER)
    third = rig.jobs.recv()
    assert third.plan_time == first.plan_time
    rig.jobs.finish(third)
    message = rig.repet(ident, 1)
    # It was not: only what was due meanwhile is, once the run is over.
    missed = [run for run in rig.client.done("history", ident).json["runs"] if run["status"] == ST.MISSED]
    assert all(run["missed_first"] > first.plan_time for run in missed) and message["error_count"] == 0
    assert message.get("tries", 0) == 0


def test_D004_what_was_never_taken_is_missed(rig):
    rig.client.added(every(1, -1, misfire="latest"))
    first = rig.jobs.recv()
    for _ in range(2):
        rig.jobs.answer(rig.jobs.recv() if _ else first, ST.NOT_WORKER)
    assert rig.jobs.recv().plan_time > first.plan_time


def test_C042_the_lease_of_a_vote_ends_with_its_timeout(make_rig):
    """Nobody may be there to end it: then whoever claims it next does."""
    rig = make_rig(start=False)
    votes = rig.keep(FakeTarget(rig.ipc("v")))
    rig.station.args += ["--station", "votes=vote@" + votes.endpoint]
    rig.start()
    plan = at_once(timeout=20, vote={"rule": "all", "deadline": 3600})
    ident = rig.client.added(plan, station="votes")
    run = votes.recv()
    votes.answer(run, ST.VOTE_START, [(FT.JSON, b'["a","b"]'), (FT.LOCAL_ID, run.local_id)])
    rig.state(ident, ST.RUNING, "votes")
    assert run.claimed + 20 <= rig.score(ident, "votes") <= run.claimed + 25


def test_C004_a_kind_is_not_updated(rig):
    """Its fields were taken over: another name alone would be the name of what the plan is not."""
    ident = rig.client.added(every(1000, 5))
    revision = rig.message(ident)["revision"]
    reason = rig.client.refused("update", ident, {"revision": revision, "kind": "mail"})
    assert reason.startswith("kind: cannot be changed"), reason
    assert rig.message(ident)["revision"] == revision and "kind" not in rig.message(ident)


def test_E020_a_key_is_not_updated(rig):
    """It makes the plan's id: another one would stand for a plan that nobody finds by it."""
    ident = rig.client.added(every(1000, 5, key="k"))
    plain = rig.client.added(every(1000, 5))
    for plan, key in [(ident, "other"), (ident, None), (plain, "k"), (plain, "new")]:
        revision = rig.message(plan)["revision"]
        reason = rig.client.refused("update", plan, {"revision": revision, "key": key})
        assert reason.startswith("key: cannot be changed"), reason
        assert rig.message(plan)["revision"] == revision
    revision = rig.message(ident)["revision"]
    rig.client.done("update", ident, {"revision": revision, "key": "k", "description": "new"})
    assert rig.message(ident)["description"] == "new"


def test_D007_a_worker_that_says_missed_has_failed(rig):
    """That word is the station's own, for what was passed over."""
    ident = rig.client.added(every(1, 3, no_keep=True, retry={"strategy": "none"}, log="trigger"))
    run = rig.jobs.recv()
    time.sleep(1.5)         # one more is due: it is missed, if the policy were another
    rig.jobs.finish(run, ST.MISSED, [(FT.STATUS, b"ha")])
    again = rig.jobs.recv()
    assert again.plan["error_info"] == "ha"
    assert statuses(rig, ident) == [ST.OK]      # fired
    assert rig.client.done("stats").json["counters"]["runs_failed"] == 1
