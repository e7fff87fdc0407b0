"""CURVE: who may connect, and what each key may do."""
import hashlib
import json
import os
import signal
import time

import pytest
import zmq

from curvetest import (certificate, CurveRig, CurveTarget, EVERY_ROLE, Keys, monitored, refusal,
                       write)
from zplanprocs import free_port, run_once, ZPLAND
from zplantest import (at_once, CMD, Events, every, FT, later, Results, ST, told,
                       wait_until, WORD)

ROLES = EVERY_ROLE.split(",")


@pytest.fixture
def rig(make_rig):
    """A station with CURVE that is not started yet."""
    return make_rig(kind=CurveRig, start=False)


def denied(reply, why):
    assert reply.code == ST.DENY and reply.text == WORD[ST.DENY] + ": " + why, reply
    assert reply.get(FT.JSON) is None and reply.get(FT.GLOBAL_ID) is None
    return reply


# -- roles

NEXT = json.dumps({"plan_type": 2, "plan_value": 10, "plan_repet": 1})

# What is asked, who may, and how; `ident` is of a queued plan.
ACTIONS = [
    ("ping", ROLES, lambda client, ident: client.ask(CMD.PING)),
    ("plan", ["submit"], lambda client, ident: client.submit(later())),
    ("global id", ["submit"], lambda client, ident: client.ask(CMD.GLOBAL_ID)),
    ("next of a frame", ["submit", "observe"], lambda client, ident: client.manage("next", NEXT)),
    ("next of a plan", ["observe"], lambda client, ident: client.manage("next", ident)),
    ("list", ["observe"], lambda client, ident: client.manage("list")),
    ("message", ["observe"], lambda client, ident: client.manage("message", ident)),
    ("history", ["observe"], lambda client, ident: client.manage("history")),
    ("forget", ["manage"], lambda client, ident: client.manage("forget", '{"epoch":"","entries":[]}')),
    ("restore", ["manage"], lambda client, ident: client.manage("restore", "history", '{"runs":[]}')),
    ("team", ["observe", "result"], lambda client, ident: client.manage("team", ident)),
    ("take", ["result"], lambda client, ident: client.manage("take", '{"station":"jobs"}')),
    ("alive", ["result"], lambda client, ident: client.manage("alive", f'{{"plan":"{ident}","worker":"w1"}}')),
    ("report", ["result"], lambda client, ident: client.manage(
        "report", f'{{"plan":"{ident}","worker":"w1","exec_id":"1","state":"fail"}}')),
    ("stats", ["observe"], lambda client, ident: client.manage("stats")),
    ("station list", ["observe"], lambda client, ident: client.manage("station", "list")),
    ("in capitals", ["observe"], lambda client, ident: client.manage("LIST")),
    ("pause", ["manage"], lambda client, ident: client.manage("pause", ident)),
    ("reset", ["manage"], lambda client, ident: client.manage("reset", ident)),
    ("close", ["manage"], lambda client, ident: client.manage("close", ident)),
    ("skip", ["manage"], lambda client, ident: client.manage("skip", ident, "1")),
    ("run", ["manage"], lambda client, ident: client.manage("run", ident)),
    ("update", ["manage"],
     lambda client, ident: client.manage("update", ident, '{"description":"x","revision":1}')),
    ("remove", ["manage"], lambda client, ident: client.manage("remove", ident)),
    ("station add", ["manage"],
     lambda client, ident: client.manage("station", "add", "more=api@ipc:///tmp/zp-nobody")),
    ("station remove", ["manage"],
     lambda client, ident: client.manage("station", "remove", "more")),
    ("cancel", ["manage"], lambda client, ident: client.manage("cancel", ident)),
    ("done", ["manage"], lambda client, ident: client.manage("done", ident)),
    ("callback", ["manage"], lambda client, ident: client.manage("callback", "redeliver", ident)),
    ("handover", ["manage"], lambda client, ident: client.manage("handover", "now")),
    ("result", ["observe"], lambda client, ident: client.manage("result", ident)),
    ("why", ["observe"], lambda client, ident: client.manage("why", ident)),
    ("health", ["observe"], lambda client, ident: client.manage("health")),
    ("load", ["observe"], lambda client, ident: client.manage("load")),
    ("whoami", ROLES, lambda client, ident: client.manage("whoami")),
    ("kind list", ["submit", "observe"], lambda client, ident: client.manage("kind", "list")),
    ("kind get", ["submit", "observe"], lambda client, ident: client.manage("kind", "get", "none")),
    ("kind put", ["manage"], lambda client, ident: client.manage("kind", "put", "mail", "{}")),
    ("kind remove", ["manage"], lambda client, ident: client.manage("kind", "remove", "mail")),
    ("limit list", ["observe"], lambda client, ident: client.manage("limit", "list")),
    ("limit set", ["manage"], lambda client, ident: client.manage("limit", "set", "group:g", '{"rate":1}')),
    ("limit remove", ["manage"], lambda client, ident: client.manage("limit", "remove", "group:g")),
    ("flow list", ["observe"], lambda client, ident: client.manage("flow", "list")),
    ("flow get", ["observe"], lambda client, ident: client.manage("flow", "get", "none")),
    ("flow check", ["submit", "observe"], lambda client, ident: client.manage("flow", "check", "{}")),
    ("flow put", ["manage"], lambda client, ident: client.manage("flow", "put", "{}")),
    ("flow use", ["manage"], lambda client, ident: client.manage("flow", "use", "none", "1")),
    ("flow remove", ["manage"], lambda client, ident: client.manage("flow", "remove", "none")),
    ("flow runs", ["observe"], lambda client, ident: client.manage("flow", "runs")),
    ("flow show", ["observe"], lambda client, ident: client.manage("flow", "show", ident)),
    ("flow log", ["observe"], lambda client, ident: client.manage("flow", "log", ident)),
    ("flow signal", ["signal"], lambda client, ident: client.manage("flow", "signal", ident, "step")),
    ("flow reject", ["signal"], lambda client, ident: client.manage("flow", "reject", ident, "step")),
    ("flow skip", ["manage"], lambda client, ident: client.manage("flow", "skip", ident, "step")),
    ("flow retry", ["manage"], lambda client, ident: client.manage("flow", "retry", ident)),
    ("flow suspend", ["manage"], lambda client, ident: client.manage("flow", "suspend", ident)),
    ("flow resume", ["manage"], lambda client, ident: client.manage("flow", "resume", ident)),
    ("flow cancel", ["manage"], lambda client, ident: client.manage("flow", "cancel", ident)),
]


