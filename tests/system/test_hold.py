"""Plans that are submitted paused: the field `hold`, `zplan add --hold`, and what import keeps (proto 5.2, 5.3, 9.3)."""
import json
import time

import pytest

from clitest import objects, zplan
from zplantest import FT, PAUSE, QUEUE, ST, at_once, every, later, wait_until

OVERDUE = 50


def run_all(rig, count):
    """The plans of the next runs, which end well."""
    idents = []
    for _ in range(count):
        run = rig.jobs.recv()
        idents.append(run.mailbox[1:].decode())
        rig.jobs.finish(run)
    return idents


def some_sweeps(rig):
    """Overdue plans are claimed, one after the other: what else is due had its chance each time."""
    for _ in range(3):
        ident = rig.client.added(at_once(description="another"))
        assert run_all(rig, 1) == [ident]
        rig.gone(ident)


@pytest.mark.parametrize("plan", [
    at_once(), every(1, -1), every(0, 2), later(-100, no_keep=True), {"plan_type": "cron", "cron": "* * * * * *"}],
    ids=["none", "second", "soon", "time", "cron"])
def test_a_held_plan_waits_for_reset(rig, plan):
    """B108: what a command makes due is sent with it; before that no sweep sends it."""
    events = rig.events()
    ident = rig.client.added({**plan, "hold": True})
    stored = rig.message(ident)
    assert (stored["plan_state"], stored["held"]) == (PAUSE, 1)
    assert stored["stopped"].startswith("hold at ") and rig.score(ident) is None
    some_sweeps(rig)
    assert [event.name for event in (events.recv(), events.recv())] == ["add", "pause"]
    why = rig.client.done("why", ident).json["reasons"][0]
    assert why["why"].startswith("hold at ") and why["until"] == "reset"
    assert [found["plan_id"] for found in rig.client.done("list", {"held": True}).json["plans"]] == [int(ident, 16)]
    rig.client.done("reset", ident)
    assert run_all(rig, 1) == [ident]
    assert not rig.client.done("list", {"held": True}).json["plans"]


def test_msgpack_and_a_plan_that_was_paused_elsewhere(rig):
    held = rig.client.added(b"\x82\xa9plan_type\x00\xa4hold\xc3")
    paused = rig.client.added(at_once(hold="pause"))
    none = rig.client.added(at_once(hold=False))
    assert run_all(rig, 1) == [none]
    stored = [rig.message(ident) for ident in (held, paused)]
    assert [plan["plan_state"] for plan in stored] == [PAUSE, PAUSE]
    assert stored[0]["held"] == 1 and "held" not in stored[1]
    assert stored[1]["stopped"].startswith("pause at ")


def test_the_mark_goes_when_somebody_pauses_it(rig):
    ident = rig.client.added(later(hold=True))
    for word in ("reset", "pause"):
        rig.client.done(word, ident)
        assert "held" not in rig.message(ident)
    assert rig.message(ident)["plan_state"] == PAUSE


def test_what_was_never_due_is_still_refused(rig):
    assert rig.client.submit(later(-100, hold=True)).code == ST.PLANERROR
    reason = rig.client.refused("update", rig.client.added(later()), {"revision": 0})
    assert reason.startswith("revision: ")
    ident = rig.client.added(later())
    reason = rig.client.refused("update", ident, {"revision": rig.message(ident)["revision"], "hold": True})
    assert reason.startswith("hold: is for a submission")


@pytest.mark.parametrize("if_exists", ["update", "replace"])
def test_a_submission_with_a_key_takes_its_plan_out_of_the_queue(rig, if_exists):
    plan = later(key="nightly", if_exists=if_exists)
    ident = rig.client.added(plan)
    assert rig.score(ident) is not None
    assert rig.client.added({**plan, "hold": True}) == ident
    stored = rig.message(ident)
    assert (stored["plan_state"], stored["held"], rig.score(ident)) == (PAUSE, 1, None)
    assert rig.client.added({**plan, "description": "third"}) == ident
    # An update leaves what is out of the queue there.
    assert rig.message(ident)["plan_state"] == (PAUSE if if_exists == "update" else QUEUE)


