"""The peers of the stations in a chaos run, each a process that may be killed at any moment:

  actors.py ROLE CONFIG LIFE       LIFE is 0, 1, 2, ...

What each of them is told stands in CONFIG (JSON); what it does stands in its records.
"""
import collections
import itertools
import json
import os
import pathlib
import random
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
import zmq                                                      # noqa: E402
from zmq.utils.monitor import recv_monitor_message              # noqa: E402

from zplantest import CMD, FT, ST, describe, pack, plan_frames   # noqa: E402
from records import Log, read_file                               # noqa: E402

BATCH = 256


def dealer(endpoint):
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.linger = 0
    socket.reconnect_ivl = 20
    socket.connect(endpoint)
    return socket


def batch(socket):
    """What has come, up to a batch."""
    found = []
    try:
        while len(found) < BATCH:
            found.append(socket.recv_multipart(zmq.NOBLOCK))
    except zmq.Again:
        pass
    return found


class Stations:
    """The request sockets of all stations, one DEALER each: that of a standby is closed. Requests go to one of them;
    when nothing good comes from it, all are asked with PING, and another one that answers is the next."""

    SILENCE, ASK = 0.5, 0.25        # seconds without a good answer; between two PINGs

    def __init__(self, endpoints, turn, pong_is_good=False):
        self.endpoints, self.turn, self.pong_is_good = endpoints, turn, pong_is_good
        self.sockets = [dealer(endpoint) for endpoint in endpoints]
        self.good, self.asked = time.monotonic(), 0.0

    def send(self, frames, to=None):
        try:
            self.sockets[self.turn if to is None else to].send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:
            pass

    def poll(self, milliseconds):
        zmq.select(self.sockets, [], [], milliseconds / 1000)

    def answers(self):
        """(number of the station, message), but for those of PING; and whether another station is asked from now on."""
        found, pongs = [], set()
        for number, socket in enumerate(self.sockets):
            for parts in batch(socket):
                if frames_of(parts[0], parts[1:]).get(FT.REQUEST_ID) == b"ping":
                    pongs.add(number)
                else:
                    found.append(parts)
        return found, self.change(pongs)

    def change(self, pongs):
        now = time.monotonic()
        if self.pong_is_good and self.turn in pongs:
            self.good = now
        others = sorted(pongs - {self.turn})
        if not others or now - self.good < self.SILENCE:
            return False
        # What waits in the socket must not arrive much later: it is thrown away.
        self.sockets[self.turn].close()
        self.sockets[self.turn] = dealer(self.endpoints[self.turn])
        self.turn, self.good = others[0], now
        return True

    def look(self):
        """Ask who serves, if it may be another one."""
        now = time.monotonic()
        if now - max(self.good + self.SILENCE, self.asked + self.ASK) > 0:
            self.asked = now
            for number in range(len(self.sockets)):
                self.send(pack(CMD.PING, [(FT.REQUEST_ID, b"ping")]), number)


def frames_of(desc, frames):
    """type -> frame; of a type that repeats the last."""
    assert desc[0] == len(frames), (desc, frames)
    return dict(zip(desc[2:2 + len(frames)], frames))


