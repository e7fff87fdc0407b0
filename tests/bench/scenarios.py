"""The scenarios: each is run against the station and, where it has one, against a peer.

A function of `station`, `redis`, `bullmq` or `beanstalkd` returns what one run has measured, name -> number.
"""
import math
import time

from benchrig import Bare, Beanstalkd, FAR_S, rss_of, say, Station, wait_until

MIB = 1 << 20


class Sizes:
    """How much of everything; the small ones only show that it works."""

    def __init__(self, small, scale):
        def many(full, little):
            return little if small else max(little, int(full * scale))
        self.intake = many(300000, 300)
        self.single = many(20000, 60)
        self.drain = many(300000, 300)
        self.peer_drain = many(100000, 300)
        self.behind = many(1000000, 1000)
        self.rate, self.seconds = (100, 1) if small else (1000, 10)
        self.idle_s = 1 if small else 60
        self.settle_s = 0.2 if small else 5
        self.kill = many(100000, 600)
        self.overdue = many(100000, 300)
        self.neighbours = many(100000, 100)
        self.patience = 60
        self.small = small


class Bench:
    """What the scenarios share: sizes, where the peers are, and how fast each was at taking plans."""

    def __init__(self, sizes, peers):
        self.sizes, self.peers = sizes, peers
        self.rates = {}     # (system, fsync) -> plans a second

    def due_in(self, system, fsync, plans):
        """Seconds within which so many plans can surely be submitted."""
        rate = self.rates.get((system, fsync), 200000 if self.sizes.small else 12000)
        return math.ceil(plans / (rate * 0.6)) + 1

    def learn(self, system, fsync, rate):
        self.rates[system, fsync] = rate


# -- intake

def taken(result):
    return {"plans_per_s": result["plans_per_s"], "p50_ms": result["acknowledged_ms"]["p50"],
            "p99_ms": result["acknowledged_ms"]["p99"], "accepted": result["accepted"],
            "busy": result.get("busy", 0)}


def intake(clients, window, plans_of):
    """Plans due far away."""
    def station(bench, fsync):
        plans = plans_of(bench.sizes)
        with Station(fsync) as rig:
            cpu = rig.cpu()
            result = rig.bench("intake", "--plans", plans, "--clients", clients, "--window", window).result()
            used = {name: after - cpu[name] for name, after in rig.cpu().items()}
            if window > 1:
                bench.learn("station", fsync, result["plans_per_s"])
            return {**taken(result), "kept": rig.plans(), "generator_us": result["own_cpu_s"] / plans * 1e6,
                    **{f"{name}_us": seconds / plans * 1e6 for name, seconds in used.items()}}

    def together(start):
        """Several generators at once: their sum over the time from the first begin to the last end."""
        running = [start(i) for i in range(clients)]
        results = [one.result() for one in running]
        total = sum(r["accepted"] for r in results)
        us = max(r["end_us"] for r in results) - min(r["begin_us"] for r in results)
        return {"plans_per_s": total * 1e6 / us, "p50_ms": results[0]["acknowledged_ms"]["p50"],
                "p99_ms": results[0]["acknowledged_ms"]["p99"], "accepted": total}

    def bullmq(bench, fsync):
        plans = plans_of(bench.sizes) // clients
        with Bare(fsync) as rig:
            begin = int(time.time() * 1000) + 5000      # all of them, when node is warm
            return together(lambda _: rig.bullmq(bench.peers, "intake", "--plans", plans, "--window", window,
                                                 "--start-at", begin))

    def beanstalkd(bench, fsync):
        plans = plans_of(bench.sizes) // clients
        with Beanstalkd(fsync) as rig:
            return together(lambda _: rig.bench("intake", "--plans", plans, "--window", window))
    return {"station": station, "bullmq": bullmq, "beanstalkd": beanstalkd}


def redis_intake(bench, fsync):
    with Bare(fsync) as rig:
        return {"plans_per_s": rig.limit(bench.sizes.intake)["intake_per_s"]}


# -- drain

def drained(result):
    return {name: result[name] for name in (
        "runs_per_s", "runs", "plans_run", "doubled", "same_exec_id", "done", "gaps", "missed", "first_after_due_ms")}


