"""The command line without a station: usage, help, the preview, and a station played by the test
that sees every byte of a request and answers as the row says."""
import json
import re

import pytest
import zmq

from clitest import (ARG, COMMAND, CONTENT, CONTEXT, GLOBAL_ID, JSON, NO_ANSWER, PLAN, PLAN_TIME, PUB_TITLE,
                     REFUSED, REQUEST_ID, STATION_ID, STATUS, USAGE, WAIT, FakeStation,
                     always, describe, named, reply, zplan)

ACTS = ["pause", "resume", "reset", "skip", "run", "cancel", "done", "close", "remove"]


# -- usage

@pytest.mark.parametrize("args, told", [
    ([], "want a command"),
    (["frob"], "unknown command 'frob'"),
    (["--frob"], "unknown option '--frob'"),
    (["--timeout", "0", "ping"], "--timeout: want milliseconds, or a duration as 5s, 1..2147483647"),
    (["ping", "--timeout", "x"], "--timeout: want milliseconds"),
    (["ping", "--timeout"], "--timeout: requires a value"),
    (["--json=1", "ping"], "--json: want names or wire, got '1'"),
    (["ping", "--frob"], "unknown option '--frob'"),
    (["ping", "\x1b[31m"], r"unexpected argument '\x1b[31m'"),
    (["--connect", "nowhere", "ping"], "--connect: want tcp://HOST:PORT or ipc://PATH"),
    (["--connect", "tcp://127.0.0.1:99999", "ping"], "--connect"),
    (["--publish", "nowhere", "watch"], "--publish: want tcp://HOST:PORT or ipc://PATH"),
    (["list", "--state", "gone"], "--state: want queued, running"),
    (["list", "--type", "never"], "--type: want none, time"),
    (["list", "--limit", "0"], "--limit: want a number 1.."),
    (["list", "--title", b"\xff"], "--title: want UTF-8"),
    (["show"], "want one plan, by id or name"),
    (["show", "1", "2"], "want one plan, by id or name"),
    (["show", ""], "'': want a plan id in hex, or a name of 1 to 256 bytes"),
    *(([verb], "--all means every plan") for verb in ACTS),
    (["remove", "1", "key:"], "'key:': want a plan id"),
    (["pause", "--all", "1"], "plan ids and --all: want one or the other"),
    (["pause", "1", "--target", "jobs"], "plan ids and --target: want one or the other"),
    (["pause", "--all", "--title", "x*"], "--all and --title: want one or the other"),
    (["pause", "--dry-run"], "--all means every plan"),
    *(([verb, "--target", "a", "--target", "b"], "--target: want only one, got 'a' as well") for verb in ("list", "pause", "remove")),
    (["export", "--state", "paused", "--state", "queued"], "--state: want only one, got 'paused' as well"),
    (["update", "--of-target", "a", "--of-target", "b", "--repeat", "2"], "--of-target: want only one, got 'a' as well"),
    (["update", "1", "--repeat", "0"], "--repeat: want forever, -1 or 1..2147483647, got '0'"),
    (["update", "1", "--repeat", "foo"], "--repeat: want forever"),
    (["update", "1", "--skip", "-1"], "--skip: want 0..2147483647, got '-1'"),
    (["update", "1", "--name", "other"], "unknown option '--name'"),
    (["pause", "--state", "gone"], "--state: want queued, running"),
    (["pause", "1", "--count", "2"], "unknown option '--count'"),
    (["skip", "1", "--count", "0"], "--count: want a number 1..2147483647"),
    (["skip", "--count", "2"], "--all means every plan"),
    (["cancel", "1", "x" * 400, "--reason", "x"], "...': want a plan id"),
    (["cancel", "--reason", "x"], "--all means every plan"),
    (["cancel", "1", "--station=jobs"], "plan ids and --target: want one or the other"),
    (["done", "--remark", "x"], "--all means every plan"),
    (["reset", "--dead", "--verdict", "pending"], "--dead and --verdict: want only one"),
    (["list", "--verdict", "dead"], "--verdict: want failure, pending, manual or cancelled"),
    (["cancle", "1"], "unknown command 'cancle'; did you mean cancel?"),
    (["list", "--daed"], "did you mean --dead?"),
    (["update", "--title", "t"], "want plan ids, or a filter (--of-target"),
    (["update", "1"], "want something to change"),
    (["update", "1", "--timezone", "UTC"], "want something to change"),
    (["update", "", "--title", "t"], "'': want a plan id"),
    (["update", "1", "--title", b"\xff"], "--title: want UTF-8"),
    (["update", "1", "--keep", "--no-keep"], "--keep and --no-keep: want one"),
    (["update", "1", "--every", "5s", "--repeat", "0"], "--repeat: want forever"),
    (["update", "1", "--every", "5"], "--every: want a duration"),
    (["update", "1", "--start", "soon"], "--start: want an instant"),
    (["update", "1", "--retry", "fixed"], "--retry: want none, forever, fixed:30s:5"),
    (["update", "1", "--cron", "0 25 * * *"], "--cron: column 3: want 0..23, got 25"),
    (["update", "1", "--timezone", "UTC", "--wall-clock", "--no-wall-clock"],
     "--wall-clock and --no-wall-clock: want one"),
    (["update", "1", "--vote", "most"], "--vote: want all, any, majority or a number"),
    (["update", "1", "--station", "s"], "unknown option '--station'"),
    (["update", "1", "--id", "2"], "unknown option '--id'"),
    (["update", "1", "--now"], "unknown option '--now'"),
    (["history", "", "--archive", "."], "'': want a plan id in hex, or a name"),
    (["history", "--since", "-1"], "--since: want a duration as 12h"),
    (["history", "--epoch", "e"], "--epoch: goes with --since only"),
    (["history", "-n", "0"], "-n: want a number 1.."),
    (["history", "--station", b"\xff"], "--station: want UTF-8"),
    (["history", b"--target=\xff"], "--target: want UTF-8"),
    (["station", "drop"], "want list, add or remove, got 'drop'"),
    (["station", "list", "jobs"], "list: unexpected argument"),
    (["station", "add"], "add: want at least one target"),
    (["station", "remove"], "remove: want at least one target"),
    (["stats", "now"], "unexpected argument 'now'"),
    (["watch", "-n", "0"], "-n: want a number 1.."),
    (["watch", "a", "b"], "want at most one title"),
    (["watch", "--since", "x"], "--since: want a number 0.."),
    (["watch", "--epoch", "e"], "--epoch: goes with --since only"),
    (["watch", "--since", "1", "--epoch", b"\xff"], "--epoch: want UTF-8"),
    (["add", "--station", "s", "--command", "c", "--vote", "0"], "--vote: want all, any, majority"),
    (["add", "--station", "s", "--command", "c", "--vote-deadline", "31536001"],
     "--vote-deadline: want seconds, or a duration as 5m, 1..31536000"),
    (["next", "1", "2"], "want at most one plan"),
    (["next", "key:"], "'key:': want a plan id"),
    (["update", "1", "--repeat", "5", "--iteration", "3"], "--repeat and --iteration: want one or the other"),
    (["update", "1", "--keep", "--misfire", "latest"], "--keep and --misfire: want one or the other"),
    (["next", "1", "--every", "5s"], "a plan id and --every: want one or the other"),
    (["next", "1", "--now", "2030-01-01"], "a plan id and --now: want one or the other"),
    (["next", "1", "--title", "t"], "a plan id and --title: want one or the other"),
    (["next", "1", "-n", "1001"], "-n: want a number 1..1000 for a stored plan"),
    (["add"], "--command: must be given"),
    (["add", "--station", "s"], "--command: must be given"),
    (["add", "--station", "--command"], "--station: requires a value, NAME"),
    (["add", "--target", "--command"], "--target: requires a value, NAME"),
    (["add", "--station", "s", "--command", "c", "--id", "8000000000000000"], "--id: "),
    (["add", "--station", "s", "--command", "c", "--id", "0"], "--id: "),
    (["add", "--station", "s", "--command", "c", "--in", "5"], "--in: want a duration"),
    (["add", "--station", "s", "--command", "c", "--in", "5s", "--now"],
     "--now and --in: want one kind"),
    (["add", "--station", "s", "--command", "c", "--repeat", "2"], "--repeat: goes with"),
    (["add", "--station", "s", "--command", "c", "--timezone", "Mars/Base"], "Mars/Base"),
    (["add", "--station", "s", "--command", "c", "--title", b"\xff"], "--title: want UTF-8"),
    (["add", "--station", "s", "--command", "c", "--name", b"\xff"], "--name: want UTF-8"),
    (["add", "--station", "s", "--command", "c", "--on-failure", "x", "--on-failure-target", b"\xff"],
     "--on-failure-target: want UTF-8"),
    (["add", "--station", "s", "--command", "c", "--callback", "http://x/", "--secret", b"\xff"],
     "--secret: want UTF-8"),
    (["add", "--flow", "etl", "--param", b"region=M\xfcnchen"], "--param: want UTF-8"),
    (["flow", "start", "etl", "--param", b"x=\xff"], "--param: want UTF-8"),
    (["logs", b"\xff"], "want a plan id in hex, or a name"),
    (["history", b"\xff"], "want a plan id in hex, or a name"),
    (["history", "--flow-run", b"\xff"], "--flow-run: want UTF-8"),
    (["archive", "/tmp", "--plan", b"\xff"], "want a plan id in hex, or a name"),
    (["next"], "want a kind of time: --in, --at, --every, --daily, --weekly, --monthly,"),
    (["next", "--cron", "30 8 * *"], "--cron: column 1: want 5 or 6 fields, got 4"),
    (["next", "--cron", "30 8 * * MON", "--cron", "0 0 30 2 *"], "--cron 2: can never match"),
    (["next", "--cron", b"\xff"], "--cron: want UTF-8"),
    (["next", "--type", "cron"], "--cron: must be given for type cron"),
    (["next", "--cron", "@daily", "--weekly", "mon"], "--weekly and --cron: want one kind"),
    (["next", "--cron", "@daily", "--end", "soon"], "--end: want an instant"),
    (["next", "--in", "5s", "--end", "2030-01-01"], "--end: goes with --every, --daily, --weekly"),
    (["next", "--every", "5s", "--gap", "last"], "--gap: want shift or skip"),
    (["next", "--every", "5s", "--cycle", "1,0"], "--cycle: want durations 1..32766"),
    (["next", "1", "--jitter", "5s"], "a plan id and --jitter: want one or the other"),
    (["add", "--station", "s", "--command", "c", "--cron", "1 2 3"], "--cron: column 1"),
    (["add", "--station", "s", "--command", "c", "--run-timeout", "x"],
     "--run-timeout: want a duration"),
    (["add", "--station", "s", "--command", "c", "--rety", "none"], "did you mean --retry?"),
    (["next", "--every", "5s", "--now", "soon"], "--now: want an instant"),
    (["add", "--station", "s", "--command", "c", "--at", "25:00"], "--at: want a time as 18:00, 'tomorrow 8:00', 2026-12-24T18:00"),
    (["add", "--station", "s", "--command", "c", "--if-exists", "update"], "--if-exists: goes with --name only"),
    (["add", "--station", "s", "--command", "c", "--name", ""], "--name: want a string of 1..256 bytes"),
    (["update", "1", "--kind", "k"], "unknown option '--kind'"),
    (["update", "1", "--if-exists", "keep"], "unknown option '--if-exists'"),
    (["limit", "set", "jobs", "--rate", "-1"], "--rate: want starts per second, 0.000001..1000000, got '-1'"),
    (["limit", "set", "jobs", "--burst", "x"], "--burst: want a number 1..1000000, got 'x'"),
    (["next", "--every", "5s", "-n", "0"], "-n: want a number"),
    (["next", "--type", "never"], "--type: plan_type"),
    (["next", "--type", "second", "--value", "40000"],
     "--value: want 0..32766 for type second, got '40000'"),
    (["next", "--type", "month", "--value", "32"], "--value: want -31..31"),
    (["next", "--type", "week", "--value", "8"], "--value: want 0..7"),
    (["next", "--type", "week", "--value", "1", "--repeat", "0"], "--repeat: want forever"),
    (["next", "--type", "time"], "--time: "),
    (["next", "--type", "time", "--time", "253402300800"], "--time: "),
    (["next", "--every", "5s", "--timezone", "../etc/passwd"], "timezone"),
])
def test_usage_error_names_option_and_rule(args, told):
    words = zplan(*args).failed(USAGE)
    assert told in words
    assert words.startswith("zplan") and "\nTry: zplan " in words


