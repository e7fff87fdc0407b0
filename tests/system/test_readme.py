"""Every command of README.md is run, and does what stands beside it.

A test a chapter. How a document is read and where its commands run: readmetest.py; that no chapter is
without a test: test_documents.py.
"""
import json
import os
import re
import signal
import time

import pytest
import redis

import test_readme_docker
from readmetest import CHAPTERS, READY, chapters_of
from test_readme_docker import servers      # noqa: F401, a fixture
from zplanprocs import WAIT, children, wait_until
from zplantest import FT, ST, FakeTarget

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
    newcomer.lasts("zstationd", READY)
    newcomer.lasts("zplan work", "joined")
    watch = newcomer.lasts("zplan watch", "")
    newcomer.does("zplan add", "accepted, first run at")
    watch.seen('"hello" .*greet world: done')


@of_chapter("From a shell")
def test_from_a_shell(newcomer):
    newcomer.demo()
    newcomer.does("zplan add --station jobs --command report", r"accepted, first run at .*T08:30")
    newcomer.does("zplan add --station jobs --command cleanup", "plan 1f accepted, first run at")
    newcomer.does("zplan add --station jobs --command payroll", r"accepted, first run at .*T23:00")
    newcomer.does("zplan list", r"(?s)1f .*every \d+ min.*00.*queued.*weekly report.*payroll")
    newcomer.does("zplan show 1f", "cleanup")
    watch = newcomer.lasts("zplan watch", "")
    newcomer.does("zplan next", r"^(\d{4}-\d\d-\d\dT0[67]:00:00Z\n){3}$")
    newcomer.does("zplan pause --station jobs --title", "weekly report")
    newcomer.does("zplan pause 1f", "1f")
    assert '"state":"paused"' in newcomer.run("zplan show 1f --json").replace(" ", "")
    newcomer.does("zplan resume 1f", "1f")
    assert '"state":"queued"' in newcomer.run("zplan show 1f --json").replace(" ", "")
    newcomer.does("zplan skip 1f --count 3", "1f")
    newcomer.does("zplan update 1f", "1f")
    newcomer.does("zplan update --of-title", "(?s)weekly report.*later report|later report.*weekly")
    newcomer.does("zplan run 1f", "1f")
    heard(newcomer, watch)
    newcomer.does("zplan history 1f", r" 1f +jobs +\+ok +later report")
    newcomer.does("zplan close 1f", "1f")
    newcomer.does("zplan remove 1f", "1f")
    newcomer.does("zplan station add print", "print")
    newcomer.does("zplan station remove print", "print")
    newcomer.does("zplan stats", r"(?m)^plans +\d")
    newcomer.lasts("zplan top", r"(?m)^jobs +connected ")
    newcomer.does("zplan ping", "^[^-]")
    newcomer.does("zplan doctor", "the station does its work")
    in_bulk(newcomer)
    newcomer.does("echo 'source <(zplan completion bash)'")
    assert "zplan" in newcomer.run("source ~/.bashrc && complete -p zplan")


@of_chapter("Schedules and policies")
def test_schedules_and_policies(newcomer):
    newcomer.demo()
    newcomer.does("zplan add --station jobs --command report", r"accepted, first run at .*T0[67]:30")
    newcomer.does("zplan next --cron", r"^(\d{4}-\d\d-(28|29|30|31)T1[01]:00:00Z\n){3}$")
    newcomer.does("zplan add --station jobs --command dose", "accepted, first run at")
    newcomer.does("zplan add --station jobs --command bill", r"accepted, first run at .*-01T06:0")
    newcomer.does("zplan add --station jobs --command pull", "plan 2f accepted, first run at")
    newcomer.does("zplan add --station jobs --command send", "accepted, first run at")
    newcomer.does("zplan why 2f", "(?i)not due yet.*its time")
    newcomer.does("zplan cancel 2f", "no run of the plan is out", code=1)
    newcomer.does("zplan list --dead")
    newcomer.does("zplan done 2f", "done: the plan is in the state queue", code=1)
    newcomer.does("zplan kind put mail", "mail")
    newcomer.does("zplan add --station jobs --command send", "accepted, first run at")
    assert '"category":"mail"' in newcomer.run("zplan list --kind mail --json").replace(" ", "")
    newcomer.does("zplan limit set", "jobs")
    newcomer.run("zplan add --station jobs --command now --arg 1")
    wait_until(lambda: "now" in newcomer.run("zplan history --json") or
               "+ok" in newcomer.run("zplan history"), "it has run")
    newcomer.does("zplan archive history")
    newcomer.does("zplan history --archive history")


