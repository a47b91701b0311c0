"""Passes that are functions of Python: in pipelines, with options, counters, diagnostics and exceptions."""

import threading
import unittest
import warnings

import numpy as np

import small_models
import tenon
from tenon import ir, ops

TEXT = small_models.TWO_INPUTS


def module():
    return ir.parse(TEXT)


def names(program):
    return [op.name for op in program.walk()]


@tenon.register_pass("add-to-sub")
def add_to_sub(root, context, *, limit: int = 10, suffix: str = "", names: list = (), dry_run: bool = False):
    """Makes subtractions of additions."""
    add_to_sub.seen.append((root.name, limit, suffix, list(names), dry_run))
    for op in root.walk():
        if isinstance(op, ops.ten.Add) and not dry_run and limit > 0:
            limit -= 1
            with ir.InsertionPoint(op):
                op.replace_with([ops.sub(op.a, op.b)])
            context.count("changed")
            context.count("weighed", 3)


add_to_sub.seen = []


@tenon.register_pass("on-functions", on="func.func")
def on_functions(function, context):
    """Sees one function, and nothing around it."""
    assert function.parent is None and function.block is None and function.next is None
    context.count(function.sym_name)
    block = function.body.blocks[0]
    assert block.parent == function
    for change in (function.erase, lambda: function.insert_before("ten.add"), lambda: function.move_before(function),
                   lambda: function.module.to_model(), lambda: function.module.run("cse")):
        try:
            change()
        except tenon.Error:
            continue
        raise AssertionError("the function of a pass was changed from outside")


