"""A MicroZero center played by the test, in the three generations that are met in the field.

"seed" is the center of the plan document's time, "master" the one of MicroZero 1.0 and its master
branch, "v1.5" that of 1.1 to 1.6. What they do differently, down to the bytes and the faults, is
written here as it was seen of real centers; their workers are those of their C# libraries. A
center runs in a thread of its own; what a test tells it is done there.
"""
import heapq
import itertools
import json
import os
import queue
import random
import re
import socket as sockets
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import zmq

from zplanprocs import WAIT, wait_until
from zplantest import CMD, CONTEXT, FT, ST

KEY = b"agebull"        # the service key of every v1.5 center
SERVICE_KEY, CALL_ID = 0x07, 0x0B
TAG = 0xFE              # stands behind the types from v1.1 on
HEARTS = b"JRPL"
IDENTITY = re.compile(rb"\+zplan-[0-9a-f]{8,}\Z")     # of every connection of ours

# Dialect A; B and C.
SEED = SimpleNamespace(OK=0x01, PLAN=0x02, RUNING=0x03, ERROR=0x81, FAILED=0x82, NOT_FIND=0x83,
                       NOT_SUPPORT=0x84, FRAME_INVALID=0x85, NOT_WORKER=0x88, ARG_INVALID=0x8A,
                       PLAN_ERROR=0x8B, SEND_ERROR=0x8C, RECV_ERROR=0x8D)
MICROZERO = SimpleNamespace(OK=0x01, PLAN=0x02, RUNING=0x03, WAIT=0x06, FAILED=0x80, PAUSE=0x81,
                            BUG=0xD0, FRAME_INVALID=0xD1, ARG_INVALID=0xD2, ERROR=0xF0,
                            NOT_FIND=0xF1, NOT_WORKER=0xF2, NOT_SUPPORT=0xF3, TIMEOUT=0xF4,
                            NET_ERROR=0xF5, PLAN_ERROR=0xF6, SEND_ERROR=0xF7, RECV_ERROR=0xF8,
                            DENY=0xF9)
FLAVOURS = ("seed", "master", "v1.5")

TYPES = {"dispatcher": 1, "pub": 2, "api": 3, "vote": 4, "rapi": 5, "queue": 6, "plan": 255}
STATE = SimpleNamespace(NONE=0, RUN=3, PAUSE=4, CLOSED=7, DESTROY=8, STOP=9)
EVENT = SimpleNamespace(START=1, SOUND_OFF=4, JOIN=5, LEFT=6, PAUSE=7, RESUME=8, CLOSING=9,
                        INSTALL=10, STOP=11)
STATE_EVENT = {"seed": 12, "master": 13, "v1.5": 13}
REMOVE_EVENT = {"seed": 11, "master": 12, "v1.5": 12}


def pick_ports(count):
    """Neighbours, free now; below the ports that the kernel gives away by itself."""
    for _ in range(1000):
        first = random.randrange(20000, 32000)
        held = []
        try:
            for port in range(first, first + count):
                held.append(sockets.socket())
                held[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            pass
        finally:
            for one in held:
                one.close()
    raise AssertionError("no ports")


def wait_closed(*ports):
    """libzmq closes a listener a little after its socket."""
    def closed(port):
        with sockets.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) != 0
    wait_until(lambda: all(map(closed, ports)), "the ports are closed")


def c_string(frame):
    """What is left of a frame that went through a C string."""
    return frame.split(b"\0")[0]


