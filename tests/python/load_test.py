"""tenon.load, Model.optimize, Model.compile, and the errors that they raise."""

import io
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

import small_models
import tenon

BERT = small_models.model_file("bert.eager.ts17")


class LoadTest(unittest.TestCase):
    def test_sources(self):
        content = pathlib.Path(BERT).read_bytes()

        class Proto:
            def SerializeToString(self):
                return content

        expected = tenon.load(BERT).text(elide=True)
        for source in (pathlib.Path(BERT), content, bytearray(content), memoryview(content), io.BytesIO(content), Proto()):
            with self.subTest(type(source).__name__):
                self.assertEqual(tenon.load(source).text(elide=True), expected)
        with open(BERT, "rb") as file:
            self.assertEqual(tenon.load(file).text(elide=True), expected)
        self.assertIn("ten.matmul", str(tenon.load(io.StringIO(small_models.LINEAR))))

    def test_wrong_sources(self):
        for source in (3, None, object(), [b"x"]):
            with self.assertRaisesRegex(TypeError, "cannot be read from"):
                tenon.load(source)
        with self.assertRaises(tenon.ModelNotFound) as caught:
            tenon.load("/nowhere/model.onnx")
        self.assertIsInstance(caught.exception, FileNotFoundError)
        self.assertIsInstance(caught.exception, tenon.NotFound)
        self.assertEqual(caught.exception.code, "NOT_FOUND")
        for content in (b"", b"\0\1\2", b"garbage", b"\xff" * 100):
            with self.assertRaises(tenon.InvalidModel):
                tenon.load(content)
        with self.assertRaises(TypeError):
            tenon.load(BERT, no_such_option=1)

    def test_errors_have_places(self):
        text = small_models.LINEAR.replace("tensor<2x3xf32>) ->", "tensor<5x3xf32>) ->")
        with self.assertRaises(tenon.InvalidModel) as caught:
            tenon.load(text.encode(), name="m.mlir")
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertRegex(error.location, r"^m\.mlir:\d+:\d+$")
        self.assertEqual(error.diagnostics[0].severity, "error")
        self.assertEqual(error.diagnostics[0].file, "m.mlir")
        self.assertGreater(error.diagnostics[0].line, 0)
        self.assertIn("m.mlir", str(error.diagnostics[0]))

    def test_diagnostics(self):
        seen = []
        model = tenon.load(small_models.LINEAR.encode(), on_diagnostic=seen.append)
        self.assertEqual(seen, [])
        with tempfile.TemporaryDirectory() as folder:
            rules = os.path.join(folder, "r.drr")
            pathlib.Path(rules).write_text("rule twice-tanh {\n match tanh(tanh(x))\n replace tanh(x)\n}\n")
            model.optimize(0, rules=rules)
            self.assertEqual([each.severity for each in seen], ["warning"])
            self.assertIn("twice-tanh", seen[0].message)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                tenon.load(small_models.LINEAR.encode()).optimize(0, rules=rules)
            self.assertEqual([each.category for each in caught], [tenon.DiagnosticWarning])

    def test_save(self):
        with tempfile.TemporaryDirectory() as folder:
            model = tenon.load(small_models.LINEAR.encode())
            for name in ("m.mlir", "m.tnb", "m.onnx"):
                path = os.path.join(folder, name)
                model.save(path)
                output, = tenon.load(path).compile(threads=1)([[1, 2]])
                self.assertEqual(output.tolist(), [[1, 2, 1]])
            with self.assertRaises(tenon.InvalidArgument):
                model.export_onnx(os.path.join(folder, "n.onnx"), ops="all")
            model.save(os.path.join(folder, "bytes.mlir").encode())
            self.assertTrue(os.path.isfile(os.path.join(folder, "bytes.mlir")))
            for wrong in (folder, os.path.join(folder, "none", "m.mlir")):
                with self.assertRaises(tenon.InvalidArgument):
                    model.save(wrong)
            with self.assertRaises(TypeError):
                model.save(None)

    def test_saving_over_a_file_that_models_use(self):
        """Constants of a binary module stay in its file: a model keeps the file that it was loaded from."""
        def linear(value):
            module = tenon.ir.Module()

            @tenon.ir.function(module, x=tenon.ir.tensor("f32", ("B", 256)))
            def main(x):
                return tenon.ops.matmul(x, tenon.ops.constant(value=np.full((256, 256), value, np.float32)))

            return tenon.Model.from_module(module)

        x = np.ones((1, 256), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.tnb")
            linear(1).save(path)
            first = tenon.load(path)
            first.save(path)  # itself
            second = tenon.load(path)
            linear(2).save(path)
            tenon.load(small_models.LINEAR.encode()).save(path)  # a short file
            for model in (first, second):
                self.assertEqual(model.compile(threads=1)(x)[0][0, 0], 256)
            self.assertEqual(tenon.load(path).compile(threads=1)([[1, 2]])[0].tolist(), [[1, 2, 1]])
            self.assertEqual(os.listdir(folder), ["m.tnb"])

    def test_inspect(self):
        inspection = tenon.load(BERT).inspect()
        self.assertTrue(inspection)
        self.assertIn("inputs", inspection)

    def test_import_is_light(self):
        code = ("import sys, tenon; heavy = {'numpy', 'torch', 'onnx', 'asyncio', 'subprocess', 'inspect', 'json'} & set(sys.modules);"
                "assert not heavy, heavy")
        subprocess.run([sys.executable, "-c", code], check=True)


class OptimizeTest(unittest.TestCase):
    def test_report(self):
        model = tenon.load(BERT)
        report = model.optimize()
        self.assertGreater(report.rules["gelu-erf"], 0)
        self.assertEqual(report.precision, "fp32")
        self.assertGreater(report.steps, 0)
        self.assertTrue(any(each.changed for each in report.passes))
        self.assertIn("gelu-erf", report._repr_html_())
        self.assertIn("gelu-erf", str(report))
        self.assertIn("fired 2 times", tenon.load(BERT).optimize(explain="gelu-erf").explained)

    def test_wrong_options(self):
        model = tenon.load(small_models.LINEAR.encode())
        before = model.text()
        for options in ({"level": 9}, {"level": -1}, {"precision": "fp4"}, {"disabled_rules": ["no-such-rule"]},
                        {"explain": "no-such-rule"}, {"pipeline": "no-such-pass"}, {"threads": -1},
                        {"rules": tenon.Rules.from_text("rule {")}):
            with self.subTest(options), self.assertRaises(tenon.InvalidArgument):
                model.optimize(**options)
        # One of them would have no effect.
        for level in (0, 2):
            with self.assertRaisesRegex(tenon.InvalidArgument, f"level is {level} beside the pipeline 'cse'"):
                model.optimize(level, pipeline="cse")
        with self.assertRaises(TypeError):
            model.optimize(2, pipeline=None)
        with self.assertRaises(tenon.NotFound):
            model.optimize(rules="/nowhere/r.drr")
        with self.assertRaises(TypeError):
            model.optimize(rules=[3])
        for device in ("tpu", "cuda:", "cuda:x", "cuda:-1"):
            with self.assertRaises(tenon.InvalidArgument):
                model.compile(device=device)
        with self.assertRaises(tenon.InvalidArgument):
            model.compile(threads=-1)
        self.assertEqual(model.text(), before)

    def test_rules(self):
        text = """
rule tanh-of-tanh {
  summary "tanh(tanh(x))"
  match   tanh(tanh(x))
  replace tanh(x)
}
"""
        source = small_models.LINEAR.replace("func.return(%0)", """%1 = ten.tanh(%0) : (tensor<?x3xf32, ["batch", ""]>) -> tensor<?x3xf32, ["batch", ""]>
  %2 = ten.tanh(%1) : (tensor<?x3xf32, ["batch", ""]>) -> tensor<?x3xf32, ["batch", ""]>
  func.return(%2)""")
        rules = tenon.Rules.from_text(text, name="mine.drr")
        for _ in range(2):  # the rules of one call are not those of the next
            model = tenon.load(source.encode())
            report = model.optimize(rules=rules, pipeline="fuse")
            self.assertEqual(report.rules.get("tanh-of-tanh"), 1)
            self.assertNotIn("tanh-of-tanh", model.optimize(rules=rules).rules)
        with self.assertRaises(tenon.InvalidArgument) as caught:
            model.optimize(rules=tenon.Rules.from_text("rule a {\n  match nosuch(x)\n}", name="mine.drr"))
        self.assertRegex(caught.exception.location, r"^mine\.drr:\d+:\d+$")

    def test_progress(self):
        seen = []
        model = tenon.load(BERT)
        model.optimize(progress=lambda name, steps: seen.append((name, steps)))
        self.assertGreater(len(seen), 5)
        self.assertEqual(seen[0][1], 0)

    def test_exception_in_progress(self):
        model = tenon.load(BERT)
        before = model.text(elide=True)

        def fail(name, steps):
            raise KeyError(name)

        with self.assertRaises(KeyError):
            model.optimize(progress=fail)
        self.assertEqual(model.text(elide=True), before)
        model.optimize()

    def test_calls_within_progress(self):
        model = tenon.load(small_models.LINEAR.encode())
        caught = []

        def again(name, steps):
            model.text()
            model.compile(threads=1)
            try:
                model.optimize()
            except tenon.FailedPrecondition as error:
                caught.append(error)

        model.optimize(progress=again)
        self.assertTrue(caught)

    def test_threads(self):
        model = tenon.load(BERT)
        failures = []

        def work(i):
            try:
                if i % 2 == 0:
                    model.compile(threads=1)
                else:
                    model.clone().optimize()
                    model.text(elide=True)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        try:
            model.optimize()
        finally:
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])

    def test_handles_cannot_be_made_by_hand(self):
        for make in (lambda: tenon.Model(None), lambda: tenon.Program(None), tenon.Model, tenon._core.Model,
                     tenon._core.Program, tenon._core.Session, tenon._core.Binding):
            with self.assertRaises(TypeError):
                make()


if __name__ == "__main__":
    unittest.main()