@pytest.mark.parametrize("role", ROLES)
def test_each_role_does_its_own(rig, role):
    keys = rig.allow("one", role)
    rig.start()
    client, refused = rig.member(keys), 0
    for name, roles, act in ACTIONS:
        ident = rig.client.added(every(3600, 5))
        before = rig.message(ident)
        reply = act(client, ident)
        if role in roles:
            assert reply.code in (ST.OK, ST.PLAN, ST.ARG_ERROR, ST.NOT_FIND), (name, reply)
            continue
        assert reply.code == ST.DENY, (name, reply)
        wanted = {",".join(roles)} | ({"submit,observe"} if name.startswith("next") else set())
        assert reply.text in {f"-deny: role: want {one}, the key 'one' has {role}" for one in wanted}, (name, reply)
        assert rig.message(ident) == before, name
        refused += 1
    assert rig.count("denied") == refused


def test_a_refusal_names_the_role_and_echoes_the_request(rig):
    keys = rig.allow("boss", "result,submit")
    rig.start()
    client = rig.member(keys)
    reply = denied(client.manage("pause", "1f", more=[(FT.REQUEST_ID, b"r7")]),
                   "role: want manage, the key 'boss' has submit,result")
    assert reply.get(FT.REQUEST_ID) == b"r7"
    denied(client.manage("station", "list"),
           "role: want observe, the key 'boss' has submit,result")


def test_what_is_unknown_is_refused_as_without_curve(rig):
    keys = rig.allow("one", "result")
    rig.start()
    client = rig.member(keys)
    assert client.manage("nonsense").code == ST.NOT_SUPPORT
    assert client.ask(0x3F).code == ST.NOT_SUPPORT
    assert client.ask(CMD.PING, desc=b"\x05*").code == ST.FRAME_INVALID


def test_a_req_client_is_known(rig):
    keys = rig.allow("one", "submit")
    rig.start()
    client = rig.member(keys, kind=zmq.REQ)
    assert client.submit(later()).code == ST.PLAN
    assert client.manage("list").code == ST.DENY


# -- who may connect

def test_a_stranger_is_refused_and_counted(rig):
    rig.start()
    monitors = []
    client = rig.dealer(prepare=monitored(rig.with_keys(Keys()), monitors))
    client.send(CMD.PING)
    refusal(monitors[0])
    assert not client.socket.poll(0)
    assert rig.count("refused_keys") >= 1       # it tries again by itself
    rig.logged("event=key.refused socket='request' address=")


def test_a_client_that_was_refused_gets_in_once_its_key_is_allowed(rig):
    rig.start()
    monitors, keys = [], Keys()
    client = rig.dealer(prepare=monitored(rig.with_keys(keys), monitors))
    client.send(CMD.PING)
    refusal(monitors[0])
    client.socket.disable_monitor()
    with rig.list_changes():
        rig.allow("late", "submit", keys=keys)
    assert client.recv().code == ST.OK      # of the connection that it made anew


def test_a_client_without_curve_is_refused(rig):
    rig.start()
    monitors = []
    client = rig.dealer(prepare=monitored(lambda socket: None, monitors))
    client.send(CMD.PING)
    refusal(monitors[0])
    assert not client.socket.poll(0)
    rig.client.ping()


