#!/usr/bin/env python3
"""Runs exported models through ir-run and ir-opt and writes docs/models.md: families, ONNX ops, fusions.

  table.py [--bin DIR] [--out FILE] [--jobs N] [--limit SECONDS] DIR...

A DIR holds folders as export.py and export_optimum.py write them: <family>.<variant>/model.onnx and
test_data_set_N. Every model runs at -O0 and -O2 on all its data sets; the numbers of the page come from that run.
Needs: pip install onnx.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
PAGE = TREE / "docs" / "models.md"
TOLERANCE = ["--atol", "1e-4", "--rtol", "1e-4"]
PARTS = re.compile(r"_(encoder|decoder)(_model(_merged)?|_with_past_model)$")  # the files of one Optimum export
OPERATION = re.compile(r'^\s*(?:(%\w+)(?::\d+)? = )?"?(\w+\.[\w.]+)"?\(([^)]*)\)')
PRODUCTS = {"ten.matmul", "ten.einsum", "fused.linear"}
NOT_COUNTED = {"builtin.module", "func.func", "func.return", "core.constant"}


class Model:
    """One folder: what the file holds and what the programs say about it."""

    def __init__(self, folder):
        self.folder = folder
        name, _, self.variant = folder.name.partition(".")
        self.family = PARTS.sub("", name)
        self.data_sets = len(list(folder.glob("test_data_set_*")))
        self.equal = {}  # by level
        self.error = ""
        self.onnx_ops = collections.Counter()
        self.opaque = set()
        self.ops = collections.Counter()  # of the optimised program
        self.activation_products = 0


def all_nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from all_nodes(inner)


def run(arguments, limit):
    try:
        return subprocess.run(arguments, capture_output=True, text=True, timeout=limit, errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, 124, "", f"no result in {limit} s")


def first_error(result):
    lines = [line for line in result.stderr.splitlines() if "error" in line] or result.stderr.splitlines()
    text = lines[0] if lines else f"exit status {result.returncode}"
    return re.sub(r"^\S+: error: ", "", text).strip()[:160]


def count_products(text):
    """Products whose two factors both depend on the function's inputs, and not on their sizes alone."""
    constant = set()
    found = 0
    for line in text.splitlines():
        match = OPERATION.match(line)
        if not match:
            continue
        result, name, operands = match.groups()
        operands = re.findall(r"%\w+", operands)
        fixed = all(operand in constant for operand in operands) and not name.startswith(("func.", "ctl."))
        if result and fixed:
            constant.add(result)
        if name in PRODUCTS and len(operands) > 1 and not constant.intersection(operands[:2]):
            found += 1
    return found


