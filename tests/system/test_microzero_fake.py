"""The fake MicroZero center against the recorded dialogs of real ones, byte for byte."""
import json
import time

import pytest
import zmq

from microzero import FLAVOURS, KEY, SEED
from zplantest import CONTEXT, FT, receive

HOST, STAR = b"host", b"*"



class Dealer:
    """A DEALER that sends and receives plain frames."""

    def __init__(self, endpoint, identity=b"+plan-ext-1"):
        self.socket = CONTEXT.socket(zmq.DEALER)
        self.socket.linger = 0
        if identity is not None:
            self.socket.identity = identity
        self.socket.connect(endpoint)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, desc, *frames):
        self.socket.send_multipart([bytes.fromhex(desc), *frames])

    def recv(self, timeout=20):
        """The description in hex, then the frames."""
        parts = receive(self.socket, timeout, "reply")
        return [parts[0].hex(" "), *parts[1:]]

    def ask(self, desc, *frames):
        self.send(desc, *frames)
        return self.recv()

    def silent(self, timeout=0.4):
        return not self.socket.poll(int(timeout * 1000))


# -- R1


def test_discovery_and_install_master(make_center):
    center = make_center("master")
    with Dealer(center.endpoint) as us:
        answer = us.ask("02 01 24 25 00", HOST, STAR)
        assert answer[0] == "01 01 03 00"
        first = json.loads(answer[1])[0]
        assert first["name"] == "PlanDispatcher" and first["is_base"] is True
        assert first["station_type"] == 255 and first["request_port"] > 0
        assert us.ask("05 01 24 25 25 25 25 00", b"install", b"api", b"Test", b"tst",
                      b"test station") == ["00 01 00"]
        assert us.ask("02 01 24 25 00", b"start", b"Test") == ["00 01 00"]
        assert us.ask("02 01 24 25 00", b"start", b"Test") == ["00 03 00"]
        answer = us.ask("02 01 24 25 00", HOST, b"Test")
        assert answer[0] == "01 01 03 00"
        config = json.loads(answer[1])
        assert config["name"] == "Test" and config["station_type"] == 3
        assert {"request_port", "worker_in_port", "worker_out_port"} <= set(config)
        assert "is_base" not in config
        assert us.ask("02 01 24 25 00", HOST, b"None") == ["00 f1 00"]
        assert us.ask("02 01 24 25 00", b"dance", b"Test") == ["00 f3 00"]
        assert us.ask("01 01 25 00", b"x") == ["00 d2 00"]
        assert us.ask("00 2a 00") == ["00 01 00"]
        for wrong in (["01"], ["00 00 00"], ["03 01 24 25 00", HOST, STAR]):
            assert us.ask(*wrong) == ["00 d1 00"]
        assert us.ask("02 01 24 25", HOST, STAR)[0] == "01 01 03 00"      # END may be missing
        # 80 is no wrong command there; and an empty description does not kill it.
        assert us.ask("01 80 24 00", HOST)[0] == "01 01 03 00"
        assert us.ask("") == ["00 d1 00"] and not center.died


def test_discovery_and_install_seed(make_center):
    center = make_center("seed")
    with Dealer(center.endpoint) as us:
        install = (b"install", b"api", b"Test", b"tst")
        assert us.ask("04 01 24 25 25 25 00", *install) == ["00 01 00"]
        assert us.ask("04 01 24 25 25 25 00", *install) == ["00 82 00"]
        assert us.ask("02 01 24 25 00", b"start", b"Test") == ["00 01 00"]
        assert us.ask("02 01 24 25 00", b"start", b"Test") == ["00 03 00"]
        assert us.ask("02 01 24 25 00", HOST, b"None") == ["00 83 00"]
        assert us.ask("02 01 24 25 00", b"dance", b"Test") == ["00 84 00"]
        assert us.ask("02 01 24 25 00", b"install", b"api") == ["00 8a 00"]
        assert us.ask("01 80 24 00", HOST) == ["00 85 00"]
        listed = json.loads(us.ask("02 01 24 25 00", HOST, STAR)[1])
        assert [one["station_name"] for one in listed] == \
            ["HealthCenter", "PlanDispatcher", "RemoteLog", "SystemManage", "Test"]
        assert all("name" not in one and "is_base" not in one for one in listed)
        us.send("")
        assert us.silent() and center.died


