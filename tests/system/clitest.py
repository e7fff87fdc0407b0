"""What the tests of the command line share: starting it, and stations and publishers played by the
test."""
import base64
import fcntl
import fnmatch
import itertools
import json
import os
import pathlib
import pty
import queue
import re
import select
import struct
import subprocess
import termios
import threading
import time
import unicodedata

import pytest
import zmq

from zplantest import WAIT, Rig, later, wait_until

REPO = pathlib.Path(__file__).resolve().parents[2]
ZPLAN = os.path.join(os.environ.get("ZPLAN_BIN_DIR", REPO / "build" / "src"), "zplan")

DONE, REFUSED, USAGE, NO_ANSWER = 0, 1, 2, 3

END, GLOBAL_ID, STATION_ID, STATUS, REQUEST_ID, PLAN, PLAN_TIME = 0, 1, 2, 3, 4, 5, 6
COMMAND, ARG, CONTENT, JSON, CONTEXT = b"$%TJ#"
PUB_TITLE, SUBTITLE, BIN = b"*@B"


def policy_fields():
    """All that a plan may say beyond the fields of the plan document."""
    table = (REPO / "src/plan/rules/policy_fields.def").read_text()
    fields = set(re.findall(r"^FIELD \((\w+),", table, re.MULTILINE))
    assert "key" in fields
    return fields


def describe(code, *types):
    return bytes([len(types), code, *types, END])


def start(*args, **options):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ZPLAN_")}
    env.update(options.pop("env", {}))
    return subprocess.Popen([ZPLAN, *args], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=options.pop("stdin", subprocess.DEVNULL), **options)


class Ended:
    def __init__(self, process):
        out, err = process.communicate(timeout=WAIT)
        self.code, self.out, self.err = process.returncode, out.decode(), err.decode()

    def done(self):
        assert (self.code, self.err) == (DONE, ""), self.err
        return self.out

    def failed(self, code):
        assert (self.code, self.out) == (code, ""), (self.code, self.out, self.err)
        return self.err


def zplan(*args, **options):
    return Ended(start(*args, **options))


class Terminal:
    """zplan on a terminal of so many columns. It is stdin, stdout and stderr unless
    something else is given."""

    def __init__(self, *args, columns=80, rows=24, **options):
        self.fd, terminal = pty.openpty()
        self.resize(columns, rows)
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("ZPLAN_") and k not in ("NO_COLOR", "COLUMNS")}
        env.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **options.pop("env", {})})
        self.text = ""
        self.process = subprocess.Popen([ZPLAN, *args], env=env, close_fds=True,
                                        **{"stdin": terminal, "stdout": terminal,
                                           "stderr": terminal, **options})
        os.close(terminal)

    def resize(self, columns, rows=24):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, wanted=None):
        """All that is written until it ends, or until the text that is wanted has come."""
        end, data = time.monotonic() + WAIT, b""
        while wanted is None or not re.search(wanted, data.decode(errors="ignore")):
            ready, _, _ = select.select([self.fd], [], [], end - time.monotonic())
            assert ready, f"{wanted!r} did not come: {data!r}"
            try:
                chunk = os.read(self.fd, 65536)
            except OSError:             # the other side is closed
                chunk = b""
            if not chunk:
                assert wanted is None, f"{wanted!r} did not come: {data!r}"
                break
            data += chunk
        return data.decode(errors="replace").replace("\r\n", "\n")

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """(exit code, what was written since the last read)"""
        text = self.read()
        code = self.process.wait(WAIT)
        os.close(self.fd)
        return code, text

    def done(self):
        code, text = self.end()
        assert code == DONE, text
        return text


def columns_of(line):
    """How many columns of a terminal a line takes."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
               for c in line)


class FakeStation:
    """A ROUTER in a thread. `answer` makes the messages that answer a request's frames."""

    def __init__(self, answer):
        self.answer, self.seen = answer, queue.Queue()
        self.context = zmq.Context()
        self.router = self.context.socket(zmq.ROUTER)
        self.router.linger = 0
        self.router.sndhwm = 0      # it would drop what is not read in time
        self.endpoint = f"tcp://127.0.0.1:{self.router.bind_to_random_port('tcp://127.0.0.1')}"
        self.stop = self.context.socket(zmq.PAIR)
        self.stop.bind("inproc://stop")
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        stopped = self.context.socket(zmq.PAIR)
        stopped.connect("inproc://stop")
        poller = zmq.Poller()
        poller.register(self.router, zmq.POLLIN)
        poller.register(stopped, zmq.POLLIN)
        while stopped not in dict(poller.poll()):
            peer, *frames = self.router.recv_multipart()
            self.seen.put(frames)
            for message in self.answer(frames):
                self.router.send_multipart([peer, *message])
        stopped.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.send(b"")
        self.thread.join(WAIT)
        self.stop.close()
        self.router.close()
        self.context.term()

    def zplan(self, *args, **options):
        return zplan("--connect", self.endpoint, *args, **options)

    def terminal(self, *args, **options):
        return Terminal("--connect", self.endpoint, *args, **options)

    def request(self):
        return self.seen.get_nowait()