def test_a_client_of_another_server_is_refused(rig):
    keys = rig.allow("one", EVERY_ROLE)
    rig.start()
    monitors = []
    client = rig.dealer(prepare=monitored(rig.with_keys(keys, Keys().public), monitors))
    client.send(CMD.PING)
    refusal(monitors[0])
    assert not client.socket.poll(0)
    rig.client.ping()


def test_many_strangers_do_not_fill_the_log(rig):
    rig.start()
    start, monitors = time.monotonic(), []
    for _ in range(100):
        rig.dealer(prepare=monitored(rig.with_keys(Keys()), monitors))
    for monitor in monitors:
        refusal(monitor)
    assert rig.count("refused_keys") >= 100
    with open(rig.station.log) as log:
        told_of = log.read().count("key.refused")
    assert told_of <= 20 * (int(time.monotonic() - start) + 2)


@pytest.mark.skipif(b"ZPLAN_FAILPOINT" not in open(ZPLAND, "rb").read(),
                    reason="the station is built without -Dfailpoints=true")
def test_without_the_handler_nobody_is_let_in(make_rig):
    rig = make_rig(kind=CurveRig, start=False, env={"ZPLAN_FAILPOINT": "no_zap"})
    rig.start()
    monitors = []
    for prepare in (rig.prepare, rig.with_keys(Keys()), lambda socket: None):
        client = rig.dealer(prepare=monitored(prepare, monitors))
        client.send(CMD.PING)
        rig.keep(Results(rig.ipc("p"), [b""], monitored(prepare, monitors)))
        rig.keep(Events(rig.ipc("e"), prepare=monitored(prepare, monitors)))
    for monitor in monitors:
        refusal(monitor)


# -- the list changes

def test_a_key_that_was_taken_off_is_refused_on_its_connection(rig):
    keys = rig.allow("one", EVERY_ROLE)
    rig.start()
    client = rig.member(keys)
    ident = client.added(later())
    with rig.list_changes():
        os.unlink(rig.file("one"))
    for reply in (client.ask(CMD.PING), client.submit(later()), client.manage("message", ident),
                  client.manage("remove", ident), client.manage("nonsense"), client.ask(0x3F)):
        denied(reply, "key: is no longer allowed")
    client.result(ident, ST.OK)
    rig.counted("denied_results", 1)
    assert rig.message(ident)
    with rig.list_changes():
        rig.allow("one", "observe", keys=keys)
    assert client.manage("message", ident).code == ST.OK
    assert client.manage("remove", ident).code == ST.DENY


def test_a_key_that_is_added_may_connect(rig):
    rig.start()
    monitors, keys = [], Keys()
    rig.dealer(prepare=monitored(rig.with_keys(keys), monitors))
    refusal(monitors[0])
    with rig.list_changes():
        rig.allow("late", "submit", keys=keys)
    rig.member(keys).ping()


def warned(rig, text):
    """It is among the warnings of `health`, with what to do."""
    def found():
        answer = rig.client.done("health").json
        assert answer["healthy"], answer
        return [one for one in answer["findings"] if text in one["text"] and one["do"]]
    wait_until(found, f"{text!r} in health")


def quiet(rig):
    """Health has nothing to say of the keys any more."""
    wait_until(lambda: not [text for text in rig.client.done("health").json["warnings"]
                            if "allow" in text or "key" in text], "health is silent")


def test_a_bad_file_lets_its_own_key_not_in_and_nobody_else_out(rig):
    keys, other, wrong = rig.allow("one", "submit"), rig.allow("other", "submit"), Keys()
    rig.start()
    client, stays = rig.member(keys), rig.member(other)
    start = os.path.getsize(rig.station.log)
    write(rig.file("bad"), certificate(wrong, "bad", "submit,root"))
    rig.logged("access.left_out files=1", start)
    with open(rig.station.log) as log:
        assert "bad.key: roles: want one or more of submit,observe,manage,result,signal, got 'root'" in log.read()
    warned(rig, "invalid files in --allow: 1; the first: ")
    for one in (client, stays):
        assert one.submit(later()).code == ST.PLAN
    monitors = []
    rig.dealer(prepare=monitored(rig.with_keys(wrong), monitors))
    refusal(monitors[0])
    # Who is taken off is out, though the bad file is still there.
    os.unlink(rig.file("one"))
    wait_until(lambda: client.ask(CMD.PING).code == ST.DENY, "it is out")
    assert stays.submit(later()).code == ST.PLAN
    assert rig.client.manage("message", "1f").code == ST.NOT_FIND
    with open(rig.station.log) as log:
        log.seek(start)
        assert log.read().count("access.left_out") == 1
    write(rig.file("bad"), certificate(wrong, "good", "submit"))
    rig.member(wrong).ping()
    quiet(rig)


