"""`on_failure`: the command that is called once, when all tries of an occurrence have failed."""
import json
import time

import pytest

from clitest import REFUSED, USAGE, WAIT, zplan
from curvetest import CurveRig
from faulttest import armed, connected, died, history, outcomes, resend
from pulltest import STATION, Worker, add
from test_votes import NAMES, rule, start
from zplantest import (CMD, ERROR, FT, ST, FakeTarget, at_once, every, later,
                       plan_frames, unframe, wait_until)

NONE = {"strategy": "none"}
CALL = {"command": "notify"}


@pytest.fixture(scope="module")
def rig(make_shared):
    """One station for all that restart nothing: jobs (api), news (pub), pile (pull)."""
    return make_shared("--station", f"{STATION}=pull", "--send-timeout", "20000")


def failing(**fields):
    return at_once(**{"retry": NONE, "on_failure": CALL, **fields})


def dispatched(rig, ident=None):
    """The next run of this plan, or of any."""
    run = rig.jobs.recv()
    while ident and run.mailbox != b"*" + ident.encode():
        run = rig.jobs.recv()
    return run


def fail(rig, ident, text=b"-failed: no paper", status=ST.FAILED):
    run = dispatched(rig, ident)
    rig.jobs.finish(run, status, [(FT.STATUS, text)])
    return run


def called(rig, ident, run):
    """The run of the command that is called; its argument."""
    call = dispatched(rig)
    assert call.mailbox != b"*" + ident.encode(), "another run of the plan"
    outcome = json.loads(call.get(FT.ARG))
    assert (outcome["plan"], outcome["exec_id"]) == (ident, f"{run.exec_id:x}")
    return call, outcome


def done(rig, call):
    """The command is over: it runs once."""
    rig.jobs.finish(call)
    rig.gone(call.mailbox[1:].decode())


@pytest.mark.parametrize("log, kept", [("trans", {"size": 3000, "head": "x" * 1024, "tail": "y" * 1024}),
                                       ("outcome", None)])
def test_what_the_run_wrote_is_in_it_as_the_history_keeps_it(rig, log, kept):
    ident = rig.client.added(failing(log=log))
    run = dispatched(rig, ident)
    rig.jobs.finish(run, ST.FAILED, [(FT.CONTENT, b"x" * 1500 + b"y" * 1500)])
    call, outcome = called(rig, ident, run)
    assert outcome.get("output") == kept
    done(rig, call)


def test_a_redis_that_takes_no_writes_for_a_moment_loses_no_call(rig):
    """The outcome is written when it takes them again, and the call with it."""
    ident = rig.client.added(failing())
    run = dispatched(rig, ident)
    rig.db.config_set("min-replicas-to-write", 1)
    try:
        rig.jobs.finish(run, ST.FAILED, [(FT.STATUS, b"-failed: no paper")])
        wait_until(lambda: "NOREPLICAS" in str(rig.client.done("health").json["redis"]), "Redis refuses")
    finally:
        rig.db.config_set("min-replicas-to-write", 0)
    call, _ = called(rig, ident, run)
    done(rig, call)


def test_the_outcome_is_the_argument(rig):
    ident = rig.client.added(failing(description="nightly", key="night", tenant=7, creator="ann"))
    run = fail(rig, ident)
    call, outcome = called(rig, ident, run)
    assert call.get(FT.COMMAND) == b"notify"
    for name in ("nominal_at", "started_at", "ended_at"):
        assert outcome.pop(name).endswith("Z")
    assert outcome == {
        "plan": ident, "name": "night", "title": "nightly", "target": "jobs", "command": "do",
        "status": "failed", "verdict": "failure", "reason": "-failed: no paper",
        "exec_id": f"{run.exec_id:x}", "worker": "jobs", "attempts": 1}
    plan = call.plan
    assert (plan["description"], plan["tenant"], plan["creator"]) == \
        ("on failure: nightly", 7, "ann")
    assert plan["retry"] == {"strategy": "exponential", "interval": 10, "max": 9}
    assert "on_failure" not in plan and "key" not in plan
    done(rig, call)
    assert rig.message(ident)["plan_state"] == ERROR


