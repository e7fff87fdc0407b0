"""A brute-force model of the plan rules, written from the text of the rules and not from the C.

It enumerates: interval occurrences one by one from the base, calendar days one by one from a few
days before now. Zones come from Python's zoneinfo, pointed at the system's files.
"""

import calendar
import zoneinfo
from datetime import date, datetime, time, timedelta, timezone

zoneinfo.reset_tzpath(["/usr/share/zoneinfo"])

TIME_MAX = 253402300799
FOREVER = -1
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=timezone.utc)


def seconds_of(aware):
    """The instant of an aware datetime, exactly."""
    delta = aware - EPOCH_UTC
    return delta.days * 86400 + delta.seconds


def offset_at(zone, instant):
    """Seconds east of UTC at an instant."""
    delta = datetime.fromtimestamp(instant, zone).utcoffset()
    return delta.days * 86400 + delta.seconds


def wall_at(zone, instant):
    """The wall clock at an instant, as a naive datetime."""
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None)


def wall_exists(zone, naive):
    """All instants at which the wall clock shows this, found through both folds."""
    found = set()
    for fold in (0, 1):
        instant = seconds_of(naive.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc))
        if wall_at(zone, instant) == naive:
            found.add(instant)
    return found


def instant_of(zone, naive):
    """The first instant of a wall-clock time; if it never shows, the first one past it."""
    found = wall_exists(zone, naive)
    if found:
        return min(found)
    # Walk the minutes of the days around it until the clock has jumped over it, then the seconds.
    delta = naive - EPOCH
    at = delta.days * 86400 + delta.seconds - 2 * 86400
    while wall_at(zone, at) <= naive:
        at += 60
    at -= 60
    while wall_at(zone, at) <= naive:
        at += 1
    return at


def month_day(year, month, value):
    """The day of the month that a month value names."""
    last = calendar.monthrange(year, month)[1]
    if value > 0:
        return min(value, last)
    return max(last + value, 1)


def is_day(kind, value, day):
    """Whether a plan of this kind runs on this date."""
    if kind == "week":
        return day.isoweekday() % 7 == value
    return day.day == month_day(day.year, day.month, value)


def calendar_times(plan, start):
    """Ascending occurrences of a week or month plan from an instant on, to the year 9999."""
    zone = plan["zone"]
    of_day = wall_at(zone, plan["time"]).time() if plan["time"] else time(0)
    day = wall_at(zone, start).date() - timedelta(days=40)
    while True:
        if is_day(plan["type"], plan["value"], day):
            instant = instant_of(zone, datetime.combine(day, of_day))
            if instant > TIME_MAX:
                return
            if instant >= start:
                yield instant
        if day >= date(9999, 12, 28):
            return
        day += timedelta(days=1)


def interval_times(plan):
    """Every occurrence of an interval plan that it runs, from the first on."""
    base = plan["time"] or plan["now"]
    step = plan["value"] * UNITS[plan["type"]]
    at = base if step == 0 else base + step
    count = 0
    while plan["repeat"] == FOREVER or count < plan["repeat"]:
        if at > TIME_MAX:
            return
        if plan["keep"] or at >= plan["now"]:
            yield at
        at += step or 1
        count += 1


def occurrences(plan, count):
    """The first `count` occurrences of a plan submitted at plan["now"]."""
    kind = plan["type"]
    if kind == "none":
        return [plan["now"]]
    if kind == "time":
        return [plan["time"]] if plan["time"] >= plan["now"] or plan["keep"] else []
    if kind in UNITS:
        times = interval_times(plan)
    else:
        times = calendar_times(plan, plan["now"])
        if plan["repeat"] != FOREVER:
            count = min(count, plan["repeat"])
    result = []
    for at in times:
        if len(result) == count:
            break
        result.append(at)
    return result
