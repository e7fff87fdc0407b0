"""Every program starts with the signals of a fresh process, whatever its parent ignored or blocked: a shell
starts `cmd &` with SIGINT ignored, nohup ignores SIGHUP, and some supervisors block signals."""
import signal
import subprocess

import pytest

from clitest import ZPLAN, Ended
from zplantest import at_once, wait_until
from zstationtest import CONTENT, OK, a_call, station, work  # noqa: F401 station and work are fixtures

BLOCKED_AND_IGNORED = ["env", "--ignore-signal=INT,TERM,CHLD,USR1,PIPE", "--block-signal=INT,TERM,CHLD,PIPE"]
NOHUP = ["env", "--ignore-signal=HUP"]


def signals(pid, which):
    """The numbers of the signals in SigBlk or SigIgn of a process."""
    with open(f"/proc/{pid}/status") as status:
        mask = next(int(line.split()[1], 16) for line in status if line.startswith(which + ":"))
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_station_ends_on_a_signal_that_its_parent_ignored(make_rig, number):
    rig = make_rig(start=False)
    rig.redis.start()
    rig.station.wrap = BLOCKED_AND_IGNORED
    rig.station.start()
    rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.station.process.send_signal(number)
    assert rig.station.process.wait(20) == 0
    rig.station.end()


def test_the_station_reloads_on_a_hangup_under_nohup(make_rig):
    rig = make_rig(start=False)
    rig.redis.start()
    rig.station.wrap = NOHUP
    rig.station.start()
    rig.station.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "reload" in rig.station.log_tail(), "the reload in the log")
    rig.client.ping()
    rig.station.stop()


def run_under(prefix, *args):
    return subprocess.Popen([*prefix, ZPLAN, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def test_a_watch_in_the_background_of_a_script_ends_on_ctrl_c(make_rig):
    rig = make_rig()
    process = run_under(BLOCKED_AND_IGNORED, "watch", "--json=wire", "--connect", rig.ipc("q"), "--publish", rig.ipc("p"))
    wait_until(lambda: {signal.SIGINT, signal.SIGTERM} <= signals(process.pid, "SigBlk")
               and not {signal.SIGINT, signal.SIGTERM} & signals(process.pid, "SigIgn"),
               "signals are read by the program")
    process.send_signal(signal.SIGINT)
    assert Ended(process).code == 0


def test_a_watch_under_nohup_outlives_its_terminal(make_rig):
    rig = make_rig()
    process = run_under([*NOHUP, *BLOCKED_AND_IGNORED], "watch", "--json=wire", "--connect", rig.ipc("q"),
                        "--publish", rig.ipc("p"))
    wait_until(lambda: signal.SIGINT not in signals(process.pid, "SigIgn")
               and signal.SIGINT in signals(process.pid, "SigBlk"), "signals are read by the program")
    process.send_signal(signal.SIGHUP)
    assert signal.SIGHUP in signals(process.pid, "SigIgn")
    process.send_signal(signal.SIGTERM)
    assert Ended(process).code == 0


def test_a_command_of_a_worker_starts_with_default_signals(station, work):  # noqa: F811
    """It ends by Ctrl-C or SIGTERM as its author expects; nohup still holds."""
    station.start()
    work("grep -E '^Sig(Blk|Ign):' /proc/self/status", wrap=[*NOHUP, *BLOCKED_AND_IGNORED])
    run = station.peer()
    run.send(*a_call())
    while (answer := run.recv()).code != OK:
        pass
    masks = {name: int(mask, 16) for name, mask in
             (line.split(":") for line in answer.get(CONTENT).decode().splitlines())}
    assert masks == {"SigBlk": 0, "SigIgn": 1 << signal.SIGHUP - 1}
