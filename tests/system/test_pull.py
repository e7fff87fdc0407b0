"""Plans that workers fetch (rows E019 to E054): claims, signs of life, reports, retries, cancelling."""
import json
import os
import subprocess
import sys
import time

import pytest

from clitest import zplan
from curvetest import CurveRig
from faulttest import Pair
from pulltest import STATION, Worker, add, offered, states, team, with_pile, workers
from zplanprocs import DIES_WITH_PARENT, REPO
from zplantest import (CMD, ERROR, EXECUTE, FT, PAUSE, QUEUE, ST, at_once, every, later, plan_frames, told, unframe,
                       wait_until)

# For workers that are to be lost: as short as may be.
SHORT = {"ping_interval": 1, "worker_timeout": 2}


@pytest.fixture
def rig(make_rig):
    return with_pile(make_rig)


@pytest.fixture
def pair(rig):
    return Worker(rig, "w1"), Worker(rig, "w2")


def test_E041_a_plan_is_fetched_worked_on_and_done(rig):
    results = rig.subscribe(b"fetched")
    ident = add(rig, at_once(description="fetched"))
    worker = Worker(rig, "w1")
    job = worker.one()
    assert job["plan_id"] == ident and (job["ping_interval"], job["worker_timeout"]) == (30, 60)
    assert unframe(job["frames"][-1]) == b"do" and job["plan"]["description"] == "fetched"
    assert int(job["exec_id"], 16) == job["plan"]["exec_id"] == rig.message(ident, STATION)["exec_id"]
    assert states(rig, ident) == ("running", {"w1": "running"})
    (reason,) = rig.client.done("why", ident).json["reasons"]
    assert reason["why"].startswith("workers may take it, or have it; offered last at ")
    assert worker.report(ident, exec_id=job["exec_id"], result="all of it") == {"accepted": True}
    news = results.recv()
    assert news.code == ST.OK and news.every(FT.CONTENT)[1] == b"all of it" and news.get(FT.RESPONSER) == b"w1"
    assert told(news)["real_repet"] == 1
    rig.gone(ident, STATION)
    assert not rig.db.exists(rig.key(ident, STATION, "team"))
    (outcome,) = rig.client.done("history", ident).json["runs"]
    assert (outcome["status"], outcome["worker"]) == (ST.OK, "w1")


# What a worker may claim.


def test_E025_E038_nothing_offered_is_no_error(rig, pair):
    ident = add(rig, later())
    assert pair[0].take() == []
    assert states(rig, ident) == ("not started", {})
    assert rig.client.refused("team", "abc", status=ST.NOT_FIND) == "no plan abc"


def test_E033_E048_only_those_that_are_named(rig, pair):
    ident = add(rig, **workers(only=["w2"]))
    offered(rig, ident)
    assert pair[0].take() == []
    assert pair[1].one()["plan_id"] == ident


def test_E036_E045_as_many_workers_as_count(rig, pair):
    """One by default; the next plan goes to whoever comes next."""
    single, double = add(rig), add(rig, **workers(count=2))
    offered(rig, single, double)
    first = [job["plan_id"] for job in pair[0].take(limit=10)]
    assert first == [single, double]
    assert [job["plan_id"] for job in pair[1].take(limit=10)] == [double]
    assert Worker(rig, "w3").take(limit=10) == []
    assert states(rig, double) == ("running", {"w1": "running", "w2": "running"})


def test_E037_E044_the_highest_priority_then_those_that_name_me(rig):
    low, high = add(rig, priority=1), add(rig, priority=5)
    named = add(rig, priority=5, **workers(only=["w1"]))
    offered(rig, low, high, named)
    assert [job["plan_id"] for job in Worker(rig, "w1").take(limit=10)] == [named, high, low]


def test_C027_C029_only_what_is_due_and_at_most_so_many(rig, pair):
    """As a fetch in batches: what is in the future, paused, closed or ended does not come; no plan twice."""
    future, paused, closed, ended = add(rig, later()), add(rig, later()), add(rig, later()), add(rig)
    pair[0].report(pair[0].one()["plan_id"])
    rig.gone(ended, STATION)
    rig.client.done("pause", paused)
    rig.client.done("close", closed)
    due = [add(rig) for _ in range(15)]
    offered(rig, *due)
    batches = [pair[i % 2].take(limit=10) for i in range(4)]
    assert [len(batch) for batch in batches] == [10, 5, 0, 0]
    assert [job["plan_id"] for batch in batches for job in batch] == due
    assert rig.message(future, STATION)["plan_state"] == QUEUE


def test_filters_are_those_of_list(rig):
    mine = add(rig, tenant="acme", category="mail", creator=7)
    offered(rig, mine, add(rig, tenant="other"))
    worker = Worker(rig, "w1")
    assert worker.take(tenant="acme", creator=8) == []
    (job,) = worker.take(limit=10, tenant="acme", category="mail", creator=7)
    assert job["plan_id"] == mine


