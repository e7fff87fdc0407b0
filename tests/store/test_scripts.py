"""The scripts, as the build embeds them, against models of their own. ZPLAN_STORE_SEED=N repeats a run."""
import bisect
import contextlib
import re
import subprocess
from collections import namedtuple

import pytest
import redis

from conftest import connect, redis_server
from storescripts import (CLASS, FORGOT, HISTORY, IDS, META, OUTPUT, OWNER, RUN, SOURCES, TIME_SET, entry, member,
                          packed_outcomes, seeded)

BY_HAND = "somebody's"
Outcome = namedtuple("Outcome", "place plan target ended record output", defaults=[""])
Answer = namedtuple("Answer", "seq epoch first last forgot rows")
ROUNDS = range(8)


def call(db, name, keys, *args):
    return db.eval(SOURCES[name], len(keys), *keys, *args)


def place_of(text):
    return tuple(int(number) for number in text.split("-"))


def text_of(place):
    return "%d-%d" % place


# -- history and forget

def history(db, after="", most=100, newest=False, plan="", target="", output=False):
    seq, epoch, first, last, forgot, *rows = call(db, "history", [HISTORY, META, OUTPUT], after, most, int(newest),
                                                  plan, target, int(output), "", "", "", "")
    # Whose output it is its head says: the station compares the number of the run, here the record.
    rows = [Outcome(place_of(name), *row, found if found.endswith(" " + row[3]) else "")
            for name, *row, found in rows]
    return Answer(int(seq), epoch, first, last, forgot, rows)


def forget(db, names, epoch="", target=""):
    return call(db, "forget", [HISTORY, META, OUTPUT], epoch, target, "".join(name + " " for name in names))


def write_one(db, row):
    db.execute_command("XADD", HISTORY, text_of(row.place), "p", row.plan, "s", row.target, "t", row.ended, "r", row.record)


def write_many(db, rows):
    db.execute_command("XADD", HISTORY, text_of(rows[-1].place), "t", rows[-1].ended, "n", len(rows), "m",
                       packed_outcomes([(row.plan, row.target, row.record) for row in rows]))


def write_outputs(db, rows):
    fields = [value for row in rows if row.output for value in ("o", row.output)]
    if fields:
        db.execute_command("XADD", OUTPUT, text_of(rows[-1].place), "t", rows[-1].ended, *fields)


# Corrupt entries of several outcomes.
BROKEN = [{"a": "b", "m": "\xc1"}, {"n": "3", "m": "\x93\xc1"}, {"n": "x", "m": "\x01"}, {"n": "-4", "m": "\x90"},
          {"t": "5", "n": "900", "m": "\x91\x05"}, {"n": "nan", "m": "\x90"}, {"n": "2", "m": "\x81\xa1a\xa1b"}]