class Target:
    """A target and its workers: each run is recorded, then it is answered in one of several ways."""

    WAYS = [("ok", 80), ("error", 4), ("twice", 4), ("by-request", 5), ("at-once", 3), ("lost", 1),
            ("silent", 1), ("decline", 2)]

    def __init__(self, config, life):
        self.name, self.slow = config["name"], config["slow"]
        self.rng = random.Random(f"{config['seed']} {self.name} {life}")
        self.ways = [way for way, weight in self.WAYS for _ in range(weight)]
        self.log = Log(os.path.join(config["records"], f"{self.name}.{life}.log"))
        self.calm = False
        self.later = []                     # (when, run, again): of slow workers
        signal.signal(signal.SIGUSR1, self.be_calm)
        self.socket = zmq.Context.instance().socket(zmq.ROUTER)
        self.socket.linger = 0
        self.socket.sndhwm = self.socket.rcvhwm = 0
        self.socket.bind(config["endpoint"])
        self.stations = Stations(config["requests"], 0, pong_is_good=True)

    def be_calm(self, *_):
        self.calm = True

    def way(self):
        if self.slow:
            return "slow"
        return "ok" if self.calm else self.rng.choice(self.ways)

    def take(self, parts):
        """Record a run; return what is to be done about it."""
        peer, mailbox, desc, *frames = parts
        found = frames_of(desc, frames)
        plan = json.loads(found[FT.PLAN])
        ident, run, way = mailbox[1:].decode(), plan["exec_id"], self.way()
        if (desc[1], plan["plan_id"], found[FT.LOCAL_ID]) != (CMD.PROXY, int(ident, 16), b"%x" % run):
            self.log.add("broken", id=ident, at=time.time(), why=f"dispatch: {plan} {found[FT.LOCAL_ID]}")
        self.log.add("decline" if way == "decline" else "exec", id=ident, at=time.time(), exec=run,
                     nominal=int(found[FT.PLAN_TIME]), target=self.name, extra=bool(plan.get("extra")), answer=way)
        return peer, mailbox, found[FT.LOCAL_ID], way

    def send(self, run, status, pairs=()):
        try:
            self.socket.send_multipart([run[0], run[1], *pack(status, pairs)], zmq.NOBLOCK)
        except zmq.Again:
            pass

    def result(self, run, status):
        self.send(run, status, [(FT.CONTENT, b"done"), (FT.LOCAL_ID, run[2])])

    def by_request(self, run, status):
        """By the request socket of the station that serves; now and then of another, which gets it when it serves."""
        to = self.stations.turn if self.rng.random() < .8 else self.rng.randrange(len(self.stations.sockets))
        self.stations.send([run[1], *pack(status, [(FT.LOCAL_ID, run[2])])], to)

    def answer(self, run):
        way = run[3]
        if way == "silent":
            return
        if way == "decline":
            self.send(run, ST.NOT_WORKER)
            return
        if way == "at-once":
            self.result(run, ST.OK)
            return
        self.send(run, ST.RUNING)
        if way in ("ok", "twice"):
            self.result(run, ST.OK)
        if way == "twice":
            self.result(run, ST.OK)
        if way == "error":
            self.result(run, ST.FAILED)
        if way == "by-request":
            self.by_request(run, ST.OK)
        if way == "slow":
            self.later.append((time.monotonic() + 1, run, 0 if self.calm else self.rng.randint(0, 4)))

    def work(self):
        """The slow workers. The station that sent the run may serve no longer: what they say goes both ways."""
        now, later = time.monotonic(), []
        for when, run, again in self.later:
            if when > now:
                later.append((when, run, again))
            elif again:
                self.send(run, ST.WAITING)
                self.by_request(run, ST.WAITING)
                later.append((now + 1, run, again - 1))
            else:
                self.result(run, ST.OK)
                self.by_request(run, ST.OK)
        self.later = later

    def run(self):
        while True:
            self.socket.poll(100)
            runs = [self.take(parts) for parts in batch(self.socket)]
            self.log.flush()
            for run in runs:
                self.answer(run)
            self.work()
            self.stations.answers()
            self.stations.look()


class Submission:
    __slots__ = ("ident", "frames", "spec", "sent")

    def __init__(self, ident, spec):
        self.ident, self.spec, self.sent = ident, spec, 0.0
        fields = {name: value for name, value in spec.items() if name != "station"}
        self.frames = pack(CMD.PLAN, plan_frames(
            fields, station=spec["station"], gid=ident, more=[(FT.REQUEST_ID, ident.encode())]))


class Care:
    """Management words for one plan, one after the other."""
    __slots__ = ("ident", "words", "start", "sent", "revision")

    def __init__(self, ident, words, start):
        self.ident, self.words, self.start, self.sent, self.revision = ident, words, start, 0.0, None


