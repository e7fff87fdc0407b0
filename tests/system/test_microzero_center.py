"""MicroZero centers: their stations are found, and may forward their clients' plans to us.

Discovery by itself is tested in test_center.py.
"""
import json
import time

import pytest

from clitest import DONE, REFUSED, zplan
from microzero import (EVENT, FLAVOURS, KEY, FakeCenter, FalseCenter, pick_ports, stations,
                       wait_connected)
from zplanprocs import RSS_MIB, run_once, wait_until
from zplantest import (CMD, FT, ST, Client, at_once, describe, every, later, pack, plan_frames,
                       told)

TITLE = [(FT.PUB_TITLE, b"weather")]


@pytest.fixture(params=FLAVOURS)
def center(request, make_center):
    return make_center(request.param, Test="api", News="pub")


def added(rig, plan, station="Test", **where):
    return rig.client.added(plan, station=station, **where)


def run_one(rig, center):
    ident = added(rig, at_once())
    center["Test"].job().finish()
    rig.gone(ident, "Test")


def found(rig, *names):
    wait_connected(rig, *names)
    return stations(rig)


def test_stations_of_a_center_become_targets(make_rig, center):
    rig = make_rig("--center", center.setting)
    listed = found(rig, "Test", "News")
    for name, target in listed.items():     # what `station add` takes, without its key
        assert target.pop("text").startswith(f"{name}={target['type']}@{target['endpoint']}")
        assert target.pop("key", True) is True
    wanted = {"dialect": "zeronet" if center.flavour == "seed" else "microzero",
              "mailbox": "identity", "origin": "center", "connected": True, "unanswered": 0}
    assert listed["Test"] == {**wanted, "type": "api", "endpoint": center["Test"].endpoint}
    assert listed["News"] == {**wanted, "type": "pub", "endpoint": center["News"].endpoint}
    assert set(listed) == {"Test", "News", "jobs", "news"}      # none of the center's own
    assert listed["jobs"]["origin"] == "settings"
    run_one(rig, center)
    rig.gone(added(rig, at_once(), "News", head=TITLE), "News")


def test_a_station_installed_later(make_rig, center):
    """Found through the event: much earlier than the next question without one."""
    rig = make_rig("--center", center.setting)
    found(rig, "Test")
    refused = rig.client.submit(later(), station="Later")
    assert refused.code == ST.NOT_FIND, refused
    began = time.monotonic()
    center.install("Later")
    wait_until(lambda: "Later" in stations(rig), "the station is found", 5)
    wait_connected(rig, "Later")
    assert time.monotonic() - began < 8
    ident = added(rig, at_once(), "Later")
    center["Later"].job().finish()
    rig.gone(ident, "Later")


def test_a_station_with_another_port(make_rig, center):
    rig = make_rig("--center", center.setting)
    found(rig, "Test")
    ident = added(rig, later(4))
    old = center["Test"].endpoint
    center.reinstall("Test")
    assert center["Test"].endpoint != old
    wait_until(lambda: stations(rig).get("Test", {}).get("endpoint") == center["Test"].endpoint,
               "the new port", 8)
    wait_connected(rig, "Test")
    center["Test"].job().finish()
    rig.gone(ident, "Test")


def test_a_station_that_is_removed(make_rig, center):
    rig = make_rig("--center", center.setting)
    found(rig, "Test", "News")
    center.remove("Test")
    wait_until(lambda: "Test" not in stations(rig), "it is gone", 8)
    assert "News" in stations(rig)
    assert rig.client.submit(later(), station="Test").code == ST.NOT_FIND


def test_a_plan_whose_station_comes_back(make_rig, center):
    rig = make_rig("--center", center.setting)
    found(rig, "Test")
    ident = added(rig, later(3))
    center.remove("Test")
    wait_until(lambda: "Test" not in stations(rig), "it is gone", 8)
    wait_until(lambda: rig.message(ident, "Test")["last_state"] == ST.SEND_ERROR,
               "tried in vain", 10)
    center.do(center.stations.pop, "Test", None)
    center.install("Test")
    center["Test"].job().finish()
    rig.gone(ident, "Test")


def test_a_center_that_goes_takes_nothing_with_it(make_rig, center):
    """Its stations are processes of their own to us."""
    rig = make_rig("--center", center.setting)
    found(rig, "Test")
    center.do(center.manage.close)
    wait_until(lambda: "center.lost" in rig.station.log_tail(1 << 20), "center.lost", 20)
    run_one(rig, center)
    assert stations(rig)["Test"]["origin"] == "center"
    center.do(center.manage.open)
    center.install("More")
    wait_until(lambda: "More" in stations(rig), "the center is back", 15)
    log = rig.station.log_tail(1 << 20)
    assert log.count("event=center.lost") == 1 and "event=center.found" in log
    assert KEY.decode() not in log


