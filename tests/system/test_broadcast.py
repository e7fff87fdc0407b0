"""Broadcasts on the result socket (proto 8.1): layout, seq and epoch, their JSON."""
import json
import time

import pytest

from zplantest import FT, PLAN_FIELDS, ST, at_once, describe, every, later, told


def finished(rig, status=ST.OK, pairs=(), station="news", **fields):
    """Submit a plan that runs at once, answer it; return its id."""
    ident = rig.client.added(at_once(**fields), station=station)
    target = rig.news if station == "news" else rig.jobs
    target.answer(target.recv(), status, pairs)
    return ident


def test_A104_A105_A106_layout(rig):
    """[title][desc][plan id][plan JSON][result frames...]"""
    results = rig.subscribe(b"every")
    ident = rig.client.added(every(1, 2, no_keep=True, description="every day"))
    run = rig.jobs.recv()
    frames = [(FT.JSON, b"{}"), (FT.BIN, b"\0\xff"), (FT.ARG, b""), (FT.LOCAL_ID, run.local_id)]
    rig.jobs.answer(run, ST.RUNING)
    rig.jobs.answer(run, ST.OK, frames)
    news = results.recv()
    assert news.before == [b"every day"]
    assert news.desc == describe(ST.OK, [FT.SUBTITLE, FT.CONTENT, *(t for t, _ in frames)])
    assert news.frames[0] == ident.encode()
    assert news.frames[2:] == [f for _, f in frames]
    plan = json.loads(news.frames[1])
    assert {"seq", "epoch"} <= set(plan) and type(plan["seq"]) is int
    for name, kind in PLAN_FIELDS.items():
        if name != "messages":
            assert isinstance(plan[name], (str, dict) if kind is str else kind), name
    assert plan["plan_id"] == int(ident, 16)
    assert (plan["last_state"], plan["real_repet"]) == (ST.OK, 1)
    # 3.4: it was written before it was broadcast.
    assert rig.message(ident)["real_repet"] == 1


@pytest.mark.parametrize("title", ["日报", "a b:c", "x" * 1024, "Ünïcode \U0001f600", ""])
def test_A017_A104_the_title_is_the_description(rig, title):
    results = rig.subscribe(title.encode())
    ident = finished(rig, description=title)
    news = results.recv()
    assert news.before == [title.encode()] and news.frames[0] == ident.encode()
    assert told(news)["description"] == title


def test_A017_only_the_subscribed_titles_come(rig):
    results = rig.subscribe("日报".encode())
    for title in ("日", "月报", "日报-2", "other", "日报"):
        finished(rig, description=title)
    assert [results.recv().before[0].decode() for _ in range(2)] == ["日报-2", "日报"]


def test_no_description_is_the_empty_title(rig):
    results = rig.subscribe(b"")
    rig.client.added({"plan_type": "none"}, station="news")
    rig.news.answer(rig.news.recv(), ST.OK)
    assert results.recv().before == [b""]


def test_A107_the_worker_s_content_follows_the_plan(rig):
    results = rig.subscribe(b"at once")
    finished(rig, ST.OK, [(FT.CONTENT, b"worker's"), (FT.CONTENT, b"another")])
    news = results.recv()
    assert news.types == bytes([FT.SUBTITLE, FT.CONTENT, FT.CONTENT, FT.CONTENT])
    contents = news.every(FT.CONTENT)
    assert "plan_id" in json.loads(contents[0]) and contents[1:] == [b"worker's", b"another"]


def test_result_without_frames(rig):
    results = rig.subscribe(b"at once")
    finished(rig)
    news = results.recv()
    assert news.desc == describe(ST.OK, [FT.SUBTITLE, FT.CONTENT])


def test_result_with_as_many_frames_as_a_description_takes(rig):
    """Such a result counts. Two frames more are no message, so its broadcast is not looked at."""
    ident = finished(rig, ST.OK, [(FT.ARG, b"%d" % n) for n in range(32)])
    rig.gone(ident, "news")
    results = rig.subscribe(b"at once")
    finished(rig)
    assert results.recv().code == ST.OK


def test_A103_seq_grows_by_one_and_the_epoch_stays(rig):
    """Over error results, over several plans, and over a restart of the station."""
    results = rig.subscribe(b"")
    for turn in range(6):
        finished(rig, ST.OK if turn % 2 else 0x20, description=f"turn {turn}")
    first = [told(results.recv_any()) for _ in range(6)]
    rig.restart()
    results = rig.subscribe(b"")        # its probes are broadcasts too
    finished(rig)
    after = told(results.recv())
    seqs = [plan["seq"] for plan in first]
    assert seqs == list(range(seqs[0], seqs[0] + 6))
    assert after["seq"] > seqs[-1] and after["seq"] <= seqs[-1] + 40
    assert {plan["epoch"] for plan in first} == {after["epoch"]}


def test_7_another_epoch_when_seq_starts_anew(rig):
    results = rig.subscribe(b"at once")
    finished(rig)
    old = told(results.recv())
    rig.db.flushall()
    finished(rig)
    new = told(results.recv())
    assert new["epoch"] != old["epoch"] or new["seq"] == old["seq"] + 1
    rig.station.stop()
    rig.db.flushall()
    rig.station.start()
    results = rig.subscribe(b"at once")
    finished(rig)
    newest = told(results.recv())
    assert newest["epoch"] != new["epoch"] or newest["seq"] > new["seq"]


def test_A103_one_broadcast_per_result_and_none_for_signs_of_life(rig):
    """RUNING and WAITING are not broadcast; OK and errors are, each once."""
    results = rig.subscribe(b"every")
    base = int(time.time()) - 50
    rig.client.added(every(1, 4, no_keep=True, plan_time=base))
    wanted = []
    for status in (ST.OK, ST.ERROR, ST.ERROR_FLAG, ST.OK, 0x20):
        run = rig.jobs.recv()
        rig.jobs.answer(run, ST.RUNING)
        rig.jobs.answer(run, ST.WAITING)
        rig.jobs.answer(run, ST.WAITING_TOO)
        rig.jobs.answer(run, status, [(FT.CONTENT, b"%d" % len(wanted))])
        wanted.append((status, b"%d" % len(wanted)))
    got = [results.recv() for _ in wanted]
    assert [(news.code, news.every(FT.CONTENT)[1]) for news in got] == wanted
    assert [told(news)["last_state"] for news in got] == [status for status, _ in wanted]
    assert [told(news)["real_repet"] for news in got] == [1, 1, 1, 2, 3]
    results.nothing(0.3)


def test_planerror_is_broadcast(rig):
    results = rig.subscribe(b"later")
    ident = rig.client.added(later())
    rig.edit(ident, messages=[])
    rig.due_now(ident)
    news = results.recv()
    assert news.code == ST.PLANERROR and news.frames[0] == ident.encode()
    assert news.types[:2] == bytes([FT.SUBTITLE, FT.CONTENT])
    assert told(news)["last_state"] == 139
    results.nothing(0.3)


def test_A101_the_last_result_is_told_with_its_plan(rig):
    """The keys are gone by then; the broadcast holds all a recorder needs."""
    results = rig.subscribe(b"at once")
    ident = finished(rig, ST.OK, [(FT.JSON, b'{"done": 1}')])
    news = results.recv()
    assert not rig.left(ident, "news")
    plan = told(news)
    assert (plan["real_repet"], plan["last_state"], plan["station"]) == (1, ST.OK, "news")
    assert news.get(FT.JSON) == b'{"done": 1}'
