"""Plans of vote stations (rows A036, A092, M-11): rules, deadlines, what is stored and told.

First a vote station played by the test, then a real zstationd with voters of both kinds.
"""
import json
import time

import pytest

import zstationtest
from zplantest import (CLOSE, EXECUTE, FT, PAUSE, QUEUE, RETRY, ST, FakeTarget, at_once, describe,
                       every, later, told, wait_until)

NAMES = ["ann", "bob", "cid"]


def with_board(make_rig, *args, endpoint=None):
    """A rig with the vote station `board`, played by the test unless it is somewhere else."""
    rig = make_rig("--send-timeout", "20000", *args, start=False)   # a slow machine is no failure
    rig.board = None if endpoint else rig.keep(FakeTarget(rig.ipc("b")))
    rig.station.args += ["--station", "board=vote@" + (endpoint or rig.ipc("b"))]
    return rig.start()


@pytest.fixture
def rig(make_rig):
    return with_board(make_rig)


@pytest.fixture
def short(make_rig):
    return with_board(make_rig, "--exec-timeout", "2")


def catching_up(repet=3, **fields):
    """Each occurrence runs at once, one after the other."""
    return every(1, repet, no_keep=True, plan_time=int(time.time()) - 1000, **fields)


def rule(rule=None, **fields):
    return {"vote": {**({} if rule is None else {"rule": rule}), **fields}}


def stored(rig, ident):
    """plan:work as it stands there: voter -> JSON array."""
    found = rig.db.hgetall(rig.key(ident, "board", "work"))
    return {name.decode(): json.loads(text) for name, text in found.items()}


def start(rig, run, names=None, ident=None):
    """VOTE_START, and wait until the voters stand in plan:work."""
    names = NAMES if names is None else names
    rig.board.answer(run, ST.VOTE_START, [(FT.JSON, json.dumps(names).encode()),
                                          (FT.LOCAL_ID, run.local_id)])
    ident = run.mailbox[1:].decode()
    wait_until(lambda: stored(rig, ident) == {name: [] for name in names}, "the voters")


def opened(rig, plan=None, names=None):
    """A plan whose vote has begun. (id, run)"""
    ident = rig.client.added(plan or catching_up(), station="board")
    run = rig.board.recv()
    start(rig, run, names)
    return ident, run


def vote(rig, run, name, status=ST.OK, pairs=()):
    """As zstationd sends it: the voter's frames, the run's number, the voter's name."""
    rig.board.answer(run, status, [*pairs, (FT.LOCAL_ID, run.local_id),
                                   (FT.RESPONSER, name.encode())])


def voted(rig, run, name, status=ST.OK, pairs=()):
    """A vote that does not end the run: it is stored, and nothing else has come of it."""
    ident = run.mailbox[1:].decode()
    vote(rig, run, name, status, pairs)
    wait_until(lambda: stored(rig, ident).get(name), f"the vote of {name}")
    message = rig.message(ident, "board")
    assert (message["plan_state"], message["last_state"]) == (EXECUTE, ST.RUNING)
    assert (message["exec_id"], message["real_repet"]) == (run.exec_id, run.plan["real_repet"])


def end(rig, run):
    rig.board.answer(run, ST.VOTE_END, [(FT.LOCAL_ID, run.local_id)])


def votes_of(news):
    """The one JSON frame of a vote's broadcast."""
    assert news.types == bytes([FT.SUBTITLE, FT.CONTENT, FT.JSON])
    assert set(news.json) == {"votes"}
    return news.json["votes"]


# plan:work.


def test_A036_the_voters_are_registered_when_the_vote_starts(rig):
    """Nothing while only RUNING was said; at VOTE_START [] for each; then the frames of each vote."""
    ident = rig.client.added(catching_up(), station="board")
    run = rig.board.recv()
    rig.board.answer(run, ST.RUNING)
    assert rig.state(ident, ST.RUNING, "board")["plan_state"] == EXECUTE
    assert stored(rig, ident) == {}
    start(rig, run, ["ann", "bob", "日"])
    frames = [(FT.CONTENT, "ja, 日".encode()), (FT.BIN, b"\0\xff")]
    voted(rig, run, "日", ST.OK, frames)
    types = [FT.CONTENT, FT.BIN, FT.LOCAL_ID, FT.RESPONSER]
    assert rig.work(ident, "board") == {
        "ann": [], "bob": [], "日": [describe(ST.OK, types), *(f for _, f in frames),
                                    run.local_id, "日".encode()]}
    vote(rig, run, "ann", ST.ERROR, [(FT.STATUS, b"-error: no")])
    rig.state(ident, ST.FAILED, "board")
    work = rig.work(ident, "board")
    assert work["ann"][:2] == [describe(ST.ERROR, [FT.STATUS, FT.LOCAL_ID, FT.RESPONSER]),
                               b"-error: no"]
    assert work["bob"] == [] and len(work["日"]) == 5


