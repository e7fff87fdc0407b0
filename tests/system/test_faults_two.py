"""An owner and standbys on one Redis (rows 38 to 41 of the failure table).

The owner decides everything. When it dies, is stopped, or is cut off from Redis, a standby takes over: nothing
that was acknowledged is lost, no run counts twice, and what a former owner sends or writes counts nothing.
"""
import contextlib
import json
import random
import re
import select
import signal
import threading
import time

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from clitest import zplan
from curvetest import monitored
from faulttest import (LATE, Pair, died, freeze, history, is_whole, logged, outcomes, resend, silent, thaw, twice)
from pulltest import STATION, Worker, add, offered, workers
from redisproxy import RedisProxy
from redissteps import asleep, embed_redis, frozen, of_plan, redis_at, runs_through
from test_faults_clock import Clock
from zplanprocs import WAIT, free_port, run_once
from zplantest import (CLOSE, CMD, FT, ST, Client, FakeTarget, Results, at_once, later, plan_frames, told,
                       wait_until)

LEASE = 3                           # seconds: of runs
OWNED = 2.5                         # seconds: longer than the lease of an owner
TAKEOVER = 10                       # seconds: 2 to 3 on a machine that has nothing else to do
SHORT = ("--exec-timeout", str(LEASE), "--send-timeout", "60000")
LONG = ("--exec-timeout", "60", "--send-timeout", "60000")      # longer than a test


@pytest.fixture
def make_pair(make_rig):
    """An owner and standbys that have begun. `proxy`: the owner reaches Redis through rig.proxy; `before`: what is
    to be done with the pair before it is started."""
    made = []

    def make(*args, standbys=1, proxy=False, before=None, **options):
        rig = make_rig(*args, start=False, **options)
        pair = Pair(rig, standbys)
        made.append(pair)
        if proxy:
            rig.proxy = rig.keep(RedisProxy(rig.redis.socket))
            redis_at(rig, rig.proxy.address)
        if before:
            before(pair)
        rig.start()
        return pair.start()
    yield make
    for pair in made:
        pair.close()


def submit(client, numbers, plan=None):
    """Plans of these ids, at once by default; the ids that were acknowledged."""
    numbers = list(numbers)
    for number in numbers:
        client.send(CMD.PLAN, plan_frames(plan or at_once(), gid=f"{number:x}"))
    replies = [client.recv() for _ in numbers]
    assert {reply.code for reply in replies} <= {ST.PLAN, ST.NET_ERROR}, replies
    return acknowledged(replies)


def acknowledged(replies):
    return {reply.get(FT.GLOBAL_ID).decode() for reply in replies if reply.code == ST.PLAN}


def replies(client):
    """Those that have come."""
    found = []
    while client.socket.poll(0):
        found.append(client.recv())
    return found


def answer_waiting(rig, runs, most=1000, wait=100):
    """Answer the dispatches that have come."""
    while most and rig.jobs.socket.poll(wait):
        runs.append(rig.jobs.recv())
        rig.jobs.finish(runs[-1])
        most -= 1


def answer_all(rig, runs):
    """Answer every dispatch until no plan is left."""
    def over():
        answer_waiting(rig, runs)
        return not rig.db.keys("plan:msg:*")
    wait_until(over, "no plan is left", 60)


def answer_once(rig, runs, idents):
    """Answer every dispatch until each of these has run once."""
    def over():
        answer_waiting(rig, runs)
        return all((rig.message(ident) or {"real_repet": 1})["real_repet"] for ident in idents)
    wait_until(over, "every plan has run", 60)


def each_counted_once(rig, idents, runs):
    """No number was given twice, each plan has one good outcome, and nothing is half-written."""
    execs = [run.exec_id for run in runs]
    assert len(set(execs)) == len(execs), "an exec_id was used twice"
    good = [run["plan"] for run in history(rig) if run["status"] == ST.OK]
    assert sorted(good) == sorted(idents)
    is_whole(rig)


