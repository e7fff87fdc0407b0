"""Rows 45, 54 to 57 and 60 of the failure table: the process, its signals, its log, its settings.

What stands elsewhere already, and is looked at here from another side:
  54  test_process (SIGTERM under load), test_targets (a stop while Redis is away)
  60  test_process (bad settings, one line each)
"""
import json
import os
import pwd
import resource
import shutil
import signal
import socket
import stat
import tempfile
import threading
import time

import pytest

from redissteps import embed_redis
from zplanprocs import children, free_port, kill_redis, run_once
from zplantest import CMD, FT, ST, FakeTarget, at_once, later, plan_frames, wait_until


def health(rig):
    return rig.client.done("health").json


def goes_on(rig):
    rig.client.ping()
    ident = rig.client.added(at_once())
    while (run := rig.jobs.recv()).mailbox != b"*" + ident.encode():
        rig.jobs.finish(run)
    rig.jobs.finish(run)
    rig.gone(ident)


# Row 45.

@pytest.fixture
def full_pipe():
    """A pipe that nobody reads, full."""
    folder = tempfile.mkdtemp(prefix="zp", dir="/tmp")
    path = os.path.join(folder, "pipe")
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    for piece in (b"x" * 4096, b"x"):
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writer, piece)
    yield path
    os.close(writer)
    os.close(reader)
    shutil.rmtree(folder)


@pytest.mark.parametrize("where", ["pipe", "/dev/full"])
def test_row_45_nobody_takes_the_log(make_rig, full_pipe, where):
    """It serves at full speed, a line for every request and none written; `health` says so."""
    rig = make_rig("--log-level", "debug", start=False)
    rig.redis.start()
    log = rig.station.log
    rig.station.log = full_pipe if where == "pipe" else where
    rig.station.start(wait_ready=False)
    rig.station.log = log
    open(log, "ab").close()
    rig.station.wait_ready()
    for _ in range(500):
        rig.client.send(0x7e)               # refused, with a line
    for _ in range(500):
        assert rig.client.recv().code == ST.NOT_SUPPORT
    goes_on(rig)
    told = health(rig)
    assert told["healthy"] and any("log" in line for line in told["warnings"]), told
    rig.station.stop()


# Row 54.

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_row_54_stopped_under_load(make_rig, number):
    """Ends with 0 in time. What was acknowledged is there, what had its result is not run again."""
    rig = make_rig("--exec-timeout", "15", "--send-timeout", "1000",    # longer than all until the signal takes
                   redis_args=("--appendfsync", "always"))
    done = set()
    held = []
    for _ in range(60):
        rig.client.added(at_once())
        held.append(rig.jobs.recv())
        rig.jobs.answer(held[-1], ST.RUNING)
    for run in held:
        rig.state(run.mailbox[1:].decode(), ST.RUNING)
    for n in range(1, 401):
        rig.client.send(CMD.PLAN, plan_frames(later(), gid=f"{n:x}"))
    for run in held[:30]:
        rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    for run in held[:30]:
        done.add(run.mailbox)
        rig.gone(run.mailbox[1:].decode())
    start = time.monotonic()
    rig.station.process.send_signal(number)
    assert rig.station.process.wait(20) == 0
    assert time.monotonic() - start < 20
    rig.station.end()
    acked = set()
    while rig.client.socket.poll(300):
        reply = rig.client.recv()
        assert reply.code in (ST.PLAN, ST.NET_ERROR), reply
        if reply.code == ST.PLAN:
            acked.add(reply.get(FT.GLOBAL_ID).decode())
    rig.station.start()
    client = rig.dealer()
    for ident in acked:
        assert client.manage("message", ident).code == ST.OK
    again, end = {}, time.monotonic() + 60
    while any(rig.left(run.mailbox[1:].decode()) for run in held):
        assert time.monotonic() < end, "acknowledged, never run"
        while rig.jobs.socket.poll(100):
            run = rig.jobs.recv()
            assert run.mailbox not in done, "it had its result"
            again[run.mailbox] = run
            rig.jobs.finish(run)
    assert set(again) == {run.mailbox for run in held[30:]}


