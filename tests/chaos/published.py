"""The rules of check.py about what is published: each outcome of the history once, and in its order."""
import bisect
import collections

BEFORE_S = 1.5      # a write may be that much older than the loss of the connection that kept it from being told
AFTER_S = 0.2       # what a subscriber hears this long after it connected is of the new connection
TAKEOVER_S = 3.0    # this long around a takeover an outcome may be of the owner before or of the one after it


def deaf(records):
    """When the subscriber may have missed broadcasts: station -> [from, to]s."""
    heard = collections.defaultdict(list)
    for one in records.heard:
        heard[one[7]].append(one[6])
    spans, down = collections.defaultdict(list), {}
    for station in heard:
        heard[station].sort()
    for at, kind, station in sorted(records.links):
        if kind == "down":
            down.setdefault(station, at)
        else:
            lost = down.pop(station, None)
            first = bisect.bisect_left(heard[station], at + AFTER_S)
            spans[station].append((before(records, station, lost) if lost else float("-inf"),
                                   heard[station][first] if first < len(heard[station]) else float("inf")))
    for station, at in down.items():
        spans[station].append((before(records, station, at), float("inf")))
    return {station: merged(found) for station, found in spans.items()}


def before(records, station, at):
    """What had been written and not told when the connection was lost: the station, or Redis, may have been held up."""
    first = at - BEFORE_S
    for fault in sorted(records.faults, key=lambda one: -one["at"]):
        if fault["at"] <= at and fault["end"] + BEFORE_S >= first and fault["who"].startswith(
                (station, "redis", "proxy")):
            first = min(first, fault["at"] - BEFORE_S)
    return first


def merged(spans):
    found = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([begin, end])
    return found


def owners(records, at):
    """The stations that may have published what was written then; all, where nobody saw who owned the plans."""
    if not records.owners:
        return {station for _, _, station in records.links}
    found = [one for one in records.owners if one["at"] <= at - TAKEOVER_S][-1:]
    found += [one for one in records.owners if abs(one["at"] - at) < TAKEOVER_S]
    return {"station" + one["request"].rpartition("/q")[2] for one in found}


def rule_broadcasts(records):
    kept = {int(one.entry[:-2]): (plan.ident, one) for plan in records.plans.values() for one in plan.outcomes
            if one.entry.endswith("-0")}
    epoch, heard = records.meta["epoch"], set()
    for its_epoch, seq, ident, code, run, _, _, _ in records.heard:
        heard.add(seq)
        if its_epoch != epoch:
            yield "false broadcast", ident, f"seq {seq} of epoch {its_epoch}; the only one is {epoch}"
        elif seq not in kept:
            yield "false broadcast", ident, f"seq {seq} is not in the history"
        elif (kept[seq][0], kept[seq][1].status, kept[seq][1].exec) != (ident, code, run):
            yield "false broadcast", ident, f"seq {seq}: status {code} of run {run}; in the history {kept[seq]}"
    spans = deaf(records)
    for seq, (ident, one) in kept.items():
        if seq not in heard:
            if not any(begin <= one.at <= end for station in owners(records, one.at)
                       for begin, end in spans.get(station, ())):
                yield "not broadcast", ident, f"seq {seq}, written {one.at:.3f}, was heard by nobody who listened"


def rule_broadcast_order(records):
    """One station at a time publishes: the numbers of each only grow, and none comes twice."""
    last, seen = {}, {}
    for epoch, seq, ident, _, _, _, _, station in sorted(records.heard, key=lambda one: one[6]):
        if (epoch, seq) in seen:
            yield "broadcast order", ident, f"seq {seq} was published by {seen[epoch, seq]} and by {station}"
        elif last.get(station, (epoch, 0))[0] == epoch and seq < last.get(station, (epoch, 0))[1]:
            yield "broadcast order", ident, f"{station} published seq {seq} behind {last[station][1]}"
        seen[epoch, seq], last[station] = station, (epoch, seq)


def rule_hole(records):
    for first, last in records.holes:
        yield "hole", "", f"seq {first} to {last} are in no entry of the history"


def unheard(records):
    kept = {int(one.entry[:-2]) for plan in records.plans.values() for one in plan.outcomes if one.entry.endswith("-0")}
    return len(kept - {one[1] for one in records.heard})
