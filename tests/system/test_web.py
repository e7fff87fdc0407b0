"""zplan-web: the REST interface, on a real station."""
import json
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from clitest import zplan
from webtest import PROGRAM, Web, make_web, needs_web, plan, web  # noqa: F401 fixtures
from zplanprocs import REPO, WAIT, wait_until
from zplantest import ST, at_once

pytestmark = needs_web
DEFAULTS = {"retry": {"strategy": "none"}}


def state(web, ident):
    return web.get(f"/v1/plans/{ident}").json["state"]


# -- reading


def test_a_plan_from_its_submission_to_its_end(web, rig):
    made = web.added({**plan("report"), "args": ["a", "b"]})
    ident = made["id"]
    assert (made["title"], made["target"], made["command"], made["args"]) == ("report", "jobs", "do", ["a", "b"])
    assert made["state"] == "queued" and made["running"] is False and made["spec"]["plan_type"] == "day"
    read = web.get(f"/v1/plans/{ident}")
    assert read.json == made and read.headers["ETag"].startswith('"')
    assert web.get(f"/v1/plans/{ident}", If_None_Match=read.headers["ETag"]).status == 304
    assert web.get(f"/v1/plans/{ident}?frames=1").headers["ETag"] != read.headers["ETag"]
    assert [item["id"] for item in web.get("/v1/plans").json["items"]] == [ident]
    assert len(web.get(f"/v1/plans/{ident}/next?count=3").json["next"]) == 3
    assert web.get(f"/v1/plans/{ident}/why").json["reasons"]
    assert web.ask("DELETE", f"/v1/plans/{ident}").status == 204
    web.get(f"/v1/plans/{ident}").problem(404, "not_find")


def test_pages_have_each_plan_once(web):
    wanted = {web.added(plan(f"p{i}"))["id"] for i in range(7)}
    other = web.added(plan("other", command="x", category="rare"))["id"]
    found, path = [], "/v1/plans?limit=2"
    while path:
        page = web.get(path)
        found += [item["id"] for item in page.json["items"]]
        path = f"/v1/plans?limit=2&after={page.json['next']}" if "next" in page.json else None
        assert ('rel="next"' in (page.headers["Link"] or "")) == bool(path)
    assert sorted(found) == sorted(wanted | {other})
    assert [item["id"] for item in web.get("/v1/plans?category=rare").json["items"]] == [other]
    after = web.get("/v1/plans?limit=2").json["next"]
    web.get(f"/v1/plans?limit=2&category=rare&after={after}").problem(400, "invalid_field")
    web.get(f"/v1/runs?after={after}").problem(400, "invalid_field")
    web.get("/v1/plans?after=nonsense").problem(400, "invalid_field")


def test_a_query_that_is_wrong_names_the_field(web):
    for no in ("0", "false"):       # the station filters for plans that are held only
        assert "held: want 1 or true" in web.get(f"/v1/plans?held={no}").problem(400, "invalid_field")
    assert "did you mean target?" in web.get("/v1/plans?targt=jobs").problem(400, "unknown_field")
    assert "limit: " in web.get("/v1/plans?limit=x").problem(400)
    assert "given twice" in web.get("/v1/plans?limit=1&limit=2").problem(400)
    assert "count: " in web.get("/v1/plans/2a/next?count=0").problem(400)


def test_plans_by_name(web):
    made = web.added(plan(key="nightly report"))
    assert web.get("/v1/plans/key:nightly%20report").json["id"] == made["id"]
    assert web.get("/v1/plans?name=nightly+report").json["items"][0]["name"] == "nightly report"
    again = web.post("/v1/plans", plan(key="nightly report"))
    assert again.status == 200 and again.json["id"] == made["id"]


