"""zstationd and `zplan work`, driven with raw frames from a second implementation of the wire."""

import os
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
import zmq

from faulttest import connected
from zplanprocs import free_port, wait_until
from zplantest import at_once
from zstationtest import (  # noqa: F401 station and work are fixtures
    ARG, ARGUMENT, Answer, BIN, BIN_TYPE, BYE, COMMAND, CONTENT, CONTEXT, FAILED, GLOBAL_ID,
    INVALID, JOIN, LEFT, LOCAL_ID, NONE, NOT_FIND, NOT_SUPPORT, NOT_WORKER, OK, PING, PITPAT, PLAN,
    PROXY, Peer, READY, REQUESTER, REQUEST_ID, RUNING, STATUS, TITLE, WAITING, WAIT_S, a_call,
    a_run, pack, station, work)


# -- the command line


def run_zstationd(*args):
    return subprocess.run([BIN / "zstationd", *args], capture_output=True, text=True, timeout=WAIT_S)


def test_help_teaches():
    done = run_zstationd("--help")
    assert done.returncode == 0 and "--worker-timeout" in done.stdout and "example" in done.stdout


@pytest.mark.parametrize("args, word", [
    (["--nmae", "x"], "--nmae"),
    (["--type", "api"], "--name"),
    (["--name", "a b", "--type", "api"], "--name"),
    (["--name", "x", "--type", "poll"], "--type"),
    (["--name", "x", "--type", "api", "--request", "ipc:///tmp/x"], "--workers"),
    (["--name", "x", "--type", "pub", "--request", "ipc:///tmp/x"], "--publish"),
    (["--name", "x", "--type", "vote", "--request", "ipc:///tmp/x"], "--workers"),
    (["--name", "x", "--type", "vote", "--request", "ipc:///tmp/x", "--workers", "ipc:///tmp/y",
      "--publish", "ipc:///tmp/z"], "--publish"),
    (["--worker-timeout", "soon"], "worker_timeout"),
    (["--log-level"], "--log-level"),
    (["--name", "x", "--type", "api", "--log-format", "xml"], "--log-format"),
    (["--insecure", "1"], "'1': no such option"),
])
def test_wrong_usage_is_2_and_names_the_option(args, word):
    done = run_zstationd(*args)
    assert done.returncode == 2 and word in done.stderr and done.stdout == ""


def test_it_leaves_no_core_file_and_gains_no_rights(station):
    """Both would have its keys and plans."""
    station.start()
    about = Path(f"/proc/{station.process.pid}")
    core = next(line for line in (about / "limits").read_text().splitlines() if line.startswith("Max core file size"))
    assert set(core.split()[4:6]) <= {"0", "1"} and "NoNewPrivs:\t1" in (about / "status").read_text()


@pytest.mark.parametrize("type_, which, other", [
    ("api", "request", "workers"), ("api", "workers", "request"), ("vote", "workers", "request"),
    ("pub", "publish", "request"), ("pub", "request", "publish")])
@pytest.mark.parametrize("host", ["0.0.0.0", "*", "192.0.2.1", "[::]"])
def test_without_curve_only_this_machine_is_served(type_, which, other, host):
    done = run_zstationd("--name", "x", "--type", type_, f"--{other}", "tcp://localhost:7930",
                         f"--{which}", f"tcp://{host}:7931")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"zstationd: --{which}: 'tcp://{host}:7931' is not loopback: set --curve and --allow, or "
        "--insecure (see zstationd --help)\n")


def test_with_insecure_any_address_is_taken(station):
    port = free_port()
    station.start("--request", f"tcp://0.0.0.0:{port}", "--insecure")
    station.peers.append(Peer(station.context, zmq.DEALER, f"tcp://127.0.0.1:{port}"))
    station.peers[-1].settle()


@pytest.mark.parametrize("endpoint, code", [
    ("tcp://127.0.0.1:99999", 2), ("inproc://x", 2), ("foo", 2), ("tcp://foo", 2), ("ipc:///no/such/dir/x", 1)])
def test_a_start_that_fails_is_1_and_2_when_the_endpoint_is_none(endpoint, code):
    done = run_zstationd("--name", "x", "--type", "api", "--request", endpoint, "--workers",
                         "ipc:///tmp/never")
    assert done.returncode == code and len(done.stderr.splitlines()) == 1 and endpoint in done.stderr
    assert code == 1 or "--request: " in done.stderr


def test_an_endpoint_of_plan_that_is_none():
    done = run_zstationd("--name", "x", "--type", "api", "--request", "ipc:///tmp/never", "--workers",
                         "ipc:///tmp/never2", "--plan", "tcp://127.0.0.1:7920,foo")
    assert done.returncode == 2 and "zstationd: --plan: 'foo': want tcp://" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(station, number):
    station.start()
    station.process.send_signal(signal.SIGHUP)
    station.process.send_signal(number)
    assert station.process.wait(WAIT_S) == 0


# -- requests


def test_ping_answers_each_envelope_in_its_kind(station):
    station.start()
    dealer = station.peer()
    ping = pack(PING, (REQUEST_ID, b"r1"), (REQUESTER, b"\0me"))
    for envelope, back in (([], None), ([b""], b""), ([b"\0\x7fcaller"], None), ([b"*7"], b"*7")):
        answer = dealer.ask(*envelope, *ping)
        assert (answer.code, answer.sender) == (OK, back)
        assert answer.get(REQUEST_ID) == b"r1" and answer.get(REQUESTER) == b"\0me"


