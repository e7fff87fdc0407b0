"""The image of docker/Dockerfile and the services of docker/compose.yaml: made, run, asked."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from imagetest import (SERVICE_WORDS, Builder, Compose, Network, NoNetwork, compose_file, instructions,
                       missing_here)
from readmetest import CHAPTERS
from zplanprocs import REPO, wait_until, WAIT

DOCKERFILE = os.path.join(REPO, "docker", "Dockerfile")


def test_compose_file_has_the_form():
    """As the Compose specification has it, as far as the file goes."""
    told = compose_file()
    assert set(told) == {"name", "x-zplan", "services", "networks", "volumes"}
    for name, service in told["services"].items():
        assert set(service) <= SERVICE_WORDS, name
        assert "image" in service and ("command" in service), name
        assert isinstance(service["command"], list), name
        assert all(isinstance(word, str) for word in service["command"]), name
        assert set(service["networks"]) <= set(told["networks"]), name
        for volume in service.get("volumes", []):
            kept, path, *mode = volume.split(":")
            assert kept in told["volumes"] and path.startswith("/") and mode in ([], ["ro"]), name
        for other, wanted in service.get("depends_on", {}).items():
            assert other in told["services"]
            healthy = wanted == {"condition": "service_healthy"}
            assert healthy or wanted == {"condition": "service_completed_successfully"}
            assert not healthy or "test" in told["services"][other]["healthcheck"]


def test_compose_is_safe():
    """Nothing listens to others without keys, and nobody else reaches Redis."""
    told = compose_file()
    services = told["services"]
    for name, service in services.items():
        words = " ".join(service["command"])
        assert "--insecure" not in words
        keyed = "--curve" in words and "--allow" in words or "--users" in words
        assert "0.0.0.0" not in words or keyed, name
        if service["image"] == "zplan":
            assert service["read_only"] and service["cap_drop"] == ["ALL"], name
            assert service["tmpfs"] == ["/tmp"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
    assert told["networks"]["data"] == {"internal": True}
    assert {name for name, one in services.items() if "data" in one["networks"]} == {"redis",
                                                                                   "station"}
    assert "ports" not in services["redis"]
    # Each secret is seen by its owner alone, and by who makes it.
    for volume in [name for name in told["volumes"] if name.endswith("-keys")]:
        users = [name for name, one in services.items()
                 if any(v.startswith(volume + ":") for v in one.get("volumes", []))]
        assert users == ["keys", volume.removesuffix("-keys")]


def test_dockerfile_is_not_root_and_tells_its_health():
    told = instructions(DOCKERFILE)
    words = [word for word, _ in told]
    assert words.count("FROM") == 2
    last = told[len(words) - 1 - words[::-1].index("FROM"):]
    assert ("USER", "zplan") in last
    assert not [rest for word, rest in last[last.index(("USER", "zplan")):] if word == "USER"][1:]
    assert "HEALTHCHECK" in words and "VOLUME" in words
    assert dict(last)["EXPOSE"] == "7920 7921 7922"


def run_alone(image, folder):
    """The image by itself: healthy, not root, and at its end nothing is amiss."""
    with Network() as network, open(os.path.join(folder, "alone.log"), "wb") as log:
        station = subprocess.Popen(image.container(image.command, net=network.pid, caps=False),
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            def healthy():
                assert station.poll() is None, open(log.name).read()
                return subprocess.run(image.container(image.health, net=network.pid),
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL).returncode == 0
            wait_until(healthy, "the image is healthy", 3 * WAIT)
            with open(f"/proc/{station.pid}/status") as status:
                text = status.read()
            assert re.search(r"^Name:\tzpland$", text, re.M)
            assert re.search(r"^Uid:\t(\d+)\t\1\t\1\t\1$", text, re.M)[1] != "0"
            assert re.search(r"^CapBnd:\t0+$", text, re.M)
            assert os.path.exists(image.path("/var/lib/zplan/zpland.lock"))
            station.send_signal(signal.SIGTERM)
            assert station.wait(2 * WAIT) == 0
            assert subprocess.run(image.container(image.health, net=network.pid),
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode != 0
        finally:
            station.kill()
            station.wait()


def documented():
    """{chapter: the commands of docker/README.md that are typed to Docker}"""
    found = {title: [command for command in chapter.commands if command.startswith("docker ")]
             for title, chapter in CHAPTERS["docker/README.md"].items()}
    return {title: commands for title, commands in found.items() if commands}


def outcomes(compose):
    return [json.loads(line) for line in compose.once("client", "history", "--json=wire").splitlines()]


def wait_done(compose, plans):
    """Until the worker has joined there is nobody to run a plan: that is an outcome as well, and the plan is tried again."""
    wait_until(lambda: sum(run["status"] == 1 for run in outcomes(compose)) == plans, f"{plans} plans are done", 3 * WAIT)


def look_at_console(compose, token):
    """Whoever has the token sees the plans, nobody else anything."""
    def asked(path, *headers):
        return subprocess.run(["nsenter", f"--net=/proc/{compose.network.pid}/ns/net", "curl", "-s", *headers,
                               f"http://127.0.0.1:7924{path}"], stdout=subprocess.PIPE, text=True).stdout
    wait_until(lambda: "<title>" in asked("/") or compose.running["web"].poll() is not None, "the console", 3 * WAIT)
    assert '"items":' in asked("/v1/plans", "-H", f"Authorization: Bearer {token}"), compose.log("web")
    assert '"target":"jobs"' in asked("/v1/runs", "-H", f"Authorization: Bearer {token}"), compose.log("web")
    assert "no_token" in asked("/v1/plans")


def run_documented(compose, folder):
    """What docker/README.md says: start, look, export, upgrade, remove all of it, restore."""
    chapters = documented()
    up, add, history, with_web, token = chapters.pop("With Docker")
    (export,), (restore,), (upgrade,) = (chapters.pop(title) for title in ("Back up", "Restore", "Upgrade"))
    down, down_with_volumes = chapters.pop("Uninstall")
    assert not chapters, chapters

    compose.types(up)
    compose.types(add)
    wait_done(compose, 2)
    assert " ok " in compose.types(history)
    compose.types(with_web)
    look_at_console(compose, compose.types(token).strip())
    compose.types(export)
    with open(os.path.join(folder, "everything.ndjson"), encoding="utf-8") as file:
        assert json.loads(file.read().splitlines()[-1])["type"] == "end"
    before = len(outcomes(compose))
    compose.types(upgrade)
    assert len(outcomes(compose)) == before
    compose.types(down)
    compose.types(up)
    assert len(outcomes(compose)) == before
    compose.types(down_with_volumes)
    compose.types(up)
    assert outcomes(compose) == []
    assert f"{before} outcomes added" in compose.types(restore)
    assert len(outcomes(compose)) == before


def run_composed(image, folder):
    with Network() as network:
        compose = Compose(image, network, folder)
        try:
            for name in ("redis", "station", "target", "worker"):
                if name not in compose.running:
                    compose.start(name)
            compose.once("keys")        # another start makes no other keys
            compose.once("client", "add", "--station", "jobs", "--command", "greet", "--arg", "world",
                         "--title", "composed")
            wait_done(compose, 1)
            assert "1 of 1 target is connected" in compose.once("client", "doctor")
            run_documented(compose, folder)
            ended = compose.stop()
            assert {ended[name] for name in ("redis", "station", "target")} == {0}, ended
        except AssertionError as error:
            logs = {name: compose.log(name) for name in compose.running if name != "keys"}
            raise AssertionError(f"{error}\n{logs}") from error
        finally:
            compose.stop()


@pytest.mark.timeout(900)
def test_image_and_compose():
    """One test, as the image takes a minute or two to make: with ZPLAN_TEST_WHOLE, as in `tests/run long`, from the sources."""
    why = missing_here()
    if why:
        pytest.skip(f"the image cannot be made here: {why}")
    folder = tempfile.mkdtemp(prefix="zplan-image", dir="/var/tmp")
    try:
        image = Builder(folder, whole="ZPLAN_TEST_WHOLE" in os.environ).build(DOCKERFILE)
        assert not os.path.exists(image.path("/usr/bin/gcc"))
        run_alone(image, folder)
        run_composed(image, folder)
    except NoNetwork as trouble:
        pytest.skip(f"the image cannot be made here: no network: {trouble}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
