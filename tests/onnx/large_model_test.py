#!/usr/bin/env python3
"""Optimizing a model and writing it again takes little memory beside the pages of its files.

    large_model_test.py <ir-opt> [large_model.py option...]

The model has weights in a sparse file, the result in another file. The anonymous memory (RssAnon) is watched while ir-opt runs: at most 96 MiB, and 2 bytes for
each 27 of the weights, which is 2 GiB for a model of 7 billion parameters. Small weights that are joined are in memory. Without options, the model is a small one.
"""

import os
import subprocess
import sys
import tempfile
import time

import large_model

SMALL = ["--layers", "6", "--hidden", "1024", "--inner", "2816", "--heads", "8", "--vocabulary", "8000"]


def peak_of(command):
    """The largest anonymous memory of a process in bytes, and its status. Shared pages of files are not in it."""
    with subprocess.Popen(command) as process:
        peak = 0
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                    lines = [line.split() for line in file if line.startswith("RssAnon:")]
            except OSError:
                lines = []
            peak = max([peak, *(int(line[1]) * 1024 for line in lines)])
            time.sleep(0.002)
        return peak, process.returncode


def mark(path):
    """Puts a number into each 256 KiB of a file, which stays sparse: equal elements would be folded, and not be written."""
    with open(path, "r+b") as file:
        for number, at in enumerate(range(0, os.path.getsize(path) - 4, 1 << 18)):
            file.seek(at)
            file.write(bytes([number % 251, 0x2c]))


def main(ir_opt, *options):
    if not sys.platform.startswith("linux"):
        print("needs /proc")
        return 77
    with tempfile.TemporaryDirectory(prefix="tenon-large-model-") as folder:
        path = os.path.join(folder, "model.onnx")
        weights = large_model.write(path, large_model.arguments([path, *(options or SMALL)]))
        mark(os.path.join(folder, "weights.bin"))
        bound = 96 * 2**20 + weights * 2 // 27
        start = time.monotonic()
        written = os.path.join(folder, "out.weights")
        peak, status = peak_of([ir_opt, path, "-O2", "-o", os.path.join(folder, "out.onnx"), f"--external-data-out={written}"])
        print(f"{weights / 2**20:.0f} MiB of weights: at most {peak / 2**20:.0f} MiB of anonymous memory "
              f"(allowed: {bound / 2**20:.0f}), {time.monotonic() - start:.1f} s")
        if status != 0:
            print(f"ir-opt: status {status}")
        elif os.path.getsize(written) < weights // 2:
            print(f"only {os.path.getsize(written)} bytes of weights were written")
            return 1
        return 1 if status != 0 or peak > bound else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
