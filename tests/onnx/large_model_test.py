#!/usr/bin/env python3
"""Optimizing a model and writing it again takes little memory beside the pages of its files.

    large_model_test.py <ir-opt> [large_model.py option...]

The model has weights in a sparse file, the result is another file. The anonymous memory (RssAnon) is watched while ir-opt runs. Without
options, models of two and of four layers are written as ONNX and as binary modules: the larger one takes less than half a joined weight more.
With options, one model is written as ONNX: at most 96 MiB, and 2 bytes for each 27 of the weights, which is 2 GiB for a model of 7 billion
parameters.
"""

import os
import subprocess
import sys
import tempfile
import time

import large_model

SMALL = ["--hidden", "1024", "--inner", "2816", "--heads", "8", "--vocabulary", "8000"]
JOINED = 3 * 1024 * 1024 * 4  # the bytes of the three projections of a layer as one


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


def optimize(ir_opt, options, output):
    """Writes a model and optimizes it. Returns the bytes of its weights and the peak of anonymous memory; None for the peak after an error."""
    with tempfile.TemporaryDirectory(prefix="tenon-large-model-") as folder:
        path = os.path.join(folder, "model.onnx")
        weights = large_model.write(path, large_model.arguments([path, *options]))
        mark(os.path.join(folder, "weights.bin"))
        start = time.monotonic()
        written = os.path.join(folder, output)
        command = [ir_opt, path, "-O2", "-o", written]
        if output.endswith(".onnx"):
            written = os.path.join(folder, "out.weights")
            command.append(f"--external-data-out={written}")
        peak, status = peak_of(command)
        print(f"{' '.join(options)}, {output}: {weights / 2**20:.0f} MiB of weights, at most {peak / 2**20:.0f} MiB of anonymous memory, "
              f"{time.monotonic() - start:.1f} s", flush=True)
        if status != 0:
            print(f"ir-opt: status {status}")
        elif os.path.getsize(written) < weights // 2:
            print(f"only {os.path.getsize(written)} bytes of weights were written")
        else:
            return weights, peak
        return weights, None


def grows(ir_opt, options, output):
    """Whether more layers take more memory; also if ir-opt fails."""
    few, many = (optimize(ir_opt, ["--layers", layers, *SMALL, *options], output)[1] for layers in ("2", "4"))
    if few is None or many is None:
        return True
    if many - few > JOINED // 2:
        print(f"two more layers take {(many - few) / 2**20:.0f} MiB (expected at most {JOINED / 2**21:.0f})")
        return True
    return False


def main(ir_opt, *options):
    if not sys.platform.startswith("linux"):
        print("needs /proc")
        return 77
    if options:
        weights, peak = optimize(ir_opt, options, "out.onnx")
        bound = 96 * 2**20 + weights * 2 // 27
        print(f"allowed: {bound / 2**20:.0f} MiB")
        return 1 if peak is None or peak > bound else 0
    cases = [(form, output) for form in ([], ["--transposed"], ["--packed"], ["--packed", "--transposed"]) for output in ("out.onnx", "out.tnb")]
    return 1 if any([grows(ir_opt, *case) for case in cases]) else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
