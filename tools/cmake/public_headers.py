#!/usr/bin/env python3
"""Writes the headers that a host may include to a folder, as tenon/<path>, and the umbrella tenon/tenon.h.

The headers are those of tools/docs/public_headers.txt, the generated ones of dialects and calls, and all that these include.
Their own includes get the prefix tenon/. A header that only the library needs must not be among them: INTERNAL.

  public_headers.py --source DIR --generated DIR [--out DIR]     without --out, prints the names
"""

import argparse
import pathlib
import re
import sys

ROOTS = ("ir", "pass", "drr", "patterns", "transforms", "kernels", "executor", "frontends")
INCLUDE = re.compile(r'^(\s*#\s*include\s*")((?:' + "|".join(ROOTS) + r')/[^"]+)(")', re.M)
# Names of files that say "internal" of themselves.
INTERNAL = re.compile(r"_impl\.h$|_internal\.h$|-inl\.h$|/op_pool\.h$")


def listed(source):
    text = (source / "tools/docs/public_headers.txt").read_text(encoding="utf8")
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def find(name, folders):
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    return None


def closure(source, generated):
    """Path -> text of every public header, includes rewritten; the listed ones in order; problems."""
    folders = [source, generated]
    roots = listed(source)
    for folder in ("ir/dialect", "executor/eager"):
        roots += sorted(p.relative_to(generated).as_posix() for p in (generated / folder).glob("*.h"))
    found, problems, todo = {}, [], list(roots)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        path = find(name, folders)
        if path is None:
            problems.append(f"{name}: there is no such header (tools/docs/public_headers.txt, or a public header, names it)")
            continue
        text = path.read_text(encoding="utf8")
        todo += [match[2] for match in INCLUDE.finditer(text)]
        found[name] = INCLUDE.sub(r"\1tenon/\2\3", text)
    problems += [f"{name}: a public header includes this internal one" for name in sorted(found) if INTERNAL.search(name)]
    return found, sorted(set(roots)), problems


def umbrella(roots):
    lines = [
        "// All public headers of Tenon. A file that includes only what it uses compiles several times as fast.",
        "#ifndef TENON_TENON_H_",
        "#define TENON_TENON_H_",
        "",
        *[f'#include "tenon/{name}"' for name in roots if name.endswith(".h")],
        "",
        "#endif  // TENON_TENON_H_",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--generated", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    found, roots, problems = closure(options.source, options.generated)
    if problems:
        print("\n".join(f"public_headers.py: {problem}" for problem in problems), file=sys.stderr)
        return 1
    if options.out is None:
        print("\n".join(sorted(found)))
        return 0
    for name, text in {**found, "tenon.h": umbrella(roots)}.items():
        path = options.out / "tenon" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
