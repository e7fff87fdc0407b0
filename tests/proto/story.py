"""Plays a story (proto/README.md 17): the client and the targets say what was recorded, and the
station must say the same again, but for what another recording may have otherwise."""
import json
import os
import re
import shutil
import tempfile
import time

import redis
import zmq

from client import (ERROR_FLAG, GLOBAL_ID, LOCAL_ID, OK, PING, PLAN_TIME, STATUS, Client, Message,
                    new_socket)
from zplanprocs import WAIT, Redis, Zpland, wait_until

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto/vectors")
TIMES = {"plan_time", "exec_time", "add_time", "deadline", "fired", "ended", "nominal", "next"}
BOUND = {"exec_id", "revision", "poll", "epoch"}
MADE_ID = re.compile(r"[0-9a-f]{16}")        # of a plan that the station makes
RECORDED = range(1795000000, 1796000000)    # the seconds in which the stories were recorded


def vectors(name):
    with open(os.path.join(VECTORS, name), encoding="utf-8") as file:
        return json.load(file)


def frame_of(value):
    return value["text"].encode() if isinstance(value, dict) else bytes.fromhex(value)


def frames_of(values):
    return [frame_of(value) for value in values]


def made_in_the_recording(name, value):
    """The time of a body, or an entry of the history that has an id of Redis: its milliseconds."""
    if name == "timestamp":
        return isinstance(value, str)
    entry = name in ("entry", "first", "last") and re.fullmatch(r"(\d{13})(-0)?", str(value))
    return entry and int(entry[1]) // 1000 in RECORDED


class Differs(AssertionError):
    pass


class Recording:
    """Compares with a recording. What may be another value is bound to the one that came first."""

    def __init__(self):
        self.got = {}

    def same(self, where, want, got):
        if want != got:
            raise Differs(f"{where}: want {want!r}, got {got!r}")

    def bind(self, where, want, got):
        self.same(where + ", a value that came before", self.got.setdefault(want, got), got)
        if isinstance(want, int):   # exec_id as LOCAL_ID
            self.got[f"{want:x}"] = f"{got:x}"
            self.got[f"*{want:x}"] = f"*{got:x}"

    def value(self, where, want, got, name=""):
        """A JSON value; `name` is the field that it stands in."""
        number = isinstance(want, (int, float)) and not isinstance(want, bool)
        if name in TIMES and number and int(want) in RECORDED:
            self.same(where, type(want), type(got))
        elif name in BOUND and want:
            self.same(where, type(want), type(got))
            self.bind(where, want, got)
        elif name == "plan_id" and want in self.got:
            self.bind(where, want, got)
        elif isinstance(want, str) and isinstance(got, str) and MADE_ID.fullmatch(want):
            self.bind(where, int(want, 16), int(got, 16))
        elif made_in_the_recording(name, want):
            self.same(where, type(want), type(got))
        elif name == "stopped":
            self.same(where, *(text.split(" at ")[0] for text in (want, got)))
        elif name in ("endpoint", "text"):      # of a target: the endpoint is in both
            self.same(where, str, type(got))
        elif isinstance(want, dict) and isinstance(got, dict):
            order = sorted if name == "votes" else list
            self.same(where + " fields", order(want), order(got))
            for key in want:
                self.value(f"{where}.{key}", want[key], got[key], key)
        elif isinstance(want, list) and isinstance(got, list):
            self.same(where + " length", len(want), len(got))
            for index, item in enumerate(want):
                self.value(f"{where}[{index}]", item, got[index], name)
        elif isinstance(want, str) and isinstance(got, str):
            self.text(where, want, got)
        else:
            self.same(where, want, got)

    def text(self, where, want, got):
        """A text that may be JSON, or an exec_id in hex that came before."""
        if want[:1] in ("{", "[") and want != got:
            try:
                want, got = json.loads(want), json.loads(got)
            except ValueError:
                self.same(where, want, got)
            self.value(where, want, got)
        else:
            self.same(where, self.got.get(want.rstrip("\0"), want.rstrip("\0")), got.rstrip("\0"))

    def frame(self, where, kind, want, got):
        if kind == STATUS and want[:1] in b"+-" and want:
            self.same(where, *self.said([want]), got)    # also the reason, which is this station's own
        elif kind == PLAN_TIME and int(want) in RECORDED:
            self.same(where, True, got.isdigit())
        elif kind in (LOCAL_ID, GLOBAL_ID) and re.fullmatch(rb"[0-9a-f]{13}|[0-9a-f]{16}", want):
            self.bind(where, int(want, 16), int(got, 16))
        elif want != got:
            try:
                texts = want.decode(), got.decode()
            except UnicodeDecodeError:
                self.same(where, want, got)
            self.text(where, *texts)

    def message(self, where, want, got, before):
        """Frames, `before` of them in front of the description."""
        self.same(where + " envelope and description", want[:before + 1], got[:before + 1])
        self.same(where + " frames", len(want), len(got))
        for index, kind in enumerate(want[before][2:2 + want[before][0]]):
            at = before + 1 + index
            self.frame(f"{where} frame {index + 1}", kind, want[at], got[at])

    def answer(self, where, command, want, got):
        """What Redis says."""
        if command.startswith("ZSCORE plan:wait") and want:
            self.same(where, True, got is not None and float(got) > 0)
        elif command.startswith("ZSCORE") and want and int(float(want)) in RECORDED:
            self.same(where, True, got is not None and float(got) > 0)
        elif command.startswith("HGET plan:run") and want:
            (run, revision), (got_run, got_revision) = want.split(" "), got.split(" ")
            self.same(where, run.strip("0123456789"), got_run.strip("0123456789"))
            self.bind(where, int(run.strip("?+")), int(got_run.strip("?+")))
            self.bind(where, int(revision), int(got_revision))
        elif command.startswith("XREVRANGE"):
            for (entry, fields), (got_entry, got_fields) in zip(want, got, strict=True):
                # p, s, t, r: the record is not of this length again, its numbers may be shorter.
                self.same(where, (entry, fields[:5]), (got_entry, got_fields[:5]))
        elif command.startswith("HGETALL"):
            fields = [dict(zip(pairs[::2], pairs[1::2])) for pairs in (want, got)]
            self.value(where, *fields, "votes")
        else:
            self.value(where, want, got)

    def said(self, frames):
        """What is said in this playing in the place of what was recorded."""
        out = []
        for frame in frames:
            for want, got in self.got.items():
                frame = frame.replace(str(want).encode(), str(got).encode())
            out.append(frame)
        return out


