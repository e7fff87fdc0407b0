"""Two stations on one Redis, both active (rows 38 to 41 of the failure table).

Each plan is claimed once per lease, whoever dies or stops; what a stale station sends or writes
comes too late; answers count wherever they come in.
"""
import random
import threading
import time

import pytest

from faulttest import (LATE, Pair, died, freeze, history, is_whole, outcomes, resend, thaw, twice)
from redissteps import proxied
from zplanprocs import WAIT, free_port, run_once
from zplantest import (CLOSE, CMD, FT, ST, Client, FakeTarget, Results, at_once, later, plan_frames, told,
                       wait_until)

LEASE = 3                           # seconds
SHORT = ("--exec-timeout", str(LEASE), "--send-timeout", "60000")
LONG = ("--exec-timeout", "60", "--send-timeout", "60000")      # longer than a test


@pytest.fixture
def make_pair(make_rig):
    made = []

    def make(*args, **options):
        made.append(Pair(make_rig(*args, **options)))
        return made[-1].start()
    yield make
    for pair in made:
        pair.close()


def submit(clients, numbers):
    """At-once plans of these ids, by the clients in turn; the ids that were acknowledged."""
    asked = [(clients[nth % len(clients)], f"{number:x}") for nth, number in enumerate(numbers)]
    for client, ident in asked:
        client.send(CMD.PLAN, plan_frames(at_once(), gid=ident))
    replies = [client.recv() for client, _ in asked]
    assert {reply.code for reply in replies} <= {ST.PLAN, ST.NET_ERROR}, replies
    return {reply.get(FT.GLOBAL_ID).decode() for reply in replies if reply.code == ST.PLAN}


def answer_waiting(rig, runs, most=1000):
    """Answer the dispatches that have come."""
    while most and rig.jobs.socket.poll(100):
        runs.append(rig.jobs.recv())
        rig.jobs.finish(runs[-1])
        most -= 1


def answer_all(rig, runs):
    """Answer every dispatch until no plan is left."""
    def over():
        answer_waiting(rig, runs)
        return not rig.db.keys("plan:msg:*")
    wait_until(over, "no plan is left", 60)


def each_counted_once(pair, idents, runs):
    """No number was given twice, each plan has one good outcome, and nothing is half-written."""
    execs = [run.exec_id for run in runs]
    assert len(set(execs)) == len(execs), "an exec_id was used twice"
    good = [run["plan"] for run in history(pair.rig) if run["status"] == ST.OK]
    assert sorted(good) == sorted(idents)
    is_whole(pair.rig)


def test_closed_by_the_other_between_sign_of_life_and_result(make_rig, request):
    """Both were decided on the plan as it was, and the answers to both come at once: the sign of life is
    decided anew on the closed plan, and the result must not take that for the plan that it was decided on."""
    rig = proxied(make_rig, *LONG)
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    pair = Pair(rig)
    pair.stations[1].args[pair.stations[1].args.index("--redis") + 1] = "unix:" + rig.redis.socket
    request.addfinalizer(pair.close)
    pair.start()
    pair.clients[1].done("close", ident)
    rig.proxy.delay = 600
    rig.jobs.answer(run, ST.RUNING)
    wait_until(lambda: b'"plan_state":7' in rig.proxy.held_back(), "the sign of life is answered")
    rig.jobs.answer(run, ST.OK)
    wait_until(lambda: b"*1\r\n$16\r\n" in rig.proxy.held_back(), "the end is answered: not as expected")
    rig.proxy.release()
    wait_until(lambda: rig.message(ident)["last_state"] == ST.OK, "the result is written")
    closed = rig.message(ident)
    assert (closed["plan_state"], closed["real_repet"]) == (CLOSE, 1)


def claimed_by_first(pair, plan):
    """A plan that the first station has sent, as the second was stopped meanwhile: id, run."""
    freeze(pair.stations[1])
    ident = pair.clients[0].added(plan)
    run = pair.rig.jobs.recv()
    thaw(pair.stations[1])
    return ident, run


# Row 38: each plan is claimed once per lease.

