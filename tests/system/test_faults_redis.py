"""Rows 14 to 27 of the failure table: what Redis does to the station, and what becomes of it.

While Redis is away a submission is refused at once with the reason, `health` is red, what is in
flight is kept; when it is back all goes on without a restart.
"""
import os
import re
import signal
import socket
import socketserver
import threading
import time

import pytest

from redissteps import (AT_ONCE, SILENT, aside, asleep, embed_redis, frozen, goes_red, health,
                        is_refused, is_taken, is_well, namespace_or_skip, of_plan, on_small_disk,
                        proxied, redis_at, refused, runs_through, serving, stats, told)
from zplanprocs import run_once
from zplantest import (CMD, FT, ST, at_once, every, later, plan_frames, told as plan_of,
                       wait_until)

ALWAYS = ("--appendfsync", "always")
DEBUG = ("--enable-debug-command", "local")


def in_hand(rig, **fields):
    """A plan whose run is at its target, RUNING: (id, run)."""
    ident = rig.client.added(at_once(**fields))
    run = of_plan(rig, ident)
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    return ident, run


def answer(rig, run):
    """The result of a run whose RUNING was sent before."""
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])


def ended_once(rig, ident, run):
    """The plan is gone, its run counted once and is in the history once."""
    rig.gone(ident)
    outcomes = rig.client.done("history", ident).json["runs"]
    assert [outcome["exec_id"] for outcome in outcomes] == [run.exec_id], outcomes


def works_little(rig, seconds=3, share=0.5):
    """No hot loop: what the station uses of a processor, under sanitizers."""
    before = rig.station.cpu_seconds()
    time.sleep(seconds)
    used = rig.station.cpu_seconds() - before
    assert used < seconds * share, f"{used:.1f} s of processor in {seconds} s"


# 14: down at start.

def test_row_14_redis_down_at_start(make_rig):
    rig = make_rig(start=False)
    rig.station.start(wait_ready=False)
    serving(rig)
    # Why it cannot be reached, not that it was not tried yet.
    assert re.search("No such file|refused", goes_red(rig)["redis"]["trouble"])
    for _ in range(3):
        refused(rig)
    rig.redis.start()
    is_taken(rig)
    is_well(rig)
    runs_through(rig)
    assert rig.station.process.poll() is None


def test_row_14_redis_frozen_at_start(make_rig):
    """It takes connections, as the kernel does for it, and answers nothing."""
    rig = make_rig(start=False)
    rig.redis.start()
    with frozen(rig.redis.process):
        rig.station.start(wait_ready=False)
        serving(rig)
        goes_red(rig)
        refused(rig)
    is_taken(rig)
    runs_through(rig)


# 15: killed while busy.

@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_row_15_redis_killed_while_busy(make_rig, number):
    """Nothing acknowledged is lost, what is in flight ends, nobody is left without an answer."""
    rig = make_rig(redis_args=ALWAYS)
    held = [in_hand(rig) for _ in range(5)]
    client, acked = rig.dealer(), set()
    for sent in range(300):
        client.send(CMD.PLAN, plan_frames(later(), gid=f"{sent + 1:x}"))
        if sent == 150:
            rig.redis.signal(number)
    for _ in range(300):
        reply = client.recv()
        assert reply.code in (ST.PLAN, ST.NET_ERROR), reply
        if reply.code == ST.PLAN:
            acked.add(reply.get(FT.GLOBAL_ID).decode())
    rig.redis.process.wait()
    goes_red(rig)
    refused(rig)
    for _, run in held:
        answer(rig, run)        # while Redis is away
    rig.client.ping()
    rig.redis.start()
    is_taken(rig)
    is_well(rig)
    for ident, run in held:
        ended_once(rig, ident, run)
    for ident in acked:
        assert rig.message(ident) is not None, ident


def test_row_15_recovery_within_a_second(make_rig):
    """Of three returns one at least is as fast as promised, on a machine that does other things."""
    rig = make_rig(redis_args=ALWAYS)
    times = []
    for _ in range(3):
        rig.redis.kill()
        goes_red(rig)
        rig.redis.start()
        times.append(is_taken(rig))
    assert min(times) < 1, times
    assert rig.station.process.poll() is None
    runs_through(rig)


def test_row_15_what_is_in_flight_is_bounded(make_rig):
    """A flood while Redis is away costs no memory: each is refused, none is kept."""
    rig = make_rig(redis_args=ALWAYS)
    ident, run = in_hand(rig)
    rig.redis.kill()
    goes_red(rig)
    client = rig.dealer()
    for _ in range(20):
        for _ in range(200):
            client.send(CMD.PLAN, plan_frames(later()))
        for _ in range(200):
            assert client.recv().code in (ST.NET_ERROR, ST.BUSY)
    answer(rig, run)
    rig.redis.start()
    is_taken(rig)
    ended_once(rig, ident, run)
    assert stats(rig)["calls_pending"] < 10


@pytest.mark.parametrize("size", [10, 100000])
def test_row_15_heartbeats_renew_a_lease_while_redis_is_away_for_longer(make_rig, size):
    """The run goes on: it is neither lost nor sent again when Redis is back. A large plan is not kept in memory."""
    rig = make_rig("--exec-timeout", "3", redis_args=ALWAYS)
    ident = rig.client.added(at_once(), more=[(FT.CONTENT, b"x" * size)])
    run = of_plan(rig, ident)
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.redis.kill()
    over = time.monotonic() + 7
    while time.monotonic() < over:
        rig.jobs.answer(run, ST.RUNING, [(FT.LOCAL_ID, run.local_id)])
        rig.jobs.nothing(0.2)
    rig.redis.start()
    is_taken(rig)
    answer(rig, run)
    ended_once(rig, ident, run)
    assert stats(rig)["counters"]["runs_sent"] == 1 and stats(rig)["counters"]["timeouts"] == 0


