"""docker/Dockerfile and docker/compose.yaml carried out without a Docker engine: stages in folders
made by mmdebstrap, containers by chroot in name spaces of their own."""
import fnmatch
import json
import os
import re
import shlex
import shutil
import signal
import subprocess

import yaml

from zplanprocs import DIES_WITH_PARENT, REPO, WAIT, wait_until

MIRROR = os.environ.get("ZPLAN_TEST_MIRROR", "http://deb.debian.org/debian")
BASES = {"debian:12-slim": "bookworm"}
# The settings of Docker's own Debian images: no service is started, nothing is synced.
BASE_FILES = {"usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n",
              "etc/dpkg/dpkg.cfg.d/docker-apt-speedup": "force-unsafe-io\n",
              "etc/apt/apt.conf.d/80-retries": 'Acquire::Retries "5";\n'}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing_here():
    """Why an image cannot be made on this machine; None: it can."""
    if os.geteuid():
        return "not root"
    if subprocess.run(["unshare", "--mount", "--net", "true"], stderr=subprocess.DEVNULL).returncode:
        return "no name spaces: mount and chroot need the rights"
    probe = f"import urllib.request as u; u.urlopen('{MIRROR}/dists/bookworm/InRelease', timeout=20)"
    if subprocess.run(["/usr/bin/python3", "-c", probe], stderr=subprocess.DEVNULL).returncode:
        return f"no network: {MIRROR} does not answer"
    return None


def run(command, stdin=subprocess.DEVNULL, **options):
    done = subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-6000:]}"
    return done.stdout


class NoNetwork(Exception):
    """What is downloaded did not come, or not in time."""


DOWNLOAD_S = 240
NOT_FETCHED = re.compile("Failed to fetch|Could not connect|Temporary failure resolving|timed out")


def run_online(command):
    """The same for a step that downloads."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, start_new_session=True) as step:
        try:
            out, _ = step.communicate(timeout=DOWNLOAD_S)
        except subprocess.TimeoutExpired:
            os.killpg(step.pid, signal.SIGKILL)
            raise NoNetwork(f"after {DOWNLOAD_S} s there is no end of {command[-1]}") from None
    if step.returncode and NOT_FETCHED.search(out):
        raise NoNetwork(out[-1000:])
    assert step.returncode == 0, f"{command}: {step.returncode}\n{out[-6000:]}"


# -- the Dockerfile

def instructions(path):
    """[(WORD, rest)], continued lines joined."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^\s*#.*\n", "", file.read(), flags=re.M)
    text = re.sub(r"\\\n\s*", " ", text)
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


class Stage:
    """A stage: the folder of its root, and what holds for the commands that follow."""

    def __init__(self, root):
        self.root, self.user, self.cwd = root, "root", "/"
        self.env = {"PATH": PATH}
        self.command, self.health, self.ports, self.volumes = None, None, [], []

    def path(self, inside):
        return os.path.join(self.root, os.path.join(self.cwd, inside).lstrip("/"))

    def container(self, command, env=None, prepare="", net=None, caps=True):
        """The command line that runs a command inside, by exec all the way."""
        root = shlex.quote(self.root)
        user = ["setpriv", "--reuid", self.user, "--regid", self.user, "--init-groups",
                *([] if caps else ["--bounding-set=-all", "--no-new-privs"]), "--pdeathsig", "KILL"]
        variables = [f"{name}={value}" for name, value in {**self.env, **(env or {})}.items()]
        inner = ["chroot", self.root, "env", "-i", "-C", self.cwd, *variables, *user, *command]
        script = (f"mount --bind {root} {root} && cd {root} && mount -t proc proc proc && "
                  f"{prepare or 'true'} && exec " + shlex.join(inner))
        enter = ["nsenter", f"--net=/proc/{net}/ns/net"] if net else []
        return [*enter, "unshare", "--mount", "sh", "-c", script]