def test_it_is_called_when_the_tries_are_used_up_and_not_before(rig):
    ident = rig.client.added(failing(retry={"strategy": "sequence", "sequence": [0], "max": 2}))
    first, second, third = (fail(rig, ident) for _ in range(3))
    call, outcome = called(rig, ident, third)
    assert outcome["attempts"] == 3 and len({first.exec_id, second.exec_id, third.exec_id}) == 3
    done(rig, call)


def test_each_occurrence_calls(rig):
    ident = rig.client.added({**every(1, 2), "retry": NONE, "on_failure": CALL,
                              "no_keep": True})
    for verdict in (None, "failure"):
        run = fail(rig, ident)
        call, outcome = called(rig, ident, run)
        assert outcome.get("verdict") == verdict
        done(rig, call)


def test_retries_that_the_end_of_the_plan_ends(rig):
    end = int(time.time()) + 2
    ident = rig.client.added(failing(retry={"strategy": "fixed", "interval": 3}, end_time=end))
    run = fail(rig, ident)
    call = dispatched(rig)
    outcome = json.loads(call.get(FT.ARG))
    assert (outcome["plan"], outcome["attempts"], outcome["code"]) == (ident, 1, "missed")
    assert outcome["exec_id"] >= f"{run.exec_id:x}"
    rig.gone(ident)
    done(rig, call)


def test_a_person_decides_and_is_told(rig):
    ident = rig.client.added(failing(retry={**NONE, "need_manual": True}))
    run = fail(rig, ident)
    call, outcome = called(rig, ident, run)
    assert outcome["verdict"] == "pending"
    done(rig, call)
    rig.client.done("done", ident)
    rig.jobs.nothing(0.2)


def test_an_error_without_a_retry_is_one(rig):
    """The plan document's rule: what the target refuses leaves the queue."""
    ident = rig.client.added(at_once(on_failure=CALL))
    run = dispatched(rig, ident)
    rig.jobs.answer(run, ST.NOT_SUPPORT)
    call, outcome = called(rig, ident, run)
    assert (outcome["status"], outcome["code"]) == ("failed", "not_support")
    done(rig, call)


def test_a_timeout_is_one(rig):
    ident = rig.client.added(failing(timeout=1))
    run = dispatched(rig, ident)
    rig.jobs.answer(run, ST.RUNING)
    call = dispatched(rig)
    while call.code == CMD.CLOSE_REQUEST:
        call = dispatched(rig)
    assert json.loads(call.get(FT.ARG))["status"] == "timeout"
    done(rig, call)


def test_export_and_import_keep_it(rig, tmp_path):
    def cli(*args):
        return zplan("--connect", rig.ipc("q"), "--timeout", str(int(WAIT * 1000)), *args)
    add = ("add", "--target", "jobs", "--command", "x", "--id", "e1", "--at", "2100-01-01")
    cli(*add, "--on-failure", "notify", "--on-failure-station", "news").done()
    want = {"command": "notify", "station": "news"}
    assert json.loads(rig.message("e1")["on_failure"]) == want
    shown = cli("show", "e1").done()
    assert "--on-failure notify\n" in shown and "--on-failure-target news\n" in shown
    path = tmp_path / "plans"
    lines = cli("export", "--target", "jobs").done().splitlines(keepends=True)
    path.write_text("".join(one for one in lines if json.loads(one)["plan_id"] == 0xe1))
    cli("remove", "e1").done()
    cli("import", str(path)).done()
    assert json.loads(rig.message("e1")["on_failure"]) == want
    cli("update", "e1", "--on-failure", "other").done()
    assert json.loads(rig.message("e1")["on_failure"]) == {"command": "other"}
    cli("update", "e1", "--on-failure", "-").done()
    assert "on_failure" not in rig.message("e1")
    cli("remove", "e1").done()
    told = cli(*add, "--on-failure-target", "news").failed(USAGE)
    assert "--on-failure-target: goes with --on-failure only" in told
    assert "on failure: no target 'nix'; known: " in cli(*add, "--on-failure", "x", "--on-failure-target",
                               "nix").failed(REFUSED)
    for value in ("notify", want):
        path.write_text(json.dumps({"target": "jobs", "command": "x", "id": "e2",
                                    "at": "2100-01-01", "on_failure": value}) + "\n")
        cli("add", "--from", str(path)).done()
        assert json.loads(rig.message("e2")["on_failure"])["command"] == "notify"
        cli("remove", "e2").done()


