"""The program zpland: options, settings, the embedded Redis, start and stop."""
import contextlib
import os
import shutil
import stat
import subprocess

import pytest
import redis as redis_py

from redissteps import embed_redis
from zplanprocs import BIN_DIR, Zpland, alive, children, free_port, kill_redis, run_once
from zplantest import ST, Client, FakeTarget, at_once, later, wait_until


def open_files(pid):
    """What the descriptors are, by their numbers; those of the shell are closed before it becomes the program."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for number in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return found


@pytest.mark.parametrize("words", [["zpland", "--data", "d"], ["zplan-web", "--listen", "unix:w"],
                                   ["zstationd", "--name", "jobs", "--type", "api", "--request", "ipc://q", "--workers", "ipc://w"],
                                   ["zplan", "work", "--station", "ipc://w", "--", "true"]], ids=lambda words: words[0])
def test_descriptors_that_are_closed_at_the_start(tmp_path, words):
    """Else the next file or socket would have their numbers, and get what is meant for stderr."""
    program = os.path.join(BIN_DIR, words[0])
    process = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", program, *words[1:]], cwd=tmp_path)
    try:
        wait_until(lambda: open_files(process.pid)[:3] == 3 * ["/dev/null"] and len(open_files(process.pid)) > 4,
                   "all are /dev/null, and others are open")
    finally:
        process.kill()
        process.wait()


def test_a_settings_file_that_is_not_there(tmp_path):
    code, out, err = run_once(["-c", str(tmp_path / "nowhere")])
    assert code != 0 and out == "" and "nowhere: No such file or directory" in err


def test_help():
    code, out, err = run_once(["--help"])
    assert code == 0 and err == ""
    for option in ("--request", "--publish", "--events", "--redis", "--redis-db", "--data",
                   "--station", "--exec-timeout", "--send-timeout", "--dialect", "--timezone",
                   "--log-level", "--accept-loss", "--set", "-c"):
        assert option in out


@pytest.mark.parametrize("args", [["--nonsense"], ["-x"], ["surplus"], ["--request"],
                                  ["--exec-timeout"], ["--set"], ["-c"]], ids=" ".join)
def test_usage_is_2(args):
    code, out, err = run_once(args)
    assert code == 2 and out == "" and err


BAD = [
    ["--exec-timeout", "x"], ["--exec-timeout", "-1"], ["--exec-timeout", "5x"], ["--exec-timeout", "500ms"],
    ["--exec-timeout", "99999999999999999999"], ["--send-timeout", "x"], ["--redis-db", "-1"],
    ["--redis-db", "x"], ["--redis", "no address"], ["--redis", "127.0.0.1:x"],
    ["--station", "bad"], ["--station", "jobs=queue@tcp://127.0.0.1:1"], ["--station", "jobs=api"],
    ["--station", "a:b=api@tcp://127.0.0.1:1"], ["--station", "=api@tcp://127.0.0.1:1"],
    ["--station", "x" * 65 + "=api@tcp://127.0.0.1:1"], ["--station", "jobs=api@"],
    ["--station", "jobs=api@tcp://127.0.0.1:1,colour=red"], ["--timezone", "Mars/Phobos"],
    ["--timezone", "../../etc/passwd"], ["--dialect", "klingon"], ["--log-level", "loud"],
    ["--request", "no endpoint"], ["--request", "tcp://127.0.0.1:99999"],
    ["--set", "nonsense=1"], ["--set", "noequals"], ["--set", "plan_exec_timeout=x"],
    ["--set", "=1"], ["-c", "/nonexistent/zpland.zpl"]]


@pytest.mark.parametrize("args", BAD, ids=lambda args: " ".join(args)[:60])
def test_bad_settings(tmp_path, args):
    """Unknown names are errors: 2, so that no service manager tries again, and the reason."""
    if args[0] != "--request":
        args = [*args, "--request", f"ipc://{tmp_path}/q"]
    code, out, err = run_once(["--data", str(tmp_path), *args])
    assert code == 2 and out == ""
    lines = err.strip().splitlines()
    assert len(lines) == 1 or lines[1:] == ["Try 'zpland --help'."], err


@pytest.mark.parametrize("over", ["ipc", "tcp"])
def test_the_request_endpoint_is_taken(make_rig, over):
    """The second one could not start; the first keeps what it has, also its ipc path."""
    rig = make_rig(start=False)
    endpoint = rig.ipc("q") if over == "ipc" else f"tcp://127.0.0.1:{free_port()}"
    at = rig.station.args.index("--request") + 1
    rig.station.args[at] = endpoint
    rig.start()
    other = [a + "2" if a.startswith("ipc:") else a for a in rig.station.args]
    other[at] = endpoint
    code, out, err = run_once(other)
    assert code == 1 and out == "" and err.strip()
    rig.keep(Client(endpoint)).ping()


# Settings.

def settings_file(rig, text):
    with open(rig.path("zpl"), "w") as file:
        file.write(text)
    return rig.path("zpl")


def deadline_of(rig, target):
    """How long the lease of a run is, as its dispatch tells."""
    ident = rig.client.added(at_once(), station="here")
    run = target.recv()
    target.finish(run)
    rig.gone(ident, "here")
    return run.plan["deadline"] - run.claimed


ZPL = """#   a comment
request = "{request}"
publish = {publish}
events = {events}
redis_addr = "unix:{redis}"
redis_defdb = 3
plan_exec_timeout = 70
timezone = Asia/Shanghai