def test_row_38_under_load(make_pair):
    """Several hundred plans by both: each runs once, is told of once, and both take part."""
    pair = make_pair(*LONG)
    rig = pair.rig
    heard = [rig.keep(Results(rig.ipc(name), [b""])) for name in ("p", "p2")]
    runs, idents, first, end = [], set(), 1, time.monotonic() + 60
    while not all(one.socket.poll(100) for one in heard):   # both subscribers are there
        assert time.monotonic() < end
        idents |= submit(pair.clients, range(first, first + 2))
        answer_all(rig, runs)
        first += 2
    start = int(rig.db.hget("plan:meta", "seq"))
    for number in range(first, first + 400, 50):
        idents |= submit(pair.clients, range(number, number + 50))
        answer_waiting(rig, runs)
    answer_all(rig, runs)
    assert len(idents) == len(runs) == first - 1 + 400
    each_counted_once(pair, idents, runs)
    assert len({run.before[0] for run in runs}) == 2, "one of the stations sent nothing"
    assert {run["status"] for run in history(rig)} == {ST.OK}
    seqs = []
    for one in heard:
        while one.socket.poll(500):
            seqs.append(told(one.recv_any())["seq"])
    assert sorted(seq for seq in seqs if seq > start) == \
        list(range(start + 1, int(rig.db.hget("plan:meta", "seq")) + 1))


def test_row_38_one_is_killed(make_pair):
    """The other takes over what it had in hand, and what was not due yet."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    freeze(pair.stations[1])
    due = later(LEASE + 1)
    ident = pair.clients[0].added(due)
    idents = submit(pair.clients[:1], range(1, 21))
    first = {run.mailbox: run for run in (rig.jobs.recv() for _ in idents)}
    pair.stations[0].kill()
    thaw(pair.stations[1])
    seconds = [rig.jobs.recv() for _ in range(len(idents) + 1)]
    for run in seconds:
        rig.jobs.finish(run)
        since = due["plan_time"]
        if run.mailbox != b"*" + ident.encode():
            since = first[run.mailbox].claimed + LEASE
            assert run.exec_id > first[run.mailbox].exec_id
        assert since <= run.claimed <= since + 1 + LATE
    answer_all(rig, seconds)
    assert len(seconds) == len(idents) + 1
    rig.client = pair.clients[1]
    each_counted_once(pair, idents | {ident}, [*first.values(), *seconds])
    assert sum(run["status"] == ST.TIMEOUT for run in history(rig)) == len(idents)


@pytest.mark.parametrize("point", [
    "claim_sent:3", "claim_done", "send_mid", "sent:3", "running_recv:3", "running_done:3",
    "result_recv:3", "result_sent:3", "result_done:3", "next"])
def test_row_38_one_dies_at_a_point(make_pair, point):
    """The other does the rest: nothing is lost, and nothing counts twice."""
    pair = make_pair(*SHORT, env={"ZPLAN_FAILPOINT": point})
    rig = pair.rig
    first, runs, idents, number = pair.stations[0], [], set(), 0
    plans = []      # no reply is waited for: the station may die before its first has left
    end = time.monotonic() + WAIT
    while first.process.poll() is None:
        assert time.monotonic() < end, "never passed"
        number += 1
        rig.client.send(CMD.PLAN, plan_frames(twice(), gid=f"{number:x}"))
        while first.process.poll() is None and not rig.client.socket.poll(50):
            pass
        if rig.client.socket.poll(0):
            plans.append(rig.client.recv().get(FT.GLOBAL_ID).decode())
        answer_waiting(rig, runs, 5)
    died(first)
    rig.client = pair.clients[1]

    def over():
        answer_waiting(rig, runs)
        stored = [key.decode().rpartition(":")[2] for key in rig.db.keys("plan:msg:*")]
        assert set(plans) <= set(stored), "acknowledged, and lost"
        idents.update(stored)
        return all(rig.message(ident)["real_repet"] for ident in stored)
    wait_until(over, "every plan has run")
    each_counted_once(pair, idents, runs)


def test_row_38_faults_in_turn(make_pair):
    """One is killed, then the other, stopped for longer than a lease, cut off from Redis."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    idents, runs = set(), []
    for turn in range(6):
        idents |= submit(pair.clients, range(turn * 30 + 1, turn * 30 + 31))
        answer_waiting(rig, runs, 10)
        victim = pair.stations[turn % 2]
        if turn < 2:
            victim.kill()
            answer_waiting(rig, runs, 10)
            victim.start()
        elif turn < 4:
            freeze(victim)
            end = time.monotonic() + LEASE + 1
            while time.monotonic() < end:
                answer_waiting(rig, runs, 1)
            thaw(victim)
        else:
            rig.redis.client().client_kill_filter(_type="normal")
            wait_until(lambda: all(client.done("health").json["healthy"]
                                   for client in pair.clients), "both are connected again")
    answer_all(rig, runs)
    assert len(idents) == 180
    each_counted_once(pair, idents, runs)


