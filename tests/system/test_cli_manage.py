"""The command line at a station: what is done to plans, the history, the targets. The station is
played by the test (clitest.PlanStation). What does not need the test to meddle with it runs against
a real zpland too, with ZPLAN_CLI_REAL=1."""
import json
import os
import pty
import re
import subprocess
import time

import pytest

from clitest import (BIN, COMMAND, DONE, FAILED, NO_ANSWER, OK, PLAN, REFUSED, STATION_ID, STATES,
                     USAGE, WAIT, ZPLAN, Refusal, both, describe, objects, start, station, stored, wait_until)

assert both and station     # fixtures

NET_ERROR = 0x87


def state(where, ident):
    plan = json.loads(where.zplan("show", ident, "--json=wire").done())
    return STATES[plan["plan_state"]]


# -- what is done to plans

@pytest.mark.parametrize("verb, wire, done, shown", [
    ("pause", "pause", "paused", "paused"),
    ("disable", "pause", "paused", "paused"), ("resume", "reset", "resumed", "queued"),
    ("enable", "reset", "resumed", "queued"), ("reset", "reset", "reset", "queued")])
def test_what_is_done_already_is_a_success(both, verb, wire, done, shown):
    one = both.add()
    if shown == "queued":
        assert both.zplan(verb, one).done() == f"plan {one} already queued\n"
        both.zplan("pause", one).done()
        assert state(both, one) == "pause"
    assert both.zplan(verb, one).done() == f"plan {one} {done}\n"
    assert state(both, one) == {"paused": "pause", "queued": "queue"}[shown]
    assert both.zplan(verb, one).done() == f"plan {one} already {shown}\n"
    assert objects(both.zplan(verb, one, "--json")) == [{"id": one, "already": wire}]
    assert "no plan" in both.zplan(verb, "7777").failed(REFUSED)


def test_close_and_remove(both):
    one, two = both.add(), both.add()
    for _ in range(2):      # what is closed already is a success
        assert both.zplan("close", one, two).done() == f"plan {one} closed\nplan {two} closed\n"
    assert state(both, one) == "close"
    assert "state" in both.zplan("pause", one).failed(REFUSED)
    assert "state" in both.zplan("resume", one).failed(REFUSED)
    assert both.zplan("remove", one).done() == f"plan {one} removed\n"
    assert "no plan" in both.zplan("show", one).failed(REFUSED)
    assert state(both, two) == "close"


def test_skip(both):
    one = both.add(plan_type=5, plan_value=1, plan_repet=5)
    assert both.zplan("skip", one).done() == f"plan {one} skipped\n"
    assert both.zplan("skip", one, "--count", "3").done() == f"plan {one} skipped\n"
    told = both.zplan("skip", one, "--count", "5").failed(REFUSED)
    assert told.startswith(f"zplan: {one}: skip")


def test_for_programs_it_is_an_object_a_line(both):
    one, two = both.add("a"), both.add("b")
    ended = both.zplan("pause", one, "7777", two, "--json=wire")
    assert ended.code == REFUSED and ended.err.startswith("zplan: 7777: no plan")
    first, second, third = map(json.loads, ended.out.splitlines())
    assert (first["id"], first["done"]) == (one, "pause")
    assert (first["plan"]["description"], first["plan"]["plan_state"]) == ("a", 5)
    assert "messages" not in first["plan"] and isinstance(first["plan"]["revision"], int)
    assert set(second) == {"id", "refused"} and second["id"] == "7777"
    assert second["refused"].startswith("-no find")
    assert third["id"] == two
    assert (first["plan"]["id"], first["plan"]["state"]) == (one, "pause")
    both.zplan("close", one).done()
    assert objects(both.zplan("remove", one, "--json=wire")) == [{"id": one, "done": "remove"}]


def test_numbers_are_printed_whole(station):
    one = station.add(params={"sum": 0.1 + 0.2, "tenth": 0.1, "list": [1.5, 2.0, 1e300], "n": 3})
    shown = station.zplan("show", one, "--json=wire").done()
    assert '"params":{"sum":0.30000000000000004,"tenth":0.1,"list":[1.5,2.0,1e300],"n":3}' in shown


