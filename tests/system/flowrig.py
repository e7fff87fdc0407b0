"""Runs of flows at a real station: definitions are put, flow plans submitted, and a worker answers the calls by name."""
import json
import time

from zplantest import CMD, FT, ST, WAIT, at_once, wait_until


class Call:
    """A dispatch of a step's plan."""

    def __init__(self, run):
        self.run = run
        self.flow = run.plan["flow"]
        self.step, self.item = self.flow["step"], self.flow.get("item")
        self.command = (run.get(FT.COMMAND) or b"").decode()
        self.args = [arg.decode() for arg in run.every(FT.ARG)]
        self.json = json.loads(run.get(FT.JSON)) if run.get(FT.JSON) else None
        self.text = run.get(FT.CONTENT)
        self.ident = run.mailbox[1:].decode()

    def __repr__(self):
        return f"Call({self.flow} {self.command} {self.args} {self.json})"

    @property
    def name(self):
        return self.step if self.item is None else f"{self.step}.{self.item}"


class Flows:
    """`rig` with words for flows."""

    def __init__(self, rig):
        self.rig, self.client, self.jobs = rig, rig.client, rig.jobs
        self.calls = []     # as they came

    def put(self, name, steps, **fields):
        return self.flow("put", json.dumps({"flow": name, "steps": steps, **fields}))

    def flow(self, word, *args):
        return self.client.done("flow", word, *args).json

    def refused(self, word, *args, **options):
        return self.client.refused("flow", word, *args, **options)

    def start(self, name, data=None, **plan):
        """Submit a flow plan that runs once, now; its id."""
        more = [(FT.JSON, json.dumps(data).encode())] if data is not None else []
        return self.client.added(at_once(description=name, **plan), station=name, head=[], more=more)

    def call(self, timeout=WAIT):
        """The next call."""
        while True:
            run = self.jobs.recv(timeout)
            if run.code != CMD.CLOSE_REQUEST:
                call = Call(run)
                self.calls.append(call)
                return call

    def expect(self, *names):
        """The next calls, in any order; by their names."""
        found = [self.call() for _ in names]
        assert sorted(call.name for call in found) == sorted(names), found
        return {call.name: call for call in found}

    def done(self, call, value=None, text=None):
        pairs = [(FT.JSON, json.dumps(value).encode())] if value is not None else []
        if text is not None:
            pairs.append((FT.CONTENT, text))
        self.jobs.finish(call.run, ST.OK, pairs)

    def fail(self, call, words="disk full"):
        self.jobs.finish(call.run, ST.FAILED, [(FT.STATUS, words.encode())])

    def next(self, name, value=None):
        """The next call is this one; it ends well."""
        call = self.call()
        assert call.name == name, call
        self.done(call, value)
        return call

    def run_of(self, ident, name):
        """The number of the run of a flow plan, as soon as it has begun."""
        def begun():
            message = self.rig.message(ident, name)
            return message and message.get("flow_run")
        return f"{wait_until(begun, 'the run begins'):x}"

    def show(self, run, *filters):
        return self.flow("show", run, *filters)

    def states(self, run):
        return {step["step"]: step["state"] for step in self.show(run)["steps"]}

    def until(self, run, state):
        """The run, when it is in this state."""
        def reached():
            shown = self.show(run)
            return shown if shown["state"] == state else None
        return wait_until(reached, f"the run is {state}")

    def nothing(self, seconds=0.3):
        self.jobs.nothing(seconds)


def call(after=(), target="jobs", command="do", **fields):
    """A step that calls a target."""
    step = {"target": target, "command": command, **fields}
    return {"after": list(after), **step} if after else step


def soon(seconds):
    return time.time() + seconds
