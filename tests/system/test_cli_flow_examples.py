"""Twelve definitions as people write them (flows/): what check says of each, and how its runs end."""
import json
import pathlib

import pytest

from clitest import zplan

FLOWS = pathlib.Path(__file__).parent / "flows"
NAMES = sorted(path.name for path in FLOWS.iterdir())
AT = ["--at", "2026-01-31T02:00"]
ORDER = {"order": "o1"}
BOOKED = {"booking": "b7", "id": "b7", "price": 100}


def test_there_are_twelve_and_a_sub_flow():
    assert len([name for name in NAMES if name.endswith(".json")]) == 6
    assert len([name for name in NAMES if name.endswith(".yaml")]) == 7


def test_all_are_good():
    answers = [json.loads(line) for line in
               zplan("flow", "check", "--json", *(str(FLOWS / name) for name in NAMES)).done().splitlines()]
    assert [pathlib.Path(answer["file"]).name for answer in answers] == NAMES
    assert {name.split(".")[0]: answer["check"]["steps_max"] for name, answer in zip(NAMES, answers)} == {
        "etl": 3, "thumbs": 10002, "purchase": 4, "trip": 3, "nightly": 7, "release": 3,
        "orders": 10003, "rollout": 5, "files": 102, "journey": 4, "booking": 2, "backup": 4, "sale": 6}
    assert {name.split(".")[0]: answer["check"].get("warnings") for name, answer in zip(NAMES, answers)
            if "warnings" in answer["check"]} == {
        "orders": ["empty also runs when no edge to load is live, not only when its if is false"]}