def test_a_file_that_becomes_bad_shuts_its_key_out(rig):
    keys = rig.allow("one", "submit")
    rig.start()
    client = rig.member(keys)
    assert client.submit(later()).code == ST.PLAN
    with open(rig.file("one"), "w") as file:
        file.write("nonsense")
    wait_until(lambda: client.ask(CMD.PING).code == ST.DENY, "it is out")
    rig.client.ping()


@pytest.mark.parametrize("how", ["written over", "of the same size and time"])
def test_a_file_that_is_changed_in_place_counts(rig, how):
    """Neither the folder nor the names in it change."""
    keys = rig.allow("one", "submit,observe")
    rig.start()
    client, file = rig.member(keys), rig.file("one")
    assert client.submit(later()).code == ST.PLAN
    folder, before = os.stat(rig.path("allow")).st_mtime_ns, os.stat(file)
    roles = "observe" if how == "written over" else "observe,manage"
    with open(file, "r+") as opened:
        opened.truncate()
        opened.write(certificate(keys, "one", roles))
    if how != "written over":
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert os.stat(file).st_size == before.st_size
    assert os.stat(rig.path("allow")).st_mtime_ns == folder
    wait_until(lambda: client.submit(later()).code == ST.DENY, "the role is gone")
    assert client.manage("list").code == ST.OK


def test_a_hangup_reads_the_list_again(rig):
    keys = rig.allow("one", "submit")
    rig.start()
    client = rig.member(keys)
    # In place: the folder does not change.
    with open(rig.file("one"), "r+") as file:
        file.write(certificate(keys, "one", "manage"))
    rig.station.process.send_signal(signal.SIGHUP)
    wait_until(lambda: client.submit(later()).code == ST.DENY, "the role is gone")
    assert client.manage("pause", "1f").code == ST.NOT_FIND


def test_a_file_that_is_written_slowly_counts_when_it_is_whole(rig):
    rig.start()
    keys = Keys()
    text = certificate(keys, "slow", "submit")
    start = os.path.getsize(rig.station.log)
    with rig.list_changes():
        with open(rig.file("slow"), "w") as file:
            file.write(text[:40])
            file.flush()
            rig.logged("access.left_out", start)
            file.write(text[40:])
    rig.member(keys).ping()


def test_the_folder_that_is_gone_keeps_the_old_list(rig):
    rig.start()
    start = os.path.getsize(rig.station.log)
    os.rename(rig.path("allow"), rig.path("elsewhere"))
    rig.logged("access.kept_old", start)
    warned(rig, "the list of allowed keys is unchanged: allow: ")
    rig.client.ping()
    with rig.list_changes():
        os.rename(rig.path("elsewhere"), rig.path("allow"))
    quiet(rig)


def test_what_is_no_certificate_is_left_alone(rig):
    os.mkdir(os.path.join(rig.path("allow"), "folder"))
    for name in (".hidden", "owner.key_secret"):
        write(os.path.join(rig.path("allow"), name), "nonsense")
    rig.start()
    rig.client.ping()


def test_of_two_keys_of_one_name_the_second_is_refused(rig):
    """Both files are named; the first, by file name, gets in, whatever the order in the folder."""
    second, first = rig.allow("b", "submit"), rig.allow("a", "submit")
    for name, keys in (("b", second), ("a", first)):
        write(rig.file(name), certificate(keys, "billing", "submit"))
    rig.start()
    words = f"{rig.file('b')}: name: 'billing' is also the name in a.key too"
    rig.logged(f'event=access.left_out files=1 reason="{words}"')
    assert words in json.dumps(rig.client.done("health").json)
    rig.member(first).added(later())
    monitors = []
    stranger = rig.dealer(prepare=monitored(rig.with_keys(second), monitors))
    assert refusal(monitors[0])
    stranger.close()
    with rig.list_changes():
        write(rig.file("b"), certificate(second, "billing-2", "submit"))
    rig.member(second).added(later())


# -- stations

def test_stations_bound_what_is_submitted(rig):
    keys = rig.allow("one", "submit", "jobs,report-*")
    rig.start()
    client = rig.member(keys)
    assert client.submit(later()).code == ST.PLAN
    for station in ("news", "job", "report", ""):
        reply = client.submit(later(), station=station)
        denied(reply, f"station: the key 'one' may not touch plans of '{station}'")
    assert client.submit(later(), station="report-x").code == ST.NOT_FIND
    assert client.submit(later(), station=None).code == ST.PLANERROR


