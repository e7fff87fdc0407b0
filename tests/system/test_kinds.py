"""kind: what plans of one kind have in common, kept under a name.

features: C033, C034, C035, C036"""
import json

import pytest

from curvetest import CurveRig
from zplantest import ST, at_once, every, later

RETRY = {"strategy": "fixed", "interval": 5, "max": 2}
WHOLE = {"retry": RETRY, "timeout": 60, "misfire": "latest", "misfire_window": 10,
         "overlap_policy": "queue", "log": "trigger", "priority": 7, "group": "video",
         "category": "media", "ext": {"codec": {"name": "h264"}}}


def repeated(**fields):
    return {**every(1000, 3), **fields}


def kinds(client, *words):
    return client.done("kind", *words).json["kinds"]


def refused(client, plan, words, status=ST.PLANERROR):
    reply = client.submit(plan)
    assert reply.code == status and words in reply.text, reply


def test_C035_kinds_are_put_read_and_removed(rig):
    assert kinds(rig.client, "list") == {}
    assert kinds(rig.client, "put", "transcode", WHOLE) == {"transcode": WHOLE}
    assert kinds(rig.client, "put", "A.b_c-1", {}) == {"A.b_c-1": {}}
    assert kinds(rig.client, "get", "transcode") == {"transcode": WHOLE}
    assert kinds(rig.client, "list") == {"transcode": WHOLE, "A.b_c-1": {}}
    reply = rig.client.done("kind", "remove", "transcode")
    assert reply.text == "+ok" and not reply.every(ord("J"))
    assert kinds(rig.client, "list") == {"A.b_c-1": {}}
    for word in ("get", "remove"):
        assert "no kind 'transcode' is known" in rig.client.refused("kind", word, "transcode",
                                                                      status=ST.NOT_FIND)


def test_C033_C034_a_name_is_of_one_kind_and_stays_when_that_changes(rig):
    kinds(rig.client, "put", "one", {"timeout": 1})
    assert kinds(rig.client, "put", "one", {"priority": 2}) == {"one": {"priority": 2}}
    assert kinds(rig.client, "list") == {"one": {"priority": 2}}


def test_kinds_stay_through_a_restart(rig):
    kinds(rig.client, "put", "transcode", WHOLE)
    rig.restart()
    rig.client = rig.dealer()
    assert kinds(rig.client, "list") == {"transcode": WHOLE}
    assert {k: json.loads(v) for k, v in rig.db.hgetall("plan:kinds").items()} == {
        b"transcode": WHOLE}


def test_the_fields_of_a_kind_lie_under_those_of_the_plan(rig):
    kinds(rig.client, "put", "transcode", WHOLE)
    own = {"timeout": 5, "ext": {"mine": 1}}
    ident = rig.client.added(repeated(kind="transcode", **own))
    stored = rig.message(ident)
    whole = {**WHOLE, **own, "kind": "transcode"}
    assert {name: stored[name] for name in whole} == {**whole, "ext": json.dumps(
        own["ext"], separators=(",", ":"))}
    rig.due_now(ident)
    run = rig.jobs.recv()
    assert {name: run.plan[name] for name in whole} == whole


def test_what_the_plan_document_says_of_misses_lies_over_the_kind_too(rig):
    """no_keep and misfire are words for the same."""
    kinds(rig.client, "put", "late", {"misfire": "skip"})
    kinds(rig.client, "put", "all", {"misfire": "all"})
    kept = rig.message(rig.client.added(repeated(kind="late", no_keep=True)))
    assert kept["no_keep"] is True and "misfire" not in kept
    said = rig.message(rig.client.added(repeated(kind="late", misfire="all")))
    assert (said["no_keep"], said["misfire"]) == (True, "all")
    plain = rig.message(rig.client.added(repeated(kind="all")))
    assert (plain["no_keep"], plain["misfire"]) == (True, "all")
    assert rig.message(rig.client.added(repeated(kind="late")))["no_keep"] is False


def test_a_retry_of_the_kind_counts(rig):
    kinds(rig.client, "put", "once", {"retry": {"strategy": "none"}, "timeout": 9})
    ident = rig.client.added(at_once(kind="once"))
    run = rig.jobs.recv()
    assert run.plan["timeout"] == 9
    rig.jobs.finish(run, ST.FAILED)
    assert rig.state(ident, ST.FAILED)["verdict"] == 1


