#!/usr/bin/env python3
"""Transposed convolutions by themselves, against others.

  conv_transpose.py IR_BENCH [--against onnxruntime,openvino] [--python PYTHON] [--only NAME,…] [--time 2]

For each of the shapes below a model of one ConvTranspose with bias and, where named, an activation: images with channels first
go in and out. Every line is an ir-bench of its own, on one thread; ratios are theirs / ours. Needs numpy and onnx; PYTHON has
the others (the one that runs this).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Name: batch, channels, spatial extents; filters; window, step, padding, output padding; activation.
SHAPES = {
    "unet-16": ((1, 1024, 16, 16), 512, 2, 2, 0, 0, None),
    "unet-128": ((1, 128, 128, 128), 64, 2, 2, 0, 0, None),
    "sam-64": ((1, 256, 64, 64), 64, 2, 2, 0, 0, None),
    "sam-128": ((1, 64, 128, 128), 32, 2, 2, 0, 0, None),
    "mask-head": ((8, 256, 14, 14), 256, 2, 2, 0, 0, "Relu"),
    "dcgan-1": ((1, 100, 1, 1), 512, 4, 1, 0, 0, "Relu"),
    "dcgan-4": ((1, 512, 4, 4), 256, 4, 2, 1, 0, "Relu"),
    "dcgan-16": ((1, 128, 16, 16), 64, 4, 2, 1, 0, "Relu"),
    "dcgan-32": ((1, 64, 32, 32), 3, 4, 2, 1, 0, "Tanh"),
    "pix2pix-1": ((1, 512, 1, 1), 512, 4, 2, 1, 0, "Relu"),
    "pix2pix-2": ((1, 1024, 2, 2), 512, 4, 2, 1, 0, "Relu"),
    "pix2pix-64": ((1, 256, 64, 64), 64, 4, 2, 1, 0, "Relu"),
    "pix2pix-128": ((1, 128, 128, 128), 3, 4, 2, 1, 0, "Tanh"),
    "odd-64": ((1, 64, 64, 64), 64, 3, 2, 1, 1, "Relu"),
    "odd-32": ((1, 256, 32, 32), 128, 3, 2, 1, 1, "Relu"),
    "hifigan-128": ((1, 512, 128), 256, 16, 8, 4, 0, None),
    "hifigan-1024": ((1, 256, 1024), 128, 16, 8, 4, 0, None),
    "hifigan-8192": ((1, 128, 8192), 64, 4, 2, 1, 0, None),
    "hifigan-16384": ((1, 64, 16384), 32, 4, 2, 1, 0, None),
    "few-64": ((1, 64, 64, 64), 20, 4, 2, 1, 0, "Relu"),
    "few-128": ((1, 40, 128, 128), 20, 2, 2, 0, 0, None),
    "sparse-32": ((1, 64, 32, 32), 64, 2, 4, 0, 0, None),
    "fcn-16": ((1, 21, 16, 16), 21, 64, 32, 16, 0, None),
}


def make(path, shape, filters, kernel, stride, pad, more, activation):
    rng = np.random.default_rng(0)
    axes = len(shape) - 2
    weights = [("w", rng.standard_normal((shape[1], filters, *[kernel] * axes)) / 16), ("b", rng.standard_normal(filters))]
    nodes = [helper.make_node("ConvTranspose", ["x", "w", "b"], ["c" if activation else "y"], strides=[stride] * axes,
                              pads=[pad] * (2 * axes), output_padding=[more] * axes)]
    if activation:
        nodes.append(helper.make_node(activation, ["c"], ["y"]))
    graph = helper.make_graph(nodes, "transposed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ir_bench")
    parser.add_argument("--against", default="onnxruntime,openvino")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", help="shapes, by name")
    parser.add_argument("--time", default="2", help="seconds for each")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else list(SHAPES)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = os.path.join(folder, name + ".onnx")
            make(path, *SHAPES[name])
            command = [args.ir_bench, path, "--pin", "--threads=1", f"--against={args.against}", f"--python={args.python}",
                       f"--time={args.time}", "--json=-"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode not in (0, 1):
                sys.exit(done.stderr)
            report = json.loads(done.stdout)
            ours, *others = report["engines"]
            line = f"{name:15} {ours['ms']['median']:9.3f} ms"
            for other in others:
                line += f"   {other['name']} / ours {other['ratio']['median']:5.2f}"
            print(line + ("" if report["agree"] else "   OUTPUTS DIFFER"), flush=True)


if __name__ == "__main__":
    main()
