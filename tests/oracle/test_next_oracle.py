"""`zplan next` against the brute-force model, on random plans."""

import os
import random
import subprocess
import zoneinfo
from datetime import datetime, timedelta, timezone

import pytest

import oracle

ROUNDS = int(os.environ.get("ZPLAN_ORACLE_ROUNDS", "600"))
SEED = int(os.environ.get("ZPLAN_ORACLE_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)

ODD_ZONES = [
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Shanghai", "Asia/Kathmandu",
    "Australia/Lord_Howe", "Africa/Casablanca", "Africa/El_Aaiun", "America/Santiago",
    "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Fakaofo", "Pacific/Chatham", "Antarctica/Troll",
    "Asia/Gaza", "Asia/Beirut", "Asia/Tehran", "Europe/Dublin", "America/Sao_Paulo",
    "America/Havana", "America/Nuuk", "America/Caracas", "Africa/Monrovia", "Africa/Cairo",
]

# Nows that lie before something odd: the missing days of the Pacific, leap years, the turn of years
# and centuries.
ODD_NOWS = [
    "2011-12-28T00:00:00", "1994-12-30T00:00:00", "1993-08-20T00:00:00", "2000-02-28T23:59:59",
    "2024-02-28T12:00:00", "2100-02-27T00:00:00", "2026-12-31T23:59:59", "2038-01-19T03:14:07",
    "1972-01-06T00:00:00", "2037-12-31T12:00:00", "2399-12-31T12:00:00", "1970-01-01T00:00:00",
]


KINDS = ["second", "minute", "hour", "day"] + ["week", "month"] * 4 + ["none", "time"]     # cron: test_cron_oracle.py


def text_of(instant):
    return (oracle.EPOCH + timedelta(seconds=instant)).strftime("%Y-%m-%dT%H:%M:%SZ")


def instant_of_text(text):
    aware = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    return oracle.seconds_of(aware)


def transition_after(zone, instant):
    """The first change of offset in the year after an instant, or None."""
    low = instant
    before = oracle.offset_at(zone, low)
    for day in range(1, 366):
        high = instant + day * 86400
        if oracle.offset_at(zone, high) != before:
            break
        low = high
    else:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if oracle.offset_at(zone, middle) == before:
            low = middle
        else:
            high = middle
    return high


def random_instant(rng, zone):
    """Often close to a clock change, sometimes anywhere."""
    instant = rng.randrange(0, 2**32)
    choice = rng.random()
    if choice < 0.15:
        instant = instant_of_text(rng.choice(ODD_NOWS)) + rng.randrange(-3600, 3600)
    elif choice < 0.6:
        instant = transition_after(zone, instant) or instant
        instant += rng.choice([-1, 0, 1, rng.randrange(-7200, 7200), rng.randrange(-90000, 90000)])
    elif choice < 0.65:
        instant = rng.randrange(0, oracle.TIME_MAX)
    return min(max(instant, 1), oracle.TIME_MAX - 40 * 366 * 86400)


def random_interval(rng, plan):
    """A value and a base that is not more than some thousands of steps from now."""
    plan["value"] = rng.choice([0, 1, 2, 7, 60, rng.randrange(1, 5000), 32766])
    step = plan["value"] * oracle.UNITS[plan["type"]] or 1
    distance = rng.choice([0, step, rng.randrange(-3, 5000) * step + rng.randrange(-1, 2),
                           rng.randrange(0, 3 * step + 1)])
    given = rng.random() < 0.8
    plan["time"] = max(plan["now"] - distance, 1) if given else 0


def random_calendar(rng, plan):
    """A value, and a time of day that is often one that a clock change touches."""
    plan["value"] = rng.randrange(0, 7) if plan["type"] == "week" else rng.randrange(-31, 32)
    if rng.random() < 0.15:
        plan["time"] = 0
        return
    plan["time"] = random_instant(rng, plan["zone"])
    # A plan that hits the change itself: its own weekday or day of the month, its time of day.
    if rng.random() < 0.5:
        change = transition_after(plan["zone"], plan["now"])
        if change is not None:
            wall = oracle.wall_at(plan["zone"], change - 1)
            wall += timedelta(seconds=rng.choice([0, 1, rng.randrange(-5400, 5400)]))
            week = wall.isoweekday() % 7
            plan["value"] = week if plan["type"] == "week" else wall.day
            target = datetime.combine(datetime(2005, 5, 5), wall.time())
            plan["time"] = oracle.instant_of(plan["zone"], target)


def random_plan(rng, names):
    name = rng.choice(ODD_ZONES) if rng.random() < 0.6 else rng.choice(names)
    zone = zoneinfo.ZoneInfo(name)
    plan = {
        "type": rng.choice(KINDS),
        "zone": zone,
        "zone_name": name,
        "keep": rng.random() < 0.4,
        "now": random_instant(rng, zone),
        "repeat": rng.choice([oracle.FOREVER, oracle.FOREVER, 1, 3, rng.randrange(1, 6000)]),
        "value": 0,
        "time": 0,
        "count": rng.choice([1, 3, 10, 25]),
    }
    if plan["type"] in oracle.UNITS:
        random_interval(rng, plan)
    elif plan["type"] in ("week", "month"):
        random_calendar(rng, plan)
    else:
        plan["repeat"] = rng.choice([oracle.FOREVER, 0, 5])
        plan["time"] = max(plan["now"] + rng.choice([-1, 0, 1, rng.randrange(-9999, 9999)]), 1)
        if plan["type"] == "none":
            plan["time"] = 0
    return plan


def command_of(rng, plan):
    program = os.path.join(os.environ["ZPLAN_BIN_DIR"], "zplan")
    repeat = "forever" if plan["repeat"] == oracle.FOREVER else str(plan["repeat"])
    command = [program, "next", "--type", plan["type"], "--now", text_of(plan["now"]),
               "-n", str(plan["count"])]
    if plan["type"] not in oracle.UNITS:    # a day in a zone is one of the calendar: test_changes_oracle
        command += ["--timezone", plan["zone_name"]]
    if plan["type"] not in ("none", "time"):
        command += ["--value", str(plan["value"])]
    if plan["time"]:
        written = rng.choice([str(plan["time"]), text_of(plan["time"])])
        command += ["--time", written]
    if repeat != "forever" or rng.random() < 0.5:
        command += ["--repeat", repeat]
    if plan["keep"]:
        command.append("--keep")
    return command


@pytest.fixture(scope="module")
def zone_names():
    names = sorted(zoneinfo.available_timezones())
    return [name for name in names if not name.startswith(("right/", "posix/"))]


def test_next_equals_the_brute_force_model(zone_names):
    print(f"ZPLAN_ORACLE_SEED={SEED} ZPLAN_ORACLE_ROUNDS={ROUNDS}")
    rng = random.Random(SEED)
    for number in range(ROUNDS):
        plan = random_plan(rng, zone_names)
        expected = [text_of(at) for at in oracle.occurrences(plan, plan["count"])] or ["never"]
        command = command_of(rng, plan)
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        told = f"seed {SEED}, plan {number}: {' '.join(command)}\n{done.stderr}"
        assert done.returncode == 0, told
        assert done.stdout.splitlines() == expected, told


@pytest.mark.parametrize("zone,wall,expected", [
    ("Europe/Berlin", "2026-03-29T02:30:00", 1774746000),
    ("America/New_York", "2026-11-01T01:30:00", 1793511000),
    ("Pacific/Apia", "2011-12-30T12:00:00", 1325239200),
    ("Australia/Lord_Howe", "2020-10-04T02:15:00", 1601739000),
    ("Africa/Monrovia", "1972-01-07T00:20:00", 63593070),
])
def test_the_model_itself(zone, wall, expected):
    assert oracle.instant_of(zoneinfo.ZoneInfo(zone), datetime.fromisoformat(wall)) == expected
