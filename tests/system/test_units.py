"""What is installed besides the programs: unit files, their restrictions, the example settings."""
import json
import os
import re
import subprocess
import sys

import pytest

from zplanprocs import REPO, ZPLAND, Zpland, run_once
from zplantest import Client, FakeTarget, ST, at_once

BUILD = os.path.dirname(os.path.dirname(ZPLAND))
UNITS = os.path.join(BUILD, "docker")
SANDBOXED = os.path.join(os.path.dirname(__file__), "sandboxed.py")
NAMES = ["zpland.service", "zstationd@.service", "zplan-worker@.service"]
APART = ["zplan-callback.service", "zplan-web.service"]      # those that reach nothing of the station
NAMES += [name for name in APART if os.path.exists(os.path.join(UNITS, name))]
WORST = 20      # tenths; systemd-analyze calls it OK, and 90 is a service without any restriction


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Everything as `meson install` leaves it."""
    folder = tmp_path_factory.mktemp("installed")
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", str(folder))
    return folder


def test_install(installed):
    found = {os.path.relpath(os.path.join(at, name), installed)
             for at, _, names in os.walk(installed) for name in names}
    prefix = "usr/local"
    wanted = {f"{prefix}/bin/{name}" for name in ("zplan", "zpland", "zstationd")}
    wanted |= {f"{prefix}/share/man/man{page[-1]}/{page}" for page in
               ("zplan.1", "zplan-add.1", "zpland.8", "zstationd.8", "zplan.conf.5", "zplan.7")}
    wanted |= {f"{prefix}/share/doc/zplan/examples/zplan.conf",
               f"{prefix}/lib/sysusers.d/zplan.conf"}
    assert wanted <= found
    units = {name for name in found if name.endswith(".service")}
    assert {os.path.basename(name) for name in units} == set(NAMES)
    assert {os.path.dirname(name)[-len("systemd/system"):] for name in units} == {"systemd/system"}
    for name in units:
        with open(installed / name) as unit:
            program, = re.findall(r"^ExecStart=(\S+)", unit.read(), re.M)
        assert program.lstrip("/") in found


@pytest.mark.parametrize("name", NAMES)
def test_unit_is_well_formed(tmp_path, name):
    """All that systemd finds amiss, but for programs and pages that are not installed here."""
    with open(os.path.join(UNITS, name)) as unit:
        text = re.sub(r"^(ExecStart=)\S+", r"\1/bin/true", unit.read(), flags=re.M)
    (tmp_path / name).write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
    assert run("systemd-analyze", "verify", str(tmp_path / name)) == ""


@pytest.mark.parametrize("name", NAMES)
def test_unit_is_sandboxed(name):
    text = run("systemd-analyze", "security", "--offline=yes", f"--threshold={WORST}", "--no-pager",
               os.path.join(UNITS, name))
    assert "Overall exposure level" in text


@pytest.mark.parametrize("name", NAMES)
def test_unit_shares_a_folder_for_sockets_and_stops_at_wrong_usage(name):
    """One that ends leaves the folder to the others."""
    with open(os.path.join(UNITS, name)) as unit:
        lines = unit.read().splitlines()
    # 3: the data of a station need a repair.
    never = "RestartPreventExitStatus=2 3" if name == "zpland.service" else "RestartPreventExitStatus=2"
    apart = name in APART
    folder = set() if apart else {"RuntimeDirectory=zplan", "RuntimeDirectoryPreserve=yes"}
    assert {never, "User=" + (name.removesuffix(".service") if apart else "zplan"), *folder} <= set(lines)
    assert not apart or "RuntimeDirectory=zplan" not in lines


@pytest.fixture
def in_sandbox(tmp_path):
    """A station with a Redis of its own, in the sandbox of its unit."""
    station = Zpland(str(tmp_path / "log"),
                     ["--data", str(tmp_path / "data"), "--request", f"ipc://{tmp_path}/q",
                      "--publish", f"ipc://{tmp_path}/p", "--events", f"ipc://{tmp_path}/e",
                      "--station", f"jobs=api@ipc://{tmp_path}/j"],
                     # Looking for leaks a sanitizer traces its own process.
                     env={"ASAN_OPTIONS": "detect_leaks=0"})
    station.wrap = [sys.executable, SANDBOXED, os.path.join(UNITS, "zpland.service")]
    yield station
    station.reap()


def test_station_works_in_its_sandbox(in_sandbox, tmp_path):
    """Its Redis too, Lua and allocator included: a plan is taken, sent, done."""
    target = FakeTarget(f"ipc://{tmp_path}/j")
    client = Client(f"ipc://{tmp_path}/q")
    try:
        in_sandbox.start()
        with open(f"/proc/{in_sandbox.pid}/status") as status:
            assert re.search(r"^Seccomp:\t2$", status.read(), re.M)
        client.added(at_once(plan_type=2, plan_value=1, plan_repet=2))
        for _ in range(2):
            target.finish(target.recv(), ST.OK)
        in_sandbox.stop()
    finally:
        target.close()
        client.close()


@pytest.mark.parametrize("name", NAMES)
def test_its_program_starts_in_the_sandbox(name):
    """systemd has the filter of calls in place before it starts the program."""
    with open(os.path.join(UNITS, name)) as unit:
        program = os.path.basename(re.search(r"^ExecStart=(\S+)", unit.read(), re.M).group(1))
    assert run(sys.executable, SANDBOXED, os.path.join(UNITS, name), os.path.join(os.path.dirname(ZPLAND), program), "--version",
               env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}).startswith(f"{program} ")


def test_sandbox_refuses(tmp_path):
    """The test of the test: in it what is not allowed does not work."""
    unit = os.path.join(UNITS, "zpland.service")
    for what in ("import os; os.chroot('/')",
                 "import mmap; mmap.mmap(-1, 4096, prot=7)",
                 "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"):
        done = subprocess.run([sys.executable, SANDBOXED, unit, sys.executable, "-c", what],
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and re.search("PermissionError|OSError", done.stderr), done


def uncommented(name):
    """An example with each setting that is commented out."""
    with open(os.path.join(REPO, "docker", name), encoding="utf-8") as file:
        return re.sub(r'^# ((?:    )?\w+ = (?:\S+|".*")|stations|deny)$', r"\1", file.read(), flags=re.M)


def test_example_settings_are_taken(tmp_path):
    """They name no setting that there is not: the only complaint is of what the test adds."""
    text = uncommented("zplan.conf")
    assert "\n    jobs = " in text and "\nallow = " in text
    (tmp_path / "conf").write_text(text)
    for settings in ([os.path.join(REPO, "docker", "zplan.conf"), "--data", str(tmp_path)], [str(tmp_path / "conf")]):
        code, _, err = run_once(["-c", *settings, "--timezone", "Mars/Phobos"])
        assert code == 2 and "Mars/Phobos" in err and len(err.splitlines()) == 1, err


@pytest.mark.parametrize("name", [name.removesuffix(".service") for name in NAMES if name in APART])
def test_example_settings_of_the_others_are_taken(tmp_path, name):
    text = uncommented(f"{name}.conf")
    (tmp_path / "conf").write_text(text)
    taken = [json.loads(line)["name"] for line in run(
        os.path.join(os.path.dirname(ZPLAND), name), "-c", str(tmp_path / "conf"), "--settings").splitlines()]
    written = re.findall(r"^(\w+)(?: =|$)", text, re.M)
    assert len(written) >= 5 and set(written) <= set(taken)
