"""The store of a station that owns its database (src/owned), by a station in little (owned_driver.c): what was
accepted is run, whatever befalls the owner or its Redis, and two are never owners at a time."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from storescripts import HISTORY, IDS, META, RUN, TIME_SET, each_outcome, member, unpacked

REPO = pathlib.Path(__file__).parents[2]
OWNER = "plan:owner"
LEASE_S = 2.0


def tool():
    return pathlib.Path(os.environ.get("ZPLAN_ZONE_DUMP", REPO / "build/tests/zone_dump")).with_name("owned_driver")


class Driver:
    """One that runs; `lines` are what it has said."""

    def __init__(self, server, plans, *more, verbose=True):
        self.process = subprocess.Popen([tool(), server, str(plans), *map(str, more)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env={**os.environ, **({"VERBOSE": "1"} if verbose else {})})
        self.lines = []

    def until(self, begin, count=1):
        """Read until so many lines begin so; the last of them."""
        for line in self.process.stdout:
            self.lines.append(line.strip())
            count -= line.startswith(begin)
            if count == 0:
                return self.lines[-1]
        raise AssertionError(f"no more lines: {self.lines[-5:]}")

    def finish(self):
        self.lines += [line.strip() for line in self.process.stdout]
        assert self.process.wait(30) == 0, self.lines[-5:]
        return json.loads(self.lines[-1])

    def kill(self):
        self.process.kill()
        self.lines += [line.strip() for line in self.process.stdout]
        self.process.wait()

    @property
    def accepted(self):
        return {line.split()[1].lstrip("0") for line in self.lines if line.startswith("accepted")}


@pytest.fixture
def drive(server, db):
    drivers = []

    def start(plans, *more, **how):
        drivers.append(Driver(server, plans, *more, **how))
        return drivers[-1]
    yield start
    for driver in drivers:
        driver.process.kill()
        driver.process.wait()


def outcomes(db):
    return list(each_outcome(db.xrange(HISTORY)))


def assert_all_run(db, accepted):
    """Each accepted plan has ended, and nothing is left of any."""
    rows = outcomes(db)
    assert {fields["p"] for _, fields in rows} >= accepted
    assert not list(db.scan_iter("plan:msg:*")) and not db.exists(IDS, TIME_SET, "plan:count")
    assert not db.exists(RUN)
    numbers = [int(name.split("-")[0]) for name, _ in rows if name.endswith("-0")]
    assert numbers == list(range(1, len(numbers) + 1)) and int(db.hget(META, "seq")) == len(numbers)
    return rows


def test_what_is_accepted_is_run_once_and_nothing_is_left(db, drive):
    driver = drive(3000)
    figures = driver.finish()
    assert figures["accepted"] == figures["ended"] == 3000 and not figures["refused"] + figures["stale"]
    rows = assert_all_run(db, driver.accepted)
    assert len(rows) == 3000 and unpacked(rows[0][1]["r"])["exec_id"] > 1e15


def test_the_batches_of_an_owner_are_numbered(db, drive):
    drive(10).finish()
    first = db.hgetall(OWNER)
    assert first["token"].startswith("1.") and int(first["batch"]) > 0 and first["name"] == "driver"
    drive(0).finish()
    second = db.hgetall(OWNER)
    assert second["token"].startswith("2.") and second["token"] != first["token"]


def test_a_restart_on_its_folder_takes_over_at_once(db, drive, tmp_path):
    driver = drive(4000, 1000, tmp_path)
    driver.until("accepted", 1500)
    driver.kill()
    again = drive(0, 1000, tmp_path)
    assert float(again.until("serving").split()[1]) < LEASE_S / 2
    again.finish()
    rows = assert_all_run(db, driver.accepted)
    assert len(rows) >= 1500


def test_without_its_folder_a_restart_waits_for_the_lease(db, drive, tmp_path):
    driver = drive(3000, 1000, tmp_path)
    driver.until("accepted", 500)
    driver.kill()
    again = drive(0)
    assert float(again.until("serving").split()[1]) > LEASE_S / 2
    again.finish()
    assert_all_run(db, driver.accepted)


def test_a_copied_token_is_good_once(db, drive, tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    drive(5, 5, first).finish()
    second.mkdir()
    (second / "owner").write_bytes((first / "owner").read_bytes())
    assert float(drive(0, 5, first).until("serving").split()[1]) < LEASE_S / 2
    assert float(drive(0, 5, second).until("serving").split()[1]) > LEASE_S / 2


def test_a_stopped_owner_is_replaced_and_fenced_off(db, drive):
    old = drive(200_000, 100)
    old.until("accepted", 300)
    old.process.send_signal(signal.SIGSTOP)
    token = db.hget(OWNER, "token")
    began = time.monotonic()
    new = drive(100)
    new.until("serving")
    assert LEASE_S / 2 < time.monotonic() - began < LEASE_S * 4
    assert db.hget(OWNER, "token") != token
    old.process.send_signal(signal.SIGCONT)
    old.until("owned_driver: fenced")
    old.process.wait(30)
    new.finish()
    drive(0).finish()
    assert_all_run(db, old.accepted | new.accepted)


def test_a_standby_waits_as_long_as_the_owner_lives(db, drive):
    owner = drive(20_000_000, 1, verbose=False)
    owner.until("serving")
    token, batch = db.hget(OWNER, "token"), int(db.hget(OWNER, "batch"))
    standby = drive(0)
    began = time.monotonic()
    while time.monotonic() - began < LEASE_S * 1.5:  # what is tested is that time passes
        assert db.hget(OWNER, "token") == token and owner.process.poll() is None
        time.sleep(0.05)
    assert int(db.hget(OWNER, "batch")) > batch
    owner.kill()
    plans = {name.split(":")[3] for name in db.zrange(TIME_SET, 0, -1)}
    standby.finish()
    assert_all_run(db, plans)


def test_a_lost_database_is_begun_anew(db, drive):
    driver = drive(1_000_000, 10)
    driver.until("accepted", 50)
    token = db.hget(OWNER, "token")
    db.flushall()
    driver.until("serving")
    driver.until("accepted", 50)
    assert db.hget(OWNER, "token") != token and db.zcard(IDS) >= 50


def test_full_memory_refuses_plans_and_ends_runs(db, drive):
    driver = drive(1_000_000, 100)
    driver.until("accepted", 2000)
    driver.kill()
    db.config_set("maxmemory", 1)
    last = drive(500)
    figures = last.finish()
    assert figures["refused"] == 500 and figures["accepted"] == 0
    db.config_set("maxmemory", 0)
    drive(0).finish()
    assert_all_run(db, driver.accepted)


@pytest.mark.parametrize("key", ["plan:history", "plan:count", "plan:run", "plan:meta", "plan:ids"])
def test_a_key_of_another_type_is_replaced(db, drive, key):
    db.set(key, "somebody's")
    driver = drive(300)
    assert driver.finish()["ended"] == 300
    assert_all_run(db, driver.accepted)


def test_a_number_that_is_none_begins_anew(db, drive):
    db.hset("plan:count", "s:jobs", "somebody's")
    driver = drive(300)
    assert driver.finish()["ended"] == 300
    assert_all_run(db, driver.accepted)


def test_lost_numbers_go_on_behind_the_history(db, drive, tmp_path):
    drive(5, 5, tmp_path).finish()
    epoch = db.hget(META, "epoch")
    db.hdel(META, "seq")
    drive(5, 5, tmp_path).finish()
    assert db.hmget(META, "seq", "epoch") == ["10", epoch]


@pytest.mark.parametrize("seq", [None, "-5", "9223372036854775807"])
def test_numbers_that_begin_anew_are_of_another_epoch(db, drive, seq, tmp_path):
    drive(5, 5, tmp_path).finish()
    epoch = db.hget(META, "epoch")
    db.hset(META, "seq", seq) if seq else db.hdel(META, "seq")
    db.delete(HISTORY)
    assert drive(7, 5, tmp_path).finish()["ended"] == 7
    assert db.hget(META, "seq") == "7" and db.hget(META, "epoch") != epoch


@pytest.mark.parametrize("number", ["-1", "18446744073709551615", "somebody's"])
def test_numbers_that_somebody_edited_stop_nothing(db, drive, number, tmp_path):
    drive(5, 5, tmp_path).finish()
    db.hset(META, mapping={"exec": number, "id": number, "seq": number})
    db.hset("plan:count", "s:jobs", number)
    driver = drive(20, 5, tmp_path)
    assert driver.finish()["ended"] == 20
    assert {fields["p"] for _, fields in outcomes(db)} >= driver.accepted
    assert db.hget(META, "seq") == "25" and not db.exists(IDS, "plan:count")


def stored(db, driver):
    """What a driver that was killed has left: {member -> score}."""
    return {name: score for name, score in db.zrange(TIME_SET, 0, -1, withscores=True)}


def test_data_of_schema_1_get_their_places_in_the_queue_back(db, drive):
    """Plans in lanes stood a multiple of 61.803399 s later in the queue; held ones, at the end of their lease."""
    driver = drive(1_000_000, 50)
    driver.until("accepted", 400)
    driver.kill()
    plans = sorted(stored(db, driver))
    lanes, held = plans[:100], plans[100:200]
    for i, name in enumerate(lanes):
        since = db.zscore(TIME_SET, name)
        db.zadd("plan:lane:jobs:7:g" if i % 2 else "plan:lane:jobs:0:", {name: since})
        db.zadd(TIME_SET, {name: since + 61.803399 * (i % 5 + 1)})
    db.zadd("plan:lanes:jobs", {"7:g": 1, "0:": 2})
    for name in held:
        db.zadd("plan:held:jobs", {name: db.zscore(TIME_SET, name) + 300})
        db.zadd(TIME_SET, {name: db.zscore(TIME_SET, name) + 300})
    db.hset("plan:told", plans[0], "1")
    db.zadd("plan:busy:s:jobs", {plans[0]: 1})
    db.hset(META, "schema", "1")
    db.delete(OWNER)
    again = drive(0)
    again.finish()
    assert db.hget(META, "schema") == "2"
    assert not db.exists("plan:lanes:jobs", "plan:lane:jobs:7:g", "plan:lane:jobs:0:", "plan:held:jobs", "plan:told",
                         "plan:busy:s:jobs")
    assert_all_run(db, driver.accepted | {name.split(":")[3] for name in plans})


def test_a_station_of_the_former_version_is_waited_for(db, drive):
    drive(5).finish()
    db.hset(META, "schema", "1")
    db.delete(OWNER)
    db.hset("plan:attending", "former", str(db.time()[0]))
    driver = drive(0)
    assert "migration.waits" in driver.until("ts=")
    assert db.hget(META, "schema") == "1"
    db.hdel("plan:attending", "former")
    driver.finish()
    assert db.hget(META, "schema") == "2"


def test_a_plan_that_was_removed_by_hand_is_not_run(db, drive):
    driver = drive(1_000_000, 50)
    driver.until("accepted", 300)
    driver.kill()
    names = sorted(stored(db, driver))
    db.zrem(TIME_SET, names[0])
    db.delete(names[1])
    drive(0).finish()
    run = {member(fields["p"]) for _, fields in outcomes(db)}
    assert run == set(names[2:]) and db.exists(names[0])
