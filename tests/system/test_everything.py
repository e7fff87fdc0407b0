"""zplan export --everything and its import: all that a station keeps, in another one as it was. Also the
command `restore`, by which it gets there."""
import json
import os
import signal
import subprocess

import pytest

from clitest import DONE, REFUSED, USAGE, ZPLAN, FakeStation, reply, start, taken_apart, zplan
from curvetest import CurveRig, certificate, write
from zplantest import (CLOSE, ERROR, FT, PAUSE, QUEUE, ST, WAIT, argument, at_once, every, later,
                       wait_until)

BINARY = b"\x00\xff\xfe no text"
LARGE = b"x" * 900_000
KEY = "1d" * 20      # of a target: a secret
ALWAYS = ("--history-age", "100000000")


class Station:
    """A rig, and the command line at it."""

    def __init__(self, rig):
        self.rig = rig

    def __call__(self, *args, **options):
        return zplan("--connect", self.rig.ipc("q"), "--timeout", "20000", *args, **options)

    def lines(self, *args):
        return [json.loads(line) for line in self(*args, "--json=wire").done().splitlines()]


@pytest.fixture
def make(make_rig):
    return lambda *args, **options: Station(make_rig(*ALWAYS, *args, **options))


def finish(rig, count, status=ST.OK, pairs=()):
    for _ in range(count):
        rig.jobs.finish(rig.jobs.recv(), status, pairs)


def outcomes(rig):
    return rig.client.done("history", {"limit": 1000}).json["runs"]


def fill(station):
    """A station with some of everything; {what: id}."""
    rig, ids = station.rig, {}
    station("station", "add", f"extra=api@{rig.ipc('x')},dialect=microzero,mailbox=identity,key={KEY}").done()
    station("station", "add", "pull=pull").done()
    station("kind", "put", "mail", '{"timeout": 60, "category": "mail"}').done()
    station("limit", "set", "group:g", "--concurrency", "2", "--rate", "0.5").done()

    counted = rig.client.added(every(1, 5, description="counted", no_keep=True))
    finish(rig, 2)
    wait_until(lambda: rig.message(counted)["real_repet"] == 2, "two runs are counted")
    rig.client.done("pause", counted)
    if rig.db.hexists("plan:run", rig.key(counted)):     # the third had begun
        finish(rig, 1)
        wait_until(lambda: not rig.db.hexists("plan:run", rig.key(counted)), "no run is in flight")
    ids["counted"] = counted

    ids["dead"] = rig.client.added(at_once(description="dead", retry={"strategy": "fixed", "interval": 1, "max": 1,
                                                                      "need_manual": True}))
    finish(rig, 2, ST.FAILED, [(FT.STATUS, b"-failed: no paper")])
    rig.state(ids["dead"], ST.FAILED)
    wait_until(lambda: rig.message(ids["dead"])["plan_state"] == ERROR, "it is dead")
    ids["retry"] = rig.client.added(at_once(description="retry", retry={"strategy": "fixed", "interval": 86400,
                                                                        "max": 5}))
    finish(rig, 1, ST.FAILED, [(FT.STATUS, BINARY)])
    wait_until(lambda: rig.message(ids["retry"])["error_count"] == 1, "it has failed once")
    rig.client.added(at_once(description="over"))
    finish(rig, 1, pairs=[(FT.CONTENT, b"first " + BINARY + b"x" * 70000 + b" last")])
    ids["queued"] = rig.client.added(later(description="queued", priority=7, group="g", tenant="t", key="name"))
    ids["paused"] = rig.client.added(later(description="paused"))
    rig.client.done("pause", ids["paused"])
    ids["held"] = rig.client.added(later(description="held", hold=True))
    ids["closed"] = rig.client.added(later(description="closed"))
    rig.client.done("close", ids["closed"])
    ids["binary"] = rig.client.added(later(description="bïnary"), more=[(FT.ARG, BINARY), (FT.ARG, b"")])
    ids["large"] = rig.client.added(later(description="large"), more=[(FT.ARG, LARGE), (FT.ARG, LARGE)])
    ids["skipped"] = rig.client.added({"description": "skipped", "plan_type": "cron", "cron": "0 3 * * *",
                                       "plan_repet": 9, "timezone": "Europe/Berlin"})
    rig.client.done("skip", ids["skipped"], "3")
    ids["mail"] = rig.client.added(later(description="kind", kind="mail"))
    ids["news"] = rig.client.added(later(description="news"), station="news")
    ids["pull"] = rig.client.added(later(description="pull"), station="pull")
    ids["extra"] = rig.client.added(later(description="extra"), station="extra")
    return ids