def drain_once(bench, rig, plans):
    """Plans that are due at one instant; again with more time when they could not be submitted in time."""
    due_in = bench.due_in("station", rig.fsync, plans)
    before = rig.cpu()
    result = rig.drain("--plans", plans, "--due-in", due_in, "--seq", rig.seq(), "--patience", bench.sizes.patience).result()
    used = {name: after - before[name] for name, after in rig.cpu().items()}
    bench.learn("station", rig.fsync, result["plans_per_s"])
    if result["submit_s"] > due_in:
        say(f"  submitting took {result['submit_s']:.1f} s, they were due after {due_in} s")
        return None
    return {**drained(result), "life_generator_us": result["own_cpu_s"] / plans * 1e6,
            **{f"life_{name}_us": seconds / plans * 1e6 for name, seconds in used.items()}}


def drain(behind_of):
    def station(bench, fsync):
        behind = behind_of(bench.sizes)
        with Station(fsync) as rig:
            if behind:
                rig.preload([("jobs", behind, FAR_S)])
                if rig.given:
                    rig.start()
            for _ in range(3):
                result = drain_once(bench, rig, bench.sizes.drain)
                if result:
                    return {**result, "left": rig.left(behind)}
            raise AssertionError("submitting is slower each time")
    return station


def bullmq_drain(bench, fsync):
    plans = bench.sizes.peer_drain
    with Bare(fsync) as rig:
        result = rig.bullmq(bench.peers, "drain", "--plans", plans, "--due-in", math.ceil(plans / 8000) + 2).result()
        return {"runs_per_s": result["runs_per_s"], "first_after_due_ms": result["first_after_due_ms"] or math.nan}


def beanstalkd_drain(bench, fsync):
    plans = bench.sizes.peer_drain
    with Beanstalkd(fsync) as rig:
        seconds = math.ceil(plans / (5000 if fsync == "always" else 20000)) + 1
        result = rig.bench("drain", "--plans", plans, "--due-in", seconds, "--pid", rig.pid).result()
        return {"runs_per_s": result["runs_per_s"]}


def redis_drain(bench, fsync):
    with Bare(fsync) as rig:
        return {"runs_per_s": rig.limit(bench.sizes.drain)["drain_per_s"]}


# -- lateness

def lateness(result):
    return {"p50_ms": result["late_ms"]["p50"], "p99_ms": result["late_ms"]["p99"],
            "p99_9_ms": result["late_ms"]["p99_9"], "max_ms": result["late_ms"]["max"],
            "runs": result["runs"], "plans_run": result["plans_run"], "accepted": result["accepted"]}


def late_args(sizes, mode):
    return ["--rate", sizes.rate, "--seconds", sizes.seconds, "--mode", mode, "--patience", sizes.patience]


def late(behind_of, mode):
    def station(bench, fsync):
        sizes, behind = bench.sizes, behind_of(bench.sizes)
        with Station(fsync) as rig:
            if behind:
                rig.preload([("jobs", behind, FAR_S)])
                if rig.given:
                    rig.start()
            one = rig.bench("late", "--target", rig.ipc("jobs"), "--mark", 1, *late_args(sizes, mode))
            one.marked.wait()       # the first run: from here on it is only they
            before, begin = rig.cpu(), time.monotonic()
            result = one.result()
            seconds = time.monotonic() - begin
            used = {f"{name}_cores": (after - before[name]) / seconds for name, after in rig.cpu().items()}
            return {**lateness(result), **used, "cores": sum(used.values()), "left": rig.left(behind),
                    "acknowledged_p99_ms": result["acknowledged_ms"]["p99"]}
    return station


def neighbours(bench, fsync):
    """A target that is dead, one that is silent and one that is slow, each with many due plans."""
    sizes, others = bench.sizes, ("dead", "silent", "slow")
    with Station(fsync, targets=("good", *others), given=True) as rig:
        rig.preload([(name, sizes.neighbours, -60) for name in others])
        running = [rig.bench("target", "--bind", rig.ipc(name), "--behave", name) for name in others]
        rig.start()
        result = rig.bench("late", "--target", rig.ipc("good"), "--station", "good", *late_args(sizes, "due")).result()
        counts = {f"runs_{name}": one.stop()["runs"] for name, one in zip(others, running)}
        return {**lateness(result), **counts}