@pytest.mark.parametrize("what", ["success", "cancel", "run", "close"])
def test_it_is_not_called(rig, what):
    """For what went well; for what a person ended, or had run outside its schedule."""
    if what == "run":
        ident = rig.client.added(failing(**{"plan_type": 1, "plan_time": later()["plan_time"]}))
        rig.client.done("run", ident)
    else:
        ident = rig.client.added(failing(retry={"strategy": "fixed", "interval": 3600}))
    run = dispatched(rig, ident)
    rig.jobs.answer(run, ST.RUNING)
    if what == "cancel":
        rig.client.done("cancel", ident)
        assert dispatched(rig).code == CMD.CLOSE_REQUEST
    elif what == "close":
        rig.client.done("close", ident)
    if what != "cancel":
        rig.jobs.answer(run, ST.OK if what == "success" else ST.FAILED,
                        [(FT.LOCAL_ID, run.local_id)])
    rig.settle()
    wait_until(lambda: outcomes(rig, ident), "its outcome")
    rig.jobs.nothing(0.2)


def test_another_target_and_title(rig):
    """A pub target publishes the outcome."""
    call = {"command": "alerts", "station": "news", "title": "mine"}
    ident = rig.client.added(failing(on_failure=call))
    run = fail(rig, ident)
    news = rig.news.recv()
    assert (news.get(FT.PUB_TITLE), news.plan["description"]) == (b"alerts", "mine")
    assert json.loads(news.get(FT.CONTENT))["exec_id"] == f"{run.exec_id:x}"
    rig.news.answer(news, ST.OK)


def test_a_pull_target(rig):
    ident = add(rig, failing())
    worker = Worker(rig, "w1")
    job = worker.one()
    worker.report(ident, "fail", reason="disk full")
    call = worker.one()
    arguments = [unframe(frame) for frame in call["frames"]]
    outcome = json.loads(next(text for text in arguments if text.startswith(b'{"plan":"')))
    assert (outcome["plan"], outcome["target"], outcome["worker"], outcome["exec_id"]) == \
        (ident, STATION, "w1", job["exec_id"].lstrip("0"))
    assert "disk full" in outcome["reason"]
    worker.report(call["plan_id"])


def test_a_vote_that_is_lost(make_rig):
    rig = make_rig("--send-timeout", "20000", start=False)
    rig.board = rig.keep(FakeTarget(rig.ipc("b")))
    rig.station.args += ["--station", "board=vote@" + rig.ipc("b")]
    rig.start()
    ident = rig.client.added(failing(on_failure={**CALL, "station": "jobs"}, **rule("all")),
                             station="board")
    run = rig.board.recv()
    start(rig, run)
    for name in NAMES:
        rig.board.answer(run, ST.FAILED, [(FT.RESPONSER, name.encode()),
                                          (FT.LOCAL_ID, run.local_id)])
    call, _ = called(rig, ident, run)
    done(rig, call)


def test_the_command_that_fails_calls_nobody(rig):
    ident = rig.client.added(failing())
    run = fail(rig, ident)
    call, _ = called(rig, ident, run)
    rig.jobs.finish(call, ST.FAILED)
    second = call.mailbox[1:].decode()
    assert rig.state(second, ST.FAILED)["plan_state"] == 3     # tried again later
    rig.jobs.nothing(0.2)
    rig.client.done("remove", second)


def test_a_result_that_comes_twice_calls_once(rig):
    ident = rig.client.added(failing())
    run = fail(rig, ident)
    call, _ = called(rig, ident, run)
    resend(rig, ident, run, ST.FAILED)
    rig.settle()
    rig.jobs.nothing(0.2)
    done(rig, call)