# What a station counts, makes or sees anew.
ANEW = {"revision", "seq", "entry", "connected", "unanswered", "unresponsive_since", "endpoint", "text", "key",
        "last", "epoch"}


def bare(value):
    if isinstance(value, dict):
        return {name: bare(one) for name, one in value.items() if name not in ANEW}
    return [bare(one) for one in value] if isinstance(value, list) else value


def tells(station, ids):
    """What every verb that looks says of it."""
    views = {verb: bare(station.lines(*verb.split())) for verb in (
        "list", "history", "kind list", "limit list", "station list", "list --dead", "list --held")}
    views["outputs"] = bare(station.rig.client.done("history", {"output": True}).json["runs"])
    for what, ident in ids.items():
        views[what] = bare(station.lines("show", ident))
        for plan in views[what]:        # they begin anew with an import
            plan.pop("failures", None)
        views["next " + what] = bare(station("next", ident, "--json=wire").out)
    return views


def exported(station, path, *args):
    path.write_text(station("export", "--everything", *args).done())
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_all_is_moved(make, tmp_path):
    old, new = make(), make()
    ids = fill(old)
    path = tmp_path / "everything"
    records = exported(old, path)
    assert [records[0]["type"], records[0]["format"], records[-1]["type"]] == ["everything", 1, "end"]
    of_type = {kind: [one for one in records if one["type"] == kind] for kind in
               ("target", "kind", "limit", "flow", "outcome", "plan")}
    assert {kind + "s": len(found) for kind, found in of_type.items()} == \
        {name: number for name, number in records[-1].items() if name != "type"}
    assert len(of_type["plan"]) == len(ids) and len(of_type["outcome"]) == len(outcomes(old.rig)) >= 6
    assert KEY not in path.read_text()

    before = new.rig.dump()
    said = new("import", str(path), "--dry-run")
    assert f"{len(ids)} plans would be added" in said.out and said.code == DONE, (said.out, said.err)
    assert new.rig.dump() == before
    said = new("import", str(path))
    assert (said.code, said.out.splitlines()[0]) == (
        DONE, f"2 targets, 1 kind, 1 limit, {len(of_type['outcome'])} outcomes, {len(ids)} plans added"), said.err
    assert "target extra: its key is a secret" in said.err and said.err.count("\n") == 1
    assert tells(new, ids) == tells(old, ids)

    entries = [one["entry"] for one in outcomes(new.rig)]
    again = new("import", str(path)).done()
    assert again == ("nothing added\n"
                     f"4 targets, 1 kind, 1 limit, {len(of_type['outcome'])} outcomes, {len(ids)} plans already there\n")
    assert tells(new, ids) == tells(old, ids)
    assert [one["entry"] for one in outcomes(new.rig)] == entries
    states = {what: new.rig.message(ids[what])["plan_state"] for what in
              ("counted", "dead", "queued", "paused", "held", "closed")}
    assert states == {"counted": PAUSE, "dead": ERROR, "queued": QUEUE, "paused": PAUSE, "held": PAUSE,
                      "closed": CLOSE}
    in_queue = {what for what, ident in ids.items()
                if new.rig.score(ident, {"news": "news", "pull": "pull", "extra": "extra"}.get(what, "jobs"))}
    assert in_queue == set(ids) - {"counted", "dead", "paused", "held", "closed"}

    # It goes on where it was: the retry waits for its time, and the repeats that are left are run.
    assert abs(new.rig.score(ids["retry"]) - old.rig.score(ids["retry"])) < 3
    left = 5 - new.rig.message(ids["counted"])["real_repet"]
    new.rig.client.done("reset", ids["counted"])
    finish(new.rig, left)
    new.rig.gone(ids["counted"])
    assert new.rig.client.done("message", ids["large"]).json["messages"] == \
        old.rig.client.done("message", ids["large"]).json["messages"]
    # What is written from now on stands behind what was restored, and is broadcast from 1 on.
    assert [one["seq"] for one in outcomes(new.rig)][len(entries):] == list(range(1, left + 1))