def in_bulk(newcomer):
    """Many plans, and another station that they go to."""
    newcomer.does("echo '{")
    newcomer.does("zplan add --from", "1 plan added")
    wait_until(lambda: "again" not in newcomer.run("zplan list"), "what ran once is over")
    newcomer.does("zplan export", "^$")
    other = {name: newcomer.at(port) for name, port in
             (("request", "8000"), ("publish", "8003"), ("events", "6379"))}
    newcomer.start(f"zpland --data {newcomer.folder}/other " + " ".join(
        f"--{name} {endpoint}" for name, endpoint in other.items()), READY)
    newcomer.run(f"zplan --connect {other['request']} station add jobs=api@{newcomer.at('7930')}")
    newcomer.words = {"tcp://10.0.0.7:7920": other["request"], **newcomer.words}
    newcomer.does("zplan --connect", "3 plans added")
    held = newcomer.run(f"zplan --connect {other['request']} list --state pause --json")
    assert all(title in held for title in ("weekly report", "payroll")), held
    newcomer.does("zplan --connect", r"\d reset")


def heard(newcomer, watch):
    """A watch begins when it has connected: runs until it has printed one, and all are over."""
    def one():
        newcomer.run("zplan add --station jobs --command cleanup --arg /tmp --title again")
        return re.search(r'"again" .*cleanup /tmp: done', watch.text())
    wait_until(one, "the watch prints a result")
    wait_until(lambda: "+ok" in newcomer.run("zplan history 1f"), "1f has run")


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
            ("refused", '"jobs"', '"nix"', "-no find: STATION_ID: no station 'nix' is known here"),
            ("unanswered", newcomer.ports["7920"], newcomer.ports["7940"], "no answer")):
        (newcomer.folder / f"{name}.c").write_text(hello.replace(word, other))
        newcomer.run(f"cc {name}.c $(pkg-config --cflags --libs zplan) -o {name}")
        output = newcomer.run(f"./{name} 2>&1 >stdout", code=1)
        assert told in output and newcomer.run("cat stdout") == "", (name, output)
    newcomer.file("worker.c", "c")
    newcomer.does("cc worker.c", "^$")
    worker = newcomer.lasts("./worker", "")
    wait_until(lambda: "+ok" in newcomer.run("zplan history"), "the worker has answered")
    assert worker.end() == -signal.SIGTERM      # it has no handler; the headers' example does
    newcomer.started.remove(worker)


@of_chapter("From Python")
def test_from_python(newcomer):
    newcomer.demo()
    newcomer.file("hello.py", "python")
    newcomer.does("PYTHONPATH=", r"^accepted [0-9a-f]+ first at \d+\n$")
    assert "hello" in newcomer.run("zplan list")


@of_chapter("From other languages")
def test_from_other_languages(newcomer):
    newcomer.demo(worker=False)
    newcomer.lasts("python3 tests/clients/zplan_worker.py", "told 01")
    newcomer.lasts("node tests/clients/worker.js", "told 01")
    told = r"^accepted as [0-9a-f]+, first run at \d+\n(ok: hello world\n){1,3}$"
    newcomer.does("python3 tests/clients/zplan_client.py", told)
    newcomer.does("node tests/clients/client.js", told)


# The chapters that docker/README.md has as well.

@of_chapter("Deploy it")
def test_deploy_it(newcomer):
    test_readme_docker.settings(newcomer)


@of_chapter("Redis")
def test_redis(newcomer, servers):
    test_readme_docker.redis_of_yours(newcomer, servers)


@of_chapter("Keys")
def test_keys(newcomer):
    test_readme_docker.keys(newcomer)


@of_chapter("Beside MicroZero")
def test_beside_microzero(newcomer):
    test_readme_docker.beside_microzero(newcomer)


# -- when something is wrong

# Words of the table that the chapter's own test does not bring about: the test that sees them.
SEEN_BY = {
    "event=access.left_out": "test_curve.py",
    "event=subscriber.cut": "test_subscribers.py",
    "is unresponsive since": "test_unresponsive.py",
    "is full": "test_data_folder.py",
    "data: other users may enter it": "test_data_folder.py",
    "MISCONF": "test_faults_redis.py",
    "No space left on device": None,    # the system's own words
    "data: damaged at byte": "test_repair.py",
    "is missing": "test_repair.py",
    "--accept-loss": "test_faults_redis.py",
    "appendfsync": "test_readme_docker.py",
    "--durable": "test_sentinel.py",
    "event=redis.lost_data": "test_faults_redis.py",
    "event=key.refused": "test_readme_docker.py",
    "-deny: role: want manage, the key 'billing' has submit,observe": "test_readme_docker.py",
    "event=late_run": "test_zstationd.py",
    "event=clock.step": "test_faults_clock.py",
    "event=reload.kept_old": "test_faults_process.py",
    "event=access.kept_old": "test_curve.py",
    "event=zone.kept_old": "test_zones_reread.py",
}


def words_of_the_table():
    """The code in the first column."""
    rows = [line for line in CHAPTERS["README.md"]["When something is wrong"].prose if line.startswith("| ")]
    assert len(rows) > 20
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


