"""Data of schema 1, as a real station of that version left them, become those of schema 2 and go back, without loss.

schema1.json.gz has some 300 plans in all states; make_schema1.py made it, and says how. The test multiplies them to
100,000, and reads what schema 1 means by rules of its own. Redis has the time at which they were made.
"""
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from conftest import DIES_WITH_PARENT, connect, redis_server
from storescripts import CLASS, IDS, META, OWNER, RUN, TIME_SET, entry, member

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "system"))
from redisproxy import RedisProxy                           # noqa: E402
from zplantest import Client, FakeTarget, wait_until        # noqa: E402

BIN = os.environ.get("ZPLAN_BIN_DIR", str(HERE.parents[1] / "build" / "src"))
ZPLAND = os.path.join(BIN, "zpland")
SHIM = os.path.join(BIN, "..", "tests", "clock_shim.so")
SANITIZED = b"__asan_init" in pathlib.Path(ZPLAND).read_bytes() if os.path.exists(ZPLAND) else False
PLANS = int(os.environ.get("ZPLAN_MIGRATION_PLANS", "5000" if SANITIZED else "100000"))
AGE_US = 20_000_000     # since the last station of the former version wrote anything
LANE_UNIT = 61.803399   # proto/redis.md
RETRY = 3               # a plan_state
FORMER = re.compile("plan:(held|lanes?|busy|offers|told|claim|sent)(:|$)")  # keys that schema 2 does not have
OF_A_PLAN = re.compile("plan:(msg|work|team):([^:]+):([0-9a-f]+)$")
WAIT = 60


# -- the data

def of_schema_1():
    """The time in microseconds, and {key -> value}: text, {field -> text}, {member -> score} or [(id, fields)]."""
    with gzip.open(HERE / "schema1.json.gz") as file:
        made = json.load(file)
    keys = {}
    for name, (kind, value, _) in made["keys"].items():
        if kind == "zset":
            value = dict(value)
        elif kind == "stream":
            value = [(ident, dict(zip(parts[::2], parts[1::2]))) for ident, parts in value]
        keys[name] = value
    return made["time_us"], keys


def renamed(message, plan, number):
    """A copy of a plan: the message, and its id. The id of one with a key follows from that."""
    ident = random.getrandbits(63) or 1
    if "key" in plan:
        key = f"{plan['key']} {number}"
        ident = int.from_bytes(hashlib.sha1(key.encode()).digest()[:8], "little") & (2**63 - 1) or 1
        message = message.replace(plan["key"], key)
    message = message.replace(f"{plan['plan_id']:x}", f"{ident:x}").replace(str(plan["plan_id"]), str(ident))
    return message, f"{ident:x}"


def multiplied(keys, times):
    """All keys of each plan so many times, the first time as it is; what is of no plan once."""
    made = {name: value for name, value in keys.items() if not OF_A_PLAN.match(name)}
    made = {name: dict(value) if isinstance(value, dict) else value for name, value in made.items()}
    plans = {name: value for name, value in keys.items() if OF_A_PLAN.match(name)}
    made.update(plans)
    parsed = {name: json.loads(value) for name, value in plans.items() if name.startswith("plan:msg:")}
    shared = [(made[key], [(name, value) for name, value in keys[key].items() if name.startswith("plan:msg:")])
              for key in keys if isinstance(keys[key], dict) and not OF_A_PLAN.match(key)]
    for number in range(1, times):
        names = {}
        for name, message in plans.items():
            word, station, ident = name.split(":")[1:]
            if word == "msg":
                text, new = renamed(message, parsed[name], number)
                names[ident, station] = new
                made[member(new, station)] = text
                made[IDS][entry(new, station)] = 0
        for name, value in plans.items():
            word, station, ident = name.split(":")[1:]
            if word != "msg":
                made[f"plan:{word}:{station}:{names[ident, station]}"] = value
        for value, of_plans in shared:
            for name, what in of_plans:
                station, ident = name.split(":")[2:]
                if (ident, station) in names:
                    value[member(names[ident, station], station)] = what
    made["plan:count"] = {name: str(int(count) * times) for name, count in keys["plan:count"].items()}
    return made


