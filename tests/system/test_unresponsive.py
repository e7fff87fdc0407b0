"""Targets that answer nothing for a while get no new runs, and none twice: proto 7.2."""
import time
from collections import Counter

import pytest

from clitest import zplan
from microzero import FLAVOURS
from zplanprocs import wait_until
from zplantest import CMD, FT, ST, FakeTarget, at_once, later, plan_frames

MANY = 100
TIMEOUT_S = 1.0
TIMEOUT = ("--send-timeout", str(int(TIMEOUT_S * 1000)))
FOR_EVER = 1000


def target_of(rig, name="jobs"):
    """What stats say of a target."""
    return next(one for one in rig.client.done("stats").json["targets"] if one["name"] == name)


def unresponsive(rig, name="jobs"):
    return wait_until(lambda: target_of(rig, name).get("unresponsive_since"), "unresponsive")


def submit_due(rig, count, due, name):
    for _ in range(count):
        rig.client.send(CMD.PLAN, plan_frames(later(0, plan_time=due, no_keep=True), name))
    idents = set()
    for _ in range(count):
        reply = rig.client.recv()
        assert reply.code == ST.PLAN, reply
        idents.add(reply.get(FT.GLOBAL_ID).decode())
    return idents


def outcomes(rig, status=ST.OK):
    """plan -> how many runs ended with this status."""
    found, args = Counter(), {"limit": 1000}
    while True:
        page = rig.client.done("history", args).json
        for run in page["runs"]:
            found[run["plan"]] += run["status"] == status
        if not page.get("next"):
            return +found
        args["next"] = page["next"]


def finish_all(rig, target, idents, station="jobs"):
    """Whatever is sent meanwhile, until these plans have ended."""
    def finished():
        while target.socket.poll(0):
            target.finish(target.recv())
        return not any(rig.left(ident, station) for ident in idents)
    wait_until(finished, "all have ended")


class Worker:
    """Finishes each job at once, and counts them by plan."""

    def __init__(self, station):
        self.runs = Counter()
        station.work = self.work

    def work(self, job):
        self.runs[job.requester.decode().lstrip("*")] += 1
        job.finish()


# -- a station that blocks in the send to its worker

@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("blocks_s", [FOR_EVER, 0.5])
@pytest.mark.parametrize("warm", [0, 40], ids=["cold", "warm"])
def test_a_station_without_its_worker_gets_no_run_twice(make_rig, make_center, flavour, blocks_s,
                                                        warm):
    """The worker was never there, or is killed when runs have gone well: before they are due."""
    center = make_center(flavour, Test="api")
    rig = make_rig(*TIMEOUT, "--station", center.target("Test"))
    worker = Worker(center["Test"])
    wait_until(lambda: target_of(rig, "Test")["connected"], "connected")
    for ident in submit_due(rig, warm, int(time.time()), "Test"):
        rig.gone(ident, "Test")
    worker.runs.clear()
    center["Test"].lose_worker(blocks_s)
    due = int(time.time()) + 2
    idents = submit_due(rig, MANY, due, "Test")
    wait_until(lambda: time.time() > due + 5, "the worker is away")
    assert not worker.runs
    center["Test"].get_worker()
    for ident in idents:
        rig.gone(ident, "Test")
    assert set(worker.runs) == idents
    assert sum(worker.runs.values()) <= MANY + 5, worker.runs
    done = outcomes(rig)
    assert {ident: done[ident] for ident in idents} == dict.fromkeys(idents, 1)


def test_the_credit_of_a_new_connection_is_small_and_grows(make_rig, make_center):
    center = make_center("v1.5", Test="api")
    center["Test"].lose_worker(FOR_EVER)
    rig = make_rig("--send-timeout", "60000", "--station", center.target("Test"))
    idents = submit_due(rig, MANY, int(time.time()), "Test")
    wait_until(lambda: target_of(rig, "Test")["unanswered"] == 8, "its credit is used")
    time.sleep(0.5)
    assert target_of(rig, "Test")["unanswered"] == 8
    worker = Worker(center["Test"])
    center["Test"].get_worker()
    for ident in idents:
        rig.gone(ident, "Test")
    assert sum(worker.runs.values()) == MANY
    center["Test"].lose_worker(FOR_EVER)
    submit_due(rig, MANY, int(time.time()), "Test")
    wait_until(lambda: target_of(rig, "Test")["unanswered"] > 50, "its credit has grown")


