"""src/clients/python/zplan.py: the client, for threads and for asyncio, and both workers, against the programs."""
import asyncio
import json
import sys
import threading
import time

import pytest
import zmq

from clitest import reply, taken_apart
from ownertest import Broadcaster, Owners, Seat
from pulltest import team
from zplanprocs import REPO
from zplantest import FT, ST, WAIT, wait_until
from workersport import port  # noqa: F401 a fixture
from zstationtest import CONTENT, OK, a_run, station as target  # noqa: F401 a fixture

sys.path.insert(0, REPO + "/src/clients/python")
import zplan  # noqa: E402 pylint: disable=wrong-import-position


@pytest.fixture
def client(rig):
    with zplan.Client(rig.ipc("q"), rig.ipc("p"), timeout=20) as made:
        yield made


def test_a_plan_from_submission_to_its_end(rig, client):
    plan = client.submit("jobs", "report", "monthly", every="2h", repeat=3, title="the report", priority=7)
    stored = client.get(plan.id)
    assert {name: stored[name] for name in ("plan_id", "station", "description", "plan_value", "plan_repet",
                                            "priority")} == \
        {"plan_id": int(plan.id, 16), "station": "jobs", "description": "the report", "plan_value": 2,
         "plan_repet": 3, "priority": 7}
    assert [one["plan_id"] for one in client.list(station="jobs")] == [int(plan.id, 16)]
    assert client.get(int(plan.id, 16)) == stored
    times = client.next(plan.id)
    assert plan.first == times[0]
    assert [b - a for a, b in zip(times, times[1:])] == [7200, 7200]
    assert client.pause(plan.id)["plan_state"] == 5
    assert client.resume(plan.id)["plan_state"] == 1
    client.skip(plan.id)
    assert client.next(plan.id)[0] == times[1]
    assert client.update(plan.id, description="later")["description"] == "later"
    client.run(plan.id)
    run = rig.jobs.recv()
    assert (run.get(FT.COMMAND), run.get(FT.ARG)) == (b"report", b"monthly")
    rig.jobs.finish(run)
    wait_until(lambda: list(client.history(plan=plan.id)), "the run in the history")
    assert client.end(plan.id)["plan_state"] == 7
    client.remove(plan.id)
    with pytest.raises(zplan.Rejected) as refused:
        client.get(plan.id)
    assert refused.value.status == "not found"


@pytest.mark.parametrize("fields, kind", [
    ({}, 0), ({"at": 4102444800}, 1), ({"every": 5}, 2), ({"every": "5m"}, 3), ({"every": "1d"}, 5),
    ({"cron": "30 8 * * 1"}, 8), ({"cron": ["0 8 * * 1", "0 9 * * 2"], "repeat": 2}, 8),
    ({"plan_type": "week", "plan_value": 1, "plan_repet": -1}, 6)])
def test_when(client, fields, kind):
    plan = client.submit("jobs", "later", hold=True, **fields)
    assert client.get(plan.id)["plan_type"] == kind


@pytest.mark.parametrize("fields", [{"every": "2w"}, {"every": 1, "cron": "* * * * *"}, {"repeat": 2}])
def test_a_schedule_that_cannot_be_is_an_error_of_the_caller(client, fields):
    with pytest.raises(ValueError):
        client.submit("jobs", "never", **fields)


def test_what_the_station_rejects_has_its_reason(client):
    with pytest.raises(zplan.Rejected) as refused:
        client.submit("jobs", "x", plan_type="month", plan_value=99, plan_repet=1)
    assert refused.value.status == "invalid plan" and "plan_value" in refused.value.reason
    client.ping()


def test_the_same_id_is_one_plan(client):
    first = client.submit("jobs", "x", id="2a", at=4102444800)
    assert client.submit("jobs", "x", id=0x2a, at=4102444800).id == first.id == "2a"
    assert len(list(client.list())) == 1
    named = client.submit("jobs", "x", key="nightly", every="1d")
    assert client.submit("jobs", "x", key="nightly", every="1d").id == named.id


