"""Cron, windows and policies by the command line: what is said is kept, shown and carried to another
station; runs that are cancelled; plans that have failed for good."""
import json
import shlex
import time

import pytest

from clitest import USAGE, REFUSED, WAIT, PlanStation, objects, policy_fields, zplan
from zplantest import CMD, FT, ST, at_once, every, later, wait_until

POLICY = ("cron", "timezone", "gap", "overlap", "iteration", "cycle", "start_time", "end_time",
          "misfire", "misfire_window", "jitter", "overlap_policy", "retry", "timeout", "log")


class Line:
    """The command line at a real station, whose target the test plays."""

    def __init__(self, rig):
        self.rig = rig

    def zplan(self, *args, **options):
        return zplan("--connect", self.rig.ipc("q"), "--timeout", str(int(WAIT * 1000)), *args,
                     **options)

    def kept(self, ident):
        return json.loads(self.zplan("show", ident, "--json=wire").done())

    def rows(self, ident):
        """What `show` says to people: label to text."""
        rows = self.zplan("show", ident).done().splitlines()
        return {row[:15].strip(): row[15:] for row in rows if row[0] != " "}

    def options(self, ident):
        """The options of `add` that it says."""
        said = self.zplan("show", ident).done().partition("\noptions ")[2]
        return [row.strip() for row in said.splitlines()]

    def becomes(self, ident, state):
        wait_until(lambda: self.kept(ident)["state"] == state, f"{ident} is in the state {state}")

    def policy(self, ident):
        return policy_of(self.kept(ident))

    def next(self, ident, count=12):
        return self.zplan("next", ident, "-n", str(count)).done()

    def failed(self, *, manual=True, **fields):
        """A plan that has failed for good."""
        ident = self.rig.client.added(at_once(retry={"strategy": "none", "need_manual": manual},
                                              **fields))
        run = self.dispatch()
        self.rig.jobs.finish(run, ST.FAILED, [(FT.STATUS, b"-failed: no paper")])
        self.becomes(ident, "error")
        return ident

    def dispatch(self):
        run = self.rig.jobs.recv()
        while run.code == CMD.CLOSE_REQUEST:
            run = self.rig.jobs.recv()
        return run

    def running(self, **fields):
        """A plan whose first run of two is out; the second is an hour later."""
        ident = self.rig.client.added(every(3600, 2, plan_time=int(time.time()) - 3599, **fields))
        self.rig.jobs.answer(self.dispatch(), ST.RUNING)
        self.becomes(ident, "execute")
        return ident


def policy_of(plan):
    return {field: plan[field] for field in POLICY if field in plan}


@pytest.fixture
def line(make_rig):
    return Line(make_rig())


ADD = ("add", "--station", "jobs", "--command", "x", "--id", "e1")


# -- said, kept and shown

