"""Running programs: arrays in and out, sessions, bindings, threads, cancellation."""

import asyncio
import gc
import sys
import tempfile
import threading
import time
import unittest
import weakref

import numpy as np

import small_models
import tenon

try:
    import torch
except ImportError:
    torch = None

NUMPY_TYPES = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8,
               "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64, "f16": np.float16, "f32": np.float32,
               "f64": np.float64}


class OnlyDlpack:
    """An array that has DLPack and no buffer. `old`: from before DLPack 1.0."""

    def __init__(self, array, old=False):
        self.array = array
        self.old = old
        self.asked = []

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **more):
        if self.old and more:
            raise TypeError("an unexpected argument")
        self.asked.append(more)
        return tenon.Tensor(self.array).__dlpack__(**more)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.linear = small_models.program(small_models.LINEAR)
        cls.two = small_models.program(small_models.TWO_INPUTS)

    def test_specs(self):
        self.assertEqual(self.linear.inputs, (tenon.TensorSpec("x", "float32", ("batch", 2)),))
        self.assertEqual(self.two.outputs[1].name, "product")
        self.assertEqual(repr(self.linear), "<tenon.Program (x: float32[batch, 2]) -> (y: float32[batch, 3])>")

    def test_call(self):
        a, b = np.full((2, 3), 2, np.float32), np.full((2, 3), 5, np.float32)
        for outputs in (self.two(a, b), self.two(a, b=b), self.two(a=a, b=b), self.two.run([a, b]),
                        self.two.run({"b": b, "a": a}), self.two.session().run((a, b))):
            self.assertEqual(len(outputs), 2)
            self.assertTrue((outputs["sum"] == 7).all())
            self.assertTrue((outputs[1] == 10).all())
            self.assertEqual(list(outputs.asdict()), ["sum", "product"])
            with self.assertRaises(KeyError):
                outputs["quotient"]

    def test_results_outlive_everything(self):
        program = small_models.program(small_models.LINEAR)
        y, = program(np.ones((2, 2), np.float32))
        del program
        gc.collect()
        y += 1
        self.assertEqual(y.tolist(), [[2, 2, 1]] * 2)

    def test_all_types(self):
        for name, dtype in NUMPY_TYPES.items():
            with self.subTest(name):
                program = small_models.program(small_models.SAME.format(name))
                x = np.arange(6).reshape(2, 3).astype(dtype)
                y, = program(x)
                self.assertEqual(y.dtype, dtype)
                np.testing.assert_array_equal(y, x)

    def test_layouts(self):
        x = np.arange(24, dtype=np.float32).reshape(4, 6)
        unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 6)
        read_only = x.copy()
        read_only.flags.writeable = False
        program = small_models.program(small_models.SAME.format("f32"))
        for array in (x, x.T, x[::-1], x[:, ::-1], x[::2, 1::2], np.asfortranarray(x), np.broadcast_to(x[0], (3, 6)),
                      unaligned, read_only, x[:0], x[:, :0]):
            y, = program(array)
            np.testing.assert_array_equal(y, array)

    def test_inputs_are_not_copied(self):
        x = np.ones((2, 2), np.float32)
        binding = self.linear.binding()
        binding.bind_input("x", x)
        session = self.linear.session()
        session.run(binding)
        x[:] = 3
        session.run(binding)
        self.assertEqual(binding.output("y")[0].tolist(), [3, 3, 0])

    def test_booleans_are_zero_or_one(self):
        program = small_models.program(small_models.SAME.format("i1"))
        y, = program(np.array([[2, 0, 255]], np.uint8).view(np.bool_))
        self.assertEqual(y.view(np.uint8).tolist(), [[1, 0, 1]])

    def test_lists_and_numbers(self):
        self.assertEqual(self.linear([[1, 2]])[0].tolist(), [[1, 2, 1]])
        self.assertEqual(self.linear(memoryview(np.ones((1, 2), np.float32)))[0].shape, (1, 3))

    def test_wrong_inputs(self):
        x = np.ones((2, 2), np.float32)
        type_errors = [(), (x, x), (object(),), (None,), ("text",), (np.array([[object()]]),), ([[1, "a"]],),
                       ([[1], [1, 2]],), (np.array([["a"]]),), ({"x": x},), (lambda: 0,), ([[1j]],)]
        for args in type_errors:
            with self.subTest(args), self.assertRaises((TypeError, tenon.InvalidArgument)):
                self.linear(*args)
        for kwargs in ({"z": x}, {"x": None}, {"x": x, "y": x}):
            with self.assertRaises(TypeError):
                self.linear(**kwargs)
        with self.assertRaises(TypeError):
            self.linear(x, x=x)
        for wrong in (x.astype(np.float64), x.astype(np.int32), x[0], x[:, :1], x[None], np.float32(1),
                      x.astype(">f4"), x.astype(np.complex64), np.zeros(2, [("a", "f4")]),
                      np.array(["2020-01-01"], "datetime64[D]"), x.astype(np.longdouble)):
            with self.subTest(wrong.dtype), self.assertRaises((tenon.InvalidArgument, TypeError)):
                self.linear(wrong)
        with self.assertRaises(tenon.InvalidArgument) as caught:
            self.two(np.ones((2, 3), np.float32), np.ones((2, 4), np.float32))
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
        for inputs in (x, 3, "x", None):
            with self.assertRaises(TypeError):
                self.linear.run(inputs)
        with self.assertRaises(ValueError):
            self.linear.run([x], results="jax")
        with self.assertRaises(TypeError):
            self.linear.run([x], cancel=3)
        with self.assertRaises(TypeError):
            self.linear._handle.call([x], {})
        self.assertEqual(self.linear(x)[0].shape, (2, 3))

    def test_objects_that_lie(self):
        class Raises:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self):
                raise RuntimeError("not today")

        class NoCapsule(Raises):
            def __dlpack__(self):
                return 3

        class OtherDevice(Raises):
            def __dlpack_device__(self):
                return (2, 0)

        class OddDevice(Raises):
            def __dlpack_device__(self):
                return "gpu"

        class Array:
            def __array__(self, dtype=None, copy=None):
                return np.ones((1, 2), np.float32)

        self.assertEqual(self.linear(Array())[0].shape, (1, 3))
        for value, error in ((Raises(), RuntimeError), (NoCapsule(), Exception), (OtherDevice(), tenon.InvalidArgument),
                             (OddDevice(), Exception)):
            with self.assertRaises(error):
                self.linear(value)
        with self.assertRaises(Exception):
            self.linear(tenon.Tensor.__new__(tenon.Tensor))

    def test_tensor(self):
        tensor = tenon.Tensor(np.ones((2, 3), np.int16))
        self.assertEqual((tensor.shape, tensor.dtype, tensor.nbytes, len(tensor)), ((2, 3), "int16", 12, 2))
        self.assertEqual(np.asarray(tensor).tolist(), [[1] * 3] * 2)
        self.assertEqual(memoryview(tensor).shape, (2, 3))
        np.testing.assert_array_equal(np.from_dlpack(tensor), np.ones((2, 3), np.int16))
        tensor.__dlpack__()  # nobody consumes it
        self.assertEqual(tenon.Tensor([1, 2], dtype="float16").tobytes(), np.array([1, 2], np.float16).tobytes())
        for wrong in (None, "x", object()):
            with self.assertRaises(TypeError):
                tenon.Tensor(wrong)
        with self.assertRaises(tenon.InvalidArgument):
            tenon.Tensor([1], dtype="float12")
        with self.assertRaises(TypeError):
            len(tenon.Tensor(1, dtype="float32"))

    def test_dlpack_inputs(self):
        for name in ("i1", "i8", "ui64", "f16", "f32", "f64"):
            program = small_models.program(small_models.SAME.format(name))
            x = np.arange(6).reshape(2, 3).astype(NUMPY_TYPES[name])
            for array in (x, x[:0], read_only(x)):
                for old in (False, True) if array.flags.writeable else (False,):
                    with self.subTest(name, shape=array.shape, old=old):
                        y, = program(OnlyDlpack(array, old))
                        self.assertEqual(y.dtype, x.dtype)
                        np.testing.assert_array_equal(y, array)
        with self.assertRaises(TypeError):  # a form without the mark of read-only memory
            self.linear(OnlyDlpack(read_only(np.ones((2, 2), np.float32)), old=True))

    def test_dlpack_shares_memory(self):
        x, y = np.ones((2, 2), np.float32), np.zeros((2, 3), np.float32)
        for old in (False, True):
            binding, session = self.linear.binding(), self.linear.session()
            binding.bind_input("x", OnlyDlpack(x, old))
            binding.bind_output("y", OnlyDlpack(y, old))
            x[:] = 3 + old
            session.run(binding)
            self.assertEqual(y[0].tolist(), [3 + old, 3 + old, 0])
        with self.assertRaisesRegex(tenon.InvalidArgument, "read-only"):
            binding.bind_output("y", OnlyDlpack(read_only(y)))

    def test_dlpack_of_tensors(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        tensor = tenon.Tensor(x)
        self.assertIn('"dltensor"', repr(tensor.__dlpack__()))
        self.assertIn('"dltensor"', repr(tensor.__dlpack__(max_version=(0, 8))))
        self.assertIn('"dltensor_versioned"', repr(tensor.__dlpack__(max_version=(1, 1), stream=None, dl_device=(1, 0))))
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        again = tenon.Tensor(OnlyDlpack(x))
        np.asarray(again)[0, 0] = 42
        self.assertEqual(x[0, 0], 42)
        for wrong, error in (({"dl_device": (2, 0)}, BufferError), ({"max_version": 1}, TypeError), ({"what": 1}, TypeError),
                             ({"copy": "no way"}, TypeError)):
            with self.subTest(wrong), self.assertRaises(error):
                tensor.__dlpack__(**wrong)

        class Copied(OnlyDlpack):
            def __dlpack__(self, **more):
                return super().__dlpack__(copy=True, **more)

        np.asarray(tenon.Tensor(Copied(x)))[0, 0] = 7
        self.assertEqual(x[0, 0], 42)

    def test_read_only_memory(self):
        """Memory that may not be written stays so: a write to mapped pages would end the process."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(np.arange(6, dtype=np.float32).tobytes())
            file.flush()
            mapped = np.memmap(file.name, np.float32, "r", shape=(2, 3))
            content = bytes(24)
            for array in (mapped, read_only(np.ones((2, 3), np.float32)), np.frombuffer(content, np.float32).reshape(2, 3)):
                tensor = tenon.Tensor(array)
                self.assertTrue(tensor.read_only)
                self.assertFalse(np.asarray(tensor).flags.writeable)
                self.assertTrue(memoryview(tensor).readonly)
                with self.assertRaises(ValueError):
                    np.asarray(tensor)[0, 0] = 1
                with self.assertRaises(BufferError):
                    tensor.__dlpack__()
                self.assertTrue(tenon.Tensor(tensor).read_only)
                self.assertTrue(tenon.Tensor(OnlyDlpack(array)).read_only)
                for output in (array, tensor, OnlyDlpack(array)):
                    with self.assertRaisesRegex(tenon.InvalidArgument, "read-only"):
                        self.linear.binding().bind_output("y", output)
                program = small_models.program(small_models.SAME.format("f32"))
                np.testing.assert_array_equal(program(tensor)[0], array)
            self.assertFalse(tenon.Tensor(np.ones(2, np.float32)).read_only)
            self.assertFalse(tenon.Tensor(read_only(np.ones((4, 4), np.float32))[::2]).read_only)  # a copy

    def test_memory_is_released(self):
        array = np.ones((4, 2), np.float32)
        gone = weakref.ref(array)
        count = sys.getrefcount(array)
        for _ in range(10):
            self.linear(array)
        self.assertEqual(sys.getrefcount(array), count)
        binding = self.linear.binding()
        binding.bind_input(0, array)
        del array
        self.assertIsNotNone(gone())
        del binding
        gc.collect()
        self.assertIsNone(gone())

    def test_binding(self):
        x, y = np.ones((2, 2), np.float32), np.zeros((2, 3), np.float32)
        binding, session = self.linear.binding(), self.linear.session()
        with self.assertRaises(tenon.FailedPrecondition):
            binding.output("y")
        with self.assertRaises(tenon.Error):
            session.run(binding)
        binding.bind_input("x", x)
        binding.bind_output("y", y)
        self.assertIsNone(session.run(binding))
        self.assertEqual(y[0].tolist(), [1, 1, 0])
        for port in ("z", 7, -1):
            with self.assertRaises(tenon.NotFound):
                binding.bind_input(port, x)
            with self.assertRaises(tenon.NotFound):
                binding.output(port)
        for port in (None, 1.5, [], 1 << 80):
            with self.assertRaises((TypeError, tenon.NotFound)):
                binding.bind_input(port, x)
        read_only = np.zeros((2, 3), np.float32)
        read_only.flags.writeable = False
        for wrong in (read_only, np.zeros((3, 2), np.float32).T, np.zeros((2, 6), np.float32)[:, ::2], [[0] * 3] * 2,
                      np.zeros((2, 3), np.float64), bytes(24)):
            with self.subTest(wrong), self.assertRaises(tenon.InvalidArgument):
                binding.bind_output("y", wrong)
        binding.bind_output("y", x)  # overlaps, and has the wrong shape: the run refuses it
        with self.assertRaises(tenon.InvalidArgument):
            session.run(binding)
        binding.bind_output("y")
        session.run(binding)
        first = binding.output("y")
        x *= 2
        session.run(binding)
        self.assertEqual(first[0].tolist(), [1, 1, 0])
        self.assertEqual(binding.output("y")[0].tolist(), [2, 2, 0])
        with self.assertRaises(tenon.InvalidArgument):
            self.two.session().run(binding)
        self.assertGreater(session.stats["shapes_prepared"], 0)

    def test_threads(self):
        failures = []
        session, binding = self.linear.session(), self.linear.binding()
        binding.bind_input("x", np.ones((2, 2), np.float32))

        def work(rows):
            x = np.full((rows, 2), rows, np.float32)
            for _ in range(200):
                try:
                    if not (self.linear(x)[0][:, 0] == rows).all():
                        failures.append(rows)
                    session.run([x])
                    session.run(binding)
                except tenon.FailedPrecondition:
                    pass
                except Exception as error:
                    failures.append(error)

        threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_cancel(self):
        token = tenon.CancelToken()
        token.cancel()
        self.assertTrue(token.cancelled)
        with self.assertRaises(tenon.Cancelled):
            self.linear.run([np.ones((2, 2), np.float32)], cancel=token)
        token.reset()
        self.linear.run([np.ones((2, 2), np.float32)], cancel=token)

    def test_lock_is_released(self):
        bert = tenon.load(small_models.model_file("bert.eager.ts17")).compile(threads=1)
        self.assertGreater(len(bert.inputs), 0)
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.0005)

        big = small_models.program(small_models.TWO_INPUTS)
        x = np.ones((2000, 2000), np.float32)
        thread = threading.Thread(target=tick)
        thread.start()
        for _ in range(20):
            big(x, x)
        stop.set()
        thread.join()
        self.assertGreater(len(ticks), 5)

    def test_async(self):
        x = np.ones((2, 2), np.float32)

        async def main():
            outputs = await asyncio.gather(*(self.linear.run_async([x]) for _ in range(5)))
            self.assertEqual(len(outputs), 5)
            with self.assertRaises(tenon.InvalidArgument):
                await self.linear.run_async([x[0]])
            task = asyncio.create_task(self.linear.run_async([x]))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return outputs[0]["y"]

        self.assertEqual(asyncio.run(main()).shape, (2, 3))

    def test_parameters(self):
        text = small_models.LINEAR.encode()
        program = tenon.load(text).compile(threads=1)
        self.assertEqual(program.parameters, ())
        with self.assertRaises(tenon.NotFound):
            program.replace_parameters({"w": np.ones((2, 3), np.float32)})
        with self.assertRaises(tenon.NotFound):
            program.parameter("w")

    @unittest.skipIf(torch is None, "needs PyTorch")
    def test_torch(self):
        x = torch.ones(2, 2)
        self.assertEqual(self.linear(x)[0][0].tolist(), [1, 1, 0])
        self.assertEqual(self.linear(x.t()[::1])[0].shape, (2, 3))
        y, = self.linear.run([x], results="torch")
        self.assertIsInstance(y, torch.Tensor)
        tensor, = self.linear.run([x], results="tensor")
        shared = torch.utils.dlpack.from_dlpack(tensor)
        shared[0, 0] = 42
        self.assertEqual(np.asarray(tensor)[0, 0], 42)
        with self.assertRaises(Exception):
            self.linear(torch.ones(2, 2, requires_grad=True))
        with self.assertRaises(tenon.InvalidArgument):
            self.linear(torch.ones(2, 2, dtype=torch.complex64))
        same = small_models.program(small_models.SAME.format("bf16"))
        half = torch.arange(6).reshape(2, 3).to(torch.bfloat16)
        z, = same.run([half], results="torch")
        self.assertTrue(torch.equal(z, half))
        self.assertIsInstance(same(half)[0], tenon.Tensor)
        y = torch.zeros(2, 3)
        binding = self.linear.binding()
        binding.bind_input("x", x)
        binding.bind_output("y", y)
        self.linear.session().run(binding)
        self.assertEqual(y[0].tolist(), [1, 1, 0])


if __name__ == "__main__":
    unittest.main()
