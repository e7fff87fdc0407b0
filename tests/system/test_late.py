"""Answers of runs that are over: counted apart, published as events, without any other effect."""
import pytest

from zplantest import CMD, FT, QUEUE, ST, at_once, every, later, wait_until

CANCELLED = 0x90


def counters(rig):
    return rig.client.done("stats").json["counters"]


def is_late(rig, events, run, send, status=ST.OK, named=True):
    """The answer that `send` sends is late: one is counted, one event says so, the plan stays."""
    before = counters(rig)
    send(status, [(FT.CONTENT, b"late")] + [(FT.LOCAL_ID, run.local_id)] * named)
    event = events.recv()
    assert (event.name, event.station, event.ident) == ("result", "jobs", run.mailbox[1:].decode())
    state = event.state
    assert state.pop("seq") and state.pop("epoch")
    assert state == {"plan_id": int(event.ident, 16), "late": True, "status": status, "result": 0,
                     "exec_id": run.exec_id if named else 0}
    after = counters(rig)
    assert after["late_answers"] == before["late_answers"] + 1
    assert after["dropped_mailboxes"] == before["dropped_mailboxes"]


def on_connection(rig, run):
    return lambda status, pairs: rig.jobs.answer(run, status, pairs)


def to_request_socket(rig, run):
    ident = run.mailbox[1:].decode()
    return lambda status, pairs: rig.client.result(ident, status, pairs)


WAYS = pytest.mark.parametrize("way", [on_connection, to_request_socket])


def taken(rig, events, plan):
    """A plan whose run is at work, and its id."""
    ident = rig.client.added(plan)
    assert events.names(2) == ["add", "queue"]
    rig.due_now(ident)
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    assert events.names(1) == ["exec"]
    return ident, run


@WAYS
def test_a_result_of_a_cancelled_run_is_late(rig, way):
    events = rig.events()
    ident, run = taken(rig, events, every(1000, -1))
    rig.client.done("cancel", ident)
    assert events.names(2) == ["queue", "result"]
    before = rig.message(ident)
    assert (before["plan_state"], before["last_state"]) == (QUEUE, CANCELLED)
    for status in (ST.OK, ST.FAILED):
        is_late(rig, events, run, way(rig, run), status)
    is_late(rig, events, run, way(rig, run), named=False)
    assert rig.message(ident) == before


@WAYS
def test_a_result_of_a_cancelled_run_is_late_when_its_plan_has_ended(rig, way):
    events = rig.events()
    ident, run = taken(rig, events, later())
    rig.client.done("cancel", ident)
    assert events.names(2) == ["end", "result"]
    rig.gone(ident)
    is_late(rig, events, run, way(rig, run))
    # Of another run of that plan nothing is known.
    before = counters(rig)["dropped_mailboxes"]
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, b"1")])
    wait_until(lambda: counters(rig)["dropped_mailboxes"] == before + 1, "it is dropped")
    assert not rig.left(ident)


@WAYS
def test_a_result_of_a_timed_out_run_is_late(rig, way):
    """While the plan waits for its retry, and beside the run that follows."""
    events = rig.events()
    retry = {"strategy": "fixed", "interval": 3600}
    ident, run = taken(rig, events, every(1000, -1, timeout=2, retry=retry))
    assert events.names(2) == ["queue", "result"]
    before = rig.message(ident)
    assert before["last_state"] == ST.TIMEOUT
    is_late(rig, events, run, way(rig, run))
    assert rig.message(ident) == before
    assert rig.jobs.recv().code == CMD.CLOSE_REQUEST
    rig.due_now(ident)
    second = rig.jobs.recv()
    assert events.names(1) == ["exec"]
    is_late(rig, events, run, way(rig, run))
    rig.jobs.finish(second)
    rig.repet(ident, 1)


def test_a_heartbeat_of_a_cancelled_run_is_no_event(rig):
    events = rig.events()
    ident, run = taken(rig, events, every(1000, -1))
    rig.client.done("cancel", ident)
    assert events.names(2) == ["queue", "result"]
    before = counters(rig)
    for status in (ST.RUNING, ST.WAITING):
        rig.jobs.answer(run, status, [(FT.LOCAL_ID, run.local_id)])
    wait_until(lambda: counters(rig)["dropped_mailboxes"] == before["dropped_mailboxes"] + 2,
               "both are dropped")
    is_late(rig, events, run, on_connection(rig, run))      # the next event


def test_a_late_result_of_a_target_by_identity(make_rig):
    rig = make_rig("--station", "other=api@" + "ipc:///nowhere", start=False)
    rig.station.args += ["--station", "jobs=api@" + rig.ipc("j") + ",mailbox=identity"]
    rig.start()
    events = rig.events()
    ident = rig.client.added(every(1000, -1))
    assert events.names(2) == ["add", "queue"]
    rig.due_now(ident)
    connection, *parts = rig.jobs.socket.recv_multipart()
    assert events.names(1) == ["exec"]
    description, frames = parts[0], parts[1:]
    types = description[2:2 + description[0]]
    exec_id = [frame for kind, frame in zip(types, frames) if kind == FT.GLOBAL_ID][-1]

    def answer(status):
        kinds = [FT.REQUESTER, FT.GLOBAL_ID]
        rig.jobs.socket.send_multipart(
            [connection, bytes([2, status, *kinds, 0]), b"*" + ident.encode(), exec_id])
    answer(ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.client.done("cancel", ident)
    assert events.names(2) == ["queue", "result"]
    answer(ST.OK)
    state = events.recv().state
    assert state["late"] and state["exec_id"] == int(exec_id, 16)
    assert counters(rig)["late_answers"] == 1