def test_the_id_that_is_printed_is_the_one_that_is_taken(both):
    """In decimal, as the wire has it, it would be another plan's."""
    idents = [both.add() for _ in range(20)]
    for plan in objects(both.zplan("list", "--json=wire")):
        assert list(plan)[0] == "id" and int(plan["id"], 16) == plan["plan_id"]
        shown, = objects(both.zplan("show", plan["id"], "--json=wire"))
        assert (shown["id"], shown["state"], shown["type"]) == (plan["id"], "queue", "time")
    listed = [plan["id"] for plan in objects(both.zplan("list", "--json=wire"))]
    assert sorted(listed) == sorted(idents)
    both.zplan("remove", *listed).done()
    assert both.zplan("list", "--json=wire").done() == ""


def test_a_refusal_does_not_spare_the_rest(both):
    one, two, three = (both.add() for _ in range(3))
    both.zplan("close", two).done()
    ended = both.zplan("pause", one, two, three)
    assert ended.code == REFUSED
    assert ended.out == f"plan {one} paused\nplan {three} paused\n"
    assert ended.err.startswith(f"zplan: {two}: plan_state") and ended.err.count("\n") == 1


def test_a_filter_selects_as_list_does(both):
    daily, other, weekly = both.add("report daily"), both.add("backup"), both.add("report weekly")
    both.zplan("pause", weekly).done()
    chosen = ["--station", "jobs", "--title", "report*", "--state", "queue", "--type", "time"]
    assert both.zplan("pause", *chosen).done() == f"plan {daily} paused\n1 paused\n"
    assert state(both, other) == "queue"
    ended = both.zplan("reset", "--state", "pause")
    *each, last = ended.done().splitlines()
    assert sorted(each) == sorted([f"plan {daily} reset", f"plan {weekly} reset"])
    assert last == "2 reset"


def test_what_is_already_as_wanted_is_no_refusal(both):
    one, two, three = both.add("a"), both.add("b"), both.add("c")
    both.zplan("pause", two).done()
    assert both.zplan("pause", two).done() == f"plan {two} already paused\n"     # it was named
    *each, last = both.zplan("pause", "--all").done().splitlines()
    assert sorted(each) == sorted(f"plan {ident} paused" for ident in (one, three))
    assert last == "2 paused, 1 already"
    assert both.zplan("pause", "--all").done() == "0 paused, 3 already\n"
    assert {(line["id"], line["already"]) for line in objects(both.zplan("pause", "--all", "--json=wire"))
            } == {(one, "pause"), (two, "pause"), (three, "pause")}
    both.zplan("reset", one).done()
    both.zplan("close", three).done()
    ended = both.zplan("reset", "--all")            # what has ended is not reset
    assert (ended.code, ended.out) == (REFUSED, f"plan {two} reset\n1 reset, 1 already, 1 refused\n")
    assert ended.err.startswith(f"zplan: {three}: plan_state") and ended.err.count("\n") == 1
    assert both.zplan("close", "--all", "--dry-run").done().count("would be closed") == 2
    assert both.zplan("close", "--all").done().endswith("\n2 closed, 1 already\n")


def test_what_somebody_else_has_removed_is_removed(station):
    one, two = station.add(), station.add()

    def gone(word, *args):
        if word == "remove" and args == (two,):
            del station.plans[int(two, 16)]
    station.before = gone
    assert station.zplan("remove", "--all").done() == f"plan {one} removed\n1 removed, 1 already\n"
    assert "no plan" in station.zplan("remove", one).failed(REFUSED)


def test_all_means_all(both):
    idents = {both.add() for _ in range(5)}
    *lines, last = both.zplan("close", "--all").done().splitlines()
    assert last == "5 closed"
    assert {line.split()[1] for line in lines} == idents
    lines = both.zplan("remove", "--all", "--json=wire").done().splitlines()
    assert {json.loads(line)["id"] for line in lines} == idents
    assert both.zplan("list", "--json=wire").done() == ""


