"""libzplan's worker that fetches plans of a pull target: handlers in C, and no zstationd."""
import pytest

from pulltest import STATION, with_pile
from test_library import installed  # noqa: F401 a fixture
from test_library_worker import Program
from test_work_pull import add, at_once, outcome
from zplantest import FT, ST


@pytest.fixture
def rig(make_rig):
    return with_pile(make_rig)


def test_handlers_serve_a_pull_target(installed, rig):      # noqa: F811
    results = rig.subscribe(b"greeting")
    one = Program(installed.program("pull"), rig.ipc("q"), STATION)
    try:
        ident = add(rig, (FT.ARG, b"world"), command=b"greet", plan=at_once(description="greeting"))
        news = results.recv()
        assert (news.code, news.every(FT.CONTENT)[-1]) == (ST.OK, f"hello world of {ident} at 1".encode())
        assert "not valid, or too large" in outcome(rig, add(rig, command=b"large"))["reason"]
        assert "not valid, or too large" in outcome(rig, add(rig, command=b"deep"))["reason"]
        assert "no handler for the command 'other'" in outcome(rig, add(rig, command=b"other"))["reason"]
        ident = add(rig, command=b"keep")
        assert one.line() == "kept"
        rig.client.done("cancel", ident)
        assert one.line().startswith("cancelled: ")
        assert one.end() == ["left"]
    finally:
        one.process.kill()
        one.process.wait()
