"""Plans that workers fetch: offers, teams and what is written at each step (rows E021 to E053)."""
import json

import pytest

from storescripts import (RUN, T0, TIME_SET, digits, held_as, member, message, offers_key, score_after, team_key)

NOMINAL = 1_700_000_000
GONE = [0, "the run is over"]


def plan(nominal=NOMINAL, errors=0, state=1, revision=7, **more):
    return message(exec_id=0, plan_state=state, revision=revision, plan_time=nominal, error_count=errors, **more)


@pytest.fixture
def at(store):
    """Move the clock to so many seconds after the beginning."""
    def move(seconds):
        store.freeze(T0 + round(seconds * 1_000_000))
    move(0)
    return move


def offer(store, ident="1f", stands=False, **more):
    """Claim the plan and offer it. (exec_id, answer)"""
    exec_id = store.run(ident)
    return exec_id, store.team("offer", ident, exec_id, int(stands), **more)


def made(store, ident="1f", **more):
    """A plan that is offered; its run."""
    store.submit(ident, text=plan(**more))
    exec_id, answer = offer(store, ident)
    assert answer[0] == 1
    return exec_id


def take(store, worker, limit=1, start=0, members=(), **more):
    """(place to look on from, members taken)"""
    return taken(store, worker, limit, start, "", members, **more)[::2]


def taken(store, worker, limit=1, start=0, station_limit="", members=(), alone=False, **more):
    """(place to look on from, ms to wait for a limit, members taken)"""
    answer = store.team("take", worker, limit, start, station_limit, int(alone), *members, **more)
    return answer[0], answer[1], answer[2::5]


def alive(store, worker, ident="1f", exec_id=""):
    return store.team("alive", digits(ident), worker, exec_id)


def report(store, worker, state="success", ident="1f", exec_id="", reason="", result=""):
    return store.team("report", digits(ident), worker, exec_id, state, reason, result)


def states(store, ident="1f"):
    return {row[0]: row[1] for row in store.team("team", digits(ident))[4:]}


def lease(store, ident="1f"):
    return store.db.zscore(TIME_SET, member(ident))


def test_an_offer_is_in_the_list_with_a_lease_of_its_own(store, at):
    exec_id = made(store)
    assert store.db.zrange(offers_key(), 0, -1) == [member("1f")]
    assert lease(store) == score_after(T0, 300)
    assert store.db.hget(RUN, member("1f")) == held_as(exec_id + "?!", 7)


def test_an_offer_of_another_run_is_refused(store, at):
    made(store)
    before = store.db.dump(team_key("1f"))
    assert store.team("offer", "1f", "123", 0) == [0] and store.team("offer", "2f", "123", 0) == [0]
    assert store.db.dump(team_key("1f")) == before


def test_an_offer_asked_twice_does_nothing_the_second_time(store, at):
    exec_id = made(store, workers={"count": 2})
    assert take(store, "w1")[1]
    assert store.team("offer", "1f", exec_id, 0) == [1, 1, 0, []]
    assert states(store) == {"w1": "running"}


def test_E039_the_end_of_its_lease_is_no_loss(store, at):
    """The next claim tells no outcome, and the offer goes on: who was late has made way."""
    made(store, workers={"worker_timeout": 40})
    take(store, "w1")
    assert lease(store) == score_after(T0, 40.001)
    at(40.001)
    (claimed,) = store.claim().plans
    assert (claimed.again, claimed.lost) == (0, "") and store.history().outcomes == []
    assert store.team("offer", "1f", claimed.exec_id, 1) == [1, 1, 0, []]
    assert states(store) == {} and take(store, "w2")[1] == [member("1f")]


def test_a_message_that_the_claim_left_says_that_it_is_run(store, at):
    """A claim of many does not write them."""
    for nth in range(1, 41):
        store.submit(f"{nth:x}", text=plan())
    for claimed in store.claim().plans:
        assert json.loads(claimed.message)["plan_state"] == 1
        assert store.team("offer", claimed.member.rpartition(":")[2], claimed.exec_id, 0)[0] == 1
        found = json.loads(store.db.get(claimed.member))
        assert (found["plan_state"], found["exec_id"]) == (2, int(claimed.exec_id))


