"""Refused submits (proto 5, 10): the status byte, the reason, the echoes, Redis untouched."""
import json
import time

import pytest

from zplantest import CMD, FT, ST, WORD, describe, later, pack, plan_frames, wait_until

DROP = object()
NOW = int(time.time())
ECHOES = [(FT.REQUESTER, b"boss"), (FT.REQUEST_ID, b"r\0\xff")]


def plan(**changes):
    fields = {"description": "x", "plan_type": 2, "plan_value": 60, "plan_repet": 3, **changes}
    return {name: value for name, value in fields.items() if value is not DROP}


def refused(rig, status, pairs, desc=None, names=""):
    """Ask; the answer is exactly this refusal and Redis is as it was."""
    before = rig.dump()
    reply = rig.client.ask(CMD.PLAN, pairs, desc=desc)
    assert reply.code == status, reply
    assert reply.text.startswith(WORD[status] + ": "), reply.text
    assert names.lower() in reply.text[len(WORD[status]):].lower(), reply.text
    assert rig.dump() == before
    rig.client.ping()
    return reply


# Each row: the field that the reason names, and the changes to a good plan.
FIELDS = [
    ("plan_type", {"plan_type": 99}), ("plan_type", {"plan_type": -1}),
    ("plan_type", {"plan_type": "x"}), ("plan_type", {"plan_type": 2.5}),
    ("plan_type", {"plan_type": 2.0}), ("plan_type", {"plan_type": DROP}),
    ("plan_type", {"plan_type": None}), ("plan_type", {"plan_type": True}),
    ("plan_type", {"plan_type": "2"}), ("plan_type", {"plan_type": ["second"]}),
    ("plan_type", {"plan_type": 258}), ("plan_type", {"plan_type": 2**32 + 2}),
    ("plan_type", {"plan_type": "SECOND "}), ("plan_type", {"plan_type": ""}),
    # A018, A055
    ("plan_value", {"plan_value": 32767}), ("plan_value", {"plan_value": 40000}),
    ("plan_value", {"plan_value": 2**31}), ("plan_value", {"plan_value": 2**32 + 1}),
    ("plan_value", {"plan_value": -1}), ("plan_value", {"plan_value": 1.5}),
    ("plan_value", {"plan_value": "1"}), ("plan_value", {"plan_value": None}),
    ("plan_value", {"plan_value": DROP}), ("plan_value", {"plan_value": False}),
    ("plan_value", {"plan_type": 6, "plan_value": 8}),
    ("plan_value", {"plan_type": 6, "plan_value": -1}),          # A063
    ("plan_value", {"plan_type": 6, "plan_value": DROP}),
    ("plan_value", {"plan_type": 7, "plan_value": 32}),          # A071
    ("plan_value", {"plan_type": 7, "plan_value": -32}),
    ("plan_value", {"plan_type": 7, "plan_value": DROP}),
    # A019, A054
    ("plan_repet", {"plan_repet": 0}), ("plan_repet", {"plan_repet": -2}),
    ("plan_repet", {"plan_repet": DROP}), ("plan_repet", {"plan_repet": "3"}),
    ("plan_repet", {"plan_repet": 1.0}),
    ("plan_repet", {"plan_type": 6, "plan_value": 1, "plan_repet": 0}),
    ("plan_repet", {"plan_type": 7, "plan_value": 1, "plan_repet": 0}),
    ("no_keep", {"no_keep": 1}), ("no_keep", {"no_keep": "true"}), ("no_keep", {"no_keep": None}),
    ("no_skip", {"no_skip": 0}), ("no_", {"no_keep": True, "no_skip": True}),
    # A051
    ("plan_time", {"plan_time": -5}), ("plan_time", {"plan_time": 253402300800}),
    ("plan_time", {"plan_time": 1700000000000}), ("plan_time", {"plan_time": NOW + 100.5}),
    ("plan_time", {"plan_time": float(NOW + 100)}), ("plan_time", {"plan_time": "tomorrow"}),
    ("plan_time", {"plan_time": "2096-13-01T00:00:00Z"}),
    ("plan_time", {"plan_time": "2095-02-29T00:00:00Z"}),
    ("plan_time", {"plan_time": "2096-02-29T08:30:00.5Z"}),
    ("plan_time", {"plan_time": "2096-02-29T08:30:00"}),
    ("plan_time", {"plan_time": "2096-02-29T08:30:00Z "}), ("plan_time", {"plan_time": ""}),
    ("plan_time", {"plan_time": str(NOW + 100)}), ("plan_time", {"plan_time": True}),
    ("plan_time", {"plan_type": 1, "plan_time": 0}),
    ("plan_time", {"plan_type": 1, "plan_time": DROP}),
    ("skip_set", {"skip_set": -1}), ("skip_set", {"skip_set": 3}), ("skip_set", {"skip_set": 4}),
    ("skip_set", {"skip_set": 1.5}), ("skip_set", {"skip_set": "1"}),
    ("description", {"description": 5}), ("description", {"description": None}),
    ("description", {"description": {"b64": ""}}),
    # A039: what no issue defines, and what is read only
    ("colour", {"colour": "red"}), ("real_repet", {"real_repet": 99}),
    ("last_state", {"last_state": 1}), ("plan_id", {"plan_id": 7}),
    ("station", {"station": "evil"}), ("exec_time", {"exec_time": 0}), ("caller", {"caller": "x"}),
    ("request_id", {"request_id": ""}), ("messages", {"messages": []}),
    ("base_time", {"base_time": 1}), ("exec_id", {"exec_id": 1}), ("add_time", {"add_time": 1}),
    ("plan_state", {"plan_state": 1}), ("Plan_Type", {"Plan_Type": 2}),
    ("skip_num", {"skip_num": 0}), ("error_count", {"error_count": 0}),
]
FIELD_IDS = [f"{field}-{row}" for row, (field, _) in enumerate(FIELDS)]


