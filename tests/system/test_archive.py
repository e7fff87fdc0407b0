"""zplan archive: outcomes go from the history into files, each once, with all their fields; and
`zplan history --archive` reads them back. Also the word `forget`, by which they go."""
import fcntl
import json
import os
import signal
import struct
import subprocess
import threading
import time

import pytest

from clitest import DONE, NO_ANSWER, REFUSED, USAGE, ZPLAN, start, zplan
from zplantest import ST, WAIT, at_once, told, wait_until

T0 = 1_790_000_000_000      # ms: 2026-09-21
DAY = 86_400_000
EPOCH = "6b00fdb631fa6"

HAS_POINTS = b"ZPLAN_FAILPOINT" in open(ZPLAN, "rb").read()


AGED = ("--history-age", "100000000")     # seconds: nothing is too old


@pytest.fixture
def rig(make_rig):
    return make_rig(*AGED)


# A history of any length, written as the scripts write it.

def packed(value):
    if isinstance(value, int):
        return struct.pack(">Bq", 0xd3, value)
    if isinstance(value, dict):
        return bytes([0x80 | len(value)]) + b"".join(packed(k) + packed(v) for k, v in value.items())
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">BH", 0xda, len(data)) + data


def record(number, status=ST.OK, **fields):
    return packed({"title": f"title {number} é", "nominal": T0 // 1000 + number, "status": status,
                   "state": 1, "exec_id": (T0 + number) * 1000 + 7, "worker": "w", "size": number,
                   "reason": "-why" if status > 0x80 else "", **fields})


def plan_of(number):
    return f"{1 + number % 3:x}"


def station_of(number):
    return "news" if number % 5 == 0 else "jobs"


def status_of(number):
    return (ST.OK, ST.FAILED, 0x86, 0x90, 0x91, ST.OK, 0x83)[number % 7]


def fill(rig, count, first=1, step=1000, several=0):
    """So many outcomes, some of one entry."""
    with rig.db.pipeline(transaction=False) as pipe:
        at = first
        while at < first + count:
            size = several if several and at % 2 == 0 else 1
            size = min(size, first + count - at)
            numbers = range(at, at + size)
            at += size
            last = numbers[-1]
            if size == 1:
                pipe.xadd("plan:history", {"p": plan_of(last), "s": station_of(last), "t": T0 + last * step,
                                           "r": record(last, status_of(last))}, id=f"{last}-0")
                continue
            rows = b"".join(b"\x93" + packed(plan_of(n)) + packed(station_of(n)) + packed(record(n, status_of(n)))
                            for n in numbers)
            pipe.xadd("plan:history", {"t": T0 + last * step, "n": size,
                                       "m": struct.pack(">BH", 0xdc, size) + rows}, id=f"{last}-0")
        pipe.hset("plan:meta", mapping={"seq": first + count - 1, "epoch": EPOCH})
        pipe.execute()


def runs_of(rig, **query):
    """All pages of the station's history."""
    query, found = {"limit": 1000, **query}, []
    while True:
        answer = rig.client.done("history", query).json
        found += answer["runs"]
        if "next" not in answer:
            return found
        query["after"] = answer["next"]


def cli(rig, *args, **options):
    return zplan("--connect", rig.ipc("q"), "--timeout", str(int(WAIT * 1000)), *args, **options)


def archive(rig, *args, **options):
    return json.loads(cli(rig, "archive", "--json=wire", *map(str, args), **options).done())


def lines_of(*files):
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def in_files(folder):
    return lines_of(*sorted(folder.glob("history-*.ndjson")))


def without_epoch(lines, epoch=EPOCH):
    assert {line["epoch"] for line in lines} <= {epoch}
    return [{name: value for name, value in line.items() if name != "epoch"} for line in lines]


def by_entry(runs):
    return sorted(runs, key=lambda run: run["seq"])


# What is moved.

