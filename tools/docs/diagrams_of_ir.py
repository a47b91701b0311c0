"""The pictures of IR, passes, rules and shapes."""

from diagram_parts import gate_row, picture
from diagram_sources import SourceError
from svg_canvas import Canvas, text_width

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
    "ir/base": "element types, numbers, kernel grammar, files, messages: no IR",
    "ir/core": "context, types, attributes, dimensions, operations, text",
    "ir/dialect": "op definitions in YAML",
    "ir/serialize": "binary modules",
    "pass": "pass manager, pipelines",
    "drr": "rules as data, matcher",
    "patterns": "the built-in rules",
    "transforms": "the passes",
    "kernels": "reference, CPU, GPU",
    "executor": "lowering, memory, runs",
    "frontends/onnx": "ONNX to IR",
    "frontends/onnx/export": "IR to ONNX",
    "frontends/cpp": "the C++ API of hosts: load, optimize, compile, run, extensions",
    "frontends/c": "the same for C",
    "tools": "ir-opt, ir-run, ir-bench, ir-bisect, ir-reduce, scripts",
    "tests": "what must hold",
}


@picture
def layers(source):
    """Arrows go from a layer to what it may include; edges that follow from others are left out."""
    allowed, everything = source.layers()
    canvas = Canvas("Which layer may include which")
    whole = {layer: [o for o in others if o in allowed] for layer, others in allowed.items() if others != everything}
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
        "frontends/onnx/export": (0, 1),
        "pass": (1, 4),
        "drr": (1, 3),
        "patterns": (1, 2),
        "transforms": (1, 1),
        "kernels": (2, 4),
        "executor": (2, 3),
    }
    beside = ("frontends/debug", "frontends/view", "frontends/view/layout", "frontends/python")
    allowed = {layer: to for layer, to in allowed.items() if layer not in beside}
    missing = set(allowed) - set(places) - {"ir/base", "ir/core", "ir/serialize", "frontends/c", "frontends/cpp", "tools", "tests"}
    if missing or set(allowed) != set(LAYER_NOTES):
        raise SourceError(f"check_layers.py: the layers {sorted(set(allowed) ^ set(LAYER_NOTES))} have no place in the picture")
    kinds = {
        "ir/base": "ir",
        "ir/core": "ir",
        "ir/dialect": "ir",
        "pass": "ir",
        "drr": "rule",
        "patterns": "rule",
        "transforms": "rule",
        "kernels": "run",
        "executor": "run",
        "frontends/onnx": "io",
        "frontends/onnx/export": "io",
        "frontends/c": "io",
        "frontends/cpp": "io",
        "tools": "plain",
        "tests": "plain",
    }
    width, height, step = 176, 44, 70
    left = [30, 292, 554]
    boxes = {layer: (left[column], 62 + row * step) for layer, (column, row) in places.items()}
    bottom = 62 + 5 * step
    canvas.box(30, 12, 340, height, "plain", "tools", [LAYER_NOTES["tools"]])
    canvas.box(390, 12, 340, height, "plain", "tests", [LAYER_NOTES["tests"]])
    canvas.box(30, 62 + 6, 540, height, "io", "frontends/cpp", [LAYER_NOTES["frontends/cpp"]])
    canvas.box(590, 62 + 6, 140, height, "io", "frontends/c", [LAYER_NOTES["frontends/c"]])
    canvas.box(30, bottom, 438, height, "ir", "ir/core", [LAYER_NOTES["ir/core"]])
    canvas.box(30, bottom + step, 700, height, "ir", "ir/base", [LAYER_NOTES["ir/base"]])
    canvas.box(490, bottom, 138, height, "ir", "ir/serialize", [LAYER_NOTES["ir/serialize"]])
    bars = {"ir/core": bottom, "ir/base": bottom + step}
    for layer, (x, y) in boxes.items():
        canvas.box(x, y, width, height, kinds[layer], layer, [LAYER_NOTES[layer]])
    for layer, other in edges + [("frontends/cpp", o) for o in ("frontends/onnx/export", "transforms", "executor")]:
        if layer == "frontends/cpp":
            x, y = boxes[other]
            canvas.arrow((x + width / 2, 62 + 6 + height), (x + width / 2, y))
            continue
        if layer == "ir/serialize":  # beside what it includes
            canvas.arrow((490, bottom + height / 2), (468, bottom + height / 2))
            continue
        x, y = boxes.get(layer, (left[0], bottom))
        if other in bars:
            canvas.arrow((x + width / 2, y + height), (x + width / 2, bars[other]))
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
    base = bottom + step + height + 24
    canvas.text(
        30,
        base,
        "An arrow points to what a layer may include, directly or through other arrows.",
        "small",
        muted=True,
    )
    canvas.text(30, base + 15, "frontends/c, /cpp, /debug and /view, tools and tests may include every layer.", "small", muted=True)
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
    used, row, unnamed = 0, 0, []
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
        else:
            unnamed.append((name, left + row_width * used / 64 + width / 2))
        used += bits
        if used == 64:
            used, row = 0, row + 1
    rows = row + (1 if used else 0)
    meanings = {
        "has_erased_operands": "operands were erased",
        "num_successors": "successors",
        "num_regions": "regions",
        "has_discardable": "discardable attributes",
    }
    if [name for name, _ in unnamed] != list(meanings):
        raise SourceError(f"ir/core/operation.h: the narrow fields are {[name for name, _ in unnamed]} (the picture knows others)")
    bottom = top + 8 + rows * row_height
    for letter, (_, x) in zip("abcd", unnamed):
        canvas.text(x, bottom + 12, letter, "tiny", anchor="middle")
    legend = ", ".join(f"{letter}: {meanings[name]}" for letter, (name, _) in zip("abcd", unnamed))
    canvas.text(left, bottom + 29, legend, "tiny", muted=True)
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
    "random": (1, 4, "ir", "uniform and normal numbers"),
    "str": (1, 5, "ir", "strings in a text"),
    "image": (1, 6, "ir", "decoding of files"),
    "fused": (2, 1, "rule", "linear, attention, group"),
    "kernel": (2, 3, "run", "call, view, dims, copy"),
}


