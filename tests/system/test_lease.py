"""Leases, retries, late results (proto 7.1, 7.3, 7.4): what counts, when it fires again."""
import time

import pytest

from zplantest import FT, ST, at_once, describe, every, later, told, wait_until

LEASE = 4       # seconds: longer than a slow machine stalls between two signs of life
LATE = 5        # an upper bound for what should take about a second


@pytest.fixture
def short(make_rig):
    return make_rig("--exec-timeout", str(LEASE))


def runing(rig, ident, run):
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)


def second_run(rig, ident, first):
    """Let the lease of the first run end without a result; return the run that follows."""
    second = rig.jobs.recv()
    assert second.mailbox == b"*" + ident.encode() and second.exec_id > first.exec_id
    assert second.plan_time == first.plan_time
    return second


# The lease.

def test_A003_A077_silent_after_runing(short):
    """B092: The second dispatch comes a lease after the last heartbeat, not before."""
    ident = short.client.added(at_once())
    first = short.jobs.recv()
    sign = time.time()
    runing(short, ident, first)
    second = second_run(short, ident, first)
    assert sign + LEASE <= second.claimed <= sign + LEASE + 1.1 + LATE
    assert second.plan["deadline"] >= second.claimed + 1
    assert short.message(ident)["real_repet"] == 0
    short.jobs.finish(second)
    short.gone(ident)


def test_A076_a_running_plan_is_not_fired_again(rig):
    """B103: exec-timeout 300, an occurrence each second, a run of 2.5 s."""
    ident = rig.client.added(every(1, -1))
    runing(rig, ident, rig.jobs.recv())
    rig.jobs.nothing(2.5)


@pytest.mark.parametrize("by_request_socket", [False, True])
def test_A115_A116_waiting_keeps_the_lease(make_rig, by_request_socket):
    """A WAITING a second for twice the lease: one dispatch, no broadcast, and the result counts once."""
    short = make_rig("--exec-timeout", "4")
    results = short.subscribe(b"every")
    ident = short.client.added(every(30, 2, no_keep=True, plan_time=int(time.time()) - 30))
    run = short.jobs.recv()
    runing(short, ident, run)
    for turn in range(8):
        short.jobs.nothing(1)
        status = (ST.WAITING, ST.WAITING_TOO)[turn % 2]
        if by_request_socket:
            short.client.result(ident, status, [(FT.LOCAL_ID, run.local_id)] * (turn % 2))
        else:
            short.jobs.answer(run, status)
    short.jobs.answer(run, ST.OK)
    assert short.repet(ident, 1)["plan_time"] == run.plan_time + 30
    news = results.recv()
    assert news.code == ST.OK and told(news)["real_repet"] == 1
    short.jobs.nothing(0.2)


@pytest.mark.parametrize("words, shown", [
    (b"40 % copying", "40 % copying"),
    ("\u00e4\"\\\n".encode(), "\u00e4\"\\\n"),
    (b"x" * 255 + "\u00e4".encode(), "x" * 255),     # no character is cut in two
    (b"\xff is no text", "before"),
    (b"nor\0is this", "before"),
    (b"", "before"),
])
def test_progress_is_shown_while_the_run_is_in_hand(rig, words, shown):
    """B112: A STATUS frame of WAITING: `message` shows it, it is written nowhere, gone with the run."""
    ident = rig.client.added(every(1, 2, no_keep=True))
    run = rig.jobs.recv()
    runing(rig, ident, run)
    stored = rig.message(ident)
    assert "progress" not in rig.client.done("message", ident).json
    for word in (b"before", words):
        rig.jobs.answer(run, ST.WAITING, [(FT.STATUS, word), (FT.LOCAL_ID, run.local_id)])
    rig.jobs.answer(run, ST.WAITING, [(FT.STATUS, b"of another run"), (FT.LOCAL_ID, b"1")])
    wait_until(lambda: rig.client.done("stats").json["counters"]["late_answers"] == 1, "all is read")
    assert rig.client.done("message", ident).json == {**stored, "progress": shown}
    assert rig.message(ident) == stored
    rig.jobs.finish(run)
    second = rig.jobs.recv()
    assert "progress" not in rig.client.done("message", ident).json
    rig.jobs.finish(second)
    rig.gone(ident)


def test_A115_silent_after_waiting(short):
    ident = short.client.added(at_once())
    first = short.jobs.recv()
    runing(short, ident, first)
    for _ in range(2):
        short.jobs.nothing(1)
        sign = time.time()
        short.jobs.answer(first, ST.WAITING)
    second = second_run(short, ident, first)
    assert sign + LEASE <= second.claimed <= sign + LEASE + 1.1 + LATE


def test_A115_waiting_as_the_status(short):
    """WAITING is a sign of life and never a result, also where RUNING was to come."""
    ident = short.client.added(at_once())
    run = short.jobs.recv()
    for _ in range(LEASE + 1):
        short.jobs.answer(run, ST.WAITING)
        short.jobs.nothing(1)
    assert short.message(ident)["real_repet"] == 0
    short.jobs.answer(run, ST.OK)
    short.gone(ident)


