"""`zplan work --pull`: commands for the plans of a pull target, without a zstationd."""
import base64
import json
import os
import re
import select
import signal
import subprocess
from datetime import datetime, timezone

import pytest

from curvetest import CurveRig, Keys, certificate, write
from pulltest import STATION, at_once, team, with_pile, workers
from zplanprocs import DIES_WITH_PARENT, WAIT, alive, wait_until
from zplantest import ERROR, FT, ST, Rig
from clitest import REFUSED, USAGE, ZPLAN, zplan

NAME = "sh"


class Work:
    """A worker, whose command is a shell script; it may tell lines through a fifo, $FIFO."""

    count = 0

    def __init__(self, rig, script, *options, target=STATION, env=None):
        Work.count += 1
        self.fifo = rig.path(f"fifo{Work.count}")
        os.mkfifo(self.fifo)
        self.told = os.fdopen(os.open(self.fifo, os.O_RDWR), "rb", buffering=0)
        self.said = b""
        command = ["--", "/bin/sh", "-c", script] if script else []
        named = [] if "--name" in options else ["--name", NAME]
        self.process = subprocess.Popen(
            [*DIES_WITH_PARENT, ZPLAN, "--connect", rig.ipc("q"), "work", *(["--pull", target] if target else []), *named, *options,
             *command],
            stderr=subprocess.PIPE, env={**os.environ, "FIFO": self.fifo, **(env or {})})

    def line(self):
        """The next line that a command has told."""
        said = b""
        while not said.endswith(b"\n"):
            assert select.select([self.told], [], [], WAIT)[0], said
            said += self.told.read(1)
        return said.decode().strip()

    def log(self, text):
        """Read what the worker says until it has said this, and to the end of that line."""
        fd = self.process.stderr.fileno()
        while not re.search(re.escape(text) + ".*\n", self.said.decode(errors="replace")):
            assert select.select([fd], [], [], WAIT)[0], self.said
            block = os.read(fd, 65536)
            assert block, f"it ended: {self.said}"
            self.said += block
        return self

    def ended(self):
        """Its exit status; the rest of what it says is in `said`."""
        code = self.process.wait(WAIT)
        self.said += self.process.stderr.read()
        return code

    def end(self):
        self.process.terminate()
        return self.ended()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.ended()
        self.told.close()
        self.process.stderr.close()
        assert b"AddressSanitizer" not in self.said and b"runtime error" not in self.said, self.said


@pytest.fixture(scope="module")
def shared_rig(make_shared):
    return with_pile(make_shared)


@pytest.fixture
def works():
    made = []

    def start(rig, *args, serves=True, **options):
        made.append(Work(rig, *args, **options))
        return made[-1].log("serves") if serves else made[-1]
    yield start
    for one in made:
        one.close()


def add(rig, *frames, plan=None, target=STATION, command=b"do"):
    plan = {"retry": {"strategy": "none"}, **(plan or at_once())}
    reply = rig.client.submit(plan, station=target, head=[(FT.COMMAND, command), *frames])
    assert reply.code == ST.PLAN, reply
    return reply.get(FT.GLOBAL_ID).decode()


def runs(rig, ident):
    return rig.client.done("history", ident).json["runs"]


def outcome(rig, ident, count=1):
    """The last of so many outcomes."""
    def there():
        found = runs(rig, ident)
        return found if len(found) == count else None
    return wait_until(there, f"{count} outcomes of {ident}")[-1]


# -- a job