def test_A092_the_results_of_all_participants(rig):
    """What the broadcast says is what stands in plan:work: frames as there, [] of one who is silent."""
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(**rule("majority")))
    voted(rig, run, "cid", ST.OK, [(FT.BIN, b"\0\xff")])
    vote(rig, run, "ann", ST.OK, [(FT.CONTENT, b"yes")])
    news = results.recv()
    assert news.code == ST.OK and news.frames[0] == ident.encode()
    plan = told(news)
    assert (plan["real_repet"], plan["plan_state"], plan["last_state"]) == (1, QUEUE, ST.OK)
    assert plan["vote"]["rule"] == "majority"
    votes = votes_of(news)
    assert votes["bob"] == [] and votes["ann"][1] == "yes" and votes["cid"][1] == {"b64": "AP8="}
    assert rig.repet(ident, 1, "board")["plan_time"] == run.plan_time + 1
    assert stored(rig, ident) == votes


def test_result_has_the_answer_of_each_voter(rig):
    ident, run = opened(rig)
    assert rig.client.done("result", ident).json == {"plan_id": int(ident, 16), "results": []}
    vote(rig, run, "ann", pairs=[(FT.CONTENT, b"yes")])
    wait_until(lambda: stored(rig, ident)["ann"], "her vote")
    result, = rig.client.done("result", ident).json["results"]
    assert result["worker"] == "ann" and "yes" in result["frames"]


def test_A036_each_run_begins_with_an_empty_work(rig):
    ident, run = opened(rig, catching_up(**rule("any")), ["ann", "bob"])
    vote(rig, run, "ann")
    second = rig.board.recv()
    assert second.plan["real_repet"] == 1 and second.plan_time == run.plan_time + 1
    start(rig, second, ["bob", "eve"])
    vote(rig, second, "eve")
    third = rig.board.recv()
    assert third.plan["real_repet"] == 2
    start(rig, third, ["bob"])
    vote(rig, third, "bob")
    rig.gone(ident, "board")
    assert third.exec_id > second.exec_id > run.exec_id


# Rules.


def cases():
    """(rule, votes, whether it ends well with the last of them); V for, x against."""
    for given in (None, "all", 3):
        yield from ((given, "VVV", True), (given, "x", False), (given, "Vx", False),
                    (given, "VVx", False))
    for given in ("majority", 2):
        yield from ((given, "VV", True), (given, "VxV", True), (given, "xVV", True),
                    (given, "xx", False), (given, "Vxx", False), (given, "xVx", False))
    for given in ("any", 1):
        yield from ((given, "V", True), (given, "xV", True), (given, "xxV", True),
                    (given, "xxx", False))


@pytest.mark.parametrize("given, votes, well", cases())
def test_A092_rules(rig, given, votes, well):
    """It ends as soon as enough are in favour, or as enough cannot be any more; and only once."""
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(2, **(rule(given) if given else {})))
    for name, said in zip(NAMES, votes[:-1]):
        voted(rig, run, name, ST.OK if said == "V" else ST.FAILED)
    before = time.time()
    vote(rig, run, NAMES[len(votes) - 1], ST.OK if votes[-1] == "V" else ST.FAILED)
    news = results.recv()
    assert news.code == (ST.OK if well else ST.FAILED)
    assert [name for name, frames in votes_of(news).items() if frames] == NAMES[:len(votes)]
    # What others say afterwards, and the end, are of a run that has ended.
    for name in NAMES[len(votes):]:
        vote(rig, run, name, ST.FAILED if well else ST.OK)
    end(rig, run)
    second = rig.board.recv()
    assert (second.plan_time, second.plan["real_repet"]) == (run.plan_time + well, int(well))
    if not well:
        assert second.claimed >= before + 1     # as every error result it is paced
    start(rig, second)
    for name in NAMES:
        vote(rig, second, name)
    assert results.recv().code == ST.OK
    results.nothing(0)


@pytest.mark.parametrize("given, names, votes, well", [
    ("majority", 1, "V", True), ("majority", 2, "Vx", False), ("majority", 4, "VVV", True),
    ("majority", 4, "VxVx", False), ("majority", 5, "xxVVV", True), ("all", 1, "V", True),
    (3, 5, "xVxVV", True), (3, 5, "xVxx", False), ("any", 1, "x", False)])
