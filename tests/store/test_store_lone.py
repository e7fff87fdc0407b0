"""One plan or run in a call, or several that end: what claim, end and commit do before their functions are made is what they do with
them, whatever else there is; and it is done so when nothing is unusual.

ZPLAN_STORE_SEED=N repeats a run of the random tests.
"""
import pytest

from storescripts import (CLAIMS, COUNT, HISTORY, IDS, META, RUN, SENT, T0, TIME_SET, TOLD, WORK, both, entry, everything,
                          member, message, seeded, wait_key)

SCRIPTS = {"claim": "not is_late and (claim_one() or claim_many())", "commit": "#ARGV >= 16 and commit_one()",
           "end": "end_usual()"}
WITHOUT = {name: {f" = {asked}\n": " = nil\n"} for name, asked in SCRIPTS.items()}
REST = {"claim": "any number of them", "commit": "any number of them", "end": "whatever they are"}
ALONE = {name: {f"\n-- -- {rest}\n": "\nerror('not as usual')\n"} for name, rest in REST.items()}
STATIONS = ["jobs", "a.b-c_D9"]
SECOND = 1_000_000


def text(revision=5, number=0, time=0, state=1, caller="alice", **fields):
    """A message as the station writes it."""
    head = f'{{"exec_id":{number:<16},"exec_time":{time:<10},"plan_state":{state},"revision":{revision}'
    return f'{head},"caller":"{caller}",{message(**fields or {"x": 1})[1:]}'


def started(store):
    """What the first calls leave: a number of a broadcast, answers that are kept, more plans than one."""
    store.freeze(T0)
    for ident in ("f1", "f2"):
        store.submit(ident, score=T0 / SECOND - 1, text=text())
    runs = {plan.member: plan.exec_id for plan in store.claim(limit=2).plans}
    store.commit("f1", runs[member("f1")], "next", 4_000_000_000, text(6), work=WORK, tell="result", record="r")
    store.commit("f2", runs[member("f2")], "next", 4_000_000_000, text(6), work=WORK, tell="result", record="r")
    store.freeze(T0 + SECOND)


