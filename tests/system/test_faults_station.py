"""The station dies at every point of a plan's life (rows 1 to 13 of the failure table).

What was acknowledged is kept and runs; what was not is stored or not, and the same submission again
gives one plan; a run that may have happened is repeated after its lease, with another number, and
counts once; nothing is half-written.
"""
import json
import os
import signal
import stat
import time

import pytest
import redis as redis_py

import pulltest
from faulttest import LATE, armed, connected, died, history, is_whole, outcomes, resend, twice
from redissteps import embed_redis
from zplanprocs import WAIT, alive, kill_redis
from zplantest import (CMD, FT, ST, FakeTarget, Results, at_once, every, later, plan_frames, told,
                       wait_until)

LEASE = 3                           # seconds
SHORT = ("--exec-timeout", str(LEASE))
LONG = ("--exec-timeout", "60")     # longer than a test


def runing(rig, ident, run):
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)


def first_exec(rig, ident):
    """The number of the run that was claimed, as it stands in Redis."""
    return wait_until(lambda: rig.message(ident)["exec_id"], "a claim")


def runs_again(rig, ident, exec_id, since=None):
    """After the lease, not before, the plan is sent once more with another number, and counts."""
    since = exec_id / 1e6 if since is None else since
    run = rig.jobs.recv()
    assert run.mailbox == b"*" + ident.encode() and run.exec_id > exec_id
    assert since + LEASE <= run.claimed <= since + LEASE + 1 + LATE
    rig.jobs.finish(run)
    assert rig.repet(ident, 1)["plan_time"] == run.plan_time + 1000
    rig.jobs.nothing(0.3)
    assert outcomes(rig, ident) == [(ST.TIMEOUT, exec_id), (ST.OK, run.exec_id)]
    is_whole(rig)
    return run


def counts_once(rig, ident, run):
    """The result of this run, twice by the request socket: counted once, and no other run."""
    for _ in range(2):
        resend(rig, ident, run)
        rig.repet(ident, 1)
    rig.settle()
    assert rig.message(ident)["real_repet"] == 1
    rig.jobs.nothing(0.3)
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    is_whole(rig)


# Rows 1 to 3: submitting.

def dies_in_a_submission(make_rig, point):
    """One plan is acknowledged, the station dies in the next; the rig, its plan."""
    rig = make_rig(env={"ZPLAN_FAILPOINT": point + ":2"})
    rig.client.added(later(), gid="a")
    plan = later()
    rig.client.send(CMD.PLAN, plan_frames(plan, gid="b"))
    died(rig.station)
    return rig, plan


def sent_again(rig, plan):
    """The station comes up; the same submission again, and again: one plan, which runs once."""
    rig.station.start()
    again = rig.dealer()
    for _ in range(2):
        assert again.added(plan, gid="b") == "b"
    assert sorted(rig.db.keys("plan:msg:*")) == [b"plan:msg:jobs:a", b"plan:msg:jobs:b"]
    is_whole(rig, again)
    rig.due_now("b")
    run = rig.jobs.recv()
    assert run.mailbox == b"*b"
    rig.jobs.finish(run)
    rig.gone("b")
    assert outcomes(rig, "b", again) == [(ST.OK, run.exec_id)]
    assert rig.message("a") and not rig.left("b")
    rig.jobs.nothing(0.3)


def test_row_01_received_not_stored(make_rig):
    rig, plan = dies_in_a_submission(make_rig, "recv")
    assert rig.message("b") is None and rig.score("b") is None
    assert not rig.client.socket.poll(0), "acknowledged, and not stored"
    sent_again(rig, plan)


def test_row_02_stored_or_not(make_rig):
    rig, plan = dies_in_a_submission(make_rig, "store_sent")
    assert not rig.client.socket.poll(0)
    sent_again(rig, plan)


@pytest.mark.parametrize("point", ["store_done", "ack_queued"])
def test_row_03_stored_not_acknowledged(make_rig, point):
    rig, plan = dies_in_a_submission(make_rig, point)
    assert rig.message("b") and rig.score("b") == plan["plan_time"]
    sent_again(rig, plan)