def test_row_54_who_asks_meanwhile_is_refused_and_a_second_signal_ends_it_at_once(make_rig):
    """While Redis hangs it waits for that: NET_ERROR until then; asked twice, no more."""
    rig = make_rig()
    rig.client.ping()
    os.kill(rig.redis.process.pid, signal.SIGSTOP)
    try:
        waiting = rig.dealer()
        waiting.send(CMD.PLAN, plan_frames(later()))
        rig.client.ping()
        rig.station.process.send_signal(signal.SIGTERM)

        def refused():
            reply = rig.client.ask(0x7e)        # needs no Redis, so both answers come at once
            return reply.code == ST.NET_ERROR and "stopping" in reply.text
        wait_until(refused, "requests are refused")
        assert rig.client.submit(later()).code == ST.NET_ERROR
        start = time.monotonic()
        rig.station.process.send_signal(signal.SIGINT)
        assert rig.station.process.wait(20) == 0
        assert time.monotonic() - start < 4
    finally:
        os.kill(rig.redis.process.pid, signal.SIGCONT)
    rig.station.end()


def test_row_54_stopped_while_it_starts(make_rig):
    """Redis is not there yet: a stop ends it with 0 all the same."""
    rig = make_rig(start=False)
    rig.station.start(wait_ready=False)
    wait_until(lambda: "redis.given" in rig.station.log_tail(), "it has begun")
    rig.station.process.send_signal(signal.SIGTERM)
    assert rig.station.process.wait(20) in (0, -signal.SIGTERM)     # before it handles signals
    rig.station.end()


# Row 55.

ZPL = """request = "{request}"
publish = "{publish}"
events = "{events}"
redis_addr = "unix:{redis}"
{more}
stations
    jobs = "api@{jobs}"
{stations}
"""


def write_settings(rig, more="", stations=""):
    text = ZPL.format(request=rig.ipc("q"), publish=rig.ipc("p"), events=rig.ipc("e"),
                      redis=rig.redis.socket, jobs=rig.jobs.endpoint, more=more, stations=stations)
    with open(rig.path("zpl.new"), "w") as file:
        file.write(text)
    os.replace(rig.path("zpl.new"), rig.path("zpl"))


@pytest.fixture
def filed(make_rig):
    """A rig whose station has its settings from a file only."""
    rig = make_rig(start=False)
    write_settings(rig)
    rig.station.args = ["-c", rig.path("zpl")]
    return rig.start()


def hup(rig, event):
    """SIGHUP, and wait for its line; the lines since."""
    before = os.path.getsize(rig.station.log)
    rig.station.process.send_signal(signal.SIGHUP)

    def lines():
        with open(rig.station.log) as log:
            log.seek(before)
            return log.read()
    wait_until(lambda: f"event={event} " in lines(), event)
    return lines()


def names(rig):
    return {one["name"] for one in rig.client.done("station", "list").json["stations"]}


def test_row_55_stations_come_move_and_go(filed):
    rig = filed
    moved, new = (rig.keep(FakeTarget(rig.ipc(name))) for name in ("moved", "new"))
    write_settings(rig, stations=f'    fresh = "api@{new.endpoint}"')
    hup(rig, "reload.done")
    assert names(rig) == {"jobs", "fresh"}
    ident = rig.client.added(at_once(), station="fresh")
    new.finish(new.recv())
    rig.gone(ident, "fresh")
    write_settings(rig, stations=f'    fresh = "api@{moved.endpoint}"')
    hup(rig, "reload.done")
    ident = rig.client.added(at_once(), station="fresh")
    moved.finish(moved.recv())
    rig.gone(ident, "fresh")
    new.nothing(0)
    waiting = rig.client.added(later(), station="fresh")
    write_settings(rig)
    hup(rig, "reload.done")
    assert names(rig) == {"jobs"}
    assert rig.client.submit(later(), station="fresh").code == ST.NOT_FIND
    assert rig.client.manage("message", waiting).code == ST.OK
    goes_on(rig)


def test_row_55_while_it_starts(make_rig):
    """As soon as it serves."""
    rig = make_rig(start=False)
    write_settings(rig)
    rig.station.args = ["-c", rig.path("zpl")]
    rig.station.start(wait_ready=False)
    wait_until(lambda: "redis.given" in rig.station.log_tail(), "it starts")
    write_settings(rig, "log_level = debug")
    rig.station.process.send_signal(signal.SIGHUP)
    rig.redis.start()
    assert rig.station.next_word() == "ready"
    wait_until(lambda: "reload.done" in rig.station.log_tail(), "the settings are read")
    assert rig.client.ask(0x7e).code == ST.NOT_SUPPORT
    wait_until(lambda: "request.refused" in rig.station.log_tail(), "a line of level debug")


