"""What people do to flow plans and to the plans of steps, and what flows make of it."""
import time

import pytest

from faulttest import history
from flowrig import Flows, call
from zplantest import CMD, EXECUTE, PAUSE, ST, every, wait_until


@pytest.fixture
def flows(rig):
    return Flows(rig)


def begun(flows, name="pair", **plan):
    """A flow of two steps whose first is in flight: its plan, and its call."""
    flows.put(name, {"a": call(), "b": call(["a"])})
    ident = flows.start(name, **plan)
    first = flows.call()
    flows.jobs.answer(first.run, ST.RUNING)
    return ident, first


def test_cancel_of_a_flow_plan_cancels_its_run(rig, flows):
    ident, first = begun(flows)
    reply = rig.client.done("cancel", ident).json
    assert reply["plan_id"] == int(ident, 16)
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    flows.until(first.flow["run"], "cancelled")
    rig.gone(ident, "pair")


def test_remove_of_a_flow_plan_cancels_its_run(rig, flows):
    ident, first = begun(flows)
    rig.client.done("remove", ident)
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    flows.until(first.flow["run"], "cancelled")
    rig.gone(ident, "pair")
    assert not rig.db.keys("plan:msg:*")


UNDO = {"target": "jobs", "command": "free", "retry": {"strategy": "none"}}


def sub_flow_that_can_be_undone(rig, flows, **step):
    """Flow `outer` in flight at y of `inner`, which has x to undo; the plan, the run, and the run of `inner`."""
    flows.put("inner", {"x": call(undo=UNDO), "y": call(["x"])})
    flows.put("outer", {"in": {"target": "inner", "json": {}, **step}, "z": call(["in"])})
    ident = flows.start("outer")
    flows.next("x")
    return ident, flows.run_of(ident, "outer"), flows.call().flow["run"]


@pytest.mark.parametrize("word", ["cancel", "remove"])
@pytest.mark.parametrize("step", [{}, {"for_each": 1}])
def test_force_reaches_a_sub_flow_that_is_undone(rig, flows, word, step):
    ident, run, inner = sub_flow_that_can_be_undone(rig, flows, **step)
    flows.flow("cancel", run)
    undo = flows.call()
    assert undo.flow["undo"]
    flows.fail(undo)
    wait_until(lambda: "its undo has failed" in flows.show(inner)["steps"][0].get("why", ""), "it is parked")
    assert rig.client.refused("cancel", ident)
    if word == "cancel":
        flows.flow("cancel", run, "force")
    else:
        rig.client.done("remove", ident)
    flows.until(inner, "cancelled")
    flows.until(run, "cancelled")
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "no plan is left")


def test_remove_of_a_flow_plan_undoes_nothing_in_sub_flows(rig, flows):
    ident, run, inner = sub_flow_that_can_be_undone(rig, flows)
    rig.client.done("remove", ident)
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    flows.until(inner, "cancelled")
    flows.until(run, "cancelled")
    flows.nothing()


@pytest.mark.parametrize("killed", [False, True])
def test_a_sub_run_that_has_two_flow_plans_has_one_outcome(rig, flows, killed):
    """A command retried it, and then the run above: the plan that the command placed for it goes."""
    flows.put("inner", {"y": {"signal": {}}})
    flows.put("outer", {"in": {"target": "inner", "json": {}}, "z": call(["in"])})
    run = flows.run_of(flows.start("outer"), "outer")
    inner = wait_until(lambda: flows.show(run)["steps"][0].get("run"), "the sub-run has begun")
    flows.flow("reject", inner, "y", "no")
    flows.until(run, "failed")
    numbers = [int(run, 16), int(inner, 16)]

    def of_inner():
        return [plan for plan in rig.client.done("list", {"station": "inner"}).json["plans"] if plan["flow_run"] in numbers]
    flows.flow("retry", inner)
    wait_until(lambda: of_inner()[0]["plan_state"] == EXECUTE, "its plan was claimed")
    flows.flow("retry", run)
    if killed:
        rig.station.kill()
        rig.station.start()
        rig.client = flows.client = rig.dealer()
    wait_until(lambda: not of_inner(), "the plan that the command placed is gone")
    assert flows.show(inner)["state"] == "running" and flows.states(run)["in"] == "running"
    flows.flow("signal", inner, "y")
    flows.next("z")
    flows.until(run, "finished")
    wait_until(lambda: not rig.db.keys("plan:msg:*"), "no plan is left")
    assert [one["status"] for one in history(rig) if one["station"] == "inner" and one["flow_run"] in numbers] == [ST.FAILED, ST.OK]