def test_stations_bound_what_is_managed(rig):
    keys = rig.allow("one", "manage,observe", "jobs")
    rig.start()
    client = rig.member(keys)
    mine, other = rig.client.added(later()), rig.client.added(later(), station="news")
    before = rig.message(other, "news")
    revision = before["revision"]
    words = [("message", ()), ("next", ()), ("pause", ()), ("reset", ()), ("skip", ("1",)),
             ("run", ()), ("close", ()), ("remove", ()),
             ("update", (json.dumps({"description": "x", "revision": revision}),))]
    for word, more in words:
        # By its id it is as if it were not there; who names the station is told.
        unknown = client.manage(word, "1f", *more)
        hidden = client.manage(word, other, *more)
        assert unknown.code == hidden.code == ST.NOT_FIND, word
        assert hidden.text == unknown.text.replace("1f", other)
        denied(client.manage(word, f"plan:msg:news:{other}", *more),
               "station: the key 'one' may not touch plans of 'news'")
    assert rig.message(other, "news") == before
    assert client.manage("message", mine).json == rig.message(mine)
    for word, more in [("pause", ()), ("reset", ()), ("skip", ("1",)), ("close", ())]:
        assert client.manage(word, mine, *more).code in (ST.OK, ST.ARG_ERROR), word
    assert client.manage("remove", mine).code == ST.OK
    assert rig.message(mine) is None
    named = rig.client.added(later())
    assert client.manage("remove", f"plan:msg:jobs:{named}").code == ST.OK
    assert client.manage("remove", named).code == ST.NOT_FIND


def test_stations_bound_what_is_listed(rig):
    keys = rig.allow("one", "observe", "jo*")
    rig.start()
    client = rig.member(keys)
    mine = [rig.client.added(later()) for _ in range(3)]
    for _ in range(3):
        rig.client.added(later(), station="news")
    seen, after = [], {}
    while after is not None:
        page = client.done("list", {"limit": 2, **after}).json
        seen += [f"{plan['plan_id']:x}" for plan in page["plans"]]
        after = {"after": page["next"]} if "next" in page else None
    assert seen == mine
    denied(client.manage("list", '{"station":"news"}'),
           "station: the key 'one' may not touch plans of 'news'")
    assert len(client.done("list", {"station": "jobs"}).json["plans"]) == 3
    assert len(rig.client.done("list").json["plans"]) == 6
    assert [s["name"] for s in client.done("station", "list").json["stations"]] == ["jobs"]


def test_stations_bound_the_history(rig):
    keys = rig.allow("one", "observe", "jobs")
    rig.start()
    client = rig.member(keys)
    other = rig.client.added(at_once(), station="news")
    rig.news.finish(rig.news.recv())
    mine = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: len(rig.client.done("history").json["runs"]) == 2, "two outcomes")

    def plans(*args):
        return [run["plan"] for run in client.done("history", *args).json["runs"]]
    assert plans() == plans("since", "0") == plans({"station": "jobs"}) == plans(mine) == [mine]
    assert plans(other) == plans({"plan": other}) == []
    why = "station: the key 'one' may not touch plans of 'news'"
    denied(client.manage("history", f"plan:msg:news:{other}"), why)
    denied(client.manage("history", '{"station":"news"}'), why)


def test_stations_bound_what_is_forgotten(rig):
    keys = rig.allow("one", "manage", "jobs")
    rig.start()
    client = rig.member(keys)
    for station, target in (("news", rig.news), ("jobs", rig.jobs)):
        rig.client.added(at_once(), station=station)
        target.finish(target.recv())
    page = wait_until(lambda: len((answer := rig.client.done("history").json)["runs"]) == 2 and answer,
                      "two outcomes")
    what = {"epoch": page["epoch"], "entries": [run["entry"] for run in page["runs"]]}
    denied(client.manage("forget", json.dumps(what)),
           "station: the key is bound to targets, name one of them")
    denied(client.manage("forget", json.dumps({**what, "station": "news"})),
           "station: the key 'one' may not touch plans of 'news'")
    assert client.done("forget", {**what, "station": "jobs"}).json == {"forgotten": 1}
    denied(client.manage("handover"), "handover: want a key for all targets")
    assert [run["station"] for run in rig.client.done("history").json["runs"]] == ["news"]


def test_stations_bound_what_is_restored(rig):
    keys = rig.allow("one", "manage", "jobs")
    rig.start()
    client = rig.member(keys)
    run = {"plan": "1f", "status": 1, "state": 1, "exec_id": 5, "nominal": 1, "ended": time.time()}
    for station in ("news", "jobs"):
        ident = rig.client.added(later(), station=station)
        plan = rig.client.done("message", ident).json
        rig.client.done("remove", ident)
        what = {"plan": json.dumps(plan), "history": json.dumps({"runs": [{**run, "station": station}]})}
        for kind, text in what.items():
            reply = client.manage("restore", kind, text)
            if station == "news":
                denied(reply, ("runs: number 1: the key may not touch plans of 'news'" if kind == "history" else
                               "station: the key 'one' may not touch plans of 'news'"))
            else:
                assert reply.code == ST.OK and reply.json == {"restored": 1}, reply
    assert [one["station"] for one in rig.client.done("history").json["runs"]] == ["jobs"]
    assert [one["station"] for one in rig.client.done("list").json["plans"]] == ["jobs"]


