"""zplan flow start, runs, show, log, why, graph and what people do to a run; export and import.

features: B082, B087, B096, B107, B118"""
import json
import re
import subprocess

import pytest

from clitest import NO_ANSWER, REFUSED, USAGE, WAIT, ZPLAN, Ended, Terminal, start, zplan
from flowrig import Flows, call
from test_flow_runs import CHAIN
from zplantest import CMD, FT, every, later, wait_until


class Cli(Flows):
    """Flows, with the command line as a second client."""

    def where(self):
        return ["--connect", self.rig.ipc("q")]

    def zplan(self, *words, **options):
        return zplan(*self.where(), "flow", *words, **options)

    def say(self, *words):
        return self.zplan(*words).done()

    def json(self, *words):
        lines = [json.loads(line) for line in self.say(*words, "--json").splitlines()]
        return lines[0] if len(lines) == 1 else lines

    def begin(self, *words):
        """A command that does not end at once."""
        return start(*self.where(), "flow", *words)


@pytest.fixture
def flows(rig):
    return Cli(rig)


def ended_run(flows, steps=None, fail=None):
    """A run of `etl` that has ended: each step is called once."""
    flows.put("etl", steps or CHAIN)
    flows.say("start", "etl")
    run = None
    for name in steps or CHAIN:
        one = flows.call()
        run = one.flow["run"]
        if name == fail:
            flows.fail(one)
            break
        flows.done(one, {"n": 1})
    flows.until(run, "failed" if fail else "finished")
    return run


# -- health

def test_flows_are_no_unknown_targets(flows):
    """Plans of a flow are none of a target that the station does not know."""
    flows.put("etl", CHAIN)
    flows.client.added(later(), station="etl", head=[])
    assert "etl" not in json.dumps(flows.client.done("health").json)


# -- flow plans

@pytest.mark.parametrize("frames, retry, shown", [
    ([], None, "1 try; then the next occurrence"),
    ([(FT.JSON, b"{}")], None, "1 try; then the next occurrence"),
    ([], {"strategy": "fixed", "interval": 5, "max": 2}, "3 tries, 5 s apart; then the next occurrence"),
])
def test_a_flow_plan_without_a_rule_is_not_retried(flows, frames, retry, shown):
    flows.put("etl", CHAIN)
    ident = flows.client.added(every(3600, -1, **({"retry": retry} if retry else {})), station="etl", head=frames)
    rows = zplan(*flows.where(), "show", ident).done().splitlines()
    assert f"retry          {shown}" in rows


# -- start

def test_a_flow_is_started(flows):
    flows.put("etl", {"a": call()})
    text = flows.say("start", "etl")
    assert re.fullmatch(r"plan ([0-9a-f]+) of flow etl accepted, runs at once; its run: zplan show \1\n", text)


def test_the_input_is_a_file_or_standard_input(flows, tmp_path):
    flows.put("etl", {"a": call(args=["=input.n"])})
    (tmp_path / "input.yaml").write_text("n: 5\n", encoding="utf-8")
    flows.say("start", "etl", "--input", str(tmp_path / "input.yaml"), "--title", "by hand")
    assert flows.next("a").args == ["5"]
    done = subprocess.run([ZPLAN, *flows.where(), "flow", "start", "etl", "--input", "-"], input='{"n": 6}',
                          capture_output=True, text=True, timeout=WAIT, check=True)
    assert done.stdout.startswith("plan ")
    assert flows.next("a").args == ["6"]
    (tmp_path / "list.json").write_text("[1]", encoding="utf-8")
    assert "--input: " in flows.zplan("start", "etl", "--input", str(tmp_path / "none")).failed(REFUSED)
    assert "want an object" in flows.zplan("start", "etl", "--input", str(tmp_path / "list.json")).failed(REFUSED)


