"""Write the Lua scripts as one C file: embed.py OUTPUT SCRIPT...

A line "--@include NAME" in a script stands for that file's text, without the functions that the script has
no use for: Redis makes all functions of a script anew at each call, which takes longer than most of what a
call of one plan does. The order of the scripts is that of enum script in scripts.h, which is checked here.
"""
import os
import re
import sys


def names_of(paragraph):
    """The names of its functions and constants; none, if it does more than to name some."""
    begins = [line for line in paragraph.splitlines() if re.match(r"(?!--|end$|\s).", line)]
    names = [re.match(r"(?:local )?function (\w+)\(|local (\w+)(?: = [^(]*)?$", line) for line in begins]
    return {match.group(1) or match.group(2) for match in names} if all(names) else set()


def needed(text, users):
    """The paragraphs of a shared text that `users` has a use for; each may use those before it."""
    kept = []
    for paragraph in reversed(re.split(r"\n\n(?!\s)", text.rstrip("\n"))):
        code = re.sub(r"--.*", "", users)
        names = names_of(paragraph)
        if not names or any(re.search(rf"(?<![\w:])(?<!\w\.){name}\b", code) for name in names):
            kept.insert(0, paragraph)
            users = paragraph + "\n" + users
    return "\n\n".join(kept) + "\n"


def script_text(path):
    """The text of a script as Redis gets it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()

    # The last one first: it may use what those before it have.
    for match in reversed(list(re.finditer(r"^--@include (\S+)\n", text, re.M))):
        with open(os.path.join(os.path.dirname(path), match.group(1)), encoding="utf-8") as file:
            shared = needed(file.read(), text[match.end():])
        text = text[:match.start()] + shared + text[match.end():]
    return text


def main():
    output, paths = sys.argv[1], sys.argv[2:]
    names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    header = os.path.join(os.path.dirname(__file__), "scripts.h")
    with open(header, encoding="utf-8") as file:
        wanted = [name.lower() for name in re.findall(r"^    SCRIPT_(\w+),$", file.read(), re.M)]
    if names != wanted:
        sys.exit(f"scripts.h wants {wanted}, the build has {names}")
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include "scripts.h"\n\nconst struct script_text script_texts[SCRIPTS] = {\n')
        for name, path in zip(names, paths):
            data = script_text(path).encode()
            file.write(f'    {{"{name}", (const char[]){{{", ".join(map(str, data))}, 0}}, '
                       f"{len(data)}}},\n")
        file.write("};\n")


if __name__ == "__main__":
    main()
