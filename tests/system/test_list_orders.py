"""list in another order than that of ids: by the next time, runs in progress, what stopped, and dead letters."""
import json
import random
import time

import pytest

from clitest import USAGE, objects, zplan
from curvetest import EVERY_ROLE, CurveRig
from zplantest import FT, ST, at_once, later, wait_until

ORDERS = ["id", "time", "running", "stopped", "dead"]


def walk(rig, **query):
    """The ids of all pages, each page with as much as it may have."""
    found, query = [], {"limit": 1000, **query}
    while True:
        answer = rig.client.done("list", query).json
        assert len(answer["plans"]) <= query["limit"]
        found += [f"{plan['plan_id']:x}" for plan in answer["plans"]]
        if "next" not in answer:
            return found
        query["after"] = answer["next"]


def failed(rig, verdict="failure", **fields):
    """A plan that is a dead letter."""
    ident = rig.client.added(at_once(plan_repet=1, retry={"strategy": "none"}, **fields))
    run = rig.jobs.recv()
    rig.jobs.finish(run, ST.FAILED, [(FT.STATUS, b"-failed")])
    wait_until(lambda: rig.message(ident).get("verdict"), "it is over")
    return ident


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_by_time(rig, limit):
    """Also many of one instant, and across pages."""
    dice, base, plans = random.Random(3), int(time.time()) + 10000, []
    for _ in range(60):
        at = base + dice.choice([0, 1, 1, 1, 50])
        plans.append((at, rig.client.added({**later(), "plan_time": at})))
    rig.client.done("pause", plans.pop()[1])
    found = walk(rig, order="time", limit=limit)
    times = dict((ident, at) for at, ident in plans)
    assert sorted(found) == sorted(times) and [times[ident] for ident in found] == sorted(times.values())
    some = [ident for ident in found if base + 1 <= times[ident] < base + 50]
    assert walk(rig, order="time", limit=limit, **{"from": base + 1, "to": base + 50}) == some and some
    assert walk(rig, order="time", station="news") == []


def test_a_place_that_was_left(rig):
    """The page behind it begins where it stood."""
    base = int(time.time()) + 10000
    idents = [rig.client.added({**later(), "plan_time": base + n}) for n in range(6)]
    answer = rig.client.done("list", {"order": "time", "limit": 3}).json
    rig.client.done("remove", idents[2])
    assert walk(rig, order="time", after=answer["next"]) == idents[3:]


def test_running(rig):
    idents = [rig.client.added(at_once()) for _ in range(5)]
    runs = [rig.jobs.recv() for _ in idents]
    queued = rig.client.added(later())
    assert walk(rig, order="running", limit=2) == sorted(idents, key=lambda ident: int(ident, 16))
    assert walk(rig, order="time") == [queued]
    assert walk(rig, order="running", station="news") == []
    plans = rig.client.done("list", {"order": "running"}).json["plans"]
    assert {plan["plan_state"] for plan in plans} == {2} and {plan["exec_id"] for plan in plans} == {run.exec_id for run in runs}
    for run in runs:
        rig.jobs.finish(run)
    wait_until(lambda: walk(rig, order="running") == [], "all have ended")


def test_pages_of_large_runs_are_bounded(rig):
    """In bytes: 4 MiB, and one more."""
    idents = {rig.client.added(at_once(), more=[(FT.BIN, b"x" * 900000)]) for _ in range(9)}
    for _ in idents:
        rig.jobs.recv()
    answer = rig.client.done("list", {"order": "running", "limit": 1000}).json
    assert 3 <= len(answer["plans"]) < 9 and "next" in answer
    assert set(walk(rig, order="running")) == idents


def test_stopped_and_dead(rig):
    """What stopped last comes first; who goes on, or is gone, is there no more."""
    paused = [rig.client.added(later()) for _ in range(3)]
    for ident in paused:
        rig.client.done("pause", ident)
    dead = failed(rig)
    held = rig.client.added({**later(), "hold": True})
    closed = rig.client.added(later())
    rig.client.done("close", closed)
    every = [closed, held, dead, *paused[::-1]]
    for limit in (1, 2, 1000):
        assert walk(rig, order="stopped", limit=limit) == every
    assert walk(rig, order="dead") == [dead]
    assert walk(rig, order="stopped", state="pause") == [held, *paused[::-1]]
    rig.client.done("close", paused[0])             # it stays where it stands
    assert walk(rig, order="stopped") == every
    rig.client.done("reset", paused[1])
    rig.client.done("remove", paused[2])
    rig.client.done("done", dead, "looked at")      # a person has: it is stopped, and no dead letter
    assert walk(rig, order="stopped") == [closed, held, dead, paused[0]]
    assert walk(rig, order="dead") == []
    assert rig.db.zcard("plan:stopped") == 4 and not rig.db.exists("plan:dead")


