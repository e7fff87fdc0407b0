"""zplan-web: the stream of events."""
import contextlib
import http.client
import json
import os
import re
import shutil
import socket

import pytest
import zmq

from test_web_users import Gateway, bearer
from webtest import LATE, make_web, needs_web, plan, web  # noqa: F401 fixtures
from zplanprocs import wait_until
from zplantest import ST, at_once, describe

pytestmark = needs_web
ONCE = {"retry": {"strategy": "none"}}


class Stream:
    """A reader as a browser has it."""

    def __init__(self, web, query="", headers=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=LATE)
        self.connection.request("GET", "/v1/stream" + query, headers=headers or {})
        self.response = self.connection.getresponse()
        self.last = None

    def next(self, *skip):
        """(name, data) of the next event that is none of these."""
        while True:
            name, data = None, None
            while line := self.response.readline().decode().rstrip("\n"):
                field, _, value = line.partition(": ")
                name = value if field == "event" else name
                data = json.loads(value) if field == "data" else data
                self.last = value if field == "id" else self.last
            if name is None and self.response.isclosed():
                return None, None
            if name and name not in skip:
                return name, data

    def run(self):
        name, data = self.next("plan", "stats", "reload")
        assert name == "run", (name, data)
        return data

    def close(self):
        self.connection.close()
        self.response.close()


@pytest.fixture
def follow():
    with contextlib.ExitStack() as stack:
        def make(*args, **more):
            return stack.enter_context(contextlib.closing(Stream(*args, **more)))
        yield make


def end_a_run(rig, status=ST.OK, **fields):
    ident = rig.client.added(at_once(**ONCE, **fields))
    rig.jobs.finish(rig.jobs.recv(), status)
    return ident


def test_runs_come_as_they_end(web, rig, follow):
    end_a_run(rig)
    wait_until(lambda: web.get("/v1/runs").json["items"], "it has ended")
    stream = follow(web)
    assert stream.response.status == 200 and stream.response.headers["Content-Type"] == "text/event-stream"
    name, hello = stream.next()
    assert name == "hello" and hello["station"] == "up" and hello["last"] == 1
    idents = [end_a_run(rig, status) for status in (ST.OK, ST.FAILED, ST.OK)]
    found = [stream.run() for _ in idents]
    assert [run["plan"] for run in found] == idents and [run["status"] for run in found] == ["ok", "failed", "ok"]
    assert stream.last == f"{hello['epoch']}-4"
    assert found == web.get("/v1/runs").json["items"][1:]        # the same as they are read


def test_only_what_somebody_follows_is_asked_of_the_station(rig, make_web, follow):
    with zmq.Context() as context, context.socket(zmq.XPUB) as publisher:
        publisher.linger, publisher.rcvtimeo = 0, int(LATE * 1000)
        web = make_web(rig, events=f"tcp://127.0.0.1:{publisher.bind_to_random_port('tcp://127.0.0.1')}")

        def publish(code, name, **state):
            publisher.send_multipart([f"plan.{name}.jobs".encode(), describe(code, b"@#"), b"2a", json.dumps(state).encode()])

        def asked_for(*topics):
            while said != {topic.encode() for topic in topics}:
                message = publisher.recv()
                (said.add if message[0] else said.discard)(message[1:])
        said = set()
        first = follow(web)
        assert first.next()[0] == "hello"
        asked_for("plan.result.")
        second = follow(web, "?what=events")
        assert second.next()[0] == "hello"
        asked_for("")
        assert second.next()[0] == "reload"         # once the station has most likely got the subscription
        publish(1, "add", plan_id=42, station="jobs", seq=1, epoch="e")
        assert second.next()[0] == "reload"         # and where it got it later
        name, data = second.next()
        assert (name, data["event"], data["id"]) == ("plan", "add", "2a")
        publish(4, "exec", plan_id=42, station="jobs", seq=2, epoch="e")
        assert second.next()[0] == "plan"
        publish(4, "exec", plan_id=42, station="jobs", seq=4, epoch="e")       # one was missed
        assert [second.next()[0], second.next()[0]] == ["reload", "plan"]