class Model:
    """A history as batches write it, and what is in it: `entries` are lists of outcomes, none of a broken one."""

    def __init__(self, db, rng, count, broken=0.0):
        self.db, self.rng, self.entries, self.ids = db, rng, [], []
        self.seq = self.sub = self.forgot = 0
        for number in range(count):
            if rng.random() < broken:
                self.seq, self.sub = self.seq + 1, 0
                self.add([], (self.seq, 0))
                db.xadd(HISTORY, rng.choice(BROKEN), id=text_of((self.seq, 0)))
            else:
                self.add(*self.write(number))

    def add(self, rows, place):
        self.entries.append(rows)
        self.ids.append(place)

    def write(self, number):
        many = self.rng.choice([1, 1, 2, 3, 40, 0])     # 0: it is not broadcast
        plans = self.rng.sample(["1", "1f", "10", *(f"a{i:x}" for i in range(40))], max(many, 1))
        rows, ended = [], str(1_700_000_000_000 + number)
        for plan in plans:
            self.seq, self.sub = (self.seq + 1, 0) if many else (self.seq, self.sub + 1)
            target, record = self.rng.choice(["jobs", "job", "a.b"]), f"record {number}.{plan}\0\xff"
            output = f"{target}:{plan} 7 {record}" if self.rng.random() < 0.4 else ""
            rows.append(Outcome((self.seq, self.sub), plan, target, ended, record, output))
        write_one(self.db, rows[0]) if len(rows) == 1 else write_many(self.db, rows)
        write_outputs(self.db, rows)
        return rows, rows[-1].place

    @property
    def rows(self):
        return [row for rows in self.entries for row in rows]

    def expect(self, after, most, newest, plan, target, output):
        rows, found, looked, last = self.rows, [], 0, ""
        for row in reversed(rows) if newest else rows:
            if after and (row.place >= place_of(after) if newest else row.place <= place_of(after)):
                continue
            looked += 1
            if plan in ("", row.plan) and target in ("", row.target):
                found.append(row if output else row._replace(output=""))
            if len(found) == most or looked == 5000:
                last = text_of(row.place)
                break
        first = text_of((self.entries[0][0].place if self.entries[0] else self.ids[0])) if self.entries else ""
        return Answer(self.seq, "", first, last, str(self.forgot or ""), found)

    def check(self, turns=6):
        """Pages of any kind, from anywhere."""
        places = [text_of(row.place) for row in self.rows] + ["", "", f"{self.seq + 9}-0", "0-3"]
        for _ in range(turns):
            question = dict(after=self.rng.choice(places), most=self.rng.choice([1, 2, 3, 10, 1000]),
                            newest=self.rng.random() < 0.5, plan=self.rng.choice(["", "", "1", "1f", "none"]),
                            target=self.rng.choice(["", "", "jobs", "a.b"]), output=self.rng.random() < 0.5)
            if self.rng.random() < 0.2:     # where none is, or in the middle of several
                question["after"] = f"{self.rng.randint(1, self.seq + 1)}-{self.rng.choice([0, 1, 2**64 - 1])}"
            print(question)
            assert history(self.db, **question) == self.expect(**question)

    def walk(self, newest):
        """Page by page from one end to the other: each outcome once."""
        after, seen, most = "", [], self.rng.choice([1, 2, 7, 50])
        for _ in range(len(self.rows) + 2):
            page = history(self.db, after, most, newest)
            seen += [row.place for row in page.rows]
            after = page.last
            if not after:
                break
        assert not after and seen == sorted((row.place for row in self.rows), reverse=newest)

    def forget(self, rows, target=""):
        names = [text_of(row.place) + self.rng.choice(["", ":" + row.ended]) for row in rows]
        names += ["77777-0", "0-77", *(f"{text_of(row.place)}:5" for row in rows[:3])]
        self.rng.shuffle(names)
        gone = {row.place for row in rows if target in ("", row.target)}
        self.forgot = max([self.forgot, *(seq for seq, sub in gone if sub == 0)])
        assert forget(self.db, names, target=target) == [1, len(gone)]
        kept = [([row for row in rows if row.place not in gone], rows, place)
                for rows, place in zip(self.entries, self.ids)]
        self.entries = [rows for rows, before, _ in kept if rows or not before]
        self.ids = [place for rows, before, place in kept if rows or not before]


@pytest.fixture
def numbered(db):
    """What the last broadcast was: the station's writes keep it."""
    def keep(model):
        db.hset(META, "seq", model.seq)
        return model
    return keep


@pytest.mark.parametrize("turn", ROUNDS)
def test_pages_of_a_history(db, turn, numbered):
    rng = seeded(turn)
    model = numbered(Model(db, rng, rng.randint(0, 60)))
    model.check(12)
    for newest in (False, True):
        model.walk(newest)


@pytest.mark.parametrize("turn", ROUNDS)
def test_pages_of_a_history_that_somebody_edited(db, turn, numbered):
    """Entries that nobody can read are passed over; nothing is repeated, and nothing else is hidden."""
    rng = seeded(turn)
    model = numbered(Model(db, rng, rng.randint(1, 60), broken=0.3))
    model.check(12)
    for newest in (False, True):
        model.walk(newest)


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("fields", [*BROKEN, {"n": "1000", "m": packed_outcomes([("1", "jobs", "r")]).decode("latin-1")},
                                    {"n": "1", "m": packed_outcomes([("1", "jobs", "r")] * 5).decode("latin-1")}])
