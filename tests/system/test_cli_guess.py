"""What people type: other names of verbs, help and version, and what is done already."""
import pytest

from clitest import REFUSED, USAGE, both, objects, zplan

assert both     # a fixture


@pytest.mark.parametrize("typed, meant", [
    ("rm", "remove"), ("del", "remove"), ("delete", "remove"), ("trigger", "run"),
    ("kill", "cancel"), ("retry", "reset"), ("enable", "resume"), ("disable", "pause"),
    ("info", "show"), ("ls", "list"), ("ps", "list"), ("station", "target")])
def test_another_name_of_a_verb(typed, meant):
    usage = zplan(meant, "--help").done()
    assert usage.startswith(f"Usage: zplan {meant}")
    assert zplan(typed, "--help").done() == usage == zplan("help", typed).done()


def test_help_and_version():
    assert zplan("help").done() == zplan("--help").done()
    assert zplan("version").done() == zplan("--version").done()
    assert "unknown command 'frob'" in zplan("help", "frob").failed(USAGE)


@pytest.mark.parametrize("typed, hint", [
    ("delte", "delete"), ("rsume", "resume"), ("hlep", "help"), ("enalbe", "enable")])
def test_did_you_mean_another_name(typed, hint):
    assert f"did you mean {hint}?" in zplan(typed, "1f").failed(USAGE)


def test_stop_names_both_that_it_may_mean():
    told = zplan("stop", "1f").failed(USAGE)
    assert "zplan pause" in told and "zplan cancel" in told
    assert "run in progress" in told


@pytest.mark.parametrize("verb, wire, done, state", [
    ("pause", "pause", "paused", "paused"),
    ("disable", "pause", "paused", "paused"), ("resume", "reset", "resumed", "queued"),
    ("enable", "reset", "resumed", "queued"), ("reset", "reset", "reset", "queued")])
def test_what_is_done_already_is_a_success(both, verb, wire, done, state):
    one = both.add()
    if state == "queued":
        assert both.zplan(verb, one).done() == f"plan {one} already queued\n"
        both.zplan("pause", one).done()
    assert both.zplan(verb, one).done() == f"plan {one} {done}\n"
    assert both.zplan(verb, one).done() == f"plan {one} already {state}\n"
    assert objects(both.zplan(verb, one, "--json")) == [{"id": one, "already": wire}]
    assert "no plan" in both.zplan(verb, "7777").failed(REFUSED)


def test_closing_what_is_closed_is_a_success(both):
    one = both.add()
    assert both.zplan("close", one).done() == both.zplan("close", one).done() == f"plan {one} closed\n"


def test_what_cannot_be_is_refused_still(both):
    one = both.add()
    both.zplan("close", one).done()
    assert "state" in both.zplan("pause", one).failed(REFUSED)
    assert "state" in both.zplan("resume", one).failed(REFUSED)