def test_offers_behind_many_that_are_not_for_me_are_found(rig):
    """A look is at 256 offers; it goes on behind them."""
    for _ in range(300):
        rig.client.send(CMD.PLAN, plan_frames(at_once(**workers(only=["w2"])), station=STATION))
    for _ in range(300):
        assert rig.client.recv().code == ST.PLAN
    mine = add(rig)
    offered(rig, mine)
    wait_until(lambda: rig.stats(STATION)["offered"] == 301, "all are offered")
    assert [job["plan_id"] for job in Worker(rig, "w1").take(limit=100)] == [mine]


def test_E059_who_has_no_name_gets_one_and_keeps_it(rig):
    ident = add(rig)
    offered(rig, ident)
    anybody = Worker(rig)
    told_name = anybody.taken()["worker"]
    assert states(rig, ident) == ("running", {told_name: "running"})
    again = Worker(rig, told_name)
    run = anybody.runs[ident]
    assert again.alive(ident)["ok"] and again.report(ident, exec_id=run) == {"accepted": True}
    assert Worker(rig).taken()["worker"] != told_name


# Waiting.


def asked(rig, worker, **wish):
    """Its take waits: what it asked before a ping was answered is answered by Redis before what comes later."""
    worker.ask(**wish)
    worker.client.send(CMD.PING)
    assert worker.client.recv().code == ST.OK
    assert Worker(rig, "nobody").take() == []


def test_E054_a_take_that_waits_has_the_plan_as_soon_as_it_is_due(rig):
    worker = Worker(rig, "w1")
    asked(rig, worker, wait=60)
    start = time.monotonic()
    ident = add(rig)
    (job,) = worker.told()
    assert job["plan_id"] == ident and time.monotonic() - start < 20      # not at the end of its wait


def test_each_of_those_that_wait_gets_one(rig):
    """In the order they came; who gets nothing is told so at the end of its time."""
    crowd = [Worker(rig, f"w{i}") for i in range(5)]
    for worker in crowd[:4]:
        asked(rig, worker, wait=30)
    idents = [add(rig) for _ in range(4)]
    assert sorted(job["plan_id"] for worker in crowd[:4] for job in worker.told()) == sorted(idents)
    start = time.monotonic()
    assert crowd[4].take(wait=0.5) == [] and time.monotonic() - start >= 0.5


def test_one_that_may_not_have_it_lets_the_next_one(rig):
    crowd = [Worker(rig, f"w{i}") for i in range(3)]
    for worker in crowd:
        asked(rig, worker, wait=30)
    ident = add(rig, **workers(only=["w2"]))
    (job,) = crowd[2].told()
    assert job["plan_id"] == ident and not crowd[0].client.socket.poll(0)


def test_a_station_that_stops_answers_those_that_wait(rig):
    worker = Worker(rig, "w1")
    asked(rig, worker, wait=60)
    rig.station.stop()
    assert worker.told() == []


# Signs of life.


def test_E021_E026_E029_who_is_silent_too_long_makes_way(rig, pair):
    """The task is claimable again at the limit, and one that waits has it then; the old worker is stopped."""
    ident = add(rig, **workers(**SHORT))
    offered(rig, ident)
    started = time.time()       # before its claim: the answer may be read late
    job = pair[0].one()
    (again,) = pair[1].take(wait=30)
    assert again["plan_id"] == ident and time.time() - started >= 1.9
    assert pair[0].stop(ident) == "the worker is not in the team"
    assert pair[0].refused(ident) == "report: the worker is not in the team"
    assert pair[1].report(ident, exec_id=again["exec_id"]) == {"accepted": True}
    rig.gone(ident, STATION)
    assert rig.client.done("history", ident).json["runs"][0]["worker"] == "w2"
    assert job["exec_id"] != again["exec_id"]


def test_E024_E029_timeout_is_derived_and_shown(rig, pair):
    """Nothing is written when the limit passes: who asks is told."""
    ident = add(rig, **workers(**SHORT))
    pair[0].one()
    rig.client.done("pause", ident)         # nobody looks after it now
    wait_until(lambda: states(rig, ident) == ("timeout", {"w1": "timeout"}), "the timeout is told")
    assert pair[0].stop(ident) == "the worker sent no heartbeat within worker_timeout"
    assert states(rig, ident) == ("not started", {})


def test_E040_signs_of_life_keep_the_work_beyond_the_limit(rig, pair):
    rule = {"ping_interval": 1, "worker_timeout": 6}      # many times what is between two signs
    ident = add(rig, **workers(**rule))
    pair[0].one()
    end = time.monotonic() + 8
    while time.monotonic() < end:
        assert pair[0].alive(ident) == {"ok": True, **rule}
        assert pair[1].take(wait=0.5) == []
    assert pair[0].report(ident) == {"accepted": True}
    rig.gone(ident, STATION)
    assert len(rig.client.done("history", ident).json["runs"]) == 1


def test_E040_E051_who_may_no_longer_is_stopped(rig, pair):
    """`only` changed: the next sign of life says stop, and another has the plan."""
    ident = add(rig, **workers(only=["w1"]))
    pair[0].one()
    update(rig, ident, only=["w2"])
    assert pair[0].stop(ident) == "only: the worker may no longer run the plan"
    assert pair[1].one()["plan_id"] == ident
    assert pair[0].stop(ident) == "the worker is not in the team"


def update(rig, ident, **rule):
    revision = rig.message(ident, STATION)["revision"]
    return rig.client.done("update", ident, {"revision": revision, **workers(**rule)})


