"""zstationd with --curve: who is let in to its ports, and its own connection to --plan."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import zmq

from keyedtest import LockedStation, Pair
from zplanprocs import free_port, wait_until
from zstationtest import (  # noqa: F401 station is a fixture
    ARG, BIN, JOIN, NONE, OK, PING, READY, RUNING, TITLE, WAITING, WAIT_S, Peer, a_run, pack,
    station)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: Pair(folder, name) for name in ("target", "plan", "worker", "client", "stranger")}


class Keyed(Peer):
    """A peer that connects with CURVE."""

    def __init__(self, context, type_, endpoint, own, server):
        self.socket = context.socket(type_)
        self.socket.linger = 0
        self.socket.curve_serverkey = server.public
        self.socket.curve_publickey, self.socket.curve_secretkey = own.public, own.secret
        self.socket.handshake_ivl = 1000
        if type_ == zmq.SUB:
            self.socket.subscribe(b"")
        self.socket.connect(endpoint)


class Secured:
    """A zstationd that wants keys; who connects has one."""

    def __init__(self, station, pairs):
        self.station, self.pairs = station, pairs
        self.folder = station.folder / "allow"
        self.folder.mkdir()
        for name in ("plan", "worker", "client"):
            self.allow(name)

    def allow(self, name):
        shutil.copy(self.pairs[name].public_file, self.folder / f"{name}.key")

    def start(self, *options, type_="api"):
        self.station.start("--curve", self.pairs["target"].secret_file, "--allow",
                           str(self.folder), *options, type_=type_)
        return self

    def connect(self, name, endpoint="request", type_=zmq.DEALER, server="target"):
        self.station.peers.append(
            Keyed(self.station.context, type_, self.station.endpoint(endpoint), self.pairs[name],
                  self.pairs[server]))
        return self.station.peers[-1]

    def refusals(self):
        return self.station.log().count("event=key.refused")

    def work(self, name, script):
        return subprocess.Popen(
            [BIN / "zplan", "work", "--station", self.station.endpoint("workers"), "--name", "sh",
             *self.pairs[name].options(self.pairs["target"]), "--", "/bin/sh", "-c", script],
            stderr=subprocess.PIPE, text=True)


@pytest.fixture
def secured(station, pairs):  # noqa: F811
    return Secured(station, pairs)


@pytest.mark.parametrize("type_, endpoint", [("api", "request"), ("api", "workers"),
                                             ("vote", "request"), ("vote", "workers"),
                                             ("pub", "request")])
def test_who_is_on_the_list_is_let_in(secured, type_, endpoint):
    secured.start(type_=type_)
    assert secured.connect("client", endpoint).ask(*pack(PING)).code == OK
    assert secured.refusals() == 0


@pytest.mark.parametrize("endpoint", ["request", "workers"])
def test_who_is_not_is_refused_counted_and_told(secured, pairs, endpoint):
    secured.start()
    stranger = secured.connect("stranger", endpoint)
    stranger.send(*pack(PING))
    wait_until(secured.refusals, "the refusal is logged")
    assert f"key='{pairs['stranger'].public.decode()}'" in secured.station.log()
    assert secured.connect("client", endpoint).ask(*pack(PING)).code == OK
    assert not stranger.poll(0)
    assert secured.station.count("refused_keys") >= 1


def test_neither_is_who_has_no_key_or_the_key_of_another_station(secured):
    secured.start()
    plain = secured.station.peer()
    plain.send(*pack(PING))
    wrong = secured.connect("client", server="plan")
    wrong.send(*pack(PING))
    assert secured.connect("client").ask(*pack(PING)).code == OK
    assert not plain.poll(1) and not wrong.poll(0)


def test_a_subscriber_needs_a_key_too(secured):
    secured.start(type_="pub")
    client = secured.connect("client")
    heard = secured.connect("worker", "publish", zmq.SUB)
    deaf = secured.connect("stranger", "publish", zmq.SUB)
    wait_until(secured.refusals, "the refusal is logged")

    def published():
        assert client.ask(*pack(NONE, (TITLE, b"news"))).code == OK
        return heard.poll(0.05)
    wait_until(published, "the subscription has come")
    assert heard.raw()[0] == b"news" and not deaf.poll(0)


def test_the_list_is_read_for_each_connection(secured):
    secured.start()
    late = secured.connect("stranger")
    late.send(*pack(PING))
    wait_until(secured.refusals, "the refusal is logged")
    secured.allow("stranger")
    assert late.recv().code == OK      # it tries again by itself
    os.unlink(secured.folder / "client.key")
    refused = secured.refusals()

    def refuses():
        secured.connect("client").send(*pack(PING))
        return secured.refusals() > refused
    wait_until(refuses, "the list is read again")


def test_attempts_to_connect_do_not_read_all_certificates_again(secured):
    """Many keys, many strangers: a look at the folder is cheap, and there is not one for each."""
    for number in range(3000):
        public, _ = zmq.curve_keypair()
        (secured.folder / f"key{number}.key").write_text(
            f'metadata\n    name = "key{number}"\ncurve\n    public-key = "{public.decode()}"\n')
    secured.start()
    pid = secured.station.process.pid

    def read_calls():
        return int(re.search(r"syscr: (\d+)", Path(f"/proc/{pid}/io").read_text())[1])

    # What changed a moment before it was read is read once more.
    def settled():
        before = read_calls()
        assert secured.connect("client").ask(*pack(PING)).code == OK
        return read_calls() - before < 3000
    wait_until(settled, "it takes the folder for unchanged")
    before = read_calls()
    for _ in range(20):
        secured.connect("stranger").send(*pack(PING))
    wait_until(lambda: secured.refusals() >= 20, "there were as many attempts")
    assert read_calls() - before < 3000
    secured.allow("stranger")

    def lets_in():
        stranger = secured.connect("stranger")
        stranger.send(*pack(PING))
        return stranger.poll(1) and stranger.recv().code == OK
    wait_until(lets_in, "the new key is taken up")


def test_two_keys_of_one_name_are_refused_by_name_of_both_files(secured, pairs):
    text = Path(pairs["stranger"].public_file).read_text()
    (secured.folder / "other.key").write_text(text.replace('"stranger"', '"client"'))
    ended = subprocess.run(
        [BIN / "zstationd", "--name", "jobs", "--type", "api", "--request",
         secured.station.endpoint("request"), "--workers", secured.station.endpoint("workers"),
         "--curve", pairs["target"].secret_file, "--allow", str(secured.folder)],
        capture_output=True, text=True, timeout=WAIT_S)
    assert ended.returncode == 2
    assert f"{secured.folder}/other.key: name: 'client' is also the name in client.key too" in ended.stderr


def test_a_broken_file_lets_nobody_in_and_shuts_nobody_out(secured):
    secured.start()
    (secured.folder / "a.key").write_text("curve\n    public-key = \"x\"\n")
    assert secured.connect("client").ask(*pack(PING)).code == OK
    secured.connect("stranger").send(*pack(PING))
    wait_until(secured.refusals, "the refusal is logged")
    assert "event=allow.unsound" in secured.station.log() and "a.key: " in secured.station.log()


def test_hidden_and_secret_files_and_folders_are_no_certificates(secured, pairs):
    shutil.copy(pairs["stranger"].public_file, secured.folder / ".a.key")
    shutil.copy(pairs["stranger"].secret_file, secured.folder / "b.key_secret")
    (secured.folder / "folder").mkdir()
    secured.start()
    secured.connect("stranger").send(*pack(PING))
    wait_until(secured.refusals, "the refusal is logged")


def test_with_keys_any_address_is_taken(secured):
    secured.start("--request", f"tcp://0.0.0.0:{free_port()}")


def test_a_run_is_done_by_a_worker_with_a_key(secured):
    secured.start()
    process = secured.work("worker", "echo done")
    assert "joined" in process.stderr.readline()
    plan = secured.connect("plan")
    plan.send(*a_run())
    try:
        answer = plan.recv()
        while answer.code in (RUNING, WAITING):
            answer = plan.recv()
    finally:
        process.terminate()
        assert process.wait(WAIT_S) == 0
    assert answer.code == OK and b"done\n" in answer.frames


def test_a_result_goes_to_the_plan_station_encrypted(secured, pairs):
    with LockedStation(lambda request: [], pairs["plan"], [pairs["target"]]) as plan_station:
        secured.start("--plan", plan_station.endpoint, "--plan-key",
                      pairs["plan"].public.decode())
        plan = secured.connect("plan")
        worker = secured.connect("worker", "workers")
        assert worker.ask(*pack(JOIN, (ARG, b"w"))).code == OK
        worker.send(*pack(READY, (ARG, b"w")))
        plan.send(*a_run())
        job = worker.recv()
        plan.socket.close()

        def rerouted():
            # It is given up once the station has noticed that the connection is gone.
            worker.send(job.sender, *pack(WAITING))
            return not plan_station.seen.empty()
        wait_until(rerouted, "an answer goes the other way")
        assert plan_station.request()[0] == b"*a1"


@pytest.mark.parametrize("owner", [0, 1])
def test_each_of_several_plan_stations_has_its_key(secured, pairs, owner):
    names = ["plan", "client"]
    with LockedStation(lambda request: [], pairs[names[owner]], [pairs["target"]]) as plan_station:
        endpoints = [f"tcp://127.0.0.1:{free_port()}"] * 2
        endpoints[owner] = plan_station.endpoint
        secured.start("--plan", ",".join(endpoints), "--plan-key",
                      ",".join(pairs[name].public.decode() for name in names))
        plan = secured.connect("plan")
        worker = secured.connect("worker", "workers")
        assert worker.ask(*pack(JOIN, (ARG, b"w"))).code == OK
        worker.send(*pack(READY, (ARG, b"w")))
        plan.send(*a_run())
        job = worker.recv()
        plan.socket.close()

        def rerouted():
            worker.send(job.sender, *pack(WAITING))
            return not plan_station.seen.empty()
        wait_until(rerouted, "an answer reaches the owner")
        assert plan_station.request()[0] == b"*a1"


@pytest.mark.parametrize("options, code, words", [
    (["--curve", "TARGET"], 2, "--curve FILE and --allow DIR go together"),
    (["--allow", "ALLOW"], 2, "--curve FILE and --allow DIR go together"),
    (["--plan", "tcp://127.0.0.1:1", "--plan-key", "PLAN"], 2, "--plan-key: wants --curve FILE"),
    (["--curve", "TARGET", "--allow", "ALLOW", "--plan-key", "PLAN"], 2,
     "--plan-key: wants --plan ENDPOINT"),
    (["--curve", "TARGET", "--allow", "ALLOW", "--plan", "tcp://127.0.0.1:1", "--plan-key", "x"], 2,
     "--plan-key: want 40 characters of Z85"),
    (["--curve", "TARGET", "--allow", "ALLOW", "--plan",
      "tcp://127.0.0.1:1,tcp://127.0.0.1:2,tcp://127.0.0.1:3", "--plan-key", "PLAN,PLAN"], 2,
     "--plan-key: want one key, or one for each endpoint of --plan"),
    (["--curve", "/missing", "--allow", "ALLOW"], 2, "--curve: /missing: No such file"),
    (["--curve", "PUBLIC", "--allow", "ALLOW"], 2, "the secret-key is missing"),
    (["--curve", "TARGET", "--allow", "/missing"], 2, "--allow: /missing: No such file"),
    (["--curve", "TARGET", "--allow", "BROKEN"], 2, "the public-key is missing"),
])
def test_what_does_not_start(secured, pairs, options, code, words):
    broken = secured.station.folder / "broken"
    broken.mkdir()
    (broken / "a.key").write_text("")
    names = {"TARGET": pairs["target"].secret_file, "PUBLIC": pairs["target"].public_file,
             "PLAN": pairs["plan"].public.decode(),
             "PLAN,PLAN": ",".join([pairs["plan"].public.decode()] * 2), "ALLOW": str(secured.folder),
             "BROKEN": str(broken)}
    station = secured.station
    ended = subprocess.run(
        [BIN / "zstationd", "--name", "jobs", "--type", "api", "--request",
         station.endpoint("request"), "--workers", station.endpoint("workers"),
         *(names.get(option, option) for option in options)],
        capture_output=True, text=True, timeout=WAIT_S)
    assert (ended.returncode, ended.stdout) == (code, "") and words in ended.stderr, ended.stderr
    assert pairs["target"].secret.decode() not in ended.stderr
