"""docker/keys: the keys of the parts of docker/compose.yaml, each part's in a volume of its own."""
import os
import re
import shutil
import subprocess

import pytest

from zplanprocs import REPO, ZPLAND

KEYS = os.path.join(REPO, "docker", "keys")
PARTS = ("station", "target", "worker", "client")     # that know each other
ALL = (*PARTS, "web")


@pytest.fixture
def volumes(tmp_path):
    for part in ALL:
        (tmp_path / part).mkdir()
    return tmp_path


def make(volumes, code=0, path=None):
    path = path or os.path.dirname(ZPLAND) + ":" + os.environ["PATH"]
    done = subprocess.run([KEYS, str(volumes)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, "PATH": path})
    assert done.returncode == code, done.stderr
    return done.stderr


def content(volumes):
    return {str(path.relative_to(volumes)): path.read_bytes()
            for path in volumes.rglob("*") if path.is_file()}


def public(text):
    return re.search(rb'public-key = "(.{40})"', text)[1]


def test_each_part_has_what_it_needs(volumes):
    make(volumes)
    made = content(volumes)
    assert {name for name in made if name.endswith("complete")} == {f"{part}/complete"
                                                                    for part in ALL}
    assert not [name for name in made if name.endswith("making")]
    for part in ("station", "target", "client", "web"):
        assert made[f"{part}/station.public"].strip() == public(made["station/station.key_secret"])
    for part in ("station", "worker"):
        assert made[f"{part}/jobs.public"].strip() == public(made["target/jobs.key_secret"])
    assert sorted(os.listdir(volumes / "station/allow")) == [
        "admin.key", "client.key", "health.key", "jobs.key", "web.key"]
    assert sorted(os.listdir(volumes / "target/allow")) == ["station.key", "worker.key"]
    assert re.fullmatch(rb"zpw_[\w-]{43}\n", made["web/token"])
    assert b"web/admin.key_secret" in made["web/users/admin.user"]


def test_they_are_made_once(volumes):
    make(volumes)
    before = content(volumes)
    make(volumes)
    assert content(volumes) == before


@pytest.mark.parametrize("lost", PARTS)
def test_with_one_volume_lost_no_key_is_touched(volumes, lost):
    make(volumes)
    shutil.rmtree(volumes / lost)
    (volumes / lost).mkdir()
    before = content(volumes)
    told = make(volumes, 1)
    assert f"no keys of {lost}," in told and "nothing is made" in told
    assert content(volumes) == before


@pytest.mark.parametrize("part", ["station", "web"])
def test_keys_of_somebody_else_are_not_touched(volumes, part):
    (volumes / part / "station.key_secret").write_text("mine")
    before = content(volumes / part)
    assert f"{part} has keys" in make(volumes, 1)
    assert content(volumes / part) == before


def test_a_gateway_comes_to_a_station_that_is_there(volumes):
    make(volumes)
    before = content(volumes)
    shutil.rmtree(volumes / "web")
    (volumes / "web").mkdir()
    make(volumes)
    after = content(volumes)
    assert set(before) == set(after)
    assert {name for name in after if before[name] != after[name]} == {
        "station/allow/admin.key", "station/allow/web.key", "web/admin.key", "web/admin.key_secret", "web/token",
        "web/users/admin.user", "web/web.key", "web/web.key_secret"}


def test_keys_of_before_the_marks_are_taken(volumes):
    """Only the last volume was marked."""
    make(volumes)
    before = content(volumes)
    for part in ("station", "target", "worker"):
        (volumes / part / "complete").unlink()
    make(volumes)
    assert content(volumes) == before


@pytest.mark.parametrize("calls", range(8))
def test_a_try_that_was_cut_short_is_made_again(volumes, tmp_path_factory, calls):
    """After so many calls of zplan."""
    folder = tmp_path_factory.mktemp("bin")
    zplan = os.path.join(os.path.dirname(ZPLAND), "zplan")
    (folder / "zplan").write_text(f'#!/bin/sh\necho >>"{folder}/calls"\n'
                                  f'[ "$(wc -l <"{folder}/calls")" -le {calls} ] || exit 9\n'
                                  f'exec "{zplan}" "$@"\n')
    (folder / "zplan").chmod(0o755)
    make(volumes, 9, f"{folder}:{os.environ['PATH']}")
    make(volumes)
    test_each_part_has_what_it_needs(volumes)
