"""The probe of a claim (claim.lua): the plan that a target without room gets all the same."""
from storescripts import T0, member


def waiting(store, *idents, station="jobs", **options):
    for n, ident in enumerate(idents):
        store.submit(ident, station=station, score=1000 + n, **options)


def taken(store, probe, room=0, limit=""):
    answer = store.claim(targets=[("jobs", room, "held " + member(probe), 0, limit)])
    return [plan.member for plan in answer.plans]


def test_of_a_target_without_room_the_probe_is_taken_when_it_is_due(store):
    waiting(store, "1", "2", "3")
    assert taken(store, "2") == [member("2")]
    assert taken(store, "2") == []          # its lease
    assert store.db.zcard("plan:held:jobs") == 2


def test_a_probe_that_is_not_due_is_not_taken(store):
    waiting(store, "1")
    store.submit("2", score=T0)
    store.db.zadd("plan:time:set", {member("2"): 9999999999})
    assert taken(store, "2") == []


def test_the_probe_of_a_target_with_a_limit_is_taken_and_counts(store):
    waiting(store, "1", "2")
    assert taken(store, "2", limit="1  ") == [member("2")]
    assert store.db.zscore("plan:busy:s:jobs", member("2"))
    assert taken(store, "9", room=5, limit="1  ") == []


def test_the_probe_counts_for_a_rate(store):
    waiting(store, "1", "2")
    assert taken(store, "2", limit=" 0.001 1") == [member("2")]
    assert taken(store, "9", room=5, limit=" 0.001 1") == []
