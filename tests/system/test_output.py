"""What runs wrote: kept with their outcomes, given by `history`, and printed by `zplan logs` and `zplan result`."""
import base64
import json
import time

import pytest

from clitest import REFUSED, USAGE, WAIT, Terminal, objects, start, zplan
from zplanprocs import wait_until
from zplantest import FT, ST, at_once, every

HEADER = b"== run "


@pytest.fixture
def cli(rig):
    def call(*args, **options):
        return zplan("--connect", rig.ipc("q"), "--timeout", "20000", *args, **options)
    return call


def ends(rig, ident, status, *frames):
    """The next run of this plan ends so; wait for its outcome."""
    before = len(runs(rig, ident))
    run = rig.jobs.recv()
    while run.mailbox[1:].decode() != ident:
        run = rig.jobs.recv()
    rig.jobs.answer(run, status, [*frames, (FT.LOCAL_ID, run.local_id)])
    wait_until(lambda: len(runs(rig, ident)) > before, "its outcome")


def runs(rig, ident, **more):
    return rig.client.done("history", json.dumps({"plan": ident, **more})).json["runs"]


def output(rig, ident):
    return [run.get("output") for run in runs(rig, ident, output=True)]


@pytest.mark.parametrize("plan", [at_once(), every(1, 3)], ids=["ends", "goes on"])
@pytest.mark.parametrize("type_", ["CONTENT", "JSON", "BIN", "XML"])
def test_the_first_data_frame_of_a_result_is_kept(rig, plan, type_):
    ident = rig.client.added(plan)
    ends(rig, ident, ST.OK, (FT.STATUS, b"fine"), (getattr(FT, type_), b"one\ntwo\n"), (FT.CONTENT, b"more"))
    assert output(rig, ident)[0] == {"size": 8, "head": "one\ntwo\n"}
    assert "output" not in runs(rig, ident)[0]          # only when it is asked for


def test_of_much_the_ends_are_kept_between_characters(rig):
    ident = rig.client.added(every(1, 3))
    text = "first " + "ü" * 4000 + " last"
    ends(rig, ident, ST.OK, (FT.CONTENT, text.encode()))
    kept = output(rig, ident)[0]
    assert kept["size"] == 8011 and kept["head"].startswith("first ü") and kept["tail"].endswith("ü last")
    assert 2000 < len((kept["head"] + kept["tail"]).encode()) <= 2048


def test_the_last_result_of_a_plan_that_ends_is_whole(rig):
    ident = rig.client.added(at_once())
    ends(rig, ident, ST.OK, (FT.CONTENT, b"x" * 60000))
    assert output(rig, ident) == [{"size": 60000, "head": "x" * 60000}]


def test_bytes_that_are_no_text(rig):
    ident = rig.client.added(at_once())
    ends(rig, ident, ST.OK, (FT.BIN, b"\xff\0"))
    assert output(rig, ident) == [{"size": 2, "head": {"b64": base64.b64encode(b"\xff\0").decode()}}]


@pytest.mark.parametrize("log, kept", [("trans", True), ("outcome", False), ("trigger", False)])
def test_log_decides_whether_it_is_kept(rig, log, kept):
    ident = rig.client.added(at_once(log=log))
    ends(rig, ident, ST.OK, (FT.CONTENT, b"x"))
    assert output(rig, ident) == [{"size": 1, "head": "x"} if kept else None]
    assert rig.db.exists("plan:output") == kept


def test_the_setting_bounds_a_run(make_rig):
    rig = make_rig("--output-bytes", "0")
    ident = rig.client.added(at_once())
    ends(rig, ident, ST.OK, (FT.CONTENT, b"x"))
    assert output(rig, ident) == [None] and not rig.db.exists("plan:output")


def test_all_of_them_are_bounded(make_rig):
    """By the memory of Redis; the newest stay."""
    rig = make_rig("--output-total", "1", "--output-bytes", "65536")
    for n in range(40):
        ends(rig, rig.client.added(at_once()), ST.OK, (FT.CONTENT, b"%d " % n + b"y" * 60000))
    wait_until(lambda: rig.db.memory_usage("plan:output", samples=0) <= 1.3 * 2 ** 20, "it is trimmed")
    kept = [run["output"] for run in rig.client.done("history", {"output": True}).json["runs"] if "output" in run]
    assert 5 < len(kept) < 30 and kept[-1]["head"].startswith("39 ")


# -- zplan logs

def test_logs_of_a_failure(rig, cli):
    ident = rig.client.added(every(1, 5, retry={"strategy": "none"}))
    ends(rig, ident, ST.OK, (FT.CONTENT, b"all well\n"))
    ends(rig, ident, ST.FAILED, (FT.CONTENT, b"connecting\nno disk"))
    out = cli("logs", ident).done()
    head, rest = out.split("\n", 1)
    assert head.startswith("== run 2, ") and ": no disk" in head or "connecting" in head
    assert rest == "connecting\nno disk\n"
    both = cli("logs", ident, "-n", "5").done()
    assert both.index("all well") < both.index("connecting")
    assert "all well" in cli("logs", ident, "--run", "1").done()
    shown, = objects(cli("logs", ident, "--json"))
    assert shown["output"] == {"size": 18, "head": "connecting\nno disk"} and shown["status"] == "failed"


def test_logs_of_runs_that_are_no_longer_kept(rig, cli, tmp_path):
    ident = rig.client.added(every(3600, 9, plan_time=int(time.time()) - 3599))
    ends(rig, ident, ST.OK)
    assert cli("archive", str(tmp_path)).code == 0
    assert cli("logs", ident).err == f"zplan: {ident}: its runs are no longer in the history\n"


