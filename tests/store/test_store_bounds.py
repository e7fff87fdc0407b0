"""How many plans there may be (submit.lua), what is counted for it (plan:count), and what a station
hears when it attends (attend.lua)."""
import hashlib
import json

import pytest

from storescripts import COUNT, META, TIME_SET, caller_field, digits, entry, member, work_key

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


def summed(name):
    return "c:" + hashlib.sha1(name.encode()).hexdigest()


# What the station writes as a caller, and the field it gives with it (store.c, caller_field).
FIELDS = [
    ('"alice"', "c:talice"), ('""', "c:t"), ('"a b c"', "c:ta b c"), ('"c:tbob"', "c:tc:tbob"),
    # Up to the first quote: the others share a field with it, and so a bound.
    ('"quo\\"te"', "c:tquo\\"), ('"\\"quoted\\""', "c:t\\"), ('"\\\\"', "c:t\\\\"),
    ('"a\\\\b\\n"', "c:ta\\\\b\\n"), ('"a\\u0001b"', "c:ta\\u0001b"), ('"end\\\\"', "c:tend\\\\"),
    ('"{\\"b64\\":"', "c:t{\\"), ('"{b64}"', "c:t{b64}"), ('"b64"', "c:tb64"),
    ('{"b64":"AP8="}', "c:bAP8="), ('{"b64":"/+8="}', "c:b/+8="), ('"AP8="', "c:tAP8="),
    # The sum is of more than 40 bytes, with the letter for its form.
    (f'"{"x" * 39}"', "c:t" + "x" * 39), (f'"{"x" * 40}"', summed("t" + "x" * 40)),
    (f'"{"x" * 38}\\""', "c:t" + "x" * 38 + "\\"), (f'"{"x" * 39}\\""', summed("t" + "x" * 39 + "\\")),
    (f'"{"x" * 255}"', summed("t" + "x" * 255)), (f'"{"x" * 39}\\\\"', summed("t" + "x" * 39 + "\\" * 2)),
    ('{"b64":"%s="}' % ("A" * 38), "c:b" + "A" * 38 + "="),
    ('{"b64":"%s="}' % ("A" * 39), summed("b" + "A" * 39 + "=")),
    ('"%s"' % ("\xc3\xa9" * 19), "c:t" + "\xc3\xa9" * 19),
    ('"%s"' % ("\xc3\xa9" * 20), "c:" + hashlib.sha1(b"t" + b"\xc3\xa9" * 20).hexdigest()),
]
AROUND = ['{"description":"\\"caller\\":\\"mallory\\"",%s,"revision":1}', "{%s}",
          '{"request_id":"caller","description":"caller",%s,"messages":["\\"caller\\":\\"x\\""]}',
          '{"vote":{"voters":["caller","caller"]},"my_caller":"x","description":":",%s}',
          '{"messages":["{\\"caller\\":{\\"b64\\":\\"x\\"}}",{"b64":"AA=="}],%s}']


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("caller, field", FIELDS)
def test_caller_is_counted_under_one_name_by_all(store, caller, field, around):
    """The station gives it of what it stores and ends; of what is removed, or was made by hand, it is
    found in the message."""
    message = around % f'"caller":{caller}'
    assert caller_field(message) == field
    store.submit("ff", "other", score=1e10, text=text("bystander"))
    others = store.db.hgetall(COUNT)
    one = {**others, "s:jobs": "1", field: "1"}
    assert store.submit("1", text=message) == [1] and store.db.hgetall(COUNT) == one
    assert store.remove("1") == "jobs" and store.db.hgetall(COUNT) == others
    store.db.set(member("2"), message)
    store.db.zadd(TIME_SET, {member("2"): 1})
    run = store.run("2")
    assert store.db.hgetall(COUNT) == one
    store.commit("2", run, "end")
    assert store.db.hgetall(COUNT) == others


@pytest.mark.parametrize("written", ['"caller" : \n"alice"', '"caller"\t:"alice"', '"caller":"alice" ',
                                     '"a":"caller","caller":"alice"'])
