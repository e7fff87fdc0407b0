"""end: plans whose run ended as it was expected to, many in a call and all or nothing. What it writes is
what commit writes of the same ends, one after the other.

ZPLAN_STORE_SEED=N repeats a run of the random tests.
"""
import re
from collections import namedtuple

import pytest
import redis

from storescripts import (COUNT, HISTORY, IDS, META, RUN, SENT, T0, TIME_SET, TOLD, both, caller_field,
                          entry, everything, held_as, member, message, seeded, wait_key, work_key)
from test_store_batch import Walk

SECOND = 1_000_000
STATIONS = ["jobs", "job", "a.b-c_D9"]
CALLERS = ["alice", "bob", "x" * 60]
EPOCH = f"{T0 // SECOND:x}{T0 % SECOND:05x}"
RING = 512  # calls whose answers are kept

Run = namedtuple("Run", "ident station exec_id revision record")


def text(caller="alice", **fields):
    return message(**{"exec_id": 0, "exec_time": 0, "plan_state": 1, "caller": caller,
                      "revision": 5, **fields})


def due(store, twin, idents, stations=("jobs",), callers=("alice",)):
    """These plans are taken in both stores; their runs, with a record for the history."""
    plans = [(ident, stations[i % len(stations)], 1 + i / 1000, text(callers[i % len(callers)]))
             for i, ident in enumerate(idents)]
    taken = []
    for one in (store, twin):
        one.freeze(T0)
        one.submit_all(plans)
        taken.append([plan.exec_id for plan in one.claim(limit=1000).plans])
    assert taken[0] == taken[1] and len(taken[0]) == len(plans)
    return [Run(ident, station, exec_id, "5", f"record of {ident}")
            for (ident, station, *_), exec_id in zip(plans, taken[0])]


def written_revision(store, ident, station):
    try:
        text = store.db.get(member(ident, station)) or ""
    except redis.ResponseError:     # a key that was spoiled
        text = ""
    found = re.search(r'"revision"\s*:\s*(\d+)', text)
    return found.group(1) if found else "0"


def commit_of(store, run):
    revision = written_revision(store, run.ident, run.station) if run.revision == "=" else run.revision
    return store.commit_args(run.ident, run.exec_id, "end", station=run.station,
                             revision=revision, record=run.record, tell="result")


def end_both(store, twin, runs, keep=100, number=None):
    """One call here, commits of one plan each there: the same state, entries and numbers. Asked again it
    answers the same and changes nothing."""
    number = number or store.next_number()
    answer = store.end_all(runs, number, keep)
    now_us, epoch, first = answer
    singles = [twin.commit_all([commit_of(twin, run)], keep=keep) for run in runs]
    assert singles == [[now_us, epoch, first + i] for i in range(len(runs))]
    wrong = store.db.hget(META, "wrong")
    if wrong and twin.db.hexists(META, "wrong"):
        twin.db.hset(META, "wrong", wrong)      # of several keys of another type either is told
    state = everything(store)
    assert state == everything(twin)
    assert store.end_all(runs, number, keep) == answer
    assert everything(store) == state
    return answer


# -- as commits one after the other

@pytest.mark.parametrize("count", [1, 2, 3, 20, 256])
def test_first_runs_end(store, twin, count):
    idents = [f"{i:x}" for i in range(1, count + 1)]
    runs = due(store, twin, idents + ["fff"], STATIONS, CALLERS)
    assert end_both(store, twin, runs[:count], 1000) == [str(T0), EPOCH, 1]
    assert [(outcome.entry, outcome.plan, outcome.station, outcome.record)
            for outcome in store.history(limit=1000).outcomes] == [
        (f"{i + 1}-0", run.ident, run.station, run.record) for i, run in enumerate(runs[:count])]
    assert store.db.zrange(TIME_SET, 0, -1) == [member("fff", runs[-1].station)]
    store.dump()  # the counts are those of the index


@pytest.mark.parametrize("idents", [["3", "1", "2"], ["1", "10", "100", "1f0"],
                                    ["7fffffffffffffff", "1"]])
