"""A key that speaks for others: what its commands did is told as done by the user whom they name."""
import pytest

from curvetest import CurveRig, write
from zplantest import CMD, FT, ST, Client, later, wait_until


@pytest.fixture
def rig(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    rig.keys = {name: rig.allow(name, "observe,manage,submit") for name in ("gateway", "plain")}
    path = rig.file("gateway")
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("curve\n", '    speaks_for = "yes"\ncurve\n', 1))
    rig.start()
    return rig


def ask(rig, key, user, *words):
    """A command for this user."""
    client = rig.keep(Client(rig.ipc("q"), prepare=rig.with_keys(rig.keys[key])))
    pairs = [(FT.COMMAND, words[0].encode()), *((FT.ARG, word.encode()) for word in words[1:]), (FT.REQUESTER, user)]
    return client.ask(CMD.NONE, pairs)


@pytest.mark.parametrize("key, who", [("gateway", "gateway/ops@example.org"), ("plain", "plain")])
def test_who_stopped_it(rig, key, who):
    ident = rig.client.added(later())
    assert ask(rig, key, b"ops@example.org", "pause", ident).code == ST.OK
    stopped = wait_until(lambda: rig.message(ident).get("stopped"), "it is paused")
    assert stopped.startswith(f"pause by {who} at ")


@pytest.mark.parametrize("key", ["gateway", "plain"])
@pytest.mark.parametrize("word", ["done", "reset"])
def test_a_step_of_a_run_that_is_not_known(rig, key, word):
    """The request is rejected, and with that its peer and the user are released."""
    reply = ask(rig, key, b"ops@example.org", word, "1f/load")
    assert reply.code == ST.NOT_FIND and reply.text == f"-no find: {word}: no run 1f is known"


def test_without_a_user_it_is_the_key(rig):
    ident = rig.client.added(later())
    client = rig.keep(Client(rig.ipc("q"), prepare=rig.with_keys(rig.keys["gateway"])))
    client.done("pause", ident)
    assert rig.message(ident)["stopped"].startswith("pause by gateway at ")


@pytest.mark.parametrize("user", [b"a b", b"x" * 65, b"a/b", b"\xff", b"a\x00b"])
def test_a_user_that_can_be_none_is_refused(rig, user):
    ident = rig.client.added(later())
    reply = ask(rig, "gateway", user, "pause", ident)
    assert reply.code == ST.ARG_ERROR and "REQUESTER: want a user" in reply.text
    assert "stopped" not in rig.message(ident)
    assert ask(rig, "plain", user, "pause", ident).code == ST.OK     # there it means nothing


def test_a_file_that_says_something_else_lets_nobody_in(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    rig.allow("gateway", "observe")
    with open(rig.file("gateway")) as file:
        text = file.read()
    write(rig.file("gateway"), text.replace("curve\n", '    speaks_for = "perhaps"\ncurve\n', 1))
    rig.start()
    rig.logged("speaks_for: want yes or no")
