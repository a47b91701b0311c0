"""Wrong arguments: each error names the argument and what it was given, and no signature of the extension."""

import os
import pathlib
import tempfile
import unittest

import numpy as np

import small_models
import tenon
from tenon import ir, ops, testing

TEXT = small_models.TWO_INPUTS.encode()
X = np.ones((1, 2), np.float32)


class Named:
    def __call__(self, x):
        return ops.neg(x), x


class ArgumentsTest(unittest.TestCase):
    def wrong(self, call, *parts):
        """The call raises a TypeError or ValueError whose message has the parts, and no signature."""
        with self.assertRaises((TypeError, ValueError)) as caught:
            call()
        text = str(caught.exception)
        self.assertNotIn("incompatible function arguments", text)
        for part in parts:
            self.assertIn(part, text)

    def test_optimize(self):
        model = tenon.load(TEXT)
        for name, values in {"level": ["2", 2.0, 1 << 70], "view": [1, "yes", None], "pipeline": [3, None], "precision": [3], "fast_math": [1, "no"],
                             "verify_each": [None], "threads": ["1", 1 << 40, float("nan")], "explain": [3],
                             "disabled_rules": [3, [3], b"attention", None], "rules": [3, None, len, [3]]}.items():
            for value in values:
                with self.subTest(name, value=value):
                    self.wrong(lambda: model.optimize(**{name: value}), name)  # pylint: disable=cell-var-from-loop

    def test_compile(self):
        model = tenon.load(TEXT)
        for name, values in {"threads": ["1", None, 1.5, 1 << 40, -1 << 70], "device": [None, 3, b"cpu"], "reference": [1],
                             "verify_weights": ["no"], "memory_limit": [-1, "1", 1 << 70, float("nan")], "loop_limit": [-1, None]}.items():
            for value in values:
                with self.subTest(name, value=value):
                    self.wrong(lambda: model.compile(**{name: value}), name)  # pylint: disable=cell-var-from-loop
        self.assertEqual(model.compile(threads=np.int32(1), memory_limit=np.int64(1 << 30))(X, X)[0].shape, (1, 2))

    def test_load_and_export(self):
        for name, values in {"sizes": [[1], 3, {"m": "3"}, {"m": float("nan")}, {"m": [1.5]}, {3: 1}, {"m": 1 << 70}],
                             "extension": [3, object()], "part": [3], "keep_names": [1], "replaceable": [3, [None]],
                             "parameters": [3, [None]]}.items():
            for value in values:
                with self.subTest(name, value=value):
                    self.wrong(lambda: tenon.load(TEXT, **{name: value}),  # pylint: disable=cell-var-from-loop
                               {"sizes": "size"}.get(name, name))
        self.wrong(lambda: tenon.load(TEXT, name=3), "name")
        self.wrong(lambda: tenon.load(TEXT).export_onnx("/dev/null", opset="18"), "opset")
        self.wrong(lambda: tenon.load(TEXT).export_onnx("/dev/null", ops=3), "ops")

    def refused(self, call, *parts):
        """The call raises InvalidArgument with a message that has the parts."""
        with self.assertRaises(tenon.InvalidArgument) as caught:
            call()
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_options_without_effect(self):
        model = tenon.load(TEXT)
        self.refused(lambda: model.compile(reference=True, threads=2), "threads is 2", "reference")
        self.refused(lambda: model.compile(reference=True, weight_cache="packed"), "weight_cache is 'packed'", "reference")
        self.assertEqual(model.compile(reference=True, threads=1)(X, X)[0].shape, (1, 2))
        self.refused(lambda: model.optimize(pipeline="cse", fast_math=True), "fast_math", "'cse'", "canonicalize")
        self.refused(lambda: model.optimize(pipeline="cse", disabled_rules="attention"), "disabled_rules", "'cse'")
        for options in {"pipeline": "canonicalize"}, {"pipeline": "cse,O2"}, {"level": 0}:
            self.assertIsNotNone(model.clone().optimize(**options, fast_math=True, disabled_rules="attention"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.mlir")
            model.save(path)
            self.refused(lambda: tenon.load(path, name="model"), "name is 'model'", path)
            for options, part in (({"level": "import", "checks": ["data"]}, "beside checks"), ({"processes": -1}, "processes is -1")):
                self.refused(lambda: testing.validate(folder, **options), part)  # pylint: disable=cell-var-from-loop
            for name in "checks", "filters":
                self.wrong(lambda: testing.validate(folder, **{name: 3}), name)  # pylint: disable=cell-var-from-loop
            self.assertEqual(len(testing.validate(folder, filters="m", checks="import").models), 1)

    def test_what_utf8_cannot_express(self):
        model = tenon.load(TEXT)
        path = os.fsdecode(b"/tmp/\xff.mlir")
        for name, call in {
                "path": lambda: tenon.load(path), "the path": lambda: tenon.load(pathlib.Path(path)), "name": lambda: tenon.load(TEXT, name=path),
                "parameters": lambda: tenon.load(TEXT, parameters=path), "external_data": lambda: tenon.load(TEXT, external_data=path),
                "rules": lambda: model.optimize(rules=path), "pipeline": lambda: model.optimize(pipeline=path),
                "disabled_rules": lambda: model.optimize(disabled_rules=[path]), "weight_cache": lambda: model.compile(weight_cache=path),
                " path": lambda: model.save(path), "path ": lambda: model.export_onnx(path), "profile": lambda: model.view(profile=path),
                "a path": lambda: model.view().save(path), "a  path": lambda: model.module().view(path)}.items():
            with self.subTest(name):
                self.refused(call, name.split()[-1], r"\udcff", "UTF-8")

    def test_one_text_is_one_name(self):
        model = tenon.load(TEXT)
        self.wrong(lambda: model.optimize(disabled_rules="no-such-rule"), "'no-such-rule'")
        model.optimize(disabled_rules="attention")
        with self.assertRaises(tenon.ModelNotFound) as caught:
            tenon.load(TEXT, parameters="nowhere.safetensors")
        self.assertIn("nowhere.safetensors", str(caught.exception))

    def test_runs(self):
        program = tenon.load(TEXT).compile(threads=1)
        session, binding = program.session(), program.binding()
        binding.bind_input(0, X)
        binding.bind_input(1, X)
        for run in (program.run, session.run):
            self.wrong(lambda: run([X, X], cancel=3), "cancel")  # pylint: disable=cell-var-from-loop
            for seed in ("1", -1, 1 << 64, 0.5):
                self.wrong(lambda: run([X, X], seed=seed), "seed")  # pylint: disable=cell-var-from-loop
            self.assertEqual(run([X, X], seed=(1 << 64) - 1)[0].shape, (1, 2))
        self.wrong(lambda: session.run(binding, cancel=3), "cancel")
        self.wrong(lambda: session.run(binding, seed=-1), "seed")

    def test_types_of_tensors(self):
        for shape in [(-1,), (float("nan"),), (2.0,), (1 << 70,), 3, "B"]:
            with self.subTest(shape):
                self.wrong(lambda: ir.tensor("f32", shape), "dimension" if isinstance(shape, tuple) else "shape")  # pylint: disable=cell-var-from-loop
        for dtype in (None, np.float32, np.dtype("f4"), 3):
            self.wrong(lambda: ir.tensor(dtype, (2,)), "the element type")  # pylint: disable=cell-var-from-loop
        self.assertEqual(ir.tensor("f32", [np.int64(2), None, "B"]), 'tensor<2x?x?xf32, ["", "", "B"]>')

    def test_functions_that_are_no_rules(self):
        def with_default(x, y=3):
            return ops.add(x, y), x

        def with_option(x, *, axis):
            return ops.softmax(x, axis=axis), x

        for function, parts in [(Named(), ["Named"]), (len, ["builtin"]), ("text", ["str"]), (lambda x: (ops.neg(x), x), ["lambda"]),
                                (with_default, ["with_default", "y"]), (with_option, ["with_option", "axis"])]:
            with self.subTest(parts):
                self.wrong(lambda: tenon.rule(function), *parts)  # pylint: disable=cell-var-from-loop

    def test_functions_that_are_no_passes(self):
        def positional(module, context, limit=3):
            pass

        def of_type(module, context, *, factor: float):
            pass

        def of_default(module, context, *, factor=1.5):
            pass

        for function, parts in [(positional, ["limit", "*"]), (of_type, ["factor", "the type float"]), (of_default, ["factor", "default of the type float"])]:
            with self.subTest(parts):
                self.wrong(lambda: tenon.register_pass(function), *parts)  # pylint: disable=cell-var-from-loop

    def test_declarations(self):
        self.wrong(lambda: tenon.Extension().op(3), "declaration", "int")


if __name__ == "__main__":
    unittest.main()
