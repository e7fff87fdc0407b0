"""Fixtures of the store's tests: one redis-server per pytest process, an empty one per test."""
import contextlib
import os
import shutil
import subprocess
import tempfile

import pytest
import redis

DIES_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]       # a killed test run leaves no server behind


def wait_until_ready(process):
    """Read the server's log until it serves: an event, not a poll."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "ready to accept connections at" in line:
            return
    raise RuntimeError("redis-server did not start:\n" + "".join(lines))


@contextlib.contextmanager
def redis_server(**environment):
    """The socket of a server set up like the embedded one."""
    # A socket's path may have 107 bytes: a short folder, not pytest's.
    folder = tempfile.mkdtemp(prefix="zplan-", dir="/tmp")
    path = folder + "/redis.sock"
    process = subprocess.Popen(
        [*DIES_WITH_PARENT, "redis-server", "--port", "0", "--unixsocket", path, "--dir", folder, "--save", "",
         "--appendonly", "yes", "--maxmemory-policy", "noeviction", "--daemonize", "no"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, **environment})
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


def connect(path):
    # Keys and messages are bytes: latin-1 has a character for each, that every log can show.
    return redis.Redis(unix_socket_path=path, decode_responses=True, encoding="latin-1", socket_timeout=30)


@pytest.fixture(scope="session")
def server():
    with redis_server() as path:
        yield path


@pytest.fixture
def db(server):
    client = connect(server)
    client.config_set("maxmemory", 0)
    client.flushall()
    yield client
    client.close()
