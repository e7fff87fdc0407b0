"""Flows on the command line, without a station: graphs, of JSON and of YAML."""
import json
import os
import pathlib
import shutil
import stat
import subprocess

import pytest
import yaml

from clitest import REFUSED, REPO, USAGE, WAIT, ZPLAN, start, zplan

EXAMPLES = sorted(pathlib.Path(REPO, "proto", "flows").glob("*.json"))
DIAMOND = {"flow": "diamond", "defaults": {"target": "jobs"}, "finally": "clean", "steps": {
    "fetch": {"command": "fetch"},
    "left": {"after": ["fetch"], "command": "left", "for_each": 3},
    "right": {"after": [{"step": "fetch", "on": ["failed", "ended"]}], "wait": 3600},
    "ask": {"after": ["right"], "signal": {"who": ["lead", "head-*"]}},
    "both": {"after": ["left"], "join": 1, "let": {"x": "1"}},
    "clean": {"command": "clean"}},
    "edges": [{"source": "right", "target": "both"}, {"source": "ask", "target": "both", "on": "skipped"}]}
LAYERS = """\
diamond: 6 steps, 6 edges, 5 layers

    1  fetch  jobs
    2  left   jobs, each item         after fetch
       right  wait 1 h                after fetch (failed,ended)
    3  ask    signal of lead, head-*  after right
    4  both   computes                after 1 of left, right, ask (skipped)
    5  clean  jobs                    finally
"""


def of(tmp_path, definition, name="flow.json"):
    path = tmp_path / name
    path.write_text(definition if isinstance(definition, str) else json.dumps(definition), encoding="utf-8")
    return str(path)


# -- check

def test_the_examples_are_good():
    """All six together: one is a step of another."""
    files = [str(path) for path in EXAMPLES]
    text = zplan("flow", "check", *files).done()
    for path in EXAMPLES:
        assert f"{path}: good\n  flow {path.stem}: " in text
    answers = [json.loads(line) for line in zplan("flow", "check", "--json", *files).done().splitlines()]
    assert [answer["file"] for answer in answers] == files
    for answer in answers:
        assert answer["ok"] and answer["check"]["steps_max"] > 0
        assert answer["check"]["bounded"] is ("seconds_max" in answer["check"])
    assert {path.stem: answer["check"]["depth"] for path, answer in zip(EXAMPLES, answers)} == {
        "access": 1, "backup": 1, "invoices": 1, "month-end": 2, "order": 1, "rollout": 1}


def test_an_expression_is_named_by_its_path(tmp_path):
    path = of(tmp_path, {"flow": "f", "output": {"x": ["=zz"]}, "steps": {
        "a": {"target": "jobs", "args": ["x", "=zz", "=1 +", "=("], "json": {"m": ["=zz"], "n": "="},
              "undo": {"target": "jobs", "args": ["=zz"]}},
        "b": {"signal": {"timeout": 1, "on_timeout": {"value": {"v": "=1 +"}}}}, "c": {"let": {"x": "zz"}},
        "d": {"target": "jobs", "text": "=zz"}, "e": {"wait": "=1 +"}}})
    told = zplan("flow", "check", path).failed(REFUSED).splitlines()
    assert sorted(line.split(": ")[2] for line in told) == sorted([
        "steps.a.args[1]", "steps.a.args[2]", "steps.a.args[3]", "steps.a.json.m[0]", "steps.a.json.n",
        "steps.b.signal.on_timeout.value.v", "steps.e.wait", "steps.a.undo.args[0]", "steps.c.let.x", "steps.d.text",
        "output.x[0]"])


def test_all_errors_are_reported_at_once(tmp_path):
    path = of(tmp_path, {"flow": "f", "steps": {
        "a": {"target": "jobs", "timeout": 0}, "b": {"after": ["c"]}, "d": {"if": "1 +"}}})
    told = zplan("flow", "check", path).failed(REFUSED).splitlines()
    assert len(told) == 3 and all(line.startswith(f"zplan: {path}: steps.") for line in told)
    assert [sum(path in line for line in told) for path in ("a.timeout: ", "b.after", "d.if: column 4: ")] == [1, 1, 1]
    answer = zplan("flow", "check", "--json", path)
    assert answer.code == REFUSED
    answer = json.loads(answer.out)
    assert not answer["ok"] and [sorted(error) for error in answer["errors"]] == [["path", "reason"]] * 3


