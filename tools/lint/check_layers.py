#!/usr/bin/env python3
"""Checks which layer includes which, and a few bans that keep the library embeddable.

Reads every `#include` of the C++ sources (and of the generated ones, with --generated) and reports each edge
that is not in ALLOWED. A layer may always include itself. Exit status: 0 clean, 1 findings.

  check_layers.py [--root DIR] [--generated DIR] [--print-graph]
"""

import argparse
import pathlib
import re
import sys

# Layer -> what its files may include: other layers, or single files.
IR = ["ir/base", "ir/core", "ir/dialect"]
EVERYTHING = ["*"]
ALLOWED = {
    "ir/base": [],
    "ir/core": ["ir/base"],
    "ir/dialect": ["ir/base", "ir/core"],
    "ir/serialize": ["ir/base", "ir/core"],
    "pass": ["ir/base", "ir/core"],
    "drr": ["ir/base", "ir/core", "ir/dialect/declared_op.h", "pass"],
    "patterns": ["drr", *IR],
    "transforms": ["pass", "drr", "patterns", *IR],
    "kernels": ["ir/base"],
    "executor": ["kernels", "pass", *IR],
    "frontends/onnx": IR,
    "frontends/onnx/export": ["frontends/onnx", "pass", "transforms", *IR],
    "frontends/cpp": EVERYTHING,
    "frontends/c": EVERYTHING,
    "frontends/debug": EVERYTHING,
    "frontends/view": EVERYTHING,
    "frontends/view/layout": [],
    "frontends/python": EVERYTHING,
    "tools": EVERYTHING,
    "tests": EVERYTHING,
}

# Libraries that only some layers may use. absl, fmt and the standard library may be used everywhere.
VENDOR_ALLOWED = {
    r"google/protobuf/|.*\.pb\.h$": ["frontends/onnx", "tests"],
    r"(oneapi/dnnl/|dnnl|hwy/|xbyak/|omp\.h|cuda|cublas|cudnn|nvrtc|nccl)": ["kernels", "executor", "tests"],
    r"re2/": ["kernels", "tools"],
    r"(jpeglib\.h|png\.h|webp/|tiffio\.h|openjpeg)": ["kernels"],
    r"nlohmann/": ["executor", "frontends/cpp", "frontends/view", "tools", "tests", "pass", "drr"],
    r"(mlir|llvm)/": ["tests/bench"],
    r"(gtest|gmock|benchmark)/": ["tests"],
    r"nanobind/": ["frontends/python"],
}

# Vendor headers without a folder; any other quoted name without one is ours, and lacks its folder.
VENDOR_AT_ROOT = ["dnnl.hpp", "xxhash.h"]
# What tenon_dialect (tools/cmake/TenonDialect.cmake) makes for a target, by name.
GENERATED_AT_ROOT = ["demo_ops.h"]

# Bans in the library's own code (not in tools and tests, where the last ones do no harm).
BANS = [
    (re.compile(r"\bdynamic_cast\s*<"), "dynamic_cast: the library is built to work without RTTI; use isa/cast/dyn_cast"),
    (re.compile(r"\btypeid\s*\("), "typeid: the library is built to work without RTTI"),
    (re.compile(r"^\s*#\s*pragma\s+once"), "#pragma once: use an include guard"),
    (re.compile(r"^\s*using\s+namespace\s+std\b"), "using namespace std"),
    (re.compile(r"^(static|inline|thread_local|extern)\s+(?!.*\b(const|constexpr|constinit|class|struct)\b)"
                r"[\w:<>,*& ]+\s[*&]?\w+(\[[^\]]*\])?\s*(=[^=].*|\{.*)?;"),
     "a global that can change: state belongs to a Context or to an object that the caller owns"),
]

SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".inc", ".def"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def strip_comments_and_strings(text):
    """Blanks out comments and the inside of string literals; line numbers stay. Raw strings included."""

    def blank(match):
        found = match.group(0)
        if found.startswith("#"):
            return found  # an #include line keeps its path
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return '""' + "\n" * found.count("\n")

    pattern = (r'^\s*#\s*include[^\n]*|//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\s]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"')
    return re.sub(pattern, lambda m: m.group(0) if m.group(0).lstrip().startswith("#") else blank(m),
                  text, flags=re.S | re.M)


def layer_of(path):
    """The layer of a path relative to the root, or None for a path that is not ours."""
    best = None
    for layer in ALLOWED:
        if path == layer or path.startswith(layer + "/"):
            if best is None or len(layer) > len(best):
                best = layer
    return best


def within(path, places):
    return any(path == place or path.startswith(place + "/") for place in places)


def check_file(path, text):
    """Yields (line, message) for one file; `path` is relative to the root."""
    layer = layer_of(path)
    if layer is None:
        return
    allowed = ALLOWED[layer]
    for number, line in enumerate(strip_comments_and_strings(text).splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            quoted, target = include.group(1) == '"', include.group(2)
            for pattern, places in VENDOR_ALLOWED.items():
                if re.match(pattern, target) and not within(path, places):
                    yield number, f"{layer} may not use {target} (only {', '.join(places)} may)"
            other = layer_of(target)
            if other is None:
                if quoted and "/" not in target and target not in VENDOR_AT_ROOT + GENERATED_AT_ROOT:
                    yield number, f'"{target}": includes of ours are written from the root of the repository'
                continue
            if other == layer or allowed == EVERYTHING or other in allowed or target in allowed:
                continue
            yield number, f"{layer} may not include {target} (it may include: {', '.join(allowed) or 'nothing of ours'})"
            continue
        if layer in ("tools", "tests"):
            continue
        for pattern, message in BANS:
            if pattern.search(line):
                yield number, message


def sources(root, generated):
    for layer in sorted({name.split("/")[0] for name in ALLOWED}):
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path.relative_to(root).as_posix(), path
    if generated is not None:
        for path in sorted(generated.rglob("*")):
            name = path.relative_to(generated).as_posix()
            if path.suffix in SUFFIXES and path.is_file() and ".pb." not in path.name:
                yield name, path


def print_graph(files):
    edges = {}
    for name, path in files:
        layer = layer_of(name)
        for line in path.read_text(encoding="utf-8").splitlines():
            include = INCLUDE.match(line)
            other = layer_of(include.group(2)) if include else None
            if layer and other and other != layer:
                edges.setdefault(layer, set()).add(other)
    for layer in ALLOWED:
        print(f"{layer:18} <- {', '.join(sorted(edges.get(layer, []))) or '(nothing)'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--generated", type=pathlib.Path, help="the folder of generated code, <build>/gen")
    parser.add_argument("--print-graph", action="store_true", help="print who includes whom, as found")
    arguments = parser.parse_args()

    files = list(sources(arguments.root, arguments.generated))
    if arguments.print_graph:
        print_graph(files)
        return 0
    findings = 0
    for name, path in files:
        for line, message in check_file(name, path.read_text(encoding="utf-8")):
            print(f"{path}:{line}: {message}")
            findings += 1
    print(f"check_layers: {len(files)} files, {findings} findings")
    return 1 if findings or not files else 0


if __name__ == "__main__":
    sys.exit(main())
