"""Sentinel, replicas, what an acknowledgement is worth, and the password of Redis."""
import os
import signal
import socket
import subprocess
import time

import pytest
import redis as redis_py
from redis.backoff import NoBackoff
from redis.retry import Retry

from clitest import zplan
from redissteps import (AT_ONCE, SILENT, goes_red, health, is_taken, is_well, log, of_plan,
                        redis_at, refused, runs_through, stats, told)
from zplanprocs import DIES_WITH_PARENT, WAIT, Redis, free_port, run_once
from zplantest import (CMD, FT, ST, at_once, later, plan_frames, wait_until)

ALWAYS = ("--appendfsync", "always")


class Node(Redis):
    """A redis-server with a port as well, that may become the master or a replica."""

    def __init__(self, folder, name, *args):
        own = os.path.join(folder, "node-" + name)
        os.mkdir(own)
        self.port = free_port()
        super().__init__(os.path.join(own, "r"), [
            "--port", str(self.port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0",
            "--repl-ping-replica-period", "1", *ALWAYS, *args])

    def client(self, db=0):
        """Sentinel cuts the clients of whom it makes a master or a replica: asked again."""
        return redis_py.Redis(unix_socket_path=self.socket, db=db, socket_timeout=WAIT,
                              retry=Retry(NoBackoff(), 5),
                              retry_on_error=[redis_py.ConnectionError])

    def follow(self, master):
        self.client().execute_command("REPLICAOF", "127.0.0.1", master.port)
        wait_until(lambda: self.client().info("replication").get("master_link_status") == "up",
                   "the replica is in step")


class Sentinel:
    """One redis-sentinel that watches `master` under the name `plans`."""

    def __init__(self, folder, name, master, port=None, quorum=2, patience_ms=1000):
        self.port = port or free_port()
        self.file = os.path.join(folder, name + ".conf")
        self.process = None
        with open(self.file, "w") as file:
            file.write(f"port {self.port}\nbind 127.0.0.1\ndir {folder}\n"
                       f"sentinel monitor plans 127.0.0.1 {master.port} {quorum}\n"
                       f"sentinel down-after-milliseconds plans {patience_ms}\n"
                       "sentinel failover-timeout plans 5000\n")

    def start(self):
        with open(self.file + ".log", "ab") as out:
            self.process = subprocess.Popen(
                [*DIES_WITH_PARENT, "redis-server", self.file, "--sentinel"], stdin=subprocess.DEVNULL, stdout=out,
                stderr=out)
        wait_until(self.answers, "the sentinel answers")

    def client(self):
        return redis_py.Redis(port=self.port, socket_timeout=WAIT, decode_responses=True)

    def answers(self):
        try:
            return self.client().ping()
        except redis_py.ConnectionError:
            return False

    def ask(self, *words):
        """The answer as it is: redis-py would make something of it."""
        with socket.create_connection(("127.0.0.1", self.port), WAIT) as connection:
            connection.sendall(" ".join(("SENTINEL",) + words).encode() + b"\r\n")
            file = connection.makefile("rb")
            count = int(file.readline()[1:])
            lines = [file.readline() for _ in range(2 * count)]
        return [line.decode().strip() for line in lines[1::2]]

    def master(self):
        """The port of the one it names."""
        return int(self.ask("GET-MASTER-ADDR-BY-NAME", "plans")[1])

    def knows(self):
        """The others, and the replica: it can judge a failover."""
        flat = self.ask("MASTER", "plans")
        state = dict(zip(flat[::2], flat[1::2]))
        return int(state["num-other-sentinels"]) >= 2 and int(state["num-slaves"]) >= 1

    def close(self):
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        self.process = None


class Cluster:
    """A master, a replica, three sentinels."""

    def __init__(self, rig):
        self.nodes = [Node(rig.folder, name) for name in ("a", "b")]
        self.sentinels = []
        for node in self.nodes:
            rig.keep(Closing(node))
            node.start()
        self.nodes[1].follow(self.nodes[0])
        for number in range(3):
            one = Sentinel(rig.folder, f"s{number}", self.nodes[0])
            self.sentinels.append(rig.keep(one))
            one.start()
        for one in self.sentinels:
            wait_until(one.knows, "the sentinels know each other")

    @property
    def address(self):
        return "sentinel:plans@" + ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels)

    @property
    def master(self):
        port = self.sentinels[0].master()
        return next(node for node in self.nodes if node.port == port)

    @property
    def replica(self):
        return next(node for node in self.nodes if node is not self.master)

    def failed_over(self, old):
        wait_until(lambda: {one.master() for one in self.sentinels} != {old.port}
                   and len({one.master() for one in self.sentinels}) == 1, "the failover", 3 * WAIT)


