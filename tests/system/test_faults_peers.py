"""Rows 46 to 53 of the failure table: peers that do not read, flood, hang on, or use all up.

What stands elsewhere already, and is looked at here from another side:
  48, 49  test_targets (600 plans of a target that does not read), test_fire (many runs)
  50  test_hostile, test_hostile_generated
"""
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest
import zmq

from zmtp import GREETING, RawPeer, frame, message, ready
from zplanprocs import DIES_WITH_PARENT, free_port
from zplantest import (CMD, FT, ST, Client, Results, at_once, every, later, pack, plan_frames,
                       told, wait_until)


def counter(rig, name):
    return rig.client.done("stats").json["counters"][name]


def goes_on(rig):
    """It answers, and runs a plan."""
    rig.client.ping()
    ident = rig.client.added(at_once())
    while (run := rig.jobs.recv()).mailbox != b"*" + ident.encode():
        rig.jobs.finish(run)
    rig.jobs.finish(run)
    rig.gone(ident)


# Row 46.

@pytest.mark.parametrize("kind", ["frozen", "idle"])
def test_row_46_a_subscriber_that_does_not_read(make_rig, kind):
    """It alone misses broadcasts, sees by their numbers that it did, and can ask for them."""
    rig = make_rig("--max-replies-peer", "20")
    reader = rig.subscribe(b"every")
    if kind == "frozen":
        slow = rig.keep(RawPeer(rig.ipc("p"))).joined(b"SUB")
        slow.send(frame(b"\1every"))
    else:
        slow = rig.keep(Client(rig.ipc("p"), kind=zmq.SUB))
        slow.socket.rcvhwm = 1
        slow.socket.subscribe(b"every")
    content = os.urandom(500_000)
    ident = rig.client.added(every(1, 300, no_keep=True, plan_time=int(time.time()) - 1000))
    numbers, before = [], None
    for turn in range(300):
        rig.jobs.finish(rig.jobs.recv(), ST.OK, [(FT.BIN, content)])
        news = told(reader.recv())
        numbers.append(news["seq"])
        if turn == 30:      # from here on it could only grow by what waits for the slow one
            before = rig.station.rss_mib()
    rig.gone(ident)
    assert rig.station.rss_mib() - before < 60, "130 MB were broadcast since"
    first = numbers[0]
    assert numbers == list(range(first, first + 300))
    page = rig.client.done("history", {"since": first - 1, "epoch": news["epoch"],
                                       "limit": 1000}).json
    assert [one["seq"] for one in page["runs"]] == numbers
    goes_on(rig)


def test_row_46_the_gap_is_visible(make_rig):
    """The subscriber reads on: what it gets is in order, and what is missing is in the history."""
    rig = make_rig("--max-replies-peer", "10")
    slow = rig.keep(Results(rig.ipc("p"), []))
    slow.socket.disconnect(rig.ipc("p"))
    slow.socket.rcvhwm = 5
    slow.socket.subscribe(b"every")
    slow.socket.connect(rig.ipc("p"))

    def probed():
        rig.client.added(at_once(description="every"), station="news")
        rig.news.answer(rig.news.recv(), ST.OK)
        return slow.socket.poll(200)
    wait_until(probed, "a probe broadcast")
    content = os.urandom(200_000)
    ident = rig.client.added(every(1, 150, no_keep=True, plan_time=int(time.time()) - 1000))
    for _ in range(150):
        rig.jobs.finish(rig.jobs.recv(), ST.OK, [(FT.BIN, content)])
    rig.gone(ident)
    # It reads only now.
    seen = []
    while slow.socket.poll(1000):
        seen.append(told(slow.recv_any()))
    numbers = [news["seq"] for news in seen]
    assert numbers == sorted(set(numbers)) and len(numbers) < 150
    news = rig.subscribe(b"every")
    rig.client.added(at_once(description="every"), station="news")
    rig.news.answer(rig.news.recv(), ST.OK)
    last = told(news.recv())["seq"]
    page = rig.client.done("history", {"since": numbers[-1], "epoch": seen[0]["epoch"],
                                       "limit": 1000}).json
    assert not page["missed"]
    assert [one["seq"] for one in page["runs"]] == list(range(numbers[-1] + 1, last + 1))
    goes_on(rig)


# Row 47.

def test_row_47_a_submitter_that_never_reads(make_rig):
    """Its plans are stored; what it does not read is dropped and counted, and no memory."""
    rig = make_rig("--max-replies-peer", "100")
    mute = rig.keep(RawPeer(rig.ipc("q"))).joined()
    before = rig.station.rss_mib()
    for first in range(1, 3001, 100):
        data = [message(*pack(CMD.PLAN, plan_frames(later(), gid=f"{n:x}")))
                for n in range(first, first + 100)]
        # The answer of each would be 9 kB: REQUESTER comes back.
        data += [message(*pack(CMD.PING, [(FT.REQUESTER, b"r" * 9000)]))] * 100
        mute.send(*data)
        rig.client.ping()
    wait_until(lambda: rig.db.zcard("plan:ids") == 3000, "all plans are stored")
    assert counter(rig, "dropped_replies") > 0
    assert rig.station.rss_mib() - before < 100
    goes_on(rig)


