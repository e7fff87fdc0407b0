#!/usr/bin/python3
"""Whether a chaos run kept what proto/operations.md promises: check.py FOLDER-OF-RECORDS [--json]

It works on the records alone (records.py says what they are) and knows nothing of how they came about.
Each rule is a function below; what it finds is a violation: (rule, plan, words).

A submission whose answer was lost is repeated and may then be stored twice: an id is free again when its plan
has ended. So of a plan that was submitted N times, without being told that it was not done, N lives are allowed;
the exact rules hold for plans with one.
"""
import argparse
import bisect
import collections
import json
import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from published import rule_broadcast_order, rule_broadcasts, rule_hole, unheard    # noqa: E402
from records import read                                                           # noqa: E402

RULES = ("lost", "left", "unaccounted", "unrecorded", "equal exec_id", "early", "counted twice", "ghost", "wrong time",
         "after removal", "unknown plan", "untold", "not broadcast", "false broadcast", "broadcast order", "hole",
         "fence", "broken", "crash", "not drained", "incomplete")
OK, FRAME_PLANERROR, TIMEOUT, NOT_WORKER, SEND_ERROR, RECV_ERROR = 0x01, 0x8B, 0x86, 0x88, 0x8C, 0x8D
ERROR_FLAG, PAUSE, NET_ERROR, BUSY, MISSED = 0x80, 5, 0x87, 0x8F, 0x91
NONE, TIME, UNIT = 0, 1, {2: 1, 3: 60, 4: 3600, 5: 86400}
NOT_TAKEN = (NOT_WORKER, SEND_ERROR, RECV_ERROR)
# What comes of a run by the way in which its target answered it.
ANSWERS = {"error": (0x82,), "decline": (NOT_WORKER,), "silent": (), "lost": ()}
CLOCK_S = 0.05      # exec_ids of one claim run ahead of the clock by a microsecond each; and reading it takes time

Run = collections.namedtuple("Run", "exec at nominal extra answer")
Outcome = collections.namedtuple("Outcome", "entry at nominal status state exec")
Violation = collections.namedtuple("Violation", "rule plan words")


class Plan:
    """What the records say about one plan."""
    __slots__ = ("ident", "spec", "sent", "undone", "acks", "refused", "words", "removed", "runs", "outcomes", "left")

    def __init__(self, ident):
        self.ident, self.spec, self.left, self.removed = ident, None, None, None
        self.undone = 0
        self.sent, self.acks, self.refused, self.words, self.runs, self.outcomes = (), (), 0, (), (), ()

    @property
    def lives(self):
        """How often it may have been stored."""
        return max(1, len(self.sent) - self.undone)

    @property
    def finals(self):
        """Outcomes that ended a run which the target had: done, failed, parked."""
        return [one for one in self.outcomes if one.status not in (*NOT_TAKEN, TIMEOUT)]

    def good(self):
        """Outcomes of the schedule that count as done."""
        beside = {run.exec for run in self.runs if run.extra}
        return [one for one in self.outcomes if one.status < ERROR_FLAG and one.exec not in beside]

    @property
    def repet(self):
        return self.spec["plan_repet"] if self.spec["plan_type"] in UNIT else 1


