"""Runs of random flows that a station has recorded, and `zplan flow simulate` of the same flows with the recorded outcomes and
durations: the same events at the same times, the same state of every step, the same end of the run.

A night of kills (test_flow_chaos.py) compares how runs end; here nobody is killed, and what counts is the order. There are two
kinds of runs. Of a *timed* one every call, wait and signal lasts in the simulation as long as in the record, by the log of the
station, so its events have the times of the record: a millisecond is SCALE seconds of the simulation, and what the station
decided in the same millisecond keeps its order by seconds. A *sequential* one has `max_parallel` 1, and its flow plan and its
sub-flows have a `retry`: it is run again from its failures, and its calls must come in the order of the simulated ones, whatever
time they take.

The flows are those of tests/oracle/flow_graphs.py. Calls fail at first, always, or never end, so that `retry`, `timeout` and
`total_timeout` count; signals arrive or do not; runs fail fast, and time out. ZPLAN_REPLAY_RUNS is how many runs there are (200),
ZPLAN_REPLAY_SEED their seed. A failure names its run, and prints what happened in the record and
in the simulation."""
import collections
import copy
import functools
import json
import os
import random
import sys
import time

import pytest

from clitest import zplan
from flowrig import Call
from zplanprocs import REPO
from zplantest import CMD, FT, ST, WAIT, at_once

sys.path.append(os.path.join(REPO, "tests", "oracle"))

from flow_graphs import graph           # pylint: disable=wrong-import-position

RUNS = int(os.environ.get("ZPLAN_REPLAY_RUNS", "200"))
SEED = int(os.environ.get("ZPLAN_REPLAY_SEED", "0")) or random.randrange(1, 1 << 32)
PARTS = 2
SCALE = 360             # seconds of the simulation for a millisecond of the record
LATE = 5 * SCALE        # the station takes the end of a sub-run so much later, on a busy machine
OPTIONS = 16            # so often an option may be given to zplan
LONG = 3600             # seconds in which a signal certainly comes
OVER = ("finished", "failed", "cancelled", "timeout")
ENDS = ("finished", "failed", "skipped", "cancelled")
YEAR = 31536000
ERROR = 6               # state of a plan that is not retried


# -- what is drawn

class Conduct:
    """How the calls of a step end: the first `fails` attempts fail (-1: all), or none ends."""

    def __init__(self, drawn, sequential, item):
        self.fails, self.hangs, self.total, self.value, self.fields = 0, False, False, drawn.randrange(20), {}
        kind = drawn.random()
        if kind < 0.2:
            self.fails = drawn.choice((1, 2))
        elif kind < 0.38:
            self.fails = -1
        elif kind < 0.43 and not item:
            self.hangs = True
            self.fields["timeout"] = 1
        elif kind < 0.46 and not item and not sequential:
            self.fails, self.total = -1, True
            self.fields |= {"total_timeout": 2, "retry": {"strategy": "fixed", "interval": 1}}
        elif kind < 0.5:
            self.value = None
        most = drawn.choice((0, 1, 2))
        if most and "retry" not in self.fields:
            self.fields["retry"] = {"strategy": "sequence", "sequence": [0], "max": most}


class Flow:
    """A definition, and how its steps end."""

    def __init__(self, drawn, definition, sequential):
        self.definition, self.conduct, self.sent = definition, {}, set()
        self.name = definition["flow"]
        definition["max_parallel"] = 1 if sequential else 0
        for name, step in definition["steps"].items():
            if "wait" in step:
                del step["wait"]
                step |= {"target": "jobs", "command": name} if sequential else {"wait": 1}
            if "signal" in step:
                self.sent |= {name} if drawn.random() < 0.6 or "timeout" not in step["signal"] else set()
                if "timeout" in step["signal"]:
                    step["signal"]["timeout"] = LONG if name in self.sent else 1
                self.conduct[name] = Conduct(drawn, True, True)
            elif step.get("target") == "jobs":
                self.conduct[name] = Conduct(drawn, sequential, "for_each" in step)
                step |= self.conduct[name].fields
        if not sequential and not any("for_each" in step for step in definition["steps"].values()):
            definition["max_parallel"] = drawn.choice((0, 2, 3))

    def timed(self):
        return sum("let" not in step for step in self.definition["steps"].values())


