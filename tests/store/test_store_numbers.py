"""stats and stations: what there is in numbers, and the targets that were added at run time."""
import pytest

from storescripts import (HISTORY, META, RUN, STATIONS, T0, TIME_SET, entry, member, message,
                          score_after)

SECOND = 1_000_000
NAMES = ["plans", "queued", "due", "running", "outcomes", "seq", "epoch", "next", "memory"]


def stats(store):
    return dict(zip(NAMES, store.stats(), strict=True))


def numbers(store, *names):
    return tuple(stats(store)[name] for name in names)


def test_numbers_of_an_empty_store(store):
    told = stats(store)
    assert int(told.pop("memory")) > 0
    assert told == {"plans": 0, "queued": 0, "due": 0, "running": 0, "outcomes": 0, "seq": "0",
                    "epoch": "", "next": ""}
    assert store.dump() == {}


def test_numbers_follow_the_plans(store):
    store.freeze(T0)
    which = ("plans", "queued", "due", "running")
    store.submit("1", score=score_after(T0))
    store.submit("2", score=score_after(T0, 1))
    store.submit("3", score=5)
    assert numbers(store, *which) == (3, 3, 2, 0)
    runs = {plan.member: plan.exec_id for plan in store.claim().plans}
    assert numbers(store, *which) == (3, 3, 0, 2)
    store.commit("1", runs[member("1")], "park")
    assert numbers(store, *which) == (3, 2, 0, 1)
    store.commit("3", runs[member("3")], "end")
    assert numbers(store, *which) == (2, 1, 0, 0)
    store.freeze(T0 + SECOND)
    assert numbers(store, *which) == (2, 1, 1, 0)
    store.remove("2")
    assert numbers(store, *which) == (1, 0, 0, 0)


@pytest.mark.parametrize("late_us, due", [(-1, 0), (0, 1), (1, 1)])
def test_due_is_what_a_claim_would_take(store, late_us, due):
    store.freeze(T0)
    store.submit("1", score=f"{(T0 - late_us) / 1e6:.6f}")
    assert stats(store)["due"] == due == len(store.claim().plans)


def test_run_whose_lease_ended_is_due_and_running(store):
    store.freeze(T0)
    store.submit("1")
    store.run("1", lease=0)
    assert numbers(store, "queued", "due", "running") == (1, 1, 1)



def test_numbers_of_the_history(store):
    store.freeze(T0)
    store.submit("1")
    exec_id = store.run("1")
    for how in ("result", "none", "result"):
        store.commit("1", exec_id, "doubt", 9, tell=how, record="r")
    epoch = store.db.hget(META, "epoch")
    assert numbers(store, "outcomes", "seq", "epoch") == (3, "2", epoch)
    store.commit("1", exec_id, "doubt", 9, tell="result")
    assert numbers(store, "outcomes", "seq", "epoch") == (3, "3", epoch)
    store.db.delete(META)
    assert numbers(store, "outcomes", "seq", "epoch") == (3, "2", "")
    store.db.xtrim(HISTORY, maxlen=0, approximate=False)
    assert numbers(store, "outcomes", "seq") == (0, "0")


@pytest.mark.parametrize("score", ["5", "1700000000.25", "253402300799", "inf", "-inf"])
def test_next_is_the_first_score(store, score):
    store.submit("1", score=score)
    store.submit("2", score="+inf")
    assert float(stats(store)["next"]) == float(score)


def test_big_number_of_broadcasts_is_exact(store):
    store.db.hset(META, "seq", 2**53)
    assert stats(store)["seq"] == str(2**53)


@pytest.mark.parametrize("key, name", [(RUN, "running"), (HISTORY, "outcomes"), (META, "seq")])
def test_numbers_of_keys_of_another_type(store, key, name):
    store.db.set(key, "by hand")
    assert int(stats(store)[name]) == 0


def test_memory_is_that_of_redis(store):
    before = int(stats(store)["memory"])
    store.submit("1", text="x" * 4_000_000)
    assert 3_000_000 < int(stats(store)["memory"]) - before < 40_000_000


def test_looking_changes_nothing(store):
    store.submit("1", text=message(plan_state=1))
    store.submit("2", score=1e10)
    store.commit("1", store.run("1"), "doubt", 60, tell="failure", record="r", wait=True)
    store.stations("new", "api@tcp://x")
    before = store.dump()
    store.stats()
    store.stations()
    store.history()
    store.list(state="1")
    assert store.dump() == before
    assert store.db.zscore(TIME_SET, member("2")) == 1e10 and entry("1") in before["plan:ids"]


# The stations.

def test_no_stations(store):
    assert store.stations() == {} and store.dump() == {}
    assert store.stations("x") == {} and store.dump() == {META: {"stations": "1"}}


def test_stations_come_and_go(store):
    assert store.stations("a", "one") == {"a": "one"}
    assert store.stations("b", "two") == {"a": "one", "b": "two"} == store.stations()
    assert store.stations("a", "three") == {"a": "three", "b": "two"}
    assert store.stations("c") == {"a": "three", "b": "two"}
    assert store.stations("a") == {"b": "two"}
    assert store.db.hgetall(STATIONS) == {"b": "two"}
    # By the number of changes the other stations know that there is something to read.
    assert store.stations("b") == {} and store.dump() == {META: {"stations": "6"}}


@pytest.mark.parametrize("again", [("a", "one"), ("b",)])
def test_change_of_stations_asked_again_is_the_same(store, again):
    store.stations("b", "two")
    first = store.stations(*again)
    assert store.stations(*again) == first


@pytest.mark.parametrize("name, text", [("Z_9.-", ""), ("s" * 64, "x" * 10_000),
                                        ("\xff \0", "\0\xff"), ("", "")])
def test_names_and_texts_are_kept_byte_for_byte(store, name, text):
    assert store.stations(name, text) == {name: text} == store.stations()
    assert store.stations(name) == {}


def test_many_stations(store):
    texts = {f"s{i}": f"t{i}" for i in range(1000)}
    store.db.hset(STATIONS, mapping=texts)
    assert store.stations() == texts


@pytest.mark.parametrize("args, left", [((), {}), (("a",), {}), (("a", "one"), {"a": "one"})])
def test_stations_of_another_type_are_replaced(store, args, left):
    store.db.set(STATIONS, "by hand")
    assert store.stations(*args) == left
