"""Retries, timeouts and cancels on the real clock (proto 5.2, 7.4, 7.8, 9.2).

features: C024, C025, C026, C031, C037, C038, C039, C040, C041, C042, C043, C056, C057, C058, D018,
E018
"""
import time

import pytest

from zplantest import (CLOSE, CMD, ERROR, FT, QUEUE, RETRY, ST, at_once, every, later, wait_until)

EARLY = 0.01        # a timer may be early by its own grain, no more
PROMPT = 0.05       # what a retry is late on a machine that has nothing else to do
NONE, FAILURE, PENDING, MANUAL, CANCELLED = range(5)    # verdicts


def retry(strategy, **fields):
    return {"strategy": strategy, **fields}


def fail(rig, run, status=ST.FAILED, words=b"why"):
    """RUNING, then the failure; when it was said."""
    rig.jobs.answer(run, ST.RUNING)
    said = time.time()
    rig.jobs.answer(run, status, [(FT.STATUS, words), (FT.LOCAL_ID, run.local_id)])
    return said


def history(rig, ident):
    return rig.client.done("history", ident).json["runs"]


def outcomes(rig, ident, count):
    return wait_until(lambda: len(runs := history(rig, ident)) >= count and runs,
                      f"{count} outcomes")


def verdict(rig, ident, wanted):
    """Wait for this verdict; return the message."""
    return wait_until(lambda: (m := rig.message(ident)).get("verdict", 0) == wanted and m,
                      f"verdict {wanted}")


def close_request(rig, timeout=20):
    """The next message to the target, which says that nobody waits any more."""
    told = rig.jobs.recv(timeout)
    assert told.code == CMD.CLOSE_REQUEST, told
    assert told.types == bytes([FT.STATUS, FT.LOCAL_ID, FT.GLOBAL_ID]), told
    return told


# Retries; all strategies in simulated time: tests/sim/test_policies.c. features: C031, C037, C038, C039, C040, C041

@pytest.mark.parametrize("policy, gaps", [
    (retry("sequence", sequence=[0, 1], max=3), [0, 1, 1]),     # past its end: the last
    (retry("none"), [])], ids=lambda value: value["strategy"] if "strategy" in value else "")
def test_C031_C037_C038_C039_C040_C041_the_gaps_of_retries(rig, policy, gaps):
    ident = rig.client.added(at_once(retry=policy))
    first, late = rig.jobs.recv(), []
    said = fail(rig, first)
    for gap in gaps:
        run = rig.jobs.recv()
        assert run.plan_time == first.plan_time
        late.append(run.claimed - said - gap)
        said = fail(rig, run)
    assert all(seconds >= -EARLY for seconds in late), late
    # At least one delay must be prompt even on a loaded machine.
    assert not late or min(late) < 20 * PROMPT, late
    message = verdict(rig, ident, FAILURE)
    assert (message["plan_state"], message["last_state"]) == (ERROR, ST.FAILED)
    assert message["error_info"] == "why" and message["error_count"] == len(gaps) + 1
    assert rig.score(ident) is None
    assert [run["status"] for run in outcomes(rig, ident, len(gaps) + 1)] == \
        [ST.FAILED] * (len(gaps) + 1)


def test_C041_the_next_occurrence_has_its_turn(rig):
    """What failed for good uses up a repeat; the words of the failure stay until one ends well."""
    ident = rig.client.added(every(1, 2, no_keep=True, retry=retry("fixed", interval=1, max=1)))
    first = rig.jobs.recv()
    fail(rig, first, words=b"one")
    again = rig.jobs.recv()
    assert again.plan_time == first.plan_time and again.plan["error_count"] == 1
    fail(rig, again, words=b"two")
    second = rig.jobs.recv()
    assert second.plan_time == first.plan_time + 1
    assert (second.plan["error_count"], second.plan["skip_num"]) == (0, 1)
    assert second.plan["error_info"] == "two"
    rig.jobs.finish(second)
    rig.gone(ident)
    assert [run["status"] for run in outcomes(rig, ident, 3)] == [ST.FAILED, ST.FAILED, ST.OK]


def test_C041_a_success_begins_the_count_anew(rig):
    ident = rig.client.added(every(1, 2, no_keep=True,
                                   retry=retry("sequence", sequence=[0], max=1)))
    for _ in range(2):
        fail(rig, rig.jobs.recv())
        run = rig.jobs.recv()
        assert run.plan["error_count"] == 1
        rig.jobs.finish(run)
    rig.gone(ident)


