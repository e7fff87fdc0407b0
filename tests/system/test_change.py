"""Management that changes a plan: pause, reset, close, skip, run, update; and `next`, its preview.

Where each is allowed, what it does to what stands in Redis and to what fires, and what becomes of it
while a run is out.
"""
import json
import random
import time

import pytest

from zplantest import (CLOSE, CMD, ERROR, EXECUTE, FT, NONE, PAUSE, QUEUE, RETRY, SKIP, ST,
                       FakeTarget, argument, at_once, describe, every, later, new_second, told,
                       wait_until)

STATES = range(8)
ALLOWED = {"pause": {NONE, QUEUE, EXECUTE, RETRY, SKIP}, "reset": {PAUSE, ERROR},
           "close": set(STATES), "skip": set(STATES) - {CLOSE},
           "run": set(STATES) - {CLOSE, EXECUTE}, "update": set(STATES) - {CLOSE, EXECUTE}}


def public(rig, ident, station="jobs"):
    """The plan as management shows it."""
    plan = rig.message(ident, station)
    plan.pop("messages")
    return plan


def changed(rig, word, ident, *args):
    """The word is done: the answer is the plan under its id, as it stands in Redis."""
    reply = rig.client.done(word, ident, *args)
    assert reply.get(FT.GLOBAL_ID) == ident.encode()
    assert reply.json == public(rig, ident)
    return reply.json


def updated(rig, ident, **fields):
    return changed(rig, "update", ident, {"revision": rig.message(ident)["revision"], **fields})


def nominals(rig, ident, count=20):
    answer = rig.client.done("next", ident, count).json
    assert answer["never"] == (answer["next"] == [])
    return answer["next"]


def untouched(rig, ident, call):
    """The call leaves all of the plan as it is; return what it returns."""
    def seen():
        return rig.message(ident), rig.score(ident), rig.work(ident)
    before = seen()
    value = call()
    assert seen() == before
    return value


# Plans in every state.


def catching_up(repet=5, **fields):
    """Each occurrence runs at once, one after the other: nominal times base + 1, + 2, ..."""
    return every(1, repet, no_keep=True, plan_time=int(time.time()) - 1000, **fields)


def run_of(rig, ident):
    """The next dispatch of this plan; what others send is left without an answer."""
    while (run := rig.jobs.recv()).mailbox != b"*" + ident.encode():
        pass
    return run


def out(rig, plan=None, **where):
    """A plan whose run is out: RUNING was heard. (id, run)"""
    ident = rig.client.added(plan or catching_up(), **where)
    run = run_of(rig, ident)
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    return ident, run


def retrying(rig, plan=None):
    """A plan that has failed and will not be tried again while the test lasts."""
    ident = rig.client.added(plan or catching_up())
    for failures in range(1, 8):
        rig.jobs.finish(run_of(rig, ident), ST.ERROR)
        wait_until(lambda: rig.message(ident)["error_count"] == failures, "the failure")
        rig.db.zadd("plan:time:set", {rig.key(ident): time.time() + 1000}, xx=True)
        if rig.message(ident)["plan_state"] == RETRY:       # else it was taken before
            return ident
    raise AssertionError("no failure was quick enough")


def parked(rig, plan=None, status=ST.NOT_SUPPORT):
    ident = rig.client.added(plan or catching_up())
    rig.jobs.answer(run_of(rig, ident), status)
    wait_until(lambda: rig.message(ident)["plan_state"] == ERROR, "parked")
    return ident


def put(rig, state):
    """A plan that is in this state."""
    if state == EXECUTE:
        return out(rig)[0]
    if state == RETRY:
        return retrying(rig)
    if state == ERROR:
        return parked(rig)
    ident = rig.client.added(every(1000, 5))
    if state in (PAUSE, CLOSE):
        rig.client.done("pause" if state == PAUSE else "close", ident)
    elif state != QUEUE:
        rig.edit(ident, plan_state=state)       # nothing of ours puts a plan there
    assert rig.message(ident)["plan_state"] == state
    return ident


def arguments(rig, word, ident):
    return {"skip": [1], "update": [{"revision": rig.message(ident)["revision"]}]}.get(word, [])


@pytest.mark.parametrize("word", ALLOWED)
def test_the_states_a_word_is_allowed_in(rig, word):
    for state in STATES:
        ident = put(rig, state)
        args = arguments(rig, word, ident)
        if state in ALLOWED[word]:
            reply = rig.client.done(word, ident, *args)
            assert reply.get(FT.GLOBAL_ID) == ident.encode()
            assert reply.json["plan_id"] == int(ident, 16) and "messages" not in reply.json
        else:
            untouched(rig, ident, lambda: rig.client.refused(word, ident, *args))
        rig.client.done("remove", ident)


@pytest.mark.parametrize("word", ALLOWED)
def test_a_plan_is_named_by_its_key_too(rig, word):
    ident = put(rig, PAUSE if word == "reset" else QUEUE)
    args = arguments(rig, word, ident)
    assert rig.client.done(word, rig.key(ident), *args).get(FT.GLOBAL_ID) == ident.encode()
    for name in (rig.key(ident, "news"), rig.key(ident, "nobody"), "7777"):
        rig.client.refused(word, name, *args, status=ST.NOT_FIND)


@pytest.mark.parametrize("word", ALLOWED)
def test_wrong_arguments(shared, word):
    ident = shared.client.added(every(1000, 5))
    args = arguments(shared, word, ident)

    def refuse_all():
        for name in ("", "zz", "0", "-1", "8000000000000000", "plan:msg:jobs:zz", "plan:time:set"):
            shared.client.refused(word, name, *args)
        shared.client.refused(word)
        shared.client.refused(word, ident, *args, "more")
        if args:
            shared.client.refused(word, ident)
    untouched(shared, ident, refuse_all)


def test_echoes(shared):
    echoes = [(FT.REQUESTER, b"boss"), (FT.REQUEST_ID, b"r\0\xff")]
    ident = shared.client.added(later())
    for word in ("pause", "pause", "reset", "close"):
        reply = shared.client.manage(word, ident, more=echoes)
        assert [(kind, reply.get(kind)) for kind, _ in echoes] == echoes