def test_discovery_v1_5(make_center):
    center = make_center("v1.5", Test="api")
    with Dealer(center.endpoint) as us:
        answer = us.ask("03 01 24 25 07 00", HOST, STAR, KEY)
        assert answer[0] == "02 01 01 03 fe 00 00 00 00 00" and answer[1] == b"281474976710657"
        assert [one["name"] for one in json.loads(answer[2])][-1] == "Test"
        denied = ["00 f9 fe 00 00 00 00 00 00 00"]
        assert us.ask("02 01 24 25 00", HOST, STAR) == denied
        assert us.ask("03 01 24 25 07 00", HOST, STAR, b"other") == denied
        assert us.ask("03 01 07 24 25 00", KEY, HOST, STAR) == denied
        assert us.ask("00 2a 00") == ["00 01 fe 00 00 00 00 00 00 00"]
        us.send("04 50 49 4e 47")
        assert us.silent()


def test_the_list_is_kept_until_a_station_is_saved(make_center):
    center = make_center("master", Test="api")
    with Dealer(center.endpoint) as us:
        def state():
            listed = json.loads(us.ask("02 01 24 25 00", HOST, STAR)[1])
            return {one["name"]: one.get("station_state", 0) for one in listed}["Test"]
        assert state() == 3
        center["Test"].pause()
        assert state() == 3
        center.install("More")
        assert state() == 4


# -- R3 and R8

RUN = (b"{}", b"api/plan", b'{"i":0}', b"{}", b"*20480", b"*20480", b"5000")
RUN_DESC = "07 03 23 24 25 05 04 3e 01 00"


@pytest.mark.parametrize("flavour, runing, result", [
    ("seed", "03 03 3e 04 01 00", "03 01 4a 3e 01"),
    ("master", "03 03 3e 04 01 00", "03 01 4a 3e 01"),
    ("v1.5", "03 03 04 3e 01 fe 00 00 00 00", "07 01 3e 04 0b 01 4a 07 3c fe")])
def test_a_run_of_an_outside_dispatcher(make_center, flavour, runing, result):
    center = make_center(flavour, Test="api")
    desc, frames = RUN_DESC, RUN
    if flavour == "v1.5":
        desc, frames = "08 03 23 24 25 05 04 3e 01 07 00", (*RUN, KEY)
    with Dealer(center["Test"].endpoint) as us:
        assert us.ask(desc, *frames) == [runing, b"*20480", b"*20480", b"5000"]
        job = center["Test"].job()
        assert job.identity == b"+plan-ext-1" and job.desc.hex(" ") == desc
        assert job.frames == frames
        job.finish(value={"a": 1})
        answer = us.recv()
        assert answer[0] == result
        if flavour == "v1.5":
            assert answer[1:] == [b"*20480", b"*20480", b"", b"5000", b'{"a": 1}', KEY,
                                  b"+<Test-worker"]
        else:
            assert answer[1:] == [b'{"a": 1}', b"*20480", b"5000"]
        # Without a worker.
        center["Test"].workers = 0
        since = time.monotonic()
        refused = {"seed": "03 88 3e 04 01 00", "master": "03 f2 3e 04 01 00",
                   "v1.5": "03 f2 04 3e 01 fe 00 00 00 00"}[flavour]
        assert us.ask(desc, *frames) == [refused, b"*20480", b"*20480", b"5000"]
        assert flavour != "v1.5" or time.monotonic() - since >= 0.5


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_without_a_global_id(make_center, flavour):
    center = make_center(flavour, Test="api")
    desc, frames = "06 03 23 24 25 05 04 3e 00", RUN[:6]
    with Dealer(center["Test"].endpoint) as us:
        if flavour == "master":
            assert us.ask(desc, *frames) == ["02 d1 3e 04 00", b"*20480", b"*20480"]
            center["Test"].no_job(0.2)
        elif flavour == "seed":
            assert us.ask(desc, *frames) == ["02 85 3e 04 00", b"*20480", b"*20480"]
            assert us.recv() == ["03 03 3e 04 01 00", b"*20480", b"*20480", b"+plan-ext-1"]
        else:
            answer = us.ask("07 03 23 24 25 05 04 3e 07 00", *frames, KEY)
            assert answer == ["03 03 04 3e 01 fe 00 00 00 00", b"*20480", b"*20480",
                              b"281474976710657"]
            assert center["Test"].job().types == bytes.fromhex("2324 2505 043e 0701")


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("identity, status, result", [
    (b"+plan-ext-1", True, True), (b"plain", True, True), (b"*77", True, False),
    (b"-x", True, False), (b"#x", True, None), (b"a\0b", False, True), (None, False, True)])
