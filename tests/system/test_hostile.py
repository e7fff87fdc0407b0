"""Whatever a peer sends (proto 3): answered FRAME_INVALID or dropped; the station goes on."""
import random
import socket
import time

import pytest
import zmq

from zplanprocs import RSS_MIB
from zplantest import CMD, FT, ST, Packet, at_once, describe, later, plan_frames

KINDS = ("GLOBAL_ID", "STATION_ID", "REQUEST_ID", "REQUESTER", "PLAN", "COMMAND")


def goes_on(rig):
    """It answers a ping and runs a plan."""
    rig.client.ping()
    ident = rig.client.added(at_once())
    # By chance noise was a good plan too, and fires.
    while (run := rig.jobs.recv()).mailbox != b"*" + ident.encode():
        pass
    rig.jobs.finish(run)
    rig.gone(ident)


def any_reply(client):
    """A reply in whatever envelope the noise had."""
    parts = client.socket.recv_multipart()
    return Packet(parts, before=1 if parts[0] == b"" else 0)


def invalid(rig, *parts):
    rig.client.socket.send_multipart(list(parts))
    reply = rig.client.recv()
    assert reply.code == ST.FRAME_INVALID and reply.text.startswith("-invalid"), reply


def unanswered(rig, *parts):
    """Nothing comes back; the next answer is that of the ping."""
    rig.client.socket.send_multipart(list(parts))
    rig.client.ping()


# Broken descriptions.

@pytest.mark.parametrize("parts", [
    [b"\x01\x02\x05\0"], [b"\x02\x02\x05\0", b"{}"], [b"\x01\x02\x05\0", b"{}", b"{}", b""],
    [b"\0\x02\x05\0", b"{}"], [b"\x01"], [b"\x01\x02"], [b"\x02\x02\x05", b"{}", b"{}"],
    [b"\xff\x02" + b"\x05" * 255 + b"\0"], [b"\xff" * 300], [b"\0"], [b"caller", b"\x01\x2a\0"],
    [b"caller", b""], [b"caller"], [b"caller", b"\x01"], [b"", b"\x05\x2a\0"], [b"x" * 100000],
    [b"\0\0\0"], [b"\0\0"], [b"\x01\0\x05\0", b"{}"]], ids=lambda p: repr(p)[:50])
def test_broken_descriptions(shared, parts):
    """Count mismatch, too short, command 0: FRAME_INVALID, in the envelope they came in."""
    client = shared.dealer()
    client.socket.send_multipart(parts)
    empty = parts[0] == b"" and len(parts) > 1
    reply = client.recv(before=1 if empty else 0)
    assert reply.code == ST.FRAME_INVALID and reply.text.startswith("-invalid"), reply
    client.ping()


@pytest.mark.parametrize("kind", KINDS)
def test_a_type_twice(shared, kind):
    for code in (CMD.PING, CMD.PLAN, CMD.NONE, CMD.GLOBAL_ID, 0x7E):
        types = [getattr(FT, kind), FT.ARG, getattr(FT, kind)]
        invalid(shared, describe(code, types), b"1", b"2", b"3")


@pytest.mark.parametrize("count", [33, 40, 41, 43, 127, 128, 200, 255])
def test_more_frames_than_32(shared, count):
    invalid(shared, describe(CMD.PING, [FT.ARG] * count), *[b""] * count)


@pytest.mark.parametrize("code", [0x06, 0x0f, 0x29, 0x5a, 0x7e, 0x7f])
def test_unknown_commands(shared, code):
    reply = shared.client.ask(code, [(FT.REQUEST_ID, b"r")])
    assert reply.code == ST.NOT_SUPPORT and reply.text.startswith("-no support")
    assert reply.get(FT.REQUEST_ID) == b"r"


def test_a_status_is_never_answered(shared):
    for code in (*range(0x80, 0x90), 0xc0, 0xfe, 0xff):
        unanswered(shared, describe(code, []))
        unanswered(shared, describe(code, [FT.PLAN, FT.COMMAND]), b"{}", b"do")
        unanswered(shared, describe(code, [FT.PLAN, FT.PLAN]), b"{}", b"{}")


def test_a_status_is_never_answered_by_any_envelope(shared):
    client = shared.dealer()
    for before in (b"", b"caller", b"*1", b"*zz"):
        client.socket.send_multipart([before, describe(ST.ERROR, [])])
        client.ping()


def test_every_code_with_every_envelope(shared):
    """No code ends the station; whatever answers, answers once."""
    client = shared.dealer()
    for code in range(1, 256):
        client.socket.send_multipart([describe(code, [])])
        client.socket.send_multipart([b"caller", describe(code, [FT.ARG]), b""])
        client.socket.send_multipart([b"*77", describe(code, [FT.ARG]), b""])
    shared.client.ping()
    replies, end = 0, time.monotonic() + 3
    while client.socket.poll(300) and time.monotonic() < end:
        client.recv()
        replies += 1
    assert replies <= 2 * 127
    goes_on(shared)


# Sizes.

