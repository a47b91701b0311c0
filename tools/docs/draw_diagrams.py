#!/usr/bin/env python3
"""Draws docs/images/*.svg, the pictures of the design pages, from the code.

Names, orders, numbers and sizes come from the code (diagram_sources.py); what stands where is written here. A box that
names a file or a function checks that it is there. So a picture either shows the code or fails to draw.

  draw_diagrams.py                 writes the pictures
  draw_diagrams.py --check         compares with the committed ones; exit status 1 if one differs
  draw_diagrams.py --out=DIR       writes to another folder
"""

import argparse
import pathlib
import sys

from diagram_sources import SourceError, Sources
from svg_canvas import Canvas, DrawingError, text_width

PICTURES = {}


def picture(draw):
    """Registers a function that draws docs/images/<its name, with dashes>.svg."""
    PICTURES[draw.__name__.replace("_", "-")] = draw
    return draw


# ---- design.md


@picture
def overview(source):
    canvas = Canvas("From a model to a result")
    names = {name for name, _ in source.dialects()}
    for name in ("core", "ten", "nn", "q", "ctl", "fused", "kernel"):
        if name not in names:
            raise SourceError(f"ir/dialect/{name}.yaml: does not exist (the overview names it)")
    source.path("frontends/onnx/importer.h", "ImportOnnx(")
    source.path("executor/program.h", "class Program")
    source.path("executor/session.h", "class Session")
    stages = [
        ("io", "model", ["ONNX file", "or IR text"]),
        ("ir", "IR", ["core ten nn", "q ctl"]),
        ("rule", "optimized", ["core ten nn", "q ctl fused"]),
        ("run", "lowered", ["kernel ctl", "core.constant"]),
        ("run", "Program", ["instructions", "immutable"]),
        ("run", "Session", ["memory", "states"]),
    ]
    arrows = [
        ("import", "frontends/onnx"),
        ("optimize", "transforms"),
        ("lower", "executor"),
        ("compile", "executor"),
        ("run", "executor"),
    ]
    width, gap, x, y = 94, 36, 8, 44
    for i, (kind, title, lines) in enumerate(stages):
        canvas.box(x, y, width, 64, kind, title, lines, mono=False)
        if i < len(arrows):
            canvas.arrow((x + width + 2, y + 32), (x + width + gap - 2, y + 32))
            middle = x + width + gap / 2
            canvas.text(middle, y - 20, arrows[i][0], "small", bold=True, anchor="middle")
            canvas.text(middle, y - 7, arrows[i][1], "tiny", mono=True, muted=True, anchor="middle")
        x += width + gap
    canvas.text(8 + width + gap, 128, "patterns/ holds the rules, drr/ applies them", "small", muted=True)
    canvas.text(8 + 3 * (width + gap), 128, "kernels/ holds what computes", "small", muted=True)
    return canvas.svg(142)


LAYER_NOTES = {
    "ir/core": "context, types, attributes, dimensions, operations, text, verifier",
    "ir/dialect": "op definitions in YAML",
    "pass": "pass manager, pipelines",
    "drr": "rules as data, matcher",
    "patterns": "the built-in rules",
    "transforms": "the passes",
    "kernels": "reference, CPU, GPU",
    "executor": "lowering, memory, runs",
    "frontends/onnx": "ONNX to IR",
    "frontends/api": "the façade that hosts use: load, optimize, compile, run, extensions",
    "tools": "ir-opt, ir-run, ir-bench, scripts",
    "tests": "what must hold",
}


@picture
def layers(source):
    """Arrows go from a layer to what it may include; edges that follow from others are left out."""
    allowed, everything = source.layers()
    canvas = Canvas("Which layer may include which")
    whole = {layer: [o for o in others if o in allowed] for layer, others in allowed.items() if others != everything}
    partial = {layer: others for layer, others in allowed.items() if others != everything and others and not whole[layer]}
    reach = {}

    def reached(layer):
        if layer not in reach:
            reach[layer] = set(whole.get(layer, [])).union(*(reached(o) for o in whole.get(layer, [])))
        return reach[layer]

    edges = [
        (layer, other)
        for layer in whole
        for other in whole[layer]
        if not any(other in reached(third) for third in whole[layer] if third != other)
    ]
    places = {
        "ir/dialect": (0, 4),
        "frontends/onnx": (0, 3),
        "pass": (1, 4),
        "drr": (1, 3),
        "patterns": (1, 2),
        "transforms": (1, 1),
        "kernels": (2, 4),
        "executor": (2, 3),
    }
    missing = set(allowed) - set(places) - {"ir/core", "frontends/api", "tools", "tests"}
    if missing or set(allowed) != set(LAYER_NOTES):
        raise SourceError(f"check_layers.py: the layers {sorted(set(allowed) ^ set(LAYER_NOTES))} have no place in the picture")
    kinds = {
        "ir/core": "ir",
        "ir/dialect": "ir",
        "pass": "ir",
        "drr": "rule",
        "patterns": "rule",
        "transforms": "rule",
        "kernels": "run",
        "executor": "run",
        "frontends/onnx": "io",
        "frontends/api": "io",
        "tools": "plain",
        "tests": "plain",
    }
    width, height, step = 176, 44, 70
    left = [30, 292, 554]
    boxes = {layer: (left[column], 62 + row * step) for layer, (column, row) in places.items()}
    bottom = 62 + 5 * step
    canvas.box(30, 12, 340, height, "plain", "tools", [LAYER_NOTES["tools"]])
    canvas.box(390, 12, 340, height, "plain", "tests", [LAYER_NOTES["tests"]])
    canvas.box(30, 62 + 6, 700, height, "io", "frontends/api", [LAYER_NOTES["frontends/api"]])
    canvas.box(30, bottom, 700, height, "ir", "ir/core", [LAYER_NOTES["ir/core"]])
    for layer, (x, y) in boxes.items():
        canvas.box(x, y, width, height, kinds[layer], layer, [LAYER_NOTES[layer]])
    for layer, other in edges + [("frontends/api", o) for o in ("frontends/onnx", "transforms", "executor")]:
        if layer == "frontends/api":
            x, y = boxes[other]
            canvas.arrow((x + width / 2, 62 + 6 + height), (x + width / 2, y))
            continue
        x, y = boxes[layer]
        if other == "ir/core":
            canvas.arrow((x + width / 2, y + height), (x + width / 2, bottom))
            continue
        to_x, to_y = boxes[other]
        if x == to_x:
            canvas.arrow((x + width / 2, y + height), (x + width / 2, to_y))
        elif to_y - y == step:
            side = 40 if to_x > x else -40
            canvas.arrow((x + width / 2 + side, y + height), (to_x + width / 2 - side * 1.6, to_y))
        else:
            side = -1 if to_x < x else 1  # around the box between
            start, end = (x, to_x + width) if side < 0 else (x + width, to_x)
            turn = (start + end) / 2
            canvas.arrow((start, y + height / 2), (turn, y + height / 2), (turn, to_y + height / 2), (end, to_y + height / 2))
    for layer in partial:
        x, y = boxes[layer]
        canvas.arrow((x + width / 2, y + height), (x + width / 2, bottom), dashed=True)
    base = bottom + height + 24
    canvas.text(
        30,
        base,
        "An arrow points to what a layer may include, directly or through other arrows. Dashed: only the headers of " "plain",
        "small",
        muted=True,
    )
    canvas.text(30, base + 15, "numbers. frontends/api, tools and tests may include every layer.", "small", muted=True)
    return canvas.svg(base + 28)


