"""Many plans at once: add --from, export and import, against a real station; and against one played
by the test where it has to be busy, silent or slow."""
import json
import os
import re
import subprocess
import time

import pytest

from clitest import (GLOBAL_ID, JSON, NO_ANSWER, NOT_FIND, OK, PLAN, REFUSED, STATES, STATUS, USAGE,
                     WAIT, ZPLAN, FakeStation, objects, reply, taken_apart, zplan)
from keyedtest import LockedStation, Pair
from zplantest import later

OK_PLAN, BUSY, NET_ERROR = 0x02, 0x8F, 0x87


class Station:
    """The command line at a real station."""

    def __init__(self, rig):
        self.rig = rig

    def zplan(self, *args, **options):
        return zplan(*self.where(), *args, **options)

    def where(self):
        return ["--connect", self.rig.ipc("q"), "--publish", self.rig.ipc("p"), "--timeout",
                str(int(WAIT * 1000))]

    def plans(self):
        return objects(self.zplan("list", "--json=wire"))

    def kept(self, ident):
        return json.loads(self.zplan("show", ident, "--json=wire").done())

    def state(self, ident):
        return STATES[self.kept(ident)["plan_state"]]


@pytest.fixture
def one(make_rig):
    return Station(make_rig())


@pytest.fixture
def two(make_rig):
    return Station(make_rig())


def lines(path, *entries):
    path.write_text("".join(entry if isinstance(entry, str) else json.dumps(entry) + "\n"
                            for entry in entries))
    return str(path)


LATER = {"station": "jobs", "command": "sweep", "at": "2100-01-01T00:00Z"}


# -- add --from

def test_a_plan_for_each_line(one, tmp_path):
    path = lines(tmp_path / "plans", {**LATER, "id": "1f", "arg": ["a", "b"], "title": "first"},
                 "\n", {"station": "jobs", "command": "x", "every": "10m", "repeat": 6, "keep": True},
                 {"station": "jobs", "command": "y", "plan_type": "week", "plan_value": 1,
                  "plan_repet": 3, "description": "wire", "skip_set": 1})
    assert one.zplan("add", "--from", path).done() == "3 plans added\n"
    first, *others = one.plans()
    assert (first["plan_id"], first["description"]) == (0x1f, "first")
    assert one.kept("1f")["messages"][-4:-1] == ["sweep", "a", "b"]     # then the REQUEST_ID
    by_type = {plan["plan_type"]: plan for plan in others}
    assert (by_type[3]["plan_value"], by_type[3]["plan_repet"], by_type[3]["no_keep"]) == (10, 6, True)
    assert (by_type[6]["description"], by_type[6]["skip_set"]) == ("wire", 1)


def test_from_standard_input_and_in_json(one):
    process = subprocess.run(
        [ZPLAN, *one.where(), "add", "--from", "-", "--json=wire"], capture_output=True, timeout=WAIT,
        input=(json.dumps({**LATER, "id": "1f"}) + "\n" + json.dumps({"station": "nowhere"}) +
               "\n").encode(), check=False)
    assert process.returncode == REFUSED
    refused, done, summary = sorted(map(json.loads, process.stdout.splitlines()),
                                    key=lambda line: ("done" in line) + 2 * ("summary" in line))
    assert done == {"line": 1, "id": "1f", "done": "add"}
    assert refused["line"] == 2 and refused["refused"].startswith("command: must be given")
    assert summary["summary"] == {"lines": 2, "added": 1, "there": 0, "updated": 0, "ended": 0,
                                  "refused": 1, "unknown": 0, "not_taken": 0}


