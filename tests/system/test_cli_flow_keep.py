"""zplan flow put, use, get, list, remove: definitions that the station keeps.

features: B037, B079, B080, B081"""
import json
import re

import pytest
import yaml

from clitest import NO_ANSWER, REFUSED, USAGE, zplan
from redissteps import goes_red

FLOW = {"flow": "greeting", "steps": {
    "name": {"target": "jobs", "command": "name", "total_timeout": 60},
    "greet": {"after": ["name"], "target": "jobs", "command": "echo", "args": ["='hello ' + steps.name.value"]}}}


@pytest.fixture
def say(rig, tmp_path):
    """A word of zplan flow; what is no text becomes a file."""
    def ask(*words, code=0):
        named = []
        for word in words:
            if not isinstance(word, str):
                path = tmp_path / "flow.json"
                path.write_text(json.dumps(word), encoding="utf-8")
                word = str(path)
            named.append(word)
        ended = zplan("--connect", rig.ipc("q"), "flow", *named)
        assert ended.code == code, (ended.out, ended.err)
        return ended.out if "--json" in words or not code else ended.err
    return ask


def test_B037_versions_are_put_used_printed_and_removed(say, tmp_path):
    assert say("put", FLOW) == "flow greeting: version 1, in use\n  not bounded: greet: a target without total_timeout\n"
    assert say("put", FLOW).startswith("flow greeting: version 1, unchanged, in use\n")
    assert say("put", {**FLOW, "title": "2"}, "1").startswith("flow greeting: version 2, in use\n")
    assert say("use", "greeting", "1").startswith("flow greeting: version 1, in use\n")
    assert say("put", {**FLOW, "timeout": 60}) == "flow greeting: version 3; version 1 stays in use\n  ends within 1 min\n"
    assert json.loads(say("get", "greeting")) == FLOW
    assert json.loads(say("get", "greeting", "3"))["timeout"] == 60
    (tmp_path / "again.json").write_text(say("get", "greeting", "3"), encoding="utf-8")
    assert say("put", str(tmp_path / "again.json")).startswith("flow greeting: version 3, unchanged; version 1 stays")
    rows = say("list").splitlines()
    assert re.fullmatch(r"FLOW +IN USE LAST +STEPS CALLS +UPDATED", rows[0])
    assert re.fullmatch(r"greeting +1 +3 +2 +2 +20\S+Z", rows[1]) and len(rows) == 2
    assert say("list", "g*") == say("list") and len(say("list", "x").splitlines()) == 1
    assert say("remove", "greeting") == "flow greeting removed\n"
    assert len(say("list").splitlines()) == 1


def test_a_line_for_all_reasons_why_it_has_no_bound(say, tmp_path):
    """At put, use and import; JSON has them all."""
    flow = {"flow": "many", "steps": {f"s{i}": {"target": "jobs", "command": "c"} for i in range(12)}}
    line = "  not bounded: 12 reasons, zplan flow check lists them\n"
    assert say("put", flow) == f"flow many: version 1, in use\n{line}"
    assert say("use", "many", "1").endswith(f"in use\n{line}")
    assert len(json.loads(say("put", flow, "--json"))["check"]["because"]) == 12
    (tmp_path / "all").write_text(say("export"), encoding="utf-8")
    assert say("import", str(tmp_path / "all")).count("not bounded") == 1


def test_yaml_is_put_as_json(say, tmp_path):
    (tmp_path / "flow.yaml").write_text(yaml.dump(FLOW, sort_keys=False), encoding="utf-8")
    say("put", str(tmp_path / "flow.yaml"))
    assert json.loads(say("get", "greeting")) == FLOW
    assert "unchanged" in say("put", FLOW)


