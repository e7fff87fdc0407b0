"""Client and worker of the plan proxy station zplan, in one file on pyzmq.

    import zplan

    with zplan.Client() as station:
        plan = station.submit("jobs", "report", "monthly", title="report", cron="30 8 * * 1")
        print(plan.id, plan.status)
        for result in station.results():
            print(result.id, result.title, result.status, result.text)

`AsyncClient` has the same methods for asyncio. `Worker` serves a target station (zstationd), `PullWorker`
fetches plans from the station itself:

    worker = zplan.PullWorker("jobs")

    @worker.command("report")
    def report(job):
        return f"the {job.argument} report is written"

    worker.run()

Each call either returns what the station did, or raises `Rejected` with the station's reason, or `NoAnswer`.
A client belongs to one thread (an `AsyncClient` to one event loop); workers run each job in a thread of its
own. The wire is specified in proto/ of the zplan source.
"""
from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import queue
import re
import secrets
import socket
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, AsyncIterator, Callable, Iterator, Optional, Union

import zmq
import zmq.asyncio
import zmq.auth

__all__ = ["AsyncClient", "Client", "Error", "Job", "JobFailed", "NoAnswer", "Plan", "PullWorker", "Rejected", "Result", "Worker"]
__version__ = "0.1.0"

REQUESTS, RESULTS, WORKERS = "tcp://127.0.0.1:7920", "tcp://127.0.0.1:7921", "tcp://127.0.0.1:7931"

# -- the wire (proto/, chapter 3)

_GLOBAL_ID, _STATION_ID, _STATUS, _REQUEST_ID, _PLAN, _PLAN_TIME, _LOCAL_ID = 1, 2, 3, 4, 5, 6, 8
_COMMAND, _ARG, _CONTENT, _JSON, _BIN, _CONTEXT = b"$%TJB#"
_CODE_MANAGE, _CODE_PLAN, _CODE_PING, _CODE_CANCEL = 0x01, 0x02, 0x2A, 0x2D
_JOIN, _READY, _PITPAT, _LEFT = b"JRPL"
_RESULT_MAX = 65536     # bytes of JSON in a report (7.9): the station rejects a larger one, and runs the plan again
_OK, _BYE, _WAITING, _FAILED, _NOT_WORKER = 0x01, 0x04, 0x22, 0x82, 0x88

_STATUSES = {
    0x01: "ok", 0x02: "plan", 0x03: "running", 0x04: "bye", 0x22: "waiting", 0x81: "error", 0x82: "failed",
    0x83: "not found", 0x84: "not supported", 0x85: "invalid", 0x86: "timed out", 0x87: "unavailable",
    0x88: "no worker", 0x89: "invalid argument", 0x8B: "invalid plan", 0x8C: "not sent",
    0x8D: "target did not answer", 0x8E: "denied", 0x8F: "busy", 0x90: "cancelled", 0x91: "missed",
}

Bytes = Union[str, bytes]
Frame = tuple[int, bytes]


def status_name(code: int) -> str:
    """A status of the wire in words: `0x82` is "failed"."""
    return _STATUSES.get(code, f"status {code:#04x}")