def test_ids_in_any_order(store, twin, idents):
    runs = due(store, twin, idents, STATIONS)
    end_both(store, twin, runs)
    assert set(store.dump()) == {META, HISTORY}


def test_whole_state_after_the_last_plan_of_all(store, twin):
    """Nothing is left of it, and of the counts nothing, even those that were too high."""
    runs = due(store, twin, ["1", "2"], callers=CALLERS)
    both(store, twin, lambda one: one.db.hset(COUNT, "c:tcarol", 7))
    end_both(store, twin, runs[:1])
    assert store.db.hgetall(COUNT) == {"s:jobs": "1", "c:tbob": "1", "c:tcarol": "7"}
    assert end_both(store, twin, runs[1:]) == [str(T0), EPOCH, 2]
    assert store.db.exists(COUNT, IDS, TIME_SET, RUN) == 0
    assert set(store.dump()) == {META, HISTORY}
    assert store.dump()[META] == {"exec": str(T0 + 1), "seq": "2", "epoch": EPOCH}


def test_counts_are_those_of_the_plans_that_are_left(store, twin):
    runs = due(store, twin, [f"{i:x}" for i in range(1, 13)], STATIONS[:2], CALLERS)
    assert store.db.hgetall(COUNT) == {"s:jobs": "6", "s:job": "6", "c:talice": "4", "c:tbob": "4",
                                       caller_field(text("x" * 60)): "4"}
    end_both(store, twin, [run for run in runs if run.station == "jobs"])
    assert store.db.hgetall(COUNT) == {"s:job": "6", "c:talice": "2", "c:tbob": "2",
                                       caller_field(text("x" * 60)): "2"}


def test_what_stands_beside_the_messages_goes_with_them(store, twin):
    """A failure that was told, a wait for the target, the work of participants."""
    runs = due(store, twin, [f"{i}" for i in range(1, 9)], STATIONS[:2])

    def spoil(one):
        for run in runs:
            assert one.commit(run.ident, run.exec_id, "lease", 9, work={"jobs": "[]"}, tell="failure",
                              wait=True, station=run.station)[0] == 1

    both(store, twin, spoil)
    assert store.db.hlen(TOLD) == 8 and store.db.zcard(wait_key()) == 4
    ended = [run for run in runs if run.ident != "3"]
    assert end_both(store, twin, ended) == [str(T0), EPOCH, 9]
    assert store.db.hkeys(TOLD) == [member("3")] and store.db.exists(wait_key("job")) == 0
    assert store.waiting() == {member("3")} and store.db.keys("plan:work:*") == [work_key("3")]


def test_plans_of_a_former_owner_of_the_id_leave_nothing(store, twin):
    """By hand, under the names of the plan: gone as with a commit."""
    runs = due(store, twin, ["1", "2"])
    both(store, twin, lambda one: (one.db.hset(work_key("1"), "a", "b"), one.wait("2"),
                                   one.db.hset(TOLD, member("2"), 5)))
    end_both(store, twin, runs)
    assert set(store.dump()) == {META, HISTORY}


@pytest.mark.parametrize("keep", [0, 1, 3, 100, 250])
def test_history_is_as_long_as_it_may_be(store, twin, keep):
    """Off, or trimmed behind the call; the numbers go on without it."""
    runs = due(store, twin, [f"{i:x}" for i in range(1, 601)], STATIONS)
    for first in range(0, 600, 20):
        assert store.end_all(runs[first:first + 20], keep=keep) == [str(T0), EPOCH, first + 1]
    found = [outcome.record for outcome in store.history(limit=1000).outcomes]
    assert found == [run.record for run in runs][600 - len(found):]
    assert (keep <= len(found) < keep + 200) if keep else not found
    assert store.db.exists(HISTORY) == (keep > 0) and store.db.hget(META, "seq") == "600"
    assert keep <= store.stats()[4] < keep + 200 or not keep


