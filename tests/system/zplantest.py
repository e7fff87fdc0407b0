"""The zplan wire a second time, for tests from outside: written from the protocol, not from the C.

Wire (dialect zeronet), a client, a target played by the test, subscribers, and the rig that puts
them around one real station. The processes are in zplanprocs.py.
"""
import base64
import itertools
import json
import os
import shutil
import tempfile
import time
from types import SimpleNamespace

import zmq

from zplanprocs import Redis, Zpland, wait_until, WAIT

CMD = SimpleNamespace(NONE=0x01, PLAN=0x02, PROXY=0x03, GLOBAL_ID=0x3E, WAITING=0x23,
                      FIND_RESULT=0x25, CLOSE_REQUEST=0x2D, PING=0x2A)
ST = SimpleNamespace(OK=0x01, PLAN=0x02, RUNING=0x03, WAITING=0x22, WAITING_TOO=0x23,
                     VOTE_SENDED=0x20, VOTE_BYE=0x21, VOTE_START=0x23, VOTE_END=0x24,
                     VOTE_CLOSED=0x25,
                     ERROR_FLAG=0x80, ERROR=0x81, FAILED=0x82, NOT_FIND=0x83, NOT_SUPPORT=0x84,
                     FRAME_INVALID=0x85, TIMEOUT=0x86, NET_ERROR=0x87, NOT_WORKER=0x88,
                     ARG_ERROR=0x89, PLANERROR=0x8B, SEND_ERROR=0x8C, RECV_ERROR=0x8D,
                     DENY=0x8E, BUSY=0x8F, CANCELLED=0x90, MISSED=0x91)
FT = SimpleNamespace(END=0, GLOBAL_ID=1, STATION_ID=2, STATUS=3, REQUEST_ID=4, PLAN=5, PLAN_TIME=6,
                     SERVICE_KEY=7, LOCAL_ID=8, COMMAND=ord("$"), ARG=ord("%"), CONTENT=ord("T"), JSON=ord("J"),
                     PUB_TITLE=ord("*"), SUBTITLE=ord("@"), CONTEXT=ord("#"), REQUESTER=ord(">"),
                     RESPONSER=ord("<"), BIN=ord("B"), XML=ord("X"))
WORD = {ST.OK: "+ok", ST.PLAN: "+plan", ST.NOT_FIND: "-no find", ST.NOT_SUPPORT: "-no support",
        ST.FRAME_INVALID: "-invalid", ST.NET_ERROR: "-net error", ST.ARG_ERROR: "-argument",
        ST.PLANERROR: "-plan error", ST.DENY: "-deny", ST.BUSY: "-busy"}

EVENTS = ("add", "update", "queue", "exec", "result", "pause", "end", "remove", "flow")     # 1 to 9
# plan_state.
NONE, QUEUE, EXECUTE, RETRY, SKIP, PAUSE, ERROR, CLOSE = range(8)

# The fields of a stored plan and their JSON types; str also stands for {"b64": ...} (frames).
PLAN_FIELDS = {
    "plan_id": int, "request_id": str, "station": str, "caller": str, "description": str,
    "plan_type": int, "plan_value": int, "plan_repet": int, "real_repet": int, "no_keep": bool,
    "last_state": int, "plan_time": int, "exec_time": int, "messages": list, "base_time": int,
    "plan_state": int, "add_time": int, "skip_set": int, "skip_num": int, "error_count": int,
    "exec_id": int}

CONTEXT = zmq.Context.instance()
_names = itertools.count(1)


def describe(code, types):
    return bytes([len(types), code, *types, FT.END])


def pack(code, pairs, desc=None):
    """[desc][frames] of (type, frame) pairs."""
    return [describe(code, [t for t, _ in pairs]) if desc is None else desc, *(f for _, f in pairs)]


def unframe(value):
    """The bytes of a frame as it stands in JSON: a string, or {"b64": text}."""
    if isinstance(value, dict):
        assert list(value) == ["b64"], value
        return base64.b64decode(value["b64"], validate=True)
    return value.encode()


