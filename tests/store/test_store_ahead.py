"""A claim that looks ahead takes what is due within the next moment, and tells when it is."""
import json

import pytest

from storescripts import META, RUN, T0, TIME_SET, member, score_after
from test_store_lone import ALONE, text

AHEAD = 20_000
SECOND = 1_000_000


def later(us):
    """A score so many microseconds after T0."""
    return score_after(T0 + us)


def submitted(store, *delays):
    store.freeze(T0)
    for n, us in enumerate(delays, 1):
        store.submit(f"{n:x}", score=later(us), text=text(), station="jobs")


def begins(claim):
    """When each run begins: 0 now."""
    return {plan.member: plan.due and plan.due - T0 for plan in claim.plans}


def numbers(claim):
    return {plan.member: int(plan.exec_id) - T0 for plan in claim.plans}


@pytest.mark.parametrize("delays, free", [
    ([0], [0]), ([AHEAD], [AHEAD]), ([5000], [5000]), ([0, 5000], [0, 5000]), ([-2, -1], [0, 1]),
    ([1, 20_000, 20_001], [1, 20_000, None]), ([-5, 0, 7, 9_999, 30_000], [0, 1, 7, 9_999, None]),
    ([7, 7, 7, 8, 100], [7, 8, 9, 10, 100]), ([AHEAD, AHEAD], [AHEAD, AHEAD + 1]),
    ([AHEAD - 1] * 9, list(range(AHEAD - 1, AHEAD + 8)))])
def test_what_is_within_reach_is_taken(store, delays, free):
    """The number of a run is the microsecond of its time, or the next that is free."""
    submitted(store, *delays)
    claim = store.claim(ahead=AHEAD)
    taken = {member(f"{n:x}"): (max(us, 0), number) for n, (us, number) in enumerate(zip(delays, free), 1) if us <= AHEAD}
    assert begins(claim) == {key: us for key, (us, _) in taken.items()}
    assert numbers(claim) == {key: number for key, (_, number) in taken.items()}
    left = [us for us in delays if us > AHEAD]
    assert claim.next == (later(left[0]) if left else score_after(T0, 300))
    assert store.db.zcount(TIME_SET, "-inf", later(AHEAD)) == 0


@pytest.mark.parametrize("delays", [[1000], [500, 1000], [-1, 0]])
def test_a_number_that_was_taken_ahead_delays_nothing(store, delays):
    submitted(store, 15_000)
    assert numbers(store.claim(ahead=AHEAD)) == {member("1"): 15_000}
    for n, us in enumerate(delays, 2):
        store.submit(f"{n:x}", score=later(us), text=text())
    claim = store.claim(ahead=AHEAD)
    assert list(begins(claim).values()) == [max(us, 0) for us in delays]
    assert list(numbers(claim).values()) == [15_001, 15_002][:len(delays)]


def test_without_reach_nothing_is_taken_early(store):
    submitted(store, 1, 5000)
    assert store.claim().plans == [] and store.claim(ahead=0).plans == []


@pytest.mark.parametrize("delays", [[750_000], [750_000, 750_001]])
def test_the_message_says_the_second_of_its_time(store, delays):
    """The run begins when it is due: that stands in the message, not when it was claimed."""
    submitted(store, *delays)
    assert T0 % SECOND == 250_000
    store.freeze(T0 + 750_001 - AHEAD)      # the next second begins within reach
    claim = store.claim(ahead=AHEAD)
    assert [json.loads(store.db.get(plan.member))["exec_time"] for plan in claim.plans] == [
        T0 // SECOND + 1] * len(delays)


def test_one_alone_needs_no_function(store):
    submitted(store, 5000)
    store.bounds = ALONE
    (plan,) = store.claim(ahead=AHEAD).plans
    assert int(plan.exec_id) == T0 + 5000
    assert store.db.hgetall(META)["exec"] == plan.exec_id


@pytest.mark.parametrize("plans", [1, 3, 40])
def test_asked_again_it_tells_the_same_times(store, plans):
    submitted(store, *range(100, 100 * plans + 1, 100))
    number = store.next_number()
    first = store.claim(ahead=AHEAD, number=number)
    assert list(begins(first).values()) == list(range(100, 100 * plans + 1, 100))
    store.freeze(T0 + 1000)
    again = store.claim(ahead=AHEAD, number=number)
    assert numbers(again) == numbers(first)
    assert begins(again) == {key: us if us > 1000 else 0 for key, us in begins(first).items()}


@pytest.mark.parametrize("plans", [1, 2])
def test_after_a_clock_that_was_set_back_nothing_is_taken_early(store, plans):
    """The numbers go on from larger ones, and tell no time."""
    submitted(store, *[5000] * plans)
    store.db.hset(META, "exec", T0 + SECOND)
    assert store.claim(ahead=AHEAD).plans == []
    store.freeze(T0 + 5000)
    claim = store.claim(ahead=AHEAD)
    assert list(begins(claim).values()) == [0] * plans
    assert list(numbers(claim).values()) == [SECOND + 1, SECOND + 2][:plans]


def test_the_end_of_a_lease_is_not_looked_ahead_for(store):
    """Until it is over the run may end well."""
    submitted(store, 0, 0)
    assert len(store.claim(lease=10).plans) == 2
    for us in (AHEAD, 1):
        store.freeze(T0 + 10 * SECOND - us)
        assert store.claim(ahead=AHEAD).plans == []
    store.freeze(T0 + 10 * SECOND)
    assert [plan.again for plan in store.claim(ahead=AHEAD).plans] == [2, 2]


def test_what_is_limited_is_not_taken_early(store):
    submitted(store, 0, 5000, 6000)
    targets = [("jobs", 10, "next", 0, "2  ")]
    assert list(begins(store.claim(ahead=AHEAD, targets=targets))) == [member("1")]


def test_what_was_aside_begins_at_once(store):
    submitted(store, -2, -1)
    assert store.claim(targets=[("jobs", 0, "held", 0)]).plans == []
    claim = store.claim(ahead=AHEAD, targets=[("jobs", 10, "next", 1)])
    assert list(begins(claim).values()) == [0, 0]


@pytest.mark.parametrize("how", ["next", "held"])
def test_of_a_target_that_takes_no_more_none_is_touched_early(store, how):
    submitted(store, 5000, 5001)
    store.submit("9", score=later(6000), text=text(), station="good")
    claim = store.claim(ahead=AHEAD, targets=[("jobs", 0, how, 0), ("good", 5, "next", 0)])
    assert begins(claim) == {member("9", "good"): 6000}
    assert [store.db.zscore(TIME_SET, member(n)) for n in "12"] == [later(5000), later(5001)]
    assert store.db.zcard("plan:held:jobs") == 0


def test_room_counts_for_what_is_taken_early(store):
    submitted(store, -1, 5000, 5001)
    claim = store.claim(ahead=AHEAD, targets=[("jobs", 2, "next", 0)])
    assert list(begins(claim).values()) == [0, 5000]


def test_numbers_go_on(store):
    submitted(store, 5000)
    (first,) = store.claim(ahead=AHEAD).plans
    store.commit("1", first.exec_id, "next", later(6000), text(6))
    (second,) = store.claim(ahead=AHEAD).plans
    assert int(second.exec_id) > int(first.exec_id) and store.db.hget(META, "exec") == second.exec_id
    assert store.db.hget(RUN, member("1")).split()[0] == second.exec_id
