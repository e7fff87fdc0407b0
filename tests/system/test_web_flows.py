"""Flows, callbacks, and the filters of lists, by the HTTP interface."""
import json
import time

import pytest

from flowrig import Flows, call
from test_callback_plans import NONE, Sender
from webtest import Web, needs_web
from zplantest import FT, ST, at_once, later, wait_until

pytestmark = needs_web
ETL = {"flow": "etl", "steps": {"load": call(), "wait": {"after": ["load"], "signal": {}}, "send": call(["wait"])}}


@pytest.fixture
def flows(rig):
    return Flows(rig)


@pytest.fixture
def web(rig):
    web = Web(rig.folder, rig.ipc("q"))
    yield web
    web.close()


def test_definitions(web, flows):
    """B079, B080, B081: The gateway creates, changes and deletes flows."""
    put = web.ask("PUT", "/v1/flows/etl", ETL)
    assert put.status == 200 and put.json["version"] == 1 and put.json["check"]["steps_max"] == 2
    assert web.ask("PUT", "/v1/flows/etl", {**ETL, "title": "nightly"}).json["version"] == 2
    (listed,) = web.get("/v1/flows").json["items"]
    assert (listed["name"], listed["use"], listed["steps"]) == ("etl", 2, 3) and listed["updated"].endswith("Z")
    assert web.get("/v1/flows/etl").json["definition"]["title"] == "nightly"
    assert "title" not in web.get("/v1/flows/etl?version=1").json["definition"]
    assert web.post("/v1/flows/new/check", {"flow": "new", "steps": {"a": call()}}).json["check"]["depth"] == 1
    assert web.ask("DELETE", "/v1/flows/etl").status == 204
    web.get("/v1/flows/etl").problem(404, "not_find")


@pytest.mark.parametrize("body, detail", [
    ({"flow": "other", "steps": {"a": call()}}, "flow: want the name of the path"),
    ({"flow": "etl", "steps": {"a": call(target="nowhere")}}, "nowhere"), ({"flow": "etl", "steps": {}}, "steps")])
def test_a_definition_that_is_rejected(web, flows, body, detail):
    assert detail in web.ask("PUT", "/v1/flows/etl", body).problem(422)


def test_all_errors_of_a_definition(web, flows):
    answer = web.ask("PUT", "/v1/flows/etl", {"flow": "etl", "steps": {"a": call(target="nowhere"), "b": call(["x"], retry={"strategy": "y"})}})
    answer.problem(422)
    found = {error["pointer"]: error["detail"] for error in answer.json["errors"]}
    assert "nowhere" in found["#/steps/a/target"] and len(found) == 3 and all(pointer.startswith("#/steps/b") for pointer in
                                                                            found if "/a/" not in pointer)


def test_runs(rig, web, flows):
    flows.put("etl", ETL["steps"])
    for _ in range(2):
        flows.start("etl")
        flows.next("load", {"rows": 5})
    page = web.get("/v1/flow-runs?limit=1&flow=etl").json
    run = page["items"][0]["run"]
    assert page["items"][0]["state"] == "running" and page["items"][0]["began_at"].endswith("Z") and page["next"]
    assert len(web.get(f"/v1/flow-runs?limit=1&after={page['next']}").json["items"]) == 1
    wait_until(lambda: "signal" in str(web.get(f"/v1/flow-runs/{run}").json["steps"]), "it waits for its signal")
    shown = web.get(f"/v1/flow-runs/{run}").json
    assert [step["step"] for step in shown["steps"]] == ["load", "wait", "send"] and "ended_at" not in shown
    assert web.get(f"/v1/flow-runs/{run}/steps?limit=2").json["next"] == "wait"
    assert [one["step"] for one in web.get(f"/v1/flow-runs/{run}/steps?after=wait").json["items"]] == ["send"]
    for after in ("nosuch", "", "n" * 100):
        assert web.get(f"/v1/flow-runs/{run}/steps?after={after}").problem(400, "invalid_field").startswith("after: want ")
    assert web.get(f"/v1/flow-runs/{run}/steps?state=finished").json["items"][0]["value"] == {"rows": 5}
    assert web.post(f"/v1/flow-runs/{run}/hold", {"reason": "a pause"}).json["state"] == "suspended"
    web.post(f"/v1/flow-runs/{run}/signal", {"step": "wait", "value": {"by": "ann"}})
    flows.nothing()
    assert web.post(f"/v1/flow-runs/{run}/resume").json["state"] == "running"
    sent = flows.call()
    flows.fail(sent)
    wait_until(lambda: web.get(f"/v1/flow-runs/{run}").json["state"] == "failed", "it has failed")
    assert web.get(f"/v1/flow-runs/{run}").json["failed"] == ["send"]
    assert web.post(f"/v1/flow-runs/{run}/retry", {"steps": ["send"], "reason": "again"}).status == 200
    flows.fail(flows.call())
    wait_until(lambda: web.get(f"/v1/flow-runs/{run}").json["state"] == "failed", "it has failed again")
    assert web.post(f"/v1/flow-runs/{run}/skip", {"step": "send", "value": 7}).status == 200
    wait_until(lambda: web.get(f"/v1/flow-runs/{run}").json["state"] == "finished", "it has finished")
    log = web.get(f"/v1/flow-runs/{run}/log").json["items"]
    assert log[-1]["step"] == "send" and log[0]["at"].endswith("Z")
    other = page["next"] and web.get(f"/v1/flow-runs?limit=1&after={page['next']}").json["items"][0]["run"]
    assert web.post(f"/v1/flow-runs/{other}/cancel").status == 200
    wait_until(lambda: web.get(f"/v1/flow-runs/{other}").json["state"] == "cancelled", "it is cancelled")


