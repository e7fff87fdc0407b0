"""zplan top: what it counts, and how it treats a terminal."""
import fcntl
import itertools
import json
import os
import re
import signal
import termios
import time

import pytest

from clitest import (JSON, NO_ANSWER, STATUS, USAGE, WAIT, FakeStation, columns_of, objects, reply,
                     start, taken_apart, zplan)
from zplantest import at_once, wait_until

ON, OFF = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


class Busy(FakeStation):
    """At each look 30 runs more have ended well, 10 of them at `print`, and 2 have failed."""

    def __init__(self, targets=2):
        super().__init__(self.stats)
        self.looks, self.targets, self.answers = itertools.count(), targets, True

    def stats(self, request):
        if not self.answers:
            return []
        look, word = next(self.looks), taken_apart(request)[0]
        assert word == "stats"
        target = {"connected": True, "since": 1700000000, "unanswered": 4, "failed": 0}
        told = {"version": "0.1.0", "uptime_s": 7200, "now_ms": int(time.time() * 1000),
                "plans": 1000, "queued": 900, "due": 3, "running": 12, "next": 1700000000,
                "redis_bytes": 2 << 20,
                "counters": {"accepted": 5 * look, "runs_ended_well": 30 * look,
                             "runs_failed": 2 * look},
                "targets": [
                    {**target, "name": "jobs", "sent": 22 * look, "ended_well": 20 * look,
                     "failed": 2 * look, "fresh": 10 * look, "late_ms": 500 * look},
                    {**target, "name": "print", "connected": False, "sent": 10 * look,
                     "ended_well": 10 * look, "fresh": 0, "late_ms": 0},
                    *({**target, "name": f"t{n}", "sent": 0, "ended_well": 0, "fresh": 0,
                       "late_ms": 0} for n in range(self.targets - 2))]}
        return [reply(request, 1, (STATUS, b"+ok"), (JSON, json.dumps(told).encode()))]


@pytest.fixture
def busy():
    with Busy() as station:
        yield station


def test_an_object_for_each_look(busy):
    first, second, third = objects(busy.zplan("top", "--json=wire", "-n", "3"))
    assert first["done_per_s"] is None and first["late_ms"] is None
    assert first["targets"][0]["done_per_s"] is None
    for look in (second, third):
        assert (look["due"], look["running"], look["plans"]) == (3, 12, 1000)
        rate = look["done_per_s"] / 30      # looks a second: one, where the machine keeps up
        assert rate > 0
        assert look["failed_per_s"] == pytest.approx(2 * rate)
        assert look["accepted_per_s"] == pytest.approx(5 * rate)
        assert look["late_ms"] == 50.0
        jobs, printer = look["targets"]
        assert jobs["done_per_s"] == pytest.approx(20 * rate) and jobs["late_ms"] == 50.0
        assert printer["done_per_s"] == pytest.approx(10 * rate) and printer["late_ms"] is None
        assert (jobs["unanswered"], printer["connected"]) == (4, False)


def test_plain_blocks_on_a_terminal_that_obeys_nothing(busy):
    text = busy.terminal("top", "-n", "2", env={"TERM": "dumb"}).done()
    assert "\x1b" not in text and text.count("TARGET") == 2


def test_plain_blocks_off_a_terminal(busy):
    out = busy.zplan("top", "-n", "2").done()
    assert "\x1b" not in out
    one, two = out.split("\n\nTARGET")[0], out.split("\n\n")[2]
    assert re.fullmatch(r"zplan top  tcp://\S+  20..-..-..T..:..:..Z  up 120 min\n"
                        r"plans 1000  queued 900  due 3  running 12  next \d+ \w+ ago\n"
                        r"done -/s  failed -/s  taken -/s  late - ms  Redis 2.0 MiB", one), one
    assert re.search(r"\ndone [\d.]+/s  failed [\d.]+/s  taken [\d.]+/s  late 50 ms ", two), two
    assert len(re.findall(r"^jobs +connected +4 ", out, re.M)) == 2
    assert len(re.findall(r"^print +away ", out, re.M)) == 2


