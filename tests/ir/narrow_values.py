#!/usr/bin/env python3
"""Prints the hashes of narrow_number_test.cc, made of the values of the package ml_dtypes.

    narrow_values.py

A row holds the type, the hash of the numbers of all elements, and the hashes of the elements of all f16 numbers with and
without saturation. A NaN has no part in a hash, because each package has its own bits for it.
"""

import ml_dtypes
import numpy

TYPES = {
    "kF8E4M3FN": (ml_dtypes.float8_e4m3fn, 8), "kF8E4M3FNUZ": (ml_dtypes.float8_e4m3fnuz, 8),
    "kF8E5M2": (ml_dtypes.float8_e5m2, 8), "kF8E5M2FNUZ": (ml_dtypes.float8_e5m2fnuz, 8),
    "kF4E2M1FN": (ml_dtypes.float4_e2m1fn, 4), "kI4": (ml_dtypes.int4, 4), "kI2": (ml_dtypes.int2, 2),
    "kU4": (ml_dtypes.uint4, 4), "kU2": (ml_dtypes.uint2, 2),
}


def fnv(data):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def encoded(halves, dtype, bits, saturate):
    """The elements of all halves whose conversion is defined, with 0 above their bits."""
    numbers = halves.astype(numpy.float32)
    if dtype in (ml_dtypes.int4, ml_dtypes.int2, ml_dtypes.uint4, ml_dtypes.uint2):
        numbers = numbers[numpy.isfinite(numbers)]
        info = ml_dtypes.iinfo(dtype)
        if saturate:
            numbers = numpy.clip(numpy.rint(numbers), int(info.min), int(info.max))
    else:
        numbers = numbers[~numpy.isnan(numbers)]
        if saturate:
            largest = float(ml_dtypes.finfo(dtype).max)
            numbers = numpy.clip(numbers, -largest, largest)
    made = numbers.astype(dtype)
    elements = made.view(numpy.uint8) & ((1 << bits) - 1)
    return elements[~numpy.isnan(made.astype(numpy.float32))]


def main():
    halves = numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16)
    for name, (dtype, bits) in TYPES.items():
        numbers = numpy.arange(1 << bits, dtype=numpy.uint8).view(dtype).astype(numpy.float32)
        hashes = [fnv(numbers[~numpy.isnan(numbers)].tobytes())]
        hashes += [fnv(encoded(halves, dtype, bits, saturate).tobytes()) for saturate in (True, False)]
        print(f"{{DType::{name}, {', '.join(f'0x{h:016x}u' for h in hashes)}}},")


if __name__ == "__main__":
    main()
