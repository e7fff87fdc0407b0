"""history: outcomes from either end, page by page, filtered, and bounded in what is looked at."""
import pytest

from storescripts import HISTORY, IDS, META, T0, TIME_SET, Outcome, entry, member, packed_outcomes, seeded

BOUNDS = "local LOOK_MAX, CHUNK = 5000, 20"
LOOK_MAX = 5000
MS = str(T0 // 1000)


def entry_key(entry):
    seq, sub = entry.split("-")
    return int(seq), int(sub)


def add(store, *rows):
    """Outcomes written without the scripts: (entry, plan, station)."""
    with store.db.pipeline(transaction=False) as pipe:
        for name, plan, station in rows:
            pipe.xadd(HISTORY, {"p": plan, "s": station, "t": MS, "r": "record " + name}, id=name)
        pipe.execute()


def outcome(name, plan, station):
    return Outcome(name, plan, station, MS, "record " + name)


def walk(store, limit=100, newest=False, **filters):
    """Every page. Each goes on behind the one before, and has nothing of what follows it."""
    after, turns = "", 0
    while True:
        page = store.history(after, limit, newest, **filters)
        yield page
        names = [entry_key(row.entry) for row in page.outcomes]
        assert len(names) <= limit and names == sorted(names, reverse=newest)
        if not page.last:
            return
        turns += 1
        where, last = entry_key(after) if after else None, entry_key(page.last)
        assert where is None or (last < where if newest else last > where), turns
        assert all(last <= name if newest else name <= last for name in names)
        after = page.last


def outcomes(pages):
    return [row for page in pages for row in page.outcomes]


FEW = [("0-1", "1", "jobs"), ("0-2", "1f", "jobs"), ("1-0", "1", "jobs"), ("2-0", "10", "job"),
       ("2-1", "1f", "jobs"), ("9-0", "1", "other"), ("10-0", "1", "jobs"), ("10-2", "10", "job")]


def test_nothing_was_run_yet(store):
    for newest in (False, True):
        assert store.history(newest=newest) == (0, "", "", "", [])
    assert store.dump() == {}


@pytest.mark.parametrize("newest", [False, True])
def test_oldest_or_newest_first(store, newest):
    add(store, *FEW)
    store.db.hset(META, mapping={"seq": 10, "epoch": "abc"})
    rows = [outcome(*row) for row in FEW]
    assert store.history(newest=newest) == (10, "abc", "0-1", "", rows[::-1] if newest else rows)


def test_what_the_commits_wrote_is_answered(store):
    store.freeze(T0)
    store.submit("1f", "a.b")
    exec_id = store.run("1f", "a.b")
    store.commit("1f", exec_id, "doubt", 9, station="a.b", tell="failure", record="r\0\xff")
    store.commit("1f", exec_id, "doubt", 9, station="a.b", tell="failure", record="again")
    epoch = store.db.hget(META, "epoch")
    assert store.history() == (1, epoch, "1-0", "", [("1-0", "1f", "a.b", MS, "r\0\xff", ""),
                                                     ("1-1", "1f", "a.b", MS, "again", "")])


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("plan", ["", "1", "1f", "10", "2", "f"])
@pytest.mark.parametrize("station", ["", "jobs", "job", "other", "JOBS"])
def test_plan_and_station(store, newest, plan, station):
    add(store, *FEW)
    found = [outcome(*row) for row in FEW if plan in ("", row[1]) and station in ("", row[2])]
    page = store.history(newest=newest, plan=plan, station=station)
    assert page.outcomes == (found[::-1] if newest else found)
    assert page.first == "0-1" and page.last == ""


@pytest.mark.parametrize("after, names", [
    ("0-0", "all"), ("0-1", "all but 0-1"), ("1-0", ["2-0", "2-1", "9-0", "10-0", "10-2"]),
    ("1-18446744073709551615", ["2-0", "2-1", "9-0", "10-0", "10-2"]),
    ("2-0", ["2-1", "9-0", "10-0", "10-2"]), ("5-7", ["9-0", "10-0", "10-2"]),
    ("10-1", ["10-2"]), ("10-2", []), ("11-0", []),
    ("9223372036854775807-0", []),
])
def test_page_behind_an_entry(store, after, names):
    """Also one that is gone, or never was."""
    add(store, *FEW)
    rows = {"all": FEW, "all but 0-1": FEW[1:]}.get(names) if isinstance(names, str) else [
        row for row in FEW if row[0] in names]
    page = store.history(after)
    assert page.outcomes == [outcome(*row) for row in rows] and page.last == ""


@pytest.mark.parametrize("after, names", [
    ("18446744073709551615-18446744073709551615", [row[0] for row in FEW]),
    ("10-0", ["0-1", "0-2", "1-0", "2-0", "2-1", "9-0"]), ("2-0", ["0-1", "0-2", "1-0"]),
    ("1-5", ["0-1", "0-2", "1-0"]), ("0-2", ["0-1"]), ("0-1", []),
])
def test_newest_page_before_an_entry(store, after, names):
    add(store, *FEW)
    page = store.history(after, newest=True)
    assert page.outcomes == [outcome(*row) for row in reversed(FEW) if row[0] in names]


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9])
def test_pages_have_each_outcome_once(store, newest, limit):
    add(store, *FEW)
    pages = list(walk(store, limit, newest))
    rows = [outcome(*row) for row in FEW]
    assert outcomes(pages) == (rows[::-1] if newest else rows)
    # A full page is not told to be the last.
    assert all(len(page.outcomes) == limit for page in pages[:-1])