def test_a_command_gets_the_job_and_its_output_is_the_result(shared_rig, works):
    rig, title = shared_rig, b"output"
    results = rig.subscribe(title)
    one = works(rig, 'echo "$ZPLAN_PLAN_ID $ZPLAN_EXEC_ID $ZPLAN_PLAN_TIME $ZPLAN_COMMAND $ZPLAN_TITLE" >$FIFO;'
                     'printf "got %s %s" "$(cat)" "$(cat <&$ZPLAN_CONTEXT_FD)"')
    ident = add(rig, (FT.ARG, b"42"), (FT.CONTEXT, b"deep"), command=b"count",
                plan=at_once(description=title.decode()))
    news = results.recv()
    assert (news.code, news.every(FT.CONTENT)[-1], news.get(FT.RESPONSER)) == (ST.OK, b"got 42 deep", NAME.encode())
    plan, exec_id, time, command, said = one.line().split()
    (run,) = runs(rig, ident)
    assert (plan, command, said) == (ident, "count", title.decode())
    assert run["worker"] == NAME and int(exec_id, 16) == run["exec_id"] and int(time) == run["nominal"]
    one.log(f"plan {ident} command 'count': exit 0 after ")
    assert one.end() == 0


def test_a_command_that_fails_is_a_failed_run(shared_rig, works):
    works(shared_rig, 'echo first >&2; echo "no disk" >&2; exit 3')
    run = outcome(shared_rig, add(shared_rig))
    assert (run["status"], run["reason"]) == (ST.FAILED, f"{NAME}: exit 3: no disk")


@pytest.mark.parametrize("script, options, said", [
    ('echo first >&2; echo "no disk" >&2; exit 3', [], r"exit 3 after {took}: no disk"),
    ('echo "all went well" >&2', [], r"exit 0 after {took}: all went well"),
    ("true", [], r"exit 0 after {took}"),
    ('printf "a\\033[31mred\\377" >&2; kill -9 $$', [], r"killed by signal 9 after {took}: a\?\[31mred\?"),
    ("echo waits >&2; sleep 1000", ["--run-timeout", "1"],
     r"killed by signal 15 after [1-9]\d*\.\d{{3}} s: cancelled: timeout after 1 s: waits"),
    (None, ["--shell"], r"not started: this worker runs nothing but scripts of plans of the command sh"),
])
def test_a_run_that_ended_is_logged(shared_rig, works, script, options, said):
    rig = shared_rig
    one = works(rig, script, *options)
    began = datetime.now(timezone.utc).replace(microsecond=0)
    ident = add(rig, command=b"a\nb")
    one.log(f"plan {ident} ")
    (line,) = [line for line in one.said.decode().splitlines() if ident in line]
    found = re.fullmatch(r"zplan work: (\S+Z) plan " + ident + r" command 'a\\x0ab': "
                         + said.format(took=r"\d+\.\d{3} s"), line)
    assert found, line
    assert began <= datetime.fromisoformat(found[1].replace("Z", "+00:00")) <= datetime.now(timezone.utc)
    assert one.end() == 0


def test_json_logs_no_runs(shared_rig, works):
    rig = shared_rig
    one = works(rig, "echo why >&2; exit 3", "--json", "--once", serves=False)
    ident = add(rig)
    assert outcome(rig, ident)["reason"] == f"{NAME}: exit 3: why"
    assert one.ended() == REFUSED and one.said == b""


@pytest.mark.parametrize("script, kind", [
    ("head -c 300000 /dev/zero | tr '\\0' a", str), ("head -c 100000 /dev/urandom", dict),
    ("head -c 70000 /dev/zero | tr '\\0' '\\1'", str)])
def test_larger_output_is_cut_and_the_answer_says_so(shared_rig, works, script, kind):
    rig, title = shared_rig, b"larger"
    results = rig.subscribe(title)
    one = works(rig, script)
    ident = add(rig, plan=at_once(description=title.decode()))
    content = results.recv().every(FT.CONTENT)[-1]
    try:
        value = content.decode()
    except UnicodeDecodeError:
        value = {"b64": base64.b64encode(content).decode()}
    assert isinstance(value, kind)
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    assert 60000 < size <= 65536
    assert f"output cut at {len(content)} bytes" in outcome(rig, ident)["reason"]
    one.log("output cut at ")


