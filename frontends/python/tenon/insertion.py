"""Places in a program where operations are made."""

from __future__ import annotations

import contextvars
from types import TracebackType
from typing import Union

from . import _core
from .errors import FailedPrecondition


class InsertionPoint:
    """A place in a block: at its end, or before an operation.

    In `with InsertionPoint(block):` the functions of tenon.ops make operations there, one behind the other. Each
    thread and each asyncio task has insertion points of its own.

    Args:
      where: A block, for its end, or the operation before which others are made.
    """

    __slots__ = ("_block", "_before", "_tokens")

    def __init__(self, where: Union[_core.Block, _core.Operation]) -> None:
        self._block: _core.Block | None = None
        self._before: _core.Operation | None = None
        if isinstance(where, _core.Block):
            self._block = where
        elif isinstance(where, _core.Operation):
            self._before = where
        else:
            raise TypeError(f"an insertion point is made from a {type(where).__name__} (expected a Block or an Operation)")
        self._tokens: list[contextvars.Token[InsertionPoint | None]] = []

    @classmethod
    def at_start(cls, block: _core.Block) -> InsertionPoint:
        """Before the first operation that the block has, or at its end."""
        operations = block.operations
        return cls(operations[0] if operations else block)

    @classmethod
    def after(cls, op: _core.Operation) -> InsertionPoint:
        """Before the operation that follows `op`, or at the end of the block."""
        behind = op.next
        if behind is not None:
            return cls(behind)
        block = op.block
        if block is None:
            raise FailedPrecondition(f"{op.name} is in no block (expected an operation of a function)")
        return cls(block)

    def place(self) -> tuple[_core.Block, _core.Operation | None]:
        """The block, and the operation before which others are made; None for the end."""
        if self._before is None:
            assert self._block is not None
            return self._block, None
        block = self._before.block
        if block is None:
            raise FailedPrecondition(f"{self._before.name} is in no block (expected an operation of a function)")
        return block, self._before

    def __enter__(self) -> InsertionPoint:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        _current.reset(self._tokens.pop())


_current: contextvars.ContextVar[InsertionPoint | None] = contextvars.ContextVar("insertion_point", default=None)


def current(name: str) -> InsertionPoint:
    """The innermost insertion point. FailedPrecondition, which names the operation, if there is none."""
    point = _current.get()
    if point is None:
        raise FailedPrecondition(f"{name}: there is no insertion point (expected a call inside of `with "
                                 "tenon.ir.InsertionPoint(block):`, or ip=)")
    return point
