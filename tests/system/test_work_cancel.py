"""`zplan work` and cancelled jobs: what becomes of the command, and of all that it has started."""
import os
import signal
import select

import pytest

from zplanprocs import wait_until
from zstationtest import (  # noqa: F401 station and work are fixtures
    ARG, CANCEL, CONTENT, CONTEXT, FAILED, LOCAL_ID, OK, RUNING, STATUS, WAITING, WAIT_S, a_run,
    pack, station, work)

# The script's process says which it is when it runs, and so does what it starts.
TELL = "echo $$ > {fifo}; "
FOREVER = "while :; do sleep 0.1; done"


def living(pids):
    """Those that have not ended; zombies have."""
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] not in "ZX":
                    found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class Fifo:
    """What the commands tell, a line each."""

    def __init__(self, folder):
        self.path = folder / "told"
        os.mkfifo(self.path)
        self.file = os.fdopen(os.open(self.path, os.O_RDWR), "rb", buffering=0)

    def line(self):
        said = b""
        while not said.endswith(b"\n"):
            assert select.select([self.file], [], [], WAIT_S)[0], said
            said += self.file.read(1)
        return said.decode().strip()


@pytest.fixture
def told(station):
    made = Fifo(station.folder)
    yield made
    made.file.close()


def cancelled(plan, words=b"by ann", local_id=b"5f"):
    plan.send(b"*a1", *pack(CANCEL, (STATUS, words), (LOCAL_ID, local_id)))


def result(plan):
    while True:
        answer = plan.recv()
        if answer.code not in (RUNING, WAITING):
            return answer


def is_free(plan):
    """The worker's hand: it does the next run."""
    plan.send(*a_run(b"b2", (CONTEXT, b"next")))
    answer = result(plan)
    assert (answer.sender, answer.code, answer.get(CONTENT)) == (b"*b2", OK, b"next\n")


def script(told, text):
    """Run for the job that is cancelled; the next one is told and done at once."""
    return f'[ "$ZPLAN_CONTEXT" = next ] && echo next && exit; {text.format(fifo=told.path)}'


OBEYS = TELL + FOREVER
IGNORES = "trap '' TERM; " + TELL + FOREVER
CLEANS_UP = "trap 'echo cleaning > {fifo}; exit 0' TERM; " + TELL + FOREVER
FORKS = "(" + TELL.replace("$$", "$(exec sh -c 'echo $PPID')") + FOREVER + ") & " + TELL + FOREVER
LEAVES_ONE = "(trap '' TERM; " + TELL.replace("$$", "$(exec sh -c 'echo $PPID')") + FOREVER + \
             ") & " + TELL + FOREVER
CLOSES = "exec >&- 2>&-; " + TELL + FOREVER
STOPS = TELL + "kill -STOP $$; " + FOREVER


@pytest.mark.parametrize("text, processes, grace", [
    (OBEYS, 1, "1000"), (FORKS, 2, "1000"), (CLOSES, 1, "1000"),    # SIGTERM is enough
    (IGNORES, 1, "1"), (LEAVES_ONE, 2, "1"), (STOPS, 1, "1"),       # SIGKILL follows
    (IGNORES, 1, "0"),
])
def test_a_cancelled_command_ends_with_all_that_it_started(station, work, told, text, processes,
                                                           grace):
    station.start()
    work(script(told, text), grace=grace)
    plan = station.peer()
    assert plan.ask(*a_run()).code == RUNING
    pids = [int(told.line()) for _ in range(processes)]
    assert living(pids) == pids
    cancelled(plan)
    answer = result(plan)
    assert (answer.sender, answer.code, answer.get(LOCAL_ID)) == (b"*a1", FAILED, b"5f")
    assert answer.status == "-failed: cancelled: by ann" and answer.get(CONTENT) is None
    wait_until(lambda: not living(pids), "nothing is left of it")
    is_free(plan)
    assert station.count("stray_answers") == 0


def test_a_command_may_clean_up(station, work, told):
    """What it writes and how it ends is not asked for any more."""
    station.start()
    work(script(told, CLEANS_UP), grace="1000")
    plan = station.peer()
    assert plan.ask(*a_run()).code == RUNING
    pid = int(told.line())
    cancelled(plan, b"")
    assert told.line() == "cleaning"
    assert result(plan).status == "-failed: cancelled"
    assert not living([pid])
    is_free(plan)


