"""The JSON schemas of proto/ say of the vectors what the station says."""
import copy
import glob
import json
import os
import re

import pytest

from schema import valid
from story import VECTORS, frame_of, vectors

# What a schema cannot say: about bytes, about two fields at once, about which days there are.
NOT_SAID = {"NUL in a text", "a field twice", "4097 bytes", "skip_set as many as repeats",
            "skip_set of a plan that runs once", "plan_time of no date", "a frame of broken base64",
            "plan_value of another type", "cron: no such hour", "end_time before start_time",
            "iterations and other repeats"}


def schema(name):
    with open(os.path.join(VECTORS, "..", name), encoding="utf-8") as file:
        return json.load(file)


def read(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


@pytest.mark.parametrize("vector", vectors("plan_frames.json")["frames"], ids=lambda v: v["name"])
def test_plan_frames(vector):
    frame = read(frame_of(vector["frame"]))
    if frame is not None and vector["name"] not in NOT_SAID:
        assert valid(schema("plan.schema.json"), frame) == (vector["verdict"] == "valid")


@pytest.mark.parametrize("vector", vectors("redis.json")["messages"], ids=lambda v: v["name"])
def test_messages(vector):
    message = read(vector["text"])
    if message is not None and vector["name"] not in NOT_SAID:
        good = valid(schema("message.schema.json"), message) and "messages" in message
        assert good == (vector["verdict"] != "unreadable")


def test_plans_and_runs_of_the_stories():
    plans = runs = 0
    for file in ("broadcasts.json", "dispatch.json", "management.json", "votes.json"):
        for step in (step for story in vectors(file)["stories"] for step in story["steps"]):
            texts = [frame_of(frame) for frame in step["frames"] if step["from"] == "station"]
            texts += [asked["answer"] for asked in step.get("redis", [])]
            for said in filter(lambda said: isinstance(said, dict), map(read, filter(None, texts))):
                if "uptime_s" in said:
                    continue
                for run in said.get("runs", []):
                    assert valid(schema("run.schema.json"), run), run
                    runs += 1
                for plan in said.get("plans", [said] if "request_id" in said else []):
                    if "exec_state" not in plan:
                        assert valid(schema("message.schema.json"), plan), plan
                        plans += 1
    assert plans > 100 and runs > 10


# -- definitions of flows

FLOWS = os.path.join(VECTORS, "..", "flows")
GOOD = {"flow": "f", "steps": {"a": {"target": "jobs"}, "b": {"after": ["a"]}}}


def flows():
    """The examples, and the definitions in flows.md."""
    for path in sorted(glob.glob(os.path.join(FLOWS, "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), json.load(file)
    with open(os.path.join(VECTORS, "..", "flows.md"), encoding="utf-8") as file:
        for at, text in enumerate(re.findall(r"(?ms)^```json\n(.*?)^```", file.read())):
            yield f"flows.md {at}", json.loads(text)


@pytest.mark.parametrize("flow", [pytest.param(flow, id=name) for name, flow in flows()])
def test_flows(flow):
    assert valid(schema("flow.schema.json"), flow)


def test_there_are_six_examples():
    assert len(list(flows())) == 6 + 3


def changed(path, value):
    flow = copy.deepcopy(GOOD)
    *above, last = path.split("/")
    at = flow
    for name in above:
        at = at[name]
    at[last] = value
    return flow


@pytest.mark.parametrize("path, value, good", [
    ("flow", "f" * 64, True), ("flow", "f" * 65, False), ("flow", "a/b", False), ("flow", "", False),
    ("steps", {}, False), ("steps/a b", {}, False), ("steps/b/target", "t", True), ("unknown", 1, False),
    ("steps/b/unknown", 1, False), ("steps/b/signal", {}, True), ("steps/a/signal", {}, False),
    ("steps/b/wait", 5, True), ("steps/a/wait", 5, False), ("steps/b/wait", -1, False),
    ("steps/a/join", "majority", True), ("steps/a/join", "most", False), ("steps/a/join", 0, False),
    ("steps/b/after", [{"step": "a", "on": ["failed", "ended"]}], True),
    ("steps/b/after", [{"step": "a", "on": "broken"}], False), ("steps/b/after", [{"on": "failed"}], False),
    ("steps/a/retry", {"strategy": "fixed"}, False),
    ("steps/a/retry", {"strategy": "fixed", "interval": 1}, True),
    ("steps/a/tolerate", "20%", True), ("steps/a/tolerate", "101%", False), ("steps/a/tolerate", -1, False),
    ("steps/a/collect", "all", False), ("steps/a/on_error", "continue", True),
    ("steps/a/undo", "inner", True), ("steps/a/undo", "outer", False), ("steps/a/undo", {"command": "x"}, False),
    ("steps/a/undo", {"target": "jobs", "on": "started"}, True), ("steps/a/let", {"item": "1"}, False),
    ("params", {"day": "=1", "n": {"type": "integer", "required": True}}, True),
    ("params", {"idc": 1}, False), ("params", {"my-day": 1}, False), ("params", {"o": {"a": 1}}, False),
    ("params", {"o": {"type": "number"}}, False), ("max_parallel", 0, True), ("max_parallel", 10001, False),
    ("edges", [{"source": "a", "target": "b"}], True), ("edges", [{"source": "a"}], False),
    ("defaults", {"target": "jobs", "timeout": 1}, True), ("defaults", {"after": []}, False),
    ("kinds", {"k": {"timeout": 5}}, True), ("kinds", {"k": 5}, False), ("kinds", {"a b": {}}, False)])
def test_a_field_of_a_flow(path, value, good):
    assert valid(schema("flow.schema.json"), changed(path, value)) is good
