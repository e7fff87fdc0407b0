"""change, and the revision of a commit: nobody writes over what somebody else changed meanwhile."""
import pytest

from storescripts import (COUNT, IDS, RUN, T0, TIME_SET, TOLD, WORK, entry, held_as, member, message,
                          score_after, work_key)

SECOND = 1_000_000
MODES = ["lease", "retry", "doubt", "next", "park", "end"]
FUTURE = "1700000500"


@pytest.fixture
def plan(store):
    """Plan 1f of revision 5, queued for later."""
    store.freeze(T0)
    store.submit("1f", score=FUTURE, text=message(revision=5))


@pytest.fixture
def exec_id(store):
    """The run of plan 1f."""
    store.freeze(T0)
    store.submit("1f", text=message(revision=5))
    return store.run("1f")


def score(store, ident="1f"):
    return store.db.zscore(TIME_SET, member(ident))


# The place in the queue.

PLACES = [
    ("keep", float(FUTURE)),
    ("out", None),
    ("now", score_after(T0)),
    ("1700009999", 1700009999.0),
    ("0", 0.0),
    ("253402300799", 253402300799.0),
    ("+300", score_after(T0, 300)),
    ("+0", score_after(T0)),
]


@pytest.mark.parametrize("place, expected", PLACES)
def test_place_in_the_queue(store, plan, place, expected):
    assert store.change("1f", 5, "new", place) == 1
    state = {member("1f"): "new", IDS: {entry("1f"): 0}}
    if expected is not None:
        state[TIME_SET] = {member("1f"): expected}
    assert store.dump() == state


@pytest.mark.parametrize("place, expected", PLACES)
def test_place_of_a_plan_that_was_outside(store, plan, place, expected):
    store.db.zrem(TIME_SET, member("1f"))
    assert store.change("1f", 5, "new", place) == 1
    assert score(store) == (None if place == "keep" else expected)
    assert store.db.get(member("1f")) == "new"


def test_clock_is_that_of_redis(store):
    store.submit("1f", score=FUTURE)
    before = store.redis_us()
    store.change("1f", 0, "new", "+10")
    assert score_after(before, 10) <= score(store) <= score_after(store.redis_us(), 10)


def test_plan_that_is_due_now_is_claimed(store, plan):
    assert store.claim().plans == []
    store.change("1f", 5, message(revision=6), "now")
    assert store.claim().plans[0].message == message(revision=6)


# The targets that are waited for.

@pytest.fixture
def failed(store, exec_id):
    """Plan 1f could not be sent: it is tried again, at once when its target connects."""
    store.commit("1f", exec_id, "retry", 60, text=message(revision=5), wait=True)
    store.wait("1")


def test_plan_that_is_taken_out_no_longer_waits(store, failed):
    assert store.change("1f", 5, "new", "out") == 1 and store.waiting() == {member("1")}


def test_plan_that_keeps_its_place_goes_on_waiting(store, failed):
    assert store.change("1f", 5, "new", "keep") == 1
    assert store.waiting() == {member("1f"), member("1")}
    assert store.wake() == 2 and score(store) == score_after(T0)


@pytest.mark.parametrize("place", [FUTURE, "+300"])
def test_target_that_connects_does_not_fire_a_plan_before_its_new_time(store, failed, place):
    """It was to be tried again at once. With another time that run would be too early."""
    assert store.change("1f", 5, message(revision=6), place) == 1
    before = score(store)
    store.wake()
    assert score(store) == before and store.claim().plans == []


@pytest.mark.parametrize("place", [place for place, _ in PLACES])
def test_waiting_of_others_is_left_alone(store, plan, place):
    store.wait("1", "1f0")
    store.wait("1f", station="other")
    assert store.change("1f", 5, "new", place) == 1
    assert store.waiting() == {member("1"), member("1f0")}
    assert store.waiting("other") == {member("1f", "other")}


# What stays.

def test_all_else_of_the_plan_stays(store, exec_id):
    store.commit("1f", exec_id, "doubt", 9, work=WORK, tell="failure", record="r")
    before = store.dump()
    assert before[RUN] == {member("1f"): held_as(exec_id + "?", 5)}
    assert store.change("1f", 5, message(revision=6), "keep", run=exec_id) == 1
    assert store.dump() == {**before, member("1f"): message(revision=6),
                            RUN: {member("1f"): held_as(exec_id + "?", 6)}}


def test_bystanders_keep_all_they_have(store, plan):
    for ident in ("1", "1f0"):
        store.submit(ident)
        store.commit(ident, store.run(ident), "doubt", 900, work=WORK, tell="failure", wait=True)
    before = store.dump()
    assert store.change("1f", 5, "new", "out") == 1
    before[member("1f")] = "new"
    del before[TIME_SET][member("1f")]
    assert store.dump() == before


@pytest.mark.parametrize("text", ["", "\0\xff\r\n", "x" * 100_000,
                                  '{"plan_id":9223372036854775807}'])