# ---- ir.md


@picture
def operation_memory(source):
    sizes = source.operation_sizes()
    fields = source.operation_fields()
    canvas = Canvas("The memory of one operation")
    header_bits = sum(bits for _, bits in fields)
    if header_bits != 8 * sizes["header"]:
        raise SourceError(f"ir/core/operation.h: the fields have {header_bits} bits, the header {8 * sizes['header']}")
    operands, results = 2, 1
    total = results * sizes["result"] + sizes["header"] + operands * sizes["operand"]
    canvas.text(16, 26, f"%2 = ten.add(%0, %1) takes {total} bytes", bold=True)
    canvas.text(
        16, 42, "Each part has its place in one block of the context's pool. Addresses grow to the right.", "small", muted=True
    )
    x, y, scale = 16, 54, 728 / total
    starts = {}
    for name, count, kind in (("result", results, "run"), ("header", 1, "ir"), ("operand", operands, "rule")):
        for i in range(count):
            width = sizes[name] * scale
            title = name if count == 1 else f"{name} {i}"
            canvas.box(x, y, width, 44, kind, title, [f"{sizes[name]} bytes"], mono=False)
            starts.setdefault(name, (x, width))
            x += width
    canvas.text(
        16,
        y + 62,
        "More results stand in front in reverse order. Behind the operands: attribute slots of "
        f"{sizes['attribute']} bytes, successors",
        "small",
        muted=True,
    )
    canvas.text(
        16,
        y + 77,
        f"of {sizes['successor']} and regions of {sizes['region']}. A pointer to the header is the " "Operation*.",
        "small",
        muted=True,
    )
    # The header, eight bytes a row.
    top = y + 104
    canvas.text(16, top, "Header", bold=True)
    left, row_width, row_height = 16, 400, 26
    used, row = 0, 0
    for name, bits in fields:
        width = row_width * bits / 64
        short = {
            "num_operands": "operands",
            "num_results": "results",
            "num_slots": "slots",
            "location": "location",
            "order": "order in block",
        }
        label = short.get(name, name)
        canvas.rect(left + row_width * used / 64, top + 8 + row * row_height, width, row_height, "ir", radius=0)
        if bits >= 8:
            canvas.text(
                left + row_width * used / 64 + width / 2,
                top + 25 + row * row_height,
                label,
                "small",
                mono=False,
                anchor="middle",
                most=width - 4,
            )
        used += bits
        if used == 64:
            used, row = 0, row + 1
    rows = row + (1 if used else 0)
    canvas.text(
        left,
        top + 8 + rows * row_height + 16,
        "Bits without a name count successors and regions, and mark discardable",
        "tiny",
        muted=True,
    )
    canvas.text(left, top + 8 + rows * row_height + 29, "attributes and erased operands.", "tiny", muted=True)
    # A result and an operand.
    left, row_width = 450, 294
    source.path(
        "ir/core/value.h",
        "OpOperand* first_use_ = nullptr;",
        "uintptr_t type_and_index_;",
        "uintptr_t back_and_index_;",
        "ValueImpl* value_ = nullptr;",
        "OpOperand* next_ = nullptr;",
        "<< 48",
    )
    canvas.text(left, top, "Result", bold=True)
    _bit_rows(canvas, left, top + 8, row_width, row_height, "run", [[("first use", 64)], [("index", 16), ("type", 48)]])
    second = top + 8 + 2 * row_height + 28
    canvas.text(left, second, "Operand", bold=True)
    _bit_rows(
        canvas,
        left,
        second + 8,
        row_width,
        row_height,
        "rule",
        [[("value", 64)], [("next use", 64)], [("index", 16), ("back link", 48)]],
    )
    return canvas.svg(max(top + 8 + rows * row_height, second + 8 + 3 * row_height) + 44)


def _bit_rows(canvas, left, top, row_width, row_height, kind, rows):
    for i, row in enumerate(rows):
        x = left
        for label, bits in row:
            width = row_width * bits / 64
            canvas.rect(x, top + i * row_height, width, row_height, kind, radius=0)
            canvas.text(x + width / 2, top + 17 + i * row_height, label, "small", anchor="middle", most=width - 4)
            x += width


