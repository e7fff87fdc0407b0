"""Events of flows (proto 8.2): those of the plans of steps, and plan.flow.NAME."""
import json
import re
import time

import pytest

from clitest import Ended, start
from curvetest import CurveRig
from faulttest import history
from flowrig import Flows, call
from zplanprocs import wait_until


@pytest.fixture
def flows(rig):
    return Flows(rig)


class Heard:
    """All events, in their order, and none missing."""

    def __init__(self, rig):
        self.events, self.got = rig.events(), []

    def until(self, name, **state):
        """The events up to this one, which is the last."""
        begin = len(self.got)
        while True:
            event = self.events.recv()
            self.got.append(event)
            numbers = [event.state["seq"] for event in self.got]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            if event.name == name and state.items() <= event.state.items():
                return self.got[begin:]


def of_flow(events):
    return [(event.state["event"], event.state.get("step")) for event in events if event.name == "flow"]


def of_plan(events, title):
    return [event.name for event in events if event.state.get("description") == title]


def test_a_run_and_the_plans_of_its_steps(rig, flows):
    flows.put("chain", {"a": call(), "b": call(["a"])})
    heard = Heard(rig)
    ident = flows.start("chain")
    run = flows.next("a").flow["run"]
    flows.next("b")
    got = heard.until("flow", event="end")
    rest = heard.until("result", description="chain")
    assert of_flow(got) == [("begin", None), ("end", None)]
    begin, end = [event for event in got if event.name == "flow"]
    for event in begin, end:
        assert event.station == "chain" and event.ident == ident
        assert {name: event.state[name] for name in ("flow", "run", "version")} == {"flow": "chain", "run": run, "version": 1}
    assert end.state["state"] == "finished" and "failed" not in end.state
    for step in "ab":
        assert of_plan(got + rest, f"chain/{step}") == ["add", "queue", "exec", "end", "result"]
        mine = [event for event in got if event.state.get("description") == f"chain/{step}"]
        assert all(event.state["flow"]["step"] == step and event.state["flow"]["run"] == run for event in mine)
        assert all(event.station == "jobs" for event in mine)
    assert of_plan(got + rest, "chain") == ["add", "queue", "exec", "end", "result"]
    begun = next(event for event in got if event.name == "exec" and event.state["description"] == "chain")
    assert f"{begun.state['flow_run']:x}" == run


def test_a_step_is_blocked_or_skipped_by_rule(rig, flows):
    """B068: Skipped by rule."""
    flows.put("night", {"a": call(), "b": call(["a"]), "c": {"if": "false", "let": {"x": "1"}},
                        "d": call([{"step": "a", "on": "skipped"}])})
    heard = Heard(rig)
    flows.start("night")
    flows.fail(flows.call())
    got = heard.until("flow", event="end")
    states = {event.state["step"]: event.state for event in got if event.name == "flow" and "step" in event.state}
    assert sorted(of_flow(got), key=str) == sorted([("begin", None), ("blocked", "b"), ("skipped", "c"), ("skipped", "d"),
                                                    ("end", None)], key=str)
    assert states["b"]["why"] == "a failed: disk full" and states["c"]["by"] == "rule"
    assert got[-1].state["state"] == "failed" and got[-1].state["failed"] == ["a"]


def test_operators_and_signals(rig, flows):
    """B068, B107: Skipped by a person, with the reason."""
    flows.put("human", {"a": call(), "yes": {"after": ["a"], "signal": {}}, "b": call(["yes"])})
    heard = Heard(rig)
    flows.start("human")
    first = flows.call()
    run = first.flow["run"]
    flows.flow("suspend", run, "lunch")
    flows.flow("resume", run)
    flows.fail(first)
    heard_end = heard.until("flow", event="end")
    assert of_flow(heard_end) == [("begin", None), ("suspended", None), ("resumed", None), ("blocked", "yes"), ("blocked", "b"),
                                  ("end", None)]
    assert next(event for event in heard_end if event.state.get("event") == "suspended").state["why"] == "lunch"
    flows.flow("skip", run, "a", '{"reason": "by hand"}')
    flows.flow("signal", run, "yes", "1")
    flows.next("b")
    got = heard.until("flow", event="end")
    assert of_flow(got) == [("resumed", None), ("skipped", "a"), ("signalled", "yes"), ("end", None)]
    skipped = next(event for event in got if event.state.get("event") == "skipped")
    assert skipped.state["by"] == "person" and skipped.state["why"] == "by hand"