def examine(model, options):
    import onnx
    path = str(model.folder / "model.onnx")
    proto = onnx.load(path, load_external_data=False)
    for node in all_nodes(proto.graph):
        model.onnx_ops[node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"] += 1
    for level in (0, 2):
        result = run([f"{options.bin}/ir-run", path, f"-O{level}", "--check", str(model.folder), "--runs", "1",
                      "--threads", "1", "--json", "-", *TOLERANCE], options.limit)
        model.equal[level] = result.returncode == 0
        if result.returncode not in (0, 1):
            model.error = model.error or first_error(result)
        elif result.returncode == 1:
            model.error = model.error or "an output differs"
    optimised = run([f"{options.bin}/ir-opt", path, "-O2", "--elide-resources"], options.limit)
    for line in optimised.stdout.splitlines():
        match = OPERATION.match(line)
        if match and match.group(2) not in NOT_COUNTED:
            model.ops[match.group(2)] += 1
    model.activation_products = count_products(optimised.stdout)
    imported = run([f"{options.bin}/ir-opt", path, "--elide-resources"], options.limit)
    model.opaque = {name[len("onnx."):] for name in re.findall(r'"?(onnx\.\w+)"?\(', imported.stdout)}
    return model


def table(header, rows):
    yield "| " + " | ".join(header) + " |"
    yield "|" + "|".join("---" if index == 0 else "--:" for index in range(len(header))) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def by_family(models):
    families = collections.defaultdict(list)
    for model in models:
        families[model.family].append(model)
    return sorted(families.items())


def total(models, names):
    return sum(model.ops[name] for model in models for name in names)


def family_rows(models):
    for family, members in by_family(models):
        blocks = total(members, ["fused.attention"])
        left = total(members, ["nn.softmax"])
        products = sum(model.activation_products for model in members)
        yield (family, len(members), *(sum(model.equal[level] for model in members) for level in (0, 2)),
               blocks or "", left or "", products or "")


def fusion_rows(models, names):
    for family, members in by_family(models):
        counts = [total(members, [name]) for name in names]
        if any(counts):
            yield (family, len(members), *(count or "" for count in counts))


def op_rows(models):
    uses = collections.Counter(name for model in models for name in model.onnx_ops)
    opaque = collections.Counter(name for model in models for name in model.opaque)
    for name in sorted(uses):
        state = "imported" if not opaque[name] else "opaque" if opaque[name] == uses[name] else "opaque in some"
        yield name, uses[name], sum(model.onnx_ops[name] for model in models), state


def page(models):
    families = by_family(models)
    fused = sorted({name for model in models for name in model.ops if name.startswith("fused.")})
    good = [sum(model.equal[level] for model in models) for level in (0, 2)]
    whole = [model for model in models if model.equal[2] and not model.ops["nn.softmax"]
             and not model.activation_products]
    yield "# Models"
    yield ""
    yield "Written by `tools/models/table.py` from a run; [how to regenerate](../tools/models/README.md)."
    yield ""
    optimum = any(model.variant.startswith("optimum") for model in models)
    expected = ", for Optimum those of ONNX Runtime without optimisation" if optimum else ""
    yield (f"{len(models)} small models of {len(families)} families, exported by PyTorch's two exporters"
           f"{' and by Optimum' if optimum else ''}. Every parameter was perturbed before the export, so none is fresh. "
           f"There are {sum(model.data_sets for model in models)} data sets; most models have several batch, sequence and "
           f"past lengths. Expected are PyTorch's values{expected}, within 1e-4.")
    yield ""
    yield f"- equal at `-O0`: {good[0]} of {len(models)}; at `-O2`: {good[1]}"
    yield f"- equal at `-O2` with no softmax and no product of two activations outside `fused.attention`: {len(whole)}"
    yield ""
    yield "## Families"
    yield ""
    yield ("Models, how many are equal at each level, and, summed over the optimised models: attention blocks "
           "fused, softmaxes left, products of two activations left.")
    yield ""
    yield from table(["family", "models", "-O0", "-O2", "attention", "softmax left", "products left"],
                     family_rows(models))
    failing = [model for model in models if not all(model.equal.values())]
    if failing:
        yield ""
        yield "### What does not run or differs"
        yield ""
        for model in failing:
            yield f"- `{model.folder.name}`: {model.error}"
    yield ""
    yield "## Fusions"
    yield ""
    yield "Operations of the `fused` dialect in the optimised models, summed over a family."
    yield ""
    yield from table(["family", "models", *(f"`{name[len('fused.'):]}`" for name in fused)],
                     fusion_rows(models, fused))
    yield ""
    yield "## ONNX operations"
    yield ""
    yield "How many of the models use an operation, how many nodes there are, and whether the importer knows it."
    yield ""
    yield from table(["operation", "models", "nodes", "state"], op_rows(models))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--bin", type=pathlib.Path, default=TREE / "build" / "bin")
    parser.add_argument("--out", type=pathlib.Path, default=PAGE)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60, help="seconds a program may take")
    options = parser.parse_args()
    folders = [path.parent for root in options.folders for path in sorted(root.glob("[!.]*/model.onnx"))]
    if not folders:
        sys.exit("table.py: no model.onnx one level below the given folders")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        models = list(pool.map(lambda folder: examine(Model(folder), options), folders))
    options.out.write_text("\n".join(page(models)) + "\n", encoding="utf-8")
    print(f"{options.out}: {len(models)} models, {sum(model.equal[2] for model in models)} equal at -O2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
