"""Flow runs under failure: the station dies at every point of a run's life, Redis goes away under it, and events meet.

Nothing is lost; no step runs twice but those that were in flight; no run stands still.
"""
import json
import os
import time

import pytest

from faulttest import Pair, died, is_whole
from flowrig import Call, Flows, call
from redissteps import frozen, proxied
from zplantest import CMD, FT, ST, wait_until

SHORT = ("--exec-timeout", "2")     # seconds: what a station that dies leaves behind waits that long
DONE = (ST.OK, None)
PAIR = {"a": call(), "b": call(["a"], args=["=default(steps.a.value, 'none')"])}
INNER = {"x": call(), "y": call(["x"])}
ALL = {"a": call(),
       "b": call(["a"]), "c": call(["a"]),
       "each": call(["a"], for_each=[1, 2, 3], args=["=item"], max_parallel=2),
       "sub": {"after": ["b"], "target": "inner", "json": {}},
       "w": {"after": ["c"], "wait": 1},
       "s": {"after": ["c"], "signal": {}},
       "d": call(["b", "c", "each", "sub", "w", "s"], json={"s": "=steps.s.value", "each": "=steps.each.value"})}
EVERY_STEP = ["a", "b", "c", "each.0", "each.1", "each.2", "x", "y", "d"]


class Played:
    """Runs whose calls are answered by a function, while the station dies and comes back. `answer` gives the status and
    the value of a call, or None: it is left in flight."""

    def __init__(self, rig, answer=lambda step: DONE):
        self.rig, self.flows, self.answer = rig, Flows(rig), answer
        self.calls, self.in_flight, self.deaths = [], set(), 0
        self.client = rig.dealer()
        self.revive = self.restart

    def restart(self):
        died(self.rig.station)
        self.deaths += 1
        # What is still a plan was in flight, or is still to be sent.
        self.in_flight |= {one.ident for one in self.calls if self.rig.left(one.ident)}
        self.rig.station.start()
        self.client = self.rig.dealer()

    def is_dead(self):
        return self.rig.station.process and self.rig.station.process.poll() is not None

    def ask(self, *args):
        """The answer of the command flow: (status, JSON); None if the station dies meanwhile."""
        client = self.client
        client.send(CMD.NONE, [(FT.COMMAND, b"flow"), *((FT.ARG, a.encode()) for a in args)])
        end = time.monotonic() + 20
        while not client.socket.poll(20):
            if self.is_dead():
                return None
            assert time.monotonic() < end, f"no answer to {args}"
        reply = client.recv()
        return reply.code, reply.json if reply.code == ST.OK else reply.text

    def show(self, run):
        answer = self.ask("show", run)
        return answer[1] if answer and answer[0] == ST.OK else None

    def work(self, timeout=0.02):
        """Answer the calls that are there; False: there was none."""
        jobs, some = self.rig.jobs, False
        while jobs.socket.poll(int(timeout * 1000)):
            packet = jobs.recv()
            if packet.code == CMD.CLOSE_REQUEST:
                continue
            one, some = Call(packet), True
            self.calls.append(one)
            end = self.answer(one)
            if end:
                status, value = end
                pairs = [(FT.JSON, json.dumps(value).encode())] if value is not None else []
                jobs.finish(packet, status, pairs)
        return some

    def until(self, reached, what, seconds=30):
        """Work until this is true. It may ask the station."""
        end = time.monotonic() + seconds
        while True:
            if self.is_dead():
                self.revive()
            if not self.work():
                found = reached()
                if found:
                    return found
            assert time.monotonic() < end, f"not within {seconds} s: {what}; {self.calls}"

    def root(self, flow):
        """The number of the run of this flow, as soon as one of its calls has come."""
        runs = [one.flow["run"] for one in self.calls if one.flow["name"] == flow]
        return runs[0] if runs else None

    def ended(self, run, *states):
        """Work until the run is in one of these states; signals that it waits for are given."""
        def reached():
            shown = self.show(run)
            for step in shown["steps"] if shown else []:
                if step["state"] == "running" and "signal" in step.get("why", ""):
                    self.ask("signal", run, step["step"], '"yes"')
            return shown if shown and shown["state"] in states else None
        return self.until(reached, f"the run is {states}")

    def none_doubled(self, *names):
        """Each of these calls once; only those that were in flight when the station died may have come again."""
        assert sorted({one.name for one in self.calls}) == sorted(names)
        seen = {}
        for one in self.calls:
            seen.setdefault((one.ident, one.flow["run"], one.flow["generation"]), []).append(one)
        assert len(seen) == len(names), [call[1:] for call in seen]
        doubled = {calls[0].ident for calls in seen.values() if len(calls) > 1}
        assert doubled <= self.in_flight, [one.name for one in self.calls]

    def all_gone(self):
        """No plan is left, and nothing is half-written."""
        wait_until(lambda: not self.rig.db.keys("plan:msg:*"), "all plans are gone")
        wait_until(lambda: not set(self.rig.db.hkeys("plan:run")) - {b"table"}, "no run is in flight")
        self.rig.client = self.client
        is_whole(self.rig)