@pytest.mark.parametrize("word", [*ALLOWED, "next", "history", "stats"])
def test_redis_away(rig, word):
    ident = put(rig, QUEUE)
    args = arguments(rig, word, ident)
    rig.redis.stop()
    rig.client.refused(word, *([] if word == "stats" else [ident]), *args, status=ST.NET_ERROR)
    rig.client.ping()
    rig.redis.start()


# pause and reset.


def test_pause_and_reset(rig):
    """Out of the queue, and back with the old nominal time."""
    ident = rig.client.added(every(1000, 5))
    before = public(rig, ident)
    plan = changed(rig, "pause", ident)
    assert plan["plan_state"] == PAUSE and rig.score(ident) is None
    plan = changed(rig, "reset", ident)
    assert rig.score(ident) == plan["plan_time"]
    before["revision"] = plan["revision"]
    assert plan == before


def test_a_paused_plan_does_not_fire(rig):
    """Not when its time comes; `reset` runs it once, for its old nominal time, then goes on."""
    plan = every(1, 100, plan_time=int(time.time()) + 4)
    ident = rig.client.added(plan)
    changed(rig, "pause", ident)
    other = rig.client.added(later(plan_time=plan["plan_time"] + 1, no_keep=True))
    rig.jobs.finish(run := rig.jobs.recv())         # its time was after that of the paused plan
    assert run.mailbox == b"*" + other.encode()
    rig.jobs.nothing(1)
    reset = time.time()
    rig.client.done("reset", ident)
    first = rig.jobs.recv()
    assert first.plan_time == plan["plan_time"] + 1
    rig.jobs.finish(first)
    second = rig.jobs.recv()
    assert second.plan_time >= int(reset) and second.plan["real_repet"] == 1


def test_a_pause_outlives_the_station(rig):
    ident = rig.client.added(later(5))
    changed(rig, "pause", ident)
    rig.restart()
    other = rig.client.added(later(6))
    assert rig.jobs.recv().mailbox == b"*" + other.encode()
    assert rig.client.done("reset", ident).json["plan_state"] in (QUEUE, EXECUTE)
    assert rig.jobs.recv().mailbox == b"*" + ident.encode()


def test_A081_reset_lifts_a_planerror(rig):
    """last_state 139 and error_count are cleared; the plan has its right to run again."""
    ident = rig.client.added(later())
    messages = rig.message(ident)["messages"]
    rig.edit(ident, messages=[], error_count=7)
    rig.due_now(ident)
    rig.state(ident, ST.PLANERROR)
    rig.client.refused("pause", ident)
    rig.edit(ident, messages=messages)
    plan = changed(rig, "reset", ident)
    assert (plan["plan_state"], plan["last_state"], plan["error_count"]) == (QUEUE, 0, 0)
    assert rig.score(ident) == plan["plan_time"]
    rig.due_now(ident)
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)


def test_reset_of_a_plan_parked_by_its_target(rig):
    ident = parked(rig)
    before = public(rig, ident)
    rig.client.done("reset", ident)
    run = rig.jobs.recv()
    assert run.plan_time == before["plan_time"] and run.plan["real_repet"] == 0
    rig.jobs.finish(run)
    assert rig.repet(ident, 1)["plan_time"] == before["plan_time"] + 1


def test_reset_clears_the_pace(rig):
    """A plan that was paused while it was being retried starts anew."""
    ident = retrying(rig)
    assert changed(rig, "pause", ident)["error_count"] > 0
    assert rig.client.done("reset", ident).json["error_count"] == 0
    rig.jobs.finish(rig.jobs.recv())
    rig.repet(ident, 1)


# close.


def test_close_keeps_the_message_until_remove(rig):
    ident = rig.client.added(every(1, 50))
    rig.jobs.finish(rig.jobs.recv(), ST.OK, [(FT.CONTENT, b"kept")])
    rig.repet(ident, 1)
    plan = changed(rig, "close", ident)
    assert plan["plan_state"] == CLOSE and rig.score(ident) is None
    assert changed(rig, "close", ident)["plan_state"] == CLOSE
    assert rig.client.done("message", ident).json == rig.message(ident)
    rig.client.refused("reset", ident)
    for run in iter(lambda: rig.jobs.socket.poll(1500) and rig.jobs.recv(), 0):
        assert run.claimed < plan["exec_id"] / 1e6 + 1      # one that was out already
    reply = rig.client.submit(later(), gid=ident)
    assert reply.code == ST.PLANERROR                       # its id is in use
    rig.client.done("remove", ident)
    assert not rig.left(ident)


@pytest.mark.parametrize("state", [PAUSE, ERROR, RETRY])
def test_close_of_a_stopped_plan(rig, state):
    ident = put(rig, state)
    assert changed(rig, "close", ident)["plan_state"] == CLOSE
    rig.client.refused("reset", ident)
    assert rig.score(ident) is None
    rig.restart()
    assert rig.message(ident)["plan_state"] == CLOSE
    rig.client.done("remove", ident)


# skip.


@pytest.mark.parametrize("plan", [
    every(1000, 9), every(3, -1, kind=4), every(2, 9, kind=5), every(3, 9, kind=6),
    every(-1, 9, kind=7), every(0, -1, kind=7), every(31, 9, kind=7, plan_time=1800000000),
    every(100, 9, no_keep=True, plan_time=1900000000)], ids=json.dumps)
@pytest.mark.parametrize("state", [QUEUE, PAUSE])
def test_skip_takes_the_next_occurrences_out(shared, plan, state):
    """The preview is as before without its first ones; a second skip adds to the first."""
    ident = shared.client.added(plan)
    if state == PAUSE:
        shared.client.done("pause", ident)
    before = nominals(shared, ident)
    for skipped, count in ((3, 3), (5, 2)):
        after = changed(shared, "skip", ident, count)
        assert nominals(shared, ident)[:15] == before[skipped:][:15]
        assert after["plan_time"] == before[skipped]
        assert (after["plan_state"], after["real_repet"]) == (state, 0)
        assert (after["skip_set"], after["skip_num"]) == (count, skipped)
        assert shared.score(ident) == (after["plan_time"] if state == QUEUE else None)