@pytest.mark.parametrize("point", ["store_sent", "store_done", "ack_queued"])
def test_row_03_a_plan_that_nobody_sends_again(make_rig, point):
    """It was due when the station died, and may be claimed: it runs, without anybody's doing."""
    rig = make_rig(*SHORT, env={"ZPLAN_FAILPOINT": point})
    rig.client.send(CMD.PLAN, plan_frames(at_once(), gid="b"))
    died(rig.station)
    wait_until(lambda: rig.message("b"), "it is stored")
    rig.client = rig.dealer()               # its reply may have come to the old one
    rig.station.start()
    run = rig.jobs.recv()
    rig.jobs.finish(run)
    rig.gone("b")
    rig.jobs.nothing(0.3)
    *before, last = outcomes(rig, "b")
    assert last == (ST.OK, run.exec_id) and [status for status, _ in before] in ([], [ST.TIMEOUT])
    is_whole(rig)


# Rows 4 to 6: firing.

@pytest.mark.parametrize("retry", [{}, {"retry": {"strategy": "fixed", "interval": 1}}])
def test_row_04_claimed_and_not_offered(make_rig, retry):
    """Workers fetch it: none has had it, so there is no outcome of that."""
    rig = pulltest.with_pile(make_rig, *SHORT, env={"ZPLAN_FAILPOINT": "claim_done"})
    connected(rig)
    rig.client.send(CMD.PLAN, plan_frames(at_once(**retry), pulltest.STATION))  # its reply may not leave any more
    died(rig.station)
    rig.station.start()
    rig.client = rig.dealer()
    worker = pulltest.Worker(rig, "w")
    job = worker.one()
    worker.report(job["plan_id"])
    assert [(run["status"], run["exec_id"]) for run in history(rig)] == [(ST.OK, int(job["exec_id"], 16))]


def test_row_04_a_callback_claimed_and_not_offered(make_rig):
    rig = armed(make_rig, "claim_done:2", *SHORT)
    ident = rig.client.added(at_once(callback={"success": {"url": "https://hooks.example/done"}}))
    rig.jobs.finish(rig.jobs.recv())
    died(rig.station)
    rig.station.start()
    rig.client = rig.dealer()
    wait_until(lambda: rig.client.done("take", {"station": "callbacks", "worker": "w", "wait": 10}).json["jobs"], "it is offered")
    assert [(run["plan"], run["status"]) for run in history(rig)] == [(ident, ST.OK)]


@pytest.mark.parametrize("point", ["claim_sent", "claim_done"])
def test_row_04_claimed_not_sent(make_rig, point):
    """The target sees it once, after the lease; one number was skipped."""
    rig = make_rig(*SHORT)
    plan = twice()
    ident = rig.client.added({**plan, "plan_time": later()["plan_time"]})
    rig.station.stop()
    rig.edit(ident, base_time=plan["plan_time"], plan_time=plan["plan_time"] + 1000)
    rig.due_now(ident)
    rig.station.env["ZPLAN_FAILPOINT"] = point
    rig.station.start(wait_ready=False)
    died(rig.station)
    exec_id = first_exec(rig, ident)
    rig.station.start()
    runs_again(rig, ident, exec_id)


def dies_in_a_dispatch(make_rig, point):
    """The plan is "b"; the number of its run is returned. The reply may have been on its way."""
    rig = armed(make_rig, point, *SHORT)
    rig.client.send(CMD.PLAN, plan_frames(twice(), gid="b"))
    died(rig.station)
    rig.client = rig.dealer()
    return rig, first_exec(rig, "b")


def test_row_05_sent_in_part(make_rig):
    """A message of which only the first frame was handed over is not delivered."""
    rig, exec_id = dies_in_a_dispatch(make_rig, "send_mid")
    rig.jobs.nothing(0.3)
    rig.station.start()
    runs_again(rig, "b", exec_id)


def late_answers(rig, ident, run):
    """Answers of a run whose lease is over: they keep nothing alive, and count nothing."""
    score, repet = rig.score(ident), rig.message(ident)["real_repet"]
    for status in (ST.RUNING, ST.WAITING, ST.OK, ST.ERROR):
        resend(rig, ident, run, status)
    rig.settle()
    rig.settle()
    assert (rig.score(ident), rig.message(ident)["real_repet"]) == (score, repet)


def test_row_06_sent_without_a_status(make_rig):
    """Whether the target has it is unknown: it is sent again after its lease."""
    rig, exec_id = dies_in_a_dispatch(make_rig, "sent")
    taken = [rig.jobs.recv()] if rig.jobs.socket.poll(500) else []
    assert [run.exec_id for run in taken] in ([], [exec_id])
    rig.station.start()
    runs_again(rig, "b", exec_id)
    for run in taken:
        late_answers(rig, "b", run)
    assert rig.message("b")["real_repet"] == 1