def put(station, name, target="jobs", **fields):
    return station.rig.client.done("flow", "put", json.dumps(
        {"flow": name, "steps": {"one": {"target": target, **({} if target != "jobs" else {"command": "do"}), **fields}}}))


def flows(station):
    """name -> (the texts of its versions, which of them is in use)"""
    ask, found = station.rig.client.done, {}
    for flow in ask("flow", "list").json["flows"]:
        info = ask("flow", "get", flow["name"]).json
        texts = [ask("flow", "get", flow["name"], str(version)).json["definition"] for version in info["versions"]]
        found[flow["name"]] = texts, info["versions"].index(info["use"])
    return found


def test_flows_are_moved(make, tmp_path):
    """All versions, those first that others call; the plans at flows; a run in progress begins again."""
    old, new = make(), make()
    path = tmp_path / "everything"
    put(old, "z")
    put(old, "z", args=["=1 / 3", "0.1"], timeout=60)
    put(old, "z", args=["m\u00fc"])
    put(old, "a", target="z")
    put(old, "b")
    put(old, "b", target="a")
    old.rig.client.done("flow", "use", "z", "2")
    plan = old.rig.client.added(later(description="nightly"), station="a", head=[])
    old.rig.client.added(at_once(description="now"), station="b", head=[])
    old.rig.jobs.recv()
    said = old("export", "--everything")
    assert said.code == DONE and said.err.startswith("zplan: 1 run of flows in progress is left out"), said.err
    path.write_text(said.out)
    records = [json.loads(line) for line in said.out.splitlines()]
    assert [(one["name"], one["version"]) for one in records if one["type"] == "flow"] == [
        ("z", 1), ("z", 2), ("z", 3), ("a", 1), ("b", 1), ("b", 2)]
    assert records[-1]["flows"] == 6

    dry = new("import", str(path), "--dry-run").done()
    assert dry.startswith("6 flows, 2 plans would be added\n") and flows(new) == {}
    assert new("import", str(path)).done().startswith("6 flows, 2 plans added\n")
    assert flows(new) == flows(old) and flows(new)["z"][1] == 1
    moved, kept = (one.rig.client.done("message", plan).json for one in (new, old))
    assert moved["plan_time"] == kept["plan_time"] and moved["messages"] == kept["messages"]
    new.rig.jobs.recv()                 # of the flow that ran
    again = new("import", str(path)).done()
    assert again.startswith("nothing added\n") and " 6 flows, " in again.replace("2 targets,", " ")
    assert flows(new) == flows(old)


def test_flows_that_are_there_stay(make, tmp_path):
    """Half an import is gone on with; a flow with other versions is left."""
    old, new = make(), make()
    path = tmp_path / "everything"
    for n in (1, 2, 3):
        put(old, "half", timeout=n)
        put(old, "other", timeout=n)
    exported(old, path)
    for n in (1, 2):
        put(new, "half", timeout=n)
    put(new, "other", timeout=9)
    said = new("import", str(path))
    assert said.code == REFUSED and said.out.startswith("1 flow added\n") and said.out.endswith("3 refused\n"), said.out
    assert "flow: there are other versions of other; remove it, or leave it" in said.err
    assert flows(new)["half"] == flows(old)["half"] and len(flows(new)["other"][0]) == 1


