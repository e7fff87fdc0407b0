"""`zplan keygen`, and --key and --server-key of the verbs that connect, against stations played by
the test that want keys."""
import json
import os
import re
import stat

import pytest
import zmq
import zmq.auth

from clitest import (ARG, DONE, NO_ANSWER, REFUSED, STATUS, USAGE, Ended, FakeStation, reply, start,
                     zplan)
from keyedtest import LockedPlanStation, LockedStation, Pair

HINT = (" (with --key: is the key in the station's allow-list, and is --server-key the "
        "station's?)\n")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: Pair(folder, name, "--role", "submit")
            for name in ("station", "known", "stranger")}


def ok(request):
    return [reply(request, 1, (STATUS, b"+ok"))]


# -- keygen


def test_the_public_key_is_printed_and_both_files_are_certificates(tmp_path):
    ended = zplan("keygen", "billing", "--role", "submit,observe", "--station", "jobs,report-*",
                  cwd=tmp_path, umask=0o022)
    assert ended.code == DONE
    assert re.fullmatch(r"[0-9a-zA-Z.:+=^!/*?&<>()\[\]{}@%$#-]{40}\n", ended.out)
    assert "billing.key_secret" in ended.err
    public, none = zmq.auth.load_certificate(tmp_path / "billing.key")
    assert (public.decode(), none) == (ended.out.strip(), None)
    public, secret = zmq.auth.load_certificate(tmp_path / "billing.key_secret")
    assert public.decode() == ended.out.strip() and zmq.curve_public(secret) == public
    text = (tmp_path / "billing.key").read_text()
    for line in ['    name = "billing"', '    roles = "submit,observe"',
                 '    stations = "jobs,report-*"']:
        assert line in text.splitlines()
    assert secret.decode() not in text + ended.out + ended.err
    assert sorted(os.listdir(tmp_path)) == ["billing.key", "billing.key_secret"]
    # The station, which may be another user, reads the public one.
    for name, mode in [("billing.key", 0o644), ("billing.key_secret", 0o600)]:
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == mode


def test_json(tmp_path):
    made = json.loads(zplan("keygen", "a", "--role", "manage", "--out", str(tmp_path),
                            "--json=wire").done())
    public, _ = zmq.auth.load_certificate(made["public_file"])
    assert made == {"name": "a", "public_key": public.decode(),
                    "public_file": f"{tmp_path}/a.key", "secret_file": f"{tmp_path}/a.key_secret"}


def test_a_key_without_a_role_is_made_and_told(tmp_path):
    ended = zplan("keygen", "station", cwd=tmp_path)
    assert ended.code == DONE and "no --role" in ended.err
    assert "roles" not in (tmp_path / "station.key").read_text()


@pytest.mark.parametrize("there", ["a.key", "a.key_secret"])
def test_no_file_is_written_over(tmp_path, there):
    (tmp_path / there).write_text("mine")
    words = zplan("keygen", "a", "--out", str(tmp_path)).failed(REFUSED)
    assert f"{there}: already exists, and is not overwritten" in words
    assert os.listdir(tmp_path) == [there] and (tmp_path / there).read_text() == "mine"


def test_nor_is_one_behind_a_link(tmp_path):
    os.symlink(tmp_path / "elsewhere", tmp_path / "a.key")
    zplan("keygen", "a", "--out", str(tmp_path)).failed(REFUSED)
    assert os.listdir(tmp_path) == ["a.key"]