# -- the preview

@pytest.mark.parametrize("args, lines", [
    (["--type", "month", "--value", "-1", "--time", "2026-01-31T23:00:00Z", "--repeat", "5",
      "--now", "2026-01-01T00:00:00Z", "-n", "5"],
     ["2026-01-30T23:00:00Z", "2026-02-27T23:00:00Z", "2026-03-30T23:00:00Z",
      "2026-04-29T23:00:00Z", "2026-05-30T23:00:00Z"]),
    (["--type", "7", "--value", "31", "--now", "2026-01-31T00:00:00Z", "-n", "2"],
     ["2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"]),
    (["--type", "week", "--value", "7", "--time", "1769900400", "--now", "1769900400", "-n", "1"],
     ["2026-02-01T23:00:00Z"]),
    (["--type=second", "--value=0", "--now", "100", "-n", "3"],
     ["1970-01-01T00:01:40Z", "1970-01-01T00:01:41Z", "1970-01-01T00:01:42Z"]),
    (["--type", "none", "--now", "2026-01-01T00:00:00Z"], ["2026-01-01T00:00:00Z"]),
    (["--every", "90m", "--now", "2026-01-01T00:00:00Z", "--repeat", "2"],
     ["2026-01-01T01:30:00Z", "2026-01-01T03:00:00Z"]),
    (["--every", "1h", "--start", "2026-01-01T00:30", "--now", "2026-01-01T02:00:00Z",
      "--repeat", "4"], ["2026-01-01T02:30:00Z", "2026-01-01T03:30:00Z"]),     # --start itself is the first
    (["--every", "1h", "--start", "2026-01-01T00:30", "--now", "2026-01-01T02:00:00Z",
      "--repeat", "2", "--keep"], ["2026-01-01T00:30:00Z", "2026-01-01T01:30:00Z"]),
    (["--every", "1h", "--now", "2026-01-01T00:00:00Z", "--repeat", "3", "--skip", "2"],
     ["2026-01-01T03:00:00Z"]),
    (["--in", "90s", "--now", "2026-01-01T00:00:00Z"], ["2026-01-01T00:01:30Z"]),
    (["--at", "2026-12-24T18:00+01:00", "--now", "2026-01-01T00:00:00Z"],
     ["2026-12-24T17:00:00Z"]),
    (["--at", "2020-01-01", "--now", "2026-01-01T00:00:00Z"], ["never"]),
    (["--at", "2020-01-01", "--now", "2026-01-01T00:00:00Z", "--keep"], ["2020-01-01T00:00:00Z"]),
    (["--weekly", "mon@08:30", "--timezone", "Europe/Berlin", "--now", "2026-03-20T00:00:00Z",
      "-n", "2"], ["2026-03-23T07:30:00Z", "2026-03-30T06:30:00Z"]),
    (["--weekly", "sun", "--timezone", "Europe/Berlin", "--now", "2026-03-20", "-n", "1"],
     ["2026-03-21T23:00:00Z"]),
    (["--monthly", "0@23:00", "--now", "2026-02-01T00:00:00Z", "-n", "1"],
     ["2026-02-28T23:00:00Z"]),
    (["--type", "cron", "--cron", "30 8 * * MON", "--timezone", "Europe/Berlin", "--now",
      "2026-03-20", "-n", "2"], ["2026-03-23T07:30:00Z", "2026-03-30T06:30:00Z"]),
    (["--cron", "0 0 L * ?", "--cron", "0 12 1 * *", "--now", "2026-02-10", "-n", "3"],
     ["2026-02-28T00:00:00Z", "2026-03-01T12:00:00Z", "2026-03-31T00:00:00Z"]),
    (["--cron", "0 9 * * MON#2", "--start", "2027-01-01", "--end", "2027-03-01", "--now",
      "2026-01-01"], ["2027-01-11T09:00:00Z", "2027-02-08T09:00:00Z"]),
    (["--cron", "0 0 1 1 *", "--now", "2026-06-01", "--end", "2026-12-01"], ["never"]),
    (["--type", "day", "--value", "1", "--time", "2026-01-01", "--repeat", "5", "--keep", "--now", "2026-02-01",
      "--end", "2026-01-05"], ["never"]),       # no run starts behind the end, also no late one
    (["--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--now", "2026-03-28", "-n", "2"],
     ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"]),
    (["--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--now", "2026-03-28", "-n", "2",
      "--gap", "skip"], ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]),
    (["--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--now", "2026-10-24T12:00:00Z",
      "-n", "3", "--overlap", "both"],
     ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]),
    (["--every", "1h", "--cycle", "2,3,5", "--iteration", "2", "--now", "2026-01-01"],
     ["2026-01-01T02:00:00Z", "2026-01-01T05:00:00Z", "2026-01-01T10:00:00Z",
      "2026-01-01T12:00:00Z", "2026-01-01T15:00:00Z", "2026-01-01T20:00:00Z"]),
    (["--every", "1h", "--cycle", "2", "--iteration", "2", "--now", "2026-01-01"],
     ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z", "2026-01-01T03:00:00Z",
      "2026-01-01T04:00:00Z"]),
    (["--every", "1d", "--start", "2026-03-27T08:00", "--wall-clock", "--timezone",
      "Europe/Berlin", "--now", "2026-03-27", "-n", "2"],
     ["2026-03-27T07:00:00Z", "2026-03-28T07:00:00Z"]),
    (["--daily", "2:30", "--timezone", "Europe/Berlin", "--now", "2026-03-28", "-n", "2"],
     ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"]),
    (["--daily", "8:00,18:00", "--now", "2026-01-01T09:00:00Z", "-n", "2"],
     ["2026-01-01T18:00:00Z", "2026-01-02T08:00:00Z"]),
    (["--weekly", "mon,fri@8:30", "--timezone", "Europe/Berlin", "--now", "2026-03-26", "-n", "2"],
     ["2026-03-27T07:30:00Z", "2026-03-30T06:30:00Z"]),
    (["--at", "tomorrow 8:00", "--timezone", "Europe/Berlin", "--now", "2026-03-28T12:00:00Z"],
     ["2026-03-29T06:00:00Z"]),
])
def test_next(args, lines):
    assert zplan("next", *args).done().splitlines() == lines
    wanted = [] if lines == ["never"] else lines
    assert json.loads(zplan("next", *args, "--json=wire").done()) == wanted