@pytest.mark.parametrize("line, told", [
    ("{\n", "plans:2: "),
    ("[1]\n", "plans:2: "),
    ({}, "command: must be given"),
    ({"command": "x"}, "target: which target? known: jobs, news"),
    ({**LATER, "target": ["jobs"]}, "target: want a text"),
    ({**LATER, "comand": "x"}, "'comand': unknown field; did you mean command?"),
    ({**LATER, "plan_tipe": 1}, "did you mean plan_type?"),
    ({**LATER, "id": "xyz"}, "id: want a plan id"),
    ({**LATER, "id": 31}, "id: want a plan id"),
    ({**LATER, "title": ["a"]}, "title: want a text"),
    ({**LATER, "keep": 1.5}, "keep: want true or false"),
    ({**LATER, "plan_type": 1}, "at and the fields of the PLAN frame: want one or the other"),
    ({**LATER, "every": "1h"}, "--every"),
    ({**LATER, "arg": ["a"] * 40}, "arg: at most"),
    ({**LATER, "arg": "a" * 2**21}, "the request cannot be sent"),
    ({**LATER, "station": "nowhere"}, "no target 'nowhere'; known: jobs, news"),
    ({**LATER, "at": None, "messages": ["*1f"]}, "messages: want mailbox"),
    ({"station": "jobs", "command": "x", "plan_type": "time"}, "plan_time"),
    ({"station": "jobs", "plan_type": 5, "plan_value": 2**62, "plan_repet": -2**62, "plan_time": 2**62,
      "skip_num": -2**62, "messages": ["*1f", {"b64": "AQEkAA=="}, "x"]}, "plan_value"),
    ({"station": "jobs", "messages": ["*1f", "\u0002\u0001$", "x"]}, "messages: want mailbox"),
    ({"station": ["jobs"], "messages": ["*1f", {"b64": "AQEkAA=="}, "x"]}, "station: must be given"),
])
def test_a_line_that_is_refused_is_named_and_the_next_follows(shared, tmp_path, line, told):
    one = Station(shared)
    path = lines(tmp_path / "plans", LATER, line, LATER)
    ended = one.zplan("add", "--from", path)
    assert (ended.code, ended.out) == (REFUSED, "2 plans added, 1 refused\n")
    assert ended.err.startswith(f"zplan: {path}:2: ") and told in ended.err, ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("verb", [("import", "-"), ("add", "--from", "-")])
def test_an_input_that_cannot_be_read_is_no_end(shared, tmp_path, verb):
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        ended = subprocess.run([ZPLAN, *Station(shared).where(), *verb], stdin=folder, capture_output=True,
                               timeout=WAIT, check=False)
    finally:
        os.close(folder)
    assert ended.returncode == REFUSED and b"Is a directory" in ended.stderr, ended


def test_many_large_ones_wait_for_each_other(tmp_path):
    """Of several endpoints the client keeps copies of what is in flight, at most 64 MiB."""
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}", "arg": "x" * 1_000_000} for n in range(1, 81)))
    begun = []

    def answer(request):
        if not begun:
            time.sleep(2)       # so that all are sent that can be
        begun.append(request)
        return [reply(request, OK_PLAN, (GLOBAL_ID, ident(request)))]
    with FakeStation(answer) as station:
        ended = zplan("--connect", f"{station.endpoint},tcp://127.0.0.1:1", "--timeout", str(int(WAIT * 1000)),
                      "add", "--from", path)
    assert ended.done() == "80 plans added\n"


def test_stop_on_error(one, tmp_path):
    path = lines(tmp_path / "plans", LATER, {"x": 1}, *[LATER] * 100)
    ended = one.zplan("add", "--from", path, "--stop-on-error")
    assert (ended.code, ended.out) == (REFUSED, "1 plan added, 1 refused\n")


