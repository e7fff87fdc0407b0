"""The Debian package of docker/deb."""
import glob
import os
import re
import subprocess

from zplanprocs import REPO, ZPLAND


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_package(tmp_path):
    """It is made, has the programs' version, and all that a service needs, in Debian's places."""
    run(os.path.join(REPO, "docker", "deb"), str(tmp_path))
    package, = glob.glob(f"{tmp_path}/zplan_*.deb")
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