def test_pages_are_stable_while_outcomes_come_and_go(store):
    add(store, *FEW)
    first = store.history(limit=3)
    store.db.xdel(HISTORY, "0-1", "1-0")
    add(store, ("11-0", "1", "jobs"))
    rest = store.history(first.last)
    assert [row.entry for row in rest.outcomes] == [row[0] for row in FEW[3:]] + ["11-0"]
    assert rest.first == "0-2"


def test_newest_pages_are_stable_while_outcomes_come(store):
    add(store, *FEW)
    first = store.history(limit=3, newest=True)
    add(store, ("11-0", "1", "jobs"))
    rest = store.history(first.last, newest=True)
    assert [row.entry for row in rest.outcomes] == [row[0] for row in FEW[4::-1]]


# The first entry and the last number: what is missing can be told by them.

def test_first_entry_is_the_oldest_that_is_kept(store):
    add(store, *FEW)
    store.db.xtrim(HISTORY, minid="2-1", approximate=False)
    for filters in (dict(), dict(newest=True), dict(after="10-0"), dict(plan="none"),
                    dict(limit=1, newest=True)):
        assert store.history(**filters).first == "2-1"


def test_history_that_was_emptied_has_no_first_entry(store):
    add(store, *FEW)
    store.db.xtrim(HISTORY, maxlen=0, approximate=False)
    assert store.history() == (0, "", "", "", [])


@pytest.mark.parametrize("meta, seq", [({"seq": 12, "epoch": "e"}, 12), ({}, 10),
                                       ({"epoch": "e"}, 10), ({"seq": 0}, 0)])
def test_last_number_is_that_of_the_last_broadcast(store, meta, seq):
    add(store, *FEW)
    for name, value in meta.items():
        store.db.hset(META, name, value)
    before = store.dump()
    page = store.history(limit=1)
    assert (page.seq, page.epoch) == (seq, meta.get("epoch", "")) and store.dump() == before


def test_big_number_is_exact(store):
    store.db.hset(META, "seq", 2**53)
    assert store.history().seq == 2**53


@pytest.mark.parametrize("newest", [False, True])
def test_history_of_another_type_is_none(store, newest):
    store.db.set(HISTORY, "by hand")
    assert store.history(newest=newest) == (0, "", "", "", [])


@pytest.mark.parametrize("fields", [{"a": "b"}, {"p": "1"},
                                    {"r": "x", "t": "5", "s": "jobs", "p": "1"},
                                    {"x": "y", "p": "1", "s": "jobs", "t": "5", "r": "x"}])
def test_entry_by_hand_stops_nothing(store, fields):
    add(store, *FEW[:2])
    store.db.xadd(HISTORY, fields, id="0-3")
    add(store, *FEW[2:])
    row = Outcome("0-3", *(fields.get(name, "") for name in "pstr"))
    rows = [outcome(*row) for row in FEW]
    assert outcomes(walk(store, 1)) == rows[:2] + [row] + rows[2:]
    assert (row in outcomes(walk(store, plan="1"))) == (fields.get("p") == "1")


# Bounds of a page.

def add_many(store, count, plan=lambda i: "1"):
    add(store, *((f"{i}-0", plan(i), "jobs") for i in range(1, count + 1)))


