"""What the command line looks like on a terminal, and that it is whole and plain off it."""
import json
import re
import time

import pytest

from clitest import FAILED, NO_ANSWER, USAGE, WAIT, columns_of, station, zplan

assert station      # a fixture

SGR = re.compile(r"\x1b\[[0-9;]*m")
LONG = "the quarterly report of the sales department, with all its attachments and figures, " * 3
WIDE = "\u6bcf\u9031\u306e\u5831\u544a\u66f8 " * 20


def plain(text):
    return SGR.sub("", text)


def rows(text):
    return plain(text).splitlines()


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("title", [LONG, WIDE, "e\u0301" * 300])
def test_a_line_of_the_list_fits_the_terminal(station, columns, title):
    station.add("short")
    station.add(title, station="a-station-with-a-rather-long-name")
    heading, short, long = rows(station.terminal("list", columns=columns).done())
    assert heading.startswith("PLAN") and short.endswith("short")
    assert "\u2026" in long and columns - 1 <= columns_of(long) <= columns
    assert columns_of(heading[:heading.index("TITLE")]) == columns_of(short[:short.index("short")])


def test_all_of_the_columns_have_their_room(station):
    for number in range(150):
        station.add(f"title {number}", station="jobs" if number % 2 else "print")
    lines = rows(station.terminal("list").done())
    at = lines[0].index("TITLE")
    assert [line[at:] for line in lines[1:]] == [f"title {number}" for number in range(150)]


def test_a_late_row_that_is_wider_fits_as_well(station):
    for number in range(150):
        station.add("short")
    station.add(LONG, station="a-station-with-a-rather-long-name",
                key="a-name-that-is-longer-than-the-others")
    *_, line = rows(station.terminal("list").done())
    assert columns_of(line) <= 80 and "\u2026" in line and line.startswith("a-name-that-is-longer-than-the-others ")


CRON = "0,5,10,15,20,25,30,35,40,45,50,55 0-23/2 1-31 JAN,MAR,MAY,JUL MON-FRI"


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("times", ["auto", "absolute"])
@pytest.mark.parametrize("before", [0, 150])
def test_a_long_cron_takes_no_column_away(station, columns, times, before):
    """It is what is cut; on a narrow terminal its column is left out. Also in a late row."""
    for _ in range(before):
        station.add("short")
    station.add("the report", plan_id=0x7fffffffffffff01, plan_type=8, cron=[CRON, "0 0 * * *"],
                plan_repet=-1, plan_state=5)
    heading, *_, line = rows(station.terminal("list", "--times", times, columns=columns).done())
    assert "STATE" in heading and "TITLE" in heading
    assert " paused " in line and line.endswith(" the report"), line
    assert line.startswith("7fffffffffffff01 ") and columns_of(line) <= columns
    assert "SCHEDULE" not in heading or "\u2026 " in line


def test_off_a_terminal_nothing_is_cut(station):
    station.add(LONG, station="a-station-with-a-rather-long-name")
    for env in ({}, {"COLUMNS": "40"}):
        out = station.zplan("list", env=env).done()
        assert LONG in out and "a-station-with-a-rather-long-name" in out and "2100-01-01T" in out


def test_off_a_terminal_the_columns_are_as_wide_as_what_stands_in_them(station):
    for name in ("jobs", "a-station-with-a-rather-long-name", "print"):
        station.add("title " + name, station=name)
    lines = station.zplan("list").done().splitlines()
    at = lines[0].index("TITLE")
    assert all(line[at:].startswith("title ") for line in lines[1:])


def test_a_plan_without_title_has_its_command_in_the_list(station):
    for title in ("", "its title"):
        station.add(title)
    _, command, title = station.zplan("list").done().splitlines()
    assert command.endswith("  do") and title.endswith("  its title")


def test_the_last_outcome_is_in_a_list_of_80_columns(station):
    at = int(time.time()) - 33 * 60
    station.add("broken", key="import-of-customers", plan_type=8, cron="0 2 * * *", timezone="Europe/Berlin",
                plan_state=6, last_state=FAILED, exec_time=at)
    station.add("weekly report", plan_id=0x7fffffffffffff01, plan_time=int(time.time()) + 6 * 86400 + 60)
    station.add("at work", plan_id=0x7fffffffffffff02, plan_state=2)
    heading, failed, queued, _ = rows(station.terminal("list").done())
    assert "LAST" in heading and " failed 33 min ago " in failed
    assert re.search(" daily 02:00 ?\u2026 ", failed), failed
    assert queued.endswith(" weekly re\u2026") and columns_of(failed) <= 80