@pytest.mark.parametrize("name, steps, want", [
    ("a syntax error hides no unknown name", {"a": {"target": "t", "args": ["=1 +", "=nope"]}},
     ["steps.a.args[0]: column 4: ", "steps.a.args[1]: column 1: 'nope' is not known here"]),
    ("nor does a cycle", {"a": {"after": ["b"], "let": {"x": "nope"}}, "b": {"after": ["a"], "let": {"x": "steps.a.value"}}},
     ["steps: a cycle of 2 steps: ", "steps.a.let.x: column 1: 'nope' is not known here"]),
    ("what is never evaluated is checked, too", {"a": {"if": "true || #nope"}},
     ["steps.a.if: column 9: 'nope' is not known here"]),
    ("a join of too many edges says one thing", {"a": {}, "b": {"after": ["a"], "join": 9}},
     ["steps.b.join: never starts: it waits for 9 edges and has 1"]),
    ("a join of none", {"a": {"join": "majority"}}, ["steps.a.join: never starts: it waits for 1 edge and has 0"]),
    ("the failure of what cannot fail", {"a": {}, "b": {"after": [{"step": "a", "on": "caught"}]}},
     ["steps.b: never starts: it waits for the failure of a step that cannot fail"]),
    ("of one that does not suffice", {"a": {}, "c": {"let": {"x": "1"}}, "b": {
        "after": [{"step": "a", "on": "failed"}, "c"], "join": 2}}, ["steps.b: never starts: "])])
def test_one_error_hides_no_other(tmp_path, name, steps, want):
    """B005: a name that is not known is an error of the definition.
    B118: all errors are printed, with the steps that they are of."""
    told = zplan("flow", "check", of(tmp_path, {"flow": "f", "steps": steps})).failed(REFUSED).splitlines()
    assert len(told) == len(want) and all(text in line for text, line in zip(want, told)), (name, told)


def test_flows_that_are_given_together_know_each_other(tmp_path):
    """A target that is the name of another file's flow is that flow, whatever the order of the files."""
    inner = of(tmp_path, {"flow": "inner", "steps": {"a": {"target": "jobs"}, "b": {"target": "jobs"}}}, "inner.json")
    outer = of(tmp_path, {"flow": "outer", "steps": {"x": {"target": "inner"}}}, "outer.json")

    def checked(*files):
        lines = zplan("flow", "check", "--json", *files).done().splitlines()
        return {answer["file"]: answer["check"] for answer in map(json.loads, lines)}

    assert checked(outer)[outer]["steps_max"] == 1
    for files in (inner, outer), (outer, inner):
        found = checked(*files)
        assert list(found) == list(files)
        assert found[inner]["depth"] + 1 == found[outer]["depth"] == 2
        assert found[outer]["steps_max"] == 3


def test_edges_are_keyed_by_source_and_target(tmp_path):
    """B038: a to bc and ab to c are two edges; a cycle, or a second edge of a pair, is rejected by its steps."""
    steps = {name: {} for name in ("a", "ab", "bc", "c")}
    two = [{"source": "a", "target": "bc"}, {"source": "ab", "target": "c"}]
    path = of(tmp_path, {"flow": "f", "steps": steps, "edges": two})
    graph = json.loads(zplan("flow", "graph", path, "--json").done())
    assert [{"source": edge["source"], "target": edge["target"]} for edge in graph["edges"]] == two
    steps["c"] = {"after": ["a"]}
    for source, target, reason in (("a", "c", "edges[0]: 'a' twice: one edge for each pair"),
                                   ("c", "a", "steps: a cycle of 2 steps: a waits for c waits for a")):
        path = of(tmp_path, {"flow": "f", "steps": steps, "edges": [{"source": source, "target": target}]})
        assert zplan("flow", "check", path).failed(REFUSED) == f"zplan: {path}: {reason}\n"


def test_a_name_means_one_file(tmp_path):
    files = [of(tmp_path, {"flow": "f", "steps": {"a": {}}}, name) for name in ("one.json", "other.json")]
    ended = zplan("flow", "check", *files)
    assert ended.code == REFUSED and ended.err == f"zplan: {files[1]}: flow 'f' is in this file, too: {files[0]}\n"
    assert ended.out.startswith(f"{files[0]}: good\n")