# -- memory, and nothing to do

def memory(bench, fsync):
    plans = bench.sizes.behind
    with Station(fsync) as rig:
        result = rig.bench("intake", "--plans", plans, "--patience", bench.sizes.patience).result()
        rss = rig.rss()
        grown = sum(rss[name] - rig.empty_rss[name] for name in rss)
        return {"bytes_per_plan": grown / plans, "station_mib": rss["station"] / MIB,
                "redis_mib": rss["redis"] / MIB, "accepted": result["accepted"],
                "station_growth_mib": (rss["station"] - rig.empty_rss["station"]) / MIB}


def pending_of(kind, start):
    def peer(bench, fsync):
        plans = bench.sizes.behind
        with kind(fsync) as rig:
            empty = rss_of(rig.pid)
            start(bench, rig, plans).result()
            return {"bytes_per_plan": (rss_of(rig.pid) - empty) / plans}
    return peer


def idle(bench, fsync):
    sizes = bench.sizes
    with Station(fsync) as rig:
        rig.preload([("jobs", sizes.behind, FAR_S)])
        if rig.given:
            rig.start()
        time.sleep(sizes.settle_s)
        before = rig.cpu()
        time.sleep(sizes.idle_s)
        used = {f"{name}_s_per_min": (after - before[name]) * 60 / sizes.idle_s for name, after in rig.cpu().items()}
        return {**used, "s_per_min": sum(used.values()), "station_mib": rig.rss()["station"] / MIB}


# -- ends and beginnings

def kill(bench, fsync):
    """kill -9 of the station at 30 % of a drain; it is started again at once."""
    sizes, plans = bench.sizes, bench.sizes.kill
    with Station(fsync, given=True, args=["--exec-timeout", "3"]) as rig:
        due_in = bench.due_in("station", fsync, plans)
        one = rig.drain("--plans", plans, "--due-in", due_in, "--mark", int(plans * 0.3), "--seq", 0,
                        "--patience", sizes.patience)
        one.marked.wait()
        assert one.process.poll() is None, one.errors
        rig.zpland.kill()
        rig.start()
        ready_us = time.time() * 1e6
        result = one.result(strict=False)
        firsts = result["connections_first_run_us"]
        wait_until(lambda: rig.plans() == 0, "all plans are gone", 30)
        return {**{name: result[name] for name in ("plans_run", "doubled", "same_exec_id", "done", "missed")},
                "accepted": result["accepted"], "lost": result["accepted"] - result["plans_run"],
                "not_told": result["accepted"] - result["done"] - result["missed"],
                "first_after_ready_ms": (firsts[1] - ready_us) / 1000 if len(firsts) > 1 else math.nan}


def start(bench, fsync):
    """A station that starts finds a million plans, and many that are overdue."""
    sizes = bench.sizes
    with Station(fsync, given=True) as rig:
        rig.preload([("jobs", sizes.behind, FAR_S), ("jobs", sizes.overdue, -60)])
        target = rig.bench("target", "--bind", rig.ipc("jobs"), "--behave", "good")
        begin = time.monotonic()
        rig.start()
        ready_us, ready_s = time.time() * 1e6, time.monotonic() - begin
        wait_until(lambda: rig.plans() <= sizes.behind, "the overdue plans are run", 300)
        result = target.stop()
        return {"first_after_ready_ms": (result["connections_first_run_us"][0] - ready_us) / 1000,
                "ready_s": ready_s, "plans_run": result["plans_run"], "doubled": result["doubled"],
                "left": rig.left(sizes.behind)}


# -- the table

class Scenario:
    """`wanted`: (metric, what to reach) of the station; `ratios`: (metric, peer, what to reach of the peer's)."""

    def __init__(self, about, systems, wanted=(), ratios=(), shown=()):
        self.about, self.systems = about, systems
        self.wanted, self.ratios, self.shown = wanted, ratios, shown


def nobody(_):
    return 0


def behind(sizes):
    return sizes.behind


def least(value):
    return ">=", value


def most(value):
    return "<=", value


