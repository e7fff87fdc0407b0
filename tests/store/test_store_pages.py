"""load, remove, wake, sweep: plans looked up, deleted, woken and looked after."""
import json

import pytest

from storescripts import (AGE, HISTORY, IDS, META, RUN, T0, TIME_SET, WORK, digits, entry, held_as,
                          member, message, score_after, wait_key, work_key)

BIG = "7fffffffffffffff"
IDENTS = ["1", "10", "100", "1f0", "1f", "2", "f", "ffff", "1000000000000000", BIG]
IN_ORDER = sorted(IDENTS, key=lambda ident: int(ident, 16))
MODES = ["lease", "retry", "doubt", "next", "park", "end"]


def fill(store):
    for ident in IDENTS:
        store.submit(ident, score=1e10, text="text " + ident)


# load

def test_load_tells_the_state(store):
    store.freeze(T0)
    assert store.load("1f") == []
    store.submit("1f", score=5, text="text")
    assert store.load("1f") == [member("1f"), "text", "", []]
    exec_id = store.run("1f")
    assert store.load("1f")[2:] == [held_as(exec_id), []]
    store.db.zadd(TIME_SET, {member("1f"): 5})
    again = store.run("1f")
    assert store.load("1f")[2] == held_as(again + "+")
    store.commit("1f", again, "doubt", 9)
    assert store.load("1f")[2] == held_as(again + "+?")
    store.commit("1f", again, "park", text="parked")
    assert store.load("1f") == [member("1f"), "parked", "", []]


def test_load_finds_the_id_and_no_other(store):
    fill(store)
    for ident in IDENTS:
        assert store.load(ident)[:2] == [member(ident), "text " + ident]
    for ident in ("3", "1f00", "7ffffffffffffffe", "ff"):
        assert store.load(ident) == []


def test_load_tells_the_place_in_the_queue(store):
    assert store.load("1f", "place") == []
    store.submit("1f", score="123.25", text="text")
    loaded = store.load("1f", "place")
    assert loaded[:3] == [member("1f"), "text", ""] and loaded[3][:3] == ["123.25", "", ""]
    store.wait("1f")
    assert store.load("1f", "place")[3][:3] == ["123.25", "", "1"]
    store.db.zadd("plan:held:jobs", {member("1f"): 123.25, member("20"): 5})
    assert store.load("1f", "place")[3][:3] == ["123.25", "1", "1"]
    store.db.zrem(TIME_SET, member("1f"))
    assert store.load("1f", "place")[3][:3] == ["", "1", "1"]
    assert store.load("1f") == [member("1f"), "text", "", []]


@pytest.mark.parametrize("ext", ['{"vote":{"rule":"all"}}', '{"plan_state":7,"exec_id":1}'])
def test_load_is_not_fooled_by_what_stands_in_a_string(store, ext):
    """`ext` is a string for that: what looks like a vote in it is none."""
    text = message(exec_id=0, exec_time=0, plan_state=1, ext=ext)
    store.submit("1f", text=text)
    store.db.hset(work_key("1f"), "w", "[]")
    assert store.load("1f") == [member("1f"), text, "", []]
    exec_id = store.run("1f")
    loaded = store.load("1f")
    assert loaded[3] == [] and ext in json.loads(loaded[1])["ext"]
    assert f'"exec_id":{exec_id}' in loaded[1] and '"plan_state":2,' in loaded[1]


@pytest.mark.parametrize("kind", ["none", "hash"])
def test_load_without_a_sound_message(store, kind):
    store.submit("1")
    store.db.delete(member("1"))
    if kind == "hash":
        store.db.hset(member("1"), "a", "b")
    before = store.dump()
    assert store.load("1") == [] and store.dump() == before


# remove

def test_remove_deletes_every_key_of_the_plan_and_no_other(store):
    fill(store)
    before = store.dump()
    store.submit("1f00", "jobs")
    exec_id = store.run("1f00")
    store.commit("1f00", exec_id, "doubt", 9, work=WORK, tell="failure", wait=True)
    assert store.remove("1f00") == "jobs"
    state = store.dump()
    state.pop(META)
    assert state == before


@pytest.mark.parametrize("ident", IDENTS)
def test_remove_takes_the_plan_of_the_id_alone(store, ident):
    fill(store)
    assert store.remove(ident) == "jobs" and store.remove(ident) == 0
    rest = [other for other in IN_ORDER if other != ident]
    assert store.db.zrange(IDS, 0, -1) == [entry(other) for other in rest]
    assert set(store.db.zrange(TIME_SET, 0, -1)) == {member(other) for other in rest}
    assert all(store.db.exists(member(other)) for other in rest)


def test_remove_of_no_plan_changes_nothing(store):
    assert store.remove("1") == 0 and store.dump() == {}
    fill(store)
    before = store.dump()
    assert store.remove("3") == 0 and store.dump() == before


