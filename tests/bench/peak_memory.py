#!/usr/bin/env python3
"""Peak resident memory of one program, against ONNX Runtime.

  peak_memory.py IR_BENCH MODEL [--dim B=1,S=128] [--python PYTHON] [--check RATIO]

Both load the model, run it a few times on inputs of one shape and one thread, in a process of their own; what counts is
the largest resident size that the process ever had (VmHWM): code, heap, weights in every form, and pages of mapped files
while they are resident. Of the Python process what it had before it made the session, with the packages imported, is
taken off. PYTHON is one that has onnxruntime and numpy. --check fails if ours is more than RATIO times theirs.
"""

import argparse
import json
import subprocess
import sys

ONNX_RUNTIME = r"""
import json, sys
import numpy as np
import onnxruntime as ort

def peak_mb():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024

before = peak_mb()
sizes = json.loads(sys.argv[2])
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}

def extent(dim):
    if isinstance(dim, int):
        return dim
    return sizes.get(dim, 1 if "batch" in str(dim).lower() else 128)

feeds = {i.name: np.ones([extent(d) for d in i.shape], types[i.type]) for i in session.get_inputs()}
for _ in range(4):
    session.run(None, feeds)
print(json.dumps({"before": before, "peak": peak_mb()}))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ir_bench")
    parser.add_argument("model")
    parser.add_argument("--dim", default="", help="sizes of named dimensions")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--check", type=float)
    args = parser.parse_args()

    command = [args.ir_bench, args.model, "--rounds=1", "--threads=1", "--json=-"]
    if args.dim:
        command.append("--dim=" + args.dim)
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    ours = next(engine["memory_mb"] for engine in report["engines"] if engine["name"] == "tenon")

    sizes = {name: int(size) for name, size in (entry.split("=") for entry in args.dim.split(",") if entry)}
    peer = subprocess.run([args.python, "-c", ONNX_RUNTIME, args.model, json.dumps(sizes)],
                          check=True, capture_output=True, text=True)
    theirs = json.loads(peer.stdout)
    theirs_mb = theirs["peak"] - theirs["before"]
    ratio = ours / theirs_mb
    print(f"tenon        {ours:9.1f} MiB")
    print(f"onnxruntime  {theirs_mb:9.1f} MiB ({theirs['peak']:.1f} less {theirs['before']:.1f} before the session)")
    print(f"tenon / onnxruntime  {ratio:.3f}")
    return 1 if args.check is not None and ratio > args.check else 0


if __name__ == "__main__":
    sys.exit(main())