class Drawn:
    """A random flow with its sub-flows."""

    def __init__(self, seed, at):
        self.at, self.name = at, f"replay{at}"
        self.sequential = at // PARTS % 4 == 3
        drawn = random.Random(f"replay {seed} {at}")
        while not self.draw(drawn):
            pass
        self.plan = {}
        if self.sequential:
            self.plan["retry"] = {"strategy": "sequence", "sequence": [0], "max": drawn.choice((1, 2))}

    def draw(self, drawn):
        rates = {"undo": 0.2, "signal": 0 if self.sequential else 10, "flow": 12, "fast": 0.15}
        whole = graph(f"{drawn.random()}", drawn.choice((2, 4, 6, 8)), self.name, **rates)
        root = Flow(drawn, whole.definition, self.sequential)
        self.flows, size = {root.name: root}, root.timed()
        for step in root.definition["steps"].values():
            key = step.get("target")
            if key not in whole.inner:
                continue
            step["target"] = name = f"{self.name}{key}"
            if name not in self.flows:
                self.flows[name] = Flow(drawn, {**self.simple(whole.inner[key].definition), "flow": name}, self.sequential)
            size += self.flows[name].timed() - 1
            if self.sequential and drawn.random() < 0.6:
                step["retry"] = {"strategy": "sequence", "sequence": [0], "max": 1}
        if not self.sequential and drawn.random() < 0.1:
            root.definition["timeout"] = 2
        return size <= OPTIONS

    def simple(self, inner):
        """Of a timed run what an undo of a sub-flow takes is not known."""
        for step in inner["steps"].values():
            if not self.sequential:
                step.pop("undo", None)
        if not self.sequential:
            inner.pop("fail_fast", None)
        return inner


# -- what is recorded