def test_message_is_written_byte_for_byte(store, plan, text):
    assert store.change("1f", 5, text) == 1 and store.db.get(member("1f")) == text


# Who may change it.

def refused(store, answer, *args, **more):
    before = store.dump()
    return store.change("1f", *args, **more) == answer and store.dump() == before


@pytest.mark.parametrize("place", [place for place, _ in PLACES])
@pytest.mark.parametrize("revision", ["4", "6", "0", "55", "", "5 ", "05", "5.0", "-5", "x"])
def test_plan_of_another_revision_is_left_alone(store, plan, revision, place):
    assert refused(store, 2, revision, "new", place)


RUNS = [None, "17 5", "17+ 5", "17? 5", "17+? 5", "17", "+", "+ 5", "170 5", "7 5", "7 17"]


@pytest.mark.parametrize("held", RUNS)
@pytest.mark.parametrize("read", ["", "17", "170", "1", "18", "+"])
def test_run_must_be_the_one_that_was_read(store, plan, held, read):
    if held:
        store.db.hset(RUN, member("1f"), held)
    if (held or "").partition(" ")[0].rstrip("+?") == read:
        assert store.change("1f", 5, message(revision=6), "out", run=read) == 1
        assert store.db.hget(RUN, member("1f")) == (held and held_as(held.partition(" ")[0], 6))
    else:
        assert refused(store, 2, 5, "new", "out", run=read)


def test_plan_that_was_fired_meanwhile_is_another_one(store):
    store.submit("1f", text=message(revision=5))
    exec_id = store.run("1f")
    assert refused(store, 2, 5, "new", "out")
    assert refused(store, 2, exec_id, "new", "out", run=exec_id)
    assert store.change("1f", 5, "new", "out", run=exec_id) == 1


@pytest.mark.parametrize("place", [place for place, _ in PLACES])
@pytest.mark.parametrize("kind", ["never", "removed", "deleted", "hash", "other station"])
def test_plan_that_is_gone_is_not_made_anew(store, kind, place):
    if kind != "never":
        store.submit("1f", "other" if kind == "other station" else "jobs", score=FUTURE, text="old")
    if kind == "removed":
        store.remove("1f")
    elif kind in ("deleted", "hash"):
        store.db.delete(member("1f"))
    if kind == "hash":
        store.db.hset(member("1f"), "a", "b")
    assert refused(store, 0, "0", "new", place)


def test_change_is_refused_the_second_time(store, plan):
    """Asked again it is no longer the message that was read: its new revision says who wrote it."""
    assert store.change("1f", 5, message(revision=6), "out") == 1
    assert refused(store, 2, 5, message(revision=6), "out")


# Commits.

@pytest.mark.parametrize("mode", MODES)
def test_commit_to_the_message_it_was_decided_on(store, exec_id, mode):
    answer = store.commit("1f", exec_id, mode, 7.5, text=message(revision=7), revision="5")
    assert answer == [1, 0, "", str(T0), []]
    assert store.db.get(member("1f")) == (None if mode == "end" else message(revision=7))
    if mode in ("lease", "doubt"):
        assert store.commit("1f", exec_id, "end", revision="7")[0] == 1


@pytest.mark.parametrize("tell", ["none", "result", "failure"])
@pytest.mark.parametrize("mode", MODES)
def test_commit_to_another_message_answers_it_and_changes_nothing(store, exec_id, mode, tell):
    changed = message(revision=8, title="\xe9")
    assert store.change("1f", 5, changed, "keep", run=exec_id) == 1
    before = store.dump()
    args = dict(mode=mode, when=7.5, text="new", work=WORK, tell=tell, wait=True, record="r")
    for votes in ("", "o", "c"):
        for revision in ("5", exec_id, "80", "0", " 8", "08"):
            assert store.commit("1f", exec_id, revision=revision, votes=votes,
                                **args) == [2, changed]
            assert store.dump() == before
    assert store.commit("1f", exec_id, revision="8", **args)[0] == 1


@pytest.mark.parametrize("mode", MODES)
def test_commit_that_names_no_revision_is_written_in_any_case(store, exec_id, mode):
    store.change("1f", 5, message(revision=8), "keep", run=exec_id)
    assert store.commit("1f", exec_id, mode, 7.5, text="new")[0] == 1


def test_run_that_is_over_is_told_before_the_revision(store, exec_id):
    store.commit("1f", exec_id, "park")
    assert store.commit("1f", exec_id, "end", revision="4") == [0]
    store.remove("1f")
    assert store.commit("1f", exec_id, "end", revision="4") == [0]


@pytest.mark.parametrize("text, revision", [
    ('{"revision":7}', "7"), ('{"a":1,"revision" : \n\t 9007199254740991}', "9007199254740991"),
    ("{}", "0"), ("", "0"), ("not JSON", "0"), ('{"revision":null}', "0"),
    # A client's text is inside of strings, where it has no bare quote.
    (message(a='"revision":1', b='\\"revision":2', c="revision", revision=7), "7"),
    (message(messages=['{"revision":1}', {"b64": "AA=="}], my_revision=2, revision_=3), "0"),
])
def test_revision_is_read_from_the_message(store, exec_id, text, revision):
    store.db.set(member("1f"), text)
    args = dict(mode="lease", when=9)
    assert store.commit("1f", exec_id, revision="17", **args) == [2, text]
    assert store.commit("1f", exec_id, revision=revision, **args)[0] == 1
    assert store.change("1f", "17", "new", run=exec_id) == 2
    assert store.change("1f", revision, "new", run=exec_id) == 1


