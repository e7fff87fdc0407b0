"""Clients and workers in other languages (tests/clients), against the real stations.

They are written from proto/ alone, so what they do wrong is wrong there as well.
"""
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading

import pytest
import zmq

from zplanprocs import DIES_WITH_PARENT, REPO, WAIT, Redis, Zpland
from zplantest import CMD, CONTEXT, FT, ST, FakeTarget, pack
from zstationtest import BIN, BYE, CANCEL, JOIN, LEFT, PITPAT, READY, WAITING

CLIENTS = os.path.join(REPO, "tests", "clients")
NODE = shutil.which("nodejs") or shutil.which("node") or "nodejs"
CLIENT = {"python": ["/usr/bin/python3", "zplan_client.py"], "node": [NODE, "client.js"]}
WORKER = {"python": ["/usr/bin/python3", "zplan_worker.py"], "node": [NODE, "worker.js"],
          "python-long": ["/usr/bin/python3", "zplan_long_worker.py"]}
JOINS = {"python": [b"w1"]}     # the others tell how many jobs at once, and that they obey a cancel
CANCELS = sorted(set(WORKER) - set(JOINS))
THRICE = {"description": "hello", "plan_type": "second", "plan_value": 2, "plan_repet": 3}


class Program:
    """A started program whose lines are waited for."""

    def __init__(self, *args):
        self.process = subprocess.Popen(
            [*DIES_WITH_PARENT, *args], cwd=CLIENTS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.lines, self.seen = queue.Queue(), []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip())
        self.lines.put(None)

    def line(self):
        """The next line; None at the end."""
        line = self.lines.get(timeout=3 * WAIT)
        self.seen.append(line)
        return line

    def line_with(self, text):
        while True:
            line = self.line()
            assert line is not None, self.seen
            if text in line:
                return line

    def rest(self):
        """(exit code, the lines up to the end)"""
        lines = list(iter(self.line, None))
        return self.process.wait(WAIT), lines

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WAIT)
        self.reader.join(WAIT)
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join(WAIT)
        self.process.stdout.close()


