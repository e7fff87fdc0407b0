"""zplan-callback at a station played by the test: what it sends, where it may send it, and what it reports."""
import base64
import hashlib
import hmac
import os
import shutil
import ssl
import subprocess
import tempfile
import threading
import time

import pytest

from callbacktest import OK, FakeStation, Receiver, Sender, answer, needs_sender
from zplanprocs import WAIT, free_port, wait_until

pytestmark = needs_sender
KEYS = [base64.b64encode(bytes([i]) * 24).decode() for i in (1, 2)]


class Play:
    """A folder, a station, receivers and senders, closed together."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="zp", dir="/tmp")
        self.opened = []
        self.endpoint = f"ipc://{self.folder}/q"
        self.station = self.keep(FakeStation(self.endpoint))

    def keep(self, one):
        self.opened.append(one)
        return one

    def receiver(self, *args, **options):
        return self.keep(Receiver(*args, **options))

    def sender(self, *receivers, options=(), **more):
        """Started, and known to the station."""
        sender = self.keep(Sender(self.folder, self.endpoint, *receivers, options=options, ready=False, **more))
        taken = self.station.takes
        wait_until(lambda: self.station.takes > taken, "the sender takes")
        return sender

    def file(self, folder, name, text, mode=0o600):
        """The option that names the folder."""
        path = os.path.join(self.folder, folder)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, name), "w") as file:
            file.write(text)
        os.chmod(os.path.join(path, name), mode)
        return [f"--{folder}", path]

    def close(self):
        for one in reversed(self.opened):
            one.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def play():
    made = Play()
    yield made
    made.close()


def test_what_is_sent(play):
    receiver = play.receiver()
    play.sender(receiver)
    before = int(time.time())
    ident = play.station.add(receiver.url("/a/b%2Fc?x=1&y"), body=b'{"a": 1}', headers={"X-Team": "a b", "X-None": ""},
                             plan={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    assert play.station.outcome(ident)["state"] == "success"
    request = receiver.next()
    assert (request.method, request.path, request.body) == ("POST", "/a/b%2Fc?x=1&y", b'{"a": 1}')
    headers = request.headers
    assert headers["host"] == f"127.0.0.1:{receiver.port}"
    assert headers["content-type"] == "application/json" and headers["content-length"] == "8"
    assert headers["webhook-id"] == "2a-501" and before <= int(headers["webhook-timestamp"]) <= time.time()
    assert (headers["zplan-plan"], headers["zplan-exec-id"]) == ("2a", "501")
    assert headers["traceparent"].startswith("00-0af7") and headers["user-agent"].startswith("zplan-callback/")
    assert (headers["x-team"], headers["x-none"]) == ("a b", "")
    assert not {"expect", "accept-encoding", "cookie", "authorization", "webhook-signature"} & set(headers)


def test_put_and_error(play):
    receiver = play.receiver()
    play.sender(receiver)
    ext = {"plan": "2b", "exec_id": "77", "status": "failed"}
    ident = play.station.add(receiver.url(), method="PUT", body=b"", plan={"ext": ext})
    assert play.station.outcome(ident)["state"] == "success"
    request = receiver.next()
    assert (request.method, request.body, request.headers["webhook-id"]) == ("PUT", b"", "2b-77-e")


def test_connections_are_kept(play):
    receiver = play.receiver()
    play.sender(receiver)
    for _ in range(5):
        assert play.station.outcome(play.station.add(receiver.url()))["state"] == "success"
    assert receiver.connections == 1


REPORTS = {
    "created": (answer(201), {"state": "success"}),
    "text": (answer(200, b"thanks\x00\xff"), {"state": "success"}),
    "redirect": (answer(302, b"", "Location: http://127.0.0.1/"), {"state": "fail"}),
    "gone": (answer(410), {"state": "fail", "final": True}),
    "broken": (answer(500), {"state": "fail"}),
    "not found, with a time": (answer(404, b"", "Retry-After: 7"), {"state": "fail"}),
    "busy": (answer(503, b"", "Retry-After: 7"), {"state": "fail", "retry_after": 7}),
    "too many": (answer(429, b"", "retry-after:99999999"), {"state": "fail", "retry_after": 86400}),
    "interim answers": (b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" * 5 + OK, {"state": "success"}),
    "long body": (answer(200, b"x" * 100000), {"state": "success"}),
}


@pytest.mark.parametrize("name", REPORTS)
def test_what_an_answer_becomes(play, name):
    told, want = REPORTS[name]
    receiver = play.receiver(lambda request, send: told)
    play.sender(receiver)
    got = play.station.outcome(play.station.add(receiver.url()))
    status = 200 if b"103" in told[:12] else int(told[9:12])
    assert got.pop("reason").startswith(f"HTTP {status}")
    assert got == want


def endless(request, send):
    send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        send(b"x" * 4096)


def drip(request, send):
    for byte in OK[:-2] + b"X: y\r\n" * 100:
        send(bytes([byte]))
        time.sleep(0.2)


def hang(request, send):
    time.sleep(3 * WAIT)


BAD = {
    "no HTTP": (lambda request, send: b"220 mail ESMTP\r\n" * 9, "fail"),
    "closed": (lambda request, send: None, "the connection was closed"),
    "cut": (lambda request, send: send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), "the answer was cut"),
    "hangs": (hang, "timed out"),
    "drips": (drip, "timed out"),
    "huge headers": (lambda request, send: b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 20000 + b"\r\n\r\n", "the answer's headers"),
    "many headers": (lambda request, send: b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 9000, "the answer's headers"),
    "interim for ever": (lambda request, send: b"HTTP/1.1 102 Wait\r\n\r\n" * 6, "too many interim"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_receiver_disturbs_no_other(play, name):
    behave, reason = BAD[name]
    bad, good = play.receiver(behave), play.receiver()
    play.sender(bad, good)
    ident = play.station.add(bad.url(), plan={"ext": {"timeout": 2}})
    bad.next()
    assert play.station.outcome(play.station.add(good.url()))["state"] == "success"
    got = play.station.outcome(ident)
    assert got["state"] == "fail" and "final" not in got
    assert got["reason"].startswith(reason) or name == "no HTTP", got


def test_an_endless_answer_is_cut(play):
    receiver = play.receiver(endless)
    play.sender(receiver)
    assert play.station.outcome(play.station.add(receiver.url()))["state"] == "success"


def test_nobody_listens(play):
    class Nobody:
        port = free_port()
    play.sender(Nobody)
    got = play.station.outcome(play.station.add(f"http://127.0.0.1:{Nobody.port}/"))
    assert got == {"state": "fail", "reason": "cannot connect"}


def test_it_says_alive_meanwhile(play):
    release = threading.Event()

    def wait(request, send):
        release.wait(WAIT)
        return OK
    receiver = play.receiver(wait)
    play.sender(receiver)
    ident = play.station.add(receiver.url())
    wait_until(lambda: play.station.alive >= 2, "two words of it")
    release.set()
    assert play.station.outcome(ident)["state"] == "success"


def test_a_stopped_one_is_dropped(play):
    receiver = play.receiver(hang)
    sender = play.sender(receiver)
    ident = play.station.add(receiver.url())
    play.station.stop.add(ident)
    wait_until(lambda: "callback.stopped" in sender.said(), "it is dropped")
    assert not play.station.reports


def test_a_report_is_repeated_until_it_is_answered(play):
    receiver = play.receiver()
    play.sender(receiver)
    ident = play.station.add(receiver.url())
    play.station.hold.add(ident)
    wait_until(lambda: len(play.station.reports) >= 2, "the report again")
    assert play.station.reports[0] == play.station.reports[1]
    play.station.hold.clear()
    taken = play.station.takes
    wait_until(lambda: play.station.takes > taken, "it takes again")
    receiver.next()
    assert receiver.requests.empty()


# -- addresses

DENIED = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "10.0.0.1", "169.254.169.254", "[fd00:ec2::254]",
          "0.0.0.0", "[64:ff9b::7f00:1]"]


@pytest.mark.parametrize("host", DENIED)
def test_internal_addresses_are_denied(play, host):
    play.sender(local=False, options=["--allow-http"])
    got = play.station.outcome(play.station.add(f"http://{host}/"))
    assert got == {"state": "fail", "final": True, "reason": "address not allowed"}


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "0", "017700000001", "a.example.", "[::1%25lo]"])
def test_other_spellings_are_no_urls(play, host):
    play.sender(local=False, options=["--allow-http"])
    got = play.station.outcome(play.station.add(f"http://{host}/"))
    assert got["final"] and got["reason"].startswith("url: host:")


def test_metadata_is_denied_whatever_is_allowed(play):
    play.sender(options=["--allow", "169.254.0.0/16"])
    got = play.station.outcome(play.station.add("http://169.254.169.254/latest"))
    assert got == {"state": "fail", "final": True, "reason": "address not allowed"}


def test_deny_is_stronger_than_allow(play):
    receiver = play.receiver()
    play.sender(receiver, options=["--deny", "127.0.0.1"])
    assert play.station.outcome(play.station.add(receiver.url()))["reason"] == "address not allowed"
    assert play.station.outcome(play.station.add(receiver.url(host="localhost")))["reason"] == "address not allowed"
    assert receiver.connections == 0


def test_a_redirect_is_not_followed(play):
    inner = play.receiver()
    outer = play.receiver(lambda request, send: answer(307, b"", f"Location: {inner.url()}"))
    play.sender(inner, outer)
    assert play.station.outcome(play.station.add(outer.url()))["reason"] == "HTTP 307"
    assert inner.connections == 0


def test_ports_and_http_must_be_allowed(play):
    play.sender(local=False)
    rows = {"http://a.example/": "url: http is not allowed", "https://a.example:22/": "url: port 22 is not allowed",
            "ftp://a.example/": "url: want https://HOST/PATH"}
    for url, reason in rows.items():
        assert play.station.outcome(play.station.add(url)) == {"state": "fail", "final": True, "reason": reason}


def test_an_unknown_name_is_tried_again(play):
    play.sender(local=False)
    got = play.station.outcome(play.station.add("https://nobody.invalid/"))
    assert got == {"state": "fail", "reason": "the host's name is not known"}


@pytest.mark.parametrize("name, more, reason", [
    ("method", {"method": "GET"}, "method:"), ("headers", {"headers": "{"}, "headers:"),
    ("a header of ours", {"headers": {"Host": "x"}}, "headers: 'Host'"),
    ("lines in a header", {"headers": {"X": "a\r\nY: b"}}, "headers:"),
    ("many headers", {"headers": {f"X-{i}": "" for i in range(9)}}, "headers: want at most 8"),
    ("a path as a secret", {"secret": "../x"}, "secret: want"),
])
def test_what_can_never_be_sent(play, name, more, reason):
    receiver = play.receiver()
    play.sender(receiver)
    got = play.station.outcome(play.station.add(receiver.url(), **more))
    assert got["final"] and got["state"] == "fail" and got["reason"].startswith(reason), got
    assert receiver.connections == 0


# -- secrets

def where(receiver, targets="jobs"):
    return f"hosts = 127.0.0.1:{receiver.port}\ntargets = {targets}\n"


def test_standard_signature_with_two_keys(play):
    receiver = play.receiver()
    options = play.file("secrets", "s", where(receiver) + "type = standard\n" +
                        "".join(f"key = whsec_{key}\n" for key in KEYS))
    play.sender(receiver, options=options)
    assert play.station.outcome(play.station.add(receiver.url(), secret="s"))["state"] == "success"
    request = receiver.next()
    text = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    want = [base64.b64encode(hmac.new(base64.b64decode(key), text, hashlib.sha256).digest()).decode() for key in KEYS]
    assert request.headers["webhook-signature"] == " ".join("v1," + one for one in want)


def test_aksk_signature(play):
    receiver = play.receiver()
    options = play.file("secrets", "s", where(receiver) + "type = aksk\nak = ACCESS\nsk = very secret\n")
    play.sender(receiver, options=options)
    ident = play.station.add(receiver.url("/a/b?z=1&a=x%20y"), secret="s")
    assert play.station.outcome(ident)["state"] == "success"
    request = receiver.next()
    date = request.headers["x-sdk-date"]
    names = "content-type;host;webhook-id;x-sdk-date"
    canonical = "\n".join(["POST", "/a/b/", "a=x%20y&z=1", *(f"{name}:{request.headers[name]}" for name in names.split(";")),
                           "", names, hashlib.sha256(request.body).hexdigest()])
    text = f"SDK-HMAC-SHA256\n{date}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new(b"very secret", text.encode(), hashlib.sha256).hexdigest()
    assert request.headers["authorization"] == f"SDK-HMAC-SHA256 Access=ACCESS, SignedHeaders={names}, Signature={signature}"


def test_an_echoed_secret_is_blotted(play):
    receiver = play.receiver(lambda request, send: answer(500, repr(request.headers).encode()))
    options = play.file("secrets", "s", where(receiver) + "type = header\nname = X-Key\nvalue = hush-hush-0123\n")
    sender = play.sender(receiver, options=[*options, "--keep-answers"])
    got = play.station.outcome(play.station.add(receiver.url(), secret="s"))
    assert receiver.next().headers["x-key"] == "hush-hush-0123"
    assert "'x-key': '**************'" in got["reason"] and len(got["reason"]) <= 512
    assert "hush" not in sender.said()
    with open(f"/proc/{sender.process.pid}/cmdline") as line:
        assert "hush" not in line.read()


def test_an_echoed_token_is_blotted_without_its_scheme(play):
    receiver = play.receiver(lambda request, send: answer(401, b"bad token: " + request.headers["x-key"].split()[1].encode()))
    options = play.file("secrets", "s", where(receiver) + "type = header\nname = X-Key\nvalue = Bearer hush-hush-0123\n")
    play.sender(receiver, options=[*options, "--keep-answers"])
    assert play.station.outcome(play.station.add(receiver.url(), secret="s"))["reason"] == "HTTP 401: bad token: " + "*" * 14


def test_answers_of_internal_networks_are_not_kept(play):
    receiver = play.receiver(lambda request, send: answer(500, b"an internal page"))
    play.sender(receiver)
    assert play.station.outcome(play.station.add(receiver.url()))["reason"] == "HTTP 500"


@pytest.mark.parametrize("name, text, mode", [
    ("of another target", "targets = other\ntype = none\nhosts = 127.0.0.1:PORT\n", 0o600),
    ("of another host", "targets = jobs\ntype = none\nhosts = 127.0.0.1\n", 0o600),
    ("readable by others", "targets = jobs\ntype = none\nhosts = 127.0.0.1:PORT\n", 0o640),
    ("wrong", "targets = jobs\nhosts = 127.0.0.1:PORT\n", 0o600),
    ("unknown", None, None),
])
def test_a_secret_that_may_not_be_used(play, name, text, mode):
    receiver = play.receiver()
    options = play.file("secrets", "s" if text else "t", (text or "").replace("PORT", str(receiver.port)), mode or 0o600)
    sender = play.sender(receiver, options=options)
    got = play.station.outcome(play.station.add(receiver.url(), secret="s"))
    assert got == {"state": "fail", "final": True, "reason": "secret not allowed"}
    assert receiver.connections == 0 and "secret.not_allowed" in sender.said()


# -- receivers by name

def test_named_receivers(play):
    receiver = play.receiver(lambda request, send: answer(404, f"no {request.path}".encode()))
    options = play.file("receivers", "chat", f"url = {receiver.url('/T0/B0/capability')}\ntargets = jobs\n")
    sender = play.sender(receiver, options=[*options, "--only-named", "--keep-answers"])
    got = play.station.outcome(play.station.add("@chat"))
    assert got == {"state": "fail", "reason": "HTTP 404: no /" + "*" * len("T0/B0/capability")}
    assert receiver.next().path == "/T0/B0/capability"
    for url, plan in (("@chat", {"source": "other"}), ("@none", {}), ("@../secrets/s", {}), (receiver.url(), {})):
        got = play.station.outcome(play.station.add(url, plan=plan))
        assert got["final"] and got["state"] == "fail", (url, got)
    assert receiver.requests.empty() and "capability" not in sender.said()


@pytest.mark.parametrize("path, echo, reason", [
    ("/T0/B0/capability?v=1", lambda path: path.split("?")[0][1:], "*" * 16),
    ("/?token=SECRETTOKEN123", lambda path: path[2:], "*" * 20),
    ("/hook?token=SECRETTOKEN123", lambda path: path.split("=")[1], "*" * 14),
    ("/T0/B0%2Dcap", lambda path: path[1:].replace("%2D", "-"), "*" * 9)], ids=["path", "query", "value", "decoded"])
def test_parts_of_a_url_are_blotted(play, path, echo, reason):
    receiver = play.receiver(lambda request, send: answer(500, f"bad {echo(request.path)}".encode()))
    options = play.file("receivers", "chat", f"url = {receiver.url(path)}\n")
    sender = play.sender(receiver, options=[*options, "--keep-answers"])
    for url in ("@chat", receiver.url(path)):
        assert play.station.outcome(play.station.add(url))["reason"] == f"HTTP 500: bad {reason}"
        assert receiver.next().path == path and echo(path) not in sender.said()


# -- TLS

def certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", f"{folder}/key", "-out", f"{folder}/cert", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName=DNS:{name}"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert", f"{folder}/key")
    return lambda peer: context.wrap_socket(peer, server_side=True)


def test_tls_is_verified(play):
    receiver = play.receiver(wrap=certificate(play.folder, "localhost"))
    trusting = ["--ca-file", f"{play.folder}/cert"]
    play.sender(receiver, options=trusting)
    assert play.station.outcome(play.station.add(receiver.url(host="localhost", scheme="https")))["state"] == "success"
    got = play.station.outcome(play.station.add(receiver.url(scheme="https")))
    assert got == {"state": "fail", "reason": "TLS: the certificate is not valid for this host"}
    assert receiver.requests.qsize() == 1


def test_an_unknown_authority_is_not_trusted(play):
    receiver = play.receiver(wrap=certificate(play.folder, "localhost"))
    play.sender(receiver)
    got = play.station.outcome(play.station.add(receiver.url(host="localhost", scheme="https")))
    assert got["state"] == "fail" and got["reason"].startswith("TLS:")
    assert receiver.requests.empty()


# -- many

def test_a_host_has_eight_places_and_others_go_on(play):
    release = threading.Event()

    def wait(request, send):
        release.wait(2 * WAIT)
        return OK
    slow, quick = play.receiver(wait), play.receiver()
    play.sender(slow, quick)
    idents = [play.station.add(slow.url()) for _ in range(20)]
    wait_until(lambda: slow.requests.qsize() >= 8, "eight of them")
    assert play.station.outcome(play.station.add(quick.url()))["state"] == "success"
    assert slow.requests.qsize() == 8
    release.set()
    for ident in idents:
        assert play.station.outcome(ident)["state"] == "success"
    assert slow.most == 8


def test_a_target_has_a_quarter_of_the_places(play):
    release = threading.Event()

    def wait(request, send):
        release.wait(2 * WAIT)
        return OK
    slow, quick = play.receiver(wait), play.receiver()
    play.sender(slow, quick, options=["--in-flight", "16"])
    idents = [play.station.add(slow.url()) for _ in range(10)]
    held = []

    def releases():
        held[:] = [report for report in play.station.reports if report["state"] == "release"]
        return len(held) == 6
    wait_until(releases, "six are returned")
    assert all(report["after"] == 1 and "held back" in report["reason"] for report in held)
    assert play.station.outcome(play.station.add(quick.url(), plan={"source": "other"}))["state"] == "success"
    release.set()
    waited = set(idents) - {report["plan"] for report in held}
    assert all(play.station.outcome(ident)["state"] == "success" for ident in waited)


def test_a_dead_host_is_left_alone(play):
    receiver = play.receiver(lambda request, send: answer(500))
    play.sender(receiver)
    for _ in range(10):
        assert play.station.outcome(play.station.add(receiver.url()))["state"] == "fail"
    got = play.station.outcome(play.station.add(receiver.url()))
    assert got["state"] == "release" and 1 <= got["after"] <= 30 and "held back" in got["reason"]
    assert receiver.requests.qsize() == 10


def test_a_host_without_an_address_is_left_alone(play):
    play.sender(local=False)
    idents = [play.station.add("https://nobody.invalid/") for _ in range(20)]
    got = [play.station.outcome(ident) for ident in idents]
    assert [one["reason"] for one in got if one["state"] == "fail"] == 10 * ["the host's name is not known"]
    held = [one for one in got if one["state"] == "release"] + [play.station.outcome(play.station.add("https://nobody.invalid/"))]
    assert len(held) == 11 and all(1 <= one["after"] <= 30 and "held back" in one["reason"] for one in held)


def test_one_callback_tries_a_dead_host(play):
    """Also where its name is resolved first. One that is stopped leaves it to the next."""
    release, dead = threading.Event(), [True]

    def behave(request, send):
        return answer(500) if dead[0] else release.wait(2 * WAIT) and OK
    receiver = play.receiver(behave)
    sender = play.sender(receiver)
    dead_url, nobody_url = receiver.url(host="localhost"), "https://nobody.invalid/"

    def outcome(url):
        return play.station.outcome(play.station.add(url))
    for url in [dead_url, nobody_url] * 10:
        assert outcome(url)["state"] == "fail"
    for _ in range(10):
        receiver.next()
    dead[0] = False
    while (got := outcome(nobody_url))["state"] == "release":
        time.sleep(got["after"])
    assert got["reason"] == "the host's name is not known"
    assert outcome(nobody_url)["after"] > 30

    stopped = play.station.add(dead_url)
    receiver.next()
    assert outcome(dead_url)["state"] == "release"
    play.station.stop.add(stopped)
    wait_until(lambda: "callback.stopped" in sender.said(), "it is dropped")
    ident = play.station.add(dead_url)
    receiver.next()
    release.set()
    assert play.station.outcome(ident)["state"] == "success"
    assert outcome(dead_url)["state"] == "success"


# -- the end

def test_it_ends_when_all_is_reported(play):
    release = threading.Event()

    def wait(request, send):
        release.wait(2 * WAIT)
        return OK
    receiver = play.receiver(wait)
    sender = play.sender(receiver)
    idents = [play.station.add(receiver.url()) for _ in range(9)]
    wait_until(lambda: receiver.requests.qsize() == 8, "eight are sent")
    sender.process.terminate()
    assert play.station.outcome(idents[8])["state"] == "release"
    release.set()
    for ident in idents[:8]:
        assert play.station.outcome(ident)["state"] == "success"
    assert sender.process.wait(WAIT) == 0


@pytest.mark.parametrize("options, reason", [
    (["--allow", "10.0.0.1/8"], "allow: "), (["--deny", "a.example"], "deny: want ADDRESS"),
    (["--nat64", "10.0.0.0/8"], "nat64: want"), (["--key", "x"], "key and server_key"),
    (["--in-flight", "257"], "in_flight: "), (["--only-named"], "only_named: "), (["--nope"], "'--nope': no such option"),
    (["--log-level", "loud"], "log_level: "), (["--allow", "a.example:99999"], "allow: port: "),
    (["--connect", "foo"], "connect: 'foo': want tcp://HOST:PORT"), (["--target", "a b"], "target: want 1..64"),
    (["--name", "a b"], "name: want 1..64"), (["--secrets", "/nofolder"], "secrets: '/nofolder': No such"),
    (["--receivers", "/nofolder"], "receivers: '/nofolder': No such"), (["--ca-file", "/nofile"], "ca_file: '/nofile': No such"),
    (["--secrets", "/etc/passwd"], "secrets: '/etc/passwd': Not a directory"),
    (["--key", "/no.key_secret", "--server-key", 40 * "1"], "key: /no.key_secret: No such file")])
def test_wrong_settings(play, options, reason):
    sender = play.keep(Sender(play.folder, play.endpoint, options=options, local=False, ready=False))
    assert sender.process.wait(WAIT) == 2
    assert sender.said().startswith(f"zplan-callback: {reason}"), sender.said()


def test_settings_of_a_file(play):
    receiver = play.receiver()
    path = os.path.join(play.folder, "conf")
    with open(path, "w") as file:
        file.write(f"allow_http = 1\nallow\n    here = 127.0.0.0/8\n    port = 127.0.0.1:{receiver.port}\n")
    play.sender(local=False, options=["-c", path])
    assert play.station.outcome(play.station.add(receiver.url()))["state"] == "success"
