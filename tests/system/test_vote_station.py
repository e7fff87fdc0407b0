"""A vote station: what its requester is told about one ballot, whatever its voters do."""

import json
import signal
import time

import pytest
import zmq

from zplanprocs import wait_until
from zstationtest import (  # noqa: F401 station and work are fixtures
    ARG, Answer, BYE, CONTENT, FAILED, GLOBAL_ID, INVALID, JOIN, JSON, LEFT, LOCAL_ID, NOT_FIND,
    NOT_SUPPORT, NOT_WORKER, OK, PITPAT, REQUESTER, REQUEST_ID, RESPONSER, RUNING, STATUS, VOTE_BYE,
    VOTE_CLOSED, VOTE_END, VOTE_SENDED, VOTE_START, WAITING, WAIT_S, a_call, a_run, pack, station,
    work)


@pytest.fixture
def start(station):
    return lambda *options: station.start(*options, type_="vote")


def voters(station, *names, **kwargs):
    return [station.worker(name, **kwargs) for name in names]


def names_of(answer):
    """VOTE_START's list."""
    assert answer.code == VOTE_START
    return json.loads(answer.get(JSON))


def vote(worker, code=OK, *pairs):
    """Take the ballot, vote, be ready for another one."""
    job = worker.recv()
    worker.answer(job, code, *pairs)
    worker.ready()
    return job


def told(requester):
    """What comes up to VOTE_END: (code, voter) each, the names of VOTE_START first."""
    answers = [requester.recv()]
    seen = [names_of(answers[0])]
    while answers[-1].code != VOTE_END:
        answers.append(requester.recv())
        if answers[-1].code != VOTE_END:
            assert answers[-1].types[-1:] == b"<", answers[-1].types
            seen.append((answers[-1].code, answers[-1].frames[-1].decode()))
    return seen


# -- a ballot


def test_a_run_is_told_its_voters_each_vote_and_the_end(station, start):
    start()
    ann, bob = voters(station, b"ann", b"bob")
    plan = station.peer()
    run = a_run(b"a1", (REQUEST_ID, b"r"), (REQUESTER, b"\0c"))
    plan.send(*run)
    jobs = [worker.recv() for worker in (bob, ann)]
    for job in jobs:  # both get it byte for byte
        assert [job.sender, job.desc, *job.frames] == run
    bob.answer(jobs[0], OK, (CONTENT, b"yes"), (CONTENT, b"\0\xff"))
    first = plan.recv()
    assert names_of(first) == ["ann", "bob"]
    answers = [first, plan.recv()]
    assert (answers[1].code, answers[1].frames[:2]) == (OK, [b"yes", b"\0\xff"])
    assert answers[1].types[-1:] == b"<" and answers[1].frames[-1] == b"bob"
    ann.answer(jobs[1], FAILED, (STATUS, b"-failed: no"))
    answers += [plan.recv(), plan.recv()]
    assert [x.code for x in answers] == [VOTE_START, OK, FAILED, VOTE_END]
    assert answers[2].status == "-failed: no" and answers[2].get(RESPONSER) == b"ann"
    for x in answers:
        assert x.sender == b"*a1"
        assert [x.get(t) for t in (REQUEST_ID, REQUESTER, GLOBAL_ID, LOCAL_ID)] == [
            b"r", b"\0c", b"a1", b"5f"]
    plan.settle()  # and nothing else


def test_a_call_is_voted_on_too(station, start):
    start()
    ann, = voters(station, b"ann")
    client = station.peer()
    client.send(*a_call((REQUEST_ID, b"r9")))
    job = ann.recv()
    assert job.sender.startswith(b"+") and len(job.sender) > 16
    ann.answer(job, OK, (CONTENT, b"4"))
    answers = [client.recv() for _ in range(3)]
    assert [(x.sender, x.code, x.get(REQUEST_ID)) for x in answers] == [
        (None, VOTE_START, b"r9"), (None, OK, b"r9"), (None, VOTE_END, b"r9")]
    answer = station.peer(zmq.REQ).ask(*a_call())
    assert (answer.code, answer.sender) == (NOT_SUPPORT, None) and "DEALER" in answer.status


