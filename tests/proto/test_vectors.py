"""The vectors of proto/vectors against a live station, with the client of proto/README.md."""
import json

import pytest
import zmq

import client
from client import (ARG, COMMAND, CONTENT, ERROR_FLAG, JSON, OK, PLAN, PLAN_KEPT, REQUEST_ID,
                    STATION_ID, STATUS, Client, Message, Refused, Results, Target, new_socket)
from story import Stage, frame_of, frames_of, play, vectors
from zplanprocs import WAIT, wait_until
from zplantest import FakeTarget

FRAME_PLANERROR, MANAGE_ARG_ERROR = 0x8B, 0x89


def named(vector):
    return vector["name"]


def each(file, part):
    return pytest.mark.parametrize("vector", vectors(file)[part], ids=named)


# -- framing

@pytest.fixture
def raw(shared):
    socket = new_socket(zmq.DEALER)
    socket.connect(shared.ipc("q"))
    yield socket
    socket.close()


def check_reply(raw, vector, frames):
    raw.send_multipart(frames)
    raw.send_multipart([b"", *Message(client.PING, [(REQUEST_ID, b"end")]).parts()])
    replies = []
    while not replies or replies[-1] != [b"", b"\x01\x01\x04\0", b"end"]:
        assert raw.poll(int(WAIT * 1000)), replies
        replies.append(raw.recv_multipart())
    reply = replies[0] if len(replies) == 2 else None
    if "reply" in vector:
        assert reply == (vector["reply"] and frames_of(vector["reply"]))
        return
    before = 1 if frames[0] == b"" else 0
    message = Message.read(reply, before)
    assert message.envelope == [b""][:before]
    assert message.code == int(vector["reply_status"], 16)
    assert message.get(STATUS).startswith(b"-")
    repeats = vector.get("repeats", {})
    for name, kind in (("requester", client.REQUESTER), ("request_id", REQUEST_ID)):
        assert message.get(kind) == (bytes.fromhex(repeats[name]) if name in repeats else None)


@each("description.json", "descriptions")
def test_description(raw, vector):
    check_reply(raw, vector, frames_of([vector["description"], *vector["frames"]]))


@each("description.json", "envelopes")
def test_envelope(raw, vector):
    check_reply(raw, vector, frames_of(vector["frames"]))


# -- numbers

def test_numbers_of_the_client():
    codes = vectors("codes.json")
    frames = {row["name"]: int(row["byte"], 16) for row in codes["frames"]}
    frames.update({other: frames[name] for other, name in codes["same_frames"].items()})
    for name, byte in frames.items():
        assert getattr(client, name, byte) == byte, name
    commands = {row["name"]: int(row["byte"], 16) for row in codes["commands"]}
    assert [commands[n] for n in ("NONE", "PLAN", "PROXY", "PING", "GLOBAL_ID")] == \
        [client.NONE, client.PLAN_REQUEST, client.PROXY, client.PING, client.NEW_ID]
    statuses = {row["name"]: int(row["zeronet"], 16) for row in codes["statuses"]}
    assert [statuses[n] for n in ("OK", "PLAN", "RUNING", "WAITING", "NOT_WORKER")] == \
        [OK, PLAN_KEPT, client.RUNING, client.WAITING, client.NOT_WORKER]
    assert int(codes["error_flag"], 16) == ERROR_FLAG


# -- PLAN frames

@pytest.fixture
def station(shared):
    one = Client(shared.ipc("q"), WAIT)
    yield one
    one.socket.close()


@each("plan_frames.json", "frames")
def test_plan_frame(shared, station, vector):
    frame = frame_of(vector["frame"])
    asked = [(COMMAND, b"next"), (ARG, frame)]
    if vector["verdict"] == "valid":
        reply = station.ask(client.NONE, asked)
        assert json.loads(reply.get(JSON)).keys() == {"never", "next"}
        return
    submission = [(PLAN, frame), (STATION_ID, b"jobs"), (COMMAND, b"x")]
    questions = [(client.PLAN_REQUEST, submission, FRAME_PLANERROR, "-plan error: ")]
    if frame[:1] == b"{" or frame[:1] >= b"\x80":
        questions.append((client.NONE, asked, MANAGE_ARG_ERROR, "-argument: "))
    for code, frames, status, word in questions:
        with pytest.raises(Refused) as refused:
            station.ask(code, frames)
        assert refused.value.status == status
        assert str(refused.value).startswith(f"{word}{vector['field']}: "), refused.value
    assert not shared.db.keys("plan:msg:*")


