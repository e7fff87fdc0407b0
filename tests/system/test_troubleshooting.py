"""zplan-troubleshooting(7): what its entries quote is what the programs say."""
import json
import os
import re
import signal
import time

import pytest
import redis

from readmetest import READY
from zplanprocs import REPO, WAIT, children, wait_until
from zplantest import FT, ST, FakeTarget

PAGE = os.path.join(REPO, "src", "man", "zplan-troubleshooting.7.in")

# Words of the page that the test here does not bring about: the test that sees them.
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
    "role: want manage, the key 'billing' has submit,observe": "test_readme_docker.py",
    "event=run.late": "test_zstationd.py",
    "standby": "test_faults_two.py",
    "no standby": "test_faults_two.py",
    "event=owner.lost": "faulttest.py",
    "event=migration.waits": "../store/test_owned.py",
    "event=clock.step": "test_faults_clock.py",
    "event=reload.kept_old": "test_faults_process.py",
    "event=access.kept_old": "test_curve.py",
    "event=zone.kept_old": "test_zones_reread.py",
}


def words_of_the_page():
    """What the entries' first lines have in bold."""
    with open(PAGE, encoding="utf-8") as file:
        heads = re.findall(r"^\.TP\n(.*)$", file.read(), re.M)
    assert len(heads) > 20
    return [word.replace("\\-", "-").replace("\\e", "\\") for head in heads
            for word in re.findall(r"\\fB(.*?)\\fR", head)]


@pytest.mark.parametrize("newcomer", [("README.md", "License")], indirect=True, ids=[""])     # no commands of its own
def test_what_the_page_quotes_is_what_the_programs_say(newcomer):
    newcomer.programs_are_found()
    says = [newcomer.run("zplan ping", code=3)]
    station = newcomer.start(
        f"zpland --data {newcomer.folder}/data --station jobs=api@{newcomer.at('7930')} "
        f"--station slow=api@{newcomer.at('7940')} --send-timeout 200 --exec-timeout 1 "
        "--max-plans-station 2", READY)
    says += brought_about(newcomer)
    doctor = newcomer.run("zplan doctor; true")
    assert re.search(r"the last \d+ runs? of target jobs failed: \d+ failed", doctor), doctor
    says.append(doctor)
    says.append(newcomer.run("zplan history --newest -n 20"))
    says.append(newcomer.run("zplan list --state error"))
    says += redis_stopped(newcomer, station)
    heard_of = "\n".join([*says, station.text()])
    for word in words_of_the_page():
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
    says.append(ended(" failed "))
    says.append(add("later", "--in 1d --id 1f"))
    says.append(add("later", "--in 1d", code=1))
    says.append(newcomer.run("zplan cancel 1f", code=1))
    says.append(add("nowhere", station="nix", code=1))
    # The command line would not let it out.
    says.append(newcomer.run(
        f"python3 tests/clients/zplan_client.py {newcomer.at('7920')} {newcomer.at('7921')} jobs "
        """x y '{"plan_type": "second", "plan_value": 40000, "plan_repet": 1}'""", code=1))
    slow = FakeTarget(newcomer.at("7940"))
    try:
        add("burnt", station="slow")
        slow.recv()                                 # not a word
        says.append(ended(" target did not answer "))
        answer_until("zplan history", " timed out ", ST.RUNING)       # and then no more
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
                                   "does not answer" in both[1] and both)(said()),
                          "Redis is seen to be away")
    finally:
        os.kill(server, signal.SIGCONT)


def test_the_other_words_are_seen_elsewhere():
    words = words_of_the_page()
    for word, name in SEEN_BY.items():
        assert word in words, word
        if name:
            with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as test:
                assert word.removeprefix("event=") in test.read(), word