DIALECTS = {  # column, row, kind, what it holds
    "builtin": (0, 0, "plain", "module"),
    "func": (0, 1, "plain", "function, call, return"),
    "cf": (0, 2, "plain", "branches between blocks"),
    "core": (1, 0, "ir", "constants, parameters, dims"),
    "ten": (1, 1, "ir", "elementwise, movement, matmul"),
    "nn": (1, 2, "ir", "conv, pool, norm, softmax"),
    "q": (1, 3, "ir", "integer matrix product"),
    "ctl": (0, 3, "ir", "if, for, while on tensors"),
    "fused": (2, 1, "rule", "linear, attention, group"),
    "kernel": (2, 3, "run", "call, view, dims, copy"),
}


@picture
def dialects(source):
    canvas = Canvas("The dialects and how many operations each has")
    counts = source.dialects()
    if {name for name, _ in counts} != set(DIALECTS):
        raise SourceError("ir/dialect: a dialect is new or gone (draw_diagrams.py: DIALECTS says where each stands)")
    width, height, left, top = 206, 48, [16, 262, 530], 40
    for name, count in counts:
        column, row, kind, note = DIALECTS[name]
        canvas.box(left[column], top + row * 58, width, height, kind, f"{name}: {count} op{'s' if count != 1 else ''}", [note])
    canvas.text(left[0], 26, "structure", bold=True)
    canvas.text(left[1], 26, "what models compute", bold=True)
    canvas.text(left[2], 26, "what passes make", bold=True)
    middle = top + 58 + height / 2
    canvas.arrow((left[1] + width + 2, middle), (left[2] - 2, middle))
    canvas.text((left[1] + width + left[2]) / 2, middle - 6, "fuse", "small", anchor="middle")
    canvas.arrow((left[2] + width / 2, top + 58 + height), (left[2] + width / 2, top + 174))
    canvas.text(left[2] + width / 2 + 8, top + 142, "lower", "small")
    canvas.legend(
        16,
        top + 4 * 58 + 16,
        [
            ("plain", "as MLIR defines them"),
            ("ir", "made by importers"),
            ("rule", "made by fusion"),
            ("run", "made by lowering"),
        ],
    )
    return canvas.svg(top + 4 * 58 + 32)


# ---- passes.md


@picture
def pipeline_o2(source):
    pipelines = source.pipelines()
    canvas = Canvas("The passes of -O2 --lower, in order")
    top = _snake(canvas, source, "-O2", pipelines["O2"], 16, 1)
    count = len(source.steps(pipelines["O2"]))
    top = _snake(canvas, source, "--lower", pipelines["lower"], top + 14, count + 1)
    canvas.legend(
        16, top + 26, [("rule", "applies rewrite rules"), ("ir", "other passes of transforms/"), ("run", "passes of executor/")]
    )
    return canvas.svg(top + 42)


def _snake(canvas, source, title, pipeline, top, number):
    """Boxes from left to right, row by row. Returns where the last row ends."""
    canvas.text(16, top + 12, title, bold=True, mono=True)
    columns, width, height, gap, y = 5, 134, 48, 14.5, top + 22
    steps = source.steps(pipeline)
    for i, (name, options) in enumerate(steps):
        x = 16 + (i % columns) * (width + gap)
        if i > 0 and i % columns == 0:
            y += height + 12
        lines = _wrap(options, width - 12) if options else []
        canvas.rect(x, y, width, height, source.pass_kind(name))
        canvas.text(x + 5, y + 12, str(number + i), "tiny", muted=True)
        base = y + 30 - 6 * len(lines) + (2 if lines else 0)
        size = "small" if text_width(name, "small", mono=True) <= width - 8 else "tiny"
        canvas.text(x + width / 2, base, name, size, mono=True, anchor="middle", most=width - 4)
        for j, line in enumerate(lines):
            canvas.text(x + width / 2, base + 12 * (j + 1), line, "tiny", muted=True, anchor="middle", most=width - 6)
        if (i + 1) % columns != 0 and i + 1 < len(steps):
            canvas.arrow((x + width + 1, y + height / 2), (x + width + gap - 1, y + height / 2))
    return y + height


def _wrap(text, most):
    """Options in lines that fit, broken behind commas."""
    lines = [""]
    for piece in text.replace(",", ",\0").split("\0"):
        if lines[-1] and text_width(lines[-1] + piece, "tiny") > most:
            lines.append("")
        lines[-1] += piece
    return lines


# ---- rules.md


@picture
def rule_engine(source):
    canvas = Canvas("From a rule to a rewrite")
    source.path("drr/rule.h", "class Rule")
    source.path("frontends/api/extension.h", "rules")
    for i, (title, note) in enumerate(
        [("patterns/*.cc", "built-in families"), ("FILE.drr", "--rules=FILE"), ("Extension::rules", "a host's C++ rules")]
    ):
        canvas.box(16, 34 + i * 52, 142, 42, "io", title, [note])
    canvas.text(16, 22, "written as", bold=True)
    canvas.text(206, 22, "compiled once", bold=True)
    canvas.text(744, 222, "applied to each operation of the worklist", bold=True, anchor="end")
    canvas.box(206, 60, 168, 98, "rule", "drr::Rule", ["source graph, conditions,", "result graph", "no Context, immutable"])
    canvas.box(
        422,
        34,
        322,
        72,
        "rule",
        source.path("drr/compile.cc", "CompileRule("),
        ["interned and numbered for one Context", "refuses a rule that is wrong in itself"],
    )
    canvas.box(
        422,
        118,
        322,
        62,
        "rule",
        source.path("drr/rule_conflicts.cc"),
        ["refuses rules that undo, shadow", "or feed each other forever"],
    )
    for i in range(3):
        canvas.arrow((158, 55 + i * 52), (204, 92 + i * 17))
    canvas.arrow((374, 92), (420, 76))
    canvas.arrow((374, 126), (420, 142))
    steps = [
        (source.path("drr/driver.cc", "class Driver"), ["takes an operation,", "folds it, or tries", "the rules of its kind"]),
        (source.path("drr/matcher.cc"), ["structure, attributes,", "dims, conditions,", "uses outside"]),
        (source.path("drr/placement.cc"), ["finds where the", "result can stand"]),
        (source.path("drr/constant_guard.cc"), ["computed numbers", "are finite and normal"]),
        (source.path("drr/rewriter.cc"), ["makes the result,", "replaces, erases", "what is dead"]),
    ]
    width, gap, y = 134, 14.5, 238
    for i, (title, lines) in enumerate(steps):
        x = 16 + i * (width + gap)
        canvas.rect(x, y, width, 74, "ir")
        canvas.text(
            x + width / 2, y + 18, title.removeprefix("drr/"), "small", mono=True, bold=False, anchor="middle", most=width - 4
        )
        for j, line in enumerate(lines):
            canvas.text(x + width / 2, y + 35 + 14 * j, line, "small", muted=True, anchor="middle", most=width - 6)
        if i + 1 < len(steps):
            canvas.arrow((x + width + 1, y + 37), (x + width + gap - 1, y + 37))
    last = 16 + 4 * (width + gap) + width / 2
    canvas.arrow((last, y + 76), (last, y + 96), (16 + width / 2, y + 96), (16 + width / 2, y + 77))
    canvas.text(
        380,
        y + 112,
        "changed operations, their producers and their users return to the worklist",
        "small",
        muted=True,
        anchor="middle",
    )
    canvas.arrow((440, 181), (440, 206), (16 + width + gap + width / 2, 206), (16 + width + gap + width / 2, y - 1))
    return canvas.svg(y + 128)