class Submitter:
    """Submits at a rate, each plan under an id of its own and again until it is acknowledged."""

    PATIENCE = 2.0
    WINDOW, FEW, SILENCE = 100, 20, 0.1

    def __init__(self, config, life):
        self.config, self.life = config, life
        self.rng = random.Random(f"{config['seed']} {config['name']} {life}")
        self.log = Log(self.path(life))
        self.stations = Stations(config["requests"], config["number"] % len(config["requests"]))
        self.count, self.heard = 0, 0.0             # when an answer came last
        self.open = collections.OrderedDict()       # id -> Submission, without an answer
        self.care = {}
        self.stopping = False
        signal.signal(signal.SIGTERM, self.stop)
        if life:
            self.inherit()

    def path(self, life):
        return os.path.join(self.config["records"], f"{self.config['name']}.{life}.log")

    def stop(self, *_):
        self.stopping = True

    def inherit(self):
        """Go on with what the lives before had sent, and have no answer to."""
        specs, paused, done, lives = {}, set(), set(), []
        for life in range(self.life - 1, -1, -1):
            # One may have been killed before it had a file, or before it had taken over everything.
            lives.insert(0, list(read_file(self.path(life))) if os.path.exists(self.path(life)) else [])
            if any(record["k"] == "carried" for record in lives[0]):
                break
        for record in itertools.chain.from_iterable(lives):
            kind, ident = record["k"], record.get("id")
            if kind == "carry" and record["spec"] is None:
                paused.add(ident)
            elif kind in ("submit", "carry"):
                specs[ident] = record["spec"]
            elif kind in ("ack", "refuse"):
                done.add(ident)
            elif kind == "manage" and record["word"] == "pause":
                paused.add(ident)
            elif kind == "managed" and record["word"] == "reset" and record["code"] != ST.NET_ERROR:
                paused.discard(ident)
        for ident, spec in specs.items():
            if ident not in done:
                self.open[ident] = Submission(ident, spec)
                self.log.add("carry", id=ident, spec=spec)
        for ident in paused:
            self.care[ident] = Care(ident, ["reset"], 0)
            self.log.add("carry", id=ident, spec=None)
        self.log.write("carried")

    def new_ident(self):
        self.count += 1
        return f"{(self.config['number'] + 1) << 52 | self.life << 36 | self.count:x}"

    def draw(self):
        """A plan, and the words that will be said about it."""
        rng, now = self.rng, int(time.time())
        pick = rng.random()
        station = "news" if rng.random() < .1 else rng.choice(("jobs0", "jobs1"))
        spec = {"station": station, "description": "plan"}
        if pick < .005:
            return {**spec, "station": "slow", "plan_type": 0}, []
        if pick < .92:
            return {**spec, "plan_type": 0}, []
        if pick < .95:
            spec.update(plan_type=1, plan_time=now + rng.randint(1, 5), no_keep=rng.random() < .7)
        elif pick < .985:
            repet = rng.randint(1, 4)
            spec.update(plan_type=2, plan_value=rng.randint(1, 2), plan_repet=repet,
                        plan_time=now - rng.randint(-2, 4), no_keep=rng.random() < .5,
                        skip_set=rng.choice((0, 0, 1)) if repet > 1 else 0)
        else:
            missed = rng.randint(0, 2)
            spec.update(plan_type=3, plan_value=1, plan_repet=missed + 1, no_keep=rng.random() < .5,
                        plan_time=now - 60 * missed - rng.randint(52, 58))
        pick = rng.random()
        words = (["pause", "reset"] if pick < .1 else ["pause", "update", "reset"] if pick < .2 else
                 ["run"] if pick < .3 else ["remove"] if pick < .37 else [])
        return spec, words

    def submit_new(self, count):
        for _ in range(count):
            spec, words = self.draw()
            ident = self.new_ident()
            self.open[ident] = Submission(ident, spec)
            if words:
                self.care[ident] = Care(ident, words, time.monotonic() + self.rng.uniform(.2, 3))

    def send_open(self):
        """What was never sent, and what has waited too long for its answer."""
        now, late = time.monotonic(), time.monotonic() - self.PATIENCE
        due = []
        for one in self.open.values():
            if one.sent < late:
                due.append(one)
        for one in due:
            one.sent = now
            self.log.add("submit", id=one.ident, at=time.time(), spec=one.spec)
        self.log.flush()
        for one in due:
            self.stations.send(one.frames)

    def send_again(self):
        """Another station serves: it is asked for all that has no answer."""
        for one in (*self.open.values(), *self.care.values()):
            one.sent = 0.0

    def send_care(self):
        now, due = time.monotonic(), []
        for care in self.care.values():
            if care.ident not in self.open and care.start <= now and care.sent < now - self.PATIENCE:
                care.sent = now
                due.append(care)
                self.log.add("manage", id=care.ident, at=time.time(), word=care.words[0])
        self.log.flush()
        for care in due:
            word, pairs = care.words[0], [(FT.ARG, care.ident.encode())]
            if word == "update":
                fields = {"revision": care.revision, "description": "plan, updated"}
                pairs.append((FT.ARG, json.dumps(fields).encode()))
            self.stations.send(pack(CMD.NONE, [(FT.COMMAND, word.encode()), *pairs,
                                               (FT.REQUEST_ID, f"{word}.{care.ident}".encode())]))
            if word == "run":       # said once: whether it was done may stay unknown
                del self.care[care.ident]

    def take(self, parts):
        found = frames_of(parts[0], parts[1:])
        code, request = parts[0][1], found.get(FT.REQUEST_ID, b"").decode()
        word, _, ident = request.rpartition(".")
        if code not in (ST.NET_ERROR, ST.BUSY):
            self.stations.good = time.monotonic()
        if word:
            self.managed(ident, word, code, found)
        elif code == ST.PLAN:
            self.log.add("ack", id=found[FT.GLOBAL_ID].decode(), at=time.time())
            self.open.pop(ident, None)
        elif code in (ST.NET_ERROR, ST.BUSY):
            text = found[FT.STATUS].decode()
            self.log.add("unsure" if "before it answered" in text else "not-done", id=ident, at=time.time(), why=text)
            if ident in self.open:
                self.open[ident].sent = time.monotonic() - self.PATIENCE + self.rng.uniform(.1, 1)
        elif ident in self.open:
            self.log.add("refuse", id=ident, at=time.time(), code=code, why=found[FT.STATUS].decode())
            del self.open[ident]
            self.care.pop(ident, None)

    def managed(self, ident, word, code, found):
        self.log.add("managed", id=ident, at=time.time(), word=word, code=code)
        care = self.care.get(ident)
        if not care or care.words[0] != word:
            return
        if code in (ST.NET_ERROR, ST.BUSY):
            care.sent = time.monotonic() - self.PATIENCE + .2
            return
        care.words.pop(0)
        care.sent, care.start = 0.0, time.monotonic() + self.rng.uniform(0, 1)
        if code == ST.OK and FT.JSON in found:
            care.revision = json.loads(found[FT.JSON])["revision"]
        if care.words[:1] == ["update"] and care.revision is None:
            care.words.pop(0)
        if code == ST.NOT_FIND or not care.words:
            del self.care[ident]

    def run(self):
        rate, due, last = self.config["rate"], 0.0, time.monotonic()
        while not (self.stopping and not self.open and not self.care):
            self.stations.poll(10)
            answers, changed = self.stations.answers()
            for parts in answers:
                self.take(parts)
            if changed:
                self.send_again()
            self.stations.look()
            self.log.flush()
            now = time.monotonic()
            self.heard = now if answers else self.heard
            due, last = min(due + (now - last) * rate, rate), now
            # What is sent into a silence will be in doubt, of which the checker knows less: little of it.
            room = (self.WINDOW if now - self.heard < self.SILENCE else self.FEW) - len(self.open)
            count = 0 if self.stopping else max(0, min(int(due), room))
            due -= count
            self.submit_new(count)
            self.send_open()
            self.send_care()