class Received:
    """A message at a ROUTER of the center: [identity][description][frames]."""

    def __init__(self, station, parts):
        self.at = time.time()
        self.station, self.identity, self.parts = station, parts[0], list(parts)
        self.desc = bytearray(parts[1]) if len(parts) > 1 else bytearray()
        self.frames = list(parts[2:])

    def __repr__(self):
        return f"Received({self.station} {self.identity} {bytes(self.desc)} {self.frames})"

    @property
    def code(self):
        return self.desc[1]

    @property
    def types(self):
        return bytes(self.desc[2:2 + len(self.frames)])

    def every(self, kind):
        return [f for t, f in zip(self.types, self.frames) if t == kind]

    def get(self, kind):
        """The last frame of this type, as the center's loops find it, or None."""
        found = self.every(kind)
        return found[-1] if found else None

    def append(self, kind, frame):
        """The center puts a frame of its own behind the others, and 0 behind its type."""
        self.desc[len(self.frames) + 2:] = bytes([kind, 0])
        self.desc[0] += 1
        self.frames.append(frame)


class Job:
    """A run at the worker of an api station: what a PULL socket there receives."""

    def __init__(self, station, message):
        self.at = time.time()
        self.station, self.flavour = station, station.flavour
        self.identity, self.desc = message.identity, bytes(message.desc)
        self.code, self.types, self.frames = message.code, message.types, tuple(message.frames)
        self.get, self.every = message.get, message.every

    def __repr__(self):
        return f"Job({self.identity} {self.desc} {self.frames})"

    @property
    def global_id(self):
        return self.get(FT.GLOBAL_ID)

    @property
    def requester(self):
        return self.get(FT.REQUESTER)

    @property
    def plan(self):
        return json.loads(self.get(FT.PLAN))

    def answer(self, status, pairs, tag=b""):
        """[mailbox][description][frames] to the worker_in socket of the station."""
        desc = bytes([len(pairs), status, *(t for t, _ in pairs)]) + tag
        self.station.center.do(self.station.job_end, self.identity, desc, [f for _, f in pairs])

    def finish(self, status=0x01, value=None):
        """The result as the C# library of this generation writes it."""
        content = json.dumps({"ok": True} if value is None else value).encode()
        asker, ident = self.requester or b"", self.global_id or b""
        if self.flavour == "v1.5":
            self.answer(status, [(FT.REQUESTER, asker),
                                 (FT.REQUEST_ID, self.get(FT.REQUEST_ID) or b""),
                                 (CALL_ID, self.get(CALL_ID) or b""), (FT.GLOBAL_ID, ident),
                                 (FT.JSON, content), (SERVICE_KEY, KEY)], bytes([TAG]))
        else:
            self.answer(status, [(FT.JSON, content), (FT.REQUESTER, asker),
                                 (FT.GLOBAL_ID, ident)])

    def waiting(self, status=CMD.WAITING):
        """Still at work."""
        self.answer(status, [(FT.REQUESTER, self.requester), (FT.GLOBAL_ID, self.global_id)])


