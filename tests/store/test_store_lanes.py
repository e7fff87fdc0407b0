"""claim with priorities, groups and limits: who is taken first, and how many.

ZPLAN_STORE_SEED=N repeats a run of the random test.
"""
import json
from collections import Counter, namedtuple

import pytest

from storescripts import CLAIMS, RUN, T0, TIME_SET, claimed, member, message, seeded

SECOND = 1_000_000
LEASE = 30
LIMITS, CLASS, TOKENS = "plan:limits", "plan:class", "plan:tokens"
MORE, SORTED, FULL = 1, 2, 4

Answer = namedtuple("Answer", "next left aside ids plans now_us")


def claim(store, *targets, limit=100, since="", lease=LEASE, number=None):
    """Targets by name, which take all, or as claim_all has them."""
    targets = [(target, 1000, "next", 1) if isinstance(target, str) else target for target in targets]
    answer = store.claim_all(limit, lease, number, since=since, targets=targets)
    now_us, later, _, _, left, aside, *_ = answer
    plans = claimed(store.db, answer)
    return Answer(float(later) if later else None, left, aside, [plan.member.split(":")[3] for plan in plans],
                  plans, int(now_us))


def fill(store, *plans, station="jobs", at=None):
    """(id, class), each due a millisecond behind the one before it."""
    first = at or 1000 + store.db.zcard("plan:ids")
    answers = store.submit_all([(ident, station, f"{first + i / 1000:.3f}", message(id=ident))
                                for i, (ident, _) in enumerate(plans)], classes=[of for _, of in plans])
    assert answers == [1] * len(plans)


def end(store, plan, station="jobs"):
    """It runs no more: it is out of the queue."""
    ident = plan.member.split(":")[3]
    answer = store.commit_all([store.commit_args(ident, plan.exec_id, "end", station=station)])
    assert answer[2] == 0


@pytest.fixture
def frozen(store):
    store.freeze(T0)
    return store


@pytest.mark.parametrize("made_here", [False, True])
def test_submit_keeps_the_class_of_those_that_have_one(store, made_here):
    store.submit_all([("a", "jobs", 1, "{}"), ("b", "jobs", 1, "{}")], made_here=made_here, classes=["", "7:x"])
    assert store.db.hgetall(CLASS) == {member("b"): "7:x"}
    assert claim(store, "jobs").ids == ["b", "a"]


def test_place_keeps_the_class_of_those_that_have_one(store):
    assert store.place_all([("a", "jobs", 1, "{}"), ("b", "jobs", 1, "{}")], classes=["3:", ""]) == 1
    assert store.db.hgetall(CLASS) == {member("a"): "3:"}


def test_class_goes_with_its_plan(store):
    fill(store, ("a", "1:"), ("b", "2:"), ("c", "3:"))
    store.remove("a")
    for plan in claim(store, "jobs").plans:
        end(store, plan)
    assert store.db.exists(CLASS) == 0
    assert store.db.keys("plan:lane*") == []


def test_highest_priority_first_then_the_oldest(frozen):
    fill(frozen, ("a", ""), ("b", "5:"), ("c", "255:"), ("d", "5:"), ("e", ""))
    assert claim(frozen, "jobs").ids == ["c", "b", "d", "a", "e"]


def test_one_at_a_time_is_in_the_same_order(frozen):
    priorities = list(range(1, 101))
    frozen_order = seeded("order")
    frozen_order.shuffle(priorities)
    fill(frozen, *((f"{priority:x}", f"{priority}:") for priority in priorities))
    taken = []
    while len(taken) < 100:
        ids = claim(frozen, ("jobs", 1, "next", 1)).ids
        assert len(ids) == 1
        taken += ids
    assert taken == [f"{priority:x}" for priority in range(100, 0, -1)]


def test_one_that_comes_later_goes_before_those_that_wait(frozen):
    fill(frozen, ("a", ""), ("b", "1:"), ("c", "1:"))
    assert claim(frozen, ("jobs", 1, "next", 1)).ids == ["b"]
    fill(frozen, ("d", "9:"))
    assert claim(frozen, ("jobs", 2, "next", 1)).ids == ["d", "c"]
    assert claim(frozen, "jobs").ids == ["a"]


def test_groups_take_turns(frozen):
    fill(frozen, *((f"a{i:x}", "0:big") for i in range(200)), ("f1", "0:small"), ("f2", "0:small"), ("f3", ""))
    first = claim(frozen, ("jobs", 6, "next", 1)).ids
    assert {"f1", "f2", "f3"} <= set(first)
    taken = [claim(frozen, ("jobs", 1, "next", 1)).ids for _ in range(3)]
    assert all(ids[0].startswith("a") for ids in taken)
    fill(frozen, *((f"e{i}", "0:small") for i in range(3)))
    order = "".join(claim(frozen, ("jobs", 1, "next", 1)).ids[0][0] for _ in range(6))
    assert order.count("e") == 3