def test_runs(web, rig):
    for status in (ST.OK, ST.FAILED):
        rig.client.added(at_once(**DEFAULTS))
        rig.jobs.finish(rig.jobs.recv(), status)
    runs = wait_until(lambda: (found := web.get("/v1/runs").json)["items"][1:] and found, "both have ended")
    first, second = runs["items"]
    assert (first["status"], second["status"]) == ("ok", "failed") and first["started_at"].endswith("Z")
    newest = web.get("/v1/runs?newest=1&limit=1").json
    assert newest["items"] == [second]
    older = web.get(f"/v1/runs?newest=1&limit=1&after={newest['next']}").json
    assert older["items"] == [first]
    one = web.get(f"/v1/runs/{second['entry']}?epoch={runs['epoch']}").json
    assert one["exec_id"] == second["exec_id"] and one["epoch"] == runs["epoch"]
    web.get(f"/v1/runs/{second['entry']}?epoch=other").problem(410)
    for entry in ("99-0", "x", "1", "-1-0", "1-", "9223372036854775808-0"):
        web.get(f"/v1/runs/{entry}").problem(404)
    of_plan = web.get(f"/v1/plans/{second['plan']}/runs").json["items"]
    assert [run["entry"] for run in of_plan] == [second["entry"]]


def test_the_station(web, rig):
    assert {target["name"] for target in web.get("/v1/targets").json["items"]} == {"jobs", "news"}
    assert web.get("/v1/targets/jobs").json["type"] == "api"
    web.get("/v1/targets/none").problem(404)
    assert web.get("/v1/health").json["healthy"] is True
    stats = web.get("/v1/stats").json
    assert stats["counters"] and stats["now_at"].endswith("Z")
    load = web.get("/v1/load?from=2026-01-01T00:00:00Z&to=1767229200&step=600").json
    assert load["from"] == "2026-01-01T00:00:00.000Z" and load["step_s"] == 600 and len(load["counts"]) == 6
    assert "from: " in web.get("/v1/load?from=tomorrow").problem(400)
    assert web.get("/live").status == 204 and web.get("/ready").status == 204
    assert web.get("/v1/session").json["roles"]


def test_kinds_and_limits(web):
    assert web.get("/v1/kinds").json == {"items": []}
    assert web.ask("PUT", "/v1/kinds/media", {"spec": {"timeout": 60}}).json == {"name": "media", "spec": {"timeout": 60}}
    assert web.get("/v1/kinds/media").json["spec"] == {"timeout": 60}
    assert web.ask("DELETE", "/v1/kinds/media").status == 204
    web.get("/v1/kinds/media").problem(404)
    web.ask("PUT", "/v1/kinds/media", {"spec": 5}).problem(422)
    assert web.ask("PUT", "/v1/limits/station:jobs", {"rate": 5}).status == 200
    assert web.get("/v1/limits").json["items"] == [{"name": "station:jobs", "rate": 5, "origin": "set"}]
    assert web.ask("DELETE", "/v1/limits/station:jobs").status == 204


def test_the_document_has_what_is_served(web):
    document = web.get("/v1/openapi.json").json
    assert document["openapi"] == "3.1.0"
    for path, methods in document["paths"].items():
        if "get" in methods and "{" not in path and path != "/v1/stream":
            assert web.get(path).status in (200, 204), path


def test_metrics(web):
    web.get("/v1/plans")
    text = web.get("/metrics").body.decode()
    assert "zplan_up 1\n" in text and "zplan_plans 0\n" in text
    assert 'zplan_web_requests_total{route="/v1/plans",method="GET",code="200"} 1\n' in text


def test_pages(web):
    answer = web.get("/")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "require-trusted-types-for 'script'" in answer.headers["Content-Security-Policy"]
    assert web.get("/", If_None_Match=answer.headers["ETag"]).status == 304
    assert web.get("/", Accept_Encoding="gzip").body != answer.body
    web.get("/assets/none.js").problem(404)
    assert web.ask("POST", "/").headers["Allow"] == "GET, HEAD"


# -- submitting


def test_the_same_key_is_the_same_plan(web):
    headers = {"Idempotency_Key": "0123456789abcdef"}
    made = web.added(plan(), **headers)
    again = web.post("/v1/plans", plan(), **headers)
    assert again.status == 200 and again.json["id"] == made["id"]
    web.post("/v1/plans", plan("another"), **headers).problem(422)
    web.post("/v1/plans", plan(), Idempotency_Key="short").problem(400)
    web.post("/v1/plans", {**plan(), "id": "2a"}, **headers).problem(400)


