"""zplan-web with TLS of its own."""
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess

import pytest

from clitest import zplan
from webtest import LATE, PROGRAM, make_web, needs_web, plan  # noqa: F401 fixture
from zplanprocs import WAIT, cpu_seconds, wait_until

pytestmark = [needs_web, pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl")]


class Pair:
    """A certificate of localhost that signs itself, and its key."""

    def __init__(self, folder, name):
        self.cert, self.key = (str(folder / f"{name}.{end}") for end in ("crt", "key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", self.key, "-out", self.cert, "-days", "2", "-subj", f"/CN={name}",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        os.chmod(self.key, 0o600)

    @property
    def options(self):
        return "--tls-cert", self.cert, "--tls-key", self.key

    @property
    def der(self):
        with open(self.cert) as file:
            return ssl.PEM_cert_to_DER_cert(file.read())

    def ask(self, port, path="/live", method="GET", body=None, **headers):
        """The status and the body that a client of this certificate gets."""
        connection = http.client.HTTPSConnection("localhost", port, timeout=LATE,
                                                 context=ssl.create_default_context(cafile=self.cert))
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        found = response.status, response.read()
        connection.close()
        return found

    def connect(self, port, lowest=ssl.TLSVersion.TLSv1_2, highest=ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=self.cert)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version, context.maximum_version = lowest, highest
        return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=LATE), server_hostname="localhost")


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path, "first")


def served(port):
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port), timeout=LATE))


def run(*args):
    return subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=WAIT)