@pytest.mark.parametrize("args, code, words", [
    ([], USAGE, "want one name, got 0"),
    (["a", "b"], USAGE, "want one name, got 2"),
    ([""], USAGE, "name: want 1..64 of A-Z a-z 0-9 _ . - without a leading dot"),
    ([".a"], USAGE, "name: want 1..64"),
    (["../a"], USAGE, "name: want 1..64"),
    (["x" * 65], USAGE, "NAME: at most 64 bytes"),
    (["a", "--role", "root"], USAGE, "roles: want one or more of submit,observe,manage,result,signal, got 'root'"),
    (["a", "--role", "submit,"], USAGE, "roles: want one or more of"),
    (["a", "--role", "submit," * 20], USAGE, "--role: at most 127 bytes"),
    (["a", "--target", ""], USAGE, "--target: want names of targets"),
    (["a", "--station", "a*b"], USAGE, "stations: want names of 1..64"),
    (["a", "--station", "a b"], USAGE, "stations: want names of 1..64"),
    (["a", "--station", "jobs\"\n"], USAGE, "stations: want names of 1..64"),
    (["a", "--station", "x," * 512], USAGE, "--target: at most 1023 bytes"),
    (["a", "--force"], USAGE, "unknown option '--force'"),
    (["a", "--out", "missing"], REFUSED, "missing/a.key_secret: No such file or directory"),
    (["a", "--out", "x" * 5000], REFUSED, "the folder's path is too long"),
])
def test_what_keygen_refuses(tmp_path, args, code, words):
    assert words in zplan("keygen", *args, cwd=tmp_path).failed(code)
    assert os.listdir(tmp_path) == []


def test_help_teaches():
    text = zplan("keygen", "--help").done()
    assert text.count("\n  zplan keygen") >= 2 and "--server-key" in text
    assert max(map(len, text.splitlines())) <= 100


# -- connecting


@pytest.mark.parametrize("args", [
    ["ping"], ["list"], ["stats"], ["station", "list"], ["show", "1"], ["history"],
    ["add", "--station", "s", "--command", "c"], ["pause", "1"], ["next", "1"],
    ["update", "1", "--title", "t"], ["watch", "--since", "0", "-n", "1"]])
def test_every_verb_connects_with_its_key(pairs, args):
    with LockedStation(ok, pairs["station"], [pairs["known"]]) as station:
        station.zplan(*args, *pairs["known"].options(pairs["station"]), "--timeout", "20000",
                      "--publish", "tcp://127.0.0.1:1")
        assert not station.seen.empty() and not station.door.refused.is_set()


def test_before_the_verb_and_from_the_environment(pairs):
    with LockedStation(ok, pairs["station"], [pairs["known"]]) as station:
        known, key = pairs["known"], pairs["station"].public.decode()
        station.zplan(*known.options(pairs["station"]), "ping").done()
        station.zplan("ping", env={"ZPLAN_KEY": known.secret_file, "ZPLAN_SERVER_KEY": key}).done()
        station.zplan("ping", f"--server-key={key}", env={"ZPLAN_KEY": known.secret_file}).done()
        # The command line is stronger, and what is empty does not count.
        station.zplan("ping", "--key", known.secret_file,
                      env={"ZPLAN_KEY": "/missing", "ZPLAN_SERVER_KEY": key}).done()
    with FakeStation(ok) as station:
        station.zplan("ping", env={"ZPLAN_KEY": "", "ZPLAN_SERVER_KEY": ""}).done()


@pytest.mark.parametrize("args", [["ping"], ["list", "--json=wire"],
                                  ["watch", "--since", "0"]])
def test_a_refused_key_is_a_silent_station(pairs, args):
    with LockedStation(ok, pairs["station"], [pairs["known"]]) as station:
        words = station.zplan(*args, *pairs["stranger"].options(pairs["station"]), "--timeout",
                              "1500").failed(NO_ANSWER)
        assert words == f"zplan: no answer from {station.endpoint} within 1500 ms{HINT}"
        assert station.seen.empty()
        assert station.door.refused.wait(20)


def test_so_is_the_key_of_another_station(pairs):
    with LockedStation(ok, pairs["station"], [pairs["known"]]) as station:
        words = station.zplan("ping", *pairs["known"].options(pairs["stranger"]), "--timeout",
                              "1000").failed(NO_ANSWER)
        assert words.endswith(HINT) and station.seen.empty()


def test_without_a_key_nothing_reaches_a_station_that_wants_one(pairs):
    with LockedStation(ok, pairs["station"], [pairs["known"]]) as station:
        words = station.zplan("ping", "--timeout", "1000").failed(NO_ANSWER)
        assert words == f"zplan: no answer from {station.endpoint} within 1000 ms\n"
        assert station.seen.empty()