@pytest.mark.parametrize("frames, code, word", [
    ([b"\x01\x00$\0", b"x"], INVALID, "no command"),
    ([b"\x00\x00\0"], INVALID, "no command"),
    ([b"\x02\x01$\0", b"x"], INVALID, "does not match"),
    ([b"\x01"], INVALID, "does not match"),
    ([b""], INVALID, "does not match"),
    ([b"", b""], INVALID, "does not match"),
    ([b"*"], INVALID, "does not match"),
    ([b"*1", b"\x03"], INVALID, "does not match"),
    ([b"\x02\x01$$\0", b"x", b"y"], INVALID, "COMMAND"),
    ([b"\x01\x01\0\0", b"x"], INVALID, "END"),
    (pack(NONE, (ARG, b"x")), INVALID, "COMMAND"),
    (pack(PROXY, (ARG, b"x")), INVALID, "COMMAND"),
    (pack(0x7F), NOT_SUPPORT, "7f"),
    (pack(JOIN, (ARG, b"w")), NOT_SUPPORT, "4a"),
    ([bytes([33, 1]) + b"%" * 33] + [b"x"] * 33, INVALID, "does not match"),
    ([b"x"] * 60, INVALID, ""),
    (pack(NONE, (COMMAND, b"x"), *[(ARG, b"x" * (1 << 20))] * 6), INVALID, ""),
])
def test_a_wrong_request_is_refused_and_the_station_lives(station, frames, code, word):
    station.start()
    dealer = station.peer()
    answer = dealer.ask(*frames)
    assert answer.code == code and word in answer.status
    assert answer.status.startswith("-invalid: " if code == INVALID else "-no support: ")
    dealer.settle()


@pytest.mark.parametrize("code", [0x80, FAILED, 0xFF])
def test_a_status_is_never_answered(station, code):
    station.start()
    dealer = station.peer()
    dealer.send(*pack(code, (COMMAND, b"x")))
    dealer.settle()
    assert station.count("status_dropped") == 1


def test_random_frames_do_no_harm(station):
    station.start()
    request, worker = station.peer(), station.peer(endpoint="workers")
    state = 12345
    for turn in range(400):
        frames = []
        for _ in range(1 + turn % 5):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            frames.append(state.to_bytes(4, "big")[:state % 5] + bytes([turn % 7, state % 256]))
        request.send(*frames)
        worker.send(*frames)
    for peer in (request, worker):
        peer.send(*pack(PING, (REQUEST_ID, b"last")))
        while peer.recv().get(REQUEST_ID) is None and peer is request:
            pass
    assert station.process.poll() is None


# -- workers


def test_heartbeats(station):
    station.start()
    peer = station.peer(endpoint="workers")
    assert peer.ask(*pack(PITPAT, (ARG, b"w"))).code == NOT_FIND
    assert peer.ask(*pack(READY, (ARG, b"w"))).code == NOT_FIND
    assert peer.ask(*pack(JOIN)).code == ARGUMENT
    assert peer.ask(*pack(JOIN, (ARG, b"no spaces"))).code == ARGUMENT
    for wrong in (b"", b"0", b"65", b"many", b"1\0", b"9" * 30):
        assert peer.ask(*pack(JOIN, (ARG, b"w"), (ARG, wrong))).code == ARGUMENT
    assert peer.ask(*pack(JOIN, (ARG, b"w"))).code == OK
    assert peer.ask(*pack(PITPAT, (ARG, b"w"))).code == OK
    assert peer.ask(*pack(READY, (ARG, b"w"), (ARG, b"2"))).code == ARGUMENT
    assert peer.ask(*pack(0x7F)).code == NOT_SUPPORT
    assert peer.ask(b"\x05\x01").code == INVALID
    assert peer.ask(*pack(LEFT, (ARG, b"w"))).code == BYE
    assert peer.ask(*pack(PITPAT, (ARG, b"w"))).code == NOT_FIND


def test_a_call_reaches_the_worker_byte_for_byte_and_comes_back(station):
    station.start()
    worker, client = station.worker(), station.peer()
    # Without END, and with a tag byte: both are allowed.
    desc = bytes([4, NONE]) + b"$%\x04>" + b"\xff"
    client.send(desc, b"sum", b"\0\xff", b"r9", b"\0who")
    job = worker.recv()
    assert job.sender.startswith(b"+") and len(job.sender) > 16
    assert [job.desc, *job.frames] == [desc, b"sum", b"\0\xff", b"r9", b"\0who"]
    worker.answer(job, WAITING)
    worker.answer(job, OK, (CONTENT, b"\0ok"))
    answer = client.recv()
    assert (answer.code, answer.sender, answer.get(CONTENT)) == (OK, None, b"\0ok")
    assert answer.get(REQUEST_ID) == b"r9" and answer.get(REQUESTER) == b"\0who"
    client.settle()  # the sign of life was not passed on


def test_mailboxes_are_never_the_same(station):
    station.start()
    worker, client = station.worker(), station.peer()
    seen = set()
    for _ in range(20):
        client.send(*a_call())
        job = worker.recv()
        seen.add(job.sender)
        worker.answer(job, OK)
        worker.ready()
        client.recv()
    assert len(seen) == 20


def test_a_req_client_gets_its_answer(station):
    station.start()
    worker, client = station.worker(), station.peer(zmq.REQ)
    client.send(*a_call())
    worker.answer(worker.recv(), OK, (CONTENT, b"4"))
    assert client.recv().get(CONTENT) == b"4"
    client.send(b"\x07")
    assert client.recv().code == INVALID


def test_a_call_with_a_caller_is_answered_without(station):
    station.start()
    worker, client = station.worker(), station.peer()
    client.send(b"\0\x1fcaller", *a_call())
    worker.answer(worker.recv(), OK)
    answer = client.recv()
    assert (answer.sender, answer.code) == (None, OK)


@pytest.mark.parametrize("identity", [None, b"\xff\xfe\x01\x02", b"*1", b"+1", b"x" * 255])
def test_any_identity_works_on_both_sides(station, identity):
    station.start()
    worker = station.worker(identity=identity)
    client = station.peer(identity=identity)
    client.send(*a_call())
    worker.answer(worker.recv(), OK, (CONTENT, b"4"))
    assert client.recv().get(CONTENT) == b"4"