def test_who_does_what_to_a_run_and_why(make_rig):
    """In the events, in the log of the run, in that of the station, and of a cancel in the run and its outcome."""
    rig = make_rig(kind=CurveRig, start=False)
    key = rig.allow("lead", "manage")
    rig.start()
    flows, lead = Flows(rig), rig.member(key)
    flows.put("two", {"a": call(), "b": call(["a"])})
    heard = Heard(rig)
    flows.start("two")
    first = flows.call()
    run = first.flow["run"]
    flows.fail(first)
    flows.until(run, "failed")
    lead.done("flow", "skip", run, "a", '{"reason": "by hand"}')
    flows.next("b")
    flows.until(run, "finished")
    lead.done("flow", "retry", run, '{"steps": ["b"], "reason": "once more"}')
    flows.call()
    lead.done("flow", "suspend", run, "lunch")
    lead.done("flow", "resume", run)
    lead.done("flow", "cancel", run, "no more")
    got = heard.until("flow", event="end", state="cancelled")
    want = {"skipped": ("person", "lead", "by hand"), "retried": ("lead", None, "once more"),
            "suspended": ("lead", None, "lunch"), "cancelled": ("lead", None, "no more")}
    found = {event.state["event"]: tuple(event.state.get(name) for name in ("by", "key", "why")) for event in got if event.name == "flow"}
    assert {name: found[name] for name in want} == want and found["resumed"] == ("lead", None, None)
    assert next(event for event in got if event.state.get("event") == "retried").state["steps"] == ["b"]
    assert flows.until(run, "cancelled")["error"] == "no more"
    wait_until(lambda: history(rig)[-1]["station"] == "two", "the flow plan has ended")
    assert history(rig)[-1]["reason"] == "no more"
    lines = flows.flow("log", run)["log"]
    assert [(line["step"], line["state"], line["by"], line["why"]) for line in lines if "by" in line] == [
        ("a", "skipped", "lead", "by hand"), ("b", "new", "lead", "once more")]
    log = rig.station.log_tail()
    for command, step, reason in (("skip", "a", "by hand"), ("retry", "", "once more"), ("cancel", "", "no more")):
        assert f"flow.command run={run} flow=two command={command} step='{step}' by='lead' reason='{reason}'" in log.replace('"', ""), log


def test_a_cancel_of_a_flow_plan_says_why(rig, flows):
    flows.put("two", {"a": call(), "b": call(["a"])})
    heard = Heard(rig)
    ident = flows.start("two")
    run = flows.call().flow["run"]
    rig.client.done("cancel", ident, "too late")
    got = heard.until("flow", event="end")
    assert [event.state["why"] for event in got if event.state.get("event") == "cancelled"] == ["cancelled: too late"]
    assert flows.until(run, "cancelled")["error"] == "cancelled: too late"


def test_a_forced_cancel_has_a_reason_only_if_one_is_given(flows):
    flows.put("two", {"a": call(), "b": call(["a"])})
    for words, error in ((["force"], None), (["too late", "force"], "too late"), (["", "force"], None)):
        flows.start("two")
        run = flows.call().flow["run"]
        flows.flow("cancel", run, *words)
        assert flows.until(run, "cancelled").get("error") == error