def test_E052_E053_a_changed_pause_is_told_at_the_next_sign_of_life(rig, pair):
    ident = add(rig, every(3600, 3, no_keep=True, plan_time=int(time.time()) - 20000), **workers(ping_interval=5))
    job = pair[0].one()
    update(rig, ident, ping_interval=7, worker_timeout=300)
    assert pair[0].alive(ident) == {"ok": True, "ping_interval": 7, "worker_timeout": 60}
    assert pair[0].report(ident, exec_id=job["exec_id"])["accepted"]
    job = pair[0].one()
    assert (job["ping_interval"], job["worker_timeout"]) == (7, 300)
    reason = rig.client.refused("update", ident, {"revision": rig.message(ident, STATION)["revision"],
                                                  "description": "x"})
    assert reason == "update: the plan is running"


# Reports.


def test_E022_E023_a_report_counts_once_and_of_its_own_run(rig, pair):
    ident = add(rig, every(3600, 3, no_keep=True, plan_time=int(time.time()) - 20000))
    first = pair[0].one()
    assert pair[0].refused(ident, exec_id="abc") == "report: the worker has another run of this plan now"
    assert pair[1].refused(ident) == "report: the worker is not in the team"
    assert pair[0].report(ident, exec_id=first["exec_id"])["accepted"]
    second = pair[0].one()
    assert second["plan"]["plan_time"] == first["plan"]["plan_time"] + 3600
    assert pair[0].report(ident, exec_id=first["exec_id"])["accepted"]      # its reply was lost
    assert pair[0].refused(ident, "fail", exec_id=first["exec_id"]) == OTHER
    assert pair[0].alive(ident, exec_id=second["exec_id"])["ok"]
    assert pair[0].report(ident, exec_id=second["exec_id"])["accepted"]
    assert rig.repet(ident, 2, STATION)["error_count"] == 0
    assert len(rig.client.done("history", ident).json["runs"]) == 2


OTHER = "report: the worker has reported another result of this run"


@pytest.mark.parametrize("state", ["success", "fail"])
def test_a_report_is_repeated_when_its_plan_is_over(rig, pair, state):
    """As when its reply was lost: accepted once more, with one outcome; another result is refused."""
    results = rig.subscribe(b"repeated")
    ident = add(rig, at_once(description="repeated", retry={"strategy": "none"}), **workers(count=2))
    offered(rig, ident)
    for worker in pair:
        worker.one()
        assert worker.report(ident, state, reason="why", result=[1]) == {"accepted": True}
    assert results.recv().code == (ST.OK if state == "success" else ST.FAILED)
    if state == "success":
        rig.gone(ident, STATION)
    else:
        rig.state(ident, ST.FAILED, STATION)
        rig.client.done("remove", ident)
    for worker in pair:
        assert worker.report(ident, state, reason="why", result=[1]) == {"accepted": True}
        assert worker.refused(ident, state, reason="why", result=[2]) == OTHER
        assert worker.refused(ident, "fail" if state == "success" else "success") == OTHER
    assert Worker(rig, "w3").refused(ident) == "report: there is no such plan"
    assert len(rig.client.done("history", ident).json["runs"]) == 1


def test_workers_name_the_plan_as_others_do(rig, pair):
    """By its id as text or integer, by key:NAME, or by its key in Redis."""
    ident = add(rig, at_once(key="nightly"))
    worker = pair[0]
    run = worker.one()["exec_id"]
    for plan in (ident, int(ident, 16), "key:nightly", f"plan:msg:{STATION}:{ident}"):
        assert worker.alive(plan, exec_id=run)["ok"], plan
    for plan in (0, -1, True, None, 1.5, "key:" + "n" * 400):
        assert rig.client.refused("alive", {"plan": plan, "worker": "w1"}) == "plan: want the plan's id, or key:NAME", plan
    assert rig.client.refused("alive", {"plan": "nightly", "worker": "w1"}).startswith("id: want 1..16 hex digits")
    assert worker.report("key:nightly", exec_id=run) == {"accepted": True}
    assert worker.report(int(ident, 16), exec_id=run) == {"accepted": True}     # its reply was lost
    rig.gone(ident, STATION)


def test_a_report_names_its_run(rig, pair):
    """Without exec_id, or with that of a run before, it does not end the one that is out."""
    ident = add(rig, every(3600, 3, no_keep=True, plan_time=int(time.time()) - 20000), **workers(**SHORT))
    first = pair[0].one()
    (again,) = pair[0].take(wait=30)
    assert again["plan_id"] == ident and again["exec_id"] != first["exec_id"]
    nameless = {"plan": ident, "worker": "w1", "state": "success"}
    assert rig.client.refused("report", nameless) == "exec_id: is missing"
    assert pair[0].refused(ident, exec_id=first["exec_id"]) == "report: the worker has another run of this plan now"
    assert pair[0].alive(ident)["ok"] and rig.client.done("history", ident).json["runs"] == []
    assert pair[0].report(ident)["accepted"]
    rig.repet(ident, 1, STATION)


