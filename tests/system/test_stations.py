"""Target stations at run time (proto 9.6): station list, add, remove; their keys stay secret."""
import json

import pytest

from redissteps import proxied
from zplantest import (CMD, FT, ST, FakeTarget, Packet, at_once, every, later, plan_frames, receive,
                       wait_until)

SECRET = "s3cr3t-" + "k" * 20
FIELDS = {"name": str, "type": str, "endpoint": str, "dialect": str, "mailbox": str, "origin": str,
          "connected": bool, "unanswered": int, "text": str}
LIMIT = 256     # stations, those of the settings among them


def listed(rig):
    """name -> what `station list` says of it."""
    answer = rig.client.done("station", "list").json
    assert list(answer) == ["stations"]
    for one in answer["stations"]:
        fields = {**FIELDS, "key": bool} if "key" in one else FIELDS
        assert {name: type(value) for name, value in one.items()} == fields
    return {one["name"]: one for one in answer["stations"]}


def add(rig, text):
    return rig.client.done("station", "add", text)


def remove(rig, name):
    return rig.client.done("station", "remove", name)


def connected(rig, name):
    wait_until(lambda: listed(rig)[name]["connected"], f"{name} is connected")


def fires(rig, target, name):
    """A plan for this station is accepted, sent to the target, and done."""
    ident = rig.client.added(at_once(), station=name)
    run = target.recv()
    assert run.mailbox == b"*" + ident.encode()
    target.finish(run)
    rig.gone(ident, name)


@pytest.fixture
def late(rig):
    """A target that no station knows yet."""
    return rig.keep(FakeTarget(rig.ipc("l")))


# list.


def test_list_of_the_settings(rig):
    for name in ("jobs", "news"):
        connected(rig, name)
    assert listed(rig) == {
        "jobs": {"name": "jobs", "type": "api", "endpoint": rig.ipc("j"), "dialect": "zeronet",
                 "text": "jobs=api@" + rig.ipc("j"), "mailbox": "frame", "origin": "settings", "connected": True, "unanswered": 0},
        "news": {"name": "news", "type": "pub", "endpoint": rig.ipc("n"), "dialect": "zeronet",
                 "text": "news=pub@" + rig.ipc("n"), "mailbox": "frame", "origin": "settings", "connected": True, "unanswered": 0}}


def test_list_says_what_is_connected(rig):
    connected(rig, "jobs")
    rig.jobs.close()
    wait_until(lambda: not listed(rig)["jobs"]["connected"], "jobs is gone")
    assert listed(rig)["news"]["connected"]
    rig.jobs.open()
    connected(rig, "jobs")


def test_list_counts_the_runs_without_an_answer(make_rig):
    rig = make_rig("--send-timeout", "600000")
    idents = [rig.client.added(at_once()) for _ in range(3)]
    runs = [rig.jobs.recv() for _ in idents]
    wait_until(lambda: listed(rig)["jobs"]["unanswered"] == 3, "three")
    rig.jobs.answer(runs[0], ST.RUNING)
    rig.jobs.answer(runs[1], ST.OK)
    wait_until(lambda: listed(rig)["jobs"]["unanswered"] == 1, "one")
    assert listed(rig)["news"]["unanswered"] == 0


# add.


@pytest.mark.parametrize("kind", ["api", "pub", "vote"])
def test_a_plan_for_an_added_station_runs(rig, late, kind):
    head = [(FT.PUB_TITLE if kind == "pub" else FT.COMMAND, b"x")]
    reply = rig.client.submit(at_once(), station="late", head=head)
    assert reply.code == ST.NOT_FIND
    add(rig, f"late={kind}@{rig.ipc('l')}")
    assert (listed(rig)["late"]["origin"], listed(rig)["late"]["type"]) == ("added", kind)
    connected(rig, "late")
    ident = rig.client.added(at_once(), station="late", head=head)
    run = late.recv()
    assert run.mailbox == b"*" + ident.encode()
    late.answer(run, ST.VOTE_START if kind == "vote" else ST.OK, [(FT.JSON, b'["a"]')])
    if kind == "vote":
        late.answer(run, ST.OK, [(FT.RESPONSER, b"a")])
    rig.gone(ident, "late")