def test_a_run_is_answered_runing_before_its_result(station):
    """B091: RUNING and WAITING come before the result."""
    station.start()
    worker, plan = station.worker(), station.peer()
    run = a_run(b"a1", (REQUEST_ID, b"r"), (REQUESTER, b"\0c"), (LOCAL_ID, b"theirs"))
    plan.send(*run)
    job = worker.recv()
    assert [job.sender, job.desc, *job.frames] == run
    worker.answer(job, WAITING, (ARG, b"half"))
    worker.answer(job, 0x23)
    worker.answer(job, FAILED, (STATUS, b"-failed: x"), (CONTENT, b"why"), (CONTENT, b"more"))
    answers = [plan.recv() for _ in range(4)]
    assert [x.code for x in answers] == [RUNING, WAITING, 0x23, FAILED]
    for x in answers:
        assert x.sender == b"*a1"
        assert [x.get(t) for t in (REQUEST_ID, REQUESTER, GLOBAL_ID, LOCAL_ID)] == [
            b"r", b"\0c", b"a1", b"5f"]
    assert answers[3].frames[:3] == [b"-failed: x", b"why", b"more"]
    assert answers[1].get(ARG) == b"half"


def test_what_the_worker_sends_is_not_sent_twice_nor_beyond_32_frames(station):
    station.start()
    worker, plan = station.worker(credits=1), station.peer()
    plan.send(*a_run(b"a1", (REQUEST_ID, b"r")))
    worker.answer(worker.recv(), OK, (LOCAL_ID, b"mine"), (REQUEST_ID, b"own"))
    assert plan.recv().code == RUNING
    answer = plan.recv()
    assert answer.frames == [b"mine", b"own", b"a1"]
    for given in (31, 32):
        worker.ready()
        plan.send(*a_run())
        worker.answer(worker.recv(), OK, *[(CONTENT, b"x")] * given)
        assert plan.recv().code == RUNING
        answer = plan.recv()
        assert len(answer.frames) == 32 and answer.get(LOCAL_ID) == (b"5f" if given < 32 else None)


def test_one_job_for_one_credit(station):
    station.start()
    worker, client = station.worker(credits=3), station.peer()
    for n in range(3):
        client.send(*a_call((REQUEST_ID, b"%d" % n)))
    client.settle()
    first = worker.recv()
    worker.settle()  # no second job, whatever it said before
    worker.answer(first, OK)
    assert client.recv().get(REQUEST_ID) == b"0"
    worker.settle()  # answered, but there is no credit
    worker.ready()
    second = worker.recv()
    assert second.get(REQUEST_ID) == b"1"
    worker.ready()  # a credit while it works is used afterwards
    worker.settle()
    worker.answer(second, OK)
    assert client.recv().get(REQUEST_ID) == b"1"
    assert worker.recv().get(REQUEST_ID) == b"2"


def test_as_many_jobs_at_once_as_were_asked_for(station):
    station.start()
    worker, client = station.worker(credits=5, jobs=3), station.peer()
    for n in range(5):
        client.send(*a_call((REQUEST_ID, b"%d" % n)))
    client.settle()
    jobs = [worker.recv() for _ in range(3)]
    worker.settle()  # three credits are as many as there can be
    assert [job.get(REQUEST_ID) for job in jobs] == [b"0", b"1", b"2"]
    for job in (jobs[1], jobs[2], jobs[0]):
        worker.answer(job, OK)
        assert client.recv().get(REQUEST_ID) == job.get(REQUEST_ID)
    worker.answer(jobs[1], OK)
    worker.settle()
    worker.ready()
    assert worker.recv().get(REQUEST_ID) == b"3"
    worker.settle()
    assert station.count("stray_answers") == 1


def test_credits_are_given_back(station):
    station.start()
    leaving, staying, client = station.worker(jobs=2, credits=2), station.worker(), station.peer()
    client.send(*a_call((REQUEST_ID, b"0")))
    job = leaving.recv()
    leaving.send(*pack(READY, (ARG, b"w"), (ARG, b"0")))
    leaving.settle()
    for n in (1, 2):
        client.send(*a_call((REQUEST_ID, b"%d" % n)))
        other = staying.recv()
        assert other.get(REQUEST_ID) == b"%d" % n
        staying.answer(other, OK)
        staying.ready()
        assert client.recv().get(REQUEST_ID) == b"%d" % n
    leaving.answer(job, OK)  # what it has it may still answer
    assert client.recv().get(REQUEST_ID) == b"0"


def test_two_runs_of_one_plan_in_the_same_hands(station):
    station.start()
    worker, plan = station.worker(jobs=3, credits=3), station.peer()
    jobs = []
    for local_id in (b"1", b"2", b"3"):
        plan.send(*a_run(b"a1", local_id=local_id))
        jobs.append(worker.recv())
        assert plan.recv().code == RUNING
    worker.answer(jobs[1], OK, (LOCAL_ID, b"2"))
    assert plan.recv().get(LOCAL_ID) == b"2"
    worker.answer(jobs[0], OK)  # without a number it is the oldest
    assert plan.recv().get(LOCAL_ID) == b"1"
    worker.answer(jobs[2], OK, (LOCAL_ID, b"3"))
    assert plan.recv().get(LOCAL_ID) == b"3"


def test_who_leaves_loses_all_of_its_jobs(station):
    station.start()
    worker, client = station.worker(jobs=64, credits=64), station.peer()
    for n in range(64):
        client.send(*a_call((REQUEST_ID, b"%d" % n)))
        assert worker.recv().get(REQUEST_ID) == b"%d" % n
    worker.send(*pack(LEFT, (ARG, b"w")))
    failed = [client.recv() for _ in range(64)]
    assert all(x.code == FAILED and "has left" in x.status for x in failed)
    assert [x.get(REQUEST_ID) for x in failed] == [b"%d" % n for n in range(64)]


