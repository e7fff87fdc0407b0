"""What a flow plan gives its runs: params, a batch, defaults for steps; and plans that are stored paused."""
import datetime
import json
import time

import pytest

from clitest import zplan
from flowrig import Flows, call
from zplantest import FT, ST, WORD, at_once, every, told, wait_until

ECHO = {"a": call(args=["=day", "=n"])}
PARAMS = {"day": "=#idc.shouldFireTime.format('yyyyMMdd')", "n": {"type": "integer", "default": 3}}


@pytest.fixture
def flows(rig):
    return Flows(rig)


def rejected(flows, plan, station, data=None):
    """The submission is rejected; the reason."""
    more = [(FT.JSON, json.dumps(data).encode())] if data is not None else []
    reply = flows.client.submit(plan, station=station, head=[], more=more)
    assert reply.code == ST.PLANERROR, reply
    assert not flows.rig.db.keys("plan:msg:*")
    return reply.text.removeprefix(WORD[ST.PLANERROR] + ": ")


def show(flows, ident):
    return flows.client.done("message", ident).json


# -- params

def test_the_input_counts_before_the_plan_and_that_before_the_flow(flows):
    """B001, B052: of the flow, of the plan, of the input: the later the stronger."""
    flows.put("etl", {"a": call(args=["=x", "=y", "=z"])}, params={"x": 1, "y": 1, "z": 1})
    flows.start("etl", {"z": 3}, params={"y": 2, "z": 2})
    assert flows.next("a").args == ["1", "2", "3"]


def test_params_are_expressions_of_the_run(flows):
    """B001, B052: params may be expressions."""
    flows.put("etl", ECHO, params=PARAMS)
    flows.start("etl", params={"day": "=idc.loadDate.plusDays(-1).format('yyyy-MM-dd')", "n": "=40 + 2"},
                batch="2024-03-01")
    assert flows.next("a").args == ["2024-02-29", "42"]


def test_params_as_a_text_are_evaluated_in_its_order(flows):
    """B007: lines of `name = expression`; later ones see earlier ones."""
    flows.put("etl", {"a": call(args=["=a", "=b"])}, params={"a": "", "b": ""})
    flows.start("etl", params="b = 'x' + 1; // the second of the flow\na = #b + 'y'")
    assert flows.next("a").args == ["x1y", "x1"]


def test_params_of_an_object_see_those_before_them(flows):
    """B007: an object, in its order."""
    flows.put("etl", {"a": call(args=["=a", "=b"])}, params={"a": "", "b": ""})
    flows.start("etl", params={"b": "=='q", "a": "=b + 1"})
    assert flows.next("a").args == ["='q1", "='q"]


@pytest.mark.parametrize("params, data, reason", [
    ({"nope": 1}, None, "params: no such param: 'nope'"),
    ("nope = 1", None, "params: no such param: 'nope'"),
    ({"n": "one"}, None, "params: param n: must be of type integer"),
    ({"n": 1.5}, None, "params: param n: must be of type integer"),
    (None, {"n": "one"}, "params: param n: must be of type integer"),
    ({"day": "=1 +"}, None, "params: param day: "),
    ({"day": "=steps.a.value"}, None, "params: param day: column 1: no such variable here: a.value"),
    ({"day": "=n"}, None, "params: param day: column 1: no such variable here: n"),
    ("day = 1 +", None, "params: column"),
    ("day = #item", None, "params: param day: column 7: no such variable here: item"),
])
def test_params_that_do_not_fit_are_rejected(flows, params, data, reason):
    flows.put("etl", ECHO, params=PARAMS)
    assert rejected(flows, at_once(**({"params": params} if params else {})), "etl", data).startswith(reason)


def test_a_param_that_is_required(flows):
    flows.put("etl", ECHO, params={"day": "x", "n": {"type": "integer", "required": True}})
    assert rejected(flows, at_once(), "etl") == "params: param n: is required"
    flows.start("etl", {"n": 5})
    assert flows.next("a").args == ["x", "5"]
    flows.start("etl", params={"n": 6})
    assert flows.next("a").args == ["x", "6"]


def test_params_are_checked_by_a_definition_that_is_not_in_memory(rig, flows):
    flows.put("etl", ECHO, params=PARAMS)
    rig.restart()
    assert rejected(flows, at_once(params={"nope": 1}), "etl") == "params: no such param: 'nope'"
    rig.restart()
    flows.start("etl", params={"day": "d"})
    assert flows.next("a").args == ["d", "3"]


