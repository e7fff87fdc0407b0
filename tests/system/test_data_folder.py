"""The folder of --data: open to others, and on a disk that is full."""
import os
import shutil
import stat

import pytest

from redissteps import embed_redis, namespace_or_skip, on_small_disk
from zplanprocs import children, run_once
from zplantest import ST, later, wait_until


def embedded(make_rig):
    return embed_redis(make_rig(start=False))


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_a_folder_that_others_may_enter_is_refused_and_left_alone(tmp_path, mode):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "photo").write_text("mine")
    folder.chmod(mode)
    code, _, err = run_once(["--data", str(folder), "--request", f"ipc://{tmp_path}/q"])
    assert code != 0 and f"chmod 700 {folder}" in err, err
    assert "data: other users may enter it" in err
    assert stat.S_IMODE(folder.stat().st_mode) == mode and os.listdir(folder) == ["photo"]


def test_an_empty_one_is_closed(make_rig):
    rig = embedded(make_rig)
    os.mkdir(rig.data)
    os.chmod(rig.data, 0o755)
    rig.station.start()
    assert stat.S_IMODE(os.stat(rig.data).st_mode) == 0o700


def full(rig):
    """What health says of the disk, and how it answers a submission."""
    told = rig.client.done("health").json
    return not told["healthy"] and any("disk" in line and "is full" in line
                                       for line in told["problems"])


def works(rig):
    return rig.client.submit(later()).code == ST.PLAN and rig.client.done("health").json["healthy"]


def test_health_says_that_the_disk_is_full(make_rig):
    namespace_or_skip()
    rig = embedded(make_rig)
    os.mkdir(rig.data, 0o700)
    rig.station.wrap = on_small_disk(rig.data, "16m")
    rig.station.start()
    idents = [rig.client.added(later()) for _ in range(3)]
    inside = f"/proc/{rig.station.pid}/root{rig.data}"
    with open(f"{inside}/filler", "wb", buffering=0) as filler, pytest.raises(OSError):
        while True:
            filler.write(b"\0" * 4096)
    assert wait_until(lambda: rig.client.submit(later()).code == ST.NET_ERROR, "it is refused")
    wait_until(lambda: full(rig), "health says it")
    os.unlink(f"{inside}/filler")
    wait_until(lambda: works(rig), "it goes on by itself")
    for ident in idents:
        rig.client.done("message", ident)


def test_health_says_what_redis_said_last(make_rig):
    """As above, on any machine: a redis-server that finds no room."""
    rig = embedded(make_rig)
    real, bin_dir = shutil.which("redis-server"), rig.path("bin")
    os.mkdir(bin_dir)
    script = os.path.join(bin_dir, "redis-server")

    def put(text):
        with open(script + ".new", "w", encoding="ascii") as out:
            out.write("#!/bin/sh\n" + text + "\n")
        os.chmod(script + ".new", 0o755)
        os.rename(script + ".new", script)
    put(f'exec {real} "$@"')
    rig.station.env["PATH"] = bin_dir + ":" + os.environ["PATH"]
    rig.station.start()
    ident = rig.client.added(later())
    put(f'echo "# Error writing to the AOF file: No space left on device" >> {rig.data}/redis.log; exit 1')
    for pid in children(rig.station.pid):
        os.kill(pid, 9)
    wait_until(lambda: full(rig), "health says it")
    assert "is full" in rig.client.submit(later()).text
    put(f'exec {real} "$@"')
    wait_until(lambda: works(rig), "it goes on by itself")
    rig.client.done("message", ident)