def full_and_gone(peer, data):
    """Send until nothing more is taken, and leave."""
    peer.stream.settimeout(0.5)
    with pytest.raises(TimeoutError):
        while True:
            peer.send(data * 100)
    peer.close()


@pytest.mark.parametrize("where", ["q", "p", "e"])
def test_row_47_a_peer_that_fills_its_queue_and_leaves(make_rig, where):
    """Nothing is read while Redis hangs; a heartbeat there would abort it all."""
    rig = make_rig()
    plan = message(*pack(CMD.PLAN, plan_frames(later())))
    busy = rig.keep(RawPeer(rig.ipc("q"))).joined()
    peers = [rig.keep(RawPeer(rig.ipc(where))).joined(b"DEALER" if where == "q" else b"SUB")
             for _ in range(3)]
    os.kill(rig.redis.process.pid, signal.SIGSTOP)
    try:
        full_and_gone(busy, plan)
        for peer in peers:
            if where == "q":
                full_and_gone(peer, plan)
            else:
                peer.send(*(frame(b"\1%d" % n) for n in range(5000)))
                peer.close()
        time.sleep(1.5)     # longer than a heartbeat's second
        assert rig.station.process.poll() is None
    finally:
        os.kill(rig.redis.process.pid, signal.SIGCONT)
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "plans are taken again")


def test_row_47_a_target_that_sends_very_much_and_leaves(make_rig):
    """The same on the connection of a target, which has heartbeats."""
    rig = make_rig()
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    busy = rig.keep(RawPeer(rig.ipc("q"))).joined()
    os.kill(rig.redis.process.pid, signal.SIGSTOP)
    try:
        full_and_gone(busy, message(*pack(CMD.PLAN, plan_frames(later()))))
        for _ in range(5000):
            rig.jobs.answer(run, ST.WAITING, [(FT.LOCAL_ID, run.local_id)])
        rig.jobs.socket.close(linger=500)
        time.sleep(1.5)
        assert rig.station.process.poll() is None
    finally:
        os.kill(rig.redis.process.pid, signal.SIGCONT)
    rig.jobs.open()
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "plans are taken again")
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(ident)


# Row 48.

def flood(endpoint, stop, make):
    """Threads that send as fast as they can and read nothing."""
    def run():
        # What is not taken must not pile up here: messages are up to 27 MB.
        client = Client(endpoint, prepare=lambda socket: socket.set_hwm(2))
        client.socket.sndtimeo = 100
        while not stop.is_set():
            try:
                client.socket.send_multipart(make())
            except zmq.Again:
                pass
        client.close()
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    return threads


def test_row_48_due_plans_are_on_time_in_a_flood(make_rig):
    """Four peers submit as fast as they can for 6 s; a plan each second runs in its second."""
    rig = make_rig("--max-plans", "3000")
    stop = threading.Event()
    ident = rig.client.added(every(1, 8, no_keep=True, plan_time=int(time.time()) + 1), station="news")
    threads = flood(rig.ipc("q"), stop, lambda: pack(CMD.PLAN, plan_frames(later())))
    try:
        for _ in range(8):
            run = rig.news.recv()
            assert run.claimed - run.plan_time < 3
            rig.news.answer(run, ST.OK)
            rig.client.ping()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    rig.gone(ident, "news")
    assert rig.db.zcard("plan:ids") <= 3000
    wait_until(lambda: rig.client.done("stats").json["calls_pending"] <= 1, "it is worked off")


# Row 49.

def test_row_49_very_many_plans_due_in_one_second(make_rig):
    """No more at a target than it may have; every one runs once; who asks is answered meanwhile."""
    many, credit = 3000, 64
    rig = make_rig("--max-runs-target", str(credit), "--send-timeout", "60000")
    due = int(time.time()) + 8
    for first in range(0, many, 500):
        for _ in range(500):
            rig.client.send(CMD.PLAN, plan_frames(later(plan_time=due)))
        for _ in range(500):
            assert rig.client.recv().code == ST.PLAN
    other = rig.client.added(later(plan_time=due + 2), station="news")
    held, ran = [], set()
    while len(ran) < many:
        run = rig.jobs.recv()
        assert run.mailbox not in ran, "sent twice"
        ran.add(run.mailbox)
        held.append(run)
        if len(held) == credit:     # it has all that it may have
            assert len(ran) > credit or not rig.jobs.socket.poll(300)
            if len(ran) == 4 * credit:      # the other target's plan waits for none of these
                rig.news.answer(rig.news.recv(), ST.OK)
            for one in held:
                rig.jobs.finish(one)
            held.clear()
            rig.client.ping()
    for one in held:
        rig.jobs.finish(one)
    rig.gone(other, "news")
    wait_until(lambda: rig.db.zcard("plan:ids") == 0, "all have ended")


