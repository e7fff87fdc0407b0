"""`callback`: outcomes of runs become plans of the target `callbacks`, whose worker is played here."""
import json
import time

import pytest

from curvetest import CurveRig
from flowrig import Flows, call
from pulltest import Worker
from zplantest import CMD, FT, ST, Client, at_once, every, later, plan_frames, wait_until

URL = "https://hooks.example/done?token=geheim"
CALLBACK = {"success": {"url": URL}, "error": {"url": "https://hooks.example:8443/failed", "method": "PUT"}}
NONE = {"strategy": "none"}


@pytest.fixture(scope="module")
def rig(make_shared):
    return make_shared()


class Sender(Worker):
    """What zplan-callback is to the station: a worker of the target of callbacks."""

    def wish(self, **wish):
        return {"station": "callbacks", "worker": self.name, **wish}

    def of(self, ident):
        """The callback that tells of this plan; others are put back."""
        while True:
            job = self.one()
            if job["plan"]["ext"]["plan"] == ident:
                return Callback(self, job)
            self.report(job["plan_id"], "release", after=1)


class Callback:
    """One that was taken."""

    def __init__(self, sender, job):
        self.sender, self.id, self.plan = sender, job["plan_id"], job["plan"]
        _desc, _plan, station, self.method, self.url, self.secret, headers, body = job["frames"]
        assert station == "callbacks"
        self.headers, self.body = json.loads(headers), json.loads(body)

    def report(self, *args, **more):
        assert self.sender.report(self.id, *args, **more) == {"accepted": True}


@pytest.fixture
def sender(rig):
    return Sender(rig, "s1")


def wants(callback=None, **fields):
    return at_once(callback=callback or CALLBACK, **fields)


def finish(rig, ident, status=ST.OK, frames=((FT.CONTENT, b"good"),)):
    run = rig.jobs.recv()
    while run.mailbox != b"*" + ident.encode():
        run = rig.jobs.recv()
    rig.jobs.finish(run, status, list(frames))
    return run


def outcome(rig, ident):
    (row,) = wait_until(lambda: rig.client.done("history", ident).json["runs"], "its outcome is there")
    return row


def shown(rig, ident):
    """The callback of the only outcome, as the history shows it."""
    return outcome(rig, ident)["callback"]


def test_C046_a_success_is_told(rig, sender):
    ident = rig.client.added(wants(ext={"order": 7}, tenant=3, creator="ann", category="bills", description="nightly"))
    run = finish(rig, ident)
    callback = sender.of(ident)
    assert (callback.method, callback.url, callback.secret, callback.headers) == ("POST", URL, "", {})
    assert callback.body == {"ext": {"order": 7}, "result": "good"}
    plan = callback.plan
    assert plan["ext"] == {"plan": ident, "exec_id": f"{run.exec_id:x}", "nominal": plan["ext"]["nominal"], "status": "ok"}
    assert (plan["source"], plan["tenant"], plan["creator"], plan["category"], plan["group"], plan["description"]) == \
        ("jobs", 3, "ann", "bills", "cb:jobs", "callback: nightly")
    assert plan["retry"]["sequence"] == [5, 300, 1800, 7200, 18000, 36000, 36000] and plan["retry"]["max"] == 7
    assert shown(rig, ident) == {"id": callback.id, "state": "queued"}
    callback.report()
    wait_until(lambda: shown(rig, ident)["state"] == "delivered", "Completed became Success")


def test_C047_a_failure_is_told(rig, sender):
    ident = rig.client.added(wants(retry=NONE))
    finish(rig, ident, ST.FAILED, [(FT.STATUS, b"-failed: no paper")])
    callback = sender.of(ident)
    assert (callback.method, callback.url) == ("PUT", "https://hooks.example:8443/failed")
    assert callback.body == {"task_id": int(ident, 16), "error_info": "-failed: no paper", "ext": None}
    assert callback.plan["ext"]["status"] == "failed"
    callback.report()


