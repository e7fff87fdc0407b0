"""Answers that are lost: the link asks again, and must get the same."""
import pytest

from storescripts import (CLAIMS, HISTORY, META, RUN, SENT, T0, TIME_SET, WORK, member, message,
                          work_key)

SECOND = 1_000_000
RING = 512  # calls of commit whose answers are kept


def test_a_claim_asked_again_gives_the_same_runs(store):
    store.freeze(T0)
    for ident in ("1", "2", "3"):
        store.submit(ident, text=message(exec_id=0, plan_state=1))
    first = store.claim(limit=2, number=7)
    before = store.dump()
    again = store.claim(limit=2, number=7)
    assert store.dump() == before
    # The messages are those that are stored: with their run.
    assert again.plans == [plan._replace(message=before[plan.member]) for plan in first.plans]
    assert [plan.member for plan in store.claim(limit=2, number=8).plans] == [member("3")]


def test_a_claim_asked_again_renews_its_leases(store):
    store.freeze(T0)
    store.submit("1")
    (plan,) = store.claim(lease=10, number=7).plans
    store.freeze(T0 + 60 * SECOND)
    assert store.claim(lease=10, number=7).plans == [plan]
    assert store.db.zscore(TIME_SET, member("1")) == (T0 + 70 * SECOND) / 1e6


def test_a_claim_asked_again_leaves_out_what_is_over_or_another_stations(store):
    for ident in ("1", "2", "3"):
        store.submit(ident)
    one, two, three = store.claim(lease=0, number=7).plans
    store.commit("1", one.exec_id, "retry", 500)
    store.db.delete(member("2"))
    store.db.hset(RUN, member("3"), int(three.exec_id) + 5)
    assert store.claim(number=7).plans == []
    assert two.member == member("2")


def test_a_claim_that_took_nothing_may_take_when_asked_again(store):
    assert store.claim(number=7).plans == []
    store.submit("1")
    assert len(store.claim(number=7).plans) == 1


def test_what_is_kept_for_lost_answers_goes_by_itself(store):
    store.submit("1")
    exec_id = store.claim(number=1).plans[0].exec_id
    store.commit("1", exec_id, "end", tell="result", number=2)
    assert 0 < store.db.ttl(CLAIMS) <= 3600 and 0 < store.db.ttl(SENT) <= 3600


def test_a_commit_asked_again_is_broadcast_once_under_its_number(store):
    for i, mode in enumerate(("retry", "doubt", "next", "park", "end")):
        number = 40 + 2 * i
        store.submit("1")
        exec_id = store.run("1")
        answer = store.commit("1", exec_id, mode, 1, tell="result", number=number)
        before = store.dump()
        assert store.commit("1", exec_id, mode, 1, tell="result",
                            number=number)[:3] == answer[:3]
        assert store.dump() == before
        if mode != "doubt":
            assert store.commit("1", exec_id, mode, 1, tell="result",
                                number=number + 1) == [0]
        store.remove("1")


# What the engine commits: mode, broadcast, whether the plan's last failure was told just before.
COMMITS = [("lease", "none", False), ("doubt", "failure", False), ("doubt", "failure", True),
           ("retry", "none", False), ("retry", "failure", False), ("retry", "failure", True),
           ("retry", "result", False), ("next", "result", False), ("park", "none", False),
           ("park", "result", False), ("end", "result", False)]


@pytest.mark.parametrize("mode, tell, told", COMMITS)
def test_a_commit_asked_again_is_written_once(store, mode, tell, told):
    """Not a second outcome, nor a second message, nor the question whether the plan was changed."""
    store.freeze(T0)
    store.submit("1", text=message(revision=0))
    exec_id = store.run("1")
    if told:
        store.commit("1", exec_id, "doubt", 9, tell="failure")
    args = dict(mode=mode, when=7.5, text=message(revision=5), revision="0", work=WORK,
                tell=tell, wait=mode in ("retry", "doubt"), number=40,
                record="" if tell == "none" else "record")
    first = store.commit("1", exec_id, **args)
    assert first[:2] == [1, 0 if tell == "none" or told else 1]
    before = store.dump()
    assert store.commit("1", exec_id, **args) == first
    assert store.dump() == before


def test_a_sign_of_life_asked_again_leaves_the_votes_behind_it(store):
    """Both answers were lost: the opening, asked again, must not be decided and written anew."""
    store.submit("1", text=message(revision=0))
    exec_id = store.run("1")
    opening = dict(mode="lease", when=9, text=message(revision=5), revision="0", number=40,
                   work={"w1": "[]", "w2": "[]"}, votes="o")
    voting = dict(mode="lease", when=9, revision="5", number=41, work={"w1": "[1]"})
    for turn in range(2):
        assert store.commit("1", exec_id, **opening)[:2] == [1, 0], turn
        assert store.commit("1", exec_id, **voting)[:2] == [1, 0], turn
    assert store.db.hgetall(work_key("1")) == {"w1": "[1]", "w2": "[]"}


