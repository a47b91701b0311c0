#!/usr/bin/env python3
"""Exported models end to end: imported, fused, run, compared with PyTorch's outputs, and the same bytes every time.

  models_test.py <ir-run> <ir-opt> <folder with model folders below it>...
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

IR_RUN, IR_OPT, FOLDERS = None, None, []

# Families whose every attention block must become one op, by the first part of the folder's name.
TRANSFORMERS = ("bert", "roberta", "distilbert", "electra", "camembert", "vit", "deit", "beit",
                "llama", "llama_past", "t5_encoder")
# Decoders whose branches hold one decoder each, with and without past keys and values.
MERGED = ("gpt2_merged",)
CONVOLUTIONAL = ("squeezenet", "resnet", "tv_squeezenet")
# What must be gone after fusion in each kind.
FUSED_AWAY = {
    TRANSFORMERS: ("nn.softmax", "nn.attention", "ten.matmul", "ten.erf", "ten.tanh", "nn.gelu",
                   "ten.reduce_mean", "ten.shape", "ten.dynamic_reshape", "ten.dynamic_expand", "ten.dynamic_slice"),
    MERGED: ("nn.softmax", "nn.attention", "ten.concat", "onnx.If"),
    CONVOLUTIONAL: ("nn.batch_norm", "ten.relu", "ten.clip", "ten.shape"),
}


def family(model):
    return model.parent.name.split(".")[0].split("_bn")[0]


def models():
    for folder in FOLDERS:
        yield from sorted(pathlib.Path(folder).glob("*/model.onnx"))


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)


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

    def test_reference_kernels_agree(self):
        for model in models():
            with self.subTest(model=model.parent.name):
                self.check(model, "-O2", "--reference")

    def test_sizes_that_nobody_gave_are_consistent(self):
        for model in models():
            with self.subTest(model=model.parent.name):
                result = run(IR_RUN, model, "--runs=1")
                self.assertEqual(result.returncode, 0, result.stderr or result.stdout)

    def test_same_bytes_every_time(self):
        for model in models():
            with self.subTest(model=model.parent.name):
                command = (IR_OPT, model, "-O2", "--lower", "--print-locations")
                first, second = run(*command), run(*command)
                self.assertEqual(first.returncode, 0, first.stderr)
                self.assertEqual(first.stdout, second.stdout)

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


if __name__ == "__main__":
    IR_RUN, IR_OPT, *FOLDERS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