# 16: empty, or with its tail missing.

@pytest.mark.parametrize("how", ["flushed", "restarted"])
def test_row_16_redis_empty(make_rig, how):
    """It is told, as an error, and counted; a result of before is dropped; new plans run."""
    rig = make_rig(redis_args=ALWAYS)
    _, run = in_hand(rig)
    if how == "flushed":
        rig.redis.client().flushall()
    else:
        rig.redis.kill()
        for folder, _, names in os.walk(os.path.dirname(rig.redis.socket)):
            for name in names:
                if folder.endswith("appendonlydir"):
                    os.unlink(os.path.join(folder, name))
        rig.redis.start()
    wait_until(lambda: told(rig, "redis.lost_data"), "the log tells")
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "submits are taken")
    assert stats(rig)["counters"]["lost_data"] == 1
    assert "lost data" in " ".join(health(rig)["warnings"])
    answer(rig, run)
    runs_through(rig)
    assert ["level=error" in line for line in told(rig, "redis.lost_data")] == [True], "told once"
    assert stats(rig)["counters"]["lost_data"] == 1
    assert rig.db.zcard("plan:time:set") == rig.db.zcard("plan:ids")


def test_row_16_redis_lost_its_tail(make_rig):
    """Restarted from an older file: told; no exec_id and no number of a broadcast is used twice."""
    rig = make_rig(redis_args=ALWAYS)
    results = rig.subscribe(b"at once")

    def one_run():
        ident = rig.client.added(at_once())
        run = of_plan(rig, ident)
        rig.jobs.finish(run)
        rig.gone(ident)
        plan = plan_of(results.recv())
        return run.exec_id, (plan["epoch"], plan["seq"])
    folder = os.path.join(os.path.dirname(rig.redis.socket), "appendonlydir")
    before = [one_run()]
    name = next(n for n in os.listdir(folder) if n.endswith(".incr.aof"))
    size = os.path.getsize(os.path.join(folder, name))
    before += [one_run() for _ in range(3)]
    # Heard of its numbers: the station asks every few seconds.
    rig.redis.kill()
    os.truncate(os.path.join(folder, name), size)
    rig.redis.start()
    is_taken(rig)
    wait_until(lambda: told(rig, "redis.lost_data"), "the log tells")
    after = [one_run() for _ in range(3)]
    execs = [run for run, _ in before + after]
    numbers = [number for _, number in before + after]
    assert len(set(execs)) == len(execs) and sorted(execs) == execs
    assert len(set(numbers)) == len(numbers)
    assert stats(rig)["counters"]["lost_data"] == 1


def test_row_16_results_wait_for_redis_that_lost_its_tail(make_rig):
    """What came while it was away is numbered behind what is known to be gone."""
    rig = make_rig(redis_args=ALWAYS)
    results = rig.subscribe(b"at once")

    def number():
        plan = plan_of(results.recv())
        return plan["epoch"], plan["seq"]

    def one_run():
        ident = rig.client.added(at_once())
        rig.jobs.finish(of_plan(rig, ident))
        rig.gone(ident)
        return number()
    numbers = [one_run()]
    held = [in_hand(rig) for _ in range(3)]
    folder = os.path.join(os.path.dirname(rig.redis.socket), "appendonlydir")
    name = next(n for n in os.listdir(folder) if n.endswith(".incr.aof"))
    size = os.path.getsize(os.path.join(folder, name))
    numbers += [one_run() for _ in range(2)]
    rig.redis.kill()
    os.truncate(os.path.join(folder, name), size)
    for _, run in held:
        answer(rig, run)
    goes_red(rig)
    rig.redis.start()
    numbers += [number() for _ in held] + [one_run()]
    assert len(set(numbers)) == len(numbers), numbers
    assert stats(rig)["counters"]["lost_data"] == 1


def test_row_16_an_orderly_restart_loses_nothing(make_rig):
    rig = make_rig(redis_args=ALWAYS)
    runs_through(rig)
    for _ in range(2):
        rig.redis.stop()
        rig.redis.start()
        is_taken(rig)
        runs_through(rig)
    assert stats(rig)["counters"]["lost_data"] == 0 and not told(rig, "redis.lost_data")


# 17: slow, busy, frozen.

def test_row_17_redis_frozen(make_rig):
    """A submission that Redis has in hand is answered within the link's patience."""
    rig = make_rig(redis_args=ALWAYS)
    ident, run = in_hand(rig)
    with frozen(rig.redis.process):
        refused(rig, SILENT + AT_ONCE)
        goes_red(rig)
        for _ in range(3):
            refused(rig)
        answer(rig, run)
        rig.client.ping()
    is_taken(rig)
    is_well(rig)
    ended_once(rig, ident, run)
    runs_through(rig)


def test_row_17_flood_while_frozen(make_rig):
    """So many are in hand, the others wait their turn: each has an answer within the patience."""
    rig = make_rig(redis_args=ALWAYS)
    clients = [rig.dealer() for _ in range(16)]
    with frozen(rig.redis.process):
        start = time.monotonic()
        for client in clients * 250:
            client.send(CMD.PLAN, plan_frames(later()))
        codes = [client.recv().code for client in clients * 250]
        assert time.monotonic() - start < SILENT + 2 * AT_ONCE
        assert set(codes) <= {ST.NET_ERROR, ST.BUSY}
        refused(rig)
    is_taken(rig)
    runs_through(rig)


def test_row_17_slow_for_less_than_the_patience(make_rig):
    """A Redis that pauses for a second is waited for: nobody is refused."""
    rig = make_rig(redis_args=(*ALWAYS, *DEBUG))
    connection = asleep(rig, 1.5)
    start = time.monotonic()
    reply = rig.client.submit(later())
    connection.close()
    assert reply.code == ST.PLAN, reply
    assert time.monotonic() - start < 1.5 + AT_ONCE
    assert not told(rig, "redis.down")


