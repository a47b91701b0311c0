"""Operations, shape functions, kernels and decompositions in Python."""

import importlib.util
import os
import pathlib
import tempfile
import threading
import unittest

import numpy as np

import small_models
import tenon
from tenon import ir, ops

GATED = 'my.gated(x: float, gate: float) {alpha: f32 = 1} -> elementwise "x * sigmoid(alpha * gate)"'
X = ir.tensor("f32", ("B", 4))
GELU = {"approximate": "tanh"}


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def extension_with_gated():
    extension = tenon.Extension()
    gated = extension.op(GATED)

    @gated.kernel
    def run(x, gate, *, alpha):
        with np.errstate(invalid="ignore"):
            return (x * sigmoid(alpha * gate.astype(np.float64))).astype(x.dtype)

    @gated.decomposition
    def parts(x, gate, *, alpha):
        return ops.mul(x, ops.sigmoid(ops.mul(gate, ops.constant(value=np.float32(alpha)))))

    return extension, gated


def program(module, **options):
    return tenon.Model.from_module(module).compile(threads=1, **options)


class ExtensionTest(unittest.TestCase):
    def test_declare_print_parse_and_run(self):
        extension, gated = extension_with_gated()
        module = ir.Module(extension)

        @ir.function(module, x=X)
        def main(x):
            return {"y": gated(x, gate=x, alpha=2.0), "z": ops.my.gated(x, x)}

        op = main.body.blocks[0].operations[0]
        self.assertTrue(gated.matches(op))
        self.assertEqual((op.alpha, op.x, op.gate), (2.0, op.operands[0], op.operands[0]))
        module.verify()
        again = ir.parse(module.text(), extension=extension)
        self.assertEqual(again.text(), module.text())
        with self.assertRaises(tenon.InvalidModel):
            ir.parse(module.text())
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        outputs = program(module)(x)
        np.testing.assert_allclose(outputs["y"], x * sigmoid(2 * x), rtol=1e-6)
        np.testing.assert_allclose(outputs["z"], x * sigmoid(x), rtol=1e-6)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.tnb")
            tenon.Model.from_module(module).save(path)
            np.testing.assert_array_equal(tenon.load(path, extension=extension).compile(threads=1)(x)["y"], outputs["y"])

    def test_fold_and_optimize(self):
        extension, gated = extension_with_gated()
        module = ir.Module(extension)

        @ir.function(module, x=X)
        def main(x):
            two = ops.constant(value=np.full((4,), 2, np.float32))
            return ops.add(x, gated(two, two))

        model = tenon.Model.from_module(module)
        model.optimize()
        self.assertNotIn("my.gated", model.text())  # the kernel has folded it
        x = np.zeros((1, 4), np.float32)
        np.testing.assert_allclose(model.compile(threads=1)(x)[0], np.full((1, 4), 2 * sigmoid(2)), rtol=1e-6)

    def test_rules(self):
        extension, gated = extension_with_gated()

        @tenon.rule(extension=extension)
        def make_gated(x, gate):
            return x * ops.sigmoid(gate), ops.my.gated(x, gate)

        @tenon.rule(extension=extension)
        def wrong_gated(x, gate):
            return ops.my.gated(x, ops.neg(gate)), ops.my.gated(x, gate)

        self.assertEqual(make_gated.names, ["make-gated"])
        self.assertEqual([check.verdict for check in make_gated.check(matches=3)], ["right"])
        self.assertEqual([check.verdict for check in wrong_gated.check(matches=3)], ["wrong"])
        module = ir.Module(extension)
        ir.function(module, x=X)(lambda x: ops.mul(ops.exp(x), ops.sigmoid(ops.sin(x))))
        model = tenon.Model.from_module(module)
        self.assertEqual(model.optimize(rules=make_gated).rules.get("make-gated"), 1)
        self.assertIn("my.gated", model.text())
        x = np.ones((1, 4), np.float32)
        np.testing.assert_allclose(model.compile(threads=1)(x)[0], np.exp(x) * sigmoid(np.sin(x)), rtol=1e-5)

    def test_decompose(self):
        extension, gated = extension_with_gated()

        @tenon.register_pass("test-decompose")
        def decompose(root, context):
            context.count("decomposed", extension.decompose(root))

        module = ir.Module(extension)
        ir.function(module, x=X)(lambda x: gated(gated(x, x), x, alpha=3.0))
        x = np.arange(4, dtype=np.float32)[None]
        before, = program(module)(x)
        model = tenon.Model.from_module(module)
        self.assertEqual(model.optimize(pipeline="test-decompose,O1").statistics, {"test-decompose": {"decomposed": 2}})
        self.assertNotIn("my.gated", model.text())
        np.testing.assert_allclose(model.compile(threads=1)(x)[0], before, rtol=1e-5)

    def test_shape_function(self):
        extension = tenon.Extension()

        def shape(x, bias, rest, *, times, mode):
            assert isinstance(x, tenon.TensorType) and isinstance(rest, list) and mode in ("wide", "long")
            assert bias is None or bias.dtype == "f32"
            rows, columns = x.shape
            grown = (f"({rows}) * {times}", columns) if mode == "long" else (rows, f"({columns}) * {times}")
            return [tenon.TensorType(x.dtype, grown), ("i64", ())]

        repeat = extension.op('my.repeat(x: float, bias?: float, each rest: tensor) {times: i64, mode: {"wide", "long"} = "wide"}',
                              shape=shape, results=("grown", "count"))

        @repeat.kernel
        def run(x, bias, rest, *, times, mode):
            grown = np.tile(x if bias is None else x + bias, (1, times) if mode == "wide" else (times, 1))
            return grown, np.int64(len(rest))

        module = ir.Module(extension)

        @ir.function(module, x=X, b=ir.tensor("f32", (4,)))
        def main(x, b):
            wide, count = repeat(x, times=2)
            long, more = repeat(x, b, [b, b, x], times=3, mode="long")
            self.assertEqual((wide.type.shape, long.type.shape), (("B", 8), ("3 * B", 4)))
            self.assertEqual(count.type.dtype, "i64")
            return wide, count, long, more

        x, b = np.arange(8, dtype=np.float32).reshape(2, 4), np.ones(4, np.float32)
        wide, count, long, more = program(module)(x, b)
        np.testing.assert_array_equal(wide, np.tile(x, (1, 2)))
        np.testing.assert_array_equal(long, np.tile(x + b, (3, 1)))
        self.assertEqual((int(count), int(more)), (0, 3))

    def test_wrong_shapes(self):
        answers = [None, 3, (), ("f32",), ("f99", (1,)), ("f32", 3), ("f32", ("(",)), ("f32", (-1,)), ("f32", (1.5,)), ("f32", (1 << 70,)),
                   [("f32", ())] * 2, [], (3, (1,)), ("f32", ("\ud800",)), ("f32", "text")]
        extension = tenon.Extension()
        given = []
        made = extension.op("my.made(x: tensor)", shape=lambda x: given[-1])
        module = ir.Module(extension)

        @ir.function(module, x=X)
        def main(x):
            for answer in answers:
                given.append(answer)
                with self.subTest(answer), self.assertRaises(tenon.InvalidArgument) as caught:
                    made(x)
                self.assertIn("my.made: the shape function", str(caught.exception))
            for answer, part in [(("f32", (4, -1)), "has -1 as dimension 1"), (("f99", (1,)), "has the element type 'f99'")]:
                given.append(answer)
                with self.assertRaises(tenon.InvalidArgument) as caught:
                    made(x)
                self.assertIn(part, str(caught.exception))
            given.append(("float32", [np.int64(2), "B + 1", None]))
            self.assertEqual(made(x).type.shape, (2, "B + 1", None))
            given.append([("f32", None)])
            self.assertIsNone(made(x).type.shape)
            given.append(x)
            return x

        def fails(x):
            raise ZeroDivisionError("in a shape")

        extension = tenon.Extension()
        failing = extension.op("my.failing(x: tensor)", shape=fails)
        module = ir.Module(extension)
        with self.assertRaises(tenon.CallbackError) as caught:
            ir.function(module, x=X)(lambda x: failing(x))
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        self.assertIn("my.failing: the shape function raised ZeroDivisionError", str(caught.exception))

    def test_shapes_that_a_run_refuses(self):
        for shape, part in [(lambda x: (x.dtype, (f"({x.shape[0]}) - 3", 4)), "extent at dimension 0 is -1"),
                            (lambda x: (x.dtype, (None, 4)), "extent at dimension 0 is not known"),
                            (lambda x: (x.dtype, ("Q", 4)), "extent at dimension 0 is not known")]:
            extension = tenon.Extension()
            made = extension.op("my.made(x: float)", shape=shape)
            made.kernel(lambda x: x)
            module = ir.Module(extension)
            ir.function(module, x=X)(made)
            with self.subTest(part), self.assertRaises(tenon.InvalidArgument) as caught:
                program(module)(np.ones((2, 4), np.float32))
            self.assertIn("my.made: result 0 is tensor<", str(caught.exception))
            self.assertIn(part, str(caught.exception))

    def test_results_without_a_rank_are_refused(self):
        extension = tenon.Extension()
        made = extension.op("my.made(x: float)", shape=lambda x: (x.dtype, None))
        made.kernel(lambda x: x)
        module = ir.Module(extension)
        ir.function(module, x=X)(made)
        with self.assertRaisesRegex(tenon.UnsupportedOperation, r"my\.made has type tensor<\*xf32> \(expected a ranked"):
            program(module)

    def test_a_rank_that_is_lost_in_a_run_is_refused(self):
        # The program was compiled with another answer.
        extension = tenon.Extension()
        made = extension.op("my.made(x: float)", shape=lambda x: (x.dtype, x.shape if "B" in str(x.shape) else None))
        made.kernel(lambda x: x)
        module = ir.Module(extension)
        ir.function(module, x=X)(made)
        with self.assertRaises(tenon.InvalidArgument) as caught:
            program(module)(np.ones((2, 4), np.float32))
        self.assertIn("my.made: result 0 is tensor<*xf32> (expected a tensor of known rank)", str(caught.exception))

    def test_wrong_declarations(self):
        extension = tenon.Extension()
        good = lambda x: x  # noqa: E731
        for text in ("", "my", "my.a", "my.a(", "my.a()", "my.a(x)", "ten.mine(x) -> elementwise", "my.a(x: nothing) -> elementwise",
                     "my.a(x) -> elementwise\nrule r {}", "\0", "my.a(x) {a: f99} -> elementwise"):
            with self.subTest(text), self.assertRaises(tenon.InvalidArgument):
                extension.op(text)
        for text in ("my.a() ", "my.a(x) -> elementwise", "my.a(x?)", "my.a(each xs)"):
            with self.subTest(text), self.assertRaises(tenon.InvalidArgument):
                extension.op(text, shape=good)
        with self.assertRaises(tenon.InvalidArgument):
            extension.op("my.a(x)", shape=good, results=())
        with self.assertRaises(TypeError):
            extension.op("my.a(x)", shape=3)
        extension.op("my.a(x) -> elementwise")
        with self.assertRaises(tenon.AlreadyExists):
            extension.op("my.a(x) -> elementwise")
        with self.assertRaises(tenon.InvalidArgument) as caught:
            extension.op("my.b(x) -> nothing")
        self.assertEqual(caught.exception.location, "<my.b>:1:12")

    def test_places_of_mistakes(self):
        """The line and column are those in the text that was given."""
        shape = lambda x: x
        for text, place, message in (
                ("my.a(x: flot) -> elementwise", "<my.a>:1:9", "flot"),
                ("my.a(x: float,\n     y: flot) -> elementwise", "<my.a>:2:9", "flot"),
                ("my.a(x: float)", "<my.a>:1:15", "before the end"),
                ("my.a(x) -> elementwise\nop my.b(x) -> elementwise", "<my.a>:2:1", "got 'op'"),
                ("my.a(x) -> elementwise comutative", "<my.a>:1:24", "did you mean 'commutative'"),
                ("my.a(x) -> elementwise rule r { match neg(x) replace x }", "<my.a>:1:24", "got 'rule'"),
                ("a(x) -> elementwise", "<a>:1:1", "has no dialect"),
                ("", "<>:1:1", "the name of an operation")):
            with self.subTest(text), self.assertRaises(tenon.InvalidArgument) as caught:
                tenon.Extension().op(text)
            self.assertEqual(caught.exception.location, place)
            self.assertIn(message, str(caught.exception))
        for text, place, message in (("my.a(x: flot)", "<my.a>:1:9", "flot"), ("my.a()", "<my.a>:1:1", "first operand"),
                                     ("my.a(x) -> elementwise", "<my.a>:1:9", "shape function"),
                                     ("my.a(x) junk", "<my.a>:1:9", "got 'junk'")):
            with self.subTest(text), self.assertRaises(tenon.InvalidArgument) as caught:
                tenon.Extension().op(text, shape=shape)
            self.assertEqual(caught.exception.location, place)
            self.assertIn(message, str(caught.exception))
        extension = tenon.Extension()
        self.assertEqual(extension.op('my.both(x, y) commutative "a sum"', shape=lambda x, y: x).name, "my.both")
        with self.assertRaises(tenon.AlreadyExists):
            extension.op("my.both(x) -> elementwise")

    def test_kernels_of_tenon(self):
        extension = tenon.Extension()
        calls = []

        def run(x):
            calls.append(x.shape)
            return np.exp(x)

        extension.kernel("ten.exp", run)
        module = ir.Module(extension)
        ir.function(module, x=X)(ops.exp)
        x = np.ones((3, 4), np.float32)
        np.testing.assert_allclose(program(module)(x)[0], np.exp(x), rtol=1e-6)
        self.assertEqual(calls, [(3, 4)])
        for op, error in (("core.constant", tenon.UnsupportedOperation), ("ten.nosuch", tenon.InvalidArgument),
                          ("ctl.yield", tenon.InvalidArgument), ("", tenon.InvalidArgument)):
            with self.subTest(op), self.assertRaises(error):
                extension.kernel(op, run)
        with self.assertRaises(tenon.AlreadyExists):
            extension.kernel("ten.exp", run)
        with self.assertRaises(TypeError):
            extension.kernel("ten.sin", None)
        extension.kernel("ten.sin", run, name="cpu.add")
        self.assertIsInstance(_error(lambda: ir.Module(extension)), (tenon.InvalidArgument, type(None)))

    def test_kernels_of_tenon_get_attributes(self):
        extension = tenon.Extension()
        seen = []

        def softmax(x, *, axis):
            seen.append(axis)
            return np.full_like(x, axis)

        def gelu(x, **attributes):
            seen.append(attributes)
            return x

        extension.kernel("nn.softmax", softmax)
        extension.kernel("nn.gelu", gelu)
        extension.kernel("ten.clip", lambda x, *, min, max: x + np.float32(min + max))
        extension.kernel("ten.cast", lambda x, *, to: x.astype({"f64": np.float64}[to]))
        module = ir.Module(extension)

        @ir.function(module, x=X)
        def main(x):
            y = ops.ten.clip(ops.softmax(x, axis=-1), min=-3.0, max=5.0)
            made = ops.gelu(y, **GELU)
            return ops.cast(made, to="f64")

        y, = program(module)(np.zeros((2, 4), np.float32))
        np.testing.assert_array_equal(y, np.full((2, 4), 3.0))
        self.assertEqual(seen, [1, GELU])

    def test_wrong_results(self):
        extension = tenon.Extension()
        answers = []
        made = extension.op("my.made(x: float) -> elementwise")
        made.kernel(lambda x: answers[-1](x))
        module = ir.Module(extension)
        ir.function(module, x=X)(lambda x: made(x))
        run = program(module)
        x = np.ones((2, 4), np.float32)
        for answer in (lambda x: None, lambda x: x.astype(np.float64), lambda x: x[:1], lambda x: "text", lambda x: [x, x], lambda x: x.T,
                       lambda x: object(), lambda x: np.array([object()] * 8), lambda x: [[]]):
            answers.append(answer)
            with self.assertRaises((tenon.Error, TypeError)):
                run(x)
        for answer in (lambda x: x * 2, lambda x: (x * 2).tolist(), lambda x: np.asfortranarray(x * 2), lambda x: tenon.Tensor(x * 2)):
            answers.append(answer)
            np.testing.assert_array_equal(run(x)[0], x * 2)

        def fails(x):
            raise LookupError("in a kernel")

        answers.append(fails)
        for call in (lambda: run(x), lambda: run.session().run([x])):
            with self.assertRaises(tenon.CallbackError) as caught:
                call()
            self.assertIsInstance(caught.exception.__cause__, LookupError)
            self.assertIn("kernel 'ref.my.made' raised LookupError: in a kernel", str(caught.exception))

    def test_exceptions_without_a_traceback(self):
        # The call itself fails, or C++ refuses what the kernel has returned.
        for kernel, cause in [(lambda: None, TypeError), (lambda x: x.astype(">f4"), tenon.InvalidArgument),
                              (lambda x: x.astype(complex), tenon.InvalidArgument)]:
            extension = tenon.Extension()
            made = extension.op("my.made(x: float) -> elementwise")
            made.kernel(kernel)
            module = ir.Module(extension)
            ir.function(module, x=X)(made)
            with self.assertRaises(tenon.Error) as caught:
                program(module)(np.ones((2, 4), np.float32))
            self.assertNotIsInstance(caught.exception, tenon.InternalError)
            if cause is TypeError:
                self.assertIsInstance(caught.exception, tenon.CallbackError)
            self.assertIsInstance(caught.exception.__cause__, cause)
            self.assertIn(str(caught.exception.__cause__), str(caught.exception))

    def test_arrays_are_copies(self):
        extension = tenon.Extension()
        kept = []
        made = extension.op("my.made(x: float) -> elementwise")

        @made.kernel
        def run(x):
            kept.append(x)
            x += 1  # of no effect on the program
            return x

        module = ir.Module(extension)
        ir.function(module, x=X)(lambda x: (made(x), ops.exp(x)))
        x = np.zeros((2, 4), np.float32)
        first, second = program(module)(x)
        self.assertEqual((first.sum(), second.sum(), x.sum()), (8, 8, 0))
        kept[0][:] = 7
        self.assertEqual(first.sum(), 8)

    def test_threads(self):
        extension, gated = extension_with_gated()
        module = ir.Module(extension)
        ir.function(module, x=X)(lambda x: gated(gated(x, x), x))
        run = tenon.Model.from_module(module).compile(threads=2)
        x = np.ones((2, 4), np.float32)
        expected, = run(x)
        failures = []

        def work():
            for _ in range(20):
                if not np.array_equal(run(x)[0], expected):
                    failures.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ops.drr")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"op {GATED}\n")
            extension = tenon.Extension()
            extension.load_ops(path)
            gated = extension.declared("my.gated")
            gated.kernel(lambda x, gate, *, alpha: x * sigmoid(np.float32(alpha) * gate))
            module = ir.Module(extension)
            ir.function(module, x=X)(lambda x: gated(x, x))
            x = np.ones((1, 4), np.float32)
            np.testing.assert_allclose(program(module)(x)[0], x * sigmoid(x), rtol=1e-6)
            with self.assertRaises(tenon.NotFound):
                extension.load_ops(os.path.join(folder, "none.drr"))
            with open(path, "w", encoding="utf-8") as file:
                file.write("op x")
            with self.assertRaises(tenon.InvalidArgument):
                tenon.Extension().load_ops(path)

    def test_declared(self):
        extension = tenon.Extension()
        extension.op(GATED)
        self.assertEqual(extension.declared("my.gated").name, "my.gated")
        for name in ("my.none", "", "gated"):
            with self.assertRaises(tenon.NotFound):
                extension.declared(name)
        with self.assertRaises(TypeError):
            extension.declared(None)

    @unittest.skipIf(importlib.util.find_spec("yaml") is None, "needs PyYAML")
    def test_yaml(self):
        text = """dialect: acme
summary: "Operations of Acme."
types:
- {type: ledger, summary: A list of postings., parameters: {currency: Str}}
ops:
- {op: swish, summary: Computes x * sigmoid(beta * x)., operands: [x: Tensor<Float>], attrs: {beta: F32 = 1.0}, results: [out: Tensor], traits: [Pure, Elementwise]}
"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "acme.yaml"
            path.write_text(text)
            extension = tenon.Extension()
            extension.load_ops(path)
            path.unlink()  # it is read once
            swish = extension.declared("acme.swish")
            with_any = np.errstate(all="ignore")  # the check of rules tries infinities
            swish.kernel(with_any(lambda x, *, beta: (x * sigmoid(beta * x)).astype(x.dtype)))
            module = ir.Module(extension)
            ir.function(module, x=X)(lambda x: swish(x, beta=2.0))
            x = np.linspace(-2, 2, 4, dtype=np.float32).reshape(1, 4)
            np.testing.assert_allclose(program(module)(x)[0], x * sigmoid(2 * x), rtol=1e-6)
            again = tenon.load(str(module).encode(), extension=extension)
            self.assertEqual(again.text(), tenon.Model.from_module(module).text())
            self.assertEqual(str(module.type('!acme.ledger<"EUR">')), '!acme.ledger<"EUR">')
            # A rule makes it.
            rules = tenon.Rules.from_text("rule make-swish {\n  match mul(x, sigmoid(mul(x, splat(b))))\n"
                                          "  replace acme.swish(x) {beta = b}\n}", extension=extension)
            self.assertEqual(rules.check(matches=3)[0].verdict, "right")
            with self.assertRaises(tenon.NotFound):
                extension.load_ops(path)
            with self.assertRaises(tenon.NotFound):
                extension.load_ops(pathlib.Path(folder) / ".." / pathlib.Path(folder).name / "." / "x.yml")
            for wrong, message in ((text.replace("Float>", "Flot>"), r"^acme\.yaml:6: "), ("[", r"^acme\.yaml"),
                                   ("dialect: other\n", r"^acme\.yaml"),
                                   (text.replace("Elementwise]}", "Elementwise], regions: [r]}"), "regions")):
                path.write_text(wrong)
                previous = os.getcwd()
                os.chdir(folder)
                try:
                    with self.subTest(wrong), self.assertRaisesRegex(tenon.InvalidArgument, message):
                        tenon.Extension().load_ops("acme.yaml")
                finally:
                    os.chdir(previous)
            # Tenon's own dialects take no operations.
            own = pathlib.Path(folder) / "ten.yaml"
            own.write_text(text.replace("dialect: acme", "dialect: ten"))
            with self.assertRaises(tenon.AlreadyExists):
                tenon.Extension().load_ops(own)

    def test_a_model_has_what_the_extension_had(self):
        extension = tenon.Extension()
        extension.op("my.first(x) -> elementwise")
        module = ir.Module(extension)
        second = extension.op("my.second(x) -> elementwise")
        with self.assertRaises(tenon.InvalidArgument):
            ir.function(module, x=X)(lambda x: second(x))
        self.assertIsNone(_error(lambda: ir.function(ir.Module(extension), x=X)(lambda x: second(x))))


def _error(call):
    try:
        call()
    except Exception as error:  # pylint: disable=broad-except
        return error
    return None


if __name__ == "__main__":
    unittest.main()
