"""list: plans in the order of their ids, page by page, filtered, bounded in what is looked at."""
import re

import pytest

from storescripts import IDS, digits, entry, member, message, seeded

BIG = "7fffffffffffffff"
IDENTS = ["1", "10", "100", "1f0", "1f", "2", "f", "ffff", "1000000000000000", BIG]
IN_ORDER = sorted(IDENTS, key=lambda ident: int(ident, 16))
BOUNDS = "local ENTRIES_MAX, MESSAGES_MAX, BYTES_MAX, CHUNK = 2000, 250, 4194304, 500"
ENTRIES_MAX, MESSAGES_MAX, BYTES_MAX = 2000, 250, 4194304


def fill(store):
    for ident in IDENTS:
        store.submit(ident, score=1e10, text="text " + ident)


def walk(store, limit=100, **filters):
    """Every page. Each goes on behind the one before, and has nothing of what follows it."""
    after = ""
    while True:
        page = store.page(after, limit, **filters)
        yield page
        assert len(page.plans) <= limit
        ids = [name[:16] for name, _ in page.plans]
        assert ids == sorted(ids) and all(name > after for name in ids)
        if not page.last:
            return
        # The station gives it to its client as an id.
        assert re.fullmatch("[0-9a-f]{16}", page.last)
        assert page.last > after and all(name <= page.last for name in ids)
        after = page.last


def test_list_is_in_the_order_of_the_ids(store):
    assert store.list() == []
    fill(store)
    assert store.list() == [(entry(ident), "text " + ident) for ident in IN_ORDER]