class Packet:
    """A message of the station taken apart; `before` frames stand before the description."""

    def __init__(self, parts, before=0):
        self.at = time.time()
        self.before, self.desc, self.frames = parts[:before], parts[before], parts[before + 1:]
        count = len(self.frames)
        self.code, self.types = self.desc[1], self.desc[2:2 + count]
        # Bytes 0 to n + 1, then END, which is always written.
        assert self.desc == describe(self.code, self.types), (self.desc, count)
        assert count <= 32

    def __repr__(self):
        frames = [f if len(f) < 200 else f[:60] + b"..." for f in self.frames]
        return f"Packet({self.before} {self.code:#04x} {self.types} {frames})"

    def every(self, kind):
        return [f for t, f in zip(self.types, self.frames) if t == kind]

    def get(self, kind):
        """The one frame of this type, or None."""
        found = self.every(kind)
        assert len(found) <= 1, self
        return found[0] if found else None

    @property
    def text(self):
        return (self.get(FT.STATUS) or b"").decode()

    @property
    def json(self):
        return json.loads(self.get(FT.JSON))

    # What a dispatch carries.

    @property
    def mailbox(self):
        return self.before[-1]

    @property
    def plan(self):
        return json.loads(self.get(FT.PLAN))

    @property
    def plan_time(self):
        return int(self.get(FT.PLAN_TIME))

    @property
    def exec_id(self):
        return self.plan["exec_id"]

    @property
    def claimed(self):
        """When the station took the plan for this run, by the clock of Redis (proto 7.1)."""
        return self.exec_id / 1e6

    @property
    def local_id(self):
        return self.get(FT.LOCAL_ID)


def receive(socket, timeout, what):
    assert socket.poll(int(timeout * 1000)), f"no {what} within {timeout} s"
    return socket.recv_multipart()


class Client:
    """A DEALER (or REQ) at the request socket."""

    def __init__(self, endpoint, kind=zmq.DEALER, identity=None, prepare=None):
        self.socket = CONTEXT.socket(kind)
        self.socket.linger = 0
        self.socket.sndtimeo = int(WAIT * 1000)
        if identity is not None:
            self.socket.identity = identity
        if prepare:
            prepare(self.socket)
        self.socket.connect(endpoint)

    def close(self):
        self.socket.close()

    def send(self, code, pairs=(), desc=None, before=()):
        self.socket.send_multipart([*before, *pack(code, pairs, desc)])

    def recv(self, timeout=WAIT, before=0):
        return Packet(receive(self.socket, timeout, "reply"), before)

    def ask(self, code, pairs=(), desc=None, before=()):
        self.send(code, pairs, desc, before)
        return self.recv()

    def ping(self):
        reply = self.ask(CMD.PING)
        assert reply.code == ST.OK, reply

    def manage(self, word, *args, more=()):
        return self.ask(CMD.NONE, [(FT.COMMAND, word.encode()),
                                   *((FT.ARG, a.encode()) for a in args), *more])

    def done(self, word, *args):
        """The word is answered OK; arguments may be numbers and what becomes JSON."""
        reply = self.manage(word, *map(argument, args))
        assert reply.code == ST.OK and reply.text.startswith(WORD[ST.OK]), reply
        return reply

    def refused(self, word, *args, status=ST.ARG_ERROR):
        """The word is refused; return the reason."""
        reply = self.manage(word, *map(argument, args))
        assert reply.code == status and reply.text.startswith(WORD[status] + ": "), reply
        assert reply.get(FT.JSON) is None
        return reply.text.removeprefix(WORD[status] + ": ")

    def submit(self, plan, **where):
        return self.ask(CMD.PLAN, plan_frames(plan, **where))

    def added(self, plan, **where):
        """Submit, insist on PLAN, give back the id in hex."""
        reply = self.submit(plan, **where)
        assert reply.code == ST.PLAN, reply
        return reply.get(FT.GLOBAL_ID).decode()

    def result(self, ident, status, pairs=()):
        """A target's result by the request socket, which is never answered."""
        self.send(status, pairs, before=[b"*" + ident.encode()])