def test_row_06_the_late_status_of_the_first_run(make_rig):
    """The target has it, the station is killed: what it says of that run is late."""
    rig = make_rig("--exec-timeout", "5")
    ident = rig.client.added(twice())
    first = rig.jobs.recv()
    rig.station.kill()
    rig.station.start()
    second = rig.jobs.recv()
    assert second.exec_id > first.exec_id and second.claimed >= first.claimed + 5
    runing(rig, ident, second)
    late_answers(rig, ident, first)
    rig.jobs.answer(second, ST.OK, [(FT.LOCAL_ID, second.local_id)])
    rig.repet(ident, 1)
    late_answers(rig, ident, first)
    assert outcomes(rig, ident) == [(ST.TIMEOUT, first.exec_id), (ST.OK, second.exec_id)]
    is_whole(rig)


@pytest.mark.parametrize("point", ["claim_done", "sent"])
def test_row_06_a_run_besides_the_schedule(make_rig, point):
    """It is not sent again: that it had no result is told, and the schedule goes on."""
    rig = armed(make_rig, point, *SHORT)
    plan = later()
    ident = rig.client.added(plan)
    rig.client.send(CMD.NONE, [(FT.COMMAND, b"run"), (FT.ARG, ident.encode())])
    died(rig.station)
    rig.client = rig.dealer()
    exec_id = first_exec(rig, ident)
    while rig.jobs.socket.poll(300):
        assert rig.jobs.recv().exec_id == exec_id
    rig.station.start()
    wait_until(lambda: outcomes(rig, ident), "an outcome", WAIT + LEASE)
    assert outcomes(rig, ident) == [(ST.TIMEOUT, exec_id)]
    wait_until(lambda: rig.score(ident) == plan["plan_time"], "back in the queue")
    message = rig.message(ident)
    assert (message["plan_time"], message["real_repet"]) == (plan["plan_time"], 0)
    rig.jobs.nothing(0.5)
    is_whole(rig)


@pytest.mark.parametrize("retry", [{"retry": {"strategy": "fixed", "interval": 1, "max": 3}}, {"timeout": 60}])
def test_row_06_killed_while_it_ends_a_lost_run(make_rig, retry):
    """The outcome is that of the run which the target had, also after a second kill."""
    rig = make_rig(*SHORT)
    ident = rig.client.added({**twice(), **retry})
    first = rig.jobs.recv()
    rig.station.kill()
    rig.station.env["ZPLAN_FAILPOINT"] = "claim_done"
    rig.station.start()
    died(rig.station)
    rig.station.start()
    rig.client = rig.dealer()
    second = rig.jobs.recv()
    rig.jobs.finish(second)
    wait_until(lambda: len(outcomes(rig, ident)) > 1, "both outcomes")
    assert outcomes(rig, ident)[:2] == [(ST.TIMEOUT, first.exec_id), (ST.OK, second.exec_id)]


# Rows 7 to 11: the target answers.

def dies_at_runing(make_rig, point, *args):
    rig = armed(make_rig, point, *args)
    ident = rig.client.added(twice())
    run = rig.jobs.recv()
    rig.marked(ident, run)
    rig.jobs.answer(run, ST.RUNING)
    died(rig.station)
    return rig, ident, run


@pytest.mark.parametrize("point", ["running_recv", "running_done"])
def test_row_07_runing(make_rig, point):
    """The lease is that of the claim, or of the RUNING that was written."""
    rig, ident, run = dies_at_runing(make_rig, point, *SHORT)
    written = rig.message(ident)["last_state"] == ST.RUNING
    assert written == (point == "running_done")
    since = rig.score(ident) - LEASE
    assert since >= run.claimed + (0.000001 if written else -0.000001)
    rig.station.start()
    runs_again(rig, ident, run.exec_id, since=since - 0.000001)
    late_answers(rig, ident, run)


@pytest.mark.parametrize("point", ["running_recv", "running_done"])
def test_row_07_its_result_comes_after_the_restart(make_rig, point):
    rig, ident, run = dies_at_runing(make_rig, point, *LONG)
    rig.station.start()
    counts_once(rig, ident, run)