class Records:
    def __init__(self, records):
        self.plans, self.heard, self.links, self.faults = {}, [], [], []
        self.drained, self.crashes, self.broken, self.meta = [], [], [], None
        self.batches, self.owners, self.freed, self.handovers, self.holes = [], [], [], [], []
        self.begin = self.healed = None
        specs = {}
        for record in records:
            kind = record["k"]
            if kind in ("carry", "carried", "unsure"):
                continue
            plan = self.plan(record["id"]) if "id" in record else None
            if kind == "submit":
                plan.sent += (record["at"],)
                plan.spec = specs.setdefault(json.dumps(record["spec"], sort_keys=True), record["spec"])
            elif kind == "ack":
                plan.acks += (record["at"],)
            elif kind == "refuse":
                plan.refused += 1
            elif kind == "not-done":
                plan.undone += 1
            elif kind == "manage":
                plan.words += ((record["word"], record["at"]),)
            elif kind == "managed":
                if record["word"] == "remove" and record["code"] == OK:
                    plan.removed = record["at"]
            elif kind in ("exec", "decline"):
                plan.runs += (Run(record["exec"], record["at"], record["nominal"], record["extra"],
                                  record.get("answer", kind)),)
            elif kind == "history":
                if record["status"] != MISSED:      # of no run
                    plan.outcomes += (Outcome(*(record[name] for name in Outcome._fields)),)
            elif kind == "left":
                plan.left = record
            elif kind == "heard":
                self.heard.append((record["epoch"], record["seq"], record["id"], record["code"], record["exec"],
                                   record["done"], record["at"], record["station"]))
            elif kind in ("up", "down"):
                self.links.append((record["at"], kind, record["station"]))
            elif kind == "meta":
                self.meta = record
                self.holes += record["holes"]
            elif kind in ("begin", "healed"):
                setattr(self, kind, record["at"])
            else:
                {"fault": self.faults, "drained": self.drained, "crash": self.crashes,
                 "broken": self.broken, "batches": self.batches, "owner": self.owners, "free": self.freed,
                 "handover": self.handovers}[kind].append(record)
        for plan in self.plans.values():
            plan.outcomes = sorted(plan.outcomes, key=lambda one: tuple(map(int, one.entry.split("-"))))

    def plan(self, ident):
        if ident not in self.plans:
            self.plans[ident] = Plan(ident)
        return self.plans[ident]


def done_with(plan):
    """It may have ended without having run: by management."""
    return any(word in ("remove", "close") for word, _ in plan.words)


def rule_lost(records):
    for plan in records.plans.values():
        if plan.acks and not plan.runs and not done_with(plan) and not passed_over(plan):
            yield "lost", plan.ident, "acknowledged, never executed"


def passed_over(plan):
    """All its occurrences may have been missed before its submission was taken."""
    spec = plan.spec
    return (spec["plan_type"] in UNIT and not spec.get("no_keep")
            and grid(spec)[-1] < int(plan.acks[0]) and plan.lives > 1)


def rule_left(records):
    for plan in records.plans.values():
        if plan.left:
            yield "left", plan.ident, (f"stands in Redis at the end: score {plan.left['score']}, "
                                       f"run {plan.left['run']!r}, {plan.left['plan']}")


def grid(spec):
    """The nominal times of an interval plan that gives its base."""
    step = spec["plan_value"] * UNIT[spec["plan_type"]]
    return [spec["plan_time"] + k * step for k in range(1, spec["plan_repet"] + 1)]


def rule_unaccounted(records):
    """Each occurrence was done once, or was left out or passed over by the rules of chapter 6.3."""
    for plan in records.plans.values():
        spec = plan.spec
        if not plan.acks or done_with(plan) or plan.left or spec is None:
            continue
        good = plan.good()
        if plan.runs and not good:
            yield "unaccounted", plan.ident, "it ended, and no outcome that is good stands in the history"
        elif plan.lives == 1 and spec["plan_type"] == TIME and good and good[0].nominal != spec["plan_time"]:
            yield "unaccounted", plan.ident, f"plan_time {spec['plan_time']}, ran for {good[0].nominal}"
        elif plan.lives == 1 and spec["plan_type"] in UNIT:
            why = intervals(plan, spec, good)
            if why:
                yield "unaccounted", plan.ident, why


def intervals(plan, spec, good):
    times, skips = grid(spec), spec.get("skip_set", 0)
    done = [one.nominal for one in good]
    if set(done) - set(times):
        return f"ran for {sorted(set(done) - set(times))}, which are no occurrences of it: {times}"
    if spec.get("no_keep"):
        missing = [time for time in times[skips:] if time not in done]
        return f"nothing came of {missing}" if missing else None
    # What is not done must have been missed when the run before it ended (at the beginning: when it was
    # submitted, and behind those `skip_set` more).
    moment, waiting = int(plan.acks[0]), list(times)
    for one in [*good, None]:
        before = [time for time in waiting if one is None or time < one.nominal]
        kept = [time for time in before if time >= moment]
        if len(kept) > skips:
            return f"{kept[skips:]} were not missed when it was calculated ({moment}), and nothing came of them"
        if one:
            waiting = [time for time in waiting if time > one.nominal]
            moment, skips = int(one.at), 0
    return None