def test_usual_life_needs_no_function(store):
    started(store)
    store.submit("1", score=T0 / SECOND, text=text())
    store.bounds = ALONE
    targets = [("other", 0, "held", 0), ("jobs", 1, "next", 0)]
    now, later, *rest = store.claim_all(256, targets=targets)
    (run, given), then = rest[-2:], T0 + SECOND
    assert (now, float(later), given) == (str(then), then / SECOND + 300, text())
    assert store.db.get(member("1")) == text(number=then, time=then // SECOND, state=2)
    store.freeze(then + 1)
    assert store.commit("1", run, "lease", 300, text(7, then), revision="5")[:2] == [1, 0]
    assert store.commit("1", run, "lease", 300, revision="7")[:2] == [1, 0]
    assert store.commit("1", run, "next", 1_700_000_100, text(8), revision="7", work=WORK, tell="result",
                        record="r")[:2] == [1, 3]
    assert store.claim_all(256, targets=targets)[:2] == [str(then + 1), "1700000100"]
    store.freeze(1_700_000_100 * SECOND)
    run = store.run("1")
    assert store.end_all([("1", "jobs", run, "8", "r")])[2] == 4
    assert store.claim_all()[1] == "4000000000"
    assert store.db.zrange(TIME_SET, 0, -1) == [member("f1"), member("f2")]
    assert [outcome.entry for outcome in store.history().outcomes] == ["1-0", "2-0", "3-0", "4-0"]
    store.dump()  # the counts are those of the index


def test_usual_ends_of_several_need_no_function(store):
    started(store)
    rows = []
    for n in range(1, 9):
        store.submit(str(n), station=STATIONS[n % 2], score=n, text=text(caller="ab"[n % 2]))
    for plan in store.claim(limit=6).plans:
        station, ident = plan.member.split(":")[2:]
        rows.append((ident, station, plan.exec_id, "5", f"r{ident}"))
    store.bounds = ALONE
    assert store.end_all(rows)[1:] == [store.db.hget(META, "epoch"), 3]
    assert [outcome.record for outcome in store.history().outcomes] == ["r", "r", *(row[4] for row in rows)]
    assert store.db.exists(*(member(row[0], row[1]) for row in rows)) == 0
    assert store.db.hgetall(RUN) == {} and store.db.zcard(TIME_SET) == 4
    store.dump()  # the counts are those of the index


@pytest.mark.parametrize("how", ["next", "end"])
def test_history_is_trimmed_all_the_same(store, how):
    """Each 64th call does it, and Redis takes whole nodes of 100 out."""
    started(store)
    for i in range(330):
        store.submit("1", score=1, text=text())
        run = store.run("1")
        if how == "next":
            store.commit("1", run, "next", 4_000_000_000, text(8), revision="5", work=WORK, tell="result",
                         record="r", keep=10)
            store.remove("1")
        else:
            assert len(store.end_all([("1", "jobs", run, "5", "r")], keep=10)) == 3
        store.freeze(T0 + 2 * SECOND + i)
        assert store.db.xlen(HISTORY) <= 10 + 64 + 100


# -- random calls, and whatever an operator may do between them

class Walk:
    def __init__(self, store, twin, rng):
        self.stores, self.rng = (store, twin), rng
        self.now, self.revision, self.runs = T0, 100, {}
        for one in self.stores:
            started(one)
        twin.bounds = WITHOUT

    def each(self, call):
        answers = [call(one) for one in self.stores]
        assert answers[0] == answers[1]
        assert everything(self.stores[0]) == everything(self.stores[1])
        for key in (CLAIMS, SENT):
            kinds = [one.db.type(key) for one in self.stores]
            assert kinds[0] == kinds[1]
            if kinds[0] != "none":
                read = {"string": "get", "hash": "hgetall", "list": "llen"}[kinds[0]]
                assert getattr(self.stores[0].db, read)(key) == getattr(self.stores[1].db, read)(key)
        return answers[0]

    def next_revision(self):
        self.revision += 1
        return self.revision

    def plan(self):
        return self.rng.choice("123456"), self.rng.choice(STATIONS)

    def submit(self):
        ident, station = self.plan()
        score = self.now / SECOND + self.rng.choice([-1, 0, 0.000001, 0.5, 5])
        written = self.rng.choice([text(self.next_revision()), message(exec_id=0, plan_state=1, caller="bob")])
        self.each(lambda one: one.submit_all([(ident, station, f"{score:.6f}", written)]))

    def wait(self):
        self.now += self.rng.choice([1, 1000, SECOND, 400 * SECOND])
        for one in self.stores:
            one.freeze(self.now)

    def claim(self):
        targets = [(station, self.rng.choice([0, 1, 5]), self.rng.choice(["next", "held"]), int(self.rng.random() < 0.1))
                   for station in STATIONS if self.rng.random() < 0.7]
        options = {"limit": self.rng.choice([0, 1, 100]), "lease": self.rng.choice([2, 300]), "targets": targets,
                   "ahead": self.rng.choice([0, 0, 20_000])}
        again = self.rng.random() < 0.1
        numbers = {id(one): one.number if again else one.next_number() for one in self.stores}

        def ask(one):
            answer = one.claim_all(number=numbers[id(one)] or 1, **options)
            return [answer[0], answer[1] and float(answer[1]), *answer[2:]]

        rows = self.each(ask)[7:]
        self.runs.update((key, str(run).split(" ")[0]) for key, run in zip(rows[::3], rows[1::3]))

    def known(self, key):
        db = self.stores[0].db
        held = db.hget(RUN, key) if db.type(RUN) == "hash" else ""
        return (held or "").partition(" ")[2] if self.rng.random() < 0.9 else "77"

    def commit(self, mode):
        key = self.rng.choice(sorted(self.runs) or [member("1")])
        station, ident = key.split(":")[2:]
        run, known = self.runs.get(key, "1"), self.known(key)
        options = {"lease": {"when": 300}, "retry": {"when": 2}, "doubt": {"when": 2},
                   "next": {"when": f"{self.now // SECOND + 1}", "work": WORK, "tell": "result", "record": "r"}}[mode]
        if self.rng.random() < 0.8:
            options["text"] = text(self.next_revision())
        number = self.stores[0].number if self.rng.random() < 0.05 else None
        self.each(lambda one: one.commit(ident, run, mode, station=station, revision=known, number=number, **options))

    def end(self, most=1):
        keys = self.rng.sample(sorted(self.runs), min(len(self.runs), most)) or [member("1")]
        rows = [(*reversed(key.split(":")[2:]), self.runs.get(key, "1"), self.known(key), "r") for key in keys]
        self.each(lambda one: one.end_all(rows))

    def meddle(self):
        rng, (ident, station) = self.rng, self.plan()
        key, wrong = member(ident, station), rng.choice([TIME_SET, IDS, RUN, META, TOLD, HISTORY, COUNT, SENT, CLAIMS,
                                                         wait_key(station), key_of_work(ident, station)])
        gone = rng.choice([META, COUNT, SENT, CLAIMS, HISTORY, RUN])
        kinds = {name: self.stores[0].db.type(name) for name in (RUN, META, TOLD, COUNT)}

        def hash_set(name, field, value):
            return lambda db: kinds[name] in ("hash", "none") and db.hset(name, field, value)

        does = rng.choice([
            lambda db: db.delete(key), lambda db: db.delete(gone),
            lambda db: (db.delete(wrong), db.rpush(wrong, "x")),
            lambda db: db.zadd(wait_key(station), {key: 1}) if db.type(wait_key(station)) != "list" else None,
            lambda db: db.zrem(IDS, entry(ident, station)) if db.type(IDS) == "zset" else None,
            hash_set(TOLD, key, "1"), hash_set(META, "exec", str(self.now + 50)), hash_set(META, "seq", "126"),
            hash_set(COUNT, f"s:{station}", rng.choice(["x", "1", "1.5", "-1", "9223372036854775807"])),
            hash_set(RUN, key, rng.choice(["+", "5? 100", "5+ 100", "5", "5 ="]))])
        for one in self.stores:
            does(one.db)


def key_of_work(ident, station):
    return f"plan:work:{station}:{ident}"


@pytest.mark.parametrize("turn", range(12))
def test_random_calls_change_the_same(store, twin, turn):
    rng = seeded(turn)
    walk = Walk(store, twin, rng)
    steps = [walk.submit] * 4 + [walk.wait] * 4 + [walk.claim] * 6 + [walk.end] * 3 + [lambda: walk.end(4)] * 2 + [
        lambda: walk.commit("lease")] * 4 + [lambda: walk.commit("next")] * 4 + [
        lambda: walk.commit(rng.choice(["retry", "doubt"]))] + [walk.meddle] * (turn % 3)
    for _ in range(150):
        rng.choice(steps)()