class Front:
    """A ROUTER that takes the sender's identity for the caller; base of whatever is asked."""

    def __init__(self, center, name, port):
        self.center, self.flavour, self.number = center, center.flavour, center.number
        self.name, self.port = name, port
        self.socket = None

    def open(self):
        self.socket = self.center.bound(zmq.ROUTER, self.port)
        self.center.watch(self.socket, self.on_message)

    def close(self):
        if self.socket:
            self.center.unwatch(self.socket)
            self.socket.close()
        self.socket = None

    # What goes back.

    def describe(self, status, types):
        desc = bytes([len(types), status, *types])
        if self.flavour == "v1.5":
            return (desc + bytes([TAG])).ljust(10, b"\0")
        return desc + b"\0"

    def send_status(self, caller, status, pairs=()):
        """Callers are C strings here: one with a NUL is another one, or nobody."""
        caller = c_string(caller)
        if caller and self.socket:
            desc = self.describe(status, [t for t, _ in pairs])
            self.socket.send_multipart([caller, desc, *(f for _, f in pairs)])

    def refuse(self, message, status):
        """Of what could not be understood or is not wanted: without any ids."""
        self.send_status(message.identity, status)

    def reply(self, message, status, text=None, ident=None):
        """With the ids of the request, in the order of this generation."""
        ids = {kind: message.get(kind) for kind in (FT.REQUESTER, FT.REQUEST_ID, FT.GLOBAL_ID)}
        ids[FT.STATUS] = text
        if ident is not None:
            ids[FT.GLOBAL_ID] = ident
        if self.flavour == "v1.5":
            order = (FT.REQUEST_ID, FT.REQUESTER, FT.GLOBAL_ID, FT.STATUS)
        else:
            order = (FT.REQUESTER, FT.STATUS, FT.REQUEST_ID, FT.GLOBAL_ID)
        self.send_status(message.identity, status,
                         [(kind, c_string(ids[kind])) for kind in order if ids[kind] is not None])

    # What comes in.

    def on_message(self):
        parts = self.socket.recv_multipart()
        message = Received(self.name, parts)
        self.center.seen.append(message)
        if self.flavour == "v1.5" and parts[1:] == [b"\x04PING"]:
            return
        if self.flavour == "seed" and len(parts) > 1 and not parts[1]:
            self.center.died = True     # it reads a description that is not there
            self.center.close_all()
            return
        if self.flavour == "v1.5" and len(message.desc) > 1 and self.simple(message):
            return
        status = self.check(message)
        if status:
            self.refuse(message, status)
            return
        if self.flavour == "v1.5" and message.get(FT.GLOBAL_ID) is None:
            message.append(FT.GLOBAL_ID, b"%d" % self.center.next_id())
        if self.flavour == "v1.5" or not self.simple(message):
            self.take(message)

    def check(self, message):
        """The status of the refusal, or 0."""
        desc, count = message.desc, len(message.frames)
        seed = self.flavour == "seed"
        fits = len(desc) >= 2 and 1 <= desc[1] <= (0x7F if seed else 0xFF) and desc[0] == count
        if not seed:
            fits = fits and desc[0] + 1 <= len(desc)
        if not fits or (desc[0] >= 128 and self.flavour != "v1.5"):
            return self.number.FRAME_INVALID
        if self.flavour == "v1.5" and (len(desc) <= count + 1 or desc[count + 1] != SERVICE_KEY or
                                       message.frames[-1] != KEY):
            return self.number.DENY
        return 0

    def simple(self, message):
        """Commands that need no station; before size and key are looked at in v1.5."""
        if message.code == CMD.PING:
            self.refuse(message, self.number.OK)
        elif message.code == CMD.GLOBAL_ID:
            self.reply(message, self.number.OK, ident=b"%x" % self.center.next_id())
        else:
            return False
        return True

    def take(self, message):
        raise NotImplementedError


