"""Targets that take few plans or none hold up nobody else, and what waits for them is kept.

More plans are due than a target may have out (max_runs_target); what becomes of the others, in their
order, after a restart too. And floods: everything is answered, by PLAN or by BUSY with a time to wait.
"""
import re

import pytest

from zplantest import CMD, ST, at_once, later, plan_frames, wait_until

MOST = 8
BOUNDS = ("--max-runs-target", str(MOST), "--send-timeout", "60000")
PLANS = 300


def backlog(rig, station="jobs", count=PLANS):
    """So many plans that are due, in the order of their times; their ids."""
    ids = []
    for number in range(count):
        plan = at_once(plan_type="time", plan_time=later()["plan_time"], no_keep=True)
        ids.append(rig.client.added(plan, station=station))
    rig.db.zadd("plan:time:set", {rig.key(ident, station): 1 + number for number, ident in enumerate(ids)})
    return ids


def taken(target, count):
    return [target.recv() for _ in range(count)]


def answer_all(target, ids, runs):
    """Each run is answered, which makes room for the next; the ids in the order in which they came."""
    seen = []
    while len(seen) < len(ids):
        run = runs.pop(0) if runs else target.recv()
        seen.append(run.mailbox[1:].decode())
        target.finish(run)
    return seen


def waiting(rig, station="jobs"):
    return rig.ready(station)


def test_a_target_that_answers_nothing_holds_up_nobody(make_rig):
    """Its plans are older than the other's, and hundreds."""
    rig = make_rig(*BOUNDS)
    ids = backlog(rig)
    runs = taken(rig.jobs, MOST)
    for _ in range(20):
        ident = rig.client.added(at_once(), station="news")
        run = rig.news.recv()
        assert run.mailbox == b"*" + ident.encode()
        rig.news.finish(run)
    rig.jobs.nothing(0.1)
    wait_until(lambda: waiting(rig) == PLANS - MOST, "the others wait for their turn")
    assert rig.db.zcard("plan:time:set") == PLANS, "and are in the queue all the same"
    assert answer_all(rig.jobs, ids, runs) == ids
    wait_until(lambda: not waiting(rig) and not rig.db.keys("plan:msg:*"), "nothing is left")


def test_what_waits_outlives_the_station(make_rig):
    rig = make_rig(*BOUNDS, "--exec-timeout", "60")
    ids = backlog(rig)
    out = {run.mailbox[1:].decode() for run in taken(rig.jobs, MOST)}
    wait_until(lambda: waiting(rig) == PLANS - MOST, "the others wait for their turn")
    rig.station.kill()
    rig.jobs.close()
    rig.jobs.open()
    rig.station.start()
    rest = [ident for ident in ids if ident not in out]
    assert answer_all(rig.jobs, rest, []) == rest


@pytest.mark.parametrize("change", ["remove", "pause"])
def test_what_waits_obeys_its_manager(make_rig, change):
    rig = make_rig(*BOUNDS)
    ids = backlog(rig, count=40)
    runs = taken(rig.jobs, MOST)
    wait_until(lambda: waiting(rig) == 40 - MOST, "the others wait for their turn")
    rig.client.done(change, ids[-1])
    assert answer_all(rig.jobs, ids[:-1], runs) == ids[:-1]
    rig.jobs.nothing(0.3)
    assert (rig.message(ids[-1]) is None) == (change == "remove")


def test_plans_of_a_target_that_is_not_there_hold_up_nobody(make_rig):
    rig = make_rig(*BOUNDS)
    rig.jobs.close()
    wait_until(lambda: not rig.client.done("station", "list").json["stations"][0]["connected"],
               "the target is lost")
    ids = backlog(rig)
    for _ in range(20):
        ident = rig.client.added(at_once(), station="news")
        run = rig.news.recv()
        assert run.mailbox == b"*" + ident.encode()
        rig.news.finish(run)
    wait_until(lambda: rig.message(ids[-1])["last_state"] == ST.SEND_ERROR, "each is told as not sent")
    rig.jobs.open()
    assert set(answer_all(rig.jobs, ids, [])) == set(ids)


def test_a_flood_that_reads_no_reply(make_rig):
    """More plans than may be under way before a reply is read: each is stored, or refused with a time."""
    rig = make_rig("--max-requests", "256")
    total = 2500    # what the queues of replies hold
    dealer = rig.dealer()
    for number in range(total):
        dealer.send(CMD.PLAN, plan_frames(later(), gid=f"{number + 1:x}"))
    stored = 0
    for _ in range(total):
        reply = dealer.recv()
        if reply.code == ST.PLAN:
            stored += 1
        else:
            assert reply.code == ST.BUSY and re.search(r"try again in \d+ ms", reply.text), reply
    assert stored and rig.db.zcard("plan:ids") == stored
    assert rig.client.added(later())