def rule_unrecorded(records):
    """A run is repeated only if it is known what came of it: each has an outcome, be it that none was heard of."""
    for plan in records.plans.values():
        if plan.words or plan.left or not plan.acks:
            continue
        known = {one.exec for one in plan.outcomes}
        for run in plan.runs:
            if run.exec not in known:
                yield "unrecorded", plan.ident, f"the run {run.exec} has no outcome in the history"


def rule_equal_exec(records):
    seen = {}
    for plan in records.plans.values():
        for run in plan.runs:
            if run.exec in seen:
                yield "equal exec_id", plan.ident, f"exec_id {run.exec} was executed twice (plan {seen[run.exec]})"
            seen[run.exec] = plan.ident


def rule_early(records):
    for plan in records.plans.values():
        for run in plan.runs:
            if run.exec < run.nominal * 1_000_000 or run.at < run.nominal - CLOCK_S:
                yield "early", plan.ident, (f"claimed {run.exec / 1e6:.6f}, received {run.at:.6f}, "
                                            f"nominal time {run.nominal}")


def rule_counted_twice(records):
    for plan in records.plans.values():
        if plan.spec is None:
            continue
        lives, good = plan.lives, plan.good()
        if len(good) > plan.repet * lives:
            yield "counted twice", plan.ident, f"done {len(good)} times, plan_repet {plan.repet}"
        for nominal, count in collections.Counter(one.nominal for one in good).items():
            if count > lives:
                yield "counted twice", plan.ident, f"the occurrence {nominal} was done {count} times"
        for run, count in collections.Counter(one.exec for one in plan.finals).items():
            if count > 1:
                yield "counted twice", plan.ident, f"the run {run} has {count} results in the history"
        for (run, status), count in collections.Counter((one.exec, one.status) for one in plan.outcomes).items():
            if count > 1 and status in (*NOT_TAKEN, TIMEOUT):
                yield "counted twice", plan.ident, f"the run {run} has the status {status} {count} times in the history"
        over = {one.exec for one in plan.outcomes if one.status == TIMEOUT}
        for one in plan.finals:
            if one.exec in over:
                yield "counted twice", plan.ident, f"the run {one.exec} ran out of its lease and has a result"
        beside = sum(run.extra for run in {run.exec: run for run in plan.runs}.values())
        asked = sum(word == "run" for word, _ in plan.words)
        if beside > asked:
            yield "counted twice", plan.ident, f"{beside} runs besides the schedule, {asked} were asked for"
    for _, _, ident, _, _, done, _, _ in records.heard:
        plan = records.plans[ident]
        if plan.spec and done > plan.repet:
            yield "counted twice", ident, f"broadcast with real_repet {done}, plan_repet {plan.repet}"


def rule_ghost(records):
    """A result is one that the target gave to that run."""
    for plan in records.plans.values():
        answers = {run.exec: run.answer for run in plan.runs}
        for one in plan.outcomes:
            if one.status in (SEND_ERROR, RECV_ERROR, TIMEOUT):
                continue
            if one.exec not in answers:
                yield "ghost", plan.ident, f"{one.entry}: status {one.status} for {one.exec}, which nobody executed"
            elif one.status not in ANSWERS.get(answers[one.exec], (OK,)):
                yield "ghost", plan.ident, (f"{one.entry}: status {one.status} for {one.exec}, "
                                            f"whose target answered {answers[one.exec]!r}")