@pytest.mark.parametrize("frames, result", [
    ([(FT.JSON, b'{"rows": [1, 2]}'), (FT.CONTENT, b"x")], {"rows": [1, 2]}),
    ([(FT.CONTENT, b"\xff\x00")], {"b64": "/wA="}),
    ([], None),
    ([(FT.CONTENT, b"y" * 70000)], {"truncated": True, "size": 70002}),
])
def test_C015_the_result(rig, sender, frames, result):
    ident = rig.client.added(wants())
    finish(rig, ident, ST.OK, frames)
    callback = sender.of(ident)
    assert callback.body == {"ext": None, "result": result}
    callback.report()


def test_an_event(rig, sender):
    ident = rig.client.added(wants({"error": {"url": "@ops"}, "form": "event", "secret": "bill", "timeout": 7, "headers": {"X-Team": "a"},
                                    "retry": {"strategy": "fixed", "interval": 5, "max": 1}}, retry=NONE, key="night1", description="d"))
    run = finish(rig, ident, ST.FAILED)
    callback = sender.of(ident)
    assert (callback.url, callback.secret, callback.headers) == ("@ops", "bill", {"X-Team": "a"})
    assert callback.plan["ext"]["timeout"] == 7 and callback.plan["retry"] == {"strategy": "fixed", "interval": 5, "max": 1}
    body = callback.body
    assert body["type"] == "plan.run.failed" and body["timestamp"].endswith("Z")
    data = body["data"]
    for name in ("nominal_at", "started_at", "ended_at"):
        assert data.pop(name).endswith("Z")
    assert data == {"plan": ident, "exec_id": f"{run.exec_id:x}", "name": "night1", "title": "d", "target": "jobs", "worker": "jobs",
                    "status": "failed", "ext": None, "reason": data["reason"]}
    callback.report()
    rig.client.done("remove", ident)


def test_final_and_each(rig, sender):
    """With `final` only the last failure is told."""
    retry = {"strategy": "sequence", "sequence": [0], "max": 1}
    final = rig.client.added(wants(retry=retry))
    each = rig.client.added(wants({**CALLBACK, "when": "each"}, retry=retry))
    runs = {ident: [finish(rig, ident, ST.FAILED) for _ in range(2)] for ident in (final, each)}
    told = {final: [], each: []}
    while sum(map(len, told.values())) < 3:
        job = sender.one()
        if job["plan"]["ext"]["plan"] in told:
            told[job["plan"]["ext"]["plan"]].append(job["plan"]["ext"]["exec_id"])
        sender.report(job["plan_id"])
    assert told == {final: [f"{runs[final][1].exec_id:x}"], each: [f"{run.exec_id:x}" for run in runs[each]]}


def test_a_run_that_is_cancelled_is_told(rig, sender):
    ident = rig.client.added(wants({"error": {"url": URL}, "form": "event"}))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.client.done("cancel", ident)
    callback = sender.of(ident)
    assert callback.body["type"] == "plan.run.cancelled"
    callback.report()


def test_a_manual_run_that_fails_is_told(rig, sender):
    ident = rig.client.added(later(callback=CALLBACK))
    rig.client.done("run", ident)
    finish(rig, ident, ST.FAILED)
    callback = sender.of(ident)
    assert callback.method == "PUT"
    callback.report()


@pytest.mark.parametrize("callback, status", [(CALLBACK, 4), ({"error": {"url": URL}}, ST.OK), ({"success": {"url": URL}}, ST.FAILED)])
def test_C044_C045_nobody_is_told(rig, sender, callback, status):
    """A worker that says BYE wants no callback; and not of an end that has none."""
    ident = rig.client.added(wants(callback, retry=NONE))
    finish(rig, ident, status)
    assert "callback" not in outcome(rig, ident)
    told = [plan["ext"]["plan"] for plan in rig.client.done("list", json.dumps({"station": "callbacks"})).json["plans"]]
    assert ident not in told