def test_many_entries_by_hand_do_not_stop_a_page(db, fields, newest):
    db.hset(META, "seq", 99)
    write_one(db, Outcome((1, 0), "1", "jobs", "5", "first"))
    for seq in range(10, 60):
        db.xadd(HISTORY, fields, id=f"{seq}-0")
    write_one(db, Outcome((99, 0), "1", "jobs", "5", "last"))
    write_outputs(db, [Outcome((99, 0), "1", "jobs", "5", "last", "jobs:1 7 last")])
    after, seen = "", []
    for _ in range(300):
        page = history(db, after, 3, newest, output=True)
        seen += [row.record for row in page.rows]
        after = page.last
        if not after:
            break
    assert not after and seen[0] == ("last" if newest else "first") and seen[-1] == ("first" if newest else "last")


@pytest.mark.parametrize("row", ["\x92\xa11\xa1s", "\x90", "\x93\x01\x02\x03", "\x93\xc0\xc0\xc0", "\x93\x90\xa1s\xa1r"])
def test_an_outcome_by_hand_is_passed_over(db, row):
    """One without its texts, among sound ones; with outputs behind it."""
    sound = packed_outcomes([("1", "jobs", "r1")])[3:].decode("latin-1")
    db.xadd(HISTORY, {"t": "5", "n": 3, "m": "\x93" + sound + row + sound}, id="3-0")
    write_outputs(db, [Outcome((3, 0), "1", "jobs", "5", "r1", "jobs:1 7 r1")])
    for newest in (False, True):
        page = call(db, "history", [HISTORY, META, OUTPUT], "", 100, int(newest), "", "", 1, "", "", "", "")
        names = [found[0] for found in page[5:] if len(found) == 6]
        assert names == (["3-0", "1-0"] if newest else ["1-0", "3-0"])
    assert forget(db, ["2-0", "1-0", "3-0"]) == [1, 2]


@pytest.mark.parametrize("fields", [{"a": "b"}, {"p": "1"}, {"r": "x", "t": "5", "s": "jobs", "p": "1"}])
def test_an_entry_without_its_fields_is_an_outcome_without_them(db, fields):
    db.xadd(HISTORY, fields, id="3-1")
    (row,) = history(db).rows
    assert row == Outcome((3, 1), *(fields.get(name, "") for name in "pstr"))


@pytest.mark.parametrize("newest", [False, True])
def test_what_a_page_looks_at_is_bounded(db, newest):
    """The one outcome of its plan stands behind many others: the pages to it are empty."""
    for last in range(1000, 12_000, 1000):
        plans = ["2" if seq in (1, 11_000) else "1" for seq in range(last - 999, last + 1)]
        write_many(db, [Outcome((last, 0), plan, "jobs", "5", "r") for plan in plans])
    after, lasts, rows = "11000-0" if newest else "1-0", [], []
    for _ in range(3):
        page = history(db, after, newest=newest, plan="2")
        after = page.last
        lasts.append(after)
        rows += page.rows
    assert lasts == (["6000-0", "1000-0", ""] if newest else ["5001-0", "10001-0", ""])
    assert [row.place for row in rows] == [(1, 0) if newest else (11_000, 0)]


@pytest.mark.parametrize("key", [HISTORY, META, OUTPUT, FORGOT])
def test_a_key_of_another_type_is_empty(db, key):
    rows = [Outcome((seq, 0), str(seq), "jobs", "5", f"r{seq}", f"jobs:{seq} 7 r{seq}") for seq in (1, 2, 3)]
    if key != HISTORY:
        write_many(db, rows)
    if key != OUTPUT:
        write_outputs(db, rows)
    db.set(key, BY_HAND)
    found = history(db, output=True)
    assert found.seq == (0 if key == HISTORY else 3) and len(found.rows) == (0 if key == HISTORY else 3)
    assert {bool(row.output) for row in found.rows} == {HISTORY: set(), OUTPUT: {False}}.get(key, {True})
    assert forget(db, ["2-0"]) == [1, 0 if key == HISTORY else 1]
    assert [row.place for row in history(db).rows] == ([] if key == HISTORY else [(1, 0), (3, 0)])