def told_of_center(rig, text):
    """The finding of `zplan doctor` with this text, and its exit status."""
    def found_it():
        ended = zplan("--connect", rig.ipc("q"), "doctor", "--json=wire")
        for finding in json.loads(ended.out)["findings"]:
            if text in finding["text"]:
                return finding, ended.code
        return None
    return wait_until(found_it, text)


def test_doctor_tells_of_a_wrong_key(make_rig, make_center):
    center = make_center("v1.5", Test="api")
    rig = make_rig("--center", center.endpoint + ",key=secret-word")
    finding, code = told_of_center(rig, "the service key is wrong or missing")
    assert code == REFUSED and finding["level"] == "problem"
    assert center.endpoint in finding["text"] and "key=TEXT" in finding["do"]
    assert "secret-word" not in json.dumps(finding)


def test_doctor_tells_of_a_center_that_is_gone(make_rig, make_center):
    """The stations that it listed stay, so it is a warning."""
    center = make_center("master", Test="api")
    rig = make_rig("--center", center.setting)
    found(rig, "Test")
    center.do(center.manage.close)
    center.emit(EVENT.START, "", title="system")    # it is asked again now
    finding, code = told_of_center(rig, "does not list its stations: no answer")
    assert code == DONE and finding["level"] == "warning"
    center.do(center.manage.open)
    wait_until(lambda: "does not list" not in zplan("--connect", rig.ipc("q"), "doctor").out,
               "the center is back")


def test_a_center_that_comes_later(make_rig):
    port = pick_ports(2)
    rig = make_rig("--center", f"tcp://127.0.0.1:{port}")
    rig.client.added(later())
    _, code = told_of_center(rig, f"the center tcp://127.0.0.1:{port} does not list its stations")
    assert code == REFUSED
    with FakeCenter("master") as center:
        center.do(center.manage.close)
        center.do(setattr, center.manage, "port", port)
        center.do(center.manage.open)
        center.install("Test")
        wait_connected(rig, "Test")


def test_the_settings_win(make_rig, make_center):
    center = make_center("master", jobs="api", Test="api")
    rig = make_rig("--center", center.setting)
    listed = found(rig, "Test")
    assert listed["jobs"]["origin"] == "settings" and listed["jobs"]["endpoint"].startswith("ipc:")
    ident = added(rig, at_once(), "jobs")
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)


def test_a_center_s_station_is_not_removed_by_hand(make_rig, make_center):
    center = make_center("master", Test="api")
    rig = make_rig("--center", center.setting)
    found(rig, "Test")
    refused = rig.client.manage("station", "remove", "Test")
    assert refused.code == ST.ARG_ERROR, refused
    assert "Test" in stations(rig)


FALSE = {
    "silent": None,
    "no description": [b""],
    "no list": [b"\0\1\0"],
    "not OK": [b"\0\x84\0"],
    "no JSON": [b"\1\1\3\0", b"\xff"],
    "deep": [b"\1\1\3\0", b"[" * 100000],
    "large": [b"\1\1\3\0", b" " * (8 << 20)],
    "many frames": [b"\xff\1" + b"\3" * 255, *[b"x"] * 255],
    "nothing usable": [b"\1\1\3\0", json.dumps(
        [{"name": name, "station_type": kind, "request_port": port}
         for name, kind, port in (("", 3, 9), ("*", 3, 9), ("a:b", 3, 9), ("x" * 65, 3, 9),
                                  ("p0", 3, 0), ("p1", 3, 65536), ("p2", 3, "9"), ("p3", 3, -1),
                                  ("t0", 1, 9), ("t1", 255, 9), ("t2", 5, 9))]).encode()],
}


@pytest.mark.parametrize("case", FALSE)
def test_a_false_center(make_rig, case):
    """It names no station, and nobody is the worse for it."""
    with FalseCenter(FALSE[case]) as center:
        rig = make_rig("--center", center.endpoint)
        wait_until(lambda: len(center.asked) >= 1, "asked")
        ident = rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(ident)
        if case not in ("silent", "nothing usable"):
            wait_until(lambda: len(center.asked) >= 2, "asked again", 10)
        assert set(stations(rig)) == {"jobs", "news"}
        if case != "nothing usable":
            wait_until(lambda: "center.lost" in rig.station.log_tail(1 << 20), "center.lost")
        assert rig.station.log_tail(1 << 20).count("center.lost") <= 1


def test_more_stations_than_there_is_room(make_rig):
    """At most 256 targets, whatever a center names; the settings' are among them."""
    many = [{"name": f"s{n}", "station_type": 3, "request_port": 1 + n % 100} for n in range(2000)]
    with FalseCenter([b"\1\1\3\0", json.dumps(many).encode()]) as center:
        rig = make_rig("--center", center.endpoint)
        wait_until(lambda: len(stations(rig)) >= 256, "256 targets")
        assert len(stations(rig)) == 256 and {"jobs", "news"} <= set(stations(rig))
        ident = rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(ident)