def test_with_ids_a_second_run_changes_nothing(one, tmp_path):
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}", "title": f"t{n}"}
                                       for n in range(1, 400)),
                 *({"station": "jobs", "command": "x", "in": "1h", "id": f"{n:x}"}
                   for n in range(400, 500)))
    assert one.zplan("add", "--from", path).done() == "499 plans added\n"
    before = one.plans()
    assert one.zplan("add", "--from", path).done() == "0 plans added, 499 already exist\n"
    assert one.plans() == before
    *each, summary = objects(one.zplan("add", "--from", path, "--json=wire"))
    assert summary["summary"]["there"] == 499 and {line["done"] for line in each} == {"nothing"}
    assert len(before) == 499
    # another plan under a known id is none of that
    path = lines(tmp_path / "other", {**LATER, "command": "another", "id": "1"})
    assert "GLOBAL_ID" in one.zplan("add", "--from", path).err
    assert one.plans() == before


@pytest.mark.parametrize("args, told", [
    (["--from", "x", "--target", "jobs"], "--from and --target: want one or the other"),
    (["--from", "x", "--every", "1h"], "--from and --every"),
    (["--from"], "--from: requires a value"),
])
def test_usage(args, told):
    assert told in zplan("add", *args).failed(USAGE)


def test_a_file_that_is_not_there(tmp_path):
    assert "No such file" in zplan("add", "--from", str(tmp_path / "x")).failed(REFUSED)
    assert "directory" in zplan("import", str(tmp_path)).failed(REFUSED)


def test_one_plan_that_is_there_already(one):
    order = ["add", "--station", "jobs", "--command", "x", "--at", "2100-01-01", "--id", "2a"]
    assert " accepted, " in one.zplan(*order).done()
    assert one.zplan(*order).done() == "plan 2a already exists, next run at 2100-01-01T00:00:00Z\n"
    assert objects(one.zplan(*order, "--json=wire"))[0].items() >= {"there": True,
                                                               "result": "exists"}.items()


def test_what_became_of_a_plan_with_a_key(one, tmp_path):
    """Added, updated, replaced, or left as it is: for people, for programs, and in a file."""
    def add(title, *words):
        return one.zplan("add", "--station", "jobs", "--command", "x", "--at", "2100-01-01",
                         "--unique", "nightly", "--title", title, *words)
    told = add("first", "--json=wire").done()
    first = json.loads(told)
    assert first["result"] == "added" and "there" not in first
    ident = first["id"]
    update = ["--if-exists", "update"]
    when = ", next run at 2100-01-01T00:00:00Z\n"
    assert add("second").done() == f"plan {ident} already exists{when}"
    assert one.plans()[0]["description"] == "first"
    assert add("second", *update).done() == f"plan {ident} updated{when}"
    assert one.plans()[0]["description"] == "second"
    assert json.loads(add("third", *update, "--json=wire").done())["result"] == "updated"
    one.zplan("pause", ident).done()
    assert add("fourth", *update).done() == f"plan {ident} updated; its state is pause\n"
    replace = ["--if-exists", "replace"]
    assert add("fifth", *replace).done() == f"plan {ident} replaced{when}"
    assert json.loads(add("sixth", *replace, "--json=wire").done())["result"] == "replaced"

    line = {"station": "jobs", "command": "x", "at": "2100-01-01", "unique": "nightly"}
    path = lines(tmp_path / "plans", {**line, "title": "seventh", "if_exists": "update"},
                 {**line, "unique": "new"})
    assert one.zplan("add", "--from", path).done() == "1 plan added, 1 updated\n"
    assert one.zplan("add", "--from", path).done() == \
        "0 plans added, 1 already exists, 1 updated\n"
    *each, summary = objects(one.zplan("add", "--from", path, "--json=wire"))
    assert {line["line"]: line["done"] for line in each} == {1: "update", 2: "nothing"}
    assert summary["summary"].items() >= {"added": 0, "there": 1, "updated": 1}.items()


def test_one_plan_is_added_as_before(one):
    out = one.zplan("add", "--station", "jobs", "--command", "x", "--at", "2100-01-01", "--id",
                    "2a").done()
    assert out == ("plan 2a accepted, first run at 2100-01-01T00:00:00Z\n"
                   "retry: 10 tries, then it stops with an error\n")


