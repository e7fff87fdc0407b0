"""What the check of a definition accepts: never what the schema forbids, and nothing hostile; and what it reports."""
import copy
import json
import os
import random
import sys

import pytest

from flow_engine import Engine

PROTO = os.path.join(os.path.dirname(__file__), "..", "..", "proto")
sys.path.append(os.path.join(os.path.dirname(__file__), "..", "proto"))
from schema import valid            # noqa: E402 pylint: disable=wrong-import-position

SEED = int(os.environ.get("ZPLAN_FLOW_SEED", "1000"))


@pytest.fixture(name="engine", scope="module")
def _engine():
    engine = Engine()
    yield engine
    assert engine.close() == 0


def errors(engine, flow):
    """The paths and reasons of what is wrong."""
    answer = engine.event("define", flow=flow)
    assert answer["ok"] is not bool(answer.get("errors")), answer
    return [f"{error['path']}: {error['reason']}" for error in answer.get("errors", [])]


def report(engine, steps, **more):
    answer = engine.event("define", flow={"flow": "reported", "steps": steps, **more})
    assert answer["ok"], answer
    return answer["check"]


# -- the schema

GOOD = {"flow": "f", "defaults": {}, "steps": {
    "call": {"target": "jobs", "command": "c"}, "wait": {"wait": 1}, "ask": {"signal": {}}, "none": {"after": ["call"]},
    "each": {"target": "jobs", "command": "c", "for_each": [1]},
    "undo": {"target": "jobs", "command": "c", "undo": {"target": "jobs"}}}}
VALUES = [
    None, True, False, -1, 0, 1, 3, 255, 256, 10000, 10001, 31536000, 31536001, 1.5, "", "a", "=1", "=1 +", "a b", [], {},
    *("x" * size for size in (64, 65, 256, 257, 512, 513, 1024, 1025)), [""], ["call"], [1], [{}], {"x": 1}, {"value": 1},
    "any", "majority", "most", "fail", "skip", "count", "trans", "20%", "101%", "inner", "continue", "finished", "started",
    ["failed", "ended"], ["failed", "x"], {"strategy": "none"}, {"strategy": "fixed"}, {"strategy": "fixed", "interval": 1},
    {"strategy": "sequence", "sequence": [1]}, {"target": "jobs", "on": "started"}, {"target": "jobs", "on": "ended"},
    [{"step": "call", "on": "failed"}], [{"step": "call", "x": 1}], [{"source": "call", "target": "none", "x": 1}],
    [{"source": "call"}], {"timeout": 31536001}, {"who": []}, {"who": [""]}, {"on_timeout": {"value": 1, "x": 2}},
    {"on_timeout": {}}, "2024-01-01T00:00:00Z", "2024-01-01", {"x-y": 1}, {"idc": "1"}, {"item": "1"}, {"x": "1"},
    {"x": {"type": "number"}}, {"x": {"type": "list", "required": 1}}, {"x": {"default": 1}}]


def places(schema):
    names = [*schema["$defs"]["step"]["properties"], "on", "unknown"]
    yield from (f"{name}" for name in [*schema["properties"], "unknown"])
    yield from (f"steps/{step}/{name}" for step in GOOD["steps"] for name in names)
    yield from (f"steps/undo/undo/{name}" for name in names)
    yield from (f"steps/ask/signal/{name}" for name in ("count", "who", "timeout", "on_timeout", "unknown"))
    # Of a default its name; its value where a step gets it.
    yield from (f"defaults/{name}" for name in names if name not in ("target", "command", "args"))