def test_many_that_are_held_among_others(rig):
    """They go their own way into Redis: nothing of a call that has both is lost."""
    held, queued = set(), set()
    for n in range(100):
        plan = later(hold=True) if n % 3 else later()
        rig.client.send(0x02, [(FT.PLAN, json.dumps(plan).encode()), (FT.STATION_ID, b"jobs"),
                               (FT.COMMAND, b"do"), (FT.REQUEST_ID, str(n).encode())])
    for _ in range(100):
        reply = rig.client.recv()
        n = int(reply.get(FT.REQUEST_ID))
        (held if n % 3 else queued).add(reply.get(FT.GLOBAL_ID).decode())
    assert len(held) == 66 and len(queued) == 34
    assert all(rig.score(ident) is None for ident in held)
    assert all(rig.score(ident) is not None for ident in queued)
    assert int(rig.db.hget("plan:count", "s:jobs")) == 100


# -- the command line

@pytest.fixture
def cli(rig):
    def call(*args):
        return zplan("--connect", rig.ipc("q"), "--timeout", "20000", *args)
    return call


def test_add_hold(rig, cli, tmp_path):
    said = cli("add", "--station", "jobs", "--command", "x", "--id", "1f", "--hold").done()
    assert said == ("plan 1f accepted, paused until `zplan reset`\n"
                    "retry: 10 tries, then it stops with an error\n")
    path = tmp_path / "plans"
    path.write_text(json.dumps({"station": "jobs", "command": "x", "now": True, "id": "20", "hold": True}) + "\n" +
                    json.dumps({"station": "jobs", "command": "x", "plan_type": 0, "id": "21", "hold": True}) + "\n")
    assert cli("add", "--from", str(path)).done() == "2 plans added\n"
    some_sweeps(rig)
    assert sorted(plan["id"] for plan in objects(cli("list", "--held", "--json=wire"))) == ["1f", "20", "21"]
    cli("reset", "--held").done()
    assert sorted(run_all(rig, 3)) == ["1f", "20", "21"]


def overdue_export(rig, cli, tmp_path):
    """An export of plans that are all overdue, of a station that could run none of them; of two more
    one was paused and one closed."""
    rig.jobs.close()
    idents = [rig.client.added(at_once(), gid=f"{n + 1:x}") for n in range(OVERDUE)]
    paused, closed = rig.client.added(at_once(), gid="f1"), rig.client.added(at_once(), gid="f2")
    rig.client.done("pause", paused)
    rig.client.done("close", closed)
    path = tmp_path / "plans"
    path.write_text(cli("export").done())
    for ident in (*idents, paused, closed):
        rig.client.done("remove", ident)
    wait_until(lambda: not rig.db.hlen("plan:run"), "no run is in flight")
    rig.jobs.open()
    return str(path), idents, paused


def test_import_hold_runs_nothing_and_reset_held_runs_just_that(rig, cli, tmp_path):
    path, idents, paused = overdue_export(rig, cli, tmp_path)
    said = cli("import", path, "--hold").done()
    assert said == f"{OVERDUE + 1} plans added, 1 ended and skipped\n"
    some_sweeps(rig)
    assert cli("list", "--state", "pause", "--json=wire").done().count("\n") == OVERDUE + 1
    assert cli("list", "--held", "--json=wire").done().count("\n") == OVERDUE
    # Said again it changes nothing.
    assert cli("import", path, "--hold").done().startswith(f"0 plans added, {OVERDUE + 1} ")
    assert cli("reset", "--held").done().endswith(f"{OVERDUE} reset\n")
    assert sorted(run_all(rig, OVERDUE)) == sorted(idents)
    some_sweeps(rig)
    assert rig.message(paused)["plan_state"] == PAUSE


def test_import_keeps_each_state(rig, cli, tmp_path):
    path, idents, paused = overdue_export(rig, cli, tmp_path)
    assert cli("import", path).done() == f"{OVERDUE + 1} plans added, 1 ended and skipped\n"
    assert sorted(run_all(rig, OVERDUE)) == sorted(idents)      # and not the one that was paused
    some_sweeps(rig)
    assert rig.message(paused)["plan_state"] == PAUSE and "held" not in rig.message(paused)