def test_the_plan_has_a_title_and_a_name(flows, rig):
    flows.put("etl", {"a": call()})
    first = flows.json("start", "etl", "--title", "by hand", "--unique", "etl/1")
    assert first["flow"] == "etl" and first["result"] == "added"
    plan = rig.message(first["id"], "etl")
    assert plan["description"] == "by hand" and plan["key"] == "etl/1"
    again = flows.json("start", "etl", "--unique", "etl/1")
    assert again == {**first, "result": "exists"}
    assert "already exists" in flows.say("start", "etl", "--unique", "etl/1")
    flows.next("a")


def test_what_the_station_rejects(flows):
    assert flows.zplan("start", "nobody").failed(REFUSED).startswith("zplan: nobody: ")
    flows.put("etl", {"a": call()}, params={"n": 1})
    assert flows.zplan("start", "etl", "--param", "n").failed(USAGE)
    assert "want NAME=VALUE" in flows.zplan("start", "etl", "--param", "=5").failed(USAGE)


def test_params_and_batch_stand_in_the_plan(flows):
    """As JSON where the type is no string."""
    flows.put("etl", {"a": call(args=["=name", "=limit"])},
              params={"name": {"type": "string", "default": "x"}, "limit": {"type": "integer", "default": 1}})
    flows.say("start", "etl", "--param", "name=20260131", "--param", "limit=5", "--batch", "2026-01-31")
    assert flows.next("a").args == ["20260131", "5"]


# -- zplan run

def test_a_manual_run_has_a_batch_and_params(flows, rig):
    """As of start: a text is a text for a param of that type."""
    flows.put("etl", {"a": call(args=["=name", "=limit", "=idc.loadDate.format('yyyyMMdd')"])},
              params={"name": {"type": "string", "default": "x"}, "limit": {"type": "integer", "default": 1}})
    ident = rig.client.added(later(key="nightly", params={"name": "y", "limit": 2}), station="etl", head=[])
    printed = zplan(*flows.where(), "run", "nightly", "--batch", "2026-01-31", "--param", "name=20260131").done()
    assert printed == "plan nightly started\n"
    one = flows.next("a")
    assert one.args == ["20260131", "2", "20260131"]
    flows.until(one.flow["run"], "finished")
    zplan(*flows.where(), "run", ident, "--batch", "2026-02-28T05:00").done()
    assert flows.next("a").args == ["y", "2", "20260228"]


def test_what_a_manual_run_cannot_be_given(flows, rig):
    flows.put("etl", {"a": call()}, params={"n": {"type": "integer", "default": 1}})
    plain, ident = rig.client.added(later()), rig.client.added(later(), station="etl", head=[])
    for words, reason in [(["--batch", "soon"], "batch: want a date or a time"), (["--param", "m=1"], "params: no such param: 'm'"),
                          (["--param", "n='x'"], "params: param n: must be of type integer")]:
        assert reason in zplan(*flows.where(), "run", ident, *words).failed(REFUSED)
    assert "batch and params are for plans of flows" in zplan(*flows.where(), "run", plain, "--param", "n=1").failed(REFUSED)
    assert "want NAME=VALUE" in zplan(*flows.where(), "run", ident, "--param", "n").failed(USAGE)


# -- start --wait

def test_wait_prints_the_steps_and_ends_well(flows):
    flows.put("etl", CHAIN, output={"last": "=steps.c.value"})
    waiting = flows.begin("start", "etl", "--wait")
    flows.next("a", {"n": 1})
    flows.next("b", 2)
    run = flows.next("c", 3).flow["run"]
    lines = Ended(waiting).done().splitlines()
    assert lines[0].startswith("plan ") and lines[1] == f"run {run} of flow etl"
    assert [re.split(" +", line)[1:] for line in lines[2:-2]] == [
        [step, state] for step in "abc" for state in ("new", "finished")]
    assert lines[-2:] == [f"run {run} of flow etl: finished", 'output {"last":3}']


def test_wait_for_a_failure(flows):
    flows.put("etl", CHAIN)
    waiting = flows.begin("start", "etl", "--wait")
    flows.fail(flows.call())
    ended = Ended(waiting)
    assert ended.code == REFUSED
    assert re.search(r"  a +failed +disk full\n.*  b +blocked", ended.out, re.S)
    assert ended.out.splitlines()[-1].endswith("of flow etl: failed")


