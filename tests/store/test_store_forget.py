"""forget: outcomes are taken out of the history, also of entries of several; and nothing else is."""
import pytest

from storescripts import HISTORY, META, packed_outcomes, seeded
from test_store_history import FEW, MS, add, add_mixed, add_some, outcome, outcomes, walk

FORGOT = "plan:forgot"


def kept(store, newest=False):
    return outcomes(walk(store, 7, newest))


def check(store, rows):
    """These are there, from both ends."""
    assert kept(store) == [outcome(*row) for row in rows]
    assert kept(store, newest=True) == [outcome(*row) for row in reversed(rows)]


def test_history_without_an_entry(store):
    assert store.forget("1-0", "0-1") == 0 and store.forget() == 0
    assert store.dump() == {}


def test_named_entries_go_and_no_others(store):
    add(store, *FEW)
    assert store.forget("0-2", "2-0", "9-0", "3-0", "2-2", "10-1", "99-0") == 3
    check(store, [row for row in FEW if row[0] not in ("0-2", "2-0", "9-0")])
    assert store.forget("0-2", "2-0", "9-0") == 0
    assert store.forget("0-1", "0-1") == 1
    assert store.history().first == "1-0"


def test_numbers_of_another_epoch_change_nothing(store):
    add(store, *FEW)
    store.db.hset(META, mapping={"seq": 10, "epoch": "e1"})
    before = store.dump()
    for epoch in ("", "e2", "e11"):
        assert store.forget("1-0", epoch=epoch) is None
    assert store.dump() == before
    assert store.forget("1-0", epoch="e1") == 1


def test_only_those_of_the_station(store):
    add(store, *FEW)
    rows = add_some(store, 15, [("1", "jobs"), ("2", "job"), ("1", "other")])
    names = [row[0] for row in FEW + rows]
    assert store.forget(*names, station="job") == 3
    check(store, [row for row in FEW + rows if row[2] != "job"])
    assert store.forget(*names, station="nowhere") == 0


@pytest.mark.parametrize("several", [False, True])
def test_one_that_was_written_at_another_time_stays(store, several):
    rows = add_some(store, 3, [("1", "jobs")] * 3) if several else FEW[:3]
    if not several:
        add(store, *rows)
    other = str(int(MS) + 1)
    assert store.forget(*(f"{row[0]}:{other}" for row in rows)) == 0
    check(store, rows)
    assert store.forget(*(f"{row[0]}:{MS}" for row in rows)) == 3
    check(store, [])


# Entries of several.

def test_each_part_of_an_entry_of_several(store):
    rows = add_some(store, 5, [("1", "jobs"), ("2", "job"), ("3", "jobs"), ("4", "job"), ("5", "jobs")])
    for gone in ("3-0", "1-0", "5-0", "2-0"):
        assert store.forget(gone) == 1 and store.forget(gone) == 0
        rows = [row for row in rows if row[0] != gone]
        check(store, rows)
        assert store.history().first == rows[0][0]
    assert store.db.xlen(HISTORY) == 1
    assert store.forget("4-0") == 1
    assert store.db.xlen(HISTORY) == 0 and not store.db.exists(FORGOT)


@pytest.mark.parametrize("newest", [False, True])
def test_page_from_anywhere_in_an_entry_of_which_one_is_left(store, newest):
    """It is not told again by the page behind it."""
    add_some(store, 5, [("1", "jobs")] * 5)
    add_some(store, 9, [("1", "jobs")] * 4)
    store.forget("1-0", "2-0", "4-0", "5-0")
    left = [3, 6, 7, 8, 9]
    for seq in range(1, 11):
        page = store.history(f"{seq}-0", newest=newest)
        names = [f"{n}-0" for n in left if (n < seq if newest else n > seq)]
        assert [row.entry for row in page.outcomes] == (names[::-1] if newest else names)


def test_an_unbroadcast_outcome_behind_an_entry_of_several(store):
    rows = add_some(store, 3, [("1", "jobs")] * 3)
    add(store, ("3-1", "2", "jobs"), ("3-2", "2", "jobs"))
    assert store.forget("3-0", "3-1", "2-1", "1-7") == 2
    check(store, rows[:2] + [("3-2", "2", "jobs")])