def test_fields_of_flows_are_for_flows(rig, flows):
    """B047: the type of a plan is that of its target."""
    for field, value in [("params", {"a": 1}), ("defaults", {"retry": 1}), ("batch", "2024-01-05")]:
        reply = rig.client.submit(at_once(**{field: value}))
        assert reply.code == ST.PLANERROR
        assert f"{field}: is for plans of flows, jobs is of type " in reply.text


def test_params_are_stored_listed_and_updated(rig, flows):
    """B052: params of a schedule."""
    flows.put("etl", ECHO, params=PARAMS)
    fields = {"params": {"n": 7}, "defaults": {"retry": 1, "on_error": 0}}
    ident = rig.client.added(every(60, -1, **fields), station="etl", head=[])
    stored = show(flows, ident)     # as it is stored: objects with names of a client's own are texts
    assert {name: json.loads(stored[name]) for name in fields} == fields
    listed = rig.client.done("list", {"station": "etl"}).json["plans"][0]
    assert {name: listed[name] for name in fields} == fields
    update = {"revision": stored["revision"], "params": {"nope": 1}}
    assert "no such param" in rig.client.refused("update", ident, update)
    update["params"] = "n = 8"
    changed = rig.client.done("update", ident, update).json
    assert changed["params"] == "n = 8" and changed["defaults"] == fields["defaults"]
    rig.restart()
    assert show(flows, ident)["params"] == "n = 8"
    assert "batch: is for plan_type none and time" in rig.client.refused(
        "update", ident, {"revision": show(flows, ident)["revision"], "batch": "2024-01-05"})


def test_an_update_is_checked_by_a_definition_that_is_not_in_memory(rig, flows):
    flows.put("etl", ECHO, params=PARAMS)
    ident = rig.client.added(every(60, -1), station="etl", head=[])
    rig.restart()
    revision = show(flows, ident)["revision"]
    assert "no such param" in rig.client.refused("update", ident, {"revision": revision, "params": {"nope": 1}})
    assert rig.client.done("update", ident, {"revision": revision, "params": {"n": 1}}).json["params"] == {"n": 1}


def test_a_run_is_shown_with_its_params_as_resolved(flows):
    """B074: They stay those of its begin."""
    flows.put("etl", {"a": call()}, params={"day": "=idc.loadDate.format('yyyyMMdd')", "n": 3, "next": "=n + 1"})
    flows.start("etl", {"n": 4}, batch="2024-01-05")
    one = flows.call()
    flows.put("etl", {"a": call()}, params={"day": "another"})
    resolved = {"day": "20240105", "n": 4, "next": 5}
    assert flows.show(one.flow["run"])["params"] == resolved
    flows.done(one)
    assert flows.until(one.flow["run"], "finished")["params"] == resolved


def test_the_owner_of_a_run_is_that_of_its_plan(rig, flows):
    """B060: Each call, and the outcomes of the run, have it."""
    flows.put("etl", {"a": call()})
    results = rig.subscribe("etl")
    flows.start("etl", creator="ann")
    assert flows.next("a").run.plan["creator"] == "ann"
    assert [told(results.recv())["creator"] for _ in range(2)] == ["ann"] * 2


# -- batch

def test_a_batch_is_the_load_date(flows):
    """B013: the nominal time is local in the plan's zone. B061: the batch is the business date of a run."""
    flows.put("load", {"a": call(args=["=idc.loadDate", "=idc.shouldFireTime"])})
    flows.start("load", batch="2024-01-05")
    assert flows.next("a").args == ["2024-01-05T00:00:00"] * 2
    flows.start("load", batch="2024-01-05T08:30:00Z", timezone="Europe/Berlin")
    assert flows.next("a").args == ["2024-01-05T09:30:00"] * 2


def test_without_a_batch_it_is_the_day_of_the_nominal_time(flows):
    """B013: a run that is late has its nominal time. B061: else it is the day of the nominal time."""
    flows.put("load", {"a": call(args=["=idc.loadDate", "=idc.shouldFireTime"])})
    flows.client.added({"plan_type": "time", "plan_time": 1704450600, "misfire": "all"}, station="load", head=[])
    assert flows.next("a").args == ["2024-01-05T00:00:00", "2024-01-05T10:30:00"]
    flows.client.added({"plan_type": "time", "plan_time": 1704450600, "misfire": "all", "batch": "2024-02-01"},
                       station="load", head=[])
    assert flows.next("a").args == ["2024-02-01T00:00:00", "2024-01-05T10:30:00"]


