"""zplan flow backfill: a run for each time of a span, whose batch that is."""
import json

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
    told = backfill(rig, *span).done()
    assert told.count("accepted") == 4
    calls = [flows.call() for _ in range(4)]
    assert sorted(one.args for one in calls) == [[f"{day} 00:00", "7"] for day in
                                                 ("20260130", "20260131", "20260201", "20260202")]
    again = backfill(rig, *span[:4], "2026-02-03").done()
    assert again.count("already exists") == 4 and again.count("accepted") == 1
    keys = {plan["key"] for plan in rig.client.done("list", {"station": "etl"}).json["plans"]}
    assert keys == {f"etl@2026-0{day}" for day in ("1-30", "1-31", "2-01", "2-02", "2-03")}
    for one in [*calls, flows.call()]:
        flows.done(one)
    wait_until(lambda: {run["state"] for run in flows.flow("runs")["runs"]} == {"finished"}, "all have ended")
    assert len(flows.flow("runs")["runs"]) == 5


def test_a_dry_run_starts_nothing():
    told = zplan("flow", "backfill", "etl", "--from", "2026-03-29T01:00", "--to", "2026-03-29T04:00", "--cron", "30 * * * *",
                 "--dry-run")
    assert told.code == DONE
    assert told.out.split() == [f"2026-03-29T0{hour}:30:00" for hour in (1, 2, 3)]
    told = zplan("flow", "backfill", "etl", "--from", "2026-01-01", "--to", "2026-01-02", "--dry-run", "--json")
    assert [json.loads(line) for line in told.done().splitlines()] == [
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
