"""The last failures of a plan are kept beside it, however long ago they were, until it ends."""
import pytest

from clitest import zplan
from zplantest import FT, ST, at_once, every, later, wait_until

RETRY = {"strategy": "sequence", "sequence": [0], "max": 50}


def fail(rig, text, status=ST.FAILED):
    run = rig.jobs.recv()
    rig.jobs.finish(run, status, [(FT.STATUS, text)])
    return run.exec_id


def failures(rig, ident):
    return rig.client.done("message", ident).json.get("failures", [])


def told(rig, ident, count):
    return wait_until(lambda: len(found := failures(rig, ident)) >= count and found, f"{count} failures")


def test_the_last_five(rig):
    ident = rig.client.added(every(1, 3, retry=RETRY))
    runs = [fail(rig, b"-failed: %d" % n) for n in range(3)]
    found = told(rig, ident, 3)
    assert [run["exec_id"] for run in found] == runs[::-1]
    assert [run["reason"] for run in found] == ["-failed: 2", "-failed: 1", "-failed: 0"]
    history = rig.client.done("history", {"plan": ident, "newest": True}).json["runs"]
    assert found == [{name: value for name, value in run.items() if name in found[0]} for run in history]
    assert {"nominal", "fired", "ended", "status", "exec_id", "worker", "reason"} <= set(found[0])
    runs += [fail(rig, b"-failed", status) for status in (ST.ERROR, ST.NOT_SUPPORT + 0x40, ST.FAILED)]
    wait_until(lambda: failures(rig, ident)[0]["exec_id"] == runs[-1], "the last one")
    assert [run["exec_id"] for run in failures(rig, ident)] == runs[:0:-1]


def test_they_stay_when_a_run_ends_well(rig):
    ident = rig.client.added(every(1, 5, retry=RETRY))
    assert failures(rig, ident) == []
    run = fail(rig, b"-failed: no paper")
    rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: rig.message(ident)["real_repet"] == 1, "a run ended well")
    assert [run["reason"] for run in failures(rig, ident)] == ["-failed: no paper"] and run
    rig.restart()
    rig.jobs.recv()
    shown = zplan("--connect", rig.ipc("q"), "show", ident).done()
    assert "failures" in shown and "no paper" in shown


def test_they_go_with_the_plan(rig):
    ident = rig.client.added(at_once(retry=RETRY))
    fail(rig, b"-failed")
    told(rig, ident, 1)
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    assert not rig.db.keys("plan:failed:*")
    again = rig.client.added(at_once(retry={**RETRY, "sequence": [1000]}))
    fail(rig, b"-failed")
    told(rig, again, 1)
    rig.client.done("remove", again)
    assert not rig.db.keys("plan:failed:*")


def test_those_of_a_former_plan_of_the_id_are_not_its_own(rig):
    rig.db.lpush("plan:failed:jobs:77", b"1790000000000 \x80")
    ident = rig.client.added(later(), gid="77")
    rig.client.done("run", ident)
    rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: rig.message(ident)["exec_id"], "it ran")
    assert failures(rig, ident) == []


def test_what_was_lost(make_rig):
    """A run whose lease ended is one of them."""
    rig = make_rig("--exec-timeout", "1")
    ident = rig.client.added(at_once(retry=RETRY))
    rig.jobs.answer(rig.jobs.recv(), ST.RUNING)
    rig.jobs.recv()
    assert {run["status"] for run in told(rig, ident, 1)} == {ST.TIMEOUT}


@pytest.mark.parametrize("value", [b"", b"x", b"5 ", b" \x80", b"9999999999999999999999 \x80", b"5 \xc1"])
def test_what_somebody_wrote_there_is_passed_over(rig, value):
    ident = rig.client.added(every(1, 9, retry={**RETRY, "sequence": [1000]}))
    fail(rig, b"-failed")
    told(rig, ident, 1)
    rig.db.rpush(f"plan:failed:jobs:{ident}", value)
    assert failures(rig, ident)[0]["reason"] == "-failed"
    rig.db.delete(f"plan:failed:jobs:{ident}")
    rig.db.set(f"plan:failed:jobs:{ident}", "text")
    assert failures(rig, ident) == []


def test_an_imported_plan_begins_anew(rig, tmp_path):
    ident = rig.client.added(every(1, 9, retry={**RETRY, "sequence": [1000]}))
    fail(rig, b"-failed")
    told(rig, ident, 1)
    file = tmp_path / "plans"
    file.write_text(zplan("--connect", rig.ipc("q"), "export", "--everything").done())
    rig.client.done("remove", ident)
    zplan("--connect", rig.ipc("q"), "import", str(file)).done()
    assert failures(rig, ident) == [] and "failures" not in rig.message(ident)


def test_they_go_with_a_plan_whose_first_run_is_cancelled_in_doubt(make_rig):
    """It gave no status in time, and may run still: the cancel ends it, and nothing of the plan stays."""
    rig = make_rig("--send-timeout", "300")
    ident = rig.client.added(at_once())
    rig.jobs.recv()
    wait_until(lambda: rig.db.keys("plan:failed:*"), "it has failed")
    rig.client.done("cancel", ident)
    rig.gone(ident)
    assert not rig.db.keys("plan:failed:*")
