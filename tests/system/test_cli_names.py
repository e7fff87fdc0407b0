"""The command line: kinds, and why plans are not running. At a real station, but for what only a
broken one says."""
import json
import re
import subprocess
import tempfile

import pytest

from clitest import (DONE, JSON, NO_ANSWER, OK, REFUSED, USAGE, ZPLAN, Ended, RealStation, Terminal,
                     always, objects, zplan)
from zplantest import ST, at_once, every, wait_until


@pytest.fixture(scope="module")
def real():
    with RealStation() as one:
        yield one


@pytest.fixture
def fresh():
    with RealStation() as one:
        yield one


FIELDS = {"timeout": 60, "ext": {"say": 'a "b"'}}


def stdin_of(station, text, *args):
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        return Ended(subprocess.Popen([ZPLAN, *station.where(), *args], stdin=file,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE))


# -- kind

def test_kinds_are_put_listed_and_removed(fresh):
    assert fresh.zplan("kind").done() == fresh.zplan("kind", "list").done() == "KIND             FIELDS\n"
    assert fresh.zplan("kind", "put", "video", json.dumps(FIELDS)).done() == "kind video kept\n"
    assert fresh.zplan("kind", "put", "audio", "{}").done() == "kind audio kept\n"
    assert fresh.zplan("kind", "list").done().splitlines() == [
        "KIND             FIELDS", "audio            {}",
        'video            {"timeout":60,"ext":{"say":"a \\"b\\""}}']
    assert objects(fresh.zplan("kind", "--json=wire")) == [
        {"kind": "audio", "fields": {}}, {"kind": "video", "fields": FIELDS}]
    assert objects(fresh.zplan("kind", "get", "video", "--json=wire")) == [
        {"kind": "video", "fields": FIELDS}]
    assert len(fresh.zplan("kind", "get", "video", "audio").done().splitlines()) == 3
    assert fresh.zplan("kind", "remove", "video", "audio").done() == (
        "kind video removed\nkind audio removed\n")
    assert objects(fresh.zplan("kind", "--json=wire")) == []


def test_a_plan_has_what_its_kind_says(fresh):
    fresh.zplan("kind", "put", "video", json.dumps(FIELDS)).done()
    ident = fresh.add(kind="video")
    shown, = objects(fresh.zplan("show", ident, "--json=wire"))
    assert (shown["kind"], shown["timeout"]) == ("video", 60)


def test_fields_come_from_standard_input(real):
    text = json.dumps(FIELDS, indent=4).encode()
    assert stdin_of(real, text, "kind", "put", "input", "-").done() == "kind input kept\n"
    assert objects(real.zplan("kind", "get", "input", "--json=wire")) == [
        {"kind": "input", "fields": FIELDS}]


@pytest.mark.parametrize("text, words", [
    (b"", "JSON: "), (b"{", "JSON: "), (b"[]", "JSON: want an object"),
    (b'{"a":\0}', "stdin: want JSON, got a NUL byte"), (b"\xff", "JSON: "),
    (b" " * 65537, "stdin: at most 65536 bytes")], ids=range(6))
def test_input_that_is_no_object_is_refused_here(real, text, words):
    ended = stdin_of(real, text, "kind", "put", "input", "-")
    assert words in ended.failed(USAGE)


def test_what_the_station_refuses_is_told(real):
    ended = real.zplan("kind", "put", "x", '{"timeout": 0}')
    assert ended.failed(REFUSED).startswith("zplan: 'x': timeout: want seconds, 1..")
    ended = real.zplan("kind", "put", "a b", "{}", "--json=wire")
    assert ended.code == REFUSED and "want a name of 1..64" in ended.err
    told, = map(json.loads, ended.out.splitlines())
    assert told["kind"] == "a b" and "want a name" in told["refused"]
    for word in ("get", "remove"):
        assert "no kind 'nobody' is known" in real.zplan("kind", word, "nobody").failed(REFUSED)


def test_what_is_there_is_done_besides_what_is_not(fresh):
    fresh.zplan("kind", "put", "a", "{}").done()
    ended = fresh.zplan("kind", "get", "nobody", "a")
    assert ended.code == REFUSED and ended.out.splitlines()[1:] == ["a                {}"]
    ended = fresh.zplan("kind", "remove", "nobody", "a", "--json=wire")
    first, second = map(json.loads, ended.out.splitlines())
    assert "no kind" in first["refused"] and second == {"kind": "a", "done": "remove"}


