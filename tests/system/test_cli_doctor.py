"""zplan doctor: what it finds, and what it says is to be done."""
import json
import re
import time

import pytest

from clitest import DONE, REFUSED, NO_ANSWER, JSON, STATUS, FakeStation, reply, taken_apart, zplan
from faulttest import connected
from zplanprocs import Zpland
from zplantest import FT, ST, WAIT, at_once, later, wait_until

HEALTHY = {"healthy": True, "problems": [], "warnings": [], "findings": [],
           "redis": {"state": "up", "trouble": "", "fsync": "always", "acknowledged": "kept",
                     "replicas": 0, "version": "7.0.15", "maxmemory_policy": "noeviction",
                     "maxmemory": 0, "used_memory": 1, "clock_ahead_ms": 3},
           "targets": 1, "connected": 1, "attending": 1, "version": "0.1.0", "uptime_s": 5}
STATS = {"due": 0, "next": 0, "targets": [{"name": "jobs", "connected": True, "since": 1700000000}]}


def doctor(health=None, stats=None, *args, clock_ms=0, up=True):
    """What it says of a station that answers so."""
    def answer(request):
        word, _ = taken_apart(request)
        now = {"now_ms": int(time.time() * 1000) + clock_ms}
        told = {**HEALTHY, **(health or {})} if word == "health" else {**STATS, **(stats or {})}
        if word == "stats" and not up:
            return [reply(request, 0x87, (STATUS, b"-net error: Redis is away"))]
        return [reply(request, 1, (STATUS, b"+ok"), (JSON, json.dumps({**told, **now}).encode()))]
    with FakeStation(answer) as station:
        return station.zplan("doctor", *args)


def test_all_is_well():
    out = doctor().done()
    assert out.startswith("good  the station is healthy\n")
    assert "its version is 7.0.15, appendfsync always, maxmemory-policy noeviction, its clock +3 ms" \
        in out
    assert "target jobs is connected since 2023-11-14T22:13:20Z\n" in out


@pytest.mark.parametrize("since, words", [(1700000000, "a:17 owns the plans since 2023-11-14T22:13:20Z; 2 standbys"),
                                          (0, "a:17 has not reached the plans yet")])
def test_who_owns_the_plans(since, words):
    assert f"      {words}\n" in doctor({"owner": "a:17", "owner_since": since, "standbys": 2}).done()


def test_what_the_station_found_is_told_with_what_to_do():
    ended = doctor({"healthy": False, "problems": ["x"], "findings": [
        {"level": "problem", "text": "Redis\x1b is away", "do": "start it"},
        {"level": "warning", "text": "runs as root", "do": "give it a user"}]}, up=False)
    assert ended.code == REFUSED and ended.err == ""
    assert ended.out.startswith("bad   Redis\\x1b is away\n      do: start it\n"
                                "warn  runs as root\n      do: give it a user\n      Redis is up\n")


@pytest.mark.parametrize("clock_ms, told", [(0, None), (-90000, "behind"), (90000, "ahead of")])
def test_the_clock_of_the_station(clock_ms, told):
    ended = doctor(clock_ms=clock_ms)
    assert ended.code == DONE
    assert ("the station's clock is" in ended.out) == bool(told)
    assert not told or f"ms {told} this machine's\n      do: " in ended.out


def test_plans_that_are_overdue():
    first = int(time.time()) - 300
    ended = doctor(None, {"due": 17, "next": first}, "--json=wire")
    told = json.loads(ended.out)
    assert ended.code == REFUSED and told["healthy"] is False
    assert told["problems"] == [told["findings"][0]["text"]]
    assert told["findings"][0]["text"].startswith("17 plans are overdue, the first for 30")
    assert doctor(None, {"due": 17, "next": int(time.time()) - 5}).code == DONE
    assert doctor(None, {"due": 0, "next": first}).code == DONE


def followed_up(target, plans=(), runs=(), **more):
    """What it says of one target, of plans that `list` gives (of each state that is asked for),
    and of runs that the history has."""
    def answer(request):
        word, args = taken_apart(request)
        now = time.time()
        answer = {"health": HEALTHY, "list": {"plans": []}, "flow": {"runs": []},
                "stats": {**STATS, "targets": [{"name": "jobs", "connected": True, "since": 1700000000,
                                                **target}]},
                "history": {"runs": [{"station": "jobs", "ended": now - 5, **run} for run in runs]}}
        answer = {**answer[word], "now_ms": int(now * 1000)}
        if word == "list":
            asked = json.loads(args[0])
            assert asked["station"] == "jobs"
            answer["plans"] = [{"plan_id": 1, "plan_time": int(now + at)} for state, at in plans
                             if state == asked["state"]]
            answer.update(more)
        return [reply(request, 1, (STATUS, b"+ok"), (JSON, json.dumps(answer).encode()))]
    with FakeStation(answer) as station:
        return station.zplan("doctor", "--json=wire")