@pytest.mark.parametrize("by", ["header", "query"])
def test_a_stream_goes_on_where_it_was(web, rig, follow, make_web, by):
    stream = follow(web)
    assert stream.next()[1]["epoch"] == ""     # before the first run of all
    first = end_a_run(rig)
    assert stream.run()["plan"] == first
    last = stream.last
    stream.close()
    missed = [end_a_run(rig) for _ in range(3)]
    wait_until(lambda: len(web.get("/v1/runs").json["items"]) == 4, "they have ended")
    for other in (web, make_web(rig)):     # a gateway that was started anew knows as much
        again = follow(other, *(["", {"Last-Event-ID": last}] if by == "header" else [f"?after={last}"]))
        assert again.next()[0] == "hello"
        assert [again.run()["plan"] for _ in missed] == missed
        assert again.last == last.replace("-1", "-4")


def test_many_missed_runs_are_read_page_by_page(web, rig, follow):
    for _ in range(230):
        rig.client.added(at_once(**ONCE))
        rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: web.get("/v1/runs?newest=1&limit=1").json["items"][0]["entry"] == "230-0", "all have ended")
    epoch = web.get("/v1/runs?limit=1").json["epoch"]
    again = follow(web, headers={"Last-Event-ID": f"{epoch}-10"})
    assert again.next()[0] == "hello"
    assert [again.run()["entry"] for _ in range(220)] == [f"{seq}-0" for seq in range(11, 231)]
    assert again.last == f"{epoch}-230"


@pytest.mark.parametrize("ident", ["other-5", "x", "-", "", "5", "a" * 200 + "-1", "-9223372036854775808"])
def test_an_id_of_another_epoch_is_a_gap(web, rig, follow, ident):
    end_a_run(rig)
    wait_until(lambda: web.get("/v1/runs").json["items"], "it has ended")
    stream = follow(web, headers={"Last-Event-ID": ident})
    assert stream.next()[0] == "hello" and stream.next()[0] == "gap"
    ident = end_a_run(rig)
    assert stream.run()["plan"] == ident


def test_filters(web, rig, follow):
    streams = [follow(web, query) for query in ("?target=news", "?title=week*", "?plan=2a", "?what=results,events", "?what=stats")]
    for stream in streams:
        assert stream.next()[0] == "hello"
    ident = rig.client.added({"plan_type": 0, "description": "weekly", **ONCE})
    rig.jobs.finish(rig.jobs.recv())
    assert streams[1].run()["plan"] == ident
    kinds = {streams[3].next()[0] for _ in range(3)}
    assert "plan" in kinds
    assert streams[4].next()[0] == "stats"
    web.get("/v1/stream?what=all").problem(400)
    web.get("/v1/stream?plan=xyz").problem(400)


def test_a_restart_of_the_station(web, rig, follow):
    stream = follow(web)
    assert stream.next()[0] == "hello"
    rig.station.stop()
    assert stream.next()[1]["state"] == "down"
    rig.station.start()
    name, data = stream.next()
    assert name == "station" and data["state"] == "up"
    ident = end_a_run(rig)
    name, data = stream.next()
    while name == "gap":
        name, data = stream.next()
    assert name == "run" and data["plan"] == ident


def test_no_station(make_web, tmp_path, follow):
    web = make_web(f"ipc://{tmp_path}/none")
    stream = follow(web)
    assert stream.response.status == 200 and stream.next() == ("station", {"state": "down"})


def test_streams_are_bounded_and_end_with_the_program(web, rig, follow):
    streams = [follow(web) for _ in range(16)]
    for stream in streams:
        assert stream.next()[0] == "hello"
    web.get("/v1/stream").problem(429, "too_many")
    streams[0].close()
    assert web.stop() == 0