def test_the_version_in_use_of_half_an_import(make, tmp_path):
    """It was stopped between the put and the use. What somebody put, or pinned, later stays in use."""
    old, new = make(), make()
    path = tmp_path / "everything"
    for name in ("half", "own", "pinned"):
        for n in (1, 2, 3):
            put(old, name, timeout=n)
            put(new, name, timeout=n)
        old.rig.client.done("flow", "use", name, "2")
    put(new, "own", timeout=4)
    new.rig.client.done("flow", "use", "pinned", "1")
    exported(old, path)
    new("import", str(path), "--dry-run").done()
    assert flows(new)["half"][1] == 2
    new("import", str(path)).done()
    assert {name: use for name, (_, use) in flows(new).items()} == {"half": 1, "own": 3, "pinned": 0}


def test_versions_keep_the_kinds_that_they_have(make, tmp_path):
    old, new = make(), make()
    path = tmp_path / "everything"
    for timeout in (5, 6, 7):
        old("kind", "put", "mail", json.dumps({"timeout": timeout})).done()
        put(old, "letters", args=[str(timeout)], kind="mail")
    exported(old, path)
    new("import", str(path)).done()
    assert flows(new) == flows(old) and [one["kinds"]["mail"]["timeout"] for one in flows(new)["letters"][0]] == [5, 6, 7]
    assert new("import", str(path)).done().startswith("nothing added\n")


def test_a_version_that_cannot_be_read(make, tmp_path):
    """All else is exported, and it is reported that this is not all."""
    old, new = make(), make()
    path = tmp_path / "everything"
    for name in ("bad", "good"):
        put(old, name)
        put(old, name, timeout=2)
    ident = old.rig.client.added(later())
    old.rig.db.hset("plan:flow:def:bad", "1", "{")
    said = old("export", "--everything")
    records = [json.loads(line) for line in said.out.splitlines()]
    assert [(one["name"], one["version"]) for one in records if one["type"] == "flow"] == [("bad", 2), ("good", 1), ("good", 2)]
    assert said.code == REFUSED and records[-1]["type"] == "plan", said.err
    assert said.err.startswith("zplan: bad: ") and said.err.endswith("not all flows could be read: this is not all, and has no last line\n")
    path.write_text(said.out)
    said = new("import", str(path))
    assert said.code == REFUSED and "the last line is missing" in said.err and new.rig.message(ident)


def test_hold(make, tmp_path):
    old, new = make(), make()
    path = tmp_path / "everything"
    soon, paused, held = (old.rig.client.added(plan) for plan in (later(), later(), later(hold=True)))
    old.rig.client.done("pause", paused)
    exported(old, path)
    new("import", str(path), "--hold").done()
    assert [new.rig.score(ident) for ident in (soon, paused, held)] == [None] * 3
    assert [plan["id"] for plan in new.lines("list", "--held")] == [soon]
    new("reset", "--held").done()
    assert new.rig.score(soon) and not new.rig.score(paused) and not new.rig.score(held)


@pytest.mark.parametrize("extra", [False, True], ids=["scheduled", "manual"])
def test_a_run_in_progress_begins_again(make, tmp_path, extra):
    old, new = make(), make()
    path = tmp_path / "everything"
    ident = old.rig.client.added(later() if extra else at_once())
    if extra:
        old.rig.client.done("run", ident)
    old.rig.jobs.answer(old.rig.jobs.recv(), ST.RUNING)
    exported(old, path)
    new("import", str(path)).done()
    run = new.rig.jobs.recv()
    assert run.plan["plan_id"] == int(ident, 16)
    new.rig.jobs.finish(run)
    if extra:
        wait_until(lambda: new.rig.message(ident)["plan_state"] == QUEUE, "it is queued again")
        assert new.rig.score(ident) == old.rig.message(ident)["plan_time"]
    else:
        new.rig.gone(ident)


def add_many(station, count, path):
    path.write_text("".join(json.dumps({"target": "jobs", "command": "do", "in": "1d", "title": f"plan {n}"}) + "\n"
                            for n in range(count)))
    station("add", "--from", str(path)).done()