class Builder:
    """Carries a Dockerfile out. Unless `whole`, the stage `build` takes the programs of build/ instead of packages and a
    compiler of its own: what it installs and how it compiles is what docker/setup has done here, also on Debian 12."""

    def __init__(self, folder, whole=True):
        self.folder, self.stages, self.bases, self.whole = folder, {}, {}, whole
        self.stage = None

    def base(self, image):
        if image not in self.bases:
            root = os.path.join(self.folder, "base")
            run_online(["mmdebstrap", "--variant=minbase", "--aptopt=Acquire::Retries 5",
                        "--dpkgopt=force-unsafe-io", BASES[image], root, MIRROR])
            for name, text in BASE_FILES.items():
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
                    os.chmod(file.name, 0o755)
            self.bases[image] = root
        return self.bases[image]

    def build(self, path):
        for word, rest in instructions(path):
            getattr(self, "do_" + word.lower())(rest)
        return self.stage

    def do_from(self, rest):
        image, _, name = rest.partition(" AS ")
        root = os.path.join(self.folder, f"stage{len(self.stages)}")
        run(["cp", "-a", self.base(image), root])
        shutil.copy("/etc/resolv.conf", os.path.join(root, "etc/resolv.conf"))
        self.stage = self.stages[name or len(self.stages)] = Stage(root)

    def do_workdir(self, rest):
        self.stage.cwd = os.path.join(self.stage.cwd, rest)
        os.makedirs(self.stage.path(""), exist_ok=True)

    def do_copy(self, rest):
        *options, source, target = rest.split()
        to = self.stage.path(target)
        if options:
            stage = self.stages[options[0].removeprefix("--from=")]
            source, ignored = os.path.join(stage.root, source.lstrip("/")), None
        else:
            source, ignored = os.path.normpath(os.path.join(REPO, source)), ignore_of_context
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, to, symlinks=True, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy(source, to)

    def do_run(self, rest):
        assert not rest.startswith("["), "only the shell form is known"
        # What is tested is the image, not how well its programs are compiled: that takes half the time.
        rest = rest.replace("--buildtype=release", "--buildtype=plain -Dwerror=false")
        if not self.whole and self.stage is self.stages.get("build"):
            self.take_programs(rest)
            return
        online = "apt-get" in rest or "docker/setup" in rest
        (run_online if online else run)(self.stage.container(["/bin/sh", "-c", rest]))

    def take_programs(self, rest):
        """What the compiling command would leave in /image."""
        if "meson install" not in rest:
            return
        run(["meson", "install", "-C", os.path.join(REPO, "build"), "--no-rebuild", "--tags", "runtime", "--destdir", self.stage.path("/image")])
        run(self.stage.container(["/bin/sh", "-c", rest.rpartition("&& ")[2]]))

    def do_user(self, rest):
        self.stage.user = rest

    def do_env(self, rest):
        name, _, value = rest.partition("=")
        self.stage.env[name] = value

    def do_volume(self, rest):
        self.stage.volumes.append(rest)

    def do_expose(self, rest):
        self.stage.ports += rest.split()

    def do_healthcheck(self, rest):
        self.stage.health = json.loads(rest.partition(" CMD ")[2])

    def do_cmd(self, rest):
        self.stage.command = json.loads(rest)


def ignore_of_context(folder, names):
    """What .dockerignore keeps out of the context."""
    with open(os.path.join(REPO, ".dockerignore"), encoding="utf-8") as file:
        patterns = file.read().split()
    top = os.path.samefile(folder, REPO)
    return {name for name in names for pattern in patterns
            if fnmatch.fnmatchcase(name, pattern.removeprefix("**/"))
            and (top or pattern.startswith("**/"))}


# -- the network

LOOPBACK_UP = """
import fcntl, socket, struct
with socket.socket() as one:
    fcntl.ioctl(one, 0x8914, struct.pack("16sh14x", b"lo", 1))      # SIOCSIFFLAGS, IFF_UP
"""