@pytest.mark.parametrize("state", [5, 7])
def test_one_that_was_paused_or_closed_meanwhile_stays_so_and_is_not_taken(store, at, state):
    store.submit("1f", text=plan())
    exec_id = store.run("1f")
    assert store.change("1f", "7", plan(state=state), "out", exec_id) == 1
    store.team("offer", "1f", exec_id, 0)
    assert json.loads(store.db.get(member("1f")))["plan_state"] == state and lease(store) is None
    assert take(store, "w1")[1] == []
    assert store.db.zcard(offers_key()) == (1 if state == 5 else 0)


def test_E036_the_list_holds_what_is_free(store, at):
    made(store, workers={"count": 2})
    assert take(store, "w1")[1] == [member("1f")] and store.db.zcard(offers_key()) == 1
    assert take(store, "w1")[1] == []       # row E035: not twice
    assert take(store, "w2")[1] == [member("1f")] and store.db.zcard(offers_key()) == 0


def test_E037_the_order_of_the_list(store, at):
    plans = {"1": {}, "2": {"priority": 5}, "3": {"priority": 5, "workers": {"only": ["w1"]}}, "4": {"priority": 255}}
    for ident, more in plans.items():
        made(store, ident, **more)
    assert take(store, "w1", 10)[1] == [member(ident) for ident in "4321"]


def test_a_look_ends_and_tells_where(store, at):
    """What was taken or is void is no longer in front of that place."""
    for nth in range(1, 301):
        made(store, f"{nth:x}", workers={"only": ["w2"]})
    store.db.zadd(offers_key(), {member("ffff"): 0})
    made(store, "fff")
    assert take(store, "w1") == (255, [])
    assert take(store, "w1", start=255) == ("", [member("fff")])
    assert store.db.zscore(offers_key(), member("ffff")) is None


def test_filters_are_texts_of_the_message(store, at):
    made(store, tenant="acme", creator=7)
    assert take(store, "w1", members=['"tenant":"acm"'])[1] == []
    assert take(store, "w1", members=['"tenant":"acme"', '"creator":7'])[1] == [member("1f")]


@pytest.mark.parametrize("rule", ["1", '"x"', "[]", '{"count":"many"}', '{"only":5}', '{"only":["}"]}', "{"])
def test_a_rule_made_by_hand_is_as_none(store, at, rule):
    made(store)
    text = store.db.get(member("1f"))
    store.db.set(member("1f"), text[:-1] + ',"workers":' + rule + "}")
    assert take(store, "w1")[1] == [member("1f")]
    assert alive(store, "w1") == [1, 30, 60]


@pytest.mark.parametrize("value", ["by hand", "\xc1", "\x01", "\x90"])
def test_a_team_made_by_hand_is_passed_over(store, at, value):
    exec_id = made(store)
    store.db.hset(team_key("1f"), mapping={"w:w1": value, "team": value})
    assert take(store, "w1")[1] == []
    assert store.team("offer", "1f", exec_id, 1)[0] == 1
    assert take(store, "w2")[1] == [member("1f")]


def test_keys_of_another_type_are_replaced(store, at):
    for key in (team_key("1f"), offers_key()):
        store.db.set(key, "by hand")
    made(store)
    assert take(store, "w1")[1] == [member("1f")]


def test_E040_a_sign_of_life_moves_the_limit(store, at):
    made(store)
    take(store, "w1")
    at(50)
    assert alive(store, "w1") == [1, 30, 60] and lease(store) == score_after(T0 + 50_000_000, 60.001)
    at(110)
    assert alive(store, "w1") == [1, 30, 60]
    at(170.001)
    assert alive(store, "w1") == [0, "the worker was not heard of for longer than worker_timeout"]
    assert alive(store, "w1") == [0, "the worker is not in the team"]
    assert store.db.zcard(offers_key()) == 1


@pytest.mark.parametrize("ping, timeout, told", [(7, 300, [1, 7, 60]), (60, 300, [1, 60, 300])])
def test_E052_E053_what_an_update_changes_for_those_at_work(store, at, ping, timeout, told):
    """The pause at once; the limit only when the old one cannot be kept with it."""
    made(store)
    take(store, "w1")
    text = store.db.get(member("1f"))
    store.db.set(member("1f"), text[:-1] + f',"workers":{{"ping_interval":{ping},"worker_timeout":{timeout}}}}}')
    assert alive(store, "w1") == told


