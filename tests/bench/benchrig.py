"""What a measurement runs on: a station with its Redis and its targets, the peers, and the generators.

Everything that is started dies with this process; what was written is in one temporary folder.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("ZPLAN_TEST_WAIT", "120")     # a Redis that reads a million plans takes long
sys.path.insert(0, str(HERE.parents[0] / "system"))
from zplanprocs import (BIN_DIR, DIES_WITH_PARENT, Redis, Zpland, children, free_port,   # noqa: E402
                        wait_until)

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
FAR_S = 30 * 86400


def tool(name):
    """A program of tests/bench, built beside the station."""
    folders = [pathlib.Path(BIN_DIR), pathlib.Path(BIN_DIR).parent / "tests/bench",
               pathlib.Path(BIN_DIR) / "tests/bench"]
    for folder in folders:
        if (folder / name).exists():
            return str(folder / name)
    sys.exit(f"run.py: no {name} in {', '.join(map(str, folders))}: build first")


def say(text):
    print(time.strftime("[%H:%M:%S] ") + text, file=sys.stderr, flush=True)


def cpu_of(pid):
    """Seconds of processor time that all of its threads have used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def rss_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


class Failed(Exception):
    """A generator did not get what it wanted."""


class Generator:
    """A load generator under way: one line of JSON comes of it."""

    def __init__(self, args, env=None):
        self.args = [str(a) for a in args]
        self.marked = threading.Event()
        self.errors = []
        self.process = subprocess.Popen(
            [*DIES_WITH_PARENT, *self.args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**os.environ, **(env or {})})
        self.reader = threading.Thread(target=self._read_errors, daemon=True)
        self.reader.start()

    def _read_errors(self):
        for line in self.process.stderr:
            if line.strip() == "mark":
                self.marked.set()
            else:
                self.errors.append(line)
        self.marked.set()       # it has ended: nobody waits for it any more

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.result()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def result(self, strict=True):
        """The line of results; a generator that did not get all it wanted raises, unless told not to."""
        out = self.process.stdout.read()
        code = self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        if code and (strict or not out):
            raise Failed(f"{' '.join(self.args)} ended with {code}: {out}{''.join(self.errors[-5:])}")
        return json.loads(out)


class Folder:
    """A temporary folder, and what runs in it."""

    base = None     # --dir

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="zb", dir=Folder.base)
        self.opened = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            for one in reversed(self.opened):
                one()
        finally:
            shutil.rmtree(self.path, ignore_errors=True)

    def keep(self, generator):
        self.opened.append(generator.kill)
        return generator

    def at(self, name):
        return os.path.join(self.path, name)

    def redis(self, fsync):
        redis = Redis(self.at("r"), ["--appendfsync", fsync])
        self.opened.append(redis.kill)
        redis.start()
        return redis