def test_row_55_the_log_level(filed):
    rig = filed
    write_settings(rig, "log_level = debug")
    hup(rig, "reload.done")
    assert rig.client.ask(0x7e).code == ST.NOT_SUPPORT
    wait_until(lambda: "request.refused" in rig.station.log_tail(), "a line of level debug")
    write_settings(rig)
    hup(rig, "reload.done")
    before = rig.station.log_tail().count("request.refused")
    assert rig.client.ask(0x7e).code == ST.NOT_SUPPORT
    rig.client.ping()
    assert rig.station.log_tail().count("request.refused") == before


def test_row_55_the_log_format(filed):
    """The same fields, each line a JSON object of strings; and back to logfmt."""
    rig = filed
    write_settings(rig, "log_format = json\nlog_level = debug")
    rig.station.process.send_signal(signal.SIGHUP)
    wait_until(lambda: '"event":"reload.done"' in rig.station.log_tail(), "the settings are read")
    assert rig.client.ask(0x7e).code == ST.NOT_SUPPORT
    wait_until(lambda: "request.refused" in rig.station.log_tail(), "a line of level debug")
    lines = rig.station.log_tail().splitlines()
    lines = [json.loads(line) for line in lines if line.startswith("{")]
    refused = next(line for line in lines if line["event"] == "request.refused")
    assert list(refused)[:4] == ["ts", "level", "program", "event"]
    assert refused["level"] == "debug" and refused["program"] == "zpland" and "'" not in refused["reason"][:1]
    assert all(isinstance(value, str) for line in lines for value in line.values())
    write_settings(rig)
    hup(rig, "reload.done")


def test_row_55_limits(filed):
    """Those that a running station can change; the plans that are there already stay."""
    rig = filed
    idents = [rig.client.added(later()) for _ in range(5)]
    write_settings(rig, "max_plans = 5\nmax_plan_bytes = 100\nmax_description_bytes = 3")
    hup(rig, "reload.done")
    assert "max_plans" in rig.client.submit(later(description="abc")).text
    reply = rig.client.submit(later(description="abc") | {"x" * 100: 1})
    assert reply.code == ST.PLANERROR and "at most 100 bytes" in reply.text
    assert rig.client.submit(later(description="abcd")).code == ST.PLANERROR
    assert all(rig.client.manage("message", ident).code == ST.OK for ident in idents)
    write_settings(rig)
    hup(rig, "reload.done")
    rig.client.added(later(description="abcd"))


@pytest.mark.parametrize("bad", ["nonsense = 1", "log_level = loud", "log_format = xml", "max_plans = many",
                                 "max_plans = -1", None, "dir", b"\0\1\2 no settings \xff"])
def test_row_55_a_bad_file_keeps_the_old_settings(filed, bad):
    """Also all of those that stand before the fault in it."""
    rig = filed
    if bad is None:
        os.unlink(rig.path("zpl"))
    elif bad == "dir":
        os.unlink(rig.path("zpl"))
        os.mkdir(rig.path("zpl"))
    elif isinstance(bad, bytes):
        with open(rig.path("zpl"), "wb") as file:
            file.write(bad)
    else:
        write_settings(rig, "max_plan_bytes = 64\n" + bad, '    more = "api@ipc:///tmp/x"')
    lines = hup(rig, "reload.kept_old")
    assert "reason=" in lines and "event=reload.done" not in lines
    told = [one for one in health(rig)["findings"] if "could not be applied at the last SIGHUP" in one["text"]]
    assert len(told) == 1 and told[0]["level"] == "warning" and "SIGHUP" in told[0]["do"]
    whole = told[0]["text"].partition("the old ones stay: ")[2]
    assert whole and f'reason="{whole}"' in lines      # not cut
    assert names(rig) == {"jobs"}
    goes_on(rig)
    if bad == "dir":
        os.rmdir(rig.path("zpl"))
    write_settings(rig)
    hup(rig, "reload.done")
    assert not [text for text in health(rig)["warnings"] if "SIGHUP" in text]


