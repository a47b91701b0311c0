#!/usr/bin/env python3
"""Counts the nodes that ir-opt --simplify, onnxsim and onnxslim leave of models. Needs: pip install onnx onnxsim onnxslim

    simplifiers.py IR-OPT MODEL...

A model is a file, or a folder with `model.onnx`. Nodes of graphs within graphs count; Constant nodes do not, since the programs write
constants in different ways. Exit status: 1 if Tenon leaves more nodes of any model than one of the others.
"""

import collections
import os
import subprocess
import sys
import tempfile

import onnx

OTHERS = {
    "onnxsim": "import sys, onnx, onnxsim; onnx.save(onnxsim.simplify(sys.argv[1])[0], sys.argv[2])",
    "onnxslim": "import sys, onnx, onnxslim; onnx.save(onnxslim.slim(sys.argv[1]), sys.argv[2])",
}


def operators(graph, counts=None):
    """How many nodes of each operator a graph has."""
    counts = collections.Counter() if counts is None else counts
    for node in graph.node:
        if node.op_type != "Constant":
            counts[node.op_type] += 1
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                operators(inner, counts)
    return counts


def simplified(program, ir_opt, model, folder):
    """The operators that a program leaves; None if it fails."""
    target = os.path.join(folder, f"{program}.onnx")
    command = [ir_opt, model, "--simplify", "-o", target]
    if program in OTHERS:
        command = [sys.executable, "-c", OTHERS[program], model, target]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, errors="replace")
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0 or not os.path.exists(target):
        return None
    return operators(onnx.load(target, load_external_data=False).graph)


def main(ir_opt, *models):
    more, totals = 0, collections.Counter()
    for model in models:
        path = os.path.join(model, "model.onnx") if os.path.isdir(model) else model
        with tempfile.TemporaryDirectory(prefix="tenon-simplifiers-") as folder:
            left = {name: simplified(name, ir_opt, path, folder) for name in ("tenon", *OTHERS)}
        counts = {name: "-" if found is None else found.total() for name, found in left.items()}
        before = operators(onnx.load(path, load_external_data=False).graph).total()
        line = f"{os.path.basename(os.path.normpath(model)):40} {before:6} -> " + ", ".join(
            f"{name} {count}" for name, count in counts.items())
        rivals = [name for name in OTHERS if left[name] is not None]
        if left["tenon"] is not None and len(rivals) == len(OTHERS):
            totals.update({name: count for name, count in counts.items()})
        for rival in rivals:
            if left["tenon"] is None or counts["tenon"] <= counts[rival]:
                continue
            more += 1
            differing = sorted(op for op in left["tenon"] | left[rival] if left["tenon"][op] != left[rival][op])
            line += f"\n    more than {rival}: " + ", ".join(
                f"{op} {left['tenon'][op]} ({left[rival][op]})" for op in differing)
        print(line, flush=True)
    print("total: " + ", ".join(f"{name} {count}" for name, count in totals.items()))
    return 1 if more else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