@pytest.mark.parametrize("lost", [["seq"], ["epoch"], ["seq", "epoch"]])
@pytest.mark.parametrize("history", [True, False])
def test_numbers_that_were_lost_go_on_behind_the_history(store, twin, history, lost):
    runs = due(store, twin, ["1", "2", "3", "4"])
    end_both(store, twin, runs[:2])
    both(store, twin, lambda one: (one.db.hdel(META, *lost), history or one.db.delete(HISTORY),
                                   one.freeze(T0 + SECOND)))
    later = f"{T0 // SECOND + 1:x}{T0 % SECOND:05x}"
    new = "epoch" in lost or not history and "seq" in lost
    assert end_both(store, twin, runs[2:]) == [
        str(T0 + SECOND), later if new else EPOCH, 3 if history or "seq" not in lost else 1]


def test_numbers_go_on_between_ends_and_commits(store, twin):
    runs = due(store, twin, [str(i) for i in range(1, 7)])
    assert end_both(store, twin, runs[:2])[2] == 1
    for one in (store, twin):
        assert one.commit("3", runs[2].exec_id, "end", tell="result", record="r")[1] == 3
        assert one.commit("4", runs[3].exec_id, "park", record="r")[1] == 0
    assert end_both(store, twin, runs[4:])[2] == 4
    assert [outcome.entry for outcome in store.history().outcomes] == [
        "1-0", "2-0", "3-0", "3-1", "4-0", "5-0"]


@pytest.mark.parametrize("entry_id", ["9-0", "1-0", "18446744073709551615-0"])
def test_history_whose_numbers_were_higher_starts_anew(store, twin, entry_id):
    runs = due(store, twin, ["1", "2"])
    both(store, twin, lambda one: (one.db.xadd(HISTORY, {"p": "1"}, id=entry_id),
                                   one.db.hset(META, "seq", 0)))
    end_both(store, twin, runs)
    assert [outcome.entry for outcome in store.history().outcomes] == ["1-0", "2-0"]


def test_revision_is_that_of_the_last_write(store, twin):
    """Of a sign of life, and of a change: the run in hand tells it."""
    runs = due(store, twin, ["1", "2", "3"])

    def go_on(one):
        one.commit("1", runs[0].exec_id, "lease", 9, text(revision=8))
        assert one.change("2", "5", text(revision=6), "keep", runs[1].exec_id) == 1

    both(store, twin, go_on)
    assert store.end_all(runs) == [str(T0)]
    runs = [runs[0]._replace(revision="8"), runs[1]._replace(revision="6"), runs[2]]
    end_both(store, twin, runs)


def test_record_of_any_bytes_is_kept(store, twin):
    runs = due(store, twin, ["1", "2", "3"])
    records = [" ", "\0\xff\n", "x" * 100_000]
    end_both(store, twin, [run._replace(record=record) for run, record in zip(runs, records)])
    assert [outcome.record for outcome in store.history().outcomes] == records


# -- nothing when one is not as expected

def hold(store, value):
    store.db.hset(RUN, member("2"), value)


