"""Submitting a plan (proto 3.3, 5): envelopes, echoes, ids, what is stored."""
import os
import time

import pytest
import zmq

from zplantest import (CMD, FT, ST, at_once, describe, every, later, new_second, pack, plan_frames,
                       unframe, wait_until)

ECHOES = [(FT.REQUESTER, b"who \xff\0"), (FT.REQUEST_ID, b"r\0x")]


def hex_id(reply):
    """The id of a PLAN reply; lower-case hex without padding, 1 to 7fffffffffffffff."""
    assert reply.code == ST.PLAN, reply
    text = reply.get(FT.GLOBAL_ID).decode()
    assert text == f"{int(text, 16):x}" and 0 < int(text, 16) <= 0x7fffffffffffffff
    return text


# The envelopes.

def test_A042_plain_dealer(shared):
    reply = shared.client.submit(later(), more=ECHOES)
    ident = hex_id(reply)
    assert sorted(reply.types) == sorted([FT.GLOBAL_ID, FT.REQUESTER, FT.REQUEST_ID, FT.PLAN_TIME])
    assert reply.get(FT.REQUESTER) == b"who \xff\0"
    assert reply.get(FT.REQUEST_ID) == b"r\0x"
    assert shared.message(ident)["plan_id"] == int(ident, 16)


def test_A042_nothing_is_echoed_that_was_not_given(shared):
    assert shared.client.submit(later()).types == bytes([FT.GLOBAL_ID, FT.PLAN_TIME])


def test_A042_reply_to_an_empty_echo(shared):
    reply = shared.client.submit(later(), more=[(FT.REQUESTER, b""), (FT.REQUEST_ID, b"")])
    hex_id(reply)
    assert reply.get(FT.REQUESTER) == b"" and reply.get(FT.REQUEST_ID) == b""


def test_A111_req_client(shared):
    client = shared.dealer(kind=zmq.REQ)
    hex_id(client.submit(later()))
    hex_id(client.submit(later()))
    assert client.submit({}).code == ST.PLANERROR


def test_empty_delimiter_comes_back(shared):
    client = shared.dealer()
    client.send(CMD.PLAN, plan_frames(later()), before=[b""])
    reply = client.recv(before=1)
    assert reply.before == [b""]
    hex_id(reply)


@pytest.mark.parametrize("caller", [b"+>client-1", b"\0\x01\x02\xff\xfe", b"\xff" * 255, b"x"],
                         ids=lambda caller: caller[:5].hex())
def test_A016_forwarded_caller_is_stored_and_not_in_the_reply(shared, caller):
    ident = hex_id(shared.client.ask(CMD.PLAN, plan_frames(later()), before=[caller]))
    assert unframe(shared.message(ident)["caller"]) == caller


def test_A016_identity_is_the_caller(shared):
    client = shared.dealer(identity=b"+>named")
    assert shared.message(client.added(later()))["caller"] == "+>named"


def test_A016_binary_identity_is_the_caller(shared):
    client = shared.dealer(identity=b"\x01\0\xff*")
    assert unframe(shared.message(client.added(later()))["caller"]) == b"\x01\0\xff*"


def test_A016_anonymous_identity_is_the_caller(shared):
    caller = unframe(shared.message(shared.client.added(later()))["caller"])
    assert len(caller) == 5 and caller[0] == 0      # what a ROUTER gives to one without a name


@pytest.mark.parametrize("tail", [b"", b"\0", b"\0\0\0\0", b"\xfe\0\0", b"\0\xfe\xff\0"])
def test_description_with_and_without_end(shared, tail):
    """2: a reader accepts the absence of END and any number of 0 or tag bytes after it."""
    pairs = plan_frames(later())
    desc = describe(CMD.PLAN, [t for t, _ in pairs])[:-1] + tail
    ident = hex_id(shared.client.ask(CMD.PLAN, pairs, desc=desc))
    assert unframe(shared.message(ident)["messages"][1]) == desc


# What is stored.

def test_A024_A033_a_new_plan_in_redis(shared):
    """B046, B054: its description, and the time of its creation, which the station sets."""
    before = int(time.time())
    plan = later(description="日报", plan_repet=5, no_keep=True)
    ident = shared.client.added(plan, more=ECHOES)
    message = shared.message(ident)
    assert unframe(message["request_id"]) == b"r\0x"
    assert (message["station"], message["description"]) == ("jobs", "日报")
    assert (message["plan_type"], message["plan_repet"], message["no_keep"]) == (1, 5, True)
    assert message["plan_time"] == message["base_time"] == plan["plan_time"]
    for zero in ("real_repet", "last_state", "exec_time", "exec_id", "skip_num", "error_count"):
        assert message[zero] == 0, zero
    assert message["plan_state"] == 1                        # queue
    assert before <= message["add_time"] <= time.time()
    assert shared.score(ident) == plan["plan_time"]


