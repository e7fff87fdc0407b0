"""zplan --json: one set of names in every verb, and plans by their names wherever an id stands."""
import json
import re

import pytest

from clitest import REFUSED, WAIT, objects, zplan
from curvetest import CurveRig
from zplantest import FT, ST, later, wait_until
from test_cli_verbs import GOOD, filled, options
from test_cli_verbs import where  # noqa: F401  the station of this file, too

HEX = re.compile(r"[1-9a-f][0-9a-f]{0,15}")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
STATES = {"queued", "running", "retrying", "paused", "error", "closed"}
# What the wire calls them.
OLD = {"plan_id", "station", "description", "plan_state", "last_state", "plan_time", "exec_time", "real_repet",
       "error_count", "skip_num", "add_time", "base_time", "nominal", "fired", "ended", "key", "refused", "told",
       "now_ms", "late_ms", "started_ms", "heard_ms", "round_trip_us", "there", "unresponsive_since", "missed_first"}


def check(value, path=""):
    """Every name of this value keeps the rules."""
    if isinstance(value, list):
        for item in value:
            check(item, path)
    if not isinstance(value, dict):
        return
    for name, item in value.items():
        at = f"{path}.{name}"
        if name in ("spec", "fields", "summary", "counters", "b64"):
            continue  # as a submitter writes it, or names of counters
        assert name not in OLD, at
        if name in ("id", "exec_id") or name == "plan" and not isinstance(item, dict):
            assert item is None or HEX.fullmatch(item), (at, item)
        if name == "at" or name.endswith("_at"):
            assert item is None or INSTANT.fullmatch(item), (at, item)
        if name.endswith("_s") and not name.endswith("_per_s"):
            assert item is None or type(item) in (int, float), (at, item)
        assert not name.endswith(("_ms", "_us")), at
        if name == "state" and ("revision" in value or "entry" in value or "reasons" in value):
            assert item in STATES, (at, item)
        check(item, at)


@pytest.mark.parametrize("verb", sorted(set(GOOD) - {"export", "keygen"}))
def test_names_of_each_verb(where, verb, tmp_path):
    ended = zplan(*options(where), verb, *filled(where, GOOD[verb], tmp_path), "--json")
    for line in ended.done().splitlines():
        value = json.loads(line)
        check(value, verb)
        if verb == "next":
            assert all(INSTANT.fullmatch(time) for time in value)


class Named:
    """A station with a plan named nightly."""

    def __init__(self, rig, *more):
        self.rig, self.more = rig, more

    def __call__(self, *args):
        return zplan("--connect", self.rig.ipc("q"), "--timeout", str(int(WAIT * 1000)), *self.more, *args)

    def add(self, name, *more):
        return json.loads(self("add", "--target", "jobs", "--command", "x", "--daily", "02:00", "--name", name,
                               "--json", *more).done())["id"]

    def state(self, ident):
        return json.loads(self("show", ident, "--json").done())["state"]


@pytest.fixture
def rig(where):  # noqa: F811
    return where


@pytest.fixture
def station(rig):
    return Named(rig)


def test_a_plan_is_shown(station):
    ident = station.add("shown", "--title", "every night", "--arg", "7")
    plan = json.loads(station("show", "shown", "--json").done())
    assert {"id": ident, "name": "shown", "title": "every night", "target": "jobs", "state": "queued",
            "running": False, "command": "x", "args": ["7"]}.items() <= plan.items()
    assert plan["counts"] == {"runs": 0, "failures": 0, "skipped": 0, "left": None}
    assert plan["last"] == {"status": None, "started_at": None, "exec_id": None}
    assert plan["spec"]["plan_type"] and "name       " in station("show", "shown").done()
    listed = [one for one in objects(station("list", "--json")) if one["id"] == ident]
    same = set(listed[0]) - {"revision"}
    assert {field: plan[field] for field in same} == {field: listed[0][field] for field in same}
    wire = json.loads(station("show", "shown", "--json=wire").done())
    assert wire["plan_id"] == int(ident, 16) and wire["description"] == "every night"


def test_lines_with_a_spec(station, tmp_path):
    """What is shown as `spec` can be submitted as it is."""
    station.add("first", "--title", "t", "--arg", "7")
    first = json.loads(station("show", "first", "--json").done())
    line = {name: first[name] for name in ("target", "title", "command", "args")}
    second = {**line, "spec": {**first["spec"], "key": "second"}, "hold": True}
    framed = {"target": "jobs", "spec": {"plan_type": "time", "plan_time": "2100-01-01T00:00:00Z", "key": "third"},
              "frames": [{"type": "COMMAND", "text": "y"}, {"type": "ARG", "text": "8"}]}
    bad = [{**line, "spec": 5}, {**line, "spec": {"command": "z"}}, {**framed, "frames": [{"type": "BIN", "b64": "/w=="}]}]
    (tmp_path / "plans").write_text("".join(json.dumps(one) + "\n" for one in [second, framed, *bad]))
    ended = station("add", "--from", str(tmp_path / "plans"))
    assert ended.code == REFUSED and ended.out.startswith("2 plans added, 3 "), (ended.out, ended.err)
    assert "'command': is given twice" in ended.err and "frames: want {type, text}" in ended.err
    shown = json.loads(station("show", "second", "--json").done())
    assert shown["state"] == "paused" and shown["args"] == ["7"] and shown["title"] == "t"
    assert shown["spec"]["plan_type"] == first["spec"]["plan_type"]
    assert json.loads(station("show", "third", "--json").done())["command"] == "y"


