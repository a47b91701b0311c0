"""The pictures of what reads models and runs them, and of the tests."""

from diagram_parts import gate_row, picture
from diagram_sources import SourceError
from svg_canvas import Canvas, text_width

# ---- importer.md


@picture
def importer(source):
    canvas = Canvas("From an ONNX file to a module")
    onnx = "frontends/onnx/"
    depth = source.constant(onnx + "file/wire.h", "kMaxMessageDepth")
    nodes = source.constant(onnx + "graph_importer.h", "kMaxInlinedNodes")
    canvas.text(16, 24, "The file", bold=True)
    width, gap = 173, 12
    row = [
        (
            "map",
            [source.path(onnx + "file/mapped_file.h", "MapFile(").removeprefix(onnx)],
            ["the file stays on disk;", "weights are slices of it"],
        ),
        (
            "parse",
            [source.path(onnx + "file/wire.h", "ParseModel(").removeprefix(onnx)],
            ["structure only, at most", f"{depth} messages deep"],
        ),
        (
            "order",
            [source.path(onnx + "graph_order.h", "OrderNodes(").removeprefix(onnx)],
            ["definitions before uses;", "a cycle is an error"],
        ),
        (
            "weights",
            [source.path(onnx + "file/external_data.h", "class ExternalData").removeprefix(onnx)],
            ["core.constant of the slice,", "or of a file beside it"],
        ),
    ]
    gate_row(canvas, 34, 90, width, gap, row, "io")
    canvas.text(16, 156, "Each node becomes the first that fits", bold=True)
    source.path(onnx + "importer.h", "<domain>.<OpType>")
    ways = [
        ("a function's nodes", source.path(onnx + "functions.cc", "Inline("), f"at most {nodes:,} in all"),
        ("a host's operation", source.path(onnx + "registered.cc"), "domain acme: acme.Op"),
        ("what an adapter makes", source.path(onnx + "ops/op_adapters.def"), "a file of ops/"),
        ("an operation of Tenon", source.path(onnx + "ops/one_to_one.h"), "onnx: Name in the YAML"),
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
    x, gap = 16, 18
    letters = sum(len(name) + 4 for name in lower)
    for i, name in enumerate(lower):
        width = (731 - gap * (len(lower) - 1)) * (len(name) + 4) / letters
        canvas.box(x, 34, width, 40, source.pass_kind(name), name, [])
        if i + 1 < len(lower):
            canvas.arrow((x + width + 1, 54), (x + width + gap - 1, 54))
        middle = x + width / 2
        x += width + gap
    canvas.text(16, 106, "Program::Compile", bold=True, mono=True)
    source.path("executor/program.h", "static absl::StatusOr<Program> Compile(")
    row = [
        ("read", source.path("executor/compile/read_instruction.h"), "kernels, operand types"),
        ("check the plan", source.path("executor/memory/recorded_plan.h"), "in-place, offsets"),
        ("regions", source.path("executor/program_impl.h", "struct NestedProgram"), "programs of their own"),
    ]
    x, width = 16, 228
    for i, (title, file, note) in enumerate(row):
        canvas.rect(x, 116, width, 54, "run")
        if i + 1 < len(row):
            canvas.arrow((x + width + 1, 143), (x + width + 21, 143))
        canvas.text(x + width / 2, 133, f"{i + 1}. {title}", bold=True, anchor="middle")
        canvas.text(x + width / 2, 148, file, "tiny", mono=True, anchor="middle", most=width - 4)
        canvas.text(x + width / 2, 163, note, "small", muted=True, anchor="middle")
        x += width + 22
    canvas.arrow((middle, 75), (middle, 92), (180, 92), (180, 115))
    canvas.text(16, 202, "Session::Run", bold=True, mono=True)
    source.path("executor/session.h", "class Session")
    most = source.constant("executor/run/runner.cc", "kMaxPrepared")
    source.path("executor/run/runner.h", "absl::StatusOr<Prepared*> Find(", "RunDynamic(")
    canvas.arrow((630, 171), (630, 184), (152, 184), (152, 213))
    canvas.box(16, 214, 168, 60, "plain", "Runner::Find", ["which shapes do", "the inputs have?"], bold=False)
    canvas.box(262, 196, 230, 44, "run", "Walk::Prepare", ["shapes, values of shapes, packing"], bold=False)
    canvas.box(262, 250, 230, 44, "run", "Runner::PlanFor", ["a memory plan per shape class"], bold=False)
    canvas.box(560, 222, 184, 46, "run", "Prepared::Run", ["kernels, one after the other"], bold=False)
    canvas.box(262, 330, 230, 44, "warn", "Walk::RunAll", ["memory from the heap"], bold=False)
    source.path("executor/prepare/shape_walk.h", "Prepare(", "RunAll(")
    source.path("executor/run/runner.h", "PlanFor(")
    source.path("executor/prepare/prepared.h", "absl::Status Run(")
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
    alignment = source.constant("executor/memory/memory_planner.h", "kArenaAlignment")
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
    canvas.text(left - 8, 46, "offset in bytes", "tiny", muted=True, anchor="end")
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
    "cpu/linear": ("run", "linear layers on them"),
    "cpu/conv": ("run", "convolutions, pools"),
    "cpu/attention": ("run", "attention in blocks of keys"),
    "cpu/jit": ("run", "code for elementwise groups"),
    "cpu/pointwise": ("run", "elementwise operations"),
    "cpu/reduction": ("run", "sums, norms, softmax, top k"),
    "cpu/movement": ("run", "transposes, gathers, joins"),
    "cpu/vector": ("run", "loops on Highway vectors"),
    "gpu": ("io", "host side of CUDA kernels"),
    "gpu/device": ("io", "device code"),
    "gpu/params": ("io", "what a launch needs"),
    "gpu/cuda": ("io", "the plugin: streams, cuBLASLt"),
    "gpu/emulator": ("io", "runs device code on the host"),
}
# Folders without a box: what kernels share, rooms of convolutions, and rooms of the reference kernels.
OTHER_KERNEL_FOLDERS = {"calls", "images", "strings", "threads", "cpu/conv/bytes", "cpu/conv/winograd"} | {
    f"reference/{room}" for room in ("elementwise", "images", "layers", "math", "movement")
}

