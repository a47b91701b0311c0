"""Perturbs the parameters of an ONNX file. Fresh parameters are ones, zeros or all alike; trained ones never are.

  perturb.py MODEL.onnx RESULT.onnx

Each float initializer of two or more elements changes, by a seed that its name gives. These stay: masks (zeros and ones,
or values from 10000), and the operands of ops that read sizes from floats. An initializer whose elements are all equal may
stand for several parameters, because exporters merge equal ones. Each of its uses gets a copy with other values.
It needs no package: the file is read and written field by field.
"""

import collections
import math
import pathlib
import random
import struct
import sys
import zlib

VARINT, EIGHT, LENGTH, FOUR = 0, 1, 2, 5
F32, F16, F64 = 1, 10, 11
CODES = {F32: "f", F16: "e", F64: "d"}
READ_SIZES = {"Resize", "Upsample", "Range", "OneHot", "Pad"}
LARGE = 1e4  # masks add numbers like this


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: [number, wire type, value]."""
    at, found = 0, []
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
        else:
            size = {EIGHT: 8, FOUR: 4}.get(wire)
            if size is None:
                size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        found.append([number, wire, value])
    return found


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(parts):
    out = []
    for number, wire, value in parts:
        out.append(varint(number << 3 | wire))
        if wire == VARINT:
            out.append(varint(value))
        else:
            if wire == LENGTH:
                out.append(varint(len(value)))
            out.append(bytes(value))
    return b"".join(out)


def every(parts, number):
    return [value for found, _, value in parts if found == number]


def text(parts, number):
    return next((bytes(value).decode() for value in every(parts, number)), "")


class Tensor:
    """A TensorProto of floats; `values` is None for any other."""

    def __init__(self, data):
        self.parts = fields(data)
        self.name = text(self.parts, 8)
        self.dtype = next(iter(every(self.parts, 2)), 0)
        self.values = None
        external = any(every(self.parts, 14)) or every(self.parts, 13)
        if self.dtype not in CODES or external:
            return
        raw = next(iter(every(self.parts, 9)), None)
        if raw is not None:
            code = CODES[self.dtype]
            self.values = list(struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw))
        elif self.dtype == F32 and every(self.parts, 4):
            packed = b"".join(bytes(value) for value in every(self.parts, 4))
            self.values = list(struct.unpack(f"<{len(packed) // 4}f", packed))

    def is_parameter(self):
        if not self.values or len(self.values) < 2:
            return False
        if any(not math.isfinite(value) or abs(value) >= LARGE for value in self.values):
            return False
        return set(self.values) != {0.0, 1.0}

    def is_uniform(self):
        return len(set(self.values)) == 1

    def perturbed(self, name):
        """The message under `name`, with values that depend on the old ones and on the name alone."""
        source = random.Random(zlib.crc32(name.encode()))
        size = sum(abs(value) for value in self.values) / len(self.values) or 0.1
        positive = min(self.values) > 0  # variances and scales stay positive
        new = [value * (1 + 0.2 * source.uniform(-1, 1)) + (0 if positive else 0.1 * size * source.uniform(-1, 1))
               for value in self.values]
        raw = struct.pack(f"<{len(new)}{CODES[self.dtype]}", *new)
        kept = [part for part in self.parts if part[0] not in (4, 8, 9, 10)]
        return message([*kept, [8, LENGTH, name.encode()], [9, LENGTH, raw]])


def perturb_graph(data):
    parts = fields(data)
    tensors = {tensor.name: tensor for tensor in map(Tensor, every(parts, 5))}
    nodes = [fields(value) for value in every(parts, 1)]
    fixed = {bytes(value).decode() for node in nodes if text(node, 4) in READ_SIZES for value in every(node, 1)}
    inner = set()  # names that subgraphs may read keep them
    for node in nodes:
        for attribute in (part for part in node if part[0] == 5):
            content = fields(attribute[2])
            graphs = [part for part in content if part[0] in (6, 11)]
            for graph in graphs:
                inner |= names_in(graph[2])
                graph[2] = perturb_graph(graph[2])
            if graphs:
                attribute[2] = message(content)
    changed = {name for name, tensor in tensors.items() if tensor.is_parameter() and name not in fixed}
    uses, copies = collections.Counter(), []
    for node in nodes:
        for part in node:
            name = bytes(part[2]).decode() if part[0] == 1 else None
            if name not in changed or name in inner or not tensors[name].is_uniform():
                continue
            uses[name] += 1
            if uses[name] > 1:
                part[2] = f"{name}#{uses[name]}".encode()
                copies.append([5, LENGTH, tensors[name].perturbed(f"{name}#{uses[name]}")])
    out, rest = [], iter(nodes)
    for number, wire, value in parts:
        if number == 1:
            value = message(next(rest))
        elif number == 5 and (name := text(fields(value), 8)) in changed:
            value = tensors[name].perturbed(name)
        out.append([number, wire, value])
    return message(out + copies)


def names_in(data):
    """What the nodes of a graph read, those of its subgraphs too."""
    names = set()
    for node in (fields(value) for value in every(fields(data), 1)):
        names |= {bytes(value).decode() for value in every(node, 1)}
        for attribute in every(node, 5):
            for number, _, value in fields(attribute):
                if number in (6, 11):
                    names |= names_in(value)
    return names


def perturb(data):
    return message([[number, wire, perturb_graph(value) if number == 7 else value]
                    for number, wire, value in fields(memoryview(data))])


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_bytes(perturb(pathlib.Path(sys.argv[1]).read_bytes()))
