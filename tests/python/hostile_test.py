"""Calls that no sensible program makes: each ends with an exception or a result, and never with the interpreter.

Each case runs in this process, so that a crash ends the test. CONTRIBUTING.md says how to run it with AddressSanitizer.
"""

import gc
import inspect
import random
import sys
import threading
import unittest
import warnings
import weakref

import numpy as np

import small_models
import tenon
from tenon import _core, ir, ops

TEXT = small_models.TWO_INPUTS
X = ir.tensor("f32", ("B", 4))
ODD = [None, True, 0, -1, 1 << 70, 1.5, float("nan"), "", "text", "\0", "\ud800", b"bytes", (), [], {}, [None], {"a": 1}, object(), object, len,
       np.zeros(3), np.zeros((0, 4)), np.array("a"), tenon, tenon.Error("x"), NotImplemented, ..., range(3), [[[[]]]], {1: 2}, lambda *a, **k: None]

# Values that many attributes of these types accept.
GUESSES = {"_t.Sequence[int]": [1], "_t.Sequence[int | str | None]": [2], "_d.TypeLike": "f32", "float": 1.0, "str": "x", "_t.Sequence[_d.TypeLike]": [X],
           "object": np.ones(3, np.float32), "_t.Sequence[float]": [1.0], "bool": False}


def setUpModule():
    warnings.simplefilter("ignore")  # of nanobind and NumPy, about what this file does on purpose


class Evil:
    """An object that raises, or does something else, wherever it is asked."""

    def __init__(self, act):
        self.act = act

    def __getattr__(self, name):
        self.act()
        raise AttributeError(name)

    def __index__(self):
        self.act()
        return 1

    def __float__(self):
        self.act()
        return 1.0

    def __iter__(self):
        self.act()
        return iter(())

    def __len__(self):
        self.act()
        return 1

    def __array__(self, *args, **kwargs):
        self.act()
        return np.zeros(3, np.float32)

    def __bool__(self):
        self.act()
        return True

    def __str__(self):
        self.act()
        return "evil"

    def __eq__(self, other):
        self.act()
        return False

    def __hash__(self):
        return 1


def boom():
    raise RuntimeError("boom")


def attempt(call):
    """Calls, and expects nothing but a return or an exception."""
    try:
        return call()
    except Exception:  # pylint: disable=broad-except
        return None


def program(body, extension=None, **inputs):
    module = ir.Module(extension)
    ir.function(module, **(inputs or {"x": X}))(body)
    return tenon.Model.from_module(module)


