"""A night of flows while station, target and Redis are killed (kill -9): every run ends as `zplan flow simulate` says.

The flows are random: sub-flows, for_each, retries, and steps that fail on purpose, which their arguments say. No step is lost,
and no call is made twice but one whose earlier run the history has, and not as a success. ZPLAN_CHAOS_FLOWS is how many flows
there are (8), ZPLAN_CHAOS_STEPS how many steps they have together (240; a night: 40 and 5000), ZPLAN_CHAOS_KILLS how many
kills (12), ZPLAN_CHAOS_SEED their seed."""
import collections
import json
import os
import random
import subprocess
import sys
import time

import pytest

from clitest import zplan
from faulttest import history
from flowrig import Call, Flows
from zplanprocs import DIES_WITH_PARENT, WAIT, wait_until
from zplantest import CMD, FT, ST, FakeTarget

FLOWS = int(os.environ.get("ZPLAN_CHAOS_FLOWS", "8"))
STEPS = int(os.environ.get("ZPLAN_CHAOS_STEPS", "240"))
KILLS = int(os.environ.get("ZPLAN_CHAOS_KILLS", "12"))
SEED = int(os.environ.get("ZPLAN_CHAOS_SEED", "0")) or random.randrange(1, 1 << 32)
PACED = {"strategy": "fixed", "interval": 1, "max": 1000}       # kills use up attempts, too
INNER = {
    "good": {"a": {"args": ["ok"]}, "b": {"after": ["a"], "args": ["ok"]}},
    "shaky": {"a": {"args": ["first", "1"], "retry": PACED},
              "b": {"after": ["a"], "for_each": ["ok", "ok"], "args": ["=item"]}},
    "bad": {"a": {"args": ["ok"]}, "b": {"after": ["a"], "args": ["fail"]}, "c": {"after": ["b"], "args": ["ok"]}}}
FAILS = 16              # so many options --fail are allowed
OVER = ("finished", "failed", "cancelled", "timeout")


# -- the target, a process of its own

class Target:
    """Each call is recorded before it is answered, as its arguments say, a moment later."""

    def __init__(self, endpoint, record):
        self.target, self.waiting, self.random = FakeTarget(endpoint), [], random.Random()
        self.record = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        print("ready", flush=True)

    def serve(self):
        while True:
            if self.target.socket.poll(10):
                packet = self.target.recv()
                if packet.code != CMD.CLOSE_REQUEST:
                    self.called(packet)
            now = time.monotonic()
            for due, packet, status in [one for one in self.waiting if one[0] <= now]:
                self.waiting.remove((due, packet, status))
                self.target.finish(packet, status, [(FT.JSON, b"1")] if status == ST.OK else [])

    def called(self, packet):
        call = Call(packet)
        fails = call.args[0] == "fail" or (call.args[0] == "first" and packet.plan["error_count"] < int(call.args[1]))
        line = {"plan": call.ident, "exec_id": packet.exec_id, "run": call.flow["run"], "step": call.name}
        os.write(self.record, (json.dumps(line) + "\n").encode())
        self.waiting.append((time.monotonic() + self.random.random() / 5, packet, ST.FAILED if fails else ST.OK))


