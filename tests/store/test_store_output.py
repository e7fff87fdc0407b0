"""plan:output: what runs wrote, beside their outcomes; read with the history, and bounded."""
import struct

import pytest

from storescripts import T0, packed_text
from test_store_end import Run, due

OUTPUT = "plan:output"


def output(ident, number, text, station="jobs"):
    """As output.c makes it."""
    return f"{station}:{ident} {int(number):x} {len(text)} {len(text)}\n{text}"


def packed(outputs):
    """As store_output.c packs them for end.lua."""
    parts = [part for one in outputs for part in ("o", one)]
    return struct.pack(">BH", 0xdc, len(parts)) + b"".join(map(packed_text, parts))


def outputs(store, **filters):
    return [row.output for row in store.history(output=True, **filters).outcomes]


@pytest.mark.parametrize("mode, tell", [("next", "result"), ("retry", "failure"), ("retry", "none"), ("park", "result")])
@pytest.mark.parametrize("alone", [True, False])
def test_an_outcome_has_the_output_of_its_run(store, mode, tell, alone):
    """By the path of one run as by that of several, broadcast or not."""
    store.freeze(T0)
    runs = []
    for ident in ("1f", "20"):
        store.submit(ident)
        runs.append((ident, store.run(ident)))
    calls = [store.commit_args(ident, run, mode, "5", record="r " + ident, tell=tell, text='{"revision":5}',
                               output=output(ident, run, "hello " + ident)) for ident, run in runs]
    for call in [[call] for call in calls] if alone else [calls]:
        store.commit_all(call)
    assert outputs(store) == [output(ident, run, "hello " + ident) for ident, run in runs]
    assert outputs(store, plan="20") == [output("20", runs[1][1], "hello 20")]
    assert {row.output for row in store.history().outcomes} == {""}       # only when it is asked for


@pytest.mark.parametrize("count", [1, 3])
def test_plans_that_end_in_one_call(store, twin, count):
    runs = due(store, twin, [f"1{n}" for n in range(count)])
    texts = [output(run.ident, run.exec_id, f"end of {run.ident}") for run in runs]
    for one in (store, twin):
        one.end_all([Run(*run) for run in runs], outputs=packed(texts))
    assert outputs(store) == texts == outputs(twin)
    assert store.db.xlen(OUTPUT) == 1


def test_a_run_without_output_gets_none_of_a_later_one(store):
    """The script answers what it finds; whose run it is stands in it, for the reader to compare."""
    store.freeze(T0)
    store.submit("1f")
    for text in ("", "second"):
        run = store.run("1f")
        store.commit("1f", run, "next", 5, record="r", tell="result", text='{"revision":5}',
                     output=text and output("1f", run, text))
    first, second = outputs(store)
    assert first in ("", second) and f" {int(run):x} " in second


def test_the_oldest_go_when_they_take_too_much_or_are_too_old(store):
    store.freeze(T0)
    for n in range(300):
        store.db.xadd(OUTPUT, {"t": T0 // 1000, "o": "x" * 1000}, id=f"{n + 1}-0")
    most = 100_000
    assert store.call("outputs", [OUTPUT], [most, 60]) > 100
    assert most * 0.5 < store.db.memory_usage(OUTPUT, samples=0) <= most
    last = store.db.xinfo_stream(OUTPUT)["last-generated-id"]
    assert last == "300-0" and store.db.xrange(OUTPUT)[-1][0] == "300-0"
    store.freeze(T0 + 61_000_000)
    assert store.call("outputs", [OUTPUT], [most, 60]) > 50
    assert store.db.xlen(OUTPUT) == 0
    assert store.call("outputs", [OUTPUT], [most, 60]) == 0       # nothing, not even the stream's key
    store.db.delete(OUTPUT)
    assert store.call("outputs", [OUTPUT], [most, 60]) == 0


def test_a_key_of_another_type_harms_no_outcome(store):
    store.freeze(T0)
    store.db.set(OUTPUT, "x")
    store.submit("1f")
    run = store.run("1f")
    answer = store.commit("1f", run, "next", 5, record="r", tell="result", text='{"revision":5}',
                          output=output("1f", run, "lost"))
    assert answer[:2] == [1, 1] and outputs(store) == [""]
    assert store.call("outputs", [OUTPUT], [1000, 60]) == 0
