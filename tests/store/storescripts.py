"""The scripts as Python calls, each packing its arguments in the order of the script's header."""
import pathlib
import sys
from collections import namedtuple

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "src" / "store" / "scripts"
sys.path.insert(0, str(SCRIPTS.parent))
from embed import script_text   # noqa: E402: the build's own joining of the scripts

SOURCES = {path.stem: script_text(str(path)) for path in SCRIPTS.glob("*.lua")}

TIME_SET, IDS, RUN, META, TOLD = ("plan:time:set", "plan:ids", "plan:run", "plan:meta",
                                  "plan:told")
CLAIMS, SENT = "plan:claim:test", "plan:sent:test"  # of one station, for lost answers

# A test that fixes the clock puts it here; the scripts then read this key in the place of TIME.
CLOCK = "test:clock"
TIME_CALL = "redis.call('TIME')"
FROZEN_CALL = f"redis.call('HMGET', '{CLOCK}', 's', 'us')"

T0 = 1_700_000_000_250_000  # a moment for tests with a fixed clock, in us

Claim = namedtuple("Claim", "now_us next broken plans")
Claimed = namedtuple("Claimed", "member message exec_id again")
Page = namedtuple("Page", "last repaired outside")


def member(ident, station="jobs"):
    return f"plan:msg:{station}:{ident}"


def work_key(ident, station="jobs"):
    return f"plan:work:{station}:{ident}"


def wait_key(station="jobs"):
    return f"plan:wait:{station}"


def digits(ident):
    return ident.zfill(16)


def entry(ident, station="jobs"):
    return f"{digits(ident)}:{station}"


def pairs(row):
    return list(zip(row[::2], row[1::2]))


def score_after(now_us, seconds=0):
    """The score that is `seconds` after this moment, as the scripts round it."""
    return float(f"{now_us / 1e6 + seconds:.6f}")


class Store:
    def __init__(self, db):
        self.db = db
        self.frozen = False
        self.number = 0  # of the last claim or commit

    def freeze(self, now_us):
        """From now on the scripts' clock stands here."""
        self.db.hset(CLOCK, mapping={"s": now_us // 1_000_000, "us": now_us % 1_000_000})
        self.frozen = True

    def call(self, name, keys, args):
        text = SOURCES[name]
        if self.frozen:
            text = text.replace(TIME_CALL, FROZEN_CALL)
        return self.db.eval(text, len(keys), *keys, *args)

    def submit(self, ident, station="jobs", score=1, text="{}"):
        return self.call("submit", [TIME_SET, member(ident, station), IDS],
                         [digits(ident), station, score, text])

    def next_number(self):
        self.number += 1
        return self.number

    def claim(self, limit=100, lease=300, number=None):
        now_us, first, broken, *rows = self.call("claim", [TIME_SET, RUN, META, IDS, CLAIMS],
                                                 [limit, lease, number or self.next_number()])
        return Claim(int(now_us), float(first) if first else None, broken,
                     [Claimed(*row) for row in rows])

    def run(self, ident, station="jobs", lease=300):
        """The exec_id of the one plan that is due."""
        (plan,) = self.claim(lease=lease).plans
        assert plan.member == member(ident, station)
        return plan.exec_id

    def commit(self, ident, exec_id, mode, when="", text="", work="", tell="none", wait=False,
               station="jobs", participant="jobs", number=None):
        keys = [TIME_SET, member(ident, station), work_key(ident, station), RUN, IDS, META,
                wait_key(station), TOLD, SENT]
        args = [exec_id, mode, when, text, participant, work, tell, int(wait),
                entry(ident, station), number or self.next_number()]
        return self.call("commit", keys, args)

    def load(self, ident):
        return self.call("load", [TIME_SET, RUN, IDS], [digits(ident)])

    def remove(self, ident, station=""):
        return self.call("remove", [TIME_SET, IDS], [digits(ident), station])

    def list(self, after="", limit=100):
        self.more, *rest = self.call("list", [IDS], [digits(after) if after else "", limit])
        return pairs(rest)

    def wake(self, station="jobs", limit=100):
        return self.call("wake", [TIME_SET, wait_key(station)], [limit])

    def sweep(self, after="", limit=100):
        last, repaired, *rest = self.call("sweep", [TIME_SET, IDS], [after, limit])
        return Page(last, repaired, pairs(rest))

    def redis_us(self):
        seconds, us = self.db.time()
        return seconds * 1_000_000 + us

    def dump(self):
        """Everything that is stored, for comparing whole states."""
        keys = sorted(set(self.db.keys()) - {CLOCK, CLAIMS, SENT})
        with self.db.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.type(key)
            kinds = pipe.execute()
            for key, kind in zip(keys, kinds):
                read_key(pipe, key, kind)
            return {key: dict(value) if kind == "zset" else value
                    for key, kind, value in zip(keys, kinds, pipe.execute())}


def read_key(pipe, key, kind):
    if kind == "zset":
        pipe.zrange(key, 0, -1, withscores=True)
    elif kind == "hash":
        pipe.hgetall(key)
    elif kind == "set":
        pipe.smembers(key)
    elif kind == "list":
        pipe.lrange(key, 0, -1)
    else:
        pipe.get(key)
