#!/usr/bin/env python3
"""Runs exported models at other batch, sequence and past lengths than their data sets have, against ONNX Runtime.

  sizes.py [--bin DIR] [--jobs N] [--limit SECONDS] [--most N] [--report FILE] DIR...

A DIR holds folders as export.py and export_optimum.py write them, or is one. Dimensions of inputs that have no fixed
size are told apart by their sizes in the data sets: batch, sequence, past, total (past and sequence); every combination
of BATCHES, LENGTHS and PASTS is tried, with masks of ones, padded on either side and at random, and where a mask has
dimensions of its own, with those 1. Sizes that ONNX Runtime (optimisation off) refuses are not counted. The program as
imported and that of -O2 have to equal ONNX Runtime's result within 1e-4.
Needs: pip install onnx onnxruntime.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

TREE = pathlib.Path(__file__).resolve().parents[2]
BATCHES = [1, 2, 3]
LENGTHS = [1, 2, 5, 17]
PASTS = [0, 1, 7]
MASKS = ["ones", "left", "right", "random"]
LONGEST_TEXT = 100  # data sets with more are samples of sound or the like


def read(path):
    return numpy_helper.to_array(onnx.load_tensor(str(path)))


class Model:
    def __init__(self, folder):
        self.folder = folder
        graph = onnx.load(str(folder / "model.onnx"), load_external_data=False).graph
        weights = {tensor.name for tensor in graph.initializer}
        self.inputs = [value for value in graph.input if value.name not in weights]
        self.outputs = [value.name for value in graph.output]
        sets = sorted(folder.glob("test_data_set_*"))
        self.data = [[read(path / f"input_{index}.pb") for index in range(len(self.inputs))] for path in sets]
        self.roles = self.find_roles()

    def dynamic(self):
        """(input, axis, name) of each dimension without a fixed size."""
        for index, value in enumerate(self.inputs):
            for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
                if not dimension.HasField("dim_value"):
                    yield index, axis, dimension.dim_param

    def find_roles(self):
        """{(input, axis): (role, factor)}: dimensions of one role have the same size, but for the factor."""
        sizes = {(index, axis): tuple(data[index].shape[axis] for data in self.data)
                 for index, axis, _ in self.dynamic()}
        if not sizes:
            return {}
        roles = {}
        batch = next((sizes[key] for key in sizes if key[1] == 0), None)
        past = {sizes[index, axis] for index, axis in sizes
                if axis and "past" in self.inputs[index].name and "encoder" not in self.inputs[index].name}
        tokens = [sizes[index, axis] for index, axis in sizes if axis and "input" in self.inputs[index].name]
        for (index, axis), own in sizes.items():
            name = self.inputs[index].name
            factor = own[0] // batch[0] if batch and batch[0] else 1
            if axis == 0 and tuple(size * factor for size in batch) == own:
                roles[index, axis] = "batch", factor
            elif own in past and "past" in name:
                roles[index, axis] = "past", 1
            elif "mask" in name and own not in tokens[:1] and self.is_total(own, past, tokens):
                roles[index, axis] = "total", 1
            else:
                role = next((role for role, _ in roles.values() if role == own), own)
                roles[index, axis] = role, 1
        return roles

    @staticmethod
    def is_total(own, past, tokens):
        return any(own[0] == p[0] + t[0] for p in past for t in tokens)

    def sizes(self, most):
        """Dictionaries from roles to sizes, and what masks are like."""
        roles = list(dict.fromkeys(role for role, _ in self.roles.values() if role != "total"))
        choices = []
        for role in roles:
            if role == "batch":
                choices.append(BATCHES)
            elif role == "past":
                choices.append(PASTS)
            elif role[0] > LONGEST_TEXT:
                choices.append(sorted({role[0], role[0] // 2, role[0] * 3 // 4 + 1, role[0] + 37}))
            else:
                choices.append(LENGTHS)
        has_mask = any("mask" in value.name for value in self.inputs)
        branches = [True, False] if any("use_cache" in value.name for value in self.inputs) else [True]
        found = [dict(zip(roles, sizes), masks=masks, use=use)
                 for *sizes, masks, use in itertools.product(*choices, MASKS if has_mask else MASKS[:1], branches)]
        if len(found) > most:
            found = random.Random(0).sample(found, most)
        for variant in self.broadcast():
            found += [dict(sizes, **variant) for sizes in found[:max(most // 8, 1)] if "odd" not in sizes]
        return found

    def broadcast(self):
        """Masks with dimensions that have no other input's name may be 1 there, or have more than the others."""
        names = {}
        for index, axis, name in self.dynamic():
            names.setdefault(name, set()).add(index)
        for index, value in enumerate(self.inputs):
            if "mask" not in value.name:
                continue
            own = [axis for i, axis, name in self.dynamic() if i == index and len(names[name]) == 1]
            for axis in own:
                yield {"odd": {(index, axis): 1}}
                if axis == 0:
                    yield {"odd": {(index, axis): 3}, "batch": 1}
            if len(own) > 1:
                yield {"odd": {(index, axis): 1 for axis in own}}

    def example(self, sizes, source):
        made = []
        for index, value in enumerate(self.inputs):
            base = self.data[0][index]
            shape = list(base.shape)
            for axis in range(base.ndim):
                if (index, axis) not in self.roles:
                    continue
                role, factor = self.roles[index, axis]
                if role == "total":
                    sequence = self.sequence(sizes)
                    shape[axis] = sequence + (sizes["past"] if sizes["use"] else 0)
                else:
                    shape[axis] = sizes[role] * factor
                shape[axis] = sizes.get("odd", {}).get((index, axis), shape[axis])
            made.append(self.values(value.name, base, shape, sizes, source))
        return made

    def sequence(self, sizes):
        index = next(i for i, value in enumerate(self.inputs) if "input" in value.name and (i, 1) in self.roles)
        return sizes[self.roles[index, 1][0]]

    def values(self, name, base, shape, sizes, source):
        if "use_cache" in name:
            return numpy.array([sizes["use"]])
        if "mask" in name and len(shape) > 1 and base.dtype.kind in "biuf":
            return mask(sizes["masks"], shape, source).astype(base.dtype)
        if name.startswith("position_ids") and len(shape) > 1 and "past" in sizes:
            return numpy.broadcast_to(numpy.arange(sizes["past"], sizes["past"] + shape[1]), shape).astype(base.dtype)
        if base.dtype.kind == "f":
            return source.standard_normal(shape).astype(base.dtype)
        if "ids" in name and "type" not in name and "position" not in name and base.size:
            return source.integers(base.min(), base.max() + 1, shape, dtype=base.dtype)
        return base[numpy.ix_(*(numpy.arange(size) % max(own, 1) for size, own in zip(shape, base.shape)))]


