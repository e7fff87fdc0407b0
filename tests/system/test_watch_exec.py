"""zplan watch --failed: what it leaves out, the program of --exec, and the place in --state."""
import json
import os
import signal

import pytest

from clitest import DONE, REFUSED, USAGE, WAIT, Ended, start, zplan
from zplantest import FT, ST, at_once, wait_until

NONE = {"strategy": "none"}


@pytest.fixture(scope="module")
def rig(make_shared):
    return make_shared()


@pytest.fixture
def told(tmp_path):
    """A program that keeps what it is given; `fail` beside it makes it fail."""
    path = tmp_path / "notify.sh"
    path.write_text('#!/bin/sh\ncat >> "$0.in"; echo >> "$0.in"\n'
                    'echo "$ZPLAN_PLAN|$ZPLAN_TITLE|$ZPLAN_TARGET|$ZPLAN_STATUS|$ZPLAN_REASON" >> "$0.env"\n'
                    'test ! -e "$0.fail" || exit 3\n')
    path.chmod(0o755)
    return path


def watch(rig, *args):
    return start("--connect", rig.ipc("q"), "--publish", rig.ipc("p"), "--timeout",
                 str(int(WAIT * 1000)), "watch", *args)


def since(rig):
    """What --since begins behind: all that is published from now on."""
    answer = rig.client.done("history", {"newest": True, "limit": 1}).json
    return str(answer["last"])


def failed(rig, text=b"-failed: no paper", status=ST.FAILED, **fields):
    ident = rig.client.added(at_once(**{"description": "nightly", "retry": NONE, **fields}))
    run = rig.jobs.recv()
    rig.jobs.finish(run, status, [(FT.STATUS, text)])
    rig.state(ident, status) if status != ST.OK else rig.gone(ident)
    return ident, run


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def test_only_failures_that_are_final(rig):
    before = since(rig)
    failed(rig, status=ST.OK)
    failed(rig, retry={"strategy": "fixed", "interval": 3600})
    ident, _ = failed(rig)
    out = Ended(watch(rig, "--failed", "--since", before, "-n", "1", "--json")).done()
    (line,) = [json.loads(text) for text in out.splitlines()]
    assert line["plan"] == ident, line


def test_the_program_gets_the_outcome(rig, told):
    before = since(rig)
    ident, run = failed(rig)
    second, _ = failed(rig, text=b"-failed: $(touch /tmp/x) again")
    ended = Ended(watch(rig, "--failed", "--exec", str(told), "--since", before, "-n", "2"))
    ended.done()
    outcomes = [json.loads(text) for text in lines(told.with_name("notify.sh.in")) if text]
    assert outcomes[0] == {"plan": ident, "title": "nightly", "target": "jobs", "status": "failed",
                           "reason": "-failed: no paper", "exec_id": f"{run.exec_id:x}"}
    assert outcomes[1]["plan"] == second
    assert lines(told.with_name("notify.sh.env")) == [
        f"{ident}|nightly|jobs|failed|-failed: no paper",
        f"{second}|nightly|jobs|failed|-failed: $(touch /tmp/x) again"]


def test_a_program_that_fails_is_told_and_the_next_follows(rig, told):
    told.with_name("notify.sh.fail").touch()
    before = since(rig)
    failed(rig), failed(rig)
    ended = Ended(watch(rig, "--failed", "--exec", str(told), "--since", before, "-n", "2"))
    assert ended.code == DONE and ended.err.count("exit status 3") == 2, ended.err
    assert len(lines(told.with_name("notify.sh.env"))) == 2


def test_a_restart_misses_nothing_and_repeats_nothing(rig, told, tmp_path):
    place, results = tmp_path / "place", told.with_name("notify.sh.env")
    args = ("--failed", "--exec", str(told), "--state", str(place))
    failed(rig)                 # so that there is an epoch
    place.write_text(f"{rig.db.hget('plan:meta', 'epoch').decode()} {since(rig)}\n")
    written = place.read_text()
    first, _ = failed(rig)
    process = watch(rig, *args)
    wait_until(lambda: [one for one in lines(results) if one.startswith(first)], "the first")
    wait_until(lambda: place.read_text() != written, "its place")
    at = place.read_text()
    process.send_signal(signal.SIGTERM)
    Ended(process)
    second, _ = failed(rig)
    Ended(watch(rig, *args, "-n", "1")).done()
    assert [one.split("|")[0] for one in lines(results)][-2:] == [first, second]
    assert place.read_text() != at and os.listdir(tmp_path).count("place.new") == 0


def test_the_first_start_has_a_place(rig, told, tmp_path):
    """What failed before anything was printed is not lost with a restart."""
    place, results = tmp_path / "place", told.with_name("notify.sh.env")
    args = ("--failed", "--exec", str(told), "--state", str(place))
    failed(rig)                 # so that there is an epoch
    process = watch(rig, *args)
    wait_until(place.exists, "its place")
    assert place.read_text() == f"{rig.db.hget('plan:meta', 'epoch').decode()} {since(rig)}\n"
    process.send_signal(signal.SIGTERM)
    assert Ended(process).done() == ""
    meanwhile, _ = failed(rig)
    Ended(watch(rig, *args, "-n", "1")).done()
    assert [one.split("|")[0] for one in lines(results)] == [meanwhile]


@pytest.mark.parametrize("args, why", [
    (["--exec", "x"], "--exec: goes with --failed only"),
    (["--state", "x", "--since", "1"], "--state and --since: want one or the other"),
])
def test_what_is_wrong(args, why):
    assert why in zplan("watch", *args).failed(USAGE)


@pytest.mark.parametrize("program, why", [
    ("{}/none", "No such file or directory"), ("{}/plain", "Permission denied"), ("{}", "Permission denied"),
    ("no-such-program-anywhere", "No such file or directory"), ("", "")])
def test_a_program_that_cannot_run_is_no_start(tmp_path, program, why):
    """Else each failure would count as passed to it."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    ended = zplan("watch", "--failed", "--exec", program.format(tmp_path), "--state", str(tmp_path / "place"))
    assert ended.failed(REFUSED).startswith("zplan: --exec: ") and why in ended.err
    assert not (tmp_path / "place").exists()


def test_a_program_is_found_by_its_name(rig, told):
    before = since(rig)
    failed(rig)
    process = start("--connect", rig.ipc("q"), "--publish", rig.ipc("p"), "watch", "--failed", "--exec", told.name, "--since", before,
                    "-n", "1", env={"PATH": f"/nonexistent:{told.parent}:{os.environ['PATH']}"})
    assert Ended(process).code == DONE and lines(told.parent / (told.name + ".env"))


def test_a_place_that_is_none(tmp_path):
    path = tmp_path / "place"
    path.write_text("x")
    assert "--state: " in zplan("watch", "--state", str(path)).failed(USAGE)