def joined(rig, name):
    """A subscriber of a station that may be silent yet: it is connected."""
    monitors = []
    results = rig.keep(Results(rig.ipc(name), [b""], monitored(lambda socket: None, monitors)))
    while monitors[0].poll(int(WAIT * 1000)):
        if recv_monitor_message(monitors[0])["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            return results
    raise AssertionError("not connected")


def seqs_of(results):
    """The numbers of all that it hears, until the last."""
    seqs = []
    while results.socket.poll(500):
        seqs.append(told(results.recv_any())["seq"])
    return seqs


def serves_for(rig, seconds):
    """Plans run, one after the other."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        runs_through(rig)


def sent_and_running(pair, plan):
    """A plan whose run is in progress: id, run."""
    rig = pair.rig
    ident = rig.client.added(plan)
    run = of_plan(rig, ident)
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    return ident, run


# Row 38: the owner dies.

def test_row_38_under_load(make_pair):
    """Nothing that was acknowledged is lost; what was not may be sent again with its id; the broadcasts of both are
    those of one station, but for the last ones of the dead."""
    pair = make_pair(*SHORT)
    rig, runs, acked, last = pair.rig, [], set(), 0
    heard = [joined(rig, name) for name in ("p", "p2")]
    plan = twice()
    while len(acked) < 200 or not heard[0].socket.poll(0):
        for last in range(last + 1, last + 51 if last < 400 else last + 1):
            rig.client.send(CMD.PLAN, plan_frames(plan, gid=f"{last:x}"))
        acked |= acknowledged(replies(rig.client))
        answer_waiting(rig, runs, 20, 10)
    for last in range(last + 1, last + 51):
        rig.client.send(CMD.PLAN, plan_frames(plan, gid=f"{last:x}"))
    rig.station.kill()
    began = time.monotonic()
    acked |= acknowledged(replies(rig.client))
    pair.takes_over()
    assert time.monotonic() - began < TAKEOVER
    assert all(rig.message(ident) for ident in acked), "acknowledged, and lost"
    answer_waiting(rig, runs, 20, 0)
    assert len(submit(rig.client, range(1, last + 1), plan)) == last    # most of them are there
    idents = [f"{number:x}" for number in range(1, last + 1)]
    answer_once(rig, runs, idents)
    each_counted_once(rig, idents, runs)
    first, second = map(seqs_of, heard)
    assert first == list(range(first[0], first[-1] + 1)), "a hole"
    assert first[-1] < second[0]
    assert second == list(range(second[0], int(rig.db.hget("plan:meta", "seq")) + 1)), "a hole"


def test_row_38_the_standby_is_silent_until_it_takes_over(make_pair):
    """Its request socket is closed: a request waits at the client, and is answered then."""
    pair = make_pair(*LONG)
    early = pair.client(1)
    early.send(CMD.PLAN, plan_frames(later(), gid="7"))
    runs_through(pair.rig)
    assert not early.socket.poll(300)
    assert silent(pair.stations[1])
    pair.stations[0].kill()
    pair.takes_over()
    reply = early.recv()
    assert reply.code == ST.PLAN and pair.rig.message("7")


def test_row_38_what_was_in_flight_and_what_was_to_come(make_pair):
    """The runs that the dead one had sent are sent again when their lease is over, and what is due since is run."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    due = later(LEASE + 1)
    ident = rig.client.added(due)
    idents = submit(rig.client, range(1, 21))
    first = {run.mailbox: run for run in (rig.jobs.recv() for _ in idents)}
    pair.stations[0].kill()
    pair.takes_over()
    took_over = time.time()
    seconds = [rig.jobs.recv() for _ in range(len(idents) + 1)]
    for run in seconds:
        rig.jobs.finish(run)
        since = due["plan_time"]
        if run.mailbox != b"*" + ident.encode():
            since = first[run.mailbox].claimed + LEASE
            assert run.exec_id > first[run.mailbox].exec_id
        assert since <= run.claimed <= max(since, took_over) + 1 + LATE
    answer_all(rig, seconds)
    assert len(seconds) == len(idents) + 1
    each_counted_once(rig, idents | {ident}, [*first.values(), *seconds])
    assert sum(run["status"] == ST.TIMEOUT for run in history(rig)) == len(idents)


@pytest.mark.parametrize("point", [
    "claim_sent:3", "claim_done", "send_mid", "sent:3", "running_recv:3", "running_done:3",
    "result_recv:3", "result_sent:3", "result_done:3", "next"])
def test_row_38_the_owner_dies_at_a_point(make_pair, point):
    """The standby does the rest: nothing is lost, and nothing counts twice."""
    pair = make_pair(*SHORT, env={"ZPLAN_FAILPOINT": point})
    rig = pair.rig
    owner, runs, number = pair.stations[0], [], 0
    acked = set()   # no reply is waited for: the station may die before its first has left
    end = time.monotonic() + WAIT
    while owner.process.poll() is None:
        assert time.monotonic() < end, "never passed"
        number += 1
        rig.client.send(CMD.PLAN, plan_frames(twice(), gid=f"{number:x}"))
        while owner.process.poll() is None and not rig.client.socket.poll(50):
            pass
        acked |= acknowledged(replies(rig.client))
        answer_waiting(rig, runs, 5)
    died(owner)
    pair.takes_over()
    stored = [key.decode().rpartition(":")[2] for key in rig.db.keys("plan:msg:*")]
    assert acked <= set(stored), "acknowledged, and lost"
    answer_once(rig, runs, stored)
    each_counted_once(rig, stored, runs)


def test_row_38_faults_in_turn(make_pair):
    """Each is killed, stopped for longer than a lease, asked to stop; connections are cut in between."""
    pair = make_pair(*SHORT)
    rig, idents, runs = pair.rig, set(), []
    for turn, fault in enumerate(["kill", "freeze", "cut", "stop"]):
        idents |= submit(rig.client, range(turn * 30 + 1, turn * 30 + 31))
        answer_waiting(rig, runs, 10)
        owner, station = pair.owner, pair.stations[pair.owner]
        if fault == "cut":
            with pair.nobody_takes_over():
                before = len(logged(station, "redis.up"))
                rig.redis.client().client_kill_filter(_type="normal")
                wait_until(lambda: len(logged(station, "redis.up")) > before, "it is connected again")
                wait_until(lambda: rig.client.done("health").json["healthy"], "it serves again")
            continue
        {"kill": station.kill, "stop": station.stop, "freeze": lambda: freeze(station)}[fault]()
        pair.takes_over(1 - owner)
        answer_waiting(rig, runs, 10)
        if fault == "freeze":
            thaw(station)
            pair.steps_down(owner)
        else:
            pair.starts_as_standby(station)
    answer_all(rig, runs)
    assert len(idents) == 120
    each_counted_once(rig, idents, runs)


def test_row_38_connections_are_cut(make_pair):
    """Now of the one, now of the other, while plans are submitted and run: that is no reason to take over."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    stop, rng, db = threading.Event(), random.Random(38), rig.redis.client()

    def killer():
        own = db.client_id()
        while not stop.wait(rng.uniform(0.1, 0.3)):
            ids = [int(one["id"]) for one in db.client_list(_type="normal")]
            ids.remove(own)
            if ids:
                db.client_kill_filter(_id=rng.choice(ids))
    thread = threading.Thread(target=killer)
    acked, runs = set(), []
    with pair.nobody_takes_over():
        thread.start()
        try:
            for turn in range(20):
                acked |= submit(rig.client, range(turn * 10 + 1, turn * 10 + 11))
                answer_waiting(rig, runs, 10)
        finally:
            stop.set()
            thread.join()
        wait_until(lambda: rig.client.done("health").json["healthy"], "connected again")
    answer_all(rig, runs)
    # What was answered NET_ERROR was stored or not.
    good = {run["plan"] for run in history(rig) if run["status"] == ST.OK}
    assert acked and acked <= good
    each_counted_once(rig, good, runs)


def test_row_38_one_of_two_standbys_takes_over(make_pair):
    """And when that one dies too, the other."""
    pair = make_pair(*LONG, standbys=2)
    rig = pair.rig
    pair.stations[0].kill()
    outs = [station.process.stdout for station in pair.stations[1:]]
    spoke, _, _ = select.select(outs, [], [], WAIT)
    assert len(spoke) == 1
    nth = 1 + outs.index(spoke[0])
    pair.takes_over(nth)
    serves_for(rig, OWNED)      # the other one would have counted to the end of its lease
    assert silent(pair.stations[3 - nth])
    pair.stations[nth].kill()
    pair.takes_over(3 - nth)
    runs_through(rig)


def test_row_38_a_restarted_owner_goes_on_at_once(make_pair):
    """On its own state folder, where the token of its takeover is: it waits for no lease."""
    pair = make_pair(*LONG)
    rig = pair.rig
    ident, run = sent_and_running(pair, twice())
    freeze(pair.stations[1])
    pair.stations[0].kill()
    before = pair.token()
    pair.stations[0].start(wait_ready=False)
    assert pair.stations[0].next_word() == "ready"      # not "standby"
    assert pair.token() != before
    thaw(pair.stations[1])
    rig.client = pair.client(0)
    with pair.nobody_takes_over():
        resend(rig, ident, run)
        rig.repet(ident, 1)
        serves_for(rig, OWNED)
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]


def test_row_38_a_restart_without_the_state_folder_waits_for_the_lease(make_rig):
    """The station before it may live: a name proves nothing."""
    rig = make_rig(*LONG)
    rig.station.kill()
    rig.station.env["XDG_STATE_HOME"] = rig.path("other")
    rig.station.start(wait_ready=False)
    rig.station.wait_standby()
    assert rig.station.next_word() == "ready"
    rig.client = rig.dealer()
    runs_through(rig)


def test_row_38_both_are_killed_and_started(make_pair):
    """One of them serves, the other waits."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    idents = submit(rig.client, range(1, 51))
    runs = [rig.jobs.recv() for _ in range(10)]
    for run in runs:
        rig.jobs.finish(run)
    for station in pair.stations:
        station.kill()
    pair.starts_as_standby(pair.stations[1])            # that was the owner never
    pair.stations[0].start(wait_ready=False)
    words = {}

    def said():
        outs = [station.process.stdout for station in pair.stations]
        for out in select.select(outs, [], [], 0)[0]:
            nth = outs.index(out)
            words.setdefault(nth, []).append(pair.stations[nth].next_word())
        return sum(word[-1:] == ["ready"] for word in words.values())
    wait_until(said, "one serves")
    assert words.get(0) == ["ready"] or (words.get(1) == ["ready"] and words.get(0, ["standby"]) == ["standby"])
    pair.owner = 0 if words.get(0) == ["ready"] else 1
    rig.client = pair.client(pair.owner)
    answer_all(rig, runs)
    each_counted_once(rig, idents, runs)


# Runs of the former owner.

@pytest.mark.parametrize("early", [True, False], ids=["early", "late"])
def test_row_38_results_to_the_new_owner(make_pair, early):
    """By its request socket, also when they are sent before that is open. Each counts once, whether the run was heard
    of or not."""
    pair = make_pair(*LONG)
    rig = pair.rig
    runs = dict([sent_and_running(pair, twice())])
    unheard = rig.client.added(twice())
    runs[unheard] = of_plan(rig, unheard)
    pair.stations[0].kill()
    worker = pair.client(1)
    for ident, run in runs.items():
        if early:
            resend(rig, ident, run, client=worker)
    pair.takes_over()
    for ident, run in runs.items():
        if not early:
            resend(rig, ident, run, client=worker)
        assert rig.repet(ident, 1)["plan_time"] == run.plan_time + 1000
        resend(rig, ident, run, client=worker)
        rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    worker.added(later())
    for ident, run in runs.items():
        assert rig.message(ident)["real_repet"] == 1
        assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    is_whole(rig)
    rig.jobs.nothing(0.3)


def test_row_38_heartbeats_to_the_new_owner(make_pair):
    """They keep the lease, which is longer than a takeover takes."""
    lease = 8
    pair = make_pair("--exec-timeout", str(lease), "--send-timeout", "60000")
    rig = pair.rig
    worker = pair.client(1)
    ident, run = sent_and_running(pair, twice())
    pair.stations[0].kill()
    resend(rig, ident, run, ST.WAITING, client=worker)
    pair.takes_over()
    for _ in range(3):
        resend(rig, ident, run, ST.WAITING, client=worker)
        rig.jobs.nothing(lease / 2)
    resend(rig, ident, run, client=worker)
    rig.repet(ident, 1)
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    is_whole(rig)


def test_row_38_runs_that_were_heard_of_and_others(make_pair):
    """A run that was heard of waits for its lease; one that was not is sent again when its doubt is over."""
    doubt, lease = 3, 6
    pair = make_pair("--send-timeout", "60000", "--doubt-timeout", str(doubt), "--exec-timeout", str(lease))
    rig = pair.rig
    ident, run = sent_and_running(pair, twice())
    lease_end = rig.score(ident)
    assert lease_end >= run.claimed + lease
    unheard = rig.client.added(twice())
    first = rig.jobs.recv()
    pair.stations[0].kill()
    pair.takes_over()
    took_over = time.time()
    again = rig.jobs.recv()
    assert again.mailbox == first.mailbox and again.exec_id > first.exec_id
    assert first.claimed + doubt <= again.claimed <= max(first.claimed + doubt, took_over) + 1 + LATE
    rig.jobs.finish(again)
    rig.repet(unheard, 1)
    second = rig.jobs.recv()
    assert second.mailbox == run.mailbox and lease_end <= second.claimed <= lease_end + 1 + LATE
    rig.jobs.finish(second)
    rig.repet(ident, 1)
    assert outcomes(rig, unheard) == [(ST.TIMEOUT, first.exec_id), (ST.OK, again.exec_id)]
    assert outcomes(rig, ident) == [(ST.TIMEOUT, run.exec_id), (ST.OK, second.exec_id)]
    is_whole(rig)


def test_row_38_the_doubt_is_send_timeout_and_three_seconds(make_rig):
    rig = make_rig("--send-timeout", "20000", "--exec-timeout", "60")
    ident = rig.client.added(twice())
    run = rig.jobs.recv()
    assert abs(rig.score(ident) - run.claimed - 23) < 1


def test_row_38_managed_at_the_new_owner_while_they_run(make_pair):
    """A result is decided on what the plan is now."""
    pair = make_pair(*LONG)
    rig = pair.rig
    words = ("skip", "pause", "close", "remove")
    found = {word: sent_and_running(pair, {**twice(), "plan_repet": 3}) for word in words}
    pair.stations[0].kill()
    pair.takes_over()
    for word, (ident, run) in found.items():
        rig.client.done(word, ident, *([1] if word == "skip" else []))
        resend(rig, ident, run)
    removed, _ = found.pop("remove")
    for word, (ident, run) in found.items():
        wait_until(lambda: outcomes(rig, ident), f"the outcome of what was managed: {word}")
        assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
        message = rig.message(ident)
        assert word == "close" or message["real_repet"] == 1
        assert word != "close" or message["plan_state"] == CLOSE
        assert word != "skip" or message["skip_set"] == 1
        assert word != "pause" or rig.score(ident) is None
    rig.settle()
    assert not rig.left(removed) and outcomes(rig, removed) == []
    rig.jobs.nothing(0.3)


# What the former owner was told, the new one knows.

def test_row_38_one_id_at_both(make_pair):
    """The same submission at the new owner is the same plan; another plan of this id is refused."""
    pair = make_pair(*LONG)
    rig, plan = pair.rig, later(description="a")
    idents = submit(rig.client, range(1, 21), plan)
    pair.stations[0].kill()
    pair.takes_over()
    assert submit(rig.client, range(1, 21), plan) == idents and rig.db.zcard("plan:ids") == 20
    for ident in idents:
        assert rig.client.submit(later(description="b"), gid=ident).code == ST.PLANERROR
    is_whole(rig)


def names(client):
    return {one["name"] for one in client.done("station", "list").json["stations"]}


def test_row_38_added_targets_are_known_to_the_new_owner(make_pair):
    pair = make_pair(*LONG)
    rig = pair.rig
    late = rig.keep(FakeTarget(rig.ipc("l")))
    for name in ("late", "gone"):
        rig.client.done("station", "add", f"{name}=api@{late.endpoint}")
    rig.client.done("station", "remove", "gone")
    pair.stations[0].kill()
    pair.takes_over()
    assert names(rig.client) == {"jobs", "news", "late"}
    ident = rig.client.added(at_once(), station="late")
    late.finish(late.recv())
    rig.gone(ident, "late")


def test_row_38_concurrency_holds(make_pair):
    """The runs of the former owner count."""
    pair = make_pair(*LONG)
    rig = pair.rig
    rig.client.done("limit", "set", "station:jobs", {"concurrency": 2})
    idents = submit(rig.client, range(1, 9))
    first = [rig.jobs.recv() for _ in range(2)]
    for run in first:
        rig.jobs.answer(run, ST.RUNING)
        rig.state(run.mailbox[1:].decode(), ST.RUNING)
    rig.jobs.nothing(0.3)
    pair.stations[0].kill()
    pair.takes_over()
    rig.jobs.nothing(1)
    runs = list(first)
    for run in first:
        resend(rig, run.mailbox[1:].decode(), run)
        runs.append(rig.jobs.recv())
        rig.jobs.nothing(0.3)
    for run in runs[2:]:
        rig.jobs.finish(run)
    answer_all(rig, runs)
    each_counted_once(rig, idents, runs)


def test_row_38_rates_hold(make_pair):
    """What the former owner has begun counts: there is no burst after a takeover."""
    pair = make_pair(*LONG)
    rig = pair.rig
    rig.client.done("limit", "set", "station:jobs", {"rate": 0.2, "burst": 3})
    idents = submit(rig.client, range(1, 5))
    runs = [rig.jobs.recv() for _ in range(3)]
    for run in runs:
        rig.jobs.finish(run)
    wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 1, "three are done")
    pair.stations[0].kill()
    pair.takes_over()
    answer_all(rig, runs)
    assert runs[0].claimed + 4.9 <= runs[3].claimed <= runs[0].claimed + 5 + TAKEOVER
    each_counted_once(rig, idents, runs)


