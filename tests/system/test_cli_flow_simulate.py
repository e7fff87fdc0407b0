"""zplan flow simulate: runs on a virtual clock, without a station."""
import json
import re
import shlex
import time

import pytest

from clitest import REFUSED, USAGE, zplan
from flowtest import AT, files, simulate      # noqa: F401 a fixture

CHAIN = {"flow": "chain", "defaults": {"target": "jobs"}, "steps": {
    "extract": {"command": "extract"},
    "load": {"after": ["extract"], "command": "load", "args": ["=steps.extract.value.file"],
             "retry": {"strategy": "fixed", "interval": 10, "max": 3}},
    "mail": {"target": "mail", "if": "input.mail"},
    "ask": {"after": ["load"], "signal": {"timeout": 60}}}}


def events(result):
    rows = json.loads(result)["events"]
    began = min(row["at"] for row in rows)
    return [((row["at"] - began) // 1000, row["what"], row["step"]) for row in rows]


def test_every_event_has_its_time_and_its_reason(files):
    flow, value, given = files(flow=CHAIN, value={"file": "/x"}, given={"mail": False})
    result = simulate(flow, *AT, "--last", "extract=5m", "--fail", "load:2", "--value", f"extract={value}",
                      "--input", given, "--json")
    assert events(result) == [
        (0, "skipped", "mail"), (0, "start", "extract"), (300, "finished", "extract"), (300, "start", "load"),
        (301, "retry", "load"), (312, "retry", "load"), (323, "finished", "load"), (323, "wait", "ask"),
        (324, "finished", "ask")]
    end = json.loads(result)
    assert [row["step"] for row in end["critical"]] == ["extract", "load", "ask"]
    assert end["outcome"] == "finished" and end["ended"] - end["began"] == 324_000


def test_the_examples_of_the_help_end_well(tmp_path):
    """With the definition that the help has."""
    text = zplan("flow", "--help").done()
    definition = re.search(r"(?m)^  flow: greeting\n(?:  .*\n)+", text).group()
    (tmp_path / "greeting.yaml").write_text(definition)
    examples = re.findall(r"(?m)^  zplan (flow simulate greeting\.yaml .*)$", text)
    assert len(examples) == 2
    for example in examples:
        said = zplan(*shlex.split(example), cwd=tmp_path).done()
        assert re.search(r"(?m)^\S+ \S+  finished after ", said) and "failed " not in said.replace("failed, the next", ""), said


def test_a_file_that_is_missing_is_named(files, tmp_path):
    (flow,) = files(flow=CHAIN)
    for option, given in (("--value", "extract=nofile"), ("--input", "nofile")):
        assert zplan("flow", "simulate", flow, option, given, cwd=tmp_path).failed(USAGE) == (
            f"zplan flow: {option}: 'nofile': No such file or directory\nTry: zplan flow --help\n")


def test_the_subcommands_of_flow_are_found(tmp_path):
    assert zplan("flow", "shw").failed(USAGE).startswith("zplan flow: unknown word 'shw'; did you mean show?\n")
    assert zplan("flow", "xyzzy").failed(USAGE).startswith("zplan flow: unknown word 'xyzzy'\n")
    assert zplan("flow", "help").done() == zplan("flow", "--help").done()
    assert zplan("flow", "help", "show").done() == zplan("flow", "show", "--help").done()
    for word in ("list", "runs"):
        assert zplan("--connect", f"ipc://{tmp_path}/none", "--timeout", "100", "flow", word).out == ""


def test_what_never_comes_and_who_is_away(files):
    flow, value, given = files(flow=CHAIN, value={"file": "/x"}, given={"mail": True})
    words = [flow, *AT, "--value", f"extract={value}", "--input", given]
    text = simulate(*words, "--never", "ask", "--outage", "jobs=01:30..02:30")
    assert "2026-01-31 02:00:00  wait      extract: target jobs is away\n" in text
    assert "2026-01-31 02:31:02  failed    ask: no signal in time\n" in text
    assert "failed after 31 min 2 s" in text and "extract (30 min 1 s, 30 min for its target)" in text
    text = simulate(*words, "--never", "mail")
    assert "waiting for ever for mail\n" in text


def test_calls_wait_for_a_free_slot(files):
    flow, = files(flow={"flow": "two", "max_parallel": 1, "steps": {"a": {"target": "t"}, "b": {"target": "t"}}})
    text = simulate(flow, *AT, "--each", "30s")
    assert "02:00:30  start     b: waited 30000 ms for a free slot (max_parallel)\n" in text
    assert "critical path: b (30 s, 30 s for a free slot)\n" in text


def test_a_sub_flow_and_thirty_nights(files):
    flow, inner = files(flow={"flow": "night", "steps": {"sub": {"target": "inner"}}},
                        inner={"flow": "inner", "output": {"x": 1}, "steps": {"work": {"target": "t"}}})
    nightly = ["--cron", "0 2 * * *", "--timezone", "Europe/Berlin", "--runs", "30"]
    began = time.monotonic()
    rows = [json.loads(line) for line in
            simulate(flow, inner, *AT, *nightly, "--last", "sub/work=2h", "--json").splitlines()]
    assert time.monotonic() - began < 30
    assert len(rows) == 30 and all(row["ended"] - row["began"] == 7_200_000 for row in rows)
    assert rows[0]["output"] == {"sub": {"x": 1}}
    text = simulate(flow, inner, *AT, *nightly, "--last", "sub/work=30h")
    assert text.count("missed: the run before it is in progress\n") == 15


def test_each_event_says_what_it_waited_for(files):
    flow, = files(flow={"flow": "why", "steps": {
        "a": {"target": "t", "retry": {"strategy": "fixed", "interval": 10, "max": 3}},
        "b": {"target": "t", "after": ["a"]}, "c": {"after": ["b"]}, "d": {"after": ["c"]},
        "w": {"after": ["a"], "wait": 5},
        "ask": {"after": ["w"], "signal": {"count": 2, "who": ["lead", "head-*"]}}}})
    text = simulate(flow, *AT, "--fail", "a:1", "--fail", "b")
    assert "retry     a: attempt 1 failed, the next in 10000 ms\n" in text
    assert "02:00:12  start     b: after a\n" in text
    assert "02:00:12  wait      w: after a\n" in text
    assert "02:00:17  wait      ask: for 2 signals of lead, head-*\n" in text
    assert "blocked   c: b failed: failed\n" in text and "blocked   d: c is blocked\n" in text


def test_an_outage_comes_each_day(files):
    flow, = files(flow={"flow": "f", "steps": {"a": {"target": "t"}, "b": {"target": "t", "after": ["a"]}}})
    late = ["--at", "2026-01-31T23:30", "--timezone", "Europe/Berlin", "--outage", "t=23:00..01:00"]
    text = simulate(flow, *late, "--last", "a=22h30m")
    assert "2026-01-31 23:30:00  wait      a: target t is away\n" in text
    assert "2026-02-01 23:30:00  wait      b: target t is away\n" in text
    assert "2026-02-02 01:00:01  finished  b\n" in text


def test_a_target_that_is_always_away(files):
    flow, bounded = files(flow={"flow": "f", "steps": {"a": {"target": "t"}}},
                          bounded={"flow": "f", "steps": {"a": {"target": "t", "total_timeout": 60}}})
    away = ["--outage", "t=00:00..12:00", "--outage", "t=12:00..00:00"]
    assert "waiting for ever for a\n" in simulate(flow, *AT, *away)
    text = simulate(bounded, *AT, *away)
    assert "02:01:00  failed    a" in text and "critical path: a (1 min, 1 min for its target)\n" in text


def test_what_fails_for_ever_waits_for_ever(files):
    flow, manual = files(flow={"flow": "f", "steps": {"a": {"target": "t", "retry": {"strategy": "fixed", "interval": 1}}}},
                         manual={"flow": "f", "steps": {"a": {"target": "t", "retry": {
                             "strategy": "fixed", "interval": 1, "max": 1, "need_manual": True}}}})
    assert "waiting for ever for a\n" in simulate(flow, *AT, "--fail", "a")
    text = simulate(manual, *AT, "--fail", "a")
    assert "wait      a: for an operator (need_manual)\n" in text and "waiting for ever for a\n" in text


def test_what_retries_often_does_not_wait_for_ever(files):
    retry = {"strategy": "fixed", "interval": 1}
    flow, last = files(flow={"flow": "f", "steps": {"a": {"target": "t", "retry": retry}}},
                       last={"flow": "f", "steps": {"a": {"target": "t", "retry": {**retry, "max": 1000}}}})
    assert "  finished after " in simulate(flow, *AT, "--fail", "a:2000")
    assert "  failed after " in simulate(last, *AT, "--fail", "a")


def test_what_has_too_many_events_stops(files):
    each = {"target": "t", "for_each": 10000, "args": ["=index"]}
    flow, = files(flow={"flow": "f", "steps": {f"s{i}": each for i in range(10)}})
    row = json.loads(simulate(flow, *AT, "--json"))
    assert (row["outcome"], row["error"], row["waits"]) == ("stopped", "a simulated run has at most 100000 events", [])
    assert len(row["events"]) == 100_000 and "ended" not in row and row["until"] > row["began"]


def test_many_calls_in_flight_are_cancelled_soon(files):
    each = {"target": "t", "for_each": 10000}
    flow, = files(flow={"flow": "f", "max_parallel": 0, "timeout": 5, "steps": {f"s{i}": each for i in range(6)}})
    began = time.monotonic()
    assert json.loads(simulate(flow, *AT, "--each", "10s", "--json"))["outcome"] == "timeout"
    assert time.monotonic() - began < 30


def test_a_sub_flow_has_the_nominal_time_of_the_outermost_run(files):
    flow, inner = files(flow={"flow": "night", "steps": {
        "first": {"target": "t"}, "sub": {"after": ["first"], "target": "inner"}}},
        inner={"flow": "inner", "output": "=idc.shouldFireTime.format('dd HH:mm')", "steps": {"work": {"target": "t"}}})
    rows = json.loads(simulate(flow, inner, *AT, "--last", "first=30h", "--json"))
    assert rows["output"] == {"sub": "31 02:00"}


def test_a_missed_occurrence_is_a_row(files):
    flow, = files(flow={"flow": "f", "steps": {"a": {"target": "t"}}})
    rows = [json.loads(line) for line in
            simulate(flow, *AT, "--cron", "0 2 * * *", "--runs", "4", "--last", "a=30h", "--json").splitlines()]
    assert [row["outcome"] for row in rows] == ["finished", "missed", "finished", "missed"]
    assert rows[1]["began"] - rows[0]["began"] == 86_400_000


@pytest.mark.parametrize("words, option", [
    (["--fail", "a:x"], "--fail"), (["--last", "a"], "--last"), (["--outage", "t=25:00..02:00"], "--outage"),
    (["--runs", "3"], "--runs"), (["--cron", "x"], "column"), (["--at", "soon"], "soon"), (["--never", "nobody"], "'nobody': no such step"),
    (["--fail", "load/x"], "'load/x': no such step")])
def test_what_is_wrong_is_named(files, words, option):
    flow, = files(flow=CHAIN)
    assert option in zplan("flow", "simulate", flow, *words).failed(USAGE)


def test_the_input_is_an_object(files):
    flow, given = files(flow=CHAIN, given=[1])
    assert "--input" in zplan("flow", "simulate", flow, "--input", given).failed(USAGE)


def test_a_definition_with_errors_does_not_run(files):
    flow, = files(flow={"flow": "f", "steps": {"a": {"after": ["b"]}}})
    assert "steps.a.after[0]: no such step" in zplan("flow", "simulate", flow).failed(REFUSED)


JOB = {"target": "t", "command": "c"}
CALLER = {"target": "inner", "json": {}}


@pytest.mark.parametrize("step, error", [
    ({**JOB, "args": ["a", "=1 / 0"]}, "args[1]: column 3: division by zero"),
    ({**JOB, "args": ["=idc.shouldFireTime.withDayOfMonth(32)"]},
     "args[0]: column 20: no such day: 2026-01-32"),
    ({**JOB, "command": "=1 / 0"}, "command: column 3: division by zero"),
    ({**JOB, "json": {"a": [0, {"b": "=1 / 0"}]}}, "json.a[1].b: column 3: division by zero"),
    ({**JOB, "json": {"\u00fc": "=1 / 0"}}, "'json.\\xc3\\xbc': column 3: division by zero"),
    ({**JOB, "for_each": "=1 / 0"}, "for_each: column 3: division by zero"),
    ({**JOB, "if": "1 / 0 == 1"}, "if: column 3: division by zero"),
    ({**JOB, "output": ["=1 / 0"]}, "output[0]: column 3: division by zero"),
    ({"wait": "=1 / 0"}, "wait: column 3: division by zero"),
    ({"wait": "=-5"}, "wait: must be seconds from 0 to 10000000000, or a time"),
    ({"output": {"x": "=1 / 0"}}, "output.x: column 3: division by zero"),
    ({**CALLER, "json": "=[1]"}, "json: must be an object, the input of the flow"),
    ({**CALLER, "json": "='x'"}, "json: must be an object, the input of the flow"),
    ({**CALLER, "json": "=null"}, "json: must be an object, the input of the flow")])
def test_a_step_that_fails_names_the_field(files, step, error):
    """B019, B036: an expression that fails, fails the step, with the reason and the column."""
    flow, inner = files(flow={"flow": "f", "steps": {"a": step}}, inner={"flow": "inner", "steps": {"i": {}}})
    end = json.loads(simulate(flow, inner, *AT, "--json"))
    assert [row["why"] for row in end["events"] if row["what"] == "failed"] == [error]


def test_failures_that_do_not_block_are_counted(files):
    """B055: with `continue` the run finishes, with its failures."""
    for on_error, end in (("continue", ("finished", 1, [])), ("block", ("failed", 1, ["a"]))):
        flow, = files(flow={"flow": "f", "steps": {"a": {**JOB, "on_error": on_error}, "b": {**JOB, "after": ["a"]}}})
        row = json.loads(simulate(flow, *AT, "--fail", "a", "--json"))
        assert (row["outcome"], row["failures"], row["uncaught"]) == end


def test_an_undo_that_fails_names_the_field(files):
    flow, = files(flow={"flow": "f", "steps": {
        "a": {**JOB, "undo": {**JOB, "args": ["=1 / 0"]}}, "b": {**JOB, "after": ["a"]}}})
    end = json.loads(simulate(flow, *AT, "--fail", "b", "--json"))
    assert end["events"][-1]["why"] == "for an operator: its undo failed: args[0]: column 3: division by zero"


def test_the_output_of_a_signal_is_its_value(files):
    flow, value = files(flow={"flow": "f", "steps": {
        "a": {"signal": {"count": 2}, "output": "result.map(x, x.n)"}}}, value={"n": 7})
    assert json.loads(simulate(flow, *AT, "--value", f"a={value}", "--json"))["output"] == {"a": [7, 7]}


@pytest.mark.parametrize("fails, uncaught", [(["x", "f"], ["x", "f"]), (["f"], ["f"]), (["x"], ["x"]), ([], [])])
def test_a_finally_that_failed_is_uncaught(files, fails, uncaught):
    flow, = files(flow={"flow": "f", "finally": "f", "steps": {"x": JOB, "f": JOB}})
    end = json.loads(simulate(flow, *AT, *(word for name in fails for word in ("--fail", name)), "--json"))
    assert end["uncaught"] == uncaught and end["outcome"] == ("failed" if fails else "finished")


@pytest.mark.parametrize("text, hour", [
    ("2024-01-01T10:00:00", 10), ("2024-01-01T10:00:00Z", 11), ("2024-07-01T10:00:00+05:00", 7), ("2024-01-01", 0)])
def test_a_param_of_type_time_is_local_in_the_zone(files, text, hour):
    flow, given = files(flow={"flow": "f", "params": {"p": {"type": "time", "default": text}, "q": {"type": "time"}},
                              "steps": {"a": {}}, "output": ["=p.hour()", "=q.hour()"]}, given={"q": text})
    end = json.loads(simulate(flow, *AT, "--timezone", "Europe/Berlin", "--input", given, "--json"))
    assert end["output"] == [hour, hour]


def test_the_timeout_of_a_plan_ends_its_run(files):
    flow, = files(flow={"flow": "f", "steps": {"a": JOB}})
    end = json.loads(simulate(flow, *AT, "--run-timeout", "5s", "--each", "10s", "--json"))
    assert (end["outcome"], end["error"]) == ("timeout", "the timeout of the run expired")


@pytest.mark.parametrize("option, value", [("--limit", "2"), ("--rate", "2"), ("--workers", "2"), ("--outage", "01:00..01:30")])
def test_an_option_for_a_target_that_no_step_has(files, option, value):
    flow, = files(flow={"flow": "f", "steps": {"a": {**JOB, "undo": {"target": "u"}}}})
    ended = zplan("flow", "simulate", flow, *AT, option, f"t={value}", option, f"u={value}", option, f"x={value}")
    assert ended.code == 0 and ended.err == f"zplan: {option}: no step has the target 'x'\n"


@pytest.mark.parametrize("who", [["k" * 200], ["k" * 200 + "*"]])
def test_a_key_with_a_long_name_signals(files, who):
    flow, = files(flow={"flow": "f", "steps": {"a": {"signal": {"who": who}}}})
    assert json.loads(simulate(flow, *AT, "--json"))["outcome"] == "finished"
