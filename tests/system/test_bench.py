"""The benchmark (tests/bench/run.py) works: every scenario, tiny, counts what it must. No times."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from zplanprocs import BIN_DIR, DIES_WITH_PARENT

RUN = pathlib.Path(__file__).resolve().parents[1] / "bench" / "run.py"


def small(scenarios):
    """scenario -> what its run against the station has measured; the rows of the table."""
    done = subprocess.run([*DIES_WITH_PARENT, sys.executable, RUN, "--small", "--json", "--only", ",".join(scenarios)], text=True,
                          capture_output=True, timeout=170, check=False,
                          env={**os.environ, "ZPLAN_BIN_DIR": BIN_DIR})
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout)
    found = {}
    for run in told["runs"]:
        assert (run["fsync"], len(run["values"])) == ("always", 1), run
        found[run["scenario"], run["system"]] = run["values"][0]
    assert {row["scenario"] for row in told["rows"]} == set(scenarios)
    return found


def positive(values, *names):
    for name in names:
        assert values[name] > 0, (name, values)


def counts(values, **wanted):
    assert {name: values[name] for name in wanted} == wanted


def test_intake_is_counted_with_redis_beside():
    found = small(["intake1", "intake4", "single", "memory"])
    for name, plans in (("intake1", 300), ("intake4", 300), ("single", 60)):
        counts(found[name, "station"], accepted=plans, kept=plans, busy=0)
        positive(found[name, "station"], "plans_per_s", "p50_ms")
    positive(found["intake1", "redis"], "plans_per_s")
    counts(found["memory", "station"], accepted=1000)
    positive(found["memory", "station"], "bytes_per_plan", "station_mib")


def test_a_drain_runs_each_plan_and_hears_of_it():
    found = small(["drain", "drain_behind"])
    for name in ("drain", "drain_behind"):
        values = found[name, "station"]
        counts(values, plans_run=300, same_exec_id=0, left=0)
        assert values["runs"] == 300 + values["doubled"]
        assert values["done"] + values["missed"] >= 300
        positive(values, "runs_per_s")
    positive(found["drain", "redis"], "runs_per_s")


@pytest.mark.parametrize("scenario", ["late", "late_behind", "immediate"])
def test_each_evenly_spaced_plan_is_timed(scenario):
    values = small([scenario])[scenario, "station"]
    # One more where the first is not timed.
    plans = 101 if scenario == "immediate" else 100
    counts(values, accepted=plans, plans_run=plans, left=0)
    assert 0 < values["p50_ms"] <= values["p99_ms"] <= values["max_ms"]


def test_a_killed_station_loses_nothing():
    values = small(["kill"])["kill", "station"]
    counts(values, accepted=600, plans_run=600, lost=0, same_exec_id=0)
    # A failed send has a number as well. What was missed is known by the number of a later broadcast: there is none when no
    # run was in flight at the kill, and the rest ended before the subscriber was back.
    assert values["not_told"] <= 0 or values["doubled"] == 0, values


def test_a_start_runs_what_is_overdue_beside_what_is_pending():
    found = small(["start", "idle"])
    counts(found["start", "station"], plans_run=300, left=0)
    positive(found["idle", "station"], "station_mib")


def test_neighbours_have_their_runs():
    values = small(["neighbours"])["neighbours", "station"]
    counts(values, accepted=100, plans_run=100, runs_dead=0)
    positive(values, "runs_silent", "runs_slow", "p99_ms")


def test_instructions_are_counted():
    """Not how many: the C library of another machine makes other numbers."""
    done = subprocess.run([*DIES_WITH_PARENT, RUN.parent / "instructions", "desc_parse"], text=True, capture_output=True,
                          timeout=170, check=False)
    assert done.returncode in (0, 1) and "desc_parse" in done.stdout, (done.stdout, done.stderr)
