"""Fixtures of the script tests: one redis-server per pytest process, an empty one per test."""
import ctypes
import shutil
import signal
import subprocess
import tempfile

import pytest
import redis

from storescripts import Store

PR_SET_PDEATHSIG = 1


def die_with_parent():
    """A killed test run leaves no server behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_until_ready(process):
    """Read the server's log until it serves: an event, not a poll."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "ready to accept connections at" in line:
            return
    raise RuntimeError("redis-server did not start:\n" + "".join(lines))


@pytest.fixture(scope="session")
def server():
    """The socket of a server set up like the embedded one."""
    # A socket's path may have 107 bytes: a short folder, not pytest's.
    folder = tempfile.mkdtemp(prefix="zplan-", dir="/tmp")
    path = folder + "/redis.sock"
    process = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder, "--save", "",
         "--appendonly", "yes", "--maxmemory-policy", "noeviction", "--daemonize", "no"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=die_with_parent)
    try:
        wait_until_ready(process)
        yield path
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        shutil.rmtree(folder)


@pytest.fixture
def db(server):
    # Keys and messages are bytes: latin-1 has a character for each, that every log can show.
    client = redis.Redis(unix_socket_path=server, decode_responses=True, encoding="latin-1",
                         socket_timeout=30)
    client.config_set("maxmemory", 0)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def store(db):
    return Store(db)


@pytest.fixture
def twin(server, db):
    """A second store, empty as well: for the same done in another way."""
    client = redis.Redis(unix_socket_path=server, db=1, decode_responses=True, encoding="latin-1",
                         socket_timeout=30)
    yield Store(client)
    client.close()