def _bytes(value: Bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _pack(code: int, frames: list[Frame]) -> list[bytes]:
    if len(frames) > 32:
        raise ValueError("at most 32 frames")
    return [bytes([len(frames), code, *(kind for kind, _ in frames), 0]), *(data for _, data in frames)]


def _is_description(frame: bytes, following: int) -> bool:
    return len(frame) >= following + 2 and frame[0] == following


@dataclass(frozen=True)
class _Message:
    """A description frame and its frames; the last one of a type counts."""

    code: int
    frames: tuple[Frame, ...]

    @classmethod
    def read(cls, parts: list[bytes]) -> "_Message":
        if not parts or not _is_description(parts[0], len(parts) - 1):
            raise ValueError("not a message of zplan/1")
        return cls(parts[0][1], tuple(zip(parts[0][2:], parts[1:])))

    def get(self, kind: int, default: bytes = b"") -> bytes:
        return next((data for known, data in reversed(self.frames) if known == kind), default)

    def text(self, kind: int) -> str:
        return self.get(kind).decode(errors="replace")


def _plain(value: Any) -> Any:
    """Bytes that JSON cannot hold come as {"b64": ...}."""
    if isinstance(value, dict) and set(value) == {"b64"}:
        return base64.b64decode(value["b64"])
    return value


def _hex(id: Union[int, str]) -> str:
    return f"{id:x}" if isinstance(id, int) else id


# -- what goes wrong

class Error(Exception):
    """Every error of this module."""


class Rejected(Error):
    """The station rejected a request. `status` is a short name as "invalid plan", `reason` its text."""

    def __init__(self, code: int, reason: str):
        super().__init__(reason or status_name(code))
        self.code, self.status, self.reason = code, status_name(code), reason


class NoAnswer(Error, TimeoutError):
    """No answer within the timeout. Whether the station handled the request is not known.

    `id` is the plan's id if it was a submission: submit the same plan again with `id=error.id`, and there is
    one plan, whichever of the two arrived."""

    def __init__(self, address: str, timeout: float, id: Optional[str] = None):
        super().__init__(f"no answer from {address} within {timeout:g} s")
        self.id = id


# -- what comes back

@dataclass(frozen=True)
class Plan:
    """A submission that was accepted. `status` says more than "+plan" if it already existed; `first` is when it
    runs next, Unix seconds, None if it is closed."""

    id: str
    status: str
    first: Optional[int] = None


@dataclass(frozen=True)
class Result:
    """The outcome of a run: broadcast, or replayed from the history, which has no content."""

    id: str
    target: str
    title: str
    status: str
    ok: bool
    reason: str
    exec_id: int
    seq: int
    epoch: str
    replayed: bool
    content: Optional[bytes] = None
    plan: dict = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """The result's content, of a failure its reason."""
        return self.content.decode(errors="replace") if self.content else self.reason


def _broadcast(parts: list[bytes]) -> Result:
    message = _Message.read(parts[1:])
    plan = json.loads(message.frames[1][1])
    answer = _Message(message.code, message.frames[2:])
    content = next((data for kind, data in answer.frames if kind in (_CONTENT, _JSON, _BIN)), None)
    return Result(
        id=message.frames[0][1].decode(), target=_plain(plan.get("station", "")),
        title=parts[0].decode(errors="replace"), status=status_name(message.code), ok=message.code < 0x80,
        reason=answer.text(_STATUS), exec_id=plan.get("exec_id", 0), seq=plan["seq"], epoch=plan["epoch"],
        replayed=False, content=content, plan=plan)


def _recorded(run: dict, epoch: str) -> Result:
    return Result(
        id=run["plan"], target=run["station"], title=str(_plain(run["title"])), status=status_name(run["status"]),
        ok=run["status"] < 0x80, reason=str(_plain(run["reason"])), exec_id=run["exec_id"], seq=run["seq"],
        epoch=epoch, replayed=True, plan=run)


# -- sockets, blocking and for asyncio

class _Keys:
    """CURVE: files of `zplan keygen`, ours with the secret key and the station's public one."""

    def __init__(self, key: Optional[str], server_key: Optional[str]):
        if (key is None) != (server_key is None):
            raise ValueError("key and server_key go together")
        self.own = zmq.auth.load_certificate(key) if key else None
        self.server = zmq.auth.load_certificate(server_key)[0] if server_key else None

    def apply(self, socket_: Any) -> Any:
        socket_.linger = 0
        if self.own:
            socket_.curve_publickey, socket_.curve_secretkey = self.own
            socket_.curve_serverkey = self.server
        return socket_


class _Blocking:
    """Sockets whose waits block. Its coroutines never suspend, so that `_now` can run them."""

    def __init__(self, keys: _Keys):
        self.context, self.keys = zmq.Context.instance(), keys

    def open(self, kind: int, address: str) -> Any:
        opened = self.keys.apply(self.context.socket(kind))
        if kind == zmq.SUB:
            opened.subscribe(b"")
        opened.connect(address)
        return opened

    async def receive(self, socket_: Any, seconds: float) -> Optional[list[bytes]]:
        return socket_.recv_multipart() if socket_.poll(max(0, seconds) * 1000) else None

    async def send(self, socket_: Any, parts: list[bytes]) -> None:
        socket_.send_multipart(parts, zmq.DONTWAIT)


class _Awaiting(_Blocking):
    def __init__(self, keys: _Keys):
        super().__init__(keys)
        self.context = zmq.asyncio.Context.instance()

    async def receive(self, socket_: Any, seconds: float) -> Optional[list[bytes]]:
        ready = await socket_.poll(max(0, seconds) * 1000)
        return await socket_.recv_multipart() if ready else None

    async def send(self, socket_: Any, parts: list[bytes]) -> None:
        await socket_.send_multipart(parts, zmq.DONTWAIT)


def _now(coroutine: Any) -> Any:
    """The value of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise RuntimeError("it suspended")


# -- clients

_UNITS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}


def _seconds(when: Any) -> Union[int, str]:
    return int(when.timestamp()) if isinstance(when, datetime) else when


def _schedule(every: Any, at: Any, cron: Any, repeat: Optional[int]) -> dict:
    """The fields of a PLAN frame (proto/, 5.2) that say when; none of them: at once."""
    if sum(value is not None for value in (every, at, cron)) > 1:
        raise ValueError("every, at, cron: want one of them")
    if cron is not None:
        return {"plan_type": "cron", "cron": cron, "plan_repet": -1 if repeat is None else repeat}
    if every is not None:
        match = re.fullmatch(r"(\d+)([smhd]?)", str(every))
        if not match:
            raise ValueError(f"every: want seconds, or a number and s, m, h or d, got {every!r}")
        return {"plan_type": _UNITS[match[2] or "s"], "plan_value": int(match[1]),
                "plan_repet": -1 if repeat is None else repeat}
    if repeat not in (None, 1):
        raise ValueError("repeat: needs every or cron")
    return {"plan_type": "time", "plan_time": _seconds(at)} if at is not None else {"plan_type": "none"}


class AsyncClient:
    """A client for asyncio, of one event loop. See `Client` for the methods' arguments and errors."""

    _link_of: Callable[[_Keys], _Blocking] = _Awaiting

    def __init__(self, address: str = REQUESTS, publish: str = RESULTS, *, key: Optional[str] = None,
                 server_key: Optional[str] = None, timeout: float = 5.0):
        self.address, self.publish, self.timeout = address, publish, timeout
        self._link = self._link_of(_Keys(key, server_key))
        self._socket: Any = None
        self._turn = asyncio.Lock() if isinstance(self._link, _Awaiting) else _NoLock()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets. Another request opens them again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def _ask(self, code: int, frames: list[Frame], patience: float = 0, id: Optional[str] = None) -> _Message:
        # It distinguishes the answer from late ones to other requests. A plan that is submitted again under its id
        # must be the same to the byte, with this frame.
        request = hashlib.sha1(repr(frames).encode()).hexdigest()[:16] if id else secrets.token_hex(8)
        async with self._turn:
            if self._socket is None:
                self._socket = self._link.open(zmq.DEALER, self.address)
            timeout = self.timeout + patience
            end = time.monotonic() + timeout
            try:
                await self._link.send(self._socket, _pack(code, [*frames, (_REQUEST_ID, request.encode())]))
            except zmq.Again:
                raise NoAnswer(self.address, timeout, id) from None
            while (parts := await self._link.receive(self._socket, end - time.monotonic())) is not None:
                answer = _Message.read(parts)
                if answer.text(_REQUEST_ID) == request:
                    break
            else:
                self.close()        # what is still queued in it must not arrive later
                raise NoAnswer(self.address, timeout, id)
        if answer.code >= 0x80:
            raise Rejected(answer.code, answer.text(_STATUS))
        return answer

    async def submit(self, target: str, command: str, argument: Optional[Bytes] = None, *, every: Any = None,
                     at: Any = None, cron: Any = None, repeat: Optional[int] = None, title: Optional[str] = None,
                     key: Optional[str] = None, id: Union[int, str, None] = None,
                     context: Optional[Bytes] = None, frames: tuple[Frame, ...] = (), **fields: Any) -> Plan:
        plan = {**_schedule(every, at, cron, repeat), **fields}
        plan.update({name: value for name, value in (("description", title), ("key", key)) if value is not None})
        if key is None and id is None:
            id = int(time.time() * 1000) << 20 | secrets.randbits(20)   # as the station makes them
        head: list[Frame] = [(_PLAN, json.dumps(plan).encode()), (_STATION_ID, target.encode()),
                             (_COMMAND, command.encode())]
        given = ((_ARG, argument), (_CONTEXT, context), (_GLOBAL_ID, _hex(id) if id is not None else None))
        head += [(kind, _bytes(value)) for kind, value in given if value is not None]
        answer = await self._ask(_CODE_PLAN, [*head, *frames], id=_hex(id) if id is not None else None)
        first = answer.text(_PLAN_TIME)
        return Plan(answer.text(_GLOBAL_ID), answer.text(_STATUS) or "+plan", int(first) if first else None)

    async def manage(self, command: str, *arguments: Any, patience: float = 0) -> Any:
        texts = [json.dumps(one) if isinstance(one, (dict, list)) else one if isinstance(one, bytes) else str(one)
                 for one in arguments]
        frames = [(_COMMAND, command.encode()), *((_ARG, _bytes(text)) for text in texts)]
        answer = await self._ask(_CODE_MANAGE, frames, patience)
        data = answer.get(_JSON)
        return json.loads(data) if data else None

    async def ping(self) -> None:
        await self._ask(_CODE_PING, [])

    async def get(self, id: Union[int, str]) -> dict:
        return await self.manage("message", _hex(id))

    async def pause(self, id: Union[int, str]) -> dict:
        return await self.manage("pause", _hex(id))

    async def resume(self, id: Union[int, str]) -> dict:
        return await self.manage("reset", _hex(id))

    async def run(self, id: Union[int, str]) -> dict:
        return await self.manage("run", _hex(id))

    async def skip(self, id: Union[int, str], count: int = 1) -> dict:
        return await self.manage("skip", _hex(id), count)

    async def cancel(self, id: Union[int, str], reason: str = "") -> dict:
        return await self.manage("cancel", _hex(id), *([reason] if reason else []))

    async def end(self, id: Union[int, str]) -> dict:
        return await self.manage("close", _hex(id))

    async def remove(self, id: Union[int, str]) -> None:
        await self.manage("remove", _hex(id))

    async def update(self, id: Union[int, str], **fields: Any) -> dict:
        if "revision" not in fields:
            fields["revision"] = (await self.get(id))["revision"]
        return await self.manage("update", _hex(id), fields)

    async def next(self, id: Union[int, str], count: int = 10) -> list[int]:
        return (await self.manage("next", _hex(id), count))["next"]

    async def _rows(self, command: str, rows: str, filter: dict) -> AsyncIterator[dict]:
        """The rows of every page of an admin command."""
        while True:
            page = await self.manage(command, filter)
            for row in page[rows]:
                yield row
            if "next" not in page:
                return
            filter["after"] = page["next"]

    def list(self, **filter: Any) -> AsyncIterator[dict]:
        return self._rows("list", "plans", filter)

    def history(self, **filter: Any) -> AsyncIterator[dict]:
        return self._rows("history", "runs", filter)

    async def results(self, since: Optional[int] = None, epoch: Optional[str] = None,
                      timeout: Optional[float] = None) -> AsyncIterator[Result]:
        """See `Client.results`."""
        replay = _Replay(self, since, epoch)
        broadcasts = self._link.open(zmq.SUB, self.publish)
        try:
            async for result in replay.catch_up():
                yield result
            end = None if timeout is None else time.monotonic() + timeout
            while end is None or time.monotonic() < end:
                left = _LOOK_S if end is None else min(_LOOK_S, end - time.monotonic())
                parts = await self._link.receive(broadcasts, left)
                result = _broadcast(parts) if parts else None
                if result is None or replay.is_gap(result):
                    async for missed in replay.catch_up():
                        yield missed
                        end = None if timeout is None else time.monotonic() + timeout
                elif replay.is_next(result):
                    yield result
                    end = None if timeout is None else time.monotonic() + timeout
        finally:
            broadcasts.close()


_LOOK_S = 5     # a subscription that was not there yet, or was lost, shows in the history only


class _Replay:
    """Where a subscriber stands, so that it misses nothing (proto/, 9.4)."""

    def __init__(self, client: AsyncClient, since: Optional[int], epoch: Optional[str]):
        self.client, self.seq, self.epoch = client, since, epoch

    def is_next(self, result: Result) -> bool:
        known = result.epoch == self.epoch and result.seq <= (self.seq or 0)
        if not known:
            self.seq, self.epoch = result.seq, result.epoch
        return not known

    def is_gap(self, result: Result) -> bool:
        return result.epoch != self.epoch or result.seq > (self.seq or 0) + 1

    async def catch_up(self) -> AsyncIterator[Result]:
        if self.seq is None:        # from now on
            page = await self.client.manage("history", {"newest": True, "limit": 1})
            self.seq, self.epoch = page["last"], page["epoch"]
            return
        request: dict = {"since": self.seq}
        if self.epoch is not None:
            request["epoch"] = self.epoch
        while True:
            page = await self.client.manage("history", request)
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
    with the station's reason, or `NoAnswer` after `timeout` seconds. Ids are hex texts, as the command line
    prints them; integers are accepted."""

    def __init__(self, address: str = REQUESTS, publish: str = RESULTS, *, key: Optional[str] = None,
                 server_key: Optional[str] = None, timeout: float = 5.0):
        self._client = _BlockingClient(address, publish, key=key, server_key=server_key, timeout=timeout)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets. Another request opens them again."""
        self._client.close()

    def submit(self, target: str, command: str, argument: Optional[Bytes] = None, **options: Any) -> Plan:
        """Submit a plan: call `command` of the station `target` with this argument.

        When: `every` (seconds, or "10m", "2h", "1d"), `at` (a datetime or Unix seconds) or `cron` (an
        expression, or a list of them); none of them: at once. `repeat`: how many times; without it for ever.
        `title`: for people, and what subscribers can subscribe to. `key`: a name of which there is one plan at
        a time. `id`: an id of one's own; the same plan submitted again under it is accepted once. `context`: a
        CONTEXT frame. `frames`: further (type, bytes). All other options are fields of the PLAN frame (proto/,
        5.2): `timezone`, `retry`, `misfire`, `priority`, `plan_type` ..."""
        return _now(self._client.submit(target, command, argument, **options))

    def manage(self, command: str, *arguments: Any, patience: float = 0) -> Any:
        """Any admin command (proto/, 9): its JSON, or None if it answers none. Dictionaries are sent as JSON.
        `patience`: seconds beyond the timeout, for commands that wait."""
        return _now(self._client.manage(command, *arguments, patience=patience))

    def ping(self) -> None:
        """Return if the station answers."""
        _now(self._client.ping())

    def get(self, id: Union[int, str]) -> dict:
        """The stored plan."""
        return _now(self._client.get(id))

    def pause(self, id: Union[int, str]) -> dict:
        """Keep the plan, and do not run it until `resume`. A run in progress goes on."""
        return _now(self._client.pause(id))

    def resume(self, id: Union[int, str]) -> dict:
        """Queue a paused or failed plan again."""
        return _now(self._client.resume(id))

    def run(self, id: Union[int, str]) -> dict:
        """Run it now, outside its schedule."""
        return _now(self._client.run(id))

    def skip(self, id: Union[int, str], count: int = 1) -> dict:
        """Skip the next occurrences."""
        return _now(self._client.skip(id, count))

    def cancel(self, id: Union[int, str], reason: str = "") -> dict:
        """End the run in progress; the target is notified."""
        return _now(self._client.cancel(id, reason))

    def end(self, id: Union[int, str]) -> dict:
        """Close the plan: it never runs again, and is kept until `remove`."""
        return _now(self._client.end(id))

    def remove(self, id: Union[int, str]) -> None:
        """Delete the plan."""
        _now(self._client.remove(id))

    def update(self, id: Union[int, str], **fields: Any) -> dict:
        """Change fields of the PLAN frame. Rejected if the plan has changed since `revision` was read;
        without `revision` it is read first."""
        return _now(self._client.update(id, **fields))

    def next(self, id: Union[int, str], count: int = 10) -> list[int]:
        """The next times of the plan, Unix seconds."""
        return _now(self._client.next(id, count))

    def list(self, **filter: Any) -> Iterator[dict]:
        """The stored plans; the filter is that of proto/, 9.3: `station`, `state`, `title` ..."""
        return _each(self._client.list(**filter))

    def history(self, **filter: Any) -> Iterator[dict]:
        """Outcomes of runs; the filter is that of proto/, 9.4: `plan`, `station`, `newest` ..."""
        return _each(self._client.history(**filter))

    def results(self, since: Optional[int] = None, epoch: Optional[str] = None,
                timeout: Optional[float] = None) -> Iterator[Result]:
        """Results as they come, without a gap: what a lost connection missed is replayed from the history.

        To resume after a restart pass the `seq` and `epoch` of the last result that was handled; without them
        it begins now, with 0 at the beginning of the history. Ends when nothing came for `timeout` seconds;
        without it, never."""
        return _each(self._client.results(since, epoch, timeout))


# -- workers

class JobFailed(Exception):
    """Raised by a handler: the job has failed, and this is why. Any other exception does the same."""


class Job:
    """What a handler is called with. It may be called again for the same plan and time: what must not be
    done twice is keyed by `id` and `time`."""

    def __init__(self, message: _Message, id: str, exec_id: str, at: int):
        self.command, self.argument = message.text(_COMMAND), message.text(_ARG) or message.text(_CONTENT)
        self.id, self.exec_id, self.time = id, exec_id, at
        self.context, self.data = message.text(_CONTEXT), message.get(_ARG) or message.get(_CONTENT)
        self.progress_text = ""
        self._stop = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the job any more: return soon."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep, but not longer than until the job is cancelled; whether it is."""
        return self._stop.wait(seconds)

    def progress(self, text: str) -> None:
        """How far it is, for people: `zplan show` prints it."""
        self.progress_text = text[:64]


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

        It returns the result: text, bytes, anything that JSON can hold, or None. An exception fails the job
        with its text as the reason."""
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


class Worker(_Handlers):
    """A worker of a target station (zstationd), at its workers' endpoint; `jobs` at once."""

    def __init__(self, address: str = WORKERS, *, name: Optional[str] = None, jobs: int = 1,
                 key: Optional[str] = None, server_key: Optional[str] = None):
        super().__init__(name, jobs)
        self._link, self.address = _Blocking(_Keys(key, server_key)), address
        self._running: dict[tuple[bytes, bytes], Job] = {}
        self._ended: queue.SimpleQueue = queue.SimpleQueue()
        self._wake = socket.socketpair()        # the threads of jobs wake the one that has the ZeroMQ socket
        self._joined = False

    def run(self) -> None:
        """Serve until `stop`, or until `zplan drain` ends it."""
        self._socket = self._link.open(zmq.DEALER, self.address)
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._wake[0], zmq.POLLIN)
        beat, withdrawn = 0.0, False
        try:
            while self._running or not self._leaving.is_set():
                if time.monotonic() >= beat:
                    self._heartbeat()
                    beat = time.monotonic() + 1
                if self._leaving.is_set() and self._joined and not withdrawn:
                    withdrawn = True
                    self._say(_READY, [(_ARG, self.name.encode()), (_ARG, b"0")])   # its credits are gone
                ready = dict(poller.poll(max(0, beat - time.monotonic()) * 1000 + 1))
                if self._wake[0].fileno() in ready:
                    self._wake[0].recv(4096)
                if self._socket in ready:
                    self._take(self._socket.recv_multipart())
                while not self._ended.empty():
                    self._answer(*self._ended.get())
            self._say(_LEFT, [(_ARG, self.name.encode())])
        finally:
            self._socket.close(linger=1000)

    def stop(self) -> None:
        super().stop()
        self._wake[1].send(b".")

    def _say(self, code: int, frames: list[Frame], mailbox: Optional[bytes] = None) -> None:
        try:
            self._socket.send_multipart([*([mailbox] if mailbox else []), *_pack(code, frames)], zmq.DONTWAIT)
        except zmq.Again:
            pass        # the station is away; the next heartbeat tries again

    def _heartbeat(self) -> None:
        name = (_ARG, self.name.encode())
        if self._joined:
            self._say(_PITPAT, [name])
        elif not self._leaving.is_set():
            self._say(_JOIN, [name, (_ARG, str(self.jobs).encode()), (_ARG, b"cancel")])
        for (mailbox, local), job in self._running.items():
            text = [(_STATUS, job.progress_text.encode())] if job.progress_text else []
            self._say(_WAITING, [*text, (_LOCAL_ID, local)], mailbox)

    def _take(self, parts: list[bytes]) -> None:
        if not _is_description(parts[0], len(parts) - 1):
            return self._take_job(parts[0], _Message.read(parts[1:]))
        code = parts[0][1]
        if code == _BYE:
            self._leaving.set()
        elif code == _OK and not self._joined:
            self._joined = True
            for _ in range(self.jobs - len(self._running)):    # the others follow when their jobs end
                self._say(_READY, [(_ARG, self.name.encode())])
        elif code >= 0x80:      # it does not know us: it was restarted
            self._joined = False
            for job in self._running.values():
                job._stop.set()
        return None

    def _take_job(self, mailbox: bytes, message: _Message) -> None:
        local = message.get(_LOCAL_ID)
        if message.code == _CODE_CANCEL:
            job = self._running.get((mailbox, local))
            return job._stop.set() if job else None
        at = message.text(_PLAN_TIME)
        is_run = mailbox.startswith(b"*")
        job = Job(message, mailbox[1:].decode() if is_run else "", local.decode(), int(at) if at.isdigit() else 0)
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
                frames = [(_STATUS, f"-failed: {result}".encode(errors="replace")[:512])]
            self._say(_OK if succeeded else _FAILED, [*frames, (_LOCAL_ID, local)], mailbox)
        if self._joined and not self._leaving.is_set():
            self._say(_READY, [(_ARG, self.name.encode())])