stations
    here = "api@{target}"
"""


def test_settings_file_and_what_overrides_it(make_rig):
    """-c FILE, then --set and the options; a lease shows which one counts."""
    rig = make_rig(start=False)
    rig.redis.start()
    target = rig.keep(FakeTarget(rig.ipc("t")))
    file = settings_file(rig, ZPL.format(request=rig.ipc("q"), publish=rig.ipc("p"),
                                         events=rig.ipc("e"), redis=rig.redis.socket,
                                         target=target.endpoint))
    for args, lease in (([], 70), (["--set", "plan_exec_timeout=60"], 60),
                        (["--exec-timeout", "50"], 50)):
        rig.station.args = ["-c", file, *args]
        rig.station.start()
        assert abs(deadline_of(rig, target) - lease) <= 2
        rig.station.stop()
    assert rig.redis.client(0).dbsize() == 0 and rig.redis.client(3).dbsize() > 0


@pytest.mark.parametrize("line", ["nonsense = 1", "requests = ipc:///tmp/x", "stations\n    a = b",
                                  "plan_exec_timeout = soon", "here\n    and = there"])
def test_settings_file_with_something_unknown(make_rig, line):
    rig = make_rig(start=False)
    file = settings_file(rig, line + "\n")
    code, out, err = run_once(["-c", file, "--data", rig.folder, "--request", rig.ipc("q")])
    assert code == 2 and out == "" and len(err.strip().splitlines()) == 1, err


def test_a_target_of_the_settings_file_may_be_as_long_as_one_of_the_command_line(make_rig):
    rig = make_rig(start=False)
    text = f"api@tcp://{'.'.join(3 * ['h' * 60])}.invalid:1,key={'k' * 255},dialect=zeronet,mailbox=identity,concurrency=1234,rate=33.5,burst=9"
    assert len(text) > 512
    file = settings_file(rig, f"stations\n    far = \"{text}\"\n")
    rig.station.args = ["-c", file, *rig.station.args]
    rig.start()
    far = next(one for one in rig.client.done("station", "list").json["stations"] if one["name"] == "far")
    assert far["text"].endswith(",concurrency=1234,rate=33.5,burst=9")
    settings_file(rig, f"stations\n    far = \"{text}{',burst=9' * 90}\"\n")
    code, out, err = run_once(rig.station.args)
    assert code == 2 and out == "" and "stations/far" in err and "at most" in err, err


def test_tcp_endpoints(make_rig):
    rig = make_rig(start=False)
    ports = [free_port() for _ in range(4)]
    target = rig.keep(FakeTarget(f"tcp://127.0.0.1:{ports[3]}"))
    for option, port in zip(("--request", "--publish", "--events"), ports):
        rig.station.args[rig.station.args.index(option) + 1] = f"tcp://127.0.0.1:{port}"
    rig.station.args += ["--station", "here=api@" + target.endpoint]
    rig.client = rig.keep(Client(f"tcp://127.0.0.1:{ports[0]}"))
    rig.start()
    assert deadline_of(rig, target) > 290       # the default is 300
    reply = rig.client.submit(later(), station="here")
    assert reply.code == ST.PLAN


# Start and stop.

def test_A026_killed_between_submit_and_fire(make_rig):
    """kill -9: the plan fires exactly once after the restart."""
    rig = make_rig()
    ident = rig.client.added(later(2))
    rig.station.kill()
    rig.station.start()
    run = rig.jobs.recv()
    assert run.claimed >= run.plan_time
    rig.jobs.finish(run)
    rig.gone(ident)
    rig.jobs.nothing(1.2)


def test_A026_killed_while_a_run_is_in_hand(make_rig):
    """The lease stands in Redis: fired again after its end, with another exec_id."""
    rig = make_rig("--exec-timeout", "6")
    ident = rig.client.added(at_once())
    first = rig.jobs.recv()
    rig.station.kill()
    rig.station.start()
    second = rig.jobs.recv()
    assert second.exec_id > first.exec_id and second.claimed >= first.claimed + 6
    rig.jobs.finish(second)
    rig.gone(ident)


def test_sigterm_ends_with_0_also_under_load(make_rig):
    rig = make_rig()
    for _ in range(300):
        rig.client.submit(at_once())
    rig.station.stop()
    rig.station.start()
    rig.client.ping()


def test_two_stops_in_a_row(rig):
    for _ in range(3):
        rig.restart()
    rig.client.ping()


# The embedded Redis.

@pytest.fixture
def embedded(make_rig):
    """A rig whose station runs the Redis of its own, in a folder that is not there yet."""
    rig = embed_redis(make_rig(start=False))
    rig.pids = []
    rig.station.start()
    yield rig
    try:
        rig.station.stop()
        wait_until(lambda: not any(map(alive, rig.pids)), "no redis-server is left")
    finally:
        for pid in rig.pids:
            kill_redis(pid)


def redis_of(rig):
    """(pid, client) of the station's redis-server; remembers the pid for the end of the test."""
    def answering():
        for folder, _, names in os.walk(rig.data):
            for path in (os.path.join(folder, name) for name in names):
                try:
                    if stat.S_ISSOCK(os.stat(path).st_mode):
                        db = redis_py.Redis(unix_socket_path=path)
                        return db.info("server")["process_id"], db
                except (redis_py.ConnectionError, OSError):
                    pass        # the socket of one that is gone
        return None
    pid, db = wait_until(answering, "a redis-server answers in the data folder")
    rig.pids.append(pid)
    return pid, db


