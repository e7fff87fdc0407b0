"""A run that comes again while zstationd has its job, as a plan proxy station sends it that took over
and does not know whether the run arrived: the job is not done twice, and is answered as the newest
run. And results on their way to the one of several stations that is there."""
import signal

import pytest
import zmq

from zplanprocs import free_port, wait_until
from zstationtest import (  # noqa: F401 station is a fixture
    ARG, Answer, CANCEL, CONTENT, FAILED, GLOBAL_ID, LOCAL_ID, OK, RUNING, STATUS, WAITING, WAIT_S,
    a_run, pack, station)

AT = 1700000000


def run(local_id, plan_id=b"a1", *more, at=AT, **options):
    return a_run(plan_id, *more, local_id=local_id, at=at, **options)


def started(peer, local_id):
    answer = peer.recv()
    assert (answer.code, answer.sender, answer.get(LOCAL_ID)) == (RUNING, b"*a1", local_id)


def taken_over(station, peer, local_id, **options):
    """The station that sent the run is gone, and another one sends it again."""
    if peer:
        peer.socket.close()
    owner = station.peer()
    owner.send(*run(local_id, deadline=4102444800, **options))
    started(owner, local_id)
    return owner


def test_a_job_at_work_is_answered_as_the_newest_run(station):
    station.start()
    worker, plan = station.worker(), station.peer()
    plan.send(*run(b"5f"))
    started(plan, b"5f")
    job = worker.recv()
    owner = taken_over(station, plan, b"60")
    worker.ready()
    worker.settle()         # it got no other job
    worker.answer(job, WAITING, (STATUS, b"half"), (LOCAL_ID, b"5f"))
    worker.answer(job, OK, (CONTENT, b"done"), (LOCAL_ID, b"5f"))
    for code in WAITING, OK:
        answer = owner.recv()
        assert (answer.code, answer.sender) == (code, b"*a1")
        assert [answer.get(type_) for type_ in (LOCAL_ID, GLOBAL_ID)] == [b"60", b"a1"]
    assert answer.get(CONTENT) == b"done" and answer.types.count(LOCAL_ID) == 1
    assert (station.count("renewed"), station.count("jobs"), station.count("lost_answers")) == (1, 1, 0)


def test_an_answer_without_a_number_is_that_of_the_newest_run_too(station):
    station.start()
    worker, plan = station.worker(), station.peer()
    plan.send(*run(b"5f"))
    job = worker.recv()
    owner = taken_over(station, taken_over(station, plan, b"60"), b"61")
    worker.answer(job, FAILED)
    answer = owner.recv()
    assert (answer.code, answer.get(LOCAL_ID)) == (FAILED, b"61")
    assert station.count("renewed") == 2


def test_a_job_that_waits_is_not_queued_twice(station):
    station.start()
    worker, plan = station.worker(credits=0), station.peer()
    plan.send(*run(b"5f"))
    started(plan, b"5f")
    owner = taken_over(station, plan, b"60")
    worker.ready()
    worker.ready()
    job = worker.recv()
    worker.answer(job, OK, (LOCAL_ID, job.get(LOCAL_ID)))
    answer = owner.recv()
    assert (answer.code, answer.get(LOCAL_ID)) == (OK, b"60")
    worker.settle()
    assert station.count("jobs") == 1


@pytest.mark.parametrize("other", [
    run(b"60", at=AT + 1), run(b"60", b"a1", (ARG, b"x")), run(b"60", command=b"open"),
    run(b"60", b"a2"), run(b"60" * 33)], ids=["time", "frame", "bytes", "plan", "long"])
def test_what_is_not_the_same_is_another_job(station, other):
    station.start()
    worker, plan = station.worker(jobs=2, credits=2), station.peer()
    plan.send(*run(b"5f"))
    worker.recv()
    plan.send(*other)
    assert worker.recv().sender == other[0]
    assert station.count("renewed") == 0


def test_a_job_that_has_ended_is_done_again(station):
    station.start()
    worker, plan = station.worker(jobs=2, credits=2), station.peer()
    for local_id in b"5f", b"60":
        plan.send(*run(local_id))
        started(plan, local_id)
        worker.answer(worker.recv(), FAILED)
        assert plan.recv().get(LOCAL_ID) == local_id
    assert station.count("renewed") == 0


def test_a_job_that_was_cancelled_is_not_the_new_run(station):
    """It timed out, say, and its worker still ends it."""
    station.start()
    worker, plan = station.worker(jobs=2, credits=2, cancel=True), station.peer()
    plan.send(*run(b"5f"))
    started(plan, b"5f")
    first = worker.recv()
    plan.send(b"*a1", *pack(CANCEL, (LOCAL_ID, b"5f")))
    assert worker.recv().code == CANCEL
    plan.send(*run(b"60"))
    started(plan, b"60")
    second = worker.recv()
    for job, local_id in (first, b"5f"), (second, b"60"):
        worker.answer(job, OK, (LOCAL_ID, local_id))
        assert plan.recv().get(LOCAL_ID) == local_id


def test_a_cancel_of_the_newest_run_reaches_the_worker_under_the_number_it_knows(station):
    station.start()
    worker, plan = station.worker(cancel=True), station.peer()
    plan.send(*run(b"5f"))
    job = worker.recv()
    owner = taken_over(station, plan, b"60")
    owner.send(b"*a1", *pack(CANCEL, (LOCAL_ID, b"5f")))      # that run is over
    owner.send(b"*a1", *pack(CANCEL, (LOCAL_ID, b"60")))
    told = worker.recv()
    assert (told.code, told.get(LOCAL_ID)) == (CANCEL, b"5f")
    worker.answer(job, FAILED, (LOCAL_ID, b"5f"))
    assert owner.recv().get(LOCAL_ID) == b"60"
    assert (station.count("cancels"), station.count("stray_cancels")) == (1, 1)


