"""Redis has no memory left: nothing new is taken, and what was taken is brought to its end."""
import pytest
import redis

from storescripts import META, RUN, TIME_SET, WORK, entry, held_as, member, work_key

MODES = ["lease", "retry", "doubt", "next", "park", "end"]


@pytest.fixture
def full(store):
    """A store with a due plan, a plan that waits, and a run in hand; then the memory is full."""
    store.submit("3")
    exec_id = store.run("3")
    store.submit("1", text="due")
    store.submit("2", score=1e10)
    store.wait("2")
    store.db.config_set("maxmemory", 1)
    with pytest.raises(redis.ResponseError, match="OOM|command not allowed"):
        store.db.set("anything", "else")
    yield exec_id
    store.db.config_set("maxmemory", 0)


def test_submit_is_refused_and_changes_nothing(store, full):
    before = store.dump()
    for ident in ("4", "1"):
        with pytest.raises(redis.ResponseError, match="OOM|command not allowed"):
            store.submit(ident, text="new")
    assert store.dump() == before
    store.db.config_set("maxmemory", 0)
    assert store.submit("4") == [1]


def test_claim_works(store, full):
    (plan,) = store.claim().plans
    assert plan.member == member("1") and store.db.hget(RUN, member("1")) == held_as(plan.exec_id)
    assert store.commit("1", plan.exec_id, "end", tell="result")[:2] == [1, 1]


@pytest.mark.parametrize("mode", MODES)
def test_commit_works(store, full, mode):
    answer = store.commit("3", full, mode, 7.5, text="new" * 1000, work=WORK, tell="result",
                          wait=mode == "retry", record="r" * 1000)
    assert answer[:2] == [1, 1] and store.db.hget(META, "seq") == "1"
    assert store.history().outcomes[0].record == "r" * 1000
    assert store.db.get(member("3")) == (None if mode == "end" else "new" * 1000)
    assert store.db.hget(work_key("3"), "jobs") == (None if mode == "end" else "[]")


def test_claim_tells_of_a_lost_run(store, full):
    store.commit("3", full, "lease", 0)
    assert len(store.claim().plans) == 2 and len(store.history().outcomes) == 1


def test_change_works(store, full):
    assert store.change("3", 0, "new" * 1000, "out", run=full) == 1
    assert store.change("2", 0, "new", "now") == 1
    assert len(store.claim().plans) == 2
    assert store.commit("3", full, "end", revision="0")[0] == 1


def test_stations_work(store, full):
    assert store.stations("a", "text") == {"a": "text"} and store.stations("a") == {}


def test_remove_works(store, full):
    assert store.remove("3") == "jobs"
    assert member("3") not in store.db.zrange(TIME_SET, 0, -1)
    assert store.commit("3", full, "lease", 9, text="new", tell="result") == [0]
    assert store.db.exists(member("3")) == 0


def test_looking_and_waking_work(store, full):
    assert store.load("1")[1] == "due" and len(store.list()) == 3
    assert store.history().outcomes == [] and store.stats()[0] == 3
    assert store.wake() == 1
    assert {plan.member for plan in store.claim().plans} == {member("1"), member("2")}
    store.db.delete(member("1"))
    assert store.sweep() == ("", 1, [])
    assert store.db.zscore("plan:ids", entry("1")) is None
