"""Operators of ONNX Runtime's own domain, which its transformer optimizer and model builders write."""

import numpy as np
from onnx import numpy_helper

from case import make as make_standard


def make(r, op, inputs, attributes=None, **more):
    return make_standard(r, op, inputs, attributes, domain="com.microsoft", opset=17, **more)


def i32(values):
    return np.array(values, dtype=np.int32)


def masked(r, b, s, total, form):
    """A mask in one of the forms that the CPU kernels take, or None. No row has all keys hidden: its
    weights are what is left of scores beside -10000."""
    if form == "lengths":
        return r.array([b], np.int32, 1, total + 1)
    if form == "ranges":  # ends, then starts
        ends = r.array([b], np.int32, 1, total + 1)
        return np.concatenate([ends, [r.int(0, e - 1) for e in ends]]).astype(np.int32)
    if form == "dummy":
        return np.ones([b, 1], np.int32)
    if form in ("keys", "each"):
        mask = r.array([b, total] if form == "keys" else [b, s, total], np.int32, -1, 3)
        mask[..., 0] = 1
        return mask
    return None


def attention(r):
    b, n, h = r.int(1, 3), r.int(1, 3), r.pick((1, 2, 4, 8))
    s, width = r.int(1, 5), r.int(1, 6)
    past = r.int(0, 3) if r.chance(0.4) else None
    total = s + (past or 0)
    e = r.pick((1, 2, 4)) if past is None and r.chance(0.3) else h
    form = r.pick(("lengths", "ranges", "dummy", "keys", "keys", "each", None))
    attributes = {"num_heads": n, **r.subset(unidirectional=r.int(0, 1))}
    if r.chance(0.3):
        attributes["scale"] = float(r.pick((0.1, 1.0, 0.37)))
    if r.chance(0.3):
        attributes["mask_filter_value"] = float(r.pick((-1.0, -50.0, -3e38)))
    if e != h or r.chance(0.2):
        attributes["qkv_hidden_sizes"] = [n * h, n * h, n * e]
    columns = n * (2 * h + e)
    inputs = [
        r.array([b, s, width]),
        r.array([width, columns]),
        r.array([columns]) if r.chance(0.8) else None,
        masked(r, b, s, total, form),
        r.array([2, b, n, past, h]) if past is not None else None,
        r.array([r.pick((1, b)), r.pick((1, n)), s, total]) if past is None and r.chance(0.3) else None,
    ]
    outputs = 2 if past is not None or (e == h and r.chance(0.2)) else 1
    # Ranges are known by their number, a mask of one column by its extent.
    symbols = form not in ("ranges", "dummy")
    return make(r, "Attention", inputs, attributes, outputs=outputs, constants=(1, 2), symbols=symbols)


def multi_head_attention(r):
    b, n, h = r.int(1, 3), r.int(1, 3), r.pick((1, 2, 4, 8))
    e = h if r.chance(0.6) else r.pick((1, 2, 4))
    s, t = r.int(1, 5), r.int(1, 6)
    split = r.chance(0.25)  # keys and values of another sequence, which have their heads split
    past = r.int(0, 3) if not split and r.chance(0.4) else None
    if split or past is not None:
        e = h
    attributes = {"num_heads": n, **r.subset(unidirectional=r.int(0, 1))}
    if past is not None or attributes.get("unidirectional"):
        t = s
    total = t + (past or 0)
    if r.chance(0.3):
        attributes["scale"] = float(r.pick((0.1, 1.0, 0.37)))
    if r.chance(0.3):
        attributes["mask_filter_value"] = float(r.pick((-1.0, -50.0, -3e38)))
    inputs = [
        r.array([b, s, n * h]),
        r.array([b, n, t, h] if split else [b, t, n * h]),
        r.array([b, n, t, e] if split else [b, t, n * e]),
        r.array([n * (2 * h + e)]) if r.chance(0.4) else None,
        masked(r, b, s, total, r.pick(("lengths", "keys", "each", None, None))),
        r.array([r.pick((1, b)), r.pick((1, n)), s, total]) if r.chance(0.3) else None,
    ]
    if past is not None:
        inputs += [r.array([b, n, past, h]), r.array([b, n, past, h])]
    outputs = 3 if past is not None or (not split and r.chance(0.2)) else 1
    return make(r, "MultiHeadAttention", inputs, attributes, outputs=outputs, constants=(3,))