@picture
def dialects(source):
    canvas = Canvas("The dialects and how many operations each has")
    counts = source.dialects()
    if {name for name, _ in counts} != set(DIALECTS):
        raise SourceError("ir/dialect: a dialect is new or gone (DIALECTS says where each stands)")
    width, height, left, top = 206, 48, [16, 262, 530], 40
    for name, count in counts:
        column, row, kind, note = DIALECTS[name]
        canvas.box(left[column], top + row * 58, width, height, kind, f"{name}: {count} op{'s' if count != 1 else ''}", [note])
    canvas.text(left[0], 26, "structure", bold=True)
    canvas.text(left[1], 26, "what models compute", bold=True)
    canvas.text(left[2], 26, "what passes make", bold=True)
    middle = top + 58 + height / 2
    # Fusion and lowering begin at every dialect in the frame.
    canvas.rect(left[1] - 7, top + 58 - 5, width + 14, 6 * 58, "plain", dashed=True, hollow=True)
    canvas.arrow((left[1] + width + 8, middle), (left[2] - 2, middle))
    canvas.text((left[1] + width + left[2]) / 2, middle - 6, "fuse", "small", anchor="middle")
    canvas.arrow((left[2] + width / 2, top + 58 + height), (left[2] + width / 2, top + 174))
    canvas.text(left[2] + width / 2 + 8, top + 142, "lower", "small")
    canvas.arrow((left[1] + width + 8, middle + 116), (left[2] - 2, middle + 116))
    canvas.text((left[1] + width + left[2]) / 2, middle + 110, "lower", "small", anchor="middle")
    canvas.legend(
        16,
        top + 7 * 58 + 16,
        [
            ("plain", "as MLIR defines them"),
            ("ir", "made by importers"),
            ("rule", "made by fusion"),
            ("run", "made by lowering"),
        ],
    )
    return canvas.svg(top + 7 * 58 + 32)


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
    source.path("drr/rule/rule.h", "class Rule")
    source.path("frontends/cpp/extension.h", "rules")
    for i, (title, note) in enumerate(
        [("patterns/", "built-in families"), ("FILE.drr", "--rules=FILE"), ("Extension::rules", "a host's C++ rules")]
    ):
        canvas.box(16, 34 + i * 52, 142, 42, "io", title, [note])
    canvas.text(16, 22, "written as", bold=True)
    canvas.text(206, 22, "one form", bold=True)
    canvas.text(422, 22, "compiled once for each Context", bold=True)
    canvas.text(744, 222, "applied to each operation of the worklist", bold=True, anchor="end")
    canvas.box(206, 60, 168, 98, "rule", "drr::Rule", ["source graph, conditions,", "result graph", "no Context, immutable"])
    canvas.box(
        422,
        34,
        322,
        72,
        "rule",
        source.path("drr/compile/compile.cc", "CompileRule("),
        ["interned and numbered for one Context", "refuses a rule that is wrong in itself"],
    )
    canvas.box(
        422,
        118,
        322,
        62,
        "rule",
        source.path("drr/conflicts/rule_conflicts.cc"),
        ["refuses rules that undo, shadow", "or feed each other forever"],
    )
    for i in range(3):
        canvas.arrow((158, 55 + i * 52), (204, 92 + i * 17))
    canvas.arrow((374, 92), (420, 76))
    canvas.arrow((583, 106), (583, 117))
    steps = [
        (source.path("drr/rewrite/driver_impl.h", "class Driver"), ["takes an operation,", "folds it, or tries", "the rules of its kind"]),
        (source.path("drr/match/matcher.cc"), ["structure, attributes,", "dims, conditions,", "uses outside"]),
        (source.path("drr/rewrite/placement.cc"), ["finds where the", "result can stand"]),
        (source.path("drr/rewrite/constant_guard.cc"), ["computed numbers", "are finite and normal"]),
        (source.path("drr/rewrite/rewriter.cc"), ["makes the result,", "replaces, erases", "what is dead"]),
    ]
    width, gap, y = 134, 14.5, 238
    for i, (title, lines) in enumerate(steps):
        x = 16 + i * (width + gap)
        canvas.rect(x, y, width, 74, "ir")
        canvas.text(
            x + width / 2, y + 18, title.rsplit("/", 1)[-1], "small", mono=True, bold=False, anchor="middle", most=width - 4
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
            applied = {f for f, phase, when in families if phase == "fuse" and (when == "Always" or "rules=" in options)}
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
        file = source.only(f"patterns/*/{name}.cc")
        canvas.rect(16, y, 290, 18, "ir" if phase == "canonicalize" else "rule", radius=4)
        canvas.text(24, y + 13, name, "small", mono=True)
        canvas.text(298, y + 13, file.removeprefix("patterns/"), "tiny", mono=True, muted=True, anchor="end")
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
        raise SourceError(f"drr/check/edges.cc: the headroom is {headroom} (the picture knows one of f16 and one of all others)")
    canvas.text(16, 24, "Whenever a rule is applied", bold=True)
    width, gap = 173, 12
    gates = [
        ("match", [source.path("drr/match/matcher.cc")], ["graph, attributes,", "dimensions and", "conditions fit"]),
        ("proof", [source.path("patterns/facts/value_range.h", "ProvenRange")], [f"“{words}”" for _, words in assumptions]),
        (
            "constant guard",
            [source.path("drr/rewrite/constant_guard.h", "class ConstantGuard")],
            ["each computed number is", "zero, or finite and", "normal in its type"],
        ),
        ("rewrite", [source.path("drr/rewrite/rewriter.h", "Refusal Apply")], ["element type, rank and", "known extents stay"]),
    ]
    gate_row(canvas, 34, 104, width, gap, gates, "rule")
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
            [source.path("drr/check/planner.cc")],
            ["that the source graph", "describes: ranks, extents,", "types, alternatives"],
        ),
        ("plain numbers", [source.path("drr/check/check.cc")], ["error at most 4 times", "that of the source,", "against f64"]),
        (
            "edges of types",
            [source.path("drr/check/edges.cc")],
            [f"headroom 2^{least.pop()}, f16 2^{half[0]};", "zeros, infinities, NaN,", "subnormal numbers"],
        ),
        ("near misses", [source.path("drr/check/mutate.cc")], ["one thing is changed: no", "rewrite, or both sides", "agree"]),
    ]
    gate_row(canvas, 216, 104, width, gap, gates, "ir")
    return canvas.svg(336)


