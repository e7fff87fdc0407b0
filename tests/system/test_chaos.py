"""The chaos run (tests/chaos): its checker finds each defect it is there for, and a short run has none."""
import json
import pathlib
import subprocess
import sys

import pytest

CHAOS = pathlib.Path(__file__).resolve().parents[1] / "chaos"
sys.path.insert(0, str(CHAOS))
import check                                    # noqa: E402
from dump import unpack                         # noqa: E402
from faults import OTHERS, faults               # noqa: E402
from records import Log, read                   # noqa: E402
from zplanprocs import WAIT                     # noqa: E402

T0 = 1_800_000_000      # a second: the plans below are submitted in it
EPOCH = "6b00fdb631fa6"
CROWD = {"station": ["station0", "station1"], "target": ["jobs0"], "submitter": ["submitter0"],
         "proxy": ["proxy0", "proxy1"]}


def us(seconds):
    return round(seconds * 1e6)


def base(*records):
    """A run without faults around these."""
    return [{"k": "begin", "at": T0}, {"k": "up", "at": T0 - 1, "station": "station0"},
            {"k": "up", "at": T0 - 1, "station": "station1"}, batches("1.a", 0, 9), batches("2.b", 0, 7), *records,
            {"k": "heard", "id": "ff", "at": T0 - .5, "seq": 1, "epoch": EPOCH, "station": "station0", "code": 1,
             "exec": us(T0 - .6), "done": 1},
            {"k": "heard", "id": "fe", "at": T0 - .5, "seq": 2, "epoch": EPOCH, "station": "station1", "code": 1,
             "exec": us(T0 - .7), "done": 1},
            *plan("ff", seq=1, sent=T0 - .7, runs=[(T0 - .6, int(T0 - .6))], tell=False),
            *plan("fe", seq=2, sent=T0 - .8, runs=[(T0 - .7, int(T0 - .7))], tell=False),
            {"k": "healed", "at": T0 + 60},
            {"k": "drained", "at": T0 + 62, "what": "backlog", "seconds": 2, "limit": 13},
            {"k": "meta", "seq": 99, "epoch": EPOCH, "holes": []}]


def batches(token, first, last):
    return {"k": "batches", "token": token, "first": first, "last": last, "at": T0}


def submit(ident="a", at=T0, ack=True, **spec):
    found = [{"k": "submit", "id": ident, "at": at, "spec": {"station": "jobs0", "plan_type": 0, **spec}}]
    return found + [{"k": "ack", "id": ident, "at": at + .01}] * ack


def execute(ident, at, nominal, **more):
    return {"k": "exec", "id": ident, "at": at + .001, "exec": us(at), "nominal": nominal, "target": "jobs0",
            "extra": False, "answer": "ok", **more}


def outcome(ident, at, nominal, seq, status=1, written=None, entry=None):
    return {"k": "history", "id": ident, "entry": entry or f"{seq}-0", "at": written or at + .01, "nominal": nominal,
            "status": status, "state": 7, "exec": us(at)}


def heard(ident, at, seq, code=1, done=1, **more):
    return {"k": "heard", "id": ident, "at": at + .02, "seq": seq, "epoch": EPOCH, "station": "station0", "code": code,
            "exec": us(at), "done": done, **more}


def plan(ident="a", seq=10, sent=T0, runs=((T0 + .1, T0),), tell=True, **spec):
    """The whole good story of a plan that ran at these (claimed, nominal) times."""
    found = submit(ident, sent, **spec)
    for i, (at, nominal) in enumerate(runs):
        found += [execute(ident, at, nominal), outcome(ident, at, nominal, seq + i)]
        if tell:
            found.append(heard(ident, at, seq + i, done=i + 1))
    return found


def judge(folder, records):
    """The rules that these records break."""
    log = Log(folder / "x.log")
    for record in records:
        log.add(record["k"], **{name: value for name, value in record.items() if name != "k"})
    log.flush()
    return check.check(str(folder))


