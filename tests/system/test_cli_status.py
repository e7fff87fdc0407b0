"""zplan status: the station on one screen."""
import json

from clitest import NO_ANSWER, FakeStation, zplan
from zplantest import ST, at_once, every, wait_until


def status(rig, *args):
    return zplan("--connect", rig.ipc("q"), "status", *args)


def test_what_runs_what_failed_and_what_comes_next(make_rig):
    rig = make_rig()
    empty = status(rig)
    assert "No plan is queued: zplan add" in empty.out and "  jobs, connected\n" in empty.out
    waiting = [rig.client.added(every(3600 * hours, 9, description=f"in {hours} h"))
               for hours in (7, 3, 1, 5, 2, 6, 4)]
    assert len(waiting) == 7
    failed = rig.client.added(at_once(description="broken", retry={"strategy": "none"}))
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED)
    running = rig.client.added(at_once(description="at work"))
    rig.jobs.answer(rig.jobs.recv(), ST.RUNING)
    rig.state(running, ST.RUNING)
    wait_until(lambda: json.loads(status(rig, "--json").out)["failed"], "the failure is kept")
    found = json.loads(status(rig, "--json").out)
    assert [plan["title"] for plan in found["coming"]] == [f"in {hours} h" for hours in range(1, 6)]
    assert [plan["id"] for plan in found["running"]] == [running]
    assert [(run["plan"], run["title"]) for run in found["failed"]] == [(failed, "broken")]
    assert "jobs" in [target["name"] for target in found["targets"]]
    lines = status(rig).done().splitlines()
    assert lines[0].startswith("healthy") and lines[1] == "Running:"
    assert lines[2].startswith(f"  {running} \"at work\", since ")
    assert lines[3] == "Failed since yesterday:" and "broken" in lines[4]
    assert lines[5] == "Next:" and lines[6].endswith(", target jobs")


def test_no_answer():
    with FakeStation(lambda request: []) as station:
        assert "no answer" in station.zplan("status", "--timeout", "300").failed(NO_ANSWER)
