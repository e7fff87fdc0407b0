"""The scripts as Python calls, each packing its arguments in the order of the script's header."""
import hashlib
import json
import os
import pathlib
import random
import re
import struct
import sys
from collections import Counter, namedtuple

import redis

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "src" / "store" / "scripts"
sys.path.insert(0, str(SCRIPTS.parent))
from embed import script_text   # noqa: E402: the build's own joining of the scripts

SOURCES = {path.stem: script_text(str(path)) for path in SCRIPTS.glob("*.lua")}

TIME_SET, IDS, RUN, META, TOLD = ("plan:time:set", "plan:ids", "plan:run", "plan:meta",
                                  "plan:told")
HISTORY, STATIONS, KINDS = "plan:history", "plan:stations", "plan:kinds"
CLAIMS, SENT = "plan:claim:test", "plan:sent:test"  # of one station, for lost answers
COUNT = "plan:count"

# A test that fixes the clock puts it here; the scripts then read this key in the place of TIME.
CLOCK = "test:clock"
TIME_CALL = "redis.call('TIME')"
FROZEN_CALL = f"redis.call('HMGET', '{CLOCK}', 's', 'us')"

NEW = "plan:new:test"  # the mark of a submission

T0 = 1_700_000_000_250_000  # a moment for tests with a fixed clock, in us

WORK = {"jobs": "[]"}  # a result of the station itself
KEEP, AGE = 100_000, 30 * 86400  # the bounds of the history, where a test has none of its own

Claim = namedtuple("Claim", "now_us next broken plans")
Claimed = namedtuple("Claimed", "member message exec_id again lost due", defaults=[0, "", 0])
Page = namedtuple("Page", "last plans")
Swept = namedtuple("Swept", "last repaired outside")
History = namedtuple("History", "seq epoch first last outcomes")
Outcome = namedtuple("Outcome", "entry plan station ended record output", defaults=[""])


def member(ident, station="jobs"):
    return f"plan:msg:{station}:{ident}"


def work_key(ident, station="jobs"):
    return f"plan:work:{station}:{ident}"


def team_key(ident, station="jobs"):
    return f"plan:team:{station}:{ident}"


def offers_key(station="jobs"):
    return f"plan:offers:{station}"


def wait_key(station="jobs"):
    return f"plan:wait:{station}"


def digits(ident):
    return ident.zfill(16)


def entry(ident, station="jobs"):
    return f"{digits(ident)}:{station}"


def caller_field(text):
    """The caller of a message as a field of plan:count, as the station makes it."""
    found = re.search(r'"caller"\s*:\s*(?:"([^"]*)"|{\s*"b64"\s*:\s*"([^"]*)")', text)
    name = "b" if not found else "b" + found.group(2) if found.group(1) is None else "t" + found.group(1)
    return "c:" + (hashlib.sha1(name.encode("latin-1")).hexdigest() if len(name) > 40 else name)


def claimed(db, answer):
    """The plans of a claim's answer: member, "exec_id[ again lost][@due]", message, ...; of many plans the caller
    reads the messages."""
    without, rows = answer[6] == 1, answer[7:]
    keys = rows[::2] if without else rows[::3]
    texts = db.mget(keys) if without and keys else rows[2::3]
    plans = []
    for key, text, run in zip(keys, texts, rows[1::2] if without else rows[1::3]):
        run, _, due = str(run).partition("@")
        exec_id, again, lost = run.split(" ") if " " in run else (run, "0", "")
        plans.append(Claimed(key, text, exec_id, int(again), lost, int(due or 0)))
    return plans


def held_as(exec_id, revision=0):
    """What is in plan:run of a run, with its marks, and of the message with this revision."""
    return f"{exec_id} {revision}"


def called_plan(ident, text="called", score=9, station="jobs", of_class="", bounds=(0, 0, 0), record=""):
    """What a commit says of a plan that its outcome calls."""
    return [member(ident, station), text, score, entry(ident, station), of_class, *bounds, record]


def message(**fields):
    return json.dumps(fields, separators=(",", ":"))


def seeded(turn):
    """Numbers for a random test; a failing one prints its seed. ZPLAN_STORE_SEED=N repeats it."""
    seed = int(os.environ.get("ZPLAN_STORE_SEED") or random.SystemRandom().getrandbits(32))
    print(f"ZPLAN_STORE_SEED={seed}")
    return random.Random(f"{seed} {turn}")


def flat(rows):
    return [value for row in rows for value in row]


def pairs(row):
    return list(zip(row[::2], row[1::2]))


def score_after(now_us, seconds=0):
    """The score that is `seconds` after this moment, as the scripts round it."""
    return float(f"{now_us / 1e6 + seconds:.6f}")