def test_the_least_recently_used_worker_is_next(station):
    station.start()
    client = station.peer()
    workers = [station.worker(name) for name in (b"a", b"b", b"c")]
    jobs = []
    for worker in workers:
        client.send(*a_call())
        jobs.append(worker.recv())
    for at in (1, 2, 0):  # a becomes ready last, but was used first
        workers[at].answer(jobs[at], OK)
        workers[at].ready()
        workers[at].settle()
    for worker in workers:
        client.send(*a_call())
        assert worker.recv().get(COMMAND) == b"sum"


def test_without_a_worker_the_answer_is_not_worker(station):
    station.start()
    client = station.peer()
    answer = client.ask(*a_run())
    assert (answer.sender, answer.code, answer.get(LOCAL_ID)) == (b"*a1", NOT_WORKER, b"5f")
    assert client.ask(*a_call()).code == NOT_WORKER
    worker = station.worker()
    assert worker.ask(*pack(LEFT)).code == BYE
    assert client.ask(*a_call()).code == NOT_WORKER


def test_jobs_wait_in_a_bounded_queue_and_keep_their_order(station):
    station.start("--queue", "2")
    worker, plan = station.worker(credits=0), station.peer()
    assert plan.ask(*a_run(b"1")).code == RUNING
    assert plan.ask(*a_run(b"2")).code == RUNING
    answer = plan.ask(*a_run(b"3"))
    assert answer.code == NOT_WORKER and answer.status == "-not work: all workers are busy"
    for plan_id in (b"*1", b"*2"):
        worker.ready()
        job = worker.recv()
        assert job.sender == plan_id
        worker.answer(job, OK)
        answer = plan.recv()
        assert (answer.sender, answer.code) == (plan_id, OK)


def test_a_run_whose_deadline_is_past_is_not_run(station):
    station.start()
    worker, plan = station.worker(credits=1), station.peer()
    plan.send(*a_run(b"1", deadline=1))
    plan.send(*a_run(b"2", deadline=int(time.time()) + 3600))
    assert worker.recv().sender == b"*2"
    answer = plan.recv()
    assert (answer.sender, answer.code) == (b"*2", RUNING)
    assert station.count("late_runs") == 1
    assert "event=run.late" in station.log()


def test_a_deadline_that_passes_in_the_queue_counts(station):
    station.start()
    worker, plan = station.worker(credits=0), station.peer()
    deadline = int(time.time()) + 5
    assert plan.ask(*a_run(b"1", deadline=deadline)).code == RUNING
    while time.time() < deadline:  # its passing is the event
        worker.settle()
    worker.ready()
    worker.settle()  # and no job
    assert station.count("late_runs") == 1


def test_a_silent_worker_is_dropped_and_its_job_failed(station):
    station.start("--worker-timeout", "3000")
    worker, plan = station.worker(b"printer-1"), station.peer()
    plan.send(*a_run(b"1", (REQUEST_ID, b"r")))
    job = worker.recv()
    assert plan.recv().code == RUNING
    answer = plan.recv()
    assert (answer.code, answer.status) == (FAILED, "-failed: worker printer-1 is gone")
    assert answer.sender == b"*1" and answer.get(REQUEST_ID) == b"r" and answer.get(LOCAL_ID) == b"5f"
    worker.answer(job, OK)  # too late
    assert worker.ask(*pack(PITPAT)).code == NOT_FIND
    assert station.count("stray_answers") == 1


def test_what_waits_is_answered_when_the_last_worker_goes(station):
    station.start()
    worker, plan = station.worker(b"x"), station.peer()
    for plan_id in (b"1", b"2"):
        assert plan.ask(*a_run(plan_id)).code == RUNING
    assert worker.recv().sender == b"*1"
    assert worker.ask(*pack(LEFT)).code == BYE
    first, second = plan.recv(), plan.recv()
    assert (first.code, first.status) == (FAILED, "-failed: worker x has left")
    assert (second.sender, second.code) == (b"*2", NOT_WORKER)


def test_any_message_keeps_a_worker_alive(station):
    station.start("--worker-timeout", "3000")
    worker, client = station.worker(), station.peer()
    client.send(*a_call())
    job = worker.recv()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        worker.answer(job, WAITING)
        worker.poll(0.1)
    worker.answer(job, OK)
    assert client.recv().code == OK


def test_a_worker_whose_connection_is_gone_is_passed_over(station):
    station.start("--worker-timeout", "5000")
    client = station.peer()
    for name in (b"a", b"b"):
        station.worker(name).socket.close()
    third = station.worker(b"c")
    client.send(*a_call())
    while not third.poll(0.1):
        third.send(b"+none", *pack(OK))  # alive
        if client.poll(0):  # the job was sent before the station could know
            assert client.recv().status in ("-failed: worker a is gone", "-failed: worker b is gone")
            client.send(*a_call())
    third.answer(third.recv(), OK)
    assert client.recv().code == OK
    assert station.count("workers_gone") == 2


def test_a_worker_that_joins_anew_has_lost_its_job(station):
    station.start()
    worker, client = station.worker(b"x"), station.peer()
    client.send(*a_call())
    job = worker.recv()
    assert worker.ask(*pack(JOIN, (ARG, b"y"))).code == OK
    assert client.recv().status == "-failed: worker x has joined again"
    worker.answer(job, OK)
    worker.ready()
    client.send(*a_call())
    worker.answer(worker.recv(), OK)
    assert client.recv().code == OK
    assert station.count("stray_answers") == 1


def test_only_the_worker_with_the_job_can_answer_it(station):
    station.start()
    worker, other, client = station.worker(), station.worker(credits=0), station.peer()
    stranger = station.peer(endpoint="workers")
    client.send(*a_call())
    job = worker.recv()
    for thief in (other, stranger):
        thief.send(job.sender, *pack(OK, (CONTENT, b"forged")))
        thief.settle()
    worker.send(b"+other", *pack(OK, (CONTENT, b"wrong")))
    worker.answer(job, OK, (CONTENT, b"true"))
    worker.answer(job, OK, (CONTENT, b"again"))
    assert client.recv().get(CONTENT) == b"true"
    worker.settle()
    client.settle()
    assert station.count("stray_answers") == 4


