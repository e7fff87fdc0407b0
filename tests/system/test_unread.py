"""Peers that ask for much and read nothing: it is bounded for each of them, and the others are served."""
import json
import multiprocessing
import time

import pytest
import redis

from redissteps import embed_redis
from zmtp import RawPeer, message
from zplantest import CMD, FT, ST, later, pack, plan_frames, wait_until

LARGE = [(FT.ARG, b"y" * (1 << 20))] * 3
LATE_S = 10         # it was 33 s and more
# An eighth of --max-memory for what is not read, and more for what is on its way.
BOUNDS = ("--max-memory", "1024")
GROWTH_MIB = 700    # it was 2300 for the station, 1900 for Redis
REDIS_GROWTH_MIB = 300


def redis_rss_mib(rig):
    with open(f"/proc/{rig.redis.process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * 4 / 1024


def ask_and_never_read(endpoint, peers, request, count):
    """In a process of its own: so many requests of each peer, as fast as they are taken."""
    streams = [RawPeer(endpoint).joined().stream for _ in range(peers)]
    left, data = [count] * peers, [b""] * peers
    for stream in streams:
        stream.setblocking(False)
    while True:
        for at, stream in enumerate(streams):
            try:
                if not data[at] and left[at]:
                    some = min(left[at], max(1, 100_000 // len(request)))
                    left[at] -= some
                    data[at] = request * some
                if data[at]:
                    data[at] = data[at][stream.send(data[at]):]
            except BlockingIOError:
                pass
        time.sleep(0.005)


def manage(word, *args):
    return pack(CMD.NONE, [(FT.COMMAND, word), *((FT.ARG, arg) for arg in args)])


REQUESTS = {
    "message": lambda ident: manage(b"message", ident),
    "why": lambda ident: manage(b"why", ident),
    "in use": lambda ident: pack(CMD.PLAN, plan_frames(later(), gid=ident.decode())),
    "list": lambda ident: manage(b"list"),
    "requester": lambda ident: pack(CMD.PING, [(FT.REQUESTER, b"r" * 900_000)]),
}


@pytest.mark.parametrize("kind, peers", [("message", 1), ("message", 40), ("why", 1), ("in use", 1),
                                         ("list", 40), ("requester", 40)])
def test_peers_that_do_not_read_hold_up_nobody(make_rig, kind, peers):
    rig = make_rig(*BOUNDS)
    ident = rig.client.added(later(), more=[] if kind == "list" else LARGE)
    if kind == "list":
        for _ in range(100):
            rig.client.added(later(), more=[(FT.ARG, b"y" * 1000)])
    before, redis_before = rig.station.rss_mib(), redis_rss_mib(rig)
    most = redis_most = worst = 0
    crowd = multiprocessing.get_context("fork").Process(
        target=ask_and_never_read,
        args=(rig.ipc("q"), peers, message(*REQUESTS[kind](ident.encode())), 2000), daemon=True)
    crowd.start()
    try:
        end = time.monotonic() + 6
        while time.monotonic() < end:
            start = time.monotonic()
            reply = rig.client.submit(later())
            assert reply.code == ST.PLAN, reply
            worst = max(worst, time.monotonic() - start)
            most = max(most, rig.station.rss_mib() - before)
            redis_most = max(redis_most, redis_rss_mib(rig) - redis_before)
        assert rig.client.manage("message", rig.client.added(later())).code == ST.OK
    finally:
        crowd.kill()
        crowd.join()
    print(f"at most {worst:.2f} s, station {most:.0f} MiB, Redis {redis_most:.0f} MiB")
    assert worst < LATE_S and most < GROWTH_MIB and redis_most < REDIS_GROWTH_MIB
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "all is as before")


def test_who_reads_late_gets_all_it_asked_for(make_rig):
    """60 times 3 MiB, of which 2 MiB are kept for it at once."""
    rig = make_rig("--max-memory", "256")
    ident = rig.client.added(later(), more=LARGE)
    slow = rig.dealer(prepare=lambda socket: socket.set_hwm(1))
    for number in range(60):
        slow.send(CMD.NONE, [(FT.COMMAND, b"message"), (FT.ARG, ident.encode()),
                             (FT.REQUEST_ID, b"%d" % number)])
        if number % 20 == 0:
            rig.client.added(later())
    for number in range(60):
        reply = slow.recv()
        assert reply.code == ST.OK and reply.get(FT.REQUEST_ID) == b"%d" % number
        assert len(reply.get(FT.JSON)) > 3 << 20
    slow.ping()


def test_what_is_not_read_is_dropped_for_that_peer_alone(make_rig):
    rig = make_rig("--max-memory", "256")
    mute = rig.keep(RawPeer(rig.ipc("q"))).joined()
    asked = 40
    mute.send(message(*pack(CMD.PING, [(FT.REQUESTER, b"r" * 900_000)])) * asked)

    def dropped():
        return rig.client.done("stats").json["counters"]["dropped_replies"]
    wait_until(dropped, "it gets no more")
    other = rig.dealer()
    for _ in range(10):
        assert len(other.ask(CMD.PING, [(FT.REQUESTER, b"r" * 900_000)]).get(FT.REQUESTER)) == 900_000
    mute.send(message(*pack(CMD.GLOBAL_ID, [])))
    large = 0
    while True:
        flags, body = mute.take_frame()
        large += len(body) == 900_000
        if not flags & 1 and len(body) < 100 and b"GLOBAL" not in body and large and body.isalnum():
            break       # the id; small replies came all the time
    assert 2 <= large < asked and large + dropped() == asked
    mute.send(message(*pack(CMD.PING, [(FT.REQUESTER, b"r" * 900_000)])))
    while len(mute.take_frame()[1]) != 900_000:
        pass


def test_a_stop_while_reads_wait(make_rig):
    rig = make_rig("--max-memory", "256")
    ident = rig.client.added(later(), more=LARGE)
    mute = rig.keep(RawPeer(rig.ipc("q"))).joined()
    mute.send(message(*manage(b"message", ident.encode())) * 500)
    rig.client.ping()
    rig.client.added(later())
    rig.station.stop()


def test_the_private_redis_bounds_what_it_keeps_for_a_client(make_rig):
    """Beside the station's own bounds, which are below."""
    rig = embed_redis(make_rig(start=False))
    rig.station.start()
    bound = redis.Redis(unix_socket_path=rig.path("d/redis.sock")).config_get(
        "client-output-buffer-limit")["client-output-buffer-limit"]
    assert bound.startswith(f"normal {1 << 30} {512 << 20} 60 "), bound
