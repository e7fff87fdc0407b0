"""Runs of flows that are played while the station dies and comes back."""
import json
import time

from faulttest import died, is_whole
from flowrig import Call, Flows, call
from zplantest import CMD, FT, ST, wait_until

DONE = (ST.OK, None)
INNER = {"x": call(), "y": call(["x"])}
ALL = {"a": call(),
       "b": call(["a"]), "c": call(["a"]),
       "each": call(["a"], for_each=[1, 2, 3], args=["=item"], max_parallel=2),
       "sub": {"after": ["b"], "target": "inner", "json": {}},
       "w": {"after": ["c"], "wait": 1},
       "s": {"after": ["c"], "signal": {}},
       "d": call(["b", "c", "each", "sub", "w", "s"], json={"s": "=steps.s.value", "each": "=steps.each.value"})}
EVERY_STEP = ["a", "b", "c", "each.0", "each.1", "each.2", "x", "y", "d"]


class Played:
    """Runs whose calls are answered by a function, while the station dies and comes back. `answer` gives the status and
    the value of a call, or None: it is left in flight."""

    def __init__(self, rig, answer=lambda step: DONE):
        self.rig, self.flows, self.answer = rig, Flows(rig), answer
        self.calls, self.in_flight, self.deaths = [], set(), 0
        self.client = rig.dealer()
        self.revive = self.restart

    def restart(self):
        died(self.rig.station)
        self.deaths += 1
        # What is still a plan was in flight, or is still to be sent.
        self.in_flight |= {one.ident for one in self.calls if self.rig.left(one.ident)}
        self.rig.station.start()
        self.client = self.rig.dealer()

    def is_dead(self):
        return self.rig.station.process and self.rig.station.process.poll() is not None

    def ask(self, *args):
        """The answer of the command flow: (status, JSON); None if the station dies meanwhile."""
        client = self.client
        client.send(CMD.NONE, [(FT.COMMAND, b"flow"), *((FT.ARG, a.encode()) for a in args)])
        end = time.monotonic() + 20
        while not client.socket.poll(20):
            if self.is_dead():
                return None
            assert time.monotonic() < end, f"no answer to {args}"
        reply = client.recv()
        return reply.code, reply.json if reply.code == ST.OK else reply.text

    def show(self, run):
        answer = self.ask("show", run)
        return answer[1] if answer and answer[0] == ST.OK else None

    def work(self, timeout=0.02):
        """Answer the calls that are there; False: there was none."""
        jobs, some = self.rig.jobs, False
        while jobs.socket.poll(int(timeout * 1000)):
            packet = jobs.recv()
            if packet.code == CMD.CLOSE_REQUEST:
                continue
            one, some = Call(packet), True
            self.calls.append(one)
            end = self.answer(one)
            if end:
                status, value = end
                pairs = [(FT.JSON, json.dumps(value).encode())] if value is not None else []
                jobs.finish(packet, status, pairs)
        return some

    def until(self, reached, what, seconds=30):
        """Work until this is true. It may ask the station."""
        end = time.monotonic() + seconds
        while True:
            if self.is_dead():
                self.revive()
            if not self.work():
                found = reached()
                if found:
                    return found
            assert time.monotonic() < end, f"not within {seconds} s: {what}; {self.calls}"

    def root(self, flow):
        """The number of the run of this flow, as soon as one of its calls has come."""
        runs = [one.flow["run"] for one in self.calls if one.flow["name"] == flow]
        return runs[0] if runs else None

    def ended(self, run, *states):
        """Work until the run is in one of these states; signals that it waits for are given."""
        def reached():
            shown = self.show(run)
            for step in shown["steps"] if shown else []:
                if step["state"] == "running" and "signal" in step.get("why", ""):
                    self.ask("signal", run, step["step"], '"yes"')
            return shown if shown and shown["state"] in states else None
        return self.until(reached, f"the run is {states}")

    def none_doubled(self, *names):
        """Each of these calls once; only those that were in flight when the station died may have come again."""
        assert sorted({one.name for one in self.calls}) == sorted(names)
        seen = {}
        for one in self.calls:
            seen.setdefault((one.ident, one.flow["run"], one.flow["generation"]), []).append(one)
        assert len(seen) == len(names), [call[1:] for call in seen]
        doubled = {calls[0].ident for calls in seen.values() if len(calls) > 1}
        assert doubled <= self.in_flight, [one.name for one in self.calls]

    def all_gone(self):
        """No plan is left, and nothing is half-written."""
        wait_until(lambda: not self.rig.db.keys("plan:msg:*"), "all plans are gone")
        wait_until(lambda: not set(self.rig.db.hkeys("plan:run")) - {b"table"}, "no run is in flight")
        self.rig.client = self.client
        is_whole(self.rig)


def put_all(flows):
    flows.put("inner", INNER)
    flows.put("all", ALL, max_parallel=8)