@pytest.mark.parametrize("how", ["cancelled", "timeout"])
def test_wait_for_what_does_not_end_well(flows, how):
    flows.put("etl", {"w": {"wait": 3600}, "a": call()}, **({"timeout": 1} if how == "timeout" else {}))
    waiting = flows.begin("start", "etl", "--wait")
    if how == "cancelled":
        one = flows.call()
        flows.done(one)
        flows.say("cancel", one.flow["run"])
    ended = Ended(waiting)
    assert ended.code == REFUSED and ended.out.splitlines()[-1].endswith(f": {how}")


def test_wait_for_programs(flows):
    flows.put("etl", {"a": call()})
    waiting = flows.begin("start", "etl", "--wait", "--json")
    run = flows.next("a", 5).flow["run"]
    plan, new, line, last = [json.loads(line) for line in Ended(waiting).done().splitlines()]
    assert plan["result"] == "added" and (new["step"], new["state"]) == ("a", "new")
    assert (line["step"], line["state"]) == ("a", "finished") and line["at"].endswith("Z")
    assert (last["run"], last["state"], last["plan"]) == (run, "finished", plan["id"])
    assert last["began_at"].endswith("Z") and last["ended_at"].endswith("Z") and "began_ms" not in last


def test_wait_outlasts_a_restart(make_rig):
    """The call that was in flight is sent again when its lease is over."""
    rig = make_rig("--exec-timeout", "2")
    flows = Cli(rig)
    flows.put("etl", {"a": call(), "b": call(["a"])})
    waiting = start(*flows.where(), "--timeout", "3000", "flow", "start", "etl", "--wait")
    assert b"accepted" in waiting.stdout.readline()
    flows.next("a")
    assert flows.call().name == "b"
    rig.station.kill()
    rig.station.start()
    flows.next("b")
    assert Ended(waiting).done().splitlines()[-2].endswith("of flow etl: finished")


# -- runs

def test_runs_are_listed(flows):
    """B087: The newest first, by flow and by state."""
    first = ended_run(flows)
    flows.put("other", {"a": call()})
    flows.say("start", "other")
    one = flows.call()
    rows = flows.say("runs").splitlines()
    assert re.fullmatch(r"RUN +FLOW +VERSION STATE +BEGAN +TOOK +PLAN", rows[0])
    assert rows[1].split()[:4] == [one.flow["run"], "other", "1", "running"]
    assert rows[2].split()[:4] == [first, "etl", "1", "finished"] and len(rows) == 3
    assert re.search(r" \d+\.\d{3} s ", rows[2])
    assert [run["run"] for run in flows.json("runs")] == [one.flow["run"], first]
    assert flows.json("runs", "--flow", "etl")["run"] == first
    assert flows.json("runs", "--state", "running")["flow"] == "other"
    assert flows.json("runs", "--limit", "1")["run"] == one.flow["run"]
    assert flows.json("runs", "--flow", "etl", "--limit", "1")["run"] == first
    wire = flows.say("runs", "--flow", "etl", "--json=wire")
    assert json.loads(wire)["began_ms"] > 1_700_000_000_000
    assert len(flows.say("runs", "--flow", "none").splitlines()) == 1
    flows.zplan("runs", "--state", "asleep").failed(USAGE)


# -- show

def test_a_run_is_shown(flows):
    """B063, B075: A row for each step; of one that is not decided the state is none."""
    flows.put("etl", CHAIN, output={"last": "=steps.c.value"})
    flows.say("start", "etl")
    run = flows.next("a", {"n": 1}).flow["run"]
    flows.call()
    text = flows.say("show", run)
    assert text.startswith(f"run {run} of flow etl: running\nversion        1\nplan           ")
    table = text.split("\n\n")[1].splitlines()
    assert [line.split(None, 2) for line in table[:2]] == [["STEP", "STATE", "DETAIL"], ["a", "finished", '{"n":1}']]
    assert table[2].split() in (["b", "new"], ["b", "accepted"]) and table[3].split() == ["c", "none"]
    assert flows.say("show", "last").startswith(f"run {run} ")
    shown = flows.json("show", run)
    assert [step["step"] for step in shown["steps"]] == ["a", "b", "c"] and "began_at" in shown
    assert [step["step"] for step in flows.json("show", run, "--steps", "finished")["steps"]] == ["a"]


