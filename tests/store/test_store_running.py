"""What plan:run tells of a run in hand: that its message says so when it is read, though a claim of many
plans did not write it, and the revision that a commit is compared with."""
import json

import pytest

from storescripts import (IDS, META, RUN, T0, TIME_SET, WORK, entry, held_as, member, message,
                          work_key)

SECOND = 1_000_000
FEW = 32  # plans of a claim whose messages are written
MODES = ["lease", "retry", "doubt", "next", "park", "end"]
BYTES_MAX = 4194304
HEAD = '{"exec_id":%-16s,"exec_time":%-10s,"plan_state":%s,'
TAIL = '"plan_id":9223372036854775807,"revision":5,"title":"\\"exec_id\\":1"}'
TEXTS = [HEAD % (0, 0, 1) + TAIL, HEAD % (17, 18, 4) + TAIL,
         '{"plan_state":1,"exec_time" : 0,"exec_id": 0,' + TAIL,
         '{"exec_id":0,"exec_time":0,"plan_state":1,' + TAIL]
EXEC = {"exec_id": T0, "exec_time": T0 // SECOND, "plan_state": 2}


@pytest.fixture
def many(store):
    """Plans that are due: as many as are claimed without a word in their messages."""
    store.freeze(T0)

    def fill(count=FEW + 1, text=TEXTS[0]):
        idents = [f"{i:x}" for i in range(1, count + 1)]
        store.submit_all([(ident, "jobs", 1 + i / 1000, text) for i, ident in enumerate(idents)])
        return idents

    return fill


def claimed(store, idents, **options):
    """Their runs, by their ids."""
    runs = {plan.member: plan.exec_id for plan in store.claim(limit=1000, **options).plans}
    assert set(runs) == {member(ident) for ident in idents}
    return {ident: runs[member(ident)] for ident in idents}


def stored(store, idents):
    return store.db.mget([member(ident) for ident in idents])


# -- what a claim writes, and what is read

@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 100])
def test_messages_of_a_claim_of_many_are_not_written(store, many, count, text):
    idents = many(count, text)
    plans = store.claim(limit=1000).plans
    assert [plan.message for plan in plans] == [text] * count
    expected = [{**json.loads(text), **EXEC, "exec_id": T0 + i} for i in range(count)]
    if count > FEW:
        assert stored(store, idents) == [text] * count
    else:
        assert [json.loads(line) for line in stored(store, idents)] == expected
    # Of many not even the revision is read.
    held = [held_as(T0 + i, 5 if count <= FEW else "=") for i in range(count)]
    assert store.db.hgetall(RUN) == dict(zip(map(member, idents), held))
    # Who reads them sees no difference.
    assert [json.loads(line) for _, line in store.list(limit=1000)] == expected
    for i in (0, count - 1):
        key, line, run, votes = store.load(idents[i])
        assert json.loads(line) == expected[i] and (key, run, votes) == (
            member(idents[i]), held[i], [])


