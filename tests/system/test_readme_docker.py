"""Every command of docker/README.md is run, and does what stands beside it.

A test a chapter; how: readmetest.py. What wants Docker is run by test_image.py, what changes the machine's packages
by test_deb.py.
"""
import json
import os
import re
import stat

import pytest
import redis

from microzero import KEY, FakeCenter
from readmetest import BIN, READY, chapters_of
from test_sentinel import Node, Sentinel
from zplanprocs import WAIT, Redis, wait_until

of_chapter = chapters_of("docker/README.md")


def settings(newcomer):
    newcomer.programs_are_found()
    told = newcomer.does("zpland --settings").splitlines()
    keys = {"name", "type", "reload", "help"}
    assert len(told) > 30 and all(keys <= set(json.loads(line)) for line in told)
    pages = re.findall(r"`man (?:(\d) )?([\w.]+)`", "".join(newcomer.chapter.prose))
    assert pages
    for section, page in pages:
        assert list((BIN / "man").glob(f"{page}.{section or '[58]'}")), page


class Watcher(Sentinel):
    """A Sentinel at an address of its own."""

    def __init__(self, folder, host, port, master):
        self.host = host
        super().__init__(folder, "sentinel-" + host, master, port)
        with open(self.file, encoding="utf-8") as file:
            text = file.read()
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text.replace("bind 127.0.0.1", "bind " + host))

    def client(self):
        return redis.Redis(host=self.host, port=self.port, socket_timeout=WAIT)


@pytest.fixture
def servers():
    """Redis and Sentinels that are ended."""
    made = []
    yield made
    for one in made:
        one.process.kill()
        one.process.wait()


def started(servers, server):
    servers.append(server)
    server.start()
    return server


def works(newcomer):
    """The last program is a station that keeps plans."""
    newcomer.run(f"zplan station add jobs=api@{newcomer.at('7930')}")
    output = newcomer.run("zplan add --station jobs --command x --in 1d")
    assert "accepted" in output, output


def redis_of_yours(newcomer, servers):
    newcomer.programs_are_found()
    folder = newcomer.folder
    db = started(servers, Redis(f"{folder}/redis.sock", [
        "--port", newcomer.ports["6379"], "--bind", "127.0.0.5", "--appendfsync", "everysec"]))
    db.client().execute_command("ACL", "SETUSER", "zplan", "on", ">secret", "~*", "&*", "+@all")
    password = folder / "etc-redis"
    password.write_text("secret\n")
    password.chmod(0o644)
    command = newcomer.next("zpland --redis 10.0.0.5")
    assert "chmod 600" in newcomer.run(command, code=2)
    password.chmod(0o600)
    newcomer.start(command, READY)
    works(newcomer)
    assert newcomer.started[-1].end() == 0

    command = newcomer.next("zpland --redis unix:")
    said = newcomer.run(command, code=1)
    assert "appendfsync" in said and "durable requires always" in said, said
    db.client().config_set("appendfsync", "always")
    newcomer.start(command, READY)
    assert "kept, also when the machine fails" in newcomer.run("zplan doctor")
    assert newcomer.started[-1].end() == 0

    master = started(servers, Node(str(folder), "m"))
    replica = started(servers, Node(str(folder), "s"))
    replica.follow(master)
    for host in ("127.0.0.5", "127.0.0.6", "127.0.0.7"):
        started(servers, Watcher(str(folder), host, newcomer.ports["26379"], master))
    newcomer.lasts("zpland --redis sentinel:", READY)
    works(newcomer)
    assert replica.client().keys("plan:msg:*"), "a replica has what was acknowledged"


def keys(newcomer):
    newcomer.programs_are_found()
    newcomer.does("mkdir -p allow")
    newcomer.does("zplan keygen station")
    newcomer.does("zplan keygen ops")
    newcomer.does("zplan keygen billing")
    newcomer.does("cp ops.key billing.key allow/")
    station = newcomer.lasts("zpland --curve", READY)
    assert "no answer" in newcomer.run("zplan --timeout 1000 list", code=3)     # without a key
    newcomer.does("export ZPLAN_CONNECT")
    newcomer.does("export ZPLAN_SERVER_KEY")
    newcomer.does("zplan list", "TITLE")
    billing = "--key billing.key_secret "
    words = newcomer.run(f"zplan {billing} add --station jobs --command x", code=1)
    assert "may not touch plans of 'jobs'" in words or "-no find" in words, words
    words = newcomer.run(f"zplan {billing} pause 1f", code=1)
    assert "role: want manage, the key 'billing' has submit,observe" in words
    os.unlink(newcomer.folder / "allow" / "ops.key")
    station.seen("event=access.loaded keys=1")
    assert "no answer" in newcomer.run("zplan --timeout 1000 list", code=3)
    station.seen("event=key.refused")