def test_no_answer_names_the_plan(rig, client):
    client.ping()
    rig.station.kill()
    with zplan.Client(rig.ipc("q"), timeout=0.2) as hasty:
        with pytest.raises(zplan.NoAnswer) as missed:
            hasty.submit("jobs", "x", at=4102444800)
        rig.station.start()
        hasty.timeout = 20
    # What was queued for the old connection does not arrive twice.
    plan = client.submit("jobs", "x", id=missed.value.id, at=4102444800)
    assert plan.id == missed.value.id and len(list(client.list())) == 1


def test_results_come_as_they_are_broadcast(rig, client):
    plan = client.submit("jobs", "greet", "world", at=4102444800, title="hello")
    done = []

    def listen():
        with zplan.Client(rig.ipc("q"), rig.ipc("p"), timeout=20) as other:     # a client is for one thread
            done.append(next(other.results(timeout=30)))
    thread = threading.Thread(target=listen)
    thread.start()

    def answer():       # until the subscription is there: what came before is not its business
        client.run(plan.id)
        rig.jobs.finish(rig.jobs.recv(), ST.OK, [(FT.CONTENT, b"hello world")])
        thread.join(1)
        return not thread.is_alive()
    wait_until(answer, "a result")
    assert (done[0].id, done[0].title, done[0].ok) == (plan.id, "hello", True)


def test_results_are_replayed_without_a_gap(rig, client):
    """What was broadcast while nobody listened comes from the history, once and in order."""
    idents = []
    for _ in range(5):
        idents.append(client.submit("jobs", "x").id)
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(idents[-1])
    results = client.results(since=0, timeout=20)
    known = [next(results) for _ in range(5)]
    assert [one.id for one in known] == idents and all(one.replayed and one.ok for one in known)
    assert [one.seq for one in known] == list(range(known[0].seq, known[0].seq + 5))
    resumed = client.results(since=known[2].seq, epoch=known[2].epoch, timeout=20)
    assert [next(resumed).id for _ in range(2)] == idents[3:]
    rig.restart()
    idents.append(client.submit("jobs", "y").id)
    rig.jobs.finish(rig.jobs.recv(), ST.FAILED, [(FT.STATUS, b"-failed: no paper")])
    seen = next(results)
    assert (seen.id, seen.ok, seen.status) == (idents[-1], False, "failed") and "no paper" in seen.reason


@pytest.mark.parametrize("answer", [lambda request: [], lambda request: [reply(request, ST.NET_ERROR)]],
                         ids=["silent", "without Redis"])
def test_results_outlive_a_station_that_is_away(monkeypatch, answer):
    monkeypatch.setattr(zplan, "_LOOK_S", 0.1)
    with Owners(lambda: Broadcaster([])) as (station, _):
        station.own()
        with zplan.Client(station.endpoint, station.results, timeout=WAIT) as client:
            results = client.results(since=0, epoch="e1")
            station.outcome()
            assert next(results).seq == 1
            client._client.timeout = 0.5
            station.answer, seen = answer, []
            thread = threading.Thread(target=lambda: seen.append(next(results)))
            thread.start()
            while not station.seen.empty():
                station.took()
            station.took(3)         # the answer to the first of them was awaited in vain
            station.answer = station.manage
            station.outcome(publish=False)
            thread.join(WAIT)
            assert [result.seq for result in seen] == [2]
            results.close()


def test_results_of_a_station_that_was_never_there():
    with Owners(lambda: Broadcaster([])) as (station, _):
        with zplan.Client(station.endpoint, station.results, timeout=0.2) as client:
            with pytest.raises(zplan.NoAnswer):
                next(client.results())


def test_asyncio(rig):
    async def use():
        async with zplan.AsyncClient(rig.ipc("q"), rig.ipc("p"), timeout=20) as client:
            plans = await asyncio.gather(*(client.submit("jobs", "x", at=4102444800) for _ in range(10)))
            assert len({plan.id for plan in plans}) == 10
            assert {one["plan_id"] async for one in client.list()} == {int(plan.id, 16) for plan in plans}
            with pytest.raises(zplan.Rejected):
                await client.get("ffff")
            plan = await client.submit("jobs", "greet")
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, lambda: rig.jobs.finish(rig.jobs.recv()))
            async for result in client.results(since=0):
                assert result.id == plan.id
                break
    asyncio.run(use())


