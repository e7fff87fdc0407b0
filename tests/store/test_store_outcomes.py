"""The history: what became of each run is kept in the step in which it is decided."""
import pytest

from storescripts import (HISTORY, IDS, META, RUN, T0, TIME_SET, TOLD, member, message, unpacked,
                          wait_key, work_key)

SECOND = 1_000_000
MODES = ["lease", "retry", "doubt", "next", "park", "end"]
MS = str(T0 // 1000)
NODE = 100  # entries that Redis cuts off at a time (stream-node-max-entries)


@pytest.fixture
def exec_id(store):
    """The run of plan 1f, at a fixed clock."""
    store.freeze(T0)
    store.submit("1f")
    return store.run("1f")


def kept(store):
    return store.db.xrange(HISTORY)


def entries(store):
    return [name for name, _ in kept(store)]


def fields(record, ident="1f", station="jobs", ms=MS):
    return {"p": ident, "s": station, "t": ms, "r": record}


def tell(store, exec_id, *broadcasts, **more):
    """Commits of a run that goes on, each with a record of its number; their seqs."""
    return [store.commit("1f", exec_id, "doubt", 9, tell=how, record=f"r{i}", **more)[1]
            for i, how in enumerate(broadcasts)]


# Written by a commit.

@pytest.mark.parametrize("how", ["result", "failure"])
@pytest.mark.parametrize("mode", MODES)
def test_outcome_has_the_number_of_its_broadcast(store, exec_id, mode, how):
    assert store.commit("1f", exec_id, mode, 7.5, tell=how, record="record")[1] == 1
    assert kept(store) == [("1-0", fields("record"))]


@pytest.mark.parametrize("mode", MODES)
def test_outcome_that_is_not_broadcast_stands_behind_the_last_one_that_is(store, exec_id, mode):
    store.submit("1")
    other = store.run("1")
    store.commit("1", other, "doubt", 9, tell="result", record="told")
    assert store.commit("1f", exec_id, mode, 7.5, record="record")[1] == 0
    assert kept(store) == [("1-0", fields("told", "1")), ("1-1", fields("record"))]


def test_order_of_the_entries_is_that_of_the_commits(store, exec_id):
    assert tell(store, exec_id, "none", "none", "result", "none", "none", "none", "result",
                "result", "none") == [0, 0, 1, 0, 0, 0, 2, 3, 0]
    assert entries(store) == ["0-1", "0-2", "1-0", "1-1", "1-2", "1-3", "2-0", "3-0", "3-1"]
    assert [row["r"] for _, row in kept(store)] == [f"r{i}" for i in range(9)]


def test_failure_that_is_not_told_again_is_kept_all_the_same(store, exec_id):
    assert tell(store, exec_id, "failure", "failure", "failure") == [1, 0, 0]
    store.freeze(T0 + 60 * SECOND)
    assert tell(store, exec_id, "failure") == [2]
    assert entries(store) == ["1-0", "1-1", "1-2", "2-0"]


def test_commit_without_a_record_writes_none(store, exec_id):
    assert store.commit("1f", exec_id, "doubt", 9, tell="result")[1] == 1
    assert store.commit("1f", exec_id, "doubt", 9)[1] == 0
    assert store.db.exists(HISTORY) == 0
    assert store.commit("1f", exec_id, "doubt", 9, tell="result", record="r")[1] == 2
    assert entries(store) == ["2-0"]


def test_history_outlives_its_plan(store, exec_id):
    tell(store, exec_id, "none")
    store.commit("1f", exec_id, "end", tell="result", record="end")
    store.submit("1f", "other")
    store.remove("1f")
    assert set(store.dump()) == {HISTORY, META} and entries(store) == ["0-1", "1-0"]


@pytest.mark.parametrize("ident, station", [("1", "jobs"), ("1f0", "a.b-c_D9"),
                                            ("7fffffffffffffff", "s" * 64)])
def test_outcome_names_its_plan_as_its_key_does(store, ident, station):
    store.freeze(T0 + 749_999)
    store.submit(ident, station)
    exec_id = store.run(ident, station)
    store.commit(ident, exec_id, "end", station=station, tell="result", record="r")
    assert kept(store) == [("1-0", fields("r", ident, station, str(T0 // 1000 + 749)))]


@pytest.mark.parametrize("record", ["r", "\0\xff\r\n", "x" * 100_000])
def test_record_is_kept_byte_for_byte(store, exec_id, record):
    store.commit("1f", exec_id, "end", tell="result", record=record)
    assert kept(store) == [("1-0", fields(record))]


@pytest.mark.parametrize("mode", MODES)
def test_refused_commit_writes_no_outcome(store, exec_id, mode):
    assert store.commit("1f", "17", mode, 9, tell="result", record="r") == [0]
    assert store.commit("1f", exec_id, mode, 9, tell="result", record="r", revision="5")[0] == 2
    assert store.commit("1", exec_id, mode, 9, record="r") == [0]
    store.db.delete(member("1f"))
    assert store.commit("1f", exec_id, mode, 9, tell="result", record="r") == [0]
    assert store.db.exists(HISTORY) == 0


# How many are kept.

@pytest.mark.parametrize("keep", [1, 10, 150, 600])
def test_oldest_outcomes_go_when_there_are_too_many(store, exec_id, keep):
    """Redis cuts off whole nodes: up to one more than asked for stays."""
    for _ in range(500):
        tell(store, exec_id, "result", keep=keep)
    names = entries(store)
    assert names == [f"{seq}-0" for seq in range(501 - len(names), 501)]
    assert min(keep, 500) <= len(names) <= keep + NODE


def test_bound_that_was_lowered_holds_from_the_next_outcome_on(store, exec_id):
    for _ in range(500):
        tell(store, exec_id, "result")
    assert store.db.xlen(HISTORY) == 500
    tell(store, exec_id, "result", keep=10)
    assert store.db.xlen(HISTORY) <= 10 + NODE and entries(store)[-1] == "501-0"


def test_bound_of_zero_keeps_none(store, exec_id):
    assert tell(store, exec_id, "result", "none", keep=0) == [1, 0]
    store.db.hset(RUN, member("1f"), exec_id)
    store.db.zadd(TIME_SET, {member("1f"): 1})
    assert store.claim(keep=0).plans[0].again == 2
    assert store.db.exists(HISTORY) == 0


def test_bound_of_zero_leaves_what_there_is(store, exec_id):
    tell(store, exec_id, "result")
    tell(store, exec_id, "result", keep=0)
    assert entries(store) == ["1-0"]


# A history that cannot go on.

def spoil(store, kind):
    store.db.delete(HISTORY)
    if kind == "string":
        store.db.set(HISTORY, "by hand")
    elif kind == "hash":
        store.db.hset(HISTORY, "a", "b")
    elif kind == "higher":
        store.db.xadd(HISTORY, {"a": "b"}, id="900-0")


SPOILT = ["none", "string", "hash", "higher"]


@pytest.mark.parametrize("kind", SPOILT)
def test_history_that_cannot_go_on_is_replaced(store, exec_id, kind):
    tell(store, exec_id, "result", "none")
    spoil(store, kind)
    assert tell(store, exec_id, "result", "none") == [2, 0]
    assert entries(store) == ["2-0", "2-1"]


@pytest.mark.parametrize("kind", SPOILT)
def test_outcome_that_is_not_broadcast_never_gets_the_entry_of_a_broadcast(store, exec_id, kind):
    """SEQ-0 would be read as the outcome that was broadcast as SEQ, and hide that it is missing."""
    tell(store, exec_id, "result")
    spoil(store, kind)
    assert tell(store, exec_id, "none", "none") == [0, 0]
    assert entries(store) == ["1-1", "1-2"]


@pytest.mark.parametrize("kind", SPOILT)
def test_lost_run_never_gets_the_entry_of_a_broadcast(store, exec_id, kind):
    tell(store, exec_id, "result")
    store.db.zadd(TIME_SET, {member("1f"): 1})
    store.db.hset(RUN, member("1f"), exec_id)
    spoil(store, kind)
    assert store.claim().plans[0].again == 2
    assert entries(store) == ["1-1"]


@pytest.mark.parametrize("kind", ["string", "hash"])
def test_history_of_another_type_is_no_broadcast_number(store, exec_id, kind):
    spoil(store, kind)
    assert tell(store, exec_id, "none", "result") == [0, 1]
    assert entries(store) == ["0-1", "1-0"]


@pytest.mark.parametrize("last, seq", [("7-0", 8), ("7-3", 8), ("0-4", 1), ("900000000000-1",
                                                                           900000000001)])
def test_numbers_go_on_behind_the_history_when_meta_is_lost(store, exec_id, last, seq):
    store.db.delete(META)
    store.db.xadd(HISTORY, fields("old"), id=last)
    store.freeze(T0 + 5)
    answer = store.commit("1f", exec_id, "doubt", 9, tell="result", record="new")
    assert answer[1:3] == [seq, f"{T0 // SECOND:x}{T0 % SECOND + 5:05x}"]
    assert entries(store) == [last, f"{seq}-0"]
    assert store.db.hgetall(META) == {"seq": str(seq), "epoch": answer[2]}


def test_outcome_without_broadcast_goes_on_behind_the_history_as_well(store, exec_id):
    store.db.delete(META)
    store.db.xadd(HISTORY, fields("old"), id="7-3")
    tell(store, exec_id, "none")
    assert entries(store) == ["7-3", "7-4"] and store.db.exists(META) == 0


def test_epoch_goes_on_with_the_numbers(store, exec_id):
    """Nothing was lost but the history: the series goes on."""
    first = store.commit("1f", exec_id, "doubt", 9, tell="result", record="r")
    store.db.delete(HISTORY)
    store.freeze(T0 + 5)
    second = store.commit("1f", exec_id, "doubt", 9, tell="result", record="r")
    assert second[1:3] == [2, first[2]] and entries(store) == ["2-0"]


# Runs whose lease ended without a result.

def lose(store, ident="1f", seconds=300):
    """Let the lease of every run end; the claim that finds it."""
    store.freeze(T0 + seconds * SECOND)
    return store.claim()


def lost_record(exec_id, title="", nominal=0, station="jobs"):
    return {"title": title, "nominal": nominal, "status": 0x86, "state": 2,
            "exec_id": int(exec_id), "worker": station, "size": 0,
            "reason": "no result within the lease"}


def test_lost_run_is_kept_by_the_claim_that_finds_it(store):
    store.freeze(T0)
    store.submit("1f", "a.b", text=message(description="Title", plan_time=1700000000, exec_id=0))
    exec_id = store.run("1f", "a.b")
    assert store.db.exists(HISTORY) == 0
    (plan,) = lose(store).plans
    ((name, row),) = kept(store)
    assert name == "0-1" and plan.again == 2
    assert {**row, "r": unpacked(row["r"])} == fields(
        lost_record(exec_id, "Title", 1700000000, "a.b"), "1f", "a.b", str(T0 // 1000 + 300_000))


def test_each_lost_run_is_kept_once(store, exec_id):
    runs = [exec_id]
    for turn in (1, 2, 3):
        number = store.next_number()
        store.freeze(T0 + turn * 300 * SECOND)
        for _ in range(2):  # the second time its answer was lost
            (plan,) = store.claim(number=number).plans
        runs.append(plan.exec_id)
    assert entries(store) == ["0-1", "0-2", "0-3"]
    assert [unpacked(row["r"]) for _, row in kept(store)] == [lost_record(run) for run in runs[:3]]


def test_all_lost_runs_of_a_claim_are_kept(store):
    store.freeze(T0)
    for i in range(1, 257):
        store.submit(f"{i:x}")
    runs = {plan.member: plan.exec_id for plan in store.claim(limit=256).plans}
    store.freeze(T0 + 300 * SECOND)
    store.claim(limit=256)
    assert len(runs) == 256 == store.db.xlen(HISTORY)
    assert {member(row["p"]): str(unpacked(row["r"])["exec_id"]) for _, row in kept(store)} == runs


def test_lost_run_stands_behind_the_last_broadcast(store, exec_id):
    assert tell(store, exec_id, "result") == [1]
    store.db.hset(RUN, member("1f"), exec_id)
    lose(store)
    assert entries(store) == ["1-0", "1-1"]


def test_result_after_a_lost_run_goes_on_with_the_numbers(store, exec_id):
    (plan,) = lose(store).plans
    store.commit("1f", plan.exec_id, "end", tell="result", record="good")
    assert entries(store) == ["0-1", "1-0"]


@pytest.mark.parametrize("held, kept_run", [
    (None, None),       # none was in hand
    ("17?", None),      # it was given up, and that is in the history already
    ("17+?", None),
    ("+", None),        # an earlier one may still answer; it was kept when it was lost
    ("17", 17),
    ("17+", 17),
])
def test_only_a_run_that_was_still_waited_for_is_lost(store, held, kept_run):
    store.freeze(T0)
    store.submit("1f")
    if held:
        store.db.hset(RUN, member("1f"), held)
    store.claim()
    lost = [unpacked(row["r"])["exec_id"] for _, row in kept(store)]
    assert lost == ([kept_run] if kept_run else [])


@pytest.mark.parametrize("mode, lost", [("retry", 0), ("next", 0), ("doubt", 0), ("lease", 1)])
def test_run_that_ended_is_not_lost(store, exec_id, mode, lost):
    store.commit("1f", exec_id, mode, 0)
    assert len(store.claim().plans) == 1
    assert store.db.xlen(HISTORY) == lost


@pytest.mark.parametrize("kind", ["none", "hash"])
def test_plan_without_a_sound_message_has_no_lost_run(store, exec_id, kind):
    store.db.delete(member("1f"))
    if kind == "hash":
        store.db.hset(member("1f"), "a", "b")
    assert lose(store).broken == [member("1f")]
    assert store.db.exists(HISTORY) == 0


@pytest.mark.parametrize("text, title, nominal", [
    (message(description="", plan_time=0), "", 0),
    (message(description='"quoted" \\ \u00e9\u4e2d', plan_time=5), '"quoted" \\ \u00e9\u4e2d', 5),
    ('{"plan_time" : \n 253402300799,"description":"x"}', "x", 253402300799),
    # What is inside of strings is a client's.
    (message(description='"plan_time":7,', caller='"plan_time":8', plan_time=9),
     '"plan_time":7,', 9),
    (message(a="plan_time", my_plan_time=1, plan_time=2), "", 2),
    (message(messages=["*1f", '{"description":"no","plan_time":4}'], plan_time=6), "", 6),
    (message(plan_id=0x7fffffffffffffff, description="big", plan_time=6), "big", 6),
    # By hand.
    ("", "", 0), ("not JSON", "", 0), ("null", "", 0), ("[1]", "", 0), ("5", "", 0),
    ("[" * 5000, "", 0), ('{"description":{"a":1},"plan_time":null}', "", 0),
    ('{"description":7,"plan_time":"5"}', "", 0), ('{"description":"cut', "", 0),
])
def test_lost_run_is_told_from_the_message(store, text, title, nominal):
    store.freeze(T0)
    store.submit("1f", text=text.encode().decode("latin-1"))
    exec_id = store.run("1f")
    lose(store)
    ((_, row),) = kept(store)
    assert unpacked(row["r"]) == lost_record(exec_id, title, nominal)


def test_lost_run_changes_nothing_else(store, exec_id):
    tell(store, exec_id, "failure")
    store.commit("1f", exec_id, "lease", 0, work={"w": "[]"})
    before = store.dump()
    (plan,) = store.claim().plans
    after = store.dump()
    assert after.pop(HISTORY)[:-1] == before.pop(HISTORY)
    for key in (IDS, TOLD, work_key("1f"), member("1f")):
        assert after[key] == before[key]
    assert after[META] == {**before[META], "exec": plan.exec_id}
    assert wait_key() not in after