class SystemManage(Front):
    """Hosts, installs and starts the stations; takes the heartbeats of workers."""

    def simple(self, message):
        if bytes([message.code]) in HEARTS:
            station = self.center.stations.get(c_string(message.frames[0]).decode()) \
                if message.frames else None
            if station:
                station.heartbeat(message.code)
            lost = self.number.ERROR if self.flavour == "seed" else self.number.FAILED
            self.refuse(message, self.number.OK if station else lost)
            return True
        return message.code == CMD.PING and super().simple(message)

    def take(self, message):
        command = message.get(FT.COMMAND)
        if command is None:
            seed = self.flavour == "seed"
            self.reply(message, self.number.FRAME_INVALID if seed else self.number.ARG_INVALID)
            return
        args = [c_string(arg).decode(errors="replace") for arg in message.every(FT.ARG)]
        order = {"host": self.host, "install": self.install, "start": self.start,
                 "pause": self.pause, "resume": self.resume}.get(c_string(command).decode().lower())
        status, text = order(args) if order else (self.number.NOT_SUPPORT, None)
        self.reply(message, status, text if status == self.number.OK and text else None)

    def host(self, args):
        name = args[0] if args else "*"
        if name == "*":
            self.center.asked.append(time.monotonic())
            return self.number.OK, self.center.host_list()
        station = self.center.stations.get(name)
        if not station:
            return self.number.NOT_FIND, None
        return self.number.OK, json.dumps(station.config(), ensure_ascii=False).encode()

    def install(self, args):
        if self.flavour != "seed" and len(args) == 1:
            config = json.loads(args[0])
            kinds = {number: kind for kind, number in TYPES.items()}
            args = [kinds.get(config["station_type"]), config["name"]]
        elif len(args) != (3 if self.flavour == "seed" else 4):
            return self.number.ARG_INVALID, None
        kind, name = args[:2]
        kinds = {"seed": ("api", "pub", "vote"), "master": ("api", "pub", "vote", "rapi"),
                 "v1.5": ("api", "pub", "vote", "rapi", "queue")}[self.flavour]
        if kind not in kinds:
            seed = self.flavour == "seed"
            return (self.number.NOT_SUPPORT if seed else self.number.FAILED), None
        if name in self.center.stations:
            return self.number.FAILED, None
        self.center.add(name, kind)
        return self.number.OK, None

    def start(self, args):
        station = self.center.stations.get(args[0]) if args else None
        if not station:
            return self.number.NOT_FIND, None
        if station.socket:
            return self.number.RUNING, None
        if station.kind not in ("api", "pub", "queue"):
            return self.number.FAILED, None     # a vote station cannot be started by anybody
        station.open()
        return self.number.OK, None

    def pause(self, args):
        station = self.center.stations.get(args[0]) if args else None
        if not station or not station.socket:
            return self.number.NOT_FIND, None
        return (self.number.OK if station.set_paused(True) else self.number.FAILED), None

    def resume(self, args):
        station = self.center.stations.get(args[0]) if args else None
        if not station:
            return self.number.NOT_FIND, None
        return (self.number.OK if station.set_paused(False) else self.number.FAILED), None


