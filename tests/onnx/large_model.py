"""Writes an ONNX model of the shape of a Llama whose weights are holes of a sparse file. It needs no package.

    large_model.py FILE.onnx [--layers 32] [--hidden 4096] [--inner 11008] [--heads 32] [--vocabulary 32000] [--transposed] [--packed]
"""

import argparse
import os
import struct

FLOAT, INT64 = 1, 7


def varint(value):
    out = bytearray()
    value &= 2**64 - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """One field of a protobuf message: an integer, or bytes, a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)


def value_info(name, kind, dims):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


class Graph:
    """Nodes and weights; each method returns the name of what it adds."""

    def __init__(self):
        self.nodes, self.weights, self.size, self.count = [], [], 0, 0

    def node(self, op, *inputs, **attributes):
        self.count += 1
        name = f"{op}_{self.count}"
        text = b"".join(field(1, i) for i in inputs) + field(2, name) + field(3, name) + field(4, op)
        self.nodes.append(text + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))
        return name

    def constant(self, kind, dims, *values):
        self.count += 1
        name = f"constant_{self.count}"
        raw = struct.pack(f"<{len(values)}{'f' if kind == FLOAT else 'q'}", *values)
        self.weights.append(b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + field(9, raw))
        return name

    def weight(self, *dims):
        """Zeros in the file of weights."""
        self.count += 1
        name, length = f"weight_{self.count}", 4
        for dim in dims:
            length *= dim
        places = {"location": "weights.bin", "offset": self.size, "length": length}
        entries = b"".join(field(13, field(1, k) + field(2, str(v))) for k, v in places.items())
        self.weights.append(b"".join(field(1, d) for d in dims) + field(2, FLOAT) + field(8, name) + entries + field(14, 1))
        self.size += (length + 4095) // 4096 * 4096
        return name


def matrix(g, shape, rows, columns):
    """A matrix, which is in the file as it is read or, as many programs store it, transposed."""
    return g.node("Transpose", g.weight(columns, rows), perm=[1, 0]) if shape.transposed else g.weight(rows, columns)


def product(g, x, shape, rows, columns):
    return g.node("MatMul", x, matrix(g, shape, rows, columns))


def projections(g, shape):
    """The matrices of queries, keys and values: three of the file, or slices of one."""
    if not shape.packed:
        return [matrix(g, shape, shape.hidden, shape.hidden) for _ in range(3)]
    packed = matrix(g, shape, shape.hidden, 3 * shape.hidden)
    bounds = [g.constant(INT64, [1], i * shape.hidden) for i in range(4)]
    return [g.node("Slice", packed, bounds[i], bounds[i + 1], g.constant(INT64, [1], 1)) for i in range(3)]


def norm(g, x, size):
    square = g.node("Pow", x, g.constant(FLOAT, [], 2.0))
    mean = g.node("ReduceMean", square, axes=[-1], keepdims=1)
    root = g.node("Sqrt", g.node("Add", mean, g.constant(FLOAT, [], 1e-6)))
    return g.node("Mul", g.weight(size), g.node("Div", x, root))


def layer(g, x, mask, shape):
    size = shape.hidden // shape.heads
    split, join = (g.constant(INT64, [len(dims)], *dims)
                   for dims in ([0, 0, shape.heads, size], [0, 0, shape.hidden]))
    y = norm(g, x, shape.hidden)
    heads = [g.node("Reshape", g.node("MatMul", y, weight), split) for weight in projections(g, shape)]
    q, k, v = (g.node("Transpose", part, perm=perm)
               for part, perm in zip(heads, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
    scores = g.node("Mul", g.node("MatMul", q, k), g.constant(FLOAT, [], size ** -0.5))
    weights = g.node("Softmax", g.node("Add", scores, mask), axis=-1)
    merged = g.node("Reshape", g.node("Transpose", g.node("MatMul", weights, v), perm=[0, 2, 1, 3]), join)
    x = g.node("Add", x, product(g, merged, shape, shape.hidden, shape.hidden))
    y = norm(g, x, shape.hidden)
    gate, up = (product(g, y, shape, shape.hidden, shape.inner) for _ in range(2))
    gated = g.node("Mul", g.node("Mul", gate, g.node("Sigmoid", gate)), up)
    return g.node("Add", x, product(g, gated, shape, shape.inner, shape.hidden))


def write(path, shape):
    """Writes the model and its weights. Returns the bytes of the weights."""
    g = Graph()
    x = g.node("Gather", g.weight(shape.vocabulary, shape.hidden), "ids")
    for _ in range(shape.layers):
        x = layer(g, x, "mask", shape)
    x = product(g, norm(g, x, shape.hidden), shape, shape.hidden, shape.vocabulary)
    graph = b"".join(field(1, node) for node in g.nodes) + field(2, "large")
    graph += b"".join(field(5, weight) for weight in g.weights)
    graph += field(11, value_info("ids", INT64, ["batch", "sequence"]))
    graph += field(11, value_info("mask", FLOAT, ["batch", 1, "sequence", "sequence"]))
    graph += field(12, value_info(x, FLOAT, ["batch", "sequence", shape.vocabulary]))
    with open(path, "wb") as file:
        file.write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
    with open(os.path.join(os.path.dirname(path), "weights.bin"), "wb") as file:
        file.truncate(g.size)
    return g.size


def arguments(options):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    for name, default in (("layers", 32), ("hidden", 4096), ("inner", 11008), ("heads", 32), ("vocabulary", 32000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--transposed", action="store_true", help="matrices are stored transposed")
    parser.add_argument("--packed", action="store_true", help="queries, keys and values have slices of one matrix")
    return parser.parse_args(options)


if __name__ == "__main__":
    import sys
    given = arguments(sys.argv[1:])
    print(f"{write(given.path, given) / 2**30:.1f} GiB of weights")