def test_A080_messages_hold_mailbox_description_and_frames(shared):
    """6.2: at least 5, PLAN and STATION_ID included; a minimal api plan has exactly 5."""
    pairs = plan_frames(later())
    ident = hex_id(shared.client.ask(CMD.PLAN, pairs))
    stored = [unframe(f) for f in shared.message(ident)["messages"]]
    assert stored == [b"*" + ident.encode(), *pack(CMD.PLAN, pairs)]


def test_A025_frames_byte_for_byte(rig):
    """Empty, 1 MiB of random bytes, NUL and ff: stored, over a restart of the station, sent."""
    more = [(FT.ARG, b""), (FT.ARG, os.urandom(1 << 20)), (FT.ARG, b"\0\xff"), (FT.CONTENT, b"T"),
            (FT.CONTEXT, '{"ключ": "日"}'.encode()), (FT.BIN, b"a\0b"), (ord("z"), b"own"),
            (FT.ARG, b"\xc0\x80"), *ECHOES, (FT.CONTENT, b"")]
    ident = rig.client.added(later(), more=more)
    rig.restart()
    rig.due_now(ident)
    run = rig.jobs.recv()
    sent = [(FT.COMMAND, b"do"), *more]
    assert list(zip(run.types, run.frames))[:len(sent)] == sent


@pytest.mark.parametrize("name,code", [("none", 0), ("time", 1), ("second", 2), ("minute", 3),
                                       ("hour", 4), ("day", 5), ("week", 6), ("month", 7)])
@pytest.mark.parametrize("by_name", [False, True])
def test_A004_types(rig, name, code, by_name):
    kind = name if by_name else code
    plan = every(3, 2, kind=kind) if code >= 2 else later(plan_type=kind)
    assert rig.message(rig.client.added(plan))["plan_type"] == code


UNITS = {2: 1, 3: 60, 4: 3600, 5: 86400}


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("value", [1, 32766])
def test_A052_A053_first_time_after_the_moment_of_receipt(rig, kind, value):
    before = int(time.time())
    ident = rig.client.added(every(value, -1, kind=kind))
    first = rig.message(ident)["plan_time"]
    assert before + value * UNITS[kind] <= first <= time.time() + value * UNITS[kind]
    # The second may have come meanwhile, for the shortest interval only.
    assert rig.score(ident) == first or value == 1


def test_A053_first_time_after_a_base(shared):
    base = int(time.time()) + 1000
    ident = shared.client.added(every(5, -1, plan_time=base))
    assert shared.message(ident)["plan_time"] == shared.score(ident) == base + 5


def test_A055_value_zero_is_accepted(shared):
    base = int(time.time()) + 1000
    ident = shared.client.added(every(0, 3, plan_time=base))
    assert shared.message(ident)["plan_time"] == base       # the first run at base


@pytest.mark.parametrize("text,seconds", [
    ("2096-02-29T08:30:00Z", 3981342600), ("2096-02-29T08:30:00+08:00", 3981313800),
    ("2096-02-29T08:30:00-00:30", 3981344400)])
def test_plan_time_as_rfc3339(shared, text, seconds):
    ident = shared.client.added(later(plan_time=text))
    assert shared.message(ident)["plan_time"] == seconds


@pytest.mark.parametrize("fields", [
    {"plan_time": 253402300799}, {"plan_repet": -1}, {"plan_repet": 0}, {"no_skip": True},
    {"no_keep": False}, {"description": "d" * 1024}, {"description": ""}])
def test_A050_accepted_fields(shared, fields):
    message = shared.message(shared.client.added(later(**fields)))
    if "no_skip" in fields:
        assert message["no_keep"] is True
    else:
        name, value = next(iter(fields.items()))
        assert message[name] == value


def test_A061_the_calculation_is_arithmetic(shared):
    """No walk over half a hundred years of seconds."""
    before = shared.station.cpu_seconds()
    ident = shared.client.added(every(32766, -1, plan_time=1))
    assert shared.station.cpu_seconds() - before < 0.5
    message = shared.message(ident)
    assert (message["plan_time"] - 1) % 32766 == 0 and message["plan_time"] >= time.time() - 5


def test_skip_set_is_stored(shared):
    ident = shared.client.added(every(1000, 3, skip_set=2))
    assert shared.message(ident)["skip_set"] == 2


# Ids.

@pytest.mark.parametrize("given,number", [
    ("ff", 255), ("FF", 255), ("00000000000000a1", 0xa1), ("7fffffffffffffff", 2**63 - 1),
    ("1", 1), ("255", 0x255), ("deadBEEF", 0xdeadbeef)])
def test_A013_A029_given_id(rig, given, number):
    assert hex_id(rig.client.submit(later(), gid=given)) == f"{number:x}"
    assert rig.message(f"{number:x}")["plan_id"] == number
    reply = rig.client.manage("message", given)
    assert reply.json["plan_id"] == number


