"""Rows 42 to 44 of the failure table: clocks that are set. What is due is said by Redis' clock."""
import datetime
import os
import re
import struct
import time
import zoneinfo

import pytest

from redissteps import embed_redis, health, is_taken, of_plan, runs_through, stats, told
from test_schedule_live import next_month, next_week
from zplanprocs import BIN_DIR
from zplantest import FT, ST, at_once, every, later, wait_until

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
PLACES = [os.path.join(BIN_DIR, where, "clock_shim.so") for where in ("", "../tests", "tests")]


class Clock:
    """The wall clock of one process, which the test may set while that runs."""

    def __init__(self, path):
        self.path = path
        self.set(0)
        shim = [place for place in PLACES if os.path.exists(place)]
        assert shim, f"clock_shim.so is not built: {PLACES}"
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        self.env = {"LD_PRELOAD": os.path.abspath(shim[0]), "ZPLAN_TEST_CLOCK": path,
                    "ASAN_OPTIONS": sanitizer}

    def set(self, seconds):
        self.offset = seconds
        flags = os.O_WRONLY | os.O_CREAT
        fd = os.open(self.path, flags, 0o600)
        os.pwrite(fd, struct.pack("q", int(seconds * 1000000)), 0)
        os.close(fd)

    def now(self):
        return time.time() + self.offset

    def set_to(self, when):
        self.set(when - time.time())


def redis_clock(make_rig, *args, at=None, **options):
    """A rig whose Redis has a clock of its own."""
    rig = make_rig(*args, start=False, **options)
    clock = Clock(rig.path("clock"))
    rig.redis.env = clock.env
    if at:
        clock.set_to(at)
    rig.start()
    seen = rig.redis.client().time()[0]
    assert abs(seen - clock.now()) < 5, "the shim works"
    return rig, clock


def station_clock(make_rig, *args):
    rig = make_rig(*args, start=False)
    clock = Clock(rig.path("clock"))
    rig.station.env.update(clock.env)
    return rig.start(), clock


def steps(rig):
    """The steps that the log tells, in seconds."""
    return [float(re.search(r"seconds=(-?[0-9.]+)", line)[1]) for line in told(rig, "clock.step")]


def step(rig, clock, seconds):
    """Set the clock of Redis by so much, and wait until the station has told it."""
    before = len(steps(rig))
    clock.set(clock.offset + seconds)
    wait_until(lambda: len(steps(rig)) > before, "the step is told")
    assert abs(sum(steps(rig)[before:]) - seconds) < 3, steps(rig)


# 42: the clock of Redis.

