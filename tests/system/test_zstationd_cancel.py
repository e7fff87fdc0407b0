"""Cancelling at a target's side: what waits for a worker, what is in hand, and what is neither."""
import json

import pytest

from zplanprocs import wait_until
from zstationtest import (  # noqa: F401 station is a fixture
    CANCEL, COMMAND, CONTENT, FAILED, GLOBAL_ID, INVALID, JSON, LOCAL_ID, OK, PING, PROXY,
    REQUESTER, REQUEST_ID, RESPONSER, RUNING, STATUS, VOTE_END, VOTE_START,
    a_call, a_run, pack, station)


def cancel(mailbox=None, *more, local_id=b"5f", words=b"by ann"):
    """A CLOSE_REQUEST of the plan station for a run; without a mailbox of a client for its call."""
    number = [(LOCAL_ID, local_id)] if local_id else []
    plan = [(GLOBAL_ID, mailbox[1:])] if mailbox else []
    return [mailbox] * bool(mailbox) + pack(CANCEL, (STATUS, words), *number, *plan, *more)


def sent(peer, *runs):
    """Send runs and hear that they were taken."""
    for run in runs:
        assert peer.ask(*run).code == RUNING


# -- runs


def test_a_run_that_waits_is_taken_back(station):
    station.start()
    worker, plan = station.worker(credits=0), station.peer()
    sent(plan, a_run(b"a1"), a_run(b"a2"), a_run(b"a3"), a_run(b"a4"))
    for mailbox in (b"*a2", b"*a4", b"*a1"):    # in the middle, the last, the first
        plan.send(*cancel(mailbox))
    plan.settle()       # no answer
    worker.ready()
    job = worker.recv()
    assert job.sender == b"*a3"
    worker.answer(job, OK)
    assert plan.recv().sender == b"*a3"
    sent(plan, a_run(b"a5"))    # the queue is still one
    worker.ready()
    assert worker.recv().sender == b"*a5"
    worker.settle()
    assert (station.count("cancels"), station.count("stray_cancels")) == (3, 0)


@pytest.mark.parametrize("connection", ["the same", "another"])
def test_who_has_the_run_in_hand_is_told_and_answers_as_always(station, connection):
    station.start()
    worker, other, plan = station.worker(cancel=True), station.worker(b"other", credits=0), station.peer()
    sent(plan, a_run(b"a1"))
    job = worker.recv()
    canceller = plan if connection == "the same" else station.peer()
    canceller.send(*cancel(b"*a1", (REQUESTER, b"x"), (CONTENT, b"what is passed on to nobody")))
    told = worker.recv()
    assert (told.sender, told.code) == (b"*a1", CANCEL)
    assert list(zip(told.types, told.frames)) == [
        (STATUS, b"by ann"), (LOCAL_ID, b"5f"), (GLOBAL_ID, b"a1")]
    canceller.settle()      # no answer
    worker.ready()          # the worker has one hand, which is not free before it has answered
    sent(plan, a_run(b"a2"))
    worker.settle()
    worker.answer(job, FAILED, (STATUS, b"-failed: cancelled: by ann"), (LOCAL_ID, b"5f"))
    answer = plan.recv()
    assert (answer.sender, answer.code, answer.status) == (b"*a1", FAILED, "-failed: cancelled: by ann")
    assert worker.recv().sender == b"*a2"
    other.settle()
    assert station.count("cancels") == 1


def test_a_worker_that_has_not_said_that_it_obeys_is_not_told(station):
    """It might take it for a job."""
    station.start()
    worker, plan = station.worker(jobs=4, credits=4), station.peer()
    sent(plan, a_run(b"a1"))
    job = worker.recv()
    plan.send(*cancel(b"*a1"))
    plan.settle()
    worker.settle()
    worker.answer(job, OK, (CONTENT, b"done for nothing"))
    assert plan.recv().code == OK
    assert station.count("cancels") == 1


def test_the_words_of_a_cancel_make_no_line_of_the_log(station):
    station.start()
    station.worker(credits=0)
    client = station.peer()
    client.send(*a_call())      # it waits
    client.send(*cancel(local_id=None, words=b'x"\nts=2026-11-28T00:00:00Z level=error event=forged'))
    assert client.recv().code == FAILED
    assert not [line for line in station.log().splitlines() if not line.startswith("ts=") or "ts=2026-11-28T00:00:00Z" in line[:30]]
    assert "forged" in station.log()