def test_a_redis_that_is_away_is_told_once(station):
    for _ in range(50):
        station.add()

    def away(word, *_):
        if word == "remove" and len(station.plans) <= 40:
            raise Refusal(NET_ERROR, "-net error: Redis is not connected")
    station.before = away
    ended = station.zplan("remove", "--all")
    assert ended.code == REFUSED and len(station.plans) == 40
    assert ended.err.splitlines()[1:] == ["zplan: not tried after that: 39 more"]
    assert ended.err.startswith("zplan: 29: Redis is not connected")


def test_a_filter_that_nothing_fits(both):
    both.add()
    ended = both.zplan("remove", "--title", "nothing")
    assert (ended.code, ended.out, ended.err) == (DONE, "", "zplan: no plan matches\n")


@pytest.mark.parametrize("verb", ["remove", "close", "run", "list", "export"])
@pytest.mark.parametrize("option", ["--target", "--title", "--category", "--flow-run"])
def test_an_empty_filter_is_not_every_plan(station, verb, option):
    station.add()
    assert f"{option}: must not be empty" in station.zplan(verb, option, "").failed(USAGE)
    assert f"{option}: want UTF-8" in station.zplan(verb, option, b"M\xfcller").failed(USAGE)
    assert station.seen.empty() and len(station.plans) == 1


@pytest.mark.parametrize("option", ["--of-target", "--of-title"])
def test_an_empty_filter_of_update_is_not_every_plan(station, option):
    change = ("update", "--repeat", "2")
    assert f"{option}: must not be empty" in station.zplan(*change, option, "").failed(USAGE)
    assert f"{option}: want UTF-8" in station.zplan(*change, option, b"\xff").failed(USAGE)
    assert station.seen.empty()


def test_dry_run_tells_and_does_nothing(both):
    one, two = both.add("report \x1b[0m"), both.add("x")
    line = f'plan {one} would be closed: target jobs, queued, title "report \\x1b[0m"\n'
    assert both.zplan("close", "--title", "report*", "--dry-run").done() == line
    assert both.zplan("close", one, "--dry-run").done() == line
    for chosen in (["--all"], [one, two]):
        answers = objects(both.zplan("run", *chosen, "--dry-run", "--json=wire"))
        assert {(answer["id"], answer["would"]) for answer in answers} == {(one, "run"),
                                                                          (two, "run")}
        assert answers[0]["plan"]["station"] == "jobs" and "messages" not in answers[0]["plan"]
    assert "no plan" in both.zplan("close", "7777", "--dry-run").failed(REFUSED)
    assert state(both, one) == state(both, two) == "queue"


def test_each_verb_says_its_word(station):
    one = station.add(plan_repet=9, plan_type=5)
    for verb, args in [("pause", [one]), ("reset", [one]), ("skip", [one, "4"]), ("run", [one]),
                       ("close", [one]), ("remove", [one])]:
        station.zplan(verb, "1F", *(["--count=4"] if verb == "skip" else [])).done()
        assert station.requests(verb) == [args]


def test_a_filter_walks_all_pages_first(station):
    """What is done to a plan may move the pages: nothing is done before the last one."""
    idents = [station.add(str(n)) for n in range(7)]
    station.looked_at = 2
    words = []
    station.before = lambda word, *args: words.append(word)
    station.zplan("pause", "--state", "queue").done()
    assert words == ["list"] * 4 + ["pause"] * 7
    assert [args[0] for args in station.requests("pause")] == idents


def test_nothing_is_done_when_a_page_is_refused(station):
    station.looked_at = 1
    for _ in range(3):
        station.add()

    def before(word, *args):
        if word == "list" and "after" in args[0]:
            raise Refusal(0x87, "-net error: Redis is away")
    station.before = before
    told = station.zplan("remove", "--all").failed(REFUSED)
    assert told == "zplan: Redis is away\n" and len(station.plans) == 3


