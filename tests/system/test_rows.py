"""Rows of the plan document that no other file names: what is kept, passed on and told."""
import time

import pytest

from zplantest import CMD, FT, ST, at_once, every, later, pack, plan_frames, told


def test_A014_request_id_everywhere(rig):
    """The reply, the message, the dispatch and the broadcast carry it, whatever its bytes."""
    request_id = b"r\0\xff" + "日".encode()
    results = rig.subscribe(b"at once")
    reply = rig.client.ask(CMD.PLAN, plan_frames(at_once(), more=[(FT.REQUEST_ID, request_id)]))
    assert reply.code == ST.PLAN and reply.get(FT.REQUEST_ID) == request_id
    run = rig.jobs.recv()
    assert run.get(FT.REQUEST_ID) == request_id
    rig.jobs.finish(run)
    stored = run.plan["request_id"]
    assert set(stored) == {"b64"} and told(results.recv())["request_id"] == stored


@pytest.mark.parametrize("field", ["no_keep", "no_skip"])
def test_A021_no_keep_defaults_to_false(shared, field):
    assert shared.message(shared.client.added(later()))["no_keep"] is False
    assert shared.message(shared.client.added(later(**{field: True})))["no_keep"] is True


@pytest.mark.parametrize("timeout_ms", [200, 1500])
def test_A087_the_send_timeout_is_a_setting(make_rig, timeout_ms):
    """A target that gives no status has failed after this, not before."""
    rig = make_rig("--send-timeout", str(timeout_ms))
    ident = rig.client.added(at_once())
    run = rig.jobs.recv()
    rig.state(ident, ST.RECV_ERROR)
    assert time.time() - run.claimed >= timeout_ms / 1000


def test_A096_A099_the_state_of_the_answer_is_kept(rig):
    ident = rig.client.added(every(3600, 2, no_keep=True, plan_time=int(time.time()) - 3700))
    run = rig.jobs.recv()
    rig.jobs.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING)
    rig.jobs.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id)])
    rig.state(ident, ST.OK)
    assert rig.message(ident)["real_repet"] == 1


def test_A108_who_listens_sees_every_result(rig):
    """A recorder that subscribes to everything: each run, its plan and its outcome."""
    results = rig.subscribe(b"at once", b"every")
    idents = [rig.client.added(at_once()), rig.client.added(every(1, 2))]
    for _ in range(3):
        rig.jobs.finish(rig.jobs.recv(), pairs=[(FT.CONTENT, b"done")])
    seen = [results.recv() for _ in range(3)]
    assert sorted(news.get(FT.SUBTITLE).decode() for news in seen) == sorted([*idents, idents[1]])
    assert all(news.every(FT.CONTENT)[1] == b"done" and news.code == ST.OK for news in seen)


def test_A110_a_refusal_names_the_rule(shared):
    reply = shared.client.submit(every(40000, 3))
    assert reply.code == ST.PLANERROR
    assert reply.text == "-plan error: plan_value: want 0..32766, got 40000"


def test_A112_the_requester_of_a_run_is_the_plan(rig):
    """A worker gets *id as the first frame and gives it back; another plan's is not this one's."""
    first, second = (rig.client.added(at_once(), gid=gid) for gid in ("a1", "b2"))
    runs = {run.mailbox: run for run in (rig.jobs.recv(), rig.jobs.recv())}
    assert set(runs) == {b"*a1", b"*b2"}
    for run in runs.values():
        rig.jobs.answer(run, ST.RUNING)
    rig.state(second, ST.RUNING)
    run = runs[b"*a1"]
    rig.jobs.socket.send_multipart([run.before[0], b"*c3", bytes([0, ST.OK, 0])])
    rig.jobs.answer(run, ST.OK)
    rig.gone(first)
    assert rig.message(second)["last_state"] == ST.RUNING


def test_A113_a_pub_target_needs_no_requester(rig):
    """OK on the connection ends the run; nothing else is asked of a pub station."""
    ident = rig.client.added(at_once(), station="news")
    run = rig.news.recv()
    assert run.get(FT.PUB_TITLE) == b"title" and FT.REQUESTER not in run.types
    rig.news.answer(run, ST.OK)
    rig.gone(ident)


def test_a_target_that_sends_no_name_back_answers_in_order(rig):
    """Proto 7.3: the first message on the connection after a dispatch is its status."""
    def bare(run, status, pairs=()):
        rig.jobs.socket.send_multipart([run.before[0], *pack(status, pairs)])

    first, second = rig.client.added(at_once(), gid="a1"), rig.client.added(at_once(), gid="b2")
    runs = [rig.jobs.recv(), rig.jobs.recv()]
    bare(runs[0], ST.RUNING)
    rig.state(runs[0].mailbox[1:].decode(), ST.RUNING)
    bare(runs[1], ST.FAILED, [(FT.CONTENT, b"disk")])
    rig.state(runs[1].mailbox[1:].decode(), ST.FAILED)
    bare(runs[0], ST.OK)
    left = {"*a1": second, "*b2": first}[runs[0].mailbox.decode()]
    rig.gone(first if left == second else second)
    assert rig.message(left)["plan_state"] == 6
