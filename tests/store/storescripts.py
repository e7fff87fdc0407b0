"""What the tests of the store share: names of keys, the scripts as the build embeds them, and the forms in which
src/store/batch/row_commands.c writes."""
import os
import pathlib
import random
import struct
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "src" / "store" / "scripts"
sys.path.insert(0, str(SCRIPTS))
from embed import script_text   # noqa: E402: the build's own joining of the scripts

SOURCES = {path.stem: script_text(str(path)) for path in SCRIPTS.glob("*.lua")}

TIME_SET, IDS, RUN, META, CLASS, OWNER = ("plan:time:set", "plan:ids", "plan:run", "plan:meta", "plan:class",
                                          "plan:owner")
HISTORY, OUTPUT, FORGOT = "plan:history", "plan:output", "plan:forgot"


def member(ident, station="jobs"):
    return f"plan:msg:{station}:{ident}"


def entry(ident, station="jobs"):
    """Of the index."""
    return f"{ident.zfill(16)}:{station}"


def seeded(turn):
    """Numbers for a random test; a failing one prints its seed. ZPLAN_STORE_SEED=N repeats it."""
    seed = int(os.environ.get("ZPLAN_STORE_SEED") or random.SystemRandom().getrandbits(32))
    print(f"ZPLAN_STORE_SEED={seed}")
    return random.Random(f"{seed} {turn}")


def unpacked(text, read=bytes.decode):
    """A msgpack value of the kinds that the history has: map, array, string and integer."""
    def take(size):
        nonlocal data
        head, data = data[:size], data[size:]
        assert len(head) == size
        return head

    def value():
        byte = take(1)[0]
        if byte < 0x80:
            return byte
        if byte & 0xf0 == 0x80:
            return {value(): value() for _ in range(byte & 0x0f)}
        if byte & 0xf0 == 0x90:
            return [value() for _ in range(byte & 0x0f)]
        if byte & 0xe0 == 0xa0:
            return read(take(byte & 0x1f))
        if byte in SIZES:
            return read(take(struct.unpack(SIZES[byte], take(struct.calcsize(SIZES[byte])))[0]))
        if byte == 0xdc:
            return [value() for _ in range(struct.unpack(">H", take(2))[0])]
        return struct.unpack(INTEGERS[byte], take(struct.calcsize(INTEGERS[byte])))[0]

    data = text.encode("latin-1")
    whole = value()
    assert data == b""
    return whole


SIZES = {0xd9: ">B", 0xda: ">H", 0xdb: ">I"}
INTEGERS = {0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q",
            0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q"}


def packed_text(text):
    data = text.encode("latin-1")
    for head, form, most in ((0xd9, ">BB", 0xff), (0xda, ">BH", 0xffff), (0xdb, ">BI", 1 << 32)):
        if len(data) <= most:
            return struct.pack(form, head, len(data)) + data


def packed_outcomes(rows):
    """Several outcomes as one entry has them: (plan, station, record) of each."""
    return b"".join([struct.pack(">BH", 0xdc, len(rows)),
                     *(b"\x93" + b"".join(map(packed_text, row)) for row in rows)])


def each_outcome(entries):
    """The entries of the history as if each outcome had one of its own."""
    for name, fields in entries:
        if "m" not in fields:
            yield name, fields
            continue
        rows = unpacked(fields["m"], lambda text: text.decode("latin-1"))
        assert len(rows) == int(fields["n"])
        last = int(name.split("-")[0])
        for i, (plan, station, record) in enumerate(rows):
            yield (f"{last - len(rows) + 1 + i}-0",
                   {"p": plan, "s": station, "t": fields["t"], "r": record})