def test_row_38_votes_count(make_pair):
    """Those that were cast before the takeover, and the names of the voters."""
    pair = make_pair(*LONG, before=lambda pair: [
        station.args.extend(["--station", "board=vote@" + pair.rig.ipc("b")]) for station in pair.stations])
    rig = pair.rig
    board = rig.keep(FakeTarget(rig.ipc("b")))
    ident = rig.client.added({**twice(), "vote": {"rule": "majority"}}, station="board")
    run = board.recv()

    def cast(voter, send):
        send([(FT.LOCAL_ID, run.local_id), (FT.RESPONSER, voter.encode())])
        wait_until(lambda: rig.work(ident, "board").get(voter), f"the vote of {voter}")
    board.answer(run, ST.VOTE_START, [(FT.JSON, json.dumps(list("abcde")).encode()), (FT.LOCAL_ID, run.local_id)])
    wait_until(lambda: len(rig.work(ident, "board")) == 5, "the voters")
    for voter in "ab":
        cast(voter, lambda pairs: board.answer(run, ST.OK, pairs))
    pair.stations[0].kill()
    pair.takes_over()
    assert rig.message(ident, "board")["real_repet"] == 0
    cast("c", lambda pairs: rig.client.result(ident, ST.OK, pairs))
    rig.repet(ident, 1, "board")
    assert [bool(rig.work(ident, "board")[name]) for name in "abcde"] == [True] * 3 + [False] * 2
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    is_whole(rig)


