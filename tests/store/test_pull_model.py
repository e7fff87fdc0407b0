"""Plans that workers fetch, decided by the core, against team.lua: random operations on both give the same answers and
leave the same in Redis. Database 0 is team.lua's; what the core writes goes to database 1, and rows of anything that
team.lua does not decide (submissions, claims, ends, changes) to both."""
import json
import os
import pathlib
import subprocess

import pytest

from storescripts import META, RUN, T0, TIME_SET, digits, member, seeded, team_key

REPO = pathlib.Path(__file__).parents[2]
LEASE_S = 300
WORKERS = ["w1", "w2", "w3", "a.b@c", "worker-with-a-long-name-" + "x" * 40]
KEEP, OUT, AT, AT_LEASE = range(4)                 # of core_change
LEASE, DOUBT, RETRY, PAST, OVER, GONE = range(6)   # of core_commit


def hexed(word):
    return str(word).encode("latin-1").hex() or "-"


def unhexed(word):
    return "" if word == "-" else bytes.fromhex(word).decode("latin-1")


class Core:
    def __init__(self):
        tool = pathlib.Path(os.environ.get("ZPLAN_ZONE_DUMP", REPO / "build/tests/zone_dump")).with_name("pull_driver")
        self.process = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.rows = []

    def call(self, command, *words, found=None):
        read = " F " + " ".join(map(hexed, found)) if found is not None else ""
        self.process.stdin.write(" ".join([command, *map(hexed, words)]) + read + "\n")
        self.process.stdin.flush()
        self.rows, answer = [], None
        for line in self.process.stdout:
            kind, *rest = line.split()
            if kind == "end":
                return answer
            if kind == "answer":
                answer = [unhexed(word) for word in rest]
            else:
                self.rows.append([unhexed(word) for word in rest])
        raise AssertionError(f"the driver ended: {self.process.wait()}")

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=10) == 0


def plan_text(head, ident, exec_id=0, state=1, revision=1, **fields):
    """A message as the station writes it, or as somebody else does."""
    rest = json.dumps(fields, separators=(",", ":") if head else (", ", " : "))
    if head:
        return (f'{{"exec_id":{exec_id:<16d},"exec_time":{exec_id // 1000000:<10d},"plan_state":{state}'
                f',"revision":{revision},"caller":"me","plan_id":{int(ident, 16)},' + rest[1:])
    return f'{{"plan_state" : {state}, "revision":{revision}, "exec_time": 0, "exec_id" : {exec_id},' + rest[1:]


class Plan:
    def __init__(self, ident, head, fields):
        self.ident, self.head, self.fields = ident, head, fields
        self.revision, self.state, self.exec_id = 1, 1, 0  # exec_id: of the run in flight, 0 = none
        self.priority, self.group = fields.get("priority", 0), fields.get("group", "")

    def text(self, **more):
        self.revision += 1
        self.fields |= more
        return plan_text(self.head, self.ident, self.exec_id, self.state, self.revision, **self.fields)


