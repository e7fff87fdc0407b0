"""Make schema1.json.gz: a database of schema 1 with plans in all states, as the last version of that schema left it.

    git worktree add OLD 7cc428c && meson setup OLD-BUILD OLD && ninja -C OLD-BUILD
    ZPLAN_BIN_DIR=OLD-BUILD/src python3 tests/store/make_schema1.py OLD tests/store/schema1.json.gz

It plays the targets and the workers of a real station of that version with the tests of that version, kills it in the
middle of its work, and writes all keys, and the time of Redis at that moment. Texts are latin-1: a character for each
byte.
"""
import gzip
import json
import random
import re
import sys
import time

OLD, OUT = sys.argv[1:3]
sys.path.insert(0, OLD + "/tests/system")
from microzero import FLAVOURS, FakeCenter                                          # noqa: E402
from pulltest import Worker, workers                                        # noqa: E402
from zplantest import (FT, ST, FakeTarget, Rig, at_once, every, later, unframe, wait_until)     # noqa: E402

random.seed(1)
FAILS = {"retry": {"strategy": "fixed", "interval": 1, "max": 1}}
STATIONS = {"slow": "api", "full": "api", "lots": "api", "away": "api", "board": "vote"}


class Maker:
    def __init__(self):
        self.center = FakeCenter(FLAVOURS[0], Test="api")
        self.rig = rig = Rig("--send-timeout", "1000", "--exec-timeout", "2", "--max-runs-target", "8",
                             "--max-plans-caller", "100000", "--station", "pile=pull", "--station",
                             self.center.target("Test"))
        self.targets = {"jobs": rig.jobs, "news": rig.news}
        for name, kind in STATIONS.items():
            rig.station.args += ["--station", f"{name}={kind}@{rig.ipc(name)}"]
            if name != "away":
                self.targets[name] = rig.keep(FakeTarget(rig.ipc(name)))
        rig.start()

    def restart(self, **settings):
        """As after a crash: what it had in hand stays in hand in Redis."""
        self.rig.station.kill()
        for target in self.targets.values():
            target.close()
            target.open()
        for name, value in settings.items():
            at = self.rig.station.args.index(f"--{name.replace('_', '-')}")
            self.rig.station.args[at + 1] = str(value)
        self.rig.station.start()

    def add(self, plan, station="jobs", **where):
        return self.rig.client.added(plan, station=station, **where)

    def due(self, fields, station):
        """Plans that are due in this order, all in the past."""
        rig, now = self.rig, int(time.time())
        ids = [self.add({**later(no_keep=True, plan_repet=1), "plan_time": now - 900 + number, **extra}, station)
               for number, extra in enumerate(fields)]
        return ids

    def taken(self, station, count):
        return [self.targets[station].recv() for _ in range(count)]

    def out(self, station, run):
        """It is run, and the station has that written."""
        self.targets[station].answer(run, ST.RUNING)
        self.rig.state(run.mailbox[1:].decode(), ST.RUNING, station)

    def mark(self, ident, station="jobs"):
        return (self.rig.db.hget("plan:run", self.rig.key(ident, station)) or b"").decode()

    def marked(self, ident, station, mark):
        wait_until(lambda: self.mark(ident, station).partition(" ")[0].endswith(mark), f"{mark} of {ident}")

    # -- what has ended

    def settings(self):
        done = self.rig.client.done
        done("limit", "set", "station:lots", {"concurrency": 3})
        done("limit", "set", "group:bulk", {"concurrency": 2, "rate": 50, "burst": 5})
        done("limit", "set", "group:slow", {"rate": 0.01, "burst": 2})
        done("limit", "set", "group:none", {"concurrency": 7})
        done("limit", "set", "group:rare", {"rate": 0.01, "burst": 2})
        done("limit", "set", "station:pile", {"concurrency": 60})
        done("kind", "put", "transcode", {"timeout": 60, "misfire": "latest", "priority": 7, "group": "video",
                                          "ext": {"codec": {"name": "h264"}}})
        done("kind", "put", "empty", {})
        done("station", "add", "extra=api@" + self.rig.ipc("extra") + ",key=secret")

    def history(self):
        """Outcomes alone and of many in one entry, outputs, and some that were forgotten."""
        for number in range(12):
            self.add(at_once(description=f"h\xe4{number}", remark="once"), "jobs")
            run = self.targets["jobs"].recv()
            self.targets["jobs"].finish(run, ST.OK, [(FT.STATUS, b"fine \xff"), (FT.CONTENT, b"output %d\n" % number)])
        db = self.rig.db

        def several():
            return [name for name, fields in db.xrange("plan:history") if int(fields.get(b"n", 0)) > 2]
        while not several():
            ids = [self.add(at_once(description=f"many {n}")) for n in range(8)]
            runs = self.taken("jobs", len(ids))
            for run in runs:
                self.targets["jobs"].answer(run, ST.RUNING)
            for run in runs:
                self.targets["jobs"].answer(run, ST.OK, [(FT.CONTENT, b"x" * 3000), (FT.LOCAL_ID, run.local_id)])
            wait_until(lambda: not db.keys("plan:msg:jobs:*"), "all have ended")
        epoch = db.hget("plan:meta", "epoch").decode()
        told = self.rig.client.done("history", {"limit": 100}).json["runs"]
        last = int(several()[0].split(b"-")[0])
        entries = [run["entry"] for run in told if run["seq"] in (2, 3, last)]
        assert self.rig.client.done("forget", {"epoch": epoch, "entries": entries}).json["forgotten"] == 3
        assert db.zcard("plan:forgot")

    # -- what waits

    def queued(self):
        now = int(time.time())
        plans = [every(2 + n, -1, kind=kind, plan_time=now + 3600 + n) for kind in (2, 3, 4, 5) for n in range(3)]
        plans += [every(day, 5, kind=6) for day in range(7)] + [every(day, -1, kind=7) for day in (1, 15, 31, -1, -31)]
        plans += [{"plan_type": "cron", "cron": cron, "timezone": zone, "gap": "skip", "overlap": "both"}
                  for cron, zone in (("5 4 * * 0", "Europe/Berlin"), ("0 0 1 1 *", "UTC"),
                                     (["30 2 29 2 *", "@yearly"], "America/New_York"))]
        plans += [every(1, 1, kind=5, cycle=[1, 2, 3], plan_time=now + 7200),
                  {"plan_type": 4, "plan_value": 3, "cycle": 4, "iteration": 3, "plan_time": now + 8000},
                  every(9, 9, kind=5, start_time=now + 90000, end_time=now + 9000000, skip_set=2),
                  every(7, 20, kind=4, jitter=1800, misfire=5, misfire_window=600, plan_time=now + 5000),
                  every(7, 20, kind=4, misfire="all", overlap_policy="queue", log="outcome", plan_time=now + 5000),
                  later(kind="transcode"), later(kind="empty", log="none"),
                  later(tenant=-7, creator="\u65e5\u672c", category="c", remark="r\"\\", ext={"a": [1, {"b": None}]}),
                  later(tenant="t", creator=2**62, timeout=99, retry={"strategy": "fixed", "interval": 5, "max": 2}),
                  later(description="\u00e4" * 200, on_failure={"command": "mail", "station": "news", "title": "t"})]
        for plan in plans:
            self.add(plan)
        for n in range(40):
            self.add(later(100 + 1000 * n, priority=n * 6, group=random.choice(["bulk", "slow", "g.1", "none"])),
                     random.choice(["jobs", "news", "lots"]))
        for n in range(10):
            self.add(later(key=f"key {n}", if_exists="update"), gid=None)
        for n in range(10):
            self.add(later(), gid=f"{(0x7000000000000000 + n):x}" if n % 2 else f"{0xabc0 + n:x}",
                     more=[(FT.BIN, bytes(range(256))), (FT.REQUEST_ID, b"r\0%d" % n)],
                     head=[(FT.COMMAND, b"\xff\0do")])
        other = self.rig.dealer(identity=b"caller\xff\0" + b"x" * 40)
        for n in range(6):
            other.added(later(5000 + n), station="news")
        self.rig.dealer(identity=b"billing").added(later(), station="news")

    def stopped(self):
        done = self.rig.client.done
        for word in ("pause", "close"):
            for n in range(6):
                done(word, self.add(every(60, -1, kind=3, no_keep=bool(n % 2), plan_time=int(time.time()) + 500 * n)))
        for n in range(6):
            self.add(every(60, 9, kind=3, hold="pause" if n % 2 else True))
        skipped = self.add(every(1, 50, kind=5))
        done("skip", skipped, 3)

    def failures(self):
        """Retrying by the pace and by a rule, parked by a result, by a rule, and whose failure somebody dealt with."""
        jobs, ids = self.targets["jobs"], {}
        kinds = ["retry", "paced", "parked", "exhausted", "done", "call"]
        for kind in 6 * kinds:
            plan = {"retry": at_once(retry={"strategy": "fixed", "interval": 4000, "max": 5}, description=kind),
                    "paced": every(60, 5, no_keep=True, plan_time=int(time.time()) - 100, description=kind),
                    "parked": at_once(description=kind), "exhausted": at_once(description=kind, **FAILS),
                    "done": at_once(description=kind, **FAILS),
                    "call": at_once(description=kind, on_failure={"command": "c", "station": "away"}, **FAILS)}[kind]
            ids.setdefault(kind, []).append(self.add(plan))
        end = time.monotonic() + 60
        missing = {ident for kind in ("parked", "exhausted", "done", "call") for ident in ids[kind]}
        seen = set()
        while missing or not seen >= {i for kind in ids for i in ids[kind]}:
            assert time.monotonic() < end, missing
            if jobs.socket.poll(100):
                run = jobs.recv()
                ident = run.mailbox[1:].decode()
                seen.add(ident)
                status = ST.PLANERROR if ident in ids["parked"] else ST.ERROR
                jobs.finish(run, status, [(FT.STATUS, b"went wrong \xc3\xa4")])
            missing = {i for i in missing if self.rig.score(i) is not None}
        for ident in ids["done"][:3]:
            self.rig.client.done("done", ident, "somebody looked")

    def votes(self):
        board = self.targets["board"]
        for n in range(8):
            self.add({**at_once(), "plan_type": 1, "plan_time": int(time.time()) - 1, "no_keep": True,
                      "vote": {"rule": "majority", "deadline": 80000}}, "board")
            run = board.recv()
            if n == 0:
                self.out("board", run)
                continue
            names = ["ann", "bob", "\u65e5", "dan"]
            board.answer(run, ST.VOTE_START, [(FT.JSON, json.dumps(names).encode()), (FT.LOCAL_ID, run.local_id)])
            ident = run.mailbox[1:].decode()
            wait_until(lambda: len(self.rig.work(ident, "board")) == 4, "the voters")
            for name in names[:n % 3]:
                board.answer(run, ST.FAILED if n % 2 else ST.OK, [(FT.CONTENT, b"ja \xff"), (FT.LOCAL_ID, run.local_id),
                                                                 (FT.RESPONSER, name.encode())])
                wait_until(lambda: self.rig.work(ident, "board")[name], "a vote")
        self.add(later(vote={}), "board")

    # -- the runs

    def losses(self):
        """Runs whose leases end without a result: they are sent again, and an earlier one may still answer."""
        ids = [self.add({**at_once(), "plan_type": 1, "plan_time": int(time.time()) - 2, "no_keep": True}, "slow")
               for _ in range(8)]
        for run in self.taken("slow", len(ids)):
            self.out("slow", run)
        return ids

    def losses_go_on(self, ids):
        slow, runs = self.targets["slow"], {}
        while len(runs) < len(ids):
            run = slow.recv()
            runs[run.mailbox[1:].decode()] = run
        for ident in ids[:5]:
            self.out("slow", runs[ident])
        self.marked(ids[5], "slow", "+?")       # nothing was heard of this one
        return [runs[ident] for ident in ids[3:5]]

    def losses_fail(self, runs):
        """A '+' stays while they wait for their retries."""
        for run in runs:
            self.targets["slow"].finish(run, ST.ERROR)
        for run in runs:
            wait_until(lambda: self.mark(run.mailbox[1:].decode(), "slow")[:1] == "+", "nothing but a '+'")

    def pull(self):
        rig = self.rig
        one, two, three = (Worker(rig, name) for name in ("w1", "w2", "w3:x@h"))
        fields = [{}, {"priority": 9}, {"priority": 9, **workers(only=["w9"])}, workers(count=3), workers(again=True),
                  {"timeout": 70000}, {"group": "bulk"}]
        # Taken first: they have the highest priority.
        teams = [self.add(at_once(priority=255, **workers(count=count, worker_timeout=80000, ping_interval=40000)),
                          "pile") for count in (1, 1, 2, 2, 3, 3)]
        wait_until(lambda: rig.db.zcard("plan:offers:pile") == 6, "all are offered")
        for worker, most in ((one, 6), (two, 6), (three, 2)):
            worker.take(limit=most)
        one.alive(teams[0], progress="40 %")
        one.report(teams[2], result={"bytes": [1, 2]})
        one.report(teams[4], "fail", reason="no disk \u65e5")
        two.report(teams[5], result="x")
        failed = self.add(at_once(priority=255, retry={"strategy": "fixed", "interval": 1, "max": 9},
                                  **workers(worker_timeout=80000)), "pile")
        wait_until(lambda: "!" in self.mark(failed, "pile"), "it is offered")
        one.take(limit=1)
        one.report(failed, "fail", reason="first")
        for n, more in enumerate(3 * fields):
            self.add(at_once(description=f"offer {n}", **more), "pile")
        manual = self.add(later(), "pile")
        rig.client.done("run", manual)
        wait_until(lambda: rig.db.zcard("plan:offers:pile") >= 21, "offers")
        wait_until(lambda: "!" in self.mark(failed, "pile"), "it is offered again")
        self.add(later(**workers(count=2)), "pile")

    def laned(self):
        """Three are run, and the others stand in lanes; of a group so many begin in a time."""
        fields = [{"priority": random.choice([0, 3, 200]), "group": random.choice(["bulk", "slow", "g.1"])}
                  for _ in range(30)]
        ids = self.due(fields + [{}] * 6, "lots")
        for run in self.taken("lots", 3):
            self.out("lots", run)
        wait_until(lambda: sum(self.rig.db.zcard(key) for key in self.rig.db.keys("plan:lane:lots:*")) >= len(ids) - 3,
                   "the others stand in lanes")
        # The rate of a group is used up.
        self.due([{"group": "rare"}] * 5, "news")
        for run in self.taken("news", 2):
            self.out("news", run)

    def held(self):
        self.due([{}] * 32, "full")
        for run in self.taken("full", 8):
            self.out("full", run)
        wait_until(lambda: self.rig.db.zcard("plan:held:full") >= 12, "others are held")
        jittered = self.due([{"jitter": 300}] * 3, "full")
        manual = [self.add(later(100000 + n), "full") for n in range(4)]
        for ident in manual:
            self.rig.client.done("run", ident)
        wait_until(lambda: all(self.rig.db.zscore("plan:held:full", self.rig.key(ident, "full"))
                               for ident in jittered + manual), "those as well")

    def away(self):
        ids = self.due([{}] * 10, "away")
        wait_until(lambda: self.rig.db.zcard("plan:wait:away") >= len(ids), "they wait for their target")

    def known(self):
        self.add(at_once(), "Test", head=[(FT.COMMAND, b"do")])
        self.center["Test"].job()
        wait_until(lambda: self.rig.db.hlen("plan:identities"), "an identity")

    def in_flight(self):
        """With a status, by hand beside the schedule too; and just sent. What failed before fails again meanwhile."""
        jobs, mine = self.targets["jobs"], self.due([{}] * 2, "jobs")
        mine.append(self.add(every(60, -1, kind=3, no_keep=True)))
        self.rig.client.done("run", mine[-1])
        while mine:
            run = jobs.recv()
            ident = run.mailbox[1:].decode()
            if ident in mine:
                self.out("jobs", run)
                mine.remove(ident)
            else:
                jobs.finish(run, ST.ERROR)
        unheard = at_once(retry={"strategy": "fixed", "interval": 4000, "max": 9})
        self.marked(self.add(unheard, "news"), "news", "?")
        return self.add(at_once(description="sent")), self.add(at_once(description="sent"))


