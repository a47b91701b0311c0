#!/usr/bin/env python3
"""Runs a model in another engine, for ir-bench and ir-run: peer.py ENGINE MODEL FOLDER THREADS DEVICE.

FOLDER has inputs.json, a list of {"name", "file", "dims"} in the model's order: a .npy file, and the input's dimensions
as the model names them. DEVICE is cpu or cuda. The program speaks over the socket that is file descriptor 3, a JSON object a line. The first line
comes from here: {"ready": true, "version", "load_ms"}. Then {"run": N} is one run without a clock and N
timed ones, answered by {"ms": [...], "memory_mb"}; {"outputs": true} writes the results to FOLDER and is answered by {"files": [...]},
with null for what is no array of numbers. A tensor of strings is two outputs. A sequence of maps is the keys, which are
strings or integers, and a matrix of the values.
{"error": text} answers what fails, with "missing": NAME where the package NAME is not installed. The end of the stream
ends the program.

Where FOLDER has outputs.onnx, ir-run compares node by node. Its bytes, behind those of the model, make outputs of more
values. The engine then runs the nodes as they are. Otherwise each engine has the settings that make one request fastest: all optimisations, fixed shapes, memory of inputs and outputs
bound beforehand. Only the inference call is timed. On a GPU it includes the copies from and to host memory, which is
pinned.
"""

import gc
import importlib.util
import json
import os
import socket
import sys
import time


class OnnxRuntime:
    def __init__(self, model, inputs, threads, device):
        import onnxruntime
        self.version = onnxruntime.__version__
        provider = "CUDAExecutionProvider" if device == "cuda" else "CPUExecutionProvider"
        if provider not in onnxruntime.get_available_providers():
            raise RuntimeError(f"it has no {provider} (expected the package onnxruntime-gpu)")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        for entry in inputs:
            for name, extent in zip(entry["dims"], entry["array"].shape):
                if not name.isdigit() and name != "?":
                    options.add_free_dimension_override_by_name(name, extent)
        self.session = onnxruntime.InferenceSession(model, options, providers=[provider])
        if provider not in self.session.get_providers():
            raise RuntimeError(f"its {provider} cannot be used (its message says why)")
        self.binding = self.session.io_binding()
        value = onnxruntime.OrtValue.ortvalue_from_numpy
        feeds = {}
        for given, entry in zip(self.session.get_inputs(), inputs):
            feeds[given.name] = entry["array"]
            self.binding.bind_ortvalue_input(given.name, value(entry["array"]))
        self.feeds = feeds
        self.results = self.session.run(None, feeds)
        # Only tensors of numbers can be bound.
        self.bound = [value(result) for result in self.results] if all(map(is_numbers, self.results)) else None
        for given, result in zip(self.session.get_outputs(), self.bound or []):
            self.binding.bind_ortvalue_output(given.name, result)

    def run(self):
        if self.bound:
            self.session.run_with_iobinding(self.binding)
        else:
            self.results = self.session.run(None, self.feeds)

    def outputs(self):
        return [result.numpy() for result in self.bound] if self.bound else self.results


class OnnxRuntimeNodes:
    def __init__(self, model, outputs, inputs, threads):
        import onnxruntime
        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Protobuf merges what follows a message into it. External data lies beside the model.
        with open(model, "rb") as file:
            data = file.read() + outputs
        folder = os.path.dirname(os.path.abspath(model))
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        os.chdir(folder)
        self.session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self.feeds = {given.name: entry["array"] for given, entry in zip(self.session.get_inputs(), inputs)}
        self.results = []

    def run(self):
        self.results = self.session.run(None, self.feeds)

    def outputs(self):
        if not self.results:
            self.run()
        return self.results


class OpenVino:
    def __init__(self, model, inputs, threads, device):
        if device != "cpu":
            raise RuntimeError(f"it runs on no {device} device (expected --device=cpu)")
        import openvino
        self.version = openvino.__version__.split("-")[0]
        core = openvino.Core()
        network = core.read_model(model)
        ports = {name: port for port in network.inputs for name in port.get_names()}
        ports = [ports.get(entry["name"], network.inputs[index]) for index, entry in enumerate(inputs)]
        network.reshape({port: list(entry["array"].shape) for port, entry in zip(ports, inputs)})
        indices = [network.inputs.index(port) for port in ports]
        compiled = core.compile_model(network, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads})
        self.request = compiled.create_infer_request()
        self.tensors = [openvino.Tensor(entry["array"], shared_memory=True) for entry in inputs]
        for index, tensor in zip(indices, self.tensors):
            self.request.set_input_tensor(index, tensor)
        self.count = len(compiled.outputs)

    def run(self):
        self.request.infer(share_outputs=True)

    def outputs(self):
        return [self.request.get_output_tensor(index).data for index in range(self.count)]


