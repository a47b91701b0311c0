"""Checks of arguments. Each error names the argument, and says what was expected."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any

from .errors import InvalidArgument


def wrong(name: str, value: Any, expected: str) -> TypeError:
    """The exception for a value of a wrong type."""
    return TypeError(f"{name} is of the type {type(value).__name__} (expected {expected})")


def integer(name: str, value: Any, bits: int = 64, least: int | None = None) -> int:
    """An integer, also one of NumPy, that a signed number of `bits` bits holds and that is at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong(name, value, "an integer") from None
    if least is not None and number < least:
        raise InvalidArgument(f"{name} is {number} (expected {least} or more)")
    end = 1 << (bits - 1)
    if not -end <= number < end:
        raise InvalidArgument(f"{name} is {number} (expected {-end if least is None else least} to {end - 1})")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False. Texts and numbers are none, as "no" is true."""
    if not isinstance(value, bool):
        raise wrong(name, value, "True or False")
    return value


def text(name: str, value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong(name, value, "a str")
    return _utf8(name, value)


def path(name: str, value: Any) -> str:
    """A path. One that is no UTF-8 is refused: messages could not name it."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise wrong(name, value, "a path")
    return _utf8(name, os.fsdecode(value))


def _utf8(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} is {value!r}, which UTF-8 cannot express (expected a text or a path in UTF-8)") from None
    return value


def texts(name: str, values: Any) -> list[str]:
    """Texts. A str is one text, and not the list of its characters."""
    return [text(name, value) for value in _listed(name, values, str, "a str or a list of them")]


def paths(name: str, values: Any) -> list[str]:
    """Paths of files. A str is one path."""
    return [path(name, value) for value in _listed(name, values, (str, os.PathLike), "a path or a list of them")]


def _listed(name: str, values: Any, one: Any, expected: str) -> Iterable[Any]:
    if isinstance(values, one):
        return [values]
    if isinstance(values, (bytes, bytearray)) or not isinstance(values, Iterable):
        raise wrong(name, values, expected)
    items = list(values)
    for item in items:
        if not isinstance(item, one):
            raise wrong(f"{name}: an item", item, expected)
    return items