def test_a_silent_station_ends_it(station):
    one, two, three = (station.add() for _ in range(3))
    station.silent = lambda word, *args: args[:1] == (two,)
    ended = station.zplan("pause", one, two, three, "--timeout", "3000")
    assert (ended.code, ended.out) == (NO_ANSWER, f"plan {one} paused\n")
    assert f"it is not known whether plan {two} was paused\n" in ended.err
    assert "not tried after that: 1 more\n" in ended.err
    assert [args for args in station.requests("pause")] == [[one], [two]]


def test_progress_is_told_on_a_terminal_when_it_takes_long(station):
    for _ in range(4):
        station.add()
    station.before = lambda word, *args: time.sleep(0.7)
    leader, follower = pty.openpty()
    process = subprocess.run([ZPLAN, "--connect", station.endpoint, "pause", "--all"],
                             stdout=subprocess.PIPE, stderr=follower, stdin=subprocess.DEVNULL,
                             env={**os.environ, "TERM": "xterm"}, timeout=WAIT, check=False)
    os.close(follower)
    told = b""
    while chunk := read_terminal(leader):
        told += chunk
    os.close(leader)
    assert process.returncode == DONE and process.stdout.count(b"paused\n") == 5
    assert re.search(rb"\rpause: [34] of 4 plans \[#+-*\] \d+ %\x1b\[K", told) and told.endswith(b"\r\x1b[K"), told


def read_terminal(leader):
    try:
        return os.read(leader, 1000)
    except OSError:     # the other end is closed
        return b""


def test_no_progress_where_nobody_looks(station):
    for _ in range(4):
        station.add()
    station.before = lambda word, *args: time.sleep(0.7)
    station.zplan("pause", "--all").done()


# -- update

def test_update_changes_what_is_given(both):
    one = both.add("old", no_keep=True)
    assert both.zplan("update", one, "--title", "new").done() == f"plan {one} updated\n"
    answer, = objects(both.zplan("update", one, "--every", "2h", "--repeat", "9", "--json=wire"))
    plan = answer["plan"]
    assert (answer["id"], answer["done"]) == (one, "update")
    assert [plan[field] for field in ("description", "plan_type", "plan_value", "plan_repet",
                                      "no_keep")] == ["new", 4, 2, 9, False]
    answer, = objects(both.zplan("update", one, "--keep", "--json=wire"))
    assert answer["plan"]["no_keep"] is True and answer["plan"]["plan_repet"] == 9
    answer, = objects(both.zplan("update", one, "--no-keep", "--json=wire"))
    assert answer["plan"]["no_keep"] is False and answer["plan"]["plan_repet"] == 9


def test_update_changes_the_frames(both):
    one = both.add()
    both.zplan("update", one, "--command", "sweep", "--arg", "a", "--arg=--b").done()
    assert "\ncommand        sweep a --b\n" in both.zplan("show", one).done()


def test_update_of_several(both):
    one, two = both.add(), both.add()
    ended = both.zplan("update", one, "7777", two, "--title", "both")
    assert ended.code == REFUSED and ended.err.startswith("zplan: 7777: no plan")
    assert ended.out == f"plan {one} updated\nplan {two} updated\n"