def test_sub_flows_are_shown_below_their_step(flows):
    """B075: The rows of a sub-flow are those of a run of its own."""
    flows.put("inner", {"x": call(), "y": call(["x"])})
    flows.put("outer", {"a": {"target": "inner"}, "b": call(["a"])})
    flows.say("start", "outer")
    inner = flows.call()
    run = flows.json("runs", "--flow", "outer")["run"]
    wait_until(lambda: "run" in flows.json("show", run)["steps"][0], "its sub-flow has begun")
    rows = flows.say("show", run).split("\n\n")[1].splitlines()
    assert [re.match(r" *\w+", row)[0] for row in rows[1:]] == ["a", "  x", "  y", "b"]
    assert f"run {inner.flow['run']}" in rows[1]
    assert flows.say("show", "last").startswith(f"run {run} ")
    assert flows.say("show", "last", "--flow", "inner").startswith(f"run {inner.flow['run']} of flow inner")
    flows.done(inner)


def test_items_are_counted(flows):
    flows.put("each", {"work": call(for_each=3, tolerate=1, max_parallel=1)})
    flows.say("start", "each")
    flows.fail(flows.call())
    one = flows.call()
    assert "3 items, 1 failed, 1 in flight" in flows.say("show", "last")
    flows.done(one)
    flows.next("work.2")


@pytest.mark.parametrize("word", ["show", "log", "suspend", "resume", "cancel", "retry"])
def test_unknown_runs(flows, word):
    assert flows.zplan(word, "5").failed(REFUSED) == "zplan: 5: no run 5 is known\n"
    assert "want RUN: a number in hex" in flows.zplan(word, "x").failed(USAGE)
    assert flows.zplan(word, "last").failed(REFUSED) == "zplan: last: no run is known\n"
    assert flows.zplan(word, "last", "--flow", "etl").failed(REFUSED) == "zplan: etl: no run is known\n"
    answer = json.loads(flows.zplan(word, "5", "--json").out)
    assert answer["code"] == "not_found" or answer["detail"]


# -- graph

def test_a_graph_has_states(flows):
    run = ended_run(flows, fail="b")
    text = flows.say("graph", run)
    assert text.splitlines()[0] == f"run {run} of flow etl: failed"
    assert re.search(r"1  F a  jobs\n +2  X b  jobs +after a\n +3  B c  jobs +after b\n\nF finished, X failed, B blocked\n$",
                     text)
    assert flows.say("show", run, "--graph") == flows.say("graph", "last") == text
    assert [step["state"] for step in flows.json("graph", run)["steps"]] == ["finished", "failed", "blocked"]
    assert 'fillcolor="#f5a3a3"' in flows.say("graph", run, "--dot")
    assert "style s1 fill:#f5a3a3" in flows.say("graph", run, "--mermaid")


def test_a_graph_on_a_terminal_has_colours(flows):
    run = ended_run(flows, fail="b")
    text = Terminal(*flows.where(), "flow", "graph", run).done()
    assert "\x1b[32mF a\x1b[0m" in text.replace("\x1b[m", "\x1b[0m") and "\x1b[31mX b" in text


def test_a_graph_of_a_flow_of_the_station(flows, tmp_path):
    flows.put("etl", CHAIN)
    text = flows.say("graph", "etl")
    assert text.startswith("etl: 3 steps, 2 edges, 3 layers\n") and "  a  jobs\n" in text
    assert "'nobody'" in flows.zplan("graph", "nobody").failed(REFUSED)
    assert flows.zplan("graph", "5").failed(REFUSED) == "zplan: 5: no run 5 is known\n"
    assert zplan("--connect", f"ipc://{tmp_path}/x", "--timeout", "100", "flow", "graph", "etl").code == NO_ANSWER