AWAY, IDLE, SILENT = ({"connected": False}, {"no_worker": 1700000000},
                      {"unresponsive_since": 1700000000})
FAILED, LOST, GOOD = {"status": 0x82, "reason": "exit 7"}, {"status": 0x86}, {"status": 1}


@pytest.mark.parametrize("case, level, told", [
    (dict(target={}), None, None),
    (dict(target=AWAY), None, None),        # the station itself says that it is away
    (dict(target=AWAY, plans=[("queue", 60)]), None, None),
    (dict(target=AWAY, plans=[("retry", -60)]), "problem",
     r"target jobs is not connected since .*, and 1 plan waits for it"),
    (dict(target=AWAY, plans=[("retry", -60), ("queue", -5)], next="7"), "problem",
     r"target jobs is not connected since .*, and 2 or more plans wait for it"),
    (dict(target=IDLE), "warning", r"target jobs has no worker since .*, and 0 plans wait for it"),
    (dict(target=IDLE, plans=[("retry", -1)] * 3 + [("execute", -1)]), "problem",
     r"target jobs has no worker since .*, and 4 plans wait for it"),
    (dict(target=SILENT, plans=[("execute", -90)]), "problem",
     r"target jobs is unresponsive since .*, and 1 plan waits for it"),
    (dict(target=SILENT), None, None),      # the station says so
    (dict(target={"unresponsive_since": 1 << 40}, plans=[("execute", -5)]), None, None),
    (dict(target={}, plans=[("retry", -60)]), None, None),
    (dict(target={}, runs=[FAILED, LOST, FAILED]), "problem",
     "the last 3 runs of target jobs failed: 2 failed, 1 timed out; the last one: exit 7"),
    (dict(target={}, runs=[LOST]), "warning", "the last 1 run of target jobs failed: 1 timed out"),
    (dict(target={}, runs=[FAILED] * 9 + [GOOD]), None, None),
    (dict(target={}, runs=[{**FAILED, "station": "news"}] * 9), None, None),
    (dict(target={}, runs=[{**FAILED, "ended": 1700000000}] * 9), None, None),
    # No run has failed: nothing was taken, or a person has cancelled it.
    (dict(target={}, runs=[{"status": status} for status in (0x88, 0x8C, 0x8D, 0x90, 0x91)]), None,
     None),
    (dict(target={}, runs=[{"status": 0x82, "reason": "ä" * 300}] * 3), "problem",
     "the last 3 runs of target jobs failed: 3 failed; the last one: " + "ä" * 100 + "$"),
])
def test_targets_and_their_runs(case, level, told):
    ended = followed_up(**case)
    findings = json.loads(ended.out)["findings"]
    assert ended.code == (REFUSED if level == "problem" else DONE)
    assert [finding["level"] for finding in findings] == ([level] if level else [])
    assert not level or re.match(told, findings[0]["text"]), findings


def test_it_is_not_called_good_when_a_target_does_not_work():
    away = {"targets": [{"name": "jobs", "connected": False, "since": 1700000000}]}
    assert not doctor(None, away).done().startswith("good")
    assert doctor().done().startswith("good")


def test_a_station_that_does_not_answer():
    assert "no answer" in zplan("--connect", "tcp://127.0.0.1:1", "--timeout", "100",
                                "doctor").failed(NO_ANSWER)


# -- a real one

def finding(rig, text):
    told = json.loads(zplan("--connect", rig.ipc("q"), "doctor", "--json=wire").out)
    return [found["do"] for found in told["findings"] if text in found["text"]]


def test_redis_and_the_targets_of_a_real_station(make_rig):
    rig = make_rig("--accept-loss")
    connected(rig)
    out = zplan("--connect", rig.ipc("q"), "doctor").done()
    version = rig.redis.client().info()["redis_version"]
    assert f"its version is {version}, appendfsync everysec" in out
    assert "target jobs is connected since 20" in out
    assert "appendfsync is everysec" in out and "do: redis-cli CONFIG SET appendfsync always" in out
    admin = rig.redis.client()
    admin.config_set("maxmemory", "1gb")
    admin.config_set("maxmemory-policy", "allkeys-lru")
    wait_until(lambda: finding(rig, "maxmemory-policy is allkeys-lru"), "the policy is told")
    admin.config_set("maxmemory-policy", "noeviction")
    wait_until(lambda: not finding(rig, "maxmemory-policy"), "it is put right")
    admin.config_set("maxmemory", str(int(admin.info("memory")["used_memory"] * 1.02)))
    wait_until(lambda: finding(rig, "Redis uses"), "it is nearly full")
    rig.jobs.close()
    wait_until(lambda: finding(rig, "target jobs is not connected"), "the target is away")
    assert "target jobs is away since 20" in zplan("--connect", rig.ipc("q"), "doctor").out


