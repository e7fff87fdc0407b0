"""The files of time zones are read again at SIGHUP."""
import os
import shutil
import signal

import pytest

from zplanprocs import wait_until

ZONES = "/usr/share/zoneinfo/Etc"
DAY, HOUR = 86400, 3600


class Folder:
    """A private folder of time zones, each hours east of UTC."""

    def __init__(self, path):
        self.path = str(path)

    def put(self, name, hours):
        shutil.copy(f"{ZONES}/GMT-{hours}", f"{self.path}/new")
        os.rename(f"{self.path}/new", f"{self.path}/{name}")     # as a package does

    def spoil(self, name):
        with open(f"{self.path}/{name}", "wb") as file:
            file.write(b"no zone")


@pytest.fixture
def folder(tmp_path):
    folder = Folder(tmp_path)
    folder.put("Own", 1)
    folder.put("Town", 2)
    return folder


@pytest.fixture
def rig(make_rig, folder):
    return make_rig("--timezone", "Own", env={"ZPLAN_ZONEINFO": folder.path})


def log_of(rig):
    with open(rig.station.log) as log:
        return log.read()


def hup(rig):
    count = log_of(rig).count("event=reload.done")
    rig.station.process.send_signal(signal.SIGHUP)
    wait_until(lambda: log_of(rig).count("event=reload.done") > count, "the settings are read")


def hours(times):
    """The hours of the day in UTC."""
    return [time % DAY / HOUR for time in times]


def preview(rig, plan, count=2):
    return hours(rig.client.done("next", plan, count).json["next"])


NINE = {"plan_type": 8, "cron": "0 9 * * *"}
TOWN = {**NINE, "timezone": "Town"}


def test_a_zone_that_was_replaced_counts_from_sighup_on(rig, folder):
    own, town = rig.client.added(NINE), rig.client.added(TOWN)
    for plan, hour in ((NINE, 8), (TOWN, 7), (own, 8), (town, 7)):
        assert preview(rig, plan) == [hour, hour]
    folder.put("Own", 4)
    folder.put("Town", 5)
    assert preview(rig, TOWN) == [7, 7]
    hup(rig)
    for plan, hour in ((NINE, 5), (TOWN, 4)):
        assert preview(rig, plan) == [hour, hour]
    # What is in the queue keeps its time; what is calculated from now on does not.
    for plan, before, hour in ((own, 8, 5), (town, 7, 4)):
        assert preview(rig, plan, 3) == [before, hour, hour]
        stored = rig.message(plan)["plan_time"]
        assert hours([stored]) == [before]
        rig.client.done("skip", plan, 1)
        assert hours([rig.message(plan)["plan_time"]]) == [hour]
        assert rig.message(plan)["plan_time"] > stored


def test_a_run_that_ends_is_followed_by_one_of_the_new_rule(rig, folder):
    town = rig.client.added(TOWN)
    folder.put("Town", 5)
    hup(rig)
    rig.due_now(town)
    rig.jobs.finish(rig.jobs.recv())
    assert hours([rig.repet(town, 1)["plan_time"]]) == [4]


def test_a_zone_that_cannot_be_read_stays_as_it_was(rig, folder):
    assert preview(rig, TOWN) == [7, 7]
    folder.spoil("Town")
    os.unlink(f"{folder.path}/Own")
    hup(rig)
    assert preview(rig, TOWN) == [7, 7] and preview(rig, NINE) == [8, 8]
    assert log_of(rig).count("event=zone.kept_old") == 2
    folder.put("Town", 5)
    hup(rig)
    assert preview(rig, TOWN) == [4, 4] and preview(rig, NINE) == [8, 8]