def test_row_17_slow_for_longer(make_rig):
    rig = make_rig(redis_args=(*ALWAYS, *DEBUG))
    ident, run = in_hand(rig)
    connection = asleep(rig, 6)
    refused(rig, SILENT + AT_ONCE)
    goes_red(rig)
    answer(rig, run)
    refused(rig)
    is_taken(rig)
    connection.close()
    ended_once(rig, ident, run)


def test_row_17_a_script_that_does_not_end(make_rig):
    """BUSY: refused with that reason; when the script is ended all goes on."""
    rig = make_rig(redis_args=(*ALWAYS, "--busy-reply-threshold", "200"))
    ident, run = in_hand(rig)
    connection = aside(rig, 'EVAL "while true do end" 0')
    is_refused(rig)
    goes_red(rig)
    refused(rig)
    answer(rig, run)
    wait_until(lambda: "BUSY" in health(rig)["redis"]["trouble"], "BUSY is the reason")
    rig.redis.client().script_kill()
    is_taken(rig)
    connection.close()
    is_well(rig)
    ended_once(rig, ident, run)


def test_row_17_late_answers(make_rig):
    """Half a second each: slow, and right. No plan runs twice for it."""
    rig = proxied(make_rig, redis_args=ALWAYS)
    rig.proxy.delay = 0.5
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.finish(run)
    ended_once(rig, ident, run)
    rig.jobs.nothing(0.5)
    rig.proxy.heal()
    is_taken(rig)


def test_row_17_a_line_that_says_nothing(make_rig):
    """Blackhole: no packet is refused, none arrives."""
    rig = proxied(make_rig, redis_args=ALWAYS)
    ident, run = in_hand(rig)
    rig.proxy.blackhole = True
    refused(rig, SILENT + AT_ONCE)
    goes_red(rig)
    refused(rig)
    answer(rig, run)
    rig.client.ping()
    rig.proxy.heal()
    is_taken(rig)
    ended_once(rig, ident, run)


# 18: replies that are lost.

def test_row_18_reply_of_a_submission_lost(make_rig):
    """Refused as unknown; asked again under its id it is acknowledged, and is one plan."""
    rig = proxied(make_rig, redis_args=ALWAYS)
    plan = later()
    rig.proxy.swallow_from = b"MSET"
    rig.client.send(CMD.PLAN, plan_frames(plan, gid="abc"))
    wait_until(lambda: rig.message("abc"), "it is stored")
    rig.proxy.heal()
    reply = rig.client.recv()
    assert reply.code == ST.NET_ERROR and "the outcome is unknown" in reply.text, reply
    before = rig.message("abc")
    wait_until(lambda: rig.client.submit(plan, gid="abc").code == ST.PLAN, "acknowledged")
    assert rig.message("abc") == before
    assert rig.db.zcard("plan:ids") == rig.db.zcard("plan:time:set") == 1


def test_row_18_reply_of_a_claim_lost(make_rig):
    """The claim is asked again and gives the same run: no exec_id is lost, none is doubled."""
    rig = proxied(make_rig, redis_args=ALWAYS)
    ident = rig.client.added(later())
    rig.proxy.swallow_from = b"HSET\r\n$8\r\nplan:run"
    rig.due_now(ident)
    wait_until(lambda: rig.message(ident)["exec_id"], "it is claimed")
    claimed = rig.message(ident)["exec_id"]
    rig.proxy.heal()
    run = rig.jobs.recv()
    assert run.exec_id == claimed
    rig.jobs.finish(run)
    ended_once(rig, ident, run)
    rig.jobs.nothing(1)


def test_row_18_reply_of_a_result_lost(make_rig):
    """It counts once and is broadcast once."""
    rig = proxied(make_rig, redis_args=ALWAYS)
    results = rig.subscribe(b"row 18")
    ident, run = in_hand(rig, description="row 18")
    rig.proxy.swallow = True
    answer(rig, run)
    rig.gone(ident)
    rig.proxy.heal()
    news = results.recv()
    assert plan_of(news)["exec_id"] == run.exec_id
    ended_once(rig, ident, run)
    results.nothing(1)


@pytest.mark.parametrize("size", [1, 7, 40, 300, 1000])
def test_row_18_cut_within_a_reply(make_rig, size):
    """A reply of which only the first bytes come: the state is that of one that came whole."""
    rig = proxied(make_rig, "--send-timeout", "60000", redis_args=ALWAYS)
    # Each occurrence at once: none is skipped because the line was down when it was due.
    ident = rig.client.added(every(1, 3, no_keep=True, plan_time=int(time.time()) - 1000))
    runs = []
    for _ in range(3):
        run = rig.jobs.recv()
        runs.append(run.exec_id)
        rig.proxy.cut_after = size
        rig.jobs.finish(run)
        wait_until(lambda: rig.proxy.cut_after == 0, "the line is cut")
        rig.proxy.cut_after = None
    rig.gone(ident)
    is_taken(rig)
    outcomes = rig.client.done("history", ident).json["runs"]
    assert sorted(outcome["exec_id"] for outcome in outcomes) == runs and len(set(runs)) == 3


# 19: a replica.

def test_row_19_read_only_and_back(make_rig):
    rig = make_rig(redis_args=ALWAYS)
    ident, run = in_hand(rig)
    admin = rig.redis.client()
    admin.execute_command("REPLICAOF", "127.0.0.1", "1")
    is_refused(rig)
    assert "replica" in goes_red(rig)["redis"]["trouble"]
    assert "replica" in refused(rig)
    answer(rig, run)
    rig.client.ping()
    admin.execute_command("REPLICAOF", "NO", "ONE")
    is_taken(rig)
    is_well(rig)
    ended_once(rig, ident, run)


