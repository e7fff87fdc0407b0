"""commit: what became of a run is written once, and only for the run in hand."""
import pytest
import redis

from storescripts import (IDS, META, RUN, T0, TIME_SET, TOLD, WORK, entry, held_as, member,
                          score_after, wait_key, work_key)

SECOND = 1_000_000
MODES = ["lease", "retry", "doubt", "next", "park", "end"]
KEPT = ["lease", "doubt"]            # the run stays in hand
EPOCH = f"{T0 // SECOND:x}{T0 % SECOND:05x}"


@pytest.fixture
def exec_id(store):
    """The run of plan 1f, at a fixed clock."""
    store.freeze(T0)
    store.submit("1f", text="old")
    return store.run("1f")


# What each mode leaves.

def left_score(mode):
    """The score after a commit with when = 7.5."""
    if mode in ("lease", "retry", "doubt"):
        return {TIME_SET: {member("1f"): score_after(T0, 7.5)}}
    return {TIME_SET: {member("1f"): 7.5}} if mode == "next" else {}


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("work", [{}, WORK])
@pytest.mark.parametrize("text", ["", "new"])
@pytest.mark.parametrize("mode", MODES[:-1])
def test_whole_state_after_a_commit(store, exec_id, mode, text, work, wait):
    answer = store.commit("1f", exec_id, mode, 7.5, text=text, work=work, wait=wait)
    assert answer == [1, 0, "", str(T0), []]
    expected = {member("1f"): text or "old", IDS: {entry("1f"): 0}, META: {"exec": exec_id}}
    expected.update(left_score(mode))
    if mode in KEPT:
        expected[RUN] = {member("1f"): held_as(exec_id + "?" * (mode == "doubt"))}
    if work:
        expected[work_key("1f")] = work
    if wait:
        expected[wait_key()] = {member("1f")}
    assert store.dump() == expected


@pytest.mark.parametrize("text", ["", "new"])
@pytest.mark.parametrize("tell", ["none", "result"])
def test_end_deletes_every_key_of_the_plan(store, exec_id, tell, text):
    store.commit("1f", exec_id, "doubt", 0, work=WORK, tell="failure", wait=True)
    store.submit("1", text="bystander", score=1e10)
    answer = store.commit("1f", exec_id, "end", text=text, work={"jobs": "[1]"}, tell=tell)
    assert answer[:2] == [1, 2 if tell == "result" else 0]
    state = store.dump()
    state.pop(META)
    assert state == {member("1"): "bystander", IDS: {entry("1"): 0}, TIME_SET: {member("1"): 1e10}}


def test_bystanders_keep_all_they_have(store, exec_id):
    for ident in ("1", "1f0"):
        store.submit(ident)
    for plan in store.claim().plans:
        ident = plan.member.rpartition(":")[2]
        store.commit(ident, plan.exec_id, "doubt", 9, work=WORK, tell="failure", wait=True)
    before = store.dump()
    store.commit("1f", exec_id, "end")
    after = store.dump()
    for key in (TIME_SET, RUN, TOLD, IDS, wait_key()):
        assert {name for name in after[key]} == {name for name in before[key]
                                                 if name not in (member("1f"), entry("1f"))}
    assert after[work_key("1")] == {"jobs": "[]"} and after[member("1f0")] == "{}"


def test_work_has_a_field_per_participant(store, exec_id):
    for participant, work in (("a", "[1]"), ("b", "[2]"), ("a", "[3]")):
        store.commit("1f", exec_id, "lease", 9, work={participant: work})
    store.commit("1f", exec_id, "next", 5, work={"b": "[4]", "c": "[5]"})
    assert store.db.hgetall(work_key("1f")) == {"a": "[3]", "b": "[4]", "c": "[5]"}


@pytest.mark.parametrize("score", ["0", "1700000000", "253402300799", "1700000000.5"])
def test_score_of_next_is_taken_as_it_is(store, exec_id, score):
    store.commit("1f", exec_id, "next", score)
    assert store.db.zscore(TIME_SET, member("1f")) == float(score)


@pytest.mark.parametrize("mode", ["lease", "retry", "doubt", "next"])
def test_member_taken_out_by_hand_during_the_run_is_queued_again(store, exec_id, mode):
    store.db.zrem(TIME_SET, member("1f"))
    store.commit("1f", exec_id, mode, 7.5)
    assert store.db.zrange(TIME_SET, 0, -1) == [member("1f")]


@pytest.mark.parametrize("mode", MODES)
def test_commit_without_waiting_ends_the_waiting(store, exec_id, mode):
    store.wait("1f", "2")
    store.commit("1f", exec_id, mode, 7.5)
    assert store.waiting() == {member("2")}


