"""History (proto 9.4, rows A100, A101, A102, A108): what came of every run, also of ended plans.

The last tests are those of a subscriber that is cut off and asks for what it missed.
"""
import json
import random
import time

import pytest

from redissteps import embed_redis
from zplantest import (CLOSE, ERROR, FT, PAUSE, QUEUE, RETRY, ST, FakeTarget, Results,
                       at_once, every, later, told, wait_until)

FIELDS = {"seq": int, "plan": str, "station": str, "title": str, "nominal": int, "fired": float,
          "ended": float, "status": int, "state": int, "exec_id": int, "worker": str, "size": int,
          "reason": str}


def catching_up(repet=5, **fields):
    """Each occurrence runs at once, one after the other."""
    return every(1, repet, no_keep=True, plan_time=int(time.time()) - 1000, **fields)


def page(rig, *args, **query):
    answer = rig.client.done("history", *args, *([query] if query else [])).json
    assert set(answer) - {"next"} == {"runs", "first", "last", "epoch", "missed"}, answer
    for run in answer["runs"]:
        for name, kind in FIELDS.items():
            assert type(run[name]) is kind, (name, run)
    return answer


def pages(rig, **query):
    """Page after page, to the end: [[run, ...], ...]"""
    found = []
    while True:
        answer = page(rig, **query)
        found.append(answer["runs"])
        if "next" not in answer:
            return found
        assert found[-1] or set(query) - {"limit", "since", "epoch", "after", "newest"}
        query["after"] = answer["next"]


def runs_of(rig, **query):
    return [run for runs in pages(rig, **query) for run in runs]


def outcomes(rig, ident, count):
    """Wait until this plan has so many outcomes; return them."""
    return wait_until(lambda: len(runs := runs_of(rig, plan=ident)) >= count and runs,
                      f"{count} outcomes")


def seqs(runs):
    return [run["seq"] for run in runs]


def finished(rig, count, **fields):
    """Runs that are done, one after the other; their plans."""
    idents = []
    for n in range(count):
        idents.append(rig.client.added(at_once(description=f"d{n}", **fields), station="news"))
        rig.news.answer(rig.news.recv(), ST.OK, [(FT.CONTENT, b"%d" % n)])
        rig.gone(idents[-1], "news")
    return idents


# The outcomes of runs.


def test_nothing_ran(rig):
    rig.client.added(later())
    answer = page(rig)
    assert answer["runs"] == [] and "next" not in answer
    assert (answer["last"], answer["missed"]) == (0, False)


def test_A101_a_good_run(rig):
    results = rig.subscribe(b"every")
    asked = time.time()
    ident = rig.client.added(catching_up(2, description="every 日"))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    frames = [(FT.CONTENT, b"x" * 100), (FT.BIN, b"\0\xff"), (FT.STATUS, b"+ok: done"),
              (FT.LOCAL_ID, run.local_id), (FT.RESPONSER, b"worker 7")]
    rig.jobs.answer(run, ST.OK, frames)
    news = told(results.recv())
    found, = outcomes(rig, ident, 1)
    assert {name: found[name] for name in FIELDS if name not in ("fired", "ended", "reason")} == {
        "seq": news["seq"], "plan": ident, "station": "jobs", "title": "every 日",
        "nominal": run.plan_time, "status": ST.OK, "state": QUEUE, "exec_id": run.exec_id,
        "worker": "worker 7", "size": sum(len(frame) for _, frame in frames)}
    assert abs(found["fired"] - run.claimed) < 0.002
    assert asked - 0.1 <= found["fired"] <= found["ended"] <= time.time() + 0.1
    assert "done" in found["reason"] and "key" not in found
    assert page(rig)["epoch"] == news["epoch"]


def test_the_station_is_the_worker_when_none_is_named(rig):
    ident, = finished(rig, 1)
    found, = runs_of(rig, plan=ident)
    assert (found["worker"], found["size"], found["state"]) == ("news", 1, CLOSE)


def test_a_run_whose_plan_goes_on_and_ends(rig):
    ident = rig.client.added(catching_up(3))
    base = rig.jobs.recv()
    rig.jobs.finish(base)
    for _ in range(2):
        rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    found = outcomes(rig, ident, 3)
    assert [run["nominal"] for run in found] == [base.plan_time + nth for nth in range(3)]
    assert [run["state"] for run in found] == [QUEUE, QUEUE, CLOSE]
    assert seqs(found) == list(range(found[0]["seq"], found[0]["seq"] + 3))
    assert len({run["exec_id"] for run in found}) == 3