class Stage:
    """A fresh station with an empty Redis, the story's targets, a client and two subscribers."""

    def __init__(self, story):
        self.folder = tempfile.mkdtemp(prefix="zp", dir="/tmp")
        self.redis = Redis(os.path.join(self.folder, "r"))
        self.sockets, self.peers = {}, {}
        args = ["--redis", "unix:" + self.redis.socket, "--dialect", story["dialect"]]
        for name in ("request", "publish", "events"):
            args += ["--" + name, self.ipc(name)]
        for text in story["stations"]:
            name, kind, *options = re.fullmatch(r"(\w+)=(\w+)(,.*)?", text).groups(default="")
            self.sockets[name] = new_socket(zmq.ROUTER)
            self.sockets[name].bind(self.ipc(name))
            args += ["--station", f"{name}={kind}@{self.ipc(name)}{options[0]}"]
        self.station = Zpland(os.path.join(self.folder, "log"), args + story.get("options", []))

    def ipc(self, name):
        return f"ipc://{self.folder}/{name}"

    def open(self):
        self.redis.start()
        self.db = self.redis.client()
        self.db.response_callbacks.clear()
        self.station.start()
        for name in ("publish", "events"):
            self.sockets[name] = new_socket(zmq.SUB)
            self.sockets[name].subscribe(b"")
            self.sockets[name].connect(self.ipc(name))
        self.sockets["request"] = new_socket(zmq.DEALER)
        self.sockets["request"].identity = b"client-1"
        self.sockets["request"].connect(self.ipc("request"))
        other = Client(self.ipc("request"), WAIT)
        wait_until(lambda: all(target["connected"] for target in
                               other.manage("station", "list")["stations"]), "the targets")
        for _ in range(5):      # the subscriptions are on their way; what is sent later, behind
            time.sleep(0.05)
            other.ask(PING)
        other.socket.close()
        return self

    def close(self):
        try:
            for socket in self.sockets.values():
                socket.close()
            self.station.stop()
        finally:
            self.station.reap()
            self.redis.kill()
            shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, name, frames):
        self.sockets[name].send_multipart([*self.peers.get(name, []), *frames])

    def receive(self, name):
        socket = self.sockets[name]
        assert socket.poll(int(WAIT * 1000)), f"nothing from {name}"
        frames = socket.recv_multipart()
        if socket.type == zmq.ROUTER:
            self.peers[name], frames = frames[:1], frames[1:]
        return frames

    def ask_redis(self, command):
        def shown(value):
            if isinstance(value, list):
                return [shown(item) for item in value]
            return value.decode(errors="replace") if isinstance(value, bytes) else value
        return shown(self.db.execute_command(*command.split()))


def envelope_size(frames):
    """Frames in front of the description, as README 3.3 tells them."""
    return 0 if len(frames[0]) >= len(frames) + 1 and frames[0][0] == len(frames) - 1 else 1


def names_and_types(value):
    if isinstance(value, dict):
        return {key: names_and_types(item) for key, item in value.items()}
    return type(value)


def play(story, stage):
    recording = Recording()
    for index, step in enumerate(story["steps"]):
        where = f"step {index + 1} ({step.get('note', step['from'])})"
        frames = frames_of(step["frames"])
        before = envelope_size(frames)
        if step["from"] != "station":
            stage.send(step["socket"], recording.said(frames))
        elif step.get("compare") == "names":
            got = Message.read(stage.receive(step["socket"]), before)
            want = Message.read(frames, before)
            assert names_and_types(json.loads(want.frames[-1][1])) == \
                names_and_types(json.loads(got.frames[-1][1])), where
        else:
            recording.message(where, frames, stage.receive(step["socket"]), before)
        for asked in step.get("redis", []):
            compare_redis(recording, stage, f"{where}: {asked['command']}", asked)


def compare_redis(recording, stage, where, asked):
    """Redis is asked until it answers as it did: what a target said takes its time."""
    end = time.monotonic() + WAIT
    while True:
        known = dict(recording.got)
        try:
            return recording.answer(where, asked["command"], asked["answer"],
                                    stage.ask_redis(asked["command"]))
        except (Differs, TypeError, ValueError, AttributeError):
            recording.got = known
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
