"""What stands in Redis at the end, as records: the history, the plans that are left, the last broadcast."""
import json
import struct


def unpack(data, text=bytes.decode):
    """One msgpack value, as the station's scripts write them; checked by the tests against those."""
    value, rest = unpack_from(data, 0, text)
    assert rest == len(data), data
    return value


def many(data, at, count, pairs, text):
    found = []
    for _ in range(count * (2 if pairs else 1)):
        value, at = unpack_from(data, at, text)
        found.append(value)
    return (dict(zip(found[::2], found[1::2])) if pairs else found), at


NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
           0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
SIZES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xDC: ">H", 0xDD: ">I",
         0xDE: ">H", 0xDF: ">I"}


def unpack_from(data, at, text):
    head, at = data[at], at + 1
    if head < 0x80 or head >= 0xE0:
        return (head if head < 0x80 else head - 256), at
    if head < 0x90:
        return many(data, at, head & 15, True, text)
    if head < 0xA0:
        return many(data, at, head & 15, False, text)
    if head < 0xC0:
        return text(data[at:at + (head & 31)]), at + (head & 31)
    if head in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[head], at
    form = NUMBERS.get(head) or SIZES[head]
    value, at = struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if head in NUMBERS:
        return value, at
    if head >= 0xDC:
        return many(data, at, value, head >= 0xDE, text)
    return text(data[at:at + value]), at + value


def outcomes(entry, fields):
    """Of an entry of the history: one, or those of several plans that ended by one call."""
    if b"m" not in fields:
        yield entry.decode(), fields[b"p"], fields[b"t"], fields[b"r"]
        return
    last, rows = int(entry.split(b"-")[0]), unpack(fields[b"m"], bytes)
    assert len(rows) == int(fields[b"n"])
    for seq, (plan, _, record) in enumerate(rows, last - len(rows) + 1):
        yield f"{seq}-0", plan, fields[b"t"], record


def plan_of(message):
    """A stored plan, without its frames; what is no JSON as it is."""
    try:
        plan = json.loads(message or "{}")
    except ValueError:
        return {"broken": message.decode(errors="replace")}
    plan.pop("messages", None)
    return plan


def write(db, log):
    """All of it into the log."""
    first, last, holes = "-", 0, []
    while True:
        page = db.xrange("plan:history", min=first, count=5000)
        for entry, plan, at, record in (row for item in page for row in outcomes(*item)):
            run, seq = unpack(record), int(entry.split("-")[0])
            if seq > last + 1:
                holes.append((last + 1, seq - 1))
            last = seq
            log.add("history", id=plan.decode(), entry=entry, at=int(at) / 1000,
                    nominal=int(run["nominal"]), status=int(run["status"]), state=int(run["state"]),
                    exec=int(run["exec_id"]))
        log.flush()
        if len(page) < 5000:
            break
        first = "(" + page[-1][0].decode()
    runs = db.hgetall("plan:run")
    scores = dict(db.zrange("plan:time:set", 0, -1, withscores=True))
    for key in set(db.scan_iter("plan:msg:*", count=1000)) | set(scores) | set(runs):
        log.add("left", id=key.rpartition(b":")[2].decode(), score=scores.get(key),
                run=runs.get(key, b"").decode(), plan=plan_of(db.get(key)))
    meta = {name.decode(): value.decode() for name, value in db.hgetall("plan:meta").items()}
    if int(meta.get("seq", 0)) > last:
        holes.append((last + 1, int(meta["seq"])))
    log.write("meta", seq=int(meta.get("seq", 0)), epoch=meta.get("epoch", ""), holes=holes)
