#!/usr/bin/python3
"""What flows cost: tests/bench/flows.py [--fsync everysec,always] [--runs N] [--small]

Each figure is measured at a station of its own, with a Redis of its own and a target in C that ends each call at once:
  steps     runs of chains of 10 steps, in steps a second, and a plain drain of as many plans, in the same station
  next      from the result of a step, as its target sends it, until the target has the next one: 100 runs of chains of 10 a
            second, of a target in Python
  fan-out   a run with a for_each of 10,000 items, 256 in flight, and the step behind it, as a multiple of such a drain
  waiting   bytes of Redis for a run of 5 steps with 200 bytes of input that waits, flow plan and the waiting step's plan
            included, the history of its calls not
  large     what the station's memory grows by with 50 runs of 10,000 steps that are under way
  idle      100,000 runs that wait for a day: processor time of station and Redis in a minute, and the station's memory a
            minute behind that and behind a restart
  kill      kill -9 of the station with 1,000 runs of chains of 10 under way: from `ready` of the next to its first dispatch
ZPLAN_BIN_DIR says where the programs are: a release build. --small only shows that it works.
"""
import argparse
import json
import os
import random
import time

from benchrig import Station, rss_of, say
from run import build_type, commit
from zplanprocs import wait_until
from zplantest import CMD, FT, ST, Client, FakeTarget, at_once, later, plan_frames

WINDOW = 500        # submissions without an answer
PATIENCE_S = 600


class Rig(Station):
    """A station, and a client of it."""

    def __init__(self, fsync, targets=("jobs",)):
        super().__init__(fsync, targets, given=True, args=("--flow-count", "100000"))
        self.client = Client(self.ipc("q"))
        self.opened.append(self.client.close)

    def put(self, name, steps, **fields):
        start = time.monotonic()
        self.client.done("flow", "put", json.dumps({"flow": name, "steps": steps, **fields}))
        return time.monotonic() - start

    def submit(self, name, count, data=None, due_in=0):
        """So many flow plans, due in so many seconds. Since when they are due, by time.time()."""
        due = int(time.time()) + due_in
        plan = later(description=name, plan_time=due) if due_in else at_once(description=name)
        more = [(FT.JSON, json.dumps(data).encode())] if data is not None else []
        frames = plan_frames(plan, station=name, head=[], more=more)
        sent = answered = 0
        while answered < count:
            while sent < count and sent - answered < WINDOW:
                self.client.send(CMD.PLAN, frames)
                sent += 1
            reply = self.client.recv()
            assert reply.code == ST.PLAN, reply
            answered += 1
        assert not due_in or time.time() < due, "submitting took too long"
        return due

    def target(self):
        """One that the station is connected to: how long that takes is no part of a figure."""
        target = self.bench("target", "--bind", self.ipc("jobs"), "--behave", "good")
        wait_until(lambda: self.stats_of("jobs")["connected"], "it is connected", PATIENCE_S)
        return target

    def stats_of(self, target):
        return next(one for one in self.client.done("stats").json["targets"] if one["name"] == target)

    def ended_well(self, target="jobs"):
        return self.stats_of(target)["ended_well"]

    def states(self):
        """state -> how many runs, the first 1,000."""
        found = {}
        for run in self.client.done("flow", "runs", {"limit": 1000}).json["runs"]:
            found[run["state"]] = found.get(run["state"], 0) + 1
        return found

    def wait_ended_well(self, count):
        """Seconds until so many calls have ended."""
        start = time.monotonic()
        wait_until(lambda: self.ended_well() >= count, f"{count} calls have ended", PATIENCE_S, pause=0.005)
        return time.monotonic() - start

    def plain(self, plans, due_in):
        """Runs a second of a drain; its target is gone then."""
        result = self.drain("--plans", plans, "--due-in", due_in, "--seq", self.seq(), "--patience", 60).result()
        assert result["submit_s"] < due_in, "submitting took too long for a drain"
        return result["runs_per_s"]


def chain(count):
    names = [f"s{at}" for at in range(count)]
    return {name: {"target": "jobs", "command": "do", **({"after": [before]} if before else {})}
            for name, before in zip(names, [None, *names])}


