"""Callbacks end to end: plans with a callback, a real station, the sender, a receiver."""
import json
import os
import signal
import time

import pytest

from callbacktest import OK, Receiver, Sender, answer, needs_sender
from curvetest import CurveRig, certificate, write
from zplanprocs import wait_until
from zplantest import FT, ST, at_once

pytestmark = needs_sender
PACED = {"strategy": "fixed", "interval": 1, "max": 5}


@pytest.fixture
def rig(make_rig):
    return make_rig()


def sender(rig, *receivers, **more):
    return rig.keep(Sender(rig.folder, rig.ipc("q"), *receivers, **more))


def run(rig, receiver, status=ST.OK, content=b"good", **callback):
    """A plan whose run ends so; its id, and its run."""
    ends = {end: {"url": receiver.url()} for end in ("success", "error")}
    ident = rig.client.added(at_once(callback={**ends, "retry": PACED, **callback}, retry={"strategy": "none"}))
    job = rig.jobs.recv()
    while job.mailbox != b"*" + ident.encode():
        job = rig.jobs.recv()
    rig.jobs.finish(job, status, [(FT.CONTENT, content)])
    return ident, job


def state(rig, ident):
    (row,) = wait_until(lambda: rig.client.done("history", ident).json["runs"], "its outcome is there")
    return row["callback"].get("state")


def delivered(rig, ident):
    wait_until(lambda: state(rig, ident) == "delivered", "it is a Success")


def test_C046_C047_delivered(rig):
    receiver = rig.keep(Receiver())
    sender(rig, receiver)
    for status, mark in ((ST.OK, ""), (ST.FAILED, "-e")):
        ident, job = run(rig, receiver, status)
        request = receiver.next()
        assert request.headers["webhook-id"] == f"{ident}-{job.exec_id:x}{mark}"
        assert request.headers["zplan-plan"] == ident and request.method == "POST"
        assert json.loads(request.body) == ({"ext": None, "result": "good"} if status == ST.OK else
                                            {"task_id": int(ident, 16), "error_info": "good", "ext": None})
        delivered(rig, ident)


def test_the_number_of_a_callback_is_known_as_given(rig):
    """A next owner, whose clock may be behind, begins above it."""
    receiver = rig.keep(Receiver())
    run(rig, receiver)
    (key,) = wait_until(lambda: rig.db.keys("plan:msg:callbacks:*"), "its plan is there")
    assert int(rig.db.hget("plan:meta", "id")) >= int(key.rpartition(b":")[2], 16)


def test_C021_C050_completed_then_success(rig):
    """The receiver fails first: body and id stay the same, byte for byte."""
    answers = [answer(500), answer(503), OK]
    receiver = rig.keep(Receiver(lambda request, send: answers.pop(0)))
    sender(rig, receiver)
    ident, _ = run(rig, receiver)
    requests = [receiver.next() for _ in range(3)]
    assert len({(request.headers["webhook-id"], request.body) for request in requests}) == 1
    delivered(rig, ident)


def test_what_is_gone_is_dead_and_can_be_sent_again(rig):
    answers = [answer(410), OK]
    receiver = rig.keep(Receiver(lambda request, send: answers.pop(0)))
    sender(rig, receiver)
    ident, _ = run(rig, receiver)
    first = receiver.next()
    wait_until(lambda: state(rig, ident) == "dead", "410 ends it")
    (row,) = rig.client.done("history", ident).json["runs"]
    rig.client.done("reset", row["callback"]["id"])
    assert receiver.next().headers["webhook-id"] == first.headers["webhook-id"]
    delivered(rig, ident)


def test_a_receiver_that_asks_for_patience(rig):
    """Retry-After is the time of the next try."""
    answers = [answer(429, b"", "Retry-After: 3"), OK]
    receiver = rig.keep(Receiver(lambda request, send: answers.pop(0)))
    sender(rig, receiver)
    ident, _ = run(rig, receiver)
    receiver.next()
    start = time.monotonic()
    receiver.next()
    assert time.monotonic() - start > 2
    delivered(rig, ident)