@pytest.mark.parametrize("stored, args, fields", [
    ({}, ["--title", "t"], {"description": "t"}),
    ({}, ["--every", "10m"], {"plan_type": 3, "plan_value": 10, "plan_time": 0, "plan_repet": -1,
                                  "no_keep": False}),
    ({}, ["--in", "0s", "--no-keep"], {"plan_type": 1, "plan_value": 0, "no_keep": False}),
    ({"plan_type": 5, "plan_repet": 4}, ["--weekly", "mon"],
     {"plan_type": 6, "plan_value": 1, "plan_time": 1705276800, "timezone": "UTC"}),
    ({"plan_type": 5, "plan_repet": 4}, ["--at", "2100-01-01"],
     {"plan_type": 1, "plan_value": 0, "plan_time": 4102444800, "plan_repet": 1}),
    ({"plan_type": 5, "plan_value": 1}, ["--repeat", "forever"], {"plan_repet": -1}),
    ({"plan_type": 5, "plan_value": 1}, ["--repeat", "7", "--skip", "2"],
     {"plan_repet": 7, "skip_set": 2}),
    ({"plan_type": 5, "plan_value": 1}, ["--keep"], {"no_keep": True}),
    ({"misfire": "latest"}, ["--misfire", "-", "--keep"], {"misfire": None, "no_keep": True}),
    ({"misfire": "latest"}, ["--misfire", "-"], {"misfire": None}),
    ({"plan_type": 5, "plan_value": 1, "iteration": 3}, ["--iteration", "-", "--repeat", "5"],
     {"iteration": None, "plan_repet": 5}),
    ({}, ["--vote", "any"], {"vote": {"rule": "any"}}),
    ({"vote": {"rule": 2, "deadline": 9}}, ["--vote", "3"], {"vote": {"rule": 3, "deadline": 9}}),
    ({"vote": {"rule": 2}}, ["--vote-deadline", "5"], {"vote": {"rule": 2, "deadline": 5}}),
])
def test_update_sends_what_is_given_and_the_revision(station, stored, args, fields):
    one = station.add(**stored)
    station.zplan("update", one, *args).done()
    (ident, text), = station.requests("update")
    sent = json.loads(text)
    assert ident == one and sent.pop("revision") == 7
    if "--in" in args:
        assert abs(sent.pop("plan_time") - time.time()) < WAIT
    assert sent == fields


def test_update_keeps_every_frame_in_its_place(station):
    one = station.add()
    station.zplan("update", one, "--arg", "new", "--context", "{}").done()
    messages = json.loads(station.requests("update")[0][1])["messages"]
    description = describe(2, PLAN, STATION_ID, COMMAND, ord("%"), BIN, ord("#"))
    assert messages == [f"*{one}", stored(description), '{"description": "later"}', "jobs", "do",
                        "new", {"b64": "/w=="}, "{}"]


@pytest.mark.parametrize("messages, told", [
    (["*1f", "x", "{}", "jobs", "do"], "its stored description is broken"),
    ([], "its stored messages are broken"),
    (["*1f", stored(describe(2, *[BIN] * 32)), *["x"] * 32], "more than 32 frames"),
])
def test_update_of_frames_that_cannot_be_changed(station, messages, told):
    one = station.add(messages=messages)
    assert told in station.zplan("update", one, "--arg", "a").failed(REFUSED)
    assert station.requests("update") == []


def test_update_that_comes_too_late_is_told(station):
    one = station.add()

    def before(word, *_):
        if word == "update":
            station.changed(station.plan(one))
    station.before = before
    ended = station.zplan("update", one, "--title", "t", "--json=wire")
    assert ended.code == REFUSED
    assert ended.err == f"zplan: {one}: revision: the plan was changed\n"
    assert json.loads(ended.out) == {"id": one,
                                     "refused": "-argument: revision: the plan was changed"}
    assert station.plan(one)["description"] == "later"


def test_update_against_the_stored_kind(station):
    one = station.add()
    assert station.zplan("update", one, "--skip", "2").failed(REFUSED).startswith(f"zplan: {one}: --skip: ")
    del station.plans[int(one, 16)]["revision"]
    assert "no revision" in station.zplan("update", one, "--title", "t").failed(REFUSED)


# -- history

def test_history(both):
    both.outcome("first")
    both.outcome("report \x1b[0m", FAILED)
    heading, one, two = both.zplan("history").done().splitlines()
    assert heading.split() == ["PLAN", "RUN", "TARGET", "PLANNED", "STARTED", "TOOK", "OUTCOME", "REASON"]
    assert re.fullmatch(r"first +1 +jobs +\S+Z +\S+Z +\d+\.\d{3} s +ok +", one)
    assert re.fullmatch(r"report \\x1b\[0m +2 +jobs +\S+Z +\S+Z +\S+ s +failed +.*", two)
    runs = objects(both.zplan("history", "--json=wire"))
    assert [(run["seq"], run["title"], run["status"]) for run in runs] == [
        (1, "first", OK), (2, "report \x1b[0m", FAILED)]
    assert all(list(run)[0] == "id" and run["id"] == run["plan"] for run in runs)
    epoch, = {run["epoch"] for run in runs}
    assert epoch == json.loads(both.zplan("stats", "--json=wire").done())["epoch"]


