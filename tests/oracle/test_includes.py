"""The sources of the station include each other in one direction: whoever reads one file reads what is below it."""
import pathlib
import re

import pytest

SOURCES = pathlib.Path(__file__).parents[2] / "src"


def includes(folder):
    """{file: the files of the folder that it includes}; a header and its source are one."""
    names = {path.stem for path in folder.glob("*.h")}
    found = {}
    for path in folder.glob("*.[ch]"):
        told = set(re.findall(r'^#include "(\w+)\.h"', path.read_text(encoding="utf-8"), re.M))
        found.setdefault(path.stem, set()).update(told & names - {path.stem})
    return found


def cycle(found):
    """The files of a cycle, in their order; empty: there is none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):]
        if name in done:
            return []
        path.append(name)
        for other in sorted(found.get(name, ())):
            if ring := visit(other):
                return ring
        path.pop()
        done.add(name)
        return []
    return next((ring for name in sorted(found) if (ring := visit(name))), [])


@pytest.mark.parametrize("folder", ["station"])
def test_no_cycle(folder):
    assert not cycle(includes(SOURCES / folder))


def test_a_cycle_is_seen():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert not cycle({"a": {"b", "c"}, "b": {"c"}})