def test_names_in_errors_are_quoted_once(tmp_path):
    path = of(tmp_path, {"flow": "f", "steps": {"a": {"after": ["schritt-\u00fc"]}}})
    assert zplan("flow", "check", path).failed(REFUSED) == (
        f"zplan: {path}: steps.a.after[0]: no such step: 'schritt-\\xc3\\xbc'\n")
    path = of(tmp_path, '{"flow": "f", "title": "\\u0000"}')
    assert zplan("flow", "check", path).failed(REFUSED) == f"zplan: {path}: JSON: line 1: a string with NUL\n"


def test_lists_are_whole_as_far_as_they_are_known(tmp_path):
    for steps, more in ((99, False), (200, True)):
        path = of(tmp_path, {"flow": "f", "steps": {f"s{i}": {"target": "jobs"} for i in range(steps)}})
        said = zplan("flow", "check", path).done()
        assert said.count("without total_timeout") == min(steps, 100) and ("  not bounded: and perhaps more\n" in said) == more


@pytest.mark.parametrize("text", ["flow: f\nsteps: {a: {}}\n", '{"flow": "f", "steps": {"a": {}}}'])
def test_a_byte_order_mark_is_skipped(tmp_path, text):
    assert "good" in zplan("flow", "check", of(tmp_path, "\ufeff" + text)).done()


def test_a_long_name_in_a_graph_is_cut_between_characters(tmp_path):
    who = ["\u00fc" * 40, "x"]
    path = of(tmp_path, {"flow": "f", "steps": {"a": {"signal": {"who": who}}, "b": {"signal": {"who": ["x" + who[0]]}}}})
    for form in "--dot", "--mermaid":
        assert "\u00fc" * 29 in zplan("flow", "graph", path, form).done()


def test_a_default_join_is_drawn_where_there_are_edges(tmp_path):
    path = of(tmp_path, {"flow": "f", "defaults": {"join": "any"}, "steps": {"a": {}, "b": {"after": ["a"]}}})
    assert "good" in zplan("flow", "check", path).done()
    assert zplan("flow", "graph", path, "--dot").done().count("any of its sources") == 1


def test_flows_that_reach_each_other_are_rejected(tmp_path):
    files = [of(tmp_path, {"flow": name, "steps": {"x": {"target": other}}}, name + ".json")
             for name, other in ("ab", "ba")]
    ended = zplan("flow", "check", *files)
    assert ended.code == REFUSED and "steps.x.target" in ended.err


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tmp_path):
    good = of(tmp_path, DIAMOND)
    ended = zplan("flow", "check", str(tmp_path / "none"), good)
    assert ended.code == REFUSED and ended.out.startswith(f"{good}: good\n") and "No such file" in ended.err