# What is given (input, values of steps), options, and: outcome, seconds, rows that come in this order.
ROWS = [
    ("etl.json", "in order", {}, {"extract": {"file": "/x"}, "load": {"rows": 5}}, [], "finished", 3,
     ["start extract", "start load", "start report", "finished report"]),
    ("etl.json", "a failure stops it, after three retries", {}, {}, ["--fail", "extract"], "failed", 39,
     ["retry extract", "retry extract", "retry extract", "failed extract", "blocked load", "blocked report"]),
    ("thumbs.json", "a failure in twenty is tolerated", {"folder": "/"},
     {"list": {"files": [{"path": f"{at}.png"} for at in range(20)]}}, [], "finished", 3, ["start resize", "start index"]),
    ("thumbs.json", "all is not", {"folder": "/"}, {"list": {"files": [{"path": "a"}]}}, ["--fail", "resize"], "failed", 8,
     ["failed resize", "blocked index"]),
    ("purchase.json", "a small one is bought at once", {**ORDER, "amount": 5}, {}, [], "finished", 1,
     ["skipped ask", "skipped approve", "start small"]),
    ("purchase.json", "a large one waits for two", {**ORDER, "amount": 5000}, {}, ["--last", "approve=2h"], "finished", 7202,
     ["skipped small", "start ask", "wait approve", "finished approve", "start buy"]),
    ("purchase.json", "nobody approves, and that is dealt with", {**ORDER, "amount": 5000}, {}, ["--never", "approve"],
     "finished", 86402, ["failed approve", "blocked buy", "start sorry"]),
    ("trip.json", "all is booked and paid", {}, {"hotel": BOOKED, "flight": BOOKED}, [], "finished", 2,
     ["start hotel", "start flight", "start pay"]),
    ("trip.json", "a payment that takes too long undoes both, the last to end first", {},
     {"hotel": BOOKED, "flight": BOOKED}, ["--never", "pay", "--last", "hotel=5s"], "failed", 71,
     ["failed pay", "undo hotel", "undo flight"]),
    ("nightly.json", "on the first of the month it bills, not before two hours", {},
     {"etl/extract": {"file": "/x"}, "etl/load": {"rows": 5}}, ["--at", "2026-02-01T02:00"], "finished", 7202,
     ["start etl/load", "finished etl", "finished settle", "start billing", "skipped alarm", "start clean"]),
    ("nightly.json", "else not", {}, {"etl/extract": {"file": "/x"}, "etl/load": {"rows": 5}}, [], "finished", 7201,
     ["finished etl", "skipped billing", "skipped alarm", "start clean"]),
    ("nightly.json", "an alarm does not make a failed night a good one", {}, {}, ["--fail", "etl/extract"], "failed", 7201,
     ["failed etl/extract", "failed etl", "blocked billing", "start alarm", "start clean"]),
    ("nightly.json", "four attempts of an hour", {}, {}, ["--never", "etl/extract"], "failed", 4 * 3600 + 5 + 10 + 20 + 2,
     ["failed etl/extract", "failed etl", "start alarm", "start clean"]),
    ("nightly.json", "at most six hours; what cleans waits for its target", {}, {}, ["--outage", "jobs=01:00..09:00"],
     "timeout", 25201, ["wait etl/extract", "cancelled etl/extract", "cancelled etl", "start clean", "wait clean"]),
    ("release.json", "a vote, three workers, and news", {"version": "1"}, {"vote": {"for": 3}},
     ["--workers", "deploy=eu,us,asia"], "finished", 3, ["start vote", "start deploy", "start tell"]),
    ("release.json", "a vote that is lost is told, too", {"version": "1"}, {}, ["--fail", "vote"], "failed", 2,
     ["failed vote", "blocked deploy", "start tell"]),

    ("orders.yaml", "tables, rows, a report", {}, {"extract": {"rows": 5, "file": "/x"}}, [], "finished", 3,
     ["start extract", "finished check", "start load", "skipped empty", "start report"]),
    ("orders.yaml", "no rows: the other branch", {}, {"extract": {"rows": 0, "file": "/x"}}, [], "finished", 2,
     ["skipped load", "skipped report", "start empty"]),
    ("orders.yaml", "another list of tables", {"tables": ["a"]}, {"extract": {"rows": 5, "file": "/x"}},
     ["--each", "10s"], "finished", 30, []),
    ("rollout.yaml", "two approve, two workers roll it out", {"version": "1"}, {"build": {"image": "i"}},
     ["--last", "approve=2h", "--workers", "deploy=eu,us"], "finished", 7204,
     ["wait approve", "skipped dropped", "start deploy", "start verify"]),
    ("rollout.yaml", "nobody approves", {"version": "1"}, {"build": {"image": "i"}}, ["--never", "approve"], "finished",
     86403, ["skipped approve", "skipped deploy", "skipped verify", "start dropped"]),
    ("rollout.yaml", "what does not work is rolled back", {"version": "1"}, {"build": {"image": "i"}}, ["--fail", "verify"],
     "failed", 6, ["failed verify", "undo deploy"]),
    ("rollout.yaml", "also one that may have rolled out", {"version": "1"}, {"build": {"image": "i"}}, ["--fail", "deploy"],
     "failed", 5, ["failed deploy", "blocked verify", "undo deploy"]),
    ("rollout.yaml", "a version is needed", {}, {}, [], "failed", 0, []),
    ("files.yaml", "each file, each again once", {"folder": "/"}, {"list": ["a", "b"], "convert": {"out": "x"}},
     ["--fail", "convert:1"], "finished", 9, ["retry convert", "retry convert", "finished convert", "start index"]),
    ("files.yaml", "an empty folder", {"folder": "/"}, {"list": []}, [], "finished", 2, ["finished convert", "start index"]),
    ("files.yaml", "too many files", {"folder": "/"}, {"list": [1] * 101}, [], "failed", 1,
     ["failed convert", "blocked index"]),
    ("journey.yaml", "what a sub-flow booked is undone with it", {}, {"book/hotel": BOOKED, "book/flight": BOOKED},
     ["--fail", "pay", "--last", "book/hotel=5s"], "failed", 12, ["failed pay", "undo book", "undo book/hotel", "undo book/flight"]),
    ("backup.yaml", "a dump that takes too long", {}, {}, ["--never", "dump"], "failed", 3002,
     ["failed dump", "start unlock"]),
    ("backup.yaml", "the first failure cancels the other", {}, {}, ["--fail", "dump", "--never", "copy"], "failed", 3,
     ["failed dump", "cancelled copy", "start unlock"]),
    ("backup.yaml", "a disk that is away", {}, {}, ["--outage", "disk=01:00..09:00"], "failed", 3202,
     ["wait copy", "failed copy", "start unlock"]),
    ("backup.yaml", "no longer than an hour", {}, {}, ["--never", "lock"], "timeout", 3601, ["cancelled lock", "start unlock"]),
    ("sale.yaml", "small", {**ORDER, "amount": 5}, {}, [], "finished", 3,
     ["start small", "skipped large", "skipped huge", "start done"]),
    ("sale.yaml", "large", {**ORDER, "amount": 500}, {}, [], "finished", 3,
     ["skipped small", "start large", "skipped huge", "start done"]),
    ("sale.yaml", "huge", {**ORDER, "amount": 50000}, {}, [], "finished", 3,
     ["skipped small", "skipped large", "start huge", "start done"]),
    ("sale.yaml", "a failure is caught, and is no other branch", {**ORDER, "amount": 5}, {}, ["--fail", "small"], "finished", 3,
     ["failed small", "skipped large", "skipped huge", "start failed"]),
    ("sale.yaml", "also the first", {**ORDER, "amount": 5}, {}, ["--fail", "check"], "finished", 2,
     ["failed check", "skipped large", "skipped huge", "start failed"]),
]


@pytest.mark.parametrize("name, case, given, values, words, outcome, lasts, told", ROWS,
                         ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_how_it_runs(tmp_path, name, case, given, values, words, outcome, lasts, told):
    (tmp_path / "input").write_text(json.dumps(given), encoding="utf-8")
    options = ["--input", str(tmp_path / "input"), *AT, *words, "--json"]
    for at, (step, value) in enumerate(values.items()):
        (tmp_path / f"value{at}").write_text(json.dumps(value), encoding="utf-8")
        options += ["--value", f"{step}={tmp_path / f'value{at}'}"]
    inner = {"nightly.json": ["etl.json"], "journey.yaml": ["booking.yaml"]}.get(name, [])
    row = json.loads(zplan("flow", "simulate", *(str(FLOWS / file) for file in [name, *inner]), *options).done())
    assert (row["outcome"], (row["ended"] - row["began"]) / 1000) == (outcome, lasts), case
    found = iter([f"{event['what']} {event['step']}" for event in row["events"]])
    missing = [text for text in told if text not in found]
    assert not missing, (case, missing, row["events"])


@pytest.mark.parametrize("name", NAMES)
def test_each_is_drawn(name):
    assert " steps, " in zplan("flow", "graph", str(FLOWS / name)).done().splitlines()[0]