def test_logs_say_what_is_not_kept(rig, cli):
    ident = rig.client.added(every(1, 2, log="outcome"))
    ends(rig, ident, ST.OK, (FT.CONTENT, b"x" * 10))
    assert "(no output is kept)" in cli("logs", ident).done()
    cut = rig.client.added(every(1, 2))
    ends(rig, cut, ST.OK, (FT.CONTENT, b"a" * 5000))
    assert "\n[... 2952 bytes are not kept ...]\n" in cli("logs", cut).done()
    nothing = rig.client.added(every(1, 2))
    ends(rig, nothing, ST.OK)
    assert "(no output is kept)" in cli("logs", nothing).done()


def test_logs_follow_until_the_plan_has_ended(rig, cli):
    ident = rig.client.added(every(1, 3))
    ends(rig, ident, ST.OK, (FT.CONTENT, b"run 0"))
    with start("--connect", rig.ipc("q"), "logs", ident, "--follow") as following:
        for line in (HEADER, b"run 0\n"):
            assert line in following.stdout.readline()
        for n in (1, 2):
            ends(rig, ident, ST.OK, (FT.CONTENT, b"run %d" % n))
        out, _ = following.communicate(timeout=30)
    assert out.index(b"run 1\n") < out.index(b"run 2\n") and out.count(HEADER) == 2
    assert following.returncode == 0


def test_logs_follow_until_the_plan_is_closed(rig, cli):
    ident = rig.client.added(every(1, -1))
    ends(rig, ident, ST.OK, (FT.CONTENT, b"run 0"))
    run = rig.jobs.recv()
    rig.client.done("close", ident)
    with start("--connect", rig.ipc("q"), "logs", ident, "--follow") as following:
        for line in (HEADER, b"run 0\n"):
            assert line in following.stdout.readline()
        rig.jobs.answer(run, ST.OK, [(FT.CONTENT, b"last"), (FT.LOCAL_ID, run.local_id)])
        out, _ = following.communicate(timeout=WAIT)
    assert b"last\n" in out and following.returncode == 0


def test_logs_give_a_terminal_no_commands(rig, cli):
    ident = rig.client.added(every(1, 2))
    text = "a\tb\u009b31mred\u202e C:\\tmp M\u00fcnchen\nnext\n".encode() + b"\xff\x1b["
    ends(rig, ident, ST.OK, (FT.CONTENT, text))
    shown = Terminal("--color", "never", "--connect", rig.ipc("q"), "logs", ident).done()
    assert "\u009b" not in shown and "\u202e" not in shown and "\x1b" not in shown
    assert r"\xc2\x9b31mred\xe2\x80\xae" in shown and " C:\\tmp M\u00fcnchen\nnext\n" in shown
    rest = start("--connect", rig.ipc("q"), "logs", ident).communicate(timeout=WAIT)[0]
    assert text in rest         # a file gets its bytes


def test_logs_of_what_is_not_there(rig, cli):
    assert "no such plan" in cli("logs", "nix").failed(REFUSED)
    ident = rig.client.added(every(100, 2))
    ended = cli("logs", ident)
    assert (ended.code, ended.out) == (0, "") and "no run of it has ended yet" in ended.err
    assert "no run 99 of it" in cli("logs", ident, "--run", "99").failed(REFUSED)
    assert "--run: want a run" in cli("logs", ident, "--run", "x").failed(USAGE)


# -- zplan result

def test_the_last_result_is_whole(rig, cli):
    ident = rig.client.added(every(1, 3))
    text = "ü%d" % 7 * 70000
    for content in (b"first", text.encode()):
        ends(rig, ident, ST.OK, (FT.STATUS, b"fine"), (FT.CONTENT, content))
    assert cli("result", ident).done() == text
    shown, = objects(cli("result", ident, "--json"))
    assert shown["id"] == ident
    result, = shown["results"]
    assert (result["worker"], result["status"]) == ("jobs", "ok")
    assert {"type": "CONTENT", "text": text} in result["frames"]
    wire, = objects(cli("result", ident, "--json=wire"))
    assert wire["plan_id"] == int(ident, 16) and wire["results"][0]["frames"][2] == text


def test_the_result_of_a_failure_is_printed_and_is_no_success(rig, cli):
    ident = rig.client.added(every(1, 3))
    ends(rig, ident, ST.FAILED, (FT.CONTENT, b"no disk"))
    ended = cli("result", ident)
    assert (ended.code, ended.out) == (REFUSED, "no disk") and "the run failed" in ended.err


def test_the_result_of_a_plan_that_has_ended(rig, cli):
    ident = rig.client.added(at_once(key="nightly"))
    ends(rig, ident, ST.OK, (FT.BIN, b"\xff\n"))
    with start("--connect", rig.ipc("q"), "result", "nightly") as process:
        assert process.communicate(timeout=WAIT) == (b"\xff\n", b"") and process.returncode == 0
    assert objects(cli("result", ident, "--json"))[0]["output"]["size"] == 2
    ident = rig.client.added(at_once())
    ends(rig, ident, ST.OK, (FT.CONTENT, b"x" * 70000))
    ended = cli("result", ident)
    assert "not kept whole" in ended.err and ended.code == REFUSED and ended.out.count("x") == 65536


def test_results_that_are_not_there(rig, cli):
    assert "no such plan" in cli("result", "nix").failed(REFUSED)
    ident = rig.client.added(at_once(log="outcome"))
    ends(rig, ident, ST.OK, (FT.CONTENT, b"x"))
    assert "no result of its last run is kept" in cli("result", ident).failed(REFUSED)
    assert "no run of it has ended" in cli("result", rig.client.added(every(100, 2))).failed(REFUSED)