KERNEL_FILES = [
    ("kernel.h", "the interface"),
    ("registry.h", "which kernel runs"),
    ("kernels.def", "the list of CPU kernels"),
    ("threads/thread_pool.h", "the process's threads"),
]


@picture
def kernels(source):
    canvas = Canvas("How an operation gets its kernel, and where kernels lie")
    found = [
        path.relative_to(source.root / "kernels").as_posix()
        for path in (source.root / "kernels").rglob("*")
        if path.is_dir() and not path.name.startswith("__")
    ]
    known = set(KERNEL_FOLDERS) | OTHER_KERNEL_FOLDERS
    if set(found) != known:
        raise SourceError(
            f"kernels/: the folders {sorted(set(found) ^ known)} are new or gone "
            "(KERNEL_FOLDERS)"
        )
    source.path("kernels/registry.h", "Choice Choose(", "std::vector<std::string> why_not;")
    source.path("kernels/kernel.h", "SupportsFn supports", "int priority = 0;", "PrepareFn prepare", "RunFn run")
    source.path("executor/lowering/fallbacks.h", '"kernel.fallback"')
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
    for i, line in enumerate(
        ["supports(call) returns no reason: this", "kernel runs. Otherwise its reason is noted,", "and the next one is asked."]
    ):
        canvas.text(472, 116 + 15 * i, line, "small", muted=True)
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
    return canvas.svg(top + 54 + 9 * 50 + 10)


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
        ("cuda/ + device/", "libtenon_cuda.so: a device", source.path("kernels/gpu/cuda")),
        ("emulator/ + device/", "device code on the host", source.path("kernels/gpu/emulator")),
        ("tests/gpu/cuda_model", "cuda/ on a model of CUDA", source.path("tests/gpu/cuda_model")),
        ("tests/gpu", "an emulated device that records calls", source.path("tests/gpu/emulated_device.cc")),
    ]
    for i, (title, note, _) in enumerate(others):
        y = 36 + i * 50
        canvas.box(522, y, 222, 42, "io" if i == 0 else "plain", title, [note])
        canvas.arrow((473, 100 + i * 15), (520, y + 21))
    pipeline = source.steps(source.pipelines()["lower-cuda"])
    canvas.text(16, 250, "--lower-cuda", bold=True, mono=True)
    x, y = 16, 260
    width, gap, in_row = 134, 14.5, 5
    for i, (name, options) in enumerate(pipeline):
        canvas.rect(x, y, width, 42, source.pass_kind(name))
        size = "small" if text_width(name, "small", mono=True) <= width - 8 else "tiny"
        canvas.text(x + width / 2, y + (18 if options else 25), name, size, mono=True, anchor="middle", most=width - 4)
        if options:
            canvas.text(x + width / 2, y + 33, options, "tiny", muted=True, anchor="middle", most=width - 4)
        if (i + 1) % in_row == 0 and i + 1 < len(pipeline):
            canvas.arrow((x + width / 2, y + 43), (x + width / 2, y + 51), (16 + width / 2, y + 51), (16 + width / 2, y + 59))
            x, y = 16, y + 60
            continue
        if i + 1 < len(pipeline):
            canvas.arrow((x + width + 1, y + 21), (x + width + gap - 1, y + 21))
        x += width + gap
    return canvas.svg(y + 60)


