"""`zplan work` that leaves: what is on its way to it is returned, and what it has answered is kept until it is reported."""
import os
import signal
import subprocess

from clitest import ZPLAN
from curvetest import CurveRig, certificate, write
from pulltest import STATION, team
from test_work_pull import outcome
from workersport import port  # noqa: F401 a fixture
from zplantest import FT, ST, at_once, wait_until

TRIES = 10      # it waits for a second, which a machine that stalls may need


def leaving(port):  # noqa: F811
    """A worker that has asked for a job and then leaves: up to its last heartbeat, which is not answered yet."""
    worker = subprocess.Popen([ZPLAN, "work", "--station", port.endpoint, "--name", "w", "--", "true"],
                              stderr=subprocess.DEVNULL)
    assert port.join() == 1
    while port.unanswered:
        port.answer()
    worker.send_signal(signal.SIGTERM)
    while port.until(b"R")[-1][1] != [b"w", b"0"]:
        pass
    port.until(b"P")
    return worker


def test_a_job_on_its_way_to_a_worker_that_leaves_is_returned(port):  # noqa: F811
    for _ in range(TRIES):
        worker = leaving(port)
        port.dispatch()
        while port.unanswered:
            port.answer()
        came = port.until(b"L")
        assert worker.wait() == 0
        jobs = [frames for code, frames in came if code == b"job"]
        if jobs:
            break
    (mailbox, description, *_), = jobs
    assert (mailbox, description[1]) == (b"*a1", ST.NOT_WORKER)


def test_it_leaves_also_where_the_target_answers_no_more(port):  # noqa: F811
    worker = leaving(port)
    assert worker.wait() == 0
    assert port.codes(b"L")[-1] == b"L"


def test_an_answer_outlives_a_key_that_is_missing_for_a_while(make_rig, tmp_path):
    """The command runs once, and its result counts."""
    rig = make_rig("--station", f"{STATION}=pull", kind=CurveRig, start=False)
    keys = rig.allow("worker", "result")
    rig.start()
    write(rig.path("w.key_secret"), certificate(keys, "w", secret=True))
    go = tmp_path / "go"
    os.mkfifo(go)
    worker = subprocess.Popen(
        [ZPLAN, "--connect", rig.ipc("q"), "work", "--pull", STATION, "--name", "w", "--key", rig.path("w.key_secret"),
         "--server-key", rig.server.public, "--", "sh", "-c", f"cat {go}; echo done"], stderr=subprocess.DEVNULL)
    try:
        ident = rig.client.added({**at_once(), "retry": {"strategy": "none"}}, station=STATION, head=[(FT.COMMAND, b"do")])
        wait_until(lambda: team(rig, ident)["workers"], "it is taken")
        with rig.list_changes():
            os.remove(rig.file("worker"))
        denied = rig.client.done("stats").json["counters"]["denied"]
        go.write_bytes(b"")
        wait_until(lambda: rig.client.done("stats").json["counters"]["denied"] > denied, "its report is denied")
        with rig.list_changes():
            write(rig.file("worker"), certificate(keys, "worker", "result"))
        assert outcome(rig, ident)["status"] == ST.OK
    finally:
        worker.kill()
        worker.wait()
