#!/usr/bin/python3
"""How fast the station is, beside Redis' own limit and its peers: tests/bench/run.py [options]

Every scenario is run so many times, the station, Redis and the peers in turn; what is printed are medians, and
their ratios with what they are to be. It needs the programs of tests/bench built; ZPLAN_BIN_DIR says where
zpland is, as for the tests. BullMQ is compared with where node and npm are, beanstalkd where it is installed.

  tests/bench/run.py --peers ~/.cache/zplan-bench          everything: about two hours
  tests/bench/run.py --only drain,late --scale 0.1 --repeat 3
  tests/bench/run.py --small                               whether it works, in seconds; its figures mean nothing
"""
import argparse
import json
import math
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import redis

from benchrig import Failed, Folder, say, tool
from scenarios import Bench, SCENARIOS, Sizes
from zplanprocs import ZPLAND

REPO = pathlib.Path(__file__).resolve().parents[2]
SYSTEMS = ("station", "redis", "bullmq", "beanstalkd")


def output(*args, **options):
    try:
        return subprocess.run(args, capture_output=True, text=True, check=True, **options).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def commit():
    dirty = output("git", "status", "--porcelain", "--untracked-files=no", cwd=REPO)
    return output("git", "rev-parse", "--short", "HEAD", cwd=REPO) + ("+" if dirty not in ("", "none") else "")


def build_type():
    """How the station was built, if meson can tell."""
    rows = output("meson", "introspect", "--buildoptions", str(pathlib.Path(ZPLAND).parents[1]))
    try:
        found = {row["name"]: row["value"] for row in json.loads(rows)}
        return f"{found['buildtype']}, sanitizers {found['b_sanitize']}"
    except (ValueError, KeyError):
        return "unknown"


def environment(options, peers):
    def version(name):
        try:
            return json.loads((peers / "node_modules" / name / "package.json").read_text())["version"]
        except (OSError, ValueError, AttributeError, TypeError):
            return "none"
    return {
        "commit": commit(), "build": build_type(), "libzmq": output(tool("zplan-bench"), "--version"),
        "redis": output("redis-server", "--version").partition(" sha")[0], "node": output("node", "--version"),
        "bullmq": version("bullmq"), "ioredis": version("ioredis"), "beanstalkd": output("beanstalkd", "-v"),
        "cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0],
        "repeat": options.repeat, "scale": options.scale, "small": options.small,
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
        "settings": "zpland's defaults; appendfsync as told, no rewrites while it is measured; a 200-byte argument",
    }


# -- peers

def install_bullmq(folder):
    """Where bullmq is installed, or None. An existing folder is used as it is."""
    if not shutil.which("node") or not shutil.which("npm"):
        say("no node or npm: without BullMQ")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules/bullmq").exists():
        say(f"installing bullmq into {folder}")
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder),
                               "bullmq", "ioredis"], stdout=sys.stderr, check=False)
        if done.returncode:
            say("npm cannot install it: without BullMQ")
            return None
    return folder


def systems_there(options, peers):
    there = {"station", "redis"}
    if options.small or options.no_peers:
        return there
    if peers:
        there.add("bullmq")
    if shutil.which("beanstalkd"):
        there.add("beanstalkd")
    else:
        say("no beanstalkd: without it")
    return there


# -- running

def brief(values):
    return ", ".join(f"{name} {short(value)}" for name, value in list(values.items())[:4])


def turns(options, there):
    """Every run there is to be, in order: (scenario, fsync, system, which of them)."""
    for name in options.only:
        for fsync in options.fsync:
            for turn in range(options.repeat):
                for system in SYSTEMS:
                    if system in there and system in SCENARIOS[name].systems:
                        yield name, fsync, system, turn


def run_all(bench, options, there):
    """(scenario, fsync, system) -> what each run has measured; and the runs that failed, in words.

    One that fails takes no other with it: an hour of figures is worth keeping. So does Ctrl-C.
    """
    found, failed = {}, []
    for name, fsync, system, turn in turns(options, there):
        begin = time.monotonic()
        say(f"{name}, {fsync}: {system} {turn + 1}/{options.repeat}")
        try:
            values = SCENARIOS[name].systems[system](bench, fsync)
        except (Failed, AssertionError, OSError, redis.RedisError) as failure:
            failed.append(f"{name}, {fsync}: {system} {turn + 1}: {failure}")
            say(f"  FAILED: {failure}")
        except KeyboardInterrupt:
            failed.append("interrupted")
            break
        else:
            found.setdefault((name, fsync, system), []).append(values)
            say(f"  {brief(values)} ({time.monotonic() - begin:.0f} s)")
    return found, failed


def medians(runs):
    """Of each value; of a single run itself."""
    middle = {}
    for name in runs[0]:
        known = [run[name] for run in runs if run[name] is not None and not math.isnan(run[name])]
        middle[name] = statistics.median(known) if known else None
    return middle


# -- the table