def argument(value):
    """An ARG as text."""
    return value if isinstance(value, str) else json.dumps(value)


def plan_frames(plan, station="jobs", head=None, gid=None, more=()):
    """The frames of a submit. `head` is the COMMAND, or at the pub target the PUB_TITLE."""
    if not isinstance(plan, bytes):
        plan = json.dumps(plan).encode()
    if head is None:
        head = [(FT.PUB_TITLE, b"title")] if station == "news" else [(FT.COMMAND, b"do")]
    pairs = [(FT.PLAN, plan)]
    if station is not None:
        pairs.append((FT.STATION_ID, station.encode()))
    pairs += head
    if gid is not None:
        pairs.append((FT.GLOBAL_ID, gid.encode()))
    return pairs + list(more)


def later(seconds=86400, **fields):
    """A plan that runs once, far from now: nothing happens to it during a test."""
    when = int(time.time()) + seconds
    return {"description": "later", "plan_type": 1, "plan_time": when, **fields}


def at_once(**fields):
    return {"description": "at once", "plan_type": 0, **fields}


def every(value, repet, kind=2, **fields):
    return {"description": "every", "plan_type": kind, "plan_value": value, "plan_repet": repet,
            **fields}


def new_second():
    """Wait for the beginning of a second, so that what follows falls into it; return it. The clock of a station, which
    is that of Redis as far as it knows, may be some ms behind."""
    time.sleep(1.05 - time.time() % 1)
    return int(time.time())


class FakeTarget:
    """A target station played by the test: it sees each dispatch and answers what it is told."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.socket = None
        self.open()

    def open(self):
        self.socket = CONTEXT.socket(zmq.ROUTER)
        self.socket.linger = 0
        self.socket.bind(self.endpoint)

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def recv(self, timeout=WAIT):
        """The next dispatch: [connection][*plan_id][desc][frames]."""
        return Packet(receive(self.socket, timeout, "dispatch"), before=2)

    def nothing(self, timeout):
        if self.socket.poll(int(timeout * 1000)):
            raise AssertionError(f"not expected: {self.recv()}")

    def answer(self, run, status, pairs=()):
        """A status or a result on the connection of the run."""
        self.socket.send_multipart([*run.before, *pack(status, pairs)])

    def finish(self, run, status=ST.OK, pairs=()):
        """RUNING, then the result with the run's LOCAL_ID, as a good worker does."""
        self.answer(run, ST.RUNING)
        self.answer(run, status, [*pairs, (FT.LOCAL_ID, run.local_id)])


class Results:
    """A subscriber of the result socket."""

    def __init__(self, endpoint, titles, prepare=None):
        self.socket = CONTEXT.socket(zmq.SUB)
        self.socket.linger = 0
        if prepare:
            prepare(self.socket)
        for title in titles:
            self.socket.subscribe(title)
        self.socket.connect(endpoint)

    def close(self):
        self.socket.close()

    def recv_any(self, timeout=WAIT):
        return Packet(receive(self.socket, timeout, "broadcast"), before=1)

    def recv(self, timeout=WAIT):
        """The next broadcast that is not a probe's."""
        while True:
            news = self.recv_any(timeout)
            if not news.before[0].startswith(b"probe:"):
                return news

    def nothing(self, timeout):
        end = time.monotonic() + timeout
        while self.socket.poll(max(0, int((end - time.monotonic()) * 1000))):
            title = self.socket.recv_multipart()[0]
            assert title.startswith(b"probe:"), f"not expected: broadcast {title}"


def told(news):
    """The plan JSON of a broadcast: the first CONTENT frame."""
    return json.loads(news.every(FT.CONTENT)[0])