def test_put(web):
    first = web.ask("PUT", "/v1/plans/2a", plan())
    assert first.status == 201 and first.json["id"] == "2a" and first.headers["Location"] == "/v1/plans/2a"
    assert web.ask("PUT", "/v1/plans/2A", plan()).status == 200
    web.ask("PUT", "/v1/plans/2a", plan("other")).problem(409, "other_plan")
    assert web.ask("PUT", "/v1/plans/2a", {"id": "2A", **plan()}).status == 200
    answer = web.ask("PUT", "/v1/plans/2a", {"id": "2b", **plan()})
    answer.problem(422, "invalid_field")
    assert answer.json["errors"][0]["pointer"] == "#/id"
    web.ask("PUT", "/v1/plans/0", plan()).problem(400)


@pytest.mark.parametrize("if_exists", ["update", "replace"])
def test_a_plan_that_replaces_another_was_not_created(web, if_exists):
    made = web.post("/v1/plans", plan(key="k"))
    again = web.post("/v1/plans", plan("other", key="k", if_exists=if_exists))
    assert (made.status, again.status) == (201, 200)
    assert again.json["id"] == made.json["id"] and again.json["title"] == "other"


def test_a_plan_that_is_wrong_points_to_its_field(web):
    answer = web.post("/v1/plans", plan(plan_value=40000))
    answer.problem(422, "plan_error")
    assert answer.json["errors"][0]["pointer"] == "#/spec/plan_value"
    answer = web.post("/v1/plans", {**plan(), "target": "none"})
    answer.problem(422)
    for body in ({}, {"target": "jobs"}, {**plan(), "spec": []}, {**plan(), "more": 1}, {**plan(), "args": [1]}):
        web.post("/v1/plans", body).problem(422)
    for body in (b"", b"[]", b"{", b'{"a": 1, "a": 2}', b"\xff", b"[" * 5000):
        web.post("/v1/plans", body).problem(400, "invalid_json")


def test_frames_and_hold(web, rig):
    body = {**plan(), "frames": [{"type": "CONTENT", "text": "é"}, {"type": "BIN", "b64": "AAEC"}], "hold": True}
    made = web.added(body)
    assert made["state"] == "paused"
    frames = web.get(f"/v1/plans/{made['id']}?frames=1").json["frames"]
    assert {"type": "BIN", "b64": "AAEC"} in frames and {"type": "CONTENT", "text": "é"} in frames


def test_preview(web):
    found = web.post("/v1/preview?count=2", {"spec": {"plan_type": "cron", "cron": "0 3 * * *", "timezone": "Asia/Shanghai"}})
    assert [time_[11:16] for time_ in found.json["next"]] == ["19:00", "19:00"] and found.json["zone"] == "Asia/Shanghai"
    web.post("/v1/preview", {"spec": {"plan_type": "cron", "cron": "61 * * * *"}}).problem(422)
    assert web.get("/v1/plans").json["items"] == []


# -- changing


def test_commands(web, rig):
    ident = web.added(plan())["id"]
    at = f"/v1/plans/{ident}"
    assert web.post(at + "/pause").json["state"] == "paused"
    assert web.post(at + "/pause").json["state"] == "paused"        # it is so already
    assert web.post(at + "/resume").json["state"] == "queued"
    assert web.post(at + "/resume").json["state"] == "queued"
    assert web.post(at + "/skip", {"count": 2}).json["state"] == "queued"
    web.post(at + "/skip", {}).problem(422)
    web.post(at + "/skip", {"cnt": 2}).problem(422)
    web.post(at + "/cancel").problem(409)
    web.post(at + "/pause", If_Match='"1-0"').problem(400)
    assert web.post(at + "/run").json["id"] == ident
    run = rig.jobs.recv()
    assert web.post(at + "/cancel", {"reason": "wrong one"}).json["notified"] is True
    assert run
    assert web.post(at + "/close").json["state"] == "closed"
    web.post(at + "/run").problem(409)
    web.post("/v1/plans/ffff/pause").problem(404)


def test_done_resolves_a_failure(web, rig):
    ident = rig.client.added(at_once(**DEFAULTS))
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED)
    wait_until(lambda: state(web, ident) == "error", "it has failed")
    assert web.post(f"/v1/plans/{ident}/done", {"remark": "by hand"}).json["verdict"] == "manual"


