#!/usr/bin/env python3
"""Runs random cases of ONNX operators with ir-run and compares with ONNX Runtime, or with ONNX's reference
where that refuses.

  run.py --ir-run=build/bin/ir-run [--cases=100] [--seed=0] [--keep=DIR] [OP...]
"""

import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zlib

import case as cases
import ops_elementwise
import ops_microsoft
import ops_ml
import ops_movement
import ops_nn
import ops_recurrent
import ops_control

GENERATORS = {}
for module in (ops_elementwise, ops_movement, ops_nn, ops_recurrent, ops_control, ops_microsoft, ops_ml):
    GENERATORS.update(module.GENERATORS)

TOLERANCES = {"float": [], "half": ["--rtol=2e-2", "--atol=2e-3"], "rounded": ["--atol=1"]}


def run_batch(ir_run, folders, tolerance):
    """{folder: line of ir-run} for all folders; a crash is the line of the one that it struck."""
    lines = {}
    left = list(folders)
    while left:
        done = subprocess.run(
            [ir_run, "--onnx-test", "--threads=1", *TOLERANCES[tolerance], *map(str, left)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=1500,
        )
        printed = [l for l in done.stdout.splitlines() if l[:5] in ("PASS ", "FAIL ", "SKIP ")]
        for folder, line in zip(left, printed):
            lines[folder] = line
        if len(printed) >= len(left):
            break
        lines[left[len(printed)]] = f"CRASH {done.returncode} {done.stderr[-300:]}"
        left = left[len(printed) + 1 :]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--ir-run", required=True)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--refusals", action="store_true", help="print why no oracle runs a case")
    parser.add_argument("--keep", help="folder for the cases that differ")
    arguments = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp())
    bad = 0
    for op in arguments.ops or sorted(GENERATORS):
        r = cases.Random([arguments.seed, zlib.crc32(op.encode())])
        batches = collections.defaultdict(dict)
        counts = collections.Counter()
        for i in range(arguments.cases):
            try:
                case = GENERATORS[op](r)
            except Exception as error:
                print(f"generator of {op}: {error!r}")
                raise
            case.said = cases.solve(case, cases.ORACLES)
            if arguments.refusals and case.outputs is None:
                print(f"{op}_{i:05}: {'; '.join(case.said)}")
            folder = work / f"{op}_{i:05}"
            cases.write(case, folder)
            kind = "invalid" if case.outputs is None else case.tolerance
            batches[kind][folder] = case
        for kind, batch in batches.items():
            lines = run_batch(arguments.ir_run, list(batch), "float" if kind == "invalid" else kind)
            for folder, case in batch.items():
                line = lines[folder]
                word = line.split()[0]
                counts[f"{kind} {word}" if kind == "invalid" else word] += 1
                if kind != "invalid":
                    counts[case.oracle] += 1
                show = word == "CRASH" or (kind != "invalid" and word != "PASS")
                if not show:
                    continue
                bad += 1
                node = case.model.graph.node[0]
                attributes = {
                    a.name: cases.helper.get_attribute_value(a)
                    for a in node.attribute
                    if a.type != a.GRAPH and a.type != a.TENSOR
                }
                print(
                    f"{line} [{case.oracle}; opset {case.model.opset_import[0].version}] {attributes} "
                    f"{ {n: (str(v.dtype), v.shape) for n, v in case.inputs.items()} }"
                )
                if arguments.keep:
                    target = pathlib.Path(arguments.keep) / folder.name
                    shutil.rmtree(target, ignore_errors=True)
                    shutil.copytree(folder, target)
        print(f"{op}: {json.dumps(dict(sorted(counts.items())))}", flush=True)
        for folder in batches.values():
            for f in folder:
                shutil.rmtree(f, ignore_errors=True)
    shutil.rmtree(work, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