class Twins:
    """team.lua and the core, side by side."""

    def __init__(self, store, twin, rng):
        self.lua, self.db, self.rng, self.core = store, twin.db, rng, Core()
        self.plans, self.seen, self.next_ident = {}, set(), 0x1f
        self.limits, self.decided, self.log = {}, False, []
        self.compared = {}
        self.move(T0)

    def move(self, now_us):
        self.now_us = now_us
        self.lua.freeze(now_us)
        self.core.call("now", now_us)

    # -- batches

    def write(self, dbs, rows):
        for db in dbs:
            with db.pipeline(transaction=True) as pipe:
                for row in rows:
                    pipe.execute_command(*row)
                pipe.execute()

    def flush(self):
        """Write what team.lua has decided as well, and compare."""
        self.send([self.db])
        self.compare()

    def send(self, dbs):
        if self.core.call("batch") == ["1"]:
            self.write(dbs, self.core.rows)
            self.core.call("acked")
        self.decided = False

    def both(self, command, *words):
        """Something that team.lua does not decide."""
        if self.decided:
            self.flush()
        answer = self.core.call(command, *words)
        self.log.append((command, *words, answer))
        self.send([self.lua.db, self.db])
        return answer

    def state(self, db):
        teams = {key: db.hgetall(key) for key in db.keys("plan:team:*")}
        texts = {key: db.get(key) for key in db.keys("plan:msg:*")}
        return {"teams": teams, "texts": texts, "queue": dict(db.zrange(TIME_SET, 0, -1, withscores=True)),
                "runs": db.hgetall(RUN), "reports": db.zrange("plan:reports", 0, -1, withscores=True)}

    def compare(self):
        one, other = self.state(self.lua.db), self.state(self.db)
        for name, wanted in one.items():
            assert other[name] == wanted, (name, self.story())
        tokens = [{name: int(float(text)) for name, text in db.hgetall("plan:tokens").items()}
                  for db in (self.lua.db, self.db)]
        assert all(abs(tokens[0][name] - tokens[1].get(name, 0)) <= 2 for name in tokens[0]), tokens

    # -- what is read

    def found(self, ident, report=""):
        text, score = self.db.get(member(ident)), self.db.zscore(TIME_SET, member(ident))
        team = self.db.hgetall(team_key(ident))
        known = self.db.zscore("plan:reports", report) if report else None
        fields = [word for field in team.items() for word in field]
        return ["jobs" if text else "", text or "", -1 if score is None else round(score * 1e6),
                -1 if known is None else int(known), *fields]

    def ask(self, command, ident, *words):
        """An operation, repeated with what is read when it wants that. None: there is nothing of it."""
        answer = self.core.call(command, *words)
        if answer[0] == "unread":
            if self.decided:
                self.flush()
            found = self.found(ident, answer[1] if len(answer) > 1 else "")
            answer = self.core.call(command, *words, found=found)
            self.compared["read"] = self.compared.get("read", 0) + 1
        self.decided = True
        return answer

    def same(self, what, one, other):
        self.log.append((what, other))
        self.compared[what] = self.compared.get(what, 0) + 1
        assert one == other, self.story()

    def story(self):
        """What led to a difference."""
        print("\n".join(str(step)[:600] for step in self.log[-40:]))
        return self.now_us

    # -- operations that are decided twice

    @staticmethod
    def outcome(words):
        return [int(words[1]), int(words[2]), *words[3:6]] if words[0] == "1" else []

    def offer(self, ident, exec_id, stands):
        self.log.append(("offer", ident, exec_id, stands))
        answer = self.ask("offer", ident, "jobs", ident, exec_id, int(stands), LEASE_S * 1000000)
        wanted = self.lua.team("offer", ident, exec_id, int(stands))
        mine = [0] if answer[0] != "done" else [1, int(answer[1]), int(answer[2]), self.outcome(answer[3:])]
        self.same("offered", wanted, mine)
        return mine

    def take(self, worker, limit=1, start=0, alone=False, members=()):
        self.log.append(("take", worker, limit, alone, members))
        answer = self.core.call("take", "jobs", worker, limit, start, LEASE_S * 1000000, int(alone), *members)
        self.decided = True
        # Else a run whose workers were all late is counted twice as it begins anew.
        self.lua.db.delete(*(f"plan:busy:{name}" for name in ("s:jobs", "g:a", "g:b")))
        wanted = self.lua.team("take", worker, limit, start, "", int(alone), *members)
        following, limited, wait_ms, *jobs = answer
        assert following == str(wanted[0] or 0), (answer[:3], wanted[:2])
        # A wait is rounded by both.
        wait = None if wanted[1] == "" else wanted[1]
        assert (limited == "1") == (wait is not None), (answer[:3], wanted[:2], self.story())
        assert not wait or abs(int(wait_ms) - wait) <= 1, (answer[:3], wanted[:2], self.story())
        mine = [(member(jobs[i]), jobs[i + 1], int(jobs[i + 2]), int(jobs[i + 3]), jobs[i + 4])
                for i in range(0, len(jobs), 5)]
        theirs = [tuple([wanted[i], str(wanted[i + 1]), *wanted[i + 2:i + 5]]) for i in range(2, len(wanted), 5)]
        self.same("taken", theirs, mine)
        for _ in mine:
            self.compared["job"] = self.compared.get("job", 0) + 1
        return int(following), [job[0].rpartition(":")[2] for job in mine]

    def alive(self, ident, worker, exec_id="", progress="", release=False, target="jobs"):
        self.log.append(("alive", ident, worker, exec_id, progress, release))
        answer = self.ask("alive", ident, ident, target, worker, exec_id, LEASE_S * 1000000, progress, int(release))
        wanted = self.lua.team("alive", digits(ident), worker, exec_id, progress, "1" if release else "",
                               station=target)
        mine = [0, answer[1]] if answer[1] else [1, int(answer[2]), int(answer[3])]
        self.same("alive", wanted, mine)
        return mine[0]

    def report(self, ident, worker, exec_id, success=True, reason="", result="", repeat=False):
        self.log.append(("report", ident, worker, exec_id, success, reason, result, repeat))
        answer = self.ask("report", ident, ident, "jobs", worker, exec_id, LEASE_S * 1000000, int(success), int(repeat),
                          reason, result)
        wanted = self.lua.team("reported" if repeat else "report", digits(ident), worker, exec_id,
                               "success" if success else "fail", reason, result)
        if answer[1]:
            mine = [0, answer[1]]
        elif answer[2] == "0":
            mine = [1]
        else:
            run = answer[2] + ("+" if answer[3] == "1" else "")
            mine = [1, self.outcome(answer[5:]), member(ident), run, answer[4]]
            wanted[3] = wanted[3].split("?")[0].split(" ")[0]
        self.same("report", wanted, mine)
        return mine

    def team(self, ident):
        answer = self.ask("team", ident, ident, "jobs", "", "", 0)
        wanted = self.lua.team("team", digits(ident))
        if answer[0] != "done":
            assert wanted == []
            return
        rows = answer[3:]
        mine = [[*rows[i:i + 2], *map(int, rows[i + 2:i + 5]), *rows[i + 5:i + 9]] for i in range(0, len(rows), 9)]
        self.same("team", [wanted[2] or "0", wanted[3], *wanted[4:]], [answer[1], int(answer[2]), *mine])

    # -- the rest of a station

    def submit(self, due_us=None, **fields):
        ident, self.next_ident = f"{self.next_ident:x}", self.next_ident + 1
        plan = Plan(ident, self.rng.random() < 0.7, {"plan_time": 1_700_000_000, "error_count": 0, **fields})
        self.plans[ident] = plan
        self.both("submit", "jobs", ident, plan.text(), plan.revision, due_us or self.now_us, plan.priority, plan.group)
        return ident

    def page(self):
        if self.core.call("wantspage") == ["1"]:
            classes = self.db.hgetall("plan:class")
            rows = []
            for name, score in self.db.zrange(TIME_SET, 0, -1, withscores=True):
                rows += ["jobs", name.rpartition(":")[2], round(score * 1e6), classes.get(name, "")]
            self.core.call("page", *rows)

    def claim(self):
        """Run the next plan that is due, and offer it: (id, answer), or None."""
        if self.decided:
            self.flush()
        self.page()
        chosen = self.core.call("choose")
        if not chosen:
            return None
        ident = chosen[1]
        if self.rng.random() < 0.1:
            self.core.call("letgo")
            return None
        _, text, score, *_ = self.found(ident)
        run = self.db.hget(RUN, member(ident)) or ""
        taken = self.both("claim", text, score, run)
        if not taken:
            return None
        plan = self.plans[ident]
        stands = '"plan_state":2' in taken[3] or '"plan_state" : 2' in taken[3]
        plan.exec_id = int(taken[0])
        if plan.state < 5:
            plan.state = 2
        return ident, self.offer(ident, taken[0], stands)

    def end(self, ident, how, **fields):
        """The run ends."""
        plan = self.plans[ident]
        run, plan.exec_id, plan.state = plan.exec_id, 0, 1
        due_us = self.now_us + self.rng.randrange(0, 3_000_000)
        text = "" if how == GONE else plan.text(**fields)
        assert self.both("commit", "jobs", ident, run, how, due_us, text, plan.revision) == ["0"]
        if how == GONE:
            del self.plans[ident]

    def change(self, ident, place, state=None, **fields):
        """An admin changes it."""
        plan, was = self.plans[ident], None
        if self.decided:
            self.flush()
        stored = self.db.get(member(ident))
        was = int(stored.split('"revision":')[1].split(",")[0])
        run = plan.exec_id
        if place == AT:
            plan.exec_id = 0
        if state is not None:
            plan.state = state
        text = plan.text(**fields)
        assert self.both("change", "jobs", ident, text, plan.revision, was, run, place,
                         self.now_us + 1_000_000, plan.priority, plan.group) == ["0"]
        if plan.exec_id:  # team.lua leaves it to the next heartbeat to offer what a change has freed
            self.offer(ident, plan.exec_id, True)

    def limit(self, name, concurrency=0, rate=0, burst=0):
        if self.decided:
            self.flush()
        text = f"{concurrency or ''} {rate or ''} {burst or ''}"
        self.log.append(("limit", name, text))
        if concurrency or rate:
            self.lua.db.hset("plan:limits", name, text)
        else:
            self.lua.db.hdel("plan:limits", name)
        self.lua.db.delete("plan:busy:" + name)  # as limits.lua
        self.limits[name] = (concurrency, rate, burst)
        self.core.call("limit", name, concurrency, rate, burst)

    def take_over(self):
        """Another owner: all is read again."""
        if self.decided:
            self.flush()
        self.log.append(("takeover",))
        self.core.call("reset", self.db.hget(META, "exec") or 0, len(self.plans))
        for name, limit in self.limits.items():
            self.core.call("limit", name, *limit)
        for name, used in self.db.hgetall("plan:tokens").items():
            self.core.call("tokens", name, used)
        for name, run in self.db.hgetall(RUN).items():
            self.core.call("run", "jobs", name.rpartition(":")[2], run)
        for name, of_class in self.db.hgetall("plan:class").items():
            self.core.call("class", "jobs", name.rpartition(":")[2], of_class)
        while idents := self.core.call("unread"):
            for ident in idents:
                self.core.call("load", "jobs", ident, found=self.found(ident))
        self.page()