def test_C021_completed_until_it_is_delivered(rig, sender):
    """Queued, retrying, dead; and given up by a person."""
    ident = rig.client.added(wants({"success": {"url": URL}, "retry": {"strategy": "fixed", "interval": 1, "max": 1}}))
    finish(rig, ident)
    callback = sender.of(ident)
    assert shown(rig, ident)["state"] == "queued"
    callback.report("fail", reason="HTTP 503", retry_after=3600)
    wait_until(lambda: shown(rig, ident)["state"] == "retrying", "it is tried again")
    rig.client.done("pause", callback.id)
    rig.client.done("reset", callback.id)       # now
    sender.of(ident).report("fail", reason="HTTP 410", final=True)
    wait_until(lambda: shown(rig, ident)["state"] == "dead", "it is dead")
    stored = rig.message(callback.id, "callbacks")
    assert stored["error_info"] == "s1: HTTP 410"
    tries = rig.client.done("history", json.dumps({"station": "callbacks", "plan": callback.id})).json["runs"]
    assert [(row["status"], row["reason"], row["seq"]) for row in tries] == \
        [(ST.FAILED, "s1: HTTP 503", 0), (ST.FAILED, "s1: HTTP 410", 0)]
    rig.client.done("reset", callback.id)       # redelivered
    again = sender.of(ident)
    assert again.body == callback.body and again.plan["ext"] == callback.plan["ext"]
    again.report("fail", final=True)
    wait_until(lambda: shown(rig, ident)["state"] == "dead", "it is dead again")
    rig.client.done("done", callback.id, "told them by phone")
    assert shown(rig, ident)["state"] == "given_up"
    rig.client.done("remove", callback.id)
    assert shown(rig, ident)["state"] == "given_up"


def test_it_makes_no_noise(rig, sender):
    """No broadcast, no entry among the outcomes of runs, no number."""
    ident = rig.client.added(wants())
    finish(rig, ident)
    seq = outcome(rig, ident)["seq"]
    callback = sender.of(ident)
    callback.report()
    wait_until(lambda: shown(rig, ident)["state"] == "delivered", "it is delivered")
    assert rig.client.done("history", callback.id).json["runs"] == []
    assert rig.client.done("stats").json["seq"] == seq


def test_only_the_station_makes_and_changes_them(rig, sender):
    reply = rig.client.ask(CMD.PLAN, plan_frames(later(), station="callbacks"))
    assert reply.code == ST.DENY, reply
    for words in (("kind", "put", "loop", json.dumps({"on_failure": {"command": "x", "station": "callbacks"}})),):
        assert "only the station makes and changes them" in rig.client.refused(*words)
    ident = rig.client.added(wants())
    finish(rig, ident)
    callback = sender.of(ident)
    for words in (("update", callback.id, json.dumps({"revision": 1})), ("run", callback.id), ("skip", callback.id, "1"), ("close", callback.id)):
        assert rig.client.manage(*words).code == ST.DENY, words
    callback.report()


def test_a_kind_has_it(rig, sender):
    rig.client.done("kind", "put", "told", json.dumps({"callback": {"success": {"url": "https://a.example/k"}}}))
    ident = rig.client.added(at_once(kind="told"))
    finish(rig, ident)
    callback = sender.of(ident)
    assert callback.url == "https://a.example/k"
    callback.report()


def test_a_callback_of_a_plan_that_repeats(rig, sender):
    ident = rig.client.added({**every(1, 2), "callback": CALLBACK, "no_keep": True})
    for _ in range(2):
        run = finish(rig, ident)
        callback = sender.of(ident)
        assert callback.plan["ext"]["exec_id"] == f"{run.exec_id:x}"
        callback.report()


def test_the_run_of_a_flow_is_told(rig, sender):
    flows = Flows(rig)
    for index, (name, status, method) in enumerate((("good", ST.OK, "POST"), ("bad", ST.FAILED, "PUT"))):
        flows.put(name, {"a": call()}, output="=steps.a.value")
        ident = flows.start(name, callback=CALLBACK)
        step = flows.call()
        rig.jobs.finish(step.run, status, [(FT.JSON, b'{"rows": 7}')])
        callback = sender.of(ident)
        assert callback.method == method and callback.plan["source"] == name
        assert (callback.body["error_info"] if index else callback.body["result"]) == ("a: failed" if index else {"rows": 7})
        callback.report()