class Station(Front):
    """An api, pub or queue station of the center."""

    def __init__(self, center, name, kind):
        super().__init__(center, name, pick_ports(3))
        self.kind = kind
        self.state = STATE.NONE
        self.paused = False
        self.workers = 1            # that are ready; 0: NOT_WORKER
        self.blocks_s = None        # without a worker: how long it blocks in a send to one
        self.blocked = None         # the message that it blocks in; meanwhile it reads nothing
        self.silent = False         # stopped, as v1.5 does it: takes everything, says nothing
        self.jobs = queue.Queue()
        self.wrong_jobs = []        # that the worker's library refused by itself
        self.work = None            # a function of a Job, called at once; without it: see jobs
        self.plans = None           # DEALER to who takes plans for this center
        self.out = None             # PUB of a pub station

    def config(self):
        """As the center tells it; what is 0 is left out."""
        fields = {"is_base": self.kind in ("dispatcher", "plan"), "station_type": TYPES[self.kind],
                  "request_port": self.port, "worker_out_port": self.port + 1}
        if self.kind in ("api", "vote", "rapi"):
            fields["worker_in_port"] = self.port + 2
        fields.update({"name": self.name, "short_name": self.name.lower(),
                       "description": "测试 " + self.name, "station_state": self.state})
        if self.flavour == "seed":
            fields.pop("is_base")
            fields["station_name"] = fields.pop("name")
            fields["_description"] = fields.pop("description")
            fields["station_alias"] = []
        return {field: value for field, value in fields.items() if value or value == []}

    def open(self):
        super().open()
        if self.kind in ("pub", "queue"):
            self.out = self.center.bound(zmq.PUB, self.port + 1)
        self.state = STATE.RUN
        self.paused = False
        self.center.emit(EVENT.JOIN, self.name, self.config())

    def close(self):
        super().close()
        for one in (self.out, self.plans):
            if one:
                one.close()
        self.out = self.plans = None

    def heartbeat(self, beat):
        if beat == ord("R"):
            self.workers += 1
        elif beat == ord("L"):
            self.workers = max(0, self.workers - 1)

    def set_paused(self, paused):
        if self.paused == paused or not self.socket:
            return False
        self.paused = paused
        self.state = STATE.PAUSE if paused else STATE.RUN
        if self.flavour == "seed":      # it is not read meanwhile
            if paused:
                self.center.unwatch(self.socket)
            else:
                self.center.watch(self.socket, self.on_message)
        self.center.emit(EVENT.PAUSE if paused else EVENT.RESUME, self.name)
        return True

    # Requests.

    def on_message(self):
        if self.silent:
            self.center.seen.append(Received(self.name, self.socket.recv_multipart()))
        elif self.paused and self.flavour == "master":
            message = Received(self.name, self.socket.recv_multipart())
            self.center.seen.append(message)
            self.refuse(message, self.number.PAUSE)     # before anything is looked at
        else:
            super().on_message()

    def simple(self, message):
        if message.code == CMD.PLAN:
            self.forward_plan(message)
            return True
        return super().simple(message)

    def take(self, message):
        if self.paused and self.flavour == "v1.5":
            self.reply(message, self.number.PAUSE)
        elif self.kind in ("pub", "queue"):
            self.publish(message)
        else:
            self.job_start(message)

    def job_start(self, message):
        ident = None
        if message.get(FT.GLOBAL_ID) is None:
            self.reply(message, self.number.FRAME_INVALID)
            if self.flavour != "seed":
                return
            ident = message.identity        # the seed goes on, with the frame at index 0
        if message.code == CMD.FIND_RESULT and self.flavour != "v1.5":
            self.reply(message, self.number.NOT_WORKER)
        elif message.code == CMD.CLOSE_REQUEST and self.flavour != "v1.5":
            self.reply(message, self.number.OK)
        elif self.workers == 0 and self.blocks_s is not None:
            self.block(message)
        elif self.workers == 0:
            # From v1.1 on nothing is known of workers but that a send to them waits in vain.
            wait = 0.5 if self.flavour == "v1.5" else 0
            self.center.later(wait, self.reply, message, self.number.NOT_WORKER)
        else:
            self.begin(message, ident)

    def begin(self, message, ident=None):
        job = Job(self, message)
        if message.code == CMD.PROXY or self.flavour == "v1.5":
            self.reply(message, self.number.RUNING, ident=ident)
        self.hand_out(job)

    def block(self, message):
        self.blocked = message
        self.center.unwatch(self.socket)
        self.center.later(self.blocks_s, self.unblock, message)

    def unblock(self, message):
        """Its send is over: a worker has come, or the time for it has ended."""
        if self.blocked is not message:
            return
        self.blocked = None
        if self.workers:
            self.begin(message)
        else:
            self.reply(message, self.number.NOT_WORKER)
        if self.socket:
            self.center.watch(self.socket, self.on_message)

    def hand_out(self, job):
        """What the worker's library does before the worker sees it."""
        needed = {"seed": (FT.COMMAND, FT.REQUEST_ID, FT.GLOBAL_ID, FT.CONTEXT),
                  "master": (FT.COMMAND, FT.GLOBAL_ID), "v1.5": (FT.COMMAND,)}[self.flavour]
        if all(job.get(kind) for kind in needed):
            self.jobs.put(job)
            if self.work:
                self.work(job)
            return
        self.wrong_jobs.append(job)
        if self.flavour == "seed":
            self.job_end(job.identity, bytes([1, SEED.FAILED, FT.REQUESTER, 0]), [job.identity])
        else:
            self.job_end(job.identity, bytes([0, self.number.FRAME_INVALID, 0]), [])

    def job_end(self, mailbox, desc, frames):
        """A worker's message at worker_in: by its mailbox, whose first byte is looked at."""
        if self.flavour == "v1.5" and frames:
            count = desc[0]
            desc = bytes([count + 1]) + desc[1:count + 2] + b"<" + (desc[count + 2:] or b"\0")
            frames = [*frames, b"+<" + self.name.encode() + b"-worker"]
        self.send_result(mailbox, [desc, *frames])

    def send_result(self, mailbox, parts):
        if mailbox[:1] in ((b"*", b"-", b"#") if self.flavour == "v1.5" else (b"*", b"-")):
            self.center.misrouted.append((mailbox, parts))      # to a part of the center itself
        elif self.socket:
            self.socket.send_multipart([mailbox, *parts])

    def publish(self, message):
        title = message.get(FT.PUB_TITLE)
        if title is None and self.kind == "queue":
            title = message.get(FT.COMMAND)
        if title is None:
            self.reply(message, self.number.FRAME_INVALID)
            return
        self.reply(message, self.number.OK)
        frames = list(message.frames)
        if self.flavour == "seed":      # the count is one too high then
            frames.remove(title)
        self.out.send_multipart([title, bytes(message.desc), *frames])

    # Plans.

    def forward_plan(self, message):
        """To who takes plans, with our name; the answer is whatever comes next from there."""
        if not self.plans:
            self.refuse(message, self.number.SEND_ERROR)
            return
        message.append(FT.STATION_ID, self.name.encode())
        desc = bytes(message.desc).ljust(16, b"\0")
        self.plans.send_multipart([message.identity, desc, *message.frames])
        if self.plans.poll(int(WAIT * 1000)):       # a real one waits for 500 ms
            self.send_result(message.identity, self.plans.recv_multipart())
        else:
            self.refuse(message, self.number.RECV_ERROR)

    # For the test.

    @property
    def endpoint(self):
        return f"tcp://127.0.0.1:{self.port}"

    def job(self, timeout=WAIT):
        """The next run that reaches the worker."""
        try:
            return self.jobs.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no job at {self.name} within {timeout} s: "
                                 f"{self.wrong_jobs or self.center.seen}") from None

    def no_job(self, timeout):
        try:
            raise AssertionError(f"not expected: {self.jobs.get(timeout=timeout)}")
        except queue.Empty:
            pass

    def stop(self):
        """As by a crash: its sockets are gone, and what was in them."""
        self.center.do(self.close)
        wait_closed(self.port)

    def start(self):
        self.center.do(self.open)

    def lose_worker(self, blocks_s):
        """From now on each send to a worker blocks for so long, and then is NOT_WORKER."""
        def lose():
            self.workers, self.blocks_s = 0, blocks_s
        self.center.do(lose)

    def get_worker(self):
        def get():
            self.workers = 1
            if self.blocked:
                self.unblock(self.blocked)
        self.center.do(get)

    def pause(self):
        assert self.center.do(self.set_paused, True)

    def resume(self):
        assert self.center.do(self.set_paused, False)

    def forward_plans_to(self, endpoint):
        def connect():
            self.plans = CONTEXT.socket(zmq.DEALER)
            self.plans.linger = 0
            self.plans.identity = b"->PlanDispatcher_" + self.name.encode()
            self.plans.connect(endpoint)
        self.center.do(connect)

    @property
    def identities(self):
        """Of everybody who sent something, in the order of their first message."""
        return list(dict.fromkeys(m.identity for m in self.center.seen if m.station == self.name))