def put_all(flows):
    flows.put("inner", INNER)
    flows.put("all", ALL, max_parallel=8)


def arm(rig, point):
    """From its next start on it dies at this point."""
    rig.station.stop()
    rig.station.env["ZPLAN_FAILPOINT"] = point
    rig.station.start()
    rig.client = rig.dealer()


def whole_run(played, point):
    """A run of every kind of step, through a death: it ends as if nothing had been."""
    played.rig.dealer().send(CMD.PLAN, [(FT.PLAN, b'{"description": "all", "plan_type": 0}'), (FT.STATION_ID, b"all")])
    played.until(lambda: played.root("all"), "the run has begun")
    shown = played.ended(played.root("all"), "finished")
    assert played.deaths == 1, point
    played.none_doubled(*EVERY_STEP)
    assert [one.json for one in played.calls if one.name == "d"][-1] == {"s": "yes", "each": [None] * 3}
    assert all(step["state"] == "finished" for step in shown["steps"])
    played.all_gone()


POINTS = ["claim_done", "flow_begun", "flow_begun:2", "flow_placed:4", "flow_end", "flow_end:7", "flow_over", "flow_over:2",
          "flow_sub_end", "flow_timer", "result_done:2", "result_sent:3"]


@pytest.mark.parametrize("point", POINTS)
def test_a_death_at_a_point_of_a_run(make_rig, point):
    rig = make_rig(*SHORT)
    put_all(Flows(rig))
    arm(rig, point)
    whole_run(Played(rig), point)


@pytest.mark.parametrize("point", ["flow_end:2", "flow_over"])
def test_a_standby_goes_on_with_the_runs(make_rig, point):
    pair = Pair(make_rig(*SHORT, start=False))
    rig = pair.rig
    try:
        rig.redis.start()
        rig.station.env["ZPLAN_FAILPOINT"] = point
        pair.start()
        put_all(Flows(rig))
        played = Played(rig)

        def takes_over():
            died(pair.stations[0])
            played.deaths += 1
            played.in_flight |= {one.ident for one in played.calls if rig.left(one.ident)}
            pair.takes_over(1)
            played.client = rig.client
            played.is_dead = lambda: False
        played.revive = takes_over
        whole_run(played, point)
    finally:
        pair.close()


def test_a_death_while_a_run_is_read(make_rig):
    rig = make_rig(*SHORT)
    put_all(Flows(rig))
    hold = [True]
    played = Played(rig, lambda step: None if step.name == "b" and hold[0] else DONE)
    rig.dealer().submit(json.loads('{"description": "all", "plan_type": 0}'), station="all", head=[])
    played.until(lambda: any(one.name == "b" for one in played.calls), "b is in flight")
    arm(rig, "flow_read")
    played.client = rig.dealer()
    hold[0] = False
    played.in_flight |= {one.ident for one in played.calls if rig.left(one.ident)}
    first = next(one for one in played.calls if one.name == "b")
    played.client.result(first.ident, ST.OK, [(FT.LOCAL_ID, first.run.local_id)])
    played.ended(played.root("all"), "finished")
    assert played.deaths == 1
    played.none_doubled(*EVERY_STEP)
    played.all_gone()


