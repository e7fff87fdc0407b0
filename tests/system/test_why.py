"""why: what holds a plan back, in the order of the questions, and what will change that."""
import calendar
import itertools
import json
import time

import pytest

from curvetest import CurveRig
from zplantest import (CLOSE, ERROR, EXECUTE, PAUSE, QUEUE, RETRY, ST, at_once, every, later,
                       wait_until)


def why(rig, ident, client=None):
    """The answer, checked for its form: (state, running, reasons)."""
    answer = (client or rig.client).done("why", ident).json
    assert set(answer) == {"plan_id", "plan_state", "running", "reasons"}
    assert answer["plan_id"] == int(ident, 16)
    for reason in answer["reasons"]:
        assert set(reason) in ({"why", "until"}, {"why", "until", "at"}), reason
        assert reason["why"] and reason["until"]
    assert answer["reasons"]
    return answer["plan_state"], answer["running"], answer["reasons"]


def only(rig, ident):
    state, running, (reason,) = why(rig, ident)
    return state, running, reason


def moment(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def test_a_plan_that_is_not_due(rig):
    ident = rig.client.added(later())
    state, running, reason = only(rig, ident)
    assert (state, running, reason["why"], reason["until"]) == (
        QUEUE, False, "it is not due yet", "its time")
    assert moment(reason["at"]) == rig.message(ident)["plan_time"]
    assert rig.client.done("why", rig.key(ident)).json["reasons"] == [reason]


@pytest.mark.parametrize("word, state, until", [("pause", PAUSE, "reset"),
                                                ("close", CLOSE, "never: it is kept until it is removed")])
def test_a_plan_that_was_stopped_says_when(rig, word, state, until):
    ident = rig.client.added(later())
    before = int(time.time())
    rig.client.done(word, ident)
    found, running, reason = only(rig, ident)
    assert (found, running, reason["until"]) == (state, False, until)
    words, _, when = reason["why"].rpartition(" at ")
    assert words == word and before <= moment(when) <= time.time() + 1
    assert rig.message(ident)["stopped"] == reason["why"]
    if word == "pause":
        rig.client.done("reset", ident)
        assert "stopped" not in rig.message(ident)
        assert only(rig, ident)[2]["why"] == "it is not due yet"


def test_a_plan_that_was_stopped_says_by_whom(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    ops = rig.allow("ops", "manage,observe")
    strangers = rig.allow("strangers", "observe", "news")
    rig.start()
    ident = rig.client.added(later())
    rig.member(ops).done("pause", ident)
    assert only(rig, ident)[2]["why"].startswith("pause by ops at 2")
    assert rig.member(ops).done("why", ident).json["plan_state"] == PAUSE
    # Who may not touch its target does not hear of it.
    assert rig.member(strangers).refused("why", ident, status=ST.NOT_FIND) == f"no plan {ident}"
    rig.member(strangers).refused("why", rig.key(ident), status=ST.DENY)


def test_a_plan_that_an_earlier_version_has_closed(rig):
    """It left no words."""
    ident = rig.client.added(later())
    rig.client.done("close", ident)
    message = rig.message(ident)
    del message["stopped"]
    rig.db.set(rig.key(ident), json.dumps(message))
    assert only(rig, ident)[2]["why"] == "it has ended"


def test_a_run_that_is_out(rig):
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    wait_until(lambda: rig.score(ident) > time.time() + 1, "it has its first lease")
    state, running, reason = only(rig, ident)
    assert (state, running) == (EXECUTE, True)
    words, since = reason["why"].split(" since ")
    assert words == "a run is in progress" and since.endswith(", its target has not answered yet")
    assert moment(since.split(",")[0]) == run.exec_id // 1000000
    assert reason["until"] == "its result, or the end of its lease without a heartbeat"
    assert moment(reason["at"]) == int(rig.score(ident))
    rig.jobs.answer(run, ST.RUNING)
    wait_until(lambda: "answered" not in only(rig, ident)[2]["why"], "RUNING has come")
    assert only(rig, ident)[:2] == (EXECUTE, True)


def test_a_run_that_may_take_so_long(rig):
    ident = rig.client.added(at_once(timeout=500))
    run = rig.jobs.recv()
    reason = only(rig, ident)[2]
    assert reason["until"] == "its result, or its timeout"
    assert moment(reason["at"]) == run.exec_id // 1000000 + 500


def test_a_paused_plan_whose_run_is_out_has_two_reasons(rig):
    """B102: It is paused, and its run is in progress."""
    ident = rig.client.added(every(1000, 3))
    rig.due_now(ident)
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.client.done("pause", ident)
    state, running, (one, two) = why(rig, ident)
    assert (state, running) == (PAUSE, True)
    assert one["why"].startswith("pause at ") and two["why"].startswith("a run is in progress since")


def test_a_run_that_is_not_known_any_more(rig):
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.marked(ident, run)
    rig.station.kill()
    rig.db.hdel("plan:run", rig.key(ident))
    rig.station.start()
    wait_until(lambda: len(why(rig, ident)[2]) == 1, "its target is connected, which was a second reason")
    reason = only(rig, ident)[2]
    assert (reason["why"], reason["until"]) == ("its run is no longer known",
                                                "the end of its lease")
    assert moment(reason["at"]) == int(rig.score(ident))


def failed(rig, words="", **fields):
    ident = rig.client.added(at_once(**fields))
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED, [(3, words.encode())] if words else [])
    return ident


def test_a_retry(rig):
    ident = failed(rig, "-failed: disk is full", retry={"strategy": "fixed", "interval": 500, "max": 3})
    wait_until(lambda: rig.message(ident)["plan_state"] == RETRY, "it waits for its retry")
    state, running, reason = only(rig, ident)
    assert (state, running, reason["until"]) == (RETRY, False, "its retry")
    assert reason["why"].startswith("it has failed, 1 times; the last time: ")
    assert "disk is full" in reason["why"]
    assert moment(reason["at"]) == int(rig.score(ident))


@pytest.mark.parametrize("name, whose", [("station:jobs", "the target jobs"),
                                         ("group:printers", "the group printers")])
def test_a_retry_that_a_limit_holds(rig, name, whose):
    """Its time has come: the limit holds it, and no time is named."""
    rig.client.done("limit", "set", name, json.dumps({"concurrency": 1}))
    retry = {"strategy": "fixed", "interval": 1, "max": 9}
    ident = rig.client.added(at_once(retry=retry, group="printers", description="fails"))
    run = rig.jobs.recv()
    before = rig.client.added(at_once(priority=9, group="printers", description="runs"))
    rig.jobs.finish(run, ST.FAILED)     # and so there is room for the other, which keeps it
    rig.jobs.answer(rig.jobs.recv(), ST.RUNING)
    told = wait_until(lambda: [reasons for state, _, reasons in [why(rig, ident)]
                               if state == RETRY and reasons[0]["until"] != "its retry"],
                      "its retry is due")
    reason, = told[0]
    assert reason == {"why": f"{whose} runs as many as its limit allows (1)",
                      "until": "one of them ends"}
    assert why(rig, before)[1]


@pytest.mark.parametrize("manual, until", [(False, "reset"),
                                           (True, "done, when the failure was handled manually, or reset")])
def test_a_plan_that_has_failed_for_good(rig, manual, until):
    # As long as words may be, with a character that must not be cut in two.
    words = "-failed: " + "日" * 160
    ident = failed(rig, words, retry={"strategy": "none", "need_manual": manual})
    wait_until(lambda: rig.message(ident)["plan_state"] == ERROR, "out of the queue")
    state, running, reason = only(rig, ident)
    assert (state, running, reason["until"]) == (ERROR, False, until)
    assert reason["why"].startswith("it has failed 1 times, the last time: ")
    assert "日" * 100 in reason["why"]


def test_long_words_are_not_cut_in_two(rig):
    ident = rig.client.added(later())
    for number in range(508, 513):
        words = "x" * (number % 3) + "日" * 170
        rig.edit(ident, plan_state=ERROR, verdict=1, error_count=2**61 - 1, error_info=words)
        assert only(rig, ident)[2]["why"].endswith("日" * 100)


def test_a_plan_that_its_target_refuses(rig):
    ident = rig.client.added(at_once())
    rig.jobs.answer(rig.jobs.recv(), ST.NOT_SUPPORT)
    wait_until(lambda: rig.message(ident)["plan_state"] == ERROR, "out of the queue")
    state, _, reason = only(rig, ident)
    assert (state, reason["why"], reason["until"]) == (
        ERROR, "its target has rejected it: -no support", "reset")


def test_a_plan_that_has_lost_its_right_to_run(rig):
    ident = rig.client.added(every(1000, 3))
    rig.edit(ident, messages=[])
    rig.due_now(ident)
    wait_until(lambda: rig.score(ident) is None, "out of the queue")
    state, _, reason = only(rig, ident)
    assert state == ERROR and reason["why"].startswith("it has lost its right to run: ")
    assert reason["until"] == "reset"


def test_a_plan_that_was_taken_out_of_the_queue_by_hand(rig):
    ident = rig.client.added(later())
    rig.db.zrem("plan:time:set", rig.key(ident))
    state, _, reason = only(rig, ident)
    assert (state, reason["why"]) == (QUEUE, "it is not in the queue: it was removed by hand")
    # What is told helps.
    rig.client.done("pause", ident), rig.client.done("reset", ident)
    assert only(rig, ident)[2]["why"] == "it is not due yet"


def test_a_plan_whose_target_is_away(rig):
    rig.jobs.close()
    ident = rig.client.added(later())

    def away():
        reasons = why(rig, ident)[2]
        return reasons if len(reasons) == 2 else None
    one, two = wait_until(away, "the station knows that it is away")
    assert one["why"] == "it is not due yet"
    assert two["why"].startswith("the target jobs is not connected since 2")
    assert two["until"] == "it connects" and "at" not in two
    # One that is due was tried.
    rig.due_now(ident)
    wait_until(lambda: rig.message(ident)["plan_state"] == RETRY, "it was tried")
    reasons = why(rig, ident)[2]
    assert any("is not connected since" in reason["why"] for reason in reasons)
    rig.jobs.open()
    run = rig.jobs.recv()
    rig.marked(ident, run)
    assert why(rig, ident)[1] is True


def test_a_plan_whose_target_is_not_known(rig):
    rig.client.done("station", "add", "gone=api@" + rig.ipc("g"))
    ident = rig.client.added(later(), station="gone")
    rig.client.done("station", "remove", "gone")
    one, two = why(rig, ident)[2]
    assert one["why"] == "it is not due yet"
    assert two == {"why": "there is no target 'gone'", "until": "it is added"}


def test_a_plan_whose_target_takes_no_more(make_rig):
    rig = make_rig("--max-runs-target", "1")
    first = rig.client.added(at_once())
    run = rig.jobs.recv()
    ident = rig.client.added(at_once())
    wait_until(lambda: rig.message(ident)["plan_state"] == QUEUE, "it waits")

    def full():
        reasons = why(rig, ident)[2]
        return [r for r in reasons if "has as many unanswered runs as it may have" in r["why"]]
    reason, = wait_until(full, "it is full")
    assert reason["why"].startswith("the target jobs ") and reason["until"] == (
        "it answers some of them")
    assert why(rig, first)[1] is True
    rig.jobs.finish(run)
    assert rig.jobs.recv().plan["plan_id"] == int(ident, 16)


def test_a_plan_that_is_too_late(make_rig):
    rig = make_rig("--max-runs-target", "1")
    rig.client.added(at_once())
    rig.jobs.recv()         # nothing more is sent meanwhile
    ident = rig.client.added(every(1000, 5, misfire_window=10, misfire="skip"))
    now = int(time.time())
    rig.edit(ident, base_time=now - 1500, plan_time=now - 500)
    rig.due_now(ident)
    reasons = {r["why"]: r for r in why(rig, ident)[2]}
    assert "its current time has passed" in reasons, reasons
    late = reasons["its current time has passed"]
    assert late["until"] == "its next time" and moment(late["at"]) > now


def test_a_plan_that_is_not_there(shared):
    assert shared.client.refused("why", "1f", status=ST.NOT_FIND) == "no plan 1f"
    assert "id: want 1..16 hex digits" in shared.client.refused("why", "x y")
    assert "got 0 arguments" in shared.client.refused("why")


def test_a_plan_that_was_edited_to_nonsense(rig):
    ident = rig.client.added(later())
    rig.edit(ident, plan_type="x")
    assert "plan_type: not an integer" in rig.client.refused("why", ident)
    rig.db.set(rig.key(ident), "nonsense")
    assert "JSON: " in rig.client.refused("why", ident)


def test_each_state_has_a_reason(rig):
    """Whatever an operator writes there, in and out of the queue."""
    ident = rig.client.added(later())
    for state, queued in itertools.product(range(8), (True, False)):
        rig.edit(ident, plan_state=state)
        if queued:
            rig.db.zadd("plan:time:set", {rig.key(ident): time.time() + 9999})
        else:
            rig.db.zrem("plan:time:set", rig.key(ident))
        assert why(rig, ident)[0] == state