# 20: out of memory.

def test_row_20_out_of_memory(make_rig):
    """Submits are refused by Redis itself; plans run, results are written, until it is empty."""
    rig = make_rig(redis_args=ALWAYS)
    held, run = in_hand(rig)
    idents = {rig.client.added(later(3)) for _ in range(20)}
    repeated = rig.client.added(every(2, 3, no_keep=True))
    admin = rig.redis.client()
    admin.config_set("maxmemory", 1)
    assert "OOM" in refused(rig)
    answer(rig, run)
    ended_once(rig, held, run)
    left = [*idents, *[repeated] * 3]
    while left:
        run = rig.jobs.recv()
        rig.jobs.finish(run)
        left.remove(run.mailbox[1:].decode())
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all have ended")
    assert "OOM" in refused(rig)
    seen = rig.db.hgetall("plan:attending")
    wait_until(lambda: rig.db.hgetall("plan:attending").keys() == seen.keys() and rig.db.hgetall("plan:attending") != seen,
               "it still says that it is there")
    health = rig.client.done("health").json
    assert health["attending"] == 1 and any("of its 1 bytes" in text for text in health["problems"]), health
    assert {one["do"] for one in health["findings"] if one["level"] == "problem"} == {"raise maxmemory of Redis, or remove plans"}
    assert not told(rig, "redis.down") and not told(rig, "commit.failed")
    admin.config_set("maxmemory", 0)
    is_taken(rig)
    runs_through(rig)


def test_row_20_a_refused_submission_leaves_nothing(make_rig):
    """Neither a mark that it is stopped, nor an outcome of what it has missed."""
    rig = make_rig(redis_args=ALWAYS)
    plan = every(100, 99, plan_time=int(time.time()) - 1050, hold=True)
    admin = rig.redis.client()
    admin.config_set("maxmemory", 1)
    for number in range(3):
        rig.client.send(CMD.PLAN, plan_frames(plan, gid=f"{number + 16:x}"))
        assert rig.client.recv().code == ST.NET_ERROR
    admin.config_set("maxmemory", 0)
    is_taken(rig)
    assert rig.client.done("history").json["runs"] == [] and rig.db.exists("plan:stopped") == 0
    ident = rig.client.added(plan)
    assert len(rig.client.done("history").json["runs"]) == 1 and rig.db.zcard("plan:stopped") == 1
    rig.client.done("remove", ident)


def test_row_20_a_repeated_submission_is_refused_as_the_first(make_rig):
    """It is not acknowledged as one that exists while the first has not been written, and is refused then."""
    rig = make_rig(redis_args=ALWAYS)
    plan, admin = later(), rig.redis.client()
    rig.client.added(later())
    admin.config_set("maxmemory", 1)
    for number in range(20):
        for _ in range(2):
            rig.client.send(CMD.PLAN, plan_frames(plan, gid=f"{number + 16:x}"))
        replies = [rig.client.recv() for _ in range(2)]
        assert {reply.code for reply in replies} <= {ST.NET_ERROR, ST.BUSY}, replies
    admin.config_set("maxmemory", 0)
    is_taken(rig)
    for _ in range(2):
        rig.client.send(CMD.PLAN, plan_frames(plan, gid="abc"))
    assert {rig.client.recv().code for _ in range(2)} == {ST.PLAN}
    assert rig.message("abc") and not rig.message("10")


# 21: it may lose plans.

SPOILT = {"policy": (("maxmemory-policy", "allkeys-lru"), ("maxmemory-policy", "noeviction")),
          "file": (("appendonly", "no"), ("appendonly", "yes"))}


@pytest.mark.parametrize("name", SPOILT)
def test_row_21_spoilt_while_running(make_rig, name):
    """Refused within ten seconds, told, red; taken again when it is put right."""
    rig = make_rig(redis_args=ALWAYS)
    (wrong, right), admin = SPOILT[name], rig.redis.client()
    ident, run = in_hand(rig)
    admin.config_set(*wrong)
    wait_until(lambda: rig.client.submit(later()).code == ST.NET_ERROR, "refused", 10)
    assert wrong[0].split("-")[0] in goes_red(rig)["problems"][0]
    wait_until(lambda: told(rig, "redis.down"), "the log tells")
    assert health(rig)["redis"]["state"] == "refused"
    answer(rig, run)
    works_little(rig, 2)
    assert len(told(rig, "redis.down")) == 1, "told once"
    admin.config_set(*right)
    is_taken(rig)
    is_well(rig)
    ended_once(rig, ident, run)


@pytest.mark.parametrize("name", SPOILT)
def test_row_21_spoilt_at_start(make_rig, name):
    rig = make_rig(start=False, redis_args=ALWAYS)
    rig.redis.start()
    rig.redis.client().config_set(*SPOILT[name][0])
    code, out, err = run_once(rig.station.args)
    reasons = [line for line in err.splitlines() if "--accept-loss" in line]
    assert (code, out) == (1, "") and reasons, err


# 22: the disk is full.

def fill(path):
    """Write until nothing more fits; the file."""
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                pass
    return path


def small_disk_rig(make_rig, fsync):
    namespace_or_skip()
    rig = make_rig(start=False)
    disk = rig.path("disk")
    os.mkdir(disk)
    rig.redis.wrap = on_small_disk(disk)
    rig.redis.args += ["--dir", disk, "--appendfsync", fsync]
    return rig, disk