def rule_wrong_time(records):
    """The history names the time that the target was told."""
    for plan in records.plans.values():
        nominal = {run.exec: run.nominal for run in plan.runs}
        for one in plan.outcomes:
            if nominal.get(one.exec, one.nominal) != one.nominal:
                yield "wrong time", plan.ident, (f"{one.entry}: nominal time {one.nominal} of the run {one.exec}, "
                                                 f"whose target was told {nominal[one.exec]}")


def rule_after_removal(records):
    for plan in records.plans.values():
        if plan.removed and plan.lives == 1:
            for run in plan.runs:
                if run.exec / 1e6 > plan.removed + CLOCK_S:
                    yield "after removal", plan.ident, f"removed at {plan.removed}, claimed at {run.exec / 1e6}"


def rule_unknown(records):
    for plan in records.plans.values():
        if plan.spec is None and (plan.runs or plan.outcomes or plan.left):
            yield "unknown plan", plan.ident, "nobody has submitted it"


def rule_untold(records):
    """Results are always broadcast; only what was not taken may be kept back for a minute."""
    for plan in records.plans.values():
        for one in plan.finals:
            if not one.entry.endswith("-0"):
                yield "untold", plan.ident, f"{one.entry}: status {one.status} was not broadcast"


def rule_fence(records):
    """The applied batches of a token are 0, 1, ... without a hole, and none is behind one of a later token."""
    highest, tokens = 0, set()
    for one in records.batches:
        epoch = one["token"].partition(".")[0]
        if not epoch.isdigit():
            yield "fence", "", f"batches {one['first']} to {one['last']} when nobody owned the plans"
        elif one["token"] in tokens:
            yield "fence", "", f"batch {one['first']} of {one['token']} is not the next one"
        elif one["first"] != 0:
            yield "fence", "", f"the batches of {one['token']} begin with {one['first']}"
        elif int(epoch) <= highest:
            yield "fence", "", f"{one['token']} came behind epoch {highest}"
        else:
            highest = int(epoch)
        tokens.add(one["token"])


def rule_process(records):
    for one in records.broken:
        yield "broken", one["id"], one["why"]
    for one in records.crashes:
        yield "crash", "", f"{one['who']} ended with {one['code']}: {one.get('tail', '')}"
    for one in records.drained:
        if one["seconds"] is None:
            yield "not drained", "", f"{one['what']}: not within {one['limit']:.0f} s after all was healed"
    if records.meta is None or not records.drained:
        yield "incomplete", "", "the records have no end"
    for plan in records.plans.values():
        if plan.sent and not plan.acks and not plan.refused:
            yield "not drained", plan.ident, "its submission was never answered"


def extra_runs(records):
    """Executions of an occurrence that had been executed before; how many of them the target had asked for (an
    error, no answer); and the plans of those without any of the reasons of chapter 12."""
    extra, asked_for, unexplained = 0, 0, []
    faults = sorted((fault["at"], fault["end"]) for fault in records.faults)
    for plan in records.plans.values():
        last = {}
        for run in sorted(plan.runs):
            if run.answer == "decline" or run.extra:
                continue
            old = last.get(run.nominal)
            if old:
                extra += 1
                asked_for += old.answer in ANSWERS
                first = bisect.bisect_left(faults, (old.exec / 1e6 - 10,))
                held = any(at < run.at and end > old.exec / 1e6 - 1 for at, end in faults[first:])
                told = any(one.exec == old.exec and (one.status >= ERROR_FLAG) for one in plan.outcomes)
                if not held and not told and plan.lives == 1 and not plan.words:
                    unexplained.append(plan.ident)
            last[run.nominal] = run
    return extra, asked_for, unexplained


def overtaken(records):
    """Runs that reached their target behind a later run of the same plan."""
    count = 0
    for plan in records.plans.values():
        latest = 0.0
        for run in sorted(plan.runs, reverse=True):
            count += bool(latest) and run.at > latest
            latest = run.at if not latest else min(latest, run.at)
    return count


