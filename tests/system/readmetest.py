"""Documents as a newcomer uses them: their commands by chapter, and a folder in which these run as they
stand there."""
import importlib
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from callbacktest import Receiver
from microzero import pick_ports
from zplanprocs import BIN_DIR, DIES_WITH_PARENT, REPO, WAIT, wait_until

# The documents whose commands are run: each with the module that has a test for each of its chapters;
# None: all its commands are run elsewhere.
DOCUMENTS = {
    "README.md": "test_readme",
    "docker/README.md": "test_readme_docker",
    "src/README.md": None,
    "tests/README.md": None,
    "tests/bench/README.md": None,
}

# Commands that are run elsewhere, by what they begin with, and where or why.
ELSEWHERE = {
    "tests/run": "runs this test",
    "tests/analyze": "tests/run long runs it",
    "tests/fuzz/run": "tests/run long runs it",
    "tests/chaos/run": "minutes long; test_chaos.py runs it short",
    "tests/bench/run.py": "minutes long, with peers to be installed; test_bench.py runs it small",
    "tests/bench/callbacks.py": "half a minute, with nothing beside it; test_callback_station.py delivers callbacks",
    "meson setup rel": "a build of its own, for tests/bench/flows.py",
    "tests/bench/web.py": "minutes long, with nothing beside it; test_web_console.py opens the pages",
    "tests/bench/flows.py": "minutes long, with nothing beside it; test_flow_runs.py runs flows",
    "ZPLAN_CALLBACK_KILLS=200": "minutes long; tests/run kills less often",
    "ZPLAN_CHAOS_FLOWS=40": "the same",
    "docker compose": "wants Docker; test_image.py makes the image and runs the services without",
    "docker/deb": "a minute long; test_deb.py runs it",
    "apt-get install": "changes the machine; test_deb.py does it in a folder",
    "apt-get remove": "the same",
    "apt-get purge": "the same",
    "systemctl reload": "wants systemd; test_systemd.py plays it",
    "systemctl restart": "wants systemd; test_units.py runs what the unit says in its sandbox",
    "systemctl enable": "wants systemd; test_units.py runs what the unit says in its sandbox",
}

BIN = pathlib.Path(BIN_DIR) if os.path.exists(os.path.join(BIN_DIR, "zplan")) else \
    pathlib.Path(BIN_DIR, "src")
BUILD = BIN.parent
PORTS = ("7920", "7921", "7922", "7924", "7930", "7931", "7940", "6379", "26379", "8000", "8003")
PROGRAMS = ("zpland", "zstationd", "zplan", "zplan-callback", "zplan-web")
READY = "(?m)^ready$"   # what a station prints
COMMAND = "    "        # what a line of a block starts with


class Chapter:
    """Commands (one for all lines that \\ joins), fenced texts as (language, text), and the rest.

    A fenced block without a language is a picture or an example of output: nothing takes it."""

    def __init__(self, title):
        self.title, self.commands, self.texts, self.prose = title, [], [], []


def elsewhere(command):
    """The row of ELSEWHERE, or None."""
    return next((row for row in ELSEWHERE if command.startswith(row)), None)


def read_fence(lines, language, chapter):
    """The lines up to the end of a fenced block."""
    text = "".join(itertools.takewhile(lambda line: not line.startswith("```"), lines))
    if language:
        chapter.texts.append((language, text))


def read(document):
    """{title: Chapter} of a document; "": what stands before the first title."""
    chapter = Chapter("")
    chapters, joined = {"": chapter}, ""
    lines = iter(pathlib.Path(REPO, document).read_text(encoding="utf-8").splitlines(keepends=True))
    for line in lines:
        if line.startswith("#"):
            chapter = Chapter(line.strip("# \n"))
            assert chapter.title not in chapters, f"{document}: two chapters {chapter.title!r}"
            chapters[chapter.title] = chapter
        elif line.startswith("```"):
            read_fence(lines, line.strip("`\n"), chapter)
        elif line.startswith(COMMAND):
            joined += line.strip()
            if not joined.endswith("\\"):
                chapter.commands.append(joined)
                joined = ""
            joined = joined.rstrip("\\")
        else:
            chapter.prose.append(line)
    return chapters


CHAPTERS = {document: read(document) for document in DOCUMENTS}
TESTED = set()      # (document, title) of the chapters that a test has asked for


