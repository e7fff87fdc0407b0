"""A former owner that is alive forwards what its targets still send to the new owner, for ten seconds."""
import pytest

from curvetest import CurveRig
from faulttest import Pair, connected, freeze, is_whole, logged, outcomes, resend, thaw, twice
from redissteps import of_plan
from zplantest import FT, ST, FakeTarget, wait_until

# Longer than a test: nothing but a result ends a run.
LONG = ("--exec-timeout", "60", "--send-timeout", "60000", "--doubt-timeout", "60")


@pytest.fixture
def make_pair(make_rig):
    made = []

    def make(before=None, **options):
        rig = make_rig(*LONG, start=False, **options)
        if before:
            before(rig)
        pair = Pair(rig)
        made.append(pair)
        rig.start()
        return pair.start()
    yield make
    for pair in made:
        pair.close()


def hands_over(pair, to=1):
    wait_until(lambda: pair.rig.client.done("health").json["attending"] >= 2, "they know of each other")
    pair.rig.client.done("handover")
    pair.takes_over(to)
    pair.steps_down(1 - to)


def runs_of(rig):
    """Runs in flight, by plan: one that the owner has heard of, and one that it has not."""
    runs = {}
    for heard in (True, False):
        ident = rig.client.added(twice())
        runs[ident] = of_plan(rig, ident)
        if heard:
            rig.jobs.answer(runs[ident], ST.RUNING)
            rig.state(ident, ST.RUNING)
    return runs


def finish(rig, runs, content=b"good"):
    for run in runs.values():
        rig.jobs.finish(run, ST.OK, [(FT.CONTENT, content)])


def counted(rig, runs, content=b"good"):
    """Each run has ended well at the owner, once, with its frames."""
    for ident, run in runs.items():
        rig.repet(ident, 1)
        assert content in rig.work(ident)["jobs"]
        assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]
    rig.jobs.nothing(0.3)
    is_whole(rig)


def test_results_on_the_connection_of_a_former_owner(make_pair):
    pair = make_pair()
    runs = runs_of(pair.rig)
    hands_over(pair)
    finish(pair.rig, runs)
    counted(pair.rig, runs)
    assert logged(pair.stations[0], "forward.begin")


def test_results_that_are_sent_before_there_is_a_new_owner(make_pair):
    """They wait at the former one, which was stopped, and is no owner when it reads them."""
    pair = make_pair()
    runs = runs_of(pair.rig)
    freeze(pair.stations[0])
    finish(pair.rig, runs)
    pair.takes_over()
    thaw(pair.stations[0])
    pair.steps_down()
    counted(pair.rig, runs)


def test_stats_and_health_say_who_the_owner_is(make_pair):
    pair = make_pair()
    before = pair.rig.client.done("stats").json
    hands_over(pair)
    wait_until(lambda: pair.rig.client.done("stats").json["attending"] >= 2, "they know of each other")
    health, stats = [pair.rig.client.done(word).json for word in ("health", "stats")]
    for answer in health, stats:
        assert answer["owner"] == pair.rig.db.hget("plan:owner", "name").decode() != before["owner"]
        assert answer["owner_since"] >= before["owner_since"] > 1700000000 and answer["standbys"] >= 1


def test_heartbeats_are_forwarded(make_pair):
    pair = make_pair()
    runs = runs_of(pair.rig)
    hands_over(pair)
    for ident, run in runs.items():
        pair.rig.jobs.answer(run, ST.RUNING, [(FT.LOCAL_ID, run.local_id)])
        pair.rig.state(ident, ST.RUNING)
    finish(pair.rig, runs)
    counted(pair.rig, runs)


def test_results_in_the_request_socket_of_a_former_owner(make_pair):
    """They wait there while it is stopped."""
    pair = make_pair()
    rig = pair.rig
    runs, worker = runs_of(rig), rig.client
    freeze(pair.stations[0])
    for ident, run in runs.items():
        worker.result(ident, ST.OK, [(FT.LOCAL_ID, run.local_id), (FT.CONTENT, b"good")])
    pair.takes_over()
    thaw(pair.stations[0])
    pair.steps_down()
    counted(rig, runs)


def test_handed_over_to_and_fro(make_pair):
    """Results of runs of the first owner on its old connection, when it is the owner again; and what is late."""
    pair = make_pair()
    rig = pair.rig
    runs = runs_of(rig)
    hands_over(pair)
    hands_over(pair, to=0)
    wait_until(lambda: rig.ipc("q") + " " in logged(pair.stations[0], "forward.begin")[-1], "it knows the new owner")
    finish(rig, runs)
    counted(rig, runs)
    finish(rig, runs, b"again")
    for ident, run in runs.items():
        resend(rig, ident, run)
        assert outcomes(rig, ident) == [(ST.OK, run.exec_id)]


def test_it_ends(make_pair):
    """After ten seconds the former owner is connected with no target any more."""
    pair = make_pair()
    rig = pair.rig
    runs = runs_of(rig)
    hands_over(pair)
    finish(rig, runs)
    wait_until(lambda: logged(pair.stations[0], "forward.end"), "it ends", 30)
    (line,) = logged(pair.stations[0], "forward.end")
    assert line.rstrip().endswith("passed=4 dropped=0")
    counted(rig, runs)


def test_it_stops_while_it_forwards(make_pair):
    pair = make_pair()
    rig = pair.rig
    runs = runs_of(rig)
    hands_over(pair)
    finish(rig, runs)
    counted(rig, runs)
    pair.stations[0].stop()


@pytest.mark.parametrize("allowed", [True, False])
def test_with_curve_its_key_needs_the_role_result(make_pair, allowed):
    """Both stations have one certificate."""
    def before(rig):
        rig.allow("stations", "result" if allowed else "observe", keys=rig.server)

    pair = make_pair(before, kind=CurveRig)
    rig = pair.rig
    runs = runs_of(rig)
    hands_over(pair)
    finish(rig, runs)
    if allowed:
        counted(rig, runs)
        return
    wait_until(lambda: rig.client.done("stats").json["counters"]["denied_results"] >= 4, "they are denied")
    for ident in runs:
        assert rig.message(ident)["real_repet"] == 0