def test_what_the_schema_forbids_is_rejected(engine):
    with open(os.path.join(PROTO, "flow.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    rng = random.Random(SEED)
    tried = [(place, value) for place in places(schema) for value in VALUES]
    forbidden = 0
    for place, value in rng.sample(tried, 6000):
        flow = copy.deepcopy(GOOD)
        *above, last = place.split("/")
        at = flow
        for name in above:
            at = at[name]
        at[last] = value
        if not valid(schema, flow):
            forbidden += 1
            assert errors(engine, flow), f"seed {SEED}: {place} = {value!r}"
    assert forbidden > 3000


@pytest.mark.parametrize("field, most", [("timeout", 31536000), ("total_timeout", 31536000), ("priority", 255)])
def test_a_field_of_a_plan_has_the_bounds_of_a_plan(engine, field, most):
    def of(value):
        return errors(engine, {"flow": "f", "steps": {"a": {"target": "jobs", "command": "c", field: value}}})
    assert not of(most)
    assert [error.split(":")[0] for error in of(most + 1)] == [f"steps.a.{field}"]


# -- hostile definitions

def chain(count):
    return {f"s{at}": {"after": [f"s{at - 1}"]} if at else {} for at in range(count)}


def cycle(count):
    return {f"s{at}": {"after": [f"s{(at - 1) % count}"]} for at in range(count)}


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def calling(**fields):
    return {"flow": "f", "steps": {"a": {"target": "jobs", "command": "c", **fields}, "z": {"after": ["a"]}}}


HOSTILE = {
    "a cycle of 1": ({"flow": "f", "steps": cycle(1)}, "waits for itself"),
    "a cycle of 2": ({"flow": "f", "steps": cycle(2)}, "a cycle of 2 steps: s0 waits for s1 waits for s0"),
    "a cycle of 10000": ({"flow": "f", "steps": cycle(10000)}, "a cycle of 10000 steps"),
    "10001 steps": ({"flow": "f", "steps": {f"s{at}": {} for at in range(10001)}}, "1 to 10000 steps"),
    "50001 edges": ({"flow": "f", "steps": {
        **{f"a{at}": {} for at in range(251)}, **{f"b{at}": {"after": [f"a{n}" for n in range(251)]} for at in range(200)}}},
        "at most 50000 edges"),
    "a name with a colon": ({"flow": "f", "steps": {"a:b": {}}}, "A-Z a-z 0-9"),
    "a flow with a slash": ({"flow": "../f", "steps": {"a": {}}}, "A-Z a-z 0-9"),
    "a later step": (calling(args=["=steps.z.value"]), "step z is not before this one"),
    "an own step": (calling(args=["=steps.a.value"]), "step a is not before this one"),
    "an unknown step": (calling(args=["=steps.q.value"]), "no such step"),
    "a computed step": (calling(args=["=steps[input.x].value"]), "column"),
    "a computed target": ({"flow": "f", "steps": {"a": {"target": "=input.t"}}}, "never computed"),
    "4000 signs": (calling(args=["=" + "-" * 4000 + "1"]), "nested deeper than 64"),
    "an expression of 4097 bytes": (calling(args=["=" + " " * 4096 + "1"]), "longer than 4096 bytes"),
    "a count of 10001": (calling(for_each=10001), "integer from 0 to 10000"),
    "a name as of an object": ({"flow": "f", "steps": {"__proto__": {}}}, None),
    "who nobody is": ({"flow": "f", "steps": {"a": {"signal": {"who": []}}}}, "names of keys"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_definitions(engine, name):
    definition, reason = HOSTILE[name]
    found = errors(engine, definition)
    assert (any(reason in error for error in found) if reason else not found), found[:3]
    assert len(found) <= 100


@pytest.mark.parametrize("text, reason", [
    ('{"flow": "f", "steps": {"a": {"json": %s}}}' % json.dumps(nested(65)), "nested"),
    ('{"flow": "f", "steps": {"a": {"json": %s}}}' % ("[" * 10000 + "]" * 10000), "nested"),
    ('{"flow": "f", "flow": "g", "steps": {"a": {}}}', "duplicate"),
    ('{"flow": "f", "steps": {"a": {"title": "\\u0000"}}}', ""), ("[" * 1000000, "")])
def test_texts_that_are_no_definition(engine, text, reason):
    """The driver reads a line as a definition is read."""
    engine.process.stdin.write('{"event": "define", "flow": ' + text + "}\n")
    engine.process.stdin.flush()
    answer = json.loads(engine.process.stdout.readline())
    assert reason in (answer.get("wrong") or json.dumps(answer["errors"])).lower(), answer


def test_flows_in_flows(engine):
    """16 deep, and no deeper; each level multiplies the calls, so that 10000 items of each end at the second."""
    for depth in range(1, 18):
        inner = f"deep{depth - 1}" if depth > 1 else "jobs"
        found = errors(engine, {"flow": f"deep{depth}", "steps": {"a": {"target": inner}}})
        assert bool(found) is (depth == 17) and (not found or "at most 16 levels" in found[0]), (depth, found)
    assert not errors(engine, {"flow": "wide1", "steps": {"a": {"target": "jobs", "for_each": "=input.x"}}})
    found = errors(engine, {"flow": "wide2", "steps": {"a": {"target": "wide1", "for_each": "=input.x"}}})
    assert "a run may make 100010000 calls, more than 1000000" in found[0]


# -- what an error says

def steps_of(**step):
    return {"flow": "f", "steps": {"a": step, "z": {}}}


def undo_of(undo):
    return steps_of(target="jobs", undo=undo)


EDGE = "must be an object with names of steps as source and target"
VARIABLE = "the name of a variable is a letter or _, then letters, digits and _, and not reserved"


@pytest.mark.parametrize("flow, wanted", [
    (undo_of({"target": "u", "on": "ended"}), ["steps.a.undo.on: must be finished or started"]),
    (undo_of({"target": "u", "for_each": 3}), ["steps.a.undo.for_each: an undo has no such field"]),
    (undo_of("outer"), ["steps.a.undo: must be an object, or inner if the target is a flow"]),
    (undo_of("inner"), ["steps.a.undo: inner is for a flow as target, and 'jobs' is none that is known here"]),
    (steps_of(signal={"who": []}), ["steps.a.signal.who: must be a list of names of keys"]),
    (steps_of(signal={"on_timeout": "ask"}), ['steps.a.signal.on_timeout: must be fail, skip or {"value": ...}']),
    (steps_of(after=[1]), ["steps.a.after[0]: must be the name of a step, or an object with it as step"]),
    (steps_of(after=[{"step": "z", "onn": 1, "x": 1}]), [
        "steps.a.after[0]: no such field: 'onn'", "steps.a.after[0]: no such field: 'x'"]),
    ({**steps_of(), "edges": [{"source": "z", "target": "a", "to": 1}]}, ["edges[0]: no such field: 'to'"]),
    ({**steps_of(), "edges": [1, {"source": "a"}]}, [f"edges[0]: {EDGE}", f"edges[1]: {EDGE}"]),
    (steps_of(let={"item": "1"}), ["steps.a.let.item: " + VARIABLE]),
    ({**steps_of(), "params": {"item": 1}}, ["params.item: " + VARIABLE]),
    (steps_of(target="jobs", timeout=0), ["steps.a.timeout: want seconds, 1..31536000"]),
    ({"flow": "f", "kinds": {"k": {"x": 1, "y": 2}}, "steps": {"a": {}}}, ["kinds.k: 'x': unknown field", "kinds.k: 'y': unknown field"]),
    ({"flow": "f", "steps": {**cycle(2), "a": {"after": ["b"]}, "b": {"after": ["a", "s0"]}, "c": {"after": ["a"]}}}, [
        "steps: a cycle of 2 steps: s0 waits for s1 waits for s0", "steps: a cycle of 2 steps: a waits for b waits for a"])])
def test_errors_name_what_is_wrong(engine, flow, wanted):
    """B118: A cycle is named by its steps."""
    found = errors(engine, flow)
    assert len(found) == len(wanted) and all(map(str.startswith, found, wanted)), found


def test_a_default_join_is_not_for_roots(engine):
    flow = {"flow": "f", "defaults": {"join": "any"}, "steps": {"a": {}, "b": {"after": ["a"]}}}
    assert not errors(engine, flow)
    assert errors(engine, {**flow, "steps": {"a": {"join": "any"}}})[0].startswith("steps.a.join: never starts")


# -- what it reports

CALL = {"target": "jobs", "total_timeout": 60}


def test_time_is_the_longest_path_where_nothing_waits_for_a_slot(engine):
    steps = {"a": CALL, "b": CALL, "c": {**CALL, "after": ["a"]}, "w": {"wait": 10, "after": ["c"]},
             "e": {**CALL, "for_each": 4, "max_parallel": 2}}
    assert report(engine, steps, max_parallel=0) == {"steps_max": 7, "depth": 1, "bounded": True, "seconds_max": 130}
    assert report(engine, steps)["seconds_max"] == 130
    assert report(engine, steps, max_parallel=4)["seconds_max"] == 7 * 60 + 10
    assert report(engine, steps, timeout=5)["seconds_max"] == 5


def test_finally_is_besides(engine):
    assert report(engine, {"a": CALL, "f": CALL}, **{"finally": "f"})["seconds_max"] == 60


@pytest.mark.parametrize("step, because", [
    ({"target": "jobs"}, "a target without total_timeout"), ({"signal": {}}, "a signal without a timeout"),
    ({"wait": "=input.x"}, "a wait whose end is not known here"),
    ({**CALL, "retry": {"strategy": "fixed", "interval": 1}}, "a retry without max"),
    ({**CALL, "retry": {"strategy": "none", "need_manual": True}}, "need_manual waits for an operator"),
    ({**CALL, "undo": {"target": "jobs"}}, "an undo that fails waits for an operator")])
def test_why_a_run_has_no_bound(engine, step, because):
    found = report(engine, {"a": step})
    assert not found["bounded"] and found["because"] == ["a: " + because] and "seconds_max" not in found
    assert report(engine, {"a": step}, timeout=9)["bounded"]


def test_a_flow_within_is_as_bounded_as_its_runs(engine):
    inner = {"flow": "inner", "steps": {"a": CALL, "b": {**CALL, "after": ["a"]}}}
    assert engine.event("define", flow=inner)["ok"]
    assert report(engine, {"x": {"target": "inner"}})["seconds_max"] == 120
    retry = {"strategy": "fixed", "interval": 1, "max": 3}
    assert not report(engine, {"x": {"target": "inner", "retry": retry}})["bounded"]
    assert report(engine, {"x": {"target": "inner", "retry": retry, "total_timeout": 500}})["seconds_max"] == 500
    assert engine.event("define", flow={**inner, "finally": "c", "steps": {**inner["steps"], "c": CALL}})["ok"]
    assert not report(engine, {"x": {"target": "inner"}})["bounded"]


@pytest.mark.parametrize("steps, warning", [
    ({"a": {**CALL, "if": "input.x"}, "b": CALL, "c": {"after": ["a", "b"], "let": {"x": "steps.a.value"}}},
     "c reads a, which may be skipped: use default()"),
    ({"a": {**CALL, "if": "input.x"}, "b": CALL, "c": {"after": ["a", "b"], "join": 2}},
     "c: needs 2 of 2 edges, of which only 1 are certain"),
    ({"a": CALL, "b": {**CALL, "after": ["a"], "if": "input.x"}, "c": {**CALL, "after": ["b"], "if": "input.y"},
      "d": {**CALL, "after": [{"step": "c", "on": "skipped"}]}},
     "d also runs when no edge to c is live, not only when its if is false"),
    ({"a": {**CALL, "if": "input.x"}, "b": {"after": [{"step": "a", "on": "ended"}], "let": {"x": "steps.a.value"}}},
     "b reads a, which may be skipped: use default()"),
    ({"a": {"signal": {"timeout": 1, "count": 3, "who": ["lead", "audit"]}}}, "a: wants 3 signals, and who names 2 keys"),
    ({"a": {**CALL, "for_each": 9, "max_parallel": 32}}, "a: max_parallel 32 is above the flow's 5"),
    ({"a": {**CALL, "retry": {"strategy": "fixed", "interval": 1, "max": 1}, "undo": {"target": "jobs"}}},
     'a: an attempt that failed may have worked, and is not undone: use "on": "started"')])
def test_warnings(engine, steps, warning):
    assert report(engine, steps)["warnings"] == [warning]


NEVER = "c never starts: it waits for what its sources never become"


@pytest.mark.parametrize("steps, more, warning", [
    ({"a": {"wait": 5}, "c": {"after": [{"step": "a", "on": "failed"}]}}, {}, NEVER),
    ({"a": CALL, "c": {"after": [{"step": "a", "on": "skipped"}]}}, {}, NEVER),
    ({"a": CALL, "b": CALL, "c": {"after": [{"step": "a", "on": "skipped"}, "b"], "join": 2}}, {}, NEVER),
    ({"a": {**CALL, "for_each": [1, 2, 3], "max_items": 2}}, {}, "a: always fails: for_each has 3 items, max_items is 2"),
    ({"a": {**CALL, "for_each": 3, "max_items": 2}}, {}, "a: always fails: for_each has 3 items, max_items is 2"),
    ({"a": CALL}, {"params": {"p": {"type": "integer", "default": "x"}}}, "params: param p: must be of type integer"),
    ({"a": CALL}, {"params": {"p": {"type": "time", "default": "noon"}}}, "params: param p: must be of type time")])
def test_warnings_of_what_never_works(engine, steps, more, warning):
    assert report(engine, steps, **more)["warnings"] == [warning]


MAYBE = {**CALL, "if": "input.x"}


@pytest.mark.parametrize("name, steps", [
    ("a step behind it alone", {"a": MAYBE, "b": {"after": ["a"], "let": {"x": "steps.a.value"}},
                                "c": {**CALL, "after": [{"step": "a", "on": "skipped"}, "b"]}}),
    ("further behind", {"a": MAYBE, "b": {"after": ["a"]}, "c": {"after": ["b"], "let": {"x": "steps.a.value"}}}),
    ("on both ways that lead there", {"a": MAYBE, "b": {"after": ["a"]}, "c": {"after": ["a"]},
                                      "d": {"after": ["b", "c"], "let": {"x": "steps.a.value"}}}),
    ("behind a failure that came after it", {"a": MAYBE, "b": {**CALL, "after": ["a"]}, "c": {
        "after": [{"step": "b", "on": "caught"}], "let": {"x": "steps.a.value"}}}),
    ("an else of what has no edges", {"a": MAYBE, "b": {**CALL, "after": [{"step": "a", "on": "skipped"}]}}),
    ("the else of both", {"a": MAYBE, "b": {**MAYBE, "after": [{"step": "a", "on": "skipped"}]}, "c": {
        **CALL, "after": [{"step": "a", "on": "skipped"}, {"step": "b", "on": "skipped"}], "join": 2}}),
    ("a prefix stands for many keys", {"a": {"signal": {"timeout": 1, "count": 3, "who": ["lead", "head-*"]}}}),
    ("a key for each signal", {"a": {"signal": {"timeout": 1, "count": 2, "who": ["lead", "audit"]}}}),
    ("an else of a timeout that skips", {"a": {"signal": {"timeout": 1, "on_timeout": "skip"}}, "b": {
        "after": [{"step": "a", "on": "skipped"}]}}),
    ("failed, or finished", {"a": {"wait": 5}, "b": {"after": [{"step": "a", "on": ["failed", "finished"]}]}}),
    ("all failed", {"a": CALL, "b": CALL, "c": {
        **CALL, "after": [{"step": "a", "on": "failed"}, {"step": "b", "on": "failed"}], "join": 2}})])
def test_no_warning_without_need(engine, name, steps):
    assert "warnings" not in report(engine, steps), name