# -- URLs may be secrets

def test_urls_are_masked(rig, sender):
    ident = rig.client.added(later(callback={"success": {"url": URL}, "error": {"url": "@ops"}}, key="masked"))
    masked = {"success": {"url": "https://hooks.example"}, "error": {"url": "@ops"}}
    (plan,) = [plan for plan in rig.client.done("list").json["plans"] if plan["plan_id"] == int(ident, 16)]
    assert plan["callback"] == masked
    assert json.loads(rig.message(ident)["callback"])["success"]["url"] == URL
    assert URL in json.dumps(rig.client.done("message", ident).json)
    reply = rig.client.submit(later(callback=masked))
    assert reply.code == ST.PLANERROR and "masked" in reply.text
    rig.client.done("run", ident)
    run = rig.jobs.recv()
    while run.mailbox != b"*" + ident.encode():
        run = rig.jobs.recv()
    assert run.plan["callback"] == masked and b"geheim" not in b"".join(bytes(frame) for frame in run.frames)
    rig.jobs.finish(run)
    sender.of(ident).report()
    rig.client.done("remove", ident)


BAD = [
    ({}, "callback: want an object with success, error or both"),
    ("https://a/", "callback: want an object with success, error or both"),
    ({"success": "https://a.example/"}, "callback: success: want an object with url, and method"),
    ({"success": {"url": 5}}, "callback: success: url: want a URL, or @NAME"),
    ({"success": {"url": "ftp://a.example/"}}, "callback: success: url: "),
    ({"success": {"url": "https://u:p@a.example/"}}, "callback: success: url: "),
    ({"success": {"url": "https://a.example"}}, "callback: success: url: want a path"),
    ({"success": {"url": "@../x"}}, "callback: success: url: want @ and 1..64 of"),
    ({"success": {"url": URL, "method": "GET"}}, "callback: success: method: want POST or PUT"),
    ({"error": {"url": URL, "verb": "PUT"}}, "callback: error: 'verb': unknown field"),
    ({"error": {"url": URL}, "secret": "a b"}, "callback: secret: want the name of a secret"),
    ({"error": {"url": URL}, "form": "xml"}, "callback: form: want task or event"),
    ({"error": {"url": URL}, "when": "never"}, "callback: when: want final or each"),
    ({"error": {"url": URL}, "timeout": 61}, "callback: timeout: want seconds, 1..60"),
    ({"error": {"url": URL}, "retry": {"strategy": "x"}}, "callback: retry: strategy: want none"),
    ({"error": {"url": URL}, "headers": {"Host": "x"}}, "callback: headers: 'Host': is not allowed"),
    ({"error": {"url": URL}, "headers": {"X-A": "a\r\nX-B: b"}}, "callback: headers: 'X-A': want a value"),
    ({"error": {"url": URL}, "headers": []}, "callback: headers: want an object of at most 8"),
    ({"error": {"url": URL}, "extra": 1}, "callback: 'extra': unknown field"),
]


@pytest.mark.parametrize("value, reason", BAD)
def test_a_wrong_one_is_refused(rig, value, reason):
    reply = rig.client.submit(later(callback=value))
    assert reply.code == ST.PLANERROR and reason in reply.text, reply.text


# -- who may what