def test_without_a_worker_the_answer_is_not_worker(station, start):
    start()
    plan = station.peer()
    answer = plan.ask(*a_run())
    assert (answer.sender, answer.code, answer.get(LOCAL_ID)) == (b"*a1", NOT_WORKER, b"5f")
    assert answer.status == "-not work: no worker has joined"
    assert plan.ask(*a_call()).code == NOT_WORKER
    worker, = voters(station, b"ann")
    assert worker.ask(*pack(LEFT)).code == BYE
    assert plan.ask(*a_run()).code == NOT_WORKER


def test_a_request_without_command_or_past_its_deadline_is_no_ballot(station, start):
    start()
    worker, = voters(station, b"ann")
    plan = station.peer()
    assert plan.ask(*pack(1, (ARG, b"x"))).code == INVALID
    plan.send(*a_run(b"1", deadline=1))
    plan.settle()
    worker.settle()
    assert station.count("late_runs") == 1 and station.count("ballots") == 0


def test_namesakes_are_told_apart(station, start):
    start()
    workers = voters(station, b"w", b"v", b"w", b"w")
    plan = station.peer()
    for _ in range(2):  # as they joined, whoever had the last job
        plan.send(*a_run())
        for worker in workers:
            vote(worker, OK, (CONTENT, b"%d" % workers.index(worker)))
            worker.settle()
        assert names_of(plan.recv()) == ["v", "w", "w#2", "w#3"]
        answers = [plan.recv() for _ in range(5)]
        assert [(x.get(CONTENT), x.get(RESPONSER)) for x in answers] == [
            (b"0", b"w"), (b"1", b"v"), (b"2", b"w#2"), (b"3", b"w#3"), (None, None)]


def test_twenty_voters(station, start):
    start()
    names = [b"w%02d" % n for n in range(20)]
    workers = voters(station, *names)
    plan = station.peer()
    for _ in range(3):
        plan.send(*a_run())
        for worker in reversed(workers):
            vote(worker)
        seen = told(plan)
        assert seen[0] == [name.decode() for name in names]
        assert sorted(seen[1:]) == [(OK, name.decode()) for name in names]
    assert station.count("votes") == 60


def test_ballots_of_two_requesters_at_once_keep_apart(station, start):
    start()
    ann, bob = voters(station, b"ann", b"bob")
    one, two = station.peer(), station.peer()
    one.send(*a_run(b"1"))
    assert names_of(one.recv()) == ["ann", "bob"]
    two.send(*a_run(b"2"))
    assert names_of(two.recv()) == ["ann", "bob"]
    first = bob.recv()
    assert first.sender == b"*1"
    bob.settle()  # the second waits until the first is answered, and there is a credit
    bob.answer(first, OK)
    bob.settle()
    bob.ready()
    assert vote(bob).sender == b"*2"
    assert [vote(ann).sender, vote(ann).sender] == [b"*1", b"*2"]
    for requester, plan_id in ((one, b"*1"), (two, b"*2")):
        answers = [requester.recv() for _ in range(3)]
        assert [(x.sender, x.code, x.get(RESPONSER)) for x in answers] == [
            (plan_id, OK, b"bob"), (plan_id, OK, b"ann"), (plan_id, VOTE_END, None)]


def test_a_worker_that_joins_during_a_vote_does_not_vote(station, start):
    start()
    ann, = voters(station, b"ann")
    plan = station.peer()
    plan.send(*a_run(b"1"))
    assert names_of(plan.recv()) == ["ann"]
    late, = voters(station, b"late")
    late.settle()  # no ballot
    vote(ann)
    assert [plan.recv().code, plan.recv().code] == [OK, VOTE_END]
    plan.send(*a_run(b"2"))
    assert [vote(late).sender, vote(ann).sender] == [b"*2", b"*2"]
    assert told(plan)[0] == ["ann", "late"]


def test_signs_of_life_are_passed_on_and_never_start_a_vote(station, start):
    start()
    ann, = voters(station, b"ann")
    for requester, request in ((station.peer(), a_run()), (station.peer(), a_call())):
        requester.send(*request)
        job = ann.recv()
        for code in (WAITING, RUNING, VOTE_SENDED, VOTE_START):
            ann.answer(job, code, (ARG, b"half"))
        ann.answer(job, OK)
        ann.ready()
        assert told(requester) == [["ann"], (WAITING, "ann"), (RUNING, "ann"),
                                   (VOTE_SENDED, "ann"), (WAITING, "ann"), (OK, "ann")]