def test_a_kind_that_was_edited_to_nonsense_is_shown_as_that(fresh):
    fresh.rig.db.hset("plan:kinds", "bad", "nonsense")
    assert fresh.zplan("kind", "list").done().splitlines()[1] == "bad              cannot be read"
    assert objects(fresh.zplan("kind", "--json=wire")) == [{"kind": "bad", "fields": None}]


def test_what_a_station_sends_cannot_command_the_terminal():
    evil = {"kinds": {"\x1b[2J": {"category": "\x1b]0;x\x07"}, "b": [1]}}
    with always(OK, (JSON, json.dumps(evil).encode())) as station:
        out = station.zplan("kind").done()
        assert "\x1b" not in out and "\x07" not in out and "\\x1b[2J" in out
    with always(OK, (JSON, b"{}")) as station:
        assert station.zplan("kind").done() == "KIND             FIELDS\n"
        assert station.zplan("kind", "--json=wire").done() == ""


@pytest.mark.parametrize("words, told", [
    (["lst"], "unknown word 'lst'; did you mean list?"), (["xyz"], "want list, get, put or remove, got 'xyz'"),
    (["list", "x"], "list: unexpected argument"), (["get"], "get: want at least one kind"),
    (["put", "x"], "put: want a name, and fields as JSON or -"),
    (["put", "x", "{}", "y"], "put: want a name, and fields"),
    (["put", "x", "{"], "JSON: "), (["remove"], "remove: want at least one kind")])
def test_kind_used_wrongly(real, words, told):
    assert told in real.zplan("kind", *words).failed(USAGE)


@pytest.mark.parametrize("words", [["kind"], ["kind", "get", "a", "b"], ["kind", "remove", "a", "b"],
                                   ["why", "1f", "20"]])
def test_no_answer_is_told_once(words):
    ended = zplan("--connect", "tcp://127.0.0.1:1", "--timeout", "50", *words)
    assert ended.failed(NO_ANSWER).count("no answer from") == 1


# -- why

def test_why_a_plan_that_waits_and_one_that_was_paused(real):
    ident = real.add()
    lines = real.zplan("why", ident).done().splitlines()
    assert lines[0] == f"plan {ident}: queued" and len(lines) == 2
    assert re.fullmatch(r"  it is not due yet: until its time, \d{4}-\d\d-\d\dT[\d:]+Z", lines[1])
    assert re.search(r": until its time, in \d+ h", real.zplan("why", ident, "--times", "relative").out)
    real.zplan("pause", ident).done()
    lines = real.zplan("why", ident).done().splitlines()
    assert lines[0] == f"plan {ident}: paused"
    assert re.fullmatch(r"  paused at \d{4}-\d\d-\d\dT[\d:]+Z: reset it", lines[1])
    real.zplan("close", ident).done()
    assert re.fullmatch(r"  closed at \S+: it is kept until it is removed",
                        real.zplan("why", ident).done().splitlines()[1])


def test_why_a_run_is_out(fresh):
    ident = fresh.rig.client.added(at_once())
    fresh.rig.jobs.answer(fresh.rig.jobs.recv(), ST.RUNING)
    fresh.rig.state(ident, ST.RUNING)
    lines = fresh.zplan("why", ident).done().splitlines()
    assert lines[0] == f"plan {ident}: running, a run is in progress"
    assert lines[1].startswith("  a run is in progress since ")
    assert ": until its result, or the end of its lease without a heartbeat, 2" in lines[1]


def test_why_a_plan_failed(fresh):
    ident = fresh.rig.client.added(every(1000, 3, retry={"strategy": "none", "need_manual": True}))
    fresh.rig.due_now(ident)
    fresh.rig.jobs.finish(fresh.rig.jobs.recv(), ST.FAILED)
    wait_until(lambda: fresh.rig.score(ident) is None, "out of the queue")
    lines = fresh.zplan("why", ident).done().splitlines()
    assert lines[0] == f"plan {ident}: failed"
    assert lines[1].startswith("  it has failed 1 times, the last time: ")
    assert lines[1].endswith(": deal with it, then say done; or reset it")


