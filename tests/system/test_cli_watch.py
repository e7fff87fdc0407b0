"""zplan watch: what it prints, and that nothing is missed. Results and history are played by the
test (clitest.PlanStation); what does not need the test to meddle with it runs against a real zpland
too, with ZPLAN_CLI_REAL=1."""
import json
import signal
import time

import pytest

from clitest import (ARG, BIN, CONTENT, CONTEXT, DONE, FAILED, GLOBAL_ID, JSON, OK, REFUSED, STATUS,
                     SUBTITLE, WAIT, Ended, FakeStation, Publisher, both, describe, objects, reply,
                     station)
from zplanprocs import wait_until

assert both and station     # fixtures


# -- what it prints

def test_watch_prints_a_line_a_result():
    with Publisher() as publisher:
        process = publisher.watch("rep", "-n", "2")
        publisher.send(b"other", 1)
        publisher.send(b"report \x1b[0m", 1, (GLOBAL_ID, b"1f"), (CONTENT, b"4 rows\n"))
        publisher.send(b"report", 0x81, (STATUS, b"-error: disk"), plan=b"no JSON")
        lines = Ended(process).done().splitlines()
        assert [line.split(" ", 1)[1] for line in lines] == [
            r'1f "report \x1b[0m" ok next 2026-12-24T17:00:00Z 4 rows',
            '1f "report" failed next - -error: disk']


def test_watch_for_programs():
    with Publisher() as publisher:
        process = publisher.watch("-n", "2", "--json=wire")
        publisher.send(b"t", 1, (CONTENT, b"x"), (BIN, b"\xff"), (0x5A, b""))
        publisher.send(b"\xff", 0x88, plan=b"{")
        lines = Ended(process).done().splitlines()
        assert [json.loads(line) for line in lines] == [
            {"id": "1f", "title": "t", "status": "+ok", "code": 1,
             "plan": {"plan_time": 1798131600},
             "frames": [{"type": CONTENT, "name": "CONTENT", "value": "x"},
                        {"type": BIN, "name": "BIN", "value": {"b64": "/w=="}},
                        {"type": 0x5A, "name": None, "value": ""}]},
            {"id": "1f", "title": {"b64": "/w=="}, "status": "-not work", "code": 0x88,
             "plan": "{", "frames": []}]


@pytest.mark.parametrize("args", [(), ("--json",)])
def test_a_reader_that_has_enough_ends_watch_quietly(args):
    """As it ends other verbs: `zplan watch | head -1`."""
    with Publisher() as publisher:
        process = publisher.watch(*args)
        publisher.send(b"t", 1)
        assert process.stdout.readline()
        process.stdout.close()
        publisher.send(b"t", 1)
        assert process.wait(WAIT) == -signal.SIGPIPE and process.stderr.read() == b""


def test_watch_names_the_plan():
    with Publisher() as publisher:
        process = publisher.watch("-n", "2", "--json")
        publisher.send(b"t", 0x82, plan=b'{"plan_id": 31, "plan_time": 1798131600, "plan_state": 3}')
        publisher.send(b"t", 1, plan=b"{")
        first, second = map(json.loads, Ended(process).done().splitlines())
        assert (first["plan"], first["status"], "id" in first) == ("1f", "failed", False)
        assert first["after"] == {"id": "1f", "state": "retrying", "running": False,
                                  "next_at": "2026-12-24T17:00:00.000Z"}
        assert second == {"title": "t", "status": "ok", "plan": "1f", "frames": []}


