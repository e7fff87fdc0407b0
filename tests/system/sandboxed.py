"""Run a program under the restrictions of a systemd unit that a process can put on itself:

    sandboxed.py UNIT PROGRAM [ARGUMENT...]

its calls (SystemCallFilter, with the sets as systemd-analyze knows them), no memory that is both
written and executed, no address families but the unit's, no new rights, its limits.
"""
import ctypes
import os
import resource
import socket
import subprocess
import sys

import seccomp

EPERM, EAFNOSUPPORT = 1, 97
PROT_WRITE_EXEC = 0x6
PROT_EXEC = 0x4
PR_SET_NO_NEW_PRIVS = 38


def settings(unit):
    """{name: [values]} of the unit's lines."""
    found = {}
    with open(unit, encoding="utf-8") as file:
        for line in file:
            name, equals, value = line.strip().partition("=")
            if equals and not name.startswith("#"):
                found.setdefault(name, []).append(value)
    return found


def calls_of(name, known={}):
    """The calls of a set, sets in it included."""
    if not name.startswith("@"):
        return {name}
    if name not in known:
        text = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        lines = [line.strip() for line in text.splitlines()[1:]]
        known[name] = set().union(*(calls_of(line) for line in lines
                                    if line and not line.startswith("#")))
    return known[name]


def allowed_calls(unit):
    allowed = calls_of("@default")
    for line in settings(unit)["SystemCallFilter"]:
        for word in line.removeprefix("~").split():
            if line.startswith("~"):
                allowed = allowed - calls_of(word)
            else:
                allowed = allowed | calls_of(word)
    return allowed


def load_call_filter(unit):
    rules = seccomp.SyscallFilter(seccomp.ERRNO(EPERM))
    for call in sorted(allowed_calls(unit)):
        try:
            rules.add_rule(seccomp.ALLOW, call)
        except RuntimeError:
            pass        # not of this machine
    rules.load()


def load_memory_filter():
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    both = seccomp.Arg(2, seccomp.MASKED_EQ, PROT_WRITE_EXEC, PROT_WRITE_EXEC)
    rules.add_rule(seccomp.ERRNO(EPERM), "mmap", both)
    for call in ("mprotect", "pkey_mprotect"):
        rules.add_rule(seccomp.ERRNO(EPERM), call,
                       seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC, PROT_EXEC))
    rules.load()


def load_family_filter(names):
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    wanted = {int(getattr(socket, name)) for name in names}
    for family in set(range(64)) - wanted:
        rules.add_rule(seccomp.ERRNO(EAFNOSUPPORT), "socket",
                       seccomp.Arg(0, seccomp.EQ, family))
    rules.load()


def main():
    unit, *command = sys.argv[1:]
    told = settings(unit)
    if "LimitNOFILE" in told:
        files = min(int(told["LimitNOFILE"][0]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    os.umask(int(told["UMask"][0], 8))
    if told["NoNewPrivileges"] == ["yes"]:
        ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    load_family_filter(told["RestrictAddressFamilies"][0].split())
    if told["MemoryDenyWriteExecute"] == ["yes"]:
        load_memory_filter()
    load_call_filter(unit)
    os.execvp(command[0], command)


main()
