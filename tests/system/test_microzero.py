"""Stations of MicroZero centers as targets (proto 13.2, and 7.2: `mailbox=identity`).

The centers are the fake ones of microzero.py. How they are found is tested in
test_microzero_center.py, their own dialect at our sockets in test_microzero_listener.py.
"""
import json
import time

import pytest
import zmq

from microzero import FLAVOURS, IDENTITY, KEY, SERVICE_KEY, stations, wait_connected, wait_lost
from zplanprocs import WAIT, run_once, wait_until
from zplantest import CMD, CONTEXT, FT, ST, at_once, describe, every, told

TITLE = [(FT.PUB_TITLE, b"weather")]


@pytest.fixture(params=FLAVOURS)
def center(request, make_center):
    return make_center(request.param, Test="api", News="pub")


@pytest.fixture
def make_known(make_rig, center):
    """A rig that has the stations of the center in its settings, and is connected to them."""
    def make(*args):
        rig = make_rig("--station", center.target("Test"), "--station", center.target("News"),
                       *args)
        wait_connected(rig, "Test", "News")
        return rig
    return make


def added(rig, plan, station="Test", **where):
    return rig.client.added(plan, station=station, **where)


def result_of(results, status=ST.OK):
    """The next broadcast, which must have this status."""
    news = results.recv()
    assert news.code == status, news
    return news


def runs_seen(center, station="Test"):
    return [m for m in center.seen if m.station == station and m.code == CMD.PROXY]


# -- the run


def test_what_the_worker_gets(make_known, center):
    """The client's frames in order, then what the station adds; the key last."""
    rig = make_known()
    more = [(FT.ARG, b'{"k":7}'), (FT.BIN, b"\0\xff"), (FT.ARG, b"")]
    ident = added(rig, at_once(), head=[(FT.COMMAND, b"api/plan")], more=more)
    job = center["Test"].job()
    assert job.code == CMD.PROXY and job.desc == describe(CMD.PROXY, job.types)
    client = [(FT.COMMAND, b"api/plan"), *more]
    frames = list(zip(job.types, job.frames))
    assert [pair for pair in frames if pair[0] in (FT.COMMAND, FT.ARG, FT.BIN)] == client
    added_types = {FT.CONTEXT, FT.PLAN, FT.PLAN_TIME, FT.REQUEST_ID, FT.REQUESTER, FT.GLOBAL_ID}
    if center.flavour == "v1.5":
        added_types.add(SERVICE_KEY)
        assert frames[-1] == (SERVICE_KEY, KEY)
    assert sorted(t for t in job.types if t not in (FT.COMMAND, FT.ARG, FT.BIN)) == \
        sorted(added_types)
    assert job.get(FT.CONTEXT) == b"{}"
    mailbox = b"*" + ident.encode()
    assert job.get(FT.REQUEST_ID) == mailbox and job.requester == mailbox
    plan = job.plan
    assert job.global_id.decode() == f"{plan['exec_id']:x}"
    assert int(job.get(FT.PLAN_TIME)) == plan["plan_time"] and plan["deadline"] > time.time()
    assert plan["plan_id"] == int(ident, 16) and "messages" not in plan
    job.finish()
    rig.gone(ident, "Test")
    assert not center["Test"].wrong_jobs


def test_the_client_s_own_ids_are_replaced(make_known, center):
    """In their place; a REQUEST_ID and a CONTEXT with something in them are the client's."""
    rig = make_known()
    more = [(FT.REQUESTER, b"boss"), (FT.CONTEXT, b'{"u":1}'), (FT.REQUEST_ID, b"rq-77"),
            (FT.ARG, b"a")]
    ident = added(rig, at_once(), gid="77aa", more=more)
    job = center["Test"].job()
    assert ident == "77aa"
    given = [(t, f) for t, f in zip(job.types, job.frames)
             if t not in (FT.PLAN, FT.PLAN_TIME, SERVICE_KEY)]
    assert given == [(FT.COMMAND, b"do"), (FT.GLOBAL_ID, b"%x" % job.plan["exec_id"]),
                     (FT.REQUESTER, b"*77aa"), (FT.CONTEXT, b'{"u":1}'), (FT.REQUEST_ID, b"rq-77"),
                     (FT.ARG, b"a")]
    job.finish()
    rig.gone(ident, "Test")


