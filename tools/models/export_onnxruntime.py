#!/usr/bin/env python3
"""Models of ONNX Runtime's own operators, as its transformer optimizer and builders of generative models write them.

  export_onnxruntime.py [DIR]

Writes DIR/<name>.onnxruntime (tests/models if no DIR is given), each with model.onnx and test_data_set_M: inputs of several
sizes, and ONNX Runtime's outputs with optimisation off. Weights are random, with a fixed seed. Needs numpy, onnx and
onnxruntime.
"""

import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SIZE, HEADS, LAYERS, WORDS = 16, 4, 2, 50
BATCH, LENGTH = "batch_size", "sequence_length"


class Graph:
    """Nodes and weights of a model while it is made."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def array(self, name, value):
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, name, *shape):
        scale = shape[0] ** -0.5 if len(shape) > 1 else 0.1
        return self.array(name, (self.rng.standard_normal(shape) * scale).astype(np.float32))

    def gain(self, name):
        return self.array(name, (1 + 0.1 * self.rng.standard_normal(SIZE)).astype(np.float32))

    def node(self, op, inputs, outputs, domain="", **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def fused(self, op, inputs, outputs, **attributes):
        return self.node(op, inputs, outputs, domain="com.microsoft", **attributes)

    def input(self, name, kind, *dims):
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def output(self, name, *dims):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))

    def model(self):
        graph = helper.make_graph(self.nodes, "graph", self.inputs, self.outputs, self.weights)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def bert():
    """An encoder whose embeddings, attention, biases and norms are joined; the mask is one of keys."""
    g = Graph(1)
    ids = g.input("input_ids", TensorProto.INT32, BATCH, LENGTH)
    mask = g.input("attention_mask", TensorProto.INT32, BATCH, LENGTH)
    segments = g.input("token_type_ids", TensorProto.INT32, BATCH, LENGTH)
    tables = [g.weight("words", WORDS, SIZE), g.weight("positions", 40, SIZE), g.weight("segments", 2, SIZE)]
    x = g.fused(
        "EmbedLayerNormalization",
        [ids, segments, *tables, g.gain("embeddings.gain"), g.weight("embeddings.bias", SIZE)],
        ["embeddings", ""],
        epsilon=1e-12,
    )
    for layer in range(LAYERS):
        name = f"layer.{layer}."

        def linear(x, part, rows, columns):
            return g.node("MatMul", [x, g.weight(f"{name}{part}.weight", rows, columns)], name + part)

        def norm(x, skip, part):
            gain, bias = g.gain(f"{name}{part}.gain"), g.weight(f"{name}{part}.bias", SIZE)
            inputs = [x, skip, gain, bias, g.weight(f"{name}{part}.skip", SIZE)]
            return g.fused("SkipLayerNormalization", inputs, name + part, epsilon=1e-12)

        projection = [g.weight(name + "qkv", SIZE, 3 * SIZE), g.weight(name + "qkv.bias", 3 * SIZE)]
        # The first layer masks keys, the second one is causal, too.
        context = g.fused(
            "Attention", [x, *projection, mask], name + "attention", num_heads=HEADS, unidirectional=layer
        )
        x = norm(linear(context, "out", SIZE, SIZE), x, "norm1")
        wide = linear(x, "up", SIZE, 2 * SIZE)
        wide = g.fused("BiasGelu", [wide, g.weight(name + "up.bias", 2 * SIZE)], name + "gelu")
        x = norm(linear(wide, "down", 2 * SIZE, SIZE), x, "norm2")
    g.output(x, BATCH, LENGTH, SIZE)

    def inputs(batch, length):
        mask = np.ones([batch, length], np.int32)
        mask[-1, length - 2 :] = 0
        draw = lambda most: g.rng.integers(0, most, [batch, length]).astype(np.int32)
        return {"input_ids": draw(WORDS), "attention_mask": mask, "token_type_ids": draw(2)}

    return g.model(), [inputs(2, 7), inputs(1, 12)]


def llama():
    """A decoder with grouped heads behind caches, which rotates queries and keys itself."""
    g = Graph(2)
    shared, head, past, total = 2, 16, "past_sequence_length", "total_sequence_length"
    ids = g.input("input_ids", TensorProto.INT64, BATCH, LENGTH)
    mask = g.input("attention_mask", TensorProto.INT64, BATCH, total)
    caches = [f"past_key_values.{i}.{part}" for i in range(LAYERS) for part in ("key", "value")]
    for cache in caches:
        g.input(cache, TensorProto.FLOAT, BATCH, shared, past, head)

    count = g.node("ReduceSum", [mask, g.array("axis", np.array([1]))], "count", keepdims=0)
    count = g.node("Sub", [count, g.array("one", np.array([1]))], "before")
    lengths = g.node("Cast", [count], "lengths", to=TensorProto.INT32)
    extent = g.node("Gather", [g.node("Shape", [mask], "shape"), g.array("keys", np.array(1))], "extent")
    extent = g.node("Cast", [extent], "total", to=TensorProto.INT32)
    angles = np.arange(64)[:, None] / 10000 ** (np.arange(0, head, 2) / head)
    tables = [g.array("cos", np.cos(angles).astype(np.float32)), g.array("sin", np.sin(angles).astype(np.float32))]

    skip = g.node("Gather", [g.weight("words", WORDS, SIZE), ids], "embeddings")
    x = g.node("SimplifiedLayerNormalization", [skip, g.gain("gain")], "norm", axis=-1, epsilon=1e-5)
    for layer in range(LAYERS):
        name = f"layer.{layer}."

        def linear(x, part, rows, columns):
            return g.node("MatMul", [x, g.weight(f"{name}{part}.weight", rows, columns)], name + part)

        def norm(x, skip, part):
            last = layer == LAYERS - 1 and part == "norm2"
            outputs = [name + part] if last else [name + part, "", "", f"{name}{part}.sum"]
            inputs = [skip, x, g.gain(f"{name}{part}.gain")]
            return g.fused("SkipSimplifiedLayerNormalization", inputs, outputs, epsilon=1e-5), outputs[-1]

        qkv = linear(x, "qkv", SIZE, (HEADS + 2 * shared) * head)
        results = [name + "attention", f"present.{layer}.key", f"present.{layer}.value"]
        inputs = [qkv, "", "", *caches[2 * layer : 2 * layer + 2], lengths, extent, *tables]
        context = g.fused(
            "GroupQueryAttention", inputs, results, num_heads=HEADS, kv_num_heads=shared, do_rotary=1
        )
        x, skip = norm(linear(context, "out", HEADS * head, SIZE), skip, "norm1")
        gate, up = linear(x, "gate", SIZE, 2 * SIZE), linear(x, "up", SIZE, 2 * SIZE)
        gate = g.node("Mul", [gate, g.node("Sigmoid", [gate], name + "sigmoid")], name + "silu")
        x, skip = norm(linear(g.node("Mul", [gate, up], name + "wide"), "down", 2 * SIZE, SIZE), skip, "norm2")
    g.output(g.node("MatMul", [x, g.weight("head", SIZE, WORDS)], "logits"), BATCH, LENGTH, WORDS)
    for layer in range(LAYERS):
        for part in ("key", "value"):
            g.output(f"present.{layer}.{part}", BATCH, shared, total, head)

    def inputs(batch, length, before):
        given = {
            "input_ids": g.rng.integers(0, WORDS, [batch, length]),
            "attention_mask": np.ones([batch, before + length], np.int64),
        }
        for cache in caches:
            given[cache] = g.rng.standard_normal([batch, shared, before, head]).astype(np.float32)
        return given

    # A first text, the next token of several, and several of one.
    return g.model(), [inputs(2, 7, 0), inputs(2, 1, 7), inputs(1, 3, 5)]


def main():
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests" / "models"
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for make in (bert, llama):
        model, data = make()
        target = folder / f"{make.__name__}.onnxruntime"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        onnx.save(model, target / "model.onnx")
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        for i, inputs in enumerate(data):
            expected = dict(zip([o.name for o in model.graph.output], session.run(None, inputs)))
            (target / f"test_data_set_{i}").mkdir()
            for kind, values in (("input", inputs), ("output", expected)):
                for k, (name, value) in enumerate(values.items()):
                    tensor = numpy_helper.from_array(value, name)
                    (target / f"test_data_set_{i}" / f"{kind}_{k}.pb").write_bytes(tensor.SerializeToString())
        print(target)


if __name__ == "__main__":
    main()
