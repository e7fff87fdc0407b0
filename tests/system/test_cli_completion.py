"""The completion of the shells, by the shells: bash calls the function as it would, zsh with its own
builtins played by functions."""
import os
import re
import shlex
import subprocess
import time

import pytest

from clitest import USAGE, WAIT, ZPLAN, objects, station, zplan

assert station      # a fixture

BASH = r"""
source <(zplan completion bash) || exit 9
COMP_LINE=$1 COMP_POINT=${#1}
IFS=$' \t\n='; COMP_WORDS=($COMP_LINE); IFS=$' \t\n'
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_zplan
printf '%s\n' "${COMPREPLY[@]}"
"""

ZSH = r"""
compdef () { }
compset () { }
_files () { print -l -- "files$1" }
compadd () {
    local -a known
    while [[ $1 == -* ]]; do
        case $1 in -d) shift ;; -a) known=(${(P)2}) ;; esac
        shift
    done
    print -rl -- $known
}
source <(zplan completion zsh) || exit 9
words=(${(z)1}) CURRENT=$#words
[[ $1 == *' ' ]] && words+=('') CURRENT=$((CURRENT + 1))
_zplan
"""


def run(*command, env=None):
    path = f"{os.path.dirname(ZPLAN)}:{os.environ['PATH']}"
    env = {k: v for k, v in os.environ.items() if not k.startswith("ZPLAN_")} | (env or {})
    done = subprocess.run(command, env={**env, "PATH": path}, capture_output=True, text=True,
                          timeout=3 * WAIT, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split("\n")[:-1]


def bash(line, **env):
    return [word for word in run("bash", "--norc", "-c", BASH, "bash", line, **env) if word]


def zsh(line, **env):
    """As bash, where the shell itself takes away what does not fit."""
    begun = re.split("[ =]", line)[-1]
    return [word for word in run("zsh", "-f", "-c", ZSH, "zsh", line, **env)
            if word and word.startswith(begun)]


shells = pytest.mark.parametrize("complete", [bash, zsh])


def verbs():
    return re.findall(r"^  (\w+) ", zplan("--help").done().split("Options of every")[0], re.M)


def options(verb):
    return set(re.findall(r"^  (--?[a-z-]+)", zplan(verb, "--help").done(), re.M))


@shells
def test_verbs(complete):
    assert complete("zplan ") == verbs() and "completion" in verbs()
    assert complete("zplan st") == ["status", "stats"]
    assert complete("zplan --timeout 100 --json hist") == ["history"]
    assert complete("zplan qw") == []


@shells
@pytest.mark.parametrize("verb", ["add", "list", "skip", "history", "keygen", "watch"])
def test_every_option_of_the_help_is_offered(complete, verb):
    offered = set(complete(f"zplan {verb} -"))
    assert options(verb) <= offered
    assert {"--connect", "--json", "--help", "--color"} <= offered
    assert "--version" not in offered


@shells
@pytest.mark.parametrize("line, words", [
    ("zplan list --state p", ["paused"]),
    ("zplan list --state=r", ["running", "retrying"]),
    ("zplan list --type w", ["week"]),
    ("zplan list --color ", ["auto", "always", "never"]),
    ("zplan --times rel", ["relative"]),
    ("zplan --color never list --ti", ["--title", "--timeout", "--times"]),
    ("zplan add --vote m", ["majority"]),
    ("zplan add --command ", []),
    ("zplan list --title --sta", []),
    ("zplan station ", ["list", "add", "remove"]),
    ("zplan target ", ["list", "add", "remove"]),
    ("zplan flow ", sorted(("check done graph simulate put use get list remove reset export import start runs show log why signal "
                           "reject skip retry suspend resume cancel backfill").split())),
    ("zplan station list ", []),
    ("zplan completion z", ["zsh"]),
    ("zplan stats ", []),
])
def test_values(complete, line, words):
    assert complete(line) == words


@shells
@pytest.mark.parametrize("where", ["--connect {} ", "--connect={} ", ""])
def test_plans_and_targets_are_asked_for(complete, station, where):
    one, two = station.add("first; $(touch x) `y`"), station.add("second\ttab")
    station.stations.append({**station.stations[0], "name": "print"})
    where = where.format(station.endpoint)
    env = {"ZPLAN_CONNECT": "tcp://127.0.0.1:1" if where else station.endpoint,
           "ZPLAN_COMPLETION_TIMEOUT": str(int(WAIT * 1000))}
    assert complete(f"zplan {where}pause ", env=env) == [one, two]
    assert complete(f"zplan {where}show {two}", env=env) == [two]
    assert complete(f"zplan {where}pause {one} ", env=env) == [one, two]
    assert complete(f"zplan {where}list --station ", env=env) == ["jobs", "print"]
    assert complete(f"zplan {where}list --target=p", env=env) == ["print"]
    assert complete(f"zplan {where}target remove j", env=env) == ["jobs"]
    assert complete(f"zplan {where}station remove j", env=env) == ["jobs"]


@shells
def test_a_name_is_never_expanded(complete, station, tmp_path):
    name = f"$(touch {tmp_path}/x) `id` ${{HOME}}"
    ident = station.add(key=name)
    env = {"ZPLAN_CONNECT": station.endpoint,
           "ZPLAN_COMPLETION_TIMEOUT": str(int(WAIT * 1000))}
    for line in ("zplan show ", "zplan show $", "zplan show '$(touch"):
        offered = complete(line, env=env)
        words = offered if complete is zsh else [shlex.split(word)[0] for word in offered]
        assert words == {"zplan show ": [name, ident], "zplan show $": [name]}.get(line, [])
        assert not (tmp_path / "x").exists()


@shells
def test_a_silent_station_does_not_hold_the_shell(complete):
    begin = time.monotonic()
    assert complete("zplan pause ", env={"ZPLAN_CONNECT": "tcp://127.0.0.1:1"}) == []
    assert time.monotonic() - begin < WAIT


def test_files(tmp_path):
    (tmp_path / "key one").touch()
    (tmp_path / "keys").mkdir()
    prefix = shlex.quote(str(tmp_path)) + "/k"
    assert sorted(bash(f"zplan --key {prefix}")) == [f"{tmp_path}/key one", f"{tmp_path}/keys"]
    assert sorted(bash(f"zplan work -- cat {prefix}ey")) == [f"{tmp_path}/key one", f"{tmp_path}/keys"]
    assert run("zsh", "-f", "-c", ZSH, "zsh", "zplan work -- cat ") == ["files"]
    assert sorted(bash(f"zplan flow check {prefix}")) == [f"{tmp_path}/key one", f"{tmp_path}/keys"]
    assert run("zsh", "-f", "-c", ZSH, "zsh", "zplan flow graph ") == ["files"]
    assert bash(f"zplan keygen --out {prefix}") == [f"{tmp_path}/keys"]
    assert run("zsh", "-f", "-c", ZSH, "zsh", "zplan --key ") == ["files"]
    assert run("zsh", "-f", "-c", ZSH, "zsh", "zplan keygen --out ") == ["files-/"]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_is_sound(shell, tmp_path):
    script = tmp_path / "script"
    script.write_text(zplan("completion", shell).done())
    run(shell, "-n", str(script))


def test_what_the_scripts_ask_for(station):
    station.add("a title")
    assert station.zplan("completion", "plans").done() == "1f\ta title\n"
    assert objects(station.zplan("completion", "plans", "--json")) == [
        {"name": "1f", "text": "a title"}]
    assert station.zplan("completion", "stations").done() == "jobs\ttcp://127.0.0.1:7930\n"
    assert "want bash or zsh, got 'fish'" in zplan("completion", "fish").failed(USAGE)