def test_a_station_without_targets(tmp_path):
    station = Zpland(tmp_path / "log", ["--data", str(tmp_path / "data"),
                                        *(word for name in ("request", "publish", "events")
                                          for word in ("--" + name, f"ipc://{tmp_path}/{name}"))])
    station.start()
    try:
        zplan("--connect", f"ipc://{tmp_path}/request", "target", "remove", "jobs").done()     # which it has itself
        ended = zplan("--connect", f"ipc://{tmp_path}/request", "doctor")
        assert ended.code == REFUSED and "good" not in ended.out
        assert "bad   no target is known: every plan is rejected\n      do: zplan target add" in ended.out
    finally:
        station.stop()
        station.reap()


def test_a_station_that_has_not_reached_redis(tmp_path):
    at = [word for name in ("request", "publish", "events") for word in ("--" + name, f"ipc://{tmp_path}/{name}")]
    station = Zpland(tmp_path / "log", ["--redis", "127.0.0.1:1", *at])
    station.start(wait_ready=False)
    try:
        wait_until(lambda: zplan("--connect", f"ipc://{tmp_path}/request", "--timeout", "500", "ping").code != NO_ANSWER, "it answers")
        out = zplan("--connect", f"ipc://{tmp_path}/request", "doctor").out
        assert " has not reached the plans yet\n" in out and " owns the plans" not in out
        assert "target add" not in out and "whether acknowledged plans are kept is unknown: Redis was not reached yet\n" in out
    finally:
        station.reap()


def test_a_target_without_a_worker(make_rig):
    """Its plans wait: that is a problem until one has come."""
    rig = make_rig("--station", "pile=pull")
    ident = rig.client.added(at_once())
    rig.jobs.answer(rig.jobs.recv(), ST.NOT_WORKER)
    rig.state(ident, ST.NOT_WORKER)
    assert finding(rig, "target jobs has no worker since 2") == \
        ["start a worker (zplan work), or see why the target does not know it"]
    ended = zplan("--connect", rig.ipc("q"), "doctor")
    assert ended.code == REFUSED and "good" not in ended.out and "1 plan waits for it" in ended.out
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    assert not finding(rig, "has no worker")
    ident = rig.client.added(at_once(), station="pile")
    wait_until(lambda: finding(rig, "target pile has no worker since 2"), "nobody takes it", 30)
    assert "1 plan waits for it" in zplan("--connect", rig.ipc("q"), "doctor").out
    assert rig.client.done("take", {"station": "pile"}).json["jobs"]
    assert not finding(rig, "has no worker")


def test_a_target_that_is_away_with_plans_waiting(rig):
    rig.jobs.close()
    wait_until(lambda: finding(rig, "target jobs is not connected"), "the target is away")
    assert zplan("--connect", rig.ipc("q"), "doctor").code == DONE
    rig.client.added(at_once())
    rig.client.added(later())
    wait_until(lambda: "and 1 plan waits for it" in zplan("--connect", rig.ipc("q"), "doctor").out, "a plan waits")
    assert zplan("--connect", rig.ipc("q"), "doctor").code == REFUSED


def test_a_target_whose_runs_all_fail(rig):
    for _ in range(3):
        rig.client.added(at_once(retry={"strategy": "none"}))
        rig.jobs.finish(rig.jobs.recv(), ST.FAILED, [(FT.STATUS, b"no paper")])
    wait_until(lambda: finding(rig, "the last 3 runs of target jobs failed: 3 failed; the last one: "
                               "no paper"), "all failed")
    assert zplan("--connect", rig.ipc("q"), "doctor").code == REFUSED
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    assert not finding(rig, "failed")


def test_stats_tell_of_each_target(rig):
    def jobs():
        return {target["name"]: target for target in rig.client.done("stats").json["targets"]}["jobs"]
    before = time.time()
    wait_until(lambda: jobs()["connected"], "it is connected")
    assert jobs()["connected"] is True and abs(jobs()["since"] - before) < 60 + WAIT
    rig.client.added(at_once())
    run = rig.jobs.recv()
    assert (jobs()["sent"], jobs()["unanswered"], jobs()["fresh"]) == (1, 1, 0)
    rig.jobs.finish(run)
    wait_until(lambda: jobs()["ended_well"] == 1, "it ended")
    ident = rig.client.added(later())
    rig.due_now(ident)      # a day before its time: that is not late
    rig.jobs.finish(rig.jobs.recv(), 0x82)
    wait_until(lambda: jobs()["failed"] == 1, "it failed")
    assert (jobs()["sent"], jobs()["fresh"], jobs()["late_ms"]) == (2, 1, 0)
    rig.client.added({"plan_type": 1, "plan_time": int(time.time()) - 50, "no_keep": True,
                      "description": "late"})
    wait_until(lambda: jobs()["fresh"] == 2, "it is sent")
    assert 50000 <= jobs()["late_ms"] < 90000