def test_every_policy_is_kept_and_shown_in_words(line):
    line.zplan(*ADD, "--cron", "30 8 * * MON", "--cron", "@monthly", "--timezone", "Europe/Berlin",
               "--gap", "skip", "--overlap", "last", "--start", "2090-01-01T00:00Z", "--end",
               "2099-01-01T00:00Z", "--iteration", "4", "--cycle", "3", "--misfire", "2",
               "--misfire-window", "2h", "--jitter", "90", "--overlap-policy", "queue", "--retry",
               "fixed:30s:5,jitter=2s,manual", "--run-timeout", "1h30m", "--log", "trigger").done()
    assert line.policy("e1") == {
        "cron": ["30 8 * * MON", "@monthly"], "timezone": "Europe/Berlin", "gap": "skip",
        "overlap": "last", "start_time": 3786912000, "end_time": 4070908800, "iteration": 4,
        "cycle": 3, "misfire": 2, "misfire_window": 7200, "jitter": 90, "overlap_policy": "queue",
        "retry": {"strategy": "fixed", "interval": 30, "max": 5, "jitter": 2, "need_manual": True},
        "timeout": 5400, "log": "trigger"}
    rows = line.rows("e1")
    assert {label: rows[label] for label in ("schedule", "time zone", "retry", "runs", "iteration")} == {
        "schedule": "cron 30 8 * * MON ... Europe/Berlin", "time zone": "Europe/Berlin", "runs": "0 of 12",
        "retry": "6 tries, 30 s apart, up to 2 s more; then it needs manual action",
        "iteration": "0 of 4, run 0 of 3"}
    said = line.options("e1")
    assert said == [
        "--cron '30 8 * * MON'", "--cron @monthly", "--start 2090-01-01T00:00:00Z", "--gap skip",
        "--overlap last", "--iteration 4", "--cycle 3", "--end 2099-01-01T00:00:00Z", "--misfire 2",
        "--misfire-window 2h", "--jitter 1m30s", "--overlap-policy queue",
        "--retry fixed:30s:5,jitter=2s,manual", "--run-timeout 1h30m", "--log trigger"]
    kept = line.policy("e1")
    line.zplan("remove", "e1").done()
    line.zplan(*ADD, "--timezone", "Europe/Berlin", *shlex.split(" ".join(said))).done()
    assert line.policy("e1") == kept    # they can be typed again


@pytest.mark.parametrize("spec, words", [
    ("none", "1 try; then it stops with an error"),
    ("none,manual", "1 try; then it needs manual action"),
    ("fixed:1s:1", "2 tries, 1 s apart; then it stops with an error"),
    ("exponential:1s:8",
     "9 tries, 1 s after the first failure, doubling; then it stops with an error"),
    ("sequence:1s/2s/4m:5", "6 tries, after 1 s, 2 s, 4 min; then it stops with an error"),
    ("fixed:1d", "until it succeeds, 1 d apart"),
    ("forever", "until it succeeds, 1 s after the first failure, doubling up to 1 min"),
])
def test_retries_in_words(line, spec, words):
    line.zplan(*ADD, "--at", "2100-01-01", "--retry", spec).done()
    assert line.rows("e1")["retry"] == words


def test_what_is_not_said_is_not_shown(line):
    line.zplan(*ADD, "--at", "2100-01-01").done()
    assert not set(line.rows("e1")) & {"name", "title", "iteration", "remark", "next try", "time zone"}
    assert line.options("e1") == ["--retry exponential:10s:9"]


def test_names_are_shown(line):
    line.zplan("kind", "put", "mail", '{"timeout": 60, "category": "letters"}').done()
    add = ("add", "--station", "jobs", "--command", "x", "--at", "2100-01-01")
    ident = json.loads(line.zplan(*add, "--unique", "nightly", "--tenant", "7", "--creator", "me",
                                  "--priority", "9", "--group", "printers", "--kind", "mail",
                                  "--ext", '{"a": [1, "\\u001b"]}', "--json=wire").done())["id"]
    assert line.rows(ident)["name"] == "nightly"
    assert set(line.options(ident)) == {
        "--kind mail", "--tenant 7", "--creator me", "--priority 9", "--group printers", "--category letters",
        "--run-timeout 1m", r"""--ext '{"a":[1,"\x5cu001B"]}'"""}


