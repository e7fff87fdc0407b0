"""zplan cron: the lines of a crontab as plans, and `zplan work --shell` that runs them."""
import json
import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from clitest import DONE, NO_ANSWER, REFUSED, USAGE, zplan
from pulltest import STATION, with_pile
from test_work_pull import Work, outcome
from zplantest import ST

UTC = {"TZ": "UTC"}


@pytest.fixture(scope="module")
def rig(make_shared):
    return with_pile(make_shared)


@pytest.fixture
def work(rig):
    worker = Work(rig, None, "--shell").log("serves")
    yield worker
    worker.close()


def cron(rig, *args, env=None):
    return zplan("--connect", rig.ipc("q"), "cron", *map(str, args), env={**UTC, **(env or {})})


def tell(rig, *args):
    return zplan("--connect", rig.ipc("q"), *args).done()


def written(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def added(rig, *args, env=None):
    """The ids of the plans that were added, by line."""
    out = [json.loads(line) for line in cron(rig, *args, "--json=wire", env=env).out.splitlines()]
    return {answer["line"]: answer["id"] for answer in out if answer.get("done") == "add"}


def shown(rig, ident):
    return json.loads(tell(rig, "show", ident, "--json=wire"))


def test_a_crontab_is_imported_and_run(rig, work, tmp_path):
    """The commands get their variables, their folder, their shell and their input."""
    table = written(
        tmp_path / "nightly", "# of the night", "WORD = 'two  words'", f"HOME={tmp_path}", "",
        "0 2 * * * echo \"$WORD\" \\%$(pwd) >one", "0 3 * * * cat >two; echo >>two \"it's $WORD\"%one%two",
        "SHELL=/bin/bash", "@daily [[ a == a ]] && echo \"it's ${BASH_VERSION:+bash}\" >three")
    told = cron(rig, table).done()
    plans = [json.loads(line) for line in tell(rig, "list", "--json=wire").splitlines()]
    idents = [f"{plan['plan_id']:x}" for plan in plans if plan.get("key", "").startswith("nightly-")]
    names = {plan["plan_id"]: plan["key"] for plan in plans}
    assert len(idents) == 3 and set(re.findall(r"nightly-\w+", told)) == {names[int(ident, 16)] for ident in idents}
    assert re.sub(r"nightly-[0-9a-f]{12} ", "NAME ", told) == (
        "line 5: NAME added: echo \"$WORD\" %$(pwd) >one\nline 6: NAME added: cat >two; echo >>two \"it's $WORD\"\n"
        "line 8: NAME added: [[ a == a ]] && echo \"it's ${BASH_VERSION:+bash}\" >three\n"
        f"3 plans added\nhours of UTC; run them with: zplan work --pull {STATION} --shell\n")
    for ident in idents:
        tell(rig, "run", ident)
        assert outcome(rig, ident)["status"] == ST.OK
    assert (tmp_path / "one").read_text() == f"two  words %{tmp_path}\n"
    assert (tmp_path / "two").read_text() == "one\ntwo\nit's two  words\n"
    assert (tmp_path / "three").read_text() == "it's bash\n"
    assert work.end() == 0


def test_the_command_its_input_and_its_name(rig, tmp_path):
    table = written(tmp_path / "inputs", "0 3 * * * cat >x%one%two", f"0 4 * * * {'é' * 60}")
    ids = added(rig, table, "--timezone", "Europe/Berlin")
    plan = shown(rig, ids[1])
    assert [frame for frame in plan["messages"] if frame in ("sh", "cat >x", "one\ntwo\n")] == \
        ["sh", "cat >x", "one\ntwo\n"]
    assert (plan["timezone"], plan["cron"], plan["station"]) == ("Europe/Berlin", "0 3 * * *", STATION)
    assert plan["description"] == "cat >x" and plan["key"].startswith("inputs-")
    assert plan["retry"]["max"] == 2            # what `zplan add` makes
    assert shown(rig, ids[2])["description"] == "é" * 36 + "..."


def test_the_same_file_again_adds_nothing(rig, tmp_path):
    table = written(tmp_path / "again", "@hourly x", "@hourly x", "@hourly y")
    assert len(set(added(rig, table).values())) == 3
    again = cron(rig, table).done()
    assert [re.sub(r"again-[0-9a-f]{12}", "NAME", line) for line in again.splitlines()[:4]] == [
        "line 1: NAME already exists: x", "line 2: NAME-2 already exists: x", "line 3: NAME already exists: y",
        "0 plans added, 3 already exist"]
    written(table, "# new", "", "@hourly  x", "@hourly z", "@hourly x", "@hourly y")
    assert list(added(rig, table)) == [4]       # of lines that were moved, only the new one
    assert "\n4 plans added\n" in cron(rig, table, "--prefix", "other").done()
    updated = cron(rig, table, "--if-exists", "update", "--retry", "none").done()
    assert "4 updated" in updated and updated.count(" updated: ") == 4


def test_the_same_lines_of_another_file_under_the_name_of_the_first_time(rig, tmp_path):
    lines = ["@hourly moved-1", "@daily moved-2"]
    (tmp_path / "folder").mkdir()
    first = added(rig, written(tmp_path / "folder" / "ann.crontab", *lines), "--name", "ann")
    assert len(first) == 2 and {shown(rig, ident)["key"][:4] for ident in first.values()} == {"ann-"}
    other = written(tmp_path / "copy", *lines, "@weekly moved-3")
    told = cron(rig, other, "--name", "ann").done()
    assert told.count(" already exists: moved-") == 2 and told.count(" added: moved-3") == 1
    assert "1 plan added, 2 already exist\n" in told
    for name in ("", "x" * 201):
        assert "--name: want 1 to 200 bytes" in cron(rig, other, "--name", name).failed(USAGE)


def test_lines_are_held(rig, tmp_path):
    """The new ones are paused; one that was imported before and runs stays as it is."""
    first = added(rig, written(tmp_path / "held", "@hourly held-1"))
    table = written(tmp_path / "held", "@hourly held-1", "@daily held-2", "@weekly held-3")
    assert "new ones are paused; start them with: zplan reset --held\n" in cron(rig, table, "--hold").done()
    plans = [json.loads(line) for line in tell(rig, "list", "--json").splitlines()]
    held = {plan["title"]: plan["state"] for plan in plans if plan.get("title", "").startswith("held-")}
    assert held == {"held-1": "queued", "held-2": "paused", "held-3": "paused"}
    assert shown(rig, first[1])["plan_state"] == 1
    tell(rig, "reset", "--held", "--title", "held-*")
    plans = [json.loads(line) for line in tell(rig, "list", "--json").splitlines()]
    assert {plan["state"] for plan in plans if plan.get("title", "").startswith("held-")} == {"queued"}


def test_nothing_is_imported_when_a_line_is_wrong(rig, tmp_path):
    table = written(tmp_path / "wrong", "MAILTO=ops", "@daily good", "@reboot x", "0 24 * * * x", "0 0 30 2 * x",
                    "CRON_TZ=Mars/Base", "@daily x")
    told = cron(rig, table).failed(REFUSED).replace(str(table), "wrong").splitlines()
    assert [line.split(": ", 2)[1] for line in told] == ["wrong:1", "wrong:3", "wrong:4", "wrong:5", "wrong:7", "wrong"]
    for line, part in zip(told, ["note: MAILTO is not kept", "column 1: @reboot", "times: column 3: want 0..23, got 24",
                                 "times: can never match", "CRON_TZ: timezone: no zone named 'Mars/Base'",
                                 "nothing was imported"]):
        assert part in line
    assert '"wrong-' not in tell(rig, "list", "--json=wire")

    ended = cron(rig, table, "--skip-bad")
    assert ended.code == DONE and ended.out.splitlines()[0].endswith(" added: good")
    assert ended.out.splitlines()[1] == "1 plan added"
    assert ended.err.splitlines() == [line.replace("wrong", str(table), 1) for line in told[:-1]]


def test_dry_run_needs_no_station(tmp_path):
    """The times are those of Python's zones."""
    table = written(tmp_path / "table", "30 8 * * 1-5\twork --hard", "CRON_TZ=America/New_York", "0 0 13 * 5 thirteen")
    args = ["--connect", f"ipc://{tmp_path}/none", "cron", "--dry-run", str(table)]
    env = {"TZ": ":Europe/Berlin"}
    lines = zplan(*args, env=env).done().splitlines()
    assert (lines[0], lines[6]) == ("line 1: 30 8 * * 1-5  work --hard",
                                    "line 3: 0 0 13 * 5  thirteen  (America/New_York)")
    assert lines[12:] == ["2 lines, hours of Europe/Berlin; nothing was submitted"]
    own = written(tmp_path / "own", "CRON_TZ=America/New_York", "0 0 13 * 5 thirteen")
    assert zplan(*args[:-1], str(own), env=env).done().splitlines()[-1] == "1 line, hours of CRON_TZ; nothing was submitted"

    first, last = [json.loads(line) for line in zplan(*args, "--json", env=env).done().splitlines()]
    assert [f"  {time}" for time in first["next"] + last["next"]] == lines[1:6] + lines[7:12]
    for name, job, fits in (
            ("Europe/Berlin", first, lambda t: (t.hour, t.minute) == (8, 30) and t.weekday() < 5),
            # the day or the weekday, as crontab(5) says
            ("America/New_York", last, lambda t: (t.hour, t.minute) == (0, 0) and (t.day == 13 or t.weekday() == 4))):
        zone = ZoneInfo(name)
        assert job["timezone"] == name and len(job["next"]) == 5
        times = [datetime.fromisoformat(text) for text in job["next"]]
        assert all(t.utcoffset() == t.astimezone(zone).utcoffset() for t in times)
        day, wanted = times[0].astimezone(zone), []
        while len(wanted) < 5:
            wanted += [day] if fits(day) else []
            day += timedelta(days=1)    # of the clock on the wall
        assert times == wanted


def test_a_system_crontab(rig, tmp_path):
    table = written(tmp_path / "system", "PATH=/bin:/usr/bin", "17 * * * * root cd / && x",
                    "25 6 * * * ops y", "@daily\troot\tz")
    ended = cron(rig, table, "--system", "--dry-run")
    assert ended.code == DONE and "several users" in ended.err and ended.out.count("line ") == 3
    assert list(added(rig, table, "--system", "--user", "root")) == [2, 4]
    assert cron(rig, table, "--system", "--user", "nobody").done() == "0 plans added\n"
    assert "--user: goes with --system only" in cron(rig, table, "--user", "root").failed(USAGE)
    for name in ("/etc/crontab", "/etc/cron.d/x"):
        assert f"{name}: has a user behind the times: add --system" in cron(rig, name).failed(USAGE)


def test_options_hold_for_all_lines(rig, tmp_path):
    table = written(tmp_path / "options", "@daily x", "@hourly y")
    ids = added(rig, table, "--misfire", "latest", "--run-timeout", "5m", "--retry", "forever", "--target", "jobs")
    for ident in ids.values():
        plan = shown(rig, ident)
        assert (plan["station"], plan["misfire"], plan["timeout"]) == ("jobs", "latest", 300) and "retry" not in plan
    assert "--run-timeout: " in cron(rig, table, "--run-timeout", "x").failed(USAGE)
    assert "--timezone: " in cron(rig, table, "--timezone", "Mars/Base").failed(USAGE)


def test_files_that_are_none(rig, tmp_path):
    assert cron(rig, written(tmp_path / "empty", "# nothing")).done() == "0 plans added\n"
    (tmp_path / "large").write_bytes(b"#" * (1 << 20) + b"\n")
    assert "is larger than 1 MiB" in cron(rig, tmp_path / "large").failed(REFUSED)
    assert "Is a directory" in cron(rig, tmp_path).failed(REFUSED)
    table = written(tmp_path / "table", "@daily x")
    assert zplan("--connect", f"ipc://{tmp_path}/none", "--timeout", "100ms", "cron", str(table)).code == NO_ANSWER