class Closing:
    def __init__(self, node):
        self.node = node

    def close(self):
        if self.node.process:
            self.node.process.send_signal(signal.SIGCONT)
        self.node.kill()


@pytest.fixture
def cluster_rig(make_rig):
    def make(*args):
        rig = make_rig(*args, start=False)
        rig.cluster = Cluster(rig)
        redis_at(rig, rig.cluster.address)
        rig.station.start()
        rig.db = rig.cluster.nodes[0].client()
        return rig
    return make


def load(rig, seconds, number, acked, sent):
    """Submit plans for so long; remember those that were acknowledged."""
    end = time.monotonic() + seconds
    client = rig.dealer()
    while time.monotonic() < end:
        for _ in range(10):
            sent[0] += 1
            client.send(CMD.PLAN, plan_frames(later(), gid=f"{number + sent[0]:x}"))
        for _ in range(10):
            reply = client.recv()
            assert reply.code in (ST.PLAN, ST.NET_ERROR), reply
            if reply.code == ST.PLAN:
                acked.add(reply.get(FT.GLOBAL_ID).decode())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["kill", "stop"])
def test_row_19_failover_under_load(cluster_rig, number):
    """The station finds the new master by itself; with a replica asked, nothing acknowledged is
    lost."""
    rig = cluster_rig("--replicas", "1")
    old, new = rig.cluster.nodes
    acked, sent = set(), [0]
    held = rig.client.added(at_once())
    run = of_plan(rig, held)
    rig.jobs.answer(run, ST.RUNING)
    wait_until(lambda: rig.message(held)["last_state"] == ST.RUNING, "it is running")
    load(rig, 1.5, 1 << 20, acked, sent)
    assert acked, "a plan is acknowledged when the replica has it"
    old.signal(number)
    load(rig, 1.5, 1 << 20, acked, sent)
    rig.cluster.failed_over(old)
    rig.db = new.client()
    # One copy is left: what is asked for is not acknowledged, and the reason is told.
    wait_until(lambda: "replicas" in rig.client.submit(later()).text, "too few replicas is told")
    for ident in acked:
        assert rig.message(ident) is not None, "acknowledged and lost"
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    wait_until(lambda: (rig.message(held) or {"plan_state": 0})["plan_state"] != 2,
               "the run ended, or is to be repeated")
    if number == signal.SIGSTOP:
        old.signal(signal.SIGCONT)
    else:
        old.process.wait()
        old.start()
    wait_until(lambda: old.client().info("replication")["role"] == "slave"
               and old.client().info("replication")["master_link_status"] == "up",
               "the old master is a replica", 60)
    is_taken(rig)
    is_well(rig)
    ident = rig.client.added(at_once())
    second = of_plan(rig, ident)
    rig.jobs.finish(second)
    wait_until(lambda: rig.message(ident) is None, "it ended")
    assert rig.station.process.poll() is None


def test_sentinel_failover_while_idle(cluster_rig):
    """Asked for, with nobody dead: the station moves, and the old master is a replica to it."""
    rig = cluster_rig()
    old, new = rig.cluster.nodes
    ident = rig.client.added(later())
    wait_until(lambda: new.client().get(f"plan:msg:jobs:{ident}"), "the replica has it")
    rig.cluster.sentinels[0].client().execute_command("SENTINEL", "FAILOVER", "plans")
    rig.cluster.failed_over(old)
    rig.db = new.client()

    def taken_by_new():
        reply = rig.client.submit(later())
        return reply.code == ST.PLAN and rig.message(reply.get(FT.GLOBAL_ID).decode())
    wait_until(taken_by_new, "plans go to the new master")
    assert rig.message(ident) is not None
    rig.due_now(ident)
    rig.jobs.finish(of_plan(rig, ident))
    rig.gone(ident)


