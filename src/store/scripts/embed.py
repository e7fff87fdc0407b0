"""Write the Lua scripts as one C file: embed.py OUTPUT HEADER SCRIPT...

A line "--@include NAME" in a script stands for that file's text. The order of the scripts is that of enum script
in the header, which is checked here.
"""
import os
import re
import sys


def script_text(path):
    """The text of a script as Redis gets it."""
    def included(match):
        with open(os.path.join(os.path.dirname(path), match.group(1)), encoding="utf-8") as file:
            return file.read()
    with open(path, encoding="utf-8") as file:
        return re.sub(r"^--@include (\S+)\n", included, file.read(), flags=re.M)


def main():
    output, header, *paths = sys.argv[1:]
    names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
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
