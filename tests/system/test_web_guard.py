"""zplan-web against HTTP that is wrong, slow or foreign."""
import socket
import time

import pytest

from webtest import Web, make_web, needs_web, plan, web  # noqa: F401 fixtures
from zplanprocs import wait_until

pytestmark = needs_web
HOST = b"Host: localhost\r\n"


@pytest.fixture(scope="module")
def guarded(shared_rig, tmp_path_factory):
    made = Web(str(tmp_path_factory.mktemp("web")), shared_rig.ipc("q"), events=shared_rig.ipc("e"))
    yield made
    made.close()


def post(path=b"/v1/plans", *headers, body=b""):
    return b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"".join(h + b"\r\n" for h in headers) + b"\r\n" + body


SMUGGLED = b"DELETE /v1/plans/2a HTTP/1.1\r\n" + HOST + b"\r\n"


@pytest.mark.parametrize("data, status", [
    (post(b"/v1/plans", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED), 411),
    (post(b"/v1/plans", b"Transfer-Encoding: chunked", body=b"5\nhello\n0\n\n" + SMUGGLED), 411),
    (post(b"/v1/plans", b"Content-Length: 6", b"Transfer-Encoding: chunked", body=b"0\r\n\r\nX" + SMUGGLED), 411),
    (post(b"/v1/plans", b"Content-Length: 0", b"Content-Length: 5", body=b"hello" + SMUGGLED), 400),
    (post(b"/v1/plans", b"Transfer-Encoding : chunked", body=b"0\r\n\r\n" + SMUGGLED), 400),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nGET ", 400),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
    (b"GET /v1/plans HTTP/1.1\r\n\r\n" + SMUGGLED, 400),
    (b"GET /v1/pl ans HTTP/1.1\r\n" + HOST + b"\r\n" + SMUGGLED, 400),
    (b"GET /v1/plans  HTTP/1.1\r\n" + HOST + b"\r\n" + SMUGGLED, 400),
    (b"GET /v1/" + b"p" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n" + SMUGGLED, 400),
    (b"GET /v1/plans HTTP/1.0\r\n\r\n", 400),
    (b"GET /v1/plans HTTP/1.2\r\n" + HOST + b"\r\n", 400),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"A: b\rc\r\n\r\n", 400),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"A: b\x01c\r\n\r\n", 400),
    (b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET * HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /v1/plans/%00 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /v1/plans/a%2Fb HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /v1/../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /assets/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET //v1/plans HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /v1\\plans HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /v1/%ff HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /v1/plans?" + b"&".join(b"f%d" % i for i in range(33)) + b" HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /v1/plans HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
    (b"GET http://evil.example/v1/plans HTTP/1.1\r\n" + HOST + b"\r\n", 421),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"".join(b"H%d: x\r\n" % i for i in range(70)) + b"\r\n", 431),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"A: " + b"b" * 20000 + b"\r\n\r\n", 431),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"A: " + b"b" * 8200 + b"\r\n\r\n", 431),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"Cookie: " + b"; ".join(b"c%d=%s" % (i, b"x" * 200) for i in range(50)) + b"\r\n\r\n", 431),
    (b"GET /nowhere HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    (b"PUT /v1/plans HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n", 405),
    (b"BREW /v1/plans HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    (post(b"/v1/plans", b"Content-Length: 2000000", b"Content-Type: application/json"), 413),
    (post(b"/v1/plans", b"Content-Length: 2", b"Content-Type: text/plain", body=b"{}"), 415),
    (post(b"/v1/plans", b"Content-Length: 2", body=b"{}"), 415),
])
def test_one_answer_and_the_end(guarded, data, status):
    """What is rejected by its header ends the connection: what follows on it is served to nobody."""
    answer = guarded.raw(data)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1 and b"onnection: close" in answer
    assert b"Content-Type: application/problem+json" in answer, answer
    assert guarded.get("/live").status == 204


@pytest.mark.parametrize("data, status", [(data, 400) for data in (
    post(b"/v1/plans", b"Content-Length: +5", body=b"hello"), post(b"/v1/plans", b"Content-Length: 0x5", body=b"hello"),
    post(b"/v1/plans", b"Content-Length: 5, 5", body=b"hello"), post(b"/v1/plans", b"Content-Length: ", body=b"hello"),
    b"GET /v1/plans HTTP/1.1 \r\n" + HOST + b"\r\n", b"GET /v1/plans\r\n" + HOST + b"\r\n",
    b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n")] + [
    (b"GET /v1/plans HTTP/2.0\r\n" + HOST + b"\r\n", 505), (b"GET /v1/plans HTTP/0.9\r\n" + HOST + b"\r\n", 505),
    (post(b"/v1/plans", b"Content-Length: 99999999999999999999"), 413), (b"GET /" + b"p" * 40000 + b" HTTP/1.1\r\n", 414),
    (b"GET /v1/plans HTTP/1.1\r\n" + HOST + b"A: " + b"b" * 40000 + b"\r\n\r\n", 431)])
def test_what_the_library_rejects_itself(guarded, data, status):
    """Its answer is its own, in HTML, and the end of the connection."""
    answer = guarded.raw(data + SMUGGLED)
    assert answer.startswith(b"HTTP/1.1 %d " % status) and b"Connection: close" in answer and b"\r\n\r\n<html>" in answer
    assert b"HTTP/1.1 2" not in answer


@pytest.mark.parametrize("data", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 5000, b"GET", b"GET \r\n\r\n",
                                  b"\r\n" * 1000, b"x" * 30000, b"GET / HTTP/1.1\r\n" + b"a" * 9000])