class TargetProcess:
    def __init__(self, rig):
        rig.jobs.close()
        self.args = [sys.executable, os.path.abspath(__file__), rig.jobs.endpoint, rig.path("calls")]
        self.record = rig.path("calls")
        self.start()

    def start(self):
        self.process = subprocess.Popen([*DIES_WITH_PARENT, *self.args], stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def close(self):
        if self.process.poll() is None:
            self.kill()

    def calls(self):
        with open(self.record, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


# -- random flows

def random_step(drawn, may_fail):
    """A step, and the option --fail of zplan flow simulate for it: what fails for good. Whatever is repeated ends well."""
    kind = drawn.random()
    if kind < 0.15:
        return {"args": ["first", drawn.choice("12")], "retry": PACED}, None
    if kind < 0.27 and may_fail:
        return {"args": ["fail"], **({"on_error": "continue"} if drawn.random() < 0.8 else {})}, ""
    if kind < 0.3 and may_fail:
        return {"for_each": ["fail", "fail"], "args": ["=item"], "on_error": "continue"}, ""
    if kind < 0.33 and may_fail:
        return {"target": "bad", "json": {}, "on_error": "continue"}, "/b"
    if kind < 0.45:
        items, tolerate = ["ok"] * drawn.randrange(2, 6), drawn.randrange(2)
        items[0] = "fail" if tolerate else "ok"
        return {"for_each": items, "args": ["=item"], "max_parallel": 2, "tolerate": tolerate}, None
    if kind < 0.55:
        return {"target": drawn.choice(("good", "shaky")), "json": {}}, None
    return {"args": ["ok"]}, None


class Flow:
    """A random flow, and what `zplan flow simulate` says of it."""

    def __init__(self, seed, at, size, folder):
        drawn, self.name, self.steps, self.fails = random.Random(f"{seed} {at}"), f"night{at}", {}, []
        for number in range(size):
            step, fails = random_step(drawn, len(self.fails) < 2 * FAILS)
            if "target" not in step:
                step["command"] = "do"
            before = list(self.steps)[-8:]
            after = drawn.sample(before, min(len(before), drawn.choice((0, 1, 1, 2))))
            if after:
                step["after"] = [{"step": source, "on": "ended"} if drawn.random() < 0.15 else source for source in after]
            name = f"s{number}"
            self.steps[name] = step
            if fails is not None:
                self.fails += ["--fail", name + fails]
        self.definition = {"flow": self.name, "steps": self.steps, **common()}
        self.simulate(folder)

    def simulate(self, folder):
        files = []
        for definition in [self.definition, *inner()]:
            files.append(os.path.join(folder, definition["flow"] + ".json"))
            with open(files[-1], "w", encoding="utf-8") as file:
                json.dump(definition, file)
        end = json.loads(zplan("flow", "simulate", *files, *self.fails, "--json").done())
        self.outcome, self.states = end["outcome"], dict.fromkeys(self.steps, "none")
        for event in end["events"]:
            if event["what"] in ("finished", "failed", "skipped") and event["step"] in self.states:
                self.states[event["step"]] = event["what"]


def common():
    return {"defaults": {"target": "jobs"}, "max_parallel": 20}


def inner():
    return [{"flow": name, "steps": {step: {"command": "do", **body} for step, body in steps.items()}, **common()}
            for name, steps in INNER.items()]


# -- what must be true

def calls_of(step):
    return {f"{step['step']}.{at}" for at in range(step["items"]["count"])} if "items" in step else {step["step"]}


class Night:
    def __init__(self, rig):
        self.rig, self.target = rig, rig.keep(TargetProcess(rig))
        self.flows = [Flow(SEED, at, STEPS // FLOWS, rig.folder) for at in range(FLOWS)]
        self.by_name = {flow.name: flow for flow in self.flows}
        for definition in [*inner(), *(flow.definition for flow in self.flows)]:
            rig.client.done("flow", "put", json.dumps(definition))

    def kill(self, who, away_s):
        victim = self.target if who == "target" else getattr(self.rig, who)
        victim.kill()
        time.sleep(away_s)
        victim.start()
        if who == "station":
            self.rig.client = self.rig.dealer()
        self.wait_redis()

    def wait_redis(self):
        client = self.rig.client
        wait_until(lambda: client.done("health").json["redis"]["state"] == "up"
                   and client.manage("history", '{"limit": 1}').code == ST.OK, "the station has its Redis")

    def runs(self):
        """All, with those of sub-flows."""
        found, query = [], {"limit": 1000}
        while True:
            page = self.rig.client.done("flow", "runs", query).json
            found += page["runs"]
            if "next" not in page:
                return found
            query["after"] = page["next"]

    def ended(self):
        runs = self.runs()
        if sum(run["flow"] in self.by_name for run in runs) < FLOWS or any(run["state"] not in OVER for run in runs):
            time.sleep(0.2)
            return None
        return runs

    def check_run(self, run, calls):
        """It is as was simulated; each step that has been decided by a call had one, and no other had."""
        shown = self.rig.client.done("flow", "show", run["run"]).json
        made, want = {call["step"] for call in calls}, set()
        for step in shown["steps"]:
            if step["state"] in ("finished", "failed") and "run" not in step:
                step_calls = calls_of(step)
                if "items" in step and step["state"] == "failed":     # more failed than is tolerated: the rest is not called
                    step_calls &= made
                    assert len(step_calls) >= step["items"]["finished"] + step["items"]["failed"] > 0, (run, step)
                want |= step_calls
        assert made == want, (run, made ^ want)
        flow = self.by_name.get(run["flow"])
        if flow:
            assert {step["step"]: step["state"] for step in shown["steps"]} == flow.states, run
            assert run["state"] == flow.outcome, run
        else:
            assert run["state"] == ("failed" if run["flow"] == "bad" else "finished"), run

    def check_calls(self, calls):
        """Every call is in the history, once; of what was called again no earlier run is there as a success. Calls
        that are made again."""
        rows = {}
        for row in history(self.rig, station="jobs"):
            assert row["exec_id"] not in rows, row
            rows[row["exec_id"]] = row
        by_plan = collections.defaultdict(dict)
        for call in calls:
            assert call["exec_id"] in rows, f"the history lacks {call}"
            by_plan[call["plan"]].setdefault(call["exec_id"], call)
        assert len({call["exec_id"] for call in calls}) == len(calls), "a run was sent twice"
        for made in by_plan.values():
            earlier = sorted(made)[:-1]
            assert all(rows[exec_id]["status"] != ST.OK for exec_id in earlier), [rows[exec_id] for exec_id in made]
        return sum(len(made) - 1 for made in by_plan.values())


@pytest.mark.timeout(240 + KILLS * 6 + STEPS)
def test_every_run_ends_as_it_was_simulated(make_rig):
    """B110: Nothing stays stuck, whatever is killed."""
    print(f"ZPLAN_CHAOS_SEED={SEED} ZPLAN_CHAOS_FLOWS={FLOWS} ZPLAN_CHAOS_STEPS={STEPS} ZPLAN_CHAOS_KILLS={KILLS}")
    rig = make_rig("--exec-timeout", "2", redis_args=("--appendfsync", "always"))
    drawn, night, flows = random.Random(f"kills {SEED}"), Night(rig), Flows(rig)
    victims = [("station", "target", "redis")[at % 3] for at in range(KILLS)]
    drawn.shuffle(victims)
    starts = collections.defaultdict(list)
    for at, flow in enumerate(night.flows):
        starts[at * max(KILLS, 1) // (2 * FLOWS)].append(flow.name)      # within the first half of the kills
    for number in range(KILLS + 1):
        flows.client = rig.client
        for name in starts[number]:
            flows.start(name)
        if number < KILLS:
            time.sleep(drawn.random())      # a random moment
            night.kill(victims[number], drawn.random() / 4)
    runs = wait_until(night.ended, "every run has ended", 3 * WAIT + STEPS / 4)
    calls = night.target.calls()
    by_run = collections.defaultdict(list)
    for call in calls:
        by_run[call["run"]].append(call)
    assert set(by_run) <= {run["run"] for run in runs}
    for run in runs:
        night.check_run(run, by_run[run["run"]])
    again = night.check_calls(calls)
    assert sum(run["flow"] in night.by_name for run in runs) == FLOWS, "a flow has run twice"
    print(f"{dict(collections.Counter(victims))}: {len(runs)} runs, {len(calls)} calls, of them {again} repeated")


if __name__ == "__main__":
    Target(*sys.argv[1:]).serve()
