"""Redis (proto/redis.md): keys, the message, an operator's hand, Redis away and refused."""
import json
import re
import time

import pytest

from redissteps import serving
from zplanprocs import free_port, run_once
from zplantest import (CMD, FT, PLAN_FIELDS, ST, at_once, every, later, new_second, plan_frames,
                       told, wait_until)


# Keys and the message.

def test_A027_A028_A029_A032_keys(rig):
    idents = [rig.client.added(later()), rig.client.added(later(), gid="00FF"),
              rig.client.added(later(), gid="7fffffffffffffff")]
    keys = {f"plan:msg:jobs:{ident}" for ident in idents}
    assert idents[1:] == ["ff", "7fffffffffffffff"]
    assert {k.decode() for k in rig.db.keys("plan:msg:*")} == keys
    assert {k.decode() for k in rig.db.zrange("plan:time:set", 0, -1)} == keys
    assert rig.db.type("plan:time:set") == b"zset"
    assert {rig.db.type(key) for key in keys} == {b"string"}
    assert all(key.startswith(b"plan:") for key in rig.db.keys("*"))


def test_A034_work_is_a_hash(rig):
    ident = rig.client.added(every(1, 2))
    rig.jobs.finish(rig.jobs.recv(), ST.OK, [(FT.CONTENT, "日".encode()), (FT.BIN, b"\xff")])
    rig.repet(ident, 1)
    key = f"plan:work:jobs:{ident}"
    assert rig.db.type(key) == b"hash" and rig.db.hkeys(key) == [b"jobs"]
    frames = json.loads(rig.db.hget(key, "jobs"))
    # 6.2: a string where it is UTF-8 without NUL, else base64.
    assert list(frames[0]) == ["b64"] and frames[1] == "日" and list(frames[2]) == ["b64"]


def test_A033_fields_and_types_of_the_message(rig):
    client = rig.dealer(identity=b"+>me")
    ident = client.added(every(1, 3), more=[(FT.REQUEST_ID, b"r"), (FT.ARG, b"\xff"),
                                            (FT.ARG, "日".encode()), (FT.ARG, b"a\0")])
    fresh = rig.message(ident)
    rig.jobs.finish(rig.jobs.recv())
    for message in (fresh, rig.repet(ident, 1)):
        assert set(PLAN_FIELDS) <= set(message)
        for name, kind in PLAN_FIELDS.items():
            assert type(message[name]) is kind, name
    assert message["plan_id"] == int(ident, 16)
    assert message["messages"][0] == "*" + ident
    assert list(message["messages"][1]) == ["b64"]          # the description ends with NUL
    assert message["messages"][5:] == ["r", {"b64": "/w=="}, "日", {"b64": "YQA="}]
    assert (message["caller"], message["request_id"]) == ("+>me", "r")


def test_A030_big_ids_survive(rig):
    """No double on the way: a 63 bit id and exec_id stay what they are."""
    ident = rig.client.added(every(1, 2), gid="7ffffffffffffffd")
    run = rig.jobs.recv()
    assert run.plan["plan_id"] == 0x7ffffffffffffffd and run.mailbox == b"*7ffffffffffffffd"
    rig.jobs.finish(run)
    message = rig.repet(ident, 1)
    assert message["plan_id"] == 0x7ffffffffffffffd and message["exec_id"] == run.exec_id


def test_A002_redis_defdb(make_rig):
    rig = make_rig(db=9)
    ident = rig.client.added(every(1, 2))
    assert rig.message(ident)
    assert rig.redis.client(0).dbsize() == 0
    rig.jobs.finish(rig.jobs.recv())
    rig.repet(ident, 1)
    assert rig.redis.client(0).dbsize() == 0


# An operator's hand.

def test_A074_a_lower_score_fires_early(rig):
    """Seen within a second; the nominal time stays (4.9)."""
    plan = later()
    ident = rig.client.added(plan)
    rig.due_now(ident)
    start = time.monotonic()
    run = rig.jobs.recv()
    assert time.monotonic() - start < 3
    assert run.plan_time == plan["plan_time"]
    rig.jobs.finish(run)
    rig.gone(ident)


def test_A074_a_higher_score_fires_later(rig):
    """A fraction is allowed in a score."""
    when = new_second() + 2
    ident = rig.client.added(later(plan_time=when))
    rig.db.zadd("plan:time:set", {rig.key(ident): when + 1.5}, xx=True)
    run = rig.jobs.recv()
    assert run.claimed >= when + 1.5 and run.plan_time == when


