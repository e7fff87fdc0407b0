"""What `stats` counts of targets: how runs ended, how late they were, how long they and submissions took."""
import os
import subprocess
import time

from zplanprocs import BIN_DIR, wait_until
from zplantest import ST, at_once, later


def stats(rig):
    return rig.client.done("stats").json


def jobs(rig):
    return next(target for target in stats(rig)["targets"] if target["name"] == "jobs")


def histogram(rig, name):
    one = stats(rig)["histograms"][name]
    of_jobs = one if name == "submit" else one["targets"]["jobs"]
    assert len(of_jobs["counts"]) == len(one["le_us"]) + 1 and one["le_us"] == sorted(one["le_us"])
    return {**of_jobs, "le_us": one["le_us"]}


def test_the_version_of_the_station(rig):
    """B004: each program has a version of its own; stats has that of the station."""
    zpland = os.path.join(BIN_DIR, "zpland")
    version = subprocess.run([zpland, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.split() == ["zpland", stats(rig)["version"]]


def test_ends_and_durations_of_runs(rig):
    assert jobs(rig)["ends"] == dict.fromkeys(["ok", "failed", "not_taken", "timeout", "cancelled", "missed"], 0)
    once = {"retry": {"strategy": "none"}}
    for end, status in (("ok", ST.OK), ("failed", ST.FAILED), ("not_taken", ST.NOT_WORKER)):
        ident = rig.client.added(at_once() if end == "not_taken" else at_once(**once))
        rig.jobs.finish(rig.jobs.recv(), status)
        wait_until(lambda: jobs(rig)["ends"][end] == 1, end)
        if end == "not_taken":
            rig.client.done("remove", ident)
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    while run.mailbox != b"*" + ident.encode():
        run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.client.done("cancel", ident)
    wait_until(lambda: jobs(rig)["ends"]["cancelled"] == 1, "cancelled")
    duration = histogram(rig, "duration")
    assert sum(duration["counts"]) == 3 and duration["sum_us"] > 0      # not of what nobody took
    assert sum(histogram(rig, "lateness")["counts"]) == 0               # they had no time


def test_lateness_of_runs_with_a_time(rig):
    rig.client.added({"plan_type": 1, "plan_time": int(time.time()) - 50, "no_keep": True})
    run = rig.jobs.recv()
    late = histogram(rig, "lateness")
    at = late["counts"].index(1)
    assert sum(late["counts"]) == 1 and 50e6 <= late["sum_us"]
    assert late["le_us"][at - 1] < late["sum_us"] and (at == len(late["le_us"]) or late["sum_us"] <= late["le_us"][at])
    rig.jobs.finish(run)


def test_missed_occurrences(rig):
    start = int(time.time()) // 60 * 60 - 600
    rig.client.added({"plan_type": 3, "plan_value": 1, "plan_repet": -1, "plan_time": start})
    wait_until(lambda: jobs(rig)["ends"]["missed"] >= 9, "they are counted")
    assert stats(rig)["counters"]["missed"] == jobs(rig)["ends"]["missed"] <= 11


def test_submissions_and_plans_out_of_the_queue(rig):
    before = stats(rig)
    idents = [rig.client.added(later()) for _ in range(3)]
    rig.client.submit({"plan_type": 99})
    submit = histogram(rig, "submit")
    assert sum(submit["counts"]) == 3 and submit["sum_us"] > 0
    rig.client.done("pause", idents[0])
    after = stats(rig)
    assert (before["stopped"], after["stopped"], after["oldest_due"]) == (0, 1, 0)


def test_an_exhausted_plan_is_counted_and_stopped(rig):
    rig.client.added(at_once(retry={"strategy": "none", "need_manual": True}))
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED)
    wait_until(lambda: stats(rig)["counters"]["exhausted"] == 1, "its failure is final")
    assert stats(rig)["stopped"] == 1


def test_the_oldest_plan_that_is_due(rig):
    """It waits for the run before it: one at a time."""
    rig.client.done("limit", "set", "station:jobs", '{"concurrency": 1}')
    rig.client.added(at_once())
    run = rig.jobs.recv()
    due = int(time.time()) - 100
    rig.client.added({"plan_type": 1, "plan_time": due, "no_keep": True})
    wait_until(lambda: stats(rig)["due"] == 1, "it is due")
    assert stats(rig)["oldest_due"] == due
    rig.jobs.finish(run)
    rig.jobs.recv()
    assert stats(rig)["oldest_due"] == 0