def test_row_38_fetched_plans_go_on(make_pair):
    """A job that was taken at the former owner is kept alive and reported at the new one, and counts once; what was
    offered is taken there; who waited asks again."""
    pair = make_pair(*LONG, "--station", f"{STATION}=pull")
    rig = pair.rig
    before = [Worker(rig, name) for name in ("w1", "w2", "w3")]
    ident = add(rig, **workers(ping_interval=60, worker_timeout=600))
    job = before[0].one()
    assert job["plan_id"] == ident
    open_ = add(rig, **workers(only=["w2"]))
    offered(rig, open_)
    before[2].ask(wait=30)
    before[2].client.send(CMD.PING)
    assert before[2].client.recv().code == ST.OK        # it waits
    pair.stations[0].kill()
    first, second, third = [Worker(rig, name, pair.endpoints[1]) for name in ("w1", "w2", "w3")]
    first.runs = before[0].runs
    third.ask(wait=60)
    pair.takes_over()
    assert first.alive(ident)["ok"]
    assert first.report(ident)["accepted"]
    rig.gone(ident, STATION)
    assert [(run["status"], int(job["exec_id"], 16)) for run in history(rig, plan=ident)] == \
        outcomes(rig, ident) == [(ST.OK, int(job["exec_id"], 16))]
    assert second.one()["plan_id"] == open_ and second.report(open_)["accepted"]
    rig.gone(open_, STATION)
    last = add(rig)
    (job,) = third.told()
    assert job["plan_id"] == last and third.report(last)["accepted"]
    rig.gone(last, STATION)
    is_whole(rig)
    assert not before[2].client.socket.poll(0)