@pytest.mark.parametrize("mode", ["retry", "next", "park", "end"])
def test_a_poll_that_was_closed_answers_its_votes_when_asked_again(store, mode):
    """The broadcast, under its number, has them all the second time as well."""
    store.submit("1")
    exec_id = store.run("1")
    store.commit("1", exec_id, "lease", 9, work={"w1": "[]", "w2": "[]"}, votes="o")
    args = dict(mode=mode, when=9, work={"w1": "[1]"}, tell="result", votes="c", number=40)
    first = store.commit("1", exec_id, **args)
    assert sorted(first[4]) == ["[1]", "[]", "w1", "w2"]
    second = store.commit("1", exec_id, **args)
    assert second[:3] == first[:3]
    assert sorted(second[4]) == sorted(first[4])


def test_a_commit_asked_again_after_the_plan_went_on_is_answered_the_same(store):
    store.submit("1")
    args = dict(mode="retry", when=0, tell="result", record="record", number=40)
    exec_id = store.run("1")
    first = store.commit("1", exec_id, **args)
    store.run("1")
    before = store.dump()
    assert store.commit("1", exec_id, **args)[:3] == first[:3] and store.dump() == before


def test_the_ring_of_commits_is_bounded(store):
    store.submit("1")
    for number in range(5, 5 + 2 * RING + 1):
        store.commit("1", store.run("1", lease=0), "next", 1, tell="result", number=number)
        assert store.db.hlen(SENT) == min(number - 4, RING)
    assert store.commit("1", "1", "next", 1, tell="result", number=5) == [0]


@pytest.mark.parametrize("behind", [0, 1, RING - 1, RING])
def test_the_last_calls_are_answered_the_same(store, behind):
    store.submit("1")
    answers = []
    for number in range(40, 40 + RING + 1):
        answers.append(store.commit("1", store.run("1", lease=0), "next", 1, tell="result",
                                    number=number))
    answer = store.commit("1", "1", "next", 1, tell="result", number=40 + RING - behind)
    assert answer[:3] == (answers[RING - behind][:3] if behind < RING else [0])


@pytest.mark.parametrize("kind", ["stale", "changed", "deleted"])
def test_a_refused_commit_asked_again_is_refused_the_same(store, kind):
    """Though it would not be refused any more: the caller has decided on the first answer."""
    store.submit("1", text=message(revision=5))
    exec_id = store.run("1")
    args = dict(mode="lease", when=9, text=message(revision=6), revision="4", number=40)
    if kind == "deleted":
        store.db.delete(member("1"))
    first = store.commit("1", "17" if kind == "stale" else exec_id, **args)
    assert first == ([2, message(revision=5)] if kind == "changed" else [0])
    store.db.set(member("1"), message(revision=4))
    store.db.hset(RUN, member("1"), exec_id)
    before = store.dump()
    assert store.commit("1", exec_id, **args) == first and store.dump() == before


def test_number_of_a_commit_is_not_taken_for_another_of_the_ring(store):
    """It has the slot of one of the round before: it is written, and told under its own number."""
    store.submit("1")
    exec_id = store.run("1")
    assert store.commit("1", exec_id, "doubt", 9, tell="result", number=5)[1] == 1
    assert store.commit("1", exec_id, "doubt", 9, tell="result", number=5 + RING)[1] == 2


@pytest.mark.parametrize("broken", ["string", "", "by hand", "\x05", "\xc0", "\x80", "\xd9",
                                    "\xa240", "\x91\xa240", "\x92\xa240\x05"])
def test_spoilt_ring_stops_no_commit(store, broken):
    store.submit("1")
    exec_id = store.run("1")
    if broken == "string":
        store.db.set(SENT, "by hand")
    else:
        store.db.hset(SENT, 40 % RING, broken)
    assert store.commit("1", exec_id, "next", 5, tell="result", record="r", number=40)[:2] == [1, 1]
    assert store.db.hget(META, "seq") == "1" and store.db.xlen(HISTORY) == 1


def test_a_run_that_was_not_sent_does_not_hide_one_that_may_still_answer(store):
    """Contract chapter 4, rule 5: run 1 ran out of its lease; run 2 could not be sent."""
    store.freeze(T0)
    store.submit("1")
    first = store.claim(lease=0).plans[0].exec_id
    second = store.claim(lease=0).plans[0]
    assert second.again == 2 and store.commit("1", second.exec_id, "retry", 0)[0] == 1
    assert store.commit("1", first, "next", 5) == [0]
    assert store.db.hget(RUN, member("1")) == "+"
    assert store.claim().plans[0].again == 1