class PyTorch:
    """A program of torch.export beside the model, operation by operation. Matrices of f32 are multiplied in f32, or, as by
    Tenon, in TF32 where TENON_CUDA_TF32 is 1."""

    def __init__(self, model, inputs, threads, device):
        import torch
        from torch.export.passes import move_to_device_pass
        self.torch = torch
        self.version = torch.__version__
        path = os.path.splitext(model)[0] + ".pt2"
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: no such file (tools/models/export.py --pytorch writes it beside the model)")
        torch.set_num_threads(threads)
        tf32 = os.environ.get("TENON_CUDA_TF32") == "1"
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        program = torch.export.load(path)
        self.on_gpu = device == "cuda"
        if self.on_gpu:
            program = move_to_device_pass(program, device)
        self.module = self.prepared(program.module())
        self.given = [torch.from_numpy(entry["array"]) for entry in inputs]
        if self.on_gpu:
            self.given = [tensor.pin_memory() for tensor in self.given]
        self.inputs = [tensor.to(device) for tensor in self.given]
        with torch.inference_mode():
            self.results = [torch.empty_like(result, device="cpu", pin_memory=self.on_gpu).contiguous()
                            for result in self.call()]
        for _ in range(2):  # torch.compile records a graph
            self.run()

    def prepared(self, module):
        return module

    def call(self):
        results = self.module(*self.inputs)
        return [results] if isinstance(results, self.torch.Tensor) else results

    def run(self):
        with self.torch.inference_mode():
            if not self.on_gpu:
                self.results = self.call()
                return
            for given, there in zip(self.given, self.inputs):
                there.copy_(given, non_blocking=True)
            for here, result in zip(self.results, self.call()):
                here.copy_(result, non_blocking=True)
            self.torch.cuda.synchronize()

    def outputs(self):
        return [result.numpy() for result in self.results]


class TorchCompile(PyTorch):
    """The same program, compiled, and on a GPU recorded as a CUDA graph."""

    def prepared(self, module):
        return self.torch.compile(module, mode="reduce-overhead", dynamic=False)


ENGINES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "pytorch": PyTorch, "torch.compile": TorchCompile}
PACKAGES = {"pytorch": "torch", "torch.compile": "torch"}  # where the name is another


def peak_memory_mb():
    """Of this program alone: what getrusage says counts the process that started it too."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


def first_line(error):
    return (str(error).strip() or repr(error)).splitlines()[0]


def timed(engine, count):
    engine.run()  # brings back what the other engines took of the caches
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        engine.run()
        times.append((time.perf_counter_ns() - start) / 1e6)
    return times


def is_numbers(value):
    import numpy
    return isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype.kind in "biuf"


def parts(value):
    """The outputs of the program that a value is."""
    import numpy
    if isinstance(value, numpy.ndarray) and value.dtype.kind in "OUS":
        return [None, None]  # where strings lie, and their text
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return [value]
    keys = sorted(value[0])
    values = numpy.array([[entries[key] for key in keys] for entries in value], numpy.float32)
    return [None, None, values] if isinstance(keys[0], str) else [numpy.array(keys, numpy.int64), values]


def write_outputs(engine, folder):
    import numpy
    files = []
    for index, array in enumerate(part for value in engine.outputs() for part in parts(value)):
        if not is_numbers(array):
            files.append(None)
            continue
        files.append(os.path.join(folder, f"peer_output_{index}.npy"))
        numpy.save(files[-1], numpy.asarray(array, order="C"))  # scalars stay scalars
    return files


def serve(engine, folder, requests, reply):
    for line in requests:
        request = json.loads(line)
        if "run" in request:
            reply(ms=timed(engine, request["run"]), memory_mb=peak_memory_mb())
        else:
            reply(files=write_outputs(engine, folder))


def main():
    name, model, folder, threads, device = sys.argv[1:]
    stream = socket.socket(fileno=3)
    requests = stream.makefile("r", encoding="utf-8")

    def reply(**fields):
        stream.sendall((json.dumps(fields) + "\n").encode())

    try:
        for package in (PACKAGES.get(name, name), "numpy"):
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named '{package}'", name=package)
        import numpy
        with open(os.path.join(folder, "inputs.json"), encoding="utf-8") as file:
            inputs = json.load(file)
        for entry in inputs:
            entry["array"] = numpy.load(entry["file"])
        start = time.perf_counter()
        more = os.path.join(folder, "outputs.onnx")
        if os.path.exists(more):
            with open(more, "rb") as file:
                engine = OnnxRuntimeNodes(model, file.read(), inputs, int(threads))
        else:
            engine = ENGINES[name](model, inputs, int(threads), device)
        gc.disable()
        reply(ready=True, version=engine.version, load_ms=(time.perf_counter() - start) * 1e3)
        serve(engine, folder, requests, reply)
    except ModuleNotFoundError as error:
        # A part of a package that is there is no package: "onnxruntime.capi" may be broken, not missing.
        name = error.name or ""
        package = name.partition(".")[0]
        found = package != name and importlib.util.find_spec(package) is not None
        reply(error=first_line(error), **({} if found or not name else {"missing": name}))
    except Exception as error:  # pylint: disable=broad-except
        reply(error=first_line(error))


if __name__ == "__main__":
    main()