def test_the_name_of_a_file_may_be_bytes(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.json"
    os.rename(of(tmp_path, DIAMOND), path)
    said = json.loads(start("flow", "check", "--json", path).communicate(timeout=WAIT)[0])
    assert said["ok"] is True and "b64" in said["file"] and said["check"]


def test_warnings_and_bounds(tmp_path):
    path = of(tmp_path, DIAMOND)
    text = zplan("flow", "check", path).done()
    assert "  not bounded: " in text and "ask" in text


# -- graph

def test_a_graph_is_drawn_by_layers(tmp_path):
    path = of(tmp_path, DIAMOND)
    assert zplan("flow", "graph", path).done() == zplan("flow", "graph", path, "--ascii").done() == LAYERS


def test_yaml_is_read_as_json(tmp_path):
    path = of(tmp_path, yaml.safe_dump(DIAMOND, sort_keys=False), "flow.yaml")
    assert zplan("flow", "graph", path).done() == LAYERS


def test_a_definition_comes_from_standard_input():
    done = subprocess.run([ZPLAN, "flow", "graph", "-"], input=json.dumps(DIAMOND), capture_output=True, text=True,
                          timeout=WAIT, check=True)
    assert done.stdout == LAYERS


def test_a_graph_for_programs(tmp_path):
    graph = json.loads(zplan("flow", "graph", of(tmp_path, DIAMOND), "--json").done())
    assert graph["flow"] == "diamond"
    assert [(step["name"], step["kind"], step["join"], step.get("target")) for step in graph["steps"]] == [
        ("fetch", "call", "all", "jobs"), ("left", "for_each", "all", "jobs"), ("right", "wait", "all", None),
        ("ask", "signal", "all", None), ("both", "compute", "1", None), ("clean", "call", "all", "jobs")]
    assert {"source": "fetch", "target": "right", "on": "failed,ended"} in graph["edges"]
    assert len(graph["edges"]) == 6


def test_dot_and_mermaid_are_texts(tmp_path):
    path = of(tmp_path, DIAMOND)
    dot = zplan("flow", "graph", path, "--dot").done()
    assert dot.startswith('digraph "diamond" {\n') and dot.endswith("}\n")
    assert '    "fetch" -> "right" [label="failed,ended", style=dashed];\n' in dot
    mermaid = zplan("flow", "graph", path, "--mermaid").done()
    assert mermaid.startswith("flowchart TB\n") and "    s0 -. failed,ended .-> s2\n" in mermaid


def test_svg_is_made_by_dot(tmp_path):
    """A `dot` of the test's own shows what it is given, and how it is called."""
    dot = tmp_path / "bin" / "dot"
    dot.parent.mkdir()
    dot.write_text(f"#!{shutil.which('sh')}\nprintf '%s ' \"$@\"\nexec {shutil.which('cat')}\n")
    dot.chmod(dot.stat().st_mode | stat.S_IXUSR)
    path = of(tmp_path, DIAMOND)
    text = zplan("flow", "graph", path, "--dot").done()
    here = {"PATH": f"{dot.parent}:{os.environ['PATH']}"}
    assert zplan("flow", "graph", path, "--svg", env=here).done() == "-Tsvg " + text
    dot.unlink()
    assert "not found: `dot` of Graphviz" in zplan("flow", "graph", path, "--svg",
                                                   env={"PATH": str(dot.parent)}).failed(REFUSED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_drawn(path):
    drawn = zplan("flow", "graph", str(path)).done()
    definition = json.loads(path.read_text(encoding="utf-8"))
    assert drawn.startswith(f"{definition['flow']}: {len(definition['steps'])} steps, ")
    assert len(drawn.splitlines()) == 2 + len(definition["steps"])


def test_there_are_six_examples():
    assert len(EXAMPLES) == 6


@pytest.mark.parametrize("definition, told", [
    ("{", "line"), ("[]", "want"), ("flow: f\nsteps: [\n", "line 3: "), ("a: &x 1", "line 1: anchors are not allowed"),
    ({"flow": "f"}, "'steps': want an object of 1 to 10000 steps"),
    ({"flow": "f", "steps": {}}, "'steps': want an object of 1 to 10000 steps"),
    ({"flow": "f", "steps": {"a": 1}}, "'a': want an object"),
    ({"flow": "f", "steps": {'a"b': {}}}, "want a name of 1 to 64 of A-Z a-z 0-9 _ -"),
    ({"flow": "f g", "steps": {"a": {}}}, "'flow': want a name"),
    ({"flow": "f", "steps": {"a": {"after": ["b"]}}}, "'b': no such step"),
    ({"flow": "f", "steps": {"a": {"after": ["b"]}, "b": {"after": ["a"]}}}, "cycle"),
    ({"flow": "f", "steps": {"a": {"after": ["a"]}}}, "cycle"),
    ({"flow": "f", "steps": {"a": {}}, "edges": [{"source": "a"}]}, "'': no such step")])
def test_what_is_no_definition(tmp_path, definition, told):
    path = of(tmp_path, definition)
    text = zplan("flow", "graph", path).failed(REFUSED)
    assert text.startswith(f"zplan: {path}: ") and told in text


def test_a_file_that_is_too_large(tmp_path):
    path = of(tmp_path, "#" * 4_000_001)
    assert "larger than 4000000 bytes" in zplan("flow", "graph", path).failed(REFUSED)


@pytest.mark.parametrize("args, told", [
    (["flow"], "want a word, as put, start or show"), (["flow", "check"], "check: want a file"), (["flow", "graph"], "graph: want one file"), (["flow", "draw", "x"], "zplan flow: unknown word 'draw'\nTry: zplan flow --help\n"),
    (["flow", "graph", "a", "b"], "graph: want one file"),
    (["flow", "graph", "a", "--dot", "--svg"], "want one of --ascii, --dot, --mermaid and --svg")])
def test_usage(args, told):
    assert told in zplan(*args).failed(USAGE)


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    path = of(tmp_path, {"flow": "f", "steps": {"a": {"wait": "=x\x1b[31m\u009b"}}})
    for form in ("--ascii", "--dot", "--mermaid"):
        assert "\x1b" not in zplan("flow", "graph", path, form).done()
