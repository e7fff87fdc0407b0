"""Which faults a run has: a list that depends on the seed and on nothing else."""
import dataclasses
import random

LEASE = 3.0     # seconds: --exec-timeout of the stations; that of an owner is 2


@dataclasses.dataclass(frozen=True)
class Fault:
    at: float           # seconds from the beginning of the faults
    kind: str           # kill, stop, or what is done to Redis or to the proxy
    who: str            # the process; `server`: the station that serves
    seconds: float      # until it is healed: down, stopped, slow, ...


def draw(rng, kind, crowd):
    """One fault of a kind: whose, and how long."""
    station, target, submitter, proxy = (
        rng.choice(crowd[name]) for name in ("station", "target", "submitter", "proxy"))
    pick, share = rng.random(), rng.random()
    if kind == "kill":
        who = station if pick < .4 else target if pick < .65 else submitter if pick < .75 else "redis"
        # A station: for longer than the lease of an owner, or it takes over again as soon as it is back.
        return who, 0.05 + share * (0.6 if who == "redis" else 3.5 if who == station else 1.2)
    if kind == "stop-short":        # the leases hold
        who = station if pick < .4 else target if pick < .7 else submitter if pick < .8 else "redis"
        return who, 0.2 + share * (LEASE / 2)
    if kind == "stop-long":         # they do not
        return station if pick < .6 else target if pick < .9 else "redis", LEASE + 0.5 + share * 2
    seconds = {"client-kill": 0, "script-flush": 0, "client-pause": 0.2 + share * 2, "maxmemory": 1,
               "debug-sleep": 0.2 + share * 2, "delay": 1 + share * 2, "blackhole": 0.5 + share * 4, "cut": 0,
               "late": 0.05 + share * 0.2, "handover": 0}
    who = "server" if kind == "handover" else proxy if kind in ("delay", "blackhole", "cut", "late") else "redis"
    return who, seconds[kind]


OTHERS = ("stop-short", "stop-long", "client-kill", "script-flush", "client-pause", "maxmemory", "debug-sleep",
          "delay", "blackhole", "cut", "late", "handover")


def faults(seed, seconds, kills, others, crowd):
    """`kills` kills and `others` other faults, spread over the seconds. crowd: names by kind of process."""
    rng = random.Random(seed)
    kinds = ["kill"] * kills
    turn = list(OTHERS)
    for i in range(others):
        if i % len(turn) == 0:
            rng.shuffle(turn)
        kinds.append(turn[i % len(turn)])
    rng.shuffle(kinds)
    found = []
    for i, kind in enumerate(kinds):
        at = (i + rng.random()) * seconds / len(kinds)
        who, lasts = draw(rng, kind, crowd)
        found.append(Fault(at, kind, who, lasts))
    return found