def test_no_http_is_survived(guarded, data):
    assert b"HTTP/1.1 2" not in guarded.raw(data, close=True)
    assert guarded.get("/live").status == 204


def test_absolute_url_of_this_host(guarded):
    assert guarded.raw(b"GET http://localhost/live HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n").startswith(
        b"HTTP/1.1 204")


def test_requests_of_one_connection(guarded):
    one = b"GET /v1/plans HTTP/1.1\r\n" + HOST
    answer = guarded.raw((one + b"\r\n") * 20 + one + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK") == 21 and answer.count(b'"items"') == 21


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]:80", "10.0.0.1:7924", "LOCALHOST:1"])
def test_hosts_that_are_ours(guarded, host):
    assert guarded.ask("GET", "/v1/plans", host=host).status == 200


def test_names_that_are_given(rig, make_web):
    named = make_web(rig, "--host", "zplan.example,other.example")
    assert named.ask("GET", "/v1/plans", host="zplan.example:443").status == 200
    named.ask("GET", "/v1/plans", host="evil.example").problem(421, "wrong_host")
    assert named.ask("GET", "/live", host="evil.example").status == 204     # a probe's


@pytest.mark.parametrize("headers, status", [
    ({}, 201), ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403), ({"Sec-Fetch-Site": "same-origin"}, 201),
    ({"Origin": "own"}, 201),
])
def test_pages_of_other_origins(guarded, headers, status):
    headers = {name: f"http://127.0.0.1:{guarded.port}" if value == "own" else value for name, value in headers.items()}
    assert guarded.ask("POST", "/v1/plans", plan(), headers).status == status


def test_pages_of_other_origins_read_nothing(guarded):
    guarded.get("/v1/plans", Sec_Fetch_Site="cross-site").problem(403, "foreign_origin")
    assert guarded.get("/", Sec_Fetch_Site="cross-site").status == 200     # a link


def test_options_and_head(guarded):
    answer = guarded.ask("OPTIONS", "/v1/plans")
    assert answer.status == 204 and answer.headers["Allow"] == "GET, HEAD, POST"
    head, get = guarded.ask("HEAD", "/v1/plans"), guarded.get("/v1/plans")
    assert head.status == 200 and head.body == b"" and head.headers["Content-Length"] == get.headers["Content-Length"]
    assert guarded.ask("DELETE", "/v1/plans").headers["Allow"] == "GET, HEAD, POST"


def test_slow_headers_are_cut(guarded):
    """Whoever sends a header byte by byte has ten seconds from the connection on; others are served meanwhile."""
    peers = [socket.create_connection(("127.0.0.1", guarded.port), timeout=60) for _ in range(100)]
    begun = time.monotonic()
    for peer in peers:
        peer.sendall(b"GET /v1/plans HTTP/1.1\r\n")
    while time.monotonic() - begun < 8:
        peers[0].sendall(b"A: b\r\n")
        assert guarded.get("/live").status == 204
        time.sleep(0.5)
    assert peers[0].recv(1000).startswith((b"", b"HTTP/1.1 408")) and peers[1].recv(1) == b""
    assert time.monotonic() - begun < 30
    for peer in peers:
        peer.close()


def test_a_body_comes_in_pieces(guarded):
    body = b'{"target": "jobs", "command": "do", "spec": {"plan_type": "day", "plan_value": 1, "plan_repet": -1}}'
    head = post(b"/v1/plans", b"Content-Type: application/json", b"Content-Length: %d" % len(body), b"Connection: close")
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=60) as peer:
        for piece in (head, body[:10], body[10:50], body[50:]):
            peer.sendall(piece)
            time.sleep(0.05)
        assert peer.recv(100).startswith(b"HTTP/1.1 201")


def test_a_peer_that_leaves_while_the_station_is_asked(guarded):
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", guarded.port), timeout=60) as peer:
            peer.sendall(b"GET /v1/stats HTTP/1.1\r\n" + HOST + b"\r\n")
    wait_until(lambda: "zplan_web_connections 1\n" in guarded.get("/metrics").body.decode(), "all are gone")


def test_many_connections_of_one_address_are_bounded(guarded):
    peers = [socket.create_connection(("127.0.0.1", guarded.port), timeout=60) for _ in range(300)]
    for peer in peers:
        peer.close()
    wait_until(lambda: guarded.process.poll() is None and b"204" in guarded.raw(
        b"GET /live HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"), "it serves others")


@pytest.mark.parametrize("size", [4400, 5200, 6600, 8000])
@pytest.mark.parametrize("field", [b"Cookie: %s", b"A: %s"], ids=["cookies", "field"])
def test_a_large_header_within_the_bound_is_served(guarded, field, size):
    """A browser sends the cookies of all servers on a host. A header that the library cannot keep leaves nothing behind:
    under a sanitizer the program ends with an error otherwise."""
    text = b"; ".join(b"c%d=%s" % (i, b"x" * 90) for i in range(size // 100))
    answer = guarded.raw(b"GET /live HTTP/1.1\r\n" + HOST + field % text + b"\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 204 "), answer[:200]


def test_cookies_that_the_library_cannot_keep_leave_nothing_behind(guarded):
    cookies = b"Cookie: " + b"; ".join(b"c%d=x" % i for i in range(4000)) + b"\r\n"
    for _ in range(20):
        guarded.raw(b"GET /live HTTP/1.1\r\n" + HOST + cookies + b"\r\n")
    assert guarded.get("/live").status == 204