def test_all_errors_are_printed_a_line_each(say, tmp_path):
    bad = {"flow": "greeting", "steps": {"a": {"target": "nobody"}, "b": {"after": ["x"], "target": "jobs"}}}
    path = str(tmp_path / "flow.json")
    lines = say("put", bad, code=REFUSED).splitlines()
    assert lines[0] == f"zplan: {path}: steps.a.target: target 'nobody': not found" and len(lines) == 2
    answer = json.loads(say("put", bad, "--json", code=REFUSED))
    assert [error["path"] for error in answer["errors"]] == ["steps.a.target", "steps.b.after[0]"]
    assert answer["code"] == "manage_arg_error" and answer["name"] == path


def test_for_programs(say):
    put = json.loads(say("put", FLOW, "--json"))
    assert put == {"name": "greeting", "version": 1, "use": 1, "unchanged": False, "check": {
        "steps_max": 2, "depth": 1, "bounded": False, "because": ["greet: a target without total_timeout"]}}
    got = json.loads(say("get", "greeting", "--json"))
    assert got["definition"] == FLOW and got["versions"] == [1] and got["updated_at"].startswith("20")
    row = json.loads(say("list", "--json"))
    assert row["name"] == "greeting" and row["updated_at"] == got["updated_at"] and "updated" not in row
    assert json.loads(say("remove", "greeting", "--json")) == {"name": "greeting", "done": "remove"}


def test_what_the_station_rejects(say):
    say("put", FLOW)
    assert say("get", "nobody", code=REFUSED) == "zplan: nobody: no flow 'nobody' is known\n"
    assert say("use", "greeting", "2", code=REFUSED) == "zplan: greeting: greeting has no version 2\n"
    assert "version: the last version of greeting is 1, not 0" in say("put", FLOW, "0", code=REFUSED)
    assert say("remove", "nobody", "greeting", code=REFUSED).count("\n") == 1
    assert say("get", "greeting", code=REFUSED)


@pytest.mark.parametrize("words", [["put"], ["put", "a", "b", "c"], ["use", "a"], ["use", "a", "1", "2"], ["get"],
                                   ["get", "a", "1", "2"], ["list", "a", "b"], ["remove"], ["nonsense"]])
def test_usage(words):
    assert zplan("flow", *words).code == USAGE


def test_without_a_file_and_without_a_station(tmp_path):
    where = ["--connect", f"ipc://{tmp_path}/nobody", "--timeout", "100"]
    assert zplan(*where, "flow", "put", str(tmp_path / "none")).failed(REFUSED)
    (tmp_path / "flow.json").write_text(json.dumps(FLOW), encoding="utf-8")
    for words in (["put", str(tmp_path / "flow.json")], ["get", "a"], ["list"], ["use", "a", "1"], ["remove", "a"]):
        assert zplan(*where, "flow", *words).code == NO_ANSWER


def test_a_file_with_more_white_space_than_a_definition_may_have(say, tmp_path):
    wide = {"flow": "wide", "steps": {f"s{n}": {"target": "jobs", "command": "x" * 60} for n in range(9000)}}
    say("put", wide)
    text = say("get", "wide")
    assert len(text) > 1_000_000
    (tmp_path / "again.json").write_text(text, encoding="utf-8")
    assert "version 1, unchanged" in say("put", str(tmp_path / "again.json"))
    (tmp_path / "again.json").write_text(json.dumps({**wide, "x": "x" * 200_000}), encoding="utf-8")
    assert "a definition has at most 1000000 bytes" in say("put", str(tmp_path / "again.json"), code=REFUSED)


def test_flows_are_no_targets_to_guess_and_none_to_export(rig, say):
    say("put", FLOW)
    out = zplan("--connect", rig.ipc("q"), "export").done()
    assert "greeting" not in out
    assert "greeting" in zplan("--connect", rig.ipc("q"), "target", "list").done()
    assert zplan("--connect", rig.ipc("q"), "completion", "flows").done() == "greeting\n"


def test_a_list_that_is_refused_names_no_flow(rig, say):
    rig.redis.kill()
    goes_red(rig)
    answer = json.loads(say("list", "--json", code=REFUSED))
    assert "name" not in answer and "Redis" in answer["detail"], answer