def test_a_list_that_is_refused_has_no_heading(station):
    station.silent = lambda *_: True
    for verb in ("list", "history"):
        assert "no answer" in station.zplan(verb, "--timeout", "300").failed(NO_ANSWER)


def test_a_reason_does_not_say_the_status_again(station):
    for reason in ("-failed: no can do", "-failed", "of its own", "-failedly"):
        station.outcome("lib", FAILED, publish=False, reason=reason)
    heading, *lines = station.zplan("history").done().splitlines()
    assert [line[heading.index("REASON"):] for line in lines] == ["no can do", "", "of its own", "-failedly"]


def test_an_endpoint_is_not_cut_before_the_words_beside_it(station):
    station.stations[0]["endpoint"] = "tcp://192.168.100.200:17930"
    line = rows(station.terminal("station", "list").done())[1]
    assert " tcp://192.168.100.200:17930 " in line and columns_of(line) <= 80 and "\u2026" in line


@pytest.mark.parametrize("columns", [80, 200])
def test_history_and_stations_fit(station, columns):
    station.outcome(LONG, FAILED, publish=False, reason="because " + LONG)
    station.stations[0]["endpoint"] = "tcp://" + "a.very.long.name." * 8 + "example:7930"
    for verb in (["history"], ["station", "list"]):
        heading, line = rows(station.terminal(*verb, columns=columns).done())
        assert columns_of(line) <= columns and "\u2026" in line, line
        assert columns_of(heading) <= columns


def test_titles_cannot_command_the_terminal(station):
    station.add("a\x1b[31mred\x07" * 30)
    text = station.terminal("list", "--color", "never").done()
    assert "\x1b" not in text and "\x07" not in text and r"a\x1b[31mred\x07" in text


EVIL = "a\x7f\x9b2Jb\u202ec\x1b[0m"
CONTROLS = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.mark.parametrize("verb", [
    ["list"], ["show", "1f"], ["next", "1f"], ["history"], ["history", "--newest"], ["stats"],
    ["station", "list"], ["kind", "list"], ["kind", "get", "k"], ["why", "1f"], ["export"],
    ["pause", "--all", "--dry-run"], ["pause", "--all"], ["close", "1f"], ["team", "1f"],
    ["update", "1f", "--title", "x"],
    ["limit", "list"], ["doctor"], ["watch", "--since", "0", "-n", "1"]], ids=" ".join)
@pytest.mark.parametrize("output", [[], ["--json=wire"]], ids=["words", "json"])
def test_control_characters_do_not_pass(station, verb, output):
    """DEL and C1 among them, wherever a peer may put a text."""
    assert station.add(EVIL, station=EVIL, error_info=EVIL, ext={EVIL: EVIL}, kind=EVIL, key=EVIL,
                       tenant=EVIL, caller=EVIL, last_state=EVIL, plan_type=8, cron=EVIL) == "1f"
    station.outcome(EVIL, FAILED, publish=False, reason=EVIL)
    station.stations = [{name: EVIL for name in ("name", "type", "endpoint", "since", "origin")}]
    evil = {"kinds": {EVIL: {EVIL: EVIL}}, "kind": EVIL, "fields": {EVIL: EVIL}, "limits": {
        EVIL: {"origin": EVIL, "concurrency": EVIL}}, "reasons": [
        {"why": EVIL, "until": EVIL, "at": EVIL}], "workers": [{"name": EVIL, "reason": EVIL}],
        "targets": [{"name": EVIL, "state": EVIL, "x": EVIL}], "version": EVIL, EVIL: EVIL,
        "redis": {"state": EVIL, "version": EVIL}, "team": [{"worker": EVIL}],
        "findings": [{"level": "problem", "text": EVIL, "do": EVIL}]}
    for word in ("kind", "limit", "why", "team", "stats", "health"):
        setattr(station, f"do_{word}", lambda *args: evil)
    options = ["--publish", "tcp://127.0.0.1:1"] if verb[0] == "watch" else []
    ended = station.zplan(*options, *verb, *output)
    assert not CONTROLS.search(ended.out + ended.err), ended.out + ended.err
    assert ended.out, ended.err


# -- colours

def coloured(text):
    return bool(SGR.search(text))