def test_stations_bound_the_stations_that_are_added(rig):
    keys = rig.allow("one", "manage", "jobs2")
    rig.start()
    client = rig.member(keys)
    why = "station: the key 'one' may not touch plans of 'news2'"
    denied(client.manage("station", "add", "news2=api@ipc:///tmp/zp-nobody"), why)
    denied(client.manage("station", "remove", "news2"), why)
    assert client.manage("station", "add", "jobs2=api@ipc:///tmp/zp-nobody").code == ST.OK
    assert client.manage("station", "remove", "jobs2").code == ST.OK


def test_stations_bound_limits_and_kinds(rig):
    """A group or a kind belongs to who may touch a target of its name."""
    keys = rig.allow("one", "manage,observe", "jobs,one-*")
    rig.start()
    client = rig.member(keys)
    for name in ("station:jobs", "station:news", "group:nightly"):
        rig.client.done("limit", "set", name, {"concurrency": 3})
    rig.client.done("kind", "put", "nightly", {"timeout": 5})
    everything = [rig.client.done(word, "list").json for word in ("limit", "kind")]
    refused = [(("limit", "set", "station:news", "{}"), "station: the key 'one' may not touch plans of 'news'"),
               (("limit", "set", "group:nightly", "{}"), "group: the key 'one' may not touch 'nightly'"),
               (("limit", "remove", "group:nightly"), "group: the key 'one' may not touch 'nightly'"),
               (("kind", "put", "nightly", "{}"), "kind: the key 'one' may not touch 'nightly'"),
               (("kind", "get", "nightly"), "kind: the key 'one' may not touch 'nightly'"),
               (("kind", "remove", "nightly"), "kind: the key 'one' may not touch 'nightly'")]
    for words, why in refused:
        denied(client.manage(*words), why)
    assert [rig.client.done(word, "list").json for word in ("limit", "kind")] == everything
    assert client.done("limit", "list").json == {"limits": {"station:jobs": {"concurrency": 3, "origin": "set"}}}
    assert client.done("kind", "list").json == {"kinds": {}}
    client.done("limit", "set", "group:one-a", {"concurrency": 1})
    client.done("kind", "put", "one-b", {"timeout": 7})
    assert set(client.done("limit", "list").json["limits"]) == {"station:jobs", "group:one-a"}
    assert client.done("kind", "list").json == client.done("kind", "get", "one-b").json
    assert len(rig.client.done("limit", "list").json["limits"]) == 4
    assert client.manage("kind", "remove", "one-b").code == ST.OK
    assert client.manage("limit", "remove", "group:one-a").code == ST.OK


def test_a_key_bound_to_stations_has_plan_keys_of_its_own(rig):
    """Two tenants and an operator, each with a plan "nightly"; of each target there is one."""
    tenants = {name: rig.allow(name, "submit,observe", name) for name in ("jobs", "news")}
    rig.start()

    def nightly(client, station, **fields):
        reply = client.submit({**later(), "key": "nightly", **fields}, station=station)
        assert reply.code == ST.PLAN, reply
        return reply.get(FT.GLOBAL_ID).decode(), reply.text

    def made_of(text):
        digest = hashlib.sha1(text).digest()
        return f"{int.from_bytes(digest[:8], 'little') & (2**63 - 1):x}"
    ids = {}
    for name, keys in tenants.items():
        client = rig.member(keys)
        ids[name], words = nightly(client, name)
        assert ids[name] == made_of(name.encode() + b"\0nightly") and not words
        assert nightly(client, name, if_exists="update", description="x") == (ids[name], "+plan: updated")
        assert [f"{plan['plan_id']:x}" for plan in client.done("list", {"key": "nightly"}).json["plans"]] == [ids[name]]
    assert nightly(rig.client, "jobs") == (made_of(b"nightly"), "")
    assert rig.client.submit({**later(), "key": "nightly"}, station="news").code == ST.PLANERROR
    reply = rig.member(tenants["jobs"]).submit({**later(), "key": "nightly"}, gid=made_of(b"nightly"))
    assert reply.code == ST.PLANERROR and "GLOBAL_ID" in reply.text


# -- results

def test_a_result_on_the_request_socket_needs_the_role(rig):
    keys = rig.allow("one", "submit,observe,manage")
    other, good = rig.allow("other", "result", "news"), rig.allow("good", "result", "jobs")
    rig.start()
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.marked(ident, run)
    answer = [(FT.LOCAL_ID, run.local_id)]
    rig.member(keys).result(ident, ST.OK, answer)
    rig.counted("denied_results", 1)
    rig.member(other).result(ident, ST.OK, answer)
    rig.counted("denied_results", 2)
    assert rig.message(ident)["real_repet"] == 0
    rig.member(good).result(ident, ST.OK, answer)
    rig.gone(ident)


def test_a_result_of_a_run_that_is_not_in_hand_needs_the_station(rig):
    other, good = rig.allow("other", "result", "news"), rig.allow("good", "result", "jobs")
    rig.start()
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.station.kill()
    rig.station.start()
    rig.member(other).result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.counted("denied_results", 1)
    rig.member(good).result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(ident)


