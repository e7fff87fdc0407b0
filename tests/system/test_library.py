"""libzplan, as others use it: installed, found by pkg-config, and linked with programs that know
nothing but its headers."""
import concurrent.futures
import itertools
import json
import os
import re
import subprocess

import pytest
import zmq

from clitest import FakeStation, reply
from zplanprocs import BIN_DIR, REPO, WAIT, wait_until
from zplantest import ST, at_once, describe, later

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
    program = subprocess.Popen([installed.example("results"), rig.ipc("p"), rig.ipc("q")],
                               text=True, stdout=subprocess.PIPE)
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


def test_a_connection_goes_only_with_what_may_still_be_in_it(installed):
    peers = []

    class Station(FakeStation):
        def serve(self):        # as its parent, and notes who asked
            send = self.router.send_multipart
            self.router.send_multipart = lambda frames: (peers.append(frames[0]), send(frames))
            super().serve()
    with Station(lambda request: [] if b"stats" in request else [reply(request, 1)]) as station:
        run(installed.program("late"), station.endpoint)
    # list, list and ping over one connection, the last ping over another.
    assert len(peers) == 4 and peers[0] == peers[1] == peers[2] != peers[3]


def test_answers_that_wait_are_not_late(installed):
    """Unless very much else stands before them: that could go on for ever."""
    junk = [[b"\x00\x01\x00"]] * 5000
    with FakeStation(lambda request: (junk if b"stats" in request else []) + [
            reply(request, 1)]) as station:
        busy = subprocess.Popen([installed.program("busy"), station.endpoint], text=True,
                                stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            for count in (300, 600, 602):    # with the call that waits
                wait_until(lambda: station.seen.qsize() == count, "all requests have come")
                busy.stdin.write("answered\n")
                busy.stdin.flush()
            assert busy.communicate(timeout=WAIT) == (None, "") and busy.returncode == 0
        finally:
            busy.kill()
            busy.communicate()


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
            assert ask(300) == "no answer within the timeout\n"
            rig.station.start()
            assert ask(60000) == "done\n"
            program.stdin.close()
            assert program.wait(WAIT) == 0
        finally:
            program.kill()


def fire(rig, title):
    """A plan that has run: its id."""
    ident = rig.client.added(at_once(description=title), station="news")
    rig.news.answer(rig.news.recv(), ST.OK)
    rig.gone(ident, station="news")
    return ident


def test_a_subscriber_that_misses_nothing(installed, rig):
    titles = ["red", "green", "red", "red fox"]
    idents = [fire(rig, title) for title in titles]
    last = rig.client.done("history", "{}").json
    program = subprocess.Popen(
        [installed.program("follow"), rig.ipc("p"), rig.ipc("q"), "1", last["epoch"], "red", "4"],
        stdout=subprocess.PIPE, text=True)

    def line():
        return program.stdout.readline()
    try:
        # Behind the first: what was published before it came.
        assert line() == f"3 history {idents[2]} red 1\n"
        assert line() == f"4 history {idents[3]} red fox 1\n"
        # From now on as it comes, or at the latest when it is asked for.
        assert re.fullmatch(f"5 (live|history) {fire(rig, 'red')} red 1\n", line())
        fire(rig, "green")
        assert re.fullmatch(f"7 (live|history) {fire(rig, 'red')} red 1\n", line())
        assert program.wait(WAIT) == 0
    finally:
        program.kill()


def test_a_subscriber_is_told_what_is_gone(installed, make_rig):
    rig = make_rig()
    idents = [fire(rig, "red") for _ in range(5)]
    rig.db.xtrim("plan:history", maxlen=2, approximate=False)
    epoch = rig.client.done("history", "{}").json["epoch"]
    said = run(installed.program("follow"), rig.ipc("p"), rig.ipc("q"), "1", epoch, "", "2")
    assert said.splitlines() == ["notice 0 1 4", f"4 history {idents[3]} red 1",
                                 f"5 history {idents[4]} red 1"]
    # Another epoch: all that is kept, and that it is another one.
    said = run(installed.program("follow"), rig.ipc("p"), rig.ipc("q"), "77", "other", "", "2")
    assert said.splitlines()[0].startswith("notice 2 77 ")
    # The same one, but further than the station is.
    program = subprocess.Popen(
        [installed.program("follow"), rig.ipc("p"), rig.ipc("q"), "77", epoch, "", "1"],
        stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "notice 4 77 5\n"
        ident = fire(rig, "red")
        assert re.fullmatch(f"6 (live|history) {ident} red 1\n", program.stdout.readline())
        assert program.wait(WAIT) == 0
    finally:
        program.kill()


def test_events_and_those_that_did_not_come(installed):
    with zmq.Context() as context, context.socket(zmq.XPUB) as publisher:
        publisher.linger, publisher.rcvtimeo = 0, int(WAIT * 1000)
        port = publisher.bind_to_random_port("tcp://127.0.0.1")
        program = subprocess.Popen([installed.program("events"), f"tcp://127.0.0.1:{port}", "5"],
                                   stdout=subprocess.PIPE, text=True)

        def send(name, code, **state):
            publisher.send_multipart([f"plan.{name}.jobs".encode(), describe(code, b"@#"), b"2a",
                                      json.dumps(state).encode()])
        try:
            assert publisher.recv() == b"\x01"
            send("add", 1, seq=7, epoch="e1")
            send("queue", 3, seq=8, epoch="e1")
            for junk in [b"plan.add.jobs"], [b"x", b"y"], [b"plan", describe(1, b"@#"), b"1", b"{}"]:
                publisher.send_multipart(junk)
            send("exec", 4, seq=11, epoch="e1")
            send("result", 5, seq=1, epoch="e2")
            send("remove", 8)
            assert program.stdout.read().splitlines() == [
                "1 jobs 2a 7 0 e1", "3 jobs 2a 8 0 e1", "4 jobs 2a 11 2 e1", "5 jobs 2a 1 -1 e2",
                "8 jobs 2a 0 0 "]
            assert program.wait(WAIT) == 0
        finally:
            program.kill()


def test_only_the_events_that_are_selected(installed):
    """The station is not asked for others, and what was missed between is not known."""
    with zmq.Context() as context, context.socket(zmq.XPUB) as publisher:
        publisher.linger, publisher.rcvtimeo = 0, int(WAIT * 1000)
        port = publisher.bind_to_random_port("tcp://127.0.0.1")
        program = subprocess.Popen([installed.program("events"), f"tcp://127.0.0.1:{port}", "2", str(1 << 5 | 1 << 8)],
                                   stdout=subprocess.PIPE, text=True)
        try:
            topics = set()
            while topics != {b"plan.result.", b"plan.remove."}:
                said = publisher.recv()
                (topics.add if said[0] else topics.discard)(said[1:])
            for code, name in ((1, "add"), (5, "result"), (4, "exec"), (8, "remove")):
                publisher.send_multipart([f"plan.{name}.jobs".encode(), describe(code, b"@#"), b"2a",
                                          json.dumps({"seq": 7 + code, "epoch": "e"}).encode()])
            assert program.stdout.read().splitlines() == ["5 jobs 2a 12 0 e", "8 jobs 2a 15 0 e"]
            assert program.wait(WAIT) == 0
        finally:
            program.kill()


def test_events_of_a_station(installed, rig):
    program = subprocess.Popen([installed.program("events"), rig.ipc("e"), "2"],
                               stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: rig.client.added(later()) and program.poll() is not None, "two events")
        one, two = (line.split() for line in program.stdout.read().splitlines())
        assert (one[1], two[1], two[4], one[5]) == ("jobs", "jobs", "0", two[5])
        assert int(two[3]) == int(one[3]) + 1 and program.returncode == 0
    finally:
        program.kill()


@pytest.mark.timeout(600)       # some 200 runs, most of which wait for a second
@pytest.mark.parametrize("more", ["", ",tcp://127.0.0.1:1"], ids=["one station", "several"])
def test_no_allocation_that_fails_ends_the_program(tmp_path, rig, more):
    """The sanitizers have an allocator of their own, so this is of the plain build."""
    plain = Installation(str(tmp_path / "plain"), os.path.join(REPO, "build"))
    assert not plain.sanitize
    shim = str(tmp_path / "malloc_shim.so")
    run("cc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", shim,
        os.path.join(PROGRAMS, "malloc_shim.c"))
    program = plain.program("memory")
    fire(rig, "memory")

    def failures(number):
        return run(program, rig.ipc("q") + more, rig.ipc("p") + more,
                   env={"LD_PRELOAD": shim, "ZPLAN_TEST_MALLOC": str(number)})
    numbers = itertools.count(1)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:     # most of them wait a second
        while True:
            said = list(pool.map(failures, itertools.islice(numbers, 16)))
            assert set(said) <= {"1\n", "0\n"}
            if "0\n" in said:
                break
    assert next(numbers) > 100      # the shim did count