def beside_microzero(newcomer):
    newcomer.programs_are_found()
    with FakeCenter("v1.5", Orders="api") as center:
        newcomer.words = {"tcp://10.0.0.5:8003": center["Orders"].endpoint,
                          "SECRET": KEY.decode(), **newcomer.words}
        newcomer.lasts("zpland --station Orders=", READY)
        newcomer.run("zplan add --station Orders --command x --title order")
        center["Orders"].job().finish()
        wait_until(lambda: " ok " in newcomer.run("zplan history"), "the run has ended well")
        assert newcomer.started[-1].end() == 0
    with FakeCenter("master", Found="api") as center:
        newcomer.words = {"tcp://10.0.0.5:8000": center.endpoint, **newcomer.words}
        newcomer.lasts("zpland --center", READY)
        wait_until(lambda: "Found" in newcomer.run("zplan station list"), "Found is found")
        assert newcomer.started[-1].end() == 0


@of_chapter("Settings")
def test_settings(newcomer):
    settings(newcomer)


@of_chapter("Redis")
def test_redis(newcomer, servers):
    redis_of_yours(newcomer, servers)


@of_chapter("Keys")
def test_keys(newcomer):
    keys(newcomer)


@of_chapter("Beside MicroZero")
def test_beside_microzero(newcomer):
    beside_microzero(newcomer)


@of_chapter("Callbacks")
def test_callbacks(newcomer):
    newcomer.programs_are_found()
    newcomer.start(f"zpland --data {newcomer.folder}/data", READY)
    newcomer.start("zplan work -- cat", "serves jobs of")
    receiver = newcomer.receiver("https://hooks.example/")
    secrets = newcomer.folder / "etc-secrets"
    secrets.mkdir()
    (secrets / "billing").write_text(f"type = header\nhosts = 127.0.0.1:{receiver.port}\ntargets = jobs\nname = X-Key\nvalue = k\n")
    (secrets / "billing").chmod(0o600)
    newcomer.lasts("zplan-callback --secrets", READY)
    newcomer.run(f"zplan add --command pay --now --callback {receiver.url()} --secret billing")
    assert receiver.next().headers["x-key"] == "k"
    receiver.close()


@of_chapter("Over HTTP")
def test_over_http(newcomer):
    newcomer.programs_are_found()
    newcomer.start(f"zpland --data {newcomer.folder}/data", READY)
    newcomer.lasts("zplan-web", "ready at http://")
    newcomer.does("curl http", '"items":')
    for language in ("nginx", "caddy"):
        newcomer.file(language, language)       # test_web_nginx_caddy.py runs them


@of_chapter("Two stations")
def test_two_stations(newcomer, servers):
    newcomer.programs_are_found()
    started(servers, Redis(f"{newcomer.folder}/redis.sock", [
        "--port", newcomer.ports["6379"], "--bind", "127.0.0.5"]))
    newcomer.lasts("zpland --redis", READY)
    standby = newcomer.lasts("zpland --redis", r"(?m)^standby$")
    for telling in "handed over", r"(?m)^attending +2$":
        command = newcomer.next("zplan --connect").split("#")[0]
        wait_until(lambda: re.search(telling, newcomer.run(f"{command}; true")), telling)
        standby.seen(READY)


# -- moving, backing up and restoring

