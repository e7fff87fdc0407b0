"""What a new owner reads before it decides is whole, or read again: the connection may be lost meanwhile, Redis may
come late, and a batch may be refused while what it writes changes."""
import json
import time

import pytest

from redissteps import log, proxied, redis_at, told
from redisproxy import RedisProxy
from zplantest import CMD, FT, ST, FakeTarget, at_once, every, later, plan_frames, wait_until


def behind_proxy(make_rig):
    rig = make_rig(start=False)
    rig.proxy = rig.keep(RedisProxy(rig.redis.socket))
    redis_at(rig, rig.proxy.address)
    return rig


def numbers(rig):
    return rig.db.hmget("plan:meta", "seq", "epoch", "store", "schema")


def refusals(rig):
    return int(rig.db.info("errorstats")["errorstat_NOREPLICAS"].partition("=")[2])


# The first, one in the middle and the last of what is asked.
@pytest.mark.parametrize("word", ["plan:meta", "plan:count", "plan:tokens", "HGETALL\r\n$8\r\nplan:run"])
def test_the_connection_is_lost_while_the_plans_are_read(make_rig, word):
    rig = proxied(make_rig)
    for _ in range(3):
        ident = rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(ident)
    flying = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(flying, ST.RUNING)
    before = numbers(rig)
    rig.station.kill()
    rig.proxy.heal()
    rig.proxy.swallow_from = word.encode()
    rig.station.start(wait_ready=False)
    wait_until(lambda: rig.proxy.swallowed, "what it asked is not answered")
    rig.proxy.heal()
    assert rig.station.next_word() == "ready"
    assert numbers(rig) == before
    rig.client = rig.dealer()
    rig.client.result(flying, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(flying)
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    assert [one["seq"] for one in rig.client.done("history").json["runs"]] == [1, 2, 3, 4, 5]
    assert numbers(rig)[1:] == before[1:]
    assert not told(rig, "redis.wrong_key")


def test_a_fresh_redis_is_marked_though_the_connection_was_lost(make_rig):
    rig = behind_proxy(make_rig)
    rig.redis.start()
    rig.proxy.swallow_from = b"plan:tokens"
    rig.station.start(wait_ready=False)
    wait_until(lambda: rig.proxy.swallowed, "what it asked is not answered")
    rig.proxy.heal()
    assert rig.station.next_word() == "ready"
    rig.client.added(later())
    wait_until(lambda: all(numbers(rig)[2:]), "the data have their schema and identity")


def test_a_batch_of_a_migration_is_lost(make_rig):
    """As a former version left it: plans stand in a lane, their score a multiple later."""
    rig = behind_proxy(make_rig)
    rig.redis.start()
    rig.station.start()
    plans = [rig.client.added(later()) for _ in range(50)]
    due = {rig.key(plan): rig.score(plan) for plan in plans}
    rig.station.stop()
    left = rig.db.pipeline()
    left.zadd("plan:lane:jobs:x", due)
    left.zadd("plan:time:set", {key: score + 61.803399 for key, score in due.items()})
    left.hset("plan:meta", "schema", "1")
    left.delete("plan:owner", "plan:attending")
    left.execute()
    rig.proxy.drop_from = b"\r\nZADD\r\n"
    rig.station.start(wait_ready=False)
    wait_until(lambda: rig.proxy.blackhole, "a batch is lost")
    rig.proxy.heal()
    assert rig.station.next_word() == "ready"
    assert {key: rig.db.zscore("plan:time:set", key) for key in due} == due
    assert numbers(rig)[3] == b"2" and not rig.db.exists("plan:lane:jobs:x")


def test_a_refused_batch_is_written_with_what_plans_are_then(make_rig):
    """It is rebuilt without the submission that Redis refuses, and the plan of its other rows changes before it is
    taken. Under a sanitizer the station ends if it writes from memory that is given back."""
    rig = proxied(make_rig)
    ident = rig.client.added(every(1000, 5, no_keep=True, plan_time=int(time.time()) - 1000))
    run = rig.jobs.recv()
    first, second, other = rig.dealer(), rig.dealer(), rig.dealer()
    for client in (first, second, other):
        client.ping()
    rig.proxy.request_delay = 0.6
    first.send(CMD.PLAN, plan_frames(later()))      # the batch in flight
    wait_until(lambda: rig.proxy.late_requests(), "a batch is on its way")
    rig.jobs.answer(run, ST.RUNING)                 # with the next
    second.send(CMD.PLAN, plan_frames(later(description="x" * 500)))
    first.recv()                                    # which is on its way now
    rig.redis.client().config_set("min-replicas-to-write", 1)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    assert second.recv().code >= 0x80
    rig.proxy.request_delay = 0
    for word in ("pause", "reset", "pause"):
        other.send(CMD.NONE, [(FT.COMMAND, word.encode()), (FT.ARG, ident.encode())])
        rig.client.ping()
    before = refusals(rig)
    wait_until(lambda: refusals(rig) > before + 1, "the batch was tried again")
    rig.redis.client().config_set("min-replicas-to-write", 0)
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "submissions are taken")
    assert rig.message(ident)["plan_id"] == int(ident, 16)
    assert rig.station.process.poll() is None, log(rig)


