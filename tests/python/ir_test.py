"""The IR in Python: reading, walking, changing, verifying; and no handle dangles."""

import gc
import random
import unittest

import numpy as np

import small_models
import tenon
from tenon import ir

TEXT = small_models.TWO_INPUTS
CONTROL = """
func.func() <{arg_attrs = [{core.name = "c"}, {core.name = "x"}], res_attrs = [{core.name = "y"}], function_type = (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%c: tensor<i1>, %x: tensor<2xf32>):
  %0 = ctl.if(%c) ({
    %1 = ten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
    ctl.yield(%1) : (tensor<2xf32>) -> ()
  }, {
    ctl.yield(%x) : (tensor<2xf32>) -> ()
  }) : (tensor<i1>) -> tensor<2xf32>
  func.return(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
"""


def find(module, name):
    return next(op for op in module.walk() if op.name == name)


class IrTest(unittest.TestCase):
    def setUp(self):
        self.module = ir.parse(TEXT)

    def test_reading(self):
        names = [op.name for op in self.module.walk()]
        self.assertEqual(names, ["builtin.module", "func.func", "ten.add", "ten.mul", "func.return"])
        function = find(self.module, "func.func")
        self.assertEqual(function.attributes["sym_name"].value, "main")
        self.assertEqual(function.parent, self.module.operation)
        block, = function.regions[0].blocks
        self.assertEqual(block.parent, function)
        a, b = block.arguments
        self.assertEqual(a.name, "a")
        self.assertEqual((a.type.dtype, a.type.shape), ("f32", ("m", "n")))
        add = block.operations[0]
        self.assertEqual(add.operands, [a, b])
        self.assertEqual(add.results[0].owner, add)
        self.assertEqual(a.owner, block)
        self.assertEqual([user.name for user in a.users], ["ten.add", "ten.mul"])
        self.assertIsNone(self.module.operation.block)
        self.assertEqual(len({add, find(self.module, "ten.add")}), 1)
        self.assertIn("ten.add", str(add))
        self.assertEqual(str(self.module), self.module.text())
        self.assertEqual(ir.parse(self.module.text()).text(), self.module.text())

    def test_wrong_text(self):
        with self.assertRaises(tenon.InvalidModel) as caught:
            ir.parse("func.func(", name="m.mlir")
        self.assertTrue(caught.exception.diagnostics)
        for text in ("tensor<", "tensor<2xf99>", ""):
            with self.assertRaises(tenon.InvalidModel):
                self.module.type(text)
            with self.assertRaises(tenon.InvalidModel):
                self.module.attribute(text)

    def test_replace(self):
        add, mul = find(self.module, "ten.add"), find(self.module, "ten.mul")
        with self.assertRaises(tenon.FailedPrecondition):
            add.erase()
        twice = add.insert_after("ten.mul", [add.operands[0], add.operands[0]])
        add.replace_with(twice.results)
        self.assertFalse(add.is_alive)
        self.assertIn("erased", repr(add))
        for use in (lambda: add.name, lambda: add.operands, lambda: str(add), add.erase, lambda: add.walk(),
                    lambda: add.set_attribute("a", 1), lambda: mul.move_before(add)):
            with self.assertRaises(tenon.FailedPrecondition):
                use()
        twice.set_attribute("note", "mine")
        self.assertEqual(twice.attributes["note"].value, "mine")
        twice.set_attribute("note", None)
        self.assertNotIn("note", twice.attributes)
        mul.move_before(twice)
        self.module.verify()
        outputs = tenon.Model.from_module(self.module).compile(threads=1)([[3]], [[5]])
        self.assertEqual([float(y[0, 0]) for y in outputs], [9, 15])

    def test_build(self):
        module = ir.parse(small_models.LINEAR)
        matmul = find(module, "ten.matmul")
        constant = matmul.insert_before("core.constant", [], {"value": module.elements(np.full((2, 3), 2, np.float32))})
        self.assertEqual(constant.results[0].type, module.type("tensor<2x3xf32>"))
        self.assertEqual(constant.attributes["value"].value.tolist(), [[2] * 3] * 2)
        matmul.set_operand(1, constant.results[0])
        find(module, "func.return")
        module.verify()
        y, = tenon.Model.from_module(module).compile(threads=1)([[1, 2]])
        self.assertEqual(y.tolist(), [[6, 6, 6]])
        constant.results[0].name = "weights"
        self.assertIn("%weights = core.constant", module.text())

    def test_wrong_changes(self):
        add, function = find(self.module, "ten.add"), find(self.module, "func.func")
        block = function.regions[0].blocks[0]
        before = self.module.text()
        other = find(ir.parse(TEXT), "ten.add")
        f32 = self.module.type("f32")
        wrong = [
            lambda: block.append("ten.nosuch"), lambda: block.append("nodialect"), lambda: block.append("acme.op"),
            lambda: block.append(""), lambda: block.append("ten.add"), lambda: block.append("ten.add", add.operands[:1]),
            lambda: block.append("ten.add", other.results * 2), lambda: block.append("ten.add", [None, None]),
            lambda: block.append("ten.add", add.operands, {"a": object()}),
            lambda: block.append("ten.add", add.operands, {"": 1}),
            lambda: block.append("ten.add", add.operands, {}, [3]),
            lambda: block.append("ten.add", add.operands, {}, 3),
            lambda: block.append("ten.add", add.operands, {}, []),
            lambda: block.append("ten.add", add.operands, {}, [f32, f32]),
            lambda: block.append("ten.add", add.operands, {}, [f32], regions=2),
            lambda: block.append("ten.add", add.operands, {}, [f32], regions=1 << 31),
            lambda: block.append("cf.br"), lambda: block.append("core.constant"),
            lambda: block.append("core.constant", [], {"value": "text"}),
            lambda: block.append("ten.softmax", add.operands[:1], {"axis": "x"}),
            lambda: add.set_operand(7, add.operands[0]), lambda: add.set_operand(-1, add.operands[0]),
            lambda: add.set_operand(0, other.results[0]), lambda: add.replace_with([]),
            lambda: add.replace_with(add.results), lambda: self.module.operation.erase(),
            lambda: self.module.operation.insert_after("ten.add"), lambda: add.move_before(function),
            lambda: function.move_after(add), lambda: add.move_before(other), lambda: add.results[0].replace_uses(other.results[0]),
            lambda: self.module.elements(np.array(["a"])), lambda: self.module.run("no-such-pass"),
            lambda: add.set_attribute("", 1), lambda: add.set_attribute("a", 1 << 70),
        ]
        for i, change in enumerate(wrong):
            with self.subTest(i), self.assertRaises((tenon.Error, TypeError)):
                change()
        self.assertEqual(self.module.text(), before)

    def test_regions(self):
        module = ir.parse(CONTROL)
        choice = find(module, "ctl.if")
        inner = find(module, "ten.neg")
        argument = find(module, "func.func").regions[0].blocks[0].arguments[1]
        with self.assertRaises(tenon.InvalidArgument):  # not visible outside
            find(module, "func.return").set_operand(0, inner.results[0])
        with self.assertRaises(tenon.InvalidArgument):
            argument.replace_uses(inner.results[0])
        with self.assertRaises(tenon.InvalidArgument):
            inner.move_before(choice)
        block = inner.block
        choice.replace_with([argument])
        self.assertFalse(inner.is_alive)
        for use in (lambda: block.operations, lambda: inner.results, lambda: choice.regions):
            with self.assertRaises(tenon.FailedPrecondition):
                use()
        module.verify()

    def test_verify(self):
        add, mul = find(self.module, "ten.add"), find(self.module, "ten.mul")
        add.set_operand(0, mul.results[0])  # used before it is defined
        with self.assertRaises(tenon.InvalidModel) as caught:
            self.module.verify()
        self.assertTrue(caught.exception.diagnostics)
        for use in (lambda: tenon.Model.from_module(self.module), lambda: self.module.run("cse")):
            with self.assertRaises(tenon.InvalidModel):
                use()
        self.assertIn("ten.add", self.module.text())

    def test_passes(self):
        add = find(self.module, "ten.add")
        add.insert_after("ten.add", add.operands)
        self.module.run("canonicalize,cse")
        with self.assertRaises(tenon.FailedPrecondition):
            add.name
        self.assertEqual(len(self.module.walk()), 5)

    def test_model_is_not_changed(self):
        model = tenon.load(TEXT.encode())
        module = model.module()
        find(module, "ten.mul").replace_with(find(module, "ten.add").results)
        self.assertEqual(model.text(), ir.parse(TEXT).text())

    def test_handles_keep_what_they_need(self):
        values = [op.results[0] for op in self.module.walk() if op.results]
        attribute = self.module.elements(np.arange(1000, dtype=np.float32))
        type_ = self.module.type("tensor<3xf32>")
        del self.module
        gc.collect()
        self.assertEqual([value.owner.name for value in values], ["ten.add", "ten.mul"])
        self.assertEqual(attribute.value[999], 999)
        self.assertEqual(str(type_), "tensor<3xf32>")

    def test_large_constants_stay(self):
        array = np.random.default_rng(0).random(5000, np.float32)
        module = ir.parse(small_models.LINEAR)
        place = find(module, "ten.matmul")
        constant = place.insert_before("core.constant", [], {"value": module.elements(array)})
        value = constant.attributes["value"]
        constant.erase()
        module.run("canonicalize")  # frees constants that no operation holds
        np.testing.assert_array_equal(value.value, array)

    def test_every_operation_can_be_printed(self):
        # Operations that are anything but well-formed print, and are refused by the verifier alone.
        names = sorted(set(op for op in _operation_names()))
        self.assertGreater(len(names), 100)
        made = 0
        for name in names:
            module = ir.parse(TEXT)
            block = find(module, "func.func").regions[0].blocks[0]
            x = block.arguments[0]
            for operands in range(4):
                for results in ([], [x.type], None):
                    for regions in range(3):
                        for attributes in ({}, {"axis": "x", "value": 1.5, "axes": 3, "sym_name": 4, "function_type": 5}):
                            try:
                                op = block.append(name, [x] * operands, attributes, results, regions=regions)
                            except (tenon.Error, TypeError):
                                continue
                            made += 1
                            str(op)
                            op.attributes
                            module.text(generic=True)
                            try:
                                module.verify()
                            except tenon.InvalidModel:
                                pass
                            op.erase()
        self.assertGreater(made, 100)

    def test_random_changes(self):
        generator = random.Random(1)
        for _ in range(20):
            module = ir.parse(CONTROL)
            handles = module.walk()
            for _ in range(60):
                a, b = generator.choice(handles), generator.choice(handles)
                try:
                    change = generator.randrange(8)
                    if change == 0:
                        a.erase()
                    elif change == 1:
                        a.replace_with(b.results)
                    elif change == 2:
                        a.move_before(b)
                    elif change == 3:
                        a.move_after(b)
                    elif change == 4:
                        handles.append(a.insert_before("ten.neg", b.results))
                    elif change == 5:
                        a.set_operand(0, b.results[0])
                    elif change == 6:
                        a.results[0].replace_uses(b.results[0])
                    else:
                        handles.append(a.block.append("ten.add", b.results * 2))
                except (tenon.Error, IndexError, AttributeError):
                    pass
                str(a.is_alive and a)
            module.text()
            try:
                module.verify()
            except tenon.InvalidModel:
                pass


def _operation_names():
    import pathlib
    import re

    for file in sorted((small_models.ROOT / "ir" / "dialect").glob("*.yaml")):
        text = pathlib.Path(file).read_text()
        dialect = file.stem
        for name in re.findall(r"^\s*- \{?(?:name|op): ([a-z0-9_.]+)", text, re.M):
            yield name if "." in name else f"{dialect}.{name}"


if __name__ == "__main__":
    unittest.main()
