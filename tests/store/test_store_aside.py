"""claim with targets that take no more than so many: what is passed over, what is put aside, and
that nothing is lost or fired twice by it.

ZPLAN_STORE_SEED=N repeats a run of the random tests.
"""
import json
from collections import namedtuple

import pytest

from storescripts import (META, RUN, T0, TIME_SET, claimed, entry, member, message, score_after,
                          seeded)

SECOND = 1_000_000
LEASE = 300
BYTES_MAX, LOOK_MAX, PASS_MAX, LIMIT = 4194304, 512, 64, 100
# How many due plans a claim looks at when it takes none: by pages of those it may take and pass over.
LOOKED = -(-(LOOK_MAX + LIMIT) // LIMIT) * LIMIT

Answer = namedtuple("Answer", "next broken looked more aside members plans")


def held_key(station):
    return f"plan:held:{station}"


def claim(store, targets=(), since="", limit=LIMIT, **options):
    """`targets`: what claim_all takes; a name alone is one that is full, for which others wait."""
    targets = [(target, 0, "next", 0) if isinstance(target, str) else target for target in targets]
    answer = store.claim_all(
        limit, options.pop("lease", LEASE), since=since, targets=targets, **options)
    _, later, broken, looked, more, aside, *_ = answer
    plans = claimed(store.db, answer)
    members = [plan.member.split(":")[3] for plan in plans]
    return Answer(float(later) if later else None, broken, looked, more, aside, members, plans)


def fill(store, *names, at=None, text="{}"):
    """Plans like a1, a2, b1, of the stations a and b. Each is due behind the one before it."""
    first = at or store.db.zcard(TIME_SET) + 1
    answers = store.submit_all([(name, name[0], repr(round(first + i / 1000, 6)), text)
                                for i, name in enumerate(names)])
    assert answers == [1] * len(names)


def held(store, station):
    return store.db.zrange(held_key(station), 0, -1, withscores=True)


def key(name):
    return member(name, name[0])


@pytest.fixture
def frozen(store):
    store.freeze(T0)
    return store


# -- room

def test_a_target_takes_no_more_than_so_many(frozen):
    fill(frozen, "a1", "b1", "a2", "b2", "a3", "b3", "b4")
    answer = claim(frozen, [("a", 2, "held", 0), ("b", 3, "held", 0)])
    assert answer.members == ["a1", "b1", "a2", "b2", "b3"] and answer.more == 0
    assert sorted(answer.aside) == ["a", "b"]


def test_a_target_that_is_not_named_takes_all(frozen):
    fill(frozen, "a1", "b1", "a2", "b2")
    assert claim(frozen, [("b", 0, "held", 0)]).members == ["a1", "a2"]


@pytest.mark.parametrize("how", ["next", "held"])
def test_room_that_is_not_used_up_changes_nothing(frozen, how):
    fill(frozen, "a1", "b1", "a2")
    answer = claim(frozen, [("a", 2, how, 0), ("b", 9, how, 0), ("c", 0, how, 0)])
    assert answer.members == ["a1", "b1", "a2"] and answer.aside == [] and answer.more == 0
    assert frozen.db.keys("plan:held:*") == []


def test_limit_of_all_holds_beside_the_room(frozen):
    fill(frozen, "a1", "b1", "a2", "b2")
    answer = claim(frozen, [("a", 9, "next", 0), ("b", 9, "held", 0)], limit=3)
    assert answer.members == ["a1", "b1", "a2"] and answer.more == 1 and answer.aside == []


# -- next: what is due waits in the queue

def test_plans_of_a_full_target_are_passed_over(frozen):
    fill(frozen, "b1", "a1", "a2", "b2")
    before = frozen.dump()[TIME_SET]
    answer = claim(frozen, [("a", 1, "next", 0)])
    assert answer.members == ["b1", "a1", "b2"] and answer.more == 1 and answer.aside == []
    assert frozen.dump()[TIME_SET][key("a2")] == before[key("a2")]
    assert claim(frozen, [("a", 2, "next", 0)]).members == ["a2"]


@pytest.mark.parametrize("others, taken", [(PASS_MAX - 1, ["b1"]), (PASS_MAX, []),
                                           (PASS_MAX + 1, [])])
@pytest.mark.parametrize("full", ["a", "ac"])
def test_as_many_are_passed_over_of_all_full_targets(frozen, full, others, taken):
    fill(frozen, *[f"{full[i % len(full)]}{i + 1:x}" for i in range(others)], "b1")
    answer = claim(frozen, list(full))
    assert answer.members == taken and answer.more == 1 and answer.aside == []
    assert frozen.db.zcount(TIME_SET, "-inf", T0 / 1e6) == others + 1 - len(taken)


def test_those_put_aside_are_not_passed_over(frozen):
    """They do not end the look: only what stays due does."""
    fill(frozen, *[f"a{i:x}" for i in range(1, PASS_MAX + 1)], "c1", "b1")
    answer = claim(frozen, [("a", 0, "held", 0), "c"])
    assert answer.members == ["b1"] and len(held(frozen, "a")) == PASS_MAX


def test_room_that_is_left_is_used_up_by_those_due_the_longest(frozen):
    fill(frozen, "a1", "b1", "a2", "b2", "a3", "b3")
    answer = claim(frozen, [("a", 2, "next", 0), ("b", 1, "next", 0)])
    assert answer.members == ["a1", "b1", "a2"] and answer.more == 1
    assert claim(frozen).members == ["b2", "a3", "b3"]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_what_is_passed_over_takes_no_place(frozen, limit):
    fill(frozen, "a1", "a2", "a3", "a4", "b1", "a5", "b2", "b3")
    assert claim(frozen, ["a"], limit=limit).members == ["b1", "b2", "b3"][:limit]


def test_newer_ones_of_others_do_not_wait_for_a_full_target(frozen):
    fill(frozen, "a1", "a2")
    since = claim(frozen, ["a"]).looked
    assert float(since) == score_after(T0)
    frozen.freeze(T0 + SECOND)
    fill(frozen, "b1", "a3", "b2", at=T0 / 1e6 + 0.5)
    answer = claim(frozen, ["a"], since)
    assert answer.members == ["b1", "b2"] and answer.more == 1
    assert claim(frozen, [], answer.looked).members == ["a1", "a2", "a3"]


def test_newer_one_of_a_full_target_does_not_overtake(frozen):
    """In the room that is left go those that are due the longest."""
    fill(frozen, "a1", "a2")
    since = claim(frozen, ["a"]).looked
    frozen.freeze(T0 + SECOND)
    fill(frozen, "a3", at=T0 / 1e6 + 0.5)
    assert claim(frozen, [("a", 1, "next", 0)], since).members == ["a1"]
    assert claim(frozen, [("a", 2, "next", 0)], since).members == ["a2", "a3"]


@pytest.mark.parametrize("others", [1, PASS_MAX - 1, PASS_MAX, PASS_MAX + 1, PASS_MAX + LOOK_MAX - 1])
def test_plans_of_a_target_are_taken_in_their_order_behind_a_full_one(frozen, others):
    """b1 was due before b2: the look at the older ones may end before it, at those that are passed
    over. c1 has nobody before it."""
    fill(frozen, *[f"a{i:x}" for i in range(1, others + 1)], "b1")
    since = claim(frozen, ["a", "b"]).looked
    frozen.freeze(T0 + SECOND)
    fill(frozen, "b2", "c1", at=T0 / 1e6 + 0.5)
    answer = claim(frozen, ["a"], since)
    assert answer.members == (["b1", "b2", "c1"] if others < PASS_MAX else ["c1"])
    taken = answer.members
    while others >= PASS_MAX and "b2" not in taken:
        answer = claim(frozen, [], answer.looked)
        taken += answer.members
    assert [name for name in taken if name[0] == "b"] == ["b1", "b2"]


def test_what_is_broken_among_the_older_ones_hides_nobody(frozen):
    """Neither where they are looked at nor where it is only looked who they are."""
    since = claim(frozen).looked
    fill(frozen, *[f"a{i:x}" for i in range(1, PASS_MAX + 3)], "b1")
    scores = dict(frozen.db.zrange(TIME_SET, 0, -1, withscores=True))
    frozen.db.zadd(TIME_SET, {"garbage 1": scores[key("a2")], "garbage 2": scores[key("b1")]})
    frozen.freeze(T0 + SECOND)
    fill(frozen, "b2", "c1", at=T0 / 1e6 + 0.5)
    answer = claim(frozen, ["a"], since)
    assert answer.members == ["c1"] and answer.broken == ["garbage 1"]
    assert claim(frozen, [], answer.looked).members[-2:] == ["b1", "b2"]


def test_plans_of_a_target_are_taken_in_their_order_when_a_claim_is_full(frozen):
    """What a full claim left is older for the next: newer ones of its targets wait."""
    fill(frozen, "a1", "a2", "a3", "a4", "a5", "a6", "a7", "b1")
    since = claim(frozen, limit=4).looked
    frozen.freeze(T0 + SECOND)
    fill(frozen, "b2", at=T0 / 1e6 + 0.5)
    taken = []
    for _ in range(4):
        answer = claim(frozen, [], since, limit=4)
        taken += answer.members
        since = answer.looked
    assert [name for name in taken if name[0] == "b"] == ["b1", "b2"]
    assert sorted(taken) == ["a5", "a6", "a7", "b1", "b2"]


def test_most_of_a_claim_is_for_the_older_ones(frozen):
    """And some is for the newer ones, however many older ones there are."""
    fill(frozen, *[f"a{i}" for i in range(1, 10)])
    since = claim(frozen, ["a"]).looked
    frozen.freeze(T0 + SECOND)
    fill(frozen, *[f"b{i}" for i in range(1, 10)], at=T0 / 1e6 + 0.5)
    assert claim(frozen, [], since, limit=8).members == ["a1", "a2", "a3", "a4", "a5", "a6",
                                                         "b1", "b2"]


@pytest.mark.parametrize("back_us", [1, SECOND, 3600 * SECOND])
@pytest.mark.parametrize("targets", [[], ["a"], [("a", 0, "held", 0)]])
def test_plan_is_not_due_when_the_clock_was_set_back(frozen, targets, back_us):
    """The claim before has looked further than now: what it has looked at may be not due yet."""
    since = claim(frozen).looked
    fill(frozen, "a1", "b1")
    frozen.db.zadd(TIME_SET, {key("a1"): T0 / 1e6, key("b1"): T0 / 1e6})
    before = frozen.dump()
    frozen.freeze(T0 - back_us)
    answer = claim(frozen, targets, since)
    assert answer.members == [] and answer.more == 0 and answer.next == T0 / 1e6
    assert frozen.dump() == before


# -- held: what is due is put aside

def test_whole_state_of_what_is_put_aside(frozen):
    fill(frozen, "a1", "b1")
    answer = claim(frozen, [("a", 0, "held", 0)])
    assert answer.members == ["b1"] and answer.aside == ["a"] and answer.more == 0
    assert answer.next == score_after(T0, LEASE)
    state = frozen.dump()
    assert state.pop(held_key("a")) == {key("a1"): score_after(T0, LEASE)}
    assert state[TIME_SET] == {key("a1"): score_after(T0, LEASE),
                               key("b1"): score_after(T0, LEASE)}
    # It is no run: nothing of it is in hand, nor in its message.
    assert set(state[RUN]) == {key("b1")} and state[key("a1")] == "{}"


def test_what_is_put_aside_holds_nobody_up(frozen):
    fill(frozen, *[f"a{i}" for i in range(1, 9)], "b1", "a9", "b2")
    answer = claim(frozen, [("a", 0, "held", 0)], limit=2)
    assert answer.members == ["b1", "b2"] and len(held(frozen, "a")) == 9


def test_those_put_aside_are_taken_in_their_order(frozen):
    names = ["a2", "a10", "a1", "af", "a9"]
    fill(frozen, *names)
    assert claim(frozen, [("a", 0, "held", 0)]).members == []
    taken = []
    for count in (1, 2, 1, 5):
        answer = claim(frozen, [("a", count, "held", 1)])
        assert len(answer.members) <= count
        taken += answer.members
    assert taken == names and frozen.db.exists(held_key("a")) == 0


def test_those_put_aside_are_due_in_their_order_at_the_end_of_the_lease(frozen):
    names = ["a2", "a10", "a1"]
    fill(frozen, *names)
    claim(frozen, [("a", 0, "held", 0)])
    frozen.freeze(T0 + LEASE * SECOND - len(names))
    assert claim(frozen).members == []
    frozen.freeze(T0 + LEASE * SECOND)
    assert claim(frozen).members == names


def test_they_go_before_what_became_due_since(frozen):
    fill(frozen, "a1", "a2")
    since = claim(frozen, [("a", 0, "held", 0)]).looked
    frozen.freeze(T0 + SECOND)
    fill(frozen, "a3", "a4", at=T0 / 1e6 + 0.5)
    answer = claim(frozen, [("a", 1, "held", 1)], since)
    assert answer.members == ["a1"] and "a" in answer.aside
    assert claim(frozen, [("a", 9, "held", 1)], answer.looked).members == ["a2", "a3", "a4"]


def test_that_there_are_more_of_them_is_told(frozen):
    fill(frozen, "a1", "a2", "a3")
    claim(frozen, [("a", 0, "held", 0)])
    answer = claim(frozen, [("a", 2, "held", 1)])
    assert answer.members == ["a1", "a2"] and answer.aside == ["a"]
    answer = claim(frozen, [("a", 2, "held", 1)])
    assert answer.members == ["a3"] and answer.aside == []


def test_that_there_are_more_of_them_is_told_when_the_claim_was_full(frozen):
    """The second target's were not reached: the caller must not take it for one that has none."""
    fill(frozen, "a1", "b1")
    assert sorted(claim(frozen, [("a", 0, "held", 0), ("b", 0, "held", 0)]).aside) == ["a", "b"]
    answer = claim(frozen, [("a", 1, "held", 1), ("b", 1, "held", 1)], limit=1)
    assert answer.members == ["a1"] and "b" in answer.aside
    assert claim(frozen, [("a", 1, "held", 1), ("b", 1, "held", 1)], limit=1).members == ["b1"]


@pytest.mark.parametrize("how", ["change", "hand", "removed", "claimed", "ended", "deleted"])
def test_stale_ones_are_dropped_and_never_fire(frozen, how):
    """Their score is another one, or there is none: they are not aside any more."""
    fill(frozen, "a1", "a2", text=message(revision=5))
    claim(frozen, [("a", 0, "held", 0)])
    if how == "change":
        assert frozen.change("a1", 5, message(revision=6), "1800000000", station="a") == 1
    elif how == "hand":
        frozen.db.zadd(TIME_SET, {key("a1"): 1.8e9})
    elif how == "removed":
        assert frozen.remove("a1") == "a"
    elif how == "deleted":
        frozen.db.delete(key("a1"))
    else:
        frozen.db.zadd(TIME_SET, {key("a1"): 1})
        (plan,) = claim(frozen, lease=900).plans
        assert plan.member == key("a1")
        if how == "ended":
            assert frozen.commit("a1", plan.exec_id, "next", "1800000000", station="a")[0] == 1
    before = frozen.db.zscore(TIME_SET, key("a1"))
    answer = claim(frozen, [("a", 9, "held", 1)])
    assert answer.members == ["a2"] and answer.aside == []
    assert answer.broken == ([key("a1")] if how == "deleted" else [])
    assert frozen.db.exists(held_key("a")) == 0
    assert frozen.db.zscore(TIME_SET, key("a1")) == (None if how == "deleted" else before)


def test_stale_ones_that_use_up_the_room_hide_nobody(frozen):
    fill(frozen, "a1", "a2", "a3")
    claim(frozen, [("a", 0, "held", 0)])
    frozen.remove("a1")
    answer = claim(frozen, [("a", 1, "held", 1)])
    assert answer.members == [] and answer.aside == ["a"]
    assert claim(frozen, [("a", 1, "held", 1)]).members == ["a2"]


def test_plan_that_was_changed_while_aside_is_due_at_its_new_time_and_no_other(frozen):
    fill(frozen, "a1", text=message(revision=5))
    claim(frozen, [("a", 0, "held", 0)])
    assert frozen.change("a1", 5, message(revision=6), "+10", station="a") == 1
    assert claim(frozen, [("a", 9, "held", 1)]).members == []
    frozen.freeze(T0 + 10 * SECOND)
    assert claim(frozen, [("a", 9, "held", 1)]).members == ["a1"]


def test_plan_that_keeps_its_place_stays_aside(frozen):
    fill(frozen, "a1", text=message(revision=5))
    claim(frozen, [("a", 0, "held", 0)])
    assert frozen.change("a1", 5, message(revision=6), "keep", station="a") == 1
    (plan,) = claim(frozen, [("a", 9, "held", 1)]).plans
    assert plan.message == message(revision=6)


@pytest.mark.parametrize("how", ["next", "held"])
@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("room", [0, 1, 2, 9])
def test_they_are_due_again_at_the_end_of_the_lease_and_never_twice(frozen, room, flag, how):
    """They are in the queue and aside with the same score: one claim may meet them in both."""
    fill(frozen, "a1", "a2", "a3")
    claim(frozen, [("a", 0, "held", 0)])
    frozen.freeze(T0 + (LEASE + 1) * SECOND)
    taken = []
    for turn in range(4):
        answer = claim(frozen, [("a", room, how, flag if turn == 0 else 1)])
        assert len(answer.members) <= room
        taken += answer.members
    assert taken == ["a1", "a2", "a3"][:4 * room] if room else taken == []
    assert all(score > T0 / 1e6 for _, score in frozen.db.zrange(TIME_SET, 0, -1, withscores=True))\
        or room == 0 and how == "next"
    # The runs are in hand, and due again at the end of their leases, not before.
    frozen.freeze(T0 + (2 * LEASE + 1) * SECOND - 1)
    assert claim(frozen, [("a", 9, how, 1)]).members == ([] if room else ["a1", "a2", "a3"])


def test_put_aside_again_at_the_end_of_the_lease(frozen):
    fill(frozen, "a1", "a2")
    for turn in range(3):
        frozen.freeze(T0 + turn * (LEASE + 1) * SECOND)
        answer = claim(frozen, [("a", 0, "held", turn)])
        assert answer.members == [] and answer.aside == ["a"] and len(held(frozen, "a")) == 2
    assert claim(frozen, [("a", 9, "held", 1)]).members == ["a1", "a2"]


def test_wake_makes_one_due_that_is_aside(frozen):
    fill(frozen, "a1")
    claim(frozen, [("a", 0, "held", 0)])
    frozen.wait("a1", station="a")
    assert frozen.wake("a") == 1
    frozen.freeze(T0 + 1)
    assert claim(frozen).members == ["a1"]
    assert claim(frozen, [("a", 9, "held", 1)]).members == []


def test_what_is_aside_is_kept_longer_than_the_lease(frozen):
    fill(frozen, "a1")
    claim(frozen, [("a", 0, "held", 0)], lease=2.5)
    assert 3600 <= frozen.db.ttl(held_key("a")) <= 3603


def test_key_of_another_type_is_replaced(frozen):
    frozen.db.set(held_key("a"), "by hand")
    fill(frozen, "a1", "a2")
    assert claim(frozen, [("a", 1, "held", 1)]).members == ["a1"]
    assert [name for name, _ in held(frozen, "a")] == [key("a2")]


def test_run_that_was_lost_is_told_when_it_is_taken_not_when_it_is_put_aside(frozen):
    fill(frozen, "a1")
    claim(frozen, lease=0)
    answer = claim(frozen, [("a", 0, "held", 0)])
    assert answer.aside == ["a"] and frozen.history().outcomes == []
    (plan,) = claim(frozen, [("a", 1, "held", 1)]).plans
    assert plan.again == 2 and plan.lost == str(T0) and len(frozen.history().outcomes) == 1


# -- bounds

@pytest.mark.parametrize("size, taken", [(BYTES_MAX // 2 + 1, 2), (BYTES_MAX + 1, 1), (9, 3)])
def test_those_aside_that_are_over_the_bytes_are_due(frozen, size, taken):
    fill(frozen, "a1", "a2", "a3", text="x" * size)
    claim(frozen, [("a", 0, "held", 0)])
    answer = claim(frozen, [("a", 9, "held", 1)])
    assert len(answer.members) == taken and answer.more == (taken < 3)
    assert frozen.db.zcount(TIME_SET, "-inf", T0 / 1e6) == 3 - taken
    assert frozen.db.hlen(RUN) == taken
    everyone = answer.members
    while len(everyone) < 3:
        everyone = everyone + claim(frozen, [("a", 9, "held", 1)]).members
    assert sorted(everyone) == ["a1", "a2", "a3"]


def test_bytes_that_are_used_up_leave_the_others_due(frozen):
    fill(frozen, "a1", "b1", "a2", text="x" * (BYTES_MAX + 1))
    answer = claim(frozen, [("a", 1, "held", 0)])
    assert answer.members == ["a1"] and answer.more == 1 and answer.aside == ["a"]
    assert claim(frozen, [("a", 1, "held", 1)]).members == ["a2"]
    assert claim(frozen).members == ["b1"]


@pytest.mark.parametrize("others", [LOOKED - 1, LOOKED, 2 * LOOKED])
def test_look_at_those_put_aside_is_bounded(frozen, others):
    """What is behind them is due in one of the next claims."""
    fill(frozen, *[f"a{i:x}" for i in range(1, others + 1)])
    fill(frozen, "b1", at=9000)
    claims = [claim(frozen, [("a", 0, "held", 0)])]
    while not claims[-1].members:
        assert len(held(frozen, "a")) == LOOKED * len(claims)
        claims.append(claim(frozen, [("a", 0, "held", 0)]))
    assert claims[-1].members == ["b1"] and len(claims) == others // LOOKED + 1
    assert len(held(frozen, "a")) == others


def test_look_at_newer_ones_of_a_full_target_is_bounded(frozen):
    fill(frozen, "a1")
    since = claim(frozen, ["a"]).looked
    frozen.freeze(T0 + SECOND)
    fill(frozen, *[f"a{i:x}" for i in range(2, LOOK_MAX + 2)], "b1", at=T0 / 1e6 + 0.1)
    answer = claim(frozen, ["a"], since)
    assert answer.members == [] and answer.more == 1
    # It is not lost.
    taken = []
    for _ in range(20):
        answer = claim(frozen, [], answer.looked)
        taken += answer.members
    assert len(taken) == len(set(taken)) == LOOK_MAX + 2 and "b1" in taken


# -- asked again

@pytest.mark.parametrize("how", ["next", "held"])
def test_asked_again_with_targets_gives_the_same_runs(frozen, how):
    fill(frozen, "a1", "b1", "a2", "b2")
    targets = [("a", 1, how, 0), ("b", 1, how, 0)]
    first = claim(frozen, targets, number=7)
    before = frozen.dump()
    second = claim(frozen, targets, number=7)
    assert second.members == first.members == ["a1", "b1"]
    assert [plan.exec_id for plan in second.plans] == [plan.exec_id for plan in first.plans]
    assert frozen.dump() == before


def test_asked_again_takes_no_more_from_aside(frozen):
    fill(frozen, "a1", "a2", "a3")
    claim(frozen, [("a", 0, "held", 0)])
    for _ in range(2):
        assert claim(frozen, [("a", 1, "held", 1)], number=7).members == ["a1"]
        assert [name for name, _ in held(frozen, "a")] == [key("a2"), key("a3")]


def test_asked_again_tells_that_some_are_aside(frozen):
    """That the first answer told it was lost with it."""
    fill(frozen, "a1", "b1", "a2")
    targets = [("a", 1, "held", 0)]
    first = claim(frozen, targets, number=7)
    assert first.members == ["a1", "b1"] and first.aside == ["a"]
    assert claim(frozen, targets, number=7).aside == ["a"]


# -- in place

HEAD = '{"exec_id":%-16s,"exec_time":%-10s,"plan_state":%s,'
TAIL = '"plan_id":9223372036854775807,"title":"\\"exec_id\\":1,{}"}'


@pytest.mark.parametrize("exec_id, exec_time, state", [
    ("0", "0", "1"), ("1", "22", "5"), (str(T0 - 1), str(T0 // SECOND), "2"),
    ("9" * 16, "9" * 10, "9"),
])
def test_what_the_station_writes_is_written_over_in_its_place(frozen, exec_id, exec_time, state):
    text = HEAD % (exec_id, exec_time, state) + TAIL
    fill(frozen, "a1", text=text)
    (plan,) = claim(frozen).plans
    stored = frozen.db.get(key("a1"))
    assert plan.message == text and len(stored) == len(text)
    assert stored == HEAD % (T0, T0 // SECOND, 2) + TAIL
    assert json.loads(stored) == {**json.loads(text), "exec_id": T0, "exec_time": T0 // SECOND,
                                  "plan_state": 2}


@pytest.mark.parametrize("text", [
    # Longer numbers than there is room for, or shorter room.
    '{"exec_id":9223372036854775807,"exec_time":1700000000,"plan_state":1,' + TAIL,
    '{"exec_id":12345678901234567,"exec_time":1700000000,"plan_state":1,' + TAIL,
    '{"exec_id":1234567890123456,"exec_time":17000000000,"plan_state":1,' + TAIL,
    '{"exec_id":0,"exec_time":0,"plan_state":1,' + TAIL,
    '{"exec_id":1700000000000000,"exec_time":1700000000,"plan_state":10,' + TAIL,
    # Spaces of somebody's, another order, nothing behind.
    ' ' + HEAD % (1, 2, 3) + TAIL,
    '{ "exec_id":%-16s,"exec_time":%-10s,"plan_state":1,' % (1, 2) + TAIL,
    '{"exec_id": %-15s,"exec_time":%-10s,"plan_state": 1,' % (1, 2) + TAIL,
    '{"exec_id" :%-15s,"exec_time":%-10s,"plan_state":1,' % (1, 2) + TAIL,
    '{"exec_time":%-10s,"exec_id":%-16s,"plan_state":1,' % (1, 2) + TAIL,
    HEAD[:-1] % (1, 2, 3) + "}",
    HEAD[:-1] % (1, 2, 3) + " ," + TAIL,
    '{"a":1,' + (HEAD % (1, 2, 3))[1:] + TAIL,
])
def test_message_with_another_head_has_the_same_values(frozen, text):
    fill(frozen, "a1", text=text)
    (plan,) = claim(frozen).plans
    assert plan.message == text
    assert json.loads(frozen.db.get(key("a1"))) == {
        **json.loads(text), "exec_id": T0, "exec_time": T0 // SECOND, "plan_state": 2}


@pytest.mark.parametrize("widths", [(15, 11), (17, 9), (16, 10), (10, 16), (2, 24)])
def test_room_of_the_same_length_in_all_has_the_same_values(frozen, widths):
    text = '{"exec_id":%s,"exec_time":%s,"plan_state":1,' % (
        "1".ljust(widths[0]), "2".ljust(widths[1])) + TAIL
    fill(frozen, "a1", text=text)
    claim(frozen)
    assert json.loads(frozen.db.get(key("a1"))) == {
        **json.loads(text), "exec_id": T0, "exec_time": T0 // SECOND, "plan_state": 2}


@pytest.mark.parametrize("exec_id", [10**15, 2**53 - 1, 10**16, 2 * 10**16])
def test_exec_id_of_any_length_is_written(frozen, exec_id):
    """Of more than 16 digits it has no room in its place: the message grows."""
    frozen.db.hset(META, "exec", exec_id - 1)
    text = HEAD % (0, 0, 1) + TAIL
    fill(frozen, "a1", text=text)
    frozen.freeze(T0 if exec_id > T0 else 10**15)
    (plan,) = claim(frozen).plans
    stored = frozen.db.get(key("a1"))
    assert plan.exec_id == str(exec_id) and json.loads(stored)["exec_id"] == exec_id
    assert (len(stored) == len(text)) == (exec_id < 10**16)


def test_message_is_written_over_again_and_again(frozen):
    text = HEAD % (0, 0, 1) + TAIL
    fill(frozen, "a1", text=text)
    for turn in range(3):
        frozen.freeze(T0 + turn * SECOND)
        (plan,) = claim(frozen, lease=1).plans
        assert plan.message == text
        text = HEAD % (T0 + turn * SECOND, T0 // SECOND + turn, 2) + TAIL
        assert frozen.db.get(key("a1")) == text


# -- random calls

class Targets:
    """A station and its targets, each of which takes some plans at a time, or none for a while."""

    def __init__(self, store, rng, hows, lease, newer=True):
        self.store, self.rng, self.hows, self.lease = store, rng, hows, lease
        self.now_us = T0
        self.room = dict.fromkeys("abcd", 3)  # as many as it has at a time
        self.hand = {}    # name -> (exec_id, end of the lease in us)
        self.plans = {}   # name -> its first score
        self.order = {station: [] for station in self.room}
        self.aside, self.since, self.count = set(), "", 0
        self.newer = newer  # each claim knows how far the one before it has looked
        store.freeze(T0)

    def submit(self, count):
        plans = []
        for _ in range(count):
            self.count += 1
            name = self.rng.choice("abcd") + f"{self.count:x}"
            # Of one target no two at once, and none before one that may have run already.
            after_us = self.count + self.rng.choice([1, SECOND, 2 * SECOND])
            self.plans[name] = score_after(self.now_us + after_us)
            plans.append((name, name[0], repr(self.plans[name]), "{}"))
        self.store.submit_all(plans)

    def claim(self, limit):
        # No two claims are in one moment: those that are put aside are a microsecond apart.
        self.now_us += 1000
        self.store.freeze(self.now_us)
        targets = []
        for station, room in self.room.items():
            left = max(0, room - sum(name[0] == station for name in self.hand))
            how = "held" if room == 0 and "held" in self.hows else self.rng.choice(self.hows)
            targets.append((station, left, how, int(station in self.aside and left > 0)))
        answer = claim(self.store, targets, self.since, limit, lease=self.lease)
        self.since = answer.looked if self.newer else ""
        self.aside -= {target[0] for target in targets if target[3]}
        self.aside |= set(answer.aside)
        left = {target[0]: target[1] for target in targets}
        for plan, name in zip(answer.plans, answer.members):
            left[name[0]] -= 1
            if name in self.hand:
                assert self.hand[name][1] <= self.now_us, f"{name} is taken twice"
            else:
                self.order[name[0]].append(self.plans[name])
            assert self.plans[name] <= score_after(self.now_us), f"{name} is taken before its time"
            self.hand[name] = plan.exec_id, self.now_us + self.lease * SECOND
        assert min(left.values()) >= 0 and len(answer.members) <= limit and answer.broken == []
        return targets, answer.members, answer.aside

    def end(self, count):
        names = self.rng.sample(sorted(self.hand), min(count, len(self.hand)))
        if names:
            answers = self.store.commit_all([
                self.store.commit_args(name, self.hand[name][0], "end", station=name[0])
                for name in names])
            assert answers[2:] == [0] * len(names)
        for name in names:
            del self.hand[name], self.plans[name]
        return names

    def step(self):
        what = self.rng.choice(["submit", "claim", "claim", "claim", "end", "room", "clock"])
        if what == "submit":
            self.submit(self.rng.randint(1, 6))
        elif what == "claim":
            print(self.claim(self.rng.choice([1, 2, 4, 8, 100])))
        elif what == "end":
            print(self.end(self.rng.randint(1, 6)))
        elif what == "room":
            self.room[self.rng.choice("abcd")] = self.rng.choice([0, 0, 1, 2, 5])
        else:
            self.now_us += self.rng.choice([1, 1000, SECOND, 3 * SECOND])
            self.store.freeze(self.now_us)
        self.check()

    def check(self):
        """Every plan that has not ended is in the queue, and in the index."""
        assert set(self.store.db.zrange(TIME_SET, 0, -1)) == {key(name) for name in self.plans}
        assert set(self.store.db.zrange("plan:ids", 0, -1)) == {entry(name, name[0])
                                                               for name in self.plans}

    def finish(self, wait_s):
        """All targets have room: everything runs."""
        self.room = dict.fromkeys(self.room, 1000)
        self.now_us += wait_s * SECOND
        self.store.freeze(self.now_us)
        for _ in range(len(self.plans) + 20):
            self.claim(10)
            self.check()
            self.end(1000)
        assert self.plans == {} and self.store.db.zcard(TIME_SET) == 0


HOWS = [["held"], ["next"], ["next", "held"]]


@pytest.mark.parametrize("hows", HOWS, ids="-".join)
@pytest.mark.parametrize("turn", range(4))
def test_random_targets_lose_nothing_and_fire_nothing_twice(store, turn, hows):
    """Leases end, and those that were put aside are due again with them."""
    walk = Targets(store, seeded(turn), hows, lease=5)
    for _ in range(300):
        walk.step()
    walk.finish(wait_s=10)


@pytest.mark.parametrize("hows", HOWS, ids="-".join)
@pytest.mark.parametrize("turn", range(4))
def test_random_targets_get_all_they_take_without_waiting_for_a_lease(store, turn, hows):
    walk = Targets(store, seeded(turn), hows, lease=100_000)
    for _ in range(300):
        walk.step()
    walk.finish(wait_s=10)


def walk_in_order(store, rng, hows, newer, pass_max=PASS_MAX):
    store.bounds["claim"] = {f"local PASS_MAX = {PASS_MAX}\n": f"local PASS_MAX = {pass_max}\n"}
    walk = Targets(store, rng, hows, lease=100_000, newer=newer)
    for _ in range(300):
        walk.step()
    walk.finish(wait_s=10)
    for station, scores in walk.order.items():
        assert scores == sorted(scores), station


@pytest.mark.parametrize("hows", HOWS, ids="-".join)
@pytest.mark.parametrize("turn", range(4))
def test_random_targets_get_their_plans_in_order(store, turn, hows):
    walk_in_order(store, seeded(turn), hows, newer=False)


@pytest.mark.parametrize("hows", HOWS, ids="-".join)
@pytest.mark.parametrize("pass_max", [1, 2, 5, PASS_MAX])
@pytest.mark.parametrize("turn", range(3))
def test_random_targets_get_their_plans_in_order_when_newer_ones_are_looked_at(store, turn, pass_max,
                                                                               hows):
    walk_in_order(store, seeded(turn), hows, newer=True, pass_max=pass_max)


@pytest.mark.parametrize("hows", HOWS, ids="-".join)
@pytest.mark.parametrize("pass_max, look_max", [(1, 1), (1, 8), (2, 3), (PASS_MAX, 4)])
def test_random_targets_lose_nothing_when_a_claim_looks_at_few(store, pass_max, look_max, hows):
    store.bounds["claim"] = {f"local PASS_MAX = {PASS_MAX}\n": f"local PASS_MAX = {pass_max}\n",
                             f"local LOOK_MAX = {LOOK_MAX} ": f"local LOOK_MAX = {look_max} "}
    walk = Targets(store, seeded(0), hows, lease=5)
    for _ in range(300):
        walk.step()
    walk.finish(wait_s=10)
