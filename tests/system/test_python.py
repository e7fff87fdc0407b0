"""src/clients/python/zplan.py: the client, for threads and for asyncio, and both workers, against the programs."""
import asyncio
import json
import sys
import threading

import pytest
import zmq

from zplanprocs import REPO
from zplantest import FT, ST, wait_until
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


def test_a_worker_that_joins_again_asks_for_its_free_slots_only():
    router = zmq.Context.instance().socket(zmq.ROUTER)
    router.linger = 0
    worker = zplan.Worker(f"tcp://127.0.0.1:{router.bind_to_random_port('tcp://127.0.0.1')}", name="py", jobs=3)
    release = threading.Event()
    worker.command("hold")(lambda job: release.wait(60) and None)
    thread = serve(worker)

    def codes(last):
        """Of the messages up to the one with this code, and who sent it."""
        seen = []
        while seen[-1:] != [last]:
            assert router.poll(20000)
            sender, description = router.recv_multipart()[:2]
            seen.append(description[1:2] if description[0] < 32 else b"job")
        return sender, seen

    def join():
        sender, _ = codes(b"J")
        router.send_multipart([sender, bytes([0, OK, 0])])
        return sender, codes(b"P")[1].count(b"R")
    sender, credits = join()
    assert credits == 3
    router.send_multipart([sender, b"*a1", bytes([2, 2, FT.COMMAND, FT.LOCAL_ID, 0]), b"hold", b"5f"])
    codes(b"job")                                               # its heartbeat
    router.send_multipart([sender, bytes([0, 0x83, 0])])        # as a target that was restarted
    assert join()[1] == 2
    release.set()
    codes(b"R")
    ends(thread, worker)
    router.close()


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