def test_row_22_disk_full_under_a_given_redis(make_rig):
    """everysec: Redis goes on, and says MISCONF to every write. Results wait for the disk."""
    rig, disk = small_disk_rig(make_rig, "everysec")
    rig.start()
    ident, run = in_hand(rig)
    ballast = fill(f"/proc/{rig.redis.process.pid}/root{disk}/ballast")
    wait_until(lambda: rig.client.submit(later(description="x" * 900)).code == ST.NET_ERROR,
               "the disk is full")
    wait_until(lambda: "MISCONF" in health(rig)["redis"]["trouble"], "MISCONF is the reason")
    goes_red(rig)
    refused(rig)
    answer(rig, run)
    rig.client.ping()
    assert rig.message(ident) is not None, "a result that is not written has not happened"
    os.unlink(ballast)
    is_taken(rig)
    is_well(rig)
    ended_once(rig, ident, run)


def test_row_22_disk_full_under_a_redis_that_syncs_always(make_rig):
    """It ends itself. With room again it is started, and nothing acknowledged is missing."""
    rig, disk = small_disk_rig(make_rig, "always")
    rig.start()
    ident, run = in_hand(rig)
    ballast = fill(f"/proc/{rig.redis.process.pid}/root{disk}/ballast")
    keep = os.open(f"/proc/{rig.redis.process.pid}/root{disk}", os.O_RDONLY | os.O_DIRECTORY)
    acked = set()

    def full():
        reply = rig.client.submit(later(description="x" * 900))
        if reply.code == ST.PLAN:
            acked.add(reply.get(FT.GLOBAL_ID).decode())
        return reply.code == ST.NET_ERROR
    wait_until(full, "the disk is full")
    assert rig.redis.process.wait(20)
    goes_red(rig)
    refused(rig)
    answer(rig, run)
    # Its namespace ended with it; what it had is seen through the folder that is held open.
    rig.redis.wrap = []
    at = rig.redis.args.index("--dir") + 1
    rig.redis.args[at] = f"/proc/{os.getpid()}/fd/{keep}"
    os.unlink(os.path.basename(ballast), dir_fd=keep)
    rig.redis.start()
    is_taken(rig)
    is_well(rig)
    ended_once(rig, ident, run)
    for one in acked:
        assert rig.message(one) is not None, one
    rig.redis.kill()
    os.close(keep)


def test_row_22_disk_full_under_the_embedded_redis(make_rig):
    """It ends itself and cannot start: the station stays, and starts it until there is room."""
    namespace_or_skip()
    rig = make_rig(start=False)
    data = embed_redis(rig).data
    os.mkdir(data, 0o700)
    rig.station.wrap = on_small_disk(data)
    rig.station.start()
    disk = f"/proc/{rig.station.pid}/root{data}"
    first = rig.client.added(later())
    ballast, acked = fill(disk + "/ballast"), {first}

    def full():
        reply = rig.client.submit(later(description="x" * 900))
        if reply.code == ST.PLAN:
            acked.add(reply.get(FT.GLOBAL_ID).decode())
        return reply.code == ST.NET_ERROR
    wait_until(full, "the disk is full")
    # It comes up each time, until it is to write.
    wait_until(lambda: not health(rig)["healthy"], "health is red")
    refused(rig)
    wait_until(lambda: told(rig, "redis.ended"), "the log tells")
    works_little(rig)
    os.unlink(ballast)
    is_taken(rig)
    is_well(rig)
    for ident in acked:
        assert rig.client.manage("message", ident).code == ST.OK, ident
    ident = rig.client.added(at_once())
    rig.jobs.finish(of_plan(rig, ident))
    wait_until(lambda: rig.client.manage("message", ident).code == ST.NOT_FIND, "it ran")


# 23: loading.

def test_row_23_redis_loads(make_rig):
    """Seconds of LOADING after a restart: refused with that reason, then all is there."""
    rig = make_rig(redis_args=ALWAYS)
    idents = [rig.client.added(later()) for _ in range(100)]
    admin = rig.redis.client()
    admin.bgrewriteaof()
    wait_until(lambda: not admin.info("persistence")["aof_rewrite_in_progress"], "rewritten")
    held, run = in_hand(rig)
    rig.redis.kill()
    goes_red(rig)
    delay = ["--key-load-delay", "30000", "--loading-process-events-interval-bytes", "1024"]
    rig.redis.args += delay
    rig.redis.start(wait=False)
    wait_until(lambda: "oading" in health(rig)["redis"]["trouble"].replace("LOADING", "loading"),
               "loading is the reason")
    refused(rig)
    answer(rig, run)
    rig.client.ping()
    is_taken(rig)
    is_well(rig)
    ended_once(rig, held, run)
    assert all(rig.message(ident) for ident in idents)


# 24: no Redis at all.

class Garbage:
    """A server that answers each request with the same bytes, whatever was asked."""

    def __init__(self, path, answer, many=1):
        self.path, self.answer, self.many = path, answer, many
        self.asked = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(16)
        self.listener.settimeout(0.1)
        self.stopped = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopped:
            try:
                connection, _ = self.listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(1)
                try:
                    while not self.stopped and (data := connection.recv(1 << 20)):
                        self.asked += 1
                        commands = max(1, data.count(b"\r\n*") + data.startswith(b"*"))
                        connection.sendall(self.answer * commands * self.many)
                except OSError:
                    pass

    def close(self):
        self.stopped = True
        self.thread.join()
        self.listener.close()
        os.unlink(self.path)