def test_row_38_connections_are_cut(make_pair):
    """Now of the one, now of the other, while plans are submitted and run."""
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
    thread.start()
    try:
        for turn in range(20):
            acked |= submit(pair.clients, range(turn * 10 + 1, turn * 10 + 11))
            answer_waiting(rig, runs, 10)
    finally:
        stop.set()
        thread.join()
    for client in pair.clients:
        wait_until(lambda: client.done("health").json["healthy"], "connected again")
    answer_all(rig, runs)
    # What was answered NET_ERROR was stored or not.
    good = {run["plan"] for run in history(rig) if run["status"] == ST.OK}
    assert acked and acked <= good
    each_counted_once(pair, good, runs)


# Answers to the other station.

def test_row_38_result_to_the_other_station(make_pair):
    pair = make_pair(*LONG)
    rig = pair.rig
    ident, run = claimed_by_first(pair, twice())
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    resend(rig, ident, run, client=pair.clients[1])
    assert rig.repet(ident, 1)["plan_time"] == run.plan_time + 1000
    # The same once more, by either.
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    for client in pair.clients:
        resend(rig, ident, run, client=client)
        client.added(later())
    assert rig.message(ident)["real_repet"] == 1
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    is_whole(rig)
    rig.jobs.nothing(0.3)


