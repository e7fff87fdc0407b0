"""libzplan, as others use it: installed, found by pkg-config, and linked with programs that know
nothing but its headers."""
import os
import re
import subprocess

import pytest

from zplanprocs import BIN_DIR, REPO, WAIT, wait_until
from zplantest import ST, at_once

HEADERS = sorted(name for name in os.listdir(os.path.join(REPO, "include")) if name.endswith(".h"))
PROGRAMS = os.path.join(REPO, "tests", "library")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
BUILD = next(path for path in (BIN_DIR, os.path.join(BIN_DIR, ".."))
             if os.path.exists(os.path.join(path, "build.ninja")))
EXAMPLE = re.compile(r"^// ---- example: (\w+)\n(.*?)^// ---- end$", re.M | re.S)


def run(*args, env=None, **options):
    """Standard output; what fails says all it had to say."""
    ended = subprocess.run(args, env={**os.environ, **(env or {})}, capture_output=True, text=True,
                           timeout=6 * WAIT, **options)
    assert ended.returncode == 0, f"{args}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


class Installation:
    """What `meson install` puts into a folder, and programs that are built with nothing else."""

    def __init__(self, folder, build):
        self.folder = folder
        run("meson", "install", "-C", build, "--no-rebuild", "--destdir", folder)
        found = run("find", folder, "-name", "zplan.pc").split()
        assert len(found) == 1
        self.pkgconfig = os.path.dirname(found[0])
        self.libdir = os.path.dirname(self.pkgconfig)
        prefix = re.search(r"^prefix=(.*)$", open(found[0]).read(), re.M).group(1)
        self.prefix = folder + prefix
        needed = run("readelf", "-d", self.shared)
        # A sanitized library wants its runtime first in the program.
        self.sanitize = ["-fsanitize=address,undefined"] if "libasan" in needed else []

    @property
    def shared(self):
        return os.path.join(self.libdir, "libzplan.so.0")

    @property
    def static(self):
        return os.path.join(self.libdir, "libzplan.a")

    def flags(self, *args):
        return run("pkg-config", "--define-variable=prefix=" + self.prefix, *args, "zplan",
                   env={"PKG_CONFIG_PATH": self.pkgconfig}).split()

    def build(self, source, name, static=False):
        program = os.path.join(self.folder, name)
        # Debian's libzmq has no static library that links: only ours is one here.
        libs = [self.static, "-lzmq", "-ljansson"] if static else self.flags("--libs")
        run("cc", *STRICT, "-D_GNU_SOURCE", "-g", *self.sanitize, *self.flags("--cflags"),
            "-o", program, source, *libs, "-Wl,-rpath," + self.libdir)
        return program

    def program(self, name, **options):
        return self.build(os.path.join(PROGRAMS, name + ".c"), name, **options)

    def example(self, name):
        source = os.path.join(self.folder, f"example_{name}.c")
        with open(source, "w") as file:
            file.write(examples()[name])
        return self.build(source, "example_" + name)


def examples():
    """name: C text, of every example that stands in a header."""
    found = {}
    for header in HEADERS:
        with open(os.path.join(REPO, "include", header)) as file:
            for name, body in EXAMPLE.findall(file.read()):
                assert name not in found
                found[name] = "".join(re.sub(r"^//( {5})?", "", line) + "\n"
                                      for line in body.splitlines())
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installation(str(tmp_path_factory.mktemp("installed")), BUILD)


# -- what is installed

def symbols(path, *args):
    """(name, version) of what the library defines for others."""
    lines = run("nm", "--defined-only", *args, path).splitlines()
    names = [line.split()[-1] for line in lines if len(line.split()) == 3 and " A " not in line]
    return {tuple((name + "@@").split("@@")[:2]) for name in names}


def test_nothing_but_zplan_names_is_visible(installed):
    shared = symbols(installed.shared, "-D")
    assert ("zplan_client_new", "ZPLAN_0") in shared and ("zplan_worker_new", "ZPLAN_0") in shared
    assert all(name.startswith("zplan_") and version == "ZPLAN_0" for name, version in shared)
    static = {name for name, _ in symbols(installed.static, "-g")}
    assert static == {name for name, _ in shared}


def test_every_declared_call_is_there_and_no_other(installed):
    declared = set()
    for header in HEADERS:
        with open(os.path.join(REPO, "include", header)) as file:
            text = re.sub(r"//.*|typedef [^;]*;", "", file.read())
        declared |= set(re.findall(r"\b(zplan_\w+) \(", text))
    assert declared == {name for name, _ in symbols(installed.shared, "-D")}


