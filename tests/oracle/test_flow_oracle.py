"""Random flows on the station's engine against a model that decides every step anew (flow_model.py).

ZPLAN_FLOW_SEED is the first seed, ZPLAN_FLOW_GRAPHS how many graphs there are (`tests/run long`: 4000). A failure prints
its seed, and the lines for the driver that show it."""
import json
import os
import random
import tempfile

import pytest

from flow_engine import DRIVER, Engine
from flow_graphs import graph
from flow_play import Difference, Run

FIRST = int(os.environ.get("ZPLAN_FLOW_SEED", "1000"))
GRAPHS = int(os.environ.get("ZPLAN_FLOW_GRAPHS", "500"))
PARTS = 10
in_parts = pytest.mark.parametrize("part", range(PARTS))


@pytest.fixture(name="engine", scope="module")
def _engine():
    engine = Engine()
    yield engine
    assert engine.close() == 0


def seeds(part, share=1):
    return range(FIRST + part, FIRST + GRAPHS // share, PARTS)


def played(engine, seed, play, **rates):
    """Runs of the graph of this seed, begun and played; a difference comes with the lines that show it."""
    for order in range(2 if seed % 3 == 0 else 1):
        drawn = graph(seed, **rates)
        run, engine.lines = Run(engine, drawn, seed, order), []
        for defined in (*drawn.inner.values(), drawn):
            engine.define(defined.definition)
        try:
            run.begin()
            play(run)
        except (Difference, ValueError) as difference:
            with tempfile.NamedTemporaryFile("w", prefix=f"flow-{seed}-", delete=False, encoding="utf-8") as file:
                file.write("\n".join(engine.lines) + "\n")
            raise AssertionError(f"{difference}\nfor {DRIVER}: {file.name}") from difference
        yield run


# -- runs of their own accord

@in_parts
def test_random_runs(engine, part):
    """Every step, its value and the outcome are the model's after each event; other orders end the same."""
    for seed in seeds(part):
        first, *others = played(engine, seed, Run.to_the_end, signal=4, flow=8)
        assert all(other.final() == first.final() for other in others), seed


@in_parts
def test_what_is_undone(engine, part):
    """The last to end first, one at a time, of runs that do not finish."""
    undone = 0
    for seed in seeds(part, 4):
        for run in played(engine, seed, Run.to_the_end, undo=0.5):
            undone += len(run.undone)
    assert undone


@in_parts
def test_what_fails_fast(engine, part):
    """The first failure cancels what is ready or in flight; handlers run."""
    for seed in seeds(part, 8):
        for _ in played(engine, seed, Run.to_the_end, fast=0.9, signal=4, flow=4):
            pass


# -- with people

def skipping(run):
    """A person skips steps that may be skipped, in the midst of it."""
    drawn = random.Random(f"skips {run.seed}")
    while run.flying:
        run.end(run.random.choice(run.flying))
        names = [name for name, state in run.model.states.items()
                 if state.state in ("none", "failed") and run.steps[name].kind != "compute"]
        if names and drawn.random() < 0.2:
            run.skip(drawn.choice(names), drawn.choice((None, 3)))
    run.to_the_end()


@in_parts
def test_skips(engine, part):
    for seed in seeds(part, 4):
        for _ in played(engine, seed, skipping):
            pass


def retrying(run):
    """From its failures, which do not fail again: what had finished before them is not called again."""
    run.to_the_end()
    if run.undone:
        return
    names = run.model.retried_by_default()
    if not names and run.last_state != "failed":
        return
    kept = {call for call in run.model.facts.ended if call[0] not in run.model.all_behind(names)}
    run.calls.clear()
    run.failures = 0
    run.retry(names)
    run.to_the_end()
    run.check(not kept & set(run.calls), "a step that was kept was called again")


def retrying_stopped(run):
    """What a cancel or a timeout cancelled runs again."""
    names = run.model.retried_by_default()
    if names:
        run.failures = 0
        run.retry(names)
        run.to_the_end()


@in_parts
def test_retries(engine, part):
    for seed in seeds(part, 4):
        for _ in played(engine, seed, retrying, flow=8, fast=0.3):
            pass


@in_parts
@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_retries_of_stopped_runs(engine, part, how):
    for seed in seeds(part, 16):
        for run in played(engine, seed, stopping(how), flow=4):
            retrying_stopped(run)


def stopping(how):
    def play(run):
        drawn = random.Random(f"stop {run.seed}")
        for _ in range(drawn.randrange(12)):
            if run.flying:
                run.end(run.random.choice(run.flying))
        if run.flying:
            run.stop(how)
        run.to_the_end()
    return play


@in_parts
@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_stops(engine, part, how):
    for seed in seeds(part, 8):
        for _ in played(engine, seed, stopping(how), undo=0.2, signal=4, flow=4):
            pass


def pausing(run):
    """Suspended, nothing starts; resumed, all goes on."""
    drawn = random.Random(f"pauses {run.seed}")
    while run.flying:
        if drawn.random() < 0.2:
            run.suspend()
            for _ in range(drawn.randrange(4)):
                if run.flying:
                    run.end(run.random.choice(run.flying))
            run.resume()
        if run.flying:
            run.end(run.random.choice(run.flying))
    run.to_the_end()


@in_parts
def test_pauses(engine, part):
    for seed in seeds(part, 8):
        for _ in played(engine, seed, pausing):
            pass


# -- rejected definitions

def test_the_driver_says_what_is_wrong(engine):
    answer = engine.event("define", flow={"flow": "f", "steps": {"a": {"after": ["a"]}}})
    assert not answer["ok"] and answer["errors"], json.dumps(answer)