# -- log

def test_the_log(flows):
    """B076: What each step came to, in order, with its error."""
    run = ended_run(flows, fail="b")
    lines = [re.split(" +", line, maxsplit=3) for line in flows.say("log", run).splitlines()]
    assert [line[1:] for line in lines] == [
        ["a", "new"], ["a", "finished"], ["b", "new"], ["b", "failed", "disk full"], ["c", "blocked"]]
    assert [line["step"] for line in flows.json("log", run)] == ["a", "a", "b", "b", "c"]
    assert flows.say("log", run, "--follow") == flows.say("log", run) + f"run {run} of flow etl: failed\n"


def test_the_log_is_followed(flows):
    flows.put("etl", CHAIN)
    flows.say("start", "etl")
    run = flows.next("a", {"n": 1}).flow["run"]
    following = flows.begin("log", "last", "--follow")
    assert b" a " in following.stdout.readline()
    flows.next("b", 2)
    while b" b  " not in (line := following.stdout.readline()) or b" finished" not in line:
        assert line
    flows.next("c", 3)
    assert Ended(following).done().splitlines()[-1] == f"run {run} of flow etl: finished"


# -- why

def test_why(flows):
    flows.put("etl", {"a": call(), "b": call(["a"]), "yes": {"after": ["b"], "signal": {"who": ["lead"]}}})
    flows.say("start", "etl")
    one = flows.call()
    run = one.flow["run"]
    text = flows.say("why", f"{run}/b")
    assert text.startswith(f"step {run}/b: none\n  b waits for a: ")
    assert flows.say("why", "last/a").startswith(f"step {run}/a: accepted\n  a run is in progress")
    assert "b waits for a: " in flows.json("why", "last/b")["reasons"][0]["why"]
    flows.fail(one)
    flows.until(run, "failed")
    assert flows.say("why", f"{run}/a").startswith(f"step {run}/a: failed\n  it has failed: disk full")
    assert flows.say("why", f"{run}/b").startswith(f"step {run}/b: none\n  blocked: a failed: disk full")
    assert "etl has no step x" in flows.zplan("why", f"{run}/x").failed(REFUSED)
    assert "want RUN/STEP" in flows.zplan("why", run).failed(USAGE)


# -- what people do

def test_a_signal(flows):
    flows.put("human", {"yes": {"signal": {}}, "act": call(["yes"], args=["=steps.yes.value.who"])})
    flows.say("start", "human")
    wait_until(lambda: flows.flow("runs")["runs"], "the run begins")
    run = flows.json("runs")["run"]
    assert "no step" in flows.zplan("signal", run, "nobody").failed(REFUSED)
    assert "want JSON" in flows.zplan("signal", run, "yes", "{who").failed(USAGE)
    assert flows.say("signal", run, "yes", '{"who": "ann"}') == f"run {run} of flow human: running\n"
    assert flows.next("act").args == ["ann"]


def test_a_rejection(flows):
    flows.put("human", {"yes": {"signal": {}}, "act": call(["yes"])})
    flows.say("start", "human")
    wait_until(lambda: flows.flow("runs")["runs"], "the run begins")
    flows.say("reject", "last", "yes", "too expensive")
    assert "too expensive" in flows.say("why", "last/yes")
    assert flows.json("show", "last")["state"] == "failed"


def test_skip(flows):
    """B107: An operator skips a failed step, and the next one starts."""
    flows.put("night", {"a": call(), "b": call(["a"], args=["=steps.a.value"])})
    flows.say("start", "night")
    flows.fail(flows.call())
    wait_until(lambda: flows.json("show", "last")["state"] == "failed", "it has failed")
    assert "--value: want JSON" in flows.zplan("skip", "last", "a", "--value", "by hand").failed(USAGE)
    answer = flows.json("skip", "last", "a", "--value", '"by hand"', "--reason", "it was done")
    assert answer["state"] == "running"
    assert flows.next("b").args == ["by hand"]
    wait_until(lambda: flows.json("show", "last")["state"] == "finished", "it has finished")
    assert 'skipped   by an operator; "by hand"' in flows.say("show", "last")
    assert "skipped  by an operator: it was done\n" in flows.say("log", "last")