def dies_at_result(make_rig, point, *args, results=None):
    """A plan whose target has given RUNING, and then OK, at which the station dies."""
    rig = armed(make_rig, point, *args)
    if results is not None:
        results.append(rig.keep(Results(rig.ipc("p"), [b"every"])))
    ident = rig.client.added(twice())
    run = rig.jobs.recv()
    runing(rig, ident, run)
    before = rig.message(ident)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    died(rig.station)
    return rig, ident, run, before


def test_row_08_result_received(make_rig):
    """It was not written: the run is repeated."""
    rig, ident, run, before = dies_at_result(make_rig, "result_recv", *SHORT)
    assert rig.message(ident) == before
    since = rig.score(ident) - LEASE
    rig.station.start()
    runs_again(rig, ident, run.exec_id, since=since - 0.000001)
    late_answers(rig, ident, run)


def test_row_08_result_that_is_sent_again(make_rig):
    rig, ident, run, _ = dies_at_result(make_rig, "result_recv", *LONG)
    rig.station.start()
    counts_once(rig, ident, run)


@pytest.mark.parametrize("row", ["result_sent", "result_done"])
def test_row_09_result_written(make_rig, row):
    """The same result again changes nothing, and its broadcast has one number."""
    results = []
    rig, ident, run, _ = dies_at_result(make_rig, row, *SHORT, results=results)
    assert rig.repet(ident, 1)["plan_time"] == run.plan_time + 1000
    message = rig.message(ident)
    rig.station.start()
    counts_once(rig, ident, run)
    assert rig.message(ident) == message
    rig.jobs.nothing(LEASE + 1.5)           # no second run of it
    seqs = []
    while results[0].socket.poll(0):
        seqs.append(told(results[0].recv())["seq"])
    assert seqs in ([], [1])


def test_row_10_written_not_broadcast(make_rig):
    """A subscriber sees the gap with the next broadcast, and history has what was missed."""
    results = []
    rig, ident, run, _ = dies_at_result(make_rig, "result_done", *SHORT, results=results)
    rig.repet(ident, 1)
    rig.station.start()
    results[0].nothing(0.5)
    # Until the subscriber is connected again, what is broadcast passes it by.
    def heard():
        ident = rig.client.added(at_once(description="every"))
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(ident)
        return results[0].socket.poll(500)
    wait_until(heard, "a broadcast after the restart")
    news = told(results[0].recv())
    assert news["seq"] >= 2
    answer = rig.client.done("history", {"since": 0, "epoch": news["epoch"]}).json
    assert answer["missed"] is False
    assert answer["runs"][0]["seq"] == 1
    assert (answer["runs"][0]["plan"], answer["runs"][0]["exec_id"]) == (ident, run.exec_id)
    is_whole(rig)


def test_row_11_next_time_computed(make_rig):
    """Nothing of it is in Redis: the run is repeated, and the next time computed from that."""
    rig, ident, run, before = dies_at_result(make_rig, "next", *SHORT)
    assert rig.message(ident) == before and rig.work(ident) == {}
    since = rig.score(ident) - LEASE
    rig.station.start()
    runs_again(rig, ident, run.exec_id, since=since - 0.000001)


# Rows 4 to 11: once more, with votes, and with an occurrence after the other.

NAMES = ["ann", "bob", "cid"]


def stored(rig, ident):
    return rig.message(ident, "board"), rig.work(ident, "board")


@pytest.mark.parametrize("point", ["result_recv:1", "running_done:1", "result_recv:2",
                                   "running_done:2", "result_recv:4", "result_sent",
                                   "result_done"])
def test_row_08_votes(make_rig, point):
    """The station dies at the start of a vote, at a vote, at the last; all is sent once more."""
    rig = make_rig(*LONG, "--send-timeout", "60000", env={"ZPLAN_FAILPOINT": point}, start=False)
    board = rig.keep(FakeTarget(rig.ipc("b")))
    rig.station.args += ["--station", "board=vote@" + board.endpoint]
    rig.start()
    connected(rig, "board")
    ident = rig.client.added(twice(), station="board")
    run = board.recv()
    wait_until(lambda: rig.message(ident, "board")["exec_id"] == run.exec_id, "the run")
    said = [(ST.VOTE_START, [(FT.JSON, json.dumps(NAMES).encode()), (FT.LOCAL_ID, run.local_id)])]
    said += [(ST.OK, [(FT.LOCAL_ID, run.local_id), (FT.RESPONSER, name.encode())])
             for name in NAMES]
    for status, pairs in said:
        before = stored(rig, ident)
        board.answer(run, status, pairs)
        wait_until(lambda: rig.station.process.poll() is not None or stored(rig, ident) != before,
                   "the vote is taken")
    died(rig.station)
    rig.station.start()
    for status, pairs in said:
        rig.client.result(ident, status, pairs)
    rig.repet(ident, 1, "board")
    rig.settle()
    assert set(rig.work(ident, "board")) == set(NAMES) and all(rig.work(ident, "board").values())
    assert rig.message(ident, "board")["real_repet"] == 1
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    assert not board.socket.poll(300)
    is_whole(rig)