def test_curl(rig, make_web, pair):
    web = make_web(rig, *pair.options)
    assert web.line.startswith("zplan-web: ready at https://127.0.0.1:")
    found = subprocess.run(["curl", "-sS", "--fail", "--cacert", pair.cert, f"https://localhost:{web.port}/v1/plans"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LATE)
    assert found.returncode == 0 and '"items"' in found.stdout, found.stderr


def test_requests_and_pages(rig, make_web, pair):
    web = make_web(rig, *pair.options)
    status, body = pair.ask(web.port, "/v1/plans", "POST", json.dumps(plan()), **{"Content-Type": "application/json"})
    assert status == 201, body
    with open(os.path.join(os.path.dirname(__file__), "../../src/web/assets/style.css"), "rb") as file:
        assert pair.ask(web.port, "/assets/style.css") == (200, file.read())


def test_the_stream(rig, make_web, pair):
    web = make_web(rig, *pair.options)
    with pair.connect(web.port) as peer:
        peer.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while b"event: hello" not in received:
            piece = peer.recv(4096)
            assert piece, received
            received += piece


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_versions_that_are_served(rig, make_web, pair, version):
    web = make_web(rig, *pair.options)
    wanted = getattr(ssl.TLSVersion, version)
    with pair.connect(web.port, wanted, wanted) as peer:
        assert peer.version() == version.replace("_", ".")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1"])
def test_versions_that_are_not(rig, make_web, pair, version):
    web = make_web(rig, *pair.options)
    wanted = getattr(ssl.TLSVersion, version)
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        pair.connect(web.port, wanted, wanted)
    assert pair.ask(web.port)[0] == 204


def test_no_answer_without_tls(rig, make_web, pair):
    web = make_web(rig, *pair.options)
    assert b"HTTP/1.1" not in web.raw(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert pair.ask(web.port)[0] == 204


@pytest.mark.parametrize("begun", [b"", b"\x16\x03\x01"], ids=["nothing", "its first bytes"])
def test_a_handshake_that_never_comes_is_cut(rig, make_web, pair, begun):
    """After some seconds, which cost nothing."""
    web = make_web(rig, *pair.options)
    with socket.create_connection(("127.0.0.1", web.port), timeout=LATE) as peer:
        peer.sendall(begun)
        before = cpu_seconds(web.process.pid)
        assert peer.recv(1) == b""
        assert cpu_seconds(web.process.pid) - before < 1
    assert "connection.cut" in web.said()


def test_files_that_are_wrong(tmp_path, pair):
    other, secret = Pair(tmp_path, "other"), re.sub(r"\s", "", open(pair.key).read())[40:100]
    empty, large = tmp_path / "empty", tmp_path / "large"
    empty.touch(0o600)
    large.touch(0o600)
    large.write_bytes(b"x" * 70000)
    locked = tmp_path / "locked.key"
    subprocess.run(["openssl", "ec", "-in", pair.key, "-aes128", "-passout", "pass:x", "-out", str(locked)], check=True,
                   capture_output=True)
    os.chmod(locked, 0o600)
    for cert, key, words in ((pair.cert, other.key, "is not the key of"), ("/nowhere", pair.key, "tls_cert: '/nowhere': No such"),
                             (pair.cert, "/nowhere", "tls_key: '/nowhere': No such"), (pair.key, pair.key, "want certificates"),
                             (pair.cert, pair.cert, "tls_key: "), (str(empty), pair.key, "tls_cert: "),
                             (pair.cert, str(empty), "want a private key"), (pair.cert, str(large), "below 64 KiB"),
                             (pair.cert, str(tmp_path), "want a file"), (pair.cert, str(locked), "without a password")):
        ended = run("--tls-cert", cert, "--tls-key", key)
        assert ended.returncode == 2 and words in ended.stderr and not ended.stdout, (cert, key, ended)
        assert secret not in ended.stderr


@pytest.mark.parametrize("mode, right", [(0o600, True), (0o640, True), (0o400, True), (0o644, False), (0o604, False),
                                         (0o660, False)])
def test_the_mode_of_the_key(rig, make_web, pair, mode, right):
    os.chmod(pair.key, mode)
    if right:
        assert pair.ask(make_web(rig, *pair.options).port)[0] == 204
        return
    ended = run(*pair.options)
    assert ended.returncode == 2 and "want mode 0600 or 0640" in ended.stderr


@pytest.mark.parametrize("args, words", [
    (["--tls-cert", "x"], "tls_cert: needs tls_key"), (["--tls-key", "x"], "tls_key: needs tls_cert"),
    (["--listen", "0.0.0.0:0", "--tls-cert", "x", "--tls-key", "y"], "is not loopback: needs users"),
    (["--listen", "0.0.0.0:0", "--users", "x"], "needs users, and tls_cert or behind_proxy"),
    (["--users", "/nowhere"], "users: '/nowhere': No such"), (["--users", "/etc/passwd"], "users: '/etc/passwd': Not a directory"),
    (["--users", "/", "--audit", "/nowhere/x"], "audit: '/nowhere/x': No such"),
])
def test_settings_that_are_wrong(args, words):
    ended = run(*args)
    assert ended.returncode == 2 and words in ended.stderr


def test_other_addresses_with_users(rig, make_web, pair, tmp_path):
    users = tmp_path / "users"
    users.mkdir(0o700)
    token = zplan("web", "user", "ann", "--out", str(users)).done().strip()
    web = make_web(rig, *pair.options, "--users", str(users), "--listen", "0.0.0.0:0", ready=False)
    port = int(re.fullmatch(r"zplan-web: ready at https://0\.0\.0\.0:(\d+)/\n", web.process.stdout.readline().decode())[1])
    assert pair.ask(port, "/v1/plans", Authorization=f"Bearer {token}")[0] == 200
    assert pair.ask(port, "/v1/plans")[0] == 401


def test_new_files_are_served_and_wrong_ones_are_not(rig, make_web, pair, tmp_path):
    web, second = make_web(rig, *pair.options), Pair(tmp_path, "second")
    secret = open(second.key).read().split("\n")[1]
    assert served(web.port) == pair.der
    kept = pair.connect(web.port)
    with open(pair.cert, "w") as file:
        file.write("nothing")
    wait_until(lambda: "tls.unusable" in web.said(), "it is logged")
    with pytest.raises(ssl.SSLError):
        Pair.ask(second, web.port)      # still the first
    shutil.copy(second.key, pair.key)
    shutil.copy(second.cert, pair.cert)
    wait_until(lambda: served(web.port) == second.der, "the second is served")
    assert second.ask(web.port)[0] == 204
    kept.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")      # a connection of the first goes on
    assert kept.recv(100).startswith(b"HTTP/1.1 204")
    kept.close()
    assert secret not in web.said()