def measure_steps(fsync, sizes):
    with Rig(fsync) as rig:
        calls = sizes.runs * 10
        drain = rig.plain(calls, sizes.due_in)
        rig.put("chain", chain(10), max_parallel=10)
        target, before = rig.target(), rig.ended_well()
        due = rig.submit("chain", sizes.runs, due_in=sizes.due_in)  # as a drain: without what submits
        rig.wait_ended_well(before + calls)
        rate = calls / (time.time() - due)
        target.stop()
        return [("plain drain, runs a second", f"{drain:,.0f}", ""),
                (f"{sizes.runs} runs of chains of 10, steps a second", f"{rate:,.0f}", ""),
                ("  as a part of the drain", f"{rate / drain:.2f}", "0.5, then 0.7")]


def measure_next(fsync, sizes):
    with Rig(fsync) as rig:
        rig.put("chain", chain(10), max_parallel=10)
        frames = plan_frames(at_once(description="chain"), station="chain", head=[])
        target = FakeTarget(rig.ipc("jobs"))
        rig.opened.append(target.close)
        wait_until(lambda: rig.stats_of("jobs")["connected"], "it is connected", PATIENCE_S)
        ended, took, sent, dispatched, start = {}, [], 0, 0, time.monotonic()
        while dispatched < 10 * sizes.paced:
            if sent < sizes.paced and time.monotonic() >= start + sent / 100:
                rig.client.send(CMD.PLAN, frames)
                sent += 1
            if not target.socket.poll(1):
                continue
            step, now = target.recv(), time.monotonic()
            dispatched += 1
            run = step.plan["flow"]["run"]
            if run in ended:
                took.append(1000 * (now - ended[run]))
            target.finish(step)
            ended[run] = time.monotonic()
        took.sort()
        p50, p99 = took[len(took) // 2], took[len(took) * 99 // 100]
        wanted = ("3, then 2", "15, then 8") if fsync == "always" else ("2, then 1", "8, then 4")
        return [("from a step's result to the next dispatch, p50, ms", f"{p50:.2f}", wanted[0]),
                ("  p99, ms", f"{p99:.2f}", wanted[1])]


def measure_fan_out(fsync, sizes):
    with Rig(fsync) as rig:
        drain = sizes.items / rig.plain(sizes.items, sizes.due_in)
        rig.put("fan", {"each": {"target": "jobs", "command": "do", "for_each": "=input.xs", "max_parallel": 256},
                        "join": {"target": "jobs", "command": "do", "after": ["each"]}}, max_parallel=0)
        target, start = rig.target(), time.monotonic()
        rig.submit("fan", 1, {"xs": [at % 10 for at in range(sizes.items)]})
        wait_until(lambda: rig.states() == {"finished": 1}, "the run has ended", PATIENCE_S)
        seconds = time.monotonic() - start
        target.stop()
        return [(f"drain of {sizes.items} plans, s", f"{drain:.2f}", ""),
                (f"fan-out of {sizes.items} items, and the join, s", f"{seconds:.2f}", ""),
                ("  as a multiple of the drain", f"{seconds / drain:.1f}", "3, then 1.8")]


def used(db):
    """Bytes, without the history and the outputs of calls that have ended."""
    kept = sum(db.memory_usage(key, samples=0) or 0 for key in ("plan:history", "plan:output"))
    return db.info("memory")["used_memory"] - kept


def measure_waiting(fsync, sizes):
    with Rig(fsync) as rig:
        db, steps = rig.db(), chain(5)
        steps["s2"] = {"after": ["s1"], "wait": 86400}
        rig.put("wait", steps)
        target = rig.target()
        rig.submit("wait", 10, {"text": "x" * 188})     # what is there once
        wait_until(lambda: rig.ended_well() >= 20, "they wait", PATIENCE_S)
        before, rss = used(db), rss_of(rig.zpland.pid)
        rig.submit("wait", sizes.waiting, {"text": "x" * 188})
        rig.wait_ended_well(20 + 2 * sizes.waiting)
        time.sleep(sizes.settle_s)      # what is written behind the end
        grown = used(db) - before
        target.stop()
        return [(f"{sizes.waiting} waiting runs, bytes of Redis each", f"{grown / sizes.waiting:,.0f}", "4,000, then 3,000"),
                ("  of the station each", f"{(rss_of(rig.zpland.pid) - rss) / sizes.waiting:,.0f}", "")]


def random_graph(count):
    """Calls of a target that is away, so that a run stays under way; each behind up to two of the 100 before it."""
    drawn, names, steps = random.Random(1), [f"s{at}" for at in range(count)], {}
    for at, name in enumerate(names):
        steps[name] = {"target": "away", "command": "do"}
        if at >= 20:
            steps[name]["after"] = drawn.sample(names[max(0, at - 100):at], 2)
    return steps


def measure_large(fsync, sizes):
    with Rig(fsync, ("jobs", "away")) as rig:
        put = rig.put("large", random_graph(sizes.steps), max_parallel=20)
        rig.client.added(later(), station="away")
        before, start = rss_of(rig.zpland.pid), time.monotonic()
        rig.submit("large", sizes.large)
        wait_until(lambda: rig.db().zcard("plan:ids") >= sizes.large * 21 + 1, "the first steps are placed", PATIENCE_S)
        seconds, grown = time.monotonic() - start, rss_of(rig.zpland.pid) - before
        return [(f"put of a random graph of {sizes.steps} steps, ms", f"{put * 1000:.0f}", "300, then 100"),
                (f"{sizes.large} runs of it: the station's memory before, MiB", f"{before / (1 << 20):.1f}", ""),
                ("  it grows by, MiB", f"{grown / (1 << 20):.1f}", ""),
                ("  20 steps of each placed after, s", f"{seconds:.2f}", "")]


def measure_idle(fsync, sizes):
    with Rig(fsync) as rig:
        rig.put("wait", {"w": {"wait": 86400}})
        before = rss_of(rig.zpland.pid)

        def grown():
            return f"{(rss_of(rig.zpland.pid) - before) / (1 << 20):.1f}"
        rig.submit("wait", sizes.idle)
        wait_until(lambda: rig.db().zcard("plan:ids") >= 2 * sizes.idle, "all wait", PATIENCE_S)
        time.sleep(sizes.idle_s)        # memory is given back once a minute
        used = rig.cpu()
        time.sleep(sizes.idle_s)
        used = {name: (seconds - used[name]) * 60 / sizes.idle_s for name, seconds in rig.cpu().items()}
        rows = [(f"{sizes.idle} waiting runs: the station's CPU seconds a minute", f"{used['station']:.2f}", "1, then 0.5"),
                ("  those of Redis", f"{used['redis']:.2f}", ""), ("  the station grew by, MiB", grown(), "16, then 8")]
        rig.zpland.stop()
        rig.zpland.start()
        time.sleep(sizes.settle_s)
        return [*rows, ("  and behind a restart, MiB", grown(), "16, then 8")]


def measure_kill(fsync, sizes):
    with Rig(fsync) as rig:
        rig.put("chain", chain(10), max_parallel=10)
        target = FakeTarget(rig.ipc("jobs"))
        rig.opened.append(target.close)
        rig.submit("chain", sizes.runs)
        for _ in range(3 * sizes.runs):
            target.finish(target.recv())
        rig.zpland.kill()
        while target.socket.poll(0):    # of the one that is gone
            target.recv()
        rig.zpland.start()
        ready = time.monotonic()
        target.recv()
        return [(f"{sizes.runs} runs under way, kill -9, ready: the first dispatch, ms", f"{1000 * (time.monotonic() - ready):.1f}",
                 "100, then 20")]


MEASURES = {"steps": measure_steps, "next": measure_next, "fan-out": measure_fan_out, "waiting": measure_waiting, "large": measure_large,
            "idle": measure_idle, "kill": measure_kill}


class Sizes:
    def __init__(self, options):
        small = options.small
        self.runs = 20 if small else options.runs
        self.paced = 20 if small else 1000
        self.items, self.waiting = (100, 50) if small else (10000, 2000)
        self.large, self.steps = (5, 200) if small else (50, 10000)
        self.idle, self.idle_s = (100, 0.5) if small else (100000, 60)
        self.due_in, self.settle_s = (2, 0.2) if small else (5, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fsync", default="everysec,always")
    parser.add_argument("--only", default=",".join(MEASURES), help=", ".join(MEASURES))
    parser.add_argument("--runs", type=int, default=1000, help="chains of 10 steps")
    parser.add_argument("--small", action="store_true", help="whether it works; its figures mean nothing")
    options = parser.parse_args()
    sizes = Sizes(options)
    print(f"commit {commit()}, {build_type()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
          + time.strftime("%Y-%m-%d %H:%M"))
    print(f"{'figure':58} {'fsync':9} {'measured':>10}  goal")
    for name in options.only.split(","):
        for fsync in options.fsync.split(","):
            say(f"{name}, {fsync}")
            for row, value, goal in MEASURES[name](fsync, sizes):
                print(f"{row:58} {fsync:9} {value:>10}  {goal}", flush=True)


if __name__ == "__main__":
    main()