@pytest.mark.parametrize("status", [ST.ERROR, ST.FAILED, ST.NOT_SUPPORT, 0xFF])
def test_a_failed_run(rig, status):
    """A failure is an outcome, its retry another one of the same nominal time."""
    ident = rig.client.added(catching_up())
    first = rig.jobs.recv()
    rig.jobs.finish(first, status, [(FT.STATUS, b"-error: no paper")])
    second = rig.jobs.recv()
    rig.jobs.finish(second)
    bad, good = outcomes(rig, ident, 2)
    meaning = "" if status != 0xFF else "status ff is neither a result nor a heartbeat in dialect zeronet: "
    assert (bad["status"], bad["state"], bad["reason"]) == (status, RETRY, meaning + "-error: no paper")
    assert (good["status"], good["state"]) == (ST.OK, QUEUE)
    assert (bad["exec_id"], good["exec_id"]) == (first.exec_id, second.exec_id)
    assert bad["nominal"] == good["nominal"] == first.plan_time
    assert bad["seq"] > 0 and good["seq"] == bad["seq"] + 1


@pytest.mark.parametrize("status", [ST.NOT_SUPPORT, 0x20, ST.PLANERROR])
def test_a_parked_run(rig, status):
    ident = rig.client.added(catching_up())
    run = rig.jobs.recv()
    rig.jobs.answer(run, status, [(FT.STATUS, b"-why")])
    found, = outcomes(rig, ident, 1)
    assert (found["status"], found["state"], found["reason"]) == (status, ERROR, "-why")
    assert found["seq"] > 0 and found["exec_id"] == run.exec_id


def test_an_unfit_plan(rig):
    ident = rig.client.added(later())
    rig.edit(ident, messages=[])
    rig.due_now(ident)
    found, = outcomes(rig, ident, 1)
    assert (found["status"], found["state"]) == (ST.PLANERROR, ERROR)
    assert found["reason"] and found["seq"] > 0


def test_a_run_that_was_not_sent(make_rig):
    """Each try is an outcome; only the first in a minute was broadcast: the others have seq 0."""
    rig = make_rig(start=False)
    rig.station.args += ["--station", "late=api@" + rig.ipc("l")]
    rig.start()
    ident = rig.client.added(at_once(), station="late")
    found = outcomes(rig, ident, 3)
    assert {(run["status"], run["state"], run["station"]) for run in found} == {
        (ST.SEND_ERROR, RETRY, "late")}
    assert found[0]["seq"] == 1 and seqs(found[1:]) == [0] * len(found[1:])
    assert all(run["reason"] and run["size"] == 0 for run in found)
    assert len({run["exec_id"] for run in found}) == len(found)
    # Those that were not broadcast are told to one who asks what was after the last that was.
    assert [run["exec_id"] for run in runs_of(rig, since=1)][:2] == [
        run["exec_id"] for run in found[1:3]]
    late = rig.keep(FakeTarget(rig.ipc("l")))
    late.finish(late.recv())
    rig.gone(ident, "late")
    assert outcomes(rig, ident, 4)[-1]["seq"] == 2


def test_a_status_that_comes_too_late_but_before_the_retry(make_rig):
    """Both are told: that none came in time, and what came of the run after all."""
    rig = make_rig("--send-timeout", "200")
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    outcomes(rig, ident, 1)
    rig.jobs.answer(run, ST.OK)
    found = outcomes(rig, ident, 2)
    assert (found[0]["status"], found[0]["exec_id"]) == (ST.RECV_ERROR, run.exec_id)
    if found[1]["exec_id"] == run.exec_id:      # else the retry was quicker
        assert found[1]["status"] == ST.OK


def test_a_run_without_status(make_rig):
    rig = make_rig("--send-timeout", "200")
    ident = rig.client.added(at_once())
    rig.jobs.recv()
    found = outcomes(rig, ident, 1)[0]
    assert (found["status"], found["state"]) == (ST.RECV_ERROR, RETRY)
    assert found["seq"] == 1 and found["reason"]


