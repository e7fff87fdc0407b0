"""Random calls against a small model of the store: the whole state is compared after each.

ZPLAN_STORE_SEED=N repeats a run; a failing one prints its seed and its last calls.
"""
import json
from collections import Counter

import pytest

from storescripts import (COUNT, HISTORY, IDS, META, RUN, T0, TIME_SET, TOLD, Claim,
                          caller_field, entry, held_as, member, message, pairs, score_after,
                          seeded, unpacked, wait_key, work_key)

SECOND = 1_000_000
STEPS = 400
PLANS = [("1", "jobs"), ("10", "jobs"), ("1f0", "job"), ("1f", "jobs"), ("1", "job"),
         ("7fffffffffffffff", "jobs"), ("7ffffffffffffffe", "job"), ("2", "jobs")]
STATIONS = ["jobs", "job"]
CALLERS = ['"exec_id":1,"exec_time":1,"revision":1,"plan_state":1\\', "alice", 'quo"te', "",
           {"b64": "AP8="}]
MODES = ["lease", "retry", "doubt", "next", "park", "end"]


def readable(rows):
    """The entries of a history, those records taken apart that the claim packed."""
    return [(name, {**row, "r": row["r"] if row["r"].startswith("record") else unpacked(row["r"])})
            for name, row in rows]