class Stations:
    """A real zpland with its Redis, and a real zstationd, in a folder of their own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="zc", dir="/tmp")     # an ipc path must be short
        self.programs = []
        self.redis = Redis(os.path.join(self.folder, "r"))
        self.zpland = Zpland(os.path.join(self.folder, "log"), [
            "--request", self.ipc("q"), "--publish", self.ipc("p"), "--events", self.ipc("e"),
            "--redis", "unix:" + self.redis.socket, "--station", "jobs=api@" + self.ipc("j")])
        self.target = None

    def ipc(self, name):
        return f"ipc://{self.folder}/{name}"

    def start(self):
        self.redis.start()
        self.start_target()
        self.zpland.start()
        return self

    def start_target(self):
        self.target = self.program(
            BIN / "zstationd", "--name", "jobs", "--type", "api", "--request", self.ipc("j"),
            "--workers", self.ipc("w"), "--plan", self.ipc("q"))
        self.target.line_with("ready")

    def program(self, *args):
        self.programs.append(Program(*args))
        return self.programs[-1]

    def worker(self, language):
        """A worker that the target knows."""
        worker = self.program(*WORKER[language], self.ipc("w"), language)
        self.target.line_with(f"event=worker.joined worker={language}")
        return worker

    def client(self, language, plan=None, station="jobs", command="greet"):
        plan = json.dumps(THRICE) if plan is None else plan
        return self.program(*CLIENT[language], self.ipc("q"), self.ipc("p"), station, command,
                            "world", plan)

    def close(self):
        try:
            for program in self.programs:
                program.kill()
            self.zpland.stop()
        finally:
            self.zpland.reap()
            self.redis.kill()
            shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def stations():
    made = Stations()
    try:
        yield made.start()
    finally:
        made.close()


def test_python_client_and_worker_are_short():
    lines = 0
    for name in ("zplan_client.py", "zplan_worker.py"):
        with open(os.path.join(CLIENTS, name), encoding="utf-8") as source:
            lines += len(source.readlines())
    assert lines < 62


@pytest.mark.parametrize("worker", WORKER)
@pytest.mark.parametrize("client", CLIENT)
def test_a_plan_is_submitted_run_and_told(stations, client, worker):
    """B089: A worker in Python, and one in JavaScript."""
    working = stations.worker(worker)
    told = stations.client(client)
    assert told.line().startswith("accepted as "), told.seen
    code, lines = told.rest()
    # The last one in any case; an earlier one may come before the subscription stands.
    assert code == 0 and lines and set(lines) == {"ok: hello world"} and len(lines) <= 3, lines
    assert working.stop() == 0
    stations.target.line_with(f"event=worker.lost worker={worker} what=\"has left\"")


@pytest.mark.parametrize("client, worker", [("python", "node"), ("node", "python")])
def test_a_failure_is_told_in_words(stations, client, worker):
    stations.worker(worker)
    told = stations.client(client, command="burn")
    assert told.line().startswith("accepted as ")
    assert told.line() == "failed: -failed: only greet"


@pytest.mark.parametrize("client", CLIENT)
@pytest.mark.parametrize("what, reason", [
    ({"station": "nowhere"}, "rejected: -no find: "),
    ({"plan": '{"plan_type": "second", "plan_value": 40000, "plan_repet": 3}'},
     "rejected: -plan error: plan_value: want 0..32766, got 40000"),
    ({"plan": "{"}, "rejected: -plan error: "),
    ({"command": ""}, "rejected: -plan error: COMMAND")])
def test_a_refusal_is_shown_in_words(stations, client, what, reason):
    code, lines = stations.client(client, **what).rest()
    assert code == 1 and len(lines) == 1 and lines[0].startswith(reason), lines


@pytest.mark.parametrize("worker", WORKER)
def test_a_restarted_target_gets_its_worker_back(stations, worker):
    working = stations.worker(worker)
    stations.target.kill()
    stations.start_target()
    stations.target.line_with(f"event=worker.joined worker={worker}")
    code, lines = stations.client("python").rest()
    assert code == 0 and lines[-1] == "ok: hello world", lines
    assert working.process.poll() is None


# -- the conversation of proto/targets.md 7.7, with a target played by the test


class Played(FakeTarget):
    """The workers' port, on a TCP port of its own."""

    def open(self):
        self.socket = CONTEXT.socket(zmq.ROUTER)
        self.socket.linger = 0
        port = self.socket.bind_to_random_port("tcp://127.0.0.1")
        self.endpoint = f"tcp://127.0.0.1:{port}"

    def hear(self, *codes):
        """The next [peer][desc][frames] with one of these codes; signs of life are passed over."""
        while True:
            assert self.socket.poll(WAIT * 1000), f"none of {codes}"
            peer, first, *frames = self.socket.recv_multipart()
            if first[:1] == b"*" or first[1] in codes:
                return peer, first, frames
            assert first[1] in (JOIN, PITPAT), first

    def say(self, peer, code, pairs=(), mailbox=()):
        self.socket.send_multipart([peer, *mailbox, *pack(code, pairs)])


@pytest.fixture
def played():
    target = Played(None)
    yield target
    target.close()


@pytest.mark.parametrize("worker", WORKER)
def test_what_a_worker_says(played, worker):
    program = Program(*WORKER[worker], played.endpoint, "w1")
    try:
        peer, desc, frames = played.hear(JOIN)
        joins = JOINS.get(worker, [b"w1", b"1", b"cancel"])
        assert desc == bytes([len(joins), JOIN, *[FT.ARG] * len(joins), 0]) and frames == joins
        played.say(peer, ST.ARG_ERROR, [(FT.STATUS, b"-argument: not today")])
        assert "-argument: not today" in program.line()     # in words, and it asks again
        assert played.hear(JOIN)[0] == peer
        played.say(peer, ST.OK)
        assert played.hear(READY)[2] == [b"w1"]
        for _ in range(2):                                  # it stays alive with nothing to do
            played.hear(PITPAT)
            played.say(peer, ST.OK)
        played.say(peer, ST.NOT_FIND)                       # the target does not know it any more
        played.hear(JOIN)
        played.say(peer, ST.OK)
        played.hear(READY)
        job = [(FT.COMMAND, b"greet"), (FT.ARG, "wörld".encode() * 100), (FT.PLAN, b"{}"),
               (FT.LOCAL_ID, b"of the client"), (FT.LOCAL_ID, b"5f")]
        played.say(peer, CMD.PROXY, job, mailbox=[b"*2a\0\xff"])
        _, mailbox, (desc, *frames) = played.hear()
        assert (mailbox, desc) == (b"*2a\0\xff", bytes([2, ST.OK, FT.CONTENT, FT.LOCAL_ID, 0]))
        assert frames == ["hello ".encode() + "wörld".encode() * 100, b"5f"]
        played.hear(READY)
        program.process.send_signal(signal.SIGTERM)
        played.hear(LEFT)
        played.say(peer, BYE)
        assert program.process.wait(WAIT) == 0
    finally:
        program.kill()