def test_with_a_key_nothing_goes_to_a_station_without_one(pairs):
    with FakeStation(ok) as station:
        station.zplan("ping", *pairs["known"].options(pairs["station"]), "--timeout",
                      "1000").failed(NO_ANSWER)
        assert station.seen.empty()


def test_watch_subscribes_with_its_key(pairs):
    known = pairs["known"]
    with LockedPlanStation(pairs["station"], [known]) as station:
        process = station.watch("-n", "1", "--json=wire", *known.options(pairs["station"]))
        station.outcome("now")
        ended = Ended(process)
        assert json.loads(ended.done())["title"] == "now"
        # Heard, not asked for.
        assert all("after" not in args and "newest" in args
                   for args in map(json.loads, sum(station.requests("history"), [])))


def test_work_joins_with_its_key(pairs, tmp_path):
    def joined(request):
        return [[bytes([0, 1, 0])]]
    with LockedStation(joined, pairs["station"], [pairs["known"]]) as station:
        process = start("work", "--station", station.endpoint, "--name", "w",
                        *pairs["known"].options(pairs["station"]), "--", "true")
        assert process.stderr.readline().decode() == f"zplan work: joined {station.endpoint} as w\n"
        process.terminate()
        Ended(process)
        desc, name, *_ = station.request()
        assert desc[1] == ord("J") and desc[2] == ARG and name == b"w"


def test_work_with_a_refused_key_says_so(pairs):
    with LockedStation(ok, pairs["station"], [pairs["known"]]) as station:
        process = start("work", "--station", station.endpoint, "--name", "w",
                        *pairs["stranger"].options(pairs["station"]), "--", "true")
        line = process.stderr.readline().decode()
        process.terminate()
        Ended(process)
        assert line == f"zplan work: no answer from {station.endpoint} yet{HINT}"


CONNECTING = [["ping"], ["watch"], ["work", "--station", "tcp://127.0.0.1:1", "--", "true"]]


@pytest.mark.parametrize("args", CONNECTING)
def test_one_without_the_other_is_a_usage_error(pairs, args):
    known, key = pairs["known"].secret_file, pairs["station"].public.decode()
    for half, env in [(["--key", known], {}), ([f"--server-key={key}"], {}),
                      ([], {"ZPLAN_KEY": known}), ([], {"ZPLAN_SERVER_KEY": key})]:
        words = zplan(args[0], *half, *args[1:], env=env).failed(USAGE)
        assert "--key FILE and --server-key KEY go together" in words


@pytest.mark.parametrize("args", CONNECTING)
@pytest.mark.parametrize("key", ["", "x", "0" * 39, "0" * 41, "~" * 40, "#" * 40])
def test_a_server_key_that_is_none(pairs, args, key):
    words = zplan(args[0], "--key", pairs["known"].secret_file, f"--server-key={key}",
                  *args[1:]).failed(USAGE)
    assert "--server-key: want 40 characters of Z85" in words


@pytest.mark.parametrize("args", CONNECTING)
@pytest.mark.parametrize("spoil, words", [
    (lambda path, pair: os.unlink(path), "No such file or directory"),
    (lambda path, pair: os.chmod(path, 0o644), "others may use this secret: chmod 600 it"),
    (lambda path, pair: open(path, "wb").write(open(pair.public_file, "rb").read()),
     "the secret-key is missing"),
    (lambda path, pair: open(path, "a").write("  more = 1\n"), "is not a field of a certificate"),
    (lambda path, pair: open(path, "w").write(pair.secret.decode() + "\n"),
     "line 1 is not a section of a certificate"),
])
def test_a_key_file_that_is_none(pairs, tmp_path, args, spoil, words):
    mine = Pair(tmp_path, "mine", "--role", "submit")
    spoil(mine.secret_file, mine)
    told = zplan(args[0], *mine.options(pairs["station"]), *args[1:]).failed(REFUSED)
    assert told.startswith("zplan: --key: ") and words in told
    assert mine.secret.decode() not in told


def test_verbs_that_do_not_connect_do_not_look_at_the_key(tmp_path):
    env = {"ZPLAN_KEY": "/missing"}
    zplan("next", "--every", "10m", env=env).done()
    assert zplan("keygen", "a", "--out", str(tmp_path), env=env).code == DONE