def test_a_target_without_worker(rig):
    ident = rig.client.added(at_once())
    for _ in range(2):
        rig.jobs.answer(rig.jobs.recv(), ST.NOT_WORKER, [(FT.STATUS, b"-not work: none")])
    found = outcomes(rig, ident, 2)
    assert [(run["status"], run["seq"], run["reason"]) for run in found] == [
        (ST.NOT_WORKER, 1, "-not work: none"), (ST.NOT_WORKER, 0, "-not work: none")]


def test_a_run_whose_lease_ended(make_rig):
    """TIMEOUT, not broadcast; then the run that follows."""
    rig = make_rig("--exec-timeout", "3")
    ident = rig.client.added(catching_up(key="nightly"))
    first = rig.jobs.recv()
    rig.jobs.answer(first, ST.RUNING)
    second = rig.jobs.recv()
    rig.jobs.finish(second)
    lost, good = outcomes(rig, ident, 2)
    assert lost["key"] == good["key"] == "nightly"
    assert (lost["status"], lost["seq"], lost["exec_id"]) == (ST.TIMEOUT, 0, first.exec_id)
    assert lost["nominal"] == first.plan_time and lost["title"] == "every" and lost["reason"]
    assert lost["ended"] >= lost["fired"] + 1
    assert (good["status"], good["exec_id"]) == (ST.OK, second.exec_id)


def test_a_run_of_a_station_that_was_killed(make_rig):
    rig = make_rig("--exec-timeout", "3")
    ident = rig.client.added(at_once())
    first = rig.jobs.recv()
    rig.station.kill()
    rig.station.start()
    rig.jobs.finish(rig.jobs.recv())
    lost, good = outcomes(rig, ident, 2)
    assert (lost["status"], lost["exec_id"]) == (ST.TIMEOUT, first.exec_id)
    assert (good["status"], good["seq"]) == (ST.OK, 1)


def test_a_run_besides_the_schedule(rig):
    """Its nominal time is when it was asked for; its plan is where it was."""
    ident = rig.client.added(every(1000, 5))
    rig.client.done("pause", ident)
    for status in (ST.OK, ST.ERROR):
        asked = int(time.time())
        rig.client.done("run", ident)
        run = rig.jobs.recv()
        rig.jobs.finish(run, status)
        found = outcomes(rig, ident, 1 + (status == ST.ERROR))[-1]
        assert (found["status"], found["state"], found["exec_id"]) == (status, PAUSE, run.exec_id)
        assert asked <= found["nominal"] <= found["fired"] and found["seq"] > 0
        wait_until(lambda: not rig.db.hexists("plan:run", rig.key(ident)), "the run has ended")


@pytest.mark.parametrize("word, state", [("pause", PAUSE), ("close", CLOSE)])
def test_a_run_whose_plan_was_stopped_meanwhile(rig, word, state):
    ident = rig.client.added(catching_up())
    run = rig.jobs.recv()
    rig.marked(ident, run)
    rig.client.done(word, ident)
    rig.jobs.finish(run)
    found, = outcomes(rig, ident, 1)
    assert (found["status"], found["state"]) == (ST.OK, state)


def test_what_is_no_outcome(rig):
    """Signs of life, late answers, management."""
    ident = rig.client.added(catching_up())
    run = rig.jobs.recv()
    for status in (ST.RUNING, ST.WAITING, ST.WAITING_TOO):
        rig.jobs.answer(run, status)
    rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, b"5")])
    for word in ("pause", "reset", "pause", "close"):
        rig.client.done(word, ident)
    assert runs_of(rig) == []


def test_A100_the_history_of_plans_that_are_gone(rig):
    """Ended, removed, its id used again: the outcomes stay."""
    ident = rig.client.added(catching_up(1), gid="77")
    rig.jobs.finish(rig.jobs.recv(), ST.OK)
    rig.gone(ident)
    rig.client.added(catching_up(9, description="again"), gid="77", station="news")
    rig.news.answer(rig.news.recv(), ST.OK)
    outcomes(rig, "77", 2)
    rig.client.done("remove", "77")
    found = runs_of(rig, plan="77")
    assert [(run["station"], run["title"]) for run in found[:2]] == [
        ("jobs", "every"), ("news", "again")]
    rig.restart()
    assert runs_of(rig, plan="77")[:2] == found[:2]


# Asking.