def test_sentinel_that_is_cut_off_is_not_followed(make_rig):
    """It still names the old master, and the others a newer one: the newer one is right."""
    rig = make_rig(start=False)
    cluster = Cluster(rig)
    old, new = cluster.nodes
    cluster.sentinels[0].client().execute_command("SENTINEL", "FAILOVER", "plans")
    cluster.failed_over(old)
    # Stopped, it cannot tell the one that is cut off that it is a replica by now. And the others
    # do not know that one, or they would tell it.
    old.signal(signal.SIGSTOP)
    cut = rig.keep(Sentinel(rig.folder, "cut", old, quorum=9, patience_ms=600000))
    cut.start()
    assert cut.master() == old.port
    cluster.sentinels[2].close()
    redis_at(rig, f"sentinel:plans@127.0.0.1:{cut.port},127.0.0.1:{cluster.sentinels[0].port},"
             f"127.0.0.1:{cluster.sentinels[1].port}")
    rig.station.start()
    rig.db = new.client()
    for _ in range(20):
        ident = rig.client.added(later())
        assert rig.message(ident) is not None, "it went to the wrong one"
        time.sleep(0.2)         # the station asks each second
    assert cut.master() == old.port and not told(rig, "redis.down")
    runs_through(rig)


def test_sentinels_all_silent(cluster_rig):
    """While Redis is there nothing changes; without both it is told, and found again."""
    rig = cluster_rig()
    master = rig.cluster.nodes[0]
    for one in rig.cluster.sentinels:
        one.process.send_signal(signal.SIGSTOP)
    end = time.monotonic() + 4
    while time.monotonic() < end:
        assert rig.client.submit(later()).code == ST.PLAN
    master.kill()
    goes_red(rig)
    wait_until(lambda: "sentinel" in refused(rig), "the sentinels' silence is the reason")
    master.start()
    assert "sentinel" in refused(rig)
    # They judge nothing for a while after such a pause, and they answer.
    for one in rig.cluster.sentinels:
        one.process.send_signal(signal.SIGCONT)
    is_taken(rig)
    rig.db = rig.cluster.master.client()
    runs_through(rig)


def test_sentinel_down_at_start(make_rig):
    """The station serves, and refuses with the reason."""
    rig = make_rig(start=False)
    ports = [free_port() for _ in range(2)]
    redis_at(rig, "sentinel:plans@" + ",".join(f"127.0.0.1:{port}" for port in ports))
    rig.station.start()
    goes_red(rig)
    wait_until(lambda: "sentinel" in refused(rig), "the sentinels' silence is the reason")


# Replicas.

def test_replicas_too_few_and_then_enough(make_rig):
    """Written, and not acknowledged; asked again it is, when the replica is there."""
    rig = make_rig("--replicas", "1", start=False, redis_args=ALWAYS)
    master = Node(rig.folder, "m")
    rig.keep(Closing(master))
    master.start()
    replica = Node(rig.folder, "n")
    rig.keep(Closing(replica))
    redis_at(rig, f"127.0.0.1:{master.port}")
    rig.station.start()
    rig.db = master.client()
    plan = later()
    for _ in range(2):
        reply = rig.client.submit(plan, gid="abc")
        assert reply.code == ST.NET_ERROR and "replicas" in reply.text, reply
    before = rig.message("abc")
    assert before is not None
    assert health(rig)["redis"]["replicas"] == 1
    replica.start()
    replica.follow(master)
    wait_until(lambda: rig.client.submit(plan, gid="abc").code == ST.PLAN, "acknowledged")
    assert rig.message("abc") == before
    assert replica.client().get("plan:msg:jobs:abc") == master.client().get("plan:msg:jobs:abc")
    # A replica that is frozen is none; the station waits no longer than it was told.
    replica.signal(signal.SIGSTOP)
    refused(rig, SILENT + AT_ONCE)
    rig.client.ping()
    replica.signal(signal.SIGCONT)
    is_taken(rig)
    runs_through(rig)


