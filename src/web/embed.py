"""Write the files of a folder as a C table: embed.py OUTPUT FILE...

All files are served below a name made of their contents, which index.html refers to, and modules import each other
relative to. So what a browser keeps for good is never of another version."""
import gzip
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
         ".png": "image/png", ".ico": "image/x-icon", ".json": "application/json", ".woff2": "font/woff2",
         ".txt": "text/plain; charset=utf-8", ".webmanifest": "application/manifest+json"}


def array(name, data):
    lines = [",".join(map(str, data[at:at + 24])) for at in range(0, len(data), 24)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(lines or ["0"]) + "};\n"


def version_of(files):
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(os.path.basename(path).encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()[:16]


def main(output, *files):
    version = version_of(sorted(files, key=os.path.basename))
    bodies, rows = [], []
    for number, path in enumerate(sorted(files, key=os.path.basename)):
        name = os.path.basename(path)
        kind = TYPES[os.path.splitext(name)[1]]     # another one is a mistake
        with open(path, "rb") as file:
            data = file.read()
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
