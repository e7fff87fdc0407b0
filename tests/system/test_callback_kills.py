"""Callbacks under load while station, sender and Redis are killed (kill -9) at random moments.

Each run that the history has with a callback is delivered, under the id of that run and no other; what comes again has the
same id and the same body. ZPLAN_CALLBACK_KILLS is how many kills there are (20), ZPLAN_CALLBACK_SEED their seed."""
import collections
import json
import os
import random
import threading
import time

import pytest
import zmq

from callbacktest import OK, Receiver, Sender, answer, needs_sender
from faulttest import history
from zplanprocs import WAIT, wait_until
from zplantest import CMD, FT, ST, at_once, plan_frames

pytestmark = needs_sender
KILLS = int(os.environ.get("ZPLAN_CALLBACK_KILLS", "20"))
SEED = int(os.environ.get("ZPLAN_CALLBACK_SEED", "0")) or random.randrange(1, 1 << 32)
LEASE_S = 20                    # of a callback whose sender was killed
SUBMITTERS, RATE = 3, 20        # plans a second of each
ANSWER_S = 0.5                  # what comes later is counted as not acknowledged


class Loop(threading.Thread):
    """Does the same until it is stopped; what went wrong is raised then."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopped, self.wrong = threading.Event(), None

    def run(self):
        try:
            while not self.stopped.is_set():
                self.turn()
        except Exception as wrong:      # pylint: disable=broad-except
            self.wrong = wrong

    def stop(self):
        self.stopped.set()
        self.join()
        if self.wrong:
            raise self.wrong


class Worker(Loop):
    """Ends each run of the target: every fourth plan fails."""

    def __init__(self, target):
        super().__init__()
        self.target = target

    def turn(self):
        if not self.target.socket.poll(50):
            return
        run = self.target.recv()
        if run.code == CMD.CLOSE_REQUEST:
            return
        ident = run.mailbox[1:].decode()
        status = ST.FAILED if int(ident, 16) % 4 == 0 else ST.OK
        self.target.finish(run, status, [(FT.CONTENT, f"run {ident}-{run.exec_id:x}".encode())])


class Submitter(Loop):
    """Submits plans; those that were acknowledged. A plan without an answer may be there or not: the history says."""

    def __init__(self, rig, url):
        super().__init__()
        self.rig, self.client, self.acknowledged = rig, rig.dealer(), []
        ends = {end: {"url": url} for end in ("success", "error")}
        self.plan = at_once(retry={"strategy": "none"},
                            callback={**ends, "retry": {"strategy": "fixed", "interval": 1, "max": 1000}})

    def turn(self):
        try:
            self.client.send(CMD.PLAN, plan_frames(self.plan))
            reply = self.client.recv(ANSWER_S)
        except (AssertionError, zmq.Again):     # the station was killed before it answered
            self.client.close()
            self.client = self.rig.dealer()
            return
        if reply.code == ST.PLAN:
            self.acknowledged.append(reply.get(FT.GLOBAL_ID).decode())
        else:
            assert reply.code in (ST.BUSY, ST.NET_ERROR), reply     # Redis is away
        self.stopped.wait(1 / RATE)


class Shaky:
    """A receiver that is slow, fails, and hangs up behind what it has read."""

    def __init__(self, seed):
        self.random, self.well, self.bodies = random.Random(f"receiver {seed}"), False, collections.defaultdict(list)
        self.accepted, self.lock = set(), threading.Lock()

    def __call__(self, request, send):
        with self.lock:
            self.bodies[request.headers["webhook-id"]].append(request.body)
            drawn = 1 if self.well else self.random.random()
        if drawn < 0.1:
            return answer(503)
        if drawn < 0.2:
            return None
        if drawn < 0.5:
            time.sleep(drawn / 2)       # the sender may be killed meanwhile
        with self.lock:
            self.accepted.add(request.headers["webhook-id"])
        return OK


class Crowd:
    """The three that are killed."""

    def __init__(self, rig, receiver):
        self.rig, self.receiver = rig, receiver
        self.sender = self.new_sender()

    def new_sender(self):
        return self.rig.keep(Sender(self.rig.folder, self.rig.ipc("q"), self.receiver, ready=False))

    def kill(self, who, away_s):
        """It is back after so many seconds."""
        if who == "sender":
            self.sender.close()
        else:
            getattr(self.rig, who).kill()
        time.sleep(away_s)
        if who == "sender":
            self.sender = self.new_sender()
        else:
            getattr(self.rig, who).start()


def webhook_id(run):
    return f"{run['plan']}-{run['exec_id']:x}" + ("" if run["status"] == ST.OK else "-e")


def runs_with_callbacks(rig):
    return [run for run in history(rig, rig.client, station="jobs") if "callback" in run]


def is_delivered(rig, acknowledged):
    try:
        runs = runs_with_callbacks(rig)
    except AssertionError:      # rejected: Redis, which was killed last, reads its data
        return None
    missing = set(acknowledged) - {run["plan"] for run in runs}
    if missing or any(run["callback"].get("state") != "delivered" for run in runs):
        time.sleep(0.5)     # the whole history is no cheap question
        return None
    return runs


def body_is_of(run, body):
    """What the receiver was sent is the outcome that the history has."""
    body = json.loads(body)
    if run["status"] == ST.OK:
        return body == {"ext": None, "result": "run " + webhook_id(run)}
    return body["task_id"] == int(run["plan"], 16) and "error_info" in body


@pytest.mark.timeout(180 + KILLS * 5)
def test_each_callback_is_delivered_under_its_own_id(make_rig):
    print(f"ZPLAN_CALLBACK_SEED={SEED} ZPLAN_CALLBACK_KILLS={KILLS}")
    rig = make_rig("--exec-timeout", "2", redis_args=("--appendfsync", "always"))
    drawn, shaky = random.Random(SEED), Shaky(SEED)
    receiver = rig.keep(Receiver(shaky))
    crowd, worker = Crowd(rig, receiver), Worker(rig.jobs)
    submitters = [Submitter(rig, receiver.url()) for _ in range(SUBMITTERS)]
    loops = (worker, *submitters)
    for loop in loops:
        loop.start()
    victims = [("station", "sender", "redis")[at % 3] for at in range(KILLS)]
    drawn.shuffle(victims)
    try:
        for who in victims:
            time.sleep(drawn.random())      # a random moment
            crowd.kill(who, drawn.random() / 4)
        for submitter in submitters:
            submitter.stop()
        acknowledged = [ident for submitter in submitters for ident in submitter.acknowledged]
        shaky.well = True
        rig.client = rig.dealer()
        wait_until(lambda: rig.client.manage("health").code == ST.OK, "the station answers")
        runs = wait_until(lambda: is_delivered(rig, acknowledged), "each callback is delivered",
                          3 * (LEASE_S + WAIT))
        worker.stop()
    finally:
        for loop in loops:
            loop.stopped.set()
    expected = {webhook_id(run): run for run in runs}
    assert len(expected) == len(runs), "a run has two outcomes"
    assert shaky.accepted == set(shaky.bodies) == set(expected)
    for ident, bodies in shaky.bodies.items():
        assert len(set(bodies)) == 1, (ident, bodies)
        assert body_is_of(expected[ident], bodies[0]), (expected[ident], bodies[0])
    repeats = sum(map(len, shaky.bodies.values())) - len(runs)
    print(f"{dict(collections.Counter(victims))}: {len(acknowledged)} plans, {len(runs)} callbacks, {repeats} repeats")
    wait_until(lambda: rig.db.hget("plan:callbacks", "jobs") in (None, b"0"), "none is kept")