# ---- testing.md

TEST_FOLDERS = {  # group, what the folder asks
    "ir": (0, "is the IR sound?"),
    "dialect": (0, "shapes, folds"),
    "serialize": (0, "binary modules"),
    "pass": (0, "pipelines, order"),
    "drr": (0, "the rule engine"),
    "transforms": (0, "single passes"),
    "codegen": (0, "wrong YAML"),
    "kernels": (0, "fast against reference"),
    "executor": (0, "memory, runs, threads"),
    "gpu": (0, "emulated device"),
    "api": (0, "the C++ API"),
    "c_api": (0, "the C API"),
    "python": (0, "the Python package"),
    "golden": (1, "IR and its exact result"),
    "filetest": (1, ""),  # runs those of golden, and has no box of its own
    "rules": (1, "each rule before and after"),
    "spellings": (1, "one computation, many forms"),
    "models": (1, "exported models, perturbed"),
    "onnx": (1, "importer, backend suite"),
    "differential": (1, "other runtimes"),
    "mlir": (1, "mlir-opt reads our text"),
    "fuzz": (2, "changed input never crashes"),
    "tools": (2, "programs, limits, hostile files"),
    "install": (2, "a program outside the tree"),
    "view": (2, "layouts without overlaps"),
    "docs": (2, "pages, commands, links, pictures"),
    "bench": (2, "built, not run as tests"),
}


@picture
def testing(source):
    canvas = Canvas("What each folder of tests/ asks")
    found = {path.name for path in (source.root / "tests").iterdir() if path.is_dir() and not path.name.startswith("__")}
    if found != set(TEST_FOLDERS):
        raise SourceError(f"tests/: the folders {sorted(found ^ set(TEST_FOLDERS))} are new or gone (TEST_FOLDERS)")
    groups = [
        ("a part does what it says", "ir"),
        ("a program computes the same", "rule"),
        ("the whole survives its users", "run"),
    ]
    width, columns, y = 230, 3, 18
    titles = {"golden": "golden, filetest"}
    for group, (title, kind) in enumerate(groups):
        canvas.text(16, y + 12, title, bold=True)
        names = [name for name, (of, note) in TEST_FOLDERS.items() if of == group and note]
        for i, name in enumerate(names):
            column, row = i % columns, i // columns
            canvas.box(16 + column * (width + 19), y + 22 + row * 50, width, 42, kind, titles.get(name, name), [TEST_FOLDERS[name][1]])
        y += 22 + (len(names) + columns - 1) // columns * 50 + 14
    source.path("tools/lint/check_layers.py")
    source.path("tools/lint/check_header_cost.py")
    source.path("tools/lint/check_device_code")
    canvas.text(
        16, y + 12, "The lints of tools/lint run as tests too: layers, header cost, format, device code.", "small", muted=True
    )
    return canvas.svg(y + 26)