def test_next_prints_ten_unless_told():
    assert len(zplan("next", "--every", "1d").done().splitlines()) == 10


# -- a station played by the test

def tried(times):
    """The `retry` of what `zplan add` makes by default."""
    return {"retry": {"strategy": "exponential", "interval": 10, "max": times - 1}}


def seen_add(station):
    desc, plan, *frames = station.request()
    types = list(desc[2:-1])
    assert desc == describe(2, PLAN, *types[1:])
    return json.loads(plan), types[1:-1], frames[:-1]


def test_add_byte_for_byte():
    with always(2, (GLOBAL_ID, b"1f")) as station:
        ended = station.zplan("add", "--station", "mail", "--command", "send", "--arg", "a",
                              "--arg=--b", "--context", "{}", "--title", "Gr\u00fc\u00dfe",
                              "--id", "1F", "--type", "hour", "--value", "2", "--repeat", "3",
                              "--time", "2100-01-01T00:00:00Z", "--keep", "--skip", "1")
        assert ended.done() == ("plan 1f accepted, first run at 2100-01-01T04:00:00Z\n"
                                "retry: 3 tries, then the next occurrence\n")
        assert station.request() == [
            describe(2, PLAN, STATION_ID, GLOBAL_ID, COMMAND, ARG, ARG, CONTEXT, REQUEST_ID),
            '{"description":"Gr\u00fc\u00dfe","plan_type":4,"plan_value":2,"plan_repet":3,'
            '"no_keep":true,"plan_time":4102444800,"skip_set":1,'
            '"retry":{"strategy":"exponential","interval":10,"max":2}}'.encode(),
            b"mail", b"1f", b"send", b"a", b"--b", b"{}", b"plan-1f"]


