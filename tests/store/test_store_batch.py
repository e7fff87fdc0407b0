"""submit and commit of many plans: a call does what as many calls of one plan each do in turn.

ZPLAN_STORE_SEED=N repeats a run of the random tests.
"""
import pytest

from storescripts import (COUNT, HISTORY, IDS, META, RUN, T0, TIME_SET, TOLD, WORK, both, entry,
                          everything, held_as, member, message, seeded, wait_key, work_key)

SECOND = 1_000_000
MODES = ["lease", "retry", "doubt", "next", "park", "end"]
BIG = "7fffffffffffffff"
STATIONS = ["jobs", "job", "a.b-c_D9"]
CALLERS = ["alice", "bob", "x" * 60]


def submit_both(store, twin, plans, most=(0, 0, 0)):
    """The answers, which must be the same, as the states are."""
    answers = store.submit_all(plans, most)
    assert answers == [twin.submit_all([plan], most)[0] for plan in plans]
    assert everything(store) == everything(twin)
    return answers


def commit_both(store, twin, runs, number=None):
    """The same; and the batch asked again answers the same and changes nothing."""
    number = number or store.next_number()
    answer = store.commit_all(runs, number)
    now_us, epoch, *each = answer
    singles = [twin.commit_all([run]) for run in runs]
    assert each == [single[2] for single in singles]
    assert {now_us} == {single[0] for single in singles}
    assert {epoch, ""} == {single[1] for single in singles} | {""}
    state = everything(store)
    assert state == everything(twin)
    assert store.commit_all(runs, number) == answer
    assert everything(store) == state
    return answer


def text(caller="alice", **fields):
    return message(**{"exec_id": 0, "exec_time": 0, "plan_state": 1, "caller": caller,
                      "revision": 5, **fields})


def due(store, twin, idents, station="jobs"):
    """These plans are due in both stores; their runs."""
    runs = []
    for one in (store, twin):
        one.freeze(T0)
        one.submit_all([(ident, station, 1 + i / 1000, text()) for i, ident in enumerate(idents)])
        runs.append([plan.exec_id for plan in one.claim().plans])
    assert runs[0] == runs[1] and len(runs[0]) == len(idents)
    return runs[0]


# -- submit

@pytest.mark.parametrize("idents", [
    ["1"], ["1", "2", "3"], ["e", "f", "10", "11"], ["3", "1", "2"], ["1", "10", "100", "f"],
    ["7ffffffffffffffe", BIG], [f"{i:x}" for i in range(1, 257)],
])
def test_new_plans_of_one_call(store, twin, idents):
    plans = [(ident, STATIONS[i % 3], i, text(CALLERS[i % 2])) for i, ident in enumerate(idents)]
    assert submit_both(store, twin, plans) == [1] * len(idents)
    assert store.db.zcard(TIME_SET) == store.db.zcard(IDS) == len(idents)
    assert store.dump()[member(idents[0])] == plans[0][3]


def test_plans_of_stations_and_callers_in_turn(store, twin):
    """Each says whose it is: what is counted of one is not taken for the next one's."""
    plans = [("1", "jobs", 1, text()), ("2", "job", 2, text()), ("3", "jobs", 3, text("bob")),
             ("4", "job", 4, text("bob")), ("5", "job", 5, text("bob"))]
    assert submit_both(store, twin, plans, (9, 9, 3)) == [1] * 5
    assert store.db.hgetall(COUNT) == {"s:jobs": "2", "s:job": "3", "c:talice": "2", "c:tbob": "3"}


def test_second_of_the_same_id_is_told_the_first(store, twin):
    plans = [("1", "jobs", 5, "first"), ("2", "jobs", 5, "other"), ("1", "jobs", 6, "second"),
             ("1", "job", 7, "third"), ("2", "job", 7, "fourth")]
    assert submit_both(store, twin, plans) == [
        1, 1, [0, "jobs", "first"], [0, "jobs", "first"], [0, "jobs", "other"]]


@pytest.mark.parametrize("order", [1, -1])
def test_ids_in_use_among_new_ones(store, twin, order):
    held = [("2", "jobs", 5, "two"), ("5", "job", 5, "five")]
    submit_both(store, twin, held)
    plans = [(str(i), "jobs", 9, "new") for i in range(1, 7)][::order]
    answers = submit_both(store, twin, plans)
    assert answers[::order] == [1, [0, "jobs", "two"], 1, 1, [0, "job", "five"], 1]


