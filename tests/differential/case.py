"""Random cases of one ONNX operator each, and what they are expected to give."""

import dataclasses
import os
import pickle
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

onnxruntime.set_default_logger_severity(4)
warnings.filterwarnings("ignore")


@dataclasses.dataclass
class Case:
    """A model with inputs. `outputs` are None where no oracle runs it."""

    name: str
    model: onnx.ModelProto
    inputs: dict
    oracle: str = ""
    outputs: list = None
    tolerance: str = "float"  # "half" where values have few digits, "rounded" to integers
    first: str = "onnxruntime"  # the oracle that is asked first


class Random:
    """Draws shapes, values and attributes."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def int(self, low, high):
        """An integer of [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, p):
        return bool(self.rng.random() < p)

    def pick(self, options):
        return options[self.int(0, len(options) - 1)]

    def pick_by_weight(self, options):
        """One of (weight, option), each as often as its weight is of all of them."""
        at = self.int(0, sum(weight for weight, _ in options) - 1)
        for weight, option in options:
            if at < weight:
                return option
            at -= weight

    def shape(self, low=0, high=4, most=5, zero=0.04):
        return [0 if self.chance(zero) else self.int(1, most) for _ in range(self.int(low, high))]

    def array(self, shape, dtype=np.float32, low=None, high=None):
        dtype = np.dtype(dtype)
        if dtype == np.bool_:
            return np.asarray(self.rng.integers(0, 2, shape)).astype(dtype)
        if dtype.kind in "iu":
            low = (0 if dtype.kind == "u" else -9) if low is None else low
            return np.asarray(self.rng.integers(low, 9 if high is None else high, shape)).astype(dtype)
        low, high = -2 if low is None else low, 2 if high is None else high
        return np.asarray(self.rng.random(shape) * (high - low) + low).astype(dtype)

    def broadcast(self, shape):
        """A shape that broadcasts to `shape`."""
        kept = list(shape)[self.int(0, len(shape)) :] if self.chance(0.4) else list(shape)
        return [1 if self.chance(0.3) else d for d in kept]

    def axis(self, rank):
        return self.int(-rank, rank - 1)

    def axes(self, rank, low=0):
        count = self.int(min(low, rank), rank)
        chosen = self.rng.permutation(rank)[:count]
        return [int(a) - (rank if self.chance(0.3) else 0) for a in chosen]

    def subset(self, **attributes):
        """Some of the attributes; the others have their defaults."""
        return {k: v for k, v in attributes.items() if self.chance(0.7)}

    def opset(self, *versions):
        return self.pick(versions)


def i64(values):
    return np.array(values, dtype=np.int64)


FLOATS = (np.float32, np.float32, np.float64, np.float16)
INTS = (np.int64, np.int32, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64)
NUMBERS = FLOATS + INTS[:4]


def make(r, op, inputs, attributes=None, outputs=1, opset=23, constants=(), domain="", symbols=True):
    """A model of one node. Inputs that are None are left out; those in `constants` are initializers
    mostly, the others rarely. Dimensions get symbols at random, if at all."""
    names, graph_inputs, initializers, feeds = [], [], [], {}
    for i, value in enumerate(inputs):
        if value is None:
            names.append("")
            continue
        value = np.asarray(value)
        names.append(f"x{i}")
        if r.chance(0.7 if i in constants else 0.08):
            initializers.append(numpy_helper.from_array(value, f"x{i}"))
            continue
        symbolic = symbols and i not in constants and r.chance(0.4)  # an unknown extent of a shape makes an unknown rank
        dims = [f"d{i}_{k}" if symbolic and r.chance(0.6) else int(d) for k, d in enumerate(value.shape)]
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        graph_inputs.append(helper.make_tensor_value_info(f"x{i}", kind, dims))
        feeds[f"x{i}"] = value
    while names and names[-1] == "":
        names.pop()
    node = helper.make_node(
        op,
        names,
        [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs,
        name="node",
        domain=domain,
        **(attributes or {}),
    )
    results = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "graph", graph_inputs, results, initializers)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return Case(op, model, feeds)


def run_onnxruntime(case):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        case.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, case.inputs)


def run_reference(case):
    return ReferenceEvaluator(case.model).run(None, case.inputs)


def apart(oracle, case):
    """What the oracle gives, run in a process of its own: some models end it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            answer = [np.asarray(r) for r in oracle(case)]
        except BaseException as error:  # each oracle has errors of its own
            answer = str(error).strip()[-200:] or repr(error)
        with os.fdopen(writer, "wb") as stream:
            pickle.dump(answer, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    status = os.waitpid(child, 0)[1]
    return pickle.loads(data) if data else f"ended with status {status}"


def solve(case, oracles):
    """Fills in expected outputs and the types of the model's outputs. Returns what was said by oracles
    that refused."""
    said = []
    for name, oracle in sorted(oracles, key=lambda o: o[0] != case.first):
        results = apart(oracle, case)
        if isinstance(results, str):
            said.append(f"{name}: {results}")
            continue
        if any(r.dtype.kind == "O" for r in results):
            continue
        case.oracle, case.outputs = name, results
        break
    if case.outputs is not None:
        for info, value in zip(case.model.graph.output, case.outputs):
            info.CopyFrom(
                helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(value.dtype), None)
            )
            if value.dtype.name in ("float16", "bfloat16"):
                case.tolerance = "half"
        for value in case.inputs.values():
            if value.dtype.name in ("float16", "bfloat16"):
                case.tolerance = "half"
        if any(
            t.data_type in (TensorProto.FLOAT16, TensorProto.BFLOAT16) for t in case.model.graph.initializer
        ):
            case.tolerance = "half"
    return said


def write(case, folder):
    """As ONNX's backend tests are laid out."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for i, info in enumerate(case.model.graph.input):
        tensor = numpy_helper.from_array(case.inputs[info.name], info.name)
        (data / f"input_{i}.pb").write_bytes(tensor.SerializeToString())
    for i, value in enumerate(case.outputs or []):
        tensor = numpy_helper.from_array(
            np.ascontiguousarray(value).reshape(value.shape), case.model.graph.output[i].name
        )
        (data / f"output_{i}.pb").write_bytes(tensor.SerializeToString())


ORACLES = (("onnxruntime", run_onnxruntime), ("reference", run_reference))
