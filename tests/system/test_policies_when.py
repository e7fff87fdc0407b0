"""What is missed, overlaps, jitter, windows and cron on the real clock (proto 5.2, 6.3 to 6.5).

features: D003, D004, D005, D007, D009, D010, D011, D012, D013, D014, D015, D016, D017
"""
import time

import pytest

from zplantest import FT, PAUSE, QUEUE, ST, every, later, new_second, wait_until
from test_policies import history, outcomes

WINDOW = 2
ON_TIME = 3     # seconds late at most, also where the machine is slow; an outage here is one of seven


def run_on(rig, names, last, until):
    """Answer what comes until this holds; `last` keeps the last run of each plan."""
    while not until():
        if rig.jobs.socket.poll(50):
            run = rig.jobs.recv()
            last[names[run.mailbox[1:].decode()]] = run
            rig.jobs.finish(run)


def stop_between_runs(rig, names):
    """Stop the station while no run is out; the last run of each plan."""
    last = {}

    def ended(message, run):
        # While the next run is out its exec_id may stand beside the status of the run before.
        return (message["plan_state"], message["last_state"], message["exec_id"]) == (QUEUE, ST.OK, run.exec_id)

    def counted():
        return len(last) == len(names) and time.time() % 1 < 0.5 and all(
            ended(rig.message(ident), last[name]) for ident, name in names.items())
    for _ in range(10):
        run_on(rig, names, last, counted)
        rig.station.stop()
        if not rig.jobs.socket.poll(200):
            return last
        rig.station.start()                 # one was on its way when it stopped
        while rig.jobs.socket.poll(0):
            run = rig.jobs.recv()
            rig.client.result(run.mailbox[1:].decode(), ST.OK, [(FT.LOCAL_ID, run.local_id)])
    raise AssertionError("a run is out whenever the station stops")


def catching_up(rig, plans):
    """Let each plan run, take the station away for seven seconds, and bring it back; return of each
    plan its id, the run before, and those behind it up to one that is of the present."""
    names = {rig.client.added(plan): name for name, plan in plans.items()}
    before, after = stop_between_runs(rig, names), {name: [] for name in plans}
    time.sleep(7)
    rig.station.start()
    while any(not runs or late(runs[-1]) > 0 for runs in after.values()):
        run = rig.jobs.recv()
        after[names[run.mailbox[1:].decode()]].append(run)
        rig.jobs.finish(run)
    return {name: (ident, before[name], after[name]) for ident, name in names.items()}


def late(run):
    """By how many whole seconds it came too late."""
    return int(run.claimed) - run.plan_time


def test_D007_what_an_outage_missed(rig):
    """An outage of seven slots: how many of the missed are run, and which."""
    found = catching_up(rig, {
        "skip": every(1, -1, misfire="skip"),
        "window": every(1, -1, misfire_window=WINDOW),
        "latest": every(1, -1, misfire="latest"),
        "three": every(1, -1, misfire=3),
        "cron": {"plan_type": "cron", "cron": "* * * * * *", "misfire": 3}})
    for name, (ident, before, runs) in found.items():
        nominal = [run.plan_time for run in runs]
        assert nominal == sorted(set(nominal)), name            # in order, none twice
        # Each occurrence of the grid was run or missed, once.
        missed = runs[-1].plan["missed"]
        assert missed + len(runs) == nominal[-1] - before.plan_time, name
        told = [run for run in history(rig, ident) if "missed" in run]
        assert sum(run["missed"] for run in told) == missed, name
        for run in told:
            assert run["missed_last"] - run["missed_first"] + 1 == run["missed"]
            assert run["missed_why"] in ("misfire", "overlap")
    _, before, runs = found["skip"]
    assert runs[0].plan_time == before.plan_time + 1            # it waited: it runs late, once
    assert late(runs[0]) >= 5 and all(late(run) <= ON_TIME for run in runs[1:])
    ident, _, runs = found["window"]
    assert all(late(run) <= WINDOW for run in runs)
    record = [run for run in history(rig, ident) if run["status"] == ST.MISSED][0]
    assert "too late" in record["reason"] and record["missed"] >= 4
    assert all(late(run) <= ON_TIME for run in found["latest"][2])
    assert late(found["latest"][2][0]) >= 0
    for name in ("three", "cron"):
        assert 2 <= late(found[name][2][0]) <= 2 + ON_TIME, name
        assert all(late(run) <= 2 + ON_TIME for run in found[name][2])


