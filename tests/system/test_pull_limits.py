"""Limits of plans that workers fetch: of the settings, set at run time, of groups that pushed plans are in too."""
import threading
import time

import pytest

from pulltest import STATION, Worker, add, offered, with_pile, workers
from zplantest import ST, at_once, wait_until

PILE = f"station:{STATION}"


def limit(rig, name, **rule):
    rig.client.done("limit", "set", name, rule)


def whys(rig, ident):
    return [reason["why"] for reason in rig.client.done("why", ident).json["reasons"]]


@pytest.fixture
def rig(make_rig):
    return with_pile(make_rig)


def test_the_limit_of_the_settings_holds(make_rig):
    """One at a time, however many are asked for, and by whom; the next when that has ended."""
    rig = make_rig("--station", f"{STATION}=pull,concurrency=1")
    idents = [add(rig) for _ in range(5)]
    offered(rig, *idents)
    crowd = [Worker(rig, f"w{i}") for i in range(4)]
    for ident in idents:
        for worker in crowd:
            worker.ask(limit=10)
        got = [(worker, job) for worker in crowd for job in worker.told()]
        assert [job["plan_id"] for _, job in got] == [ident]
        assert got[0][0].report(ident)["accepted"]
        rig.gone(ident, STATION)
    assert crowd[0].take(limit=10) == []


def test_who_waits_has_the_next_as_soon_as_one_ends(rig):
    """Not at the next look, a second later: the whole queue takes less than so many of them."""
    limit(rig, PILE, concurrency=1)
    idents = [add(rig) for _ in range(10)]
    offered(rig, *idents)
    crowd = [Worker(rig, "w0"), Worker(rig, "w1")]
    done, start = [], time.monotonic()
    crowd[0].ask(limit=10, wait=60)
    for nth in range(10):
        busy, next_one = crowd[nth % 2], crowd[(nth + 1) % 2]
        (job,) = busy.told()
        next_one.ask(limit=10, wait=60)
        next_one.client.socket.poll(0)
        busy.report(job["plan_id"])
        done.append(job["plan_id"])
    assert done == idents and time.monotonic() - start < 8


def test_a_rate_holds_and_wakes_who_waits(rig):
    """40 plans at 20 a second, each taken by one of several that wait: about two seconds, not 40 looks."""
    limit(rig, PILE, rate=20)
    idents = [add(rig) for _ in range(40)]
    offered(rig, *idents)
    crowd, taken = [Worker(rig, f"w{i}") for i in range(4)], []

    def work(worker):
        while len(taken) < 40:
            for job in worker.take(wait=2):
                taken.append(job["plan_id"])
                worker.report(job["plan_id"])

    start = time.monotonic()
    loops = [threading.Thread(target=work, args=(worker,)) for worker in crowd]
    for loop in loops:
        loop.start()
    wait_until(lambda: len(taken) == 40, "all were taken", 60)
    seconds = time.monotonic() - start
    for loop in loops:
        loop.join()
    assert sorted(taken) == sorted(idents) and 39 / 20 <= seconds + 0.01 and seconds < 20


def test_a_limit_of_a_group_counts_pushed_and_fetched_runs(rig):
    """One run of the group at a time, over both targets; other groups go on."""
    limit(rig, "group:disk", concurrency=1)
    pushed = rig.client.added(at_once(group="disk"))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    fetched, free = add(rig, group="disk"), add(rig, group="net")
    offered(rig, fetched, free)
    worker = Worker(rig, "w1")
    assert [job["plan_id"] for job in worker.take(limit=10)] == [free]
    worker.ask(limit=10, wait=60)
    worker.client.socket.poll(0)
    rig.jobs.answer(run, ST.OK)
    rig.gone(pushed)
    (job,) = worker.told()
    assert job["plan_id"] == fetched
    later_one = rig.client.added(at_once(group="disk"))
    (reason,) = rig.client.done("why", later_one).json["reasons"]
    assert reason["why"] == "the group disk runs as many as its limit allows (1)"
    rig.jobs.nothing(0.3)
    worker.report(fetched)
    assert rig.jobs.recv().mailbox == b"*" + later_one.encode()


def test_a_team_is_one_run(rig):
    limit(rig, PILE, concurrency=1)
    first, second = add(rig, **workers(count=2)), add(rig)
    offered(rig, first, second)
    pair = Worker(rig, "w1"), Worker(rig, "w2")
    for worker in pair:
        assert [job["plan_id"] for job in worker.take(limit=10)] == [first]
    assert pair[0].take(limit=10) == []
    assert len(whys(rig, first)) == 1
    assert whys(rig, second)[1:] == ["the target pile runs as many as its limit allows (1)"]
    for worker in pair:
        worker.report(first)
    assert pair[0].one()["plan_id"] == second


def test_a_worker_that_is_lost_leaves_its_place(rig):
    limit(rig, PILE, concurrency=1)
    first, second = (add(rig, **workers(ping_interval=1, worker_timeout=2)) for _ in range(2))
    offered(rig, first, second)
    assert Worker(rig, "w1").one()["plan_id"] == first
    worker = Worker(rig, "w2")
    assert worker.take(limit=10) == []
    got = worker.one(wait=30, limit=10)["plan_id"]
    assert got in (first, second)