def test_it_goes_on_saying_that_it_is_at_it_until_the_grace_is_over(station, work, told):
    station.start()
    one = work(script(told, IGNORES), grace="1000")
    plan = station.peer()
    assert plan.ask(*a_run()).code == RUNING
    pid = int(told.line())
    cancelled(plan)
    cancelled(plan, b"once more")
    for _ in range(3):
        assert plan.recv().code == WAITING
    assert living([pid])
    one.process.terminate()     # the worker waits as well
    assert "which have 1000 s to end" in one.process.stderr.readline()
    assert plan.recv().code == WAITING and living([pid])
    os.kill(pid, signal.SIGKILL)
    assert result(plan).status == "-failed: cancelled: by ann"
    assert one.process.wait(WAIT_S) == 0


def test_a_second_signal_ends_what_was_cancelled_too(station, work, told):
    station.start()
    one = work(script(told, IGNORES), grace="1000")
    plan = station.peer()
    assert plan.ask(*a_run()).code == RUNING
    pid = int(told.line())
    cancelled(plan)
    assert plan.recv().code == WAITING

    def ended():
        one.process.terminate()
        return one.process.poll() is not None
    wait_until(ended, "the second signal ends it")
    assert result(plan).status == "-failed: cancelled: by ann"
    assert not living([pid])


def test_of_several_commands_only_the_one_that_is_meant(station, work, told):
    station.start()
    work(script(told, TELL + "read line; " + FOREVER), "--jobs", "3", grace="1000")
    plan, pids = station.peer(), {}
    for number in (b"1", b"2", b"3"):
        assert plan.ask(*a_run(local_id=number)).code == RUNING
        pids[number] = int(told.line())
    cancelled(plan, local_id=b"2")
    answer = result(plan)
    assert (answer.get(LOCAL_ID), answer.status) == (b"2", "-failed: cancelled: by ann")
    assert not living([pids[b"2"]])
    is_free(plan)
    assert living([pids[b"1"], pids[b"3"]]) == [pids[b"1"], pids[b"3"]]
    for number in (b"3", b"1"):
        cancelled(plan, local_id=number)
        assert result(plan).get(LOCAL_ID) == number
    assert not living(pids.values())


@pytest.mark.parametrize("text, grace", [(OBEYS, "1000"), (IGNORES, "1")])
def test_a_command_that_takes_too_long_is_ended(station, work, told, text, grace):
    station.start()
    work(script(told, text), "--run-timeout", "1", grace=grace)
    plan = station.peer()
    assert plan.ask(*a_run()).code == RUNING
    pid = int(told.line())
    answer = result(plan)
    assert (answer.code, answer.status) == (FAILED, "-failed: cancelled: timeout after 1 s")
    wait_until(lambda: not living([pid]), "nothing is left of it")
    is_free(plan)


def test_what_ends_in_time_is_not_touched(station, work):
    """Nor is what it leaves behind on purpose, when it was not cancelled."""
    station.start()
    work("echo $$; sleep 1000 >&- 2>&- & echo $!", "--run-timeout", "1000")
    plan = station.peer()
    plan.send(*a_run())
    answer = result(plan)
    pids = [int(pid) for pid in answer.get(CONTENT).split()]
    assert answer.code == OK and living(pids) == pids[1:]
    cancelled(plan)     # late
    plan.settle()
    assert living(pids) == pids[1:]
    os.kill(pids[1], signal.SIGKILL)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_drained_from_afar_it_does_what_it_has_and_ends(station, work, told, jobs):
    station.start()
    go = station.folder / "go"
    os.mkfifo(go)
    one = work(TELL.format(fifo=told.path) + f"cat {go}", "--jobs", jobs)
    plan, client = station.peer(), station.peer()
    assert plan.ask(*a_run()).code == RUNING
    told.line()
    assert client.ask(*pack(1, (ord("$"), b"drain"), (ARG, b"sh"))).code == OK
    assert one.process.stderr.readline().endswith(" wants no more jobs done here\n")
    go.write_text("done")
    answer = result(plan)
    assert (answer.code, answer.get(CONTENT)) == (OK, b"done")
    assert one.process.wait(WAIT_S) == 0
    wait_until(lambda: 'worker=sh what="has left"' in station.log(), "it has said LEFT")