def test_it_needs_libzmq_and_jansson_only(installed):
    needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", run("readelf", "-d", installed.shared)))
    assert {"libzmq", "libjansson"} <= needed
    assert needed <= {"libzmq", "libjansson", "libc", "ld-linux-x86-64", "ld-linux-aarch64",
                      "libasan", "libubsan"}
    static = installed.flags("--static", "--libs")
    assert {"-lzplan", "-lzmq", "-ljansson"} <= set(static)
    assert not {"-lczmq", "-lhiredis", "-lmsgpackc"} & set(static)


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("compiler", [["cc", *STRICT], ["g++", "-std=c++11", *STRICT[1:]]],
                         ids=["c", "c++"])
def test_each_header_can_be_included_alone(installed, compiler, header, tmp_path):
    source = tmp_path / ("one.c" if compiler[0] == "cc" else "one.cc")
    source.write_text(f"#include <{header}>\n#include <{header}>\nint main (void) {{ return 0; }}\n")
    run(*compiler, *installed.flags("--cflags"), "-fsyntax-only", str(source))


def test_a_cplusplus_program_links(installed, tmp_path):
    source = tmp_path / "program.cc"
    source.write_text("#include <zplan.h>\n#include <cstring>\nint main () {"
                      " return std::strcmp (zplan_error_text (ZPLAN_OK), \"done\"); }\n")
    program = str(tmp_path / "program")
    run("g++", "-std=c++11", *installed.sanitize, *installed.flags("--cflags"), "-o", program,
        str(source), *installed.flags("--libs"), "-Wl,-rpath," + installed.libdir)
    run(program)


# -- the examples of the headers

def test_example_submit(installed, rig):
    said = run(installed.example("submit"), rig.ipc("q"))
    ident = re.fullmatch(r"plan ([0-9a-f]+)\n", said).group(1)
    plan = rig.client.done("message", ident).json
    assert (plan["description"], plan["plan_value"], plan["plan_repet"]) == ("weekly report", 1, 10)


def test_example_loop(installed, rig):
    said = run(installed.example("loop"), rig.ipc("q")).splitlines()
    assert sorted(said) == ["list: +ok", "stats: +ok"]


def test_example_results(installed, rig):
    program = subprocess.Popen([installed.example("results"), rig.ipc("p")], text=True,
                               stdout=subprocess.PIPE)
    idents = []

    def heard():
        idents.append(rig.client.added(at_once(), station="news"))
        rig.news.answer(rig.news.recv(), ST.OK)
        return program.poll() is not None
    wait_until(heard, "the program hears a result")
    said = re.fullmatch(r"plan ([0-9a-f]+): status 1\n", program.stdout.read())
    assert program.returncode == 0 and said.group(1) in idents


def test_no_example_goes_untested():
    with open(__file__) as file:
        tested = set(re.findall(r"def test_example_(\w+)", file.read()))
    assert {name for name in examples() if not name.startswith("worker")} == tested


# -- programs

def test_the_plan_builder_judges_at_once(installed):
    run(installed.program("setters"))


def test_the_static_library_alone_will_do(installed):
    program = installed.build(os.path.join(PROGRAMS, "setters.c"), "setters_static", static=True)
    assert "libzplan" not in run("readelf", "-d", program)
    run(program)


def test_a_loop_of_ones_own_with_a_thousand_under_way(installed, rig):
    assert run(installed.program("loop"), rig.ipc("q"), "3000") == "3000 3000\n"


def test_a_silent_station(installed, tmp_path):
    run(installed.program("silence"), f"ipc://{tmp_path}/nobody")


def test_two_clients_in_two_threads(installed, rig):
    said = run(installed.program("threads"), rig.ipc("q"))
    assert sorted(said.split()) == ["lemons", "melons"]


def test_a_station_that_goes_and_comes_back(installed, rig):
    with subprocess.Popen([installed.program("station_goes"), rig.ipc("q")], text=True, bufsize=1,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        def ask(timeout_ms):
            program.stdin.write(f"{timeout_ms}\n")
            return program.stdout.readline()
        try:
            assert ask(60000) == "done\n"
            rig.station.stop()
            assert ask(300) == "no answer within the time-out\n"
            rig.station.start()
            assert ask(60000) == "done\n"
            program.stdin.close()
            assert program.wait(WAIT) == 0
        finally:
            program.kill()


def test_no_allocation_that_fails_ends_the_program(tmp_path, rig):
    """The sanitizers have an allocator of their own, so this is of the plain build."""
    plain = Installation(str(tmp_path / "plain"), os.path.join(REPO, "build"))
    assert not plain.sanitize
    shim = str(tmp_path / "malloc_shim.so")
    run("cc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", shim,
        os.path.join(PROGRAMS, "malloc_shim.c"))
    program = plain.program("memory")
    number = 0
    while True:
        number += 1
        said = run(program, rig.ipc("q"),
                   env={"LD_PRELOAD": shim, "ZPLAN_TEST_MALLOC": str(number)})
        if said == "0\n":
            break
        assert said == "1\n"
    assert number > 50     # the shim did count
