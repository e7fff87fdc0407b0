"""Hostile messages from a generator, against every socket of a live station.

Each test prints its seed; ZPLAN_HOSTILE_SEED gives another start. After each storm the station
answers, runs a plan, and its resident memory is under a figure. See test_hostile for the
catalogue of single messages.
"""
import os
import random
import socket
import time

import pytest
import zmq

from zmtp import GREETING, RawPeer, frame, message, ready
from zplantest import CMD, FT, ST, at_once, describe, every, later, pack, plan_frames

SEED = int(os.environ.get("ZPLAN_HOSTILE_SEED", "1"))
GROWTH_MIB = 150
CODES = [0, 1, 2, 3, 0x20, 0x22, 0x23, 0x25, 0x2a, 0x2d, 0x3e, 0x7e, 0x80, 0x81, 0x8f, 0xff]
TYPES = [*range(0, 10), *b"$%TJ*@#><BX", 0x7f, 0x80, 0xfe, 0xff]
WORDS = [b"list", b"message", b"remove", b"pause", b"reset", b"close", b"skip", b"run", b"update",
         b"next", b"history", b"forget", b"restore", b"station", b"stats", b"health", b"", b"\0", b"l" * 5000, b"\xff\xfe"]
JSONS = [b"{}", b"[]", b"null", b"", b"{", b"[" * 5000, b'{"a":' * 900, b'{"plan_type":1e400}',
         b'{"plan_type":1,"plan_time":99999999999999999999}', b"\xef\xbb\xbf{}", b'{"\\u0000":1}',
         b'{"description":"\\ud800"}', b'{"plan_type":0,"plan_type":0}', b"\x80", b"\x81",
         b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x91" * 3000,
         b'{"limit":-1}', b'{"title":"' + b"*" * 60 + b'"}', b'{"plan_type":0}' + b" " * 5000]
IDS = [b"1", b"1f", b"0", b"-1", b"f" * 16, b"7" + b"f" * 15, b"f" * 17, b"plan:msg:jobs:1",
       b"plan:msg:" + b"x" * 300 + b":1", b"", b"\0", b"1 ", b"G"]


class Generator:
    def __init__(self, number):
        self.seed = SEED * 1000 + number
        print(f"seed {self.seed}: ZPLAN_HOSTILE_SEED={SEED}")
        self.rng = random.Random(self.seed)

    def size(self):
        return self.rng.choice([0, 1, 2, 3, 8, 60, 255, 256, 257, 1024, 4097, 70_000])

    def bytes(self):
        return self.rng.randbytes(self.size()) if self.rng.random() < .6 else \
            self.rng.choice([b"\0", b"*", b" ", b"9"]) * self.size()

    def value(self, kind):
        """A frame, mostly of the sort that its type wants."""
        rng = self.rng
        if rng.random() < .15:
            return self.bytes()
        if kind == FT.PLAN:
            return rng.choice(JSONS + [b'{"plan_type":1,"plan_time":4102444800}'] * 5)
        if kind == FT.COMMAND:
            return rng.choice(WORDS)
        if kind == FT.STATION_ID:
            return rng.choice([b"jobs", b"news", b"", b"../x", b"jobs\0", b"j" * 65])
        if kind in (FT.GLOBAL_ID, FT.LOCAL_ID):
            return rng.choice(IDS)
        return rng.choice([rng.choice(JSONS), rng.choice(IDS), self.bytes()])

    def envelope(self):
        rng = self.rng
        return rng.choice([[], [], [], [b""], [b"caller"], [b"*" + rng.choice(IDS)], [b"*"],
                           [self.bytes()], [b"", b""], [b"*1", b"*1"]])

    def sane(self):
        """Right in its frame, whatever it says."""
        rng = self.rng
        kinds = [rng.choice(TYPES) for _ in range(rng.choice([0, 1, 2, 3, 4, 5, 8, 31, 32, 33]))]
        if rng.random() < .5:
            kinds = [FT.PLAN, FT.STATION_ID, FT.COMMAND] + kinds[:5]
        if rng.random() < .7:
            kinds = list(dict.fromkeys(kinds))
        code = rng.choice(CODES) if rng.random() < .4 else rng.choice([1, 2])
        return [describe(code, kinds), *(self.value(kind) for kind in kinds)]

    def message(self):
        """Cut, doubled, swollen, deep, with thousands of frames, or nothing of it."""
        rng, parts = self.rng, self.envelope() + self.sane()
        for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
            at = rng.randrange(len(parts))
            how = rng.randrange(8)
            if how == 0:
                parts[at] = parts[at][:rng.randrange(len(parts[at]) + 1)]
            elif how == 1:
                parts.insert(at, parts[at])
            elif how == 2:
                parts += parts
            elif how == 3 and len(parts) > 1:
                del parts[at]
            elif how == 4:
                parts[at] = bytes(b ^ rng.choice([0, 0, 0, 255, 1]) for b in parts[at][:5000])
            elif how == 5:
                rng.shuffle(parts)
            elif how == 6:
                parts[at] = self.bytes()
            elif how == 7 and rng.random() < .1:
                parts += [rng.choice([b"", b"x"])] * rng.choice([100, 5000])
            parts = parts[:12_000]
        return parts

    def identity(self):
        rng = self.rng
        return rng.choice([b"i" * 255, b"i" * 256, b"i" * 5000, b"\0", b"\0" * 5, b"\0" * 255,
                           bytes.fromhex("006b8b4567"), bytes.fromhex("006b8b4568"), b"*1", b"",
                           b"\0" + rng.randbytes(4), rng.randbytes(255), b"same", b"\x1b[31m%s%n"])

    def stream(self):
        """A ZMTP session as raw bytes: a good one, bent."""
        rng = self.rng
        kind = rng.choice([b"DEALER", b"DEALER", b"REQ", b"SUB", b"ROUTER", b"", b"X" * 300])
        parts = [GREETING, ready(kind, self.identity())]
        for _ in range(rng.randrange(6)):
            body = self.bytes()
            parts.append(rng.choice([
                message(*self.message()), frame(body, more=True), frame(body, command=True),
                frame(body, size=rng.choice([0, 255, 1 << 20, 1 << 33, (1 << 63) - 1])),
                frame(b"\4PING" + b"\xff\xff" + body[:20], command=True),
                frame(b"\4PONG" + body[:20], command=True),
                frame(b"\5ERROR\xff" + body, command=True),
                frame(b"\1" + body), frame(b"\x09SUBSCRIBE" + body, command=True),
                bytes([rng.randrange(256)]) + body]))
        data = b"".join(parts)
        how = rng.randrange(4)
        if how == 0:
            data = data[:rng.randrange(len(data) + 1)]
        elif how == 1:
            at = rng.randrange(min(len(data), 150))
            data = data[:at] + rng.randbytes(rng.randrange(1, 4)) + data[at + 1:]
        elif how == 2:
            at = rng.randrange(min(len(data), 100))
            data = data[:at] + self.bytes() + data[at:]
        return data