@pytest.fixture
def twins(store, twin):
    made = []

    def make(turn):
        made.append(Twins(store, twin, seeded(turn)))
        return made[-1]
    yield make
    for one in made:
        one.core.close()


def workers_of(rng):
    rule = {}
    if rng.random() < 0.6:
        rule["count"] = rng.randrange(1, 4)
    if rng.random() < 0.3:
        rule["only"] = rng.sample(WORKERS, rng.randrange(0, 4))
    if rng.random() < 0.5:
        rule["worker_timeout"] = rng.randrange(31, 90)
    if rng.random() < 0.3:
        rule["ping_interval"] = rng.randrange(1, 30)
    if rng.random() < 0.4:
        rule["again"] = rng.random() < 0.7
    return rule


def fields_of(rng):
    fields = {"tenant": rng.choice(["acme", "other"]), "workers": workers_of(rng)}
    if rng.random() < 0.3:
        fields["timeout"] = rng.randrange(20, 400)
    if rng.random() < 0.2:
        fields["extra"] = 1
    if rng.random() < 0.3:
        fields["priority"] = rng.choice([1, 7, 255])
    if rng.random() < 0.4:
        fields["group"] = rng.choice(["a", "b"])
    return fields


def end_one(twins, ident, complete):
    rng, fields = twins.rng, twins.plans[ident].fields
    how = rng.choice([RETRY, PAST, OVER, GONE] if complete else [RETRY, OVER])
    if how in (RETRY, PAST):
        twins.end(ident, how, error_count=fields["error_count"] + 1)
    else:
        twins.end(ident, how, error_count=0, plan_time=fields["plan_time"] + 60, extra=rng.choice([0, 0, 1]))