def test_a_death_when_more_is_to_be_decided(make_rig):
    """Nothing is in flight, and the run has not come to its end: the next owner goes on at once."""
    steps = {f"s{at}": {"let": {"x": "1"}} for at in range(3000)}
    rig = make_rig(*SHORT)
    rig.client.done("flow", "put", json.dumps({"flow": "more", "steps": {**steps, "last": call()}, "finally": "last"}))
    arm(rig, "flow_more")
    played = Played(rig)
    start = time.monotonic()
    rig.dealer().send(CMD.PLAN, [(FT.PLAN, b'{"description": "more", "plan_type": 0}'), (FT.STATION_ID, b"more")])
    played.until(lambda: played.root("more"), "the last step is called")
    assert played.deaths == 1
    assert time.monotonic() - start < 10
    played.ended(played.root("more"), "finished")
    played.all_gone()


@pytest.mark.parametrize("point", ["flow_cancel", "flow_cancelled"])
def test_a_death_while_calls_are_cancelled(make_rig, point):
    """What is in flight is cancelled by the next owner; then what was done is undone, and the run ends."""
    rig = make_rig("--exec-timeout", "60")
    flows = Flows(rig)
    flows.put("trip", {"a": call(undo={"target": "jobs", "command": "free"}), "b": call(["a"]), "w": {"wait": 3600}})
    arm(rig, point)
    held = []
    played = Played(rig, lambda step: held.append(step) if step.name == "b" else DONE)
    rig.dealer().submit({"description": "trip", "plan_type": 0}, station="trip", head=[])
    played.until(lambda: held, "b is in flight")
    rig.jobs.answer(held[0].run, ST.RUNING)
    rig.state(held[0].ident, ST.RUNING)
    run = played.root("trip")
    played.ask("cancel", run)
    played.until(lambda: played.deaths, "it has died")
    if point == "flow_cancel":      # nothing was written, and nobody was answered
        assert played.ask("cancel", run)[0] == ST.OK
    shown = played.ended(run, "cancelled")
    assert {step["step"]: step["state"] for step in shown["steps"]} == {"a": "finished", "b": "cancelled", "w": "cancelled"}
    assert [one.flow["undo"] for one in played.calls] == [False, False, True]
    played.all_gone()


def test_an_occurrence_that_was_only_claimed_is_not_the_one_before(make_rig):
    """The station dies between the claim of the second occurrence of a schedule and its begin."""
    rig = make_rig(*SHORT)
    flows, news = Flows(rig), rig.subscribe("tick")
    flows.put("tick", {"a": call()})
    ident = rig.client.added({"description": "tick", "plan_type": 2, "plan_value": 3600, "plan_repet": 3}, station="tick",
                             head=[])
    rig.due_now(ident, "tick")
    first = flows.call()
    flows.fail(first)
    while (told := news.recv()).before[0] != b"tick":
        pass
    assert told.code == ST.FAILED
    arm(rig, "claim_done")
    played = Played(rig)
    rig.due_now(ident, "tick")
    played.until(lambda: played.deaths and played.calls, "the second occurrence runs")
    assert played.calls[0].flow["run"] != first.flow["run"]
    played.ended(played.calls[0].flow["run"], "finished")


# What meets in time.

def test_finally_that_starts_with_a_timeout_is_not_lost(rig):
    """It is placed in the same moment as the run is looked at."""
    flows = Flows(rig)
    flows.put("slow", {"w": {"wait": 3600}, "last": call()}, timeout=1, **{"finally": "last"})
    flows.start("slow")
    run = flows.next("last").flow["run"]
    shown = flows.until(run, "timeout")
    assert {step["step"]: step["state"] for step in shown["steps"]} == {"w": "cancelled", "last": "finished"}
    wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 1, "only the flow plan is left, parked")