def test_group_that_comes_again_and_again_keeps_nobody_from_his_turn(frozen):
    fill(frozen, *((f"a{i:x}", "0:big") for i in range(20)))
    taken = []
    for i in range(10):
        fill(frozen, (f"e{i}", "0:small"))
        taken += claim(frozen, ("jobs", 1, "next", 1)).ids
    assert {text[0] for text in taken[:3]} == {"a", "e"} and 4 <= sum(text[0] == "a" for text in taken) <= 6


def test_whole_state_of_what_waits_in_a_lane(frozen):
    fill(frozen, ("a", "5:g"), ("b", ""))
    answer = claim(frozen, ("jobs", 0, "next", 1))
    assert answer.ids == [] and answer.left == SORTED and answer.aside == ["jobs"]
    assert frozen.db.zrange("plan:lane:jobs:5:g", 0, -1, withscores=True) == [(member("a"), 1000.0)]
    assert frozen.db.zrange("plan:lane:jobs:0:", 0, -1, withscores=True) == [(member("b"), 1000.001)]
    assert sorted(frozen.db.zrange("plan:lanes:jobs", 0, -1)) == ["0:", "5:g"]
    assert 3600 <= frozen.db.zscore(TIME_SET, member("a")) - T0 / SECOND < 3662
    assert frozen.db.exists(RUN) == 0
    assert claim(frozen, "jobs").ids == ["a", "b"]
    assert frozen.db.keys("plan:lane*") == []


def test_order_is_kept_when_their_time_in_the_lane_is_over(frozen):
    fill(frozen, ("a", "5:"))
    claim(frozen, ("jobs", 0, "next", 1))
    frozen.freeze(T0 + 3000 * SECOND)
    fill(frozen, ("b", "5:"), at=2000)
    claim(frozen, ("jobs", 0, "next", 1))
    for hours in (2, 3, 400):
        frozen.freeze(T0 + hours * 3600 * SECOND)
        assert claim(frozen, ("jobs", 0, "next", 1)).ids == []
    assert claim(frozen, "jobs").ids == ["a", "b"]


@pytest.mark.parametrize("how", ["paused", "moved", "removed", "hour"])
def test_plan_that_was_moved_since_is_not_taken_from_its_lane(frozen, how):
    fill(frozen, ("a", "5:"), ("b", "5:"))
    claim(frozen, ("jobs", 0, "next", 1))
    if how == "paused":
        assert frozen.change("a", 0, "{}", "out", of_class="5:") == 1
    elif how == "removed":
        frozen.remove("a")
    else:
        later = T0 // SECOND + 100 if how == "moved" else 1000 + 500_000 * 3600
        assert frozen.change("a", 0, "{}", str(later), of_class="5:") == 1
    assert claim(frozen, "jobs").ids == ["b"] and claim(frozen, "jobs").ids == []


def test_plan_that_is_put_into_the_queue_again_is_taken_once(frozen):
    fill(frozen, ("a", "5:"), ("b", "5:"))
    claim(frozen, ("jobs", 0, "next", 1))
    assert frozen.change("a", 0, "{}", "now", of_class="5:") == 1
    assert sorted(claim(frozen, "jobs").ids) == ["a", "b"] and claim(frozen, "jobs").ids == []


@pytest.mark.parametrize("place", ["keep", "now"])
def test_another_priority_holds_at_once(frozen, place):
    fill(frozen, ("a", "5:"), ("b", "6:"), ("c", ""))
    claim(frozen, ("jobs", 0, "next", 1))
    assert frozen.change("c", 0, "{}", place, of_class="7:") == 1
    assert frozen.change("b", 0, "{}", place, of_class="") == 1
    assert claim(frozen, "jobs").ids == ["c", "a", "b"]
    assert frozen.db.hgetall(CLASS) == {member("a"): "5:", member("c"): "7:"}


def test_what_was_aside_goes_into_lanes_when_there_are_any(frozen):
    fill(frozen, ("a", ""), ("b", ""))
    assert claim(frozen, ("jobs", 0, "held", 0)).aside == ["jobs"]
    fill(frozen, ("c", "9:"))
    claim(frozen, ("jobs", 0, "held", 1))
    assert claim(frozen, "jobs").ids[:1] == ["c"]
    assert claim(frozen, "jobs").ids + claim(frozen, "jobs").ids in (["a", "b"], [])


# -- limits

def limit(store, name, text):
    store.db.hset(LIMITS, name, text)
    store.db.delete("plan:busy:" + name)