def test_retry(flows):
    run = ended_run(flows, fail="b")
    assert flows.say("retry", run, "--reason", "again") == f"run {run} of flow etl: running\n"
    flows.next("b", 1)
    flows.next("c")
    flows.until(run, "finished")
    flows.say("retry", run, "c", "--fresh")
    flows.next("c")
    flows.until(run, "finished")
    assert flows.json("retry", run, "--restart")["run"] == run
    assert flows.next("a", {"n": 1}).flow["generation"] == 1
    assert "no such step: 'nobody'" in flows.zplan("retry", run, "nobody").failed(REFUSED)


def test_suspend_resume_cancel(flows):
    flows.put("etl", CHAIN)
    flows.say("start", "etl")
    one = flows.call()
    run = one.flow["run"]
    assert flows.say("suspend", "last", "maintenance") == f"run {run} of flow etl: suspended\n"
    flows.done(one, {"n": 1})
    flows.nothing()
    assert "the run is suspended" in flows.say("why", f"{run}/b")
    assert flows.say("resume", run) == f"run {run} of flow etl: running\n"
    flows.call()
    assert flows.zplan("cancel", run, "force").done().startswith(f"run {run} of flow etl: ")
    flows.until(run, "cancelled")


def test_cancel_with_force_undoes_nothing(flows):
    flows.put("trip", {"hotel": call(undo={"target": "jobs", "command": "free"}), "pay": call(["hotel"])})
    flows.say("start", "trip")
    run = flows.next("hotel").flow["run"]
    flows.call()
    flows.say("cancel", run, "--force")
    flows.until(run, "cancelled")
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    flows.nothing()


def test_a_step_is_cancelled(flows):
    flows.put("pair", {"a": call(), "b": call([{"step": "a", "on": "ended"}])})
    flows.say("start", "pair")
    run = flows.call().flow["run"]
    assert flows.say("cancel", "last/a", "no longer needed") == f"step {run}/a: cancelled\n"
    flows.next("b")
    assert "no call of a" in flows.zplan("cancel", f"{run}/a").failed(REFUSED)


def test_an_undo_that_has_failed(flows):
    undo = {"target": "jobs", "command": "free", "retry": {"strategy": "none"}}
    flows.put("trip", {"hotel": call(undo=undo), "pay": call(["hotel"])})
    flows.say("start", "trip")
    run = flows.next("hotel").flow["run"]
    assert "no undo of hotel" in flows.zplan("done", f"{run}/hotel").failed(REFUSED)
    flows.fail(flows.call())
    for word, text in (("reset", "its undo is retried"), ("done", "its undo is resolved")):
        flows.fail(flows.call())
        wait_until(lambda: "its undo has failed" in flows.say("why", f"{run}/hotel"), "it has failed permanently")
        assert "its undo has failed" in flows.say("show", run)
        assert flows.say(word, f"{run}/hotel") == f"step {run}/hotel: {text}\n"
    flows.until(run, "failed")
    assert "want RUN/STEP" in flows.zplan("reset", run).failed(USAGE)


# -- export, import

def test_export_and_import(flows, tmp_path):
    flows.put("inner", {"x": call(text="a")})
    flows.put("a-first", {"one": {"target": "inner"}})
    out = flows.say("export")
    assert [json.loads(line)["flow"] for line in out.splitlines()] == ["a-first", "inner"]
    assert flows.say("export", "inner") == out.splitlines(True)[1]
    path = tmp_path / "flows.ndjson"
    path.write_text(out, encoding="utf-8")
    assert [line.split(":")[1] for line in flows.say("import", str(path)).splitlines()
            if line.startswith("flow ")] == [" version 1, unchanged, in use"] * 2
    flows.client.done("flow", "remove", "a-first")
    flows.client.done("flow", "remove", "inner")
    # `a-first` stands first and refers to `inner`: that is put before.
    text = flows.say("import", str(path))
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("flow ")] == ["flow inner", "flow a-first"]
    path.write_text(json.dumps([json.loads(line) for line in out.splitlines()], indent=2), encoding="utf-8")
    assert [change["unchanged"] for change in flows.json("import", str(path))] == [True, True]


