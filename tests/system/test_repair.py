"""The files of the embedded Redis behind a power loss, and with damage: what zpland does at its start."""
import glob
import os
import re
import shutil
import signal

import pytest
import redis as redis_py

from redissteps import embed_redis
from zplanprocs import children, kill_redis, run_once
from zplantest import ST, later, wait_until

DAMAGED = 3


class Data:
    """A station with a Redis of its own, and the files of that."""

    def __init__(self, rig):
        self.rig, self.folder = rig, embed_redis(rig).data
        self.started = []

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, *options):
        args = self.rig.station.args
        self.rig.station.args = [*args, *options]
        self.rig.station.start()
        self.rig.station.args = args
        self.started += children(self.rig.station.pid)

    def refused(self, *options):
        """It does not start; the exit status and the reason."""
        code, out, err = run_once([*self.rig.station.args, *options])
        assert out == "" and code != 0, err
        return code, err

    def added(self, count=1):
        return [self.rig.client.added(later()) for _ in range(count)]

    def there(self, idents):
        return [self.rig.client.manage("message", ident).code == ST.OK for ident in idents]

    @property
    def incr(self):
        name, = glob.glob(self.path("appendonlydir", "*.incr.aof"))
        return name

    @property
    def base(self):
        name, = glob.glob(self.path("appendonlydir", "*.base.rdb"))
        return name

    def base_number(self):
        names = glob.glob(self.path("appendonlydir", "*.base.rdb"))
        return len(names) == 1 and int(names[0].split(".")[-3])

    def append(self, data):
        with open(self.incr, "ab") as file:
            file.write(data)
        return len(data)

    def copies(self):
        """What was kept of what was cut off."""
        texts = []
        for name in glob.glob(self.path("cut-*")):
            assert os.stat(name).st_mode & 0o777 == 0o600
            with open(name, "rb") as file:
                texts.append(file.read())
        return texts

    def log(self):
        with open(self.rig.station.log) as log:
            return log.read()


@pytest.fixture
def data(make_rig):
    data = Data(make_rig(start=False))
    data.start()
    yield data
    data.rig.station.stop()
    for pid in data.started:
        kill_redis(pid)


BEGUN = b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$10\r\n01234"
TRANSACTION = b"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\n1\r\n"
TORN = [bytes(4096), BEGUN, BEGUN + bytes(700), TRANSACTION, TRANSACTION + BEGUN, TRANSACTION + bytes(1)]


@pytest.mark.parametrize("torn", TORN, ids=["zeros", "begun", "begun, zeros", "transaction",
                                            "transaction, begun", "transaction, zero"])
def test_what_a_power_loss_leaves_is_cut_off_and_kept(data, torn):
    """Nothing that was acknowledged is lost, neither what was before nor what comes behind."""
    idents = data.added(3)
    data.rig.station.stop()
    whole = os.path.getsize(data.incr)
    size = data.append(torn)
    data.start()
    told = re.search(r"event=data.tail_cut file=(\S+) offset=(\d+) bytes=(\d+) copy=(\S+)", data.log())
    assert told and told[1] == os.path.basename(data.incr)
    assert (int(told[2]), int(told[3])) == (whole, size)
    assert os.path.dirname(told[4]) == data.folder and data.copies() == [torn]
    assert all(data.there(idents))
    idents += data.added(2)
    data.rig.station.stop()
    data.start()
    assert all(data.there(idents))
    assert data.log().count("event=data.tail_cut") == 1


def test_a_redis_that_is_killed_with_a_torn_end_comes_back(data):
    idents = data.added(3)
    redis, = children(data.rig.station.pid)
    os.kill(data.rig.station.pid, signal.SIGSTOP)
    os.kill(redis, signal.SIGKILL)
    wait_until(lambda: open(f"/proc/{redis}/stat").read().rpartition(")")[2].split()[0] == "Z",
               "Redis has ended")
    data.append(TRANSACTION + BEGUN)
    os.kill(data.rig.station.pid, signal.SIGCONT)
    wait_until(lambda: data.rig.client.submit(later()).code == ST.PLAN, "plans are taken again")
    data.started += children(data.rig.station.pid)
    assert all(data.there(idents)) and data.copies() == [TRANSACTION + BEGUN]


def test_damage_is_repaired_when_that_is_asked_for(data):
    first = data.added(3)
    data.rig.station.stop()
    whole = os.path.getsize(data.incr)
    data.start()
    later_ones = data.added(3)
    data.rig.station.stop()
    name = data.incr
    with open(name, "r+b") as file:
        file.seek(whole)
        file.write(b"damage")
    with open(name, "rb") as file:
        before = file.read()
    for _ in range(2):
        code, err = data.refused()
        assert code == DAMAGED and "event=redis.ended" not in err
        words = err.strip().splitlines()[-1]
        assert words.startswith(f"zpland: data: damaged at byte {whole} of {len(before)};"), err
        assert "--repair" in words and words.endswith(name) and not data.copies()
        with open(name, "rb") as file:
            assert file.read() == before
    data.start("--repair")
    assert re.search(rf"level=error .*event=data.repaired file=\S+ offset={whole} bytes={len(before) - whole} ",
                     data.log())
    assert all(data.there(first)) and not any(data.there(later_ones))
    assert data.copies() == [before[whole:]]
    first += data.added()
    data.rig.station.stop()
    data.start("--repair")      # there is nothing to repair any more
    assert all(data.there(first)) and len(data.copies()) == 1


