"""zplan-web: what it does to the station as a whole: targets, the history, the numbers of a night."""
import time

from webtest import make_web, needs_web, web  # noqa: F401 fixtures
from zplanprocs import wait_until
from zplantest import at_once

pytestmark = needs_web
PILE = {"type": "pull"}


def names(web):
    return [target["name"] for target in web.get("/v1/targets").json["items"]]


def test_targets_are_changed_only_when_it_is_allowed(web):
    before = names(web)
    assert "allow_targets" in web.ask("PUT", "/v1/targets/pile", PILE).problem(403, "deny")
    assert "allow_targets" in web.ask("DELETE", "/v1/targets/pile").problem(403, "deny")
    assert names(web) == before


def test_a_target_is_added_and_removed(rig, make_web):
    web = make_web(rig, "--allow-targets")
    assert web.ask("PUT", "/v1/targets/pile", PILE).status == 204
    assert web.ask("PUT", "/v1/targets/pile", PILE).status == 204       # the same again
    assert web.get("/v1/targets/pile").json["type"] == "pull"
    made = {"type": "api", "endpoint": "ipc:///tmp/zplan-nobody", "options": {"concurrency": 4}}
    assert web.ask("PUT", "/v1/targets/other", made).status == 204
    assert web.get("/v1/targets/other").json["endpoint"] == "ipc:///tmp/zplan-nobody"
    for name in ("pile", "other"):
        assert web.ask("DELETE", f"/v1/targets/{name}").status == 204
        web.get(f"/v1/targets/{name}").problem(404)
    web.ask("DELETE", "/v1/targets/jobs").problem(422)        # of the settings
    for wrong in ({}, {"type": 5}, {"type": "api", "endpoint": 1}, {"type": "api", "options": []}):
        assert "type" in web.ask("PUT", "/v1/targets/pile", wrong).problem(422, "invalid_field")
    assert "ENDPOINT" in web.ask("PUT", "/v1/targets/pile", {"type": "api"}).problem(422)


def test_what_is_stored_elsewhere_is_forgotten(web, rig):
    for title in ("one", "two"):
        rig.client.added(at_once(description=title))
        rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: len(web.get("/v1/runs").json["items"]) == 2, "both have ended")
    runs = web.get("/v1/runs").json
    body = {"epoch": runs["epoch"], "entries": [runs["items"][0]["entry"]], "target": "jobs"}
    assert web.post("/v1/forget", body).json == {"forgotten": 1}
    assert web.post("/v1/forget", body).json == {"forgotten": 0}
    assert [run["entry"] for run in web.get("/v1/runs").json["items"]] == [runs["items"][1]["entry"]]
    web.post("/v1/forget", {**body, "epoch": "another"}).problem(422)
    web.post("/v1/forget", [1]).problem(400, "invalid_json")


def test_the_numbers_of_a_night(web, rig):
    last = wait_until(lambda: next((found for found in [web.get("/v1/series?step=10").json]
                                    if any(value is not None for value in found["plans"])), None), "the first is read", 60)
    assert last["step_s"] == 10 and last["from"].endswith("Z")
    lengths = {len(values) for name, values in last.items() if isinstance(values, list)}
    assert len(lengths) == 1 and 8630 <= lengths.pop() <= 8640
    known = [value for value in last["plans"] if value is not None]
    assert known == [0] * len(known)
    hour = web.get(f"/v1/series?from={int(time.time()) - 3600}&step=60").json
    assert 60 <= len(hour["queued"]) <= 61
    assert "step: want" in web.get("/v1/series?step=15").problem(400, "invalid_field")
    assert "from" in web.get("/v1/series?from=yesterday").problem(400, "invalid_field")
