"""Events (proto 8.2) of plans, in the order in which things happen, numbered."""
import json
import time

import pytest

from zplantest import (CLOSE, ERROR, EXECUTE, FT, PAUSE, PLAN_FIELDS, QUEUE, RETRY, ST,
                       Events, FakeTarget, at_once, describe, every, later, told,
                       wait_until)


def catching_up(repet=5, **fields):
    """Each occurrence runs at once, one after the other."""
    return every(1, repet, no_keep=True, plan_time=int(time.time()) - 1000, **fields)


def states(events):
    return [(event.name, event.state["plan_state"]) for event in events]


def take(events, *names):
    """The next events: these, of one plan, in this order."""
    got = [events.recv() for _ in names]
    assert [event.name for event in got] == list(names), got
    assert len({event.ident for event in got}) == 1
    return got


def fired(rig, events, plan, station="jobs"):
    """Submit a plan that runs at once, up to its dispatch. (id, run)"""
    ident = rig.client.added(plan, station=station)
    take(events, "add", "queue", "exec")
    return ident, (rig.news if station == "news" else rig.jobs).recv()


# Each event.


def test_layout(rig):
    """[plan.EVENT.STATION][desc code=EVENT, types SUBTITLE CONTEXT][hex id][state JSON]"""
    events = rig.events()
    ident = rig.client.added(later(description="日报"), station="news")
    for code, name in ((1, "add"), (3, "queue")):
        parts = events.socket.recv_multipart()
        state = json.loads(parts[3])
        assert parts[0] == b"plan.%s.news" % name.encode() and len(parts) == 4
        assert parts[1] == describe(code, [FT.SUBTITLE, FT.CONTEXT])
        assert parts[2] == ident.encode()
        assert type(state.pop("seq")) is int and type(state.pop("epoch")) is str
        message = rig.message(ident, "news")
        message.pop("messages")
        assert state == message


def test_fields_of_every_event(rig):
    """The plan without its messages, seq and epoch: also where a run is told."""
    events = rig.events()
    ident, run = fired(rig, events, catching_up(2))
    rig.jobs.finish(run, ST.OK, [(FT.CONTENT, b"x" * 1000)])
    rig.jobs.answer(rig.jobs.recv(), ST.NOT_SUPPORT)
    seen = take(events, "queue", "result", "exec", "pause", "result")
    for event in seen:
        assert event.station == "jobs" and "messages" not in event.state
        assert ("result" in event.state) == (event.name == "result")
        for name, kind in PLAN_FIELDS.items():
            if name != "messages":
                kinds = (str, dict) if kind is str else kind
                assert isinstance(event.state[name], kinds), (event, name)
        assert type(event.state["revision"]) is int
        assert len(json.dumps(event.state)) < 1000


def test_M04_submit(rig):
    events = rig.events()
    idents = [rig.client.added(plan) for plan in (later(), every(1000, 5), later())]
    for ident in idents:
        added, queued = take(events, "add", "queue")
        assert added.ident == ident
        assert [state for _, state in states([added, queued])] == [QUEUE, QUEUE]


def test_nothing_is_told_of_what_changes_nothing(rig):
    """A submission again, refusals, questions, a restart's own doings."""
    events = rig.events()
    plan = later()
    ident = rig.client.added(plan, gid="77")
    take(events, "add", "queue")
    assert rig.client.added(plan, gid="77") == ident
    rig.client.submit(later(100), gid="77")
    rig.client.submit({"plan_type": 99})
    rig.client.refused("reset", ident)
    rig.client.refused("skip", ident, 1)
    rig.client.refused("remove", "78", status=ST.NOT_FIND)
    for word in ("list", "stats", "history"):
        rig.client.done(word)
    rig.client.done("message", ident)
    rig.client.done("next", ident)
    rig.client.done("remove", ident)
    assert events.recv().name == "remove"


@pytest.mark.parametrize("station", ["jobs", "news"])
def test_M04_a_good_run(rig, station):
    results = rig.subscribe(b"every")
    events = rig.events()
    ident, run = fired(rig, events, catching_up(3), station)
    target = rig.news if station == "news" else rig.jobs
    for nth in (1, 2, 3):
        if station == "jobs":
            target.answer(run, ST.RUNING)
            target.answer(run, ST.WAITING)
        target.answer(run, ST.OK)
        moved, result = take(events, "end" if nth == 3 else "queue", "result")
        news = results.recv()
        for event in (moved, result):
            assert event.ident == ident
            assert event.state["plan_state"] == (CLOSE if nth == 3 else QUEUE)
            assert (event.state["real_repet"], event.state["last_state"]) == (nth, ST.OK)
            assert event.state["exec_id"] == run.exec_id
        assert result.state["result"] == told(news)["seq"]
        if nth < 3:
            started, = take(events, "exec")
            run = target.recv()
            assert started.state["exec_id"] == run.exec_id
            assert started.state["plan_state"] == EXECUTE
            assert started.state["plan_time"] == run.plan_time


