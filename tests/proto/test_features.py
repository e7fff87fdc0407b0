"""proto/features.md has every statement of the source documents once, and names what is there."""
import json
import os
import re
import subprocess

import pytest

from zplanprocs import BIN_DIR

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROTO = os.path.join(TESTS, "../proto")
ROWS = {"B": 118, "C": 68, "D": 18, "E": 61}
PENDING = "\n## Named above, and not described yet\n"
COMMANDS = ("7.8", "7.9", "9.1")        # the sections whose tables hold admin commands
SETTINGS = "11"                         # their last cells are settings


# The protocol by its files, whose sections are numbered through.
FILES = ("README.md", "wire.md", "plans.md", "targets.md", "pull.md", "subscribers.md", "admin.md", "operations.md", "microzero.md",
         "rationale.md", "flows.md")


def text_of(name):
    with open(os.path.join(PROTO, name), encoding="utf-8") as file:
        return file.read()


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def tables():
    """(rows, served by) of each line of the tables."""
    lines = text_of("features.md").partition(PENDING)[0].splitlines()
    found = [cells(line) for line in lines if line.startswith("|") and not line.startswith("|---")]
    assert all(len(line) == 4 for line in found), [line for line in found if len(line) != 4]
    return [(line[0], line[2]) for line in found if line[0] != "row"]


def names_in(text):
    """('command', name) of admin commands, ('verb', name) of zplan, else ('field', name)."""
    for command, name in re.findall(r"(command )?`([^`]+)`", text):
        verb = re.fullmatch(r"zplan (\w+)", name)
        yield ("verb", verb[1]) if verb else ("command" if command else "field", name)


def sections_in(text):
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)*", re.sub(r"`[^`]*`", "", text))


# -- what is described

def by_section(text):
    """(number of the section, line) of a text whose headings are numbered."""
    number = ""
    for line in text.splitlines():
        heading = re.match(r"#+ (\d+(?:\.\d+)*)\.? ", line)
        number = heading[1] if heading else number
        yield number, line


def in_tables():
    found = set()
    for file in (*FILES, "redis.md"):
        for number, line in by_section(text_of(file)):
            if not line.startswith("|"):
                continue
            setting = file in FILES and number == SETTINGS
            cell = cells(line)[-1 if setting else 0]
            if not re.fullmatch(r"`[^`]+`([,;] `[^`]+`)*", cell):
                continue        # it mentions them, and describes something else
            command = file in FILES and number in COMMANDS
            found |= {("command" if command else "field", name)
                      for name in re.findall(r"`([a-z_]+)`", cell)}
    return found


def in_schema(schema, prefix=""):
    for name, rule in schema.get("properties", {}).items():
        yield "field", prefix + name
        yield from in_schema(rule, prefix + name + ".")
    for other in schema.get("oneOf", []) + schema.get("anyOf", []):
        yield from in_schema(other, prefix)


def described():
    found = in_tables()
    for name in ("plan", "message", "run"):
        found |= set(in_schema(json.loads(text_of(name + ".schema.json"))))
    return found


def sections():
    found = {number for name in FILES for number, _ in by_section(text_of(name))}
    assert {"1", "9.4.1", "17"} <= found
    return found


def pending():
    """Names and sections that somebody has promised to describe."""
    text = text_of("features.md").partition(PENDING)[2]
    return set(names_in(text)), set(sections_in(text))


# -- the tests

def test_each_row_stands_once():
    found = [row for cell, _ in tables() for row in cell.split(", ")]
    assert found == [f"{letter}{number:03}" for letter, count in ROWS.items()
                     for number in range(1, count + 1)]


def test_each_row_is_served_or_later():
    for rows, cell in tables():
        later = re.match(r"later: (HTTP (callbacks|console)|flows at the station)$", cell)
        assert later or list(names_in(cell)) or sections_in(cell) or "](" in cell, rows


def test_each_row_of_the_scheduler_is_named_by_a_test():
    """Of B those that are there: a test that shows a row has its number."""
    there = {row for rows, cell in tables() if not cell.startswith("later:")
             for row in rows.split(", ") if row[0] == "B"}
    named = set()
    for folder, _, files in os.walk(TESTS):
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith((".py", ".c", ".h")) and path != os.path.abspath(__file__):
                with open(path, encoding="utf-8") as file:
                    named |= set(re.findall(r"(?<![A-Za-z0-9])B\d{3}(?!\d)", file.read()))
    assert len(there) > 100 and not there - named, sorted(there - named)


@pytest.mark.parametrize("kind", ["field", "command"])
def test_names_are_described(kind):
    named = {name for _, cell in tables() for name in names_in(cell) if name[0] == kind}
    assert len(named) > 10 and not named - described() - pending()[0]


def test_verbs_are_there():
    folders = (BIN_DIR, os.path.join(BIN_DIR, "src"))
    zplan = next(os.path.join(folder, "zplan") for folder in folders
                 if os.path.exists(os.path.join(folder, "zplan")))
    verbs = {name for name in names_in(text_of("features.md")) if name[0] == "verb"}
    assert ("verb", "archive") in verbs
    for _, verb in verbs:
        helped = subprocess.run([zplan, verb, "--help"], capture_output=True, timeout=60,
                                check=False)
        assert helped.returncode == 0 and helped.stdout, verb


def test_sections_are_there():
    text = text_of("features.md").partition(PENDING)[0]
    named = {number for _, cell in tables() for number in sections_in(cell)}
    # Elsewhere a number may be one of something else.
    named |= set(re.findall(r"(?<![\w.-])\d+(?:\.\d+)+|(?<=\()\d+(?=\))", text))
    assert len(named) > 20 and not named - sections() - pending()[1]


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", text_of("features.md"))
    assert links and all(os.path.exists(os.path.join(PROTO, link)) for link in links)


def test_nothing_is_pending_that_is_described():
    """What fails here is to be taken out of the last chapter of proto/features.md."""
    names, numbers = pending()
    assert not names & described()
    assert not numbers & sections()


def test_nothing_is_pending_that_is_not_named():
    names, numbers = pending()
    cells_of_all = [cell for _, cell in tables()]
    assert not names - {name for cell in cells_of_all for name in names_in(cell)}
    assert not numbers - {number for cell in cells_of_all for number in sections_in(cell)}
