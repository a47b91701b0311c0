"""Elementwise operators, reductions and running sums."""

import numpy as np
from onnx import TensorProto

from case import FLOATS, INTS, NUMBERS, i64, make

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-30, 3e9, -3e9, 1e30]


def values(r, shape, dtype, low=None, high=None):
    """Numbers; sometimes the corners of the type."""
    x = r.array(shape, dtype, low, high)
    if np.dtype(dtype).kind == "f" and r.chance(0.25) and low is None:
        mask = r.rng.random(x.shape) < 0.3
        x = np.where(mask, r.rng.choice(SPECIAL, x.shape).astype(dtype), x)
    elif np.dtype(dtype).kind in "iu" and r.chance(0.2) and low is None and high is None:
        limits = np.iinfo(dtype)
        mask = r.rng.random(x.shape) < 0.3
        x = np.where(
            mask, r.rng.choice(np.array([limits.min, limits.max, limits.max - 1], dtype), x.shape), x
        )
    return np.asarray(x, dtype)


def unary(op, types=FLOATS, opset=(13, 22, 23), low=None, high=None):
    def generate(r):
        return make(r, op, [values(r, r.shape(), r.pick(types), low, high)], opset=r.pick(opset))

    return generate


def binary(op, types=NUMBERS, opset=(13, 23), low=None):
    def generate(r):
        dtype, shape = r.pick(types), r.shape()
        a, b = r.broadcast(shape), list(shape)
        if r.chance(0.5):
            a, b = b, a
        return make(
            r,
            op,
            [values(r, a, dtype, low), values(r, b, dtype, low)],
            opset=r.pick(opset),
            constants=(1,) if r.chance(0.4) else (),
        )

    return generate


def div(r):
    dtype, shape = r.pick(NUMBERS + INTS), r.shape()
    a = values(r, r.broadcast(shape), dtype)
    b = values(r, shape, dtype)
    if np.dtype(dtype).kind in "iu":
        a = np.where(a == np.iinfo(dtype).min, np.asarray(1, dtype), a)
        b = np.where(b == 0, np.asarray(3, dtype), b)
    return make(r, "Div", [a, b], opset=r.pick((13, 14, 23)), constants=(1,) if r.chance(0.4) else ())


def mod(r):
    dtype, shape = r.pick(FLOATS + INTS), r.shape()
    a, b = r.array(r.broadcast(shape), dtype), r.array(shape, dtype)
    b = np.where(b == 0, np.asarray(3, dtype), b)
    kind = np.dtype(dtype).kind
    attributes = {"fmod": 1} if kind == "f" or r.chance(0.4) else {}
    return make(r, "Mod", [a, b], attributes, opset=r.pick((10, 13)), constants=(1,))


def power(r):
    shape = r.shape()
    base = r.pick((np.float32, np.float64, np.int32, np.int64))
    exponent = r.pick((np.float32, np.float64, np.int32, np.int64))
    low = 0 if np.dtype(exponent).kind == "f" or r.chance(0.3) else -2
    a = r.array(r.broadcast(shape), base, low, 4)
    least = 0 if np.dtype(base).kind == "i" else -3
    b = r.array(shape, exponent, least, 4)
    return make(r, "Pow", [a, b], opset=r.pick((12, 13, 15)), constants=(1,))


def compare(op):
    def generate(r):
        types = FLOATS + INTS + ((np.bool_,) if op == "Equal" else ())
        dtype, shape = r.pick(types), r.shape()
        return make(
            r,
            op,
            [values(r, r.broadcast(shape), dtype), values(r, shape, dtype)],
            opset=r.pick((11, 13, 16, 19)) if op in ("Equal",) else r.pick((12, 13, 16)),
        )

    return generate


def logical(op):
    def generate(r):
        shape = r.shape()
        return make(
            r,
            op,
            [r.array(shape, np.bool_), r.array(r.broadcast(shape), np.bool_)],
            opset=r.pick((11, 13, 23)),
        )

    return generate


def variadic(op):
    def generate(r):
        types = FLOATS + INTS if op in ("Max", "Min") else FLOATS
        dtype, shape = r.pick(types), r.shape()
        inputs = [values(r, r.broadcast(shape), dtype) for _ in range(r.int(1, 4))]
        return make(r, op, inputs, opset=r.pick((12, 13)))

    return generate


def where(r):
    dtype, shape = r.pick(NUMBERS + (np.bool_,)), r.shape()
    return make(
        r,
        "Where",
        [r.array(r.broadcast(shape), np.bool_), r.array(shape, dtype), r.array(r.broadcast(shape), dtype)],
        opset=r.pick((11, 16)),
    )


