"""zplan-web under test: the program, a client of it, and what every answer has."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess

import pytest

from zplanprocs import DIES_WITH_PARENT, WAIT, ZPLAND

PROGRAM = os.path.join(os.path.dirname(ZPLAND), "zplan-web")
needs_web = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="zplan-web is not built: no libmicrohttpd")
LATE = 3 * WAIT


class Answer:
    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body

    @property
    def json(self):
        assert self.headers["Content-Type"].startswith("application/"), (self.headers, self.body)
        return json.loads(self.body)

    def problem(self, status, code=None):
        """It is this error, as RFC 9457 has it; its detail."""
        assert self.status == status, (self.status, self.body)
        assert self.headers["Content-Type"] == "application/problem+json"
        found = self.json
        assert found["status"] == status and found["type"].endswith(f"/help/{found['code']}") and found["title"]
        assert code in (None, found["code"]), found
        return found.get("detail", "")


class Web:
    """The program, ready on a free port."""

    def __init__(self, folder, connect, *options, events=None, ready=True, wrap=()):
        self.log = os.path.join(folder, "web.log")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*DIES_WITH_PARENT, *wrap, PROGRAM, "--listen", "127.0.0.1:0", "--connect", connect, "--log-level", "debug",
                 *(["--events", events] if events else []), *options],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        if ready:
            self.line = self.process.stdout.readline().decode()
            self.port = int(re.fullmatch(r"zplan-web: ready at https?://127\.0\.0\.1:(\d+)/.*\n", self.line)[1])

    def said(self):
        with open(self.log) as log:
            return log.read()

    def ask(self, method, path, body=None, headers=None, kind="application/json", host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LATE)
        headers = dict(headers or {})
        if body is not None:
            body = body if isinstance(body, (bytes, str)) else json.dumps(body)
            headers.setdefault("Content-Type", kind)
        if host:
            headers["Host"] = host
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = Answer(response, response.read())
        connection.close()
        for name, value in (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                            ("Cross-Origin-Resource-Policy", "same-origin")):
            assert answer.headers[name] == value, answer.headers
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        return answer

    def get(self, path, **headers):
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path, body=None, **headers):
        return self.ask("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def added(self, plan, **headers):
        answer = self.post("/v1/plans", plan, **headers)
        assert answer.status == 201, answer.body
        return answer.json

    def raw(self, data, close=False, timeout=LATE):
        """Send bytes; all that comes until the connection is closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as peer:
            peer.sendall(data)
            if close:
                peer.shutdown(socket.SHUT_WR)
            received = b""
            while True:
                try:
                    piece = peer.recv(65536)
                except ConnectionResetError:
                    return received
                if not piece:
                    return received
                received += piece

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(WAIT)

    def close(self):
        code = self.process.poll()
        if code is None:
            code = self.stop()
        self.process.stdout.close()
        assert code == 0, self.said()[-4000:]


@pytest.fixture
def make_web(tmp_path):
    """A function that makes gateways; each ends with 0, and with nothing lost under a sanitizer."""
    made = []

    def make(rig, *options, **more):
        if not isinstance(rig, str):
            more = {"events": rig.ipc("e"), **more}
        made.append(Web(str(tmp_path), rig if isinstance(rig, str) else rig.ipc("q"), *options, **more))
        return made[-1]
    yield make
    for web in made:
        web.close()


@pytest.fixture
def web(rig, make_web):
    return make_web(rig)


def plan(title="weekly", target="jobs", command="do", **spec):
    """A plan of the interface, which runs in a day."""
    return {"target": target, "title": title, "command": command,
            "spec": {"plan_type": "day", "plan_value": 1, "plan_repet": -1, **spec}}