@pytest.mark.parametrize("output", [[], ["--json=wire"]])
def test_history_of_no_plan(both, output):
    """It neither exists nor has run. One that exists, or did run, is no error."""
    told = "zplan: 999: no such plan, and no run of it in the history\n"
    for more in ([], ["--newest"], ["--state", "failed"], ["--station", "jobs"]):
        assert both.zplan("history", "999", *output, *more).failed(REFUSED) == told
    waits = both.add("later")
    heading = "" if output else "RUN"       # without PLAN: it is one
    assert both.zplan("history", waits, *output).done().startswith(heading)
    both.outcome("gone")
    ran = json.loads(both.zplan("history", "--json=wire").done())["id"]
    only = '"gone"' if output else " ok "
    assert only in both.zplan("history", ran, *output).done()
    for more in (["--state", "failed"], ["--station", "nobody"], ["--since", "1"]):
        assert only not in both.zplan("history", ran, *output, *more).done()
    ended = both.zplan("history", "999", ran, *output)
    assert (ended.code, ended.err) == (REFUSED, told) and "gone" in ended.out


def test_history_newest_and_since_and_count(both):
    for title in "abcd":
        both.outcome(title)
    def titles(*args):
        return [run["title"] for run in objects(both.zplan("history", "--json=wire", *args))]
    assert titles("--newest", "-n", "2") == ["d", "c"]
    assert titles("--since", "2") == ["c", "d"]
    assert titles("--since", "0", "-n", "3") == ["a", "b", "c"]
    assert titles("--since", "4") == []
    nobody = both.zplan("history", "--json=wire", "--station", "nobody")
    assert (nobody.code, nobody.out, nobody.err) == (DONE, "", "zplan: no target 'nobody'\n")
    ended = both.zplan("history", "--json=wire", "--since", "3", "--epoch", "other")
    assert [json.loads(line)["title"] for line in ended.out.splitlines()] == ["a", "b", "c", "d"]
    assert "restarted its numbering of results" in ended.err


def test_history_row(station):
    """What a plan is called: its name, its title, its id."""
    station.outcome("t", FAILED, reason="-failed: disk\x1b")
    station.unpublished("")
    station.runs[1].update(ended=None, fired=1700000000, entry="1-1")
    station.unpublished("u")
    station.runs[2].update(key="nightly", status=0x86, reason="")
    at = "2023-11-14T22:13:20Z 2023-11-14T22:13:20Z"
    assert station.zplan("history").done().splitlines()[1:] == [
        f"t                1        jobs         {at} 1.250 s     failed    disk\\x1b",
        f"1f               1-1      jobs         {at} -           failed    disk\\x1b",
        f"nightly          1-1      jobs         {at} -           timed out "]


@pytest.mark.parametrize("status, reason, output, wanted", [
    (FAILED, "", {"head": "one\ntwo\n\n"}, "two"),
    (FAILED, "-failed", {"head": "one\n", "tail": "x\nlast"}, "last"),
    (FAILED, "exit 1", {"head": "Traceback\nKeyError: 5"}, "exit 1: KeyError: 5"),
    (FAILED, "exit 1: no disk", {"head": "no disk\n"}, "exit 1: no disk"),
    (FAILED, "Traceback\n  File", {"head": "Traceback\n  File x\nKeyError: 5"}, "KeyError: 5"),
    (FAILED, "of two\nlines\n", None, "lines"),
    (FAILED, "exit 1", {"head": {"b64": "/w=="}}, "exit 1"),
    (FAILED, {"b64": "/w=="}, None, r"\xff"),
    (OK, "", {"head": "213 files\n"}, ""), (FAILED, "", None, "")])
