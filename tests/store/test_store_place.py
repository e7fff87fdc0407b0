"""place: new plans whose messages a command before it has stored, in one step with it. What is stored is what
submit stores of them; or nothing is, and submit is asked."""
import pytest

from storescripts import COUNT, IDS, NEW, TIME_SET, entry, everything, member, message

STATIONS = ["jobs", "job", "a.b-c_D9"]


def plans_of(count, first=1):
    return [(f"{first + i:x}", STATIONS[i % 3], 5 + i, message(caller=f"c{i % 2}", revision=i))
            for i in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 100, 256])
def test_plans_are_stored_as_submit_stores_them(store, twin, count):
    for first in (1, 1000):
        assert store.place_all(plans_of(count, first)) == 1
        assert twin.submit_all(plans_of(count, first)) == [1] * count
        assert everything(store) == everything(twin)


# What keeps them from being stored; in some of them the messages are there already.
HINDRANCES = {
    "a message of the same key": lambda store: store.db.set(member("2", "job"), "by hand"),
    "the same plan": lambda store: store.submit_all(plans_of(3)[1:2]),
    "an id of another station": lambda store: store.submit("2", "other"),
    "an entry of the index": lambda store: store.db.zadd(IDS, {entry("3", "gone"): 0}),
    "a mark that was left": lambda store: store.db.set(NEW, "6"),
    "a mark of another type": lambda store: store.db.hset(NEW, "a", "b"),
}


@pytest.mark.parametrize("how", sorted(HINDRANCES))
def test_nothing_is_stored_when_one_is_not_new(store, how):
    store.submit("ff", score=1e10)
    HINDRANCES[how](store)
    before = {key: value for key, value in everything(store).items() if key != NEW}
    assert store.place_all(plans_of(3)) == 0
    assert everything(store) == before
    # A mark does no harm for longer than one call.
    if "mark" in how:
        assert store.place_all(plans_of(3)) == 1


@pytest.mark.parametrize("most, fit", [
    ((4, 0, 0), True), ((3, 0, 0), False), ((0, 1, 0), True), ((0, 0, 2), True), ((0, 0, 1), False),
    ((4, 1, 2), True)])
def test_bounds_hold(store, most, fit):
    store.submit("ff", "other", score=1e10, text=message(caller="x"))
    before = everything(store)
    assert store.place_all(plans_of(3), most) == int(fit)
    assert fit or everything(store) == before


@pytest.mark.parametrize("most, fit", [((0, 2, 0), False), ((0, 3, 0), True)])
def test_bound_of_a_station_counts_those_there(store, most, fit):
    store.submit_all(plans_of(6))
    assert store.place_all(plans_of(3, 100), most) == int(fit)


def test_another_call_s_mark_is_none(store):
    assert store.place_all(plans_of(3), mark="7", number="8") == 0
    # The messages are those of the call that has the mark; it knows what it stored.
    assert store.db.zcard(TIME_SET) == store.db.zcard(IDS) == 0 and not store.db.exists(NEW, COUNT)


def test_script_that_was_lost_is_asked_again(store, twin):
    """MSETNX was done, the script was not loaded: the second time the mark stands there still."""
    plans = plans_of(3)
    for ident, station, _, text in plans:
        store.db.set(member(ident, station), text)
    store.db.set(NEW, "7")
    assert store.place_all(plans) == 1
    twin.submit_all(plans)
    assert everything(store) == everything(twin)
