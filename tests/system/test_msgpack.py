"""PLAN frames in msgpack (proto 5.2): the first byte says so, the rules are those of JSON."""
import struct
import time

import pytest

from zplanprocs import RSS_MIB
from zplantest import CMD, FT, ST, WORD, at_once, every, later, pack, plan_frames, unframe


def head(size, fix, fix_max, wide):
    """The first bytes of a map or string: its size in the smallest form that has room."""
    if size <= fix_max:
        return bytes([fix | size])
    return next(bytes([byte]) + size.to_bytes(width, "big")
                for byte, width in wide if size < 256 ** width)


def msgpack(value):
    """What the msgpack specification says of these types; not the packer under test."""
    if isinstance(value, dict):
        fields = b"".join(msgpack(k) + msgpack(v) for k, v in value.items())
        return head(len(value), 0x80, 15, [(0xde, 2), (0xdf, 4)]) + fields
    if isinstance(value, str):
        text = value.encode()
        return head(len(text), 0xa0, 31, [(0xd9, 1), (0xda, 2)]) + text
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if value is None:
        return b"\xc0"
    return bytes([value]) if 0 <= value < 128 else b"\xd3" + struct.pack(">q", value)


def test_a_plan_is_stored_and_its_frame_kept_byte_for_byte(shared):
    plan = later(description="日报", plan_repet=5, no_keep=True)
    pairs = plan_frames(msgpack(plan), gid="ab1")
    assert shared.client.ask(CMD.PLAN, pairs).code == ST.PLAN
    message = shared.message("ab1")
    assert message["description"] == "日报" and message["no_keep"] is True
    assert message["plan_time"] == plan["plan_time"] == shared.score("ab1")
    assert [unframe(f) for f in message["messages"]] == [b"*ab1", *pack(CMD.PLAN, pairs)]
    # The same again changes nothing; the same plan as JSON is another submission.
    before = shared.dump()
    assert shared.client.ask(CMD.PLAN, pairs).code == ST.PLAN
    assert shared.client.submit(plan, gid="ab1").code >= ST.ERROR_FLAG
    assert shared.dump() == before


@pytest.mark.parametrize("restarted", [False, True])
def test_a_plan_fires(rig, restarted):
    """What runs has the plan as JSON, as ever."""
    plan = later(description="x" * 300, skip_set=0)
    ident = rig.client.added(msgpack(plan))
    if restarted:
        rig.restart()
    rig.due_now(ident)
    run = rig.jobs.recv()
    assert run.mailbox == b"*" + ident.encode()
    assert run.plan["plan_id"] == int(ident, 16) and run.plan["description"] == "x" * 300
    rig.jobs.finish(run)
    rig.gone(ident)


def test_a_plan_repeats(rig):
    ident = rig.client.added(msgpack(every(1, 2)))
    times = []
    for _ in range(2):
        run = rig.jobs.recv()
        times.append(run.plan_time)
        rig.jobs.finish(run)
    assert times[0] < times[1]
    rig.gone(ident)


def test_a_broadcast(rig):
    results = rig.subscribe("said")
    rig.client.added(msgpack(at_once(description="said")))
    rig.jobs.finish(rig.jobs.recv())
    assert results.recv().before[0] == b"said"


@pytest.mark.parametrize("fields", [
    {"plan_time": 253402300799}, {"plan_time": "2096-02-29T08:30:00Z"}, {"plan_type": "time"},
    {"plan_repet": -1}, {"no_skip": True}, {"description": "d" * 1024}, {"description": ""}])
def test_accepted_fields(shared, fields):
    plan = later(**fields)
    packed, text = (shared.message(shared.client.added(p)) for p in (msgpack(plan), plan))
    for name in ("description", "plan_type", "plan_time", "plan_repet", "no_keep", "skip_set"):
        assert packed[name] == text[name], name


def test_all_forms_of_an_integer(shared):
    when = int(time.time()) + 86400
    for form in (b"\xce" + struct.pack(">I", when), b"\xcf" + struct.pack(">Q", when),
                 b"\xd2" + struct.pack(">i", when), b"\xd3" + struct.pack(">q", when)):
        body = b"\x82" + msgpack("plan_type") + b"\xcc\1" + msgpack("plan_time") + form
        assert shared.message(shared.client.added(body))["plan_time"] == when