# -- a station that is busy, silent

def ident(request):
    types = request[0][2:]
    return request[1 + types.index(GLOBAL_ID)] if GLOBAL_ID in types else b"77"


class Busy:
    """Each plan is refused as BUSY first; then it is taken. Several are in flight at once."""

    def __init__(self, wait_ms, times=1):
        self.seen, self.again, self.most, self.taken = {}, {}, 0, []
        self.wait_ms, self.times = wait_ms, times

    def __call__(self, request):
        who, now = ident(request), time.monotonic()
        count = self.seen.get(who, 0)
        self.seen[who] = count + 1
        if count < self.times:
            self.again[who] = now
            words = f"-busy: max_requests_peer: too many; try again in {self.wait_ms} ms"
            return [reply(request, BUSY, (STATUS, words.encode()))]
        assert now - self.again[who] >= self.wait_ms / 1000
        self.taken.append(who)
        return [reply(request, OK_PLAN, (GLOBAL_ID, who))]


def test_busy_is_obeyed(tmp_path):
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}"} for n in range(1, 300)))
    busy = Busy(150)
    with FakeStation(busy) as station:
        assert station.zplan("add", "--from", path).done() == "299 plans added\n"
    assert sorted(busy.taken) == sorted(f"{n:x}".encode() for n in range(1, 300))
    assert set(busy.seen.values()) == {2}


def test_busy_longer_than_the_timeout_is_waited_for(tmp_path):
    path = lines(tmp_path / "plans", {**LATER, "id": "1"})
    with FakeStation(Busy(3000)) as station:
        assert station.zplan("add", "--from", path, "--timeout", "2000").done() == "1 plan added\n"


def test_busy_for_good_is_a_refusal(tmp_path):
    path = lines(tmp_path / "plans", LATER)
    words = b"-busy: quota exceeded: 5 plans (max_plans)"
    with FakeStation(lambda request: [reply(request, BUSY, (STATUS, words))]) as station:
        ended = station.zplan("add", "--from", path)
    assert (ended.code, ended.out) == (REFUSED, "0 plans added, 1 not taken\n")
    first, second = ended.err.splitlines()
    assert first == f"zplan: {path}:1: {words.decode()}"
    assert second.startswith("zplan: stopped: line 1 is the first that was not taken")


AWAY = (STATUS, b"-net error: Redis is not connected")


@pytest.mark.parametrize("named", [False, True])
def test_a_redis_that_is_away_is_told_once(tmp_path, named):
    """Not of each line; with an id it is tried again first."""
    path = lines(tmp_path / "plans", {**LATER, "id": "77"},
                 *({**LATER, **({"id": f"{n:x}"} if named else {})} for n in range(200, 2200)))
    seen = []

    def answer(request):
        if ident(request) == b"77" and not seen:
            seen.append(request)
            return [reply(request, OK_PLAN, (GLOBAL_ID, b"77"))]
        seen.append(request)
        return [reply(request, NET_ERROR, AWAY)]
    with FakeStation(answer) as station:
        ended = station.zplan("add", "--from", path)
    assert ended.code == REFUSED
    assert len(set(map(ident, seen)) if named else seen) < 1000
    assert re.fullmatch(r"1 plan added, \d+ not taken\n", ended.out)
    assert not named or [ident(request) for request in seen].count(b"c8") > 1
    first, second = ended.err.splitlines()
    assert first == f"zplan: {path}:2: {AWAY[1].decode()}"
    assert second.startswith("zplan: stopped: line 2 is the first that was not taken")


def test_a_redis_that_comes_back_is_waited_for(tmp_path):
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}"} for n in range(1, 100)))
    tries = {}

    def answer(request):
        who = ident(request)
        tries[who] = tries.get(who, 0) + 1
        return [reply(request, *((NET_ERROR, AWAY) if tries[who] < 3
                                 else (OK_PLAN, (GLOBAL_ID, who))))]
    with FakeStation(answer) as station:
        assert station.zplan("add", "--from", path).done() == "99 plans added\n"
    assert set(tries.values()) == {3}