def test_skipped_occurrences_use_up_repeats(rig):
    base = new_second() + 2
    ident = rig.client.added(every(1, 6, no_keep=True, plan_time=base))
    changed(rig, "skip", ident, 4)
    runs = [rig.jobs.recv()]
    rig.jobs.finish(runs[0])
    runs.append(rig.jobs.recv())
    rig.jobs.finish(runs[1])
    rig.gone(ident)
    assert [run.plan_time for run in runs] == [base + 5, base + 6]
    assert runs[1].plan["real_repet"] == 1


def test_skip_leaves_at_least_one(shared):
    for plan, left in ((every(1000, 5), 5), (every(1000, 5, skip_set=2), 3), (later(), 1),
                       (every(1000, 1), 1), (every(31, 4, kind=7), 4)):
        ident = shared.client.added(plan)
        untouched(shared, ident, lambda: shared.client.refused("skip", ident, left))
        untouched(shared, ident, lambda: shared.client.refused("skip", ident, 2**31 - 1))
        if left > 1:
            changed(shared, "skip", ident, left - 1)
            assert len(nominals(shared, ident)) == 1
        untouched(shared, ident, lambda: shared.client.refused("skip", ident, 1))


def test_the_number_of_a_skip(shared):
    ident = shared.client.added(every(1, -1, plan_time=int(time.time()) + 1000))
    old = shared.message(ident)["plan_time"]
    for count in ("0", "-1", str(2**31), "", "x", "1.0", "1e3", " 1", "1 ", "0x10", "9" * 30, "1\0"):
        untouched(shared, ident, lambda: shared.client.refused("skip", ident, count))
    assert changed(shared, "skip", ident, 2**31 - 1)["plan_time"] == old + 2**31 - 1


def test_skip_of_a_plan_that_is_retried(rig):
    """The occurrence that failed is the first that is skipped."""
    ident = retrying(rig)
    first = rig.message(ident)["plan_time"]
    rig.client.done("skip", ident, 2)
    run = rig.jobs.recv()
    assert run.plan_time == first + 2
    rig.jobs.finish(run)
    assert rig.repet(ident, 1)["plan_time"] == first + 3


def test_skips_at_the_same_time(rig):
    """Each takes one occurrence out, whoever else changes the plan just then."""
    ident = rig.client.added(every(1000, -1))
    old = rig.message(ident)["plan_time"]
    clients = [rig.dealer() for _ in range(6)]
    for _ in range(10):
        for client in clients:
            client.send(CMD.NONE, [(FT.COMMAND, b"skip"), (FT.ARG, ident.encode()), (FT.ARG, b"1")])
        assert [client.recv().code for client in clients] == [ST.OK] * 6
    assert rig.message(ident)["plan_time"] == old + 60 * 1000
    assert rig.message(ident)["skip_num"] == 60


# run.


def as_it_was(plan):
    return {name: plan[name] for name in ("real_repet", "plan_time", "plan_state", "skip_num",
                                          "skip_set", "plan_repet", "base_time", "add_time")}


@pytest.mark.parametrize("status", [ST.OK, 0x20, ST.ERROR, ST.FAILED, ST.NOT_WORKER,
                                    ST.NOT_SUPPORT])
@pytest.mark.parametrize("state", [QUEUE, PAUSE, ERROR])
def test_run_is_besides_the_schedule(rig, state, status):
    """It fires now, once, whatever comes of it; then the plan is where it was."""
    ident = parked(rig, every(1000, 5, no_keep=True, plan_time=int(time.time()) - 1001)) \
        if state == ERROR else put(rig, state)
    before, score = public(rig, ident), rig.score(ident)
    work = rig.work(ident)
    asked = time.time()
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    assert run.exec_id > before["exec_id"] and run.claimed >= asked - 0.1
    assert run.plan["real_repet"] == 0
    if status == ST.NOT_SUPPORT:
        rig.jobs.answer(run, status, [(FT.CONTENT, b"besides")])
    elif status == ST.NOT_WORKER:
        rig.jobs.answer(run, status)
    else:
        rig.jobs.finish(run, status, [(FT.CONTENT, b"besides")])
    wait_until(lambda: rig.message(ident)["last_state"] == status and
               not rig.db.hexists("plan:run", rig.key(ident)), "the outcome")
    assert as_it_was(public(rig, ident)) == as_it_was(before)
    assert rig.score(ident) == score        # in no queue, or not before its time
    if status != ST.NOT_WORKER:
        assert rig.work(ident)["jobs"][1] == b"besides"
    else:
        assert rig.work(ident) == work


def test_run_of_a_plan_that_is_retried(rig):
    """No repeat is used up, and its nominal time is tried on."""
    ident = retrying(rig)
    before = public(rig, ident)
    rig.client.done("run", ident)
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED)
    rig.state(ident, ST.FAILED)
    after = public(rig, ident)
    assert (after["real_repet"], after["plan_time"]) == (0, before["plan_time"])
    again = rig.jobs.socket.poll(0) and rig.jobs.recv()
    if not again:
        wait_until(lambda: rig.score(ident) is not None, "in the queue")
        rig.due_now(ident)
        again = rig.jobs.recv()
    assert again.plan_time == before["plan_time"] and again.plan["real_repet"] == 0
    rig.jobs.finish(again)
    assert rig.repet(ident, 1)["plan_time"] == before["plan_time"] + 1


def test_run_is_told_like_any_other(rig):
    results = rig.subscribe(b"every")
    ident = rig.client.added(every(1000, 5))
    for status in (ST.OK, ST.ERROR):
        rig.client.done("run", ident)
        rig.jobs.finish(rig.jobs.recv(), status, [(FT.CONTENT, b"now")])
        news = results.recv()
        assert (news.code, news.every(FT.CONTENT)[1]) == (status, b"now")
        assert (told(news)["real_repet"], told(news)["plan_state"]) == (0, QUEUE)


def test_run_with_no_status_is_tried_once(make_rig):
    rig = make_rig("--send-timeout", "200")
    ident = rig.client.added(every(1000, 5))
    before = public(rig, ident)
    rig.client.done("run", ident)
    rig.jobs.recv()
    rig.state(ident, ST.RECV_ERROR)
    assert as_it_was(public(rig, ident)) == as_it_was(before)
    assert rig.score(ident) == before["plan_time"]


