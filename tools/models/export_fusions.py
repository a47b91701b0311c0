#!/usr/bin/env python3
"""Small models in which rules fire that the exported models of the tree have no use for.

  export_fusions.py [DIR]

Writes fusions.handmade, images.handmade and parallel.handmade to DIR (tests/models if no DIR is given), each with model.onnx and test_data_set_M:
inputs of two sizes, and the outputs of ONNX's reference evaluator. A model has an output for each operation or rule, and its name
says which. Weights are random, with a fixed seed. Needs numpy and onnx.
"""

import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

BATCH, LENGTH = "batch", "sequence"
SIZE, HEADS, CHANNELS, SIDE, WINDOW, WORDS = 16, 4, 8, 4, 2, 1100
FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16


class Graph:
    """Nodes, weights, inputs and outputs while they are made."""

    def __init__(self):
        self.rng = np.random.default_rng(11)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def array(self, value):
        self.weights.append(numpy_helper.from_array(value, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def weight(self, *shape):
        scale = shape[0] ** -0.5 if len(shape) == 2 else 0.1
        return self.array((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def gain(self, *shape):
        return self.array((1 + 0.1 * self.rng.standard_normal(shape)).astype(np.float32))

    def shape(self, *extents):
        return self.array(np.array(extents, np.int64))

    def node(self, op, *inputs, name=None, **attributes):
        result = name or f"{op}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [result], name=result, **attributes))
        return result

    def input(self, name, kind, *dims):
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def output(self, name, *dims):
        self.outputs.append(helper.make_tensor_value_info(name, FLOAT, dims))

    def model(self, name):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)

    def linear(self, x, rows, columns):
        return self.node("Add", self.node("MatMul", x, self.weight(rows, columns)), self.weight(columns))

    def norm(self, x, size=SIZE):
        return self.node("LayerNormalization", x, self.gain(size), self.weight(size), axis=-1, epsilon=1e-5)


def fusions():
    """Rows of features: linear layers, norms, moves, bytes, attention."""
    g = Graph()
    tokens = g.input("tokens", FLOAT, BATCH, LENGTH, SIZE)
    skip = g.input("skip", FLOAT, BATCH, LENGTH, SIZE)
    half = [g.input(name, HALF, BATCH, LENGTH, SIZE) for name in ("half", "other_half")]
    features = g.input("features", FLOAT, BATCH, SIZE)
    wide_features = g.input("wide_features", FLOAT, BATCH, WORDS)
    ids = g.input("ids", TensorProto.INT64, BATCH, LENGTH)

    # A linear layer, the residual and the norm, as in BERT.
    normed = g.norm(g.node("Add", g.linear(tokens, SIZE, SIZE), skip))
    g.node("Mul", normed, g.array(np.array(0.5, np.float32)), name="linear_norm")
    g.output("linear_norm", BATCH, LENGTH, SIZE)

    # A layer with a norm, without a residual.
    g.node("Sqrt", g.node("Abs", g.norm(g.linear(features, SIZE, SIZE))), name="linear_norm_alone")
    g.output("linear_norm_alone", BATCH, SIZE)

    # Three layers with one activation.
    x, rows = features, SIZE
    for columns in (12, 12, 6):
        x, rows = g.node("Relu", g.node("Gemm", x, g.weight(rows, columns), g.weight(columns))), columns
    g.node("Identity", x, name="linear_chain")
    g.output("linear_chain", BATCH, 6)

    # A norm that one linear layer reads.
    g.node("Add", g.node("MatMul", g.norm(skip), g.weight(SIZE, 8)), g.weight(8), name="norm_linear")
    g.output("norm_linear", BATCH, LENGTH, 8)

    # A sum of halves in floats, as mixed precision writes it.
    wide = [g.node("Cast", x, to=FLOAT) for x in half]
    narrow = g.node("Cast", g.node("Add", *wide), to=HALF)
    g.node("Cast", narrow, to=FLOAT, name="casts")
    g.output("casts", BATCH, LENGTH, SIZE)

    # A residual and a number beside products of rows.
    g.node("Add", g.linear(tokens, SIZE, SIZE), skip, name="linear_residual")
    g.output("linear_residual", BATCH, LENGTH, SIZE)
    g.node("Mul", g.linear(features, SIZE, 6), g.array(np.array(0.3, np.float32)), name="linear_number_bias")
    g.output("linear_number_bias", BATCH, 6)

    # Products of swapped axes, and numbers one behind the other.
    swapped = g.node("Transpose", tokens, perm=[0, 2, 1])
    g.node("MatMul", swapped, skip, name="matmul_transposed_a")
    g.output("matmul_transposed_a", BATCH, SIZE, SIZE)
    third = g.node("Mul", tokens, g.array(np.array(0.3, np.float32)))
    g.node("Mul", third, g.array(np.array(0.7, np.float32)), name="scale_of_scale")
    g.output("scale_of_scale", BATCH, LENGTH, SIZE)

    # A sum that is transposed.
    g.node("Transpose", g.node("Add", tokens, skip), perm=[0, 2, 1], name="add_transpose")
    g.output("add_transpose", BATCH, SIZE, LENGTH)

    # Attention of rows to others: one product for their keys and values.
    def heads(x):
        split = g.node("Reshape", x, g.shape(0, 0, HEADS, SIZE // HEADS))
        return g.node("Transpose", split, perm=[0, 2, 1, 3])

    q = heads(g.node("MatMul", tokens, g.weight(SIZE, SIZE)))
    k, v = (heads(g.node("MatMul", skip, g.weight(SIZE, SIZE))) for _ in range(2))
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
    weights = g.node("Softmax", g.node("Mul", scores, g.array(np.array(0.5, np.float32))), axis=-1)
    merged = g.node("Transpose", g.node("MatMul", weights, v), perm=[0, 2, 1, 3])
    g.node("Reshape", merged, g.shape(0, 0, SIZE), name="packed_keys_and_values")
    g.output("packed_keys_and_values", BATCH, LENGTH, SIZE)

    # A gate and a factor.
    gate, factor = (g.node("MatMul", tokens, g.weight(SIZE, 12)) for _ in range(2))
    g.node("Mul", g.node("Mul", gate, g.node("Sigmoid", gate)), factor, name="packed_gate")
    g.output("packed_gate", BATCH, LENGTH, 12)

    # Rows of a table of bytes, and a product of bytes.
    scale, zero = g.array(np.array(0.02, np.float32)), g.array(np.array(128, np.uint8))
    table = g.array(g.rng.integers(0, 256, (WORDS, SIZE)).astype(np.uint8))
    g.node("Gather", g.node("DequantizeLinear", table, scale, zero), ids, axis=0, name="quantized_gather")
    g.output("quantized_gather", BATCH, LENGTH, SIZE)
    whole = g.node("QuantizeLinear", wide_features, scale, zero)
    matrix = g.array(g.rng.integers(-127, 128, (WORDS, SIZE)).astype(np.int8))
    small = g.array(np.array(0.01, np.float32)), g.array(np.array(0, np.int8))
    rows = g.node("DequantizeLinear", whole, scale, zero)
    g.node("MatMul", rows, g.node("DequantizeLinear", matrix, *small), name="quantized_linear")
    g.output("quantized_linear", BATCH, SIZE)

    # Rotated pairs of neighbors.
    x = g.node("Reshape", tokens, g.shape(0, 0, HEADS, SIZE // HEADS))
    even, odd = (g.node("Slice", x, g.shape(i), g.shape(SIZE), g.shape(3), g.shape(2)) for i in (0, 1))
    pairs = [g.node("Unsqueeze", part, g.shape(-1)) for part in (g.node("Neg", odd), even)]
    turned = g.node("Reshape", g.node("Concat", *pairs, axis=-1), g.shape(0, 0, HEADS, SIZE // HEADS))
    angles = g.rng.uniform(-3, 3, SIZE // HEADS).astype(np.float32)
    cos, sin = g.node("Mul", x, g.array(np.cos(angles))), g.node("Mul", turned, g.array(np.sin(angles)))
    g.node("Add", cos, sin, name="rotary_pairs")
    g.output("rotary_pairs", BATCH, LENGTH, HEADS, SIZE // HEADS)
    return g.model("fusions")


def images():
    """Images: convolutions, norms of groups, windows, heads of detectors."""
    g = Graph()
    maps = [g.input(f"map{side}", FLOAT, BATCH, CHANNELS, side, side) for side in (4, 3, 2)]
    plain = g.input("plain", FLOAT, BATCH, 7)
    tiles = [g.input(name, FLOAT, BATCH, SIDE, SIDE, SIZE) for name in ("tiles", "more_tiles", "skipped_tiles")]
    image = g.input("image", FLOAT, BATCH, CHANNELS, SIDE, SIDE)
    other = g.input("other_image", FLOAT, BATCH, CHANNELS, SIDE, SIDE)

    # The heads of a detector: maps of several sizes, their channels last, beside other numbers.
    flat = [g.node("Flatten", g.node("Transpose", x, perm=[0, 2, 3, 1]), axis=1) for x in maps]
    g.node("Concat", *flat, plain, axis=1, name="transpose_concat")
    g.output("transpose_concat", BATCH, CHANNELS * 29 + 7)

    # Norms whose rows are cut into windows, as in Swin.
    def windows(x, name):
        count = SIDE // WINDOW
        cut = g.node("Reshape", x, g.shape(-1, count, WINDOW, count, WINDOW, SIZE))
        moved = g.node("Transpose", cut, perm=[0, 1, 3, 2, 4, 5])
        g.node("Reshape", moved, g.shape(-1, WINDOW * WINDOW, SIZE), name=name)
        g.output(name, "windows", WINDOW * WINDOW, SIZE)

    def rolled(x):
        for axis in (1, 2):
            parts = [g.node("Slice", x, g.shape(a), g.shape(b), g.shape(axis)) for a, b in ((1, SIDE), (0, 1))]
            x = g.node("Concat", *parts, axis=axis)
        return x

    windows(g.norm(tiles[0]), "moved_norm")
    windows(rolled(g.norm(tiles[2])), "shifted_norm")
    g.node("Add", *tiles[1:], name="sum_of_tiles")
    g.output("sum_of_tiles", BATCH, SIDE, SIDE, SIZE)
    windows(rolled(g.norm("sum_of_tiles")), "shifted_skip_norm")
    g.node("Add", *tiles[:2], name="other_sum")
    g.output("other_sum", BATCH, SIDE, SIDE, SIZE)
    windows(g.norm("other_sum"), "moved_skip_norm")

    # Rows of pixels that become an image.
    pixels = g.node("Reshape", tiles[2], g.shape(0, SIDE * SIDE, SIZE))
    summed = g.node("Reshape", g.node("Add", pixels, g.weight(SIDE * SIDE, SIZE)), g.shape(0, SIDE, SIDE, SIZE))
    g.node("Transpose", summed, perm=[0, 3, 1, 2], name="add_transpose_of_image")
    g.output("add_transpose_of_image", BATCH, SIZE, SIDE, SIDE)

    # Norms of groups: with SiLU, as in diffusion models, behind a sum, and both.
    def group_norm(x):
        groups = g.node("Reshape", x, g.shape(0, 4, -1))
        # Exporters write these as constants, because they are no parameters of the model.
        ones, zeros = (g.node("Constant", value=numpy_helper.from_array(np.full(4, v, np.float32))) for v in (1, 0))
        normed = g.node("InstanceNormalization", groups, ones, zeros, epsilon=1e-5)
        normed = g.node("Reshape", normed, g.shape(-1, CHANNELS, SIDE, SIDE))
        return g.node("Mul", normed, g.gain(CHANNELS, 1, 1)), g.weight(CHANNELS, 1, 1)

    def picture(name):
        g.output(name, BATCH, CHANNELS, SIDE, SIDE)

    for name, x in (("group_norm", image), ("skip_group_norm_silu", g.node("Add", image, other))):
        scaled = g.node("Add", *group_norm(x))
        g.node("Mul", scaled, g.node("Sigmoid", scaled), name=name)
        picture(name)
    g.node("Add", *group_norm(g.node("Add", other, g.weight(1, CHANNELS, SIDE, SIDE))), name="group_norm_of_sum")
    picture("group_norm_of_sum")

    # What is beside a convolution.
    def conv(x):
        return g.node("Conv", x, g.weight(CHANNELS, CHANNELS, 3, 3), pads=[1, 1, 1, 1])

    g.node("Add", conv(image), g.weight(CHANNELS, 1, 1), name="conv_bias")
    g.node("Mul", conv(other), g.gain(CHANNELS, 1, 1), name="conv_scale")
    for name, x, biases in (("conv_transpose_norm", image, 0), ("conv_transpose_bias_norm", other, 1)):
        wide = g.node("ConvTranspose", x, g.weight(CHANNELS, CHANNELS, 1, 1), *(g.weight(CHANNELS),) * biases)
        variance = g.array(g.rng.uniform(0.5, 1.5, CHANNELS).astype(np.float32))
        mean = [g.gain(CHANNELS), g.weight(CHANNELS), g.weight(CHANNELS), variance]
        g.node("BatchNormalization", wide, *mean, epsilon=1e-5, name=name)
    for name in ("conv_bias", "conv_scale", "conv_transpose_norm", "conv_transpose_bias_norm"):
        picture(name)

    # Images whose channels go to the end and back, and a row of them without axes of one element.
    last = g.node("Transpose", image, perm=[0, 2, 3, 1])
    g.node("Add", last, g.weight(CHANNELS), name="channels_last")
    g.output("channels_last", BATCH, SIDE, SIDE, CHANNELS)
    pooled = g.node("GlobalAveragePool", image)
    turned = g.node("Transpose", pooled, perm=[0, 2, 3, 1])
    g.node("Mul", turned, g.gain(CHANNELS), name="transpose_of_ones")
    g.output("transpose_of_ones", BATCH, 1, 1, CHANNELS)

    # The norm of channels, as in ConvNeXt.
    mean = g.node("ReduceMean", other, g.shape(1))
    off = g.node("Sub", other, mean)
    variance = g.node("ReduceMean", g.node("Mul", off, off), g.shape(1))
    deviation = g.node("Sqrt", g.node("Add", variance, g.array(np.array(1e-6, np.float32))))
    normed = g.node("Mul", g.node("Div", off, deviation), g.gain(CHANNELS, 1, 1))
    g.node("Add", normed, g.weight(CHANNELS, 1, 1), name="norm_of_channels")
    picture("norm_of_channels")
    return g.model("images")


def parallel():
    """Decoders whose layers add both halves to one residual: the halves share a norm, as in GPT-J, or not, as in GPT-NeoX."""
    g = Graph()

    def heads(x):
        return g.node("Transpose", g.node("Reshape", x, g.shape(0, 0, HEADS, SIZE // HEADS)), perm=[0, 2, 1, 3])

    def attention(x):
        q, k, v = (heads(g.linear(x, SIZE, SIZE)) for _ in range(3))
        scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
        weights = g.node("Softmax", g.node("Mul", scores, g.array(np.array(0.5, np.float32))), axis=-1)
        merged = g.node("Transpose", g.node("MatMul", weights, v), perm=[0, 2, 1, 3])
        return g.linear(g.node("Reshape", merged, g.shape(0, 0, SIZE)), SIZE, SIZE)

    def forward(x):
        inner = g.linear(x, SIZE, 2 * SIZE)
        return g.linear(g.node("Mul", inner, g.node("Sigmoid", inner)), 2 * SIZE, SIZE)

    for name in ("shared", "own"):
        x = g.input(f"tokens_{name}", FLOAT, BATCH, LENGTH, SIZE)
        for _ in range(2):
            rows = g.norm(x)
            if name == "shared":
                halves = attention(rows), forward(rows)
            else:
                halves = forward(g.norm(x)), attention(rows)
            x = g.node("Add", g.node("Add", *halves), x)
        g.node("Identity", g.norm(x), name=f"{name}_norm")
        g.output(f"{name}_norm", BATCH, LENGTH, SIZE)
    return g.model("parallel")


def inputs_of(made, batch, length):
    rng = np.random.default_rng(batch * 100 + length)
    sizes = {BATCH: batch, LENGTH: length}
    found = {}
    for value in made.graph.input:
        kind = value.type.tensor_type
        dims = [d.dim_value or sizes[d.dim_param] for d in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        drawn = rng.integers(0, WORDS, dims) if dtype == np.int64 else rng.standard_normal(dims)
        found[value.name] = drawn.astype(dtype)
    return found


def write(made, folder):
    onnx.checker.check_model(made)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    onnx.save(made, folder / "model.onnx")
    for number, (batch, length) in enumerate(((2, 5), (1, 9))):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        inputs = inputs_of(made, batch, length)
        outputs = ReferenceEvaluator(made).run(None, inputs)
        for i, (name, value) in enumerate(inputs.items()):
            (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())
        for i, (port, value) in enumerate(zip(made.graph.output, outputs)):
            (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(value, port.name).SerializeToString())


def main():
    root = pathlib.Path(__file__).resolve().parents[2] / "tests" / "models"
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root
    write(fusions(), root / "fusions.handmade")
    write(images(), root / "images.handmade")
    write(parallel(), root / "parallel.handmade")


if __name__ == "__main__":
    main()