def test_rules_by_the_number_of_voters(rig, given, names, votes, well):
    names = [f"v{n}" for n in range(names)]
    ident, run = opened(rig, at_once(**rule(given)), names)
    for name, said in zip(names, votes[:-1]):
        voted(rig, run, name, ST.OK if said == "V" else ST.FAILED)
    vote(rig, run, names[len(votes) - 1], ST.OK if votes[-1] == "V" else ST.FAILED)
    if well:
        rig.gone(ident, "board")
    else:
        assert rig.state(ident, ST.FAILED, "board")["plan_state"] == RETRY


def test_more_than_there_are_voters(rig):
    """Enough cannot be in favour: it has failed when the voters are known."""
    results = rig.subscribe(b"at once")
    rig.client.added(at_once(**rule(4)), station="board")
    run = rig.board.recv()
    rig.board.answer(run, ST.VOTE_START, [(FT.JSON, json.dumps(NAMES).encode())])
    news = results.recv()
    assert news.code == ST.FAILED and votes_of(news) == {name: [] for name in NAMES}


def test_votes_of_an_earlier_run_are_not_told_again(rig):
    """A vote that is over when it starts: nobody has voted in it."""
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(**rule(3)))
    for name in NAMES:
        vote(rig, run, name)
    assert results.recv().code == ST.OK
    rig.board.answer(rig.board.recv(), ST.VOTE_START, [(FT.JSON, b'["ann", "bob"]')])
    news = results.recv()
    assert news.code == ST.FAILED and votes_of(news) == {"ann": [], "bob": []}
    assert stored(rig, ident) == {"ann": [], "bob": []}


@pytest.mark.parametrize("given", [None, "any", 1])
def test_a_vote_of_nobody(rig, given):
    results = rig.subscribe(b"at once")
    ident = rig.client.added(at_once(**(rule(given) if given else {})), station="board")
    run = rig.board.recv()
    rig.board.answer(run, ST.VOTE_START, [(FT.JSON, b"[]")])
    end(rig, run)
    assert results.recv().code == ST.FAILED
    assert rig.message(ident, "board")["real_repet"] == 0


@pytest.mark.parametrize("status, well", [(ST.OK, True), (0x04, True), (0x7F, True),
                                          (ST.ERROR_FLAG, False), (ST.FAILED, False),
                                          (0xFF, False)])
def test_what_is_for_and_what_is_against(rig, status, well):
    ident, run = opened(rig, at_once(**rule("any")), ["ann"])
    vote(rig, run, "ann", status)
    if well:
        rig.gone(ident, "board")
    else:
        rig.state(ident, ST.FAILED, "board")


def test_the_end_before_enough(rig):
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(**rule("majority")))
    voted(rig, run, "ann")
    end(rig, run)
    news = results.recv()
    assert news.code == ST.FAILED
    assert [bool(frames) for frames in votes_of(news).values()] == [True, False, False]
    assert rig.message(ident, "board")["real_repet"] == 0
    assert rig.board.recv().plan_time == run.plan_time


def test_a_voter_that_leaves_is_against(rig):
    """VOTE_BYE."""
    ident, run = opened(rig, at_once(**rule("majority")))
    voted(rig, run, "ann", ST.VOTE_BYE)
    voted(rig, run, "bob")
    vote(rig, run, "cid", ST.VOTE_BYE)
    assert rig.state(ident, ST.FAILED, "board")["real_repet"] == 0


def test_a_second_vote_takes_the_place_of_the_first(rig):
    ident, run = opened(rig, at_once(**rule(2)))
    for text in (b"one", b"two"):
        vote(rig, run, "ann", ST.OK, [(FT.CONTENT, text)])
    wait_until(lambda: stored(rig, ident)["ann"][1:2] == ["two"], "the second")
    voted(rig, run, "bob", ST.FAILED)
    vote(rig, run, "cid")
    rig.gone(ident, "board")


# A voter that is silent, deadlines, signs of life.


@pytest.mark.parametrize("votes", ["VV", ""])
def test_A092_a_silent_voter_and_a_deadline(rig, votes):
    """Two of three results are stored; the run ends with TIMEOUT at the deadline."""
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(**rule("all", deadline=6)))
    for name in NAMES[:len(votes)]:
        voted(rig, run, name)
    news = results.recv()
    assert news.code == ST.TIMEOUT
    assert run.claimed + 6 - 0.01 <= news.at
    assert [name for name, frames in votes_of(news).items() if frames] == NAMES[:len(votes)]
    message = rig.message(ident, "board")
    assert (message["last_state"], message["real_repet"]) == (ST.TIMEOUT, 0)
    assert {name for name, frames in stored(rig, ident).items() if frames} == set(NAMES[:len(votes)])
    again = rig.board.recv()        # paced
    assert again.plan_time == run.plan_time and again.claimed >= run.claimed + 7 - 0.01
    start(rig, again)
    for name in NAMES:
        vote(rig, again, name)
    rig.repet(ident, 1, "board")