def test_add_prints_the_first_time_that_the_station_says():
    with always(2, (GLOBAL_ID, b"1f"), (PLAN_TIME, b"4102462800")) as station:
        order = ["add", "--station", "mail", "--command", "send", "--weekly", "mon@08:30"]
        assert station.zplan(*order).done() == \
            ("plan 1f accepted, first run at 2100-01-01T05:00:00Z\n"
             "retry: 3 tries, then the next occurrence\n")
        assert json.loads(station.zplan(*order, "--json=wire").done())["first"] == "2100-01-01T05:00:00Z"


def test_the_value_of_an_option_is_no_call_for_help():
    with always(2, (GLOBAL_ID, b"1f")) as station:
        said = station.zplan("add", "--target", "jobs", "--command", "x", "--arg", "-h", "--now")
        assert said.done().startswith("plan 1f accepted") and b"-h" in station.request()
    assert zplan("add", "--arg", "x", "-h").done().startswith("Usage: ")
    assert zplan("skip", "--count", "x", "--help").done().startswith("Usage: ")


def test_add_to_a_pub_target():
    with always(2, (GLOBAL_ID, b"20")) as station:
        ended = station.zplan("add", "--station", "news", "--publish-title", "tick",
                              "--content", "hello", "--json=wire")
        assert json.loads(ended.done())["id"] == "20"
        plan, types, frames = seen_add(station)
        assert (types, frames) == ([STATION_ID, PUB_TITLE, CONTENT], [b"news", b"tick", b"hello"])
        assert plan == {"plan_type": 0, "plan_value": 0, "plan_repet": 1, "no_keep": False,
                        **tried(10)}