@pytest.mark.parametrize("limit", [1, 2, 3, 9, 10, 11])
def test_pages_have_each_plan_once(store, limit):
    fill(store)
    pages = list(walk(store, limit=limit))
    assert [name for page in pages for name, _ in page.plans] == [entry(i) for i in IN_ORDER]
    assert all(len(page.plans) <= limit for page in pages)
    # A full page is not told to be the last: one more may be asked for, in vain.
    assert len(pages) == -(-len(IN_ORDER) // limit)


def test_pages_are_stable_while_plans_come_go_and_run(store):
    """A page goes on after an id: not after a place, which others would move."""
    fill(store)
    first = store.list(limit=4)
    assert [name for name, _ in first] == [entry(ident) for ident in IN_ORDER[:4]]
    last = IN_ORDER[3]
    store.remove(IN_ORDER[0])
    store.remove(last)
    store.submit("3", score=1)
    store.commit("3", store.run("3"), "park")
    rest = store.list(last, limit=100)
    assert [name for name, _ in rest] == [entry(ident) for ident in IN_ORDER[4:]]


@pytest.mark.parametrize("after, count", [("3", 8), (BIG, 0), ("7ffffffffffffffe", 1), ("f", 7)])
def test_page_after_an_id(store, after, count):
    fill(store)
    assert [name for name, _ in store.list(after)] == [entry(i) for i in IN_ORDER[10 - count:]]


@pytest.mark.parametrize("kind", ["none", "hash"])
def test_list_of_a_plan_without_a_sound_message(store, kind):
    store.submit("1")
    store.submit("2", text="two")
    store.db.delete(member("1"))
    if kind == "hash":
        store.db.hset(member("1"), "a", "b")
    before = store.dump()
    assert store.page() == ("", [(entry("2"), "two")])
    assert store.dump() == before


# Filters.

STATIONS = ["job", "jobs", "JOBS"]


def fill_all_kinds(store):
    """Plans of each station, state and type there is, mixed."""
    made, number = {}, 0
    for station in STATIONS:
        for state in range(8):
            for kind in (0, 1, 5):
                number += 1
                ident = f"{number * 7919 % 1000:x}"
                text = message(plan_state=state, plan_type=kind, station=station)
                store.submit(ident, station, text=text)
                made[entry(ident, station)] = text, station, str(state), str(kind)
    return made


@pytest.mark.parametrize("limit", [1, 7, 100])
@pytest.mark.parametrize("station", ["", "jobs", "JOBS", "job", "jo", "nobody"])
@pytest.mark.parametrize("state", ["", "0", "5", "9", "55"])
@pytest.mark.parametrize("kind", ["", "0", "5", "6"])
def test_filters_and_their_combinations(store, station, state, kind, limit):
    made = fill_all_kinds(store)
    expected = sorted((name, row[0]) for name, row in made.items()
                      if station in ("", row[1]) and state in ("", row[2]) and kind in ("", row[3]))
    pages = list(walk(store, limit, station=station, state=state, kind=kind))
    assert [plan for page in pages for plan in page.plans] == expected
    # Nothing here is over a bound: every page but the last is full.
    assert all(len(page.plans) == limit for page in pages[:-1])


@pytest.mark.parametrize("text, state, kind", [
    ('{"plan_state" : 5,\n"plan_type"\t:\n 6}', "5", "6"),
    # A client's text is inside of strings, where it has no bare quote.
    (message(a='"plan_state":1,"plan_type":1', plan_state=5, plan_type=6), "5", "6"),
    (message(a="plan_state", b="plan_type", plan_state=5, plan_type=6), "5", "6"),
    (message(messages=['{"plan_state":1,"plan_type":1}'], plan_state=5, plan_type=6), "5", "6"),
    (message(my_plan_state=1, plan_state_=1, plan_state=5, plan_type=6), "5", "6"),
    (message(plan_state=55, plan_type=66), "55", "66"),
])
def test_state_and_type_are_read_from_the_message(store, text, state, kind):
    store.submit("1", text=text)
    assert store.list(state=state) == store.list(kind=kind) == [(entry("1"), text)]
    for other in {"0", "1", "5", "6", "55", "66"} - {state}:
        assert store.list(state=other) == []
    for other in {"0", "1", "5", "6", "55", "66"} - {kind}:
        assert store.list(kind=other) == []
    assert store.list(state=state, kind=kind, station="jobs") == [(entry("1"), text)]
    assert store.list(state=kind, kind=kind) == []


@pytest.mark.parametrize("text", ["", "{}", "not JSON", '{"plan_state":null,"plan_type":"5"}'])
def test_plan_without_the_fields_fits_no_filter_of_them(store, text):
    store.submit("1", text=text)
    assert store.list() == store.list(station="jobs") == [(entry("1"), text)]
    assert store.list(state="0") == store.list(kind="0") == []


SEVEN, TEXT = '"tenant":7', '"creator":"a \\"b\\" c"'


@pytest.mark.parametrize("text, fits", [
    ('{"tenant":7,"creator":"a \\"b\\" c"}', [SEVEN, TEXT]), ('{"a":1,"tenant":7}', [SEVEN]),
    ('{ "tenant" :\t7 ,\n"creator"\n:"a \\"b\\" c" }', [SEVEN, TEXT]),   # by hand
    ('{"tenant":70}', []), ('{"tenant":"7"}', []), ('{"tenant":-7}', []), ('{"tenant":7.5}', []),
    ('{"tenants":7,"my tenant":7}', []), ("{}", []), ("", []), ("not JSON", []),
    ('{"creator":"a \\"b\\" c d"}', []), ('{"creator":"x a \\"b\\" c"}', []),
    # What looks like a member inside of a string is none, and hides none behind it.
    (message(ext='{"tenant":7,"creator":"a"}'), []),
    (message(a="tenant", b='"tenant":7,', tenant=7), [SEVEN]),
    (message(ext='{"tenant":8}', a='"tenant"', tenant=7), [SEVEN]),
    ('{"tenant":8,"x":"tenant","tenant":7}', [SEVEN]),
    ('{"tenant":7', []), ('{"tenant":', []), ('{"tenant"', []), ('"tenant":7,', [SEVEN])])
def test_members_are_found_in_the_message(store, text, fits):
    store.submit("1", text=text)
    for member_wanted in (SEVEN, TEXT):
        found = store.list(members=[member_wanted])
        assert found == ([(entry("1"), text)] if member_wanted in fits else []), member_wanted
    assert bool(store.list(members=[SEVEN, TEXT])) == (fits == [SEVEN, TEXT])
    assert store.list(members=[SEVEN], state="1") == []


@pytest.mark.parametrize("value", ["%d", ".*", "[", "(", "%", "^$", "a-b", "?"])
def test_members_are_no_patterns(store, value):
    store.submit("1", text=message(key=value))
    store.submit("2", text=message(key="aaaa"))
    assert [name for name, _ in store.list(members=[f'"key":"{value}"'])] == [entry("1")]


def test_each_member_is_to_be_there(store):
    members = [f'"{name}":{number}' for number, name in enumerate("abcdefgh")]
    for number in range(9):
        store.submit(f"{number + 1}", text="{" + ",".join(members[:number]) + "}")
        assert len(store.list(members=members[:number])) == 1
    assert len(store.list(members=members[:4])) == 5


def test_plans_change_their_state(store):
    store.submit("1", text=message(plan_state=1, revision=0))
    exec_id = store.run("1")
    assert store.list(state="1") == [] and len(store.list(state="2")) == 1
    store.change("1", 0, message(exec_id=int(exec_id), plan_state=5, revision=1), "out", run=exec_id)
    assert store.list(state="2") == [] and len(store.list(state="5")) == 1


# Bounds of a page.

def fill_many(store, count, station=lambda i: "jobs", text=lambda i: "{}"):
    """Plans 1 to `count`, written without the scripts."""
    store.db.zadd(IDS, {entry(f"{i:x}", station(i)): 0 for i in range(1, count + 1)})
    store.db.mset({member(f"{i:x}", station(i)): text(i) for i in range(1, count + 1)})


def all_plans(pages):
    return [int(name[:16], 16) for page in pages for name, _ in page.plans]


def test_entries_of_a_page_are_bounded(store):
    """The one plan of its station stands behind many others: the pages to it are empty."""
    count = 2 * ENTRIES_MAX + 10
    fill_many(store, count, lambda i: "rare" if i == count else "jobs")
    pages = list(walk(store, station="rare"))
    assert [(page.last, len(page.plans)) for page in pages] == [
        (digits(f"{ENTRIES_MAX:x}"), 0), (digits(f"{2 * ENTRIES_MAX:x}"), 0), ("", 1)]


def test_messages_of_a_page_are_bounded(store):
    """Each plan's message must be read for its state."""
    count = 2 * MESSAGES_MAX + 10
    fill_many(store, count, text=lambda i: message(plan_state=5 if i == count else 1))
    for filters in (dict(state="5"), dict(state="5", station="jobs"), dict(kind="3")):
        pages = list(walk(store, **filters))
        assert [(page.last, len(page.plans)) for page in pages] == [
            (digits(f"{MESSAGES_MAX:x}"), 0), (digits(f"{2 * MESSAGES_MAX:x}"), 0),
            ("", 0 if "kind" in filters else 1)]


def test_only_messages_of_the_station_count(store):
    fill_many(store, 4 * MESSAGES_MAX, lambda i: "rare" if i % 4 == 0 else "jobs",
              lambda i: message(plan_state=i % 8))
    (page,) = walk(store, limit=1000, station="rare", state="4")
    assert all_plans([page]) == list(range(4, 4 * MESSAGES_MAX + 1, 8))


@pytest.mark.parametrize("size, pages", [
    (BYTES_MAX // 4, [5, 5, 2]),     # the fifth goes over the bound
    (BYTES_MAX // 4 + 1, [4, 4, 4]),
    (BYTES_MAX + 1, [1] * 12),       # one message over the bound is given, alone
    (100, [12]),
])
def test_bytes_of_a_page_are_bounded(store, size, pages):
    text = message(plan_state=1).ljust(size)
    fill_many(store, 12, text=lambda i: text)
    # Also those that do not fit are read, and count.
    for filters, given in ((dict(), True), (dict(state="1"), True), (dict(state="5"), False)):
        seen = list(walk(store, **filters))
        assert [len(page.plans) for page in seen] == [count * given for count in pages]


@pytest.mark.parametrize("limit", [1, 99, 100, 101, 499, 500, 501, 1000])
def test_many_plans(store, limit):
    fill_many(store, 3000, lambda i: STATIONS[i % 3])
    assert all_plans(walk(store, limit)) == list(range(1, 3001))
    assert all_plans(walk(store, limit, station="job")) == list(range(3, 3001, 3))


def test_very_many_plans(store):
    fill_many(store, 50_000, lambda i: "rare" if i % 9973 == 0 else "jobs")
    assert all_plans(walk(store, 1000)) == list(range(1, 50_001))
    assert all_plans(walk(store, station="rare")) == [9973 * k for k in range(1, 6)]


# Random stores, with bounds so small that they are met everywhere.

def random_store(store, rng):
    """Plans with all that may be wrong with them; those that are sound: entry -> message."""
    made = {}
    for ident in rng.sample(range(1, 200), rng.randint(0, 120)):
        ident = f"{ident * rng.choice([1, 1, 0x10000000000]):x}"
        station = rng.choice(STATIONS)
        if entry(ident)[:16] in {name[:16] for name in made}:
            continue
        text = rng.choice(["", "not JSON"] + 20 * [
            message(plan_state=rng.randint(0, 3), plan_type=rng.randint(0, 2),
                    pad="x" * rng.choice([0, 0, 50, 300]))])
        store.db.zadd(IDS, {entry(ident, station): 0})
        kind = rng.choice(["none", "hash"] + 8 * ["string"])
        if kind == "hash":
            store.db.hset(member(ident, station), "a", "b")
        elif kind == "string":
            store.db.set(member(ident, station), text)
            made[entry(ident, station)] = text
    return made


def add_junk(store, made, rng):
    """Index entries that are none, and second ones of an id: its plan's key was renamed."""
    names = ["junk", "1:jobs", "zzzz", "0000000000000005", ":", "\xff"]
    for name in rng.sample(sorted(made), len(made) // 3):
        names += [name[:17] + rng.choice(["a", "z", "a/b"])]
    store.db.zadd(IDS, {name: 0 for name in names if name not in made})


def fits(name, text, station, state, kind):
    return (station in ("", name[17:]) and (not state or f'"plan_state":{state},' in text)
            and (not kind or f'"plan_type":{kind},' in text))


def smaller(store, bounds):
    store.bounds["list"] = {BOUNDS: BOUNDS.split("=")[0] + "= " + ", ".join(map(str, bounds))}


@pytest.mark.parametrize("junk", [False, True])
@pytest.mark.parametrize("turn", range(30))
def test_pages_of_a_random_store_are_exactly_the_plans_that_fit(store, turn, junk):
    rng = seeded(turn)
    made = random_store(store, rng)
    if junk:
        add_junk(store, made, rng)
    for _ in range(12):
        bounds = [rng.choice([1, 2, 7, 30, 1000]), rng.choice([1, 2, 7, 30, 1000]),
                  rng.choice([0, 60, 500, 100_000]), rng.choice([1, 2, 3, 10, 500])]
        smaller(store, bounds)
        filters = dict(station=rng.choice(["", "", *STATIONS]),
                       state=rng.choice(["", "", "0", "1"]), kind=rng.choice(["", "", "0", "1"]))
        limit = rng.choice([1, 2, 3, 10, 1000])
        print(bounds, filters, limit)
        seen = [plan for page in walk(store, limit, **filters) for plan in page.plans]
        assert seen == sorted((name, text) for name, text in made.items()
                              if fits(name, text, **filters))


@pytest.mark.parametrize("bounds", [(5000, 1000, 4194304, 1), (5000, 1000, 4194304, 2),
                                    (3, 1000, 4194304, 500), (1, 1000, 4194304, 500)])
@pytest.mark.parametrize("station", ["", "b"])
def test_plan_whose_key_was_renamed_is_not_passed_over(store, bounds, station):
    """An operator moved plans to another station: until the sweep each has two index entries."""
    for ident in ("1", "2", "3", "4"):
        store.submit(ident, "a", text=ident)
        store.db.rename(member(ident, "a"), member(ident, "b"))
        store.db.zadd(IDS, {entry(ident, "b"): 0})
    smaller(store, bounds)
    seen = [plan for page in walk(store, station=station) for plan in page.plans]
    assert seen == [(entry(ident, "b"), ident) for ident in ("1", "2", "3", "4")]