def test_verbs_take_a_name(station):
    ident = station.add("nightly")
    assert station("pause", "nightly").done() == "plan nightly paused\n"
    assert station.state("key:nightly") == "paused"
    answer, = objects(station("reset", "nightly", "--json"))
    assert (answer["id"], answer["done"], answer["plan"]["id"]) == (ident, "reset", ident)
    assert station("why", "nightly").done().startswith("plan nightly: ")
    assert json.loads(station("why", "nightly", "--json").done())["id"] == ident
    assert station("next", "nightly", "-n", "2").done() == station("next", ident, "-n", "2").done()
    station("skip", "nightly").done()
    station("update", "nightly", "--title", "anew").done()
    assert json.loads(station("show", ident, "--json").done())["title"] == "anew"
    assert "would be closed" in station("close", "nightly", "--dry-run").done()
    assert station("history", "nightly").done()
    assert station("close", ident, "key:nightly").done() == f"plan {ident} closed\nplan nightly closed\n"
    assert f"\n{ident}\t" in "\n" + station("completion", "plans").done()
    assert "\nnightly\t" in "\n" + station("completion", "plans").done()
    assert station("remove", "nightly").done() == "plan nightly removed\n"
    for verb in ("show", "pause", "why", "next", "remove"):
        assert "zplan: nightly: no plan 'nightly'" in station(verb, "nightly").failed(REFUSED), verb
    assert "zplan: nightly: " in station("history", "nightly").failed(REFUSED)
    refused, = map(json.loads, station("pause", "nightly", "--json").out.splitlines())
    assert refused == {"name": "nightly", "code": "not_find", "detail": "no plan 'nightly'"}


def test_an_id_goes_before_a_name(station):
    """A text that is both names the plan of that id, and the one of that name only where there is none."""
    named = station.add("feed")
    assert station.state("feed") == "queued"
    station("pause", "FEED").failed(REFUSED)  # another name
    station("pause", "feed").done()
    assert station.state(named) == "paused"
    by_id = station("add", "--target", "jobs", "--command", "x", "--in", "1d", "--id", "feed").done()
    assert "plan feed" in by_id and json.loads(station("show", "feed", "--json").done())["id"] == "feed"
    assert station.state("feed") == "queued" and station.state("key:feed") == "paused"
    station("remove", "feed", "key:feed").done()
    assert "no plan 'feed'" in station("remove", "feed").failed(REFUSED)


def test_history_of_a_name(station, rig):
    ident = json.loads(station("add", "--target", "jobs", "--command", "x", "--name", "beef", "--json")
                       .done())["id"]
    run = rig.jobs.recv()
    while run.before[1] != f"*{ident}".encode():  # of other tests
        run = rig.jobs.recv()
    rig.jobs.finish(run)
    wait_until(lambda: objects(station("history", "key:beef", "--json")), "the run has ended")
    run, = objects(station("history", "beef", "--json"))
    check(run)
    assert (run["plan"], run["status"], run["state"]) == (ident, "ok", "closed") and run["took_s"] >= 0


def test_wire_takes_names_and_integers(station, rig):
    ident = station.add("wired")
    got = rig.client.done("message", "key:wired")
    assert got.json["plan_id"] == int(ident, 16)
    rig.client.done("pause", "key:wired")
    assert station.state(ident) == "paused"
    for wanted in (int(ident, 16), ident, "key:wired"):
        assert rig.client.done("history", {"plan": wanted}).json["runs"] == []
    assert "plans" in rig.client.done("list", {"after": 1}).json
    for bad in ("key:", "key:" + "x" * 257):
        assert "want a name of 1..256 bytes" in rig.client.refused("pause", bad)
    assert "no plan 'other'" in rig.client.refused("pause", "key:other", status=ST.NOT_FIND)


@pytest.fixture(scope="module")
def curved():
    rig = CurveRig()
    roles = "submit,observe,manage"
    keys = {name: rig.allow(name, roles, stations)
            for name, stations in (("jobs", "jobs"), ("news", "news"), ("both", "jobs,news"))}
    rig.start()
    yield rig, {name: rig.member(key) for name, key in keys.items()}
    rig.close()


def test_names_of_bound_keys(curved):
    """Each tenant has names of its own, and reaches no other's by them."""
    rig, members = curved
    theirs = members["jobs"].added(later(key="nightly"))
    owners = rig.client.added(later(key="nightly"))
    assert theirs != owners

    def found(client, name):
        return f"{client.done('message', name).json['plan_id']:x}"

    assert found(members["jobs"], "key:nightly") == theirs
    assert found(rig.client, "key:nightly") == owners
    assert "no plan 'nightly'" in members["news"].refused("message", "key:nightly", status=ST.NOT_FIND)
    members["news"].refused("pause", "key:nightly", status=ST.NOT_FIND)
    assert "several targets, want key:TARGET/NAME" in members["both"].refused("pause", "key:nightly")
    assert found(members["both"], "key:jobs/nightly") == theirs
    members["both"].refused("message", "key:news/nightly", status=ST.NOT_FIND)
    members["both"].refused("message", "key:elsewhere/nightly", status=ST.DENY)
    members["both"].refused("history", {"plan": "key:elsewhere/nightly"}, status=ST.DENY)
    # A name with a slash is no way out of the own target.
    members["news"].refused("message", "key:jobs/nightly", status=ST.NOT_FIND)
    members["jobs"].done("pause", "key:nightly")
    assert rig.client.done("message", owners).json["plan_state"] == 1