def test_a_center_that_changes_all_the_time(make_rig):
    """All its stations move to other ports, whenever it is asked: other plans run on."""
    lists = [json.dumps([{"name": f"s{n}", "station_type": 3, "request_port": base + n}
                         for n in range(256)]).encode() for base in (1000, 2000)]
    start = time.monotonic()
    with FalseCenter([b"\1\1\3\0", lists[0]]) as center:
        rig = make_rig("--center", center.endpoint)
        wait_until(lambda: len(stations(rig)) >= 256, "256 targets")
        before, end, turn = rig.station.rss_mib(), time.monotonic() + 12, 0
        while time.monotonic() < end:
            turn += 1
            center.answer = [b"\1\1\3\0", lists[turn % 2]]
            center.do(center.emit, EVENT.JOIN, "s0")
            ident = rig.client.added(at_once())
            rig.jobs.finish(rig.jobs.recv())
            rig.gone(ident)
        assert rig.station.rss_mib() - before < RSS_MIB
        # Asked again at its own pace, not as often as the center has news.
        assert len(center.asked) < 10 + 2 * (time.monotonic() - start)


@pytest.mark.parametrize("wrong", ["ipc:///tmp/x", "127.0.0.1:8000", "tcp://:8000", "tcp://h:0",
                                   "tcp://h:65535", "tcp://h:8000,key=", "tcp://h:8000,colour=red"])
def test_wrong_centers(tmp_path, wrong):
    code, _, err = run_once(["--center", wrong, "--request", f"ipc://{tmp_path}/q",
                             "--redis", "unix:/nowhere"])
    assert code in (1, 2) and "center" in err and len(err.splitlines()) == 1


# -- a station that forwards its clients' plans


@pytest.fixture
def forwarding(make_rig, center):
    """A rig that knows the api station, which hands it its clients' plans."""
    rig = make_rig("--station", center.target("Test"))
    wait_connected(rig, "Test")
    center["Test"].forward_plans_to(rig.ipc("q"))
    return rig


def test_a_plan_that_a_station_forwards(forwarding, center):
    """[caller][description, padded][frames and the station's name]: the caller gets the answer."""
    rig = forwarding
    client = rig.keep(Client(center["Test"].endpoint, identity=b"+>client-1-77"))
    more = [(FT.ARG, b'{"k":7}'), (FT.REQUEST_ID, b"rq-77"), (FT.REQUESTER, b"boss")]
    reply = client.submit(every(1, 2, no_keep=True), station=None, more=more)
    assert reply.code == ST.PLAN, reply
    ident = reply.get(FT.GLOBAL_ID).decode()
    assert reply.get(FT.REQUESTER) == b"boss" and reply.get(FT.REQUEST_ID) == b"rq-77"
    message = rig.message(ident, "Test")
    assert message["caller"] == "+>client-1-77" and message["station"] == "Test"
    assert message["request_id"] == "rq-77"
    results = rig.subscribe(b"every")
    for count in (1, 2):
        job = center["Test"].job()
        assert job.get(FT.COMMAND) == b"do" and job.get(FT.ARG) == b'{"k":7}'
        assert FT.STATION_ID not in job.types
        job.finish()
        assert told(results.recv())["real_repet"] == count
    rig.gone(ident, "Test")


def test_a_refusal_goes_back_the_same_way(forwarding, center):
    rig = forwarding
    client = rig.keep(Client(center["Test"].endpoint, identity=b"+>client-2"))
    before = rig.dump()
    reply = client.submit(every(40000, 2), station=None, more=[(FT.REQUEST_ID, b"r")])
    assert reply.code == ST.PLANERROR and "plan_value" in reply.text
    assert reply.get(FT.REQUEST_ID) == b"r"
    assert rig.dump() == before


@pytest.mark.parametrize("caller", [b"+>c", b"plain", b"\0\1\2\3\4", b"\xff" * 255, b"-x", b"#x"])
@pytest.mark.parametrize("tail", [b"", b"\0", b"\0" * 10, b"\xfe" + b"\0" * 6])
def test_any_caller_and_any_padding(shared, caller, tail):
    pairs = [*plan_frames(later(), station=None), (FT.STATION_ID, b"jobs")]
    desc = describe(CMD.PLAN, [t for t, _ in pairs])[:-1] + tail
    shared.client.socket.send_multipart([caller, *pack(CMD.PLAN, pairs, desc)])
    reply = shared.client.recv()
    assert reply.code == ST.PLAN, reply
    message = shared.message(reply.get(FT.GLOBAL_ID).decode())
    stored = message["caller"]
    assert (stored.encode() == caller) if isinstance(stored, str) else list(stored) == ["b64"]