@pytest.fixture
def locked(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    rig.clients = {}
    for name, roles, stations in (("user", "submit,observe,manage", "jobs"), ("other", "submit,observe,manage", "news"),
                                  ("worker", "result", None), ("sender", "result", "callbacks"), ("reader", "observe", None)):
        rig.clients[name] = rig.with_keys(rig.allow(name, roles, stations))
    rig.start()
    return rig


def client(rig, name):
    return rig.keep(Client(rig.ipc("q"), prepare=rig.clients[name]))


def test_a_callback_belongs_to_its_source(locked):
    rig = locked
    ident = rig.client.added(wants())
    finish(rig, ident)
    callback = shown(rig, ident)["id"]
    everybodys = json.dumps({"station": "callbacks"})
    user, other = client(rig, "user"), client(rig, "other")
    assert user.done("message", callback).json["source"] == "jobs"
    assert [plan["source"] for plan in user.done("list", everybodys).json["plans"]] == ["jobs"]
    assert other.manage("message", callback).code == ST.NOT_FIND
    assert other.done("list", everybodys).json["plans"] == []
    assert other.manage("remove", callback).code == ST.NOT_FIND
    user.done("pause", callback)


def test_only_who_names_them_takes_them(locked):
    rig = locked
    ident = rig.client.added(wants())
    finish(rig, ident)
    wish = json.dumps({"station": "callbacks", "worker": "w", "wait": 10})
    reply = client(rig, "worker").manage("take", wish)
    assert reply.code == ST.DENY and "has to name 'callbacks' among its stations" in reply.text
    sender = client(rig, "sender")
    (job,) = sender.done("take", wish).json["jobs"]
    report = json.dumps({"plan": job["plan_id"], "worker": "w", "exec_id": job["exec_id"], "state": "success"})
    assert client(rig, "user").manage("report", report).code == ST.DENY
    assert sender.done("report", report).json == {"accepted": True}
    rig.gone(job["plan_id"], "callbacks")


def test_who_may_not_change_sees_masked_urls(locked):
    rig = locked
    ident = rig.client.added(later(callback=CALLBACK))
    rig.client.done("kind", "put", "told", json.dumps({"callback": CALLBACK}))
    reader = client(rig, "reader")
    for words in (("message", ident), ("list",), ("kind", "list"), ("kind", "get", "told")):
        told = json.dumps(reader.done(*words).json)
        assert "hooks.example" in told and "geheim" not in told, words
    assert "geheim" in json.dumps(rig.client.done("kind", "get", "told").json)


def test_nor_those_of_callbacks_themselves(locked):
    rig = locked
    ident = rig.client.added(wants())
    finish(rig, ident)
    callback = shown(rig, ident)["id"]
    told = json.dumps(client(rig, "reader").done("message", callback).json)
    assert "hooks.example" in told and "geheim" not in told
    assert "geheim" in json.dumps(rig.client.done("message", callback).json)
    rig.client.done("remove", callback)


def test_a_key_of_some_targets_restores_no_call_of_another(locked):
    rig = locked
    ident = rig.client.added(later())
    stored = rig.client.done("message", ident).json
    rig.client.done("remove", ident)
    user = client(rig, "user")
    for more, reason in (({"on_failure": json.dumps({"command": "x", "station": "news"})}, "on_failure"),
                         ({"step": "c 1 0 -1 0 1 flow step"}, "step")):
        reply = user.manage("restore", "plan", json.dumps({**stored, **more}))
        assert reply.code in (ST.DENY, ST.PLANERROR) and reason in reply.text, reply.text
    assert user.done("restore", "plan", json.dumps(stored)).json == {"restored": 1}
    rig.client.done("remove", ident)


# -- too many of them

def test_plans_wait_while_too_many_are_kept(make_rig):
    """Those of that target that want a callback; when one is gone they go on."""
    rig = make_rig("--max-callbacks-station", "2")
    sender = Sender(rig, "s1")
    idents = [rig.client.added(wants()) for _ in range(2)]
    for ident in idents:
        finish(rig, ident)
        outcome(rig, ident)
    late = rig.client.added(wants())
    wait_until(lambda: "too many callbacks of its target are kept" in str(rig.client.done("why", late).json), "why says it")
    assert any("2 callbacks of jobs are kept" in problem for problem in rig.client.done("health").json["problems"])
    finish(rig, rig.client.added(at_once()))        # wants none
    rig.restart()
    wait_until(lambda: "too many callbacks" in str(rig.client.done("why", late).json), "it is known again")
    sender.of(idents[0]).report()
    rig.client.done("remove", shown(rig, idents[1])["id"])
    wait_until(lambda: not rig.client.done("health").json["problems"], "there is room")
    assert "too many" not in str(rig.client.done("why", late).json)
    rig.client.done("pause", late)
    rig.client.done("reset", late)      # or it waits for half a minute
    finish(rig, late)
    wait_until(lambda: rig.db.hget("plan:callbacks", "jobs") == b"1", "one is kept")


# -- those that failed for good are dropped

def dead(rig, sender, count, **fields):
    """Plans whose callbacks failed for good, the oldest first: (its id, that of the callback)."""
    made = []
    for _ in range(count):
        ident = rig.client.added(wants({**CALLBACK, "retry": NONE}, **fields))
        finish(rig, ident)
        sender.of(ident).report("fail", reason="HTTP 500")
        made.append((ident, wait_until(lambda: (told := shown(rig, ident))["state"] == "dead" and told["id"], "it is dead")))
    return made


def dropped(rig):
    return [run for run in rig.client.done("history", {"station": "callbacks"}).json["runs"] if "dropped" in run["reason"]]


def test_the_oldest_dead_ones_make_room(make_rig):
    rig = make_rig("--max-callbacks-station", "3")
    sender = Sender(rig, "s1")
    made = dead(rig, sender, 3)
    (run,) = wait_until(lambda: dropped(rig), "there were as many as may be")
    assert (run["plan"], run["status"]) == (made[0][1], ST.CANCELLED) and "too many callbacks of its source" in run["reason"]
    assert [shown(rig, ident)["state"] for ident, _ in made] == ["given_up", "dead", "dead"]
    assert rig.db.hget("plan:callbacks", "jobs") == b"2" and rig.client.done("stats").json["counters"]["dropped_callbacks"] == 1
    assert [plan["plan_id"] for plan in rig.client.done("list", {"order": "dead"}).json["plans"]] == [
        int(ident, 16) for _, ident in made[:0:-1]]
    assert rig.client.done("health").json["problems"] == []
    alive = rig.client.added(wants())
    finish(rig, alive)      # it goes on: one more makes room for it
    wait_until(lambda: len(dropped(rig)) == 2, "one more is dropped")
    assert shown(rig, alive)["state"] == "queued"


def test_those_that_a_person_resolved_make_room_as_well(make_rig):
    rig = make_rig("--max-callbacks-station", "3", "--sweep-interval", "1")
    sender = Sender(rig, "s1")
    (old, paused) = dead(rig, sender, 2)
    rig.client.done("done", old[1])
    assert rig.db.hget("plan:callbacks", "jobs") == b"2"    # it is kept, and counts
    waits = rig.client.added(wants())
    finish(rig, waits)
    (run,) = wait_until(lambda: dropped(rig), "there were as many as may be: the dead one goes")
    assert run["plan"] == paused[1]
    more = rig.client.added(wants())
    finish(rig, more)
    wait_until(lambda: [run["plan"] for run in dropped(rig)].count(old[1]) == 1, "none is dead: the resolved one goes")
    rig.client.refused("message", old[1], status=ST.NOT_FIND)
    assert shown(rig, waits)["state"] == shown(rig, more)["state"] == "queued"


def test_those_of_others_are_left_alone(make_rig):
    """A source that has too many loses its own, and plans of others do not wait."""
    rig = make_rig("--max-callbacks-station", "2")
    sender = Sender(rig, "s1")
    ident = rig.client.added(wants({**CALLBACK, "retry": NONE}), station="news")
    rig.news.answer(rig.news.recv(), ST.OK, [(FT.CONTENT, b"good")])
    sender.of(ident).report("fail", reason="HTTP 500")
    wait_until(lambda: shown(rig, ident)["state"] == "dead", "it is dead")
    dead(rig, sender, 3)
    wait_until(lambda: len(dropped(rig)) == 2, "two of jobs are dropped")
    assert shown(rig, ident)["state"] == "dead"


def test_what_nobody_looked_at_for_a_month(make_rig):
    rig = make_rig("--sweep-interval", "1")
    sender = Sender(rig, "s1")
    (old, new) = dead(rig, sender, 2)
    now = rig.db.time()[0]
    rig.db.zadd("plan:dead", {f"plan:msg:callbacks:{old[1]}": now - 30 * 86400 - 10})
    (run,) = wait_until(lambda: dropped(rig), "it is too old")
    assert run["plan"] == old[1] and "30 days" in run["reason"]
    assert shown(rig, old[0])["state"] == "given_up" and shown(rig, new[0])["state"] == "dead"


# -- one more time

def test_redeliver(make_rig):
    """A dead one, or one that waits for its retry; and nothing else."""
    rig = make_rig()
    sender = Sender(rig, "s1")
    (ident, callback), = dead(rig, sender, 1)
    rig.client.done("callback", "redeliver", callback)
    sender.of(ident).report()
    wait_until(lambda: shown(rig, ident)["state"] == "delivered", "it was sent again")
    slow = rig.client.added(wants({**CALLBACK, "retry": {"strategy": "fixed", "interval": 86400, "max": 5}}))
    finish(rig, slow)
    sender.of(slow).report("fail", reason="HTTP 500")
    wait_until(lambda: shown(rig, slow)["state"] == "retrying", "it waits for tomorrow")
    rig.client.done("callback", "redeliver", shown(rig, slow)["id"])
    sender.of(slow).report()
    wait_until(lambda: shown(rig, slow)["state"] == "delivered", "it did not wait")
    assert "no plan" in rig.client.refused("callback", "redeliver", callback, status=ST.NOT_FIND)
    other = rig.client.added(later())
    rig.client.done("pause", other)
    rig.client.refused("callback", "redeliver", other, status=ST.NOT_FIND)
    assert rig.message(other)["plan_state"] == 5
    assert rig.client.refused("callback", "redeliver", "zz").startswith("id: want")
    assert "redeliver ID" in rig.client.refused("callback", "redelivr", "1f")


@pytest.mark.parametrize("callback", ["[]", "text", '{"foo": 1}', '{"success": {"url": "garbage"}}', '{"success": {"url": "https://a.example"}}',
                                      '{"success": {"url": "https://a.example/x", "method": "DELETE"}}',
                                      '{"success": {"url": "https://a.example/x"}, "headers": {"Host": "x"}}'])
def test_a_restored_callback_is_judged(rig, callback):
    """As that of a submission: a masked URL has lost its path."""
    stored = {**rig.client.done("message", rig.client.added(later())).json, "plan_id": 31, "callback": callback}
    stored["messages"][0] = "*1f"
    reply = rig.client.manage("restore", "plan", json.dumps(stored))
    assert reply.code == ST.PLANERROR and reply.text.startswith("-plan error: callback: "), reply
    stored["callback"] = json.dumps({"success": {"url": URL}})
    assert rig.client.done("restore", "plan", json.dumps(stored)).json == {"restored": 1}
    rig.client.done("remove", "1f")


def test_their_history_is_as_old_and_as_long_as_that_of_runs(make_rig):
    rig = make_rig("--history-age", "2", "--history-count", "100", "--sweep-interval", "1")
    sender = Sender(rig, "s1")
    for _ in range(3):
        ident = rig.client.added(wants())
        finish(rig, ident)
        sender.of(ident).report("success")
    wait_until(lambda: not rig.db.exists("plan:history:callbacks") or not rig.db.xlen("plan:history:callbacks"), "they are gone")
    for number in range(400):       # nodes of it have a hundred
        rig.db.xadd("plan:history:callbacks", {"p": "1f", "s": "jobs", "t": "1", "r": "{}"}, id=f"{time.time_ns() // 1000000 + 60000}-{number}")
    ident = rig.client.added(wants())
    finish(rig, ident)
    sender.of(ident).report("success")
    wait_until(lambda: rig.db.xlen("plan:history:callbacks") <= 200, "the oldest made room")
