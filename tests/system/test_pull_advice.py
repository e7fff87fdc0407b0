"""What a worker says of the retry of a run that it reports: final, retry_after, release."""
import time

import pytest

from pulltest import STATION, Worker, add, with_pile, workers
from zplantest import ST, wait_until

FAILURE = 1     # of verdict
RETRIES = {"retry": {"strategy": "fixed", "interval": 1, "max": 3}}


@pytest.fixture
def rig(make_rig):
    return with_pile(make_rig)


@pytest.fixture
def worker(rig):
    return Worker(rig, "w1")


def runs(rig, ident):
    return [run["status"] for run in rig.client.done("history", ident).json["runs"]]


def score(rig, ident):
    """When it is due, Unix seconds."""
    return rig.db.zscore("plan:time:set", rig.key(ident, STATION))


def test_final_is_not_retried(rig, worker):
    ident = add(rig, **RETRIES)
    worker.one()
    assert worker.report(ident, "fail", reason="gone for good", final=True)["accepted"]
    rig.state(ident, ST.FAILED, STATION)
    stored = rig.message(ident, STATION)
    assert (stored["error_count"], stored["verdict"], stored["error_info"]) == (1, FAILURE, "w1: gone for good")
    assert score(rig, ident) is None


def test_retry_after_replaces_the_delay_and_counts(rig, worker):
    ident = add(rig, **RETRIES, **workers(again=True))
    worker.one()
    before = time.time()
    assert worker.report(ident, "fail", retry_after=500)["accepted"]
    wait_until(lambda: rig.message(ident, STATION)["error_count"] == 1, "the failure is written")
    wait_until(lambda: before + 499 <= (score(rig, ident) or 0) <= time.time() + 501, "it is put off")
    assert worker.take() == []


def test_a_released_run_is_no_try(rig, worker):
    ident = add(rig, **RETRIES)
    for _ in range(6):      # more often than it may be retried
        worker.one()
        assert worker.report(ident, "release", after=0, reason="held back until noon")["accepted"]
    worker.one()
    assert worker.report(ident)["accepted"]
    rig.gone(ident, STATION)
    assert runs(rig, ident) == [ST.OK]


def test_a_released_run_is_due_again_behind_its_time(rig, worker):
    ident = add(rig)
    worker.one()
    before = time.time()
    assert worker.report(ident, "release", after=500, reason="held back until noon")["accepted"]
    wait_until(lambda: before + 499 <= (score(rig, ident) or 0) <= time.time() + 501, "it is put off")
    stored = rig.message(ident, STATION)
    wait_until(lambda: "w1: held back until noon" in str(rig.client.done("why", ident).json), "why says it")
    assert stored.get("error_count", 0) == 0 and stored.get("real_repet", 0) == 0
    assert worker.stop(ident) == "the run is over"


@pytest.mark.parametrize("state, more, reason", [
    ("success", {"final": True}, "final: belongs to state fail"),
    ("success", {"retry_after": 1}, "retry_after: belongs to state fail"),
    ("fail", {"after": 1}, "after: belongs to state release"),
    ("fail", {"final": True, "retry_after": 1}, "retry_after: nothing is tried after final; give only one"),
    ("fail", {"retry_after": 86401}, "retry_after: want seconds, 0..86400"),
    ("fail", {"final": 1}, "final: want true or false"),
    ("release", {"after": -1}, "after: want seconds, 0..86400"),
    ("release", {"result": 1}, "result: a run that is released has none"),
    ("released", {}, "state: want success, fail or release"),
])
def test_what_does_not_go_together(rig, worker, state, more, reason):
    ident = add(rig)
    worker.one()
    assert worker.refused(ident, state, **more) == reason
    assert worker.report(ident)["accepted"]


def test_a_run_of_several_workers_is_not_released(rig, worker):
    ident = add(rig, **workers(count=2))
    worker.one()
    assert worker.refused(ident, "release") == "report: release: the plan has more than one worker"