def test_a_change_is_for_later_plans(rig):
    kinds(rig.client, "put", "k", {"timeout": 1})
    one = rig.client.added(later(kind="k"))
    kinds(rig.client, "put", "k", {"timeout": 2})
    two = rig.client.added(later(kind="k"))
    rig.client.done("kind", "remove", "k")
    assert [rig.message(ident)["timeout"] for ident in (one, two)] == [1, 2]
    revision = rig.message(one)["revision"]
    assert rig.client.done("update", one, {"revision": revision, "remark": "r"}
                           ).json["timeout"] == 1


def test_a_plan_of_an_unknown_kind_is_refused(shared):
    for name in ("nobody", "N" * 64):
        refused(shared.client, later(kind=name), f"kind: no kind '{name}' is known", ST.NOT_FIND)
    refused(shared.client, later(kind="nobody", key="k"), "no kind", ST.NOT_FIND)


def test_a_kind_and_a_key(rig):
    kinds(rig.client, "put", "k", {"timeout": 1})
    ident = rig.client.added(later(kind="k", key="key"))
    kinds(rig.client, "put", "k", {"timeout": 2})
    assert rig.client.added(later(kind="k", key="key", description="x")) == ident
    assert rig.message(ident)["timeout"] == 1
    rig.client.added(later(kind="k", key="key", description="x", if_exists="update"))
    assert rig.message(ident)["timeout"] == 2


@pytest.mark.parametrize("fields, words", [
    ("", "JSON: "), ("[]", "JSON: want an object"), ("{", "JSON: "), ('{"timeout":1,"timeout":2}', "JSON: duplicate"),
    ({"timeout": 0}, "timeout: want seconds, 1.."), ({"nonsense": 1}, "'nonsense': unknown field"),
    ({"plan_value": 1}, "'plan_value': unknown field"), ({"remark": "r"}, "'remark': unknown"),
    ({"vote": {}}, "'vote': unknown"), ({"ext": "{}"}, "ext: want an object"),
    *(({name: "x"}, f"{name}: belongs to a plan, not to a kind") for name in (
        "kind", "key", "if_exists", "tenant", "creator", "cron", "timezone", "gap", "overlap",
        "start_time", "end_time")),
    ({"iteration": 2}, "iteration: belongs to a plan"), ({"cycle": 2}, "cycle: belongs to a plan"),
    ({"jitter": 2}, "jitter: belongs to a plan"),
    ({"category": "x" * 257}, "category: want a string of 1..256 bytes"),
    ({"ext": {"a": "x" * 4096}}, "kind: at most 4096 bytes, got 41"),
    ('{"ext":' * 400 + "{}" + "}" * 400, "JSON: nested deeper than 16")], ids=range(27))
def test_fields_are_refused_in_words(shared, fields, words):
    assert words in shared.client.refused("kind", "put", "bad", fields)
    assert "bad" not in kinds(shared.client, "list")


@pytest.mark.parametrize("name", ["", "a b", 'a"b', "a'b", "x" * 65, "ä", "a:b", "a\0b"])
def test_names_are_refused_in_words(shared, name):
    for words in (["get", name], ["put", name, {}], ["remove", name]):
        assert "kind: want a name of 1..64 of A-Z" in shared.client.refused("kind", *words)


@pytest.mark.parametrize("words", [["nonsense"], ["get"], ["put", "a"], ["remove"],
                                   ["list", "a"], ["get", "a", "b"], ["remove", "a", "b"]])
def test_what_is_no_word_is_refused(shared, words):
    told = shared.client.refused("kind", *words)
    assert told == "kind: want list, get NAME, put NAME FIELDS as JSON, or remove NAME"
    assert "got 0 arguments" in shared.client.refused("kind")


def test_there_are_1000_kinds_at_most(rig):
    rig.db.hset("plan:kinds", mapping={f"k{n}": "{}" for n in range(999)})
    kinds(rig.client, "put", "thousandth", {})
    assert rig.client.refused("kind", "put", "more", {}, status=ST.BUSY) == (
        "kind: quota exceeded: 1000 kinds")
    assert kinds(rig.client, "put", "k7", {"timeout": 1}) == {"k7": {"timeout": 1}}
    assert len(kinds(rig.client, "list")) == 1000
    rig.client.done("kind", "remove", "k8")
    kinds(rig.client, "put", "more", {})