@pytest.mark.parametrize("path, body, status", [
    ("/v1/flow-runs/2a/cancel", {}, 404), ("/v1/flow-runs/zz/cancel", {}, 409), ("/v1/flow-runs/2a/signal", {}, 422),
    ("/v1/flow-runs/2a/skip", {"value": 1}, 422), ("/v1/callbacks/2a/redeliver", {}, 404)])
def test_what_is_rejected(web, path, body, status):
    answer = web.post(path, body)
    assert answer.status in (status, 422), answer.body
    answer.problem(answer.status)


@pytest.mark.parametrize("after", ["abc", "1x", "-1", ""])
def test_a_cursor_of_runs_that_is_none_is_not_the_first_page(web, after):
    assert "after: " in web.get(f"/v1/flow-runs?after={after}").problem(400, "invalid_field")


@pytest.mark.parametrize("word, body, code, pointer, hint", [
    ("signal", {"step": "wait", "valu": {"ok": 1}}, "unknown_field", "#/valu", "did you mean value?"),
    ("signal", {"step": 5, "value": 1}, "invalid_field", "#/step", "want the name of a step"),
    ("cancel", {"reson": "x"}, "unknown_field", "#/reson", "did you mean reason?"),
    ("cancel", {"reason": "x", "force": True}, "unknown_field", "#/force", "'force'"),
    ("cancel", {"reason": None}, "invalid_field", "#/reason", "want a string"),
    ("hold", {"reason": 5}, "invalid_field", "#/reason", "want a string"),
    ("resume", {"steps": ["send"]}, "unknown_field", "#/steps", "'steps'"),
    ("retry", {"step": ["send"]}, "unknown_field", "#/step", "did you mean steps?")])
def test_a_wrong_field_changes_no_run(rig, web, flows, word, body, code, pointer, hint):
    """A signal without its value cannot be undone: a misspelt field is rejected, not left out."""
    flows.put("etl", ETL["steps"])
    flows.start("etl")
    flows.next("load", {"rows": 5})
    run = web.get("/v1/flow-runs").json["items"][0]["run"]
    wait_until(lambda: "signal" in str(web.get(f"/v1/flow-runs/{run}").json["steps"]), "it waits for its signal")
    answer = web.post(f"/v1/flow-runs/{run}/{word}", body)
    assert hint in answer.problem(422, code)
    assert [error["pointer"] for error in answer.json["errors"]] == [pointer]
    assert web.get(f"/v1/flow-runs/{run}").json["state"] == "running"
    web.post(f"/v1/flow-runs/{run}/signal", {"step": "wait", "value": {"by": "ann"}})
    assert flows.call()