def test_rows_04_to_11_each_occurrence_counts_once(make_rig):
    """A plan that catches up, and a station that dies at one point after the other."""
    rig = make_rig(*SHORT)
    base = int(time.time()) - 1000
    points = ["claim_done", "send_mid", "sent", "running_recv", "running_done", "result_recv",
              "result_sent", "result_done", "next", "claim_sent:2"]
    ident = rig.client.added(every(1, 2 * len(points), no_keep=True, plan_time=base))
    execs = []

    def answered(seconds):
        if rig.jobs.socket.poll(int(seconds * 1000)):
            run = rig.jobs.recv()
            execs.append(run.exec_id)
            rig.jobs.finish(run)

    for point in points:
        rig.station.kill()
        rig.station.env["ZPLAN_FAILPOINT"] = point
        rig.station.start(wait_ready=False)
        end = time.monotonic() + WAIT
        while rig.station.process.poll() is None:
            assert time.monotonic() < end, f"never passed: {point}"
            answered(0.05)
        died(rig.station)
    rig.station.start()
    wait_until(lambda: answered(0.1) or not rig.message(ident), "the last occurrence")
    assert len(set(execs)) == len(execs), "an exec_id was used twice"
    good = [run["nominal"] for run in history(rig, plan=ident) if run["status"] == ST.OK]
    assert good == [base + nth for nth in range(1, 2 * len(points) + 1)]
    is_whole(rig)


# Row 12: starting.

BOOT = ["boot_bind", "boot_redis", "boot_store"]


def dies_at_start(rig, point):
    rig.station.env["ZPLAN_FAILPOINT"] = point
    rig.station.start(wait_ready=False)
    died(rig.station)


def plans_of(rig):
    """All keys but those that tell which station is there."""
    return {key: value for key, value in rig.dump().items() if key not in (b"plan:attending", b"plan:owner")}


@pytest.mark.parametrize("point", BOOT)
def test_row_12_start(make_rig, point):
    rig = make_rig(*SHORT)
    ident = rig.client.added(twice())
    run = rig.jobs.recv()
    runing(rig, ident, run)
    kept = rig.client.added(later())
    rig.station.stop()
    before = plans_of(rig)
    for _ in range(3):
        dies_at_start(rig, point)
        assert plans_of(rig) == before
    rig.station.start()
    runs_again(rig, ident, run.exec_id, since=run.claimed)
    assert rig.message(kept)


@pytest.fixture
def embedded(make_rig):
    """A rig whose station runs a Redis of its own, in a folder that is not there yet."""
    rig = embed_redis(make_rig(start=False))
    rig.pids = set()
    yield rig
    for pid in rig.pids:
        kill_redis(pid)


def redis_of(rig):
    """The pid of the station's redis-server, the one and only that answers."""
    def answering():
        path = os.path.join(rig.path("d"), "redis.sock")
        try:
            if stat.S_ISSOCK(os.stat(path).st_mode):
                return redis_py.Redis(unix_socket_path=path).info("server")["process_id"]
        except (redis_py.ConnectionError, OSError):
            pass        # the socket of one that is gone
        return None
    pid = wait_until(answering, "a redis-server answers in the data folder")
    rig.pids.add(pid)
    return pid


@pytest.mark.parametrize("point", BOOT)
def test_row_12_restart_loop_with_the_embedded_redis(embedded, point):
    """From the first start on, with an empty folder; then with plans in it."""
    rig = embedded
    for _ in range(3):
        dies_at_start(rig, point)
    rig.station.start()
    old = redis_of(rig)
    ident = rig.client.added(later())
    rig.station.kill()
    for _ in range(3):
        dies_at_start(rig, point)
    rig.station.start()
    new = redis_of(rig)
    assert new != old
    wait_until(lambda: not alive(old), "the redis-server of the killed station is gone")
    assert rig.client.done("message", ident)
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: rig.client.manage("message", ident).code == ST.NOT_FIND, "it has run")
    rig.station.stop()
    assert not alive(new)