class PassTest(unittest.TestCase):
    def setUp(self):
        add_to_sub.seen.clear()

    def test_in_pipelines(self):
        program = module()
        report = tenon.run_pipeline(program, "add-to-sub,canonicalize,cse")
        self.assertTrue(report.changed)
        self.assertEqual(dict(report.statistics)["add-to-sub"], {"changed": 1, "weighed": 3})
        self.assertIn("ten.sub", names(program))
        self.assertEqual(add_to_sub.seen, [("builtin.module", 10, "", [], False)])
        self.assertFalse(tenon.run_pipeline(program, "add-to-sub").changed)
        program = module()
        program.run("builtin.module(add-to-sub)")
        self.assertIn("ten.sub", names(program))

    def test_options(self):
        program = module()
        tenon.run_pipeline(program, 'add-to-sub{limit=0 suffix=x names=a,b dry-run=true}')
        self.assertEqual(add_to_sub.seen, [("builtin.module", 0, "x", ["a", "b"], True)])
        for text in ("add-to-sub{limit=x}", "add-to-sub{limt=3}", "add-to-sub{dry-run=3}", "add-to-sb"):
            with self.assertRaises(tenon.InvalidArgument) as caught:
                program.run(text)
            self.assertTrue(str(caught.exception))

        @tenon.register_pass
        def needs_option(root, context, *, count: int, texts: "list[str]" = ()):
            needs_option.seen = count, texts

        program.run("needs-option{count=4}")
        self.assertEqual(needs_option.seen, (4, []))
        with self.assertRaises(tenon.InvalidArgument):
            program.run("needs-option")

    def test_in_optimize(self):
        model = tenon.load(TEXT.encode())
        report = model.optimize(pipeline="add-to-sub,O2")
        self.assertEqual(report.statistics, {"add-to-sub": {"changed": 1, "weighed": 3}})
        self.assertTrue(report.passes[0].name.startswith("add-to-sub"))
        self.assertTrue(report.passes[0].changed)
        x = np.full((1, 1), 3, np.float32)
        self.assertEqual(float(model.compile(threads=1)(x, x)[0][0, 0]), 0)
        self.assertEqual(model.optimize().statistics, {})
        model.optimize(pipeline="func.func(on-functions),add-to-sub", threads=2)

    def test_on_functions(self):
        program = ir.Module()
        for name in ("main", "other"):
            ir.function(program, name, x=ir.tensor("f32", (2,)))(lambda x: ops.neg(x))
        report = tenon.run_pipeline(program, "on-functions")
        self.assertFalse(report.changed)
        self.assertEqual(report.statistics, [("on-functions", {"main": 1, "other": 1})])

    def test_registration(self):
        def good(root, context):
            pass

        with self.assertRaises(tenon.AlreadyExists):
            tenon.register_pass("cse")(good)
        with self.assertRaises(tenon.AlreadyExists):
            tenon.register_pass("O2")(good)
        with self.assertRaises(tenon.InvalidArgument):
            tenon.register_pass("not a name{")(good)
        for wrong in (lambda root: None, lambda: None, lambda a, b, c: None, lambda root, context, *, x: None,
                      lambda root, context, *, x=1.5: None, 3):
            with self.assertRaises(TypeError):
                tenon.register_pass("mine")(wrong)
        with self.assertRaises(ValueError):
            tenon.register_pass("mine", on="ten.add")(good)
        tenon.register_pass("twice")(good)
        seen = []
        tenon.register_pass("twice")(lambda root, context: seen.append(root.name))
        module().run("twice")
        self.assertEqual(seen, ["builtin.module"])

    def test_exceptions(self):
        @tenon.register_pass
        def fails(root, context):
            for op in root.walk():
                if op.name == "ten.add":
                    op.insert_after("ten.mul", op.operands)
            raise LookupError("no such thing")

        program, model = module(), tenon.load(TEXT.encode())
        before = program.text()
        for run in (lambda: program.run("fails"), lambda: tenon.run_pipeline(program, "cse,fails"),
                    lambda: model.optimize(pipeline="fails"), lambda: model.optimize(pipeline="fails", threads=3)):
            with self.assertRaises(tenon.CallbackError) as caught:
                run()
            error = caught.exception
            self.assertIsInstance(error.__cause__, LookupError)
            self.assertIn("passes_test.py", error.location)
            self.assertIn("pass 'fails' raised LookupError: no such thing", str(error))
            self.assertIn('raise LookupError("no such thing")', str(error))
            self.assertTrue(error.diagnostics)
        self.assertEqual(program.text(), before)
        self.assertEqual(model.text(), before)

        @tenon.register_pass
        def stops(root, context):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            program.run("stops")

        @tenon.register_pass
        def refuses(root, context):
            raise tenon.UnsupportedOperation("not here")

        with self.assertRaises(tenon.UnsupportedOperation):
            program.run("refuses")

    def test_diagnostics(self):
        @tenon.register_pass
        def tells(root, context, *, fail: bool = False):
            op = next(op for op in root.walk() if op.name == "ten.add")
            context.warning("an addition", op)
            context.remark("a program")
            if fail:
                context.error("no additions, please", op)

        told = []
        model = tenon.load(TEXT.encode(), name="m.mlir", on_diagnostic=told.append)
        model.optimize(pipeline="tells")
        self.assertEqual([(each.severity, each.message, each.line) for each in told],
                         [("warning", "an addition", 4), ("remark", "a program", told[1].line)])
        with self.assertRaises(tenon.InvalidArgument) as caught:
            model.optimize(pipeline="tells{fail=true}")
        self.assertIn("m.mlir:4:", caught.exception.location)
        self.assertIn("no additions, please", str(caught.exception))
        self.assertNotIn("Traceback", str(caught.exception))

    def test_wrong_programs_are_refused(self):
        @tenon.register_pass
        def breaks(root, context):
            add = next(op for op in root.walk() if op.name == "ten.add")
            mul = next(op for op in root.walk() if op.name == "ten.mul")
            add.set_operand(0, mul.results[0])

        for run in (lambda: module().run("breaks,cse"), lambda: tenon.load(TEXT.encode()).optimize(pipeline="breaks,O2")):
            with self.assertRaises(tenon.InvalidArgument) as caught:
                run()
            self.assertIn("breaks", str(caught.exception))

    def test_nested_pipelines(self):
        @tenon.register_pass
        def nests(root, context):
            handles = root.walk()
            nests.changed = context.run("add-to-sub,canonicalize"), context.run("add-to-sub")
            nests.alive = [handle.is_alive for handle in handles]
            for wrong in ("no-such", "nests{x=1}"):
                try:
                    context.run(wrong)
                except tenon.InvalidArgument:
                    continue
                raise AssertionError(wrong)

        program = module()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = tenon.run_pipeline(program, "nests")
        self.assertEqual(nests.changed, (True, False))
        self.assertFalse(any(nests.alive))
        self.assertTrue(report.changed)
        self.assertIn("ten.sub", names(program))

    def test_what_outlives_a_pass(self):
        kept = {}

        @tenon.register_pass
        def keeps(root, context):
            add = next(op for op in root.walk() if op.name == "ten.add")
            kept.update(root=root, context=context, add=add, value=add.a, block=add.block, region=root.regions[0],
                        module=root.module, type=add.a.type, attribute=root.module.attribute("[1, 2]"),
                        large=root.module.elements(np.arange(5000, dtype=np.float32)))

        for run in (lambda: module().run("keeps,canonicalize"),
                    lambda: tenon.load(TEXT.encode()).optimize(pipeline="keeps,O2")):
            run()
            for use in (lambda: kept["root"].name, lambda: kept["add"].a, lambda: kept["value"].type, lambda: kept["block"].operations,
                        lambda: kept["region"].blocks, lambda: kept["module"].walk(), lambda: kept["module"].text(),
                        lambda: kept["module"].verify(), lambda: kept["module"].operation, lambda: kept["module"].run("cse"),
                        lambda: kept["module"].to_model(), lambda: kept["context"].count("x"), lambda: kept["context"].warning("x"),
                        lambda: kept["context"].run("cse"), lambda: kept["context"].error("x")):
                with self.assertRaises(tenon.FailedPrecondition):
                    use()
            self.assertEqual(str(kept["type"]), 'tensor<?x?xf32, ["m", "n"]>')
            self.assertEqual(str(kept["attribute"]), "[1, 2]")
            self.assertEqual(kept["large"].value[4999], 4999)
            self.assertEqual(str(kept["module"].type("f32")), "f32")

    def test_the_module_is_closed_meanwhile(self):
        program = module()
        add = program.walk()[2]
        errors = []

        @tenon.register_pass
        def reenters(root, context):
            for use in (lambda: program.run("cse"), program.walk, program.text, lambda: program.operation, lambda: add.name,
                        lambda: add.erase(), lambda: add.a, program.verify, program.to_model):
                try:
                    use()
                except tenon.FailedPrecondition as error:
                    errors.append(error)
            thread = threading.Thread(target=lambda: self.assertRaises(tenon.FailedPrecondition, lambda: add.name))
            thread.start()
            thread.join()
            other = module()
            other.run("add-to-sub")

        program.run("reenters")
        self.assertEqual(len(errors), 9)
        model = tenon.load(TEXT.encode())

        @tenon.register_pass
        def reenters_model(root, context):
            with self.assertRaises(tenon.FailedPrecondition):
                model.optimize()
            model.compile(threads=1)

        model.optimize(pipeline="reenters-model")


if __name__ == "__main__":
    unittest.main()