def test_all_kinds_fit_into_one_reply(rig):
    big = {"ext": {"a": "x" * 4000}}
    kinds(rig.client, "put", "k0", big)
    text = rig.db.hget("plan:kinds", "k0")
    rig.db.hset("plan:kinds", mapping={f"k{n}": text for n in range(1000)})
    assert kinds(rig.client, "list") == {f"k{n}": big for n in range(1000)}


@pytest.mark.parametrize("text, words", [
    ("no JSON", "kind: spoilt cannot be used: JSON: "), ("[]", "JSON: want an object"),
    ("", "JSON: "), ('{"timeout":"x"}', "kind: spoilt cannot be used: timeout: want seconds"),
    ('{"nonsense":1}', "'nonsense': unknown field"),
    ('{"key":"stolen"}', "kind: spoilt cannot be used: key: belongs to a plan, not to a kind"),
    ('{"cron":"* * * * *"}', "cron: belongs to a plan"), ('{"cycle":[1,2]}', "cycle: belongs to a plan"),
    ('{"ext":"{}"}', "ext: want an object"), ("\x00\xff", "JSON: ")], ids=range(10))
def test_a_kind_that_was_edited_to_nonsense(rig, text, words):
    """It is shown as far as it can be read, can be mended, and no plan is made of it."""
    kinds(rig.client, "put", "fine", {"timeout": 1})
    rig.db.hset("plan:kinds", "spoilt", text.encode("latin-1"))
    refused(rig.client, at_once(kind="spoilt"), words)
    refused(rig.client, at_once(kind="spoilt", key="k"), words)
    assert rig.client.done("list").json["plans"] == []
    try:
        shown = json.loads(text)
    except ValueError:
        shown = None
    assert kinds(rig.client, "list") == {
        "fine": {"timeout": 1}, "spoilt": shown if isinstance(shown, dict) else None}
    kinds(rig.client, "put", "spoilt", {"timeout": 2})
    rig.client.added(at_once(kind="spoilt"))
    assert rig.jobs.recv().plan["timeout"] == 2


def test_a_name_that_is_no_text_hides_no_kind(rig):
    rig.db.hset("plan:kinds", mapping={b"\xff\xfe": "{}", "fine": '{"timeout":1}'})
    assert kinds(rig.client, "list") == {"fine": {"timeout": 1}}


def test_what_is_no_hash_is_replaced(rig):
    rig.db.set("plan:kinds", "nonsense")
    refused(rig.client, later(kind="k"), "no kind", ST.NOT_FIND)
    assert kinds(rig.client, "put", "k", {"timeout": 1}) == {"k": {"timeout": 1}}
    rig.client.added(later(kind="k"))


def test_C036_kinds_are_of_the_system_and_only_managers_change_them(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    keys = {role: rig.allow(role, role) for role in ("submit", "observe", "manage")}
    rig.start()
    clients = {role: rig.member(key) for role, key in keys.items()}
    clients["manage"].done("kind", "put", "k", {"timeout": 1})
    for role in ("submit", "observe"):
        assert kinds(clients[role], "list") == kinds(clients[role], "get", "k") == {
            "k": {"timeout": 1}}
        for words in (["put", "k", {}], ["remove", "k"]):
            clients[role].refused("kind", *words, status=ST.DENY)
    clients["manage"].refused("kind", "list", status=ST.DENY)
    for tenant in (1, 2):
        ident = clients["submit"].added(later(kind="k", tenant=tenant))
        assert rig.message(ident)["timeout"] == 1
    clients["manage"].done("kind", "remove", "k")
    assert kinds(clients["observe"], "list") == {}


def test_without_Redis_a_plan_of_a_kind_is_refused(rig):
    kinds(rig.client, "put", "k", {"timeout": 1})
    rig.redis.kill()
    assert rig.client.submit(later(kind="k")).code == ST.NET_ERROR
    rig.client.refused("kind", "list", status=ST.NET_ERROR)
