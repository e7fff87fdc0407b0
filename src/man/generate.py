"""A manual page from its template and from what the programs say of themselves.

    generate.py VERSION BIN_DIR TEMPLATE OUTPUT [VERB]

A template is roff (man(7)) with @VERSION@, and with lines of its own that are replaced. verb.1.in is the template of
the page of each verb; in it @VERB@ and @SUMMARY@ are replaced, too.

    .Options PROGRAM      the option list in the help of a program, or of a verb: "zplan add"
    .About PROGRAM        the prose before the first list
    .Lists PROGRAM        all lists, each under its heading, and the prose between them
    .Usage PROGRAM        the lines behind "Usage:"
    .Rest PROGRAM         what stands behind the options
    .Verbs                the verbs of zplan, each with its page
    .SettingOptions       the settings of zpland as options, by topic
    .Settings             the settings of zpland as they stand in its file, by topic
    .Codes KIND           the numbers of the wire: COMMAND, STATUS or FRAME
    .Types                the types of plans
    .Commands             each admin command, and the roles that may use it
    .Roles                what each role may ask for

The help of a program is paragraphs, separated by empty lines. A line that ends with a colon heads
what is indented by two below it: rows "  NAME  what it is", or else lines to be typed.
"""
import itertools
import json
import os
import re
import subprocess
import sys

import tables

PROGRAMS = ("zplan", "zpland", "zstationd", "zplan-callback", "zplan-web")
OPTION = re.compile(r"(?<![\w\-/])(--?[a-zA-Z][\w-]*)(?![\w*])")
# A row: two columns with at least two blanks between them, or an option too long for its column.
ROW = re.compile(r"  (?P<term>\S+(?: \S+)*)(?:  +(?P<text>\S.*))?")
LONG_ROW = re.compile(r"  (?P<term>--?[\w-]+ [A-Z]\S*) (?P<text>\S.*)")
DEEP = re.compile(r" {10,}\S")


# -- roff

def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def inline(text):
    """Prose: options and what stands in backquotes are bold."""
    parts = []
    for i, part in enumerate(text.split("`")):
        if i % 2:
            parts.append(f"\\fB{escape(part)}\\fR")
            continue
        at = 0
        for found in OPTION.finditer(part):
            parts += [escape(part[at:found.start()]), f"\\fB{escape(found[1])}\\fR"]
            at = found.end()
        parts.append(escape(part[at:]))
    line = "".join(parts)
    return "\\&" + line if line[:1] in (".", "'") else line


def term(text):
    """What a list explains: names bold, what stands for a value in italics."""
    words = []
    for word in text.split(" "):
        comma = "," if word.endswith(",") else ""
        word = word.rstrip(",")
        value = re.match(r"[A-Z][A-Z_]*\b", word) and not text.startswith("ZPLAN_")
        words.append(f"\\f{'I' if value else 'B'}{escape(word)}\\fR{comma}")
    return " ".join(words)


def example(lines):
    return [".PP", ".RS 4", ".nf", *(escape(line) or ".sp" for line in lines), ".fi", ".RE"]


def paragraph(lines):
    return [".PP", *(inline(line) for line in lines)]


# -- the form of the help

def output_of(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True).stdout


def rows_of(lines):
    """[(term, [text])], or None when the lines are to be typed."""
    rows, two_columns = [], False
    for line in lines:
        if DEEP.match(line):
            if not rows:
                return None
            rows[-1][1].append(line.strip())
            continue
        found = LONG_ROW.fullmatch(line) if "  " not in line.strip() else None
        found = found or ROW.fullmatch(line)
        if not found or found["term"].split()[0] in (*PROGRAMS, "cp", "$"):
            return None
        two_columns |= bool(found["text"])
        rows.append((found["term"], [found["text"]] if found["text"] else []))
    options = all(row[0].startswith("-") for row in rows)
    return rows if two_columns or options else None


def indented(lines):
    rows = rows_of(lines)
    if rows is None:
        return example([line[2:] for line in lines])
    return listed(rows)


def listed(rows):
    return [line for name, text in rows
            for line in (".TP", term(name), *(explained(text) if text else ["\\&"]))]


def explained(text):
    """What stands beside a name; in it a name with at least two blanks behind it begins a line."""
    for line in text:
        found = re.fullmatch(r"(\S+) {2,}(.*)", line)
        yield from [".br", f"\\fB{escape(found[1])}\\fR " + inline(found[2])] if found else [inline(line)]


def blocks(text):
    """The paragraphs, as lists of lines."""
    return [block.split("\n") for block in re.split(r"\n\n+", text.strip("\n"))]


def typeset(block):
    """A paragraph, and what is indented in it."""
    return [line for deep, lines in itertools.groupby(block, key=lambda line: line.startswith("  "))
            for line in (indented if deep else paragraph)(list(lines))]


def synopsis(block):
    out = []
    for line in block:
        words = re.sub(r"^usage:", "", line, flags=re.I).strip()
        if re.match(r"z\w+", words):
            out += [".PP"] if out else []
            name, _, rest = words.partition(" ")
            out.append(f"\\fB{name}\\fR " + inline(rest))
        else:
            out.append(inline(words))
    return out


