"""`zplan metrics`: the text that Prometheus reads, and the small server that serves it."""
import http.client
import json
import math
import re
import signal
import socket
import time

import pytest

from clitest import DONE, NO_ANSWER, REFUSED, USAGE, start, station, zplan  # noqa: F401 station is a fixture
from zplanprocs import wait_until
from zplantest import ST, at_once

SAMPLE = re.compile(r'(zplan_[a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


class Metrics:
    """The text, judged: each series is of a family with HELP and TYPE before it, and is there once."""

    def __init__(self, text):
        self.text, self.types, self.series = text, {}, {}
        family = None
        assert text.endswith("\n")
        for line in text[:-1].split("\n"):
            if head := re.fullmatch(r"# HELP (zplan_[a-z_]+) (.+)", line):
                family = head[1]
                assert family not in self.types
            elif head := re.fullmatch(r"# TYPE (zplan_[a-z_]+) (gauge|counter|histogram)", line):
                assert head[1] == family
                self.types[family] = head[2]
            else:
                sample = SAMPLE.fullmatch(line)
                assert sample, line
                name, labels, value = sample.groups()
                suffixes = ("_bucket", "_sum", "_count") if self.types[family] == "histogram" else ("",)
                assert name in {family + suffix for suffix in suffixes}, line
                key = (name, tuple(sorted(LABEL.findall(labels or ""))))
                assert key not in self.series, line
                self.series[key] = float(value)
        assert all(name.endswith("_total") == (kind == "counter") for name, kind in self.types.items())

    def value(self, name, **labels):
        return self.series["zplan_" + name, tuple(sorted(labels.items()))]

    def labels(self, name, label):
        return {dict(labels)[label] for family, labels in self.series if family == "zplan_" + name}

    def buckets(self, name, **labels):
        """[(bound, runs up to it)], ascending."""
        of_it = [(float(dict(key)["le"]), value) for (family, key), value in self.series.items()
                 if family == f"zplan_{name}_bucket" and set(labels.items()) <= set(key)]
        return sorted(of_it)


def metrics(rig, *args):
    return Metrics(zplan("--connect", rig.ipc("q"), "metrics", *args).done())


class Server:
    """zplan metrics --listen on a free port."""

    def __init__(self, endpoint, *args):
        self.process = start("--connect", endpoint, "metrics", "--listen", "127.0.0.1:0", *args)
        self.url = self.process.stdout.readline().decode().strip()
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/metrics", self.url)[1])

    def get(self, path="/metrics", method="GET", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer, answer.read().decode()

    def raw(self, data, close=False):
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as peer:
            peer.sendall(data)
            if close:
                peer.shutdown(socket.SHUT_WR)
            received = b""
            while piece := peer.recv(65536):
                received += piece
            return received

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture
def serve():
    servers = []

    def make(endpoint, *args):
        servers.append(Server(endpoint, *args))
        return servers[-1]
    yield make
    for server in servers:
        server.process.kill()
        server.process.wait()


def test_runs_are_there_by_target_and_outcome(rig):
    for status in (ST.OK, ST.FAILED):
        rig.client.added(at_once(retry={"strategy": "none"}))
        rig.jobs.finish(rig.jobs.recv(), status)
    rig.client.added({"plan_type": 1, "plan_time": int(time.time()) - 50, "no_keep": True})
    rig.jobs.recv()
    wait_until(lambda: metrics(rig).value("runs_total", target="jobs", outcome="failed") == 1, "it failed")
    found = metrics(rig)
    assert found.value("up") == found.value("redis_up") == found.value("target_connected", target="jobs") == 1
    assert found.value("runs_total", target="jobs", outcome="ok") == 1
    assert found.labels("runs_total", "outcome") == {"ok", "failed", "not_taken", "timeout", "cancelled", "missed"}
    assert found.value("runs_sent_total", target="jobs") == 3
    assert found.value("accepted_total") == 3 and found.value("plans") == 2    # the failed one waits for somebody
    assert found.value("submit_duration_seconds_count") == 3
    for name, count in (("run_lateness_seconds", 1), ("run_duration_seconds", 2)):
        buckets = found.buckets(name, target="jobs")
        counts = [runs for _, runs in buckets]
        assert counts == sorted(counts) and counts[-1] == count and buckets[-1][0] == math.inf
        assert found.value(name + "_count", target="jobs") == count
    late = found.value("run_lateness_seconds_sum", target="jobs")
    assert 50 <= late and dict(found.buckets("run_lateness_seconds", target="jobs"))[10.0] == 0


def test_many_targets_are_one_behind_the_limit(make_rig):
    options = [part for name in ("a", "b", "other") for part in ("--station", f"{name}=api@ipc:///nowhere/{name}")]
    rig = make_rig(*options)
    first, *rest = [target["name"] for target in rig.client.done("stats").json["targets"]]
    assert sorted([first, *rest]) == ["a", "b", "jobs", "news", "other"]
    few, all_of_them = metrics(rig, "--targets", "1"), metrics(rig)
    assert few.labels("runs_total", "target") == {first, "other"}
    assert all_of_them.labels("runs_total", "target") == {first, *rest}
    assert few.value("target_connected", target="other") == 0


def test_a_label_is_escaped(fake_stats):
    name = 'a"b\\c\nd é'
    fake_stats["targets"] = [{"name": name, "connected": True, "sent": 3}]
    text = fake_stats.station.zplan("metrics").done()
    assert 'zplan_runs_sent_total{target="a\\"b\\\\c\\nd é"} 3\n' in text
    Metrics(text)


@pytest.mark.parametrize("part", [{}, {"targets": 3}, {"targets": [3, {}, {"name": 5}]}, {"counters": []},
                                  {"counters": {"A b": 1, "fine": "x", "good": 2}}, {"histograms": {"submit": 1}},
                                  {"histograms": {"submit": {"le_us": [1] * 1000, "counts": [1] * 1000}}},
                                  {"histograms": {"submit": {"le_us": [1, 2], "counts": [1]}}}])
def test_what_a_station_of_another_version_says(fake_stats, part):
    fake_stats.update(part)
    Metrics(fake_stats.station.zplan("metrics").done())


@pytest.fixture
def fake_stats(station):
    class Stats(dict):
        pass
    stats = Stats()
    stats.station = station
    station.do_stats = lambda: dict(stats)
    station.do_health = lambda: {"redis": {"state": "up"}, "problems": [], "warnings": []}
    return stats


def test_redis_is_away(make_rig):
    rig = make_rig()
    rig.redis.stop()
    wait_until(lambda: metrics(rig).value("redis_up") == 0, "it sees that")
    found = metrics(rig)
    assert found.value("up") == 1 and found.value("problems") >= 1 and "zplan_plans" not in found.types


def test_a_scrape(rig, serve):
    server = serve(rig.ipc("q"))
    wait_until(lambda: Metrics(server.get()[1]).value("up") == 1, "the station answers in time")
    answer, text = server.get()
    assert answer.status == 200 and answer.getheader("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
    assert Metrics(text).types
    answer, text = server.get(method="HEAD")
    assert answer.status == 200 and text == "" and int(answer.getheader("Content-Length")) > 0
    assert server.stop() == DONE


def test_scrapes_of_one_second_are_one_question(fake_stats, serve):
    asked = []
    fake_stats.station.do_stats = lambda: asked.append(time.monotonic()) or {"plans": len(asked)}
    server = serve(fake_stats.station.endpoint)
    before = time.monotonic()
    texts = {server.get()[1] for _ in range(20)}
    took = time.monotonic() - before
    assert 1 <= len(asked) <= 1 + took and len(texts) == len(asked)


def test_a_station_that_is_away_and_comes_back(make_rig, serve):
    rig = make_rig()
    server = serve(rig.ipc("q"))
    wait_until(lambda: Metrics(server.get()[1]).value("up") == 1, "the station answers")
    rig.station.stop()
    wait_until(lambda: Metrics(server.get()[1]).value("up") == 0, "it is away")
    answer, text = server.get()
    assert answer.status == 200 and list(Metrics(text).types) == ["zplan_up"]
    rig.station.start()
    wait_until(lambda: Metrics(server.get()[1]).value("up") == 1, "it is back")


@pytest.mark.parametrize("request_, status", [
    (b"GET / HTTP/1.1\r\n\r\n", b"404"), (b"GET /metrics?x=1 HTTP/1.1\r\n\r\n", b"404"),
    (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"), (b"DELETE /metrics HTTP/1.0\r\n\r\n", b"405"),
    (b"GET /metrics HTTP/2.0\r\n\r\n", b"400"), (b"GET  \r\n\r\n", b"400"), (b"\r\n\r\n", b"400"),
    (b"GET /metrics HTTP/1.1 x\r\n\r\n", b"400"), (b"GET /me\0trics HTTP/1.1\r\n\r\n", b"400"),
    (b"get /metrics HTTP/1.1\r\n\r\n", b"400"), (b"\xff\xfe" * 50 + b"\r\n\r\n", b"400"),
    (b"GET /" + b"m" * 500 + b" HTTP/1.1\r\n\r\n", b"400"),
    (b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 8300, b"431"),
    (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"200"), (b"GET /metrics HTTP/1.0\r\n\r\n", b"200"),
])
def test_requests(fake_stats, serve, request_, status):
    server = serve(fake_stats.station.endpoint)
    answer = server.raw(request_)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == status and b"Connection: close" in head
    assert int(re.search(rb"Content-Length: (\d+)", head)[1]) == len(body)


def test_half_a_request_ends_with_its_peer(fake_stats, serve):
    assert serve(fake_stats.station.endpoint).raw(b"GET /metr", close=True) == b""


def test_slow_peers_hold_up_nobody_for_long(fake_stats, serve):
    """As many as it takes at once say nothing: they are cut at their deadline, and others are served."""
    server = serve(fake_stats.station.endpoint)
    peers = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(40)]
    assert server.get()[0].status == 200
    assert peers[0].recv(1) == b""
    for peer in peers:
        peer.close()


def test_without_listen_a_station_that_is_away_is_3(tmp_path):
    ended = zplan("--connect", f"ipc://{tmp_path}/none", "--timeout", "100", "metrics")
    assert ended.code == NO_ANSWER and Metrics(ended.out).value("up") == 0


@pytest.mark.parametrize("args, code, words", [
    (["--listen", "0.0.0.0:9924"], USAGE, "is not loopback: set --insecure"),
    (["--listen", "[::]:9924"], USAGE, "is not loopback"),
    (["--listen", "127.0.0.1"], USAGE, "want ADDRESS:PORT"), (["--listen", "127.0.0.1:"], USAGE, "want ADDRESS:PORT"),
    *((["--listen", f"127.0.0.1:{port}"], USAGE, "want ADDRESS:PORT") for port in ("99999", "65536", "-1", " 80", "0x1F90")),
    (["--listen", "127.0.0.1:x"], USAGE, "want ADDRESS:PORT"), (["--targets", "0"], USAGE, "--targets"),
    (["--targets", "257"], USAGE, "--targets"), (["--json"], USAGE, "--json"), (["now"], USAGE, "unexpected"),
])
def test_usage(args, code, words):
    ended = zplan("metrics", *args)
    assert ended.code == code and words in ended.err and ended.out == ""


def test_a_port_that_is_in_use(fake_stats, serve):
    server = serve(fake_stats.station.endpoint)
    ended = zplan("metrics", "--listen", f"127.0.0.1:{server.port}")
    assert ended.code == REFUSED and "Address already in use" in ended.err


def test_what_the_numbers_are_is_in_the_protocol(rig):
    """Each counter of `stats` is a metric."""
    counters = json.loads(zplan("--connect", rig.ipc("q"), "stats", "--json=wire").done())["counters"]
    names = set(metrics(rig).types)
    assert {f"zplan_{name}_total" for name in counters} <= names
