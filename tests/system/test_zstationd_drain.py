"""The words of management at a target's request port."""
import json
import time

import pytest
import zmq

from zstationtest import (  # noqa: F401 station is a fixture
    ARG, ARGUMENT, BYE, COMMAND, FAILED, JOIN, JSON, LEFT, NONE, NOT_FIND, NOT_WORKER,
    OK, PITPAT, REQUEST_ID, RESPONSER, RUNING, VOTE_BYE, VOTE_END, VOTE_START, a_call, a_run,
    pack, station)


def word(name, *args):
    return pack(NONE, (COMMAND, name), *[(ARG, arg) for arg in args], (REQUEST_ID, b"r"))


def listed(peer):
    answer = peer.ask(*word(b"workers"))
    assert (answer.code, answer.get(REQUEST_ID)) == (OK, b"r")
    return json.loads(answer.get(JSON))


def drained(peer, name, count=1):
    answer = peer.ask(*word(b"drain", name))
    assert (answer.code, json.loads(answer.get(JSON))) == (OK, {"workers": count})


def said_bye(worker):
    answer = worker.recv()
    assert (answer.sender, answer.code) == (None, BYE)
    assert answer.status == "+bye: no more jobs: finish those you have, then leave"


# -- the list


@pytest.mark.parametrize("type_", ["api", "vote"])
def test_workers_are_listed(station, type_):
    station.start(type_=type_)
    client = station.peer()
    assert listed(client) == []
    before = int(time.time())
    bob = station.worker(b"bob", credits=1)
    ann = station.worker(b"ann", credits=3, jobs=3)
    client.send(*a_call())
    client.send(*a_call())
    ann.recv()
    bob.recv()
    asker = station.peer(zmq.REQ)
    rows = listed(asker)
    assert all(before <= row.pop("since") <= time.time() for row in rows)
    left = 2 if type_ == "api" else 0       # a voter has one ballot at a time
    assert rows == [{"name": "ann", "jobs": 1, "credits": left, "draining": False},
                    {"name": "bob", "jobs": 1, "credits": 0, "draining": False}]


def test_only_who_is_connected_says_words(station):
    """Runs, and calls that somebody forwards, are for workers whatever their command is."""
    station.start()
    worker, peer = station.worker(jobs=3, credits=3), station.peer()
    peer.send(*a_run(command=b"workers"))
    assert worker.recv().get(COMMAND) == b"workers" and peer.recv().code == RUNING
    peer.send(b"caller", *word(b"drain", b"w"))
    assert worker.recv().get(COMMAND) == b"drain"
    peer.send(*word(b"Workers"))
    assert worker.recv().get(COMMAND) == b"Workers"
    assert listed(peer)[0]["jobs"] == 3


# -- draining


def test_a_drained_worker_gets_no_job_and_ends_what_it_has(station):
    station.start()
    leaving, staying, client = (station.worker(b"leaving", jobs=3, credits=3),
                                station.worker(b"staying", jobs=3, credits=3), station.peer())
    client.send(*a_call((REQUEST_ID, b"0")))
    job = leaving.recv()
    drained(client, b"leaving")
    said_bye(leaving)
    leaving.ready()     # it has not heard yet
    for n in (b"1", b"2"):
        client.send(*a_call((REQUEST_ID, n)))
        assert staying.recv().get(REQUEST_ID) == n
    leaving.settle()
    rows = {row["name"]: row for row in listed(client)}
    assert (rows["leaving"]["draining"], rows["staying"]["draining"]) == (True, False)
    assert (rows["leaving"]["jobs"], rows["leaving"]["credits"]) == (1, 0)
    drained(client, b"leaving")
    leaving.settle()    # it is told once
    leaving.answer(job, OK)
    assert client.recv().get(REQUEST_ID) == b"0"
    assert leaving.ask(*pack(LEFT, (ARG, b"leaving"))).code == BYE
    assert [row["name"] for row in listed(client)] == ["staying"]


