"""Client and worker of the plan proxy station zplan, in one file on pyzmq.

    import zplan

    with zplan.Client() as station:
        plan = station.submit("jobs", "report", "monthly", delay="3h", retry=3)     # once, in 3 hours
        print(plan.id, plan.next_at)
        result = station.wait(plan)             # blocks until it has run; or later, from any process:
        print(result.ok, result.text)           # print(station.result(plan.id).text)

        station.submit("jobs", "report", "weekly", name="weekly", cron="30 8 * * 1", on_failure="alarm")
        station.pause("weekly")                 # a name is accepted wherever an id is
        for result in station.results():
            print(result.id, result.title, result.status, result.text)

`AsyncClient` has the same methods for asyncio. Something must run the jobs: `zplan work`, or a worker in
Python. `PullWorker` fetches plans from the station itself, `Worker` serves a target station (zstationd):

    worker = zplan.PullWorker("jobs")

    @worker.command("report")
    def report(job):
        return f"the {job.argument} report is written"

    worker.run()

Each call either returns what the station did, or raises `Rejected` with the station's reason, or `NoAnswer`.
Of several stations on one Redis one serves, and another takes over when it fails: each address is then the
list of theirs, "tcp://a:7920,tcp://b:7920".

A client belongs to one thread (an `AsyncClient` to one event loop); workers run each job in a thread of its
own. Durations are seconds, a `timedelta`, or as on the command line: "5m", "1h30m"; instants are a `datetime`
(without a zone: local time), Unix seconds or RFC 3339. The wire is specified in proto/ of the zplan source.
"""
from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import math
import os
import queue
import re
import secrets
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, AsyncIterator, Callable, Iterable, Iterator, Optional, Union

import zmq
import zmq.asyncio
import zmq.auth

__all__ = ["Answer", "AsyncClient", "Client", "Error", "Job", "JobFailed", "NoAnswer", "Output", "Plan", "PullWorker", "Record",
           "Rejected", "Result", "Worker"]
__version__ = "0.2.0"

REQUESTS, RESULTS, WORKERS = "tcp://127.0.0.1:7920", "tcp://127.0.0.1:7921", "tcp://127.0.0.1:7931"

# -- the wire (proto/, chapter 3)

_GLOBAL_ID, _STATION_ID, _STATUS, _REQUEST_ID, _PLAN, _PLAN_TIME, _LOCAL_ID = 1, 2, 3, 4, 5, 6, 8
_COMMAND, _ARG, _CONTENT, _JSON, _BIN, _CONTEXT = b"$%TJB#"
_OUTPUTS = b"TJXB"       # frames that hold what a run wrote
_CODE_MANAGE, _CODE_PLAN, _CODE_PING, _CODE_CANCEL = 0x01, 0x02, 0x2A, 0x2D
_JOIN, _READY, _PITPAT, _LEFT = b"JRPL"
_RESULT_MAX = 65536     # bytes of JSON in a report (7.9): the station rejects a larger one, and runs the plan again
_OK, _BYE, _WAITING, _FAILED, _NOT_FOUND, _NOT_WORKER = 0x01, 0x04, 0x22, 0x82, 0x83, 0x88
_NET_ERROR, _ARGUMENT_ERROR, _DENIED, _BUSY, _MISSED = 0x87, 0x89, 0x8E, 0x8F, 0x91
_PASSING = (_NET_ERROR, _BUSY)      # the same request may be accepted later
_TEXT_MAX, _PROGRESS_MAX = 512, 256     # bytes of a reason, and of a progress

_STATUSES = {
    0x01: "ok", 0x02: "plan", 0x03: "running", 0x04: "bye", 0x22: "waiting", 0x81: "error", 0x82: "failed",
    0x83: "not found", 0x84: "not supported", 0x85: "invalid", 0x86: "timed out", 0x87: "unavailable",
    0x88: "no worker", 0x89: "invalid argument", 0x8B: "invalid plan", 0x8C: "not sent",
    0x8D: "target did not answer", 0x8E: "denied", 0x8F: "busy", 0x90: "cancelled", 0x91: "missed",
}

Bytes = Union[str, bytes]
Duration = Union[int, float, str, timedelta]
Instant = Union[int, str, datetime]
Frame = tuple[int, bytes]


def status_name(code: int) -> str:
    """A status of the wire in words: `0x82` is "failed"."""
    return _STATUSES.get(code, f"status {code:#04x}")