# An owner that goes.

def seen_by_each_other(pair):
    wait_until(lambda: pair.rig.client.done("health").json["attending"] >= 2, "they know of each other")


def stops(pair):
    pair.stations[0].stop()


def hands_over(pair):
    seen_by_each_other(pair)
    pair.rig.client.done("handover")


@pytest.mark.parametrize("goes", [stops, hands_over])
def test_row_38_an_owner_goes_under_load(make_pair, goes):
    """A standby takes over: no broadcast is missed, no run is sent twice, and what was in flight goes on."""
    pair = make_pair(*LONG)
    rig, runs = pair.rig, []
    heard = [joined(rig, name) for name in ("p", "p2")]
    while not heard[0].socket.poll(100):        # it is known to be there
        runs_through(rig)
    start = int(rig.db.hget("plan:meta", "seq"))
    idents = submit(rig.client, range(1, 101))
    answer_waiting(rig, runs, 50, 5000)
    goes(pair)
    pair.takes_over()
    if goes is not stops:
        pair.steps_down()
    good = {run["plan"] for run in history(rig) if run["status"] == ST.OK}
    assert len(runs) == 50
    while len(runs) < 100:      # those that were sent before, or are now
        runs.append(rig.jobs.recv())
    for run in runs:
        ident = run.mailbox[1:].decode()
        if ident not in good:
            resend(rig, ident, run)
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "no plan is left")
    rig.jobs.nothing(0.3)
    assert sorted(run["plan"] for run in history(rig) if int(run["plan"], 16) <= 100) == sorted(idents)
    is_whole(rig)
    last = int(rig.db.hget("plan:meta", "seq"))
    first, second = map(seqs_of, heard)
    assert [seq for seq in first + second if seq > start] == list(range(start + 1, last + 1))


def test_row_38_a_stop_is_taken_over_at_once(make_pair):
    """Long before a lease is over."""
    pair, took = make_pair(*LONG), []
    for _ in range(3):      # one that is slow is the machine's
        owner, station = pair.owner, pair.stations[pair.owner]
        station.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert pair.stations[1 - owner].next_word() == "ready"
        took.append(time.monotonic() - began)
        pair.owner = 1 - owner
        station.process.wait(WAIT)
        station.end()
        if took[-1] < 1:
            break
        pair.starts_as_standby(station)
    assert took[-1] < 1, took


def test_row_38_handed_over_to_and_fro(make_pair):
    """By the command and from a shell; and to a standby that has died a moment ago: the owner takes its plans back."""
    pair = make_pair(*LONG)
    rig = pair.rig
    hands_over(pair)
    pair.takes_over(1)
    pair.steps_down(0)
    runs_through(rig)
    seen_by_each_other(pair)
    assert "standby" in zplan("--connect", pair.endpoints[1], "handover").done()
    pair.takes_over(0)
    pair.steps_down(1)
    runs_through(rig)
    seen_by_each_other(pair)
    pair.stations[1].kill()
    assert rig.client.done("handover").json == {"handed_over": True}
    pair.steps_down(0)
    pair.takes_over(0)
    runs_through(rig)
    is_whole(rig)


@pytest.mark.parametrize("goes", [stops, hands_over])
def test_row_38_requests_go_to_the_new_owner(make_pair, goes):
    """What the former one rejects as it goes was not done: with both addresses it is sent again, safe to repeat or not."""
    pair = make_pair(*LONG)
    rig, both = pair.rig, ",".join(pair.endpoints)
    held = rig.client.added(later())
    goes(pair)
    for _ in range(5):
        zplan("--connect", both, "add", "--target", "jobs", "--command", "do", "--in", "1h").done()
        zplan("--connect", both, "pause", held).done()
        zplan("--connect", both, "resume", held).done()
    pair.takes_over()
    assert len(rig.db.zrange("plan:ids", 0, -1)) == 6


