"""A listener with `dialect=microzero`: its replies, and on the result socket the plan events that
MicroZero's web monitor reads (plan_monitor.py is a port of it). Proto 8.3 and 13.2.
"""
import json
import re
import time

import pytest
import zmq

from microzero import wait_connected
from plan_monitor import PlanMonitor
from zplanprocs import WAIT, wait_until
from zplantest import CMD, CONTEXT, FT, ST, Client, at_once, every, later


# -- replies


@pytest.fixture(scope="module")
def speaking(make_shared):
    return make_shared("--set", "dialect=microzero")


@pytest.mark.parametrize("name, code, ask", [
    ("ping", 0x01, lambda c: c.ask(CMD.PING)),
    ("a new id", 0x01, lambda c: c.ask(CMD.GLOBAL_ID)),
    ("a plan", 0x02, lambda c: c.submit(later())),
    ("a wrong plan", 0xF6, lambda c: c.submit(every(40000, 2))),
    ("no such station", 0xF1, lambda c: c.submit(later(), station="none")),
    ("no such plan", 0xF1, lambda c: c.manage("message", "7777")),
    ("no such word", 0xF3, lambda c: c.manage("dance")),
    ("no such command", 0xF3, lambda c: c.ask(0x7A, [(FT.COMMAND, b"x")])),
    ("a wrong argument", 0xD2, lambda c: c.manage("message", "no id")),
    ("a broken description", 0xD1, lambda c: c.ask(CMD.PING, desc=b"\5*\0")),
    ("list", 0x01, lambda c: c.manage("list")),
])
def test_replies_have_its_numbers(speaking, name, code, ask):
    client = speaking.dealer()
    reply = ask(client)
    assert reply.code == code, reply
    client.close()


# -- events


class Watch:
    """The monitor, subscribed to everything."""

    def __init__(self, rig):
        self.monitor = PlanMonitor()
        self.socket = CONTEXT.socket(zmq.SUB)
        self.socket.linger = 0
        self.socket.subscribe(b"")
        self.socket.connect(rig.ipc("p"))
        rig.keep(self)
        wait_until(lambda: rig.client.added(later(description="probe")) and
                   self.socket.poll(200), "an event")

    def close(self):
        self.socket.close()

    def take(self, timeout=WAIT):
        assert self.socket.poll(int(timeout * 1000)), f"no event within {timeout} s: {self.summary}"
        parts = self.socket.recv_multipart()
        item = self.monitor.take(parts)
        assert item, f"the monitor rejects {parts}"
        return item

    def until(self, condition):
        while not condition():
            self.take()

    @property
    def summary(self):
        return [(i.title, PlanMonitor.NAMES[i.event], i.plan) for i in self.monitor.items[-20:]]

    def of(self, ident):
        return [i for i in self.monitor.items if i.plan["plan_id"] == int(ident, 16)]

    def names(self, ident):
        return self.monitor.names(int(ident, 16))

    def known(self, ident):
        return self.monitor.plans.get(int(ident, 16))

    def until_names(self, ident, *names):
        """Until the events of the plan are these."""
        self.until(lambda: len(self.names(ident)) >= len(names))
        assert self.names(ident) == list(names)


@pytest.fixture
def heard(make_rig):
    """A rig that speaks MicroZero, and its monitor."""
    rig = make_rig("--set", "dialect=microzero")
    rig.watch = Watch(rig)
    return rig


def test_the_monitor_follows_a_plan(heard):
    """ADD QUEUE, then EXEC QUEUE RESULT for each run, END in the last one."""
    rig, watch = heard, heard.watch
    base = int(time.time())
    ident = rig.client.added(every(1, 2, plan_time=base, no_keep=True, description="t:plan",
                                   skip_set=0))
    watch.until_names(ident, "ADD", "QUEUE")
    known = watch.known(ident)
    assert known["description"] == "t:plan" and known["station"] == "jobs"
    assert (known["plan_type"], known["plan_value"], known["plan_repet"]) == (2, 1, 2)
    assert known["no_skip"] is True and known["plan_state"] == 1
    frames = [(FT.JSON, b'{"a":1}'), (FT.BIN, b"\0\xff"), (FT.ARG, b"x")]
    for count in (1, 2):
        run = rig.jobs.recv()
        last = count == 2
        rig.jobs.answer(run, ST.RUNING)
        rig.jobs.answer(run, ST.OK, [*frames, (FT.LOCAL_ID, run.local_id)])
        told_so_far = ["ADD", "QUEUE", "EXEC", "QUEUE", "RESULT", "EXEC", "END", "RESULT"]
        watch.until_names(ident, *told_so_far[:2 + 3 * count])
        executed, ended, result = watch.of(ident)[-3:]
        assert executed.plan["exec_state"] == 3 and executed.plan["plan_state"] == 2
        assert executed.plan["exec_time"] > 0
        assert ended.plan["real_repet"] == count and ended.plan["exec_state"] == 1
        assert ended.plan["plan_state"] == (7 if last else 1)
        assert result.plan["real_repet"] == count and result.result == '{"a":1}'
        assert result.buffer == b"\0\xff" and result.values == [b"x", run.local_id]
        assert result.status[:2] == bytes([4, 1])
        assert result.status[2:6] == bytes([FT.JSON, FT.BIN, FT.ARG, FT.LOCAL_ID])
        assert result.types[:3] == bytes([FT.SUBTITLE, FT.CONTEXT, FT.STATUS])
        assert result.types[3:] == result.status[2:6]
    for item in watch.of(ident):
        assert item.title == "t:plan" and item.subtitle == ident
        if item.event != PlanMonitor.ADD:
            assert item.types[:2] == bytes([FT.SUBTITLE, FT.CONTEXT])
    assert watch.known(ident)["plan_state"] == 7 and watch.known(ident)["real_repet"] == 2
    assert not watch.monitor.rejected