def test_run_whose_lease_ends_is_tried_once(make_rig):
    rig = make_rig("--exec-timeout", "1")
    results = rig.subscribe(b"every")
    ident = rig.client.added(every(1000, 5))
    before = public(rig, ident)
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    news = told(results.recv())
    assert (news["last_state"], news["exec_id"]) == (ST.TIMEOUT, run.exec_id)
    kept = rig.client.done("history", ident).json["runs"][-1]
    assert (kept["seq"], kept["exec_id"], kept["nominal"]) == (news["seq"], run.exec_id, run.plan_time)
    assert run.plan_time == int(run.claimed)
    wait_until(lambda: rig.message(ident)["plan_state"] == QUEUE and
               not rig.db.hexists("plan:run", rig.key(ident)), "given up")
    assert as_it_was(public(rig, ident)) == as_it_was(before)
    assert rig.score(ident) == before["plan_time"]
    rig.jobs.nothing(0.2)


def test_run_while_the_target_is_away(make_rig):
    """Not sent, and not sent later either: a run is for now."""
    rig = make_rig(start=False)
    rig.station.args += ["--station", "late=api@" + rig.ipc("l")]
    rig.start()
    ident = rig.client.added(every(1000, 5), station="late")
    before = public(rig, ident, "late")
    rig.client.done("run", ident)
    rig.state(ident, ST.SEND_ERROR, "late")
    assert as_it_was(public(rig, ident, "late")) == as_it_was(before)
    assert rig.score(ident, "late") == before["plan_time"]
    late = rig.keep(FakeTarget(rig.ipc("l")))
    other = rig.client.added(at_once(), station="late")
    run = late.recv()
    assert run.mailbox == b"*" + other.encode()
    late.finish(run)
    rig.gone(other, "late")
    late.nothing(0.2)


def test_run_while_a_run_is_out(rig):
    """Also while one that was asked for is out, and again when it has ended."""
    ident, run = out(rig)
    rig.client.refused("run", ident)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    ident = rig.client.added(every(1000, 5), gid="77")
    while (run := rig.jobs.socket.poll(0) and rig.jobs.recv()):
        rig.jobs.finish(run)
    for _ in range(3):
        rig.client.done("run", ident)
        while (run := rig.jobs.recv()).mailbox != b"*77":
            rig.jobs.finish(run)
        rig.marked(ident, run)
        rig.client.refused("run", ident)
        rig.jobs.finish(run)
        wait_until(lambda: rig.message(ident)["plan_state"] == QUEUE, "back in the queue")
    assert rig.message(ident)["real_repet"] == 0


def test_the_schedule_goes_on_behind_a_run(rig):
    """Its time comes while a run besides it is out: it runs then, for its nominal time."""
    base = new_second() + 1
    ident = rig.client.added(every(1, 3, no_keep=True, plan_time=base))
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    wait_until(lambda: time.time() > base + 2.2, "its time, and that of the next")
    rig.jobs.nothing(0)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    for nth in (1, 2, 3):
        run = rig.jobs.recv()
        assert (run.plan_time, run.plan["real_repet"]) == (base + nth, nth - 1)
        rig.jobs.finish(run)
    rig.gone(ident)


def test_run_of_the_only_occurrence(rig):
    """A plan that runs once still does so at its time."""
    ident = rig.client.added(later())
    when = rig.message(ident)["plan_time"]
    rig.client.done("run", ident)
    rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: rig.message(ident)["plan_state"] == QUEUE, "back in the queue")
    assert rig.score(ident) == when
    rig.due_now(ident)
    run = rig.jobs.recv()
    assert run.plan_time == when
    rig.jobs.finish(run)
    rig.gone(ident)


# update.


def test_update_of_the_description(rig):
    """The title of what is told from then on, the schedule as it was."""
    results = rig.subscribe("neu".encode())
    ident = rig.client.added(every(1000, 5))
    before = public(rig, ident)
    plan = updated(rig, ident, description="neu 日报")
    assert plan["description"] == "neu 日报"
    assert {**plan, "description": "every", "revision": 0} == {**before, "revision": 0}
    assert rig.score(ident) == before["plan_time"]
    rig.due_now(ident)
    run = rig.jobs.recv()
    assert run.plan["description"] == "neu 日报"
    rig.jobs.finish(run)
    assert results.recv().before == ["neu 日报".encode()]


@pytest.mark.parametrize("repet", [{}, {"plan_repet": 0}, {"plan_repet": -1}, {"plan_repet": 5}])
def test_update_of_a_plan_that_runs_once(rig, repet):
    """Its plan_repet says nothing, as when it was submitted."""
    ident = rig.client.added(later())
    when = rig.message(ident)["plan_time"]
    plan = updated(rig, ident, description="neu", **repet)
    assert (plan["description"], plan["plan_time"]) == ("neu", when)
    assert nominals(rig, ident) == [when] and rig.score(ident) == when


@pytest.mark.parametrize("fields, low, high", [
    ({"plan_value": 500}, 500, 500), ({"plan_type": 3}, 60000, 60000),
    ({"plan_type": "day", "plan_value": 2}, 172800, 172800),
    ({"plan_type": 6, "plan_value": 3}, 0, 7 * 86400),
    ({"plan_type": 7, "plan_value": -1}, 0, 32 * 86400)], ids=json.dumps)
@pytest.mark.parametrize("state", [QUEUE, PAUSE])
def test_a_changed_schedule_counts_from_now(rig, fields, low, high, state):
    ident = put(rig, state)
    rig.edit(ident, add_time=int(time.time()) - 5000)
    asked = int(time.time())
    plan = updated(rig, ident, **fields)
    assert asked + low <= plan["plan_time"] <= time.time() + high
    assert plan["plan_state"] == state
    assert rig.score(ident) == (plan["plan_time"] if state == QUEUE else None)
    assert nominals(rig, ident, 1) == [plan["plan_time"]]


def test_an_updated_schedule_fires(rig):
    ident = rig.client.added(later())
    base = new_second()
    updated(rig, ident, plan_type="second", plan_value=1, plan_repet=2, no_keep=True, plan_time=base)
    for nth in (1, 2):
        run = rig.jobs.recv()
        assert run.plan_time == base + nth
        rig.jobs.finish(run)
    rig.gone(ident)