def test_many_are_in_flight(tmp_path):
    """The station answers none before it has 200 of them."""
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}"} for n in range(1, 201)))
    held = []

    def hold(request):
        held.append(request)
        return [reply(r, OK_PLAN, (GLOBAL_ID, ident(r))) for r in held] if len(held) == 200 else []
    with FakeStation(hold) as station:
        assert station.zplan("add", "--from", path).done() == "200 plans added\n"


class Held:
    """Answers no look before `looks` of them are there, and no plan before there is one with the id
    2; the first plan is refused as BUSY then."""

    def __init__(self, looks):
        self.looks, self.looked, self.plans, self.order = looks, [], [], []
        self.first = None       # ids of the plans that came before any was answered

    def __call__(self, request):
        if PLAN not in request[0][2:]:
            word, _ = taken_apart(request)
            if word == "pause":
                return [reply(request, OK, (JSON, b"{}"))]
            self.looked.append(request)
            ready = self.looked if len(self.looked) == self.looks else []
            return [reply(look, NOT_FIND, (STATUS, b"-no find")) for look in ready]
        self.plans.append(request)
        if self.first is None and ident(request) != b"2":
            return []
        if self.first is not None:
            return [self.take(request)]
        self.first = [ident(plan) for plan in self.plans]
        busy = reply(self.plans[0], BUSY, (STATUS, b"-busy: max_runs; try again in 200 ms"))
        return [busy, *map(self.take, self.plans[1:])]

    def take(self, request):
        plan = json.loads(request[1 + request[0][2:].index(PLAN)])
        self.order.append(plan["description"])
        return reply(request, OK_PLAN, (GLOBAL_ID, ident(request)))


@pytest.mark.parametrize("verb, looks", [(["add", "--from"], 0), (["import", "--hold"], 4)])
def test_a_request_id_is_in_flight_once(tmp_path, verb, looks):
    """Those that have the same one go in the order of their lines, also past a BUSY."""
    path = lines(tmp_path / "plans", *({**LATER, "id": "1", "title": f"{n}"} for n in range(3)),
                 {**LATER, "id": "2", "title": "other"})
    held = Held(looks)
    with FakeStation(held) as station:
        assert station.zplan(*verb, path).done() == "4 plans added\n"
    assert held.first == [b"1", b"2"]
    assert held.order == ["other", "0", "1", "2"]


def test_a_slow_station_is_not_silent(tmp_path):
    """Each waits behind those before it for longer than the time-out."""
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}"} for n in range(1, 257)))

    def slow(request):
        time.sleep(0.02)
        return [reply(request, OK_PLAN, (GLOBAL_ID, ident(request)))]
    with FakeStation(slow) as station:
        ended = station.zplan("add", "--from", path, "--timeout", "3000")
    assert ended.done() == "256 plans added\n"


def test_a_silent_station(tmp_path):
    path = lines(tmp_path / "plans", *[LATER] * 400)
    answered = []

    def some(request):
        answered.append(request)
        return [reply(request, OK_PLAN, (GLOBAL_ID, b"77"))] if len(answered) <= 5 else []
    with FakeStation(some) as station:
        ended = station.zplan("add", "--from", path, "--timeout", "3000")
    assert ended.code == NO_ANSWER and ended.err.startswith("zplan: no answer from tcp://")
    assert re.fullmatch(r"5 plans added, \d+ not known\n", ended.out)


def test_progress(tmp_path):
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}"} for n in range(1, 301)))

    def slow(request):
        time.sleep(0.02)
        return [reply(request, OK_PLAN, (GLOBAL_ID, ident(request)))]
    with FakeStation(slow) as station:
        text = station.terminal("add", "--from", path).done()
    assert re.search(r"\radd: \d+ plans \[#*-*\] \d+ %\x1b\[K", text), text
    assert text.endswith("\r\x1b[K300 plans added\n")