@pytest.mark.parametrize("station", ["job", "jobs2", "JOBS", "other"])
def test_remove_of_another_stations_plan_changes_nothing(store, station):
    store.submit("1")
    store.submit("2", station)
    before = store.dump()
    assert store.remove("1", station) == 0 and store.dump() == before
    assert store.remove("1", "jobs") == "jobs" and store.remove("2", station) == station
    assert store.dump() == {}


def test_remove_repairs_what_a_deleted_message_left(store):
    store.submit("1")
    store.run("1")
    store.db.delete(member("1"))
    assert store.remove("1") == 0
    assert set(store.dump()) == {META}


@pytest.mark.parametrize("mode", MODES)
def test_commit_after_remove_is_refused_and_no_key_comes_back(store, mode):
    store.submit("1")
    exec_id = store.run("1")
    assert store.remove("1") == "jobs"
    before = store.dump()
    assert set(before) == {META}
    assert store.commit("1", exec_id, mode, 7.5, text="new", work=WORK, tell="result",
                        wait=True) == [0]
    assert store.dump() == before


@pytest.mark.parametrize("mode", MODES)
def test_commit_after_remove_does_not_touch_the_next_plan_of_the_id(store, mode):
    store.submit("1")
    exec_id = store.run("1")
    store.remove("1")
    store.submit("1", text="next")
    current = store.run("1")
    before = store.dump()
    assert store.commit("1", exec_id, mode, 7.5, text="new", tell="result") == [0]
    assert store.dump() == before and current != exec_id


# wake

def waiting(store, ident, score, station="jobs"):
    store.submit(ident, station, score=score)
    store.wait(ident, station=station)


def test_wake_makes_the_waiting_due_at_once(store):
    store.freeze(T0)
    waiting(store, "1", 1e10)
    waiting(store, "2", 1e10)
    waiting(store, "3", 1e10, "other")
    store.submit("4", score=1e10)
    assert store.wake() == 2
    now = score_after(T0)
    assert store.dump()[TIME_SET] == {member("1"): now, member("2"): now,
                                      member("3", "other"): 1e10, member("4"): 1e10}
    assert store.db.exists(wait_key()) == 0
    assert store.waiting("other") == {member("3", "other")}
    assert {plan.member for plan in store.claim().plans} == {member("1"), member("2")}


def test_wake_makes_no_plan_later(store):
    store.freeze(T0)
    waiting(store, "1", 5)
    assert store.wake() == 1 and store.db.zscore(TIME_SET, member("1")) == 5


def test_wake_queues_nothing_that_is_not_queued(store):
    """A parked or deleted plan does not come back by a name that was left in the set."""
    store.wait("1")
    assert store.wake() == 1 and store.dump() == {}


def test_wake_counts_what_it_took(store):
    for ident in IDENTS:
        waiting(store, ident, 1e10)
    assert [store.wake(limit=4) for _ in range(4)] == [4, 4, 2, 0]
    assert len(store.claim().plans) == 10


def test_wake_of_nobody_changes_nothing(store):
    store.submit("1", score=1e10)
    before = store.dump()
    assert store.wake() == 0 and store.dump() == before


def test_wake_after_a_commit_that_waits(store):
    store.freeze(T0)
    store.submit("1")
    store.commit("1", store.run("1"), "retry", 60, wait=True)
    assert store.claim().plans == []
    assert store.wake() == 1
    assert store.claim().plans[0].again == 0


# sweep

def test_sweep_of_plans_that_are_in_order(store):
    assert store.sweep() == ("", 0, [])
    fill(store)
    store.submit("3")
    store.run("3")
    before = store.dump()
    assert store.sweep() == ("", 0, []) and store.dump() == before


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 11])
def test_sweep_goes_on_after_the_last_id_and_ends(store, limit):
    fill(store)
    for ident in IDENTS[::2]:
        store.db.zrem(TIME_SET, member(ident))
    found, after, turns = [], "", 0
    while turns == 0 or after:
        after, repaired, outside = store.sweep(after, limit)
        found += outside
        turns += 1
        assert repaired == 0 and turns <= len(IDENTS) + 1
    assert sorted(found) == sorted((member(ident), "text " + ident) for ident in IDENTS[::2])
    assert turns == len(IDENTS) // limit + 1


@pytest.mark.parametrize("kind", ["none", "hash"])
def test_sweep_repairs_entries_without_a_sound_message(store, kind):
    fill(store)
    for ident in ("1", "1f", BIG):
        store.db.delete(member(ident))
        if kind == "hash":
            store.db.hset(member(ident), "a", "b")
    assert store.sweep(limit=5) == (digits("1f"), 2, [])
    assert store.sweep(digits("1f"), limit=5) == (digits(BIG), 1, [])
    assert store.sweep(digits(BIG), limit=5) == ("", 0, [])
    left = [ident for ident in IN_ORDER if ident not in ("1", "1f", BIG)]
    assert store.db.zrange(IDS, 0, -1) == [entry(ident) for ident in left]


