"""The processes of a system test: a real redis-server and the station under test."""
import os
import select
import shutil
import signal
import socket
import subprocess
import time

import redis

WAIT = float(os.environ.get("ZPLAN_TEST_WAIT", "20"))   # seconds: a slow machine under load
RSS_MIB = float(os.environ.get("ZPLAN_TEST_RSS_MIB", "64"))    # growth; sanitizers need more
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN_DIR = os.environ.get("ZPLAN_BIN_DIR", os.path.join(REPO, "build"))
ZPLAND = os.path.join(BIN_DIR, "zpland")
if not os.path.exists(ZPLAND):
    ZPLAND = os.path.join(BIN_DIR, "src", "zpland")     # where meson leaves it


def wait_until(condition, what, timeout=WAIT, pause=0.02):
    """Poll until the condition gives something true; return that."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {timeout} s: {what}"
        time.sleep(pause)


# A test run that is killed leaves nothing behind. With a preexec_fn each start would fork the whole of this process: 25 ms.
DIES_WITH_PARENT = [shutil.which("setpriv"), "--pdeathsig", "KILL"]


def alive(pid):
    """Runs, and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as names:
            found += map(int, names.read().split())
    return found


def kill_redis(pid):
    """End a redis-server that a station of ours has left."""
    if alive(pid):
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            if b"redis-server" in line.read():
                os.kill(pid, signal.SIGKILL)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Redis:
    """A redis-server of the test's own, on a unix socket, in the folder of the socket."""

    def __init__(self, path, args=()):
        self.socket = path
        self.password = None
        # Without rewrites of the append-only file: a child of theirs would outlive a kill -9.
        self.args = ["--appendonly", "yes", "--maxmemory-policy", "noeviction",
                     "--auto-aof-rewrite-percentage", "0", *args]
        if "--requirepass" in args:
            self.password = args[args.index("--requirepass") + 1]
        self.process = None
        self.wrap = []      # a command before the program, which must become it
        self.env = {}

    def start(self, wait=True):
        folder = os.path.dirname(self.socket)
        with open(self.socket + ".log", "ab") as log:
            self.process = subprocess.Popen(
                [*DIES_WITH_PARENT, *self.wrap, "redis-server", "--port", "0", "--unixsocket", self.socket,
                 "--dir", folder, "--save", "", "--daemonize", "no", *self.args],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **self.env})
        if wait:
            wait_until(self.answers, "redis-server answers")

    def answers(self):
        assert self.process.poll() is None, open(self.socket + ".log").read()
        try:
            return self.client().ping()
        except (redis.ConnectionError, redis.BusyLoadingError):
            return False

    def client(self, db=0):
        return redis.Redis(unix_socket_path=self.socket, db=db, password=self.password,
                           socket_timeout=WAIT)

    def stop(self):
        self.process.terminate()
        self.process.wait(WAIT)
        self.process = None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


def cpu_seconds(pid):
    """That the process has taken since its start."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Zpland:
    """The station under test."""

    running = []        # for the log that is shown with a failure

    def __init__(self, log, args, env=None):
        self.log = log
        self.args = list(args)
        # Of each its own: who finds the token of its last takeover there takes over at once.
        self.env = {**os.environ, "XDG_STATE_HOME": f"{log}.state", **(env or {})}
        self.process = None
        self.wrap = []          # a command before the program, which must become it
        self.orphans = []       # what it had started when it was killed

    def start(self, wait_ready=True):
        with open(self.log, "ab") as log:
            self.begun = log.tell() if log.seekable() else 0
            self.process = subprocess.Popen(
                [*DIES_WITH_PARENT, *self.wrap, ZPLAND, *self.args], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, env=self.env)
        Zpland.running.append(self)
        if wait_ready:
            self.wait_ready()

    def wait_ready(self):
        """It serves; it may have been a standby until the lease of the owner before was over."""
        line = self.next_word()
        if line == "standby":
            line = self.next_word()
        assert line == "ready", line

    def wait_standby(self):
        line = self.next_word()
        assert line == "standby", line

    def next_word(self):
        out, line, end = self.process.stdout, b"", time.monotonic() + WAIT
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            assert left > 0 and select.select([out], [], [], left)[0], "no word from zpland"
            byte = os.read(out.fileno(), 1)
            assert byte, f"zpland ended with {self.process.wait(WAIT)}: {self.log_tail()}"
            line += byte
        return line.decode().strip()

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        """SIGTERM; a graceful stop ends with 0. Nothing to do when it is down already."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("zpland does not end on SIGTERM") from None
        tail = self.log_tail()
        self.end()
        assert code == 0, f"zpland ended with {code} on SIGTERM: {tail}"

    def kill(self):
        """kill -9"""
        self.end()

    def reap(self):
        """Down, and nothing left of it."""
        self.end()
        for pid in self.orphans:
            kill_redis(pid)

    def end(self):
        """Whatever happened before: it is down after this."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.orphans += children(self.pid)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process = None
        Zpland.running.remove(self)

    def cpu_seconds(self):
        return cpu_seconds(self.pid)

    def rss_mib(self):
        with open(f"/proc/{self.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)

    def said(self):
        """Its log since this start."""
        with open(self.log, errors="replace") as log:
            log.seek(self.begun)
            return log.read()

    def log_tail(self, size=8000):
        if not os.path.exists(self.log):    # its folder is gone: another failure was the first
            return ""
        with open(self.log, "rb") as log:
            return log.read()[-size:].decode(errors="replace")


def run_once(args, timeout=WAIT):
    """zpland with arguments that it must refuse or answer at once: (exit code, stdout, stderr)."""
    process = subprocess.Popen(
        [*DIES_WITH_PARENT, ZPLAND, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        started = children(process.pid)
        process.kill()
        for pid in started:
            kill_redis(pid)
        raise AssertionError(f"zpland goes on: {process.communicate()}") from None
    return process.returncode, out.decode(), err.decode()