def test_retry_is_due_after_its_delay(store, exec_id):
    store.commit("1f", exec_id, "retry", 1.5)
    store.freeze(T0 + 1_500_000 - 1)
    assert store.claim().plans == []
    store.freeze(T0 + 1_500_000)
    assert store.claim().plans[0].again == 0


def test_clock_of_the_answer_is_that_of_redis(store):
    store.submit("1")
    exec_id = store.run("1")
    before = store.redis_us()
    now_us = int(store.commit("1", exec_id, "retry", 10)[3])
    assert before <= now_us <= store.redis_us()
    assert store.db.zscore(TIME_SET, member("1")) == score_after(now_us, 10)


def test_run_that_follows_a_run_commits_as_well(store, exec_id):
    store.db.zadd(TIME_SET, {member("1f"): 1})
    (plan,) = store.claim().plans
    assert store.db.hget(RUN, member("1f")) == held_as(plan.exec_id + "+")
    assert store.commit("1f", plan.exec_id, "lease", 9)[0] == 1
    assert store.db.hget(RUN, member("1f")) == held_as(plan.exec_id + "+")
    assert store.commit("1f", exec_id, "end") == [0]
    assert store.commit("1f", plan.exec_id, "end")[0] == 1


def test_big_ids_and_bytes_survive(store):
    ident, text = "7fffffffffffffff", '{"id":9223372036854775807}\xfe\0'
    store.submit(ident)
    exec_id = store.run(ident)
    store.commit(ident, exec_id, "park", text=text, work={"voter 1": text})
    assert store.load(ident) == [member(ident), text, "", []]
    assert store.db.hgetall(work_key(ident)) == {"voter 1": text}


# Commits that are refused.

def refused(store, exec_id, mode, **more):
    before = store.dump()
    answer = store.commit("1f", exec_id, mode, 7.5, text="new", work=WORK, tell="result",
                          **{"wait": True, **more})
    return answer == [0] and store.dump() == before


@pytest.mark.parametrize("mode", MODES)
def test_commit_of_another_run_changes_nothing(store, exec_id, mode):
    store.db.zadd(TIME_SET, {member("1f"): 1})
    current = store.run("1f")
    for stale in (exec_id, str(int(current) + 1), current[:-1], current + "0", current + "+", "",
                  "0", "%d+", "-" + current, current + ".0", current + "e0"):
        assert refused(store, stale, mode), stale
    assert store.commit("1f", current, mode, 7.5)[0] == 1


@pytest.mark.parametrize("mode", MODES)
def test_commit_without_a_run_in_hand_changes_nothing(store, exec_id, mode):
    store.commit("1f", exec_id, "retry", 60)
    assert refused(store, exec_id, mode) and refused(store, "", mode)


@pytest.mark.parametrize("mode", MODES)
def test_commit_for_a_plan_of_another_station_changes_nothing(store, exec_id, mode):
    store.submit("2", "other")
    assert refused(store, exec_id, mode, station="other")


@pytest.mark.parametrize("mode", MODES)
def test_commit_in_an_empty_store_changes_nothing(store, mode):
    assert refused(store, "17", mode) and store.dump() == {}


@pytest.mark.parametrize("text", ["", "new"])
@pytest.mark.parametrize("mode", MODES)
def test_message_deleted_by_hand_does_not_come_back(store, exec_id, mode, text):
    store.db.delete(member("1f"))
    assert store.commit("1f", exec_id, mode, 7.5, text=text, work=WORK, tell="failure",
                        wait=True) == [0]
    assert store.dump() == {IDS: {entry("1f"): 0}, META: {"exec": exec_id}}
    assert store.sweep().repaired == 1
    assert store.dump() == {META: {"exec": exec_id}}


def test_nothing_of_a_message_deleted_by_hand_stays_for_ever(store, exec_id):
    """What earlier commits of the plan wrote beside it has no owner left."""
    store.commit("1f", exec_id, "doubt", 5, work=WORK, tell="failure", wait=True)
    store.db.delete(member("1f"))
    assert store.commit("1f", exec_id, "next", 7.5) == [0]
    store.sweep()
    assert set(store.dump()) == {META}


@pytest.mark.parametrize("broken", ["work", "wait", "told", "seq"])
def test_error_half_way_leaves_nothing_half_written(store, exec_id, broken):
    """A key spoilt by hand: the commit is refused whole, or goes through whole."""
    if broken in ("work", "wait"):
        store.db.set(work_key("1f") if broken == "work" else wait_key(), "by hand")
    else:
        store.db.hset(TOLD if broken == "told" else META,
                      member("1f") if broken == "told" else "seq", "by hand")
    before = store.dump()
    try:
        store.commit("1f", exec_id, "next", 7.5, text="new", work=WORK, tell="failure")
    except redis.ResponseError:
        assert store.dump() == before
    else:
        assert store.db.get(member("1f")) == "new"
        assert store.db.zscore(TIME_SET, member("1f")) == 7.5
        assert store.db.hexists(RUN, member("1f")) == 0