def cast(r):
    source = r.pick(FLOATS + INTS + (np.bool_,))
    target = r.pick(
        [
            TensorProto.FLOAT,
            TensorProto.FLOAT16,
            TensorProto.DOUBLE,
            TensorProto.BOOL,
            TensorProto.INT8,
            TensorProto.UINT8,
            TensorProto.INT16,
            TensorProto.UINT16,
            TensorProto.INT32,
            TensorProto.UINT32,
            TensorProto.INT64,
            TensorProto.UINT64,
        ]
    )
    x = r.array(
        r.shape(), source, -100 if np.dtype(source).kind in "fi" and target != TensorProto.UINT64 else 0, 100
    )
    if np.dtype(source).kind == "f" and target in (
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.DOUBLE,
        TensorProto.BOOL,
    ):
        x = values(r, x.shape, source)
    if np.dtype(source).kind == "f" and target in (
        TensorProto.UINT8,
        TensorProto.UINT16,
        TensorProto.UINT32,
        TensorProto.UINT64,
    ):
        x = np.abs(x)
    return make(
        r,
        "Cast",
        [x],
        {"to": target, **(r.subset(saturate=r.int(0, 1)) if r.chance(0.3) else {})},
        opset=19 if r.chance(0.5) else 21,
    )


def clip(r):
    dtype = r.pick(FLOATS + INTS)
    x = r.array(r.shape(), dtype)  # no infinities: without a bound the oracles disagree about them
    low, high = sorted([r.int(0 if np.dtype(dtype).kind == "u" else -5, 5), r.int(0, 6)])
    if r.chance(0.2):
        low, high = high, low
    opset = r.pick((6, 11, 12, 13))
    if opset == 6:
        x = x.astype(np.float32)
        return make(r, "Clip", [x], r.subset(min=float(low), max=float(high)), opset=7)
    if opset == 11:
        x = x.astype(np.float32)
    low = np.asarray(low).astype(x.dtype) if r.chance(0.7) else None
    high = np.asarray(high).astype(x.dtype) if r.chance(0.7) else None
    if high is not None and np.dtype(x.dtype).kind == "f" and r.chance(0.1):
        high = np.asarray(np.inf).astype(x.dtype)
    return make(r, "Clip", [x, low, high], opset=opset, constants=(1, 2))


def reduce(op, axes_input_since=18):
    def generate(r):
        types = (np.float32, np.float64, np.int32, np.int64, np.float32)
        if op in ("ReduceMax", "ReduceMin"):
            types += (np.int8, np.uint8, np.bool_)
        if op in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2"):
            types = (np.float32, np.float64)  # of integers they have no meaning that oracles share
        dtype = r.pick(types)
        opset = r.pick((11, 13, 18, 20))
        if dtype == np.bool_:
            opset = 20
        empty = op in (
            "ReduceSum",
            "ReduceL1",
            "ReduceL2",
            "ReduceSumSquare",
        )  # ONNX Runtime has a meaning of its own else
        shape = r.shape(zero=0.06 if empty else 0, most=3 if op == "ReduceProd" else 5)
        low = {"ReduceLogSum": 0.1, "ReduceProd": -2, "ReduceLogSumExp": -3}.get(op)
        if np.dtype(dtype).kind == "i" and low is not None:
            low = 1
        x = r.array(shape, dtype, low, 4 if op in ("ReduceProd", "ReduceLogSumExp") else None)
        if (
            np.dtype(dtype).kind == "f"
            and op in ("ReduceMax", "ReduceMin", "ReduceLogSumExp")
            and r.chance(0.2)
        ):
            x = np.where(
                r.rng.random(x.shape) < 0.3, r.rng.choice([np.inf, -np.inf], x.shape).astype(dtype), x
            ).astype(dtype)
        attributes = r.subset(keepdims=r.int(0, 1))
        axes = r.axes(len(shape)) if r.chance(0.7) else None
        inputs = [x]
        if opset >= axes_input_since:
            attributes.update(r.subset(noop_with_empty_axes=r.int(0, 1)))
            if axes is not None:
                inputs.append(i64(axes))
        elif axes:
            attributes["axes"] = axes
        return make(r, op, inputs, attributes, opset=opset, constants=(1,))

    return generate


def cumsum(r):
    dtype = r.pick((np.float32, np.float64, np.int32, np.int64))
    shape = r.shape(1)
    axis = np.asarray(r.axis(len(shape)), r.pick((np.int32, np.int64)))
    if r.chance(0.2):
        axis = axis.reshape(1)
    return make(
        r,
        "CumSum",
        [r.array(shape, dtype), axis],
        r.subset(exclusive=r.int(0, 1), reverse=r.int(0, 1)),
        opset=r.pick((11, 14)),
        constants=(1,),
    )


def arg(op):
    def generate(r):
        shape = r.shape(1, zero=0)
        x = np.round(r.array(shape, r.pick((np.float32, np.int32, np.float64))), 0)
        return make(
            r,
            op,
            [x],
            r.subset(axis=r.axis(len(shape)), keepdims=r.int(0, 1), select_last_index=r.int(0, 1)),
            opset=r.pick((12, 13)),
        )

    return generate


