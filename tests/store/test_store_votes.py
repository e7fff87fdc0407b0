"""Votes: the voters' fields in the work of a plan, opened, replaced one by one, told in the end."""
import pytest

from storescripts import HISTORY, RUN, T0, TIME_SET, entry, held_as, member, message, pairs, work_key

MODES = ["lease", "retry", "doubt", "next", "park", "end"]
EMPTY = {"w1": "[]", "w2": "[]", "w3": "[]"}
VOTE = message(vote={"rule": "all"}, revision=0)


@pytest.fixture
def exec_id(store):
    """The run of plan 1f, which has a vote."""
    store.freeze(T0)
    store.submit("1f", text=VOTE)
    return store.run("1f")


def work(store):
    return store.db.hgetall(work_key("1f"))


def opened(store, exec_id, voters=None):
    return store.commit("1f", exec_id, "lease", 300, work=EMPTY if voters is None else voters,
                        votes="o")


def vote(store, exec_id, name, result, mode="lease", **more):
    return store.commit("1f", exec_id, mode, 300, work={name: result}, **more)


def test_opening_gives_each_voter_an_empty_field(store, exec_id):
    assert opened(store, exec_id) == [1, 0, "", str(T0), []]
    assert work(store) == EMPTY and store.db.hget(RUN, member("1f")) == held_as(exec_id)


@pytest.mark.parametrize("mode", MODES[:-1])
def test_opening_replaces_the_work_of_earlier_runs(store, exec_id, mode):
    vote(store, exec_id, "jobs", "[9]")
    vote(store, exec_id, "w1", "[8]")
    assert store.commit("1f", exec_id, mode, 300, work=EMPTY, votes="o")[0] == 1
    assert work(store) == EMPTY


def test_opening_without_voters_leaves_no_work(store, exec_id):
    vote(store, exec_id, "jobs", "[9]")
    opened(store, exec_id, {})
    assert work(store) == {}


def test_vote_replaces_its_voters_field_alone(store, exec_id):
    opened(store, exec_id)
    vote(store, exec_id, "w2", "[2]")
    assert work(store) == {**EMPTY, "w2": "[2]"}
    vote(store, exec_id, "w3", "[3]")
    vote(store, exec_id, "w2", "[4]")
    assert work(store) == {**EMPTY, "w2": "[4]", "w3": "[3]"}


def test_vote_of_nobody_who_was_named_is_kept_as_well(store, exec_id):
    """Who may vote is the engine's rule."""
    opened(store, exec_id)
    vote(store, exec_id, "w9", "[9]")
    assert work(store) == {**EMPTY, "w9": "[9]"}


@pytest.mark.parametrize("mode", MODES)
def test_closing_answers_every_vote(store, exec_id, mode):
    opened(store, exec_id)
    vote(store, exec_id, "w1", "[1]")
    answer = vote(store, exec_id, "w2", "[2]", mode, votes="c", tell="result", record="r")
    assert answer[:2] == [1, 1]
    assert dict(pairs(answer[4])) == {"w1": "[1]", "w2": "[2]", "w3": "[]"}
    assert work(store) == ({} if mode == "end" else {"w1": "[1]", "w2": "[2]", "w3": "[]"})
    assert [row["r"] for _, row in store.db.xrange(HISTORY)] == ["r"]


@pytest.mark.parametrize("mode", MODES)
def test_closing_at_the_deadline_adds_no_vote(store, exec_id, mode):
    opened(store, exec_id)
    answer = store.commit("1f", exec_id, mode, 9, votes="c", tell="failure")
    assert dict(pairs(answer[4])) == EMPTY


@pytest.mark.parametrize("mode", MODES)
def test_closing_a_poll_that_was_never_opened(store, exec_id, mode):
    assert store.commit("1f", exec_id, mode, 9, votes="c", tell="result")[4] == []
    assert work(store) == {}


@pytest.mark.parametrize("votes", ["", "o"])
@pytest.mark.parametrize("mode", MODES)
def test_only_closing_answers_votes(store, exec_id, mode, votes):
    opened(store, exec_id)
    assert vote(store, exec_id, "w1", "[1]", mode, votes=votes, tell="result")[4] == []


