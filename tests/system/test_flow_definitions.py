"""Definitions of flows in the station: the command `flow`, its versions in Redis, and what refers to them.

features: B037, B079, B080, B081"""
import json
import pathlib
import time

import pytest

from curvetest import CurveRig
from faulttest import Pair
from flowrig import Flows, call
from zplanprocs import wait_until
from zplantest import CMD, FT, ST, WORD, at_once, later

STEPS = {"a": {"target": "jobs", "command": "do"}}
CHECK = {"steps_max": 1, "depth": 1, "bounded": False, "because": ["a: a target without total_timeout"]}
TEXT_MAX = 1_000_000


def flow(name="f", steps=None, **fields):
    return {"flow": name, "steps": steps or STEPS, **fields}


def calls(name, *targets, **fields):
    """A flow that calls these."""
    return flow(name, {f"s{n}": {"target": target} for n, target in enumerate(targets)}, **fields)


def put(client, definition, *last):
    return client.done("flow", "put", definition, *last).json


def wrong(client, word, *args, status=ST.ARG_ERROR):
    """It is rejected: {path: reason}, and the text of the status."""
    reply = client.manage("flow", word, *(a if isinstance(a, str) else json.dumps(a) for a in args))
    assert reply.code == status, reply
    errors = reply.json["errors"]
    return {error["path"]: error["reason"] for error in errors}, reply.text.removeprefix(WORD[status] + ": ")


def flows(client, **page):
    return client.done("flow", "list", *[page] * bool(page)).json["flows"]


def stored(rig, name="f"):
    return {field.decode(): value.decode() for field, value in rig.db.hgetall(f"plan:flow:def:{name}").items()}


# -- put, get, list, use, remove

def test_B037_a_definition_is_put_read_and_removed(rig):
    """B079: One text, written whole."""
    now = int(time.time())
    assert flows(rig.client) == []
    assert put(rig.client, flow()) == {"name": "f", "version": 1, "use": 1, "unchanged": False, "check": CHECK}
    got = rig.client.done("flow", "get", "f").json
    assert now <= got.pop("updated") <= time.time()
    assert got == {"name": "f", "version": 1, "use": 1, "last": 1, "versions": [1], "definition": flow()}
    row, = flows(rig.client)
    assert now <= row.pop("updated") <= time.time()
    assert row == {"name": "f", "use": 1, "last": 1, "steps": 1, "steps_max": 1, "depth": 1, "bounded": False}
    reply = rig.client.done("flow", "remove", "f")
    assert reply.text == "+ok" and not reply.every(FT.JSON)
    assert flows(rig.client) == [] and not rig.db.keys("plan:flow*")
    for words in (["get", "f"], ["remove", "f"], ["use", "f", "1"]):
        assert rig.client.refused("flow", *words, status=ST.NOT_FIND) == "flow: no flow 'f' is known"


def test_a_definition_is_kept_whole(rig):
    """B039, B053: the fields of a step, and properties of a front end as the same value."""
    rig.client.done("kind", "put", "slow", {"timeout": 5})
    step = {"target": "jobs", "command": "SCALA", "kind": "slow", "title": "Load", "group": "night",
            "remark": "ask Ann"}
    definition = flow(steps={"step-1": step}, title="Nightly", props={"x": [1.0, None, {"y": "\u65e5"}], "a": {}})
    rig.client.done("flow", "put", json.dumps(definition, indent=3))
    got = rig.client.done("flow", "get", "f").json["definition"]
    assert got == {**definition, "kinds": {"slow": {"timeout": 5}}}
    flows = Flows(rig)
    flows.start("f")
    sent = flows.next("step-1")
    plan = sent.run.plan
    assert (sent.command, plan["station"], plan["kind"], plan["description"], plan["group"], plan["remark"]) == (
        "SCALA", "jobs", "slow", "Load", "night", "ask Ann")


def test_a_flow_that_is_missing_is_named(rig):
    """B044: in the rejection of a plan, and in the failure of a run whose version is gone."""
    assert rig.client.submit(later(), station="f", head=[]).text.startswith("-no find: STATION_ID: no target 'f'")
    put(rig.client, flow())
    ident = rig.client.added(later(), station="f", head=[])
    rig.db.hdel("plan:flow:def:f", "1")
    rig.restart()
    rig.client.done("run", ident)
    wait_until(lambda: rig.message(ident, "f").get("error_info") == "flow f: there is no version 1", "it has failed")


