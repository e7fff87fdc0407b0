"""claim: what is due is taken, under an exec_id of its own, until the end of its lease."""
import pytest

from storescripts import IDS, META, RUN, T0, TIME_SET, entry, held_as, member, score_after

BYTES_MAX, LOOK_MAX, PASS_MAX, LIMIT = 4194304, 512, 64, 100
SECOND = 1_000_000


def members(claim):
    return [plan.member for plan in claim.plans]


def rows(answer):
    """Flat: of each plan three values."""
    assert answer[6] == 0 and len(answer[7:]) % 3 == 0
    return list(zip(answer[7::3], answer[9::3], answer[8::3]))


def more(answer):
    """Whether an answer says that more plans are due."""
    return answer[4]


def test_empty_store(store):
    claim = store.claim()
    assert claim.next is None and claim.broken == [] and claim.plans == []
    assert store.dump() == {}


def test_claimed_plan(store):
    store.freeze(T0)
    store.submit("1f", score=5, text="text")
    claim = store.claim(lease=300)
    assert claim == (T0, score_after(T0, 300), [], [(member("1f"), "text", str(T0), 0, "", 0)])
    assert store.dump() == {
        member("1f"): "text", IDS: {entry("1f"): 0}, RUN: {member("1f"): held_as(T0)},
        META: {"exec": str(T0)}, TIME_SET: {member("1f"): T0 / 1e6 + 300}}


def test_clock_is_that_of_redis(store):
    store.submit("1")
    before = store.redis_us()
    claim = store.claim(lease=300)
    assert before <= claim.now_us <= store.redis_us()
    # A score is a double: it holds a microsecond of today to about a quarter of one.
    assert store.db.zscore(TIME_SET, member("1")) == score_after(claim.now_us, 300)


@pytest.mark.parametrize("late_us, due", [(-SECOND, False), (-1, False), (0, True), (1, True),
                                          (SECOND, True)])
def test_due_when_the_score_is_reached(store, late_us, due):
    store.freeze(T0)
    store.submit("1", score=f"{(T0 - late_us) / 1e6:.6f}")
    assert len(store.claim().plans) == due


@pytest.mark.parametrize("score", ["-inf", "-1", "0", "0.5", "1e9", "1700000000.2499"])
def test_scores_by_hand_that_are_due(store, score):
    store.freeze(T0)
    store.submit("1", score=score)
    assert members(store.claim()) == [member("1")]


@pytest.mark.parametrize("score", ["1700000000.2501", "253402300799", "1e300", "+inf"])
def test_scores_by_hand_that_are_not_due(store, score):
    store.freeze(T0)
    store.submit("1", score=score)
    before = store.dump()
    claim = store.claim()
    assert claim.plans == [] and claim.next == float(score)
    assert store.dump() == before


def test_order_is_that_of_the_scores_then_of_the_names(store):
    for ident, score in [("1", 3), ("2", 1.5), ("3", 1.25), ("5", 2), ("4", 2)]:
        store.submit(ident, score=score)
    assert members(store.claim()) == [member(ident) for ident in "32451"]


def test_limit(store):
    for ident in "12345":
        store.submit(ident, score=int(ident))
    claims = [store.claim_all(limit=2) for _ in range(4)]
    assert [[row[0] for row in rows(claim)] for claim in claims] == [
        [member("1"), member("2")], [member("3"), member("4")], [member("5")], []]
    assert [more(claim) for claim in claims] == [1, 1, 0, 0]


def test_limit_zero_takes_nothing(store):
    store.submit("1", score=5)
    before = store.dump()
    claim = store.claim_all(limit=0)
    assert rows(claim) == [] and more(claim) == 1 and store.dump() == before


def test_next_is_the_first_score_that_is_not_due(store):
    store.freeze(T0)
    store.submit("1", score=1)
    store.submit("2", score=2)
    assert store.claim(limit=0).next is None
    assert store.claim(limit=1, lease=300).next == score_after(T0, 300)
    store.submit("3", score=f"{score_after(T0, 200):.6f}")
    assert store.claim(limit=0).next == score_after(T0, 200)


def test_claim_tells_its_clock_and_how_far_it_has_looked(store):
    store.freeze(T0)
    now_us, _, _, looked, *_ = store.claim_all()
    assert now_us == str(T0) and float(looked) == score_after(T0)


