"""The JSON schemas of proto/ say of the vectors what the station says."""
import json
import os

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
