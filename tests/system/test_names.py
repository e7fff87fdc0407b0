"""Keys, owners, categories and what else plans are found by; where a plan stands in its iterations.

features: C001, C005, C012, C014, C027, C028, E020, E030, E031, E032, E050"""
import hashlib
import itertools
import json

import pytest

from curvetest import CurveRig
from zplantest import (CLOSE, CMD, ERROR, FT, PAUSE, QUEUE, ST, at_once, every, later, plan_frames,
                       told, unframe, wait_until)

THERE = "+plan: already exists"


def keyed(key="k", **fields):
    return every(1000, 5, key=key, **fields)


def published(client, plan, words=None, **where):
    """Submit; the STATUS is that of a plan that was there, or there is none. Its id."""
    reply = client.submit(plan, **where)
    assert (reply.code, reply.text) == (ST.PLAN, words or ""), reply
    return reply.get(FT.GLOBAL_ID).decode()


def refused(client, plan, words, status=ST.PLANERROR, **where):
    reply = client.submit(plan, **where)
    assert reply.code == status and words in reply.text, reply


def found(client, **query):
    page = client.done("list", query).json
    assert "next" not in page
    return {f"{plan['plan_id']:x}" for plan in page["plans"]}


# -- a key

def test_E020_one_key_is_one_plan_however_many_publish_it_at_once(rig):
    clients = [rig.dealer() for _ in range(50)]
    for number, client in enumerate(clients):
        client.send(CMD.PLAN, plan_frames(keyed(description=f"node {number}")))
    replies = [client.recv() for client in clients]
    assert {reply.code for reply in replies} == {ST.PLAN}
    assert sorted(reply.text for reply in replies) == [""] + 49 * [THERE]
    ident, = {reply.get(FT.GLOBAL_ID).decode() for reply in replies}
    first, = [n for n, reply in enumerate(replies) if not reply.text]
    assert found(rig.client) == {ident}
    assert rig.message(ident)["description"] == f"node {first}"


def test_E050_each_of_many_updates_at_once_is_taken(rig):
    """None is lost for another one that came in between: the last one written stands."""
    ident = published(rig.client, keyed())
    clients = [rig.dealer() for _ in range(6)]
    for number, client in enumerate(clients):
        client.send(CMD.PLAN, plan_frames(keyed(description=str(number), if_exists="update")))
    replies = [client.recv() for client in clients]
    assert {(reply.code, reply.text) for reply in replies} == {(ST.PLAN, "+plan: updated")}
    assert found(rig.client) == {ident}
    assert rig.message(ident)["description"] in map(str, range(6))


KEYS = ["x", "x" * 256, 'quote " and \\', "日本", "plan:msg:jobs:1", " y"]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_E030_a_key_makes_the_id(shared, key):
    """B058: `key` names a plan, and is a filter."""
    one = published(shared.client, keyed(key))
    assert published(shared.client, keyed(key), THERE) == one
    assert published(shared.client, keyed("2" + key[1:])) != one
    assert shared.message(one)["key"] == key
    assert found(shared.client, key=key) == {one}
    digest = hashlib.sha1(key.encode()).digest()
    assert int(one, 16) == int.from_bytes(digest[:8], "little") & (2**63 - 1)


@pytest.mark.parametrize("key, words", [
    ("", "key: want a string of 1..256 bytes"), ("x" * 257, "key: want a string of 1..256 bytes"),
    (1, "key: want a string"), (None, "key: want a string"), (["x"], "key: want a string")],
    ids=range(5))
def test_a_key_is_a_text(shared, key, words):
    refused(shared.client, keyed(key), words)


@pytest.mark.parametrize("fields, words", [
    ({"key": "k", "if_exists": "ignore"}, "if_exists: want keep, update, replace or refuse"),
    ({"key": "k", "if_exists": 1}, "if_exists: want keep, update, replace or refuse"),
    ({"if_exists": ""}, "if_exists: want keep, update, replace or refuse")])
def test_what_is_to_be_done_with_the_plan_that_is_there(shared, fields, words):
    refused(shared.client, {**every(1000, 5), **fields}, words)