# A value of each field that a plan may say about itself, and the label it is shown under.
SHOWN = {
    "cron": ("@daily", "--cron @daily"), "timezone": ("UTC", "time zone "), "gap": ("skip", "--gap skip"),
    "overlap": ("last", "--overlap last"), "iteration": (3, "--iteration 3"), "cycle": (2, "--cycle 2"),
    "start_time": (1, "--start 1970-01-01T00:00:01Z"), "end_time": (2, "--end 1970-01-01T00:00:02Z"),
    "misfire": (2, "--misfire 2"), "misfire_window": (7200, "--misfire-window 2h"), "jitter": (90, "--jitter 1m30s"),
    "overlap_policy": ("queue", "--overlap-policy queue"), "retry": ({"strategy": "none"}, "--retry none"),
    "callback": ({"error": {"url": "https://a.b/c"}}, 'callback       {"error":{"url":"https://a.b/c"}}'),
    "on_failure": ({"command": "tell", "station": "b"}, "--on-failure tell"), "timeout": (2, "--run-timeout 2s"),
    "log": ("none", "--log none"), "kind": ("k", "--kind k"), "key": ("k", "name "),
    "priority": (2, "--priority 2"), "group": ("g", "--group g"), "category": ("c's", r"--category 'c'\''s'"),
    "tenant": (2, "--tenant 2"), "creator": (2, "--creator 2"), "workers": ({"count": 2}, "workers "),
    "traceparent": ("00-" + "1" * 32 + "-" + "2" * 16 + "-01", f"--traceparent 00-{'1' * 32}-{'2' * 16}-01"),
    "ext": ({}, "--ext '{}'"), "batch": ("2024-01-31", "--batch 2024-01-31"),
    "params": ({"a": "=1"}, 'params         {"a":"=1"}'), "defaults": ({"retry": 1}, 'defaults       {"retry":1}'),
}
NOT_KEPT = {"if_exists"}


@pytest.mark.parametrize("field", sorted(SHOWN))
def test_each_field_is_shown(field):
    value, label = SHOWN[field]
    more = {"cycle": 2} if field == "iteration" else {"plan_type": 8} if field == "cron" else {}
    with PlanStation() as station:
        one = station.add(**{field: value, **more})
        rows = station.zplan("show", one).done().splitlines()
        assert any(row.startswith(label) or row[15:] == label for row in rows), rows


def test_the_fields_that_are_shown_are_those_of_the_station():
    assert policy_fields() == set(SHOWN) | NOT_KEPT


def test_a_callback(line):
    url = "https://hooks.example/x"
    ends = {"success": {"url": url}, "error": {"url": url}}
    for options, callback in ((("--callback", url), ends), (("--callback", url, "--callback-on", "error"), {"error": ends["error"]}),
                              (("--callback", url, "--secret", "bill"), {**ends, "secret": "bill"})):
        ident = json.loads(line.zplan(*ADD, *options, "--json").done())["id"]
        assert json.loads(line.zplan("show", ident, "--json").done())["spec"]["callback"] == callback
        line.zplan("remove", ident).done()
    line.zplan(*ADD, *options, "--in", "1h").done()
    line.zplan("update", ident, "--callback", "-").done()
    assert "callback" not in json.loads(line.zplan("show", ident, "--json").done())["spec"]


@pytest.mark.parametrize("options, reason", [
    (("--secret", "s"), "--secret: goes with --callback only"), (("--callback-on", "error"), "--callback-on: goes with --callback only"),
    (("--callback", "https://a.b/", "--callback-on", "all"), "--callback-on: want success or error"),
    (("--callback", "a.b"), "--callback: success: url: "), (("--callback", "@x", "--secret", "a b"), "--callback: secret: want the name")])
def test_a_wrong_callback(line, options, reason):
    assert reason in line.zplan(*ADD, *options).failed(USAGE)


def test_show_tells_the_schedule_of_now(line):
    """Also after an update: what was submitted before is not shown for it."""
    line.zplan(*ADD, "--monthly", "-1@23:00", "--title", "before").done()
    line.zplan("update", "e1", "--cron", "0 9 * * TUE", "--title", "after", "--arg", "new").done()
    told = line.zplan("show", "e1").done()
    assert "schedule       Tue 09:00 UTC\n" in told and "title          after\n" in told
    assert "command        x new\n" in told
    assert "month" not in told and "plan_type" not in told and "before" not in told


def test_the_list_shows_the_expression(line):
    line.zplan(*ADD, "--cron", "30 8 * * MON", "--cron", "@daily").done()
    assert " 30 8 * * MON ... " in line.zplan("list").done()
    assert [plan["id"] for plan in objects(line.zplan("list", "--type", "cron", "--json=wire"))] == ["e1"]


