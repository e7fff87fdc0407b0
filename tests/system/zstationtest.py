"""A zstationd under test: raw frames from a second implementation of the wire, and its `zplan work`."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
import zmq

from zplanprocs import WAIT

BIN = Path(os.environ.get("ZPLAN_BIN_DIR", Path(__file__).resolve().parents[2] / "build"))
WAIT_S = WAIT

NONE, PROXY, PING, JOIN, READY, PITPAT, LEFT = 1, 3, 0x2A, 0x4A, 0x52, 0x50, 0x4C
CANCEL = 0x2D       # CLOSE_REQUEST
OK, RUNING, BYE, WAITING, FAILED = 1, 3, 4, 0x22, 0x82
VOTE_SENDED, VOTE_BYE, VOTE_START, VOTE_END, VOTE_CLOSED = 0x20, 0x21, 0x23, 0x24, 0x25
NOT_FIND, NOT_SUPPORT, INVALID, NOT_WORKER, ARGUMENT = 0x83, 0x84, 0x85, 0x88, 0x89
GLOBAL_ID, STATUS, REQUEST_ID, PLAN, PLAN_TIME, LOCAL_ID = 1, 3, 4, 5, 6, 8
COMMAND, ARG, CONTENT, BIN_TYPE, TITLE, CONTEXT, REQUESTER, RESPONSER, JSON = b"$%TB*#><J"


def pack(code, *pairs):
    """[desc][frames] of (type, bytes) pairs."""
    types = bytes(pair[0] for pair in pairs)
    return [bytes([len(pairs), code]) + types + b"\0", *(pair[1] for pair in pairs)]


class Answer:
    """A message with its envelope taken apart."""

    def __init__(self, frames):
        at = 0 if len(frames[0]) > 1 and frames[0][0] == len(frames) - 1 else 1
        self.sender = frames[0] if at else None
        self.desc, self.frames = frames[at], frames[at + 1:]
        self.code, self.types = self.desc[1], self.desc[2:2 + self.desc[0]]
        assert self.desc[0] == len(self.frames)

    def get(self, type_):
        return self.frames[self.types.index(type_)] if type_ in self.types else None

    @property
    def status(self):
        return (self.get(STATUS) or b"").decode()


class Peer:
    """A socket whose receive always ends."""

    def __init__(self, context, type_, endpoint, identity=None):
        self.socket = context.socket(type_)
        self.socket.linger = 0
        if identity:
            self.socket.identity = identity
        if type_ == zmq.SUB:
            self.socket.subscribe(b"")
        self.socket.connect(endpoint)

    def send(self, *frames):
        self.socket.send_multipart(frames)

    def poll(self, timeout_s):
        return self.socket.poll(timeout_s * 1000)

    def raw(self):
        assert self.poll(WAIT_S), "no message came"
        return self.socket.recv_multipart()

    def recv(self):
        return Answer(self.raw())

    def ask(self, *frames):
        self.send(*frames)
        return self.recv()

    def settle(self):
        """Returns when the station has handled everything sent before, and nothing else came."""
        answer = self.ask(*pack(PING, (REQUEST_ID, b"settle")))
        assert answer.code == OK and answer.sender is None


class Worker(Peer):
    def __init__(self, context, endpoint, name=b"w", credits=1, identity=None, jobs=None,
                 cancel=False):
        super().__init__(context, zmq.DEALER, endpoint, identity)
        at_once = [(ARG, b"%d" % (jobs or 1))] if jobs or cancel else []
        at_once += [(ARG, b"cancel")] if cancel else []
        assert self.ask(*pack(JOIN, (ARG, name), *at_once)).code == OK
        for _ in range(credits):
            self.ready()
        self.settle()

    def ready(self):
        self.send(*pack(READY, (ARG, b"w")))

    def answer(self, job, code, *pairs):
        self.send(job.sender, *pack(code, *pairs))


class Station:
    """A running zstationd in a folder of its own."""

    def __init__(self, folder, context):
        self.folder, self.context = folder, context
        self.process, self.peers = None, []

    def endpoint(self, name):
        return f"ipc://{self.folder}/{name}"

    def start(self, *options, type_="api", grace="0"):
        """Its end waits for jobs in hand only with a `grace`; None = its own."""
        second = "publish" if type_ == "pub" else "workers"
        self.process = subprocess.Popen(
            [BIN / "zstationd", "--name", "jobs", "--type", type_, "--request",
             self.endpoint("request"), f"--{second}", self.endpoint(second),
             *(["--grace", grace] if grace else []), *options],
            stdout=subprocess.PIPE, stderr=open(self.folder / "log", "ab"), text=True)
        assert self.process.stdout.readline() == "ready\n", self.log()
        return self

    def log(self):
        return (self.folder / "log").read_text()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(WAIT_S) == 0, self.log()

    def count(self, name):
        """A counter, told at the end."""
        self.stop()
        line = [x for x in self.log().splitlines() if "event=counts" in x][-1]
        return int(dict(x.split("=", 1) for x in line.split())[name])

    def peer(self, type_=zmq.DEALER, endpoint="request", identity=None):
        self.peers.append(Peer(self.context, type_, self.endpoint(endpoint), identity))
        return self.peers[-1]

    def worker(self, *args, **kwargs):
        self.peers.append(Worker(self.context, self.endpoint("workers"), *args, **kwargs))
        return self.peers[-1]


@pytest.fixture
def station():
    folder = Path(tempfile.mkdtemp(prefix="zst", dir="/tmp"))
    context = zmq.Context()
    made = Station(folder, context)
    yield made
    try:
        made.stop()
    finally:
        if made.process and made.process.poll() is None:
            made.process.kill()
        context.destroy(linger=0)
        log = made.log() if (folder / "log").exists() else ""
        shutil.rmtree(folder)
        assert "ERROR: AddressSanitizer" not in log and "runtime error" not in log, log


def a_run(plan_id=b"a1", *more, command=b"close", local_id=b"5f", deadline=None, at=None):
    """Runs with different numbers are of different times, unless `at` says otherwise."""
    plan = {"plan_id": int(plan_id, 16), "description": "Title", "exec_id": int(local_id, 16)}
    if deadline is not None:
        plan["deadline"] = deadline
    return [b"*" + plan_id, *pack(PROXY, (COMMAND, command), *more, (PLAN, json.dumps(plan).encode()),
                                  (PLAN_TIME, b"%d" % (at or 1700000000 - 0x5f + int(local_id, 16))),
                                  (LOCAL_ID, local_id),
                                  (GLOBAL_ID, plan_id))]


def a_call(*more):
    return pack(NONE, (COMMAND, b"sum"), *more)


# -- zplan work


class Work:
    """`zplan work` with a shell script, which has time to end only with a `grace`; None = its own."""

    def __init__(self, station, script, *options, env=None, grace="0", wrap=()):
        path = station.folder / f"script{len(list(station.folder.glob('script*')))}.sh"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        self.process = subprocess.Popen(
            [*wrap, BIN / "zplan", "work", "--station", station.endpoint("workers"), "--name", "sh",
             *(["--grace", grace] if grace else []), *options, "--", path, "one two", "$x"],
            stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})

    def joined(self):
        assert "joined" in self.process.stderr.readline()
        return self

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(WAIT_S)


@pytest.fixture
def work(station):
    made = []

    def start(*args, **kwargs):
        made.append(Work(station, *args, **kwargs))
        return made[-1].joined()

    yield start
    for one in made:
        try:
            code = one.end()
        finally:
            one.process.kill()
        error = one.process.stderr.read()
        assert "AddressSanitizer" not in error and "runtime error" not in error, error
        assert code in (0, 1), error