def test_E031_by_itself_the_plan_that_is_there_stays(rig):
    ident = published(rig.client, keyed(description="old"))
    before = rig.dump()
    for plan in (keyed(description="new"), keyed(plan_value=1), keyed(if_exists="keep")):
        assert published(rig.client, plan, THERE) == ident
    assert rig.dump() == before


def test_the_same_bytes_change_nothing_whatever_they_ask_for(rig):
    for way in ("update", "replace"):
        ident = published(rig.client, keyed(way, if_exists=way))
        before = rig.message(ident)
        assert published(rig.client, keyed(way, if_exists=way), THERE) == ident
        assert rig.message(ident) == before


def once_done(rig, plan):
    """A plan that ran once and waits for its second time."""
    ident = published(rig.client, plan)
    rig.due_now(ident)
    rig.jobs.finish(rig.jobs.recv())
    return ident, rig.repet(ident, 1)


def test_E050_an_update_keeps_counters_and_place(rig):
    """B054: the time of creation stays, the revision changes."""
    ident, before = once_done(rig, keyed(description="old", tenant=1))
    score = rig.score(ident)
    assert published(rig.client, keyed(description="new", if_exists="update", timeout=9),
                     "+plan: updated") == ident
    after = rig.message(ident)
    assert (after["description"], after["timeout"]) == ("new", 9)
    assert "tenant" not in after and rig.score(ident) == score
    for field in ("plan_time", "real_repet", "last_state", "exec_id", "exec_time", "add_time"):
        assert after[field] == before[field], field
    assert after["revision"] != before["revision"]
    # What is sent from now on is what was submitted now.
    rig.due_now(ident)
    run = rig.jobs.recv()
    assert (run.plan["description"], run.plan["timeout"]) == ("new", 9)
    rig.jobs.finish(run)
    assert rig.repet(ident, 2)["plan_time"] > before["plan_time"]


def test_E050_an_update_of_the_times_begins_anew(rig):
    ident, before = once_done(rig, keyed())
    published(rig.client, keyed(plan_value=3000, if_exists="update"), "+plan: updated")
    after = rig.message(ident)
    assert (after["real_repet"], after["plan_value"]) == (0, 3000)
    assert after["exec_id"] == before["exec_id"] and after["last_state"] == ST.OK
    assert after["plan_time"] >= before["add_time"] + 3000 and rig.score(ident) == after["plan_time"]


def test_E050_a_replacement_is_fresh(rig):
    ident, before = once_done(rig, keyed(description="old"))
    published(rig.client, keyed(description="new", if_exists="replace"), "+plan: replaced")
    after = rig.message(ident)
    assert (after["description"], after["real_repet"], after["last_state"]) == ("new", 0, 0)
    assert after["exec_id"] == before["exec_id"]        # its next run has a higher one
    assert rig.score(ident) == after["plan_time"] >= before["add_time"] + 1000


@pytest.mark.parametrize("way", ["keep", "update", "replace"])
def test_E032_while_a_run_is_out_nothing_changes(rig, way):
    ident = published(rig.client, keyed(description="old"))
    rig.due_now(ident)
    run = rig.jobs.recv()
    rig.marked(ident, run)
    for description in ("new", "old"):
        published(rig.client, keyed(description=description, if_exists=way),
                  THERE + ", and is running")
        assert rig.message(ident)["description"] == "old"
    rig.jobs.finish(run)
    assert rig.repet(ident, 1)["description"] == "old"


def test_E032_a_run_of_one_that_was_claimed_with_many_is_known_too(rig):
    """A claim of more than 32 plans does not write the messages."""
    others = [rig.client.added(every(1000, 5)) for _ in range(40)]
    ident = published(rig.client, keyed(description="old"))
    rig.db.zadd("plan:time:set", {rig.key(one): 1 for one in (*others, ident)}, xx=True)
    runs = [rig.jobs.recv() for _ in range(41)]
    run, = [run for run in runs if run.plan["plan_id"] == int(ident, 16)]
    published(rig.client, keyed(description="new", if_exists="update"), THERE + ", and is running")
    rig.jobs.finish(run)
    assert rig.repet(ident, 1)["description"] == "old"


