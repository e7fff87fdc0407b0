"""zplan callback: what is not delivered yet, once more, and a test."""
import json

import pytest

from callbacktest import OK, Receiver, Sender, answer, needs_sender
from clitest import REFUSED, USAGE, zplan
from zplanprocs import wait_until
from zplantest import CMD, FT, ST, at_once

pytestmark = needs_sender


@pytest.fixture
def rig(make_rig):
    return make_rig()


@pytest.fixture
def line(rig):
    def line(*words):
        return zplan("--connect", rig.ipc("q"), *words)
    return line


def sender(rig, *receivers, **more):
    return rig.keep(Sender(rig.folder, rig.ipc("q"), *receivers, **more))


def failed(rig, url):
    """A plan whose callback is dead; both ids."""
    ident = rig.client.added(at_once(callback={"success": {"url": url}, "retry": {"strategy": "none"}}))
    rig.jobs.finish(rig.jobs.recv())

    def dead():
        runs = rig.client.done("history", ident).json["runs"]
        return runs and runs[0]["callback"].get("state") == "dead" and runs[0]["callback"]["id"]
    return ident, wait_until(dead, "it is dead")


def test_a_test_is_delivered(rig, line):
    receiver = rig.keep(Receiver())
    sender(rig, receiver)
    assert "delivered" in line("callback", "test", "jobs", receiver.url()).done()
    request = receiver.next()
    body = json.loads(request.body)
    assert body["type"] == "test" and body["data"] == {"target": "jobs"} and request.method == "POST"


def test_a_test_that_fails_says_why(rig, line):
    receiver = rig.keep(Receiver(lambda request, send: answer(404, b"no such hook")))
    sender(rig, receiver)
    ended = line("callback", "test", "jobs", receiver.url(), "--put", "--json")
    told = json.loads(ended.out)
    assert ended.code == REFUSED and told["delivered"] is False and "HTTP 404" in told["reason"]
    assert receiver.next().method == "PUT"


def test_one_test_a_second(rig):
    callback = json.dumps({"success": {"url": "https://a.example/x"}})
    words = [(FT.COMMAND, b"callback"), *((FT.ARG, word.encode()) for word in ("test", "jobs", callback))]
    for _ in range(2):      # the second is on its way before the first is answered
        rig.client.send(CMD.NONE, words)
    assert sorted(rig.client.recv().code for _ in range(2)) == [ST.OK, ST.BUSY]


def test_an_export_leaves_them_out(rig, line):
    """No other station would take them."""
    rig.client.added(at_once(callback={"success": {"url": "https://a.example/x"}}))
    rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: "queued" in line("callback").done(), "it waits")
    for words in (("export",), ("export", "--everything")):
        ended = line(*words)
        assert "a.example" not in ended.out
        assert ended.err == "zplan: 1 callbacks that are not delivered yet are left out: no other station takes them\n"


@pytest.mark.parametrize("words, code, reason", [
    (("test", "nix", "https://a.example/x"), REFUSED, "nix"), (("test", "callbacks", "https://a.example/x"), REFUSED, "only the station makes"),
    (("test", "jobs", "a.example"), REFUSED, "url: "), (("test", "jobs"), USAGE, "want a target and a URL"),
    (("redeliver",), USAGE, "want at least one id"), (("redeliver", "zz"), USAGE, "id"), (("tst",), USAGE, "test")])
def test_wrong(line, words, code, reason):
    assert reason in line("callback", *words).failed(code)


def test_list_and_redeliver(rig, line):
    answers = [answer(500), OK]
    receiver = rig.keep(Receiver(lambda request, send: answers.pop(0)))
    assert line("callback").done() == ""
    sender(rig, receiver)
    ident, callback = failed(rig, receiver.url())
    told = line("callback", "list").done()
    assert callback in told and ident in told and " dead " in told and "HTTP 500" in told and " jobs " in told
    (row,) = [json.loads(row) for row in line("callback", "list", "--json").done().splitlines()]
    assert row["id"] == callback and receiver.url() not in json.dumps(row)
    assert line("callback", "redeliver", callback).done() == f"callback {callback}: sent again\n"
    first, again = receiver.next(), receiver.next()
    assert first.headers["webhook-id"] == again.headers["webhook-id"]
    wait_until(lambda: callback not in line("callback").done(), "it is delivered")
    assert "no plan" in line("callback", "redeliver", callback).failed(REFUSED)
    assert json.loads(line("callback", "redeliver", callback, "--json").out)["code"] == "not_find"