# Broadcasts.

def meta(store):
    fields = store.db.hgetall(META)
    return fields.get("seq"), fields.get("epoch")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tell, seq", [("none", 0), ("result", 1), ("failure", 1)])
def test_seq_grows_by_one_with_a_broadcast_only(store, exec_id, mode, tell, seq):
    answer = store.commit("1f", exec_id, mode, 7.5, tell=tell)
    assert answer == [1, seq, EPOCH if seq else "", str(T0), []]
    assert meta(store) == (("1", EPOCH) if seq else (None, None))


def test_seq_is_one_series_for_all_plans(store):
    for ident in "123":
        store.submit(ident)
    plans = store.claim().plans
    answers = [store.commit(plan.member[-1], plan.exec_id, "retry", 9, tell="result")
               for plan in plans]
    assert [answer[1] for answer in answers] == [1, 2, 3]
    assert len({answer[2] for answer in answers}) == 1
    assert store.commit("1", "0", "end", tell="result") == [0] and meta(store)[0] == "3"


def test_epoch_holds_no_ambiguous_time(store, exec_id):
    """The microseconds are padded: two epochs cannot read the same."""
    store.freeze(T0 // SECOND * SECOND + 5)
    assert store.commit("1f", exec_id, "doubt", 9, tell="result")[2] == f"{T0 // SECOND:x}00005"


@pytest.mark.parametrize("lost, seq", [(["seq", "epoch"], 1), (["seq"], 1), (["epoch"], 5)])
def test_epoch_is_new_when_the_series_cannot_go_on(store, exec_id, lost, seq):
    for _ in range(4):
        assert store.commit("1f", exec_id, "doubt", 9, tell="result")[2] == EPOCH
    store.db.hdel(META, *lost)
    store.freeze(T0 + 1)
    answer = store.commit("1f", exec_id, "doubt", 9, tell="result")
    assert answer[1] == seq and answer[2] == f"{T0 // SECOND:x}{T0 % SECOND + 1:05x}"
    store.freeze(T0 + 2)
    assert store.commit("1f", exec_id, "doubt", 9, tell="result")[1:3] == [seq + 1, answer[2]]


def test_failures_are_told_once_a_minute(store, exec_id):
    told = []
    for after_s in (0, 1, 59.99, 60, 61, 119.99, 120, 1000):
        store.freeze(T0 + round(after_s * SECOND))
        answer = store.commit("1f", exec_id, "doubt", 9, tell="failure")
        assert (answer[1] == 0) == (answer[2] == "")
        if answer[1]:
            told.append((after_s, answer[1]))
            assert float(store.db.hget(TOLD, member("1f"))) == T0 / SECOND + after_s
    assert told == [(0, 1), (60, 2), (120, 3), (1000, 4)]


def test_failure_is_told_when_the_clock_was_set_back(store, exec_id):
    store.commit("1f", exec_id, "doubt", 9, tell="failure")
    for back_s, seq in ((30, 0), (3600, 2)):
        store.freeze(T0 - back_s * SECOND)
        assert store.commit("1f", exec_id, "doubt", 9, tell="failure")[1] == seq


def test_minute_of_the_failures_is_each_plans_own(store, exec_id):
    store.submit("1", "other")
    other = store.run("1", "other")
    assert store.commit("1f", exec_id, "doubt", 9, tell="failure")[1] == 1
    assert store.commit("1", other, "doubt", 9, tell="failure", station="other")[1] == 2
    assert store.db.hlen(TOLD) == 2


def test_results_are_told_always_and_leave_the_minute_alone(store, exec_id):
    store.commit("1f", exec_id, "doubt", 9, tell="failure")
    store.freeze(T0 + SECOND)
    before = store.db.hgetall(TOLD)
    assert store.commit("1f", exec_id, "doubt", 9, tell="result")[1] == 2
    assert store.commit("1f", exec_id, "doubt", 9, tell="failure")[1] == 0
    assert store.db.hgetall(TOLD) == before


def test_minute_outlives_the_run_and_its_failure(store, exec_id):
    store.commit("1f", exec_id, "retry", 1, tell="failure")
    store.freeze(T0 + 2 * SECOND)
    assert store.commit("1f", store.run("1f"), "retry", 1, tell="failure")[1] == 0
    store.freeze(T0 + 61 * SECOND)
    assert store.commit("1f", store.run("1f"), "retry", 1, tell="failure")[1] == 2
