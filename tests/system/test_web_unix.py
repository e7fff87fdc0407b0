"""zplan-web on a socket in the file system, for a proxy of the same machine."""
import os
import shutil
import socket
import stat
import subprocess
import tempfile

import pytest

from webtest import LATE, PROGRAM, make_web, needs_web  # noqa: F401 fixture
from zplanprocs import WAIT

pytestmark = needs_web


@pytest.fixture
def path():
    folder = tempfile.mkdtemp(prefix="zw", dir="/tmp")      # a socket's path is short
    yield os.path.join(folder, "web")
    shutil.rmtree(folder)


def start(make_web, rig, path, *options):
    web = make_web(rig, "--listen", f"unix:{path}", *options, ready=False)
    assert web.process.stdout.readline() == f"zplan-web: ready at unix:{path}\n".encode()
    return web


def refused(path, code=1):
    ended = subprocess.run([PROGRAM, "--listen", f"unix:{path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=WAIT)
    assert ended.returncode == code and "listen: " in ended.stderr
    return ended.stderr


def curl(path, target, *options):
    found = subprocess.run(["curl", "-sS", "--unix-socket", path, *options, f"http://localhost{target}"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LATE)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_curl(rig, make_web, path):
    web = start(make_web, rig, path)
    assert stat.S_ISSOCK(os.lstat(path).st_mode) and os.lstat(path).st_mode & 0o777 == 0o660
    assert '"items"' in curl(path, "/v1/plans")
    assert curl(path, "/live", "-w", "%{http_code}") == "204"
    assert web.stop() == 0 and not os.path.lexists(path)


def test_a_stale_socket_is_replaced(rig, make_web, path):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    start(make_web, rig, path)
    assert '"items"' in curl(path, "/v1/plans")


def test_a_socket_that_is_served_stays(rig, make_web, path):
    start(make_web, rig, path)
    assert "in use" in refused(path)
    assert '"items"' in curl(path, "/v1/plans")


def test_another_file_stays(path):
    with open(path, "w") as file:
        file.write("mine")
    assert "exists" in refused(path)
    with open(path) as file:
        assert file.read() == "mine"
    os.unlink(path)
    os.symlink("/nowhere", path)
    assert "exists" in refused(path)


def test_the_socket_of_another_is_not_removed_at_the_end(rig, make_web, path):
    web = start(make_web, rig, path)
    os.unlink(path)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        assert web.stop() == 0 and os.path.lexists(path)


@pytest.mark.parametrize("wrong, code", [("", 2), ("x" * 108, 2), ("/nowhere/at/all", 1)])
def test_paths_that_are_wrong(wrong, code):
    refused(wrong, code)


def test_many_connections_of_one_proxy(rig, make_web, path):
    """They are of all its users: 256 of one address is a bound of TCP."""
    start(make_web, rig, path)
    peers = []
    for _ in range(300):
        peers.append(socket.socket(socket.AF_UNIX))
        peers[-1].settimeout(LATE)
        peers[-1].connect(path)
    for peer in peers:
        peer.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for peer in peers:
        assert peer.recv(100).startswith(b"HTTP/1.1 204")
        peer.close()


def test_a_peer_with_a_name_of_its_own(rig, make_web, path):
    """A name that is longer than an address of TCP."""
    start(make_web, rig, path)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(LATE)
        peer.bind("\0" + os.path.basename(os.path.dirname(path)) + "x" * 80)
        peer.connect(path)
        peer.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 204")