@pytest.mark.parametrize("sizes, taken", [
    ([BYTES_MAX // 2 + 1] * 3, 2),           # the second goes over the bound
    ([BYTES_MAX + 1, 1], 1),                 # one message over the bound is taken, alone
    ([BYTES_MAX, 1, 1], 2),                  # at the bound is not over it
    ([1] * 5, 5),
])
def test_bytes_of_an_answer_are_bounded(store, sizes, taken):
    store.freeze(T0)
    names = [str(i + 1) for i in range(len(sizes))]
    for ident, size in zip(names, sizes):
        store.submit(ident, score=int(ident), text="x" * size)
    first = store.claim_all()
    assert [row[0] for row in rows(first)] == [member(ident) for ident in names[:taken]]
    assert float(first[1]) == score_after(T0, 300) and more(first) == (taken < len(sizes))
    assert int(store.db.hget(META, "exec")) == rows(first)[-1][2]
    assert store.db.hlen(RUN) == taken
    assert members(store.claim()) == [member(ident) for ident in names[taken:]]


# The exec_id.

def test_exec_ids_grow_strictly_though_the_clock_stands(store):
    store.freeze(T0)
    for ident in "123":
        store.submit(ident)
    seen = [int(plan.exec_id) for plan in store.claim(limit=2).plans + store.claim().plans]
    assert seen == [T0, T0 + 1, T0 + 2]


def test_exec_ids_are_not_below_the_clock(store):
    seen = []
    for ident in "123":
        store.submit(ident)
        before = store.redis_us()
        seen.append(int(store.run(ident)))
        assert seen[-1] >= before
    assert seen == sorted(set(seen))


@pytest.mark.parametrize("ahead", [1, 10 * SECOND, 4_000_000_000 * SECOND])
def test_exec_ids_grow_after_the_clock_was_set_back(store, ahead):
    store.freeze(T0)
    store.db.hset(META, "exec", T0 + ahead)
    store.submit("1")
    store.submit("2")
    assert [plan.exec_id for plan in store.claim().plans] == [str(T0 + ahead + 1),
                                                              str(T0 + ahead + 2)]
    assert store.db.hget(META, "exec") == str(T0 + ahead + 2)


def test_exec_ids_follow_the_clock_when_the_store_lost_its_tail(store):
    store.freeze(T0)
    store.db.hset(META, "exec", T0 - 50 * SECOND)
    store.submit("1")
    assert store.run("1") == str(T0)


def test_claim_leaves_the_broadcasts_alone(store):
    store.db.hset(META, mapping={"seq": 7, "epoch": "abc"})
    store.submit("1")
    store.claim()
    meta = store.db.hgetall(META)
    assert (meta["seq"], meta["epoch"]) == ("7", "abc")


# What a dispatch changes in the message.

STAMPED = f'"exec_id":{T0},"exec_time":{T0 // SECOND}'
BIG_ID = '"plan_id":9223372036854775807'
QUOTED = r'"a":"exec_id","b":"\"exec_id\":5,\"exec_time\": 6"'


@pytest.mark.parametrize("text, expected", [
    ('{"exec_id":0,"exec_time":0}', "{" + STAMPED + "}"),
    ('{"exec_id":9223372036854775807,"exec_time":1234567890123}', "{" + STAMPED + "}"),
    (f'{{{BIG_ID},"exec_id":0,"exec_time":0,{BIG_ID}}}', f"{{{BIG_ID},{STAMPED},{BIG_ID}}}"),
    ('{"exec_time" : 7,\n"exec_id"\t:\n 8 }',
     f'{{"exec_time" : {T0 // SECOND},\n"exec_id"\t:\n {T0} }}'),
    # A client's text is inside of strings, where it has no bare quote.
    (f'{{{QUOTED},"exec_id":0,"exec_time":0}}', f"{{{QUOTED},{STAMPED}}}"),
    (r'{"a":"\\","exec_id":0,"exec_time":0}', r'{"a":"\\",' + STAMPED + "}"),
    ('{"plan_state":1,"revision":5}', '{"plan_state":2,"revision":5}'),
    ('{"revision" : 9007199254740991,"last_state":5,"plan_state"\t:\n7}',
     '{"revision" : 9007199254740991,"last_state":5,"plan_state"\t:\n2}'),
    (r'{"a":"\"revision\":5,\"plan_state\":6","revision":0,"plan_state":3}',
     r'{"a":"\"revision\":5,\"plan_state\":6","revision":0,"plan_state":2}'),
])
def test_run_is_written_into_the_message(store, text, expected):
    store.freeze(T0)
    store.submit("1", text=text)
    (plan,) = store.claim().plans
    assert plan.message == text and store.db.get(member("1")) == expected


@pytest.mark.parametrize("text", [
    "", "{}", "not JSON", '{"exec_id":null,"exec_time":"5","plan_state":"1","revision":null}',
    '{"my_exec_id":1,"exec_id_":2}', f"{{{QUOTED}}}", "%1 %d %%", "\0\xff",
])
def test_message_without_the_fields_stays_as_it_is(store, text):
    store.submit("1", text=text)
    (plan,) = store.claim().plans
    assert plan.message == text and store.db.get(member("1")) == text


# Runs that follow a run.

def test_again_when_a_lease_ended_without_a_result(store):
    store.freeze(T0)
    store.submit("1")
    first = store.claim(lease=10).plans[0]
    store.freeze(T0 + 10 * SECOND - 1)
    assert store.claim(lease=10).plans == []
    for turn in (1, 2):
        now_us = T0 + 10 * SECOND * turn
        store.freeze(now_us)
        assert store.claim(lease=10).plans == [
            (member("1"), "{}", str(now_us), 2, str(now_us - 10 * SECOND), 0)]
        assert store.db.hget(RUN, member("1")) == held_as(f"{now_us}+")
    assert first.again == 0 and first.exec_id == str(T0)


def test_not_again_after_a_commit_that_ended_the_run(store):
    store.freeze(T0)
    store.submit("1")
    for mode, when in (("retry", 0), ("next", 5), ("doubt", 0)):
        assert store.commit("1", store.run("1"), mode, when)[0] == 1
    # After a doubt the run is still in hand, but nothing is expected of it any more.
    assert store.db.hget(RUN, member("1")).endswith("? 0")
    assert store.claim().plans[0].again == 0


def test_again_stays_after_a_doubt(store):
    """A run that ran out of its lease may still answer, whatever became of the one after it."""
    store.freeze(T0)
    store.submit("1")
    store.claim(lease=0)
    again = store.claim(lease=0).plans[0]
    assert again.again == 2 and store.commit("1", again.exec_id, "doubt", 0)[0] == 1
    assert store.db.hget(RUN, member("1")) == held_as(again.exec_id + "+?")
    assert store.claim().plans[0].again == 1


def test_a_sign_of_life_ends_a_doubt(store):
    store.freeze(T0)
    store.submit("1")
    exec_id = store.run("1")
    assert store.commit("1", exec_id, "doubt", 0)[0] == 1
    assert store.commit("1", exec_id, "lease", 9)[0] == 1
    assert store.db.hget(RUN, member("1")) == held_as(exec_id)


def test_taken_plan_no_longer_waits_for_its_target(store):
    for ident, station in (("1", "jobs"), ("2", "jobs"), ("3", "other")):
        store.submit(ident, station)
        store.wait(ident, station=station)
    store.db.zadd(TIME_SET, {member("2"): 1e11})
    assert len(store.claim().plans) == 2
    assert store.waiting() == {member("2")}
    assert store.waiting("other") == set()


# Members that are not in order.

def bad_member(store, name, kind):
    if kind == "string":
        store.db.set(name, "{}")
    elif kind == "hash":
        store.db.hset(name, "a", "b")
    store.db.zadd(TIME_SET, {name: 1})
    store.db.hset(RUN, name, "17")


@pytest.mark.parametrize("kind", ["none", "hash"])
def test_member_without_a_sound_message_is_taken_out(store, kind):
    store.submit("2", score=2)
    bad_member(store, member("1"), kind)
    claim = store.claim()
    assert claim.broken == [member("1")] and members(claim) == [member("2")]
    assert store.db.zrange(TIME_SET, 0, -1) == [member("2")]
    assert store.db.hkeys(RUN) == [member("2")]
    # What is under the name is somebody's, and stays.
    assert store.db.exists(member("1")) == (kind == "hash")


def test_only_broken_members_use_up_no_exec_id(store):
    bad_member(store, member("1"), "none")
    claim = store.claim()
    assert claim.broken == [member("1")] and claim.next is None
    assert store.dump() == {}


NOT_NAMES = [
    "", "garbage", "plan:msg", "plan:msg:", "plan:msg:jobs", "plan:msg:jobs:", "plan:msg::1",
    "plan:msg:jobs:xyz", "plan:msg:jobs:1 ", "plan:msg:jobs:-1", "plan:msg:jobs:1:", "plan:msg:1",
    "plan:msg:a b:1", "plan:msg:a:b:1", "plan:msg:a/b:1", "plan:msg:\xff:1", "plan:msg:jobs:1\n",
    "plan:work:jobs:1", "xplan:msg:jobs:1", "PLAN:msg:jobs:1", "plan:msg:jobs:0x1",
    "plan:msg:a\0:1", "plan:msg:jobs:10000000000000000",
    "plan:msg:jobs:00000000000000001",
]


@pytest.mark.parametrize("name", NOT_NAMES)
def test_member_that_is_no_plan_key_is_taken_out(store, name):
    store.submit("2", score=2)
    bad_member(store, name, "string")
    claim = store.claim()
    assert claim.broken == [name] and members(claim) == [member("2")]
    assert name not in store.db.zrange(TIME_SET, 0, -1)
    assert store.db.zrange(IDS, 0, -1) == [entry("2")]


@pytest.mark.parametrize("name", [
    "plan:msg:jobs:FF",                     # the station's key would be plan:msg:jobs:ff
    "plan:msg:jobs:fF",
    "plan:msg:jobs:0ff",                    # so would this, and so the index entry
    "plan:msg:jobs:0",
    "plan:msg:jobs:8000000000000000",       # more than 63 bits
    "plan:msg:jobs:ffffffffffffffff",
    "plan:msg:" + "s" * 65 + ":1",
])
def test_member_with_a_name_no_commit_can_reach_is_taken_out(store, name):
    """Taken as a plan it would be claimed at each end of its lease, for ever."""
    bad_member(store, name, "string")
    claim = store.claim()
    assert claim.broken == [name] and claim.plans == []


@pytest.mark.parametrize("name, taken", [("plan:msg:jobs:1", 0), ("garbage", 1)])
def test_broken_members_are_taken_out_within_the_limit(store, name, taken):
    """One that is no plan's key takes no place; of a key it is known when it is read."""
    bad_member(store, name, "none")
    store.submit("2", score=2)
    claim = store.claim(limit=1)
    assert claim.broken == [name] and len(claim.plans) == taken
    assert members(store.claim(limit=1)) == [member("2")] * (1 - taken)


def test_looking_at_broken_members_is_bounded(store):
    """They keep nobody waiting: each claim takes as many out as it looks at."""
    # By pages of as many as it may take, until it has looked at LOOK_MAX besides.
    looked = -(-(LOOK_MAX + LIMIT) // LIMIT) * LIMIT
    store.db.zadd(TIME_SET, {f"garbage {i}": 1 for i in range(2 * looked + 10)})
    store.submit("2", score=2)
    claims = [store.claim(LIMIT) for _ in range(3)]
    assert [len(claim.broken) for claim in claims] == [looked, looked, 10]
    assert [members(claim) for claim in claims] == [[], [], [member("2")]]


@pytest.mark.parametrize("station", ["jobs", "a.b-c_D9", "-", ".", "s" * 64])
@pytest.mark.parametrize("ident", ["1", "1f0", "7fffffffffffffff"])
def test_plan_made_by_hand_gets_into_the_index(store, station, ident):
    store.db.set(member(ident, station), "by hand")
    store.db.zadd(TIME_SET, {member(ident, station): 1})
    assert members(store.claim()) == [member(ident, station)]
    assert store.db.zrange(IDS, 0, -1, withscores=True) == [(entry(ident, station), 0)]
    assert store.load(ident)[:2] == [member(ident, station), "by hand"]
    assert store.list() == [(entry(ident, station), "by hand")]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_claim_that_waited_for_redis_takes_nothing(store, count):
    """What its station wrote meanwhile comes behind it. What it had taken before it gives again."""
    store.freeze(T0)
    for nth in range(1, count + 1):
        store.submit(f"{nth:x}", score="1000")
    targets = [("jobs", 1000, "next", 0)]
    assert store.claim(late=T0, targets=targets).plans == []
    assert store.claim(number=7, late=T0 + 1, targets=targets).plans
    store.freeze(T0 + 5_000_000)
    assert len(store.claim(number=7, late=T0 + 1, targets=targets).plans) == count
    assert store.claim(late=T0 + 1, targets=targets).plans == []


def test_the_first_lease_is_that_of_a_claim_and_the_later_that_of_what_is_put_aside(store):
    store.freeze(T0)
    for ident, station in [("1", "jobs"), ("2", "away")]:
        store.submit(ident, score="1000", station=station)
    store.claim(lease=6, later=300, targets=[("jobs", 9, "next", 0), ("away", 0, "held", 0)])
    assert store.db.zscore(TIME_SET, member("1")) == score_after(T0, 6)
    assert store.db.zscore(TIME_SET, member("2", "away")) == score_after(T0, 300)