def test_claim_leaves_the_revision(store):
    """Nobody decided anything: whose run it is, its exec_id tells."""
    store.freeze(T0)
    store.submit("1f", text=message(revision=5, plan_state=1))
    for state in (1, 2):
        (plan,) = store.claim().plans
        assert plan.message == message(revision=5, plan_state=state)
        assert store.db.get(member("1f")) == message(revision=5, plan_state=2)
        store.commit("1f", plan.exec_id, "retry", 0, revision="5")


def test_result_of_a_run_meets_the_pause_that_came_in_between(store, exec_id):
    """Both in turn: neither is lost, and the plan is not queued behind the pause's back."""
    paused = message(exec_id=int(exec_id), revision=8, plan_state=5)
    assert store.change("1f", 5, paused, "out", run=exec_id) == 1
    assert store.commit("1f", exec_id, "next", FUTURE, text="next", revision="5",
                        tell="result") == [2, paused]
    assert store.commit("1f", exec_id, "park", text="paused next", revision="8",
                        tell="result")[:2] == [1, 1]
    assert store.dump()[member("1f")] == "paused next"
    assert score(store) is None and store.db.exists(RUN) == 0


@pytest.mark.parametrize("order", ["change first", "commit first"])
def test_only_one_of_a_change_and_a_commit_is_written(store, exec_id, order):
    change = [lambda: store.change("1f", 5, message(revision=8), "out", run=exec_id) == 1]
    commit = [lambda: store.commit("1f", exec_id, "retry", 9, text=message(revision=9),
                                   revision="5")[0] == 1]
    steps = change + commit if order == "change first" else commit + change
    assert [step() for step in steps] == [True, False]


# A plan that was paused or closed while its run was out.

@pytest.mark.parametrize("mode", ["lease", "doubt"])
@pytest.mark.parametrize("before", ["queued", "outside"])
def test_run_of_a_plan_outside_the_queue_goes_on(store, exec_id, mode, before):
    if before == "outside":
        store.db.zrem(TIME_SET, member("1f"))
    assert store.commit("1f", exec_id, mode, "", text="new")[0] == 1
    assert score(store) is None and store.claim().plans == []
    held = held_as(exec_id + "?" * (mode == "doubt"))
    assert store.db.hget(RUN, member("1f")) == held
    assert store.load("1f") == [member("1f"), "new", held, []]
    assert store.commit("1f", exec_id, "park")[0] == 1 and store.db.exists(RUN) == 0


@pytest.mark.parametrize("mode, left", [("lease", "{}+ 5"), ("doubt", "{}+? 5")])
def test_earlier_run_that_may_still_answer_is_known_outside_the_queue(store, exec_id, mode, left):
    store.db.zadd(TIME_SET, {member("1f"): 1})
    second = store.run("1f")
    assert store.commit("1f", second, mode, "")[0] == 1
    assert store.db.hget(RUN, member("1f")) == left.format(second) and score(store) is None


@pytest.mark.parametrize("mode", ["retry", "next"])
def test_no_time_is_out_of_the_queue_in_every_mode(store, exec_id, mode):
    assert store.commit("1f", exec_id, mode, "")[0] == 1
    assert score(store) is None and store.db.exists(RUN) == 0


def test_failure_is_told_and_kept_outside_the_queue_too(store, exec_id):
    assert store.commit("1f", exec_id, "doubt", "", tell="failure", record="r")[1] == 1
    assert store.db.hexists(TOLD, member("1f")) and store.history().outcomes[0].entry == "1-0"
    assert store.db.exists(work_key("1f")) == 0


# Whose plan it is.

def caller_text(caller, revision):
    return message(revision=revision, caller=caller)


def test_a_plan_that_another_caller_has_changed_counts_as_his(store):
    """Else the one before would be counted for ever, and of the new one one too few."""
    store.submit("1f", score=FUTURE, text=caller_text("one", 1))
    store.submit("20", score=FUTURE, text=caller_text("two", 1))
    assert store.change("1f", 1, caller_text("two", 2)) == 1
    assert store.db.hgetall(COUNT) == {"s:jobs": "2", "c:ttwo": "2"}
    assert store.change("1f", 1, caller_text("three", 3)) == 2     # nothing is stored
    assert store.change("1f", 2, caller_text("one", 3)) == 1
    assert store.db.hgetall(COUNT) == {"s:jobs": "2", "c:tone": "1", "c:ttwo": "1"}
    for ident in ("1f", "20"):
        store.remove(ident)
    assert store.db.hgetall(COUNT) == {}