@pytest.mark.parametrize("seconds", [60, 86400])
def test_row_42_redis_forward(make_rig, seconds):
    """What is due by then is run; no more, and no run again whose lease goes on."""
    rig, clock = redis_clock(make_rig, "--exec-timeout", str(seconds + 3600))
    held = rig.client.added(at_once())
    run = of_plan(rig, held)
    rig.jobs.answer(run, ST.RUNING)
    soon, late = rig.client.added(later(seconds // 2)), rig.client.added(later(seconds + 3000))
    step(rig, clock, seconds)
    due = rig.jobs.recv()
    assert due.mailbox == b"*" + soon.encode() and due.exec_id > run.exec_id
    rig.jobs.finish(due)
    rig.gone(soon)
    rig.jobs.nothing(1.5)
    assert rig.score(late) is not None
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(held)
    assert len(steps(rig)) == 1, "told once"
    runs_through(rig)
    assert health(rig)["healthy"]


def test_row_42_an_idle_station_with_its_own_redis(make_rig):
    """It sends no batches that would tell it the time: no other station has to see that it lives."""
    rig = embed_redis(make_rig(start=False))
    clock = Clock(rig.path("clock"))
    rig.station.env.update(clock.env)
    rig.station.start()
    ident = rig.client.added(later(600))
    rig.settle()
    clock.set(590)
    rig.jobs.finish(of_plan(rig, ident))
    assert told(rig, "clock.step")


def test_row_42_redis_forward_over_a_lease(make_rig):
    """The lease is over by that clock: the run is sent again, and one of the two counts."""
    rig, clock = redis_clock(make_rig, "--exec-timeout", "30")
    ident = rig.client.added(at_once())
    first = of_plan(rig, ident)
    rig.jobs.answer(first, ST.RUNING)
    rig.state(ident, ST.RUNING)
    step(rig, clock, 60)
    second = of_plan(rig, ident)
    assert second.exec_id > first.exec_id
    rig.jobs.finish(second)
    rig.gone(ident)
    rig.jobs.answer(first, ST.OK, [(FT.LOCAL_ID, first.local_id)])
    rig.settle()
    ended = [run for run in rig.client.done("history", ident).json["runs"]
             if run["status"] == ST.OK]
    assert [run["exec_id"] for run in ended] == [second.exec_id]


@pytest.mark.parametrize("seconds", [60, 86400])
def test_row_42_redis_backward(make_rig, seconds):
    """Late by the step, never early; no exec_id is used again; a run in hand ends as it should."""
    rig, clock = redis_clock(make_rig)
    first = rig.client.added(at_once())
    run = of_plan(rig, first)
    rig.jobs.answer(run, ST.RUNING)
    ident = rig.client.added(later(3))
    step(rig, clock, -seconds)
    rig.jobs.nothing(4)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(first)
    now = rig.client.added(at_once())
    another = of_plan(rig, now)
    assert another.exec_id > run.exec_id
    rig.jobs.finish(another)
    rig.gone(now)
    step(rig, clock, seconds)
    due = of_plan(rig, ident)
    assert due.exec_id > another.exec_id
    rig.jobs.finish(due)
    rig.gone(ident)
    assert len(steps(rig)) == 2


def test_row_42_redis_to_and_fro(make_rig):
    """Plans go on being run while the clock jumps; each ends once, none is left."""
    rig, clock = redis_clock(make_rig)
    runs_through(rig)           # a claim has told the station what the clock was
    execs = []
    for turn in range(6):
        step(rig, clock, 20 if turn % 2 else -20)
        for _ in range(5):
            ident = rig.client.added(at_once())
            run = of_plan(rig, ident)
            execs.append(run.exec_id)
            rig.jobs.finish(run)
            rig.gone(ident)
    assert execs == sorted(set(execs))
    assert rig.db.zcard("plan:time:set") == 0
    assert stats(rig)["counters"]["lost_data"] == 0


# 43: the clock of the station.

@pytest.mark.parametrize("seconds", [60, -60, 86400, -86400])
def test_row_43_station(make_rig, seconds):
    """Nothing happens: times, leases and waits are as if nobody had touched it."""
    rig, clock = station_clock(make_rig)
    ident = rig.client.added(later(6))
    when = rig.message(ident)["plan_time"]
    held = rig.client.added(at_once())
    run = of_plan(rig, held)
    rig.jobs.answer(run, ST.RUNING)
    clock.set(seconds)
    base = int(time.time())
    repeated = rig.client.added(every(1, 2, no_keep=True))
    for _ in range(2):
        turn = of_plan(rig, repeated)
        assert turn.claimed >= turn.plan_time and abs(turn.plan_time - base) < 20
        rig.jobs.finish(turn)
    rig.gone(repeated)
    due = of_plan(rig, ident)
    assert due.plan_time == when and when <= due.claimed < when + 15
    rig.jobs.finish(due)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(held)
    far = rig.client.added(later(100))
    assert abs(rig.message(far)["add_time"] - time.time()) < 20
    for outcome in rig.client.done("history").json["runs"]:
        assert abs(outcome["ended"] - time.time()) < 60
    rig.jobs.nothing(1)
    assert not steps(rig) and not told(rig, "redis.down") and not told(rig, "claim.stale")


@pytest.mark.parametrize("seconds", [86400, -86400])
def test_row_43_station_that_starts_with_a_wrong_clock(make_rig, seconds):
    rig = make_rig(start=False)
    clock = Clock(rig.path("clock"))
    clock.set(seconds)
    rig.station.env.update(clock.env)
    rig.start()
    is_taken(rig)
    ident = rig.client.added(at_once())
    run = of_plan(rig, ident)
    assert abs(run.claimed - time.time()) < 20 and abs(run.plan_time - time.time()) < 20
    rig.jobs.finish(run)
    rig.gone(ident)
    clock = datetime.time(8, 30)
    moment = int(datetime.datetime(2001, 1, 3, 8, 30, tzinfo=datetime.timezone.utc).timestamp())
    before = int(time.time())
    weekly = rig.client.added(every(1, -1, kind=6, plan_time=moment))
    assert rig.message(weekly)["plan_time"] in {
        next_week(now, 1, clock, datetime.timezone.utc) for now in (before, int(time.time()))}


# 44: the calendar, lived through.

def weekly_at(hour, minute):
    """A plan of every Sunday at this hour of Berlin."""
    moment = datetime.datetime(2001, 1, 7, hour, minute, tzinfo=BERLIN)
    return every(0, -1, kind=6, plan_time=int(moment.timestamp()))


def utc(*when):
    return int(datetime.datetime(*when, tzinfo=datetime.timezone.utc).timestamp())


def test_row_44_the_hour_that_comes_twice(make_rig):
    """02:30 on the day on which the clocks go back: run once, in the first of the two hours."""
    first, second = utc(2027, 10, 31, 0, 30), utc(2027, 10, 31, 1, 30)
    rig, clock = redis_clock(make_rig, "--timezone", "Europe/Berlin", at=first - 4)
    ident = rig.client.added(weekly_at(2, 30))
    assert rig.message(ident)["plan_time"] == first
    run = of_plan(rig, ident)
    assert run.plan_time == first and run.claimed >= first
    rig.jobs.finish(run)
    after = rig.repet(ident, 1)["plan_time"]
    assert after == utc(2027, 11, 7, 1, 30)
    clock.set_to(second - 1)
    wait_until(lambda: steps(rig), "the step is told")
    rig.jobs.nothing(3)
    clock.set_to(after - 1)
    assert of_plan(rig, ident).plan_time == after


def test_row_44_the_hour_that_is_left_out(make_rig):
    """02:30 on the day on which the clocks go forward: run as the gap ends, and once."""
    wanted = utc(2027, 3, 28, 1)                # 01:59:59, and a second on it is 03:00
    rig, clock = redis_clock(make_rig, "--timezone", "Europe/Berlin", at=wanted - 4)
    ident = rig.client.added(weekly_at(2, 30))
    assert rig.message(ident)["plan_time"] == wanted
    run = of_plan(rig, ident)
    assert run.plan_time == wanted
    rig.jobs.finish(run)
    assert rig.repet(ident, 1)["plan_time"] == utc(2027, 4, 4, 0, 30)
    rig.jobs.nothing(2)


def test_row_44_the_31st_of_each_month(make_rig):
    """Over a year's ends of months, in a leap year too: the last day where there is no 31st."""
    start = utc(2027, 12, 31, 23, 59, 56)
    rig, clock = redis_clock(make_rig, at=start)
    moment = utc(2001, 1, 31, 23, 59, 59)
    ident = rig.client.added(every(31, -1, kind=7, plan_time=moment))
    wanted = utc(2027, 12, 31, 23, 59, 59)
    for turn in range(4):
        run = of_plan(rig, ident)
        assert run.plan_time == wanted, datetime.datetime.utcfromtimestamp(run.plan_time)
        rig.jobs.finish(run)
        rig.repet(ident, turn + 1)
        wanted = next_month(wanted + 1, 31, datetime.time(23, 59, 59), datetime.timezone.utc)
        assert rig.message(ident)["plan_time"] == wanted
        clock.set_to(wanted - 1)
    assert wanted == utc(2028, 4, 30, 23, 59, 59)