@pytest.mark.parametrize("args, plan", [
    (["--every", "10m"], {"plan_type": 3, "plan_value": 10, "plan_repet": -1, "no_keep": False}),
    (["--weekly", "mon@08:30", "--timezone", "Europe/Berlin", "--repeat", "4"],
     {"plan_type": 6, "plan_value": 1, "plan_repet": 4, "no_keep": False,
      "plan_time": 1705303800, "timezone": "Europe/Berlin"}),
    (["--every", "1d", "--timezone", "Asia/Tokyo"],
     {"plan_type": 5, "plan_value": 1, "plan_repet": -1, "no_keep": False, "timezone": "Asia/Tokyo"}),
    (["--monthly", "-1"], {"timezone": "UTC", "plan_type": 7, "plan_value": -1, "plan_repet": -1, "no_keep": False,
                           "plan_time": 1705276800}),
    (["--at", "2100-01-01"], {"plan_type": 1, "plan_value": 0, "plan_repet": 1, "no_keep": False,
                              "plan_time": 4102444800}),
    (["--now"], {"plan_type": 0, "plan_value": 0, "plan_repet": 1, "no_keep": False}),
    (["--cron", "30 8 * * MON", "--timezone", "Europe/Berlin", "--end", "2100-01-01T00:00Z"],
     {"plan_type": 8, "plan_repet": -1, "no_keep": False, "cron": "30 8 * * MON",
      "timezone": "Europe/Berlin", "end_time": 4102444800}),
    (["--weekly", "mon@08:30", "--timezone", "Europe/Berlin", "--wall-clock", "--misfire", "all"],
     {"plan_type": 6, "plan_value": 1, "plan_repet": -1, "plan_time": 1705303800,
      "timezone": "Europe/Berlin", "misfire": "all"}),
    (["--every", "10m", "--cycle", "1,3", "--iteration", "2", "--misfire", "2",
      "--misfire-window", "1h30m", "--jitter", "30s", "--overlap-policy", "queue",
      "--retry", "exponential:1s:8,jitter=2s,manual", "--run-timeout", "5m", "--log", "trigger"],
     {"plan_type": 3, "cycle": [10, 30], "iteration": 2, "misfire": 2, "misfire_window": 5400,
      "jitter": 30, "overlap_policy": "queue", "timeout": 300, "log": "trigger",
      "retry": {"strategy": "exponential", "interval": 1, "max": 8, "jitter": 2,
                "need_manual": True}}),
])
def test_add_times(args, plan):
    with always(2, (GLOBAL_ID, b"1")) as station:
        station.zplan("add", "--station", "s", "--command", "c", *args).done()
        assert seen_add(station) == ({**tried(10 if plan.get("plan_repet") == 1 else 3), **plan},
                                     [STATION_ID, COMMAND], [b"s", b"c"])