def test_a_flow_that_is_gone_from_Redis_is_named(rig):
    """B044: deleted by hand, with all that Redis has of it."""
    put(rig.client, flow())
    ident = rig.client.added(later(), station="f", head=[])
    rig.db.delete("plan:flow", *rig.db.keys("plan:flow:*"))
    rig.restart()
    rig.client.done("run", ident)
    wait_until(lambda: rig.message(ident, "f").get("error_info") == "flow f: not found", "it has failed")


def test_the_same_text_is_the_same_version(rig):
    put(rig.client, flow())
    again = put(rig.client, flow())
    assert (again["version"], again["unchanged"], again["check"]) == (1, True, CHECK)
    assert rig.client.done("flow", "put", json.dumps(flow(), indent=2)).json["unchanged"]
    assert put(rig.client, flow(title="a  b"))["version"] == 2
    assert not put(rig.client, flow(title="a b"))["unchanged"]
    assert put(rig.client, flow())["version"] == 4      # that of version 1, but not of the last
    assert [rig.client.done("flow", "get", "f", str(n)).json["definition"].get("title") for n in (1, 2, 3, 4)] == [
        None, "a  b", "a b", None]


def test_the_definition_may_be_a_JSON_frame(rig):
    frames = [(FT.COMMAND, b"flow"), (FT.ARG, b"put"), (FT.JSON, json.dumps(flow()).encode())]
    assert rig.client.ask(CMD.NONE, frames).json["version"] == 1
    assert rig.client.ask(CMD.NONE, [*frames, (FT.ARG, b"7")]).text.endswith(
        "version: the last version of f is 1, not 7")
    frames[1] = (FT.ARG, b"check")
    assert rig.client.ask(CMD.NONE, frames).json["unchanged"]


def test_two_puts_at_a_time(rig):
    """B080: Of two that change one version one is rejected."""
    assert put(rig.client, flow(title="1"), "0")["version"] == 1
    assert put(rig.client, flow(title="2"), "1")["version"] == 2
    for last in (0, 1, 3):
        assert rig.client.refused("flow", "put", flow(title="3"), str(last)) == (
            f"version: the last version of f is 2, not {last}")
    for last in ("", "x", "-1", "99999999999"):
        assert "version: want 0..2147483647" in rig.client.refused("flow", "put", flow(), last)
    both = [rig.dealer(), rig.dealer()]
    for n, client in enumerate(both):
        client.send(CMD.NONE, [(FT.COMMAND, b"flow"), (FT.ARG, b"put"), (
            FT.ARG, json.dumps(flow(title=f"at once {n}")).encode()), (FT.ARG, b"2")])
    replies = [client.recv() for client in both]
    assert sorted(reply.code for reply in replies) == sorted([ST.OK, ST.ARG_ERROR])
    assert flows(rig.client)[0]["last"] == 3


def test_an_older_version_is_pinned_by_use(rig):
    for n in (1, 2, 3):
        assert put(rig.client, flow(title=str(n)))["use"] == n
    done = rig.client.done("flow", "use", "f", "1").json
    assert done == {"name": "f", "version": 1, "use": 1, "unchanged": False, "check": CHECK}
    assert put(rig.client, flow(title="4")) | {"check": 0} == {
        "name": "f", "version": 4, "use": 1, "unchanged": False, "check": 0}
    assert [flows(rig.client)[0][key] for key in ("use", "last")] == [1, 4]
    assert rig.client.done("flow", "get", "f").json["definition"]["title"] == "1"
    assert rig.client.done("flow", "use", "f", "4").json["use"] == 4
    assert put(rig.client, flow(title="5"))["use"] == 5     # the last one in use is no pin
    assert rig.client.done("flow", "use", "f", "5").json["unchanged"]
    assert rig.client.refused("flow", "use", "f", "6", status=ST.NOT_FIND) == "flow: f has no version 6"
    assert rig.client.refused("flow", "get", "f", "6", status=ST.NOT_FIND) == "flow: f has no version 6"


def test_use_checks_as_put_does(rig):
    rig.client.done("station", "add", "pile=pull")
    put(rig.client, calls("f", "pile"))
    put(rig.client, calls("f", "jobs"))
    rig.client.done("station", "remove", "pile")
    errors, text = wrong(rig.client, "use", "f", "1")
    assert errors == {"steps.s0.target": "target 'pile': not found"}
    assert text == "flow: steps.s0.target: target 'pile': not found"
    assert flows(rig.client)[0]["use"] == 2