def test_a_timer_goes_with_its_wait(rig):
    """Also when the run turns to its undo in that moment, and when the wait begins anew."""
    flows = Flows(rig)
    flows.put("trip", {"a": call(undo={"target": "jobs", "command": "free"}), "w": {"wait": 3600},
                       "s": {"signal": {"timeout": 3600}}})
    flows.start("trip")
    run = flows.next("a").flow["run"]
    wait_until(lambda: flows.states(run)["a"] == "finished", "a has ended")
    flows.flow("retry", run, '{"restart": true}')
    assert flows.next("a").flow["generation"] == 1
    wait_until(lambda: flows.states(run)["a"] == "finished", "a has ended again")
    wait_until(lambda: len(rig.db.keys("plan:msg:*")) == 3, "the flow plan and two timers are there")
    flows.flow("cancel", run)
    step = flows.call()
    assert step.flow["undo"]
    flows.done(step)
    flows.until(run, "cancelled")
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "no timer is left")


def test_each_attempt_of_a_flow_plan_has_its_time(rig):
    flows = Flows(rig)
    flows.put("slow", {"a": call()}, timeout=1)
    news = rig.subscribe("slow")
    flows.start("slow", retry={"strategy": "fixed", "interval": 1, "max": 1})
    runs = []
    for _ in range(2):
        step = flows.call()
        flows.jobs.answer(step.run, ST.RUNING)
        assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
        runs.append(step.flow["run"])
    assert runs[0] == runs[1]
    told = []
    while len(told) < 2:
        packet = news.recv()
        told += [packet.code] if packet.before[0] == b"slow" else []
    assert told == [ST.TIMEOUT] * 2


def outcomes_of(rig, name):
    """The outcomes of the flow plans of this flow, by their plan."""
    runs = rig.client.done("history", {"limit": 1000}).json["runs"]
    return [(run["plan"], run["status"]) for run in runs if run["station"] == name]


def pipelined(rig, *words):
    client = rig.dealer()
    client.send(CMD.NONE, [(FT.COMMAND, b"flow"), *((FT.ARG, a.encode()) for a in words)])
    return client


def meeting(rig, nth, step, words):
    """The end of a call and a command at the same time, in both orders; the reply to the command."""
    flows = Flows(rig)
    if nth % 2:
        flows.done(step, "end")
    client = pipelined(rig, *words)
    if not nth % 2:
        flows.done(step, "end")
    reply = client.recv()
    client.close()
    return reply


TIMES = 12


def test_skip_meets_the_end(rig):
    flows = Flows(rig)
    flows.put("pair", PAIR)
    for nth in range(TIMES):
        flows.start("pair")
        first = flows.call()
        run = first.flow["run"]
        reply = meeting(rig, nth, first, ("skip", run, "a", '{"value": "skip"}'))
        second = flows.call()
        assert second.step == "b" and second.args == ["skip" if reply.code == ST.OK else "end"]
        flows.done(second)
        shown = flows.until(run, "finished")
        assert shown["steps"][0]["state"] == ("skipped" if reply.code == ST.OK else "finished")
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all plans are gone")


def test_cancel_meets_the_end(rig):
    flows = Flows(rig)
    flows.put("pair", {"a": call()})
    for nth in range(TIMES):
        ident = flows.start("pair")
        first = flows.call()
        run = first.flow["run"]
        reply = meeting(rig, nth, first, ("cancel", run))
        rig.gone(ident, "pair")
        while rig.jobs.socket.poll(0):
            assert rig.jobs.recv().code == CMD.CLOSE_REQUEST
        state = flows.show(run)["state"]
        assert state in (("cancelled",) if reply.code == ST.OK else ("finished",))
    codes = [status for _, status in outcomes_of(rig, "pair")]
    assert len(codes) == TIMES
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all plans are gone")


def test_retry_meets_the_end(rig):
    """b runs once more, and the run ends once: no flow plan is left, and none has two ends."""
    flows = Flows(rig)
    flows.put("pair", {"a": call(), "b": call(["a"])})
    for nth in range(TIMES):
        flows.start("pair")
        flows.next("a")
        second = flows.call()
        run = second.flow["run"]
        reply = meeting(rig, nth, second, ("retry", run, '{"steps": ["b"]}'))
        assert reply.code == ST.OK, reply
        again = flows.call()
        assert again.step == "b" and again.flow["run"] == run
        before = len(outcomes_of(rig, "pair"))
        flows.done(again)
        flows.until(run, "finished")
        wait_until(lambda: not rig.db.keys("plan:msg:*"), "all plans are gone")
        assert len(outcomes_of(rig, "pair")) == before + 1, "one flow plan ends with the run"


