#!/usr/bin/env python3
"""Cost per operation of Tenon's IR core and of MLIR 22, measured in the same run.

  compare_ir.py <build folder> [--filter REGEX] [--rounds N]

Needs ir_core_bench and mlir_ir_bench in the build folder (a Release build, MLIR 22 installed). The two alternate,
and the medians over the rounds are compared.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys


def find(build, name):
    for path in sorted(pathlib.Path(build).rglob(name)):
        if path.is_file():
            return path
    sys.exit(f"{build} has no {name}: build it (MLIR 22's libraries are needed for mlir_ir_bench)")


def measure(program, only):
    command = [str(program), "--benchmark_format=json"]
    if only:
        command.append(f"--benchmark_filter={only}")
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = {}
    for bench in json.loads(result.stdout)["benchmarks"]:
        name = bench["name"].split("/min_time")[0].split("/iterations")[0]
        for counter, unit in (("ns_per_op", 1e9 * 1e-9), ("rss_bytes", 1), ("pool_bytes", 1)):
            if counter in bench:
                rows[f"{name} {counter}"] = bench[counter] * unit
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--filter", default="")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    ours, theirs = find(arguments.build, "ir_core_bench"), find(arguments.build, "mlir_ir_bench")
    runs = {"tenon": [], "mlir": []}
    for _ in range(arguments.rounds):
        runs["tenon"].append(measure(ours, arguments.filter))
        runs["mlir"].append(measure(theirs, arguments.filter))
    print(f"{'':34}{'tenon':>10}{'mlir 22':>10}{'ratio':>8}")
    for name in runs["tenon"][0]:
        tenon = statistics.median(run[name] for run in runs["tenon"])
        other = [run[name] for run in runs["mlir"] if name in run]
        if other:
            mlir = statistics.median(other)
            print(f"{name:34}{tenon:10.1f}{mlir:10.1f}{mlir / tenon:8.2f}")
        else:
            print(f"{name:34}{tenon:10.1f}")


if __name__ == "__main__":
    main()
