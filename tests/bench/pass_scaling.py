#!/usr/bin/env python3
"""How the time of every pass grows with the program: chains, fans, ladders and the like at N and 2N operations.

    tests/bench/pass_scaling.py build/bin/ir-opt [--ops 25000] [--shape chain,fan,...] [--most 2.6]

A pass that is linear has a ratio of about 2, a quadratic one of 4. Passes below --floor seconds at 2N are left out.
`--print SHAPE` writes the program of that shape instead.
"""

import argparse
import json
import resource
import subprocess
import sys

T = "tensor<4x8xf32>"


class Program:
    """A function of one block, written line by line."""

    def __init__(self, inputs):
        self.inputs = inputs
        self.lines = []
        self.count = 0

    def op(self, name, operands, attributes="", result=T, types=None):
        self.count += 1
        value = f"%v{self.count}"
        properties = f" <{{{attributes}}}>" if attributes else ""
        types = types or [T] * len(operands)
        self.lines.append(f"  {value} = {name}({', '.join(operands)}){properties} : "
                          f"({', '.join(types)}) -> {result}")
        return value

    def text(self, results, types=None):
        types = types or [T] * len(results)
        ins = ", ".join(t for _, t in self.inputs)
        outs = ", ".join(types)
        arguments = ", ".join(f"{n}: {t}" for n, t in self.inputs)
        body = "\n".join(self.lines)
        return (f'func.func() <{{function_type = ({ins}) -> ({outs}), sym_name = "main"}}> ({{\n^bb0({arguments}):\n'
                f"{body}\n  func.return({', '.join(results)}) : ({outs}) -> ()\n}}) : () -> ()\n")


def chain(n):
    """Elementwise operations, each reading the one before."""
    p = Program([("%x", T)])
    v = "%x"
    for i in range(n):
        v = p.op(["ten.relu", "ten.tanh", "ten.exp"][i % 3], [v])
    return p.text([v])