def test_pages_of_the_list(rig):
    for name in ("b", "a", "ab", "B", "c"):
        put(rig.client, flow(name))
    assert [row["name"] for row in flows(rig.client)] == ["B", "a", "ab", "b", "c"]
    assert [row["name"] for row in flows(rig.client, name="a*")] == ["a", "ab"]
    assert [row["name"] for row in flows(rig.client, name="a")] == ["a"]
    page = rig.client.done("flow", "list", {"limit": 2}).json
    assert [row["name"] for row in page["flows"]] == ["B", "a"] and page["next"] == "a"
    page = rig.client.done("flow", "list", {"after": "a", "limit": 3}).json
    assert [row["name"] for row in page["flows"]] == ["ab", "b", "c"] and "next" not in page
    for page, words in (({"limit": 0}, "want 1..1000"), ({"after": 1}, "want the name"), ({"x": 1}, "'x'"), ("[]", "want an object")):
        assert words in rig.client.refused("flow", "list", page)


def test_check_says_what_put_would(rig):
    assert rig.client.done("flow", "check", flow()).json == {
        "name": "f", "version": 1, "use": 1, "unchanged": False, "check": CHECK}
    assert flows(rig.client) == [] and not rig.db.keys("plan:flow*")
    put(rig.client, flow())
    assert rig.client.done("flow", "check", flow()).json["unchanged"]
    assert rig.client.done("flow", "check", flow(title="x")).json["version"] == 2
    bad = calls("f", "nowhere")
    assert wrong(rig.client, "check", bad) == wrong(rig.client, "put", bad)


# -- rejected

def test_all_errors_are_reported_by_their_paths(shared):
    """B100: An unknown target is an error of the definition."""
    steps = {"a": {"target": "nobody"}, "b": {"after": ["c", "x"], "wait": -1}, "c": {"after": ["b"], "args": []}}
    errors, text = wrong(shared.client, "put", flow("g", steps, title=1, nonsense=2))
    assert {"steps.a.target", "title", "'nonsense'"} <= set(errors) and len(errors) >= 5
    assert text.endswith(f"; and {len(errors) - 1} more") and text.startswith("flow: ")
    many = flow("g", {f"s{n}": {"target": "nobody"} for n in range(150)})
    assert len(wrong(shared.client, "put", many)[0]) == 100
    assert flows(shared.client, name="g") == []


@pytest.mark.parametrize("text, words", [
    ("", "JSON"), ("[]", "a definition must be an object"), ("{", "JSON"), ('{"flow":"f","flow":"f"}', "duplicate"),
    ("[" * 100_000, "deep"), ('{"flow":"\\u0000"}', "JSON"), ("{}", "must be")], ids=range(7))
def test_what_is_no_definition(shared, text, words):
    for word in ("put", "check"):
        assert words in " ".join([*wrong(shared.client, word, text)[0].values()])


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ä", "a:b", "a\0b"])
def test_names_are_refused_in_words(shared, name):
    for words in (["get", name], ["use", name, "1"], ["remove", name]):
        assert "flow: want a name of 1..64 of A-Z" in shared.client.refused("flow", *words)
    assert "flow" in wrong(shared.client, "put", flow(name))[0] or "\0" in name


@pytest.mark.parametrize("words", [["nonsense"], ["get"], ["put"], ["remove"], ["use", "a"], ["list", "a", "b"],
                                   ["check"]])
def test_what_is_no_word_is_refused(shared, words):
    assert shared.client.refused("flow", *words).startswith("flow: want list [FILTER], get NAME")


def padded(size):
    text = json.dumps(flow("large", props={}))
    return text[:-1] + " " * (size - len(text)) + "}"


def test_a_definition_of_1000000_bytes_and_one_more(rig):
    done = rig.client.done("flow", "put", padded(TEXT_MAX)).json
    assert done["version"] == 1
    assert len(stored(rig, "large")["1"]) == TEXT_MAX
    assert rig.client.done("flow", "get", "large").json["definition"]["flow"] == "large"
    errors, _ = wrong(rig.client, "put", padded(TEXT_MAX + 1))
    assert errors == {"": "a definition has at most 1000000 bytes"}
    rig.restart()
    assert rig.dealer().done("flow", "use", "large", "1").json["unchanged"]


def test_plans_are_dispatched_while_a_large_definition_is_parsed(rig):
    """10,000 steps with expressions: a thread of its own reads them."""
    steps = {f"s{n}": {"target": "jobs", "command": "x", "args": [f"='{n}' + #input.x"]} for n in range(10_000)}
    other = rig.dealer()
    other.send(CMD.NONE, [(FT.COMMAND, b"flow"), (FT.ARG, b"put"), (FT.ARG, json.dumps(flow("wide", steps)).encode())])
    for _ in range(20):
        rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
    reply = other.recv()
    assert reply.code == ST.OK and reply.json["check"]["steps_max"] == 10_000
    errors, _ = wrong(rig.client, "put", flow("wide", {**steps, "s0": {"target": "wide"}}))
    assert errors == {"steps.s0.target": "'wide' is this flow itself: it cannot be called, and no target may have this name"}


