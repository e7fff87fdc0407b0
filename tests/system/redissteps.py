"""What the tests of Redis' faults share: Redis away as it is seen from outside."""
import contextlib
import shutil
import signal
import socket
import subprocess
import time

import pytest

from clitest import DONE, REFUSED, zplan
from redisproxy import RedisProxy
from zplantest import CMD, ST, at_once, later, wait_until

AT_ONCE = 2         # seconds: no waiting, on a machine that is busy with other things
SILENT = 3          # seconds after which a Redis that does not answer counts as lost (proto 11)


def embed_redis(rig):
    """Let the station run a Redis of its own, in the folder rig.data, which is not there yet."""
    rig.data = rig.path("d")
    at = rig.station.args.index("--redis")
    rig.station.args[at:at + 4] = ["--data", rig.data]
    return rig


def health(rig):
    return rig.client.done("health").json


def stats(rig):
    return rig.client.done("stats").json


def log(rig):
    with open(rig.station.log, errors="replace") as file:
        return file.read()


def told(rig, event):
    """The lines of the log that tell this event."""
    return [line for line in log(rig).splitlines() if f" event={event} " in line + " "]


def goes_red(rig, timeout=10):
    """`health` and `zplan doctor` tell that Redis is away; return the health."""
    def red():
        now = health(rig)
        return None if now["healthy"] or now["redis"]["state"] == "up" else now
    now = wait_until(red, "health is red", timeout)
    assert now["problems"] and now["redis"]["state"] != "up", now
    doctor = zplan("--connect", rig.ipc("q"), "doctor")
    assert doctor.code == REFUSED and "bad " in doctor.out, (doctor.out, doctor.err)
    return now


def serving(rig):
    """The station answers a ping; a request before that may meet no listener yet.

    Several pings may be answered late: a client that did not send them goes on.
    """
    def answered():
        rig.client.send(CMD.PING)
        return rig.client.socket.poll(300)
    wait_until(answered, "the station serves")
    rig.client = rig.dealer()
    rig.client.ping()


def is_well(rig):
    wait_until(lambda: health(rig)["healthy"], "health is green")
    doctor = zplan("--connect", rig.ipc("q"), "doctor")
    assert doctor.code == DONE and "good " in doctor.out, (doctor.out, doctor.err)


def refused(rig, within=AT_ONCE, **where):
    """A submission is answered NET_ERROR in time, with a reason; return that. One that is late may be the machine's: of
    three one is in time."""
    took = []
    while not took or took[-1] >= within:
        assert len(took) < 3, f"answered after {took} s"
        start = time.monotonic()
        reply = rig.client.submit(later(), **where)
        took.append(time.monotonic() - start)
        assert reply.code == ST.NET_ERROR, reply
        assert reply.text.startswith("-net error: ") and len(reply.text) > len("-net error: ") + 5
    return reply.text


def is_refused(rig):
    """Wait until submissions are refused; what was taken before is harmless."""
    wait_until(lambda: rig.client.submit(later()).code == ST.NET_ERROR, "submits are refused")


def is_taken(rig, timeout=None):
    """Submissions are taken again; how long that lasted."""
    start = time.monotonic()
    wait_until(lambda: rig.client.submit(later()).code == ST.PLAN, "submits are taken",
               *([timeout] if timeout else []))
    return time.monotonic() - start


def runs_through(rig):
    """A new plan is taken, sent, answered and ended: everything works."""
    ident = rig.client.added(at_once())
    run = of_plan(rig, ident)
    rig.jobs.finish(run)
    rig.gone(ident)


def of_plan(rig, ident):
    """The next dispatch of this plan; others are left unanswered."""
    while True:
        run = rig.jobs.recv()
        if run.mailbox == b"*" + ident.encode():
            return run


@contextlib.contextmanager
def frozen(process):
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def aside(rig, line):
    """A command to Redis whose answer nobody waits for."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(rig.redis.socket)
    connection.sendall(line.encode() + b"\r\n")
    return connection


def asleep(rig, seconds):
    """Redis does nothing for so long, from now on."""
    connection = aside(rig, f"DEBUG SLEEP {seconds}")

    def silent():
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(0.2)
            probe.connect(rig.redis.socket)
            probe.sendall(b"PING\r\n")
            try:
                return not probe.recv(100)
            except TimeoutError:
                return True
    wait_until(silent, "Redis sleeps")
    return connection


def redis_at(rig, address):
    """The station is given this Redis."""
    at = rig.station.args.index("--redis") + 1
    rig.station.args[at] = address


def proxied(make_rig, *args, **options):
    """A rig whose station talks to Redis through a proxy."""
    rig = make_rig(*args, start=False, **options)
    rig.proxy = rig.keep(RedisProxy(rig.redis.socket))
    redis_at(rig, rig.proxy.address)
    return rig.start()


def namespace_or_skip():
    """Mounting in a namespace of one's own, or a skip with the reason."""
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    tried = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                           capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip("no mount in a namespace of one's own: " + tried.stderr.strip())


def on_small_disk(folder, size="6m"):
    """A command that becomes the one after it, which finds a small tmpfs at this folder."""
    return ["unshare", "-m", "sh", "-c",
            f'mount -t tmpfs -o size={size},mode=700 tmpfs "$0" && exec "$@"', folder]