class Event:
    """[plan.EVENT.STATION][desc][plan id][state JSON] taken apart."""

    def __init__(self, parts):
        packet = Packet(parts, before=1)
        topic = packet.before[0].decode()
        word, self.name, self.station = topic.split(".", 2)
        assert word == "plan" and packet.types == bytes([FT.SUBTITLE, FT.CONTEXT]), packet
        assert packet.code == EVENTS.index(self.name) + 1, packet
        self.ident, self.state = packet.frames[0].decode(), json.loads(packet.frames[1])
        assert self.state["plan_id"] == int(self.ident, 16)
        self.seq, self.epoch = self.state["seq"], self.state["epoch"]

    def __repr__(self):
        return f"Event({self.name} {self.station} {self.ident} {self.state})"


class Events:
    """A subscriber of the event socket."""

    def __init__(self, endpoint, topics=(b"",), prepare=None):
        self.socket = CONTEXT.socket(zmq.SUB)
        self.socket.linger = 0
        if prepare:
            prepare(self.socket)
        self.socket.rcvhwm = 0
        for topic in topics:
            self.socket.subscribe(topic)
        self.socket.connect(endpoint)

    def close(self):
        self.socket.close()

    def recv(self, timeout=WAIT):
        return Event(receive(self.socket, timeout, "event"))

    def names(self, count):
        """The names of the next events, all of one plan."""
        events = [self.recv() for _ in range(count)]
        assert len({event.ident for event in events}) == 1, events
        return [event.name for event in events]


