"""The headers of the scripts: what they number is what there is."""
import re

import pytest

from storescripts import SCRIPTS, SOURCES, header_numbers

NAMES = sorted(set(SOURCES) - {"plan", "outcomes", "lanes", "limit_use"})     # what they share
# How many arguments there are of each run, target or count, behind the others.
GROUPS = {"submit": 2, "place": 2, "claim": 5, "commit": 14, "end": 2, "restore": 5}
OPEN_ENDED = {"commit": 2}      # as many of a group's last ones are the first of a list without end
COLUMNS = {"submit": 8, "place": 8, "end": 6}  # which argument tells how many groups stand before the columns
NOT_NUMBERED = {"stations": 2, "team": 9}  # its arguments are told in words


def used(name, table):
    """The highest index of KEYS or ARGV in the script's own text."""
    text = (SCRIPTS / f"{name}.lua").read_text()
    found = [int(number) for number in re.findall(rf"\b{table}\[(\d+)\]", text)]
    return max(found, default=0), len(set(found))


@pytest.mark.parametrize("table", ["KEYS", "ARGV"])
@pytest.mark.parametrize("name", NAMES)
def test_header_numbers_the_keys_and_arguments_that_are_used(name, table):
    told = header_numbers(name, table)
    highest, different = used(name, table)
    if table == "KEYS":
        # One may be used by the shared text alone, which knows its name.
        assert told == list(range(1, len(told) + 1)) and len(told) - 1 <= highest <= len(told)
    elif name in NOT_NUMBERED:
        assert told == [] and highest == different == NOT_NUMBERED[name]
    else:
        assert told == list(range(1, highest + 1)) and highest == different


@pytest.mark.parametrize("name", NAMES)
def test_header_numbers_the_arguments_of_a_group(name):
    """The groups begin behind the numbered arguments, and are as long as their numbers say."""
    text, size = SOURCES[name], GROUPS.get(name, 0)
    told = header_numbers(name, "ARGV", "+")
    assert told == list(range(1, size + OPEN_ENDED.get(name, 0) + 1))
    if not size:
        return
    first = len(header_numbers(name, "ARGV")) + 1
    if name in OPEN_ENDED:
        assert f"local at = {first}\n" in text and f"local FIELDS, ZEROS = {size}, " in text
    elif name in COLUMNS:
        assert first == COLUMNS[name] + 1 and "local n, MEMBERS = tonumber(ARGV[" in text
        assert f", {first} + {size} * ARGV[{COLUMNS[name]}]\n" in text
        assert f"for at = {first}, MEMBERS - 1, {size} do" in text
    else:
        assert f"for at = {first}, #ARGV, {size} do" in text
    offsets = re.findall(r"ARGV\[at \+ (\d+)\]|ARGV, places\[i\] \+ \d+, places\[i\] \+ (\d+)", text)
    assert max(int(one or other) for one, other in offsets) == size - 1


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_columns_begin_where_the_header_says(name):
    """"each key and message JSON" is a column of two; the last one is not always there."""
    header = " ".join(re.findall(r"\n--\s*(.*)", SOURCES[name].split("\nlocal")[0]))
    columns = re.search(r" by columns: (.*?)(?:, unless | Answers )", header).group(1).split("; ")
    assert all(column.startswith("each ") for column in columns)
    starts, width = [], 0
    for column in columns[:-1]:
        width += 1 + column.count(" and ")
        starts.append(width)
    code = SOURCES[name].split("local n, MEMBERS")[1].split("\n\n")[0]
    assert [int(times or 1) for times in re.findall(r"MEMBERS \+ (?:(\d+) \* )?n\b", code)] == starts


@pytest.mark.parametrize("name", NAMES)
def test_header_has_its_parts_in_order(name):
    text = SOURCES[name]
    assert re.match(r"#!lua( flags=allow-oom)?\n-- \S", text)
    places = [text.index(f"\n-- {part}  ") for part in ("KEYS", "ARGV") if f"-- {part}  " in text]
    places += [text.index("\n-- Answers "), text.index("\n-- Cost  "), text.index("\nlocal ")]
    assert places == sorted(places) and "\n-- KEYS  " in text


@pytest.mark.parametrize("name", NAMES)
def test_only_what_comes_new_is_refused_when_memory_is_full(name):
    """What was taken must be brought to its end, and looked at."""
    assert ("flags=allow-oom" in SOURCES[name].split("\n", 1)[0]) == (name not in ("submit", "place", "restore"))