def test_row_38_the_password_of_the_environment_opens_redis_again(make_rig):
    """Who handed the plans over is a standby that can take them back; the environment has the password no more."""
    rig = make_rig(*LONG, start=False, redis_args=("--requirepass", "secret-of-many"))
    rig.station.env.update(ZPLAN_REDIS_PASSWORD="secret-of-many")
    pair = Pair(rig)
    pair.stations[1].env.update(ZPLAN_REDIS_PASSWORD="secret-of-many")
    try:
        rig.redis.start()
        pair.start()
        hands_over(pair)
        pair.takes_over(1)
        pair.steps_down(0)
        runs_through(rig)
        pair.stations[1].kill()
        pair.takes_over(0)
        runs_through(rig)
    finally:
        pair.close()


@pytest.mark.parametrize("embedded", [False, True], ids=["alone", "embedded"])
def test_row_38_a_handover_without_a_standby_is_refused(make_rig, embedded):
    rig = make_rig(start=False)
    if embedded:
        embed_redis(rig)
        rig.station.start()
    else:
        rig.start()
    reason = rig.client.refused("handover", status=ST.BUSY)
    assert reason.startswith("handover: ") and "no standby" in reason
    refused = zplan("--connect", rig.ipc("q"), "handover")
    assert refused.code != 0 and "no standby" in refused.err
    rig.jobs.finish(of_plan(rig, rig.client.added(at_once())))


# Row 39: the same endpoint.

@pytest.mark.parametrize("option", ["--request", "--publish", "--events"])
@pytest.mark.parametrize("over", ["ipc", "tcp"])
def test_row_39_the_endpoint_is_taken(make_rig, over, option):
    """The second refuses to start, with one line; the first goes on, and so do its plans."""
    rig = make_rig(start=False)
    args = rig.station.args
    at = args.index(option) + 1
    if over == "tcp":
        args[at] = f"tcp://127.0.0.1:{free_port()}"
    rig.client = rig.keep(Client(args[args.index("--request") + 1]))
    rig.start()
    ident = rig.client.added(twice())
    run = rig.jobs.recv()
    other = [arg + "2" if arg.startswith("ipc:") else arg for arg in args]
    other[at] = args[at]
    code, out, err = run_once(other)
    lines = [line for line in err.splitlines() if " level=info " not in line]
    assert code == 1 and out == "" and len(lines) == 1 and args[at] in lines[0], err
    rig.jobs.finish(run)
    rig.repet(ident, 1)
    rig.jobs.nothing(0.3)
    is_whole(rig)


# Row 40: stopped for longer than the lease.

def exec_of(rig, ident):
    """The number of the run that Redis has of this plan, 0 = none."""
    found = re.search(rb"\d+", rig.db.hget("plan:run", rig.key(ident)) or b"0")
    return int(found[0])


def station_waits(rig):
    """What the station has written waits in Redis, which is paused: a batch, or a script and batches behind it."""
    return any("b" in one["flags"] for one in rig.db.client_list(_type="normal"))


def stopped_in_its_claim(rig, station):
    """Stop the station between its claim and the answer. (id, number of the run that it has not sent), or None when
    the claim was not in what waited."""
    ident = rig.client.added({**twice(), "plan_time": int(time.time()) - 998})
    due = rig.score(ident)
    while time.time() < due - 0.1:
        time.sleep(0.01)
    rig.db.execute_command("CLIENT", "PAUSE", "20000", "WRITE")
    early = exec_of(rig, ident)         # it was claimed before the pause
    try:
        wait_until(lambda: station_waits(rig) and time.time() > due + 0.1, "the station waits")
        freeze(station)
    finally:
        rig.db.execute_command("CLIENT", "UNPAUSE")
    rig.db.hset("plan:meta", "waited", 0)       # behind what has waited
    rig.db.hdel("plan:meta", "waited")
    exec_id = exec_of(rig, ident)
    if exec_id and not early:
        return ident, exec_id
    thaw(station)
    rig.jobs.finish(rig.jobs.recv())
    rig.repet(ident, 1)
    return None


def until_stopped(rig, station):
    return wait_until(lambda: stopped_in_its_claim(rig, station), "stopped in its claim", 60)


def wait_lease(rig, ident):
    """The lease of the claim is over by Redis' clock."""
    def over():
        seconds, micros = rig.db.time()
        return seconds + micros / 1e6 > rig.score(ident)
    wait_until(over, "the end of the lease")


@pytest.mark.parametrize("cut", [False, True])
def test_row_40_stopped_before_it_sent(make_rig, cut):
    """Alone: what it had claimed is not sent; it claims it anew, with another number."""
    rig = make_rig(*SHORT)
    ident, exec_id = until_stopped(rig, rig.station)
    if cut:
        rig.redis.client().client_kill_filter(_type="normal", skipme=True)
    wait_lease(rig, ident)
    thaw(rig.station)
    run = rig.jobs.recv()
    assert run.exec_id > exec_id and run.claimed >= exec_id / 1e6 + LEASE
    rig.jobs.finish(run)
    rig.repet(ident, 1)
    assert outcomes(rig, ident) == [(ST.TIMEOUT, exec_id), (ST.OK, run.exec_id)]
    assert rig.client.done("stats").json["counters"]["stale_claims"] == 1
    rig.jobs.nothing(0.3)
    is_whole(rig)


