"""Expressions against Python: each method of times on random dates, texts of decimals, and random
expressions of all types."""

import calendar
import json
import math
import os
import random
import struct
import subprocess
import zoneinfo
from datetime import datetime, timedelta, timezone

import expr_model
import oracle
from expr_model import VALUES
from test_next_oracle import ODD_ZONES

DUMP = os.path.join(os.path.dirname(os.environ["ZPLAN_ZONE_DUMP"]), "expr_dump")
DATES = int(os.environ.get("ZPLAN_ORACLE_ROUNDS", "600")) * 17  # 10,200 by default
SEED = int(os.environ.get("ZPLAN_ORACLE_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
ERROR = object()  # any error


def ask(lines):
    """What the C answers to (zone, time, values, expression): values, ERROR for an error."""
    text = "".join(f"{zone}\t{time.isoformat()}\t{json.dumps(values)}\t{expression}\n"
                   for zone, time, values, expression in lines)
    done = subprocess.run([DUMP], input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return [(ERROR, answer) if answer.startswith("!") else (json.loads(answer), answer) for answer in answers]


# -- times

def month_end(year, month):
    return calendar.monthrange(year, month)[1]


def plus_months(at, count):
    number = at.year * 12 + at.month - 1 + count
    year, month = divmod(number, 12)
    if not 1 <= year <= 9999:
        raise ValueError("year")
    return at.replace(year=year, month=month + 1, day=min(at.day, month_end(year, month + 1)))


def end_of_month(at, months):
    moved = plus_months(at.replace(day=1), months)
    return moved.replace(day=month_end(moved.year, moved.month))


def epoch(at, zone):
    """The instant on the clock of a zone: the first that shows it, else the first one behind the gap."""
    if not 2 <= at.year <= 9998:
        raise ValueError("Python's zones end there")
    return oracle.instant_of(zone, at)


# Each: an expression of t and n, and what it is in Python.
TIMES = {
    "t.plusYears(n)": lambda t, n, z: plus_months(t, 12 * n),
    "t.plusMonths(n)": lambda t, n, z: plus_months(t, n),
    "t.plusWeeks(n)": lambda t, n, z: t + timedelta(weeks=n),
    "t.plusDays(n)": lambda t, n, z: t + timedelta(days=n),
    "t.plusHours(n)": lambda t, n, z: t + timedelta(hours=n),
    "t.plusMinutes(n)": lambda t, n, z: t + timedelta(minutes=n),
    "t.plusSeconds(n)": lambda t, n, z: t + timedelta(seconds=n),
    "t.withDayOfMonth(n)": lambda t, n, z: t.replace(day=n),
    "t.withMonth(n)": lambda t, n, z: t.replace(month=n),
    "t.withYear(n)": lambda t, n, z: t.replace(year=n),
    "t.with(@firstDayOfMonth())": lambda t, n, z: t.replace(day=1),
    "t.with(@lastDayOfMonth())": lambda t, n, z: end_of_month(t, 0),
    "t.with(@firstDayOfYear())": lambda t, n, z: t.replace(month=1, day=1),
    "t.with(@lastDayOfYear())": lambda t, n, z: t.replace(month=12, day=31),
    "t.with(@TemporalAdjusters@firstDayOfNextMonth())": lambda t, n, z: plus_months(t.replace(day=1), 1),
    "t.with(@TemporalAdjusters@firstDayOfNextYear())": lambda t, n, z: t.replace(year=t.year + 1, month=1, day=1),
    "t.prevMonthEnd()": lambda t, n, z: end_of_month(t, -1),
    "t.monthEnd()": lambda t, n, z: end_of_month(t, 0),
    "t.nextMonthEnd()": lambda t, n, z: end_of_month(t, 1),
    "t.year()": lambda t, n, z: t.year,
    "t.month()": lambda t, n, z: t.month,
    "t.day()": lambda t, n, z: t.day,
    "t.hour()": lambda t, n, z: t.hour,
    "t.dayOfWeek()": lambda t, n, z: t.isoweekday(),
    "t.epoch()": lambda t, n, z: epoch(t, z),
    "t.format('yyyy-MM-dd HH:mm:ss')": lambda t, n, z: t.isoformat(" "),
    "t.format('MMM MMMM E EEEE')": lambda t, n, z: " ".join((
        calendar.month_abbr[t.month], calendar.month_name[t.month],
        calendar.day_abbr[t.weekday()], calendar.day_name[t.weekday()])),
    "t.format('yy M d H h hh m s S')": lambda t, n, z:
        f"{t.year % 100:02} {t.month} {t.day} {t.hour} {t.hour % 12 or 12} {t.hour % 12 or 12:02} {t.minute} {t.second} 0",
    "t.format('D DDD a')": lambda t, n, z:
        f"{t.timetuple().tm_yday} {t.timetuple().tm_yday:03} {'PM' if t.hour >= 12 else 'AM'}",
}


def random_time(rng):
    choice = rng.random()
    year = rng.choice([1, 2, 1900, 2000, 2024, 2100, 9998, 9999]) if choice < 0.2 else rng.randrange(1, 10000)
    month = rng.randrange(1, 13)
    end = month_end(year, month)
    day = rng.choice([1, end, max(28, end - 1)]) if rng.random() < 0.4 else rng.randrange(1, end + 1)
    return datetime(year, month, day, rng.randrange(24), rng.randrange(60), rng.randrange(60))


def random_number(rng):
    choice = rng.random()
    if choice < 0.5:
        return rng.randrange(-40, 41)
    if choice < 0.9:
        return rng.choice([-1, 1]) * rng.randrange(0, 1 << rng.randrange(1, 40))
    return rng.choice([0, 2**63 - 1, -2**63, 2**31, -2**31])


def in_python(function, time, number, zone):
    try:
        value = function(time, number, zone)
    except (ValueError, OverflowError):
        return ERROR
    return value.isoformat() if isinstance(value, datetime) else value


def test_times_equal_pythons():
    """B016, B017, B018, B020, B021, B023, B024, B025, B026, B031: on random dates as in Python."""
    print(f"ZPLAN_ORACLE_SEED={SEED}")
    rng = random.Random(SEED)
    lines, wanted = [], []
    zones = sorted(rng.choice(ODD_ZONES) for _ in range(DATES))
    for name in zones:
        time, number = random_time(rng), random_number(rng)
        zone = zoneinfo.ZoneInfo(name)
        for expression, function in TIMES.items():
            if expression == "t.epoch()":
                # Where Python has no zones; its walk over a gap is slow, so one in ten.
                if not 2 <= time.year <= 9998 or rng.random() > 0.1:
                    continue
            lines.append((name, time, {"n": number}, expression))
            wanted.append(in_python(function, time, number, zone))
    for line, want, (got, text) in zip(lines, wanted, ask(lines)):
        assert type(got) is type(want) and got == want, f"seed {SEED}: {line} became {text}, not {want}"


def test_two_ways_to_the_last_day_of_the_previous_month():
    """B028, B029, B030: they agree on each day of 2023 to 2026; and 20 days before is what Python says."""
    ways = ["t.plusMonths(-1).with(@TemporalAdjusters@lastDayOfMonth()).format('yyyyMMdd')",
            "t.withDayOfMonth(1).plusDays(-1).format('yyyyMMdd')", "t.plusDays(-20).format('yyyyMMdd')"]
    days = [datetime(2023, 1, 1) + timedelta(days=day) for day in range(365 * 4 + 1)]
    assert days[-1] == datetime(2026, 12, 31)
    answers = iter(ask([("UTC", day, {}, way) for day in days for way in ways]))
    for day in days:
        last, before = day.replace(day=1) - timedelta(days=1), day - timedelta(days=20)
        wanted = [at.strftime("%Y%m%d") for at in (last, last, before)]
        assert [next(answers)[0] for _ in ways] == wanted, day


def test_epoch_around_changes():
    """The hours around changes of the clock, in both directions."""
    print(f"ZPLAN_ORACLE_SEED={SEED}")
    rng = random.Random(SEED)
    lines, wanted = [], []
    for name in ODD_ZONES:
        zone = zoneinfo.ZoneInfo(name)
        for year in rng.sample(range(1990, 2037), 3):
            start = oracle.seconds_of(datetime(year, 1, 1, tzinfo=timezone.utc))
            for day in range(365):
                if oracle.offset_at(zone, start + day * 86400) == oracle.offset_at(zone, start + (day + 1) * 86400):
                    continue
                for _ in range(4):
                    time = oracle.wall_at(zone, start + day * 86400 + rng.randrange(0, 86400))
                    time += timedelta(minutes=rng.randrange(-90, 91))
                    lines.append((name, time, {}, "t.epoch()"))
                    wanted.append(oracle.instant_of(zone, time))
    assert len(lines) > 100
    for line, want, (got, text) in zip(lines, wanted, ask(lines)):
        assert got == want, f"seed {SEED}: {line} became {text}, not {want}"


# -- random expressions

def value_of(function):
    try:
        return function(VALUES)
    except (expr_model.Failed, expr_model.Missing):
        return ERROR


def same(got, want):
    """Equal, and of equal types all through."""
    if type(got) is not type(want):
        return False
    if isinstance(want, list):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, dict):
        return got.keys() == want.keys() and all(same(got[key], want[key]) for key in want)
    return got == want


def test_expressions_equal_the_model():
    """B034: values of all types, and what becomes of them."""
    print(f"ZPLAN_ORACLE_SEED={SEED}")
    rng = random.Random(SEED)
    maker = expr_model.Maker(rng)
    lines, wanted = [], []
    while len(lines) < DATES:
        shown, function = maker.make(rng.choice([1, 2, 2, 3, 4]))
        if len(shown) < 4000:
            lines.append(("UTC", datetime(2024, 3, 31, 8, 30), VALUES, shown))
            wanted.append(value_of(function))
    # Many are errors, as types are drawn at random; enough must not be.
    assert sum(want is not ERROR for want in wanted) > DATES / 8
    for line, want, (got, answer) in zip(lines, wanted, ask(lines)):
        assert (got is ERROR) == (want is ERROR) and same(got, want), \
            f"seed {SEED}: {line[3]} became {answer}, not {'an error' if want is ERROR else want!r}"


def random_decimal(rng):
    if rng.random() < 0.5:
        return round(rng.uniform(-1, 1) * 10 ** rng.randrange(0, 12), rng.randrange(0, 9)) + 0.0
    value = struct.unpack("<d", rng.randbytes(8))[0]
    return value if math.isfinite(value) else 0.5


def test_texts_of_decimals_are_the_shortest():
    print(f"ZPLAN_ORACLE_SEED={SEED}")
    rng = random.Random(SEED)
    decimals = [random_decimal(rng) for _ in range(DATES)] + [5e-324, 2.2250738585072014e-308, 2.2250738585072009e-308]
    answers = ask([("UTC", datetime(2024, 1, 1), {"x": value}, "'' + x") for value in decimals])
    for value, (got, text) in zip(decimals, answers):
        assert got == repr(value), f"seed {SEED}: {value!r} became {text}"