def test_the_reason_has_the_last_line_of_an_error(station, status, reason, output, wanted):
    station.outcome("t", status, reason=reason)
    if output:
        station.runs[0]["output"] = {"size": 9, **output}
    for more in ([], ["--since", "20000d"]):
        heading, line = station.zplan("history", *more).done().splitlines()
        assert line[heading.index("REASON"):] == wanted


def test_history_with_what_runs_wrote(station):
    station.outcome("t", FAILED, reason="exit 1")
    station.runs[0]["output"] = {"size": 9, "head": "one\ntwo\n"}
    station.outcome("u")
    assert station.zplan("history", "--output").done() == (
        "== run 1, t, 2023-11-14T22:13:21Z, failed, took 1.250 s: exit 1\none\ntwo\n"
        "== run 2, u, 2023-11-14T22:13:21Z, ok, took 1.250 s\n(no output is kept)\n")
    station.requests("history")
    for args, asked in ((["--json"], False), (["--json", "--output"], True), ([], True)):
        station.zplan("history", *args).done()
        assert all(json.loads(text).get("output", False) == asked for text, in station.requests("history"))
    runs = objects(station.zplan("history", "--output", "--since", "20000d", "--json"))
    assert [run.get("output") for run in runs] == [{"size": 9, "head": "one\ntwo\n"}, None]


def test_history_of_plans_turns_all_pages(station):
    for n in range(12):
        station.outcome(str(n), plan=0x20 + n % 3)
    station.looked_at = 2
    titles = [run["title"] for run in objects(station.zplan("history", "--json=wire"))]
    assert titles == [str(n) for n in range(12)]
    titles = [run["title"] for run in objects(station.zplan("history", "21", "20", "--json=wire"))]
    assert titles == ["1", "4", "7", "10", "0", "3", "6", "9"]
    newest = station.zplan("history", "21", "20", "-n", "1", "--newest", "--json=wire")
    titles = [run["title"] for run in objects(newest)]
    assert titles == ["10", "9"]


def test_history_that_is_gone_is_told(station):
    for n in range(9):
        station.outcome(str(n))
    station.forget(5)
    ended = station.zplan("history", "--since", "3", "--json=wire")
    assert (ended.code, len(ended.out.splitlines())) == (DONE, 4)
    assert ended.err == "zplan: outcomes after 3 are gone: the first one kept is 6\n"
    assert len(station.zplan("history", "--since", "5", "--json=wire").done().splitlines()) == 4


# -- the station

def test_station_words(both):
    heading, row, *_ = both.zplan("target").done().splitlines()
    assert heading.split() == ["NAME", "TYPE", "ENDPOINT", "DIALECT", "MAILBOX", "ORIGIN", "STATE",
                               "UNANSWERED"]
    assert row.split()[:2] == ["jobs", "api"] and "settings" in row
    spec = "extra=pub@tcp://127.0.0.1:7999"
    assert both.zplan("station", "add", spec).done() == "target extra added\n"
    stations = {one["name"]: one for one in objects(both.zplan("target", "list", "--json=wire"))}
    assert (stations["extra"]["origin"], stations["jobs"]["origin"]) == ("added", "settings")
    ended = both.zplan("station", "remove", "extra", "jobs", "--json=wire")
    assert ended.code == REFUSED and ended.err.startswith("zplan: 'jobs': target: ")
    one, two = map(json.loads, ended.out.splitlines())
    assert one == {"station": "extra", "done": "remove"}
    assert two["station"] == "jobs" and two["refused"].startswith("-argument")


def test_targets_of_standard_input(both):
    lines = f"\none=pull\ntwo=api@{both.endpoint},key=hush-hush,concurrency=2\n"
    read, write = os.pipe()
    os.write(write, lines.encode())
    os.close(write)
    assert both.zplan("target", "add", "-", stdin=read).done() == "target one added\ntarget two added\n"
    os.close(read)
    assert "hush" not in both.zplan("target", "list", "--json=wire").done()
    both.zplan("target", "remove", "one", "two").done()
    folder = os.open("/", os.O_RDONLY)
    ended = both.zplan("target", "add", "-", stdin=folder)
    os.close(folder)
    assert ended.code == REFUSED and ended.err.startswith("zplan: stdin: ")