def test_empty_ids_are_filled(make_known, center):
    rig = make_known()
    ident = added(rig, at_once(), more=[(FT.REQUEST_ID, b""), (FT.CONTEXT, b""),
                                        (FT.REQUESTER, b"")])
    job = center["Test"].job()
    assert job.get(FT.CONTEXT) == b"{}"
    assert job.get(FT.REQUEST_ID) == job.requester == b"*" + ident.encode()
    for kind in (FT.CONTEXT, FT.REQUEST_ID, FT.REQUESTER, FT.GLOBAL_ID):
        assert len(job.every(kind)) == 1
    job.finish()
    rig.gone(ident, "Test")


def test_the_identity(make_known, center):
    """Printable, a `+` first; one of each target, whoever was started again."""
    rig = make_known()
    ident = added(rig, at_once())
    center["Test"].job().finish()
    rig.gone(ident, "Test")
    added(rig, at_once(), "News", head=TITLE)
    wait_until(lambda: center["News"].identities, "a run at News")
    center["Test"].stop()
    wait_lost(rig, "Test")
    center["Test"].start()
    wait_connected(rig, "Test")
    rig.gone(run_one(rig, center), "Test")
    rig.restart()
    wait_connected(rig, "Test")
    rig.gone(run_one(rig, center), "Test")
    seen = center["Test"].identities + center["News"].identities
    assert len(seen) == len(set(seen)) == 2
    assert all(map(IDENTITY.match, seen)), seen


def run_one(rig, center):
    ident = added(rig, at_once())
    center["Test"].job().finish()
    return ident


def test_results_count_and_are_broadcast(make_known, center):
    rig = make_known()
    results = rig.subscribe(b"every")
    ident = added(rig, every(1, 2, no_keep=True))
    for count in (1, 2):
        job = center["Test"].job()
        job.finish(value={"run": count})
        news = result_of(results)
        assert json.loads(news.get(FT.JSON)) == {"run": count}
        assert news.get(FT.GLOBAL_ID) == job.global_id
        plan = told(news)
        assert (plan["real_repet"], plan["last_state"]) == (count, ST.OK)
        assert news.frames[0] == ident.encode()
    rig.gone(ident, "Test")
    assert len(runs_seen(center)) == 2


def test_what_is_kept_of_a_result_is_as_it_came(make_known, center):
    rig = make_known()
    ident = added(rig, every(1, 100))
    job = center["Test"].job()
    job.finish(center.number.FAILED)
    rig.state(ident, ST.FAILED, "Test")
    desc, *frames = rig.work(ident, "Test")["Test"]
    assert desc[1] == center.number.FAILED and desc[0] == len(frames)
    assert job.global_id in frames


ERRORS = [("ERROR", ST.ERROR), ("NOT_FIND", ST.NOT_FIND), ("FRAME_INVALID", ST.FRAME_INVALID),
          ("FAILED", ST.FAILED), ("NOT_SUPPORT", ST.NOT_SUPPORT)]


def test_error_results_are_turned_into_ours(make_known, center):
    """And the plan is tried again; 3.4 of the plan document."""
    rig = make_known()
    for name, status in ERRORS:
        results = rig.subscribe(name.encode())
        ident = added(rig, at_once(description=name))
        center["Test"].job().finish(getattr(center.number, name))
        assert told(result_of(results, status))["real_repet"] == 0
        job = center["Test"].job()      # a second later
        job.finish()
        assert told(result_of(results))["real_repet"] == 1
        rig.gone(ident, "Test")


@pytest.mark.parametrize("status, ours", [
    (0x82, ST.TIMEOUT), (0xD0, ST.ERROR), (0xD2, ST.ARG_ERROR), (0xF4, ST.TIMEOUT),
    (0xF5, ST.NET_ERROR), (0xC3, ST.ERROR), (0xFE, ST.ERROR)])
