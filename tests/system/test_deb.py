"""The Debian package of docker/deb: what is in it; and installed, upgraded, downgraded, removed and purged as
docker/README.md says, in a folder with a Debian of its own."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

import pytest

from imagetest import Builder, Network, NoNetwork, Stage, missing_here, run_online
from readmetest import CHAPTERS
from zplanprocs import REPO, WAIT, ZPLAND, wait_until


APART = ("zplan-web", "zplan-callback")     # packages of their own: the station needs none of their libraries


# What is tested is what is packed, not how well it is compiled: that takes half the time.
FAST = {"DEB_BUILD_OPTIONS": "noautodbgsym", "DEB_CFLAGS_APPEND": "-O0 -g0 -Wno-error"}


def run(*command, env=None):
    done = subprocess.run(command, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.mark.timeout(900)
def test_package(tmp_path):
    """It is made, has the programs' version, and all that a service needs, in Debian's places. Then its life: one
    test, as it takes a minute to make."""
    run(os.path.join(REPO, "docker", "deb"), str(tmp_path), env=FAST)
    package, = glob.glob(f"{tmp_path}/zplan_*.deb")
    check_package(package, tmp_path)
    for name in APART:
        check_apart(name, package, tmp_path)
    why = missing_here()
    if why:
        pytest.skip(f"it cannot be installed here: {why}")
    folder = tempfile.mkdtemp(prefix="zplan-deb", dir="/var/tmp")
    try:
        live(Machine(folder), package, tmp_path)
    except NoNetwork as trouble:
        pytest.skip(f"it cannot be installed here: no network: {trouble}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_package(package, tmp_path):
    version = run(ZPLAND, "--version").split()[1]
    assert run("dpkg-deb", "-f", package, "Version").strip() == version
    depends = run("dpkg-deb", "-f", package, "Depends")
    assert all(name in depends for name in ("redis-tools", "libzmq5", "libczmq4"))
    assert "redis-server" not in depends       # it would start a Redis that nobody uses
    run("dpkg-deb", "-R", package, str(tmp_path / "root"))
    root = tmp_path / "root"
    for name in ("usr/bin/zplan", "usr/bin/zpland", "usr/bin/zstationd", "etc/zplan/zplan.conf",
                 "usr/share/man/man1/zplan.1.gz", "usr/share/man/man8/zpland.8.gz",
                 "usr/share/man/man5/zplan.conf.5.gz", "usr/lib/sysusers.d/zplan.conf",
                 "lib/systemd/system/zstationd@.service",
                 "lib/systemd/system/zplan-worker@.service"):
        assert (root / name).is_file(), name
    assert (root / "DEBIAN" / "conffiles").read_text().split() == ["/etc/zplan/zplan.conf"]
    unit = (root / "lib/systemd/system/zpland.service").read_text()
    program, settings = re.search(r"^ExecStart=(\S+) -c (\S+)$", unit, re.M).groups()
    assert (root / program.lstrip("/")).is_file() and (root / settings.lstrip("/")).is_file()
    assert run(str(root / "usr/bin/zpland"), "--version") == f"zpland {version}\n"
    module, = glob.glob(f"{tmp_path}/python3-zplan_*_all.deb")
    assert "./usr/lib/python3/dist-packages/zplan.py" in run("dpkg-deb", "-c", module)
    made = (root / "DEBIAN" / "postinst").read_text()
    assert "systemd-sysusers" in made and "zpland.service" in made
    assert "_dh_action=restart" in made         # an upgrade restarts it


def check_apart(name, package, tmp_path):
    own, = glob.glob(f"{tmp_path}/{name}_*.deb")
    files = {line.split()[-1][1:] for line in run("dpkg-deb", "-c", own).splitlines()}
    assert {f"/usr/bin/{name}", f"/etc/zplan/{name}.conf", f"/lib/systemd/system/{name}.service",
            f"/usr/lib/sysusers.d/{name}.conf", f"/usr/share/man/man8/{name}.8.gz"} <= files
    assert f"/usr/bin/{name}" not in run("dpkg-deb", "-c", package)
    library = {"zplan-web": "libmicrohttpd12", "zplan-callback": "libcurl4"}[name]
    assert library in run("dpkg-deb", "-f", own, "Depends")
    assert library not in run("dpkg-deb", "-f", package, "Depends")


# -- its life

def documented(title):
    """The commands of apt-get in a chapter of docker/README.md."""
    return [command.split("#")[0].strip() for command in CHAPTERS["docker/README.md"][title].commands
            if command.startswith("apt-get ")]


class Machine:
    """A Debian in a folder, without a service manager."""

    def __init__(self, folder):
        self.stage = Stage(Builder(folder).base("debian:12-slim"))
        shutil.copy("/etc/resolv.conf", self.path("etc/resolv.conf"))
        self.stage.env["DEBIAN_FRONTEND"] = "noninteractive"
        run_online(self.stage.container(["apt-get", "-q", "update"]))

    def path(self, inside):
        return os.path.join(self.stage.root, inside)

    def types(self, command):
        """A command of apt-get; the answers to its questions are yes."""
        command = command.replace("apt-get", "apt-get -q -y --no-install-recommends", 1)
        run_online(self.stage.container(["sh", "-c", command]))

    def has(self, inside):
        return os.path.exists(self.path(inside))

    def station(self, *asked):
        """Run the station as its unit does, and ask it with zplan; what that printed."""
        unit = open(self.path("lib/systemd/system/zpland.service"), encoding="utf-8").read()
        program = re.search(r"^ExecStart=(.*)$", unit, re.M)[1].split()
        run(*self.stage.container(["install", "-d", "-o", "zplan", "-g", "zplan", "-m", "0700", "/var/lib/zplan"]))
        with Network() as network, open(self.path("log"), "wb") as log:
            self.stage.user = "zplan"
            process = subprocess.Popen(self.stage.container(program, net=network.pid, caps=False),
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                ask = self.stage.container(["zplan", *asked], net=network.pid)
                wait_until(lambda: b"ready\n" in open(log.name, "rb").read() or process.poll() is not None, "ready",
                           3 * WAIT)
                return run(*ask)
            finally:
                self.stage.user = "root"
                process.terminate()
                assert process.wait(2 * WAIT) == 0, open(log.name, encoding="utf-8").read()


def next_version(package, tmp_path):
    """The same package, as if of a later version."""
    root = tmp_path / "later"
    run("dpkg-deb", "-R", package, str(root))
    control = root / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: .*$", "Version: 99.1", control.read_text()))
    run("dpkg-deb", "-b", "--root-owner-group", str(root), str(tmp_path / "zplan_99.1_amd64.deb"))
    return str(tmp_path / "zplan_99.1_amd64.deb")


def live(machine, package, tmp_path):
    def version():
        return re.search(r"(?m)^Version: (.*)$", run(*machine.stage.container(["dpkg", "-s", "zplan"])))[1]

    os.mkdir(machine.path("build-deb"))
    for name in ("zplan", *APART):
        shutil.copy(*glob.glob(f"{tmp_path}/{name}_*.deb"), machine.path("build-deb"))
    for install in documented("With systemd"):
        machine.types(install)
    with open(machine.path("etc/passwd"), encoding="utf-8") as users:
        assert {"zplan", *APART} <= {line.split(":")[0] for line in users}
    for name in APART:
        assert run(*machine.stage.container([name, "-c", f"/etc/zplan/{name}.conf", "--settings"]))
        os.unlink(*glob.glob(machine.path(f"build-deb/{name}_*.deb")))
    old = version()
    machine.station("target", "add", "jobs=api@tcp://127.0.0.1:7930")

    def works():
        return "jobs" in machine.station("target", "list")
    os.unlink(os.path.join(machine.path("build-deb"), os.path.basename(package)))
    shutil.copy(next_version(package, tmp_path), machine.path("build-deb"))
    upgrade, = documented("Upgrade")
    machine.types(upgrade)
    assert version() == "99.1" and works()

    downgrade, = documented("Downgrade")
    shutil.copy(package, machine.path("."))
    machine.types(downgrade.replace("zplan_0.1.0_amd64.deb", os.path.basename(package)))
    assert version() == old and works()

    remove, purge = documented("Uninstall")
    with open(machine.path("etc/zplan/zplan.conf"), "a", encoding="utf-8") as settings:
        settings.write("# ours\n")
    machine.types(remove)
    assert not machine.has("usr/bin/zpland") and machine.has("etc/zplan/zplan.conf")
    machine.types(purge)
    assert not machine.has("etc/zplan/zplan.conf") and machine.has("var/lib/zplan/appendonlydir")
    with open(machine.path("etc/passwd"), encoding="utf-8") as users:
        assert "\nzplan:" in users.read()