def test_twice_is_once(station):
    station.start()
    worker, plan = station.worker(cancel=True), station.peer()
    sent(plan, a_run(b"a1"))
    worker.recv()
    for _ in range(3):
        plan.send(*cancel(b"*a1"))
    plan.settle()
    assert worker.recv().code == CANCEL
    worker.settle()
    assert (station.count("cancels"), station.count("stray_cancels")) == (1, 2)


@pytest.mark.parametrize("frames", [
    cancel(b"*a2"), cancel(b"*a1", local_id=b"60"), cancel(b"*A1"), cancel(b"*a1\0"), cancel(),
    cancel(b"*a1", local_id=b"5f\0"), [b"+a1", *cancel()], [b"caller", *cancel()], [b"", *cancel()]])
def test_what_is_not_here_is_dropped_and_counted(station, frames):
    station.start()
    worker, plan = station.worker(cancel=True), station.peer()
    sent(plan, a_run(b"a1"), a_run(b"a1", local_id=b"61"))      # one in hand, one waits
    job = worker.recv()
    other = station.peer()
    other.send(*frames)
    other.settle()
    worker.answer(job, OK)
    assert plan.recv().code == OK
    worker.ready()
    assert worker.recv().get(LOCAL_ID) == b"61"
    assert (station.count("cancels"), station.count("stray_cancels")) == (0, 1)


def test_of_the_runs_of_a_plan_the_number_tells_which_else_it_is_the_oldest(station):
    station.start()
    one, two, plan = station.worker(cancel=True), station.worker(cancel=True), station.peer()
    sent(plan, *(a_run(b"a1", local_id=b"%d" % n) for n in range(1, 5)))
    jobs = [one.recv(), two.recv()]
    assert [job.get(LOCAL_ID) for job in jobs] == [b"1", b"2"]
    plan.send(*cancel(b"*a1", local_id=b"2"))
    assert two.recv().get(LOCAL_ID) == b"2"
    plan.send(*cancel(b"*a1", local_id=None))
    assert one.recv().get(LOCAL_ID) == b"1"     # the worker hears which one
    for worker, job in ((one, jobs[0]), (two, jobs[1])):
        worker.answer(job, FAILED)
        assert plan.recv().code == FAILED
    plan.send(*cancel(b"*a1", local_id=None))   # now that is one that waits
    plan.settle()
    one.ready()
    assert one.recv().get(LOCAL_ID) == b"4"
    assert (station.count("cancels"), station.count("stray_cancels")) == (3, 0)


def test_a_run_that_was_sent_by_identity(station):
    station.start()
    worker, plan = station.worker(cancel=True), station.peer(identity=b"+zplan-1")
    plan.send(*pack(PROXY, (COMMAND, b"close"), (REQUESTER, b"*a1"), (GLOBAL_ID, b"5f")))
    assert plan.recv().code == RUNING
    job = worker.recv()
    plan.send(*cancel(None, (REQUESTER, b"*a1"), (GLOBAL_ID, b"a1"), local_id=b"5e"))
    plan.send(*cancel(None, (REQUESTER, b"*a2"), (GLOBAL_ID, b"a2")))
    station.peer().send(*cancel(None, (REQUESTER, b"*a1"), (GLOBAL_ID, b"a1")))
    plan.settle()
    worker.settle()
    plan.send(*cancel(None, (REQUESTER, b"*a1"), (GLOBAL_ID, b"a1")))
    told = worker.recv()
    assert (told.sender, told.code, told.status) == (job.sender, CANCEL, "by ann")
    assert station.count("cancels") == 1


# -- calls


def test_a_call_is_cancelled_by_who_made_it_and_nobody_else(station):
    station.start()
    worker, client, other = station.worker(cancel=True), station.peer(), station.peer()
    for n in range(3):
        client.send(*a_call((REQUEST_ID, b"%d" % n)))
    client.settle()
    job = worker.recv()
    for peer, frames in ((other, cancel(None, (REQUEST_ID, b"0"), local_id=None)),
                         (other, cancel(None, local_id=None)),
                         (other, [job.sender, *cancel(None, local_id=None)]),
                         (client, cancel(None, (REQUEST_ID, b"9"), local_id=None))):
        peer.send(*frames)
        peer.settle()
    worker.settle()
    client.send(*cancel(None, (REQUEST_ID, b"1"), local_id=None))   # this one waits
    answer = client.recv()
    assert (answer.code, answer.status, answer.get(REQUEST_ID)) == (
        FAILED, "-failed: cancelled: by ann", b"1")
    client.send(*pack(CANCEL))      # the oldest of this connection
    told = worker.recv()
    assert (told.sender, told.code, told.frames) == (job.sender, CANCEL, [])
    worker.answer(job, FAILED)
    assert client.recv().get(REQUEST_ID) == b"0"
    worker.ready()
    assert worker.recv().get(REQUEST_ID) == b"2"
    assert (station.count("cancels"), station.count("stray_cancels")) == (2, 4)


