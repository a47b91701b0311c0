#!/usr/bin/env python3
"""Compares the dimensions that Tenon infers with those of onnx.shape_inference and of ONNX Runtime's symbolic tool.

  shapes.py [--bin DIR] [--limit SECONDS] [--report FILE] DIR...

A DIR holds folders with a model.onnx, as trained.py and export.py write them. Each model loses the types of its inner
values and outputs, and all of its values become outputs. Then the three infer shapes. A dimension counts as

  missing   if one of the others has a number, or a name of an input's dimension, where Tenon has neither
  conflict  if Tenon and another have different numbers

The other tools are sometimes wrong. A dimension of theirs does not count if ONNX Runtime has another rank or size there
on the data sets of the folder, or on the inputs of trained_inputs.py if it has none. The status is 1 if any dimension is missing or in conflict.
Needs: pip install onnx onnxruntime sympy.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

TREE = pathlib.Path(__file__).resolve().parents[2]
TYPE = re.compile(r'tensor<([^>"]*?)(?:, \[((?:"[^"]*"(?:, )?)*)\])?>|![\w.<>]+')


def stripped(model):
    """The model without types of inner values, and the same with all values of its main graph as outputs."""
    del model.graph.value_info[:]
    names = list(dict.fromkeys(name for node in model.graph.node for name in node.output if name))
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    for output in plain.graph.output:
        output.ClearField("type")
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return plain, model, names


def by_onnx(plain):
    inferred = onnx.shape_inference.infer_shapes(plain, data_prop=True)
    return dims_of(inferred.graph)


def by_onnxruntime(plain):
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    return dims_of(SymbolicShapeInference.infer_shapes(plain, auto_merge=True).graph)


def known_dim(dim):
    """A number, a name or None. Some exporters write -1 for what they do not know."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None


def dims_of(graph):
    """{value: [number, text or None]} of values whose rank is known."""
    found = {}
    for value in [*graph.value_info, *graph.output]:
        if value.type.tensor_type.HasField("shape"):
            found[value.name] = [known_dim(dim) for dim in value.type.tensor_type.shape.dim]
    return found


def by_tenon(options, model, names):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "model.onnx"
        path.write_bytes(model.SerializeToString())
        result = subprocess.run([f"{options.bin}/ir-opt", str(path), "--infer-shapes", "--elide-resources"],
                                capture_output=True, text=True, timeout=options.limit, check=False)
    line = next((line for line in result.stdout.splitlines() if "function_type = " in line), "")
    if result.returncode or not line:
        raise RuntimeError((result.stderr.strip().splitlines() or ["no output"])[0])
    results = line.split("function_type = ", 1)[1].split(" -> ", 1)[1].split(", res_attrs")[0].split(", sym_name")[0]
    types = list(TYPE.finditer(results))
    if len(types) != len(names):
        raise RuntimeError(f"{len(types)} types for {len(names)} values")
    found = {}
    for name, match in zip(names, types):
        if match.group(1) is None or "*" in match.group(1):
            continue
        sizes = match.group(1).split("x")[:-1]
        symbols = re.findall(r'"([^"]*)"', match.group(2)) if match.group(2) else [""] * len(sizes)
        found[name] = [int(size) if size.isdigit() else symbol or None for size, symbol in zip(sizes, symbols)]
    return found


def is_known(dim, symbols):
    """Whether a dimension is a number or follows from the dimensions of inputs."""
    if dim is None or isinstance(dim, int):
        return dim is not None
    quoted = re.findall(r"`([^`]*)`", dim)  # names that are no words
    words = set(quoted) | set(re.findall(r"[A-Za-z_][\w.]*", re.sub("`[^`]*`", " ", dim))) - {"floordiv", "mod", "min", "max", "broadcast", "floor", "Min", "Max"}
    return bool(words) and words <= symbols


def feeds_of(folder, model, inputs):
    """{input: array} for each data set."""
    from trained_inputs import inputs_of
    feeds = []
    for data_set in sorted(folder.glob("test_data_set_*")):
        tensors = [onnx.TensorProto.FromString((data_set / f"input_{index}.pb").read_bytes()) for index in range(len(inputs))]
        feeds.append({name: onnx.numpy_helper.to_array(tensor) for name, tensor in zip(inputs, tensors)})
    return feeds or inputs_of(folder, model, inputs)


def run_shapes(folder, model, names):
    """For each data set the shapes that ONNX Runtime gives all values, and the sizes of the symbols of the inputs; none if it refuses
    the model or its inputs."""
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value.name for value in model.graph.input if value.name not in weights]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        feeds = feeds_of(folder, model, inputs)
        runs = [session.run(names, feed) for feed in feeds]
    except Exception:  # pylint: disable=broad-except
        return []
    shapes = [{name: value.shape for name, value in zip(names, values) if hasattr(value, "shape")} for values in runs]
    return list(zip(shapes, (sizes_of(model.graph, feed) for feed in feeds)))


