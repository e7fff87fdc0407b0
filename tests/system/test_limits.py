"""Priorities, groups and limits: who goes first, how many are out at a time, and how often one begins."""
import json
import random
import time

import pytest

from clitest import zplan
from faulttest import Pair, resend
from zplantest import ST, later, wait_until

JOBS = "station:jobs"


def due(rig, fields, station="jobs"):
    """Plans that are due in one moment, in their order, each once; their ids."""
    ids = [rig.client.added(later(plan_repet=1, no_keep=True, **extra), station=station) for extra in fields]
    rig.db.zadd("plan:time:set", {rig.key(ident, station): 1 + number for number, ident in enumerate(ids)})
    return ids


def ident_of(run):
    return run.mailbox[1:].decode()


def taken(target, count):
    return [target.recv() for _ in range(count)]


def finish_all(target, count, runs=()):
    """So many runs, each answered before the next one is looked at; their ids."""
    runs, seen = list(runs), []
    while len(seen) < count:
        run = runs.pop(0) if runs else target.recv()
        seen.append(ident_of(run))
        target.finish(run)
    return seen


def limit(rig, name, **rule):
    rig.client.done("limit", "set", name, rule)


def test_higher_priorities_first(rig):
    priorities = list(range(1, 101))
    random.shuffle(priorities)
    ids = due(rig, [{"priority": priority} for priority in priorities])
    order = finish_all(rig.jobs, 100)
    assert order == [ident for _, ident in sorted(zip(priorities, ids), reverse=True)]
    wait_until(lambda: not rig.db.exists("plan:class") and not rig.ready(), "nothing is left")


def test_plans_without_one_come_last_and_in_their_order(rig):
    ids = due(rig, [{}, {"priority": 1}, {}, {"priority": 255}])
    assert finish_all(rig.jobs, 4) == [ids[3], ids[1], ids[0], ids[2]]


def test_one_that_comes_later_goes_before_those_that_wait(make_rig):
    rig = make_rig("--max-runs-target", "1", "--send-timeout", "60000")
    ids = due(rig, [{"priority": 3}] * 5)
    run = rig.jobs.recv()
    assert ident_of(run) == ids[0]
    wait_until(lambda: rig.ready() == 4, "the others wait")
    (first,) = due(rig, [{"priority": 4}])
    wait_until(lambda: rig.ready() == 5, "it waits as well")
    assert finish_all(rig.jobs, 6, [run]) == [ids[0], first, *ids[1:]]