@pytest.mark.parametrize("options, env, wanted", [
    ([], {}, True),
    ([], {"NO_COLOR": ""}, True),
    ([], {"NO_COLOR": "1"}, False),
    ([], {"TERM": "dumb"}, False),
    (["--color", "never"], {}, False),
    (["--color=always"], {"NO_COLOR": "1"}, True),
    (["--json=wire"], {}, False),
    (["--json=wire", "--color", "always"], {}, False),
])
@pytest.mark.parametrize("verb", [["list"], ["show", "1f"], ["history"], ["station"]])
def test_colours(station, verb, options, env, wanted):
    station.add("broken", plan_state=6, last_state=0x82)
    station.outcome("broken", FAILED, publish=False)
    assert coloured(station.terminal(*verb, *options, env=env).done()) is wanted


def test_no_colours_in_a_pipe_unless_they_are_wanted(station):
    station.add("broken", plan_state=6)
    assert not coloured(station.zplan("list").done())
    assert coloured(station.zplan("list", "--color", "always").done())
    assert not coloured(station.zplan("list", "--color", "always", "--json=wire").done())


def test_a_state_has_its_colour(station):
    station.add("broken", plan_state=6)
    station.add("waits")
    _, broken, waits = station.terminal("list").done().splitlines()
    assert "\x1b[31mfailed" in broken and not coloured(waits)


def test_a_result_that_is_watched_has_its_colour(station):
    terminal = station.terminal("--publish", station.results, "watch", "-n", "2")
    station.subscribed()
    assert station.asked.wait(WAIT)
    station.outcome("good")
    station.outcome("bad", FAILED)
    good, bad = terminal.done().splitlines()
    assert '"good" \x1b[32mok\x1b[0m next in ' in good and '"bad" \x1b[31mfailed\x1b[0m next' in bad


# -- times

@pytest.mark.parametrize("options, columns, pattern", [
    ([], 80, r" in [0-9]+ min "),
    ([], 160, r" 20..-..-..T..:..:..Z \(in [0-9]+ min\) "),
    (["--times", "relative"], 160, r"[a-z] +in [0-9]+ min "),
    (["--times", "absolute"], 80, r"once +2.*Z +queued"),
    (["--times=both"], 80, r"Z \(in [0-9]+ min\) "),
    (["--times", "unix"], 80, r" [0-9]{10} "),
])
def test_times(station, options, columns, pattern):
    station.add("soon", plan_time=int(time.time()) + 3600)
    _, line = rows(station.terminal("list", *options, columns=columns).done())
    assert re.search(pattern, line), line


def test_times_off_a_terminal_and_in_json(station):
    at = int(time.time()) - 7000
    station.add("past", plan_time=at)
    assert re.search(r" 20..-..-..T..:..:..Z ", station.zplan("list").done())
    assert re.search(r" 11\d min ago", station.zplan("list", "--times", "relative").done())
    out = station.zplan("list", "--times", "relative", "--json=wire").done()
    assert json.loads(out)["plan_time"] == at
    for style in ("unix", "relative", "both"):
        out = zplan("next", "--at", "2100-01-01", "--json=wire", "--times", style).done()
        assert json.loads(out) == ["2100-01-01T00:00:00Z"]
    out = zplan("next", "--at", "2100-01-01", "--times", "unix").done()
    assert out == "4102444800\n"
    assert "next           4102444800\n" in (station.add("later"), station.zplan(
        "show", "20", "--times", "unix").done())[1]


# -- did you mean

@pytest.mark.parametrize("args, hint", [
    (["lsit"], "unknown command 'lsit'; did you mean list?"),
    (["histroy", "1f"], "did you mean history?"),
    (["qwertz"], "unknown command 'qwertz'\n"),
    (["--jsno", "list"], "unknown option '--jsno'; did you mean --json?"),
    (["list", "--sate", "queue"], "unknown option '--sate'; did you mean --state?"),
    (["list", "--sate=queue"], "did you mean --state?"),
    (["list", "--jsno"], "did you mean --json?"),
    (["pause", "1f", "--dryrun"], "did you mean --dry-run?"),
    (["list", "--state", "pausd"], "got 'pausd'; did you mean paused?"),
    (["list", "--type=wek"], "did you mean week?"),
    (["next", "--type", "mnoth", "--value", "1"], "did you mean month?"),
    (["list", "--color", "allways"], "want auto, always or never, got 'allways'; did you mean"),
    (["list", "--times", "x"], "--times: want auto, relative, absolute, both or unix, got 'x'\n"),
    (["station", "lsit"], "did you mean list?"),
])
def test_did_you_mean(args, hint):
    told = zplan(*args).failed(USAGE)
    assert hint in told and "Try: zplan" in told, told
