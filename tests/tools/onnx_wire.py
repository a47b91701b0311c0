"""Writes ONNX files byte by byte, so that tests can write wrong ones and need no package."""

import struct


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


F32, I64, BOOL = 1, 7, 9


def tensor(name, dtype, dims, raw=None, **more):
    out = b"".join(field(1, dim) for dim in dims) + field(2, dtype) + field(8, name)
    if raw is not None:
        out += field(9, raw)
    for key, value in more.get("external", {}).items():
        out += field(13, field(1, key) + field(2, value))
    return out + (field(14, 1) if "external" in more else b"")


def i64s(name, values, dims=None):
    return tensor(name, I64, [len(values)] if dims is None else dims, struct.pack(f"<{len(values)}q", *values))


def value(name, dtype=F32, dims=()):
    shape = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def attribute(name, content):
    out = field(1, name)
    if isinstance(content, float):
        return out + field(2, content) + field(20, 1)
    if isinstance(content, int):
        return out + field(3, content) + field(20, 2)
    if isinstance(content, str):
        return out + field(4, content) + field(20, 3)
    if isinstance(content, list):
        return out + b"".join(field(8, item) for item in content) + field(20, 7)
    kind, message = content  # ("t", tensor) or ("g", graph)
    return out + (field(5, message) + field(20, 4) if kind == "t" else field(6, message) + field(20, 5))


def node(op, inputs, outputs, domain="", **attributes):
    out = b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs)
    out += field(3, "the node") + field(4, op)
    out += b"".join(field(5, attribute(name, content)) for name, content in attributes.items())
    return out + (field(7, domain) if domain else b"")


def graph(nodes, inputs, outputs, initializers=()):
    return (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, t) for t in initializers)
            + b"".join(field(11, v) for v in inputs) + b"".join(field(12, v) for v in outputs))


def model(*arguments, opset=17, functions=()):
    return (field(1, 8) + field(7, graph(*arguments)) + field(8, field(1, "") + field(2, opset))
            + b"".join(field(25, f) for f in functions))


def one_op(op, dims, initializers=(), opset=17, extra=(), dtype=F32, **attributes):
    names = ["x", *extra]
    return model([node(op, names, ["y"], **attributes)], [value("x", dtype, dims)], [value("y", dtype, ())], initializers,
                 opset=opset)