def test_options_of_an_added_station(rig):
    add(rig, f"late=api@{rig.ipc('l')},dialect=microzero,mailbox=identity,key={SECRET}")
    one = listed(rig)["late"]
    assert (one["dialect"], one["mailbox"], one["connected"]) == ("microzero", "identity", False)
    assert (one["text"], one["key"]) == (f"late=api@{rig.ipc('l')},dialect=microzero,mailbox=identity", True)


@pytest.mark.parametrize("rate", ["0.25", "33.5", "0.000050000000", "0.000001000000"])
def test_text_of_a_target_is_what_add_takes(rig, rate):
    text = f"late=vote@{rig.ipc('l')},mailbox=identity,kind=mail,concurrency=4,rate={rate},burst=9"
    add(rig, text)
    assert listed(rig)["late"]["text"] == text and "key" not in listed(rig)["late"]
    add(rig, "late=pull,kind=mail")
    assert listed(rig)["late"]["text"] == "late=pull,kind=mail"


def test_an_added_station_before_it_is_there(rig):
    """A plan waits for it; when it comes, the plan is due at once."""
    add(rig, f"late=api@{rig.ipc('l')}")
    ident = rig.client.added(at_once(), station="late")
    rig.state(ident, ST.SEND_ERROR, "late")
    late = rig.keep(FakeTarget(rig.ipc("l")))
    late.finish(late.recv())
    rig.gone(ident, "late")


@pytest.mark.parametrize("gently", [True, False])
def test_added_stations_are_kept_over_a_restart(rig, late, gently):
    """In Redis: plan:stations."""
    add(rig, f"late=api@{rig.ipc('l')}")
    add(rig, f"gone=api@{rig.ipc('g')}")
    remove(rig, "gone")
    assert rig.db.exists("plan:stations")
    before = listed(rig)
    rig.station.stop() if gently else rig.station.kill()
    rig.station.start()
    connected(rig, "late")
    assert listed(rig).keys() == before.keys() == {"jobs", "news", "late"}
    assert {**listed(rig)["late"], "connected": True} == {**before["late"], "connected": True}
    fires(rig, late, "late")


def test_a_plan_of_an_added_station_after_a_restart(rig, late):
    """One that is overdue when the station starts: its target is known by then."""
    add(rig, f"late=api@{rig.ipc('l')}")
    ident = rig.client.added(later(5), station="late")
    rig.station.kill()
    wait_until(lambda: float(rig.db.time()[0]) > rig.score(ident, "late"), "overdue")
    rig.station.start()
    run = late.recv()
    assert run.mailbox == b"*" + ident.encode()
    late.finish(run)
    rig.gone(ident, "late")


def test_a_submission_at_the_start_finds_an_added_station(make_rig):
    """The station serves when it knows which were added."""
    rig = proxied(make_rig)
    late = rig.keep(FakeTarget(rig.ipc("l")))
    add(rig, f"late=api@{rig.ipc('l')}")
    rig.station.kill()
    rig.proxy.hold_from = b"plan:stations"
    rig.station.start(wait_ready=False)
    rig.client.send(CMD.PLAN, plan_frames(at_once(), station="late"))
    wait_until(rig.proxy.held_back, "the targets are being read")
    assert rig.station.log_tail().count("event=station.ready") == 1     # of its first start
    rig.proxy.release()
    rig.station.wait_ready()
    reply = rig.client.recv()
    assert reply.code == ST.PLAN, reply
    late.finish(late.recv())


def test_a_submission_before_the_added_stations_are_read_is_not_refused_for_good(make_rig):
    """It serves without Redis after a while; when that comes the targets are not read at once."""
    rig = proxied(make_rig)
    late = rig.keep(FakeTarget(rig.ipc("l")))
    add(rig, f"late=api@{rig.ipc('l')}")
    rig.station.kill()
    rig.proxy.blackhole = True
    rig.station.start()

    def submitted():
        return rig.client.submit(at_once(), station="late")
    refused = submitted()
    assert refused.code == ST.NET_ERROR, refused
    rig.proxy.hold_from = b"plan:stations"
    rig.proxy.heal()
    wait_until(rig.proxy.held_back, "the targets are being read")
    refused = submitted()
    assert refused.code == ST.NET_ERROR and b"not been read from Redis yet" in refused.get(FT.STATUS)
    rig.proxy.release()
    wait_until(lambda: submitted().code == ST.PLAN, "the target is known")
    late.finish(late.recv())
    assert submitted().code == ST.PLAN
    assert rig.client.submit(at_once(), station="nix").code == ST.NOT_FIND


