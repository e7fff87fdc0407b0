"""The rows of the plan document about time that need a virtual clock: the preview is that clock."""
import os
import subprocess

import pytest

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ZPLAN = os.path.join(os.environ.get("ZPLAN_BIN_DIR", os.path.join(REPO, "build", "src")), "zplan")
NOW = "2026-01-30T23:59:00Z"


def preview(*args):
    done = subprocess.run([ZPLAN, "next", "--now", NOW, *args], capture_output=True, text=True,
                          timeout=60, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("kind, second", [
    ("minute", "2026-01-31T00:01:00Z"), ("hour", "2026-01-31T01:59:00Z"),
    ("day", "2026-02-01T23:59:00Z")], ids=["A008-minute", "A009-hour", "A010-day"])
def test_A008_A009_A010_units(kind, second):
    assert preview("--type", kind, "--value", "2", "--repeat", "1") == [second]
    assert preview("--type", kind, "--value", "1", "--repeat", "2")[1] == second


def test_A010_a_day_is_24_hours_unless_the_plan_has_a_zone():
    """Across a change of the clocks the wall time moves, but not in a zone of the plan's own."""
    day = ("--type", "day", "--value", "1", "--time", "2026-03-28T12:00:00Z", "--repeat", "2")
    assert preview(*day) == ["2026-03-29T12:00:00Z", "2026-03-30T12:00:00Z"]
    assert preview(*day, "--timezone", "Europe/Berlin") == ["2026-03-29T11:00:00Z", "2026-03-30T11:00:00Z"]


def test_A011_A066_week_ends_after_its_repeats():
    assert preview("--type", "week", "--value", "1", "--repeat", "2") == [
        "2026-02-02T00:00:00Z", "2026-02-09T00:00:00Z"]


def test_A012_month_ends_after_its_repeats():
    assert preview("--type", "month", "--value", "31", "--repeat", "3") == [
        "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"]