def test_row_55_a_target_has_no_name_of_a_flow(filed):
    """It would get the plans of the flow."""
    rig = filed
    rig.client.done("flow", "put", {"flow": "nightly", "steps": {"s": {"target": "jobs", "command": "do"}}})
    write_settings(rig, "max_plans = 5", '    nightly = "api@ipc:///tmp/x"')
    assert "stations: nightly is the name of a flow" in hup(rig, "reload.kept_old")
    assert names(rig) == {"jobs", "nightly"}
    rig.client.done("flow", "remove", "nightly")
    hup(rig, "reload.done")
    assert names(rig) == {"jobs", "nightly"}


def test_row_55_a_fixed_setting_is_told_and_the_rest_is_taken(filed):
    rig = filed
    write_settings(rig, "plan_exec_timeout = 33\ntimezone = Asia/Tokyo\nmax_frame_bytes = 5000\n"
                        "redis_defdb = 7")
    lines = hup(rig, "reload.done")
    for name in ("timezone", "max_frame_bytes", "redis_defdb"):
        assert f"event=reload.needs_restart setting={name}" in lines
    assert "setting=plan_exec_timeout" not in lines
    ident = rig.client.added(at_once(), more=[(FT.ARG, b"x" * 6000)])
    run = rig.jobs.recv()
    assert abs(run.plan["deadline"] - run.claimed - 33) < 2
    rig.jobs.finish(run)
    rig.gone(ident)


def test_row_55_reloaded_under_load(filed):
    """100 times, stations coming and going: nothing that was acknowledged is lost or run twice."""
    rig = filed
    idents, runs = set(), []

    def answer(timeout):
        while rig.jobs.socket.poll(timeout):
            run = rig.jobs.recv()
            runs.append((run.mailbox[1:].decode(), run.exec_id))
            rig.jobs.finish(run)
    for turn in range(100):
        more = f'    x{turn} = "api@{rig.ipc("x")}"' if turn % 2 else ""
        write_settings(rig, f"log_level = {['info', 'warn'][turn % 3 == 0]}", more)
        rig.station.process.send_signal(signal.SIGHUP)
        for _ in range(5):
            rig.client.send(CMD.PLAN, plan_frames(at_once()))
        for _ in range(5):
            reply = rig.client.recv()
            assert reply.code == ST.PLAN
            idents.add(reply.get(FT.GLOBAL_ID).decode())
        answer(0)
    end = time.monotonic() + 60
    while any(rig.left(ident) for ident in idents):
        assert time.monotonic() < end
        answer(100)
    assert sorted(ident for ident, _ in runs) == sorted(idents), "lost, or run twice"


# Row 56.

def test_row_56_a_storm_of_signals(make_rig):
    """A signal each millisecond, of those that mean nothing or reload: plans run as ever."""
    rig = make_rig()
    stop = threading.Event()
    pid = rig.station.pid

    def storm():
        for n in range(1 << 30):
            if stop.is_set():
                return
            os.kill(pid, (signal.SIGCONT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD,
                          signal.SIGURG, signal.SIGWINCH)[n % 6])
            time.sleep(0.001)
    thread = threading.Thread(target=storm)
    thread.start()
    try:
        for _ in range(100):
            goes_on(rig)
    finally:
        stop.set()
        thread.join()
    goes_on(rig)
    rig.station.stop()


def test_row_56_stopped_and_continued(make_rig):
    """SIGSTOP and SIGCONT again and again, shorter than a lease."""
    rig = make_rig()
    for _ in range(20):
        rig.client.send(CMD.PLAN, plan_frames(at_once()))
        rig.station.process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        rig.station.process.send_signal(signal.SIGCONT)
        assert rig.client.recv().code == ST.PLAN
        run = rig.jobs.recv()
        rig.jobs.finish(run)
        rig.gone(run.mailbox[1:].decode())


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM])
def test_row_56_signals_that_mean_nothing(make_rig, number):
    """They would end a process that does not expect them."""
    rig = make_rig()
    for _ in range(1000):
        os.kill(rig.station.pid, number)
        time.sleep(0.0005)
    goes_on(rig)


# Row 57.