def test_a_station_may_be_added_again(rig, late):
    """The same changes nothing; another endpoint is where its plans go from then on."""
    add(rig, f"late=api@{rig.ipc('m')}")
    ident = rig.client.added(at_once(), station="late")
    rig.state(ident, ST.SEND_ERROR, "late")
    add(rig, f"late=api@{rig.ipc('l')}")
    late.finish(late.recv())
    rig.gone(ident, "late")
    add(rig, f"late=api@{rig.ipc('l')}")
    fires(rig, late, "late")
    rig.restart()
    assert listed(rig)["late"]["endpoint"] == rig.ipc("l")
    fires(rig, late, "late")


def test_a_station_of_the_settings_that_was_added_before(make_rig):
    """The settings win, and it cannot be removed any more."""
    rig = make_rig()
    late = rig.keep(FakeTarget(rig.ipc("l")))
    other = rig.keep(FakeTarget(rig.ipc("m")))
    add(rig, f"late=api@{rig.ipc('l')}")
    rig.station.stop()
    rig.station.args += ["--station", "late=api@" + rig.ipc("m")]
    rig.station.start()
    assert listed(rig)["late"]["origin"] == "settings"
    connected(rig, "late")
    fires(rig, other, "late")
    late.nothing(0)
    rig.client.refused("station", "remove", "late")


# remove.


def test_plans_of_a_removed_station_wait(rig, late):
    """SEND_ERROR, paced; they go on when it is added again. New ones are not taken."""
    add(rig, f"late=api@{rig.ipc('l')}")
    connected(rig, "late")
    idents = [rig.client.added(later(3600), station="late") for _ in range(3)]
    remove(rig, "late")
    assert "late" not in listed(rig)
    assert rig.client.submit(later(), station="late").code == ST.NOT_FIND
    for ident in idents:
        rig.due_now(ident, "late")
    for ident in idents:
        message = rig.state(ident, ST.SEND_ERROR, "late")
        assert message["real_repet"] == 0 and rig.score(ident, "late") is not None
    late.nothing(0)
    for ident in idents:        # management of what waits
        rig.client.done("message", ident)
    rig.client.done("pause", idents[0])
    add(rig, f"late=api@{rig.ipc('l')}")
    for _ in idents[1:]:
        late.finish(late.recv())
    for ident in idents[1:]:
        rig.gone(ident, "late")
    rig.client.done("reset", idents[0])
    rig.due_now(idents[0], "late")
    late.finish(late.recv())
    rig.gone(idents[0], "late")


def test_health_names_targets_that_are_not_known(rig):
    def strangers():
        return [text for text in rig.client.done("health").json["warnings"] if "does not know" in text]

    assert strangers() == []
    for nth in range(7):
        add(rig, f"t{nth}=pull")
        for _ in range(nth % 6 + 1):
            last = rig.client.added(later(3600), station=f"t{nth}")
    assert strangers() == []
    for name in ("t0", "t2"):
        remove(rig, name)
    assert strangers() == ["targets that this station does not know have plans: t2 (3), t0 (1)"]
    for name in ("t1", "t3", "t4", "t5", "t6"):
        remove(rig, name)
    (text,) = strangers()
    assert text == ("targets that this station does not know have plans: "
                    "t5 (6), t4 (5), t3 (4), t2 (3), t1 (2) and 2 more")
    for nth in range(7):
        add(rig, f"t{nth}=pull")
    assert strangers() == []
    remove(rig, "t6")
    assert strangers() == ["targets that this station does not know have plans: t6 (1)"]
    rig.client.done("remove", last)
    assert strangers() == []