@picture
def rule_families(source):
    """Which families each rule pass of -O2 applies, in their order."""
    canvas = Canvas("The rule families in their order, and the passes of -O2 that apply them")
    families = source.families()
    names = [name for name, _, _ in families]
    columns = []
    for number, (name, options) in enumerate(source.steps(source.pipelines()["O2"]), 1):
        if name == "canonicalize":
            applied = {f for f, phase, _ in families if phase == "canonicalize"}
        elif name == "fuse":
            applied = {f for f, phase, _ in families if phase == "fuse"}
            for option in options.split(";"):
                key, _, value = option.partition("=")
                if key == "before":
                    applied &= set(names[: names.index(value)])
                elif key == "from":
                    applied &= set(names[names.index(value) :])
                elif key == "rules":
                    applied &= set(value.split(","))
        else:
            continue
        columns.append((number, name, options, applied))
    left, step, top = 330, 420 / len(columns), 58
    canvas.text(16, 24, "family, in order", bold=True)
    canvas.text(left, 24, "pass of -O2, by its number in the pipeline", bold=True)
    for i, (number, name, _, _) in enumerate(columns):
        canvas.text(left + step * (i + 0.5), 46, str(number), "small", bold=True, anchor="middle")
    row = 22
    for j, (name, phase, _) in enumerate(families):
        y = top + j * row
        source.path(f"patterns/{name}.cc")
        canvas.rect(16, y, 290, 18, "ir" if phase == "canonicalize" else "rule", radius=4)
        canvas.text(24, y + 13, name, "small", mono=True)
        canvas.text(298, y + 13, f"patterns/{name}.cc", "tiny", mono=True, muted=True, anchor="end")
        for i, (_, _, _, applied) in enumerate(columns):
            if name in applied:
                canvas.rect(left + step * i + 4, y, step - 8, 18, "ir" if phase == "canonicalize" else "rule", radius=4)
    bottom = top + len(families) * row
    canvas.legend(16, bottom + 18, [("ir", "canonicalize applies it"), ("rule", "fuse applies it")])
    return canvas.svg(bottom + 36)


# ---- rule-safety.md


@picture
def rule_safety(source):
    canvas = Canvas("What stands between a wrong number and a program")
    assumptions = source.assumptions()
    headroom = source.headroom()
    least = {exponent for dtype, exponent in headroom if dtype != "F16"}
    half = [exponent for dtype, exponent in headroom if dtype == "F16"]
    if len(least) != 1 or len(half) != 1:
        raise SourceError(f"drr/edges.cc: the headroom is {headroom} (the picture knows one of f16 and one of all others)")
    canvas.text(16, 24, "Whenever a rule is applied", bold=True)
    width, gap = 173, 12
    gates = [
        ("match", [source.path("drr/matcher.cc")], ["graph, attributes,", "dimensions and", "conditions fit"]),
        ("proof", [source.path("patterns/value_range.h", "ProvenRange")], [f"“{words}”" for _, words in assumptions]),
        (
            "constant guard",
            [source.path("drr/constant_guard.h", "class ConstantGuard")],
            ["each computed number is", "zero, or finite and", "normal in its type"],
        ),
        ("rewrite", [source.path("drr/rewriter.h", "Refusal Apply")], ["element type, rank and", "known extents stay"]),
    ]
    _gate_row(canvas, 34, 104, width, gap, gates, "rule")
    source.path("pass/pass.h", "bool fast_math")
    x = 16 + width + gap
    canvas.arrow(
        (16 + width / 2, 140),
        (16 + width / 2, 158),
        (x + width + gap + width / 2, 158),
        (x + width + gap + width / 2, 140),
        dashed=True,
    )
    canvas.text(x + width / 2, 174, "--fast-math takes proofs for granted", "small", muted=True, anchor="middle")
    canvas.text(16, 206, "Whenever a rule is checked", bold=True)
    canvas.text(240, 206, "(ir-opt --check-rules, tenon_rules_test)", "small", muted=True)
    gates = [
        (
            "random programs",
            [source.path("drr/planner.cc")],
            ["that the source graph", "describes: ranks, extents,", "types, alternatives"],
        ),
        ("plain numbers", [source.path("drr/check.cc")], ["error at most 4 times", "that of the source,", "against f64"]),
        (
            "edges of types",
            [source.path("drr/edges.cc")],
            [f"headroom 2^{least.pop()}, f16 2^{half[0]};", "zeros, infinities, NaN,", "subnormal numbers"],
        ),
        ("near misses", [source.path("drr/mutate.cc")], ["one thing is changed: no", "rewrite, or both sides", "agree"]),
    ]
    _gate_row(canvas, 216, 104, width, gap, gates, "ir")
    return canvas.svg(336)