def test_A073_not_in_the_set_is_not_run_by_itself(rig):
    """Repaired or reported: never fatal, and never fired before its time."""
    ident = rig.client.added(later())
    rig.db.zrem("plan:time:set", rig.key(ident))
    rig.jobs.nothing(1.5)
    rig.client.ping()
    assert rig.message(ident) is not None


def parked(rig, ident):
    """FRAME_PLANERROR: out of the queue, the message kept, broadcast, not fired."""
    wait_until(lambda: rig.score(ident) is None, "out of the queue")
    assert rig.state(ident, ST.PLANERROR)["last_state"] == 139
    wait_until(lambda: rig.message(ident)["plan_state"] == 6, "plan_state error")
    rig.jobs.nothing(0.3)


def test_A078_A081_last_state_planerror_by_hand(rig):
    ident = rig.client.added(later())
    rig.edit(ident, last_state=0x8B)
    rig.due_now(ident)
    parked(rig, ident)


SPOILT = {
    "A079-station": lambda m: m.update(station=""),
    "A080-four-frames": lambda m: m["messages"].pop(),
    "A080-no-frames": lambda m: m["messages"].clear(),
    "description": lambda m: m["messages"].insert(1, "x"),
    "one-frame-more": lambda m: m["messages"].append("x")}


@pytest.mark.parametrize("name", SPOILT)
def test_A079_A080_a_message_that_was_spoilt(rig, name):
    """4.6: also a stored description that does not fit its frames."""
    results = rig.subscribe(b"later")
    ident = rig.client.added(later())
    message = rig.message(ident)
    assert len(message["messages"]) == 5
    SPOILT[name](message)
    rig.db.set(rig.key(ident), json.dumps(message))
    rig.due_now(ident)
    parked(rig, ident)
    news = results.recv()
    assert news.code == ST.PLANERROR and told(news)["last_state"] == ST.PLANERROR
    well = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(well)


def test_an_edited_message_is_the_one_that_is_sent(rig):
    """An operator may edit a message by hand."""
    ident = rig.client.added(later())
    frames = rig.message(ident)["messages"]
    assert frames[4] == "do"
    frames[4] = "do this"
    rig.edit(ident, messages=frames)
    rig.due_now(ident)
    assert rig.jobs.recv().get(FT.COMMAND) == b"do this"


BROKEN = {"no json": b"{broken", "empty": b"", "array": b"[]", "no object": b"7", "nul": b"\0",
          "no fields": b"{}", "deep": b"[" * 100000, "types": b'{"plan_id": "x", "messages": 5}',
          "invalid utf8": b'{"station": "\xff"}'}


@pytest.mark.parametrize("name", BROKEN)
def test_A033_broken_messages_leave_the_queue(rig, name):
    ident = rig.client.added(later())
    rig.db.set(rig.key(ident), BROKEN[name])
    rig.due_now(ident)
    wait_until(lambda: rig.score(ident) is None, "out of the queue")
    well = rig.client.added(at_once())
    run = rig.jobs.recv()
    assert run.mailbox == b"*" + well.encode()
    rig.jobs.finish(run)
    rig.gone(well)


@pytest.mark.parametrize("member", [
    "plan:msg:jobs:dead", "plan:msg:jobs:zz", "plan:msg::1", "plan:msg:jobs:", "x", "",
    "plan:msg:nobody:1", "plan:time:set", "plan:msg:jobs:1:2", b"plan:msg:jobs:\xff\0"])
def test_A046_member_without_a_message_is_removed(rig, member):
    rig.db.zadd("plan:time:set", {member: 1})
    wait_until(lambda: rig.db.zscore("plan:time:set", member) is None, "the member is removed")
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    assert run.mailbox == b"*" + ident.encode()


def test_message_of_another_type(rig):
    ident = rig.client.added(later())
    rig.db.delete(rig.key(ident))
    rig.db.hset(rig.key(ident), "a", "b")
    rig.due_now(ident)
    well = rig.client.added(at_once())
    assert rig.jobs.recv().mailbox == b"*" + well.encode()
    rig.client.ping()


def test_A026_flushed_under_the_station(rig):
    """All state is in Redis: a plan that is gone there does not fire."""
    rig.client.added(later(2))
    rig.db.flushall()
    rig.jobs.nothing(3)
    ident = rig.client.added(at_once())
    assert rig.jobs.recv().mailbox == b"*" + ident.encode()


# Redis away, back, refused.