def test_a_broken_answer_fails_the_job(station):
    station.start()
    worker, client = station.worker(b"x"), station.peer()
    client.send(*a_call())
    job = worker.recv()
    worker.send(job.sender, b"\x09\x01")
    assert client.recv().status == "-failed: worker x sent a malformed answer"
    assert worker.recv().code == INVALID


def orphaned(station, *options):
    """A worker, and its run, whose requester has gone."""
    station.start(*options)
    worker, plan = station.worker(), station.peer()
    plan.send(*a_run())
    job = worker.recv()
    assert plan.recv().code == RUNING
    plan.socket.close()
    return worker, job


def test_a_result_finds_the_plan_station_when_the_connection_is_gone(station):
    listener = station.context.socket(zmq.ROUTER)
    listener.linger = 0
    listener.bind(station.endpoint("plan"))
    worker, job = orphaned(station, "--plan", station.endpoint("plan"))
    codes = []
    while FAILED not in codes:
        # Signs of life until the station has seen that the connection is gone.
        worker.answer(job, WAITING if not codes else FAILED)
        worker.settle()
        if listener.poll(WAIT_S * 1000 if codes else 10):
            answer = Answer(listener.recv_multipart()[1:])
            assert answer.sender == b"*a1" and answer.get(LOCAL_ID) == b"5f"
            codes.append(answer.code)
    assert codes == [WAITING, FAILED]


def test_heartbeats_leave_the_place_of_results_while_the_plan_station_is_away(station):
    """More of them than a queue of libzmq has places."""
    worker, job = orphaned(station, "--plan", station.endpoint("plan"))
    for _ in range(11):
        for _ in range(100):
            worker.answer(job, WAITING)
        worker.settle()
    worker.answer(job, OK)
    worker.settle()
    listener = station.context.socket(zmq.ROUTER)
    listener.linger = 0
    listener.bind(station.endpoint("plan"))
    codes = []
    while OK not in codes:
        assert listener.poll(WAIT_S * 1000), codes
        codes.append(Answer(listener.recv_multipart()[1:]).code)
    assert len(codes) < 1000 and station.count("lost_answers") == 0


def test_without_a_plan_station_a_lost_result_is_counted(station):
    worker, job = orphaned(station)
    while "answer.lost" not in station.log():
        worker.answer(job, WAITING)
        worker.settle()
    worker.answer(job, OK)
    worker.settle()
    assert station.count("lost_answers") >= 2


def test_at_the_end_every_job_is_answered(station):
    station.start()
    worker, plan = station.worker(b"x"), station.peer()
    for plan_id in (b"1", b"2"):
        assert plan.ask(*a_run(plan_id)).code == RUNING
    worker.recv()
    station.stop()
    assert {(x.sender, x.code) for x in (plan.recv(), plan.recv())} == {
        (b"*1", FAILED), (b"*2", NOT_WORKER)}


# -- pub


def subscribe(station):
    """A subscriber whose connection stands, and a requester."""
    subscriber, client = station.peer(zmq.SUB, "publish"), station.peer()
    while not subscriber.poll(0.05):
        assert client.ask(*pack(NONE, (TITLE, b"probe"))).code == OK
    while subscriber.poll(0):
        subscriber.raw()
    client.settle()
    return subscriber, client


def test_pub_publishes_calls_and_runs_as_they_came(station):
    station.start(type_="pub")
    subscriber, client = subscribe(station)
    desc = bytes([3, NONE]) + b"*T\x04" + b"\xff"
    answer = client.ask(desc, b"News", b"\0body", b"r1")
    assert (answer.code, answer.sender, answer.get(REQUEST_ID)) == (OK, None, b"r1")
    run = [b"*a1", *pack(PROXY, (TITLE, b"Run"), (LOCAL_ID, b"5f"), (GLOBAL_ID, b"a1"))]
    answer = client.ask(*run)
    assert (answer.code, answer.sender, answer.get(LOCAL_ID)) == (OK, b"*a1", b"5f")
    seen = [subscriber.raw()]
    while seen[-1][0] != b"Run":
        seen.append(subscriber.raw())
    assert [x for x in seen if x[0] != b"probe"] == [
        [b"News", desc, b"News", b"\0body", b"r1"], [b"Run", *run[1:]]]


def test_pub_refuses_what_it_cannot_publish(station):
    station.start(type_="pub")
    client = station.peer()
    answer = client.ask(b"*a1", *pack(PROXY, (COMMAND, b"x"), (LOCAL_ID, b"5f")))
    assert (answer.code, answer.sender, answer.get(LOCAL_ID)) == (INVALID, b"*a1", b"5f")
    assert answer.status == "-invalid: PUB_TITLE: is missing"
    assert client.ask(*pack(0x02, (TITLE, b"x"))).code == NOT_SUPPORT
    client.send(*pack(FAILED, (TITLE, b"x")))
    client.settle()


# -- the end


def told_to_stop(station):
    station.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "event=stopping" in station.log(), "it is about to stop")


def test_a_stop_waits_for_what_is_in_hand_and_takes_nothing_more(station):
    station.start(grace="1000")
    worker, plan, client = station.worker(), station.peer(), station.peer()
    plan.send(*a_run(b"a1"))
    job = worker.recv()
    client.send(*a_run(b"a2"))      # it waits for the worker
    assert [plan.recv().code, client.recv().code] == [RUNING, RUNING]
    told_to_stop(station)
    answer = client.recv()      # nobody had begun with it
    assert (answer.sender, answer.code) == (b"*a2", NOT_WORKER)
    assert answer.status.endswith(": the station is stopped")
    other = station.worker(b"other")    # a credit changes nothing
    for frames in (a_run(b"a3"), a_call()):
        answer = client.ask(*frames)
        assert answer.code == NOT_WORKER and answer.status.endswith(": the station is stopped")
    worker.ready()
    worker.settle()     # no job
    other.settle()
    worker.answer(job, WAITING)
    assert plan.recv().code == WAITING
    worker.answer(job, OK, (CONTENT, b"done"))
    answer = plan.recv()
    assert (answer.sender, answer.code, answer.get(CONTENT)) == (b"*a1", OK, b"done")
    assert station.process.wait(WAIT_S) == 0