def test_batch_asked_again_is_told_what_it_stored(store, twin):
    """The caller sees that they are its own: nothing is stored twice, or changed."""
    plans = [(f"{i:x}", "jobs", i, text(title=i)) for i in range(1, 20)]
    assert submit_both(store, twin, plans) == [1] * 19
    before = everything(store)
    assert submit_both(store, twin, plans) == [[0, "jobs", plan[3]] for plan in plans]
    assert everything(store) == before


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("most, bound", [
    ((4, 0, 0), "max_plans"), ((0, 3, 0), "max_plans_station"), ((0, 0, 3), "max_plans_caller")])
def test_bound_that_is_met_in_the_middle(store, twin, most, bound, order):
    submit_both(store, twin, [("ff", "other", 1, text("carol"))])
    plans = [(str(i), "jobs", 1, text()) for i in range(1, 6)][::order]
    limit = str(max(most))
    assert submit_both(store, twin, plans, most) == [1, 1, 1, [2, bound, limit], [2, bound, limit]]
    if bound != "max_plans":
        # Others have room behind one that has none.
        plans = [("8", "jobs", 1, text()), ("9", "job", 1, text("bob"))]
        assert submit_both(store, twin, plans, most) == [[2, bound, limit], 1]


def test_id_that_is_in_use_is_told_when_it_is_full(store, twin):
    plans = [("1", "jobs", 1, "one"), ("2", "jobs", 1, "two"), ("1", "jobs", 1, "one")]
    assert submit_both(store, twin, plans, (1, 0, 0)) == [1, [2, "max_plans", "1"],
                                                          [0, "jobs", "one"]]


@pytest.mark.parametrize("idents", [["1", "2", "3", "4"], ["4", "2", "1", "3"]])
@pytest.mark.parametrize("key", [TIME_SET, IDS, RUN, TOLD, wait_key(), work_key("2"), COUNT, META])
def test_key_of_another_type_is_replaced(store, twin, key, idents):
    both(store, twin, lambda one: one.db.set(key, "by hand"))
    answers = submit_both(store, twin, [(ident, "jobs", 1, text()) for ident in idents], (9, 9, 9))
    assert answers == [1, 1, 1, 1]


@pytest.mark.parametrize("indexed", [False, True])
def test_message_of_another_type_is_an_error_of_its_own_plan(store, twin, indexed):
    def spoil(one):
        if indexed:
            one.submit("2")
            one.db.delete(member("2"))
        one.db.hset(member("2"), "a", "b")

    both(store, twin, spoil)
    answers = submit_both(store, twin, [(ident, "jobs", 1, text()) for ident in "123"])
    assert [answers[0], answers[2]] == [1, 1] and answers[1][0] == 3
    assert "WRONGTYPE" in answers[1][1]


@pytest.mark.parametrize("idents", [["1", "2", "3"], ["3", "2", "1"]])
def test_message_deleted_by_hand_frees_its_id(store, twin, idents):
    (exec_id,) = due(store, twin, ["2"])

    def spoil(one):
        one.commit("2", exec_id, "doubt", 5, work=WORK, tell="failure", wait=True)
        one.db.delete(member("2"))

    both(store, twin, spoil)
    assert submit_both(store, twin, [(ident, "jobs", 7, "new") for ident in idents]) == [1] * 3
    assert store.db.exists(RUN, TOLD, wait_key(), work_key("2")) == 0


def test_message_deleted_by_hand_makes_room(store, twin):
    """What is freed by one plan of a batch is there for it, though the bound was met before it."""
    submit_both(store, twin, [("1", "jobs", 1, text()), ("2", "jobs", 1, text())])
    both(store, twin, lambda one: one.db.delete(member("2")))
    plans = [("3", "jobs", 1, text()), ("2", "jobs", 1, text("bob")), ("4", "jobs", 1, text())]
    full = [2, "max_plans", "2"]
    assert submit_both(store, twin, plans, (2, 0, 0)) == [full, 1, full]


def test_plan_made_by_hand_is_not_overwritten(store, twin):
    both(store, twin, lambda one: one.db.set(member("2"), "by hand"))
    answers = submit_both(store, twin, [(ident, "jobs", 1, "new") for ident in "123"])
    assert answers == [1, [0, "jobs", "by hand"], 1]


# -- commit

def args_of(store, rng, ident, station, exec_id, revision):
    """Those of a commit of any kind, as the engine has them."""
    mode = rng.choice(MODES)
    tell = rng.choice(["none", "result"] + ["failure"] * (mode != "end"))
    # Mostly the run and the message it was decided on.
    return store.commit_args(
        ident, rng.choice([exec_id] * 8 + ["17", ""]), mode,
        rng.choice(["", "7.5", "1800000000"]) if mode == "next" else rng.choice(["", 0, 1, 2.5]),
        rng.choice(["", text(rng.choice(CALLERS), revision=rng.randint(5, 7))]),
        {name: f"[{rng.random()}]" for name in "abc" if rng.random() < 0.3}, tell,
        mode != "end" and rng.random() < 0.4, station,
        rng.choice(["", revision, revision, revision, "4"]),
        "" if tell == "none" else f"record {rng.random()}",
        rng.choice(["", "", "", "o", "c", "oc"]))


