"""Many plans in a claim: what claim.lua does with them before its functions are made is what it does with them, whatever else
there is; and it is done so when nothing is unusual.

ZPLAN_STORE_SEED=N repeats a run of the random test.
"""
import random

import pytest

from storescripts import (CLAIMS, IDS, META, RUN, T0, TIME_SET, entry, everything, member, message, seeded,
                          wait_key)
from test_store_end import Run
from test_store_lone import ALONE, WITHOUT, started, text

STATIONS = ["jobs", "a.b-c_D9", "other"]
SECOND = 1_000_000


def room(station, plans, puts_aside="next", some_aside=0, limit=""):
    return station, plans, puts_aside, some_aside, limit


def filled(store, plans, stations=1, first=0x1a2024b0e97d1000):
    """Plans that are due, one microsecond after the other; the members in that order."""
    rows = [(f"{first + n:x}", STATIONS[n % stations], f"{T0 / SECOND + n / SECOND:.6f}", text(5 + n))
            for n in range(plans)]
    for at in range(0, plans, 100):
        store.submit_all(rows[at:at + 100])
    store.freeze(T0 + 2 * SECOND)
    return [member(ident, station) for ident, station, *_ in rows]


@pytest.mark.parametrize("stations", [1, 2])
def test_usual_claims_of_many_need_no_function(store, stations):
    started(store)
    members = filled(store, 600, stations)
    store.bounds = ALONE
    looked, taken, number = "", [], T0 + 2 * SECOND
    while len(taken) < len(members):
        claim = store.claim_all(256, since=looked, targets=[room("jobs", 128), room("a.b-c_D9", 128)])
        looked, more, rows = claim[3], claim[4], claim[7:]
        taken += rows[::2]
        assert rows[1::2] == list(range(number, number + len(rows) // 2))
        number += len(rows) // 2
        assert (len(rows), more) == ((256 * stations, 1) if len(taken) < len(members) else (len(rows), 0))
    assert taken == members
    assert store.db.hlen(RUN) == len(taken)
    ends = store.db.zmscore(TIME_SET, taken)
    assert set(ends) == {(T0 + 302 * SECOND) / SECOND}
    store.dump()


@pytest.mark.parametrize("keep", [1, 150, 100_000])
def test_usual_ends_of_many_need_no_function(store, keep):
    """Of runs of which nothing was written since their claim; the history is trimmed all the same."""
    started(store)
    filled(store, 600)
    runs = [Run(plan.member.rsplit(":", 1)[1], "jobs", plan.exec_id, "=", f"record {n}")
            for claim in range(3) for n, plan in enumerate(store.claim(200, targets=[room("jobs", 200)]).plans)]
    seq = int(store.db.hget(META, "seq"))
    store.bounds = ALONE
    for first in range(0, 500, 100):
        answer = store.end_all(runs[first:first + 100], keep=keep)
        assert answer[2:] == [seq + first + 1]
    assert store.db.hget(META, "seq") == str(seq + 500) and store.db.hlen(RUN) == 100
    found = [outcome.record for outcome in store.history(limit=1000).outcomes]
    assert found[-100:] == [run.record for run in runs[400:500]]
    assert min(keep, 500) <= len(found) <= keep + 200
    store.dump()


def test_fewer_than_there_is_room_for(store):
    started(store)
    members = filled(store, 100)
    store.bounds = ALONE
    claim = store.claim_all(256, since=str(T0 / SECOND + 1), targets=[room("jobs", 200), room("other", 0)])
    assert claim[7::2] == members and claim[4] == 0
    assert float(claim[1]) == (T0 + 302 * SECOND) / SECOND


def test_a_claim_asked_again_gives_the_same(store):
    started(store)
    filled(store, 100)
    asked = store.next_number(), [room("jobs", 60)]
    first = store.claim_all(256, number=asked[0], targets=asked[1])
    assert len(first[7:]) == 120
    assert store.claim_all(256, number=asked[0], targets=asked[1])[7:] == first[7:]


def test_what_became_due_of_another_is_not_behind_all(store):
    """Many are due of one; of another one plan, since the claim before."""
    started(store)
    filled(store, 500)
    targets = [room("jobs", 100), room("other", 100)]
    looked = store.claim_all(256, targets=targets)[3]
    store.freeze(T0 + 3 * SECOND)
    store.submit("77", station="other", score=T0 / SECOND + 2.5, text=text())
    assert member("77", "other") in store.claim_all(256, since=looked, targets=targets)[7::2]


def test_what_became_due_of_another_is_not_behind_those_that_are_passed_over(store):
    """The look ends at 64 plans of a target that takes no more; there is room for all that are due."""
    started(store)
    filled(store, 150)
    targets = [room("jobs", 40), room("other", 20), room("a.b-c_D9", 200)]
    looked = store.claim_all(30, targets=targets)[3]
    store.freeze(T0 + 3 * SECOND)
    store.submit("77", station="other", score=T0 / SECOND + 2.5, text=text())
    taken = store.claim_all(256, since=looked, targets=targets)[7::2]
    assert len(taken) == 41 and taken[-1] == member("77", "other")


ODD = {
    "held": lambda rng, one, key: one.db.hset(RUN, key, rng.choice(["5 100", "5? 100", "5+ 100", "+"])),
    "gone": lambda rng, one, key: one.db.delete(key),
    "long": lambda rng, one, key: one.db.set(key, text() + " " * 4_200_000),
    "list": lambda rng, one, key: (one.db.delete(key), one.db.rpush(key, "x")),
    "not in the index": lambda rng, one, key: one.db.zrem(IDS, entry(*reversed(key.split(":")[2:]))),
    "by hand": lambda rng, one, key: one.db.set(key, message(exec_id=0, plan_state=1, caller="bob")),
    "waits": lambda rng, one, key: one.db.zadd(wait_key(key.split(":")[2]), {key: 1}),
    "class": lambda rng, one, key: one.db.hset("plan:class", key, "7:"),
    "limit": lambda rng, one, key: one.db.hset("plan:limits", "s:jobs", "5  "),
    "aside": lambda rng, one, key: one.db.zadd("plan:held:jobs", {key: one.db.zscore(TIME_SET, key)}),
    "runs": lambda rng, one, key: (one.db.delete(RUN), one.db.rpush(RUN, "x")),
    "exec": lambda rng, one, key: one.db.hset(META, "exec", rng.choice(["x", str(T0 + 9 * SECOND)])),
    **{name: lambda rng, one, key, name=name: (one.db.set(name, text()), one.db.zadd(TIME_SET, {name: T0 / SECOND}))
       for name in ("x", "plan:msg:jobs:01", "plan:msg:jobs:5A", "plan:msg:jobs:8000000000000000", "plan:msg:jobs:",
                    "plan:msg:jobs:10000000000000000", "plan:msg::5", "plan:msg:" + "j" * 65 + ":5", "plan:msg:no:5")},
}


@pytest.mark.parametrize("kind", [*ODD, None, None])
def test_random_claims_of_many_are_the_same(store, twin, kind, request):
    rng = seeded(request.node.name)
    plans, stations, at, seed = rng.choice([60, 150, 400]), rng.choice([1, 2, 3]), rng.randrange(60), rng.getrandbits(32)
    limit = rng.choice([""] * 9 + ["3  "])
    lanes = bool(limit)     # where there are any the station tells so
    for one in (store, twin):
        started(one)
        members = filled(one, plans, stations)
        if kind:
            ODD[kind](random.Random(seed), one, members[at])
    twin.bounds = WITHOUT
    now, looked = T0 + 2 * SECOND, ""
    for _ in range(12):
        usual = rng.random() < 0.8
        # Each of them is told of: what is behind the last room of many is of nobody else.
        targets = [room(name, rng.choice([0, 20, 40, 128, 256]), "next" if usual else rng.choice(["next", "held"]),
                        int(lanes or rng.random() < 0.1), limit) for name in STATIONS]
        options = {"limit": rng.choice([30, 100, 256]), "since": looked, "targets": targets,
                   "ahead": rng.choice([0, 0, 20_000]), "number": store.number + (rng.random() < 0.95)}
        answers = []
        for one in (store, twin):
            one.number = options["number"]
            answer = one.claim_all(**options)
            answers.append([answer[0], answer[1] and float(answer[1]), *answer[2:]])
        assert answers[0] == answers[1]
        assert everything(store) == everything(twin)
        assert store.db.get(CLAIMS) == twin.db.get(CLAIMS)
        looked, lanes = rng.choice([answers[0][3], ""]), lanes or kind in ("limit", "class")
        now += rng.choice([0, 1000, SECOND, 400 * SECOND])
        comes = rng.choice([None, None, 0, 10_000])
        for one in (store, twin):
            one.freeze(now)
            if comes is not None:
                one.submit(f"{0x5000 + now % 4096:x}", station="other", score=(now + comes) / SECOND, text=text())
