"""Rules in Python: text, traced functions, checks and explanations."""

import os
import tempfile
import unittest

import small_models
import tenon
from tenon import ir, ops

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