@pytest.mark.parametrize("status", [ST.ERROR, ST.NOT_SUPPORT])
def test_C041_the_targets_own_error_is_retried_with_a_policy(rig, status):
    """Without one it takes the plan out of the queue (7.4)."""
    plain = rig.client.added(at_once())
    rig.jobs.answer(rig.jobs.recv(), status)
    wait_until(lambda: rig.message(plain)["plan_state"] == ERROR, "parked")
    ident = rig.client.added(at_once(retry=retry("sequence", sequence=[0], max=1)))
    rig.jobs.answer(rig.jobs.recv(), status)
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)


def test_C041_what_the_target_did_not_take_uses_up_no_retry(rig):
    ident = rig.client.added(at_once(retry=retry("none")))
    rig.jobs.answer(rig.jobs.recv(), ST.NOT_WORKER)
    message = rig.state(ident, ST.NOT_WORKER)
    assert (message["plan_state"], message["error_count"], message["tries"]) == (RETRY, 0, 1)
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)


def test_C041_a_lease_that_ends_is_a_failure_and_told_once(make_rig):
    rig = make_rig("--exec-timeout", "2")
    ident = rig.client.added(at_once(retry=retry("sequence", sequence=[0], max=1)))
    runs = []
    for _ in range(2):
        runs.append(rig.jobs.recv())
        rig.jobs.answer(runs[-1], ST.RUNING)
    message = verdict(rig, ident, FAILURE)
    assert message["last_state"] == ST.TIMEOUT and message["error_count"] == 2
    found = outcomes(rig, ident, 2)
    assert [(run["status"], run["exec_id"]) for run in found] == \
        [(ST.TIMEOUT, run.exec_id) for run in runs]


# A person decides. features: C024, C025, C043

def test_C024_C025_C043_a_person_decides_and_the_plan_goes_on(rig):
    """B105, B106: An error stops the schedule until somebody decides."""
    policy = retry("none", need_manual=True)
    ident = rig.client.added(every(1, -1, no_keep=True, retry=policy))
    first = rig.jobs.recv()
    assert rig.client.refused("done", ident).startswith("done: ")
    fail(rig, first, words=b"look at it")
    message = verdict(rig, ident, PENDING)
    assert message["plan_state"] == ERROR and message["error_info"] == "look at it"
    rig.jobs.nothing(1.5)
    shown = rig.client.done("done", ident, "was looked at").json
    assert (shown["verdict"], shown["plan_state"]) == (MANUAL, QUEUE)
    assert shown["remark"] == "was looked at"
    assert rig.client.refused("done", ident).startswith("done: ")
    run = rig.jobs.recv()
    assert run.plan_time == first.plan_time + 1         # as no_keep says
    assert run.plan["skip_num"] == 1
    rig.jobs.finish(run)
    message = rig.repet(ident, 1)
    assert "verdict" not in message and "error_info" not in message


def test_C025_C043_a_person_decides_of_the_last_one(rig):
    ident = rig.client.added(at_once(retry=retry("none", need_manual=True)))
    fail(rig, rig.jobs.recv())
    verdict(rig, ident, PENDING)
    assert rig.client.done("done", ident).json["plan_state"] == CLOSE
    assert rig.message(ident)["verdict"] == MANUAL and rig.score(ident) is None


def test_C043_reset_tries_it_again(rig):
    ident = rig.client.added(at_once(retry=retry("none", need_manual=True)))
    first = rig.jobs.recv()
    fail(rig, first)
    verdict(rig, ident, PENDING)
    shown = rig.client.done("reset", ident).json
    assert (shown.get("verdict", NONE), shown["error_count"]) == (NONE, 0)
    run = rig.jobs.recv()
    assert run.plan_time == first.plan_time
    rig.jobs.finish(run)
    rig.gone(ident)


# Timeouts. features: C042