def test_update_of_the_repeats(rig):
    ident = rig.client.added(every(1000, 5))
    before = public(rig, ident)
    plan = updated(rig, ident, plan_repet=2)
    assert plan["plan_repet"] == 2 and plan["plan_time"] == before["plan_time"]
    assert len(nominals(rig, ident)) == 2
    assert updated(rig, ident, plan_repet=-1)["plan_repet"] == -1
    assert len(nominals(rig, ident)) == 20


def test_update_of_what_is_sent(rig):
    """The array as `message` shows it, text or base64; it replaces the frames of the next run."""
    ident = rig.client.added(every(1000, 5), more=[(FT.ARG, b"old")])
    messages = rig.client.done("message", ident).json["messages"]
    desc = describe(CMD.PLAN, [FT.PLAN, FT.STATION_ID, FT.COMMAND, FT.ARG, FT.BIN])
    plan = updated(rig, ident, messages=[
        messages[0], {"b64": "BQIFAiQlQgA="}, messages[2], messages[3], "undo", "日", {"b64": "/wA="}])
    assert "messages" not in plan
    assert rig.message(ident)["messages"][1] == {"b64": "BQIFAiQlQgA="} and desc[0] == 5
    rig.due_now(ident)
    run = rig.jobs.recv()
    assert run.frames[:3] == [b"undo", "日".encode(), b"\xff\0"]
    assert run.types[:4] == bytes([FT.COMMAND, FT.ARG, FT.BIN, FT.PLAN])


def test_a_message_goes_round(rig):
    """What `message` shows may be given back as it is."""
    ident = rig.client.added(every(1000, 5), more=[(FT.ARG, b"\0"), (FT.REQUEST_ID, b"r")])
    before = rig.message(ident)
    updated(rig, ident, messages=before["messages"])
    assert {**rig.message(ident), "revision": 0} == {**before, "revision": 0}


def wrong_messages(messages):
    few = messages[:4]
    yield from ([], few, "x", 5, None, messages + ["one more"], messages[:-1], [1] * len(messages))
    yield [messages[0], "no description", *messages[2:]]
    yield [messages[0], {"b64": "!"}, *messages[2:]]
    yield [*messages[:3], "news", *messages[4:]]        # another station


def test_updates_that_are_refused(shared):
    """Checked as a submission is, with the reason; nothing is changed."""
    ident = shared.client.added(every(1000, 5))
    message = shared.message(ident)
    revision = message["revision"]
    wrong = [("plan_value", 40000), ("plan_value", "x"), ("plan_repet", 0), ("plan_type", 9),
             ("plan_type", "fortnight"), ("description", 5), ("description", "x" * 2000),
             ("no_keep", 1), ("plan_time", -1), ("plan_time", 1.5), ("skip_set", 5),
             ("skip_set", -1), ("vote", {"rule": "any"}), ("real_repet", 2), ("plan_state", 1),
             ("last_state", 0), ("plan_id", 5), ("station", "news"), ("colour", 1),
             ("plan_value", None)]
    wrong += [("messages", value) for value in wrong_messages(message["messages"])]
    missing = [message["messages"][0], {"b64": "AwIFAiUA"}, *message["messages"][2:]]

    def refuse_all():
        for name, value in wrong:
            reason = shared.client.refused("update", ident, {"revision": revision, name: value})
            assert name in reason, (name, value, reason)
        reply = shared.client.manage("update", ident, argument({"revision": revision,
                                                                "messages": missing}))
        assert reply.code in (ST.ARG_ERROR, ST.PLANERROR) and "COMMAND" in reply.text, reply
        for text in ("", "{", "[]", "5", '{"revision": %d} x' % revision,
                     '{"revision": %d, "revision": %d}' % (revision, revision)):
            shared.client.refused("update", ident, text)
        # A time that is past, a last occurrence that is past.
        shared.client.refused("update", ident, {"revision": revision, "plan_type": 1,
                                                "plan_value": 0, "plan_time": 1000})
        shared.client.refused("update", ident, {"revision": revision, "plan_time": 1000})
    untouched(shared, ident, refuse_all)


def test_update_needs_the_present_revision(rig):
    ident = rig.client.added(every(1000, 5))
    old = rig.message(ident)["revision"]
    updated(rig, ident, description="one")
    for revision in (old, old + 1, 0, -1, "x", str(rig.message(ident)["revision"]), None, 1.5):
        reason = untouched(rig, ident, lambda: rig.client.refused(
            "update", ident, {"revision": revision, "description": "two"}))
        assert "revision" in reason
    untouched(rig, ident, lambda: rig.client.refused("update", ident, {"description": "two"}))
    assert rig.message(ident)["description"] == "one"


def test_one_of_many_updates_of_a_revision(rig):
    ident = rig.client.added(every(1000, 5))
    revision = rig.message(ident)["revision"]
    clients = [rig.dealer() for _ in range(10)]
    for n, client in enumerate(clients):
        text = json.dumps({"revision": revision, "description": f"d{n}"})
        client.send(CMD.NONE, [(FT.COMMAND, b"update"), (FT.ARG, ident.encode()),
                               (FT.ARG, text.encode())])
    codes = [client.recv().code for client in clients]
    assert sorted(codes) == [ST.OK] + [ST.ARG_ERROR] * 9
    assert rig.message(ident)["description"] == f"d{codes.index(ST.OK)}"


def test_every_write_makes_another_revision(rig):
    """A claim is none: a run has the revision of the plan that it was claimed for."""
    ident = rig.client.added(catching_up())
    run = rig.jobs.recv()
    seen = [run.plan["revision"]]
    assert rig.message(ident)["revision"] == seen[0]

    def note(revision):
        assert revision not in seen and 0 <= revision <= 2**53
        seen.append(revision)
    rig.jobs.answer(run, ST.RUNING)
    note(rig.state(ident, ST.RUNING)["revision"])
    note(changed(rig, "pause", ident)["revision"])
    rig.jobs.answer(run, ST.OK)
    note(rig.repet(ident, 1)["revision"])
    note(changed(rig, "skip", ident, 1)["revision"])
    note(updated(rig, ident, description="x")["revision"])
    note(rig.client.done("reset", ident).json["revision"])
    run = rig.jobs.recv()
    assert run.plan["revision"] == rig.message(ident)["revision"] == seen[-1]
    rig.jobs.answer(run, ST.NOT_SUPPORT)
    wait_until(lambda: rig.message(ident)["plan_state"] == ERROR, "parked")
    note(rig.message(ident)["revision"])
    note(changed(rig, "close", ident)["revision"])