def test_missed_batches_each_have_their_own(flows):
    """B072: Each run of a missed time has its own date."""
    flows.put("load", {"a": call(args=["=idc.loadDate.format('MMdd')"])})
    start = int(time.time()) // 86400 * 86400 - 3 * 86400 + 1
    flows.client.added(every(1, 3, kind="day", plan_time=start - 86400, misfire="all"), station="load", head=[])
    dates = [flows.next("a").args[0] for _ in range(3)]
    assert dates == [time.strftime("%m%d", time.gmtime(start + day * 86400)) for day in range(3)]


def test_a_batch_that_is_none_is_rejected(flows):
    flows.put("load", {"a": call()})
    assert rejected(flows, at_once(batch="monday"), "load").startswith("batch: want a date or a time")
    assert rejected(flows, at_once(batch=20240105), "load").startswith("batch: want a date or a time")
    assert rejected(flows, every(1, 1, batch="2024-01-05"), "load") == "batch: is for plan_type none and time"


# -- defaults

def test_defaults_retry_steps_that_say_nothing(flows):
    """B049: a failed step is retried, unless it says otherwise.
    B083: a default retry is for the steps that have none."""
    flows.put("tough", {"a": call(), "b": call(retry={"strategy": "none"})})
    flows.start("tough", defaults={"retry": 1})
    both = flows.expect("a", "b")
    flows.fail(both["a"])
    flows.fail(both["b"])
    again = flows.next("a")
    assert again.flow == both["a"].flow
    shown = flows.until(again.flow["run"], "failed")
    assert shown["failed"] == ["b"]


def test_the_default_retry_is_exponential(flows):
    """B049: `"retry": 1` is exponential, 3 times."""
    flows.put("tough", {"a": call()})
    flows.start("tough", defaults={"retry": 1})
    assert flows.next("a").run.plan["retry"] == {"strategy": "exponential", "interval": 1, "max": 3}


def test_defaults_without_a_retry(flows):
    """B049: `"retry": 0` is none."""
    flows.put("weak", {"a": call()})
    flows.start("weak", defaults={"retry": 0})
    first = flows.call()
    flows.fail(first)
    flows.until(first.flow["run"], "failed")


@pytest.mark.parametrize("on_error", [0, "continue"])
def test_defaults_let_a_run_go_on_over_failures(rig, flows, on_error):
    """B055: with `continue` the steps behind a failure run."""
    flows.put("chain", {"a": call(), "b": call(["a"]), "c": call(["b"], on_error="block"), "d": call(["c"])})
    flows.start("chain", defaults={"on_error": on_error})
    first = flows.call()
    run = first.flow["run"]
    rig.restart()
    flows.client.result(first.ident, ST.FAILED, [(FT.STATUS, b"disk full"), (FT.LOCAL_ID, first.run.local_id)])
    flows.next("b")
    flows.fail(flows.call())
    shown = flows.until(run, "failed")
    assert shown["failed"] == ["c"]
    assert {step["step"]: step["state"] for step in shown["steps"]} == {"a": "failed", "b": "finished", "c": "failed",
                                                                       "d": "none"}


def test_defaults_that_block(flows):
    """B055: with `block` the steps behind a failure stay none, and the run fails.
    B084: a failure blocks the step behind it."""
    flows.put("chain", {"a": call(), "b": call(["a"])})
    flows.start("chain", defaults={"on_error": 1})
    first = flows.call()
    flows.fail(first)
    shown = flows.until(first.flow["run"], "failed")
    assert shown["failed"] == ["a"] and flows.states(first.flow["run"])["b"] == "none"


@pytest.mark.parametrize("defaults, reason", [
    ({"retry": 2}, "defaults: retry: want 0, 1, or an object"),
    ({"retry": {}}, "defaults: retry: strategy: is missing"),
    ({"on_error": "stop"}, "defaults: on_error: want block, continue, 1 or 0"),
    ({"timeout": 1}, "defaults: 'timeout': unknown field"),
    ([], "defaults: want an object"),
])
def test_defaults_that_are_wrong(flows, defaults, reason):
    flows.put("chain", {"a": call()})
    assert rejected(flows, at_once(defaults=defaults), "chain").startswith(reason)


# -- paused plans and runs by hand