def test_numbers_given_anew_are_not_hidden(store):
    """The mark is of the entry that was there, not of whatever has its number."""
    add_some(store, 5, [("1", "jobs")] * 5)
    store.forget("2-0")
    store.db.delete(HISTORY)
    store.db.execute_command("XADD", HISTORY, "5-0", "t", int(MS) + 5, "n", 5, "m",
                             packed_outcomes([("1", "jobs", "r")] * 5))
    assert [row.entry for row in kept(store)] == [f"{n}-0" for n in range(1, 6)]


@pytest.mark.parametrize("fields", [{"m": "\x93\x01"}, {"m": "\xc1", "n": "3"}, {"m": "\x01", "n": "x"},
                                    {"m": "\x93\x01\x02\x03", "n": "3"}, {"m": "\x90", "n": "4"}])
def test_entry_of_several_that_nobody_can_read_stays(store, fields):
    add(store, ("1-0", "1", "jobs"))
    store.db.xadd(HISTORY, fields, id="10-0")
    add(store, ("99-0", "1", "jobs"))
    assert store.forget(*(f"{seq}-0" for seq in range(1, 100))) == 2
    assert [name for name, _ in store.db.xrange(HISTORY)] == ["10-0"]
    assert store.history().outcomes == []


@pytest.mark.parametrize("key", [HISTORY, META, FORGOT])
def test_key_of_another_type_is_replaced(store, key):
    if key != HISTORY:
        add(store, *FEW)
        add_some(store, 15, [("1", "jobs")] * 3)
    store.db.set(key, "by hand")
    assert store.forget("1-0", "14-0") == (0 if key == HISTORY else 2)
    assert store.db.type(key) != "string"


@pytest.mark.parametrize("way", ["forget", "sweep"])
def test_marks_go_with_what_stood_before(store, way):
    """By the next one that is taken out, or by the sweep."""
    add_some(store, 5, [("1", "jobs")] * 5)
    add_some(store, 9, [("1", "jobs")] * 4)
    store.forget("2-0", "7-0")
    assert store.db.zcard(FORGOT) == 2
    store.db.xtrim(HISTORY, minid="6", approximate=False)
    store.forget("99-0") if way == "forget" else store.sweep(age=10**9)
    assert store.db.zrange(FORGOT, 0, -1) == [f"7:{MS}"]
    store.db.xtrim(HISTORY, maxlen=0, approximate=False)
    store.forget("99-0") if way == "forget" else store.sweep(age=10**9)
    assert not store.db.exists(FORGOT)


# What is missing is known.

def test_highest_number_taken_out_is_told(store):
    add(store, *FEW)
    assert store.history().outcomes and store.forgot == ""
    store.forget("2-1", "0-1")        # these were not broadcast
    store.history()
    assert store.forgot == ""
    for name, told in (("2-0", "2"), ("9-0", "9"), ("1-0", "9"), ("77-0", "9")):
        store.forget(name)
        store.history()
        assert store.forgot == told


def test_highest_number_of_a_part_is_told(store):
    add_some(store, 5, [("1", "jobs")] * 5)
    store.forget("3-0")
    store.history()
    assert store.forgot == "3"


# Random histories.

@pytest.mark.parametrize("turn", range(25))
def test_random_parts_of_a_random_history(store, turn):
    rng = seeded(turn)
    rows = add_mixed(store, rng, rng.randint(1, 60))
    for _ in range(8):
        some = rng.sample(rows, rng.randint(0, len(rows)))
        station = rng.choice(["", "", "jobs", "job"])
        names = [row[0] + rng.choice(["", ":" + MS]) for row in some] + ["7777-0", "0-77"]
        rng.shuffle(names)
        gone = {row[0] for row in some if station in ("", row[2])}
        assert store.forget(*names, station=station) == len(gone)
        rows = [row for row in rows if row[0] not in gone]
        check(store, rows)
        assert store.history().first == (rows[0][0] if rows else "")
    assert store.forget(*(row[0] for row in rows)) == len(rows)
    assert store.db.xlen(HISTORY) == 0 and store.db.zcard(FORGOT) == 0
