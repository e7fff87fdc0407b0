"""Workers that take only some commands (proto 7.7): who gets which job, and which job waits for nobody."""
import json
import subprocess

import pytest
import zmq

from flowrig import Flows, call
from zplantest import wait_until
from zstationtest import (  # noqa: F401 station and work are fixtures
    ARG, ARGUMENT, BIN, COMMAND, CONTENT, JOIN, JSON, LEFT, NONE, NOT_WORKER, OK, READY, REQUEST_ID, RUNING, Peer, a_run, pack,
    station, work)


class Limited(Peer):
    """A worker of some commands, which asked for `credits` jobs."""

    def __init__(self, station, commands, name=b"w", credits=1, more=()):
        super().__init__(station.context, zmq.DEALER, station.endpoint("workers"))
        self.joined = self.ask(*pack(JOIN, (ARG, name), (ARG, b"8"), *[(ARG, word) for word in more],
                                     (ARG, b"commands=" + commands)))
        for _ in range(credits if self.joined.code == OK else 0):
            self.send(*pack(READY, (ARG, name)))
        self.settle()

    def done(self, job):
        self.send(job.sender, *pack(OK))


def words(peer, name, *args):
    answer = peer.ask(*pack(NONE, (COMMAND, name), *[(ARG, arg) for arg in args], (REQUEST_ID, b"r")))
    return json.loads(answer.get(JSON))


def run(peer, number, command):
    """Send it; how it is answered first."""
    peer.send(*a_run(b"%x" % number, command=command, local_id=b"%x" % (0x5f + number)))
    return peer.recv()


def command(job):
    return job.get(COMMAND)


def test_a_worker_gets_only_its_commands(station):
    """B088: Of a command that nobody has joined for the answer is NOT_WORKER."""
    station.start()
    plans = station.peer()
    scala = Limited(station, b"SCALA,DATA_SYNC", b"scala", credits=3)
    shell = Limited(station, b"SHELL", b"shell", credits=1, more=[b"cancel"])
    for number, name in enumerate([b"SHELL", b"DATA_SYNC", b"SCALA"], 1):
        assert run(plans, number, name).code == RUNING
    assert command(shell.recv()) == b"SHELL"
    assert [command(scala.recv()) for _ in range(2)] == [b"DATA_SYNC", b"SCALA"]
    for number, name in enumerate([b"SCAL", b"SCALA,DATA_SYNC", b"", b"PYTHON"], 11):
        answer = run(plans, number, name)
        assert (answer.code, answer.status) == (NOT_WORKER, "-not work: no worker has joined for this command")
    rows = {row["name"]: row.get("commands") for row in words(plans, b"workers")}
    assert rows == {"scala": ["SCALA", "DATA_SYNC"], "shell": ["SHELL"]}


def test_two_workers_share_a_command(station):
    """B093: Each of them has half of the runs."""
    station.start()
    plans = station.peer()
    pair = [Limited(station, b"SCALA", name, credits=2) for name in (b"a", b"b")]
    for number in range(1, 5):
        assert run(plans, number, b"SCALA").code == RUNING
    for one in pair:
        assert [command(one.recv()) for _ in range(2)] == [b"SCALA"] * 2


def test_one_that_takes_all_takes_these_too(station):
    station.start()
    plans = station.peer()
    Limited(station, b"SCALA", b"scala", credits=0)
    both = station.worker(b"all", credits=2, jobs=2)
    assert run(plans, 1, b"SCALA").code == RUNING and command(both.recv()) == b"SCALA"
    assert run(plans, 2, b"OTHER").code == RUNING and command(both.recv()) == b"OTHER"


def test_a_job_waits_for_a_worker_of_its_command_and_others_overtake_it(station):
    station.start()
    plans = station.peer()
    scala = Limited(station, b"SCALA", b"scala", credits=0)
    shell = Limited(station, b"SHELL", b"shell", credits=1)
    assert run(plans, 1, b"SCALA").code == RUNING
    assert run(plans, 2, b"SCALA").code == RUNING
    assert run(plans, 3, b"SHELL").code == RUNING
    first = shell.recv()
    assert command(first) == b"SHELL"
    assert run(plans, 4, b"SHELL").code == RUNING
    shell.done(first)
    assert plans.recv().code == OK
    shell.send(*pack(READY, (ARG, b"shell")))
    assert shell.recv().sender == b"*4"
    for _ in range(2):
        scala.send(*pack(READY, (ARG, b"scala")))
    assert [scala.recv().sender for _ in range(2)] == [b"*1", b"*2"]