# What an acknowledgement is worth.

@pytest.mark.parametrize("fsync", ["everysec", "no"])
def test_durable_refuses_at_start(make_rig, fsync):
    rig = make_rig("--durable", start=False, redis_args=("--appendfsync", fsync))
    rig.redis.start()
    code, out, err = run_once([*rig.station.args, "--log-level", "error"])
    assert (code, out) == (1, "") and len(err.strip().splitlines()) == 1, err
    assert "durable" in err and fsync in err and "always" in err


def test_durable_refuses_while_running(make_rig):
    rig = make_rig("--durable", redis_args=ALWAYS)
    runs_through(rig)
    rig.redis.client().config_set("appendfsync", "everysec")
    wait_until(lambda: rig.client.submit(later()).code == ST.NET_ERROR, "refused", 10)
    assert "durable" in goes_red(rig)["problems"][0] and "everysec" in refused(rig)
    wait_until(lambda: told(rig, "redis.down"), "the log tells")
    rig.redis.client().config_set("appendfsync", "always")
    is_taken(rig)
    is_well(rig)


@pytest.mark.parametrize("fsync, word", [("always", "also when the machine fails"),
                                         ("everysec", "up to two seconds"),
                                         ("no", "half a minute")])
def test_durability_is_said_aloud(make_rig, fsync, word):
    """The log, `stats`, `health` and `zplan doctor` tell what an acknowledgement means."""
    rig = make_rig(redis_args=("--appendfsync", fsync))
    assert health(rig)["redis"]["fsync"] == fsync and word in health(rig)["redis"]["acknowledged"]
    assert word in stats(rig)["acknowledged"]
    assert word in told(rig, "redis.up")[0]
    assert word in zplan("--connect", rig.ipc("q"), "doctor").done()
    assert bool(health(rig)["warnings"]) >= (fsync != "always")
    # Changed while running: seen at the next look.
    other = "everysec" if fsync == "always" else "always"
    rig.redis.client().config_set("appendfsync", other)
    wait_until(lambda: health(rig)["redis"]["fsync"] == other, "the change is seen", 10)


# The password.

SECRET = "gQ7-correct_horse"


def nowhere(rig):
    """The password stands in nothing that others can see."""
    for file in ("cmdline", "environ"):
        with open(f"/proc/{rig.station.pid}/{file}", "rb") as line:
            assert SECRET.encode() not in line.read(), file
    ps = subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(rig.station.pid)],
                        capture_output=True, text=True, check=True)
    assert SECRET not in ps.stdout
    for word in ("stats", "health", "list", "history"):
        assert SECRET not in str(rig.client.manage(word).frames), word
    assert SECRET not in rig.client.submit({"plan_type": 99}).text
    assert SECRET not in log(rig)


def password_file(rig, text=SECRET + "\n", mode=0o600):
    path = rig.path("password")
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


WAYS = {
    "file": lambda rig: rig.station.args.extend(["--redis-password-file", password_file(rig)]),
    "environment": lambda rig: rig.station.env.update(ZPLAN_REDIS_PASSWORD=SECRET),
    "address": lambda rig: redis_at(rig, f"127.0.0.1:{rig.port}:{SECRET}")}


def locked_rig(make_rig, *args):
    port = free_port()
    rig = make_rig(*args, start=False, redis_args=("--requirepass", SECRET, "--port", str(port)))
    rig.port = port
    rig.redis.start()
    return rig