def flipped(text):
    """Another byte in the last one of its plans: the checksum is wrong."""
    return text[:-12] + bytes([text[-12] ^ 1]) + text[-11:]


@pytest.mark.parametrize("harm", [lambda text: b"REDIX" + text[5:], flipped, lambda text: text[:len(text) // 2],
                                  lambda text: bytes(len(text)), lambda text: b""],
                         ids=["magic", "byte", "half", "zeros", "empty"])
def test_damage_elsewhere_is_told_and_not_repaired(data, harm):
    """A base file that has plans in it."""
    data.added(3)
    redis = redis_py.Redis(unix_socket_path=data.path("redis.sock"))
    redis.bgrewriteaof()
    wait_until(lambda: redis.info("persistence")["aof_rewrite_in_progress"] == 0 and data.base_number() == 2,
               "the file is rewritten")
    redis.close()
    data.rig.station.stop()
    with open(data.base, "rb") as file:
        text = file.read()
    with open(data.base, "wb") as file:
        file.write(harm(text))
    for options in ([], ["--repair"]):
        code, err = data.refused(*options)
        assert code == DAMAGED and not data.copies(), err
        assert data.path("redis.log") in err or f"{data.base} is empty" in err


@pytest.mark.parametrize("gone, named", [
    ("appendonlydir", "appendonlydir is missing"),
    ("appendonlydir/appendonly.aof.manifest", "appendonly.aof.manifest is missing"),
    ("appendonlydir/*.incr.aof", ".incr.aof is missing"),
    ("appendonlydir/*.base.rdb", ".base.rdb is missing")])
def test_files_that_are_missing_are_no_empty_start(data, gone, named):
    idents = data.added()
    data.rig.station.stop()
    path, = glob.glob(data.path(gone))
    os.rename(path, data.rig.path("aside"))
    for options in ([], ["--repair"]):
        code, err = data.refused(*options)
        assert code == DAMAGED and named in err and data.folder in err, err
    os.rename(data.rig.path("aside"), path)
    data.start()
    assert all(data.there(idents))


@pytest.mark.parametrize("text, words", [(b"", "is empty"), (bytes(88), "line 1 is damaged"),
                                         (b"file x", "line 1 is damaged")])
def test_a_damaged_manifest_is_named(data, text, words):
    data.rig.station.stop()
    manifest = data.path("appendonlydir", "appendonly.aof.manifest")
    with open(manifest, "wb") as file:
        file.write(text)
    code, err = data.refused()
    assert code == DAMAGED and f"{manifest} {words}".replace(" line", ": line") in err, err


def test_who_wants_to_begin_without_plans_says_so(data):
    idents = data.added()
    data.rig.station.stop()
    shutil.rmtree(data.path("appendonlydir"))
    code, err = data.refused()
    assert code == DAMAGED and "remove the latter to begin without plans" in err
    os.unlink(data.path("appendonlydir.expected"))
    data.start()
    assert not any(data.there(idents)) and data.added()


def test_a_snapshot_alone_is_no_empty_start(data):
    """Redis reads no dump.rdb when it keeps an append-only file."""
    data.rig.station.stop()
    shutil.rmtree(data.folder)
    os.mkdir(data.folder, 0o700)
    with open(data.path("dump.rdb"), "wb"):
        pass
    code, err = data.refused()
    assert code == DAMAGED and "dump.rdb shows that there were plans" in err
    os.unlink(data.path("dump.rdb"))
    data.start()


def test_data_of_an_earlier_station_are_marked_when_it_starts(data):
    idents = data.added()
    data.rig.station.stop()
    os.unlink(data.path("appendonlydir.expected"))
    data.start()
    assert all(data.there(idents)) and os.path.exists(data.path("appendonlydir.expected"))


def test_a_copy_that_cannot_be_kept_keeps_the_file(data):
    """Nothing is cut without a copy; it may work later, so a service manager tries again."""
    data.added()
    data.rig.station.stop()
    data.append(bytes(100))
    size = os.path.getsize(data.incr)
    manifest = data.path("appendonlydir", "appendonly.aof.manifest")
    with open(manifest) as file:
        text = file.read()
    name = os.path.basename(data.incr)
    # The name of the copy is longer than that of the file, and too long.
    long = name.removesuffix(".incr.aof") + "x" * 215 + ".incr.aof"
    os.rename(data.incr, data.path("appendonlydir", long))
    with open(manifest, "w") as file:
        file.write(text.replace(name, long))
    code, err = data.refused()
    assert code == 1 and "cannot be copied to" in err, err
    assert os.path.getsize(data.path("appendonlydir", long)) == size
    os.rename(data.path("appendonlydir", long), data.path("appendonlydir", name))
    with open(manifest, "w") as file:
        file.write(text)
    data.start()
    assert data.copies() == [bytes(100)]
