"""zplan flow backfill: a run for each time of a span, whose batch that is."""
import json
import re

import pytest

from clitest import DONE, USAGE, zplan
from flowrig import Flows, call
from zplantest import wait_until


@pytest.fixture
def flows(rig):
    flows = Flows(rig)
    flows.put("etl", {"load": call(args=["=idc.loadDate.format('yyyyMMdd HH:mm')", "=n"])}, params={"n": 1})
    return flows


def backfill(rig, *args):
    return zplan("--connect", rig.ipc("q"), "flow", "backfill", *args)


def test_each_day_once(rig, flows):
    """The days, also when it is asked for twice; and with a time that stands there, later."""
    span = ("etl", "--from", "2026-01-30", "--to", "2026-02-02", "--param", "n=7")
    printed = backfill(rig, *span).done()
    assert re.findall(r"(\S+): started \(plan [0-9a-f]+\)\n", printed) == ["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02"]
    calls = [flows.call() for _ in range(4)]
    assert sorted(one.args for one in calls) == [[f"{day} 00:00", "7"] for day in
                                                 ("20260130", "20260131", "20260201", "20260202")]
    again = backfill(rig, *span[:4], "2026-02-03").done()
    assert len(re.findall(r"exists \(run [0-9a-f]+, running\)", again)) == 4 and again.count("started") == 1
    keys = {plan["key"] for plan in rig.client.done("list", {"station": "etl"}).json["plans"]}
    assert keys == {f"etl@2026-0{day}" for day in ("1-30", "1-31", "2-01", "2-02", "2-03")}
    for one in [*calls, flows.call()]:
        flows.done(one)
    wait_until(lambda: {run["state"] for run in flows.flow("runs")["runs"]} == {"finished"}, "all have ended")
    assert len(flows.flow("runs")["runs"]) == 5


def ends(flows, *ways):
    """The calls of so many runs end one way each: finished, failed or cancelled; their runs by day."""
    runs = {}
    for call_, way in zip([flows.call() for _ in ways], ways):
        run = runs[call_.args[0][:8]] = call_.flow["run"]
        if way == "cancelled":
            flows.flow("cancel", run)
        else:
            (flows.done if way == "finished" else flows.fail)(call_)
        flows.until(run, way)
    return runs


def test_days_that_ran_do_not_run_again(rig, flows):
    """However they ended: their plans are gone, or kept since they failed. Only --again runs them."""
    span = ("etl", "--from", "2026-01-30", "--to", "2026-02-01")
    backfill(rig, *span).done()
    ways = ("finished", "failed", "cancelled")
    state = dict(zip(ends(flows, *ways).values(), ways))
    printed = backfill(rig, *span).done()
    found = re.findall(r"(?m)^(\S+): ran already \(run (\w+), (\w+)\)(?:: zplan flow retry (\w+))?$", printed)
    assert [day for day, *_ in found] == ["2026-01-30", "2026-01-31", "2026-02-01"], printed
    assert {run: state for _, run, state, _ in found} == state
    assert all(hint == ("" if end == "finished" else run) for _, run, end, hint in found)
    rows = [json.loads(line) for line in backfill(rig, *span, "--json").done().splitlines()]
    assert [(row["flow"], row["batch"], row["result"], row["run"], row["state"]) for row in rows] == [
        ("etl", day, "ran", run, end) for day, run, end, _ in found]
    assert len(flows.flow("runs")["runs"]) == 3
    again = backfill(rig, *span, "--again").done()
    assert again.count("started") == 2 and len(re.findall(r"exists \(plan \w+\)", again)) == 1
    assert set(ends(flows, "finished", "finished").values()).isdisjoint(state)


def test_a_run_of_the_same_batch_counts_whoever_started_it(rig, flows):
    """But none of another batch, none without a batch, and none that is a sub-flow's."""
    flows.put("above", {"inner": {"target": "etl"}})
    for name, batch in (("etl", {"batch": "2026-01-30T00:00"}), ("etl", {"batch": "2026-01-31T02:00"}), ("etl", {}),
                        ("above", {"batch": "2026-02-01"})):
        run = flows.run_of(flows.start(name, **batch), name)
        flows.next("load")
        flows.until(run, "finished")
    printed = backfill(rig, "etl", "--from", "2026-01-30", "--to", "2026-02-01").done().splitlines()
    assert ["ran already" in line for line in printed] == [True, False, False], printed


def test_what_the_station_does_not_keep_is_started(make_rig):
    rig = make_rig("--flow-count", "0")
    flows = Flows(rig)
    flows.put("etl", {"load": call(args=["=idc.loadDate.format('yyyyMMdd')"])})
    span = ("etl", "--from", "2026-01-30", "--to", "2026-01-30")
    backfill(rig, *span).done()
    flows.next("load")
    wait_until(lambda: not flows.flow("runs")["runs"], "the run is no longer kept")
    assert "2026-01-30: started" in backfill(rig, *span).done()


@pytest.mark.parametrize("way", ["failed", "cancelled"])
def test_a_day_that_failed_goes_on_by_flow_retry(rig, flows, way):
    span = ("etl", "--from", "2026-01-30", "--to", "2026-01-30")
    backfill(rig, *span).done()
    (run,) = ends(flows, way).values()
    zplan("--connect", rig.ipc("q"), "flow", "retry", run).done()
    assert re.search(r"(?m)^batch +2026-01-30T00:00:00$", zplan("--connect", rig.ipc("q"), "flow", "show", run).done())
    assert f"exists (run {run}, running)" in backfill(rig, *span).done()
    flows.next("load")
    flows.until(run, "finished")
    assert f"ran already (run {run}, finished)\n" in backfill(rig, *span).done()


def test_a_dry_run_starts_nothing():
    printed = zplan("flow", "backfill", "etl", "--from", "2026-03-29T01:00", "--to", "2026-03-29T04:00", "--cron", "30 * * * *",
                 "--dry-run")
    assert printed.code == DONE
    assert printed.out.split() == [f"2026-03-29T0{hour}:30:00" for hour in (1, 2, 3)]
    printed = zplan("flow", "backfill", "etl", "--from", "2026-01-01", "--to", "2026-01-02", "--dry-run", "--json")
    assert [json.loads(line) for line in printed.done().splitlines()] == [
        {"would": "start", "flow": "etl", "batch": f"2026-01-0{day}"} for day in (1, 2)]


@pytest.mark.parametrize("args, reason", [
    ([], "--from: want a date"), (["--from", "2026-01-01"], "--to: want a date"),
    (["--from", "soon", "--to", "2026-01-01"], "--from: want an instant"),
    (["--from", "2026-01-02", "--to", "2026-01-01"], "--to: want a time that is not before --from"),
    (["--from", "2026-01-01", "--to", "2026-01-02", "--cron", "x"], "--cron: "),
    (["--from", "2026-01-01", "--to", "2026-01-02", "--cron", "0 0 29 2 *"], "--cron: no time of it is between"),
    (["--from", "2026-01-01", "--to", "2026-03-02", "--cron", "* * * * *"], "--to: want at most 10000 times")])
def test_what_is_refused(args, reason):
    assert reason in zplan("flow", "backfill", "etl", *args).failed(USAGE)