def test_a_paused_plan_waits(rig, flows):
    """B051: a plan that is paused does not run on its own."""
    ident = rig.client.added(every(1, -1, paused=True))
    assert rig.message(ident)["plan_state"] == 5 and "held" not in rig.message(ident)
    assert rig.score(ident) is None
    flows.nothing(1.2)
    rig.client.done("reset", ident)
    rig.jobs.recv()


def test_paused_and_hold_exclude_each_other(rig):
    assert "paused: is the same as hold" in rig.client.submit(at_once(paused=True, hold=True)).text
    assert "paused: want true or false" in rig.client.submit(at_once(paused="yes")).text


def test_a_manual_plan_is_run_with_a_batch_and_params(rig, flows):
    """B051: a paused plan runs by the command `run`.
    B061, B085: a paused plan runs by hand only, with what it is given."""
    flows.put("etl", {"a": call(args=["=idc.loadDate", "=idc.shouldFireTime", "=x", "=y"])}, params={"x": 1, "y": 1})
    ident = rig.client.added(at_once(paused=True, params={"x": 2, "y": 2}), station="etl", head=[])
    flows.nothing()
    for _ in range(2):
        rig.client.done("run", ident, {"batch": "2024-01-05", "params": {"y": "=x + 3"}})
        assert flows.next("a").args == ["2024-01-05T00:00:00"] * 2 + ["2", "5"]
        wait_until(lambda: rig.message(ident, "etl")["plan_state"] == 5, "it is paused again")
        assert "run_with" not in rig.message(ident, "etl")
    rig.client.done("run", ident)
    assert flows.next("a").args[2:] == ["2", "2"]


def test_the_three_times_of_a_run(rig, flows):
    """B031, B032, B033: the batch, the actual run and the submission; each has its month ends."""
    times = ("shouldFireTime", "actualFireTime", "createTime")
    ends = ("prevMonthEnd", "monthEnd", "nextMonthEnd")
    flows.put("ends", {"a": call(args=["=idc." + time for time in times], json=[
        f"=idc.{time}.{end}().format('yyyyMMdd')" for time in times for end in ends])})
    ident = rig.client.added(at_once(paused=True), station="ends", head=[])
    wait_until(lambda: int(time.time()) > rig.message(ident, "ends")["add_time"], "a second has passed")
    rig.client.done("run", ident, {"batch": "2024-03-31"})
    first = flows.next("a")
    nominal, actual, created = map(datetime.datetime.fromisoformat, first.args)
    assert nominal == datetime.datetime(2024, 3, 31) and actual > created
    assert created.replace(tzinfo=datetime.timezone.utc).timestamp() == rig.message(ident, "ends")["add_time"]
    assert actual.replace(tzinfo=datetime.timezone.utc).timestamp() == int(first.flow["run"], 16) // 1_000_000
    wanted = []
    for at in (nominal, actual, created):
        for months in (0, 1, 2):
            year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
            wanted.append(datetime.datetime(year, month + 1, 1) - datetime.timedelta(days=1))
    assert first.json == [end.strftime("%Y%m%d") for end in wanted]


def test_what_a_run_is_given_survives_a_restart(rig, flows):
    flows.put("etl", {"a": call(args=["=x"])}, params={"x": 1})
    ident = rig.client.added(at_once(paused=True), station="etl", head=[])
    flows.rig.restart()
    rig.client.done("run", ident, {"params": "x = 'text'"})
    assert flows.next("a").args == ["text"]


def test_what_a_run_cannot_be_given(rig, flows):
    flows.put("etl", ECHO, params=PARAMS)
    ident = rig.client.added(at_once(paused=True), station="etl", head=[])
    for given, reason in [({"params": {"nope": 1}}, "params: no such param: 'nope'"),
                          ({"params": {"n": "x"}}, "params: param n: must be of type integer"),
                          ({"batch": "soon"}, "batch: want a date or a time"),
                          ({"key": "x"}, "run: 'key': unknown field"),
                          ("[]", "")]:
        assert rig.client.refused("run", ident, given).startswith(reason)
    plain = rig.client.added(at_once(paused=True))
    assert rig.client.refused("run", plain, {"batch": "2024-01-05"}) == "run: batch and params are for plans of flows"
    flows.nothing()


def test_a_fresh_retry_takes_the_params_of_the_plan(flows):
    """B035: `fresh` evaluates params again, those of the plan too."""
    flows.put("etl", {"a": call(args=["=x"])}, params={"x": 1})
    flows.start("etl", params={"x": 2})
    first = flows.call()
    flows.fail(first)
    flows.until(first.flow["run"], "failed")
    flows.flow("retry", first.flow["run"], '{"fresh": true}')
    assert flows.next("a").args == ["2"]


