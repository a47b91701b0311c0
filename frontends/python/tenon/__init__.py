"""Tenon: load, optimize, compile and run tensor programs.

    model = tenon.load("model.onnx")
    report = model.optimize()
    program = model.compile()
    outputs = program(ids, attention_mask=mask)

docs/guide/use-from-python.md shows the package in use.
"""

from . import errors, ir, ops, terms
from ._core import CancelToken, Diagnostic, PassContext, Tensor, View, version as __version__
from .errors import (AlreadyExists, CallbackError, Cancelled, DiagnosticWarning, Error, FailedPrecondition, InternalError,
                     InvalidArgument, InvalidModel, ModelNotFound, NotFound, ResourceExhausted, Unavailable,
                     UnsupportedOperation)
from .extension import DeclaredOp, Extension, TensorType
from .models import Model, load
from .passes import PipelineReport, register_pass, run_pipeline
from .programs import Binding, Outputs, Program, Session, TensorSpec
from .report import OptimizeReport, PassTime
from .rules import Const, RuleCheck, Rules, rule
from .terms import Attr, Term

__all__ = [
    "AlreadyExists", "Attr", "Binding", "CallbackError", "CancelToken", "Cancelled", "Const", "DeclaredOp", "Diagnostic",
    "DiagnosticWarning", "Error", "Extension", "FailedPrecondition", "InternalError", "InvalidArgument",
    "InvalidModel", "Model", "ModelNotFound", "NotFound", "OptimizeReport", "Outputs", "PassContext", "PassTime",
    "PipelineReport", "Program", "ResourceExhausted", "RuleCheck", "Rules", "Session", "Tensor", "TensorSpec", "Term",
    "TensorType", "Unavailable", "UnsupportedOperation", "View", "__version__", "errors", "ir", "load", "ops",
    "register_pass", "rule", "run_pipeline", "terms",
]