def test_an_update_overtaken_by_a_run(rig):
    """What was read before the plan fired is stale when it has."""
    ident = rig.client.added(catching_up())
    revision = rig.client.done("message", ident).json["revision"]
    run = rig.jobs.recv()
    rig.jobs.finish(run)
    rig.repet(ident, 1)
    rig.client.refused("update", ident, {"revision": revision, "description": "stale"})
    assert rig.message(ident)["description"] == "every"


def test_an_updated_plan_after_a_restart(rig):
    ident = rig.client.added(later())
    updated(rig, ident, description="neu", plan_time=int(time.time()) + 3)
    rig.restart()
    run = rig.jobs.recv()
    assert run.plan["description"] == "neu"
    rig.jobs.finish(run)
    rig.gone(ident)


# next.


def test_next_is_what_fires(rig):
    base = new_second()
    ident = rig.client.added(every(1, 4, no_keep=True, plan_time=base))
    times = nominals(rig, ident)
    assert times == [base + nth for nth in (1, 2, 3, 4)] or times[-1] == base + 4
    for nth in (1, 2, 3, 4):
        run = rig.jobs.recv()
        assert run.plan_time == base + nth
        rig.jobs.finish(run)


def test_next_of_a_plan_and_of_its_frame_are_the_same(shared):
    when = int(time.time()) + 3000
    for plan in (every(1000, 5, plan_time=when), every(2, -1, kind=5, plan_time=when),
                 every(3, 15, kind=6, plan_time=when), every(-2, -1, kind=7, plan_time=when),
                 every(10, 9, plan_time=when, skip_set=3), later(),
                 every(10, 9, plan_time=1000, no_keep=True)):
        preview = shared.client.done("next", plan)
        ident = shared.client.added(plan)
        times = shared.client.done("next", ident)
        assert times.json == preview.json and times.json["never"] is False
        count = {-1: 10}.get(plan.get("plan_repet", 1), plan.get("plan_repet", 1))
        assert len(times.json["next"]) == min(10, count - plan.get("skip_set", 0))
        assert times.get(FT.GLOBAL_ID) == ident.encode() and preview.get(FT.GLOBAL_ID) is None
        shared.client.done("remove", ident)


def test_the_number_of_next(shared):
    ident = shared.client.added(every(1000, -1))
    base = shared.message(ident)["plan_time"]
    for count in (1, 10, 1000):
        assert nominals(shared, ident, count) == [base + 1000 * nth for nth in range(count)]
    assert len(shared.client.done("next", ident).json["next"]) == 10
    for count in ("0", "-1", "1001", "x", "", "1.5"):
        shared.client.refused("next", ident, count)
        shared.client.refused("next", every(1, 1), count)


def test_next_changes_nothing(shared):
    ident = shared.client.added(every(1000, 5))
    untouched(shared, ident, lambda: nominals(shared, ident, 1000))
    keys = shared.db.dbsize()
    shared.client.done("next", every(1, -1), 1000)
    assert shared.db.dbsize() == keys


def test_next_of_what_never_runs(shared):
    ended = every(1, 5, plan_time=1000, no_keep=True, end_time=1010)
    for plan in (every(1, 5, plan_time=1000), ended, {"description": "x", "plan_type": 1, "plan_time": 9}):
        answer = shared.client.done("next", plan).json
        assert answer == {"next": [], "never": True}


@pytest.mark.parametrize("what", [
    "", "zz", "0", "{", "{}", '{"plan_type": 99}', '{"plan_type": 2, "plan_value": 40000}',
    '{"plan_type": 2, "plan_value": 1, "plan_repet": 5, "colour": 1}', "[1]"])
def test_next_of_what_is_no_plan(shared, what):
    shared.client.refused("next", what)
    shared.client.refused("next")
    shared.client.refused("next", "7777", status=ST.NOT_FIND)


# While a run is out.


def ended(rig, ident):
    """Wait until no run is out."""
    wait_until(lambda: not rig.db.hexists("plan:run", rig.key(ident)), "the run has ended")
    return rig.message(ident)


def answer(rig, run, status):
    rig.jobs.answer(run, status, [(FT.CONTENT, b"counted"), (FT.LOCAL_ID, run.local_id)])


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("status", [ST.OK, ST.ERROR])
def test_pause_while_a_run_is_out(rig, heard, status):
    """The result counts and is told, the next time is computed, the plan stays paused."""
    results = rig.subscribe(b"every")
    ident = rig.client.added(catching_up())
    run = rig.jobs.recv()
    if heard:
        rig.jobs.answer(run, ST.RUNING)
        rig.state(ident, ST.RUNING)
    else:
        rig.marked(ident, run)
    assert changed(rig, "pause", ident)["plan_state"] == PAUSE and rig.score(ident) is None
    if not heard:
        rig.jobs.answer(run, ST.RUNING)
        assert rig.state(ident, ST.RUNING)["plan_state"] == PAUSE
    answer(rig, run, status)
    news = results.recv()
    good = status == ST.OK
    assert news.code == status
    assert (told(news)["plan_state"], told(news)["real_repet"]) == (PAUSE, good)
    message = ended(rig, ident)
    assert (message["plan_state"], message["last_state"]) == (PAUSE, status)
    assert (message["real_repet"], message["plan_time"]) == (good, run.plan_time + good)
    assert rig.work(ident)["jobs"][1] == b"counted"
    assert rig.score(ident) is None
    rig.client.done("reset", ident)
    again = rig.jobs.recv()
    assert (again.plan_time, again.plan["real_repet"]) == (run.plan_time + good, good)


