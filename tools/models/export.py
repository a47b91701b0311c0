#!/usr/bin/env python3
"""Exports models from PyTorch to ONNX, with inputs and PyTorch's own outputs beside them.

  export.py [--out DIR] [NAME...]   small models with random weights; default: those of tests/models
  export.py --full DIR [MODEL...]   full-size ones for benchmarks; default: all of FULL; SIZES has more
  export.py --families DIR [VARIANT...]
                                    every family in each variant; default: eager.ts17 and sdpa.dyn18
  export.py --list                  the families

--pytorch also writes model.pt2, the program of torch.export, which `ir-bench --against=pytorch` runs. --batch=N repeats
the inputs N times. --dtype makes a model of 16 bits, always by dynamo.

A NAME is <family>.<attention>.<exporter><opset>: attention is `eager` (spelled out) or `sdpa` (PyTorch's fused
operator); the exporter is `ts` (TorchScript) or `dyn` (dynamo). The result is NAME/model.onnx and
NAME/test_data_set_M/{input_N,output_N}.pb, serialised TensorProtos in the order of the graph's inputs and outputs;
M is 0 for the inputs of the export and 1 for others, of another batch and sequence.

Needs: pip install torch torchvision transformers onnx onnxscript onnxruntime (several GB; neither the build nor the
tests need any of it).
"""

import argparse
import pathlib
import re
import shutil
import sys
import traceback
import warnings

import numpy
import onnx
import torch

import families
import families_images
import families_promptable
import families_sizes
import families_wide

TREE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "models"
COMMITTED = ["bert.eager.ts17", "bert.sdpa.dyn18", "roberta.sdpa.ts14", "distilbert.eager.ts11", "vit.eager.ts17",
             "vit.sdpa.dyn20", "resnet_bn.eager.ts17", "squeezenet_bn.eager.ts13",
             "llama_past.sdpa.ts17", "t5_encoder.eager.ts17"]
FULL = {
    "bert_base": "bert.sdpa.ts17",
    "gpt2_past": "gpt2_past.sdpa.ts17",
    "llama_110m": "llama.sdpa.ts17",
    "llama_110m_past": "llama_past.sdpa.ts17",
    "vit_b16": "vit.sdpa.ts17",
    "swin_t": "tv_swin.sdpa.ts17",
    "resnet50": "tv_resnet50.eager.ts17",
    "mobilenet_v3_large": "tv_mobilenet_v3_large.eager.ts17",
    "efficientnet_b0": "tv_efficientnet_b0.eager.ts17",
}
SIZES = {name: f"{name}.sdpa.{'dyn18' if name in families_sizes.DYNAMO else 'ts17'}"
         for name in [*families_sizes.FAMILIES, *families_wide.FAMILIES, *families_images.FAMILIES,
                      *families_promptable.FAMILIES]}
KNOWN = {**families.FAMILIES, **families_sizes.FAMILIES, **families_wide.FAMILIES, **families_images.FAMILIES,
         **families_promptable.FAMILIES}
VARIANTS = ["eager.ts17", "sdpa.dyn18"]


def parse_name(name):
    match = re.fullmatch(r"(\w+)\.(eager|sdpa)\.(ts|dyn)(\d+)", name)
    if not match or match.group(1) not in KNOWN:
        sys.exit(f"export.py: {name}: expected <family>.<eager|sdpa>.<ts|dyn><opset> with a family of --list")
    return match.group(1), match.group(2), match.group(3), int(match.group(4))


def output_names(case):
    """Names for a decoder's outputs: what it computes of `past.…` is `present.…`. Others keep the exporter's."""
    pasts = [name for name in case.inputs if name.startswith("past.")]
    return ["logits", *(name.replace("past", "present", 1) for name in pasts)] if pasts else None


