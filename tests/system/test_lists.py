"""What stands in a table of the code and once more elsewhere: no list lacks a row."""
import ast
import glob
import json
import os
import re
import sys

import pytest

from clitest import policy_fields
from test_curve import ACTIONS
from zplanprocs import REPO

sys.path[:0] = [os.path.join(REPO, "src", "man"), os.path.join(REPO, "src", "clients", "python")]
import tables       # noqa: E402 pylint: disable=wrong-import-position
import zplan        # noqa: E402 pylint: disable=wrong-import-position

ASSETS = os.path.join(REPO, "src", "web", "assets")
# Settings that other documents name, or none, as no peer notices them.
NOT_OF_OPERATIONS = {"callback_target", "center", "dialect", "events", "log_format", "log_level", "publish", "redis_defdb",
                     "repair", "request", "timezone"}


def text_of(*path):
    with open(os.path.join(REPO, *path), encoding="utf-8") as file:
        return file.read()


def chapter(document, number):
    """A chapter of proto, with those below it."""
    level, title = re.search(rf"(?m)^(#+) ({re.escape(number)}\.? .*)$", text_of("proto", document)).groups()
    text = text_of("proto", document).partition(f"\n{level} {title}\n")[2]
    return re.split(rf"(?m)^#{{2,{len(level)}}} ", text)[0]


def first_cells(text):
    """The names in the first column of its tables."""
    return set(re.findall(r"`(\w+)`", " ".join(re.findall(r"(?m)^\|([^|]*)\|", text))))


# -- fields of a plan

def properties(schema):
    return set(json.loads(text_of("proto", schema))["properties"])


@pytest.mark.parametrize("place, names", [
    ("zplan.py", lambda: set(zplan._NAMES["plan"])),
    ("plan.schema.json", lambda: properties("plan.schema.json")),
    ("message.schema.json", lambda: properties("message.schema.json")),
    ("plans.md", lambda: first_cells(chapter("plans.md", "5.2"))),
    ("redis.md", lambda: first_cells(chapter("redis.md", "3"))),
], ids=lambda value: value if isinstance(value, str) else "")
def test_every_field_of_a_policy_is_in(place, names):
    assert policy_fields() - names() == set(), place


def test_every_field_of_a_kind_is_in_the_protocol_and_the_help():
    said = re.search(r"(?s)The fields are those (.*?); at most", chapter("admin.md", "9.10"))[1]
    of_kinds = re.findall(r"(?m)^FIELD \((\w+), \w+, RUNS,", text_of("src/plan/rules/policy_fields.def"))
    assert set(re.findall(r"`(\w+)`", said)) == set(of_kinds)
    about = re.sub(r'\\n"\s*"', " ", text_of("src/cli/station/verb_kind.c"))
    assert set(re.search(r"as a JSON object: (.*?)\. A plan", about)[1].split(", ")) == set(of_kinds)


# -- types of plans

TYPES = tables.plan_types()


def test_every_type_is_in_the_documents():
    numbered = " ".join(f"{number} `{name}`" for number, name in enumerate(TYPES))
    assert f"| `plan_type` | integer or name | {numbered} |" in chapter("plans.md", "5.2")
    assert set(TYPES) <= set(re.findall(r"\w+", " ".join(re.findall(r"(?m)^\|([^|]*)\|", chapter("plans.md", "6.2")))))
    assert f"| `plan_type` | integer | 0..{len(TYPES) - 1} |" in chapter("redis.md", "3")


def test_every_type_is_in_the_schemas():
    def rule(schema):
        return json.loads(text_of("proto", schema))["properties"]["plan_type"]
    assert rule("plan.schema.json")["enum"] == [*range(len(TYPES)), *TYPES]
    assert rule("message.schema.json")["maximum"] == len(TYPES) - 1


def test_every_type_is_in_the_clients():
    assert list(zplan._TYPES) == TYPES
    shown = re.search(r"(?ms)^export function scheduleText\(.*?^\}", text_of(ASSETS, "ui.js"))[0]
    units = re.search(r"const unit = \{(.*?)\}", shown)[1]
    assert {*re.findall(r"(\w+): ", units), *re.findall(r"case '(\w+)'", shown)} == set(TYPES)


def test_every_type_is_compared_with_the_oracle():
    drawn = re.search(r"(?m)^KINDS = (.*)#", text_of("tests/oracle/test_next_oracle.py"))[1]
    assert set(re.findall(r'"(\w+)"', drawn)) | {"cron"} == set(TYPES)


# -- settings

def test_every_setting_is_in_the_protocol():
    settings = tables.rows_of("src/station/settings/settings_table.c", r"^static const struct setting rows\[\] = \{",
                              r'\{"(\w+)", "--', 50)
    said = text_of("proto/operations.md")
    assert {name for name in settings if not re.search(rf"`{name}\b", said)} == NOT_OF_OPERATIONS