def hard_sigmoid(r):
    return make(
        r,
        "HardSigmoid",
        [r.array(r.shape(), r.pick(FLOATS), -5, 5)],
        r.subset(alpha=float(r.pick((0.1, 0.2, 1 / 6, -0.3))), beta=float(r.pick((0.5, 0, -1)))),
        opset=r.pick((6, 22)),
    )


def swiglu(r):
    shape = r.shape()
    return make(r, "SwiGLU", [r.array(shape), r.array(shape)], r.subset(alpha=r.pick((1.0, 1.702, -0.5))), opset=28)


def gelu(r):
    return make(
        r,
        "Gelu",
        [values(r, r.shape(), r.pick(FLOATS))],
        r.subset(approximate=r.pick(("none", "tanh"))),
        opset=20,
    )


def is_inf(r):
    return make(
        r,
        "IsInf",
        [values(r, r.shape(), np.float32)],
        r.subset(detect_negative=r.int(0, 1), detect_positive=r.int(0, 1)),
        opset=r.pick((10, 20)),
    )


def shift(r):
    dtype, shape = r.pick((np.uint8, np.uint32, np.uint64)), r.shape()
    return make(
        r,
        "BitShift",
        [values(r, r.broadcast(shape), dtype), r.array(shape, dtype, 0, 8)],
        {"direction": r.pick(("LEFT", "RIGHT"))},
        opset=11,
    )


def leaky(op, **attributes):
    def generate(r):
        return make(
            r,
            op,
            [values(r, r.shape(), r.pick(FLOATS))],
            r.subset(**attributes),
            opset=r.pick((7, 16) if op == "LeakyRelu" else (6, 22)),
        )

    return generate


GENERATORS = {
    "Abs": unary("Abs", FLOATS + INTS),
    "Neg": unary("Neg", FLOATS + INTS[:3] + (np.int16,)),
    "Sign": unary("Sign", (np.float32, np.float64) + INTS),
    "Ceil": unary("Ceil"),
    "Floor": unary("Floor"),
    "Round": unary("Round"),
    "Cos": unary("Cos", low=-9, high=9),
    "Sin": unary("Sin", low=-9, high=9),
    "Tan": unary("Tan", (np.float32,), low=-1.4, high=1.4),
    "Erf": unary("Erf"),
    "Exp": unary("Exp"),
    "Log": unary("Log"),
    "Sqrt": unary("Sqrt"),
    "Reciprocal": unary("Reciprocal"),
    "Relu": unary("Relu", FLOATS + (np.int32, np.int8), (14, 23)),
    "Sigmoid": unary("Sigmoid"),
    "Tanh": unary("Tanh"),
    "Atan": unary("Atan", (np.float32,)),
    "Asinh": unary("Asinh", (np.float32,)),
    "IsNaN": unary("IsNaN"),
    "Not": unary("Not", (np.bool_,)),
    "HardSwish": unary("HardSwish", opset=(14, 22)),
    "SwiGLU": swiglu,
    "Softplus": unary("Softplus", (np.float32,)),
    "Mish": unary("Mish", opset=(18, 22)),
    "Identity": unary("Identity", FLOATS + INTS + (np.bool_,)),
    "BitwiseNot": unary("BitwiseNot", INTS, (18,)),
    "Add": binary("Add", NUMBERS + INTS, (13, 14)),
    "Sub": binary("Sub", NUMBERS + INTS, (13, 14)),
    "Mul": binary("Mul", NUMBERS + INTS, (13, 14)),
    "Div": div,
    "Mod": mod,
    "Pow": power,
    "Where": where,
    "Cast": cast,
    "Clip": clip,
    "CumSum": cumsum,
    "HardSigmoid": hard_sigmoid,
    "Gelu": gelu,
    "IsInf": is_inf,
    "And": logical("And"),
    "Or": logical("Or"),
    "Xor": logical("Xor"),
    "Max": variadic("Max"),
    "Min": variadic("Min"),
    "Sum": variadic("Sum"),
    "Mean": variadic("Mean"),
    "Equal": compare("Equal"),
    "Greater": compare("Greater"),
    "GreaterOrEqual": compare("GreaterOrEqual"),
    "Less": compare("Less"),
    "LessOrEqual": compare("LessOrEqual"),
    "ReduceSum": reduce("ReduceSum", 13),
    "ArgMax": arg("ArgMax"),
    "ArgMin": arg("ArgMin"),
    "BitShift": shift,
    "LeakyRelu": leaky("LeakyRelu", alpha=0.3),
    "Elu": leaky("Elu", alpha=0.7),
    "Selu": leaky("Selu", alpha=1.2, gamma=0.8),
    "ThresholdedRelu": leaky("ThresholdedRelu", alpha=0.4),
    **{
        op: reduce(op)
        for op in (
            "ReduceMean",
            "ReduceMax",
            "ReduceMin",
            "ReduceProd",
            "ReduceL1",
            "ReduceL2",
            "ReduceLogSum",
            "ReduceLogSumExp",
            "ReduceSumSquare",
        )
    },
}