def test_a_stream_that_was_left_does_not_count(web):
    """Somebody who goes from page to page has one stream, not as many as pages."""
    streams = [Stream(web) for _ in range(16)]
    web.get("/v1/stream").problem(429, "too_many")
    for stream in streams:
        stream.close()

    def another():
        connection = Stream(web)
        connection.close()
        return connection.response.status == 200
    wait_until(another, "there is place again", 5)      # far below the 15 seconds of a comment


def test_a_peer_that_does_not_read_holds_up_nobody(web, rig, follow):
    peer = socket.create_connection(("127.0.0.1", web.port), timeout=LATE)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.sendall(b"GET /v1/stream?what=results,events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    stream = follow(web)
    assert stream.next()[0] == "hello"
    for _ in range(300):
        rig.client.added({"plan_type": 0, "description": "x" * 900, **ONCE})
        rig.jobs.finish(rig.jobs.recv())
    for _ in range(300):
        stream.run()
    peer.close()


def test_a_user_sees_what_the_key_may_and_no_longer(make_rig, make_web, follow):
    gateway = Gateway(make_rig, make_web)
    gateway.web.get("/v1/stream").problem(401)
    ann, cy, bob = (follow(gateway.web, "?what=results,events", headers=bearer(gateway.tokens[who])) for who in ("ann", "cy", "bob"))
    for stream in (ann, cy, bob):
        assert stream.next()[0] == "hello"
    gateway.rig.client.added({"plan_type": 0, **ONCE}, station="news")
    gateway.rig.client.added({"plan_type": 0, **ONCE})
    gateway.rig.jobs.finish(gateway.rig.jobs.recv())
    seen = {ann: set(), cy: set()}
    for stream, found in seen.items():
        while True:
            name, data = stream.next("reload", "gap")
            found.add(data.get("target"))
            if name == "run" and data["target"] == "jobs":
                break
    assert seen[cy] == {"jobs"} and "news" in seen[ann]
    os.unlink(os.path.join(gateway.users, "bob.user"))
    name, _ = bob.next("plan", "run", "reload")
    assert name == "bye"


def test_a_stream_ends_with_the_key_of_its_user(make_rig, make_web, follow):
    """Another key in the user's file, or another file under its name."""
    gateway = Gateway(make_rig, make_web)
    ann, cy = (follow(gateway.web, "?what=results", headers=bearer(gateway.tokens[who])) for who in ("ann", "cy"))
    assert ann.next()[0] == cy.next()[0] == "hello"
    file = os.path.join(gateway.users, "cy.user")
    with open(file) as text:
        words = text.read()
    key = re.search(r"(?m)^key *= *(.*)$", words)[1]
    other = key + "-other"
    shutil.copy(key, other)
    with open(file, "w") as text:
        text.write(words.replace(key, other))
    assert cy.next()[0] == "bye"
    again = follow(gateway.web, "?what=results", headers=bearer(gateway.tokens["cy"]))
    assert again.next()[0] == "hello"
    shutil.copy(key, other + "-new")
    os.replace(other + "-new", other)
    assert again.next()[0] == "bye"
    assert gateway.web.get("/v1/plans", **bearer(gateway.tokens["cy"])).status == 200


def test_a_page_without_broadcasts_holds_up_nobody(web, rig, follow):
    """More outcomes that were not broadcast than a page has, for who follows and for who comes back."""
    stream = follow(web)
    first = end_a_run(rig)
    assert stream.next()[0] == "hello" and stream.run()["plan"] == first
    known = stream.last
    run = {"plan": "2a", "station": "jobs", "ended": 1700000000, "status": 1}
    rig.client.done("restore", "history", {"runs": [{**run, "exec_id": number + 1} for number in range(700)]})
    idents = [end_a_run(rig) for _ in range(2)]
    assert [stream.run()["plan"] for _ in idents] == idents
    again = follow(web, headers={"Last-Event-ID": known})
    assert again.next()[0] == "hello" and [again.run()["plan"] for _ in idents] == idents
