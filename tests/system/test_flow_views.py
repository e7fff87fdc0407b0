"""What people see of a run: which items failed, in its log and in show; undos; params; why of an item."""
import json
import re

import pytest

from clitest import REFUSED, Ended, zplan
from flowrig import call
from test_cli_flow_runs import Cli
from zplantest import ST, wait_until

UNDO = {"target": "jobs", "command": "free", "retry": {"strategy": "none"}}


@pytest.fixture
def flows(rig):
    return Cli(rig)


def lines(flows, run):
    return [(line["step"], line.get("item"), line["state"], line.get("detail")) for line in flows.flow("log", run)["log"]]


def each_ended(flows, count, failing, **fields):
    """Each item is called once; its run when it is in its end state."""
    flows.put("each", {"work": call(for_each=count, **fields)})
    flows.start("each")
    run = None
    for _ in range(count):
        one = flows.call()
        run = one.flow["run"]
        if one.item in failing:
            flows.fail(one, f"not yet {one.item}")
        else:
            flows.done(one, one.item)
    return run


# -- items

def test_the_log_names_the_items_that_failed(flows):
    run = each_ended(flows, 4, {1, 3}, max_parallel=1, tolerate=2)
    flows.until(run, "finished")
    assert lines(flows, run) == [
        ("work", None, "running", None), ("work", 1, "failed", "not yet 1"),
        ("work", 3, "failed", "not yet 3"), ("work", None, "finished", None)]
    assert re.search(r"  work\.1 +failed +not yet 1\n", flows.say("log", run))
    assert [line.get("item") for line in flows.json("log", run)] == [None, 1, 3, None]


def test_a_large_fan_out_takes_few_lines(flows):
    run = each_ended(flows, 40, set(range(0, 40, 2)), max_parallel=1, tolerate=40)
    flows.until(run, "finished")
    assert [line[1:] for line in lines(flows, run)] == [
        (None, "running", None), *[(2 * i, "failed", f"not yet {2 * i}") for i in range(10)],
        (None, "finished", None)]


def test_an_item_that_could_not_be_called_is_in_the_log(flows):
    flows.put("each", {"work": call(for_each=[1, 0], args=["=4 / item"])})
    flows.start("each")
    run = flows.next("work.0").flow["run"]
    flows.until(run, "failed")
    assert ("work", 1, "failed", "args[0]: column 3: division by zero") in lines(flows, run)


def test_show_names_the_items_that_failed(flows):
    run = each_ended(flows, 30, set(range(12)), tolerate=12)
    items = flows.until(run, "finished")["steps"][0]["items"]
    assert (items["failed"], items["errors"]) == (12, [{"item": i, "error": f"not yet {i}"} for i in range(10)])
    assert "12 failed; failed: 0 not yet 0, 1 not yet 1, " in flows.say("show", run)


def test_errors_of_items_outlast_a_restart(make_rig):
    rig = make_rig()
    flows = Cli(rig)
    run = each_ended(flows, 3, {1}, tolerate=1, max_parallel=1)
    flows.until(run, "finished")
    rig.station.kill()
    rig.station.start()
    assert flows.show(run)["steps"][0]["items"]["errors"] == [{"item": 1, "error": "not yet 1"}]


def test_an_item_that_is_retried_has_no_error(flows):
    run = each_ended(flows, 2, {1})
    flows.until(run, "failed")
    flows.flow("retry", run)
    flows.next("work.1")
    assert "errors" not in flows.until(run, "finished")["steps"][0]["items"]


def test_the_history_names_items(flows):
    run = each_ended(flows, 2, {1}, max_parallel=1)
    flows.until(run, "failed")
    rows = zplan(*flows.where(), "history").done().splitlines()
    assert [[label for label in row.split() if label.startswith("each/work")] for row in rows[1:3]] == [
        ["each/work.0"], ["each/work.1"]]


def test_the_log_names_an_item_that_was_skipped(flows):
    run = each_ended(flows, 2, {1}, max_parallel=1)
    flows.until(run, "failed")
    flows.flow("skip", run, "work.1", json.dumps({"reason": "by hand"}))
    flows.until(run, "finished")
    line, last = flows.flow("log", run)["log"][-2:]
    assert (line["item"], line["state"], line["why"], last["state"]) == (1, "skipped", "by hand", "finished")