def test_identities(make_center, flavour, identity, status, result):
    """What is told to which sender; `#` is a proxy's from v1.1 on."""
    center = make_center(flavour, Test="api")
    desc, frames = RUN_DESC, RUN
    if flavour == "v1.5":
        desc, frames = "08 03 23 24 25 05 04 3e 01 07 00", (*RUN, KEY)
    if result is None:
        result = flavour != "v1.5"
    with Dealer(center["Test"].endpoint, identity) as us:
        us.send(desc, *frames)
        job = center["Test"].job()
        if status:
            assert us.recv()[0].startswith("03 03")
        job.finish()
        if result:
            assert us.recv()[1 if flavour == "v1.5" else 2] == b"*20480"
        assert us.silent(0.1)
        assert len(center.misrouted) == (0 if result else 1)


def test_an_ordinary_call(make_center):
    center = make_center("master", Test="api")
    with Dealer(center["Test"].endpoint) as us:
        answer = us.ask("01 3e 3e 00", b"rq-1")
        assert answer[:2] == ["02 01 3e 01 00", b"rq-1"] and int(answer[2], 16)
        us.send("06 01 24 04 23 25 3e 01", b"api/hello", b"rq-1", b"{}", b'{"a":1}', b"me", b"1001")
        center["Test"].job().finish()
        assert us.recv() == ["03 01 4a 3e 01", b'{"ok": true}', b"me", b"1001"]     # no RUNING


@pytest.mark.parametrize("flavour, desc, refusal", [
    ("seed", "01 82 3e 00", b"+plan-ext-1"), ("master", "00 d1 00", None), ("v1.5", None, None)])
def test_what_the_worker_s_library_refuses(make_center, flavour, desc, refusal):
    """The seed's wants CONTEXT too, and each wants it with something in it."""
    center = make_center(flavour, Test="api")
    frames = (b"", *RUN[1:6], b"5000") if flavour == "seed" else (*RUN[:1], b"", *RUN[2:])
    with Dealer(center["Test"].endpoint) as us:
        if flavour == "v1.5":
            us.send("08 03 23 24 25 05 04 3e 01 07 00", *frames, KEY)
        else:
            us.send(RUN_DESC, *frames)
        assert us.recv()[0][3:5] == "03"
        answer = us.recv()
        if desc:
            assert answer[0] == desc and (refusal is None or answer[1] == refusal)
        assert len(center["Test"].wrong_jobs) == 1
        center["Test"].no_job(0)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_waiting_and_late_results(make_center, flavour):
    center = make_center(flavour, Test="api")
    desc, frames = RUN_DESC, RUN
    if flavour == "v1.5":
        desc, frames = "08 03 23 24 25 05 04 3e 01 07 00", (*RUN, KEY)
    with Dealer(center["Test"].endpoint) as us:
        us.ask(desc, *frames)
        job = center["Test"].job()
        for _ in range(2):
            job.waiting()
            assert us.recv()[0].split()[1] == "23"
        for status in (0x80, 0xF0, 0x01):
            job.finish(status)
            assert us.recv()[0].split()[1] == f"{status:02x}"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_paused(make_center, flavour):
    center = make_center(flavour, Test="api")
    desc, frames = RUN_DESC, RUN
    if flavour == "v1.5":
        desc, frames = "08 03 23 24 25 05 04 3e 01 07 00", (*RUN, KEY)
    with Dealer(center["Test"].endpoint) as us:
        assert us.ask("00 2a 00" if flavour == "v1.5" else "01 3e 04 00",
                      *([] if flavour == "v1.5" else [b"r"]))
        center["Test"].pause()
        us.send(desc, *frames)
        if flavour == "seed":
            assert us.silent()
        elif flavour == "master":
            assert us.recv() == ["00 81 00"]
        else:
            assert us.recv() == ["03 81 04 3e 01 fe 00 00 00 00", b"*20480", b"*20480", b"5000"]
        center["Test"].no_job(0)
        center["Test"].resume()
        if flavour != "seed":
            us.send(desc, *frames)
        assert us.recv()[0][3:5] == "03"
        center["Test"].job()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_run_sent_while_the_station_is_down_is_done_afterwards(make_center, flavour):
    """By a DEALER that waits for the station; and the center comes back where it was."""
    center = make_center(flavour, Test="api")
    desc, frames = RUN_DESC, RUN
    if flavour == "v1.5":
        desc, frames = "08 03 23 24 25 05 04 3e 01 07 00", (*RUN, KEY)
    port = center["Test"].port
    center.stop()
    with Dealer(center["Test"].endpoint) as us:
        us.send(desc, *frames)
        assert us.silent()
        center.start()
        assert center["Test"].port == port
        assert us.recv()[0][3:5] == "03"
        assert center["Test"].job().global_id == b"5000"
        center["Test"].stop()
        center["Test"].start()
        center["Test"].no_job(0.2)