def fill(newcomer):
    """A station that has run a plan, and keeps others; its program."""
    newcomer.programs_are_found()
    station = newcomer.start(f"zpland --data {newcomer.folder}/data", READY)
    target = f"jobs=api@{newcomer.at('7930')}"
    newcomer.run(f"zplan target add {target}")
    newcomer.start(f"zstationd --name jobs --type api --request {newcomer.at('7930')} "
                   f"--workers {newcomer.at('7931')}", READY)
    newcomer.start(f"zplan work --station {newcomer.at('7931')} -- cat", "joined")
    newcomer.run("zplan add --target jobs --command now --arg 1")
    newcomer.run("zplan add --target jobs --command x --in 1d --id 1f --title queued")
    newcomer.run("zplan add --target jobs --command x --in 1d --id 2f --title paused")
    newcomer.run("zplan pause 2f")
    wait_until(lambda: " ok " in newcomer.run("zplan history"), "one has run")
    return station


def states(newcomer, connect=""):
    """{id: state} and how many outcomes."""
    plans = [json.loads(line) for line in newcomer.run(f"zplan {connect} list --json").splitlines()]
    return ({plan["id"]: plan["state"] for plan in plans},
            len(newcomer.run(f"zplan {connect} history --json").splitlines()))


def is_private(path):
    return stat.S_IMODE(os.stat(path).st_mode) == 0o600


@of_chapter("Move to another machine")
def test_move(newcomer):
    fill(newcomer)
    before = states(newcomer)
    newcomer.does("umask 077; zplan export", "^$")
    assert is_private(newcomer.folder / "everything.ndjson")
    sockets = {name: newcomer.at(port) for name, port in
               (("request", "8000"), ("publish", "8003"), ("events", "6379"))}
    newcomer.start(f"zpland --data {newcomer.folder}/other " + " ".join(
        f"--{name} {endpoint}" for name, endpoint in sockets.items()), READY)
    newcomer.words = {"tcp://10.0.0.7:7920": sockets["request"], **newcomer.words}
    other = f"--connect {sockets['request']}"
    newcomer.does("zplan --connect", f"1 target, {before[1]} outcomes?, 2 plans would be added")
    assert states(newcomer, other) == ({}, 0)
    newcomer.does("zplan --connect", f"1 target, {before[1]} outcomes?, 2 plans added")
    assert "queued" in newcomer.does("zplan --connect")
    newcomer.does("zplan --connect", "1 reset")
    assert states(newcomer, other) == before


def stopped(newcomer, station):
    """systemctl stop, played."""
    newcomer.next("systemctl stop zpland")
    assert station.end() == 0


def begun(newcomer):
    """systemctl start, played."""
    newcomer.next("systemctl start zpland")
    return newcomer.start(f"zpland --data {newcomer.folder}/data", READY)


@of_chapter("Back up")
def test_back_up(newcomer):
    station = fill(newcomer)
    newcomer.does("umask 077; zplan export", "^$")
    assert is_private(newcomer.folder / "plans.ndjson.gz")
    stopped(newcomer, station)
    newcomer.does("tar", "^$")
    begun(newcomer)
    newcomer.does("redis-cli")
    assert (newcomer.folder / "plans.rdb").read_bytes().startswith(b"REDIS")
    wait_until(lambda: newcomer.run("zplan list"), "the plans are there")


@of_chapter("Restore")
def test_restore(newcomer):
    station = fill(newcomer)
    before = states(newcomer)
    newcomer.run("zplan export --everything | gzip >plans.ndjson.gz")
    assert station.end() == 0
    newcomer.run(f"tar -C {newcomer.folder}/data -czf zplan-data.tar.gz . && rm -r {newcomer.folder}/data")
    station = newcomer.start(f"zpland --data {newcomer.folder}/data", READY)
    newcomer.does("gunzip", f"1 target, {before[1]} outcomes?, 2 plans added")    # a try before its worker is one, too
    newcomer.run("zplan reset --held")
    assert states(newcomer) == before
    newcomer.run("zplan remove --all")
    stopped(newcomer, station)
    newcomer.does("mv")
    newcomer.does("install")
    newcomer.does("tar", "^$")
    begun(newcomer)
    assert states(newcomer) == before


@of_chapter("Upgrade")
def test_upgrade(newcomer):
    fill(newcomer)
    newcomer.does("umask 077; zplan export", "^$")
    assert is_private(newcomer.folder / "before-upgrade.ndjson")


@of_chapter("Uninstall")
def test_uninstall(newcomer):
    fill(newcomer)
    newcomer.does("zplan export", "^$")
    assert '"type":"end"' in newcomer.run("tail -n 1 everything.ndjson")