def test_5_runing_is_never_a_result(short):
    """A sign of life, by the connection and by the request socket, however often."""
    ident = short.client.added(every(1000, 2, no_keep=True, plan_time=int(time.time()) - 1000))
    run = short.jobs.recv()
    runing(short, ident, run)
    for _ in range(LEASE + 1):
        short.jobs.answer(run, ST.RUNING)
        short.client.result(ident, ST.RUNING, [(FT.LOCAL_ID, run.local_id)])
        short.jobs.nothing(1)
    message = short.message(ident)
    assert message["real_repet"] == 0 and message["last_state"] == ST.RUNING
    assert short.work(ident) == {}
    short.jobs.answer(run, ST.OK)
    short.repet(ident, 1)


def test_A116_waiting_of_a_run_that_ended(short):
    ident = short.client.added(every(1000, 2, no_keep=True, plan_time=int(time.time()) - 1000))
    run = short.jobs.recv()
    short.jobs.finish(run)
    before = short.repet(ident, 1)
    score = short.score(ident)
    short.jobs.answer(run, ST.WAITING)
    short.client.result(ident, ST.WAITING_TOO, [(FT.LOCAL_ID, run.local_id)])
    short.settle()
    short.settle()
    assert short.message(ident) == before and short.score(ident) == score


def test_4_5_the_lease_outlives_a_restart_of_the_station(short):
    """A run that was in hand when the station stopped: no second dispatch before its end."""
    ident = short.client.added(at_once())
    first = short.jobs.recv()
    sign = time.time()
    runing(short, ident, first)
    short.restart()
    second = second_run(short, ident, first)
    assert second.claimed >= sign + LEASE


def test_A084_the_result_comes_after_a_restart_of_the_station(rig):
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    runing(rig, ident, run)
    rig.restart()
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(ident)
    rig.jobs.nothing(1)


# Late results.

def test_A077_late_result_with_the_old_local_id(short):
    """Neither before nor after the new run's RUNING, by either socket."""
    results = short.subscribe(b"every")
    base = int(time.time()) - 1000
    ident = short.client.added(every(1000, 2, no_keep=True, plan_time=base))
    first = short.jobs.recv()
    runing(short, ident, first)
    second = second_run(short, ident, first)
    late = [(FT.CONTENT, b"late"), (FT.LOCAL_ID, first.local_id)]
    short.client.result(ident, ST.OK, late)
    short.jobs.answer(second, ST.RUNING)
    short.jobs.answer(second, ST.OK, late)
    short.client.result(ident, ST.ERROR, late)
    short.settle()
    assert short.message(ident)["real_repet"] == 0 and short.work(ident) == {}
    new = [(FT.CONTENT, b"new"), (FT.LOCAL_ID, second.local_id)]
    short.jobs.answer(second, ST.OK, new)
    assert short.repet(ident, 1)["plan_time"] == base + 2000
    assert short.work(ident)["jobs"][1] == b"new"
    news = results.recv()
    assert news.every(FT.CONTENT)[1] == b"new"
    # Once more the same: its run has ended.
    short.jobs.answer(second, ST.OK, new)
    short.client.result(ident, ST.OK, new)
    short.settle()
    assert short.message(ident)["real_repet"] == 1
    results.nothing(0.3)


def test_4_5_late_result_on_the_connection_before_the_runing_of_the_new_run(short):
    """Its LOCAL_ID says that it is no status of the new run."""
    ident = short.client.added(every(1000, 2, no_keep=True, plan_time=int(time.time()) - 1000))
    first = short.jobs.recv()
    runing(short, ident, first)
    second = second_run(short, ident, first)
    short.jobs.answer(second, ST.OK, [(FT.CONTENT, b"late"), (FT.LOCAL_ID, first.local_id)])
    short.jobs.finish(second, ST.OK, [(FT.CONTENT, b"new")])
    short.repet(ident, 1)
    assert short.work(ident)["jobs"][1] == b"new"


def test_4_5_result_without_local_id_after_a_lease_ended(short):
    """It counts only on the connection of the new run, after that run's RUNING."""
    ident = short.client.added(every(1000, 2, no_keep=True, plan_time=int(time.time()) - 1000))
    first = short.jobs.recv()
    runing(short, ident, first)
    second = second_run(short, ident, first)
    short.client.result(ident, ST.OK, [(FT.CONTENT, b"by request, before RUNING")])
    short.settle()
    runing(short, ident, second)
    short.client.result(ident, ST.OK, [(FT.CONTENT, b"by request, after RUNING")])
    short.settle()
    assert short.message(ident)["real_repet"] == 0 and short.work(ident) == {}
    short.jobs.answer(second, ST.OK, [(FT.CONTENT, b"on the connection")])
    short.repet(ident, 1)
    assert short.work(ident)["jobs"][1] == b"on the connection"