def test_E051_who_may_no_longer_makes_way_at_its_sign_of_life(store, at):
    made(store)
    take(store, "w1")
    text = store.db.get(member("1f"))
    store.db.set(member("1f"), text[:-1] + ',"workers":{"only":["w2"]}}')
    assert alive(store, "w1") == [0, "only: the worker may not do it any more"]
    assert take(store, "w1")[1] == [] and take(store, "w2")[1] == [member("1f")]


def test_E022_E023_a_report_is_of_who_is_in_the_team(store, at):
    exec_id = made(store)
    take(store, "w1")
    assert report(store, "w2")[0] == 0
    assert report(store, "w1", exec_id="5") == [0, "the worker has another run of this plan now"]
    answer = report(store, "w1", exec_id=exec_id, result='"yes"')
    assert answer == [1, [1, 0, "w1", "", '"yes"'], member("1f"), held_as(exec_id + "?!", 7), store.db.get(member("1f"))]
    assert report(store, "w1", exec_id=exec_id, result='"yes"') == answer   # its answer was lost
    assert report(store, "w1", "fail", exec_id=exec_id) == [0, OTHER]
    assert report(store, "w1", exec_id=exec_id, result='"no"') == [0, OTHER]
    assert alive(store, "w1") == [0, "the worker has ended its work"]


OTHER = "the worker has reported another result of this run"


def test_a_report_that_was_accepted_is_so_when_the_plan_is_gone(store, at):
    """The member names plan, run and worker; of others nothing is known, and nothing is done."""
    exec_id = made(store)
    take(store, "w1")
    report(store, "w1", "fail", exec_id=exec_id, reason="no")
    store.remove("1f")
    assert not store.db.exists(team_key("1f"))
    assert report(store, "w1", "fail", exec_id=exec_id, reason="no") == [1]
    assert report(store, "w1", "fail", exec_id=exec_id, reason="so") == [0, OTHER]
    assert report(store, "w2", "fail", exec_id=exec_id, reason="no") == [0, "there is no such plan"]
    assert report(store, "w1", "fail", exec_id="5", reason="no") == [0, "there is no such plan"]


def test_the_reports_that_are_kept_are_bounded(store, at):
    store.db.zadd("plan:reports", {f"{nth:x} 1 w": nth for nth in range(100_000)})
    exec_id = made(store)
    take(store, "w1")
    report(store, "w1", exec_id=exec_id)
    assert store.db.zcard("plan:reports") == 100_000 and store.db.zscore("plan:reports", "0 1 w") is None
    assert store.db.zscore("plan:reports", f"1f {exec_id} w1") and 0 < store.db.ttl("plan:reports") <= 86400


@pytest.mark.parametrize("ends, outcome", [
    ("ss", [2, 0, "w2", "2", ""]), ("sf", [2, 1, "w2", "2", ""]), ("fs", [2, 1, "w1", "1", ""]),
    ("ff", [2, 2, "w2", "2", ""])])
def test_E027_E028_the_outcome_of_several(store, at, ends, outcome):
    """Who failed last tells it, else who ended last."""
    made(store, workers={"count": 2})
    take(store, "w1")
    take(store, "w2")
    words = {"s": "success", "f": "fail"}
    assert report(store, "w1", words[ends[0]], reason="1")[1] == []
    at(1)
    assert report(store, "w2", words[ends[1]], reason="2")[1] == outcome
    assert lease(store) == score_after(T0 + 1_000_000, 1)       # for a station that dies now


def test_a_run_whose_end_was_not_written_is_told_anew(store, at):
    made(store)
    take(store, "w1")
    report(store, "w1", "fail", reason="no")
    at(1)
    assert offer(store, stands=True)[1] == [1, 0, 0, [1, 1, "w1", "no", ""]]


def failed(store, exec_id, **more):
    """The run failed, and is to be tried again."""
    assert store.commit("1f", exec_id, "retry", 0, plan(errors=1, state=3, revision=8, **more))[0] == 1


@pytest.mark.parametrize("again", [False, True])
def test_E035_the_next_try_is_for_others(store, at, again):
    exec_id = made(store, workers={"count": 2, "again": again})
    take(store, "w1")
    take(store, "w2")
    report(store, "w1")
    report(store, "w2", "fail")
    failed(store, exec_id, workers={"count": 2, "again": again})
    assert alive(store, "w1") == GONE and report(store, "w1", exec_id="5") == GONE
    assert offer(store)[1] == [1, 1, 0, []]
    assert states(store) == {"w1": "success", **({} if again else {"w2": "out"})}
    assert take(store, "w1")[1] == []
    assert take(store, "w2")[1] == ([member("1f")] if again else [])
    assert bool(take(store, "w3")[1]) != again


