"""whoami: what a key may do, as the station says it."""
import json

from clitest import REFUSED, zplan
from curvetest import CurveRig, EVERY_ROLE, certificate, write
from zplantest import ST, Client


def test_without_keys_everybody_may_everything(make_rig):
    rig = make_rig()
    assert rig.client.done("whoami").json == {"name": None, "roles": EVERY_ROLE.split(","), "stations": None}
    assert zplan("--connect", rig.ipc("q"), "whoami").done() == (
        "name     (none: the station has no allow-list)\nroles    submit, observe, manage, result, signal\ntargets  all\n")


def test_each_key_learns_what_is_its_own(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    keys = {name: rig.allow(name, roles, stations)
            for name, roles, stations in (("ops", "observe,manage", None), ("billing", "submit", "jobs,news*"))}
    rig.start()
    told = {name: rig.keep(Client(rig.ipc("q"), prepare=rig.with_keys(pair))).done("whoami").json for name, pair in keys.items()}
    assert told == {"ops": {"name": "ops", "roles": ["observe", "manage"], "stations": None},
                    "billing": {"name": "billing", "roles": ["submit"], "stations": "jobs,news*"}}
    write(rig.path("me.key_secret"), certificate(keys["billing"], "billing", secret=True))
    line = zplan("--connect", rig.ipc("q"), "--key", rig.path("me.key_secret"), "--server-key", rig.server.public, "whoami", "--json")
    assert json.loads(line.done()) == {"name": "billing", "roles": ["submit"], "targets": "jobs,news*"}


def test_watch_says_that_a_key_may_not_subscribe(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    keys = {name: rig.allow(name, roles, stations)
            for name, roles, stations in (("billing", "submit,observe", "jobs,news*"), ("sender", "submit", None))}
    rig.start()
    for name, words in (("billing", "is bound to the targets 'jobs,news*'"), ("sender", "needs the role observe")):
        write(rig.path("me.key_secret"), certificate(keys[name], name, secret=True))
        for events in ([], ["--events", rig.ipc("e")]):
            said = zplan("--connect", rig.ipc("q"), "--publish", rig.ipc("p"), "--key", rig.path("me.key_secret"),
                         "--server-key", rig.server.public, "watch", *events).failed(REFUSED)
            assert said.startswith(f"zplan: the key '{name}' may not subscribe: it ") and words in said


def test_a_key_that_was_taken_off_learns_that(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    keys = rig.allow("gone", "observe")
    rig.start()
    client = rig.keep(Client(rig.ipc("q"), prepare=rig.with_keys(keys)))
    client.done("whoami")
    with rig.list_changes():
        rig.allow("gone", "submit")
    assert client.manage("whoami").code == ST.DENY
