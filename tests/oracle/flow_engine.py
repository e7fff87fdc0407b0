"""The station's engine of flows, driven by lines of JSON: tests/model/flow_driver.c."""
import json
import os
import subprocess

DRIVER = os.path.join(os.path.dirname(os.environ.get("ZPLAN_ZONE_DUMP", "")), "flow_driver")
SEEN = {"new": "open", "running": "open", "accepted": "open"}


class Engine:
    """One process; runs are begun on it one after the other."""

    def __init__(self):
        self.process = subprocess.Popen([DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []         # of the present run: to reproduce it
        self.now = 0

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=20)

    def event(self, name, **fields):
        line = json.dumps({"event": name, **fields})
        self.lines.append(line)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def define(self, definition):
        answer = self.event("define", flow=definition)
        assert answer.get("ok"), (answer, definition)

    def begin(self, definition, name="r", **fields):
        """A run of a flow that was defined: what it says."""
        return self.event("begin", run=name, flow=definition["flow"], input={}, **fields)