class Subscriber:
    """Hears the publish sockets of all stations, and knows when it could not.

    It lives longer than the stations: what one of them had handed to its kernel before it was killed
    is heard too.
    """

    def __init__(self, config, life):
        self.log = Log(os.path.join(config["records"], f"{config['name']}.{life}.log"))
        self.poller, self.station = zmq.Poller(), {}
        for name, endpoint in config["publish"].items():
            socket = zmq.Context.instance().socket(zmq.SUB)
            socket.linger, socket.rcvhwm, socket.reconnect_ivl = 0, 0, 10
            socket.subscribe(b"")
            monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
            self.station[socket], self.station[monitor] = (name, False), (name, True)
            self.poller.register(socket, zmq.POLLIN)
            self.poller.register(monitor, zmq.POLLIN)
            socket.connect(endpoint)
        self.stopping = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        self.stopping = True

    def hear(self, station, parts):
        _, desc, *frames = parts
        found = list(zip(desc[2:2 + len(frames)], frames))
        plan = json.loads(next(frame for kind, frame in found if kind == FT.CONTENT))
        ident = found[0][1].decode()
        if desc != describe(desc[1], desc[2:-1]) or plan["plan_id"] != int(ident, 16):
            self.log.add("broken", id=ident, at=time.time(), why=f"broadcast: {desc} {plan}")
        self.log.add("heard", id=ident, at=time.time(), seq=plan["seq"], epoch=plan["epoch"], station=station,
                     code=desc[1], exec=plan["exec_id"], done=plan["real_repet"])

    def run(self):
        quiet = 0
        while not self.stopping or quiet < 5:
            ready = self.poller.poll(200)
            quiet = 0 if ready else quiet + 1
            for socket, _ in ready:
                station, monitor = self.station[socket]
                if monitor:
                    up = recv_monitor_message(socket)["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED
                    self.log.add("up" if up else "down", at=time.time(), station=station)
                    continue
                for parts in batch(socket):
                    self.hear(station, parts)
            self.log.flush()


ROLES = {"target": Target, "submitter": Submitter, "subscriber": Subscriber}

if __name__ == "__main__":
    actor = ROLES[sys.argv[1]](json.loads(sys.argv[2]), int(sys.argv[3]))
    print("ready", flush=True)
    actor.run()
