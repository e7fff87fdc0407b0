"""Firing (proto 7): what the target gets, and what each of its answers does."""
import json
import time

import pytest

from zplantest import (CMD, FT, PLAN_FIELDS, ST, FakeTarget, at_once, describe, every, later,
                       new_second, plan_frames, told, wait_until)

ECHOES = [(FT.REQUESTER, b"boss"), (FT.REQUEST_ID, b"r-1")]
PACE = 1.0      # 4.10: the first retry, from the failure


# The dispatch.

def test_A083_A085_layout_byte_by_byte(rig):
    more = [(FT.CONTEXT, b"{}"), (FT.ARG, b"one"), *ECHOES, (FT.ARG, b"")]
    ident = rig.client.added(at_once(), more=more)
    run = rig.jobs.recv()
    assert run.mailbox == b"*" + ident.encode()
    sent = [(FT.COMMAND, b"do"), *more]
    types = [*(t for t, _ in sent), FT.PLAN, FT.PLAN_TIME, FT.LOCAL_ID, FT.GLOBAL_ID]
    assert run.desc == describe(CMD.PROXY, types)
    assert run.frames[:len(sent)] == [f for _, f in sent]
    assert run.get(FT.GLOBAL_ID) == ident.encode()
    assert run.every(FT.STATION_ID) == []


def test_A083_a_given_id_stays_where_and_as_it_was(rig):
    pairs = plan_frames(at_once(), gid="00FF", more=[(FT.ARG, b"after")])
    assert rig.client.ask(CMD.PLAN, pairs).get(FT.GLOBAL_ID) == b"ff"
    run = rig.jobs.recv()
    types = [FT.COMMAND, FT.GLOBAL_ID, FT.ARG, FT.PLAN, FT.PLAN_TIME, FT.LOCAL_ID]
    assert run.desc == describe(CMD.PROXY, types)
    assert run.mailbox == b"*ff"
    assert run.frames[:3] == [b"do", b"00FF", b"after"]


def test_plan_and_station_need_not_stand_first(rig):
    pairs = plan_frames(at_once())
    rig.client.ask(CMD.PLAN, [(FT.ARG, b"0"), pairs[2], (FT.ARG, b"1"), pairs[1], pairs[0]])
    run = rig.jobs.recv()
    assert run.types[:4] == bytes([FT.ARG, FT.COMMAND, FT.ARG, FT.PLAN])
    assert run.frames[:3] == [b"0", b"do", b"1"]


def test_30_frames_fire_as_32(rig):
    pairs = plan_frames(at_once())
    pairs += [(FT.ARG, b"%d" % n) for n in range(30 - len(pairs))]
    assert rig.client.ask(CMD.PLAN, pairs).code == ST.PLAN
    run = rig.jobs.recv()
    assert run.frames[:28] == [f for _, f in pairs[2:]] and len(run.frames) == 32


def test_A082_A114_plan_and_plan_time(make_rig):
    rig = make_rig("--exec-timeout", "100")
    second = new_second()
    ident = rig.client.added(every(1, 3, description="日报", plan_time=second), more=ECHOES)
    run = rig.jobs.recv()
    plan = run.plan
    assert run.get(FT.PLAN_TIME) == b"%d" % (second + 1)
    assert plan["plan_time"] == second + 1 and plan["base_time"] == second
    assert plan["plan_id"] == int(ident, 16) and plan["description"] == "日报"
    assert (plan["plan_type"], plan["plan_value"], plan["plan_repet"]) == (2, 1, 3)
    assert (plan["real_repet"], plan["no_keep"], plan["station"]) == (0, False, "jobs")
    assert plan["request_id"] == "r-1" and run.at >= second + 1
    assert "messages" not in plan
    for name, kind in PLAN_FIELDS.items():
        if name != "messages":
            kinds = (str, dict) if kind is str else kind
            assert isinstance(plan[name], kinds), name
            assert isinstance(plan[name], bool) == (kind is bool), name
    # The end of the lease, which began at the dispatch.
    assert second + 1 + 100 <= plan["deadline"] <= run.at + 101


