"""zplan-web behind proxies: whose X-Forwarded-For counts."""
import http.client
import json
import os
import shutil
import socket
import tempfile

import pytest

from clitest import zplan
from webtest import LATE, make_web, needs_web, plan  # noqa: F401 fixture

pytestmark = needs_web


class Behind:
    """A gateway with the user ann."""

    def __init__(self, make_web, rig, folder, *options, ready=True):
        self.users = os.path.join(folder, "users")
        os.mkdir(self.users, 0o700)
        token = zplan("web", "user", "ann", "--out", self.users).done().strip()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.web = make_web(rig, "--users", self.users, *options, ready=ready)

    def added(self, **headers):
        answer = self.web.ask("POST", "/v1/plans", plan(),
                              {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}})
        return answer.status

    def address(self):
        """Of the last line of the audit."""
        with open(os.path.join(self.users, ".audit.ndjson")) as file:
            return json.loads(file.readlines()[-1])["address"]


@pytest.mark.parametrize("proxies, value, address", [
    ("", "192.0.2.7", "127.0.0.1"),                                     # the peer is no proxy
    ("10.0.0.1", "192.0.2.7", "127.0.0.1"),
    ("127.0.0.1", "192.0.2.7", "192.0.2.7"),
    ("127.0.0.0/8", "192.0.2.7", "192.0.2.7"),
    ("127.0.0.1", "127.0.0.1, 198.51.100.1, 192.0.2.7", "192.0.2.7"),   # what the client wrote itself
    ("127.0.0.1,10.0.0.0/8", "198.51.100.1, 192.0.2.7, 10.1.2.3", "192.0.2.7"),
    ("127.0.0.1", "nonsense", "127.0.0.1"), ("127.0.0.1", None, "127.0.0.1"),
])
def test_who_asks(rig, make_web, tmp_path, proxies, value, address):
    behind = Behind(make_web, rig, str(tmp_path), "--behind-proxy", proxies)
    headers = {"X-Forwarded-Host": "evil.example", "X-Real-IP": "6.6.6.6", "Forwarded": "for=6.6.6.6"}
    assert behind.added(**({"X-Forwarded-For": value} if value is not None else {}), **headers) == 201
    assert behind.address() == address


def test_wrong_tokens_are_slowed_by_the_address_of_who_asks(rig, make_web, tmp_path):
    web = Behind(make_web, rig, str(tmp_path), "--behind-proxy", "127.0.0.1").web
    found = [web.get("/v1/plans", X_Forwarded_For="192.0.2.7").status for _ in range(40)]
    assert set(found) == {401, 429}
    assert web.get("/v1/plans", X_Forwarded_For="192.0.2.8").status == 401


def test_a_peer_that_is_no_proxy_cannot_escape_the_limit(rig, make_web, tmp_path):
    web = Behind(make_web, rig, str(tmp_path)).web
    assert 429 in [web.get("/v1/plans", X_Forwarded_For=f"192.0.2.{i}").status for i in range(40)]


@pytest.mark.parametrize("proxies, proto, origin, status", [
    ("127.0.0.1", "https", "https", 201), ("127.0.0.1", "https", "http", 403), ("127.0.0.1", "http", "https", 403),
    ("127.0.0.1", None, "https", 201), ("", "http", "https", 201),      # not believed
])
def test_the_scheme_of_the_origin(rig, make_web, tmp_path, proxies, proto, origin, status):
    behind = Behind(make_web, rig, str(tmp_path), "--behind-proxy", proxies)
    headers = {"Origin": f"{origin}://127.0.0.1:{behind.web.port}", **({"X-Forwarded-Proto": proto} if proto else {})}
    assert behind.added(**headers) == status


def test_a_proxy_on_a_unix_socket(rig, make_web, tmp_path):
    folder = tempfile.mkdtemp(prefix="zw", dir="/tmp")
    path = os.path.join(folder, "web")
    try:
        behind = Behind(make_web, rig, str(tmp_path), "--listen", f"unix:{path}", ready=False)
        assert behind.web.process.stdout.readline()
        for value, address in (("198.51.100.1, 192.0.2.7", "192.0.2.7"), (None, "unix")):
            connection = http.client.HTTPConnection("localhost", timeout=LATE)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(LATE)
            connection.sock.connect(path)
            connection.request("POST", "/v1/plans", json.dumps(plan()), {
                **behind.headers, "Content-Type": "application/json", **({"X-Forwarded-For": value} if value else {})})
            assert connection.getresponse().status == 201
            connection.close()
            assert behind.address() == address
    finally:
        shutil.rmtree(folder)


def test_another_address_behind_a_proxy(rig, make_web, tmp_path):
    behind = Behind(make_web, rig, str(tmp_path), "--listen", "0.0.0.0:0", "--behind-proxy", "127.0.0.1", ready=False)
    assert behind.web.process.stdout.readline().startswith(b"zplan-web: ready at http://0.0.0.0:")