def test_of_two_signals_one_counts(rig):
    flows = Flows(rig)
    flows.put("ask", {"s": {"signal": {}}, "b": call(["s"], args=["=steps.s.value"])})
    for _ in range(TIMES):
        ident = flows.start("ask")
        run = flows.run_of(ident, "ask")
        wait_until(lambda: flows.states(run)["s"] == "running", "it waits")
        clients = [pipelined(rig, "signal", run, "s", f'"{word}"') for word in ("one", "two")]
        codes = [client.recv().code for client in clients]
        second = flows.call()
        assert codes.count(ST.OK) == 1 and second.args == [("one", "two")[codes.index(ST.OK)]]
        flows.done(second)
        flows.until(run, "finished")


def test_a_hundred_joins_at_once(rig):
    """The middle steps of a hundred diamonds end in the same moment: each join starts once."""
    flows = Flows(rig)
    flows.put("diamond", {"a": call(), "b": call(["a"]), "c": call(["a"]), "d": call(["b", "c"])})
    for _ in range(100):
        flows.start("diamond")
    middle = []
    while len(middle) < 200:
        step = flows.call()
        if step.step == "a":
            flows.done(step)
        else:
            middle.append(step)
    assert {step.step for step in middle} == {"b", "c"}
    for step in middle:
        flows.done(step)
    last = [flows.call() for _ in range(100)]
    assert {step.step for step in last} == {"d"} and len({step.flow["run"] for step in last}) == 100
    for step in last:
        flows.done(step)
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "all have ended")
    flows.nothing(0.1)
    assert len(flows.flow("runs", {"state": "finished", "limit": 1000})["runs"]) == 100
    is_whole(rig)


# Redis.

def under_way(rig, count=5):
    """Runs whose first calls are in flight."""
    played = Played(rig)
    held = []
    played.answer = held.append
    for _ in range(count):
        rig.client.added({"description": "all", "plan_type": 0}, station="all", head=[])
    played.until(lambda: len(held) == count, "all have begun")
    played.answer = lambda step: DONE
    return played, held


def end_all(rig, played, held):
    """What was in flight ends, and so does every run, with no step doubled."""
    runs = {step.flow["run"] for step in held}
    for run in runs:
        played.ended(run, "finished")
    calls = [(one.ident, one.flow["generation"]) for one in played.calls]
    assert len(calls) == len(set(calls)) == len(EVERY_STEP) * len(runs)
    played.all_gone()


def finish(rig, held):
    for step in held:
        rig.jobs.finish(step.run)


def test_redis_restarts_under_runs(make_rig):
    rig = make_rig(redis_args=("--appendfsync", "always"))
    put_all(Flows(rig))
    played, held = under_way(rig)
    rig.redis.kill()
    finish(rig, held)
    rig.redis.start()
    end_all(rig, played, held)


def test_the_connection_is_cut_under_runs(make_rig):
    rig = proxied(make_rig)
    put_all(Flows(rig))
    played, held = under_way(rig)
    for at, step in enumerate(held):
        rig.jobs.finish(step.run)
        if at % 2:
            rig.proxy.cut_all()
    end_all(rig, played, held)


def test_redis_stalls_under_runs(make_rig):
    rig = make_rig()
    put_all(Flows(rig))
    played, held = under_way(rig)
    with frozen(rig.redis.process):
        finish(rig, held)
        time.sleep(5)       # the stall itself
    end_all(rig, played, held)


def test_redis_is_full_under_runs(make_rig):
    """New runs are refused; those that are under way go on to their end."""
    rig = make_rig(redis_args=("--appendfsync", "always"))
    put_all(Flows(rig))
    played, held = under_way(rig)
    admin = rig.redis.client()
    admin.config_set("maxmemory", 1)
    finish(rig, held)
    for step in held:
        played.ended(step.flow["run"], "finished")
    admin.config_set("maxmemory", 0)
    end_all(rig, played, held)


