"""Answers that are lost: the link asks again, and must get the same."""
from storescripts import CLAIMS, RUN, SENT, T0, TIME_SET, member

SECOND = 1_000_000


def test_a_claim_asked_again_gives_the_same_runs(store):
    store.freeze(T0)
    for ident in ("1", "2", "3"):
        store.submit(ident)
    first = store.claim(limit=2, number=7)
    before = store.dump()
    assert store.claim(limit=2, number=7).plans == first.plans and store.dump() == before
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


def test_the_ring_of_commits_is_bounded(store):
    store.submit("1")
    for number in (5, 5 + 4096, 5 + 2 * 4096):
        store.commit("1", store.run("1", lease=0), "next", 1, tell="result", number=number)
    assert store.db.hlen(SENT) == 1
    assert store.commit("1", "1", "next", 1, tell="result", number=5) == [0]


def test_a_run_that_was_not_sent_does_not_hide_one_that_may_still_answer(store):
    """Contract chapter 4, rule 5: run 1 ran out of its lease; run 2 could not be sent."""
    store.freeze(T0)
    store.submit("1")
    first = store.claim(lease=0).plans[0].exec_id
    second = store.claim(lease=0).plans[0]
    assert second.again == 1 and store.commit("1", second.exec_id, "retry", 0)[0] == 1
    assert store.commit("1", first, "next", 5) == [0]
    assert store.db.hget(RUN, member("1")) == "+"
    assert store.claim().plans[0].again == 1