def test_all_of_a_name_are_drained(station):
    station.start()
    workers, client = [station.worker(b"w") for _ in range(3)], station.peer()
    other = station.worker(b"other")
    drained(client, b"w", 3)
    for worker in workers:
        said_bye(worker)
    client.send(*a_call())
    assert other.recv().get(COMMAND) == b"sum"


@pytest.mark.parametrize("args, code, words", [
    ([b"ww"], NOT_FIND, "-no find: no worker of this name has joined"),
    ([], ARGUMENT, "-argument: ARG: want a worker's name, 1..64 of A-Z a-z 0-9 _ . -"),
    ([b""], ARGUMENT, None), ([b"w\0"], ARGUMENT, None), ([b"x" * 65], ARGUMENT, None),
])
def test_a_drain_that_is_refused(station, args, code, words):
    station.start()
    worker, client = station.worker(), station.peer()
    answer = client.ask(*word(b"drain", *args))
    assert answer.code == code and words in (None, answer.status)
    worker.settle()
    assert listed(client)[0]["draining"] is False


def test_when_all_are_drained_nothing_waits(station):
    station.start()
    worker, plan = station.worker(), station.peer()
    assert plan.ask(*a_run(b"a1")).code == RUNING
    job = worker.recv()
    assert plan.ask(*a_run(b"a2")).code == RUNING
    plan.send(*word(b"drain", b"w"))
    answers = {answer.sender: answer for answer in (plan.recv(), plan.recv())}
    assert answers[None].code == OK
    assert (answers[b"*a2"].code, answers[b"*a2"].status) == (
        NOT_WORKER, "-not work: the last worker is drained")
    answer = plan.ask(*a_run(b"a3"))
    assert (answer.code, answer.status) == (NOT_WORKER, "-not work: all workers are drained")
    said_bye(worker)
    other = station.worker(b"other", credits=0)
    assert plan.ask(*a_run(b"a4")).code == RUNING       # this may wait again
    worker.answer(job, OK)
    assert plan.recv().sender == b"*a1"
    worker.send(*pack(LEFT, (ARG, b"w")))
    other.ready()
    assert other.recv().sender == b"*a4"


def test_who_joins_anew_serves_again(station):
    station.start()
    worker, client = station.worker(), station.peer()
    drained(client, b"w")
    said_bye(worker)
    assert worker.ask(*pack(PITPAT, (ARG, b"w"))).code == OK
    assert worker.ask(*pack(JOIN, (ARG, b"w"))).code == OK
    worker.ready()
    client.send(*a_call())
    assert worker.recv().get(COMMAND) == b"sum"
    assert [row["draining"] for row in listed(client)] == [False]


def test_a_drained_voter_votes_in_what_it_has_and_in_nothing_else(station):
    station.start(type_="vote")
    ann, bob, plan = station.worker(b"ann"), station.worker(b"bob"), station.peer()
    for ident in (b"a1", b"a2"):
        plan.send(*a_run(ident))
        assert plan.recv().code == VOTE_START
    job = ann.recv()
    station.peer().send(*word(b"drain", b"ann"))
    said_bye(ann)
    gone = plan.recv()      # the second ballot has not been given to it
    assert (gone.sender, gone.code, gone.get(RESPONSER)) == (b"*a2", VOTE_BYE, b"ann")
    assert gone.status == "+bye: worker ann is drained"
    plan.send(*a_run(b"a3"))
    assert json.loads(plan.recv().get(JSON)) == ["bob"]
    ann.answer(job, FAILED)
    assert plan.recv().get(RESPONSER) == b"ann"
    for ident in (b"*a1", b"*a2", b"*a3"):
        ballot = bob.recv()
        assert ballot.sender == ident
        bob.answer(ballot, OK)
        bob.ready()
        assert [plan.recv().code for _ in range(2)] == [OK, VOTE_END]
    ann.settle()
    drained(station.peer(), b"bob")
    answer = plan.ask(*a_run(b"a4"))
    assert (answer.code, answer.status) == (NOT_WORKER, "-not work: all workers are drained")


def test_credits_are_at_most_the_jobs_at_once(station):
    station.start()
    station.worker(jobs=2, credits=5)
    assert listed(station.peer())[0]["credits"] == 2