def values(db, key):
    kind = db.type(key).decode()
    text = lambda raw: raw.decode("latin-1")        # noqa: E731
    if kind == "string":
        return kind, text(db.get(key))
    if kind == "hash":
        return kind, {text(name): text(value) for name, value in sorted(db.hgetall(key).items())}
    if kind == "zset":
        return kind, [[text(name), score] for name, score in db.zrange(key, 0, -1, withscores=True)]
    assert kind == "stream", key
    return kind, [[text(name), [text(part) for pair in fields.items() for part in pair]]
                  for name, fields in db.xrange(key)]


def dump(db):
    second, microsecond = db.time()
    keys = {key.decode(): [*values(db, key), db.pttl(key)] for key in sorted(db.keys("*"))}
    return {"time_us": second * 1000000 + microsecond, "keys": keys}


def main():
    maker = Maker()
    rig = maker.rig
    try:
        for step in (maker.settings, maker.history, maker.failures):
            step()
        lost = maker.losses()
        maker.restart(exec_timeout=3600, send_timeout=3000)
        failing = maker.losses_go_on(lost)
        for step in (maker.queued, maker.stopped, maker.votes, maker.away, maker.known, maker.pull, maker.laned,
                     maker.held):
            step()
        sent = maker.in_flight()
        maker.losses_fail(failing)
        for ident in sent:
            wait_until(lambda: maker.mark(ident)[:1] > "0" and "?" not in maker.mark(ident), "it is sent")
        rig.station.kill()
        data = dump(rig.db)
        with gzip.GzipFile(OUT, "wb", 9, mtime=0) as file:
            file.write(json.dumps(data, separators=(",", ":"), sort_keys=True).encode())
        print(len(data["keys"]), "keys,", len(data["keys"]["plan:ids"][1]), "plans")
        marks = {re.sub("[0-9]+", "N", value.split()[0]) for value in data["keys"]["plan:run"][1].values()}
        assert marks == {"N", "N+", "N?", "N+?", "N?!", "+"}, marks
    except BaseException:
        print(rig.station.log_tail(3000), file=sys.stderr)
        raise
    finally:
        rig.station.reap()
        for target in maker.targets.values():
            target.close()
        maker.center.close()
        rig.redis.kill()


if __name__ == "__main__":
    main()
