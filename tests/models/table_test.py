#!/usr/bin/env python3
"""What tools/models/table.py counts in a program, and how it names families."""

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

    def test_a_line_for_every_operation(self):
        model = table.Model(pathlib.Path("bert.eager.ts17"))
        model.equal = {0: True, 2: False}
        model.error = "an output differs"
        model.onnx_ops.update(["MatMul", "MatMul", "If"])
        model.opaque = {"If"}
        model.ops["fused.attention"] = 2
        text = "\n".join(table.page([model]))
        for line in ("| bert | 1 | 1 | 0 | 2 |  |  |", "- `bert.eager.ts17`: an output differs", "| bert | 1 | 2 |",
                     "| If | 1 | 1 | opaque |", "| MatMul | 1 | 2 | imported |"):
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
