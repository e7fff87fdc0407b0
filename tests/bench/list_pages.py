#!/usr/bin/python3
"""How long a page of `list` takes with many plans: tests/bench/list_pages.py [--plans N]

Starts a Redis and a zpland of its own, puts the plans straight into Redis in the form in which the
station stores them, and asks for pages of 100 from all over them, without a filter and with some.
ZPLAN_BIN_DIR says where zpland is, as for the tests.
"""
import argparse
import json
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from zplantest import PAUSE, QUEUE, Rig, every   # noqa: E402

BATCH = 5000
DAY = 86400
QUERIES = ({}, {"station": "jobs"}, {"station": "news"}, {"type": "day"}, {"state": "queue"},
           {"state": "pause"}, {"station": "news", "state": "pause"}, {"title": "report 1*"},
           {"title": "no such title"}, {"station": "nobody"})


def ident_of(number):
    """Ids all over their range, the same at each fill."""
    return (number * 0x5851F42D4C957F2D + 0x14057B7EF767814F) % (2**63 - 1) + 1


def plan_of(number):
    """(station, plan_type, plan_state, title) of a plan: a tenth is of `news`, one in 1000 paused."""
    return ("news" if number % 10 == 0 else "jobs", 5 if number % 4 == 0 else 2,
            PAUSE if number % 1000 == 7 else QUEUE, f"report {number}")


def templates(rig):
    """(station, plan_type) -> a message as the station stores it, and the id that stands in it."""
    found = {}
    for station in ("jobs", "news"):
        for kind in (2, 5):
            ident = rig.client.added(every(30, -1, kind=kind, description="@title@"),
                                     station=station)
            found[station, kind] = rig.db.get(rig.key(ident, station)).decode(), ident
            rig.client.done("remove", ident)
    return found


def fill(rig, count):
    """Put so many plans into Redis; none of them is due for a day."""
    kinds = templates(rig)
    soon = int(time.time()) + DAY
    for start in range(0, count, BATCH):
        pipe = rig.db.pipeline(transaction=False)
        messages, index, queue = {}, {}, {}
        for number in range(start, min(start + BATCH, count)):
            station, kind, state, title = plan_of(number)
            ident = ident_of(number)
            text, was = kinds[station, kind]
            when = soon + number % DAY
            message = {**json.loads(text.replace(was, f"{ident:x}").replace("@title@", title)),
                       "plan_id": ident, "plan_state": state, "plan_time": when}
            key = f"plan:msg:{station}:{ident:x}"
            messages[key] = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
            index[f"{ident:016x}:{station}"] = 0
            if state == QUEUE:
                queue[key] = when
        pipe.mset(messages)
        pipe.zadd("plan:ids", index)
        pipe.zadd("plan:time:set", queue)
        pipe.execute()


def measure(rig, query, pages, rng):
    """(seconds of each page, plans on each) of pages from anywhere, the first from the start."""
    times, plans = [], []
    for turn in range(pages):
        after = {"after": f"{rng.randrange(1, 2**63):x}"} if turn else {}
        begin = time.perf_counter()
        answer = rig.client.done("list", {"limit": 100, **query, **after}).json
        times.append(time.perf_counter() - begin)
        plans.append(len(answer["plans"]))
    return times, plans


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=1000000)
    parser.add_argument("--pages", type=int, default=200, help="of each query")
    options = parser.parse_args()
    rig = Rig()
    rng = random.Random(1)
    try:
        rig.start()
        begin = time.perf_counter()
        fill(rig, options.plans)
        memory = rig.db.info("memory")["used_memory"] / 2**20
        print(f"{options.plans} plans put in within {time.perf_counter() - begin:.0f} s, "
              f"{memory:.0f} MiB in Redis; {options.pages} pages of 100 each")
        print(f"{'filter':44} {'median ms':>9} {'max ms':>8} {'plans a page':>12}")
        for query in QUERIES:
            times, plans = measure(rig, query, options.pages, rng)
            print(f"{json.dumps(query):44} {statistics.median(times) * 1000:9.2f} "
                  f"{max(times) * 1000:8.2f} {statistics.mean(plans):12.1f}")
    finally:
        rig.close()


if __name__ == "__main__":
    main()