def test_sweep_tells_of_plans_outside_the_queue_and_leaves_them(store):
    store.submit("1", text="parked")
    store.commit("1", store.run("1"), "park")
    before = store.dump()
    assert store.sweep() == ("", 0, [(member("1"), "parked")]) and store.dump() == before
    assert store.swept_runs == [""]


def test_sweep_leaves_nothing_of_a_plan_whose_message_is_gone(store):
    store.submit("1")
    store.commit("1", store.run("1"), "doubt", 1e9, work=WORK, tell="failure", wait=True)
    store.db.delete(member("1"))
    assert store.sweep().repaired == 1
    left = set(store.dump()) - {META}
    # The claim takes the member out of the queue, and counts it, when it is due.
    assert work_key("1") not in left and RUN not in left


@pytest.mark.parametrize("name", ["junk", "", "zzzzzzzzzzzzzzzz:jobs", "1:jobs"])
def test_index_entry_that_is_none_stops_neither_list_nor_sweep(store, name):
    """An entry written by hand: one bad name must not hide the plans behind it."""
    store.db.zadd(IDS, {name: 0})
    store.submit("2", text="two")
    assert (entry("2"), "two") in store.list()
    assert store.sweep().repaired == 1
    assert store.db.zrange(IDS, 0, -1) == [entry("2")]


# sweep: outcomes that are too old

def age_history(store, *ages_s):
    """Outcomes that ended these seconds before the second of T0."""
    for i, age_s in enumerate(ages_s):
        ended = T0 // 1_000_000 * 1000 - round(age_s * 1000)
        store.db.xadd(HISTORY, {"p": "1", "s": "jobs", "t": ended, "r": "r"}, id=f"{i + 1}-0")


def left(store):
    return [int(name.split("-")[0]) for name, _ in store.db.xrange(HISTORY)]


@pytest.mark.parametrize("ages_s, kept", [
    ((), []),
    ((99, 50, 0), [1, 2, 3]),
    ((101, 99), [2]),
    ((100.001, 100), [2]),             # at the bound is not over it
    ((102, 101, 101), []),
    ((1e6, -1e6), [2]),
    ((50, 101, 50), [1, 2, 3]),        # behind a younger one it stays: the clock was set back
])
def test_sweep_trims_outcomes_that_are_too_old(store, ages_s, kept):
    store.freeze(T0)
    age_history(store, *ages_s)
    assert store.sweep(age=100) == ("", 0, []) and left(store) == kept


def test_sweep_trims_what_the_commits_wrote(store):
    store.freeze(T0)
    store.submit("1")
    exec_id = store.run("1", lease=1e6)
    for turn in range(3):
        store.freeze(T0 + turn * 1_000_000)
        store.commit("1", exec_id, "doubt", 1e6, tell="result", record="r")
    for after_s, kept in ((100, [1, 2, 3]), (101, [2, 3]), (103, [])):
        store.freeze(T0 + after_s * 1_000_000)
        store.sweep(age=100)
        assert left(store) == kept
    # The numbers go on, and so do the entries.
    assert store.commit("1", exec_id, "doubt", 1e6, tell="result", record="r")[1] == 4
    assert left(store) == [4]


def test_sweep_trims_a_bounded_number_a_turn(store):
    store.freeze(T0)
    age_history(store, *[500] * 2500)
    sizes = []
    while store.db.xlen(HISTORY):
        store.sweep(age=100)
        sizes.append(store.db.xlen(HISTORY))
    assert sizes == [1500, 500, 0]


def test_sweep_trims_on_every_page(store):
    store.freeze(T0)
    fill(store)
    age_history(store, *[500] * 1500)
    page = store.sweep(limit=1, age=100)
    assert page.last == digits(IN_ORDER[0]) and store.db.xlen(HISTORY) == 500
    store.sweep(page.last, limit=1, age=100)
    assert store.db.xlen(HISTORY) == 0


def test_sweep_trims_entries_that_are_none_of_ours(store):
    """Nobody could say how old they are, and they would stop the trimming for ever."""
    store.freeze(T0)
    store.db.xadd(HISTORY, {"a": "b"}, id="0-1")
    store.db.xadd(HISTORY, {"t": "x"}, id="0-2")
    age_history(store, 500, 50)
    store.sweep(age=100)
    assert left(store) == [2]


def test_sweep_replaces_a_history_of_another_type(store):
    store.db.set(HISTORY, "by hand")
    store.submit("1")
    assert store.sweep() == ("", 0, [])
    assert HISTORY not in store.dump()


def test_age_of_outcomes_is_by_the_clock_of_redis(store):
    now_ms = store.redis_us() // 1000
    for i, ms in enumerate((now_ms - (AGE + 10) * 1000, now_ms - (AGE - 10) * 1000)):
        store.db.xadd(HISTORY, {"p": "1", "s": "jobs", "t": ms, "r": "r"}, id=f"{i + 1}-0")
    store.sweep()
    assert left(store) == [2]