@pytest.mark.parametrize("words, state", [(["pause"], "pause"), (["close"], "close")])
def test_an_update_of_a_plan_that_was_stopped_does_not_start_it(rig, words, state):
    ident = published(rig.client, keyed())
    rig.client.done(*words, ident)
    before = rig.message(ident)
    words = f"; its state is {state}"
    published(rig.client, keyed(description="kept"), THERE + words)
    for plan in (keyed(description="new"), keyed(description="new", plan_value=2)):
        published(rig.client, {**plan, "if_exists": "update"}, "+plan: updated" + words)
        after = rig.message(ident)
        assert after["plan_state"] == {"pause": PAUSE, "close": CLOSE}[state]
        assert after["stopped"] == before["stopped"] and rig.score(ident) is None
    published(rig.client, keyed(if_exists="replace"), "+plan: replaced")
    assert rig.message(ident)["plan_state"] == QUEUE and "stopped" not in rig.message(ident)
    assert rig.score(ident) is not None


def test_an_update_keeps_a_run_besides_the_schedule_that_waits(rig):
    ident = published(rig.client, keyed())
    rig.edit(ident, extra=QUEUE)        # as `run` leaves it, until the claim
    for plan in (keyed(description="new"), keyed(description="new", plan_value=2000)):
        published(rig.client, {**plan, "if_exists": "update"}, "+plan: updated")
        assert rig.message(ident)["extra"] == QUEUE
    before = rig.message(ident)["plan_time"]
    rig.due_now(ident)
    run = rig.jobs.recv()
    assert (run.plan["description"], run.plan["extra"]) == ("new", QUEUE)
    rig.jobs.finish(run)
    wait_until(lambda: "extra" not in rig.message(ident), "the run besides the schedule is over")
    assert rig.message(ident)["plan_time"] == before


def test_an_update_may_not_take_repeats_that_are_used_up(rig):
    ident, before = once_done(rig, keyed())
    refused(rig.client, keyed(plan_repet=1, if_exists="update"),
            "plan_repet: want more than the 1 that are used up, got 1")
    assert rig.message(ident) == before


def test_E030_a_key_is_free_when_its_plan_has_ended(rig):
    ident = published(rig.client, at_once(key="k"))
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(ident)
    assert published(rig.client, at_once(key="k", description="second")) == ident
    assert rig.jobs.recv().plan["description"] == "second"


def test_a_plan_that_would_never_run_is_refused_unless_its_key_is_there(rig):
    past = {"plan_type": 1, "plan_time": 1, "key": "k"}
    refused(rig.client, past, "plan_time: is past")
    ident = published(rig.client, later(key="k"))
    assert published(rig.client, past, THERE) == ident
    refused(rig.client, {**past, "if_exists": "update"}, "plan_time: is past")


def test_a_key_and_a_GLOBAL_ID(rig):
    ident = published(rig.client, keyed("k"))
    refused(rig.client, keyed("k"), "key: names the plan, as GLOBAL_ID does; give only one",
            gid="1f")
    assert published(rig.client, keyed("k", description="x"), THERE, gid=ident) == ident
    # Others must not get it by its number.
    refused(rig.client, later(), f"GLOBAL_ID: {ident} is in use by another plan", gid=ident)


def test_keys_that_make_the_same_id_are_refused_in_words(rig):
    """What a collision of two digests would be: under the id stands a plan of another name."""
    ident = published(rig.client, keyed("k"))
    rig.client.done("remove", ident)
    assert rig.client.added(later(description="no key"), gid=ident) == ident
    words = f"key: its id {ident} is in use by another plan"
    for way in ("keep", "update", "replace"):
        refused(rig.client, keyed("k", if_exists=way), words)
    rig.edit(ident, key="another")
    refused(rig.client, keyed("k", if_exists="replace"), words)
    assert rig.message(ident)["description"] == "no key"
    rig.db.set(rig.key(ident), "no JSON")
    refused(rig.client, keyed("k", if_exists="replace"), words)


def test_a_key_is_of_one_target(rig):
    published(rig.client, keyed("k"))
    refused(rig.client, keyed("k", if_exists="replace"), "is in use by another plan",
            station="news")


