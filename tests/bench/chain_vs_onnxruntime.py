#!/usr/bin/env python3
"""Time per operation of a chain of 2000 small unary ops: ONNX Runtime and Tenon in turns.

    tests/bench/chain_vs_onnxruntime.py build [--rounds 7]

Needs the packages onnx and onnxruntime. Both run with one thread; ONNX Runtime gets its inputs and
results bound, and its optimisations off, so that nothing is fused there either.
"""

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

OPS, ELEMENTS = 2000, 16


def chain() -> bytes:
    nodes = [
        helper.make_node("Neg" if i % 2 == 0 else "Abs", [f"v{i}"], [f"v{i + 1}"]) for i in range(OPS)
    ]
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [ELEMENTS]) for name in ("v0", f"v{OPS}")]
    graph = helper.make_graph(nodes, "chain", tensors[:1], tensors[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def peer():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(chain(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    x = onnxruntime.OrtValue.ortvalue_from_numpy(np.full(ELEMENTS, 1.5, np.float32))
    y = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(ELEMENTS, np.float32))
    binding.bind_ortvalue_input("v0", x)
    binding.bind_ortvalue_output(f"v{OPS}", y)
    return lambda: session.run_with_iobinding(binding)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    run = peer()
    ours, theirs, ratios = [], [], []
    for _ in range(args.rounds):
        times = []
        for _ in range(300):
            start = time.perf_counter_ns()
            run()
            times.append((time.perf_counter_ns() - start) / OPS)
        theirs.append(statistics.median(times))
        out = subprocess.run([args.build / "tests" / "program_bench"], check=True, capture_output=True)
        ours.append(json.loads(out.stdout)["ns_per_op_median"])
        ratios.append(theirs[-1] / ours[-1])
    print(
        f"ns per op, medians of {args.rounds} rounds: Tenon {statistics.median(ours):.1f}, "
        f"ONNX Runtime {statistics.median(theirs):.1f}, ratio {statistics.median(ratios):.1f}"
    )


if __name__ == "__main__":
    main()