@pytest.mark.parametrize("args, vote", [
    (["--vote", "majority", "--vote-deadline", "60"], {"rule": "majority", "deadline": 60}),
    (["--vote", "3"], {"rule": 3}),
    (["--vote-deadline", "5"], {"deadline": 5}),
])
def test_add_a_vote(args, vote):
    with always(2, (GLOBAL_ID, b"1")) as station:
        station.zplan("add", "--station", "s", "--command", "c", *args).done()
        assert seen_add(station)[0]["vote"] == vote


def test_add_to_what_is_no_plan_station():
    with always(1) as station:
        ended = station.zplan("add", "--station", "s", "--command", "c")
        assert "is it a plan station?" in ended.failed(REFUSED)


def test_shared_options_stand_before_or_after_the_verb():
    with always(1) as station:
        zplan("ping", "--json=wire", f"--connect={station.endpoint}").done()
        zplan("--json=wire", "ping", env={"ZPLAN_CONNECT": station.endpoint}).done()
        ended = zplan("show", "--connect", station.endpoint, "--", "--json")
        assert "the station's answer" in ended.failed(REFUSED)  # to what was asked of that name


def test_refusal_is_told_and_made_harmless():
    words = "-plan error: plan_time: is past \x1b[2J\u009b \u202e".encode() + b"\xff"
    with always(0x8B, (STATUS, words)) as station:
        ended = station.zplan("add", "--station", "s", "--command", "c")
        assert ended.failed(REFUSED) == ("zplan: the time is past \\x1b[2J"
                                         "\\xc2\\x9b \\xe2\\x80\\xae\\xff\n")


def test_refusal_without_words():
    with always(0x83) as station:
        assert station.zplan("show", "1f").failed(REFUSED) == "zplan: 1f: not found\n"


def test_refusal_of_an_unreadable_message_has_no_request_id():
    with FakeStation(lambda request: [[describe(0x85, STATUS), b"-invalid: x"]]) as station:
        assert station.zplan("ping").failed(REFUSED) == "zplan: x\n"


