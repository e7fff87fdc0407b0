"""zplan flow simulate: what the station adds to a run. Limits, workers, the flow plan, retries of sub-flows."""
import json
import os
import random

import pytest

from clitest import USAGE, zplan
from flowtest import AT, files, simulate      # noqa: F401 a fixture

FAN = {"flow": "fan", "max_parallel": 0, "steps": {"a": {"target": "jobs", "group": "g", "for_each": 6}}}
NIGHT = {"flow": "night", "output": "=idc.shouldFireTime.format('dd HH:mm')", "steps": {"a": {"target": "t"}}}
NIGHTLY = [*AT, "--cron", "0 2 * * *", "--runs", "6", "--json"]
OUTER = {"flow": "outer", "steps": {
    "sub": {"target": "inner", "undo": "inner", "retry": {"strategy": "fixed", "interval": 30, "max": 1}},
    "post": {"after": ["sub"], "target": "t"}}}
INNER = {"flow": "inner", "steps": {
    "one": {"target": "t"}, "two": {"after": ["one"], "target": "t", "undo": {"target": "t", "args": ["=self.value"]}}}}
UNDONE = {"flow": "inner", "steps": {
    "one": {"target": "t", "undo": {"target": "t"}}, "two": {"after": ["one"], "target": "t"}}}


def rows(*words):
    return [json.loads(line) for line in simulate(*words, "--json").splitlines()]


def seconds(row):
    return (row["ended"] - row["began"]) / 1000


def told(row, *kinds):
    return [f"{event['what']} {event['step']}" for event in row["events"] if event["what"] in kinds]


# -- limits and workers

@pytest.mark.parametrize("name, words, lasts, held", [
    ("no limit", [], 10, {}),
    ("of the target", ["--limit", "jobs=2"], 30, {"limit_ms": 20_000}),
    ("of the group", ["--limit", "group:g=3"], 20, {"limit_ms": 10_000}),
    ("both: the narrower one", ["--limit", "jobs=2", "--limit", "group:g=3"], 30, {"limit_ms": 20_000}),
    ("of another target", ["--limit", "other=1", "--limit", "group:other=1"], 10, {}),
    ("a rate", ["--rate", "jobs=0.5"], 20, {"limit_ms": 10_000}),
    ("a rate of the group", ["--rate", "group:g=0.1"], 60, {"limit_ms": 50_000}),
    ("a rate and a limit of one name", ["--rate", "jobs=0.5", "--limit", "jobs=1"], 60, {"limit_ms": 50_000}),
    ("as many workers", ["--workers", "jobs=6"], 10, {}),
    ("two workers", ["--workers", "jobs=2"], 30, {"worker_ms": 20_000}),
    ("two workers by name", ["--workers", "jobs=eu,us"], 30, {"worker_ms": 20_000}),
    ("more workers than the limit lets work", ["--workers", "jobs=4", "--limit", "jobs=2"], 30, {"limit_ms": 20_000}),
    ("workers of another target", ["--workers", "other=1"], 10, {}),
    ("an outage, then two workers", ["--outage", "jobs=02:00..02:10", "--workers", "jobs=2"], 630, {"target_ms": 600_000, "worker_ms": 20_000})])
def test_limits_and_workers_count_as_at_the_station(files, name, words, lasts, held):
    other = {"flow": "spare", "steps": {"a": {"target": "other"}}}
    row, = rows(*files(flow=FAN, other=other), *AT, "--each", "10s", *words)
    assert seconds(row) == lasts, name
    path, = row["critical"]
    assert {key: value for key, value in path.items() if key in ("target_ms", "limit_ms", "worker_ms")} == held, name


def test_a_wait_and_its_end_are_rows(files):
    text = simulate(*files(flow=FAN), *AT, "--each", "10s", "--limit", "jobs=5")
    assert "02:00:00  wait      a.5: the limit of jobs\n" in text
    assert "02:00:10  running   a.5: waited 10 s for a limit\n" in text
    assert "critical path: a (20 s, 10 s for a limit)\n" in text