@pytest.mark.parametrize("status", [ST.ERROR, ST.FAILED, 0xFF])
def test_M04_a_failed_run(rig, status):
    """queue (plan_state 3), then result, with the broadcast's seq."""
    results = rig.subscribe(b"every")
    events = rig.events()
    ident, run = fired(rig, events, catching_up())
    rig.jobs.finish(run, status)
    queued, result = take(events, "queue", "result")
    assert [state for _, state in states([queued, result])] == [RETRY, RETRY]
    assert {event.state["last_state"] for event in (queued, result)} == {status}
    assert result.state["result"] == told(results.recv())["seq"]
    assert (result.state["error_count"], result.state["real_repet"]) == (1, 0)
    take(events, "exec")


@pytest.mark.parametrize("status", [ST.NOT_SUPPORT, 0x20, ST.PLANERROR])
def test_M04_a_parked_run(rig, status):
    events = rig.events()
    ident, run = fired(rig, events, catching_up())
    rig.jobs.answer(run, status)
    paused, result = take(events, "pause", "result")
    assert states([paused, result]) == [("pause", ERROR), ("result", ERROR)]
    assert result.state["last_state"] == status and result.state["result"] > 0


def test_a_plan_that_is_unfit(rig):
    events = rig.events()
    ident = rig.client.added(later())
    take(events, "add", "queue")
    rig.edit(ident, messages=[])
    rig.due_now(ident)
    paused, result = take(events, "pause", "result")
    assert paused.ident == ident and result.state["last_state"] == ST.PLANERROR
    assert result.state["result"] > 0


def test_a_failure_that_is_not_broadcast(rig):
    """NOT_WORKER is broadcast once a minute; the event of the second says there is none."""
    results = rig.subscribe(b"at once")
    events = rig.events()
    ident, run = fired(rig, events, at_once())
    for nth in (1, 2):
        rig.jobs.answer(run, ST.NOT_WORKER)
        queued, result = take(events, "queue", "result")
        assert [state for _, state in states([queued, result])] == [RETRY, RETRY]
        if nth == 1:
            assert result.state["result"] == told(results.recv())["seq"]
        else:
            assert result.state["result"] == 0
        take(events, "exec")
        run = rig.jobs.recv()
    rig.jobs.finish(run)
    take(events, "end", "result")


def test_a_plan_whose_target_is_away(make_rig):
    """Nothing was sent: no exec."""
    rig = make_rig(start=False)
    rig.station.args += ["--station", "late=api@" + rig.ipc("l")]
    rig.start()
    events = rig.events()
    ident = rig.client.added(at_once(), station="late")
    *_, queued, result = take(events, "add", "queue", "queue", "result")
    assert queued.state["last_state"] == ST.SEND_ERROR and queued.state["plan_state"] == RETRY
    assert result.station == "late" and result.ident == ident
    late = rig.keep(FakeTarget(rig.ipc("l")))
    run = late.recv()
    while (event := events.recv()).name != "exec":      # failures before it was there
        assert event.name in ("queue", "result")
    assert event.state["exec_id"] == run.exec_id


def test_no_status(make_rig):
    rig = make_rig("--send-timeout", "200")
    events = rig.events()
    ident, run = fired(rig, events, at_once())
    queued, result = take(events, "queue", "result")
    assert queued.state["last_state"] == ST.RECV_ERROR and queued.state["plan_state"] == RETRY
    rig.jobs.recv()
    take(events, "exec")


def test_a_late_answer_is_told(rig):
    """4.5: counted and evented, nothing else."""
    events = rig.events()
    ident, run = fired(rig, events, catching_up())
    before = rig.message(ident)
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, b"5")])
    late, = take(events, "result")
    assert late.ident == ident and late.state["result"] == 0
    assert rig.message(ident) == before
    rig.jobs.finish(run)
    take(events, "queue", "result")


def test_M04_management(rig):
    """skip, update: update. pause: pause. reset: queue. close: end. remove: remove."""
    events = rig.events()
    ident = rig.client.added(every(1000, 9))
    take(events, "add", "queue")

    def tells(name, state, word, *args):
        reply = rig.client.done(word, ident, *args)
        event = events.recv()
        assert (event.name, event.ident) == (name, ident) and event.station == "jobs"
        assert event.state["plan_state"] == state
        told_of = {k: v for k, v in event.state.items() if k not in ("seq", "epoch")}
        assert told_of == reply.json
    tells("update", QUEUE, "skip", 2)
    tells("pause", PAUSE, "pause")
    tells("update", PAUSE, "skip", 1)
    tells("update", PAUSE, "update",
          {"revision": rig.message(ident)["revision"], "description": "neu"})
    tells("queue", QUEUE, "reset")
    tells("end", CLOSE, "close")
    tells("end", CLOSE, "close")
    rig.client.done("remove", ident)
    removed = events.recv()
    assert (removed.name, removed.ident, removed.station) == ("remove", ident, "jobs")
    assert set(removed.state) == {"plan_id", "seq", "epoch"}