# What makes the run of plan 2 another than it is expected; the message stays readable in all of them.
UNEXPECTED = {
    "another run": lambda store, run: hold(store, held_as(int(run.exec_id) + 1, 5)),
    "a longer number": lambda store, run: hold(store, held_as(run.exec_id + "0", 5)),
    "an earlier one may answer": lambda store, run: hold(store, held_as(run.exec_id + "+", 5)),
    "given up": lambda store, run: hold(store, held_as(run.exec_id + "?", 5)),
    "both": lambda store, run: hold(store, held_as(run.exec_id + "+?", 5)),
    "only an earlier one": lambda store, run: hold(store, "+"),
    "another revision": lambda store, run: hold(store, held_as(run.exec_id, 6)),
    "a longer revision": lambda store, run: hold(store, held_as(run.exec_id, 55)),
    "no revision": lambda store, run: hold(store, run.exec_id),
    "empty": lambda store, run: hold(store, ""),
    "none in hand": lambda store, run: store.db.hdel(RUN, member("2")),
    "no runs at all": lambda store, run: store.db.delete(RUN),
    "no message": lambda store, run: store.db.delete(member("2")),
    "removed": lambda store, run: store.remove("2"),
    "changed": lambda store, run: store.change("2", "5", text(revision=6), "keep", run.exec_id),
    "put off": lambda store, run: store.change("2", "5", text(revision=5), "1800000000", run.exec_id),
    "in doubt": lambda store, run: store.commit("2", run.exec_id, "doubt", 9),
    "ended": lambda store, run: store.commit("2", run.exec_id, "end"),
    "taken again": lambda store, run: (store.db.zadd(TIME_SET, {member("2"): 1}), store.claim()),
}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("how", UNEXPECTED)
def test_nothing_is_written_when_one_is_not_as_expected(store, twin, how, place):
    order = [["2", "1", "3"], ["1", "2", "3"], ["1", "3", "2"]][place]
    runs = due(store, twin, order)
    both(store, twin, lambda one: UNEXPECTED[how](one, runs[place]))
    before, asked = everything(store), store.db.hgetall(SENT)
    for _ in range(2):
        assert store.end_all(runs, 777) == [str(T0)]
        assert everything(store) == before and store.db.hgetall(SENT) == asked
    # The others are as they were: they end without it, unless it is what all of them need.
    others = [run for run in runs if run.ident != "2"]
    if how == "no runs at all":
        assert store.end_all(others) == [str(T0)]
    else:
        end_both(store, twin, others)


@pytest.mark.parametrize("how", sorted(UNEXPECTED))
def test_station_goes_on_by_commit(store, twin, how):
    """All the runs of a call that wrote nothing go by commit: those that are as expected end."""
    runs = due(store, twin, ["1", "2", "3"])
    both(store, twin, lambda one: UNEXPECTED[how](one, runs[1]))
    assert store.end_all(runs) == [str(T0)]
    answers = store.commit_all([commit_of(store, run) for run in runs])[2:]
    assert answers == [twin.commit_all([commit_of(twin, run)])[2] for run in runs]
    assert everything(store) == everything(twin)
    assert how == "no runs at all" or answers[0] > 0 and answers[2] > 0


def test_run_that_was_refused_may_end_in_the_next_call(store, twin):
    """Of a call that wrote nothing no answer is kept: with the same number it is looked at anew."""
    runs = due(store, twin, ["1", "2"])
    held = store.db.hget(RUN, member("2"))
    both(store, twin, lambda one: hold(one, "+"))
    assert store.end_all(runs, 5) == [str(T0)]
    both(store, twin, lambda one: hold(one, held))
    end_both(store, twin, runs, number=5)


# -- asked again

def test_asked_again_when_much_has_happened_since(store, twin):
    runs = due(store, twin, ["1", "2", "3"])
    assert store.end_all(runs[:2], 7) == [str(T0), EPOCH, 1]
    store.submit("1", text=text())  # the ids are free
    store.freeze(T0 + SECOND)
    assert len(store.claim().plans) == 1
    assert store.end_all(runs[2:], 8) == [str(T0 + SECOND), EPOCH, 3]
    before = everything(store)
    assert store.end_all(runs[:2], 7) == [str(T0 + SECOND), EPOCH, 1]
    assert everything(store) == before
    assert store.end_all(runs[:2], 9) == [str(T0 + SECOND)]


def test_answers_of_the_last_calls_are_kept_with_those_of_commits(store, twin):
    runs = due(store, twin, [f"{i:x}" for i in range(1, RING + 3)])
    answers = {}
    for number, run in enumerate(runs, 1):
        if number % 2:
            answers[number] = store.end_all([run], number)
        else:
            answers[number] = store.commit_all([commit_of(store, run)], number)
    assert [answer[1:] for answer in answers.values()] == [[EPOCH, i] for i in answers]
    before = everything(store)
    for number, run in reversed(list(enumerate(runs, 1))):  # a commit that is not known is kept as well
        again = (store.end_all([run], number) if number % 2 else
                 store.commit_all([commit_of(store, run)], number))
        gone = [str(T0)] if number % 2 else [str(T0), "", -1]
        assert again == (answers[number] if number > len(runs) - RING else gone)
        assert everything(store) == before
    assert 3500 < store.db.ttl(SENT) <= 3600