def test_why_for_programs(real):
    one, two = real.add(), real.add()
    ended = real.zplan("why", one, "7777", two, "--json=wire")
    assert ended.code == REFUSED and ended.err.startswith("zplan: 7777: no plan '7777'")
    first, second = map(json.loads, ended.out.splitlines())
    assert (first["id"], first["state"], first["running"]) == (one, "queue", False)
    assert list(first)[0] == "id" and first["plan_id"] == int(one, 16)
    assert first["reasons"][0]["until"] == "its time" and second["id"] == two


@pytest.mark.parametrize("words, told", [([], "want plans, by id or name"), ([""], "want a plan id"),
                                         (["1f", "key:"], "want a plan id")])
def test_why_used_wrongly(real, words, told):
    assert told in real.zplan("why", *words).failed(USAGE)


@pytest.mark.parametrize("reasons", [
    [], [{}], [1], {}, None, [{"why": 1, "until": []}], [{"why": "\x1b[2J", "until": "\x1b"}],
    [{"why": "pause ", "until": "reset", "at": "nonsense"}], [{"why": "close", "at": 1}]])
def test_whatever_a_station_says_is_printed_harmlessly(reasons):
    answer = {"plan_state": "x", "running": 1, "reasons": reasons}
    with always(OK, (JSON, json.dumps(answer).encode())) as station:
        ended = station.zplan("why", "1f")
        assert ended.code == DONE and "\x1b" not in ended.out and ended.err == ""
        assert ended.out.startswith("plan 1f: ")


def test_why_on_a_terminal_has_colours(real):
    ident = real.add()
    real.zplan("pause", ident).done()
    text = Terminal(*real.where(), "why", ident).done()
    assert "\x1b[" in text and "reset it" in text


# -- targets that there are not

@pytest.mark.parametrize("words", [["list"], ["history"], ["pause"], ["pause", "--dry-run"], ["export"]])
def test_a_filter_with_an_unknown_target_says_so(real, words):
    ended = real.zplan(*words, "--target", "jbos")
    assert ended.code == DONE and ended.err.splitlines()[0] == "zplan: no target 'jbos'; did you mean jobs?"
    known = real.zplan(*words, "--target", "jobs", "--json")
    assert "no target" not in known.err


def test_a_time_that_is_past(real):
    assert real.zplan("add", "--target", "jobs", "--command", "c", "--at", "2020-01-01").failed(REFUSED) == "zplan: the time is past\n"


# -- what show prints is what add takes

def test_a_plan_as_show_prints_it_is_added_again(fresh):
    rich = ["--command", "c", "--arg", "a", "--arg", "b", "--context", "ctx", "--every", "1h", "--retry", "fixed:1s:2,manual", "--misfire",
            "skip", "--run-timeout", "5m", "--group", "g", "--category", "cat", "--tenant", "7", "--ext", '{"a": 1}', "--on-failure", "note",
            "--title", "ti tle", "--jitter", "1s", "--overlap-policy", "skip", "--end", "2100-01-01"]
    fresh.zplan("add", "--target", "jobs", "--name", "rich", *rich).done()
    fresh.zplan("add", "--target", "jobs", "--name", "held", "--command", "c", "--cron", "0 2 * * *", "--timezone", "Europe/Berlin", "--hold").done()
    fresh.zplan("add", "--target", "jobs", "--command", "c", "--at", "2100-01-01").done()
    fresh.zplan("add", "--target", "jobs", "--command", "c", "--every", "10m", "--cycle", "1,3", "--iteration", "4").done()
    fresh.zplan("add", "--target", "news", "--publish-title", "pt", "--content", "hi", "--every", "1h").done()
    def shown():
        plans = [json.loads(line) for line in fresh.zplan("list", "--json").done().splitlines()]
        return {plan["id"]: json.loads(fresh.zplan("show", plan["id"], "--json").done()) for plan in plans}
    before = shown()
    assert len(before) == 5 and any("frames" in plan and "command" in plan for plan in before.values())
    fresh.zplan("remove", *before).done()
    text = "\n".join(json.dumps(plan) for plan in before.values()).encode()
    assert stdin_of(fresh, text, "add", "--from", "-").done() == "5 plans added\n"
    stays = ("id", "name", "target", "title", "spec", "command", "args", "frames", "state", "held")
    assert {ident: {name: plan.get(name) for name in stays} for ident, plan in shown().items()} == {
        ident: {name: plan.get(name) for name in stays} for ident, plan in before.items()}
    wrong = json.dumps({**next(iter(before.values())), "lsat": 1}).encode()
    assert "'lsat': unknown field" in stdin_of(fresh, wrong, "add", "--from", "-").err
