"""flow retry with a version: a run goes on by a definition in which the step that failed was mended."""
import json

import pytest

from clitest import zplan
from flowrig import Flows, call
from zplantest import ST, wait_until


@pytest.fixture
def flows(rig):
    return Flows(rig)


def failed(flows, **fields):
    """A run of version 1 whose second step has failed; its number."""
    flows.put("etl", {"load": call(command="load"), "send": call(["load"], command="send to nowhere"),
                      "tell": call(["send"], command="tell", args=["=steps.load.value"])}, **fields)
    flows.start("etl")
    run = flows.next("load", "rows").flow["run"]
    flows.fail(flows.call())
    flows.until(run, "failed")
    return run


def mended(flows, **fields):
    return flows.put("etl", {"load": call(command="load"), "send": call(["load"], command="send"),
                             "tell": call(["send"], command="tell", args=["=steps.load.value"])}, **fields)["version"]


def test_the_step_that_was_mended(rig, flows):
    """What finished keeps its value; a restart of the station reads the new version."""
    run = failed(flows)
    assert mended(flows) == 2
    assert flows.flow("retry", run, '{"version": 2}')["version"] == 2
    sent = flows.call()
    assert (sent.command, sent.flow["version"], sent.flow["run"]) == ("send", 2, run)
    flows.flow("suspend", run)
    flows.done(sent)
    wait_until(lambda: flows.states(run)["send"] == "finished", "it was sent")
    rig.restart()
    flows.client = rig.client
    flows.flow("resume", run)
    told = flows.next("tell")
    assert told.args == ["rows"] and told.flow["version"] == 2
    shown = flows.until(run, "finished")
    assert shown["version"] == 2 and shown["steps"][0]["value"] == "rows"


def test_what_differs_begins_anew(flows):
    """Also a step that finished, with the one behind it."""
    run = failed(flows)
    flows.put("etl", {"load": call(command="load all"), "send": call(["load"], command="send"),
                      "tell": call(["send"], command="tell", args=["=steps.load.value"])})
    flows.flow("retry", run, '{"version": 2}')
    assert flows.next("load", "more").command == "load all"
    flows.next("send")
    assert flows.next("tell").args == ["more"]
    flows.until(run, "finished")


def test_the_command_line(rig, flows):
    run = failed(flows)
    mended(flows)
    zplan("--connect", rig.ipc("q"), "flow", "retry", run, "--version", "2").done()
    flows.next("send")
    flows.next("tell")
    flows.until(run, "finished")


def test_new_params_are_evaluated(flows):
    run = failed(flows)
    flows.put("etl", {"load": call(command="load"), "send": call(["load"], command="send", args=["=where"]),
                      "tell": call(["send"], command="tell", args=["=steps.load.value"])}, params={"where": "there"})
    flows.flow("retry", run, '{"version": 2}')
    assert flows.next("send").args == ["there"]
    assert flows.show(run)["params"] == {"where": "there"}


@pytest.mark.parametrize("options, where", [({}, "here"), ({"fresh": True}, "there")])
def test_params_are_kept_unless_they_are_to_be_fresh(flows, options, where):
    """B035: a retry uses the params that were evaluated at first; with `fresh` they are evaluated again."""
    steps = {"load": call(command="load", args=["=where"]), "send": call(["load"], command="send", args=["=where"])}
    flows.put("etl", steps, params={"where": "='he' + 're'"})
    flows.start("etl")
    run = flows.next("load").flow["run"]
    flows.fail(flows.call())
    flows.until(run, "failed")
    flows.put("etl", steps, params={"where": "='the' + 're'"})
    flows.flow("retry", run, json.dumps({"version": 2, **options}))
    assert flows.next("send").args == [where]
    assert flows.until(run, "finished")["params"] == {"where": where}


@pytest.mark.parametrize("version, told", [
    (2, "the version has other steps, kinds of steps or edges"), ("x", "version: want the number of a version"), (0, "version: want"),
    (-1, "version: want"), (2 ** 40, "version: want"), (1.5, "version: want")])
def test_what_is_rejected(flows, version, told):
    """And the run stays as it was."""
    run = failed(flows)
    flows.put("etl", {"load": call(command="load"), "send": call(command="send"), "tell": call(["send"], command="tell")})
    assert told in flows.refused("retry", run, {"version": version})
    assert flows.show(run)["version"] == 1 and flows.show(run)["state"] == "failed"
    flows.flow("retry", run)
    assert flows.next("send").command == "send to nowhere"


@pytest.mark.parametrize("step", [{"wait": 60}, {"let": {"x": "=1"}}, {**call(command="load"), "for_each": [1, 2]}],
                         ids=["wait", "let", "for_each"])
def test_a_step_of_another_kind_is_rejected(flows, step):
    """Its call is in flight: it could not be taken back by the new definition."""
    flows.put("kinds", {"load": call(command="load")})
    flows.start("kinds")
    taken = flows.call()
    run = taken.flow["run"]
    flows.put("kinds", {"load": step})
    assert "the version has other steps, kinds of steps or edges" in flows.refused("retry", run, {"version": 2})
    flows.done(taken)
    flows.until(run, "finished")


def test_a_version_that_is_not_there(flows):
    run = failed(flows)
    assert "version 7" in flows.refused("retry", run, '{"version": 7}', status=ST.NOT_FIND)


def test_a_step_in_flight_stays_at_its_target(rig, flows):
    rig.client.done("station", "add", "other=pull")
    flows.put("pair", {"a": call(command="a"), "b": call(command="b")})
    flows.start("pair")
    calls = flows.expect("a", "b")
    run = calls["a"].flow["run"]
    flows.fail(calls["b"])
    flows.put("pair", {"a": call(command="a", target="other"), "b": call(command="b")})
    assert "step 'a' has another target in this version" in flows.refused("retry", run, '{"version": 2}')
    flows.done(calls["a"])
    flows.until(run, "failed")
    assert flows.flow("retry", run, '{"version": 2}')["version"] == 2
    flows.next("b")