def test_a_result_on_the_targets_connection_counts(rig):
    rig.start()
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)


# -- subscribers

def test_who_observes_all_hears_results_and_events(rig):
    good = rig.allow("good", "observe")
    bad = [rig.allow("blind", "submit,manage,result"), rig.allow("some", "observe", "jobs"), Keys()]
    rig.start()
    monitors = []
    deaf = []
    for keys in bad:
        prepare = monitored(rig.with_keys(keys), monitors)
        deaf.append(rig.keep(Results(rig.ipc("p"), [b""], prepare)))
        deaf.append(rig.keep(Events(rig.ipc("e"), prepare=prepare)))
    deaf.append(rig.keep(Results(rig.ipc("p"), [b""], monitored(lambda socket: None, monitors))))
    for monitor in monitors:
        refusal(monitor)
    assert rig.count("refused_keys") >= 6      # they try again by themselves
    rig.prepare = rig.with_keys(good)
    results, events = rig.subscribe("at once"), rig.events()
    ident = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    assert told(results.recv())["plan_id"] == int(ident, 16)
    assert events.recv().name == "add"
    assert not any(one.socket.poll(0) for one in deaf)


@pytest.mark.parametrize("transport", ["ipc", "tcp"])
def test_who_may_not_hear_any_more_is_cut(rig, transport):
    if transport == "tcp":
        rig.ports = {name: free_port() for name in "pe"}
        rig.ipc = lambda name: (f"tcp://127.0.0.1:{rig.ports[name]}" if name in "pe"
                                else "ipc://" + rig.path(name))
        rig.station.args += ["--publish", rig.ipc("p"), "--events", rig.ipc("e")]
    keys = rig.allow("one", "observe")
    rig.start()
    good, rig.prepare = rig.prepare, rig.with_keys(keys)
    results, events = rig.subscribe(""), rig.events()
    rig.prepare = good
    others = rig.subscribe("")
    monitors = [one.socket.get_monitor_socket() for one in (results, events)]
    with rig.list_changes():
        rig.allow("one", "submit", keys=keys)
    for monitor in monitors:
        refusal(monitor)
    while results.socket.poll(0):
        results.recv_any()
    while events.socket.poll(0):
        events.recv()
    rig.subscribe("")       # until one hears
    rig.events()

    def heard():
        ident = rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
        while others.socket.poll(200):
            if told(others.recv_any())["plan_id"] == int(ident, 16):
                return True
        return False
    wait_until(heard, "who may hear comes back")
    assert not results.socket.poll(0) and not events.socket.poll(0)


# -- targets

@pytest.fixture
def safe(rig):
    """A target that is a CURVE server, `safe` at the station."""
    target = rig.keep(CurveTarget(rig.ipc("s")))
    rig.station.args += ["--station", f"safe=api@{target.endpoint},curve={target.keys.public}"]
    return target


def test_a_target_with_curve_gets_runs_and_answers(rig, safe):
    rig.start()
    ident = rig.client.added(at_once(), station="safe")
    safe.finish(safe.recv())
    rig.gone(ident, "safe")
    found = {s["name"]: s for s in rig.client.done("station", "list").json["stations"]}
    assert found["safe"]["curve"] == safe.keys.public and "curve" not in found["jobs"]


def test_a_target_with_curve_is_added_and_kept(rig):
    rig.start()
    target = rig.keep(CurveTarget(rig.ipc("s")))
    wrong = f"wrong=api@{target.endpoint},curve={Keys().public}"
    rig.client.done("station", "add", wrong)
    rig.client.done("station", "add", f"safe=api@{target.endpoint},curve={target.keys.public}")
    rig.restart()
    ident = rig.client.added(at_once(), station="safe")
    safe_run = target.recv()
    target.finish(safe_run)
    rig.gone(ident, "safe")
    found = {s["name"]: s for s in rig.client.done("station", "list").json["stations"]}
    assert found["safe"]["connected"] and not found["wrong"]["connected"]


def test_a_target_with_curve_needs_the_stations_own(make_rig):
    rig = make_rig()
    why = rig.client.refused("station", "add", f"safe=api@ipc:///x,curve={Keys().public}")
    assert why == "station: safe: curve: needs the setting curve, the station's own certificate"
    assert "safe" not in [s["name"] for s in rig.client.done("station", "list").json["stations"]]


# -- the start

