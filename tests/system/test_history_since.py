"""zplan history by time, and of failures only."""
import datetime
import time

import pytest

from clitest import FAILED, OK, USAGE, PlanStation, objects

LOST = 0x86
NOW = time.time()


@pytest.fixture(scope="module")
def station():
    with PlanStation() as self:
        for title, hours, status in [("old", 100, FAILED), ("day", 20, OK), ("bad", 3, FAILED),
                                     ("gone", 2, LOST), ("new", 1, OK)]:
            self.outcome(title, status, publish=False)
            self.runs[-1].update(fired=NOW - hours * 3600 - 1, ended=NOW - hours * 3600)
        self.unpublished("restored")        # with the time of another station, behind the newest
        self.runs[-1].update(fired=NOW - 10 ** 6, ended=NOW - 10 ** 6, status=FAILED)
        yield self


def titles(station, *args):
    return [run["title"] for run in objects(station.zplan("history", *args, "--json"))]


def utc(seconds, form):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime(form)


@pytest.mark.parametrize("args, wanted", [
    (["--since", "12h"], ["bad", "gone", "new"]),
    (["--since", "90m"], ["new"]),
    (["--since", "5m"], []),
    (["--since", "12h", "--newest"], ["new", "gone", "bad"]),
    (["--since", "12h", "-n", "2"], ["bad", "gone"]),
    (["--since", "12h", "--newest", "-n", "1"], ["new"]),
    (["--since", "7d", "--failed"], ["old", "bad", "gone"]),
    (["--failed"], ["old", "bad", "gone", "restored"]),
    (["--since", "1h30m", "--failed"], []),
    (["--since", "3"], ["gone", "new", "restored"]),
    (["--until", "90m"], ["old", "day", "bad", "gone", "restored"]),
    (["--since", "12h", "--until", "150m"], ["bad"]),
    (["--since", "90m", "--until", "12h"], []),
    (["--state", "timed out"], ["gone"]),
    (["--since", utc(NOW - 10 * 3600, "%Y-%m-%dT%H:%M")], ["bad", "gone", "new"])])
def test_since(station, args, wanted):
    assert titles(station, *args) == wanted


def test_yesterday_begins_at_midnight(station):
    midnight = NOW - NOW % 86400 - 86400
    wanted = [run["title"] for run in station.runs if run["ended"] >= midnight]
    assert titles(station, "--since", "yesterday") == wanted and "old" not in wanted


def test_the_table_is_of_the_same(station):
    heading, line = station.zplan("history", "--since", "90m").done().splitlines()
    assert heading.startswith("PLAN ") and line.startswith("new ")


@pytest.mark.parametrize("args, told", [
    (["--since", "soon"], "--since: want a duration as 12h, today, yesterday"),
    (["--since", "-5"], "--since: want a duration"), (["--since", ""], "--since: want"),
    (["--until", "soon"], "--until: want a duration"), (["--until", "7"], "--until: want"),
    (["--failed", "--state", "ok"], "--failed and --state: want one or the other"),
    (["--since", "1h", "--epoch", "e1"], "--epoch: goes with --since")])
def test_used_wrongly(station, args, told):
    assert told in station.zplan("history", *args).failed(USAGE)