def test_row_38_signs_of_life_to_the_other_station(make_pair):
    """They keep the lease, whoever has the run in hand."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    ident, run = claimed_by_first(pair, twice())
    resend(rig, ident, run, ST.RUNING, client=pair.clients[1])
    rig.state(ident, ST.RUNING)
    for _ in range(2 * LEASE):
        rig.jobs.nothing(LEASE / 2)
        resend(rig, ident, run, ST.WAITING, client=pair.clients[1])
    resend(rig, ident, run, client=pair.clients[1])
    rig.repet(ident, 1)
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    is_whole(rig)


def test_row_38_result_to_the_other_station_when_the_first_is_killed(make_pair):
    pair = make_pair(*LONG)
    rig = pair.rig
    ident, run = claimed_by_first(pair, twice())
    pair.stations[0].kill()
    resend(rig, ident, run, client=pair.clients[1])
    rig.repet(ident, 1)
    rig.client = pair.clients[1]
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    is_whole(rig)


def test_row_38_one_target_each(make_rig):
    """The same name at two endpoints: each sends to its own."""
    rig = make_rig(*LONG)
    own = rig.keep(FakeTarget(rig.ipc("j2")))
    pair = Pair(rig, own.endpoint)
    try:
        pair.start()
        idents, counts, first = set(), {rig.jobs: 0, own: 0}, 1
        end = time.monotonic() + 60
        while not all(counts.values()) or rig.db.keys("plan:msg:*"):
            assert time.monotonic() < end, counts
            if not all(counts.values()):
                idents |= submit(pair.clients, range(first, first + 20))
                first += 20
            for target in counts:
                while target.socket.poll(100):
                    target.finish(target.recv())
                    counts[target] += 1
        assert sum(counts.values()) == len(idents)
        each_counted_once(pair, idents, [])
    finally:
        pair.close()


def test_row_38_only_one_reaches_the_target(make_rig):
    """What the other has claimed and cannot send is soon sent by the one that can."""
    rig = make_rig(*LONG)
    pair = Pair(rig, rig.ipc("nobody"))
    try:
        pair.stations[1].start()
        runs, idents, start = [], set(), time.time()
        while not any(run["status"] == ST.SEND_ERROR for run in history(rig)):
            assert time.time() < start + 20, "the other has tried none"
            idents |= submit(pair.clients, range(len(idents) + 1, len(idents) + 61))
            answer_waiting(rig, runs)
        start = time.time()
        answer_all(rig, runs)
        each_counted_once(pair, idents, runs)
        assert max(run.claimed for run in runs) - start <= 5 + LATE
    finally:
        pair.close()


# What one is told, the other knows.

def test_row_38_one_id_at_both(make_pair):
    """The same submission to both at once is one plan; of two with one id one is refused."""
    pair = make_pair(*LONG)
    rig, runs = pair.rig, []
    plan = at_once()
    for number in range(1, 51):
        for client in pair.clients:
            client.send(CMD.PLAN, plan_frames(plan, gid=f"{number:x}"))
    # A repetition is known as such while the plan is there: nobody answers its run yet.
    codes = [client.recv().code for client in pair.clients for _ in range(50)]
    assert set(codes) == {ST.PLAN}
    answer_all(rig, runs)
    assert len(runs) == 50
    each_counted_once(pair, [f"{number:x}" for number in range(1, 51)], runs)
    for number in range(101, 121):
        for client, name in zip(pair.clients, "ab"):
            client.send(CMD.PLAN, plan_frames(later(description=name), gid=f"{number:x}"))
        assert sorted(client.recv().code for client in pair.clients) == [ST.PLAN, ST.PLANERROR]
    is_whole(rig)


@pytest.mark.parametrize("word", ["skip", "pause", "close", "remove"])
def test_row_38_managed_at_the_other_while_it_runs(make_pair, word):
    """The first decides anew on what the other has made of the plan."""
    pair = make_pair(*LONG)
    rig = pair.rig
    ident, run = claimed_by_first(pair, {**twice(), "plan_repet": 3})
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    pair.clients[1].done(word, ident, *([1] if word == "skip" else []))
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    if word == "remove":
        wait_until(lambda: pair.counter(0, "stale_commits"), "the commit is refused")
        assert not rig.left(ident) and outcomes(rig, ident) == []
        return
    wait_until(lambda: outcomes(rig, ident), "the outcome")
    assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    message = rig.message(ident)
    assert word == "close" or message["real_repet"] == 1
    assert word != "skip" or message["skip_set"] == 1
    assert word != "pause" or rig.score(ident) is None
    rig.jobs.nothing(0.3)


def names(client):
    return {one["name"] for one in client.done("station", "list").json["stations"]}


def test_row_38_added_targets_are_known_to_both(make_pair):
    pair = make_pair(*LONG)
    rig, (one, other) = pair.rig, pair.clients
    late = rig.keep(FakeTarget(rig.ipc("l")))
    one.done("station", "add", "late=api@" + late.endpoint)
    wait_until(lambda: "late" in names(other), "the other knows it", 6 + LATE)
    freeze(pair.stations[0])
    ident = other.added(at_once(), station="late")
    late.finish(late.recv())
    rig.gone(ident, "late")
    thaw(pair.stations[0])
    other.done("station", "remove", "late")
    wait_until(lambda: "late" not in names(one), "the first has forgotten it", 6 + LATE)


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

def claim_waits(rig):
    """A write of a station waits in Redis, which is paused."""
    return any("b" in one["flags"] and one["cmd"] == "evalsha"
               for one in rig.db.client_list(_type="normal"))


def stopped_in_its_claim(rig, station, client):
    """Stop the station between its claim and the answer. (id, number of the run that it has not
    sent), or None when it was some other call that waited."""
    ident = client.added({**twice(), "plan_time": int(time.time()) - 998})
    rig.db.execute_command("CLIENT", "PAUSE", "20000", "WRITE")
    early = rig.message(ident)["exec_id"]       # it was claimed before the pause
    due = rig.score(ident)
    try:
        wait_until(lambda: claim_waits(rig) and time.time() > due + 0.2, "a claim waits")
        freeze(station)
    finally:
        rig.db.execute_command("CLIENT", "UNPAUSE")
    rig.db.hset("plan:meta", "waited", 0)       # behind what has waited
    exec_id = rig.message(ident)["exec_id"]
    if exec_id and not early:
        return ident, exec_id
    thaw(station)
    rig.jobs.finish(rig.jobs.recv())
    rig.repet(ident, 1)
    return None


def until_stopped(rig, station, client):
    return wait_until(lambda: stopped_in_its_claim(rig, station, client), "stopped in its claim",
                      60)


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
    ident, exec_id = until_stopped(rig, rig.station, rig.client)
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


def given_up(pair, counter, ident, run):
    """Wait until the first station has counted it; the run that the other has in hand lives on."""
    def counted():
        resend(pair.rig, ident, run, ST.WAITING, client=pair.clients[1])
        return pair.counter(0, counter)
    wait_until(counted, counter)


@pytest.mark.parametrize("finished", [True, False])
def test_row_40_stopped_before_it_sent_and_another_takes_over(make_pair, finished):
    """The other has sent it meanwhile, and perhaps has its result: nothing is sent by the first."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    freeze(pair.stations[1])
    ident, exec_id = until_stopped(rig, pair.stations[0], pair.clients[0])
    thaw(pair.stations[1])
    run = rig.jobs.recv()
    assert run.exec_id > exec_id and run.claimed >= exec_id / 1e6 + LEASE
    assert run.claimed <= exec_id / 1e6 + LEASE + 1 + LATE
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    if finished:
        resend(rig, ident, run, client=pair.clients[1])
        rig.repet(ident, 1)
    thaw(pair.stations[0])
    given_up(pair, "stale_claims", ident, run)
    if not finished:
        resend(rig, ident, run, client=pair.clients[1])
        rig.repet(ident, 1)
    rig.jobs.nothing(0.5)
    assert pair.counter(0, "stale_claims") == 1
    assert outcomes(rig, ident) == [(ST.TIMEOUT, exec_id), (ST.OK, run.exec_id)]
    is_whole(rig)