@pytest.mark.parametrize("finished", [True, False])
def test_row_40_stopped_before_it_sent_and_another_takes_over(make_pair, finished):
    """The new owner has sent it meanwhile, and perhaps has its result: nothing is sent by the former one."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    ident, exec_id = until_stopped(rig, pair.stations[0])
    pair.takes_over()
    run = rig.jobs.recv()
    assert run.exec_id > exec_id and run.claimed >= exec_id / 1e6 + LEASE
    assert run.claimed <= exec_id / 1e6 + TAKEOVER + LATE
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    if finished:
        resend(rig, ident, run)
        rig.repet(ident, 1)
    thaw(pair.stations[0])
    resend(rig, ident, run, ST.WAITING)
    pair.steps_down()
    if not finished:
        resend(rig, ident, run)
        rig.repet(ident, 1)
    rig.jobs.nothing(0.5)
    assert outcomes(rig, ident) == [(ST.TIMEOUT, exec_id), (ST.OK, run.exec_id)]
    is_whole(rig)


@pytest.mark.parametrize("finished", [True, False])
def test_row_40_stopped_after_it_sent(make_pair, finished):
    """The answers wait at the former owner, the new one has repeated the runs: what those give counts."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    firsts = {}
    for status in (ST.OK, ST.RUNING, ST.ERROR):
        ident = rig.client.added(twice())
        firsts[ident] = status, of_plan(rig, ident)
    freeze(pair.stations[0])
    for status, run in firsts.values():
        rig.jobs.answer(run, status, [(FT.LOCAL_ID, run.local_id), (FT.CONTENT, b"late")])
    pair.takes_over()
    seconds = {}
    for second in [rig.jobs.recv() for _ in firsts]:
        ident = second.mailbox[1:].decode()
        _, run = firsts[ident]
        assert second.exec_id > run.exec_id and second.before[0] != run.before[0]
        assert run.claimed + LEASE <= second.claimed <= run.claimed + TAKEOVER + LATE
        rig.jobs.answer(second, ST.RUNING)
        seconds[ident] = second

    def end(ident):
        second = seconds[ident]
        rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, second.local_id), (FT.CONTENT, b"good")])
        rig.repet(ident, 1)
    for ident in seconds:
        rig.state(ident, ST.RUNING)
        if finished:
            end(ident)
    before = {ident: (rig.message(ident), rig.score(ident)) for ident in seconds}
    thaw(pair.stations[0])
    pair.steps_down()
    for ident in seconds:
        if finished:
            assert (rig.message(ident), rig.score(ident)) == before[ident]
        else:
            assert rig.message(ident)["real_repet"] == 0 and rig.work(ident) == {}
            end(ident)
    rig.jobs.nothing(0.5)
    for ident, second in seconds.items():
        _, run = firsts[ident]
        assert rig.message(ident)["real_repet"] == 1 and b"good" in rig.work(ident)["jobs"]
        assert outcomes(rig, ident) == [(ST.TIMEOUT, run.exec_id), (ST.OK, second.exec_id)]
    is_whole(rig)


def test_row_40_what_a_stopped_owner_is_asked(make_pair):
    """What waits at it is not answered by what it knows: the new owner has changed that."""
    pair = make_pair(*LONG)
    rig = pair.rig
    removed, kept = [rig.client.added(later()) for _ in range(2)]
    asked = [pair.client(0) for _ in range(4)]
    for client in asked:
        client.ping()
    freeze(pair.stations[0])
    asked[0].send(CMD.PLAN, plan_frames(later(), gid="7"))
    for client, word in zip(asked[1:], ("message", "pause", "remove")):
        ident = removed if word == "message" else kept
        client.send(CMD.NONE, [(FT.COMMAND, word.encode()), (FT.ARG, ident.encode())])
    pair.takes_over()
    rig.client.done("remove", removed)
    thaw(pair.stations[0])
    pair.steps_down()
    for client in asked:
        for reply in replies(client):
            assert reply.code >= ST.ERROR_FLAG, reply
    assert not rig.message("7") and rig.score(kept) is not None
    is_whole(rig)


def test_row_40_a_standby_is_stopped(make_pair):
    """It has looked at nothing meanwhile, and counts anew."""
    pair = make_pair(*LONG)
    with pair.nobody_takes_over():
        freeze(pair.stations[1])
        serves_for(pair.rig, OWNED)
        thaw(pair.stations[1])
        serves_for(pair.rig, OWNED)


def test_row_40_a_standby_is_asked_to_stop_while_redis_is_silent(make_pair):
    pair = make_pair(*LONG)
    with frozen(pair.rig.redis.process):
        pair.stations[1].stop()
    wait_until(lambda: pair.rig.client.done("health").json["healthy"], "Redis is back")
    runs_through(pair.rig)


# Redis is away, for the owner or for both.

@pytest.mark.parametrize("fault", ["cut", "blackhole", "swallow", "delay"])
def test_row_38_the_owner_is_cut_off_from_redis(make_pair, fault):
    """The standby, which is not, takes over. What the target has told the former owner counts if it was written."""
    pair = make_pair(*SHORT, proxy=True, before=lambda pair: redis_of_standby(pair))
    rig = pair.rig
    ident, run = sent_and_running(pair, twice())
    former = rig.client
    if fault == "swallow":
        rig.proxy.swallow = True
    elif fault == "delay":
        rig.proxy.delay = 4.0
    else:
        rig.proxy.blackhole = True
    if fault == "cut":
        rig.proxy.cut_all()
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    former.send(CMD.PLAN, plan_frames(later(), gid="7"))
    pair.takes_over()
    runs = [run]
    added = rig.client.added(twice())
    answer_once(rig, runs, [ident, added])
    rig.proxy.heal()
    pair.steps_down()
    for reply in replies(former):
        assert reply.code == ST.NET_ERROR or (reply.code == ST.PLAN and rig.message("7")), reply
    rig.jobs.nothing(0.5)
    assert [status for status, _ in outcomes(rig, ident)].count(ST.OK) == 1
    assert outcomes(rig, added) == [(ST.OK, runs[-1].exec_id)] or len(runs) == 3
    each_counted_once(rig, [ident, added], runs)


