"""submit: a new plan is stored, or what stands under its id is told."""
import pytest
import redis

from storescripts import IDS, SOURCES, TIME_CALL, TIME_SET, WORK, entry, member

BIG = "7fffffffffffffff"
PREFIXES = ["1", "10", "100", "1f0", "1f", "f", "10000000", "1000000000000000", BIG]


def test_the_clock_can_be_fixed():
    """The other tests rely on it: these scripts read the clock once, in this spelling."""
    uses = {name: text.count("'TIME'") for name, text in SOURCES.items() if "'TIME'" in text}
    assert uses == {name: SOURCES[name].count(TIME_CALL) for name in uses}
    assert uses == dict.fromkeys(["attend", "change", "claim", "commit", "end", "identity", "outputs", "stats", "submit",
                                  "sweep", "team", "wake"], 1)


@pytest.mark.parametrize("ident", PREFIXES)
def test_new_plan_has_a_message_a_score_and_an_index_entry(store, ident):
    assert store.submit(ident, score=1_700_000_000, text='{"a": 1}') == [1]
    assert store.dump() == {member(ident): '{"a": 1}', TIME_SET: {member(ident): 1_700_000_000},
                            IDS: {entry(ident): 0}}


def test_ids_that_are_prefixes_of_one_another_are_different_plans(store):
    for ident in PREFIXES:
        assert store.submit(ident, text=ident) == [1]
    for ident in PREFIXES:
        assert store.submit(ident, text="again") == [0, "jobs", ident]
        assert store.load(ident)[:2] == [member(ident), ident]


def test_stations_whose_names_are_prefixes_do_not_mix(store):
    store.submit("1", "job", text="one")
    store.submit("2", "jobs", text="two")
    assert store.load("1")[0] == "plan:msg:job:1"
    assert store.load("2")[0] == "plan:msg:jobs:2"
    assert store.submit("1", "jobs") == [0, "job", "one"]


@pytest.mark.parametrize("station", ["jobs", "other", "a", "Z_9.-", "s" * 64])
@pytest.mark.parametrize("ident", ["1", BIG])
def test_id_in_use_is_told_and_nothing_changes(store, station, ident):
    store.submit(ident, station, score=5, text="first")
    before = store.dump()
    assert store.submit(ident, "jobs", score=9, text="second") == [0, station, "first"]
    assert store.dump() == before


@pytest.mark.parametrize("state", ["running", "parked", "waiting"])
def test_id_is_in_use_in_every_state(store, state):
    store.submit("1", text="first")
    exec_id = store.run("1")
    if state != "running":
        store.commit("1", exec_id, "park" if state == "parked" else "retry", 5,
                     wait=state == "waiting")
    before = store.dump()
    assert store.submit("1", "other", text="second") == [0, "jobs", "first"]
    assert store.dump() == before


def test_id_is_free_after_the_end_and_after_remove(store):
    store.submit("1")
    store.commit("1", store.run("1"), "end")
    assert store.submit("1", "other") == [1]
    assert store.remove("1") == "other"
    assert store.submit("1", "third") == [1]
    assert store.load("1")[0] == member("1", "third")


@pytest.mark.parametrize("station", ["jobs", "other"])
def test_index_entry_without_a_message_frees_the_id(store, station):
    store.submit("1", "jobs", text="old")
    store.db.delete(member("1"))
    assert store.submit("1", station, text="new") == [1]
    assert store.db.zrange(IDS, 0, -1) == [entry("1", station)]
    assert store.load("1")[:2] == [member("1", station), "new"]


@pytest.mark.parametrize("swept", [False, True])
def test_plan_under_a_freed_id_inherits_nothing(store, swept):
    """The message was deleted by hand while the plan ran: the old run is not the new plan's."""
    store.submit("1", text="old")
    exec_id = store.run("1")
    store.commit("1", exec_id, "doubt", 5, work=WORK, tell="failure", wait=True)
    store.db.delete(member("1"))
    if swept:
        store.sweep()
    assert store.submit("1", score=77, text="new") == [1]
    state = store.dump()
    state.pop("plan:meta")
    assert state == {member("1"): "new", TIME_SET: {member("1"): 77}, IDS: {entry("1"): 0}}


@pytest.mark.parametrize("swept", [False, True])
def test_result_of_a_deleted_plan_does_not_end_its_successor(store, swept):
    store.submit("1", text="old")
    exec_id = store.run("1")
    store.db.delete(member("1"))
    if swept:
        store.sweep()
    store.submit("1", score=77, text="new")
    assert store.commit("1", exec_id, "end") == [0]
    assert store.db.get(member("1")) == "new"


def test_second_index_entry_of_an_id_still_holds_it(store):
    """An operator renamed a plan's key to another station; the old entry is not swept yet."""
    store.submit("1", "a", text="moved")
    store.db.rename(member("1", "a"), member("1", "b"))
    store.db.zrem(TIME_SET, member("1", "a"))
    store.db.zadd(TIME_SET, {member("1", "b"): 1})
    store.claim()
    assert store.submit("1", "a", text="new") == [0, "b", "moved"]


def test_plan_made_by_hand_is_not_overwritten(store):
    """It is in the queue, and not in the index before its first claim."""
    store.db.set(member("1"), "by hand")
    store.db.zadd(TIME_SET, {member("1"): 5})
    assert store.submit("1", score=9, text="new") == [0, "jobs", "by hand"]
    assert store.db.get(member("1")) == "by hand"


def test_message_of_another_type_is_an_error_and_nothing_changes(store):
    store.submit("1")
    store.db.delete(member("1"))
    store.db.hset(member("1"), "a", "b")
    before = store.dump()
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        store.submit("1", "other")
    assert store.dump() == before


def test_message_is_kept_byte_for_byte(store):
    text = '{"id":9007199254740993,"a":[],"b":"\xed\x95\x9c"}\xff\0\r\n'
    store.submit("1", text=text)
    (plan,) = store.claim().plans
    assert plan.message == text and store.load("1")[1] == text and store.list()[0][1] == text