def goes_on(rig):
    """A new client is answered, and a plan is run; what chance has made of plans is put away."""
    rig.db.flushall()
    client = rig.dealer()
    client.ping()
    client.added(later())
    ident = client.added(at_once(), gid="abcdef")
    while (run := rig.jobs.recv()).mailbox != b"*" + ident.encode():
        pass
    rig.jobs.finish(run)
    rig.gone(ident)
    client.close()


def held(rig, before):
    assert rig.station.process.poll() is None
    goes_on(rig)
    grown = rig.station.rss_mib() - before
    print(f"grown by {grown:.0f} MiB")
    assert grown < GROWTH_MIB


def read_all(socket):
    while socket.poll(0):
        socket.recv_multipart()


@pytest.fixture
def warm(make_rig):
    """A rig that has grown as far as it does without anything hostile."""
    rig = make_rig("--max-plans", "5000")
    goes_on(rig)
    for _ in range(200):
        rig.client.added(later(), more=[(FT.ARG, b"x" * 10_000)])
    goes_on(rig)
    return rig


@pytest.mark.parametrize("number", range(3))
def test_messages(warm, number):
    """2,500 messages by peers of all kinds, some of which never read."""
    generator, rig = Generator(number), warm
    before = rig.station.rss_mib()
    clients = [rig.dealer(kind=kind, identity=identity or None)
               for kind, identity in ((zmq.DEALER, b""), (zmq.DEALER, b"i" * 255),
                                      (zmq.DEALER, b"*1"), (zmq.DEALER, b"caller"))]
    for turn in range(2500):
        client = clients[turn % len(clients)]
        client.socket.send_multipart(generator.message() or [b""])
        if turn % len(clients):
            read_all(client.socket)
        if turn % 500 == 499:
            rig.client.ping()
            rig.db.flushall()
    rig.client.ping()
    held(rig, before)


@pytest.mark.parametrize("number", range(3))
def test_sessions(warm, number):
    """400 raw ZMTP sessions, to the request, publish and event sockets, each left its own way."""
    generator, rig = Generator(100 + number), warm
    before, kept = rig.station.rss_mib(), []
    for turn in range(400):
        peer = RawPeer(rig.ipc(generator.rng.choice("qqqpe")), timeout=2)
        try:
            peer.send(generator.stream())
            if generator.rng.random() < .3:
                peer.send(generator.bytes())
        except OSError:
            pass        # it was thrown out in the middle
        if generator.rng.random() < .3:
            kept.append(peer)
        else:
            peer.close()
        if turn % 50 == 49:
            rig.client.ping()
    for peer in kept:
        peer.close()
    held(rig, before)