@pytest.mark.parametrize("how", ["left", "drained"])
def test_jobs_that_only_it_took_are_given_back(station, how):
    station.start()
    plans = station.peer()
    scala = Limited(station, b"SCALA", b"scala", credits=0)
    shell = Limited(station, b"SHELL", b"shell", credits=0)
    for number, name in enumerate([b"SCALA", b"SHELL", b"SCALA"], 1):
        assert run(plans, number, name).code == RUNING
    if how == "left":
        scala.ask(*pack(LEFT))
    else:
        asker = station.peer()
        assert words(asker, b"drain", b"scala") == {"workers": 1}
    back = [plans.recv() for _ in range(2)]
    assert [(answer.sender, answer.code) for answer in back] == [(b"*1", NOT_WORKER), (b"*3", NOT_WORKER)]
    shell.send(*pack(READY, (ARG, b"shell")))
    assert shell.recv().sender == b"*2"


@pytest.mark.parametrize("commands", [b"", b",", b"A,", b",A", b"A,,B", b"A" * 257, b",".join([b"A" * 250] * 20), b"A\0B"])
def test_a_list_that_is_none(station, commands):
    station.start()
    refused = Limited(station, commands)
    assert refused.joined.code == ARGUMENT and "commands=NAME,NAME" in refused.joined.status
    assert words(station.peer(), b"workers") == []


def test_a_vote_station_has_no_commands(station):
    station.start(type_="vote")
    refused = Limited(station, b"A")
    assert refused.joined.code == ARGUMENT and "api target" in refused.joined.status
    assert words(station.peer(), b"workers") == []


def test_a_join_that_is_rejected_leaves_the_former(station):
    station.start()
    worker = Limited(station, b"A", b"first", credits=0)
    assert worker.ask(*pack(JOIN, (ARG, b"second"), (ARG, b"1"), (ARG, b"commands="))).code == ARGUMENT
    assert [(row["name"], row["commands"]) for row in words(station.peer(), b"workers")] == [("first", ["A"])]
    assert worker.ask(*pack(JOIN, (ARG, b"second"))).code == OK
    assert [(row["name"], row.get("commands")) for row in words(station.peer(), b"workers")] == [("second", None)]


def test_zplan_work_says_its_commands(station, work):
    """B090: They are listed, and in the log of the worker."""
    station.start()
    work("cat", "--commands", "sum,mean")
    plans = station.peer()
    assert [row["commands"] for row in words(plans, b"workers")] == [["sum", "mean"]]
    assert run(plans, 1, b"sum").code == RUNING and plans.recv().code == OK
    assert run(plans, 2, b"sort").code == NOT_WORKER
    assert "commands='sum,mean'" in station.log()
    shown = subprocess.run([BIN / "zplan", "--connect", station.endpoint("request"), "workers"], capture_output=True, text=True)
    assert shown.stdout.splitlines()[1].endswith(" sum,mean")


@pytest.mark.parametrize("args, why", [
    (["--pull", "jobs", "--commands", "a"], "--commands: goes with --station only"),
    (["--station", "tcp://127.0.0.1:1", "--commands", "a,,b"], "--commands: want NAME,NAME")])
def test_zplan_work_rejects_what_does_not_fit(args, why):
    ended = subprocess.run([BIN / "zplan", "work", *args, "--", "true"], capture_output=True, text=True)
    assert ended.returncode == 2 and why in ended.stderr


# -- steps of flows (features B042, B064, B088, B092, B093)


def test_steps_go_to_the_workers_of_their_command(rig, station):
    """B042: a worker takes the commands that it names. B064, B088: a step that nobody takes stays new."""
    station.start()
    flows = Flows(rig)
    scala = Limited(station, b"SCALA", b"scala")
    rig.client.done("station", "add", f"real=api@{station.endpoint('request')}")
    flows.put("mixed", {"a": call(target="real", command="SCALA"), "b": call(target="real", command="DATA_SYNC"),
                        "c": call(["a", "b"], target="real", command="SCALA")})
    ident = flows.start("mixed")
    job = scala.recv()
    assert command(job) == b"SCALA"
    run_id = flows.run_of(ident, "mixed")
    scala.send(job.sender, *pack(OK, (CONTENT, b"x")))
    wait_until(lambda: flows.states(run_id)["a"] == "finished", "a has ended")

    def waits():
        return any("no worker" in reason["why"] or "not work" in reason["why"]
                   for reason in rig.client.done("why", f"{run_id}/b").json["reasons"])
    wait_until(waits, "nobody takes b")
    assert flows.states(run_id)["b"] == "new"
    sync = Limited(station, b"DATA_SYNC,OTHER", b"sync")
    job = sync.recv()
    assert command(job) == b"DATA_SYNC"
    sync.done(job)
    scala.send(*pack(READY, (ARG, b"scala")))
    job = scala.recv()
    scala.done(job)
    assert flows.until(run_id, "finished")
    assert not sync.poll(0)
