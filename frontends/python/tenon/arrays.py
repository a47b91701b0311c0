"""Tensors that are no plain buffers: lists, numbers, and NumPy arrays of the types of ml_dtypes."""

from __future__ import annotations

import numbers
from typing import Any


def adapt(value: Any, dtype: str, name: str) -> tuple[Any, str | None]:
    """Returns an object with a buffer for `value`, and the name of its element type if the buffer does not say it.

    `dtype` is the element type that the input `name` has, or "invalid" if there is none. Lists and numbers get it.
    TypeError if `value` is no tensor.
    """
    import numpy

    if isinstance(value, (list, tuple, numbers.Number)):
        wanted = None if dtype == "invalid" else dtype
        if wanted is not None and not _numpy_has(wanted):
            raise TypeError(f"'{name}': NumPy has no {wanted} (expected a tensor with DLPack, or a tenon.Tensor)")
        try:
            array = numpy.asarray(value, dtype=wanted)
        except (ValueError, TypeError, OverflowError) as error:
            raise TypeError(f"'{name}': {error} (expected numbers of the type {wanted or 'of an array'})") from None
        if array.dtype.hasobject:
            raise TypeError(f"'{name}': a list of Python objects (expected numbers)")
        return array, None
    if isinstance(value, numpy.ndarray) or isinstance(value, numpy.generic):
        array = numpy.asarray(value)
        kind = array.dtype.name
        bits = {1: numpy.uint8, 2: numpy.uint16}.get(array.dtype.itemsize)
        if array.dtype.kind == "V" and array.dtype.names is None and bits is not None and kind.startswith(("bf", "fl")):
            return array.view(bits), kind
        raise TypeError(f"'{name}': an array of {kind} (expected numbers or booleans)")
    if hasattr(value, "__array__"):
        try:
            return numpy.asarray(value), None
        except Exception as error:
            raise TypeError(f"'{name}': {error}") from error
    raise TypeError(f"'{name}': an object of type {type(value).__name__} (expected an array)")


def _numpy_has(dtype: str) -> bool:
    return not dtype.startswith(("bfloat", "float8", "float4", "int4", "int2", "uint4", "uint2"))