# Row 13: stopping and reloading.

def dies_on(rig, number):
    rig.station.process.send_signal(number)
    died(rig.station)


def test_row_13_drain_with_a_run_in_hand(make_rig):
    rig = armed(make_rig, "drain", *SHORT)
    ident = rig.client.added(twice())
    run = rig.jobs.recv()
    runing(rig, ident, run)
    since = rig.score(ident) - LEASE
    dies_on(rig, signal.SIGTERM)
    rig.station.start()
    runs_again(rig, ident, run.exec_id, since=since - 0.000001)


def test_row_13_drain_and_a_result_after_it(make_rig):
    rig = armed(make_rig, "drain", *LONG)
    ident = rig.client.added(twice())
    run = rig.jobs.recv()
    runing(rig, ident, run)
    dies_on(rig, signal.SIGTERM)
    rig.station.start()
    counts_once(rig, ident, run)


@pytest.mark.parametrize("point, number", [("drain", signal.SIGTERM), ("drain", signal.SIGINT),
                                           ("reload", signal.SIGHUP)])
def test_row_13_under_load(make_rig, point, number):
    """Plans are being submitted and run: what was acknowledged has run in the end, once."""
    rig = armed(make_rig, point, *SHORT, "--send-timeout", "60000")
    idents = {f"{n:x}" for n in range(1, 101)}
    for ident in idents:
        rig.client.send(CMD.PLAN, plan_frames(at_once(), gid=ident))
    runs = [rig.jobs.recv() for _ in range(10)]
    for run in runs[:5]:
        rig.jobs.finish(run)
    dies_on(rig, number)
    while rig.jobs.socket.poll(500):        # what it had sent before
        runs.append(rig.jobs.recv())
    acked = set()
    while rig.client.socket.poll(200):
        acked.add(rig.client.recv().get(FT.GLOBAL_ID).decode())
    rig.client = rig.dealer()
    stored = {key.decode().rpartition(":")[2] for key in rig.db.keys("plan:msg:*")}
    rig.station.start()
    done = {run["plan"] for run in history(rig) if run["status"] == ST.OK}
    assert acked <= stored | done

    def over():
        while rig.jobs.socket.poll(100):
            runs.append(rig.jobs.recv())
            rig.jobs.finish(runs[-1])
        return not rig.db.keys("plan:msg:*")
    wait_until(over, "all plans have run")
    execs = [run.exec_id for run in runs]
    assert len(set(execs)) == len(execs), "an exec_id was used twice"
    good = [run["plan"] for run in history(rig) if run["status"] == ST.OK]
    assert sorted(good) == sorted(stored | done), "a plan counted twice, or never"
    is_whole(rig)


FILE = """plan_exec_timeout = {lease}
stations
    {name} = "api@{target}"
"""


def test_row_13_reload(make_rig):
    """The settings are the old ones or the new ones: what one start and one reload gave."""
    rig = make_rig(start=False)
    target = rig.keep(FakeTarget(rig.ipc("t")))

    def settings(name, lease):
        with open(rig.path("zpl"), "w", encoding="utf-8") as file:
            file.write(FILE.format(lease=lease, name=name, target=target.endpoint))

    def is_set(name, lease):
        names = {one["name"] for one in rig.client.done("station", "list").json["stations"]}
        assert names == {"jobs", "news", name}
        connected(rig, name)
        ident = rig.client.added(at_once(), station=name)
        run = target.recv()
        assert abs(run.plan["deadline"] - run.claimed - lease) <= 2
        target.finish(run)
        rig.gone(ident, name)

    settings("one", 100)
    rig.station.args += ["-c", rig.path("zpl")]
    rig.station.env["ZPLAN_FAILPOINT"] = "reload:2"
    rig.start()
    is_set("one", 100)
    kept = rig.client.added(later(), station="one")
    settings("two", 200)
    rig.station.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any(one["name"] == "two" for one in
                           rig.client.done("station", "list").json["stations"]), "reloaded")
    is_set("two", 200)
    settings("three", 300)
    dies_on(rig, signal.SIGHUP)
    rig.station.start()
    is_set("three", 300)
    assert rig.message(kept, "one"), "a plan whose station is gone was lost"
