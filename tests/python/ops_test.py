"""tenon.ops: every operation as a function and a class; modules that are built from nothing."""

import inspect
import json
import subprocess
import sys
import threading
import unittest

import numpy as np

import small_models
import tenon
from tenon import ir, ops
from tenon.ops import _dialects

F32 = ir.tensor("f32", ("B", 8))


def run(module, *inputs):
    return tenon.Model.from_module(module).compile(threads=1)(*inputs)


def definitions():
    """The operations of the dialect files, as `(dialect, data)`."""
    sys.path.insert(0, str(small_models.ROOT / "tools" / "codegen"))
    import loader

    paths = sorted(str(path) for path in (small_models.ROOT / "ir" / "dialect").glob("*.yaml"))
    for dialect in loader.load(paths):
        for op in dialect.ops:
            yield dialect.name, op


class BuildTest(unittest.TestCase):
    def setUp(self):
        self.module = ir.Module()

    def test_from_nothing(self):
        @ir.function(self.module, x=F32, w=ir.tensor("f32", (8, 4)))
        def main(x, w):
            return {"y": ops.nn.softmax(ops.matmul(x, w), axis=-1)}

        self.assertEqual(main.name, "func.func")
        self.module.verify()
        x, w = np.arange(16, dtype=np.float32).reshape(2, 8) / 8, np.eye(8, 4, dtype=np.float32)
        outputs = run(self.module, x, w)
        expected = np.exp(x @ w) / np.exp(x @ w).sum(-1, keepdims=True)
        np.testing.assert_allclose(outputs["y"], expected, rtol=1e-5)
        again = ir.parse(self.module.text())
        self.assertEqual(again.text(), self.module.text())

    def test_operands_attributes_and_results(self):
        @ir.function(self.module, x=F32)
        def main(x):
            by_name = ops.ten.add(b=x, a=x)
            pieces = ops.ten.split(by_name, axis=-1, sizes=[3, 5])
            self.assertEqual([piece.type.shape for piece in pieces], [("B", 3), ("B", 5)])
            values, indices = ops.ten.topk(x, k=[2], axis=1, largest=False)
            self.assertEqual((values.type.dtype, indices.type.dtype), ("f32", "i64"))
            joined = ops.concat([*pieces, x], axis=1)
            total = ops.ten.reduce_sum(joined, axes=[-1, 0], keepdims=False)
            self.assertEqual(total.owner.axes, [0, 1])
            clipped = ops.ten.clip(total, max=6.0)
            self.assertEqual((clipped.owner.min, clipped.owner.max), (float("-inf"), 6.0))
            return ops.ten.cast(clipped, to="f64"), values, indices

        self.module.verify()
        total, values, indices = run(self.module, np.arange(8, dtype=np.float32)[None])
        self.assertEqual(float(total), 6.0)
        self.assertEqual((values.tolist(), indices.tolist()), ([[0, 1]], [[0, 1]]))

    def test_optional_operands(self):
        @ir.function(self.module, x=ir.tensor("f32", (1, 3, 8, 8)), w=ir.tensor("f32", (4, 3, 3, 3)), b=ir.tensor("f32", (4,)))
        def main(x, w, b):
            window = {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1]}
            without, with_bias = ops.nn.conv(x, w, **window), ops.nn.conv(x, w, b, **window)
            self.assertIsNone(without.owner.operand_groups[2])
            self.assertEqual(with_bias.owner.operand_groups, [x, w, b])
            self.assertEqual(ops.nn.conv(x, w, None, **window).owner.operands, [x, w])
            return without, with_bias

        self.module.verify()

    def test_regions(self):
        @ir.function(self.module, c=ir.tensor("i1", ()), x=F32)
        def main(c, x):
            choice, = ops.ctl.if_(c, result_types=[x.type])
            op = choice.owner
            self.assertIsInstance(op, ops.ctl.If)
            with ir.InsertionPoint(op.then.add_block()):
                ops.ctl.yield_([ops.neg(x)])
            with ir.InsertionPoint(op.else_.add_block()):
                ops.ctl.yield_([x])
            self.assertEqual(getattr(op, "else").blocks, op.else_.blocks)
            return choice

        self.module.verify()
        x = np.ones((1, 8), np.float32)
        self.assertEqual(run(self.module, np.array(True), x)[0].sum(), -8)
        self.assertEqual(run(self.module, np.array(False), x)[0].sum(), 8)

    def test_functions_and_calls(self):
        @ir.function(self.module, "negate", x=ir.tensor("f32", (2,)))
        def negate(x):
            return ops.neg(x)

        @ir.function(self.module, x=ir.tensor("f32", (2,)))
        def main(x):
            return ops.func.call([x], callee="negate", result_types=[x.type])[0]

        self.assertEqual(negate.sym_name, "negate")
        self.module.verify()
        self.assertEqual(run(self.module, [1, 2])[0].tolist(), [-1, -2])

    def test_insertion_points(self):
        @ir.function(self.module, x=F32)
        def main(x):
            return ops.exp(x)

        block = main.body.blocks[0]
        x, = block.arguments
        exp, ret = block.operations
        self.assertEqual((exp.next, ret.next), (ret, None))
        with ir.InsertionPoint(exp):
            first = ops.sin(x)
            with ir.InsertionPoint.after(exp):
                third = ops.cos(x)
            second = ops.tan(first, ip=ir.InsertionPoint(exp), node="layer/tan")
        with ir.InsertionPoint.at_start(block):
            ops.abs(x)
        names = [op.name for op in block.operations]
        self.assertEqual(names, ["ten.abs", "ten.sin", "ten.tan", "ten.exp", "ten.cos", "func.return"])
        self.assertIn("layer/tan", second.owner.node)
        self.assertEqual(third.owner.next, ret)
        with self.assertRaises(tenon.FailedPrecondition):
            ops.sin(x)
        with ir.InsertionPoint(third.owner):
            third.owner.erase()
            with self.assertRaises(tenon.FailedPrecondition):
                ops.sin(x)
        with self.assertRaises(tenon.FailedPrecondition):
            with ir.InsertionPoint(self.module.operation):
                ops.sin(x)
        seen = []
        with ir.InsertionPoint(ret):
            thread = threading.Thread(target=lambda: seen.append(_error(lambda: ops.sin(x))))
            thread.start()
            thread.join()
        self.assertIsInstance(seen[0], tenon.FailedPrecondition)

    def test_an_error_leaves_no_function(self):
        before = self.module.text()
        for returned in (None, 3, "text", [None]):
            with self.assertRaises(TypeError):
                ir.function(self.module, x=F32)(lambda x: returned)  # pylint: disable=cell-var-from-loop
        with self.assertRaises(KeyError):
            ir.function(self.module, x=F32)(lambda x: {}["no"])
        with self.assertRaises(TypeError):
            ir.function(self.module, y=F32)(lambda x: x)
        with self.assertRaises(tenon.InvalidModel):
            ir.function(self.module, x="tensor<")
        self.assertEqual(self.module.text(), before)

    def test_wrong_calls(self):
        @ir.function(self.module, x=F32)
        def main(x):
            other = ir.Module()
            foreign = []
            ir.function(other, x=F32)(lambda x: foreign.append(x) or x)
            wrong = [
                lambda: ops.add(x), lambda: ops.add(), lambda: ops.add(x, x, x), lambda: ops.add(x, None),
                lambda: ops.add(x, 1.0), lambda: ops.add(x, b=x, a=x), lambda: ops.add(x, x, c=x),
                lambda: ops.softmax(x, axis="x"), lambda: ops.softmax(x, axis=7), lambda: ops.softmax(x, axis=-7),
                lambda: ops.softmax(x, axis=[1]), lambda: ops.softmax(x, axis=1 << 70), lambda: ops.softmax(x, axes=1),
                lambda: ops.concat(3, axis=0), lambda: ops.concat([], axis=0), lambda: ops.concat([None], axis=0),
                lambda: ops.concat([x, foreign[0]], axis=0), lambda: ops.concat([x, x]),
                lambda: ops.cast(x, to="nonsense"), lambda: ops.cast(x, to=3), lambda: ops.core.constant(value="text"),
                lambda: ops.core.constant(), lambda: ops.ctl.if_(x), lambda: ops.ctl.if_(x, result_types=3),
                lambda: ops.ctl.if_(x, result_types="f32"), lambda: ops.no_such(x), lambda: ops.no.such(x), lambda: ops.ten.no_such(x),
                lambda: ops.add(x, x, ip=3), lambda: ops.add(x, x, node=3), lambda: ops.add(foreign[0], foreign[0]),
                lambda: ops.ten.Add(x, x), lambda: ops.reshape(x, shape=["not a dimension ("]), lambda: ops.ten.clip(x, min="x"),
            ]
            for i, call in enumerate(wrong):
                with self.subTest(i):
                    self.assertIsInstance(_error(call), (tenon.Error, TypeError, AttributeError))
            self.assertIn("did you mean 'axis'", str(_error(lambda: ops.softmax(x, axi=1))))
            self.assertIn("'b' is missing", str(_error(lambda: ops.add(x))))
            return x

        self.assertEqual([op.name for op in main.body.blocks[0].operations], ["func.return"])

    def test_parts(self):
        @ir.function(self.module, x=F32)
        def main(x):
            return ops.nn.softmax(x, axis=-1)

        op = main.body.blocks[0].operations[0]
        self.assertIsInstance(op, ops.nn.Softmax)
        self.assertNotIsInstance(op, ops.ten.Add)
        self.assertIsInstance(op, ops.OpClass)
        self.assertNotIsInstance(3, ops.nn.Softmax)
        self.assertEqual((op.x, op.axis, op.out), (op.operands[0], 1, op.results[0]))
        self.assertEqual(op.properties, {"axis": 1})
        match op:
            case ops.nn.Softmax(axis=1, x=value):
                self.assertEqual(value, op.x)
            case _:
                self.fail()
        with self.assertRaisesRegex(AttributeError, "did you mean 'axis'"):
            op.axi  # pylint: disable=pointless-statement
        op.replace_with([op.x])
        self.assertNotIsInstance(op, ops.nn.Softmax)
        self.assertFalse(hasattr(op, "__array__"))
        with self.assertRaises(tenon.FailedPrecondition):
            op.axis  # pylint: disable=pointless-statement

    def test_attribute_values(self):
        function = self.module.operation.regions[0].blocks[0].append(
            "func.func", [], {"sym_name": "main", "function_type": "() -> ()"}, [], regions=1)
        deep = shared = []
        for _ in range(200):
            deep = [deep]
        shared.append(shared)
        for value, kind in (([], "dense_array"), ([1, 2], "dense_array"), (["a", 1.5], "array"), ({"a": [True, {"b": None or 1}]}, "dictionary")):
            function.set_attribute("note", value)
            self.assertEqual(function.attributes["note"].kind, kind)
        for value in (deep, shared, {"": 1}, {3: 1}, object(), b"bytes", "\ud800", {"\ud800": 1}, [object()]):
            with self.assertRaises((tenon.Error, TypeError)):
                function.set_attribute("note", value)
        str(function)