def command(*words):
    parts = [word if isinstance(word, bytes) else str(word).encode("latin-1") for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def load(db, path, keys):
    """By redis-cli --pipe: it is as fast as it gets."""
    pipe = subprocess.Popen(["redis-cli", "-s", path, "--pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    for name, value in keys.items():
        if isinstance(value, str):
            pipe.stdin.write(command("SET", name, value))
        elif isinstance(value, list):
            for ident, fields in value:
                pipe.stdin.write(command("XADD", name, ident, *(part for pair in fields.items() for part in pair)))
        else:
            rows = list(value.items())
            zset = isinstance(rows[0][1], (int, float))
            for at in range(0, len(rows), 500):
                flat = [part for one, other in rows[at:at + 500]
                        for part in ((repr(other), one) if zset else (one, other))]
                pipe.stdin.write(command("ZADD" if zset else "HSET", name, *flat))
    out = pipe.communicate(timeout=WAIT)[0]
    assert b"errors: 0," in out and db.dbsize() == len(keys), out


def answers(path, commands):
    """Of Redis, to all of them at once: the client of Python takes ten times as long for a million texts."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        writer = threading.Thread(target=link.sendall, args=(b"".join(command(*words) for words in commands),))
        writer.start()
        file = link.makefile("rb", 1 << 20)

        def answer():
            line = file.readline()
            kind, number = line[:1], line[1:-2]
            if kind == b"$":
                return file.read(int(number) + 2)[:-2].decode("latin-1")
            assert kind == b"*", line
            return [answer() for _ in range(int(number))]
        found = [answer() for _ in commands]
        writer.join()
    return found


def stored(db, path):
    """All keys, in the same form."""
    def pairs(flat, value=str):
        return dict(zip(flat[::2], map(value, flat[1::2])))
    kinds = {"string": (["GET"], [], str), "hash": (["HGETALL"], [], pairs),
             "zset": (["ZRANGE"], [0, -1, "WITHSCORES"], lambda flat: pairs(flat, float)),
             "stream": (["XRANGE"], ["-", "+"], lambda rows: [(ident, pairs(flat)) for ident, flat in rows])}
    names = db.keys("*")
    of_plans = {"msg": kinds["string"], "work": kinds["hash"], "team": kinds["hash"]}
    how = [of_plans.get(name.split(":")[1]) or kinds[db.type(name)] for name in names]
    found = answers(path, [[*words, name, *more] for name, (words, more, _) in zip(names, how)])
    return {name: read(value) for name, value, (_, _, read) in zip(names, found, how)}


# -- what schema 1 means

def in_lane(score, since):
    """Whether a plan that was due then stands in its lane: a multiple of the unit later."""
    units = (score - since) / LANE_UNIT
    return round(units) >= 1 and abs(units - round(units)) * LANE_UNIT < 0.000002


def places(keys, now):
    """{member -> (earliest, latest) score} in schema 2 of the plans that stand apart."""
    found = {}
    for name, value in keys.items():
        if name.startswith("plan:lane:"):
            found.update((plan, (since, since)) for plan, since in value.items()
                         if in_lane(keys[TIME_SET][plan], since))
        elif name.startswith("plan:held:"):
            for plan in (plan for plan, score in value.items() if keys[TIME_SET][plan] == score):
                message = json.loads(keys[plan])
                due, jitter = message["plan_time"], message.get("jitter", 0)
                # Of a retry, and of a run by hand, it is not known any more since when it is due.
                is_known = message["plan_state"] != RETRY and not message.get("extra")
                found[plan] = (min(due, now[0]), min(due + jitter, now[1]) if is_known else now[1])
    return found


def assert_same(have, want, what):
    """With few words, of a hundred thousand."""
    if have != want:
        assert type(have) is type(want), what
        if isinstance(want, dict):
            differ = [(name, have.get(name), want.get(name)) for name in {**want, **have}
                      if have.get(name) != want.get(name)]
            raise AssertionError(f"{what}: {len(differ)} of {len(want)} differ: {differ[:3]}")
        raise AssertionError(f"{what}: {str(have)[:500]} and not {str(want)[:500]}")


def assert_kept(have, want, moved, former, schema):
    """`have` is `want`, but for the plans that were moved, and the keys that only schema 1 has."""
    assert have[META].pop("schema") == schema
    want = {**want, META: {name: text for name, text in want[META].items() if name != "schema"}}
    queue, before = have.pop(TIME_SET), want.pop(TIME_SET)
    for plan, (first, last) in moved.items():
        score = queue[plan]
        assert first - 0.000001 <= score <= last + 0.000001, (plan, score, first, last)
    left_apart = {plan: score for plan, score in before.items() if plan not in moved}
    assert_same({plan: score for plan, score in queue.items() if plan not in moved}, left_apart, TIME_SET)
    ours = {"plan:attending", OWNER}
    for name in sorted({*have, *want} - ours):
        if FORMER.match(name) and not former(name):
            assert name not in have, f"{name} is left"
        else:
            assert_same(have.get(name), want.get(name), name)


# -- the processes

class Station:
    """A real zpland on a Redis whose answers may be lost."""

    def __init__(self, folder, path):
        self.folder, self.redis = folder, path
        self.proxy = RedisProxy(path)
        self.log = folder / "log"
        self.process = None

    def ipc(self, name):
        return f"ipc://{self.folder}/{name}"

    def start(self, *args, redis=None):
        stations = [word for name in ("lots", "full", "slow", "away", "jobs", "news") for word in
                    ("--station", f"{name}=api@{self.ipc(name)}")]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*DIES_WITH_PARENT, ZPLAND, "--redis", redis or "unix:" + self.redis, "--request", self.ipc("q"), "--publish",
                 self.ipc("p"), "--events", self.ipc("e"), "--station", "pile=pull", *stations, *args],
                stdout=subprocess.PIPE, stderr=log,
                env={**os.environ, "XDG_STATE_HOME": str(self.folder / "state")})
        return self

    def said(self):
        return self.log.read_text()[-3000:]

    def serving(self):
        assert self.process.stdout.readline() == b"ready\n", self.said()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def killed_at(self, words, reached=lambda: True):
        """kill -9 when Redis has these words and the station has no answer: between two of its batches."""
        self.proxy.swallow, self.proxy.swallow_from = False, words
        self.start(redis=self.proxy.address)
        wait_until(lambda: self.proxy.swallow and reached() or self.process.poll() is not None, words, WAIT)
        assert self.process.poll() is None, self.said()
        self.kill()
        self.proxy.swallow, self.proxy.swallow_from = False, None

    def ended(self):
        self.process.communicate(timeout=WAIT)
        assert self.process.returncode == 0, self.said()


@contextlib.contextmanager
def redis_of(folder, keys, since_us):
    """A Redis that has these keys, at the time after they were made."""
    clock = folder / "clock"
    clock.write_bytes(struct.pack("<q", since_us + AGE_US - time.time_ns() // 1000))
    with redis_server(LD_PRELOAD=SHIM, ZPLAN_TEST_CLOCK=str(clock)) as path:
        db = connect(path)
        load(db, path, keys)
        db.config_set("save", "")
        yield db, path
        db.close()


@pytest.fixture
def data():
    random.seed(1)
    since_us, keys = of_schema_1()
    keys = multiplied(keys, -(-PLANS // len(keys[IDS])))
    # Of a version that did not count yet, a limit and a target that are gone.
    del keys["plan:count"]["s:lots"]
    return since_us, {**keys, "plan:busy:g:gone": {"": 0.0}, "plan:offers:gone": {member("1", "gone"): 1.0}}


@pytest.fixture
def station(data, tmp_path):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="zm", dir="/tmp"))    # a socket's path is short
    since_us, keys = data
    with redis_of(tmp_path, keys, since_us) as (db, path):
        made = Station(folder, path)
        made.db = db
        try:
            yield made
        finally:
            made.kill()
            made.proxy.close()
            shutil.rmtree(folder)


def now_of(db):
    second, microsecond = db.time()
    return int(second) + int(microsecond) / 1e6


def assert_goes_on(station, keys, moved):
    """What was held is sent, in its order; what was offered can be taken, also in its order."""
    held = [plan for plan in keys["plan:held:full"] if plan in moved]
    target = FakeTarget(station.ipc("full"))
    lots = FakeTarget(station.ipc("lots"))
    client = Client(station.ipc("q"))
    try:
        # There are as many runs in flight as copies, at targets that took few.
        station.start("--max-runs", "1000000", "--max-runs-target", "100000").serving()
        runs = [target.recv(WAIT) for _ in range(20)]
        names = [member(run.mailbox[1:].decode(), "full") for run in runs]
        assert set(names) <= set(held) and sorted(names, key=moved.get) == names
        target.finish(runs[0])
        wait_until(lambda: not station.db.exists(names[0]), "it has ended", WAIT)
        assert not station.db.hexists(RUN, names[0])
        assert client.done("stats").json["plans"] == len(keys[IDS]) - 1
        client.done("limit", "set", "station:pile", {"concurrency": 10000})
        jobs = client.done("take", {"station": "pile", "worker": "w9", "limit": 20}).json["jobs"]
        offers = {plan: score for plan, score in keys["plan:offers:pile"].items() if plan not in keys[CLASS] or
                  keys[CLASS][plan].endswith(":")}      # of the group only so many run
        assert [offers[member(job["plan_id"], "pile")] for job in jobs] == sorted(offers.values())[:20]
        lots.nothing(0)     # its limit is used up by runs that are in flight
    finally:
        target.close()
        lots.close()
        client.close()


def test_there_and_back(data, station):
    db, (_, keys) = station.db, data
    begin = now_of(db)
    # Nothing begins while a station of the former version reports.
    db.hset("plan:attending", "former", int(now_of(db)))
    station.start()
    wait_until(lambda: "migration.waits" in station.said(), "it waits", WAIT)
    assert db.hget(META, "schema") == "1" and db.hdel("plan:attending", "former")
    station.kill()
    # Cut off at its first words, when the first plans get their places, and when a lane goes; and the last answer is
    # lost.
    station.killed_at(b"1>2")
    station.killed_at(b"\r\nXX\r\n")
    lane = db.keys("plan:lane:*")[0]
    station.killed_at(b"DEL\r\n$%d\r\n%s\r\n" % (len(lane), lane.encode()), lambda: not db.exists(lane))
    if db.hget(META, "schema") == "1>2":    # else that lane was the last one, as Redis lists them
        station.killed_at(b"schema\r\n$1\r\n2\r\n", lambda: db.hget(META, "schema") == "2")
    moved = places(keys, (begin, now_of(db)))
    have = stored(db, station.redis)
    queue = have[TIME_SET]
    assert_kept(have, keys, moved, lambda name: False, "2")
    db.hset("plan:attending", "standby", f"{int(now_of(db))} 2")
    assert station.start("--schema", "1").process.wait(WAIT) == 1 and "another station is" in station.said()
    assert db.hget(META, "schema") == "2" and db.hdel("plan:attending", "standby")
    station.start("--schema", "1").ended()
    have = stored(db, station.redis)
    assert OWNER not in have
    assert_kept(have, keys, moved, lambda name: name == "plan:offers:pile", "1")
    assert_goes_on(station, keys, {plan: queue[plan] for plan in moved})
