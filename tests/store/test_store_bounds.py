"""How many plans there may be (submit.lua), what is counted for it (plan:count), and what a station
hears when it attends (attend.lua)."""
import json

import pytest

from storescripts import COUNT, META, digits, member

CALLERS = ["alice", "bob", "x" * 200, 'quo"te', "é", ""]


def text(caller):
    return json.dumps({"description": '"caller":"mallory"', "caller": caller, "revision": 1})


def left(store, field):
    return store.db.hget(COUNT, field)


@pytest.mark.parametrize("most, bound", [((2, 0, 0), "max_plans"), ((0, 2, 0), "max_plans_station"),
                                         ((0, 0, 2), "max_plans_caller")])
def test_one_more_than_the_bound_is_refused(store, most, bound):
    for ident in ("1", "2"):
        assert store.submit(ident, text=text("alice"), most=most) == [1]
    before = store.dump()
    assert store.submit("3", text=text("alice"), most=most) == [2, bound, "2"]
    assert store.dump() == before


def test_the_bounds_are_of_one_station_and_of_one_caller(store):
    assert store.submit("1", "jobs", text=text("alice"), most=(0, 1, 1)) == [1]
    assert store.submit("2", "news", text=text("bob"), most=(0, 1, 1)) == [1]
    assert store.submit("3", "news", text=text("carol"), most=(0, 1, 0))[0] == 2
    assert store.submit("3", "mail", text=text("bob"), most=(0, 0, 1))[0] == 2


def test_what_stands_under_the_id_is_told_also_when_it_is_full(store):
    assert store.submit("1", text=text("alice")) == [1]
    assert store.submit("1", text=text("alice"), most=(1, 1, 1))[0] == 0


@pytest.mark.parametrize("caller", CALLERS)
def test_a_plan_that_is_removed_makes_room(store, caller):
    for _ in range(3):
        assert store.submit("1", text=text(caller), most=(0, 0, 1)) == [1]
        assert store.submit("2", text=text(caller), most=(0, 0, 1))[0] == 2
        assert store.call("remove", ["plan:time:set", "plan:ids"], [digits("1"), ""]) == "jobs"
    assert not store.db.exists(COUNT)


def test_bytes_that_are_no_text_are_a_caller_of_their_own(store):
    message = json.dumps({"caller": {"b64": "AAE="}, "revision": 1})
    assert store.submit("1", text=message, most=(0, 0, 1)) == [1]
    assert store.submit("2", text=text("AAE="), most=(0, 0, 1)) == [1]
    assert store.submit("3", text=message, most=(0, 0, 1))[0] == 2


def test_the_count_is_of_another_type(store):
    store.db.set(COUNT, "spoilt")
    assert store.submit("1", text=text("alice"), most=(0, 9, 9)) == [1]
    assert left(store, "s:jobs") == "1"


def test_a_message_deleted_by_hand_is_counted_out_when_it_is_swept(store):
    store.submit("1", text=text("alice"))
    store.submit("2", text=text("alice"))
    store.db.delete(member("1"))
    store.call("sweep", ["plan:time:set", "plan:ids", "plan:history"], ["", 10, 100])
    assert left(store, "s:jobs") == "1"


# -- attend

def attend(store, instance="i1", data="", epoch="", seq=0, exec_id=0):
    return store.call("attend", [META, "plan:attending"], [instance, 1, data, epoch, seq, exec_id])


def test_the_first_station_names_the_data(store):
    data, lost, attending, revision, wrong = attend(store)
    assert data and (lost, attending, revision, wrong) == (0, 1, "0", "")
    assert store.db.hget(META, "schema") == "1"
    assert attend(store, data=data)[0] == data


def test_stations_are_counted(store):
    attend(store, "i1")
    assert attend(store, "i2")[2] == 2
    store.db.hset("plan:attending", "i1", "1000")       # long ago
    assert attend(store, "i2")[2] == 1
    assert not store.db.hexists("plan:attending", "i1")


def test_a_change_of_the_added_targets_is_told(store):
    before = attend(store)[3]
    store.stations("a", "one")
    assert attend(store)[3] != before


def test_data_without_what_was_heard_of_go_on_in_a_new_epoch(store):
    data = attend(store)[0]
    store.db.hset(META, mapping={"seq": 90, "epoch": "e1", "exec": 500})
    assert attend(store, data=data, epoch="e1", seq=90, exec_id=500)[1] == 0
    assert attend(store, data=data, epoch="e1", seq=100, exec_id=600)[1] == 1
    meta = store.db.hgetall(META)
    assert meta["seq"] == "100" and meta["epoch"] != "e1" and meta["exec"] == "600"
    # Told once: the next one who knew more is of the old epoch.
    assert attend(store, "i2", data=data, epoch="e1", seq=95)[1] == 0


def test_other_data_are_told_by_their_name(store):
    data = attend(store)[0]
    store.db.flushdb()
    answer = attend(store, data=data, epoch="e1", seq=100, exec_id=600)
    assert answer[0] != data and answer[1] == 0
    assert store.db.hget(META, "seq") is None
