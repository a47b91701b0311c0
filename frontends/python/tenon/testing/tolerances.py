"""How near two results must be, by element type."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from ..errors import InvalidArgument


class Tolerance(NamedTuple):
    """An element passes if |a - b| <= atol * max(1, largest |b| of the tensor) + rtol * |b|."""

    atol: float
    """The absolute tolerance, relative to the largest element if that is above 1."""
    rtol: float
    """The tolerance relative to the expected element."""


_EXACT = Tolerance(0, 0)

DEFAULTS: Mapping[str, Tolerance] = {
    "float64": Tolerance(1e-7, 1e-7),
    "float32": Tolerance(5e-5, 1e-4),
    "float16": Tolerance(2e-3, 2e-3),
    "bfloat16": Tolerance(1.6e-2, 1.6e-2),
    "float8_e4m3fn": Tolerance(0.125, 0.125),
    "float8_e5m2": Tolerance(0.25, 0.25),
    "bool": _EXACT,
} | {f"{sign}int{bits}": _EXACT for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)}
"""The tolerances of the element types, without settings. Those of other types are exact."""


def read(given: Any, place: str) -> dict[str, Tolerance]:
    """Reads {"float32": {"atol": 1e-4, "rtol": 1e-3}}. A missing number keeps its default.

    Raises:
      InvalidArgument: The settings are of another form. The message begins with `place`.
    """
    if not isinstance(given, dict):
        raise InvalidArgument(f"{place}: tolerances are a {type(given).__name__} (expected a table by element type)")
    tolerances = {}
    for dtype, numbers in given.items():
        if dtype not in DEFAULTS:
            raise InvalidArgument(f"{place}: there is no element type '{dtype}' (expected {', '.join(DEFAULTS)})")
        if not isinstance(numbers, dict) or set(numbers) - {"atol", "rtol"}:
            raise InvalidArgument(f"{place}: the tolerance of {dtype} is {numbers!r} (expected atol and rtol)")
        for name, number in numbers.items():
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number < float("inf"):
                raise InvalidArgument(f"{place}: {name} of {dtype} is {number!r} (expected a number from 0 on)")
        tolerances[dtype] = DEFAULTS[dtype]._replace(**numbers)
    return tolerances