class Plan:
    def __init__(self, ident, station, score, text):
        self.ident, self.station = ident, station
        self.score, self.text = score, text  # score None: not in the queue
        self.run, self.again, self.doubt = None, False, False
        self.of_many = False  # the run is of a claim that did not look at the message
        self.work, self.told, self.waits = {}, None, None  # waits: since when

    @property
    def member(self):
        return member(self.ident, self.station)

    def fields(self):
        return json.loads(self.text)

    def revision(self):
        return self.fields()["revision"]

    def shown(self):
        """The message as it is to be read: of a run in hand it says so."""
        if self.run is None or self.fields()["exec_id"] == self.run:
            return self.text
        return self.running()

    def running(self):
        return message(**{**self.fields(), "exec_id": self.run, "plan_state": 2,
                          "exec_time": self.run // SECOND})

    def held(self):
        """Without a run in hand the revision is of no use."""
        if self.run is None:
            return "+"
        run = f"{self.run}{'+' * self.again}{'?' * self.doubt}"
        return held_as(run, "=" if self.of_many else self.revision())


class Model:
    """What the store promises, in plain words: plans by their id, three counters, and a history."""

    def __init__(self, marked_max):
        self.now_us = T0
        self.marked_max = marked_max  # the messages of a claim of more are not written
        self.plans = {}
        self.last_exec, self.seq, self.epoch = 0, 0, None
        self.history = []

    def submit(self, ident, station, score, text):
        held = self.plans.get(ident)
        if held:
            return [0, held.station, held.text]
        self.plans[ident] = Plan(ident, station, score, text)
        return [1]

    def claim(self, limit, lease):
        queued = [plan for plan in self.plans.values() if plan.score is not None]
        due = sorted((plan.score, plan.member, plan) for plan in queued
                     if plan.score <= score_after(self.now_us))
        rows = []
        for _, name, plan in due[:limit]:
            self.last_exec = max(self.last_exec + 1, self.now_us)
            before, lost = plan.run, plan.run is not None and not plan.doubt
            if lost:
                self.remember(plan, False, self.lost(plan))
                plan.again = True
            plan.doubt = False
            plan.run = self.last_exec
            plan.score = score_after(self.now_us, lease)
            plan.waits = None
            rows.append((name, plan.text, str(plan.run), 2 if lost else int(plan.again),
                         str(before) if lost else "", 0))
            plan.of_many = len(due[:limit]) > self.marked_max
            if not plan.of_many:
                plan.text = message(**{**plan.fields(), "exec_id": plan.run, "plan_state": 2,
                                       "exec_time": self.now_us // SECOND})
        later = min((plan.score for plan in queued if plan.score > score_after(self.now_us)),
                    default=None)
        return Claim(self.now_us, later, [], rows)

    def lost(self, plan):
        return {"title": plan.fields()["description"], "nominal": plan.fields()["plan_time"],
                "status": 0x86, "state": 2, "exec_id": plan.run, "worker": plan.station, "size": 0,
                "reason": "no result within the lease"}

    def remember(self, plan, broadcast, record):
        """Behind the last broadcast, each outcome has a number of its own."""
        behind = [name for name, _ in self.history if name.startswith(f"{self.seq}-")]
        name = f"{self.seq}-{0 if broadcast else len(behind) + (f'{self.seq}-0' not in behind)}"
        self.history.append((name, {"p": plan.ident, "s": plan.station,
                                    "t": str(self.now_us // 1000), "r": record}))

    def change(self, ident, station, revision, text, place, run):
        plan = self.plans.get(ident)
        if not plan or plan.station != station:
            return 0
        if plan.revision() != revision or str(plan.run or "") != run:
            return 2
        plan.text, plan.of_many = text, False
        if place == "out":
            plan.score, plan.waits = None, None
        elif place != "keep":
            plan.score = (score_after(self.now_us, float(place[1:])) if place[0] == "+" else
                          score_after(self.now_us) if place == "now" else float(place))
            plan.waits = None
        if place not in ("keep", "out") and place[0] != "+":  # an old run is of what was before
            plan.again |= plan.run is not None and not plan.doubt
            plan.run, plan.doubt = None, False
        return 1

    def commit(self, ident, station, exec_id, mode, when, text, work, tell, wait, revision, record,
               votes):
        plan = self.plans.get(ident)
        if not plan or plan.station != station or plan.run is None or str(plan.run) != exec_id:
            return [0]
        if revision not in ("", str(plan.revision())):
            return [2, plan.shown()]
        told = plan.told
        if mode == "end":
            del self.plans[ident]
        plan.text = text or plan.text
        plan.work = {} if votes == "o" else plan.work
        if mode != "end" or votes == "c":
            plan.work.update(work)
        shown = dict(plan.work) if votes == "c" else {}
        plan.score = (None if mode == "park" or when == "" else float(when) if mode == "next"
                      else score_after(self.now_us, float(when)))
        plan.doubt, plan.of_many = mode == "doubt", False
        if mode not in ("lease", "doubt"):
            plan.run, plan.again = None, plan.again and mode == "retry"
        plan.waits = self.now_us if wait else None
        now = self.now_us / 1e6
        silent = tell == "none" or tell == "failure" and told is not None and abs(now - told) < 60
        if tell == "failure" and not silent:
            plan.told = now
        self.seq += not silent
        if not silent and not self.epoch:
            self.epoch = f"{self.now_us // SECOND:x}{self.now_us % SECOND:05x}"
        if record:
            self.remember(plan, not silent, record)
        return [1, 0 if silent else self.seq, "" if silent else self.epoch, str(self.now_us), shown]

    def remove(self, ident, station):
        if ident not in self.plans or station not in ("", self.plans[ident].station):
            return 0
        return self.plans.pop(ident).station

    def waiting(self, station):
        return [plan for plan in self.plans.values()
                if plan.waits is not None and plan.station == station]

    def wake(self, station, limit):
        """Those that wait the longest."""
        first = sorted(self.waiting(station), key=lambda plan: (plan.waits, plan.member))[:limit]
        for plan in first:
            plan.waits = None
            if plan.score is not None:
                plan.score = min(plan.score, score_after(self.now_us))
        return len(first)

    def count(self):
        counted = Counter()
        for plan in self.plans.values():
            counted.update(["s:" + plan.station, caller_field(plan.text)])
        return {field: str(number) for field, number in counted.items()}

    def dump(self):
        """The state as Redis should show it: a key without content is not there."""
        plans = list(self.plans.values())
        keys = {
            TIME_SET: {plan.member: plan.score for plan in plans if plan.score is not None},
            IDS: {entry(plan.ident, plan.station): 0 for plan in plans},
            RUN: {plan.member: plan.held() for plan in plans
                  if plan.run is not None or plan.again},
            TOLD: {plan.member: f"{plan.told:.3f}" for plan in plans if plan.told is not None},
            META: {name: str(value) for name, value in (("exec", self.last_exec), ("seq", self.seq),
                                                        ("epoch", self.epoch)) if value},
            HISTORY: self.history,
        }
        for station in STATIONS:
            keys[wait_key(station)] = {plan.member for plan in self.waiting(station)}
        for plan in plans:
            keys[plan.member] = plan.text
            keys[work_key(plan.ident, plan.station)] = plan.work
        return {key: value for key, value in keys.items() if value}


class Walk:
    """One random walk: each step is done by both, and answers and states are compared."""

    def __init__(self, store, rng, marked_max):
        self.store, self.rng, self.model = store, rng, Model(marked_max)
        store.bounds["claim"] = {"local FEW = 32\n": f"local FEW = {marked_max}\n"}
        self.ran = []  # (ident, station, exec_id) of every run there was
        self.revision = 0
        self.store.freeze(T0)

    def score(self):
        # Whole seconds around now, so that scores meet the clock and one another.
        return self.model.now_us // SECOND + self.rng.randint(-3, 20)

    def message(self, ident):
        # With the fields that a script reads or writes in all orders, and inside of a string.
        self.revision += 1
        fields = [("plan_id", 0x7fffffffffffffff), ("x", self.rng.random()), ("exec_id", 0),
                  ("exec_time", 0), ("plan_state", 1), ("revision", self.revision),
                  ("plan_time", self.rng.randint(0, 2**33)), ("description", '"plan_time":1'),
                  ("caller", CALLERS[int(ident, 16) % len(CALLERS)])]
        return message(**dict(self.rng.sample(fields, len(fields))))

    def some_revision(self, ident):
        """Mostly the one that is stored."""
        plan = self.model.plans.get(ident)
        return self.rng.choice([plan.revision() if plan else 1] * 4 + [self.revision, 0])

    def submit(self):
        ident, station = self.rng.choice(PLANS)
        args = (ident, station, self.score(), self.message(ident))
        return args, self.store.submit(*args), self.model.submit(*args)

    def claim(self):
        args = (self.rng.randint(0, 5), self.rng.choice([1, 5, 2.5]))
        answer = self.store.claim(*args)
        for plan in answer.plans:
            _, _, station, ident = plan.member.split(":")
            self.ran.append((ident, station, plan.exec_id))
        return args, answer, self.model.claim(*args)

    def commit(self):
        rng = self.rng
        # Mostly a recent run, sometimes one that is over, now and then one there never was.
        ident, station, exec_id = rng.choice(self.ran[-8:] + self.ran[:1] or [("1", "jobs", "7")])
        mode = rng.choice(MODES)
        # The engine ends no plan with a failure, and none of those that end waits.
        tell = rng.choice(["none", "result"] + ["failure"] * (mode != "end"))
        args = dict(mode=mode, text=rng.choice(["", self.message(ident)]),
                    when=self.score() if mode == "next" else rng.choice([0, 1, 2.5, 10]),
                    work={name: f"[{rng.random()}]" for name in "abc" if rng.random() < 0.3},
                    tell=tell, wait=mode != "end" and rng.random() < 0.4, station=station,
                    revision=rng.choice(["", str(self.some_revision(ident))]),
                    # The engine keeps what is to be told: an outcome.
                    record="" if tell == "none" else f"record {rng.random()}",
                    votes=rng.choice(["", "", "", "o", "c"]))
        if rng.random() < 0.1:
            args["when"] = ""
        answer = self.store.commit(ident, exec_id, **args)
        if answer[0] == 1:
            answer[4] = dict(pairs(answer[4]))
        return (ident, exec_id, args), answer, self.model.commit(ident, exec_id=exec_id, **args)

    def change(self):
        rng = self.rng
        ident, station = rng.choice(PLANS)
        plan = self.model.plans.get(ident)
        station = plan.station if plan and rng.random() < 0.8 else station
        run = str(plan.run or "") if plan and rng.random() < 0.8 else rng.choice(["", "17"])
        args = (ident, station, self.some_revision(ident), self.message(ident),
                rng.choice(["keep", "out", "now", "+3", str(self.score())]), run)
        answer = self.store.change(ident, args[2], args[3], args[4], run=run, station=station)
        return args, answer, self.model.change(*args)

    def remove(self):
        args = (self.rng.choice(PLANS)[0], self.rng.choice(["", *STATIONS]))
        return args, self.store.remove(*args), self.model.remove(*args)

    def wake(self):
        args = (self.rng.choice(STATIONS), self.rng.choice([1, 2, 100]))
        return args, self.store.wake(*args), self.model.wake(*args)

    def clock(self):
        """Time goes on; rarely it is set back."""
        step = self.rng.choice([1, 1000, SECOND // 2, SECOND, 3 * SECOND, 70 * SECOND])
        self.model.now_us += -step if self.rng.random() < 0.1 else step
        if self.rng.random() < 0.5:
            self.model.now_us -= self.model.now_us % SECOND
        self.store.freeze(self.model.now_us)
        return self.model.now_us, None, None

    def hand(self):
        """An operator moves a score."""
        queued = [plan for plan in self.model.plans.values() if plan.score is not None]
        if not queued:
            return (), None, None
        plan = self.rng.choice(queued)
        plan.score = self.score() + self.rng.choice([0, 0.25])
        self.store.db.zadd(TIME_SET, {plan.member: plan.score})
        return (plan.member, plan.score), None, None

    def look(self):
        """load, list, history, stats and sweep tell the state and change nothing."""
        plans = sorted(self.model.plans.values(), key=lambda plan: int(plan.ident, 16))
        assert self.store.list() == [(entry(plan.ident, plan.station), plan.shown())
                                     for plan in plans]
        told = self.store.history(limit=1, newest=True)
        assert (told.seq, told.epoch) == (self.model.seq, self.model.epoch or "")
        assert [row.entry for row in told.outcomes] == [name for name, _ in self.model.history[-1:]]
        queued = [plan for plan in plans if plan.score is not None]
        due = [plan for plan in queued if plan.score <= score_after(self.model.now_us)]
        assert self.store.stats()[:3] == [len(plans), len(queued), len(due)]
        outside = [(plan.member, plan.text) for plan in plans if plan.score is None]
        ident = self.rng.choice(PLANS)[0]
        plan = self.model.plans.get(ident)
        loaded = [plan.member, plan.shown()] if plan else []
        return ident, (self.store.sweep(), self.store.load(ident)[:2]), (("", 0, outside), loaded)

    def step(self):
        name = self.rng.choice(["submit"] * 5 + ["claim"] * 5 + ["commit"] * 8 + ["change"] * 4 +
                               ["clock"] * 5 + ["remove", "wake", "wake", "hand", "look"])
        args, answer, expected = getattr(self, name)()
        print(name, args, "->", answer)
        assert answer == expected
        stored = self.store.dump()
        if HISTORY in stored:
            stored[HISTORY] = readable(stored[HISTORY])
        for name, held in stored.get(RUN, {}).items():
            stored[RUN][name] = "+" if held.startswith("+") else held
        assert stored == self.model.dump()
        assert self.store.db.hgetall(COUNT) == self.model.count()


@pytest.mark.parametrize("marked_max", [32, 1])
@pytest.mark.parametrize("turn", range(4))
def test_random_calls_agree_with_the_model(store, turn, marked_max):
    walk = Walk(store, seeded(turn), marked_max)
    for _ in range(STEPS):
        walk.step()
