"""zplan-web behind nginx and Caddy, with the settings of docker/README.md: TLS is theirs, the socket a unix one."""
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile

import pytest

from clitest import zplan
from test_web_tls import Pair
from webtest import LATE, Web, needs_web, plan
from zplanprocs import DIES_WITH_PARENT, REPO, WAIT, free_port, wait_until
from zplantest import ST, at_once

pytestmark = needs_web


def example(kind):
    with open(os.path.join(REPO, "docker", "README.md"), encoding="utf-8") as file:
        return re.search(rf"(?ms)^```{kind}\n(.*?)^```", file.read())[1]


def nginx(folder, port, pair):
    location = example("nginx").replace("/run/zplan-web/socket", f"{folder}/web")
    temporary = "".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(f"{folder}/nginx.conf", "w", encoding="utf-8") as file:
        file.write(f"daemon off; master_process off; pid {folder}/pid; error_log stderr; events {{}}"
                   f"http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {pair.cert};"
                   f"ssl_certificate_key {pair.key};\n{location} }} }}")
    return ["nginx", "-e", "stderr", "-c", f"{folder}/nginx.conf"]


def caddy(folder, port, pair):
    site = example("caddy").replace("/run/zplan-web/socket", f"{folder}/web")
    site = site.replace("plans.example.com {", f"https://localhost:{port} {{\n    bind 127.0.0.1\n    tls {pair.cert} {pair.key}")
    with open(f"{folder}/Caddyfile", "w", encoding="utf-8") as file:
        file.write("{\n    admin off\n    auto_https disable_redirects\n    skip_install_trust\n}\n" + site)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", f"{folder}/Caddyfile"]


class Front:
    """A proxy before a gateway that has the user ann."""

    def __init__(self, rig, kind, pair):
        self.folder = tempfile.mkdtemp(prefix="zw", dir="/tmp")
        self.users, self.port = os.path.join(self.folder, "users"), free_port()
        os.mkdir(self.users, 0o700)
        token = zplan("web", "user", "ann", "--out", self.users).done().strip()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.trust = ssl.create_default_context(cafile=pair.cert)
        self.web = Web(self.folder, rig.ipc("q"), "--listen", f"unix:{self.folder}/web", "--users", self.users, events=rig.ipc("e"),
                       ready=False)
        assert self.web.process.stdout.readline()
        command = {"nginx": nginx, "caddy": caddy}[kind](self.folder, self.port, pair)
        with open(f"{self.folder}/log", "wb") as log:
            self.proxy = subprocess.Popen([*DIES_WITH_PARENT, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          env={**os.environ, "HOME": self.folder, "XDG_DATA_HOME": self.folder, "XDG_CONFIG_HOME": self.folder})
        wait_until(self.serves, "the proxy serves")

    def serves(self):
        with open(f"{self.folder}/log", encoding="utf-8") as log:
            assert self.proxy.poll() is None, log.read()
        try:
            return self.ask("GET", "/live")[0] == 204
        except (ConnectionError, ssl.SSLError):
            return False

    def open(self, method, path, body=None, **headers):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=LATE, context=self.trust)
        kind = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, body, {**self.headers, **kind, **headers})
        return connection, connection.getresponse()

    def ask(self, method, path, body=None, **headers):
        connection, response = self.open(method, path, body, **headers)
        found = response.status, response.headers, response.read()
        connection.close()
        return found

    def close(self):
        self.proxy.terminate()
        self.proxy.wait(WAIT)
        self.web.close()
        shutil.rmtree(self.folder)


@pytest.fixture(params=["nginx", "caddy"])
def front(rig, request, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"there is no {request.param}")
    front = Front(rig, request.param, Pair(tmp_path, "front"))
    yield front
    front.close()


def test_rest_and_pages(front):
    status, headers, page = front.ask("GET", "/")
    assert status == 200 and b"<title>" in page and "script-src 'self'" in headers["Content-Security-Policy"]
    # A browser's request of the own origin, by one who writes where he comes from himself.
    status, _, body = front.ask("POST", "/v1/plans", json.dumps(plan()), **{
        "Origin": f"https://localhost:{front.port}", "Sec-Fetch-Site": "same-origin", "X-Forwarded-For": "6.6.6.6"})
    assert status == 201, body
    with open(os.path.join(front.users, ".audit.ndjson"), encoding="utf-8") as file:
        assert json.loads(file.readlines()[-1])["address"] == "127.0.0.1"
    ident = json.loads(body)["id"]
    status, headers, body = front.ask("GET", f"/v1/plans/{ident}")
    assert status == 200 and json.loads(body)["title"] == "weekly"
    assert front.ask("GET", f"/v1/plans/{ident}", **{"If-None-Match": headers["ETag"].removeprefix("W/")})[0] == 304
    assert front.ask("POST", f"/v1/plans/{ident}/pause", Origin="https://evil.example")[0] == 403


def test_the_stream_comes_through_at_once(front, rig):
    connection, stream = front.open("GET", "/v1/stream")
    assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"

    def event():
        name = b""
        for line in iter(stream.readline, b""):
            if line.startswith(b"event: "):
                name = line[7:].strip()
            elif line.startswith(b"data: ") and name:
                return name.decode(), json.loads(line[6:])
        raise AssertionError("the stream has ended")
    assert event()[0] == "hello"
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv(), ST.OK, [])
    name, run = event()
    assert (name, run["plan"], run["status"]) == ("run", ident, "ok")
    connection.close()