def reply(request, status, *pairs):
    """[desc][frames], the REQUEST_ID of the request echoed first."""
    pairs = [(REQUEST_ID, request_id(request)), *pairs]
    return [describe(status, *(t for t, _ in pairs)), *(f for _, f in pairs)]


def request_id(request):
    return request[1 + request[0][2:].index(REQUEST_ID)]


def always(status, *pairs):
    return FakeStation(lambda request: [reply(request, status, *pairs)])


class Publisher:
    """An XPUB, since it hears when the subscription has come, and a history without an entry."""

    def __enter__(self):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.XPUB)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(WAIT * 1000)
        port = self.socket.bind_to_random_port("tcp://127.0.0.1")
        self.endpoint = f"tcp://127.0.0.1:{port}"
        empty = {"runs": [], "first": 0, "last": 0, "epoch": "e1", "missed": False}
        self.history = always(1, (JSON, json.dumps(empty).encode()))
        self.history.__enter__()
        return self

    def __exit__(self, *_):
        self.history.__exit__()
        self.socket.close()
        self.context.term()

    def watch(self, *args):
        """A watch that is connected. It hears all titles: gaps in seq are told from that."""
        process = start("--publish", self.endpoint, "--connect", self.history.endpoint, "watch",
                        *args)
        assert self.socket.recv() == b"\x01"
        return process

    def send(self, title, status, *pairs, plan=b'{"plan_time":1798131600}'):
        types = [SUBTITLE, CONTENT, *(t for t, _ in pairs)]
        self.socket.send_multipart([title, describe(status, *types), b"1f", plan,
                                    *(f for _, f in pairs)])


OK, FAILED, NOT_FIND, NOT_SUPPORT, ARG_ERROR = 0x01, 0x82, 0x83, 0x84, 0x89
STATES = ["none", "queue", "execute", "retry", "skip", "pause", "error", "close"]
TYPES = ["none", "time", "second", "minute", "hour", "day", "week", "month", "cron"]


def stored(frame):
    """A frame of bytes as the station keeps it."""
    return {"b64": base64.b64encode(frame).decode()}


class Refusal(Exception):
    """(status, reason)"""