def _frame_of(result: Any) -> Frame:
    if isinstance(result, bytes):
        return _BIN, result
    return (_CONTENT, result.encode()) if isinstance(result, str) else (_JSON, json.dumps(result, allow_nan=False).encode())


class PullWorker(_Handlers):
    """A worker that fetches the plans of a pull target from the station itself; `jobs` at once."""

    def __init__(self, target: str = "jobs", address: str = REQUESTS, *, name: Optional[str] = None, jobs: int = 1,
                 key: Optional[str] = None, server_key: Optional[str] = None, wait: float = 20):
        super().__init__(name, jobs)
        self.target, self.wait = target, wait
        self._client = lambda: Client(address, key=key, server_key=server_key)

    def run(self) -> None:
        """Serve until `stop`, which takes up to `wait` seconds. A station that is away is asked again."""
        free = threading.Semaphore(self.jobs)
        threads: list[threading.Thread] = []
        with self._client() as station:
            while not self._leaving.is_set():
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

    def _fetch(self, station: Client) -> list[dict]:
        request = {"station": self.target, "worker": self.name, "limit": 1, "wait": int(self.wait)}
        try:
            return station.manage("take", request, patience=self.wait)["jobs"]
        except NoAnswer:
            return []
        except Rejected as error:
            if error.code not in (0x87, 0x8F):      # not one that passes
                raise
            self._leaving.wait(1)
            return []

    def _serve(self, taken: dict, free: threading.Semaphore) -> None:
        try:
            with self._client() as station:
                self._serve_with(station, taken)
        finally:
            free.release()

    def _serve_with(self, station: Client, taken: dict) -> None:
        parts = [_bytes(_plain(frame)) for frame in taken["frames"]]
        me = {"plan": taken["plan_id"], "worker": self.name, "exec_id": taken["exec_id"]}
        job = Job(_Message.read(parts), taken["plan_id"], taken["exec_id"], taken["plan"].get("plan_time", 0))
        outcome: list[tuple[bool, Any]] = []
        thread = threading.Thread(target=lambda: outcome.append(self._do(job)), daemon=True)
        thread.start()
        interval = taken["ping_interval"]
        while thread.is_alive():
            thread.join(interval)
            if thread.is_alive():
                interval = self._alive(station, job, me)
        succeeded, result = outcome[0]
        if succeeded and len(json.dumps(_json_of(result), ensure_ascii=False, separators=(",", ":")).encode(
                errors="replace")) > _RESULT_MAX:
            succeeded, result = False, f"the result is larger than {_RESULT_MAX} bytes of JSON"
        if succeeded:
            known = {} if result is None else {"result": _json_of(result)}
            self._report(station, {**me, "state": "success", **known})
        else:
            self._report(station, {**me, "state": "fail", "reason": str(result)[:500]})

    @staticmethod
    def _alive(station: Client, job: Job, me: dict) -> float:
        try:
            answer = station.manage("alive", me)
        except Error:
            return 1        # again soon: the worker must not be given up for a lost answer
        if "stop" in answer:
            job._stop.set()
        return answer.get("ping_interval", 1)

    @staticmethod
    def _report(station: Client, report: dict) -> None:
        """The same report again counts once, so a lost answer is no reason to give up."""
        end = time.monotonic() + 60
        while True:
            try:
                return station.manage("report", report)
            except Rejected as error:
                if error.code not in (0x87, 0x8F) or time.monotonic() > end:
                    return None     # the run is over: cancelled, timed out or removed
            except NoAnswer:
                if time.monotonic() > end:
                    return None
            time.sleep(1)


def _json_of(result: Any) -> Any:
    return {"b64": base64.b64encode(result).decode()} if isinstance(result, bytes) else result