# ---- shapes.md


@picture
def shapes(source):
    canvas = Canvas("How an extent becomes known")
    canvas.text(16, 24, "When the program is built", bold=True)
    row = [
        (
            "symbols",
            [source.path("ir/dialect/shapes/shape_data.h", "class DimNamer").removeprefix("ir/dialect/")],
            ["inputs name extents;", "unknown ones get a name"],
        ),
        (
            "shape functions",
            [source.path("ir/dialect/shapes/shape_functions.h").removeprefix("ir/dialect/")],
            ["result types from operand", "types and attributes"],
        ),
        (
            "shape values",
            [source.path("ir/dialect/shapes/shape_data.h", "class ShapeData").removeprefix("ir/dialect/")],
            [
                f"integer tensors of up to {source.constant('ir/dialect/shapes/shape_data.h', 'kMaxElements')}",
                "elements, as expressions",
            ],
        ),
        (
            "facts",
            [source.path("transforms/shapes/dim_facts.h", "class DimFacts").removeprefix("transforms/")],
            ["equalities and bounds", "that operations demand"],
        ),
    ]
    width, gap = 173, 12
    gate_row(canvas, 34, 90, width, gap, row, "ir")
    last = 16 + 3 * (width + gap) + width / 2
    first = 16 + (width + gap) + width / 2
    canvas.arrow((last, 126), (last, 142), (first, 142), (first, 126))
    canvas.text((first + last) / 2, 157, "infer-shapes repeats until nothing changes", "small", muted=True, anchor="middle")
    canvas.text(16, 190, "When a session runs it", bold=True)
    row = [
        ("binding", [source.path("executor/prepare/bindings.h", "class Bindings")], ["extents of the inputs", "give symbols numbers"]),
        ("concrete shapes", [source.path("executor/prepare/concrete_shapes.h").removeprefix("executor/")], ["the same shape functions,", "on numbers"]),
        (
            "run-time shapes",
            [source.path("executor/prepare/run_time_shapes.h", "RunTimeShapes(").removeprefix("executor/")],
            ["where values of tensors", "decide an extent"],
        ),
        ("checks", [source.path("kernels/checked_index.h")], ["a wrong extent, index or", "axis ends the run"]),
    ]
    gate_row(canvas, 200, 90, width, gap, row, "run")
    kinds = source.enumerators("ir/core/dims/dim_expr.h", "Kind")
    notes = {
        "Constant": "768",
        "Symbol": "B",
        "Sum": "past + S, H * D",
        "FloorDiv": "S floordiv 2",
        "Mod": "S mod 8",
        "Min": "min(S, 512)",
        "Broadcast": "broadcast(A, B)",
        "Unknown": "?",
    }
    if set(kinds) != set(notes):
        raise SourceError(f"ir/core/dims/dim_expr.h: the kinds of dimension expressions are {kinds} (the picture knows others)")
    canvas.text(16, 322, "A dimension expression is one of", bold=True)
    x = 16
    for kind in kinds:
        needs = max(text_width(notes[kind], "small", mono=True), text_width(kind, "tiny")) + 12
        canvas.rect(x, 332, needs, 40, "plain")
        canvas.text(x + needs / 2, 349, notes[kind], "small", mono=True, anchor="middle")
        canvas.text(x + needs / 2, 364, kind, "tiny", muted=True, anchor="middle")
        x += needs + 8
    return canvas.svg(388)