def test_the_plan_that_has_the_key_counts_as_its_last_callers(make_rig):
    rig = make_rig("--max-plans-caller", "2")
    one, two = rig.dealer(identity=b"one"), rig.dealer(identity=b"two")
    for number in range(6):
        client = (one, two)[number % 2]
        ident = published(client, keyed(description=str(number), if_exists="replace"),
                          "+plan: replaced" if number else None)
    def counts():
        return {k.decode(): int(v) for k, v in rig.db.hgetall("plan:count").items()}
    wait_until(lambda: counts() == {"s:jobs": 1, "c:ttwo": 1}, "what is 0 is left out")
    rig.client.done("remove", ident)
    wait_until(lambda: counts() == {}, "nothing is counted")
    one.added(later()), one.added(later())


def test_events_tell_of_an_update(rig):
    ident = published(rig.client, keyed())
    events = rig.events()
    published(rig.client, keyed(description="new", if_exists="update"), "+plan: updated")
    event = events.recv()
    assert (event.name, event.ident, event.state["description"]) == ("update", ident, "new")


# -- owners, categories, words

NAMES = {"tenant": 7, "creator": "ops", "category": "nightly", "remark": "ask Bob", "group": "g-1",
         "key": "the key"}


def test_C005_C012_names_are_kept_and_in_every_JSON_of_the_plan(rig):
    """B045, B048, B053: `ext` and `creator` of a plan are kept. B060: the owner is one of them."""
    results, events = rig.subscribe("named"), rig.events()
    ident = rig.client.added(at_once(description="named", ext={"a": [1, {"b": None}]}, **NAMES))
    run = rig.jobs.recv()
    page = rig.client.done("list").json["plans"]
    rig.jobs.finish(run)
    news = told(results.recv())
    seen = [run.plan, *page, news, *(events.recv().state for _ in range(5))]
    for plan in seen:
        assert {name: plan[name] for name in NAMES} == NAMES, plan
        assert plan["ext"] == {"a": [1, {"b": None}]}
    assert {f"{plan['plan_id']:x}" for plan in seen} == {ident}


@pytest.mark.parametrize("name, value, words", [
    ("tenant", "", "tenant: want an integer, or a string of 1..256 bytes"),
    ("tenant", 1.5, "tenant: want an integer"), ("tenant", 2**63, "PLAN: JSON: too big integer"),
    ("creator", "x" * 257, "creator: want an integer"), ("creator", [], "creator: want an integer"),
    ("category", 1, "category: want a string of 1..256 bytes"), ("category", "", "category: want"),
    ("group", "a b", "group: want 1..64 of A-Z a-z 0-9 _ . -"), ("group", "", "group: want"),
    ("kind", 'a"b', "kind: want 1..64 of A-Z"), ("kind", "x" * 65, "kind: want 1..64"),
    ("remark", 1, "remark: want a string of at most 512 bytes"),
    ("remark", "x" * 513, "remark: want a string of at most 512 bytes"),
    ("ext", "{}", "ext: want an object"), ("ext", [], "ext: want an object")])
def test_names_are_refused_in_words(shared, name, value, words):
    refused(shared.client, later(**{name: value}), words)


def test_C028_filters_are_all_to_fit(shared):
    """Each of the 16 combinations of 4 filters, on the 16 plans that have and lack each name."""
    yes = {"tenant": 99, "creator": "filters", "category": "all of them", "kind": None}
    shared.client.done("kind", "put", "filtered", {"timeout": 5})
    yes["kind"] = "filtered"
    no = {"tenant": "99", "creator": 99, "category": "all"}
    plans = {}
    for wanted in itertools.product((True, False), repeat=4):
        fields = {name: yes[name] if want else no.get(name) for name, want in zip(yes, wanted)}
        fields = {name: value for name, value in fields.items() if value is not None}
        plans[wanted] = shared.client.added(later(remark="one of 16", **fields))
    for chosen in itertools.product((True, False), repeat=4):
        query = {name: yes[name] for name, take in zip(yes, chosen) if take}
        fit = {ident for wanted, ident in plans.items()
               if all(want for want, take in zip(wanted, chosen) if take)}
        assert found(shared.client, remark="one of 16", **query) == fit, query


