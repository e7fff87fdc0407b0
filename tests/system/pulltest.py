"""Workers that fetch plans, played by the tests: a rig with the pull station `pile`."""
import json

from zplantest import CMD, FT, ST, WORD, Client, at_once, wait_until

STATION = "pile"


def with_pile(make_rig, *args, **options):
    return make_rig("--station", f"{STATION}=pull", *args, **options)


def workers(**rule):
    return {"workers": rule}


def add(rig, plan=None, **more):
    """Submit a plan of the pile; its id."""
    return rig.client.added({**(plan or at_once()), **more}, station=STATION)


class Worker:
    """One that fetches: a connection of its own."""

    def __init__(self, rig, name=None, endpoint=None):
        self.client = rig.keep(Client(endpoint or rig.ipc("q"), prepare=rig.prepare))
        self.name = name
        self.runs = {}      # plan id -> exec_id of the job that it was given last

    def take(self, **wish):
        """The jobs it gets."""
        return self.taken(**wish)["jobs"]

    def taken(self, **wish):
        return self.keep(self.client.done("take", self.wish(**wish)).json)

    def keep(self, answer):
        self.runs.update((job["plan_id"], job["exec_id"]) for job in answer["jobs"])
        return answer

    def wish(self, **wish):
        named = {"worker": self.name} if self.name else {}
        return {"station": STATION, **named, **wish}

    def ask(self, **wish):
        """Send the wish; `told` reads the answer."""
        self.client.send(CMD.NONE, [(FT.COMMAND, b"take"), (FT.ARG, json.dumps(self.wish(**wish)).encode())])

    def told(self, timeout=20):
        reply = self.client.recv(timeout)
        assert reply.code == ST.OK and reply.text == WORD[ST.OK], reply
        return self.keep(reply.json)["jobs"]

    def one(self, wait=20, **wish):
        """The one job that it waits for."""
        (job,) = self.take(wait=wait, **wish)
        return job

    def alive(self, ident, **more):
        return self.client.done("alive", {"plan": ident, "worker": self.name, **more}).json

    def report(self, ident, state="success", **more):
        return self.client.done("report", self.outcome(ident, state, more)).json

    def refused(self, ident, state="success", **more):
        return self.client.refused("report", self.outcome(ident, state, more))

    def outcome(self, ident, state, more):
        run = self.runs.get(ident, "1")
        return {"plan": ident, "worker": self.name, "exec_id": run, "state": state, **more}

    def stop(self, ident, **more):
        """Why its next sign of life is answered with stop."""
        return self.alive(ident, **more)["stop"]


def team(rig, ident):
    return rig.client.done("team", ident).json


def states(rig, ident):
    """The task's state, and worker -> state."""
    found = team(rig, ident)
    return found["state"], {worker["worker"]: worker["state"] for worker in found["workers"]}


def offered(rig, *idents):
    """Wait until these are offered."""
    def all_there():
        return all(b"!" in (rig.db.hget("plan:run", rig.key(ident, STATION)) or b"") for ident in idents)
    wait_until(all_there, "the plans are offered")