class Night:
    """The runs at the station, all at a time."""

    def __init__(self, rig, drawn):
        self.rig, self.client, self.drawn = rig, rig.client, drawn
        self.flows = {name: flow for one in drawn for name, flow in one.flows.items()}
        self.random = random.Random(f"delays {SEED} {drawn[0].at}")
        self.waiting, self.tries, self.calls = [], collections.Counter(), []
        self.signalled, self.runs, self.plans = set(), {}, {}
        for one in drawn:
            for name in reversed(one.flows):        # sub-flows first
                self.client.done("flow", "put", json.dumps(one.flows[name].definition))
        for one in drawn:
            self.plans[one.name] = self.client.added(at_once(description=one.name, **one.plan), station=one.name, head=[])

    def serve(self, seconds):
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            if self.rig.jobs.socket.poll(5):
                packet = self.rig.jobs.recv()
                if packet.code != CMD.CLOSE_REQUEST:
                    self.called(packet)
            for one in [one for one in self.waiting if one[0] <= now]:
                self.waiting.remove(one)
                one[1]()

    def later(self, act):
        self.waiting.append((time.monotonic() + 0.002 + self.random.random() / 12, act))

    def called(self, packet):
        call = Call(packet)
        run, conduct = call.flow["run"], self.flows[call.flow["name"]].conduct[call.step]
        key = run, call.step, call.item, call.flow["undo"]
        self.calls.append(key)
        self.tries[key] += 1
        fails = not call.flow["undo"] and (conduct.fails < 0 or self.tries[key] <= conduct.fails)
        pairs = [(FT.JSON, json.dumps(conduct.value).encode())] if conduct.value is not None and not fails else []
        if call.flow["undo"] or not conduct.hangs:
            self.later(lambda: self.rig.jobs.finish(packet, ST.FAILED if fails else ST.OK, pairs))

    def send_signals(self, run, shown):
        flow = self.flows[run["flow"]]
        for step in shown["steps"]:
            key = run["run"], step["step"]
            if step["step"] in flow.sent and step["state"] == "running" and key not in self.signalled:
                self.signalled.add(key)
                count = flow.definition["steps"][step["step"]]["signal"].get("count", 1)
                text = json.dumps(flow.conduct[step["step"]].value)
                for _ in range(count):
                    self.later(functools.partial(self.client.manage, "flow", "signal", *key, text))

    def listed(self):
        found, query = [], {"limit": 1000}
        while True:
            page = self.client.done("flow", "runs", query).json
            found += page["runs"]
            if "next" not in page:
                return found
            query["after"] = page["next"]

    def is_over(self, run):
        """Its flow plan is not going to retry it."""
        if run["state"] not in OVER:
            return False
        message = self.rig.message(self.plans[run["flow"]], run["flow"]) if run["flow"] in self.plans else None
        return not message or message["plan_state"] == ERROR

    def to_the_end(self):
        end = time.monotonic() + 3 * WAIT + RUNS / 4
        while True:
            self.serve(0.2)
            runs = self.listed()
            roots = [run for run in runs if run["flow"] in self.plans]
            left = [run for run in roots if not self.is_over(run)]
            if len(roots) == len(self.plans) and not left:
                return self.records(runs)
            assert time.monotonic() < end, f"runs that do not end: {[(run, self.flows[run['flow']].definition, self.client.done('flow', 'show', run['run']).json) for run in left[:3]]}"
            for run in runs:
                if run["state"] == "running" and self.flows[run["flow"]].sent:
                    self.send_signals(run, self.client.done("flow", "show", run["run"]).json)

    def records(self, runs):
        inner = collections.defaultdict(list)
        for run in runs:
            if "parent" in run:
                inner[run["parent"].split(" ")[1]].append(Record(self, run))
        return {run["flow"]: Record(self, run, inner[run["run"]]) for run in runs if run["flow"] in self.plans}


