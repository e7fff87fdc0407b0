"""The processes of a chaos run, and what can be done to each of them."""
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0] / "system"))
import redis                                                               # noqa: E402

from zplanprocs import ZPLAND, die_with_parent, free_port, wait_until, WAIT   # noqa: E402
from faults import LEASE                                                   # noqa: E402

SLOW = max(1.0, WAIT / 20)      # how much slower than usual this machine may be
SEND_TIMEOUT_MS = 500


class Process:
    """One of the run's processes; each start is another life of it, in a process group of its own."""

    def __init__(self, name, log):
        self.name, self.log, self.process, self.life = name, log, None, 0
        self.frozen = False

    def command(self):
        raise NotImplementedError

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0,
                start_new_session=True, preexec_fn=die_with_parent)
        self.life += 1

    def wait_ready(self):
        out, line, end = self.process.stdout, b"", time.monotonic() + WAIT
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            assert left > 0 and select.select([out], [], [], left)[0], f"{self.name} is not ready: {self.tail()}"
            byte = os.read(out.fileno(), 1)
            assert byte, f"{self.name} ended with {self.process.wait(WAIT)}: {self.tail()}"
            line += byte

    def send(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)

    def freeze(self):
        self.send(signal.SIGSTOP)
        self.frozen = True

    def thaw(self):
        self.send(signal.SIGCONT)
        self.frozen = False

    def kill(self):
        """kill -9, and whatever it has started."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process, self.frozen = None, False

    def stop(self, seconds):
        """SIGTERM; the exit code, or None if it goes on."""
        self.send(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def crashed(self):
        """It has ended by itself: the exit code."""
        return None if self.process is None else self.process.poll()

    def tail(self, size=3000):
        with open(self.log, "rb") as log:
            return log.read()[-size:].decode(errors="replace")


class Redis(Process):
    def __init__(self, folder):
        super().__init__("redis", os.path.join(folder, "redis.txt"))
        self.folder, self.port = folder, free_port()
        self.socket = os.path.join(folder, "r")

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.socket,
                "--dir", self.folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
                "--maxmemory-policy", "noeviction", "--enable-debug-command", "local", "--daemonize", "no",
                "--logfile", self.log]

    def client(self):
        return redis.Redis(unix_socket_path=self.socket, socket_timeout=WAIT)

    def answers(self):
        try:
            return self.client().ping()
        except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError):
            return False

    def wait_ready(self):
        wait_until(self.answers, "redis-server answers", WAIT * 3)

    def say(self, *words):
        """A command whose answer nobody waits for; the socket it was said on."""
        one = socket.socket(socket.AF_UNIX)
        one.setblocking(False)
        try:
            one.connect(self.socket)
            one.send((" ".join(words) + "\r\n").encode())
        except OSError:
            pass        # it is down
        return one


class Station(Process):
    def __init__(self, folder, number, redis_addr, targets):
        super().__init__(f"station{number}", os.path.join(folder, f"station{number}.txt"))
        self.request, self.publish, events = (f"ipc://{folder}/{kind}{number}" for kind in "qpe")
        self.args = ["--request", self.request, "--publish", self.publish, "--events", events,
                     "--redis", redis_addr, "--exec-timeout", f"{LEASE:.0f}",
                     "--send-timeout", str(SEND_TIMEOUT_MS), "--history-count", "100000000"]
        for target in targets:
            kind = "pub" if target == "news" else "api"
            self.args += ["--station", f"{target}={kind}@ipc://{folder}/t-{target}"]

    def command(self):
        return [ZPLAND, *self.args]


class Actor(Process):
    def __init__(self, folder, role, config):
        super().__init__(config["name"], os.path.join(folder, config["name"] + ".txt"))
        self.role, self.config = role, config

    def command(self):
        return ["/usr/bin/python3", str(HERE / "actors.py"), self.role, json.dumps(self.config), str(self.life)]


class Proxy(Process):
    def __init__(self, folder, to_port):
        super().__init__("proxy", os.path.join(folder, "proxy.txt"))
        self.port, self.to_port = free_port(), to_port

    def command(self):
        return ["/usr/bin/python3", str(HERE / "proxy.py"), str(self.port), str(self.to_port)]

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")


class Rig:
    """All of them, around one folder."""

    TARGETS = ("jobs0", "jobs1", "news", "slow")

    def __init__(self, folder, seed, rate, stations, submitters):
        self.folder, self.records = folder, os.path.join(folder, "records")
        os.mkdir(self.records)
        self.redis = Redis(folder)
        self.proxy = Proxy(folder, self.redis.port)
        # The second station goes through the proxy: what is done to its link is not done to the first.
        address = ("unix:" + self.redis.socket, f"127.0.0.1:{self.proxy.port}")
        self.stations = [Station(folder, i, address[i % 2], self.TARGETS) for i in range(stations)]
        common = {"seed": seed, "records": self.records, "requests": [one.request for one in self.stations]}
        self.targets = [Actor(folder, "target", {
            **common, "name": name, "endpoint": f"ipc://{folder}/t-{name}", "slow": name == "slow"})
            for name in self.TARGETS]
        self.submitters = [Actor(folder, "submitter", {
            **common, "name": f"submitter{i}", "number": i, "rate": rate / submitters}) for i in range(submitters)]
        self.subscriber = Actor(folder, "subscriber", {
            **common, "name": "subscriber", "publish": {one.name: one.publish for one in self.stations}})
        self.all = [self.redis, self.proxy, self.subscriber, *self.targets, *self.stations, *self.submitters]
        self.named = {one.name: one for one in self.all}

    def start(self):
        for one in self.all:
            one.start()
            one.wait_ready()

    def crowd(self):
        return {"station": [one.name for one in self.stations], "target": [one.name for one in self.targets],
                "submitter": [one.name for one in self.submitters]}

    def close(self):
        for one in reversed(self.all):
            one.kill()
