"""Windows, products, norms, attention."""

import numpy as np
from onnx import TensorProto

from case import i64, make

F = (np.float32, np.float32, np.float64)


def window(r, spatial, kernel, dilated=True, auto=True, half=False):
    """strides, dilations and padding of a window."""
    attributes = r.subset(strides=[r.int(1, 3) for _ in range(spatial)])
    if dilated:
        attributes.update(r.subset(dilations=[r.int(1, 3) for _ in range(spatial)]))
    way = r.pick(("pads", "pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID") if auto else ("pads", "none"))
    if way == "pads":
        attributes["pads"] = [r.int(0, min(k - 1, 2) if half else 2) for k in list(kernel) * 2]
    elif way != "none":
        attributes["auto_pad"] = way
        if "strides" in attributes:  # a stride beyond the window would want negative padding
            attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel)]
        if way != "VALID":
            attributes.pop("dilations", None) if half else None
    return attributes


def extents(r, kernel, attributes):
    """Extents in which a window fits."""
    dilations = attributes.get("dilations", [1] * len(kernel))
    return [(k - 1) * d + 1 + r.int(0, 6) for k, d in zip(kernel, dilations)]


def conv(r):
    spatial = r.pick((1, 2, 2, 2, 3))
    group = r.pick((1, 1, 1, 2, 3))
    kernel = [r.int(1, 4) for _ in range(spatial)]
    attributes = window(r, spatial, kernel)
    c, m = group * r.int(1, 5), group * r.int(1, 5)
    if r.chance(0.2):
        group, m = c, c * r.int(1, 2)
    if r.chance(0.1):
        c, m, group = 16, 32, 1
    if group != 1 or r.chance(0.3):
        attributes["group"] = group
    attributes.update(r.subset(kernel_shape=kernel))
    dtype = r.pick((np.float32, np.float32, np.float32, np.float64))
    x = r.array([r.int(0, 2) if r.chance(0.1) else r.int(1, 2), c, *extents(r, kernel, attributes)], dtype)
    return make(
        r,
        "Conv",
        [x, r.array([m, c // group, *kernel], dtype), r.array([m], dtype) if r.chance(0.6) else None],
        attributes,
        opset=r.pick((11, 22)),
        constants=(1, 2),
    )


def conv_transpose(r):
    spatial = r.pick((1, 2, 2, 3))
    group = r.pick((1, 1, 2, 3))
    kernel = [r.int(1, 4) for _ in range(spatial)]
    attributes = window(r, spatial, kernel, auto=False)
    attributes["group"] = group
    strides = attributes.get("strides", [1] * spatial)
    if r.chance(0.4):
        attributes["output_padding"] = [r.int(0, max(s - 1, 0)) for s in strides]
    c, m = group * r.int(1, 3), r.int(16, 40) if r.chance(0.5) else r.int(1, 4)
    x = r.array([r.int(1, 2), c, *[r.int(3, 6) for _ in range(spatial)]])
    return make(
        r,
        "ConvTranspose",
        [x, r.array([c, m, *kernel]), r.array([m * group]) if r.chance(0.6) else None],
        attributes,
        opset=r.pick((11, 22)),
        constants=(1, 2),
    )


def pool(op):
    def generate(r):
        spatial = r.pick((1, 2, 2, 3))
        kernel = [r.int(1, 4) for _ in range(spatial)]
        opset = r.pick((11, 12, 19, 22)) if op != "LpPool" else r.pick((11, 18, 22))
        dilated = op == "MaxPool" or opset >= 18 + (op == "AveragePool")
        attributes = window(r, spatial, kernel, dilated, half=True)
        attributes["kernel_shape"] = kernel
        outputs = 1
        if op != "LpPool" or opset >= 18:
            attributes.update(r.subset(ceil_mode=r.int(0, 1)))
        dtype = r.pick(F)
        if op == "AveragePool":
            attributes.update(r.subset(count_include_pad=r.int(0, 1)))
        elif op == "LpPool":
            attributes.update(r.subset(p=r.int(1, 3)))
            dtype = np.float32
        else:
            outputs = r.int(1, 2)
            if outputs == 2:
                attributes.update(r.subset(storage_order=r.int(0, 1)))
            if opset >= 12:
                dtype = r.pick(F + (np.int8, np.uint8))
        x = r.array([r.int(1, 2), r.int(1, 4), *extents(r, kernel, attributes)], dtype)
        return make(r, op, [x], attributes, outputs=outputs, opset=opset)

    return generate


def global_pool(op):
    def generate(r):
        return make(
            r,
            op,
            [r.array([r.int(0, 2), r.int(1, 3), *[r.int(1, 4) for _ in range(r.int(1, 3))]], r.pick(F))],
            opset=r.pick((1, 22)) if op != "GlobalLpPool" else 2,
        )

    return generate


def resize(r):
    rank = r.pick((2, 3, 4, 4, 5))
    mode = r.pick(("nearest", "linear", "cubic"))
    opset = r.pick((11, 13, 18, 19))
    if mode == "cubic":
        rank = 4
    shape = [r.int(1, 3) if i < rank - 2 else r.int(1, 7) for i in range(rank)]
    spatial = (
        [rank - 2, rank - 1] if mode == "cubic" or r.chance(0.6) else list(range(max(rank - 3, 0), rank))
    )
    if mode == "nearest" and r.chance(0.3):
        spatial = list(range(rank))
    modes = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
    if opset >= 19:
        modes.append("half_pixel_symmetric")
    if r.chance(0.15) and mode != "cubic":
        modes = ["tf_crop_and_resize"]
    attributes = {"mode": mode, **r.subset(coordinate_transformation_mode=r.pick(modes))}
    if mode == "nearest":
        attributes.update(
            r.subset(nearest_mode=r.pick(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")))
        )
    if mode == "cubic":
        attributes.update(
            r.subset(cubic_coeff_a=float(r.pick((-0.5, -0.75, -0.3))), exclude_outside=r.int(0, 1))
        )
    crop = attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    if crop:
        attributes.update(r.subset(extrapolation_value=1.5))
    antialias = opset >= 18 and mode != "nearest" and r.chance(0.3) and not crop
    if antialias:
        attributes["antialias"] = 1
        if mode == "linear":
            spatial = spatial[-2:]
    # ONNX Runtime ignores the region of axes whose scale is 1, and rounds integers after each axis or
    # refuses them. The reference has no axes from the back, a coordinate of its own for a lone result in
    # pytorch_half_pixel, and rounds lengths in f64.
    own = attributes.get("coordinate_transformation_mode") == "pytorch_half_pixel"
    integers = (mode == "cubic" or antialias) and not own and r.chance(0.3)
    reference = crop or integers
    axes = None
    if opset >= 18 and r.chance(0.4):
        axes = list(spatial)
        attributes["axes"] = [a - (rank if not reference and r.chance(0.3) else 0) for a in axes]
    targets = [r.int(1, 10) for _ in spatial]
    dims = range(rank) if axes is None else axes
    roi = (
        np.array(
            [r.rng.random() * 0.4 if d in spatial else 0 for d in dims]
            + [0.6 + 0.6 * r.rng.random() if d in spatial else 1 for d in dims],
            np.float32,
        )
        if crop
        else None
    )
    # Oracles disagree about corners and crops of lengths that are no integers, and round aspect ratios
    # in their own ways.
    whole = reference or attributes.get("coordinate_transformation_mode") == "align_corners"
    if whole or r.chance(0.5):
        sizes = [targets[spatial.index(d)] if d in spatial else shape[d] for d in dims]
        if axes is not None and r.chance(0.5):
            attributes["keep_aspect_ratio_policy"] = "stretch"
        inputs = [roi, None, i64(sizes)]
    else:
        scales = [
            (
                np.float32(r.pick((targets[spatial.index(d)] / shape[d], 2, 0.5, 1.7, 0.6, 1.0)))
                if d in spatial
                else 1.0
            )
            for d in dims
        ]
        scales = [max(s, np.float32(1.01 / shape[d])) if d in spatial else s for s, d in zip(scales, dims)]
        inputs = [roi, np.array(scales, np.float32)]
    if opset == 11 and roi is None:
        inputs[0] = np.zeros(0, np.float32)
    x = r.array(shape)
    if integers:
        dtype = r.pick((np.uint8, np.int8, np.int32))
        limits = np.iinfo(np.int16 if dtype == np.int32 else dtype)
        x = r.array(shape, dtype, limits.min, limits.max + 1)
    case = make(r, "Resize", [x, *inputs], attributes, opset=opset, constants=(1, 2, 3))
    if reference:
        case.first = "reference"
    if integers:
        case.tolerance = "rounded"  # values in the middle of two integers
    return case


def batch_norm(r):
    c = r.int(1, 4)
    shape = [r.int(1, 3), c, *r.shape(0, 3, zero=0)]
    opset = r.pick((9, 14, 15))
    dtype = r.pick(F)
    training = opset >= 14 and r.chance(0.3)
    attributes = r.subset(epsilon=float(r.pick((1e-5, 1e-2))), momentum=0.7)
    if training:
        attributes["training_mode"] = 1
    return make(
        r,
        "BatchNormalization",
        [
            r.array(shape, dtype),
            r.array([c], dtype),
            r.array([c], dtype),
            r.array([c], dtype),
            r.array([c], dtype, 0.1, 2),
        ],
        attributes,
        outputs=3 if training else 1,
        opset=opset,
        constants=(1, 2, 3, 4),
    )


def layer_norm(r):
    shape = r.shape(1, zero=0)
    attributes = r.subset(axis=r.axis(len(shape)), epsilon=float(r.pick((1e-5, 1e-2))), stash_type=1)
    inner = shape[attributes.get("axis", -1) :] if attributes.get("axis", -1) else shape
    scale = inner if r.chance(0.7) else r.broadcast(inner)
    return make(
        r,
        "LayerNormalization",
        [r.array(shape), r.array(scale), r.array(inner) if r.chance(0.6) else None],
        attributes,
        outputs=r.int(1, 3),
        opset=17,
        constants=(1, 2),
    )


def rms_norm(r):
    shape, dtype = r.shape(1, zero=0), r.pick((np.float32, np.float64, np.float16))
    attributes = r.subset(axis=r.axis(len(shape)), epsilon=float(r.pick((1e-5, 1e-2))), stash_type=1)
    inner = shape[attributes.get("axis", -1) :] if attributes.get("axis", -1) else shape
    return make(
        r,
        "RMSNormalization",
        [r.array(shape, dtype), r.array(inner, dtype)],
        attributes,
        opset=23,
        constants=(1,),
    )


def instance_norm(r):
    c = r.int(1, 4)
    return make(
        r,
        "InstanceNormalization",
        [r.array([r.int(1, 3), c, *[r.int(1, 4) for _ in range(r.int(1, 3))]]), r.array([c]), r.array([c])],
        r.subset(epsilon=1e-2),
        opset=r.pick((6, 22)),
        constants=(1, 2),
    )


def group_norm(r):
    g, per = r.int(1, 3), r.int(1, 3)
    opset = r.pick((18, 21))
    n = g * per if opset == 21 else g
    return make(
        r,
        "GroupNormalization",
        [
            r.array([r.int(1, 3), g * per, *[r.int(1, 4) for _ in range(r.int(1, 3))]]),
            r.array([n]),
            r.array([n]),
        ],
        {"num_groups": g, **r.subset(epsilon=1e-2)},
        opset=opset,
        constants=(1, 2),
    )


def softmax(op):
    def generate(r):
        shape = r.shape(1, zero=0.03)
        attributes = r.subset(axis=r.axis(len(shape)))
        opset = r.pick((11, 13))
        if opset == 11 and len(shape) < 2:
            attributes = {"axis": 0}
        dtype = np.float32 if op == "Hardmax" else r.pick(F)  # the reference ignores Hardmax-11
        return make(r, op, [r.array(shape, dtype, -9, 9)], attributes, opset=opset)

    return generate


def matmul(r):
    dtype = r.pick((np.float32, np.float32, np.float64, np.int32, np.int64, np.uint32))
    m, k, n = (0 if r.chance(0.05) else r.pick((1, 2, 3, 7, 16, 33)) for _ in range(3))
    batch = r.shape(0, 2)
    a, b = r.broadcast(batch) + [m, k], list(batch) + [k, n]
    if r.chance(0.2):
        a = [k]
    if r.chance(0.2):
        b = [k]
    if r.chance(0.3) and len(b) > 2:
        b = b[-2:]
    return make(r, "MatMul", [r.array(a, dtype), r.array(b, dtype)], opset=r.pick((9, 13)), constants=(1,))


def gemm(r):
    m, k, n = (0 if r.chance(0.04) else r.pick((1, 2, 3, 7, 16, 33)) for _ in range(3))
    ta, tb = r.int(0, 1), r.int(0, 1)
    dtype = r.pick((np.float32, np.float32, np.float64))
    c = r.pick(([], [n], [m, n], [1, n], [m, 1], [1], [1, 1], None))
    return make(
        r,
        "Gemm",
        [
            r.array([k, m] if ta else [m, k], dtype),
            r.array([n, k] if tb else [k, n], dtype),
            None if c is None else r.array(c, dtype),
        ],
        {
            **r.subset(alpha=float(r.pick((0, 0.5, -1.5))), beta=float(r.pick((0, 0.5, -1.5)))),
            **({"transA": 1} if ta else {}),
            **({"transB": tb} if tb or r.chance(0.3) else {}),
        },
        opset=r.pick((11, 13)),
        constants=(1, 2),
    )


def einsum(r):
    letters = "aZklmn"
    sizes = {l: r.int(1, 3) for l in letters}
    terms, shapes = [], []
    ellipsis = r.shape(0, 2, zero=0) if r.chance(0.4) else None
    for _ in range(r.pick((1, 2, 2, 2, 3))):
        term = "".join(
            letters[int(i)] for i in r.rng.permutation(6)[: r.int(0 if ellipsis is not None else 1, 4)]
        )
        if r.chance(0.15) and term:
            term += term[0]
        shape = [sizes[l] for l in term]
        if ellipsis is not None:
            at = r.int(0, len(term))
            part = r.broadcast(ellipsis) if r.chance(0.5) else list(ellipsis)
            shape = shape[:at] + part + shape[at:]
            term = term[:at] + "..." + term[at:]
        terms.append(term)
        shapes.append(shape)
    used = sorted(set("".join(terms)) - {"."})
    equation = ",".join(terms)
    if r.chance(0.8):
        out = [l for l in used if r.chance(0.6)]
        out = "".join(out[int(i)] for i in r.rng.permutation(len(out)))
        if ellipsis is not None:
            at = r.int(0, len(out))
            out = out[:at] + "..." + out[at:]
        equation += "->" + out
    if r.chance(0.2):
        equation = equation.replace(",", " , ").replace("->", " -> ")
    dtype = r.pick((np.float32, np.float32, np.float64, np.int32, np.int64))
    return make(r, "Einsum", [r.array(s, dtype) for s in shapes], {"equation": equation}, opset=12)


def attention(opset):
    def generate(r):
        b, h, group = r.int(1, 2), r.int(1, 3), r.int(1, 2)
        s, t, d, e = r.int(1, 5), r.int(1, 6), r.pick((1, 2, 4, 8)), r.pick((1, 2, 4, 8))
        past = r.int(0, 3) if r.chance(0.4) else None
        flat = r.chance(0.4)
        qh = h * group
        total = t + (past or 0)
        attributes = (
            r.subset(scale=float(r.pick((0.1, 1.0, 0.37))), is_causal=r.int(0, 1)) if r.chance(0.7) else {}
        )
        if r.chance(0.3):
            attributes["softcap"] = float(r.pick((0.5, 2.0, 0.0)))
        if flat:
            attributes.update(q_num_heads=qh, kv_num_heads=h)
            q, k, v = [b, s, qh * d], [b, t, h * d], [b, t, h * e]
        else:
            q, k, v = [b, qh, s, d], [b, h, t, d], [b, h, t, e]
        mask = None
        if r.chance(0.6):
            shape = r.pick(([s, total], [1, s, total], [qh, s, total], [b, 1, s, total], [b, qh, s, total]))
            mask = r.array(shape, r.pick((np.bool_, np.float32)))
            if mask.dtype == np.bool_ and r.chance(0.8):
                mask[..., 0] = True
            elif mask.dtype != np.bool_ and r.chance(0.2):
                mask = np.where(r.rng.random(mask.shape) < 0.2, np.float32(-np.inf), mask)
                mask[..., 0] = 0
        inputs = [r.array(q), r.array(k), r.array(v), mask]
        lengths = opset >= 24 and past is None and r.chance(0.4)
        if past is not None:
            inputs += [r.array([b, h, past, d]), r.array([b, h, past, e])]
        elif lengths:
            inputs += [None, None, r.array([b], np.int64, 1, t + 1)]
        outputs = ["y0"]
        if r.chance(0.3):
            attributes["qk_matmul_output_mode"] = r.int(0, 3)
            outputs = ["y0", "", "", "y3"] if past is None else ["y0", "y1", "y2", "y3"]
        elif past is not None:
            outputs = ["y0", "y1", "y2"]
        if r.chance(0.2):
            attributes["softmax_precision"] = TensorProto.FLOAT
        case = make(r, "Attention", inputs, attributes, outputs=outputs, opset=opset)
        case.first = "reference"  # a hidden score is -inf there, and one query is no exception to causality
        return case

    return generate


def rotary(r):
    b, h, s, half = r.int(1, 2), r.int(1, 3), r.int(1, 5), r.int(1, 4)
    rotary_half = half if r.chance(0.6) else r.int(1, half)
    d = 2 * half
    flat, ids = r.chance(0.4), r.chance(0.5)
    attributes = r.subset(interleaved=r.int(0, 1))
    if rotary_half != half or r.chance(0.2):
        attributes["rotary_embedding_dim"] = 2 * rotary_half
    if flat:
        attributes["num_heads"] = h
    elif r.chance(0.2):
        attributes["num_heads"] = h
    cache = [9, rotary_half] if ids else [b, s, rotary_half]
    position = r.array([b, s], np.int64, 0, 9) if ids else None
    return make(
        r,
        "RotaryEmbedding",
        [r.array([b, s, h * d] if flat else [b, h, s, d]), r.array(cache), r.array(cache), position],
        attributes,
        opset=23,
        constants=(1, 2),
    )


def prelu(r):
    shape = r.shape(1)
    return make(
        r, "PRelu", [r.array(shape), r.array(r.broadcast(shape))], opset=r.pick((9, 16)), constants=(1,)
    )


def lp_norm(r):
    shape = r.shape(1, zero=0)
    return make(
        r,
        "LpNormalization",
        [r.array(shape, r.pick(F))],
        r.subset(axis=r.axis(len(shape)), p=r.int(1, 2)),
        opset=r.pick((1, 22)),
    )


def mvn(r):
    shape = [r.int(2, 5) for _ in range(4)]  # of one element the oracles divide 0 by 0
    return make(r, "MeanVarianceNormalization", [r.array(shape)], r.subset(axes=r.axes(4, 1)), opset=13)


def grid_sample(r):
    spatial = 2
    opset = r.pick((16, 20))
    mode = r.pick(("bilinear", "nearest", "bicubic") if opset == 16 else ("linear", "nearest", "cubic"))
    x = r.array([r.int(1, 2), r.int(1, 2), *[r.int(2, 5) for _ in range(spatial)]])
    return make(
        r,
        "GridSample",
        [x, r.array([x.shape[0], *[r.int(1, 4) for _ in range(spatial)], spatial], np.float32, -1.4, 1.4)],
        {
            "mode": mode,
            **r.subset(padding_mode=r.pick(("zeros", "border", "reflection")), align_corners=r.int(0, 1)),
        },
        opset=opset,
    )


def quantize(op):
    def generate(r):
        shape = r.shape(1, zero=0)
        axis = r.axis(len(shape))
        per_axis = r.chance(0.5)
        kind = r.pick((np.int8, np.uint8, np.int16, np.uint16))
        n = [shape[axis]] if per_axis else []
        scale, zero = r.array(n, np.float32, 0.05, 0.5), r.array(n, kind)
        attributes = {"axis": axis} if per_axis else {}
        if op == "QuantizeLinear":
            return make(
                r,
                op,
                [
                    r.array(shape, np.float32, -40, 40),
                    scale,
                    zero if kind != np.uint8 or r.chance(0.5) else None,
                ],
                attributes,
                opset=21,
                constants=(1, 2),
            )
        return make(
            r,
            op,
            [r.array(shape, kind), scale, zero if r.chance(0.7) else None],
            attributes,
            opset=21,
            constants=(1, 2),
        )

    return generate


def dynamic_quantize(r):
    x = r.array(r.shape(1, zero=0), np.float32, r.pick((-3, 0, 1)), r.pick((1.5, 9)))
    if r.chance(0.2):
        x *= 0
    return make(r, "DynamicQuantizeLinear", [x], outputs=3, opset=11)


def bytes_of(r, shape):
    kind = r.pick((np.int8, np.uint8))
    return r.array(shape, kind, *((-128, 128) if kind == np.int8 else (0, 256)))


def zero_like(r, x, shape=()):
    return r.array(list(shape), x.dtype, *((-20, 20) if x.dtype == np.int8 else (0, 256)))


def matmul_bytes(op):
    """Of uint8 and either; depths at which f32 would round sums of extreme values, among them."""

    def generate(r):
        m, n = r.pick((1, 3, 17)), r.pick((1, 2, 16, 33))
        k = r.pick((1, 7, 300, 600, 1500))
        a = r.array(r.shape(0, 2) + [m, k], np.uint8, 250 if r.chance(0.3) else 0, 256)
        b = bytes_of(r, [k, n])
        per_column = r.chance(0.5)
        a_zero, b_zero = zero_like(r, a), zero_like(r, b, [n] if per_column else [])
        if op == "MatMulInteger":
            inputs = [a, b, a_zero, b_zero][: r.pick((2, 3, 4))]
            return make(r, op, inputs, opset=10, constants=(1, 2, 3))
        scale, result = r.array([], np.float32, 0.01, 0.1), bytes_of(r, [])
        columns = r.array([n] if per_column else [], np.float32, 0.001, 0.01)
        inputs = [a, scale, a_zero, b, columns, b_zero, r.array([], np.float32, 0.1, 1), result]
        return make(r, op, inputs, opset=10, constants=(1, 2, 3, 4, 5, 6, 7))

    return generate


def conv_bytes(op):
    def generate(r):
        # The reference lays zero points of filters over four axes.
        spatial = 2 if op == "QLinearConv" else r.pick((1, 2, 2))
        group = r.pick((1, 1, 2))
        kernel = [r.int(1, 3) for _ in range(spatial)]
        attributes = window(r, spatial, kernel)
        attributes["group"] = group
        c, m = group * r.int(1, 4), group * r.int(1, 4)
        x = r.array([r.int(1, 2), c, *extents(r, kernel, attributes)], np.uint8, 0, 256)
        w = bytes_of(r, [m, c // group, *kernel])
        x_zero = zero_like(r, x)
        if op == "ConvInteger":
            inputs = [x, w, x_zero, zero_like(r, w)][: r.pick((2, 3, 4))]
            return make(r, op, inputs, attributes, opset=10, constants=(1, 2, 3))
        filters = r.array([m] if r.chance(0.5) else [], np.float32, 0.001, 0.01)
        bias = r.array([m], np.int32, -500, 500) if r.chance(0.5) else None
        w_zero = np.zeros(filters.shape, w.dtype)
        inputs = [x, r.array([], np.float32, 0.01, 0.1), x_zero, w, filters, w_zero]
        inputs += [r.array([], np.float32, 0.1, 1), zero_like(r, x), bias]
        return make(r, op, inputs, attributes, opset=10, constants=(1, 2, 3, 4, 5, 6, 7, 8))

    return generate


def lrn(r):
    return make(
        r,
        "LRN",
        [r.array([r.int(1, 2), r.int(1, 6), r.int(1, 3), r.int(1, 3)])],
        {"size": r.pick((1, 3, 5)), **r.subset(alpha=0.1, beta=0.6, bias=1.5)},
        opset=13,
    )


GENERATORS = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "AveragePool": pool("AveragePool"),
    "MaxPool": pool("MaxPool"),
    "LpPool": pool("LpPool"),
    **{op: global_pool(op) for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")},
    "Resize": resize,
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm,
    "InstanceNormalization": instance_norm,
    "GroupNormalization": group_norm,
    **{op: softmax(op) for op in ("Softmax", "LogSoftmax", "Hardmax")},
    "MatMul": matmul,
    "Gemm": gemm,
    "Einsum": einsum,
    "Attention23": attention(23),
    "Attention24": attention(24),
    "RotaryEmbedding": rotary,
    "PRelu": prelu,
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mvn,
    "GridSample": grid_sample,
    "QuantizeLinear": quantize("QuantizeLinear"),
    "DequantizeLinear": quantize("DequantizeLinear"),
    "DynamicQuantizeLinear": dynamic_quantize,
    **{op: matmul_bytes(op) for op in ("MatMulInteger", "QLinearMatMul")},
    **{op: conv_bytes(op) for op in ("ConvInteger", "QLinearConv")},
    "LRN": lrn,
}
