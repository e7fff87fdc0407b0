"""CURVE from outside: keys, certificate files written by hand, and peers that have them."""
import contextlib
import glob
import os

import zmq
from zmq.utils.monitor import recv_monitor_message

from zplantest import CONTEXT, FakeTarget, Rig, WAIT, wait_until

EVERY_ROLE = "submit,observe,manage,result,signal"


class Keys:
    """A pair of keys, as Z85 text."""

    def __init__(self):
        self.public, self.secret = (key.decode() for key in zmq.curve_keypair())

    def give(self, socket, server=None):
        """Make the socket a client of this server, or a server."""
        socket.curve_publickey = self.public.encode()
        socket.curve_secretkey = self.secret.encode()
        if server is None:
            socket.curve_server = True
        else:
            socket.curve_serverkey = server.encode()


def certificate(keys, name, roles=None, stations=None, secret=False):
    lines = ["metadata", f'    name = "{name}"']
    if roles is not None:
        lines.append(f'    roles = "{roles}"')
    if stations is not None:
        lines.append(f'    stations = "{stations}"')
    lines += ["curve", f'    public-key = "{keys.public}"']
    if secret:
        lines.append(f'    secret-key = "{keys.secret}"')
    return "\n".join(lines) + "\n"


def write(path, text, mode=0o600):
    """The whole file at once, as a careful operator does: under a hidden name first."""
    folder, name = os.path.split(path)
    hidden = os.path.join(folder, "." + name)
    with open(hidden, "w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
    os.rename(hidden, path)


class CurveTarget(FakeTarget):
    """A target that is a CURVE server."""

    def __init__(self, endpoint):
        self.keys = Keys()
        super().__init__(endpoint)

    def open(self):
        self.socket = CONTEXT.socket(zmq.ROUTER)
        self.socket.linger = 0
        self.keys.give(self.socket)
        self.socket.bind(self.endpoint)


class CurveRig(Rig):
    """A station with a certificate and an allow-list; the rig's own sockets may do everything."""

    def __init__(self, *args, **options):
        self.server, owner = Keys(), Keys()
        self.prepare = self.with_keys(owner)
        super().__init__(*args, **options)
        os.mkdir(self.path("allow"))
        write(self.path("station.key_secret"), certificate(self.server, "station", secret=True))
        self.allow("owner", EVERY_ROLE, keys=owner)
        self.station.args += ["--curve", self.path("station.key_secret"),
                              "--allow", self.path("allow")]

    def with_keys(self, keys, server=None):
        return lambda socket: keys.give(socket, server or self.server.public)

    def member(self, keys, **options):
        """A client with these keys."""
        return self.dealer(prepare=self.with_keys(keys), **options)

    # The allow-list.

    def file(self, name):
        return os.path.join(self.path("allow"), name + ".key")

    def allow(self, name, roles, stations=None, keys=None):
        """Put a key on the list before the station is started."""
        keys = keys or Keys()
        write(self.file(name), certificate(keys, name, roles, stations))
        return keys

    @contextlib.contextmanager
    def list_changes(self):
        """What is done to the folder meanwhile counts afterwards."""
        start, before = os.path.getsize(self.station.log), len(glob.glob(self.file("*")))
        yield
        if len(glob.glob(self.file("*"))) == before:
            self.allow(f"more than {before}", "submit")     # so that the log tells it is read
        count = len(glob.glob(self.file("*")))
        self.logged(f"access.loaded keys={count}\n", start)

    # What the station tells.

    def logged(self, text, start=0):
        def found():
            with open(self.station.log) as log:
                log.seek(start)
                return text in log.read()
        wait_until(found, f"{text!r} in the log")

    def count(self, name):
        return self.client.done("stats").json["counters"][name]

    def counted(self, name, count):
        wait_until(lambda: self.count(name) == count, f"{name} {count}")


def monitored(prepare, monitors):
    """Prepare a socket, and hear of its connection."""
    def both(socket):
        prepare(socket)
        monitors.append(socket.get_monitor_socket())
    return both


def refusal(monitor):
    """Wait until the handshake has failed; how."""
    failed = (zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL |
              zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
    while monitor.poll(int(WAIT * 1000)):
        event = recv_monitor_message(monitor)["event"]
        assert event != zmq.EVENT_HANDSHAKE_SUCCEEDED, "let in"
        if event & failed:
            return event
    raise AssertionError("neither let in nor refused")
