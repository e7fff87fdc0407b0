"""The manual says what the programs say, and is well-formed."""
import json
import os
import re
import subprocess

import pytest

from zplanprocs import REPO, ZPLAND

SRC = os.path.dirname(ZPLAND)
PAGES = ("zplan.1", "zpland.8", "zstationd.8", "zplan.conf.5", "zplan.7")
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
    table = told("zplan", "--help").partition("Verbs:\n")[2].partition("\n\n")[0]
    names = re.findall(r"^  ([a-z]+) ", table, re.M)
    assert len(names) > 15
    return names


def verb_section(name):
    return re.split(r"^\.S[HS] ", page("zplan.1").partition(f"\n.SS {name}\n")[2], flags=re.M)[0]


@pytest.mark.parametrize("name", PAGES)
def test_page_is_well_formed(name):
    path = os.path.join(SRC, "man", name)
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "@" + "VERSION@" not in page(name)
    assert not re.search(r"^\.[A-Z][a-z]\w{3,}", page(name), re.M), "a line was not replaced"


def test_every_verb_has_its_section_and_all_its_options():
    options = 0
    for verb in verbs():
        section = verb_section(verb)
        assert section, verb
        heads = {head.split()[0].rstrip(",") for head in listed(section)}
        wanted = OPTION.findall(told("zplan", verb, "--help"))
        assert set(wanted) <= heads, verb
        options += len(wanted)
    assert options > 60


def test_every_word_of_a_verbs_help_is_in_its_section():
    for verb in verbs():
        words = re.sub(r"\nOptions of every verb \(.*", "", told("zplan", verb, "--help"),
                       flags=re.S).removeprefix("Usage:").split()
        section = " ".join(plain(verb_section(verb)).split())
        missing = [word for word in words if word.replace("`", "") not in section]
        assert missing == [], verb


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
