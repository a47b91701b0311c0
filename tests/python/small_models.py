"""Models as text, for the tests of the Python package."""

import os
import pathlib

import tenon

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "models"

LINEAR = """
func.func() <{arg_attrs = [{core.name = "x"}], res_attrs = [{core.name = "y"}], function_type = (tensor<?x2xf32, ["batch", ""]>) -> tensor<?x3xf32, ["batch", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x2xf32, ["batch", ""]>):
  %w = core.constant() <{value = dense<[[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]]> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x2xf32, ["batch", ""]>, tensor<2x3xf32>) -> tensor<?x3xf32, ["batch", ""]>
  func.return(%0) : (tensor<?x3xf32, ["batch", ""]>) -> ()
}) : () -> ()
"""

# add(x, 1) and x itself, for one element type.
SAME = """
func.func() <{{arg_attrs = [{{core.name = "x"}}], res_attrs = [{{core.name = "same"}}], function_type = (tensor<?x?x{0}>) -> tensor<?x?x{0}>, sym_name = "main"}}> ({{
^bb0(%x: tensor<?x?x{0}>):
  func.return(%x) : (tensor<?x?x{0}>) -> ()
}}) : () -> ()
"""

TWO_INPUTS = """
func.func() <{arg_attrs = [{core.name = "a"}, {core.name = "b"}], res_attrs = [{core.name = "sum"}, {core.name = "product"}], function_type = (tensor<?x?xf32, ["m", "n"]>, tensor<?x?xf32, ["m", "n"]>) -> (tensor<?x?xf32, ["m", "n"]>, tensor<?x?xf32, ["m", "n"]>), sym_name = "main"}> ({
^bb0(%a: tensor<?x?xf32, ["m", "n"]>, %b: tensor<?x?xf32, ["m", "n"]>):
  %0 = ten.add(%a, %b) : (tensor<?x?xf32, ["m", "n"]>, tensor<?x?xf32, ["m", "n"]>) -> tensor<?x?xf32, ["m", "n"]>
  %1 = ten.mul(%a, %b) : (tensor<?x?xf32, ["m", "n"]>, tensor<?x?xf32, ["m", "n"]>) -> tensor<?x?xf32, ["m", "n"]>
  func.return(%0, %1) : (tensor<?x?xf32, ["m", "n"]>, tensor<?x?xf32, ["m", "n"]>) -> ()
}) : () -> ()
"""


def program(text, **options):
    """A program compiled from IR text, with one thread."""
    return tenon.load(text.encode()).compile(threads=1, **options)


def model_file(name):
    """The path of a model in tests/models."""
    return os.fspath(MODELS / name / "model.onnx")
