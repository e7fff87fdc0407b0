"""zplan workers and zplan drain: the verbs that ask a target station."""
import json
import subprocess

from test_cli_completion import shells
from zstationtest import BIN, WAIT_S, station, work  # noqa: F401 station and work are fixtures


def zplan(station, *args):
    return subprocess.run([BIN / "zplan", "--connect", station.endpoint("request"), *args],
                          capture_output=True, text=True, timeout=WAIT_S)


def test_the_verbs(station, work):
    """B090: Workers are listed."""
    station.start("--worker-timeout", "1000000")     # they say nothing by themselves
    one = work("echo done", "--jobs", "2")
    station.worker(b"raw")
    told = zplan(station, "workers", "--times", "unix")
    heading, *lines = [line.split() for line in told.stdout.splitlines()]
    assert (told.returncode, told.stderr) == (0, "")
    assert heading == ["NAME", "JOBS", "CREDITS", "STATE", "SINCE", "COMMANDS"]
    assert [line[:4] for line in lines] == [["raw", "0", "1", "serving"], ["sh", "0", "2", "serving"]]
    assert [line[-1] for line in lines] == ["all", "all"]
    told = zplan(station, "drain", "sh")
    assert (told.returncode, told.stdout, told.stderr) == (0, "worker sh drains (1)\n", "")
    assert one.process.wait(WAIT_S) == 0
    told = zplan(station, "drain", "raw", "--json=wire")
    assert json.loads(told.stdout) == {"drained": "raw", "workers": 1}
    told = zplan(station, "workers", "--json=wire")
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert [(row["name"], row["draining"]) for row in rows] == [("raw", True)]


def test_the_verbs_in_trouble(station):
    station.start("--worker-timeout", "1000000")     # they say nothing by themselves
    station.worker(b"w")
    told = zplan(station, "drain", "nobody", "w")      # the other one all the same
    assert (told.returncode, told.stdout) == (1, "worker w drains (1)\n")
    assert told.stderr == "zplan: 'nobody': no worker of this name has joined\n"
    told = zplan(station, "drain")
    assert told.returncode == 2 and "want the name of a worker" in told.stderr
    station.stop()
    for args in (["workers"], ["drain", "w"]):
        told = zplan(station, *args, "--timeout", "100")
        assert told.returncode == 3 and "no answer from ipc://" in told.stderr
    station.start(type_="pub")      # has none, and knows no such words
    told = zplan(station, "workers")
    assert told.returncode == 1 and told.stderr.startswith("zplan: ")


def test_the_plan_station_has_no_workers(rig):
    for words in (["workers"], ["drain", "ann"]):
        ended = subprocess.run([f"{BIN}/zplan", "--connect", rig.ipc("q"), *words], capture_output=True, text=True, check=False)
        assert ended.returncode == 1 and ended.stderr.startswith(
            f"zplan: {rig.ipc('q')}: has no workers: --connect takes the request endpoint of a target station")


@shells
def test_names_are_completed(complete, station):
    station.start("--worker-timeout", "1000000")     # they say nothing by themselves
    for name in (b"ann", b"bob", b"beth"):
        station.worker(name)
    where = f"--connect {station.endpoint('request')}"
    env = {"ZPLAN_COMPLETION_TIMEOUT": str(int(WAIT_S * 1000))}
    assert complete(f"zplan {where} drain ", env=env) == ["ann", "beth", "bob"]
    assert complete(f"zplan drain {where} ann b", env=env) == ["beth", "bob"]
    told = zplan(station, "completion", "workers", "--json=wire")
    assert json.loads(told.stdout.splitlines()[0]) == {"name": "ann", "text": "serving"}