def test_watch_passes_over_what_is_no_result():
    with Publisher() as publisher:
        process = publisher.watch("-n", "1", "--json=wire")
        for message in [[b"t"], [b"t", b""], [b"t", describe(1)],
                        [b"t", describe(1, SUBTITLE, CONTEXT), b"1f", b"{}"],
                        [b"t", describe(1, SUBTITLE, CONTENT), b"1f"],
                        [b"t", describe(1, *[ARG] * 40), *[b""] * 40]]:
            publisher.socket.send_multipart(message)
        publisher.send(b"good", 1)
        assert json.loads(Ended(process).done())["title"] == "good"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_watch_is_unbuffered_and_ends_on_a_signal(number):
    with Publisher() as publisher:
        process = publisher.watch("--json=wire")
        publisher.send(b"one", 1)
        assert json.loads(process.stdout.readline())["title"] == "one"
        process.send_signal(number)
        assert Ended(process).done() == ""


# -- nothing is missed

def lines_of(process, count):
    """The next lines of a watch that goes on."""
    return [json.loads(process.stdout.readline()) for _ in range(count)]


def errors_of(process):
    """Wait for its end: what it wrote to stderr."""
    process.send_signal(signal.SIGTERM)
    ended = Ended(process)
    assert (ended.code, ended.out) == (DONE, "")
    return ended.err


def name(line):
    """(title, whether it came by the history)"""
    return line["title"], line.get("from") == "history"


def test_watch_prints_each_result_once(both):
    both.outcome("before")
    process = both.watch("--json=wire", "-n", "3")
    time.sleep(0.5)     # a real station tells nobody that a subscriber has come
    for title in "abc":
        both.outcome(title)
    assert [line["title"] for line in objects(Ended(process))] == ["a", "b", "c"]


def test_watch_since_begins_with_the_history(both):
    for title in "abc":
        both.outcome(title)
    lines = objects(both.zplan("watch", "--since", "1", "--json=wire", "-n", "2"))
    assert [name(line) for line in lines] == [("b", True), ("c", True)]
    assert lines[0]["seq"] == 2 and lines[0]["epoch"]
    line, = objects(both.zplan("watch", "c", "--since", "0", "--json=wire", "-n", "1"))
    assert line["seq"] == 3


def test_watch_since_goes_on_with_what_comes(station):
    for title in "abc":
        station.outcome(title)
    station.looked_at = 1
    process = station.watch("--since", "1", "--epoch", "e1", "--json=wire")
    assert [name(line) for line in lines_of(process, 2)] == [("b", True), ("c", True)]
    station.outcome("d")
    assert [name(line) for line in lines_of(process, 1)] == [("d", False)]
    assert errors_of(process) == ""


def test_watch_asks_for_what_did_not_come(station):
    station.outcome("before")
    process = station.watch("--json=wire")
    station.outcome("a")
    assert [name(line) for line in lines_of(process, 1)] == [("a", False)]
    station.outcome("b", publish=False)
    station.unpublished("not broadcast")
    station.outcome("c", publish=False)
    station.requests("")
    station.outcome("d", frames=[(CONTENT, b"x")])
    lines = lines_of(process, 3)
    assert [name(line) for line in lines] == [("b", True), ("c", True), ("d", False)]
    assert lines[0] == {"from": "history", "epoch": "e1", "id": "1f", **station.runs[2]}
    assert lines[2]["frames"][0]["value"] == "x"
    asked, = station.requests("history")
    assert json.loads(asked[0]) == {"since": 2, "epoch": "e1", "limit": 100, "output": True}
    assert errors_of(process) == ""


def test_watch_for_people_marks_what_came_by_history(station):
    process = station.watch("-n", "3")
    station.outcome("a")
    station.outcome("b", FAILED, publish=False, reason="-failed: disk")
    station.outcome("c")
    lines = Ended(process).done().splitlines()
    assert lines[1] == '2023-11-14T22:13:21Z 1f "b" failed disk (from history)'
    assert [line.split('"')[1] for line in lines] == ["a", "b", "c"]


@pytest.mark.parametrize("output, shown", [
    ({"size": 8, "head": "one\ntwo\n"}, r"one\x0atwo"), ({"size": 2, "head": {"b64": "/wA="}}, r"\xff\x00"),
    ({"size": 99, "head": "first\n", "tail": "last\n"}, "first [...] last")])