def test_a_worker_that_is_lost_fails_the_newest_run(station):
    station.start()
    worker, plan = station.worker(), station.peer()
    plan.send(*run(b"5f"))
    worker.recv()
    owner = taken_over(station, plan, b"60")
    worker.send(*pack(0x4C, (ARG, b"w")))       # LEFT
    answer = owner.recv()
    assert (answer.code, answer.get(LOCAL_ID)) == (FAILED, b"60")


def test_a_station_that_stops_renews_what_is_at_work(station):
    station.start(grace="1000")
    worker, plan = station.worker(), station.peer()
    plan.send(*run(b"5f"))
    job = worker.recv()
    station.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "event=stopping" in station.log(), "it stops")
    owner = taken_over(station, plan, b"60")
    worker.answer(job, OK, (LOCAL_ID, b"5f"))
    assert owner.recv().get(LOCAL_ID) == b"60"
    assert station.process.wait(WAIT_S) == 0


# -- results whose requester is gone, and several stations


def bound(station, endpoint):
    """The request socket of the station that owns the plans."""
    listener = station.context.socket(zmq.ROUTER)
    listener.linger = 0
    wait_until(lambda: binds(listener, endpoint), "the address is free")
    return listener


def binds(listener, endpoint):
    try:
        listener.bind(endpoint)
    except zmq.ZMQError:
        return False
    return True


def answered_to(listener):
    assert listener.poll(WAIT_S * 1000), "no result came"
    return Answer(listener.recv_multipart()[1:])


@pytest.mark.parametrize("first", [0, 1])
def test_results_go_to_the_station_that_is_there(station, first):
    endpoints = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    owner = bound(station, endpoints[first])
    station.start("--plan", ",".join(endpoints))
    worker, plan = station.worker(jobs=3, credits=3), station.peer()
    jobs = []
    for plan_id in b"a1", b"a2":
        plan.send(*a_run(plan_id))
        jobs.append(worker.recv())
        assert plan.recv().code == RUNING
    plan.socket.close()

    def reaches(listener):
        worker.answer(jobs[0], WAITING)
        worker.settle()
        return listener.poll(10)
    wait_until(lambda: reaches(owner), "zstationd has seen that the requester is gone")
    owner.close()
    other = bound(station, endpoints[1 - first])
    wait_until(lambda: reaches(other), "zstationd has found the other one")
    for job in jobs:
        worker.answer(job, OK)
    senders = []
    while len(senders) < 2:
        answer = answered_to(other)
        if answer.code == OK:
            senders.append(answer.sender)
    assert senders == [b"*a1", b"*a2"]
    assert station.count("lost_answers") == 0
    other.close()


def test_results_wait_for_a_station(station):
    endpoints = [f"tcp://127.0.0.1:{free_port()}" for _ in range(3)]
    station.start("--plan", ",".join(endpoints))
    worker, plan = station.worker(jobs=3, credits=3), station.peer()
    jobs = []
    for plan_id in b"a1", b"a2", b"a3":
        plan.send(*a_run(plan_id))
        jobs.append(worker.recv())
        assert plan.recv().code == RUNING
    plan.socket.close()
    while "answer.rerouted" not in station.log():
        worker.answer(jobs[0], WAITING)
        worker.settle()
    for n, job in enumerate(jobs):
        worker.answer(job, OK, (CONTENT, b"%d" % n))
    worker.settle()
    owner = bound(station, endpoints[2])
    results = []
    while len(results) < 3:
        answer = answered_to(owner)
        if answer.code == OK:
            results.append((answer.sender, answer.get(CONTENT)))
    assert results == [(b"*a1", b"0"), (b"*a2", b"1"), (b"*a3", b"2")]
    assert station.count("lost_answers") == 0
    owner.close()


def without_a_requester(station, count):
    """A worker's jobs, whose results go to --plan; nobody is there."""
    worker, plan = station.worker(jobs=count, credits=count), station.peer()
    jobs = []
    for n in range(count):
        plan.send(*a_run(b"a%x" % n))
        jobs.append(worker.recv())
        assert plan.recv().code == RUNING
    plan.socket.close()
    while "answer.rerouted" not in station.log():
        worker.answer(jobs[0], WAITING)
        worker.settle()
    return worker, jobs


def test_heartbeats_take_no_place_of_a_result_that_waits(station):
    endpoints = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    station.start("--plan", ",".join(endpoints))
    worker, (job,) = without_a_requester(station, 1)
    for _ in range(1100):
        worker.answer(job, WAITING)
    worker.answer(job, OK, (CONTENT, b"done"))
    worker.settle()
    owner = bound(station, endpoints[1])
    answer = answered_to(owner)
    assert (answer.code, answer.get(CONTENT)) == (OK, b"done")
    assert station.count("lost_answers") == 0
    owner.close()


def test_results_that_wait_are_bounded(station):
    """By 16 MiB of them."""
    endpoints = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    station.start("--plan", ",".join(endpoints))
    worker, jobs = without_a_requester(station, 7)
    for job in jobs:
        worker.answer(job, OK, *[(CONTENT, bytes(1 << 20))] * 3)
    worker.settle()
    owner = bound(station, endpoints[0])
    assert [answered_to(owner).sender for _ in range(5)] == [job.sender for job in jobs[:5]]
    assert station.count("lost_answers") == 2
    owner.close()


def test_a_list_is_checked_at_the_start(station):
    with pytest.raises(AssertionError, match="want tcp://HOST:PORT"):
        station.start("--plan", "tcp://127.0.0.1:7920,nowhere")
    assert station.process.wait(WAIT_S) == 2
