"""What a service manager is told (sd_notify), by a datagram socket in its place."""
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from zplanprocs import DIES_WITH_PARENT, WAIT, ZPLAND, wait_until
from zplantest import Rig


class Manager:
    """The socket that $NOTIFY_SOCKET names."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def recv(self, timeout=WAIT):
        self.socket.settimeout(timeout)
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().split("\n"))

    def wait_for(self, name, value=None):
        """The next datagram with this line; return all that came until then, the last included."""
        end, seen = time.monotonic() + WAIT, []
        while True:
            left = end - time.monotonic()
            assert left > 0, f"no {name} in {WAIT} s, but {seen}"
            seen.append(self.recv(left))
            if name in seen[-1] and (value is None or re.fullmatch(value, seen[-1][name])):
                return seen

    def drain(self):
        self.socket.setblocking(False)
        try:
            while self.socket.recv(4096):
                pass
        except BlockingIOError:
            pass


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    name = f"@zplan-{os.getpid()}-{time.monotonic_ns()}"
    with Manager(name if request.param == "abstract" else str(tmp_path / "notify")) as one:
        yield one


@pytest.fixture
def make_told():
    """A rig whose station is told these variables."""
    rigs = []

    def make(**env):
        rigs.append(Rig(env=env))
        return rigs[-1]
    yield make
    for rig in rigs:
        rig.close()


def test_ready_reload_stop(manager, make_told):
    rig = make_told(NOTIFY_SOCKET=manager.name)
    rig.start()
    manager.wait_for("READY", "1")
    manager.wait_for("STATUS", "serving")
    before = time.monotonic_ns() // 1000
    rig.station.process.send_signal(signal.SIGHUP)
    told = manager.wait_for("READY", "1")
    assert told[0]["RELOADING"] == "1", told
    assert before <= int(told[0]["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
    rig.station.process.send_signal(signal.SIGTERM)
    manager.wait_for("STOPPING", "1")


def test_ready_is_not_said_before_it_serves(tmp_path, make_told):
    with Manager(str(tmp_path / "notify")) as manager:
        rig = make_told(NOTIFY_SOCKET=manager.name)
        rig.start()
        told = manager.wait_for("READY", "1")
        assert told[:-1] == [], told
        rig.client.ping()


def test_status_tells_that_redis_is_away(tmp_path, make_told):
    with Manager(str(tmp_path / "notify")) as manager:
        rig = make_told(NOTIFY_SOCKET=manager.name)
        rig.start()
        manager.wait_for("STATUS", "serving")
        rig.redis.kill()
        manager.wait_for("STATUS", "Redis is away: .+")
        rig.redis.start()
        manager.wait_for("STATUS", "serving")


def test_watchdog_beats_with_the_loop_alone(tmp_path, make_told):
    """Every half of what is waited for; a station that stands still says nothing, and then again."""
    with Manager(str(tmp_path / "notify")) as manager:
        rig = make_told(NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="2000000")
        rig.start()
        manager.wait_for("WATCHDOG", "1")
        begin = time.monotonic()
        manager.drain()         # what is read late was not sent late
        for _ in range(3):
            manager.wait_for("WATCHDOG", "1")
        assert time.monotonic() - begin > 1.5
        pid = rig.station.process.pid
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "T",
                   "it stands still")
        manager.drain()
        with pytest.raises(TimeoutError):
            manager.recv(timeout=3)
        os.kill(pid, signal.SIGCONT)
        manager.wait_for("WATCHDOG", "1")


@pytest.mark.parametrize("env", [{}, {"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"},
                                 {"WATCHDOG_USEC": "nonsense"}], ids=["unset", "other", "nonsense"])
def test_no_beat_that_is_not_wanted(tmp_path, make_told, env):
    with Manager(str(tmp_path / "notify")) as manager:
        rig = make_told(NOTIFY_SOCKET=manager.name, **env)
        rig.start()
        manager.wait_for("STATUS", "serving")
        with pytest.raises(TimeoutError):
            manager.recv(timeout=1)


def datagram_sockets(pid):
    """The station's Unix sockets that are of the kind of the manager's."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
        inodes |= {found[1]} if found else set()
    with open("/proc/net/unix") as table:
        rows = [line.split() for line in table][1:]
    return [row for row in rows if row[4] == "0002" and row[6] in inodes]


def test_without_a_manager_there_is_no_socket(tmp_path, make_told):
    rig = make_told()
    rig.start()
    assert datagram_sockets(rig.station.process.pid) == []
    with Manager(str(tmp_path / "notify")) as manager:
        told = make_told(NOTIFY_SOCKET=manager.name)
        told.start()
        assert len(datagram_sockets(told.station.process.pid)) == 1


@pytest.mark.parametrize("name", ["", "relative", "/", "@", "/" + "x" * 200, "/nowhere/notify"])
def test_a_manager_that_is_not_there_does_no_harm(make_told, name):
    rig = make_told(NOTIFY_SOCKET=name, WATCHDOG_USEC="100000")
    rig.start()
    rig.client.ping()
    rig.station.stop()      # with 0


def test_zstationd(manager, tmp_path):
    program = os.path.join(os.path.dirname(ZPLAND), "zstationd")
    with subprocess.Popen(
            [*DIES_WITH_PARENT, program, "--name", "jobs", "--type", "api", "--request", f"ipc://{tmp_path}/q",
             "--workers", f"ipc://{tmp_path}/w"], env={**os.environ, "NOTIFY_SOCKET": manager.name},
            stdout=subprocess.DEVNULL) as station:
        assert manager.wait_for("READY", "1") == [{"READY": "1"}]
        station.terminate()
        assert manager.wait_for("STOPPING", "1") == [{"STOPPING": "1"}]
        assert station.wait(WAIT) == 0