@of_chapter("When something is wrong")
def test_when_something_is_wrong(newcomer):
    """What the first column says is what the programs say."""
    newcomer.programs_are_found()
    says = [newcomer.run("zplan ping", code=3)]
    station = newcomer.start(
        f"zpland --data {newcomer.folder}/data --station jobs=api@{newcomer.at('7930')} "
        f"--station slow=api@{newcomer.at('7940')} --send-timeout 200 --exec-timeout 1 "
        "--max-plans-station 2", READY)
    says += brought_about(newcomer)
    doctor = newcomer.run(newcomer.next("zplan doctor") + "; true")
    assert re.search(r"the last \d+ runs? of target jobs failed: \d+ -failed", doctor), doctor
    says.append(doctor)
    says.append(newcomer.does("zplan history --newest -n 20", "STATUS"))
    says.append(newcomer.does("zplan list --state error", "burnt"))
    says += redis_stopped(newcomer, station)
    heard_of = "\n".join([*says, station.text()])
    for word in words_of_the_table():
        if word not in SEEN_BY:
            assert newcomer.here(word) in heard_of, f"{word!r} was not said:\n{heard_of}"


def brought_about(newcomer):
    """One trouble after the other; what the command line said."""
    def add(title, *words, station="jobs", code=0):
        return newcomer.run(f"zplan add --station {station} --command x --title {title} "
                            + " ".join(words), code)

    def ended(what):
        """Wait until the history tells this of a run."""
        return wait_until(lambda: what in newcomer.run("zplan history") and
                          newcomer.run("zplan history"), what)

    def answer_until(command, what, status):
        """Answer the runs of `slow` like this until the command tells that."""
        def told():
            if slow.socket.poll(50):
                run = slow.recv()
                slow.answer(run, status, [(FT.LOCAL_ID, run.local_id)])
            return what in newcomer.run(command)
        wait_until(told, what)
    says = [newcomer.run("zplan doctor"), add("early"), ended("the target is not connected")]
    newcomer.start(f"zstationd --name jobs --type api --request {newcomer.at('7930')} "
                   f"--workers {newcomer.at('7931')}", READY)
    says += [ended("no worker has joined"), newcomer.run("zplan doctor; true")]
    newcomer.start(f"zplan work --station {newcomer.at('7931')} -- sh -c 'exit 7'", "joined")
    says.append(ended("-failed"))
    says.append(add("later", "--in 1d --id 1f"))
    says.append(add("later", "--in 1d", code=1))
    says.append(newcomer.run("zplan done 1f", code=1))
    says.append(add("nowhere", station="nix", code=1))
    # The command line would not let it out.
    says.append(newcomer.run(
        f"python3 tests/clients/zplan_client.py {newcomer.at('7920')} {newcomer.at('7921')} jobs "
        """x y '{"plan_type": "second", "plan_value": 40000, "plan_repet": 1}'""", code=1))
    slow = FakeTarget(newcomer.at("7940"))
    try:
        add("burnt", station="slow")
        slow.recv()                                 # not a word
        says.append(ended("-recv error"))
        answer_until("zplan history", "-time out", ST.RUNING)       # and then no more
        says.append(newcomer.run("zplan history"))
        answer_until("zplan list --state error", "burnt", ST.PLANERROR)
    finally:
        slow.close()
    spoil(newcomer, "1f")
    wait_until(lambda: "1f " in newcomer.run("zplan list --state error"), "1f is parked")
    says.append(newcomer.run("zplan stats"))
    return [*says, *os.listdir(newcomer.folder / "data")]


def spoil(newcomer, ident):
    """A hand in Redis takes the frames of a plan away, and makes it due."""
    db = redis.Redis(unix_socket_path=f"{newcomer.folder}/data/redis.sock", socket_timeout=WAIT)
    key = f"plan:msg:jobs:{ident}"
    plan = json.loads(db.get(key))
    db.set(key, json.dumps({**plan, "messages": plan["messages"][:2]}))
    db.zadd("plan:time:set", {key: int(time.time())})


def redis_stopped(newcomer, station):
    """The embedded Redis does not answer; then it does again."""
    server, = children(station.process.pid)

    def said():
        return [newcomer.run("zplan doctor; true"),
                newcomer.run("zplan add --station jobs --command x; true")]
    os.kill(server, signal.SIGSTOP)
    try:
        return wait_until(lambda: (lambda both: "Redis is opening" in both[0] and
                                   "stopped answering" in both[1] and both)(said()),
                          "Redis is seen to be away")
    finally:
        os.kill(server, signal.SIGCONT)


def test_the_other_words_are_seen_elsewhere():
    words = words_of_the_table()
    for word, name in SEEN_BY.items():
        assert word in words, word
        if name:
            with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as test:
                assert word.removeprefix("event=") in test.read(), word
