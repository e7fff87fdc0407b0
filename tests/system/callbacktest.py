"""Callbacks: a receiver that behaves as it is told, the sender under test, and a station played by the test."""
import base64
import collections
import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time

import pytest
import zmq

from zplanprocs import DIES_WITH_PARENT, WAIT, ZPLAND, wait_until
from zplantest import CONTEXT, FT, ST, describe

PROGRAM = os.path.join(os.path.dirname(ZPLAND), "zplan-callback")
needs_sender = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="zplan-callback is not built: no libcurl")

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def answer(status, body=b"", *headers, kind="text/plain"):
    lines = [f"HTTP/1.1 {status} Told", f"Content-Length: {len(body)}", f"Content-Type: {kind}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class Request:
    def __init__(self, head, body):
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, self.version = first.split(" ")
        self.lines = lines
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.body = body


class Receiver:
    """An HTTP server of threads. `behave` is called with the request and a function that sends bytes; what it returns
    is sent. None: the connection is closed."""

    def __init__(self, behave=lambda request, send: OK, wrap=None):
        self.behave, self.wrap = behave, wrap
        self.requests = queue.Queue()
        self.connections = 0
        self.open, self.most, self.lock = 0, 0, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, path="/done", host="127.0.0.1", scheme="http"):
        return f"{scheme}://{host}:{self.port}{path}"

    def next(self):
        return self.requests.get(timeout=WAIT)

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            with (self.wrap(peer) if self.wrap else peer) as connection:
                data = b""
                while True:
                    while b"\r\n\r\n" not in data:
                        more = connection.recv(65536)
                        if not more:
                            return
                        data += more
                    head, _, data = data.partition(b"\r\n\r\n")
                    size = int(Request(head, b"").headers.get("content-length", "0"))
                    while len(data) < size:
                        data += connection.recv(65536)
                    request, data = Request(head, data[:size]), data[size:]
                    with self.lock:
                        self.open += 1
                        self.most = max(self.most, self.open)
                    self.requests.put(request)
                    try:
                        told = self.behave(request, connection.sendall)
                    finally:
                        with self.lock:
                            self.open -= 1
                    if told is None:
                        return
                    connection.sendall(told)
        except (OSError, ValueError):
            pass        # the sender has closed the connection


class Sender:
    """The program. By default it may connect to receivers on 127.0.0.1."""

    def __init__(self, folder, endpoint, *receivers, options=(), local=True, ready=True):
        self.log = os.path.join(folder, "callback.log")
        allowed = []
        if local:
            allowed = ["--allow-http", "--allow", "127.0.0.0/8"]
            for receiver in receivers:
                allowed += ["--allow", f"127.0.0.1:{receiver.port}", "--allow", f"localhost:{receiver.port}"]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*DIES_WITH_PARENT, PROGRAM, "--connect", endpoint, *allowed, "--log-level", "debug", *options],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        if ready:
            line = self.process.stdout.readline()
            assert line == b"ready\n", self.said()

    def said(self):
        with open(self.log) as log:
            return log.read()

    def stop(self, number=signal.SIGTERM):
        """Its exit status."""
        self.process.send_signal(number)
        return self.process.wait(WAIT + 20)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def frames(url, body=b'{"result": 1}', secret="", headers="", method="POST"):
    """[(type, frame)] of a plan that is a callback, without its PLAN frame."""
    return [(FT.COMMAND, method.encode()), (FT.ARG, url.encode()), (FT.ARG, secret.encode()),
            (FT.ARG, headers.encode() if isinstance(headers, str) else json.dumps(headers).encode()),
            (FT.JSON, body)]


class FakeStation:
    """The station of a sender, with no rules, in a thread: it gives what it is told to give, and keeps each report."""

    def __init__(self, endpoint):
        self.socket = CONTEXT.socket(zmq.ROUTER)
        self.socket.linger = 0
        self.socket.bind(endpoint)
        self.jobs, self.reports = collections.deque(), []
        self.alive = 0
        self.takes = 0              # that waited
        self.stop = set()           # plans whose alive is answered with stop
        self.hold = set()           # plans whose reports are not answered
        self.waiting = None         # a take that waits: (peer, REQUEST_ID, until when)
        self.made = 0
        self.ended = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        self.ended = True
        self.thread.join(WAIT)
        self.socket.close()

    def add(self, url, plan=None, **more):
        """A job for the sender; its plan's id."""
        self.made += 1
        ident = f"{0x1000 + self.made:x}"
        pairs = [(FT.PLAN, b"{}"), (FT.STATION_ID, b"callbacks"), *frames(url, **more)]
        desc = {"b64": base64.b64encode(describe(2, [kind for kind, _ in pairs])).decode()}
        self.jobs.append({"plan_id": ident, "exec_id": f"{0x9000 + self.made:x}", "plan_time": 1794960000,
                          "ping_interval": 1, "worker_timeout": 60,
                          "plan": {"source": "jobs", **(plan or {}),
                                   "ext": {"plan": "2a", "exec_id": f"{0x500 + self.made:x}", "status": "ok", "timeout": 60,
                                           **(plan or {}).get("ext", {})}},
                          "frames": [desc, *(frame.decode() for _, frame in pairs)]})
        return ident

    def serve(self):
        while not self.ended:
            if self.waiting and (self.jobs or time.monotonic() >= self.waiting[2]):
                peer, request, _ = self.waiting
                self.waiting = None
                self.reply(peer, request, {"worker": "w1", "jobs": self.given(100)})
            if self.socket.poll(10):
                self.answer(*self.socket.recv_multipart())

    def given(self, limit):
        return [self.jobs.popleft() for _ in range(min(limit, len(self.jobs)))]

    def reply(self, peer, request, value):
        self.socket.send_multipart([peer, describe(ST.OK, [FT.STATUS, FT.REQUEST_ID, FT.JSON]), b"+ok", request,
                                    json.dumps(value).encode()])

    def answer(self, peer, desc, *parts):
        told = dict(zip(desc[2:2 + len(parts)], parts))
        command, request = told[FT.COMMAND].decode(), told[FT.REQUEST_ID]
        fields = json.loads(told[FT.ARG])
        if command == "take" and fields["limit"] == 0 and self.waiting:
            self.reply(*self.waiting[:2], {"worker": "w1", "jobs": []})
            self.waiting = None
        if command == "take" and fields["wait"]:
            self.takes += 1
            self.waiting = (peer, request, time.monotonic() + fields["wait"])
        elif command == "take":
            self.reply(peer, request, {"worker": "w1", "jobs": self.given(fields["limit"])})
        elif command == "alive":
            self.alive += 1
            self.reply(peer, request, {"stop": "it is over"} if fields["plan"] in self.stop else
                       {"ok": True, "ping_interval": 1, "worker_timeout": 60})
        else:
            self.reports.append(fields)
            if fields["plan"] not in self.hold:
                self.reply(peer, request, {"accepted": True})

    def report(self, ident):
        """The first report of this plan."""
        def mine():
            return [report for report in list(self.reports) if report["plan"] == ident]
        return wait_until(mine, f"the report of {ident}", 3 * WAIT)[0]

    def outcome(self, ident):
        """What it says, without who says it."""
        return {name: value for name, value in self.report(ident).items() if name not in ("plan", "worker", "exec_id")}