class HostileTest(unittest.TestCase):
    def test_every_call_with_odd_arguments(self):
        # Each method of each class of the extension, with each odd value in each place.
        module = ir.parse(TEXT)
        add = module.walk()[2]
        model = tenon.load(TEXT.encode())
        run = model.compile(threads=1)
        objects = [module, add, add.operands[0], add.block, add.parent.regions[0], add.operands[0].type, module.attribute("1 : i64"),
                   ir.Module(), tenon.Extension(), tenon.CancelToken(), tenon.Tensor(np.zeros(3, np.float32)), model._handle, run._handle,
                   run._handle.session(), run._handle.binding(), _core]
        calls = 0
        for thing in objects:
            for name in sorted(set(dir(thing)) - set(dir(object))):
                if name.startswith("__") and name not in ("__dlpack__", "__getattr__", "__len__"):
                    continue
                member = attempt(lambda: getattr(thing, name))  # pylint: disable=cell-var-from-loop
                if not callable(member) or isinstance(member, type):
                    continue
                for value in ODD:
                    for count in (1, 2, 3, 5):
                        attempt(lambda: member(*[value] * count))  # pylint: disable=cell-var-from-loop
                        calls += 1
                attempt(member)
        self.assertGreater(calls, 2000)
        str(module)

    def test_every_operation_with_odd_arguments(self):
        generator = random.Random(7)
        module = ir.Module()
        values = []
        types = {"x": X, "i": ir.tensor("i64", (2,)), "c": ir.tensor("i1", ()), "s": "f32", "u": "tensor<*xf32>"}
        function = ir.function(module, **types)(lambda **given: values.extend(given.values()) or given["x"])
        ret = function.body.blocks[0].operations[-1]
        made = 0
        with ir.InsertionPoint(ret):
            for dialect in ("ten", "nn", "fused", "core", "ctl", "func", "q", "random", "str", "image", "kernel", "builtin"):
                names = [name for name in vars(getattr(ops, dialect)) if not name.startswith("_") and name[0].islower() and name != "annotations"]
                for name in names:
                    call = getattr(getattr(ops, dialect), name)
                    parameters = inspect.signature(call).parameters.values()
                    for _ in range(8):
                        args = [generator.choice([*values[:1] * 3, values[:2], *values, None]) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
                        good = {p.name: GUESSES.get(p.annotation, 1) for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
                        odd = {p.name: generator.choice(ODD) for p in parameters if p.kind is p.KEYWORD_ONLY and generator.random() < 0.3}
                        result = attempt(lambda: call(*args, **{**good, **odd}))  # pylint: disable=cell-var-from-loop
                        result = result or attempt(lambda: call(*args, **good))  # pylint: disable=cell-var-from-loop
                        if result is None:
                            continue
                        made += 1
                        op = attempt(lambda: (result[0] if isinstance(result, tuple) else result).owner)  # pylint: disable=cell-var-from-loop
                        if isinstance(op, ir.Operation):
                            str(op)
                            attempt(lambda: op.properties)  # pylint: disable=cell-var-from-loop
                            attempt(lambda: op.operand_groups)  # pylint: disable=cell-var-from-loop
        self.assertGreater(made, 200)
        module.text()
        attempt(module.verify)
        for op in reversed(module.walk()):
            attempt(op.erase)

    def test_objects_that_were_never_initialized(self):
        for cls in (ir.Module, ir.Operation, ir.Block, ir.Region, ir.Value, ir.Type, ir.Attribute, tenon.Extension, _core.Extension, tenon.PassContext,
                    _core.Model, _core.Program, _core.Session, _core.Binding, tenon.Tensor, tenon.CancelToken, tenon.Diagnostic):
            thing = attempt(lambda: cls.__new__(cls))  # pylint: disable=cell-var-from-loop
            if thing is None:
                continue
            for name in dir(cls):
                if name in ("__class__", "__new__", "__init__"):
                    continue
                member = attempt(lambda: getattr(thing, name))  # pylint: disable=cell-var-from-loop
                if callable(member):
                    attempt(member)
            attempt(lambda: ir.Module(thing))  # pylint: disable=cell-var-from-loop
            attempt(lambda: tenon.load(TEXT.encode(), extension=thing))  # pylint: disable=cell-var-from-loop

    def test_arguments_that_change_the_module(self):
        # The conversion of one argument erases what another one refers to.
        def doomed():
            module = ir.parse(TEXT)
            add = module.walk()[2]
            new = add.insert_after("ten.neg", [add.results[0]])
            return module, add, new

        for use in (lambda m, add, new, evil: new.set_attribute("note", evil), lambda m, add, new, evil: new.set_attribute("note", [evil]),
                    lambda m, add, new, evil: new.set_attribute("note", {"a": evil}),
                    lambda m, add, new, evil: new.insert_after("ten.neg", new.results, {"a": evil}),
                    lambda m, add, new, evil: new.insert_after("ten.neg", new.results, {}, evil),
                    lambda m, add, new, evil: new.block.append("core.constant", [], {"value": evil}),
                    lambda m, add, new, evil: ops.add(new.results[0], evil, ip=ir.InsertionPoint(new)),
                    lambda m, add, new, evil: ops.concat([new.results[0], evil], axis=0, ip=ir.InsertionPoint(new)),
                    lambda m, add, new, evil: ops.softmax(new.results[0], axis=evil, ip=ir.InsertionPoint(new)),
                    lambda m, add, new, evil: ops.constant(value=evil, ip=ir.InsertionPoint(new)),
                    lambda m, add, new, evil: new.replace_with(evil), lambda m, add, new, evil: m.elements(evil)):
            for action in ("erase", "run", "collect", "raise"):
                module, add, new = doomed()

                def act():
                    if action == "raise":  # pylint: disable=cell-var-from-loop
                        boom()
                    elif action == "collect":  # pylint: disable=cell-var-from-loop
                        gc.collect()
                    elif action == "run":  # pylint: disable=cell-var-from-loop
                        module.run("canonicalize")  # pylint: disable=cell-var-from-loop
                    elif new.is_alive:  # pylint: disable=cell-var-from-loop
                        new.erase()  # pylint: disable=cell-var-from-loop

                attempt(lambda: use(module, add, new, Evil(act)))  # pylint: disable=cell-var-from-loop
                module.text()

    def test_random_builds(self):
        generator = random.Random(3)
        for _ in range(15):
            module = ir.Module()
            function = ir.function(module, x=X, c=ir.tensor("i1", ()))(lambda x, c: x)
            arguments = function.body.blocks[0].arguments
            for _ in range(50):
                handles = module.walk()
                op = generator.choice(handles)
                blocks = [block for each in handles for region in each.regions for block in region.blocks]
                pool = arguments + [value for each in handles for value in each.results] + [value for block in blocks for value in block.arguments]
                value, other = generator.choice(pool), generator.choice(pool)
                point = attempt(lambda: ir.InsertionPoint(generator.choice([op, generator.choice(blocks)])))
                action = generator.randrange(9)
                attempt([lambda: ops.add(value, other, ip=point), lambda: ops.concat([value, other], axis=0, ip=point),
                         lambda: ops.ctl.if_(value, result_types=[other.type], ip=point)[0].owner.then.add_block(),
                         lambda: ops.ctl.yield_([value], ip=point), op.erase, lambda: op.replace_with([value] * len(op.results)),
                         lambda: op.move_before(generator.choice(handles)), lambda: value.replace_uses(other),
                         lambda: op.set_operand(0, value)][action])
            module.text()
            attempt(module.verify)
            attempt(lambda: module.run("canonicalize,cse"))
            attempt(lambda: tenon.Model.from_module(module).compile(threads=1)(np.zeros((1, 4), np.float32), np.array(True)))
            str(function.is_alive and function)

    def test_passes_that_misbehave(self):
        def erase_all(root, context):
            for op in reversed(root.walk()):
                attempt(op.erase)

        def detach_types(root, context):
            for op in root.walk():
                attempt(lambda: op.set_attribute("function_type", "() -> ()"))  # pylint: disable=cell-var-from-loop
                attempt(lambda: op.set_attribute("sym_name", ""))  # pylint: disable=cell-var-from-loop
                attempt(lambda: op.set_attribute("axis", 99))  # pylint: disable=cell-var-from-loop

        def blocks(root, context):
            for op in root.walk():
                for region in op.regions:
                    region.add_block()

        def shuffles(root, context):
            handles = root.walk()
            for a, b in zip(handles, reversed(handles)):
                attempt(lambda: a.move_before(b))  # pylint: disable=cell-var-from-loop

        def recurses(root, context):
            context.run("hostile-recurses")

        def recurses_outside(root, context):
            ir.parse(TEXT).run("cse")
            tenon.run_pipeline(ir.parse(TEXT), "canonicalize")
            tenon.load(TEXT.encode()).optimize()

        def registers(root, context):
            tenon.register_pass("hostile-registers")(boom_pass)
            del context

        def collects(root, context):
            gc.collect()

        def threads(root, context):
            handles = root.walk()
            workers = [threading.Thread(target=lambda: [attempt(op.erase) for op in reversed(handles)]) for _ in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

        def deep(root, context):
            def down(n):
                return down(n + 1)

            down(0)

        def boom_pass(root, context):
            boom()

        def exits(root, context):
            raise SystemExit(3)

        def evil_error(root, context):
            class Error(Exception):
                def __str__(self):
                    boom()
                    return ""

            raise Error

        cases = [erase_all, detach_types, blocks, shuffles, recurses, recurses_outside, registers, collects, threads, deep, boom_pass, evil_error]
        for case in cases:
            for on in ("builtin.module", "func.func"):
                name = f"hostile-{case.__name__.replace('_', '-')}"
                tenon.register_pass(name, on=on)(case)
                with self.subTest(name, on=on):
                    module, model = ir.parse(TEXT), tenon.load(TEXT.encode())
                    before = model.text()
                    for use in (lambda: module.run(f"{name},canonicalize,cse"), lambda: model.optimize(pipeline=f"{name},O2"),
                                lambda: model.optimize(pipeline=f"{name},O1", threads=4)):
                        try:
                            use()
                        except tenon.Error:
                            continue
                    module.text()
                    if case in (boom_pass, deep, evil_error, recurses):
                        self.assertEqual(model.text(), before)
        tenon.register_pass("hostile-exits")(exits)
        with self.assertRaises(SystemExit):
            ir.parse(TEXT).run("hostile-exits")

    def test_kernels_and_shapes_that_misbehave(self):
        state = {}

        def reenter(*arrays, **attributes):
            run = state.get("run")
            if run is not None and state.setdefault("depth", 0) < 3:
                state["depth"] += 1
                run(np.ones((2, 4), np.float32))
            return arrays[0]

        def drop(*arrays, **attributes):
            state.clear()
            gc.collect()
            return arrays[0]

        def resize(*arrays, **attributes):
            attempt(lambda: arrays[0].resize((100, 100), refcheck=False))
            return arrays[0]

        def raise_deep(*arrays, **attributes):
            return raise_deep(*arrays)

        kernels = [reenter, drop, resize, raise_deep, boom, lambda x: x, lambda x: Evil(boom), lambda x: Evil(gc.collect), lambda x: (x,) * 3]
        kernels += [lambda x, odd=odd: odd for odd in ODD]
        for kernel in kernels:
            extension = tenon.Extension()
            made = extension.op("my.made(x: float) -> elementwise")
            made.kernel(kernel)
            model = program(lambda x: made(made(x)), extension)  # pylint: disable=cell-var-from-loop
            state["run"] = model.compile(threads=2)
            state["depth"] = 0
            del model, extension, made
            run = state["run"]
            attempt(lambda: run(np.ones((2, 4), np.float32)))  # pylint: disable=cell-var-from-loop
            session = attempt(run.session)
            attempt(lambda: session.run([np.ones((2, 4), np.float32)]))  # pylint: disable=cell-var-from-loop
        for answer in ODD + [[odd] for odd in ODD] + [("f32", odd) for odd in ODD] + [(odd, (2,)) for odd in ODD] + [("f32", (odd,)) for odd in ODD] + [
                Evil(boom), ("f32", (Evil(boom),)), ("f32", [Evil(gc.collect)]), (Evil(boom), ())]:
            extension = tenon.Extension()
            made = extension.op("my.made(x: float)", shape=lambda x, answer=answer: answer)
            made.kernel(lambda x: x)
            attempt(lambda: program(made, extension).compile(threads=1)(np.ones((2, 4), np.float32)))  # pylint: disable=cell-var-from-loop

        # A shape function that changes its mind.
        count = [0]

        def fickle(x):
            count[0] += 1
            return ("f32", (count[0], "B")) if count[0] % 2 else ("i64", ())

        extension = tenon.Extension()
        made = extension.op("my.fickle(x: float)", shape=fickle)
        made.kernel(lambda x: x)
        model = attempt(lambda: program(made, extension))
        attempt(lambda: model.optimize())
        attempt(lambda: model.compile(threads=1)(np.ones((2, 4), np.float32)))

    def test_endless_recursion(self):
        # Also where Python's own limit is none.
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(1000000)
        self.addCleanup(sys.setrecursionlimit, limit)
        extension = tenon.Extension()
        made = extension.op("my.made(x: float) -> elementwise")
        shaped = extension.op("my.shaped(x: float)", shape=lambda x: (program(shaped, extension), x)[1])
        box = []
        made.kernel(lambda x: box[0](x)[0])
        box.append(program(made, extension).compile(threads=1))
        x = np.ones((2, 4), np.float32)

        @tenon.register_pass("hostile-endless")
        def endless(root, context):
            tenon.load(TEXT.encode()).optimize(pipeline="hostile-endless")

        @tenon.register_pass("hostile-endless-inside")
        def inside(root, context):
            context.run("hostile-endless-inside")

        for use in (lambda: box[0](x), lambda: program(shaped, extension), lambda: ir.parse(TEXT).run("hostile-endless"),
                    lambda: ir.parse(TEXT).run("hostile-endless-inside")):
            for _ in range(2):  # the depth is that of the call alone
                with self.assertRaises(tenon.Error) as caught:
                    use()
                error = caught.exception  # long messages are shortened
                self.assertTrue(isinstance(error, tenon.ResourceExhausted) or "nested too deeply" in str(error), error)

    def test_everything_is_dropped_while_a_run_goes_on(self):
        entered, leave = threading.Event(), threading.Event()
        extension = tenon.Extension()
        made = extension.op("my.made(x: float) -> elementwise")

        @made.kernel
        def wait(x):
            entered.set()
            leave.wait(20)
            return x * 2

        box = [program(lambda x: ops.exp(made(x)), extension).compile(threads=2)]
        results = []
        threads = [threading.Thread(target=lambda run=box[0]: results.append(run(np.zeros((2, 4), np.float32))[0].sum())) for _ in range(3)]
        for thread in threads:
            thread.start()
        self.assertTrue(entered.wait(20))
        box.clear()
        del extension, made, wait
        gc.collect()
        leave.set()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [8, 8, 8])

    def test_a_model_is_dropped_while_it_is_optimized(self):
        entered, leave = threading.Event(), threading.Event()

        @tenon.register_pass("hostile-waits")
        def waits(root, context):
            entered.set()
            leave.wait(20)

        box = [tenon.load(TEXT.encode())]
        reports = []
        thread = threading.Thread(target=lambda model=box[0]: reports.append(model.optimize(pipeline="hostile-waits,O2")))
        thread.start()
        self.assertTrue(entered.wait(20))
        with self.assertRaises(tenon.FailedPrecondition):
            box[0].optimize()
        box[0].compile(threads=1)
        box.clear()
        tenon.register_pass("hostile-waits")(lambda root, context: None)
        del waits
        gc.collect()
        leave.set()
        thread.join()
        self.assertEqual(len(reports), 1)

    def test_threads_share_a_module(self):
        module = ir.Module()
        function = ir.function(module, x=X)(lambda x: x)
        block = function.body.blocks[0]
        x, ret = block.arguments[0], block.operations[0]

        def work(seed):
            generator = random.Random(seed)
            for _ in range(60):
                action = generator.randrange(4)
                if action == 0:
                    attempt(lambda: ops.exp(x, ip=ir.InsertionPoint(ret)))
                elif action == 1:
                    attempt(lambda: next(op for op in block.operations if op != ret).erase())
                elif action == 2:
                    attempt(module.walk)
                else:
                    attempt(module.text)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        module.verify()

    def test_insertion_points_are_misused(self):
        for odd in ODD:
            with self.assertRaises(TypeError):
                ir.InsertionPoint(odd)
        module = ir.Module()
        function = ir.function(module, x=X)(lambda x: x)
        point = ir.InsertionPoint(function.body.blocks[0])
        with point, point:
            pass
        attempt(lambda: point.__exit__(None, None, None))
        function.erase()
        attempt(lambda: point.place()[0].operations)
        with self.assertRaises(tenon.FailedPrecondition):
            ops.core.constant(value=1.0, ip=point)

    def test_objects_are_freed(self):
        # A model that is gone takes its kernels along.
        extension = tenon.Extension()
        made = extension.op("my.made(x: float) -> elementwise")

        class Kernel:
            def __call__(self, x):
                return x

        kernel = Kernel()
        dead = weakref.ref(kernel)
        made.kernel(kernel)
        run = program(lambda x: made(x), extension).compile(threads=1)
        del kernel, made, extension
        gc.collect()
        self.assertIsNotNone(dead())
        run(np.ones((1, 4), np.float32))
        del run
        gc.collect()
        self.assertIsNone(dead())


if __name__ == "__main__":
    unittest.main()
