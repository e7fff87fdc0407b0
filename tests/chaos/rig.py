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

from zplanprocs import DIES_WITH_PARENT, WAIT, ZPLAND, free_port, wait_until   # noqa: E402
from faults import LEASE                                                   # noqa: E402
from zplantest import CMD, Client                                          # noqa: E402

SLOW = max(1.0, WAIT / 20)      # how much slower than usual this machine may be
SEND_TIMEOUT_MS = 500


class Process:
    """One of the run's processes; each start is another life of it, in a process group of its own."""

    def __init__(self, name, log):
        self.name, self.log, self.process, self.life = name, log, None, 0
        self.frozen, self.env = False, None

    def command(self):
        raise NotImplementedError

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*DIES_WITH_PARENT, *self.command()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0, env=self.env,
                start_new_session=True)
        self.life += 1

    def wait_ready(self):
        """It has printed a line; return that."""
        out, line, end = self.process.stdout, b"", time.monotonic() + WAIT
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            assert left > 0 and select.select([out], [], [], left)[0], f"{self.name} is not ready: {self.tail()}"
            byte = os.read(out.fileno(), 1)
            assert byte, f"{self.name} ended with {self.process.wait(WAIT)}: {self.tail()}"
            line += byte
        return line.decode().strip()

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
    """One of them owns the plans and serves; the others are standbys."""

    def __init__(self, folder, number, redis_addr, targets):
        super().__init__(f"station{number}", os.path.join(folder, f"station{number}.txt"))
        self.request, self.publish, events = (f"ipc://{folder}/{kind}{number}" for kind in "qpe")
        self.args = ["--request", self.request, "--publish", self.publish, "--events", events,
                     "--redis", redis_addr, "--exec-timeout", f"{LEASE:.0f}",
                     "--send-timeout", str(SEND_TIMEOUT_MS), "--history-count", "100000000"]
        for target in targets:
            kind = "pub" if target == "news" else "api"
            self.args += ["--station", f"{target}={kind}@ipc://{folder}/t-{target}"]
        # Of each its own: who finds the token of its last takeover there takes over at once.
        self.env = {**os.environ, "XDG_STATE_HOME": os.path.join(folder, f"state{number}")}
        self.words = b""

    def command(self):
        return [ZPLAND, *self.args]

    def start(self):
        self.words = b""
        super().start()

    def serves(self):
        """Whether `ready` is the last word that it printed."""
        while self.process and select.select([self.process.stdout], [], [], 0)[0]:
            data = os.read(self.process.stdout.fileno(), 4096)
            if not data:
                return False
            self.words += data
        return self.process is not None and self.words.endswith(b"ready\n")

    def wait_word(self, word):
        wait_until(lambda: self.serves() is (word == "ready") and self.words, f"{self.name} is {word}")

    def answers(self):
        """It answers PING: a standby's request socket is closed."""
        client = Client(self.request)
        try:
            client.send(CMD.PING)
            return client.socket.poll(300)
        finally:
            client.close()


class Actor(Process):
    def __init__(self, folder, role, config):
        super().__init__(config["name"], os.path.join(folder, config["name"] + ".txt"))
        self.role, self.config = role, config

    def command(self):
        return ["/usr/bin/python3", str(HERE / "actors.py"), self.role, json.dumps(self.config), str(self.life)]


class Witness(Process):
    def __init__(self, folder, records):
        super().__init__("witness", os.path.join(folder, "witness.txt"))
        self.args = [folder, os.path.join(records, "witness.log")]

    def command(self):
        return ["/usr/bin/python3", str(HERE / "witness.py"), *self.args]


class Proxy(Process):
    def __init__(self, folder, number, to_port):
        super().__init__(f"proxy{number}", os.path.join(folder, f"proxy{number}.txt"))
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
        # Of each station its own: what is done to the link of one is not done to the others.
        self.proxies = [Proxy(folder, i, self.redis.port) for i in range(stations)]
        self.stations = [Station(folder, i, f"127.0.0.1:{proxy.port}", self.TARGETS)
                         for i, proxy in enumerate(self.proxies)]
        self.witness = Witness(folder, self.records)
        common = {"seed": seed, "records": self.records, "requests": [one.request for one in self.stations]}
        self.targets = [Actor(folder, "target", {
            **common, "name": name, "endpoint": f"ipc://{folder}/t-{name}", "slow": name == "slow"})
            for name in self.TARGETS]
        self.submitters = [Actor(folder, "submitter", {
            **common, "name": f"submitter{i}", "number": i, "rate": rate / submitters}) for i in range(submitters)]
        self.subscriber = Actor(folder, "subscriber", {
            **common, "name": "subscriber", "publish": {one.name: one.publish for one in self.stations}})
        self.all = [self.redis, *self.proxies, self.witness, self.subscriber, *self.targets, *self.stations,
                    *self.submitters]
        self.named = {one.name: one for one in self.all}

    def start(self):
        for one in self.all:
            one.start()
            if one in self.stations:
                one.wait_word("ready" if one is self.stations[0] else "standby")
            else:
                one.wait_ready()

    def crowd(self):
        return {"station": [one.name for one in self.stations], "target": [one.name for one in self.targets],
                "submitter": [one.name for one in self.submitters], "proxy": [one.name for one in self.proxies]}

    def server(self):
        """The station that serves, or None; before Redis is there, one that does not know yet that it is a standby."""
        return next((one for one in self.stations if one.serves() and not one.frozen), None)

    def client(self):
        """Of the station that serves, within the time of a takeover."""
        found = wait_until(lambda: next((one for one in self.stations if one.serves() and one.answers()), None),
                           "a station serves")
        return Client(found.request)

    def close(self):
        for one in reversed(self.all):
            one.kill()