@pytest.mark.parametrize("mode", MODES)
def test_all_of_one_mode(store, twin, mode):
    idents = [f"{i:x}" for i in range(1, 65)]
    runs = due(store, twin, idents)
    answer = commit_both(store, twin, [
        store.commit_args(ident, exec_id, mode, 7.5, text(title=ident), WORK, "result",
                          mode == "retry", revision="5", record="r" + ident)
        for ident, exec_id in zip(idents, runs)])
    assert answer[2:] == list(range(1, 65))
    assert store.db.hget(META, "seq") == "64"
    assert store.db.exists(*[member(ident) for ident in idents]) == (0 if mode == "end" else 64)


def test_all_modes_in_one_call(store, twin):
    idents = [str(i) for i in range(1, 7)]
    runs = due(store, twin, idents)
    commit_both(store, twin, [store.commit_args(ident, exec_id, mode, 7.5, text(), WORK, "result",
                                                record="r" + ident)
                              for ident, exec_id, mode in zip(idents, runs, MODES)])
    state = store.dump()
    assert state[RUN] == {member("1"): held_as(runs[0], 5), member("3"): held_as(runs[2] + "?", 5)}
    assert set(state[TIME_SET]) == {member(ident) for ident in "1234"}
    assert set(state[IDS]) == {entry(ident) for ident in "12345"}


def test_numbers_and_records_are_in_the_order_of_the_batch(store, twin):
    idents = ["5", "1", "4", "2", "3", "6"]
    runs = due(store, twin, idents)
    tells = ["result", "none", "failure", "none", "none", "result"]
    answer = commit_both(store, twin, [
        store.commit_args(ident, exec_id, "doubt", 9, tell=tell, record="r" + ident)
        for ident, exec_id, tell in zip(idents, runs, tells)])
    assert answer[2:] == [1, 0, 2, 0, 0, 3]
    assert [(row.entry, row.plan, row.record) for row in store.history().outcomes] == [
        ("1-0", "5", "r5"), ("1-1", "1", "r1"), ("2-0", "4", "r4"), ("2-1", "2", "r2"),
        ("2-2", "3", "r3"), ("3-0", "6", "r6")]


def test_failures_within_a_minute_are_each_plans_own(store, twin):
    runs = dict(zip("123", due(store, twin, ["1", "2", "3"])))

    def fail(idents, after_s):
        both(store, twin, lambda one: one.freeze(T0 + after_s * SECOND))
        return commit_both(store, twin, [
            store.commit_args(ident, runs[ident], "doubt", 900, tell="failure", record="r")
            for ident in idents])[2:]

    assert fail("12", 0) == [1, 2]
    assert fail("123", 30) == [0, 0, 3]
    assert fail("321", 60) == [0, 4, 5]
    assert fail("123", 90) == [0, 0, 6]


def test_votes_of_several_plans(store, twin):
    one, two, three = due(store, twin, ["1", "2", "3"])
    opening = {"w1": "[]", "w2": "[]"}
    commit_both(store, twin, [
        store.commit_args("1", one, "lease", 9, work=opening, votes="o"),
        store.commit_args("2", two, "lease", 9, work=opening, votes="o"),
        store.commit_args("3", three, "lease", 9, work={"x": "[3]"})])
    answer = commit_both(store, twin, [
        store.commit_args("1", one, "end", work={"w1": "[1]"}, votes="c", tell="result"),
        store.commit_args("3", three, "next", 9, tell="result"),
        store.commit_args("2", two, "next", 9, work={"w2": "[2]"}, votes="c")])
    assert answer[2] == [1, ["w1", "[1]", "w2", "[]"]] and answer[3] == 2
    assert answer[4] == [0, ["w1", "[]", "w2", "[2]"]]
    assert store.db.exists(work_key("1")) == 0 and store.db.hgetall(work_key("3")) == {"x": "[3]"}