@pytest.mark.parametrize("status", [ST.NOT_WORKER, ST.NOT_SUPPORT])
def test_pause_before_the_target_refuses(rig, status):
    ident = rig.client.added(catching_up())
    run = rig.jobs.recv()
    rig.marked(ident, run)
    changed(rig, "pause", ident)
    rig.jobs.answer(run, status)
    message = ended(rig, ident)
    assert message["plan_state"] in (PAUSE, ERROR) and message["last_state"] == status
    assert rig.score(ident) is None
    rig.client.done("reset", ident)
    assert rig.jobs.recv().plan_time == run.plan_time


def test_pause_before_no_status_comes(make_rig):
    rig = make_rig("--send-timeout", "300")
    ident = rig.client.added(catching_up())
    run = rig.jobs.recv()
    rig.marked(ident, run)
    rig.client.done("pause", ident)
    message = rig.state(ident, ST.RECV_ERROR)
    assert message["plan_state"] == PAUSE and rig.score(ident) is None
    rig.client.done("reset", ident)
    assert rig.jobs.recv().plan_time == run.plan_time


def test_pause_while_the_last_run_is_out(rig):
    """Nothing is left to be paused."""
    ident, run = out(rig, at_once())
    changed(rig, "pause", ident)
    answer(rig, run, ST.OK)
    rig.gone(ident)


def test_pause_longer_than_the_lease(make_rig):
    """A paused plan is not sent again when the lease ends; the late result counts all the same."""
    rig = make_rig("--exec-timeout", "3")
    ident, run = out(rig)
    changed(rig, "pause", ident)
    rig.jobs.nothing(4.5)
    answer(rig, run, ST.OK)
    message = rig.repet(ident, 1)
    assert message["plan_state"] == PAUSE and rig.score(ident) is None


@pytest.mark.parametrize("status", [ST.OK, ST.ERROR])
def test_reset_of_a_paused_running_plan(rig, status):
    """One run, not two: the one that is out goes on and its result counts."""
    ident, run = out(rig)
    for _ in range(3):
        changed(rig, "pause", ident)
        rig.client.done("reset", ident)
    rig.jobs.nothing(1.2)
    answer(rig, run, status)
    again = rig.jobs.recv()
    good = status == ST.OK
    assert (again.plan_time, again.plan["real_repet"]) == (run.plan_time + good, good)
    answer(rig, again, ST.OK)
    rig.repet(ident, good + 1)


def test_a_run_that_is_paused_and_reset_keeps_a_lease(make_rig):
    rig = make_rig("--exec-timeout", "2")
    ident, run = out(rig)
    rig.client.done("pause", ident)
    rig.client.done("reset", ident)
    again = rig.jobs.recv()
    assert again.plan_time == run.plan_time and again.claimed >= run.claimed + 2
    answer(rig, again, ST.OK)
    rig.repet(ident, 1)


@pytest.mark.parametrize("status", [ST.OK, ST.ERROR, ST.NOT_SUPPORT])
@pytest.mark.parametrize("last", [False, True])
def test_close_while_a_run_is_out(rig, status, last):
    """The result counts, but the plan stays closed, with its message, even after its last run."""
    results = rig.subscribe(b"every")
    ident, run = out(rig, catching_up(1 if last else 5))
    assert changed(rig, "close", ident)["plan_state"] == CLOSE
    answer(rig, run, status)
    assert told(results.recv())["plan_state"] == CLOSE
    message = ended(rig, ident)
    assert (message["plan_state"], message["last_state"]) == (CLOSE, status)
    assert message["real_repet"] == (status == ST.OK) and rig.score(ident) is None
    assert rig.work(ident)["jobs"][1] == b"counted"
    rig.client.done("remove", ident)
    assert not rig.left(ident)


def test_skip_while_a_run_is_out(rig):
    """A run that is out is not one of those skipped."""
    ident, run = out(rig, catching_up(8))
    rig.client.done("skip", ident, 2)
    rig.client.done("skip", ident, 1)
    untouched(rig, ident, lambda: rig.client.refused("skip", ident, 4))     # 3 of 7 are skipped
    answer(rig, run, ST.OK)
    for nth in (4, 5, 6, 7):
        again = rig.jobs.recv()
        assert (again.plan_time, again.plan["real_repet"]) == (run.plan_time + nth, nth - 3)
        rig.jobs.finish(again)
    rig.gone(ident)


def test_skip_while_a_run_is_out_that_fails(rig):
    """The run is retried; what was to be skipped is behind it."""
    ident, run = out(rig)
    rig.client.done("skip", ident, 2)
    answer(rig, run, ST.ERROR)
    again = rig.jobs.recv()
    assert again.plan_time == run.plan_time
    rig.jobs.finish(again)
    assert rig.jobs.recv().plan_time == run.plan_time + 3


def test_skip_while_a_run_is_out_and_a_restart(rig):
    ident, run = out(rig)
    rig.client.done("skip", ident, 2)
    rig.restart()
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    assert rig.jobs.recv().plan_time == run.plan_time + 3


def test_next_while_a_run_is_out(rig):
    """The run in hand is the first, then those that are not skipped."""
    ident, run = out(rig, catching_up(8))
    when = run.plan_time
    assert nominals(rig, ident) == [when + nth for nth in range(8)]
    rig.client.done("skip", ident, 3)
    assert nominals(rig, ident) == [when, *(when + nth for nth in range(4, 8))]


def test_update_while_a_run_is_out(rig):
    ident, run = out(rig)
    untouched(rig, ident, lambda: rig.client.refused(
        "update", ident, {"revision": rig.message(ident)["revision"], "description": "x"}))
    changed(rig, "pause", ident)        # out all the same
    untouched(rig, ident, lambda: rig.client.refused(
        "update", ident, {"revision": rig.message(ident)["revision"], "description": "x"}))
    answer(rig, run, ST.OK)
    ended(rig, ident)
    assert updated(rig, ident, description="x")["plan_state"] == PAUSE


def test_a_result_of_a_removed_plan_is_not_one_of_the_next_with_its_id(rig):
    ident, run = out(rig)
    rig.client.done("remove", ident)
    assert rig.client.added(every(1000, 5), gid=ident) == ident
    before = rig.message(ident)
    for status in (ST.WAITING, ST.OK):
        answer(rig, run, status)
        rig.client.result(ident, status, [(FT.LOCAL_ID, run.local_id)])
        rig.client.result(ident, status)
    rig.settle()
    assert rig.message(ident) == before and rig.work(ident) == {}