def test_the_station_computes_what_the_preview_said(line):
    said = ("--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--overlap", "both")
    line.zplan(*ADD, *said).done()
    assert line.next("e1", 400) == zplan("next", *said, "-n", "400").done()


def test_when_it_is_tried_again(line):
    ident = line.rig.client.added(at_once(retry={"strategy": "fixed", "interval": 3000}))
    line.rig.jobs.finish(line.dispatch(), ST.FAILED)
    line.becomes(ident, "retry")
    wait_until(lambda: "next try" in line.rows(ident), "the history has the run")
    *_, run = objects(line.zplan("history", ident, "--json=wire"))
    told = zplan("--connect", line.rig.ipc("q"), "--times", "unix", "show", ident).done()
    assert f"\nnext try       {int(run['ended']) + 3000}" in told


# -- changed

def test_update_sets_and_takes_away(line):
    line.zplan(*ADD, "--every", "1h", "--retry", "fixed:30s:5", "--end", "2099-01-01").done()
    line.zplan("update", "e1", "--retry", "none,manual", "--jitter", "5s", "--end", "-", "--start",
               "2098-01-01").done()
    assert line.policy("e1") == {"retry": {"strategy": "none", "need_manual": True}, "jitter": 5,
                                 "start_time": 4039372800}
    line.zplan("update", "e1", "--retry", "-", "--jitter", "-", "--start", "-").done()
    assert line.policy("e1") == {}


def test_update_from_one_kind_to_another(line):
    line.zplan(*ADD, "--every", "10m", "--cycle", "1,3", "--retry", "forever").done()
    assert (line.policy("e1"), line.kept("e1")["plan_type"]) == ({"cycle": [10, 30]}, 3)
    line.zplan("update", "e1", "--cron", "0 9 * * TUE", "--timezone", "Europe/Berlin").done()
    assert line.policy("e1") == {"cron": "0 9 * * TUE", "timezone": "Europe/Berlin"}
    for kind in (["--cron", "0 9 * * TUE"], ["--daily", "2:00"], ["--weekly", "tue@09:00"]):     # in the zone that it has
        line.zplan("update", "e1", *kind).done()
        assert line.policy("e1")["timezone"] == "Europe/Berlin", kind
    assert line.policy("e1") == {"timezone": "Europe/Berlin"}
    want = zplan("next", "--weekly", "tue@09:00", "--timezone", "Europe/Berlin", "--wall-clock")
    assert line.next("e1", 10) == want.done()
    line.zplan("update", "e1", "--no-wall-clock", "--at", "2100-01-01").done()
    assert (line.policy("e1"), line.kept("e1")["type"]) == ({}, "time")
    line.zplan("update", "e1", "--every", "5m", "--iteration", "3", "--cycle", "2").done()
    assert (line.policy("e1"), line.kept("e1")["plan_repet"]) == ({"iteration": 3, "cycle": 2}, 6)
    line.zplan("update", "e1", "--repeat", "9").done()
    assert (line.policy("e1"), line.kept("e1")["plan_repet"]) == ({"cycle": 2}, 9)


def test_update_of_misses(line):
    line.zplan(*ADD, "--every", "1h", "--keep", "--retry", "forever").done()
    line.zplan("update", "e1", "--misfire", "latest").done()
    assert line.kept("e1")["misfire"] == "latest"
    line.zplan("update", "e1", "--every", "2h").done()
    assert line.kept("e1")["misfire"] == "latest"
    line.zplan("update", "e1", "--keep").done()
    assert line.policy("e1") == {} and line.kept("e1")["no_keep"] is True


# -- carried