def test_an_import_that_is_killed_is_repeated(make, tmp_path):
    """Killed among the outcomes, and then among the plans."""
    old, new = make(), make()
    path = tmp_path / "everything"
    runs = [{"plan": "1f", "station": "jobs", "title": f"run {n % 7}", "key": f"k{n % 5}", "nominal": 1_790_000_000 + n // 2,
             "status": 1, "state": 1, "exec_id": 1_790_000_000_000_000 + n // 2, "worker": "w", "size": n % 3,
             "reason": "", "ended": 1_790_000_000 + n // 2} for n in range(4000)]      # two of each
    for at in range(0, len(runs), 1000):
        old.rig.client.done("restore", "history", {"runs": runs[at:at + 1000]})
    add_many(old, 4000, tmp_path / "plans")
    exported(old, path)

    def killed(seen, what):
        process = start("--connect", new.rig.ipc("q"), "import", str(path))
        wait_until(lambda: seen() or process.poll() is not None, what)
        process.send_signal(signal.SIGKILL)
        process.wait()
    killed(lambda: new.rig.db.xlen("plan:history") > 0, "outcomes are there")
    killed(lambda: new.rig.db.zcard("plan:ids") > 0, "plans are there")
    before = new.rig.db.xlen("plan:history"), new.rig.db.zcard("plan:ids")
    said = new("import", str(path)).done()
    assert before[0] > 0, said
    assert (new.rig.db.xlen("plan:history"), new.rig.db.zcard("plan:ids")) == (4000, 4000)
    assert bare(new.lines("history")) == bare(old.lines("history"))
    assert bare(new.lines("list")) == bare(old.lines("list"))


def test_a_flow_that_redis_does_not_give_ends_the_export():
    """The flows behind it are not asked for."""
    definition = {"flow": "a", "steps": {"one": {"target": "b", "command": "do"}, "two": {"target": "c", "command": "do"}}}
    answers = {"stats": {"now_ms": 0, "version": "1"}, "station": {"stations": []},
               "flow": {"flows": [{"name": name} for name in "abc"]}}
    whole = {"name": "a", "version": 1, "use": 1, "versions": [1], "definition": definition}
    sent = []

    def answer(request):
        word, args = taken_apart(request)
        sent.append((word, *args))
        if args[:2] == ["get", "b"]:
            return [reply(request, ST.NET_ERROR, (FT.STATUS, b"-net error: Redis"))]
        return [reply(request, ST.OK, (FT.JSON, json.dumps(whole if args[:1] == ["get"] else answers[word]).encode()))]
    with FakeStation(answer) as station:
        said = station.zplan("export", "--everything")
    assert said.code == REFUSED and '"type":"end"' not in said.out and sent[-1] == ("flow", "get", "b"), (said.out, sent)


@pytest.mark.parametrize("status,text,args,known", [
    (ST.NET_ERROR, b"-net error: Redis", (), False),
    (ST.ARG_ERROR, b"-argument error: runs", ("--stop-on-error",), True)], ids=["away", "rejected"])
def test_outcomes_are_never_sent_twice(make, tmp_path, status, text, args, known):
    """Whether they were added is not known, unless they were rejected."""
    old = make()
    path = tmp_path / "everything"
    old.rig.client.done("restore", "history", {"runs": [GOOD_RUN] * 3})
    exported(old, path)
    answers = {"station": {"stations": []}, "kind": {"kinds": {}}, "limit": {"limits": {}},
               "flow": {"flows": []}, "history": {"runs": [], "first": 0, "last": 0, "epoch": "e", "missed": False}}
    sent = []

    def answer(request):
        word, args = taken_apart(request)
        if word == "restore":
            sent.append(args)
            return [reply(request, status, (FT.STATUS, text))]
        return [reply(request, ST.OK, (FT.JSON, json.dumps(answers[word]).encode()))]
    with FakeStation(answer) as station:
        said = station.zplan("import", str(path), *args)
    assert said.code == REFUSED and len(sent) == 1, (said.out, said.err)
    assert ("added: import again" in said.err) is not known


def test_export_while_it_runs(make, tmp_path):
    """The history has every run that the plans have counted."""
    station = make()
    rig = station.rig
    ident = rig.client.added(every(1, -1))
    finish(rig, 1)
    process = start("--connect", rig.ipc("q"), "export", "--everything")
    finish(rig, 2)
    out, err = process.communicate()
    records = [json.loads(line) for line in out.splitlines()]
    plan, = [one["plan"] for one in records if one["type"] == "plan"]
    runs = [one for one in records if one["type"] == "outcome"]
    assert (process.returncode, err) == (DONE, b"") and plan["plan_id"] == int(ident, 16)
    assert plan["real_repet"] <= len(runs) == records[-1]["outcomes"]


def test_what_is_there_stays(make, tmp_path):
    old, new = make(), make()
    path = tmp_path / "everything"
    for station, value in ((old, "1"), (new, "2")):
        station("station", "add", f"extra=api@ipc:///tmp/no-{value}").done()
        station("kind", "put", "mail", f'{{"timeout": {value}}}').done()
        station("limit", "set", "group:g", "--concurrency", value).done()
        station.rig.client.added(later(description=value), gid="1f")
    exported(old, path)
    before = new.rig.dump()
    said = new("import", str(path))
    assert said.code == REFUSED and said.out == "nothing added\n2 targets already there\n4 refused\n"
    for line, words in enumerate(("target: there is another one", "kind: there is another one named mail",
                                  "limit: there is another one named group:g")):
        assert f"{path}:{line + 4}: {words}" in said.err or words in said.err, said.err
    assert "plan_id: 1f is in use by another plan" in said.err
    assert new.rig.dump() == before
    assert new("import", str(path), "--stop-on-error").out.endswith("1 refused\n")


def test_a_target_that_only_the_settings_name(make, tmp_path):
    old, new = make("--station", "mine=api@ipc:///tmp/nobody-mine"), make()
    path = tmp_path / "everything"
    for ident in ("1", "2"):
        old.rig.client.added(later(), station="mine", gid=ident)
    exported(old, path)
    said = new("import", str(path))
    assert said.code == REFUSED and "target mine: is not known here" in said.err and "2 of its plans" in said.err
    new("station", "add", "mine=api@ipc:///tmp/elsewhere").done()
    assert new("import", str(path)).done().startswith("2 plans added\n")


@pytest.mark.parametrize("change,words", [
    (lambda lines: lines[:-1], "the last line is missing"),
    (lambda lines: [lines[0].replace('"format":1', '"format":2'), *lines[1:]], "format: want 1, got 2"),
    (lambda lines: [*lines[:-1], '{"type":"book"}', lines[-1]], "type: want one of"),
    (lambda lines: [*lines[:-1], '{"type":"flow","name":"x"}', lines[-1]], "flow: want name, version"),
    (lambda lines: [*lines[:-1], "{", lines[-1]], ""),
    (lambda lines: [*lines[:-1], '{"type":"plan","plan":[]}', lines[-1]], "plan: want an object"),
    (lambda lines: [*lines[:-1], '{"type":"outcome"}', lines[-1]], "outcome: want run"),
    (lambda lines: [*lines[:-1], '{"type":"kind","name":"x"}', lines[-1]], "kind: want name and fields"),
    (lambda lines: [*lines[:-1], '{"type":"target"}', lines[-1]], "target: want name, text and origin"),
], ids=["cut", "format", "type", "flow", "no json", "plan", "outcome", "kind", "target"])
def test_a_file_that_is_damaged(shared, tmp_path, change, words):
    station = Station(shared)
    path = tmp_path / "everything"
    exported(station, path)
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    said = station("import", str(path))
    assert said.code == REFUSED and words in said.err, (said.out, said.err)


def test_a_file_that_cannot_be_read_to_its_end(shared, tmp_path):
    """A terminal that is gone gives an error behind what it gave."""
    station = Station(shared)
    first, *_ = exported(station, tmp_path / "everything")
    ours, theirs = os.openpty()
    os.write(theirs, json.dumps(first).encode() + b"\n")
    os.close(theirs)
    process = start("--connect", shared.ipc("q"), "import", "-", stdin=ours)
    os.close(ours)
    out, err = process.communicate(timeout=WAIT)
    assert (process.returncode, out) == (REFUSED, b"nothing added\nnothing already there\n")
    assert b"Input/output error" in err and b"was cut" not in err, err


def test_usage(shared, tmp_path):
    station = Station(shared)
    assert "--everything and --title" in station("export", "--everything", "--title", "x").failed(USAGE)
    path = tmp_path / "plans"
    path.write_text(station("export").done())
    assert "--dry-run: is for" in station("import", str(path), "--dry-run").failed(USAGE)
    path.write_text("")
    assert station("import", str(path)).done() == "0 plans added\n"
    assert "nowhere" in station("import", "/nowhere").failed(REFUSED)
    exported(station, path)
    with open(path) as file:
        said = station.lines("import", str(path))[-1]["summary"]
        assert said["whole"] and said["refused"] == 0
        assert subprocess.run(
            [ZPLAN, "--connect", shared.ipc("q"), "import", "-"], stdin=file, capture_output=True,
            text=True, check=True).stdout.startswith("nothing added\n")


# -- the command

GOOD_RUN = {"plan": "1f", "station": "jobs", "title": "t", "nominal": 1, "status": 1, "state": 1, "exec_id": 5,
            "worker": "", "size": 0, "reason": "", "ended": 1_790_000_000.125}


@pytest.mark.parametrize("args,words", [
    ((), "got 0 arguments"), (("plan",), "got 1 arguments"), (("plans", "{}"), "restore: want plan or history"),
    (("history", "{"), ""), (("history", "{}"), "runs: want an array"),
    (("history", {"runs": [GOOD_RUN] * 1001}), "at most 1000"),
    (("history", {"runs": [1]}), "runs: number 1: plan: want a hex id"),
    (("history", {"runs": [{**GOOD_RUN, "plan": "x"}]}), "plan: want a hex id"),
    (("history", {"runs": [GOOD_RUN, {**GOOD_RUN, "station": "a b"}]}), "runs: number 2: station: want"),
    (("history", {"runs": [{**GOOD_RUN, "station": "s" * 65}]}), "station: want"),
    (("history", {"runs": [{**GOOD_RUN, "ended": "x"}]}), "ended: want"),
    (("history", {"runs": [{**GOOD_RUN, "ended": -1}]}), "ended: want"),
    (("history", {"runs": [{**GOOD_RUN, "ended": 1e300}]}), "ended: want"),
    (("history", {"runs": [{**GOOD_RUN, "status": 256}]}), "status: want an integer, 0..255"),
    (("history", {"runs": [{**GOOD_RUN, "state": 8}]}), "state: want"),
    (("history", {"runs": [{**GOOD_RUN, "exec_id": -1}]}), "exec_id: want"),
    (("history", {"runs": [{**GOOD_RUN, "title": 5}]}), "title: want"),
    (("history", {"runs": [{**GOOD_RUN, "key": 5}]}), "key: want"),
    (("history", {"runs": [{**GOOD_RUN, "key": {"b64": "/w=="}}]}), "key: want a string"),
    (("history", {"runs": [{**GOOD_RUN, "key": "k" * 257}]}), "key: want a string of at most 256 bytes"),
    (("history", {"runs": [{**GOOD_RUN, "output": 5}]}), "output: want size"),
    (("history", {"runs": [{**GOOD_RUN, "output": {"size": 4, "head": "abc"}}]}), "output: want size"),
    (("history", {"runs": [{**GOOD_RUN, "output": {"size": 4, "head": "abc", "tail": "de"}}]}), "output: want"),
    (("history", {"runs": [{**GOOD_RUN, "reason": {"b64": "*"}}]}), "reason: want"),
    (("history", {"runs": [{**GOOD_RUN, "missed": 1, "missed_why": "w" * 33}]}), "missed_why: at most"),
])
def test_restore_refuses(shared, args, words):
    assert words in shared.client.refused("restore", *args)
    assert not outcomes(shared)


def plan_of(rig):
    ident = rig.client.added(later())
    plan = rig.client.done("message", ident).json
    rig.client.done("remove", ident)
    return ident, plan


@pytest.mark.parametrize("change,words,status", [
    ({"plan_id": 0}, "plan_id: want", ST.PLANERROR), ({"plan_id": "1f"}, "plan_id: want", ST.PLANERROR),
    ({"station": "nix"}, "nix", ST.NOT_FIND), ({"messages": []}, "messages: want at least", ST.ARG_ERROR),
    ({"messages": ["a", "b", "c", "d", "e"]}, "messages: ", ST.ARG_ERROR),
    ({"plan_type": 99}, "plan_type", ST.PLANERROR), ({"plan_state": 8}, "plan_state", ST.PLANERROR),
    ({"plan_time": -1}, "plan_time", ST.PLANERROR), ({"real_repet": -1}, "real_repet", ST.PLANERROR),
    ({"timezone": "Mars/Phobos"}, "Mars/Phobos", ST.PLANERROR),
    ({"vote": {"rule": "all"}}, "vote: is for plans of vote targets", ST.PLANERROR),
    ({"workers": {"count": 2}}, "workers", ST.PLANERROR), ({"retry": 5}, "retry", ST.PLANERROR),
    ({"error_info": 5}, "error_info", ST.PLANERROR),
])
def test_restore_refuses_a_plan(shared, change, words, status):
    ident, plan = plan_of(shared)
    reason = shared.client.refused("restore", "plan", {**plan, **change}, status=status)
    assert words in reason
    assert not shared.db.exists(shared.key(ident))


def test_restore_a_plan(rig):
    events = rig.events()
    ident, plan = plan_of(rig)
    assert events.names(3) == ["add", "queue", "remove"]
    text = argument({**plan, "real_repet": 3, "error_info": "é", "exec_id": 77})
    parts = [text[:100], text[100:101], text[101:]]
    assert rig.client.done("restore", "plan", *parts).json == {"restored": 1}
    assert rig.client.done("restore", "plan", text).json == {"restored": 0}
    kept = rig.message(ident)
    assert (kept["real_repet"], kept["error_info"], kept["exec_id"]) == (3, "é", 77)
    assert kept["revision"] != plan["revision"] and rig.score(ident) == plan["plan_time"]
    assert events.names(2) == ["add", "queue"]


def test_restored_outcomes_are_bounded(make_rig):
    rig = make_rig("--history-count", "100", *ALWAYS)
    rig.client.done("restore", "history", {"runs": [{**GOOD_RUN, "exec_id": n} for n in range(1000)]})
    assert 100 <= rig.db.xlen("plan:history") < 400
    assert rig.client.done("stats").json["outcomes"] < 400



def test_an_import_is_repeated_after_callbacks(make, tmp_path):
    """What became of the callback of a run goes on changing, and no import has it."""
    old, new = make(), make()
    path = tmp_path / "everything"
    old.rig.client.added(at_once(callback={"success": {"url": "https://a.example/x"}}))
    finish(old.rig, 1)
    wait_until(lambda: outcomes(old.rig) and outcomes(old.rig)[0]["callback"].get("state") == "queued", "it waits")
    path.write_text(old("export", "--everything").out)
    for _ in range(2):
        new("import", str(path)).done()
        old("import", str(path)).done()
    assert len(outcomes(new.rig)) == len(outcomes(old.rig)) == 1


def test_an_export_with_masked_urls_is_none(make_rig):
    """A key without manage reads only the hosts of callbacks: no import takes them."""
    rig, callback = make_rig(kind=CurveRig), {"success": {"url": "https://a.example/secret"}}
    rig.client.added(later(callback=callback))
    rig.client.done("kind", "put", "mail", json.dumps({"callback": callback}))
    for roles, count in (("observe", "2"), ("observe,manage", None)):
        path = rig.path(f"{roles}.key_secret")
        write(path, certificate(rig.allow(roles, roles), roles, secret=True))
        ended = zplan("--connect", rig.ipc("q"), "--key", path, "--server-key", rig.server.public, "export", "--everything")
        assert (ended.code == DONE, '"type":"end"' in ended.out) == (not count, not count)
        assert not count or ended.err.startswith(f"zplan: {count} plans and kinds have masked URLs of callbacks")