def test_patch(web, rig):
    ident = web.added(plan())["id"]
    read = web.get(f"/v1/plans/{ident}")

    def patch(body, **headers):
        return web.ask("PATCH", f"/v1/plans/{ident}", body, headers, kind="application/merge-patch+json")
    patch({"title": "new"}).problem(428)
    changed = patch({"title": "new", "spec": {"plan_value": 2}}, **{"If-Match": read.headers["ETag"]})
    assert changed.json["title"] == "new" and changed.json["spec"]["plan_value"] == 2
    patch({"title": "third"}, **{"If-Match": read.headers["ETag"]}).problem(412)
    etag = changed.headers["ETag"]
    assert web.get(f"/v1/plans/{ident}").headers["ETag"] == etag
    for known in (etag, f"W/{etag}", f'"other", W/{etag}', "*"):     # weak behind a proxy that compresses
        assert web.get(f"/v1/plans/{ident}", If_None_Match=known).status == 304
    assert web.get(f"/v1/plans/{ident}", If_None_Match='"other"').status == 200
    changed = patch({"title": "weak"}, **{"If-Match": f"W/{etag}"})
    assert changed.status == 200
    etag = changed.headers["ETag"]
    patch({"spec": {"plan_value": 99999}}, **{"If-Match": etag}).problem(422)
    patch({"spec": {"revision": 1}}, **{"If-Match": etag}).problem(422)
    patch({"titel": 1}, **{"If-Match": etag}).problem(422)
    web.post(f"/v1/plans/{ident}/run")
    rig.jobs.recv()
    etag = web.get(f"/v1/plans/{ident}").headers["ETag"]
    patch({"title": "now"}, **{"If-Match": etag}).problem(409)


def test_readonly(rig, make_web):
    ident = rig.client.added(at_once(**DEFAULTS, hold=True))
    web = make_web(rig, "--readonly")
    assert state(web, ident) == "paused"
    web.post(f"/v1/plans/{ident}/resume").problem(403, "readonly")
    web.post("/v1/plans", plan()).problem(403, "readonly")
    assert web.post("/v1/preview", plan()).status == 200


def test_a_prefix(rig, make_web):
    web = make_web(rig, "--root", "/zplan")
    assert web.line.endswith("/zplan/\n")
    made = web.ask("POST", "/zplan/v1/plans", plan())
    assert made.status == 201 and made.headers["Location"] == f"/zplan/v1/plans/{made.json['id']}"
    assert web.get("/zplan/").status == 200
    for path in ("/v1/plans", "/zplanx/v1/plans", "/"):
        web.get(path).problem(404)


# -- the station is away


def test_redis_is_away(web, rig):
    ident = web.added(plan())["id"]
    rig.redis.stop()
    wait_until(lambda: web.get("/v1/health").status == 503, "it sees that")
    begun = time.monotonic()
    web.get("/v1/plans").problem(503, "net_error")
    assert 6 < time.monotonic() - begun < 6 + WAIT     # it was asked again until then
    web.post(f"/v1/plans/{ident}/run").problem(504)     # once
    rig.redis.start()
    wait_until(lambda: web.get("/v1/health").status == 200, "Redis is back", 3 * WAIT)
    assert web.get(f"/v1/plans/{ident}").status == 200


def test_what_is_asked_during_a_restart_is_answered(web, rig):
    made = web.added(plan())
    rig.restart()
    assert wait_until(lambda: web.get(f"/v1/plans/{made['id']}").status == 200, "the station serves", 3 * WAIT)


def test_no_station(make_web, tmp_path):
    web = make_web(f"ipc://{tmp_path}/none")
    assert web.get("/live").status == 204 and web.get("/ready").status == 503
    answer = web.get("/metrics")
    assert answer.status == 200 and b"zplan_up 0\n" in answer.body
    begun = time.monotonic()
    answer = web.get("/v1/plans")
    answer.problem(503, "no_answer")
    assert answer.headers["Retry-After"] == "1" and 7 < time.monotonic() - begun < 8 + WAIT
    answer = web.post("/v1/plans", plan())
    answer.problem(504, "no_answer")
    assert answer.headers["Location"] == f"/v1/plans/{answer.json['id']}"


