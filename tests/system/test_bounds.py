"""What is bounded, setting by setting: taken at the bound, refused above it, in words that name it.

And floods: resident memory stays under a figure, others are served, and then all is as before.
Where a reason does not name the setting it names the figure. Not here: max_replies_peer and
max_memory, which are in test_faults_peers (rows 46, 47 and 53).
"""
import json
import os
import signal
import threading
import time

import pytest
import zmq

from zplanprocs import WAIT
from zplantest import CMD, FT, ST, Client, at_once, later, pack, plan_frames, wait_until

GROWTH_MIB = 300        # of a station under sanitizers, in any flood


def refused(reply, status, name):
    assert reply.code == status and name in reply.text, reply


def goes_on(rig):
    rig.client.ping()
    ident = rig.client.added(at_once())
    while (run := rig.jobs.recv()).mailbox != b"*" + ident.encode():
        rig.jobs.finish(run)
    rig.jobs.finish(run)
    rig.gone(ident)


# Plans.

def test_max_plans(make_rig):
    """In all, whatever the station; a repetition is still answered; one goes, one may come."""
    rig = make_rig("--max-plans", "10")
    plan = later()
    idents = [rig.client.added(plan, gid=f"{n:x}", station=("jobs", "news")[n % 2])
              for n in range(1, 11)]
    for client in (rig.client, rig.dealer()):
        reply = client.submit(later())
        refused(reply, ST.BUSY, "max_plans")
        assert "10" in reply.text
    assert rig.client.submit(plan, gid=idents[0], station="news").code == ST.PLAN
    rig.client.done("remove", idents[0])
    rig.client.added(later())
    refused(rig.client.submit(later()), ST.BUSY, "max_plans")
    rig.restart()
    refused(rig.client.submit(later()), ST.BUSY, "max_plans")
    rig.client.done("run", idents[1])       # what is there goes on
    rig.jobs.finish(rig.jobs.recv())


def test_max_plans_station(make_rig):
    rig = make_rig("--max-plans-station", "5")
    idents = [rig.client.added(later()) for _ in range(5)]
    refused(rig.client.submit(later()), ST.BUSY, "max_plans_station")
    for _ in range(5):
        rig.client.added(later(), station="news")
    refused(rig.client.submit(later(), station="news"), ST.BUSY, "max_plans_station")
    rig.client.done("remove", idents[0])
    rig.client.added(later())
    # A plan that ends makes room.
    rig.client.done("remove", idents[1])
    ident = rig.client.added(at_once())
    refused(rig.client.submit(later()), ST.BUSY, "max_plans_station")
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    rig.client.added(later())


@pytest.mark.parametrize("by", ["identity", "envelope"])
def test_max_plans_caller(make_rig, by):
    """A caller is the peer's identity, or the name that a forwarding station gives: any bytes."""
    rig = make_rig("--max-plans-caller", "4")
    callers = [b"ann", b"ann2", b"\xff\xfe", b"long" * 50, b'quo"te\\']
    for caller in callers:
        if by == "identity":
            client = rig.dealer(identity=caller)

            def submit():
                return client.submit(later())
        else:
            def submit():
                return rig.client.ask(CMD.PLAN, plan_frames(later()), before=[caller])
        for _ in range(4):
            assert submit().code == ST.PLAN
        refused(submit(), ST.BUSY, "max_plans_caller")
    assert rig.db.zcard("plan:ids") == 4 * len(callers)


# Runs.

def test_max_runs_and_max_runs_target(make_rig):
    """So many are out without a sign of life, of a target and in all; a sign of life makes room."""
    rig = make_rig("--max-runs", "30", "--max-runs-target", "20", "--send-timeout", "60000")
    for _ in range(50):
        rig.client.added(at_once())
        rig.client.added(at_once(), station="news")

    def taken(target):
        runs = []
        while target.socket.poll(1500):
            runs.append(target.recv())
        return runs
    jobs, news = taken(rig.jobs), taken(rig.news)
    assert len(jobs) <= 20 and len(news) <= 20 and len(jobs) + len(news) == 30
    stats = rig.client.done("stats").json
    assert stats["runs_unanswered"] == 30
    for run in jobs:
        rig.jobs.answer(run, ST.RUNING)     # they run on, and count no more
    for run in news:
        rig.news.answer(run, ST.OK)
    seen = {run.mailbox for run in jobs + news}
    end = time.monotonic() + 60
    while len(seen) < 100:
        assert time.monotonic() < end
        for target in (rig.jobs, rig.news):
            while target.socket.poll(50):
                run = target.recv()
                assert run.mailbox not in seen, "sent twice"
                seen.add(run.mailbox)
                target.answer(run, ST.RUNING if target is rig.jobs else ST.OK)
    goes_on_after = rig.client.added(at_once(), station="news")
    rig.news.answer(rig.news.recv(), ST.OK)
    rig.gone(goes_on_after, "news")