def test_redis_comes_late_and_due_plans_wait_for_their_flows(make_rig):
    """More flows than are read at once; and an added target, which is read behind them."""
    rig = make_rig()
    extra = rig.keep(FakeTarget(rig.ipc("x")))
    rig.client.done("station", "add", "extra=api@" + extra.endpoint)
    for i in range(250):
        rig.client.done("flow", "put", json.dumps({"flow": f"f{i:03}", "steps": {"a": {"target": "jobs", "command": "x"}}}))
    due = int(time.time()) + 2
    rig.client.added({"description": "e", "plan_type": 1, "plan_time": due}, station="extra")
    rig.client.added({"description": "f", "plan_type": 1, "plan_time": due}, station="f249", head=[])
    rig.station.stop()
    rig.redis.stop()
    rig.station.start()                             # ready though Redis is away
    wait_until(lambda: time.time() > due, "the plans are due")
    rig.redis.start()
    extra.finish(extra.recv())
    rig.jobs.finish(rig.jobs.recv())
    rig.client = rig.dealer()
    wait_until(lambda: len(rig.client.done("history").json["runs"]) == 3, "all have ended")
    assert {run["status"] for run in rig.client.done("history").json["runs"]} == {ST.OK}


def test_without_watch_there_is_no_owner(make_rig):
    """No batch would be fenced: it says so, and goes on when it may."""
    rig = make_rig(start=False)
    rig.redis.start()
    rig.db.execute_command("ACL", "SETUSER", "default", "-watch")
    rig.station.start(wait_ready=False)
    wait_until(lambda: any("watch" in line for line in told(rig, "redis.down")), "the log says it")
    rig.db.execute_command("ACL", "SETUSER", "default", "+watch")
    while rig.station.next_word() != "ready":
        pass
    rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())


def test_plans_that_end_while_the_upkeep_reads_are_counted_once(make_rig):
    """The page of ids is read before the messages: what ended between is no plan that lost its message."""
    rig = make_rig("--sweep-interval", "1")
    held = [rig.client.added(later()) for _ in range(60)]
    over = time.monotonic() + 5
    while time.monotonic() < over:      # five pages are read meanwhile
        for _ in range(200):
            rig.client.send(CMD.PLAN, plan_frames(at_once()))
        for _ in range(200):
            rig.jobs.finish(rig.jobs.recv())
        for _ in range(200):
            assert rig.client.recv().code == ST.PLAN
    wait_until(lambda: rig.db.zcard("plan:ids") == len(held), "all others have ended")
    assert rig.db.hget("plan:count", "s:jobs") == b"60"