@pytest.mark.parametrize("way", WAYS)
def test_password(make_rig, way):
    """From a file, the environment or the address: it opens Redis, and is told to nobody."""
    rig = locked_rig(make_rig)
    WAYS[way](rig)
    rig.station.start()
    runs_through(rig)
    nowhere(rig)
    rig.redis.client().client_kill_filter(_type="normal")
    is_taken(rig)
    rig.redis.kill()
    goes_red(rig)
    nowhere(rig)
    rig.redis.start()
    is_taken(rig)
    runs_through(rig)
    nowhere(rig)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_password_file_that_others_can_read(make_rig, mode):
    rig = locked_rig(make_rig)
    code, out, err = run_once([*rig.station.args, "--redis-password-file",
                               password_file(rig, mode=mode), "--log-level", "error"])
    assert (code, out) == (2, "") and len(err.strip().splitlines()) == 1, err
    assert "redis_password_file" in err and SECRET not in err


@pytest.mark.parametrize("text", ["", "\n", "x" * 5000])
def test_password_file_with_nothing_of_use(make_rig, text):
    rig = locked_rig(make_rig)
    code, out, err = run_once([*rig.station.args, "--redis-password-file",
                               password_file(rig, text), "--log-level", "error"])
    assert (code, out) == (2, "") and "redis_password_file" in err, err


@pytest.mark.parametrize("args", [["--redis-password-file", "/nonexistent/file"],
                                  ["--redis-password-file", "/tmp"]])
def test_password_file_that_is_none(make_rig, args):
    rig = locked_rig(make_rig)
    code, out, err = run_once([*rig.station.args, *args, "--log-level", "error"])
    assert (code, out) == (2, "") and "redis_password_file" in err, err


@pytest.mark.parametrize("secret", ["", "wrong-" + SECRET])
def test_password_wrong_or_missing(make_rig, secret):
    """No waiting helps: refused at start; the password that was tried is not in the reason."""
    rig = locked_rig(make_rig)
    args = [*rig.station.args, "--log-level", "error"]
    if secret:
        args += ["--redis-password-file", password_file(rig, secret)]
    code, out, err = run_once(args)
    assert (code, out) == (1, "") and len(err.strip().splitlines()) == 1, err
    assert ("WRONGPASS" in err or "NOAUTH" in err) and SECRET not in err


def test_password_changed_while_running(make_rig):
    """Refused, red; with the old one again it goes on."""
    rig = locked_rig(make_rig)
    WAYS["file"](rig)
    rig.station.start()
    admin = rig.redis.client()
    admin.config_set("requirepass", "another")
    admin.client_kill_filter(_type="normal", skipme=True)
    goes_red(rig)
    refused(rig)
    nowhere(rig)
    admin.config_set("requirepass", SECRET)
    is_taken(rig)
    is_well(rig)


RULES = ["~plan:*", "+@all", "-@dangerous", "+info"]


@pytest.mark.parametrize("how", ["option", "environment"])
def test_acl_user(make_rig, how):
    """A user of its own with the keys and commands it needs and no others."""
    rig = make_rig(start=False)
    rig.redis.start()
    admin = rig.redis.client()
    admin.execute_command("ACL", "SETUSER", "planner", "on", ">" + SECRET, *RULES)
    admin.execute_command("ACL", "SETUSER", "default", "-@all", "+ping")
    if how == "option":
        rig.station.args += ["--redis-user", "planner", "--redis-password-file",
                             password_file(rig)]
    else:
        rig.station.env.update(ZPLAN_REDIS_USER="planner", ZPLAN_REDIS_PASSWORD=SECRET)
    rig.station.start()
    rig.db = redis_py.Redis(unix_socket_path=rig.redis.socket, username="planner",
                            password=SECRET, socket_timeout=WAIT)
    runs_through(rig)
    assert health(rig)["healthy"] and health(rig)["redis"]["fsync"] == "unknown"
    nowhere(rig)


def test_acl_user_without_a_right(make_rig):
    """Refused at start in one line that names it."""
    rig = make_rig(start=False)
    rig.redis.start()
    admin = rig.redis.client()
    admin.execute_command("ACL", "SETUSER", "planner", "on", ">" + SECRET, "~plan:*", "+@all",
                          "-script")
    code, out, err = run_once([*rig.station.args, "--redis-user", "planner",
                               "--redis-password-file", password_file(rig),
                               "--log-level", "error"])
    assert (code, out) == (1, "") and len(err.strip().splitlines()) == 1, err
    assert "NOPERM" in err and SECRET not in err
