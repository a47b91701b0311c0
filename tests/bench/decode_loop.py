#!/usr/bin/env python3
"""Time per token of a decoder's loop with a growing past: Tenon and ONNX Runtime, or PyTorch on a GPU, in turns.

  decode_loop.py DECODE_BENCH MODEL [--past 128] [--tokens 64] [--rounds 5] [--threads 1] [--check RATIO]
  decode_loop.py DECODE_BENCH MODEL --pytorch FAMILY [--past 128] [--tokens 64] [--rounds 5]

Both are used as their users do: what a step computes of keys and values is bound as the next step's past, without a copy
between. `loop` is the median of the steps of such a loop, `fixed` that of as many runs whose lengths are all the last
step's, with inputs and results bound. Run it with a Python that has onnxruntime and numpy. --check fails if the other
engine's time / ours of the loop is less than RATIO.

--pytorch runs on a GPU, and compares with the model of tools/models/export.py of that FAMILY, such as gpt2_past, which
keeps its keys and values on the GPU in a cache that transformers makes.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np


class Peer:
    name = "onnxruntime"

    def __init__(self, model, threads):
        import onnxruntime
        self.make_value = onnxruntime.OrtValue.ortvalue_from_numpy
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = self.session.get_inputs()
        self.outputs = [output.name for output in self.session.get_outputs()]
        names = {given.name for given in self.inputs}
        candidates = {name: [name.replace("present", past, 1) for past in ("past", "past_key_values")]
                      for name in self.outputs if name.startswith("present")}
        self.pasts = {name: next((c for c in given if c in names), None) for name, given in candidates.items()}
        for name, past in self.pasts.items():
            if past is None:
                sys.exit(f"decode_loop.py: {model}: no input takes {name}; expected {' or '.join(candidates[name])}")

    def value(self, given, past):
        if "float" in given.type:
            shape = [d if isinstance(d, int) else 1 if axis == 0 else past for axis, d in enumerate(given.shape)]
            array = ((np.arange(np.prod(shape)) % 17 - 8) * 0.01).reshape(shape).astype(np.float32)
        else:
            shape = (1, past + 1) if "mask" in given.name else (1, 1)
            array = np.full(shape, past if "position" in given.name else 1, np.int64)
        return self.make_value(array)

    def run(self, past, tokens):
        binding = self.session.io_binding()
        steps, fixed = [], []
        for step in range(tokens):
            for given in self.inputs:
                if step == 0 or "float" not in given.type:
                    binding.bind_ortvalue_input(given.name, self.value(given, past + step))
            for name in self.outputs:
                binding.bind_output(name, "cpu")
            start = time.perf_counter()
            self.session.run_with_iobinding(binding)
            values = binding.get_outputs()
            steps.append((time.perf_counter() - start) * 1e3)
            for name, value in zip(self.outputs, values):
                if name in self.pasts:
                    binding.bind_ortvalue_input(self.pasts[name], value)
        binding = self.session.io_binding()
        for given in self.inputs:
            binding.bind_ortvalue_input(given.name, self.value(given, past + tokens - 1))
        for name in self.outputs:
            binding.bind_output(name, "cpu")
        self.session.run_with_iobinding(binding)
        for name, value in zip(self.outputs, binding.get_outputs()):
            binding.bind_ortvalue_output(name, value)
        for _ in range(tokens):
            start = time.perf_counter()
            self.session.run_with_iobinding(binding)
            fixed.append((time.perf_counter() - start) * 1e3)
        return steps, fixed


class PyTorch:
    name = "pytorch"

    def __init__(self, family):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "models"))
        import families
        import torch
        import transformers
        self.torch, self.make_cache = torch, transformers.DynamicCache
        if family not in families.FAMILIES:
            sys.exit(f"decode_loop.py: {family}: no such family (tools/models/export.py --list names them)")
        self.case = families.FAMILIES[family]("sdpa", "full")
        self.model = self.case.model.model.eval().cuda()

    def cache(self, past):
        cache = self.make_cache()
        layers = sum(name.startswith("past.") for name in self.case.inputs) // 2
        for layer in range(layers):
            shape = list(self.case.inputs[f"past.{layer}.key"].shape)
            shape[2] = past
            cache.update(*(self.torch.rand(shape, device="cuda") - 0.5 for _ in range(2)), layer)
        return cache

    def step(self, cache, past):
        torch = self.torch
        ids, mask = (torch.ones(1, extent, dtype=torch.int64) for extent in (1, past + 1))
        start = time.perf_counter()
        result = self.model(input_ids=ids.cuda(), attention_mask=mask.cuda(), past_key_values=cache, use_cache=True)
        result.logits.cpu()
        return (time.perf_counter() - start) * 1e3

    def run(self, past, tokens):
        with self.torch.inference_mode():
            cache = self.cache(past)
            steps = [self.step(cache, past + step) for step in range(tokens)]
            fixed = []
            for _ in range(tokens):
                cache.crop(past + tokens - 1)
                fixed.append(self.step(cache, past + tokens - 1))
        return steps, fixed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("decode_bench")
    parser.add_argument("model")
    parser.add_argument("--past", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--check", type=float)
    parser.add_argument("--pytorch", metavar="FAMILY")
    args = parser.parse_args()
    peer = PyTorch(args.pytorch) if args.pytorch else Peer(args.model, args.threads)
    command = [args.decode_bench, args.model, str(args.past), str(args.tokens), str(args.threads),
               "cuda" if args.pytorch else "cpu"]
    rows = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ours:
        for round_ in range(args.rounds + 1):
            ours.stdin.write("\n")
            ours.stdin.flush()
            line = ours.stdout.readline()
            if not line:  # it has said why
                return 1
            mine = json.loads(line)
            theirs = peer.run(args.past, args.tokens)
            if round_ > 0:  # the first packs weights
                rows.append([statistics.median(t) for t in (mine["steps"], mine["fixed"], *theirs)])
        ours.stdin.close()
    for name, own, other in (("loop", 0, 2), ("fixed", 1, 3)):
        ratio = statistics.median(row[other] / row[own] for row in rows)
        print(f"{name:5}  tenon {statistics.median(row[own] for row in rows):8.3f} ms   "
              f"{peer.name} {statistics.median(row[other] for row in rows):8.3f} ms   ratio {ratio:.2f}")
    ratio = statistics.median(row[2] / row[0] for row in rows)
    return 1 if args.check is not None and ratio < args.check else 0


if __name__ == "__main__":
    sys.exit(main())