def test_a_stop_waits_for_a_command(station, work):
    station.start(grace="1000")
    started = station.folder / "started"
    os.mkfifo(started)
    work(f"echo > {started}; sleep 2; echo done")
    plan = station.peer()
    assert plan.ask(*a_run()).code == RUNING
    started.read_text()
    told_to_stop(station)
    codes, answer = recv_result(plan)
    assert (codes[-1], answer.get(CONTENT)) == (OK, b"done\n")
    assert station.process.wait(WAIT_S) == 0


def test_a_restart_makes_no_run_twice(make_rig, station, work):
    """At a real plan proxy station."""
    rig = make_rig("--station", f"jobs=api@{station.endpoint('request')}")
    station.start("--plan", rig.ipc("q"), grace="1000")
    begun, started, fifo = (station.folder / name for name in ("begun", "started", "go"))
    os.mkfifo(started)
    os.mkfifo(fifo)
    work(f"echo >> {begun}; echo > {started}; cat {fifo}")
    results = rig.subscribe(b"once")
    connected(rig)      # it is tried once a second: a plan that is due before has an outcome of its own
    ident = rig.client.added({**at_once(), "description": "once"}, head=[(COMMAND, b"close")])
    started.read_text()
    told_to_stop(station)
    fifo.write_text("done")
    assert results.recv().code == OK
    assert station.process.wait(WAIT_S) == 0
    station.start("--plan", rig.ipc("q"))
    rig.gone(ident)
    assert begun.read_text() == "\n"


@pytest.mark.parametrize("grace", ["1", "1000", None])
def test_a_stop_does_not_wait_for_longer_than_its_time_or_a_second_signal(station, grace):
    station.start(grace=grace)
    worker, plan = station.worker(), station.peer()
    assert plan.ask(*a_run()).code == RUNING
    worker.recv()
    told_to_stop(station)
    assert f"event=stopping grace_ms={int(grace or 10) * 1000}\n" in station.log()
    if grace != "1":
        station.process.send_signal(signal.SIGTERM)
    answer = plan.recv()
    assert (answer.code, answer.status) == (
        FAILED, "-failed: worker w is gone: the station is stopped")
    assert station.process.wait(WAIT_S) == 0


@pytest.mark.parametrize("how", ["leaves", "is silent"])
def test_a_stop_does_not_wait_for_a_worker_that_is_gone(station, how):
    station.start("--worker-timeout", "3000", grace="1000")
    worker, plan = station.worker(), station.peer()
    assert plan.ask(*a_run()).code == RUNING
    worker.recv()
    told_to_stop(station)
    if how == "leaves":
        worker.send(*pack(LEFT, (ARG, b"w")))
    assert plan.recv().code == FAILED
    assert station.process.wait(WAIT_S) == 0


@pytest.mark.parametrize("type_", ["api", "pub", "vote"])
def test_a_stop_with_nothing_in_hand_waits_for_nothing(station, type_):
    station.start(type_=type_, grace="1000")
    if type_ != "pub":
        station.worker()
    station.process.send_signal(signal.SIGTERM)
    assert station.process.wait(WAIT_S) == 0


# -- zplan work


def recv_result(plan):
    """The run's statuses up to its result, and the result."""
    codes = []
    while True:
        answer = plan.recv()
        codes.append(answer.code)
        if answer.code not in (RUNING, WAITING):
            return codes, answer


def test_work_gives_the_command_its_job_and_sends_its_output(station, work):
    station.start()
    work('cat; printf "|%s|%s|" "$1" "$2"; env | grep -E "^ZPLAN_(COMMAND|CONTEXT|EXEC|PLAN|TITLE)" | sort', env={"ZPLAN_CONTEXT": "old"})
    plan = station.peer()
    plan.send(*a_run(b"a1", (ARG, b"in\n"), (ARG, b"no"), (CONTENT, b"no")))
    codes, answer = recv_result(plan)
    assert codes == [RUNING, OK] and STATUS not in answer.types
    head, _, env = answer.get(CONTENT).decode().rpartition("|")
    assert head == "in\n|one two|$x"
    assert env.split("\n")[:-1] == ["ZPLAN_COMMAND=close", "ZPLAN_EXEC_ID=5f", "ZPLAN_PLAN_ID=a1",
                                    "ZPLAN_PLAN_TIME=1700000000", "ZPLAN_TITLE=Title"]
    assert answer.get(LOCAL_ID) == b"5f" and answer.sender == b"*a1"


def test_work_takes_one_job_after_another_calls_too(station, work):
    station.start()
    work("cat; printf %s \"$ZPLAN_CONTEXT$ZPLAN_PLAN_ID\"")
    client = station.peer()
    for n in range(5):
        text = b"%d" % n
        answer = client.ask(*a_call((CONTENT, text), (CONTEXT, b"c")))
        assert (answer.code, answer.get(CONTENT)) == (OK, text + b"c")


@pytest.mark.parametrize("context, in_environment", [
    (b"", True), (b"c", True), (b"a\nb\xff", True), (b"x" * (128 * 1024 - 15), True),
    (b"x" * (128 * 1024 - 14), False), (b"y" * 500000, False), (b"a\0b", False)],
    ids=["empty", "short", "bytes", "longest", "longer", "long", "NUL"])