def chapters_of(document):
    """A decorator for tests of this document's chapters: `@of_chapter("Title")` gives its test a
    newcomer, and the test must leave no command of the chapter over."""
    def of_chapter(title):
        TESTED.add((document, title))
        return pytest.mark.parametrize("newcomer", [(document, title)], indirect=True, ids=[""])
    return of_chapter


def chapters_with_tests():
    """TESTED, with the tests of all documents."""
    for module in filter(None, DOCUMENTS.values()):
        importlib.import_module(module)
    return TESTED


class Lasting:
    """A command that goes on until it is ended; what it prints goes to a file."""

    def __init__(self, command, cwd, env, path):
        self.command, self.path = command, path
        with open(path, "wb") as out:
            self.process = subprocess.Popen(
                [*DIES_WITH_PARENT, "bash", "-c", "exec " + command], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                stdout=out, stderr=out)

    def text(self):
        return self.path.read_text(errors="replace")

    def seen(self, telling):
        """Wait until it has printed this (a pattern)."""
        def there():
            text = self.text()
            assert re.search(telling, text) or self.process.poll() is None, (self.command, text)
            return re.search(telling, text)
        wait_until(there, f"{telling!r} of {self.command}", 2 * WAIT)
        return self

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT)


class Newcomer:
    """Types the commands of one chapter, in their order, in a folder that looks like a checkout.

    What the commands name is replaced: the default ports by free ones, hosts 10.0.0.N by 127.0.0.N,
    folders of the system by those of the test, and the rows of `words`."""

    def __init__(self, folder, document, title):
        self.folder, self.title = folder, f"{document}: {title}"
        self.chapter = CHAPTERS[document][title]
        self.left = [command for command in self.chapter.commands if not elsewhere(command)]
        self.texts = list(self.chapter.texts)
        first = pick_ports(len(PORTS))
        self.ports = {port: str(first + i) for i, port in enumerate(PORTS)}
        self.words = {"/var/lib/zplan": f"{folder}/data", "/etc/zplan/": f"{folder}/etc-",
                      "/run/redis/": f"{folder}/", "10.0.0.": "127.0.0."}
        self.started = []
        self.make_checkout()
        self.env = {name: value for name, value in os.environ.items() if name[:6] != "ZPLAN_"}
        self.env.update(PATH=f"{folder}/tools:{os.environ['PATH']}", HOME=str(folder),
                        XDG_STATE_HOME=str(folder),
                        ZPLAN_CONNECT=self.at("7920"), ZPLAN_PUBLISH=self.at("7921"))

    def at(self, port):
        return f"tcp://127.0.0.1:{self.ports[port]}"

    # The folder.

    def make_checkout(self):
        built, tools = self.folder / "build" / "src", self.folder / "tools"
        built.mkdir(parents=True)
        tools.mkdir()
        sockets = " ".join(f"--{name} {self.at(port)}" for name, port in
                           (("request", "7920"), ("publish", "7921"), ("events", "7922")))
        given = {"zpland": sockets, "zplan-callback": f"--connect {self.at('7920')}",
                 "zplan-web": f"--listen 127.0.0.1:{self.ports['7924']} --connect {self.at('7920')} --events {self.at('7922')}"}
        for name in PROGRAMS:   # what is given twice counts as it is given last
            self.script(built / name, f"exec {BIN / name} {given.get(name, '')}")
        self.script(tools / "python3", "exec /usr/bin/python3")
        node = shutil.which("nodejs") or shutil.which("node") or "nodejs"
        self.script(tools / "node", "exec " + node)
        self.script(tools / "cc", "exec gcc " + sanitizers())
        (self.folder / "docker").mkdir()
        shutil.copy(os.path.join(REPO, "docker", "demo"), self.folder / "docker")
        # Nothing is installed, nor built: that would relink programs that other tests are running.
        self.script(self.folder / "docker" / "setup", "exit 0")
        for name in ("src", "tests"):
            (self.folder / name).symlink_to(os.path.join(REPO, name))

    @staticmethod
    def script(path, line):
        path.write_text(f'#!/bin/sh\n{line} "$@"\n')
        path.chmod(0o755)

    def programs_are_found(self):
        self.env["PATH"] = f"{self.folder}/build/src:{self.env['PATH']}"

    def here(self, text):
        """The text with this place's ports, hosts and folders."""
        for word, mine in self.words.items():
            text = text.replace(word, mine)
        return re.sub(r"(?<=:)\d{4,5}\b", lambda port: self.ports.get(port[0], port[0]), text)

    def receiver(self, url, *options):
        """What zplan-callback sends to this URL of the document arrives here."""
        receiver = Receiver()
        self.words = {url: receiver.url(), **self.words}
        self.script(self.folder / "build" / "src" / "zplan-callback",
                    f"exec {BIN / 'zplan-callback'} --connect {self.at('7920')} --allow-http --allow 127.0.0.0/8 "
                    f"--allow 127.0.0.1:{receiver.port} {' '.join(options)}")
        return receiver

    def file(self, name, language):
        """Write the chapter's next fenced text, in this language, to a file."""
        known, text = self.texts.pop(0)
        assert known == language, f"{self.title}: {name} is {known}"
        (self.folder / name).write_text(self.here(text))

    def installed(self):
        """Where the next command, `meson install`, has put the library: what builds and runs
        programs finds it there, as it finds it in the place that it is made for."""
        root = self.folder / "root"
        self.words["meson install -C build"] = \
            f"DESTDIR={root} meson install --no-rebuild -C {BUILD}"
        self.words["ldconfig"] = "true"
        self.does("meson install", "zplan.pc")
        found, = root.rglob("zplan.pc")
        self.env.update(PKG_CONFIG_PATH=str(found.parent), PKG_CONFIG_SYSROOT_DIR=str(root),
                        LD_LIBRARY_PATH=str(found.parent.parent))
        return pathlib.Path("/", found.parent.relative_to(root))

    # Commands.

    def run(self, command, code=0):
        """A command that ends, with this exit status; what it exports stays. Its output."""
        state = self.folder / "environment"
        ended = subprocess.run(
            ["bash", "-c", f'{command}\ncode=$?\nenv -0 >"{state}"\nexit $code'], cwd=self.folder,
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=3 * WAIT, check=False)
        assert ended.returncode == code, (command, ended.returncode, ended.stdout)
        pairs = state.read_text().split("\0")
        self.env = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        return ended.stdout

    def start(self, command, telling):
        """A command that lasts; wait until it tells this."""
        path = self.folder / f"out{len(self.started)}"
        self.started.append(Lasting(command, self.folder, self.env, path))
        return self.started[-1].seen(telling)

    def next(self, beginning):
        """The next command of the chapter, which must begin like this."""
        assert self.left, f"{self.title}: no command is left for {beginning!r}"
        command = self.left.pop(0)
        assert command.startswith(beginning), f"{self.title}: {command!r} is not {beginning!r}"
        return self.here(command)

    def does(self, beginning, telling="", code=0):
        """The next command ends well, and prints this (a pattern)."""
        output = self.run(self.next(beginning), code)
        assert re.search(telling, output), (beginning, telling, output)
        return output

    def lasts(self, beginning, telling):
        """The next command goes on; it has told this."""
        return self.start(self.next(beginning), telling)

    def demo(self, worker=True):
        """Station, target and worker as in the first chapter, for the chapters behind it."""
        self.programs_are_found()
        self.start(f"zpland --data {self.folder}/data --station jobs=api@{self.at('7930')}",
                   "(?m)^ready$")
        self.start(f"zstationd --name jobs --type api --request {self.at('7930')} "
                   f"--workers {self.at('7931')}", "(?m)^ready$")
        if worker:
            self.start(f"zplan work --station {self.at('7931')} -- "
                       "sh -c 'echo \"$ZPLAN_COMMAND $(cat): done\"'", "joined")

    def close(self):
        """End what goes on, the last first; each must end well, and none goes on after this."""
        try:
            for one in reversed(self.started):
                code = one.end()
                assert code == 0, (one.command, code, one.text())
        finally:
            for one in self.started:
                one.process.kill()
                one.process.wait()


def sanitizers():
    """What a program needs to be linked with our libraries as they were built."""
    linked = subprocess.run(["ldd", BIN / "zplan"], capture_output=True, text=True, check=True)
    return "-fsanitize=address,undefined" if "libasan" in linked.stdout else ""