@pytest.mark.parametrize("newest", [False, True])
def test_outcomes_looked_at_are_bounded(store, newest):
    """The one outcome of its plan stands behind many others: the pages to it are empty."""
    count = 2 * LOOK_MAX + 10
    wanted = 1 if newest else count
    add_many(store, count, lambda i: "2" if i == wanted else "1")
    for filters in (dict(plan="2"), dict(plan="2", station="jobs")):
        pages = list(walk(store, newest=newest, **filters))
        lasts = [count + 1 - LOOK_MAX, count + 1 - 2 * LOOK_MAX] if newest else [LOOK_MAX,
                                                                                 2 * LOOK_MAX]
        assert [(page.last, len(page.outcomes)) for page in pages] == [
            (f"{lasts[0]}-0", 0), (f"{lasts[1]}-0", 0), ("", 1)]


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("limit", [99, 499, 500, 501, 1000])
def test_many_outcomes(store, newest, limit):
    add_many(store, 12_000, lambda i: "2" if i % 3 == 0 else "1")
    numbers = [int(row.entry[:-2]) for row in outcomes(walk(store, limit, newest))]
    assert numbers == sorted(range(1, 12_001), reverse=newest)
    numbers = [int(row.entry[:-2]) for row in outcomes(walk(store, limit, newest, plan="2"))]
    assert numbers == sorted(range(3, 12_001, 3), reverse=newest)


# Random histories, with bounds so small that they are met everywhere.