@pytest.mark.parametrize("alone, waited, may", [(True, True, True), (False, True, False), (True, False, False)])
def test_who_failed_tries_again_when_nobody_else_comes(store, at, alone, waited, may):
    exec_id = made(store)
    take(store, "w1")
    report(store, "w1", "fail")
    failed(store, exec_id)
    offer(store)
    at(5.1 if waited else 4.9)
    assert take(store, "w1", alone=alone)[1] == ([member("1f")] if may else [])


@pytest.mark.parametrize("more", [{"nominal": NOMINAL + 60}, {"errors": 0, "extra": 1}])
def test_another_run_has_another_team(store, at, more):
    exec_id = made(store)
    take(store, "w1")
    report(store, "w1", "fail")
    assert store.commit("1f", exec_id, "next", 1, plan(revision=8, **more))[0] == 1
    assert offer(store)[1] == [1, 1, 0, []] and states(store) == {}
    assert take(store, "w1")[1] == [member("1f")]


def test_a_run_besides_the_schedule_keeps_its_team_until_the_next(store, at):
    exec_id = made(store, extra=1)
    take(store, "w1")
    at(60.001)
    exec_id, answer = offer(store, stands=True)
    assert answer == [1, 1, 0, []] and take(store, "w2")[1]
    at(61)
    assert alive(store, "w2") == [1, 30, 60]
    report(store, "w2")
    assert store.commit("1f", exec_id, "next", 1, plan(extra=1, revision=9))[0] == 1
    assert offer(store)[1] == [1, 1, 0, []] and states(store) == {}


def test_a_reset_begins_anew(store, at):
    """A person wants it tried: whoever has failed may have it again."""
    exec_id = made(store, errors=3)
    take(store, "w1")
    report(store, "w1", "fail")
    assert store.commit("1f", exec_id, "retry", 0, plan(errors=0, revision=8))[0] == 1
    offer(store)
    assert take(store, "w1")[1] == [member("1f")]


def test_the_timeout_of_the_plan_counts_from_the_first_offer(store, at):
    made(store, timeout=100)
    assert lease(store) == score_after(T0, 100)
    take(store, "w1")
    at(60.001)
    assert offer(store, stands=True)[1] == [1, 1, 0, []]
    assert lease(store) == score_after(T0, 100)
    at(100)
    assert offer(store, stands=True)[1] == [1, 1, 1, []]


def test_what_is_out_of_the_queue_stays_out(store, at):
    made(store)
    take(store, "w1")
    store.db.zrem(TIME_SET, member("1f"))
    assert alive(store, "w1")[0] == 1 and lease(store) is None


@pytest.mark.parametrize("way", ["remove", "end", "by hand"])
def test_nothing_is_left_of_a_plan_that_is_gone(store, at, way):
    exec_id = made(store, workers={"count": 2})
    take(store, "w1")
    if way == "remove":
        assert store.remove("1f") == "jobs"
    elif way == "end":
        assert store.commit("1f", exec_id, "end")[0] == 1
    else:
        store.db.delete(member("1f"))
        assert store.remove("1f") == 0
    assert not store.db.exists(team_key("1f"), offers_key(), RUN)
    assert alive(store, "w1") == [0, "there is no such plan"] and store.team("team", digits("1f")) == []


def test_a_plan_of_another_station_is_none(store, at):
    made(store)
    take(store, "w1")
    assert store.team("alive", digits("1f"), "w1", "", station="news") == [0, "there is no such plan"]
    assert store.team("alive", digits("1f"), "w1", "", station="") == [1, 30, 60]


# Limits hold when a plan is taken.


def limit(store, name, text):
    store.db.hset("plan:limits", name, text)


def made_many(store, count, first=1, **more):
    for nth in range(first, first + count):
        made(store, f"{nth:x}", **more)