GARBAGE = {
    "text": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "noise": bytes(range(256)) * 16,
    "one byte": b"\0",
    "half": b"$100\r\nabc",
    "huge bulk": b"$9223372036854775807\r\n",
    "large array": b"*4194304\r\n",
    "negative": b"*-5\r\n$-7\r\n",
    "deep": b"*1\r\n" * 64,
    "nil": b"$-1\r\n",
    "nil array": b"*-1\r\n",
    "array of nil": b"*5\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n",
    "integers": b":7\r\n",
    "empty": b"$0\r\n\r\n",
    "error": b"-ERR nonsense\r\n",
    "empty error": b"-\r\n",
    "ok": b"+OK\r\n"}


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("many", [1, 3], ids=["answers", "unasked"])
def test_row_24_garbage(make_rig, name, many):
    """The station does not hang: it answers its clients, or it ended at once and can be started.

    hiredis 0.14.1 aborts the process on an answer to nothing; a supervisor starts it again.
    """
    rig = make_rig(start=False)
    fake = Garbage(rig.redis.socket, GARBAGE[name], many)
    def ended():
        return rig.station.process.poll() is not None

    def answers():
        rig.client.send(CMD.PING)
        return ended() or rig.client.socket.poll(300)
    try:
        rig.station.start(wait_ready=False)
        wait_until(lambda: fake.asked >= 3 or ended(), "it asks, and asks again")
        wait_until(answers, "it answers, or has ended")
    finally:
        fake.close()
    rig.redis.start()
    wait_until(answers, "it answers, or has ended")
    if ended():
        code = rig.station.process.wait()
        aborted = code == -signal.SIGABRT and "async.c" in rig.station.log_tail()
        assert code == 1 or aborted, (code, rig.station.log_tail())
        rig.station.end()
        rig.client = rig.dealer()
        rig.station.start()
    serving(rig)
    is_taken(rig)
    assert "fsync=none" not in "".join(told(rig, "redis.up")), "it took the noise for a Redis"
    runs_through(rig)


def resp_value(stream):
    """The bytes of the next request or reply."""
    line = stream.readline()
    size = int(line[1:]) if line[:1] in (b"$", b"*") else -1
    if size < 0:
        return line
    return line + (stream.read(size + 2) if line[:1] == b"$" else b"".join(resp_value(stream) for _ in range(size)))


class WrongAnswers(socketserver.ThreadingUnixStreamServer):
    """A Redis through and through, except for what its scripts answer."""
    daemon_threads = True

    def __init__(self, path, redis_socket, answer):
        self.redis_socket, self.answer, self.asked = redis_socket, answer, 0
        super().__init__(path, self.Connection)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    class Connection(socketserver.StreamRequestHandler):
        def handle(self):
            with socket.socket(socket.AF_UNIX) as redis:
                redis.connect(self.server.redis_socket)
                replies = redis.makefile("rb")
                while request := resp_value(self.rfile):
                    if b"EVALSHA" in request:
                        self.server.asked += 1
                        self.wfile.write(self.server.answer)
                    else:
                        redis.sendall(request)
                        self.wfile.write(resp_value(replies))

    def handle_error(self, request, client_address):
        """The station, or Redis, closes connections as it likes."""

    def close(self):
        self.shutdown()
        self.server_close()


@pytest.mark.parametrize("name", [name for name in GARBAGE if name not in (
    "text", "noise", "one byte", "half", "huge bulk", "large array", "negative", "deep")])
def test_row_24_scripts_that_answer_nonsense(make_rig, name):
    """A valid answer of the wrong shape: refused or dropped, and the station goes on."""
    rig = make_rig(start=False, redis_args=ALWAYS)
    rig.redis.start()
    path = rig.path("w")
    fake = WrongAnswers(path, rig.redis.socket, GARBAGE[name])
    redis_at(rig, "unix:" + path)
    try:
        rig.station.start()
        for word, *args in (("stats",), ("list",), ("history",), ("message", "1"), ("pause", "1"),
                            ("remove", "1")):
            rig.client.manage(word, *args)
        rig.client.submit(later())
        wait_until(lambda: fake.asked >= 5, "scripts are asked")
        rig.client.ping()
        assert rig.station.process.poll() is None, rig.station.log_tail()
    finally:
        fake.close()


# 15, 17: the scripts are gone.

def test_row_15_scripts_flushed(make_rig):
    """NOSCRIPT: loaded again, nobody notices."""
    rig = make_rig(redis_args=ALWAYS)
    admin = rig.redis.client()
    for _ in range(5):
        admin.script_flush()
        assert rig.client.submit(later()).code == ST.PLAN
        admin.script_flush()
        runs_through(rig)
    assert not told(rig, "redis.down")


# 25: a message that was spoilt by hand.