# -- 3.2


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_pub(make_center, flavour):
    center = make_center(flavour, News="pub")
    news = CONTEXT.socket(zmq.SUB)
    news.linger = 0
    news.subscribe(b"")
    news.connect(f"tcp://127.0.0.1:{center['News'].port + 1}")
    key = [KEY] if flavour == "v1.5" else []
    tail = "07 00" if key else "00"
    with Dealer(center["News"].endpoint) as us:
        ids = [b"*1", b"*1", b"5"]
        codes = {"seed": ("01", "85"), "master": ("01", "d1"), "v1.5": ("01", "d1")}[flavour]
        shape = "03 {} 04 3e 01 fe 00 00 00 00" if key else "03 {} 3e 04 01 00"
        count = f"{5 + len(key):02x}"
        deadline = time.monotonic() + 5
        while not news.poll(50):        # a subscriber that comes too late misses it
            assert time.monotonic() < deadline
            assert us.ask(f"{count} 03 2a 54 04 3e 01 {tail}", b"title", b"text", *ids,
                          *key) == [shape.format(codes[0]), *ids]
        published = news.recv_multipart()
        assert published[0] == b"title" and published[1].hex(" ").startswith(f"{count} 03 2a 54")
        frames = [b"text", *ids, *key]
        assert published[2:] == (frames if flavour == "seed" else [b"title", *frames])
        assert us.ask(f"{4 + len(key):02x} 03 54 04 3e 01 {tail}", b"text", *ids,
                      *key) == [shape.format(codes[1]), *ids]
    news.close()


# -- events


@pytest.mark.parametrize("flavour, installed, noise", [
    ("seed", [b"zero_event", "02 0a 3e 54 00", b"New"], [b"zero_event", "01 04 3e 00", b""]),
    ("master", [b"station", "02 0a 40 54 00", b"New"], [b"worker", "01 04 40 00", b""]),
    ("v1.5", [b"station", "02 0a 24 54 00", b"New"], [b"worker", "01 04 24 04", b""])])
def test_events(make_center, flavour, installed, noise):
    center = make_center(flavour)
    events = CONTEXT.socket(zmq.SUB)
    events.linger = 0
    events.subscribe(b"")
    events.connect(f"tcp://127.0.0.1:{center.port + 1}")

    def until(wanted):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            parts = receive(events, 5, "event")
            if [parts[0], parts[1].hex(" "), parts[2]] == wanted:
                return parts
        raise AssertionError(wanted)
    assert len(until(noise)) == 3
    center.install("New", started=False)
    parts = until(installed)
    assert len(parts) == (3 if flavour == "seed" else 4)    # the seed forgets the content
    if flavour != "seed":
        assert json.loads(parts[3])["name"] == "New"
    center["New"].start()
    until([installed[0], installed[1].replace("0a", "05"), b"New"])
    events.close()


def test_a_plan_is_handed_on(make_center):
    """To who takes plans: [caller][description, padded][frames and the station's name]."""
    center = make_center("seed", Test="api")
    taker = CONTEXT.socket(zmq.ROUTER)
    taker.linger = 0
    port = taker.bind_to_random_port("tcp://127.0.0.1")
    center["Test"].forward_plans_to(f"tcp://127.0.0.1:{port}")
    with Dealer(center["Test"].endpoint, b"+>client") as us:
        us.send("03 02 05 24 25 00", b"{}", b"do", b"")
        parts = receive(taker, 5, "plan")
        assert parts[1] == b"+>client"
        assert parts[2].hex(" ") == "04 02 05 24 25 02" + " 00" * 10
        assert parts[3:] == [b"{}", b"do", b"", b"Test"]
        taker.send_multipart([parts[0], b"\1\2\1\0", b"7"])
        assert us.recv() == ["01 02 01 00", b"7"]
    taker.close()


def test_a_plan_nobody_takes(make_center):
    center = make_center("seed", Test="api")
    with Dealer(center["Test"].endpoint) as us:
        assert us.ask("03 02 05 24 25 00", b"{}", b"do", b"") == [f"00 {SEED.SEND_ERROR:02x} 00"]
    assert center["Test"].identities == [b"+plan-ext-1"]
    assert center.seen[-1].get(FT.COMMAND) == b"do"