def test_a_station_stops_while_a_large_definition_is_parsed(rig):
    steps = {f"s{n}": {"target": "jobs", "command": "x", "args": [f"='{n}' + #input.x"]} for n in range(10_000)}
    for n in range(5):
        rig.dealer().send(CMD.NONE, [(FT.COMMAND, b"flow"), (FT.ARG, b"put"), (
            FT.ARG, json.dumps(flow(f"wide{n}", steps)).encode())])
    rig.client.ping()
    rig.restart()
    rig.dealer().done("flow", "list")


def test_100_versions_are_kept(rig):
    for n in range(1, 104):
        assert put(rig.client, flow(title=str(n)))["version"] == n
        if n == 2:
            rig.client.done("flow", "use", "f", "2")
        if n == 102:
            rig.client.done("flow", "use", "f", "102")
    got = rig.client.done("flow", "get", "f").json
    assert got["versions"] == list(range(4, 104)) and got["use"] == got["last"] == 103
    rig.client.done("flow", "use", "f", "4")
    for n in range(104, 110):
        put(rig.client, flow(title=str(n)))
    assert rig.client.done("flow", "get", "f").json["versions"] == [4, *range(11, 110)]
    assert rig.client.refused("flow", "get", "f", "5", status=ST.NOT_FIND) == "flow: f has no version 5"


def test_versions_that_runs_have_are_kept(rig):
    """Of a run that waits, and of one that has failed and may be retried, also when the station does not have them in memory."""
    flows = Flows(rig)
    steps = {"ask": {"signal": {}}, "a": {"after": ["ask"], **STEPS["a"]}}
    flows.put("f", steps, title="1")
    ident = flows.start("f")
    waits = flows.run_of(ident, "f")
    flows.put("f", STEPS, title="2")
    flows.start("f")
    call = flows.call()
    flows.fail(call)
    fails = call.flow["run"]
    flows.until(fails, "failed")
    rig.restart()
    flows.client = rig.client
    for n in range(3, 110):
        flows.put("f", STEPS, title=str(n))
    assert flows.flow("get", "f")["versions"] == [1, 2, *range(12, 110)]
    rig.restart()
    flows.client = rig.client
    flows.flow("signal", waits, "ask")
    assert flows.next("a").flow["version"] == 1
    assert flows.until(waits, "finished")["version"] == 1
    rig.gone(ident, "f")
    flows.flow("retry", fails)
    assert flows.next("a").flow["version"] == 2
    flows.until(fails, "finished")


# -- kinds of steps

def put_kind(client, name, **fields):
    client.done("kind", "put", name, json.dumps(fields))


def test_a_call_has_the_fields_of_its_kind(rig):
    """B117: As they were at the put.

    Its own go first, then those of the kind it names, then the defaults, then those of their kind."""
    flows = Flows(rig)
    retry = {"strategy": "fixed", "interval": 30, "max": 2}
    put_kind(rig.client, "k", timeout=5, priority=7, retry=retry, category="not of a call")
    put_kind(rig.client, "all", timeout=9, priority=9, group="g")
    steps, defaults = {"a": call(kind="k", timeout=50), "b": call(["a"])}, {"kind": "all", "priority": 8}
    flows.put("f", steps, defaults=defaults)
    flows.start("f")
    a, b = (flows.next(name).run.plan for name in "ab")
    assert (a["kind"], a["timeout"], a["priority"], a["retry"]) == ("k", 50, 7, retry)
    assert (b["kind"], b["timeout"], b["priority"], b["group"]) == ("all", 9, 8, "g")
    assert "group" not in a and "category" not in a and "retry" not in b
    assert flows.put("f", steps, defaults=defaults)["unchanged"]
    put_kind(rig.client, "all", timeout=10)
    assert flows.put("f", steps, defaults=defaults)["version"] == 2


def test_a_version_keeps_its_kinds(rig):
    flows = Flows(rig)
    put_kind(rig.client, "k", timeout=5)
    definition = flow(steps={"a": call(kind="k")})
    put(rig.client, definition)
    put_kind(rig.client, "k", timeout=6)
    flows.start("f")
    assert flows.next("a").run.plan["timeout"] == 5
    got = flows.flow("get", "f")["definition"]
    assert got == {**definition, "kinds": {"k": {"timeout": 5}}}
    # What was read and is put again has the kinds of now; of one that is gone the ones that it brings.
    assert put(rig.client, got)["version"] == 2
    rig.client.done("kind", "remove", "k")
    flows.start("f")
    assert flows.next("a").run.plan["timeout"] == 6
    assert put(rig.client, got)["version"] == 3
    flows.start("f")
    assert flows.next("a").run.plan["timeout"] == 5
    assert flows.flow("use", "f", "2")["use"] == 2