class Help:
    """What a program, or a verb, says with --help, taken apart."""

    def __init__(self, command):
        every = blocks(output_of([*command, "--help"]))
        self.usage = next(b for b in every if b[0].lower().startswith("usage:"))
        rest = [b for b in every if b is not self.usage
                and not b[0].startswith(("Options of every command (", f"{os.path.basename(command[-1])} - "))]
        heads = [i for i, block in enumerate(rest) if self.is_list(block)]
        first = next((i for i in heads if rest[i][0].lower().startswith("options")), None)
        self.about = rest[:heads[0]] if heads else rest
        self.every = rest
        self.options = rest[first] if first is not None else []
        self.rest = rest[first + 1:] if first is not None else []

    @staticmethod
    def is_list(block):
        return (block[0].endswith(":") and len(block) > 1 and block[1].startswith("  ")
                and rows_of(block[1:2]) is not None)


# -- the lines of a template

class Page:
    def __init__(self, version, folder):
        self.version, self.folder = version, folder

    def program(self, name):
        return os.path.join(self.folder, name)

    def help(self, words):
        program, *rest = words.split()
        return Help([self.program(program), *rest])

    def verbs(self):
        """[(verb, summary)] of the help of zplan."""
        block = next(b for b in blocks(output_of([self.program("zplan"), "--help"])) if b[0] == "Commands:")
        return [(name, " ".join(summary)) for name, summary in rows_of(block[1:])]

    def settings(self):
        """Lists of the settings of zpland, each as (topic, settings)."""
        rows = map(json.loads, output_of([self.program("zpland"), "--settings"]).splitlines())
        return itertools.groupby(rows, key=lambda setting: setting["topic"])

    def do_usage(self, program):
        return synopsis(self.help(program).usage)

    def do_about(self, program):
        return [line for block in self.help(program).about for line in typeset(block)]

    def do_options(self, program):
        return typeset(self.help(program).options[1:])

    def do_rest(self, program):
        return [line for block in self.help(program).rest for line in typeset(block)]

    def do_lists(self, program):
        page = self.help(program)
        out = []
        for block in page.every[len(page.about):]:
            out += [f".SS {escape(block[0].rstrip(':'))}", *typeset(block[1:])] if page.is_list(block) else typeset(block)
        return out

    def do_verbs(self):
        missing = {name for name, _ in self.verbs()} ^ set(tables.verbs())
        if missing:
            raise SystemExit(f"zplan --help and verb_table.c differ: {missing}")
        return [line for name, summary in self.verbs()
                for line in (".TP", f".BR zplan\\-{name} (1)", inline(summary))]

    def do_settingoptions(self):
        out = []
        for topic, settings in self.settings():
            out.append(f".SS {topic}")
            for setting in settings:
                value = f" {setting['value']}" if "value" in setting else ""
                out += [".TP", term(setting["option"] + value), *self.what(setting),
                        f"In the file: \\fB{escape(setting['name'])}\\fR."]
        return [*out, ".SS Other options", *listed(rows_of(self.help("zpland").options[1:]))]

    def do_settings(self):
        out = []
        for topic, settings in self.settings():
            out.append(f".SS {topic}")
            for setting in settings:
                out += [".TP", self.assignment(setting), *self.what(setting),
                        f"On the command line: \\fB{escape(setting['option'])}\\fR.",
                        "Read again on SIGHUP." if setting["reload"] else "Needs a restart."]
        return out

    @staticmethod
    def do_codes(kind):
        rows = [f"{escape(name)} {escape(code)}" for name, code in tables.codes(kind)]
        return [", ".join(rows) + "."]

    @staticmethod
    def do_types():
        return [", ".join(f"\\fB{name}\\fR" for name in tables.plan_types()) + "."]

    @staticmethod
    def do_commands():
        return [line for _, usage, roles in tables.commands()
                for line in (".TP", f"\\fB{escape(usage)}\\fR",
                             "For " + " or ".join(role for role in tables.ROLES if role in roles) + ".")]

    @staticmethod
    def do_roles():
        return [line for role in tables.ROLES
                for line in (".TP", f"\\fB{role}\\fR", escape(", ".join(tables.allowed(role)) + "."))]

    @staticmethod
    def assignment(setting):
        if setting["type"] == "list":
            return (f"\\fB{escape(setting['name'])}\\fR section: "
                    "\\fINAME\\fR = \\fITYPE@ENDPOINT\\fR")
        value = "\\fI0|1\\fR" if setting["type"] == "flag" else term(setting["value"])
        return f"\\fB{escape(setting['name'])}\\fR = {value}"

    @staticmethod
    def what(setting):
        """Its help as sentences, its range, its default."""
        text = " ".join(setting["help"].split())
        out = [inline(text + ".")]
        if setting["type"] == "number":
            out.append(f"From {setting['min']} to {setting['max']}.")
        if setting.get("default") and setting["type"] != "flag":
            out.append(f"Default: \\fB{escape(setting['default'])}\\fR.")
        return out

    def made(self, template, verb=""):
        out = []
        template = template.replace("@VERSION@", self.version).replace("@VERB@", verb)
        template = template.replace("@SUMMARY@", escape(dict(self.verbs())[verb]) if verb else "")
        for line in template.splitlines():
            found = re.fullmatch(r"\.([A-Z][a-z]\w+)(?: (\w[\w -]*))?", line)
            method = getattr(self, "do_" + found[1].lower(), None) if found else None
            out += method(*filter(None, found.groups()[1:])) if method else [line]
        # A heading or a list needs no .PP before it, nor a page two of them.
        kept = []
        for line in out:
            if line == ".PP" and kept and re.match(r"\.(PP|S[HS])", kept[-1]):
                continue
            kept.append(line)
        return "\n".join(kept) + "\n"


def main():
    version, folder, template, output, *verb = sys.argv[1:]
    with open(template, encoding="utf-8") as file:
        text = Page(version, folder).made(file.read(), *verb)
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
