"""Fixtures of the system tests: a rig per module where nothing fires, else one per test.

Run with `python3 -m pytest tests/system`, faster with `-n 4`. Environment: ZPLAN_BIN_DIR, where
zpland is (default: build); ZPLAN_TEST_WAIT, seconds to wait for what must happen (20);
ZPLAN_TEST_RSS_MIB, how much the station may grow under noise (64; sanitizers need 500).
"""
import pathlib
import shutil
import tempfile

import pytest

from microzero import FakeCenter
from zplanprocs import Zpland, wait_until
from zplantest import Rig


def rigs():
    """A function that makes started rigs, and closes them all when the generator goes on."""
    made = []

    def make(*args, start=True, kind=Rig, **options):
        made.append(kind(*args, **options))
        return made[-1].start() if start else made[-1]
    yield make
    failures = []
    for rig in reversed(made):
        try:
            rig.close()
        except AssertionError as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


@pytest.fixture
def make_rig():
    yield from rigs()


@pytest.fixture
def rig(make_rig):
    return make_rig()


@pytest.fixture(scope="module")
def make_shared():
    yield from rigs()


@pytest.fixture(scope="module")
def shared_rig(make_shared):
    rig = make_shared()
    # It is ready a moment before: a test that compares all keys would see it come.
    wait_until(lambda: rig.db.hexists("plan:meta", "store"), "the station has marked its data")
    return rig


@pytest.fixture
def shared(shared_rig):
    """One rig for a whole module, for tests that let nothing fire; the client is the test's own."""
    shared_rig.client = shared_rig.dealer()
    yield shared_rig
    shared_rig.client.close()


@pytest.fixture
def make_center():
    """A function that makes MicroZero centers: of which generation, and station=type."""
    made = []

    def make(flavour, **stations):
        made.append(FakeCenter(flavour, **stations))
        return made[-1]
    yield make
    for center in made:
        center.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for station in Zpland.running:
            report.sections.append((f"log of zpland {station.pid}", station.log_tail()))
        for name, value in getattr(item, "funcargs", {}).items():
            if hasattr(value, "at_failure"):
                report.sections.append((name, value.at_failure()))


@pytest.fixture
def newcomer(request):
    """Who types the commands of one chapter of a document (readmetest.py)."""
    from readmetest import Newcomer     # reads the documents, which other tests do not need
    folder = pathlib.Path(tempfile.mkdtemp(prefix="zr", dir="/tmp"))    # a socket's path is short
    made = Newcomer(folder, *request.param)
    try:
        yield made
        assert not made.left, f"not run: {made.left}"
        assert not made.texts, f"not taken: {made.texts}"
    finally:
        try:
            made.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