def test_run_besides_the_schedule(rig):
    """Its run is told like any other, and where the plan is after it."""
    events = rig.events()
    ident = rig.client.added(every(1000, 9))
    take(events, "add", "queue")
    rig.client.done("pause", ident)
    take(events, "pause")
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    while (event := events.recv()).name != "exec":
        assert event.ident == ident
    assert event.state["exec_id"] == run.exec_id
    rig.jobs.finish(run)
    moved, result = events.recv(), events.recv()
    assert result.name == "result" and result.state["result"] > 0
    assert moved.name in ("pause", "queue")
    assert {moved.state["plan_state"], result.state["plan_state"]} == {PAUSE}


def test_a_run_that_ends_while_its_plan_is_paused_or_closed(rig):
    events = rig.events()
    for word, name, state in (("pause", "pause", PAUSE), ("close", "end", CLOSE)):
        ident, run = fired(rig, events, catching_up())
        rig.client.done(word, ident)
        take(events, name)
        rig.jobs.finish(run)
        *_, result = events.recv(), events.recv()
        assert result.name == "result" and result.state["plan_state"] == state
        assert (result.state["real_repet"], result.ident) == (1, ident)


# Subscribing, numbers.


def test_events_are_selected_by_their_title(rig):
    """A subscriber of some events and stations hears no other."""
    everything = rig.events()
    some = rig.keep(Events(rig.ipc("e"), [b"plan.pause.news", b"plan.remove."]))

    probes = []

    def probed():
        probes.append(rig.client.added(later()))
        rig.client.done("remove", probes[-1])
        return some.socket.poll(200)
    wait_until(probed, "the events of a probe")
    while (event := some.recv()).ident != probes[-1]:
        assert event.name == "remove"
    jobs, news = rig.client.added(later()), rig.client.added(later(), station="news")
    for ident in (jobs, news):
        for word in ("pause", "reset", "close", "remove"):
            rig.client.done(word, ident)
    seen = [some.recv() for _ in range(3)]
    assert [(event.name, event.ident) for event in seen] == [
        ("remove", jobs), ("pause", news), ("remove", news)]
    while (event := everything.recv()).ident != news or event.name != "remove":
        pass


def test_seq_and_epoch(rig):
    """+1 with every event, whatever it is of; another epoch, and anew, with each start."""
    events = rig.events()
    epochs = []
    for turn in range(3):
        idents = [rig.client.added(at_once(), station="news") for _ in range(5)]
        for _ in idents:
            rig.news.answer(rig.news.recv(), ST.OK)
        parked = rig.client.added(later())
        for word in ("pause", "reset", "close", "remove"):
            rig.client.done(word, parked)
        seen = []
        ends = set()
        while ends != {*idents, parked} or len(seen) < 5 * 5 + 6:
            seen.append(events.recv())
            if seen[-1].name in ("end", "remove"):
                ends.add(seen[-1].ident)
        assert len(seen) == 5 * 5 + 6
        first = seen[0].seq
        assert [event.seq for event in seen] == list(range(first, first + len(seen)))
        assert len({event.epoch for event in seen}) == 1
        epochs.append(seen[0].epoch)
        # stats tells the seq of broadcasts, not of events.
        rig.restart()
        events = rig.events()
    assert len(set(epochs)) == 3


def test_two_subscribers_hear_the_same(rig):
    one, two = rig.events(), rig.events()
    mark = rig.client.added(later())
    for subscriber in (one, two):
        while (event := subscriber.recv()).ident != mark or event.name != "queue":
            pass
    for _ in range(20):
        rig.client.done("remove", rig.client.added(later()))
    heard = [[(event.seq, event.name, event.ident) for event in
              (subscriber.recv() for _ in range(60))] for subscriber in (one, two)]
    assert heard[0] == heard[1]


def test_M04_A108_a_recorder_knows_every_plan(make_rig):
    """One who heard all events from the start knows what stands in Redis."""
    rig = make_rig("--send-timeout", "600000")
    events = rig.events()
    known = {}
    idents = [rig.client.added(plan) for plan in [later(), every(1000, 9)] * 5]
    idents += [rig.client.added(catching_up(3), gid=f"{n:x}") for n in range(1, 6)]
    for ident in idents[:10:3]:
        rig.client.done("pause", ident)
    for ident in idents[1:10:4]:
        rig.client.done("remove", ident)
    *good, bad = [rig.jobs.recv() for _ in range(5)]
    rig.jobs.answer(bad, ST.NOT_SUPPORT)
    for run in good:
        rig.jobs.answer(run, ST.OK)
    for _ in good:
        rig.marked((run := rig.jobs.recv()).mailbox[1:].decode(), run)  # out for good
    rig.client.done("remove", rig.client.added(later(), gid="ffff"))
    while (event := events.recv()).ident != "ffff" or event.name != "remove":
        if event.name == "remove" or (event.name, event.state["plan_state"]) == ("end", CLOSE):
            known.pop(event.ident)
        elif event.name != "result":
            known[event.ident] = {name: event.state[name] for name in PLAN_FIELDS
                                  if name != "messages"}
    known.pop("ffff")
    stored = {}
    for key in rig.db.keys("plan:msg:jobs:*"):
        message = json.loads(rig.db.get(key))
        stored[key.decode().rpartition(":")[2]] = {name: message[name] for name in PLAN_FIELDS
                                                   if name != "messages"}
    assert known == stored