def test_priorities_go_first(files):
    row, = rows(*files(flow={"flow": "f", "steps": {
        "first": {"target": "t"}, "low": {"target": "t"}, "high": {"target": "t", "priority": 9}}}),
        *AT, "--limit", "t=1")
    assert told(row, "finished") == ["finished high", "finished first", "finished low"]


def test_limits_hold_in_sub_flows_too(files):
    row, = rows(*files(flow={"flow": "f", "steps": {name: {"target": "inner"} for name in "abc"}}, inner=INNER),
                *AT, "--limit", "t=1")
    assert seconds(row) == 6
    row, = rows(*files(flow={"flow": "f", "steps": {name: {"target": "inner"} for name in "abc"}}, inner=INNER),
                *AT, "--limit", "inner=1")
    assert seconds(row) == 6 and told(row, "wait") == ["wait b", "wait c"]


TEAM = {"target": "deploy", "workers": {"count": 2, "only": ["eu", "us"]}, "retry": {"strategy": "fixed", "interval": 60, "max": 2}}


@pytest.mark.parametrize("name, workers, more, words, lasts, waits", [
    ("both are there", "eu,us", {}, [], 10, None), ("and one that may not", "eu,us,asia", {}, [], 10, None),
    ("one is missing", "eu,asia", {}, [], None, "a: more workers"),
    ("who failed may not take it again", "eu,us", {}, ["--fail", "a:1"], None, "a: a free worker of deploy"),
    ("but with again", "eu,us", {"again": True}, ["--fail", "a:1"], 80, None),
    ("longer than a day", "eu,us", {}, ["--last", "a=50h"], 180_000, None),
    ("for ever", "eu,us", {}, ["--never", "a"], None, None)])
def test_a_team_does_a_step(files, name, workers, more, words, lasts, waits):
    step = {**TEAM, "workers": {**TEAM["workers"], **more}}
    flow, = files(flow={"flow": "f", "steps": {"a": step}})
    row, = rows(flow, *AT, "--each", "10s", "--workers", f"deploy={workers}", *words)
    assert ("ended" in row) == bool(lasts), name
    assert not lasts or seconds(row) == lasts, name
    assert not waits or any(waits == f"{event['step']}: {event.get('why')}" for event in row["events"]), name


def test_a_timeout_frees_the_worker(files):
    row, = rows(*files(flow={"flow": "f", "steps": {
        "a": {"target": "t", "timeout": 60, "on_error": "continue"}, "b": {"after": ["a"], "target": "t"}}}),
        *AT, "--workers", "t=1", "--never", "a")
    assert seconds(row) == 61 and row["outcome"] == "finished"


def test_one_worker_that_failed_tries_again_alone(files):
    """7.9: nobody else asks, so it may have the retry 5 s after the offer."""
    row, = rows(*files(flow={"flow": "f", "steps": {"a": {"target": "t", "retry": {
        "strategy": "fixed", "interval": 60, "max": 1}}}}), *AT, "--workers", "t=1", "--fail", "a:1")
    assert seconds(row) == 1 + 60 + 6 + 1


def test_a_timeout_at_the_moment_of_another_event(files):
    """The core finds that the time of the run is over before its own timer rings."""
    row, = rows(*files(flow={"flow": "f", "steps": {
        "w": {"wait": 60}, "a": {"target": "t", "timeout": 60}, "b": {"after": ["w"], "target": "t"}}}),
        *AT, "--workers", "t=2", "--never", "a")
    assert row["outcome"] == "failed" and seconds(row) == 61 and row["uncaught"] == ["a"]