LINES = [
    {"cron": "30 8 * * MON", "timezone": "Europe/Berlin", "misfire": "latest", "retry": "none"},
    {"cron": ["0 9 * * *", "@monthly"], "end": "2099-01-01", "gap": "skip", "repeat": 9},
    {"plan_type": "cron", "cron": "0 0 L * ?", "timezone": "Asia/Tokyo", "timeout": 30,
     "retry": {"strategy": "fixed", "interval": 30}, "start_time": "2027-01-01T00:00:00Z"},
    {"weekly": "mon@08:30", "timezone": "Europe/Berlin", "wall_clock": True, "overlap": "last",
     "start": "2027-06-01"},
    {"every": "2d", "timezone": "Europe/Berlin", "wall_clock": True, "misfire": 3,
     "misfire_window": "90m", "jitter": 20, "overlap_policy": "queue", "run_timeout": "5m"},
    {"every": "10m", "cycle": [1, 3], "iteration": 4, "log": "none", "misfire": "all"},
    {"plan_type": "hour", "cycle": [2, 3, 5], "plan_repet": -1, "start_time": 4039372800},
    {"every": "1h", "iteration": 4, "cycle": 3, "retry": "sequence:1s/2s:3,manual"},
]


@pytest.mark.parametrize("skipped", [0, 4])
def test_a_round_trip_changes_nothing(line, tmp_path, skipped):
    path = tmp_path / "plans"
    path.write_text("".join(json.dumps({"station": "jobs", "command": "x", "id": f"e{at}", **entry})
                            + "\n" for at, entry in enumerate(LINES, 1)))
    assert line.zplan("add", "--from", str(path)).done() == f"{len(LINES)} plans added\n"
    idents = [f"e{at}" for at in range(1, len(LINES) + 1)]
    if skipped:
        line.zplan("skip", *idents, "--count", str(skipped)).done()
    old = {ident: (line.policy(ident), line.next(ident)) for ident in idents}
    if skipped:         # of iterations those that are left, and a cycle goes on where it is
        del old["e8"][0]["iteration"]       # 8 runs are no whole number of rounds
        old["e6"][0]["iteration"] = 2
        old["e7"][0]["cycle"] = [3, 5, 2]
    for _ in range(2):  # what was imported is exported as well
        path.write_text(line.zplan("export").done())
        line.zplan("remove", "--all").done()
        assert line.zplan("import", str(path)).done() == f"{len(LINES)} plans added\n"
        assert {ident: (line.policy(ident), line.next(ident)) for ident in idents} == old


@pytest.mark.parametrize("own", [{"timezone": "Europe/Berlin"},
                                 {"timezone": "Europe/Berlin", "wall_clock": True}])
def test_a_line_has_its_own_time_zone(line, tmp_path, own):
    path = tmp_path / "plans"
    path.write_text(json.dumps({"station": "jobs", "command": "x", "id": "e1", **own,
                                "weekly": "mon@08:30"}) + "\n")
    line.zplan("add", "--from", str(path), "--timezone", "Asia/Tokyo").done()
    assert line.kept("e1")["base_time"] == 1705303800      # 2024-01-15T08:30+01:00
    assert line.kept("e1")["timezone"] == "Europe/Berlin"
    path.write_text(json.dumps({"station": "jobs", "command": "x", "id": "e2",
                                "weekly": "mon@08:30"}) + "\n")
    line.zplan("add", "--from", str(path), "--timezone", "Asia/Tokyo").done()
    assert line.kept("e2")["timezone"] == "Asia/Tokyo"
    assert line.kept("e2")["base_time"] == 1705275000      # 2024-01-15T08:30+09:00