# -- what else there is


def test_a_pub_station_has_nothing_to_cancel(station):
    station.start(type_="pub")
    plan = station.peer()
    plan.send(*cancel(b"*a1"))
    plan.settle()
    assert station.count("stray_cancels") == 1


def test_a_stop_waits_for_what_was_cancelled(station):
    station.start(grace="1000")
    worker, plan = station.worker(cancel=True), station.peer()
    sent(plan, a_run(b"a1"))
    job = worker.recv()
    station.process.terminate()
    wait_until(lambda: "event=stopping" in station.log(), "it is about to stop")
    plan.send(*cancel(b"*a1"))
    assert worker.recv().code == CANCEL
    worker.answer(job, FAILED)
    assert plan.recv().code == FAILED
    assert station.process.wait(20) == 0


@pytest.mark.parametrize("type_", ["api", "vote"])
def test_hostile_cancels_do_no_harm(station, type_):
    """A flood, for a worker that does not read too: nobody is given up, and nobody loses a job."""
    station.start(type_=type_)
    worker, plan = station.worker(cancel=True), station.peer()
    plan.send(*a_run(b"a1"))
    assert plan.recv().code == (RUNING if type_ == "api" else VOTE_START)
    job = worker.recv()
    hostile = station.peer()
    hostile.socket.sndhwm = 0
    broken = ([b"*a1", b"\x02\x2d\x03\0", b"x"], [b"*", *pack(CANCEL)], [b"*a1", *pack(CANCEL, *[(
        STATUS, b"x")] * 33)], pack(CANCEL, (0, b"")), [b"*a1", *pack(CANCEL, (GLOBAL_ID, b""), (
            GLOBAL_ID, b""))])
    for frames in broken:
        hostile.send(*frames)
    for n in range(5000):
        hostile.send(*cancel(b"*a1", words=b"\xff\0%n" * 9))
        hostile.send(*cancel(b"*%x" % n, local_id=None))
        hostile.send(*pack(CANCEL))
    refused = 0
    while True:     # what is broken is refused, nothing else is answered
        hostile.send(*pack(PING, (REQUEST_ID, b"end")))
        answer = hostile.recv()
        if answer.get(REQUEST_ID) == b"end":
            break
        assert answer.code == INVALID
        refused += 1
    assert 3 <= refused <= len(broken)
    told = worker.recv()
    assert (told.code, told.frames[0]) == (CANCEL, b"\xff\0%n" * 9)
    worker.settle()
    worker.answer(job, OK)
    answer = plan.recv()
    assert (answer.sender, answer.code) == (b"*a1", OK)
    assert station.count("cancels") == 1 and station.count("workers_gone") == 0


# -- votes


def test_ballots_that_were_not_given_are_not(station):
    station.start(type_="vote")
    ann, bob = station.worker(b"ann", cancel=True), station.worker(b"bob", cancel=True, credits=0)
    plan = station.peer()
    plan.send(*a_run(b"a1"))
    assert json.loads(plan.recv().get(JSON)) == ["ann", "bob"]
    job = ann.recv()
    plan.send(*cancel(b"*a1"))
    plan.send(*cancel(b"*a1"))
    told = ann.recv()
    assert (told.sender, told.code, told.get(LOCAL_ID)) == (b"*a1", CANCEL, b"5f")
    ann.settle()
    bob.ready()
    bob.settle()    # no ballot
    ann.answer(job, FAILED)
    assert [(x.code, x.get(RESPONSER)) for x in (plan.recv(), plan.recv())] == [
        (FAILED, b"ann"), (VOTE_END, None)]
    assert (station.count("cancels"), station.count("stray_cancels")) == (1, 1)


def test_a_ballot_that_nobody_was_given_ends_at_once(station):
    station.start(type_="vote")
    voter, client, other = station.worker(credits=0), station.peer(), station.peer()
    for n in range(2):
        client.send(*a_call((REQUEST_ID, b"%d" % n)))
        assert client.recv().code == VOTE_START
    other.send(*pack(CANCEL))
    other.settle()
    client.send(*pack(CANCEL))      # the older one
    answer = client.recv()
    assert (answer.code, answer.get(REQUEST_ID)) == (VOTE_END, b"0")
    voter.ready()
    assert voter.recv().get(REQUEST_ID) == b"1"