SEED = int(os.environ.get("ZPLAN_FLOW_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)


def intervals(row):
    """Of each step when its calls ran, and when they waited for their turn."""
    ran, waited, since = [], [], {}
    for event in row["events"]:
        step, what, at = event["step"], event["what"], event["at"]
        if what in ("start", "wait", "running"):
            if what == "running":
                waited.append((step, since[step], at))
            elif what == "wait":
                assert event["why"].startswith(("the limit of", "a free worker of")), event
            since[step] = at
        elif what in ("retry", "finished", "failed"):
            ran.append((step, since[step], at))
            if what == "retry":             # its next attempt begins then, unless it waits
                since[step] = at + 1000 * int(event["why"].split("next in ")[1].split("000 ms")[0])
    return ran, waited


@pytest.mark.parametrize("workers", [False, True])
def test_random_flows_use_a_limit_and_never_exceed_it(files, workers):
    """At each moment at most so many calls run, and just as many while one waits."""
    rng = random.Random(SEED)
    for _ in range(25):
        most, count, words = rng.randrange(1, 4), rng.randrange(2, 14), []
        steps = {}
        for at in range(count):
            steps[f"s{at}"] = {"target": "t", "on_error": "continue", "workers": {"again": True}, "after": [
                f"s{source}" for source in rng.sample(range(at), min(at, rng.randrange(3)))]}
            if rng.random() < 0.3:
                steps[f"s{at}"]["retry"] = {"strategy": "fixed", "interval": rng.randrange(1, 20), "max": 2}
                words += ["--fail", f"s{at}:{rng.randrange(1, 4)}"]
            words += ["--last", f"s{at}={rng.randrange(1, 30)}s"] if rng.random() < 0.5 and at < 12 else []
        words += ["--workers", f"t={most}"] if workers else ["--limit", f"t={most}"]
        flow, = files(flow={"flow": "f", "max_parallel": 0, "steps": steps})
        row, = rows(flow, *AT, "--each", "7s", *words)
        ran, waited = intervals(row)
        for moment in sorted({at for _, *both in ran for at in both}):
            running = sum(begin <= moment < end for _, begin, end in ran)
            waiting = any(begin <= moment < end for _, begin, end in waited)
            assert running == most if waiting else running <= most, (SEED, steps, words, moment, running)


# -- the flow plan

@pytest.mark.parametrize("name, words, want", [
    ("by default what came due meanwhile is missed", [], ["31 02:00", None, None, "03 02:00", None, None]),
    ("queue: the newest of it runs late", ["--overlap-policy", "queue"],
     ["31 02:00", None, "02 02:00", None, "04 02:00", None]),
    ("misfire all: every one of it", ["--misfire", "all"],
     ["31 02:00", "01 02:00", "02 02:00", "03 02:00", "04 02:00", "05 02:00"]),
    ("skip", ["--misfire", "all", "--overlap-policy", "skip"], ["31 02:00", None, None, "03 02:00", None, None]),
    ("queue, but not later than an hour", ["--overlap-policy", "queue", "--misfire", "skip", "--misfire-window", "1h"],
     ["31 02:00", None, None, "03 02:00", None, None])])
def test_what_comes_due_during_a_long_run(files, name, words, want):
    found = rows(*files(flow=NIGHT), *NIGHTLY, "--last", "a=50h", *words)
    assert [row.get("output") for row in found] == want, name
    assert all((row["outcome"] == "missed") == (wanted is None) for row, wanted in zip(found, want)), name
    assert [row["nominal"] for row in found] == sorted(row["nominal"] for row in found) or None in want, name


def test_the_plans_retry_is_a_retry_of_what_failed(files):
    flow = {"flow": "f", "steps": {"a": {"target": "t"}, "b": {"after": ["a"], "target": "t"}}}
    row, = rows(*files(flow=flow), *AT, "--fail", "b:1", "--retry", "fixed:1h:2")
    assert row["outcome"] == "finished" and seconds(row) == 3603
    assert told(row, "start", "retry") == ["start a", "start b", "retry f", "start b"]


def test_the_plans_retry_of_what_was_undone_begins_anew(files):
    row, = rows(*files(flow=UNDONE), *AT, "--fail", "two:1", "--retry", "fixed:1h:2")
    assert row["outcome"] == "finished"
    assert told(row, "start", "undo", "retry") == [
        "start one", "start two", "undo one", "retry inner", "start one", "start two"]


def test_a_plan_that_needs_an_operator_is_parked(files):
    """18.7: a failed run stops the schedule."""
    flow, = files(flow=NIGHT)
    row, = rows(flow, *NIGHTLY, "--fail", "a", "--retry", "fixed:1h:1,manual")
    assert row["outcome"] == "failed" and row["parked"] and seconds(row) == 3602
    words = [word for word in NIGHTLY if word != "--json"]
    assert simulate(flow, *words, "--fail", "a", "--retry", "none,manual").startswith(
        "2026-01-31 02:00:01  failed after 1 s; the plan needs an operator\n")
    assert len(rows(flow, *NIGHTLY, "--fail", "a")) == 6


def test_the_plans_timeout_goes_first(files):
    flow, = files(flow={"flow": "f", "timeout": 3600, "steps": {"a": {"target": "t"}}})
    row, = rows(flow, *AT, "--never", "a", "--run-timeout", "60")
    assert row["outcome"] == "timeout" and seconds(row) == 60
    row, = rows(flow, *AT, "--never", "a")
    assert row["outcome"] == "timeout" and seconds(row) == 3600


def test_nights_share_the_limits(files):
    """The rate allows the night's second call only after an hour."""
    flow, = files(flow={"flow": "f", "steps": {"a": {"target": "t"}, "b": {"target": "t"}}})
    found = rows(flow, *NIGHTLY, "--rate", "t=0.000277777")
    assert len(found) == 6 and {round(seconds(row)) for row in found} == {3601}


# -- sub-flows

def test_a_retry_of_a_sub_flow_keeps_what_finished(files):
    row, = rows(*files(flow=OUTER, inner=INNER), *AT, "--fail", "sub/two:1")
    assert row["outcome"] == "finished"
    assert told(row, "start", "retry") == [
        "start sub", "start sub/one", "start sub/two", "retry sub", "start sub/two", "start post"]


def test_a_retry_of_a_sub_flow_that_was_undone_begins_anew(files):
    row, = rows(*files(flow=OUTER, inner=UNDONE), *AT, "--fail", "sub/two:1")
    assert told(row, "start", "undo", "retry") == [
        "start sub", "start sub/one", "start sub/two", "undo sub/one", "retry sub", "start sub/one", "start sub/two",
        "start post"]


def test_a_retry_above_goes_on_within_the_sub_flow(files):
    outer = {**OUTER, "steps": {"sub": {"target": "inner"}, "post": OUTER["steps"]["post"]}}
    row, = rows(*files(flow=outer, inner=INNER), *AT, "--fail", "sub/two:1", "--retry", "fixed:1h:1")
    assert row["outcome"] == "finished"
    assert told(row, "start", "retry") == [
        "start sub", "start sub/one", "start sub/two", "retry outer", "start sub", "start sub/two", "start post"]


def test_params_that_failed_are_evaluated_again(files):
    inner = {"flow": "inner", "params": {"x": "=input.nope"}, "steps": {"one": {"target": "t"}}}
    row, = rows(*files(flow=OUTER, inner=inner), *AT)
    assert row["outcome"] == "failed" and told(row, "start", "retry") == ["start sub", "retry sub"]
    assert "missing" in row["events"][-2]["why"]


@pytest.mark.parametrize("name, value, outcome, undone", [
    ("the last to end first", "5", "failed", ["undo sub", "undo sub/two"]),
    ("an undo that cannot be made waits for an operator", "null", "waiting", ["undo sub"])])
def test_undo_inner(files, tmp_path, name, value, outcome, undone):
    (tmp_path / "value").write_text(value)
    row, = rows(*files(flow=OUTER, inner=INNER), *AT, "--fail", "post", "--value", f"sub/two={tmp_path / 'value'}")
    assert row["outcome"] == outcome and told(row, "undo") == undone, name
    assert row["waits"] == ([] if "ended" in row else ["an operator: the undo of sub/two failed"]), name


def test_a_timeout_of_a_sub_flow_lets_finally_run(files):
    inner = {"flow": "inner", "finally": "end", "steps": {"one": {"target": "t"}, "end": {"target": "t"}}}
    outer = {"flow": "outer", "steps": {"sub": {"target": "inner", "timeout": 60}}}
    row, = rows(*files(flow=outer, inner=inner), *AT, "--never", "sub/one")
    assert seconds(row) == 61 and told(row, "cancelled", "finished", "failed") == [
        "cancelled sub/one", "finished sub/end", "failed sub"]
    assert row["events"][-1]["why"] == "timed out"
    outer["steps"]["sub"] = {"target": "inner", "total_timeout": 30}
    row, = rows(*files(flow=outer, inner=inner), *AT, "--never", "sub/one")
    assert seconds(row) == 31 and row["events"][-1]["why"] == "total_timeout: not ended within 30 s"


def test_what_a_sub_flow_waits_for_has_its_path(files):
    row, = rows(*files(flow=OUTER, inner=INNER), *AT, "--never", "sub/one")
    assert row["waits"] == ["sub/one"]


def test_a_sub_flow_that_has_finished_stays_without_an_undo_of_its_step(files):
    outer = {**OUTER, "steps": {"sub": {"target": "inner"}, "post": OUTER["steps"]["post"]}}
    row, = rows(*files(flow=outer, inner=UNDONE), *AT, "--fail", "post")
    assert row["outcome"] == "failed" and not told(row, "undo")


def test_a_sub_flow_has_times_and_zone_of_the_outermost_run_and_params_of_its_own(files):
    inner = {"flow": "inner", "params": {"p": 1}, "steps": {"one": {"target": "t"}}, "output":
             "=idc.createTime.format('dd HH:mm ') + idc.shouldFireTime.format('dd HH:mm ') + idc.actualFireTime.format('HH:mm ') + p"}
    outer = {"flow": "outer", "params": {"p": 7}, "steps": {"first": {"target": "t"}, "sub": {"after": ["first"], "target": "inner"}}}
    found = rows(*files(flow=outer, inner=inner), *AT, "--timezone", "Asia/Tokyo", "--cron", "0 2 * * *", "--runs", "2",
                 "--last", "first=1h")
    assert [row["output"]["sub"] for row in found] == ["31 02:00 31 02:00 03:00 1", "31 02:00 01 02:00 03:00 1"]


# -- usage

@pytest.mark.parametrize("words, told", [
    (["--limit", "jobs"], "--limit 'jobs': want TARGET=N or group:NAME=N"), (["--limit", "jobs=0"], "--limit"),
    (["--limit", "a b=1"], "--limit"), (["--rate", "jobs=x"], "--rate"), (["--rate", "jobs=0"], "--rate"),
    (["--rate", "jobs=nan"], "--rate"), (["--workers", "jobs=0"], "--workers"), (["--workers", "jobs=eu,eu"], "--workers"),
    (["--workers", "jobs=eu,"], "--workers"), (["--workers", "jobs"], "--workers"),
    (["--workers", "jobs=1", "--workers", "jobs=2"], "want a target once"), (["--misfire", "x"], "--misfire"),
    (["--overlap-policy", "x"], "--overlap-policy"), (["--retry", "x"], "--retry")])
def test_what_is_wrong_is_named(files, words, told):
    assert told in zplan("flow", "simulate", *files(flow=FAN), *words).failed(USAGE)