def test_remove_while_a_run_is_out(make_rig):
    """Its result still counts by the request socket, or it is run again when the lease has ended."""
    rig = make_rig("--exec-timeout", "4")
    late = rig.keep(FakeTarget(rig.ipc("l")))
    add(rig, f"late=api@{rig.ipc('l')}")
    idents = [rig.client.added(at_once(), station="late") for _ in range(3)]
    runs = [late.recv() for _ in idents]
    for run in runs[:2]:        # the third has not said a word yet
        late.answer(run, ST.RUNING)
        rig.state(run.mailbox[1:].decode(), ST.RUNING, "late")
    remove(rig, "late")
    first = runs[0].mailbox[1:].decode()
    rig.client.result(first, ST.OK, [(FT.LOCAL_ID, runs[0].local_id)])
    rig.gone(first, "late")
    add(rig, f"late=api@{rig.ipc('l')}")
    again = [late.recv() for _ in range(2)]
    assert {run.mailbox for run in again} == {run.mailbox for run in runs[1:]}
    for run in again:
        late.finish(run)
        rig.gone(run.mailbox[1:].decode(), "late")


def test_remove_and_add_many_times(rig, late):
    """With a plan that fires every second; answers come by the request socket: each run once."""
    add(rig, f"late=api@{rig.ipc('l')}")
    ident = rig.client.added(every(1, 6, no_keep=True), station="late")
    base = rig.message(ident, "late")["plan_time"]
    times = []
    for _ in range(200):
        if not rig.left(ident, "late"):
            break
        remove(rig, "late")
        add(rig, f"late=api@{rig.ipc('l')}")
        connected(rig, "late")
        while late.socket.poll(200):
            run = late.recv()
            times.append(run.plan_time)
            rig.client.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id)])
            rig.repet(ident, len(times), "late") if len(times) < 6 else rig.gone(ident, "late")
    assert times == [base + nth for nth in range(6)]


def test_stations_of_the_settings_stay(rig):
    for name in ("jobs", "news"):
        assert "settings" in rig.client.refused("station", "remove", name)
        assert "settings" in rig.client.refused("station", "add", f"{name}=api@{rig.ipc('x')}")
    assert listed(rig).keys() == {"jobs", "news"} and not rig.db.exists("plan:stations")
    fires(rig, rig.jobs, "jobs")


# Refusals.


@pytest.mark.parametrize("text", [
    "", "late", "late=", "late=api", "late=api@", "=api@ipc:///tmp/x", "late=hub@ipc:///tmp/x",
    "late=api@/tmp/x", "late=api@http://x", "late=api@tcp://", "la te=api@ipc:///tmp/x",
    "läte=api@ipc:///tmp/x", "x" * 65 + "=api@ipc:///tmp/x", "late=api@ipc:///tmp/x,colour=1",
    "late=api@ipc:///tmp/x,dialect=latin", "late=api@ipc:///tmp/x,mailbox=box",
    "late=api@ipc:///tmp/x,key=", "late=api@ipc:///tmp/x,key=" + "k" * 256,
    "late=api@ipc:///" + "x" * 1100, "late=api@ipc:///tmp/x\0", "late=API@ipc:///tmp/x"])
def test_stations_that_are_none(shared, text):
    shared.client.refused("station", "add", text)
    assert listed(shared).keys() == {"jobs", "news"} and not shared.db.exists("plan:stations")


def test_words_that_are_none(shared):
    for args in ((), ("drop",), ("list", "x"), ("add",), ("remove",), ("add", "a=api@ipc:///x", "y"),
                 ("",), ("remove", "jobs", "x")):
        shared.client.refused("station", *args)
    for name in ("nobody", "", "zz zz", "x" * 65, "x" * 5000, "jobs\0"):
        shared.client.refused("station", "remove", name, status=ST.NOT_FIND)


def test_redis_away(rig):
    """What cannot be kept is not added."""
    rig.redis.stop()
    rig.client.refused("station", "add", f"late=api@{rig.ipc('l')}", status=ST.NET_ERROR)
    rig.client.refused("station", "remove", "jobs", status=ST.NET_ERROR)
    rig.redis.start()
    wait_until(lambda: rig.client.manage("stats").code == ST.OK, "Redis is back")
    assert listed(rig).keys() == {"jobs", "news"}
    add(rig, f"late=api@{rig.ipc('l')}")


def test_what_was_kept_and_is_no_station(rig, late):
    """By hand: the others are known all the same."""
    add(rig, f"late=api@{rig.ipc('l')}")
    rig.db.hset("plan:stations", mapping={"bad": "nonsense", "": "", "worse": b"\xff\0",
                                          "other": f"another=api@{rig.ipc('o')}"})
    rig.restart()
    connected(rig, "late")
    fires(rig, late, "late")


