"""The station and its Redis are killed at one moment: what was claimed is run again soon, not after a whole lease.

plan_exec_timeout is 300 s in all of these, longer than a test.
"""
import collections
import signal
import time

import pytest

from faulttest import Pair, freeze, history, is_whole, resend, silent, thaw
from zplantest import FT, ST, at_once, later, wait_until

ALWAYS = ("--appendfsync", "always")
FIRST = 6       # the first lease: plan_send_timeout of 3 s, and 3 s


def kill_both(rig):
    rig.station.kill()
    rig.redis.signal(signal.SIGKILL)
    rig.redis.process.wait()


def start_both(rig):
    rig.redis.start()
    rig.station.start()
    rig.client = rig.dealer()


def done(rig, run):
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])


def due_together(rig, count):
    """Plans that are due in one moment; their ids."""
    at = int(time.time()) + 2
    return [rig.client.added(later(plan_repet=1, no_keep=True, plan_time=at)) for _ in range(count)]


@pytest.mark.parametrize("answered", [0, 1, 100])
def test_all_run_within_seconds(make_rig, answered):
    """Killed when none, one, or some are done: each is done once, and what was sent twice has two numbers."""
    rig = make_rig(redis_args=ALWAYS)
    idents = due_together(rig, 300)
    runs = []
    while len(runs) < max(answered, 1):
        runs.append(rig.jobs.recv())
        if answered:
            done(rig, runs[-1])
    kill_both(rig)
    start_both(rig)
    began = time.monotonic()

    def over():
        while rig.jobs.socket.poll(100):
            runs.append(rig.jobs.recv())
            done(rig, runs[-1])
        return not rig.db.keys("plan:msg:*")
    wait_until(over, "no plan is left", 100)
    assert time.monotonic() - began < 60
    execs = [run.exec_id for run in runs]
    assert len(set(execs)) == len(execs) and {run.mailbox[1:].decode() for run in runs} == set(idents)
    good = collections.Counter(run["plan"] for run in history(rig) if run["status"] == ST.OK)
    assert good == collections.Counter(idents)
    is_whole(rig)


def test_a_run_in_progress_keeps_its_lease(make_rig):
    """RUNING was written: it is not sent again, and its result counts by the request socket."""
    rig = make_rig(redis_args=ALWAYS)
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    assert rig.score(ident) < run.exec_id / 1e6 + FIRST + 1
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    assert rig.score(ident) > run.exec_id / 1e6 + 290
    kill_both(rig)
    start_both(rig)
    rig.jobs.nothing(FIRST + 2)
    resend(rig, ident, run)
    rig.gone(ident)


def test_a_run_whose_owner_lives_is_not_sent_again(make_rig, request):
    """Redis was away for longer than the first lease: the owner is still the owner, and writes what it knows first."""
    rig = make_rig(redis_args=ALWAYS)
    pair = Pair(rig)
    request.addfinalizer(pair.close)
    pair.start()
    token = pair.token()
    idents = [rig.client.added(at_once()) for _ in range(20)]
    runs = [rig.jobs.recv() for _ in idents]
    rig.redis.signal(signal.SIGKILL)
    rig.redis.process.wait()
    for run in runs:
        rig.jobs.answer(run, ST.RUNING)
    leases_end = max(run.exec_id for run in runs) / 1e6 + FIRST
    time.sleep(max(leases_end + 0.5 - time.time(), 0))
    freeze(pair.standby)        # which may otherwise be back before the owner
    rig.redis.start()
    for ident in idents:
        rig.state(ident, ST.RUNING)
    thaw(pair.standby)
    rig.jobs.nothing(2)
    for ident, run in zip(idents, sorted(runs, key=lambda run: idents.index(run.mailbox[1:].decode()))):
        resend(rig, ident, run)
        rig.gone(ident)
    assert pair.token() == token and silent(pair.standby)
