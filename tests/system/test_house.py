"""The source is laid out as src/README.md says: small folders, small files, includes that lead downwards."""
import collections
import json
import os
import re
import subprocess

import pytest

from zplanprocs import ZPLAND

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.dirname(os.path.dirname(ZPLAND))
FILES_MAX, LINES_MAX = 30, 500
PROGRAMS = ["zplan", "zpland", "zstationd", "zplan-callback", "zplan-web"]


def sources(*folders):
    """The C files below, from the top of the repository."""
    found = [os.path.relpath(os.path.join(folder, name), ROOT)
             for top in folders for folder, _, names in os.walk(os.path.join(ROOT, top))
             for name in names if name.endswith((".c", ".h", ".def"))]
    assert len(found) > 5
    return sorted(found)


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def test_no_folder_is_crowded():
    crowded = {}
    for folder, names, files in os.walk(os.path.join(ROOT, "src")):
        names[:] = [name for name in names if name != "__pycache__"]
        if len(files) > FILES_MAX:
            crowded[os.path.relpath(folder, ROOT)] = len(files)
    assert crowded == {}


def test_no_file_is_long():
    lines = {path: text_of(path).count("\n") for path in sources("src", "include")}
    assert {path: count for path, count in lines.items() if count > LINES_MAX} == {}


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_two_files_of_a_program_have_one_name(program):
    """Nor do the headers in their folders: an include means one file."""
    if not os.path.exists(os.path.join(BUILD, "src", program)):
        pytest.skip(f"{program} is not built")
    inputs = subprocess.run(["ninja", "-C", BUILD, "-t", "inputs", f"src/{program}"], check=True, capture_output=True,
                            text=True).stdout.split()
    files = [os.path.normpath(path.removeprefix("../")) for path in inputs if re.match(r"\.\./src/.*\.c$", path)]
    assert len(files) > 5
    folders = {os.path.dirname(path) for path in files}
    files += [path for path in sources("src") if path.endswith(".h") and os.path.dirname(path) in folders]
    named = collections.defaultdict(list)
    for path in files:
        named[os.path.basename(path)].append(path)
    assert [paths for paths in named.values() if len(paths) > 1] == []


def includes():
    """{file: {file that it includes}}, found as the compiler finds them."""
    seen = collections.defaultdict(list)        # folder: the folders in which its files look
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            if entry["file"].startswith("../src/"):
                where = seen[os.path.dirname(entry["file"]).removeprefix("../")]
                for found in re.findall(r"-I\.\./((?:src|include)\S*)", entry["command"]):
                    if found not in where:
                        where.append(found)
    every = set(sources("src", "include"))
    out = {}
    for path in sorted(every):
        folder = os.path.dirname(path)
        out[path] = set()
        for name in re.findall(r'^#include "([^"]+)"', text_of(path), re.M):
            for where in [folder, *seen[folder], "include"]:
                if f"{where}/{name}" in every:
                    out[path].add(f"{where}/{name}")
                    break
    assert sum(map(len, out.values())) > 1000
    return out


def cycle_of(graph):
    """Nodes that lead back to the first of them, or None."""
    done, way = set(), []

    def visit(node):
        if node in way:
            return way[way.index(node):] + [node]
        if node in done:
            return None
        way.append(node)
        for other in sorted(graph.get(node, ())):
            found = visit(other)
            if found:
                return found
        done.add(way.pop())
        return None
    return next(filter(None, map(visit, sorted(graph))), None)


def test_no_include_leads_back():
    """Neither among files nor among folders."""
    graph = includes()
    assert cycle_of(graph) is None
    folders = collections.defaultdict(set)
    for path, others in graph.items():
        folders[os.path.dirname(path)] |= {os.path.dirname(other) for other in others} - {os.path.dirname(path)}
    # A folder with a program's main.c is above its sub-folders; what these see of it are lists of names.
    for path in ("src/cli/verbs.h",):
        for folder in folders:
            if folder.startswith(os.path.dirname(path) + "/"):
                folders[folder].discard(os.path.dirname(path))
    assert cycle_of(folders) is None


def test_a_cycle_is_found():
    assert cycle_of({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle_of({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None