def test_a_station_is_at_work_on_as_many_as_its_limit_allows(store, at):
    """That of the settings, or over it the one that was set; a place is free when a run ends, or its worker is late."""
    made_many(store, 6)
    assert taken(store, "w1", 10, station_limit="2  ") == ("", 0, [member("1"), member("2")])
    assert taken(store, "w2", 10, station_limit="2  ") == ("", 0, [])
    report(store, "w1", ident="1", exec_id=run_of(store, "1"))
    assert taken(store, "w2", 10, station_limit="2  ")[2] == [member("3")]
    limit(store, "s:jobs", "3  ")
    assert taken(store, "w2", 10, station_limit="2  ")[2] == [member("4")]
    at(30)
    assert alive(store, "w2", "3") and alive(store, "w2", "4")
    at(60.001)                                      # w1 is late with 2, which is not offered again yet
    assert taken(store, "w3", 10)[2] == [member("5")]
    limit(store, "s:jobs", "  ")
    assert taken(store, "w3", 10) == ("", "", [member("6")])


def run_of(store, ident):
    return store.db.hget(RUN, member(ident)).split("?")[0]


def test_who_joins_a_run_that_is_out_needs_no_place(store, at):
    made_many(store, 2, workers={"count": 2})
    assert taken(store, "w1", 10, station_limit="1  ")[2] == [member("1")]
    assert taken(store, "w2", 10, station_limit="1  ")[2] == [member("1")]
    for worker in ("w1", "w2"):
        assert taken(store, worker, 10, station_limit="1  ")[2] == []
        report(store, worker, ident="1", exec_id=run_of(store, "1"))
    assert taken(store, "w1", 10, station_limit="1  ")[2] == [member("2")]


def submit_grouped(store, ident, group, station="jobs"):
    answers = store.submit_all([(ident, station, 1, plan())], classes=["0:" + group])
    assert answers == [1]


def test_a_group_counts_what_is_pushed_and_what_is_fetched(store, at):
    """One limit over both: each waits for the other, and neither keeps those of other groups."""
    limit(store, "g:disk", "2  ")
    for ident in "123":
        submit_grouped(store, ident, "disk")
    submit_grouped(store, "4", "other")
    submit_grouped(store, "a", "disk", "push")
    submit_grouped(store, "b", "disk", "push")
    pushed = [("push", 1, "next", 1), ("jobs", 100, "pull", 1)]
    claimed = {claim.member: claim.exec_id for claim in store.claim(targets=pushed).plans}
    assert sorted(claimed) == [member("1"), member("2"), member("3"), member("4"), member("a", "push")]
    for ident in "1234":
        assert store.team("offer", ident, claimed[member(ident)], 0)[0] == 1
    assert taken(store, "w1", 10) == ("", 0, [member("1"), member("4")])
    assert store.claim(targets=pushed).plans == []
    report(store, "w1", ident="1", exec_id=claimed[member("1")])
    (claim,) = store.claim(targets=pushed).plans
    assert claim.member == member("b", "push") and taken(store, "w2", 10)[2] == []
    assert store.commit_all([store.commit_args("a", claimed[member("a", "push")], "end", station="push")])[2] == 0
    assert taken(store, "w2", 10)[2] == [member("2")]


def test_runs_that_are_out_are_found_when_a_limit_is_set(store, at):
    made_many(store, 4)
    taken(store, "w1", 2)
    limit(store, "s:jobs", "3  ")
    assert taken(store, "w2", 10)[2] == [member("3")]


def test_a_rate_holds_for_those_that_are_taken(store, at):
    """A burst at once, then one each half second; the answer says how long to wait."""
    made_many(store, 10)
    limit(store, "s:jobs", " 2 3")
    assert taken(store, "w1", 10) == ("", 500, [member("1"), member("2"), member("3")])
    at(0.4)
    assert taken(store, "w1", 10) == ("", 100, [])
    at(0.5)
    assert taken(store, "w1", 10)[2] == [member("4")]
    at(5)
    assert taken(store, "w1", 2) == ("", "", [member("5"), member("6")])


def test_a_claim_of_what_workers_fetch_knows_no_limits(store, at):
    """They are offered, by priority; nothing is charged."""
    limit(store, "s:jobs", "1 1 1")
    for ident in "123":
        store.submit(ident, text=plan())
    assert len(store.claim(targets=[("jobs", 100, "pull", 1)]).plans) == 3
    assert not store.db.exists("plan:busy:s:jobs", "plan:tokens")