# -- keys of another type

def wrong(store):
    return store.db.hget(META, "wrong")


@pytest.mark.parametrize("key", [TIME_SET, TOLD, wait_key(), work_key("2"), COUNT, META, HISTORY])
@pytest.mark.parametrize("kind", ["string", "list"])
def test_key_of_another_type_stops_no_end(store, twin, key, kind):
    """What it needs of it is replaced, as by a commit; a station is told."""
    runs = due(store, twin, ["1", "2", "3"])
    both(store, twin, lambda one: (one.db.delete(key), one.db.set(key, "by hand") if kind == "string"
                                   else one.db.rpush(key, "by hand")))
    end_both(store, twin, runs)
    assert wrong(store) == (None if key == work_key("2") else key)
    assert set(store.dump()) == {META, HISTORY}


def test_runs_of_another_type_are_nothing_that_was_expected(store, twin):
    runs = due(store, twin, ["1", "2"])
    store.db.delete(RUN)
    before = everything(store)
    store.db.set(RUN, "by hand")
    assert store.end_all(runs) == [str(T0)]
    state = everything(store)
    assert wrong(store) == RUN
    before[META][1]["wrong"] = RUN
    assert state == before and SENT not in store.db.keys()


# -- what is as good as expected

def test_message_is_as_a_claim_of_many_gave_it(store, twin):
    """Whoever writes the message meanwhile writes its revision there."""
    runs = due(store, twin, ["1", "2", "3"])
    both(store, twin, lambda one: hold(one, held_as(runs[1].exec_id, "=")))
    end_both(store, twin, runs)


def test_run_of_which_nothing_was_written_is_expected_so(store, twin):
    runs = due(store, twin, ["1", "2", "3"])
    both(store, twin, lambda one: hold(one, held_as(runs[1].exec_id, "=")))
    runs[1] = runs[1]._replace(revision="=")
    end_both(store, twin, runs)


def test_message_that_was_written_is_not_as_the_claim_gave_it(store, twin):
    runs = due(store, twin, ["1", "2", "3"])
    assert store.end_all([runs[0], runs[1]._replace(revision="="), runs[2]]) == [str(T0)]


@pytest.mark.parametrize("value", ["{}", "{} =5", "{}+ =", "{}? =", "{}0 =", "{} = ", "{}=", "=", " ="])
def test_another_run_is_not_the_one_that_a_claim_of_many_gave(store, twin, value):
    runs = due(store, twin, ["1", "2", "3"])
    hold(store, value.format(runs[1].exec_id))
    assert store.end_all(runs) == [str(T0)]


@pytest.mark.parametrize("loss", [lambda db: db.zrem(IDS, entry("2")), lambda db: db.delete(IDS),
                                  lambda db: db.set(IDS, "by hand")])
def test_entry_that_is_missing_in_the_index_keeps_no_plan(store, twin, loss):
    """Nothing is left of them, and what was counted of them is counted no more."""
    runs = due(store, twin, ["1", "2", "3"])
    loss(store.db)
    assert store.end_all(runs) == [str(T0), EPOCH, 1]
    assert set(store.dump()) == {META, HISTORY} and store.db.exists(COUNT) == 0


def test_last_calls_of_another_type_are_replaced(store, twin):
    runs = due(store, twin, ["1", "2"])
    store.db.set(SENT, "by hand")
    twin.db.hset(META, "wrong", SENT)
    end_both(store, twin, runs)


@pytest.mark.parametrize("kept", ["garbage", "\xc0", "\x92\xa17\x05"])
def test_kept_answer_that_nobody_can_read_is_none(store, twin, kept):
    runs = due(store, twin, ["1", "2"])
    store.db.hset(SENT, 7, kept)
    assert end_both(store, twin, runs, number=7)[2] == 1


@pytest.mark.parametrize("fields", [["s:jobs"], ["c:talice"], ["s:jobs", "c:talice"]])
@pytest.mark.parametrize("value", ["x", "", "1.5", "9223372036854775808",
                                   "-9223372036854775808"])