class FakeCenter:
    """SystemManage and its events, and the stations; in a thread of its own from start to close."""

    def __init__(self, flavour, **stations):
        self.flavour = flavour
        self.number = SEED if flavour == "seed" else MICROZERO
        self.port = pick_ports(2)
        self.seen = []              # every message at any ROUTER
        self.asked = []             # when `host *` came, monotonic
        self.misrouted = []         # results that went into the center's own parts
        self.died = False           # the seed does, of an empty description
        self.noise_s = 1.0          # between two sound-offs
        self.stations = {}
        self.manage = SystemManage(self, "SystemManage", self.port)
        self.events = None
        self._hosts = None          # the list as it was told last; kept until one is saved
        self._ids = itertools.count(0x1000 if flavour != "v1.5" else 281474976710657)
        self._handlers, self._due, self._calls = {}, [], queue.SimpleQueue()
        self._order = itertools.count()
        self._poller = zmq.Poller()
        self._wake, self._woken = os.pipe(), False
        self._poller.register(self._wake[0], zmq.POLLIN)
        self._failures = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        try:
            self.do(self.open_all)
            for name, kind in stations.items():
                self.install(name, kind)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getitem__(self, name):
        return self.stations[name]

    @property
    def endpoint(self):
        return f"tcp://127.0.0.1:{self.port}"

    @property
    def setting(self):
        """What --center wants."""
        return self.endpoint + (",key=" + KEY.decode() if self.flavour == "v1.5" else "")

    def target(self, name):
        """What --station wants."""
        station = self.stations[name]
        kind = "pub" if station.kind == "queue" else station.kind
        dialect = "zeronet" if self.flavour == "seed" else "microzero"
        key = ",key=" + KEY.decode() if self.flavour == "v1.5" else ""
        return f"{name}={kind}@{station.endpoint},dialect={dialect},mailbox=identity{key}"

    # The thread.

    def _run(self):
        while True:
            wait = max(0, self._due[0][0] - time.monotonic()) if self._due else 10
            for socket, _ in self._poller.poll(wait * 1000):
                handler = self._handlers.get(socket)
                if handler:
                    self._try(handler)
                elif socket == self._wake[0]:
                    os.read(socket, 4096)
            while self._due and self._due[0][0] <= time.monotonic():
                _, _, function, args = heapq.heappop(self._due)
                self._try(function, *args)
            while not self._calls.empty():
                call = self._calls.get()
                if call is None:
                    return
                future, function, args = call
                try:
                    future.set_result(function(*args))
                except BaseException as failure:    # the caller's, then
                    future.set_exception(failure)

    def _try(self, function, *args):
        try:
            function(*args)
        except Exception as failure:
            self._failures.append(failure)

    def do(self, function, *args):
        """In the thread, whoever asks; its result."""
        if threading.current_thread() is self._thread:
            return function(*args)
        future = Future()
        self._calls.put((future, function, args))
        os.write(self._wake[1], b"x")
        return future.result(WAIT)

    def later(self, seconds, function, *args):
        if seconds <= 0:
            function(*args)
        else:
            due = (time.monotonic() + seconds, next(self._order), function, args)
            heapq.heappush(self._due, due)

    def watch(self, socket, handler):
        self._handlers[socket] = handler
        self._poller.register(socket, zmq.POLLIN)

    def unwatch(self, socket):
        if self._handlers.pop(socket, None):
            self._poller.unregister(socket)

    def bound(self, kind, port):
        socket = CONTEXT.socket(kind)
        socket.linger = 0
        end = time.monotonic() + 5
        while True:
            try:
                socket.bind(f"tcp://127.0.0.1:{port}")
                return socket
            except zmq.ZMQError as error:       # of the socket that was here before
                if error.errno != zmq.EADDRINUSE or time.monotonic() > end:
                    socket.close()
                    raise
                time.sleep(0.02)

    def close(self):
        if not self._thread:
            return
        thread, self._thread = self._thread, None
        self._calls.put((Future(), self.close_all, ()))
        self._calls.put(None)
        os.write(self._wake[1], b"x")
        thread.join(WAIT)
        assert not thread.is_alive(), "the fake center hangs"
        os.close(self._wake[0])
        os.close(self._wake[1])
        if self._failures:
            raise self._failures[0]

    # What the center does; all of it in the thread.

    def next_id(self):
        return next(self._ids)

    def open_all(self):
        self._hosts = None
        self.events = self.bound(zmq.PUB, self.port + 1)
        self.manage.open()
        for station in self.stations.values():
            if station.state != STATE.STOP:
                station.open()
        self.emit(EVENT.START, "", title="system")
        self._due = []
        self.later(self.noise_s, self.sound_off)

    def close_all(self):
        self._due = []
        self.manage.close()
        for station in self.stations.values():
            station.close()
        if self.events:
            self.events.close()
        self.events = None

    def host_list(self):
        if self._hosts is None:
            base = [Station(self, "PlanDispatcher", "plan"), Station(self, "SystemManage",
                                                                     "dispatcher")]
            base[1].port = self.port
            if self.flavour == "seed":
                base += [Station(self, name, "pub") for name in ("HealthCenter", "RemoteLog")]
            everybody = sorted([*base, *self.stations.values()], key=lambda one: one.name)
            self._hosts = ("[" + ",".join(json.dumps(one.config(), ensure_ascii=False)
                                          for one in everybody) + "]").encode()
        return self._hosts

    def emit(self, event, sub, content=None, title="station"):
        """A publication of SystemManage."""
        if not self.events:
            return
        text = [] if content is None else [json.dumps(content, ensure_ascii=False).encode()]
        if self.flavour == "seed":      # the content is declared, and never sent
            desc = bytes([1 + len(text), event, FT.REQUESTER, *[FT.CONTENT] * len(text), 0])
            self.events.send_multipart([b"zero_event", desc, sub.encode()])
            return
        kind = FT.COMMAND if self.flavour == "v1.5" else FT.SUBTITLE
        end = event if self.flavour == "v1.5" and not text else 0
        desc = bytes([1 + len(text), event, kind, *[FT.CONTENT] * len(text), end])
        self.events.send_multipart([title.encode(), desc, sub.encode(), *text])

    def sound_off(self):
        """Every second or two: workers are to say that they live, and every station's counters."""
        self.emit(EVENT.SOUND_OFF, "", title="worker")
        for station in list(self.stations.values()):
            self.emit(STATE_EVENT[self.flavour], station.name,
                      {"name": station.name, "station_state": station.state})
        self.later(self.noise_s, self.sound_off)

    def add(self, name, kind):
        self._hosts = None
        self.stations[name] = Station(self, name, kind)
        self.emit(EVENT.INSTALL, name, self.stations[name].config())
        return self.stations[name]

    # For the test.

    def start(self):
        """Again, after stop, on the same ports."""
        self.do(self.open_all)

    def stop(self):
        """The whole process: SystemManage and every station."""
        self.do(self.close_all)
        wait_closed(self.port, *(station.port for station in self.stations.values()))

    def install(self, name, kind="api", started=True):
        """Install a station while the center runs; and start it."""
        station = self.do(self.add, name, kind)
        if started:
            station.start()
        return station

    def remove(self, name):
        """Uninstall a station. The seed keeps it in its list, in that state."""
        def remove():
            station = self.stations[name]
            station.close()
            self._hosts = None
            if self.flavour == "seed":
                station.state = STATE.STOP
            else:
                del self.stations[name]
            self.emit(REMOVE_EVENT[self.flavour], name)
        self.do(remove)

    def reinstall(self, name):
        """The same name on other ports."""
        kind = self.stations[name].kind
        self.remove(name)
        self.do(self.stations.pop, name, None)
        return self.install(name, kind)


class FalseCenter(FakeCenter):
    """Takes every question for `host *`, and says what the test makes it say; None is nothing."""

    def __init__(self, answer=None):
        self.answer = answer        # the parts behind the caller
        super().__init__("master")
        self.noise_s = 3600

    def open_all(self):
        super().open_all()
        self.unwatch(self.manage.socket)
        self.watch(self.manage.socket, self._on_question)

    def _on_question(self):
        parts = self.manage.socket.recv_multipart()
        self.seen.append(Received("SystemManage", parts))
        self.asked.append(time.monotonic())
        if self.answer is not None:
            self.manage.socket.send_multipart([parts[0], *self.answer])


# -- a station that knows them


def stations(rig):
    """`station list`: name -> the rest."""
    reply = rig.client.manage("station", "list")
    assert reply.code == ST.OK, reply
    assert KEY not in b"".join(reply.frames)
    return {one.pop("name"): one for one in reply.json["stations"]}


def wait_connected(rig, *names):
    def connected():
        listed = stations(rig)
        return all(name in listed and listed[name]["connected"] for name in names)
    wait_until(connected, f"{names} are connected")


def wait_lost(rig, name):
    wait_until(lambda: not stations(rig)[name]["connected"], f"{name} is known to be away")
