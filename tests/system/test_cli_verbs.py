"""What holds for every verb: its help, --json, its exit codes. The verbs are those that the program
lists, so a new one fails here until it has its row."""
import json
import re
import subprocess

import pytest

from clitest import DONE, NO_ANSWER, REFUSED, USAGE, WAIT, ZPLAN, zplan
from zplantest import FT, ST, at_once, every, later, wait_until

VERBS = re.findall(r"^  (\w+) ", zplan("--help").done().split("Options of every")[0], re.M)

TIME = ["--at", "2100-01-01"]
PLAN = ["--station", "jobs", "--command", "x", *TIME]

# What a verb is tried with; {id} is a plan's, {running} one's whose run is out, {failed} one's that
# has failed for good, {dir} an empty folder.
GOOD = {
    "add": PLAN,
    "load": [],
    "whoami": [],
    "web": ["user", "ann", "--out", "{dir}"],
    "next": ["{id}"],
    "list": [],
    "show": ["{id}"],
    "update": ["{id}", "--title", "other"],
    "pause": ["{id}"],
    "resume": ["{paused}"],
    "reset": ["{paused}"],
    "skip": ["{id}", "--count", "2"],
    "run": ["{id}"],
    "cancel": ["{running}", "--reason", "slow"],
    "done": ["{failed}", "--remark", "by hand"],
    "close": ["{id}"],
    "remove": ["{id}"],
    "export": [],
    "import": ["{dir}/plans"],
    "cron": ["{dir}/crontab", "--target", "jobs"],
    "watch": ["-n", "1", "--since", "0"],
    "history": [],
    "logs": ["{failed}"],
    "result": ["{finished}"],
    "archive": ["{dir}/old", "--plan", "7777"],
    "target": ["list"],
    "limit": ["set", "station:news"],
    "kind": ["put", "mail", "{{\"timeout\": 60}}"],
    "flow": ["graph", "{dir}/flow.json"],
    "why": ["{id}"],
    "stats": [],
    "status": [],
    "team": ["{id}"],
    "top": ["-n", "1"],
    "doctor": [],
    "ping": [],
    "keygen": ["key", "--out", "{dir}"],
    "completion": ["plans"],
}

# What is refused by the station, or by the machine.
REFUSALS = {
    "add": ["--station", "nowhere", "--command", "x", *TIME],
    "next": ["7777"],
    "show": ["7777"],
    "update": ["7777", "--title", "x"],
    **{verb: ["7777"] for verb in ("pause", "resume", "reset", "skip", "run", "cancel", "done",
                                   "close", "remove")},
    "import": ["/nonexistent"],
    "cron": ["/nonexistent"],
    "archive": ["/nonexistent/old"],
    "target": ["remove", "nowhere"],
    "limit": ["remove", "group:none"],
    "kind": ["get", "none"],
    "flow": ["graph", "/nonexistent"],
    "why": ["7777"],
    "logs": ["7777"],
    "result": ["7777"],
    "team": ["7777"],
    "keygen": ["key", "--out", "/nonexistent"],
    "handover": [],     # there is no standby
}

NO_STATION = {"next", "keygen", "work", "flow", "web"}     # these need none, or another one
# test_zstationd.py, test_cli_workers.py: it serves, and prints nothing itself; they ask a target.
# test_faults_two.py: it needs a standby.
# test_metrics.py: what it prints is for Prometheus.
OWN_TESTS = {"callback", "work", "workers", "drain", "handover", "metrics"}


@pytest.fixture(scope="module")
def where(make_shared, tmp_path_factory):
    rig = make_shared()
    for _ in range(2):
        rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
    return rig


def options(rig):
    return ["--connect", rig.ipc("q"), "--publish", rig.ipc("p"), "--timeout", str(int(WAIT * 1000))]


def run_of(rig, ident):
    """The next run of this plan; those of other tests are left."""
    while (run := rig.jobs.recv()).before[1] != f"*{ident}".encode():
        pass
    return run