# -- voters that leave or fall silent


def test_a_silent_voter_is_given_up(station, start):
    start("--worker-timeout", "3000")
    ann, bob = voters(station, b"ann", b"bob")
    plan = station.peer()
    plan.send(*a_run())
    vote(ann)
    job = bob.recv()
    answers = [plan.recv() for _ in range(4)]
    assert [x.code for x in answers] == [VOTE_START, OK, VOTE_BYE, VOTE_END]
    assert answers[2].status == "+bye: worker bob is gone" and answers[2].get(RESPONSER) == b"bob"
    assert answers[2].sender == b"*a1" and answers[2].get(LOCAL_ID) == b"5f"
    bob.answer(job, OK)  # too late
    assert bob.ask(*pack(PITPAT)).code == NOT_FIND
    plan.settle()
    assert station.count("stray_answers") == 1


def test_a_voter_that_lives_but_never_votes_is_given_up_and_may_join_again(station, start):
    start("--voter-timeout", "3000")
    ann, bob = voters(station, b"ann", b"bob")
    plan = station.peer()
    plan.send(*a_run(b"1"))
    vote(ann)
    bob.recv()
    assert plan.recv().code == VOTE_START and plan.recv().code == OK
    while bob.ask(*pack(PITPAT)).code == OK:
        bob.poll(0.05)
    answers = plan.recv(), plan.recv()
    assert [x.code for x in answers] == [VOTE_BYE, VOTE_END]
    assert answers[0].status == "+bye: worker bob has not voted in time"
    assert bob.ask(*pack(JOIN, (ARG, b"bob"))).code == OK
    bob.ready()
    bob.settle()
    plan.send(*a_run(b"2"))
    vote(ann)
    vote(bob)
    assert told(plan) == [["ann", "bob"], (OK, "ann"), (OK, "bob")]


def test_waiting_keeps_a_vote_open_but_not_the_ballots_behind_it(station, start):
    start("--voter-timeout", "3000")
    ann, bob = voters(station, b"ann", b"bob", credits=1)
    plan, other = station.peer(), station.peer()
    plan.send(*a_run(b"1"))
    vote(ann)
    job = bob.recv()
    assert [plan.recv().code, plan.recv().code] == [VOTE_START, OK]
    other.send(*a_run(b"2"))
    vote(ann)
    end = time.monotonic() + 6
    while time.monotonic() < end:
        bob.answer(job, WAITING)
        bob.settle()
        bob.poll(0.05)
    seen = [other.recv() for _ in range(4)]
    assert [x.code for x in seen] == [VOTE_START, OK, VOTE_BYE, VOTE_END]
    assert seen[2].status == "+bye: worker bob is busy for too long"
    bob.answer(job, FAILED)
    bob.ready()
    codes = []
    while VOTE_END not in codes:
        codes.append(plan.recv().code)
    assert set(codes[:-2]) == {WAITING} and codes[-2:] == [FAILED, VOTE_END]
    bob.settle()  # it does not get the ballot that it was too busy for


def test_a_voter_that_leaves_is_told_in_each_of_its_ballots(station, start):
    start()
    ann, bob = voters(station, b"ann", b"bob")
    plan, other = station.peer(), station.peer()
    plan.send(*a_run(b"1"))
    bob.recv()
    assert names_of(plan.recv()) == ["ann", "bob"]
    other.send(*a_run(b"2"))
    assert names_of(other.recv()) == ["ann", "bob"]
    assert bob.ask(*pack(LEFT)).code == BYE
    for requester in (plan, other):
        answer = requester.recv()
        assert (answer.code, answer.status) == (VOTE_BYE, "+bye: worker bob has left")
        vote(ann)
        assert [requester.recv().code, requester.recv().code] == [OK, VOTE_END]


def test_when_the_last_voter_leaves_the_vote_is_over(station, start):
    start()
    ann, = voters(station, b"ann", credits=0)
    plan = station.peer()
    plan.send(*a_run())
    assert names_of(plan.recv()) == ["ann"]
    ann.send(*pack(LEFT))
    answers = plan.recv(), plan.recv()
    assert [(x.code, x.get(RESPONSER)) for x in answers] == [(VOTE_BYE, b"ann"), (VOTE_END, None)]
    assert plan.ask(*a_run()).code == NOT_WORKER