class Record:
    """A run: what the station shows of it, its log, and those of its sub-flows by the step that called them last."""

    def __init__(self, night, run, inner=()):
        self.night, self.run, self.flow = night, run, night.flows[run["flow"]]
        self.shown = night.client.done("flow", "show", run["run"]).json
        self.log = night.client.done("flow", "log", run["run"]).json["log"]
        self.caller = run["parent"].split(" ")[7] if "parent" in run else None
        self.inner = {one.caller: one for one in sorted(inner, key=lambda one: one.run["began_ms"])}
        self.prefixes = {run["run"]: "", **{one.run["run"]: one.caller + "/" for one in inner}}

    def with_inner(self):
        return [("", self), *((caller + "/", one) for caller, one in self.inner.items())]

    def all_calls(self):
        """All calls in the order in which they came, those of sub-flows too: path, item, undo."""
        return [(self.prefixes[run] + step, item, undo) for run, step, item, undo in self.night.calls if run in self.prefixes]

    def tries(self, name, step):
        """How often each call of a step was tried, and how many one after another the items are."""
        made = collections.Counter(item for run, step, item, undo in self.night.calls
                                   if (run, step, undo) == (self.run["run"], name, False))
        return max(made.values(), default=1), max(-(-len(made) // step.get("max_parallel", max(len(made), 1))), 1)

    def conduct(self, path):
        caller, _, name = path.rpartition("/")
        return (self.inner[caller] if caller else self).flow.conduct.get(name)

    def target_of(self, path):
        caller, _, name = path.rpartition("/")
        flow = (self.inner[caller] if caller else self).flow
        return flow.definition["steps"].get(name, {}).get("target") if name != flow.name else None

    def is_call(self, path):
        return self.target_of(path) == "jobs"


# -- the same, simulated

def log_events(record, base):
    """The log as (time in the simulation, step, what). What the station decided in the same millisecond keeps its order: each end
    of a call, wait or signal is a decision."""
    events, begun, last, rank = [], set(), None, 0
    for line in record.log:
        if "item" in line or line["state"] in ("undoing", "undone", "parked"):
            continue
        step, what = line["step"], "start" if line["state"] in ("new", "running") else line["state"]
        if line["at"] != last:
            last, rank = line["at"], 0
        rank += what in ENDS and step in begun
        if line["state"] == "new" and step in begun:        # it was ready, and has its slot now
            events = [event for event in events if event[1:] != (step, "start")]
            begun.discard(step)
        if what != "start" or step not in begun:
            events.append(((line["at"] - base) * SCALE + rank, step, what))
        if what == "start":
            begun.add(step)
        else:
            begun.discard(step)
    return events


def spans_of(events):
    """Of each step that had begun: when, and when and how it ended."""
    begun, spans = {}, {}
    for at, step, what in events:
        if what == "start":
            begun.setdefault(step, at)
        elif step in begun:
            spans[step] = begun[step], at, what
    return spans


class Replay:
    """A record, and what zplan makes of it."""

    def __init__(self, night, drawn, record, folder):
        self.night, self.drawn, self.record, self.folder = night, drawn, record, os.path.join(folder, drawn.name)
        os.mkdir(self.folder)
        self.events, self.spans, self.slack, self.loose = {}, {}, 0, drawn.sequential
        base = record.log[0]["at"]
        self.add_events("", log_events(record, base))
        for step, inner in record.inner.items():
            self.add_inner(step, log_events(inner, base))
        self.options, self.files = [], []
        for before, run in record.with_inner():
            self.add_definition(before, run)
        # Those that were not called.
        self.files += [self.write(name + ".json", flow.definition) for name, flow in drawn.flows.items() if flow is not record.flow]
        if drawn.plan:
            self.options += ["--retry", f"fixed:1s:{drawn.plan['retry']['max']}"]
        end = zplan("flow", "simulate", *self.files, *self.options, "--at", "2026-01-01T00:00", "--json").done()
        self.end = json.loads(end)

    def add_events(self, before, events):
        self.events |= {(before + step, what): at for at, step, what in events}
        self.spans |= {before + step: span for step, span in spans_of(events).items()}

    def add_inner(self, step, events):
        """The sub-run begins and ends with its call: what the station needs for that is no time in the simulation."""
        if step not in self.spans or not events:
            return
        begin, end, what = self.spans[step]
        first, last = events[0][0], events[-1][0] if what != "cancelled" else None
        self.loose |= first == last         # it takes no time at all there
        self.add_events(step + "/", [(begin if at == first else end if at == last else at, *rest) for at, *rest in events])

    def write(self, name, value):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return path

    def add_definition(self, before, record):
        """The definition of a run as it is simulated. Each call of a sub-flow has its own, as its steps last otherwise."""
        definition = copy.deepcopy(record.flow.definition)
        if before:
            definition["flow"] += f"-{before[:-1]}"
        for name, step in definition["steps"].items():
            path, conduct = before + name, record.flow.conduct.get(name)
            if name in record.inner:
                step["target"] += f"-{name}"
            if conduct:
                self.add_conduct(path, conduct, "signal" in step)
            if not self.drawn.sequential and (conduct or "wait" in step):
                self.add_duration(path, step, record)
        if "timeout" in definition:
            cut = [at for (_, what), at in self.events.items() if what == "cancelled"]
            definition["timeout"] = min(cut) if record.run["state"] == "timeout" and cut else YEAR
        self.files.append(self.write(definition["flow"] + ".json", definition))
    def add_conduct(self, path, conduct, signal):
        if conduct.fails and not signal:
            self.options += ["--fail", path if conduct.fails < 0 else f"{path}:{conduct.fails}"]
        if conduct.value is not None:
            self.options += ["--value", f"{path}={self.write(path.replace('/', '-') + '.value', conduct.value)}"]
        if conduct.hangs and not signal and self.drawn.sequential:
            self.options += ["--never", path]

    def add_duration(self, path, step, record):
        """It takes as long as it did, with all of its attempts and items."""
        name = path.rpartition("/")[2]
        begin, end, what = self.spans.get(path, (0, YEAR, "cancelled"))
        took, never, conduct = end - begin, what == "cancelled", record.flow.conduct.get(name)
        if "wait" in step:
            step["wait"] = YEAR if never else took
            return
        if "signal" in step:
            never |= name not in record.flow.sent
            if "timeout" in step["signal"]:
                step["signal"]["timeout"] = YEAR if what == "cancelled" or name in record.flow.sent else took
        elif conduct.total:
            step |= {"total_timeout": YEAR if never else took, "retry": {"strategy": "fixed", "interval": YEAR}}
            took //= 3
        else:
            tries, rounds = record.tries(name, step)
            took, rest = divmod(took, tries * rounds)
            if "for_each" in step:
                self.slack += rest
                rest = 0
            if "retry" in step:
                step["retry"] = {**step["retry"], "sequence": [0] * (tries - 2) + [rest]}
            if conduct.hangs:
                never, step["timeout"] = True, YEAR if never else took
        self.options += ["--never", path] if never else ["--last", f"{path}={took}"]

    # -- both compared

    def crossed(self):
        """What was to be cancelled had just ended, and the station had not taken its end yet: either order is right. In the
        simulation no time passes between the end of a sub-run and that of its call, nor between a failure or a timeout and what
        it cancels."""
        if self.record.run["state"] == "timeout" and not self.cancelled():
            return True
        for event in self.end["events"]:
            at = (event["at"] - self.end["began"]) // 1000
            _, end, what = self.spans.get(event["step"], (0, YEAR, None))
            caller = event["step"].rpartition("/")[0]
            if caller and caller not in self.record.inner and self.spans[caller][2] == "cancelled":
                return True     # before its sub-run began
            if event["what"] == "cancelled" and what and what != "cancelled" and at - LATE <= end:
                return True
            if event["what"] in ("finished", "failed") and what == "cancelled" and end <= at + LATE:
                return True
            # Of a list the items that were cancelled are over some milliseconds later, and then the list.
            if event["what"] == what and event.get("why") == "cancelled" and at < end <= at + LATE:
                return True
        return False

    def same(self, what, recorded, simulated):
        if recorded != simulated:
            pytest.fail(f"{self.drawn.name}: {what}: recorded {recorded}, simulated {simulated}\n{self.told()}")

    def told(self):
        """For whoever looks for the reason: the definitions, and what happened in both."""
        lines = [f"{name}: {json.dumps(flow.definition)}" for name, flow in self.drawn.flows.items()]
        lines += [f"recorded {at} {path} {what}" for (path, what), at in sorted(self.events.items(), key=lambda row: row[1])]
        for event in self.end["events"]:
            at = (event["at"] - self.end["began"]) // 1000
            lines.append(f"simulated {at} {event['step']} {event.get('item', '')} {event['what']} {event.get('why', '')}")
        return "\n".join([*lines, " ".join(["zplan flow simulate", *self.files, *self.options])])

    def compare(self):
        end, shown = self.end, self.record.shown
        self.same("outcome", shown["state"], end["outcome"])
        self.same("uncaught", sorted(shown.get("failed", [])), sorted(end.get("uncaught", [])))
        self.same("output", shown.get("output"), end.get("output"))
        self.compare_states()
        self.compare_calls()
        if not self.loose:
            self.compare_times()

    def compare_states(self):
        now, before = {}, {}        # of the latest call of a sub-flow; of all
        for event in self.end["events"]:
            if event["what"] == "start" and event["step"] in self.record.inner:
                now = {path: state for path, state in now.items() if not path.startswith(event["step"] + "/")}
            elif event["what"] in (*ENDS, "blocked"):
                now[event["step"]] = before[event["step"]] = event["what"].replace("blocked", "none")
        for prefix, record in self.record.with_inner():
            for step in record.shown["steps"]:
                path = prefix + step["step"]
                older = {before.get(path, "none"), "none"} if prefix else {"none"}
                want = {now[path]} if path in now else older
                if step["state"] not in want:
                    self.same(f"state of {path}", step["state"], want)

    def simulated_calls(self):
        for event in self.end["events"]:
            path, what = event["step"], event["what"]
            if what in ("start", "retry", "undo") and self.record.is_call(path):
                yield path, event.get("item"), what == "undo"

    def compare_calls(self):
        """Of a sequential run the calls come in one order. Of others each is made as often, but for what is repeated until
        a time is over, or was cancelled."""
        recorded, simulated = self.record.all_calls(), list(self.simulated_calls())
        if self.drawn.sequential:
            self.same("calls", recorded, simulated)
        elif not self.cancelled():
            paths = {path for path, *_ in recorded if self.record.conduct(path).total}
            recorded, simulated = ([call for call in calls if call[0] not in paths] for calls in (recorded, simulated))
            self.same("calls", collections.Counter(recorded), collections.Counter(simulated))
        # Items end at one time there, as each lasts as long as the others.
        undone = [[path for path, item, undo in calls if undo and item is None] for calls in (recorded, simulated)]
        if not self.cancelled():
            self.same("undone", *undone)

    def cancelled(self):
        return [at for (_, what), at in self.events.items() if what == "cancelled"]

    def compare_times(self):
        """Until something is cancelled, and without what follows the undo."""
        simulated = {}
        for event in self.end["events"]:
            what = "start" if event["what"] in ("start", "wait") else event["what"]
            simulated.setdefault((event["step"], what), (event["at"] - self.end["began"]) // 1000)
        cut = min((at for (_, what), at in simulated.items() if what == "cancelled"), default=10 * YEAR) - self.slack
        last = self.record.flow.definition.get("finally")
        known = {key for key in self.events.keys() | simulated.keys()
                 if key[0] != last and key[1] in ("start", "blocked", *ENDS)}
        # The log has also when a call came to wait for max_parallel; a cancel may come before its turn.
        sent = {path for path, *_ in self.record.all_calls()} | set(self.record.inner)
        known -= {(path, "start") for path, what in known
                  if what == "start" and self.record.target_of(path) and path not in sent and (path, what) not in simulated}
        for key in sorted(known, key=lambda key: self.events.get(key, 0)):
            recorded, got = self.events.get(key), simulated.get(key)
            if min(time for time in (recorded, got) if time is not None) >= cut:
                continue
            if recorded is None or got is None or abs(recorded - got) > self.slack:
                self.same(f"{key} at", recorded, got)


@pytest.mark.timeout(60 + 3 * RUNS)
@pytest.mark.parametrize("part", range(PARTS))
def test_runs_are_simulated_as_they_were_recorded(rig, part):
    print(f"ZPLAN_REPLAY_SEED={SEED} ZPLAN_REPLAY_RUNS={RUNS}")
    night, counts = Night(rig, [Drawn(SEED, at) for at in range(part, RUNS, PARTS)]), collections.Counter()
    records = night.to_the_end()
    for drawn in night.drawn:
        replay = Replay(night, drawn, records[drawn.name], rig.folder)
        crossed = replay.crossed()
        counts.update({"crossed": crossed, "cancelled": bool(replay.cancelled()), "sequential": drawn.sequential,
                       "timed": not (crossed or replay.loose), "run " + records[drawn.name].run["state"]: 1})
        if not crossed:
            replay.compare()
    print(dict(counts))
    assert counts["crossed"] <= 2 + counts["cancelled"] and counts["timed"] >= len(records) / 3 - 1, counts