HARD = ['say "hi"', "back\\slash", "new\nline", "日報 \u20ac", "\x01\x1f\x7f", 'x","tenant":7,"y":"',
        "'; DROP", "%d%s%%", "(.*)[", "a" * 256, "\x01" * 200]


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_hard_names_are_found_and_fool_no_filter(shared, text):
    """B048: `creator` is a filter."""
    one = shared.client.added(later(creator=text))
    two = shared.client.added(later(category=text, remark=text, tenant=text))
    assert found(shared.client, creator=text) == {one}
    for query in ({"category": text}, {"remark": text}, {"tenant": text},
                  {"category": text, "remark": text, "tenant": text}):
        assert found(shared.client, **query) == {two}
    assert found(shared.client, tenant=7, remark=text) == set()


@pytest.mark.parametrize("name", ["tenant", "creator", "category", "kind", "key", "group", "remark"])
def test_the_name_of_a_member_as_a_value_is_no_member(shared, name):
    ident = shared.client.added(later(description=name, creator=name, category=f'"{name}":"x"'))
    assert ident not in found(shared.client, **{name: "x"})
    assert ident not in found(shared.client, **{name: ","})


@pytest.mark.parametrize("query, words", [
    ({"tenant": []}, "tenant: want an integer, or a string"), ({"tenant": None}, "tenant: want"),
    ({"category": 1}, "category: want a string"), ({"key": 1}, "key: want a string"),
    ({"verdict": "none"}, "verdict: want failure, pending, manual or cancelled"),
    ({"verdict": 0}, "verdict: want"), ({"verdict": 5}, "verdict: want"),
    ({"remark": "x" * 4000}, "remark: want a string of at most 512 bytes"),
    ({"owner": 1}, "'owner': unknown field")])
def test_filters_are_refused_in_words(shared, query, words):
    assert words in shared.client.refused("list", query)


def test_filters_find_what_was_edited_by_hand(rig):
    """With the spaces that a person's JSON has."""
    ident, other = rig.client.added(later(tenant=7)), rig.client.added(later(tenant=70))
    rig.edit(ident, tenant=8)
    assert b'"tenant": 8' in rig.db.get(rig.key(ident))
    assert found(rig.client, tenant=8) == {ident} and found(rig.client, tenant=7) == set()
    assert found(rig.client, tenant=70) == {other}


def test_C027_plans_are_found_by_their_verdict(rig):
    retry = {"strategy": "none", "need_manual": False}
    idents = {}
    for verdict, manual in (("failure", False), ("pending", True)):
        ident = rig.client.added(at_once(description=verdict, retry={**retry, "need_manual": manual}))
        rig.jobs.finish(rig.jobs.recv(), ST.FAILED)
        idents[verdict] = ident
        wait_until(lambda: rig.message(ident)["plan_state"] == ERROR, "out of the queue")
    fine = rig.client.added(later())
    assert found(rig.client, verdict="failure") == {idents["failure"]}
    assert found(rig.client, verdict=2) == found(rig.client, verdict="pending") == {
        idents["pending"]}
    assert found(rig.client, verdict="manual") == found(rig.client, verdict="cancelled") == set()
    assert found(rig.client) == {fine, *idents.values()}


# -- ext

def test_C014_ext_with_members_that_are_named_like_fields_fools_nobody(rig):
    """In Redis it is a string: what looks for `"extra":`, `"plan_state":`, ... finds the plan's."""
    trap = {"extra": 1, "vote": {"rule": "all"}, "plan_time": 1, "plan_state": 7, "exec_id": 99,
            "revision": 5, "caller": "c", "tenant": 7, "exec_time": 3, "messages": [],
            "text": '"plan_state":7,"revision":1,'}
    ident = rig.client.added(every(1000, 3, ext=trap))
    stored = rig.message(ident)
    assert isinstance(stored["ext"], str) and json.loads(stored["ext"]) == trap
    assert list(json.loads(stored["ext"])) == list(trap)
    assert found(rig.client, tenant=7) == set() == found(rig.client, state="close")
    assert found(rig.client, state="queue") == {ident}
    for number in (1, 2):       # each step of a run, and of management, on the text
        rig.due_now(ident)
        run = rig.jobs.recv()
        assert run.plan["ext"] == trap and "vote" not in run.plan
        rig.marked(ident, run)
        rig.jobs.finish(run)
        rig.repet(ident, number)
    plan = rig.client.done("pause", ident).json
    assert plan["ext"] == trap and "extra" not in plan
    assert rig.client.done("reset", ident).json["plan_state"] == QUEUE
    revision = rig.message(ident)["revision"]
    assert rig.client.done("update", ident, {"revision": revision, "remark": "r"}
                           ).json["ext"] == trap
    assert rig.client.done("run", ident).json["extra"] == QUEUE
    rig.jobs.finish(rig.jobs.recv())
    wait_until(lambda: "extra" not in rig.message(ident), "the run besides the schedule is over")
    assert json.loads(rig.message(ident)["ext"]) == trap