def test_a_key_leaves_the_command_line():
    """While the station is waited for; a key of each target."""
    specs = [f"{name}=api@tcp://127.0.0.1:1,key=hush-hush,kind=k" for name in ("one", "two")]
    process = start("--connect", "tcp://127.0.0.1:1", "--timeout", "60s", "target", "add", *specs)
    try:
        def shown():
            with open(f"/proc/{process.pid}/cmdline", "rb") as line:
                return line.read()
        wait_until(lambda: b",key=*********,kind=k\0two=api@tcp://127.0.0.1:1,key=*********,kind=k\0" in shown(), "they are written over")
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_station_add_shows_no_key(station):
    station.zplan("station", "add", "extra=api@tcp://127.0.0.1:7999,key=secret").done()
    ended = station.zplan("station", "add", "extra=api@tcp://127.0.0.1:7999,key=secret", "--json=wire")
    assert ended.code == REFUSED and "secret" not in ended.out + ended.err


def test_stats(station):
    station.add()
    rows = [line.split() for line in station.zplan("stats").done().splitlines()]
    assert rows == [["plans", "1"], ["queued", "1"], ["running", "0"], ["due_in_ms", "null"],
                    ["uptime_s", "61"], ["version", "0.1.0"], ["counters"], ["runs", "3"],
                    ["late", "0"], ["seq", "0"], ["epoch", "e1"]]
    assert json.loads(station.zplan("stats", "--json=wire").done()) == station.do_stats()


def test_stats_of_any_station(both):
    both.add()
    answer = json.loads(both.zplan("stats", "--json=wire").done())
    assert answer["plans"] == 1 and isinstance(answer["counters"], dict)
    names = {line.split()[0] for line in both.zplan("stats").done().splitlines()}
    assert (set(answer) | set(answer["counters"])) - {"histograms"} == names


def test_next_of_a_stored_plan(both):
    one = both.add(plan_type=3, plan_value=1, plan_repet=3, plan_time=4102444800)
    lines = both.zplan("next", one, "-n", "2").done().splitlines()
    assert len(lines) == 2 and all(re.fullmatch(r"2100-01-01T00:0\d:00Z", line) for line in lines)
    assert json.loads(both.zplan("next", one, "--json=wire", "-n", "2").done()) == lines
    assert len(both.zplan("next", one).done().splitlines()) == 3
    assert "no plan" in both.zplan("next", "7777").failed(REFUSED)


def test_next_of_a_plan_that_never_runs(station):
    one = station.add(plan_repet=0)
    assert station.zplan("next", one).done() == "never\n"
    assert json.loads(station.zplan("next", one, "--json=wire").done()) == []
    assert station.requests("next") == [[one, "10"]] * 2


# -- update of those that a filter selects

def test_update_of_selected_plans(both):
    one, two, other = (both.add(title) for title in ("report a", "report b", "sweep"))
    ended = both.zplan("update", "--of-title", "report*", "--title", "both", "--dry-run")
    assert [line.split()[1] for line in ended.done().splitlines()] == sorted([one, two])
    assert all("would be updated" in line for line in ended.out.splitlines())
    both.zplan("update", "--of-title", "report*", "--title", "both").done()
    shown = [json.loads(both.zplan("show", ident, "--json=wire").done()) for ident in (one, two, other)]
    assert [plan["description"] for plan in shown] == ["both", "both", "sweep"]


@pytest.mark.parametrize("args", [("--title", "x"), ("1f", "--of-state", "queue", "--title", "x"),
                                  ("--all", "--of-target", "jobs", "--title", "x")])
def test_update_wants_plans_named_in_one_way(station, args):
    ended = station.zplan("update", *args)
    assert ended.code == USAGE and ("--of-target" in ended.err or "one or the other" in ended.err)