# -- a target by frame

def all_runs(target, seconds):
    """What comes within so many seconds."""
    runs, end = [], time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if target.socket.poll(int(left * 1000)):
            runs.append(target.recv())
    return runs


def test_an_unresponsive_target_gets_the_oldest_run_only(make_rig):
    """Longer than a lease: no run is taken from there while its target is unresponsive."""
    rig = make_rig(*TIMEOUT, "--exec-timeout", "2")
    idents = [rig.client.added(at_once()) for _ in range(10)]
    first = {run.mailbox: run for run in (rig.jobs.recv() for _ in idents)}
    assert len(first) == len(idents)
    since = unresponsive(rig)
    assert abs(since - time.time()) < 5
    new = rig.client.added(at_once())
    probes = all_runs(rig.jobs, 7)
    oldest = b"*" + idents[0].encode()
    assert {run.mailbox for run in probes} == {oldest} and 1 <= len(probes) <= 3
    assert target_of(rig)["unresponsive_since"] == since
    # It answers: the others are reported in time, and none is sent again.
    first[oldest] = probes[-1]
    for run in first.values():
        rig.jobs.finish(run)
    for ident in idents:
        rig.gone(ident)
    run = rig.jobs.recv()
    assert run.mailbox == b"*" + new.encode()
    rig.jobs.finish(run)
    rig.gone(new)
    assert "unresponsive_since" not in target_of(rig)
    rig.jobs.nothing(1.5)
    assert outcomes(rig) == dict.fromkeys([*idents, new], 1)


def test_the_runs_that_are_kept_do_not_wait_long_for_a_station_that_died(make_rig):
    """Who takes the plans over finds no lease as long as that of a run in progress."""
    rig = make_rig(*TIMEOUT)
    idents = [rig.client.added(at_once()) for _ in range(5)]
    for _ in idents:
        rig.jobs.recv()
    unresponsive(rig)
    # All but the probe have a lease beyond the first one.
    wait_until(lambda: sum(rig.score(ident) > time.time() + 10 for ident in idents) == 4, "the leases are extended")
    assert all(rig.score(ident) < time.time() + 62 for ident in idents)


def test_what_it_does_not_report_after_its_answer_is_retried(make_rig):
    """It has lost all runs but the probe."""
    rig = make_rig(*TIMEOUT)
    idents = [rig.client.added(at_once()) for _ in range(10)]
    for _ in idents:
        rig.jobs.recv()
    unresponsive(rig)
    probe = rig.jobs.recv()
    start = time.monotonic()
    rig.jobs.finish(probe)
    for _ in idents[1:]:
        run = rig.jobs.recv()
        assert run.mailbox != probe.mailbox and time.monotonic() - start > TIMEOUT_S
        rig.jobs.finish(run)
    for ident in idents:
        rig.gone(ident)
    assert outcomes(rig) == dict.fromkeys(idents, 1)


def test_a_target_that_answers_others_gets_a_run_without_a_status_again(make_rig):
    rig = make_rig("--send-timeout", "5000")       # what follows takes less, also on a slow machine
    lost = rig.client.added(at_once())
    first = rig.jobs.recv()
    for _ in range(3):
        other = rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(other)
    again = rig.jobs.recv()
    assert again.mailbox == first.mailbox and again.exec_id != first.exec_id
    assert again.claimed >= first.claimed + 5
    assert "unresponsive_since" not in target_of(rig)
    rig.jobs.finish(again)
    rig.gone(lost)