@pytest.mark.parametrize("policy, queued", [("skip", False), ("queue", True)])
def test_due_while_a_run_is_out(rig, policy, queued):
    """B101: Never two runs of a plan at a time."""
    ident = rig.client.added(every(1, -1, overlap_policy=policy))
    first = rig.jobs.recv()
    rig.jobs.answer(first, ST.RUNING)
    time.sleep(max(0, first.plan_time + 4.3 - time.time()))
    rig.jobs.nothing(0.01)                  # never two at a time
    rig.jobs.finish(first)
    second = rig.jobs.recv()
    done, found = outcomes(rig, ident, 2)[:2]
    over = int(done["ended"])               # the second in which the result came, or the next
    missed = found["missed"]
    assert (done["status"], done["exec_id"]) == (ST.OK, first.exec_id) and "missed" not in done
    assert (found["status"], found["seq"], found["ended"]) == (ST.MISSED, 0, done["ended"])
    assert found["entry"] == done["entry"][:-1] + "1" and found["exec_id"] != first.exec_id
    assert found["missed_why"] == "overlap" and found["reason"] == f"missed: {missed}, a run was in progress"
    assert found["nominal"] == found["missed_first"] == first.plan_time + 1
    assert missed == second.plan_time - first.plan_time - 1
    if queued:
        assert over - 2 <= second.plan_time < over      # the newest of them, at once
        assert second.claimed < found["ended"] + 5
    else:
        assert second.plan_time in (over - 1, over, over + 1)
        assert second.plan_time >= first.plan_time + 4


# Jitter.

def test_jitter_puts_off_each_plan_by_its_own_and_keeps_it(rig):
    idents = [rig.client.added(later(jitter=1000, misfire_window=5)) for _ in range(8)]

    def offsets():
        return [rig.score(ident) - rig.message(ident)["plan_time"] for ident in idents]
    before = offsets()
    assert all(0 <= offset <= 1000 and offset == int(offset) for offset in before)
    assert len(set(before)) > 1
    rig.restart()
    for ident in idents:
        rig.client.done("pause", ident)
        rig.client.done("reset", ident)
    assert offsets() == before


def test_jitter_leaves_the_nominal_time(rig):
    second = new_second()
    idents = [rig.client.added(every(3, 2, plan_time=second, jitter=2)) for _ in range(3)]
    offsets = {ident: rig.score(ident) - rig.message(ident)["plan_time"] for ident in idents}
    for turn in (1, 2):
        for _ in idents:
            run = rig.jobs.recv()
            assert run.plan_time == second + 3 * turn
            assert run.claimed >= run.plan_time + offsets[run.mailbox[1:].decode()]
            rig.jobs.finish(run)
    for ident in idents:
        rig.gone(ident)


# Windows. features: D003, D004

def test_D003_D004_nothing_before_and_nothing_after(rig):
    """B050: both seconds are included."""
    second = new_second()
    ident = rig.client.added(every(1, -1, plan_time=second, start_time=second + 3,
                                   end_time=second + 4))
    assert rig.message(ident)["plan_time"] == second + 3
    for nominal in (second + 3, second + 4):
        run = rig.jobs.recv()
        assert run.plan_time == nominal and run.claimed >= nominal
        rig.jobs.finish(run)
    rig.gone(ident)
    assert [run["status"] for run in outcomes(rig, ident, 2)] == [ST.OK, ST.OK]


# Cron, and iterations. features: D003, D005, D009 to D017

def test_a_run_goes_on_behind_the_end_of_its_plan(rig):
    """B050: the end stops no run in progress."""
    second = new_second()
    ident = rig.client.added(every(1, -1, plan_time=second, end_time=second + 1))
    run = rig.jobs.recv()
    assert run.plan_time == second + 1
    rig.jobs.answer(run, ST.RUNING)
    time.sleep(max(0, second + 2.5 - time.time()))
    assert rig.message(ident)["last_state"] == ST.RUNING
    rig.jobs.finish(run)
    rig.gone(ident)
    assert [one["status"] for one in outcomes(rig, ident, 1)] == [ST.OK]


def test_cron_fires_each_second(rig):
    ident = rig.client.added({"plan_type": "cron", "cron": ["* * * * * *", "*/2 * * * * *"],
                              "plan_repet": 3, "misfire": "all"})
    runs = []
    for _ in range(3):
        runs.append(rig.jobs.recv())
        assert runs[-1].claimed >= runs[-1].plan_time
        rig.jobs.finish(runs[-1])
    assert [run.plan_time for run in runs] == \
        list(range(runs[0].plan_time, runs[0].plan_time + 3))
    assert runs[0].plan["plan_type"] == 8 and runs[0].plan["cron"][0] == "* * * * * *"
    rig.gone(ident)