def test_a_plan_that_was_paused_during_its_last_run(rig):
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.client.done("pause", ident)
    assert walk(rig, order="stopped") == [ident]
    rig.jobs.finish(run)
    rig.gone(ident)
    assert walk(rig, order="stopped") == [] and not rig.db.exists("plan:stopped")


def test_a_good_run_writes_nothing_of_it(rig):
    """Not even that it is not there."""
    with rig.db.monitor() as monitor:
        ident = rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(ident)
        rig.db.echo("end")
        for command in monitor.listen():
            assert "plan:stopped" not in command["command"] and "plan:dead" not in command["command"]
            if command["command"] == "ECHO end":
                break


def test_a_manual_run_of_a_stopped_plan(rig):
    ident = rig.client.added(later())
    rig.client.done("pause", ident)
    before = rig.db.zscore("plan:stopped", f"plan:msg:jobs:{ident}")
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    assert walk(rig, order="stopped") == [ident]
    rig.jobs.finish(run)
    wait_until(lambda: rig.message(ident)["last_state"], "it has ended")
    assert walk(rig, order="stopped") == [ident]
    assert rig.db.zscore("plan:stopped", f"plan:msg:jobs:{ident}") == before


def test_those_of_a_former_version_are_found(make_rig):
    """The upkeep adds them; and members that nothing stands behind go when they are met."""
    rig = make_rig("--sweep-interval", "1")
    dead, paused = failed(rig), rig.client.added(later())
    rig.client.done("pause", paused)
    rig.db.delete("plan:stopped", "plan:dead")
    rig.db.zadd("plan:stopped", {"plan:msg:jobs:77": 5, "nonsense": 6, "plan:msg:jobs:0": 7})
    wait_until(lambda: sorted(walk(rig, order="stopped")) == sorted([dead, paused]), "the upkeep adds them")
    assert walk(rig, order="dead") == [dead]
    wait_until(lambda: rig.db.zscore("plan:stopped", "plan:msg:jobs:77") is None, "it is gone")


@pytest.mark.parametrize("query, told", [
    ({"order": "best"}, "order: want id, time, running, stopped or dead"),
    ({"order": 1}, "order: want"),
    ({"after": "1:jobs:2a"}, "after: want the next of the previous page, in the same order"),
    ({"order": "time", "after": "2a"}, "after: want the next"),
    ({"order": "time", "after": "x:jobs:2a"}, "after: want"),
    ({"order": "time", "after": "1:jo bs:2a"}, "after: want"),
    ({"order": "time", "after": "1:jobs:2g"}, "after: want"),
    ({"order": "time", "after": "1::2a"}, "after: want"),
    ({"order": "dead", "after": f"1:{'x' * 65}:2a"}, "after: want"),
    ({"from": 5}, "from, to: go with the order time only"),
    ({"order": "dead", "to": 5}, "from, to: go with the order time only"),
    ({"station": ""}, "station: want a target's name"),
    ({"title": ""}, "title: want a pattern of 1 to 64 bytes"),
    ({"order": "time", "from": 0}, "from: want Unix seconds")], ids=str)
def test_what_is_refused(shared, query, told):
    assert shared.client.refused("list", query).startswith(told)


def test_the_command_line(rig):
    first, second = (rig.client.added({**later(), "plan_time": int(time.time()) + after}) for after in (9000, 8000))
    dead = failed(rig)

    def listed(*args):
        return [plan["id"] for plan in objects(zplan("--connect", rig.ipc("q"), "list", "--json", *args))]
    assert listed() == [first, second, dead]
    assert listed("--order", "time") == [second, first] and listed("--order", "time", "--limit", "1") == [second]
    assert listed("--order", "dead") == listed("--order", "stopped") == [dead] and listed("--order", "running") == []
    assert "--order" in zplan("list", "--order", "best").failed(USAGE)


@pytest.mark.parametrize("order", ["id", "time", "stopped"])
def test_pages_of_a_bound_key_end_at_its_own_plans(make_rig, order):
    """Their places would name the plans of other targets."""
    rig = make_rig(kind=CurveRig)
    member = rig.member(rig.allow("news", EVERY_ROLE, stations="news"))
    added = {station: [rig.client.added(later(at), station=station) for at in range(600 + first, 640, 2)]
             for first, station in enumerate(("jobs", "news"))}
    if order == "stopped":
        for ident in sum(added.values(), []):
            rig.client.done("pause", ident)
    for limit in (1, 7):
        found, text, after = [], "", {}
        while after is not None:
            page = member.done("list", {"order": order, "limit": limit, **after}).json
            found += [f"{plan['plan_id']:x}" for plan in page["plans"]]
            text += json.dumps(page)
            after = {"after": page["next"]} if "next" in page else None
        assert sorted(found) == sorted(added["news"])
        assert not [ident for ident in added["jobs"] if ident in text] and "jobs" not in text