def test_C042_a_run_has_its_time_whatever_it_says(rig):
    """B092: A run without a result ends by its timeout; a later result does not count."""
    ident = rig.client.added(at_once(timeout=2, retry=retry("none")))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    assert run.plan["deadline"] <= run.claimed + 2
    while not rig.jobs.socket.poll(200):
        rig.jobs.answer(run, ST.WAITING)        # signs of life prolong the lease, not this
        assert time.time() < run.claimed + 20, "no timeout"
    told = close_request(rig)
    assert told.at >= run.claimed + 2 - EARLY
    assert told.mailbox == b"*" + ident.encode() and told.get(FT.GLOBAL_ID) == ident.encode()
    assert told.local_id == run.local_id and told.text.startswith("timeout: ")
    message = verdict(rig, ident, FAILURE)
    assert message["last_state"] == ST.TIMEOUT
    assert message["error_info"].startswith("timeout: ")
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])      # nobody waits for it
    rig.settle()
    assert rig.message(ident) == message
    assert len(history(rig, ident)) == 1


def test_C042_without_a_retry_policy_it_is_tried_again(rig):
    ident = rig.client.added(at_once(timeout=1))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    close_request(rig)
    again = rig.jobs.recv()
    assert again.plan_time == run.plan_time and again.claimed >= run.claimed + 2 - EARLY
    rig.jobs.finish(again)
    rig.gone(ident)


# Cancelling. features: C026, E018

def test_C026_E018_cancel_ends_the_run_that_is_out(rig):
    results = rig.subscribe(b"every")
    ident = rig.client.added(every(1, 2, no_keep=True, retry=retry("fixed", interval=1)))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    answer = rig.client.done("cancel", ident, "no use").json
    assert answer == {"plan_id": int(ident, 16), "exec_id": run.exec_id, "told": True}
    told = close_request(rig)
    assert told.mailbox == b"*" + ident.encode() and told.local_id == run.local_id
    assert "no use" in told.text
    assert results.recv().code == ST.CANCELLED
    # It is not tried again: the next one's turn. What the first one says is late.
    second = rig.jobs.recv()
    assert second.plan_time == run.plan_time + 1 and second.plan["verdict"] == CANCELLED
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.settle()
    assert rig.message(ident)["real_repet"] == 0
    rig.jobs.finish(second)
    rig.gone(ident)
    assert [one["status"] for one in outcomes(rig, ident, 2)] == [ST.CANCELLED, ST.OK]


def test_C026_cancel_twice_and_of_what_does_not_run(rig):
    ident = rig.client.added(every(3600, -1))
    assert "no run" in rig.client.refused("cancel", ident)
    rig.client.refused("cancel", "abc", status=ST.NOT_FIND)
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    before = rig.message(ident)
    rig.client.done("cancel", ident)
    assert close_request(rig).local_id == run.local_id
    rig.client.refused("cancel", ident)
    # Of a run besides the schedule the plan is what it was.
    after = rig.message(ident)
    assert (after["plan_time"], after["plan_state"]) == (before["plan_time"], QUEUE)
    rig.jobs.nothing(1.2)


def test_C026_cancel_of_the_last_run_ends_the_plan(rig):
    ident = rig.client.added(at_once())
    rig.jobs.answer(rig.jobs.recv(), ST.RUNING)
    rig.client.done("cancel", ident)
    close_request(rig)
    rig.gone(ident)
    rig.client.refused("cancel", ident, status=ST.NOT_FIND)


def test_C026_E018_cancel_after_a_restart_of_the_station(rig):
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.restart()

    def connected():
        return {one["name"]: one["connected"]
                for one in rig.client.done("station", "list").json["stations"]}["jobs"]
    wait_until(connected, "the target is connected")
    assert rig.client.done("cancel", ident).json["told"] is True
    assert close_request(rig).local_id == run.local_id
    rig.gone(ident)