def test_A092_a_silent_voter_that_is_not_needed(rig):
    """Long before the deadline."""
    ident, run = opened(rig, catching_up(**rule("majority", deadline=3600)))
    voted(rig, run, "ann")
    vote(rig, run, "bob")
    rig.repet(ident, 1, "board")
    assert [name for name, frames in stored(rig, ident).items() if not frames] == ["cid"]


def test_signs_of_life_do_not_move_the_deadline(rig):
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(**rule("all", deadline=2)))
    end_at = time.monotonic() + 30
    while not results.socket.poll(200):
        assert time.monotonic() < end_at
        vote(rig, run, "ann", ST.WAITING)
    assert results.recv().code == ST.TIMEOUT


def test_a_deadline_when_the_vote_never_starts(rig):
    """The target has taken the run, and then nothing."""
    results = rig.subscribe(b"every")
    rig.client.added(catching_up(**rule("all", deadline=1)), station="board")
    run = rig.board.recv()
    rig.board.answer(run, ST.RUNING)
    news = results.recv()
    assert news.code == ST.TIMEOUT and news.at >= run.claimed + 1


def test_a_deadline_of_a_large_plan(rig):
    """One whose message the station does not keep in memory while the run is out."""
    results = rig.subscribe(b"every")
    plan = catching_up(**rule("all", deadline=2))
    ident = rig.client.added(plan, station="board", more=[(FT.BIN, b"\xff" * 200000)])
    run = rig.board.recv()
    start(rig, run)
    vote(rig, run, "ann")
    news = results.recv()
    assert news.code == ST.TIMEOUT and news.at >= run.claimed + 2 - 0.01
    assert [name for name, frames in votes_of(news).items() if frames] == ["ann"]
    assert rig.message(ident, "board")["real_repet"] == 0


def test_A115_signs_of_life_keep_the_lease(make_rig):
    """They are no votes, whoever sends them."""
    rig = with_board(make_rig, "--exec-timeout", "5")
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(**rule("any")))
    for turn in range(18):
        rig.board.nothing(0.4)
        status = (ST.RUNING, ST.WAITING, ST.VOTE_SENDED)[turn % 3]
        if turn % 2:
            vote(rig, run, "ann", status)
        else:
            rig.board.answer(run, status, [(FT.LOCAL_ID, run.local_id)])
    assert stored(rig, ident) == {name: [] for name in NAMES}
    vote(rig, run, "bob")
    assert told(results.recv())["real_repet"] == 1


def test_a_vote_is_a_sign_of_life(make_rig):
    rig = with_board(make_rig, "--exec-timeout", "4")
    names = [f"v{n}" for n in range(5)]
    ident, run = opened(rig, at_once(), names)
    for name in names[:-1]:
        rig.board.nothing(1.3)
        voted(rig, run, name)
    vote(rig, run, names[-1])
    rig.gone(ident, "board")


def test_A077_a_vote_whose_lease_ends_is_held_again(short):
    """Votes of the first run do not count for the second."""
    ident, run = opened(short, catching_up(**rule("majority")))
    voted(short, run, "ann")
    second = short.board.recv()
    assert second.plan_time == run.plan_time and second.claimed >= run.claimed + 2
    start(short, second)
    vote(short, run, "bob")
    vote(short, run, "cid")
    voted(short, second, "cid", ST.FAILED)
    assert {name for name, frames in stored(short, ident).items() if frames} == {"cid"}
    voted(short, second, "bob")
    vote(short, second, "ann")
    short.repet(ident, 1, "board")


# The target's first answer.


def test_A088_a_vote_station_without_workers(rig):
    """NOT_WORKER before a vote has begun: paced, the plan stays queued."""
    results = rig.subscribe(b"every")
    ident = rig.client.added(catching_up(1), station="board")
    run = rig.board.recv()
    refused = time.time()
    rig.board.answer(run, ST.NOT_WORKER, [(FT.LOCAL_ID, run.local_id)])
    assert results.recv().code == ST.NOT_WORKER
    again = rig.board.recv()
    assert again.claimed >= refused + 1
    start(rig, again)
    for name in NAMES:
        vote(rig, again, name)
    rig.gone(ident, "board")


