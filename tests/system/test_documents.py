"""The documents whose commands are run (readmetest.py): nothing in them is forgotten, and what they
name is there."""
import glob
import os
import pathlib
import re
import subprocess

import pytest

from readmetest import BIN, CHAPTERS, DOCUMENTS, ELSEWHERE, elsewhere, chapters_with_tests
from zplanprocs import REPO, WAIT

of_documents = pytest.mark.parametrize("document", DOCUMENTS)


def text_of(document):
    return pathlib.Path(REPO, document).read_text(encoding="utf-8")


@of_documents
def test_every_chapter_with_commands_has_a_test(document):
    tested = chapters_with_tests()
    for title, chapter in CHAPTERS[document].items():
        if (document, title) in tested:
            continue
        assert not chapter.texts, f"{title}: a fenced block that no test takes"
        assert all(elsewhere(command) for command in chapter.commands), \
            f"{title}: {chapter.commands}"


def test_every_test_has_a_chapter():
    for document, title in chapters_with_tests():
        assert title in CHAPTERS[document], (document, title)


def test_what_is_run_elsewhere_is_there():
    commands = [command for chapters in CHAPTERS.values() for chapter in chapters.values()
                for command in chapter.commands if elsewhere(command)]
    assert {elsewhere(command) for command in commands} == set(ELSEWHERE)
    for name in re.findall(r"test_\w+\.py", " ".join(ELSEWHERE.values())):
        assert os.path.exists(os.path.join(os.path.dirname(__file__), name)), name
    for command in commands:
        program = command.split()[0]
        path = os.path.join(REPO, program)
        if "/" not in program:      # of others
            continue
        assert os.access(path, os.X_OK), program
        options = re.findall(r"--[a-z-]+", command.split(" #")[0])
        if options:
            text = subprocess.run([path, "--help"], capture_output=True, text=True, check=True,
                                  timeout=WAIT).stdout
            assert not [option for option in options if option not in text], command


def test_services_are_as_their_files_say():
    """What no test here can run stands word for word in the file, or names a unit that is there."""
    with open(os.path.join(REPO, "docker", "compose.yaml"), encoding="utf-8") as file:
        composed = set(re.findall(r"(?m)^#   (docker compose .*)$", file.read()))
    units = os.listdir(os.path.join(REPO, "docker", "systemd"))
    for chapters in CHAPTERS.values():
        if "With Docker" in chapters:
            assert {command.split("  ")[0] for command in chapters["With Docker"].commands} == composed
        for command in [one for chapter in chapters.values() for one in chapter.commands]:
            if command.startswith("systemctl "):
                for unit in command.split("#")[0].replace("--now", "").split()[2:]:
                    assert re.sub("@.*", "@", unit) + ".service.in" in units, command


def every_document():
    """All Markdown of the repository, tested or not."""
    return sorted(os.path.relpath(path, REPO) for folder in ("", "src", "docker", "proto", "tests", "include")
                  for path in glob.glob(os.path.join(REPO, folder, "**" if folder else "", "*.md"), recursive=True))


@pytest.mark.parametrize("document", every_document())
def test_every_link_leads_somewhere(document):
    """Files are there, and have the chapters that are named."""
    for path, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text_of(document)):
        if path.startswith("https:"):
            continue
        where = os.path.normpath(os.path.join(REPO, document if not path else
                                              os.path.join(os.path.dirname(document), path)))
        assert os.path.exists(where), path
        if anchor:
            with open(where, encoding="utf-8") as text:
                titles = re.findall(r"(?m)^#+ (.*)$", text.read())
            assert anchor in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
                              for title in titles], anchor


@pytest.fixture(scope="module")
def known():
    """(verbs of zplan, options of all programs)."""
    def told(*words):
        return subprocess.run(words, capture_output=True, text=True, check=True,
                              timeout=WAIT).stdout
    helps = told(BIN / "zplan", "--help")
    verbs = set(re.findall(r"(?m)^  ([a-z]+) +\S", helps.split("Commands:")[1].split("\n\n")[0]))
    helps += "".join(told(BIN / "zplan", verb, "--help") for verb in sorted(verbs))
    helps += "".join(told(BIN / program, "--help") for program in ("zpland", "zstationd", "zplan-callback", "zplan-web"))
    options = set(re.findall(r"--[a-z-]+", helps))
    assert {"add", "doctor", "work"} <= verbs and "--redis" in options
    return verbs, options


@of_documents
def test_every_option_and_verb_is_known(document, known):
    """Also those that stand in the text, not in a command."""
    verbs, options = known
    text = "\n".join(line for line in text_of(document).splitlines() if not elsewhere(line.strip()))
    of_others = {"--libs", "--cflags", "--rdb"}     # of pkg-config and redis-cli
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) <= options | of_others
    for verb in set(re.findall(r"(?m)(?:^ {4}|`)zplan ([a-z]+)", text)) - verbs - {"help", "version"}:      # an alias
        subprocess.run([BIN / "zplan", verb, "--help"], check=True, stdout=subprocess.DEVNULL, timeout=WAIT)


def test_files_that_src_readme_names_are_there():
    """`folder/file.c`, from src or from the top."""
    with open(os.path.join(REPO, "src", "README.md"), encoding="utf-8") as file:
        names = re.findall(r"`((?:[a-z_]+/)*[a-z_0-9]+\.(?:c|h|lua|py|md|def|map))`", file.read())
    assert len(names) > 50
    folders = [os.path.join(REPO, "src"), os.path.join(REPO, "src", "store", "scripts"), REPO]
    assert [name for name in names if not any(os.path.exists(os.path.join(at, name)) for at in folders)] == []


def test_the_client_in_proto_is_the_one_that_is_tested():
    with open(os.path.join(REPO, "tests", "clients", "zplan_client.py"), encoding="utf-8") as file:
        client = file.read()
    shown, = re.findall(r"(?ms)^```python\n(.*?)^```", text_of("proto/README.md"))
    assert shown == client


def test_the_index_of_proto_names_every_section():
    index = text_of("proto/README.md")
    for name in glob.glob(os.path.join(REPO, "proto", "*.md")):
        if os.path.basename(name) in ("README.md", "features.md", "redis.md"):     # without numbers of the protocol
            continue
        for title in re.findall(r"(?m)^##+ (\d+(?:\.\d+)?\.? .*)$", pathlib.Path(name).read_text(encoding="utf-8")):
            assert "[" + re.sub(r"^(\d+)\. ", r"\1 ", title) + "](" in index, (name, title)