@pytest.mark.parametrize("ext", [
    {}, {"": ""}, {"n": [0, -1, 2**63 - 1, -2**63, 0.5, 1e300, True, None]},
    {"t": 'quotes " \\ \n \u20ac 日本 \x7f'}, {"big": "x" * 3500}])
def test_C014_ext_comes_to_the_target_as_it_was_submitted(rig, ext):
    rig.client.added(at_once(ext=ext))
    assert rig.jobs.recv().plan["ext"] == ext


def nested(depth):
    return {} if depth == 1 else {"a": nested(depth - 1)}


def test_ext_may_be_nested_as_long_as_a_page_can_be_read(shared):
    ident = shared.client.added(later(ext=nested(8)))
    plans = {f"{plan['plan_id']:x}": plan for plan in shared.client.done("list").json["plans"]}
    assert plans[ident]["ext"] == nested(8)
    refused(shared.client, later(ext=nested(9)), "ext: want an object, nested 8 deep at most")


@pytest.mark.parametrize("ext", ["[]", "no JSON", 5, "{" + '"a":{' * 300 + "}" * 301])
def test_a_plan_whose_ext_was_edited_to_nonsense_is_parked(rig, ext):
    ident = rig.client.added(every(1000, 3, ext={"a": 1}))
    rig.edit(ident, ext=ext)
    assert [plan["ext"] for plan in rig.client.done("list").json["plans"]] == [ext]
    rig.due_now(ident)
    wait_until(lambda: rig.score(ident) is None, "out of the queue")
    rig.jobs.nothing(0.2)
    rig.client.ping()


# -- iterations

def test_C001_the_run_that_is_sent_knows_its_place(rig):
    """Two iterations of three runs: what is sent says which it is, all else how many are over."""
    results = rig.subscribe("placed")
    ident = rig.client.added({"description": "placed", "plan_type": 2, "plan_value": 1000,
                              "iteration": 2, "cycle": 3})
    assert rig.message(ident)["plan_repet"] == 6

    def listed():
        plan, = rig.client.done("list", {"station": "jobs", "title": "placed"}).json["plans"]
        return plan["current_iteration"], plan["current_cycle"]
    over = (0, 0)
    for place in itertools.product((1, 2), (1, 2, 3)):
        assert listed() == over
        rig.due_now(ident)
        run = rig.jobs.recv()
        assert (run.plan["current_iteration"], run.plan["current_cycle"]) == place
        assert listed() == over
        rig.jobs.finish(run)
        news = told(results.recv())
        assert (news["current_iteration"], news["current_cycle"]) == place
        assert "current_cycle" not in (rig.message(ident) or {})
        over = place
    rig.gone(ident)


def test_a_plan_without_iterations_has_no_place(rig):
    rig.client.added(at_once())
    assert "current_cycle" not in rig.jobs.recv().plan
    assert all("current_iteration" not in plan for plan in rig.client.done("list").json["plans"])


# -- who may

def test_a_key_gives_no_right_to_another_stations_plan(make_rig):
    rig = make_rig(kind=CurveRig, start=False)
    limited = rig.allow("limited", "submit", "news")
    rig.start()
    client = rig.member(limited)
    ident = published(rig.client, keyed("k"))
    reply = client.submit(keyed("k", if_exists="replace"))
    assert reply.code == ST.DENY, reply
    # The key of a client bound to a target is another name; the id itself stays taken.
    assert published(client, keyed("k", if_exists="replace"), station="news") != ident
    assert "is in use by another plan" in client.submit(later(), station="news", gid=ident).text
    assert unframe(rig.message(ident)["station"]) == b"jobs"
