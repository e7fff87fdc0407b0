"""commit: a plan that an outcome calls is placed in the same step, once."""
import pytest

from storescripts import (COUNT, HISTORY, IDS, RUN, T0, TIME_SET, WORK, called_plan, caller_field,
                          entry, member, message, work_key)

TEXT = message(caller="ann", revision=1)


@pytest.fixture
def exec_id(store):
    """The run of plan 1f, at a fixed clock."""
    store.freeze(T0)
    store.submit("1f", text="old")
    return store.run("1f")


def counts(store):
    return {field: int(number) for field, number in store.db.hgetall(COUNT).items()}


@pytest.mark.parametrize("mode", ["next", "park"])
@pytest.mark.parametrize("work", [{}, WORK])
def test_it_stands_beside_the_outcome(store, exec_id, mode, work):
    answer = store.commit("1f", exec_id, mode, 7.5, text="new", work=work, tell="result",
                          record="r", called=called_plan("2", TEXT, of_class="1:x"))
    assert answer[:2] == [1, 1]
    state = store.dump()
    assert (state[member("1f")], state[member("2")]) == ("new", TEXT)
    assert state[IDS] == {entry("1f"): 0, entry("2"): 0}
    assert state[TIME_SET] == {**({member("1f"): 7.5} if mode == "next" else {}), member("2"): 9}
    assert state["plan:class"] == {member("2"): "1:x"} and RUN not in state
    assert state.get(work_key("1f"), {}) == work and work_key("2") not in state
    assert counts(store)["s:jobs"] == 2 and counts(store)[caller_field(TEXT)] == 1


def test_asked_again_it_is_placed_once(store, exec_id):
    args = store.commit_args("1f", exec_id, "park", tell="result", called=called_plan("2", TEXT))
    first = store.commit_all([args], number=5)
    state = store.dump()
    assert store.commit_all([args], number=5)[1:] == first[1:]
    assert store.dump() == state
    assert store.commit("1f", exec_id, "park", called=called_plan("3", TEXT)) == [0]
    assert member("3") not in store.dump()


def test_of_another_run_nothing_is_placed(store, exec_id):
    assert store.commit("1f", int(exec_id) + 1, "park", called=called_plan("2", TEXT)) == [0]
    assert member("2") not in store.dump()


def test_what_stands_under_its_id_stays(store, exec_id):
    store.submit("2", text="kept", score=3)
    before = counts(store)
    assert store.commit("1f", exec_id, "park", tell="result",
                        called=called_plan("2", TEXT))[:2] == [1, 1]
    assert store.dump()[member("2")] == "kept" and counts(store) == before


@pytest.mark.parametrize("bounds, bound", [
    ((1, 0, 0), "max_plans"), ((0, 1, 0), "max_plans_station"), ((0, 0, 1), "max_plans_caller")])
def test_where_there_is_no_room_the_outcome_is_written(store, exec_id, bounds, bound):
    if bound == "max_plans_caller":
        store.submit("3", text=TEXT, station="other")
    args = store.commit_args("1f", exec_id, "park", text="new", tell="result", record="r",
                             called=called_plan("2", TEXT, bounds=bounds, record="full"))
    assert store.commit_all([args])[2] == [1, [], bound]
    state = store.dump()
    assert state[member("1f")] == "new" and member("2") not in state
    assert [fields["r"] for _, fields in store.db.xrange(HISTORY)] == ["r", "full"]


def test_of_several_runs_each_calls(store):
    store.freeze(T0)
    runs = []
    for ident in ("1", "2"):
        store.submit(ident, text="old")
        runs.append(store.commit_args(ident, store.run(ident), "park", tell="result",
                                      called=called_plan("a" + ident, TEXT)))
    assert store.commit_all(runs)[2:] == [1, 2]
    assert set(store.dump()[IDS]) == {entry(ident) for ident in ("1", "2", "a1", "a2")}