@pytest.mark.parametrize("field,changes", FIELDS, ids=FIELD_IDS)
def test_A039_A045_A051_A054_A055_fields(shared, field, changes):
    """B054: a field that only the station sets is rejected, as `add_time`."""
    reply = refused(shared, ST.PLANERROR, plan_frames(plan(**changes), more=ECHOES), names=field)
    assert reply.get(FT.REQUESTER) == b"boss" and reply.get(FT.REQUEST_ID) == b"r\0\xff"


def test_A018_the_reason_as_the_protocol_prints_it(shared):
    reply = refused(shared, ST.PLANERROR, plan_frames(plan(plan_value=40000)))
    assert reply.text == "-plan error: plan_value: want 0..32766, got 40000"


@pytest.mark.parametrize("age", [1, 3600, NOW - 1], ids=["second", "hour", "1970"])
def test_A049_time_that_is_past(shared, age):
    pairs = plan_frames({"description": "x", "plan_type": 1, "plan_time": NOW - age})
    assert refused(shared, ST.PLANERROR, pairs).text == "-plan error: plan_time: is past"


def test_A059_whose_last_occurrence_is_past(shared):
    refused(shared, ST.PLANERROR,
            plan_frames(plan(plan_value=1, plan_repet=10, plan_time=NOW - 100)))


GOOD = json.dumps(plan()).encode()
BODIES = {
    "empty": b"", "blank": b"  ", "text": b"now", "number": b"5", "null": b"null", "string": b'"x"',
    "array": b"[]", "array-of-plan": b"[" + GOOD + b"]", "cut": GOOD[:-1], "trailing": GOOD + b"x",
    "two": GOOD + GOOD, "trailing-nul": GOOD + b"\0", "single-quotes": GOOD.replace(b'"', b"'"),
    "comma": GOOD[:-1] + b",}", "comment": GOOD + b"//", "nan": GOOD.replace(b"60", b"NaN"),
    "utf8": GOOD.replace(b'"x"', b'"\xff"'), "utf8-long-form": GOOD.replace(b'"x"', b'"\xc0\xaf"'),
    "utf8-surrogate": GOOD.replace(b'"x"', b'"\xed\xa0\x80"'),
    "lone-escape": GOOD.replace(b'"x"', b'"\\ud800"'),
    "double": GOOD[:-1] + b', "plan_type": 2}', "leading-zero": GOOD.replace(b"60", b"060"),
    "plus": GOOD.replace(b"60", b"+60"), "control": GOOD.replace(b'"x"', b'"\n"'),
    "deep": b"[" * 4000, "huge-number": GOOD.replace(b"60", b"9" * 400),
    "over-int64": GOOD.replace(b"60", b"9223372036854775808"),
    "nested": GOOD.replace(b"60", b"{" * 3), "bom": b"\xef\xbb\xbf" + GOOD,
    "utf16": GOOD.decode().encode("utf-16-le"),
}


