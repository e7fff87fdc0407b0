"""Write the files of a folder as a C table: embed.py OUTPUT FILE...

All files are served below a name made of their contents, which index.html refers to: what a browser keeps for good is
never of another version. The scripts are one module, app.js: a browser asks once for all of them."""
import gzip
import hashlib
import os
import re
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
         ".png": "image/png", ".ico": "image/x-icon", ".json": "application/json", ".woff2": "font/woff2",
         ".txt": "text/plain; charset=utf-8", ".webmanifest": "application/manifest+json"}


def array(name, data):
    lines = [",".join(map(str, data[at:at + 24])) for at in range(0, len(data), 24)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(lines or ["0"]) + "};\n"


def version_of(assets):
    digest = hashlib.sha256()
    for name, data in sorted(assets.items()):
        digest.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
    return digest.hexdigest()[:16]


# As the modules are written; anything else is a mistake.
IMPORT = re.compile(r"(?m)^import \{([^}]*)\} from '\./([\w-]+\.js)';\n")
EXPORT = re.compile(r"(?m)^export (?=(?:async )?(?:function|const|class) (\w+))")
EXPORTED = re.compile(r"(?m)(?:^|(?<=;))export ?\{([^}]*)\};?\s*$")


def pairs(names):
    """Of "a, b as c": (a, a), (b, c)."""
    return [(parts[0], parts[-1]) for parts in (one.split(" as ") for one in re.split(r"\s*,\s*", names.strip()))]


def function_of(name, text):
    """A module as the value of a function: its names are its own, as in a module."""
    exported = [(one, one) for one in EXPORT.findall(text)] + [pair for names in EXPORTED.findall(text) for pair in pairs(names)]
    text = EXPORTED.sub("", EXPORT.sub("", text))
    text = IMPORT.sub(lambda found: "const {%s} = modules['%s'];\n" % (
        ", ".join(f"{theirs}: {ours}" for theirs, ours in pairs(found[1])), found[2]), text)
    left = re.search(r"(?m)^(?:import|export)\b.*", text)
    if left:
        sys.exit(f"{name}: not understood: {left[0]}")
    values = ", ".join(f"{theirs}: {ours}" for ours, theirs in exported)
    return f"modules['{name}'] = (() => {{\n{text}\nreturn {{{values}}};\n}})();\n"


def bundle(scripts):
    """One module of all: each behind those that it imports. Tests look into `modules`."""
    out, done = ["export const modules = {};\n"], []

    def add(name, importers=()):
        if name in importers:
            sys.exit(f"{name} imports itself: {' -> '.join([*importers, name])}")
        for _, imported in IMPORT.findall(scripts[name]):
            if imported not in done:
                add(imported, (*importers, name))
        if name not in done:
            done.append(name)
            out.append(function_of(name, scripts[name]))
    for name in sorted(scripts):
        if name not in done:
            add(name)
    return "".join(out).encode()


def served(files):
    """name -> what is served."""
    scripts, others = {}, {}
    for path in files:
        name = os.path.basename(path)
        with open(path, "rb") as file:
            if name.endswith(".js"):
                scripts[name] = file.read().decode()
            else:
                others[name] = file.read()
    return {**others, "app.js": bundle(scripts)}


def main(output, *files):
    assets = served(files)
    version = version_of(assets)
    bodies, rows = [], []
    for number, (name, data) in enumerate(sorted(assets.items())):
        kind = TYPES[os.path.splitext(name)[1]]     # another one is a mistake
        if name == "index.html":
            data = data.replace(b'="assets/', f'="assets/{version}/'.encode())
        small = gzip.compress(data, 9, mtime=0)
        etag = hashlib.sha256(data).hexdigest()[:16]
        bodies.append(array(f"bytes_{number}", data))
        if len(small) < len(data):
            bodies.append(array(f"gzip_{number}", small))
        packed = f"gzip_{number}, {len(data)}, {len(small)}" if len(small) < len(data) else f"NULL, {len(data)}, 0"
        rows.append(f'    {{"{name}", "{kind}", "\\"{etag}\\"", bytes_{number}, {packed}}},\n')
    with open(output, "w") as out:
        out.write('#include "assets.h"\n\n' + "\n".join(bodies) + "\nconst struct asset assets[] = {\n" + "".join(rows)
                  + f"}};\n\nconst char asset_version[] = \"{version}\";\n\nconst size_t asset_count = sizeof assets / sizeof *assets;\n")


main(*sys.argv[1:])