def test_C026_cancel_when_the_target_is_gone(rig):
    ident = rig.client.added(at_once())
    rig.jobs.answer(rig.jobs.recv(), ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.jobs.close()

    def away():
        return not {one["name"]: one["connected"]
                    for one in rig.client.done("station", "list").json["stations"]}["jobs"]
    wait_until(away, "the target is away")
    assert rig.client.done("cancel", ident).json["told"] is False
    rig.gone(ident)


def test_C026_cancel_of_a_paused_plan(rig):
    ident = rig.client.added(every(1, -1))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.client.done("pause", ident)
    rig.client.done("cancel", ident)
    close_request(rig)
    message = rig.state(ident, ST.CANCELLED)
    assert message["plan_state"] == 5 and rig.score(ident) is None
    rig.jobs.nothing(1.5)
    rig.client.done("reset", ident)
    rig.jobs.finish(rig.jobs.recv())
    rig.repet(ident, 1)


# What goes into the history. features: C056, C057, C058

@pytest.mark.parametrize("mode, wanted", [
    ("trans", [(ST.FAILED, "why"), (ST.OK, "")]),
    ("trigger", [(ST.OK, ""), (ST.OK, "")]),
    ("none", [])])
def test_C056_C057_C058_log(rig, mode, wanted):
    results = rig.subscribe(b"at once")
    policy = retry("sequence", sequence=[0])
    ident = rig.client.added(at_once(log=mode, retry=policy))
    fail(rig, rig.jobs.recv())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    assert [results.recv().code for _ in range(2)] == [ST.FAILED, ST.OK]    # told all the same
    assert [(run["status"], run["reason"]) for run in history(rig, ident)] == wanted


@pytest.mark.parametrize("mode, wanted", [("trans", [ST.TIMEOUT]), ("trigger", [ST.OK]),
                                          ("none", [])])
def test_C056_C057_C058_log_of_a_lease_that_ended(make_rig, mode, wanted):
    rig = make_rig("--exec-timeout", "4")
    ident = rig.client.added(at_once(log=mode))
    rig.jobs.answer(rig.jobs.recv(), ST.RUNING)
    again = rig.jobs.recv()
    assert [run["status"] for run in history(rig, ident)] == wanted
    rig.jobs.finish(again)
    rig.gone(ident)


# Changed while it is kept, and refused. features: D018

def test_update_and_null(rig):
    ident = rig.client.added(later(timeout=5, retry=retry("none"), log="none"))

    def update(**fields):
        return rig.client.done("update", ident,
                               {"revision": rig.message(ident)["revision"], **fields}).json
    shown = update(timeout=9, jitter=3)
    assert (shown["timeout"], shown["jitter"], shown["retry"]) == (9, 3, retry("none"))
    shown = update(timeout=None, retry=None)
    assert "timeout" not in shown and "retry" not in shown and shown["jitter"] == 3
    revision = rig.message(ident)["revision"]
    for field, value in [("timeout", 0), ("retry", {}), ("log", "all"), ("misfire", "some"),
                         ("overlap_policy", "both"), ("timezone", "Mars/Base")]:
        reason = rig.client.refused("update", ident, {"revision": revision, field: value})
        assert reason.startswith(field), reason
    assert rig.message(ident)["revision"] == revision
    shown = update(jitter=None, log=None)
    assert not {"jitter", "log", "retry", "timeout"} & set(shown)


def test_a_plan_that_was_edited_by_hand(rig):
    ident = rig.client.added(at_once(plan_type=1, plan_time=int(time.time()) + 3600))
    rig.edit(ident, retry=retry("sequence", sequence=[0], max=1))
    rig.due_now(ident)
    fail(rig, rig.jobs.recv())
    fail(rig, rig.jobs.recv())
    assert verdict(rig, ident, FAILURE)["error_count"] == 2
    wrong = rig.client.added(at_once(plan_type=1, plan_time=int(time.time()) + 3600))
    rig.edit(wrong, retry={"strategy": "often"})
    text = rig.db.get(rig.key(wrong))
    rig.due_now(wrong)
    wait_until(lambda: rig.score(wrong) is None, "out of the queue")
    assert b'"often"' in text and b'"often"' in rig.db.get(rig.key(wrong))
    rig.jobs.nothing(1.2)


@pytest.mark.parametrize("field, value", [
    ("timezone", "Mars/Base"), ("timezone", ""), ("retry", {}), ("timeout", 0), ("log", "all"),
    ("misfire", 0), ("misfire_window", 0), ("jitter", -1), ("overlap_policy", 1), ("gap", "none"),
    ("overlap", "none"), ("end_time", 0), ("start_time", "soon"), ("cron", "* * * * *"),
    ("iteration", 0), ("cycle", 0), ("cycle", -1), ("cycle", [])])
def test_D018_a_wrong_field_is_refused_by_name(shared, field, value):
    reply = shared.client.submit(every(1, 1, **{field: value}))
    assert reply.code == ST.PLANERROR and reply.text.startswith(f"-plan error: {field}"), reply