def test_callbacks(make_rig):
    rig = make_rig()
    web = Web(rig.folder, rig.ipc("q"))
    try:
        assert web.get("/v1/callbacks").json == {"items": []}      # the station has no target for them yet
        callback = {"success": {"url": "https://hooks.example/done"}}
        plan = rig.client.added(at_once(callback=callback))
        rig.jobs.finish(rig.jobs.recv(), ST.OK, [])
        listed = wait_until(lambda: web.get("/v1/callbacks").json["items"], "its callback is there")[0]
        assert web.get(f"/v1/callbacks/{listed['id']}").json["target"] == "callbacks"
        web.post(f"/v1/callbacks/{listed['id']}/redeliver").problem(422)     # it is neither dead nor waits for its retry
        web.post(f"/v1/callbacks/{plan}/redeliver").problem(404)
        failing = rig.client.added(at_once(callback=callback, retry=NONE))
        rig.jobs.finish(rig.jobs.recv(), ST.OK, [])
        dead = Sender(rig, "s1").of(failing)
        dead.report("fail", reason="HTTP 500", final=True)
        wait_until(lambda: web.get("/v1/callbacks?state=error").json["items"], "it is dead")
        again = web.post(f"/v1/callbacks/{dead.id}/redeliver")
        assert again.status == 200 and (again.json["id"], again.json["state"]) == (dead.id, "queued"), again.body
        rig.client.done("remove", dead.id)
        test = web.post("/v1/callback-tests", {"target": "jobs", "callback": callback})
        assert test.status == 201 and test.headers["Location"] == f"/v1/callbacks/{test.json['id']}"
        assert {one["id"] for one in web.get("/v1/callbacks?limit=10").json["items"]} == {listed["id"], test.json["id"]}
        page = web.get("/v1/callbacks?limit=1").json
        assert len(page["items"]) == 1 and len(web.get(f"/v1/callbacks?limit=1&after={page['next']}").json["items"]) == 1
        web.post("/v1/callback-tests", {"target": "jobs"}).problem(422)
        web.get("/v1/callbacks?target=jobs").problem(400)
    finally:
        web.close()


def test_lists_in_an_order(rig, web):
    idents = [rig.client.added({**later(), "plan_time": int(time.time()) + after}) for after in (9000, 8000, 7000)]
    rig.client.done("pause", idents[0])

    def listed(query):
        found, after = [], ""
        while True:
            page = web.get(f"/v1/plans?limit=1&{query}{after}").json
            found += [plan["id"] for plan in page["items"]]
            if "next" not in page:
                return found
            after = f"&after={page['next']}"
    assert listed("order=time") == idents[:0:-1] and listed("order=stopped") == idents[:1] and listed("order=dead") == []
    assert listed("order=id") == idents and listed("order=running") == []
    soon = int(time.time()) + 7500
    assert listed(f"order=time&to={soon}") == idents[2:] and listed(f"order=time&from={soon}") == idents[1:2]
    web.get("/v1/plans?order=best").problem(422)


def test_runs_by_status_and_time(rig, web):
    for status in (ST.OK, ST.FAILED, ST.OK):
        rig.client.added(at_once(retry={"strategy": "none"}))
        rig.jobs.finish(rig.jobs.recv(), status, [(FT.CONTENT, b"x")])
    runs = wait_until(lambda: len(found := web.get("/v1/runs").json["items"]) == 3 and found, "three runs")
    assert [run["status"] for run in runs] == ["ok", "failed", "ok"]
    assert [run["status"] for run in web.get("/v1/runs?status=failed").json["items"]] == ["failed"]
    assert len(web.get("/v1/runs?status=ok,failed&newest=1").json["items"]) == 3
    assert web.get("/v1/runs?from=2100-01-01T00:00:00.000Z").json["items"] == []
    assert len(web.get("/v1/runs?from=2020-01-01T00:00:00%2B01:00&to=2100-01-01T00:00:00Z").json["items"]) == 3
    web.get("/v1/runs?from=soon").problem(400)
    assert "status" in web.get("/v1/runs?status=bad").problem(422)


def test_a_plan_has_its_last_failures(rig, web):
    ident = rig.client.added(at_once(retry={"strategy": "fixed", "interval": 1000, "max": 5}))
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED, [(FT.STATUS, b"-failed: no paper")])
    (failure,) = wait_until(lambda: web.get(f"/v1/plans/{ident}").json.get("failures"), "it has failed")
    assert (failure["status"], failure["reason"]) == ("failed", "-failed: no paper") and failure["ended_at"].endswith("Z")
    assert json.dumps(failure)