def test_an_undo_has_the_fields_of_its_kind(rig):
    flows = Flows(rig)
    put_kind(rig.client, "k", timeout=5, misfire_window=9)    # an undo has no window
    undo = {"target": "jobs", "command": "free", "kind": "k"}
    flows.put("f", {"a": call(undo=undo), "b": call(["a"])})
    run = flows.run_of(flows.start("f"), "f")
    flows.next("a")
    flows.fail(flows.call())
    freed = flows.call()
    assert freed.flow["undo"] and freed.run.plan["timeout"] == 5 and "misfire_window" not in freed.run.plan
    flows.done(freed)
    flows.until(run, "failed")


def test_kinds_that_cannot_be_used_are_rejected(rig):
    steps = {"a": {**STEPS["a"], "undo": {**STEPS["a"], "kind": "k"}}, "b": {**STEPS["a"], "kind": "m"}}
    for word in ("check", "put"):
        errors, text = wrong(rig.client, word, flow(steps=steps))
        assert errors == {"steps.a.undo.kind": "no kind 'k' is known", "steps.b.kind": "no kind 'm' is known"}
        assert text == "flow: steps.a.undo.kind: no kind 'k' is known; and 1 more"
    errors, _ = wrong(rig.client, "put", flow(kinds={"k": {"timeout": 0}, "m": 5, "a b": {}, "n": {"cron": "* * * * *"}}))
    assert errors == {
        "kinds.k": "timeout: want seconds, 1..31536000", "kinds.m": "must be an object",
        "kinds.a b": "a kind's name is 1 to 64 of A-Z a-z 0-9 _ . -", "kinds.n": "cron: belongs to a plan, not to a kind"}
    assert wrong(rig.client, "put", flow(kinds=[]))[0] == {"kinds": "must be an object"}
    rig.db.hset("plan:kinds", "k", "nonsense")
    assert "steps.a.kind" in wrong(rig.client, "put", flow(steps={"a": {**STEPS["a"], "kind": "k"}}))[0]
    rig.db.hset("plan:kinds", "k", '{"timeout": 0}')
    assert "kinds.k" in wrong(rig.client, "put", flow(steps={"a": {**STEPS["a"], "kind": "k"}}))[0]


# -- references

def test_cycles_between_flows(rig):
    """B040: references between flows have no cycle."""
    put(rig.client, calls("a", "jobs"))
    put(rig.client, calls("b", "a"))
    put(rig.client, calls("c", "b"))
    leads = "flow 'c' leads back to this flow"
    assert wrong(rig.client, "put", calls("a", "c"))[0] == {"steps.s0.target": leads}
    assert wrong(rig.client, "put", calls("a", "jobs", "c", "a"))[0] == {
        "steps.s1.target": leads, "steps.s2.target": "'a' is this flow itself: it cannot be called, and no target may have this name"}
    put(rig.client, calls("c", "jobs"))         # version 2 calls no flow
    assert put(rig.client, calls("a", "c"))["check"]["depth"] == 2
    assert wrong(rig.client, "use", "c", "1")[0] == {"steps.s0.target": "flow 'b' leads back to this flow"}
    rig.client.done("flow", "use", "a", "1")
    assert rig.client.done("flow", "use", "c", "1").json["check"]["depth"] == 3
    assert wrong(rig.client, "use", "a", "2")[0] == {"steps.s0.target": leads}
    rig.restart()
    rig.client = rig.dealer()
    assert wrong(rig.client, "use", "a", "2")[0] == {"steps.s0.target": leads}


def test_flows_are_16_deep_at_most_and_so_are_their_callers(rig):
    """B040: nested at most 16 deep."""
    put(rig.client, calls("f1", "jobs"))
    for n in range(2, 17):
        assert put(rig.client, calls(f"f{n}", f"f{n - 1}"))["check"]["depth"] == n
    assert wrong(rig.client, "put", calls("f17", "f16"))[0] == {"steps.s0.target": "sub-flows nest at most 16 levels"}
    put(rig.client, calls("leaf", "jobs"))
    assert wrong(rig.client, "put", calls("f1", "leaf"))[0] == {
        "steps": "flow f16, which leads here, would be 17 flows deep, more than 16"}
    assert {row["name"]: row["depth"] for row in flows(rig.client)}["f16"] == 16