def group_query_attention(r):
    g, shared = r.int(1, 2), r.int(1, 3)
    n, h = g * shared, r.pick((8, 16, 32))
    # A first text, one token behind caches, or several of a single text. Caches grow, or have room.
    kind = r.pick(("first", "first", "next", "next", "chunk"))
    b = 1 if kind == "chunk" else r.int(1, 3)
    s = 1 if kind == "next" else r.int(1, 5)
    before = 0 if kind == "first" else r.int(1, 5)
    total = before + s
    room = r.chance(0.4)
    cached = total + r.int(0, 3) if room else before
    ragged = kind == "next" and r.chance(0.5)
    lengths = r.array([b], np.int32, 0, total) if ragged else i32([total - 1] * b)
    if ragged:
        lengths[r.int(0, b - 1)] = total - 1
    with_cache = kind != "first" or room or r.chance(0.3)
    packed = r.chance(0.4)
    attributes = {"num_heads": n, "kv_num_heads": g}
    if r.chance(0.3):
        attributes["scale"] = float(r.pick((0.1, 1.0)))
    if r.chance(0.2):
        attributes["softcap"] = float(r.pick((0.5, 2.0)))
    if r.chance(0.3):
        attributes["local_window_size"] = r.int(1, 6)
    elif r.chance(0.2):
        attributes["causal"] = 0
    inputs = (
        [r.array([b, s, (n + 2 * g) * h]), None, None]
        if packed
        else [r.array([b, s, n * h]), r.array([b, s, g * h]), r.array([b, s, g * h])]
    )
    inputs += [r.array([b, g, cached, h]) if with_cache else None for _ in range(2)]
    inputs += [lengths, i32([total] if r.chance(0.5) else total)]
    if h >= 16 and r.chance(0.5):
        attributes.update(do_rotary=1, **r.subset(rotary_interleaved=r.int(0, 1)))
        half = 8 if r.chance(0.3) else h // 2
        inputs += [r.array([16, half]), r.array([16, half])]
        if r.chance(0.2):
            inputs += [np.tile(np.arange(before, total), (b, 1))]
    inputs += [None] * (10 - len(inputs))
    inputs += [r.array([r.pick((1, b)), r.pick((1, n)), s, total]) if r.chance(0.2) else None]
    if r.chance(0.15):
        inputs += [r.array([n])]
    elif r.chance(0.1):
        attributes["smooth_softmax"] = r.pick((1, 1, 0, -1))
    case = make(r, "GroupQueryAttention", inputs, attributes, outputs=3, constants=(6, 7, 8))
    if ragged or room:
        # Nobody says what caches hold behind the keys of a text. Without them the past is not read.
        del case.model.graph.output[1:]
    return case


def rotary(r):
    b, n, s, half = r.int(1, 2), r.int(1, 3), r.int(1, 5), r.pick((2, 4, 8))
    d, flat = 2 * half, r.chance(0.5)
    attributes = r.subset(interleaved=r.int(0, 1))
    part = half
    if flat and r.chance(0.5):
        attributes["num_heads"] = n
        if r.chance(0.5):
            part = r.int(1, half)
            attributes["rotary_embedding_dim"] = 2 * part
    positions = r.array([b, s], np.int64, 0, 9) if r.chance(0.5) else r.array([1], np.int64, 0, 5)
    x = r.array([b, s, n * d] if flat else [b, n, s, d])
    inputs = [x, positions, r.array([9, part]), r.array([9, part])]
    symbols = not flat or "num_heads" in attributes
    return make(r, "RotaryEmbedding", inputs, attributes, constants=(2, 3), symbols=symbols)


def embed_layer_norm(r):
    b, s, d = r.int(1, 3), r.int(1, 5), r.int(1, 8)
    segments = r.chance(0.6)
    inputs = [
        r.array([b, s], np.int32, 0, 7),
        r.array([b, s], np.int32, 0, 2) if segments else None,
        r.array([7, d]),
        r.array([6, d]),
        r.array([2, d]) if segments else None,
        r.array([d]),
        r.array([d]),
        r.array([b, s], np.int32, 0, 3) if r.chance(0.5) else None,
        r.array([r.pick((1, b)), s], np.int32, 0, 6) if r.chance(0.3) else None,
    ]
    attributes = {"epsilon": 1e-3, **r.subset(mask_index_type=1)}
    outputs = 3 if r.chance(0.3) else 2
    return make(
        r, "EmbedLayerNormalization", inputs, attributes, outputs=outputs, constants=(2, 3, 4, 5, 6)
    )


def embed_layer_norm_of_bytes(r):
    b, s, d = r.int(1, 3), r.int(1, 5), r.int(1, 8)
    segments, kind = r.chance(0.6), r.pick((np.uint8, np.int8))
    shapes = ([7, d], [6, d], [2, d] if segments else None, [d], [d])
    inputs = [r.array([b, s], np.int32, 0, 7), r.array([b, s], np.int32, 0, 2) if segments else None]
    inputs += [bytes_of(r, shape, kind) if shape else None for shape in shapes]
    inputs += [r.array([b, s], np.int32, 0, 3) if r.chance(0.5) else None]
    inputs += [r.array([], np.float32, 0.001, 0.02) if shape else None for shape in shapes]
    inputs += [bytes_of(r, [], kind) if shape else None for shape in shapes]
    return make(
        r, "QEmbedLayerNormalization", inputs, {"epsilon": 1e-3}, outputs=2, constants=(2, 3, 4, 5, 6, *range(8, 18))
    )


def bytes_of(r, shape, kind):
    return r.array(shape, kind, *((-128, 128) if kind == np.int8 else (0, 256)))