def test_A091_a_vote_station_that_refuses(rig):
    ident = rig.client.added(catching_up(), station="board")
    rig.board.answer(rig.board.recv(), ST.NOT_SUPPORT, [(FT.STATUS, b"-no support")])
    rig.state(ident, ST.NOT_SUPPORT, "board")
    wait_until(lambda: rig.score(ident, "board") is None, "parked")


def test_votes_by_the_request_socket(rig):
    """Where a target sends what follows when its connection was lost."""
    ident, run = opened(rig, catching_up(**rule("majority")))
    for name in ("ann", "bob"):
        rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id),
                                         (FT.RESPONSER, name.encode())])
    rig.repet(ident, 1, "board")
    assert [bool(frames) for frames in stored(rig, ident).values()] == [True, True, False]


# Votes that are too many, too large, of nobody.


def still_open(rig, ident, run):
    """What was sent before on these connections has ended nothing."""
    rig.board.answer(run, ST.WAITING, [(FT.LOCAL_ID, run.local_id)])
    other = rig.client.added(at_once(), station="board")
    probe = rig.board.recv()
    assert probe.mailbox == b"*" + other.encode(), "a second dispatch"
    rig.board.answer(probe, ST.NOT_SUPPORT)
    rig.state(other, ST.NOT_SUPPORT, "board")
    message = rig.message(ident, "board")
    assert (message["plan_state"], message["real_repet"]) == (EXECUTE, 0), message


@pytest.mark.parametrize("name", [b"", b"x" * 65, b"x" * 4000, b"\xff\xfe", b"a\0b"])
def test_a_vote_of_a_name_that_is_none(rig, name):
    """It is no vote, and it is no result either: nobody decides alone."""
    ident, run = opened(rig, catching_up(**rule("all")))
    rig.board.answer(run, ST.OK, [(FT.LOCAL_ID, run.local_id), (FT.RESPONSER, name)])
    still_open(rig, ident, run)
    for one in NAMES:
        vote(rig, run, one)
    rig.repet(ident, 1, "board")


def test_200_voters(rig):
    names = [f"voter {n:03}" for n in range(200)]
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(), names)
    for name in names:
        vote(rig, run, name, ST.OK, [(FT.CONTENT, name.encode())])
    votes = votes_of(results.recv())
    assert {name: frames[1] for name, frames in votes.items()} == {name: name for name in names}
    assert rig.repet(ident, 1, "board")


def test_more_voters_than_there_can_be(rig):
    """Whatever becomes of such a run, a few of its voters do not make it a success."""
    names = [f"voter {n:04}" for n in range(1000)]
    ident = rig.client.added(catching_up(), station="board")
    run = rig.board.recv()
    rig.board.answer(run, ST.VOTE_START, [(FT.JSON, json.dumps(names).encode())])
    for name in names[-20:]:
        vote(rig, run, name)
    other = rig.client.added(at_once(), station="board")
    while (probe := rig.board.recv()).mailbox != b"*" + other.encode():
        pass
    rig.board.answer(probe, ST.NOT_SUPPORT)
    rig.state(other, ST.NOT_SUPPORT, "board")
    assert rig.message(ident, "board")["real_repet"] == 0


def test_votes_that_are_too_large_together(rig):
    """There is a bound; a vote beyond it does not end the run well in the name of the silent."""
    names = [f"v{n:02}" for n in range(12)]
    ident, run = opened(rig, catching_up(**rule("all", deadline=3600)), names)
    big = [(FT.BIN, b"x" * 1000000)]
    for name in names[:-2]:
        vote(rig, run, name, ST.OK, big)
    still_open(rig, ident, run)
    assert all(rig.work(ident, "board")[name] == [] for name in names[-2:])


def test_votes_before_the_start(rig):
    """They cannot end it well: who may vote is not known yet."""
    ident = rig.client.added(catching_up(**rule("all")), station="board")
    run = rig.board.recv()
    rig.board.answer(run, ST.RUNING)
    rig.state(ident, ST.RUNING, "board")
    vote(rig, run, "ann")
    still_open(rig, ident, run)
    start(rig, run)
    for name in NAMES:
        vote(rig, run, name)
    rig.repet(ident, 1, "board")


@pytest.mark.parametrize("frame", [b"", b"{", b"5", b"{}", b"[1, 2]", b"[null]", b"\xff"])
def test_a_list_of_voters_that_is_none(rig, frame):
    ident = rig.client.added(catching_up(**rule("all")), station="board")
    run = rig.board.recv()
    rig.board.answer(run, ST.VOTE_START, [(FT.JSON, frame)])
    end(rig, run)
    message = rig.state(ident, ST.FAILED, "board")
    assert message["real_repet"] == 0


# While a vote is held.