def test_watch_replays_what_a_run_wrote(station, output, shown):
    process = station.watch("-n", "2")
    station.outcome("a")
    station.outcome("b", publish=False, output=output)
    station.outcome("c")
    lines = Ended(process).done().splitlines()
    assert lines[1].endswith(f'ok {shown} (from history)')


def test_watch_of_a_title_fills_gaps_too(station):
    process = station.watch("rep", "--json=wire")
    station.outcome("report 1")
    station.outcome("other")
    station.outcome("report 2", publish=False)
    station.outcome("other", publish=False)
    station.outcome("other")
    station.outcome("report 3")
    assert [name(line) for line in lines_of(process, 3)] == [
        ("report 1", False), ("report 2", True), ("report 3", False)]
    assert errors_of(process) == ""


def test_watch_of_a_title_that_is_no_text(station):
    process = station.watch("\u00fc", "--json=wire", "-n", "1")
    station.outcome("a")
    for title in ({"b64": "/w=="}, {"b64": "w7z/"}, 5, None):     # the second starts with it
        station.outcome("x", publish=False)
        station.runs[-1]["title"] = title
    station.outcome("b")
    line, = objects(Ended(process))
    assert line["title"] == {"b64": "w7z/"}


def test_watch_prints_nothing_twice(station):
    station.outcome("a")
    process = station.watch("--since", "0", "--json=wire")
    assert [name(line) for line in lines_of(process, 1)] == [("a", True)]
    station.outcome("b", publish=False)
    assert [name(line) for line in lines_of(process, 1)] == [("b", True)]   # by a look
    station.publish("b", 2)
    station.outcome("c")
    station.publish("c", 3)
    station.outcome("d")
    assert [name(line) for line in lines_of(process, 2)] == [("c", False), ("d", False)]
    assert errors_of(process) == ""


def test_watch_of_a_station_that_lost_its_latest_writes(station):
    process = station.watch("--json=wire")
    for title in "abc":
        station.outcome(title)
    station.runs, station.seq = station.runs[:1], 1
    station.outcome("B")
    station.outcome("C")
    assert [line["title"] for line in lines_of(process, 5)] == ["a", "b", "c", "B", "C"]
    assert errors_of(process) == \
        "zplan: the station has lost results that were printed: after 3 comes 2\n"


def test_watch_finds_a_last_result_that_was_lost(station):
    """Nothing comes after it, so no gap tells of it: the watch looks when it is quiet."""
    process = station.watch("--json=wire")
    station.outcome("a")
    lines_of(process, 1)
    station.outcome("b", publish=False)
    assert name(lines_of(process, 1)[0]) == ("b", True)
    station.outcome("c")
    assert name(lines_of(process, 1)[0]) == ("c", False)
    assert errors_of(process) == ""


def test_watch_lets_a_result_that_is_on_its_way_come(station):
    """What a look finds may be between its commit and its broadcast: it is printed as it came."""
    process = station.watch("--json=wire", "-n", "1")
    station.requests("")
    seq = station.outcome("a", publish=False)
    end = time.monotonic() + WAIT
    while not station.requests("history"):      # the look that finds it
        assert time.monotonic() < end
        time.sleep(0.02)
    station.publish("a", seq)
    assert name(objects(Ended(process))[0]) == ("a", False)


def test_watch_survives_the_result_socket(station):
    process = station.watch("--json=wire")
    station.outcome("a")
    assert name(lines_of(process, 1)[0]) == ("a", False)
    station.close_publisher()
    station.outcome("b", publish=False)
    station.open_publisher()
    station.subscribed()
    station.outcome("c")
    assert [name(line) for line in lines_of(process, 2)] == [("b", True), ("c", False)]
    assert errors_of(process) == ""