def test_filters(rig):
    idents = finished(rig, 3)
    job = rig.client.added(catching_up(2))
    rig.jobs.finish(rig.jobs.recv(), ST.ERROR)
    outcomes(rig, job, 1)
    everything = runs_of(rig)
    assert [run["plan"] for run in everything] == [*idents, job]
    assert runs_of(rig, plan=idents[1]) == [everything[1]]
    assert runs_of(rig, station="jobs") == [everything[3]]
    assert runs_of(rig, station="news") == everything[:3]
    assert runs_of(rig, station="news", plan=job) == []
    assert runs_of(rig, plan="7777") == [] and runs_of(rig, station="nobody") == []
    assert page(rig, newest=True)["runs"] == everything[::-1]
    assert page(rig, newest=False)["runs"] == everything
    assert page(rig, station="news", newest=True, limit=1)["runs"] == [everything[2]]
    assert page(rig)["runs"] == everything and page(rig, "")["runs"] == everything
    assert page(rig, idents[1])["runs"] == [everything[1]]
    assert page(rig, f"plan:msg:news:{idents[1]}")["runs"] == [everything[1]]
    assert page(rig, "since", 2)["runs"] == everything[2:]


@pytest.mark.parametrize("args", [
    ("zz",), ("{",), ("[]",), ("5x",), ('{"limit": 0}',), ('{"limit": 1001}',), ('{"limit": "x"}',),
    ('{"since": -1}',), ('{"since": "1"}',), ('{"since": 1.5}',), ('{"plan": -5}',),
    ('{"plan": "zz"}',), ('{"after": "x"}',), ('{"after": 5}',), ('{"after": ""}',),
    ('{"station": 5}',), ('{"newest": 1}',), ('{"epoch": 5}',), ('{"colour": 1}',),
    ('{"limit": 1, "limit": 2}',), ('{} x',), ("since",), ("since", "-1"), ("since", "x"),
    ("since", ""), ("until", "1"), ("1", "2", "3")], ids=json.dumps)
def test_wrong_questions(shared, args):
    shared.client.refused("history", *args)


def test_pages(rig):
    finished(rig, 25)
    everything = runs_of(rig)
    assert len(everything) == 25 and len(page(rig)["runs"]) == 25
    for query in ({}, {"newest": True}, {"station": "news"}, {"station": "news", "newest": True}):
        found = pages(rig, limit=10, **query)
        assert [run for runs in found for run in runs] == everything[::-1 if "newest" in query else 1]
        assert all(len(runs) == 10 for runs in found[:2])
    assert runs_of(rig, limit=1) == everything
    assert runs_of(rig, limit=1, since=20) == everything[20:]
    for answer in (page(rig, limit=25), page(rig, limit=1000)):
        assert answer["runs"] == everything
        assert "next" not in answer or page(rig, after=answer["next"])["runs"] == []


def test_pages_keep_their_place_while_plans_run(rig):
    finished(rig, 6)
    one = page(rig, limit=4)
    back = page(rig, limit=4, newest=True)
    finished(rig, 3)
    assert seqs(one["runs"]) == [1, 2, 3, 4]
    assert seqs(runs_of(rig, limit=4, after=one["next"])) == [5, 6, 7, 8, 9]
    assert seqs(back["runs"]) == [6, 5, 4, 3]
    assert seqs(runs_of(rig, limit=4, newest=True, after=back["next"])) == [2, 1]


def test_since_and_epoch(rig):
    idents = finished(rig, 5)
    answer = page(rig)
    epoch = answer["epoch"]
    assert epoch and (answer["first"], answer["last"]) == (1, 5)
    for since in range(6):
        answer = page(rig, since=since)
        assert seqs(answer["runs"]) == list(range(since + 1, 6)) and answer["missed"] is False
        assert page(rig, since=since, epoch=epoch) == answer
        assert (answer["first"], answer["last"], answer["epoch"]) == (1, 5, epoch)
        # Numbers of another epoch say nothing: everything kept is given.
        answer = page(rig, since=since, epoch="abc")
        assert [run["plan"] for run in answer["runs"]] == idents and answer["missed"] is True
    rig.restart()
    finished(rig, 1)
    answer = page(rig, since=5, epoch=epoch)
    assert seqs(answer["runs"]) == [6] and answer["missed"] is False and answer["epoch"] == epoch


def test_another_epoch_when_seq_starts_anew(rig):
    finished(rig, 3)
    epoch = page(rig)["epoch"]
    rig.station.stop()
    rig.db.flushall()
    rig.station.start()
    ident, = finished(rig, 1)
    answer = page(rig, since=3, epoch=epoch)
    assert answer["epoch"] != epoch and answer["missed"] is True
    assert [(run["plan"], run["seq"]) for run in answer["runs"]] == [(ident, 1)]


