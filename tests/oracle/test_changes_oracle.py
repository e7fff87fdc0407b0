"""Week, month, calendar day and cron around every clock change of every zone, under every rule.

The model walks over the minutes around a change with Python's zoneinfo and knows nothing but what the
clock shows in each of them: a wall time that is shown twice is an overlap, one that is passed over is a
gap. The C answers forwards and backwards.
"""

import functools
import os
import random
import subprocess
import zoneinfo
from datetime import datetime, timedelta, timezone

import pytest

import oracle
from test_zones_oracle import PARTS, files_once, zone_names

DUMP = os.path.join(os.path.dirname(os.environ["ZPLAN_ZONE_DUMP"]), "schedule_dump")
FIRST = oracle.seconds_of(datetime(2020, 1, 1, tzinfo=timezone.utc))
LAST = oracle.seconds_of(datetime(2041, 1, 1, tzinfo=timezone.utc))
INNER, OUTER = 150, 300  # minutes on both sides of a change: what is asked, and what is walked over
GAPS = ["shift", "skip"]
OVERLAPS = ["first", "last", "both"]
DAY = 1440


def transitions(zone):
    """The instants at which the offset changes, in ascending order."""
    found = []
    before = oracle.offset_at(zone, FIRST)
    for sample in range(FIRST + 86400, LAST, 86400):
        after = oracle.offset_at(zone, sample)
        if after != before:
            low, high = sample - 86400, sample
            while high - low > 60:
                middle = (low + high) // 120 * 60
                if oracle.offset_at(zone, middle) == before:
                    low = middle
                else:
                    high = middle
            found.append(high)
        before = after
    return found


class Walk:
    """What the clock shows around a change: (minute of UTC, minute of the wall) in order."""

    def __init__(self, zone, change):
        self.change = change // 60
        self.from_minute, self.to_minute = self.change - INNER, self.change + INNER
        self.shown = []
        for minute in range(self.change - OUTER, self.change + OUTER):
            self.shown.append((minute, minute + oracle.offset_at(zone, minute * 60) // 60))
        self.walls = sorted({wall for minute, wall in self.shown if abs(minute - self.change) < 130})
        before, after = self.shown[OUTER - 1][1], self.shown[OUTER][1]
        self.left_out = range(before + 1, after)
        self.twice = range(after, before + 1)

    def expected(self, matches):
        """The occurrences in minutes under each rule, of what says which minutes of the wall it has."""
        instants = {}
        for minute, wall in self.shown:
            if matches(wall):
                instants.setdefault(wall, []).append(minute)
        is_left_out = any(matches(wall) for wall in self.left_out)
        for gap in GAPS:
            for overlap in OVERLAPS:
                chosen = {self.change} if is_left_out and gap == "shift" else set()
                for minutes in instants.values():
                    chosen.update({"first": minutes[:1], "last": minutes[-1:], "both": minutes}[overlap])
                yield gap, overlap, sorted(
                    minute for minute in chosen if self.from_minute <= minute < self.to_minute)


@functools.lru_cache(maxsize=None)
def date_of_day(day):
    return (oracle.EPOCH + timedelta(days=day)).date()


def date_of(wall):
    return date_of_day(wall // DAY)


def time_text(minute_of_day):
    return f"{minute_of_day % 60} {minute_of_day // 60}"


def chosen_wall(rng, walk):
    """A minute of the wall clock that is often one that the change touches."""
    touched = walk.left_out or walk.twice
    choice = rng.random()
    if choice < 0.6:
        return rng.choice(touched)
    if choice < 0.8:
        return rng.choice([touched[0] - 1, touched[0], touched[-1], touched[-1] + 1])
    return rng.choice(walk.walls)


def base_of(zone, wall, days_before):
    """An instant whose clock shows that time of day, so many days before."""
    moment = oracle.EPOCH + timedelta(minutes=wall - days_before * DAY)
    return oracle.instant_of(zone, moment)


def rules(rng, zone, walk):
    """(fields of the line, what it matches) for each kind."""
    wall = chosen_wall(rng, walk)
    time, day, date = wall % DAY, wall // DAY, date_of(wall)
    base = base_of(zone, wall, 9)
    if oracle.wall_at(zone, base) != oracle.EPOCH + timedelta(minutes=wall - 9 * DAY):
        base = None  # that day has no such time either
    weekday = date.isoweekday() % 7
    if base:
        yield (["week", weekday, 0, base], lambda at: at % DAY == time and (at // DAY - day) % 7 == 0)
        yield (["month", date.day, 0, base], lambda at: at % DAY == time and (
            date_of(at).day == date.day or at // DAY == day))
        step = rng.choice([1, 3])
        yield (["day", step, 1, base], lambda at: at % DAY == time and (at // DAY - day) % step == 0)

    yield (["cron", 0, 0, 0, f"{time_text(time)} * * *"], lambda at: at % DAY == time)
    step = rng.choice([1, 7, 20])
    hours = {rng.randrange(24), wall // 60 % 24, (wall // 60 + 1) % 24}
    text = f"*/{step} {','.join(map(str, sorted(hours)))} * * {weekday}"
    yield (["cron", 0, 0, 0, text], lambda at: at % 60 % step == 0 and at // 60 % 24 in hours
           and (at // DAY - day) % 7 == 0)
    other = chosen_wall(rng, walk) % DAY
    text = f"{time_text(time)} {date.day} * *|{time_text(other)} * {date.month} *"
    yield (["cron", 0, 0, 0, text], lambda at: (
        at % DAY == time and date_of(at).day == date.day) or (
        at % DAY == other and date_of(at).month == date.month))


def questions(name):
    """The lines to ask about a zone, with the answers of the model."""
    zone = zoneinfo.ZoneInfo(name)
    rng = random.Random(name)  # the same on every run
    asked = []
    for change in transitions(zone):
        walk = Walk(zone, change)
        for fields, matches in rules(rng, zone, walk):
            for gap, overlap, expected in walk.expected(matches):
                line = [name, gap, overlap, *fields[:4], walk.from_minute * 60, walk.to_minute * 60,
                        *(fields[4:] or [""])]
                asked.append(("\t".join(map(str, line)), expected))
    return asked


def ask(lines):
    done = subprocess.run([DUMP], input="\n".join(lines) + "\n", capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        forwards, backwards = line.split("|")
        yield ([int(at) / 60 for at in forwards.split()],
               [int(at) / 60 for at in reversed(backwards.split())])


def check(name):
    asked = questions(name)
    if not asked:
        return [], 0
    answers = list(ask([line for line, _ in asked]))
    if len(answers) != len(asked):
        return [f"{name}: {len(answers)} answers to {len(asked)} lines"], 0
    wrong = []
    for (line, expected), (forwards, backwards) in zip(asked, answers):
        if forwards != expected or backwards != expected:
            wrong.append(f"{line!r}: want {expected}, got {forwards} and back {backwards}")
    return wrong, len(asked)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_rule_at_every_change_of_every_zone(part):
    results = [check(name) for name in files_once(zone_names())[part::PARTS]]
    wrong = [line for lines, _ in results for line in lines]
    assert not wrong, f"{len(wrong)} differences, such as\n" + "\n".join(wrong[:20])
    assert sum(count for _, count in results) > 100000 / PARTS
