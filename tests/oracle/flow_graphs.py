"""Random flows: a definition as a station reads it, and the same as steps of the model (flow_model.py)."""
import dataclasses
import random

from flow_model import Missing, Step

INNER = 3       # flows that a graph has as steps
ONS = ("finished", "failed", "caught", "ended", "skipped")


class Wrong(Exception):
    """An expression over a value of another type: default () does not catch it."""


class Expression:
    """A text for the definition, and what it means."""

    def __init__(self, text, value):
        self.text = text
        self._value = value

    def value(self, read):
        try:
            return self._value(read)
        except Wrong as wrong:
            raise Missing(str(wrong)) from None


def number_of(step, value):
    """What the expressions below read of a value of this step: an integer."""
    if value is None:
        raise Wrong("null")
    if step.kind == "compute":
        if not isinstance(value, dict):
            raise (Missing if value is None else Wrong)(step.name)
        return value["x"]
    if step.kind == "each" and step.collect == "list":
        if not isinstance(value, list):
            raise Wrong(step.name)
        return len(value)
    if step.kind == "each" and step.collect == "count":
        if not isinstance(value, dict):
            raise Wrong(step.name)
        return value["failed"]
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(step.name)
    return value


def path_of(step):
    tail = ""
    if step.kind == "compute":
        tail = ".x"
    elif step.kind == "each" and step.collect == "list":
        tail = ".size()"
    elif step.kind == "each" and step.collect == "count":
        tail = ".failed"
    return f"steps['{step.name}'].value{tail}"


def readable(step):
    return step.kind not in ("wait", "signal", "flow") and not (step.kind == "each" and step.collect == "none")


def number(rng, steps, step):
    """An expression of an integer over a source of this step, whose edges are all decided when it is read."""
    sources = [steps[source] for source, _ in step.edges if readable(steps[source])] if step.join == "all" else []
    if not sources or rng.random() < 0.2:
        constant = rng.randrange(10)
        return Expression(str(constant), lambda read: constant)
    source, other = rng.choice(sources), rng.randrange(10)
    if rng.random() < 0.3:
        return Expression(path_of(source), lambda read: number_of(source, read(source.name)))

    def value(read):
        try:
            found = read(source.name)
        except Missing:
            return other
        if found is None and path_of(source).endswith(".value"):
            return other
        if found is None:       # a member of null is missing, a method of it is an error
            if path_of(source).endswith("()"):
                raise Wrong(source.name)
            return other
        return number_of(source, found)
    return Expression(f"default({path_of(source)}, {other})", value)


def condition(rng, steps, step):
    left, right, modulus = number(rng, steps, step), rng.randrange(3), rng.randrange(2, 5)
    return Expression(f"{left.text} % {modulus} != {right}", lambda read: left.value(read) % modulus != right)


def words(rng):
    if rng.random() < 0.65:
        return ["finished"]
    return rng.sample(ONS, rng.choice((1, 1, 1, 2, 3)))


def step_of(rng, steps, name, before, rates):
    """A random step behind some of those before it."""
    step = Step(name)
    if before and rng.random() < 0.85:
        reach = before[-rng.choice((3, 8, len(before))):]
        for source in rng.sample(reach, min(len(reach), rng.choice((1, 1, 1, 2, 2, 3, 5)))):
            step.edges.append((source, words(rng)))
    if step.edges:
        step.join = rng.choice(("all", "all", "all", "any", "majority", rng.randint(1, len(step.edges))))
    step.kind = rng.choices(("call", "each", "compute", "wait", "signal", "flow"),
                            (60, 14, 12, 7, rates["signal"], rates["flow"]))[0]
    if rng.random() < 0.25:
        step.condition = condition(rng, steps, step)
    if step.kind == "compute":
        step.compute = number(rng, steps, step)
    if rng.random() < 0.15:
        step.on_error = "continue"
    if step.kind == "each":
        step.items = number(rng, steps, step)
        step.tolerate = rng.choice((0, 0, 1, 2, "0%", "20%", "50%", "100%"))
        step.collect = rng.choice(("list", "list", "count", "none"))
        step.parallel = rng.choice((0, 1, 2, 5))
    if step.kind == "flow":
        step.inner = f"inner{rng.randrange(INNER)}"
    if step.kind in ("call", "each") and rng.random() < rates["undo"]:
        step.undo = rng.choice(("finished", "finished", "started"))
    if step.kind == "signal":
        step.signal = {"count": rng.choice((1, 1, 2, 3))}
        if rng.random() < 0.7:
            step.signal |= {"timeout": 60, "on_timeout": rng.choice(("fail", "skip", {"value": 7}))}
    return step


@dataclasses.dataclass
class Graph:
    steps: dict             # of the model
    definition: dict
    inner: dict             # name of a sub-flow -> its graph


def graph(seed, size=None, name="random", **rates):
    """A random flow; `rates`: how often a step has an undo, is a signal, is a flow; whether the run may fail fast."""
    rng = random.Random(f"graph {seed}")
    rates = {"undo": 0.0, "signal": 0, "flow": 0, "fast": 0.0} | rates
    inner = {}
    for at in range(INNER if rates["flow"] else 0):
        inside = f"inner{at}"
        inner[inside] = graph(f"{seed} {inside}", rng.choice((1, 2, 3, 5, 9)), inside, **rates | {"flow": 0})
    size = size or rng.choice((1, 2, 3, 5, 8, 13, 30, 60, 120, 200))
    steps, names = {}, [f"s{at}" for at in range(size)]
    for at, step in enumerate(names):
        steps[step] = step_of(rng, steps, step, names[:at], rates)
    # The order of the definition is not that of the edges.
    shuffled = rng.sample(names, size)
    steps = {name: steps[name] for name in shuffled}
    return Graph(steps, definition(rng, name, steps, rates), inner)


def edge_text(rng, source, on):
    if on == ["finished"] and rng.random() < 0.8:
        return source
    return {"step": source, "on": on[0] if len(on) == 1 and rng.random() < 0.5 else on}


def definition(rng, flow, steps, rates):
    written, edges = {}, []
    for name, step in steps.items():
        body = {}
        if step.edges and rng.random() < 0.1:
            edges += [{"source": source, "target": name, "on": on} for source, on in step.edges]
        elif step.edges:
            body["after"] = [edge_text(rng, source, on) for source, on in step.edges]
        if step.join != "all":
            body["join"] = step.join
        if step.condition:
            body["if"] = step.condition.text
        if step.on_error != "block":
            body["on_error"] = step.on_error
        if step.kind in ("call", "each"):
            body |= {"target": "jobs", "command": name}
        if step.kind == "flow":
            body |= {"target": step.inner}
        if step.kind == "each":
            body |= {"for_each": "=" + step.items.text, "tolerate": step.tolerate, "collect": step.collect}
            if step.parallel:
                body["max_parallel"] = step.parallel
        if step.kind == "compute":
            body["let"] = {"x": step.compute.text}
        if step.kind == "wait":
            body["wait"] = 60
        if step.kind == "signal":
            body["signal"] = step.signal
        if step.undo:
            body["undo"] = {"target": "jobs", "command": "undo " + name} | (
                {"on": step.undo} if step.undo != "finished" or rng.random() < 0.5 else {})
        written[name] = body
    if rng.random() < 0.3:
        written["last"] = {"target": "jobs", "command": "last"}
    return {"flow": flow, "max_parallel": rng.choice((0, 0, 1, 2, 5, 64)), "steps": written} | (
        {"edges": edges} if edges else {}) | ({"finally": "last"} if "last" in written else {}) | (
        {"fail_fast": True} if rng.random() < rates["fast"] else {})
