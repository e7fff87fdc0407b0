"""zplan-web and a station that takes no more plans; and what the audit has of revisions and repeats."""
import json
import os

from clitest import zplan
from webtest import make_web, needs_web, plan  # noqa: F401 fixture

pytestmark = needs_web


def test_a_full_station_is_507_and_not_to_be_repeated(make_rig, make_web):
    web = make_web(make_rig("--max-plans", "1"))
    ident = web.added(plan())["id"]
    answer = web.post("/v1/plans", plan("second"))
    assert "max_plans" in answer.problem(507, "busy") and "Retry-After" not in answer.headers
    assert web.get(f"/v1/plans/{ident}").status == 200
    assert web.ask("DELETE", f"/v1/plans/{ident}").status == 204
    assert web.post("/v1/plans", plan("second")).status == 201


def test_the_audit_has_revisions_and_the_key_of_a_repeat(rig, make_web, tmp_path):
    users = tmp_path / "users"
    users.mkdir(0o700)
    token = zplan("web", "user", "ann", "--out", str(users)).done().strip()
    web, who = make_web(rig, "--users", str(users)), {"Authorization": f"Bearer {token}"}
    added = web.ask("POST", "/v1/plans", plan(), {**who, "Idempotency-Key": "0123456789abcdef"})
    assert added.status == 201
    path = f"/v1/plans/{added.json['id']}"
    etag = web.ask("GET", path, headers=who).headers["ETag"]
    change = {"title": "other"}
    changed = web.ask("PATCH", path, change, {**who, "If-Match": etag})
    assert changed.status == 200 and web.ask("PATCH", path, change, {**who, "If-Match": etag}).status == 412
    before, after = (int(text.strip('"').partition("-")[0]) for text in (etag, changed.headers["ETag"]))
    with open(os.path.join(users, ".audit.ndjson")) as file:
        lines = [json.loads(line) for line in file]
    assert [line.get("idempotency_key") for line in lines] == ["0123456789abcdef"] * 2 + [None] * 4
    found = [(line["event"], line.get("status"), line.get("revision_before"), line.get("revision")) for line in lines[2:]]
    assert found == [("asked", None, before, None), ("answered", 200, before, after),
                     ("asked", None, before, None), ("answered", 412, before, after)] and before != after
