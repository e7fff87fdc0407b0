"""The identity by which a station connects to a target of mailbox=identity: proto 7.2.

Such a target routes what becomes of its jobs by it, also after it or the station was started again.
"""
import re

import pytest
import zmq

from faulttest import Pair, freeze
from microzero import FLAVOURS, IDENTITY, wait_connected, wait_lost
from zplanprocs import wait_until
from zplantest import CMD, CONTEXT, FT, ST, at_once, describe

COMMAND = [(FT.COMMAND, b"do")]


@pytest.fixture(params=FLAVOURS)
def center(request, make_center):
    return make_center(request.param, Test="api", Other="api")


@pytest.fixture
def rig(make_rig, center):
    rig = make_rig("--send-timeout", "1000", "--station", center.target("Test"),
                   "--station", center.target("Other"))
    wait_connected(rig, "Test")
    return rig


def run_one(rig, center):
    """A job that a worker has begun."""
    ident = rig.client.added(at_once(), station="Test", head=COMMAND)
    job = center["Test"].job()
    rig.state(ident, ST.RUNING, "Test")
    return ident, job


def stop(rig, how):
    if how == "kill":
        rig.station.kill()
    else:
        rig.station.stop()


def test_a_target_that_was_started_again_reports_its_job(rig, center):
    ident, job = run_one(rig, center)
    center["Test"].stop()
    wait_lost(rig, "Test")
    center["Test"].start()
    wait_connected(rig, "Test")
    job.waiting()
    job.finish()
    rig.gone(ident, "Test")


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_job_is_reported_to_the_station_that_was_started_again(rig, center, how):
    ident, job = run_one(rig, center)
    stop(rig, how)
    rig.station.start()
    wait_connected(rig, "Test")
    job.waiting()
    job.finish()
    rig.gone(ident, "Test")
    # And it runs others.
    ident, job = run_one(rig, center)
    job.finish()
    rig.gone(ident, "Test")
    assert len(center["Test"].identities) == 1


def test_it_cannot_be_guessed_and_is_of_one_target(rig, center):
    _, job = run_one(rig, center)
    rig.client.added(at_once(), station="Other", head=COMMAND)
    other = center["Other"].job()
    assert IDENTITY.match(job.identity) and IDENTITY.match(other.identity)
    assert job.identity != other.identity
    assert len(re.sub(rb".*-", b"", job.identity)) >= 32
    listed = rig.client.done("station", "list").json
    assert job.identity.decode() not in str(listed)


@pytest.mark.parametrize("how", ["kill", "freeze"])
def test_the_station_that_takes_over_has_it(rig, center, request, how):
    """A target reports to it what the former owner has sent. One that holds the connection of an owner that was
    stopped ignores another of this identity, and is given a new one."""
    ident, job = run_one(rig, center)
    pair = Pair(rig)
    request.addfinalizer(pair.close)
    pair.start()
    if how == "kill":
        rig.station.kill()
    else:
        freeze(rig.station)
    pair.takes_over()
    wait_connected(rig, "Test")
    if how == "kill":
        job.waiting()
        job.finish()
        rig.gone(ident, "Test")
    ident, other = run_one(rig, center)
    other.finish()
    rig.gone(ident, "Test")
    identities = {key.decode().split()[1] for key in rig.db.hkeys("plan:identities")
                  if key.startswith(b"Test ")}
    assert identities == {other.identity.decode()}
    assert (how == "kill") == (other.identity == job.identity)


class Holder:
    """Somebody whom the target's ROUTER knows by this identity."""

    def __init__(self, center, identity):
        self.endpoint, self.identity, self.socket = center["Test"].endpoint, identity, None
        # That of the station before may still be there.
        wait_until(self.is_known, "known to the ROUTER")

    def is_known(self):
        self.close()
        self.socket = CONTEXT.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.identity = self.identity
        self.socket.connect(self.endpoint)
        self.socket.send_multipart([describe(CMD.PING, [])])
        return self.socket.poll(500)

    def close(self):
        if self.socket:
            self.socket.close()


@pytest.mark.parametrize("stays", [True, False])
def test_a_router_that_holds_the_old_connection(rig, center, stays):
    """The second one of the same identity is ignored: reconnect, then take a new identity."""
    ident, job = run_one(rig, center)
    job.finish()
    rig.gone(ident, "Test")
    rig.station.kill()
    holder = rig.keep(Holder(center, job.identity))
    rig.station.start()
    wait_connected(rig, "Test")
    if not stays:
        holder.close()      # the connection is ignored all the same; the next one is not
    idents = [rig.client.added(at_once(), station="Test", head=COMMAND) for _ in range(3)]
    center["Test"].work = lambda job: job.finish()
    for one in idents:
        rig.gone(one, "Test")
    assert stays == (center["Test"].identities[-1] != job.identity)
    # It is kept.
    center["Test"].work = None
    while not center["Test"].jobs.empty():
        center["Test"].job()
    before = center["Test"].identities[-1]
    ident, job = run_one(rig, center)
    assert job.identity == before
    rig.restart()
    wait_connected(rig, "Test")
    job.finish()
    rig.gone(ident, "Test")
