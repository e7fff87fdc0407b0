"""Discovery by itself: what is asked of a center, when, and what is found. See center_dump.c."""
import json
import os
import queue
import re
import subprocess
import threading
import time

import pytest

from microzero import (FLAVOURS, IDENTITY, KEY, EVENT, STATE_EVENT, FalseCenter,
                       pick_ports)
from zplanprocs import BIN_DIR, DIES_WITH_PARENT, RSS_MIB, WAIT, cpu_seconds, wait_until

PLACES = [os.path.join(BIN_DIR, place, "center_dump") for place in ("", "tests", "../tests")]
DUMP = next((path for path in PLACES if os.path.exists(path)), None)
pytestmark = pytest.mark.skipif(DUMP is None, reason="center_dump is not built")

LIST = b'[{"name":"Test","station_type":3,"request_port":18008}]'


class Dump:
    """The program, its lists and its log."""

    def __init__(self, setting):
        self.process = subprocess.Popen([*DIES_WITH_PARENT, DUMP, setting], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lists, self.log = queue.Queue(), []
        self.readers = [threading.Thread(target=self._read_lists),
                        threading.Thread(target=self._read_log)]
        for reader in self.readers:
            reader.start()

    def _read_lists(self):
        for line in self.process.stdout:
            self.lists.put((time.monotonic(), json.loads(line)))

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line.decode())

    def next(self, timeout=WAIT):
        """The next list: name -> the rest."""
        try:
            self.at, found = self.lists.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no list within {timeout} s: {self.log}") from None
        return {one.pop("name"): one for one in found}

    def until(self, condition, timeout=WAIT):
        """The lists up to the first for which this holds."""
        end = time.monotonic() + timeout
        while True:
            found = self.next(max(0.01, end - time.monotonic()))
            if condition(found):
                return found

    def none(self, timeout):
        try:
            raise AssertionError(f"not expected: {self.lists.get(timeout=timeout)}")
        except queue.Empty:
            pass

    def logged(self, event):
        return [line for line in list(self.log) if f"event={event} " in line]

    def told(self, event):
        """The first line of this event."""
        wait_until(lambda: self.logged(event), event)
        return self.logged(event)[0]

    def rss_mib(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def end(self):
        """It must still be there, and end well."""
        self.process.stdin.close()
        try:
            code = self.process.wait(WAIT)
        finally:
            self.process.kill()
            for reader in self.readers:
                reader.join(WAIT)
            self.process.stdout.close()
            self.process.stderr.close()
        assert code == 0, self.log


@pytest.fixture
def dump():
    made = []

    def make(setting):
        made.append(Dump(setting))
        return made[-1]
    yield make
    for one in made:
        one.end()


def asked(center):
    return [m for m in center.seen if m.station == "SystemManage"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_stations_are_found(dump, make_center, flavour):
    center = make_center(flavour, Test="api", News="pub", Ballot="vote", Route="rapi",
                         **{"Line": "queue"} if flavour == "v1.5" else {})
    found = dump(center.setting).next()
    seed = flavour == "seed"
    wanted = {"Test": "api", "News": "pub", "Ballot": "vote"}
    if flavour == "v1.5":
        wanted["Line"] = "pub"
    assert found == {name: {"type": kind, "endpoint": center[name].endpoint, "seed": seed}
                     for name, kind in wanted.items()}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_question(dump, make_center, flavour):
    """Byte for byte what the center's own clients send."""
    center = make_center(flavour, Test="api")
    dump(center.setting).next()
    question = asked(center)[0]
    if flavour == "v1.5":
        assert question.parts[1:] == [b"\3\1$%\7\0", b"host", b"*", KEY]
    else:
        assert question.parts[1:] == [b"\2\1$%\0", b"host", b"*"]
    assert IDENTITY.match(question.identity), question.identity


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_change_is_found_through_its_event(dump, make_center, flavour):
    """Long before it would be asked again without one."""
    center = make_center(flavour, Test="api")
    lists = dump(center.setting)
    assert set(lists.next()) == {"Test"}
    wait_until(lambda: center.noise_s and len(center.asked) >= 1, "asked")
    began = time.monotonic()
    for name in ("More", "Other"):
        center.install(name)
        lists.until(lambda found: name in found, 5)
    center.remove("More")
    lists.until(lambda found: "More" not in found, 5)
    old = center["Test"].endpoint
    center.reinstall("Test")
    found = lists.until(lambda found: "Test" in found and found["Test"]["endpoint"] != old, 5)
    assert found["Test"]["endpoint"] == center["Test"].endpoint
    assert len(lists.logged("center.found")) >= 4
    # The events of one moment cause one question, not one each.
    assert len(center.asked) < 3 + (time.monotonic() - began) / 0.2


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_a_center_says_all_the_time_asks_for_nothing(dump, make_center, flavour):
    center = make_center(flavour, Test="api", News="pub")
    center.noise_s = 0.02
    lists = dump(center.setting)
    lists.next()
    lists.none(6)
    assert len(center.asked) == 1
    lists.told("center.found")
    assert len(lists.logged("center.found")) == 1 and not lists.logged("center.lost")


def test_it_is_asked_every_ten_seconds(dump, make_center):
    center = make_center("master", Test="api")
    lists = dump(center.setting)
    lists.next()
    first = lists.at
    lists.next()
    assert 8 < lists.at - first < 20
    assert len(lists.logged("center.found")) == 1       # nothing has changed
    assert len({m.identity for m in asked(center)}) == 1    # and nothing was lost


def test_a_burst_of_events_is_one_question(dump, make_center):
    """As of a center with very many stations that has just started; or a few questions."""
    center = make_center("master", Test="api")
    lists = dump(center.setting)
    lists.next()

    def burst():
        for _ in range(900):    # what a PUB keeps for a subscriber
            center.emit(EVENT.JOIN, "Test", {"name": "Test"})
    center.do(burst)
    lists.next(5)
    wait_until(lambda: time.monotonic() - lists.at > 2, "two seconds later")
    assert len(center.asked) <= 4


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_center_that_comes_back(dump, make_center, flavour):
    center = make_center(flavour, Test="api")
    lists = dump(center.setting)
    lists.next()
    center.stop()
    center.do(center.stations.clear)
    lists.told("center.lost")
    lists.none(0.1)
    center.start()
    center.install("New")
    lists.until(lambda found: set(found) == {"New"}, 15)
    wait_until(lambda: len(lists.logged("center.found")) >= 2, "center.found")
    assert len(lists.logged("center.lost")) == 1


def test_a_center_that_is_not_there_yet(dump):
    port = pick_ports(2)
    lists = dump(f"tcp://127.0.0.1:{port}")
    assert "no answer" in lists.told("center.lost")
    lists.none(0)


def test_a_host_that_does_not_resolve(dump):
    assert "no answer" in dump("tcp://center.invalid").told("center.lost")


def test_no_answer_is_a_new_socket_with_another_identity(dump):
    with FalseCenter() as center:
        lists = dump(center.endpoint)
        wait_until(lambda: len(center.asked) >= 4, "asked four times", 60)
        pauses = [b - a for a, b in zip(center.asked, center.asked[1:])]
        assert all(pause > 2 for pause in pauses) and pauses[2] > pauses[0]     # 3.5, 4, 5 s
        identities = [m.identity for m in asked(center)]
        assert len(set(identities)) == len(identities)
        assert all(map(IDENTITY.match, identities))
        assert len(lists.logged("center.lost")) == 1
        lists.none(0)


def test_a_wrong_key_is_told_and_not_shown(dump, make_center):
    center = make_center("v1.5", Test="api")
    lists = dump(center.endpoint + ",key=secret-word")
    assert "0xf9" in lists.told("center.lost") and "the service key is wrong" in "".join(lists.log)
    assert "secret-word" not in "".join(lists.log)
    lists.none(0.1)


WRONG = {
    "nothing": [b""],
    "two empty frames": [b"", b""],
    "one byte": [b"\1"],
    "not OK": [b"\0\x84\0"],
    "a status with a list": [b"\1\x82\3\0", LIST],
    "no list": [b"\0\1\0"],
    "a list of another type": [b"\1\1J\0", LIST],
    "a count that does not fit": [b"\7\1\3\0", LIST],
    "more frames than a message has": [b"\xff\1" + b"\3" * 255, *[LIST] * 255],
    "a thousand frames": [b"\1\1\3\0", *[LIST] * 1000],
    "an object": [b"\1\1\3\0", LIST[1:-1]],
    "no JSON": [b"\1\1\3\0", b"\xff\xfe"],
    "cut": [b"\1\1\3\0", LIST[:-1]],
    "deep": [b"\1\1\3\0", b"[" * 100000],
    "deep and closed": [b"\1\1\3\0", b"[" * 100 + b"]" * 100],
    "over a mebibyte": [b"\1\1\3\0", b"[" + b" " * (1 << 20) + b"]"],
    "over the limit of the socket": [b"\1\1\3\0", b" " * (8 << 20)],
    "a duplicate field": [b"\1\1\3\0", b'[{"name":"a","name":"a"}]'],
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_answers_are_none(dump, case):
    """And it is asked again, better each time; the next good one is found."""
    with FalseCenter(WRONG[case]) as center:
        lists = dump(center.endpoint)
        wait_until(lambda: len(center.asked) >= 2, "asked again", 20)
        lists.none(0)
        lists.told("center.lost")
        assert len(lists.logged("center.lost")) == 1
        assert all(re.fullmatch(r"[ -~]*\n", line) for line in lists.log)
        center.answer = [b"\1\1\3\0", LIST]
        assert set(lists.next()) == {"Test"}
        lists.told("center.found")
        lists.none(0.1)
        assert len(lists.logged("center.found")) == 1


def test_a_list_is_bounded(dump):
    many = b",".join(b'{"name":"s%d","station_type":3,"request_port":%d}' % (n, n + 1)
                     for n in range(15000))
    with FalseCenter([b"\1\1\3\0", b"[" + many + b"]"]) as center:
        lists = dump(center.endpoint)
        assert set(lists.next()) == {f"s{n}" for n in range(256)}
        assert "left_out=14744" in lists.told("center.found")


def test_names_that_are_none_are_left_out(dump):
    names = ["", "*", "a:b", "a b", "a\nb", "测试", "../x", "a" * 65, "ok", "ok\0x", "%s%n"]
    text = json.dumps([{"name": name, "station_type": 3, "request_port": 9} for name in names])
    with FalseCenter([b"\1\1\3\0", text.replace("\\u0000x", "y").encode()]) as center:
        assert set(dump(center.endpoint).next()) == {"ok", "oky"}


def test_what_comes_unasked_is_no_answer(dump):
    """Answers without a question, in thousands, and the same of events: it neither grows nor
    works much, and reads the answer to its own question."""
    good = [b"\1\1\3\0", LIST]
    with FalseCenter(good) as center:
        lists = dump(center.endpoint)
        lists.next()
        before, worked = lists.rss_mib(), lists.cpu_seconds()
        who = asked(center)[0].identity
        until, blob = time.monotonic() + 5, b"[" + b" " * 50000 + b"]"

        def flood():
            for _ in range(200):
                center.manage.socket.send_multipart([who, b"\1\1\3\0", blob])
                center.events.send_multipart([b"station", b"\2\5@T\0", b"x", blob])
        while time.monotonic() < until:
            center.do(flood)
            time.sleep(0.01)
        assert lists.rss_mib() - before < RSS_MIB
        assert lists.cpu_seconds() - worked < 4
        assert len(center.asked) <= 2 + 5 / 0.2 + 2
        wait_until(lambda: lists.lists.qsize() > 0, "a list")


def test_events_of_any_form(dump, make_center):
    center = make_center("master", Test="api")
    lists = dump(center.setting)
    lists.next()

    def strange():
        for parts in ([b""], [b"", b""], [b"station", b""], [b"station", b"\1"],
                      [b"zero_event", bytes([255, STATE_EVENT["seed"]])], [b"x"] * 100,
                      [b"station", b"\2\5@T\0", b" " * (1 << 20)]):
            center.events.send_multipart(parts)
    for _ in range(20):
        center.do(strange)
    lists.next(5)
    center.install("More")
    lists.until(lambda found: "More" in found, 15)