# Requests.

def test_max_requests_peer(make_rig):
    """While Redis hangs: so many of a peer wait, further ones are BUSY at once; another may."""
    rig = make_rig("--max-requests-peer", "5")
    rig.client.ping()
    other = rig.dealer()
    other.ping()
    os.kill(rig.redis.process.pid, signal.SIGSTOP)
    try:
        for n in range(1, 9):
            rig.client.send(CMD.PLAN, plan_frames(later(), gid=f"{n:x}"))
        for _ in range(3):
            refused(rig.client.recv(), ST.BUSY, "max_requests_peer")
        rig.client.ping()
        refused(rig.client.manage("list"), ST.BUSY, "max_requests_peer")
        other.send(CMD.PLAN, plan_frames(later(), gid="20"))
        other.ping()
    finally:
        os.kill(rig.redis.process.pid, signal.SIGCONT)
    codes = [rig.client.recv().code for _ in range(5)]
    assert set(codes) <= {ST.PLAN, ST.NET_ERROR}
    assert other.recv().code in (ST.PLAN, ST.NET_ERROR)
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "all is as before")


def test_max_requests(make_rig):
    """Further ones wait in the sockets: answered all, in order, when there is room."""
    rig = make_rig("--max-requests", "16")
    peers = [rig.dealer() for _ in range(10)]
    for n in range(100):
        for at, peer in enumerate(peers):
            peer.send(CMD.PLAN, plan_frames(later(), more=[(FT.REQUEST_ID, b"%d" % n)]))
    for peer in peers:
        for n in range(100):
            reply = peer.recv()
            assert reply.code == ST.PLAN and reply.get(FT.REQUEST_ID) == b"%d" % n
    goes_on(rig)


# Messages.

def test_max_frames(make_rig):
    rig = make_rig("--max-frames", "10")
    good = plan_frames(later())
    for count, code in ((10, ST.PLAN), (11, ST.FRAME_INVALID), (32, ST.FRAME_INVALID),
                        (33, ST.FRAME_INVALID), (100, ST.FRAME_INVALID)):
        pairs = good + [(FT.ARG, b"x")] * (count - len(good))
        reply = rig.client.ask(CMD.PLAN, pairs)
        assert reply.code == code
        if code == ST.FRAME_INVALID and count <= 32:
            assert "10 frames" in reply.text


def test_max_frame_bytes(make_rig):
    rig = make_rig("--max-frame-bytes", "5000")
    for size, code in ((5000, ST.PLAN), (5001, ST.BUSY), (100_000, ST.BUSY)):
        reply = rig.client.submit(later(), more=[(FT.ARG, b"x" * size)])
        assert reply.code == code
        assert code == ST.PLAN or "5000 bytes a frame" in reply.text
    rig.client.ping()