def test_8_embedded_redis(embedded):
    ident = embedded.client.added(later())
    _, db = redis_of(embedded)
    assert stat.S_IMODE(os.stat(embedded.data).st_mode) == 0o700
    settings = {name: db.config_get(name)[name]
                for name in ("appendonly", "appendfsync", "maxmemory-policy", "port")}
    assert settings == {"appendonly": "yes", "appendfsync": "always",
                        "maxmemory-policy": "noeviction", "port": "0"}
    assert db.exists(f"plan:msg:jobs:{ident}")


def test_8_embedded_redis_by_the_name_of_redis_tools(make_rig):
    """As Debian has it without the package redis-server."""
    rig = embed_redis(make_rig(start=False))
    os.mkdir(rig.path("bin"))
    os.symlink(os.path.realpath(shutil.which("redis-server")), rig.path("bin/redis-check-rdb"))
    station = Zpland(rig.path("log2"), rig.station.args, {"PATH": rig.path("bin")})
    try:
        station.start()
        rig.client.added(later())
        station.stop()
    finally:
        station.reap()


def test_8_embedded_redis_ends_with_the_station_and_keeps_the_plans(embedded):
    pid, _ = redis_of(embedded)
    ident = embedded.client.added(later())
    embedded.station.stop()
    assert not alive(pid)
    embedded.station.start()
    redis_of(embedded)
    assert embedded.client.manage("message", ident).code == ST.OK


def test_8_embedded_redis_does_not_inherit_the_password(make_rig):
    """It is nobody's then; neither the station nor its child keeps it in the environment."""
    rig = embed_redis(make_rig(start=False))
    rig.station.env.update(ZPLAN_REDIS_PASSWORD="secret-of-many", ZPLAN_REDIS_USER="somebody")
    rig.station.start()
    redis, = children(rig.station.pid)
    try:
        for pid in (rig.station.pid, redis):
            with open(f"/proc/{pid}/environ", "rb") as environ:
                text = environ.read()
            assert b"secret-of-many" not in text and b"somebody" not in text
        rig.station.stop()
    finally:
        kill_redis(redis)


def test_8_second_station_on_the_same_data(embedded):
    args = [a + "2" if a.startswith("ipc:") else a for a in embedded.station.args]
    code, out, err = run_once(args)
    assert code == 1 and out == "" and len(err.strip().splitlines()) == 1, err
    embedded.client.added(later())


def test_8_embedded_redis_killed(embedded):
    """It is started anew, and every plan that was acknowledged is there."""
    idents = [embedded.client.added(later()) for _ in range(20)]
    pid, _ = redis_of(embedded)
    os.kill(pid, 9)
    wait_until(lambda: embedded.client.submit(later()).code == ST.PLAN, "submits are taken again")
    new, _ = redis_of(embedded)
    assert new != pid
    for ident in idents:
        assert embedded.client.manage("message", ident).code == ST.OK
    ident = embedded.client.added(at_once())
    embedded.jobs.finish(embedded.jobs.recv())
    wait_until(lambda: embedded.client.manage("message", ident).code == ST.NOT_FIND, "ended")


def test_A026_station_with_embedded_redis_killed(embedded):
    """kill -9 of the station between submit and fire; the restart fires it exactly once."""
    redis_of(embedded)
    ident = embedded.client.added(later(2))
    embedded.station.kill()
    embedded.station.start()
    redis_of(embedded)
    run = embedded.jobs.recv()
    assert run.mailbox == b"*" + ident.encode() and run.claimed >= run.plan_time
    embedded.jobs.finish(run)
    embedded.jobs.nothing(1.2)
    assert embedded.client.manage("message", ident).code == ST.NOT_FIND


def test_8_data_defaults_to_the_state_folder(make_rig):
    rig = make_rig(start=False)
    args = [a for a in rig.station.args if not a.startswith("unix:")]
    args.remove("--redis")
    station = Zpland(rig.path("log2"), args, {"XDG_STATE_HOME": rig.path("s")})
    try:
        station.start()
        rig.client.added(later())
        assert os.path.isdir(rig.path("s/zplan"))
        station.stop()
    finally:
        station.reap()
