"""The headers of the scripts: what they number is what there is."""
import re

import pytest

from storescripts import SCRIPTS, SOURCES, header_numbers

NAMES = sorted(set(SOURCES) - {"plan"})
OPEN_ENDED = {"commit": 13}     # from this argument on: participant, result, ...
NOT_NUMBERED = {"stations": 2}  # its arguments are told in words


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
    elif name in OPEN_ENDED:
        first = OPEN_ENDED[name]
        assert f"unpack(ARGV, {first})" in SOURCES[name]
        assert told == list(range(1, first + 1)) and highest == different == first - 1
    elif name in NOT_NUMBERED:
        assert told == [] and highest == different == NOT_NUMBERED[name]
    else:
        assert told == list(range(1, highest + 1)) and highest == different


@pytest.mark.parametrize("name", NAMES)
def test_header_has_its_parts_in_order(name):
    text = SOURCES[name]
    assert re.match(r"#!lua( flags=allow-oom)?\n-- \S", text)
    places = [text.index(f"\n-- {part}  ") for part in ("KEYS", "ARGV") if f"-- {part}  " in text]
    places += [text.index("\n-- Answers "), text.index("\n-- Cost  "), text.index("\nlocal ")]
    assert places == sorted(places) and "\n-- KEYS  " in text


@pytest.mark.parametrize("name", NAMES)
def test_only_a_submission_is_refused_when_memory_is_full(name):
    """What was taken must be brought to its end, and looked at."""
    assert ("flags=allow-oom" in SOURCES[name].split("\n", 1)[0]) == (name != "submit")
