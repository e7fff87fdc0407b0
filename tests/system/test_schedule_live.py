"""Schedules on the real clock (proto 6): short ones run, long ones are read from Redis."""
import calendar
import datetime
import time
import zoneinfo

import pytest

from zplantest import FT, ST, at_once, every, later, new_second

UTC = datetime.timezone.utc


def next_week(now, weekday, clock, zone):
    """The next such weekday (Sunday 0) at that time of day, not before now; brute force."""
    today = datetime.datetime.fromtimestamp(now, zone).date()
    for days in range(9):
        day = today + datetime.timedelta(days)
        at = int(datetime.datetime.combine(day, clock, zone).timestamp())
        if day.isoweekday() % 7 == weekday and at >= now:
            return at
    raise AssertionError


def next_month(now, value, clock, zone):
    """The next such day of a month at that time of day, not before now; brute force."""
    today = datetime.datetime.fromtimestamp(now, zone).date()
    for days in range(70):
        day = today + datetime.timedelta(days)
        last = calendar.monthrange(day.year, day.month)[1]
        wanted = min(value, last) if value > 0 else max(last + value, 1)
        at = int(datetime.datetime.combine(day, clock, zone).timestamp())
        if day.day == wanted and at >= now:
            return at
    raise AssertionError


def first_time(rig, rule, kind, value, plan_time, clock, zone):
    """Submit; the stored time is the rule's, seen from just before or just after."""
    before = int(time.time())
    ident = rig.client.added(every(value, -1, kind=kind, plan_time=plan_time))
    message = rig.message(ident)
    wanted = {rule(now, value % 7 if kind == 6 else value, clock, zone)
              for now in (before, int(time.time()))}
    assert message["plan_time"] in wanted
    assert rig.score(ident) == message["plan_time"] or message["plan_time"] <= time.time()


CLOCKS = [datetime.time(0, 0), datetime.time(8, 30), datetime.time(23, 59, 59)]


def instant(clock, zone=UTC):
    """A plan_time of 2001 with this time of day; the day does not matter."""
    return int(datetime.datetime.combine(datetime.date(2001, 1, 3), clock, zone).timestamp())


@pytest.mark.parametrize("value", range(8))
def test_A063_A064_A065_week(shared, value):
    for clock in CLOCKS:
        first_time(shared, next_week, 6, value, instant(clock), clock, UTC)
    first_time(shared, next_week, 6, value, 0, datetime.time(0, 0), UTC)


@pytest.mark.parametrize("value", [1, 2, 15, 28, 29, 30, 31, 0, -1, -15, -30, -31])
def test_A067_A068_A069_A070_month(shared, value):
    for clock in CLOCKS:
        first_time(shared, next_month, 7, value, instant(clock), clock, UTC)
    first_time(shared, next_month, 7, value, 0, datetime.time(0, 0), UTC)


def test_A064_time_of_day_of_a_text_with_an_offset(shared):
    first_time(shared, next_week, 6, 1, "2001-01-03T08:30:00+08:00", datetime.time(0, 30), UTC)


@pytest.mark.parametrize("env", ["America/New_York", "Asia/Shanghai"])
@pytest.mark.parametrize("name", ["UTC", "Asia/Shanghai"])
def test_A072_the_zone_is_the_setting_not_the_environment(make_rig, env, name):
    rig = make_rig("--timezone", name, env={"TZ": env})
    zone = zoneinfo.ZoneInfo(name)
    clock = datetime.time(8, 30)
    # Read in the zone: this instant is 08:30 there.
    for value in range(7):
        first_time(rig, next_week, 6, value, instant(clock, zone), clock, zone)
    for value in (31, 0, -1):
        first_time(rig, next_month, 7, value, instant(clock, zone), clock, zone)
        first_time(rig, next_month, 7, value, 0, datetime.time(0, 0), zone)