def export_torchscript(model, case, opset, path):
    options = {}
    if case.keep_batch_norm:
        options = dict(training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    torch.onnx.export(model, tuple(case.inputs.values()), str(path), input_names=list(case.inputs),
                      output_names=output_names(case), dynamic_axes=case.dynamic_axes, opset_version=opset, dynamo=False, **options)


def export_dynamo(model, case, opset, path):
    # An extent of 1 becomes a constant in the program, whatever is asked for: its axis would be dynamic by name alone.
    shapes = tuple({axis: torch.export.Dim.AUTO for axis in case.dynamic_axes[name] if value.shape[axis] != 1}
                   for name, value in case.inputs.items())
    program = torch.onnx.export(model, tuple(case.inputs.values()), input_names=list(case.inputs),
                                output_names=output_names(case), dynamic_shapes=(shapes,), opset_version=opset, dynamo=True, verbose=False)
    proto = program.model_proto
    for node in proto.graph.node:  # the scope of a node stays, its Python stack goes: it is most of the file
        for entry in [entry for entry in node.metadata_props if entry.key.endswith("stack_trace")]:
            node.metadata_props.remove(entry)
    onnx.save(proto, str(path), save_as_external_data=proto.ByteSize() > 2**31 - 2**20)


def write_tensor(path, value, name):
    path.write_bytes(onnx.numpy_helper.from_array(numpy.ascontiguousarray(value.numpy()), name).SerializeToString())


def write_program(model, case, path):
    """For PyTorch itself. Sizes are those of the inputs: PyTorch is measured with fixed shapes, as every engine is."""
    torch.export.save(torch.export.export(model, tuple(case.inputs.values()), strict=False), path)


def as_dtype(case, dtype):
    """The case in a type of 16 bits. Integers and truths stay."""
    case.model.to(dtype)
    for values in (case.inputs, case.others or {}):
        for name, value in values.items():
            if value.is_floating_point():
                values[name] = value.to(dtype)


def repeat_batch(case, batch):
    """The case with its inputs `batch` times in a row."""
    for name, value in case.inputs.items():
        for axis, label in case.dynamic_axes[name].items():
            if label == "batch":
                case.inputs[name] = torch.cat([value] * batch, axis)


def export(name, folder, size, dtype=None, pytorch=False, batch=1):
    family, attention, exporter, opset = parse_name(name)
    if dtype and exporter == "ts":  # its form of fused attention mixes types
        exporter, opset = "dyn", 18
    torch.manual_seed(sum(family.encode()))
    families_of_size = KNOWN if size == "full" else {**KNOWN, **families.FAMILIES}  # names that both have
    case = families_of_size[family](attention, size)
    case.model.eval()
    families.perturb(case.model)
    if size == "full":
        families.calibrate(case.model, case.inputs)
    repeat_batch(case, batch)
    if dtype:
        as_dtype(case, dtype)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "model.onnx"
    model = families.Wrapped(case).eval()
    with torch.no_grad():
        (export_torchscript if exporter == "ts" else export_dynamo)(model, case, opset, path)
    proto = onnx.load(str(path), load_external_data=False)
    if pytorch:
        with torch.no_grad():
            write_program(model, case, path.with_suffix(".pt2"))
    found = next(entry.version for entry in proto.opset_import if entry.domain == "")
    if found != opset:
        raise RuntimeError(f"asked for opset {opset}, the exporter wrote {found}")
    error = write_data(model, path, case.inputs, folder / "test_data_set_0")
    if case.others:
        others = folder / "test_data_set_1"
        try:
            holds = write_data(model, path, case.others, others) < (1e-2 if dtype else 1e-4)
        except Exception:  # pylint: disable=broad-except
            holds = False
        if not holds:  # the exporter kept a size of its inputs
            shutil.rmtree(others)
    return error


def write_data(model, path, inputs, folder):
    """Writes inputs and PyTorch's outputs. Returns how far ONNX Runtime is from them: the export may be wrong."""
    graph = onnx.load(str(path), load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in weights]
    folder.mkdir(parents=True)
    with torch.no_grad():
        expected = families.tensors(model(*inputs.values()))
    for index, name in enumerate(names):
        write_tensor(folder / f"input_{index}.pb", inputs[name], name)
    for index, value in enumerate(expected):
        write_tensor(folder / f"output_{index}.pb", value, graph.output[index].name)
    return compare_with_onnxruntime(path, {key: inputs[key].numpy() for key in names}, expected)


def compare_with_onnxruntime(path, inputs, expected):
    """The largest difference between ONNX Runtime (unoptimised) and PyTorch: the export itself may be wrong."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    results = session.run(None, inputs)
    return max(float(numpy.abs(a - b.numpy()).max()) for a, b in zip(results, expected))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=pathlib.Path, default=TREE)
    parser.add_argument("--full", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--families", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--pytorch", action="store_true")
    parser.add_argument("--batch", type=int, default=1, metavar="N")
    parser.add_argument("--dtype", choices=["f16", "bf16"])
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(families.FAMILIES))
        return 0
    warnings.filterwarnings("ignore")
    out, size, names = arguments.out, "small", arguments.names or COMMITTED
    if arguments.full:
        out, size, names = arguments.full, "full", arguments.names or list(FULL)
        if unknown := set(names) - set(FULL) - set(SIZES):
            known = ", ".join([*FULL, *SIZES])
            parser.error(f"no full-size model {', '.join(sorted(unknown))}; there are {known}")
    elif arguments.families:
        out = arguments.families
        names = [f"{family}.{variant}" for variant in arguments.names or VARIANTS for family in families.FAMILIES]

    failed = 0
    for name in names:
        try:
            dtype = {"f16": torch.float16, "bf16": torch.bfloat16, None: None}[arguments.dtype]
            error = export({**FULL, **SIZES}[name] if size == "full" else name, out / name, size, dtype,
                           arguments.pytorch, arguments.batch)
        except Exception as exception:  # pylint: disable=broad-except
            failed += 1
            shutil.rmtree(out / name, ignore_errors=True)
            print(f"{name:28} FAILED: {str(exception).strip().splitlines()[0][:150]}")
            traceback.print_exc(limit=-3)
            continue
        kilobytes = (out / name / "model.onnx").stat().st_size / 1024
        nodes = len(onnx.load(str(out / name / "model.onnx"), load_external_data=False).graph.node)
        note = "" if error < (1e-2 if arguments.dtype else 1e-4) else "  <- ONNX Runtime disagrees with PyTorch"
        print(f"{name:28} {kilobytes:8.0f} KB {nodes:5} nodes  error {error:.1e}{note}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