def test_a_dead_host_is_left_alone_and_uses_up_no_try(rig):
    """What its breaker holds back is released; another host is served meanwhile."""
    dead, good = rig.keep(Receiver(lambda request, send: answer(500))), rig.keep(Receiver())
    sender(rig, dead, good)
    idents = [run(rig, dead, retry={"strategy": "fixed", "interval": 3600, "max": 1})[0] for _ in range(12)]
    wait_until(lambda: any("held back" in str(rig.client.done("why", row["callback"]["id"]).json) for ident in idents
                           for row in rig.client.done("history", ident).json["runs"] if row["callback"]["state"] == "queued"),
               "the breaker is open, and why says so")
    ident, _ = run(rig, good)
    good.next()
    delivered(rig, ident)
    assert "dead" not in {state(rig, one) for one in idents}


def test_the_station_restarts(rig):
    receiver = rig.keep(Receiver())
    sender(rig, receiver)
    rig.restart()
    ident, _ = run(rig, receiver)
    receiver.next()
    delivered(rig, ident)


def test_a_killed_sender_s_callback_goes_to_another(rig):
    receiver = rig.keep(Receiver(lambda request, send: time.sleep(3600)))
    first = sender(rig, receiver)
    ident, _ = run(rig, receiver)
    one = receiver.next()
    first.process.send_signal(signal.SIGKILL)
    receiver.behave = lambda request, send: OK
    sender(rig, receiver, options=("--name", "second"))
    assert receiver.requests.get(timeout=90).headers["webhook-id"] == one.headers["webhook-id"]


def state_id(rig, ident):
    return rig.client.done("history", ident).json["runs"][0]["callback"]["id"]


def test_two_senders_share_many(rig):
    receiver = rig.keep(Receiver())
    both = [sender(rig, receiver), sender(rig, receiver)]
    runs = [run(rig, receiver) for _ in range(100)]
    seen = [receiver.next().headers["webhook-id"] for _ in range(100)]
    assert sorted(seen) == sorted(f"{ident}-{job.exec_id:x}" for ident, job in runs)
    for ident, _ in runs:
        delivered(rig, ident)
    assert [one.stop() for one in both] == [0, 0]


def test_signed_with_a_secret_that_nobody_else_knows(rig):
    """Its value is in no log, no answer, and not in Redis."""
    receiver = rig.keep(Receiver(lambda request, send: answer(400, b"got " + request.headers["x-key"].encode())))
    secrets = rig.path("secrets")
    os.mkdir(secrets)
    write(os.path.join(secrets, "bill"),
          f"type = header\nhosts = 127.0.0.1:{receiver.port}\ntargets = jobs\nname = X-Key\nvalue = topsecret\n")
    one = sender(rig, receiver, options=("--secrets", secrets))
    ident, _ = run(rig, receiver, secret="bill", retry={"strategy": "none"})
    assert receiver.next().headers["x-key"] == "topsecret"
    wait_until(lambda: state(rig, ident) == "dead", "400 is a failure")
    told = json.dumps([rig.client.done("why", state_id(rig, ident)).json, rig.client.done("message", state_id(rig, ident)).json,
                       rig.client.done("history", json.dumps({"station": "callbacks"})).json])
    assert "HTTP 400" in told and "topsecret" not in told
    assert "topsecret" not in one.said() and "topsecret" not in open(rig.station.log).read()
    for key in rig.db.keys("*"):
        assert b"topsecret" not in rig.db.dump(key)


def test_with_curve_the_sender_s_key_names_the_target(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    keys = rig.allow("sender", "result", "callbacks")
    rig.start()
    write(rig.path("sender.key_secret"), certificate(keys, "sender", secret=True))
    receiver = rig.keep(Receiver())
    sender(rig, receiver, options=("--key", rig.path("sender.key_secret"), "--server-key", rig.server.public))
    ident, _ = run(rig, receiver)
    receiver.next()
    delivered(rig, ident)
