"""The IR: modules, operations, blocks, regions, values, types and attributes.

    module = tenon.ir.parse(text)
    for op in module.walk():
        if op.name == "ten.relu":
            op.replace_with(op.operands)
    module.verify()
    model = tenon.Model.from_module(module)
"""

from __future__ import annotations

from ._core import Attribute, Block, Module, Operation, Region, Type, Value
from .models import load

__all__ = ["Attribute", "Block", "Module", "Operation", "Region", "Type", "Value", "parse"]


def parse(text: str | bytes, *, name: str = "<text>", allow_unregistered: bool = False) -> Module:
    """Reads a module from text, and verifies it. Raises InvalidModel, with diagnostics."""
    content = text.encode() if isinstance(text, str) else text
    return load(content, name=name, allow_unregistered=allow_unregistered).module()