LONG_JOB = [(FT.COMMAND, b"wait"), (FT.ARG, b"1000"), (FT.LOCAL_ID, b"5f")]


@pytest.fixture
def at_it(played):
    """Starts a worker that has a long job in hand: (program, peer)."""
    programs = []

    def start(worker):
        programs.append(Program(*WORKER[worker], played.endpoint, "w1"))
        peer, *_ = played.hear(JOIN)
        played.say(peer, ST.OK)
        played.hear(READY)
        played.say(peer, CMD.PROXY, LONG_JOB, mailbox=[b"*2a"])
        _, mailbox, (desc, *_) = played.hear()
        assert (mailbox, desc[1]) == (b"*2a", WAITING)
        return programs[-1], peer

    yield start
    for program in programs:
        program.kill()


def answered(played):
    """The next message for a job that is no sign of life: (code, frames)."""
    while True:
        _, mailbox, (desc, *frames) = played.hear()
        assert mailbox == b"*2a"
        if desc[1] != WAITING:
            return desc[1], frames


@pytest.mark.parametrize("worker", CANCELS)
def test_a_cancelled_job_is_ended_and_the_next_one_asked_for(played, at_it, worker):
    program, peer = at_it(worker)
    for number, mailbox in ((b"60", b"*2a"), (b"5f", b"*2b")):      # neither is its job
        played.say(peer, CANCEL, [(FT.LOCAL_ID, number)], mailbox=[mailbox])
    _, _, (desc, *_) = played.hear()
    assert desc[1] == WAITING
    played.say(peer, CANCEL, [(FT.STATUS, b"by ann"), (FT.LOCAL_ID, b"5f")], mailbox=[b"*2a"])
    assert answered(played) == (ST.FAILED, [b"-failed: cancelled", b"5f"])
    played.hear(READY)
    played.say(peer, CANCEL, [(FT.LOCAL_ID, b"5f")], mailbox=[b"*2a"])      # late
    played.say(peer, CMD.PROXY, [(FT.COMMAND, b"greet"), (FT.ARG, b"you"), (FT.LOCAL_ID, b"61")],
               mailbox=[b"*2a"])
    assert answered(played) == (ST.OK, [b"hello you", b"61"])
    assert program.process.poll() is None


@pytest.mark.parametrize("worker", WORKER)
def test_a_drained_worker_leaves_and_ends(stations, worker):
    working = stations.worker(worker)
    ended = subprocess.run([BIN / "zplan", "--connect", stations.ipc("j"), "drain", worker],
                           capture_output=True, text=True, timeout=WAIT, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"worker {worker} drains (1)\n"), ended.stderr
    stations.target.line_with(f"event=worker.lost worker={worker} what=\"has left\"")
    assert working.process.wait(WAIT) == 0


@pytest.mark.parametrize("worker", CANCELS)
def test_a_drained_worker_ends_its_job_first(played, at_it, worker):
    program, peer = at_it(worker)
    played.say(peer, BYE)
    for _ in range(2):
        _, _, (desc, *_) = played.hear()
        assert desc[1] == WAITING       # it is still at it
    played.say(peer, CANCEL, [(FT.LOCAL_ID, b"5f")], mailbox=[b"*2a"])
    assert answered(played)[0] == ST.FAILED
    played.hear(LEFT)       # and no READY
    played.say(peer, BYE)
    assert program.process.wait(WAIT) == 0


@pytest.mark.parametrize("worker", WORKER)
def test_a_worker_whose_target_is_gone_can_be_ended(played, worker):
    program = Program(*WORKER[worker], played.endpoint, "w1")
    try:
        played.say(played.hear(JOIN)[0], ST.OK)
        played.hear(READY)
        played.close()
        assert program.stop() == 0
    finally:
        program.kill()


def test_the_clients_are_the_ones_of_the_rows():
    """Every program of the folder is started by a test above or by test_pull.py, or is a part of one."""
    parts = {"zmtp.js", "message.js", "zplan_pull_worker.py"}
    programs = {command[1] for command in (*CLIENT.values(), *WORKER.values())}
    assert {name for name in os.listdir(CLIENTS) if not name.startswith("__")} == parts | programs
