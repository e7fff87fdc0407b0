"""A model of flows that knows no counters and no history of decisions: it decides every step anew from what has happened.

Written from the rules (proto/flows.md), not from the C. What has happened are *facts*: which calls ended and how, what a
person skipped, which steps have started, whether the run was cancelled. `decide` goes through the steps from the roots on
and applies the rules of edges and joins to them.
"""
import dataclasses


@dataclasses.dataclass
class Step:
    """One step of a definition, as far as the model reads it."""
    name: str
    kind: str = "call"                  # call, each, compute, wait, signal, flow
    inner: str = ""                     # of kind flow: which
    edges: list = dataclasses.field(default_factory=list)       # (source, [on, ...])
    join: object = "all"
    condition: object = None            # an expression: text, value (facts)
    compute: object = None
    items: object = None                # an expression of the count, of kind each
    tolerate: object = 0
    collect: str = "list"
    parallel: int = 0                   # of its items, 0: no bound of its own
    on_error: str = "block"
    undo: str = ""                      # "", finished, started
    signal: dict = dataclasses.field(default_factory=dict)


class Missing(Exception):
    """The value of a step that did not end well."""


@dataclasses.dataclass(slots=True)
class State:
    state: str                          # none open finished failed cancelled skipped
    blocked: bool = False
    person: bool = False
    value: object = None
    valued: bool = False
    started: bool = False               # its join passed, and its condition
    passed: bool = False                # its join
    unfit: bool = False                 # its condition failed


@dataclasses.dataclass
class Facts:
    """What has happened in a run."""
    ended: dict = dataclasses.field(default_factory=dict)       # (step, item) -> (state, value)
    person: dict = dataclasses.field(default_factory=dict)      # step, or (step, item) -> value or None
    placed: set = dataclasses.field(default_factory=set)        # calls that were created, (step, item)
    started: set = dataclasses.field(default_factory=set)       # steps whose join and condition let them start
    unfit: set = dataclasses.field(default_factory=set)         # of these: steps whose condition failed
    listless: set = dataclasses.field(default_factory=set)      # and those whose list failed
    untaken: set = dataclasses.field(default_factory=set)       # steps whose condition was false
    counts: dict = dataclasses.field(default_factory=dict)      # step -> items of its for_each
    cancelled: set = dataclasses.field(default_factory=set)     # steps that a stop or fail_fast cancelled
    stop: str = ""                      # cancelled, timeout
    left: set = dataclasses.field(default_factory=set)          # steps that a retry or a skip left cancelled
    before: set = dataclasses.field(default_factory=set)        # steps that had failed before that
    generation: dict = dataclasses.field(default_factory=dict)  # how often a call is repeated on purpose
    times: dict = dataclasses.field(default_factory=dict)       # when waits end, kept over retries
    now: int = 0
    order: list = dataclasses.field(default_factory=list)       # calls in the order of their ends


LIVE = {
    # what the source became: the words that make an edge live, those that make it broken
    "done": ({"finished", "ended"}, set()),
    "rule": ({"skipped"}, set()),
    "failed": ({"failed", "caught", "ended"}, {"finished"}),
    "continued": ({"finished", "failed", "caught", "ended"}, set()),
    "stopped": ({"ended"}, {"finished"}),
}


def became(step, state):
    """What an edge sees of its source; None as long as the source is not decided."""
    if state.state == "finished" or (state.state == "skipped" and state.person):
        return "done"
    if state.state == "skipped":
        return "rule"
    if state.state == "failed":
        return "continued" if step.on_error == "continue" else "failed"
    if state.blocked or state.state == "cancelled":
        return "stopped"
    return None


def edge_of(seen, words):
    """An edge that waits for these words, of a source that became this."""
    if seen is None:
        return "open"
    live, broken = LIVE[seen]
    if not live.isdisjoint(words):
        return "live"
    return "dead" if broken.isdisjoint(words) else "broken"