# Bounds.

def test_a_star_of_2000_steps(rig):
    flows = Flows(rig)
    flows.put("star", {"hub": call(), **{f"s{at}": call(["hub"]) for at in range(2000)},
                       "end": call([f"s{at}" for at in range(2000)])}, max_parallel=10000)
    flows.start("star")
    run = flows.next("hub").flow["run"]
    seen = set()
    for _ in range(2000):
        step = flows.call()
        seen.add(step.step)
        flows.done(step)
    assert len(seen) == 2000
    flows.next("end")
    assert flows.until(run, "finished")


def test_3000_items_in_a_window_of_64(rig):
    flows = Flows(rig)
    flows.put("each", {"e": call(for_each=3000, args=["=index"], max_parallel=64, collect="count"),
                       "sum": call(["e"], json="=steps.e.value")}, max_parallel=100)
    flows.start("each")
    waiting, seen = [], set()
    while len(seen) < 3000:
        step = flows.call()
        assert step.step == "e" and step.args[0] not in seen
        seen.add(step.args[0])
        waiting.append(step)
        assert len(waiting) <= 64
        if len(waiting) == 64 or len(seen) == 3000:
            for step in waiting:
                flows.done(step)
            waiting = []
    assert flows.next("sum").json == {"finished": 3000, "failed": 0}


def test_sixteen_flows_within_each_other(rig):
    flows = Flows(rig)
    flows.put("n16", {"a": call()}, output={"depth": "=steps.a.value"})
    for at in range(15, 0, -1):
        flows.put(f"n{at}", {"a": {"target": f"n{at + 1}", "json": {}}}, output={"depth": "=steps.a.value.depth + 1"})
    ident = flows.start("n1")
    run = flows.run_of(ident, "n1")
    assert flows.call().flow["name"] == "n16"
    flows.done(flows.calls[-1], 1)
    assert flows.until(run, "finished")["output"] == {"depth": 16}
    rig.gone(ident, "n1")
    assert not rig.db.keys("plan:msg:*")


@pytest.mark.parametrize("size", [65536, 65537])
def test_a_value_at_its_bound(rig, size):
    flows = Flows(rig)
    flows.put("big", {"a": call(), "b": call(["a"], args=["=steps.a.value.length()"]),
                      "c": call([{"step": "b", "on": "failed"}])})
    flows.start("big")
    first = flows.call()
    flows.done(first, "x" * (size - 2))
    follower = flows.call()
    shown = flows.show(first.flow["run"])["steps"][0]
    assert (follower.name, shown.get("not_kept", False)) == (("b", False) if size == 65536 else ("c", True))
    assert follower.name == "c" or follower.args == [str(size - 2)]


def test_runs_that_wait_stand_in_redis_only(make_rig):
    """A thousand with an input of 8 KB; the station holds only a few, and each goes on when it is its turn."""
    rig = make_rig(env={"ZPLAN_FAILPOINT": "flow_few_lives"})
    flows, data = Flows(rig), json.dumps({"text": "x" * 8000}).encode()
    flows.put("ask", {"s": {"signal": {}}, "b": call(["s"], args=["=input.text.length()"])})

    def begin(count):
        for at in range(count):
            rig.client.send(CMD.PLAN, [(FT.PLAN, b'{"description": "ask", "plan_type": 0}'), (FT.STATION_ID, b"ask"),
                                       (FT.JSON, data)])
            if at % 50 == 49:
                for _ in range(50):
                    assert rig.client.recv().code == ST.PLAN
        wait_until(lambda: rig.db.zcard("plan:flow:runs") == begun[0] + count, "all have begun")
        begun[0] += count
    begun = [0]
    begin(200)
    before = rig.station.rss_mib()
    begin(800)
    grown = rig.station.rss_mib() - before
    if "ASAN_OPTIONS" not in os.environ:
        assert grown < 6, f"{grown} MiB"
    for run in rig.db.zrange("plan:flow:runs", 0, -1, )[::100]:
        flows.flow("signal", run.decode(), "s")
        assert flows.next("b").args == ["8000"]
        flows.until(run.decode(), "finished")
