"""Faults for tests: a station that dies at a point of its life cycle, and an owner with a standby.

A station built with -Dfailpoints=true kills itself at the point that ZPLAN_FAILPOINT names.
"""
import contextlib
import json
import os
import select
import signal
import socket
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
    assert {key.decode() for key in db.hkeys("plan:run")} - {"table"} <= messages
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


# An owner and its standbys.

def stopped(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def freeze(station):
    os.kill(station.pid, signal.SIGSTOP)
    wait_until(lambda: stopped(station.process), "the station is stopped")


def thaw(station):
    os.kill(station.pid, signal.SIGCONT)


def silent(station):
    """It has printed no other word, and runs."""
    return station.process.poll() is None and not select.select([station.process.stdout], [], [], 0)[0]


def logged(station, event):
    """The lines of its log with this event."""
    with open(station.log, errors="replace") as log:
        return [line for line in log if f" event={event} " in line]


def is_closed(endpoint):
    """Nobody accepts connections at this ipc endpoint."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(endpoint.removeprefix("ipc://")) != 0


class Pair:
    """The station of a rig, which owns the plans, and standbys on the same Redis with the same targets.
    `rig.client` is a client of the owner."""

    def __init__(self, rig, standbys=1):
        self.rig, self.owner = rig, 0
        self.endpoints, self.stations = [rig.ipc("q")], [rig.station]
        for nth in range(2, standbys + 2):
            args = [arg + str(nth) if arg.startswith("ipc:") else arg for arg in rig.station.args]
            self.endpoints.append(rig.ipc("q") + str(nth))
            self.stations.append(Zpland(rig.path(f"log{nth}"), args))

    def start(self):
        if not self.stations[0].process:
            self.stations[0].start()
        connected(self.rig)
        for station in self.stations[1:]:
            self.starts_as_standby(station)
        return self

    def starts_as_standby(self, station):
        station.start(wait_ready=False)
        station.wait_standby()
        # libzmq closes it a moment later: a request in between would be lost.
        wait_until(lambda: is_closed(self.endpoints[self.stations.index(station)]), "its request socket is closed")

    @property
    def standby(self):
        """The first that is not the owner."""
        return self.stations[0 if self.owner else 1]

    def client(self, nth):
        return self.rig.keep(Client(self.endpoints[nth], prepare=self.rig.prepare))

    def takes_over(self, nth=1):
        """Wait until this standby serves; it is asked from now on."""
        word = self.stations[nth].next_word()
        assert word == "ready", word
        self.owner, self.rig.client = nth, self.client(nth)
        connected(self.rig)

    def steps_down(self, nth=0):
        """Wait until this former owner has seen that it is none, and is a standby."""
        self.stations[nth].wait_standby()
        assert logged(self.stations[nth], "owner.lost")

    def token(self):
        return self.rig.db.hget("plan:owner", "token")

    @contextlib.contextmanager
    def nobody_takes_over(self):
        """Whatever happens: the owner stays the owner, and nobody takes that for a takeover."""
        token = self.token()
        yield
        assert self.token() == token and all(map(silent, self.stations))

    def close(self):
        for station in self.stations:
            if station.process and station.process.poll() is None:
                thaw(station)
        try:
            for station in self.stations[1:]:
                station.stop()
        finally:
            for station in self.stations[1:]:
                station.reap()