def test_calls_of_callers_are_counted_again(rig):
    def leaf(items):
        return flow("leaf", {"a": {"target": "jobs", "for_each": items}})
    put(rig.client, leaf(1))
    put(rig.client, flow("root", {"s": {"target": "leaf", "for_each": 1000}}))
    put(rig.client, leaf(500))
    assert {row["name"]: row["steps_max"] for row in flows(rig.client)} == {"leaf": 500, "root": 501_000}
    assert wrong(rig.client, "put", leaf(1000))[0] == {
        "steps": "a run of flow root, which leads here, might make 1001000 calls, more than 1000000"}
    rig.restart()
    rig.client = rig.dealer()
    assert {row["name"]: row["steps_max"] for row in flows(rig.client)} == {"leaf": 500, "root": 501_000}
    assert wrong(rig.client, "put", leaf(1000))[0]


def test_a_flow_that_is_called_is_not_removed(rig):
    """B081: A flow that another one calls is not deleted."""
    put(rig.client, calls("inner", "jobs"))
    put(rig.client, calls("outer", "inner"))
    assert rig.client.refused("flow", "remove", "inner", status=ST.BUSY) == "flow: inner is called by flow outer"
    rig.client.done("flow", "remove", "outer")
    rig.client.done("flow", "remove", "inner")


# -- a flow is a target

def test_a_flow_is_listed_as_a_target(rig):
    """B047: a flow is a target of type `flow`."""
    put(rig.client, flow())
    row = {s["name"]: s for s in rig.client.done("station", "list").json["stations"]}["f"]
    assert row == {"name": "f", "type": "flow", "endpoint": "", "origin": "put", "connected": True, "unanswered": 0,
                   "version": 1}


def test_a_name_is_of_a_flow_or_of_a_target(rig):
    put(rig.client, flow())
    assert rig.client.refused("station", "add", "f=pull") == "station: f is the name of a flow"
    assert rig.client.refused("station", "remove", "f") == "station: f is a flow: flow remove"
    assert wrong(rig.client, "put", flow("news"))[0] == {"flow": "a target has this name"}
    rig.client.done("station", "add", "pile=pull")
    assert wrong(rig.client, "check", flow("pile"))[0] == {"flow": "a target has this name"}
    rig.client.done("station", "remove", "pile")
    put(rig.client, flow("pile"))
    rig.client.done("flow", "remove", "f")
    rig.client.done("station", "add", "f=pull")


def test_plans_of_a_flow_are_accepted_and_keep_it(rig):
    """B044: a flow that has plans is not removed. B081: a flow that has plans is not deleted."""
    plan = {"station": "f", "head": []}
    assert rig.client.submit(later(), **plan).code == ST.NOT_FIND
    put(rig.client, flow())
    ident = rig.client.added(later(), more=[(FT.JSON, b'{"x":1}')], **plan)
    assert rig.client.done("list", {"station": "f"}).json["plans"][0]["plan_id"] == int(ident, 16)
    assert rig.client.refused("flow", "remove", "f", status=ST.BUSY) == "flow: f has 1 plan; remove them first"
    rig.client.added(later(), **plan)
    assert "f has 2 plans" in rig.client.refused("flow", "remove", "f", status=ST.BUSY)
    for one in rig.client.done("list", {"station": "f"}).json["plans"]:
        rig.client.done("remove", f"{one['plan_id']:x}")
    rig.client.done("flow", "remove", "f")
    assert rig.client.submit(later(), **plan).code == ST.NOT_FIND


@pytest.mark.parametrize("more, fields, words", [
    ([(FT.JSON, b"[]")], {}, "JSON: the input of a flow: want an object"),
    ([(FT.JSON, b"{")], {}, "JSON: the input of a flow: "),
    ([(FT.JSON, b"{}"), (FT.JSON, b"{}")], {}, "JSON: a flow takes one frame, its input, got 2"),
    ([(FT.JSON, b'{"x":"' + b"x" * 65536 + b'"}')], {}, "JSON: the input of a flow has at most 65536 bytes"),
    ([], {"vote": {"rule": "majority"}}, "vote: is for plans of vote targets, this one is of a flow"),
    ([], {"workers": {"count": 2}}, "workers: is for plans of pull targets, this one is of a flow")], ids=range(6))
def test_what_a_flow_does_not_take(shared, more, fields, words):
    put(shared.client, flow("taker"))
    reply = shared.client.submit(later(**fields), station="taker", head=[], more=more)
    assert reply.code == ST.PLANERROR and words in reply.text


def test_a_failure_may_start_a_flow(rig):
    put(rig.client, flow())
    rig.client.added(later(on_failure={"station": "f", "command": "do"}))
    assert "no target 'g'" in rig.client.submit(later(on_failure={"station": "g", "command": "do"})).text