@pytest.mark.parametrize("status", [ST.OK, ST.RUNING, ST.ERROR], ids=["ok", "runing", "error"])
@pytest.mark.parametrize("finished", [True, False])
def test_row_40_stopped_after_it_sent(make_pair, finished, status):
    """The answer waits at the first, the other has repeated the run: what that gives counts."""
    pair = make_pair(*SHORT)
    rig = pair.rig
    ident, run = claimed_by_first(pair, twice())
    freeze(pair.stations[0])
    rig.jobs.answer(run, status, [(FT.LOCAL_ID, run.local_id), (FT.CONTENT, b"late")])
    second = rig.jobs.recv()
    assert second.exec_id > run.exec_id and second.before[0] != run.before[0]
    assert run.claimed + LEASE <= second.claimed <= run.claimed + LEASE + 1 + LATE
    rig.jobs.answer(second, ST.RUNING)
    rig.state(ident, ST.RUNING)
    good = [(FT.LOCAL_ID, second.local_id), (FT.CONTENT, b"good")]
    if finished:
        pair.clients[1].result(ident, ST.OK, good)
        rig.repet(ident, 1)
    before, score = rig.message(ident), rig.score(ident)
    thaw(pair.stations[0])
    given_up(pair, "stale_commits", ident, second)
    if finished:
        assert (rig.message(ident), rig.score(ident)) == (before, score)
    else:
        assert rig.message(ident)["real_repet"] == 0 and rig.work(ident) == {}
        pair.clients[1].result(ident, ST.OK, good)
        rig.repet(ident, 1)
    rig.jobs.nothing(0.5)
    assert rig.message(ident)["real_repet"] == 1 and b"good" in rig.work(ident)["jobs"]
    assert outcomes(rig, ident) == [(ST.TIMEOUT, run.exec_id), (ST.OK, second.exec_id)]
    is_whole(rig)


# Row 41: plans of another version.

@pytest.mark.parametrize("schema", ["2", "0", "x", ""])
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
    rig.db.hset("plan:meta", "schema", "1")
    rig.station.start()


def test_row_41_another_schema_while_it_runs(make_pair):
    """Both stop submitting and claiming, say why, and go on when it is the right one again."""
    pair = make_pair(*LONG)
    rig = pair.rig
    ident = rig.client.added(later())
    rig.db.hset("plan:meta", "schema", "2")

    def refused(client):
        reply = client.submit(later())
        return reply.code == ST.NET_ERROR and "schema" in reply.text
    for client in pair.clients:
        wait_until(lambda: refused(client), "submissions are refused", 10 + LATE)
        assert client.done("health").json["healthy"] is False
    rig.due_now(ident)
    rig.jobs.nothing(1.5)
    rig.db.hset("plan:meta", "schema", "1")
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    for client in pair.clients:
        wait_until(lambda: client.submit(later()).code == ST.PLAN, "submissions are taken")


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
    wait_until(lambda: rig.db.hget("plan:meta", "schema") == b"1", "the schema")
    assert rig.message(ident)
    is_whole(rig)