def test_answers_to_other_requests_are_passed_over():
    def answer(request):
        other = [describe(0x83, REQUEST_ID), b"other"]
        unasked = [describe(1)]
        broken = [b"\x05\x01", b""]
        long = [describe(1, *[ARG] * 40), *[b""] * 40]
        return [other, unasked, broken, long, [b""], reply(request, 1)]
    with FakeStation(answer) as station:
        assert station.zplan("ping").done().startswith(f"answer from {station.endpoint} in ")


@pytest.mark.parametrize("args", [
    ["ping"], ["list", "--json=wire"], ["show", "1"], ["pause", "--all"], ["reset", "1", "--dry-run"],
    ["update", "1", "--title", "t"], ["history", "--json=wire"], ["history", "1", "2", "--json=wire"],
    ["station"], ["station", "list"], ["station", "add", "a=api@x", "b=api@x"], ["stats"],
    ["next", "1"], ["watch", "--since", "0"], ["add", "--station", "s", "--command", "c"]])
def test_no_answer(args):
    with FakeStation(lambda request: []) as station:
        words = station.zplan(*args, "--timeout", "1000").failed(NO_ANSWER)
        assert words == f"zplan: no answer from {station.endpoint} within 1000 ms\n"
        station.seen.get(timeout=WAIT)
        assert station.seen.empty()


@pytest.mark.parametrize("verb, done", [
    (verb, done) for verb, done in zip(ACTS, ["paused", "resumed", "reset", "skipped", "started",
                                              "cancelled", "done", "closed", "removed"]) if verb != "cancel"])
def test_no_answer_leaves_a_doubt(verb, done):
    with FakeStation(lambda request: []) as station:
        words = station.zplan(verb, "1", "2", "3", "--timeout", "1500", "--json=wire").failed(NO_ANSWER)
        assert words.splitlines() == [
            f"zplan: no answer from {station.endpoint} within 1500 ms",
            f"zplan: it is not known whether plan 1 was {done}",
            "zplan: not tried after that: 2 more"]
        station.seen.get(timeout=WAIT)
        assert station.seen.empty()


def test_no_station_at_all():
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        port = router.bind_to_random_port("tcp://127.0.0.1")
    ended = zplan("ping", "--timeout", "200", "--connect", f"tcp://127.0.0.1:{port}")
    assert "no answer" in ended.failed(NO_ANSWER)


def test_ping():
    with always(1) as station:
        assert station.zplan("ping").done().endswith(" ms\n")
        desc, _ = station.request()
        assert desc == describe(ord("*"), REQUEST_ID)
        answer = json.loads(station.zplan("ping", "--json=wire").done())
        assert answer["endpoint"] == station.endpoint and answer["round_trip_us"] > 0


PLANS = [
    {"plan_id": 31, "station": "billing", "description": "close\x1b[0m", "plan_type": 7,
     "plan_value": -1, "plan_repet": -1, "real_repet": 2, "plan_state": 1, "plan_time": 1798131600},
    {"plan_id": 2 ** 63 - 1, "station": "mail", "description": {"b64": "/w=="}, "plan_type": 2,
     "plan_value": 5, "plan_repet": 9, "real_repet": 0, "plan_state": 6, "plan_time": 0},
    {"plan_id": 33, "station": "mail", "description": "", "plan_type": 2, "plan_value": 5,
     "plan_repet": 9, "real_repet": 0, "plan_state": 6, "plan_time": 0},
]


def pages(request):
    """The list, a plan a page; the place of a page is the index of its last plan, in hex."""
    assert request[0] == describe(1, COMMAND, ARG, REQUEST_ID) and request[1] == b"list"
    wanted = json.loads(request[2])
    index = int(wanted.get("after", "0"), 16)
    page = {"plans": PLANS[index:index + 1]}
    if index + 1 < len(PLANS):
        page["next"] = f"{index + 1:x}"
    return [reply(request, 1, (STATUS, b"+ok"), (JSON, json.dumps(page).encode()))]


def test_list_turns_all_pages():
    with FakeStation(pages) as station:
        heading, *rows = station.zplan("list").done().splitlines()
        assert heading.split() == ["PLAN", "TARGET", "SCHEDULE", "NEXT", "STATE", "LAST",
                                   "TITLE"]
        assert [row.split() for row in rows] == [
            ["1f", "billing", *"monthly 1 day before the last at 00:00".split(),
             "2026-12-24T17:00:00Z", "queued", "-", r"close\x1b[0m"],
            ["7fffffffffffffff", "mail", "every", "5", "s", "-", "failed", "-", r"\xff"],
            ["21", "mail", "every", "5", "s", "-", "failed", "-"]]
        filters = [json.loads(station.request()[2]) for _ in PLANS]
        assert filters == [{"limit": 100}, {"after": "1", "limit": 100},
                           {"after": "2", "limit": 100}]