def weights(r, k, n):
    """Bytes with their scale and zero point, for all or for each column."""
    kind = r.pick((np.uint8, np.int8))
    shape = [n] if r.chance(0.5) else r.pick(([], [1]))
    zero = bytes_of(r, shape, kind) if r.chance(0.7) else None
    return bytes_of(r, [k, n], kind), r.array(shape, np.float32, 0.001, 0.02), zero


def matmul_of_bytes(op):
    def generate(r):
        k, n = r.int(1, 40), r.int(1, 6)
        w, scale, zero = weights(r, k, n)
        bias = r.array([n]) if r.chance(0.5) else None
        shape = r.shape(1, 2, zero=0) + [k]
        if op == "DynamicQuantizeMatMul":
            inputs = [r.array(shape), w, scale, zero, bias]
            return make(r, op, inputs, constants=(1, 2, 3, 4))
        kind = np.int8 if w.dtype == np.int8 and r.chance(0.5) else np.uint8
        a = bytes_of(r, shape, kind)
        a_zero = bytes_of(r, [], kind) if r.chance(0.7) else None
        inputs = [a, w, r.array([], np.float32, 0.001, 0.02), scale, a_zero, zero, bias]
        return make(r, op, inputs, constants=(1, 2, 3, 4, 5, 6))

    return generate


def gather_blocks(r):
    bits, block = r.pick((2, 4, 8)), r.pick((16, 32))
    rows, blocks = r.int(1, 6), r.int(1, 5)
    packed = -(-blocks * bits // 8)
    inputs = [
        bytes_of(r, [rows, blocks * block * bits // 8], np.uint8),
        r.array(r.shape(0, 3, zero=0), np.int64, -rows, rows),
        r.array([rows, blocks]),
        bytes_of(r, [rows, packed], np.uint8) if r.chance(0.6) else None,
    ]
    attributes = {"bits": bits, "block_size": block, "quantize_axis": r.pick((1, -1))}
    case = make(r, "GatherBlockQuantized", inputs, attributes, constants=(0, 2, 3))
    # The table is a constant.
    for name in ("x0", "x3"):
        if name in case.inputs:
            case.model.graph.initializer.append(numpy_helper.from_array(case.inputs.pop(name), name))
            given = [info for info in case.model.graph.input if info.name == name]
            case.model.graph.input.remove(given[0])
    return case


def attention_of_bytes(r):
    b, n, h, s, width = r.int(1, 3), r.int(1, 3), r.pick((1, 2, 4, 8)), r.int(1, 5), r.int(1, 9)
    past = r.int(0, 3) if r.chance(0.4) else None
    total = s + (past or 0)
    form = r.pick(("lengths", "keys", "each", None, None))
    w, scale, zero = weights(r, width, 3 * n * h)
    inputs = [
        bytes_of(r, [b, s, width], np.uint8),
        w,
        r.array([3 * n * h]),
        r.array([], np.float32, 0.001, 0.02),
        scale,
        masked(r, b, s, total, form),
        bytes_of(r, [], np.uint8),
        zero,
        r.array([2, b, n, past, h]) if past is not None else None,
    ]
    attributes = {"num_heads": n, **r.subset(unidirectional=r.int(0, 1))}
    outputs = 2 if past is not None else 1
    return make(r, "QAttention", inputs, attributes, outputs=outputs, constants=(1, 2, 3, 4, 6, 7))


def fused_gemm(r):
    m, k, n = r.int(1, 5), r.int(1, 6), r.int(1, 5)
    activation = r.pick(("Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid"))
    attributes = r.subset(transA=r.int(0, 1), transB=r.int(0, 1), alpha=0.5, beta=float(r.pick((1, 2))))
    a = r.array([k, m] if attributes.get("transA") else [m, k])
    b = r.array([n, k] if attributes.get("transB") else [k, n])
    c = r.array(r.pick(([n], [1, n], [m, 1], [m, n], []))) if r.chance(0.7) else None
    attributes["activation"] = activation
    if activation in ("LeakyRelu", "HardSigmoid"):
        attributes["activation_alpha"] = 0.3
    if activation == "HardSigmoid":
        attributes["activation_beta"] = 0.4
    return make(r, "FusedGemm", [a, b, c], attributes, constants=(1, 2))


GENERATORS = {
    "MicrosoftAttention": attention,
    "MicrosoftDynamicQuantizeMatMul": matmul_of_bytes("DynamicQuantizeMatMul"),
    "MicrosoftEmbedLayerNormalization": embed_layer_norm,
    "MicrosoftFusedGemm": fused_gemm,
    "MicrosoftGatherBlockQuantized": gather_blocks,
    "MicrosoftGroupQueryAttention": group_query_attention,
    "MicrosoftMatMulIntegerToFloat": matmul_of_bytes("MatMulIntegerToFloat"),
    "MicrosoftMultiHeadAttention": multi_head_attention,
    "MicrosoftQAttention": attention_of_bytes,
    "MicrosoftQEmbedLayerNormalization": embed_layer_norm_of_bytes,
    "MicrosoftRotaryEmbedding": rotary,
}