def filled(rig, args, folder):
    ident = rig.client.added(every(3600, 100))
    paused = rig.client.added(later())
    zplan(*options(rig), "pause", paused).done()
    (folder / "plans").write_text(json.dumps({"station": "jobs", "command": "x", "at": "2100-01-01"})
                                  + "\n")
    (folder / "crontab").write_text("0 0 1 1 * x\n")
    (folder / "flow.json").write_text('{"flow": "f", "steps": {"a": {"wait": 1}}}')
    fired = {}
    for name in ("running", "failed"):
        if f"{{{name}}}" in args:
            fired[name] = rig.client.added(at_once(retry={"strategy": "none", "need_manual": True}))
            run = run_of(rig, fired[name])
            rig.jobs.answer(run, ST.RUNING)
            if name == "failed":
                rig.jobs.answer(run, ST.FAILED, [(FT.LOCAL_ID, run.local_id)])
            wanted = "execute" if name == "running" else "error"
            wait_until(lambda: json.loads(zplan(*options(rig), "show", fired[name], "--json=wire")
                                          .done())["state"] == wanted, wanted)
    if "{finished}" in args:
        fired["finished"] = rig.client.added(at_once())
        rig.jobs.finish(run_of(rig, fired["finished"]), pairs=[(FT.CONTENT, b"12 files")])
        wait_until(lambda: rig.client.done("history", fired["finished"]).json["runs"], "it has ended")
    return [arg.format(id=ident, paused=paused, dir=folder, **fired) for arg in args]


def test_each_verb_has_a_row():
    assert set(VERBS) == set(GOOD) | OWN_TESTS


@pytest.mark.parametrize("form", ["--json", "--json=wire"])
@pytest.mark.parametrize("verb", sorted(GOOD))
def test_json_is_an_object_a_line(where, verb, form, tmp_path):
    wait_until(lambda: json.loads(zplan(*options(where), "stats", "--json=wire").done())["outcomes"] >= 2,
               "two runs have ended")
    ended = zplan(*options(where), verb, *filled(where, GOOD[verb], tmp_path), form)
    assert ended.code == DONE and ended.out and ended.out.endswith("\n"), ended.err
    for line in ended.out.splitlines():
        value = json.loads(line)
        assert isinstance(value, list if verb == "next" else dict)
        assert line.isascii() and "\x1b" not in line


@pytest.mark.parametrize("verb", sorted(GOOD))
def test_done_for_people(where, verb, tmp_path):
    ended = zplan(*options(where), verb, *filled(where, GOOD[verb], tmp_path))
    assert ended.code == DONE and "\x1b" not in ended.out + ended.err
    assert verb == "keygen" or not ended.err, ended.err


@pytest.mark.parametrize("verb", sorted(REFUSALS))
@pytest.mark.parametrize("output", [[], ["--json=wire"]])
def test_refused(where, verb, output, tmp_path):
    ended = zplan(*options(where), verb, *filled(where, REFUSALS[verb], tmp_path), *output)
    assert ended.code == REFUSED and ended.err.startswith("zplan: ") or verb == "keygen"
    assert ended.code == REFUSED and ended.err.count("\n") == 1
    for line in ended.out.splitlines():
        assert output and json.loads(line)


@pytest.mark.parametrize("verb", VERBS)
def test_usage(verb):
    told = zplan(verb, "--qwertz").failed(USAGE)
    assert told == f"zplan {verb}: unknown option '--qwertz'\nTry: zplan {verb} --help\n"


@pytest.mark.parametrize("verb", sorted(set(GOOD) - NO_STATION))
@pytest.mark.parametrize("output", [[], ["--json=wire"]])
def test_no_answer(verb, output, tmp_path):
    (tmp_path / "plans").write_text(json.dumps({"station": "jobs", "command": "x"}) + "\n")
    (tmp_path / "crontab").write_text("0 0 1 1 * x\n")
    args = [arg.format(id="1f", paused="1f", running="1f", failed="1f", finished="1f", dir=tmp_path) for arg in GOOD[verb]]
    ended = zplan("--connect", f"ipc://{tmp_path}/q", "--publish", f"ipc://{tmp_path}/p",
                  "--timeout", "100", verb, *args, *output)
    assert ended.code == NO_ANSWER and ended.err.count("zplan: no answer from ipc://") == 1
    if output:
        assert all(json.loads(line) for line in ended.out.splitlines())