def test_work_gives_a_context_of_any_length(station, work, context, in_environment):
    """At a descriptor, which may be read again; where it can, in the environment as well."""
    station.start()
    work('cat <&$ZPLAN_CONTEXT_FD; cat /dev/fd/$ZPLAN_CONTEXT_FD; printf "|%s|" "$ZPLAN_CONTEXT"; '
         'set | grep -c ^ZPLAN_CONTEXT=; ls -x /proc/self/fd | tr -s " "',
         env={"ZPLAN_CONTEXT": "old", "ZPLAN_CONTEXT_FD": "77"})
    answer = station.peer().ask(*a_call((CONTEXT, context)))
    assert answer.code == OK, answer.status
    content = answer.get(CONTENT if CONTENT in answer.types else BIN_TYPE)
    twice, _, rest = content.partition(b"|")
    assert twice == 2 * context
    text, _, seen = rest.rpartition(b"|")
    assert text == (context if in_environment else b"")
    is_set, descriptors = seen.decode().splitlines()
    assert is_set == str(int(in_environment))
    assert [int(fd) for fd in descriptors.split()][:5] == [0, 1, 2, 3, 4]


def test_work_without_a_context(station, work):
    station.start()
    work('echo "${ZPLAN_CONTEXT-none} ${ZPLAN_CONTEXT_FD-none}"; [ -e /proc/self/fd/4 ] || echo shut',
         env={"ZPLAN_CONTEXT": "old", "ZPLAN_CONTEXT_FD": "77"})
    answer = station.peer().ask(*a_call())
    assert answer.get(CONTENT) == b"none none\nshut\n"


@pytest.mark.parametrize("script, status, content", [
    ("echo out; printf why >&2; exit 3", "-failed: exit 3: why", b"why"),
    ("printf 'first\\n \\344\\033 the last: \u00e4 \\r\\n\\n' >&2; exit 1",
     "-failed: exit 1: ?? the last: \u00e4", None),
    ("printf 'killed\\n' >&2; kill -9 $$", "-failed: killed by signal 9: killed", b"killed\n"),
    ("printf %500s x | tr ' ' y >&2; exit 2", "-failed: exit 2: " + "y" * 191, None),
    ("kill -9 $$", "-failed: killed by signal 9", b""),
])
def test_work_tells_how_a_command_failed(station, work, script, status, content):
    station.start()
    work(script)
    answer = station.peer().ask(*a_call())
    assert (answer.code, answer.status) == (FAILED, status)
    assert content is None or answer.get(CONTENT) == content


def test_work_sends_bytes_as_bin_and_cuts_what_is_too_much(station, work):
    station.start()
    work('case $ZPLAN_CONTEXT in bin) printf "\\377x";; big) yes "$(cat)" | head -c 3000000;; esac')
    client = station.peer()
    answer = client.ask(*a_call((CONTEXT, b"bin")))
    assert (answer.code, answer.get(BIN_TYPE)) == (OK, b"\xffx")
    answer = client.ask(*a_call((CONTEXT, b"big"), (ARG, "ä€".encode())))
    content = answer.get(CONTENT)  # still text: no character is cut in two
    assert answer.code == OK and "cut" in answer.status and answer.status.startswith("+ok: ")
    assert (1 << 20) - 8192 < len(content) < 1 << 20 and content.decode().startswith("ä€\nä€")


def test_work_is_not_stopped_by_a_command_that_reads_nothing(station, work):
    station.start()
    work("exec 0<&-; echo done")
    answer = station.peer().ask(*a_call((ARG, b"x" * 900000)))
    assert (answer.code, answer.get(CONTENT)) == (OK, b"done\n")


def test_work_does_not_wait_for_a_grandchild_that_keeps_the_pipes(station, work):
    station.start()
    work("echo $$; sleep 1000 & echo started")
    answer = station.peer().ask(*a_call())
    assert answer.code == OK and answer.get(CONTENT).endswith(b"started\n")
    os.killpg(int(answer.get(CONTENT).split()[0]), signal.SIGKILL)


def test_work_says_waiting_while_the_command_runs(station, work):
    station.start("--worker-timeout", "5000")
    fifo = station.folder / "go"
    os.mkfifo(fifo)
    work(f"cat {fifo}")
    plan = station.peer()
    assert plan.ask(*a_run()).code == RUNING
    for _ in range(7):
        assert plan.recv().code == WAITING
    fifo.write_text("at last")
    _, answer = recv_result(plan)
    assert (answer.code, answer.get(CONTENT)) == (OK, b"at last")


def test_work_tells_that_a_command_cannot_be_started(station, work):
    station.start()
    one = work("")
    next(station.folder.glob("script*")).unlink()
    answer = station.peer().ask(*a_call())
    assert answer.code == FAILED and "cannot start" in answer.status
    assert "No such file" in answer.status
    answer = station.peer().ask(*pack(NONE, (COMMAND, b"a\0b")))
    assert answer.code == FAILED and "ZPLAN_COMMAND: a NUL" in answer.status
    assert one.process.poll() is None


@pytest.mark.parametrize("script, code", [("exit 0", 0), ("exit 1", 1)])
def test_work_once_ends_after_one_job(station, work, script, code):
    station.start()
    one = work(script, "--once")
    client = station.peer()
    assert client.ask(*a_call()).code == (OK if code == 0 else FAILED)
    assert one.process.wait(WAIT_S) == code
    assert client.ask(*a_call()).code == NOT_WORKER