def test_statuses_that_come_slowly_but_in_order_end_no_run(make_rig):
    """Each within the time, all of them together not."""
    rig = make_rig("--send-timeout", "3000")
    idents = [rig.client.added(at_once()) for _ in range(6)]
    for run in [rig.jobs.recv() for _ in idents]:
        time.sleep(1)
        rig.jobs.finish(run)
    for ident in idents:
        rig.gone(ident)
    rig.jobs.nothing(1.5)
    assert outcomes(rig) == dict.fromkeys(idents, 1)


def test_when_the_probe_is_taken_away_another_run_is_it(make_rig):
    rig = make_rig(*TIMEOUT)
    idents = [rig.client.added(at_once()) for _ in range(3)]
    for _ in idents:
        rig.jobs.recv()
    rig.state(idents[0], ST.RECV_ERROR)
    rig.client.done("remove", idents[0])
    run = rig.jobs.recv()
    while run.mailbox == b"*" + idents[0].encode():     # it was sent before
        run = rig.jobs.recv()
    assert run.mailbox == b"*" + idents[1].encode()
    rig.client.done("remove", idents[1])
    rig.client.done("remove", idents[2])
    # Nothing is left that it might answer: a new one is sent then.
    finish_all(rig, rig.jobs, [rig.client.added(at_once())])


def test_unresponsive_targets_take_no_room_of_others(make_rig):
    """max_runs counts runs that may be answered at any moment."""
    rig = make_rig(*TIMEOUT, "--max-runs", "20", "--max-runs-target", "20")
    for _ in range(30):
        rig.client.added(at_once())
    unresponsive(rig)
    for _ in range(30):
        ident = rig.client.added(at_once(), station="news")
        rig.news.answer(rig.news.recv(), ST.OK)
        rig.gone(ident, "news")


@pytest.mark.parametrize("option", ["concurrency=3", "rate=1000"])
def test_the_probe_of_a_limited_target_is_sent_as_well(make_rig, option):
    rig = make_rig(*TIMEOUT, start=False)
    slow = rig.keep(FakeTarget(rig.ipc("s")))
    rig.station.args += ["--station", f"slow=api@{slow.endpoint},{option}"]
    rig.start()
    idents = [rig.client.added(at_once(priority=n % 3, group="g"), station="slow")
              for n in range(6)]
    seen = []
    while len(set(seen)) == len(seen):
        seen.append(slow.recv().mailbox)
    assert seen[-1] == seen[0]
    unresponsive(rig, "slow")
    finish_all(rig, slow, idents, "slow")


def test_why_doctor_and_lists_tell_of_it(make_rig):
    rig = make_rig(*TIMEOUT)
    ident = rig.client.added(at_once())
    kept = rig.client.added(at_once())
    runs = [rig.jobs.recv(), rig.jobs.recv()]
    unresponsive(rig)
    new = rig.client.added(at_once())
    listed = rig.client.done("station", "list").json["stations"]
    assert [one["name"] for one in listed if one.get("unresponsive_since")] == ["jobs"]
    assert "is unresponsive since 20" in rig.client.done("why", kept).json["reasons"][0]["why"]
    reasons = rig.client.done("why", new).json["reasons"]
    assert [one["until"] for one in reasons if "target jobs is unresponsive since 20" in one["why"]] \
        == ["it answers"]
    finding = next(one for one in rig.client.done("health").json["findings"]
                   if "target jobs is unresponsive since 20" in one["text"])
    assert finding["level"] == "warning" and "no new runs" in finding["do"]
    done = zplan("--connect", rig.ipc("q"), "doctor")
    assert "target jobs is connected since 20" in done.done()
    assert ", unresponsive since 20" in done.out
    assert "unresponsive_since" in zplan("--connect", rig.ipc("q"), "stats").out
    rig.jobs.finish(runs[1])
    rig.gone(kept)
    assert "unresponsive" not in zplan("--connect", rig.ipc("q"), "doctor").out
    finish_all(rig, rig.jobs, [ident, new])