def test_watch_tells_what_is_gone(station):
    process = station.watch("--json=wire")
    station.outcome("a")
    for title in "bcde":
        station.outcome(title, publish=False)
    station.forget(3)
    station.outcome("f")
    assert [line["title"] for line in lines_of(process, 4)] == ["a", "d", "e", "f"]
    assert errors_of(process) == "zplan: results after 1 are gone: the first one kept is 4\n"


def test_watch_tells_that_the_station_counts_anew(station):
    process = station.watch("--json=wire")
    station.outcome("a")
    station.outcome("b")
    station.count_anew("e2")
    station.outcome("x", publish=False)
    station.outcome("y")
    assert [name(line) for line in lines_of(process, 4)] == [
        ("a", False), ("b", False), ("x", True), ("y", False)]
    station.outcome("z")
    assert name(lines_of(process, 1)[0]) == ("z", False)
    errors = errors_of(process)
    assert errors.startswith("zplan: the station restarted its numbering of results") and errors.count("\n") == 1


def test_watch_of_a_station_that_never_published(station):
    station.epoch = None
    process = station.watch("--json=wire")
    station.count_anew("e1")
    station.outcome("a", publish=False)
    station.outcome("b")
    assert [name(line) for line in lines_of(process, 2)] == [("a", True), ("b", False)]
    assert errors_of(process) == ""


def test_watch_since_of_another_epoch(station):
    station.outcome("a")
    process = station.watch("--since", "40", "--epoch", "old", "--json=wire")
    assert name(lines_of(process, 1)[0]) == ("a", True)
    assert errors_of(process).startswith("zplan: the station restarted its numbering of results")


def test_watch_since_what_is_to_come(station):
    station.outcome("a")
    process = station.watch("--since", "40", "--json=wire")
    station.outcome("b")
    assert name(lines_of(process, 1)[0]) == ("b", False)
    assert errors_of(process) == "zplan: there is no result 40 yet: the last one is 1\n"


def test_watch_without_a_history_goes_on_and_says_so(station):
    station.silent = lambda word, *args: True
    process = station.watch("--json=wire", "--timeout", "300")
    station.outcome("a")
    station.outcome("b", publish=False)
    station.outcome("c")
    assert [line["title"] for line in lines_of(process, 2)] == ["a", "c"]
    assert errors_of(process).splitlines() == [
        f"zplan: no answer from {station.endpoint} within 300 ms",
        "zplan: until the history answers, missed results cannot be requested",
        "zplan: results between 1 and 3 are missed"]


def test_watch_waits_for_a_history_that_is_away_for_a_while(station):
    process = station.watch("--json=wire", "--timeout", "300")
    station.outcome("a")
    lines_of(process, 1)
    station.requests("")
    station.silent = lambda word, *args: True
    station.outcome("b", publish=False)
    station.outcome("c")
    asked = []
    wait_until(lambda: asked.extend(station.requests("history")) or len(asked) >= 2, "it asks again, as it had no answer")
    station.silent = lambda word, *args: False
    assert [name(line) for line in lines_of(process, 2)] == [("b", True), ("c", False)]
    assert errors_of(process).startswith(f"zplan: no answer from {station.endpoint} within 300 ms\n")


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"runs":[],"last":"x","epoch":"e"}'])
def test_watch_of_a_broken_history(data):
    def answer(request):
        return [reply(request, OK, (JSON, data))]
    with FakeStation(answer) as broken:
        ended = broken.zplan("watch", "--since", "1")
        assert "zplan: history: " in ended.failed(REFUSED)


def test_watch_since_where_history_is_refused():
    with FakeStation(lambda request: [reply(request, 0x84)]) as old:
        assert old.zplan("watch", "--since", "1").failed(REFUSED) == \
            "zplan: history: not supported\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_watch_ends_on_a_signal_while_it_waits_for_the_history(station, number):
    station.silent = lambda word, *args: True
    process = station.watch("--json=wire", "--timeout", "600000")
    process.send_signal(number)
    assert Ended(process).done() == ""      # long before the time-out