@pytest.mark.parametrize("well", [True, False])
@pytest.mark.parametrize("word, state", [("pause", PAUSE), ("close", CLOSE)])
def test_management_while_a_vote_is_held(rig, word, state, well):
    """The vote goes on and counts; the plan stays as it was put."""
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(**rule("majority")))
    vote(rig, run, "ann")
    rig.client.done(word, ident)
    vote(rig, run, "bob", ST.OK if well else ST.FAILED)
    vote(rig, run, "cid", ST.OK if well else ST.FAILED)
    news = results.recv()
    assert news.code == (ST.OK if well else ST.FAILED)
    message = rig.message(ident, "board")
    assert (message["plan_state"], message["real_repet"]) == (state, int(well))
    assert rig.score(ident, "board") is None


def test_pause_and_reset_while_a_vote_is_held(rig):
    ident, run = opened(rig, catching_up(**rule("all")))
    voted(rig, run, "ann")
    rig.client.done("pause", ident)
    rig.client.done("reset", ident)
    voted(rig, run, "bob")
    vote(rig, run, "cid")
    rig.repet(ident, 1, "board")
    second = rig.board.recv()
    assert (second.plan_time, second.plan["real_repet"]) == (run.plan_time + 1, 1)


def test_A095_remove_while_a_vote_is_held(rig):
    ident, run = opened(rig)
    voted(rig, run, "ann")
    rig.client.done("remove", ident)
    vote(rig, run, "bob")
    end(rig, run)
    other, probe = opened(rig)
    assert not rig.left(ident, "board")


def test_run_besides_the_schedule_is_a_vote_too(rig):
    results = rig.subscribe(b"every")
    ident = rig.client.added(every(1000, 5, **rule("any")), station="board")
    rig.client.done("run", ident)
    run = rig.board.recv()
    start(rig, run)
    vote(rig, run, "bob")
    news = results.recv()
    assert news.code == ST.OK and votes_of(news)["bob"]
    assert (told(news)["real_repet"], told(news)["plan_state"]) == (0, QUEUE)


def after_restart(rig, ident, run, name, status=ST.OK):
    """A vote that comes where a target sends it when its connection is gone."""
    rig.client.result(ident, status, [(FT.LOCAL_ID, run.local_id), (FT.RESPONSER, name.encode())])


def test_a_restart_while_a_vote_is_held(rig):
    """What was voted stands in Redis and counts."""
    results_end = rule("majority")
    ident, run = opened(rig, catching_up(**results_end), ["a", "b", "c", "d", "e"])
    voted(rig, run, "a")
    voted(rig, run, "b", ST.FAILED)
    rig.restart()
    after_restart(rig, ident, run, "c")
    wait_until(lambda: stored(rig, ident)["c"], "the vote of c")
    assert rig.message(ident, "board")["real_repet"] == 0
    after_restart(rig, ident, run, "d")
    rig.repet(ident, 1, "board")
    assert [bool(stored(rig, ident)[name]) for name in "abcde"] == [True] * 4 + [False]


@pytest.mark.parametrize("retry", [{}, {"retry": {"strategy": "none"}}], ids=["", "retry"])
def test_votes_to_the_owner_before_are_lost_and_the_vote_is_held_again(rig, retry):
    """Where the plan says what is to be done about failures it has failed, as a run without a result has."""
    ident, run = opened(rig, catching_up(**rule("all"), **retry), ["a", "b", "c"])
    voted(rig, run, "a")
    rig.restart()
    rig.client.result(ident, ST.VOTE_END, [(FT.LOCAL_ID, run.local_id)])
    if retry:
        rig.state(ident, ST.FAILED, "board")
        return
    again = rig.board.recv()
    assert again.exec_id != run.exec_id and again.plan_time == run.plan_time
    assert rig.message(ident, "board")["last_state"] in (ST.RECV_ERROR, ST.RUNING)
    start(rig, again, ["a", "b"])
    for name in "ab":
        vote(rig, again, name)
    rig.repet(ident, 1, "board")


def test_a_voter_that_left_before_a_restart_is_against_after_it(rig):
    ident, run = opened(rig, catching_up(**rule(2)))
    voted(rig, run, "ann", ST.VOTE_BYE)
    rig.restart()
    after_restart(rig, ident, run, "bob")
    wait_until(lambda: stored(rig, ident)["bob"], "the vote of bob")
    assert rig.message(ident, "board")["real_repet"] == 0
    after_restart(rig, ident, run, "cid", ST.FAILED)
    assert rig.state(ident, ST.FAILED, "board")["real_repet"] == 0