def test_a_wait_that_is_retried_is_in_the_log(flows):
    flows.put("night", {"w": {"wait": 3600}})
    run = flows.run_of(flows.start("night"), "night")
    flows.flow("retry", run, json.dumps({"steps": ["w"], "reason": "again"}))
    assert [line.get("why") for line in flows.flow("log", run)["log"]] == [None, "again"]


# -- undo

def test_undos_are_in_the_log_and_in_show(flows):
    flows.put("trip", {"hotel": call(undo=UNDO), "each": call(for_each=2, undo=UNDO, max_parallel=1),
                       "pay": call(["hotel", "each"])}, max_parallel=1)
    flows.start("trip")
    flows.next("hotel")
    flows.next("each.0")
    run = flows.next("each.1").flow["run"]
    flows.fail(flows.call())
    steps = {step["step"]: step for step in flows.until(run, "undoing")["steps"]}
    assert (steps["each"]["undo"], steps["each"]["undo_item"], "undo" in steps["hotel"]) == ("undoing", 1, False)
    flows.next("each.1")
    flows.fail(flows.call(), "no such booking")
    shown = wait_until(lambda: flows.show(run) if "undo_parked" in flows.show(run) else None, "the undo is parked")
    steps = {step["step"]: step for step in shown["steps"]}
    assert (shown["undo_parked"], steps["each"]["undo"], steps["each"]["undo_item"]) == ("each.0", "parked", 0)
    assert steps["each"]["items"]["undone"] == 1
    text = flows.say("show", run)
    assert f"zplan flow reset {run}/each.0 tries" in text and "1 undone; undo of item 0 parked" in text
    flows.say("done", f"{run}/each.0")
    flows.next("hotel")
    steps = {step["step"]: step for step in flows.until(run, "failed")["steps"]}
    assert [steps[name].get("undo") for name in ("hotel", "each", "pay")] == ["undone", "undone", None]
    assert [line for line in lines(flows, run) if line[2] in ("undoing", "undone", "parked")] == [
        ("each", 1, "undoing", None), ("each", 1, "undone", None), ("each", 0, "undoing", None),
        ("each", 0, "parked", "no such booking"), ("each", 0, "undone", None), ("hotel", None, "undoing", None),
        ("hotel", None, "undone", None)]


def test_an_undo_that_cannot_be_called_is_parked(flows):
    flows.put("trip", {"hotel": call(undo={**UNDO, "args": ["=1 / 0"]}), "pay": call(["hotel"])})
    flows.start("trip")
    run = flows.next("hotel").flow["run"]
    flows.fail(flows.call())
    wait_until(lambda: "undo_parked" in flows.show(run), "the undo is parked")
    flows.say("reset", f"{run}/hotel")
    line = ("hotel", None, "parked", "args[0]: column 3: division by zero")
    assert [one for one in lines(flows, run) if one[0] == "hotel"][-2:] == [line, line]


def test_wait_says_what_to_do_about_a_parked_undo(flows):
    flows.put("trip", {"hotel": call(undo=UNDO), "pay": call(["hotel"])})
    waiting = flows.begin("start", "trip", "--wait")
    run = flows.next("hotel").flow["run"]
    flows.fail(flows.call())
    flows.fail(flows.call())
    advice = f"the run waits: zplan flow reset {run}/hotel tries the undo again, zplan flow done {run}/hotel goes on"
    assert advice in waiting.stderr.readline().decode()
    flows.say("done", f"{run}/hotel")
    ended = Ended(waiting)
    assert ended.code == REFUSED and re.search(" hotel +undoing\n", ended.out)


def test_doctor_and_status_name_a_parked_undo(flows):
    flows.put("trip", {"hotel": call(undo=UNDO), "pay": call(["hotel"])})
    flows.start("trip")
    run = flows.next("hotel").flow["run"]
    flows.fail(flows.call())
    flows.fail(flows.call())
    wait_until(lambda: "undo_parked" in flows.show(run), "the undo is parked")
    text = f"run {run} of flow trip waits: the undo of hotel has failed permanently"
    said = zplan(*flows.where(), "doctor").out
    assert f"warn  {text}\n      do: zplan flow reset {run}/hotel tries it again" in said
    assert text in str(json.loads(zplan(*flows.where(), "status", "--json").out)["findings"])
    flows.say("done", f"{run}/hotel")
    flows.until(run, "failed")
    assert "has failed permanently" not in zplan(*flows.where(), "doctor").out