def test_a_voter_that_joins_anew_has_lost_its_ballot(station, start):
    start()
    ann, = voters(station, b"ann")
    plan = station.peer()
    plan.send(*a_run(b"1"))
    job = ann.recv()
    assert ann.ask(*pack(JOIN, (ARG, b"eve"))).code == OK
    ann.answer(job, OK)
    assert told(plan) == [["ann"], (VOTE_BYE, "ann")]
    ann.ready()
    plan.send(*a_run(b"2"))
    assert vote(ann).sender == b"*2"
    assert told(plan) == [["eve"], (OK, "eve")]
    assert station.count("stray_answers") == 1


def test_voters_whose_connections_are_gone_do_not_hold_up_the_rest(station, start):
    start("--worker-timeout", "5000")
    gone = voters(station, b"a", b"c", b"e")
    left = voters(station, b"b", b"d")
    for worker in gone:
        worker.socket.close()
    plan = station.peer()
    plan.send(*a_run())
    for worker in left:
        vote(worker)
    seen = told(plan)
    assert seen[0] == ["a", "b", "c", "d", "e"]
    assert sorted(seen[1:]) == [(OK, "b"), (OK, "d"), *((VOTE_BYE, x) for x in "ace")]


# -- hostile voters


def test_only_a_voter_with_the_ballot_can_vote_and_once(station, start):
    start()
    ann, bob = voters(station, b"ann", b"bob", credits=1)
    idle, = voters(station, b"idle", credits=0)
    stranger, plan = station.peer(endpoint="workers"), station.peer()
    plan.send(*a_run(b"1"))
    job = ann.recv()
    for thief in (idle, stranger):
        thief.send(job.sender, *pack(OK, (CONTENT, b"forged")))
        thief.settle()
    ann.send(b"*2", *pack(OK, (CONTENT, b"wrong mailbox")))
    ann.answer(job, OK, (RESPONSER, b"bob"), (CONTENT, b"true"), (RESPONSER, b"idle"))
    ann.answer(job, OK, (CONTENT, b"again"))
    ann.settle()
    vote(bob)
    idle.send(*pack(LEFT))
    answers = [plan.recv() for _ in range(5)]
    assert [(x.code, x.get(RESPONSER)) for x in answers] == [
        (VOTE_START, None), (OK, b"ann"), (OK, b"bob"), (VOTE_BYE, b"idle"), (VOTE_END, None)]
    assert answers[1].get(CONTENT) == b"true" and answers[1].types.count(RESPONSER) == 1
    assert station.count("stray_answers") == 4


@pytest.mark.parametrize("code", [VOTE_END, VOTE_CLOSED])
def test_a_voter_cannot_speak_for_the_station(station, start, code):
    start()
    ann, bob = voters(station, b"ann", b"bob")
    plan = station.peer()
    plan.send(*a_run())
    vote(ann, code)
    ann.settle()
    vote(bob)
    assert told(plan) == [["ann", "bob"], (FAILED, "ann"), (OK, "bob")]


def test_a_voter_may_abstain(station, start):
    start()
    ann, = voters(station, b"ann")
    plan = station.peer()
    plan.send(*a_run())
    vote(ann, VOTE_BYE)
    assert told(plan) == [["ann"], (VOTE_BYE, "ann")]


def test_a_broken_vote_is_a_failed_one(station, start):
    start()
    ann, = voters(station, b"ann")
    plan = station.peer()
    plan.send(*a_run())
    ann.send(ann.recv().sender, b"\x09\x01")
    answers = [plan.recv() for _ in range(3)]
    assert [x.code for x in answers] == [VOTE_START, FAILED, VOTE_END]
    assert answers[1].status == "-failed: worker ann sent a malformed answer"
    assert ann.recv().code == INVALID
    ann.ready()
    plan.send(*a_run())
    vote(ann)
    assert told(plan) == [["ann"], (OK, "ann")]