# -- workers

def serve(worker):
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    return thread


def nested(depth):
    return [nested(depth - 1)] if depth else []


# Results that JSON can hold, and the station rejects.
REJECTED = {"nul": "a\0b", "huge": 1 << 63, "nested": nested(15), "one name twice": {1: "a", "1": "b"},
            "surrogate": ["\ud800"]}


def handlers(worker):
    """Handlers of every kind of end."""
    @worker.command("greet")
    def greet(job):
        return f"hello {job.argument}"

    @worker.command("count")
    def count(job):
        return {"letters": len(job.argument)}

    @worker.command("break")
    def fail(job):
        raise zplan.JobFailed("no paper")

    @worker.command("unsendable")
    def unsendable(job):
        return {"at": object()}

    @worker.command("large")
    def large(job):
        return "x" * 70_000

    @worker.command("exit")
    def leave(job):
        sys.exit("no toner")

    @worker.command("umlauts")
    def umlauts(job):
        raise zplan.JobFailed("ü" * 300)

    for command, result in REJECTED.items():
        worker.command(command)(lambda job, result=result: result)

    @worker.command("time")
    def at(job):
        return job.time

    @worker.command("wait")
    def wait(job):
        job.progress("40 waiting")
        return "cancelled" if job.wait(60) else "waited"
    return worker


def ends(thread, worker):
    worker.stop()
    thread.join(20)
    assert not thread.is_alive()


def answered(peer):
    """The answer of a job: not that it runs, nor a heartbeat."""
    while (answer := peer.recv()).code in (0x03, 0x22):
        pass
    return answer


def joined(target, **options):
    """A worker of this target, its thread, and a client of the target."""
    target.start()
    worker = handlers(zplan.Worker(target.endpoint("workers"), name="py", **options))
    thread, peer = serve(worker), target.peer()
    wait_until(lambda: "py" in str(target_workers(peer)), "it has joined")
    return worker, thread, peer


def test_a_worker_of_a_target(target):  # noqa: F811
    worker, thread, peer = joined(target, jobs=2)
    for command, argument, code, text in ((b"greet", b"you", OK, b"hello you"), (b"break", b"", 0x82, None),
                                          (b"unsendable", b"", 0x82, None), (b"exit", b"", 0x82, None),
                                          (b"nothing", b"", 0x82, None)):
        peer.send(*call(command, argument))
        answer = answered(peer)
        assert answer.code == code
        assert answer.get(CONTENT) == text if text else b"-failed: " in answer.get(FT.STATUS)
    peer.send(*call(b"count", b"four"))
    assert json.loads(answered(peer).get(FT.JSON)) == {"letters": 4}
    ends(thread, worker)
    wait_until(lambda: "py" not in str(target_workers(peer)), "it has left")


def test_a_reason_is_cut_between_characters(target):  # noqa: F811
    worker, thread, peer = joined(target)
    peer.send(*call(b"umlauts", b""))
    assert answered(peer).get(FT.STATUS).decode() == "-failed: " + "ü" * 251
    ends(thread, worker)


def test_the_first_argument_is_the_job_s(target):  # noqa: F811
    worker, thread, peer = joined(target)
    for frames, text in (([(FT.ARG, b"one"), (FT.ARG, b"two")], b"hello one"),
                         ([(FT.CONTENT, b"one"), (FT.CONTENT, b"two")], b"hello one"),
                         ([(FT.CONTENT, b"two"), (FT.ARG, b"one")], b"hello one")):
        kinds = bytes(kind for kind, _ in frames)
        peer.send(bytes([1 + len(frames), 1, FT.COMMAND]) + kinds + b"\0", b"greet", *(data for _, data in frames))
        answer = answered(peer)
        assert answer.get(CONTENT) == text, answer.status
    ends(thread, worker)


def call(command, argument):
    return [bytes([2, 1, FT.COMMAND, FT.ARG, 0]), command, argument]


def target_workers(peer):
    return peer.ask(bytes([1, 1, FT.COMMAND, 0]), b"workers").get(FT.JSON)