# -- the program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_at_a_signal_with_requests_in_progress(make_web, tmp_path, number):
    web = make_web(f"ipc://{tmp_path}/none")
    peers = [socket.create_connection(("127.0.0.1", web.port), timeout=WAIT) for _ in range(5)]
    for peer in peers:
        peer.sendall(b"GET /v1/plans HTTP/1.1\r\nHost: localhost\r\n\r\n")
    web.get("/live")
    assert web.stop(number) == 0
    for peer in peers:
        peer.close()


def run(*args):
    return subprocess.run([PROGRAM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=WAIT)


@pytest.mark.parametrize("args, words", [
    (["--listen", "0.0.0.0:7924"], "is not loopback: needs users"),
    (["--listen", "0.0.0.0:7924", "--behind-proxy", "10.0.0.5"], "is not loopback"),
    (["--behind-proxy", "10.0.0.5,proxy"], "behind_proxy: want addresses"),
    (["--listen", "127.0.0.1:7924", "--root", "zplan"], "root: want a path"),
    (["--listn", "x"], "listn"), (["--log-level", "loud"], "log_level"),
    (["--key", "/nowhere.key_secret"], "key: needs server_key"), (["--audit", "x"], "audit: needs users"),
    (["--connect", "foo"], "connect: 'foo': want tcp://HOST:PORT"), (["--events", "foo"], "events: 'foo': want tcp://HOST:PORT"),
    (["--connect", "tcp://127.0.0.1:7920,tcp://x"], "connect: 'tcp://x'"), (["--listen", "unix:"], "listen: want unix:PATH"),
    (["--key", "/nowhere.key_secret", "--server-key", "x"], "server_key: want a public key"),
    (["--key", "/nowhere.key_secret", "--server-key", 40 * "1"], "key: /nowhere.key_secret: No such file"),
    (["--listen", "7924"], "listen: want ADDRESS:PORT"), (["--listen", "127.0.0.1"], "listen: want ADDRESS:PORT"),
    (["--listen", "127.0.0.1:x"], "listen: want ADDRESS:PORT"), (["--listen", "127.0.0.1:99999"], "listen: want ADDRESS:PORT"),
    (["--listen", "127.0.0.1:-1"], "listen: want ADDRESS:PORT"),
])
def test_wrong_settings(args, words):
    ended = run(*args)
    assert ended.returncode == 2 and words in ended.stderr and not ended.stdout


def test_a_port_that_is_in_use(web):
    ended = run("--listen", f"127.0.0.1:{web.port}")
    assert ended.returncode == 1 and "Address already in use" in ended.stderr


def test_help_teaches():
    ended = run("--help")
    assert ended.returncode == 0 and "curl" in ended.stdout and "--listen" in ended.stdout
    assert json.loads(run("--settings").stdout.splitlines()[0])["name"] == "listen"


def test_what_it_does_is_seen_by_others(web, rig):
    web.added(plan("from the web"))
    assert "from the web" in zplan("--connect", rig.ipc("q"), "list").done()


# -- many at once


def test_what_is_exported_can_be_imported(web, rig, make_rig, tmp_path):
    kept = [web.added(body)["id"] for body in (
        {**plan("a"), "args": ["x", "y"]}, plan("named", key="nightly"), {**plan("held"), "hold": True},
        {**plan("frames"), "frames": [{"type": "BIN", "b64": "AAEC"}]},
        {**plan("cron"), "spec": {"plan_type": "cron", "cron": "0 3 * * *", "timezone": "Asia/Shanghai", "plan_repet": -1,
                                  "retry": {"strategy": "fixed", "interval": 5}}})]
    kept += [web.added(plan(f"p{i}"))["id"] for i in range(250)]
    over = web.added(plan("over"))["id"]
    web.post(f"/v1/plans/{over}/close")
    answer = web.get("/v1/export")
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert answer.headers["Content-Type"] == "application/x-ndjson" and len(lines) == len(kept)
    other = make_rig()
    (tmp_path / "other").mkdir()
    second = Web(str(tmp_path / "other"), other.ipc("q"), events=other.ipc("e"))
    try:
        wanted = {"accepted": len(kept), "existing": 0, "rejected_count": 0, "rejected": []}
        assert second.ask("POST", "/v1/import?dry_run=1", answer.body, kind="application/x-ndjson").json == wanted
        assert second.get("/v1/plans").json["items"] == []
        assert second.ask("POST", "/v1/import", answer.body, kind="application/x-ndjson").json == wanted
        assert second.ask("POST", "/v1/import", answer.body, kind="application/x-ndjson").json == {
            **wanted, "accepted": 0, "existing": len(kept)}
        assert sorted(second.get("/v1/export").body.splitlines()) == sorted(answer.body.splitlines())
    finally:
        second.close()


def test_import_of_what_is_there(web):
    """The same plans, although the bytes of the export are not those that were submitted."""
    for body in ({**plan("a"), "args": ["x", "y"]}, {**plan("frames"), "frames": [{"type": "BIN", "b64": "AAEC"}]},
                 plan("named", key="nightly", if_exists="update"), plan("refusing", key="only", if_exists="refuse"),
                 {**plan("cron"), "spec": {"cron": "0 3 * * *", "plan_type": "cron", "timezone": "Asia/Shanghai"}}):
        web.added(body)
    held = web.added({**plan("held"), "hold": True})["id"]
    body = web.get("/v1/export").body

    def imported():
        answer = web.ask("POST", "/v1/import", body, kind="application/x-ndjson").json
        return answer["accepted"], answer["existing"], [error["detail"] for error in answer["rejected"]]
    assert imported() == (0, 6, [])
    assert web.post(f"/v1/plans/{held}/resume").status == 200       # its state is not what it is
    assert imported() == (0, 6, [])
    assert web.get(f"/v1/plans/{held}").json["state"] == "queued"
    revision = web.get(f"/v1/plans/{held}").headers["ETag"]
    web.ask("PATCH", f"/v1/plans/{held}", {"spec": {"plan_value": 2}}, {"If-Match": revision})
    assert imported() == (0, 5, [f"GLOBAL_ID: {held} is in use by another plan"])


def test_import_of_lines_that_are_wrong(web):
    good = json.dumps(plan())
    body = "\n".join([good, "{", "", json.dumps({**plan(), "id": "2a"}), json.dumps(plan(plan_value=-99)), "[]", good, "{}"])
    answer = web.ask("POST", "/v1/import", body, kind="application/x-ndjson").json
    assert answer["accepted"] == 1 and [error["line"] for error in answer["rejected"]] == [1, 2, 5, 6, 7, 8]
    answer = web.ask("POST", "/v1/import?hold=1", body, {"Idempotency-Key": "0123456789abcdef"}, kind="application/x-ndjson").json
    assert answer["accepted"] == 2 and answer["rejected_count"] == 5      # 2a was not held
    assert [item["state"] for item in web.get("/v1/plans").json["items"]].count("paused") == 2
    web.ask("POST", "/v1/import", body).problem(415)
    web.ask("POST", "/v1/import?hold=x", body, kind="application/x-ndjson").problem(400)
    noise = b"\n".join(b"x" * 100 for _ in range(20000))
    answer = web.ask("POST", "/v1/import", noise, kind="application/x-ndjson").json
    assert answer["rejected_count"] == 20000 and len(answer["rejected"]) == 1000


def counted(web, action, filter_):
    job = web.post("/v1/bulk", {"action": action, "filter": filter_})
    assert job.status == 202, job.body
    at = job.headers["Location"]
    return at, wait_until(lambda: (found := web.get(at).json)["state"] == "counted" and found, "it is counted")


def test_a_command_for_many_plans(web):
    idents = [web.added(plan("many"))["id"] for _ in range(30)]
    other = web.added(plan("other", category="rare"))["id"]
    at, job = counted(web, "pause", {"title": "many"})
    assert job["count"] == 30 and len(job["first"]) == 20
    later = web.added(plan("many"))["id"]        # nobody has seen it
    web.ask("DELETE", f"/v1/plans/{idents[0]}")
    web.post(at + "/start", {"count": 31}).problem(409, "other_count")
    web.post(at + "/start", {}).problem(409)
    assert web.post(at + "/start", {"count": 30}).status == 202
    web.post(at + "/start", {"count": 30}).problem(409, "wrong_state")
    done = wait_until(lambda: (found := web.get(at).json)["state"] == "done" and found, "it is done")
    assert (done["done"], done["rejected"], done["unknown"], done["left"]) == (29, 1, 0, 0)
    assert done["errors"][0]["id"] == idents[0]
    assert state(web, idents[1]) == "paused" and state(web, other) == state(web, later) == "queued"
    assert [found["number"] for found in web.get("/v1/bulk").json["items"]] == [job["number"]]
    assert web.ask("DELETE", at).status == 204
    web.get(at).problem(404)
    at, job = counted(web, "remove", {"all": True})
    assert job["count"] == 31


def test_jobs_that_are_wrong(web):
    for body in ({}, {"action": "pause"}, {"action": "pause", "filter": {}}, {"action": "eat", "filter": {"all": True}},
                 {"action": "pause", "filter": {"titel": "x"}}, {"action": "pause", "filter": {"all": True, "title": "x"}},
                 {"action": "pause", "filter": {"limit": 5}}, {"action": "pause", "filter": {"state": 5}},
                 *({"action": "pause", "filter": {"tenant": value}} for value in (None, 0.5, False, [], {}))):
        web.post("/v1/bulk", body).problem(422)
    for path in ("/v1/bulk/1", "/v1/bulk/x", "/v1/bulk/-1"):
        web.get(path).problem(404)
    jobs = [web.post("/v1/bulk", {"action": "close", "filter": {"all": True}}).status for _ in range(17)]
    assert jobs == [202] * 16 + [429]


def test_every_error_is_explained(web):
    """Where the type of an error points to is a page that has its code."""
    page = web.get("/help/not_find")
    assert page.status == 200 and page.headers["Content-Type"].startswith("text/html")
    used = {"deny", "busy", "frame_invalid", "frame_planerror", "manage_arg_error", "net_error", "not_find"}     # of the station
    for path in pathlib.Path(REPO, "src", "web").rglob("*.c"):
        used |= set(re.findall(r'(?:exchange_problem|deny_request|reject_and_close) \((?:self|exchange), [^"]*"([a-z_]+)"', path.read_text()))
    assert len(used) > 30
    explained = set(re.findall(r'<tr id="([a-z_]+)">', page.body.decode()))
    assert used == explained


def test_the_state_failed_is_the_state_error(web):
    assert web.get("/v1/plans?state=failed").json == web.get("/v1/plans?state=error").json
    assert "failed (or error)" in web.get("/v1/plans?state=fail").problem(400)


def test_an_unknown_target_is_an_error_of_the_field(web):
    answer = web.post("/v1/plans", {**plan(), "target": "nix"})
    assert "no target 'nix'; known: " in answer.problem(422)
    assert answer.json["errors"][0]["pointer"] == "#/target" and "STATION_ID" not in str(answer.json)


@pytest.mark.parametrize("method, path, body, pointer, hint", [
    ("POST", "/v1/bulk", {"action": "pause", "filter": {"all": True}, "filtr": {}}, "#/filtr", "did you mean filter?"),
    ("POST", "/v1/bulk/1/start", {"cuont": 1}, "#/cuont", "did you mean count?"),
    ("PUT", "/v1/kinds/k", {"spec": {}, "sepc": 3}, "#/sepc", "did you mean spec?"),
    ("PUT", "/v1/targets/t", {"type": "pull", "option": {}}, "#/option", "did you mean options?"),
    ("PUT", "/v1/limits/station:jobs", {"rate": 5, "brust": 1}, "#/brust", "did you mean burst?"),
    ("POST", "/v1/callbacks/2a/redeliver", {"a/b c": 1}, "#/a~1b%20c", "a/b c"),
    ("POST", "/v1/session", {"tokn": "x"}, "#/tokn", "did you mean token?"),
    ("POST", "/v1/plans/2a/skip", {"count": 1, "conut": 2}, "#/conut", "did you mean count?"),
    ("POST", "/v1/preview", {"spec": {}, "titel": "x"}, "#/titel", "did you mean title?"),
    ("POST", "/v1/forget", {"epoch": "1", "entires": []}, "#/entires", "did you mean entries?")])
def test_an_unknown_field_of_a_body_is_rejected(web, method, path, body, pointer, hint):
    answer = web.ask(method, path, body)
    assert hint in answer.problem(422, "unknown_field")
    assert [error["pointer"] for error in answer.json["errors"]] == [pointer]


def test_the_document_has_the_fields_of_bodies(web):
    paths = web.get("/v1/openapi.json").json["paths"]
    def schema(path, method="post"):
        (content,) = paths[path][method]["requestBody"]["content"].values()
        return content["schema"]
    signal_ = schema("/v1/flow-runs/{run}/signal")
    assert set(signal_["properties"]) == {"step", "value"} and signal_["additionalProperties"] is False
    made = schema("/v1/plans")
    assert {"target", "spec", "hold"} <= set(made["properties"]) and "additionalProperties" not in made


def test_a_body_that_is_wanted_is_missing(web, rig):
    """The program goes on, whatever has no body."""
    routes = [(path, method) for path, methods in web.get("/v1/openapi.json").json["paths"].items() for method in methods]
    assert ("/v1/forget", "post") in routes
    for path, method in routes:
        if method in ("post", "put", "patch"):
            answer = web.ask(method.upper(), re.sub(r"{\w+}", "2a", path))
            assert answer.status < 500, (method, path, answer.status)
    web.post("/v1/forget").problem(422, "invalid_field")
    assert web.get("/v1/plans").status == 200


def test_only_an_update_takes_a_revision(web, rig):
    ident = web.added(plan())["id"]
    etag = web.get(f"/v1/plans/{ident}").headers["ETag"]
    web.ask("DELETE", f"/v1/plans/{ident}", None, {"If-Match": etag}).problem(400, "no_revision")
    assert web.get(f"/v1/plans/{ident}").status == 200


def test_the_key_of_an_import_is_checked_once(web, rig):
    lines = "\n".join(json.dumps(plan(f"p{number}")) for number in range(12))
    def load(key):
        return web.ask("POST", "/v1/import", lines, {"Idempotency-Key": key}, kind="application/x-ndjson")
    load("k" * 14).problem(400, "invalid_field")
    load("k" * 256).problem(400, "invalid_field")
    for accepted, existing in ((12, 0), (0, 12)):
        answer = load("k" * 255).json
        assert (answer["accepted"], answer["existing"], answer["rejected_count"]) == (accepted, existing, 0), answer


def test_a_sign_in_has_a_small_body(web):
    web.ask("POST", "/v1/session", {"token": "x" * 5000}).problem(413, "too_large")


def test_a_question_that_is_in_a_hurry_ends_no_other(web, rig):
    """Numbers are wanted within 0.4 s; what is in flight beside them waits for a station that stalls for longer."""
    rig.station.process.send_signal(signal.SIGSTOP)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(web.post("/v1/plans", plan())))
    try:
        asking.start()
        wait_until(lambda: web.get("/metrics").status, "the numbers are given up")
    finally:
        rig.station.process.send_signal(signal.SIGCONT)
    asking.join(WAIT)
    assert answers[0].status == 201