def test_errors_that_only_microzero_has(make_rig, make_center, status, ours):
    """What nothing is known of is an error; 82 is its clients' own timeout."""
    center = make_center("master", Test="api")
    rig = make_rig("--station", center.target("Test"))
    ident = added(rig, every(1, 100))
    center["Test"].job().finish(status)
    rig.state(ident, ours, "Test")


@pytest.mark.parametrize("status", [0x00, 0x73, 0x5A])
def test_a_result_that_is_none_ends_the_run(make_rig, make_center, status):
    """00 is written by workers that leave the status out; 73 would be a heartbeat by its number.
    The retry comes at its pace: the run is not left to its lease."""
    center = make_center("master", Test="api")
    rig = make_rig("--station", center.target("Test"))
    ident = added(rig, every(1, 100))
    center["Test"].job().finish(status)
    plan = rig.state(ident, ST.ERROR, "Test")
    words = f"status {status:02x} is neither a result nor a heartbeat in dialect microzero"
    assert plan["error_info"] == words and plan["error_count"] == 1
    page = rig.client.done("history", ident).json
    assert [(run["status"], run["reason"]) for run in page["runs"]] == [(ST.ERROR, words)]
    center["Test"].job().finish()
    rig.repet(ident, 1, "Test")


def test_an_ordinary_failure_of_an_api(make_known, center):
    """`Success = false`: the center counts 80 as executed; here it is a failure, and `retry` says
    whether it is tried again. With `none` the plan goes on with its next time, as at the center."""
    rig = make_known()
    ident = added(rig, every(1, 100, retry={"strategy": "none"}))
    first = center["Test"].job()
    first.finish(center.number.FAILED)
    second = center["Test"].job()
    plan = rig.message(ident, "Test")
    assert second.plan["plan_time"] > first.plan["plan_time"]
    assert (plan["error_count"], plan["real_repet"]) == (0, 0)
    second.finish()
    rig.repet(ident, 1, "Test")


def test_no_worker_and_then_one(make_known, center):
    rig = make_known()
    results = rig.subscribe(b"at once")
    center["Test"].workers = 0
    ident = added(rig, at_once())
    rig.state(ident, ST.NOT_WORKER, "Test")
    assert told(result_of(results, ST.NOT_WORKER))["real_repet"] == 0
    center["Test"].no_job(0)
    center["Test"].workers = 1
    center["Test"].job().finish()
    result_of(results)
    rig.gone(ident, "Test")


def test_a_paused_station(make_known, center):
    """Its plans wait, and run once it goes on. The seed is silent, and keeps what was sent: all of
    that is done then, and only the run in hand counts."""
    rig = make_known("--send-timeout", "1000")
    results = rig.subscribe(b"at once")
    center["Test"].pause()
    ident = added(rig, at_once())
    rig.state(ident, ST.RECV_ERROR if center.flavour == "seed" else ST.NOT_WORKER, "Test")
    center["Test"].no_job(0)
    center["Test"].resume()
    if center.flavour != "seed":
        center["Test"].job().finish()
    else:
        center["Test"].work = lambda job: job.finish()
        while not center["Test"].jobs.empty():
            center["Test"].job().finish()
    rig.gone(ident, "Test")
    codes = []
    while not codes or codes[-1] != ST.OK:
        codes.append(results.recv().code)
    assert codes.count(ST.OK) == 1
    results.nothing(1.5)


def test_several_runs_on_one_connection(make_known, center):
    """Each result is its own run's, in whatever order they come."""
    rig = make_known()
    results = rig.subscribe(b"p")
    idents = {added(rig, at_once(description=f"p{n}")): f"p{n}" for n in range(8)}
    jobs = [center["Test"].job() for _ in idents]
    assert len({job.global_id for job in jobs}) == 8 and len({job.identity for job in jobs}) == 1
    for job in [*jobs[4:], *reversed(jobs[:4])]:
        job.finish(value=job.plan["description"])
    for _ in jobs:
        news = result_of(results)
        title = idents.pop(news.frames[0].decode())
        assert news.before == [title.encode()]
        assert json.loads(news.get(FT.JSON)) == title
        assert news.get(FT.REQUESTER) == b"*" + news.frames[0]
    assert not idents