def test_a_worker_obeys_a_cancel_and_a_drain(target):  # noqa: F811
    worker, thread, peer = joined(target)
    peer.send(*a_run(b"a1", command=b"wait"))
    while peer.recv().get(FT.STATUS) != b"40 waiting":
        pass
    peer.send(b"*a1", bytes([2, 0x2D, FT.STATUS, FT.LOCAL_ID, 0]), b"by ann", b"5f")
    assert answered(peer).get(CONTENT) == b"cancelled"
    peer.send(bytes([2, 1, FT.COMMAND, FT.ARG, 0]), b"drain", b"py")
    thread.join(20)
    assert not thread.is_alive()


def test_a_worker_joins_a_target_that_was_restarted(target):  # noqa: F811
    target.start()
    worker = handlers(zplan.Worker(target.endpoint("workers"), name="py"))
    thread = serve(worker)
    peer = target.peer()
    for _ in range(2):
        wait_until(lambda: "py" in str(target_workers(peer)), "it has joined")
        peer.send(*call(b"greet", b"you"))
        assert answered(peer).get(CONTENT) == b"hello you"
        target.stop()
        target.start()
    ends(thread, worker)


def test_a_worker_outlives_what_no_client_sends(target):  # noqa: F811
    """Neither the mailbox nor the numbers of a call are what they should be."""
    worker, thread, peer = joined(target)
    for mailbox, frames in (([], [(FT.LOCAL_ID, b"\xff")]), ([], [(FT.PLAN_TIME, "²".encode())]), ([b"*\xff"], [(FT.LOCAL_ID, b"5f")])):
        kinds = bytes(kind for kind, _ in frames)
        peer.send(*mailbox, bytes([1 + len(frames), 2 if mailbox else 1, FT.COMMAND]) + kinds + b"\0", b"greet", *(data for _, data in frames))
    peer.send(*call(b"greet", b"you"))
    while answered(peer).get(CONTENT) != b"hello you":
        pass
    ends(thread, worker)


def test_a_worker_whose_name_is_rejected(target):  # noqa: F811
    target.start()
    with pytest.raises(zplan.Rejected, match="name"):
        zplan.Worker(target.endpoint("workers"), name="my worker").run()


def test_a_worker_that_joins_again_asks_for_its_free_slots_only(port):  # noqa: F811
    worker = zplan.Worker(port.endpoint, name="py", jobs=3)
    release = threading.Event()
    worker.command("hold")(lambda job: release.wait(60) and None)
    thread = serve(worker)
    assert port.join() == 3
    port.dispatch()
    port.until(b"job")      # its heartbeat
    port.answer(0x83)       # as a target that was restarted
    assert port.join() == 2
    release.set()
    port.until(b"R")
    ends(thread, worker)


@pytest.mark.parametrize("heartbeats", [0, 1, 2], ids=str)
def test_a_job_on_its_way_to_a_worker_that_leaves_is_returned(port, monkeypatch, heartbeats):  # noqa: F811
    """The worker has left when the heartbeat that follows its last READY is answered, and those before it."""
    monkeypatch.setattr(zplan, "_LEAVE_S", WAIT)
    worker = zplan.Worker(port.endpoint, name="py", jobs=2)
    thread = serve(worker)
    port.join()
    for _ in range(heartbeats):
        port.until(b"P")
    worker.stop()
    while port.until(b"R")[-1][1] != [b"py", b"0"]:
        pass
    port.until(b"P")
    while port.unanswered > 1:
        port.answer()
    port.dispatch()
    *before, (_, (mailbox, description, number)) = port.until(b"job")
    assert (mailbox, description[1], number) == (b"*a1", 0x88, b"5f") and {code for code, _ in before} <= {b"P"}
    while port.unanswered:
        port.answer()
    port.until(b"L")
    thread.join(WAIT)
    assert not thread.is_alive()


@pytest.fixture
def pile(make_rig):
    rig = make_rig("--station", "pile=pull")
    worker = handlers(zplan.PullWorker("pile", rig.ipc("q"), name="py", jobs=2, wait=1))
    thread = serve(worker)
    yield rig
    ends(thread, worker)


