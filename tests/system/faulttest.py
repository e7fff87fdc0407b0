"""Faults for tests: a station that dies at a point of its life cycle, and two on one Redis.

A station built with -Dfailpoints=true kills itself at the point that ZPLAN_FAILPOINT names.
"""
import json
import os
import signal
import time

from zplanprocs import WAIT, Zpland
from zplantest import Client, FT, ST, every, wait_until

LATE = 5        # seconds: what a slow machine may take over what should take a moment


# A point of the life cycle.

def died(station):
    """Wait until it has killed itself at its point; the next start is without one."""
    code = station.process.wait(WAIT)
    assert code == -signal.SIGKILL, (station.env["ZPLAN_FAILPOINT"], code, station.log_tail())
    station.end()
    del station.env["ZPLAN_FAILPOINT"]


def armed(make_rig, point, *args, **options):
    """A rig whose station will die at this point, connected with its target."""
    rig = make_rig(*args, env={"ZPLAN_FAILPOINT": point}, **options)
    connected(rig)
    return rig


def connected(rig, name="jobs", client=None):
    def up():
        stations = (client or rig.client).done("station", "list").json["stations"]
        return any(one["name"] == name and one["connected"] for one in stations)
    wait_until(up, f"{name} is connected")


def twice():
    """A plan that is due now, and then not for long: what was counted stands in its message."""
    return every(1000, 2, no_keep=True, plan_time=int(time.time()) - 1000)


def resend(rig, ident, run, status=ST.OK, client=None):
    """A result of this run by the request socket."""
    (client or rig.client).result(ident, status, [(FT.LOCAL_ID, run.local_id)])


# What must be true afterwards.

def history(rig, client=None, **query):
    """The outcomes of all runs, or of those that are asked for, the oldest first."""
    found, client = [], client or rig.client
    while True:
        answer = client.done("history", {"limit": 1000, **query}).json
        found += answer["runs"]
        if "next" not in answer:
            return found
        query["after"] = answer["next"]


def outcomes(rig, ident, client=None):
    """(status, exec_id) of each outcome of this plan. A station that has just started may not be
    connected with the target yet: that was no run."""
    return [(run["status"], run["exec_id"]) for run in history(rig, client, plan=ident)
            if run["status"] != ST.SEND_ERROR]


def is_whole(rig, client=None):
    """Nothing is half-written: each key of a plan stands beside those that belong to it, and no
    run and no broadcast was counted twice. For plans that are all in the queue."""
    db = rig.db
    messages = {key.decode() for key in db.keys("plan:msg:*")}
    ids = [entry.decode().partition(":") for entry in db.zrange("plan:ids", 0, -1)]
    assert sorted(f"plan:msg:{name}:{int(ident, 16):x}" for ident, _, name in ids) == \
        sorted(messages)
    assert {key.decode() for key in db.zrange("plan:time:set", 0, -1)} == messages
    assert {key.decode() for key in db.hkeys("plan:run")} <= messages
    assert {key.decode().replace("work", "msg", 1) for key in db.keys("plan:work:*")} <= messages
    counts = db.hgetall("plan:count")
    assert sum(int(n) for name, n in counts.items() if name.startswith(b"s:")) == len(messages)
    runs, meta = history(rig, client), db.hgetall("plan:meta")
    told = [run["seq"] for run in runs if run["seq"]]
    assert told == list(range(1, int(meta.get(b"seq", 0)) + 1)), told
    execs = [run["exec_id"] for run in runs]
    assert len(set(execs)) == len(execs), "a run has two outcomes"
    for key in messages:
        execs.append(json.loads(db.get(key))["exec_id"])
    assert max(execs, default=0) <= int(meta.get(b"exec", 0))


# Two stations.

def freeze(station):
    os.kill(station.pid, signal.SIGSTOP)

    def stopped():
        with open(f"/proc/{station.pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"
    wait_until(stopped, "the station is stopped")


def thaw(station):
    os.kill(station.pid, signal.SIGCONT)


class Pair:
    """The station of a rig, and another on the same Redis with the same targets, or with a `jobs`
    of its own at this endpoint."""

    def __init__(self, rig, jobs=None):
        args = [arg + "2" if arg.startswith("ipc:") else arg for arg in rig.station.args]
        if jobs:
            args[args.index("jobs=api@" + rig.jobs.endpoint)] = "jobs=api@" + jobs
        self.rig = rig
        self.clients = [rig.client, rig.keep(Client(rig.ipc("q2")))]
        self.stations = [rig.station, Zpland(rig.path("log2"), args)]

    def start(self):
        for station, client in zip(self.stations, self.clients):
            if not station.process:
                station.start()
            connected(self.rig, client=client)
        return self

    def counter(self, nth, name):
        return self.clients[nth].done("stats").json["counters"][name]

    def close(self):
        for station in self.stations:
            if station.process and station.process.poll() is None:
                thaw(station)
        try:
            self.stations[1].stop()
        finally:
            self.stations[1].reap()