def test_several_jobs_at_once(shared_rig, works):
    one = works(shared_rig, "echo $$ >$FIFO; while [ ! -e $GATE ]; do sleep 0.05; done", "--jobs", "3",
                env={"GATE": shared_rig.path("gate")})
    idents = [add(shared_rig) for _ in range(4)]
    assert len({one.line() for _ in range(3)}) == 3
    running = [ident for ident in idents if team(shared_rig, ident)["state"] == "running"]
    assert len(running) == 3
    open(shared_rig.path("gate"), "w").close()
    for ident in idents:
        assert outcome(shared_rig, ident)["status"] == ST.OK
    os.unlink(shared_rig.path("gate"))


def test_progress(shared_rig, works):
    one = works(shared_rig, 'echo "40 copying" >&$ZPLAN_PROGRESS_FD; echo up >$FIFO; sleep 60')
    ident = add(shared_rig)
    assert one.line() == "up"
    wait_until(lambda: team(shared_rig, ident)["workers"][0].get("progress") == "40 % copying", "the progress")
    shared_rig.client.done("cancel", ident)


# -- the end of a job


FAMILY = "sh -c 'echo $$ >$FIFO; while :; do sleep 0.1; done' & echo $$ >$FIFO; wait"


def test_cancel_ends_the_process_group(shared_rig, works):
    one = works(shared_rig, FAMILY)
    ident = add(shared_rig)
    pids = [int(one.line()), int(one.line())]
    shared_rig.client.done("cancel", ident, "by ann")
    wait_until(lambda: not any(map(alive, pids)), "the group has ended")
    one.log("cancelled")
    ident = add(shared_rig)     # and it does the next
    one.line()
    shared_rig.client.done("cancel", ident)


def test_run_timeout(shared_rig, works):
    one = works(shared_rig, FAMILY, "--run-timeout", "1", "--grace", "0")
    ident = add(shared_rig)
    pids = [int(one.line()), int(one.line())]
    run = outcome(shared_rig, ident)
    assert run["status"] == ST.FAILED and "timeout after 1 s" in run["reason"]
    assert not any(map(alive, pids))


def test_once(shared_rig, works):
    good = works(shared_rig, "true", "--once")
    first = add(shared_rig)
    assert good.ended() == 0 and outcome(shared_rig, first)["status"] == ST.OK
    bad = works(shared_rig, "false", "--once")
    second = add(shared_rig)
    assert bad.ended() == 1 and outcome(shared_rig, second)["status"] == ST.FAILED


# -- the end of a worker


def test_a_graceful_end_lets_jobs_end_and_takes_no_more(shared_rig, works):
    gate = shared_rig.path("slow")
    one = works(shared_rig, "echo up >$FIFO; while [ ! -e $GATE ]; do sleep 0.05; done", "--jobs", "2",
                env={"GATE": gate})
    ident = add(shared_rig)
    assert one.line() == "up"
    one.process.terminate()
    one.log("no more jobs")
    left = add(shared_rig)
    open(gate, "w").close()
    assert one.ended() == 0 and outcome(shared_rig, ident)["status"] == ST.OK
    os.unlink(gate)
    assert team(shared_rig, left)["workers"] == []      # nobody has it
    works(shared_rig, "true")
    assert outcome(shared_rig, left)["status"] == ST.OK


def test_an_idle_worker_ends_at_once_and_leaves_no_take_behind(shared_rig, works):
    """A plan that comes a moment later is not given to it."""
    one = works(shared_rig, "true")
    one.process.terminate()
    assert one.process.wait(4) == 0     # less than its take would have waited
    ident = add(shared_rig)
    works(shared_rig, "true", "--name", "next")
    assert outcome(shared_rig, ident)["worker"] == "next"


def test_grace_is_over(shared_rig, works):
    one = works(shared_rig, FAMILY, "--grace", "0")
    ident = add(shared_rig)
    pids = [int(one.line()), int(one.line())]
    assert one.end() == 0
    assert not any(map(alive, pids))
    run = outcome(shared_rig, ident)
    assert run["status"] == ST.FAILED and "worker is stopped" in run["reason"]


def test_an_idle_worker_that_is_killed_loses_nothing(shared_rig, works):
    """Its take waits at the station, but what it would be given goes to another at once."""
    one = works(shared_rig, "true")
    one.process.kill()
    one.process.wait()
    ident = add(shared_rig)
    works(shared_rig, "true", "--name", "next")
    assert outcome(shared_rig, ident)["worker"] == "next"