def test_a_worker_that_fetches(pile):
    with zplan.Client(pile.ipc("q"), timeout=20) as client:
        def outcome(command, argument):
            plan = client.submit("pile", command, argument, retry={"strategy": "none"})
            (run,) = wait_until(lambda: list(client.history(plan=plan.id)), "the run in the history")
            return run
        done = outcome("greet", "you")
        assert (done["status"], done["worker"]) == ("ok", "py")
        failed = outcome("break", "")
        assert failed["status"] == "failed" and "no paper" in failed["reason"]
        assert "JSON serializable" in outcome("unsendable", "")["reason"]
        assert "no toner" in outcome("exit", "")["reason"]
        assert "larger than 65536" in outcome("large", "")["reason"]
        assert "no handler" in outcome("nothing", "")["reason"]
        assert outcome("umlauts", "")["reason"].startswith("py: " + "ü" * 90)


@pytest.mark.parametrize("command", REJECTED)
def test_a_result_that_the_station_rejects_fails_the_run(pile, command):
    with zplan.Client(pile.ipc("q"), timeout=20) as client:
        plan = client.submit("pile", command, retry={"strategy": "none"},
                             workers={"ping_interval": 1, "worker_timeout": 600})
        (run,) = wait_until(lambda: list(client.history(plan=plan.id)), "the run in the history")
        assert (run["status"], run["worker"]) == ("failed", "py")
        assert run["reason"].startswith("py: the station rejects the report: -argument: "), run["reason"]


def test_a_job_that_is_fetched_has_its_first_argument_and_its_time(pile):
    with zplan.Client(pile.ipc("q"), pile.ipc("p"), timeout=20) as client:
        plan = client.submit("pile", "greet", "one", frames=((FT.ARG, b"two"), (FT.CONTENT, b"three")))
        assert client.wait(plan, timeout=WAIT).text == "hello one"
        plan = client.submit("pile", "time", every="1h")
        client.run(plan)
        (run,) = wait_until(lambda: list(client.history(plan=plan.id)), "the run in the history")
        assert int(client.result(plan).text) == run.wire["nominal"] < client.get(plan).wire["plan_time"]


def test_the_progress_of_a_job_that_is_fetched(pile):
    with zplan.Client(pile.ipc("q"), timeout=20) as client:
        plan = client.submit("pile", "wait", workers={"ping_interval": 2, "worker_timeout": 60})
        wait_until(lambda: [one.get("progress") for one in team(pile, plan.id)["workers"]] == ["40 waiting"],
                   "its progress")
        client.cancel(plan)


@pytest.mark.parametrize("text, kept", [("ü" * 200, "ü" * 128), ("€" * 100, "€" * 85), ("a\0b\ud800", "a?b?")],
                         ids=["two bytes", "three bytes", "not text"])
def test_a_progress_is_what_a_station_accepts(text, kept):
    job = zplan.Job(zplan._Message(1, ()), "", "", 0)
    job.progress(text)
    assert job.progress_text.encode() == kept.encode()


class PullStation(Seat):
    """One that has one job, and answers of each command in turn what the test wants, OK at last."""

    JOB = {"plan_id": "2a", "exec_id": "5f", "plan_time": 1700000000, "ping_interval": 100, "worker_timeout": 300,
           "plan": {}, "frames": [{"b64": "AQIkAA=="}, "hold"]}

    def __init__(self):
        super().__init__()
        self.next = {"take": [], "report": [], "alive": []}
        self.asked = {"take": [], "report": [], "alive": []}
        self.own(self.manage)

    def manage(self, request):
        command, (fields,) = taken_apart(request)
        self.asked[command].append(json.loads(fields))
        first = command == "take" and len(self.asked["take"]) == 1
        status = self.next[command].pop(0) if self.next[command] and not first else ST.OK
        answer = {"take": {"jobs": [self.JOB] if first else []}, "report": {"accepted": True},
                  "alive": {"ok": True, "ping_interval": 100, "worker_timeout": 300}}[command]
        return [reply(request, status, *([(FT.JSON, json.dumps(answer).encode())] if status == ST.OK else []))]

    def has(self, command, count):
        wait_until(lambda: len(self.asked[command]) >= count, f"{command} {count}")