@pytest.mark.parametrize("entry, told", [
    ({"every": "5s", "timezone": "Mars/Base"}, "Mars/Base"),
    ({"cron": "0 25 * * *"}, "--cron: column 3: want 0..23, got 25"),
    ({"cron": ["@daily", "x"]}, "--cron 2: column 1"),
    ({"plan_type": "cron", "cron": "x"}, "--cron: column 1"),
    ({"every": "5s", "retry": "twice"}, "--retry: want none, forever, fixed:30s:5"),
    ({"every": "5s", "retry": {"strategy": "fixed"}}, "--retry: interval: is missing"),
    ({"every": "5s", "timeout": "5m"}, "--run-timeout: want seconds"),
    ({"every": "5s", "misfyre": "skip"}, "did you mean misfire?"),
    ({"every": "5s", "start_tme": 5}, "did you mean start_time?"),
    ({"every": "5s", "cron": "@daily"}, "--every and --cron: want one kind of time"),
])
def test_a_line_that_is_wrong(line, tmp_path, entry, told):
    path = tmp_path / "plans"
    path.write_text(json.dumps({"station": "jobs", "command": "x", **entry}) + "\n")
    ended = line.zplan("add", "--from", str(path))
    assert ended.code == REFUSED and told in ended.err, ended.err


# -- runs that are cancelled

def test_cancel_tells_whether_the_target_was_told(line):
    ident = line.running()
    assert line.zplan("cancel", ident, "--reason", "took too long").done() == \
        f"plan {ident} cancelled, its target was notified\n"
    told = line.rig.jobs.recv()
    assert told.code == CMD.CLOSE_REQUEST and "took too long" in told.text
    assert line.rows(ident)["last run"].startswith("cancelled, ")
    wait_until(lambda: "took too long" in line.zplan("history", ident).done(), "it is history")
    assert "no run of the plan is in progress" in line.zplan("cancel", ident).failed(REFUSED)


@pytest.mark.parametrize("reason, stored", [
    ("l'été, \"no\" paper \\ 5 %s", "cancelled: l'été, \"no\" paper \\ 5 %s"),
    ("a reason of more than sixty-four bytes is stored whole, as it was given", None),
    ("ä" * 200, "cancelled: " + "ä" * 94),
    (b"\xff\xc3", "cancelled: ??"),
], ids=["quotes", "more than 64 bytes", "cut at a character", "no UTF-8"])
def test_the_reason_of_a_cancel_is_stored_as_it_was_given(line, reason, stored):
    ident = line.running()
    line.zplan("cancel", ident, "--reason", reason).done()
    assert line.kept(ident)["error_info"] == (stored or f"cancelled: {reason}")


@pytest.mark.parametrize("pause", [False, True])
def test_a_run_in_progress_is_no_success(line, pause):
    """Its heartbeat is stored as a status."""
    ident = line.running()
    if pause:
        line.zplan("pause", ident).done()
    assert line.kept(ident)["last_state"] == ST.RUNING
    assert line.rows(ident)["last run"] == "-"
    assert json.loads(line.zplan("show", ident, "--json").done())["last"]["status"] is None
    heading, row = line.zplan("list").done().splitlines()[:2]
    assert row[heading.index("LAST"):].split()[0] == "-"


def test_several_ids_are_several_plans():
    """Also one that could be a word of a reason: 10a."""
    with PlanStation() as station:
        both = [station.add(f"plan {number}", plan_id=number, plan_state=2)
                for number in (0x109, 0x10a)]
        assert both == ["109", "10a"]
        ended = station.zplan("cancel", *both, "--reason", "disk is full")
        assert ended.done() == "".join(f"plan {one} cancelled, its target was notified\n"
                                       for one in both)
        assert station.requests("cancel") == [[one, "disk is full"] for one in both]
        assert station.zplan("cancel", *both, "--json=wire").code == REFUSED
        dead = [station.add(f"dead {number}", plan_id=number, plan_state=6, verdict=1)
                for number in (0x209, 0x20a)]
        assert station.zplan("done", *dead, "--remark", "by hand").done() == \
            "".join(f"plan {one} done\n" for one in dead)
        assert station.requests("done") == [[one, "by hand"] for one in dead]


