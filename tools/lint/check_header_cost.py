#!/usr/bin/env python3
"""Checks what widely included headers cost: the lines that the preprocessor makes of each, against a budget.

A header counts as widely included if MANY files name it. The budget lies beside this script, in header_cost.txt; --update
writes it anew. Numbers depend on the compiler and its libraries, so other compilers than the budget's are skipped.
Exit status: 0 within the budget, 1 findings, 77 skipped.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGET = pathlib.Path(__file__).with_name("header_cost.txt")
FOLDERS = ["ir", "pass", "drr", "patterns", "transforms", "kernels", "executor", "frontends", "tools", "tests"]
MANY = 15
TOLERANCE = 1.02  # what updates of the system's packages may add
INCLUDE = re.compile(r'^#include "([^"]+\.h)"', re.M)


def wide_headers():
    """Headers by the number of files that include them; those that are generated count too."""
    counts = collections.Counter()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".h", ".cc"}:
                counts.update(set(INCLUDE.findall(path.read_text(encoding="utf-8"))))
    ours = tuple(folder + "/" for folder in FOLDERS)
    return sorted(name for name, count in counts.items() if count >= MANY and name.startswith(ours)
                  and not name.endswith("-inl.h") and not name.endswith(".pb.h"))


def cost(compiler, generated, header):
    """The lines after preprocessing, without empty ones. None with a message if it does not preprocess by itself."""
    command = [compiler, "-std=c++20", "-E", "-P", f"-I{ROOT}", f"-I{generated}", "-x", "c++", "-"]
    done = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr.strip())
    return done.stdout.count("\n"), ""


def read_budget(text):
    """The compiler's version, and lines by header."""
    version, budget = "", {}
    for line in text.splitlines():
        if line.startswith("compiler "):
            version = line.removeprefix("compiler ")
        elif line and not line.startswith("#"):
            lines, header = line.split()
            budget[header] = int(lines)
    return version, budget


def findings(costs, budget):
    """What is wrong, as lines."""
    for header, lines in costs.items():
        if header not in budget:
            yield f"{header}: {lines} lines, and no budget: many files include it (--update adds it)"
        elif lines > budget[header] * TOLERANCE:
            yield (f"{header}: {lines} lines, the budget is {budget[header]}: include less (forward declarations, code moved to "
                   "the .cc file), or raise it with --update and say why")
    for header in budget:
        if header not in costs:
            yield f"{header}: has a budget, but few files include it now (--update removes it)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--generated", required=True, help="the folder of generated headers")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()

    version = subprocess.run([arguments.compiler, "-dumpfullversion", "-dumpversion"], capture_output=True, text=True,
                             check=False).stdout.strip()
    macros = subprocess.run([arguments.compiler, "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True, text=True,
                            check=False).stdout
    name = f"{'clang' if '__clang__' in macros else 'gcc'} {version.split('.')[0]}"
    wanted, budget = read_budget(BUDGET.read_text(encoding="utf-8")) if BUDGET.exists() else ("", {})
    if not arguments.update and name != wanted:
        print(f"check_header_cost: the budget is of {wanted}, this is {name}")
        return 77

    headers = wide_headers()
    generated = pathlib.Path(arguments.generated)
    for header in headers + ["frontends/onnx/onnx.pb.h"]:
        if not (ROOT / header).exists() and not (generated / header).exists():
            print(f"check_header_cost: {header} is not there: its code is not generated yet (ninja tenon_codegen)")
            return 77
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda h: cost(arguments.compiler, arguments.generated, h), headers))
    broken = [f"{h}: {message}" for h, (lines, message) in zip(headers, results) if lines is None]
    costs = {h: lines for h, (lines, _) in zip(headers, results) if lines is not None}
    if arguments.update and not broken:
        text = "".join(f"{lines:6} {h}\n" for h, lines in sorted(costs.items(), key=lambda item: (-item[1], item[0])))
        BUDGET.write_text("# Lines after preprocessing of each header that many files include; tools/lint/check_header_cost.py "
                          f"reads and writes this.\ncompiler {name}\n{text}", encoding="utf-8")
        return 0
    found = broken + list(findings(costs, budget))
    for line in found:
        print(line)
    print(f"check_header_cost: {len(headers)} headers, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
