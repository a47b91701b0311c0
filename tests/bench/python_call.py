#!/usr/bin/env python3
"""The time of one call of a small model from Python, beside that of the C++ API and of ONNX Runtime.

  python_call.py --package build-test/python --ir-bench build-test/bin/ir-bench [--calls N]

Run it with an interpreter that has numpy, onnx and onnxruntime. The model is a linear layer of 1 x 8 by 8 x 8. ir-bench
gives the time of the C++ call. The figures are the best of ten rounds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time


def best(call, calls, rounds=10):
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return min(times) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True)
    parser.add_argument("--ir-bench")
    parser.add_argument("--calls", type=int, default=5000)
    options = parser.parse_args()
    sys.path.insert(0, options.package)

    start = time.process_time()
    import tenon
    print(f"import tenon:             {(time.process_time() - start) * 1e3:6.1f} ms of processor time")
    import numpy as np
    import onnx
    from onnx import TensorProto, helper

    weights = np.arange(64, dtype=np.float32).reshape(8, 8)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])], [onnx.numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    loaded = tenon.load(model)
    loaded.optimize()
    program = loaded.compile(threads=1)
    x = np.ones((1, 8), np.float32)
    session, binding = program.session(), program.binding()
    binding.bind_input("x", x)
    binding.bind_output("y", np.zeros((1, 8), np.float32))
    print(f"program(x):               {best(lambda: program(x), options.calls):6.2f} us")
    print(f"program(x=x):             {best(lambda: program(x=x), options.calls):6.2f} us")
    print(f"session.run(binding):     {best(lambda: session.run(binding), options.calls):6.2f} us")

    if options.ir_bench:
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(model.SerializeToString())
            file.flush()
            result = subprocess.run([options.ir_bench, file.name, "--threads=1", "--json=-"], check=True,
                                    stdout=subprocess.PIPE)
        fastest = json.loads(result.stdout)["engines"][0]["ms"]["min"]
        print(f"C++ with binding:         {fastest * 1e3:6.2f} us")

    try:
        import onnxruntime
    except ImportError:
        return
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    other = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    print(f"onnxruntime run:          {best(lambda: other.run(None, {'x': x}), options.calls):6.2f} us")
    bound = other.io_binding()
    bound.bind_cpu_input("x", x)
    bound.bind_output("y")
    print(f"onnxruntime with binding: {best(lambda: other.run_with_iobinding(bound), options.calls):6.2f} us")


if __name__ == "__main__":
    main()