@pytest.mark.parametrize("first", ["predicted", "random"])
def test_identities_with_a_leading_zero(make_rig, first):
    """libzmq aborts when it draws an identity that somebody has taken: nobody may foresee it.

    Unseeded, the first is 00 6b8b4567. On fresh processes, as the first peers there are.
    """
    for turn in range(5):
        rig = make_rig()
        rng = random.Random(SEED * 100 + turn)
        taken = [bytes.fromhex("006b8b4567") if first == "predicted" else b"\0" + rng.randbytes(4)]
        start = int.from_bytes(taken[0][1:], "big")
        taken += [b"\0" + ((start + n) & 0xffffffff).to_bytes(4, "big") for n in range(1, 20)]
        thieves = [rig.keep(RawPeer(rig.ipc("q"))).joined(identity=identity) for identity in taken]
        for thief in thieves:
            thief.send(message(*pack(CMD.PING, [])))
            thief.take_frame()
        anonymous = [rig.keep(RawPeer(rig.ipc("q"))).joined() for _ in range(30)]
        for peer in anonymous:
            peer.send(message(*pack(CMD.PING, [])))
            assert peer.take_frame()[1][1] == ST.OK
        goes_on(rig)
        rig.station.stop()


def test_identities_of_every_size(warm):
    """Up to what a raw peer can say; two of the same name; one that is taken over by nobody."""
    rig = warm
    before = rig.station.rss_mib()
    for size in (1, 4, 5, 254, 255, 256, 1000, 60_000):
        for fill in (b"\0", b"x", b"\xff", b"*"):
            one = RawPeer(rig.ipc("q")).joined(identity=fill * size)
            two = RawPeer(rig.ipc("q")).joined(identity=fill * size)
            one.send(message(*pack(CMD.PLAN, plan_frames(later()))))
            two.send(message(*pack(CMD.PLAN, plan_frames(later()))))
            flags, body = one.take_frame()
            assert body[1] in (ST.PLAN, ST.BUSY), body
            one.close()
            two.close()
    rig.client.ping()
    held(rig, before)


def test_the_target_is_hostile(warm):
    """What a target sends instead of answers, on its connection, plans of its own in hand."""
    generator, rig = Generator(200), warm
    before = rig.station.rss_mib()
    idents = [rig.client.added(every(1000, 3, no_keep=True, plan_time=int(time.time()) - 1000))
              for _ in range(20)]
    runs = [rig.jobs.recv() for _ in idents]
    rng = generator.rng
    for turn in range(2500):
        run = rng.choice(runs)
        parts = generator.message() or [b""]
        if rng.random() < .5:
            parts = [run.mailbox, *generator.sane()]
        if rng.random() < .3:
            answer = [(rng.choice(TYPES[1:]), generator.bytes()), (FT.LOCAL_ID, run.local_id)]
            parts = [run.mailbox, *pack(rng.randrange(256), answer)]
        rig.jobs.socket.send_multipart([run.before[0], *parts])
        if turn % 500 == 499:
            rig.client.ping()
    rig.client.ping()
    held(rig, before)


def test_a_raw_target(make_rig):
    """A listener that speaks bent ZMTP to the station that connects to it, again and again."""
    generator = Generator(300)
    rig = make_rig(start=False)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(rig.path("raw"))
    listener.listen()
    listener.settimeout(20)
    rig.station.args += ["--station", "raw=api@" + rig.ipc("raw")]
    rig.start()
    goes_on(rig)
    before = rig.station.rss_mib()
    for _ in range(60):
        peer, _ = listener.accept()
        try:
            peer.sendall(generator.stream())
            if generator.rng.random() < .2:
                peer.settimeout(0.1)
                peer.recv(65536)
        except OSError:
            pass
        peer.close()
        rig.client.ping()
    listener.close()
    held(rig, before)


def test_300_half_open_and_slow_while_messages_come(warm):
    """Beside them the generated ones are answered as ever."""
    generator, rig = Generator(400), warm
    before = rig.station.rss_mib()
    peers = [RawPeer(rig.ipc("qpe"[n % 3])) for n in range(300)]
    streams = [generator.stream() for _ in peers]
    for peer in peers:
        peer.stream.setblocking(False)
    for at in range(0, 120, 2):
        for peer, stream in zip(peers, streams):
            try:
                peer.stream.send(stream[at:at + 2])
            except OSError:
                pass
        rig.client.socket.send_multipart(generator.message() or [b""])
        fresh = rig.dealer()
        fresh.ping()
        fresh.close()
    for peer in peers:
        peer.close()
    held(rig, before)


def test_messages_without_an_end(warm):
    """MORE and no end, 24 MB of it on two sockets; when the peer goes, so does the memory."""
    rig = warm
    before = rig.station.rss_mib()
    for where in "qp":
        for size, count in ((100, 20_000), (200_000, 50)):
            peer = RawPeer(rig.ipc(where), timeout=5).joined(b"DEALER" if where == "q" else b"SUB")
            try:
                for _ in range(count // 50):
                    peer.send(frame(b"x" * size, more=True) * 50)
                rig.client.ping()
            except OSError:
                pass
            peer.close()
    rig.client.ping()
    held(rig, before)