def test_one_that_is_refused_leaves_the_others_be(store, twin):
    """A stale run, a message that was changed, one that was deleted, and two that are in order."""
    idents = ["1", "2", "3", "4", "5"]
    runs = due(store, twin, idents)
    changed = text(exec_id=int(runs[2]), plan_state=2, revision=6)

    def spoil(store):
        assert store.change("3", 5, changed, "keep", run=runs[2]) == 1
        store.db.delete(member("4"))

    both(store, twin, spoil)
    runs[1] = "17"
    answer = commit_both(store, twin, [
        store.commit_args(ident, exec_id, "next", 7.5, "new", WORK, "result", revision="5",
                          record="r" + ident) for ident, exec_id in zip(idents, runs)])
    assert answer[2:] == [1, -1, [changed], -1, 2]
    assert [row.plan for row in store.history().outcomes] == ["1", "5"]
    assert store.db.mget(*[member(ident) for ident in "1235"]) == ["new", text(exec_id=int(
        runs[0]) + 1, exec_time=T0 // SECOND, plan_state=2), changed, "new"]
    assert store.db.zscore(TIME_SET, member("4")) is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("revision", ["", "4", "5"])
def test_message_of_another_type_is_the_same_beside_a_lost_one(store, twin, mode, revision):
    runs = due(store, twin, ["1", "2", "3"])

    def spoil(one):
        one.db.delete(member("2"), member("3"))
        one.db.hset(member("2"), "a", "b")

    both(store, twin, spoil)
    answer = commit_both(store, twin, [
        store.commit_args(ident, exec_id, mode, 7.5, "new", WORK, "result", revision=revision,
                          record="r") for ident, exec_id in zip("123", runs)])
    assert answer[4] == -1


def test_epoch_is_told_when_one_is_broadcast(store, twin):
    runs = due(store, twin, ["1", "2", "3"])
    epoch = f"{T0 // SECOND:x}{T0 % SECOND:05x}"
    silent = [store.commit_args(ident, exec_id, "lease", 9)
              for ident, exec_id in zip("123", runs)]
    assert commit_both(store, twin, silent)[1] == ""
    silent[1] = store.commit_args("2", runs[1], "lease", 9, tell="result")
    assert commit_both(store, twin, silent)[1:] == [epoch, 0, 1, 0]


@pytest.mark.parametrize("lost", [["seq"], ["epoch"], ["seq", "epoch"]])
def test_numbers_that_were_lost_go_on_behind_the_history(store, twin, lost):
    runs = due(store, twin, ["1", "2"])
    batch = [store.commit_args(ident, exec_id, "doubt", 9, tell="result", record="r")
             for ident, exec_id in zip("12", runs)]
    assert commit_both(store, twin, batch)[2:] == [1, 2]
    both(store, twin, lambda one: (one.db.hdel(META, *lost), one.freeze(T0 + SECOND)))
    assert commit_both(store, twin, batch)[2:] == [3, 4]


@pytest.mark.parametrize("key", [TIME_SET, IDS, RUN, TOLD, wait_key(), work_key("2"), COUNT, META,
                                 HISTORY])
@pytest.mark.parametrize("mode", MODES)
def test_key_of_another_type_stops_no_commit(store, twin, key, mode):
    runs = due(store, twin, ["1", "2", "3"])
    both(store, twin, lambda one: one.db.set(key, "by hand"))
    answer = commit_both(store, twin, [
        store.commit_args(ident, exec_id, mode, 7.5, "new", WORK, "failure", mode == "retry",
                          record="r") for ident, exec_id in zip("123", runs)])
    assert answer[2:] == ([-1] * 3 if key == RUN else [1, 2, 3])


def test_plans_of_several_stations_wait_and_wait_no_more(store, twin):
    def submit(one):
        one.freeze(T0)
        one.submit_all([(str(i), STATIONS[i % 2], i, text()) for i in range(1, 7)])
        return [plan.exec_id for plan in one.claim().plans]

    runs = submit(store)
    assert submit(twin) == runs
    for waits in ([1, 1, 1, 1, 1, 1], [1, 0, 0, 1, 0, 1], [0, 1, 0, 0, 1, 0]):
        commit_both(store, twin, [
            store.commit_args(str(i), exec_id, "lease", 9, wait=wait, station=STATIONS[i % 2])
            for i, exec_id, wait in zip(range(1, 7), runs, waits)])
        for station in STATIONS[:2]:
            assert store.waiting(station) == {member(str(i), station) for i in range(1, 7)
                                              if STATIONS[i % 2] == station and waits[i - 1]}


def test_batch_asked_again_when_its_plans_went_on(store, twin):
    store.freeze(T0)
    store.submit_all([(ident, "jobs", 1, text()) for ident in "12"])
    batch = [store.commit_args(plan.member[-1], plan.exec_id, "retry", 0, tell="result", record="r")
             for plan in store.claim().plans]
    answer = store.commit_all(batch, 40)
    assert answer[2:] == [1, 2] and len(store.claim().plans) == 2
    before = everything(store)
    assert store.commit_all(batch, 40) == answer and everything(store) == before
    assert store.commit_all(batch, 41)[2:] == [-1, -1] and everything(store) == before


# -- random calls

class Walk:
    """Random batches: on one store as they are, on the other one plan a call."""
    IDENTS = [f"{i:x}" for i in range(1, 13)] + ["10", "100", "1f0", BIG]

    def __init__(self, store, twin, rng):
        self.store, self.twin, self.rng = store, twin, rng
        self.now_us, self.last = T0, 0x1000
        self.runs = {}  # (ident, station) -> the last run
        both(store, twin, lambda one: one.freeze(T0))
        marked = rng.choice([32, 3])  # the messages of a claim of more are not written
        both(store, twin, lambda one: one.bounds.update(
            claim={"local FEW = 32\n": f"local FEW = {marked}\n"}))

    def ident(self):
        return self.rng.choice(self.IDENTS)

    def score(self):
        return self.now_us // SECOND + self.rng.randint(-3, 10)

    def submit(self):
        rng = self.rng
        count = rng.randint(1, 10)
        if rng.random() < 0.3:  # ids as the station makes them
            self.last += count
            idents = [f"{self.last + i:x}" for i in range(count)]
        else:
            idents = [self.ident() for _ in range(count)]
        most = rng.choice([(0, 0, 0), (rng.randint(1, 20), rng.randint(0, 9), rng.randint(0, 9))])
        plans = [(ident, rng.choice(STATIONS), self.score(), text(rng.choice(CALLERS)))
                 for ident in idents]
        return plans, most, submit_both(self.store, self.twin, plans, most)

    def claim(self):
        limit = self.rng.randint(1, 20)
        answers = [one.claim(limit, lease=5) for one in (self.store, self.twin)]
        assert answers[0] == answers[1] and everything(self.store) == everything(self.twin)
        for plan in answers[0].plans:
            _, _, station, ident = plan.member.split(":")
            self.runs[ident, station] = plan.exec_id
        return answers[0]

    def commit(self):
        count = min(len(self.runs), self.rng.randint(1, 12))
        runs = [args_of(self.store, self.rng, ident, station, exec_id, "5") for (ident, station), exec_id
                in self.rng.sample(sorted(self.runs.items()), count)]
        return runs, runs and commit_both(self.store, self.twin, runs)

    def clock(self):
        self.now_us += self.rng.choice([1, SECOND // 2, SECOND, 3 * SECOND, 70 * SECOND])
        both(self.store, self.twin, lambda one: one.freeze(self.now_us))

    def spoil(self):
        """By hand: a message or a key is deleted, or of another type."""
        station, ident = self.rng.choice(STATIONS), self.ident()
        key = self.rng.choice([member(ident, station)] * 6 + [
            TIME_SET, IDS, RUN, TOLD, META, HISTORY, COUNT, wait_key(station),
            work_key(ident, station)])
        kind = self.rng.choice(["delete", "delete", "set"])

        def change(one):
            one.db.delete(key)
            if kind == "set" and key.startswith("plan:msg:"):
                one.db.hset(key, "a", "b")
            elif kind == "set":
                one.db.set(key, "by hand")

        both(self.store, self.twin, change)
        return key, kind

    def step(self):
        name = self.rng.choice(["submit"] * 4 + ["claim"] * 4 + ["commit"] * 5 + ["clock"] * 3 +
                               ["spoil"])
        print(name, getattr(self, name)())


@pytest.mark.parametrize("turn", range(6))
def test_random_batches_are_as_the_calls_one_after_the_other(store, twin, turn):
    walk = Walk(store, twin, seeded(turn))
    for _ in range(120):
        walk.step()


@pytest.mark.parametrize("count", [1, 255, 256, 500])
def test_large_batch(store, twin, count):
    """As many as the station ever gives, and more."""
    idents = [f"{i:x}" for i in range(1, count + 1)]
    assert submit_both(store, twin, [(ident, STATIONS[i % 3], i, text()) for i, ident
                                     in enumerate(idents)], (count, count, count)) == [1] * count
    both(store, twin, lambda one: one.freeze(T0))
    for plans in (store.claim(count).plans, twin.claim(count).plans):
        assert len(plans) == count
    batch = [store.commit_args(ident, plan.exec_id, "end", tell="result", record="r",
                               station=plan.member.split(":")[2])
             for ident, plan in zip(idents, plans)]
    assert commit_both(store, twin, batch)[2:] == list(range(1, count + 1))
    assert set(store.dump()) == {META, HISTORY}