@pytest.mark.parametrize("status", [ST.OK, ST.ERROR])
@pytest.mark.parametrize("word, state", [("pause", PAUSE), ("close", CLOSE)])
def test_pause_and_close_while_a_run_besides_the_schedule_is_out(rig, word, state, status):
    ident = rig.client.added(every(1000, 5))
    before = public(rig, ident)
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    assert changed(rig, word, ident)["plan_state"] == state
    answer(rig, run, status)
    after = ended(rig, ident)
    assert (after["plan_state"], after["real_repet"]) == (state, 0)
    assert after["plan_time"] == before["plan_time"] and rig.score(ident) is None


def test_reset_of_a_paused_plan_while_a_run_besides_the_schedule_is_out(rig):
    ident = put(rig, PAUSE)
    when = rig.message(ident)["plan_time"]
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    reply = rig.client.manage("reset", ident)       # running: proto 9.2 allows it no state
    answer(rig, run, ST.OK)
    after = ended(rig, ident)
    assert (after["real_repet"], after["plan_time"]) == (0, when)
    if reply.code == ST.OK:
        assert after["plan_state"] == QUEUE and rig.score(ident) == when
    else:
        assert after["plan_state"] == PAUSE and rig.score(ident) is None


def test_skip_while_a_run_besides_the_schedule_is_out(rig):
    """That run is none of the schedule: the next N occurrences are skipped."""
    ident = rig.client.added(every(1000, 5))
    when = rig.message(ident)["plan_time"]
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.client.done("skip", ident, 2)
    answer(rig, run, ST.OK)
    after = ended(rig, ident)
    assert (after["plan_time"], after["plan_state"], after["real_repet"]) == (when + 2000, QUEUE, 0)
    assert rig.score(ident) == when + 2000 and len(nominals(rig, ident)) == 3


# The storm.


class Storm:
    """Plans that fire every second, with a target that answers, paused and reset at random."""

    def __init__(self, rig, plans, repet, seed):
        self.rig, self.repet = rig, repet
        self.rng = random.Random(seed)
        self.base = int(time.time()) + 1
        self.runs = []              # as they came
        self.stops = []             # when the station went down, when it was up again
        self.paused = {}            # ident -> when the pause was answered
        self.pauses = []            # (ident, answered, reset sent)
        self.idents = [rig.client.added(every(1, repet, no_keep=True, plan_time=self.base,
                                              description=f"storm {n}"))
                       for n in range(plans)]

    def answer(self, limit):
        """Answer what has come, at most so much of it."""
        for _ in range(limit):
            if not self.rig.jobs.socket.poll(0):
                return
            run = self.rig.jobs.recv()
            self.runs.append(run)
            # Now and then what was said at once and what comes later are in one packet, or not.
            self.rig.jobs.finish(run)

    def turn(self):
        ident = self.rng.choice(self.idents)
        word = "reset" if ident in self.paused else "pause"
        sent = time.time()
        reply = self.rig.client.manage(word, ident)
        if reply.code == ST.NOT_FIND:           # it has ended
            self.paused.pop(ident, None)
        elif word == "pause":
            assert reply.code == ST.OK and reply.json["plan_state"] == PAUSE, reply
            self.paused[ident] = time.time()
        else:
            # A plan whose last run was out when it was paused ends paused.
            assert reply.code == ST.OK, reply
            self.pauses.append((ident, self.paused.pop(ident), sent))

    def restart(self):
        down = time.time()
        self.rig.restart()
        self.stops.append((down, time.time()))

    def finish(self):
        for ident in list(self.paused):
            sent = time.time()
            reply = self.rig.client.manage("reset", ident)
            assert reply.code in (ST.OK, ST.NOT_FIND), reply
            self.pauses.append((ident, self.paused.pop(ident), sent))

        def all_gone():
            self.answer(1000)
            return not any(self.rig.left(ident) for ident in self.idents)
        wait_until(all_gone, "every plan has ended", 90)

    def check(self):
        runs = {ident: [] for ident in self.idents}
        for run in self.runs:
            runs[run.mailbox[1:].decode()].append(run)
        for ident, answered, sent in self.pauses:
            fired = [run for run in runs[ident] if answered < run.claimed < sent]
            assert not fired, f"{ident} fired while it was paused: {answered} {sent} {fired}"
        wanted = [self.base + nth for nth in range(1, self.repet + 1)]
        for ident in self.idents:
            times = [run.plan_time for run in runs[ident]]
            assert sorted(set(times)) == wanted, f"{ident}: {times}"
            assert times == sorted(times)
            for one, two in zip(runs[ident], runs[ident][1:]):
                # Sent twice only where the first one's answer was lost with the station.
                lost = any(one.claimed < up and down < two.claimed for down, up in self.stops)
                assert lost or one.plan_time < two.plan_time, f"{ident}: {times}"
                assert two.plan["real_repet"] == wanted.index(two.plan_time)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_storm_of_pauses(make_rig, seed):
    """20 plans, each due every second: none fires while it is paused, no occurrence is lost or run
    twice, real_repet is exact at each of them, over two restarts of the station.
    """
    rig = make_rig("--exec-timeout", "3")
    storm = Storm(rig, plans=20, repet=12, seed=seed)
    end = time.monotonic() + 12
    restarts = [end - 8, end - 4]
    while time.monotonic() < end:
        storm.turn()
        storm.answer(storm.rng.randrange(12))
        if restarts and time.monotonic() > restarts[0]:
            restarts.pop(0)
            storm.restart()
    storm.finish()
    storm.check()
    counts = {}
    for run in all_runs(rig):
        if run["status"] == ST.OK:
            counts[run["plan"]] = counts.get(run["plan"], 0) + 1
    assert counts == {ident: 12 for ident in storm.idents}


def all_runs(rig):
    runs, after = [], {}
    while True:
        page = rig.client.done("history", {"limit": 1000, **after}).json
        runs += page["runs"]
        if "next" not in page:
            return runs
        after = {"after": page["next"]}
