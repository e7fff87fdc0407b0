"""Cron expressions against Debian's python3-croniter, in UTC.

The grammar is kept to what both mean alike. Not asked of croniter 1.3, as it means something else or
nothing by it: ranges that wrap, W and LW, L-3, a step on one of the two fields of the day when the other
is restricted (POSIX takes */2 for a star, croniter does not), a list of all values beside a restricted
field (croniter takes it for a star, POSIX does not), n/step on weekdays, weekday 7 in ranges, and days
29 to 31 (croniter loses 1 March in 51 14 */15 * *).
It has the seconds last, MONL as L1, and "both must fit" as an argument.
"""

import os
import random
import subprocess
from datetime import datetime, timedelta

from croniter import croniter

import oracle

DUMP = os.path.join(os.path.dirname(os.environ["ZPLAN_ZONE_DUMP"]), "schedule_dump")
ROUNDS = int(os.environ.get("ZPLAN_ORACLE_ROUNDS", "600")) * 4
SEED = int(os.environ.get("ZPLAN_ORACLE_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()
COUNT = 12


def value(rng, low, high, names=None):
    number = rng.randrange(low, high + 1)
    if names and rng.random() < 0.4:
        name = names[number - low]
        return rng.choice([name, name.lower(), name.capitalize()])
    return str(number)


def item(rng, low, high, names=None):
    choice = rng.random()
    if choice < 0.6:
        return value(rng, low, high, names)
    start = rng.randrange(low, high)
    end = rng.randrange(start + 1, high + 1)
    step = f"/{rng.randrange(1, high - low)}" if rng.random() < 0.4 else ""
    return f"{start}-{end}{step}"


def field(rng, low, high, names=None):
    """A list, never a star."""
    return ",".join(item(rng, low, high, names) for _ in range(rng.choice([1, 1, 1, 2, 3])))


def time_field(rng, high):
    choice = rng.random()
    if choice < 0.2:
        return "*"
    if choice < 0.35:
        return f"*/{rng.randrange(1, high)}"
    if choice < 0.45:
        return f"{rng.randrange(0, high)}/{rng.randrange(1, high)}"
    return field(rng, 0, high)


def days(rng):
    """The fields of the day: for us, for croniter, and whether both must fit."""
    choice = rng.random()
    if choice < 0.2:
        return ("*", "*"), ("*", "*"), False
    if choice < 0.4:
        day = field(rng, 1, 28) if rng.random() < 0.7 else f"1-28/{rng.randrange(1, 20)}"
        return (day, "*"), (day, "*"), False
    if choice < 0.5:
        return ("L", "*"), ("L", "*"), False
    if choice < 0.65:
        weekday = field(rng, 0, 6, WEEKDAYS)
        return (rng.choice("*?"), weekday), ("*", weekday), False
    if choice < 0.75:
        number = rng.randrange(0, 7)
        return ("*", rng.choice([f"{number}L", f"{WEEKDAYS[number]}L"])), ("*", f"L{number}"), False
    if choice < 0.85:
        nth = f"#{rng.randrange(1, 6)}"
        number = rng.randrange(0, 7)
        return ("*", rng.choice([WEEKDAYS[number], str(number)]) + nth), ("*", str(number) + nth), False
    day, weekday = field(rng, 1, 28), field(rng, 0, 6, WEEKDAYS)
    both = rng.random() < 0.5
    return (day, "+" * both + weekday), (day, weekday), both


def expression(rng):
    """Ours, croniter's, and whether both fields of the day must fit."""
    ours, theirs, both = days(rng)
    month = "*" if rng.random() < 0.6 else field(rng, 1, 12, MONTHS)
    time = f"{time_field(rng, 59)} {time_field(rng, 23)}"
    seconds = time_field(rng, 59) if rng.random() < 0.25 else None
    text = f"{time} {ours[0]} {month} {ours[1]}"
    other = f"{time} {theirs[0]} {month} {theirs[1]}"
    return (text, other, both) if seconds is None else (f"{seconds} {text}", f"{other} {seconds}", both)


def becomes_a_star(text):
    fields = croniter.expand(text)[0]
    return any(fields[i] == ["*"] and text.split()[i] != "*" for i in (2, 4))


def expected(text, both, start):
    """The first occurrences from a moment on; [] when croniter finds none in its years."""
    try:
        walk = croniter(text, start - timedelta(seconds=1), day_or=not both)
        return [walk.get_next(datetime) for _ in range(COUNT)]
    except ValueError:  # none, such as 31 April; it gives up after some years as well
        return []


def question(text, start, end):
    stamp = [int((moment - oracle.EPOCH).total_seconds()) for moment in (start, end)]
    return f"UTC\tshift\tfirst\tcron\t0\t0\t0\t{stamp[0]}\t{stamp[1] + 1}\t{text}"


def test_cron_equals_croniter():
    print(f"ZPLAN_ORACLE_SEED={SEED}")
    rng = random.Random(SEED)
    asked = []
    for _ in range(ROUNDS):
        text, other, both = expression(rng)
        start = datetime(2020, 1, 1) + timedelta(seconds=rng.randrange(0, 20 * 366 * 86400))
        wanted = [] if becomes_a_star(other) else expected(other, both, start)
        if wanted:
            asked.append((text, start, wanted))
    assert len(asked) > ROUNDS * 0.8
    lines = [question(text, start, wanted[-1]) for text, start, wanted in asked]
    done = subprocess.run([DUMP], input="\n".join(lines) + "\n", capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, f"seed {SEED}: {done.stderr}"
    answers = done.stdout.splitlines()
    assert len(answers) == len(asked)
    for (text, start, wanted), answer in zip(asked, answers):
        forwards, backwards = ([oracle.EPOCH + timedelta(seconds=int(at)) for at in part.split()]
                               for part in answer.split("|"))
        told = f"seed {SEED}: {text} from {start}"
        assert forwards == wanted, told
        assert backwards[::-1] == wanted, told
