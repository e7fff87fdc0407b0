"""Nothing acknowledged is lost (proto 12.1, 12.3; rows A026, A046): kill and see."""
import random
import threading
import time

import pytest

from zplantest import CMD, FT, ST, at_once, plan_frames, wait_until


def served(rig, idents, runs, timeout=60):
    """Answer every dispatch until no plan is left; remember (id, exec_id) of each."""
    end = time.monotonic() + timeout
    while rig.db.keys("plan:msg:*"):
        assert time.monotonic() < end, f"left: {len(rig.db.keys('plan:msg:*'))}"
        while rig.jobs.socket.poll(100):
            run = rig.jobs.recv()
            runs.append((run.mailbox[1:].decode(), run.exec_id))
            rig.jobs.finish(run)
    assert {ident for ident, _ in runs} >= idents, "acknowledged, never run"
    assert len(set(runs)) == len(runs), "an exec_id was used twice"
    assert rig.db.zcard("plan:time:set") == 0


def submitted(client, numbers):
    """Submit plans of these ids, whatever is answered; the ids that were acknowledged."""
    for number in numbers:
        client.send(CMD.PLAN, plan_frames(at_once(), gid=f"{number:x}"))
    replies = [client.recv() for _ in numbers]
    assert {reply.code for reply in replies} <= {ST.PLAN, ST.NET_ERROR}
    return {reply.get(FT.GLOBAL_ID).decode() for reply in replies if reply.code == ST.PLAN}


def test_A046_redis_connections_killed_while_plans_run(make_rig):
    rig = make_rig("--exec-timeout", "2", "--send-timeout", "500")
    stop = threading.Event()

    def killer(db):
        rng = random.Random(46)
        while not stop.wait(rng.uniform(0.2, 0.6)):     # time enough to connect again
            db.client_kill_filter(_type="normal")
    thread = threading.Thread(target=killer, args=(rig.redis.client(),))
    acked, runs, turn, end = set(), [], 0, time.monotonic() + 5
    thread.start()
    try:
        while time.monotonic() < end:
            acked |= submitted(rig.client, range(turn * 10 + 1, turn * 10 + 11))
            turn += 1
            while rig.jobs.socket.poll(20):
                run = rig.jobs.recv()
                runs.append((run.mailbox[1:].decode(), run.exec_id))
                rig.jobs.finish(run)
    finally:
        stop.set()
        thread.join()
    wait_until(lambda: rig.client.submit(at_once()).code == ST.PLAN, "submits are taken")
    assert acked
    # The test's own connections were killed as well; the client library makes new ones.
    served(rig, acked, runs)


def test_A026_station_killed_while_plans_run(make_rig):
    rig = make_rig("--exec-timeout", "2", "--send-timeout", "500")
    acked, runs = set(), []
    for turn in range(4):
        acked |= submitted(rig.client, range(turn * 50 + 1, turn * 50 + 51))
        for _ in range(20):
            run = rig.jobs.recv()
            runs.append((run.mailbox[1:].decode(), run.exec_id))
            rig.jobs.finish(run)
        rig.station.kill()
        rig.station.start()
    assert len(acked) == 200
    served(rig, acked, runs)


def test_A026_target_killed_while_plans_run(make_rig):
    """What it had taken is fired again after its lease; what it had answered is not."""
    rig = make_rig("--exec-timeout", "2", "--send-timeout", "500")
    acked, runs = submitted(rig.client, range(1, 101)), []
    assert len(acked) == 100
    for _ in range(3):
        for turn in range(10):
            run = rig.jobs.recv()
            runs.append((run.mailbox[1:].decode(), run.exec_id))
            if turn % 2:
                rig.jobs.finish(run)
                rig.gone(runs[-1][0])
            else:
                rig.jobs.answer(run, ST.RUNING)
        rig.jobs.close()
        rig.jobs.open()
    served(rig, acked, runs)


@pytest.mark.parametrize("gently", [True, False])
def test_A026_result_while_redis_is_away(make_rig, gently):
    """It counts when Redis is back, or the run is repeated after its lease: never neither."""
    rig = make_rig("--exec-timeout", "3", redis_args=("--appendfsync", "always"))
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.redis.stop() if gently else rig.redis.kill()
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.client.ping()
    rig.redis.start()
    runs = [(ident, run.exec_id)]
    served(rig, {ident}, runs)
    assert len(runs) <= 2


def test_A026_redis_killed_while_plans_run(make_rig):
    rig = make_rig("--exec-timeout", "2", "--send-timeout", "500",
                   redis_args=("--appendfsync", "always"))
    acked, runs = set(), []
    for turn in range(3):
        acked |= submitted(rig.client, range(turn * 50 + 1, turn * 50 + 51))
        for _ in range(10):
            run = rig.jobs.recv()
            runs.append((run.mailbox[1:].decode(), run.exec_id))
            rig.jobs.finish(run)
        rig.redis.kill()
        rig.redis.start()
        wait_until(lambda: rig.client.submit(at_once()).code == ST.PLAN, "submits are taken")
    assert len(acked) == 150
    served(rig, acked, runs)