# -- export, import

def fill(station):
    """Plans of every type; one is paused, one has run, one has ended."""
    zplan_add = [("--at", "2100-01-01T00:00Z"), ("--every", "1h", "--repeat", "5"),
                 ("--weekly", "mon@08:30"), ("--monthly", "-1@23:00", "--keep"),
                 ("--every", "30s", "--start", "2100-01-01")]
    idents = [station.zplan("add", "--station", "jobs", "--command", "do", "--arg", "\u00e4 \\ \"",
                            "--title", f"plan {n}", *when, "--json=wire").done()
              for n, when in enumerate(zplan_add)]
    idents = [json.loads(line)["id"] for line in idents]
    idents.append(station.rig.client.added(later(description="own frames"), more=[(0x42, b"\xff\x00")]))
    idents = [i if isinstance(i, str) else f"{i:x}" for i in idents]
    station.zplan("pause", idents[1]).done()
    station.zplan("skip", idents[1], "--count", "2").done()
    return idents


def without(plan, *fields):
    return {field: value for field, value in plan.items() if field not in fields}


def test_what_is_exported_is_what_show_prints(one):
    idents = sorted(fill(one), key=lambda ident: int(ident, 16))
    out = one.zplan("export").done()
    assert out == "".join(one.zplan("show", ident, "--json=wire").done() for ident in idents)
    assert one.zplan("export", "--state", "pause").done().count("\n") == 1
    assert one.zplan("export", "--title", "nothing").done() == ""


@pytest.mark.parametrize("verb", [["import"], ["add", "--from"]])
def test_an_export_is_taken_by_another_station(one, two, tmp_path, verb):
    idents = fill(one)
    path = tmp_path / "plans"
    path.write_text(one.zplan("export").done())
    assert two.zplan(*verb, str(path)).done() == f"{len(idents)} plans added\n"
    assert sorted(f"{plan['plan_id']:x}" for plan in two.plans()) == sorted(idents)
    for ident in idents:
        old, new = one.kept(ident), two.kept(ident)
        for field in ("plan_id", "station", "description", "plan_type", "plan_value", "plan_state",
                      "plan_time"):
            assert old[field] == new[field], (ident, field)
        assert new["request_id"] == (old["request_id"] or f"plan-{ident}")
        left = old["plan_repet"] - (old["plan_repet"] > 0) * (old["real_repet"] + old["skip_num"])
        assert new["plan_repet"] == left and new["skip_num"] == new["real_repet"] == 0
        next_times = [json.loads(where.zplan("next", ident, "-n", "3", "--json=wire").done())
                      for where in (one, two)]
        assert next_times[0] == next_times[1]
        assert set(map(str, old["messages"][3:])) - {ident} <= set(map(str, new["messages"]))
    before = two.plans()
    assert two.zplan(*verb, str(path)).done() == f"0 plans added, {len(idents)} already exist\n"
    assert two.plans() == before


@pytest.mark.parametrize("when", [("--weekly", "mon@08:30"), ("--monthly", "-1@23:00"),
                                  ("--monthly", "31@00:30"), ("--every", "36h")])
@pytest.mark.parametrize("repeat", [["--repeat", "10"], []])
def test_what_was_skipped_stays_skipped(one, tmp_path, when, repeat):
    path = tmp_path / "plans"
    one.zplan("add", "--station", "jobs", "--command", "x", "--id", "e1", *when, *repeat).done()
    one.zplan("skip", "e1", "--count", "2").done()
    before = one.zplan("next", "e1", "-n", "20").done()
    assert len(before.splitlines()) == (8 if repeat else 20)
    for _ in range(2):              # what was imported is exported as well
        path.write_text(one.zplan("export").done())
        one.zplan("remove", "e1").done()
        assert one.zplan("import", str(path)).done().startswith("1 plan")
        assert one.zplan("next", "e1", "-n", "20").done() == before