def test_5000_frames(shared):
    client = shared.dealer()
    for size in (0, 10):
        client.socket.send_multipart([describe(CMD.PING, [])] + [b"x" * size] * 5000)
        client.socket.send_multipart([b"*1"] + [b"x" * size] * 5000)
        client.socket.send_multipart([b"x" * size] * 5000)
    client.socket.send_multipart([b"\x20\x2a" + b"%" * 32 + b"\0"] + [b""] * 5000)
    goes_on(shared)
    assert client.socket.poll(5000)
    while client.socket.poll(300):
        assert any_reply(client).code == ST.FRAME_INVALID


def test_huge_frames(shared):
    for parts in ([b"x" * (64 << 20)], [describe(CMD.PLAN, [FT.PLAN]), b" " * (64 << 20)],
                  [describe(CMD.PING, [FT.ARG] * 32)] + [b"x" * (1 << 20)] * 32):
        client = shared.dealer()
        client.socket.send_multipart(parts)
        if client.socket.poll(1000):
            assert client.recv().code >= ST.ERROR_FLAG
        shared.client.ping()
    goes_on(shared)


def test_raw_bytes_on_the_socket(shared):
    """No ZeroMQ at all, a cut greeting, a frame length of 2^62."""
    greeting = b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL".ljust(64, b"\0")
    for data in (b"", b"GET / HTTP/1.0\r\n\r\n", b"\0" * 1000, greeting[:20], greeting,
                 greeting + b"\4\x1c\5READY\x0bSocket-Type\0\0\0\6DEALER\2" + b"\x40" + b"\0" * 7,
                 random.Random(1).randbytes(5000)):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(shared.path("q"))
            raw.sendall(data)
    goes_on(shared)


# Chance.

def noise(rng):
    """A message that is wrong somewhere: from pure noise to a good one with one byte changed."""
    style = rng.randrange(4)
    if style == 0:
        return [rng.randbytes(rng.randrange(40)) for _ in range(rng.randrange(1, 40))]
    pairs = plan_frames(later(), gid=f"{rng.getrandbits(60) | 1:x}", more=[(FT.ARG, b"x")])
    parts = [describe(rng.choice([1, 2, 0x2a, 0x3e]), [t for t, _ in pairs]),
             *(f for _, f in pairs)]
    if style == 1:
        at = rng.randrange(len(parts))
        part = bytearray(parts[at])
        part[rng.randrange(len(part))] = rng.randrange(256)
        parts[at] = bytes(part)
    elif style == 2:
        del parts[rng.randrange(len(parts))]
    else:
        parts.insert(rng.randrange(len(parts) + 1), rng.randbytes(rng.randrange(20)))
    return parts


@pytest.mark.parametrize("seed", range(4))
def test_noise_does_not_grow_or_end_the_station(make_rig, seed):
    rig = make_rig()
    rng = random.Random(seed)
    client = rig.dealer()

    def round_of_noise():
        for _ in range(3000):
            client.socket.send_multipart(noise(rng))
            while client.socket.poll(0):
                client.socket.recv_multipart()
        rig.client.ping()
        while client.socket.poll(200):
            client.socket.recv_multipart()
        rig.db.flushall()           # what was a good plan by chance
    round_of_noise()
    before = rig.station.rss_mib()
    for _ in range(3):
        round_of_noise()
    assert rig.station.rss_mib() - before < RSS_MIB
    goes_on(rig)


def test_big_noise_does_not_grow_the_station(rig):
    def round_of_noise():
        client = rig.dealer()
        for _ in range(20):
            client.socket.send_multipart([b"x" * (900 << 10)] * 4)
            client.socket.send_multipart([describe(CMD.PING, [FT.ARG] * 40)] + [b"x" * 9999] * 40)
        rig.client.ping()
        while client.socket.poll(300):
            client.socket.recv_multipart()
        client.close()
    round_of_noise()
    before = rig.station.rss_mib()
    for _ in range(5):
        round_of_noise()
    assert rig.station.rss_mib() - before < RSS_MIB
    goes_on(rig)


def test_clients_that_come_and_go_without_reading(rig):
    """Replies that nobody fetches do not pile up."""
    def crowd():
        for _ in range(50):
            client = rig.dealer()
            for _ in range(20):
                client.send(CMD.PING, [(FT.REQUESTER, b"x" * 10000)])
            client.socket.close(linger=200)
        rig.client.ping()
    crowd()
    before = rig.station.rss_mib()
    for _ in range(5):
        crowd()
    assert rig.station.rss_mib() - before < RSS_MIB
    goes_on(rig)


def test_targets_that_send_noise(rig):
    """The other side of the station: the connection to a target."""
    rng = random.Random(7)
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    for _ in range(2000):
        parts = [rng.randbytes(rng.randrange(30)) for _ in range(rng.randrange(1, 40))]
        rig.jobs.socket.send_multipart([run.before[0], *parts])
    rig.jobs.answer(run, ST.OK)
    rig.gone(ident)
    goes_on(rig)


def test_a_req_client_that_sends_noise_can_go_on(shared):
    client = shared.dealer(kind=zmq.REQ)
    client.socket.send(b"\x07\x07")
    assert client.recv().code == ST.FRAME_INVALID
    client.ping()