def ladder(n):
    """Two chains that read each other."""
    p = Program([("%x", T), ("%y", T)])
    a, b = "%x", "%y"
    for _ in range(n // 2):
        a, b = p.op("ten.add", [a, b]), p.op("ten.mul", [a, b])
    return p.text([a, b])


def broken_chain(n):
    """Elementwise operations between sums, which are no part of a group."""
    p = Program([("%x", T)])
    v = "%x"
    for _ in range(n // 4):
        s = p.op("ten.reduce_max", [v], "axes = array<i64: 1>", "tensor<4x1xf32>")
        d = p.op("ten.sub", [v, s], types=[T, "tensor<4x1xf32>"])
        v = p.op("ten.tanh", [p.op("ten.exp", [d])])
    return p.text([v])


def residual(n):
    """A chain whose steps also read the chain's beginning."""
    p = Program([("%x", T)])
    first = v = p.op("ten.exp", ["%x"])
    for _ in range(n // 2):
        v = p.op("ten.add", [p.op("ten.tanh", [v]), first])
    return p.text([v])


def fan(n):
    """One value that all others read, summed up by a concatenation."""
    p = Program([("%x", T)])
    root = p.op("ten.exp", ["%x"])
    leaves = []
    for i in range(n):
        number = p.op("core.constant", [], f"value = dense<{i + 1}.5> : tensor<f32>", "tensor<f32>")
        leaves.append(p.op("ten.add", [root, number], types=[T, "tensor<f32>"]))
    out = f"tensor<{4 * n}x8xf32>"
    return p.text([p.op("ten.concat", leaves, "axis = 0 : i64", out)], [out])


def fan_reversed(n):
    """Functions of one input, summed up from the last to the first."""
    p = Program([("%x", T)])
    leaves = []
    for i in range(n // 3):
        number = p.op("core.constant", [], f"value = dense<{i + 1}.5> : tensor<f32>", "tensor<f32>")
        leaves.append(p.op("ten.mul", ["%x", number], types=[T, "tensor<f32>"]))
    v = leaves[-1]
    for leaf in leaves[-2::-1]:
        v = p.op("ten.add", [v, leaf])
    return p.text([v])


def tree(n):
    """A balanced tree of sums over one input's functions."""
    p = Program([("%x", T)])
    level = []
    for i in range(n // 3):
        number = p.op("core.constant", [], f"value = dense<{i + 1}.5> : tensor<f32>", "tensor<f32>")
        level.append(p.op("ten.mul", ["%x", number], types=[T, "tensor<f32>"]))
    while len(level) > 1:
        pairs = [p.op("ten.sub", [a, b]) for a, b in zip(level[::2], level[1::2])]
        level = pairs + level[len(level) & ~1:]
    return p.text(level)


def products(n):
    """Products one after the other."""
    w = "tensor<8x8xf32>"
    p = Program([("%x", T), ("%w", w)])
    v = "%x"
    for _ in range(n // 2):
        v = p.op("ten.relu", [p.op("ten.matmul", [v, "%w"], types=[T, w])])
    return p.text([v])


def product_fan(n):
    """Products of one value with many matrices, which packing looks at."""
    w = "tensor<8x8xf32>"
    p = Program([("%x", T)])
    leaves = []
    for i in range(n // 2):
        c = p.op("core.constant", [], f"value = dense<{i + 1}.5> : {w}", w)
        leaves.append(p.op("ten.matmul", ["%x", c], types=[T, w]))
    out = f"tensor<{4 * len(leaves)}x8xf32>"
    return p.text([p.op("ten.concat", leaves, "axis = 0 : i64", out)], [out])


def slices(n):
    """One tensor cut into rows, which are joined again."""
    source = f"tensor<{n}x8xf32>"
    p = Program([("%x", source)])
    rows = [p.op("ten.slice", ["%x"], f"axes = array<i64: 0>, starts = #core.dims<{i}>, ends = #core.dims<{i + 1}>, "
                 "steps = array<i64: 1>", "tensor<1x8xf32>", [source]) for i in range(n)]
    rows = [p.op("ten.exp", [r], result="tensor<1x8xf32>", types=["tensor<1x8xf32>"]) for r in rows[::-1]]
    return p.text([p.op("ten.concat", rows, "axis = 0 : i64", source, ["tensor<1x8xf32>"] * n)], [source])


def transposes(n):
    """A chain of transposes and functions."""
    p = Program([("%x", "tensor<8x8xf32>")])
    t = "tensor<8x8xf32>"
    v = "%x"
    for i in range(n // 2):
        v = p.op("ten.transpose", [v], "perm = array<i64: 1, 0>", t, [t])
        v = p.op(["ten.relu", "ten.tanh"][i % 2], [v], result=t, types=[t])
    return p.text([v], [t])


def symbolic(n):
    """A chain of symbolic shapes that grow and are cut again."""
    t = 'tensor<?x8xf32, ["B", ""]>'
    two = 'tensor<?x8xf32, ["2 * B", ""]>'
    p = Program([("%x", t)])
    v = "%x"
    for _ in range(n // 3):
        c = p.op("ten.concat", [v, "%x"], "axis = 0 : i64", two, [t, t])
        s = p.op("ten.slice", [c], 'axes = array<i64: 0>, starts = #core.dims<0>, ends = #core.dims<"B">, '
                 "steps = array<i64: 1>", t, [two])
        v = p.op("ten.tanh", [s], result=t, types=[t])
    return p.text([v], [t])


def constants(n):
    """A chain computed from constants alone."""
    p = Program([("%x", T)])
    v = p.op("core.constant", [], f"value = dense<0.5> : {T}", T)
    for i in range(n):
        v = p.op(["ten.tanh", "ten.exp", "ten.cos"][i % 3], [v])
    return p.text([p.op("ten.add", ["%x", v])])


def operand_list(n):
    """One operation that reads one value very often."""
    out = f"tensor<{4 * n}x8xf32>"
    p = Program([("%x", T)])
    return p.text([p.op("ten.concat", ["%x"] * n, "axis = 0 : i64", out)], [out])


def layers(n):
    """Layers of a transformer as exporters write them: attention, norms and GELU in single operations."""
    x3, x4, s4 = "tensor<1x4x16xf32>", "tensor<1x2x4x8xf32>", "tensor<1x2x4x4xf32>"
    one, row, k4 = "tensor<1x4x1xf32>", "tensor<16xf32>", "tensor<1x4x2x8xf32>"
    p = Program([("%x", x3), ("%w", "tensor<16x16xf32>"), ("%b", row), ("%m", "tensor<1x1x4x4xf32>")])

    def number(value):
        return p.op("core.constant", [], f"value = dense<{value}> : tensor<f32>", "tensor<f32>")

    def linear(v):
        product = p.op("ten.matmul", [v, "%w"], result=x3, types=[x3, "tensor<16x16xf32>"])
        return p.op("ten.add", [product, "%b"], result=x3, types=[x3, row])

    def heads(v):
        split = p.op("ten.reshape", [linear(v)], "shape = #core.dims<1, 4, 2, 8>", k4, [x3])
        return p.op("ten.transpose", [split], "perm = array<i64: 0, 2, 1, 3>", x4, [k4])

    def norm(v):
        mean = p.op("ten.reduce_mean", [v], "axes = array<i64: 2>", one, [x3])
        centred = p.op("ten.sub", [v, mean], result=x3, types=[x3, one])
        square = p.op("ten.mul", [centred, centred], result=x3, types=[x3, x3])
        variance = p.op("ten.reduce_mean", [square], "axes = array<i64: 2>", one, [x3])
        root = p.op("ten.sqrt", [p.op("ten.add", [variance, number("1.0e-05")], result=one,
                                      types=[one, "tensor<f32>"])], result=one, types=[one])
        scaled = p.op("ten.mul", [p.op("ten.div", [centred, root], result=x3, types=[x3, one]), "%b"], result=x3,
                      types=[x3, row])
        return p.op("ten.add", [scaled, "%b"], result=x3, types=[x3, row])

    v = "%x"
    for _ in range(max(1, n // 55)):
        q, k, values = heads(v), heads(v), heads(v)
        scores = p.op("ten.matmul", [q, k], "transpose_b = true", s4, [x4, x4])
        scores = p.op("ten.div", [scores, number("2.5")], result=s4, types=[s4, "tensor<f32>"])
        scores = p.op("ten.add", [scores, "%m"], result=s4, types=[s4, "tensor<1x1x4x4xf32>"])
        weights = p.op("nn.softmax", [scores], "axis = 3 : i64", s4, [s4])
        mixed = p.op("ten.matmul", [weights, values], result=x4, types=[s4, x4])
        joined = p.op("ten.transpose", [mixed], "perm = array<i64: 0, 2, 1, 3>", k4, [x4])
        joined = p.op("ten.reshape", [joined], "shape = #core.dims<1, 4, 16>", x3, [k4])
        v = norm(p.op("ten.add", [v, linear(joined)], result=x3, types=[x3, x3]))
        up = linear(v)
        erf = p.op("ten.erf", [p.op("ten.div", [up, number("1.41421354")], result=x3, types=[x3, "tensor<f32>"])],
                   result=x3, types=[x3])
        gelu = p.op("ten.mul", [up, p.op("ten.add", [erf, number("1.0")], result=x3, types=[x3, "tensor<f32>"])],
                    result=x3, types=[x3, x3])
        gelu = p.op("ten.mul", [gelu, number("0.5")], result=x3, types=[x3, "tensor<f32>"])
        v = norm(p.op("ten.add", [v, linear(gelu)], result=x3, types=[x3, x3]))
    return p.text([v], [x3])


def convolutions(n):
    """Convolutions with ReLU, and a residual around every second one."""
    t, w = "tensor<1x4x8x8xf32>", "tensor<4x4x3x3xf32>"
    p = Program([("%x", t), ("%w", w)])
    v = "%x"
    for _ in range(n // 5):
        u = v
        for _ in range(2):
            u = p.op("nn.conv", [u, "%w"], "strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, "
                     "dilations = array<i64: 1, 1>", t, [t, w])
            u = p.op("ten.relu", [u], result=t, types=[t])
        v = p.op("ten.add", [u, v], result=t, types=[t, t])
    return p.text([v], [t])


def shared_weights(n):
    """Products of the same probabilities with many values, which belong together two by two."""
    s, t = "tensor<1x2x4x4xf32>", "tensor<1x2x4x8xf32>"
    p = Program([("%s", s), ("%v", t)])
    weights = p.op("nn.softmax", ["%s"], "axis = 3 : i64", s, [s])
    parts = []
    for i in range(n // 3):
        number = p.op("core.constant", [], f"value = dense<{i + 1}.5> : tensor<f32>", "tensor<f32>")
        value = p.op("ten.mul", ["%v", number], result=t, types=[t, "tensor<f32>"])
        parts.append(p.op("ten.matmul", [weights, value], result=t, types=[s, t]))
    out = f"tensor<{len(parts)}x2x4x8xf32>"
    return p.text([p.op("ten.concat", parts, "axis = 0 : i64", out, [t] * len(parts))], [out])


def branches(n):
    """Conditions known at run time only, one after the other."""
    p = Program([("%x", T), ("%c", "tensor<i1>")])
    v = "%x"
    for _ in range(n // 5):
        p.count += 1
        r = f"%v{p.count}"
        yields = "\n".join(f"    %{w}{p.count} = {f}({v}) : ({T}) -> {T}\n    ctl.yield(%{w}{p.count}) : ({T}) -> ()\n  "
                           + end for w, f, end in (("a", "ten.exp", "}, {"), ("b", "ten.tanh", "}")))
        p.lines.append(f"  {r} = ctl.if(%c) ({{\n{yields}) : (tensor<i1>) -> {T}")
        v = r
    return p.text([v])


def nested_branches(n):
    """Branches inside of each other, 100 times behind each other. Twice the operations are twice as deep."""
    p = Program([("%x", T), ("%c", "tensor<i1>")])
    v = "%x"
    for _ in range(100):
        levels = [f"l{p.count + i}" for i in range(1, n // 400 + 1)]
        p.count += len(levels)
        outer, ends = v, []
        for level in levels:
            p.lines.append(f"  %r{level} = ctl.if(%c) ({{\n  %{level} = ten.tanh({outer}) : ({T}) -> {T}")
            ends.append(f"  }}, {{\n  ctl.yield({outer}) : ({T}) -> ()\n  }}) : (tensor<i1>) -> {T}")
            outer = f"%{level}"
        for level, end in zip(reversed(levels), reversed(ends)):
            p.lines.append(f"  ctl.yield({outer}) : ({T}) -> ()\n{end}")
            outer = f"%r{level}"
        v = outer
    return p.text([v])


def run_time_shapes(n):
    """Shapes computed by operations, as exporters write them."""
    t = 'tensor<?x8xf32, ["B", ""]>'
    flat = 'tensor<?xf32, ["8 * B"]>'
    p = Program([("%x", t)])
    v = "%x"
    for _ in range(n // 8):
        shape = p.op("ten.shape", [v], "start = 0 : i64, end = 2 : i64", "tensor<2xi64>", [t])
        index = p.op("core.constant", [], "value = dense<0> : tensor<1xi64>", "tensor<1xi64>")
        rows = p.op("ten.gather", [shape, index], "axis = 0 : i64", "tensor<1xi64>", ["tensor<2xi64>", "tensor<1xi64>"])
        rest = p.op("core.constant", [], "value = dense<8> : tensor<1xi64>", "tensor<1xi64>")
        size = p.op("ten.mul", [rows, rest], result="tensor<1xi64>", types=["tensor<1xi64>"] * 2)
        f = p.op("ten.dynamic_reshape", [v, size], result="tensor<?xf32>", types=[t, "tensor<1xi64>"])
        both = p.op("ten.concat", [rows, rest], "axis = 0 : i64", "tensor<2xi64>", ["tensor<1xi64>"] * 2)
        back = p.op("ten.dynamic_reshape", [f, both], result="tensor<?x?xf32>", types=["tensor<?xf32>", "tensor<2xi64>"])
        v = p.op("ten.tanh", [back], result=t, types=["tensor<?x?xf32>"])
    return p.text([v], [t])


def function(name, inputs, outputs, body):
    """The text of a function: `body` is its region, with the labels of its blocks."""
    return (f'func.func() <{{function_type = ({", ".join(inputs)}) -> ({", ".join(outputs)}), sym_name = "{name}"}}> ({{\n'
            f"{body}}}) : () -> ()\n")


def merges(n):
    """Equal operations in one block, which cse makes one."""
    p = Program([("%x", T), ("%y", T)])
    v = "%x"
    for _ in range(n // 3):
        a, b = p.op("ten.add", ["%x", "%y"]), p.op("ten.add", ["%x", "%y"])
        v = p.op("ten.mul", [a, b])
    return p.text([v])


def equal_branches(n):
    """Branches whose bodies are all equal."""
    p = Program([("%x", T), ("%c", "tensor<i1>")])
    v = "%x"
    for i in range(n // 5):
        p.count += 1
        r = f"%v{p.count}"
        body = (f"    %{{0}}{p.count} = ten.exp(%x) : ({T}) -> {T}\n    ctl.yield(%{{0}}{p.count}) : ({T}) -> ()\n  ")
        p.lines.append(f"  {r} = ctl.if(%c) ({{\n{body.format('a')}}}, {{\n{body.format('b')}}}) : (tensor<i1>) -> {T}")
        v = p.op("ten.add", [v, r])
    return p.text([v])


def wide_blocks(n):
    """Blocks that compute the same, none of which dominates another, behind one switch of branches."""
    count = n // 4
    lines = [f"^bb0(%x: {T}, %c: i1):\n  cf.cond_br(%c)[^a0, ^m0] <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (i1) -> ()\n"]
    for i in range(count):
        lines.append(f"^a{i}:\n  %v{i} = ten.exp(%x) : ({T}) -> {T}\n  %w{i} = ten.tanh(%v{i}) : ({T}) -> {T}\n"
                     f"  cf.br()[^m{i}] : () -> ()\n")
        end = (f"  cf.cond_br(%c)[^a{i + 1}, ^m{i + 1}] <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (i1) -> ()\n"
               if i + 1 < count else f"  func.return(%x) : ({T}) -> ()\n")
        lines.append(f"^m{i}:\n{end}")
    return function("main", [T, "i1"], [T], "".join(lines))


def blocks_reversed(n):
    """Blocks in reverse order, with a chain through all of them that nothing needs."""
    count = n // 2
    blocks = [f"^b{i}:\n  %d{i + 1} = ten.exp(%d{i}) : ({T}) -> {T}\n"
              + (f"  cf.br()[^b{i + 1}] : () -> ()\n" if i + 1 < count else f"  func.return(%x) : ({T}) -> ()\n")
              for i in range(count)]
    entry = f"^bb0(%x: {T}):\n  %d0 = ten.tanh(%x) : ({T}) -> {T}\n  cf.br()[^b0] : () -> ()\n"
    return function("main", [T], [T], entry + "".join(reversed(blocks)))


def calls(n):
    """Functions that each call the next two."""
    count = max(1, n // 5)
    made = []
    for i in range(count):
        body = [f"^bb0(%x: {T}):\n  %a = ten.exp(%x) : ({T}) -> {T}\n"]
        last = "%a"
        for k, callee in enumerate((i + 1, i + 2)):
            if callee < count:
                body.append(f"  %c{k} = func.call({last}) <{{callee = @f{callee}}}> : ({T}) -> {T}\n")
                last = f"%c{k}"
        body.append(f"  func.return({last}) : ({T}) -> ()\n")
        made.append(function(f"f{i}", [T], [T], "".join(body)))
    return "".join(made)


def call_chain(n):
    """Public functions that each call the next one."""
    count = max(1, n // 3)
    made = []
    for i in range(count):
        body = f"^bb0(%x: {T}):\n  %a = ten.exp(%x) : ({T}) -> {T}\n"
        if i + 1 < count:
            body += f"  %c = func.call(%a) <{{callee = @f{i + 1}}}> : ({T}) -> {T}\n"
        made.append(function(f"f{i}", [T], [T], body + f"  func.return({'%c' if i + 1 < count else '%a'}) : ({T}) -> ()\n"))
    return "".join(made)


def block_arguments(n):
    """A block with as many arguments as there are operations, each passed on from the one before."""
    count = n // 2
    values = [f"%v{i}" for i in range(count)]
    lines = [f"^bb0(%x: {T}):\n"]
    lines += [f"  {v} = ten.{['exp', 'tanh', 'sin'][i % 3]}({values[i - 1] if i else '%x'}) : ({T}) -> {T}\n"
              for i, v in enumerate(values)]
    types = ", ".join([T] * count)
    lines.append(f"  cf.br({', '.join(values)})[^b1] : ({types}) -> ()\n")
    lines.append(f"^b1({', '.join(f'%a{i}: {T}' for i in range(count))}):\n  func.return(%a{count - 1}) : ({T}) -> ()\n")
    return function("main", [T], [T], "".join(lines))


def block_chain(n):
    """Blocks one behind the other, each of which reads what the one before computes. For --passes=--lower."""
    count = max(1, n // 2)
    lines = [f"^bb0(%x: {T}):\n  %d0 = ten.tanh(%x) : ({T}) -> {T}\n  cf.br()[^b0] : () -> ()\n"]
    for i in range(count):
        end = f"cf.br()[^b{i + 1}] : () -> ()" if i + 1 < count else f"func.return(%d{i + 1}) : ({T}) -> ()"
        lines.append(f"^b{i}:\n  %d{i + 1} = ten.exp(%d{i}) : ({T}) -> {T}\n  {end}\n")
    return function("main", [T], [T], "".join(lines))


def attributes(n):
    """Operations of a dialect that nobody registered, each with attributes."""
    p = Program([("%x", T)])
    v = "%x"
    for i in range(n):
        v = p.op("other.op", [v])
        p.lines[-1] = p.lines[-1].replace(f" : ({T})", f" {{a = {i % 7} : i64}} : ({T})", 1)
    return p.text([v])


def aliases(n):
    """Aliases of locations, each of the one before."""
    count = n // 2
    p = Program([("%x", T)])
    v = "%x"
    for i in range(count):
        v = p.op(["ten.relu", "ten.tanh"][i % 2], [v])
        p.lines[-1] += f" loc(#loc{i})"
    lines = ['#loc0 = loc("a")'] + [f'#loc{i} = loc("a{i}"(#loc{i - 1}))' for i in range(1, count)]
    return "\n".join(lines) + "\n" + p.text([v])


SHAPES = {f.__name__: f for f in (chain, ladder, broken_chain, residual, fan, fan_reversed, tree, products, product_fan, slices,
                                  transposes, symbolic, constants, operand_list, layers,
                                  convolutions, shared_weights, branches, nested_branches, run_time_shapes, merges,
                                  equal_branches, wide_blocks, blocks_reversed, calls, call_chain, block_arguments, block_chain, attributes, aliases)}


def passes(ir_opt, text, arguments):
    """Seconds by pass, summed over its runs, and the processor's time of the whole run: text in, passes, text out."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([ir_opt, "-", "-o=/dev/null", "--allow-unregistered-dialect", "--timing-json", *arguments],
                          input=text, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr[:2000])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = {"(whole run)": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}

    def add(node):
        for child in node.get("children", []):
            add(child)
        if not node.get("children"):
            seconds[node["name"]] = seconds.get(node["name"], 0) + node["seconds"]

    add(json.loads(done.stderr))
    return seconds


def least(ir_opt, text, options):
    """The least of several runs, pass by pass: other programs may be running."""
    runs = [passes(ir_opt, text, options.passes.split()) for _ in range(options.runs)]
    return {name: min(run[name] for run in runs) for name in runs[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ir_opt", nargs="?")
    parser.add_argument("--ops", type=int, default=25000)
    parser.add_argument("--shape", default=",".join(SHAPES))
    parser.add_argument("--passes", default="-O2")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--floor", type=float, default=0.05, help="seconds below which a pass is not named")
    parser.add_argument("--most", type=float, default=2.6, help="a ratio above it is marked")
    parser.add_argument("--print", dest="shown", choices=SHAPES)
    options = parser.parse_args()
    if options.shown:
        sys.stdout.write(SHAPES[options.shown](options.ops))
        return
    for name in options.shape.split(","):
        small, large = (least(options.ir_opt, SHAPES[name](ops), options) for ops in (options.ops, 2 * options.ops))
        print(f"{name}: {small['(whole run)']:.2f} s, {large['(whole run)']:.2f} s")
        for which, seconds in sorted(large.items(), key=lambda item: -item[1]):
            if seconds < options.floor:
                continue
            ratio = seconds / max(small.get(which, 0), 1e-6)
            print(f"  {which:24} {seconds:8.3f} s  {ratio:5.2f}x{'  <--' if ratio > options.most else ''}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