def test_a_text_needs_its_option():
    with PlanStation() as station:
        one = station.add("one", plan_id=0x1f, plan_state=2)
        for verb, option in (("cancel", "--reason"), ("done", "--remark")):
            ended = station.zplan(verb, one, "took", "too", "long")
            assert ended.code == REFUSED and f"zplan: a text follows {option}\n" in ended.err, ended.err
            for words in ((one, "took", option, "x"), ("took",), (one, "20")):
                assert "a text follows" not in station.zplan(verb, *words).err, words


def test_a_filter_cancels_what_runs(line):
    line.rig.client.added(later(description="import b"))
    idents = {line.running(description="import a"), line.running(description="import c")}
    ended = line.zplan("cancel", "--title", "import*", "--reason", "disk is full", "--json=wire")
    answers = list(map(json.loads, ended.done().splitlines()))
    assert {answer["id"] for answer in answers} == idents
    assert all(answer["done"] == "cancel" and answer["told"] is True and answer["exec_id"] > 0
               for answer in answers)
    assert line.zplan("cancel", "--all").err == "zplan: no plan matches\n"


def test_a_target_that_could_not_be_told():
    with PlanStation() as station:
        one = station.add("untold", plan_state=2)
        assert station.zplan("cancel", one).done() == \
            f"plan {one} cancelled; its target could not be notified, and may continue\n"
        assert station.requests("cancel") == [[one]]


# -- plans that have failed for good

def test_a_person_deals_with_a_failure(line):
    ident = line.failed()
    line.rig.client.added(later())
    rows = line.rows(ident)
    assert rows["state"] == "failed permanently, needs manual action: zplan done, or zplan reset"
    assert rows["last run"].startswith("failed, ") and rows["last run"].endswith(": no paper")
    dead = [plan["id"] for plan in objects(line.zplan("list", "--dead", "--json=wire"))]
    assert dead == [ident]
    assert line.zplan("done", ident, "--remark", "sent by hand").done() == f"plan {ident} done\n"
    rows = line.rows(ident)
    assert rows["state"].endswith("its failure was resolved manually") and rows["remark"] == "sent by hand"
    assert not objects(line.zplan("list", "--dead", "--json=wire"))
    found = objects(line.zplan("list", "--verdict", "manual", "--json=wire"))
    assert [plan["id"] for plan in found] == [ident]
    assert "has not failed for good" in line.zplan("done", ident).failed(REFUSED) \
        or "the plan is closed" in line.zplan("done", ident).failed(REFUSED)


def test_dead_plans_are_tried_again_or_removed(line):
    one, two = line.failed(description="a"), line.failed(description="b", manual=False)
    paused = line.rig.client.added(later())
    line.zplan("pause", paused).done()
    dry = line.zplan("reset", "--dead", "--dry-run").done()
    assert f"plan {one} would be reset" in dry and len(dry.splitlines()) == 2
    assert line.zplan("reset", "--dead", "--title", "a").done() == f"plan {one} reset\n1 reset\n"
    line.rig.jobs.finish(line.dispatch(), ST.FAILED)
    line.becomes(one, "error")
    assert line.zplan("done", "--station", "jobs", "--verdict", "failure", "--dry-run") \
               .done().startswith(f"plan {two} would be done")
    assert line.zplan("remove", "--dead").done().endswith("2 removed\n")
    left = [plan["id"] for plan in objects(line.zplan("list", "--json=wire"))]
    assert left == [paused]


def test_a_verdict_is_looked_for_behind_pages_without_one():
    with PlanStation() as station:
        for at in range(250):
            station.add(plan_state=6, verdict=2 if at % 100 == 99 else 0)
        found = objects(station.zplan("list", "--verdict", "pending", "--limit", "1", "--json=wire"))
        assert [plan["plan_id"] for plan in found] == [0x1f + 99]
        assert len(station.requests("list")) == 1
        assert len(objects(station.zplan("list", "--verdict", "pending", "--json=wire"))) == 2
        assert station.zplan("done", "--all", "--dry-run").done().count("would be done") == 2