def test_E042_E035_another_worker_tries_again_what_one_failed(rig, pair):
    """With the words of the failure; who has failed does not get it again."""
    ident = add(rig, retry={"strategy": "fixed", "interval": 1, "max": 3})
    pair[0].one()
    assert pair[0].report(ident, "fail", reason="disk full")["accepted"]
    wait_until(lambda: rig.message(ident, STATION)["error_count"] == 1, "the failure is written")
    assert rig.message(ident, STATION)["error_info"] == "w1: disk full"
    offered(rig, ident)
    assert pair[0].take() == []
    pair[1].one()
    found = team(rig, ident)
    assert found["state"] == "running" and {worker["worker"]: worker["state"] for worker in found["workers"]} == {
        "w1": "fail", "w2": "running"}
    assert pair[1].report(ident)["accepted"]
    rig.gone(ident, STATION)
    codes = [run["status"] for run in rig.client.done("history", ident).json["runs"]]
    assert codes == [ST.FAILED, ST.OK]


@pytest.mark.parametrize("said, info", [({"result": " no paper\n"}, "w1: no paper"), ({"result": [1]}, "w1: no reason given"),
                                        ({"reason": "why", "result": "no paper"}, "w1: why"), ({}, "w1: no reason given")])
def test_a_failure_is_told_in_the_words_of_its_result(rig, pair, said, info):
    ident = add(rig, retry={"strategy": "none"})
    pair[0].one()
    assert pair[0].report(ident, "fail", **said)["accepted"]
    rig.state(ident, ST.FAILED, STATION)
    (run,) = rig.client.done("history", ident).json["runs"]
    assert run["reason"] == rig.message(ident, STATION)["error_info"] == info


def test_a_failed_plan_that_is_reset_is_done_anew(rig, pair):
    """By the same worker, too: a person wants it to be tried."""
    ident = add(rig, retry={"strategy": "none"})
    pair[0].one()
    assert pair[0].report(ident, "fail", reason="no paper")["accepted"]
    rig.state(ident, ST.FAILED, STATION)
    rig.client.done("reset", ident)
    assert pair[0].one()["plan_id"] == ident
    assert pair[0].report(ident)["accepted"]
    rig.gone(ident, STATION)


def test_again_gives_it_to_the_same_worker(rig, pair):
    ident = add(rig, retry={"strategy": "fixed", "interval": 1, "max": 3}, **workers(again=True))
    pair[0].one()
    pair[0].report(ident, "fail", reason="no")
    assert pair[0].one()["plan_id"] == ident
    assert states(rig, ident) == ("running", {"w1": "running"})


@pytest.mark.parametrize("ends, state, code, words", [
    (["success", "success"], "success", ST.OK, None),
    (["success", "fail"], "mixed", ST.FAILED, "1 of 2 workers failed; w2: no"),
    (["fail", "fail"], "fail", ST.FAILED, "2 of 2 workers failed; w2: no")])
def test_E027_E028_what_a_task_is_when_all_have_ended(rig, pair, ends, state, code, words):
    """One that failed fails the run; the team tells who did what until it is tried again."""
    results = rig.subscribe(b"team")
    ident = add(rig, at_once(description="team", retry={"strategy": "none"}), **workers(count=2))
    offered(rig, ident)
    for worker in pair:
        worker.one()
    pair[0].report(ident, ends[0], reason="no")
    assert states(rig, ident)[0] == "running"
    pair[1].report(ident, ends[1], reason="no")
    assert results.recv().code == code
    if code == ST.OK:
        rig.gone(ident, STATION)
        return
    assert states(rig, ident) == (state, {"w1": ends[0], "w2": ends[1]})
    message = rig.message(ident, STATION)
    assert (message["plan_state"], message["error_info"]) == (ERROR, words)


def test_E034_a_success_stands_when_the_rest_is_tried_again(rig, pair):
    """count 2, one succeeds, one fails: one more is wanted, and neither of them."""
    ident = add(rig, retry={"strategy": "fixed", "interval": 1, "max": 1}, **workers(count=2))
    for worker in pair:
        worker.one()
    pair[0].report(ident)
    pair[1].report(ident, "fail")
    third = Worker(rig, "w3")
    assert third.one()["plan_id"] == ident
    assert pair[0].take() == pair[1].take() == []
    third.report(ident)
    rig.gone(ident, STATION)


def test_the_next_occurrence_has_a_team_of_its_own(rig, pair):
    ident = add(rig, every(3600, 3, no_keep=True, plan_time=int(time.time()) - 20000))
    times = []
    for _ in range(3):
        times.append(pair[0].one()["plan"]["plan_time"])
        pair[0].report(ident)
    assert times == [times[0], times[0] + 3600, times[0] + 7200]
    rig.gone(ident, STATION)


# What else ends a run.


def test_E018_cancel_stops_the_workers(rig, pair):
    ident = add(rig, every(3600, 3))
    rig.due_now(ident, STATION)
    pair[0].one()
    assert rig.client.done("cancel", ident).json["told"] is False
    assert pair[0].stop(ident) == "the run is over"
    assert pair[0].refused(ident) == "report: the run is over"
    assert pair[1].take() == []


