"""list of many plans: every page is bounded, in what it holds and in what the station looks at for it.

With 20,000 plans; with 1,000,000 when ZPLAN_SLOW=1 is set. How long a page takes is told by
tests/bench/list_pages.py.
"""
import bisect
import fnmatch
import os
import pathlib
import sys

import pytest

from zplantest import FT, later

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import list_pages   # noqa: E402

PLANS = 1000000 if os.environ.get("ZPLAN_SLOW") == "1" else 20000
LOOKED_AT_MAX = 10000       # plans that a page may pass over
NAMES = {"queue": 1, "pause": 5, "day": 5, "second": 2}


@pytest.fixture(scope="module")
def many(make_shared):
    """(rig, the ids in their order, id -> number of the plan)"""
    rig = make_shared()
    list_pages.fill(rig, PLANS)
    numbers = {list_pages.ident_of(number): number for number in range(PLANS)}
    assert len(numbers) == PLANS
    return rig, sorted(numbers), numbers


def wanted(numbers, query):
    """The ids that this filter is to find."""
    def fits(number):
        station, kind, state, title = list_pages.plan_of(number)
        return (query.get("station", station) == station
                and NAMES.get(query.get("type"), kind) == kind
                and NAMES.get(query.get("state"), state) == state
                and fnmatch.fnmatchcase(title, query.get("title", "*")))
    return sorted(ident for ident, number in numbers.items() if fits(number))


@pytest.mark.parametrize("query", [*list_pages.QUERIES, {"type": "second", "state": "pause"},
                                   {"limit": 1000}, {"limit": 7, "state": "pause"}], ids=str)
@pytest.mark.timeout(1200)
def test_every_page_is_bounded(many, query):
    """All plans of a filter, each once, in the order of their ids; no page looks at too many."""
    rig, idents, numbers = many
    limit = query.get("limit", 100)
    found, after, place = [], {}, 0
    while True:
        reply = rig.client.done("list", {**query, **after})
        plans = reply.json["plans"]
        assert len(plans) <= limit and len(reply.get(FT.JSON)) < 4 << 20
        found += [plan["plan_id"] for plan in plans]
        cursor = reply.json.get("next")
        passed = bisect.bisect_right(idents, int(cursor, 16)) if cursor else len(idents)
        assert passed - place <= LOOKED_AT_MAX
        assert cursor is None or passed > place, "a page without progress"
        place, after = passed, {"after": cursor}
        if not cursor:
            break
    assert found == wanted(numbers, query)


def test_pages_of_large_plans_are_bounded_too(rig):
    """In bytes: they hold fewer than asked for, and go on."""
    idents = {rig.client.added(later(), more=[(FT.BIN, b"\xff" * 900000)]) for _ in range(25)}
    found, query, pages = [], {"limit": 1000}, 0
    while True:
        answer = rig.client.done("list", query).json
        found += [f"{plan['plan_id']:x}" for plan in answer["plans"]]
        pages += 1
        if "next" not in answer:
            break
        query["after"] = answer["next"]
    assert len(found) == 25 and set(found) == idents and pages > 2
