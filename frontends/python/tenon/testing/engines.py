"""Other engines that compute the outputs of a model: ONNX Runtime, and Python functions."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import os
import pathlib
import sys
from typing import Any, Sequence

from .subject import Skip


def onnxruntime_version() -> str | None:
    """The version of ONNX Runtime; None if it is not installed."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    for package in ("onnxruntime", "onnxruntime-gpu"):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


def _as_array(tensor: Any) -> Any:
    """A NumPy array of a tenon.Tensor. Raises Skip for a type that NumPy does not have."""
    import numpy

    if tensor.dtype.startswith(("bfloat", "float8", "float4", "int4", "int2", "uint4", "uint2")):
        raise Skip(f"NumPy has no {tensor.dtype}, so no input of this type can be given to ONNX Runtime")
    return numpy.asarray(tensor)


class OnnxRuntime:
    """A model in ONNX Runtime, without its own rewrites."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._session = self._make(b"")

    def _make(self, more: bytes) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        # Protobuf merges what follows a message into it. External data lies beside the model.
        content: Any = self._path
        if more:
            content = pathlib.Path(self._path).read_bytes() + more
            options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                             os.path.dirname(self._path))
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(self, inputs: Sequence[Any], more: bytes = b"") -> list[Any]:
        """The outputs. `more` are bytes that make outputs of values inside of the model; outputs that are no arrays of
        numbers are None then."""
        import numpy

        session = self._make(more) if more else self._session
        feeds = {given.name: _as_array(tensor) for given, tensor in zip(session.get_inputs(), inputs)}
        outputs = session.run(None, feeds)
        if not more:
            return list(outputs)
        return [value if isinstance(value, numpy.ndarray) and value.dtype.kind in "biuf" else None for value in outputs]


def run_script(script: str, names: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Calls FUNCTION of "FILE.py:FUNCTION", which returns something to call, and its inputs.

    Returns the inputs in the order of `names`, and the outputs. Raises Skip if the file needs a package that is not
    installed.
    """
    path, colon, name = script.rpartition(":")
    if not colon:
        raise ValueError(f"the script is '{script}' (expected FILE.py:FUNCTION)")
    made = load_object(path, name)()
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeError(f"{name} returned a {type(made).__name__} (expected something to call, and its inputs)")
    module, inputs = made
    if isinstance(inputs, dict):
        if set(inputs) != set(names):
            raise ValueError(f"{name} returned the inputs {', '.join(inputs)} (expected {', '.join(names)})")
        outputs = _without_gradients(lambda: module(**inputs))
        given = [inputs[each] for each in names]
    else:
        given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
        if len(given) != len(names):
            raise ValueError(f"{name} returned {len(given)} inputs (expected {', '.join(names)})")
        outputs = _without_gradients(lambda: module(*given))
    return [_plain(each) for each in given], [_plain(each) for each in _flat(outputs)]


def load_object(path: str, name: str) -> Any:
    """The object `name` of a Python file. Raises Skip if the file imports a package that is not installed."""
    if not pathlib.Path(path).is_file():
        raise ValueError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(f"tenon_testing_{pathlib.Path(path).stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise Skip(f"{os.path.basename(path)} needs the package {error.name}, which is not installed") from None
    finally:
        sys.path.remove(os.path.dirname(path))
    if not hasattr(module, name):
        raise ValueError(f"{path}: there is no {name}")
    return getattr(module, name)


def _without_gradients(call: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        return call()
    with torch.no_grad():
        return call()


def _plain(value: Any) -> Any:
    """An array without gradients, on the CPU."""
    for step in ("detach", "cpu", "contiguous"):
        if inspect.isroutine(getattr(value, step, None)):
            value = getattr(value, step)()
    return value


def _flat(outputs: Any) -> list[Any]:
    """The arrays of nested tuples, lists and dicts, as torch.onnx.export orders them. None is left out."""
    if outputs is None:
        return []
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    if isinstance(outputs, (tuple, list)):
        return [array for each in outputs for array in _flat(each)]
    return [outputs]
