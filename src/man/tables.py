"""What the manual lists, read from the tables in the code, so that no list falls behind them."""
import os
import re

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROLES = ("submit", "observe", "manage", "result", "signal")


def text_of(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def rows_of(path, table, pattern, least):
    """The rows of one table; fewer than that are a table that has another form now."""
    body = re.search(table + r"(.*?)^\};", text_of(path), re.M | re.S)
    rows = re.findall(pattern, body[1], re.S) if body else []
    if len(rows) < least:
        raise SystemExit(f"{path}: {len(rows)} rows found of at least {least}: {table}")
    return rows


def roles_in(text):
    """The roles of an expression as CURVE_ROLE_OBSERVE | CURVE_ROLE_MANAGE."""
    return {role for role in ROLES if f"CURVE_ROLE_{role.upper()}" in text or "ROLES_ANY" in text}


def codes(kind):
    """[(name, code)] of COMMAND, STATUS or FRAME, the code as it is written: two hex digits or a character."""
    rows = re.findall(rf"^ZPLAN_{kind} \((\w+), (?:0x([0-9A-F]{{2}})|'(.)')",
                      text_of("include/zplan_codes.def"), re.M)
    if len(rows) < 10:
        raise SystemExit(f"zplan_codes.def: {len(rows)} rows of {kind}")
    return [(name, number or character) for name, number, character in rows]


def verbs():
    return rows_of("src/cli/args/verb_table.c", r"^static const struct verb verbs\[\] = \{", r'\{"(\w+)", verb_\w+,', 20)


def plan_types():
    return rows_of("src/schedule/schedule.c", r"^\} types\[SCHEDULE_TYPES\] = \{",
                   r'\[SCHEDULE_\w+\] = \{"(\w+)"', 9)


def target_options():
    return rows_of("src/station/settings/target_settings.c", r"^\} options\[\] = \{", r'\{"(\w+)", (?:read_\w+|NULL)', 6)


def commands():
    """[(name, usage, roles)] of the admin commands."""
    rows = rows_of("src/station/admin/manage.c", r"^\} commands\[\] = \{",
                   r'\{"(\w+)", \d, \d, ([A-Z_| ]+),\s+manage_\w+,\s*((?:"[^"]+"\s*)+)[,}]', 20)
    return [(name, "".join(re.findall('"([^"]+)"', usage)), roles_in(roles)) for name, roles, usage in rows]


def subcommands():
    """[(command, sub-command, roles)]"""
    return [(command, name, roles_in(roles))
            for command in ("flow", "kind", "limit", "station")
            for name, roles in rows_of(f"src/station/admin/{'flow/' if command == 'flow' else ''}manage_{command}.c",
                                       r"^(?:static const struct (?:admin_)?subcommand|\}) subcommands\[\] = \{",
                                       r'\{"(\w+)", \d,(?: \d, \w+,)? ([A-Z_| ]+),', 3)]


def requests():
    """[(request, roles)] of what is no admin command."""
    rows = rows_of("src/station/frontend.c", r"^\} commands\[\] = \{",
                   r"\{ZERO_BYTE_COMMAND_(\w+), ([A-Z_| ]+),", 4)
    return [(name, roles_in(roles)) for name, roles in rows]


def allowed(role):
    """What a role may ask for, in the order of the tables."""
    parts = {command for command, _, _ in subcommands()}
    return ([name for name, roles in requests() if role in roles and roles != set(ROLES)]
            + [name for name, _, roles in commands() if role in roles and name not in parts and roles != set(ROLES)]
            + [f"{command} {name}" for command, name, roles in subcommands() if role in roles])


if __name__ == "__main__":
    print("\n".join(verbs()))      # for meson.build: a page each