@pytest.mark.parametrize("name", BODIES)
def test_A038_plan_frame_that_is_no_json_object(shared, name):
    refused(shared, ST.PLANERROR, plan_frames(BODIES[name]))


def test_A038_no_plan_frame(shared):
    refused(shared, ST.PLANERROR, plan_frames(later())[1:], names="PLAN")


def test_A040_api_without_command(shared):
    refused(shared, ST.PLANERROR, plan_frames(later(), head=[]), names="COMMAND")
    refused(shared, ST.PLANERROR, plan_frames(later(), head=[(FT.PUB_TITLE, b"t")]),
            names="COMMAND")


def test_A041_pub_without_title(shared):
    refused(shared, ST.PLANERROR, plan_frames(later(), "news", head=[]), names="PUB_TITLE")
    refused(shared, ST.PLANERROR, plan_frames(later(), "news", head=[(FT.COMMAND, b"do")]),
            names="PUB_TITLE")


def test_A015_unknown_station(shared):
    for name in ("nobody", "Jobs", "JOBS", "jobs ", "job", "jobs.x"):
        refused(shared, ST.NOT_FIND, plan_frames(later(), name))


@pytest.mark.parametrize("name", ["a:b", "jobs:", "*", "jobs\0", "", "x" * 65, "日"])
def test_A015_no_station_name(shared, name):
    """Unknown, or a wrong field: the protocol leaves which; no key may come of it."""
    before = shared.dump()
    reply = shared.client.submit(later(), station=name)
    assert reply.code in (ST.NOT_FIND, ST.PLANERROR) and reply.text.startswith(WORD[reply.code])
    assert shared.dump() == before


def test_no_station_frame(shared):
    """As above: a missing field, or no station of that name."""
    before = shared.dump()
    reply = shared.client.submit(later(), station=None)
    assert reply.code in (ST.NOT_FIND, ST.PLANERROR) and reply.text.startswith(WORD[reply.code])
    assert shared.dump() == before


@pytest.mark.parametrize("ident", ["0", "-1", "zz", "", "8000000000000000", "ffffffffffffffff",
                                   "10000000000000000", "00000000000000001", "0x1", " 1", "1 ",
                                   "1\0", "+1", "0000000000000000", "1.0"])
def test_A013_bad_ids(shared, ident):
    refused(shared, ST.PLANERROR, plan_frames(later(), gid=ident), names="GLOBAL_ID")


@pytest.mark.parametrize("kind", ["GLOBAL_ID", "STATION_ID", "REQUEST_ID", "REQUESTER", "PLAN",
                                  "COMMAND"])
def test_A038_frame_that_stands_twice(shared, kind):
    pairs = plan_frames(later(), gid="2", more=ECHOES)
    pairs += [(t, f) for t, f in pairs if t == getattr(FT, kind)]
    refused(shared, ST.FRAME_INVALID, pairs)


def test_frames_that_may_stand_twice(shared):
    more = [(FT.ARG, b"a"), (FT.CONTENT, b"c"), (FT.CONTEXT, b"{}"), (FT.JSON, b"{}")] * 2
    assert shared.client.submit(later(), more=more).code == ST.PLAN


def test_code_byte_zero(shared):
    pairs = plan_frames(later())
    refused(shared, ST.FRAME_INVALID, pairs, desc=describe(0, [t for t, _ in pairs]))


@pytest.mark.parametrize("tail", [b"\0\x24", b"\x24", b"\x01\0", b"\0\0\x41\0"])
def test_description_with_something_after_its_end(shared, tail):
    pairs = plan_frames(later())
    desc = describe(CMD.PLAN, [t for t, _ in pairs])[:-1] + tail
    refused(shared, ST.FRAME_INVALID, pairs, desc=desc)


@pytest.mark.parametrize("count", [33, 40, 41, 100])
def test_too_many_frames(shared, count):
    pairs = plan_frames(later())
    refused(shared, ST.FRAME_INVALID, pairs + [(FT.ARG, b"")] * (count - len(pairs)))