RUN_RATES = (("runs_per_s", "bullmq", least(3.8)), ("runs_per_s", "beanstalkd", least(1.6)), ("runs_per_s", "redis", None))
LATE = (("p50_ms", most(0.2)), ("p99_ms", most(1)), ("cores", most(0.2)))
# Of beanstalkd, which syncs each put with -f0 and every 50 ms with -f50.
STALK = {"everysec": least(1.5), "always": least(10)}

SCENARIOS = {
    "intake1": Scenario(
        "intake, 1 client, 1,000 unacknowledged",
        {**intake(1, 1000, lambda s: s.intake), "redis": redis_intake},
        [("plans_per_s", least(120000))],
        [("plans_per_s", "bullmq", least(3)), ("plans_per_s", "beanstalkd", STALK), ("plans_per_s", "redis", None)],
        ["p50_ms", "p99_ms", "station_us", "redis_us"]),
    "intake4": Scenario(
        "intake, 4 clients, 1,000 unacknowledged each", intake(4, 1000, lambda s: s.intake),
        [("plans_per_s", least(120000))],
        [("plans_per_s", "bullmq", least(3)), ("plans_per_s", "beanstalkd", STALK)], ["p50_ms", "p99_ms"]),
    "single": Scenario(
        "intake, one in flight", intake(1, 1, lambda s: s.single), [],
        [("plans_per_s", "bullmq", least(1.2)), ("plans_per_s", "beanstalkd", None)], ["p50_ms", "p99_ms"]),
    "drain": Scenario(
        "drain of what is due at one instant",
        {"station": drain(nobody), "redis": redis_drain, "bullmq": bullmq_drain, "beanstalkd": beanstalkd_drain},
        [("runs_per_s", least(80000))], RUN_RATES,
        ["first_after_due_ms", "doubled", "gaps", "life_station_us", "life_redis_us"]),
    "drain_behind": Scenario(
        "the same, 1,000,000 later plans behind", {"station": drain(behind)}, [],
        [("runs_per_s", "drain", least(0.85))], ["first_after_due_ms", "doubled", "gaps"]),
    "late": Scenario(
        "lateness at 1,000/s, scores evenly spaced", {"station": late(nobody, "due")}, LATE, [],
        ["p99_9_ms", "max_ms", "station_cores", "redis_cores"]),
    "late_behind": Scenario(
        "the same, 1,000,000 plans behind", {"station": late(behind, "due")}, LATE, [],
        ["p99_9_ms", "max_ms", "station_cores", "redis_cores"]),
    "immediate": Scenario(
        "plans that run at once, 1,000/s, from submission", {"station": late(nobody, "none")}, [], [],
        ["p50_ms", "p99_ms", "acknowledged_p99_ms", "cores"]),
    "memory": Scenario(
        "memory of pending plans, Redis and station",
        {"station": memory,
         "bullmq": pending_of(Bare, lambda b, rig, n: rig.bullmq(b.peers, "intake", "--plans", n, "--warm", 0)),
         "beanstalkd": pending_of(Beanstalkd, lambda b, rig, n: rig.bench("intake", "--plans", n))},
        [("station_mib", most(32))],
        [("bytes_per_plan", "bullmq", most(0.95)), ("bytes_per_plan", "beanstalkd", None)],
        ["station_growth_mib"]),
    "idle": Scenario(
        "nothing to do, 1,000,000 pending", {"station": idle}, [("s_per_min", most(0.25))], [],
        ["station_s_per_min", "redis_s_per_min", "station_mib"]),
    "kill": Scenario(
        "kill -9 of the station at 30 % of a drain, restart", {"station": kill},
        [("first_after_ready_ms", most(50)), ("lost", most(0)), ("doubled", most(256)), ("same_exec_id", most(0))],
        [], ["missed", "not_told"]),
    "start": Scenario(
        "start with 1,000,000 pending, 100,000 overdue", {"station": start},
        [("first_after_ready_ms", most(50))], [], ["ready_s", "doubled"]),
    "neighbours": Scenario(
        "beside a dead, a silent and a slow target with 100,000 due plans each", {"station": neighbours},
        [("p99_ms", most(5))], [], ["p50_ms", "max_ms"]),
}
