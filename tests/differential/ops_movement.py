"""Operators that move, pick and make elements."""

import numpy as np
from onnx import TensorProto, helper

from case import FLOATS, INTS, NUMBERS, i64, make

ALL = NUMBERS + (np.bool_,)


def concat(r):
    dtype, shape = r.pick(ALL), r.shape(1)
    axis = r.axis(len(shape))
    parts = []
    for _ in range(r.int(1, 4)):
        part = list(shape)
        part[axis] = r.int(0, 4)
        parts.append(r.array(part, dtype))
    return make(r, "Concat", parts, {"axis": axis}, opset=r.pick((11, 13)))


def slice_(r):
    shape = r.shape(1)
    axes = r.axes(len(shape), 1)
    if r.chance(0.2):
        axes = list(range(r.int(1, len(shape))))
        given = None
    else:
        given = np.array(axes, r.pick((np.int32, np.int64)))
    kind = np.int64 if given is None else given.dtype
    big = np.iinfo(kind).max
    bound = lambda: r.pick(
        [r.int(-7, 7), r.int(-7, 7), big, np.iinfo(kind).min, np.iinfo(kind).min + 1, 0, 1, -1]
    )
    starts, ends = [bound() for _ in axes], [bound() for _ in axes]
    steps = (
        np.array([r.pick([1, 1, 2, 3, -1, -2, -3, 100, -100]) for _ in axes], kind)
        if r.chance(0.7) and given is not None
        else None
    )
    if steps is not None:  # ONNX Runtime takes the largest end of a negative step for the smallest
        ends = [9 if step < 0 and end == big else end for end, step in zip(ends, steps)]
    return make(
        r,
        "Slice",
        [r.array(shape, r.pick(ALL)), np.array(starts, kind), np.array(ends, kind), given, steps],
        opset=r.pick((10, 11, 13)),
        constants=(1, 2, 3, 4),
    )


