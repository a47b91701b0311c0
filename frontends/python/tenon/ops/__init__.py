"""Operations: a function that makes each one, and a class that tells it and names its parts.

    with tenon.ir.InsertionPoint(block):
        y = ops.nn.layer_norm(x, scale, bias, epsilon=1e-6)
    if isinstance(op, ops.ten.Softmax):
        print(op.x.type, op.axis)

`ops.ten`, `ops.nn` and so on are modules, one for each dialect. The dialects ten, nn and core may be left out: `ops.relu`. Operations that
a tenon.Extension declares are `ops.my.gated`. In a function of @tenon.rule the same calls make the graphs of a rule.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from ._declare import Namespace, OpClass

if TYPE_CHECKING:
    from ._dialects import *

__all__ = ["OpClass"]


def __getattr__(name: builtins.str) -> Any:
    # Dialects are read when they are first used, as they are long.
    if name.startswith("_"):
        raise AttributeError(f"module 'tenon.ops' has no attribute '{name}'")
    import importlib

    from . import _dialects

    if name in _dialects.DIALECTS:
        return importlib.import_module(f".{name}", __name__)
    for dialect in _dialects.SHORT:
        module = importlib.import_module(f".{dialect}", __name__)
        if hasattr(module, name):
            return getattr(module, name)
    return Namespace(name)


def __dir__() -> list[builtins.str]:
    from . import _dialects

    return sorted([*_dialects.DIALECTS, *__all__])