def test_list_goes_on_behind_an_empty_page():
    def answer(request):
        after = json.loads(request[2]).get("after")
        page = {None: {"plans": [], "next": "5"}, "5": {"plans": PLANS[:1], "next": "1f"},
                "1f": {"plans": []}}[after]
        return [reply(request, 1, (JSON, json.dumps(page).encode()))]
    with FakeStation(answer) as station:
        assert json.loads(station.zplan("list", "--json=wire").done()) == named(PLANS[0])


def test_list_for_programs_is_an_object_a_line():
    with FakeStation(pages) as station:
        lines = station.zplan("list", "--json=wire").done().splitlines()
        assert [json.loads(line) for line in lines] == list(map(named, PLANS))
        assert all(line.startswith('{"id":"') for line in lines)


def test_list_filter_and_limit():
    with FakeStation(pages) as station:
        lines = station.zplan("list", "--json=wire", "--limit", "2", "--station", "mail", "--state",
                              "queue", "--type", "week", "--title", "report*").done().splitlines()
        assert [json.loads(line) for line in lines] == list(map(named, PLANS[:2]))
        chosen = {"station": "mail", "state": "queue", "type": "week", "title": "report*"}
        assert json.loads(station.request()[2]) == {**chosen, "limit": 2}
        assert json.loads(station.request()[2]) == {**chosen, "after": "1", "limit": 1}
        assert station.seen.empty()


@pytest.mark.parametrize("data, told", [
    (b'{"plans":[],"next":"1"}', "the list has two pages"),
    (b'{"plans":[],"next":"x"}', "the list has two pages"),
    (b"[]", "want an object"),
    (b'{"plans"', "the station's answer"),
])
def test_list_that_is_broken(data, told):
    with always(1, (JSON, data)) as station:
        assert told in station.zplan("list", "--json=wire").failed(REFUSED)


FULL = {**PLANS[0], "base_time": 1795176000, "no_keep": True, "last_state": 0x88, "exec_time": 0,
        "exec_id": 0, "skip_set": 0, "skip_num": 0, "error_count": 1, "add_time": 1795176000,
        "caller": {"b64": "AGs="}, "request_id": "r", "revision": 99,
        "vote": {"rule": "majority", "deadline": 60},
        "messages": ["*1f", {"b64": "BAIFAiRaAA=="}, "{}", "billing", "close", {"b64": "AP8="}]}


def test_show():
    with always(1, (STATUS, b"+ok"), (JSON, json.dumps(FULL).encode())) as station:
        text = station.zplan("show", "01F").done()
        rows = [re.split("  +", row.strip(), maxsplit=1) for row in text.splitlines()]
        for row in [["id", "1f"], ["title", r"close\x1b[0m"], ["state", "queued"],
                    ["last run", "no worker"], ["next", "2026-12-24T17:00:00Z"],
                    ["runs", "2, 1 failed try of this occurrence"], ["options", "--keep"],
                    ["target", "billing"], ["command", "close"], ["0x5a", r"\x00\xff"],
                    ["--vote majority"], ["--vote-deadline 60"]]:
            assert row in rows, rows
        assert not {row[0] for row in rows} & {"caller", "revision", "type", "value"}
        desc, command, argument, _ = station.request()
        assert (desc, command, argument) == (describe(1, COMMAND, ARG, REQUEST_ID), b"message",
                                             b"1f")
        assert json.loads(station.zplan("show", "1f", "--json=wire").done()) == named(FULL)


def test_show_of_a_broken_plan():
    odd = {"plan_id": "x\x1b", "plan_state": 99, "plan_type": "\x1b", "plan_time": -5,
           "plan_repet": None, "messages": [1, 2, 3, {"b64": "?"}], "station": 7}
    with always(1, (JSON, json.dumps(odd).encode())) as station:
        assert "\x1b" not in station.zplan("show", "1").done()


def test_remove_goes_on_after_a_refusal():
    def answer(request):
        assert request[:2] == [describe(1, COMMAND, ARG, REQUEST_ID), b"remove"]
        return [reply(request, 0x83 if request[2] in (b"20", b"key:20") else 1)]
    with FakeStation(answer) as station:
        ended = station.zplan("remove", "1f", "20", "21")
        assert (ended.code, ended.err) == (REFUSED, "zplan: 20: not found\n")
        assert ended.out == "plan 1f removed\nplan 21 removed\n"