def test_cron_reads_the_clock_of_its_zone(shared):
    """B056: a time of day, on the clock of a zone."""
    ident = shared.client.added({"plan_type": 8, "cron": "0 9 * * *", "timezone": "Asia/Tokyo"})
    assert shared.message(ident)["plan_time"] % 86400 == 0          # 09:00 there is 00:00 UTC
    ident = shared.client.added({"plan_type": 8, "cron": "0 9 * * *"})
    assert shared.message(ident)["plan_time"] % 86400 == 9 * 3600
    reply = shared.client.submit({"plan_type": 8, "cron": "0 25 * * *"})
    assert reply.code == ST.PLANERROR and "cron: column 3: " in reply.text


def test_a_cron_whose_times_are_all_left_out_is_refused_by_its_name(shared):
    gap = {"plan_type": 8, "timezone": "Europe/Berlin", "gap": "skip"}
    for fields in ({"cron": "30 2 * 3 SUNL"}, {"cron": ["30 2 * 3 SUNL"] * 16}):
        reply = shared.client.submit({**gap, **fields})
        assert reply.code == ST.PLANERROR and "cron: matches no local time " in reply.text
    shared.client.added({**gap, "cron": ["30 2 * 3 SUNL", "0 0 29 2 +MON"]})
    reply = shared.client.submit({"plan_type": 8, "cron": "* * * * *", "end_time": 1})
    assert reply.code == ST.PLANERROR and "end_time: is past" in reply.text


def test_so_many_occurrences_of_a_cron_are_skipped_at_once(shared):
    """They are counted one by one: the bound is named."""
    daily = {"plan_type": 8, "cron": "0 9 * * *"}
    reply = shared.client.submit({**daily, "skip_set": 100001})
    assert reply.code == ST.PLANERROR and "skip_set: want 0..100000 " in reply.text
    ident = shared.client.added(daily)
    first = shared.message(ident)["plan_time"]
    reply = shared.client.manage("skip", ident, "100001")
    assert reply.code == ST.ARG_ERROR and "skip: at most 100000 " in reply.text
    shared.client.done("skip", ident, "100000")
    assert shared.message(ident)["plan_time"] == first + 100000 * 86400
    later = shared.client.added({**daily, "skip_set": 100000})
    assert shared.message(later)["plan_time"] - first in (100000 * 86400, 100001 * 86400)


def test_D005_D009_D010_D011_D012_D013_D014_D015_D017_iterations(rig):
    """Two rounds of steps of 1 and 2 seconds, then it is over."""
    second = new_second()
    ident = rig.client.added({"plan_type": 2, "cycle": [1, 2], "iteration": 2, "misfire": "all",
                              "plan_time": second})
    for nominal, place in ((1, (1, 1)), (3, (1, 2)), (4, (2, 1)), (6, (2, 2))):
        run = rig.jobs.recv()
        assert run.plan_time == second + nominal
        assert (run.plan["current_iteration"], run.plan["current_cycle"]) == place
        assert "current_cycle" not in rig.db.get(rig.key(ident)).decode()
        rig.jobs.finish(run)
    rig.gone(ident)


# What is edited, reset or resumed fires no flood. features: D007

def test_D007_a_plan_that_was_paused_runs_once_at_most(rig):
    ident = rig.client.added(every(1, -1))
    first = rig.jobs.recv()
    rig.jobs.finish(first)
    rig.repet(ident, 1)
    rig.client.done("pause", ident)
    assert rig.message(ident)["plan_state"] == PAUSE
    while rig.jobs.socket.poll(0):          # one that was out already
        first = rig.jobs.recv()
        rig.jobs.finish(first)
    time.sleep(4)
    rig.client.done("reset", ident)
    runs = [rig.jobs.recv() for _ in range(1)]
    rig.jobs.finish(runs[0])
    runs.append(rig.jobs.recv())
    rig.jobs.finish(runs[1])
    assert runs[1].plan_time - runs[0].plan_time >= 1
    assert late(runs[1]) <= 2


def test_D007_an_update_begins_now(rig):
    ident = rig.client.added(every(3600, -1, misfire="all", plan_time=int(time.time()) - 60))
    message = rig.message(ident)
    before = time.time()
    rig.client.done("update", ident, {"revision": message["revision"], "plan_value": 1,
                                      "plan_time": int(before) - 5000})
    run = rig.jobs.recv()
    assert run.plan_time >= int(before) and run.plan["real_repet"] == 0
    rig.jobs.finish(run)
    wait_until(lambda: rig.message(ident)["real_repet"] >= 1, "the run is counted")