def test_the_name_is_there_however_many_frames_a_vote_has(station, start):
    start()
    ann, = voters(station, b"ann")
    plan = station.peer()
    for given, code in ((30, OK), (31, OK), (32, FAILED)):
        plan.send(*a_run())
        vote(ann, OK, *[(CONTENT, b"x")] * given)
        answers = [plan.recv() for _ in range(3)]
        assert (answers[1].code, answers[1].frames[-1]) == (code, b"ann")
        assert answers[1].types.count(CONTENT) == (given if code == OK else 0)
        assert answers[1].get(LOCAL_ID) == (None if given == 31 else b"5f")


# -- bounds, lost connections, the end


def test_ballots_are_bounded(station, start):
    start("--queue", "1")
    ann, = voters(station, b"ann", credits=0)
    plan = station.peer()
    for plan_id in (b"1", b"2"):
        assert plan.ask(*a_run(plan_id)).code == VOTE_START
    answer = plan.ask(*a_run(b"3"))
    assert answer.code == NOT_WORKER and answer.status == "-not work: all workers are busy"
    ann.ready()
    assert vote(ann).sender == b"*1"
    assert [plan.recv().code, plan.recv().code] == [OK, VOTE_END]
    assert plan.ask(*a_run(b"4")).code == VOTE_START
    assert [vote(ann).sender, vote(ann).sender] == [b"*2", b"*4"]


def test_a_run_that_comes_again_is_not_voted_on_twice(station, start):
    start()
    ann, bob = voters(station, b"ann", b"bob")
    plan, other = station.peer(), station.peer()
    other.send(*a_run(b"b"))
    busy = bob.recv()
    vote(ann)
    plan.send(*a_run(b"1", local_id=b"1"))
    vote(ann)
    stranger = station.peer()
    stranger.send(*a_run(b"1", local_id=b"9"))  # another station's plan with the same id
    vote(ann)
    plan.send(*a_run(b"1", local_id=b"2"))
    vote(ann)
    bob.answer(busy, OK)
    bob.ready()
    assert [vote(bob).get(LOCAL_ID), vote(bob).get(LOCAL_ID)] == [b"9", b"2"]
    bob.settle()
    answers = [plan.recv() for _ in range(7)]
    assert [(x.get(LOCAL_ID), x.code, x.get(RESPONSER)) for x in answers] == [
        (b"1", VOTE_START, None), (b"1", OK, b"ann"), (b"1", VOTE_END, None),
        (b"2", VOTE_START, None), (b"2", OK, b"ann"), (b"2", OK, b"bob"), (b"2", VOTE_END, None)]
    assert len(told(stranger)) == 3


def lose_requester(station, requester, sign):
    """Close the socket and give signs of life until the station has seen that it is gone."""
    requester.socket.close()
    while "answer.rerouted" not in station.log() and "answer.lost" not in station.log():
        sign()


def test_what_follows_a_lost_connection_goes_to_the_plan_station_in_order(station, start):
    listener = station.context.socket(zmq.ROUTER)
    listener.linger = 0
    listener.bind(station.endpoint("plan"))
    start("--plan", station.endpoint("plan"))
    ann, bob = voters(station, b"ann", b"bob")
    plan = station.peer(identity=b"zpland")
    plan.send(*a_run())
    job = ann.recv()
    assert plan.recv().code == VOTE_START

    def sign():
        ann.answer(job, WAITING)
        ann.settle()

    lose_requester(station, plan, sign)
    station.peer(identity=b"zpland").settle()  # the identity is back: still the same order
    ann.answer(job, OK)
    ann.settle()
    vote(bob)
    answers = []
    while not answers or answers[-1].code != VOTE_END:
        assert listener.poll(WAIT_S * 1000)
        answers.append(Answer(listener.recv_multipart()[1:]))
        assert answers[-1].sender == b"*a1" and answers[-1].get(LOCAL_ID) == b"5f"
    assert [(x.code, x.get(RESPONSER)) for x in answers if x.code != WAITING] == [
        (OK, b"ann"), (OK, b"bob"), (VOTE_END, None)]


def test_after_a_lost_answer_nothing_is_told_and_nobody_is_asked(station, start):
    start()
    ann, = voters(station, b"ann")
    bob, = voters(station, b"bob", credits=0)
    plan, other = station.peer(identity=b"zpland"), station.peer()
    plan.send(*a_run(b"1"))
    job = ann.recv()

    def sign():
        ann.answer(job, WAITING)
        ann.settle()

    lose_requester(station, plan, sign)
    again = station.peer(identity=b"zpland")
    again.settle()
    ann.answer(job, OK)
    ann.ready()
    bob.ready()
    bob.settle()  # no ballot
    again.settle()  # no vote, and no end
    other.send(*a_run(b"2"))
    vote(ann)
    vote(bob)
    assert told(other) == [["ann", "bob"], (OK, "ann"), (OK, "bob")]