def met(value, wanted):
    if wanted is None or value is None:
        return None
    sign, bound = wanted
    return value >= bound if sign == ">=" else value <= bound


def short(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if math.isnan(value):     # a peer that gave none
        return "-"
    return f"{value:.3g}" if value != int(value) else str(int(value))


def row(scenario, fsync, metric, value, **more):
    wanted = more.get("wanted")
    return {"scenario": scenario, "fsync": fsync, "metric": metric, "value": value, "peer": None, "peer_value": None,
            **more, "wanted": wanted, "met": met(more.get("ratio", value), wanted)}


def peer_medians(middle, name, fsync, peer):
    """A peer is another system in the same scenario, or the station in another scenario."""
    return middle.get((peer, fsync, "station")) or middle.get((name, fsync, peer))


def rows_of(found):
    middle = {key: medians(runs) for key, runs in found.items()}
    rows = []
    for (name, fsync, system), values in middle.items():
        if system != "station":
            continue
        scenario = SCENARIOS[name]
        for metric, wanted in scenario.wanted:
            rows.append(row(name, fsync, metric, values[metric], wanted=wanted))
        for metric, peer, wanted in scenario.ratios:
            others = peer_medians(middle, name, fsync, peer)
            if not others or not others[metric] or values[metric] is None:
                continue
            wanted = wanted[fsync] if isinstance(wanted, dict) else wanted
            rows.append(row(name, fsync, metric, values[metric], peer=peer, peer_value=others[metric],
                            ratio=values[metric] / others[metric], wanted=wanted))
        told = {one["metric"] for one in rows if (one["scenario"], one["fsync"]) == (name, fsync)}
        alone = [metric for metric, _, _ in scenario.ratios if metric not in told]
        for metric in [*dict.fromkeys(alone), *scenario.shown]:
            rows.append(row(name, fsync, metric, values[metric]))
    return rows


def cells(one):
    sign, bound = one["wanted"] or ("", None)
    verdict = {True: "yes", False: "NO", None: ""}[one["met"]]
    return (one["scenario"], one["fsync"], one["metric"], short(one["value"]),
            f"{one['peer']} {short(one['peer_value'])}" if one["peer"] else "",
            short(one["ratio"]) if "ratio" in one else "", f"{sign} {short(bound)}" if sign else "", verdict)


def print_table(facts, rows):
    for name, value in facts.items():
        print(f"{name + ':':12} {value}")
    head = ("scenario", "fsync", "figure", "station", "peer", "ratio", "wanted", "met")
    lines = [head, *(cells(one) for one in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    print()
    last = None
    for line in lines:
        if last and line[0] != last:
            about = SCENARIOS[line[0]].about if line[0] in SCENARIOS else ""
            print(f"-- {about}")
        last = line[0]
        print("  ".join(text.ljust(width) if i in (0, 1, 2, 4) else text.rjust(width)
                        for i, (text, width) in enumerate(zip(line, widths))).rstrip())


def names_of(text, known):
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name}: want some of {', '.join(known)}")
    return names


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: names_of(text, SCENARIOS), default=list(SCENARIOS),
                        metavar="SCENARIO,...", help=", ".join(SCENARIOS))
    parser.add_argument("--fsync", type=lambda text: names_of(text, ("always", "everysec")),
                        metavar="always,everysec", help="both; small: always")
    parser.add_argument("--repeat", type=int, help="how many runs each; 5, small: 1")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of plans; 1")
    parser.add_argument("--small", action="store_true", help="tiny, without peers: whether it works")
    parser.add_argument("--no-peers", action="store_true", help="the station and Redis alone")
    parser.add_argument("--peers", type=pathlib.Path, metavar="DIR", help="where bullmq is, or is installed; "
                        "default: a temporary folder")
    parser.add_argument("--dir", help="where the data go: the disk that is measured; default: that of temporary files")
    parser.add_argument("--json", action="store_true", help="rows and all runs, for programs")
    options = parser.parse_args()
    options.fsync = options.fsync or (["always"] if options.small else ["always", "everysec"])
    options.repeat = options.repeat or (1 if options.small else 5)
    return options


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, interrupt)    # as Ctrl-C: what was started is stopped and cleared away
    Folder.base = options.dir
    with tempfile.TemporaryDirectory(prefix="zb") as folder:
        peers = None
        if not options.small and not options.no_peers:
            peers = install_bullmq((options.peers or pathlib.Path(folder)).resolve())
        there = systems_there(options, peers)
        facts = environment(options, peers)
        found, failed = run_all(Bench(Sizes(options.small, options.scale), peers), options, there)
    rows = rows_of(found)
    if options.json:
        runs = [{"scenario": name, "fsync": fsync, "system": system, "values": values}
                for (name, fsync, system), values in found.items()]
        print(json.dumps({"environment": facts, "rows": rows, "runs": runs, "failed": failed}, indent=1))
    else:
        print_table(facts, rows)
        for failure in failed:
            print(f"failed: {failure}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
