#!/usr/bin/env python3
"""What tools/models/table.py counts in a program, how it names families, and what it writes."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "models"))
import table  # noqa: E402

PROGRAM = """
builtin.module() ({
  func.func() <{}> ({
  ^bb0(%arg0: tensor<?x4xf32>, %arg1: tensor<?x4xf32>):
    %0 = core.constant() <{value = dense_resource<w> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %1 = fused.linear(%arg0, %0) <{}> : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %2 = core.dims() <{dims = #core.dims<"n">}> : () -> tensor<1xi64>
    %3 = ten.cast(%2) <{to = f32}> : (tensor<1xi64>) -> tensor<1xf32>
    %4 = ten.matmul(%3, %0) <{}> : (tensor<1xf32>, tensor<4x4xf32>) -> tensor<4xf32>
    %5 = ten.matmul(%1, %arg1) <{}> : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
    func.return(%5) : (tensor<?x?xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


class Table(unittest.TestCase):

    def test_products_of_activations_alone_are_counted(self):
        self.assertEqual(table.count_products(PROGRAM), 1)

    def test_the_files_of_one_export_are_one_family(self):
        for name in ("t5_encoder_model.optimum", "t5_decoder_model_merged.optimum",
                     "t5_decoder_with_past_model.optimum", "t5.eager.ts17"):
            self.assertEqual(table.Model(pathlib.Path(name)).family, "t5")

    def setUp(self):
        model = table.Model(pathlib.Path("bert.eager.ts17"))
        model.equal = {0: True, 2: False}
        model.error = "an output differs"
        model.onnx_ops.update(["MatMul", "MatMul", "If"])
        model.opaque = {"If"}
        model.ops["fused.attention"] = 2
        model.ops["nn.softmax"] = 1
        self.data = table.results([model], {"bert": "text encoders"})

    def test_a_row_for_every_architecture_and_operation(self):
        self.assertEqual(self.data["architectures"], [
            {"name": "bert", "kind": "text encoders", "models": 1, "O0": 1, "O2": 0, "softmax_left": 1, "products_left": 0,
             "fused": {"attention": 2}}])
        self.assertEqual(self.data["operations"], [
            {"name": "If", "models": 1, "nodes": 1, "state": "opaque"},
            {"name": "MatMul", "models": 1, "nodes": 2, "state": "imported"}])
        self.assertEqual(self.data["failing"], [{"model": "bert.eager.ts17", "error": "an output differs"}])
        self.assertEqual((self.data["models"], self.data["equal"], self.data["fully_fused"]), (1, {"O0": 1, "O2": 0}, 0))

    def test_the_file_reads_back(self):
        text = table.as_text(self.data)
        self.assertEqual(json.loads(text), self.data)
        self.assertIn('\n    {"name": "MatMul", ', text)

    def test_the_committed_file_has_this_form(self):
        committed = json.loads(table.DATA.read_text(encoding="utf-8"))
        self.assertEqual(committed.keys(), self.data.keys())
        self.assertEqual(committed["architectures"][0].keys(), self.data["architectures"][0].keys())
        self.assertEqual(table.as_text(committed), table.DATA.read_text(encoding="utf-8"))
        kinds = table.read_kinds()
        for architecture in committed["architectures"]:
            self.assertEqual(architecture["kind"], kinds[architecture["name"]])

    def test_each_family_has_one_kind(self):
        listed = [family for families in json.loads(table.KINDS.read_text(encoding="utf-8")).values() for family in families]
        self.assertEqual(len(listed), len(set(listed)))


if __name__ == "__main__":
    unittest.main()