def test_4_5_result_that_comes_between_the_lease_and_the_next_run(short):
    """The last heartbeat is old, the target away: no run follows, so none is in flight twice."""
    ident = short.client.added(at_once())
    first = short.jobs.recv()
    runing(short, ident, first)
    short.jobs.close()
    short.state(ident, ST.SEND_ERROR)
    short.client.result(ident, ST.OK)           # no LOCAL_ID: whose is it?
    short.settle()
    assert short.message(ident)["real_repet"] == 0
    short.jobs.open()
    again = second_run(short, ident, first)
    short.jobs.finish(again)
    short.gone(ident)


# Error results.

def test_A022_A097_error_results_are_retried_with_the_same_time(rig):
    """Twice an error, then OK: 3 dispatches, 1 then 2 s apart, real_repet 1; then paced anew."""
    results = rig.subscribe(b"every")
    base = int(time.time()) - 100
    ident = rig.client.added(every(1, 5, no_keep=True, plan_time=base))
    run = rig.jobs.recv()
    for pace in (1, 2):
        failed = time.time()
        rig.jobs.finish(run, ST.ERROR, [(FT.STATUS, b"-why")])
        message = rig.state(ident, ST.ERROR)
        assert message["last_state"] == 129 and message["real_repet"] == 0       # A022: unsigned
        assert message["plan_time"] == base + 1 and rig.score(ident) is not None
        assert rig.work(ident)["jobs"][:2] == [
            describe(ST.ERROR, [FT.STATUS, FT.LOCAL_ID]), b"-why"]
        run = rig.jobs.recv()
        assert run.plan_time == base + 1 and run.claimed >= failed + pace
    rig.jobs.finish(run)
    run = rig.jobs.recv()
    assert run.plan_time == base + 2 and run.plan["real_repet"] == 1
    failed = time.time()
    rig.jobs.finish(run, ST.FAILED)
    run = rig.jobs.recv()
    assert run.plan_time == base + 2
    assert failed + 1 <= run.claimed < failed + 4       # a third failure in a row would wait 4 s
    codes = [results.recv().code for _ in range(4)]
    assert codes == [ST.ERROR, ST.ERROR, ST.OK, ST.FAILED]


def test_A098_status_0x80_is_an_error(rig):
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    failed = time.time()
    rig.jobs.finish(run, ST.ERROR_FLAG)
    assert rig.state(ident, 128)["real_repet"] == 0
    again = rig.jobs.recv()
    assert again.plan_time == run.plan_time and again.claimed >= failed + 1


@pytest.mark.parametrize("status", [0x02, 0x04, 0x21, 0x7f])
def test_A099_whatever_is_below_the_boundary_is_a_success(rig, status):
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv(), status)
    rig.gone(ident)


def test_A097_not_worker_as_a_result_is_an_error_result(rig):
    """After RUNING a message is a result, whatever its status."""
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.finish(run, ST.NOT_WORKER)
    rig.state(ident, ST.NOT_WORKER)
    assert rig.work(ident)["jobs"][1] == run.local_id
    again = rig.jobs.recv()
    assert again.plan_time == run.plan_time and again.exec_id != run.exec_id


# Forged and foreign.

def plans(rig):
    return {key: value for key, value in rig.dump().items()
            if key.startswith((b"plan:msg:", b"plan:work:"))}


@pytest.mark.parametrize("mailbox", [
    b"*zz", b"*", b"*0", b"*-1", b"*" + b"f" * 16, b"*" + b"1" * 17, b"*" + b"a" * 299,
    b"*\0", b"*\xff\xfe", b"*1 ", b"* 1", b"*7777"])
def test_A094_A095_forged_mailboxes(shared, mailbox):
    """Dropped and never answered; the next answer is that of the ping."""
    shared.client.submit(later(), gid="1")      # there from the first row on
    assert shared.message("1")
    before = plans(shared)
    for status in (ST.OK, ST.WAITING, ST.ERROR, 0):
        shared.client.send(status, [(FT.CONTENT, b"x")], before=[mailbox])
        shared.client.send(status, [], before=[mailbox])
    shared.client.socket.send_multipart([mailbox])
    shared.client.socket.send_multipart([mailbox, b""])
    shared.client.socket.send_multipart([mailbox, b"", b"x"])
    shared.client.ping()
    assert plans(shared) == before
    shared.settle()
    after = plans(shared)
    assert {key: after.get(key) for key in before} == before
    assert not [key for key in after if key.startswith(b"plan:work:")]


def test_A094_forged_mailboxes_on_the_connection_of_a_target(rig):
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    for parts in ([b"*zz", describe(ST.OK, [])], [b"*"], [b""], [b"*7777", describe(ST.RUNING, [])],
                  [b"\x05\x03"], [run.mailbox], [run.mailbox, b""], [b"x" * 300] * 50):
        rig.jobs.socket.send_multipart([run.before[0], *parts])
    rig.jobs.finish(run)
    rig.gone(ident)
    rig.client.ping()
