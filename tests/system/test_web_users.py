"""zplan-web with users: tokens, sessions, the rights of keys, and the audit."""
import json
import os
import time

import pytest

from clitest import zplan
from curvetest import CurveRig, certificate, write
from webtest import make_web, needs_web, plan  # noqa: F401 fixture
from zplanprocs import wait_until

pytestmark = needs_web


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Gateway:
    """A station with certificates, and a gateway with the users ann (everything), bob (reads) and cy (target jobs)."""

    def __init__(self, make_rig, make_web, *options):
        self.rig = make_rig(kind=CurveRig, start=False)
        self.users = self.rig.path("users")
        os.mkdir(self.users, 0o700)
        for name, roles, stations in (("web", "observe", None), ("all", "submit,observe,manage", None),
                                      ("read", "observe", None), ("bound", "submit,observe", "jobs")):
            write(self.rig.path(f"{name}.key_secret"),
                  certificate(self.rig.allow(name, roles, stations), name, secret=True))
        self.rig.start()
        self.tokens = {name: self.user(name, key) for name, key in (("ann", "all"), ("bob", "read"), ("cy", "bound"))}
        self.web = make_web(self.rig, "--users", self.users, "--key", self.rig.path("web.key_secret"),
                            "--server-key", self.rig.server.public, *options)

    def user(self, name, key):
        return zplan("web", "user", name, "--key", self.rig.path(f"{key}.key_secret"), "--out", self.users).done().strip()

    def ask(self, who, method, path, body=None, **headers):
        return self.web.ask(method, path, body, {**bearer(self.tokens[who]), **headers})

    def get(self, who, path):
        return self.ask(who, "GET", path)


@pytest.fixture
def gateway(make_rig, make_web):
    return Gateway(make_rig, make_web)


def test_a_token_is_wanted(gateway):
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eDp5"}, bearer("zpw_" + "A" * 43),
                    bearer("zps_" + "A" * 43), bearer("")):
        answer = gateway.web.ask("GET", "/v1/plans", headers=headers)
        answer.problem(401, "no_token")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert gateway.web.get("/live").status == 204 and gateway.web.get("/ready").status == 204
    assert gateway.web.get("/v1/openapi.json").status == 200 and gateway.web.get("/").status == 200
    assert gateway.get("ann", "/v1/plans").status == 200


def test_wrong_tokens_are_slowed_and_right_ones_are_not(gateway):
    found = [gateway.web.ask("GET", "/v1/plans", headers=bearer("no")).status for _ in range(40)]
    assert set(found) == {401, 429} and found[0] == 401
    assert gateway.get("ann", "/v1/plans").status == 200


def test_the_station_gives_each_user_the_rights_of_the_key(gateway):
    assert gateway.ask("ann", "POST", "/v1/plans", plan("first")).status == 201
    ident = gateway.ask("ann", "POST", "/v1/plans", plan("second")).json["id"]
    gateway.ask("bob", "POST", "/v1/plans", plan("third")).problem(403, "deny")
    gateway.ask("bob", "POST", f"/v1/plans/{ident}/pause").problem(403, "deny")
    assert gateway.get("bob", f"/v1/plans/{ident}").json["title"] == "second"
    assert gateway.ask("ann", "POST", f"/v1/plans/{ident}/pause").status == 200
    assert gateway.get("ann", "/v1/session").json == {
        "user": "ann", "key": "all", "roles": ["submit", "observe", "manage"], "targets": None, "users": True,
        "readonly": False}
    assert gateway.get("cy", "/v1/session").json["targets"] == "jobs"


def test_metrics_are_not_for_a_key_that_is_bound_to_targets(gateway):
    gateway.web.get("/metrics").problem(401)
    gateway.get("cy", "/metrics").problem(403)
    assert b"zplan_up 1\n" in wait_until(lambda: (a := gateway.get("bob", "/metrics")).status == 200 and a, "read").body


def test_sessions(gateway):
    answer = gateway.web.post("/v1/session", {"token": gateway.tokens["ann"]})
    session = answer.json["session"]
    assert answer.status == 200 and answer.json["user"] == "ann" and session.startswith("zps_")
    assert gateway.web.ask("GET", "/v1/plans", headers=bearer(session)).status == 200
    gateway.web.post("/v1/session", {"token": session}).problem(401)     # only a token makes one
    others = [gateway.web.post("/v1/session", {"token": gateway.tokens["bob"]}) for _ in range(66)]
    assert {other.status for other in others} == {200}
    gateway.web.ask("GET", "/v1/plans", headers=bearer(others[0].json["session"])).problem(401)      # it was idle for longest
    assert gateway.web.ask("GET", "/v1/plans", headers=bearer(others[-1].json["session"])).status == 200
    assert gateway.web.ask("GET", "/v1/plans", headers=bearer(session)).status == 200       # that of another user
    gateway.web.post("/v1/session", {"token": "zpw_wrong"}).problem(401)
    gateway.web.post("/v1/session", {}).problem(422)
    assert gateway.web.ask("DELETE", "/v1/session", headers=bearer(session)).status == 204
    gateway.web.ask("GET", "/v1/plans", headers=bearer(session)).problem(401)