# -- restarts, edits by hand

def test_B081_definitions_survive_a_restart(rig):
    names = [f"n{n:03}" for n in range(450)]         # of three pages
    for name in names:
        put(rig.client, flow(name))
    put(rig.client, flow("n000", title="x"))
    rig.client.done("flow", "use", "n000", "1")
    before = flows(rig.client)
    rig.restart()
    rig.client = rig.dealer()
    assert flows(rig.client) == before and [row["name"] for row in before] == names
    assert before[0]["use"] == 1 and before[0]["last"] == 2
    assert put(rig.client, flow("n001"))["unchanged"]
    assert rig.client.submit(later(), station="n449", head=[]).code == ST.PLAN


def test_a_standby_takes_over_with_all_definitions(make_rig):
    rig = make_rig(start=False)
    pair = Pair(rig, 1)
    try:
        rig.start()
        pair.start()
        put(rig.client, calls("inner", "jobs"))
        put(rig.client, calls("outer", "inner"))
        before = flows(rig.client)
        pair.stations[0].kill()
        pair.takes_over()
        assert flows(rig.client) == before
        assert wrong(rig.client, "put", calls("inner", "outer"))[0] == {
            "steps.s0.target": "flow 'outer' leads back to this flow"}
        assert put(rig.client, calls("inner", "jobs", title="x"))["version"] == 2
    finally:
        pair.close()


@pytest.mark.parametrize("text, words", [
    ("no JSON", "JSON"), ("[]", ""), ('{"flow":"f"}', "steps"), (json.dumps(flow("other")), "is of flow other"),
    ("\x00\xff", "JSON"), ("[" * 5000, "deep")], ids=range(6))
def test_a_text_that_was_edited_to_nonsense(rig, text, words):
    """It is reported, and can be mended."""
    put(rig.client, flow())
    put(rig.client, flow(title="2"))
    rig.db.hset("plan:flow:def:f", "1", text.encode("latin-1"))
    reply = rig.client.manage("flow", "use", "f", "1")
    assert reply.code == ST.ARG_ERROR and words in str(reply.json if reply.every(FT.JSON) else reply.text)
    rig.client.manage("flow", "get", "f", "1")
    assert flows(rig.client)[0]["use"] == 2
    rig.restart()
    rig.client = rig.dealer()
    assert put(rig.client, flow(title="3"))["version"] == 3


@pytest.mark.parametrize("fields, use", [
    ({"use": "x"}, 0), ({"use": "-1"}, 0), ({"use": "99999999999999999999"}, 0), ({"info": "nonsense"}, 2),
    ({"info": '{"steps":1}'}, 2), ({"info": '{"flows":{"a b":1}}'}, 2), ({"last": "", "updated": "x"}, 2),
    ({"use": "7"}, 7), ({"last": "2147483647"}, 2)], ids=range(9))
def test_fields_that_were_edited_to_nonsense(rig, fields, use):
    put(rig.client, flow())
    put(rig.client, flow(title="2"))
    rig.db.hset("plan:flow:def:f", mapping=fields)
    rig.restart()
    rig.client = rig.dealer()
    assert flows(rig.client)[0]["use"] == use
    if use == 2:        # `info` is made of the text again
        wait_until(lambda: flows(rig.client)[0].get("steps_max") == 1, "it is known what the flow is like")
    rig.client.manage("flow", "get", "f")
    if "last" in fields and fields["last"]:
        assert "no more numbers" in rig.client.refused("flow", "put", flow(title="3"), status=ST.BUSY)
        return
    done = put(rig.client, flow(title="3"))
    assert done["version"] == (8 if use == 7 else 3)
    rig.client.done("flow", "use", "f", "1")
    assert put(rig.client, calls("g", "f"))["check"]["depth"] == 2
    assert flows(rig.client)[0]["depth"] == 1


def test_what_is_known_of_a_definition_is_made_of_its_text_again(rig):
    """Of a large one too, on a thread of its own; and not of one that is damaged."""
    wide = flow("wide", {f"s{n}": {"target": "jobs", "command": "x" * 60} for n in range(9000)})
    put(rig.client, wide)
    for name in ("damaged", "foreign", "gone", "sound"):
        put(rig.client, calls(name, "wide"))
    for name in ("wide", "damaged", "foreign", "gone", "sound"):
        rig.db.hdel(f"plan:flow:def:{name}", "info")
    rig.db.hset("plan:flow:def:damaged", "1", "{")
    rig.db.hset("plan:flow:def:foreign", "1", json.dumps(flow("x")))
    rig.db.hdel("plan:flow:def:gone", "1")
    rig.restart()
    rig.client = rig.dealer()
    wait_until(lambda: {row["name"]: row.get("steps_max") for row in flows(rig.client)} == {
        "wide": 9000, "sound": 9001, "damaged": None, "foreign": None, "gone": None}, "they are known")
    log = pathlib.Path(rig.station.log).read_text(encoding="utf-8")
    assert 'flow=damaged version=1 reason="flow damaged: version 1 cannot be read: JSON' in log
    assert 'flow=foreign version=1 reason="flow foreign: version 1 is of flow x"' in log
    for name in ("wide", "damaged", "foreign", "gone"):
        assert put(rig.client, flow(name))["use"] >= 1
    assert {row["steps_max"] for row in flows(rig.client)} == {1, 2}