def test_256_stations(rig):
    """The limit, also after a restart; who is refused may come when another has gone."""
    names = [f"s{n:03}" for n in range(LIMIT - 2)]
    for name in names:
        add(rig, f"{name}=api@{rig.ipc(name)}")
    assert len(listed(rig)) == LIMIT
    reason = rig.client.refused("station", "add", f"more=api@{rig.ipc('m')}", status=ST.BUSY)
    assert str(LIMIT) in reason
    add(rig, f"s000=pub@{rig.ipc('s000')}")     # it is there already
    rig.restart()
    assert len(listed(rig)) == LIMIT and listed(rig)["s000"]["type"] == "pub"
    fires(rig, rig.jobs, "jobs")
    remove(rig, "s000")
    add(rig, f"more=api@{rig.ipc('m')}")
    more = rig.keep(FakeTarget(rig.ipc("m")))
    connected(rig, "more")
    fires(rig, more, "more")


# Keys.


def test_a_key_is_sent_and_never_shown(make_rig):
    """It reaches the target, and nobody else: no answer, event, broadcast, log or refusal has it."""
    rig = make_rig("--log-level", "debug")
    late = rig.keep(FakeTarget(rig.ipc("l")))
    results, events = rig.subscribe(b"at once"), rig.events()
    heard = []
    text = f"late=api@{rig.ipc('l')},mailbox=identity,key={SECRET}"
    heard.append(add(rig, text))
    connected(rig, "late")
    ident = rig.client.added(at_once(plan_type="second", plan_value=1, plan_repet=2),
                             station="late")
    for status in (ST.ERROR, ST.OK, ST.OK):
        identity, *parts = receive(late.socket, 20, "dispatch")
        run = Packet(parts)
        assert run.get(FT.SERVICE_KEY) == SECRET.encode() and run.types[-1] == FT.SERVICE_KEY
        for code in (ST.RUNING, status):
            late.socket.send_multipart([identity, bytes([2, code, FT.GLOBAL_ID, FT.REQUESTER, 0]),
                                        run.get(FT.GLOBAL_ID), run.get(FT.REQUESTER)])
        heard.append(results.recv())
    for args in (("list",), ("stats",), ("history",), ("station", "list")):
        heard.append(rig.client.done(*args))
    for bad in (f"late=hub@{rig.ipc('l')},key={SECRET}", f"late=api@{rig.ipc('l')},KEY={SECRET}",
                f"late=api@{rig.ipc('l')},colour=1,key={SECRET}",
                f"jobs=api@{rig.ipc('l')},key={SECRET}", f"late=api@nowhere,key={SECRET}",
                f"late=api@{rig.ipc('l')},key={SECRET}{'x' * 256}",
                f"late,key={SECRET}", f"la te=api@x,key={SECRET}"):
        heard.append(rig.client.refused("station", "add", bad))
    rig.client.done("station", "remove", "late")
    add(rig, text)
    rig.restart()
    heard.append(rig.client.done("station", "list"))
    assert listed(rig)["late"]["mailbox"] == "identity"
    while events.socket.poll(0):
        heard.append(events.recv())
    for one in heard:
        parts = [one] if isinstance(one, str) else [str(one.state)] if hasattr(one, "state") \
            else [str(one.before), *map(str, one.frames)]
        assert not any(SECRET in part for part in parts), one
    rig.station.stop()
    with open(rig.station.log) as log:
        assert SECRET not in log.read()
    # Only where it is kept.
    rig.station.start()
    for key in rig.db.keys("*"):
        if key != b"plan:stations":
            assert SECRET.encode() not in (rig.db.dump(key) or b""), key


def test_a_key_of_the_settings_is_not_shown(make_rig):
    rig = make_rig("--log-level", "debug", start=False)
    rig.station.args += ["--station", f"late=api@{rig.ipc('l')},key={SECRET}"]
    rig.start()
    assert SECRET not in json.dumps(listed(rig))
    assert SECRET not in rig.client.refused("station", "remove", "late")
    rig.station.stop()
    with open(rig.station.log) as log:
        assert SECRET not in log.read()
