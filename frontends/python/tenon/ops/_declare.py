"""What the generated modules of tenon.ops are made with."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, ParamSpec, TypeVar, Union

from .. import _core, rules
from ..insertion import InsertionPoint as InsertionPoint, current
from ._dialects import SHORT

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V", _core.Value, rules.Value)
"""A value of a program, or one of a rule that is traced."""
TypeLike = Union[_core.Type, str]
"""A type, or its text."""

_PLACE = ("ip", "node", "result_types")


def op(name: str, *operands: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Gives a function the body that makes the operation `name`. `operands` are the names of its operand groups."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def make(*args: P.args, **kwargs: P.kwargs) -> R:
            result: R = call(name, operands, args, dict(kwargs))
            return result

        return make

    return decorate


def call(name: str, operands: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Makes the operation at the insertion point, or a value of a rule if an operand is one."""
    if any(_in_rule(each) for each in (*args, *kwargs.values())):
        return _traced(name, operands, args, kwargs)
    where = kwargs.pop("ip", None)
    node = kwargs.pop("node", "")
    result_types = kwargs.pop("result_types", None)
    point = current(name) if where is None else where
    if not isinstance(point, InsertionPoint):
        raise TypeError(f"{name}: ip is a {type(point).__name__} (expected a tenon.ir.InsertionPoint)")
    block, before = point.place()
    return block.build(name, args, kwargs, result_types, node, before)


def _in_rule(value: Any) -> bool:
    return isinstance(value, rules.Value) or (isinstance(value, (list, tuple)) and any(map(_in_rule, value)))


def _traced(name: str, operands: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> rules.Value:
    """A value of a rule: operands in order, and lists among them as their elements."""
    for each in _PLACE:
        if each in kwargs:
            raise TypeError(f"{name}: a rule has no {each}")
    given = list(args)
    named = {each: kwargs.pop(each) for each in operands if each in kwargs}
    for each in operands[len(given):]:
        if not named:
            break
        if each not in named:
            raise TypeError(f"{name}: '{each}' is missing (a rule gives operands in order)")
        given.append(named.pop(each))
    flat: list[Any] = []
    for value in given:
        flat.extend(value if isinstance(value, (list, tuple)) else [value])
    dialect, _, short = name.partition(".")
    return rules.traced(short if dialect in SHORT and short else name, tuple(flat), kwargs)


class Namespace:
    """The operations of a dialect that is declared while the program runs: ops.my.gated(x, gate)."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("_"):
            raise AttributeError(name)
        return Namespace(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call(self._name, (), args, kwargs)

    def __repr__(self) -> str:
        return f"<tenon.ops.{self._name}>"


class _OpMeta(type):
    """An operation is an instance of the class with its name."""

    op_name = ""

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, _core.Operation) or not instance.is_alive:
            return False
        return cls.op_name == "" or instance.name == cls.op_name


if TYPE_CHECKING:

    class OpClass(_core.Operation):
        """The base of the classes of operations. They only serve isinstance() and match: functions make operations."""

        op_name: str
        """The name of the operation, such as "ten.add"."""

        def __init_subclass__(cls, name: str = "") -> None: ...
else:

    class OpClass(metaclass=_OpMeta):
        """The base of the classes of operations. They only serve isinstance() and match: functions make operations."""

        def __init_subclass__(cls, name: str = "") -> None:
            cls.op_name = name

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            raise TypeError(f"{cls.__name__} only tells operations (expected the function of tenon.ops that makes one)")