# -- admin commands

def commands():
    """Each command, those with sub-commands as `flow list`."""
    parts = {command for command, _, _ in tables.subcommands()}
    return ({name for name, _, _ in tables.commands()} - parts
            | {f"{command} {name}" for command, name, _ in tables.subcommands()})


def test_every_command_is_in_the_protocol():
    assert first_cells(chapter("admin.md", "9.1")) == {name for name, _, _ in tables.commands()}


def test_every_command_is_tried_with_each_role():
    tried = {re.sub("^next .*", "next", name) for name, _, _ in ACTIONS}
    assert commands() - tried == set()


def test_the_clients_send_again_what_only_reads():
    """What a client may repeat by itself: the commands of the role observe, and whoami."""
    reads = set(tables.allowed("observe")) | {"whoami"}
    of_c = tables.rows_of("src/client/requests.c", r"^\} read_commands\[\] = ", r'\{"(\w+)", (?:"(\w+)"|NULL)\}', 10)
    assert {" ".join(filter(None, row)) for row in of_c} == reads - {"flow check"}
    assert set(zplan._READS) | {" ".join(row) for row in zplan._READS_OF} == reads - {"flow check"}


# -- counters

def test_every_counter_is_in_the_protocol():
    counters = re.findall(r"X \((\w+)\)", text_of("src/station/state/counters.h").partition("struct counters")[0])
    assert len(counters) > 30 and set(counters) - first_cells(chapter("admin.md", "9.8")) == set()


# -- fields of a query

def test_every_field_of_a_query_has_an_effect():
    """The router lets them pass; one that neither the filter nor a resource reads would do nothing."""
    routes = text_of("src/web/http/routes.def")
    lists = dict(re.findall(r'#define (\w+_FIELDS)((?:\s*\\?\s*"[^"]*")+)', routes))
    queries = re.findall(r'(?s)ROUTE \(\w+, \w+, \w+,\s*"[^"]*",\s*"[^"]*",\s*"[^"]*",\s*([^,]*),', routes)
    assert len(queries) == routes.count("\nROUTE (") and {"LIST_FIELDS", "RUN_FIELDS"} < set(queries)
    filtered = set(tables.rows_of("src/web/http/query.c", r"^\} rows\[\] = ", r'\{"(\w+)", "\w+", [A-Z]', 20)) | {"after"}
    read = set(re.findall(r'"(\w+)"', "".join(map(text_of, glob.glob(os.path.join(REPO, "src/web/[al]*/*.c"))))))
    for query in set(queries):
        texts = re.sub(r"\w+_FIELDS", lambda name: lists[name[0]], query)
        fields = set(re.findall(r"\w+", "".join(re.findall(r'"([^"]*)"', texts))))
        assert fields <= (filtered if query in lists else filtered | read), query


# -- keys in Redis

def test_every_key_has_one_name_and_is_described():
    """redis_keys.h and the lists of proto/redis.md have the same keys, and no other file says one."""
    named = re.findall(r'(?m)^#define KEY_(?!FORMER_|PLANTED_)\w+ +"(plan:[^"]+)"', text_of("src", "base", "redis_keys.h"))
    described = {re.sub("[A-Z].*", "", key) for key in re.findall(r"(?m)^\| `(plan:[\w:]+)` \|", text_of("proto", "redis.md"))}
    assert set(named) == described - {"plan:forgot"}     # that is of a script alone
    assert len(named) == len(set(named))
    others = {os.path.relpath(path, REPO) for path in glob.glob(os.path.join(REPO, "src", "**", "*.[ch]"), recursive=True)
              if re.search(r'"plan:[^" ]+"', text_of(path))}
    assert {path for path in others if not path.startswith("src/cli/")} == {"src/base/redis_keys.h"}


# -- the console

def test_every_asset_is_built_and_imported_by_its_name():
    built = set(re.findall(r"'([\w.-]+)'", text_of(ASSETS, "meson.build")))
    assert built == set(os.listdir(ASSETS)) - {"meson.build"}
    for script in glob.glob(os.path.join(ASSETS, "*.js")):
        assert set(re.findall(r"(?m)^import [^;]* from '\./([^']+)';$", text_of(script))) <= built, script


def test_every_page_of_the_console_is_looked_at():
    table = re.search(r"(?ms)^const pages = \{(.*?)^\};", text_of(ASSETS, "app.js"))[1]
    rows = re.findall(r"(?:'([\w-]*)'|(\w+)): \[\w+, '[^']+'(, true)?\]", table)
    pages = {quoted or bare: bool(shown) for quoted, bare, shown in rows}
    looked_at = set(ast.literal_eval(re.search(r"(?m)^PAGES = (\[.*\])$", text_of("tests/system/test_web_console.py"))[1]))
    assert {name for name, shown in pages.items() if shown} <= looked_at <= set(pages)