SPOILT_TEXT = {
    "truncated": lambda text: text[:len(text) // 2],
    "first byte": lambda text: text[:1],
    "last byte": lambda text: text[:-1],
    "empty": lambda text: b"",
    "doubled": lambda text: text * 2,
    "number": lambda text: text.replace(b'"plan_type": 1', b'"plan_type": "1"')
    .replace(b'"plan_type":1', b'"plan_type":"1"'),
    "huge number": lambda text: text.replace(b'"revision":', b'"revision":9999999999999999999999'),
    "negative": lambda text: text.replace(b'"plan_repet":', b'"plan_repet":-'),
    "null": lambda text: text.replace(b'"jobs"', b"null"),
    "nul byte": lambda text: text.replace(b"jobs", b"jo\0s"),
    "no exec_id": lambda text: text.replace(b'"exec_id"', b'"exec_ix"'),
    "no revision": lambda text: text.replace(b'"revision"', b'"revisiox"'),
    "no plan_state": lambda text: text.replace(b'"plan_state"', b'"plan_statx"'),
    "other station": lambda text: text.replace(b'"jobs"', b'"news"'),
    "other id": lambda text: text.replace(b'"plan_id":', b'"plan_id":1')}


@pytest.mark.parametrize("name", SPOILT_TEXT)
def test_row_25_message_spoilt_by_hand(rig, name):
    """It runs, or leaves the queue; never a loop, and never another plan's harm."""
    ident = rig.client.added(later())
    other = rig.client.added(later())
    text = rig.db.get(rig.key(ident))
    spoilt = SPOILT_TEXT[name](text)
    assert spoilt != text
    rig.db.set(rig.key(ident), spoilt)
    rig.due_now(ident)

    def dealt_with():
        while rig.jobs.socket.poll(0):
            rig.jobs.finish(rig.jobs.recv())
        return rig.score(ident) is None
    wait_until(dealt_with, "out of the queue")
    errors = len(told(rig, "plan.error"))
    works_little(rig, 2)
    assert len(told(rig, "plan.error")) == errors <= 1, "told once"
    assert rig.score(other) is not None
    rig.due_now(other)
    rig.jobs.finish(of_plan(rig, other))
    rig.gone(other)
    runs_through(rig)


def test_row_25_spoilt_while_its_run_is_in_hand(rig):
    """The result cannot be written into it: dropped, told, and no loop."""
    ident, run = in_hand(rig)
    rig.db.set(rig.key(ident), b"{broken")
    answer(rig, run)
    rig.settle()
    works_little(rig, 2)
    runs_through(rig)


# 26: members without a message, messages without a member.

def test_row_26_members_without_message(rig):
    """Removed, counted, told; a lot of them no more than a few lines."""
    rig.db.zadd("plan:time:set", {f"plan:msg:jobs:{n:x}": 1 for n in range(1, 1001)})
    rig.db.zadd("plan:time:set", {f"nonsense {n}": 1 for n in range(1000)})
    wait_until(lambda: rig.db.zcard("plan:time:set") == 0, "all are removed")
    runs_through(rig)
    assert stats(rig)["counters"]["lost_plans"] == 2000
    assert 1 <= len(told(rig, "plan.lost")) < 50


def test_row_26_message_without_member(make_rig):
    """Put back for its time, by its message; one that is paused stays out."""
    rig = make_rig()
    plan = later()
    ident, paused = rig.client.added(plan), rig.client.added(plan)
    rig.client.done("pause", paused)
    rig.db.zrem("plan:time:set", rig.key(ident))
    rig.restart()               # the first sweep is at once
    wait_until(lambda: [line for line in told(rig, "plan.requeued") if ident in line], "told")
    wait_until(lambda: rig.score(ident) == plan["plan_time"], "it is put back")
    assert rig.score(paused) is None and not [line for line in told(rig, "plan.requeued") if paused in line]
    rig.due_now(ident)
    rig.jobs.finish(of_plan(rig, ident))
    rig.gone(ident)


def test_row_26_redis_is_lost_during_a_sweep(make_rig):
    """The next page waits until Redis is back: no hot loop."""
    rig = make_rig()
    idents = [rig.client.added(later()) for _ in range(600)]     # a page a second, of 100 plans
    first = min(idents, key=lambda ident: int(ident, 16))
    rig.db.zrem("plan:time:set", rig.key(first))
    rig.restart()
    wait_until(lambda: rig.score(first) is not None, "the first page is done")
    rig.redis.kill()
    works_little(rig, 4)
    rig.redis.start()
    is_taken(rig)


def test_row_26_the_queue_is_deleted(make_rig):
    """All go back, and run; a run that is out is not sent again; health says so, with their number."""
    rig = make_rig("--sweep-interval", "1")
    running = rig.client.added(at_once())
    run = of_plan(rig, running)
    rig.jobs.answer(run, ST.RUNING)
    rig.state(running, ST.RUNING)
    soon = int(time.time()) + 10      # all are added by then, on a slow machine too
    idents = [rig.client.added(later(plan_repet=1, no_keep=True, plan_time=soon)) for _ in range(100)]
    assert rig.client.done("health").json["healthy"] and rig.db.delete("plan:time:set") == 1
    seen = set()
    while len(seen) < 100:
        one = rig.jobs.recv()
        seen.add(one.mailbox[1:].decode())
        rig.jobs.finish(one)
    assert seen == set(idents)
    wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 1, "all are done")
    wait_until(lambda: (rig.score(running) or 0) > time.time() + 200, "the run in progress has its lease")
    rig.jobs.finish(run)
    rig.gone(running)
    texts = [finding["text"] for finding in rig.client.done("health").json["findings"]]
    assert "plans were missing in the queue and were re-queued since this station started: 101" in texts
    assert stats(rig)["counters"]["requeued"] == 101


def test_row_26_the_queue_of_what_workers_have_is_deleted(make_rig):
    """It is offered on, and their reports count."""
    rig = make_rig("--sweep-interval", "1", "--station", "pile=pull")
    ident, other = (rig.client.added(at_once(), station="pile") for _ in range(2))
    take = {"station": "pile", "worker": "w1", "wait": 20}
    (job,) = rig.client.done("take", take).json["jobs"]
    rig.db.delete("plan:time:set")
    wait_until(lambda: rig.score(other, "pile") and rig.score(ident, "pile"), "both are put back")
    for one in (job, *rig.client.done("take", take).json["jobs"]):
        report = {"plan": one["plan_id"], "worker": "w1", "exec_id": one["exec_id"], "state": "success"}
        assert rig.client.done("report", report).json == {"accepted": True}
    rig.gone(ident, "pile")
    rig.gone(other, "pile")


def test_row_26_index_without_message(make_rig):
    rig = make_rig()
    idents = [rig.client.added(later()) for _ in range(3)]
    rig.db.delete(*(rig.key(ident) for ident in idents))
    rig.restart()
    wait_until(lambda: rig.db.zcard("plan:ids") == 0, "the index is repaired")
    rig.db.zadd("plan:ids", {"nonsense": 0, "zz:jobs": 0, "0" * 16 + ":": 0})
    rig.client.done("list")
    runs_through(rig)


# 27: our keys are of another type.

KEYS = ["plan:time:set", "plan:ids", "plan:run", "plan:meta",
        "plan:history", "plan:stations", "plan:count", "plan:attending"]
