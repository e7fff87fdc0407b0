"""The manual says what the programs say, and is well-formed."""
import json
import os
import re
import subprocess
import sys

import pytest

from zplanprocs import REPO, ZPLAND

sys.path.insert(0, os.path.join(REPO, "src", "man"))
import tables       # noqa: E402  the reader of the tables in the code

SRC = os.path.dirname(ZPLAND)
PAGES = ("zplan.1", "zpland.8", "zstationd.8", "zplan.conf.5", "zplan.7", "zplan-troubleshooting.7",
         *(f"{name}.8" for name in ("zplan-callback", "zplan-web") if os.path.exists(os.path.join(SRC, name))),
         *(f"zplan-{verb}.1" for verb in tables.verbs()))
OPTION = re.compile(r"^  (--?[a-z][\w-]*)", re.M)


def told(*command):
    return subprocess.run([os.path.join(SRC, command[0]), *command[1:]], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def page(name):
    with open(os.path.join(SRC, "man", name), encoding="utf-8") as file:
        return file.read()


def plain(text):
    """As it is read: without fonts and escapes."""
    text = re.sub(r"\\f[BIR]", "", text)
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")


def listed(text):
    """{what a list explains: its explanation, on one line}."""
    items = re.split(r"^\.TP\n", text, flags=re.M)[1:]
    items = [re.split(r"^\.(?:PP|S[HS]|TP)\b", item, flags=re.M)[0] for item in items]
    return {plain(item.split("\n", 1)[0]): " ".join(plain(item).split("\n")[1:]) for item in items}


def verbs():
    table = told("zplan", "--help").partition("Commands:\n")[2].partition("\n\n")[0]
    names = re.findall(r"^  ([a-z]+) ", table, re.M)
    assert len(names) > 15
    return names


@pytest.mark.parametrize("name", PAGES)
def test_page_is_well_formed(name):
    path = os.path.join(SRC, "man", name)
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "@" + "VERSION@" not in page(name)
    assert not re.search(r"^\.[A-Z][a-z]\w{3,}", page(name), re.M), "a line was not replaced"


def test_the_pages_are_those_of_the_verbs():
    assert sorted(verbs()) == sorted(tables.verbs())
    assert set(PAGES) <= set(os.listdir(os.path.join(SRC, "man")))
    listed_verbs = re.findall(r"^\.BR zplan\\-(\w+) \(1\)\n", page("zplan.1").partition(".SH COMMANDS")[2], re.M)
    assert listed_verbs == verbs()


@pytest.mark.parametrize("verb", tables.verbs())
def test_every_option_and_word_of_a_verbs_help_is_in_its_page(verb):
    text = page(f"zplan-{verb}.1")
    heads = {head.split()[0].rstrip(",") for head in listed(text)}
    said = re.sub(r"\nOptions of every command \(.*", "", told("zplan", verb, "--help"), flags=re.S)
    assert set(OPTION.findall(said)) <= heads
    shown = " ".join(plain(text).split())
    words = [word.rstrip(":") for word in said.removeprefix("Usage:").split()]
    assert [word for word in words if word.replace("`", "") not in shown] == []


@pytest.mark.parametrize("program, name", [("zplan", "zplan.1"), ("zpland", "zpland.8"),
                                           ("zstationd", "zstationd.8")])
def test_every_option_of_a_program(program, name):
    heads = {word.rstrip(",") for head in listed(page(name)) for word in head.split()}
    wanted = set(re.findall(r"^  (--?[a-z][\w-]*)", told(program, "--help"), re.M))
    assert len(wanted) > 6 and wanted <= heads, wanted - heads


def settings():
    return [json.loads(line) for line in told("zpland", "--settings").splitlines()]


def test_settings_are_those_of_the_help():
    text = told("zpland", "--help")
    assert {row["option"] for row in settings()} == set(OPTION.findall(text)) - {
        "-c", "--set", "--settings", "--help"}
    for row in settings():
        assert f"({row['name']})" in text


def test_every_setting_with_default_range_and_reload():
    entries = listed(page("zplan.conf.5"))
    assert len(entries) == len(settings())
    for row in settings():
        text, = (text for head, text in entries.items() if head.split()[0] == row["name"])
        assert " ".join(row["help"].split()) in text
        assert row["option"] in text
        assert ("Read again on SIGHUP." in text) == row["reload"]
        assert ("Needs a restart." in text) != row["reload"]
        if row["type"] == "number":
            assert f"From {row['min']} to {row['max']}. Default: {row['default']}." in text


def test_protocol_page_has_the_numbers_of_the_wire():
    """As they stand in the one list of them."""
    with open(os.path.join(REPO, "include", "zplan_codes.def")) as file:
        codes = file.read()
    text = plain(page("zplan.7"))
    checked = 0
    for name, number in re.findall(r"\b([A-Z]\w+) ([0-9A-F]{2})\b", text):
        rows = re.findall(rf"^\w+ \({name}, (?:0x([0-9A-Fa-f]{{2}})|'(.)')", codes, re.M)
        numbers = {int(row[0], 16) if row[0] else ord(row[1]) for row in rows}
        assert int(number, 16) in numbers, (name, number, rows)
        checked += 1
    assert checked > 20


# -- lists that are to hold all that a table in the code has

# An admin command as the command line calls it; None: it has no verb.
VERB_OF = {"PLAN": "add", "GLOBAL_ID": None, "message": "show", "health": "doctor", "forget": "archive",
           "restore": "import", "flow check": None}     # that asks no station
MADE_OF_OTHERS = {"submit": {"import", "cron", "flow start", "flow backfill"},
                  "observe": {"watch", "top", "metrics", "export", "logs", "status", "flow why"},
                  "manage": {"flow done", "flow reset"}}
WITHOUT_VERB = {"take", "alive", "report"}      # workers of other programs say them
WITHOUT_ROLE = {"ping", "keygen", "completion", "work", "workers", "drain", "resume", "whoami", "web"}      # resume is reset


def test_protocol_page_has_every_code_command_type_and_role():
    text = " ".join(plain(page("zplan.7")).split())
    for kind in ("COMMAND", "STATUS", "FRAME"):
        assert all(f"{name} {code}" in text for name, code in tables.codes(kind)), kind
    assert ", ".join(tables.plan_types()) in text
    entries = listed(page("zplan.7"))
    for name, usage, roles in tables.commands():
        assert all(role in entries[usage] for role in roles), name
    for role in tables.ROLES:
        assert entries[role].strip() == ", ".join(tables.allowed(role)) + "."


def roles_of_keygen():
    """{role: what the help of keygen says it may do}"""
    text = told("zplan", "keygen", "--help").partition("several with commas:\n")[2].partition("\n  --")[0]
    found = re.split(rf"^ +({'|'.join(tables.ROLES)})  ", text, flags=re.M)[1:]
    return {role: " ".join(words.split()) for role, words in zip(found[::2], found[1::2])}


def test_keygen_says_what_each_role_may_do():
    said, named = roles_of_keygen(), set()
    assert set(said) == set(tables.ROLES)
    for role, text in said.items():
        wanted = {VERB_OF.get(name, name) for name in tables.allowed(role)} - {None}
        wanted = {re.sub("^station ", "target ", words) for words in wanted}
        wanted |= MADE_OF_OTHERS.get(role, set())
        text = re.sub(r" \(.*?\)|results of runs[^;]*; |of workers that fetch plans: ", "", text)
        assert set(text.split(", ")) == wanted, role
        named |= {words.split()[0] for words in wanted}
    assert named - WITHOUT_VERB == set(verbs()) - WITHOUT_ROLE


def test_the_protocol_says_what_each_role_may_do():
    with open(os.path.join(REPO, "proto", "operations.md"), encoding="utf-8") as file:
        chapter = file.read().partition("\n### 14.3 ")[2].partition("\n### ")[0]
    for role in tables.ROLES:
        row = re.search(rf"^\| `{role}` \| (.*) \|$", chapter, re.M)[1]
        wanted = {name for name in tables.allowed(role) if name not in ("PLAN", "GLOBAL_ID")}
        assert set(re.findall(r"`([a-z ]+)`", row)) == wanted, role


def test_docker_readme_names_every_role():
    with open(os.path.join(REPO, "docker", "README.md"), encoding="utf-8") as file:
        text = file.read()
    for role in tables.ROLES:
        assert re.search(rf"`{role}`|--role [a-z,]*{role}", text), role


@pytest.mark.parametrize("verb, option", [("list", "--type"), ("pause", "--type"),
                                          ("update", "--of-type"), ("next", "--type")])
def test_help_names_every_type_of_plan(verb, option):
    text = told("zplan", verb, "--help").partition(f"\n  {option} TYPE")[2].partition("\n  --")[0]
    types = tables.plan_types()
    assert text.split()[-len(types):] == types, text


def test_help_names_every_option_of_a_target():
    heads = re.findall(r"^  (\w+)=[A-Z]+ ", told("zplan", "station", "--help"), re.M)
    assert heads == tables.target_options()