def test_a_plan_that_is_paused_is_taken_by_nobody(rig, pair):
    """Who has it goes on, and it counts; its other places wait until it is reset."""
    ident = add(rig, every(3600, 3), **workers(count=2))
    rig.due_now(ident, STATION)
    pair[0].one()
    rig.client.done("pause", ident)
    assert pair[1].take() == [] and pair[0].alive(ident)["ok"]
    assert rig.message(ident, STATION)["plan_state"] == PAUSE
    rig.client.done("reset", ident)
    assert pair[1].one()["plan_id"] == ident
    for worker in pair:
        worker.report(ident)
    assert rig.repet(ident, 1, STATION)["plan_state"] == QUEUE


def test_a_plan_that_is_removed_stops_its_workers(rig, pair):
    ident = add(rig, **workers(count=2))
    pair[0].one()
    rig.client.done("remove", ident)
    assert pair[0].stop(ident) == "there is no such plan"
    assert not rig.db.keys("plan:team:*") and pair[1].take() == []


@pytest.mark.parametrize("taken", [True, False])
def test_the_timeout_of_the_plan_ends_the_run(rig, pair, taken):
    """Counted from the first offer, however many leases there were since."""
    ident = add(rig, timeout=4, retry={"strategy": "none"}, **workers(**SHORT))
    if taken:
        pair[0].one()
        pair[0].alive(ident)
    message = rig.state(ident, ST.TIMEOUT, STATION)
    assert message["plan_state"] == ERROR and message["error_info"] == "timeout: no result within 4 s"
    if taken:
        assert pair[0].stop(ident) == "the run is over"
    assert pair[1].take() == []


def test_the_timeout_of_the_plan_ends_the_run_while_another_waits_for_a_limit(make_rig):
    """A claim follows the other at once then, and would take the offered run before its end is written."""
    rig = with_pile(make_rig)
    rig.client.done("limit", "set", "group:g", {"concurrency": 1})
    for _ in range(2):
        rig.client.added(at_once(group="g"))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    ident = add(rig, timeout=2, retry={"strategy": "none"})
    message = rig.state(ident, ST.TIMEOUT, STATION)
    assert message["error_info"] == "timeout: no result within 2 s"
    rig.jobs.finish(run)
    rig.jobs.finish(rig.jobs.recv())


def test_an_offer_that_nobody_takes_stands(make_rig):
    """Leases of a second: it is offered again and again, is no failure, and no outcome."""
    rig = with_pile(make_rig, "--exec-timeout", "1")
    ident = add(rig, every(3600, 3, plan_time=int(time.time()) - 3599), timeout=60, misfire="skip", misfire_window=1)
    first = wait_until(lambda: rig.message(ident, STATION)["exec_id"], "the first offer")
    wait_until(lambda: rig.message(ident, STATION)["exec_id"] > first + 2_000_000, "later offers")
    message = rig.message(ident, STATION)
    assert (message["plan_state"], message["error_count"], message["last_state"]) == (EXECUTE, 0, 0)
    assert rig.client.done("history", ident).json["runs"] == []
    worker = Worker(rig, "w1")
    worker.one()
    worker.report(ident)
    rig.repet(ident, 1, STATION)


def test_a_run_besides_the_schedule_is_fetched_too(rig, pair):
    """Each `run` has a team of its own."""
    ident = add(rig, later())
    for worker in [pair[0], pair[0]]:
        rig.client.done("run", ident)
        worker.one()
        assert rig.client.refused("run", ident) == "run: the plan is running"
        assert worker.alive(ident)["ok"]
        assert worker.report(ident)["accepted"]
        wait_until(lambda: rig.message(ident, STATION)["plan_state"] == QUEUE, "it is queued again")
    assert len(rig.client.done("history", ident).json["runs"]) == 2


# The station, and several of them.


def test_E011_a_killed_station_loses_nothing(rig, pair):
    """Its workers go on and report to the next one; what was offered is offered."""
    taken, open_ = add(rig), add(rig)
    offered(rig, taken, open_)
    job = pair[0].one()
    rig.station.kill()
    rig.station.start()
    assert pair[0].alive(taken)["ok"]
    assert pair[1].one()["plan_id"] == open_
    for worker, ident in zip(pair, [taken, open_]):
        assert worker.report(ident)["accepted"]
        rig.gone(ident, STATION)
    assert job["plan_id"] == taken


def test_E014_two_stations_on_one_redis(make_rig, request):
    """A take that waits at the owner when that dies has no answer; the same at the standby, asked before or after that
    has taken over, is served."""
    rig = with_pile(make_rig)
    pair = Pair(rig)
    request.addfinalizer(pair.close)
    pair.start()
    here, early = Worker(rig, "w2"), Worker(rig, "w2", pair.endpoints[1])
    here.ask(wait=30)
    here.client.send(CMD.PING)
    assert here.client.recv().code == ST.OK
    early.ask(wait=60)
    pair.stations[0].kill()
    pair.takes_over()
    for there in early, Worker(rig, "w3", pair.endpoints[1]):
        if there is not early:
            there.ask(wait=30)
        ident = add(rig)
        (job,) = there.told()
        assert job["plan_id"] == ident and there.report(ident)["accepted"]
        rig.gone(ident, STATION)
    assert not here.client.socket.poll(0)


# What is refused.