@pytest.mark.parametrize("turn", range(30))
def test_pages_of_a_random_history_are_exactly_the_outcomes_that_fit(store, turn):
    rng = seeded(turn)
    rows, seq, sub = [], 0, 0
    for _ in range(rng.randint(0, 120)):
        step = rng.choice([0, 0, 1, 1, 5])
        seq, sub = seq + step, sub + 1 if step == 0 else rng.choice([0, 0, 1])
        rows.append((f"{seq}-{sub}", rng.choice(["1", "1f", "10"]), rng.choice(["jobs", "job"])))
    add(store, *rows)
    gone = set(rng.sample([row[0] for row in rows], len(rows) // 5))
    for name in gone:
        store.db.xdel(HISTORY, name)
    rows = [row for row in rows if row[0] not in gone]
    for _ in range(12):
        bounds = [rng.choice([1, 2, 7, 30, 1000]), rng.choice([1, 2, 3, 10, 500])]
        store.bounds["history"] = {BOUNDS: BOUNDS.split("=")[0] + "= " + ", ".join(map(str, bounds))}
        plan, station = rng.choice(["", "1", "1f", "2"]), rng.choice(["", "", "jobs", "job"])
        limit, newest = rng.choice([1, 2, 3, 10, 1000]), rng.random() < 0.5
        print(bounds, plan, station, limit, newest)
        found = [outcome(*row) for row in rows
                 if plan in ("", row[1]) and station in ("", row[2])]
        assert outcomes(walk(store, limit, newest, plan=plan,
                             station=station)) == (found[::-1] if newest else found)


# Entries of several outcomes, as the ends of many plans in one call write them.

def add_some(store, last, rows):
    """The outcomes (plan, station) of the broadcasts up to `last`."""
    names = [f"{last - len(rows) + 1 + i}-0" for i in range(len(rows))]
    packed = packed_outcomes([(plan, station, "record " + name)
                              for name, (plan, station) in zip(names, rows)])
    store.db.execute_command("XADD", HISTORY, f"{last}-0", "t", MS, "n", len(rows), "m", packed)
    return [(name, plan, station) for name, (plan, station) in zip(names, rows)]


def add_mixed(store, rng, count):
    rows, seq = [], 0
    for _ in range(count):
        if rng.random() < 0.4:
            some = [(rng.choice(["1", "1f", "10"]), rng.choice(["jobs", "job"]))
                    for _ in range(rng.choice([1, 2, 3, 40]))]
            seq += len(some) + rng.choice([0, 0, 3])
            rows += add_some(store, seq, some)
            continue
        seq += rng.choice([0, 1])
        sub = int(rows[-1][0].split("-")[1]) + 1 if rows and rows[-1][0].startswith(f"{seq}-") else 0
        rows.append((f"{seq}-{sub or int(seq == 0)}", rng.choice(["1", "1f"]), "jobs"))
        add(store, rows[-1])
    return rows


@pytest.mark.parametrize("turn", range(20))
def test_pages_of_entries_of_several_are_exactly_the_outcomes(store, turn):
    rng = seeded(turn)
    rows = add_mixed(store, rng, rng.randint(1, 60))
    for _ in range(12):
        bounds = [rng.choice([1, 2, 7, 30, 1000]), rng.choice([1, 2, 3, 20])]
        store.bounds["history"] = {BOUNDS: BOUNDS.split("=")[0] + "= " + ", ".join(map(str, bounds))}
        plan, station = rng.choice(["", "1", "1f", "2"]), rng.choice(["", "", "jobs", "job"])
        limit, newest = rng.choice([1, 2, 3, 10, 1000]), rng.random() < 0.5
        print(bounds, plan, station, limit, newest)
        found = [outcome(*row) for row in rows if plan in ("", row[1]) and station in ("", row[2])]
        pages = list(walk(store, limit, newest, plan=plan, station=station))
        assert outcomes(pages) == (found[::-1] if newest else found)
        assert {page.first for page in pages} == {rows[0][0]}


@pytest.mark.parametrize("newest", [False, True])
def test_page_from_anywhere_in_an_entry_of_several(store, newest):
    rows = add_some(store, 5, [("1", "jobs")] * 5) + add_some(store, 9, [("2", "jobs")] * 4)
    for seq in range(1, 12):
        for sub in (0, 1, 2**64 - 1):
            names = [row[0] for row in rows if (entry_key(row[0]) < (seq, sub) if newest
                                                else entry_key(row[0]) > (seq, sub))]
            page = store.history(f"{seq}-{sub}", newest=newest)
            assert [row.entry for row in page.outcomes] == (names[::-1] if newest else names)


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("fields", [{"m": "\x93\x01"}, {"m": "\xc1", "n": "3"}, {"m": "\x01", "n": "x"},
                                    {"m": "\x90", "n": "-4"}, {"m": "\x90", "n": "4"}])
def test_entry_of_several_that_nobody_can_read_is_passed_over(store, newest, fields):
    add(store, ("1-0", "1", "jobs"))
    for seq in range(10, 60):
        store.db.xadd(HISTORY, fields, id=f"{seq}-0")
    add(store, ("99-0", "1", "jobs"))
    names = [row.entry for row in outcomes(walk(store, newest=newest))]
    assert names == (["99-0", "1-0"] if newest else ["1-0", "99-0"])


# -- occurrences that a decision drops

@pytest.mark.parametrize("mode, tell", [("next", "result"), ("end", "result"), ("retry", "none")])
def test_what_is_dropped_stands_behind_the_run(store, mode, tell):
    store.submit("2", text="{}")
    store.commit("2", store.run("2"), "next", 4e9, tell="result", record="before")
    store.submit("1", text="{}")
    store.commit("1", store.run("1"), mode, 4e9 if mode == "next" else 5, tell=tell, record="r" if tell == "result" else "",
                 missed="m")
    found = [(row.entry, row.plan, row.record) for row in store.history().outcomes]
    assert found == [("1-0", "2", "before")] + (
        [("2-0", "1", "r"), ("2-1", "1", "m")] if tell == "result" else [("1-1", "1", "m")])


def test_what_several_runs_of_a_call_drop(store):
    for ident in "123":
        store.submit(ident, text="{}")
    runs = {plan.member: plan.exec_id for plan in store.claim().plans}
    store.commit_all([store.commit_args(ident, runs[member(ident)], "next", 4e9, tell="result", record="r" + ident,
                                        missed="" if ident == "2" else "m" + ident) for ident in "123"])
    assert [(row.entry, row.record) for row in store.history().outcomes] == [
        ("1-0", "r1"), ("1-1", "m1"), ("2-0", "r2"), ("3-0", "r3"), ("3-1", "m3")]


def test_a_change_that_drops_some(store):
    store.submit("1", text='{"revision":5}')
    assert store.change("1", "5", '{"revision":6}', missed="m") == 1
    assert store.change("1", "5", '{"revision":7}', missed="n") == 2        # it is another one by now
    assert [(row.entry, row.plan, row.record) for row in store.history().outcomes] == [("0-1", "1", "m")]


def test_held_plans_and_what_lies_before_a_submission(store):
    """Each is looked at: '' as the score is not queued; a record goes into the history, if it is stored."""
    plans = [("1", 5, "{}", ""), ("2", "", "{}", ""), ("3", 7, "{}", "m3"), ("4", "", "{}", "m4")]
    store.submit("5", text="{}")
    plans.append(("5", 9, "other", "m5"))           # its id is in use
    keys = [member(ident, "jobs") for ident, *_ in plans]
    columns = [*keys, *(value for key, plan in zip(keys, plans) for value in (key, plan[2])),
               *(value for key, plan in zip(keys, plans) for value in (plan[1], key)),
               *(value for plan in plans for value in (0, entry(plan[0], "jobs"))),
               *(value for key in keys for value in (key, "")), *(plan[3] for plan in plans)]
    answers = store.call("submit", [TIME_SET, IDS], [0, 0, 0, len(plans), "each", 100, "", 0, *columns])
    assert answers[:4] == [1, 1, 1, 1] and answers[4][0] == 0
    assert store.db.zrange(TIME_SET, 0, -1) == [member("5", "jobs"), keys[0], keys[2]]
    assert [(row.entry, row.plan, row.record) for row in store.history().outcomes] == [
        ("0-1", "3", "m3"), ("0-2", "4", "m4")]