def limits(pid):
    with open(f"/proc/{pid}/limits") as file:
        return {line[:26].strip(): line[26:].split() for line in file}


def status(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


@pytest.fixture
def embedded(make_rig):
    """A rig whose station has a Redis of its own, started with everything allowed."""
    rig = embed_redis(make_rig(start=False))
    old, mask = resource.getrlimit(resource.RLIMIT_CORE), os.umask(0)
    resource.setrlimit(resource.RLIMIT_CORE, (old[1], old[1]))
    try:
        yield rig
    finally:
        os.umask(mask)
        resource.setrlimit(resource.RLIMIT_CORE, old)


def processes(rig):
    """The station and its redis-server."""
    return [rig.station.pid, *children(rig.station.pid)]


def test_row_57_no_core_no_new_privileges(embedded):
    rig = embedded
    rig.station.start()
    rig.client.added(later())
    pids = processes(rig)
    assert len(pids) == 2
    for pid in pids:
        assert limits(pid)["Max core file size"][:2] == ["1", "1"]
        assert status(pid)["NoNewPrivs"] == "1"
    assert status(rig.station.pid)["Umask"] == "0077"
    rig.station.stop()


def test_row_57_files_are_nobody_else_s(embedded):
    """Whatever umask it was started with: the data folder, the sockets and their locks."""
    rig = embedded
    rig.station.start()
    for _ in range(20):
        rig.client.added(later())
    seen = 0
    for folder, _, files in os.walk(rig.data):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
        for name in files:
            entry = os.stat(os.path.join(folder, name))
            seen += 1
            allowed = 0o700 if stat.S_ISSOCK(entry.st_mode) else 0o600
            assert stat.S_IMODE(entry.st_mode) & ~allowed == 0, (name, oct(entry.st_mode))
    assert seen >= 2
    for name in ("q", "p", "e", "q.lock", "p.lock", "e.lock"):
        assert stat.S_IMODE(os.stat(rig.path(name)).st_mode) & 0o077 == 0, name
    rig.station.stop()


def test_row_57_a_core_is_not_written(embedded):
    """SIGABRT: nothing of its memory is left in its folder."""
    rig = embedded
    rig.station.start()
    with open("/proc/sys/kernel/core_pattern") as pattern:
        piped = pattern.read().startswith("|")
    orphans = children(rig.station.pid)
    os.kill(rig.station.pid, signal.SIGQUIT)
    assert rig.station.process.wait(20) != 0
    for pid in orphans:
        kill_redis(pid)
    rig.station.end()
    assert piped or not [name for name in os.listdir(os.getcwd()) if name.startswith("core")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("how", ["option", "file"])
def test_row_57_root_is_given_up(embedded, how):
    """--user nobody: all ids, no groups, no capabilities; the Redis of its own too; for good."""
    rig = embedded
    nobody = pwd.getpwnam("nobody")
    os.chown(rig.folder, nobody.pw_uid, nobody.pw_gid)
    os.mkdir(rig.data)
    os.chown(rig.data, nobody.pw_uid, nobody.pw_gid)
    if how == "option":
        rig.station.args += ["--user", "nobody"]
    else:
        with open(rig.path("zpl"), "w") as file:
            file.write("user = nobody\n")
        os.chmod(rig.path("zpl"), 0o644)
        rig.station.args += ["-c", rig.path("zpl")]
    rig.station.start()
    rig.client.added(later())
    for pid in processes(rig):
        now = status(pid)
        assert now["Uid"].split() == [str(nobody.pw_uid)] * 4
        assert now["Gid"].split() == [str(nobody.pw_gid)] * 4
        assert set(now["Groups"].split()) <= {str(nobody.pw_gid)}
        assert int(now["CapEff"], 16) == int(now["CapPrm"], 16) == 0
    assert os.stat(rig.path("q")).st_uid == nobody.pw_uid
    assert not [line for line in health(rig)["warnings"] if "root" in line]
    rig.station.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_row_57_a_folder_of_root_s_is_refused_to_another_user(embedded):
    rig = embedded
    os.chmod(rig.folder, 0o777)
    os.mkdir(rig.data, 0o700)
    code, out, err = run_once([*rig.station.args, "--user", "nobody"])
    assert code == 1 and out == "" and len(err.strip().splitlines()) == 1, err
    code, out, err = run_once([*rig.station.args, "--user", "no-such-user"])
    assert code == 2 and out == "" and "no-such-user" in err


SECRET = "s3cret" + "x" * 20


@pytest.mark.parametrize("args", [
    ["--redis", "127.0.0.1:{port}:" + SECRET], ["--set", "redis_addr=127.0.0.1:{port}:" + SECRET],
    ["--station", "far=api@ipc:///tmp/nowhere,key=" + SECRET + ",mailbox=identity"],
    ["--station", "far=api@ipc:///tmp/nowhere,key=" + SECRET + ",key=" + SECRET],
    ["--center", "tcp://127.0.0.1:1,key=" + SECRET]], ids=lambda args: args[0] + args[1][:9])
def test_row_57_secrets_leave_the_command_line(make_rig, args):
    """/proc/PID/cmdline, which everybody may read: wiped before `ready`; the options work."""
    rig = make_rig(redis_args=("--requirepass", SECRET), start=False)
    password = rig.path("password")
    with open(password, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(SECRET + "\n")
    if "{port}" in args[1]:
        port = free_port()
        rig.redis.args += ["--port", str(port)]
        at = rig.station.args.index("--redis")
        del rig.station.args[at:at + 2]
        args = [args[0], args[1].format(port=port)]
    else:
        rig.station.args += ["--redis-password-file", password]
    rig.station.args += args
    rig.start()
    rig.client.added(later())
    with open(f"/proc/{rig.station.pid}/cmdline", "rb") as line:
        shown = line.read()
    assert SECRET.encode() not in shown and b"x" * 8 not in shown, shown
    assert args[0].encode() in shown
    rig.client.done("stats")
    assert SECRET not in rig.station.log_tail()
    assert SECRET not in json.dumps(rig.client.done("stats").json) + json.dumps(health(rig))
    hup(rig, "reload.done")         # which reads the command line again
    goes_on(rig)


# Row 60.

WRONG = [
    ["--request", "tcp://127.0.0.1:99999"], ["--request", "tcp://127.0.0.1:0"],
    ["--request", "tcp://127.0.0.1:-1"], ["--request", "tcp://127.0.0.1:12x"],
    ["--publish", "udp://127.0.0.1:1"], ["--events", "ipc://" + "x" * 200], ["--events", "ipc://"],
    ["--set", "colour=red"], ["--set", "max_plans=1e3"], ["--max-memory", "1"],
    ["--max-frames", "33"], ["--max-frames", "2"], ["--max-plan-bytes", "63"],
    ["--max-frame-bytes", "16777217"], ["--max-runs", "0"], ["--max-json-depth", "0x4"],
    ["--replicas", "10"], ["--redis-db", "1024"], ["--station", "jobs=api@tcp://h:0"],
    ["--redis-password-file", "/nowhere"], ["--redis-password-file", "{readable}"],
    ["--timezone", "Mars/Phobos"], ["-c", "/nowhere"], ["-c", "/"], ["--user", "nobody-at-all"]]


class Listener:
    """A Redis that notes whether anybody came."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        self.socket.setblocking(False)

    def touched(self):
        try:
            self.socket.accept()
            return True
        except BlockingIOError:
            return False


@pytest.mark.parametrize("args", WRONG, ids=lambda args: " ".join(args)[:40])
def test_row_60_wrong_settings_end_it_before_it_touches_redis(tmp_path, args):
    """Exit status 2, one line that names what is wrong, nothing on standard output."""
    listener = Listener(str(tmp_path / "r"))
    readable = tmp_path / "readable"
    readable.write_text("secret\n")
    readable.chmod(0o644)
    args = [arg.format(readable=readable) for arg in args]
    base = ["--redis", f"unix:{tmp_path}/r", "--request", f"ipc://{tmp_path}/q",
            "--publish", f"ipc://{tmp_path}/p", "--events", f"ipc://{tmp_path}/e"]
    code, out, err = run_once([*base, *args])
    assert code == 2 and out == "", err
    lines = [line for line in err.splitlines() if not line.startswith("ts=")]
    assert len(lines) == 1 and lines[0].startswith("zpland: "), err
    assert "secret" not in err.replace("secrets", "")
    assert not listener.touched()