def _gate_row(canvas, y, height, width, gap, gates, kind):
    for i, (title, files, lines) in enumerate(gates):
        x = 16 + i * (width + gap)
        canvas.rect(x, y, width, height, kind)
        canvas.text(x + width / 2, y + 19, title, bold=True, anchor="middle", most=width - 8)
        for file in files:
            canvas.text(x + width / 2, y + 35, file, "tiny", mono=True, anchor="middle", most=width - 4)
        for j, line in enumerate(lines):
            canvas.text(x + width / 2, y + 55 + 14 * j, line, "small", muted=True, anchor="middle", most=width - 6)
        if i + 1 < len(gates):
            canvas.arrow((x + width + 2, y + height / 2), (x + width + gap - 2, y + height / 2))


# ---- shapes.md


@picture
def shapes(source):
    canvas = Canvas("How an extent becomes known")
    canvas.text(16, 24, "When the program is built", bold=True)
    row = [
        (
            "symbols",
            [source.path("ir/dialect/shape_data.h", "class DimNamer")],
            ["inputs name extents;", "unknown ones get a name"],
        ),
        (
            "shape functions",
            [source.path("ir/dialect/shape_functions.h")],
            ["result types from operand", "types and attributes"],
        ),
        (
            "shape values",
            [source.path("ir/dialect/shape_data.h", "class ShapeData")],
            [
                f"integer tensors of up to {source.constant('ir/dialect/shape_data.h', 'kMaxElements')}",
                "elements, as expressions",
            ],
        ),
        (
            "facts",
            [source.path("transforms/dim_facts.h", "class DimFacts")],
            ["equalities and bounds", "that operations demand"],
        ),
    ]
    width, gap = 173, 12
    _gate_row(canvas, 34, 90, width, gap, row, "ir")
    last = 16 + 3 * (width + gap) + width / 2
    first = 16 + (width + gap) + width / 2
    canvas.arrow((last, 126), (last, 142), (first, 142), (first, 126))
    canvas.text((first + last) / 2, 157, "infer-shapes repeats until nothing changes", "small", muted=True, anchor="middle")
    canvas.text(16, 190, "When a session runs it", bold=True)
    row = [
        ("binding", [source.path("executor/bindings.h", "class Bindings")], ["extents of the inputs", "give symbols numbers"]),
        ("concrete shapes", [source.path("executor/concrete_shapes.h")], ["the same shape functions,", "on numbers"]),
        (
            "run-time shapes",
            [source.path("executor/run_time_shapes.h", "RunTimeShapes(")],
            ["where values of tensors", "decide an extent"],
        ),
        ("checks", [source.path("kernels/checked_index.h")], ["a wrong extent, index or", "axis ends the run"]),
    ]
    _gate_row(canvas, 200, 90, width, gap, row, "run")
    kinds = source.enumerators("ir/core/dim_expr.h", "Kind")
    notes = {
        "Constant": "768",
        "Symbol": "B",
        "Sum": "past + S",
        "FloorDiv": "S floordiv 2",
        "Mod": "S mod 8",
        "Min": "min(S, 512)",
        "Broadcast": "broadcast(A, B)",
        "Unknown": "?",
    }
    if set(kinds) != set(notes):
        raise SourceError(f"ir/core/dim_expr.h: the kinds of dimension expressions are {kinds} (the picture knows others)")
    canvas.text(16, 322, "A dimension expression is one of", bold=True)
    x = 16
    for kind in kinds:
        needs = max(text_width(notes[kind], "small", mono=True), text_width(kind, "tiny")) + 12
        canvas.rect(x, 332, needs, 40, "plain")
        canvas.text(x + needs / 2, 349, notes[kind], "small", mono=True, anchor="middle")
        canvas.text(x + needs / 2, 364, kind, "tiny", muted=True, anchor="middle")
        x += needs + 8
    return canvas.svg(388)


# ---- importer.md


@picture
def importer(source):
    canvas = Canvas("From an ONNX file to a module")
    onnx = "frontends/onnx/"
    depth = source.constant(onnx + "wire.h", "kMaxMessageDepth")
    nodes = source.constant(onnx + "graph_importer.h", "kMaxInlinedNodes")
    canvas.text(16, 24, "The file", bold=True)
    width, gap = 173, 12
    row = [
        (
            "map",
            [source.path(onnx + "mapped_file.h", "MapFile(").removeprefix(onnx)],
            ["the file stays on disk;", "weights are slices of it"],
        ),
        (
            "parse",
            [source.path(onnx + "wire.h", "ParseModel(").removeprefix(onnx)],
            ["structure only, at most", f"{depth} messages deep"],
        ),
        (
            "order",
            [source.path(onnx + "graph_order.h", "OrderNodes(").removeprefix(onnx)],
            ["definitions before uses;", "a cycle is an error"],
        ),
        (
            "weights",
            [source.path(onnx + "external_data.h", "class ExternalData").removeprefix(onnx)],
            ["core.constant of the slice,", "or of a file beside it"],
        ),
    ]
    _gate_row(canvas, 34, 90, width, gap, row, "io")
    canvas.text(16, 156, "Each node becomes the first that fits", bold=True)
    source.path(onnx + "importer.h", "<domain>.<OpType>")
    ways = [
        ("a function's nodes", source.path(onnx + "functions.cc", "Inline("), f"at most {nodes:,} in all"),
        ("a host's operation", source.path(onnx + "registered.cc"), "domain acme: acme.Op"),
        ("what an adapter makes", source.path(onnx + "op_adapters.def"), "ops_*.cc of its family"),
        ("one of ours", source.path(onnx + "one_to_one.h"), "onnx: Name in the YAML"),
        ("an opaque operation", source.path(onnx + "opaque.cc"), "onnx.<OpType>, with a remark"),
    ]
    for i, (title, file, note) in enumerate(ways):
        y = 166 + i * 36
        canvas.rect(16, y, 490, 30, "ir")
        canvas.text(26, y + 19, title, bold=True)
        canvas.text(204, y + 19, file.removeprefix(onnx), "small", mono=True)
        canvas.text(498, y + 19, note, "small", muted=True, anchor="end")
    canvas.box(
        530,
        166,
        214,
        76,
        "ir",
        "GraphImporter::Register",
        ["infers the result types,", "evaluates shape computations,", "names unknown extents"],
        bold=False,
    )
    source.path(onnx + "graph_importer.h", "void Register(Operation* op);")
    source.path(onnx + "importer.h", "bool verify = true;")
    canvas.box(530, 266, 214, 76, "rule", "module @main", ["verified;", "locations are node names"])
    canvas.arrow((508, 204), (528, 204))
    canvas.arrow((637, 243), (637, 265))
    return canvas.svg(360)