@pytest.mark.parametrize("name, fields", [(JOBS, {}), ("group:g", {"group": "g"})])
def test_concurrency(rig, name, fields):
    limit(rig, name, concurrency=3)
    ids = due(rig, [fields] * 40)
    out, seen, waits = taken(rig.jobs, 3), [], []
    rig.jobs.nothing(0.3)
    while len(seen) < 40:
        run = out.pop(random.randrange(len(out)))
        seen.append(ident_of(run))
        rig.jobs.finish(run)
        since = time.monotonic()
        if len(seen) + len(out) < 40:
            out.append(rig.jobs.recv())
            waits.append(time.monotonic() - since)
        assert len(out) <= 3
    assert sorted(seen) == sorted(ids)
    assert sorted(waits)[len(waits) // 2] < 0.5, "the end of a run makes room at once, not by the look each second"


def test_rate(rig):
    limit(rig, JOBS, rate=10)
    ids = due(rig, [{}] * 30)
    times = []
    for _ in ids:
        run = rig.jobs.recv()
        times.append(run.claimed)       # not when the test has read it
        rig.jobs.finish(run)
    assert 2.8 <= times[-1] - times[0] < 15


def test_burst(rig):
    limit(rig, JOBS, rate=0.01, burst=4)
    due(rig, [{}] * 10)
    for run in taken(rig.jobs, 4):
        rig.jobs.finish(run)
    rig.jobs.nothing(1.5)


def test_limits_change_while_plans_wait(rig):
    limit(rig, JOBS, concurrency=2)
    ids = due(rig, [{}] * 20)
    out = taken(rig.jobs, 2)
    rig.jobs.nothing(0.2)
    limit(rig, JOBS, concurrency=5)
    out += taken(rig.jobs, 3)
    rig.jobs.nothing(0.2)
    limit(rig, JOBS, concurrency=1)
    for run in out[:4]:
        rig.jobs.finish(run)
    rig.jobs.nothing(0.5)
    rig.client.done("limit", "remove", JOBS)
    assert rig.client.done("limit", "list").json == {"limits": {}}
    finish_all(rig.jobs, 16, out[4:])
    wait_until(lambda: not any(rig.message(ident) for ident in ids), "all have run")


def test_groups_take_turns(make_rig):
    rig = make_rig("--max-runs-target", "4", "--send-timeout", "60000")
    big = due(rig, [{"group": "big"}] * 300)
    runs = taken(rig.jobs, 4)
    small = due(rig, [{"group": "small"}] * 5)
    wait_until(lambda: rig.ready() == 301, "they wait as well")
    order = finish_all(rig.jobs, 305, runs)
    assert set(order) == set(big + small)
    places = [order.index(ident) for ident in small]
    assert places[0] < 8 and max(places) < 24


def test_limited_silent_and_lost_targets_hold_up_nobody(make_rig):
    rig = make_rig("--station", "gone=api@ipc:///tmp/zplan-nobody-is-here", "--send-timeout", "60000")
    limit(rig, JOBS, rate=0.01)
    due(rig, [{"priority": 9}] * 300)
    due(rig, [{"priority": 9}] * 300, station="gone")
    rig.jobs.recv()     # and is not answered
    for _ in range(20):
        (ident,) = due(rig, [{"group": "g"}], station="news")
        run = rig.news.recv()
        assert ident_of(run) == ident
        rig.news.finish(run)


def test_places_of_a_station_that_was_killed_are_free_again(make_rig):
    rig = make_rig("--exec-timeout", "2")
    limit(rig, JOBS, concurrency=2)
    ids = due(rig, [{}] * 6)
    taken(rig.jobs, 2)
    rig.station.kill()
    rig.jobs.close()
    rig.jobs.open()
    rig.station.start()
    assert set(finish_all(rig.jobs, 6)) == set(ids)


def test_limits_are_kept_over_a_takeover(make_rig, request):
    """Over a takeover: the runs of the former owner count, and the limit is known."""
    rig = make_rig("--send-timeout", "60000")
    pair = Pair(rig)
    request.addfinalizer(pair.close)
    pair.start()
    limit(rig, JOBS, concurrency=2)
    ids = due(rig, [{}] * 12)
    out, seen = taken(rig.jobs, 2), []
    pair.stations[0].kill()
    pair.takes_over()
    rig.jobs.nothing(0.5)
    for run in out:
        resend(rig, ident_of(run), run)
        seen.append(ident_of(run))
    out = []
    while len(seen) < 12:
        while len(out) < 2 and rig.jobs.socket.poll(20):
            out.append(rig.jobs.recv())
        assert not rig.jobs.socket.poll(5) or len(out) < 2
        if len(out) == 2 or len(seen) + len(out) == 12:
            seen.append(ident_of(out[0]))
            rig.jobs.finish(out.pop(0))
    assert sorted(seen) == sorted(ids)
    pair.stations[1].stop()
    pair.stations[1].start()
    rig.client = pair.client(1)
    assert rig.client.done("limit", "list").json["limits"][JOBS] == {"concurrency": 2, "origin": "set"}


def test_limit_of_the_settings(make_rig):
    rig = make_rig("--station", "more=api@ipc:///tmp/zplan-nobody-is-here,concurrency=4,rate=2.5")
    assert rig.client.done("limit", "list").json == {
        "limits": {"station:more": {"concurrency": 4, "rate": 2.5, "origin": "settings"}}}
    limit(rig, "station:more")
    assert rig.client.done("limit", "list").json == {"limits": {"station:more": {"origin": "set"}}}


@pytest.mark.parametrize("change", ["remove", "pause"])
def test_what_waits_in_a_lane_obeys_its_manager(rig, change):
    limit(rig, JOBS, concurrency=1)
    ids = due(rig, [{}] * 6)
    run = rig.jobs.recv()
    wait_until(lambda: rig.ready() == 5, "the others wait")
    rig.client.done(change, ids[3])
    assert finish_all(rig.jobs, 5, [run]) == ids[:3] + ids[4:]
    rig.jobs.nothing(0.3)


def test_another_priority_while_it_waits(rig):
    limit(rig, JOBS, concurrency=1)
    ids = due(rig, [{}] * 6)
    run = rig.jobs.recv()
    wait_until(lambda: rig.ready() == 5, "the others wait")
    plan = rig.client.done("message", ids[5]).json
    rig.client.done("update", ids[5], {"revision": plan["revision"], "priority": 7})
    assert finish_all(rig.jobs, 6, [run]) == [ids[0], ids[5], *ids[1:5]]


def test_limits_from_a_shell(rig):
    def zplan_limit(*args):
        return zplan("--connect", rig.ipc("q"), "limit", *args)
    assert zplan_limit("set", JOBS, "group:a", "--concurrency", "4", "--rate", "0.5").done() == (
        "limit of station:jobs set\nlimit of group:a set\n")
    assert zplan_limit("set", "group:b", "--burst", "3").done() == "limit of group:b set\n"
    assert [line.split() for line in zplan_limit().done().splitlines()[1:]] == [
        [JOBS, "4", "0.5", "-", "set"], ["group:a", "4", "0.5", "-", "set"], ["group:b", "-", "-", "3", "set"]]
    assert zplan_limit("remove", "group:a", "group:b").done() == "limit of group:a removed\nlimit of group:b removed\n"
    assert json.loads(zplan_limit("list", "--json=wire").done()) == {
        "name": JOBS, "concurrency": 4, "rate": 0.5, "origin": "set"}
    assert zplan_limit("set", "target:jobs", "--rate", "2").done() == "limit of target:jobs set\n"
    assert json.loads(zplan_limit("list", "--json").done()) == {"name": JOBS, "rate": 2, "origin": "set"}
    assert zplan_limit("set", "jobs", "--rate", "3").done() == "limit of jobs set\n"
    assert json.loads(zplan_limit("list", "--json").done())["rate"] == 3
    assert "concurrency: want 1..10000" in zplan_limit("set", JOBS, "--concurrency", "0").failed(1)
    assert "want starts per second, 0.000001..1000000, got 'x'" in zplan_limit("set", JOBS, "--rate", "x").failed(2)
    assert "want the name of a target, or group:NAME" in zplan_limit("set").failed(2)


def whys(rig, ident):
    return [reason["why"] for reason in rig.client.done("why", ident).json["reasons"]]


def test_why_tells_the_limit(rig):
    limit(rig, JOBS, concurrency=2)
    limit(rig, "group:slow", rate=0.01)
    ids = due(rig, [{"priority": 5, "group": "slow"}, {"priority": 4, "group": "slow"}, {"priority": 3}, {}, {}])
    taken(rig.jobs, 2)
    wait_until(lambda: rig.ready() == 3, "the others wait")
    full = "the target jobs runs as many as its limit allows (2)"
    assert whys(rig, ids[3]) == ["1 due plans of the target run before it, by priority or time", full]
    assert whys(rig, ids[1]) == [full, "the group slow starts no more runs than its rate allows (0.01 a second)"]
    assert rig.client.done("why", ids[1]).json["reasons"][1]["at"]


@pytest.mark.parametrize("args, reason", [
    (("set", "jobs", {}), "limit: want station:NAME or group:NAME, got 'jobs'"),
    (("set", "group:a b", {}), "limit: want station:NAME or group:NAME, got 'group:a b'"),
    (("set", JOBS, {"concurrency": 0}), "concurrency: want 1..10000"),
    (("set", JOBS, {"rate": 0}), "rate: want starts per second, 0.000001..1000000"),
    (("set", JOBS, {"burst": 1.5}), "burst: want 1..1000000"),
    (("set", JOBS), "limit: want list, set station:NAME or group:NAME with a limit as JSON, or remove with such a "
                    "name"),
])
def test_what_is_refused(shared, args, reason):
    assert shared.client.refused("limit", *args) == reason


def test_remove_of_none(shared):
    assert shared.client.refused("limit", "remove", "group:x", status=ST.NOT_FIND) == "limit: no limit of this name is set"


def test_random_limits_are_never_exceeded_and_all_run(rig):
    """Against a model: who may be out at the same time."""
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    most = {JOBS: 6, "group:a": 2, "group:b": 3}
    for name, count in most.items():
        limit(rig, name, concurrency=count)
    fields = [{"group": rng.choice("abc"), "priority": rng.choice([0, 0, 5])} for _ in range(120)]
    groups = dict(zip(due(rig, fields), ("group:" + extra["group"] for extra in fields)))
    out, seen = [], set()
    while len(seen) < len(groups):
        while rig.jobs.socket.poll(50 if out else 20000):
            out.append(rig.jobs.recv())
        assert len(out) <= most[JOBS]
        for name in most:
            assert name == JOBS or sum(groups[ident_of(run)] == name for run in out) <= most[name]
        for run in rng.sample(out, rng.randint(1, len(out))):
            out.remove(run)
            seen.add(ident_of(run))
            rig.jobs.finish(run)