def test_concurrency(frozen):
    limit(frozen, "s:jobs", "3  ")
    fill(frozen, *((f"{i:x}", "") for i in range(1, 8)))
    first = claim(frozen, "jobs")
    assert first.ids == ["1", "2", "3"] and first.aside == ["jobs limit"] and first.left & FULL
    assert claim(frozen, "jobs").ids == []
    end(frozen, first.plans[1])
    assert claim(frozen, "jobs").ids == ["4"]
    end(frozen, first.plans[0])
    end(frozen, first.plans[2])
    last = claim(frozen, "jobs")
    assert last.ids == ["5", "6"]
    for plan in last.plans:
        end(frozen, plan)
    assert claim(frozen, "jobs").ids == ["7"]


def test_concurrency_of_a_group_counts_over_targets(frozen):
    limit(frozen, "g:g", "2  ")
    for station in ("a", "b"):
        fill(frozen, *((f"{station}{i}", "0:g") for i in range(3)), (f"{station}9", ""), station=station)
    first = claim(frozen, "a", "b")
    assert Counter(plan.member.split(":")[3][1] == "9" for plan in first.plans) == {True: 2, False: 2}
    assert claim(frozen, "a", "b").ids == []
    grouped = next(plan for plan in first.plans if plan.member[-1] != "9")
    end(frozen, grouped, grouped.member.split(":")[2])
    assert len(claim(frozen, "a", "b").ids) == 1


def test_limit_counts_the_runs_that_were_there_before_it(frozen):
    fill(frozen, *((f"{i:x}", "") for i in range(1, 8)))
    before = claim(frozen, ("jobs", 2, "next", 0))
    limit(frozen, "s:jobs", "3  ")
    assert claim(frozen, "jobs").ids == ["3"]
    end(frozen, before.plans[0])
    assert claim(frozen, "jobs").ids == ["4"]


def test_place_of_a_lost_run_is_its_plans(frozen):
    limit(frozen, "s:jobs", "1  ")
    fill(frozen, ("a", ""), ("b", ""))
    first = claim(frozen, "jobs")
    assert first.ids == ["a"]
    frozen.freeze(T0 + (LEASE + 1) * SECOND)
    assert claim(frozen, "jobs").ids == ["b"]       # the older one: a is due since the end of its lease
    frozen.freeze(T0 + 2 * (LEASE + 1) * SECOND)
    (again,) = claim(frozen, "jobs").plans
    assert again.member == member("a") and again.again == 2


def test_limit_that_is_set_while_a_lost_run_waits(frozen):
    limit(frozen, "s:jobs", "1  ")
    fill(frozen, ("a", ""))
    claim(frozen, "jobs")
    frozen.freeze(T0 + (LEASE + 1) * SECOND)
    assert claim(frozen, ("jobs", 0, "next", 1)).ids == []
    limit(frozen, "s:jobs", "1  ")
    assert claim(frozen, "jobs").ids == ["a"]


def test_claim_that_is_asked_again_counts_once(frozen):
    limit(frozen, "s:jobs", "3 10 3")
    fill(frozen, *((f"{i:x}", "") for i in range(1, 8)))
    first = claim(frozen, "jobs", number=7)
    tokens = frozen.db.hgetall(TOKENS)
    again = claim(frozen, "jobs", number=7)
    assert again.ids == first.ids == ["1", "2", "3"] and frozen.db.hgetall(TOKENS) == tokens
    assert frozen.db.zcard("plan:busy:s:jobs") == 1 + 3


@pytest.mark.parametrize("text, at_once", [(" 10 ", 1), (" 10 4", 4)])
def test_rate(frozen, text, at_once):
    limit(frozen, "s:jobs", text)
    fill(frozen, *((f"{i:x}", "") for i in range(1, 30)))
    first = claim(frozen, "jobs")
    assert len(first.ids) == at_once and first.aside == ["jobs limit"] and not first.left & FULL
    assert first.next == pytest.approx(T0 / SECOND + 0.1, abs=1e-6)
    frozen.freeze(T0 + 99_999)
    assert claim(frozen, "jobs").ids == []
    frozen.freeze(T0 + 100_000)
    assert len(claim(frozen, "jobs").ids) == 1
    frozen.freeze(T0 + 60 * SECOND)     # a pause: what was not used is lost but for the burst
    assert len(claim(frozen, "jobs").ids) == at_once


def test_rate_after_the_clock_was_set_back(frozen):
    limit(frozen, "s:jobs", " 10 2")
    fill(frozen, *((f"{i:x}", "") for i in range(1, 30)))
    assert len(claim(frozen, "jobs").ids) == 2
    frozen.freeze(T0 - 1000 * SECOND)
    answer = claim(frozen, "jobs")
    assert answer.ids == [] and answer.next <= T0 / SECOND - 1000 + 0.2