# ---- executor.md


@picture
def executor(source):
    canvas = Canvas("From a function to a result")
    lower = [name for name, _ in source.steps(source.pipelines()["lower"])]
    canvas.text(16, 24, "ir-opt --lower", bold=True, mono=True)
    x, width = 16, 160
    for i, name in enumerate(lower):
        canvas.box(x, 34, width, 40, source.pass_kind(name), name, [])
        if i + 1 < len(lower):
            canvas.arrow((x + width + 1, 54), (x + width + 28, 54))
        x += width + 29
    canvas.text(16, 106, "Program::Compile", bold=True, mono=True)
    source.path("executor/program.h", "static absl::StatusOr<Program> Compile(")
    row = [
        ("read", source.path("executor/read_instruction.h"), "kernels, operand types"),
        ("check the plan", source.path("executor/recorded_plan.h"), "in-place, offsets"),
        ("regions", source.path("executor/program_impl.h", "struct NestedProgram"), "programs of their own"),
    ]
    x, width = 16, 228
    for title, file, note in row:
        canvas.rect(x, 116, width, 54, "run")
        canvas.text(x + width / 2, 133, title, bold=True, anchor="middle")
        canvas.text(x + width / 2, 148, file, "tiny", mono=True, anchor="middle", most=width - 4)
        canvas.text(x + width / 2, 163, note, "small", muted=True, anchor="middle")
        x += width + 22
    canvas.arrow((380, 76), (380, 114))
    canvas.text(16, 202, "Session::Run", bold=True, mono=True)
    source.path("executor/session.h", "class Session")
    most = source.constant("executor/runner.cc", "kMaxPrepared")
    source.path("executor/runner.h", "absl::StatusOr<Prepared*> Find(", "RunDynamic(")
    canvas.arrow((152, 171), (152, 213))
    canvas.box(16, 214, 168, 60, "plain", "Runner::Find", ["which shapes do", "the inputs have?"], bold=False)
    canvas.box(262, 196, 230, 44, "run", "Walk::Prepare", ["shapes, values of shapes, packing"], bold=False)
    canvas.box(262, 250, 230, 44, "run", "Runner::PlanFor", ["a memory plan per shape class"], bold=False)
    canvas.box(560, 222, 184, 46, "run", "Prepared::Run", ["kernels, one after the other"], bold=False)
    canvas.box(262, 330, 230, 44, "warn", "Walk::RunAll", ["memory from the heap"], bold=False)
    source.path("executor/walk.h", "Prepare(", "RunAll(")
    source.path("executor/runner.h", "PlanFor(")
    source.path("executor/prepared.h", "absl::Status Run(")
    canvas.arrow((185, 232), (261, 218))
    canvas.text(196, 212, "new", "small")
    canvas.arrow((377, 241), (377, 249))
    canvas.arrow((493, 272), (558, 252))
    canvas.arrow((100, 275), (100, 312), (652, 312), (652, 269))
    canvas.text(380, 308, f"seen before: the {most} last used are kept", "small", anchor="middle")
    canvas.arrow((60, 275), (60, 352), (261, 352))
    canvas.text(68, 347, "values decide shapes", "small")
    return canvas.svg(390)


# ---- memory-plan.md

GOLDEN_PLAN = "tests/golden/transforms/plan_memory.ir"


@picture
def memory_plan(source):
    steps, returned, arena = source.lowered_plan(GOLDEN_PLAN)
    alignment = source.constant("executor/memory_planner.h", "kArenaAlignment")
    # What shares a buffer: a kernel that works in place, and the operands of a concatenation that lie in its result.
    home = {}
    by_result = {step["result"]: step for step in steps}
    for step in steps:
        if step["inplace"] >= 0:
            home[step["result"]] = (step["operands"][step["inplace"]], 0)
        place = 0
        for i in step["joined"]:
            home[step["operands"][i]] = (step["result"], place)
            place += by_result[step["operands"][i]]["bytes"]

    def place_of(value):
        offset = 0
        while value in home:
            value, more = home[value]
            offset += more
        start = by_result[value]["offset"]
        return None if start < 0 or value == returned else start + offset

    def last_use(value):
        uses = [i for i, step in enumerate(steps) if value in step["operands"]]
        return max(uses) if uses else len(steps) - 1

    canvas = Canvas(f"The memory plan of {GOLDEN_PLAN}")
    left, top, column, height = 88, 62, 73, 250
    scale = height / arena
    canvas.text(16, 24, f"An arena of {arena} bytes", bold=True)
    canvas.text(744, 24, f"offsets are multiples of {alignment}", "small", muted=True, anchor="end")
    for i, step in enumerate(steps):
        x = left + i * column
        canvas.text(
            x + column / 2, 46, step["kernel"].removeprefix("cpu."), "small", mono=True, anchor="middle", most=column - 2
        )
        canvas.text(x + column / 2, 58, step["result"], "tiny", mono=True, muted=True, anchor="middle")
    canvas.rect(left, top + 2, column * len(steps), height, "plain", hollow=True, radius=0)
    offsets = sorted({0, arena} | {place_of(s["result"]) for s in steps if place_of(s["result"]) is not None})
    for offset in offsets:
        y = top + 2 + height - offset * scale
        canvas.text(left - 8, y + 4, str(offset), "small", mono=True, muted=True, anchor="end")
    for i, step in enumerate(steps):
        value = step["result"]
        offset = place_of(value)
        if offset is None:
            continue
        end = last_use(value)
        in_place = [s for s in steps if s["inplace"] >= 0 and s["operands"][s["inplace"]] == value]
        if in_place:
            end = steps.index(in_place[0]) - 1
        joins = [s for s in steps if any(s["operands"][k] == value for k in s["joined"])]
        if joins:
            end = steps.index(joins[0]) - 1  # from there on it is part of the whole
        if step["joined"]:
            end = max([end] + [last_use(step["operands"][k]) for k in step["joined"]])
        x, y = left + i * column, top + 2 + height - (offset + step["bytes"]) * scale
        kind = "rule" if step["joined"] or joins else "run" if step["inplace"] >= 0 or in_place else "ir"
        canvas.rect(x + 2, y + 1, column * (end - i + 1) - 4, step["bytes"] * scale - 2, kind, radius=3)
        canvas.text(x + 8, y + step["bytes"] * scale / 2 + 4, f"{value}", "small", mono=True)
    bottom = top + height
    canvas.text(
        left,
        bottom + 20,
        f"time: {len(steps)} kernels from left to right. {returned} is the result and lies in the caller's memory.",
        "small",
        muted=True,
    )
    canvas.legend(
        left,
        bottom + 42,
        [("ir", "a buffer of its own"), ("run", "in place: one buffer, two values"), ("rule", "parts of one concatenation")],
    )
    return canvas.svg(bottom + 60)