def test_caller_is_found_however_it_is_written(store, written):
    store.db.set(member("1"), '{"b":"caller" ,%s}' % written)
    store.db.zadd(TIME_SET, {member("1"): 1})
    store.run("1")
    assert left(store, "c:talice") == "1"


@pytest.mark.parametrize("written", ['{ "b64" : "AP8="}', '{\n"b64":"AP8=" }'])
def test_caller_that_is_no_text_is_found_however_it_is_written(store, written):
    store.db.set(member("1"), '{"caller":%s}' % written)
    store.db.zadd(TIME_SET, {member("1"): 1})
    store.run("1")
    assert left(store, "c:bAP8=") == "1"


@pytest.mark.parametrize("message", ["", "{}", "not JSON", '{"caller":null}', '{"caller":5}',
                                     '{"a":"caller"}', '{"caller":"', '{"caller":{"b64":5}}'])
def test_message_without_a_caller_is_one_of_nobodys(store, message):
    store.db.set(member("1"), message)
    store.db.zadd(TIME_SET, {member("1"): 1})
    run = store.run("1")
    assert store.db.hgetall(COUNT) == {"s:jobs": "1", "c:b": "1"}
    store.commit("1", run, "end")
    assert not store.db.exists(COUNT)


def test_plans_of_all_callers_in_one_call(store):
    """What is added up of each is what they have one after the other, and goes with them."""
    fields = [field for _, field in FIELDS]
    plans = [(f"{i + 1:x}", "jobs", 1, '{"caller":%s}' % caller)
             for i, (caller, _) in enumerate(FIELDS * 3)]
    assert store.submit_all(plans) == [1] * len(plans)
    expected = {"s:jobs": str(len(plans)), **{field: str(3 * fields.count(field))
                                              for field in fields}}
    assert store.db.hgetall(COUNT) == expected
    runs = [store.commit_args(plan.member.split(":")[3], plan.exec_id, "end")
            for plan in store.claim(limit=1000).plans]
    store.commit_all(runs[1:])
    assert store.db.hgetall(COUNT) == {"s:jobs": "1", caller_field(plans[0][3]): "1"}
    store.commit_all(runs[:1])
    assert not store.db.exists(COUNT)


def test_a_caller_is_counted_as_it_is_given(store):
    """Nobody looks for it in what is submitted, or ends."""
    key = member("1")
    columns = [key, key, text("alice"), 1, key, "0", entry("1"), work_key("1")]
    assert store.call("submit", [TIME_SET, "plan:ids"], [
        0, 0, 0, 1, "any", "", "", 2, "s:jobs", 1, "c:tsomebody else", 1, *columns]) == []
    assert store.db.hgetall(COUNT) == {"s:jobs": "1", "c:tsomebody else": "1"}
    run = store.run("1")
    store.submit("2", "other", text=text("bob"))
    commit = store.commit_args("1", run, "end")
    commit[1] = "jobs c:tsomebody else"
    store.commit_all([commit])
    assert store.db.hgetall(COUNT) == {"s:other": "1", "c:tbob": "1"}


def test_caller_of_a_lost_message_is_counted_until_the_last_plan_is_gone(store):
    for ident in ("1", "2", "3"):
        store.submit(ident, text=text("alice"))
    store.db.delete(member("1"))
    store.sweep()
    assert store.db.hgetall(COUNT) == {"s:jobs": "2", "c:talice": "3"}
    store.remove("2")
    store.remove("3")
    assert not store.db.exists(COUNT)


def test_the_count_is_of_another_type(store):
    store.db.set(COUNT, "spoilt")
    assert store.submit("1", text=text("alice"), most=(0, 9, 9)) == [1]
    assert left(store, "s:jobs") == "1"


def test_a_message_deleted_by_hand_is_counted_out_when_it_is_swept(store):
    store.submit("1", text=text("alice"))
    store.submit("2", text=text("alice"))
    store.db.delete(member("1"))
    store.sweep(limit=10, age=100)
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
