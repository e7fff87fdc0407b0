"""traceparent of a plan, of its runs, their results and their workers."""
import json
import re

import pytest

from clitest import start
from zplanprocs import wait_until
from zplantest import ST, at_once, later, told

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01")


def ids(plan):
    return FORM.fullmatch(plan["traceparent"]).groups()


def dropped(rig):
    return rig.client.done("stats").json["counters"]["dropped_traces"]


def test_a_plan_that_runs_once_continues_the_trace(rig):
    ident = rig.client.added(at_once(traceparent=PARENT))
    first = rig.jobs.recv()
    rig.jobs.finish(first, ST.FAILED)
    rig.due_now(ident)
    second = rig.jobs.recv()
    traces, spans = zip(*(ids(run.plan) for run in (first, second)))
    assert set(traces) == {PARENT[3:35]} and len({*spans, PARENT[36:52]}) == 3
    assert "trace_link" not in second.plan


def test_each_occurrence_is_a_trace_and_its_tries_are_one(rig):
    ident = rig.client.added({"plan_type": 2, "plan_value": 3600, "plan_repet": 5, "traceparent": PARENT})
    runs = []
    for status in (ST.FAILED, ST.OK, ST.OK):
        rig.due_now(ident)
        runs.append((run := rig.jobs.recv()).plan)
        rig.jobs.finish(run, status)
        wait_until(lambda: len(rig.client.done("history", ident).json["runs"]) == len(runs), "it is written")
    traces, spans = zip(*map(ids, runs))
    assert traces[0] == traces[1] != traces[2] and PARENT[3:35] not in traces
    assert len(set(spans)) == 3 and {run["trace_link"] for run in runs} == {PARENT}


def test_lists_have_what_was_submitted(rig):
    ident = rig.client.added(later(traceparent=PARENT))
    plan, = rig.client.done("list", json.dumps({"limit": 1})).json["plans"]
    assert plan["traceparent"] == PARENT and "trace_link" not in plan
    stored = json.loads(rig.db.get(f"plan:msg:jobs:{ident}"))
    assert stored["traceparent"] == PARENT


@pytest.mark.parametrize("wrong", ["", "x", PARENT.upper(), PARENT[:-1], PARENT + "0", 7, None, [PARENT],
                                   "0" * 55, PARENT.replace("00-", "01-", 1)])
def test_a_wrong_one_is_left_out_and_counted(rig, wrong):
    before = dropped(rig)
    ident = rig.client.added(later(traceparent=wrong))
    assert dropped(rig) == before + 1
    assert "traceparent" not in json.loads(rig.db.get(f"plan:msg:jobs:{ident}"))


def test_without_one_nothing_changes(rig):
    ident = rig.client.added(later())
    assert "trace" not in rig.db.get(f"plan:msg:jobs:{ident}").decode()
    rig.due_now(ident)
    run = rig.jobs.recv().plan
    assert "traceparent" not in run and "trace_link" not in run


def test_a_worker_gets_that_of_its_run(make_rig, tmp_path):
    rig = make_rig("--station", "fetched=pull")
    out = tmp_path / "out"
    worker = start("--connect", rig.ipc("q"), "work", "--pull", "fetched", "--", "sh", "-c",
                   f"echo $TRACEPARENT >{out}.new; mv {out}.new {out}", env={"TRACEPARENT": PARENT})
    try:
        for plan, wanted in ((at_once(traceparent=PARENT), PARENT[3:35]), (at_once(), None)):
            ident = rig.client.added(plan, station="fetched")
            wait_until(out.exists, "it has run")
            rig.gone(ident)
            text = out.read_text().strip()
            assert FORM.fullmatch(text)[1] == wanted if wanted else text == ""
            out.unlink()
    finally:
        worker.kill()
        worker.communicate()


def test_results_and_history_are_of_their_run(rig):
    results = rig.subscribe(b"")
    ident = rig.client.added({"plan_type": 2, "plan_value": 3600, "plan_repet": 5, "traceparent": PARENT})
    rig.due_now(ident)
    run = rig.jobs.recv()
    rig.jobs.finish(run)
    assert told(results.recv())["traceparent"] == run.plan["traceparent"] != PARENT
    outcome, = rig.client.done("history", ident).json["runs"]
    assert outcome["trace"] == run.plan["traceparent"]
    assert plan_of(rig, ident)["traceparent"] == PARENT


def plan_of(rig, ident):
    return next(plan for plan in rig.client.done("list", "{}").json["plans"] if plan["plan_id"] == int(ident, 16))