def test_a_rejection(rig, flows):
    flows.put("human", {"yes": {"signal": {}}, "b": call(["yes"])})
    heard = Heard(rig)
    flows.start("human")
    run = heard.until("flow", event="begin")[-1].state["run"]
    flows.flow("reject", run, "yes", "too dear")
    got = heard.until("flow", event="end")
    assert of_flow(got) == [("rejected", "yes"), ("blocked", "b"), ("end", None)]
    assert got[-3].state["why"] == "too dear"


def test_undone_steps(rig, flows):
    flows.put("trip", {"hotel": call(undo={"target": "jobs", "command": "free"}), "pay": call(["hotel"])})
    heard = Heard(rig)
    flows.start("trip")
    flows.next("hotel", "h1")
    flows.fail(flows.call())
    flows.next("hotel")
    got = heard.until("flow", event="end")
    assert of_flow(got) == [("begin", None), ("undone", "hotel"), ("end", None)]


def test_a_plan_that_is_taken_back_is_removed(rig, flows):
    rig.client.done("station", "add", f"away=api@{rig.ipc('a')}")
    flows.put("stop", {"a": call(target="away")})
    heard = Heard(rig)
    flows.start("stop")
    placed = heard.until("queue", description="stop/a")[-1]
    run = placed.state["flow"]["run"]
    flows.flow("cancel", run)
    got = heard.until("flow", event="end")
    assert [event.name for event in got if event.ident == placed.ident][-1] == "remove"
    assert got[-1].state["state"] == "cancelled"


def test_timers_have_no_events(rig, flows):
    flows.put("pause", {"w": {"wait": 1}})
    heard = Heard(rig)
    flows.start("pause")
    got = heard.until("flow", event="end")
    assert {event.state.get("description") for event in got if event.name != "flow"} == {"pause"}


def watched(rig, flows, *args):
    """The lines of a watch of flow `night`, which fails again and again."""
    flows.put("night", {"a": {"signal": {}}, "b": call(["a"])})
    process = start("watch", "--events", rig.ipc("e"), "-n", "12", *args)
    while process.poll() is None:
        ident = flows.start("night")
        flows.flow("reject", flows.run_of(ident, "night"), "a", "no")
        time.sleep(0.1)
    ended = Ended(process)     # what was under way when it subscribed may count as missed
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def test_watch_prints_events(rig, flows):
    lines = [line.split(" ", 1)[1] for line in watched(rig, flows, "night")]
    assert len(lines) == 12
    found = "\n".join(lines)
    assert re.search(r"^flow night [0-9a-f]+ begin$", found, re.M), found
    assert re.search(r"^flow night [0-9a-f]+ blocked b why=a failed: no$", found, re.M), found
    assert re.search(r"^flow night [0-9a-f]+ end state=failed$", found, re.M), found
    assert re.search(r'^exec night [0-9a-f]+ "night" running$', found, re.M), found


def test_watch_prints_the_step_of_a_call(rig, flows):
    flows.put("one", {"load": call()})
    process = start("watch", "--events", rig.ipc("e"), "-n", "12")
    while process.poll() is None:
        flows.start("one")
        rig.jobs.finish(rig.jobs.recv())
    found = Ended(process).out
    assert re.search(r" jobs [0-9a-f]+ .* run=[0-9a-f]+ step=load$", found, re.M), found


@pytest.mark.parametrize("option, title", [("--json", "title"), ("--json=wire", "description")])
def test_watch_prints_events_as_json(rig, flows, option, title):
    """The state of a plan has the names of all JSON, or of the wire; that of a run of a flow has its own."""
    events = [json.loads(line) for line in watched(rig, flows, option, "nig")]
    begun = next(event for event in events if event["event"] == "flow" and event["state"]["event"] == "begin")
    assert begun["target"] == begun["state"]["flow"] == "night" and begun["id"]
    assert any(event["event"] == "add" and event["state"][title] == "night" for event in events)