def run_and_check(rig, wanted):
    """The next run has this nominal time and does not come before it."""
    run = rig.jobs.recv()
    assert run.plan_time == wanted, run
    assert run.claimed >= wanted and run.at >= wanted
    return run


# Short schedules, run.

def test_A007_A019_A020_A023_A030_A100_second(rig):
    """base + 4 k; real_repet, plan_time and score after each result; the keys go with the last."""
    base = new_second() + 1
    ident = rig.client.added(every(4, 3, plan_time=base))       # what is read of it meanwhile takes no 4 s
    for turn in (1, 2, 3):
        run = run_and_check(rig, base + 4 * turn)
        assert run.plan["real_repet"] == turn - 1
        rig.jobs.finish(run)
        if turn < 3:
            message = rig.repet(ident, turn)
            assert message["plan_time"] == base + 4 * (turn + 1) and message["base_time"] == base
            assert message["plan_state"] == 1 and message["last_state"] == ST.OK
            assert rig.score(ident) == base + 4 * (turn + 1)
    rig.gone(ident)
    rig.jobs.nothing(1.2)


def test_A007_base_is_the_moment_of_receipt(rig):
    second = new_second()
    rig.client.added(every(2, 1))
    run = rig.jobs.recv()
    # Cut to the second; receipt may have slipped into the next one.
    assert run.plan_time in (second + 2, second + 3) and run.claimed >= run.plan_time


@pytest.mark.parametrize("repet", [-1, 0, 5])
def test_A006_A031_A047_A050_time(rig, repet):
    """Not before its second, in whole seconds, and once whatever plan_repet says."""
    when = new_second() + 2
    ident = rig.client.added({"plan_type": "time", "plan_time": when, "plan_repet": repet})
    rig.jobs.finish(run_and_check(rig, when))
    rig.gone(ident)
    rig.jobs.nothing(1.2)


@pytest.mark.parametrize("age", [1, 3600, 1500000000])
def test_A048_time_that_is_past_with_no_keep(rig, age):
    when = int(time.time()) - age
    ident = rig.client.added({"plan_type": 1, "plan_time": when, "no_keep": True})
    run = rig.jobs.recv(5)
    assert run.plan_time == when
    rig.jobs.finish(run)
    rig.gone(ident)
    rig.jobs.nothing(1.2)


def test_A060_no_keep_runs_every_occurrence_one_after_the_other(rig):
    base = int(time.time()) - 5
    ident = rig.client.added(every(1, 5, plan_time=base, no_keep=True))
    start = time.monotonic()
    for turn in range(1, 6):
        run = run_and_check(rig, base + turn)
        assert not rig.jobs.socket.poll(0)      # the next waits for this one's result
        rig.jobs.finish(run)
    assert time.monotonic() - start < 4
    rig.gone(ident)


def test_A058_skipped_occurrences_use_up_repeats(rig):
    """every 2 s from now - 9: at -7, -5, -3, -1 skipped, at +1, +3, +5 run."""
    second = new_second()
    ident = rig.client.added(every(2, 7, plan_time=second - 9))
    for wanted in (second + 1, second + 3, second + 5):
        rig.jobs.finish(run_and_check(rig, wanted))
    rig.gone(ident)


def test_A057_time_lost_by_a_long_run_is_skipped(rig):
    base = new_second()
    ident = rig.client.added(every(1, -1, plan_time=base))
    run = run_and_check(rig, base + 1)
    rig.jobs.answer(run, ST.RUNING)
    rig.jobs.nothing(2.5)
    ended = int(time.time())
    rig.jobs.answer(run, ST.OK)
    message = rig.repet(ident, 1)
    assert ended <= message["plan_time"] <= time.time() + 1
    run_and_check(rig, message["plan_time"])


def test_A057_a_run_that_outlives_the_last_occurrence(rig):
    """The rest is past when the run has ended: the plan is ended too."""
    base = new_second()
    ident = rig.client.added(every(1, 3, plan_time=base))
    run = run_and_check(rig, base + 1)
    rig.jobs.answer(run, ST.RUNING)
    rig.jobs.nothing(3.2)
    rig.jobs.answer(run, ST.OK)
    rig.gone(ident)
    rig.jobs.nothing(1.2)


