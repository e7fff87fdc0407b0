"""What `zplan add` makes fails safely: a bounded number of tries, unless --retry says otherwise."""
import json

import pytest

from clitest import WAIT, zplan

ADD = ("add", "--target", "jobs", "--command", "x", "--id", "e1")
NEXT = {"strategy": "exponential", "interval": 10, "max": 2}
ONCE = {"strategy": "exponential", "interval": 10, "max": 9}
FOREVER = {"strategy": "sequence", "sequence": [1, 2, 4, 8, 16, 32, 60]}
SHOWN_ONCE = "10 tries, 10 s after the first failure, doubling; then it stops with an error"
SHOWN_NEXT = "3 tries, 10 s after the first failure, doubling; then the next occurrence"
SHOWN_FOREVER = "until it succeeds, 1 s after the first failure, doubling up to 1 min"


@pytest.fixture
def rig(shared_rig):
    return shared_rig


@pytest.fixture
def line(rig):
    def call(*args):
        return zplan("--connect", rig.ipc("q"), "--timeout", str(int(WAIT * 1000)), *args)
    yield call
    call("remove", "--all")
    call("kind", "remove", "slow")


def retry_of(line):
    return json.loads(line("show", "e1", "--json=wire").done()).get("retry")


def shown(line):
    told = line("show", "e1").done()
    return next(row for row in told.splitlines() if row.startswith("retry "))[15:]


@pytest.mark.parametrize("words, retry, summary, row", [
    (["--at", "2100-01-01"], ONCE, "10 tries, then it stops with an error", SHOWN_ONCE),
    (["--every", "1h"], NEXT, "3 tries, then the next occurrence", SHOWN_NEXT),
    (["--every", "1h", "--repeat", "1"], ONCE, "10 tries, then it stops with an error",
     SHOWN_ONCE),
    (["--every", "1h", "--iteration", "1"], ONCE, "10 tries, then it stops with an error",
     SHOWN_ONCE),
    (["--cron", "@daily", "--iteration", "1", "--cycle", "3"], NEXT,
     "3 tries, then the next occurrence", SHOWN_NEXT),
    (["--every", "1h", "--retry", "forever"], None, "until it succeeds", SHOWN_FOREVER),
    (["--every", "1h", "--retry", "none"], {"strategy": "none"},
     "1 try, then the next occurrence", "1 try; then the next occurrence"),
    (["--every", "1h", "--retry", "fixed:1m:4,manual"],
     {"strategy": "fixed", "interval": 60, "max": 4, "need_manual": True},
     "5 tries, then it needs manual action", "5 tries, 1 min apart; then it needs manual action"),
])
def test_what_add_makes(line, words, retry, summary, row):
    assert line(*ADD, *words).done().splitlines()[1] == f"retry: {summary}"
    assert (retry_of(line), shown(line)) == (retry, row)


@pytest.mark.parametrize("words, retry, summary", [
    ([], {"strategy": "fixed", "interval": 5}, "as its kind says, by default until it succeeds"),
    (["--retry", "none"], {"strategy": "none"}, "1 try, then the next occurrence"),
    (["--retry", "forever"], FOREVER, "until it succeeds"),
])
def test_the_retry_of_a_kind_comes_before_the_default(line, words, retry, summary):
    line("kind", "put", "slow", '{"retry": {"strategy": "fixed", "interval": 5}}').done()
    added = line(*ADD, "--every", "1h", "--kind", "slow", *words).done()
    assert added.splitlines()[1] == f"retry: {summary}"
    assert retry_of(line) == retry


def test_a_kind_without_a_retry_leaves_the_rule_of_the_plan_document(line):
    line("kind", "put", "slow", '{"timeout": 5}').done()
    line(*ADD, "--every", "1h", "--kind", "slow").done()
    assert retry_of(line) is None


@pytest.mark.parametrize("entry, retry", [
    ({"every": "1h"}, NEXT), ({"in": "1d"}, ONCE), ({"every": "1h", "retry": "forever"}, None),
    ({"every": "1h", "retry": {"strategy": "none"}}, {"strategy": "none"}),
    ({"plan_type": "time", "plan_time": 4102444800}, ONCE),
    ({"plan_type": 4, "plan_value": 1, "plan_repet": -1}, NEXT),
    ({"plan_type": 4, "plan_value": 1, "plan_repet": 1}, ONCE),
    ({"plan_type": 4, "plan_value": 1, "plan_repet": -1, "retry": "forever"}, None),
])
def test_lines_of_from(line, tmp_path, entry, retry):
    path = tmp_path / "plans"
    path.write_text(json.dumps({"target": "jobs", "command": "x", "id": "e1", **entry}) + "\n")
    line("add", "--from", str(path)).done()
    assert retry_of(line) == retry


def test_an_import_adds_no_retry_to_a_plan_of_another_client(line, rig, tmp_path):
    ident = rig.client.added({"plan_type": 1, "plan_time": 4102444800})
    path = tmp_path / "plans"
    path.write_text(line("export").done())
    line("remove", ident).done()
    line("import", str(path)).done()
    assert "retry" not in json.loads(line("show", ident, "--json=wire").done())


def test_update_takes_it_away(line):
    line(*ADD, "--every", "1h").done()
    line("update", "e1", "--retry", "forever").done()
    assert retry_of(line) is None
    line("update", "e1", "--repeat", "9").done()        # adds no default
    assert retry_of(line) is None


@pytest.mark.parametrize("words, warned", [
    (["--every", "0s"], "--every 0s: the next run starts as soon as the last one has ended"),
    (["--every", "1s", "--start", "2099-01-01"], "the plan runs every second"),
    (["--cron", "* * * 1 1 *", "--start", "2099-01-01"], "the plan runs every second"),
    (["--every", "1m"], None),
    (["--cron", "0 0 2 * * *"], None),
])
def test_a_tight_schedule_is_warned_of(line, words, warned):
    ended = line(*ADD, "--hold", *words)
    assert ended.code == 0 and ended.out.startswith("plan e1 accepted"), ended
    assert warned in ended.err if warned else ended.err == "", ended.err