def test_A044_made_ids_are_distinct_over_a_restart(rig):
    seen = set()
    for _ in range(2):
        for _ in range(1000):
            rig.client.send(CMD.PLAN, plan_frames(later()))
        for _ in range(1000):
            seen.add(hex_id(rig.client.recv()))
        rig.restart()
    assert len(seen) == 2000
    assert rig.db.zcard("plan:time:set") == 2000            # A027


def test_A043_A109_same_again_is_answered_and_changes_nothing(shared):
    pairs = plan_frames(later(), gid="a43", more=ECHOES)
    first = shared.client.ask(CMD.PLAN, pairs)
    before = shared.dump()
    for client in (shared.client, shared.dealer(identity=b"another"), shared.dealer(kind=zmq.REQ)):
        again = client.ask(CMD.PLAN, pairs)
        there = [frame for frame in again.frames if frame not in first.frames]
        assert there == [b"+plan: already exists"]       # which is all that differs
        assert (again.code, len(again.frames)) == (first.code, len(first.frames) + 1)
    assert shared.dump() == before


@pytest.mark.parametrize("change", ["plan", "station", "frame", "order", "type", "end"])
def test_A043_same_id_with_anything_else_is_refused(shared, change):
    ident = {"plan": "a44", "station": "a45", "frame": "a46", "order": "a47", "type": "a48",
             "end": "a49"}[change]
    plan = later()
    pairs = plan_frames(plan, gid=ident, more=[(FT.ARG, b"1"), (FT.PUB_TITLE, b"t")])
    hex_id(shared.client.ask(CMD.PLAN, pairs))
    before = shared.dump()
    desc = None
    if change == "plan":
        pairs[0] = (FT.PLAN, pairs[0][1] + b" ")
    elif change == "station":
        pairs[1] = (FT.STATION_ID, b"news")
    elif change == "frame":
        pairs[4] = (FT.ARG, b"2")
    elif change == "order":
        pairs[4:] = reversed(pairs[4:])
    elif change == "type":
        pairs[4] = (FT.BIN, b"1")
    else:
        desc = describe(CMD.PLAN, [t for t, _ in pairs]) + b"\0"
    reply = shared.client.ask(CMD.PLAN, pairs, desc=desc)
    assert reply.code >= ST.ERROR_FLAG and reply.text.startswith("-"), reply
    assert shared.dump() == before


def test_A043_one_id_at_the_same_moment(shared):
    """Many clients, two stations, two texts: one of them has the id, the others are refused."""
    bodies = [plan_frames(later(description=text), station, gid="a43b")
              for text in ("one", "two") for station in ("jobs", "news")]
    crowd = [(shared.dealer(), n % 4) for n in range(20)]
    for client, body in crowd:
        client.send(CMD.PLAN, bodies[body])
    taken = {body for client, body in crowd if client.recv().code == ST.PLAN}
    assert len(taken) == 1
    assert len(shared.db.keys("plan:msg:*:a43b")) == 1
    assert shared.client.ask(CMD.PLAN, bodies[taken.pop()]).code == ST.PLAN


def test_A109_same_again_while_it_runs_and_its_time_is_past(rig):
    """An id given again is answered by what is stored, not checked as if it were new."""
    pairs = plan_frames(later(1), gid="109")
    hex_id(rig.client.ask(CMD.PLAN, pairs))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state("109", ST.RUNING)
    new_second()
    before = rig.dump()
    assert hex_id(rig.client.ask(CMD.PLAN, pairs)) == "109"
    assert rig.dump() == before


def test_id_of_an_ended_plan_may_be_used_again(rig):
    for _ in range(2):
        rig.client.added(at_once(), gid="e0d")
        rig.jobs.finish(rig.jobs.recv())
        rig.gone("e0d")


def test_A042_the_reply_comes_after_the_write(rig):
    """kill -9 right after the reply: the plan is in Redis."""
    for turn in range(1, 6):
        ident = rig.client.added(later(), gid=f"{turn:x}")
        rig.station.kill()
        assert rig.message(ident) and rig.score(ident)
        rig.station.start()


def test_A042_no_reply_while_redis_does_not_answer(rig):
    rig.redis.process.send_signal(19)       # SIGSTOP
    try:
        rig.client.send(CMD.PLAN, plan_frames(later(), gid="42"))
        early = rig.client.recv() if rig.client.socket.poll(400) else None
        assert early is None or early.code == ST.NET_ERROR
    finally:
        rig.redis.process.send_signal(18)   # SIGCONT
    reply = early or rig.client.recv()
    assert reply.code in (ST.PLAN, ST.NET_ERROR)
    # Whatever the first answer was: said again, it is there.
    wait_until(lambda: rig.client.submit(later(), gid="43").code == ST.PLAN, "Redis is back")
    if reply.code == ST.PLAN:
        assert rig.message("42")


def test_A037_the_same_frames_with_command_none_are_no_plan(shared):
    before = shared.dump()
    assert shared.client.ask(CMD.NONE, plan_frames(later())).code == ST.NOT_SUPPORT
    assert shared.dump() == before