class Station(Folder):
    """A station with targets; Redis is its own (fsync always), or one that is given."""

    def __init__(self, fsync, targets=("jobs",), given=False, args=()):
        super().__init__()
        self.fsync, self.given = fsync, given or fsync != "always"
        self.server = self.redis(fsync) if self.given else None
        self.socket = self.server.socket if self.given else self.at("d/redis.sock")
        kept = ["--redis", "unix:" + self.socket] if self.given else ["--data", self.at("d")]
        names = [one for name in targets for one in ("--station", f"{name}=api@{self.ipc(name)}")]
        self.zpland = Zpland(self.at("log"), [
            "--request", self.ipc("q"), "--publish", self.ipc("p"), "--events", self.ipc("e"),
            *kept, *names, *args])
        self.opened.append(self.zpland.reap)
        self.start()
        self.empty_rss = self.rss()

    def start(self):
        self.zpland.start()
        if not self.given:
            # Nothing is rewritten while it is measured.
            self.db().config_set("auto-aof-rewrite-percentage", 0)

    def ipc(self, name):
        return "ipc://" + self.at(name)

    def db(self):
        if self.given:
            return self.server.client()
        redis = Redis(self.socket)
        return redis.client()

    @property
    def redis_pid(self):
        return self.server.process.pid if self.given else children(self.zpland.pid)[0]

    def pids(self):
        return {"station": self.zpland.pid, "redis": self.redis_pid}

    def rss(self):
        return {name: rss_of(pid) for name, pid in self.pids().items()}

    def cpu(self):
        return {name: cpu_of(pid) for name, pid in self.pids().items()}

    def bench(self, command, *args):
        """Start a command of zplan-bench against this station."""
        where = {"intake": ["--connect", self.ipc("q")],
                 "drain": ["--connect", self.ipc("q"), "--publish", self.ipc("p")],
                 "late": ["--connect", self.ipc("q"), "--redis", "unix:" + self.socket], "target": []}
        return self.keep(Generator([tool("zplan-bench"), command, *where[command], *args]))

    def drain(self, *args):
        return self.bench("drain", "--target", self.ipc("jobs"), *args)

    def seq(self):
        """Of the last result that was broadcast."""
        return int(self.db().hget("plan:meta", "seq") or 0)

    def plans(self):
        """How many are kept."""
        return self.db().zcard("plan:ids")

    def left(self, behind=0, seconds=20):
        """How many are kept besides those `behind`, when the last results have been written."""
        over = time.monotonic() + seconds
        while (left := self.plans() - behind) > 0 and time.monotonic() < over:
            time.sleep(0.05)
        return left

    # -- plans by the hundred thousand, straight into Redis, in the station's own form

    def template(self, station):
        """A message as the station stores it; its numbers are to be put in: id, time, id in hex."""
        self.bench("intake", "--plans", 1, "--station", station, "--in", FAR_S).result()
        db = self.db()
        entry = next(e for e in db.zrange("plan:ids", 0, -1) if e.endswith(b":" + station.encode()))
        ident = entry[:16].lstrip(b"0").decode()
        key = f"plan:msg:{station}:{ident}"
        text = db.get(key).decode()
        time_text = str(json.loads(text)["plan_time"])
        callers = [f for f in db.hkeys("plan:count") if f.startswith(b"c:")]
        number = int(ident, 16)
        text = text.replace("%", "%%")
        for was, now in ((f'("plan_id" ?: ?){number}', "%(id)d"),
                         (f'("plan_time" ?: ?){time_text}', "%(time)d"), (f'("[*]){ident}', "%(id)x")):
            text, found = re.subn(was + r"\b", r"\g<1>" + now, text)
            assert found == 1, f"the stored plan is of another form: {was} stands {found} times in {text}"
        pipe = db.pipeline()
        pipe.delete(key, "plan:count")
        pipe.zrem("plan:time:set", key)
        pipe.zrem("plan:ids", entry)
        pipe.execute()
        return text, callers

    def preload(self, groups):
        """Plans of (station, how many, seconds from now), of which the first ones are due first.

        With a given Redis the station is down meanwhile: it finds them when it starts.
        """
        forms = {station: self.template(station) for station, _, _ in groups}
        if self.given:
            self.zpland.stop()
        begin = time.monotonic()
        total = sum(count for _, count, _ in groups)
        pipe = subprocess.Popen([*DIES_WITH_PARENT, "redis-cli", "-s", self.socket, "--pipe"], stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL)
        serial = (int(time.time() * 1000) - 86400 * 1000 * 10) << 20
        for station, count, seconds in groups:
            text, callers = forms[station]
            when = int(time.time()) + seconds
            for at in range(0, count, 1000):
                size = min(1000, count - at)
                pipe.stdin.write(mass_insert(station, text, callers, serial + at, size, when))
            serial += count
        pipe.stdin.close()
        assert pipe.wait() == 0, "redis-cli --pipe has failed"
        assert self.plans() == total, f"{self.plans()} plans in Redis, not {total}"
        # Else the first syncs of what is measured would wait for all of it.
        os.sync()
        say(f"  {total} plans put into Redis within {time.monotonic() - begin:.1f} s")


def mass_insert(station, text, callers, first, count, when):
    """What the station writes for so many plans, as the bytes of Redis' protocol."""
    messages, queue, index = [b"MSET"], [b"ZADD", b"plan:time:set"], [b"ZADD", b"plan:ids"]
    for ident in range(first, first + count):
        key = b"plan:msg:%s:%x" % (station.encode(), ident)
        messages += [key, (text % {"id": ident, "time": when}).encode()]
        queue += [b"%d" % when, key]
        index += [b"0", b"%016x:%s" % (ident, station.encode())]
    commands = [messages, queue, index]
    for field in (b"s:" + station.encode(), *callers):
        commands.append([b"HINCRBY", b"plan:count", field, b"%d" % count])
    return b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
                    for words in commands)


class Bare(Folder):
    """A Redis without a station, for its own limit and for BullMQ."""

    def __init__(self, fsync):
        super().__init__()
        self.server = self.redis(fsync)

    def limit(self, plans):
        return self.keep(Generator([tool("zplan-bench-redis"), "--redis", "unix:" + self.server.socket,
                                    "--plans", plans])).result()

    def bullmq(self, peers, command, *args):
        return self.keep(Generator(
            ["node", HERE / "peers/bullmq.js", command, "--redis", self.server.socket, *args],
            {"NODE_PATH": str(peers / "node_modules")}))

    @property
    def pid(self):
        return self.server.process.pid


class Beanstalkd(Folder):
    """beanstalkd with its log: synced each time for `always`, each 50 ms for `everysec`."""

    def __init__(self, fsync):
        super().__init__()
        self.port = free_port()
        self.process = subprocess.Popen(
            [*DIES_WITH_PARENT, "beanstalkd", "-l", "127.0.0.1", "-p", str(self.port), "-b", self.path,
             "-f0" if fsync == "always" else "-f50"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.opened.append(self.end)
        wait_until(self.listens, "beanstalkd listens")

    def listens(self):
        with open("/proc/net/tcp", encoding="ascii") as table:
            return f"0100007F:{self.port:04X} 00000000:0000 0A" in table.read()

    def end(self):
        self.process.kill()
        self.process.wait()

    @property
    def pid(self):
        return self.process.pid

    def bench(self, command, *args):
        return self.keep(Generator([tool("zplan-bench-beanstalk"), command, "--port", self.port, *args]))