def test_names_and_hashes_that_do_not_belong_together(rig):
    put(rig.client, flow())
    rig.db.zadd("plan:flow:names", {"ghost": 0, **{f"a b{n}": 0 for n in range(450)}, b"\xff": 0})
    rig.db.set("plan:flow:def:ghost", "no hash")
    rig.restart()
    rig.client = rig.dealer()
    assert [(row["name"], row["use"]) for row in flows(rig.client)] == [("f", 1), ("ghost", 0)]
    rig.client.refused("flow", "get", "ghost", status=ST.NOT_FIND)
    assert put(rig.client, flow("ghost"))["version"] == 1
    assert rig.client.done("flow", "get", "ghost").json["definition"] == flow("ghost")
    rig.client.done("flow", "remove", "ghost")
    assert [row["name"] for row in flows(rig.client)] == ["f"]


def test_what_is_no_sorted_set_is_replaced(rig):
    rig.db.set("plan:flow:names", "nonsense")
    rig.restart()
    rig.client = rig.dealer()
    assert flows(rig.client) == []
    put(rig.client, flow())
    assert rig.db.zrange("plan:flow:names", 0, -1) == [b"f"]


def test_without_Redis(rig):
    rig.db.config_set("appendfsync", "always")      # or its end takes what was put last
    put(rig.client, flow())
    rig.redis.kill()
    for words in (["put", flow(title="x")], ["get", "f"], ["list"], ["remove", "f"]):
        rig.client.refused("flow", *words, status=ST.NET_ERROR)
    rig.redis.start()
    wait_until(lambda: rig.client.manage("flow", "list").code == ST.OK, "Redis is back")
    assert put(rig.client, flow(title="x"))["version"] == 2


# -- keys

def test_roles_and_keys(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    keys = {role: rig.allow(role, role) for role in ("submit", "observe", "manage")}
    keys["bound"] = rig.allow("bound", "submit,observe,manage", "f,jobs")
    rig.start()
    clients = {name: rig.member(key) for name, key in keys.items()}
    put(clients["manage"], flow())
    for name in ("submit", "observe"):
        assert clients[name].done("flow", "check", flow()).json["unchanged"]
        for words in (["put", flow()], ["use", "f", "1"], ["remove", "f"]):
            assert "role: want manage" in clients[name].refused("flow", *words, status=ST.DENY)
    for name in ("submit", "manage"):
        for words in (["list"], ["get", "f"]):
            assert "role: want observe" in clients[name].refused("flow", *words, status=ST.DENY)
    clients["observe"].done("flow", "get", "f")
    put(clients["manage"], flow("other"))
    bound = clients["bound"]
    assert [row["name"] for row in flows(bound)] == ["f"]
    assert put(bound, flow(title="x"))["version"] == 2
    for words in (["put", flow("other")], ["get", "other"], ["remove", "other"], ["use", "other", "1"], ["check", flow("other")]):
        assert "the key 'bound' may not touch 'other'" in bound.refused("flow", *words, status=ST.DENY)
    may_not = "the key 'bound' may not touch "
    steps = {"a": {"target": "news", "undo": {"target": "nowhere"}}, "b": {"target": "jobs"}, "c": {"target": "other"}}
    for word in ("put", "check"):
        errors, text = wrong(bound, word, flow(steps=steps), status=ST.DENY)
        assert errors == {"steps.a.target": may_not + "'news'", "steps.a.undo.target": may_not + "'nowhere'",
                          "steps.c.target": may_not + "'other'"}
        assert text == "flow: steps.a.target: " + may_not + "'news'; and 2 more"


def test_the_flows_are_named_beside_the_targets_that_are_known(rig):
    put(rig.client, flow("nightly-load"))
    reply = rig.client.submit(later(), station="nightly-laod")
    assert reply.code == ST.NOT_FIND and reply.text.endswith("; known: jobs, news, nightly-load"), reply
