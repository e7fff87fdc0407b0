"""Management (proto 9): list, message, remove; and the commands `>` and `*`."""
import json

import pytest

from zplantest import CMD, FT, ST, WORD, at_once, every, later, wait_until

ECHOES = [(FT.REQUESTER, b"boss"), (FT.REQUEST_ID, b"r\0\xff")]


def ok(reply):
    assert reply.code == ST.OK and reply.text.startswith("+ok"), reply
    return reply


def refused(reply, status):
    assert reply.code == status, reply
    assert reply.text.startswith(WORD[status]), reply
    assert reply.get(FT.JSON) is None


def listed(rig, **query):
    """One page: (ids in order, next)."""
    args = [json.dumps(query)] if query else []
    answer = ok(rig.client.manage("list", *args)).json
    assert all("messages" not in plan for plan in answer["plans"])
    return [f"{plan['plan_id']:x}" for plan in answer["plans"]], answer.get("next")


def test_ping(shared):
    reply = shared.client.ask(CMD.PING, ECHOES)
    assert reply.code == ST.OK
    assert reply.get(FT.REQUESTER) == b"boss" and reply.get(FT.REQUEST_ID) == b"r\0\xff"
    assert shared.client.ask(CMD.PING, desc=b"\0*").code == ST.OK


def test_A044_global_id(shared):
    seen = set()
    for _ in range(100):
        reply = shared.client.ask(CMD.GLOBAL_ID, ECHOES)
        assert reply.code == ST.OK and reply.get(FT.REQUEST_ID) == b"r\0\xff"
        text = reply.get(FT.GLOBAL_ID).decode()
        assert text == f"{int(text, 16):x}" and 0 < int(text, 16) < 2**63
        seen.add(text)
    assert len(seen) == 100
    ident = seen.pop()
    assert shared.client.added(later(), gid=ident) == ident


def test_message(rig):
    ident = rig.client.added(every(1000, 3), more=[(FT.ARG, b"\xff"), *ECHOES])
    reply = ok(rig.client.manage("message", ident, more=ECHOES))
    assert reply.json == rig.message(ident) and len(reply.json["messages"]) == 8
    assert reply.get(FT.REQUESTER) == b"boss" and reply.get(FT.REQUEST_ID) == b"r\0\xff"
    assert rig.client.manage("message", f"plan:msg:jobs:{ident}").json == reply.json


def test_list_of_nothing(rig):
    assert listed(rig) == ([], None)


def test_list_pages(rig):
    idents = {rig.client.added(later(description=f"d{n}")) for n in range(25)}
    everything, more = listed(rig)
    assert set(everything) == idents and len(everything) == 25 and more is None
    seen, after, pages = [], None, 0
    while True:
        page, after = listed(rig, limit=10, **({"after": after} if after else {}))
        seen += page
        pages += 1
        if after is None:
            break
        assert len(page) == 10 and int(after, 16)
    assert pages == 3 and len(seen) == 25 and set(seen) == idents


def test_list_pages_keep_their_place_while_plans_go(rig):
    for _ in range(9):
        rig.client.added(later())
    everything, _ = listed(rig)
    page, after = listed(rig, limit=3)
    assert page == everything[:3]
    ok(rig.client.manage("remove", page[-1]))
    rest, after = listed(rig, limit=100, after=after)
    assert rest == everything[3:] and after is None


def test_list_filters(rig):
    one = rig.client.added(later(description="日报"))
    two = rig.client.added(every(1000, 2, description="日报 2"))
    three = rig.client.added(later(description="x"), station="news")
    four = rig.client.added(at_once(description="spoilt"))
    rig.jobs.answer(rig.jobs.recv(), ST.NOT_SUPPORT)
    wait_until(lambda: rig.score(four) is None, "out of the queue")
    assert set(listed(rig)[0]) == {one, two, three, four}       # also what is not queued
    assert listed(rig, station="news")[0] == [three]
    assert set(listed(rig, station="jobs")[0]) == {one, two, four}
    assert listed(rig, type=2)[0] == [two]
    assert listed(rig, title="x")[0] == [three]
    assert one in listed(rig, title="日报")[0] and three not in listed(rig, title="日报")[0]
    assert set(listed(rig, state=1)[0]) == {one, two, three}
    assert listed(rig, state=6)[0] == [four]
    assert listed(rig, station="jobs", type=1, state=1)[0] == [one]
    assert listed(rig, station="nobody")[0] == []


def test_list_gives_the_stored_fields(rig):
    ident = rig.client.added(later(description="d", no_keep=True))
    plan = ok(rig.client.manage("list")).json["plans"][0]
    stored = rig.message(ident)
    stored.pop("messages")
    assert plan == {**stored, "command": "do"}


