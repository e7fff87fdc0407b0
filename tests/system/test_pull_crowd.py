"""Many workers fetch plans at once (rows E036, E039, C029, C030, E019): none too often, none lost."""
import json
import threading
import time

import pytest

from faulttest import Pair, history
from pulltest import STATION, Worker, add, offered, states, with_pile, workers
from zplantest import CMD, ST, at_once, plan_frames, wait_until


def crowd_of(rig, count, endpoints=None):
    return [Worker(rig, f"w{i}", endpoints and endpoints[i % len(endpoints)]) for i in range(count)]


def submit(rig, count, **fields):
    """So many plans at once; their ids."""
    for _ in range(count):
        rig.client.send(CMD.PLAN, plan_frames(at_once(**fields), station=STATION))
    replies = [rig.client.recv() for _ in range(count)]
    assert {reply.code for reply in replies} == {ST.PLAN}
    return [reply.get(1).decode() for reply in replies]


def race(crowd, **wish):
    """All ask at once; worker -> the jobs it got."""
    for worker in crowd:
        worker.ask(**wish)
    return {worker.name: worker.told() for worker in crowd}


@pytest.mark.parametrize("count", [1, 2, 7])
def test_E039_fifty_workers_race(make_rig, count):
    rig = with_pile(make_rig)
    crowd = crowd_of(rig, 50)
    ident = add(rig, **workers(count=count))
    offered(rig, ident)
    got = race(crowd)
    winners = {name for name, jobs in got.items() if jobs}
    assert len(winners) == count and all(len(jobs) <= 1 for jobs in got.values())
    assert states(rig, ident) == ("running", {name: "running" for name in winners})
    for worker in crowd:
        if worker.name in winners:
            worker.report(ident)
    rig.gone(ident, STATION)
    assert len(history(rig, plan=ident)) == 1


def test_E039_fifty_wait_at_a_station_that_takes_over(make_rig, request):
    """Those that wait race as well, also when they had asked the station before, or this one too early."""
    rig = with_pile(make_rig)
    pair = Pair(rig)
    request.addfinalizer(pair.close)
    pair.start()
    before = crowd_of(rig, 50)
    for worker in before:
        worker.ask(wait=60)
    for worker in before:
        worker.client.send(CMD.PING)
        assert worker.client.recv().code == ST.OK
    crowd = crowd_of(rig, 50, [pair.endpoints[1]])
    for worker in crowd[:25]:
        worker.ask(wait=10)
    pair.stations[0].kill()
    pair.takes_over()
    for worker in crowd[25:]:
        worker.ask(wait=10)
    ident = add(rig, **workers(count=2))
    got = {worker.name: worker.told(30) for worker in crowd}
    winners = {name for name, jobs in got.items() if jobs}
    assert len(winners) == 2 and states(rig, ident) == ("running", {name: "running" for name in winners})


class Loop(threading.Thread):
    """A worker that takes and reports until it is told to stop. Its station may be killed."""

    def __init__(self, worker, stop):
        super().__init__()
        self.worker, self.stop, self.done = worker, stop, []

    def ask(self, word, what):
        """The answer; None when none came."""
        self.worker.client.send(CMD.NONE, [(ord("$"), word.encode()), (ord("%"), what)])
        if not self.worker.client.socket.poll(3000):
            return None
        return self.worker.client.recv()

    def run(self):
        while not self.stop.is_set():
            wish = {**self.worker.wish(limit=5, wait=1)}
            reply = self.ask("take", json.dumps(wish).encode())
            if reply is None or reply.code != ST.OK or reply.get(ord("J")) is None or "jobs" not in reply.json:
                time.sleep(0.05)
                continue
            for job in reply.json["jobs"]:
                self.report(job)

    def report(self, job):
        """Until it is answered: the same again counts once."""
        text = json.dumps({"plan": job["plan_id"], "worker": self.worker.name, "exec_id": job["exec_id"],
                           "state": "success"}).encode()
        while not self.stop.is_set():
            reply = self.ask("report", text)
            if reply is not None and reply.code in (ST.OK, ST.ARG_ERROR):
                self.done.append((job["plan_id"], reply.code == ST.OK))
                return
            time.sleep(0.05)


def work_off(rig, crowd, meanwhile=None, timeout=60):
    """Let the crowd work until no plan is left; what each has reported."""
    stop = threading.Event()
    loops = [Loop(worker, stop) for worker in crowd]
    for loop in loops:
        loop.start()
    try:
        if meanwhile:
            meanwhile()
        wait_until(lambda: not rig.db.keys("plan:msg:*"), "no plan is left", timeout)
    finally:
        stop.set()
        for loop in loops:
            loop.join()
    return [one for loop in loops for one in loop.done]


def test_C030_a_thousand_tasks_and_twenty_workers(make_rig):
    """Each once: taken by one worker, reported once, one outcome; the station has nothing left of them."""
    rig = with_pile(make_rig)
    idents = submit(rig, 1000)
    done = work_off(rig, crowd_of(rig, 20))
    assert sorted(done) == sorted((ident, True) for ident in idents)
    runs = history(rig)
    assert sorted(run["plan"] for run in runs) == sorted(idents)
    assert {run["status"] for run in runs} == {ST.OK}
    assert not rig.db.keys("plan:team:*") and not rig.stats(STATION)["offered"]


def test_E019_each_of_several_workers_once(make_rig):
    """count 3: three reports of each task, by three workers."""
    rig = with_pile(make_rig)
    idents = submit(rig, 60, **workers(count=3))
    done = work_off(rig, crowd_of(rig, 8))
    assert sorted(done) == sorted((ident, True) for ident in idents for _ in range(3))
    assert len(history(rig)) == 60


def test_E011_a_station_killed_again_and_again_loses_no_task(make_rig):
    """A take or a report whose answer is lost: the worker is given up, or repeats its report. No task is lost,
    and none ends twice."""
    rig = with_pile(make_rig)
    idents = submit(rig, 200, **workers(ping_interval=1, worker_timeout=2))

    def kills():
        for _ in range(4):
            time.sleep(0.3)         # in the middle of it, wherever that is
            rig.station.kill()
            rig.station.start()
    work_off(rig, crowd_of(rig, 6), kills, 120)
    runs = history(rig)
    assert sorted(run["plan"] for run in runs) == sorted(idents)
    assert {run["status"] for run in runs} == {ST.OK}
