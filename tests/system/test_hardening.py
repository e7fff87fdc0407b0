"""How the programs are built: what a debugger would look for first, asked of the files themselves."""
import os
import pathlib
import re
import subprocess

import pytest

from zplanprocs import REPO

PLAIN = pathlib.Path(os.environ.get("ZPLAN_PLAIN_DIR", os.path.join(REPO, "build", "src")))
PROGRAMS = ["zpland", "zstationd", "zplan"]


def readelf(name, *options):
    return subprocess.run(["readelf", "-W", *options, PLAIN / name], check=True, text=True,
                          capture_output=True).stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_lies_at_another_address_each_time(name):
    assert re.search(r"Type:\s+DYN \(Position-Independent Executable", readelf(name, "-h"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_relocations_are_done_at_the_start_and_then_read_only(name):
    assert "GNU_RELRO" in readelf(name, "-l")
    assert re.search(r"\(FLAGS_1\).*NOW", readelf(name, "-d"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_writable_and_executable(name):
    segments = [line.split() for line in readelf(name, "-l").splitlines()
                if re.match(r"\s+(LOAD|GNU_STACK)\s", line)]
    assert len(segments) > 2
    for segment in segments:
        flags = "".join(word for word in segment[6:-1])
        assert not ("W" in flags and "E" in flags), segment


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_stack_is_watched_and_copies_are_checked(name):
    symbols = readelf(name, "--dyn-syms")
    assert "__stack_chk_fail" in symbols
    assert re.search(r"__(v?snprintf|v?fprintf|memcpy|printf)_chk", symbols)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_path_of_libraries_is_built_in(name):
    dynamic = readelf(name, "-d")
    for line in dynamic.splitlines():
        assert not re.search(r"\((RPATH|RUNPATH)\)", line), line


def test_no_shell_is_ever_asked():
    for source in pathlib.Path(REPO, "src").rglob("*.c"):
        text = source.read_text(encoding="utf-8")
        assert not re.search(r"\b(system|popen|wordexp)\s*\(", text), source
