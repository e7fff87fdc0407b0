"""history by status and time: what a reader of everything would select, from a place that is found and not walked to."""
import random

import pytest

from test_archive import T0, fill, record, runs_of
from zplantest import ST

COUNT, BLOCK, STEP = 6000, 50, 1000        # outcomes; those between which others stand; ms between two
WORDS = {"ok": lambda status: status < 0x80, "timeout": lambda status: status == ST.TIMEOUT,
         "not_taken": lambda status: status == ST.NOT_WORKER, "cancelled": lambda status: status == ST.CANCELLED,
         "missed": lambda status: status == ST.MISSED,
         "failed": lambda status: status >= 0x80 and status not in (ST.TIMEOUT, ST.NOT_WORKER, ST.CANCELLED, ST.MISSED)}


@pytest.fixture(scope="module", params=[0, 7], ids=["single", "several"])
def filled(make_shared, request):
    """(rig, all its outcomes, the oldest first): broadcasts each second, some of one entry; between them others
    that were not broadcast, and in their midst 300 that were restored, with times of a week before."""
    rig = make_shared("--history-age", "315360000")
    dice = random.Random(7)
    for first in range(1, COUNT, BLOCK):
        fill(rig, BLOCK, first=first, step=STEP, several=request.param)
        seq = first + BLOCK - 1
        for sub in range(1, 301 if first == COUNT // 2 + 1 else dice.choice([1, 2, 3])):
            ended = T0 - 7 * 86400000 + sub if first == COUNT // 2 + 1 else T0 + seq * STEP + sub
            status = dice.choice([ST.OK, ST.MISSED, ST.FAILED, ST.NOT_WORKER])
            rig.db.xadd("plan:history", {"p": "2", "s": "jobs", "t": ended, "r": record(seq, status)}, id=f"{seq}-{sub}")
    return rig, runs_of(rig)


def chosen(runs, statuses, first, end):
    def fits(run):
        return (any(WORDS[one](run["status"]) if isinstance(one, str) else one == run["status"] for one in statuses or [])
                or statuses is None) and first <= run["ended"] < end
    return [run for run in runs if fits(run)]


def query_of(statuses, first, end, newest):
    return {**({"status": statuses if len(statuses) > 1 else statuses[0]} if statuses else {}),
            **({"from": first} if first else {}), **({"to": end} if end < 1e10 else {}),
            **({"newest": True} if newest else {})}


@pytest.mark.parametrize("newest", [False, True], ids=["oldest", "newest"])
def test_what_is_selected(filled, newest):
    rig, runs = filled
    dice = random.Random(newest)
    for _ in range(60):
        statuses = dice.choice([None, ["failed"], ["ok", "missed"], ["not_taken"], [ST.FAILED], ["timeout", 0x83]])
        first = dice.choice([0, round(T0 / 1000 + dice.uniform(-10, COUNT + 10), 3)])
        end = dice.choice([2e10, round((first or T0 / 1000) + dice.choice([0.5, 40, 3000]), 3)])
        wanted = chosen(runs, statuses, first, end)
        if newest and first:    # what was restored stands where that was done, before what is too early
            wanted = [run for run in wanted if run["ended"] > T0 / 1000]
        query = query_of(statuses, first, end, newest)
        assert runs_of(rig, **query) == (wanted[::-1] if newest else wanted), query
    assert len(chosen(runs, ["failed"], 0, 2e10)) > 500


def test_from_the_time_of_one_that_was_not_broadcast(filled):
    """It is later than the broadcast in front of it, and earlier than the next one."""
    rig, runs = filled
    silent = [run for run in runs if not run["seq"] and run["ended"] > T0 / 1000]
    assert len(silent) > 20
    for run in silent:
        answer = rig.client.done("history", {"from": run["ended"], "limit": 1}).json
        assert answer["runs"] == [run]


def test_after_all_broadcasts(filled):
    """Nothing is found there, and nothing is walked over."""
    rig, runs = filled
    answer = rig.client.done("history", {"from": runs[-1]["ended"] + 10, "limit": 1000}).json
    assert answer["runs"] == [] and "next" not in answer


def test_a_late_time_is_not_walked_to(filled):
    """More outcomes stand before it than a page looks at."""
    rig, runs = filled
    assert len(runs) > 6000
    first = T0 / 1000 + COUNT - 10
    answer = rig.client.done("history", {"from": first, "limit": 1000}).json
    assert "next" not in answer and answer["runs"] == chosen(runs, None, first, 2e10) and answer["runs"]
    answer = rig.client.done("history", {"from": first, "newest": True, "limit": 1000}).json
    assert "next" not in answer and len(answer["runs"]) >= 10


@pytest.mark.parametrize("value", ["good", "", [], [1, "x"], 256, -1, True, None, {}])
def test_a_status_that_is_none(filled, value):
    rig, _ = filled
    assert rig.client.refused("history", {"status": value}).startswith("status: want ok, failed")


@pytest.mark.parametrize("field", ["from", "to"])
@pytest.mark.parametrize("value", [0, -1, "1", 1e20, True, None])
def test_a_time_that_is_none(filled, field, value):
    rig, _ = filled
    assert rig.client.refused("history", {field: value}) == f"{field}: want Unix seconds"