SECONDS = {"plan_type": 2, "plan_value": 2, "plan_repet": 3, "plan_time": T0}
THREE = [(T0 + 2.1, T0 + 2), (T0 + 4.1, T0 + 4), (T0 + 6.1, T0 + 6)]
KEPT = {**SECONDS, "no_keep": True}
KILL = {"k": "fault", "at": T0 + .12, "end": T0 + 1, "kind": "kill", "who": "station0"}
DEAF = [KILL, {"k": "down", "at": T0 + .12, "station": "station0"}, {"k": "up", "at": T0 + 1, "station": "station0"},
        *plan("b", seq=11, runs=[(T0 + 1.5, T0)])]

GOOD = {
    "one run": plan(),
    "an interval": plan(runs=THREE, **KEPT),
    "one occurrence was missed": plan(runs=[(T0 + 5.1, T0 + 2), (T0 + 6.1, T0 + 6)], **SECONDS),
    "missed before the submission": plan(sent=T0 + 5, runs=[(T0 + 6.1, T0 + 6)], **SECONDS),
    "left out": plan(runs=THREE[1:], **SECONDS, skip_set=1),
    "left out, with no_keep": plan(runs=THREE[1:], **KEPT, skip_set=1),
    "two executions, one counted": [*plan(runs=[(T0 + 4, T0)]), execute("a", T0 + .1, T0, answer="lost"),
                                    outcome("a", T0 + .1, T0, 9, status=134, entry="9-1")],
    "removed before it ran": [*submit(), {"k": "manage", "id": "a", "word": "remove", "at": T0 + 1},
                              {"k": "managed", "id": "a", "word": "remove", "at": T0 + 1.1, "code": 1}],
    "in doubt, then stored twice": [*plan(), *plan(seq=11, sent=T0 + .3, runs=[(T0 + .5, T0)])],
    "an error, then good": [*plan(runs=[(T0 + 2, T0)]), execute("a", T0 + .1, T0, answer="error"),
                            outcome("a", T0 + .1, T0, 9, status=0x82), heard("a", T0 + .1, 9, code=0x82, done=0)],
    "no status, then a result": [*plan(), outcome("a", T0 + .1, T0, 9, status=0x8D, entry="9-1")],
    "told by nobody: the station was killed": [*plan(tell=False), *DEAF],
    "besides the schedule": [*plan(runs=[(T0 + 5, T0 + 5)], plan_type=1, plan_time=T0 + 5),
                             {"k": "manage", "id": "a", "word": "run", "at": T0 + 1},
                             execute("a", T0 + 1.1, T0 + 1, extra=True), outcome("a", T0 + 1.1, T0 + 1, 9),
                             heard("a", T0 + 1.1, 9, done=0)],
}

