"""A client, a target and a subscriber of zplan/1, written from proto/ alone, on pyzmq.

    station = Client("tcp://127.0.0.1:7920")
    plan = {"description": "report", "plan_type": "day", "plan_value": 1, "plan_repet": -1}
    ident = station.submit("jobs", plan, [(COMMAND, b"report"), (ARG, b"pdf")])
    for outcome in Results("tcp://127.0.0.1:7921", station):
        print(outcome.seq, outcome.plan, outcome.status)
"""
import collections
import itertools
import json

import zmq

# Commands, statuses, frame types: 3.2.
NONE, PLAN_REQUEST, PROXY, PING, NEW_ID = 0x01, 0x02, 0x03, 0x2A, 0x3E
OK, PLAN_KEPT, RUNING, WAITING, NOT_WORKER, ERROR_FLAG = 0x01, 0x02, 0x03, 0x22, 0x88, 0x80
GLOBAL_ID, STATION_ID, STATUS, REQUEST_ID, PLAN, PLAN_TIME, LOCAL_ID = 1, 2, 3, 4, 5, 6, 8
COMMAND, ARG, CONTENT, JSON, PUB_TITLE, SUBTITLE, CONTEXT, REQUESTER, RESPONSER = b"$%TJ*@#><"


class Refused(Exception):
    """The station's answer was an error: its status, and the reason in words."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Message:
    """[envelope] description frames: 3.1. Frames are pairs of type and bytes."""

    def __init__(self, code, frames=(), envelope=()):
        self.code, self.frames, self.envelope = code, list(frames), list(envelope)

    @classmethod
    def read(cls, parts, before=0):
        """Of the parts of a message, `before` of them in front of the description."""
        description, frames = parts[before], parts[before + 1:]
        if len(description) < len(frames) + 2 or description[0] != len(frames):
            raise ValueError("the description does not fit the frames")
        return cls(description[1], zip(description[2:], frames), parts[:before])

    def parts(self):
        types = [kind for kind, _ in self.frames]
        return [*self.envelope, bytes([len(types), self.code, *types, 0]),
                *(frame for _, frame in self.frames)]

    def get(self, kind):
        """The last frame of this type, or None."""
        return next((frame for known, frame in reversed(self.frames) if known == kind), None)


def new_socket(kind):
    socket = zmq.Context.instance().socket(kind)
    socket.linger = 0
    return socket


class Client:
    """Asks the request socket, one question at a time."""

    numbers = itertools.count(1)

    def __init__(self, endpoint, timeout_s=5):
        self.timeout_ms = int(timeout_s * 1000)
        self.socket = new_socket(zmq.DEALER)
        self.socket.connect(endpoint)

    def ask(self, code, frames=(), name=None):
        """The reply. Raises Refused, or TimeoutError: then it is not known what was done."""
        name = name or b"%d" % next(self.numbers)
        self.socket.send_multipart(Message(code, [*frames, (REQUEST_ID, name)]).parts())
        while self.socket.poll(self.timeout_ms):
            reply = Message.read(self.socket.recv_multipart())
            if reply.get(REQUEST_ID) != name:
                continue    # of a question that was given up
            if reply.code >= ERROR_FLAG:
                raise Refused(reply.code, (reply.get(STATUS) or b"").decode())
            return reply
        raise TimeoutError("no answer")

    def new_id(self):
        return self.ask(NEW_ID).get(GLOBAL_ID).decode()

    def submit(self, station, plan, frames, ident=None):
        """Hand over a plan (5): the PLAN frame's fields, and what the target gets. Its id.

        With an id of one's own it may be done again when no answer came: it is the same bytes.
        """
        name = ident.encode() if ident else None
        given = [(GLOBAL_ID, name)] if name else []
        reply = self.ask(PLAN_REQUEST, [(PLAN, json.dumps(plan).encode()),
                                        (STATION_ID, station.encode()), *given, *frames], name)
        return reply.get(GLOBAL_ID).decode()

    def manage(self, word, *arguments):
        """A management word (9). What the reply's JSON says, or None."""
        texts = [a if isinstance(a, str) else json.dumps(a) for a in arguments]
        reply = self.ask(NONE, [(COMMAND, word.encode()), *((ARG, t.encode()) for t in texts)])
        return json.loads(reply.get(JSON) or b"null")

    def pages(self, word, question):
        """Whatever `list` or `history` have, page by page (9.3): the pages."""
        while True:
            page = self.manage(word, question)
            yield page
            if "next" not in page:
                return
            question = {**question, "after": page["next"]}

    def plans(self, **question):
        for page in self.pages("list", question):
            yield from page["plans"]

    def runs(self, **question):
        for page in self.pages("history", question):
            yield from page["runs"]


class Run:
    """A run that a target was sent (7.2)."""

    def __init__(self, socket, message):
        self.socket, self.message = socket, message
        self.plan = json.loads(message.get(PLAN))
        self.time, self.local_id = int(message.get(PLAN_TIME)), message.get(LOCAL_ID)

    def answer(self, code, frames=()):
        self.socket.send_multipart(Message(code, frames, self.message.envelope).parts())

    def finish(self, code=OK, frames=()):
        """The result. Whose run it is says LOCAL_ID."""
        self.answer(code, [*frames, (LOCAL_ID, self.local_id)])

    def vote(self, voter, code=OK, frames=()):
        """A voter's answer (7.5)."""
        self.finish(code, [*frames, (RESPONSER, voter.encode())])


class Target:
    """A target station of any type, by frame: waits for runs."""

    def __init__(self, endpoint):
        self.socket = new_socket(zmq.ROUTER)
        self.socket.bind(endpoint)

    def run(self, timeout_s=20):
        if not self.socket.poll(int(timeout_s * 1000)):
            raise TimeoutError("no run")
        return Run(self.socket, Message.read(self.socket.recv_multipart(), before=2))


# What came of a run: `frames` is None where only the history knew of it.
Outcome = collections.namedtuple("Outcome", "seq plan status title frames")


class Results:
    """All outcomes that were broadcast, each once: what a socket loses is asked for (9.4).

    `seq` and `epoch` say how far one has come: keep them, and give them back after a restart.
    After a change of `epoch`, which is rare, outcomes may come again.
    """

    def __init__(self, endpoint, client, seq=0, epoch=""):
        self.client, self.seq, self.epoch, self.missed = client, seq, epoch, False
        self.socket = new_socket(zmq.SUB)
        self.socket.subscribe(b"")
        self.socket.connect(endpoint)

    def __iter__(self):
        yield from self.catch_up()
        while True:
            yield from self.take(Message.read(self.socket.recv_multipart(), before=1))

    def take(self, message):
        """What a broadcast says, or what there is instead of it."""
        (_, plan), (_, text), *frames = message.frames
        told = json.loads(text)
        if told["epoch"] == self.epoch and told["seq"] <= self.seq:
            return      # it is known already
        if told["epoch"] != self.epoch or told["seq"] > self.seq + 1:
            yield from self.catch_up()
            return
        self.seq = told["seq"]
        yield Outcome(self.seq, plan.decode(), message.code, message.envelope[0].decode(), frames)

    def catch_up(self):
        question = {"since": self.seq, "epoch": self.epoch} if self.epoch else {}
        for page in self.client.pages("history", question):
            self.missed |= page["missed"]
            for run in page["runs"]:
                if run["seq"]:
                    yield Outcome(run["seq"], run["plan"], run["status"], run["title"], None)
            self.seq, self.epoch = page["last"], page["epoch"]