def living(group):
    """The processes of a group, those apart that nobody has reaped yet."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state not in "ZX":
            found.append(path)
    return found


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_work_ends_the_command_and_leaves_when_it_is_stopped(station, work, trap):
    station.start()
    started = station.folder / "started"
    os.mkfifo(started)
    one = work(f"{trap}echo $$ > {started}; while :; do sleep 1; done")
    client = station.peer()
    client.send(*a_call())
    group = int(started.read_text())
    one.process.terminate()
    answer = client.recv()
    assert (answer.code, answer.status) == (FAILED, "-failed: worker is stopped")
    assert one.process.wait(WAIT_S) == 0
    assert living(group) == []
    assert client.ask(*a_call()).code == NOT_WORKER


def test_work_runs_as_many_commands_as_it_may_at_once(station, work):
    station.start()
    for name in ("started", "go0", "go1", "go2", "go3"):
        os.mkfifo(station.folder / name)
    work(f"n=$(cat); echo $n > {station.folder}/started; cat {station.folder}/go$n", "--jobs", "3")
    client = station.peer()
    with open(os.open(station.folder / "started", os.O_RDWR), "rb", buffering=0) as started:
        def begun():
            ready, _, _ = select.select([started], [], [], WAIT_S)
            assert ready
            return started.read(2)[:1]
        for n in range(4):
            client.send(*a_call((ARG, b"%d" % n)))
        assert {begun() for _ in range(3)} == {b"0", b"1", b"2"}
        client.settle()
        assert not select.select([started], [], [], 0)[0]       # no hand is free for the fourth
        for n in (2, 3, 0, 1):      # the fourth has the hand of the third
            (station.folder / f"go{n}").write_text(str(n))
            assert client.recv().get(CONTENT) == b"%d" % n
            assert n != 2 or begun() == b"3"


def test_work_gives_commands_time_to_end(station, work):
    station.start()
    started, fifo = station.folder / "started", station.folder / "go"
    os.mkfifo(started)
    os.mkfifo(fifo)
    one = work(f"echo > {started}; cat {fifo}", grace="1000")
    client = station.peer()
    client.send(*a_call())
    started.read_text()
    one.process.terminate()
    other = station.worker(b"other")    # what comes now is not for the one that leaves
    client.send(*a_call((CONTEXT, b"other")))
    job = other.recv()
    other.answer(job, OK)
    assert job.get(CONTEXT) == b"other" and client.recv().code == OK
    fifo.write_text("at last")
    answer = client.recv()
    assert (answer.code, answer.get(CONTENT)) == (OK, b"at last")
    assert one.process.wait(WAIT_S) == 0


@pytest.mark.parametrize("grace", ["1", "1000", None])
def test_work_ends_commands_when_their_time_is_over_or_at_a_second_signal(station, work, grace):
    station.start()
    started = station.folder / "started"
    os.mkfifo(started)
    one = work(f"echo $$ > {started}; exec sleep 1000", grace=grace)
    client = station.peer()
    client.send(*a_call())
    group = int(started.read_text())
    one.process.terminate()
    assert one.process.stderr.readline() == (
        f"zplan work: no more jobs; commands still running: 1, which have {grace or 10} s to end; "
        "a second signal ends them now\n")
    if grace != "1":
        def ended():    # two signals that are pending together are one
            one.process.terminate()
            return client.poll(0.05)
        wait_until(ended, "the second signal ends it")
    answer = client.recv()
    assert (answer.code, answer.status) == (FAILED, "-failed: worker is stopped")
    assert one.process.wait(WAIT_S) == 0 and living(group) == []


@pytest.mark.parametrize("line, words", [
    ("40 copying", "40 % copying"), ("40 % copying", "40 % copying"), ("40% copying", "40 % copying"),
    ("7", "7 %"), ("copying", "copying"), ("101 files", "101 files"), ("3rd file", "3rd file"),
    ("early\\n50 late", "50 % late"), ("x" * 9000, "x" * 256),
])
def test_work_tells_the_progress_of_its_command(station, work, line, words):
    station.start()
    fifo = station.folder / "go"
    os.mkfifo(fifo)
    work(f'printf "%b" "{line}\\nnot a line" >&$ZPLAN_PROGRESS_FD; cat {fifo}')
    plan = station.peer()
    assert plan.ask(*a_run()).code == RUNING
    for _ in range(2):      # once as it is told, and then with each sign of life
        answer = plan.recv()
        assert (answer.code, answer.status) == (WAITING, words)
    fifo.write_text("done")
    codes, answer = recv_result(plan)
    assert (codes[-1], answer.get(CONTENT)) == (OK, b"done")


def test_work_gives_the_command_only_its_own_descriptors(station, work):
    station.start()
    work("ls /proc/self/fd | wc -l; grep -h Sig[BI] /proc/self/status")
    lines = station.peer().ask(*a_call()).get(CONTENT).decode().split()
    assert lines[0] == "5"  # with that for its progress, and the one that ls has open
    assert all(int(mask, 16) == 0 for mask in (lines[2], lines[4])), lines


def test_work_joins_again_when_the_station_comes_back(station, work):
    station.start()
    one = work("echo ok")
    station.process.kill()
    station.process.wait()
    station.start()
    assert "no longer joined" in one.process.stderr.readline()
    one.joined()
    assert station.peer().ask(*a_call()).get(CONTENT) == b"ok\n"


@pytest.mark.parametrize("args, word", [
    (["--station", "ipc:///tmp/x"], "command"),
    (["--station", "ipc:///tmp/x", "--pull", "jobs", "--", "true"], "--pull"),
    (["--station", "nowhere", "--", "true"], "nowhere"),
    (["--station", "ipc:///tmp/x", "--name", "a b", "--", "true"], "a b"),
    (["--wat", "--", "true"], "--wat"),
    (["--station", "ipc:///tmp/x", "--jobs", "0", "--", "true"], "--jobs"),
    (["--station", "ipc:///tmp/x", "--jobs", "65", "--", "true"], "--jobs"),
    (["--station", "ipc:///tmp/x", "--jobs", "2", "--once", "--", "true"], "--once"),
    (["--station", "ipc:///tmp/x", "--grace", "-1", "--", "true"], "--grace"),
    (["--station", "ipc:///tmp/x", "--run-timeout", "0", "--", "true"], "--run-timeout"),
])
def test_work_wrong_usage_is_2(args, word):
    done = subprocess.run([BIN / "zplan", "work", *args], capture_output=True, text=True,
                          timeout=WAIT_S)
    assert done.returncode == 2 and word in done.stderr
