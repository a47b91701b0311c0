"""The IR: modules, operations, blocks, regions, values, types and attributes.

    module = tenon.ir.parse(text)
    for op in module.walk():
        if isinstance(op, tenon.ops.ten.Relu):
            op.replace_with(op.operands)
    module.verify()
    model = tenon.Model.from_module(module)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Union

from . import arguments
from ._core import Attribute, Block, Module, Operation, Region, Type, Value
from .insertion import InsertionPoint
from .models import load

if TYPE_CHECKING:
    from .extension import Extension

__all__ = ["Attribute", "Block", "InsertionPoint", "Module", "Operation", "Region", "Type", "Value", "function", "parse",
           "tensor"]

TypeLike = Union[Type, str]


def parse(text: str | bytes, *, name: str = "<text>", allow_unregistered: bool = False,
          extension: Extension | None = None) -> Module:
    """Reads a module from text, and verifies it. Raises InvalidModel, with diagnostics."""
    content = text.encode() if isinstance(text, str) else text
    return load(content, name=name, allow_unregistered=allow_unregistered, extension=extension).module()


def tensor(dtype: str, shape: Sequence[int | str | None] | None) -> str:
    """Returns the text of a tensor type, such as tensor("f32", ("B", 8)).

    Args:
      dtype: The element type as in text: "f32", "i64", "i1".
      shape: Numbers, expressions of symbols, and None for dimensions of which nothing is known. None: any rank.
    """
    arguments.text("the element type", dtype)
    if shape is None:
        return f"tensor<*x{dtype}>"
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise arguments.wrong("the shape", shape, "a tuple such as ('B', 8)")
    shape = tuple(shape)
    extents = "".join(f"{_extent(dim)}x" for dim in shape)
    if not any(isinstance(dim, str) for dim in shape):
        return f"tensor<{extents}{dtype}>"
    names = ", ".join('"' + dim.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(dim, str) else '""'
                      for dim in shape)
    return f"tensor<{extents}{dtype}, [{names}]>"


def _extent(dim: Any) -> str:
    """The text of a dimension in front of the element type."""
    if dim is None or isinstance(dim, str):
        return "?"
    return str(arguments.integer("a dimension", dim, least=0))


def function(module: Module, name: str = "main", **inputs: TypeLike) -> Callable[[Callable[..., Any]], Operation]:
    """Makes a function of a module from a function of Python, which gets the arguments as values.

        @tenon.ir.function(module, x=tenon.ir.tensor("f32", ("B", 8)))
        def main(x):
            return {"y": ops.nn.gelu(x)}

    The decorated name becomes the operation func.func. An error leaves the module as it was.

    Args:
      module: The module, which gets the function at its end.
      name: The name of the function; a program runs `main`.
      inputs: The type of each argument, by its name in Python and in the program.

    The function of Python runs once, with an insertion point in its body. It returns a value, a tuple of values, or a
    dict of values by the names of the results.
    """
    types = {key: module.type(given) if isinstance(given, str) else given for key, given in inputs.items()}

    def build(body: Callable[..., Any]) -> Operation:
        top = module.operation.regions[0].blocks[0]
        signature = f"({', '.join(map(str, types.values()))}) -> "
        made = top.append("func.func", [], {"sym_name": name, "function_type": module.type(signature + "()")}, [], regions=1)
        try:
            block = made.regions[0].add_block(list(types.values()))
            for key, argument in zip(types, block.arguments):
                argument.name = key
            with InsertionPoint(block):
                returned = body(**dict(zip(types, block.arguments)))
            names, values = _results(body, returned)
            block.append("func.return", values, {}, [])
            results = ", ".join(str(value.type) for value in values)
            made.set_attribute("function_type", module.type(f"{signature}({results})"))
            if types:
                made.set_attribute("arg_attrs", [{"core.name": key} for key in types])
            if names:
                made.set_attribute("res_attrs", [{"core.name": key} for key in names])
        except BaseException:
            if made.is_alive:
                made.erase()
            raise
        return made

    return build


def _results(body: Callable[..., Any], returned: Any) -> tuple[list[str], list[Value]]:
    """Names, which may be none, and values of what the function has returned."""
    names = list(returned) if isinstance(returned, Mapping) else []
    values = (list(returned.values()) if isinstance(returned, Mapping)
              else list(returned) if isinstance(returned, (tuple, list)) else [returned])
    for value in values:
        if not isinstance(value, Value):
            raise TypeError(f"{getattr(body, '__name__', 'the function')} returned a {type(value).__name__} "
                            "(expected a Value, a tuple of them, or a dict of them by name)")
    return names, values