TYPES = {"string": lambda db, key: db.set(key, "x"),
         "list": lambda db, key: db.rpush(key, "x"),
         "hash": lambda db, key: db.hset(key, "x", "y"),
         "zset": lambda db, key: db.zadd(key, {"x": 1})}
OWN = {"plan:time:set": "zset", "plan:ids": "zset", "plan:run": "hash", "plan:meta": "hash",
       "plan:stations": "hash", "plan:count": "hash",
       "plan:attending": "hash"}


def everything_works(rig):
    """All that uses a key of ours, and nothing is left unanswered or lost."""
    is_taken(rig)
    ident = rig.client.added(at_once())
    rig.jobs.finish(of_plan(rig, ident), ST.FAILED)         # told, and tried again
    rig.jobs.finish(of_plan(rig, ident))
    rig.gone(ident)
    rig.client.done("station", "add", "more=api@" + rig.ipc("more"))
    rig.client.done("station", "remove", "more")
    ident = rig.client.added(every(1, 2, no_keep=True))
    for _ in range(2):
        rig.jobs.finish(of_plan(rig, ident), ST.OK, [(FT.CONTENT, b"x")])
    rig.gone(ident)
    for word in ("list", "stats", "history"):
        rig.client.done(word)
    ident = rig.client.added(later())
    rig.client.done("pause", ident)
    rig.client.done("reset", ident)
    rig.client.done("remove", ident)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", ["string", "list"])
def test_row_27_key_of_another_type(make_rig, key, kind):
    """Replaced, told, no hot loop; every word works afterwards."""
    rig = make_rig(redis_args=ALWAYS)
    runs_through(rig)
    rig.db.delete(key)
    TYPES[kind](rig.db, key)
    works_little(rig, 1)
    everything_works(rig)
    wait_until(lambda: told(rig, "redis.wrong_key"), "it is told")
    works_little(rig, 1)
    assert [key in line for line in told(rig, "redis.wrong_key")] == [True], "told once"
    assert stats(rig)["counters"]["wrong_keys"] == 1
    assert not told(rig, "claim.failed") and not told(rig, "commit.failed")


def test_row_27_counts_of_another_type_when_a_plan_ends(make_rig):
    """A count that begins below 0 is no field, and no batch follows from that."""
    rig = make_rig(redis_args=ALWAYS)
    ident, run = in_hand(rig)
    rig.db.delete("plan:count")
    rig.db.set("plan:count", "x")
    answer(rig, run)
    ended_once(rig, ident, run)
    wait_until(lambda: told(rig, "redis.wrong_key"), "it is told")
    works_little(rig, 1)
    kept = rig.client.added(later(1000))
    rig.client.done("pause", kept)
    works_little(rig, 1)
    assert rig.db.hget("plan:count", "s:jobs") == b"1"


@pytest.mark.parametrize("key", KEYS)
def test_row_27_key_of_another_type_at_start(make_rig, key):
    rig = make_rig(start=False, redis_args=ALWAYS)
    rig.redis.start()
    TYPES["hash" if OWN.get(key) != "hash" else "zset"](rig.db, key)
    rig.station.start()
    everything_works(rig)


@pytest.mark.parametrize("kind", ["hash", "list"])
def test_row_27_a_submission_is_whole_or_not(make_rig, kind):
    """plan:time:set of another type: what is acknowledged runs, also one that was tried before."""
    rig = make_rig(redis_args=ALWAYS)
    rig.db.delete("plan:time:set")
    TYPES[kind](rig.db, "plan:time:set")
    plan = later()
    wait_until(lambda: rig.client.submit(plan, gid="77").code == ST.PLAN, "taken")
    assert rig.score("77") == plan["plan_time"]
    rig.due_now("77")
    rig.jobs.finish(of_plan(rig, "77"))
    rig.gone("77")


def test_row_27_work_and_message_of_another_type(rig):
    """The plan's own keys: replaced or quarantined, and others are not harmed."""
    ident = rig.client.added(every(1, 3, no_keep=True))
    run = of_plan(rig, ident)
    rig.db.set(rig.key(ident, kind="work"), "x")
    rig.jobs.finish(run, ST.OK, [(FT.CONTENT, b"x")])
    rig.repet(ident, 1)     # with a batch that could not write to that key: the next one replaces it
    wait_until(lambda: rig.db.type(rig.key(ident, kind="work")) == b"hash", "it is replaced")
    of_plan(rig, ident)
    rig.db.delete(rig.key(ident))
    rig.db.hset(rig.key(ident), "a", "b")
    works_little(rig, 2)
    runs_through(rig)


def test_row_27_the_queue_of_an_idle_station_is_of_another_type(make_rig):
    """Nobody writes to it: it is replaced all the same, and the upkeep puts its plans in again."""
    rig = make_rig("--sweep-interval", "2")
    ident = rig.client.added(later(3))
    other = rig.client.added(later())
    rig.settle()
    rig.db.delete("plan:time:set")
    rig.db.set("plan:time:set", "x")
    before = rig.db.info("stats")["total_commands_processed"]
    rig.jobs.finish(of_plan(rig, ident))
    wait_until(lambda: told(rig, "redis.wrong_key"), "the log says it")
    assert rig.db.info("stats")["total_commands_processed"] - before < 20000
    wait_until(lambda: rig.score(other), "the other plan is there again")


def test_row_27_an_id_whose_message_is_of_another_type(rig):
    """It is no plan, and is replaced by the one that is submitted."""
    rig.db.hset("plan:msg:jobs:5", "a", "b")
    assert rig.client.submit(at_once(), gid="5").code == ST.PLAN
    rig.jobs.finish(of_plan(rig, "5"))
    rig.gone("5")