def needed(step):
    if step.join == "all":
        return None
    return {"any": 1, "majority": len(step.edges) // 2 + 1}.get(step.join, step.join)


def join_of(step, edges):
    """start, wait, blocked or skipped."""
    if not edges:
        return "start"
    want = needed(step)
    if want is not None and edges.count("live") >= want:
        return "start"
    if want is None and "broken" in edges:
        return "blocked"
    if "open" in edges:
        return "wait"
    if "broken" in edges:
        return "blocked"
    if want is None and "live" in edges:
        return "start"
    return "skipped"


def tolerated(step, failed, count):
    if isinstance(step.tolerate, str):
        return failed * 100 <= int(step.tolerate[:-1]) * count
    return failed <= step.tolerate


class Model:
    def __init__(self, steps, facts=None):
        self.steps = steps                                      # in the order of the definition
        self.facts = facts or Facts()
        self.order = topological(steps)

    def read(self, name):
        """The value of a step, for an expression."""
        state = self.states[name]
        if not state.valued:
            raise Missing(name)
        return state.value

    def decide(self):
        """The state of every step, from the facts alone. What starts by that is a fact from then on."""
        self.states, self.became = {}, {}
        for name in self.order:
            step = self.steps[name]
            state = self.states[name] = self.decide_step(step)
            self.became[name] = became(step, state)
            if state.started:
                self.started(step, state)
        return self.states

    def place(self, call):
        """A call was created, which changes nothing but its step: unless that changes, no other does."""
        name = call[0]
        self.facts.placed.add(call)
        if self.decide_step(self.steps[name]) != self.states[name]:
            self.decide()

    def started(self, step, state):
        self.facts.started.add(step.name)
        if state.unfit:
            self.facts.unfit.add(step.name)
        elif step.kind == "compute":
            self.facts.ended[step.name, None] = (state.state, state.value)
        elif step.kind == "each" and step.name not in self.facts.counts:
            try:
                self.facts.counts[step.name] = step.items.value(self.read)
            except Missing:
                self.facts.listless.add(step.name)

    def decide_step(self, step):
        name, facts = step.name, self.facts
        if name in facts.person:
            value = facts.person[name]
            return State("skipped", person=True, value=value, valued=value is not None,
                         started=name in facts.started, passed=name in facts.started, unfit=name in facts.unfit)
        if name not in facts.started:
            edges = [edge_of(self.became[source], words) for source, words in step.edges]
            decided = join_of(step, edges)
            if decided != "start":
                return State("skipped" if decided == "skipped" else "none", blocked=decided == "blocked")
            if (name in facts.cancelled or facts.stop) and name not in facts.untaken:
                return State("cancelled", passed=True)
            try:
                if step.condition and not step.condition.value(self.read):
                    facts.untaken.add(name)
                    return State("skipped", passed=True)
            except Missing:
                return State("failed", started=True, passed=True, unfit=True)
        if name in facts.unfit:
            return State("failed", started=True, passed=True, unfit=True)
        state = {"call": self.call, "flow": self.call, "wait": self.call, "signal": self.call, "each": self.each,
                 "compute": self.computed}[step.kind](step)
        state.started = state.passed = True
        return state

    def call(self, step):
        end = self.facts.ended.get((step.name, None))
        if end and end[0] == "rule":    # a signal whose timeout skips
            return State("skipped")
        if end:
            return State(end[0], value=end[1], valued=end[0] == "finished")
        placed = (step.name, None) in self.facts.placed
        if step.kind == "wait" and not placed and self.facts.times.get(step.name, self.facts.now + 1) <= self.facts.now:
            return State("finished", valued=True)       # of an earlier start: it is past
        return self.stopped(step, placed)

    def stopped(self, step, in_flight):
        """What has started and not ended."""
        if not in_flight and (step.name in self.facts.cancelled or self.facts.stop):
            return State("cancelled")
        return State("open")

    def computed(self, step):
        end = self.facts.ended.get((step.name, None))
        if end:
            return State(end[0], value=end[1], valued=end[0] == "finished")
        try:
            return State("finished", value={"x": step.compute.value(self.read)}, valued=True)
        except Missing:
            return State("failed")

    def count_of(self, step):
        """Items, recorded when the step started. Raises Missing."""
        if step.name not in self.facts.counts:
            return step.items.value(self.read)
        return self.facts.counts[step.name]

    def item(self, step, item):
        if (step.name, item) in self.facts.person:
            value = self.facts.person[step.name, item]
            return State("skipped", person=True, value=value)
        end = self.facts.ended.get((step.name, item))
        if end:
            return State(end[0], value=end[1] if end[0] == "finished" else None)
        return State("open" if (step.name, item) in self.facts.placed else "none")

    def each(self, step):
        if step.name in self.facts.listless:
            return State("failed")
        try:
            count = self.count_of(step)
        except Missing:
            return State("failed")
        items = [self.item(step, item) for item in range(count)]
        cancelled = sum(item.state == "cancelled" for item in items)
        failed = sum(item.state == "failed" for item in items) + cancelled
        waiting = any(item.state == "none" for item in items)
        if any(item.state == "open" for item in items):
            return State("open")
        stopped = self.facts.stop or step.name in self.facts.cancelled
        if stopped and (waiting or cancelled or not tolerated(step, failed, count)):
            return State("failed" if step.name in self.facts.before else "cancelled")
        if not tolerated(step, failed, count):
            return State("failed")
        if waiting:
            return State("open")
        if step.collect == "list":
            value = [item.value for item in items]
        elif step.collect == "count":
            value = {"finished": count - failed, "failed": failed}
        else:
            value = None
        return State("finished", value=value, valued=True)

    def ready(self):
        """Calls that may be placed, in order: (step, item)."""
        for name in self.steps:
            yield from self.ready_of(name)

    def ready_of(self, name):
        """Those of a step; of a for_each only the next one."""
        step = self.steps[name]
        if self.states[name].state != "open" or self.facts.stop or name in self.facts.cancelled:
            return
        if step.kind != "each":
            if (name, None) not in self.facts.placed:
                yield name, None
            return
        count = self.count_of(step)
        items = [self.item(step, item) for item in range(count)]
        failed = sum(item.state in ("failed", "cancelled") for item in items)
        flying = sum(item.state == "open" for item in items)
        if tolerated(step, failed, count) and not (step.parallel and flying >= step.parallel):
            waiting = [item for item in range(count) if items[item].state == "none"]
            if waiting:
                yield name, waiting[0]

    def in_flight(self):
        """Calls that count for max_parallel."""
        return {(name, item) for name, item in self.facts.placed
                if (name, item) not in self.facts.ended and (name, item) not in self.facts.person
                and self.steps[name].kind in ("call", "each", "flow")}

    # -- commands

    def all_behind(self, names):
        """The steps behind some, they included, whatever the edges wait for."""
        found = set(names)
        for name in self.order:
            if any(source in found for source, _ in self.steps[name].edges):
                found.add(name)
        return found

    def retried_by_default(self):
        return self.uncaught() + [name for name in self.steps if self.states[name].state == "cancelled"
                                  and name not in self.uncaught()]

    def retry(self, names):
        """What is reset; of a for_each that is named itself only the items that did not finish are."""
        facts, reset = self.facts, self.all_behind(names)
        own = {name for name in names if self.steps[name].kind == "each" and not any(
            source in reset for source, _ in self.steps[name].edges)}
        for call in [call for call in facts.placed | set(facts.ended) if call[0] in reset]:
            finished = facts.ended.get(call, ("",))[0] == "finished"
            if call[0] in own and finished:
                continue
            if finished:
                facts.generation[call] = facts.generation.get(call, 0) + 1
            facts.placed.discard(call)
            facts.ended.pop(call, None)
        for name in [name for name in facts.person if (name if isinstance(name, str) else name[0]) in reset]:
            del facts.person[name]
        facts.started -= reset
        facts.unfit -= reset
        facts.listless -= reset
        facts.untaken -= reset
        facts.before -= reset
        facts.left = {name for name in self.steps if self.states[name].state == "cancelled"} - reset
        facts.cancelled = facts.cancelled - reset | facts.left
        facts.stop = ""
        return reset

    def skip(self, name, value=None):
        """By a person: what did not start behind it is decided anew, as `decide` does always."""
        self.facts.person[name] = value

    def fails_fast(self, name):
        """Whether a failure of this step, if it is the first one, cancels what is ready or in flight."""
        return self.steps[name].on_error != "continue" and not any("caught" in words for _, words in self.behind(name))

    def undone(self):
        """The calls that are undone, in their order: the last to end first."""
        calls = []
        for call in reversed(self.facts.order):
            step = self.steps[call[0]]
            state = self.facts.ended.get(call, ("",))[0]
            if step.undo and (state == "finished" or (step.undo == "started" and state in ("failed", "cancelled"))):
                calls.append(call)
        return calls

    # -- the end

    def behind(self, name):
        return [(step, words) for step in self.steps.values() for source, words in step.edges if source == name]

    def handled(self, name):
        """Whether the failure (or the cancelling by a person) of a step is dealt with."""
        step, state = self.steps[name], self.states[name]
        if state.state == "failed":
            if step.on_error == "continue":
                return True
            if any("caught" in words and self.acted(target.name) for target, words in self.behind(name)):
                return True
        return self.stops_nothing(name)

    def acted(self, name):
        """A step whose condition failed has started nothing, nor has a call that was cancelled before a slot was free."""
        state = self.states[name]
        waited = state.state == "cancelled" and self.steps[name].kind in ("call", "flow") and (
            (name, None) not in self.facts.placed)
        return state.started and not state.unfit and not waited

    def stops_nothing(self, name):
        broken = [target.name for target, words in self.behind(name)
                  if edge_of(self.became[name], words) == "broken"]
        return bool(broken) and all(
            self.states[target].passed
            or (self.states[target].blocked and self.stops_nothing(target)) for target in broken)

    def failed(self):
        return [name for name in self.steps if self.states[name].state == "failed"]

    def uncaught(self):
        return [name for name, step in self.steps.items()
                if (self.states[name].state == "failed"
                    or (self.states[name].state == "cancelled" and not self.facts.stop
                        and name not in self.facts.cancelled)) and not self.handled(name)]

    def output(self):
        """The values of the steps without targets."""
        return {name: self.states[name].value for name, step in self.steps.items()
                if not self.behind(name) and self.states[name].valued}

    def over(self):
        return not any(state.state == "open" or (state.state == "none" and not state.blocked)
                       for state in self.states.values())

    def outcome(self):
        if self.facts.stop:
            return self.facts.stop
        if self.uncaught():
            return "failed"
        return "cancelled" if self.facts.left else "finished"


def topological(steps):
    """Names, sources first."""
    order, placed = [], set()

    def place(name):
        stack = [(name, iter(steps[name].edges))]
        placed.add(name)
        while stack:
            at, edges = stack[-1]
            source = next((source for source, _ in edges if source not in placed), None)
            if source is None:
                stack.pop()
                order.append(at)
            else:
                placed.add(source)
                stack.append((source, iter(steps[source].edges)))

    for name in steps:
        if name not in placed:
            place(name)
    return order
