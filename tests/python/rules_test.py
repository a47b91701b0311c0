"""Rules in Python: text, traced functions, checks and explanations."""

import os
import tempfile
import unittest

import numpy as np

import small_models
import tenon
from tenon import ir, ops, terms

RIGHT = """
rule my-ceil-of-neg {
  summary "ceil(-x) is -floor(x)"
  match   ceil(neg(x))
  replace neg(floor(x))
  lowers  before(neg, ceil)
}
"""


@tenon.rule
def neg_of_neg_twice(x):
    """-(-x) twice is x."""
    y = -(-x)
    return y + y, x + x


def odd(x):
    return ops.neg(ops.neg(x)), x


def unbound(x, a: tenon.Attr):
    return ops.neg(ops.neg(x)), ops.softmax(x, axis=a)


class RulesTest(unittest.TestCase):
    def test_text(self):
        rules = tenon.Rules.from_text(RIGHT)
        self.assertEqual(rules.names, ["my-ceil-of-neg"])
        check, = rules.check(matches=3)
        self.assertEqual((check.rule, check.verdict, check.ok, check.failures), ("my-ceil-of-neg", "right", True, []))
        wrong, = tenon.Rules.from_text(RIGHT.replace("neg(floor(x))", "floor(x)").replace("  lowers  before(neg, ceil)\n", "")).check(matches=3)
        self.assertEqual(wrong.verdict, "wrong")
        self.assertTrue(wrong.failures)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.drr")
            with open(path, "w", encoding="utf-8") as file:
                file.write(RIGHT)
            self.assertEqual(tenon.Rules.from_file(path).names, ["my-ceil-of-neg"])

    def test_mistakes(self):
        for text in ("rule {", "rule a {\n match nosuch(x)\n replace x\n}", "rule gelu-erf {\n match tanh(neg(x))\n replace tanh(x)\n}",
                     RIGHT + RIGHT, "\0", "rule"):
            rules = tenon.Rules.from_text(text, name="mine.drr")
            with self.subTest(text):
                for use in (lambda: rules.names, rules.check):
                    with self.assertRaises(tenon.InvalidArgument):
                        use()
        with self.assertRaises(tenon.InvalidArgument):
            tenon.Rules.from_text(RIGHT).check(matches=0)
        self.assertEqual(tenon.Rules.from_text("").names, [])

    def test_traced(self):
        self.assertIsInstance(neg_of_neg_twice, tenon.Rules)
        self.assertEqual(neg_of_neg_twice.text, """rule neg-of-neg-twice {
  summary "-(-x) twice is x."
  let     part0 = neg(neg(x))
  match   add(part0, part0)
  replace add(x, x)
}
""")
        check, = neg_of_neg_twice.check(matches=3)
        self.assertEqual(check.verdict, "right", check.failures)

        @tenon.rule(where="rank(x) == 2 && float(x)", summary="softmax of the negative")
        def scaled(x, w: tenon.Const):
            return ops.softmax(-(x * 2.0 + w), axis=1) / 1.0, ops.softmax((x * -2.0) - w, axis=1)

        self.assertIn("const w", scaled.text)
        self.assertIn("splat(2.0)", scaled.text)
        self.assertIn("{axis = 1}", scaled.text)
        self.assertEqual(scaled.names, ["scaled"])

    def test_attributes_and_conditions(self):
        def axis_before(perm, axis):
            return terms.if_(axis < 0, perm[axis + terms.len(perm)], perm[axis])

        @tenon.rule(where=lambda axis, x: [(axis == terms.rank(x) - 1) | ~(axis < 0), terms.float(x)],
                    lowers="before(transpose, softmax)")
        def my_softmax_of_transpose(x, p: tenon.Attr, axis: "tenon.Attr"):
            return (ops.softmax(ops.transpose(x, perm=p), axis=axis),
                    ops.transpose(ops.softmax(x, axis=axis_before(p, axis)), perm=p))

        self.assertEqual(my_softmax_of_transpose.text, """rule my-softmax-of-transpose {
  match   softmax(transpose(x) {perm = p}) {axis = axis}
  where   ((axis == (rank(x) - 1)) || (!(axis < 0))) && (float(x))
  replace transpose(softmax(x) {axis = if(axis < 0, p[axis + len(p)], p[axis])}) {perm = p}
  lowers  before(transpose, softmax)
}
""")
        check, = my_softmax_of_transpose.check(matches=3)
        self.assertEqual(check.verdict, "right", check.failures)
        # Lists, numbers of constants, and the text read back.
        @tenon.rule(where=lambda p, s: (terms.len(p) == 2) & (p[0] == 1) & (-s < 0) & (2 / s != 1.5), lowers="before(transpose, mul)")
        def my_scale_of_transpose(x, p: tenon.Attr, s: tenon.Attr):
            return ops.transpose(x, perm=p) * s, ops.transpose(x * (3 * s / 3), perm=[p[0], p[1] % 2])

        self.assertIn("where   (((len(p) == 2) && (p[0] == 1)) && ((-s) < 0)) && ((2 / s) != 1.5)", my_scale_of_transpose.text)
        self.assertIn("replace transpose(mul(x, splat((3 * s) / 3))) {perm = {p[0], p[1] % 2}}", my_scale_of_transpose.text)
        self.assertEqual(tenon.Rules.from_text(my_scale_of_transpose.text).names, ["my-scale-of-transpose"])
        module = ir.Module()
        ir.function(module, x=ir.tensor("f32", (2, 3)))(
            lambda x: ops.mul(ops.transpose(x, perm=[1, 0]), ops.constant(value=np.float32(4))))
        model = tenon.Model.from_module(module)
        self.assertEqual(model.optimize(pipeline="fuse", rules=my_scale_of_transpose).rules, {"my-scale-of-transpose": 1})
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(model.compile(threads=1)(x)[0], x.T * 4)
        # Words that the language does not have are mistakes with a place.
        with self.assertRaisesRegex(tenon.InvalidArgument, "rules_test.py:odd:3:"):
            tenon.rule(where=lambda x: terms.nosuch(x) == 2)(odd).names

    def test_wrong_terms(self):
        def plain(x, a: tenon.Attr):
            return ops.neg(ops.softmax(x, axis=a)), ops.softmax(x, axis=a)

        for where in (3, lambda y: y, lambda x: 3, lambda x: x, lambda x: [True], lambda a: a if a else a, lambda a: list(a),
                      lambda x: terms.rank(-x) == 1, lambda a: a == object(), terms.rank("x"), lambda a: (a == 1) and (a == 2)):
            with self.subTest(where), self.assertRaises(TypeError):
                tenon.rule(where=where)(plain)
        with self.assertRaises(TypeError):
            hash(terms.rank("x"))
        with self.assertRaises(ValueError):
            terms.rank("x") + float("nan")
        self.assertEqual(repr(-(terms.rank("x") + 1)), '<tenon.Term -(rank("x") + 1)>')
        with self.assertRaises(tenon.InvalidArgument):  # nothing binds it
            tenon.rule(unbound).names

    def test_fires(self):
        @tenon.rule
        def square_of_tanh(x):
            y = ops.tanh(x)
            return y * y, ops.pow(y, 2.0)

        text = small_models.LINEAR.replace("func.return(%0)", """%1 = ten.neg(%0) : (tensor<?x3xf32, ["batch", ""]>) -> tensor<?x3xf32, ["batch", ""]>
  %2 = ten.ceil(%1) : (tensor<?x3xf32, ["batch", ""]>) -> tensor<?x3xf32, ["batch", ""]>
  func.return(%2)""")
        model = tenon.load(text.encode())
        rules = tenon.Rules.from_text(RIGHT)
        explained = rules.explain(model)
        self.assertIn("my-ceil-of-neg", explained)
        self.assertIn("ten.neg", model.text())
        self.assertEqual(model.optimize(rules=[rules, square_of_tanh]).rules.get("my-ceil-of-neg"), 1)
        self.assertIn("tanh(_x)", square_of_tanh.text)
        with self.assertRaises(ValueError):
            tenon.Rules(rules.text + square_of_tanh.text, "both").explain(model)

    def test_wrong_functions(self):
        def no_tuple(x):
            return x

        def three(x):
            return x, x, x

        def counts(x):
            return (-x, -x), x

        def decides(x):
            return (-x if x else x), x

        def list_operand(x):
            return x + [1], x

        def many(*x):
            return x[0], x[0]

        def upper(X):
            return -X, X

        def plain(x):
            return 3, x

        def attribute(x):
            return ops.softmax(x, axis=object()), x

        for function in (no_tuple, three, counts, decides, list_operand, many, upper, plain, attribute):
            with self.subTest(function.__name__), self.assertRaises(TypeError):
                tenon.rule(function)

        def fails(x):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            tenon.rule(fails)

    def test_explain_programs_without_names(self):
        module = ir.Module()
        ir.function(module, x=ir.tensor("f32", ("B", 4)))(lambda x: ops.ceil(ops.neg(x)))
        report = tenon.Model.from_module(module).optimize(rules=tenon.Rules.from_text(RIGHT), explain="my-ceil-of-neg")
        self.assertIn("fired 1 time", report.explained)
        self.assertNotIn("no pass applied", report.explained)


if __name__ == "__main__":
    unittest.main()
