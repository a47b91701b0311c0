#!/usr/bin/env python3
"""Exported models end to end: imported, fused, run, compared with PyTorch's outputs.

  models_test.py [--bytes] <ir-run> <ir-opt> <folder with model folders below it>...

With --bytes only that programs and results are the same bytes wherever they are made.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import perturb

IR_RUN, IR_OPT, FOLDERS = None, None, []

# Families whose every attention block must become one op, by the first part of the folder's name.
TRANSFORMERS = ("bert", "roberta", "distilbert", "electra", "camembert", "vit", "deit", "beit",
                "llama", "llama_past", "t5_encoder")
# Decoders whose branches hold one decoder each, with and without past keys and values.
MERGED = ("gpt2_merged",)
CONVOLUTIONAL = ("squeezenet", "resnet", "tv_squeezenet")
# Each allocation a mapping of its own, whose addresses fall; blocks that are not handed out again; a long environment.
ELSEWHERE = {
    "mapped": {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=64:glibc.malloc.mmap_max=50000:glibc.malloc.tcache_count=0"},
    "perturbed": {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=165"},
    "long": {"TENON_TEST_FILLER": "x" * 50000},
}
# What must be gone after fusion in each kind.
FUSED_AWAY = {
    TRANSFORMERS: ("nn.softmax", "nn.attention", "ten.matmul", "ten.erf", "ten.tanh", "nn.gelu",
                   "ten.reduce_mean", "ten.shape", "ten.dynamic_reshape", "ten.dynamic_expand", "ten.dynamic_slice"),
    MERGED: ("nn.softmax", "nn.attention", "ten.concat", "onnx.If"),
    CONVOLUTIONAL: ("nn.batch_norm", "ten.relu", "ten.clip", "ten.shape"),
}

# What families on request make of some models, by the name of the folder.
LAYERS = [("transformer", {"fused.transformer_layer": 2}), ("transformer,stacks", {"fused.transformer_stack": 1})]
ON_REQUEST = {
    "fusions.handmade": [("blocks", {"fused.linear_norm": 2, "fused.linear_chain": 1, "fused.norm_linear": 1}),
                         ("siblings", {"ten.split": 2})],
    "parallel.handmade": [("transformer", {"fused.transformer_layer": 4}), ("transformer,stacks", {"fused.transformer_stack": 2})],
    "bert.sdpa.dyn18": [*LAYERS, ("mlp", {"fused.linear_chain": 2})],
    "llama_past.sdpa.ts17": LAYERS,
    "vit.sdpa.dyn20": [*LAYERS, ("mlp", {"fused.linear_chain": 2})],
}
# Operations and rules that the handmade models are there for, which the standard pipeline has.
HANDMADE = {
    "fusions.handmade": ({"fused.add_transpose", "fused.rotary", "q.linear"}, {"f16-in-f32-added", "pack-kv-without-bias"}),
    "images.handmade": ({"fused.group_norm", "fused.moved_norm", "fused.transpose_concat"}, {"skip-group-norm-activation"}),
}


def family(model):
    return model.parent.name.split(".")[0].split("_bn")[0]


def models():
    for folder in FOLDERS:
        yield from sorted(pathlib.Path(folder).glob("*/model.onnx"))


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, check=False, **options)


class Models(unittest.TestCase):

    def test_there_are_models(self):
        self.assertGreaterEqual(len(list(models())), 8)

    def check(self, model, *options):
        result = run(IR_RUN, model, *options, "--check", model.parent, "--runs=1", "--check-memory", "--json=-")
        self.assertEqual(result.returncode, 0, f"{options}: {result.stderr or result.stdout}")
        report = json.loads(result.stdout)
        self.assertTrue(report["pass"])
        self.assertEqual(report["memory"]["arena_to_bound"], 1)
        for output in report["outputs"]:
            self.assertLess(output["max_rel_error"], 1e-4)
        return report

    def test_equal_to_pytorch_and_fused(self):
        for model in models():
            with self.subTest(model=model.parent.name):
                report = self.check(model, "-O2", "--threads=2")
                before, after = report["ops_before"], report["ops_after"]
                for families, gone in FUSED_AWAY.items():
                    if family(model) not in families:
                        continue
                    for op in gone:
                        self.assertNotIn(op, after)
                if family(model) in TRANSFORMERS:
                    blocks = before.get("nn.softmax", 0) + before.get("nn.attention", 0)
                    self.assertGreater(blocks, 0)
                    self.assertEqual(after.get("fused.attention"), blocks)
                    # Every block ends in a residual, and all but the last are followed by a norm.
                    norms = after.get("fused.skip_layer_norm", 0) + after.get("fused.skip_rms_norm", 0)
                    self.assertGreater(norms, blocks)
                if family(model) in MERGED:
                    self.assertEqual(after.get("fused.attention"), before.get("nn.softmax"))
                if family(model) in CONVOLUTIONAL:
                    self.assertGreater(after.get("fused.conv", 0), 0)

    def requested(self, model, rules, path):
        """How many operations of each kind the model has with a family on request; the program goes to `path`."""
        result = run(IR_OPT, model, f"--pass-pipeline=O2,fuse{{rules={rules}}}", "-o", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return collections.Counter(re.findall(r"= ([a-z]+\.[a-z_0-9]+)\(", path.read_text(encoding="utf-8")))

    def test_families_on_request(self):
        """They find what they are for, compute what PyTorch computes, and layers run as the operations that they join."""
        for model in models():
            for rules, expected in ON_REQUEST.get(model.parent.name, [("transformer", {})]):
                with self.subTest(model=model.parent.name, rules=rules), tempfile.TemporaryDirectory() as folder:
                    self.check_requested(model, rules, expected, pathlib.Path(folder) / "requested.mlir")

    def check_requested(self, model, rules, expected, path):
        counts = self.requested(model, rules, path)
        for op, count in expected.items():
            self.assertEqual(counts[op], count, op)
        for options in ((), ("--reference",)):
            result = run(IR_RUN, path, "-O0", *options, "--check", model.parent, "--runs=1", "--json=-")
            self.assertEqual(result.returncode, 0, result.stderr or result.stdout)
        if rules.startswith("transformer"):
            kernels = [sorted(re.findall(r'kernel = "([^"]+)"', run(IR_OPT, *command).stdout))
                       for command in ((path, "--lower"), (model, "-O2", "--lower"))]
            self.assertEqual(*kernels)

    def test_handmade_models_fuse(self):
        for model in models():
            if model.parent.name not in HANDMADE:
                continue
            ops, rules = HANDMADE[model.parent.name]
            with self.subTest(model=model.parent.name), tempfile.TemporaryDirectory() as folder:
                report = pathlib.Path(folder) / "report.json"
                result = run(IR_OPT, model, "-O2", f"--fusion-report={report}", "-o", "-")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertLessEqual(ops, set(re.findall(r"= ([a-z]+\.[a-z_0-9]+)\(", result.stdout)))
                fired = {rule["rule"] for rule in json.loads(report.read_text(encoding="utf-8"))["rules"] if rule["fired"]}
                self.assertLessEqual(rules, fired)

    def test_reference_kernels_agree(self):
        for model in models():
            with self.subTest(model=model.parent.name):
                self.check(model, "-O2", "--reference")

    def test_sizes_that_nobody_gave_are_consistent(self):
        for model in models():
            with self.subTest(model=model.parent.name):
                result = run(IR_RUN, model, "--runs=1")
                self.assertEqual(result.returncode, 0, result.stderr or result.stdout)

    def test_damaged_weight_caches_are_named_and_replaced(self):
        model = next(models())
        with tempfile.TemporaryDirectory() as cache:
            def start():
                result = run(IR_RUN, model, "--check", model.parent, "--runs=1", f"--weight-cache={cache}")
                self.assertEqual(result.returncode, 0, result.stderr or result.stdout)
                return result.stderr

            self.assertEqual(start(), "")
            packed, = pathlib.Path(cache).glob("*.weights")
            whole = packed.read_bytes()
            packed.write_bytes(whole[:len(whole) // 2])
            self.assertIn(f"{packed}: is damaged", start())
            self.assertEqual(packed.read_bytes(), whole)
            self.assertEqual(start(), "")

    def test_optimised_text_runs_like_the_model(self):
        """The fused program printed, read back and optimised again is the same program."""
        for model in models():
            with self.subTest(model=model.parent.name):
                once = run(IR_OPT, model, "-O2")
                self.assertEqual(once.returncode, 0, once.stderr)
                again = subprocess.run([IR_OPT, "-", "-O2"], input=once.stdout, capture_output=True, text=True,
                                       timeout=300)
                self.assertEqual(again.returncode, 0, again.stderr)
                self.assertEqual(once.stdout, again.stdout)


class Bytes(unittest.TestCase):

    def test_same_bytes_in_other_processes(self):
        """Neither the program nor its results depend on where memory lies, on the folder, or on the size of the
        environment. Two runs of one command show nothing: they allocate alike, so that even an order by address holds."""
        for model in models():
            with self.subTest(model=model.parent.name), tempfile.TemporaryDirectory() as folder:
                command = (IR_OPT, model.resolve(), "-O2", "--lower", "--print-locations")
                first = run(*command)
                self.assertEqual(first.returncode, 0, first.stderr)
                self.assertIn("kernel.", first.stdout)
                self.assertIn("loc(", first.stdout)
                saved = [self.results(model, folder, "plain", None)]
                for name, changes in ELSEWHERE.items():
                    other = run(*command, env=os.environ | changes, cwd=folder)
                    self.assertEqual(other.returncode, 0, other.stderr)
                    self.assertEqual(first.stdout, other.stdout, name)
                    saved.append(self.results(model, folder, name, os.environ | changes))
                for other in saved[1:]:
                    self.assertEqual(saved[0], other)

    def results(self, model, folder, name, env):
        """{file: bytes} of all outputs."""
        into = pathlib.Path(folder) / name
        data = model.parent.resolve() / "test_data_set_0"
        result = run(IR_RUN, model.resolve(), "--check", data, "--runs=1", f"--save-outputs={into}", env=env, cwd=folder)
        self.assertEqual(result.returncode, 0, result.stderr or result.stdout)
        outputs = {path.name: path.read_bytes() for path in into.glob("output_*.pb")}
        self.assertEqual(len(outputs), len(list(data.glob("output_*.pb"))))
        return outputs

    def test_bytes_tell_models_apart(self):
        """One changed parameter changes the lowered program: equal bytes above are no accident."""
        for model in models():
            with self.subTest(model=model.parent.name), tempfile.TemporaryDirectory() as folder:
                other = pathlib.Path(folder) / "model.onnx"
                other.write_bytes(perturb.perturb(model.read_bytes()))
                texts = [run(IR_OPT, path, "-O2", "--lower").stdout for path in (model, other)]
                self.assertNotEqual(*texts)


if __name__ == "__main__":
    ONLY_BYTES = sys.argv[1:2] == ["--bytes"]
    IR_RUN, IR_OPT, *FOLDERS = (pathlib.Path(argument).resolve() for argument in sys.argv[1 + ONLY_BYTES:])
    unittest.main(argv=[sys.argv[0], "Bytes" if ONLY_BYTES else "Models"])