def test_rate_of_a_group_lets_others_pass(frozen):
    limit(frozen, "g:g", " 1 ")
    fill(frozen, *((f"{i:x}", "9:g") for i in range(1, 4)), ("a", ""), ("b", "1:"))
    assert claim(frozen, "jobs").ids == ["1", "b", "a"]
    assert claim(frozen, "jobs").ids == []


@pytest.mark.parametrize("stored, count", [(None, 2), ("4  ", 4), ("  ", 7)])
def test_limit_of_the_settings_holds_until_another_is_set(frozen, stored, count):
    if stored:
        limit(frozen, "s:jobs", stored)
    fill(frozen, *((f"{i:x}", "") for i in range(1, 8)))
    assert len(claim(frozen, ("jobs", 100, "next", 0, "2  ")).ids) == count


def test_lone_plan_of_a_limited_target(frozen):
    fill(frozen, ("1", ""))
    assert claim(frozen, ("jobs", 100, "next", 0, "1  ")).ids == ["1"]
    fill(frozen, ("2", ""))
    assert claim(frozen, ("jobs", 100, "next", 0, "1  ")).ids == []


def test_limit_holds_nobody_else_up(frozen):
    limit(frozen, "s:a", "1  ")
    fill(frozen, *((f"a{i:x}", "") for i in range(200)), station="a", at=1000)
    fill(frozen, *((f"b{i:x}", "") for i in range(20)), station="b", at=2000)
    taken = claim(frozen, "a", "b").ids
    assert taken.count("a0") == 1 and len(taken) == 21


def test_what_is_no_limit_is_none(frozen):
    for text in ("", "x", "1", "0 0 0", "-1  "):
        limit(frozen, "s:jobs", text)
        fill(frozen, (f"{frozen.db.zcard('plan:ids') + 1:x}", ""))
        assert len(claim(frozen, "jobs").ids) == 1, text


def test_keys_of_another_type_are_replaced(frozen):
    fill(frozen, ("1", "5:g"), ("2", "5:g"), ("3", ""))
    limit(frozen, "s:jobs", "1  ")
    claim(frozen, ("jobs", 0, "next", 1))
    limit(frozen, "g:g", "1 1 ")
    for key in (LIMITS, "plan:busy:g:g", "plan:lanes:jobs", TOKENS):
        frozen.db.delete(key)
        frozen.db.set(key, "x")
    assert claim(frozen, "jobs").ids == []
    assert frozen.db.type("plan:lanes:jobs") == "none"


@pytest.mark.parametrize("turn", range(6))
def test_limits_are_never_exceeded_and_all_run(frozen, turn):
    rng = seeded(turn)
    stations, groups = ["a", "b", "c"], ["", "g", "h"]
    limits = {name: (rng.choice([0, 1, 2, 5]), rng.choice([0, 0, 2, 10]), rng.choice([1, 3]))
              for name in ("s:a", "s:b", "g:g", "g:h")}
    for name, (most, rate, burst) in limits.items():
        limit(frozen, name, f"{most or ''} {rate or ''} {burst}")
    now, out, done, began = T0, {}, set(), {name: [] for name in limits}
    plans = {}
    for i in range(1, 150):
        station, group = rng.choice(stations), rng.choice(groups)
        of = f"{rng.choice([0, 0, 3, 9])}:{group}"
        plans[f"{i:x}"] = (station, group)
        fill(frozen, (f"{i:x}", "" if of == "0:" else of), station=station, at=(T0 // SECOND) + rng.randrange(5))
    for _ in range(3000):
        if len(done) == len(plans):
            break
        now += rng.choice([1000, 50_000, 400_000])
        frozen.freeze(now)
        for plan in claim(frozen, *((name, rng.choice([0, 1, 3, 50]), "held", 1) for name in stations),
                          limit=rng.choice([1, 5, 50]), lease=5).plans:
            ident = plan.member.split(":")[3]
            out[ident] = (plan, now + 5 * SECOND)
            for name in ("s:" + plans[ident][0], "g:" + plans[ident][1]):
                if name in began:
                    began[name].append(now)
        out = {ident: row for ident, row in out.items() if row[1] > now}     # the others are lost
        busy = Counter(name for ident in out for name in ("s:" + plans[ident][0], "g:" + plans[ident][1]))
        for name, (most, _, _) in limits.items():
            assert not most or busy[name] <= most, name
        for ident in [ident for ident in out if rng.random() < 0.4]:
            plan, _ = out.pop(ident)
            end(frozen, plan, plans[ident][0])
            done.add(ident)
    assert len(done) == len(plans)
    for name, (_, rate, burst) in limits.items():
        times = began[name]
        for i in range(len(times) if rate else 0):
            for k in range(i + burst, len(times)):
                assert times[k] - times[i] >= (k - i - burst + 1) * SECOND / rate - 2, name
    assert frozen.db.keys("plan:lane*") == [] and CLAIMS
