"""Tenon: load, optimize, compile and run tensor programs.

    model = tenon.load("model.onnx")
    report = model.optimize()
    program = model.compile()
    outputs = program(ids, attention_mask=mask)

docs/guide/use-from-python.md shows the package in use.
"""

from . import errors, ir
from ._core import CancelToken, Diagnostic, Tensor, version as __version__
from .errors import (AlreadyExists, Cancelled, DiagnosticWarning, Error, FailedPrecondition, InternalError,
                     InvalidArgument, InvalidModel, ModelNotFound, NotFound, ResourceExhausted, Unavailable,
                     UnsupportedOperation)
from .models import Model, load
from .programs import Binding, Outputs, Program, Session, TensorSpec
from .report import OptimizeReport, PassTime
from .rules import Const, RuleCheck, Rules, ops, rule

__all__ = [
    "AlreadyExists", "Binding", "CancelToken", "Cancelled", "Const", "Diagnostic", "DiagnosticWarning", "Error",
    "FailedPrecondition", "InternalError", "InvalidArgument", "InvalidModel", "Model", "ModelNotFound", "NotFound",
    "OptimizeReport", "Outputs", "PassTime", "Program", "ResourceExhausted", "RuleCheck", "Rules", "Session", "Tensor", "TensorSpec",
    "Unavailable", "UnsupportedOperation", "__version__", "errors", "ir", "load", "ops", "rule",
]