def test_max_message_bytes(make_rig):
    rig = make_rig("--max-message-bytes", "20000")

    def submit(total):
        """Of exactly this many bytes, the identity that a ROUTER puts first (5) counted too."""
        pairs = plan_frames(later(plan_time=4102444800))
        rest = total - 5 - sum(map(len, pack(CMD.PLAN, [*pairs, (FT.ARG, b""), (FT.ARG, b"")])))
        return rig.client.submit(later(plan_time=4102444800), more=[
            (FT.ARG, b"x" * (rest // 2)), (FT.ARG, b"y" * (rest - rest // 2))])
    assert submit(20000).code == ST.PLAN
    reply = submit(20001)
    assert reply.code == ST.BUSY and "20000 in all" in reply.text
    # A frame that is larger than a whole message may be cuts the connection, nothing else.
    rude = rig.dealer()
    rude.send(CMD.PING, [(FT.ARG, b"x" * 30000)])
    rig.client.ping()
    rig.dealer().ping()


def padded(size):
    """A plan of exactly this many bytes."""
    text = json.dumps(later()).encode()
    return text[:-1] + b" " * (size - len(text)) + b"}"


@pytest.mark.parametrize("bound", [100, 4096, 100_000])
def test_max_plan_bytes(make_rig, bound):
    rig = make_rig("--max-plan-bytes", str(bound))
    assert rig.client.submit(padded(bound)).code == ST.PLAN
    refused(rig.client.submit(padded(bound + 1)), ST.PLANERROR, f"at most {bound} bytes")


@pytest.mark.parametrize("bound", [0, 10, 1024])
def test_max_description_bytes(make_rig, bound):
    """Bytes, not characters."""
    rig = make_rig("--max-description-bytes", str(bound))
    texts = ["x" * bound, "é" * (bound // 2)]
    for text in texts:
        assert rig.client.submit(later(description=text)).code == ST.PLAN
    for text in ("x" * (bound + 1), "é" * (bound // 2 + 1)):
        refused(rig.client.submit(later(description=text)), ST.PLANERROR, f"at most {bound} bytes")


def test_max_json_depth(make_rig):
    """Of a plan frame, as JSON and as msgpack; the vote is a second level."""
    rig = make_rig("--max-json-depth", "3")

    def nested(depth):
        return (b'{"plan_type":1,"plan_time":4102444800,"vote":' + b"[" * (depth - 1)
                + b"]" * (depth - 1) + b"}")
    assert "depth" not in rig.client.submit(nested(3)).text.replace("nested", "depth")
    reply = rig.client.submit(nested(4))
    assert reply.code == ST.PLANERROR and "3" in reply.text, reply
    for depth in (17, 100, 2000):
        assert rig.client.submit(nested(depth)).code == ST.PLANERROR
    packed = (b"\x83\xa9plan_type\x01\xa9plan_time\xce\x7f\x00\x00\x00\xa4vote" + b"\x91" * 40
              + b"\x01")
    assert rig.client.submit(packed).code == ST.PLANERROR
    rig.client.added(later())


def test_the_depth_of_every_json_that_is_read(shared):
    """Filters, plans of `next`, fields of `update`."""
    deep = "[" * 500 + "]" * 500
    for word, *args in (("list", deep), ("list", '{"title":' + deep + "}"), ("history", deep),
                        ("next", '{"plan_type":' + deep + "}"), ("update", "1f", deep),
                        ("list", "[" * 100_000)):
        reply = shared.client.manage(word, *args)
        assert reply.code >= ST.ERROR_FLAG, reply
    shared.client.ping()


# Floods.

def flood(rig, peers, make, seconds=4, reads=False):
    """Peers that send what they can; how much memory that took. Another is served meanwhile."""
    rig.client.ping()
    stop, sent = threading.Event(), [0] * peers

    def run(number):
        client = Client(rig.ipc("q"), prepare=lambda socket: socket.set_hwm(20))
        client.socket.sndtimeo = 50
        while not stop.is_set():
            try:
                client.socket.send_multipart(make(number))
                sent[number] += 1
            except zmq.Again:
                pass
        client.close()
    threads = [threading.Thread(target=run, args=(n,)) for n in range(peers)]
    before = most = rig.station.rss_mib()
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    try:
        # A thread may have had no turn yet.
        while time.monotonic() < end or not all(sent) and time.monotonic() < end + WAIT:
            rig.client.ping()
            assert rig.client.manage("health").code == ST.OK
            most = max(most, rig.station.rss_mib())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert all(sent), "some got nothing through"
    return most - before


FLOODS = {
    "submit": lambda n: pack(CMD.PLAN, plan_frames(later())),
    "large": lambda n: pack(CMD.PLAN, plan_frames(later(), more=[(FT.ARG, b"x" * 100_000)])),
    "list": lambda n: pack(CMD.NONE, [(FT.COMMAND, b"list")]),
    "unknown": lambda n: pack(0x7e, [(FT.REQUESTER, b"r" * 3000)]),
    "result": lambda n: [b"*%x" % (n + 1), *pack(ST.OK, [(FT.CONTENT, b"x" * 1000)])],
    "broken": lambda n: [b"\xff" * 100] * 40,
}


@pytest.mark.parametrize("peers", [1, 50])
@pytest.mark.parametrize("kind", FLOODS)
def test_flood(make_rig, kind, peers):
    """Nobody reads a reply. Memory stays, others are served, and afterwards all is normal."""
    rig = make_rig("--max-plans", "2000", "--max-replies-peer", "100",
                   "--max-requests-peer", "100")
    for n in range(50):
        rig.client.added(later(), more=[(FT.ARG, b"y" * 1000)], gid=f"{n + 1:x}")
    first = flood(rig, peers, FLOODS[kind], 1)      # what is taken once and kept
    growth = flood(rig, peers, FLOODS[kind])
    print(f"grown by {first:.0f} MiB, then {growth:.0f}")
    assert first + growth < GROWTH_MIB
    wait_until(lambda: rig.client.done("stats").json["calls_pending"] <= 2, "it is worked off")
    assert rig.db.zcard("plan:ids") <= 2000
    assert rig.client.done("list", {"limit": 1}).json
    rig.db.flushall()
    wait_until(lambda: rig.client.done("stats").json["counters"]["lost_data"], "it sees that nothing is left", 20)
    goes_on(rig)