def test_a_deadline_outlives_the_station(rig):
    results = rig.subscribe(b"every")
    ident, run = opened(rig, catching_up(**rule("all", deadline=4)))
    voted(rig, run, "ann")
    rig.restart()
    message = rig.state(ident, ST.TIMEOUT, "board")
    assert message["real_repet"] == 0 and time.time() >= run.claimed + 4 - 0.01
    results.close()


# What is told and kept besides.


def test_events_of_a_vote(rig):
    events = rig.events()
    ident, run = opened(rig, catching_up(2, **rule("any")))
    voted(rig, run, "ann", ST.FAILED)
    vote(rig, run, "bob")
    assert events.names(6) == ["add", "queue", "exec", "queue", "result", "exec"]
    ident, run = run.mailbox[1:].decode(), rig.board.recv()
    start(rig, run)
    end(rig, run)
    assert events.names(2) == ["queue", "result"]


def test_history_of_a_vote(rig):
    ident, run = opened(rig, catching_up(2, **rule("any")))
    voted(rig, run, "ann", ST.FAILED)
    vote(rig, run, "bob")
    found = wait_until(lambda: rig.client.done("history", ident).json["runs"], "the outcome")
    assert [(one["status"], one["state"], one["exec_id"]) for one in found] == [
        (ST.OK, QUEUE, run.exec_id)]
    assert "1 of 3" in found[0]["reason"]


# The field.


@pytest.mark.parametrize("given, kept", [
    ({}, {"rule": "all"}), ({"rule": "any"}, {"rule": "any"}), ({"rule": 7}, {"rule": 7}),
    ({"deadline": 1}, {"rule": "all", "deadline": 1}),
    ({"rule": "majority", "deadline": 31536000}, {"rule": "majority", "deadline": 31536000})])
def test_the_rule_is_kept_and_shown(rig, given, kept):
    ident = rig.client.added(later(vote=given), station="board")
    assert rig.message(ident, "board")["vote"] == kept
    assert rig.client.done("list").json["plans"][0]["vote"] == kept
    revision = rig.message(ident, "board")["revision"]
    rig.client.done("update", ident, {"revision": revision, "vote": {"rule": 3}})
    assert rig.message(ident, "board")["vote"] == {"rule": 3}


@pytest.mark.parametrize("given", [
    5, "all", [], None, {"rule": 0}, {"rule": -1}, {"rule": 1.5}, {"rule": "most"}, {"rule": "ALL"},
    {"rule": None}, {"rule": True}, {"deadline": 0}, {"deadline": -1}, {"deadline": 31536001},
    {"deadline": "1"}, {"deadline": 1.5}, {"colour": 1}], ids=json.dumps)
def test_rules_that_are_none(rig, given):
    reply = rig.client.submit(later(vote=given), station="board")
    assert reply.code == ST.PLANERROR and "vote" in reply.text
    assert rig.db.dbsize() == 0 or not rig.db.keys("plan:msg:*")


def test_only_for_plans_of_vote_stations(rig):
    for station in ("jobs", "news"):
        reply = rig.client.submit(later(vote={"rule": "any"}), station=station)
        assert reply.code == ST.PLANERROR and "vote" in reply.text
    assert not rig.db.keys("plan:msg:*")


def test_A052_a_vote_plan_needs_a_command(rig):
    reply = rig.client.submit(later(), station="board", head=[(FT.PUB_TITLE, b"x")])
    assert reply.code == ST.PLANERROR and "COMMAND" in reply.text


# A real station.


station = zstationtest.station      # fixtures
work = zstationtest.work


@pytest.fixture
def hall(make_rig, station):
    """A rig whose `board` is a zstationd with the workers that join it."""
    rig = with_board(make_rig, endpoint=station.endpoint("request"))
    rig.hall = station
    station.start("--plan", rig.ipc("q"), "--worker-timeout", "60000", type_="vote")
    wait_until(lambda: all(one["connected"] for one in rig.client.done("station", "list").json[
        "stations"]), "the station is connected")
    return rig


def ballot(worker):
    """The voter's next job: what zpland sent."""
    job = worker.recv()
    job.plan = json.loads(job.get(zstationtest.PLAN))
    return job


def cast(worker, job, code=ST.OK, *pairs):
    worker.answer(job, code, *pairs)
    worker.ready()


