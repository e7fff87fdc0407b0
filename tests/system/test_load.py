"""load: how many plans come when."""
import json
import time

from clitest import USAGE, zplan
from curvetest import CurveRig
from zplantest import ST, Client, at_once, later, wait_until


def at(time_s):
    return {"plan_type": "time", "plan_time": time_s}


def test_plans_are_counted_by_their_next_time(make_rig):
    rig = make_rig()
    start = int(time.time()) + 3600
    for offset, count in ((0, 2), (59, 1), (60, 3), (179, 1), (180, 5)):
        for _ in range(count):
            rig.client.added(at(start + offset))
    told = rig.client.done("load", {"from": start, "to": start + 180, "step": 60}).json
    assert told == {"from": start, "step": 60, "counts": [3, 3, 1], "total": 7}
    told = rig.client.done("load", {"from": start, "to": start + 61, "step": 61}).json
    assert told["counts"] == [6]


def test_a_run_in_progress_is_none_to_come(make_rig):
    """Its score is the end of its lease."""
    rig = make_rig("--exec-timeout", "120")
    rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    wait_until(lambda: rig.db.zcard("plan:time:set") == 1, "it is in flight")
    # The lease that a heartbeat has renewed is written a moment later.
    told = wait_until(lambda: (told := rig.client.done("load").json)["total"] == 0 and told, "no plan comes")
    assert len(told["counts"]) == 60 and abs(told["from"] - time.time()) < 30
    rig.jobs.finish(run)


def test_it_is_drawn(make_rig):
    rig = make_rig()
    moment = int(time.time()) + 7200
    for _ in range(3):
        rig.client.added(at(moment))
    rows = zplan("--connect", rig.ipc("q"), "load", "--hours", "3").done().splitlines()
    assert len(rows) == 61 and rows[-1] == "3 plans, 3 in the fullest row of 180 s; UTC"
    assert [row.endswith("       3  " + "#" * 50) for row in rows].count(True) == 1
    told = json.loads(zplan("--connect", rig.ipc("q"), "load", "--hours", "3", "--json").done())
    assert told["total"] == 3 and len(told["counts"]) == 60
    assert "--hours" in zplan("--connect", rig.ipc("q"), "load", "--hours", "0").failed(USAGE)


def test_what_is_refused(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    keys = rig.allow("bound", "observe", "jobs")
    rig.start()
    for wish, reason in (({"from": 1, "to": 1442, "step": 1}, "step: want 1..1440 buckets"), ({"from": 5, "to": 5}, "step: want 1..1440"),
                         ({"step": 0}, "step: want seconds"), ({"until": 5}, "'until': unknown field"), ("x", "JSON")):
        reply = rig.client.manage("load", wish if isinstance(wish, str) else json.dumps(wish))
        assert reply.code == ST.ARG_ERROR and reason in reply.text, reply.text
    assert rig.keep(Client(rig.ipc("q"), prepare=rig.with_keys(keys))).manage("load").code == ST.DENY