# ---- kernels.md

KERNEL_FOLDERS = {
    "reference": ("plain", "readable, every dtype: the oracle"),
    "cpu": ("run", "fast kernels for the CPU"),
    "cpu/gemm": ("run", "matrix products"),
    "cpu/conv": ("run", "convolutions, pools"),
    "cpu/attention": ("run", "tiles of attention"),
    "cpu/jit": ("run", "code for elementwise groups"),
    "gpu": ("io", "host side and device code"),
    "gpu/params": ("io", "what a launch needs"),
    "gpu/cuda": ("io", "the plugin: streams, cuBLASLt"),
    "gpu/emulator": ("io", "device code on the host"),
}

KERNEL_FILES = [
    ("kernel.h", "the interface"),
    ("registry.h", "which kernel runs"),
    ("kernels.def", "the list of CPU kernels"),
    ("thread_pool.h", "the process's threads"),
]


@picture
def kernels(source):
    canvas = Canvas("How an operation gets its kernel, and where kernels lie")
    found = [
        path.relative_to(source.root / "kernels").as_posix()
        for path in (source.root / "kernels").rglob("*")
        if path.is_dir() and not path.name.startswith("__")
    ]
    if set(found) != set(KERNEL_FOLDERS):
        raise SourceError(
            f"kernels/: the folders {sorted(set(found) ^ set(KERNEL_FOLDERS))} are new or gone (draw_diagrams.py: "
            "KERNEL_FOLDERS)"
        )
    source.path("kernels/registry.h", "Choice Choose(", "std::vector<std::string> why_not;")
    source.path("kernels/kernel.h", "SupportsFn supports", "int priority = 0;", "PrepareFn prepare", "RunFn run")
    source.path("executor/fallbacks.h", '"kernel.fallback"')
    canvas.text(16, 24, "KernelRegistry::Choose", bold=True, mono=True)
    canvas.box(16, 36, 150, 62, "ir", "nn.softmax", ["types, shapes,", "attributes of the call"])
    canvas.box(
        206,
        36,
        226,
        62,
        "plain",
        "candidates of the op",
        ["one backend, highest priority first;", "kernels.def lists them all"],
        mono=False,
    )
    canvas.box(472, 36, 272, 28, "run", "cpu.softmax", [])
    canvas.box(472, 70, 272, 28, "plain", "ref.softmax", [])
    canvas.arrow((167, 67), (204, 67))
    canvas.arrow((433, 60), (470, 50))
    canvas.arrow((433, 74), (470, 84))
    canvas.text(472, 116, "supports(call) is empty: this kernel runs", "small", muted=True)
    canvas.text(472, 131, "else a reason for why_not, then the next one", "small", muted=True)
    canvas.text(16, 116, "A reference kernel that stands in for a fast one, or a CPU", "small", muted=True)
    canvas.text(16, 131, "kernel on a GPU program, leaves kernel.fallback.", "small", muted=True)
    canvas.text(16, 166, "kernels/", bold=True, mono=True)
    top, y = 178, {"reference": 0, "cpu": 1, "gpu": 2}
    for name, column in y.items():
        kind, note = KERNEL_FOLDERS[name]
        canvas.box(16 + column * 247, top, 234, 44, kind, name, [note])
        inner = [folder for folder in KERNEL_FOLDERS if folder.startswith(name + "/")]
        for i, (file, note) in enumerate(KERNEL_FILES if name == "reference" else []):
            source.path(f"kernels/{file}")
            canvas.box(16, top + 54 + i * 50, 234, 42, "plain", file, [note])
        for i, folder in enumerate(inner):
            kind, note = KERNEL_FOLDERS[folder]
            canvas.box(40 + column * 247, top + 54 + i * 50, 210, 42, kind, folder, [note])
    return canvas.svg(top + 54 + 4 * 50 + 10)


# ---- gpu.md