def test_other_events_carry_the_state_and_nothing_else(heard):
    rig, watch = heard, heard.watch
    ident = rig.client.added(later(description="state"))
    watch.until_names(ident, "ADD", "QUEUE")
    socket = CONTEXT.socket(zmq.SUB)
    socket.linger = 0
    socket.subscribe(b"state")
    socket.connect(rig.ipc("p"))
    fields = {"plan_id", "exec_time", "exec_state", "plan_state", "plan_time", "real_repet",
              "skip_set", "skip_num"}

    def paused():
        assert rig.client.manage("pause", ident).code == 0x01
        heard_it = socket.poll(200)
        assert rig.client.manage("reset", ident).code == 0x01
        # Once it has subscribed it hears both; the first one may be of the reset.
        news = socket.recv_multipart() if heard_it else None
        return news if news and news[1][1] == 6 else None
    title, desc, subtitle, state = wait_until(paused, "the event of a pause")
    assert (title, desc, subtitle) == (b"state", bytes([2, 6, FT.SUBTITLE, FT.CONTEXT, 0]),
                                       ident.encode())
    assert set(json.loads(state)) == fields and json.loads(state)["plan_state"] == 5
    socket.close()


def test_the_monitor_sees_failures(heard):
    """exec_state in its own numbers, and the description of the answer under STATUS."""
    rig, watch = heard, heard.watch
    ident = rig.client.added(at_once(description="fails"))
    rig.jobs.answer(rig.jobs.recv(), ST.NOT_WORKER)
    watch.until(lambda: watch.names(ident)[-1:] == ["RESULT"])
    assert watch.names(ident)[-2] == "QUEUE"
    queued, result = watch.of(ident)[-2:]
    assert queued.plan["plan_state"] == 3
    assert result.plan["exec_state"] == 0xF2 and result.plan["real_repet"] == 0
    assert result.status[:2] == bytes([0, 0xF2]) and result.types == bytes([FT.SUBTITLE, FT.CONTEXT,
                                                                            FT.STATUS])
    seen = len(watch.of(ident))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.jobs.answer(run, ST.ERROR, [(FT.CONTENT, b"why"), (FT.LOCAL_ID, run.local_id)])
    watch.until(lambda: len(watch.of(ident)) > seen and watch.names(ident)[-1] == "RESULT")
    result = watch.of(ident)[-1]
    assert result.plan["exec_state"] == 0xF0 and result.status[:2] == bytes([2, 0xF0])
    assert b"why" in result.values
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.NOT_SUPPORT)        # parked
    watch.until(lambda: watch.names(ident)[-2:] == ["PAUSE", "RESULT"])
    assert watch.of(ident)[-1].plan["exec_state"] == 0xF3
    assert not watch.monitor.rejected


def test_the_monitor_sees_management(heard):
    rig, watch = heard, heard.watch
    ident = rig.client.added(later())
    watch.until_names(ident, "ADD", "QUEUE")
    for word, event, state in (("pause", "PAUSE", 5), ("reset", "QUEUE", 1), ("close", "END", 7)):
        reply = rig.client.manage(word, ident)
        assert reply.code == 0x01, reply
        watch.until(lambda event=event: watch.names(ident)[-1] == event)
        assert watch.known(ident)["plan_state"] == state
    assert rig.client.manage("remove", ident).code == 0x01
    watch.until(lambda: watch.names(ident)[-1] == "REMOVE")
    assert watch.names(ident) == ["ADD", "QUEUE", "PAUSE", "QUEUE", "END", "REMOVE"]
    assert watch.known(ident) is None