class Rig:
    """One Redis, one station, the targets `jobs` (api) and `news` (pub), and the test's sockets."""

    prepare = None      # what is done to each of the test's own sockets before it connects

    def __init__(self, *args, redis_args=(), db=0, env=None):
        self.folder = tempfile.mkdtemp(prefix="zp", dir="/tmp")   # an ipc path must be short
        self.opened = []
        self.redis = Redis(self.path("r"), redis_args)
        self.jobs = self.keep(FakeTarget(self.ipc("j")))
        self.news = self.keep(FakeTarget(self.ipc("n")))
        self.station = Zpland(self.path("log"), [
            "--request", self.ipc("q"), "--publish", self.ipc("p"), "--events", self.ipc("e"),
            "--redis", "unix:" + self.redis.socket, "--redis-db", str(db),
            "--station", "jobs=api@" + self.jobs.endpoint,
            "--station", "news=pub@" + self.news.endpoint, *args], env)
        self.db = self.redis.client(db)
        self.client = self.dealer()

    def path(self, name):
        return os.path.join(self.folder, name)

    def ipc(self, name):
        return "ipc://" + self.path(name)

    def keep(self, socket):
        self.opened.append(socket)
        return socket

    def start(self):
        self.redis.start()
        self.station.start()
        self.connected()
        return self

    def restart(self):
        self.station.stop()
        self.station.start()
        self.connected()

    def connected(self, seconds=5):
        """The targets that the test plays are connected, if they can be: a plan that is due before has one more outcome,
        SEND_ERROR, which is also broadcast."""
        there = {one.endpoint for one in self.opened if isinstance(one, FakeTarget) and one.socket}
        args = self.station.args
        named = dict(text.split("=", 1) for option, text in zip(args, args[1:]) if option == "--station" and "=" in text)
        names = [name for name, rest in named.items() if rest.partition("@")[2].partition(",")[0] in there]
        end = time.monotonic() + seconds
        while time.monotonic() < end and not all(
                f" event=target.connected station={name} " in self.station.said() for name in names):
            time.sleep(0.005)

    def close(self):
        try:
            for socket in self.opened:
                socket.close()
            self.station.stop()
        finally:
            self.station.reap()
            self.redis.kill()
            shutil.rmtree(self.folder, ignore_errors=True)

    def dealer(self, **options):
        return self.keep(Client(self.ipc("q"), **{"prepare": self.prepare, **options}))

    def subscribe(self, *titles):
        """A subscriber that is known to be connected: it has seen a probe broadcast."""
        prefix = f"probe:{next(_names)}:"
        results = self.keep(Results(self.ipc("p"), [*titles, prefix], self.prepare))

        def probed():
            title = prefix + str(next(_names))
            self.client.added(at_once(description=title), station="news")
            self.news.answer(self.news.recv(), ST.OK)
            # The last probe: what was sent before it has come, or never will.
            while results.socket.poll(500):
                if results.recv_any().before[0] == title.encode():
                    return True
            return False
        wait_until(probed, "a probe broadcast")
        return results

    def stats(self, target):
        """What the station counts of a target."""
        targets = self.client.done("stats").json["targets"]
        return next(entry for entry in targets if entry["name"] == target)

    def ready(self, target="jobs"):
        """How many plans of a target are due and wait for their turn."""
        return self.stats(target)["ready"]

    def events(self):
        """A subscriber of all events; the next it hears is of what happens from now on."""
        events = self.keep(Events(self.ipc("e"), prepare=self.prepare))

        def probed():
            ident = self.client.added(later(), station="news")
            self.client.done("remove", ident)
            while events.socket.poll(500):
                event = events.recv()
                if (event.name, event.ident) == ("remove", ident):
                    return True
            return False
        wait_until(probed, "the events of a probe")
        return events

    # What stands in Redis.

    def key(self, ident, station="jobs", kind="msg"):
        return f"plan:{kind}:{station}:{ident}"

    def message(self, ident, station="jobs"):
        value = self.db.get(self.key(ident, station))
        return None if value is None else json.loads(value)

    def edit(self, ident, station="jobs", **fields):
        """An operator's hand on the message."""
        message = {**self.message(ident, station), **fields}
        self.db.set(self.key(ident, station), json.dumps(message))

    def score(self, ident, station="jobs"):
        return self.db.zscore("plan:time:set", self.key(ident, station))

    def due_now(self, ident, station="jobs"):
        """An operator's hand on the score."""
        changed = self.db.zadd("plan:time:set", {self.key(ident, station): int(time.time())},
                               xx=True, ch=True)
        assert changed, "the plan is not in plan:time:set"

    def work(self, ident, station="jobs"):
        """participant -> list of raw frames."""
        found = self.db.hgetall(self.key(ident, station, "work"))
        return {k.decode(): [unframe(f) for f in json.loads(v)] for k, v in found.items()}

    def state(self, ident, status, station="jobs"):
        """Wait until the stored last_state is this status; return the message."""
        def reached():
            message = self.message(ident, station)
            return message if message and message["last_state"] == status else None
        return wait_until(reached, f"last_state {status:#x}")

    def repet(self, ident, count, station="jobs"):
        """Wait until real_repet has this value; return the message."""
        def reached():
            message = self.message(ident, station)
            return message if message and message["real_repet"] == count else None
        return wait_until(reached, f"real_repet {count}")

    def marked(self, ident, run, station="jobs"):
        """Wait until the message carries the exec_id of this run, which is in hand."""
        wait_until(lambda: self.message(ident, station)["exec_id"] == run.exec_id,
                   "the exec_id of the run in the message")

    def gone(self, ident, station="jobs"):
        """Wait until the three keys of the plan are deleted."""
        wait_until(lambda: not self.left(ident, station), "the plan's keys are deleted")

    def left(self, ident, station="jobs"):
        keys = [self.key(ident, station), self.key(ident, station, "work")]
        return self.db.exists(*keys) or self.score(ident, station) is not None

    def settle(self):
        """What was sent before on the same client has been worked off, Redis included."""
        self.client.added(later())

    def dump(self):
        """All that stands in Redis, but for the heartbeats of stations."""
        return {key: self.db.dump(key) for key in self.db.keys("*")
                if key not in (b"plan:attending", b"plan:owner")}