def sizes_of(graph, feed):
    """The sizes of the symbols of the inputs."""
    return {dim.dim_param: size for value in graph.input if value.name in feed
            for dim, size in zip(value.type.tensor_type.shape.dim, feed[value.name].shape) if dim.dim_param}


def size_of(dim, sizes):
    """The size that a dimension has in a run; None if it does not follow from those of the inputs."""
    import sympy
    if dim is None or isinstance(dim, int):
        return dim
    if dim in sizes:
        return sizes[dim]
    try:
        value = sympy.sympify(dim, locals={name: sympy.Symbol(name) for name in sizes}).subs(sizes)
    except (sympy.SympifyError, TypeError, AttributeError, SyntaxError):
        return None
    return int(value) if value.is_Integer else None


def is_refuted(dims, axis, runs):
    """Whether one of the runs, pairs of a shape and the sizes of symbols, had another rank or size."""
    for shape, sizes in runs:
        expected = size_of(dims[axis], sizes)
        if len(shape) != len(dims) or (expected is not None and shape[axis] != expected):
            return True
    return False


def compare(ours, theirs, symbols, our_symbols, runs=()):
    """(missing, conflicts): lists of (value, axis, ours, theirs)."""
    missing, conflicts = [], []
    for name, dims in theirs.items():
        mine = ours.get(name)
        shapes = [(run[name], sizes) for run, sizes in runs if name in run]
        for axis, dim in enumerate(dims):
            own = mine[axis] if mine and len(mine) == len(dims) else None
            if is_refuted(dims, axis, shapes):
                continue
            if isinstance(dim, int) and isinstance(own, int):
                if dim != own:
                    conflicts.append((name, axis, own, dim))
            elif is_known(dim, symbols) and not is_known(own, our_symbols):
                missing.append((name, axis, own, dim))
            elif isinstance(dim, int) and not isinstance(own, int):
                missing.append((name, axis, own, dim))
    return missing, conflicts


def symbols_of(graph):
    weights = {tensor.name for tensor in graph.initializer}
    given, named = set(), set()
    for value in graph.input:
        if value.name in weights:
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                given.add(dim.dim_param)
            if not dim.HasField("dim_value"):
                named.add(f"{value.name}.d{axis}")  # as Tenon names placeholders
    return given, given | named


def examine(options, folder):
    proto = onnx.load(str(folder / "model.onnx"))
    symbols, our_symbols = symbols_of(proto.graph)
    plain, wide, names = stripped(proto)
    ours = by_tenon(options, wide, names)
    runs = run_shapes(folder, wide, names)
    row = {"values": len(names), "runs": len(runs)}
    for tool, infer in (("onnx", by_onnx), ("onnxruntime", by_onnxruntime)):
        try:
            theirs = infer(plain)
        except Exception as error:  # pylint: disable=broad-except
            row[tool] = {"error": str(error)[:160]}
            continue
        missing, conflicts = compare(ours, theirs, symbols, our_symbols, runs)
        better = compare(theirs, ours, our_symbols, symbols)[0]
        row[tool] = {"missing": missing, "conflicts": conflicts, "known to Tenon alone": len(better)}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--bin", type=pathlib.Path, default=TREE / "build" / "bin")
    parser.add_argument("--limit", type=int, default=300, help="seconds that ir-opt may take")
    parser.add_argument("--report", type=pathlib.Path, help="JSON of all dimensions that differ")
    options = parser.parse_args()
    report, total = {}, collections.Counter()
    for folder in sorted(path.parent for root in options.folders for path in root.glob("*/model.onnx")):
        try:
            row = examine(options, folder)
        except Exception as error:  # pylint: disable=broad-except
            row = {"error": str(error)[:300]}
        report[folder.name] = row
        if "error" in row:
            total["errors"] += 1
            print(f"{folder.name}: {row['error']}", flush=True)
            continue
        for tool in ("onnx", "onnxruntime"):
            found = row[tool]
            if "error" in found:
                print(f"{folder.name}: {tool} fails: {found['error']}", flush=True)
                continue
            for kind in ("missing", "conflicts"):
                total[kind] += len(found[kind])
                for name, axis, own, other in found[kind][:3]:
                    print(f"{folder.name}: {kind}: \"{name}\" axis {axis}: {own}, {tool} has {other}", flush=True)
            total[f"known to Tenon and not to {tool}"] += found["known to Tenon alone"]
    if options.report:
        options.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"{len(report)} models: " + ", ".join(f"{count} {what}" for what, count in sorted(total.items())))
    return 1 if total["missing"] or total["conflicts"] or total["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