class PlanStation(FakeStation):
    """The admin commands as the protocol has them, on plans that live in a dict and never fire by
    themselves; and the results that the test makes, published and kept, or only kept."""

    def __init__(self):
        super().__init__(self.manage)
        self.plans, self.runs = {}, []
        self.seq, self.epoch, self.first = 0, "e1", 1
        self.exec_ids = itertools.count(1700000000000000)
        self.stations = [{"name": "jobs", "type": "api", "endpoint": "tcp://127.0.0.1:7930",
                          "dialect": "zeronet", "mailbox": "frame", "origin": "settings",
                          "connected": True, "unanswered": 0}]
        self.looked_at = 1000       # plans, or runs, for one page
        self.silent = lambda word, *args: False     # whether it does not answer
        self.before = lambda word, *args: None      # what happens first; may raise Refusal
        self.asked = threading.Event()              # `history` was
        self.publisher = None
        self.results = "tcp://127.0.0.1:*"
        self.open_publisher()

    def __exit__(self, *_):
        self.publisher.close()
        super().__exit__()

    def close_publisher(self):
        """The result socket goes away, as when the connection is lost."""
        self.publisher.close()

    def open_publisher(self):
        self.publisher = self.context.socket(zmq.XPUB)
        self.publisher.linger = 0
        self.publisher.rcvtimeo = int(WAIT * 1000)
        end = time.monotonic() + WAIT
        while True:
            try:
                self.publisher.bind(self.results)
                break
            except zmq.ZMQError:        # the one before is not gone yet
                assert time.monotonic() < end
                time.sleep(0.02)
        self.results = self.publisher.last_endpoint.decode()

    def zplan(self, *args, **options):
        return super().zplan("--publish", self.results, *args, **options)

    def watch(self, *args):
        """A watch that is connected and knows where it begins."""
        process = start("--connect", self.endpoint, "--publish", self.results, "watch", *args)
        self.subscribed()
        assert self.asked.wait(WAIT)
        return process

    def subscribed(self):
        assert self.publisher.recv() == b"\x01"

    # What the tests do to it.

    def add(self, description="later", station="jobs", **fields):
        ident = fields.pop("plan_id", max(self.plans, default=0x1e) + 1)
        head = json.dumps({"description": description})
        self.plans[ident] = {
            "plan_id": ident, "station": station, "description": description, "plan_type": 1,
            "plan_value": 0, "plan_repet": 1, "real_repet": 0, "no_keep": False, "plan_state": 1,
            "last_state": 0, "plan_time": 4102444800, "base_time": 4102444800, "skip_set": 0,
            "error_count": 0, "revision": 7,
            "messages": [f"*{ident:x}", stored(describe(2, PLAN, STATION_ID, COMMAND, ARG, BIN)),
                         head, station, "do", "old", stored(b"\xff")], **fields}
        return f"{ident:x}"

    def outcome(self, title, status=OK, publish=True, frames=(), plan=0x1f, reason="", **more):
        """A run has ended: it is kept, and published unless its broadcast is to be lost."""
        self.seq += 1
        self.runs.append({"seq": self.seq, "plan": f"{plan:x}", "station": "jobs", "title": title,
                          "nominal": 1700000000, "fired": 1700000000.25, "ended": 1700000001.5,
                          "status": status, "state": 1, "exec_id": next(self.exec_ids),
                          "worker": "w", "size": 3, "reason": reason, **more})
        if publish:
            self.publish(title, self.seq, status, frames)
        return self.seq

    def publish(self, title, seq, status=OK, frames=()):
        run, = (run for run in self.runs if run["seq"] == seq)
        plan = json.dumps({"plan_id": 0x1f, "plan_time": 1798131600, "plan_state": 1, "seq": seq,
                           "exec_id": run["exec_id"], "epoch": self.epoch}).encode()
        types = [SUBTITLE, CONTENT, *(t for t, _ in frames)]
        self.publisher.send_multipart([title.encode(), describe(status, *types), b"1f", plan,
                                       *(f for _, f in frames)])

    def unpublished(self, title):
        """An outcome that takes no seq: one of several in a minute."""
        self.runs.append({**self.runs[-1], "seq": 0, "title": title})

    def count_anew(self, epoch):
        self.seq, self.epoch, self.runs, self.first = 0, epoch, [], 1

    def forget(self, seq):
        """Results up to this one are older than what is kept."""
        self.runs = [run for run in self.runs if run["seq"] > seq]
        self.first = seq + 1

    def requests(self, word):
        """The arguments of each request with this word, in order; takes all requests away."""
        found = []
        while not self.seen.empty():
            name, args = taken_apart(self.seen.get_nowait())
            if name == word:
                found.append(args)
        return found

    # What it answers.

    def manage(self, request):
        word, args = taken_apart(request)
        try:
            return self.answer_to(request, word, args)
        finally:
            if word == "history":
                self.asked.set()

    def answer_to(self, request, word, args):
        if self.silent(word, *args):
            return []
        try:
            self.before(word, *args)
            method = getattr(self, f"do_{word}", None)
            if not method:
                raise Refusal(NOT_SUPPORT, "-no support: COMMAND")
            data = method(*args)
        except Refusal as refusal:
            status, words = refusal.args
            return [reply(request, status, (STATUS, words.encode()))]
        pairs = [] if data is None else [(JSON, json.dumps(data).encode())]
        return [reply(request, OK, (STATUS, b"+ok"), *pairs)]

    def plan(self, name):
        if name.startswith("key:"):
            found = [plan for plan in self.plans.values() if plan.get("key") == name[4:]]
            if not found:
                raise Refusal(NOT_FIND, f"-no find: no plan '{name[4:]}'")
            return found[0]
        plan = self.plans.get(int(name.rpartition(":")[2], 16))
        if not plan:
            raise Refusal(NOT_FIND, f"-no find: no plan {name}")
        return plan

    def in_state(self, name, *states):
        plan = self.plan(name)
        if STATES[plan["plan_state"]] not in states:
            raise Refusal(ARG_ERROR, f"-argument: plan_state: is {STATES[plan['plan_state']]}")
        return plan

    @staticmethod
    def public(plan):
        return {field: value for field, value in plan.items() if field != "messages"}

    @staticmethod
    def listed(plan):
        """With its command, which stands where `add` puts it."""
        return {**PlanStation.public(plan), "command": plan["messages"][4]}

    def changed(self, plan, **fields):
        plan.update(fields, revision=(plan["revision"] * 7919 + 1) % 2**53)
        return self.public(plan)

    def do_list(self, text="{}"):
        wanted = json.loads(text)
        unknown = set(wanted) - {"after", "limit", "station", "state", "type", "title", "order"}
        assert not unknown and 1 <= wanted["limit"] <= 1000, wanted
        if wanted.get("order", "id") != "id":
            return self.placed(**wanted)
        after = int(wanted.get("after", "0"), 16)
        rest = sorted(ident for ident in self.plans if ident > after)
        page, last = [], None
        for ident in rest[:self.looked_at]:
            plan, last = self.plans[ident], ident
            if (wanted.get("station") in (None, plan["station"])
                    and wanted.get("state") in (None, STATES[plan["plan_state"]])
                    and wanted.get("type") in (None, TYPES[plan["plan_type"]])
                    and fnmatch.fnmatchcase(plan["description"], wanted.get("title", "*"))):
                page.append(self.listed(plan))
            if len(page) == wanted["limit"]:
                break
        more = last is not None and last != rest[-1]
        return {"plans": page, **({"next": f"{last:x}"} if more else {})}

    def placed(self, order, limit, after="0"):
        """By their next time, or what is out of the queue; `after` is how many were returned."""
        wanted = {"time": ("none", "queue", "retry", "skip"), "stopped": ("pause", "error", "close")}[order]
        plans = sorted((plan for plan in self.plans.values() if STATES[plan["plan_state"]] in wanted),
                       key=lambda plan: plan["plan_time"])
        end = int(after) + limit
        return {"plans": list(map(self.listed, plans[int(after):end])), **({"next": str(end)} if plans[end:] else {})}

    def do_message(self, name):
        return self.plan(name)

    def do_pause(self, name):
        return self.changed(self.in_state(name, "none", "queue", "execute", "retry", "skip"),
                            plan_state=5)

    def do_reset(self, name):
        return self.changed(self.in_state(name, "pause", "error"), plan_state=1, error_count=0)

    def do_skip(self, name, count):
        plan = self.in_state(name, *STATES[:7])
        left = plan["plan_repet"] - plan["real_repet"]
        if plan["plan_repet"] >= 0 and left < int(count) + 1:
            raise Refusal(ARG_ERROR, f"-argument: skip: {left} are left")
        return self.changed(plan, skip_set=int(count))

    def do_close(self, name):
        return self.changed(self.plan(name), plan_state=7)

    def do_cancel(self, name, reason=""):
        plan = self.in_state(name, "execute")
        self.changed(plan, plan_state=1, last_state=0x90, error_info=f"cancelled: {reason}")
        return {"plan_id": plan["plan_id"], "exec_id": 1700000000000001,
                "told": "untold" not in plan["description"]}

    def do_done(self, name, remark=None):
        plan = self.plan(name)
        if plan.get("verdict") not in (1, 2):
            raise Refusal(ARG_ERROR, "-argument: done: the plan has not failed permanently")
        return self.changed(plan, plan_state=1, verdict=3, remark=remark)

    def do_remove(self, name):
        del self.plans[self.plan(name)["plan_id"]]

    def do_run(self, name):
        plan = self.in_state(name, "none", "queue", "retry", "skip", "pause", "error")
        self.outcome(plan["description"], plan=plan["plan_id"])
        return self.public(plan)

    def do_update(self, name, text):
        fields = json.loads(text)
        plan = self.in_state(name, "none", "queue", "retry", "skip", "pause", "error")
        if fields.pop("revision") != plan["revision"]:
            raise Refusal(ARG_ERROR, "-argument: revision: the plan was changed")
        if "plan_time" in fields:
            fields["base_time"] = fields["plan_time"]
        return self.changed(plan, **fields)

    def do_next(self, name, count="10"):
        plan = self.plan(name)
        times = [plan["plan_time"] + 60 * k for k in range(plan["plan_repet"])][:int(count)]
        return {"next": times, "never": not times}

    def do_history(self, text="{}"):
        wanted = json.loads(text)
        unknown = set(wanted) - {"plan", "since", "epoch", "after", "station", "limit", "newest", "output",
                                 "status", "from", "to"}
        assert not unknown and 1 <= wanted["limit"] <= 1000, wanted
        kept = list(enumerate(self.runs))
        since = wanted.get("since")
        elsewhere = wanted.get("epoch", self.epoch) != self.epoch
        if since is not None and not elsewhere:
            begin = next((i for i, run in kept if run["seq"] > since), len(kept))
            kept = kept[begin:]
        if wanted.get("newest"):
            kept.reverse()
        if "after" in wanted:
            place = int(wanted["after"].removesuffix("-x"))
            kept = [entry for entry in kept
                    if (entry[0] < place if wanted.get("newest") else entry[0] > place)]
        page, more = [], False
        for at, (index, run) in enumerate(kept[:self.looked_at], 1):
            if (wanted.get("plan", run["plan"]) == run["plan"]
                    and wanted.get("station", run["station"]) == run["station"]
                    and run["status"] in wanted.get("status", [run["status"]])
                    and wanted.get("from", 0) <= (run["ended"] or 0) < wanted.get("to", float("inf"))):
                page.append(run if wanted.get("output") else {k: v for k, v in run.items() if k != "output"})
            if len(page) == wanted["limit"] or at == self.looked_at:
                more = at < len(kept)
                break
        missed = since is not None and (elsewhere or since + 1 < self.first)
        return {"runs": page, **({"next": f"{index}-x"} if more else {}), "first": self.first,
                "last": self.seq, "epoch": self.epoch, "missed": missed}

    def do_station(self, word, text=None):
        if word == "list":
            return {"stations": self.stations}
        name, _, rest = text.partition("=")
        known = [station for station in self.stations if station["name"] == name]
        if word == "add":
            if known:
                raise Refusal(ARG_ERROR, f"-argument: station: {name} is there already")
            kind, _, endpoint = rest.partition("@")
            self.stations.append({**self.stations[0], "name": name, "type": kind,
                                  "endpoint": endpoint.split(",")[0], "origin": "added",
                                  "connected": False})
            return None
        if not known:
            raise Refusal(NOT_FIND, f"-no find: no station {name}")
        if known[0]["origin"] == "settings":
            raise Refusal(ARG_ERROR, f"-argument: station: {name} is in the settings")
        self.stations.remove(known[0])
        return None

    def do_stats(self):
        return {"plans": len(self.plans), "queued": 1, "running": 0, "due_in_ms": None,
                "uptime_s": 61, "version": "0.1.0", "counters": {"runs": 3, "late": 0},
                "seq": self.seq, "epoch": self.epoch}