@pytest.mark.parametrize("verb", ["", *VERBS])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(verb, option):
    out = zplan(*[verb] * bool(verb), option).done()
    assert out.startswith(f"Usage: zplan {verb}")
    assert max(map(len, out.splitlines())) <= 80, max(out.splitlines(), key=len)
    examples = re.findall(rf"^  (zplan.* {verb}\b.*)", out, re.M)
    assert len(examples) >= (1 if verb == "handover" else 2), "examples"
    assert not re.search(r"\n\n\n| $", out, re.M)


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"work", "keygen", "watch", "metrics"}))
def test_the_examples_are_understood(verb, tmp_path):
    """They are no usage errors: with a station that is not there they find no answer."""
    for example in re.findall(rf"^  (zplan {verb}\b[^|<>\n#]*?)(?:\\\n *(.*))?(?:[|<>#].*)?$",
                              zplan(verb, "--help").done(), re.M):
        line = " ".join(example).split("#")[0]
        args = [arg.strip("'") for arg in re.findall(r"'[^']*'|\S+", line)[1:]]
        if {"--connect", "bash", "zsh", "-"} & set(args):
            continue
        ended = zplan(*args, "--connect", f"ipc://{tmp_path}/q", "--publish", f"ipc://{tmp_path}/p",
                      "--timeout", "1", cwd=tmp_path)
        assert ended.code != USAGE, (line, ended.err)


@pytest.mark.parametrize("typed, meant", [
    ("rm", "remove"), ("del", "remove"), ("delete", "remove"), ("trigger", "run"),
    ("kill", "cancel"), ("retry", "reset"), ("enable", "resume"), ("disable", "pause"),
    ("info", "show"), ("ls", "list"), ("ps", "list"), ("station", "target")])
def test_another_name_of_a_verb(typed, meant):
    usage = zplan(meant, "--help").done()
    assert usage.startswith(f"Usage: zplan {meant}")
    assert zplan(typed, "--help").done() == usage == zplan("help", typed).done()


@pytest.mark.parametrize("typed, hint", [
    ("delte", "delete"), ("rsume", "resume"), ("hlep", "help"), ("enalbe", "enable")])
def test_did_you_mean_another_name(typed, hint):
    assert f"did you mean {hint}?" in zplan(typed, "1f").failed(USAGE)


def test_stop_names_both_that_it_may_mean():
    hint = zplan("stop", "1f").failed(USAGE)
    assert all(text in hint for text in ("zplan pause", "zplan cancel", "run in progress"))


def test_the_program(tmp_path):
    assert re.fullmatch(r"zplan \d+\.\d+\.\d+\n", zplan("--version").done())
    assert zplan("help").done() == zplan("--help").done()
    assert zplan("version").done() == zplan("--version").done()
    assert "unknown command 'frob'" in zplan("help", "frob").failed(USAGE)
    assert zplan().failed(USAGE).startswith("zplan: want a command\n")
    assert "a script is no JSON" in zplan("completion", "bash", "--json=wire").failed(USAGE)


def test_output_that_cannot_be_written(where):
    where.client.added(later())     # something to write
    with open("/dev/full", "wb") as full:
        for verb in (["list"], ["export"], ["stats"], ["completion", "bash"], ["--help"], ["--version"]):
            done = subprocess.run([ZPLAN, *options(where), *verb], stdout=full,
                                  stderr=subprocess.PIPE, timeout=WAIT, check=False)
            assert done.returncode == REFUSED and b"cannot be written" in done.stderr, verb