def mask(kind, shape, source):
    made = numpy.ones(shape, numpy.int64)
    length = shape[1]
    for row in range(shape[0]):
        hidden = int(source.integers(0, max(length, 1)))
        if kind == "left":
            made[row, :hidden] = 0
        elif kind == "right":
            made[row, length - hidden:] = 0
        elif kind == "random":
            made[row] = source.integers(0, 2, shape[1:])
    return made


def describe(sizes):
    parts = []
    for key, value in sizes.items():
        if key == "odd":
            parts += [f"input {index} axis {axis}={size}" for (index, axis), size in value.items()]
        else:
            parts.append(f"{'length' + str(key[0]) if isinstance(key, tuple) else key}={value}")
    return " ".join(parts)


def write(folder, kind, names, values):
    for index, (name, value) in enumerate(zip(names, values)):
        tensor = numpy_helper.from_array(numpy.ascontiguousarray(value), name)
        (folder / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())


def run(options, model, data, level):
    """({case: error}, message) of ir-run over the data sets."""
    command = [f"{options.bin}/ir-run", str(model), f"-O{level}", "--check", str(data), "--runs", "1", "--threads", "1",
               "--json", "-", "--atol", "1e-4", "--rtol", "1e-4"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no result in {options.limit} s"
    if result.returncode not in (0, 1) or not result.stdout.startswith("{"):
        lines = result.stderr.strip().splitlines()
        errors = [line for line in lines if "error" in line] or lines or [""]
        return None, f"exit {result.returncode}: {errors[0][:300]}"
    wrong = {}
    for output in json.loads(result.stdout)["outputs"]:
        for program in ("original", "optimized"):
            compared = output.get(f"{program}_vs_expected", {})
            if not compared.get("pass"):
                text = f"{program} {output['name']} {output['type']} {compared.get('max_abs_error')}"
                wrong.setdefault(output.get("case"), []).append(text)
    return wrong, ""


def examine(folder, options):
    """(models' name, data sets, [(sizes, error)])."""
    try:
        model = Model(folder)
        if not model.roles:
            return folder.name, 0, []
        settings = onnxruntime.SessionOptions()
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.log_severity_level = 4
        settings.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), settings,
                                               providers=["CPUExecutionProvider"])
    except Exception as error:  # pylint: disable=broad-except
        return folder.name, 0, [("", f"not prepared: {str(error)[:200]}")]
    names = [value.name for value in model.inputs]
    source = numpy.random.default_rng(0)
    with tempfile.TemporaryDirectory() as scratch:
        data = pathlib.Path(scratch)
        cases = {}
        for sizes in model.sizes(options.most):
            values = model.example(sizes, source)
            try:
                results = session.run(model.outputs, dict(zip(names, values)))
            except Exception:  # pylint: disable=broad-except
                continue
            place = data / f"test_data_set_{len(cases)}"
            place.mkdir()
            write(place, "input", names, values)
            write(place, "output", model.outputs, results)
            cases[place.name] = describe(sizes)
        if not cases:
            return folder.name, 0, []
        path = folder / "model.onnx"
        wrong, message = run(options, path, data, 2)
        if wrong is not None:
            return folder.name, len(cases), [(cases.get(case, str(case)), "; ".join(text[:3]))
                                             for case, text in wrong.items()]
        bad = []
        for case, sizes in cases.items():
            wrong, message = run(options, path, data / case, 2)
            if wrong is None:
                plain, _ = run(options, path, data / case, 0)
                bad.append((sizes, ("" if plain is None else "-O2 alone: ") + message))
            elif wrong:
                bad.append((sizes, "; ".join(next(iter(wrong.values()))[:3])))
        return folder.name, len(cases), bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--bin", type=pathlib.Path, default=TREE / "build" / "bin")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=120, help="seconds a run may take")
    parser.add_argument("--most", type=int, default=48, help="sizes tried for a model")
    parser.add_argument("--report", type=pathlib.Path, help="JSON of what is not equal")
    options = parser.parse_args()
    folders = [path.parent for root in options.folders
               for path in sorted([*root.glob("model.onnx"), *root.glob("[!.]*/model.onnx")])]
    if not folders:
        sys.exit("sizes.py: no model.onnx in the given folders or one level below")
    models = sets = 0
    report = {}
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for name, count, bad in pool.map(examine, folders, itertools.repeat(options)):
            models += count > 0
            sets += count
            if bad:
                report[name] = bad
                print(f"{name}: {len(bad)} of {count}: {bad[0][0]}: {bad[0][1]}", flush=True)
    if options.report:
        options.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    wrong = sum(len(bad) for bad in report.values())
    print(f"{models} models at {sets} sizes: {sets - wrong} equal, {wrong} not (of {len(report)} models)")
    return 1 if report else 0


if __name__ == "__main__":
    sys.exit(main())