def figures(records):
    plans = records.plans.values()
    runs = sum(run.answer != "decline" for plan in plans for run in plan.runs)
    extra, asked_for, unexplained = extra_runs(records)
    kinds = collections.Counter(one["kind"] if one["kind"] != "kill" else f"kill {one['who'].rstrip('0123456789')}"
                                for one in records.faults)
    acks = sum(len(plan.acks) for plan in plans)
    span = (records.healed - records.begin) if records.healed and records.begin else 0
    return {
        "plans": sum(plan.spec is not None for plan in plans), "acknowledged": sum(bool(plan.acks) for plan in plans),
        "refused": sum(plan.refused for plan in plans), "submissions in doubt": sum(plan.lives > 1 for plan in plans),
        "acknowledged/s": round(acks / span, 1) if span else 0,
        "executions": runs, "extra executions": extra,
        "extra executions %": round(100 * extra / runs, 2) if runs else 0,
        "by faults %": round(100 * (extra - asked_for) / runs, 2) if runs else 0, "extra unexplained": len(unexplained),
        "of plans": unexplained[:10], "overtaken runs": overtaken(records),
        "outcomes": sum(len(plan.outcomes) for plan in plans), "broadcasts": records.meta["seq"] if records.meta else 0,
        "broadcasts heard": len({one[1] for one in records.heard}), "heard twice": len(records.heard) - len(
            {one[:2] for one in records.heard}), "not heard": unheard(records),
        "kills": sum(count for kind, count in kinds.items() if kind.startswith("kill ")),
        "faults": dict(sorted(kinds.items())), "takeovers": max(0, len(records.owners) - 1),
        "handed over": len(records.freed),
        "handovers accepted": sum(one["code"] == OK for one in records.handovers),
        "batches": sum(one["last"] - one["first"] for one in records.batches),
        "drained s": {one["what"]: one["seconds"] and round(one["seconds"], 1) for one in records.drained}}


class Result:
    def __init__(self, violations, found, story):
        self.violations, self.figures, self.story = violations, found, story


def check(folder):
    """Judge the records of a folder."""
    records = Records(read(folder))
    found = [Violation(*one) for rule in (
        rule_lost, rule_left, rule_unaccounted, rule_unrecorded, rule_equal_exec, rule_early, rule_counted_twice,
        rule_ghost, rule_wrong_time, rule_after_removal, rule_unknown, rule_untold, rule_broadcast_order, rule_hole,
        rule_fence, rule_process) for one in rule(records)]
    if records.meta:
        found += [Violation(*one) for one in rule_broadcasts(records)]
    first = collections.Counter()
    shown = []
    for one in found:
        first[one.rule] += 1
        if one.plan and first[one.rule] <= 5:
            shown.append(one.plan)
    return Result(found, figures(records), story(folder, set(shown)))


def story(folder, idents):
    """All that was recorded of these plans, in order."""
    found = collections.defaultdict(list)
    if idents:
        for record in read(folder):
            if record.get("id") in idents:
                found[record["id"]].append(record)
    return {ident: sorted(records, key=lambda one: one.get("at", float("inf"))) for ident, records in found.items()}


def show(result, head, as_json):
    counts = collections.Counter(one.rule for one in result.violations)
    if as_json:
        print(json.dumps({**head, **result.figures, "violations": {rule: counts[rule] for rule in RULES},
                          "found": result.violations[:100], "stories": result.story}))
        return
    for name, value in {**head, **result.figures}.items():
        print(f"{name:>22}  {value}")
    for rule in RULES:
        print(f"{rule:>22}  {counts[rule]}{'   <---' if counts[rule] else ''}")
    shown, told = collections.Counter(), set()
    for one in result.violations:
        shown[one.rule] += 1
        if shown[one.rule] > 5:
            continue
        print(f"\n{one.rule}: plan {one.plan}: {one.words}")
        for record in result.story.get(one.plan, ()) if one.plan not in told else ():
            print("   ", json.dumps(record))
        told.add(one.plan)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    result = check(args.folder)
    show(result, {"folder": args.folder}, args.json)
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
