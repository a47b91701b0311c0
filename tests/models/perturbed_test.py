#!/usr/bin/env python3
"""Models fuse as well when none of their parameters is fresh, and the optimised program still computes the same.

  perturbed_test.py <ir-run> <folder with model folders below it>...
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import perturb
from perturb import LENGTH, every, fields, message, text

IR_RUN, FOLDERS = None, []
RAW, NAME, DIMS, DTYPE = 9, 8, 1, 2


def models():
    for folder in FOLDERS:
        yield from sorted(pathlib.Path(folder).glob("*/model.onnx"))


def graph_of(data):
    return fields(every(fields(data), 7)[0])


def tensors_of(data):
    return {tensor.name: tensor for tensor in map(perturb.Tensor, every(graph_of(data), 5))}


def input_options(model, folder):
    """The --input options for one data set; a tensor without a name goes to the input of its number."""
    graph = graph_of(model.read_bytes())
    weights = {text(fields(value), 8) for value in every(graph, 5)}
    names = [name for name in (text(fields(value), 1) for value in every(graph, 11)) if name not in weights]
    for path in sorted(folder.glob("input_*.pb")):
        name = text(fields(path.read_bytes()), NAME) or names[int(path.stem.removeprefix("input_"))]
        yield f"--input={name}={path}"


def report_of(model, inputs):
    command = [IR_RUN, str(model), *inputs, "--runs=1", "--threads=1", "--json=-"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{model}: {result.stderr or result.stdout}")
    return json.loads(result.stdout)


def counted(report):
    """Copies of parameters that exporters had merged are more constants."""
    return {name: count for name, count in report["ops_after"].items() if name != "core.constant"}


class PerturbedModels(unittest.TestCase):

    def test_equal_and_fused_alike(self):
        found = 0
        for model in models():
            with self.subTest(model=model.parent.name), tempfile.TemporaryDirectory() as folder:
                found += 1
                other = pathlib.Path(folder) / "model.onnx"
                other.write_bytes(perturb.perturb(model.read_bytes()))
                before = None
                for data in sorted(model.parent.glob("test_data_set_*")):
                    inputs = list(input_options(model, data))
                    before = before or report_of(model, inputs)
                    after = report_of(other, inputs)
                    self.assertTrue(after["pass"])
                    self.assertEqual(counted(before), counted(after))
                self.assertIsNotNone(before, "no data set")
        self.assertGreaterEqual(found, 8)


class Perturbation(unittest.TestCase):
    """What the test above rests on."""

    def test_every_parameter_changes(self):
        for model in models():
            with self.subTest(model=model.parent.name):
                data = model.read_bytes()
                before, after = tensors_of(data), tensors_of(perturb.perturb(data))
                parameters = [name for name, tensor in before.items() if tensor.is_parameter()]
                self.assertTrue(parameters)
                for name in parameters:
                    self.assertNotEqual(before[name].values, after[name].values, name)
                    self.assertGreater(len(set(after[name].values)), 1, name)
                for name, tensor in before.items():
                    if name not in parameters:
                        self.assertEqual(bytes(message(tensor.parts)), bytes(message(after[name].parts)), name)

    def test_the_same_bytes_each_time(self):
        data = next(models()).read_bytes()
        self.assertEqual(perturb.perturb(data), perturb.perturb(data))

    def test_parameters_that_were_merged_differ_again(self):
        ones = message([[DIMS, 0, 4], [DTYPE, 0, perturb.F32], [NAME, LENGTH, b"w"],
                        [RAW, LENGTH, b"\0\0\x80\x3f" * 4]])
        node = message([[1, LENGTH, b"x"], [1, LENGTH, b"w"], [2, LENGTH, b"y"], [4, LENGTH, b"Mul"]])
        graph = message([[1, LENGTH, node], [1, LENGTH, node], [5, LENGTH, ones]])
        changed = fields(perturb.perturb_graph(graph))
        read = [bytes(every(fields(value), 1)[1]) for value in every(changed, 1)]
        self.assertEqual(read, [b"w", b"w#2"])
        first, second = map(perturb.Tensor, every(changed, 5))
        self.assertEqual(["w", "w#2"], [first.name, second.name])
        self.assertNotEqual(first.values, second.values)
        self.assertGreater(min(first.values + second.values), 0)

    def test_masks_stay(self):
        for values in ([0.0, 1.0], [0.0, -3.4e38], [0.0, float("-inf")], [7.0]):
            tensor = perturb.Tensor(b"")
            tensor.values = values
            self.assertFalse(tensor.is_parameter(), values)


if __name__ == "__main__":
    IR_RUN, *FOLDERS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