@pytest.mark.parametrize("rule, reason", [
    ([], "workers: want an object with count, only and others"),
    ({"count": 0}, "workers: count: want 1..1000"),
    ({"count": True}, "workers: count: want 1..1000"),
    ({"only": ["a b"]}, "workers: only: want a list of at most 64 names, each 1..64 of A-Z a-z 0-9 _ . : @ -"),
    ({"only": "w1"}, "workers: only: want a list of at most 64 names, each 1..64 of A-Z a-z 0-9 _ . : @ -"),
    ({"ping_interval": 60}, "workers: worker_timeout: want more than ping_interval, 60"),
    ({"ping_interval": 5, "worker_timeout": 5}, "workers: worker_timeout: want more than ping_interval, 5"),
    ({"worker_timeout": 2 ** 40}, "workers: worker_timeout: want 1..86400"),
    ({"again": 1}, "workers: again: want true or false"),
    ({"limit": 1}, "workers: 'limit': unknown field")])
def test_E047_a_rule_that_cannot_be_kept_is_refused(refusing, rule, reason):
    reply = refusing.client.submit(later(workers=rule), station=STATION)
    assert (reply.code, reply.text) == (ST.PLANERROR, "-plan error: " + reason)


@pytest.fixture(scope="module")
def refusing(make_shared):
    return with_pile(make_shared)


def test_only_plans_of_pull_stations_have_workers(refusing):
    reply = refusing.client.submit(later(**workers(count=1)))
    assert reply.text == "-plan error: workers: is for plans of pull targets, jobs is of type api"
    ident = refusing.client.added(later())
    update_ = {"revision": refusing.message(ident)["revision"], **workers(count=1)}
    assert refusing.client.refused("update", ident, update_).startswith("workers: is for plans of pull targets")


@pytest.mark.parametrize("wish, reason", [
    ({}, "station: is missing"),
    ({"station": "jobs"}, "station: jobs is of type api, its plans are sent to it"),
    ({"station": "a b"}, "station: want the name of a pull target"),
    ({"station": STATION, "worker": ""}, "worker: want 1..64 of A-Z a-z 0-9 _ . : @ -"),
    ({"station": STATION, "worker": "{}"}, "worker: want 1..64 of A-Z a-z 0-9 _ . : @ -"),
    ({"station": STATION, "limit": 101}, "limit: want 0..100"),
    ({"station": STATION, "wait": -1}, "wait: want seconds, 0..60"),
    ({"station": STATION, "wait": 61}, "wait: want seconds, 0..60"),
    ({"station": STATION, "wait": 1e300}, "wait: want seconds, 0..60"),
    ({"station": STATION, "tenant": "x" * 257}, "tenant: want an integer, or a string of at most 256 bytes"),
    ({"station": STATION, "more": 1}, "'more': unknown field")])
def test_a_hostile_take_is_refused(refusing, wish, reason):
    assert refusing.client.refused("take", wish) == reason


@pytest.mark.parametrize("text", ["", "[]", "{", '{"worker": "a\\u0000b"}', "\x00"])
def test_what_is_no_object_is_refused(refusing, text):
    for word in ["take", "alive", "report"]:
        assert refusing.client.refused(word, text)


def test_a_take_of_an_unknown_station_finds_none(refusing):
    assert "no target 'nowhere'; known: " in refusing.client.refused(
        "take", {"station": "nowhere"}, status=ST.NOT_FIND)


@pytest.mark.parametrize("work, reason", [
    ({"worker": "w1"}, "plan: is missing"),
    ({"plan": "1f"}, "worker: is missing"),
    ({"plan": "1f", "worker": "w1", "state": "fail"}, "exec_id: is missing"),
    ({"plan": "1f", "worker": "w1", "exec_id": "2"}, "state: is missing"),
    ({"plan": "1f", "worker": "w1", "exec_id": "2", "state": "running"}, "state: want success, fail or release"),
    ({"plan": "1f", "worker": "w1", "exec_id": "2", "state": "fail", "reason": "x" * 513}, "reason: want a string of at most 512 bytes"),
    ({"plan": "1f", "worker": "w1", "exec_id": "2", "state": "fail", "result": "x" * 65536}, "result: want JSON of at most 65536 bytes"),
    ({"plan": "1f", "worker": "w1", "exec_id": "2", "state": "fail"}, "report: there is no such plan"),
    ({"plan": "1f", "worker": "w1", "state": "fail", "exec_id": 0}, "exec_id: want the exec_id of the job"),
    ({"plan": 5, "worker": "w1", "exec_id": "2", "state": "fail"}, "report: there is no such plan"),
    ({"plan": [5], "worker": "w1", "exec_id": "2", "state": "fail"}, "plan: want the plan's id, or key:NAME")])
def test_a_hostile_report_is_refused(refusing, work, reason):
    assert refusing.client.refused("report", work) == reason


def test_a_sign_of_life_of_nothing_says_stop(refusing):
    worker = Worker(refusing, "w1")
    assert worker.stop("1f") == "there is no such plan"
    assert worker.stop(refusing.client.added(later(), station=STATION)) == "the run is over"
    assert refusing.client.refused("alive", {"plan": "1f", "worker": "w1", "state": "fail"}) == "'state': unknown field"