# -- stories

STORIES = [story for file in ("management.json", "broadcasts.json", "dispatch.json", "votes.json")
           for story in vectors(file)["stories"]]


@pytest.mark.parametrize("story", STORIES, ids=named)
def test_story(story):
    stage = Stage(story)
    try:
        play(story, stage.open())
    finally:
        stage.close()


# -- dispatches

@pytest.fixture(scope="module")
def ways(make_shared):
    """A rig with a target of each way, by mailbox and key."""
    rig = make_shared(start=False)
    rig.targets = {}
    for mailbox in ("frame", "identity"):
        for key in ("", "secret"):
            name = mailbox + key
            rig.targets[mailbox, key] = name, rig.keep(FakeTarget(rig.ipc(name)))
            options = f",mailbox={mailbox}" + (f",key={key}" if key else "")
            rig.station.args += ["--station", f"{name}=api@{rig.ipc(name)}{options}"]
    return rig.start()


def fired(ways, text, name, target):
    """An operator puts a plan there, for this target: what it is sent."""
    stored = json.loads(text)
    key = f"plan:msg:{name}:{stored['plan_id']:x}"
    ways.db.set(key, text.replace(f'"station":"{stored["station"]}"', f'"station":"{name}"'))
    ways.db.zadd("plan:time:set", {key: 1})
    assert target.socket.poll(int(WAIT * 1000))
    return target.socket.recv_multipart()


@each("dispatch.json", "dispatches")
def test_dispatch(ways, vector):
    """What is sent is what the vector says, but for what is the run's own."""
    stored = json.loads(vector["stored"])
    one = Client(ways.ipc("q"), WAIT)
    for way in vector["ways"]:
        by_frame = way["mailbox"] == "frame"
        peer, *got = fired(ways, vector["stored"], *ways.targets[way["mailbox"], way["key"]])
        want = frames_of(way["frames"])
        assert peer.startswith(b"+zplan-") != by_frame
        assert got[:by_frame + 1] == want[:by_frame + 1] and len(got) == len(want)
        got, want = Message.read(got, by_frame), Message.read(want, by_frame)
        plan, wanted_plan = json.loads(got.get(PLAN)), json.loads(want.get(PLAN))
        own = {b"%x" % stored["exec_id"]: b"%x" % plan["exec_id"]}
        if "extra" in stored:   # its nominal time is the claim's
            own[b"%d" % stored["exec_time"]] = b"%d" % plan["exec_time"]
        for (kind, frame), (_, wanted) in zip(got.frames, want.frames):
            if kind != PLAN:
                assert frame == own.get(wanted, wanted), (vector["name"], way["mailbox"], kind)
        assert list(plan) == list(wanted_plan)
        for field in plan.keys() - {"exec_id", "exec_time", "revision", "deadline", "station"}:
            assert plan[field] == wanted_plan[field], field
        one.manage("remove", f"{stored['plan_id']:x}")
    one.socket.close()


# -- votes

@pytest.fixture(scope="module")
def polls(make_shared):
    rig = make_shared(start=False)
    rig.polls = Target(rig.ipc("polls"))
    rig.keep(rig.polls.socket)
    rig.station.args += ["--station", "polls=vote@" + rig.ipc("polls")]
    return rig.start()


@each("votes.json", "rules")
def test_vote(polls, vector):
    one = Client(polls.ipc("q"), WAIT)
    ident = one.submit("polls", {"plan_type": 0, "vote": vector["vote"]}, [(COMMAND, b"x")])
    run = polls.polls.run(WAIT)
    for step in vector["steps"]:
        if "frames" in step:
            run.socket.send_multipart([*run.message.envelope, *frames_of(step["frames"])])
    want = int(vector["steps"][-1]["then"], 16)
    outcome = wait_until(lambda: list(one.runs(plan=ident)), "the end of the vote")[0]
    assert outcome["status"] == want and outcome["exec_id"] == run.plan["exec_id"]
    assert outcome["reason"].startswith("vote: ")
    if want >= ERROR_FLAG:
        one.manage("remove", ident)
    one.socket.close()