def test_list_gives_the_command_and_the_progress(rig):
    """Of a command as frames are; of a long one nothing."""
    for command in [b"tick", b"x" * 256, b"x" * 257, b"\xff"]:
        rig.client.added(later(), head=[(FT.COMMAND, command)])
    rig.client.added(later(), station="news")
    rig.client.added(at_once())
    rig.jobs.answer(rig.jobs.recv(), ST.WAITING, [(FT.STATUS, b"3 of 4")])
    running, = wait_until(lambda: [plan for plan in rig.client.done("list", {"state": "execute"}).json["plans"]
                                   if "progress" in plan], "its worker has reported")
    assert (running["command"], running["progress"]) == ("do", "3 of 4")
    waiting = ok(rig.client.manage("list", '{"state": "queue"}')).json["plans"]
    assert [plan.get("command") for plan in waiting] == ["tick", "x" * 256, None, {"b64": "/w=="}, None]
    assert not any("progress" in plan for plan in waiting)


@pytest.mark.parametrize("arg", [
    "{", "[]", "5", '{"limit": -1}', '{"limit": "x"}', '{"limit": 1.5}', '{"after": "zz"}',
    '{"after": -5}', '{"colour": 1}', '{} x', '{"station": 5}', '{"title": 5}',
    '{"limit": 1, "limit": 2}'])
def test_list_with_a_wrong_filter(shared, arg):
    refused(shared.client.manage("list", arg), ST.ARG_ERROR)


def test_remove(rig):
    one, two = (rig.client.added(later()) for _ in range(2))
    ok(rig.client.manage("remove", one, more=ECHOES))
    assert not rig.left(one) and rig.left(two)
    refused(rig.client.manage("remove", one), ST.NOT_FIND)
    ok(rig.client.manage("remove", f"plan:msg:jobs:{two}"))
    assert not rig.left(two)


def test_remove_in_any_state(rig):
    """Running, parked, retrying, and with a saved result; nothing fires afterwards."""
    running = rig.client.added(every(1, 5), gid="1")
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(running, ST.RUNING)
    worked = rig.client.added(every(1, 5), gid="2")
    rig.jobs.finish(rig.jobs.recv())
    rig.repet(worked, 1)
    run = rig.jobs.recv()
    rig.jobs.finish(run, ST.ERROR)
    rig.state(worked, ST.ERROR)
    parked = rig.client.added(every(1, 5), gid="3")
    while (run := rig.jobs.recv()).mailbox != b"*3":
        pass
    rig.jobs.answer(run, ST.NOT_SUPPORT)
    rig.state(parked, ST.NOT_SUPPORT)
    for ident in (running, worked, parked):
        ok(rig.client.manage("remove", ident))
        assert not rig.left(ident)
    while rig.jobs.socket.poll(1500):
        assert rig.jobs.recv().mailbox == b"*2"     # was on its way, if anything
    for ident in (running, worked, parked):
        rig.client.result(ident, ST.OK)
    rig.settle()
    assert not any(rig.left(ident) for ident in (running, worked, parked))


@pytest.mark.parametrize("word", ["message", "remove"])
def test_unknown_plan(shared, word):
    ident = shared.client.added(later())
    for name in ("7777", "7fffffffffffffff", "plan:msg:jobs:7777", f"plan:msg:news:{ident}",
                 f"plan:msg:nobody:{ident}"):
        refused(shared.client.manage(word, name), ST.NOT_FIND)
    assert shared.message(ident)


@pytest.mark.parametrize("word", ["message", "remove"])
@pytest.mark.parametrize("args", [
    (), ("",), ("zz",), ("0",), ("-1",), ("8000000000000000",), ("00000000000000001",), ("*",),
    ("1 ",), ("plan:msg:jobs:",), ("plan:msg:jobs:zz",), ("plan:work:jobs:1",),
    ("plan:time:set",)], ids=repr)
def test_wrong_argument(shared, word, args):
    refused(shared.client.manage(word, *args), ST.ARG_ERROR)


@pytest.mark.parametrize("word", ["", "lists", "lis", "message\0", "drop", "flushall", "日",
                                  "x" * 70000])
def test_unknown_word(shared, word):
    refused(shared.client.manage(word), ST.NOT_SUPPORT)


def test_without_a_command(shared):
    """A missing COMMAND; 3 names a status for plans, 3.2 for arguments: any of these refuses."""
    reply = shared.client.ask(CMD.NONE, [(FT.ARG, b"x")])
    assert reply.code in (ST.ARG_ERROR, ST.PLANERROR, ST.NOT_SUPPORT), reply


def test_echoes_of_a_refusal(shared):
    reply = shared.client.manage("message", "7777", more=ECHOES)
    assert reply.code == ST.NOT_FIND
    assert reply.get(FT.REQUESTER) == b"boss" and reply.get(FT.REQUEST_ID) == b"r\0\xff"


def test_management_by_every_envelope(shared):
    for before, back in (([], 0), ([b""], 1), ([b"caller"], 0)):
        client = shared.dealer()
        client.send(CMD.NONE, [(FT.COMMAND, b"list")], before=before)
        reply = client.recv(before=back)
        assert reply.before == before[:back] and "plans" in reply.json


def test_redis_away(rig):
    ident = rig.client.added(later())
    rig.redis.stop()
    for word in ("message", "remove"):
        refused(rig.client.manage(word, ident), ST.NET_ERROR)
    refused(rig.client.manage("list"), ST.NET_ERROR)
    rig.client.ping()