def split(r):
    shape = r.shape(1, zero=0)
    axis, count, opset = r.axis(len(shape)), r.int(1, 4), r.pick((11, 13, 18))
    x_extent = r.int(count, 9)
    way = r.pick(("sizes", "equal"))
    attributes, inputs = r.subset(axis=axis), []
    at = attributes.get("axis", 0)
    if way == "sizes":
        sizes = [r.int(0, 3) for _ in range(count)]
        shape[at] = sum(sizes)
        if opset < 13:
            attributes["split"] = sizes
        else:
            inputs = [i64(sizes)]
    elif opset >= 18:
        attributes["num_outputs"] = count
        shape[at] = x_extent
        if count * (-(-x_extent // count)) - x_extent >= -(-x_extent // count):
            shape[at] = count * 2
    else:
        shape[at] = count * r.int(0, 3)
    return make(
        r,
        "Split",
        [r.array(shape, r.pick((np.float32, np.int32, np.int64, np.uint8))), *inputs],
        attributes,
        outputs=count,
        opset=opset,
        constants=(1,),
    )


def gather(r):
    shape = r.shape(1, zero=0)
    axis = r.axis(len(shape))
    attributes = r.subset(axis=axis)
    n = shape[attributes.get("axis", 0)]
    indices = r.array(r.shape(0, 3), r.pick((np.int32, np.int64)), -n, n)
    return make(
        r,
        "Gather",
        [r.array(shape, r.pick(ALL)), indices],
        attributes,
        opset=r.pick((11, 13)),
        constants=(1,) if r.chance(0.5) else (),
    )


def gather_elements(r):
    shape = r.shape(1, zero=0)
    attributes = r.subset(axis=r.axis(len(shape)))
    axis = attributes.get("axis", 0) % len(shape)
    n = shape[axis]
    indices_shape = [r.int(0, 6) if i == axis else r.int(1, d) for i, d in enumerate(shape)]
    return make(
        r,
        "GatherElements",
        [r.array(shape, r.pick(ALL)), r.array(indices_shape, r.pick((np.int32, np.int64)), -n, n)],
        attributes,
        opset=r.pick((11, 13)),
        constants=(1,) if r.chance(0.3) else (),
    )


def nd_indices(r, shape, batch, depth, lead):
    columns = [r.array(lead, np.int64, -shape[batch + k], shape[batch + k]) for k in range(depth)]
    return np.stack(columns, -1)


def tensor_scatter(r):
    rank = r.int(2, 4)
    shape = [r.int(1, 4) for _ in range(rank)]
    circular = r.chance(0.5)
    attributes = r.subset(axis=r.int(1, rank - 1) - r.pick((0, rank)))
    axis = attributes.get("axis", -2) % rank
    if axis == 0:
        attributes["axis"] = axis = 1
    update = shape[:axis] + [r.int(1, shape[axis])] + shape[axis + 1 :]
    if circular:
        attributes["mode"] = "circular"
    inputs = [r.array(shape), r.array(update)]
    if r.chance(0.8):
        last = 9 if circular else shape[axis] - update[axis] + 1
        inputs.append(r.array([shape[0]], np.int64, 0, last))
    return make(r, "TensorScatter", inputs, attributes, opset=24)


def gather_nd(r):
    shape = r.shape(1, zero=0)
    batch = r.int(0, len(shape) - 1)
    depth = r.int(1, len(shape) - batch)
    lead = shape[:batch] + r.shape(0, 2)
    indices = nd_indices(r, shape, batch, depth, lead)
    return make(
        r,
        "GatherND",
        [r.array(shape, r.pick(ALL)), indices],
        {"batch_dims": batch} if batch or r.chance(0.5) else {},
        opset=r.pick((12, 13)),
        constants=(1,) if r.chance(0.3) else (0,),
    )


def scatter_nd(r):
    shape = r.shape(1, zero=0)
    depth = r.int(1, len(shape))
    lead = r.shape(0, 2)
    reduction = r.pick(("none", "add", "mul", "max", "min"))
    indices = nd_indices(r, shape, 0, depth, lead)
    if reduction == "none":  # which of several updates stays is not defined
        flat = indices.reshape(-1, depth)
        seen, keep = set(), []
        for row in flat:
            key = tuple(int(v) % shape[k] for k, v in enumerate(row))
            if key not in seen:
                seen.add(key)
                keep.append(row)
        indices = np.array(keep, np.int64).reshape(-1, depth)
        lead = [len(indices)]
    dtype = r.pick((np.float32, np.float64, np.int64, np.int32))
    updates = r.array(lead + shape[depth:], dtype)
    attributes = {} if reduction == "none" and r.chance(0.5) else {"reduction": reduction}
    opset = r.pick((11, 13)) if not attributes else 18 if reduction in ("max", "min") else r.pick((16, 18))
    return make(r, "ScatterND", [r.array(shape, dtype), indices, updates], attributes, opset=opset)


def scatter_elements(r):
    shape = r.shape(1, zero=0)
    attributes = r.subset(axis=r.axis(len(shape)))
    axis = attributes.get("axis", 0) % len(shape)
    reduction = r.pick(("none", "add", "mul", "max", "min"))
    lead = [r.int(1, d) for d in shape]
    dtype = r.pick((np.float32, np.float64, np.int64, np.int32))
    if reduction == "none":
        order = np.argsort(r.rng.random(lead[:axis] + [shape[axis]] + lead[axis + 1 :]), axis)
        indices = np.take(order, range(lead[axis]), axis)
        indices = np.where(r.rng.random(indices.shape) < 0.3, indices - shape[axis], indices)
    else:
        indices = r.array(lead, np.int64, -shape[axis], shape[axis])
        attributes["reduction"] = reduction
    return make(
        r, "ScatterElements", [r.array(shape, dtype), indices, r.array(lead, dtype)], attributes, opset=18
    )


def pad(r):
    shape = r.shape(1, zero=0.02)
    rank = len(shape)
    opset = r.pick((11, 13, 18, 19, 21, 23))
    mode = r.pick(
        ("constant", "constant", "reflect", "edge", "wrap")
        if opset >= 19
        else ("constant", "reflect", "edge")
    )
    axes = r.axes(rank, 1) if opset >= 18 and r.chance(0.5) else None
    picked = [a % rank for a in axes] if axes is not None else list(range(rank))
    low = -2 if r.chance(0.3) else 0
    begins, ends = [], []
    for axis in picked:
        d = shape[axis]
        most = {"constant": 4, "edge": 4, "reflect": max(d - 1, 0), "wrap": d}[mode]
        b, e = r.int(max(low, -d), most), r.int(max(low, -d), most)
        if b + e + d < 0 or (
            mode != "constant" and (b + d <= 0 or e + d <= 0 or b + e + d <= 0 or d == 0 or min(b, e) < 0)
        ):
            b = e = 0
        begins.append(b)
        ends.append(e)
    dtype = r.pick(
        (np.float32, np.float64, np.int32, np.int64) + ((np.bool_, np.uint8) if opset >= 13 else ())
    )
    value = r.array([], dtype) if r.chance(0.5) and mode == "constant" else None
    kind = r.pick((np.int32, np.int64))
    return make(
        r,
        "Pad",
        [r.array(shape, dtype), i64(begins + ends), value, None if axes is None else np.array(axes, kind)],
        {"mode": mode} if mode != "constant" or r.chance(0.5) else {},
        opset=opset,
        constants=(1, 3),
    )


def trilu(r):
    k = np.asarray(r.int(-7, 7), np.int64) if r.chance(0.8) else None
    return make(
        r,
        "Trilu",
        [r.array(r.shape(2), r.pick((np.float32, np.float64, np.int64, np.bool_, np.int32))), k],
        r.subset(upper=r.int(0, 1)),
        opset=14,
        constants=(1,),
    )


def tile(r):
    shape = r.shape()
    return make(
        r,
        "Tile",
        [
            r.array(shape, r.pick((np.float32, np.int64, np.bool_, np.int32, np.uint8))),
            i64([r.pick((0, 1, 1, 2, 3)) for _ in shape]),
        ],
        opset=r.pick((6, 13)),
        constants=(1,),
    )


def range_(r):
    dtype = r.pick((np.float32, np.float64, np.int32, np.int64, np.int16))
    start, limit = r.array([], dtype, -9, 9), r.array([], dtype, -9, 9)
    step = np.asarray(
        r.pick((1, 2, 3, -1, -2, -3)) * (1 if np.dtype(dtype).kind == "i" else r.pick((1, 0.5, 0.3))), dtype
    )
    return make(r, "Range", [start, limit, step], opset=11, constants=(0, 1, 2))


def reshape(r):
    shape = r.shape(zero=0.15)
    size = int(np.prod(shape))
    opset = r.pick((11, 13, 14, 19, 23))
    target, left = [], size
    attributes = {}
    if size == 0:
        if opset >= 14 and r.chance(0.5):
            attributes["allowzero"] = 1
            target = [r.int(0, 3) for _ in range(r.int(1, 4))]
            if 0 not in target:
                target[0] = 0
        else:
            target = [0 if r.chance(0.6) else d for d in shape]
    else:
        for _ in range(r.int(0, 3)):
            factors = [f for f in range(1, left + 1) if left % f == 0]
            f = r.pick(factors)
            target.append(f)
            left //= f
        if left != 1 or r.chance(0.3):
            target.append(left)
        if target and r.chance(0.5):
            target[r.int(0, len(target) - 1)] = -1
        for i in range(min(len(target), len(shape))):
            if target[i] == shape[i] and r.chance(0.5) and not attributes:
                target[i] = 0
    return make(
        r, "Reshape", [r.array(shape, r.pick(ALL)), i64(target)], attributes, opset=opset, constants=(1,)
    )


def flatten(r):
    shape = r.shape(0)
    return make(
        r,
        "Flatten",
        [r.array(shape, r.pick(ALL))],
        r.subset(axis=r.int(-len(shape), len(shape))) if shape else {"axis": 0},
        opset=r.pick((11, 13, 23)),
    )


def squeeze(r):
    shape = r.shape(0)
    shape = [1 if r.chance(0.5) else d for d in shape]
    ones = [i - (len(shape) if r.chance(0.4) else 0) for i, d in enumerate(shape) if d == 1]
    axes = [a for a in ones if r.chance(0.6)] if r.chance(0.8) else None
    opset = r.pick((11, 13, 23))
    if opset < 13:
        return make(r, "Squeeze", [r.array(shape)], {"axes": axes} if axes else {}, opset=opset)
    return make(
        r,
        "Squeeze",
        [r.array(shape), None if axes is None or not axes else i64(axes)],
        opset=opset,
        constants=(1,),
    )


def unsqueeze(r):
    shape = r.shape(0, 3)
    count = r.int(1, 3)
    rank = len(shape) + count
    axes = [int(a) - (rank if r.chance(0.4) else 0) for a in r.rng.permutation(rank)[:count]]
    opset = r.pick((11, 13, 23))
    if opset < 13:
        return make(r, "Unsqueeze", [r.array(shape)], {"axes": axes}, opset=opset)
    return make(r, "Unsqueeze", [r.array(shape), i64(axes)], opset=opset, constants=(1,))


def transpose(r):
    shape = r.shape(0, 5)
    return make(
        r,
        "Transpose",
        [r.array(shape, r.pick(ALL))],
        r.subset(perm=[int(a) for a in r.rng.permutation(len(shape))]) if shape else {},
        opset=r.pick((11, 13, 23)),
    )


def expand(r):
    shape = r.shape(0)
    small = r.broadcast(shape)
    target = [
        1 if r.chance(0.2) and len(small) >= len(shape) - i and small[i - len(shape)] == d else d
        for i, d in enumerate(shape)
    ]
    return make(
        r, "Expand", [r.array(small, r.pick(ALL)), i64(target)], opset=r.pick((8, 13)), constants=(1,)
    )


def constant_of_shape(r):
    dtype = r.pick(ALL + (np.uint16, np.uint32, np.uint64, np.int16))
    value = r.array([1], dtype)
    attributes = r.subset(
        value=helper.make_tensor(
            "v", helper.np_dtype_to_tensor_dtype(value.dtype), [1], value.tobytes(), raw=True
        )
    )
    return make(
        r, "ConstantOfShape", [i64(r.shape(0))], attributes, opset=r.pick((9, 20, 23)), constants=(0,)
    )


def shape_(r):
    shape = r.shape(0)
    opset = r.pick((13, 15, 23))
    return make(
        r,
        "Shape",
        [r.array(shape)],
        r.subset(start=r.int(-6, 6), end=r.int(-6, 6)) if opset >= 15 else {},
        opset=opset,
    )


def eye_like(r):
    return make(
        r,
        "EyeLike",
        [r.array(r.shape(2, 2), r.pick((np.float32, np.int32, np.float64)))],
        r.subset(k=r.int(-6, 6), dtype=r.pick((TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE))),
        opset=9,
    )


def one_hot(r):
    shape, depth = r.shape(0, 3), r.int(1, 6)
    kind = r.pick((np.int64, np.int32, np.float32))
    on = r.pick((np.float32, np.int64, np.int32))
    return make(
        r,
        "OneHot",
        [
            r.array(shape, np.int64, -depth, depth).astype(r.pick((np.int64, np.int32))),
            np.array([depth] if r.chance(0.5) else depth).astype(kind if kind != np.float32 else np.int64),
            r.array([2], on),
        ],
        r.subset(axis=r.int(-len(shape) - 1, len(shape))),
        opset=11,
        constants=(1, 2),
    )


def top_k(r):
    shape = r.shape(1, zero=0)
    attributes = r.subset(axis=r.axis(len(shape)), largest=r.int(0, 1))
    k = r.int(1, shape[attributes.get("axis", -1)])
    return make(
        r,
        "TopK",
        [r.array(shape, r.pick((np.float32, np.float64, np.int64, np.int32)), -3, 3), i64([k])],
        attributes,
        outputs=2,
        opset=11,
        constants=(1,),
    )


def unique(r):
    shape = r.shape(1, 3, zero=0)
    return make(
        r,
        "Unique",
        [r.array(shape, r.pick((np.int64, np.float32)), -2, 2).round()],
        r.subset(axis=r.axis(len(shape)), sorted=r.int(0, 1)),
        outputs=4,
        opset=11,
    )


def compress(r):
    shape = r.shape(1)
    attributes = r.subset(axis=r.axis(len(shape)))
    n = shape[attributes["axis"]] if attributes else int(np.prod(shape))
    return make(r, "Compress", [r.array(shape), r.array([r.int(0, n)], np.bool_)], attributes, opset=11)


def non_zero(r):
    return make(
        r, "NonZero", [r.array(r.shape(1), r.pick((np.int64, np.float32, np.bool_)), -1, 2).round()], opset=13
    )


def depth_to_space(r):
    b = r.int(1, 3)
    n, c, h, w = (r.int(1, 3) for _ in range(4))
    if r.chance(0.5):
        return make(
            r,
            "DepthToSpace",
            [r.array([n, c * b * b, h, w])],
            {"blocksize": b, **r.subset(mode=r.pick(("DCR", "CRD")))},
            opset=13,
        )
    pixels = [r.array([n, c, h * b, w * b])]
    if r.chance(0.5):
        return make(r, "SpaceToDepth", pixels, {"blocksize": b}, opset=13)
    attributes = {"blocksize": b, **r.subset(mode=r.pick(("DCR", "CRD")))}
    return make(r, "SpaceToDepth", pixels, attributes, opset=28)


def dropout(r):
    opset = r.pick((10, 12, 13, 22))
    inputs = [r.array(r.shape())]
    if opset >= 12 and r.chance(0.6):
        inputs += [np.float32(0.3), np.bool_(False) if r.chance(0.6) else None]
    return make(
        r,
        "Dropout",
        inputs,
        {"ratio": 0.3} if opset < 12 else {},
        outputs=r.int(1, 2),
        opset=opset,
        constants=(1, 2),
    )


def constant(r):
    way = r.pick(("value", "value_float", "value_floats", "value_int", "value_ints"))
    shape = r.shape(0, 3)
    dtype = r.pick(ALL)
    x = r.array(shape, dtype)
    value = {
        "value": helper.make_tensor(
            "v", helper.np_dtype_to_tensor_dtype(x.dtype), shape, x.tobytes(), raw=True
        ),
        "value_float": 1.25,
        "value_floats": [1.5, -2.0],
        "value_int": -3,
        "value_ints": [4, 5, 6],
    }[way]
    return make(r, "Constant", [], {way: value}, opset=r.pick((12, 13, 23)))


def reverse_sequence(r):
    shape = [r.int(1, 4), r.int(1, 4)] + r.shape(0, 2, zero=0)
    time = r.int(0, 1)
    lengths = r.array([shape[1 - time]], np.int64, 1, shape[time] + 1)
    return make(
        r, "ReverseSequence", [r.array(shape), lengths], {"time_axis": time, "batch_axis": 1 - time}, opset=10
    )


def center_crop_pad(r):
    shape = r.shape(1, zero=0)
    return make(
        r, "CenterCropPad", [r.array(shape), i64([r.int(1, 6) for _ in shape])], opset=18, constants=(1,)
    )


GENERATORS = {
    "Concat": concat,
    "Slice": slice_,
    "Split": split,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterND": scatter_nd,
    "ScatterElements": scatter_elements,
    "TensorScatter": tensor_scatter,
    "Pad": pad,
    "Trilu": trilu,
    "Tile": tile,
    "Range": range_,
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Expand": expand,
    "ConstantOfShape": constant_of_shape,
    "Shape": shape_,
    "EyeLike": eye_like,
    "OneHot": one_hot,
    "TopK": top_k,
    "Unique": unique,
    "Compress": compress,
    "NonZero": non_zero,
    "DepthToSpace": depth_to_space,
    "Dropout": dropout,
    "Constant": constant,
    "ReverseSequence": reverse_sequence,
    "CenterCropPad": center_crop_pad,
}
