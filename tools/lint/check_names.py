#!/usr/bin/env python3
"""Checks file names, include guards, the length of files and leftovers. Exit status: 0 clean, 1 findings.

A file of more than 800 lines is reported unless it is a test or its folder's README names it (and says why).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["ir", "pass", "drr", "patterns", "transforms", "kernels", "executor", "frontends", "tools", "tests"]
LIMIT = 800


def check(path):
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    if not re.fullmatch(r"[a-z0-9_]+(-inl)?\.(h|cc|cu|cuh|inc|def)", path.name):
        yield 1, "file names are lower case with underscores"
    # Highway includes an -inl.h once for each instruction set: its guard is another.
    if path.suffix == ".h" and not name.endswith("-inl.h"):
        guard = "TENON_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper() + "_"
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            yield 1, f"the include guard should be {guard}"
    lines = text.splitlines()
    if len(lines) > LIMIT and not name.startswith("tests/"):
        readme = path.parent / "README.md"
        if not (readme.exists() and path.name in readme.read_text(encoding="utf-8")):
            yield LIMIT, f"{len(lines)} lines; split it, or say in {readme.relative_to(ROOT)} why not"
    for number, line in enumerate(lines, 1):
        if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
            yield number, "leftover: open work is tracked outside the sources"
        if line != line.rstrip():
            yield number, "white space at the end of the line"


def main():
    findings = 0
    files = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*")
                   if p.suffix in {".h", ".cc", ".cu", ".cuh", ".inc", ".def"})
    for path in files:
        for line, message in check(path):
            print(f"{path.relative_to(ROOT)}:{line}: {message}")
            findings += 1
    print(f"check_names: {len(files)} files, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