def test_32_frames_are_a_message(shared):
    """Nothing but the description's limit speaks against 32; what fires has 3 or 4 frames more
    and 2 less, so a station may refuse what it could never send, but not break it."""
    pairs = plan_frames(later())
    before = shared.dump()
    reply = shared.client.ask(CMD.PLAN, pairs + [(FT.ARG, b"")] * (32 - len(pairs)))
    if reply.code != ST.PLAN:
        assert reply.code in (ST.BUSY, ST.PLANERROR, ST.FRAME_INVALID) and ": " in reply.text
        assert shared.dump() == before


@pytest.mark.parametrize("bad", [
    plan(description="d" * 1025), plan(description="日" * 342), GOOD + b" " * (4097 - len(GOOD))])
def test_limits_of_the_plan_frame(shared, bad):
    """A limit is BUSY, a wrong field FRAME_PLANERROR: a text too long is both."""
    before = shared.dump()
    reply = shared.client.submit(bad)
    assert reply.code in (ST.BUSY, ST.PLANERROR), reply
    assert reply.text.startswith(WORD[reply.code] + ": ")
    assert shared.dump() == before


def test_the_plan_frame_may_have_4_kib(shared):
    assert shared.client.submit(GOOD + b" " * (4096 - len(GOOD))).code == ST.PLAN


@pytest.mark.parametrize("args", [[(1 << 20) + 1], [1 << 20] * 4])
def test_limits_of_frame_and_message(shared, args):
    """Over 1 MiB a frame, over 4 MiB a message: BUSY, or the connection is cut; never a plan."""
    before = shared.dump()
    client = shared.dealer()
    client.send(CMD.PLAN, plan_frames(later(), more=[(FT.ARG, b"x" * n) for n in args]))
    if client.socket.poll(1000):
        reply = client.recv()
        assert reply.code == ST.BUSY and reply.text.startswith("-busy"), reply
    shared.client.ping()
    assert shared.dump() == before


def test_a_message_just_below_4_mib(shared):
    more = [(FT.ARG, bytes([n]) * (1 << 20)) for n in range(3)]
    ident = shared.client.added(later(), more=more)
    assert len(shared.message(ident)["messages"]) == 8


def test_refusals_by_every_envelope(shared):
    """The envelopes of refusals are those of the replies."""
    parts = pack(CMD.PLAN, plan_frames(plan(plan_value=-1), more=ECHOES))
    for before, back in (([], 0), ([b""], 1), ([b"caller\0"], 0)):
        client = shared.dealer()
        client.socket.send_multipart([*before, *parts])
        reply = client.recv(before=back)
        assert reply.before == before[:back]
        assert reply.code == ST.PLANERROR and "plan_value" in reply.text
        assert reply.get(FT.REQUESTER) == b"boss"


@pytest.mark.parametrize("frames", [[(1 << 20) + 1], [1 << 20] * 4, [1] * 40], ids=["frame", "message", "frames"])
def test_a_result_above_a_limit_is_not_answered(shared, frames):
    """Two stations could answer each other for ever."""
    def dropped():
        return shared.client.done("stats").json["counters"]["dropped_mailboxes"]
    before = dropped()
    client = shared.dealer()
    client.socket.send_multipart([b"*1f", bytes([len(frames), ST.OK, *[FT.CONTENT] * len(frames), 0]),
                                  *[b"x" * n for n in frames]])
    wait_until(lambda: dropped() == before + 1, "it is counted")
    assert not client.socket.poll(200)


@pytest.mark.parametrize("before", [(), (b"caller",)], ids=["plain", "caller"])
@pytest.mark.parametrize("args", [[(1 << 20) + 1], [1 << 20] * 4], ids=["frame", "message"])
def test_a_refusal_for_size_repeats_who_asked(shared, before, args):
    client = shared.dealer()
    pairs = [(FT.REQUESTER, b"me"), (FT.REQUEST_ID, b"r1"),
             *plan_frames(later(), more=[(FT.ARG, b"x" * n) for n in args])]
    reply = client.ask(CMD.PLAN, pairs, before=list(before))
    assert reply.code == ST.BUSY
    assert reply.get(FT.REQUESTER) == b"me" and reply.get(FT.REQUEST_ID) == b"r1"