def test_kill_9_of_the_worker_gives_its_job_to_another(shared_rig, works):
    one = works(shared_rig, "echo up >$FIFO; sleep 60")
    ident = add(shared_rig, plan=at_once(**workers(ping_interval=1, worker_timeout=2)))
    assert one.line() == "up"
    one.process.kill()
    works(shared_rig, "true", "--name", "other")
    assert outcome(shared_rig, ident)["worker"] == "other"


# -- the station


def test_a_station_that_restarts_is_survived(make_rig, works):
    """Commands go on, their answers wait for it, and nothing is done twice."""
    rig = with_pile(make_rig)
    one = works(rig, "echo up >$FIFO; while [ ! -e $GATE ]; do sleep 0.05; done; echo end >$FIFO", "--jobs", "2",
                env={"GATE": rig.path("gate")})
    idents = [add(rig), add(rig)]
    assert [one.line(), one.line()] == ["up", "up"]
    rig.station.kill()
    open(rig.path("gate"), "w").close()
    assert [one.line(), one.line()] == ["end", "end"]
    rig.station.start()
    for ident in idents:
        run = outcome(rig, ident)
        assert (run["status"], run["worker"]) == (ST.OK, NAME)
    ident = add(rig)        # and it goes on
    assert outcome(rig, ident)["status"] == ST.OK
    assert [one.line(), one.line()] == ["up", "end"]
    assert one.end() == 0 and one.said.count(b": exit 0 after ") == 3


def test_a_worker_waits_for_its_station(make_rig, works):
    rig = with_pile(make_rig, start=False)
    one = works(rig, "true", serves=False).log("no answer from ")
    rig.start()
    one.log("serves pile")
    assert outcome(rig, add(rig))["status"] == ST.OK


def test_an_idle_worker_ends_at_once_while_the_station_is_away(make_rig, works):
    rig = with_pile(make_rig, start=False)
    one = works(rig, "true", serves=False).log("no answer from ")
    one.process.terminate()
    assert one.process.wait(4) == 0


def test_a_target_that_is_not_known_is_named(shared_rig, works):
    works(shared_rig, "true", target="nix", serves=False).log("rejects: ").log("nix")


def test_curve(make_rig, works):
    rig = make_rig("--station", f"{STATION}=pull", kind=CurveRig, start=False)
    keys = rig.allow("worker", "result")
    rig.start()
    write(rig.path("w.key_secret"), certificate(keys, "w", secret=True))
    options = ["--key", rig.path("w.key_secret"), "--server-key", rig.server.public]
    one = works(rig, "true", *options)
    ident = add(rig)
    assert outcome(rig, ident)["status"] == ST.OK
    assert one.end() == 0
    stranger = Keys()
    write(rig.path("s.key_secret"), certificate(stranger, "s", secret=True))
    works(rig, "true", "--key", rig.path("s.key_secret"), "--server-key", rig.server.public,
          serves=False).log("is the key in the station's allow-list").close()


# -- scripts


def test_shell_runs_what_the_plan_brings(shared_rig, works):
    rig = shared_rig
    one = works(rig, None, "--shell")
    good = add(rig, (FT.ARG, b"echo $(cat) $ZPLAN_PLAN_ID | tr a-z A-Z"), (FT.ARG, b"input"), command=b"sh")
    bad = add(rig, (FT.ARG, b"exit 7"), command=b"sh")
    none = add(rig, command=b"sh")
    nul = add(rig, (FT.ARG, b"a\0b"), command=b"sh")
    other = add(rig, (FT.ARG, b"true"), command=b"do")
    assert outcome(rig, good)["status"] == ST.OK
    assert "exit 7" in outcome(rig, bad)["reason"]
    assert "wants a script" in outcome(rig, none)["reason"]
    assert "NUL byte" in outcome(rig, nul)["reason"]
    assert "nothing but scripts" in outcome(rig, other)["reason"]
    assert one.end() == 0