@pytest.mark.parametrize("point", ["result_done", "running_done"])
def test_a_station_that_dies_around_the_outcome_calls_once(make_rig, point):
    rig = armed(make_rig, point)
    rig.client.send(CMD.PLAN, plan_frames(failing(), gid="1f"))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    if point == "result_done":
        rig.jobs.answer(run, ST.FAILED, [(FT.LOCAL_ID, run.local_id)])
    died(rig.station)
    rig.station.start()
    connected(rig, client=rig.dealer())
    if point == "running_done":
        resend(rig, "1f", run, ST.FAILED, client=rig.dealer())
    call, _ = called(rig, "1f", run)
    resend(rig, "1f", run, ST.FAILED, client=rig.dealer())
    done(rig, call)
    rig.jobs.nothing(0.3)
    assert len([one for one in outcomes(rig, "1f", rig.dealer()) if one[0] != ST.OK]) == 1


def test_where_there_is_no_room_the_outcome_is_kept(make_rig):
    rig = make_rig("--max-plans-station", "1")
    ident = rig.client.added(failing())
    fail(rig, ident)
    rows = wait_until(lambda: (lambda found: len(found) == 2 and found)(
        history(rig, plan=ident)), "the outcome, and why nobody was called")
    assert {row["status"] for row in rows} == {ST.FAILED, ST.SEND_ERROR}
    assert any("on_failure" in row.get("reason", "") for row in rows)
    assert rig.message(ident)["plan_state"] == ERROR
    assert "event=on_failure.not_called" in open(rig.station.log).read()
    rig.jobs.nothing(0.2)


# -- what is accepted

@pytest.mark.parametrize("value, told", [
    ("notify", "on_failure: want an object"),
    ({}, "on_failure: command: is missing"),
    ({"command": ""}, "on_failure: command: want a string of 1..256 bytes"),
    ({"command": "x" * 257}, "on_failure: command: want a string of 1..256 bytes"),
    ({"command": 5}, "on_failure: command: want a string"),
    ({"command": "x", "station": "a b"}, "on_failure: station: want 1..64 of"),
    ({"command": "x", "sation": "jobs"}, "on_failure: 'sation': unknown field"),
])
def test_what_is_wrong_is_refused(rig, value, told):
    reply = rig.client.submit(failing(on_failure=value))
    assert reply.code == ST.PLANERROR and told in reply.text, reply.text


def test_a_target_that_there_is_not(rig):
    reply = rig.client.submit(failing(on_failure={**CALL, "station": "nix"}))
    assert reply.code == ST.NOT_FIND and "on_failure: station" in reply.text, reply.text


def test_a_bound_key_names_its_own_targets_only(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    keys = rig.allow("one", "submit,manage,observe", "jobs,mine")
    rig.start()
    client = rig.member(keys)
    call = {**CALL, "station": "news"}
    why = "on_failure: station: the key 'one' may not touch plans of 'news'"
    reply = client.submit(later(on_failure=call))
    assert (reply.code, why in reply.text) == (ST.DENY, True), reply.text
    assert why in client.manage("kind", "put", "mine", json.dumps({"on_failure": call})).text
    ident = client.added(later(on_failure={**CALL, "station": "jobs"}))
    change = {"revision": rig.message(ident)["revision"], "on_failure": call}
    reply = client.manage("update", ident, json.dumps(change))
    assert (reply.code, why in reply.text) == (ST.DENY, True), reply.text
    rig.client.done("kind", "put", "common", json.dumps({"on_failure": call}))
    client.added(later(kind="common"))      # its author may


def test_update_and_kinds(rig):
    ident = rig.client.added(later(retry=NONE))
    change = {"revision": rig.message(ident)["revision"], "on_failure": CALL}
    rig.client.done("update", ident, json.dumps(change))
    assert json.loads(rig.message(ident)["on_failure"]) == CALL
    change = {"revision": rig.message(ident)["revision"],
              "on_failure": {**CALL, "station": "nix"}}
    rig.client.refused("update", ident, json.dumps(change), status=ST.NOT_FIND)
    change["on_failure"] = None
    rig.client.done("update", ident, json.dumps(change))
    assert "on_failure" not in rig.message(ident)
    rig.client.done("kind", "put", "careful", json.dumps({"retry": NONE, "on_failure": CALL}))
    ident = rig.client.added(at_once(kind="careful"))
    run = fail(rig, ident)
    call, _ = called(rig, ident, run)
    done(rig, call)
    rig.client.refused("kind", "put", "bad", json.dumps({"on_failure": {}}))