def test_statuses_of_several_runs_are_told_apart(make_known, center):
    """NOT_WORKER for some, RUNING for others, between each other."""
    rig = make_known()
    results = rig.subscribe(b"p")
    mine = []

    def work(job):
        mine.append(job)
        center["Test"].workers = len(mine) % 2      # the next one finds no worker
    center["Test"].work = work
    for n in range(6):
        added(rig, at_once(description=f"p{n}"))
    done = set()
    end = time.monotonic() + WAIT
    while len(done) < 6:
        assert time.monotonic() < end
        center["Test"].workers = 1
        while mine:
            job = mine.pop()
            job.finish(value=job.plan["description"])
        if results.socket.poll(50):
            news = results.recv()
            assert news.code in (ST.OK, ST.NOT_WORKER), news
            if news.code == ST.OK:
                assert json.loads(news.get(FT.JSON)).encode() == news.before[0]
                assert news.before[0] not in done
                done.add(news.before[0])


def test_a_late_result_is_not_the_next_run_s(make_known, center):
    rig = make_known("--exec-timeout", "2")
    results = rig.subscribe(b"at once")
    ident = added(rig, at_once())
    first = center["Test"].job()
    second = center["Test"].job()       # the lease of the first has ended
    assert first.requester == second.requester and first.global_id != second.global_id
    assert second.at - first.at >= 1.9
    first.finish(value="late")
    rig.settle()
    results.nothing(0.3)
    assert rig.message(ident, "Test")["real_repet"] == 0
    second.finish(value="in time")
    assert json.loads(result_of(results).get(FT.JSON)) == "in time"
    rig.gone(ident, "Test")
    first.finish(value="again")
    results.nothing(1)


def test_a_worker_that_is_still_at_work(make_known, center):
    """Signs of life keep the lease; `#` from a worker, 06 from a center."""
    rig = make_known("--exec-timeout", "4")
    results = rig.subscribe(b"at once")
    ident = added(rig, at_once())
    job = center["Test"].job()
    end = time.monotonic() + 8
    while time.monotonic() < end:
        job.waiting()
        if center.flavour != "seed":
            job.waiting(center.number.WAIT)
        center["Test"].no_job(0.5)
    results.nothing(0)
    job.finish()
    result_of(results)
    rig.gone(ident, "Test")


def test_a_result_without_global_id(make_known, center):
    """From a worker with a library of its own: REQUESTER names the plan."""
    rig = make_known()
    ident = added(rig, every(1, 2, no_keep=True))
    other = added(rig, every(1, 2, no_keep=True))
    jobs = {job.requester[1:].decode(): job for job in (center["Test"].job() for _ in range(2))}
    jobs[other].answer(0x01, [(FT.REQUESTER, jobs[other].requester)])
    rig.repet(other, 1, "Test")
    assert rig.message(ident, "Test")["real_repet"] == 0
    jobs[ident].answer(0x01, [(FT.REQUESTER, jobs[ident].requester + b"\0" * 100)])    # padded
    rig.repet(ident, 1, "Test")


def test_a_station_that_was_away_gets_a_run_once(make_known, center):
    rig = make_known()
    center["Test"].stop()
    wait_lost(rig, "Test")
    ident = added(rig, at_once())
    rig.state(ident, ST.SEND_ERROR, "Test")
    center["Test"].start()
    center["Test"].job().finish()
    rig.gone(ident, "Test")
    center["Test"].no_job(2)
    assert len(runs_seen(center)) == 1


def test_a_station_that_restarts_during_a_run(make_known, center):
    """The run may still be at work: another one only after its lease; the plan counts once."""
    rig = make_known("--exec-timeout", "4")
    results = rig.subscribe(b"at once")
    ident = added(rig, at_once())
    first = center["Test"].job()
    rig.state(ident, ST.RUNING, "Test")
    center["Test"].stop()
    wait_lost(rig, "Test")
    center["Test"].start()
    second = center["Test"].job()
    assert second.at - first.at >= 3 and second.global_id != first.global_id
    second.finish()
    result_of(results)
    rig.gone(ident, "Test")
    center["Test"].no_job(1)


