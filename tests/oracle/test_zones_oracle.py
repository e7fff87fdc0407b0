"""Every zone of tzdata, every transition 2000..2100: the C reader against Python's zoneinfo.

Python's offset is sampled by the wall clock, and between two samples that differ the change is found by
bisection. Samples are half a day apart while laws have made the changes, and a day apart once only the
rule of the footer is left, whose two changes a year are weeks apart.
"""

import os
import subprocess
import zoneinfo
from datetime import datetime, timedelta, timezone

import pytest

import oracle

PARTS = 8   # of all zones: each a test, which runs beside others
FIRST = oracle.seconds_of(datetime(2000, 1, 1, tzinfo=timezone.utc))
LAST = oracle.seconds_of(datetime(2101, 1, 1, tzinfo=timezone.utc))
RULE_ONLY = oracle.seconds_of(datetime(2040, 1, 1, tzinfo=timezone.utc))
AROUND = [-90000, -7200, -3600, -1800, -1, 0, 1, 1800, 3600, 7200, 90000]
WALLS = [-3601, -1801, -2, -1, 0, 1, 899, 1799, 1800, 3599, 3600, 3601]

WALL_SECONDS = [*range(FIRST, RULE_ONLY, 12 * 3600), *range(RULE_ONLY, LAST, 86400)]
# Once for all zones. A zone gives the offset at a wall time without making a datetime, which a sample of UTC would take.
SAMPLES = [oracle.EPOCH + timedelta(seconds=wall) for wall in WALL_SECONDS]


def transitions(zone):
    """Ascending (instant, offset before, offset after)."""
    found = []
    offsets = list(map(zone.utcoffset, SAMPLES))
    for index in range(1, len(offsets)):
        if offsets[index] != offsets[index - 1]:
            before, after = (int(offset.total_seconds()) for offset in offsets[index - 1:index + 1])
            low = WALL_SECONDS[index - 1] - before
            while oracle.offset_at(zone, low) != before:    # that wall time is in the gap of the change
                low -= 3600
            found.append(bisect(zone, low, WALL_SECONDS[index] - after))
    return found


def bisect(zone, low, high):
    before, after = oracle.offset_at(zone, low), oracle.offset_at(zone, high)
    while high - low > 1:
        middle = (low + high) // 2
        if oracle.offset_at(zone, middle) == before:
            low = middle
        else:
            high = middle
    return high, before, after


def questions(name):
    """The lines to ask about a zone, with the answers that Python gives."""
    zone = zoneinfo.ZoneInfo(name)
    asked = []
    for instant, before, after in transitions(zone):
        for delta in AROUND:
            asked.append((f"{name} {instant + delta}", oracle.offset_at(zone, instant + delta)))
        for edge in {instant + before, instant + after}:
            for delta in WALLS:
                wall = oracle.EPOCH + timedelta(seconds=edge + delta)
                asked.append((f"{name} L {edge + delta}", expected_instant(
                    zone, wall, instant, before, after)))
    for instant in range(FIRST, LAST, 97 * 86400):
        asked.append((f"{name} {instant}", oracle.offset_at(zone, instant)))
    return asked


def expected_instant(zone, wall, instant, before, after):
    """As oracle.instant_of, but the gap is known, so there is no walk."""
    found = oracle.wall_exists(zone, wall)
    if found:
        return min(found)
    edge = oracle.EPOCH + timedelta(seconds=instant)
    if edge + timedelta(seconds=before) <= wall < edge + timedelta(seconds=after):
        return instant
    return oracle.instant_of(zone, wall)


def ask(lines):
    done = subprocess.run([os.environ["ZPLAN_ZONE_DUMP"]], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def zone_names():
    names = zoneinfo.available_timezones()
    return sorted(name for name in names if not name.startswith(("right/", "posix/")))


def check(name):
    asked = questions(name)
    answers = ask([line for line, _ in asked])
    if len(answers) != len(asked):
        return [f"{name}: {len(answers)} answers to {len(asked)} lines"]
    return [f"'{line}': zoneinfo says {expected}, zone.c says {answer}"
            for (line, expected), answer in zip(asked, answers) if answer != expected]


def files_once(names):
    """One name for each different file: links and equal files give equal answers."""
    first = {}
    for name in names:
        with open(f"/usr/share/zoneinfo/{name}", "rb") as file:
            first.setdefault(file.read(), name)
    return sorted(first.values())


@pytest.mark.parametrize("part", range(PARTS))
def test_every_transition_of_every_zone(part):
    names = files_once(zone_names())
    assert len(names) > 250
    wrong = [line for name in names[part::PARTS] for line in check(name)]
    assert not wrong, f"{len(wrong)} differences, such as\n" + "\n".join(wrong[:20])


def test_every_name_loads():
    names = zone_names()
    lines = [f"{name} 1700000000" for name in names]
    expected = [oracle.offset_at(zoneinfo.ZoneInfo(name), 1700000000) for name in names]
    assert ask(lines) == expected