class Network:
    """A network of its own, that has nothing but loopback."""

    def __enter__(self):
        self.holder = subprocess.Popen([*DIES_WITH_PARENT, "unshare", "--net", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{self.pid}/ns/net") != own, "a network")
        run(["nsenter", f"--net=/proc/{self.pid}/ns/net", "/usr/bin/python3", "-c", LOOPBACK_UP])
        return self

    @property
    def pid(self):
        return self.holder.pid

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.wait()


# -- the compose file

SERVICE_WORDS = {"image", "build", "restart", "read_only", "cap_drop", "security_opt", "networks",
                 "command", "volumes", "healthcheck", "ports", "depends_on", "profiles",
                 "entrypoint", "environment", "tmpfs", "init", "stop_grace_period"}


def compose_file():
    with open(os.path.join(REPO, "docker", "compose.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def unescaped(words):
    """`$$` is a dollar; another one would be a variable of compose, which the file has none of."""
    for word in words:
        assert "$" not in word.replace("$$", ""), word
    return [word.replace("$$", "$") for word in words]


class Compose:
    """The services of the file as processes of one image, each with its volumes and no others."""

    def __init__(self, stage, network, folder):
        self.stage, self.network, self.folder = stage, network, folder
        self.services = compose_file()["services"]
        self.running = {}
        with open(stage.path("/etc/hosts"), "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost " + " ".join(self.services) + "\n")
        os.makedirs(stage.path("/data"), exist_ok=True)      # of the image of Redis
        shutil.chown(stage.path("/data"), *self.owner())

    def owner(self):
        home = os.stat(self.stage.path("/var/lib/zplan"))
        return home.st_uid, home.st_gid

    def mounts(self, service):
        """Shell words that mount the service's volumes, and make all else read-only."""
        script = []
        for volume in service.get("volumes", []):
            name, path, *mode = volume.split(":")
            kept = os.path.join(self.folder, "volume-" + name)
            if not os.path.exists(kept):    # a new volume begins as the image's folder
                run(["cp", "-a", self.stage.path(path), kept])
            at = shlex.quote(self.stage.path(path))
            script.append(f"mount --bind {shlex.quote(kept)} {at}")
            if mode == ["ro"]:
                script.append(f"mount -o remount,bind,ro {at}")
        for path in service.get("tmpfs", []):
            script.append(f"mount -t tmpfs tmpfs {shlex.quote(self.stage.path(path))}")
        if service.get("read_only"):
            script.append(f"mount -o remount,bind,ro {shlex.quote(self.stage.root)}")
        return " && ".join(script)

    def command(self, name, words):
        service = self.services[name]
        return self.stage.container(unescaped(words), env=service.get("environment"),
                                    prepare=self.mounts(service), net=self.network.pid,
                                    caps=service.get("cap_drop") != ["ALL"])

    def once(self, name, *words, **options):
        """A command in a container of this service; what it printed."""
        service = self.services[name]
        return run(self.command(name, [*service.get("entrypoint", []),
                                       *(words or service["command"])]), timeout=3 * WAIT, **options)

    def types(self, command):
        """Carry out `docker compose -f docker/compose.yaml ...` as a document has it; what it printed."""
        start, *words = shlex.split(command, comments=True)[3:]
        assert start == "docker/compose.yaml", command
        more = []
        if words[0] == "--profile":
            more, words = [words[1]], words[2:]         # each has one service, of its own name
        verb, *words = words
        if verb == "up":
            if "--build" in words and self.running:     # services of another image are made anew
                self.stop()
            for name in ("redis", "station", "target", "worker", *more):
                if name not in self.running:
                    self.start(name)
        elif verb == "down":
            self.stop()
            for volume in os.listdir(self.folder) if "--volumes" in words else ():
                if volume.startswith("volume-"):
                    shutil.rmtree(os.path.join(self.folder, volume))
        else:
            assert verb == "run", command
            return self.types_run([word for word in words if word not in ("--rm", "-T")])
        return ""

    def types_run(self, words):
        files = {word[0]: os.path.join(self.folder, word[1:]) for word in words if word[0] in "<>"}
        name, *words = [word for word in words if word[0] not in "<>"]
        with open(files.get("<", os.devnull), "rb") as stdin:
            said = self.once(name, *words, stdin=stdin)
        if ">" in files:
            with open(files[">"], "w", encoding="utf-8") as file:
                file.write(said)
        return said

    def log(self, name):
        with open(os.path.join(self.folder, name + ".log"), encoding="utf-8") as file:
            return file.read()[-4000:]

    def healthy(self, name):
        test = self.services[name]["healthcheck"]["test"]
        words = ["/bin/sh", "-c", test[1]] if test[0] == "CMD-SHELL" else test[1:]
        assert self.running[name].poll() is None, self.log(name)
        return subprocess.run(self.command(name, words), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def start(self, name):
        """The service, after those that it depends on are what it wants of them."""
        for other, wanted in self.services[name].get("depends_on", {}).items():
            if other in self.running:
                continue
            if wanted["condition"] == "service_completed_successfully":
                self.once(other)
                self.running[other] = None
            else:
                self.start(other)
                wait_until(lambda: self.healthy(other), f"{other} is healthy: {self.log(other)}",
                           3 * WAIT)
        with open(os.path.join(self.folder, name + ".log"), "wb") as log:
            self.running[name] = subprocess.Popen(
                self.command(name, self.services[name]["command"]), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)

    def stop(self):
        """SIGTERM, as `docker compose down`; {name: exit code}."""
        ended = {}
        for name, process in reversed(self.running.items()):
            if process:
                process.terminate()
                try:
                    ended[name] = process.wait(WAIT)
                except subprocess.TimeoutExpired:
                    process.kill()
                    ended[name] = process.wait()
        self.running = {}
        return ended
