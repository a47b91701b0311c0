#!/usr/bin/env python3
"""MLIR reads what we print, and we read what MLIR prints.

For every model, imported only and at -O2: `ir-opt --print-generic`, through
`mlir-opt --allow-unregistered-dialect --mlir-print-op-generic`, back into ir-opt; the text must be the same at the
end. mlir-opt 22 is looked for as mlir-opt-22, mlir-opt and in MLIR_OPT. Without it the test is skipped (77), or
fails where TENON_REQUIRE_MLIR is set.

  roundtrip.py <ir-opt> [<folder with model.onnx files below it>...]
"""

import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77


def find_mlir_opt():
    names = [os.environ.get("MLIR_OPT", ""), "mlir-opt-22", "/usr/lib/llvm-22/bin/mlir-opt", "mlir-opt"]
    for name in names:
        path = shutil.which(name) if name else None
        if path and "LLVM version 22" in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    return None


def run(command, text=None):
    """The standard output; raises with the first lines of the error output."""
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        shown = " ".join(str(part) for part in command)
        raise RuntimeError(f"{shown}\n  exit status {result.returncode}: {result.stderr.strip()[:800]}")
    return result.stdout


def first_difference(a, b):
    for number, (left, right) in enumerate(zip(a.splitlines(), b.splitlines()), 1):
        if left != right:
            column = next((i for i, (x, y) in enumerate(zip(left, right)) if x != y), min(len(left), len(right)))
            start = max(0, column - 60)
            return f"line {number}:\n    {left[start:column + 100]}\n    {right[start:column + 100]}"
    return f"{len(a.splitlines())} lines against {len(b.splitlines())}"


def check(ir_opt, mlir_opt, model, options):
    ours = run([ir_opt, model, *options, "--print-generic"])
    if '"builtin.module"' not in ours:
        raise RuntimeError(f"ir-opt printed no module: {ours[:200]!r}")
    theirs = run([mlir_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic"], ours)
    again = run([ir_opt, "-", "--print-generic", "--allow-unregistered-dialect"], theirs)
    if again != ours:
        raise RuntimeError(f"differs after the way through mlir-opt, {first_difference(ours, again)}")


def main():
    ir_opt, folders = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    mlir_opt = find_mlir_opt()
    if mlir_opt is None:
        print("mlir-opt 22 is not installed (tools/setup --with-mlir)")
        return 1 if os.environ.get("TENON_REQUIRE_MLIR") else SKIPPED
    models = sorted(path for folder in folders for path in folder.rglob("model.onnx"))
    failures = 0
    for model in models:
        for options in ([], ["-O2"]):
            try:
                check(ir_opt, mlir_opt, model, options)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                failures += 1
                print(f"FAILED {model} {' '.join(options)}\n  {error}")
    print(f"{len(models)} models, {failures} failures")
    return 1 if failures or not models else 0


if __name__ == "__main__":
    sys.exit(main())