def manage(twins, ident):
    rng, plan = twins.rng, twins.plans[ident]
    what = rng.randrange(5)
    if what == 0 and plan.state < 5:
        twins.change(ident, OUT, state=rng.choice([5, 5, 5, 7]))
    elif what == 1 and plan.state >= 5:
        twins.change(ident, AT_LEASE if plan.exec_id else AT, state=2 if plan.exec_id else 1)
    elif what == 2:
        twins.change(ident, KEEP, workers=workers_of(rng))
    elif what == 3:
        twins.change(ident, AT, state=1, error_count=0, plan_time=plan.fields["plan_time"] + 60)
    elif what == 4 and rng.random() < 0.3:
        plan.exec_id = 0
        twins.both("remove", "jobs", ident)
        del twins.plans[ident]


def turn(twins):
    rng = twins.rng
    twins.move(twins.now_us + rng.choice([1, 999, 1000, 250_000, 3_000_000, 20_000_000])
               + rng.randrange(0, 2000))
    what = rng.randrange(100)
    idents = list(twins.plans)
    ident = rng.choice(idents) if idents else ""
    worker = rng.choice(WORKERS)
    if what < 8 and len(idents) < 12:
        twins.submit(**fields_of(rng))
    elif what < 28:
        for _ in range(rng.randrange(1, 5)):
            offered = twins.claim()
            if offered and offered[1][0] == 1 and (offered[1][3] or offered[1][2]) and rng.random() < 0.8:
                end_one(twins, offered[0], bool(offered[1][3]))
    elif what < 55:
        members = rng.choice([[], [], [], ['"tenant":"acme"'], ['"tenant":"acme"', '"revision"']])
        _, got = twins.take(worker, rng.randrange(1, 4), alone=rng.random() < 0.5, members=members)
        for one in got:
            twins.seen.add((one, worker, twins.plans[one].exec_id))
    elif what < 80 and twins.seen:
        ident, worker, exec_id = rng.choice(sorted(twins.seen))
        exec_id = rng.choice([exec_id, exec_id, exec_id, exec_id + 1])
        if rng.random() < 0.45:
            twins.alive(ident, worker, rng.choice([exec_id, ""]), rng.choice(["", "half", "x" * 200]),
                        rng.random() < 0.1, rng.choice(["jobs", "jobs", "", "other"]))
            return
        answer = twins.report(ident, worker, exec_id, rng.random() < 0.6, rng.choice(["", "why", "y" * 300]),
                              rng.choice(["", '"text"', '"' + "z" * 70000 + '"']), rng.random() < 0.1)
        if answer[0] == 1 and len(answer) > 1 and answer[1] and rng.random() < 0.8:
            end_one(twins, ident, True)
    elif what < 86 and ident:
        twins.team(ident)
    elif what < 94 and ident:
        manage(twins, ident)
    elif what < 97:
        name = rng.choice(["s:jobs", "g:a", "g:b"])
        kind = rng.randrange(3) if name != "s:jobs" else rng.choice([0, 0, 1, 2])
        rate = rng.choice([0.1, 0.5, 2])
        twins.limit(name, *[(0, 0, 0), (rng.randrange(1, 4), 0, 0), (0, rate, rng.randrange(0, 3))][kind])
    elif what == 97:
        twins.take_over()
    if rng.random() < 0.5:
        twins.flush()


@pytest.mark.parametrize("number", range(4))
def test_the_core_decides_as_team_lua_does(twins, number):
    pair = twins(number)
    for _ in range(1000):
        turn(pair)
    pair.flush()
    print(pair.compared)
    assert min(pair.compared[what] for what in ("offered", "job", "alive", "report", "team", "read")) > 10