def test_exec_id_is_local_id_and_the_clock_of_redis(rig):
    """4.8: max (last + 1, Redis TIME in microseconds); LOCAL_ID is it in hex."""
    start = time.time()
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    assert int(start * 1e6) <= run.plan["exec_id"] <= run.at * 1e6
    assert run.local_id == b"%x" % run.plan["exec_id"]
    rig.marked(ident, run)


def test_A005_none_fires_once_and_is_gone(rig):
    for repet in (0, -1, 5):
        ident = rig.client.added(at_once(plan_repet=repet))
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(ident)
    rig.jobs.nothing(1.2)


# Statuses.

def test_A024_A036_A089_runing_then_the_result_on_the_same_connection(rig):
    """B111: RUNING says that the work has begun."""
    ident = rig.client.added(every(1, 2, no_keep=True))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    message = rig.state(ident, ST.RUNING)
    assert message["plan_state"] == 2                            # execute
    assert int(run.at) - 1 <= message["exec_time"] <= time.time()
    assert message["exec_id"] == run.plan["exec_id"]
    assert rig.work(ident) == {}
    rig.jobs.answer(run, ST.OK, [(FT.CONTENT, b"done"), (FT.BIN, b"\0\xff"), (FT.JSON, b"{}")])
    message = rig.repet(ident, 1)
    assert message["last_state"] == ST.OK
    # A034, A035: the raw frames, description first, by participant.
    desc = describe(ST.OK, [FT.CONTENT, FT.BIN, FT.JSON])
    assert rig.work(ident) == {"jobs": [desc, b"done", b"\0\xff", b"{}"]}
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)


@pytest.mark.parametrize("with_local_id", [True, False])
@pytest.mark.parametrize("after_runing", [True, False])
def test_A093_the_result_to_the_request_socket(rig, with_local_id, after_runing):
    """B113: On the request socket a message is always a result (proto 7.3)."""
    ident = rig.client.added(every(1, 2, no_keep=True))
    run = rig.jobs.recv()
    if after_runing:
        rig.jobs.answer(run, ST.RUNING)
        rig.state(ident, ST.RUNING)
    rig.dealer().result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)] if with_local_id else ())
    assert rig.repet(ident, 1)["plan_time"] == run.plan_time + 1
    assert rig.jobs.recv().plan["real_repet"] == 1


def test_A090_pub_answers_ok(rig):
    results = rig.subscribe(b"every")
    ident = rig.client.added(every(1, 2, no_keep=True), station="news")
    for count in (1, 2):
        run = rig.news.recv()
        assert run.code == CMD.PROXY and run.get(FT.PUB_TITLE) == b"title"
        rig.news.answer(run, ST.OK)
        news = results.recv()
        assert news.code == ST.OK and told(news)["real_repet"] == count
    rig.gone(ident, "news")


def test_A090_an_api_target_may_answer_ok_too(rig):
    ident = rig.client.added(every(1, 2, no_keep=True))
    rig.jobs.answer(rig.jobs.recv(), ST.OK, [(FT.CONTENT, b"quick")])
    rig.repet(ident, 1)
    assert rig.work(ident)["jobs"][1] == b"quick"


def test_A088_not_worker(rig):
    """Broadcast once a minute; the plan stays queued and is tried again: 1, then 2 s later."""
    results = rig.subscribe(b"at once")
    ident = rig.client.added(at_once())
    runs = [rig.jobs.recv()]
    for pace in (PACE, 2 * PACE):
        failed = time.time()
        rig.jobs.answer(runs[-1], ST.NOT_WORKER)
        message = rig.state(ident, ST.NOT_WORKER)
        assert message["real_repet"] == 0 and rig.score(ident) is not None
        runs.append(rig.jobs.recv())
        assert runs[-1].claimed >= failed + pace
        assert runs[-1].plan_time == runs[0].plan_time
    assert len({run.exec_id for run in runs}) == 3
    rig.jobs.finish(runs[-1])
    rig.gone(ident)
    assert [results.recv().code, results.recv().code] == [ST.NOT_WORKER, ST.OK]