@pytest.fixture
def pull_station():
    made = PullStation()
    yield made
    made.close()


class Clock:
    """The module `time`, with a monotonic clock that can be set forward."""

    def __init__(self):
        self.ahead = 0

    def __getattr__(self, name):
        return getattr(time, name)

    def monotonic(self):
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(zplan, "time", made)
    return made


def fetching(station, result):
    worker = zplan.PullWorker("pile", station.endpoint, name="py", jobs=2, wait=0)
    worker.command("hold")(lambda job: result(job))
    return worker, serve(worker)


def test_a_report_is_replaced_once(pull_station):
    """The run may be over: then the station rejects a failure, too."""
    pull_station.next["report"] = [ST.ARG_ERROR, ST.BUSY, ST.ARG_ERROR]
    worker, thread = fetching(pull_station, lambda job: "done")
    pull_station.has("report", 3)
    ends(thread, worker)
    first, *others = pull_station.asked["report"]
    known = {"plan": "2a", "worker": "py", "exec_id": "5f"}
    assert first == {**known, "state": "success", "result": "done"}
    assert others == 2 * [{**known, "state": "fail", "reason": "the station rejects the report: invalid argument"}]


def test_a_job_that_must_stop_is_not_reported(pull_station):
    """Its progress is sent before the next heartbeat is due."""
    pull_station.next["alive"] = [ST.NOT_FIND]
    ended = []
    worker, thread = fetching(pull_station, lambda job: job.progress("1 %") or ended.append(job.wait(WAIT)))
    wait_until(lambda: ended, "it ends")
    ends(thread, worker)
    assert ended == [True] and pull_station.asked["report"] == []


def test_a_report_outlives_a_key_that_is_missing(pull_station):
    """So does the job of a worker that the station rejects meanwhile."""
    pull_station.next["take"], pull_station.next["report"] = [ST.DENY], [ST.DENY, ST.DENY]
    worker = zplan.PullWorker("pile", pull_station.endpoint, name="py", jobs=2, wait=0)

    @worker.command("hold")
    def hold(job):
        pull_station.has("take", 2)
        return "done"
    with pytest.raises(zplan.Rejected, match="denied"):
        worker.run()
    assert [report["result"] for report in pull_station.asked["report"]] == 3 * ["done"]
    assert len(pull_station.asked["take"]) == 2


def test_a_report_waits_for_a_station_that_is_away(pull_station, clock):
    pull_station.next["report"] = [ST.BUSY] * 4
    worker, thread = fetching(pull_station, lambda job: "done")
    for count in range(1, 5):
        pull_station.has("report", count)
        clock.ahead += 1000
    pull_station.has("report", 5)
    ends(thread, worker)


def test_a_worker_that_stops_gives_a_report_up_after_its_timeout(pull_station, clock):
    pull_station.next["report"] = [ST.BUSY] * 1000
    worker, thread = fetching(pull_station, lambda job: "done")
    pull_station.has("report", 1)
    worker.stop()
    clock.ahead += 200
    pull_station.has("report", 3)
    clock.ahead += 200
    thread.join(WAIT)
    assert not thread.is_alive()


def test_a_worker_that_fetches_obeys_a_cancel(pile):
    with zplan.Client(pile.ipc("q"), timeout=20) as client:
        plan = client.submit("pile", "wait", workers={"ping_interval": 1, "worker_timeout": 30})
        wait_until(lambda: client.manage("team", plan.id)["state"] == "running", "it works on it")
        client.cancel(plan.id, "by ann")
        ident = client.submit("pile", "wait", workers={"ping_interval": 1, "worker_timeout": 30}).id
        wait_until(lambda: client.manage("team", ident)["state"] == "running", "it takes another one")
        client.cancel(ident)
    # Both handlers wait for 60 s: the fixture's end, which gives the worker 20 s, sees that they stopped.


def test_a_worker_that_fetches_outlives_the_station(pile):
    with zplan.Client(pile.ipc("q"), timeout=20) as client:
        for _ in range(2):
            plan = client.submit("pile", "greet", "you")
            wait_until(lambda: list(client.history(plan=plan.id)), "the run in the history")
            pile.station.kill()
            pile.station.start()