def _error(call):
    try:
        call()
    except Exception as error:  # pylint: disable=broad-except
        return error
    return None


class GeneratedTest(unittest.TestCase):
    def test_every_operation_has_a_function_and_a_class(self):
        count = 0
        for dialect, op in definitions():
            module = getattr(ops, dialect)
            cls = getattr(module, op.camel)
            self.assertEqual(cls.op_name, op.full_name)
            parts = [part.name for part in [*op.operands, *op.attrs, *op.results]] + op.regions
            self.assertEqual([name.rstrip("_") for name in cls.__annotations__], [*[o.name for o in op.operands], *sorted(a.name for a in op.attrs),
                                                                                   *[r.name for r in op.results], *op.regions])
            self.assertEqual(len(parts), len(cls.__annotations__))
            if op.successors:
                continue
            function = getattr(module, op.name, None) or getattr(module, op.name + "_")
            parameters = inspect.signature(function).parameters
            self.assertTrue(function.__doc__)
            for part in [*op.operands, *op.attrs]:
                self.assertTrue(part.name in parameters or part.name + "_" in parameters, f"{op.full_name}: {part.name}")
            for attr in op.attrs:
                if attr.required:
                    self.assertIs(parameters.get(attr.name, parameters.get(attr.name + "_")).default, inspect.Parameter.empty)
            count += 1
        self.assertGreater(count, 190)

    def test_examples_have_the_parts_that_classes_name(self):
        # Each example of the dialect files is read, and each part of its operation by name.
        count = 0
        for dialect, op in definitions():
            module = _module_of(op.example)
            if module is None:
                continue
            found = [each for each in module.walk() if each.name == op.full_name]
            cls = getattr(getattr(ops, dialect), op.camel)
            for each in found:
                self.assertIsInstance(each, cls)
                for name in cls.__annotations__:
                    getattr(each, name)
                self.assertEqual(len(each.operand_groups), len(op.operands))
                self.assertEqual(sorted(each.properties), sorted(a.name for a in op.attrs))
                count += 1
        self.assertGreater(count, 10)

    def test_dialects(self):
        self.assertEqual(set(_dialects.DIALECTS) - set(dir(ops)), set())
        self.assertIs(ops.relu, ops.ten.relu)
        self.assertIs(ops.silu, ops.nn.silu)
        self.assertIn("my.gated", repr(ops.my.gated))

    def test_typed_program(self):
        import typed_program

        typed_program.main()

    def test_import_is_light(self):
        code = ("import sys, json, tenon\n"
                "print(json.dumps(sorted(m for m in sys.modules if m.startswith('tenon.ops.') or m in ('numpy', 'torch', 'inspect'))))")
        loaded = json.loads(subprocess.run([sys.executable, "-B", "-c", code], check=True, capture_output=True).stdout)
        self.assertEqual([name for name in loaded if name not in ("tenon.ops._declare", "tenon.ops._dialects")], [])


def _module_of(example):
    """An example that stands for itself, without values from outside; None for others."""
    if not example:
        return None
    try:
        return ir.parse(example)
    except tenon.InvalidModel:
        return None


class RuleTest(unittest.TestCase):
    def test_rules_use_the_same_functions(self):
        @tenon.rule(lowers="before(neg, mul)")
        def mine(a, b):
            return ops.concat([ops.neg(a), ops.ten.neg(b)], axis=-1), ops.neg(ops.concat([a, b], axis=-1))

        self.assertIn("concat(neg(_a), neg(_b)) {axis = -1}", mine.text.replace("(a)", "(_a)").replace("(b)", "(_b)"))
        self.assertEqual(mine.names, ["mine"])

        @tenon.rule
        def named(x):
            return ops.add(a=x, b=ops.neg(x=x)), ops.sub(x, x)

        self.assertIn("add(x, neg(x))", named.text)
        with self.assertRaises(TypeError):
            tenon.rule(lambda x: (ops.add(b=x, a=None), x))
        with self.assertRaises(TypeError):
            tenon.rule(lambda x: (ops.neg(x, node="a"), x))


if __name__ == "__main__":
    unittest.main()