def test_A001_redis_down_at_start(make_rig):
    rig = make_rig(start=False)
    rig.station.start(wait_ready=False)
    serving(rig)
    for _ in range(2):
        reply = rig.client.submit(later(), more=[(FT.REQUESTER, b"boss")])
        assert reply.code == ST.NET_ERROR and reply.text.startswith("-net error")
        assert reply.get(FT.REQUESTER) == b"boss"
    rig.redis.start()
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "submits are taken")
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)


@pytest.mark.parametrize("gently", [True, False])
def test_A001_A026_redis_restarted(make_rig, gently):
    """Append-only file: a plan that was acknowledged fires; nothing is lost, the station stays."""
    rig = make_rig(redis_args=("--appendfsync", "always"))
    when = int(time.time()) + 4
    ident = rig.client.added(later(plan_time=when))
    if gently:
        rig.redis.stop()
    else:
        rig.redis.kill()
    wait_until(lambda: rig.client.submit(later()).code == ST.NET_ERROR, "refused")
    rig.client.ping()
    rig.redis.start()
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "submits are taken")
    run = rig.jobs.recv()
    assert run.plan_time == when and run.claimed >= when
    rig.jobs.finish(run)
    rig.gone(ident)


def test_command_that_redis_forbids_is_told_by_its_name(rig):
    """Nothing of the submission is stored, and the next one is taken when it is allowed again."""
    keys = set(rig.db.keys())
    rig.db.execute_command("ACL", "SETUSER", "default", "-mset")
    reply = rig.client.submit(later())
    assert reply.code >= ST.ERROR_FLAG and "mset" in reply.text, reply
    assert set(rig.db.keys()) - keys <= {b"plan:attending", b"plan:meta"}
    rig.db.execute_command("ACL", "SETUSER", "default", "+mset")
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "it is tried again")


def test_scripts_that_were_flushed_are_loaded_again(rig):
    """Between the messages of a submission and its script, too."""
    rig.db.script_flush()
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.db.script_flush()
    rig.jobs.finish(run)
    rig.gone(ident)
    rig.db.script_flush()
    many = [rig.client.added(at_once()) for _ in range(3)]
    for _ in many:
        rig.jobs.finish(rig.jobs.recv())
    for each in many:
        rig.gone(each)


def test_A046_connections_killed_under_load(rig):
    """No member without a message, no message without a member, nothing acknowledged is lost."""
    acked, sent = set(), 0
    client = rig.dealer()

    def taken():
        reply = client.submit(later())
        return reply.code == ST.PLAN and reply.get(FT.GLOBAL_ID)

    for _ in range(15):
        # The link is up when the connections are cut, with submissions on their way.
        acked.add(wait_until(taken, "submits are taken"))
        for _ in range(20):
            sent += 1
            client.send(CMD.PLAN, plan_frames(later(), gid=f"{sent:x}"))
        for kind in ("normal", "pubsub"):
            rig.db.client_kill_filter(_type=kind)
        for _ in range(20):
            reply = client.recv()
            assert reply.code in (ST.PLAN, ST.NET_ERROR), reply
            if reply.code == ST.PLAN:
                acked.add(reply.get(FT.GLOBAL_ID))
    wait_until(lambda: client.submit(later()).code == ST.PLAN, "submits are taken")
    members = set(rig.db.zrange("plan:time:set", 0, -1))
    assert members == set(rig.db.keys("plan:msg:*"))
    assert {b"plan:msg:jobs:" + ident for ident in acked} <= members


@pytest.mark.parametrize("redis_args", [
    ("--appendonly", "no"),
    ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"),
    ("--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl")], ids=["aof", "lru", "ttl"])
def test_8_a_redis_that_may_lose_is_refused(make_rig, redis_args):
    """Exit 1 and one line that says why, unless --accept-loss."""
    rig = make_rig(start=False, redis_args=redis_args)
    rig.redis.start()
    code, out, err = run_once(rig.station.args)
    assert code == 1 and out == ""
    why = [line for line in err.splitlines() if re.search("append|evict|maxmemory", line)]
    assert why, err
    rig.station.args.append("--accept-loss")
    rig.station.start()
    rig.client.added(later())


def test_8_password_and_host(make_rig):
    """host:port:password"""
    port = free_port()
    rig = make_rig(start=False, redis_args=("--requirepass", "pa55word", "--port", str(port)))
    at = rig.station.args.index("--redis")
    rig.station.args[at + 1] = f"127.0.0.1:{port}:pa55word"
    rig.start()
    ident = rig.client.added(later())
    assert rig.message(ident)
    rig.db.client_kill_filter(_type="normal")
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "connected again")
