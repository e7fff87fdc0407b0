"""The provided workers as workers of flows: the first example of proto/flows.md, with the programs that stand below it."""
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clitest import ZPLAN, zplan
from pulltest import with_pile
from test_work_pull import works  # noqa: F401 a fixture
from zplanprocs import DIES_WITH_PARENT, REPO, WAIT, wait_until
from zplantest import Rig
from zstationtest import station  # noqa: F401 a fixture

DOCUMENT = Path(REPO, "proto", "flows.md").read_text(encoding="utf-8")


def example(language):
    """The first text of this language in the document, for the target of the test."""
    return re.search(f"(?ms)^```{language}\n(.*?)^```", DOCUMENT)[1].replace('"jobs"', '"pile"')


@pytest.fixture
def begin(tmp_path):
    """A function that starts a worker, written in this language, at `where`."""
    made = []

    def start(language, rig, where):
        program = tmp_path / f"etl.{language}"
        text = example(language)
        if language == "python":
            made_by = {"pull": f'zplan.PullWorker("pile", {rig.ipc("q")!r}, wait=1)', "station": f"zplan.Worker({where!r})"}
            text = text.replace('zplan.PullWorker("pile")', made_by["station" if where else "pull"])
        program.write_text(text, encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        serves = ["--station", where] if where else ["--pull", "pile"]
        words = [sys.executable, program] if language == "python" else [
            ZPLAN, "--connect", rig.ipc("q"), "work", *serves, "--output", "json", "--", program]
        with open(tmp_path / "said", "wb") as said:
            made.append(subprocess.Popen([*DIES_WITH_PARENT, *words], stdout=said, stderr=said, env={
                **os.environ, "PYTHONPATH": f"{REPO}/src/clients/python"}))
        return tmp_path / "said"
    yield start
    for one in made:
        one.kill()
        one.wait(WAIT)


def ended(rig, name):
    """The newest run of a flow, when it has ended."""
    def shown():
        runs = [run for run in rig.client.done("flow", "runs").json["runs"] if run["flow"] == name]
        return runs[0] if runs and runs[0].get("ended_ms") else None
    run = wait_until(shown, f"a run of {name} has ended")
    return rig.client.done("flow", "show", run["run"]).json


@pytest.mark.parametrize("language", ["sh", "python"])
@pytest.mark.parametrize("is_pull", [True, False], ids=["pull", "station"])
def test_the_first_example(make_rig, request, begin, language, is_pull):
    if is_pull:
        rig, where = with_pile(make_rig), None
    else:
        target = request.getfixturevalue("station").start()
        rig, where = make_rig("--station", f"pile=api@{target.endpoint('request')}"), target.endpoint("workers")
    rig.client.done("flow", "put", example("json"))
    said = begin(language, rig, where)
    zplan("--connect", rig.ipc("q"), "flow", "start", "etl", "--batch", "2025-11-21").done()
    run = ended(rig, "etl")
    assert (run["state"], run.get("output")) == ("finished", {"rows": len("20251120.csv")}), run
    assert {step["step"]: step.get("value") for step in run["steps"]} == {
        "extract": {"file": "20251120.csv"}, "load": {"rows": 12}, "report": None}
    wait_until(lambda: f"{run['run']}/report:0 has rows 12" in said.read_text(), "the report")


CALLS = {"flow": "calls", "max_parallel": 1, "steps": {
    "each": {"target": "pile", "command": "each", "for_each": [7, 8], "json": {"n": "=item"}, "undo": {"target": "pile", "command": "undo"}},
    "last": {"after": ["each"], "target": "pile", "command": "last"}}}
PYTHON = """import json, sys, zplan
worker = zplan.PullWorker("pile", sys.argv[1], wait=1)
@worker.command("")
def work(job):
    with open(sys.argv[2], "a") as noted:
        print(job.run, job.step, job.item, job.generation, int(job.undo), job.idempotency_key, json.dumps(job.json), file=noted)
    if job.command == "last":
        raise zplan.JobFailed("no disk")
worker.run()
"""
SHELL = """echo "$ZPLAN_RUN $ZPLAN_STEP ${ZPLAN_ITEM-None} $ZPLAN_GENERATION ${ZPLAN_UNDO-0} $ZPLAN_IDEMPOTENCY_KEY $(cat)" >>"$NOTED"
test $ZPLAN_COMMAND != last"""


@pytest.mark.parametrize("language", ["sh", "python"])
def test_what_names_a_call(make_rig, tmp_path, works, language):  # noqa: F811
    """RUN, step, item, generation and undo; a restarted run has the next generation."""
    rig, noted = with_pile(make_rig), tmp_path / "noted"
    rig.client.done("flow", "put", json.dumps(CALLS))
    worker = None
    if language == "sh":
        works(rig, SHELL, env={"NOTED": str(noted)})
    else:
        worker = subprocess.Popen([*DIES_WITH_PARENT, sys.executable, "-c", PYTHON, rig.ipc("q"), noted],
                                  env={**os.environ, "PYTHONPATH": f"{REPO}/src/clients/python"})
    try:
        zplan("--connect", rig.ipc("q"), "flow", "start", "calls").done()
        run = ended(rig, "calls")["run"]
        zplan("--connect", rig.ipc("q"), "flow", "retry", run, "--restart").done()
        wait_until(lambda: len(noted.read_text().splitlines()) == 10, "each call twice")
    finally:
        if worker:
            worker.kill()
            worker.wait(WAIT)
    nothing = "null" if language == "python" else ""
    wanted = [f"{run} {name} {item} {generation} {undo} {key}:{generation}{':undo' * undo} {data}".strip()
              for generation in (0, 1) for name, item, undo, key, data in (
                  ("each", 0, 0, f"{run}/each.0", '{"n":7}'), ("each", 1, 0, f"{run}/each.1", '{"n":8}'),
                  ("last", None, 0, f"{run}/last", nothing),
                  ("each", 1, 1, f"{run}/each.1", nothing), ("each", 0, 1, f"{run}/each.0", nothing))]
    assert [line.strip().replace('": ', '":') for line in noted.read_text().splitlines()] == wanted


def test_the_key_of_a_plan_is_its_id_and_time(make_rig, works):  # noqa: F811
    rig = with_pile(make_rig)
    one = works(rig, 'echo "$ZPLAN_IDEMPOTENCY_KEY ${ZPLAN_RUN-none} $ZPLAN_PLAN_ID@$ZPLAN_PLAN_TIME" >$FIFO')
    rig.client.added({"plan_type": 0, "plan_repet": 1}, station="pile")
    key, run, wanted = one.line().split()
    assert (key, run) == (wanted, "none")