def test_an_undo_waits_for_a_sub_run_that_a_command_has_reset(rig, flows):
    flows.put("inner", {"x": call(undo=UNDO)})
    flows.put("outer", {"in": {"target": "inner", "json": {}, "undo": "inner"}, "pay": call(["in"])})
    run = flows.run_of(flows.start("outer"), "outer")
    inner = flows.next("x").flow["run"]
    pay = flows.call()
    flows.flow("retry", inner, '{"steps": ["x"]}')
    again = flows.call()
    assert again.step == "x" and not again.flow["undo"]
    flows.fail(pay)
    flows.until(run, "undoing")
    flows.done(again)
    undo = flows.call()
    assert undo.step == "x" and undo.flow["undo"] and undo.flow["generation"] == 1
    assert flows.show(run)["state"] == "undoing"
    flows.done(undo)
    flows.until(run, "failed")


@pytest.mark.parametrize("word", ["remove", "close", "cancel"])
def test_the_end_of_a_step_by_a_person_cancels_the_step(rig, flows, word):
    _, first = begun(flows)
    rig.client.done(word, first.ident)
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    shown = flows.until(first.flow["run"], "failed")
    assert shown["steps"][0]["state"] == "cancelled" and shown["failed"] == ["a"]
    rig.gone(first.ident)


def test_a_step_that_waits_can_be_removed(rig, flows):
    flows.put("pair", {"a": call(target="news"), "b": call([{"step": "a", "on": "ended"}])})
    rig.client.done("limit", "set", "station:news", {"rate": 0.001, "burst": 1})
    rig.client.added({"description": "first", "plan_type": 0}, station="news")
    rig.news.answer(rig.news.recv(), ST.OK)
    ident = flows.start("pair")
    run = flows.run_of(ident, "pair")
    step = wait_until(lambda: flows.show(run)["steps"][0].get("plan"), "the step is placed")
    rig.client.done("remove", step)
    flows.next("b")
    assert flows.until(run, "failed")["steps"][0]["state"] == "cancelled"


def test_a_pause_leaves_the_run_alone(rig, flows):
    """B104: The plan is paused when its run has ended."""
    flows.put("pair", {"a": call(), "b": call(["a"])})
    ident = rig.client.added(every(1, 5, description="pair"), station="pair", head=[])
    first = flows.call()
    rig.client.done("pause", ident)
    flows.done(first)
    flows.next("b")
    flows.until(first.flow["run"], "finished")
    plan = wait_until(lambda: (rig.message(ident, "pair") or {}).get("real_repet") and rig.message(ident, "pair"),
                      "the run has counted")
    assert plan["plan_state"] == PAUSE
    flows.nothing(1.5)
    rig.client.done("reset", ident)
    flows.next("a")


def test_a_pending_step_goes_on_when_it_is_done(rig, flows):
    flows.put("pair", {"a": call(retry={"strategy": "none", "need_manual": True}), "b": call(["a"])})
    flows.start("pair")
    first = flows.call()
    flows.fail(first)
    wait_until(lambda: (rig.message(first.ident) or {}).get("verdict") == 2, "it is pending")
    flows.nothing()
    rig.client.done("done", first.ident, "by hand")
    flows.next("b")
    flows.until(first.flow["run"], "finished")


def test_a_step_cannot_be_updated(rig, flows):
    _, first = begun(flows)
    assert "a call of a flow" in rig.client.refused("update", first.ident, {"description": "other"})


def delete_by_hand(rig, key):
    """A plan, by the key of its message, while no station is there."""
    _, _, station, ident = key.split(":")
    rig.db.delete(key)
    rig.db.zrem("plan:time:set", key)
    rig.db.zrem("plan:ids", f"{int(ident, 16):016x}:{station}")