def test_a_wish_that_waits_is_small(refusing):
    refusing.client.send(CMD.NONE, [(FT.COMMAND, b"take"), (FT.ARG, b'{"station":"pile","wait":60}'),
                                (FT.CONTENT, b"x" * 5000)])
    reply = refusing.client.recv()
    assert reply.code == ST.ARG_ERROR and "4096 bytes" in reply.text


# The example.


@pytest.fixture
def example(rig):
    """tests/clients/zplan_pull_worker.py at work; what it prints, line by line."""
    path = os.path.join(REPO, "tests", "clients", "zplan_pull_worker.py")
    process = subprocess.Popen([*DIES_WITH_PARENT, sys.executable, path, rig.ipc("q"), STATION], stdout=subprocess.PIPE,
                               text=True)
    yield process.stdout
    process.terminate()
    assert process.wait(20) == 0
    process.stdout.close()


def test_the_example_works_off_what_is_offered(rig, example):
    results = rig.subscribe(b"greet", b"wait")
    for title, head in [("greet", [(FT.COMMAND, b"greet"), (FT.ARG, b"you")]),
                        ("wait", [(FT.COMMAND, b"wait"), (FT.ARG, b"3")])]:
        plan = at_once(description=title, **workers(ping_interval=1, worker_timeout=20))
        ident = rig.client.added(plan, station=STATION, head=head)
        assert example.readline() == f"took {ident}\n"
        news = results.recv()
        assert news.code == ST.OK and news.every(FT.CONTENT)[1] == b"hello " + head[1][1]
    assert len(rig.client.done("history", {"station": STATION}).json["runs"]) == 2


def test_the_example_fails_and_stops_when_it_is_told_to(rig, example):
    ident = add(rig, retry={"strategy": "none"})        # its command is `do`
    assert example.readline() == f"took {ident}\n"
    assert rig.state(ident, ST.FAILED, STATION)["error_info"].endswith(": only greet and wait")
    head = [(FT.COMMAND, b"wait"), (FT.ARG, b"60")]
    ident = rig.client.added(at_once(**workers(ping_interval=1, worker_timeout=20)), station=STATION, head=head)
    assert example.readline() == f"took {ident}\n"
    rig.client.done("cancel", ident)
    assert example.readline() in ("stopped: the run is over\n", "stopped: there is no such plan\n")


# Who may.


def test_a_worker_fetches_only_for_stations_of_its_key(make_rig):
    """Of another station's plan it learns nothing, and changes nothing."""
    rig = make_rig(kind=CurveRig, start=False)
    rig.station.args += ["--station", "pile=pull", "--station", "heap=pull"]
    mine, other = rig.allow("mine", "result", "pile"), rig.allow("other", "result", "heap")
    rig.start()
    worker, stranger = Worker(rig, "w1"), Worker(rig, "w1")
    worker.client, stranger.client = rig.member(mine), rig.member(other)
    ident = add(rig)
    assert "station" in stranger.client.refused("take", stranger.wish(wait=1), status=ST.DENY)
    worker.one()
    what = {"plan": ident, "worker": "w1", "exec_id": worker.runs[ident], "state": "success"}
    assert stranger.client.refused("report", what, status=ST.NOT_FIND) == f"no plan {ident}"
    assert stranger.client.refused("alive", {"plan": ident, "worker": "w1"}, status=ST.NOT_FIND)
    assert stranger.client.refused("team", ident, status=ST.NOT_FIND)
    assert "station" in stranger.client.refused("report", {**what, "plan": rig.key(ident, STATION)}, status=ST.DENY)
    assert worker.alive(ident)["ok"] and worker.report(ident) == {"accepted": True}
    rig.gone(ident, STATION)
    assert worker.report(ident) == {"accepted": True}
    assert stranger.client.refused("report", {**what, "state": "fail"}, status=ST.NOT_FIND) == f"no plan {ident}"


# From a shell.


def shell(rig, *words):
    ended = zplan(*words, "--connect", rig.ipc("q"))
    assert ended.code == 0, ended
    return ended.out


def test_zplan_cancel_says_when_the_worker_learns_of_it(rig, pair):
    ident = add(rig)
    pair[0].one()
    assert shell(rig, "cancel", ident) == f"plan {ident} cancelled; a worker that has it stops at its next heartbeat\n"
    assert pair[0].stop(ident)


def test_zplan_team_shows_who_does_what(rig, pair):
    ident = add(rig, retry={"strategy": "none"}, **workers(count=2))
    offered(rig, ident)
    assert shell(rig, "team", ident) == f"plan {ident}: not started, a run is in progress\n"
    for worker in pair:
        worker.one()
    pair[1].report(ident, "fail", reason="disk full")
    first, heading, *rows = shell(rig, "team", ident).splitlines()
    assert first == f"plan {ident}: running, a run is in progress" and heading.split()[0] == "WORKER"
    assert [row.split()[:2] for row in rows] == [["w1", "running"], ["w2", "fail"]]
    assert rows[1].endswith(" disk full")
    assert json.loads(shell(rig, "team", ident, "--json=wire")) == team(rig, ident)
    assert zplan("team", "7777", "--connect", rig.ipc("q")).code == 1


