#!/usr/bin/env python3
"""Writes every case of ONNX's backend test suite as ONNX again, and runs what was written.

    backend_export_test.py <ir-opt> <ir-run> [ir-opt option...]

Cases that backend_skips.txt lists are left out: Tenon does not run them. Exit status: 0 all pass; 1 not; 77 there is no
suite.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import backend_suite
import backend_test

HERE = os.path.dirname(os.path.abspath(__file__))


def export(ir_opt, options, case, target):
    """The message of ir-opt; None if it wrote the model of a case with its data."""
    os.makedirs(target)
    done = subprocess.run([ir_opt, os.path.join(case, "model.onnx"), *options, "-o", os.path.join(target, "model.onnx")],
                          capture_output=True, text=True, timeout=100, errors="replace")
    if done.returncode == 0:
        for name in os.listdir(case):
            if name.startswith("test_data_set_"):
                os.symlink(os.path.join(case, name), os.path.join(target, name))
        return None
    shutil.rmtree(target)
    lines = [line for line in done.stderr.splitlines() if ": error: " in line] or [done.stderr.strip()]
    return f"status {done.returncode}: {lines[-1]}"


def main(ir_opt, ir_run, *options):
    suites, entries = backend_test.read_list(backend_test.LIST)
    problems, written = [], 0
    with tempfile.TemporaryDirectory(prefix="tenon-onnx-export-") as scratch:
        suite, folder = backend_suite.find(os.path.dirname(os.path.dirname(HERE)), scratch, list(suites),
                                           backend_suite.KINDS)
        laid_out = os.path.join(scratch, "exported")
        for kind in backend_suite.KINDS:
            for name in sorted(os.listdir(os.path.join(folder, kind))):
                key = f"{kind}/{name}"
                group, only = entries.get(key, (None, []))
                if group and (not only or suite in only):
                    continue
                message = export(ir_opt, options, os.path.join(folder, kind, name), os.path.join(laid_out, kind, name))
                if message is None:
                    written += 1
                else:
                    problems.append(f"{key}: {message}")
            if os.path.isdir(os.path.join(laid_out, kind)):
                for key, (outcome, message) in sorted(backend_test.run(ir_run, laid_out, kind).items()):
                    if outcome != "PASS":
                        problems.append(f"{key}: {outcome} {message}")
    print(f"suite {suite}: {written} cases written and run")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except backend_suite.Missing as missing:
        print(missing)
        sys.exit(1 if os.environ.get("TENON_REQUIRE_ONNX_SUITE") else 77)