def test_A060_no_keep_catches_up_after_a_long_run(rig):
    base = new_second()
    rig.client.added(every(1, 3, plan_time=base, no_keep=True))
    run = run_and_check(rig, base + 1)
    rig.jobs.answer(run, ST.RUNING)
    rig.jobs.nothing(2.2)
    rig.jobs.answer(run, ST.OK)
    rig.jobs.finish(run_and_check(rig, base + 2))
    rig.jobs.finish(run_and_check(rig, base + 3))


def test_A056_value_zero(rig):
    """The first at base, the next due when the last has ended, never twice in a second."""
    base = new_second()
    ident = rig.client.added(every(0, 3, plan_time=base + 1))
    run = run_and_check(rig, base + 1)
    rig.jobs.answer(run, ST.RUNING)
    rig.jobs.nothing(1.5)
    times = [run.plan_time]
    ended = int(time.time())
    for _ in range(2):
        rig.jobs.answer(run, ST.OK)
        run = rig.jobs.recv(5)
        assert run.claimed >= run.plan_time > times[-1]
        times.append(run.plan_time)
        rig.jobs.answer(run, ST.RUNING)
    assert times[1] >= ended
    rig.jobs.answer(run, ST.OK)
    rig.gone(ident)
    rig.jobs.nothing(1.2)


def test_A056_value_zero_for_ever_does_not_busy_the_station(rig):
    rig.client.added(every(0, -1))
    times, end = [], time.monotonic() + 3
    before = rig.station.cpu_seconds()
    while time.monotonic() < end:
        if rig.jobs.socket.poll(100):
            run = rig.jobs.recv()
            assert run.claimed >= run.plan_time
            times.append(run.plan_time)
            rig.jobs.finish(run)
    rig.client.ping()
    assert times and times == sorted(set(times))        # never twice in a second
    assert rig.station.cpu_seconds() - before < 0.5


def test_A062_for_ever(rig):
    """Many runs, still queued."""
    base = int(time.time()) - 60
    ident = rig.client.added(every(1, -1, plan_time=base, no_keep=True))
    for turn in range(1, 41):
        rig.jobs.finish(run_and_check(rig, base + turn))
    assert rig.repet(ident, 40)["plan_time"] == base + 41
    assert rig.score(ident) is not None


def test_skip_set(rig):
    """Skip the first n occurrences that would run; they use up repeats."""
    base = new_second()
    ident = rig.client.added(every(1, 4, plan_time=base, skip_set=2))
    for turn in (3, 4):
        rig.jobs.finish(run_and_check(rig, base + turn))
    rig.gone(ident)


def test_A095_removed_while_it_runs(rig):
    ident = rig.client.added(every(1, 5))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    assert rig.client.manage("remove", ident).code == ST.OK
    assert not rig.left(ident)
    rig.jobs.answer(run, ST.OK)
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.settle()
    rig.jobs.nothing(1.2)
    assert not rig.left(ident)


def test_A102_many_due_at_once_fire_once_each(rig):
    when = new_second() + 2
    idents = {rig.client.added(later(plan_time=when, no_keep=True)) for _ in range(200)}    # the last may come too late
    seen = [run_and_check(rig, when) for _ in idents]
    for run in seen:
        rig.jobs.finish(run)
    assert {run.mailbox[1:].decode() for run in seen} == idents
    for ident in idents:
        rig.gone(ident)
    # A100, A102: nothing of them is left.
    assert rig.db.keys("plan:msg:*") + rig.db.keys("plan:work:*") == []
    assert rig.db.zcard("plan:time:set") == 0
    ident = rig.client.added(at_once())
    assert rig.jobs.recv().mailbox == b"*" + ident.encode()
