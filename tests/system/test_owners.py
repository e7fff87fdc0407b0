"""Clients that are given the addresses of several stations, of which one owns the plans: it dies, and
another one takes over."""
import base64
import json
import os
import subprocess
import time

import pytest
import zmq

from clitest import COMMAND, JSON, NO_ANSWER, USAGE, describe, reply, start, taken_apart, zplan
from curvetest import Keys, certificate, write
from ownertest import OK, Cut, Owners, broadcasters, endpoints, silent
from test_library import installed, run  # noqa: F401 a fixture
from zplanprocs import free_port, wait_until
from zplantest import WAIT

SAFE, UNSAFE = ["ping", "stats", "load", "whoami", "flow_get", "plan_id", "plan_key"], ["pause", "plan"]


class Program:
    """tests/library/owners.c"""

    def __init__(self, installed, text):        # noqa: F811
        self.process = subprocess.Popen([installed.program("owners"), text], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
        return self

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
            assert self.process.wait(WAIT) == 0
        finally:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def owners():
    with Owners() as seats:
        yield seats


@pytest.fixture
def program(installed, owners):     # noqa: F811
    with Program(installed, endpoints(owners)) as one:
        yield one


@pytest.mark.parametrize("first", [0, 1])
def test_requests_go_to_the_owner_wherever_it_stands(program, owners, first):
    """B116: A client has several endpoints, and finds the owner."""
    owners[first].own()
    program.ask("ping", "pause")
    assert [program.line() for _ in range(2)] == [f"done {owners[first].endpoint}"] * 2
    owners[first].leave()
    program.ask("ping")                     # waits for the next one
    owners[1 - first].own()
    assert program.line() == f"done {owners[1 - first].endpoint}"
    program.ask("pause")
    assert program.line() == f"done {owners[1 - first].endpoint}"
    assert [len(seat.took(2)) for seat in owners] == [2, 2]
    assert [seat.seen.qsize() for seat in owners] == [0, 0]


def test_an_answer_that_came_before_the_loss_is_whole(installed, owners):      # noqa: F811
    owners[0].own(lambda request: [reply(request, OK, (JSON, b"x" * 100000))])
    process = subprocess.Popen([installed.program("drained"), endpoints(owners)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**os.environ, "MALLOC_PERTURB_": "165"})
    try:
        owners[0].took(2)
        assert process.stdout.readline() == "first\n"
        time.sleep(0.2)     # the second answer is on its way
        owners[0].leave()
        assert process.communicate("\n", WAIT)[0] == "whole\n" and process.returncode == 0
    finally:
        process.kill()
        process.wait()


def test_a_request_without_an_owner_waits_for_one(program, owners):
    program.ask("pause")
    owners[1].own()
    assert program.line() == f"done {owners[1].endpoint}"


@pytest.mark.parametrize("word", SAFE)
def test_what_may_be_done_twice_is_asked_again(program, owners, word):
    owners[0].own(silent)
    program.ask(word)
    first, = owners[0].took()
    owners[0].leave()
    owners[1].own()
    assert program.line() == f"done {owners[1].endpoint}"
    assert owners[1].took() == [first]      # the same to the byte


@pytest.mark.parametrize("word", UNSAFE)
def test_of_anything_else_the_outcome_is_unknown(program, owners, word):
    owners[0].own(silent)
    program.ask(word)
    owners[0].took()
    owners[0].leave()
    assert program.line() == f"the connection to {endpoints(owners)} was lost before the answer "
    owners[1].own()
    program.ask("ping")
    assert program.line() == f"done {owners[1].endpoint}"
    assert len(owners[1].took()) == 1 and owners[1].seen.empty()


def test_many_in_flight_end_once_each(program, owners):
    owners[0].own(silent)
    program.ask("many")
    owners[0].took(200)
    owners[0].leave()
    owners[1].own()
    assert program.line() == "100 0 0 100"
    assert len(owners[1].took(100)) == 100


def test_an_answer_that_came_before_the_end_counts(program, owners):
    owners[0].own()
    program.ask("many")
    owners[0].took(200)
    owners[0].leave()
    assert program.line() == "100 0 100 0"


def test_an_owner_that_comes_back(program, owners):
    for n in (0, 1, 0, 0, 1):
        owners[n].own()
        program.ask("ping", "pause")    # the first one finds it
        assert [program.line() for _ in range(2)] == [f"done {owners[n].endpoint}"] * 2
        owners[n].leave()


def test_the_newest_of_two_that_are_bound_counts(program, owners):
    """The other one was stopped, and does not know yet that it is no owner any more."""
    owners[0].own()
    program.ask("ping")
    assert program.line() == f"done {owners[0].endpoint}"
    owners[1].own()
    asked = [0]

    def moved():
        program.ask("ping")
        asked[0] += 1
        return program.line() == f"done {owners[1].endpoint}"
    wait_until(moved, "the new one is asked")
    owners[0].leave()
    program.ask("pause")
    assert program.line() == f"done {owners[1].endpoint}"


def test_an_owner_that_is_killed_within_its_answers(installed):     # noqa: F811
    with Owners() as (cut, other):
        cut = Cut()
        with Program(installed, endpoints([cut, other])) as program:
            cut.own(times=40)
            program.ask(*["ping"] * 10)     # each is sent four times
            lost = f"the connection to {endpoints([cut, other])} was lost before the answer "
            assert [program.line() for _ in range(10)] == [lost] * 10
            cut.leave()
            other.own()
            program.ask("ping", "pause")
            assert [program.line() for _ in range(2)] == [f"done {other.endpoint}"] * 2
        cut.close()


# -- the command line


def test_the_command_line_finds_the_owner(owners):
    owners[1].own()
    assert zplan("--connect", endpoints(owners), "ping").done().startswith(
        f"answer from {owners[1].endpoint} in ")
    said = json.loads(zplan("--json", "ping", env={"ZPLAN_CONNECT": endpoints(owners)}).done())
    assert said["endpoint"] == owners[1].endpoint


def test_the_command_line_asks_the_next_owner(owners):
    owners[0].own(silent)
    process = start("--connect", endpoints(owners), "--timeout", "60s", "list", "--json")
    owners[0].took()
    owners[0].leave()
    owners[1].own(lambda request: [reply(request, OK, (JSON, b'{"plans": []}'))])
    out, err = process.communicate(timeout=WAIT)
    assert (process.returncode, err) == (0, b""), out


def test_the_command_line_says_that_the_outcome_is_unknown(owners):
    owners[0].own(silent)
    process = start("--connect", endpoints(owners), "--timeout", "60s", "pause", "2a")
    owners[0].took()
    owners[0].leave()
    out, err = process.communicate(timeout=WAIT)
    assert (process.returncode, out) == (NO_ANSWER, b"")
    assert b"the connection was lost" in err and owners[0].endpoint.encode() in err


def test_nobody_is_there(owners):
    said = zplan("--connect", endpoints(owners), "--timeout", "300", "ping").failed(NO_ANSWER)
    assert f"no answer from {endpoints(owners)} within 300 ms" in said


@pytest.mark.parametrize("text", [
    "tcp://127.0.0.1:7920,", ",tcp://127.0.0.1:7920", "tcp://127.0.0.1:7920, tcp://127.0.0.1:7921",
    ",".join(["tcp://127.0.0.1:7920"] * 9)])
def test_a_list_that_is_none(text):
    for option, command in ("--connect", "ping"), ("--publish", "watch"):
        said = zplan(option, text, command).failed(USAGE)
        assert f"{option}: want tcp://HOST:PORT or ipc://PATH" in said


# -- workers that fetch


def test_a_job_of_the_dead_owner_is_reported_to_the_next(owners, tmp_path):
    go, (one, other) = tmp_path / "go", owners
    os.mkfifo(go)
    job = {"plan_id": "2a", "exec_id": "5f", "plan_time": 1700000000, "ping_interval": 60, "worker_timeout": 600,
           "plan": {}, "frames": [{"b64": base64.b64encode(describe(3, COMMAND)).decode()}, "x"]}
    jobs = [job]

    def first(request):
        word, _ = taken_apart(request)
        given = {"jobs": [jobs.pop()]} if word == "take" and jobs else {"jobs": []}
        return [reply(request, OK, (JSON, json.dumps(given).encode()))]

    def second(request):
        word, _ = taken_apart(request)
        return [reply(request, OK, (JSON, b'{"jobs": []}' if word == "take" else b"{}"))]
    one.own(first)
    worker = start("--connect", endpoints(owners), "work", "--pull", "jobs", "--once", "--", "cat", str(go))
    while taken_apart(one.took()[0])[0] != "take":
        pass
    with open(go, "w") as pipe:     # the command runs
        one.leave()
        other.own(second)
        pipe.write("done")
    _, err = worker.communicate(timeout=WAIT)
    assert worker.returncode == 0, err
    words = [taken_apart(request) for request in other.took(other.seen.qsize())]
    report, = (json.loads(args[0]) for word, args in words if word == "report")
    assert (report["plan"], report["exec_id"], report["state"], report["result"]) == ("2a", "5f", "success", "done")


# -- CURVE


def secured(seat, keys):
    """Its request socket wants this key."""
    make = seat.context.socket

    def made(kind):
        one = make(kind)
        if kind == zmq.ROUTER:
            one.curve_server = True
            one.curve_publickey, one.curve_secretkey = keys.public.encode(), keys.secret.encode()
        return one
    seat.context.socket = made


def key_file(folder, keys):
    path = str(folder / "me.key_secret")
    write(path, certificate(keys, "me", secret=True))
    return path


@pytest.mark.parametrize("shared", [False, True], ids=["a key for each", "one for all"])
def test_keys_of_the_stations(owners, tmp_path, shared):
    own, *keys = Keys(), Keys(), Keys()
    file = key_file(tmp_path, own)
    keys = [keys[0], keys[0]] if shared else keys
    listed = keys[0].public if shared else ",".join(one.public for one in keys)
    for seat, pair in zip(owners, keys):
        secured(seat, pair)
    for seat in owners:
        seat.own()
        said = zplan("--connect", endpoints(owners), "--key", file, f"--server-key={listed}", "ping").done()
        assert said.startswith(f"answer from {seat.endpoint} in ")
        seat.leave()


def test_keys_that_are_too_many(tmp_path):
    own = Keys()
    file = key_file(tmp_path, own)
    for addresses, count in ("tcp://127.0.0.1:7920", 2), ("tcp://127.0.0.1:7920,tcp://127.0.0.1:7921,tcp://127.0.0.1:7922", 2):
        listed = ",".join([own.public] * count)
        said = zplan("--connect", addresses, "--key", file, f"--server-key={listed}", "ping").failed(USAGE)
        assert "--server-key: want one key, or one for each endpoint of --connect" in said


# -- results


def publish(seats):
    return ",".join(seat.results for seat in seats)


def test_a_subscriber_sees_no_hole(installed):      # noqa: F811
    """The last results of the dead owner went nowhere, and no later one shows it."""
    with broadcasters() as (one, other):
        one.own()
        follow = subprocess.Popen(
            [installed.program("follow"), publish([one, other]), endpoints([one, other]), "0", "e1",
             "red", "7"], stdout=subprocess.PIPE, text=True)
        try:
            one.subscribed()
            other.subscribed()      # before the first broadcast of a station that takes over
            for _ in range(2):
                one.outcome()
            assert [follow.stdout.readline().split()[0] for _ in range(2)] == ["1", "2"]
            one.outcome(publish=False)
            one.outcome(publish=False)
            one.leave()
            other.own()
            assert [follow.stdout.readline() for _ in range(2)] == [
                f"{seq} history 1f red 1\n" for seq in (3, 4)]
            other.outcome()
            assert follow.stdout.readline() == "5 live 1f red 1\n"
            # What the dead one had sent comes late: it was told before.
            for seq in 3, 4, 5:
                one.publish(seq)
            other.outcome(publish=False)
            other.outcome()
            assert [follow.stdout.readline() for _ in range(2)] == [
                "6 history 1f red 1\n", "7 live 1f red 1\n"]
            assert follow.wait(WAIT) == 0
        finally:
            follow.kill()
            follow.wait()


def test_zplan_watch_goes_on_with_the_next_owner():
    with broadcasters() as (one, other):
        one.own()
        watch = start("--connect", endpoints([one, other]), "--publish", publish([one, other]),
                      "watch", "--json", "--since", "0", "-n", "3")
        one.subscribed()
        other.subscribed()
        one.outcome()
        one.took()      # the history, from its beginning
        first = json.loads(watch.stdout.readline())
        one.outcome(publish=False)
        one.leave()
        other.own()
        other.outcome()
        rest = [json.loads(watch.stdout.readline()) for _ in range(2)]
        assert [row["seq"] for row in (first, *rest)] == [1, 2, 3]
        out, err = watch.communicate(timeout=WAIT)
        assert (watch.returncode, err) == (0, b"")


# -- at a real station


def test_a_thousand_under_way_beside_an_address_without_a_station(installed, rig):   # noqa: F811
    nobody = f"tcp://127.0.0.1:{free_port()}"
    assert run(installed.program("loop"), f"{nobody},{rig.ipc('q')}", "3000") == "3000 3000\n"