# What is kept.


def bulk(rig, count, description="bulk"):
    """So many runs that are done, in no order."""
    for n in range(count):
        rig.client.added(at_once(description=description), station="news")
        while rig.news.socket.poll(0):
            rig.news.answer(rig.news.recv(), ST.OK)

    def done():
        while rig.news.socket.poll(0):
            rig.news.answer(rig.news.recv(), ST.OK)
        return not rig.db.zcard("plan:time:set")
    wait_until(done, "all are done", 60)


def test_A102_history_count(make_rig):
    """At least so many are kept and few more; who asks for what is gone is told so."""
    rig = make_rig("--history-count", "50")
    bulk(rig, 600)
    found = runs_of(rig, limit=30)
    answer = page(rig)
    assert 50 <= len(found) <= 300
    assert seqs(found) == list(range(601 - len(found), 601))
    assert (answer["first"], answer["last"]) == (found[0]["seq"], 600)
    first = found[0]["seq"]
    for since, missed in ((0, True), (1, True), (first - 2, True), (first - 1, False),
                          (first, False), (599, False), (600, False)):
        answer = page(rig, since=since, limit=1000)
        assert answer["missed"] is missed, (since, first)
        assert seqs(answer["runs"]) == list(range(max(since + 1, first), 601))
    answer = page(rig, since=601)       # of a future that is not: another epoch, forgotten to say
    assert answer["runs"] == []


def test_history_count_0(make_rig):
    rig = make_rig("--history-count", "0")
    finished(rig, 3)
    answer = page(rig, since=1)
    assert answer["runs"] == [] and answer["missed"] is True and answer["last"] >= 3    # more if a run was late
    assert page(rig, since=answer["last"])["missed"] is False


def test_A102_history_age(make_rig):
    """What is older goes by and by, and who asks for it is told so."""
    rig = make_rig("--history-age", "1")
    finished(rig, 20)
    last = time.time()
    wait_until(lambda: time.time() > last + 2, "they are old")
    rig.restart()       # it looks soon after a start
    wait_until(lambda: runs_of(rig) == [], "the old are gone")
    assert page(rig, since=3)["missed"] is True and page(rig, since=20)["missed"] is False
    assert page(rig)["last"] == 20
    rig.client.added(at_once(), station="news")
    rig.news.answer(rig.news.recv(), ST.OK)
    wait_until(lambda: page(rig)["last"] == 21, "the next is written")


@pytest.mark.parametrize("option", ["--history-count", "--history-age"])
@pytest.mark.parametrize("value", ["-1", "x", "", "1.5", "99999999999999999999"])
def test_wrong_settings(make_rig, option, value):
    from zplanprocs import run_once
    code, out, err = run_once([option, value])
    assert code in (1, 2) and out == "" and err.strip()


def test_a_history_that_was_lost(rig):
    """By hand, of another type: the station goes on, and seq with it."""
    finished(rig, 3)
    rig.db.delete("plan:history")
    assert runs_of(rig) == [] and page(rig, since=1)["missed"] is True
    rig.db.set("plan:history", "nonsense")
    assert runs_of(rig) == []
    finished(rig, 1)
    assert seqs(runs_of(rig)) == [4]


def test_seq_goes_on_when_its_counter_was_lost(rig):
    """It can be no number that somebody has seen already: history has the last."""
    finished(rig, 3)
    rig.db.delete("plan:meta")
    finished(rig, 1)
    found = runs_of(rig)
    assert seqs(found) == [1, 2, 3, 4]


# Nothing is missed.


