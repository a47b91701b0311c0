#!/usr/bin/env python3
"""From a file to the first results: Tenon, with weights to pack, with weights mapped from the cache, and from a saved
program; and others, ONNX Runtime also from the file that it optimised itself.

  start_time.py START_BENCH MODEL INPUTS [--against onnxruntime,onnxruntime-saved,openvino] [--rounds 3] [--python PYTHON]
                [--precision fp32] [--json FILE]

INPUTS: a folder with input_N.pb or .npy. Every start has a process of its own, all take turns on one thread, and the file lies in
the system's cache: a round without a clock comes first, in which the weights' cache is filled too. Counted are loading,
optimising, compiling, packing or mapping, and the first run; of the others making the session and its first run. Not
counted: starting the process, importing packages and reading the inputs. `packing` is what mapping does instead.
PYTHON is one that has numpy, onnx and the others. PRECISION is Tenon's. `onnxruntime-saved` is a session from the file of
`optimized_model_filepath` without another optimisation. The size of the saved program is printed, too. FILE gets the report as JSON, in the form of ir-bench's; "-" prints
only the JSON. The interval of a ratio is the least and the largest of the rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

PEER = r"""
import json, os, sys, time
import numpy, onnx
from onnx import numpy_helper
engine, model, folder, saved = sys.argv[1:]
files = sorted((f for f in os.listdir(folder) if f.startswith("input_")), key=lambda f: int(f[6:].split(".")[0]))
arrays = [numpy.load(os.path.join(folder, f)) if f.endswith(".npy")
          else numpy_helper.to_array(onnx.load_tensor(os.path.join(folder, f))) for f in files]
if engine.startswith("onnxruntime"):
    import onnxruntime
    if engine == "onnxruntime-saved" and not os.path.exists(saved):
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = saved
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    start = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if engine == "onnxruntime-saved":
        model = saved
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session.run(None, {given.name: array for given, array in zip(session.get_inputs(), arrays)})
else:
    import openvino
    start = time.perf_counter()
    core = openvino.Core()
    network = core.read_model(model)
    network.reshape({port: list(array.shape) for port, array in zip(network.inputs, arrays)})
    compiled = core.compile_model(network, "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    compiled.create_infer_request().infer(arrays)
print(json.dumps({"start": (time.perf_counter() - start) * 1e3, "version": sys.modules[engine.partition("-")[0]].__version__}))
"""


def processor():
    """The processor's name, as the system gives it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown")


def as_json(rows, engines, sizes):
    """What ir-bench --json would say of the starts: "tenon" packs its weights, "mapped" finds them in the cache,
    and "saved" starts from a saved program. `sizes` are bytes of files, by name; the last ratio is theirs."""
    listed = [{"name": "tenon", "ms": {"median": statistics.median(row["pack"]["start"] for row in rows)}}]
    for own, suffix in (("pack", ""), ("map", ", mapped"), ("saved", ", saved")):
        for name in engines:
            ratios = sorted(row[name]["start"] / row[own]["start"] for row in rows)
            listed.append({"name": name + suffix, "version": rows[0][name]["version"],
                           "ratio": {"median": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]}})
    smaller = sizes["model"] / sizes["saved"]
    listed.append({"name": "size of the model's file, saved", "version": "",
                   "ratio": {"median": smaller, "low": smaller, "high": smaller}})
    return {"processor": processor(), "rounds": len(rows), "engines": listed, "bytes": sizes}


def report(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start_bench")
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("--against", default="onnxruntime,onnxruntime-saved,openvino")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16", "int8"])
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        precision = ["--precision", args.precision]
        commands = {"pack": [args.start_bench, args.model, args.inputs, *precision],
                    "map": [args.start_bench, args.model, args.inputs, cache, *precision]}
        saved = f"{cache}/saved.tnp"
        commands["saved"] = [args.start_bench, saved, args.inputs]
        subprocess.run([args.start_bench, args.model, args.inputs, *precision, "--save", saved], check=True)
        sizes = {"model": os.path.getsize(args.model), "saved": os.path.getsize(saved)}
        os.sync()  # a start does not pay for the disk that another program writes
        for engine in filter(None, args.against.split(",")):
            commands[engine] = [args.python, "-c", PEER, engine, args.model, args.inputs, f"{cache}/saved.onnx"]
        for round_ in range(args.rounds + 1):
            row = {name: report(command) for name, command in commands.items()}
            if round_ > 0:
                rows.append(row)

    if args.json:
        made = json.dumps(as_json(rows, list(commands)[3:], sizes)) + "\n"
        if args.json == "-":
            sys.stdout.write(made)
            return 0
        with open(args.json, "w", encoding="utf-8") as out:
            out.write(made)

    def median(name, phase="start"):
        return statistics.median(row[name][phase] for row in rows)

    phases = ["load", "optimize", "compile", "prepare", "first_run"]
    for name in ("pack", "map", "saved"):
        detail = ", ".join(f"{phase} {median(name, phase):.1f}" for phase in phases if phase in rows[0][name])
        print(f"tenon, {name:5}    {median(name):9.1f} ms  ({detail})")
    print(f"saved program {sizes['saved'] / 2**20:12.1f} MiB ({sizes['saved'] / sizes['model']:.2f} of the model)")
    packing = statistics.median(row["pack"]["prepare"] / row["map"]["prepare"] for row in rows)
    print(f"packing / mapping {packing:8.1f}")
    for name in list(commands)[3:]:
        ratio = statistics.median(row[name]["start"] / row["pack"]["start"] for row in rows)
        mapped = statistics.median(row[name]["start"] / row["map"]["start"] for row in rows)
        loaded = statistics.median(row[name]["start"] / row["saved"]["start"] for row in rows)
        print(f"{name:17} {median(name):7.1f} ms  / ours {ratio:.2f}, with the cache {mapped:.2f}, saved {loaded:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
