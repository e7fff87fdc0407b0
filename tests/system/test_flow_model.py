"""Small random flows at a real station, whose calls end as a seed draws, against the model of flows (tests/oracle/flow_model.py):
every step, its value and the outcome are the model's. Also when the station is killed in the middle.

ZPLAN_FLOW_SEED is the first seed, ZPLAN_FLOW_RUNS how many runs there are. A failure names its seed."""
import json
import os
import random
import sys
import time

import pytest

from flowrig import Call
from zplanprocs import REPO
from zplantest import CMD, FT, ST, at_once, wait_until

sys.path.append(os.path.join(REPO, "tests", "oracle"))

from flow_graphs import graph           # pylint: disable=wrong-import-position
from flow_model import Facts, Model     # pylint: disable=wrong-import-position

FIRST = int(os.environ.get("ZPLAN_FLOW_SEED", "1"))
RUNS = int(os.environ.get("ZPLAN_FLOW_RUNS", "40"))
OUTCOMES = ("finished", "failed")


class Run:
    """A run of a random flow, and what has happened in it."""

    def __init__(self, seed):
        self.seed = seed
        drawn = graph(f"station {seed}", random.Random(seed).choice((3, 5, 8, 13, 30)), f"random{seed}", undo=0.2)
        self.steps, self.definition = drawn.steps, drawn.definition
        for step in self.definition["steps"].values():
            if "wait" in step:
                step["wait"] = 0        # it is past at once
        self.model = Model(self.steps, Facts(now=1, times={name: 0 for name in self.steps}))
        self.model.decide()
        self.undone, self.last, self.flow_run = [], None, None

    def check(self, condition, text):
        assert condition, f"seed {self.seed}: {text}"

    def end_of(self, name, item):
        drawn = random.Random(f"end {self.seed} {name} {item}")
        return ("failed", None) if drawn.random() < 0.25 else ("finished", drawn.randrange(20))

    def called(self, call):
        """How this call ends. One that comes again, behind a death of the station, ends as before."""
        self.flow_run = call.flow["run"]
        key, facts = (call.step, call.item), self.model.facts
        if call.flow["undo"]:
            if key not in self.undone:
                self.undone.append(key)
            return "finished", None
        if call.step == "last" and "finally" in self.definition:
            self.last = self.end_of("last", None)[0]
            return self.last, None
        state, value = self.end_of(*key)
        if key not in facts.ended:
            self.model.place(key)
            facts.ended[key] = state, value
            facts.order.append(key)
            self.model.decide()
        return state, value

    def compare(self, shown, ordered):
        model = self.model
        self.check(model.over(), f"the run has ended, and the model has not: {model.states}")
        outcome, uncaught = model.outcome(), set(model.uncaught())
        want = [] if outcome == "finished" else model.undone()
        same = self.undone == want if ordered else set(self.undone) == set(want)
        self.check(same, f"undone {self.undone}, want {want}")
        self.check((self.last is not None) == ("finally" in self.definition), "finally runs once, at the end")
        if self.last == "failed":
            outcome, uncaught = "failed" if outcome == "finished" else outcome, uncaught | {"last"}
        self.check(shown["state"] == outcome, f"{shown['state']}, want {outcome}")
        self.check(set(shown.get("failed", [])) == uncaught, f"failed {shown.get('failed')}, want {uncaught}")
        seen = {step["step"]: step for step in shown["steps"]}
        for name, state in model.states.items():
            step = seen[name]
            blocked = step["state"] == "none" and "why" in step
            self.check((step["state"], blocked) == (state.state, state.blocked), f"{name} is {step}, want {state}")
            if state.valued and state.value is not None and self.steps[name].kind != "each":
                self.check(step.get("value") == state.value, f"{name} is {step}, want {state}")


def work(rig, runs, seconds=0.02, most=None):
    """Answer calls until there is none for a moment; how many."""
    count = 0
    while count != most and rig.jobs.socket.poll(int(seconds * 1000)):
        packet = rig.jobs.recv()
        if packet.code == CMD.CLOSE_REQUEST:
            continue
        call, count = Call(packet), count + 1
        state, value = runs[call.flow["name"]].called(call)
        pairs = [(FT.JSON, json.dumps(value).encode())] if value is not None else []
        rig.jobs.finish(packet, ST.OK if state == "finished" else ST.FAILED, pairs)
    return count


def begin(rig, part):
    runs = {}
    for seed in range(FIRST + part, FIRST + RUNS, 2):
        run = Run(seed)
        runs[run.definition["flow"]] = run
        rig.client.done("flow", "put", json.dumps(run.definition))
    for name in runs:
        rig.client.added(at_once(description=name), station=name, head=[])
    return runs


def to_the_end(rig, runs, ordered):
    client, end, left = rig.dealer(), time.monotonic() + 60, dict(runs)
    while left:
        assert time.monotonic() < end, f"runs that do not end: {[run.seed for run in left.values()]}"
        if work(rig, runs):
            continue
        listed = client.done("flow", "runs", {"limit": 1000}).json["runs"]
        for row in [row for row in listed if row["state"] in OUTCOMES and row["flow"] in left]:
            left.pop(row["flow"]).compare(client.done("flow", "show", row["run"]).json, ordered)
    rig.jobs.nothing(0.1)


@pytest.mark.parametrize("part", range(2))
def test_random_runs_end_as_the_model_says(rig, part):
    to_the_end(rig, begin(rig, part), True)


@pytest.mark.parametrize("part", range(2))
def test_random_runs_through_a_kill(make_rig, part):
    """The station is killed in the middle, twice; the calls in flight come again, and end as before."""
    rig = make_rig("--exec-timeout", "2")
    runs = begin(rig, part)
    for most in (20, 40):
        work(rig, runs, 0.5, most)
        rig.station.kill()
        rig.station.start()
        rig.client = rig.dealer()
    to_the_end(rig, runs, False)