def test_a_user_that_is_removed_is_out_within_a_second(gateway):
    session = gateway.web.post("/v1/session", {"token": gateway.tokens["bob"]}).json["session"]
    os.unlink(os.path.join(gateway.users, "bob.user"))
    begun = time.monotonic()
    wait_until(lambda: gateway.get("bob", "/v1/plans").status in (401, 429), "the token is gone")
    wait_until(lambda: gateway.web.ask("GET", "/v1/plans", headers=bearer(session)).status in (401, 429), "and the session")
    assert time.monotonic() - begun < 10
    gateway.tokens["bob"] = gateway.user("bob", "read")
    wait_until(lambda: gateway.get("bob", "/v1/plans").status == 200, "a new token counts")


def test_files_that_are_wrong_let_nobody_in(gateway):
    token = zplan("web", "user", "eve", "--key", gateway.rig.path("all.key_secret"), "--out", gateway.users).done().strip()
    gateway.tokens["eve"] = token
    path = os.path.join(gateway.users, "eve.user")
    wait_until(lambda: gateway.get("eve", "/v1/plans").status == 200, "she is in")
    good = open(path).read()
    for text, mode in ((good, 0o644), (good + "more = 1\n", 0o600), (good.replace("token", "tken"), 0o600),
                       (good.replace("eve", "ann"), 0o600), ("name = eve\n" + good.split("\n")[2] + "\n", 0o600),
                       (good.rstrip() + " 2020-01-01T00:00:00Z\n", 0o600), ("\xff\0", 0o600)):
        write(path, text, mode)
        wait_until(lambda: gateway.get("eve", "/v1/plans").status in (401, 429), f"{text!r} is not taken")
        write(path, good)
        wait_until(lambda: gateway.get("eve", "/v1/plans").status == 200, "she is in again")
    assert gateway.get("ann", "/v1/plans").status == 200


def test_the_audit(gateway):
    ident = gateway.ask("ann", "POST", "/v1/plans", plan()).json["id"]
    gateway.ask("ann", "POST", f"/v1/plans/{ident}/pause")
    gateway.ask("bob", "POST", f"/v1/plans/{ident}/resume")
    gateway.get("ann", "/v1/plans")
    path = os.path.join(gateway.users, ".audit.ndjson")
    assert os.stat(path).st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in open(path)]
    found = [(line["event"], line["user"], line["method"], line["route"].rpartition("/")[2], line.get("status"))
             for line in lines]
    assert found == [("asked", "ann", "POST", "plans", None), ("answered", "ann", "POST", "plans", 201),
                     ("asked", "ann", "POST", "pause", None), ("answered", "ann", "POST", "pause", 200),
                     ("asked", "bob", "POST", "resume", None), ("answered", "bob", "POST", "resume", 403)]
    assert lines[1]["id"] == lines[2]["name"] == ident and lines[0]["address"] == "127.0.0.1"
    assert [line["key"] for line in lines] == ["all.key_secret"] * 4 + ["read.key_secret"] * 2
    os.rename(path, path + ".1")        # as logs are rotated
    gateway.ask("ann", "POST", f"/v1/plans/{ident}/resume")
    assert [json.loads(line)["event"] for line in open(path)] == ["asked", "answered"]
    assert len(open(path + ".1").readlines()) == 6


def test_the_audit_has_each_plan_of_an_import_and_the_step_of_a_signal(gateway):
    lines = [json.dumps({"id": ident, **plan()}) for ident in ("1f", "2f")] + [json.dumps(plan(title="without id"))]
    gateway.web.ask("POST", "/v1/import", "\n".join(lines), bearer(gateway.tokens["ann"]), kind="application/x-ndjson")
    gateway.ask("ann", "POST", "/v1/flow-runs/1f/signal", {"step": "approve", "value": "not for the audit"})
    with open(os.path.join(gateway.users, ".audit.ndjson")) as file:
        text = file.read()
    found = [json.loads(line) for line in text.splitlines()]
    assert sorted((line["name"], line["action"], line["outcome"], line["user"]) for line in found if line["event"] == "bulk") == [
        ("1f", "import", "accepted", "ann"), ("2f", "import", "accepted", "ann")]
    assert [line["step"] for line in found if line["event"] == "asked" and "step" in line] == ["approve"]
    assert "not for the audit" not in text


