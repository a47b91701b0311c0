#!/usr/bin/env python3
"""Compiles sources by themselves. A unity build hides a missing #include and a name of another file's namespace.

  tools/lint/check_alone.py [--since=COMMIT] [--all] [--compiler=CXX] [--build=FOLDER]

Checked are the sources that changed since COMMIT (by default the last commit's parent), with the flags of
FOLDER/compile_commands.json. Exit status: 0 clean, 1 findings, 77 if nothing was built yet or COMMIT is not there.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DROPPED = re.compile(r"-(O\w|W\S*|pipe|Winvalid-pch)$|-fsanitize\S*|-fno-sanitize\S*")


def commands(build):
    """{source: its flags}. A source within a unity file has the flags of that."""
    result = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        path = pathlib.Path(entry["directory"], entry["file"])
        flags = []
        for before, word in zip([""] + words, words):
            if before in ("-o", "-c", "-include"):
                continue
            if word in ("-o", "-c", "-include") or word == entry["file"] or DROPPED.match(word):
                continue
            flags.append(word)
        # The first words are the compiler's, perhaps behind a launcher.
        while flags and not flags[0].startswith("-"):
            flags.pop(0)
        if "Unity" in path.parts and path.exists():
            parts = re.findall(r'^#include "(.*)"', path.read_text(encoding="utf-8"), re.M)
        else:
            parts = [str(path)]
        for part in parts:
            result.setdefault(pathlib.Path(os.path.normpath(pathlib.Path(path.parent, part))), flags)
    return result


def changed(since):
    listed = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", since, "--", "*.cc"],
                          cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.split()]


def errors(compiler, source, flags):
    """What the compiler says against `source`, "" if nothing."""
    run = subprocess.run([compiler, *flags, "-fsyntax-only", "-w", str(source)], cwd=ROOT, capture_output=True, text=True)
    if run.returncode == 0:
        return ""
    first = [line for line in run.stderr.splitlines() if "error" in line][:3]
    return "\n".join(first or [f"{source}: {compiler} ended with {run.returncode}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="HEAD~1")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-test")
    options = parser.parse_args()
    if not (options.build / "compile_commands.json").exists():
        print(f"{options.build} is not built")
        return 77
    if subprocess.run(["git", "rev-parse", "--quiet", "--verify", options.since + "^{commit}"],
                      cwd=ROOT, capture_output=True).returncode != 0 and not options.all:
        print(f"no commit {options.since} here")
        return 77
    known = commands(options.build)
    sources = sorted(path for path in known if path.is_relative_to(ROOT) and not path.is_relative_to(options.build))
    if not options.all:
        wanted = set(changed(options.since))
        sources = [path for path in sources if path in wanted]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda path: errors(options.compiler, path, known[path]), sources))
    for text in found:
        if text:
            print(text)
    print(f"check_alone: {len(sources)} sources, {sum(map(bool, found))} that do not compile alone")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
