"""CURVE for the tests: key files as `zplan keygen` makes them, and stations played by the test that
want keys. The second implementation is pyzmq: its reader of certificates, its own answer to ZAP."""
import os
import threading

import zmq
import zmq.auth

from clitest import FakeStation, PlanStation, zplan


class Pair:
    """A certificate made by `zplan keygen`."""

    def __init__(self, folder, name, *options):
        assert zplan("keygen", name, "--out", str(folder), *options).code == 0
        self.public_file = os.path.join(folder, f"{name}.key")
        self.secret_file = os.path.join(folder, f"{name}.key_secret")
        self.public, self.secret = zmq.auth.load_certificate(self.secret_file)

    def options(self, server):
        """What the verbs connect with."""
        return ["--key", self.secret_file, f"--server-key={server.public.decode()}"]


class Door:
    """The ZAP handler of a context: lets in the keys of `allowed`."""

    def __init__(self, context, allowed):
        self.allowed, self.refused = {pair.public for pair in allowed}, threading.Event()
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind("inproc://zeromq.zap.01")
        self.stop = context.socket(zmq.PAIR)
        self.stop.bind("inproc://stop-door")
        self.context = context
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        stopped = self.context.socket(zmq.PAIR)
        stopped.connect("inproc://stop-door")
        poller = zmq.Poller()
        poller.register(self.socket, zmq.POLLIN)
        poller.register(stopped, zmq.POLLIN)
        while stopped not in dict(poller.poll()):
            version, request, _, _, _, mechanism, key = self.socket.recv_multipart()
            assert mechanism == b"CURVE"
            known = zmq.utils.z85.encode(key) in self.allowed
            self.socket.send_multipart([version, request, b"200" if known else b"300", b"", b"",
                                        b""])
            if not known:
                self.refused.set()
        stopped.close()
        self.socket.close()

    def close(self):
        self.stop.send(b"")
        self.thread.join()
        self.stop.close()


def locked(socket, pair):
    """Before its bind: a CURVE server."""
    socket.curve_server = True
    socket.curve_publickey, socket.curve_secretkey = pair.public, pair.secret
    socket.zap_domain = b"test"
    return socket


def lock(station, pair, allowed):
    """A FakeStation that is not started yet gets another socket, for CURVE only."""
    station.router.close()
    station.door = Door(station.context, allowed)
    station.router = locked(station.context.socket(zmq.ROUTER), pair)
    station.router.linger = 0
    port = station.router.bind_to_random_port("tcp://127.0.0.1")
    station.endpoint = f"tcp://127.0.0.1:{port}"


class LockedStation(FakeStation):
    def __init__(self, answer, pair, allowed):
        super().__init__(answer)
        lock(self, pair, allowed)

    def __exit__(self, *_):
        self.door.close()
        super().__exit__()


class LockedPlanStation(PlanStation):
    """Both its sockets want keys."""

    def __init__(self, pair, allowed):
        super().__init__()
        lock(self, pair, allowed)
        self.close_publisher()
        self.results = "tcp://127.0.0.1:*"
        self.publisher = locked(self.context.socket(zmq.XPUB), pair)
        self.publisher.linger = 0
        self.publisher.rcvtimeo = 20000
        self.publisher.bind(self.results)
        self.results = self.publisher.last_endpoint.decode()

    def __exit__(self, *_):
        self.door.close()
        super().__exit__()