def unpacked(text, read=bytes.decode):
    """A msgpack value of the kinds that the history has: map, array, string and integer."""
    def take(size):
        nonlocal data
        head, data = data[:size], data[size:]
        assert len(head) == size
        return head

    def value():
        byte = take(1)[0]
        if byte < 0x80:
            return byte
        if byte & 0xf0 == 0x80:
            return {value(): value() for _ in range(byte & 0x0f)}
        if byte & 0xf0 == 0x90:
            return [value() for _ in range(byte & 0x0f)]
        if byte & 0xe0 == 0xa0:
            return read(take(byte & 0x1f))
        if byte in SIZES:
            return read(take(struct.unpack(SIZES[byte], take(struct.calcsize(SIZES[byte])))[0]))
        if byte == 0xdc:
            return [value() for _ in range(struct.unpack(">H", take(2))[0])]
        return struct.unpack(INTEGERS[byte], take(struct.calcsize(INTEGERS[byte])))[0]

    data = text.encode("latin-1")
    whole = value()
    assert data == b""
    return whole


SIZES = {0xd9: ">B", 0xda: ">H", 0xdb: ">I"}
INTEGERS = {0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q",
            0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q"}


def packed_text(text):
    data = text.encode("latin-1")
    for head, form, most in ((0xd9, ">BB", 0xff), (0xda, ">BH", 0xffff), (0xdb, ">BI", 1 << 32)):
        if len(data) <= most:
            return struct.pack(form, head, len(data)) + data


def packed_outcomes(rows):
    """What the history gets of many runs at once: (plan, station, record) of each."""
    return b"".join([struct.pack(">BH", 0xdc, len(rows)),
                     *(b"\x93" + b"".join(map(packed_text, row)) for row in rows)])


def each_outcome(entries):
    """The entries of the history as if each outcome had one of its own."""
    for name, fields in entries:
        if "m" not in fields:
            yield name, fields
            continue
        rows = unpacked(fields["m"], lambda text: text.decode("latin-1"))
        assert len(rows) == int(fields["n"])
        last = int(name.split("-")[0])
        for i, (plan, station, record) in enumerate(rows):
            yield (f"{last - len(rows) + 1 + i}-0",
                   {"p": plan, "s": station, "t": fields["t"], "r": record})


def header_numbers(name, section, mark=""):
    """The numbers that the header of a script gives its keys (KEYS) or arguments (ARGV); with the
    mark "+" those of the arguments that are given of each plan, run or target."""
    lines = re.match(r"#!lua.*\n((?:--.*\n)+)", SOURCES[name]).group(1).splitlines()
    found, numbers = None, []
    for line in lines:
        word, text = re.match(r"--\s*((?:KEYS|ARGV|Answers|Cost)\b)?\s*(.*)", line).groups()
        found = word or found
        if found == section:
            before = r"(?:^|  |, |: )\+" if mark else "(?:^|  )"
            numbers += [int(number) for number in re.findall(before + r"(\d+)(?= |,)", text)]
    return numbers


class Store:
    def __init__(self, db):
        self.db = db
        self.frozen = False
        self.bounds = {}  # script that is to stop earlier -> {what stands there -> what does now}
        self.number = 0   # of the last claim or commit

    def freeze(self, now_us):
        """From now on the scripts' clock stands here."""
        self.db.hset(CLOCK, mapping={"s": now_us // 1_000_000, "us": now_us % 1_000_000})
        self.frozen = True

    def call(self, name, keys, args):
        assert len(keys) == len(header_numbers(name, "KEYS"))
        text = SOURCES[name]
        if self.frozen:
            text = text.replace(TIME_CALL, FROZEN_CALL)
        for line, smaller in self.bounds.get(name, {}).items():
            assert text.count(line) == 1
            text = text.replace(line, smaller)
        return self.db.eval(text, len(keys), *keys, *args)

    def submit_all(self, plans, most=(0, 0, 0), made_here=False, classes=()):
        """`plans`: (ident, station, score, text); `classes` of each; an answer of each."""
        keys = [member(ident, station) for ident, station, *_ in plans]
        entries = [entry(ident, station) for ident, station, *_ in plans]
        numbers = [name[:16] for name in entries]
        grow = all(before < after for before, after in zip(numbers, numbers[1:]))
        tallies = Counter("s:" + station for _, station, *_ in plans)
        tallies += Counter(caller_field(text) for *_, text in plans)
        columns = [*keys, *flat(zip(keys, (text for *_, text in plans))),
                   *flat(zip((score for _, _, score, _ in plans), keys)),
                   *flat(("0", name) for name in entries)]
        if not made_here:
            columns += [work_key(ident, station) for ident, station, *_ in plans]
        columns += flat(zip(keys, classes))
        answers = self.call("submit", [TIME_SET, IDS], [
            *most, len(plans), "made" if made_here else "any", numbers[0] if grow else "", numbers[-1] if grow else "",
            len(tallies), *flat(tallies.items()), *columns])
        return answers or [1] * len(plans)

    def place_all(self, plans, most=(0, 0, 0), mark="7", number=None, classes=()):
        """The same of new plans with ids that grow, in a transaction: 1, or 0 and nothing is stored."""
        keys = [member(ident, station) for ident, station, *_ in plans]
        entries = [entry(ident, station) for ident, station, *_ in plans]
        tallies = Counter("s:" + station for _, station, *_ in plans)
        tallies += Counter(caller_field(text) for *_, text in plans)
        with self.db.pipeline(transaction=True) as pipe:
            pipe.execute_command("MSETNX", *flat(zip(keys, (text for *_, text in plans))), NEW, mark)
            pipe.eval(SOURCES["place"], 3, TIME_SET, IDS, NEW, *most, len(plans), number or mark,
                      entries[0][:16], entries[-1][:16], len(tallies), *flat(tallies.items()),
                      *flat(zip((score for _, _, score, _ in plans), keys)),
                      *flat(("0", name) for name in entries), *flat(zip(keys, classes)))
            return pipe.execute()[1]

    def submit(self, ident, station="jobs", score=1, text="{}", most=(0, 0, 0)):
        (answer,) = self.submit_all([(ident, station, score, text)], most)
        if answer == 1:
            return [1]
        if answer[0] == 3:
            raise redis.ResponseError(answer[1])
        return answer

    def next_number(self):
        self.number += 1
        return self.number

    def claim_all(self, limit=100, lease=300, number=None, keep=KEEP, since="", targets=(), ahead=0,
                  later=None, late=""):
        """`targets`: (name, how many, next or held, some are blocked[, limit of the settings]); `lease`: the first
        one; `later`: after a heartbeat, if that differs; `late`: from when on it takes none. The answer as it
        comes."""
        args = [value for target in targets for value in (*target, "")[:5]]
        return self.call("claim", [TIME_SET, RUN, META, IDS, CLAIMS],
                         [limit, lease, number or self.next_number(), keep, since, ahead, later or lease, late, *args])

    def claim(self, *args, **options):
        answer = self.claim_all(*args, **options)
        now_us, later, broken = answer[:3]
        return Claim(int(now_us), float(later) if later else None, broken, claimed(self.db, answer))

    def run(self, ident, station="jobs", lease=300):
        """The exec_id of the one plan that is due."""
        (plan,) = self.claim(lease=lease).plans
        assert plan.member == member(ident, station)
        return plan.exec_id

    def end_all(self, runs, number=None, keep=KEEP, outputs=b""):
        """`runs`: (ident, station, exec_id, revision, record); the answer as it comes."""
        keys = [member(ident, station) for ident, station, *_ in runs]
        texts = [self.db.get(key) if self.db.type(key) == "string" else "" for key in keys]
        tallies = Counter("s:" + station for _, station, *_ in runs)
        tallies += Counter(caller_field(text or "") for text in texts)
        columns = [*keys, *(f"{exec_id} {revision}" for _, _, exec_id, revision, _ in runs),
                   *(entry(ident, station) for ident, station, *_ in runs),
                   *(work_key(ident, station) for ident, station, *_ in runs)]
        outcomes = packed_outcomes([(ident, station, record) for ident, station, _, _, record in runs])
        return self.call("end", [TIME_SET, RUN, IDS, META, SENT], [
            number or self.next_number(), keep, len(runs), outcomes, outputs, len(tallies),
            *flat((field, -count) for field, count in tallies.items()), *columns])

    def commit_all(self, runs, number=None, keep=KEEP):
        """`runs`: arguments of commit_args; the answer as it comes."""
        args = [value for run in runs for value in run]
        return self.call("commit", [TIME_SET, RUN, IDS, META, TOLD, SENT],
                         [number or self.next_number(), keep, *args])

    def commit_args(self, ident, exec_id, mode, when="", text="", work=None, tell="none",
                    wait=False, station="jobs", revision="", record="", votes="", missed="", output="", called=()):
        """`work`: participant -> result; `called`: a plan that is placed with it (called_plan)."""
        texts = [*(value for pair in (work or {}).items() for value in pair), *called]
        votes += "p" if called else ""
        key = member(ident, station)
        stored = self.db.get(key) if self.db.type(key) == "string" else ""
        return [key, f"{station} {caller_field(stored or '')}", exec_id, mode, when, text, revision,
                tell, int(wait), record, missed, output, votes, len(texts), *texts]

    def commit(self, *args, number=None, keep=KEEP, **more):
        """Of one run: [0] it is not the current one, [2, message], [1, seq, epoch, now, votes]."""
        now_us, epoch, answer = self.commit_all([self.commit_args(*args, **more)], number, keep)
        if answer == -1:
            return [0]
        if isinstance(answer, list) and isinstance(answer[0], str):
            return [2, answer[0]]
        seq, votes = answer if isinstance(answer, list) else (answer, [])
        return [1, seq, epoch if seq else "", now_us, votes]

    def change(self, ident, revision, text, place="keep", run="", station="jobs", of_class="", missed=""):
        return self.call("change", [TIME_SET, member(ident, station), RUN, wait_key(station)],
                         [revision, text, place, run, of_class, missed, KEEP])

    def load(self, ident, more="votes"):
        return self.call("load", [RUN, IDS], [digits(ident), more])

    def kinds(self, word, name="", text="", most=1000):
        return dict(pairs(self.call("kinds", [KINDS], [word, name, text, most])))

    def team(self, word, *args, station="jobs", lease=300):
        """A word of team.lua."""
        return self.call("team", [TIME_SET, RUN], [word, station, lease, *args])

    def remove(self, ident, station=""):
        return self.call("remove", [TIME_SET, IDS], [digits(ident), station])

    def page(self, after="", limit=100, station="", state="", kind="", members=()):
        last, *rest = self.call("list", [IDS], [digits(after) if after else "", limit, station,
                                                state, kind, *members])
        return Page(last, pairs(rest))

    def list(self, after="", limit=100, **filters):
        return self.page(after, limit, **filters).plans

    def history(self, after="", limit=100, newest=False, plan="", station="", output=False):
        seq, epoch, first, last, self.forgot, *rows = self.call(
            "history", [HISTORY, META], [after, limit, int(newest), plan, station, int(output)])
        return History(int(seq), epoch, first, last, [Outcome(*row) for row in rows])

    def forget(self, *names, epoch="", station=""):
        """How many were there; None: the epoch is another one."""
        same, count = self.call("forget", [HISTORY, META],
                                [epoch, station, "".join(name + " " for name in names)])
        return count if same else None

    def restore(self, *rows, keep=100000):
        """Rows of station, plan, ended in ms, record and maybe output; how many were written."""
        return self.call("restore", [], [keep, *(field for row in rows for field in (*row, "")[:5])])

    def stations(self, *args):
        return dict(pairs(self.call("stations", [STATIONS], args)))

    def stats(self):
        return self.call("stats", [TIME_SET, IDS, RUN, HISTORY, META], [])

    def wake(self, station="jobs", limit=100):
        return self.call("wake", [TIME_SET, wait_key(station)], [limit])

    def sweep(self, after="", limit=100, age=AGE):
        last, repaired, *rest = self.call("sweep", [TIME_SET, IDS, HISTORY, RUN], [after, limit, age])
        self.swept_runs = rest[2::3]
        return Swept(last, repaired, list(zip(rest[::3], rest[1::3])))

    def wait(self, *idents, station="jobs"):
        """These plans wait for their target."""
        self.db.zadd(wait_key(station), {member(ident, station): 1 for ident in idents})

    def waiting(self, station="jobs"):
        return set(self.db.zrange(wait_key(station), 0, -1))

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
            state = {key: set(dict(value)) if key.startswith("plan:wait:") and kind == "zset" else
                     dict(value) if kind == "zset" else
                     list(each_outcome(value)) if kind == "stream" else value
                     for key, kind, value in zip(keys, kinds, pipe.execute())}
        check_count(state.pop(COUNT, {}), state.get(IDS, {}))
        return state


def both(store, twin, call):
    for one in (store, twin):
        call(one)


def everything(store):
    """All that is stored, with every score, but what is kept for lost answers."""
    state = {}
    for key in sorted(set(store.db.keys()) - {CLOCK, CLAIMS, SENT}):
        with store.db.pipeline(transaction=False) as pipe:
            kind = store.db.type(key)
            read_key(pipe, key, kind)
            value = pipe.execute()[0]
            state[key] = kind, list(each_outcome(value)) if kind == "stream" else value
    return state


def check_count(count, index):
    """What is counted of the plans is what the index holds of their stations, always."""
    stations = {}
    for entry in index if isinstance(index, dict) else ():
        station = entry.partition(":")[2]
        stations["s:" + station] = str(int(stations.get("s:" + station, 0)) + 1)
    counted = {field: value for field, value in count.items() if field.startswith("s:")}
    assert counted == stations, (counted, index)


def read_key(pipe, key, kind):
    if kind == "zset":
        pipe.zrange(key, 0, -1, withscores=True)
    elif kind == "hash":
        pipe.hgetall(key)
    elif kind == "set":
        pipe.smembers(key)
    elif kind == "list":
        pipe.lrange(key, 0, -1)
    elif kind == "stream":
        pipe.xrange(key)
    else:
        pipe.get(key)