def test_messages_that_have_no_room_in_an_answer_are_not_written_either(store, many):
    """It is the plans looked at that count."""
    big = TEXTS[0][:-2] + "x" * BYTES_MAX + '"}'
    many(FEW + 1, big)
    (plan,) = store.claim().plans
    assert store.db.get(plan.member) == big
    assert store.load("1")[1] == HEAD % (T0, T0 // SECOND, 2) + big[66:]
    assert store.load("2")[1] == big


@pytest.mark.parametrize("count", [2, FEW + 1])
def test_filter_by_state_sees_those_that_run(store, many, count):
    idents = many(count)
    store.submit("ffff", score=1e10, text=TEXTS[0])
    assert len(store.list(state="1", limit=1000)) == count + 1
    runs = claimed(store, idents)
    assert [name for name, _ in store.list(state="1")] == [entry("ffff")]
    assert len(store.list(state="2", limit=1000)) == count
    store.commit("1", runs["1"], "park", text=message(plan_state=5))
    assert [name for name, _ in store.list(state="5")] == [entry("1")]
    assert len(store.list(state="2", limit=1000)) == count - 1


@pytest.mark.parametrize("text", TEXTS + ["{}", "not JSON", ""])
def test_length_of_a_message_in_a_page_is_that_of_its_run(store, many, text):
    """With room at its head it is the same; the others grow by their numbers, or have none."""
    many(FEW + 1, text)
    store.claim()
    (_, line), *_ = store.list()
    assert len(line) == len(text) or json.loads(line)["exec_id"] == T0
    assert store.load("1")[1] == line


@pytest.mark.parametrize("mode, running", [("lease", True), ("doubt", True), ("retry", False),
                                           ("next", False), ("park", False)])
def test_run_is_told_as_long_as_it_is_in_hand(store, many, mode, running):
    """A commit that leaves the message leaves it as it was before the claim."""
    runs = claimed(store, many())
    assert store.commit("2", runs["2"], mode, 9)[0] == 1
    assert store.db.get(member("2")) == TEXTS[0]
    line = store.load("2")[1]
    assert line == (HEAD % (runs["2"], T0 // SECOND, 2) + TAIL if running else TEXTS[0])
    assert dict(store.list())[entry("2")] == line


@pytest.mark.parametrize("state", [2, 4, 5])
def test_message_that_was_written_for_the_run_is_told_as_it_is(store, many, state):
    """What was decided since the claim is not written over."""
    runs = claimed(store, many())
    text = HEAD % (runs["1"], 1234, state) + TAIL
    store.commit("1", runs["1"], "doubt", 9, text=text)
    assert store.load("1")[1] == text and dict(store.list())[entry("1")] == text
    assert store.change("2", 5, text.replace(runs["1"], runs["2"]), run=runs["2"]) == 1
    assert store.load("2")[1] == text.replace(runs["1"], runs["2"])


def test_no_run_in_hand_is_told_behind_one_that_may_still_answer(store, many):
    idents = many()
    claimed(store, idents, lease=0)
    runs = claimed(store, idents, lease=0)
    store.commit("1", runs["1"], "retry", 900)
    assert store.db.hget(RUN, member("1")) == "+" and store.load("1")[1] == TEXTS[0]


def test_exec_time_is_that_of_the_run(store, many):
    runs = claimed(store, many())
    store.freeze(T0 + 100 * SECOND)
    assert json.loads(store.load("1")[1])["exec_time"] == int(runs["1"]) // SECOND


@pytest.mark.parametrize("count", [FEW, FEW + 1])
def test_asked_again_gives_the_runs_and_the_messages_that_are_stored(store, many, count):
    idents = many(count)
    runs = claimed(store, idents, number=7)
    before = store.dump()
    plans = store.claim(number=7, limit=1000).plans
    assert {plan.member: plan.message for plan in plans} == {
        member(ident): before[member(ident)] for ident in idents}
    assert {plan.exec_id for plan in plans} == set(runs.values()) and store.dump() == before


def test_many_whose_leases_ended_are_taken_again(store, many):
    idents = many()
    first = claimed(store, idents, lease=10)
    store.freeze(T0 + 10 * SECOND)
    plans = store.claim(lease=10).plans
    assert {plan.member: (plan.message, plan.again, plan.lost) for plan in plans} == {
        member(ident): (TEXTS[0], 2, run) for ident, run in first.items()}
    assert store.db.hgetall(RUN) == {plan.member: held_as(plan.exec_id + "+", "=") for plan in plans}
    assert len(store.history(limit=1000).outcomes) == len(idents)


@pytest.mark.parametrize("mode", MODES)
def test_commits_of_many(store, many, mode):
    idents = many(100)
    runs = claimed(store, idents)
    answer = store.commit_all([
        store.commit_args(ident, runs[ident], mode, 7.5, "new", WORK, "result", revision="5",
                          record="r") for ident in idents])
    assert answer[2:] == list(range(1, 101))
    assert stored(store, idents) == [None if mode == "end" else "new"] * 100


# -- plan:run is a table when it has many

def encoding(store):
    return store.db.object("encoding", RUN)


def test_runs_of_a_large_claim_are_a_table(store, many):
    """And stay so, with what small claims and commits put in and take out."""
    idents = many(40)
    runs = claimed(store, idents)
    assert encoding(store) == "hashtable"
    assert store.db.hgetall(RUN) == {member(ident): held_as(runs[ident], "=") for ident in idents}
    for ident in ("100", "101"):
        store.submit(ident)
        runs[ident] = store.run(ident)
        assert encoding(store) == "hashtable" and store.db.hlen(RUN) == len(runs)
    store.commit("100", runs["100"], "doubt", 900)
    for ident in idents:
        assert store.commit(ident, runs.pop(ident), "end")[0] == 1
    assert store.db.hgetall(RUN) == {member("100"): held_as(runs["100"] + "?"),
                                     member("101"): held_as(runs["101"])}
    assert store.claim().plans == []
    store.commit_all([store.commit_args(ident, runs[ident], "end") for ident in ("100", "101")])
    assert not store.db.exists(RUN)


@pytest.mark.parametrize("count, expected", [(1, "listpack"), (FEW, "listpack"),
                                             (FEW + 1, "hashtable")])
def test_a_few_runs_are_no_table(store, many, count, expected):
    claimed(store, many(count))
    assert encoding(store) == expected and store.db.hlen(RUN) == count


def test_runs_before_a_large_claim_are_kept(store, many):
    store.freeze(T0)
    store.submit("ffff", text=message(revision=3))
    run = store.run("ffff")
    assert encoding(store) == "listpack"
    idents = many()
    claimed(store, idents)
    assert encoding(store) == "hashtable" and store.db.hlen(RUN) == len(idents) + 1
    assert store.db.hget(RUN, member("ffff")) == held_as(run, 3)


def test_runs_of_another_type_are_replaced_by_a_large_claim(store, many):
    idents = many()
    store.db.set(RUN, "by hand")
    claimed(store, idents)
    assert encoding(store) == "hashtable" and store.db.hlen(RUN) == len(idents)


# -- the revision in plan:run

def test_revision_is_that_of_the_message_after_every_write(store):
    store.freeze(T0)
    store.submit("1", text=message(revision=5))
    run = store.claim(lease=9).plans[0].exec_id
    held = [store.db.hget(RUN, member("1"))]

    def step(answer):
        assert answer == 1
        held.append(store.db.hget(RUN, member("1")))

    def commit(mode, decided_on, text=""):
        step(store.commit("1", run, mode, 9, text=text, revision=decided_on)[0])

    def change(revision, place="keep", of=None):
        step(store.change("1", revision, message(revision=revision + 1), place,
                          run=run if of is None else of))

    change(5)
    commit("lease", "6", message(revision=7))
    commit("lease", "7")
    commit("doubt", "7", message(revision=8))
    change(8, "out")
    commit("lease", "9")
    commit("doubt", "9")
    commit("lease", "", message(revision=10))
    assert held == [held_as(*row) for row in (
        (run, 5), (run, 6), (run, 7), (run, 7), (run + "?", 8), (run + "?", 9), (run, 9),
        (run + "?", 9), (run, 10))]
    store.freeze(T0 + 9 * SECOND)
    held.clear()
    run = store.run("1", lease=9)
    change(10, "+8")
    commit("doubt", "11")
    commit("doubt", "11", message(revision=12))
    commit("retry", "12", message(revision=13))
    change(13, of="")
    assert held == [held_as(run + "+", 11), held_as(run + "+?", 11), held_as(run + "+?", 12), "+",
                    "+ 14"]
    store.freeze(T0 + 18 * SECOND)
    run = store.run("1")
    assert store.db.hget(RUN, member("1")) == held_as(run + "+", 14)
    assert store.commit("1", run, "end", revision="14")[0] == 1


@pytest.mark.parametrize("mark, left", [("", "+"), ("+", "+"), ("+?", "+"), ("?", None)])
@pytest.mark.parametrize("place", ["now", "1800000000"])
def test_no_revision_is_kept_of_a_run_that_is_of_what_was_before(store, place, mark, left):
    store.submit("1", text=message(revision=5))
    store.db.hset(RUN, member("1"), held_as("17" + mark, 5))
    assert store.change("1", 5, message(revision=6), place, run="17") == 1
    assert store.db.hget(RUN, member("1")) == left


def test_plus_with_a_revision_is_no_run(store):
    """What is kept when none is in hand: nobody's commit, change or claim takes it for one."""
    store.submit("1", text=message(revision=5))
    store.db.hset(RUN, member("1"), "+ 5")
    for run in ("", "5", "+"):
        assert store.commit("1", run, "end") == [0]
    assert store.change("1", 5, message(revision=6), run="5") == 2
    assert store.load("1")[1] == message(revision=5)
    (plan,) = store.claim().plans
    assert (plan.again, plan.lost) == (1, "") and store.history().outcomes == []


@pytest.mark.parametrize("count", [1, FEW + 1])
@pytest.mark.parametrize("mode", MODES)
def test_commit_after_a_change_in_between_answers_the_changed_message(store, many, mode, count):
    """With its run, whether the claim has written it, the change has, or nobody."""
    runs = claimed(store, many(count))
    changed = HEAD % (0, 0, 5) + TAIL.replace(":5,", ":6,")
    running = HEAD % (runs["1"], T0 // SECOND, 2) + TAIL.replace(":5,", ":6,")
    assert store.change("1", 5, changed, "keep", run=runs["1"]) == 1
    before = store.dump()
    args = dict(mode=mode, when=7.5, text="new", work=WORK, tell="result", wait=True, record="r")
    assert store.commit("1", runs["1"], revision="5", **args) == [2, running]
    assert store.dump() == before
    assert store.commit("1", runs["1"], revision="6", **args)[:2] == [1, 1]


def test_one_that_was_changed_leaves_the_others_of_a_large_batch_be(store, many):
    idents = many()
    runs = claimed(store, idents)
    changed = HEAD % (runs["3"], T0 // SECOND, 5) + TAIL.replace(":5,", ":6,")
    assert store.change("3", 5, changed, "out", run=runs["3"]) == 1
    answer = store.commit_all([store.commit_args(ident, runs[ident], "end", revision="5",
                                                 tell="result", record="r") for ident in idents])
    numbers = iter(range(1, len(idents)))
    assert answer[2:] == [[changed] if ident == "3" else next(numbers) for ident in idents]
    assert set(store.dump()[IDS]) == {entry("3")}


# Messages that were written by hand: their revision is not the one in plan:run.

@pytest.mark.parametrize("held", ["{}", "{} 4", "{}+", "{}+? 4"])
@pytest.mark.parametrize("mode", MODES)
def test_revision_of_the_message_counts_when_another_is_kept(store, mode, held):
    """Else its result would be refused for ever, whatever message it is decided on."""
    store.freeze(T0)
    store.submit("1", text=message(revision=5))
    run = store.run("1")
    store.db.hset(RUN, member("1"), held.format(run))
    assert store.commit("1", run, mode, 9, revision="6")[0] == 2
    store.db.set(member("1"), message(exec_id=int(run), revision=7))
    assert store.commit("1", run, mode, 9, revision="6") == [2, message(exec_id=int(run),
                                                                        revision=7)]
    assert store.commit("1", run, mode, 9, revision="7")[0] == 1
    if mode == "lease":
        assert store.db.hget(RUN, member("1")).endswith(" 7")
        assert store.commit("1", run, mode, 9, revision="7", text=message(revision=8))[0] == 1
        assert store.db.hget(RUN, member("1")).endswith(" 8")


def test_commit_that_was_decided_on_what_is_kept_reads_no_message(store):
    """What was written by hand in between is not looked for: it is replaced."""
    store.submit("1", text=message(revision=5))
    run = store.run("1")
    store.db.set(member("1"), message(revision=9))
    assert store.commit("1", run, "lease", 9, text=message(revision=6), revision="5")[0] == 1
    assert store.db.get(member("1")) == message(revision=6)
    assert store.db.hget(RUN, member("1")) == held_as(run, 6)


@pytest.mark.parametrize("mode", MODES)
def test_message_of_another_type_leaves_the_others_of_a_batch_be(store, many, mode):
    """It cannot be read to be told: nothing is written of it, and all of the others."""
    idents = many(3)
    runs = claimed(store, idents)
    store.db.delete(member("2"))
    store.db.hset(member("2"), "a", "b")
    answer = store.commit_all([
        store.commit_args(ident, runs[ident], mode, 7.5, "new", WORK, "result",
                          revision="4" if ident == "2" else "5", record="r") for ident in idents])
    assert answer[2:] == [1, -1, 2]
    assert store.db.hgetall(member("2")) == {"a": "b"} and not store.db.exists(work_key("2"))
    assert [row.plan for row in store.history().outcomes] == ["1", "3"]
    assert stored(store, ["1", "3"]) == ([None] * 2 if mode == "end" else ["new"] * 2)


# -- messages that were deleted by hand, in a batch

@pytest.mark.parametrize("lost", [["1"], ["5"], ["2", "4"], ["1", "2", "3", "4", "5"]])
@pytest.mark.parametrize("mode", MODES)
def test_messages_deleted_by_hand_are_not_made_anew_by_a_batch(store, many, mode, lost):
    idents = many(5)
    runs = claimed(store, idents)
    for ident in idents:
        store.commit(ident, runs[ident], "lease", 900, work=WORK, wait=True)
    store.db.delete(*[member(ident) for ident in lost])
    answer = store.commit_all([
        store.commit_args(ident, runs[ident], mode, 7.5, "new", {"a": "[]"}, "result",
                          revision="5", record="r") for ident in idents])
    numbers = iter(range(1, 6))
    assert answer[2:] == [-1 if ident in lost else next(numbers) for ident in idents]
    left = [] if mode == "end" else [ident for ident in idents if ident not in lost]
    assert stored(store, idents) == ["new" if ident in left else None for ident in idents]
    assert set(store.db.keys("plan:work:*")) == {work_key(ident) for ident in left}
    assert set(store.db.zrange(TIME_SET, 0, -1)) == {
        member(ident) for ident in left if mode != "park"}
    assert store.waiting() == set()
    assert set(store.db.hkeys(RUN)) == {member(ident) for ident in left
                                        if mode in ("lease", "doubt")}
    assert store.sweep().repaired == len(lost)
    assert not store.db.exists(IDS) if not left else store.db.zcard(IDS) == len(left)


def test_run_of_a_deleted_message_is_forgotten_by_its_own_commit_alone(store, many):
    idents = many(2)
    runs = claimed(store, idents)
    store.db.delete(member("1"))
    before = store.db.hget(RUN, member("1"))
    assert store.commit("1", "17", "end") == [0] and store.db.hget(RUN, member("1")) == before
    assert store.commit("1", runs["1"], "end") == [0]
    assert store.db.hkeys(RUN) == [member("2")] and store.db.zcard(TIME_SET) == 1


# -- what is in the index already

def test_message_with_the_stations_head_is_taken_for_indexed(store, many):
    """It was submitted. It is looked for as soon as there are more plans in the queue than listed."""
    idents = many(2)
    store.db.zrem(IDS, entry("2"))
    store.db.zadd(IDS, {entry("7"): 0})     # as many as are queued
    assert set(claimed(store, idents)) == {"1", "2"}
    assert store.db.zrange(IDS, 0, -1) == [entry("1"), entry("7")]
    store.db.zrem(IDS, entry("7"))
    store.db.zadd(TIME_SET, {member(ident): 1.5 for ident in idents})
    assert set(claimed(store, idents)) == {"1", "2"}
    assert store.db.zrange(IDS, 0, -1, withscores=True) == [(entry("1"), 0), (entry("2"), 0)]


@pytest.mark.parametrize("count", [1, FEW, FEW + 1])
def test_plans_made_by_hand_get_into_the_index_by_a_claim_of_many(store, count):
    store.freeze(T0)
    idents = [f"{i:x}" for i in range(1, count + 1)]
    for i, ident in enumerate(idents):
        store.db.set(member(ident), message(caller="alice", plan_state=1, exec_id=0))
        store.db.zadd(TIME_SET, {member(ident): i})
    claimed(store, idents)
    assert store.db.zrange(IDS, 0, -1, withscores=True) == [(entry(i), 0) for i in idents]
    assert store.db.hgetall("plan:count") == {"s:jobs": str(count), "c:talice": str(count)}
    assert len(store.list(state="2", limit=1000)) == count
    assert store.db.hget(META, "exec") == str(T0 + count - 1)