@pytest.mark.parametrize("args, why", [
    pytest.param(["--curve", "C"],
                 "allow: is needed with curve", id="no allow"),
    pytest.param(["--allow", "A"],
                 "curve: is needed with allow", id="no curve"),
    pytest.param(["--curve", "none", "--allow", "A"],
                 "none: No such file or directory", id="no file"),
    pytest.param(["--curve", "C", "--allow", "none"],
                 "allow: none: No such file or directory", id="no folder"),
    pytest.param(["--curve", "A/owner.key", "--allow", "A"],
                 "A/owner.key: the secret-key is missing: want the file whose name ends with _secret",
                 id="public only"),
    pytest.param(["--station", "safe=api@ipc:///x,curve=KEY"],
                 "stations: safe: curve: needs the setting curve", id="target"),
    pytest.param(["--station", "safe=api@ipc:///x,curve=short"],
                 "stations: safe: curve: want the target's public key, 40 characters of Z85",
                 id="target's key"),
])
def test_settings_that_do_not_go_together(tmp_path, args, why):
    keys = Keys()
    (tmp_path / "A").mkdir()
    write(str(tmp_path / "A" / "owner.key"), certificate(keys, "owner", EVERY_ROLE))
    write(str(tmp_path / "C"), certificate(keys, "station", secret=True))
    texts = {"C": str(tmp_path / "C"), "A": str(tmp_path / "A"),
             "A/owner.key": str(tmp_path / "A" / "owner.key")}
    args = [texts.get(arg, arg).replace("curve=KEY", "curve=" + keys.public) for arg in args]
    code, out, err = run_once([*endpoints(tmp_path), *args])
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if line.startswith("zpland: ")]
    assert lines == ["zpland: " + why.replace("A/owner.key", texts["A/owner.key"])]


def endpoints(folder):
    words = ["--redis", f"unix:{folder}/none"]
    for name in ("request", "publish", "events"):
        words += ["--" + name, f"ipc://{folder}/{name}"]
    return words


ONLY_A_KEY = "curve\n    public-key = \"{}\"\n"


@pytest.mark.parametrize("text, why", [
    pytest.param(ONLY_A_KEY, "roles: want at least one of submit,observe,manage,result,signal",
                 id="no role"),
    pytest.param('metadata\n    roles = "all"\n' + ONLY_A_KEY,
                 "roles: want one or more of submit,observe,manage,result,signal, got 'all'", id="no such role"),
    pytest.param("", "the public-key is missing", id="empty"),
    pytest.param(ONLY_A_KEY.format("short"), "the public-key is not 40 characters of Z85",
                 id="no key"),
    pytest.param('metadata\n    rolse = "submit"\n', "line 2 is not a field of a certificate: ",
                 id="no such field"),
])
def test_a_bad_file_in_the_list_at_start(rig, text, why):
    """It is told, and the station serves everybody else."""
    write(rig.file("bad"), text.format(Keys().public))
    rig.start()
    rig.logged(f'access.left_out files=1 reason="{rig.file("bad")}: {why}')
    warned(rig, f"the first: {rig.file('bad')}: {why}")


def test_one_key_in_two_files(rig):
    """The first by name counts, however the folder gives them."""
    keys = rig.allow("two", "observe")
    rig.allow("three", "manage", keys=keys)
    rig.allow("one", "submit", keys=keys)
    rig.start()
    rig.logged("access.left_out files=2")
    warned(rig, "public-key: is that of 'one' too")
    client = rig.member(keys)
    assert client.submit(later()).code == ST.PLAN
    denied(client.manage("list"), "role: want observe, the key 'one' has submit")


def test_a_secret_that_others_read_is_refused(rig):
    os.chmod(rig.path("station.key_secret"), 0o640)
    code, out, err = run_once(rig.station.args)
    assert (code, out) == (2, "")
    assert f"zpland: {rig.path('station.key_secret')}: others may use this secret" in err
    assert rig.server.secret not in err


@pytest.mark.parametrize("which", ["request", "publish", "events"])
@pytest.mark.parametrize("host", ["0.0.0.0", "*", "192.0.2.1", "[::]"])
def test_without_curve_only_this_machine_is_served(tmp_path, which, host):
    args = endpoints(tmp_path) + ["--" + which, f"tcp://{host}:7920"]
    code, out, err = run_once(args)
    assert (code, out) == (2, "")
    assert err == (f"zpland: {which}: 'tcp://{host}:7920' is not loopback: "
                   "set curve and allow, or --insecure\n")


def test_with_insecure_any_address_is_taken(make_rig):
    rig = make_rig(start=False)
    endpoint = f"tcp://0.0.0.0:{free_port()}"
    rig.station.args += ["--request", endpoint, "--insecure"]
    rig.start()
    rig.station.stop()


def test_with_curve_any_address_is_taken(rig):
    rig.station.args += ["--request", f"tcp://0.0.0.0:{free_port()}"]
    rig.start()
    rig.station.stop()


def test_no_secret_is_told(rig, safe):
    keys = rig.allow("one", EVERY_ROLE)
    rig.station.args += ["--log-level", "debug"]
    rig.start()
    client = rig.member(keys)
    client.manage("stats")
    client.manage("station", "list")
    with open(rig.station.log) as log:
        text = log.read()
    assert not any(one.secret in text for one in (rig.server, keys, safe.keys))
