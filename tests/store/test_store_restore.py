"""restore: outcomes of another station behind the last broadcast, with the times at which they were written."""
import pytest

from storescripts import HISTORY, META, Outcome
from test_store_history import FEW, MS, add, outcome, outcomes, walk

ROWS = [("jobs", "1f", "1700000000123", "one"), ("news", "2", "1700000000124", "two"),
        ("jobs", "1f", "1700000000123", "one")]


def restored(entry, row):
    station, plan, ended, record = row
    return Outcome(entry, plan, station, ended, record)


def test_into_an_empty_history(store):
    assert store.restore() == 0 and store.dump() == {}
    assert store.restore(*ROWS) == 3
    assert outcomes(walk(store, 2)) == [restored(f"0-{n}", row) for n, row in enumerate(ROWS, 1)]
    assert outcomes(walk(store, 2, plan="2")) == [restored("0-2", ROWS[1])]
    # A broadcast is number 1 all the same.
    assert store.db.hget(META, "seq") is None


def test_behind_what_is_there(store):
    add(store, *FEW)
    store.db.hset(META, "seq", "10")
    store.restore(*ROWS[:2])
    found = outcomes(walk(store, 3))
    assert found == [outcome(*row) for row in FEW] + [restored("10-3", ROWS[0]), restored("10-4", ROWS[1])]
    store.restore(ROWS[2])
    assert outcomes(walk(store, 3, newest=True)) == [restored("10-5", ROWS[2]), *reversed(found)]


@pytest.mark.parametrize("keep", [0, 1])
def test_bounded(store, keep):
    store.restore(*ROWS * 500, keep=keep)
    assert store.db.xlen(HISTORY) <= keep * 200


def test_what_a_run_wrote_stands_at_its_entry(store):
    store.restore((*ROWS[0], "jobs:1f 7 3 3\nabc"), ROWS[1])
    (name, fields), = store.db.xrange("plan:output")
    assert name == "0-1" and fields == {"t": ROWS[0][2], "o": "jobs:1f 7 3 3\nabc"}


def test_what_stands_there_of_another_type_goes(store):
    store.db.set(HISTORY, "odd")
    store.restore(ROWS[0])
    assert outcomes(walk(store)) == [restored("0-1", ROWS[0])]
    assert MS != ROWS[0][2]