def test_the_buttons_of_the_monitor(heard):
    """Byte for byte: `msg:STATION:ID` names the plan, and its page holds the id as a double."""
    rig, watch = heard, heard.watch
    ident = rig.client.added(later())
    assert int(float(int(ident, 16))) == int(ident, 16)
    given = rig.client.ask(CMD.GLOBAL_ID).get(FT.GLOBAL_ID)
    assert int(given, 16) < 2 ** 53
    watch.until_names(ident, "ADD", "QUEUE")
    for word, event in (("pause", "PAUSE"), ("reset", "QUEUE"), ("close", "END"),
                        ("remove", "REMOVE")):
        rig.client.socket.send_multipart([bytes.fromhex("0201242500"), word.encode(),
                                          f"msg:jobs:{ident}".encode()])
        reply = rig.client.recv()
        assert reply.code == 0x01, reply
        watch.until(lambda event=event: watch.names(ident)[-1] == event)
    for key in (f"msg:news:{ident}", "msg:jobs:", "msg:", "msg:jobs:zz", "msg:" + "j" * 100 + ":1"):
        assert rig.client.manage("pause", key).code in (0xD2, 0xF1), key


def test_the_list_of_the_monitor(heard):
    """An array in STATUS, each plan with all fields; programs that give a filter get none."""
    rig = heard
    idents = [rig.client.added(later(description=f"list {n}"), head=[(FT.COMMAND, b"print")])
              for n in range(120)]
    rig.client.socket.send_multipart([bytes.fromhex("01012400"), b"list"])
    reply = rig.client.recv()
    plans = {plan["plan_id"]: plan for plan in json.loads(reply.get(FT.STATUS))}
    assert {int(ident, 16) for ident in idents} <= set(plans)
    for plan in plans.values():
        assert PlanMonitor().deserialize(json.dumps(plan).encode()), plan
    one = plans[int(idents[7], 16)]
    assert (one["description"], one["command"], one["station"], one["station_type"]) == \
        ("list 7", "print", "jobs", 3)
    assert one["plan_state"] == 1 and "messages" not in one
    assert rig.client.manage("list", json.dumps({"limit": 5})).get(FT.STATUS) == b"+ok"


@pytest.mark.parametrize("identity", [None, b"+>me", b"\0\xff\xfe"])
def test_the_monitor_takes_plans_of_any_client(heard, identity):
    """Its fields are texts: a caller or request id that is none must not throw the plan away."""
    client = heard.dealer(identity=identity) if identity != b"\0\xff\xfe" else heard.client
    reply = client.submit(later(description="日报"), more=[(FT.REQUEST_ID, b"r\0\xff"),
                                                        (FT.ARG, b"\0\1\2")])
    assert reply.code == ST.PLAN
    ident = reply.get(FT.GLOBAL_ID).decode()
    heard.watch.until(lambda: heard.watch.names(ident) == ["ADD", "QUEUE"])
    assert heard.watch.known(ident)["description"] == "日报"


def test_a_microzero_station_behind_a_microzero_listener(make_rig, make_center):
    """The center's monitor, its station and a client of its own: as if we were its dispatcher."""
    center = make_center("master", Test="api")
    rig = make_rig("--center", center.setting, "--set", "dialect=microzero")
    watch = Watch(rig)
    wait_connected(rig, "Test")
    center["Test"].forward_plans_to(rig.ipc("q"))
    client = rig.keep(Client(center["Test"].endpoint, identity=b"+>client"))
    reply = client.submit(every(1, 2, no_keep=True, description="both"), station=None)
    ident = reply.get(FT.GLOBAL_ID).decode()
    center["Test"].workers = 0
    watch.until(lambda: watch.names(ident)[-1:] == ["RESULT"])
    assert watch.of(ident)[-1].plan["exec_state"] == 0xF2
    center["Test"].workers = 1
    center["Test"].work = lambda job: job.finish(value={"ok": 1})
    watch.until(lambda: watch.names(ident)[-3:] == ["EXEC", "END", "RESULT"])
    last = watch.of(ident)[-1]
    assert last.plan["real_repet"] == 2 and json.loads(last.result) == {"ok": 1}
    assert re.fullmatch(rb"\x03\x01J>\x01\0*", last.status)
    assert not watch.monitor.rejected


def test_events_are_not_in_this_layout_elsewhere(rig):
    """The default listener broadcasts results only, in its own layout."""
    results = rig.subscribe(b"at once")
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    news = results.recv()
    assert news.types[:2] == bytes([FT.SUBTITLE, FT.CONTENT]) and news.frames[0] == ident.encode()
    results.nothing(0.5)
