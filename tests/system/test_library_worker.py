"""libzplan's half for workers: small programs that know nothing but its headers, at a real zstationd."""
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
import zmq

from test_library import BUILD, Installation, PROGRAMS, REPO, WAIT, installed, run  # noqa: F401
from zplanprocs import DIES_WITH_PARENT, ZPLAND, wait_until
from zplantest import at_once
from zstationtest import (  # noqa: F401 station and work are fixtures
    ARG, Answer, BYE, CANCEL, CONTENT, FAILED, JOIN, LEFT, LOCAL_ID, NOT_FIND, NOT_SUPPORT, NOT_WORKER, OK, PITPAT,
    PROXY, READY, REQUEST_ID, RUNING, STATUS, WAITING, a_run, pack, station, work)

NONE, COMMAND = 1, ord("$")
ZPLAN = os.path.join(os.path.dirname(ZPLAND), "zplan")


class Program:
    """A program with orders in and lines out."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen([*DIES_WITH_PARENT, *map(str, command)], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, **(env or {})})

    def order(self, words):
        self.process.stdin.write(words + "\n")

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        """The end of its input ends it; nothing may be said on stderr."""
        self.process.stdin.close()
        out, err = self.process.stdout.read(), self.process.stderr.read()
        assert (self.process.wait(WAIT), err) == (0, ""), err
        return out.split("\n")[:-1]


@pytest.fixture
def program(installed, station):
    """Starts tests/library/worker.c: (credit, threads)."""
    started = []

    def start(credit=1, threads=1, command=None, **options):
        command = command or [installed.program("worker")]
        started.append(Program(*command, station.endpoint("workers"), credit, threads, **options))
        assert started[-1].line() == "joined", started[-1].process.stderr.read()
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait(WAIT)
        said = "" if one.process.stderr.closed else one.process.stderr.read()
        for pipe in (one.process.stdin, one.process.stdout, one.process.stderr):
            pipe.close()
        assert "Sanitizer" not in said, said


def call(command, *more):
    return pack(NONE, (COMMAND, command), *more)


def test_jobs_are_done_at_once(program, station):
    """Each waits for all others."""
    station.start()
    one = program(8, 8)
    client = station.peer()
    for turn in range(2):
        for n in range(8):
            client.send(*call(b"meet", (REQUEST_ID, b"%d" % n)))
        answers = [client.recv() for _ in range(8)]
        assert all((x.code, x.get(CONTENT)) == (OK, b"met") for x in answers)
        assert sorted(x.get(REQUEST_ID) for x in answers) == [b"%d" % n for n in range(8)]
    assert one.end() == ["destroyed"]


def test_a_command_without_a_handler(program, station):
    station.start()
    one = program()
    answer = station.peer().ask(*call(b"dance"))
    assert (answer.code, answer.status) == (
        NOT_SUPPORT, "-no support: no handler for the command 'dance'")
    assert one.end() == ["destroyed"]


@pytest.mark.parametrize("argument, code, words", [
    (b"told", FAILED, "-failed: as it was told"),
    (b"silent", FAILED, ""),
    (b"large", FAILED, "-failed: the handler's answer is not valid, or too large"),
    (b"type", FAILED, "-failed: the handler's answer is not valid, or too large"),
    (b"largest", OK, ""),
])
def test_answers_that_are_none(program, station, argument, code, words):
    station.start()
    one = program()
    client = station.peer()
    for _ in range(2):
        answer = client.ask(*call(b"wrong", (ARG, argument)))
        assert (answer.code, answer.status) == (code, words)
    assert one.end() == ["destroyed"]


def test_an_answer_from_another_thread(program, station):
    """B091: The handler has returned before there is a result."""
    station.start()
    one = program()
    client = station.peer()
    client.send(*call(b"keep"))
    assert one.line() == "kept"
    one.order("answer")
    answer = client.recv()
    assert (answer.code, answer.status) == (OK, "+ok: from elsewhere")
    assert one.line() == "answered"
    assert one.end() == ["destroyed"]


def test_who_leaves_ends_what_is_in_hand_and_takes_nothing_new(program, station):
    station.start()
    one = program(64, 1)
    client = station.peer()
    client.send(*call(b"gate"))
    assert one.line() == "at the gate"
    other = station.worker(b"other")
    one.order("leave")
    assert one.line() == "leaving"
    # While both have a credit they take turns: two jobs in a row for one tell that the other has none.
    refused = in_a_row = 0
    while in_a_row < 2:
        client.send(*call(b"any"))
        wait_until(lambda: client.poll(0) or other.poll(0), "one of the workers has got the job")
        if client.poll(0):      # the station had not heard of it yet
            answer = client.recv()
            assert (answer.code, answer.status) == (NOT_WORKER, "-not work: the worker leaves")
            refused += 1
            in_a_row = 0
            continue
        other.answer(other.recv(), OK)
        other.ready()
        assert client.recv().code == OK
        in_a_row += 1
    assert refused < 63     # it gave its credits back
    one.order("open")
    assert client.recv().code == OK
    assert one.end() == ["destroyed"]


def test_destroyed_with_jobs_in_hand(program, station):
    """What was taken has failed; what nobody had taken was not begun."""
    station.start()
    one = program(3, 0)     # no thread runs the handlers
    client = station.peer()
    for n in range(3):
        client.send(*a_run(b"a%d" % n, local_id=b"%d" % n))
    one.order("take")
    assert one.line() == "taken"
    heard = {}
    while len(heard) < 3:   # it says of all of them that it has them
        answer = client.recv()
        if answer.code == WAITING:
            heard[answer.sender] = answer
    assert one.end() == ["destroyed"]
    ends = []
    while len(ends) < 3:
        answer = client.recv()
        if answer.code != WAITING:
            ends.append((answer.sender, answer.code, answer.status))
    assert ends == [(b"*a1", NOT_WORKER, "-not work: the worker has left"),
                    (b"*a2", NOT_WORKER, "-not work: the worker has left"),
                    (b"*a0", FAILED, "-failed: worker tested has left")]


def test_a_station_that_comes_back(program, station):
    """What was in hand is lost and the worker knows; it joins again by itself."""
    station.start()
    one = program(2, 2)
    station.peer().send(*call(b"gate"))
    assert one.line() == "at the gate"
    station.process.kill()
    station.process.wait()
    station.start()
    one.order("join")
    assert one.line() == "joined"
    client = station.peer()
    client.send(*call(b"gate"))     # the other hand is free
    assert one.line() == "at the gate"
    one.order("open")
    one.order("open")
    assert one.line() == "lost" and client.recv().code == OK
    client.send(*call(b"meet"))
    client.send(*call(b"meet"))     # both are
    assert [client.recv().code for _ in range(2)] == [OK, OK]
    assert one.end() == ["destroyed"]
    assert station.count("stray_answers") == 0


def test_progress_is_told_now_and_then_and_the_last_words_count(program, station):
    """B114: A function of the library reports the progress of a run."""
    station.start()
    one = program()
    plan = station.peer()
    plan.send(*a_run(b"a1", command=b"chatter"))
    assert plan.recv().code == RUNING
    told = []
    while not told or not told[-1].startswith("x"):
        answer = plan.recv()
        assert answer.code == WAITING
        told += [answer.status] if answer.status else []
    assert told[-1] == "x" * 254
    assert all(re.fullmatch(r"\d+ %", words) for words in told[:-1])
    assert len(told) < 100      # of 100001
    assert plan.recv().status == told[-1]   # each sign of life has it
    one.order("open")
    assert one.end() == ["destroyed"]


# -- at a station played by the test


class Workers:
    """A workers' port: a ROUTER with one worker."""

    def __init__(self, folder):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(WAIT * 1000)
        self.endpoint = f"ipc://{folder}/port"
        self.socket.bind(self.endpoint)

    def close(self):
        self.context.destroy(linger=0)

    def hear(self, code, mailbox=None):
        """The next message with this code; those of before are passed over."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            self.peer, *frames = self.socket.recv_multipart()
            answer = Answer(frames)
            if answer.code == code:
                assert answer.sender == mailbox
                return answer
            if answer.code == PITPAT:   # or it would connect anew
                self.say(*pack(OK))
        raise AssertionError(f"not heard: {code:#x}")

    def welcome(self, until):
        """Let who asks join, and answer its signs of life, until this file is readable."""
        end = time.monotonic() + WAIT
        while not select.select([until], [], [], 0)[0]:
            assert time.monotonic() < end
            if self.socket.poll(50):
                self.peer, *frames = self.socket.recv_multipart()
                if Answer(frames).code in (JOIN, PITPAT):
                    self.say(*pack(OK))

    def say(self, *frames):
        self.socket.send_multipart([self.peer, *frames])


@pytest.fixture
def port():
    folder = tempfile.mkdtemp(prefix="zsw", dir="/tmp")     # an ipc path must be short
    made = Workers(folder)
    yield made
    made.close()
    shutil.rmtree(folder)


def cancel(*pairs):
    return pack(CANCEL, *pairs)


def test_a_cancelled_job(program, station):
    """Through a real target: told, answered by its handler, and the hand is free for the next."""
    station.start()
    one = program()
    plan = station.peer()
    for turn in range(3):
        assert plan.ask(*a_run(b"a1", command=b"obey")).code == RUNING
        assert one.line() == "at it"
        plan.send(b"*a1", *cancel((STATUS, b"by ann"), (LOCAL_ID, b"5f")))
        plan.send(b"*a1", *cancel((LOCAL_ID, b"5f")))       # one too many
        assert one.line() == "cancelled: by ann"
        answer = plan.recv()
        while answer.code == WAITING:
            answer = plan.recv()
        assert (answer.code, answer.status) == (FAILED, "-failed: stopped")
    assert one.end() == ["destroyed"]


def test_a_drained_worker_ends_what_it_has(program, station):
    station.start()
    one = program(2, 2)
    client = station.peer()
    one.order("drained")
    assert one.line() == "not drained"
    client.send(*call(b"gate"))
    assert one.line() == "at the gate"
    assert station.peer().ask(*call(b"drain", (ARG, b"tested"))).code == OK
    assert station.peer().ask(*call(b"any")).code == NOT_WORKER
    one.order("open")
    assert client.recv().code == OK
    def drained():
        one.order("drained")
        return one.line() == "drained"
    wait_until(drained, "it has heard")
    assert one.end() == ["destroyed"]       # each thread's zplan_worker_run has returned
    wait_until(lambda: 'worker=tested what="has left"' in station.log(), "it has said LEFT")


def test_what_is_cancelled_at_a_worker(installed, port):
    one = Program(installed.program("worker"), port.endpoint, 4, 1)
    port.hear(JOIN)
    port.say(*pack(OK))
    assert one.line() == "joined"
    for _ in range(4):
        port.hear(READY)
    for frames in ([b"*a1", *cancel()], [b"+x", *cancel((LOCAL_ID, b"5f"))], cancel()):
        port.say(*frames)       # of no job: ignored, though it has asked for jobs
    port.say(b"*a1", *pack(PROXY, (COMMAND, b"obey"), (LOCAL_ID, b"1")))
    assert one.line() == "at it"
    for number in (b"2", b"3", b"4"):   # these wait until it has a hand
        port.say(b"*a1", *pack(PROXY, (COMMAND, b"meet"), (LOCAL_ID, number)))
    port.say(b"*a1", *cancel((STATUS, b"not wanted"), (LOCAL_ID, b"3")))
    answer = port.hear(FAILED, b"*a1")
    assert (answer.get(LOCAL_ID), answer.status) == (b"3", "-failed: cancelled: not wanted")
    port.say(b"*a1", *cancel((LOCAL_ID, b"5")))
    port.say(b"*a1", *cancel((LOCAL_ID, b"4")))
    answer = port.hear(FAILED, b"*a1")
    assert (answer.get(LOCAL_ID), answer.status) == (b"4", "-failed: cancelled")
    port.say(b"*a1", *cancel((STATUS, "ä".encode() * 300)))     # the oldest, which is in hand
    assert one.line() == "cancelled: " + "ä" * 99     # of 200 bytes
    assert port.hear(FAILED, b"*a1").get(LOCAL_ID) == b"1"
    assert port.hear(OK, b"*a1").get(LOCAL_ID) == b"2"
    port.say(*pack(BYE))
    while port.hear(READY).frames != [b"tested", b"0"]:
        pass
    assert one.end() == ["destroyed"]
    assert port.hear(LEFT).frames == [b"tested"]


@pytest.mark.parametrize("credit, asked", [
    (1, [b"tested", b"1", b"cancel"]), (4, [b"tested", b"4", b"cancel"])])
def test_what_a_worker_says(installed, port, credit, asked):
    one = Program(installed.program("worker"), port.endpoint, credit, 1)
    assert port.hear(JOIN).frames == asked
    port.say(*pack(0x8F, (STATUS, b"-busy: too many workers")))
    assert port.hear(JOIN).frames == asked      # it asks again
    port.say(*pack(OK))
    assert one.line() == "joined"
    for _ in range(credit):
        assert port.hear(READY).frames == [b"tested"]
    assert port.hear(PITPAT).frames == [b"tested"]
    port.say(*pack(OK))
    for mailbox, job in ((b"*a1", pack(PROXY, *[(ARG, b"")] * 40)), (b"*a2", [b"\x07\x01"])):
        port.say(mailbox, *job)     # what cannot be read is answered all the same
        answer = port.hear(FAILED, mailbox)
        assert answer.status == "-failed: the worker cannot read the job"
    port.say(b"*a3", *pack(PROXY, (COMMAND, b"meet"), (LOCAL_ID, b"5f")))
    answer = port.hear(OK, b"*a3")
    assert (answer.get(LOCAL_ID), answer.get(CONTENT)) == (b"5f", b"met")
    port.say(*pack(NOT_FIND))       # as a station that was restarted
    assert port.hear(JOIN).frames == asked
    port.say(*pack(OK))
    port.hear(READY)
    one.order("leave")
    assert one.line() == "leaving"
    while port.hear(READY).frames != [b"tested", b"0"]:     # the credits are given back
        pass
    port.say(b"*a4", *pack(PROXY, (COMMAND, b"meet"), (LOCAL_ID, b"60")))
    assert port.hear(NOT_WORKER, b"*a4").get(LOCAL_ID) == b"60"
    assert one.end() == ["destroyed"]
    assert port.hear(LEFT).frames == [b"tested"]


def test_a_silent_station_is_connected_to_anew(installed, port):
    one = Program(installed.program("worker"), port.endpoint, 1, 1)
    port.hear(JOIN)
    first = port.peer
    while port.peer == first:
        port.hear(JOIN)
    port.say(*pack(OK))
    assert one.line() == "joined" and one.end() == ["destroyed"]


def is_stopped(process):
    with open(f"/proc/{process.pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def test_a_worker_that_was_stopped_keeps_its_connection(installed, port):
    """The station was not silent: nobody listened."""
    one = Program(installed.program("worker"), port.endpoint, 1, 1)
    port.hear(JOIN)
    port.say(*pack(OK))
    assert one.line() == "joined"
    for _ in range(2):
        while True:
            peer, *frames = port.socket.recv_multipart()
            assert peer == port.peer
            if Answer(frames).code == PITPAT:
                break
        one.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(one.process), "the worker has stopped")
        time.sleep(3.5)     # longer than it waits for an answer
        one.process.send_signal(signal.SIGCONT)
        port.hear(PITPAT)
    assert one.end() == ["destroyed"]


def test_what_a_restarted_station_says_to_former_words_is_no_refusal(port):
    """Each of them is answered NOT_FIND, those behind the first when JOIN is on its way already."""
    one = Program(ZPLAN, "work", "--station", port.endpoint, "--name", "w", "--", "true")
    told = one.process.stderr.readline
    try:
        port.hear(JOIN)
        port.say(*pack(OK))
        assert told() == f"zplan work: joined {port.endpoint} as w\n"
        port.hear(PITPAT)
        port.say(*pack(NOT_FIND, (STATUS, b"-not find: join first")))
        port.hear(JOIN)
        port.say(*pack(NOT_FIND, (STATUS, b"-not find: join first")))
        port.hear(JOIN)     # the second, a second later: it had time to tell
        port.say(*pack(OK))
        assert told() == f"zplan work: no longer joined to {port.endpoint} as w\n"
        assert told() == f"zplan work: joined {port.endpoint} as w\n"
        one.process.terminate()
        assert one.process.wait(WAIT) == 0
    finally:
        one.process.kill()
        one.process.wait(WAIT)


def test_work_tells_why_it_is_refused(port):
    one = Program(ZPLAN, "work", "--station", port.endpoint, "--name", "w", "--", "true")
    told = one.process.stderr.readline
    try:
        port.hear(JOIN)
        port.say(*pack(0x8F, (STATUS, b"-busy: it's full")))
        assert told() == f"zplan work: {port.endpoint} rejects: -busy: it's full\n"
        port.welcome(one.process.stderr)
        assert told() == f"zplan work: joined {port.endpoint} as w\n"
        one.process.terminate()
        assert one.process.wait(WAIT) == 0
    finally:
        one.process.kill()
        one.process.wait(WAIT)


# -- at a real plan proxy station


@pytest.fixture
def served(make_rig, station):
    """A rig whose target `jobs` is a zstationd; leases are of two seconds."""
    rig = make_rig("--exec-timeout", "2", "--station", f"jobs=api@{station.endpoint('request')}")
    station.start("--plan", rig.ipc("q"))
    wait_until(lambda: all(one["connected"] for one in rig.client.done("station", "list").json[
        "stations"]), "the station is connected")
    return rig


def shown(rig, ident):
    """What `zplan show` prints, by label."""
    lines = run(ZPLAN, "--connect", rig.ipc("q"), "show", ident).splitlines()
    return {line[:14].strip(): line[15:] for line in lines}


def test_a_handler_that_blocks_keeps_its_lease(program, served):
    """B094: Five seconds with a lease of two: one run, whose progress is seen meanwhile."""
    one = program()
    results = served.subscribe(b"long")
    before = served.client.done("stats").json["counters"]["runs_sent"]
    ident = served.client.added({**at_once(), "description": "long"}, head=[(COMMAND, b"sleep")],
                                more=[(ARG, b"5")])
    wait_until(lambda: shown(served, ident).get("progress") == "50 % sleeping", "progress")
    assert results.recv().code == OK
    served.gone(ident)
    assert served.client.done("stats").json["counters"]["runs_sent"] == before + 1
    assert one.end() == ["destroyed"]


# -- the examples of the header


def nobody_has_joined(station):
    wait_until(lambda: station.peer().ask(*call(b"any")).code == NOT_WORKER, "nobody has joined")


def test_example_worker_handlers(installed, station):
    """B089: A worker in C: the example of the header."""
    station.start()
    one = Program(installed.example("worker_handlers"), station.endpoint("workers"))
    client = station.peer()

    def greeted():
        answer = client.ask(*call(b"greet"))
        return answer.code == OK and answer.get(CONTENT) == b"hello"
    wait_until(greeted, "an answer")
    assert client.ask(*call(b"sing")).code == NOT_SUPPORT
    one.process.terminate()
    assert one.end() == []
    nobody_has_joined(station)


def test_example_worker_hands(installed, station):
    station.start()
    for more, code in ([(ARG, b"page")], OK), ([], FAILED):
        nobody_has_joined(station)
        one = Program(installed.example("worker_hands"), station.endpoint("workers"))
        client = station.peer()

        def taken():
            client.send(*a_run(b"a1", *more, local_id=b"5f"))
            return client.recv().code == RUNING
        wait_until(taken, "the worker has joined")
        assert client.recv().code == code
        assert one.line() == "run 5f of plan a1" and one.end() == []


def test_example_worker_loop(installed, station):
    station.start()
    one = Program(installed.example("worker_loop"), station.endpoint("workers"))
    client = station.peer()
    wait_until(lambda: client.ask(*call(b"any")).code == OK, "an answer")
    for n in range(20):
        client.send(*call(b"any", (ARG, b"%d" % n), (REQUEST_ID, b"%d" % n)))
    for answer in [client.recv() for _ in range(20)]:
        assert answer.get(ord("B")) == answer.get(REQUEST_ID)
    assert one.end() == []


def test_no_example_goes_untested(installed):
    with open(os.path.join(REPO, "include", "zplan_worker.h")) as header, open(__file__) as file:
        told = set(re.findall(r"^// ---- example: (\w+)$", header.read(), re.M))
        assert told == set(re.findall(r"def test_example_(\w+)", file.read()))


# -- what it costs, and when that is not there


def test_descriptors_and_threads_of_a_worker(program, station):
    """As many as the header says, at most."""
    station.start()
    one = program(64, 0)
    mine = f"/proc/{one.process.pid}"
    assert len(os.listdir(f"{mine}/fd")) <= 3 + 12
    assert len(os.listdir(f"{mine}/task")) <= 1 + 3
    assert one.end() == ["destroyed"]


def test_no_allocation_that_fails_ends_the_worker(tmp_path, station):
    """The sanitizers have an allocator of their own, so this is of the plain build."""
    plain = Installation(str(tmp_path / "plain"), os.path.join(REPO, "build"))
    shim = str(tmp_path / "malloc_shim.so")
    run("cc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", shim,
        os.path.join(PROGRAMS, "malloc_shim.c"))
    path = plain.program("worker_memory")
    station.start()
    client = station.peer()
    for number in range(1, 1000):
        one = Program(path, station.endpoint("workers"),
                      env={"LD_PRELOAD": shim, "ZPLAN_TEST_MALLOC": str(number)})

        def ended():
            """It has done a job, or could not even be made."""
            while client.poll(0):
                client.recv()
            client.send(*a_run(b"a1"))
            return one.process.poll() is not None
        wait_until(ended, "a job was done")
        failed, = one.end()
        if failed == "0":
            break
        assert failed == "1"
    assert 10 < number < 1000     # the shim did count


TSAN_SOURCES = """
    client/client.c client/client_connection.c client/error.c client/keys.c client/readiness.c client/reply.c client/requests.c
    client/worker/worker.c client/worker/worker_fetch.c client/worker/worker_job.c
    client/worker/worker_port.c client/worker/worker_run.c client/worker/worker_thread.c base/decimal.c
    wire/curve.c wire/curve_roles.c wire/dealers.c wire/endpoints.c wire/packet.c wire/socket.c codec/base64.c codec/codes.c
    codec/desc.c codec/json.c codec/json_read.c codec/json_scan.c codec/json_text.c codec/message.c codec/utf8.c base/frames.c base/ident.c base/memory.c base/reason.c
    base/duration.c base/settings.c base/station_name.c os/clock.c""".split()


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """The worker of the tests with the library's sources, under the thread sanitizer."""
    folder = tmp_path_factory.mktemp("tsan")
    sources = [os.path.join(REPO, "src", name) for name in TSAN_SOURCES]
    layers = [f"-I{REPO}/src/{name}" for name in ("base", "codec", "os", "wire", "client", "client/worker")]
    run("cc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-fsanitize=thread", f"-I{REPO}/include",
        *layers, "-o", str(folder / "worker"), os.path.join(PROGRAMS, "worker.c"), *sources,
        "-lzmq", "-ljansson", "-lpthread")
    (folder / "suppressions").write_text("called_from_lib:libzmq\nrace:libzmq\n")
    command = [str(folder / "worker")]
    # Where addresses are more random than gcc 12 knows: without that. A sandbox may forbid it.
    for command in (command, ["setarch", "-R", *command]):
        ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
        if "argc == 4" in ended.stderr:
            return command, f"suppressions={folder}/suppressions halt_on_error=1"
    pytest.skip("the thread sanitizer does not run here: " + ended.stderr)


def test_no_data_race(watched, program, station):
    station.start("--worker-timeout", "100000")     # all is slow there
    command, options = watched
    one = program(4, 4, command=command, env={"TSAN_OPTIONS": options})
    client = station.peer()
    for turn in range(20):
        for n in range(4):
            client.send(*call(b"meet"))
        assert [client.recv().code for _ in range(4)] == [OK] * 4
    for turn in range(20):      # of them some are answered while the worker's thread is busy
        client.send(*call(b"keep"))
        assert one.line() == "kept"
        one.order("answer")
        assert client.recv().code == OK and one.line() == "answered"
    client.send(*call(b"chatter"))
    one.order("open")
    assert client.recv().code == OK
    plan = station.peer()
    for turn in range(20):
        assert plan.ask(*a_run(b"a1", command=b"obey")).code == RUNING
        assert one.line() == "at it"
        plan.send(b"*a1", *cancel((STATUS, b"by ann")))
        assert one.line() == "cancelled: by ann"
        while plan.recv().code == WAITING:
            pass
    client.send(*call(b"gate"))
    assert one.line() == "at the gate"
    one.order("leave")
    assert one.line() == "leaving"
    one.order("open")
    assert one.end() == ["destroyed"]