def test_A086_no_status_in_time(make_rig):
    """RECV_ERROR, tried again with another exec_id; broadcast once a minute."""
    rig = make_rig("--send-timeout", "300")
    results = rig.subscribe(b"at once")
    ident = rig.client.added(at_once())
    first = rig.jobs.recv()
    message = rig.state(ident, ST.RECV_ERROR)
    assert message["real_repet"] == 0 and rig.score(ident) is not None
    second = rig.jobs.recv()
    third = rig.jobs.recv()
    # A timer may be early by its own grain, no more.
    assert second.claimed >= first.claimed + 0.3 + PACE - 0.01
    assert third.claimed >= second.claimed + 0.3 + 2 * PACE - 0.01
    assert first.plan_time == second.plan_time == third.plan_time
    rig.jobs.finish(third)
    rig.gone(ident)
    assert [results.recv().code, results.recv().code] == [ST.RECV_ERROR, ST.OK]


@pytest.mark.parametrize("answer", ["RUNING", "OK", "result"])
def test_a_status_after_the_timeout_but_before_the_retry_is_taken(make_rig, answer):
    """A status or a result: by the connection, by the request socket."""
    rig = make_rig("--send-timeout", "300")
    ident = rig.client.added(later(), station="news")
    rig.edit(ident, "news", error_count=5)
    rig.due_now(ident, "news")
    run = rig.news.recv()
    rig.state(ident, ST.RECV_ERROR, "news")     # the sixth failure: the retry is half a minute away
    if answer == "result":
        rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    else:
        rig.news.answer(run, getattr(ST, answer))
    if answer == "RUNING":
        rig.state(ident, ST.RUNING, "news")
        assert rig.score(ident, "news") > time.time() + 100     # a lease, and no retry
        rig.news.answer(run, ST.OK)
    rig.gone(ident, "news")
    rig.news.nothing(0.3)


@pytest.mark.parametrize("timeout", [None, 60])
def test_a_run_ends_by_the_timeout_that_its_plan_has_now(make_rig, timeout):
    """It was changed while the run counted as over; then a late status came."""
    rig = make_rig("--send-timeout", "300")
    ident = rig.client.added(later(timeout=2))
    rig.edit(ident, error_count=5)      # so that the retry is half a minute away
    rig.due_now(ident)
    run = rig.jobs.recv()
    rig.state(ident, ST.RECV_ERROR)
    rig.client.done("pause", ident)
    stored = rig.message(ident)
    rig.client.done("update", ident, json.dumps({"revision": stored["revision"], "timeout": timeout}))
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    time.sleep(max(0, run.claimed + 2.5 - time.time()))     # behind the end that it had: nothing happens then
    assert rig.message(ident)["last_state"] == ST.RUNING
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    wait_until(lambda: [one["status"] for one in rig.client.done("history", ident).json["runs"]] == [ST.RECV_ERROR, ST.OK],
               "it has ended well")


def test_A086_target_absent_then_there(make_rig):
    """SEND_ERROR and pacing; when the target connects, what waits for it is due at once."""
    rig = make_rig(start=False)
    rig.station.args += ["--station", "late=api@" + rig.ipc("l")]
    rig.start()
    results = rig.subscribe(b"at once")
    ident = rig.client.added(at_once(), station="late")
    rig.state(ident, ST.SEND_ERROR, "late")
    others = [rig.client.added(at_once(), station="late") for _ in range(3)]
    # The fourth failure in a row: the next try would be 8 s away.
    message = wait_until(lambda: (m := rig.message(ident, "late"))["error_count"] >= 4 and m,
                         "four failures")
    assert message["last_state"] == ST.SEND_ERROR and message["real_repet"] == 0
    start = time.monotonic()
    late = rig.keep(FakeTarget(rig.ipc("l")))
    runs = {}
    while len(runs) < 4:
        run = late.recv()
        assert run.mailbox not in runs, "an old run was delivered"
        runs[run.mailbox] = run
        rig.marked(run.mailbox[1:].decode(), run, "late")
        late.finish(run)
    assert time.monotonic() - start < 6
    for one in (ident, *others):
        rig.gone(one, "late")
    late.nothing(1.2)
    codes = [results.recv().code for _ in range(8)]
    assert codes.count(ST.SEND_ERROR) == 4 and codes.count(ST.OK) == 4      # one each