def _bytes(value: Bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _cut(text: str, size: int) -> str:
    """A text as a station accepts it: at most so many bytes of UTF-8, without NUL."""
    return text.replace("\0", "?").encode(errors="replace")[:size].decode(errors="ignore")


def _pack(code: int, frames: list[Frame]) -> list[bytes]:
    if len(frames) > 32:
        raise ValueError("at most 32 frames")
    return [bytes([len(frames), code, *(kind for kind, _ in frames), 0]), *(data for _, data in frames)]


def _is_description(frame: bytes, following: int) -> bool:
    return len(frame) >= following + 2 and frame[0] == following


@dataclass(frozen=True)
class _Message:
    """A description frame and its frames. Of several of a type the last one is the station's, the first one the
    submitter's."""

    code: int
    frames: tuple[Frame, ...]

    @classmethod
    def read(cls, parts: list[bytes]) -> "_Message":
        if not parts or not _is_description(parts[0], len(parts) - 1):
            raise ValueError("not a message of zplan/1")
        return cls(parts[0][1], tuple(zip(parts[0][2:], parts[1:])))

    def get(self, kind: int, default: bytes = b"") -> bytes:
        return next((data for known, data in reversed(self.frames) if known == kind), default)

    def first(self, kind: int, default: bytes = b"") -> bytes:
        return next((data for known, data in self.frames if known == kind), default)

    def text(self, kind: int) -> str:
        return self.get(kind).decode(errors="replace")


def _plain(value: Any) -> Any:
    """Bytes that JSON cannot hold come as {"b64": ...}."""
    if isinstance(value, dict) and set(value) == {"b64"}:
        return base64.b64decode(value["b64"])
    return value


# -- what goes wrong

class Error(Exception):
    """Every error of this module."""


class Rejected(Error):
    """The station rejected a request. `status` is a short name as "invalid plan", `reason` its text."""

    def __init__(self, code: int, reason: str):
        super().__init__(reason or status_name(code))
        self.code, self.status, self.reason = code, status_name(code), reason


class NoAnswer(Error, TimeoutError):
    """No answer within the timeout; of several stations, also when the connection to the one that was asked was
    lost. Whether the station handled the request is not known.

    `id` is the plan's id if it was a submission: submit the same plan again with `id=error.id`, and there is
    one plan, whichever of the two arrived."""

    def __init__(self, address: str, timeout: float, id: Optional[str] = None, lost: bool = False):
        super().__init__(f"the connection to {address} was lost before the answer" if lost else
                         f"no answer from {address} within {timeout:g} s")
        self.id = id


# -- what comes back

@dataclass(frozen=True)
class Plan:
    """A submission that was accepted. `status` says more than "+plan" if it already existed; `first` is when it
    runs next, Unix seconds, None if it is closed. It is accepted wherever an id is."""

    id: str
    status: str
    first: Optional[int] = None

    @property
    def next_at(self) -> Optional[str]:
        """`first` as RFC 3339 in UTC."""
        return _instant(self.first)


class Record(dict):
    """A plan or a run as `zplan --json` prints it: `id` as hex text, states and statuses as words, instants as
    RFC 3339 in `..._at`. The wire's own names are readable, too (`record["plan_id"]`), where they do not mean
    something else here; `wire` has them all."""

    def __init__(self, names: dict, wire: dict):
        super().__init__(names)
        self.wire = wire

    def __missing__(self, name: str) -> Any:
        return self.wire[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.wire

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default


@dataclass(frozen=True)
class Output:
    """What a run wrote: its result, or its standard error if it failed. `size` is its length; of more than the
    station keeps (2 KiB; 64 KiB of the last run of a plan that ends) there are the first and the last bytes."""

    run: Record
    size: int
    head: bytes
    tail: bytes = b""

    @property
    def whole(self) -> bool:
        return self.size == len(self.head) + len(self.tail)

    @property
    def text(self) -> str:
        """As `zplan logs` prints it, with a line for what is not kept."""
        gap = "" if self.whole else f"\n[... {self.size - len(self.head) - len(self.tail)} bytes are not kept ...]\n"
        return self.head.decode(errors="replace") + gap + self.tail.decode(errors="replace")


@dataclass(frozen=True)
class Answer:
    """The last answer to a plan's runs, whole: of its target, or of one of the voters. `content` is what the run
    wrote, None if it wrote nothing; `frames` are all frames, each (its name, bytes). Of a plan that has ended the
    station keeps 64 KiB of the content; if that is not all of it, `content` is None, and `output` has what is kept."""

    worker: str
    status: str
    ok: bool
    reason: str
    content: Optional[bytes] = None
    code: Optional[str] = None
    frames: tuple[tuple[Union[str, int], bytes], ...] = ()
    output: Optional[Output] = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The content, or what is kept of it; without one, of a failure its reason."""
        return _text_of(self)


def _text_of(one: Union[Answer, Result]) -> str:
    if one.content:
        return one.content.decode(errors="replace")
    return one.output.text if one.output and one.output.size else one.reason


def _answer(told: dict) -> Answer:
    message = _Message.read([_bytes(_plain(frame)) for frame in told["frames"]])
    content = next((data for kind, data in message.frames if kind in _OUTPUTS and data), None)
    return Answer(str(_plain(told["worker"])), **_status_of(message.code), reason=message.text(_STATUS), content=content,
                  frames=tuple((_FRAMES.get(kind, kind), data) for kind, data in message.frames))


def _output(run: Record) -> Optional[Output]:
    kept = run.get("output")
    if not kept:
        return None
    return Output(run, kept["size"], _bytes(_plain(kept["head"])), _bytes(_plain(kept.get("tail", ""))))


@dataclass(frozen=True)
class Result:
    """The outcome of a run: broadcast, or replayed from the history.

    `id` and `name` are the plan's; `status` is ok, failed, not_taken, timeout, cancelled, missed, send_error or in_doubt, and
    `code` the name of another error. `content` is the whole result, None where the station did not keep all of it:
    then `output` has what it kept. `plan` is the plan after the run; of a replayed result, the run."""

    id: str
    target: str
    title: str
    status: str
    ok: bool
    reason: str
    exec_id: str
    seq: int
    epoch: str
    replayed: bool
    content: Optional[bytes] = None
    plan: dict = field(default_factory=dict, repr=False)
    code: Optional[str] = None
    name: Optional[str] = None
    output: Optional[Output] = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The result's content, or what is kept of it; without one, of a failure its reason."""
        return _text_of(self)


def _broadcast(parts: list[bytes]) -> Result:
    message = _Message.read(parts[1:])
    plan = json.loads(message.frames[1][1])
    answer = _Message(message.code, message.frames[2:])
    content = next((data for kind, data in answer.frames if kind in _OUTPUTS), None)
    return Result(
        id=message.frames[0][1].decode(), target=_plain(plan.get("station", "")),
        title=parts[0].decode(errors="replace"), **_status_of(message.code), reason=answer.text(_STATUS),
        exec_id=_hex(plan.get("exec_id", 0)), seq=plan["seq"], epoch=plan["epoch"], replayed=False, content=content,
        plan=_record("plan", plan), name=plan.get("key"))


def _recorded(run: dict, epoch: str) -> Result:
    row = _record("run", run)
    output = _output(row)
    return Result(
        id=run["plan"], target=run["station"], title=str(_plain(run["title"])), **_status_of(run["status"]),
        reason=str(_plain(run["reason"])), exec_id=_hex(run["exec_id"]), seq=run["seq"], epoch=epoch, replayed=True,
        content=output.head + output.tail if output and output.whole else None, plan=row, name=row.get("name"), output=output)


# -- the names of JSON (src/plan/json_names.c of the zplan source)

_STATES = ("queued", "queued", "running", "retrying", "queued", "paused", "error", "closed")
_STATE_WORDS = {"queued": "queue", "running": "execute", "retrying": "retry", "paused": "pause", "closed": "close"}
_VERDICTS = (None, "failure", "pending", "manual", "cancelled")
_TYPES = ("none", "time", "second", "minute", "hour", "day", "week", "month", "cron")
_RUN_STATUSES = {0x82: "failed", 0x86: "timeout", 0x88: "not_taken", 0x8C: "send_error", 0x8D: "in_doubt",
                 0x90: "cancelled", 0x91: "missed"}
_CODES = {0x81: "error", 0x83: "not_find", 0x84: "not_support", 0x85: "frame_invalid", 0x87: "net_error",
          0x89: "manage_arg_error", 0x8A: "manage_install_arg_error", 0x8B: "frame_planerror", 0x8E: "deny", 0x8F: "busy"}
_FRAMES = {
    0x00: "END", 0x01: "GLOBAL_ID", 0x02: "STATION_ID", 0x03: "STATUS", 0x04: "REQUEST_ID", 0x05: "PLAN",
    0x06: "PLAN_TIME", 0x07: "SERVICE_KEY", 0x08: "LOCAL_ID", 0x24: "COMMAND", 0x25: "ARG", 0x54: "CONTENT",
    0x4A: "JSON", 0x42: "BIN", 0x58: "XML", 0x2A: "PUB_TITLE", 0x40: "SUBTITLE", 0x23: "CONTEXT",
    0x3E: "REQUESTER", 0x3C: "RESPONSER",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _instant(seconds: Any) -> Optional[str]:
    """RFC 3339 in UTC, with milliseconds; None where there is none."""
    if isinstance(seconds, str):
        try:
            seconds = datetime.fromisoformat(seconds.replace("Z", "+00:00")).timestamp()
        except ValueError:
            return seconds
    if not seconds or not 0 < seconds <= 253402300799:
        return None
    moment = _EPOCH + timedelta(milliseconds=int(seconds * 1000 + 0.5))
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def _hex(id: Any) -> Any:
    """An integer as hex text, "" for none."""
    return (f"{id:x}" if id > 0 else "") if isinstance(id, int) else id


def _id_name(id: Any) -> Any:
    return _hex(id) or None


def _run_status(code: int) -> Optional[str]:
    return None if not code else "ok" if code < 0x80 else _RUN_STATUSES.get(code, "failed")


def _status_of(code: int) -> dict:
    known = code < 0x80 or code in _RUN_STATUSES
    return {"status": _run_status(code) or "", "ok": code < 0x80, "code": None if known else _CODES.get(code, "error")}


def _stopped(text: Any) -> Any:
    """"pause by ops at TIME"."""
    match = re.fullmatch(r"(\S+)(?: by (.*))? at (.*?)", text, re.DOTALL) if isinstance(text, str) else None
    if not match:
        return text
    why = {wire: word for word, wire in _STATE_WORDS.items()}.get(match[1], match[1])
    return {"why": why, "at": _instant(match[3]), "by": match[2]}


def _parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _type_name(value: Any) -> Any:
    return _TYPES[value] if isinstance(value, int) and 0 <= value < len(_TYPES) else value


def _same(value: Any) -> Any:
    return value


# What of the wire has another name or form; "" is left out. Those of a plan that are not here and that a
# submitter writes stand in `spec`.
_NAMES: dict[str, dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "plan": {
        "plan_id": ("id", _id_name), "flow_run": ("flow_run", _id_name), "key": ("name", _same), "description": ("title", _same),
        "plan_state": ("state", _STATES.__getitem__), "station": ("target", _same),
        "last_state": ("last.status", _run_status), "exec_time": ("last.started_at", _instant),
        "exec_id": ("last.exec_id", _id_name), "error_info": ("last.reason", _same),
        "unresponsive_since": ("unresponsive_since_at", _instant),
        "plan_time": ("next_at", _instant), "add_time": ("created_at", _instant),
        "base_time": ("base_at", _instant), "real_repet": ("counts.runs", _same),
        "error_count": ("counts.failures", _same), "missed": ("counts.missed", _same),
        "skip_num": ("counts.skipped", _same), "skip_wait": ("counts.skips_pending", _same),
        "stopped": ("stopped", _stopped), "verdict": ("verdict", _VERDICTS.__getitem__),
        "plan_type": ("spec.plan_type", _type_name), "ext": ("spec.ext", _parsed),
        "on_failure": ("spec.on_failure", _parsed), "callback": ("spec.callback", _parsed), "params": ("spec.params", _parsed),
        "defaults": ("spec.defaults", _parsed), "run_with": ("run_with", _parsed),
        "failures": ("failures", lambda rows: [_record("run", row) for row in rows]),
        "messages": ("", _same), "poll": ("", _same), "extra": ("", _same),
        **{name: (f"spec.{name}", _same) for name in (
            "plan_value", "plan_repet", "no_keep", "skip_set", "vote", "cron", "timezone", "gap", "overlap",
            "iteration", "cycle", "start_time", "end_time", "misfire", "misfire_window", "jitter", "overlap_policy",
            "retry", "timeout", "log", "priority", "group", "workers", "category", "kind", "if_exists", "tenant",
            "creator", "traceparent", "batch")},
    },
    "run": {
        "key": ("name", _same), "station": ("target", _same), "nominal": ("nominal_at", _instant), "fired": ("started_at", _instant),
        "ended": ("ended_at", _instant), "state": ("state", _STATES.__getitem__), "exec_id": ("exec_id", _id_name),
        "flow_run": ("flow_run", _id_name), "missed_first": ("missed_first_at", _instant), "missed_last": ("missed_last_at", _instant),
        "verdict": ("verdict", _VERDICTS.__getitem__), "status": ("status", _run_status),
    },
    "cancelled": {"plan_id": ("id", _id_name), "exec_id": ("exec_id", _id_name), "told": ("notified", _same)},
}


def _record(kind: str, wire: dict) -> Record:
    names: dict[str, Any] = {}
    for old, value in wire.items():
        name, convert = _NAMES[kind].get(old, (old, _same))
        holder, _, inside = name.rpartition(".")
        if name and not (name == "verdict" and not value):
            (names.setdefault(holder, {}) if holder else names)[inside] = convert(value)
    if kind == "plan" and "plan_state" in wire:
        _finish_plan(names, wire)
    if kind == "run":
        code, started, ended = wire["status"], wire.get("fired"), wire.get("ended")
        names.update({"code": _CODES.get(code, "error")} if code >= 0x80 and code not in _RUN_STATUSES else {})
        if code == 0x91:
            names["started_at"] = None      # there was no run
        elif started is not None and ended is not None:
            took = ended - started
            names["took_s"] = int(took * 1000 + 0.5) / 1000 if took >= 0 else None
    return Record(names, wire)


def _finish_plan(names: dict, wire: dict) -> None:
    """What follows from several fields."""
    names["running"] = names["state"] == "running"
    status = wire.get("last_state", 0)
    if status and (status == 0x03 or (names["running"] and status < 0x80)):     # a heartbeat, or that of the run before
        names["last"]["status"] = None
    if names["state"] in ("paused", "error", "closed"):
        names["next_at"] = None
    once = wire.get("plan_type", 0) <= 1
    if "plan_repet" in wire:
        every = 1 if once else wire["plan_repet"]
        used = wire.get("real_repet", 0) + wire.get("skip_num", 0)
        names.setdefault("counts", {})["left"] = None if every < 0 else max(0, every - used)
    if wire.get("plan_type") == 1:
        names["spec"]["plan_time"] = wire["plan_time"]
    messages = wire.get("messages")
    if messages:
        _set_frames(names, messages)


def _set_frames(names: dict, messages: list) -> None:
    """`command` and `args` where the plan has no other frames, else all of them as `frames`."""
    kinds = _bytes(_plain(messages[1]))[2:] if len(messages) > 1 else b""
    told = [(kind, frame) for kind, frame in zip(kinds, messages[2:])
            if kind not in (_PLAN, _STATION_ID, _GLOBAL_ID, _REQUEST_ID)]
    commands = [frame for kind, frame in told if kind == _COMMAND and isinstance(frame, str)]
    if commands:
        names["command"] = commands[0]
        names["args"] = [frame for kind, frame in told if kind == _ARG]
    if not commands or told[0] != (_COMMAND, commands[0]) or not all(
            kind == _ARG and isinstance(frame, str) for kind, frame in told[1:]):
        names["frames"] = [{"type": _FRAMES.get(kind, kind),
                            **({"text": frame} if isinstance(frame, str) else frame)} for kind, frame in told]


# -- what is given

Id = Union[int, str, Plan]


def _refs(id: Id) -> list[str]:
    """What a plan may be: its id, or its name. A text that is hex is an id first."""
    if isinstance(id, Plan):
        return [id.id]
    if isinstance(id, int):
        return [f"{id:x}"]
    named = id if id.startswith("key:") else f"key:{id}"
    return [id.lower(), named] if re.fullmatch(r"[0-9a-fA-F]{1,16}", id) else [named]


_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def _duration(name: str, value: Any) -> float:
    """The seconds of a number of them, of a timedelta, or of a text as "1h30m"."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match:
        return sum(int(count or 0) * unit for count, unit in zip(match.groups(), _UNITS.values()))
    if isinstance(value, str) and value.isdigit():
        return int(value)
    raise ValueError(f"{name}: want a duration as 5s, 90m, 1h30m or 2d, seconds, or a timedelta, got {value!r}")


def _whole(name: str, value: Any) -> int:
    seconds = _duration(name, value)
    if seconds != int(seconds):
        raise ValueError(f"{name}: want whole seconds, got {value!r}")
    return int(seconds)


_DURATIONS = {"timeout", "jitter", "misfire_window", "interval", "deadline", "ping_interval", "worker_timeout"}


def _field(name: str, value: Any) -> Any:
    """A field of the PLAN frame as JSON has it."""
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, timedelta) or (name in _DURATIONS and isinstance(value, str)):
        return _whole(name, value)
    if isinstance(value, dict) and name != "ext":
        return {inner: _field(inner, one) for inner, one in value.items()}
    return value


def _retry(value: Any) -> Any:
    """So many retries as `zplan add` spaces them: 10 s after the failure, then 20 s, 40 s ..."""
    if value in (0, "none"):
        return {"strategy": "none"}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"strategy": "exponential", "interval": 10, "max": value}
    if isinstance(value, dict):
        return value
    raise ValueError(f"retry: want a number, \"none\", \"forever\" or an object, got {value!r}")


# -- sockets, blocking and for asyncio

Addresses = Union[str, Iterable[str]]


def _list_of(addresses: Addresses) -> list[str]:
    """One address, or several: with commas, or as a sequence."""
    found = addresses.split(",") if isinstance(addresses, str) else list(addresses)
    if not 1 <= len(found) <= 8 or not all(re.fullmatch(r"(tcp|ipc)://[^\s,]+", one) for one in found):
        raise ValueError(f"address: want tcp://HOST:PORT or ipc://PATH, or up to 8 with commas between, got {addresses!r}")
    return found


class _Keys:
    """CURVE: files of `zplan keygen`, ours with the secret key and the station's public one; of several stations one
    for all, or one for each address."""

    def __init__(self, key: Optional[str], server_key: Union[str, Iterable[str], None], addresses: list[str]):
        if (key is None) != (server_key is None):
            raise ValueError("key and server_key go together")
        files = [] if server_key is None else [server_key] if isinstance(server_key, (str, os.PathLike)) else list(server_key)
        if key is not None and len(files) not in (1, len(addresses)):
            raise ValueError("server_key: want one, or one for each address")
        self.own = zmq.auth.load_certificate(key) if key else None
        self.servers = [zmq.auth.load_certificate(file)[0] for file in files]

    def apply(self, socket_: Any, index: int) -> None:
        if self.own:
            socket_.curve_publickey, socket_.curve_secretkey = self.own
            socket_.curve_serverkey = self.servers[index if len(self.servers) > 1 else 0]


class _Blocking:
    """Sockets whose waits block. Its coroutines never suspend, so that `_now` can run them."""

    def __init__(self, keys: _Keys):
        self.context, self.keys = zmq.Context.instance(), keys

    def make(self, kind: int) -> Any:
        made = self.context.socket(kind)
        made.linger = 0
        return made

    def connect(self, socket_: Any, addresses: list[str], index: int) -> None:
        self.keys.apply(socket_, index)
        socket_.connect(addresses[index])

    def subscribe(self, addresses: list[str]) -> Any:
        """To all stations: those that wait to take over are silent."""
        made = self.make(zmq.SUB)
        made.subscribe(b"")
        for index in range(len(addresses)):
            self.connect(made, addresses, index)
        return made

    async def wait(self, sockets: list[Any], seconds: float) -> None:
        """Until one of them has something to receive."""
        poller = zmq.Poller()
        for one in sockets:
            poller.register(one, zmq.POLLIN)
        poller.poll(max(0, seconds) * 1000)

    async def receive(self, socket_: Any, seconds: float) -> Optional[list[bytes]]:
        return socket_.recv_multipart() if socket_.poll(max(0, seconds) * 1000) else None

    async def send(self, socket_: Any, parts: list[bytes]) -> None:
        socket_.send_multipart(parts, zmq.DONTWAIT)


class _Awaiting(_Blocking):
    def __init__(self, keys: _Keys):
        super().__init__(keys)
        self.context = zmq.asyncio.Context.instance()

    async def wait(self, sockets: list[Any], seconds: float) -> None:
        poller = zmq.asyncio.Poller()
        for one in sockets:
            poller.register(one, zmq.POLLIN)
        await poller.poll(max(0, seconds) * 1000)

    async def receive(self, socket_: Any, seconds: float) -> Optional[list[bytes]]:
        ready = await socket_.poll(max(0, seconds) * 1000)
        return await socket_.recv_multipart() if ready else None

    async def send(self, socket_: Any, parts: list[bytes]) -> None:
        await socket_.send_multipart(parts, zmq.DONTWAIT)


class _Line:
    """The connection to one address. Of several its monitor tells whether it is there."""

    def __init__(self, link: _Blocking, addresses: list[str], index: int):
        self.socket, self.monitor = link.make(zmq.DEALER), None
        self.up, self.lost, self.turn = len(addresses) == 1, False, 0
        if len(addresses) > 1:
            self.socket.reconnect_ivl, self.socket.reconnect_ivl_max = 100, 400
            self.socket.heartbeat_ivl, self.socket.heartbeat_timeout = 1000, 3000
            self.socket.rcvhwm = 0      # a heartbeat that meets a full queue aborts libzmq 4.3.4
            self.monitor = link.make(zmq.PAIR)
            self.monitor.rcvhwm = 0     # libzmq waits for who reads it
            told = f"inproc://zplan-{secrets.token_hex(8)}"
            self.monitor.connect(told)
            self.socket.monitor(told, zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
        link.connect(self.socket, addresses, index)

    def close(self) -> None:
        if self.monitor is not None:
            self.socket.monitor(None, 0)
            self.monitor.close()
        self.socket.close()


class _Lines:
    """A connection to each address. A station that waits to take over has its request socket closed, so the one
    that was connected last counts."""

    def __init__(self, link: _Blocking, addresses: list[str]):
        self.link, self.addresses, self.turns = link, addresses, 0
        self.lines = [_Line(link, addresses, index) for index in range(len(addresses))]

    def close(self) -> None:
        for line in self.lines:
            line.close()

    @property
    def monitors(self) -> list[Any]:
        return [line.monitor for line in self.lines if line.monitor is not None]

    async def read_news(self) -> None:
        for line in self.lines:
            while line.monitor is not None and (told := await self.link.receive(line.monitor, 0)) is not None:
                before, line.up = line.up, int.from_bytes(told[0][:2], sys.byteorder) == zmq.EVENT_HANDSHAKE_SUCCEEDED
                line.lost = line.lost or before
                if line.up:
                    self.turns += 1
                    line.turn = self.turns

    async def connected(self, end: float) -> Optional[_Line]:
        """The connection that counts; None: there is none until then."""
        while True:
            await self.read_news()
            for index, line in enumerate(self.lines):
                if line.lost:       # what is still queued in it must not arrive later
                    line.close()
                    self.lines[index] = _Line(self.link, self.addresses, index)
            there = [line for line in self.lines if line.up]
            if there:
                return max(there, key=lambda line: line.turn)
            left = end - time.monotonic()
            if left <= 0:
                return None
            await self.link.wait(self.monitors, min(left, 1))

    async def receive(self, line: _Line, end: float) -> Optional[list[bytes]]:
        """A message of the connection; None: it was lost, or it is late."""
        if line.monitor is None:
            return await self.link.receive(line.socket, end - time.monotonic())
        while True:
            parts = await self.link.receive(line.socket, 0)
            left = end - time.monotonic()
            if parts is not None or line.lost or left <= 0:
                return parts
            await self.link.wait([line.socket, *self.monitors], min(left, 1))
            await self.read_news()


def _now(coroutine: Any) -> Any:
    """The value of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise RuntimeError("it suspended")


# -- clients

_INTERVAL_MAX = 32766

# What may be handled twice: it is sent again when the connection to one of several stations was lost.
_SENDS_MAX = 4
_READS = ("list", "message", "next", "history", "result", "team", "why", "stats", "health", "load", "whoami")
_READS_OF = (["station", "list"], ["kind", "list"], ["kind", "get"], ["limit", "list"], ["flow", "list"],
             ["flow", "get"], ["flow", "runs"], ["flow", "show"], ["flow", "log"])


def _every(value: Any) -> dict:
    """A text in the smallest unit that it names; else seconds, or the largest unit where they are too many."""
    seconds = _whole("every", value)
    if isinstance(value, str) and not value.isdigit():
        unit = value[-1]
    else:
        exact = (unit for unit, size in _UNITS.items() if seconds % size == 0)
        unit = "s" if seconds <= _INTERVAL_MAX else next(exact)
    names = {"d": "day", "h": "hour", "m": "minute", "s": "second"}
    return {"plan_type": names[unit], "plan_value": seconds // _UNITS[unit]}


def _schedule(every: Any, at: Any, delay: Any, cron: Any, repeat: Optional[int]) -> dict:
    """The fields of a PLAN frame (proto/, 5.2) that say when; none of them: at once."""
    if sum(value is not None for value in (every, at, delay, cron)) > 1:
        raise ValueError("every, at, delay, cron: want one of them")
    if cron is not None:
        return {"plan_type": "cron", "cron": cron, "plan_repet": -1 if repeat is None else repeat}
    if every is not None:
        return {**_every(every), "plan_repet": -1 if repeat is None else repeat}
    if repeat not in (None, 1):
        raise ValueError("repeat: needs every or cron")
    if isinstance(at, timedelta) or (isinstance(at, str) and not at.isdigit() and _DURATION.fullmatch(at)):
        at, delay = None, at
    if delay is not None:   # up to the whole second, and kept: neither a slow request nor another clock makes it missed
        return {"plan_type": "time", "plan_time": math.ceil(time.time() + _duration("delay", delay)), "no_keep": True}
    return {"plan_type": "time", "plan_time": _field("at", at)} if at is not None else {"plan_type": "none"}


class AsyncClient:
    """A client for asyncio, of one event loop. See `Client` for its arguments and errors. `list`, `history` and
    `results` are asynchronous iterators, the other methods coroutines."""

    _link_of: Callable[[_Keys], _Blocking] = _Awaiting

    def __init__(self, address: Addresses = REQUESTS, publish: Addresses = RESULTS, *, key: Optional[str] = None,
                 server_key: Union[str, Iterable[str], None] = None, timeout: Duration = 5.0):
        self._addresses, self._publish = _list_of(address), _list_of(publish)
        self.address, self.publish, self.timeout = ",".join(self._addresses), ",".join(self._publish), _duration("timeout", timeout)
        self._link = self._link_of(_Keys(key, server_key, self._addresses))
        self._lines: Optional[_Lines] = None
        self._turn: Any = asyncio.Lock() if isinstance(self._link, _Awaiting) else _NoLock()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets. Another request opens them again."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    async def _ask(self, code: int, frames: list[Frame], patience: Duration = 0, id: Optional[str] = None,
                   safe: bool = False) -> _Message:
        # It distinguishes the answer from late ones to other requests. A plan that is submitted again under its id
        # must be the same to the byte, with this frame.
        request = hashlib.sha1(repr(frames).encode()).hexdigest()[:16] if id else secrets.token_hex(8)
        async with self._turn:
            timeout = self.timeout + _duration("patience", patience)
            end = time.monotonic() + timeout
            message = _pack(code, [*frames, (_REQUEST_ID, request.encode())])
            for _ in range(_SENDS_MAX if safe else 1):
                answer, lost = await self._exchange(message, request, end)
                if answer or not lost:
                    break
            if answer is None:
                self.close()        # what is still queued in it must not arrive later
                raise NoAnswer(self.address, timeout, id, lost)
        if answer.code >= 0x80:
            raise Rejected(answer.code, answer.text(_STATUS))
        return answer

    async def _exchange(self, message: list[bytes], request: str, end: float) -> tuple[Optional[_Message], bool]:
        """The answer, or None and whether the connection was lost."""
        if self._lines is None:
            self._lines = _Lines(self._link, self._addresses)
        lines = self._lines
        line = await lines.connected(end)
        if line is None:
            return None, False
        try:
            await self._link.send(line.socket, message)
        except zmq.Again:
            return None, False
        while (parts := await lines.receive(line, end)) is not None:
            answer = _Message.read(parts)
            if answer.text(_REQUEST_ID) == request:
                return answer, False
        return None, line.lost

    async def submit(self, target: str, command: str, argument: Optional[Bytes] = None, *,
                     every: Optional[Duration] = None, at: Union[Instant, timedelta, None] = None,
                     delay: Optional[Duration] = None, cron: Union[str, list[str], None] = None,
                     repeat: Optional[int] = None, title: Optional[str] = None, name: Optional[str] = None,
                     key: Optional[str] = None, id: Union[int, str, None] = None,
                     retry: Union[int, str, dict, None] = None, on_failure: Union[str, dict, None] = None,
                     context: Optional[Bytes] = None, frames: tuple[Frame, ...] = (), **fields: Any) -> Plan:
        if name is not None and key is not None:
            raise ValueError("name, key: want one of them")
        if retry is not None and retry != "forever":
            fields["retry"] = _retry(retry)
        if on_failure is not None:
            fields["on_failure"] = {"command": on_failure} if isinstance(on_failure, str) else on_failure
        key = name if key is None else key
        plan = {**_schedule(every, at, delay, cron, repeat), **{one: _field(one, fields[one]) for one in fields}}
        plan.update({name: value for name, value in (("description", title), ("key", key)) if value is not None})
        if key is None and id is None:
            id = int(time.time() * 1000) << 20 | secrets.randbits(20)   # as the station makes them
        own = f"{id:x}" if isinstance(id, int) else id
        head: list[Frame] = [(_PLAN, json.dumps(plan).encode()), (_STATION_ID, target.encode()),
                             (_COMMAND, command.encode())]
        given = ((_ARG, argument), (_CONTEXT, context), (_GLOBAL_ID, own))
        head += [(kind, _bytes(value)) for kind, value in given if value is not None]
        answer = await self._ask(_CODE_PLAN, [*head, *frames], id=own, safe=own is not None or key is not None)
        first = answer.text(_PLAN_TIME)
        return Plan(answer.text(_GLOBAL_ID), answer.text(_STATUS) or "+plan", int(first) if first else None)

    async def manage(self, command: str, *arguments: Any, patience: Duration = 0) -> Any:
        texts: Iterable[Bytes] = (
            json.dumps(one) if isinstance(one, (dict, list)) else one if isinstance(one, bytes) else str(one)
            for one in arguments)
        frames = [(_COMMAND, command.encode()), *((_ARG, _bytes(text)) for text in texts)]
        safe = command in _READS or [command, *map(str, arguments[:1])] in _READS_OF
        answer = await self._ask(_CODE_MANAGE, frames, patience, safe=safe)
        data = answer.get(_JSON)
        return json.loads(data) if data else None

    async def ping(self) -> None:
        await self._ask(_CODE_PING, [], safe=True)

    async def _of(self, command: str, id: Id, *arguments: Any) -> Any:
        """What the command answers of this plan."""
        *first, last = _refs(id)
        for ref in first:
            try:
                return await self.manage(command, ref, *arguments)
            except Rejected as error:
                if error.code != _NOT_FOUND:
                    raise
        return await self.manage(command, last, *arguments)

    async def get(self, id: Id) -> Record:
        return _record("plan", await self._of("message", id))

    async def pause(self, id: Id) -> Record:
        return _record("plan", await self._of("pause", id))

    async def resume(self, id: Id) -> Record:
        return _record("plan", await self._of("reset", id))

    async def run(self, id: Id) -> Record:
        return _record("plan", await self._of("run", id))

    async def skip(self, id: Id, count: int = 1) -> Record:
        return _record("plan", await self._of("skip", id, count))

    async def cancel(self, id: Id, reason: str = "") -> Record:
        return _record("cancelled", await self._of("cancel", id, *([reason] if reason else [])))

    async def end(self, id: Id) -> Record:
        return _record("plan", await self._of("close", id))

    async def remove(self, id: Id) -> None:
        await self._of("remove", id)

    async def update(self, id: Id, **fields: Any) -> Record:
        fields = {name: _field(name, value) for name, value in fields.items()}
        if "title" in fields:
            fields["description"] = fields.pop("title")
        if isinstance(fields.get("on_failure"), str):
            fields["on_failure"] = {"command": fields["on_failure"]}
        if fields.get("retry") is not None:
            fields["retry"] = None if fields["retry"] == "forever" else _retry(fields["retry"])
        if "revision" not in fields:
            fields["revision"] = (await self.get(id))["revision"]
        return _record("plan", await self._of("update", id, fields))

    async def next(self, id: Id, count: int = 10) -> list[int]:
        return (await self._of("next", id, count))["next"]

    async def output(self, id: Id, run: Union[int, str, None] = None) -> Optional[Output]:
        for ref in _refs(id):
            found = await (self._newest_run(ref) if run is None else self._run_of(ref, str(run)))
            if found:
                return _output(_record("run", found))
        await self.get(id)      # whether there is such a plan
        if run is not None:
            raise Rejected(_NOT_FOUND, f"no run {run} of this plan is in the history")
        return None

    async def _newest_run(self, ref: str) -> Optional[dict]:
        """The newest outcome of the plan, with its output; if it can be, of a run, and not of missed times."""
        missed = None
        async for page in self._pages("history", {"plan": ref, "newest": True, "output": True, "limit": 10}):
            for run in page["runs"]:
                if run["status"] != _MISSED:
                    return {**run, "epoch": page["epoch"]}
                missed = missed or {**run, "epoch": page["epoch"]}
        return missed

    async def _run_of(self, ref: str, wanted: str) -> Optional[dict]:
        """The run of the plan with this number, or with this entry."""
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", wanted)
        if not match:
            raise ValueError(f"run: want a number of a run, or SEQ-K as its entry, got {wanted!r}")
        seq, sub = int(match[1]), int(match[2] or 0)
        before: dict = {"after": f"{seq}-{sub - 1}"} if sub else {"since": max(0, seq - 1)}
        async for page in self._pages("history", {"plan": ref, "output": True, **before}):
            for run in page["runs"]:
                if wanted in (str(run["seq"] or ""), run["entry"]):
                    return run
            if int(page.get("next", "0").split("-")[0]) > seq:
                break
        return None

    async def answers(self, id: Id) -> list[Answer]:
        try:
            told = (await self._of("result", id))["results"]
        except Rejected as error:
            if error.code != _NOT_FOUND:
                raise
        else:
            return [_answer(one) for one in told]
        for ref in _refs(id):       # it has ended
            run = await self._newest_run(ref)
            if run:
                output = _output(_record("run", run))
                whole = output.head + output.tail if output and output.whole else None
                return [Answer(run["worker"], **_status_of(run["status"]), reason=str(_plain(run["reason"])),
                               content=whole, output=output)]
        await self.get(id)      # rejected
        return []

    async def result(self, id: Id) -> Optional[Answer]:
        return next(iter(await self.answers(id)), None)

    async def wait(self, id: Id, timeout: Optional[Duration] = None) -> Optional[Result]:
        end = None if timeout is None else time.monotonic() + _duration("timeout", timeout)
        seen = False
        broadcasts = self._link.subscribe(self._publish)     # before the first look: what ends then is seen
        try:
            while True:
                known, state = await self._state(id)
                if state in ("", "error", "closed"):
                    return await self._last_result(known or id, seen or bool(known))
                id, seen, look = known, True, time.monotonic() + _WAIT_LOOK_S
                while (left := look - time.monotonic()) > 0:
                    if end is not None and time.monotonic() >= end:
                        raise TimeoutError(f"plan {known} has not ended within {timeout}: it is {state}; "
                                           f"`zplan why {known}` tells what it waits for")
                    parts = await self._link.receive(broadcasts, left if end is None else min(left, end - time.monotonic()))
                    if parts and _Message.read(parts[1:]).frames[0][1].decode() == known:
                        break
        finally:
            broadcasts.close()

    async def _state(self, id: Id) -> tuple[str, str]:
        """The plan's id and state, both "" if it is not known any more."""
        try:
            plan = await self.get(id)
        except Rejected as error:
            if error.code != _NOT_FOUND:
                raise
            return "", ""
        return plan["id"], plan["state"]

    async def _last_result(self, id: Id, was_known: bool) -> Optional[Result]:
        for ref in _refs(id):
            run = await self._newest_run(ref)
            if run:
                return _recorded(run, run["epoch"])
        if not was_known:
            await self.get(id)      # rejected
        return None

    async def _pages(self, command: str, filter: dict) -> AsyncIterator[dict]:
        while True:
            page = await self.manage(command, filter)
            yield page
            if "next" not in page:
                return
            filter = {**filter, "after": page["next"]}

    async def _rows(self, command: str, rows: str, kind: str, filter: dict) -> AsyncIterator[Record]:
        """The rows of every page of an admin command."""
        async for page in self._pages(command, filter):
            more = {"epoch": page["epoch"]} if "epoch" in page else {}
            for row in page[rows]:
                yield _record(kind, {**row, **more})

    def list(self, **filter: Any) -> AsyncIterator[Record]:
        filter = _filter(filter, {"name": "key"})
        if filter.get("state") in _STATE_WORDS:
            filter["state"] = _STATE_WORDS[filter["state"]]
        return self._rows("list", "plans", "plan", filter)

    async def history(self, **filter: Any) -> AsyncIterator[Record]:
        filter = _filter(filter, {"id": "plan", "name": "plan"})
        if str(filter.get("since", "")).isdigit():
            filter["since"] = int(filter["since"])      # of an outcome
        failed, begin = filter.pop("failed", False), _begin(filter.get("since"))
        newest_first = filter.get("newest", False)
        if begin is not None:       # the station knows no times: from the newest one back
            del filter["since"]
            filter["newest"] = True
        held = []
        for more in [{"plan": ref} for ref in _refs(filter["plan"])] if "plan" in filter else [{}]:
            found = False
            async for run in self._rows("history", "runs", "run", {**filter, **more}):
                found = True
                if begin is not None and run["ended"] < begin:
                    if run["seq"]:
                        break
                    continue        # it was restored, and stands where that was done
                if failed and (run["status"] in ("ok", "cancelled", "missed")):
                    continue
                if begin is None or newest_first:
                    yield run
                else:
                    held.append(run)
            if found:
                break
        for run in reversed(held):
            yield run

    async def results(self, since: Optional[int] = None, epoch: Optional[str] = None,
                      timeout: Optional[Duration] = None) -> AsyncIterator[Result]:
        timeout = None if timeout is None else _duration("timeout", timeout)
        replay = _Replay(self, since, epoch)
        broadcasts = self._link.subscribe(self._publish)
        try:
            async for result in replay.catch_up():
                yield result
            end = None if timeout is None else time.monotonic() + timeout
            while end is None or time.monotonic() < end:
                left = _LOOK_S if end is None else min(_LOOK_S, end - time.monotonic())
                parts = await self._broadcast_or_news(broadcasts, left)
                news = _broadcast(parts) if parts else None
                if news is None or replay.is_gap(news):
                    async for missed in replay.catch_up():
                        yield missed
                        end = None if timeout is None else time.monotonic() + timeout
                elif replay.is_next(news):
                    yield news
                    end = None if timeout is None else time.monotonic() + timeout
        finally:
            broadcasts.close()


    async def _broadcast_or_news(self, broadcasts: Any, seconds: float) -> Optional[list[bytes]]:
        """A broadcast; None: none came, or the station that answers is gone, whose last ones may be missing."""
        monitors = self._lines.monitors if self._lines else []
        if monitors:
            await self._link.wait([broadcasts, *monitors], seconds)
            seconds = 0
        return await self._link.receive(broadcasts, seconds)


def _begin(since: Any) -> Optional[float]:
    """The Unix seconds of a time, or of so long ago; None: it is none, or the number of an outcome."""
    if isinstance(since, datetime):
        return since.timestamp()
    if isinstance(since, str) and not _DURATION.fullmatch(since):
        try:
            return datetime.fromisoformat(since.replace("Z", "+00:00")).timestamp()
        except ValueError:
            raise ValueError("since: want a duration as 12h, a timedelta, a datetime, RFC 3339, or a number of an "
                             f"outcome, got {since!r}") from None
    return time.time() - _duration("since", since) if isinstance(since, (str, timedelta)) else None


def _filter(filter: dict, names: dict[str, str]) -> dict:
    """With the names of the wire."""
    names = {**names, "target": "station"}
    return {names.get(name, name): value for name, value in filter.items()}


_WAIT_LOOK_S = 2    # a broadcast may have been lost, or be denied to this key
_LOOK_S = 5     # a subscription that was not there yet, or was lost, shows in the history only


class _Replay:
    """Where a subscriber stands, so that it misses nothing (proto/, 9.4)."""

    def __init__(self, client: AsyncClient, since: Optional[int], epoch: Optional[str]):
        self.client, self.seq, self.epoch, self.answered = client, since, epoch, False

    def is_next(self, result: Result) -> bool:
        known = result.epoch == self.epoch and result.seq <= (self.seq or 0)
        if not known:
            self.seq, self.epoch = result.seq, result.epoch
        return not known

    def is_gap(self, result: Result) -> bool:
        return result.epoch != self.epoch or result.seq > (self.seq or 0) + 1

    async def _page(self, request: dict) -> Optional[dict]:
        """None: the station is away, but has answered before."""
        try:
            page = await self.client.manage("history", request)
        except (NoAnswer, Rejected) as error:
            if not self.answered or (isinstance(error, Rejected) and error.code not in _PASSING):
                raise
            return None
        self.answered = True
        return page

    async def catch_up(self) -> AsyncIterator[Result]:
        """What the history has beyond that. Of a station that is away it is only what came before."""
        if self.seq is None:        # from now on
            page = await self._page({"newest": True, "limit": 1})
            self.seq, self.epoch = page["last"], page["epoch"]
            return
        request: dict = {"since": self.seq, "output": True}
        if self.epoch is not None:
            request["epoch"] = self.epoch
        while (page := await self._page(request)) is not None:
            for run in page["runs"]:
                if run["seq"]:      # the others were not broadcast
                    self.seq = max(self.seq, run["seq"]) if page["epoch"] == self.epoch else run["seq"]
                    self.epoch = page["epoch"]
                    yield _recorded(run, page["epoch"])
            if "next" not in page:
                self.seq, self.epoch = page["last"], page["epoch"]
                return
            request["after"] = page["next"]


class _NoLock:
    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: Any) -> None:
        pass


def _each(iterator: Any) -> Iterator[Any]:
    """An asynchronous iterator that never suspends, as an ordinary one."""
    try:
        while True:
            try:
                yield _now(iterator.__anext__())
            except StopAsyncIteration:
                return
    finally:
        _now(iterator.aclose())


class _BlockingClient(AsyncClient):
    _link_of = _Blocking


class Client:
    """A blocking client, of one thread.

    `address` and `publish` are the station's request and publish endpoints; `key` and `server_key` name the
    files of `zplan keygen` (our secret certificate, the station's public one). Every method raises `Rejected`
    with the station's reason, or `NoAnswer` after `timeout`. Of several stations on one Redis `address` and `publish`
    are lists, "tcp://a:7920,tcp://b:7920" or sequences, and `server_key` one file for all or a sequence of one for
    each. Requests wait for the one that serves; when it fails, those that read, and submissions with a name or an
    id, as all have by default, are sent to the next one, and others end with `NoAnswer`. A plan is given by its id (hex text, as the command
    line prints it, or an integer), by its name (`key:NAME` where the name looks like an id), or as the `Plan` that
    `submit` returned. Plans and runs come back as `Record`: the names of `zplan --json`."""

    def __init__(self, address: Addresses = REQUESTS, publish: Addresses = RESULTS, *, key: Optional[str] = None,
                 server_key: Union[str, Iterable[str], None] = None, timeout: Duration = 5.0):
        self._client = _BlockingClient(address, publish, key=key, server_key=server_key, timeout=timeout)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets. Another request opens them again."""
        self._client.close()

    def submit(self, target: str, command: str, argument: Optional[Bytes] = None, *,
               every: Optional[Duration] = None, at: Union[Instant, timedelta, None] = None,
               delay: Optional[Duration] = None, cron: Union[str, list[str], None] = None,
               repeat: Optional[int] = None, title: Optional[str] = None, name: Optional[str] = None,
               key: Optional[str] = None, id: Union[int, str, None] = None,
               retry: Union[int, str, dict, None] = None, on_failure: Union[str, dict, None] = None,
               context: Optional[Bytes] = None, frames: tuple[Frame, ...] = (), **fields: Any) -> Plan:
        """Submit a plan: call `command` of the target with this argument.

        When: `delay` (once, so long from now: "3h", seconds or a timedelta), `at` (once: a datetime, Unix seconds
        or RFC 3339), `every` ("10m", "1h30m", seconds or a timedelta) or `cron` (an expression, or a list of
        them); none of them: at once. `repeat`: how many times; without it for ever.
        `title`: for people, and what subscribers can subscribe to. `name` (or `key`): of which there is one plan
        at a time; it is accepted wherever an id is. `id`: an id of one's own; the same plan submitted again under it
        is accepted once (with `at`: a `delay` restarts).
        `retry`: how many times a failed run is repeated before the next occurrence has its turn, 10 s later, then
        20 s, 40 s ...; 0 or "none": never; without it, or with "forever", until it succeeds; or an object (proto/,
        7.4). `on_failure`: a command that is called with the outcome as JSON when all retries have failed; or
        {"command": text, "station": target, "title": text}. `timeout`: a run that takes longer has failed.
        `context`: a CONTEXT frame. `frames`: further (type, bytes). All other options are fields of the PLAN frame
        (proto/, 5.2): `timezone`, `misfire`, `priority`, `plan_type` ..."""
        return _now(self._client.submit(
            target, command, argument, every=every, at=at, delay=delay, cron=cron, repeat=repeat, title=title,
            name=name, key=key, id=id, retry=retry, on_failure=on_failure, context=context, frames=frames, **fields))

    def manage(self, command: str, *arguments: Any, patience: Duration = 0) -> Any:
        """Any admin command (proto/, 9): its JSON, or None if it answers none. Dictionaries are sent as JSON.
        `patience`: seconds beyond the timeout, for commands that wait."""
        return _now(self._client.manage(command, *arguments, patience=patience))

    def ping(self) -> None:
        """Return if the station answers."""
        _now(self._client.ping())

    def get(self, id: Id) -> Record:
        """The stored plan: `state`, `next_at`, `counts`, `last`, `spec` ..."""
        return _now(self._client.get(id))

    def pause(self, id: Id) -> Record:
        """Keep the plan, and do not run it until `resume`. A run in progress goes on."""
        return _now(self._client.pause(id))

    def resume(self, id: Id) -> Record:
        """Queue a paused or failed plan again."""
        return _now(self._client.resume(id))

    def run(self, id: Id) -> Record:
        """Run it now, outside its schedule."""
        return _now(self._client.run(id))

    def skip(self, id: Id, count: int = 1) -> Record:
        """Skip the next occurrences."""
        return _now(self._client.skip(id, count))

    def cancel(self, id: Id, reason: str = "") -> Record:
        """End the run in progress; `notified`: whether the target could be told."""
        return _now(self._client.cancel(id, reason))

    def end(self, id: Id) -> Record:
        """Close the plan: it never runs again, and is kept until `remove`."""
        return _now(self._client.end(id))

    def remove(self, id: Id) -> None:
        """Delete the plan."""
        _now(self._client.remove(id))

    def update(self, id: Id, **fields: Any) -> Record:
        """Change `title`, `retry`, `on_failure` and other fields of the PLAN frame. Rejected if the plan has changed
        since `revision` was read; without `revision` it is read first."""
        return _now(self._client.update(id, **fields))

    def next(self, id: Id, count: int = 10) -> list[int]:
        """The next times of the plan, Unix seconds."""
        return _now(self._client.next(id, count))

    def output(self, id: Id, run: Union[int, str, None] = None) -> Optional[Output]:
        """What the last run of the plan wrote, also of a plan that has ended, for 7 days; or what `run` wrote, its
        `seq` in the history. None: nothing is kept of it, or no run has ended yet. Rejected ("not found"): there is
        neither such a plan nor a run of it."""
        return _now(self._client.output(id, run))

    def result(self, id: Id) -> Optional[Answer]:
        """The whole last result of the plan, also of one that has ended (then up to 64 KiB); None before the first
        one. What earlier runs wrote: `output`."""
        return _now(self._client.result(id))

    def answers(self, id: Id) -> list[Answer]:
        """The same; of the last run of a vote plan one of each voter."""
        return _now(self._client.answers(id))

    def wait(self, id: Id, timeout: Optional[Duration] = None) -> Optional[Result]:
        """Wait until the plan has ended, after its last retry, and return the outcome of its last run; None if it
        ended without one. For plans that run once, or `repeat` times: a plan without an end is waited for until
        somebody closes it. TimeoutError after `timeout`; the plan goes on, and may be waited for again."""
        return _now(self._client.wait(id, timeout))

    def list(self, **filter: Any) -> Iterator[Record]:
        """The stored plans; the filter is that of proto/, 9.3: `target`, `state` (as in the records), `title`, `name` ..."""
        return _each(self._client.list(**filter))

    def history(self, **filter: Any) -> Iterator[Record]:
        """Outcomes of runs, the oldest first; the filter is that of proto/, 9.4: `plan` (an id or a name), `target`,
        `newest=True`, `output=True` for what each run wrote (then `record["output"]`) ... Filtered here:
        `failed=True`, and `since`, which may be a time ("12h" ago, a timedelta, a datetime) besides the number of an
        outcome."""
        return _each(self._client.history(**filter))

    def results(self, since: Optional[int] = None, epoch: Optional[str] = None, timeout: Optional[Duration] = None) -> Iterator[Result]:
        """Results as they come, without a gap: what a lost connection missed is replayed from the history.

        To resume after a restart pass the `seq` and `epoch` of the last result that was handled; without them
        it begins now, with 0 at the beginning of the history. Ends when nothing came for `timeout`; without it,
        never: a station that is away is waited for. NoAnswer only if it does not answer at the beginning."""
        return _each(self._client.results(since, epoch, timeout))


for _name, _method in vars(Client).items():
    if _name[0] != "_":
        getattr(AsyncClient, _name).__doc__ = _method.__doc__


# -- workers

class JobFailed(Exception):
    """Raised by a handler: the job has failed, and this is why. Any other exception does the same."""


def _object_of(data: bytes) -> dict:
    """A JSON object; empty if it is not valid: any requester may have sent the frame."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class Job:
    """What a handler is called with. It may be called again for the same work: what must not be done twice is
    known by its `idempotency_key`. A call of a flow has `run`, in hex, `step`, `item` (None without `for_each`),
    `generation` and `undo`; else `run` is ""."""

    def __init__(self, message: _Message, id: str, exec_id: str, at: int, plan: Optional[dict] = None):
        self.data = message.first(_ARG, message.first(_CONTENT))
        self.command, self.argument, self.context = (
            data.decode(errors="replace") for data in (message.first(_COMMAND), self.data, message.first(_CONTEXT)))
        self.id, self.exec_id, self.time = id, exec_id, at
        self._json = message.first(_JSON)
        call = (plan or {}).get("flow") if id else None      # only the station says which call it is
        call = call if isinstance(call, dict) else {}
        self.run, self.step, self.item = call.get("run", ""), call.get("step", ""), call.get("item")
        self.generation, self.undo = call.get("generation", 0), call.get("undo", False)
        self.progress_text = ""
        self._stop = threading.Event()

    @property
    def json(self) -> Any:
        """The value of the JSON frame: of a flow's step its `json`. None without one."""
        return json.loads(self._json) if self._json else None

    @property
    def idempotency_key(self) -> str:
        """As ZPLAN_IDEMPOTENCY_KEY of `zplan work`; "" of an ordinary call."""
        if self.run:
            item = "" if self.item is None else f".{self.item}"
            return f"{self.run}/{self.step}{item}:{self.generation}{':undo' if self.undo else ''}"
        return f"{self.id}@{self.time or -1}" if self.id else ""

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the job any more: return soon."""
        return self._stop.is_set()

    def wait(self, seconds: Duration) -> bool:
        """Sleep, but not longer than until the job is cancelled; whether it is."""
        return self._stop.wait(_duration("seconds", seconds))

    def progress(self, text: str) -> None:
        """How far it is, for people: `zplan show` prints it, or `zplan team` for a pull target. At most 256 bytes."""
        self.progress_text = _cut(text, _PROGRESS_MAX)


class _Handlers:
    def __init__(self, name: Optional[str], jobs: int):
        if not 1 <= jobs <= 64:
            raise ValueError("jobs: want 1..64")
        host = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())[:40]
        self.name, self.jobs = name or f"{host}-{os.getpid()}-{secrets.token_hex(2)}", jobs
        self._handlers: dict[str, Callable[[Job], Any]] = {}
        self._leaving = threading.Event()

    def command(self, name: str) -> Callable[[Callable[[Job], Any]], Callable[[Job], Any]]:
        """Decorator: the function handles this command; "" handles those that have no other.

        It returns the result: text, bytes, anything else that JSON can hold, or None. That is the value of a flow's
        step: of a dict or a list its members. An exception fails the job with its text as the reason."""
        def keep(function: Callable[[Job], Any]) -> Callable[[Job], Any]:
            self._handlers[name] = function
            return function
        return keep

    def stop(self) -> None:
        """Take no more jobs; `run` returns when those in progress have ended. From any thread."""
        self._leaving.set()

    def _do(self, job: Job) -> tuple[bool, Any]:
        """Whether it succeeded, and its result or its reason."""
        handler = self._handlers.get(job.command) or self._handlers.get("")
        if handler is None:
            return False, f"no handler for the command {job.command!r}"
        try:
            result = handler(job)
            if result is not None:
                _frame_of(result)       # what cannot be sent fails the job, and not the worker
            return True, result
        except BaseException as error:      # pylint: disable=broad-except # also sys.exit: the job ends
            return False, str(error) or type(error).__name__


_SILENCE_S = 3
_LEAVE_S = 1        # for the answer to the last heartbeat of a worker that leaves


class Worker(_Handlers):
    """A worker of a target station (zstationd), at its workers' endpoint; `jobs` at once. Of a list of endpoints the
    next one is tried when one has not answered for 3 seconds."""

    def __init__(self, address: Addresses = WORKERS, *, name: Optional[str] = None, jobs: int = 1,
                 key: Optional[str] = None, server_key: Union[str, Iterable[str], None] = None):
        super().__init__(name, jobs)
        self._addresses, self._index, self._heard = _list_of(address), 0, 0.0
        self._link, self.address = _Blocking(_Keys(key, server_key, self._addresses)), ",".join(self._addresses)
        self._running: dict[tuple[bytes, bytes], Job] = {}
        self._ended: queue.SimpleQueue = queue.SimpleQueue()
        self._wake = socket.socketpair()        # the threads of jobs wake the one that has the ZeroMQ socket
        self._joined, self._withdrawn, self._leave_by = False, False, 0.0
        self._credits = 0       # jobs that were requested and have not come
        self._beats = 0         # heartbeats that have no answer yet
        self._last_beats = 0    # of those that were sent until it left

    def run(self) -> None:
        """Serve until `stop`, or until `zplan drain` ends it."""
        self._connect()
        beat, self._withdrawn = 0.0, False
        try:
            while not self._has_left():
                if time.monotonic() >= beat:
                    if len(self._addresses) > 1 and time.monotonic() > self._heard + _SILENCE_S:
                        self._next_address()
                    self._heartbeat()
                    beat = time.monotonic() + 1
                if self._leaving.is_set() and self._joined and not self._withdrawn:
                    self._withdraw()
                due = min(beat, self._leave_by) if self._last_beats else beat
                ready = dict(self._poller.poll(int(max(0, due - time.monotonic()) * 1000) + 1))
                if self._wake[0].fileno() in ready:
                    self._wake[0].recv(4096)
                if self._socket in ready:
                    self._heard = time.monotonic()
                    self._take(self._socket.recv_multipart())
                while not self._ended.empty():
                    self._answer(*self._ended.get())
            self._say(_LEFT, [(_ARG, self.name.encode())])
        finally:
            self._socket.close(linger=1000)

    def _withdraw(self) -> None:
        """Return the credits. A job that is on its way comes before the answer to a heartbeat that follows: until
        then the worker has not left."""
        self._withdrawn = True
        name = (_ARG, self.name.encode())
        self._say(_READY, [name, (_ARG, b"0")])
        self._beats += self._say(_PITPAT, [name])
        self._last_beats = self._beats if self._credits else 0
        self._leave_by = time.monotonic() + _LEAVE_S

    def _has_left(self) -> bool:
        if time.monotonic() >= self._leave_by:
            self._last_beats = 0
        withdrawn = self._withdrawn or not self._joined
        return self._leaving.is_set() and withdrawn and not self._running and not self._last_beats

    def _connect(self) -> None:
        self._heard = time.monotonic()
        self._socket = self._link.make(zmq.DEALER)
        self._link.connect(self._socket, self._addresses, self._index)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._wake[0], zmq.POLLIN)

    def _next_address(self) -> None:
        """This one is silent. It knows nothing any more of the jobs that are running."""
        self._socket.close()
        self._index = (self._index + 1) % len(self._addresses)
        self._connect()
        self._leave_jobs()

    def _leave_jobs(self) -> None:
        self._joined = False
        self._credits = self._beats = self._last_beats = 0
        for job in self._running.values():
            job._stop.set()

    def stop(self) -> None:
        super().stop()
        self._wake[1].send(b".")

    def _say(self, code: int, frames: list[Frame], mailbox: Optional[bytes] = None) -> bool:
        try:
            self._socket.send_multipart([*([mailbox] if mailbox else []), *_pack(code, frames)], zmq.DONTWAIT)
        except zmq.Again:
            return False        # the station is away; the next heartbeat tries again
        return True

    def _request_job(self) -> None:
        self._credits += self._say(_READY, [(_ARG, self.name.encode())])

    def _heartbeat(self) -> None:
        name = (_ARG, self.name.encode())
        if self._joined:
            self._beats += self._say(_PITPAT, [name])
        elif not self._leaving.is_set():
            self._beats += self._say(_JOIN, [name, (_ARG, str(self.jobs).encode()), (_ARG, b"cancel")])
        for (mailbox, local), job in self._running.items():
            text = [(_STATUS, job.progress_text.encode())] if job.progress_text else []
            self._say(_WAITING, [*text, (_LOCAL_ID, local)], mailbox)

    def _take(self, parts: list[bytes]) -> None:
        if not _is_description(parts[0], len(parts) - 1):
            well_formed = len(parts) > 1 and _is_description(parts[1], len(parts) - 2)
            return self._take_job(parts[0], _Message.read(parts[1:])) if well_formed else None
        code = parts[0][1]
        if code == _BYE:
            self._leaving.set()
            return None
        self._beats -= self._beats > 0      # answers come in order
        self._last_beats -= self._last_beats > 0
        if code == _OK and not self._joined:
            self._joined = True
            for _ in range(self.jobs - len(self._running)):    # the others follow when their jobs end
                self._request_job()
        elif code == _ARGUMENT_ERROR and not self._joined:      # no station takes this name
            raise Rejected(code, _Message.read(parts).text(_STATUS))
        elif code >= 0x80:      # it does not know us: it was restarted
            self._leave_jobs()
        return None

    def _take_job(self, mailbox: bytes, message: _Message) -> None:
        local = message.get(_LOCAL_ID)
        if message.code == _CODE_CANCEL:
            job = self._running.get((mailbox, local))
            return job._stop.set() if job else None
        self._credits -= self._credits > 0
        at = message.text(_PLAN_TIME)
        is_run = mailbox.startswith(b"*")
        job = Job(message, mailbox[1:].decode(errors="replace") if is_run else "", local.decode(errors="replace"),
                  int(at) if at.isascii() and at.isdigit() else 0, _object_of(message.get(_PLAN)))
        if self._leaving.is_set():
            return self._say(_NOT_WORKER, [(_LOCAL_ID, local)], mailbox)
        self._running[mailbox, local] = job
        threading.Thread(target=self._work, args=(mailbox, local, job), daemon=True).start()
        return None

    def _work(self, mailbox: bytes, local: bytes, job: Job) -> None:
        self._ended.put((mailbox, local, job, *self._do(job)))
        self._wake[1].send(b".")

    def _answer(self, mailbox: bytes, local: bytes, job: Job, succeeded: bool, result: Any) -> None:
        if self._running.get((mailbox, local)) is job:     # else it was sent again meanwhile
            del self._running[mailbox, local]
            frames: list[Frame] = [] if result is None else [_frame_of(result)]
            if not succeeded:
                frames = [(_STATUS, _cut(f"-failed: {result}", _TEXT_MAX).encode())]
            self._say(_OK if succeeded else _FAILED, [*frames, (_LOCAL_ID, local)], mailbox)
        if self._joined and not self._leaving.is_set():
            self._request_job()


def _frame_of(result: Any) -> Frame:
    if isinstance(result, bytes):
        return _BIN, result
    return (_CONTENT, result.encode()) if isinstance(result, str) else (_JSON, json.dumps(result, allow_nan=False).encode())


class PullWorker(_Handlers):
    """A worker that fetches the plans of a pull target from the station itself; `jobs` at once. `address` may be a
    list, as in `Client`. A result waits for a station that is away; a worker that stops gives it up when the plan's
    `worker_timeout` has passed."""

    def __init__(self, target: str = "jobs", address: Addresses = REQUESTS, *, name: Optional[str] = None, jobs: int = 1,
                 key: Optional[str] = None, server_key: Union[str, Iterable[str], None] = None, wait: Duration = 20):
        super().__init__(name, jobs)
        self.target, self.wait = target, _duration("wait", wait)
        self._client = lambda: Client(address, key=key, server_key=server_key)
        self._rejected: Optional[Rejected] = None       # the last take

    def run(self) -> None:
        """Serve until `stop`, which takes up to `wait` seconds. A station that is away is asked again. If it rejects
        the worker, `Rejected` is raised when the jobs in progress have ended and are reported."""
        free = threading.Semaphore(self.jobs)
        threads: list[threading.Thread] = []
        self._rejected = None
        with self._client() as station:
            while not self._leaves():
                if not free.acquire(timeout=0.2):
                    continue
                free.release()
                for job in self._fetch(station):
                    free.acquire()
                    threads = [one for one in threads if one.is_alive()]
                    threads.append(threading.Thread(target=self._serve, args=(job, free), daemon=True))
                    threads[-1].start()
        for thread in threads:
            thread.join()
        if self._rejected:
            raise self._rejected

    def _leaves(self) -> bool:
        return self._leaving.is_set() or self._rejected is not None

    def _fetch(self, station: Client) -> list[dict]:
        request = {"station": self.target, "worker": self.name, "limit": 1, "wait": int(self.wait)}
        try:
            return station.manage("take", request, patience=self.wait)["jobs"]
        except NoAnswer:
            return []
        except Rejected as error:
            if error.code in _PASSING:
                self._leaving.wait(1)
            else:
                self._rejected = error
            return []

    def _serve(self, taken: dict, free: threading.Semaphore) -> None:
        try:
            with self._client() as station:
                _Fetched(self, station, taken).serve()
        finally:
            free.release()


_AGAIN_S = 1        # until a request that was not accepted is repeated
_NEWS_S = 1         # between two reports of a job's progress


class _Fetched:
    """A job of a `PullWorker`, with a connection of its own: its heartbeats while the handler runs, and its report."""

    def __init__(self, worker: PullWorker, station: Client, taken: dict):
        parts = [_bytes(_plain(frame)) for frame in taken["frames"]]
        self._worker, self._station = worker, station
        self._me = {"plan": taken["plan_id"], "worker": worker.name, "exec_id": taken["exec_id"]}
        self._job = Job(_Message.read(parts), taken["plan_id"], taken["exec_id"], taken.get("plan_time", 0),
                        taken["plan"])
        self._accepted, self._timeout = time.monotonic(), taken["worker_timeout"]
        self._due = self._accepted + taken["ping_interval"]
        self._shown = ""        # the progress that the station has
        self._over = False      # the station wants no report

    def serve(self) -> None:
        outcome: list[tuple[bool, Any]] = []
        thread = threading.Thread(target=lambda: outcome.append(self._worker._do(self._job)), daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(None if self._over else min(_NEWS_S, max(0, self._due - time.monotonic())))
            if thread.is_alive() and (time.monotonic() >= self._due or self._job.progress_text != self._shown):
                self._alive()
        if not self._over:
            self._report(self._outcome(*outcome[0]))

    def _alive(self) -> None:
        progress = self._job.progress_text
        more = {"progress": progress} if progress != self._shown else {}
        try:
            answer = self._station.manage("alive", {**self._me, **more})
            self._shown, self._accepted = progress, time.monotonic()
        except Rejected as error:
            answer = {"stop": error.reason} if error.code == _NOT_FOUND else {}
        except NoAnswer:
            answer = {}
        self._due = time.monotonic() + answer.get("ping_interval", _AGAIN_S)
        self._timeout = answer.get("worker_timeout", self._timeout)
        if "stop" in answer:
            self._over = True
            self._job._stop.set()

    def _outcome(self, succeeded: bool, result: Any) -> dict:
        if succeeded and len(json.dumps(_json_of(result), ensure_ascii=False, separators=(",", ":")).encode(
                errors="replace")) > _RESULT_MAX:
            succeeded, result = False, f"the result is larger than {_RESULT_MAX} bytes of JSON"
        if not succeeded:
            return self._failure(str(result))
        known = {} if result is None else {"result": _json_of(result)}
        return {**self._me, "state": "success", **known}

    def _failure(self, reason: str) -> dict:
        return {**self._me, "state": "fail", "reason": _cut(reason, _TEXT_MAX)}

    def _report(self, report: dict) -> None:
        """The same report again counts once, so it is repeated until it is answered. If the station rejects what is
        in it, a failure replaces it: without a report the plan would run again."""
        replaced = False
        while True:
            try:
                return self._station.manage("report", report)
            except Rejected as error:
                if error.code == _ARGUMENT_ERROR and not replaced:
                    report, replaced = self._failure(f"the station rejects the report: {error}"), True
                    continue
                if error.code not in (*_PASSING, _DENIED):
                    return None     # the run is over: cancelled, timed out or removed
            except NoAnswer:
                pass
            if self._is_given_up():
                return None
            time.sleep(_AGAIN_S)

    def _is_given_up(self) -> bool:
        """A worker that leaves does not wait for a station that has given the job to another one by now."""
        return self._worker._leaves() and time.monotonic() > self._accepted + self._timeout


def _json_of(result: Any) -> Any:
    return {"b64": base64.b64encode(result).decode()} if isinstance(result, bytes) else result