class Recorder:
    """A subscriber that is cut off now and then, and asks `history` when it sees a gap."""

    def __init__(self, rig):
        self.rig = rig
        self.heard, self.asked = {}, {}         # seq -> (plan, exec_id, status)
        self.last, self.epoch = 0, None
        self.socket = None

    def join(self):
        if not self.socket:
            self.socket = Results(self.rig.ipc("p"), [b""])
            self.socket.socket.rcvhwm = 0

    def cut(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def listen(self):
        while self.socket and self.socket.socket.poll(0):
            news = self.socket.recv_any()
            plan = told(news)
            if plan["seq"] > self.last + 1:
                self.fill(plan["seq"])
            assert plan["seq"] == self.last + 1, "told twice, or in another order"
            assert self.epoch in (None, plan["epoch"])
            self.last, self.epoch = plan["seq"], plan["epoch"]
            self.heard[plan["seq"]] = (news.frames[0].decode(), plan["exec_id"], news.code)

    def fill(self, end=None):
        """Ask for what was after the last and before this one."""
        query = {"since": self.last, "limit": 50, **({"epoch": self.epoch} if self.epoch else {})}
        while True:
            answer = page(self.rig, **query)
            assert answer["missed"] is False
            for run in answer["runs"]:
                if run["seq"] and (end is None or run["seq"] < end):
                    assert run["seq"] == self.last + 1
                    self.last, self.epoch = run["seq"], answer["epoch"]
                    self.asked[run["seq"]] = (run["plan"], run["exec_id"], run["status"])
            if "next" not in answer:
                return
            query["after"] = answer["next"]


def embedded(rig):
    """The rig's station with a Redis of its own, in a data folder."""
    embed_redis(rig).station.start()
    return rig


@pytest.mark.parametrize("seed, kills", [(1, False), (2, True), (3, True)])
def test_A101_A103_A108_nothing_is_missed(make_rig, seed, kills):
    """A subscriber cut off at random and a station that is restarted, or killed, with the same data:
    what was broadcast and what history has since are every seq once, and every run once.
    """
    # A status that comes too late would be a second outcome of its run: RECV_ERROR, then OK.
    rig = embedded(make_rig("--exec-timeout", "2", "--send-timeout", "60000", start=False))
    rng = random.Random(seed)
    recorder = Recorder(rig)
    plans, runs = [], {}

    def answer():
        while rig.jobs.socket.poll(0):
            run = rig.jobs.recv()
            runs[run.exec_id] = run
            if rng.random() < 0.1:
                rig.jobs.finish(run, ST.ERROR)
            else:
                rig.jobs.finish(run)

    for turn in range(120):
        for _ in range(rng.randrange(6)):
            plans.append(rig.client.added(at_once(description=f"d{turn}")))
        chance = rng.random()
        if chance < 0.2:
            recorder.cut()
        elif chance < 0.6:
            recorder.join()
        elif chance < 0.64:
            rig.station.kill() if kills else rig.station.stop()
            rig.station.start()
        answer()
        recorder.listen()
    recorder.join()

    def all_done():
        answer()
        recorder.listen()
        return {run["plan"] for run in runs_of(rig, limit=1000) if run["status"] == ST.OK} >= \
            set(plans)
    wait_until(all_done, "every plan has run", 60)
    recorder.listen()
    recorder.fill()
    everything = runs_of(rig)
    last = page(rig)["last"]
    assert last >= len(plans) > 200 and recorder.heard and recorder.asked
    # Every seq exactly once, and what was heard is what stands there.
    assert recorder.last == last and not set(recorder.heard) & set(recorder.asked)
    told_of = {run["seq"]: (run["plan"], run["exec_id"], run["status"])
               for run in everything if run["seq"]}
    assert sorted(told_of) == list(range(1, last + 1))
    assert {**recorder.heard, **recorder.asked} == told_of
    # Every run exactly once, whatever became of it; every plan done exactly once.
    ids = [run["exec_id"] for run in everything]
    assert len(set(ids)) == len(ids) and set(ids) >= set(runs)
    assert sorted(run["plan"] for run in everything if run["status"] == ST.OK) == sorted(plans)


# An error that says why in its CONTENT only.

@pytest.mark.parametrize("pairs, words", [
    ([(FT.CONTENT, "kein Papier: ä\n".encode())], "kein Papier: ä"),
    ([(FT.STATUS, b"-failed"), (FT.CONTENT, b"no paper")], "no paper"),
    ([(FT.CONTENT, b"x" * 511 + "ä".encode() * 10000)], "x" * 511),
    ([(FT.STATUS, b"-failed"), (FT.CONTENT, b"\xff")], "-failed"),
])
def test_the_words_of_an_error_may_come_as_content(rig, pairs, words):
    results = rig.subscribe(b"every")
    ident = rig.client.added(catching_up())
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED, pairs)
    assert told(results.recv())["error_info"] == words
    assert [run["reason"] for run in page(rig, ident)["runs"]] == [words]
    assert rig.client.done("message", ident).json["error_info"] == words