def test_export_keeps_the_text(flows, tmp_path):
    text = '{"flow": "exact",\n "steps": {"w": {"wait": 1}},\n "output": 0.10}'
    flows.flow("put", text)
    out = flows.say("export", "exact")
    assert out == text.replace("\n", " ") + "\n"
    (tmp_path / "f").write_text(out, encoding="utf-8")
    assert "unchanged" in flows.say("import", str(tmp_path / "f"))


def test_import_of_what_is_wrong(flows, tmp_path):
    path = tmp_path / "flows.ndjson"
    path.write_text(json.dumps({"flow": "bad", "steps": {"a": {"target": "nobody"}}}) + "\n" +
                    json.dumps({"flow": "good", "steps": {"a": {"wait": 1}}}), encoding="utf-8")
    ended = flows.zplan("import", str(path))
    assert ended.code == REFUSED and "zplan: bad: steps.a.target: target 'nobody': not found" in ended.err
    assert ended.out.startswith("flow good: version 1")
    path.write_text('{"flow": "good"} nonsense', encoding="utf-8")
    assert "want definitions as JSON" in flows.zplan("import", str(path)).failed(REFUSED)
    assert flows.zplan("import", str(tmp_path / "none")).failed(REFUSED).endswith("No such file or directory\n")
    assert flows.zplan("export", "nobody").failed(REFUSED).startswith("zplan: nobody: ")


# -- all of them

@pytest.mark.parametrize("words", [
    ["start"], ["start", "a", "b"], ["runs", "a"], ["show"], ["show", "1", "2"], ["log"], ["why"], ["signal", "1"],
    ["signal", "1", "a", "2", "3"], ["reject", "1"], ["skip", "1"], ["skip", "1", "a", "b"], ["retry"], ["suspend"],
    ["suspend", "1", "a", "b"], ["resume"], ["resume", "1", "a"], ["cancel"], ["cancel", "1", "a", "b"], ["import"],
    ["runs", "--follow"], ["show", "1", "--force"], ["start", "a", "--dot"]])
def test_usage(words):
    zplan("flow", *words).failed(USAGE)


@pytest.mark.parametrize("words", [["start", "a"], ["runs"], ["show", "1"], ["log", "1"], ["why", "1/a"], ["signal", "1", "a"],
                                   ["show", "last"], ["cancel", "1"], ["export"]])
def test_without_a_station(tmp_path, words):
    assert zplan("--connect", f"ipc://{tmp_path}/nobody", "--timeout", "100", "flow", *words).code == NO_ANSWER


WORDS = ("check graph simulate put use get list remove export import start runs show log why done reset signal reject skip "
         "retry suspend resume cancel").split()


@pytest.mark.parametrize("word", WORDS)
def test_each_has_a_help_with_examples(word):
    text = zplan("flow", word, "--help").done()
    assert text.startswith(f"Usage: zplan flow {word}")
    examples = re.findall(rf"^  .*zplan flow {word}.*$", text, re.M)
    assert examples and all(len(line) <= 80 for line in text.splitlines())
    assert all(line in zplan("flow", "--help").done() for line in examples)


def test_runs_and_steps_are_completed(flows):
    run = ended_run(flows)
    assert zplan(*flows.where(), "completion", "runs").done() == f"{run}\tetl, finished\n"
    assert zplan(*flows.where(), "completion", "steps", run).done() == "a\tfinished\nb\tfinished\nc\tfinished\n"
    assert zplan(*flows.where(), "completion", "steps", "last").done().startswith("a\t")
    assert "want a run" in zplan("completion", "steps").failed(USAGE)
