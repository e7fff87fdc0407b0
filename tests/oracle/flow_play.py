"""Plays runs of random flows on the station's engine, and compares each step with the model (flow_model.py)."""
import itertools
import random

from flow_engine import SEEN
from flow_model import Facts, Model

UNSEEN = {"state": "none"}
STATUS = {"finished": "ok", "failed": "failed", "cancelled": "cancelled"}


class Difference(AssertionError):
    """The engine and the model disagree."""


class Run:
    """A run on the engine. How a call ends is drawn from the seed and the call, so that it does not depend on the order in
    which calls end; that order is drawn from `order`."""

    names = itertools.count()

    def __init__(self, engine, graph, seed, order, failures=0.25):
        self.engine, self.graph, self.order = engine, graph, order
        self.steps, self.definition, self.name = graph.steps, graph.definition, f"r{next(self.names)}"
        self.seed, self.random, self.failures = seed, random.Random(f"order {seed} {order}"), failures
        self.waits = [name for name, step in self.steps.items() if step.kind in ("wait", "signal")]
        self.limit = self.definition.get("max_parallel", 5) or 10**9
        self.model = Model(self.steps, Facts())
        self.flying = []                # calls, waits and signals that were placed and have not ended
        self.undoing = []               # calls of `undo` in flight
        self.undone = []
        self.view = {}                  # the state of each step, as the engine reported it last
        self.run = {}
        self.last = self.definition.get("finally")
        self.last_state, self.last_generation, self.lasting = None, 0, False
        self.fast = self.definition.get("fail_fast", False)
        self.children = {}              # runs of sub-flows
        self.within = set()             # sub-flows that are to be retried within
        self.suspended = False
        self.timers = self.model.facts.times    # of waits and signals
        self.asked = set()              # calls that were to be cancelled
        self.calls = []                 # all that were placed

    def check(self, condition, text):
        if not condition:
            raise Difference(f"seed {self.seed}: {text}")

    # -- how calls end

    def end_of(self, call):
        step, item = call
        generation = self.model.facts.generation.get(call, 0)
        drawn = random.Random(f"end {self.seed} {step} {item} {generation}")
        if drawn.random() < self.failures:
            return "failed", None
        return "finished", drawn.randrange(20)

    # -- what the engine does

    def placed(self, place):
        call = place["step"], place.get("item")
        if place.get("undo"):
            self.check(not self.undoing, f"undo of {call} beside {self.undoing}")
            self.undoing.append(call)
            return
        if call[0] == self.last:
            self.check(not self.lasting and not self.flying and not self.undoing, f"{self.last} is not the last")
            self.check(place.get("generation", 0) == self.last_generation, f"generation of {place}")
            self.lasting = True
            return
        self.check(call not in self.model.facts.placed, f"{call} was placed twice")
        self.check(call in self.model.ready_of(call[0]), f"{call} was placed, and is not ready")
        self.check(place.get("generation", 0) == self.model.facts.generation.get(call, 0), f"generation of {place}")
        self.check(place.get("inner", False) == (call[0] in self.within), f"{place}, within {self.within}")
        if place.get("flow"):
            self.begin_within(call)
        self.add(call)
        self.check(len(self.model.in_flight()) <= self.limit, f"{call}: more than {self.limit} in flight")

    def add(self, call):
        self.flying.append(call)
        self.calls.append(call)
        self.model.place(call)

    def begin_within(self, call):
        """A sub-flow begins: its run is a run of the engine as well."""
        if call[0] in self.within:
            self.within.remove(call[0])
            self.children[call].failures = 0
            self.children[call].retry(self.children[call].model.retried_by_default())
            return
        inner = self.graph.inner[self.steps[call[0]].inner]
        seed = f"{self.seed} {call[0]} {self.model.facts.generation.get(call, 0)}"
        self.children[call] = Run(self.engine, inner, seed, self.order, self.failures)
        self.children[call].begin()

    def end_within(self, call):
        """How the run of a sub-flow ends."""
        child = self.children[call]
        child.to_the_end()
        if child.run["state"] != "finished":
            return "failed", None
        self.check(child.run["output"] == child.model.output(), f"{call}: {child.run}, want {child.model.output()}")
        return "finished", child.run["output"]

    def fail_fast(self, answer):
        """The first failure cancels what is in flight, and what is ready: the engine says which."""
        changed = {step["step"]: step["state"] for step in answer.get("changed", []) if step["step"] != self.last}
        facts = self.model.facts
        if facts.stop or not any(state == "failed" and self.model.fails_fast(name) for name, state in changed.items()):
            return
        self.fast = False
        cancelled = {name for name, state in changed.items() if state == "cancelled"}
        cancelled |= {call["step"] for call in answer.get("cancel", [])}
        in_flight = {call for call in self.flying if call not in facts.ended}
        self.check({call[0] for call in in_flight} <= cancelled, f"fail_fast cancelled {cancelled} of {in_flight}")
        facts.cancelled |= cancelled
        for call in in_flight:
            if self.steps[call[0]].kind in ("wait", "signal"):
                facts.ended[call] = "cancelled", None
                self.flying.remove(call)

    def take(self, answer):
        """What the engine did after an event: what was placed, what could have been, and every step."""
        self.check("rejected" not in answer and not answer.get("dropped"), f"rejected: {answer}")
        for step in answer.get("changed", []):
            self.view[step["step"]] = step
        self.run.update(answer.get("run", {}))
        self.timers.update({timer["step"]: timer["at"] for timer in answer.get("timer", [])})
        self.model.facts.now = self.engine.now
        if self.fast:
            self.fail_fast(answer)
        for cancelled in answer.get("cancel", []):
            call = cancelled["step"], cancelled.get("item")
            if call[0] == self.last:
                self.lasting = False
                continue
            self.asked.add(call)
            if self.steps[call[0]].kind in ("wait", "signal") and call in self.flying:
                self.flying.remove(call)
        self.model.decide()
        for place in answer.get("place", []):
            self.placed(place)
        self.waiting()
        if not self.suspended:
            if len(self.model.in_flight()) < self.limit:
                idle = list(self.model.ready())
                self.check(not idle, f"{idle[:3]} could start, and did not")
            self.compare()

    def waiting(self):
        """Waits and signals are no calls: they start as soon as they are ready, without a place."""
        for name in self.waits:
            if self.view.get(name, UNSEEN)["state"] == "running":
                for call in list(self.model.ready_of(name)):
                    self.add(call)

    def compare(self):
        for name, state in self.model.states.items():
            seen = self.view.get(name, UNSEEN)
            said = SEEN.get(seen["state"], seen["state"])
            same = (said, bool(seen.get("blocked"))) == (state.state, state.blocked)
            if state.state == "skipped":
                same = same and seen.get("by") == ("person" if state.person else "rule")
            if state.valued and state.value is not None:
                same = same and seen.get("value") == state.value
            if not same:    # a text for each of a million would take longer than all else
                raise Difference(f"seed {self.seed}: {name} is {seen}, want {state}")

    def state(self):
        """The engine's whole state is what it reported piece by piece."""
        shown = self.engine.event("state", run=self.name)["steps"]
        for name in self.steps:
            self.check(shown[name]["state"] == self.view.get(name, {"state": "none"})["state"],
                       f"{name}: {shown[name]}, reported {self.view.get(name)}")

    # -- events

    def begin(self):
        self.take(self.engine.begin(self.definition, self.name))

    def event(self, name, **fields):
        self.take(self.engine.event(name, run=self.name, **fields))

    def end(self, call, state=None, value=None):
        step, item = call
        kind = self.steps[step].kind
        if state is None and kind in ("call", "each", "flow") and call in self.asked and self.random.random() < 0.7:
            state = "cancelled"
        if state is None:
            state, value = self.end_within(call) if kind == "flow" else self.end_of(call)
        self.flying.remove(call)
        self.asked.discard(call)
        facts = self.model.facts
        facts.order.append(call)
        if kind == "wait":
            facts.ended[call] = "finished", None
            return self.due(step)
        if kind == "signal":
            return self.end_signal(call, state, value)
        facts.ended[call] = state, value
        fields = {"item": item} if item is not None else {}
        return self.event("ended", step=step, **fields, generation=facts.generation.get(call, 0),
                          status=STATUS[state], **({"result": value} if state == "finished" else {"error": "x"}))

    def end_signal(self, call, state, value):
        step, facts = call[0], self.model.facts
        signal = self.steps[step].signal
        on_timeout = signal.get("on_timeout")
        if state == "failed" and on_timeout:
            facts.ended[call] = {"fail": ("failed", None), "skip": ("rule", None)}.get(
                on_timeout if isinstance(on_timeout, str) else "", ("finished", 7))
            return self.due(step)
        if state == "failed":
            facts.ended[call] = "failed", None
            return self.event("reject", step=step, key="lead", reason="no")
        for given in range(signal["count"] - 1):
            self.event("signal", step=step, key=f"k{given}", value=given)
        values = [*range(signal["count"] - 1), value]
        facts.ended[call] = "finished", values if signal["count"] > 1 else value
        return self.event("signal", step=step, key="last", value=value)

    def due(self, step):
        """The time of a wait, or of a signal's timeout, has come."""
        self.engine.now = max(self.engine.now, self.timers[step])
        return self.event("due", step=step, now=self.engine.now)

    def skip(self, name, value):
        lasting = self.lasting
        self.model.skip(name, value)
        self.event("skip", step=name, **({} if value is None else {"value": value}))
        if lasting:
            self.event("ended", step=self.last, generation=self.last_generation, status="cancelled")

    def retry(self, names):
        behind = self.model.all_behind(names) - {name for name in names if not any(
            source in self.model.all_behind(names) for source, _ in self.steps[name].edges)}
        self.within = {name for name in names if self.steps[name].kind == "flow" and name not in behind
                       and self.model.states[name].state == "failed" and (name, None) in self.children
                       and (name, None) in self.model.facts.ended}
        self.model.retry(names)
        self.fast = self.definition.get("fail_fast", False)
        self.last_generation += self.last_state == "finished"
        self.last_state = None
        self.run.pop("uncaught", None)
        self.undone.clear()
        self.event("retry")

    def stop(self, how):
        """Cancelled, or its time is over: what is in flight ends as it may."""
        self.model.facts.before.update(self.model.failed())
        self.model.facts.stop = {"cancel": "cancelled"}.get(how, how)
        waiting = {call for call in self.flying if self.steps[call[0]].kind in ("wait", "signal")}
        for call in waiting:
            self.model.facts.ended[call] = "cancelled", None
        calls = set(self.flying) - waiting
        self.asked.clear()
        self.flying = [call for call in self.flying if call in calls]
        self.event(how)
        self.check(calls <= self.asked <= calls | waiting, f"to be cancelled: {self.asked}, want {calls}")
        while self.flying:
            call = self.random.choice(self.flying)
            self.end(call, *(("cancelled", None) if self.random.random() < 0.7 else ()))

    def suspend(self):
        self.suspended = True
        self.event("suspend")

    def resume(self):
        self.suspended = False
        self.event("resume")

    def to_the_end(self):
        while self.flying:
            self.end(self.random.choice(self.flying))
        self.check(self.model.over(), "nothing is in flight, and not every step is decided")
        self.undo()

    def undo(self):
        """After the steps: what is undone, one by one, if the run did not finish."""
        want = [] if self.model.outcome() == "finished" else self.model.undone()
        while self.undoing:
            call = self.undoing.pop()
            self.undone.append(call)
            fields = {"item": call[1]} if call[1] is not None else {}
            answer = self.engine.event("ended", run=self.name, step=call[0], **fields, undo=True, status="ok",
                                       generation=self.model.facts.generation.get(call, 0))
            self.run.update(answer.get("run", {}))
            for place in answer.get("place", []):
                self.placed(place)
        self.check(self.undone == want, f"undone {self.undone}, want {want}")
        outcome, uncaught = self.model.outcome(), set(self.model.uncaught())
        if self.last:
            self.end_last()
        if self.last_state == "failed":
            outcome, uncaught = "failed" if outcome == "finished" else outcome, uncaught | {self.last}
        self.check(self.run.get("state") == outcome, f"{self.run}, want {outcome}")
        failed = len(self.model.failed()) + (self.last_state == "failed")
        self.check(self.run.get("failures", 0) == failed, f"{self.run}: want {failed} failures")
        self.check(set(self.run.get("uncaught", [])) == uncaught, f"{self.run}: want {uncaught} uncaught")
        self.state()

    def end_last(self):
        """The step of finally, behind everything else."""
        self.check(self.lasting, f"{self.last} was not placed")
        self.lasting = False
        drawn = random.Random(f"last {self.seed} {self.last_generation}").random()
        self.last_state = "failed" if drawn < self.failures else "finished"
        answer = self.engine.event("ended", run=self.name, step=self.last, generation=self.last_generation,
                                   status=STATUS[self.last_state], **({"error": "x"} if drawn < self.failures else {}))
        for step in answer.get("changed", []):
            self.view[step["step"]] = step
        self.run.update(answer.get("run", {}))

    def final(self):
        return self.model.outcome(), {name: (state.state, state.blocked, state.value)
                                      for name, state in self.model.states.items()}