def test_a_station_that_says_nothing(make_known, center):
    """As one of v1.5 that was stopped: tried again, and nobody else waits."""
    rig = make_known("--send-timeout", "500")
    center["Test"].silent = True
    ident = added(rig, at_once())
    rig.state(ident, ST.RECV_ERROR, "Test")
    other = added(rig, at_once(), "News", head=TITLE)
    rig.gone(other, "News")
    center["Test"].silent = False
    center["Test"].work = lambda job: job.finish()
    rig.gone(ident, "Test")


def test_a_pub_station(make_known, center):
    """OK is its result, and the publication goes out."""
    rig = make_known()
    news = CONTEXT.socket(zmq.SUB)
    news.linger = 0
    news.subscribe(b"weather")
    news.connect(f"tcp://127.0.0.1:{center['News'].port + 1}")
    results = rig.subscribe(b"every")
    ident = added(rig, every(1, 3, no_keep=True), "News", head=TITLE,
                  more=[(FT.CONTENT, b"rain")])
    for count in (1, 2, 3):
        plan = told(result_of(results))
        assert (plan["real_repet"], plan["last_state"]) == (count, ST.OK)
    rig.gone(ident, "News")
    assert news.poll(WAIT * 1000)
    published = news.recv_multipart()
    assert published[0] == b"weather" and b"rain" in published
    news.close()


def test_the_worker_s_library_refuses(make_known, center):
    """An empty COMMAND: a refusal that names no plan is the run's that waits for an answer."""
    rig = make_known()
    reply = rig.client.submit(at_once(), station="Test", head=[(FT.COMMAND, b"")])
    if reply.code == ST.PLAN:
        ident = reply.get(FT.GLOBAL_ID).decode()
        wait_until(lambda: center["Test"].wrong_jobs, "the refusal")
        rig.state(ident, ST.FAILED if center.flavour == "seed" else ST.FRAME_INVALID, "Test")
    else:
        assert reply.code == ST.PLANERROR       # never empty there, so it may be refused before


# -- the service key of v1.5


@pytest.fixture
def keyed(make_center):
    return make_center("v1.5", Test="api", News="pub")


def test_the_key_is_told_to_nobody(make_rig, keyed):
    """Not in the log, the store, the lists, or a broadcast, though the worker sends it back."""
    rig = make_rig("--station", keyed.target("Test"), "--station", keyed.target("News"),
                   "--log-level", "debug")
    results = rig.subscribe(b"every", b"at once")
    ident = added(rig, every(1, 100))
    keyed["Test"].job().finish()
    news = result_of(results)
    assert SERVICE_KEY not in news.types and KEY not in b"".join(news.frames)
    rig.gone(added(rig, at_once(), "News", head=TITLE), "News")
    assert KEY not in b"".join(result_of(results).frames)
    rig.repet(ident, 1, "Test")
    assert KEY not in rig.db.get(rig.key(ident, "Test"))
    assert KEY not in b"".join(rig.client.manage("message", ident).frames)
    assert "Test" in stations(rig)
    assert KEY.decode() not in rig.station.log_tail(1 << 20)


def test_a_wrong_key(make_rig, keyed):
    """DENY, without any ids: it is the run's that waits for its status."""
    rig = make_rig("--station", keyed.target("Test").replace(KEY.decode(), "other-word"))
    ident = added(rig, at_once())
    rig.state(ident, ST.DENY, "Test")
    assert "other-word" not in rig.station.log_tail(1 << 20)
    assert not keyed["Test"].wrong_jobs
    keyed["Test"].no_job(0)


@pytest.mark.parametrize("wrong", ["dialect=", "dialect=v1.5", "mailbox=", "mailbox=none", "key=",
                                   "key", "key=" + "k" * 256, "colour=red"])
def test_wrong_options_of_a_station(tmp_path, wrong):
    code, _, err = run_once(["--station", f"Test=api@tcp://127.0.0.1:1,{wrong}",
                             "--request", f"ipc://{tmp_path}/q", "--redis", "unix:/nowhere"])
    assert code in (1, 2) and "Test" in err and len(err.splitlines()) == 1
    assert "kkk" not in err