def redis_of_standby(pair):
    for station in pair.stations[1:]:
        station.args[station.args.index("--redis") + 1] = "unix:" + pair.rig.redis.socket


@contextlib.contextmanager
def stopped_redis(rig, seconds):
    with frozen(rig.redis.process):
        time.sleep(seconds)
        yield


@contextlib.contextmanager
def sleeping_redis(rig, seconds):
    connection = asleep(rig, seconds)
    yield
    connection.close()


@pytest.mark.parametrize("stalled", [stopped_redis, sleeping_redis])
def test_row_38_redis_stalls(make_pair, stalled):
    """For longer than the lease of an owner: nobody takes over, nothing is lost."""
    pair = make_pair(*LONG, redis_args=("--enable-debug-command", "local"))
    rig, runs = pair.rig, []
    idents = submit(rig.client, range(1, 21))
    with pair.nobody_takes_over():
        answer_waiting(rig, runs, 10, 5000)
        with stalled(rig, 4):
            pass
        wait_until(lambda: rig.client.done("health").json["healthy"], "Redis is back")
        answer_all(rig, runs)
        # A read that was asked for before it slept may be given up only now.
        wait_until(lambda: rig.client.manage("history").code == ST.OK, "Redis is read again")
        each_counted_once(rig, idents, runs)
        assert {run["status"] for run in history(rig)} == {ST.OK}      # no lease was waited for
        serves_for(rig, OWNED)


def test_row_38_redis_is_slow(make_pair):
    """Each answer takes half a second, for the owner: it is still the owner."""
    pair = make_pair(*LONG, proxy=True, before=redis_of_standby)
    rig, runs = pair.rig, []
    with pair.nobody_takes_over():
        rig.proxy.delay = 0.5
        idents = submit(rig.client, range(1, 21))
        answer_all(rig, runs)
        rig.proxy.release()
    each_counted_once(rig, idents, runs)


# Clocks.

@pytest.mark.parametrize("whose", ["owner", "standby", "redis"])
def test_row_38_a_clock_is_set(make_pair, whose):
    """It says nothing of who lives."""
    clocks = []

    def before(pair):
        clocks.append(Clock(pair.rig.path("clock")))
        process = {"owner": pair.stations[0], "standby": pair.stations[1], "redis": pair.rig.redis}[whose]
        process.env = {**process.env, **clocks[0].env}
    pair = make_pair(*LONG, before=before)
    with pair.nobody_takes_over():
        runs_through(pair.rig)
        for step, seconds in enumerate([86400, -86400]):
            clocks[0].set(seconds)
            if whose == "redis":
                wait_until(lambda: len(logged(pair.stations[0], "clock.step")) > step, "the step is seen")
            serves_for(pair.rig, OWNED)


# Row 41: plans of another version.

@pytest.mark.parametrize("schema", ["3", "0", "x", ""])
def test_row_41_another_schema_at_the_start(make_rig, schema):
    """Refused with one line, and nothing is touched."""
    rig = make_rig()
    rig.client.added(later())
    rig.station.stop()
    rig.db.hset("plan:meta", "schema", schema)
    before = rig.dump()
    code, out, err = run_once(rig.station.args)
    lines = [line for line in err.splitlines() if " level=info " not in line]
    assert code == 1 and out == "" and len(lines) == 1 and "schema" in lines[0], err
    assert rig.dump() == before
    rig.db.hset("plan:meta", "schema", "2")
    rig.station.start()


def test_row_41_another_schema_while_it_runs(make_pair):
    """The owner stops submitting and claiming, and says why; the standby takes nothing over. When it is the right one
    again, the one of them that sees it first owns the plans."""
    pair = make_pair(*LONG)
    rig, token = pair.rig, pair.token()
    ident = rig.client.added(later())
    with pair.nobody_takes_over():
        rig.db.hset("plan:meta", "schema", "3")

        def refused():
            reply = rig.client.submit(later())
            return reply.code == ST.NET_ERROR and "schema" in reply.text
        wait_until(refused, "submissions are refused", 10 + LATE)
        assert rig.client.done("health").json["healthy"] is False
        wait_until(lambda: logged(pair.stations[1], "redis.down"), "the standby has seen it", 10 + LATE)
        rig.due_now(ident)
        rig.jobs.nothing(OWNED)
    rig.db.hset("plan:meta", "schema", "2")
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    owner = pair.client(0 if pair.token() == token else 1)
    wait_until(lambda: owner.submit(later()).code == ST.PLAN, "submissions are taken")


def test_row_41_another_schema_at_the_takeover(make_pair):
    """The owner was of a later version: a standby touches nothing until it is of that version too."""
    pair = make_pair(*LONG)
    rig = pair.rig
    due = rig.client.added(later())
    rig.db.hset("plan:meta", "schema", "3")
    rig.due_now(due)
    pair.stations[0].kill()

    def data():
        return {key: value for key, value in rig.dump().items() if key != b"plan:owner"}
    before = data()
    wait_until(lambda: logged(pair.stations[1], "redis.down"), "the standby has seen it", 10 + LATE)
    rig.jobs.nothing(OWNED)
    assert silent(pair.stations[1]) and data() == before
    rig.db.hset("plan:meta", "schema", "2")
    pair.takes_over()
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(due)


def test_row_41_data_of_before_there_was_a_schema(make_rig):
    """The station comes up on them, and writes its own."""
    rig = make_rig()
    ident, due = rig.client.added(later()), rig.client.added(later())
    rig.station.stop()
    rig.db.hdel("plan:meta", "schema", "store")
    rig.db.delete("plan:attending")
    rig.due_now(due)
    rig.station.start()
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(due)
    wait_until(lambda: rig.db.hget("plan:meta", "schema") == b"2", "the schema")
    assert rig.message(ident)
    is_whole(rig)