# Row 51.

HALF_OPEN = [b"", GREETING[:1], GREETING[:11], GREETING[:63], GREETING, GREETING + ready()[:-3]]
CUT = [ready() + b"\1", ready() + message(b"a") + b"\1\5abc",
       ready() + b"\2" + (1 << 18).to_bytes(8, "big") + b"x" * 1000]


def descriptors(rig):
    return len(os.listdir(f"/proc/{rig.station.pid}/fd"))


def test_row_51_300_half_open_connections(make_rig):
    """Each is closed within seconds; everybody else is served meanwhile, and nothing stays."""
    rig = make_rig()
    goes_on(rig)
    before = descriptors(rig)
    peers = []
    for n in range(300):
        peers.append(rig.keep(RawPeer(rig.ipc("qpe"[n % 3]))))
        peers[-1].send(HALF_OPEN[n // 3 % len(HALF_OPEN)])
    start = time.monotonic()
    rig.client.ping()
    goes_on(rig)
    for peer in peers:
        rig.client.ping()
        assert peer.closed()
    assert time.monotonic() - start < 20
    wait_until(lambda: descriptors(rig) <= before + 2, "the descriptors are free again")
    goes_on(rig)


def test_row_51_300_peers_that_stop_inside_a_message(make_rig):
    """They may stay, as any client that says nothing; when they go nothing of them is left."""
    rig = make_rig()
    goes_on(rig)
    before = descriptors(rig)
    peers = [rig.keep(RawPeer(rig.ipc("qpe"[n % 3]))) for n in range(300)]
    for n, peer in enumerate(peers):
        peer.send(GREETING, CUT[n // 3 % len(CUT)])
    goes_on(rig)
    for peer in peers:
        peer.close()
    wait_until(lambda: descriptors(rig) <= before + 2, "the descriptors are free again")
    goes_on(rig)


def test_row_51_slow_loris(make_rig):
    """300 peers that give a byte of their handshake now and then live no longer than others."""
    rig = make_rig()
    goes_on(rig)
    before = descriptors(rig)
    long = GREETING + ready(identity=b"x" * 200)
    peers = [rig.keep(RawPeer(rig.ipc("q"))) for _ in range(300)]
    alive = {peer: n % 70 for n, peer in enumerate(peers)}
    for peer, at in alive.items():
        peer.send(long[:at])
        peer.stream.setblocking(False)
    start = time.monotonic()
    while alive:
        assert time.monotonic() - start < 20, f"{len(alive)} live"
        rig.client.ping()
        for peer, at in list(alive.items()):
            try:
                peer.stream.send(long[at:at + 1])
                alive[peer] = at + 1
                while peer.stream.recv(4096):
                    pass
                alive.pop(peer)
            except BlockingIOError:
                pass
            except OSError:
                alive.pop(peer)
        time.sleep(0.1)
    wait_until(lambda: descriptors(rig) <= before + 2, "the descriptors are free again")
    goes_on(rig)


# Row 52.

def over_tcp(make_rig, *args):
    """A rig whose station listens on TCP."""
    rig = make_rig(*args, start=False)
    ports = [free_port() for _ in range(4)]
    for option, port in zip(("--request", "--publish", "--events"), ports):
        rig.station.args[rig.station.args.index(option) + 1] = f"tcp://127.0.0.1:{port}"
    rig.request = f"tcp://127.0.0.1:{ports[0]}"
    rig.client = rig.keep(Client(rig.request))
    return rig.start()


def leave_descriptors(rig, count):
    """The station may open so many more."""
    folder = f"/proc/{rig.station.pid}/fd"
    # What it opens at its first look at its memory, and then keeps.
    wait_until(lambda: any(os.readlink(f"{folder}/{name}").endswith("statm")
                           for name in os.listdir(folder)), "it has all that it keeps open")
    used = max(map(int, os.listdir(folder))) + 1
    resource.prlimit(rig.station.pid, resource.RLIMIT_NOFILE, (used + count, used + count))


def test_row_52_no_descriptors_left(make_rig):
    """Who is connected is served, who comes is not; when connections go, all is as before."""
    rig = over_tcp(make_rig)
    goes_on(rig)
    leave_descriptors(rig, 10)
    crowd = [rig.keep(RawPeer(rig.request)) for _ in range(60)]
    wait_until(lambda: len(os.listdir(f"/proc/{rig.station.pid}/fd")) >=
               resource.prlimit(rig.station.pid, resource.RLIMIT_NOFILE)[0] - 1, "none is left")
    for _ in range(3):
        goes_on(rig)
    for peer in crowd:
        peer.close()
    late = rig.keep(Client(rig.request))
    late.ping()
    goes_on(rig)
    rig.restart()
    late.ping()


def test_row_52_targets_come_and_go_without_descriptors(make_rig):
    """A connection that cannot be made is tried again later: the station lives, and finds back."""
    rig = over_tcp(make_rig)
    goes_on(rig)
    leave_descriptors(rig, 0)
    for _ in range(3):
        rig.jobs.close()
        ident = rig.client.added(at_once())
        rig.state(ident, ST.SEND_ERROR)
        rig.client.done("remove", ident)
        rig.jobs.open()
    crowd = [rig.keep(RawPeer(rig.request)) for _ in range(20)]
    rig.client.ping()
    for peer in crowd:
        peer.close()
    goes_on(rig)


# Row 53.

FLOOD = """
import sys, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.set_hwm(2)
socket.sndtimeo = 100
socket.connect(sys.argv[1])
while True:
    try:
        socket.send_multipart([b"x" * 900_000] * 30)
    except zmq.Again:
        pass
"""


def test_row_53_dies_of_memory_and_loses_nothing(make_rig):
    """No memory at all: the process may end; started again it has every plan it acknowledged."""
    rig = make_rig("--exec-timeout", "2", redis_args=("--appendfsync", "always"))
    acked = {rig.client.added(later(), gid=f"{n:x}") for n in range(1, 51)}
    runs = {rig.client.added(at_once()) for _ in range(20)}
    for _ in range(10):
        rig.jobs.answer(rig.jobs.recv(), ST.RUNING)
    with open(f"/proc/{rig.station.pid}/statm") as statm:
        size = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.prlimit(rig.station.pid, resource.RLIMIT_AS, (size + (8 << 20), size + (8 << 20)))
    # In processes of their own: libzmq may abort a client whose station dies in the middle.
    floods = [subprocess.Popen([*DIES_WITH_PARENT, sys.executable, "-c", FLOOD, rig.ipc("q")],
                               stderr=subprocess.DEVNULL)
              for _ in range(3)]
    number = 51
    end = time.monotonic() + 20
    try:
        while rig.station.process.poll() is None and time.monotonic() < end:
            rig.client.send(CMD.PLAN, plan_frames(later(), gid=f"{number:x}"))
            number += 1
            if rig.client.socket.poll(300):
                reply = rig.client.recv()
                if reply.code == ST.PLAN:
                    acked.add(reply.get(FT.GLOBAL_ID).decode())
    finally:
        for process in floods:
            process.kill()
            process.wait()
    rig.station.kill()
    with open(rig.station.log, "ab") as log:
        log.truncate(0)     # the sanitizer's story of how it died
    rig.station.start()
    client = rig.dealer()
    for ident in acked:
        assert client.manage("message", ident).code == ST.OK
    rig.client = client
    end = time.monotonic() + 60
    while any(rig.left(ident) for ident in runs):
        assert time.monotonic() < end, "acknowledged, never run"
        while rig.jobs.socket.poll(200):
            rig.jobs.finish(rig.jobs.recv())    # of those from before its death nothing comes


def test_row_53_the_guard_refuses_before_memory_is_gone(make_rig):
    """Messages that never end pile up in libzmq: above max_memory all is BUSY, then it is over."""
    rig = make_rig(start=False)
    rig.start()
    used = rig.station.rss_mib()
    rig.station.stop()
    rig.station.args += ["--max-memory", str(int(used) + 80)]
    rig.station.start()
    goes_on(rig)
    endless = rig.keep(RawPeer(rig.ipc("q"))).joined()
    stop = threading.Event()
    part = frame(b"x" * 1_000_000, more=True)

    def send():
        endless.stream.settimeout(0.2)
        for _ in range(150):
            if stop.is_set():
                return
            try:
                endless.send(part)
            except OSError:
                return
    thread = threading.Thread(target=send)
    thread.start()
    try:
        reason = wait_until(lambda: (reply := rig.client.submit(later())).code == ST.BUSY
                            and reply.text, "it is BUSY")
        assert "max_memory" in reason
        rig.client.ping()
        told = rig.client.done("health").json       # which is what one would ask for now
        assert not told["healthy"] and any("max_memory" in line for line in told["problems"])
    finally:
        stop.set()
        thread.join()
    endless.close()
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "memory is there again")
    assert rig.client.done("health").json["healthy"]
    goes_on(rig)