def test_cancel_of_a_parked_undo_says_what_to_do(flows):
    flows.put("trip", {"hotel": call(undo=UNDO), "pay": call(["hotel"])})
    flows.start("trip")
    run = flows.next("hotel").flow["run"]
    flows.fail(flows.call())
    flows.fail(flows.call())
    wait_until(lambda: "undo_parked" in flows.show(run), "the undo is parked")
    assert "its undo has failed: `reset` tries again" in flows.client.refused("cancel", f"{run}/hotel")


# -- params, why

def test_params_that_are_times_are_shown(flows):
    flows.put("night", {"a": call()}, params={"d": "=idc.loadDate", "s": "=d.format('yyyy')"})
    flows.start("night", batch="2026-02-03")
    run = flows.next("a").flow["run"]
    assert flows.show(run)["params"] == {"d": "2026-02-03T00:00:00", "s": "2026"}


def whys(flows, name):
    answer = flows.client.done("why", name).json
    return answer["step_state"], [(reason["why"], reason["until"]) for reason in answer["reasons"]]


def test_why_of_an_item(flows):
    flows.put("each", {"work": call(for_each=4, max_parallel=1)})
    flows.start("each")
    run = flows.next("work.0").flow["run"]
    one = flows.call()
    assert whys(flows, f"{run}/work.0") == ("finished", [("it has finished", "flow retry repeats it")])
    assert whys(flows, f"{run}/work.2")[1][0] == ("it has not started", "its turn")
    flows.fail(one, "not yet")
    flows.until(run, "failed")
    assert whys(flows, f"{run}/work.1") == ("failed", [("it has failed: not yet", "flow retry, or flow skip")])
    state, reasons = whys(flows, f"{run}/work.2")
    assert (state, reasons[0][0]) == ("none", "it has not started")
    assert reasons[1][0] == "it has failed: 1 of 4 items failed: not yet"
    assert flows.client.done("why", f"{run}/work.2").json["item"] == 2


def test_why_of_a_step_whose_item_has_a_parked_undo(flows):
    flows.put("trip", {"each": call(for_each=2, undo=UNDO, max_parallel=1), "pay": call(["each"])})
    flows.start("trip")
    flows.next("each.0")
    run = flows.next("each.1").flow["run"]
    flows.fail(flows.call())
    flows.fail(flows.call())
    wait_until(lambda: "undo_parked" in flows.show(run), "the undo is parked")
    assert whys(flows, f"{run}/each")[1] == [("the undo of item 1 has failed, and is parked", "reset, or done, of item 1")]
    assert whys(flows, f"{run}/each.1")[1] == [("its undo has failed, and is parked", "reset, or done")]
    assert whys(flows, f"{run}/each.0")[1] == [("it has finished", "flow retry repeats it")]


def test_show_and_why_agree_on_the_state(flows):
    flows.put("slow", {"a": call()})
    flows.start("slow")
    one = flows.call()
    run = one.flow["run"]
    flows.jobs.answer(one.run, ST.RUNING)
    wait_until(lambda: flows.states(run)["a"] == "running", "RUNING has come")
    assert whys(flows, f"{run}/a")[0] == "running"


def test_the_plan_of_a_step_without_retry_is_not_retried(flows):
    flows.put("one", {"a": call()})
    flows.start("one")
    text = zplan(*flows.where(), "show", flows.call().ident).done()
    assert "retry          1 try; then it stops with an error\n" in text


def test_show_of_a_flow_plan_has_its_run(flows):
    flows.put("one", {"a": call()})
    ident = flows.start("one")
    run = flows.call().flow["run"]
    assert f"flow run       {run}\n" in zplan(*flows.where(), "show", ident).done()


def test_why_counts_the_signals_so_far(flows):
    flows.put("human", {"yes": {"signal": {"count": 2}}})
    ident = flows.start("human")
    run = flows.run_of(ident, "human")
    assert whys(flows, f"{run}/yes")[1] == [("waits for 2 signals", "a signal")]
    flows.flow("signal", run, "yes")
    assert whys(flows, f"{run}/yes")[1] == [("waits for 2 signals, 1 so far", "a signal")]
    assert flows.show(run)["steps"][0]["why"] == "for 2 signals, 1 so far"