def test_interval(busy):
    begin = time.monotonic()
    busy.zplan("top", "--json=wire", "-n", "2", "--interval", "3").done()
    assert time.monotonic() - begin >= 3
    assert "--interval: want seconds" in zplan("top", "--interval", "0").failed(USAGE)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_it_fits_the_terminal(columns):
    with Busy(targets=60) as station:
        terminal = station.terminal("top", "-n", "2", columns=columns, rows=20)
        text = terminal.done()
    assert text.startswith(ON) and text.endswith(OFF)
    for frame in text[len(ON):-len(OFF)].split("\x1b[H")[1:]:
        lines = [re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", line) for line in frame.split("\n")]
        assert len(lines) <= 20 and "TARGET" in frame
        assert max(map(columns_of, lines)) <= columns
        assert frame.endswith("\x1b[J")


def modes(terminal):
    return termios.tcgetattr(terminal.fd)[3] & (termios.ICANON | termios.ECHO)


@pytest.mark.parametrize("end", ["q", "Q", signal.SIGINT, signal.SIGTERM, signal.SIGHUP, "\x03"])
def test_however_it_ends_the_terminal_is_as_it_was(busy, end):
    # As a shell starts it: a session of its own, with the terminal.
    terminal = busy.terminal("top", **leader())
    before = termios.ICANON | termios.ECHO
    terminal.read(r"done [\d.]+/s")
    assert modes(terminal) == 0
    if isinstance(end, str):
        terminal.type(end)
    else:
        terminal.process.send_signal(end)
    left = terminal.read()
    assert left.endswith(OFF) and terminal.process.wait(WAIT) == 0
    assert modes(terminal) == before
    os.close(terminal.fd)


def leader():
    """A session of its own, whose terminal is standard input."""
    def take():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    return {"preexec_fn": take}


def test_other_keys_are_nothing(busy):
    terminal = busy.terminal("top", **leader())
    terminal.read(r"done [\d.]+/s")
    terminal.type("xyz\n")
    terminal.read(r"done [\d.]+/s")
    terminal.type("q")
    assert terminal.end()[0] == 0


def test_it_is_drawn_anew_when_the_terminal_changes(busy):
    terminal = busy.terminal("top", "--interval", "3600", columns=60, **leader())
    terminal.read("print")
    terminal.resize(200)
    terminal.process.send_signal(signal.SIGWINCH)
    text = terminal.read(r"SINCE.*\n.*jobs.*\n.*print.*\n")
    assert "2023-11-14T22:13:20Z" in text       # there is room for it now
    assert text.count("\x1b[H") in (1, 2)       # the terminal tells of it as well
    terminal.type("q")
    assert terminal.end()[0] == 0


def test_stopped_and_shown_again(busy):
    terminal = busy.terminal("top", **leader())
    terminal.read(r"done [\d.]+/s")
    terminal.process.send_signal(signal.SIGTSTP)
    terminal.read(re.escape(OFF))
    wait_until(lambda: stopped(terminal.process.pid), "it is stopped")
    assert modes(terminal) == termios.ICANON | termios.ECHO
    terminal.process.send_signal(signal.SIGCONT)
    terminal.read(re.escape(ON))
    terminal.read(r"done [\d.]+/s")
    terminal.type("q")
    assert terminal.end()[0] == 0


def stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def test_a_station_that_goes_away_and_comes_back(busy):
    terminal = busy.terminal("top", "--timeout", "2000", **leader())
    terminal.read(r"done [\d.]+/s")
    busy.answers = False
    terminal.read(r"no answer from")
    busy.answers = True
    terminal.read(r"(?s)\x1b\[H((?!no answer).)*\x1b\[J")
    terminal.type("q")
    assert terminal.end()[0] == 0


@pytest.mark.parametrize("what", ["key", "resize"])
def test_a_key_during_a_request_is_no_missing_answer(busy, what):
    terminal = busy.terminal("top", "--timeout", "60000", **leader())
    terminal.read(r"done [\d.]+/s")
    busy.answers = False
    while not busy.seen.empty():
        busy.seen.get()
    busy.seen.get(timeout=WAIT)         # it waits for an answer now
    busy.answers = True
    if what == "key":
        terminal.type("x")
    else:
        terminal.resize(100)
        terminal.process.send_signal(signal.SIGWINCH)
    assert "no answer" not in terminal.read(r"done [\d.]+/s")
    assert "no answer" not in terminal.read(r"done [\d.]+/s")
    terminal.type("q")
    assert terminal.end()[0] == 0


def test_off_a_terminal_a_silent_station_ends_it(busy):
    process = start("--connect", busy.endpoint, "--timeout", "2000", "top", "--json=wire")
    json.loads(process.stdout.readline())
    busy.answers = False
    out, err = process.communicate(timeout=WAIT)
    assert process.returncode == NO_ANSWER and b"no answer" in err
    assert "no answer" in busy.zplan("--timeout", "2000", "top").failed(NO_ANSWER)


def test_a_real_station(rig):
    process = start("--connect", rig.ipc("q"), "top", "--json=wire")
    last = json.loads(process.stdout.readline())
    for _ in range(5):
        rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
    done = 0
    end = time.monotonic() + WAIT
    while done < 4 and time.monotonic() < end:
        look = json.loads(process.stdout.readline())
        jobs, = (target for target in look["targets"] if target["name"] == "jobs")
        done += jobs["done_per_s"] * (look["now_ms"] - last["now_ms"]) / 1000   # 5, or nearly
        last = look
    assert 4 <= done < 7 and jobs["connected"] is True
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=WAIT)
    assert process.returncode == 0
