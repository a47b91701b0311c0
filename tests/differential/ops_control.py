"""Control flow, and programs of many operators."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from case import Case, i64


class Builder:
    """Nodes of a graph whose values are known while it is built: their shapes are those of real arrays."""

    def __init__(self, r, prefix=""):
        self.r, self.prefix = r, prefix
        self.nodes, self.inputs, self.initializers, self.feeds = [], [], [], {}
        self.count = 0

    def name(self):
        self.count += 1
        return f"{self.prefix}v{self.count}"

    def input(self, array, symbolic=None):
        name = self.name()
        symbolic = self.r.chance(0.4) if symbolic is None else symbolic
        dims = [
            f"{name}_{k}" if symbolic and self.r.chance(0.5) else int(d) for k, d in enumerate(array.shape)
        ]
        self.inputs.append(
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims)
        )
        self.feeds[name] = array
        return name

    def constant(self, array):
        name = self.name()
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(
            helper.make_node(
                kind, list(inputs), names, name=f"{self.prefix}{kind}_{self.count}", **attributes
            )
        )
        return names[0] if outputs == 1 else names

    def graph(self, results, inputs=None, name="graph"):
        return helper.make_graph(
            self.nodes,
            self.prefix + name,
            self.inputs if inputs is None else inputs,
            [helper.make_empty_tensor_value_info(v) if isinstance(v, str) else v for v in results],
            self.initializers,
        )

    def case(self, what, results, opset):
        model = helper.make_model(
            self.graph(results), opset_imports=[helper.make_opsetid("", opset)], ir_version=10
        )
        return Case(what, model, self.feeds)


def info(name, kind, dims=None):
    return helper.make_tensor_value_info(name, kind, dims)


def if_(r):
    b = Builder(r)
    shape = r.shape(1, 3)
    x, y = b.input(r.array(shape)), b.input(r.array(shape))
    condition = b.input(np.array([r.chance(0.5)]) if r.chance(0.3) else np.array(r.chance(0.5)), False)
    if r.chance(0.2):
        condition = b.constant(np.array(r.chance(0.5)))
    branches = []
    for prefix in ("then_", "else_"):
        inner = Builder(r, prefix)
        value = inner.op(r.pick(("Add", "Mul", "Sub", "Max")), x, r.pick((x, y)))
        if r.chance(0.4):  # another extent in each branch
            value = inner.op("Concat", value, r.pick((x, y)), axis=0)
        if r.chance(0.3):
            value = x
        if r.chance(0.3):
            deeper = Builder(r, prefix + "deep_")
            first = deeper.op("Neg", y)
            other = Builder(r, prefix + "deeper_")
            second = other.op("Abs", value if value != x else y)
            value = inner.op(
                "If",
                condition,
                then_branch=deeper.graph([info(first, TensorProto.FLOAT)], []),
                else_branch=other.graph([info(second, TensorProto.FLOAT)], []),
            )
        if value == x:
            value = inner.op("Identity", x)
        extra = inner.constant(np.float32(r.int(0, 5)))
        second = inner.op("Add", extra, extra)
        branches.append(inner.graph([info(value, TensorProto.FLOAT), info(second, TensorProto.FLOAT)], []))
    out = b.op("If", condition, outputs=2, then_branch=branches[0], else_branch=branches[1])
    return b.case("If", [out[0], b.op("Add", out[1], out[1])], r.pick((11, 13, 16, 21)))


def loop(r):
    b = Builder(r)
    shape = r.shape(1, 3, zero=0.02)
    state, captured = b.input(r.array(shape)), b.input(r.array(shape))
    grows = r.chance(0.3)  # without an iteration the extents of its results would be anybody's guess
    count = np.array(r.int(1 if grows else 0, 4), np.int64)
    trips = b.input(count, False) if r.chance(0.5) else b.constant(count)
    condition = "" if grows else r.pick(("", None, "const"))
    if condition == "const":
        condition = b.constant(np.array(r.chance(0.85)))
    elif condition is None:
        condition = b.input(np.array(r.chance(0.85)), False)
    body = Builder(r, "body_")
    step = body.op("Cast", "body_i", to=TensorProto.FLOAT)
    value = body.op(
        "Add", body.op("Mul", "body_state", body.constant(np.float32(0.5))), r.pick((captured, step))
    )
    scans = [info(body.op("Add", value, step), TensorProto.FLOAT, shape)]
    if r.chance(0.5):
        scans.append(
            info(
                body.op("ReduceSum" if r.chance(0.5) else "ReduceMax", value, keepdims=0),
                TensorProto.FLOAT,
                [],
            )
        )
    if grows:
        value = body.op("Concat", value, captured, axis=0)
        scans = scans[1:]
        if "body_state" in body.nodes[1].input and captured in body.nodes[2].input:
            body.nodes[2].input[1] = step
    go = body.op("Identity", "body_go")
    if r.chance(0.4):
        limit = body.constant(np.array(r.int(0, 4), np.int64))
        go = body.op("Less", "body_i", limit)
    inner = body.graph(
        [info(go, TensorProto.BOOL), info(value, TensorProto.FLOAT, None if grows else shape), *scans],
        [
            info("body_i", TensorProto.INT64, []),
            info("body_go", TensorProto.BOOL, []),
            info("body_state", TensorProto.FLOAT, None if grows else shape),
        ],
    )
    out = b.op("Loop", trips, condition, state, outputs=1 + len(scans), body=inner)
    return b.case("Loop", [out] if isinstance(out, str) else out, r.pick((11, 13, 16, 21)))


def scan(r):
    b = Builder(r)
    length, inputs = r.int(1, 4), r.int(1, 2)
    shape = r.shape(0, 2, zero=0)
    state = b.input(r.array(shape))
    captured = b.input(r.array(shape), False)
    sequences, axes, directions = [], [], []
    for _ in range(inputs):
        axis = r.int(0, len(shape))
        full = list(shape)
        full.insert(axis, length)
        sequences.append(b.input(r.array(full), False))
        axes.append(axis - (len(full) if r.chance(0.3) else 0))
        directions.append(r.int(0, 1))
    body = Builder(r, "body_")
    value = body.op("Add", "body_state", "body_x0")
    if inputs == 2:
        value = body.op("Max", value, "body_x1")
    if r.chance(0.5):
        value = body.op("Mul", value, captured)
    scans = [body.op("Neg", value)]
    inner = body.graph(
        [
            info(body.op("Identity", value), TensorProto.FLOAT, shape),
            *[info(s, TensorProto.FLOAT, shape) for s in scans],
        ],
        [
            info("body_state", TensorProto.FLOAT, shape),
            *[info(f"body_x{i}", TensorProto.FLOAT, shape) for i in range(inputs)],
        ],
    )
    attributes = {"num_scan_inputs": inputs}
    if any(axes) or r.chance(0.4):
        attributes["scan_input_axes"] = axes
    if r.chance(0.5):
        attributes["scan_input_directions"] = directions
    if r.chance(0.5):
        attributes["scan_output_axes"] = [r.int(-len(shape) - 1, len(shape))]
    if r.chance(0.4):
        attributes["scan_output_directions"] = [r.int(0, 1)]
    return b.case(
        "Scan", b.op("Scan", state, *sequences, outputs=2, body=inner, **attributes), r.pick((11, 16, 21))
    )


def program(r):
    """Operators that read each other: what rules and passes make of them must stay equal."""
    b = Builder(r)
    values = []  # (name, array)
    rank = r.int(1, 4)
    dims = [r.pick((1, 2, 3, 4, 8)) for _ in range(rank)]
    symbolic = r.chance(0.5)

    def add(name, array):
        values.append((name, array))
        return name, array

    for _ in range(r.int(1, 3)):
        shape = dims if r.chance(0.6) else r.broadcast(dims)
        x = r.array(shape)
        add(b.input(x, symbolic), x)

    for _ in range(r.int(3, 18)):
        name, x = values[-1] if r.chance(0.6) else r.pick(values)
        step = r.pick_by_weight(STEPS)
        made = step(r, b, name, x, values)
        if (
            made is not None
            and made[1].size <= 4096
            and np.all(np.isfinite(made[1]))
            and np.max(np.abs(made[1]), initial=0) < 1e4
        ):
            add(*made)
    produced = {o for n in b.nodes for o in n.output}
    used = {i for n in b.nodes for i in n.input}
    results = [n for n, _ in values if n in produced and n not in used]
    results += [n for n, _ in values if n in produced and n in used and r.chance(0.1)]
    if not results:
        return program(r)
    return b.case("Program", results, r.pick((13, 15, 17)))


def _unary(kind, function):
    def step(r, b, name, x, values):
        with np.errstate(all="ignore"):
            return b.op(kind, name), function(x).astype(np.float32)

    return step


def _binary(kind, function):
    def step(r, b, name, x, values):
        way = r.pick(("value", "value", "scalar", "vector"))
        if way == "value":
            others = [v for v in values if v[1].ndim <= 5 and _fits(v[1].shape, x.shape)]
            other, y = r.pick(others)
        else:
            y = (
                np.float32(r.pick((0, 1, -1, 2, 0.5, 1e-5, -3)))
                if way == "scalar"
                else r.array(r.broadcast(x.shape))
            )
            if kind == "Div":
                y = np.where(np.abs(y) < 0.1, np.float32(1.5), y).astype(np.float32)
            other = b.constant(y)
        if kind == "Div" and np.min(np.abs(y), initial=1) < 0.05:
            return None
        if r.chance(0.3) and kind != "Div":
            return b.op(kind, other, name), function(y, x)
        return b.op(kind, name, other), function(x, y)

    return step


def _fits(a, c):
    return all(i == j or i == 1 or j == 1 for i, j in zip(reversed(a), reversed(c)))


def _transpose(r, b, name, x, values):
    if x.ndim == 0:
        return None
    perm = [int(i) for i in r.rng.permutation(x.ndim)]
    return b.op("Transpose", name, perm=perm), x.transpose(perm)


def _reshape(r, b, name, x, values):
    left, shape = x.size, []
    for _ in range(r.int(0, 3)):
        f = r.pick([f for f in range(1, left + 1) if left % f == 0]) if left else 0
        shape.append(f)
        left = left // f if f else 0
    shape.append(left)
    target = list(shape)
    if r.chance(0.5) and x.size:
        target[r.int(0, len(target) - 1)] = -1
    return b.op("Reshape", name, b.constant(i64(target))), x.reshape(shape)


def _shape_reshape(r, b, name, x, values):
    """A reshape whose shape is computed from shapes."""
    if x.ndim < 2:
        return None
    k = r.int(1, x.ndim - 1)
    head = b.op("Slice", b.op("Shape", name), b.constant(i64([0])), b.constant(i64([k])))
    return b.op("Reshape", name, b.op("Concat", head, b.constant(i64([-1])), axis=0)), x.reshape(
        list(x.shape[:k]) + [-1]
    )


def _slice(r, b, name, x, values):
    if x.ndim == 0:
        return None
    axis = r.int(0, x.ndim - 1)
    start, end, step = r.int(-4, 3), r.int(-3, 6), r.pick((1, 1, 2, -1))
    y = x[(slice(None),) * axis + (slice(start, end, step),)]
    if y.size == 0:
        return None
    return b.op("Slice", name, *[b.constant(i64([v])) for v in (start, end, axis, step)]), y


def _concat(r, b, name, x, values):
    if x.ndim == 0:
        return None
    axis = r.int(0, x.ndim - 1)
    others = [
        v
        for v in values
        if v[1].ndim == x.ndim and all(i == axis or d == x.shape[i] for i, d in enumerate(v[1].shape))
    ]
    picked = [r.pick(others) for _ in range(r.int(1, 2))]
    return b.op("Concat", name, *[n for n, _ in picked], axis=axis), np.concatenate(
        [x, *[v for _, v in picked]], axis
    )


def _split(r, b, name, x, values):
    if x.ndim == 0:
        return None
    axis = r.int(0, x.ndim - 1)
    if x.shape[axis] < 2:
        return None
    first = r.int(1, x.shape[axis] - 1)
    a, c = b.op("Split", name, b.constant(i64([first, x.shape[axis] - first])), outputs=2, axis=axis)
    parts = np.split(x, [first], axis)
    values.append((a, parts[0]))
    return c, parts[1]


def _unsqueeze(r, b, name, x, values):
    if x.ndim > 4:
        return None
    axis = r.int(0, x.ndim)
    return b.op("Unsqueeze", name, b.constant(i64([axis]))), np.expand_dims(x, axis)


def _squeeze(r, b, name, x, values):
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    if not ones:
        return None
    axis = r.pick(ones)
    return b.op("Squeeze", name, b.constant(i64([axis]))), np.squeeze(x, axis)


def _expand(r, b, name, x, values):
    shape = [r.int(2, 3) if d == 1 and r.chance(0.7) else d for d in x.shape]
    return b.op("Expand", name, b.constant(i64(shape))), np.broadcast_to(x, shape)


def _matmul(r, b, name, x, values):
    if x.ndim < 2:
        return None
    others = [
        v
        for v in values
        if v[1].ndim >= 2 and v[1].shape[-2] == x.shape[-1] and _fits(v[1].shape[:-2], x.shape[:-2])
    ]
    if others and r.chance(0.4):
        other, w = r.pick(others)
    else:
        w = r.array([x.shape[-1], r.pick((1, 2, 4, 8))], np.float32, -1, 1)
        other = b.constant(w)
    return b.op("MatMul", name, other), np.matmul(x, w)


def _reduce(kind, function):
    def step(r, b, name, x, values):
        if x.ndim == 0:
            return None
        axis, keep = r.int(-x.ndim, x.ndim - 1), r.int(0, 1)
        if kind == "ReduceSum":
            return b.op(kind, name, b.constant(i64([axis])), keepdims=keep), function(
                x, axis=axis, keepdims=bool(keep)
            )
        made = b.op("ReduceMax" if kind == "max" else kind, name, keepdims=keep, axes=[axis])
        return made, function(x, axis=axis, keepdims=bool(keep))

    return step


def _softmax(r, b, name, x, values):
    if x.ndim == 0:
        return None
    axis = r.int(-x.ndim, x.ndim - 1) if r.chance(0.4) else -1
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return b.op("Softmax", name, axis=axis), e / e.sum(axis=axis, keepdims=True)


def _where(r, b, name, x, values):
    others = [v for v in values if v[1].shape == x.shape]
    other, y = r.pick(others)
    limit = b.constant(np.float32(0.25))
    return b.op("Where", b.op(r.pick(("Greater",)), name, limit), name, other), np.where(x > 0.25, x, y)


def _cast(r, b, name, x, values):
    return b.op(
        "Cast", b.op("Cast", b.op("Floor", name), to=TensorProto.INT64), to=TensorProto.FLOAT
    ), np.floor(x).astype(np.int64).astype(np.float32)


def _gather(r, b, name, x, values):
    if x.ndim == 0:
        return None
    axis = r.int(0, x.ndim - 1)
    indices = (
        np.array(r.int(-x.shape[axis], x.shape[axis] - 1), np.int64)
        if r.chance(0.4)
        else r.array([r.int(1, 4)], np.int64, -x.shape[axis], x.shape[axis])
    )
    return b.op("Gather", name, b.constant(indices), axis=axis), np.take(x, indices, axis)


def _pad(r, b, name, x, values):
    if x.ndim == 0:
        return None
    pads = [r.int(0, 2) if r.chance(0.4) else 0 for _ in range(2 * x.ndim)]
    return b.op("Pad", name, b.constant(i64(pads))), np.pad(x, list(zip(pads[: x.ndim], pads[x.ndim :])))


def _tile(r, b, name, x, values):
    if x.ndim == 0:
        return None
    repeats = [r.pick((1, 1, 2)) for _ in x.shape]
    return b.op("Tile", name, b.constant(i64(repeats))), np.tile(x, repeats)


def _clip(r, b, name, x, values):
    return b.op("Clip", name, b.constant(np.float32(-0.5)), b.constant(np.float32(1.0))), np.clip(
        x, -0.5, 1.0
    )


# How often each is taken, and what it is.
STEPS = [
    (1, _unary("Neg", np.negative)),
    (1, _unary("Abs", np.abs)),
    (1, _unary("Tanh", np.tanh)),
    (1, _unary("Exp", np.exp)),
    (1, _unary("Sigmoid", lambda x: 1 / (1 + np.exp(-x)))),
    (1, _unary("Relu", lambda x: np.maximum(x, 0))),
    (1, _unary("Identity", lambda x: x)),
    (2, _binary("Add", np.add)),
    (2, _binary("Mul", np.multiply)),
    (1, _binary("Sub", np.subtract)),
    (1, _binary("Div", np.divide)),
    (1, _binary("Max", np.maximum)),
    (1, _binary("Min", np.minimum)),
    (3, _transpose),
    (3, _reshape),
    (1, _shape_reshape),
    (2, _slice),
    (2, _concat),
    (2, _split),
    (1, _unsqueeze),
    (1, _squeeze),
    (1, _expand),
    (3, _matmul),
    (1, _reduce("ReduceSum", np.sum)),
    (1, _reduce("ReduceMean", np.mean)),
    (1, _reduce("max", np.max)),
    (1, _softmax),
    (1, _where),
    (1, _cast),
    (2, _gather),
    (1, _pad),
    (1, _tile),
    (1, _clip),
]

GENERATORS = {"If": if_, "Loop": loop, "Scan": scan, "Program": program}