def test_held(one, two, tmp_path):
    idents = fill(one)
    path = tmp_path / "plans"
    path.write_text(one.zplan("export").done())
    assert two.zplan("import", str(path), "--hold").done() == f"{len(idents)} plans added\n"
    assert {two.state(ident) for ident in idents} == {"pause"}
    two.zplan("reset", idents[0]).done()
    told = two.zplan("import", str(path), "--hold").done()
    assert told == f"0 plans added, {len(idents)} already exist\n"
    assert two.state(idents[0]) == "queue"      # it was let go meanwhile: that stays


def test_what_is_paused_anyway_needs_no_hold(one, tmp_path):
    path = lines(tmp_path / "plans", {**LATER, "id": "1f", "paused": True}, {**LATER, "id": "20"})
    assert one.zplan("import", path, "--hold").done() == "2 plans added\n"
    assert one.state("1f") == one.state("20") == "pause"
    assert [plan["plan_id"] for plan in objects(one.zplan("list", "--held", "--json=wire"))] == [0x20]


def test_into_the_station_it_came_from_nothing_happens(one, tmp_path):
    idents = fill(one)
    path = tmp_path / "plans"
    path.write_text(one.zplan("export").done())
    before = one.zplan("export").done()
    assert one.zplan("import", str(path)).done() == (
        f"0 plans added, {len(idents)} already exist\n")
    assert one.zplan("export").done() == before


@pytest.mark.parametrize("options", [(), ("--hold",)])
@pytest.mark.parametrize("exists", ["replace", "update"])
def test_an_import_changes_no_plan_that_exists(one, tmp_path, exists, options):
    """Not even one that was submitted to change the plan of its name."""
    one.zplan("add", "--target", "jobs", "--command", "x", "--daily", "2:00", "--name", "nightly", "--if-exists", exists).done()
    path = tmp_path / "plans"
    path.write_text(one.zplan("export").done())
    one.zplan("pause", "nightly").done()
    one.zplan("update", "nightly", "--title", "later title").done()
    before = one.zplan("export").done()
    assert one.zplan("import", str(path), *options).done() == "0 plans added, 1 already exists\n"
    assert one.zplan("export").done() == before


def test_what_has_ended_is_left_out_and_what_runs_at_once_is_held(one, two, tmp_path):
    idents = fill(one)
    one.zplan("close", idents[0]).done()
    path = tmp_path / "plans"
    path.write_text(one.zplan("export").done() +
                    json.dumps({"station": "jobs", "command": "x", "now": True}) + "\n")
    told = two.zplan("import", str(path), "--hold").done()
    assert told == f"{len(idents)} plans added, 1 ended and skipped\n"
    assert {STATES[plan["plan_state"]] for plan in two.plans()} == {"pause"}


def test_many_are_exported_in_order(one, tmp_path):
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}"} for n in range(1, 251)))
    one.zplan("add", "--from", path).done()
    assert [plan["plan_id"] for plan in objects(one.zplan("export"))] == list(range(1, 251))


def test_with_keys(tmp_path):
    server, client = Pair(tmp_path, "station"), Pair(tmp_path, "client", "--role", "submit")
    path = lines(tmp_path / "plans", *({**LATER, "id": f"{n:x}"} for n in range(1, 50)))
    with LockedStation(lambda request: [reply(request, OK_PLAN, (GLOBAL_ID, ident(request)))],
                       server, [client]) as station:
        keys = client.options(server)
        assert station.zplan("add", "--from", path, *keys).done() == "49 plans added\n"
        ended = station.zplan("add", "--from", path, "--timeout", "1000")
        assert (ended.code, ended.out) == (NO_ANSWER, "0 plans added, 49 not known\n")