def test_A084_a_target_that_restarts_gets_no_old_run(rig):
    """Nothing is queued for a peer that is away; the answer to its last run still counts."""
    first = rig.client.added(at_once(), gid="1")
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(first, ST.RUNING)
    rig.jobs.close()
    second = rig.client.added(at_once(), gid="2")
    wait_until(lambda: rig.message(second)["last_state"] in (ST.SEND_ERROR, ST.RECV_ERROR),
               "the send has failed")
    rig.jobs.open()
    again = rig.jobs.recv()
    assert again.mailbox == b"*2"
    rig.marked(second, again)
    rig.jobs.finish(again)
    rig.gone(second)
    rig.client.result(first, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(first)
    rig.jobs.nothing(1.2)


@pytest.mark.parametrize("status", [ST.NOT_SUPPORT, ST.ERROR, 0x20, ST.ERROR_FLAG])
def test_A091_any_other_status(rig, status):
    """last_state = it, the frames saved, out of the queue, broadcast."""
    results = rig.subscribe(b"every")
    ident = rig.client.added(every(1, 5))
    run = rig.jobs.recv()
    rig.jobs.answer(run, status, [(FT.STATUS, b"-why"), (FT.BIN, b"\0")])
    message = rig.state(ident, status)
    wait_until(lambda: rig.score(ident) is None, "out of the queue")
    assert message["real_repet"] == 0
    assert rig.work(ident) == {"jobs": [describe(status, [FT.STATUS, FT.BIN]), b"-why", b"\0"]}
    news = results.recv()
    assert news.code == status and told(news)["last_state"] == status
    rig.jobs.nothing(1.5)
    assert rig.message(ident) is not None


def test_A075_a_dead_target_delays_no_other(make_rig):
    rig = make_rig(start=False)
    rig.station.args += ["--station", "dead=api@" + rig.ipc("d")]
    rig.start()
    for _ in range(500):
        rig.client.send(CMD.PLAN, plan_frames(at_once(), "dead"))
    for _ in range(500):
        assert rig.client.recv().code == ST.PLAN
    start = time.monotonic()
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    assert time.monotonic() - start < 5


def test_many_runs_at_one_target_are_told_apart(rig):
    """Answers come in another order than the runs; each goes to its own plan."""
    idents = [rig.client.added(every(1, 2, no_keep=True, description=f"d{n}")) for n in range(20)]
    runs = {}
    while len(runs) < 20:
        run = rig.jobs.recv()
        runs[run.mailbox[1:].decode()] = run
    for ident in reversed(idents):
        rig.jobs.answer(runs[ident], ST.RUNING)
    for n, ident in enumerate(idents):
        rig.jobs.answer(runs[ident], ST.OK, [(FT.CONTENT, b"%d" % n)])
    for n, ident in enumerate(idents):
        rig.repet(ident, 1)
        assert rig.work(ident)["jobs"][1] == b"%d" % n


@pytest.mark.parametrize("written", [False, True])
def test_results_of_runs_that_were_claimed_at_once_are_written_at_once(rig, written):
    """B109: Whether of the runs nothing was written since the claim, or their RUNING was: results that come together
    are few entries of the history, as what is looked at one by one is an entry each."""
    count, due = 120, new_second() + 2
    idents = [rig.client.added(at_once(plan_time=due)) for _ in range(count)]
    runs = [rig.jobs.recv() for _ in range(count)]
    assert {run.mailbox[1:].decode() for run in runs} == set(idents)
    for run in runs if written else ():
        rig.jobs.answer(run, ST.RUNING)
    if written:
        wait_until(lambda: all(not row.endswith(b"=") for row in rig.db.hvals("plan:run")), "RUNING is written")
    for run in runs:
        rig.jobs.answer(run, ST.OK)
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all have ended")
    assert rig.db.xlen("plan:history") <= count // 2
    assert len(rig.client.done("history", {"limit": 1000}).json["runs"]) == count


def test_A094_result_for_a_plan_that_does_not_run(rig):
    """4.5: a result counts for the run in hand; there is none."""
    ident = rig.client.added(later())
    before = rig.message(ident)
    rig.client.result(ident, ST.OK)
    rig.settle()
    assert rig.message(ident) == before and rig.work(ident) == {}