# -- what stands in Redis

def test_messages_that_lose_their_right_to_run(rig):
    bad = [m for m in vectors("redis.json")["messages"] if m["verdict"] != "readable"]
    plans = {f"{number:x}": message for number, message in enumerate(bad, start=0x100)}
    for ident, message in plans.items():
        rig.db.set(f"plan:msg:jobs:{ident}", message["text"])
    rig.db.zadd("plan:time:set", {f"plan:msg:jobs:{ident}": 1 for ident in plans})
    wait_until(lambda: not rig.db.zcard("plan:time:set"), "all are out of the queue")
    one = Client(rig.ipc("q"), WAIT)
    outcomes = list(one.runs())
    assert {run["plan"]: run["status"] for run in outcomes} == dict.fromkeys(plans, FRAME_PLANERROR)
    for run in outcomes:
        message = plans[run["plan"]]
        if message["verdict"] == "unreadable":
            assert run["reason"].startswith(message["field"] + ":"), (message["name"], run)
    one.socket.close()


# -- the client

def test_round_trip(make_rig):
    """Submit, run, result, broadcast, history, with the client alone."""
    rig = make_rig(start=False)
    target = Target(rig.ipc("t"))
    rig.keep(target.socket)
    rig.station.args += ["--station", "mine=api@" + rig.ipc("t")]
    rig.start()
    one = Client(rig.ipc("q"), WAIT)
    results = Results(rig.ipc("p"), one)
    assert list(results.catch_up()) == []

    plan = {"description": "first", "plan_type": "second", "plan_value": 0, "plan_repet": 2}
    hello = [(COMMAND, b"greet"), (ARG, b"world")]
    ident = one.submit("mine", plan, hello, one.new_id())
    assert one.submit("mine", plan, hello, ident) == ident      # again: nothing changes
    assert [plan["plan_id"] for plan in one.plans(station="mine")] == [int(ident, 16)]
    run = target.run(WAIT)
    assert run.message.code == client.PROXY and run.message.envelope[1] == b"*" + ident.encode()
    assert run.message.get(COMMAND) == b"greet" and run.message.get(ARG) == b"world"
    assert run.plan["plan_id"] == int(ident, 16) and run.time == run.plan["plan_time"]
    run.answer(client.RUNING)
    run.answer(client.WAITING)
    run.finish(OK, [(CONTENT, b"hello world")])

    outcomes = iter(results)
    first = next(outcomes)
    assert first[:4] == (1, ident, OK, "first")
    assert first.frames in (None, [(CONTENT, b"hello world"), (client.LOCAL_ID, run.local_id)])

    # A subscriber that was away: the history has what it missed, each outcome once.
    results.socket.disconnect(rig.ipc("p"))
    failing = target.run(WAIT)
    failing.answer(client.RUNING)
    failing.finish(0x82)
    wait_until(lambda: len(list(one.runs(plan=ident))) == 2, "the second outcome")
    results.socket.connect(rig.ipc("p"))
    target.run(WAIT).finish(OK)
    seen = [(outcome.seq, outcome.status) for outcome in (next(outcomes), next(outcomes))]
    assert seen == [(2, 0x82), (3, OK)] and not results.missed

    kept = list(one.runs(limit=1))
    assert [(run["seq"], run["plan"]) for run in kept] == [(1, ident), (2, ident), (3, ident)]
    assert list(one.plans()) == []
    with pytest.raises(Refused):
        one.manage("message", ident)
    one.socket.close()
    results.socket.close()


def test_round_trip_of_a_vote(polls):
    one = Client(polls.ipc("q"), WAIT)
    ident = one.submit("polls", {"plan_type": 0, "vote": {"rule": "any"}}, [(COMMAND, b"where")])
    run = polls.polls.run(WAIT)
    run.answer(0x23, [(JSON, b'["w1","w2"]')])
    run.vote("w1", 0x82)
    run.vote("w2", OK, [(CONTENT, b"yes")])
    outcome = wait_until(lambda: list(one.runs(plan=ident)), "the end of the vote")[0]
    assert outcome["status"] == OK and outcome["worker"] == "w2" and outcome["state"] == 7
    one.socket.close()