@picture
def gpu(source):
    canvas = Canvas("The parts of the GPU path")
    canvas.text(16, 24, "in every build", bold=True)
    canvas.text(522, 24, "a shared object, or a test", bold=True)
    canvas.box(
        16, 36, 206, 76, "run", "executor", ["place-transfers, device arena,", "DeviceGraphs: recorded", "stretches of kernels"]
    )
    canvas.box(
        16, 134, 206, 76, "io", "kernels/gpu/*.cc", ["name, op, what is supported;", "a call becomes", "a parameter struct"]
    )
    source.path("executor/gpu/place_transfers.cc", '"place-transfers"')
    source.path("executor/gpu/device_graphs.h", "class DeviceGraphs")
    source.path("kernels/gpu/queue.h", "class Queue", "class Device", "launches.def", "TenonOpenCudaDevice")
    canvas.box(
        272,
        60,
        200,
        126,
        "warn",
        "the interface",
        ["queue.h: Device, Queue", "params.h, params/: structs", "launches.def: their list", "staging.h: small copies"],
        mono=False,
    )
    source.path("kernels/gpu/staging.h", "class Staging")
    source.path("kernels/gpu/params.h")
    canvas.arrow((223, 74), (270, 90))
    canvas.arrow((223, 172), (270, 156))
    others = [
        ("cuda/ + *.cu", "libtenon_cuda.so: a device", source.path("kernels/gpu/cuda")),
        ("emulator/ + *.cu", "device code on the host", source.path("kernels/gpu/emulator")),
        ("tests/gpu/cuda_model", "cuda/ on a model of CUDA", source.path("tests/gpu/cuda_model")),
        ("tests/gpu", "a device that writes down calls", source.path("tests/gpu/emulated_device.cc")),
    ]
    for i, (title, note, _) in enumerate(others):
        y = 36 + i * 50
        canvas.box(522, y, 222, 42, "io" if i == 0 else "plain", title, [note])
        canvas.arrow((473, 100 + i * 15), (520, y + 21))
    pipeline = source.steps(source.pipelines()["lower-cuda"])
    canvas.text(16, 250, "--lower-cuda", bold=True, mono=True)
    x, y = 16, 260
    width, gap = 134, 14.5
    for i, (name, options) in enumerate(pipeline):
        canvas.rect(x, y, width, 42, source.pass_kind(name))
        size = "small" if text_width(name, "small", mono=True) <= width - 8 else "tiny"
        canvas.text(x + width / 2, y + (18 if options else 25), name, size, mono=True, anchor="middle", most=width - 4)
        if options:
            canvas.text(x + width / 2, y + 33, options, "tiny", muted=True, anchor="middle", most=width - 4)
        if i + 1 < len(pipeline):
            canvas.arrow((x + width + 1, y + 21), (x + width + gap - 1, y + 21))
        x += width + gap
    return canvas.svg(320)


# ---- testing.md

TEST_FOLDERS = {  # group, what the folder asks
    "ir": (0, "is the IR sound?"),
    "dialect": (0, "shapes, folds"),
    "pass": (0, "pipelines, order"),
    "drr": (0, "the rule engine"),
    "transforms": (0, "single passes"),
    "codegen": (0, "wrong YAML"),
    "kernels": (0, "fast against reference"),
    "executor": (0, "memory, runs, threads"),
    "gpu": (0, "emulated device"),
    "api": (0, "the façade"),
    "golden": (1, "IR and its exact result"),
    "filetest": (1, "runs the golden files"),
    "rules": (1, "each rule against itself"),
    "spellings": (1, "one computation, many forms"),
    "models": (1, "exported models, perturbed"),
    "onnx": (1, "importer, backend suite"),
    "differential": (1, "other runtimes"),
    "mlir": (1, "mlir-opt reads our text"),
    "fuzz": (2, "changed input never crashes"),
    "tools": (2, "programs, limits, hostile files"),
    "install": (2, "a program outside the tree"),
    "bench": (2, "built, not run as tests"),
}


@picture
def testing(source):
    canvas = Canvas("What each folder of tests/ asks")
    found = {path.name for path in (source.root / "tests").iterdir() if path.is_dir() and not path.name.startswith("__")}
    if found != set(TEST_FOLDERS):
        raise SourceError(
            f"tests/: the folders {sorted(found ^ set(TEST_FOLDERS))} are new or gone (draw_diagrams.py: TEST_FOLDERS)"
        )
    groups = [
        ("a part does what it says", "ir"),
        ("a program computes the same", "rule"),
        ("the whole survives its users", "run"),
    ]
    width, columns, y = 230, 3, 18
    for group, (title, kind) in enumerate(groups):
        canvas.text(16, y + 12, title, bold=True)
        names = [name for name, (of, _) in TEST_FOLDERS.items() if of == group]
        for i, name in enumerate(names):
            column, row = i % columns, i // columns
            canvas.box(16 + column * (width + 19), y + 22 + row * 50, width, 42, kind, name, [TEST_FOLDERS[name][1]])
        y += 22 + (len(names) + columns - 1) // columns * 50 + 14
    source.path("tools/lint/check_layers.py")
    source.path("tools/lint/check_header_cost.py")
    source.path("tools/lint/check_device_code")
    canvas.text(
        16, y + 12, "The lints of tools/lint run as tests too: layers, header cost, format, device code.", "small", muted=True
    )
    return canvas.svg(y + 26)


# ---- the program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=pathlib.Path, default=root, help="the checkout whose code is drawn")
    parser.add_argument("--out", type=pathlib.Path, help="the folder of the pictures (docs/images of the root)")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the pictures that are there")
    arguments = parser.parse_args()
    out = arguments.out or arguments.root / "docs/images"

    source = Sources(arguments.root)
    findings = 0
    for name, draw in PICTURES.items():
        path = out / f"{name}.svg"
        try:
            svg = draw(source)
        except (SourceError, DrawingError) as error:
            print(f"{path}: cannot be drawn: {error}")
            findings += 1
            continue
        if not arguments.check:
            out.mkdir(parents=True, exist_ok=True)
            path.write_text(svg, encoding="utf-8")
        elif not path.exists():
            print(f"{path}: does not exist (tools/docs/draw_diagrams.py draws it)")
            findings += 1
        elif path.read_text(encoding="utf-8") != svg:
            print(f"{path}: the code has changed since it was drawn (tools/docs/draw_diagrams.py draws it again)")
            findings += 1
    print(f"draw_diagrams: {len(PICTURES)} pictures, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