def test_count_that_is_no_number_stops_nothing(store, twin, fields, value):
    """By hand: all of it must be written, or the answer would tell of nothing that was."""
    runs = due(store, twin, ["1", "2", "3"])
    both(store, twin, lambda one: one.db.hset(COUNT, mapping=dict.fromkeys(fields, value)))
    end_both(store, twin, runs[:2])
    assert store.submit("9", text=text()) == [1]
    store.freeze(T0 + 1)
    assert store.end_all([Run("9", "jobs", store.run("9"), "5", "r")])[2] == 3


@pytest.mark.parametrize("kind", ["list", "hash", "stream"])
def test_message_of_another_type_goes_as_with_a_commit(store, twin, kind):
    runs = due(store, twin, ["1", "2"])

    def spoil(one):
        one.db.delete(member("2"))
        {"list": lambda: one.db.rpush(member("2"), "x"), "hash": lambda: one.db.hset(member("2"), "a", "b"),
         "stream": lambda: one.db.xadd(member("2"), {"a": "b"})}[kind]()

    both(store, twin, spoil)
    end_both(store, twin, runs)


# -- random calls

class EndWalk(Walk):
    """With ends in one call, of what else happens to the plans: submit, claim, commit and hand edits."""

    def end(self):
        rng = self.rng
        names = [(name, exec_id) for name, exec_id in sorted(self.runs.items())
                 if self.is_listed(*name) and self.is_message(*name)]
        if rng.random() < 0.7:  # only such as stand as they are expected
            names = [(name, exec_id) for name, exec_id in names if self.is_plain(*name, exec_id)]
        if not names:
            return None
        runs = []
        for (ident, station), exec_id in rng.sample(names, min(len(names), rng.randint(1, 8))):
            held = self.held(ident, station)
            known = held.partition(" ")[2] or "5"
            if known == "=" and rng.random() < 0.5:  # a station that read the message may say either
                known = written_revision(self.store, ident, station)
            runs.append(Run(ident, station, exec_id, known, f"r{rng.random()}"))
        plain = all(self.is_plain(run.ident, run.station, run.exec_id) for run in runs)
        keep = rng.choice([0, 1000])
        if plain:
            return runs, end_both(self.store, self.twin, runs, keep)
        before = everything(self.store)
        answer = self.store.end_all(runs, keep=keep)
        assert len(answer) == 1 and everything(self.store) == before
        return runs, answer

    def held(self, ident, station):
        # A key that was spoiled by hand holds nothing.
        is_hash = self.store.db.type(RUN) == "hash"
        return is_hash and self.store.db.hget(RUN, member(ident, station)) or ""

    def is_plain(self, ident, station, exec_id):
        db, key = self.store.db, member(ident, station)
        exec_held, _, revision = self.held(ident, station).partition(" ")
        return exec_held == exec_id and revision != "" and db.exists(key) == 1

    def is_message(self, ident, station):
        """Or gone. What somebody put there of another type is refused by commit, and taken away by end."""
        return self.store.db.type(member(ident, station)) in ("string", "none")

    def is_listed(self, ident, station):
        db = self.store.db
        return db.type(IDS) == "zset" and db.zscore(IDS, entry(ident, station)) is not None

    def step(self):
        name = self.rng.choice(["submit"] * 4 + ["claim"] * 4 + ["commit"] * 2 + ["clock"] * 2 +
                               ["spoil"] + ["end"] * 5)
        for one in (self.store, self.twin) if name == "end" else ():
            # What the scripts find of another type is replaced first by whichever looks first.
            for key, kind in {RUN: "hash", IDS: "zset", TIME_SET: "zset"}.items():
                if one.db.type(key) != kind:
                    one.db.delete(key)
        print(name, getattr(self, name)())


@pytest.mark.parametrize("turn", range(8))
def test_random_ends_are_as_the_commits_one_after_the_other(store, twin, turn):
    walk = EndWalk(store, twin, seeded(turn))
    for _ in range(150):
        walk.step()