def test_shell_beside_a_command(shared_rig, works):
    works(shared_rig, "exit 9", "--shell")
    assert outcome(shared_rig, add(shared_rig, (FT.ARG, b"true"), command=b"sh"))["status"] == ST.OK
    assert "exit 9" in outcome(shared_rig, add(shared_rig, (FT.ARG, b"true")))["reason"]


def test_without_shell_no_script_is_run(shared_rig, works):
    works(shared_rig, "exit 9")
    assert "exit 9" in outcome(shared_rig, add(shared_rig, (FT.ARG, b"true"), command=b"sh"))["reason"]


# -- the target that is meant


class Alone(Rig):
    """A station without a target of its own."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        at = self.station.args.index("--station")
        del self.station.args[at:at + 4]

    def zplan(self, *args):
        return zplan("--connect", self.ipc("q"), *args)

    def targets(self):
        return {one["name"]: (one["type"], one["origin"]) for one in self.client.done("station", "list").json["stations"]}


def test_a_station_alone_has_jobs(make_rig, works):
    rig = make_rig(kind=Alone)
    assert rig.targets() == {"jobs": ("pull", "added")}
    with open(rig.station.log) as log:
        assert "event=target.default station=jobs" in log.read()
    one = works(rig, "printf done", target=None, serves=False).log("serves jobs of ")
    ident = rig.zplan("add", "--command", "do", "--now").done().split()[1]
    assert outcome(rig, ident)["worker"] == NAME
    assert one.end() == 0


def test_jobs_stays_when_another_is_named(make_rig):
    """A plan for it is not lost, whatever is named later: by `target add`, or by the settings."""
    rig = make_rig(kind=Alone)
    ident = rig.zplan("add", "--command", "do", "--at", "2100-01-01").done().split()[1]
    rig.zplan("target", "add", "mail=pull").done()
    rig.station.stop()
    rig.station.args += ["--station", "night=pull"]
    rig.station.start()
    assert rig.targets() == {name: ("pull", origin) for name, origin in
                             [("jobs", "added"), ("mail", "added"), ("night", "settings")]}
    assert json.loads(rig.zplan("show", ident, "--json").done())["target"] == "jobs"
    rig.zplan("target", "remove", "jobs").done()      # who does not want it says so
    rig.restart()
    assert set(rig.targets()) == {"mail", "night"}


def test_with_several_targets_one_must_be_named(make_rig, tmp_path):
    rig = make_rig("--station", "mail=pull", "--station", "jobs=pull", kind=Alone)
    assert "--target: which target? known: jobs, mail" in ordered(rig.zplan("add", "--command", "do").failed(USAGE))
    assert "--pull: which pull target? known: jobs, mail" in ordered(rig.zplan("work", "--", "true").failed(USAGE))
    plans = tmp_path / "plans"
    plans.write_text('{"command": "do"}\n{"command": "do", "target": "mail"}\n')
    ended = rig.zplan("add", "--from", str(plans))
    assert (ended.code, ended.out) == (REFUSED, "1 plan added, 1 refused\n")
    assert "target: which target? known: " in ended.err


def ordered(text):
    """With the names of the targets, which have no order, in one."""
    head, known, names = text.partition("known: ")
    names, _, rest = names.partition("\n")
    return head + known + ", ".join(sorted(names.split(", "))) + "\n" + rest


def test_only_a_pull_target_is_served(make_rig):
    rig = make_rig("--station", "mail=api@tcp://127.0.0.1:1", kind=Alone)
    assert "--pull: no pull target is known: zplan target add jobs=pull" in \
        rig.zplan("work", "--", "true").failed(USAGE)


def test_from_uses_the_only_target(make_rig, tmp_path):
    rig = make_rig(kind=Alone)
    plans = tmp_path / "plans"
    plans.write_text('{"command": "do", "at": "2100-01-01", "id": "1f"}\n{"command": "do", "at": "2100-01-01"}\n')
    assert rig.zplan("add", "--from", str(plans)).done() == "2 plans added\n"
    assert json.loads(rig.zplan("show", "1f", "--json").done())["target"] == "jobs"


def test_a_key_that_may_not_list_the_targets_names_one(make_rig):
    rig = make_rig("--station", f"{STATION}=pull", kind=CurveRig, start=False)
    keys = rig.allow("feeder", "submit")
    rig.start()
    write(rig.path("f.key_secret"), certificate(keys, "f", secret=True))
    add = ["--connect", rig.ipc("q"), "--key", rig.path("f.key_secret"), "--server-key", rig.server.public,
           "add", "--command", "do"]
    assert zplan(*add, "--target", STATION).done().startswith("plan ")
    ended = zplan(*add)
    assert "--target: must be given: this key may not list the targets" in ended.failed(USAGE)


@pytest.mark.parametrize("args, told", [
    ([], "want a command to run"), (["--pull", "jobs"], "want a command to run"),
    (["--pull", "jobs", "--station", "tcp://127.0.0.1:1", "--", "true"], "want one or the other"),
    (["--pull", "a b", "--", "true"], "zplan work: --pull: want 1..64 of A-Z a-z 0-9 _ . -, got 'a b'\n"),
    (["--pull", "a", "--name", "a b", "--", "true"], "zplan work: --name: want 1..64 of A-Z a-z 0-9 _ . -, got 'a b'\n"),
    (["--station", "127.0.0.1:7931", "--", "true"], "zplan work: --station: want tcp://HOST:PORT or ipc://PATH"),
    (["--station", "tcp://127.0.0.1:1", "--commands", ",", "--", "true"], "zplan work: --commands: want NAME,NAME\n"),
    (["--pull", "jobs", "--once", "--jobs", "2", "--", "true"], "do not go together")])
def test_usage(args, told):
    assert told in zplan("work", *args).failed(USAGE)


def test_one_worker_alone_tries_again_what_it_failed(make_rig, works):
    """As a newcomer has it: the default tries are of use with one worker."""
    rig = with_pile(make_rig)
    one = works(rig, "exit 7")
    ident = add(rig, plan=at_once(retry={"strategy": "fixed", "interval": 1, "max": 1}))
    assert outcome(rig, ident, 2)["status"] == ST.FAILED
    assert one.end() == 0
    assert rig.message(ident, STATION)["plan_state"] == ERROR


# -- JSON


@pytest.mark.parametrize("script, status, reason", [
    ('echo "[1, null]"', ST.OK, ""), ("true", ST.OK, ""), ("echo '\"text\"'", ST.OK, ""),
    ("echo text", ST.FAILED, "the output is not JSON: "), ("echo '{}' '{}'", ST.FAILED, "the output is not JSON: "),
    ("echo '{}'; exit 2", ST.FAILED, "exit 2"),
    ("echo '\"'$(head -c 65540 /dev/zero | tr '\\0' x)'\"'", ST.FAILED, "the output is larger than 65536 bytes of JSON"),
    ("echo '[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]'", ST.FAILED, "the output is nested deeper than 15 levels")])
def test_json_as_the_result(shared_rig, works, script, status, reason):
    """With --output json: a value, or the run has failed."""
    one = works(shared_rig, script, "--output", "json")
    run = outcome(shared_rig, add(shared_rig))
    assert run["status"] == status and run["reason"].removeprefix(f"{NAME}: ").startswith(reason), run
    one.end()


def test_the_json_frame_is_the_input_where_there_is_no_other(shared_rig, works):
    results = shared_rig.subscribe(b"json in")
    works(shared_rig, "cat", "--output", "json")
    for frames, text in (([(FT.JSON, b'{"n": 1}')], b'{"n":1}'), ([(FT.JSON, b"[2]"), (FT.ARG, b"3")], b"3"),
                         ([(FT.JSON, b"[2]"), (FT.CONTENT, b"4")], b"4")):
        add(shared_rig, *frames, plan=at_once(description="json in"))
        news = results.recv()
        assert (news.code, news.every(FT.JSON)[-1]) == (ST.OK, text)