def test_closing_at_the_end_leaves_nothing_of_the_plan(store, exec_id):
    opened(store, exec_id)
    store.commit("1f", exec_id, "end", work={"w1": "[1]"}, votes="c")
    assert set(store.dump()) == {"plan:meta"}


def test_all_voters_there_may_be(store, exec_id):
    voters = {f"voter-{i:059}": "[]" for i in range(256)}
    opened(store, exec_id, voters)
    assert work(store) == voters
    voters["voter-" + "0" * 59] = "x" * 100_000
    answer = vote(store, exec_id, "voter-" + "0" * 59, "x" * 100_000, "end", votes="c")
    assert dict(pairs(answer[4])) == voters


@pytest.mark.parametrize("name, result", [("w \xe9\xff", "[1]"), ("w", "\0\xff"), ("", "[]")])
def test_names_and_votes_are_kept_byte_for_byte(store, exec_id, name, result):
    assert vote(store, exec_id, name, result, "end", votes="c")[4] == [name, result]


@pytest.mark.parametrize("votes, left", [("", {"w1": "[1]"}), ("o", {"w1": "[1]"}),
                                         ("c", {"w1": "[1]"})])
def test_work_of_another_type_is_replaced(store, exec_id, votes, left):
    store.db.set(work_key("1f"), "by hand")
    assert vote(store, exec_id, "w1", "[1]", votes=votes)[0] == 1 and work(store) == left


def test_work_of_another_type_stops_no_closing_at_the_end(store, exec_id):
    store.db.set(work_key("1f"), "by hand")
    assert store.commit("1f", exec_id, "end", votes="c", tell="result")[4] == []
    assert store.db.exists(work_key("1f")) == 0


@pytest.mark.parametrize("votes", ["o", "c"])
def test_poll_of_a_run_that_is_over_changes_nothing(store, exec_id, votes):
    opened(store, exec_id)
    store.db.zadd(TIME_SET, {member("1f"): 1})
    store.run("1f")
    before = store.dump()
    assert vote(store, exec_id, "w1", "[1]", votes=votes) == [0] and store.dump() == before


def test_votes_of_others_are_left_alone(store, exec_id):
    for ident, station in (("1", "jobs"), ("1f0", "jobs")):
        store.submit(ident, station)
        store.commit(ident, store.run(ident), "lease", 300, work=EMPTY, votes="o")
    opened(store, exec_id, {"a": "[]"})
    store.commit("1f", exec_id, "end", votes="c")
    assert store.db.hgetall(work_key("1")) == store.db.hgetall(work_key("1f0")) == EMPTY
    assert store.db.zscore("plan:ids", entry("1")) == 0


# load: a station that was started anew goes on counting.

def test_load_tells_the_votes(store, exec_id):
    assert store.load("1f")[3] == []
    opened(store, exec_id)
    vote(store, exec_id, "w2", "[2]")
    assert dict(pairs(store.load("1f")[3])) == {**EMPTY, "w2": "[2]"}


@pytest.mark.parametrize("text, told", [
    (VOTE, True), ('{"vote" : \n {"rule":1}}', True), ('{"vote":{}}', True),
    ("{}", False), ("not JSON", False), (message(vote=None), False),
    (message(a="vote", votes={}), False),
    (message(messages=['{"vote":{"rule":"all"}}']), False),
])
def test_load_tells_the_work_of_votes_only(store, exec_id, text, told):
    store.commit("1f", exec_id, "lease", 300, text=text, work=EMPTY)
    assert dict(pairs(store.load("1f")[3])) == (EMPTY if told else {})


def test_load_finds_the_votes_of_the_plans_own_station(store):
    store.submit("1f", "a.b-c_D9", text=VOTE)
    exec_id = store.run("1f", "a.b-c_D9")
    store.commit("1f", exec_id, "lease", 300, station="a.b-c_D9", work={"w1": "[]"}, votes="o")
    assert store.load("1f")[3] == ["w1", "[]"]
