"""Several stations on one database, played by the tests: one, the owner, has its request socket bound,
the others wait; their publish sockets are always bound, and silent while they wait."""
import json
import queue
import socket
import threading

import zmq

from clitest import CONTENT, JSON, REQUEST_ID, SUBTITLE, describe, reply, taken_apart
from zplanprocs import free_port, wait_until
from zplantest import WAIT
from zmtp import GREETING, RawPeer, frame, ready

OK = 1


def done(request):
    return [reply(request, OK)]


def silent(request):
    """The station has it, and dies before it answers."""
    return []


class Seat:
    """A station at an address of its own. `answer` makes the messages that answer a request's frames."""

    def __init__(self, answer=done):
        self.answer, self.seen = answer, queue.Queue()
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        self.context = zmq.Context()
        self.thread = None

    def own(self, answer=None):
        """It takes over: its request socket is bound."""
        self.answer = answer or self.answer
        router = self.context.socket(zmq.ROUTER)
        router.linger = 0
        wait_until(lambda: self.binds(router), "the address is free")
        self.stop, stopped = self.context.socket(zmq.PAIR), self.context.socket(zmq.PAIR)
        port = self.stop.bind_to_random_port("tcp://127.0.0.1")
        stopped.connect(f"tcp://127.0.0.1:{port}")
        self.thread = threading.Thread(target=self.serve, args=(router, stopped))
        self.thread.start()
        return self

    def binds(self, router):
        try:
            router.bind(self.endpoint)
        except zmq.ZMQError:
            return False
        return True

    def serve(self, router, stopped):
        poller = zmq.Poller()
        poller.register(router, zmq.POLLIN)
        poller.register(stopped, zmq.POLLIN)
        while stopped not in dict(poller.poll()):
            peer, *frames = router.recv_multipart()
            for message in self.answer(frames):
                router.send_multipart([peer, *message])
            self.seen.put(frames)
        router.close()
        stopped.close()

    def leave(self):
        """It dies, or steps down: its request socket is closed."""
        if self.thread:
            self.stop.send(b"")
            self.thread.join(WAIT)
            self.stop.close()
        self.thread = None

    def took(self, count=1):
        """So many requests: those that came."""
        return [self.seen.get(timeout=WAIT) for _ in range(count)]

    def close(self):
        self.leave()
        self.context.destroy(linger=0)


class Owners:
    """Two of them: `with Owners () as (one, other)`."""

    def __init__(self, kind=Seat):
        self.seats = [kind(), kind()]

    def __enter__(self):
        return self.seats

    def __exit__(self, *_):
        for seat in self.seats:
            seat.close()


def endpoints(seats):
    return ",".join(seat.endpoint for seat in seats)


class Connection(RawPeer):
    """One that was accepted."""

    def __init__(self, stream):
        self.stream = stream
        stream.settimeout(WAIT)

    def take_message(self):
        """Its frames; commands, as heartbeats are, are passed over."""
        parts = []
        while True:
            flags, body = self.take_frame()
            if not flags & 4:
                parts.append(body)
            if not flags & 5:
                return parts


class Cut(Seat):
    """A station that is killed within each of so many answers, which have several frames."""

    def own(self, answer=None, times=1):
        host, _, port = self.endpoint[6:].rpartition(":")
        self.listener = socket.create_server((host, int(port)))
        self.listener.settimeout(WAIT)
        self.thread = threading.Thread(target=self.cut, args=(times,))
        self.thread.start()
        return self

    def cut(self, times):
        for n in range(times):
            stream, _ = self.listener.accept()
            peer = Connection(stream)
            peer.send(GREETING, ready(b"ROUTER"))
            peer.take(64)
            peer.take_frame()
            self.seen.put(peer.take_message())
            if n + 1 == times:
                self.listener.close()
            peer.send(frame(describe(OK, REQUEST_ID, JSON), more=True), frame(b"half", more=True))
            peer.close()

    def leave(self):
        if self.thread:
            self.thread.join(WAIT)
        self.thread = None


class Broadcaster(Seat):
    """One with a history that both have, and a publish socket."""

    epoch = "e1"

    def __init__(self, history):
        super().__init__(self.manage)
        self.history = history
        self.publisher = self.context.socket(zmq.XPUB)
        self.publisher.linger = 0
        self.publisher.rcvtimeo = int(WAIT * 1000)
        self.results = f"tcp://127.0.0.1:{self.publisher.bind_to_random_port('tcp://127.0.0.1')}"

    def subscribed(self):
        assert self.publisher.recv()[:1] == b"\x01"

    def manage(self, request):
        word, args = taken_apart(request)
        assert word == "history", word
        wanted = json.loads(args[0])
        since = wanted.get("since", 0)
        runs = [run for run in self.history if run["seq"] > since][:wanted.get("limit", 1000)]
        page = {"runs": [] if wanted.get("newest") else runs, "first": 1, "last": len(self.history),
                "epoch": self.epoch, "missed": False}
        return [reply(request, OK, (JSON, json.dumps(page).encode()))]

    def outcome(self, publish=True):
        """A run has ended: it is in the history of both. Published, unless the station dies first."""
        seq = len(self.history) + 1
        self.history.append({"seq": seq, "plan": "1f", "station": "jobs", "title": "red",
                             "nominal": 1700000000, "fired": 1700000000.25, "ended": 1700000001.5,
                             "status": OK, "state": 1, "exec_id": 1700000000000000 + seq, "worker": "w",
                             "size": 0, "reason": "", "entry": f"{seq}-0"})
        if publish:
            self.publish(seq)
        return seq

    def publish(self, seq):
        run = self.history[seq - 1]
        plan = {"plan_id": 0x1f, "plan_time": 1798131600, "plan_state": 1, "seq": seq, "station": "jobs",
                "exec_id": run["exec_id"], "epoch": self.epoch}
        self.publisher.send_multipart([b"red", describe(OK, SUBTITLE, CONTENT), b"1f",
                                       json.dumps(plan).encode()])


def broadcasters():
    """Two with one history, which is empty."""
    history = []
    return Owners(lambda: Broadcaster(history))