def test_a_call_whose_plan_is_lost_has_failed(rig, flows):
    """Somebody deletes the plan of a call; the next look at the run finds that."""
    flows.put("pair", {"a": call(target="news", command="x"), "b": call([{"step": "a", "on": "ended"}])})
    rig.news.close()
    ident = flows.start("pair")
    run = flows.run_of(ident, "pair")
    step = wait_until(lambda: flows.show(run)["steps"][0].get("plan"), "the step is placed")
    wait_until(lambda: not rig.db.hexists("plan:run", rig.key(step, "news")), "it was put back")
    rig.station.stop()
    delete_by_hand(rig, rig.key(step, "news"))
    rig.station.start()
    rig.due_now(ident, "pair")
    flows.next("b")
    assert flows.until(run, "failed")["steps"][0]["error"] == "its plan was lost"


def looked_at(rig, ident, name, reached):
    """Its run is looked at until this is reached."""
    def again():
        rig.db.zadd("plan:time:set", {rig.key(ident, name): int(time.time())}, xx=True)
        return reached()
    wait_until(again, "the run goes on", 60)


def test_a_wait_whose_timer_is_lost_ends(rig, flows):
    flows.put("slow", {"w": {"wait": 1}, "b": call(["w"])})
    ident = flows.start("slow")
    run = flows.run_of(ident, "slow")
    wait_until(lambda: flows.states(run)["w"] == "running", "it waits")
    rig.station.stop()
    timer, = [key.decode() for key in rig.db.keys("plan:msg:slow:*") if ident not in key.decode()]
    delete_by_hand(rig, timer)
    rig.station.start()
    looked_at(rig, ident, "slow", lambda: rig.jobs.socket.poll(200))
    flows.next("b")
    flows.until(run, "finished")


def test_an_undo_whose_plan_is_lost_has_failed(rig, flows):
    flows.put("trip", {"hotel": call(undo={"target": "news", "command": "free"}), "pay": call(["hotel"])})
    rig.news.close()
    ident = flows.start("trip")
    run = flows.next("hotel").flow["run"]
    flows.fail(flows.call())
    undo, = wait_until(lambda: rig.db.keys("plan:msg:news:*"), "the undo is placed")
    wait_until(lambda: not rig.db.hexists("plan:run", undo), "it was put back")
    rig.station.stop()
    delete_by_hand(rig, undo.decode())
    rig.station.start()
    looked_at(rig, ident, "trip", lambda: "its undo has failed" in flows.show(run)["steps"][0].get("why", ""))
    assert rig.client.manage("done", f"{run}/hotel").code == ST.OK
    flows.until(run, "failed")


def test_an_undo_of_a_sub_flow_whose_plan_is_lost_has_failed(rig, flows):
    flows.put("inner", {"x": call(undo={"target": "jobs", "command": "free"})})
    flows.put("outer", {"sub": {"target": "inner", "undo": "inner"}, "pay": call(["sub"])})
    ident = flows.start("outer")
    flows.next("x")
    pay = flows.call()
    flows.fail(pay)
    undo = flows.call()
    assert undo.step == "x" and undo.flow["undo"]
    rig.station.stop()
    plan, = rig.db.keys("plan:msg:inner:*")
    delete_by_hand(rig, plan.decode())
    rig.db.hdel("plan:run", plan)
    rig.station.start()
    run = pay.flow["run"]
    looked_at(rig, ident, "outer", lambda: "its undo has failed" in flows.show(run)["steps"][0].get("why", ""))


def test_the_time_of_a_flow_is_over(rig, flows):
    flows.put("slow", {"a": call(), "b": call(["a"])}, timeout=1)
    news = rig.subscribe("slow")
    start = time.time()
    flows.start("slow")
    first = flows.call()
    flows.jobs.answer(first.run, ST.RUNING)
    assert flows.jobs.recv().code == CMD.CLOSE_REQUEST
    assert time.time() - start > 0.9
    shown = flows.until(first.flow["run"], "timeout")
    assert shown["error"] == "the timeout of the run expired"
    outcome = news.recv()
    while outcome.before[0] != b"slow":
        outcome = news.recv()
    assert outcome.code == ST.TIMEOUT
