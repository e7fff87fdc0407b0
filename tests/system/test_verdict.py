"""tests/verdict: how a run of tests/run is judged."""
import os
import shutil
import subprocess

import pytest

VERDICT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "verdict")
EXPECTED = "test_that_stalls"
FLAKY = f"# PATTERN DATE REASON\ntests/system/test_zstationd.py::{EXPECTED}*  2026-11-23  stalls\n"


def junit(**tests):
    """A JUnit file: name = "", or "failure", "error", "skipped"."""
    rows = (f'<testcase classname="tests.system.test_zstationd" name="{name}">'
            + (f"<{ended}>the log of {name}</{ended}>" if ended else "") + "</testcase>"
            for name, ended in tests.items())
    return "<testsuites><testsuite>" + "".join(rows) + "</testsuite></testsuites>"


@pytest.fixture
def verdict(tmp_path):
    """tests/verdict beside a list of its own."""
    program = shutil.copy(VERDICT, tmp_path)
    (tmp_path / "flaky.txt").write_text(FLAKY)

    def judge(*names, **files):
        for name, content in files.items():
            (tmp_path / name.replace("_", ".")).write_text(content)
        done = subprocess.run([program, str(tmp_path), *names], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout.splitlines()
    return judge


@pytest.mark.parametrize("files, names, status, last", [
    ({"unit_tap": "1..2\nok 1\nok 2\n", "sanitized_xml": junit(a="", b="skipped")}, ["sanitized"], 0,
     "3 passed, 0 failed, 1 skipped"),
    ({"unit_tap": "ok 1\nnot ok 2 - b\n"}, [], 1, "1 passed, 1 failed"),
    ({"sanitized_xml": junit(a="", b="failure")}, ["sanitized"], 1, "1 passed, 1 failed"),
    ({"unit_tap": "ok 1\n"}, ["sanitized"], 1, "1 passed, 1 failed"),                  # no file of its tests
    ({"sanitized_xml": "<test"}, ["sanitized"], 1, "0 passed, 1 failed"),
    ({}, [], 1, "0 passed, 0 failed"),
    # What failed twice has failed; an error stays one.
    ({"sanitized_xml": junit(b="failure"), "sanitized_again_xml": junit(b="failure")}, ["sanitized"], 1, "0 passed, 1 failed"),
    ({"sanitized_xml": junit(b="error"), "sanitized_again_xml": junit(b="")}, ["sanitized"], 1, "0 passed, 1 failed"),
])
def test_the_count(verdict, files, names, status, last):
    ended, lines = verdict(*names, **files)
    assert (ended, lines[-1]) == (status, last)


def test_a_flaky_test_fails_the_run_and_its_log_is_shown(verdict):
    ended, lines = verdict("sanitized", sanitized_xml=junit(a="", odd="failure"), sanitized_again_xml=junit(odd=""))
    assert ended == 1 and lines[-1] == "1 passed, 1 failed"
    assert "the log of odd" in lines
    assert lines[-2] == "flaky: tests/system/test_zstationd.py::odd"


def test_an_expected_flaky_test_passes_and_is_named(verdict):
    ended, lines = verdict("sanitized", sanitized_xml=junit(**{EXPECTED: "failure"}), sanitized_again_xml=junit(**{EXPECTED: ""}))
    assert ended == 0 and lines[-1] == "1 passed, 0 failed"
    assert any(line.startswith("expected since 2026-11-23: ") for line in lines)
    assert lines[-2] == f"flaky: tests/system/test_zstationd.py::{EXPECTED}"
