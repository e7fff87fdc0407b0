"""Targets that are down, leave, do not read or do not resolve: nobody else is the worse for it."""
import os
import time

from zplanprocs import wait_until
from zplantest import CMD, FT, ST, FakeTarget, at_once, every, later, plan_frames

MANY = 600      # more runs than one target may leave unanswered


def descriptors(rig):
    return len(os.listdir(f"/proc/{rig.station.pid}/fd"))


def test_A086_a_target_that_is_down_uses_up_nothing(make_rig):
    """Each try to connect makes a socket and a monitor anew; both must really go."""
    rig = make_rig("--station", "away=api@ipc:///nowhere/at-all", "--log-level", "debug")
    rig.state(rig.client.added(at_once(), station="away"), ST.SEND_ERROR, "away")
    before = descriptors(rig)
    failures = rig.message(rig.client.added(at_once(), station="away"), "away")
    assert failures is not None
    end = time.monotonic() + 6          # several tries a second: it would be 18 and more
    while time.monotonic() < end:
        rig.client.ping()
        assert descriptors(rig) <= before + 8
        time.sleep(0.2)


def test_A084_what_a_target_said_before_it_left_counts(rig):
    for _ in range(10):
        ident = rig.client.added(at_once())
        run = rig.jobs.recv()
        rig.jobs.socket.linger = 5000
        rig.jobs.finish(run)
        rig.jobs.close()
        rig.gone(ident)
        rig.jobs.open()


def test_A075_a_target_that_does_not_read_delays_nobody(rig):
    """Its plans are overdue and come first by time; the other target's run in their second."""
    due = int(time.time()) + 4
    for _ in range(MANY):
        rig.client.send(CMD.PLAN, plan_frames(later(0, plan_time=due, no_keep=True)))
    for _ in range(MANY):
        assert rig.client.recv().code == ST.PLAN
    other = rig.client.added(every(1, 8, plan_time=due), station="news")
    for _ in range(8):
        run = rig.news.recv()
        assert time.time() - run.plan_time < 3
        rig.news.answer(run, ST.OK)
    rig.gone(other, "news")
    assert rig.db.zcard("plan:time:set") == MANY


def test_rule_5_a_run_that_was_not_sent_hides_no_late_one(make_rig):
    """Run 1 ran out of its lease, run 2 could not be sent: run 1's answer is not run 3's."""
    rig = make_rig("--exec-timeout", "2")
    ident = rig.client.added(every(1, 100, plan_time=int(time.time()) + 1))
    first = rig.jobs.recv()
    rig.jobs.answer(first, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.jobs.close()
    rig.state(ident, ST.SEND_ERROR)
    rig.jobs.open()
    third = rig.jobs.recv()
    rig.jobs.answer(third, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.client.result(ident, ST.OK, [(FT.CONTENT, b"of run 1")])
    rig.settle()
    assert rig.message(ident)["real_repet"] == 0
    rig.jobs.answer(third, ST.OK)
    rig.repet(ident, 1)


def test_an_answer_with_status_00_is_an_error_that_names_it(make_rig):
    """As a result, also on the request socket, the run has failed; as a status it parks the plan."""
    rig = make_rig()
    words = "status 00 is neither a result nor a heartbeat in dialect zeronet"
    ident = rig.client.added(at_once())
    for told in ("", ": disk full"):
        run = rig.jobs.recv()
        rig.jobs.answer(run, ST.RUNING)
        more = [(FT.STATUS, told[2:].encode())] if told else []
        if told:
            rig.client.result(ident, 0, [(FT.LOCAL_ID, run.local_id), *more])
        else:
            rig.jobs.answer(run, 0)
        plan = wait_until(lambda: (plan := rig.message(ident)).get("error_info") == words + told
                          and plan, words + told)
        assert plan["last_state"] == ST.ERROR
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    ident = rig.client.added(at_once())
    rig.jobs.answer(rig.jobs.recv(), 0)
    plan = rig.state(ident, ST.ERROR)
    assert (plan["plan_state"], plan["error_info"]) == (6, words)


def test_signs_of_life_while_redis_is_away_do_not_grow_the_station(make_rig):
    """And a submission is refused at once meanwhile, not left hanging."""
    rig = make_rig()
    ident = rig.client.added(at_once(), more=[(FT.ARG, b"x" * 100000)])
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.redis.kill()
    wait_until(lambda: rig.client.submit(later()).code == ST.NET_ERROR, "Redis is away")
    before = rig.station.rss_mib()
    for _ in range(2000):
        rig.jobs.answer(run, ST.WAITING)
    assert rig.client.submit(later()).code == ST.NET_ERROR
    rig.client.ping()
    assert rig.station.rss_mib() - before < 32
    rig.redis.start()
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.gone(ident)


def test_large_submissions_are_taken_one_after_the_other(rig):
    big = [(FT.ARG, b"\x01" * (1 << 20))]           # six times as large as JSON
    clients = [rig.dealer() for _ in range(36)]
    before = rig.station.rss_mib()
    for client in clients:
        client.send(CMD.PLAN, plan_frames(later(), more=big))
    for client in clients:
        assert client.recv().code == ST.PLAN
    assert rig.station.rss_mib() - before < 150
    rig.client.ping()


def test_a_station_is_overridden_by_the_command_line(make_rig):
    """The same name again: the last one counts."""
    rig = make_rig(start=False)
    moved = rig.keep(FakeTarget(rig.ipc("m")))
    rig.station.args += ["--station", "jobs=api@" + moved.endpoint]
    rig.start()
    ident = rig.client.added(at_once())
    moved.finish(moved.recv())
    rig.gone(ident)
    rig.jobs.nothing(0)


def test_a_stop_while_redis_is_away_lets_go_of_everything(make_rig):
    """What waits for Redis is not waited for longer than a stop may take; sanitizers see the rest."""
    rig = make_rig()
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.redis.kill()
    wait_until(lambda: rig.client.submit(later()).code == ST.NET_ERROR, "Redis is away")
    rig.jobs.answer(run, ST.OK)
    rig.client.result("77", ST.OK)
    rig.client.ping()
    rig.station.stop()


def test_a_large_plan_is_followed_to_its_end(make_rig):
    """It is not kept in memory while its target works; a result without LOCAL_ID still finds it."""
    rig = make_rig("--exec-timeout", "2")
    ident = rig.client.added(at_once(), more=[(FT.ARG, b"x" * 200000)])
    rig.jobs.answer(rig.jobs.recv(), ST.RUNING)
    again = rig.jobs.recv()
    rig.jobs.answer(again, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.jobs.answer(again, ST.WAITING)
    rig.jobs.answer(again, ST.OK)
    rig.gone(ident)