def taken_apart(request):
    """(word, [arguments]) of a management request."""
    desc, *frames = request
    assert desc[1] == 1
    types = desc[2:-1]
    word, = (f for t, f in zip(types, frames) if t == COMMAND)
    return word.decode(), [f.decode() for t, f in zip(types, frames) if t == ARG]


class RealStation:
    """The same face on a real station with a Redis of its own."""

    def __init__(self):
        self.rig = Rig().start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rig.close()

    def where(self):
        return ["--connect", self.rig.ipc("q"), "--publish", self.rig.ipc("p")]

    def zplan(self, *args, **options):
        return zplan(*self.where(), *args, **options)

    def watch(self, *args):
        return start(*self.where(), "watch", *args)

    def add(self, description="later", **fields):
        return self.rig.client.added(later(description=description, **fields))

    def seq(self):
        return json.loads(self.zplan("stats", "--json=wire").done())["seq"]

    def outcome(self, title, status=OK):
        """A run ends. One that ends ill is sent again after a second: let it be the last."""
        before = self.seq()
        self.rig.client.added({"description": title, "plan_type": 0})
        self.rig.jobs.finish(self.rig.jobs.recv(), status)
        wait_until(lambda: self.seq() > before, "the result is published")
        return self.seq()


@pytest.fixture
def station():
    with PlanStation() as fake:
        yield fake


@pytest.fixture(params=["fake"] + (["real"] if os.environ.get("ZPLAN_CLI_REAL") else []))
def both(request):
    with (PlanStation if request.param == "fake" else RealStation)() as one:
        yield one


def named(plan):
    """A plan of the station as the command line prints it for programs."""
    words = {"id": f"{plan['plan_id']:x}", "state": STATES[plan["plan_state"]],
             "type": TYPES[plan["plan_type"]]}
    return {**words, **plan}


def objects(ended):
    return [json.loads(line) for line in ended.done().splitlines()]