def test_A092_three_voters_of_a_real_station(hall):
    """One dispatch, three results, then the next occurrence."""
    results = hall.subscribe(b"every")
    ann, bob, cid = [hall.hall.worker(name.encode()) for name in NAMES]
    ident = hall.client.added(catching_up(2), station="board")
    for nth in (1, 2):
        jobs = [ballot(worker) for worker in (ann, bob, cid)]
        assert len({job.plan["exec_id"] for job in jobs}) == 1
        assert {job.plan["real_repet"] for job in jobs} == {nth - 1}
        for worker, job, text in zip((cid, ann, bob), (jobs[2], jobs[0], jobs[1]), b"CAB"):
            cast(worker, job, ST.OK, (zstationtest.CONTENT, bytes([text])))
        news = results.recv()
        assert news.code == ST.OK and told(news)["real_repet"] == nth
        assert {name: frames[1] for name, frames in votes_of(news).items()
                if frames} == {"ann": "A", "bob": "B", "cid": "C"}
    hall.gone(ident, "board")
    for worker in (ann, bob, cid):
        worker.settle()                 # nobody was asked again


def test_A036_A092_a_silent_voter_of_a_real_station(hall):
    """3 voters, 1 silent: 2 results stored, the run ends by the rule; or else by its deadline."""
    results = hall.subscribe(b"every")
    ann, bob, cid = [hall.hall.worker(name.encode()) for name in NAMES]
    plan = every(1000, 2, no_keep=True, plan_time=int(time.time()) - 1000)
    one = hall.client.added({**plan, **rule("majority")}, station="board")
    wait_until(lambda: stored(hall, one) == {name: [] for name in NAMES}, "three voters")
    for worker in (ann, bob):
        cast(worker, ballot(worker))
    assert told(results.recv())["real_repet"] == 1
    assert {name for name, frames in stored(hall, one).items() if frames} == {"ann", "bob"}
    two = hall.client.added({**plan, **rule("all", deadline=2)}, station="board")
    for worker in (ann, bob):
        job = ballot(worker)
        assert job.plan["plan_id"] == int(two, 16)
        cast(worker, job)
    assert results.recv().code == ST.TIMEOUT
    assert {name for name, frames in stored(hall, two).items() if frames} == {"ann", "bob"}
    assert hall.message(two, "board")["real_repet"] == 0


def test_a_real_station_without_voters(hall):
    ident = hall.client.added(at_once(**rule("any")), station="board")
    hall.state(ident, ST.NOT_WORKER, "board")
    worker = hall.hall.worker(b"ann")
    cast(worker, ballot(worker))
    hall.gone(ident, "board")


def test_a_voter_of_a_real_station_that_leaves(hall):
    ann, bob = [hall.hall.worker(name) for name in (b"ann", b"bob")]
    ident = hall.client.added(catching_up(), station="board")
    job = ballot(ann)
    ballot(bob)
    bob.send(*zstationtest.pack(zstationtest.LEFT))
    message = hall.state(ident, ST.FAILED, "board")
    assert message["real_repet"] == 0
    wait_until(lambda: stored(hall, ident)["bob"], "its leave is stored")
    cast(ann, job)


@pytest.mark.parametrize("gently", [True, False])
def test_a_real_vote_goes_on_over_a_restart(hall, gently):
    """The station sends what follows to the request socket; nobody votes twice."""
    ann, bob, cid = [hall.hall.worker(name.encode()) for name in NAMES]
    ident = hall.client.added(catching_up(1), station="board")
    jobs = [ballot(worker) for worker in (ann, bob, cid)]
    cast(ann, jobs[0])
    wait_until(lambda: stored(hall, ident).get("ann"), "the vote of ann")
    hall.station.stop() if gently else hall.station.kill()
    hall.station.start()
    cast(bob, jobs[1])
    wait_until(lambda: stored(hall, ident).get("bob"), "the vote of bob")
    cast(cid, jobs[2])
    hall.gone(ident, "board")
    for worker in (ann, bob, cid):
        worker.settle()
    outcome, = hall.client.done("history", ident).json["runs"]
    assert (outcome["status"], outcome["exec_id"]) == (ST.OK, jobs[0].plan["exec_id"])


def test_voters_of_the_command_line(hall, work):
    """`zplan work` three times: two in favour, one against."""
    results = hall.subscribe(b"every")
    for script in ("echo yes", "echo aye", "echo nay >&2; exit 1"):
        work(script)
    ident = hall.client.added(catching_up(2, **rule("majority")), station="board")
    for nth in (1, 2):
        news = results.recv()
        assert news.code == ST.OK and told(news)["real_repet"] == nth
    hall.gone(ident, "board")
    ident = hall.client.added(catching_up(2, **rule("all")), station="board")
    news = results.recv()
    assert news.code == ST.FAILED and told(news)["real_repet"] == 0
    against = [frames for frames in votes_of(news).values() if "nay" in json.dumps(frames)]
    assert len(against) == 1
    hall.client.done("remove", ident)