BAD = {
    "never executed": ("lost", submit()),
    "still in Redis": ("left", [*plan(), {"k": "left", "id": "a", "score": None, "run": "", "plan": {"plan_state": 2}}]),
    "executed, nothing came of it": ("unaccounted", [*submit(), execute("a", T0 + .1, T0)]),
    "only errors came of it": ("unaccounted", [
        *submit(), execute("a", T0 + .1, T0, answer="error"), outcome("a", T0 + .1, T0, 9, status=0x82),
        heard("a", T0 + .1, 9, code=0x82, done=0)]),
    "an occurrence is missing": ("unaccounted", plan(runs=[THREE[0], THREE[2]], **KEPT)),
    "the last one is missing": ("unaccounted", plan(runs=THREE[:2], **KEPT)),
    "passed over, not missed": ("unaccounted", plan(runs=[THREE[0], THREE[2]], **SECONDS)),
    "the first passed over, not missed": ("unaccounted", plan(runs=THREE[1:], **SECONDS)),
    "one too many left out": ("unaccounted", plan(runs=THREE[2:], **SECONDS, skip_set=1)),
    "a time it does not have": ("unaccounted", plan(runs=[*THREE[:2], (T0 + 7, T0 + 5), THREE[2]], **SECONDS)),
    "another time than its own": ("unaccounted", plan(runs=[(T0 + 9, T0 + 6)], plan_type=1, plan_time=T0 + 5)),
    "one exec_id, two executions": ("equal exec_id", [*plan(), execute("a", T0 + .1, T0)]),
    "one exec_id, two plans": ("equal exec_id", [*plan(), *plan("b", 20)]),
    "claimed before its time": ("early", plan(runs=[(T0 + 4.9, T0 + 5)], plan_type=1, plan_time=T0 + 5)),
    "done twice": ("counted twice", plan(runs=[(T0 + .1, T0), (T0 + 4, T0)])),
    "done once too often": ("counted twice", plan(runs=[*THREE, (T0 + 8.1, T0 + 6)], **KEPT)),
    "two results of one run": ("counted twice", [*plan(), outcome("a", T0 + .1, T0, 11), heard("a", T0 + .1, 11)]),
    "a result behind the lease": ("counted twice", [*plan(), outcome("a", T0 + .1, T0, 9, status=134, entry="9-1")]),
    "real_repet over plan_repet": ("counted twice", [*plan(tell=False), heard("a", T0 + .1, 10, done=2)]),
    "a run nobody asked for": ("counted twice", [*plan(), execute("a", T0 + 1, T0 + 1, extra=True)]),
    "a result without an execution": ("ghost", [*submit(), outcome("a", T0 + .1, T0, 10), heard("a", T0 + .1, 10)]),
    "a result the target did not give": ("ghost", [
        *submit(), execute("a", T0 + .1, T0, answer="error"), outcome("a", T0 + .1, T0, 10), heard("a", T0 + .1, 10)]),
    "another time than the target was told": ("wrong time", [
        *submit(), execute("a", T0 + .1, T0), outcome("a", T0 + .1, T0 + 1, 10), heard("a", T0 + .1, 10)]),
    "ran after its removal": ("after removal", [
        {"k": "manage", "id": "a", "word": "remove", "at": T0 + 1},
        {"k": "managed", "id": "a", "word": "remove", "at": T0 + 1.1, "code": 1}, *plan(runs=[(T0 + 4, T0)])]),
    "a plan from nowhere": ("unknown plan", plan()[2:]),
    "a result kept back": ("untold", [*submit(), execute("a", T0 + .1, T0), outcome("a", T0 + .1, T0, 9, entry="9-1")]),
    "told by nobody": ("not broadcast", plan(tell=False)),
    "told by nobody, long before the kill": ("not broadcast", [*plan(tell=False), *(
        {**record, "at": record["at"] + 9} if record["k"] in ("fault", "up", "down") else record for record in DEAF[:3]),
        *plan("b", seq=11, runs=[(T0 + 20, T0)])]),
    "told by nobody, after the kill": ("not broadcast", [*plan(runs=[(T0 + 5, T0)], tell=False), *DEAF]),
    "told by nobody, when a standby was killed": ("not broadcast", [
        *plan(runs=[(T0 + 8, T0)], tell=False), *plan("b", seq=11, runs=[(T0 + 12, T0)]),
        {"k": "owner", "at": T0 - 9, "token": "1.a", "name": "x", "request": "ipc:///x/q0"},
        {"k": "down", "at": T0 + 8, "station": "station1"}, {"k": "up", "at": T0 + 9, "station": "station1"}]),
    "told, and not in the history": ("false broadcast", [*plan(), heard("a", T0 + .1, 11)]),
    "told of another run": ("false broadcast", [*plan(tell=False), heard("a", T0 + .2, 10)]),
    "told with another status": ("false broadcast", [*plan(tell=False), heard("a", T0 + .1, 10, code=0x82)]),
    "told twice": ("broadcast order", [*plan(), heard("a", T0 + .1, 10, station="station1")]),
    "told behind a later one": ("broadcast order", [*plan(), *plan("b", seq=9, runs=[(T0 + .3, T0)])]),
    "a number that no entry has": ("hole", [*plan(), {"k": "meta", "seq": 99, "epoch": EPOCH, "holes": [[11, 98]]}]),
    "a run of which nothing became known": ("unrecorded", [*plan(runs=[(T0 + 4, T0)]), execute("a", T0 + .1, T0)]),
    "the same failure twice": ("counted twice", [
        *plan(runs=[(T0 + 4, T0)]), execute("a", T0 + .1, T0, answer="silent"), *(
            outcome("a", T0 + .1, T0, 9, status=0x8D, entry=entry) for entry in ("8-1", "9-1"))]),
    "a batch of a former owner": ("fence", [*plan(), batches("1.a", 10, 10)]),
    "a batch is left out": ("fence", [*plan(), batches("3.c", 0, 3), batches("3.c", 5, 5)]),
    "no takeover": ("fence", [*plan(), batches("3.c", 1, 3)]),
    "an epoch twice": ("fence", [*plan(), batches("2.c", 0, 3)]),
    "a batch of nobody": ("fence", [*plan(), batches("free", 8, 8)]),
    "told in another epoch": ("false broadcast", [*plan(tell=False), heard("a", T0 + .1, 10, epoch="0")]),
    "a dispatch that contradicts itself": ("broken", [*plan(), {"k": "broken", "id": "a", "at": T0, "why": "x"}]),
    "a station that died": ("crash", [*plan(), {"k": "crash", "at": T0, "who": "station0", "code": -6}]),
    "a backlog that stays": ("not drained", [
        *plan(), {"k": "drained", "at": T0 + 75, "what": "plans", "seconds": None, "limit": 13}]),
    "never answered": ("not drained", submit(ack=False)),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_records(tmp_path, name):
    assert not judge(tmp_path, base(*GOOD[name])).violations


@pytest.mark.parametrize("name", BAD)
def test_defect_is_found(tmp_path, name):
    rule, records = BAD[name]
    result = judge(tmp_path, base(*records))
    assert rule in {one.rule for one in result.violations}, result.violations
    assert all(result.story[one.plan] for one in result.violations if one.plan)


def test_every_rule_has_a_defect():
    assert {rule for rule, _ in BAD.values()} == set(check.RULES) - {"incomplete"}


def test_records_without_an_end(tmp_path):
    found = judge(tmp_path, [record for record in base(*plan()) if record["k"] not in ("meta", "drained")])
    assert {one.rule for one in found.violations} == {"incomplete"}


def test_extra_executions_and_their_reasons(tmp_path):
    records = [*plan(runs=[(T0 + 4, T0)]), execute("a", T0 + .1, T0)]
    assert judge(tmp_path, base(*records)).figures["extra unexplained"] == 1
    (tmp_path / "x.log").unlink()
    figures = judge(tmp_path, base(*records, KILL)).figures
    assert figures["extra executions"] == 1 and figures["extra unexplained"] == 0


def test_torn_line_is_no_record(tmp_path):
    (tmp_path / "x.log").write_text('{"k":"begin","at":1}\n{"k":"healed","a')
    assert list(read(tmp_path)) == [{"k": "begin", "at": 1}]


def test_same_seed_same_faults():
    one = faults(7, 60, 30, 20, CROWD)
    assert one == faults(7, 60, 30, 20, CROWD) != faults(8, 60, 30, 20, CROWD)
    assert sum(fault.kind == "kill" for fault in one) == 30
    assert {fault.kind for fault in one} == {"kill", *OTHERS}
    assert [fault.at for fault in one] == sorted(fault.at for fault in one)


@pytest.mark.parametrize("packed,value", [
    ("82a161cf0006619b7f1c5a10a16293c0c3ff", {"a": 0x6619B7F1C5A10, "b": [None, True, -1]}),
    ("d9036162 63".replace(" ", ""), "abc"), ("cb41d1000000000000", 1140850688.0), ("cd0101", 257)])
def test_msgpack_of_the_history(packed, value):
    assert unpack(bytes.fromhex(packed)) == value


def test_chaos_for_a_short_time():
    """Some of each fault, for a quarter of a minute; by hand for as long as one likes."""
    done = subprocess.run(
        [str(CHAOS / "run"), "--minutes", "0.25", "--seed", "4", "--rate", "50", "--kills", "8", "--others", "8",
         "--folder", "/var/tmp", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=8 * WAIT, check=False)
    assert done.returncode == 0, done.stdout.decode()[-20000:] + done.stderr.decode()[-4000:]
    found = json.loads(done.stdout)
    assert found["kills"] == 8 and found["plans"] > 100 and found["executions"] > 100, found