def test_an_end_during_an_import(make_web, rig):
    """A dry run asks the station nothing: it is answered by the end itself."""
    web = make_web(rig)
    body = b"{}\n" * 3_000_000
    head = (f"POST /v1/import?dry_run=1 HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nContent-Type: application/x-ndjson\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as peer:
        peer.sendall(head.encode() + body)
        for _ in range(400):    # turns of the program: it has read the rest, and is at the lines
            web.get("/live")
        assert web.stop() == 0
        assert b'"stopped_at"' in peer.recv(100000)


def test_the_key_of_a_plan_that_has_ended(web, rig):
    """Its first answer was lost: it is not run a second time."""
    once, key = plan(plan_type="none", retry={"strategy": "none"}), {"Idempotency_Key": "0123456789abcdef"}
    for submission in (once, plan(plan_type="none", key="night", retry={"strategy": "none"})):
        made = web.post("/v1/plans", submission, **key)
        assert made.status == 201
        rig.jobs.finish(rig.jobs.recv())
        wait_until(lambda: web.get(f"/v1/plans/{made.json['id']}").status == 404, "it has ended")
        again = web.post("/v1/plans", submission, **key)
        assert (again.status, again.json["id"], again.headers["Location"]) == (200, made.json["id"], made.headers["Location"])
        web.post("/v1/plans", {**submission, "title": "other"}, **key).problem(422, "other_plan")
        rig.jobs.nothing(0.3)
        key = {"Idempotency_Key": "fedcba9876543210"}