@pytest.mark.parametrize("turn", ROUNDS)
def test_outcomes_that_are_forgotten(db, turn, numbered):
    rng = seeded(turn)
    model = numbered(Model(db, rng, rng.randint(1, 50), broken=rng.choice([0, 0.2])))
    for _ in range(5):
        model.forget(rng.sample(model.rows, rng.randint(0, len(model.rows) // 2)), rng.choice(["", "", "jobs", "job"]))
        whole = rng.choice([rows for rows in model.entries if rows] or [[]])     # all of an entry
        model.forget(whole)
        model.check()
        model.walk(rng.random() < 0.5)
        assert db.xlen(HISTORY) == len(model.entries)
    model.forget(model.rows)
    assert db.xlen(HISTORY) == len(model.entries) and db.xlen(OUTPUT) == 0
    model.walk(False)


def test_marks_go_with_what_stood_before_them(db):
    for last in (5, 9):
        write_many(db, [Outcome((seq, 0), "1", "jobs", "7", "r") for seq in range(last - 3, last + 1)])
    db.hset(META, "seq", 9)
    forget(db, ["3-0", "7-0"])
    assert db.zrange(FORGOT, 0, -1) == ["3:7", "7:7"]
    db.xtrim(HISTORY, minid="6", approximate=False)
    forget(db, ["99-0"])
    assert db.zrange(FORGOT, 0, -1) == ["7:7"]
    # A number that is given anew, in another epoch, is of another time.
    db.delete(HISTORY)
    write_many(db, [Outcome((seq, 0), "1", "jobs", "8", "r") for seq in range(6, 10)])
    assert [row.place[0] for row in history(db).rows] == [6, 7, 8, 9]
    db.xtrim(HISTORY, maxlen=0, approximate=False)
    forget(db, ["99-0"])
    assert not db.exists(FORGOT)


def test_numbers_of_another_epoch_are_not_forgotten(db):
    write_one(db, Outcome((1, 0), "1", "jobs", "5", "r"))
    db.hset(META, mapping={"seq": 1, "epoch": "e1"})
    for epoch in ("", "e2", "e11"):
        assert forget(db, ["1-0"], epoch) == [0, "e1"]
    assert history(db) == Answer(1, "e1", "1-0", "", "", [Outcome((1, 0), "1", "jobs", "5", "r")])
    assert forget(db, ["1-0"], "e1") == [1, 1] and history(db) == Answer(1, "e1", "", "", "1", [])


# -- list

def list_page(db, after="", target="", most=100):
    last, *rest = call(db, "list", [IDS, RUN], after, target, most)
    return last, list(zip(rest[::3], rest[1::3], rest[2::3]))


def all_pages(db, most, target=""):
    after, rows, sizes = "", [], []
    while True:
        last, page = list_page(db, after, target, most)
        rows += page
        sizes.append(len(page))
        if not last:
            return rows, sizes
        # The station has it as an id, and asks with that.
        assert int(last, 16) and last == last.lower() and last > after
        assert all(after < row[0][:16] <= last for row in page)
        after = last


def random_plans(db, rng):
    """Plans, with all that may be wrong with them; what a list is to find: {entry: (message, run)}."""
    sound = {}
    for number in rng.sample(range(1, 500), rng.randint(0, 200)):
        ident, target = f"{number * rng.choice([1, 1 << 40]):x}", rng.choice(["jobs", "job", "a.b"])
        db.zadd(IDS, {entry(ident, target): 0})
        kind = rng.choice(["none", "hash"] + 8 * ["string"])
        if kind == "hash":
            db.hset(member(ident, target), "a", "b")
        elif kind == "string":
            run = rng.choice(["", "", f"17{number}+"])
            db.set(member(ident, target), f"message {number}\0\xff")
            if run:
                db.hset(RUN, member(ident, target), run)
            sound[entry(ident, target)] = (f"message {number}\0\xff", run)
    return sound


def edit_index(db, rng, sound):
    """Entries that are none; and second ones of an id, as when a key was renamed."""
    names = ["junk", "1:jobs", "zzzz", "0000000000000005", ":", "\xff", "0000000000000007:a b", "00000000000000000f:jobs",
             "0000000000000000:jobs", "00000000000000AB:jobs"]
    db.mset({member("0"): "none", member("AB"): "none"})
    names += [name[:17] + rng.choice(["a", "z", "a/b"]) for name in rng.sample(sorted(sound), len(sound) // 3)]
    db.zadd(IDS, {name: 0 for name in names if name not in sound})


@pytest.mark.parametrize("turn", ROUNDS)
def test_pages_of_plans(db, turn):
    rng = seeded(turn)
    sound = random_plans(db, rng)
    edited = rng.random() < 0.5
    if edited:
        edit_index(db, rng, sound)
    for _ in range(10):
        target, most = rng.choice(["", "", "jobs", "job", "none"]), rng.choice([1, 2, 3, 10, 1000])
        want = [(name, *sound[name]) for name in sorted(sound) if target in ("", name[17:])]
        rows, sizes = all_pages(db, most, target)
        assert rows == want
        assert all(size <= most + 2 * edited for size in sizes)     # entries of one id stay together
        after = rng.choice(["%016x" % rng.randint(1, 600), "7" + 15 * "f", *(name[:16] for name in sound)])
        assert list_page(db, after, target, 1000)[1] == [row for row in want if row[0][:16] > after]


def test_a_page_does_not_end_between_entries_of_one_id(db):
    db.zadd(IDS, {entry("7", target): 0 for target in ("a", "a b", "job")})     # the second one is none
    db.set(member("7", "job"), "text")
    assert all_pages(db, 1)[0] == [(entry("7", "job"), "text", "")]


def test_runs_of_another_type_are_none(db):
    db.zadd(IDS, {entry("1"): 0})
    db.set(member("1"), "text")
    db.set(RUN, BY_HAND)
    assert list_page(db) == ("", [(entry("1"), "text", "")])


def fill_index(db, count, target=lambda i: "jobs", text="{}"):
    db.zadd(IDS, {entry(f"{i:x}", target(i)): 0 for i in range(1, count + 1)})
    db.mset({member(f"{i:x}", target(i)): text for i in range(1, count + 1)})


def test_what_a_page_of_plans_looks_at_is_bounded(db):
    fill_index(db, 4010, lambda i: "rare" if i == 4010 else "jobs")
    rows, sizes = all_pages(db, 100, "rare")
    assert sizes == [0, 0, 1] and rows[0][0] == entry("faa", "rare")
    assert list_page(db, "", "rare")[0] == f"{2000:016x}"


@pytest.mark.parametrize("size, sizes", [(1 << 20, [5, 5, 2]), ((1 << 20) + 1, [4, 4, 4]), ((4 << 20) + 1, [1] * 12)])
def test_the_bytes_of_a_page_are_bounded(db, size, sizes):
    fill_index(db, 12, text="x" * size)
    assert all_pages(db, 100)[1] == sizes


# -- page: the queue behind a place

def queue_page(db, place=None, most=100):
    """`place`: (us, member), or (us, "") for all of that moment."""
    rest = call(db, "page", [TIME_SET, CLASS], *(place or ("", "")), most)
    return [(rest[i], round(float(rest[i + 1]) * 1e6), rest[i + 2]) for i in range(0, len(rest), 3)]


def fill_queue(db, rng, count, begin_us=1_700_000_000_000_000):
    """Many of one moment, and some a microsecond beside it; of targets whose names sort in any way."""
    queue, classes = {}, {}
    for number in rng.sample(range(1, 10_000), count):
        name = member(f"{number:x}", rng.choice(["jobs", "Jobs", "jobs-2", "jobs.b", "job", "_"]))
        queue[name] = begin_us + rng.choice([0, 0, 0, 1, 2, 999_999, rng.randint(0, 10**7)])
        if rng.random() < 0.3:
            classes[name] = f"{rng.randint(0, 9)}:g"
    for name, us in queue.items():
        db.execute_command("ZADD", TIME_SET, "%d.%06d" % divmod(us, 1_000_000), name)
    if classes:
        db.hset(CLASS, mapping=classes)
    return sorted((us, name) for name, us in queue.items()), classes


def queue_rows(order, classes, first, most=100):
    return [(name, us, classes.get(name, "")) for us, name in order[first:first + most]]


@pytest.mark.parametrize("turn", ROUNDS)
def test_pages_of_the_queue(db, turn):
    """From places of those that are there, that left meanwhile, or never were."""
    rng = seeded(turn)
    order, classes = fill_queue(db, rng, rng.choice([0, 1, 2, 50, 400]))
    assert queue_page(db) == queue_rows(order, classes, 0)
    left = rng.sample(order, len(order) // 4)
    if left:
        db.zrem(TIME_SET, *(name for _, name in left))
    kept = [row for row in order if row not in left]
    for us, name in rng.sample(order, min(len(order), 40)) + [(1, "a"), (2 * 10**15, "z")]:
        most = rng.choice([1, 7, 100])
        first = bisect.bisect_right(kept, (us, name))
        assert queue_page(db, (us, name), most) == queue_rows(kept, classes, first, most)
        first = bisect.bisect_left(kept, (us + 1, ""))
        assert queue_page(db, (us, ""), most) == queue_rows(kept, classes, first, most)


def assert_pages_go_on(db):
    order, classes = fill_queue(db, seeded(0), 500)
    seen, place = [], None
    while len(seen) < len(order) and (page := queue_page(db, place, 33)):
        seen += page
        place = page[-1][1], page[-1][0]
    assert seen == queue_rows(order, classes, 0, 1000) and not queue_page(db, place)


def test_each_page_goes_on_behind_the_one_before(db):
    assert_pages_go_on(db)


def test_the_locale_of_the_server_changes_no_order(tmp_path):
    """In most locales names sort otherwise than by their bytes, by which Redis keeps a set."""
    if subprocess.run(["localedef", "-f", "UTF-8", "-i", "en_US", tmp_path / "en_US.UTF-8"], capture_output=True,
                      check=False).returncode:
        pytest.skip("no sources of locales")
    with redis_server(LOCPATH=str(tmp_path), LC_ALL="en_US.UTF-8") as path:
        with contextlib.closing(connect(path)) as db:
            assert db.eval("return 'a' < 'B' and 1 or 0", 0) == 1
            assert_pages_go_on(db)


def test_classes_of_another_type_are_none(db):
    order, _ = fill_queue(db, seeded(0), 20)
    db.delete(CLASS)
    db.set(CLASS, BY_HAND)
    assert queue_page(db) == queue_rows(order, {}, 0)


# -- rows: a batch while memory is full

def write_rows(db, token, batch, commands):
    return call(db, "rows", [OWNER], token, batch, *(word for words in commands for word in (len(words), *words)))


def random_commands(rng):
    keys = ["k1", "k2", "k3"]
    forms = [lambda: ["SET", rng.choice(keys), rng.random()], lambda: ["GET", rng.choice(keys)],
             lambda: ["HSET", rng.choice(keys), "f", 1, "g", 2], lambda: ["HGETALL", rng.choice(keys)],
             lambda: ["HINCRBY", rng.choice(keys), rng.choice("fx"), -1], lambda: ["DEL", rng.choice(keys)],
             lambda: ["ZADD", rng.choice(keys), "1.5", "m"], lambda: ["ZSCORE", rng.choice(keys), "m"],
             lambda: ["XADD", rng.choice(keys), rng.choice(["1-0", "5-0"]), "a", "b\0\xff"], lambda: ["NONE", "x"]]
    commands = [rng.choice(forms)() for _ in range(rng.randint(0, 30))]
    return [words for words in commands if words[0] != "NONE"]


def plain(answer):
    """Errors as their first word: a script's have its place behind them."""
    if isinstance(answer, Exception):
        return re.match(r"\w+", str(answer)).group()
    return [plain(one) for one in answer] if isinstance(answer, list) else answer


def executed(server, commands):
    """What MULTI and EXEC answer of the same, in another database; and what they leave."""
    twin = redis.Redis(unix_socket_path=server, db=1, decode_responses=True, encoding="latin-1")
    twin.response_callbacks.clear()
    pipe = twin.pipeline(transaction=True)
    for words in commands:
        pipe.execute_command(*words)
    answers = pipe.execute(raise_on_error=False)
    left = {key: twin.dump(key) for key in twin.keys()}
    twin.close()
    return answers, left


@pytest.mark.parametrize("turn", ROUNDS)
def test_a_batch_is_written_as_a_transaction_writes_it(db, server, turn):
    """B110: All of it or nothing, as with MULTI and EXEC."""
    rng = seeded(turn)
    for number in range(10):
        db.flushall()
        db.hset(OWNER, mapping={"token": "1.t", "batch": number})
        commands = random_commands(rng)
        print(commands)
        answers, left = executed(server, commands)
        assert plain(write_rows(db, "1.t", number, commands)) == plain(answers)
        assert {key: db.dump(key) for key in db.keys() if key != OWNER} == left


@pytest.mark.parametrize("found, given, written", [
    (None, ("", ""), True), (None, ("1.t", "1"), False), (("1.t", "7"), ("1.t", "7"), True),
    (("1.t", "7"), ("1.t", "8"), False), (("1.t", "7"), ("2.t", "7"), False), (("1.t", "7"), ("", ""), False),
    (("1.t", None), ("1.t", ""), True)])
def test_only_the_next_batch_of_the_owner_is_written(db, found, given, written):
    if found:
        db.hset(OWNER, mapping={name: value for name, value in zip(("token", "batch"), found) if value})
    assert write_rows(db, *given, [["SET", "k", "v"]]) == (["OK"] if written else None)
    assert db.get("k") == ("v" if written else None)


def test_a_batch_is_written_while_memory_is_full(db):
    db.config_set("maxmemory", 1)
    with pytest.raises(redis.ResponseError, match="OOM"):
        db.set("k", "v")
    wide = ["MSET", *(f"{kind}{i}" for i in range(2000) for kind in "kv")]      # the widest that a batch has
    assert write_rows(db, "", "", [["SET", "k", "v"], wide, ["HSET", OWNER, "token", "1.t", "batch", 0]]) == ["OK", "OK", 2]
    assert db.get("k1999") == "v1999"
    for name, keys, args in (("history", [HISTORY, META, OUTPUT], ["", 9, 0, "", "", 0]), ("list", [IDS, RUN], ["", "", 9]),
                             ("forget", [HISTORY, META, OUTPUT], ["", "", ""]), ("page", [TIME_SET, CLASS], ["", "", 9]),
                             ("outputs", [OUTPUT], [1000, 60])):
        call(db, name, keys, *args)


# -- outputs

def add_outputs(db, count, ended_ms, begin=1):
    for number in range(begin, begin + count):
        db.xadd(OUTPUT, {"t": ended_ms, "o": "x" * 1000}, id=f"{number}-0")


def now_ms(db):
    return db.time()[0] * 1000


def test_outputs_that_are_too_old_go(db):
    add_outputs(db, 30, now_ms(db) - 100_000)
    add_outputs(db, 20, now_ms(db), begin=31)
    assert call(db, "outputs", [OUTPUT], 10**9, 90) == 30 and db.xlen(OUTPUT) == 20
    assert call(db, "outputs", [OUTPUT], 10**9, 90) == 0
    add_outputs(db, 1, now_ms(db) - 100_000, begin=51)      # times that go back end the look
    assert call(db, "outputs", [OUTPUT], 10**9, 90) == 0 and db.xlen(OUTPUT) == 21


def test_outputs_that_take_too_much_go(db):
    add_outputs(db, 300, now_ms(db))
    assert call(db, "outputs", [OUTPUT], 100_000, 90) > 100
    assert 50_000 < db.memory_usage(OUTPUT, samples=0) <= 100_000
    assert db.xrange(OUTPUT)[-1][0] == "300-0"
    call(db, "outputs", [OUTPUT], 1, 90)
    assert db.xlen(OUTPUT) == 0 and db.xinfo_stream(OUTPUT)["last-generated-id"] == "300-0"
    assert call(db, "outputs", [OUTPUT], 1, 90) == 0


def test_the_oldest_outputs_that_go_at_a_time_are_bounded(db):
    add_outputs(db, 250, now_ms(db) - 100_000)
    assert [call(db, "outputs", [OUTPUT], 10**9, 90) for _ in range(4)] == [100, 100, 50, 0]


@pytest.mark.parametrize("make", [lambda db: db.set(OUTPUT, BY_HAND), lambda db: db.delete(OUTPUT),
                                  lambda db: db.xadd(OUTPUT, {"o": "x"}), lambda db: db.xadd(OUTPUT, {"t": "x"})])
def test_outputs_by_hand_stop_nothing(db, make):
    make(db)
    assert call(db, "outputs", [OUTPUT], 10**9, 90) == (1 if db.type(OUTPUT) == "stream" else 0)


# -- ordered: plans in the order of a sorted set

def ordered_page(db, place, most, newest=False, target="", least="", behind="", no_runs=""):
    score, last, *rest = call(db, "ordered", [TIME_SET, RUN], *place, newest and "1" or "", target, least, behind, most, no_runs)
    rows = [(rest[i + 1], round(float(rest[i]) * 1e6), rest[i + 2], rest[i + 3]) for i in range(0, len(rest), 4)]
    return (round(float(score) * 1e6), last) if score else None, rows


def ordered_pages(db, most, **filters):
    place, rows = ("", ""), []
    while place:
        place, page = ordered_page(db, place, most, **filters)
        assert len(page) <= most
        rows += page
    return rows


@pytest.mark.parametrize("turn", ROUNDS)
def test_pages_in_order(db, turn):
    """In both directions, of one target, without runs, within a time; with members that are none, and without messages."""
    rng = seeded(turn)
    order, _ = fill_queue(db, rng, rng.randint(0, 300))
    rows = []
    for us, name in order:
        message, run = rng.choice(["", f"message of {name}"]), rng.choice(["", "", "+", f"17{us}"])
        if message:
            db.set(name, message)
        if run:
            db.hset(RUN, name, run)
        rows.append((name, us, message, run))
    for name in ("junk", "plan:msg:jobs:0", "plan:msg:a b:1", "plan:msg:jobs:" + 17 * "1", "\xff"):
        db.execute_command("ZADD", TIME_SET, rng.choice(["1700000000", "1700000001.000001", "0", "-5", "1e300"]), name.encode("latin-1"))
    for _ in range(10):
        newest, target, no_runs = rng.random() < 0.5, rng.choice(["", "", "jobs", "_", "none"]), rng.choice(["", "1"])
        least, behind = rng.choice(["", "1700000001"]), rng.choice(["", "1700000005"])
        want = [row for row in rows if target in ("", row[0].split(":")[2]) and not (no_runs and row[3][:1].isdigit())
                and (not least or row[1] >= int(least) * 10**6) and (not behind or row[1] < int(behind) * 10**6)]
        got = ordered_pages(db, rng.choice([1, 2, 3, 100, 1000]), newest=newest, target=target, least=least, behind=behind,
                            no_runs=no_runs)
        assert got == (want[::-1] if newest else want)


@pytest.mark.parametrize("score", ["inf", "1e300", "-inf", "-3", "253402300799.5", "4600000000.000001"])
def test_pages_of_scores_by_hand_end(db, score):
    for ident in "123":
        db.execute_command("ZADD", TIME_SET, score, member(ident))
    assert [row[0] for row in queue_walk(db)] == [member(ident) for ident in "123"]


def queue_walk(db):
    """Page after page of one, with the place as the station has it: clamped to the years that a plan may have."""
    place, rows = ("", ""), []
    while place and len(rows) < 5:
        score, last, *rest = call(db, "ordered", [TIME_SET, RUN], *place, "", "", "", "", 1, "")
        rows += [(rest[1], rest[0])] if rest else []
        us = min(max(float(score or 0), 0), 253402300799) * 1e6
        place = (int(us + 0.5) if us < 2**52 else int(us), last) if score else None
    return rows