def pull_targets(rig):
    return {target["name"]: target for target in rig.client.done("stats").json["targets"] if "offered" in target}


@pytest.mark.parametrize("named", [False, True])
def test_a_worker_of_another_target_is_none_of_this_one(rig, named):
    """It reports on its plan all the time; nobody has asked for plans of `heap`."""
    shell(rig, "target", "add", "heap=pull")
    worker = Worker(rig, "w1")
    ident = add(rig)
    worker.one()
    plan = rig.key(ident, STATION) if named else ident

    def missed():
        assert worker.alive(plan)["ok"]
        return "no_worker" in pull_targets(rig)["heap"]
    wait_until(missed, "heap has no worker")
    assert "no_worker" not in pull_targets(rig)[STATION]


@pytest.mark.parametrize("how", ["alive", "report"])
def test_a_worker_that_is_at_work_when_the_station_starts_is_one(rig, how):
    worker = Worker(rig, "w1")
    ident = add(rig)
    worker.one()
    rig.restart()
    wait_until(lambda: "no_worker" in pull_targets(rig)[STATION], "no worker is known")
    getattr(worker, how)(ident)
    assert "no_worker" not in pull_targets(rig)[STATION]


def test_station_add_makes_a_pull_station(rig):
    shell(rig, "station", "add", "heap=pull")
    ident = rig.client.added(at_once(), station="heap")
    worker = Worker(rig, "w1")
    (job,) = worker.take(station="heap", wait=20)
    assert job["plan_id"] == ident
    worker.report(ident)
    rig.gone(ident, "heap")


# -- a team is that of its occurrence and of its rule

def test_a_report_is_repeated_when_the_next_try_is_offered(rig, pair):
    ident = add(rig, retry={"strategy": "fixed", "interval": 1, "max": 5})
    run = pair[0].one()["exec_id"]
    assert pair[0].report(ident, "fail", reason="why")["accepted"]
    wait_until(lambda: rig.message(ident, STATION)["error_count"] == 1, "the failure is written")
    offered(rig, ident)
    assert pair[0].report(ident, "fail", reason="why", exec_id=run)["accepted"]     # its reply was lost
    pair[1].one()
    assert pair[0].report(ident, "fail", reason="why", exec_id=run)["accepted"]
    assert pair[0].refused(ident, "fail", reason="other", exec_id=run) == OTHER
    assert pair[1].report(ident)["accepted"]
    rig.gone(ident, STATION)


def test_who_is_named_no_more_reports_nothing(rig, pair):
    ident = add(rig, **workers(only=["w1"]))
    pair[0].one()
    revision = rig.message(ident, STATION)["revision"]
    rig.client.done("update", ident, {"revision": revision, "workers": {"only": ["w2"]}})
    assert pair[0].refused(ident) == "report: only: the worker may no longer run the plan"
    pair[1].one()
    assert pair[1].report(ident)["accepted"]
    rig.gone(ident, STATION)


def test_fewer_workers_that_have_ended_are_enough(rig, pair):
    ident = add(rig, **workers(count=2))
    pair[0].one()
    assert pair[0].report(ident)["accepted"]
    revision = rig.message(ident, STATION)["revision"]
    rig.client.done("update", ident, {"revision": revision, "workers": {"count": 1}})
    rig.gone(ident, STATION)


def test_final_counts_also_if_another_fails_after_it(rig, pair):
    ident = add(rig, retry={"strategy": "fixed", "interval": 1, "max": 5}, **workers(count=2))
    for worker in pair:
        worker.one()
    assert pair[0].report(ident, "fail", final=True, reason="final")["accepted"]
    assert pair[1].report(ident, "fail", reason="plain")["accepted"]
    wait_until(lambda: rig.message(ident, STATION)["plan_state"] == ERROR, "it is not tried again")


@pytest.mark.parametrize("policy", ["replace", "update"])
def test_a_plan_that_begins_anew_has_no_workers_of_before(rig, pair, policy):
    """In the place of one that failed, with the same time."""
    due = int(time.time()) - 100
    retry = {"strategy": "none"} if policy == "replace" else {"strategy": "fixed", "interval": 1000, "max": 5}
    plan = {"description": "wrong", "plan_type": 1, "plan_time": due, "misfire": "all", "key": "one", "if_exists": policy,
            "retry": retry}
    ident = add(rig, plan)
    pair[0].one()
    assert pair[0].report(ident, "fail", reason="wrong command")["accepted"]
    wait_until(lambda: rig.message(ident, STATION)["last_state"] == ST.FAILED, "it failed")
    again = {**plan, "description": "right", "start_time": due}     # another schedule, or update would go on with this one
    assert rig.client.submit(again, station=STATION).code == ST.PLAN
    assert pair[1].one()["plan"]["description"] == "right"
    assert pair[1].report(ident)["accepted"]
    wait_until(lambda: [run["status"] for run in rig.client.done("history", ident).json["runs"]] == [ST.FAILED, ST.OK],
               "one outcome of each")


def test_a_tenant_is_no_beginning_of_another(rig, pair):
    ident = add(rig, tenant=50)
    offered(rig, ident)
    assert pair[0].take(tenant=5) == []
    assert [job["plan_id"] for job in pair[0].take(tenant=50)] == [ident]
