#!/usr/bin/env python3
"""Files made to do harm: hostile_files_test.py IR_OPT IR_RUN IR_BENCH [NAME...].

Every case is run with 2 GiB of address space and 20 seconds. A program may succeed or refuse a file. It may not end by a
signal, take longer, or end by what its main function catches last. What is refused is refused with a message of at most
20,000 characters. NAME: only cases whose name contains one of them.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

from onnx_wire import BOOL, F32, I64, field, graph, i64s, model, node, one_op, tensor, value, varint

MEMORY, SECONDS, MESSAGE = 2 << 30, 20, 20_000
BENCH = ("--rounds=1", "--turn=1", "--time=1", "--warmup=1")
LAST_RESORT = "out of memory where nothing expected it"
I64_MAX, I64_MIN = 2**63 - 1, -(2**63)


# ---- Cases: name -> a function of the folder that gives the command ----

CASES = {}


def case(name):
    def add(function):
        assert name not in CASES, name
        CASES[name] = function
        return function
    return add


def run_file(name, content, suffix=".onnx", arguments=("run",)):
    """A case of one file, for `run` (ir-run), `opt` (ir-opt -O2), `rules` or `inputs`."""
    for argument in arguments:
        def make(folder, argument=argument, content=content):
            path = folder / f"hostile{suffix}"
            content_now = content() if callable(content) else content
            path.write_bytes(content_now if isinstance(content_now, bytes) else content_now.encode())
            return {"run": ["run", path], "opt": ["opt", "-O2", path],
                    "rules": ["opt", "-O2", f"--rules={path}", folder / "good.mlir"]}[argument]
        case(f"{name} ({argument})")(make)


BOTH = ("run", "opt")

GOOD_TEXT = """func.func() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2x3xf32>):
  %0 = ten.relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return(%0) : (tensor<2x3xf32>) -> ()
}) : () -> ()
"""


# A pass changes something.
UNUSED_TEXT = GOOD_TEXT.replace("  func.return", "  %1 = ten.abs(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n  func.return")


def onnx_cases():
    good = one_op("Relu", (2, 3))
    for length in (1, 2, 5, len(good) // 2, len(good) - 1):
        run_file(f"truncated to {length}", good[:length])
    for byte in range(0, len(good), 7):
        run_file(f"byte {byte} is 0xff", good[:byte] + b"\xff" + good[byte + 1:])
    run_file("length of 2^63", varint(7 << 3 | 2) + varint(2**63) + b"x")
    run_file("length of 2^64-1", varint(7 << 3 | 2) + varint(2**64 - 1) + b"x")
    run_file("zeros", b"\0" * 100_000)
    run_file("group tags", b"\x3b" * 100_000)
    huge = {"2^63-1": (I64_MAX,), "2^62 twice": (2**62, 2**62), "2^32 twice": (2**32, 2**32), "2^40": (2**40,),
            "negative": (-1,), "least": (I64_MIN,), "zero and 2^63-1": (0, I64_MAX), "10^9": (10**9,),
            "rank 10000": (1,) * 10_000, "rank 64 of 2": (2,) * 64}
    for name, dims in huge.items():
        run_file(f"input of {name}", one_op("Relu", dims), arguments=BOTH)
        run_file(f"product of {name}", one_op("MatMul", dims, extra=("x",)), arguments=BOTH)
        run_file(f"initializer of {name}", one_op("Add", (2,), [tensor("w", F32, dims, b"\0" * 8)], extra=("w",)))
        run_file(f"initializer of {name} without data", one_op("Add", (2,), [tensor("w", F32, dims)], extra=("w",)))
        run_file(f"ConstantOfShape of {name}", one_op("ConstantOfShape", (1,), dtype=I64) if name == "10^9" else model(
            [node("ConstantOfShape", ["s"], ["y"])], [], [value("y")], [i64s("s", dims)]), arguments=BOTH)
        run_file(f"Expand to {name}", one_op("Expand", (1,), [i64s("s", dims)], extra=("s",)), arguments=BOTH)
        run_file(f"Reshape to {name}", one_op("Reshape", (1,), [i64s("s", dims)], extra=("s",)), arguments=BOTH)
    for count in (10**9, 2**40, I64_MAX, -1, I64_MIN):
        run_file(f"Tile by {count}", one_op("Tile", (4,), [i64s("r", [count])], extra=("r",)), arguments=BOTH)
        run_file(f"Pad by {count}", one_op("Pad", (4,), [i64s("p", [count, count])], extra=("p",)), arguments=BOTH)
        run_file(f"TopK of {count}", model([node("TopK", ["x", "k"], ["y", "i"])], [value("x", F32, (4,))], [value("y")],
                                           [i64s("k", [count])]), arguments=BOTH)
        run_file(f"Range to {count}", model([node("Range", ["a", "b", "c"], ["y"])], [], [value("y", I64)],
                                            [i64s("a", [0], ()), i64s("b", [count], ()), i64s("c", [1], ())]),
                 arguments=BOTH)
        run_file(f"OneHot of {count}", model([node("OneHot", ["x", "d", "v"], ["y"])], [value("x", I64, (4,))],
                                             [value("y", I64)], [i64s("d", [count]), i64s("v", [0, 1])]), arguments=BOTH)
        run_file(f"Split of {count}", model([node("Split", ["x", "s"], ["y", "z"])], [value("x", F32, (4,))],
                                            [value("y")], [i64s("s", [count, 4])]), arguments=BOTH)
        run_file(f"Resize to {count}", model(
            [node("Resize", ["x", "", "", "s"], ["y"], mode="linear")], [value("x", F32, (1, 1, 4, 4))], [value("y")],
            [i64s("s", [1, 1, count, 4])]), arguments=BOTH)
        for op in ("MaxPool", "AveragePool"):
            for name, content in (("kernel", {"kernel_shape": [count, count]}),
                                  ("pads", {"kernel_shape": [2, 2], "pads": [count] * 4}),
                                  ("strides", {"kernel_shape": [2, 2], "strides": [count, count]}),
                                  ("dilations", {"kernel_shape": [2, 2], "dilations": [count, count]})):
                run_file(f"{op} with {name} {count}", one_op(op, (1, 1, 4, 4), **content), arguments=BOTH)
        for name in ("pads", "strides", "dilations", "group"):
            content = count if name == "group" else [count] * (4 if name == "pads" else 2)
            run_file(f"Conv with {name} {count}", one_op("Conv", (1, 1, 4, 4), [tensor("w", F32, (1, 1, 2, 2), b"\0" * 16)],
                                                         extra=("w",), **{name: content}), arguments=BOTH)
        run_file(f"loop of {count} trips", counted_loop(count))
    run_file("AveragePool over padding alone", one_op("AveragePool", (1, 1, 1, 1), kernel_shape=[1, 1],
                                                      pads=[30_000] * 4), arguments=BOTH)
    run_file("MaxPool over padding alone", one_op("MaxPool", (1, 1, 1, 1), kernel_shape=[1, 1], pads=[30_000] * 4))
    run_file("MaxPool of large windows in padding", one_op("MaxPool", (1, 1, 1, 1), kernel_shape=[20_000, 20_000],
                                                           pads=[9_999, 9_999, 10_001, 10_001]), arguments=BOTH)
    run_file("cubic Resize of many elements", model(
        [node("Resize", ["x", "", "", "s"], ["y"], mode="cubic")], [value("x", F32, (1, 1, 1, 4))], [value("y")],
        [i64s("s", [1, 1, 1, 10_000_000])]), arguments=BOTH)
    run_file("einsum of 10^15 steps", model(
        [node("Einsum", [f"x{i}" for i in range(5)], ["y"], equation="a,b,c,d,e->")],
        [value(f"x{i}", F32, (1000,)) for i in range(5)], [value("y", F32, ())]), arguments=BOTH)
    run_file("einsum of 10^15 steps on constants", model(
        [node("Einsum", ["x"] * 5, ["y"], equation="a,b,c,d,e->")], [], [value("y", F32, ())],
        [tensor("x", F32, (1000,), b"\0\0\x80\x3f" * 1000)]), arguments=BOTH)
    for op in ("MaxPool", "AveragePool"):
        run_file(f"{op} of 10^13 steps", one_op(op, (1, 1, 2000, 2000), kernel_shape=[1999, 1999], pads=[999] * 4))
    run_file("loop that does not end", endless_loop())
    run_file("graphs nested 1000 deep", nested(1000), arguments=BOTH)
    run_file("graphs nested 30 deep", nested(30), arguments=BOTH)
    run_file("functions that call themselves", function_chain(1, 1, True), arguments=BOTH)
    run_file("functions that double", function_chain(40, 2, False), arguments=BOTH)
    run_file("initializers that double in size", model(
        [node("Concat", [f"a{i}", f"a{i}"], [f"a{i + 1}"], axis=0) for i in range(50)], [], [value("a50")],
        [tensor("a0", F32, (4,), b"\0" * 16)]), arguments=BOTH)
    run_file("inputs that double in size", model(
        [node("Concat", [f"a{i}", f"a{i}"], [f"a{i + 1}"], axis=0) for i in range(50)], [value("a0", F32, (4,))],
        [value("a50")]), arguments=BOTH)
    run_file("a name of 20 MB", lambda: model([node("N" * 20_000_000, ["x"], ["y"])], [value("x", F32, (2,))], [value("y")]))
    run_file("a million nodes that are unknown", lambda: model([node("Nope", ["x"], ["y"])] * 300_000, [value("x", F32, (2,))],
                                                               [value("y")]))


def counted_loop(count):
    body = graph([node("Identity", ["c"], ["d"]), node("Add", ["v", "v"], ["w"])],
                 [value("i", I64), value("c", BOOL), value("v", F32, (2,))], [value("d", BOOL), value("w", F32, (2,))])
    return model([node("Loop", ["m", "", "x"], ["y"], body=("g", body))], [value("x", F32, (2,))], [value("y", F32, (2,))],
                 [i64s("m", [count], ())])


def endless_loop():
    body = graph([node("Identity", ["c"], ["d"]), node("Add", ["v", "v"], ["w"])],
                 [value("i", I64), value("c", BOOL), value("v", F32, (2,))], [value("d", BOOL), value("w", F32, (2,))])
    return model([node("Loop", ["", "t", "x"], ["y"], body=("g", body))], [value("x", F32, (2,))], [value("y", F32, (2,))],
                 [tensor("t", BOOL, (), b"\1")])


def nested(depth):
    inner = graph([node("Relu", ["x"], ["r"])], [], [value("r", F32, (2,))])
    for _ in range(depth):
        inner = graph([node("If", ["b"], ["r"], then_branch=("g", inner), else_branch=("g", graph(
            [node("Relu", ["x"], ["r"])], [], [value("r", F32, (2,))])))], [], [value("r", F32, (2,))])
    return model([node("If", ["b"], ["y"], then_branch=("g", inner), else_branch=("g", graph(
        [node("Relu", ["x"], ["r"])], [], [value("r", F32, (2,))])))],
        [value("b", BOOL), value("x", F32, (2,))], [value("y", F32, (2,))])


def function_chain(count, calls, recursive):
    functions = []
    for i in range(count):
        callee = f"F{i if recursive else i + 1}"
        inner = [node(callee, ["a" if c == 0 else f"t{c - 1}"], ["b" if c == calls - 1 else f"t{c}"], domain="f")
                 for c in range(calls)]
        if i == count - 1 and not recursive:
            inner = [node("Relu", ["a"], ["b"])]
        functions.append(field(1, f"F{i}") + field(4, "a") + field(5, "b") + b"".join(field(7, n) for n in inner)
                         + field(9, field(1, "") + field(2, 17)) + field(9, field(1, "f") + field(2, 1)) + field(10, "f"))
    return (field(1, 8) + field(7, graph([node("F0", ["x"], ["y"], domain="f")], [value("x", F32, (2,))],
                                         [value("y", F32, (2,))]))
            + field(8, field(1, "") + field(2, 17)) + field(8, field(1, "f") + field(2, 1))
            + b"".join(field(25, f) for f in functions))


def external_cases():
    def external(name, location, prepare=None, **more):
        @case(f"external data {name}")
        def _(folder):
            (folder / "secret.bin").write_bytes(b"\0" * 64)
            inner = folder / "model"
            inner.mkdir()
            (inner / "data.bin").write_bytes(b"\0" * 64)
            if prepare:
                prepare(inner)
            path = inner / "model.onnx"
            path.write_bytes(one_op("Add", (4,), [tensor("w", F32, (4,), external={"location": location, **more})],
                                    extra=("w",)))
            return ["run", path]
    external("outside", "../secret.bin")
    external("absolute", "/etc/passwd")
    external("device", "/dev/zero")
    external("deep outside", "a/../../secret.bin", lambda inner: (inner / "a").mkdir())
    external("link", "link.bin", lambda inner: (inner / "link.bin").symlink_to("../secret.bin"))
    external("link to a device", "link.bin", lambda inner: (inner / "link.bin").symlink_to("/dev/zero"))
    external("folder link", "up/secret.bin", lambda inner: (inner / "up").symlink_to(".."))
    external("FIFO", "fifo", lambda inner: os.mkfifo(inner / "fifo"))
    external("folder", "folder", lambda inner: (inner / "folder").mkdir())
    external("empty", "")
    external("that is the model", "model.onnx", offset="0", length="16")
    for offset in ("64", "60", "-1", "18446744073709551615", "9223372036854775807", "x", "1e3", ""):
        external(f"at offset '{offset}'", "data.bin", offset=offset, length="16")
    for length in ("0", "17", "-1", "18446744073709551615"):
        external(f"of length {length}", "data.bin", offset="0", length=length)


def text_cases():
    def text(name, content, arguments=BOTH):
        run_file(name, content, ".mlir", arguments)
    text("brackets", "[" * 1_000_000)
    text("braces", "builtin.module() ({" * 100_000)
    text("parentheses in a dimension", lambda: 'func.func() <{function_type = (tensor<?xf32, ["' + "(" * 1_000_000)
    text("nested tuples of types", lambda: "func.func() <{function_type = (" + "tuple<" * 1_000_000)
    text("nested arrays", lambda: "core.x() {a = " + "[" * 1_000_000 + "]" * 1_000_000 + "} : () -> ()")
    text("nested dictionaries", lambda: "core.x() {a = " + "{a = " * 300_000)
    text("nested locations", lambda: GOOD_TEXT.replace("tensor<2x3xf32>) -> ()", "tensor<2x3xf32>) -> () loc("
                                                       + 'fused["a", ' * 300_000))
    text("a token of 20 MB", lambda: GOOD_TEXT.replace('"main"', '"' + "f" * 20_000_000))
    text("a string that does not end", lambda: 'core.x() {a = "' + "a" * 5_000_000)
    text("aliases that double", "".join(
        f"#a{i} = [#a{i - 1}, #a{i - 1}]\n" if i else "#a0 = [1, 2]\n" for i in range(60))
        + GOOD_TEXT.replace("ten.relu(%x)", "ten.relu(%x) {my.note = #a59}"))
    text("location aliases that double", "".join(
        f"#loc{i} = loc(fused[#loc{i - 1}, #loc{i - 1}])\n" if i else '#loc0 = loc("a")\n' for i in range(60))
        + GOOD_TEXT.replace("tensor<2x3xf32>) -> ()", "tensor<2x3xf32>) -> () loc(#loc59)"))
    text("call sites that double", "".join(
        f"#loc{i} = loc(callsite(#loc{i - 1} at #loc{i - 1}))\n" if i else '#loc0 = loc("a")\n' for i in range(27))
        + GOOD_TEXT.replace("tensor<2x3xf32>) -> ()", "tensor<2x3xf32>) -> () loc(#loc26)"))
    for levels in (11, 13):  # within the limit on all aliases: few parts, and more than one location has
      text(f"call sites that double {levels} times", "".join(
          f"#loc{i} = loc(callsite(#loc{i - 1} at #loc{i - 1}))\n" if i else '#loc0 = loc("a")\n' for i in range(levels))
          + GOOD_TEXT.replace("tensor<2x3xf32>) -> ()", f"tensor<2x3xf32>) -> () loc(#loc{levels - 1})"))
    text("type aliases that double", "".join(
        f"!t{i} = tuple<!t{i - 1}, !t{i - 1}>\n" if i else "!t0 = tensor<2xf32>\n" for i in range(60))
        + GOOD_TEXT.replace("(%x: tensor<2x3xf32>)", "(%x: tensor<2x3xf32>, %y: !t59)")
        .replace("(tensor<2x3xf32>) -> tensor<2x3xf32>, sym", "(tensor<2x3xf32>, !t59) -> tensor<2x3xf32>, sym"))
    for name, first, link, use in (
        ("attribute", "#a0 = [1]", "#a{} = [#a{}]", lambda n: GOOD_TEXT.replace("ten.relu(%x)", f"ten.relu(%x) {{my.note = #a{n}}}")),
        ("type", "!a0 = tensor<2xf32>", "!a{} = tuple<!a{}>", lambda n: GOOD_TEXT.replace("ten.relu(%x)", f"ten.relu(%x) {{my.note = !a{n}}}")),
        *((f"location {kind}", '#a0 = loc("a")', f"#a{{}} = loc({loc})", lambda n: GOOD_TEXT.replace(
            "tensor<2x3xf32>) -> ()", f"tensor<2x3xf32>) -> () loc(#a{n})"))
          for kind, loc in (("fused", 'fused[#a{}, "b"]'), ("callsite", 'callsite(#a{} at "b")'), ("name", '"b"(#a{})')))):
        text(f"{name} aliases in a chain", "\n".join([first] + [link.format(i, i - 1) for i in range(1, 200_000)] + [use(199_999)]))
    text("aliases of themselves", "#a = [#a]\n" + GOOD_TEXT.replace("ten.relu(%x)", "ten.relu(%x) {my.note = #a}"))
    for dims in ("9223372036854775807", "4611686018427387904x4611686018427387904", "99999999999999999999999",
                 "-1", "1000000000000", "x".join(["2"] * 100), "0x9223372036854775807"):
        text(f"tensor of {dims[:40]}", GOOD_TEXT.replace("2x3", dims))
        text(f"splat of {dims[:40]}", GOOD_TEXT.replace(
            "%0 = ten.relu(%x)", f"%c = core.constant() <{{value = dense<1.0> : tensor<{dims}xf32>}}> : () -> "
            f"tensor<{dims}xf32>\n  %0 = ten.relu(%x)"))
    text("dimension that doubles", GOOD_TEXT.replace("2x3", '"' + "*".join(["(a + b)"] * 60) + '"x3'))
    text("hex of odd length", GOOD_TEXT.replace("ten.relu(%x)", 'ten.relu(%x) {a = dense<"0x123"> : tensor<2xf32>}'))
    text("not UTF-8", GOOD_TEXT.encode().replace(b"main", b"\xff\xfe\x80"))
    text("NULs", GOOD_TEXT.encode().replace(b"main", b"f\0\0\0"))
    run_file("good text", GOOD_TEXT, ".mlir", BOTH)
    rules = "rule a {\n  match relu(relu(x))\n  rewrite relu(x)\n}\n"
    for name, content in (("brackets", "(" * 1_000_000), ("nested calls", "rule a { match " + "relu(" * 500_000),
                          ("a token of 20 MB", "rule " + "a" * 20_000_000), ("half a rule", rules[:30]),
                          ("a string that does not end", 'rule a { "' + "a" * 1_000_000), ("zeros", b"\0" * 100_000),
                          ("nested conditions", "rule a {\n match y = relu(x)\n where " + "not (" * 500_000)):
        run_file(f"rules: {name}", content, ".drr", ("rules",))


INPUT_KINDS = ("run", "opt", "bench")


def input_lines(folder, file):
    """Each program with one input from a file."""
    good = folder / "good.mlir"
    return {"run": ["run", good, f"--input=arg0={file}"],
            "opt": ["opt", folder / "unused.mlir", "-O1", "--verify-semantics", f"--inputs={file.parent}"],
            "bench": ["bench", good, *BENCH, f"--inputs={file.parent}"]}


def npy_cases():
    def npy_of(name, content, kind):
        @case(f"npy {name} ({kind})")
        def _(folder):
            file = folder / "input_0.npy"
            file.write_bytes(content)
            return input_lines(folder, file)[kind]

    def npy(name, content):
        for kind in INPUT_KINDS:
            npy_of(name, content, kind)

    def header(shape, descr="<f4", data=b"\0" * 24, version=1):
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        size = struct.pack("<H", len(text)) if version == 1 else struct.pack("<I", len(text))
        return b"\x93NUMPY" + bytes([version, 0]) + size + text + data
    npy("good", header("(2, 3)"))
    for shape in ("(9223372036854775807,)", "(4611686018427387904, 4)", "(-1,)", "(2, -3)", "(0, 9223372036854775807)",
                  "(99999999999999999999999,)", "(" + "1, " * 10_000 + ")", "(2", "()", "(2, 3" + " " * 1000):
        npy(f"of {shape[:40]}", header(shape))
    npy("of objects", header("(2, 3)", "|O"))
    npy("header of 4 GiB", b"\x93NUMPY\x02\0\xff\xff\xff\xff")
    npy("truncated", header("(2, 3)", data=b""))
    npy("in Fortran order of many", header("(0, 1000000000, 1000000000)").replace(b"False", b"True "))


PARAMETER_TEXT = """core.parameter() <{sym_name = "w", type = f32, value = dense<0.5> : tensor<4x4xf32>}> : () -> ()
func.func() <{function_type = (tensor<2x4xf32>) -> tensor<2x4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2x4xf32>):
  %w = core.get_parameter() <{name = @w}> : () -> tensor<4x4xf32>
  %0 = ten.matmul(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  func.return(%0) : (tensor<2x4xf32>) -> ()
}) : () -> ()
"""


def safetensors(header, data=b"", size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", (len(text) if size is None else size) & 2**64 - 1) + text + data


def parameter_cases():
    """Files of safetensors as parameters and as adapters, and the settings of adapters."""
    def parameters(name, content):
        for option in ("--params", "--replace-params", "--adapter"):
            @case(f"{option} of {name}")
            def _(folder, option=option, content=content):
                (folder / "weights.mlir").write_text(PARAMETER_TEXT)
                file = folder / "adapter_model.safetensors"
                file.write_bytes(content() if callable(content) else content)
                return ["run", folder / "weights.mlir", "--runs=1", "--threads=1", f"{option}={file}"]

    weight = {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}
    data = b"\0\0\x80\x3f" * 16
    parameters("good weights", safetensors({"w": weight}, data))
    for size in (0, 63, 100_000_001, 2**63, -1):
        parameters(f"a header of {size}", safetensors({"w": weight}, data, size))
    for key, values in (("data_offsets", ([0], [64, 0], [-1, 63], [0, 2**63], [2**60, 2**60 + 64], None)),
                        ("shape", ([-4, -4], [2**62, 4], [0, 2**63 - 1], [2**32, 2**32], [0, 2**60, 2**60], [1] * 5000 + [16])),
                        ("dtype", ("F31", "\x1b[2J", 4, "x" * 5_000_000))):
        for value in values:
            parameters(f"{key} {str(value)[:30]!r}", safetensors({"w": {**weight, key: value}}, data))
    parameters("many names", lambda: safetensors({f"a{i}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
                                                  for i in range(300_000)}))
    parameters("many modules", lambda: safetensors({f"m{i}.lora_{part}.weight": {"dtype": "F32", "shape": [0, 4], "data_offsets": [0, 0]}
                                                    for i in range(100_000) for part in "AB"}))
    parameters("nested lists", safetensors(b'{"w": ' + b"[" * 3_000_000))
    parameters("a name of 20 MB", lambda: safetensors({"n" * 20_000_000: weight}, data))
    parameters("rank 0", safetensors({f"m.lora_{part}.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}
                                      for part, shape in (("A", [0, 4]), ("B", [4, 0]))}))

    def settings(name, content):
        @case(f"settings of an adapter: {name}")
        def _(folder):
            (folder / "weights.mlir").write_text(PARAMETER_TEXT)
            header = {f"m.lora_{part}.weight": {"dtype": "F32", "shape": [4, 4], "data_offsets": offsets}
                      for part, offsets in (("A", [0, 64]), ("B", [64, 128]))}
            (folder / "adapter_model.safetensors").write_bytes(safetensors(header, data * 2))
            content(folder / "adapter_config.json")
            return ["run", folder / "weights.mlir", "--runs=1", "--threads=1", f"--adapter={folder / 'adapter_model.safetensors'}",
                    "--adapter-weight=m=w^T"]

    for name, text in (("good", '{"lora_alpha": 2}'), ("nested", "[" * 1_000_000), ("infinite", '{"lora_alpha": 1e999}'),
                       ("twice", '{"lora_alpha": 1, "lora_alpha": 2}'), ("of 2 MB", " " * 2_000_000), ("not UTF-8", '{"\udcff": 1}'),
                       ("many patterns", '{"alpha_pattern": {' + ", ".join(f'"{i}": 1' for i in range(80_000)) + "}}")):
        settings(name, lambda path, text=text: path.write_bytes(text.encode(errors="surrogateescape")))
    settings("a device", lambda path: path.symlink_to("/dev/zero"))
    settings("a FIFO", os.mkfifo)
    settings("a folder", os.mkdir)


OP = {"op": "my.scale", "at": "a.yaml:1:1", "summary": "s", "operands": [{"name": "x", "arity": "single", "types": ["float"]}],
      "result": ["tensor"], "attrs": [], "traits": ["same_dtype"], "shape": "same_as_first"}


def declaration_cases():
    """JSON that declares operations, and profiles."""
    def json_file(name, option, content, *more):
        @case(f"{option} of {name}")
        def _(folder):
            path = folder / "file.json"
            path.write_bytes(content().encode(errors="surrogateescape"))
            return ["opt", "-O2", folder / "good.mlir", f"{option}={path}", *more, *(["-o", "/dev/null"] if not more else [])]

    def ops(name, content):
        json_file(name, "--load-ops", content)

    ops("good ops", lambda: json.dumps({"ops": [OP]}))
    for name, changes in (("a name with controls", {"op": "my.\x1b[2J"}), ("a name of 10 MB", {"op": "my." + "a" * 10_000_000}),
                          ("an op of Tenon", {"op": "ten.add"}), ("no dialect", {"op": "scale"}), ("an empty name", {"op": ""}),
                          ("an unknown type", {"result": ["!my.none"]}), ("a type of 1 MB", {"result": ["!" + "a" * 1_000_000]}),
                          ("a nested default", {"attrs": [{"name": "a", "kind": "f32", "required": False, "default": "[" * 300_000}]}),
                          ("a huge default", {"attrs": [{"name": "a", "kind": "i64", "required": False, "default": "9" * 100}]}),
                          ("many operands", {"operands": [{"name": f"x{i}", "arity": "variadic", "types": ["float"]} for i in range(70_000)]}),
                          ("many attributes", {"attrs": [{"name": f"a{i}", "kind": "f32", "required": True} for i in range(70_000)]})):
        ops(name, lambda changes=changes: json.dumps({"ops": [{**OP, **changes}]}))
    ops("many ops", lambda: json.dumps({"ops": [{**OP, "op": f"my.op{i}"} for i in range(20_000)]}))
    ops("one op twice", lambda: json.dumps({"ops": [OP, OP]}))
    ops("nested lists", lambda: "[" * 3_000_000)
    ops("a key twice", lambda: '{"ops": [], "ops": []}')
    ops("bytes that are no text", lambda: '{"ops": "\udcff"}')
    for name, text in (("nested", '{"calls": ' + "[" * 2_000_000), ("twice", '{"calls": [], "calls": []}'),
                       ("infinite", '{"calls": [{"op": "a", "node": "b", "ms": 1e999}]}'),
                       ("negative", '{"calls": [{"op": "a", "node": "b", "ms": -1}]}'),
                       ("long", '{"calls": [' + ", ".join(f'{{"op": "o{i}", "node": "n", "ms": 1}}' for i in range(100_000)) + "]}")):
        json_file(f"a {name} profile", "--view-profile", lambda text=text: text, "--view=/dev/null")


def special_cases():
    for option in ("", "--rules=", "--weight-cache="):
        for target in ("/dev/zero", "fifo", "folder", "loop", "none"):
            @case(f"{option or 'model '}{target}")
            def _(folder, option=option, target=target):
                os.mkfifo(folder / "fifo")
                (folder / "folder").mkdir()
                (folder / "loop").symlink_to("loop")
                path = target if target.startswith("/") else folder / target
                return ["run", folder / "good.mlir", f"{option}{path}"] if option else ["run", path]
    for target in ("/dev/zero", "fifo"):
        for program in (["opt", "-O2"], ["opt", "--rules"]):
            @case(f"{' '.join(program)} {target}")
            def _(folder, program=program, target=target):
                os.mkfifo(folder / "fifo")
                path = target if target.startswith("/") else folder / target
                return [*program, path] if program[1] == "-O2" else ["opt", f"--rules={path}", folder / "good.mlir"]
    for what in ("input_0.pb", "input_0.npy"):
        for target in ("/dev/zero", "fifo"):
            for kind in INPUT_KINDS:
                @case(f"{what} is {target} ({kind})")
                def _(folder, what=what, target=target, kind=kind):
                    inputs = folder / "inputs"
                    inputs.mkdir()
                    if target == "fifo":
                        os.mkfifo(inputs / what)
                    else:
                        (inputs / what).symlink_to(target)
                    for file in ("good.mlir", "unused.mlir"):
                        shutil.copy(folder / file, inputs)
                    return input_lines(inputs, inputs / what)[kind]
    for target in ("/dev/zero", "fifo", "folder"):
        @case(f"ir-bench of {target}")
        def _(folder, target=target):
            os.mkfifo(folder / "fifo")
            (folder / "folder").mkdir()
            return ["bench", target if target.startswith("/") else folder / target, *BENCH]

    @case("rules of 100 GB")
    def _(folder):
        with open(folder / "large.drr", "wb") as file:
            file.truncate(100 << 30)
        return ["opt", "-O2", f"--rules={folder / 'large.drr'}", folder / "good.mlir"]

    @case("standard input without an end")
    def _(_folder):
        return ["opt", "-O2", "-"]


def main():
    programs = {"opt": [sys.argv[1]], "run": [sys.argv[2]], "bench": [sys.argv[3]]}
    for add in (onnx_cases, external_cases, text_cases, npy_cases, parameter_cases, declaration_cases, special_cases):
        add()
    chosen = [name for name in CASES if not sys.argv[4:] or any(part in name for part in sys.argv[4:])]

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    failures = 0
    for name in chosen:
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            (folder / "good.mlir").write_text(GOOD_TEXT)
            (folder / "unused.mlir").write_text(UNUSED_TEXT)
            program, *arguments = CASES[name](folder)
            endless = "standard input" in name
            with open("/dev/zero" if endless else "/dev/null", "rb") as stdin:
                try:
                    result = subprocess.run([*programs[program], *map(str, arguments)], stdin=stdin, capture_output=True,
                                            timeout=SECONDS, preexec_fn=limit, check=False)
                except subprocess.TimeoutExpired:
                    problem = f"takes more than {SECONDS} s"
                else:
                    error = result.stderr.decode(errors="replace")
                    problem = None
                    if result.returncode < 0:
                        problem = f"ends by signal {-result.returncode}: {error[-200:]}"
                    elif result.returncode > 4:
                        problem = f"has exit status {result.returncode}: {error[-200:]}"
                    elif "unknown option" in error or "no effect" in error:
                        problem = f"is no case, because the line is wrong: {error[-200:]}"
                    elif re.search("^npy good|^good text|of good ops|^--(replace-)?params of good|adapter: good", name) and result.returncode != 0:
                        problem = f"is refused: {error[-200:]}"
                    elif "nothing was run" in error:
                        problem = "is no case, because its file is not read"
                    elif LAST_RESORT in error:
                        problem = f"is stopped by the last resort: {error[-200:]}"
                    elif result.returncode > 0 and not error.strip() and b"FAIL" not in result.stdout:
                        problem = "fails without a message"
                    elif len(error) > MESSAGE:
                        problem = f"has a message of {len(error)} characters"
        finally:
            shutil.rmtree(folder)
        if problem:
            failures += 1
            print(f"{name}: {problem}", flush=True)
    print(f"{len(chosen)} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
