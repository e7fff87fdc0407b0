"""Rows 28 to 37 of the failure table: what targets do, and what then happens to their plans.

What stands elsewhere already, and is looked at here from another side:
  28  test_fire (absent, then there), test_targets (nothing is used up), test_stations (removed)
  29  test_loss (killed while plans run), test_fire (a restarted target gets no old run)
  30  test_targets (one that does not read delays nobody)
  32  test_lease (WAITING keeps the lease; silence after it ends it)
  33, 34, 35  test_lease (late, doubled and forged results of one run)
  36  test_hostile (noise of a target)
  37  test_stations (added again), test_targets (overridden by the command line)
"""
import json
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from zplanprocs import DIES_WITH_PARENT, free_port
from zplantest import (CMD, FT, ST, FakeTarget, at_once, describe, every, later, pack,
                       plan_frames, told, wait_until)


def counter(rig, name):
    return rig.client.done("stats").json["counters"][name]


def counted(rig, name, value):
    wait_until(lambda: counter(rig, name) >= value, f"{name} is {value}")
    assert counter(rig, name) == value


def connected(rig, name):
    listed = {one["name"]: one for one in rig.client.done("station", "list").json["stations"]}
    return listed[name]["connected"]


def submit_many(rig, count, station):
    """As many plans that run at once; their ids."""
    for _ in range(count):
        rig.client.send(CMD.PLAN, plan_frames(at_once(), station))
    replies = [rig.client.recv() for _ in range(count)]
    assert {reply.code for reply in replies} == {ST.PLAN}
    return {reply.get(FT.GLOBAL_ID).decode() for reply in replies}


def run_after_run(rig, count=2, **fields):
    """A plan whose next occurrence is due at once."""
    return rig.client.added(every(1000, count, no_keep=True, plan_time=int(time.time()) - 1000,
                                  **fields))


TARGET = """
import sys, zmq
context = zmq.Context()
router = context.socket(zmq.ROUTER)
router.bind(sys.argv[1])
print("bound", flush=True)
while True:
    parts = router.recv_multipart()
    exec_id = parts[3 + parts[2][2:].index(8)]
    if sys.argv[2] != "silent":
        router.send_multipart([*parts[:2], bytes([0, 3, 0])])
    print(parts[1][1:].decode(), exec_id.decode(), flush=True)
    if sys.argv[2] == "finish":
        router.send_multipart([*parts[:2], bytes([1, 1, 8, 0]), exec_id])
"""