def test_the_audit_has_who_signs_in_and_wrong_tokens(gateway):
    """A flood of wrong ones is a line a second; none of them is in the file."""
    session = gateway.web.post("/v1/session", {"token": gateway.tokens["ann"]}).json["session"]
    gateway.web.ask("DELETE", "/v1/session", headers=bearer(session))

    def audited():
        with open(os.path.join(gateway.users, ".audit.ndjson")) as file:
            return [json.loads(line) for line in file]
    assert [(line["event"], line["user"], line["method"], line.get("status")) for line in audited()] == [
        ("asked", "ann", "POST", None), ("answered", "ann", "POST", 200),
        ("asked", "ann", "DELETE", None), ("answered", "ann", "DELETE", 204)]
    sent = 0

    def counted():
        nonlocal sent
        for ask in (lambda: gateway.web.post("/v1/session", {"token": "zpw_wrong"}),
                    lambda: gateway.web.ask("GET", "/v1/plans", headers=bearer("zpw_wrong"))):
            assert ask().status in (401, 429)
            sent += 1
        wrong = [line for line in audited() if line["event"] == "wrong_token"]
        return len(wrong) >= 2 and wrong
    begun = time.monotonic()
    wrong = wait_until(counted, "a second line")
    assert time.monotonic() - begun >= 0.9 and 2 < sum(line["count"] for line in wrong) <= sent
    assert {(line["address"], line["route"]) for line in wrong} <= {("127.0.0.1", "/v1/session"), ("127.0.0.1", "/v1/plans")}
    with open(os.path.join(gateway.users, ".audit.ndjson")) as file:
        assert "zpw_" not in file.read()


def test_nothing_is_changed_without_an_audit(make_rig, make_web):
    gateway = Gateway(make_rig, make_web, "--audit", "/dev/full")
    gateway.ask("ann", "POST", "/v1/plans", plan()).problem(503, "no_audit")
    assert gateway.get("ann", "/v1/plans").json["items"] == []


def test_a_key_that_is_revoked(gateway):
    assert gateway.get("bob", "/v1/plans").status == 200
    with gateway.rig.list_changes():
        os.unlink(gateway.rig.path("allow/read.key"))
    assert gateway.get("bob", "/v1/plans").status in (403, 503)
    assert gateway.get("ann", "/v1/plans").status == 200


def test_a_key_file_that_is_missing(gateway):
    os.unlink(gateway.rig.path("bound.key_secret"))
    gateway.get("cy", "/v1/plans").problem(503, "no_key")


def test_users_on_a_station_without_certificates(rig, make_web, tmp_path):
    folder = tmp_path / "users"
    folder.mkdir(0o700)
    token = zplan("web", "user", "ann", "--out", str(folder)).done().strip()
    web = make_web(rig, "--users", str(folder))
    web.get("/v1/plans").problem(401)
    assert web.ask("GET", "/v1/plans", headers=bearer(token)).status == 200


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b", "x" * 65, "é"])
def test_names_that_are_wrong(tmp_path, name):
    assert zplan("web", "user", name, "--out", str(tmp_path)).code == 2


def test_a_user_is_written_over_by_nobody(tmp_path):
    assert zplan("web", "user", "ann", "--out", str(tmp_path)).done().startswith("zpw_")
    assert zplan("web", "user", "ann", "--out", str(tmp_path)).code == 1
    assert zplan("web", "user", "bob", "--out", str(tmp_path), "--key", "/nowhere").code == 1


def test_the_key_of_who_makes_a_user_is_not_the_users(tmp_path):
    assert zplan("keygen", "mine", "--role", "manage", "--out", str(tmp_path)).code == 0
    key = str(tmp_path / "mine.key_secret")
    env = {"ZPLAN_KEY": key, "ZPLAN_SERVER_KEY": "x" * 40}
    zplan("web", "user", "ann", "--out", str(tmp_path), env=env).done()
    assert "key = " not in (tmp_path / "ann.user").read_text()
    zplan("web", "user", "bob", "--out", str(tmp_path), "--key", key, env=env).done()
    assert f"key = {key}\n" in (tmp_path / "bob.user").read_text()
