#!/usr/bin/env python3
"""Runs exported models through ir-run and ir-opt and writes docs/data/models.json: architectures, ONNX ops, fusions.

  table.py [--bin DIR] [--out FILE] [--jobs N] [--limit SECONDS] DIR...

A DIR holds folders as export.py and export_optimum.py write them: <family>.<variant>/model.onnx and
test_data_set_N. Every model runs at -O0 and -O2 on all its data sets. The kind of an architecture is in kinds.json.
tools/docs/make_tables.py makes the tables of docs/models.md from the file. Needs: pip install onnx.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import pathlib
import re
import subprocess
import sys

from trained import all_nodes

TREE = pathlib.Path(__file__).resolve().parents[2]
DATA = TREE / "docs" / "data" / "models.json"
KINDS = pathlib.Path(__file__).resolve().with_name("kinds.json")
COMMAND = "python3 tools/models/export.py --families build/models && python3 tools/models/table.py build/models"
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


def by_family(models):
    families = collections.defaultdict(list)
    for model in models:
        families[model.family].append(model)
    return sorted(families.items())


def total(models, name):
    return sum(model.ops[name] for model in models)


def architecture_rows(models, kinds):
    for family, members in by_family(models):
        fused = sorted({name for model in members for name in model.ops if name.startswith("fused.")})
        yield {"name": family, "kind": kinds[family], "models": len(members),
               **{f"O{level}": sum(model.equal[level] for model in members) for level in (0, 2)},
               "softmax_left": total(members, "nn.softmax"),
               "products_left": sum(model.activation_products for model in members),
               "fused": {name[len("fused."):]: total(members, name) for name in fused}}


def operation_rows(models):
    uses = collections.Counter(name for model in models for name in model.onnx_ops)
    opaque = collections.Counter(name for model in models for name in model.opaque)
    for name in sorted(uses):
        state = "imported" if not opaque[name] else "opaque" if opaque[name] == uses[name] else "opaque in some"
        yield {"name": name, "models": uses[name], "nodes": sum(model.onnx_ops[name] for model in models), "state": state}


def commit():
    result = subprocess.run(["git", "-C", str(TREE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False)
    return result.stdout.strip() or "unknown"


def results(models, kinds):
    """What the data file holds."""
    optimum = any(model.variant.startswith("optimum") for model in models)
    return {
        "question": "Does my model run?",
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "commit_found_by": "git rev-parse when the file was written",
        "command": COMMAND,
        "expected": "PyTorch's results" + (", for Optimum those of ONNX Runtime without optimization" if optimum else "")
                    + ", within 1e-4",
        "exporters": ["TorchScript", "dynamo", *(["Optimum"] if optimum else [])],
        "models": len(models),
        "data_sets": sum(model.data_sets for model in models),
        "equal": {f"O{level}": sum(model.equal[level] for model in models) for level in (0, 2)},
        "fully_fused": sum(model.equal[2] and not model.ops["nn.softmax"] and not model.activation_products
                           for model in models),
        "failing": [{"model": model.folder.name, "error": model.error} for model in models
                    if not all(model.equal.values())],
        "architectures": list(architecture_rows(models, kinds)),
        "operations": list(operation_rows(models)),
    }


def as_text(data):
    """JSON with a line for each architecture and operation, so that differences are easy to read."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join("    " + json.dumps(row) for row in value)
            parts.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_kinds():
    """The kind of each family: text encoders, decoders, …"""
    listed = json.loads(KINDS.read_text(encoding="utf-8"))
    return {family: kind for kind, families in listed.items() for family in families}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--bin", type=pathlib.Path, default=TREE / "build" / "bin")
    parser.add_argument("--out", type=pathlib.Path, default=DATA)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60, help="seconds a program may take")
    options = parser.parse_args()
    folders = [path.parent for root in options.folders for path in sorted(root.glob("[!.]*/model.onnx"))]
    if not folders:
        sys.exit("table.py: no model.onnx one level below the given folders")
    kinds = read_kinds()
    unknown = sorted({Model(folder).family for folder in folders} - set(kinds))
    if unknown:
        sys.exit(f"table.py: {KINDS.name} has no kind for {', '.join(unknown)}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        models = list(pool.map(lambda folder: examine(Model(folder), options), folders))
    options.out.write_text(as_text(results(models, kinds)), encoding="utf-8")
    print(f"{options.out}: {len(models)} models, {sum(model.equal[2] for model in models)} equal at -O2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