def refused(rig, body, names):
    before = rig.dump()
    reply = rig.client.ask(CMD.PLAN, plan_frames(body, more=[(FT.REQUEST_ID, b"r")]))
    assert reply.code == ST.PLANERROR, reply
    assert reply.text.startswith(WORD[ST.PLANERROR] + ": ") and names in reply.text, reply
    assert reply.get(FT.REQUEST_ID) == b"r"
    assert rig.dump() == before
    rig.client.ping()


@pytest.mark.parametrize("field,changes", [
    ("plan_type", {"plan_type": 99}), ("plan_type", {"plan_type": "never"}),
    ("plan_type", {"plan_type": 2.0}), ("plan_type", {"plan_type": None}),
    ("plan_value", {"plan_value": 40000}), ("plan_value", {"plan_value": -1}),
    ("plan_value", {"plan_value": 1.0}), ("plan_value", {"plan_value": True}),
    ("plan_repet", {"plan_repet": 0}), ("plan_repet", {"plan_repet": 2**31}),
    ("no_keep", {"no_keep": 1}), ("skip_set", {"skip_set": 3}), ("plan_time", {"plan_time": -5}),
    ("plan_time", {"plan_time": 1e9}), ("description", {"description": None}),
    ("description", {"description": {}}), ("description", {"description": "d" * 1025}),
    ("colour", {"colour": "red"}), ("exec_id", {"exec_id": 1})])
def test_refused_fields(shared, field, changes):
    refused(shared, msgpack(every(60, 3, **changes)), field)


GOOD = msgpack(later())
D = msgpack("description")
HOSTILE = {
    "empty-map": (b"\x80", "plan_type"), "trailing": (GOOD + b"\0", "bytes after"),
    "two": (GOOD + GOOD, "bytes after"), "json-behind": (GOOD + b"{}", "bytes after"),
    "in-an-array": (b"\x91" + GOOD, "JSON"), "json-before": (b"{}" + GOOD, "JSON"),
    "cut": (GOOD[:-1], "cut short"), "first-byte": (GOOD[:1], "cut short"),
    "double": (b"\x82" + msgpack("plan_type") + b"\0" + msgpack("plan_type") + b"\0", "duplicate"),
    "utf8": (b"\x81" + D + b"\xa1\xff", "UTF-8, in field 'description'"),
    "nul": (b"\x81" + D + b"\xa1\0", "NUL, in field 'description'"),
    "bin": (b"\x81" + D + b"\xc4\1x", "bin"), "ext": (b"\x81" + D + b"\xd4\1x", "ext"),
    "c1": (b"\x81" + D + b"\xc1", "c1"), "name-1": (b"\x81\1\1", "not a string"),
    "uint64": (b"\x81" + D + b"\xcf" + b"\xff" * 8, "over 9223372036854775807"),
    "nan": (b"\x81" + D + b"\xcb\x7f\xf8" + b"\0" * 6, "not finite"),
    "map32": (b"\xdf\xff\xff\xff\xff", "count"), "map32-2^28": (b"\xdf\x10\0\0\0", "count"),
    "map32-filled": (b"\xdf\x10\0\0\0" + b"\xa0\0" * 2000, "count"),
    "map16": (b"\xde\xff\xff", "count"), "map15": (b"\x8f", "count"),
    "array32": (b"\x81" + D + b"\xdd\xff\xff\xff\xff", "count"),
    "array32-2^28": (b"\x81" + D + b"\xdd\x10\0\0\0", "count"),
    "str32": (b"\x81" + D + b"\xdb\xff\xff\xff\xff", "count"),
    "name-str32": (b"\x81\xdb\xff\xff\xff\xff", "count"),
    "claims": (b"\x81" + D + b"\xdd\1\0\0\0" * 30, "count"),
    "deep": (b"\x81" + D + b"\x91" * 3000 + b"\0", "deeper"),
    "deep-maps": (b"\x81\xa0" * 2000 + b"\0", "deeper"),
    "large": (b"\x8f" + b"\0" * 4096, "at most 4096"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_frames_are_refused_and_the_station_goes_on(shared, name):
    before = shared.station.rss_mib()
    refused(shared, *HOSTILE[name])
    assert shared.station.rss_mib() - before < RSS_MIB


@pytest.mark.parametrize("first", [*range(0x7e, 0x92), 0xc1, 0xdc, 0xdd, 0xde, 0xdf, 0xe0])
def test_no_first_byte_ends_the_station(shared, first):
    for rest in (b"", b"\0" * 8, b"\xff" * 8, b"\xff" * 4000, GOOD[1:]):
        if bytes([first]) + rest != GOOD:
            refused(shared, bytes([first]) + rest, "")