@pytest.mark.parametrize("several", [0, 30])
def test_all_are_moved_with_all_their_fields(rig, tmp_path, several):
    fill(rig, 2500, step=DAY // 40, several=several)
    before = runs_of(rig)
    assert len(before) == 2500
    answer = archive(rig, tmp_path / "new")
    assert (answer["moved"], answer["known"], answer["dry_run"]) == (2500, 0, False)
    assert without_epoch(in_files(tmp_path / "new")) == before
    assert runs_of(rig) == [] and rig.db.xlen("plan:history") == 0
    for name, count in answer["files"].items():
        file = tmp_path / "new" / name
        assert file.stat().st_mode & 0o777 == 0o600 and len(file.read_text().splitlines()) == count
        months = {time.strftime("history-%Y-%m.ndjson", time.gmtime(line["ended"]))
                  for line in lines_of(file)}
        assert months == {name}
    assert len(answer["files"]) >= 3 and sum(answer["files"].values()) == 2500
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_runs_of_the_station_itself(rig, tmp_path):
    """No outcome that was written by hand, and results that go on coming."""
    results = rig.subscribe(b"at once")
    for n in range(3):
        rig.client.added(at_once())
        rig.jobs.finish(rig.jobs.recv(), ST.FAILED if n == 1 else ST.OK)
        results.recv()
    before = runs_of(rig)
    epoch = rig.client.done("history").json["epoch"]
    answer = archive(rig, tmp_path)
    assert answer["moved"] == len(before)
    assert without_epoch(in_files(tmp_path), epoch) == before
    assert rig.client.done("stats").json["counters"]["forgotten"] == len(before)
    rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    news = told(results.recv())
    assert news["epoch"] == epoch and news["seq"] > before[-1]["seq"]
    wait_until(lambda: [run["seq"] for run in runs_of(rig)][-1:] == [news["seq"]], "the next outcome")


SELECTED = [
    ([], lambda run: True),
    (["--station", "news"], lambda run: run["station"] == "news"),
    (["--plan", "0002"], lambda run: run["plan"] == "2"),
    (["--state", "ok"], lambda run: run["status"] < 0x80),
    (["--state", "failed"], lambda run: run["status"] in (ST.FAILED, 0x83)),
    (["--state", "lost"], lambda run: run["status"] == 0x86),
    (["--state", "cancelled", "--state", "missed"], lambda run: run["status"] in (0x90, 0x91)),
    (["--state", "no find"], lambda run: run["status"] == 0x83),
    (["--state", "-no find", "--state", "0x90"], lambda run: run["status"] in (0x83, 0x90)),
    (["--state", "145"], lambda run: run["status"] == 0x91),
    (["--plan", "1", "--state", "ok", "--station", "jobs"],
     lambda run: run["plan"] == "1" and run["status"] < 0x80 and run["station"] == "jobs"),
]


@pytest.mark.parametrize("options, fits", SELECTED, ids=[" ".join(row[0]) for row in SELECTED])
def test_what_is_selected_and_nothing_else(rig, tmp_path, options, fits):
    fill(rig, 300, several=20)
    before = runs_of(rig)
    wanted = [run for run in before if fits(run)]
    assert 0 < len(wanted) <= 300
    assert archive(rig, tmp_path, "--dry-run", *options)["moved"] == len(wanted)
    assert list(tmp_path.iterdir()) == [] and runs_of(rig) == before
    if "--plan" not in options:
        shown = cli(rig, "history", "--json=wire", *options).done().splitlines()
        assert [json.loads(line)["entry"] for line in shown] == [run["entry"] for run in wanted]
    assert archive(rig, tmp_path, *options)["moved"] == len(wanted)
    assert without_epoch(in_files(tmp_path)) == wanted
    assert runs_of(rig) == [run for run in before if not fits(run)]
    assert archive(rig, tmp_path)["moved"] == 300 - len(wanted)
    assert by_entry(without_epoch(in_files(tmp_path))) == before and runs_of(rig) == []


def named(rig, name, runs, **fields):
    """A plan of this name, and so many of its runs in the history."""
    plan = {"plan_type": "none", "key": name, **fields}
    for _ in range(runs):
        ident = rig.client.added(plan)
        rig.jobs.finish(rig.jobs.recv())
        rig.gone(ident)
    return ident


def test_a_plan_by_its_name(rig, tmp_path):
    """In the history, and in the archive; a text that is an id is one first."""
    nightly, feed = named(rig, "nightly", 2), named(rig, "feed", 1)
    other = rig.client.added(at_once())
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(other)
    assert archive(rig, tmp_path / "a", "--plan", "nope")["moved"] == 0
    assert archive(rig, tmp_path / "a", "--plan", "nightly", "--dry-run")["moved"] == 2
    assert archive(rig, tmp_path / "a", "--plan", "nightly")["moved"] == 2
    assert archive(rig, tmp_path / "a", "--plan", "feed")["moved"] == 1       # no run has the id feed
    assert {run["plan"] for run in runs_of(rig)} == {other}

    def shown(*plans, code=DONE, **options):
        ended = zplan("history", "--archive", str(tmp_path / "a"), "--json", *plans, **options)
        assert ended.code == code, ended.err
        return [json.loads(line)["plan"] for line in ended.out.splitlines()]
    assert shown("nightly") == shown("key:nightly") == shown(nightly) == [nightly] * 2
    assert shown("feed") == shown("key:feed") == [feed] and shown("feed", "nightly") == [feed, nightly, nightly]
    assert shown("nightly", "--state", "failed") == []          # it has others
    for plan in ("nope", "key:nope", "abc", "key:feeds"):
        assert shown(plan, code=REFUSED) == []
    assert "zplan: nope: no run of it in the archive" in \
        zplan("history", "--archive", str(tmp_path / "a"), "key:nope").failed(REFUSED)

    by_id = rig.client.added(at_once(), gid="feed")
    rig.jobs.finish(rig.jobs.recv())
    rig.gone(by_id)
    named(rig, "feed", 1)
    assert archive(rig, tmp_path / "b", "--plan", "feed")["moved"] == 1
    assert [line["plan"] for line in in_files(tmp_path / "b")] == ["feed"]
    assert archive(rig, tmp_path / "b", "--plan", "key:feed")["moved"] == 1
    assert [line["plan"] for line in in_files(tmp_path / "b")] == ["feed", feed]


def test_by_age(rig, tmp_path):
    now = int(time.time() * 1000)
    for n in range(1, 11):
        rig.db.xadd("plan:history", {"p": "1", "s": "jobs", "t": now - (11 - n) * 3_600_000,
                                     "r": record(n)}, id=f"{n}-0")
    rig.db.hset("plan:meta", mapping={"seq": 10, "epoch": EPOCH})
    assert archive(rig, tmp_path, "--older-than", "30d")["moved"] == 0
    assert archive(rig, tmp_path, "--older-than", "7h30m")["moved"] == 3
    assert [run["seq"] for run in runs_of(rig)] == list(range(4, 11))
    assert archive(rig, tmp_path, "--older-than", "0s", "--keep", "5")["moved"] == 2
    assert [run["seq"] for run in runs_of(rig)] == list(range(6, 11))


@pytest.mark.parametrize("keep", [1, 99, 100, 101, 299, 300, 301, 10**12])
def test_by_count(rig, tmp_path, keep):
    fill(rig, 300, several=20)
    before = runs_of(rig)
    stay = min(keep, 300)
    assert archive(rig, tmp_path, "--keep", keep)["moved"] == 300 - stay
    assert runs_of(rig) == before[300 - stay:]
    assert without_epoch(in_files(tmp_path)) == before[:300 - stay]


def test_the_newest_of_those_selected_stay(rig, tmp_path):
    fill(rig, 100)
    before = runs_of(rig)
    news = [run for run in before if run["station"] == "news"]
    assert archive(rig, tmp_path, "--station", "news", "--keep", "3")["moved"] == len(news) - 3
    assert runs_of(rig) == [run for run in before if run not in news[:-3]]


def test_into_one_file(rig, tmp_path):
    fill(rig, 50, step=DAY)
    before = runs_of(rig)
    text = cli(rig, "archive", "--to", str(tmp_path / "all"), "--keep", "10").done()
    assert text == f"40 outcomes moved to {tmp_path / 'all'}\n"
    assert cli(rig, "archive", "--to", str(tmp_path / "all")).done().startswith("10 outcomes moved")
    assert without_epoch(lines_of(tmp_path / "all")) == before


def test_results_that_come_meanwhile_are_kept(rig, tmp_path):
    """Runs end while it is at work: each outcome is in one of both, once."""
    rig.station.stop()      # its numbers go on behind these
    fill(rig, 3000)
    rig.station.start()
    ended, stop = [], threading.Event()

    def work():
        while not stop.is_set():
            if rig.jobs.socket.poll(100):
                run = rig.jobs.recv()
                rig.jobs.finish(run)
                ended.append(run.exec_id)
    worker = threading.Thread(target=work)
    worker.start()
    moved = 0
    try:
        for _ in range(3):
            process = start("--connect", rig.ipc("q"), "--timeout", str(int(WAIT * 1000)), "archive", "--json=wire",
                            str(tmp_path))
            idents = [rig.client.added(at_once()) for _ in range(100)]
            out, err = process.communicate(timeout=WAIT)
            assert (process.returncode, err) == (DONE, b"")
            moved += json.loads(out)["moved"]
        wait_until(lambda: len(ended) == 300, "the runs")
        for ident in idents:
            rig.gone(ident)
    finally:
        stop.set()
        worker.join()
    moved += archive(rig, tmp_path)["moved"]
    assert moved == 3300 and runs_of(rig) == []
    lines = in_files(tmp_path)
    assert sorted(line["seq"] for line in lines) == list(range(1, 3301))
    assert sorted(line["exec_id"] for line in lines if line["seq"] > 3000) == sorted(ended)


# A crash at any point.

def killed(rig, point, *args, **env):
    ended = cli(rig, "archive", *map(str, args), env={"ZPLAN_FAILPOINT": point, **env})
    assert ended.code == -signal.SIGKILL, (ended.code, ended.err)


@pytest.mark.skipif(not HAS_POINTS, reason="built without failpoints")
@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("point", ["archive-begun", "archive-written", "archive-forgotten"])
def test_killed_between_two_steps(rig, tmp_path, point, nth):
    fill(rig, 3300, step=DAY // 60, several=16)
    before = runs_of(rig)
    killed(rig, f"{point}:{nth}", tmp_path)
    there = {line["seq"] for line in in_files(tmp_path)} | {run["seq"] for run in runs_of(rig)}
    assert len(there) == 3300       # nothing is lost now already
    answer = archive(rig, tmp_path)
    assert (answer["known"] > 0) == (point == "archive-written")
    assert without_epoch(in_files(tmp_path)) == before and runs_of(rig) == []


@pytest.mark.skipif(not HAS_POINTS, reason="built without failpoints")
def test_other_filters_after_a_crash(rig, tmp_path):
    """What was written and not taken out is known, though much was added behind it."""
    fill(rig, 2500)
    before = runs_of(rig)
    killed(rig, "archive-written", tmp_path, "--station", "news")
    assert archive(rig, tmp_path, "--station", "jobs")["known"] == 0
    assert archive(rig, tmp_path)["known"] == 500
    assert by_entry(without_epoch(in_files(tmp_path))) == before


def test_a_redis_that_forgot_what_was_taken_out(rig, tmp_path):
    """Its last writes are lost: the outcomes are there again, and go without being doubled."""
    fill(rig, 400, several=10)
    dumped = rig.db.dump("plan:history")
    before = runs_of(rig)
    archive(rig, tmp_path, "--state", "ok")
    rig.db.delete("plan:forgot")
    rig.db.restore("plan:history", 0, dumped, replace=True)
    rig.db.hset("plan:meta", "epoch", "e2")     # and so it counts anew
    answer = archive(rig, tmp_path)
    assert (answer["moved"], answer["known"]) == (400, sum(run["status"] < 0x80 for run in before))
    seqs = [line["seq"] for line in in_files(tmp_path)]
    assert sorted(seqs) == list(range(1, 401))


@pytest.mark.parametrize("torn", ['{"entry":"77-0","seq":77,"pl', "{", '{"a":1}'])
def test_a_line_that_was_cut_is_taken_away(rig, tmp_path, torn):
    fill(rig, 20)
    before = runs_of(rig)
    archive(rig, tmp_path, "--keep", "10")
    file, = tmp_path.iterdir()
    with file.open("a") as out:
        out.write(torn)
    ended = cli(rig, "archive", str(tmp_path))
    assert ended.code == DONE and f"{file.name}: line 11 was cut by a crash" in ended.err
    assert without_epoch(in_files(tmp_path)) == before


def test_a_last_line_without_its_newline(rig, tmp_path):
    fill(rig, 20)
    before = runs_of(rig)
    archive(rig, tmp_path, "--keep", "10")
    file, = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    archive(rig, tmp_path)
    assert without_epoch(in_files(tmp_path)) == before


@pytest.mark.parametrize("text", ["root:x:0:0\n", "root", '{"no": "outcome"}\n', "\n", "x" * 70000])
def test_a_file_of_somebody_else_stays_as_it_is(rig, tmp_path, text):
    fill(rig, 5)
    before = runs_of(rig)
    (tmp_path / "f").write_text(text)
    assert "is no archive" in cli(rig, "archive", "--to", str(tmp_path / "f")).failed(REFUSED)
    assert (tmp_path / "f").read_text() == text and runs_of(rig) == before


def test_a_disk_that_is_full(rig, tmp_path):
    """Nothing is taken out; the file is as it was."""
    fill(rig, 1500)
    before = runs_of(rig)
    limit = ["bash", "-c", 'ulimit -f 100; exec "$@"', "-"]
    ended = subprocess.run([*limit, ZPLAN, "--connect", rig.ipc("q"), "archive", str(tmp_path)],
                           capture_output=True, text=True, timeout=WAIT)
    assert ended.returncode == REFUSED and "File too large" in ended.stderr, ended
    assert runs_of(rig) == before and in_files(tmp_path) == []
    assert archive(rig, tmp_path)["moved"] == 1500
    assert without_epoch(in_files(tmp_path)) == before


@pytest.mark.parametrize("where", ["/nonexistent/x", "/dev/null", "/proc/x"])
def test_a_place_that_cannot_be_written(rig, where):
    fill(rig, 3)
    assert where in cli(rig, "archive", where).failed(REFUSED)
    assert where in cli(rig, "archive", "--to", where).failed(REFUSED)
    assert len(runs_of(rig)) == 3


def test_outcomes_that_were_written_by_hand(rig, tmp_path):
    """One without a sound time stays, and holds up none; one without anything is moved."""
    fill(rig, 3)
    rig.db.xadd("plan:history", {"p": "1", "s": "jobs", "t": "-5", "r": record(4)}, id="4-0")
    rig.db.xadd("plan:history", {"r": record(5)}, id="5-0")
    fill(rig, 3, first=6)
    before = runs_of(rig)
    ended = cli(rig, "archive", str(tmp_path), "--keep", "1")
    assert (ended.code, ended.out) == (REFUSED, f"6 outcomes moved to {tmp_path}\n")
    assert "without an entry or a sound time, and not moved: 1" in ended.err
    assert [run["seq"] for run in runs_of(rig)] == [4, 8]
    assert by_entry(without_epoch(in_files(tmp_path))) == [run for run in before if run["seq"] not in (4, 8)]


def test_two_archives_at_once(rig, tmp_path):
    fill(rig, 5)
    for path, options in ((tmp_path, [tmp_path]), (tmp_path / "f", ["--to", tmp_path / "f"])):
        fd = os.open(path, os.O_RDONLY if path == tmp_path else os.O_RDWR | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)
        err = cli(rig, "archive", *map(str, options)).failed(REFUSED)
        assert "another archive is at work there" in err
        os.close(fd)
    assert archive(rig, tmp_path)["moved"] == 5


def test_many_archives_at_once(rig, tmp_path):
    fill(rig, 3000, several=8)
    before = runs_of(rig)
    racing = [start("--connect", rig.ipc("q"), "--timeout", str(int(WAIT * 1000)), "archive", str(tmp_path))
              for _ in range(4)]
    codes = []
    for process in racing:
        _, err = process.communicate(timeout=WAIT)
        codes.append(process.returncode)
        assert process.returncode == DONE or b"another archive" in err, err
    assert DONE in codes
    assert without_epoch(in_files(tmp_path)) == before and runs_of(rig) == []


def test_no_station(tmp_path):
    ended = zplan("--connect", f"ipc://{tmp_path}/none", "--timeout", "100", "archive", str(tmp_path / "a"))
    assert ended.code == NO_ANSWER and in_files(tmp_path / "a") == []


def test_a_large_history_in_bounded_memory(rig, tmp_path):
    """Far less than what is moved; the next one, which reads the files, too."""
    fill(rig, 20_000, several=64)
    before = runs_of(rig)
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    peaks = []
    for options in (["--dry-run"], [], []):
        done = subprocess.run(["/usr/bin/python3", "-c", code, ZPLAN, "--connect", rig.ipc("q"),
                               "--timeout", "60000", "archive", *options, str(tmp_path)],
                              capture_output=True, text=True, timeout=6 * WAIT, check=True)
        peaks.append(int(done.stdout.splitlines()[-1]))
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert size > 5_000_000
    assert peaks[1] - peaks[0] < 30_000, peaks      # KiB, under sanitizers too
    assert without_epoch(in_files(tmp_path)) == before and runs_of(rig) == []


# Who misses what.

def missed(rig, since):
    return rig.client.done("history", {"since": since}).json["missed"]


def test_a_subscriber_behind_what_was_moved_hears_that_it_is_missed(rig, tmp_path):
    fill(rig, 30, several=4)
    assert not missed(rig, 0)
    archive(rig, tmp_path, "--station", "news")     # 5, 10, ... 30
    assert all(missed(rig, since) for since in range(30)) and not missed(rig, 30)
    fill(rig, 4, first=31)
    assert missed(rig, 29) and not missed(rig, 30) and not missed(rig, 34)
    archive(rig, tmp_path)
    assert missed(rig, 33) and not missed(rig, 34)


def test_zplan_history_says_that_they_were_moved(rig, tmp_path):
    fill(rig, 10)
    archive(rig, tmp_path, "--station", "news")     # 5 and 10
    ended = cli(rig, "history", "--since", "2", "--json=wire")
    assert [json.loads(line)["seq"] for line in ended.out.splitlines()] == [3, 4, 6, 7, 8, 9]
    assert "some outcomes after 2 were moved into an archive" in ended.err


# forget, the word.

@pytest.mark.parametrize("argument, reason", [
    ("x", "JSON"), ("[]", ""), ({}, "epoch: is missing"), ({"epoch": EPOCH}, "entries: is missing"),
    ({"entries": []}, "epoch: is missing"), ({"epoch": 7, "entries": []}, "epoch: want"),
    ({"epoch": "x" * 33, "entries": []}, "epoch: want"), ({"epoch": "e2", "entries": []}, "epoch: is"),
    ({"epoch": "e2", "entries": ["1-0"]}, f"epoch: is '{EPOCH}' now, not 'e2'"),
    ({"epoch": EPOCH, "entries": "1-0"}, "entries: want"), ({"epoch": EPOCH, "entries": ["1"]}, "entries: want"),
    ({"epoch": EPOCH, "entries": ["1-0 2-0"]}, "entries: want"),
    ({"epoch": EPOCH, "entries": ["1-0:"]}, "entries: want"),
    ({"epoch": EPOCH, "entries": ["1-0:x"]}, "entries: want"),
    ({"epoch": EPOCH, "entries": ["1-0:5:5"]}, "entries: want"),
    ({"epoch": EPOCH, "entries": ["1-0\0"]}, ""), ({"epoch": EPOCH, "entries": ["-"]}, "entries: want"),
    ({"epoch": EPOCH, "entries": ["1-0", 2]}, "entries: want"),
    ({"epoch": EPOCH, "entries": ["1-" + "9" * 30]}, "entries: want"),
    ({"epoch": EPOCH, "entries": ["1-0"] * 1001}, "entries: want"),
    ({"epoch": EPOCH, "entries": [["1-0"]]}, "entries: want"),
    ({"epoch": EPOCH, "entries": [], "station": ""}, "station: want"),
    ({"epoch": EPOCH, "entries": [], "station": "x" * 65}, "station: want"),
    ({"epoch": EPOCH, "entries": [], "all": True}, "'all': unknown field"),
])
def test_forget_refuses(rig_of_ten, argument, reason):
    rig, before = rig_of_ten
    assert reason in rig.client.refused("forget", argument)
    assert runs_of(rig) == before


@pytest.fixture(scope="module")
def rig_of_ten(make_shared):
    rig = make_shared(*AGED)
    fill(rig, 10)
    return rig, runs_of(rig)


def test_forget(rig):
    fill(rig, 10)
    before = runs_of(rig)

    def forget(*entries, **more):
        return rig.client.done("forget", {"epoch": EPOCH, "entries": entries, **more}).json
    assert "argument" in rig.client.refused("forget") and "2 arg" in rig.client.refused("forget", "{}", "{}")
    assert forget() == {"forgotten": 0}
    assert forget("3-0", "5-0", "99-0", "3-1") == {"forgotten": 2}
    assert forget("3-0") == {"forgotten": 0}
    assert forget("5-0", "6-0", "10-0", station="news") == {"forgotten": 1}
    assert forget(f"7-0:{T0 + 1}", f"8-0:{T0 + 8000}") == {"forgotten": 1}
    assert runs_of(rig) == [run for run in before if run["seq"] not in (3, 5, 8, 10)]
    assert rig.client.done("stats").json["counters"]["forgotten"] == 4
    assert forget(*(f"{n}-0" for n in range(1, 1001))) == {"forgotten": 6}


# Reading back.

@pytest.fixture(scope="module")
def moved(make_shared, tmp_path_factory):
    """(rig with a history, an archive of the same)"""
    rig, folder = make_shared(*AGED), tmp_path_factory.mktemp("archive")
    fill(rig, 200, step=DAY // 2, several=6)
    keys = {key: rig.db.dump(key) for key in (b"plan:history", b"plan:meta")}
    archive(rig, folder, "--station", "news")       # so that they do not stand in order
    archive(rig, folder)
    for key, value in keys.items():
        rig.db.restore(key, 0, value, replace=True)
    assert len(list(folder.iterdir())) == 4 and len(runs_of(rig)) == 200
    return rig, folder


@pytest.mark.parametrize("options", [
    [], ["--newest"], ["-n", "7"], ["--newest", "-n", "7"], ["--station", "news"], ["--state", "lost"],
    ["2"], ["2", "3", "-n", "5"], ["2", "--newest", "-n", "3"], ["--since", "150"],
    ["--since", "150", "--epoch", EPOCH], ["--since", "0"], ["--since", "200"],
    ["--station", "jobs", "--state", "failed", "--state", "missed", "--newest"],
], ids=" ".join)
def test_history_of_an_archive_is_that_of_the_station(moved, options):
    rig, folder = moved
    for form in ([], ["--json=wire"], ["--times", "unix"]):
        expected = cli(rig, "history", *options, *form).done()
        assert zplan("history", "--archive", str(folder), *options, *form).done() == expected
    assert expected.count("\n") > 0


def test_history_of_one_file(moved, tmp_path):
    rig, folder = moved
    (tmp_path / "one").write_text("".join(file.read_text() for file in sorted(folder.iterdir())))
    assert zplan("history", "--archive", str(tmp_path / "one")).done() == cli(rig, "history").done()


def test_history_of_an_archive_in_another_epoch(moved):
    out = zplan("history", "--archive", str(moved[1]), "--since", "3", "--epoch", "e2", "--json=wire").done()
    assert out == ""


def test_broken_lines_are_told_and_passed_over(moved, tmp_path):
    rig, folder = moved
    for file in folder.iterdir():
        (tmp_path / file.name).write_text(file.read_text())
    (tmp_path / "notes").write_text("other files are left alone")
    (tmp_path / "history-2026-1.ndjson").write_text("nor is this a month")
    first = sorted(tmp_path.glob("history-????-??.ndjson"))[0]
    lines = first.read_text().splitlines()
    broken = ["x" * 100_000, "", "{}", '{"entry":"5-0"', '{"entry":"x","ended":1}', "\0",
              '{"entry":"5-0","ended":-1}', '{"entry":"5-0","ended":1e300}']
    first.write_text("\n".join(lines[:3] + broken + lines[3:]) + "\n{\"entry\":\"9")
    ended = zplan("history", "--archive", str(tmp_path), "--json=wire")
    assert ended.code == REFUSED
    assert ended.out == cli(rig, "history", "--json=wire").done()
    numbers = [*range(4, 4 + len(broken)), len(lines) + len(broken) + 1]
    assert ended.err.splitlines() == [f"zplan: {first.name}: line {n} is no outcome: skipped"
                                      for n in numbers]


def test_what_an_outcome_holds_does_not_reach_the_terminal(tmp_path):
    run = {"entry": "1-0", "seq": 1, "plan": "\x1b[31m", "station": "\x1b]0;x\x07", "title": "\x1b[2J\u202e",
           "nominal": "x", "fired": [], "ended": 5, "status": {}, "state": 1, "exec_id": 1.5,
           "worker": None, "size": "", "reason": {"b64": "G1s="}, "epoch": 7}
    (tmp_path / "f").write_text(json.dumps(run) + "\n")
    for form in ([], ["--json=wire"]):
        out = zplan("history", "--archive", str(tmp_path / "f"), *form).done()
        assert "\x1b" not in out and "\x07" not in out and "\u202e" not in out


@pytest.mark.parametrize("path", ["/nonexistent", "/dev/null", "/proc/self/mem"])
def test_an_archive_that_cannot_be_read(path):
    assert path in zplan("history", "--archive", path, "--json=wire").failed(REFUSED)


def test_an_empty_archive(tmp_path):
    assert zplan("history", "--archive", str(tmp_path), "--json=wire").done() == ""
    assert zplan("history", "--archive", str(tmp_path)).done().startswith("PLAN ")


# What is no sense.

@pytest.mark.parametrize("args, reason", [
    (["archive"], "want either a folder or --to FILE"),
    (["archive", "x", "--to", "y"], "want either a folder or --to FILE"),
    (["archive", "x", "y"], "want one folder"), (["archive", "x", "--older-than", "soon"], "--older-than: want"),
    (["archive", "x", "--keep", "0"], "--keep: want"), (["archive", "x", "--state", "fine"], "--state: want ok"),
    (["archive", "x", "--state", "256"], "--state: want"), (["archive", "x", "--state", ""], "--state: want"),
    (["archive", "x", "--plan", ""], "want a plan id"), (["archive", "x", "--station", b"\xff"], "--station: want"),
    (["history", "--state", "-1"], "--state: want"), (["history", "--archive", "x", "--epoch", "e"], "--epoch"),
])
def test_usage(args, reason):
    assert reason in zplan(*args).failed(USAGE)
