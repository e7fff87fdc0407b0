"""Every command of README.md is run, and does what stands beside it.

A test a chapter. How a document is read and where its commands run: readmetest.py; that no chapter is
without a test: test_documents.py.
"""
import json
import signal

from readmetest import READY, chapters_of
from zplanprocs import WAIT, wait_until

of_chapter = chapters_of("README.md")


@of_chapter("Try it")
def test_try_it(newcomer):
    command = newcomer.next("docker/demo")
    demo = newcomer.start(f"env ZPLAN_DEMO_PORT={newcomer.ports['7920']} {command}",
                          '(?s)"at once" .*"often" .*"once" .*in five seconds')
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(2 * WAIT) == 0 and "Stopped." in demo.text()
    newcomer.does("export PATH=")
    newcomer.lasts("zpland", READY)
    newcomer.lasts("zplan work", "serves jobs of")
    newcomer.does("zplan add", "(?s)accepted, first run at .*3 tries, then the next occurrence")
    wait_until(lambda: "hello world" in newcomer.run("zplan logs greeting"), "its first run has ended")
    follow = newcomer.lasts("zplan logs greeting --follow", "(?s)== run .*hello world.*== run .*hello world")
    assert follow.end() == -signal.SIGTERM
    newcomer.started.remove(follow)


@of_chapter("Ten commands")
def test_ten_commands(newcomer):
    newcomer.programs_are_found()
    newcomer.start(f"zpland --data {newcomer.folder}/data", READY)
    newcomer.start("zplan work -- sh -c '[ $ZPLAN_COMMAND = backup ] && echo 213 files saved'", "serves jobs of")
    receiver = newcomer.receiver("https://hooks.example/alert")
    newcomer.lasts("zplan-callback", READY)
    newcomer.does("zplan add --name nightly", "(?s)^plan [0-9a-f]+ accepted, first run at .*T0[01]:00:00Z\nretry: "
                                              "3 tries, then the next occurrence\n$")
    newcomer.does("zplan run nightly")
    wait_until(lambda: "213 files" in newcomer.run("zplan logs nightly"), "it has run")
    newcomer.does("zplan logs nightly", r"(?s)^== run \d+, .*ok, took \d.*\n213 files saved\n$")
    newcomer.does("zplan status", r"(?s)^healthy.*\nNEXT .*\nnightly .* jobs .* daily 02:00 Europe/Berlin.*Targets: jobs connected")
    newcomer.does("zplan list", "(?s)nightly.*02:00")
    newcomer.run("zplan add --command broken --retry none --now --name weekly --callback-on error --callback " + receiver.url())
    assert "error_info" in json.loads(receiver.next().body)
    receiver.close()
    wait_until(lambda: "weekly" in newcomer.run("zplan list --state error"), "it has failed")
    newcomer.does("zplan history --failed", "failed")
    newcomer.does("zplan why nightly", "(?i)not due yet.*its time")
    newcomer.does("zplan pause nightly", "nightly")
    assert json.loads(newcomer.run("zplan show nightly --json"))["state"] == "paused"
    newcomer.does("zplan resume nightly", "nightly")
    assert json.loads(newcomer.run("zplan show nightly --json"))["state"] == "queued"
    newcomer.script(newcomer.folder / "notify.sh", "cat >>told #")
    newcomer.lasts("zplan watch --failed --exec", "")
    told = newcomer.folder / "told"

    def fails():
        newcomer.run("zplan add --command broken --retry none --now")
        lines = told.read_text().splitlines(keepends=True) if told.exists() else []
        return lines and lines[0].endswith("\n") and json.loads(lines[0])
    assert wait_until(fails, "a failure is told", 2 * WAIT)["status"] == "failed"


@of_chapter("Flows")
def test_flows(newcomer):
    newcomer.programs_are_found()
    newcomer.start(f"zpland --data {newcomer.folder}/data", READY)
    newcomer.start("zplan work -- sh -c 'echo did $ZPLAN_COMMAND'", "serves jobs of")
    newcomer.file("night.yaml", "yaml")
    newcomer.does("zplan flow put", "^flow night: version 1, in use")
    newcomer.does("zplan flow start", r"(?s)dump +finished.*report +finished.*of flow night: finished\noutput .*did report")
    newcomer.does("zplan add --flow", "accepted, first run at .*T02:00:00Z")
    newcomer.does("zplan flow show last", "(?s)^run [0-9a-f]+ of flow night: finished.*upload +finished +\"did upload")
    newcomer.does("zplan flow why last/report", "^step [0-9a-f]+/report: finished")
    newcomer.does("zplan flow retry last report", "^run [0-9a-f]+ of flow night: running")
    wait_until(lambda: "night: finished" in newcomer.run("zplan flow show last"), "it has run again")


@of_chapter("From C")
def test_from_c(newcomer):
    newcomer.demo(worker=False)
    place = newcomer.installed()
    assert str(place) in newcomer.run("pkg-config --variable pc_path pkg-config")
    assert str(place.parent) in newcomer.run("cat /etc/ld.so.conf.d/*")
    newcomer.file("hello.c", "c")
    newcomer.does("cc hello.c", "^$")
    newcomer.does("./hello", r"^\+plan\n$")
    hello = (newcomer.folder / "hello.c").read_text()
    for name, word, other, told in (
            ("refused", '"jobs"', '"nix"', "nix"),
            ("unanswered", newcomer.ports["7920"], newcomer.ports["7940"], "no answer")):
        (newcomer.folder / f"{name}.c").write_text(hello.replace(word, other))
        newcomer.run(f"cc {name}.c $(pkg-config --cflags --libs zplan) -o {name}")
        assert told in newcomer.run(f"./{name}", code=1), name


@of_chapter("From Python")
def test_from_python(newcomer):
    newcomer.demo()
    newcomer.file("hello.py", "python")
    newcomer.does("PYTHONPATH=", r"^accepted [0-9a-f]+ for \d{4}-\S+Z\ngreet world: done\n\n$")