def test_at_the_end_every_ballot_is_ended(station, start):
    start()
    ann, _ = voters(station, b"ann", b"bob")
    plan, other = station.peer(), station.peer()
    plan.send(*a_run(b"1"))
    vote(ann)
    other.send(*a_call())
    ann.recv()
    assert [plan.recv().code, plan.recv().code] == [VOTE_START, OK]
    assert names_of(other.recv()) == ["ann", "bob"]
    station.process.send_signal(signal.SIGTERM)
    for requester, sender in ((plan, b"*1"), (other, None)):
        answer = requester.recv()
        assert (answer.sender, answer.code) == (sender, VOTE_END)
        assert answer.status == "+end: the station is stopped"


def test_a_stop_waits_for_votes_that_have_begun(station):
    station.start(type_="vote", grace="1000")
    ann, bob = voters(station, b"ann", b"bob")
    plan, other = station.peer(), station.peer()
    plan.send(*a_run(b"1"))
    vote(ann)
    job = bob.recv()
    other.send(*a_run(b"2"))
    vote(ann)
    assert [other.recv().code for _ in range(2)] == [VOTE_START, OK]
    station.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "event=stopping" in station.log(), "it is about to stop")
    assert station.peer().ask(*a_run(b"3")).code == NOT_WORKER
    bob.answer(job, FAILED)
    assert told(plan) == [["ann", "bob"], (OK, "ann"), (FAILED, "bob")]
    bob.ready()     # for the other one, which he has not seen yet
    vote(bob)
    answers = [other.recv(), other.recv()]
    assert [x.code for x in answers] == [OK, VOTE_END]
    assert answers[1].status == ""      # whole: it was not cut short
    assert station.process.wait(WAIT_S) == 0


def test_random_frames_of_voters_do_no_harm(station, start):
    start()
    ann, bad = voters(station, b"ann", b"bad")
    plan = station.peer()
    state = 4711
    for turn in range(300):
        frames = [b"*a1"] if turn % 2 else []
        for _ in range(1 + turn % 5):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            frames.append(bytes([turn % 4, state % 256]) + state.to_bytes(4, "big")[:state % 5])
        if turn % 10 == 0:
            plan.send(*a_run())
            vote(ann)
        bad.send(*frames)
        if turn % 7 == 0:
            bad.ready()
    bad.send(*pack(LEFT))
    ends = 0
    while ends < 30:
        ends += plan.recv().code == VOTE_END
    assert station.process.poll() is None


# -- zplan work


def test_the_worker_of_the_command_line_votes(station, start, work):
    start()
    for script in ("echo yes", "echo no >&2; exit 1", 'printf "$ZPLAN_PLAN_ID"'):
        work(script)
    plan = station.peer()
    for plan_id in (b"a1", b"a2"):
        plan.send(*a_run(plan_id))
        answers = [plan.recv() for _ in range(5)]
        assert names_of(answers[0]) == ["sh", "sh#2", "sh#3"]
        votes = sorted((x.get(RESPONSER), x.code, x.get(CONTENT)) for x in answers[1:4])
        assert votes == [(b"sh", OK, b"yes\n"), (b"sh#2", FAILED, b"no\n"), (b"sh#3", OK, plan_id)]
        assert answers[4].code == VOTE_END


def test_a_command_that_takes_long_says_waiting_and_one_that_is_stopped_votes(station, start, work):
    start("--voter-timeout", "5000")
    one = work("sleep 1000")
    plan = station.peer()
    plan.send(*a_run())
    assert names_of(plan.recv()) == ["sh"]
    for _ in range(7):  # longer than the time-out
        answer = plan.recv()
        assert (answer.code, answer.get(RESPONSER)) == (WAITING, b"sh")
    assert one.end() == 0
    codes = []
    while VOTE_END not in codes:
        codes.append(plan.recv().code)
    assert codes[-2:] == [FAILED, VOTE_END]