class TargetProcess:
    """A target that can be killed and stopped. It gives no status, RUNING, or RUNING and OK."""

    def __init__(self, endpoint, does):
        self.process = subprocess.Popen(
            [*DIES_WITH_PARENT, sys.executable, "-c", TARGET, endpoint, does], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        self.runs = []      # (plan id, exec_id)
        assert self.process.stdout.readline() == "bound\n"
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.runs.append(tuple(line.split()))

    def send(self, number):
        self.process.send_signal(number)

    def close(self):
        """kill -9"""
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class Proxy:
    """TCP between the station and a target: passes on, or keeps both ends open and silent."""

    def __init__(self, port):
        self.port, self.to, self.lock = free_port(), port, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.passes, self.pairs, self.ended = True, [], False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended:
            with selectors.DefaultSelector() as ready:
                ready.register(self.listener, selectors.EVENT_READ)
                with self.lock:
                    for pair in self.pairs if self.passes else []:
                        for n, end in enumerate(pair):
                            ready.register(end, selectors.EVENT_READ, (pair, pair[1 - n]))
                for key, _ in ready.select(0.05):
                    with self.lock:
                        self.pass_on(key)

    def pass_on(self, key):
        if key.fileobj is self.listener:
            end = self.listener.accept()[0]
            try:
                self.pairs.append((end, socket.create_connection(("127.0.0.1", self.to))))
            except OSError:
                end.close()
        elif key.data[0] in self.pairs and self.passes:
            try:
                data = key.fileobj.recv(65536)
                key.data[1].sendall(data)
            except OSError:
                data = b""
            if not data:
                self.drop(key.data[0])

    def drop(self, pair):
        self.pairs.remove(pair)
        for end in pair:
            end.close()

    def hole(self):
        with self.lock:
            self.passes = False

    def heal(self):
        """What was open is unknown to both sides."""
        with self.lock:
            for pair in list(self.pairs):
                self.drop(pair)
            self.passes = True

    def close(self):
        self.ended = True
        self.thread.join()
        self.heal()
        self.listener.close()


# Row 28.

def test_row_28_plans_of_a_target_that_is_not_there_are_paced(make_rig):
    """Not each second times plans: each tries at 0, 1, 3 and 7 s, and tells of the first only."""
    rig = make_rig(start=False)
    rig.station.args += ["--station", "away=api@" + rig.ipc("away")]
    rig.start()
    results = rig.subscribe(b"at once")
    start = time.monotonic()
    idents = submit_many(rig, 100, "away")
    wait_until(lambda: all(rig.message(ident, "away")["error_count"] >= 3 for ident in idents),
               "each was tried three times")
    tries = sum(rig.message(ident, "away")["error_count"] for ident in idents)
    passed = time.monotonic() - start
    assert tries <= 100 * (1 + sum(passed >= paced for paced in (0.9, 2.9, 6.9, 14.9, 30.9)))
    assert {results.recv().code for _ in idents} == {ST.SEND_ERROR}
    results.nothing(0.3)
    away = rig.keep(FakeTarget(rig.ipc("away")))
    ran = []
    for _ in idents:
        run = away.recv()
        ran.append(run.mailbox[1:].decode())
        away.finish(run)
    assert sorted(ran) == sorted(idents)
    away.nothing(1.2)


def test_row_28_a_station_that_nobody_knows(rig):
    """A plan put into Redis by hand for a name that is none of ours: kept, and nobody suffers."""
    ident = rig.client.added(later(), gid="28")
    message = rig.message(ident)
    rig.client.done("remove", ident)
    message["station"] = "nowhere"
    rig.db.set("plan:msg:nowhere:28", json.dumps(message))
    rig.db.zadd("plan:time:set", {"plan:msg:nowhere:28": int(time.time())})
    rig.state("28", ST.SEND_ERROR, "nowhere")
    other = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(other)
    assert rig.score("28", "nowhere") > time.time()


# Row 29.

@pytest.mark.parametrize("does", ["silent", "runing"])
def test_row_29_a_target_killed_before_its_result(make_rig, does):
    """kill -9 before and after RUNING: each runs again with another exec_id, and counts once."""
    rig = make_rig("--exec-timeout", "2", "--send-timeout", "500", start=False)
    target = rig.keep(TargetProcess(rig.ipc("t"), does))
    rig.station.args += ["--station", "there=api@" + rig.ipc("t")]
    rig.start()
    results = rig.subscribe(b"at once")
    idents = submit_many(rig, 20, "there")
    wait_until(lambda: {ident for ident, _ in target.runs} == idents, "all runs are out")
    if does == "runing":
        for ident in idents:
            rig.state(ident, ST.RUNING, "there")
    target.close()
    again = rig.keep(TargetProcess(rig.ipc("t"), "finish"))
    for ident in idents:
        rig.gone(ident, "there")
    wait_until(lambda: {ident for ident, _ in again.runs} == idents, "all ran again")
    runs = target.runs + again.runs
    assert len(set(runs)) == len(runs), "an exec_id was used twice"
    ended = []
    while len(ended) < 20:
        news = results.recv()
        if news.code == ST.OK:
            ended.append(told(news)["plan_id"])
    assert sorted(ended) == sorted(int(ident, 16) for ident in idents)


# Row 30.

def test_row_30_a_frozen_target_delays_nobody(make_rig):
    """SIGSTOP: its connection is given up within a few seconds; after SIGCONT its plans run."""
    rig = make_rig("--send-timeout", "1000", start=False)
    target = rig.keep(TargetProcess(rig.ipc("t"), "finish"))
    rig.station.args += ["--station", "cold=api@" + rig.ipc("t")]
    rig.start()
    wait_until(lambda: connected(rig, "cold"), "connected")
    target.send(signal.SIGSTOP)
    idents = submit_many(rig, 300, "cold")
    other = rig.client.added(every(1, 6, no_keep=True, plan_time=int(time.time()) + 1), station="news")
    for _ in range(6):
        run = rig.news.recv()
        assert run.claimed - run.plan_time < 2
        rig.news.answer(run, ST.OK)
    rig.gone(other, "news")
    wait_until(lambda: not connected(rig, "cold"), "the frozen one is given up")
    target.send(signal.SIGCONT)
    for ident in idents:
        rig.gone(ident, "cold")
    # What was sent before the end may have been read by the target after all: D4, another exec_id.
    wait_until(lambda: {ident for ident, _ in target.runs} == idents, "all were told of")
    assert len(set(target.runs)) == len(target.runs)


# Row 31.

def test_row_31_a_half_open_target(make_rig):
    """Both ends think that they are connected, and nothing passes: seen by the heartbeat."""
    rig = make_rig("--send-timeout", "1000", "--exec-timeout", "3", start=False)
    port = free_port()
    proxy = rig.keep(Proxy(port))
    target = rig.keep(TargetProcess(f"tcp://127.0.0.1:{port}", "runing"))
    rig.station.args += ["--station", f"far=api@tcp://127.0.0.1:{proxy.port}"]
    rig.start()
    ident = rig.client.added(at_once(), station="far")
    rig.state(ident, ST.RUNING, "far")
    proxy.hole()
    start = time.monotonic()
    wait_until(lambda: not connected(rig, "far"), "the half-open one is given up")
    assert time.monotonic() - start < 10
    waiting = rig.client.added(at_once(), station="far")
    rig.state(waiting, ST.SEND_ERROR, "far")
    rig.client.ping()
    target.close()
    again = rig.keep(TargetProcess(f"tcp://127.0.0.1:{port}", "finish"))
    proxy.heal()
    for one in (ident, waiting):
        rig.gone(one, "far")
    wait_until(lambda: {one for one, _ in again.runs} == {ident, waiting}, "both were told of")
    assert not set(target.runs) & set(again.runs)


# Row 32.

def test_row_32_many_slow_runs_are_kept_by_waiting(make_rig):
    """Three leases long: not one is sent twice, and the target's other plans go on beside them."""
    rig = make_rig("--exec-timeout", "4")
    slow = {}
    for _ in range(30):
        rig.client.added(at_once(description="slow"))
    for _ in range(30):
        run = rig.jobs.recv()
        slow[run.mailbox] = run
        rig.jobs.answer(run, ST.RUNING)
    end = time.monotonic() + 12.5
    while time.monotonic() < end:
        for run in slow.values():
            rig.jobs.answer(run, ST.WAITING, [(FT.LOCAL_ID, run.local_id)])
        quick = rig.client.added(at_once())
        run = rig.jobs.recv()
        assert run.mailbox == b"*" + quick.encode(), "a slow run was sent twice"
        rig.jobs.finish(run)
        rig.gone(quick)
        time.sleep(0.3)
    for run in slow.values():
        rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    for mailbox in slow:
        rig.gone(mailbox[1:].decode())
    rig.jobs.nothing(0.5)


# Row 33.

def test_row_33_a_result_from_three_leases_ago(make_rig):
    """It is counted and told as late, and changes nothing: neither the plan nor its history."""
    rig = make_rig("--exec-timeout", "3", "--send-timeout", "60000")
    ident = run_after_run(rig)
    first = rig.jobs.recv()
    rig.jobs.answer(first, ST.RUNING)
    rig.state(ident, ST.RUNING)
    runs = [rig.jobs.recv() for _ in range(3)]      # each after a lease
    assert len({run.exec_id for run in [first, *runs]}) == 4
    rig.jobs.answer(runs[-1], ST.RUNING)
    rig.marked(ident, runs[-1])
    events = rig.events()
    late = [(FT.CONTENT, b"of long ago"), (FT.LOCAL_ID, first.local_id)]
    rig.jobs.answer(first, ST.OK, late)
    rig.client.result(ident, ST.ERROR, late)
    seen = []
    while len(seen) < 2:
        parts = events.socket.recv_multipart()
        state = json.loads(parts[3])
        if state.get("late"):
            assert parts[0] == b"plan.result.jobs" and parts[2].decode() == ident
            seen.append((state["status"], state["exec_id"]))
    assert sorted(seen) == [(ST.OK, first.exec_id), (ST.ERROR, first.exec_id)]
    assert counter(rig, "late_answers") >= 2
    assert rig.message(ident)["real_repet"] == 0 and rig.work(ident) == {}
    outcomes = rig.client.done("history", ident).json["runs"]
    assert {one["status"] for one in outcomes} == {ST.TIMEOUT}, "the late ones are no outcomes"
    last = runs[-1]
    while rig.message(ident)["real_repet"] == 0:
        rig.jobs.finish(last, ST.OK, [(FT.CONTENT, b"new")])
        if rig.jobs.socket.poll(100):
            last = rig.jobs.recv()
    assert rig.work(ident)["jobs"][1] == b"new"


def test_row_33_a_result_of_a_plan_that_is_no_more(rig):
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.finish(run)
    rig.gone(ident)
    before = counter(rig, "dropped_mailboxes")
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.jobs.answer(run, ST.ERROR, [(FT.LOCAL_ID, run.local_id)])
    counted(rig, "dropped_mailboxes", before + 2)
    assert not rig.left(ident)


# Row 34.

def test_row_34_every_result_twice(rig):
    """On the connection, and by the request socket: one broadcast and one outcome a run."""
    results = rig.subscribe(b"every")
    ident = rig.client.added(every(1, 20, no_keep=True, plan_time=int(time.time()) - 1000))
    for turn in range(20):
        run = rig.jobs.recv()
        rig.jobs.answer(run, ST.RUNING)
        done = [(FT.CONTENT, b"%d" % turn), (FT.LOCAL_ID, run.local_id)]
        rig.jobs.answer(run, ST.OK, done)
        rig.jobs.answer(run, ST.OK, done)
        rig.client.result(ident, ST.OK, done)
    rig.gone(ident)
    news = [results.recv() for _ in range(20)]
    assert [told(one)["real_repet"] for one in news] == list(range(1, 21))
    assert [one.every(FT.CONTENT)[1] for one in news] == [b"%d" % n for n in range(20)]
    results.nothing(0.3)
    outcomes = rig.client.done("history", ident).json["runs"]
    assert len(outcomes) == 20 and len({one["exec_id"] for one in outcomes}) == 20


# Row 35.

def test_row_35_the_result_of_another_target(rig):
    """`news` answers for a plan of `jobs`, with its right number: dropped and counted."""
    mine = rig.client.added(at_once(), station="news")
    known = rig.news.recv()         # so that the test knows the station's connection
    rig.news.answer(known, ST.OK)
    rig.gone(mine, "news")
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    before = rig.message(ident)
    for status in (ST.OK, ST.ERROR, ST.WAITING, ST.RUNING):
        rig.news.socket.send_multipart([known.before[0], run.mailbox,
                                        *pack(status, [(FT.LOCAL_ID, run.local_id)])])
    counted(rig, "forged_answers", 4)
    assert rig.message(ident) == before
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(ident)


def test_row_35_a_stranger_with_a_wrong_number(rig):
    """Every number but the run's own is of no run of ours."""
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    before = rig.message(ident)
    wrong = [b"", b"0", b"1", b"zz", b"f" * 16, b"\0" * 16, run.local_id + b"0",
             b"%x" % (run.exec_id + 1), b"%x" % (run.exec_id - 1), b"x" * 100000]
    stranger = rig.dealer()
    for local_id in wrong:
        stranger.result(ident, ST.OK, [(FT.LOCAL_ID, local_id)])
    stranger.ping()
    rig.settle()
    assert rig.message(ident) == before
    assert counter(rig, "late_answers") == len(wrong)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(ident)


# Row 36.

def broken(rig, run, parts):
    """The answer is dropped and counted; the run is still in hand."""
    before = counter(rig, "broken_answers")
    rig.jobs.socket.send_multipart([*run.before, *parts])
    counted(rig, "broken_answers", before + 1)


def test_row_36_results_that_are_too_much(rig):
    """What is over a bound is dropped and counted; a right answer after it counts."""
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    local_id = [(FT.LOCAL_ID, run.local_id)]
    big = b"x" * (1 << 20)
    broken(rig, run, pack(ST.OK, [(FT.CONTENT, big + b"x")]))
    broken(rig, run, pack(ST.OK, [(FT.CONTENT, big)] * 5))
    broken(rig, run, [describe(ST.OK, [FT.ARG] * 250)] + [b""] * 250)
    broken(rig, run, [describe(ST.OK, [FT.ARG] * 32)] + [b"x"] * 1000)
    broken(rig, run, [describe(ST.OK, [])] + [b""] * 5000)
    assert rig.message(ident)["real_repet"] == 0 and rig.work(ident) == {}
    rig.jobs.answer(run, ST.OK, local_id)
    rig.gone(ident)
    # The largest that is taken, all of it.
    ident = run_after_run(rig)
    run = rig.jobs.recv()
    whole = [(FT.BIN, big)] * 3
    rig.jobs.finish(run, ST.OK, whole)
    rig.repet(ident, 1)
    assert rig.work(ident)["jobs"][1:4] == [big] * 3


def test_row_36_a_frame_that_cuts_the_connection(rig):
    """Over max_message_bytes in one frame: libzmq cuts; it comes back, its result counts."""
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.jobs.answer(run, ST.OK, [(FT.CONTENT, b"x" * (8 << 20))])
    other = rig.client.added(at_once(), gid="36")
    while (again := rig.jobs.recv()).mailbox != b"*36":
        pass
    rig.jobs.finish(again)
    rig.gone(other)
    assert rig.message(ident)["last_state"] == ST.RUNING
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(ident)


def test_row_36_every_status_there_is(make_rig):
    """As the first answer and as the result: the station goes on, whatever the number."""
    rig = make_rig("--send-timeout", "60000")
    base = int(time.time()) - 1000
    for n in range(512):
        rig.client.added(every(1000, 3, plan_time=base, no_keep=True), gid=f"{n + 1:x}")
    seen = set()
    while len(seen) < 512:
        run = rig.jobs.recv()
        number = int(run.mailbox[1:], 16) - 1
        if number in seen:
            continue        # one that failed comes again
        seen.add(number)
        if number >= 256:
            rig.jobs.answer(run, ST.RUNING)
        rig.jobs.answer(run, number % 256, [(FT.LOCAL_ID, run.local_id)])
    good = set(range(1, 128)) - {ST.RUNING, ST.WAITING, ST.WAITING_TOO}

    def counted_results():
        messages = {n: rig.message(f"{256 + n + 1:x}") for n in range(256)}
        return {n for n, message in messages.items() if message["real_repet"] == 1} == good
    wait_until(counted_results, "what is no error is a result")
    assert rig.client.done("stats").json["plans"] == 512
    rig.client.ping()


# Row 37.

def test_row_37_two_targets_of_one_name(make_rig):
    """The later one has it; what the earlier one says on its connection is nobody's any more."""
    rig = make_rig("--send-timeout", "1000")
    one, two = (rig.keep(FakeTarget(rig.ipc(name))) for name in ("one", "two"))
    rig.client.done("station", "add", "shop=api@" + one.endpoint)
    ident = rig.client.added(at_once(), station="shop")
    first = one.recv()
    rig.client.done("station", "add", "shop=api@" + two.endpoint)
    one.answer(first, ST.OK, [(FT.LOCAL_ID, first.local_id)])
    second = two.recv()
    assert second.mailbox == first.mailbox and second.exec_id > first.exec_id
    two.answer(second, ST.RUNING)
    rig.marked(ident, second, "shop")
    one.answer(first, ST.ERROR, [(FT.LOCAL_ID, first.local_id)])
    two.answer(second, ST.OK, [(FT.LOCAL_ID, second.local_id)])
    rig.gone(ident, "shop")
    one.nothing(0.5)
    two.nothing(0.5)


def test_row_37_claimed_by_many_at_once(rig):
    """Whoever is last has the name, alone; no plan goes to two."""
    targets = [rig.keep(FakeTarget(rig.ipc(f"t{n}"))) for n in range(8)]
    clients = [rig.dealer() for _ in targets]
    for client, target in zip(clients, targets):
        client.send(CMD.NONE, [(FT.COMMAND, b"station"), (FT.ARG, b"add"),
                               (FT.ARG, b"shop=api@" + target.endpoint.encode())])
    for client in clients:
        assert client.recv().code == ST.OK
    listed = {one["name"]: one["endpoint"]
              for one in rig.client.done("station", "list").json["stations"]}
    owner = next(target for target in targets if target.endpoint == listed["shop"])
    idents = submit_many(rig, 20, "shop")
    for _ in idents:
        owner.finish(owner.recv())
    for ident in idents:
        rig.gone(ident, "shop")
    for target in targets:
        target.nothing(0)