# -- one plan of a name

def test_a_second_plan_of_a_key_is_refused(rig):
    """B043: a key has one plan, and `refuse` rejects a second one."""
    rig.client.added(every(60, -1, key="primary/nightly", if_exists="refuse"))
    for plan in [every(60, -1, key="primary/nightly", if_exists="refuse"),
                 every(30, -1, key="primary/nightly", if_exists="refuse")]:
        assert "key: 'primary/nightly' has a plan already" in rig.client.submit(plan).text


def test_a_request_that_is_sent_again_is_no_second_plan(rig):
    plan = every(60, -1, key="nightly", if_exists="refuse")
    again = [(FT.REQUEST_ID, b"17")]
    ident = rig.client.added(plan, more=again)
    assert rig.client.added(plan, more=again) == ident
    assert rig.client.submit(plan, more=[(FT.REQUEST_ID, b"18")]).code == ST.PLANERROR


# -- the command line


def test_add_starts_a_flow(rig, flows):
    flows.put("etl", {"a": call(args=["=idc.loadDate", "=x", "=y"])}, params={"x": 0, "y": {"type": "string", "default": ""}})
    ended = zplan("add", "--flow", "etl", "--now", "--batch", "2024-01-05", "--param", "x==1 + 1", "--param", 'y="7"',
                  "--connect", rig.ipc("q"))
    assert ended.code == 0 and "retry" not in ended.out, ended
    assert flows.next("a").args == ["2024-01-05T00:00:00", "2", "7"]


def test_add_says_what_is_wrong_with_a_param(rig, flows):
    flows.put("etl", {"a": call()}, params={"x": 0})
    for words, reason in [(["--param", "x"], "--param: want NAME=VALUE, got 'x'"),
                          (["--target", "jobs"], "--flow and --target: want one or the other"),
                          (["--param", "z=1"], "params: no such param: 'z'")]:
        ended = zplan("add", "--flow", "etl", "--now", *words, "--connect", rig.ipc("q"))
        assert ended.code != 0 and reason in ended.err, ended


def test_add_keeps_a_plan_paused(rig, flows):
    """B082: A named plan of a flow is added by the command line."""
    flows.put("etl", {"a": call(args=["=x"])}, params={"x": 0})
    ended = zplan("add", "--flow", "etl", "--now", "--paused", "--param", "x=[1, 2]", "--name", "primary/etl",
                  "--if-exists", "refuse", "--connect", rig.ipc("q"))
    assert ended.code == 0 and "paused: it runs by `zplan run`" in ended.out
    shown = zplan("show", "primary/etl", "--connect", rig.ipc("q"))
    assert '{"x": [1, 2]}' in shown.out or '{"x":[1,2]}' in shown.out, shown
    flows.nothing()


def test_lines_of_flow_plans_are_added(rig, flows, tmp_path):
    flows.put("etl", {"a": call(args=["=x"])}, params={"x": 0})
    (tmp_path / "plans").write_text('{"flow": "etl", "now": true, "param": ["x=5"]}\n'
                                    '{"flow": "etl", "plan_type": 0, "params": {"x": "=2 * 3"}, "defaults": {"retry": 1}}\n')
    ended = zplan("add", "--from", str(tmp_path / "plans"), "--connect", rig.ipc("q"))
    assert ended.code == 0, ended
    both = [flows.next("a").args[0] for _ in range(2)]
    assert sorted(both) == ["5", "6"]


def test_flow_plans_are_exported_and_imported(rig, flows, tmp_path):
    flows.put("etl", {"a": call(args=["=x", "=idc.loadDate"])}, params={"x": 0})
    ident = rig.client.added(at_once(paused=True, params={"x": "=1 + 1"}, defaults={"on_error": 0}, batch="2024-01-05"),
                             station="etl", head=[])
    before = rig.client.done("list", {"station": "etl"}).json["plans"][0]
    (tmp_path / "plans").write_text(zplan("export", "--connect", rig.ipc("q")).done())
    rig.client.done("remove", ident)
    zplan("import", str(tmp_path / "plans"), "--connect", rig.ipc("q")).done()
    after = rig.client.done("list", {"station": "etl"}).json["plans"][0]
    for field in ("params", "defaults", "batch", "plan_state"):
        assert after[field] == before[field], field
    rig.client.done("run", f"{after['plan_id']:x}")
    assert flows.next("a").args == ["2", "2024-01-05T00:00:00"]
