#!/usr/bin/env python3
"""The limits of programs, each with what is just allowed: limits_test.py IR_OPT IR_RUN IR_BENCH."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

IR_OPT, IR_RUN, IR_BENCH = (os.path.abspath(path) for path in sys.argv[1:4])
PROGRAMS = {IR_OPT: [], IR_RUN: ["--runs=1"], IR_BENCH: ["--rounds=1", "--turn=1", "--time=1", "--warmup=1"]}

HEAD = """func.func() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main"}> ({
^bb0(%a: tensor<f32>):
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %n = core.constant() <{value = dense<COUNT> : tensor<i64>}> : () -> tensor<i64>
"""
TAIL = """
  func.return(%r) : (tensor<f32>) -> ()
}) : () -> ()
"""
FOR = """  %r = ctl.for(%zero, %n, %one, %a) ({
  ^bb0(%i: tensor<i64>, %x: tensor<f32>):
    BODY
    ctl.yield(%y) : (tensor<f32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>) -> tensor<f32>
"""
NEGATE = "%y = ten.neg(%x) : (tensor<f32>) -> tensor<f32>"
INNER = """%y = ctl.for(%zero, %n, %one, %x) ({
    ^bb0(%j: tensor<i64>, %w: tensor<f32>):
      %v = ten.neg(%w) : (tensor<f32>) -> tensor<f32>
      ctl.yield(%v) : (tensor<f32>) -> ()
    }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>) -> tensor<f32>"""
WHILE = """  %q:2 = ctl.while(%zero, %a) ({
  ^bb0(%k: tensor<i64>, %x: tensor<f32>):
    %c = ten.less(%k, %n) : (tensor<i64>, tensor<i64>) -> tensor<i1>
    ctl.condition(%c, %k, %x) : (tensor<i1>, tensor<i64>, tensor<f32>) -> ()
  }, {
  ^bb0(%k: tensor<i64>, %x: tensor<f32>):
    %next = ten.add(%k, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %y = ten.neg(%x) : (tensor<f32>) -> tensor<f32>
    ctl.yield(%next, %y) : (tensor<i64>, tensor<f32>) -> ()
  }) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>)
  %r = ten.neg(%q#1) : (tensor<f32>) -> tensor<f32>
"""
LOOPS = {"for": FOR.replace("BODY", NEGATE), "nested": FOR.replace("BODY", INNER), "while": WHILE}


def OnnxRelu(rank, made):
    """An ONNX file with a Relu of a tensor of that rank: an input, or what a reshape makes of one number."""
    def integer(number):
        out = b""
        while number > 127:
            out += bytes([number & 127 | 128])
            number >>= 7
        return out + bytes([number])
    def field(number, content):
        return integer(number << 3 | 2) + integer(len(content)) + content if isinstance(content, bytes) else integer(number << 3) + integer(content)
    def value(name, axes):
        dims = b"".join(field(1, field(1, 1)) for _ in range(axes))
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))
    def node(op, inputs, output):
        return field(1, b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, b"node" + op) + field(4, op))
    graph = field(2, b"g") + field(11, value(b"x", 1 if made else rank))
    if made:
        graph += field(5, field(1, rank) + field(2, 7) + field(8, b"s") + field(9, (1).to_bytes(8, "little") * rank))
        graph += node(b"Reshape", [b"x", b"s"], b"z")
    graph += node(b"Relu", [b"z" if made else b"x"], b"y") + field(12, field(1, b"y") + field(2, field(1, field(1, 1))))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


class Limits(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *arguments, **more):
        result = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, timeout=100,
                                errors="replace", check=False, **more)
        self.assertGreaterEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("nothing expected", result.stderr)
        return result

    def write(self, text):
        path = self.folder / "program.mlir"
        path.write_text(text)
        return path

    def refused(self, result, *texts):
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def accepted(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_iterations(self):
        for name, loop in LOOPS.items():
            path = self.write((HEAD + loop + TAIL).replace("COUNT", "7"))
            self.accepted(self.run_program(IR_RUN, path))
            trips = 7 + 7 * 7 if name == "nested" else 7
            self.accepted(self.run_program(IR_RUN, f"--max-trips={trips}", path))
            self.refused(self.run_program(IR_RUN, f"--max-trips={trips - 1}", path), "program.mlir:", f"at most {trips - 1} iterations")
            self.refused(self.run_program(IR_RUN, "--max-trips=6", path), "program.mlir:", "at most 6 iterations")
            self.refused(self.run_program(IR_RUN, "--max-trips=6", "-O0", path), f"the loop {'goes on after 6 times' if name == 'while' else 'runs 7 times'}")
            self.accepted(self.run_program(IR_RUN, "--max-trips=0", path))
            self.accepted(self.run_program(IR_BENCH, f"--max-trips={trips}", path, *PROGRAMS[IR_BENCH]))
            self.refused(self.run_program(IR_BENCH, "--max-trips=6", path, *PROGRAMS[IR_BENCH]), "program.mlir:", "at most 6 iterations")
            unused = "  %unused = ten.neg(%a) : (tensor<f32>) -> tensor<f32>\n"  # for a pass to change something
            path = self.write((HEAD + unused + loop + TAIL).replace("COUNT", "7"))
            result = self.run_program(IR_OPT, "--max-trips=6", path, "-O1", "--verify-semantics")
            self.assertIn("at most 6 iterations", result.stderr)
            path = self.write((HEAD + loop + TAIL).replace("COUNT", "1000000" if name == "nested" else "9223372036854775807"))
            self.refused(self.run_program(IR_RUN, path), "at most 1000000 iterations")
        for program in PROGRAMS:
            self.refused(self.run_program(program, "--max-trips=-1", path), "--max-trips is '-1'")

    def test_streams(self):
        text = (HEAD + LOOPS["for"] + TAIL).replace("COUNT", "7")
        for program, quick in PROGRAMS.items():
            self.accepted(self.run_program(program, f"--max-input={len(text)}", "-", *quick, input=text))
            self.refused(self.run_program(program, f"--max-input={len(text) - 1}", "-", *quick, input=text),
                         f"has more than {len(text) - 1} bytes")
            self.refused(self.run_program(program, "--max-input=1M", "/dev/zero", *quick), "/dev/zero: the input has more than 1048576")
            self.accepted(self.run_program(program, "--max-input=1", self.write(text), *quick))
        for wrong in ("0", "-1", "x", "1X", "99999999999999999999", "9999999T", "M"):
            self.refused(self.run_program(IR_OPT, f"--max-input={wrong}", "-"), f"--max-input is '{wrong}'")

    def test_streams_of_inputs(self):
        """The files beside a program as well."""
        unused = "  %unused = ten.neg(%a) : (tensor<f32>) -> tensor<f32>\n"
        path = self.write((HEAD + unused + LOOPS["for"] + TAIL).replace("COUNT", "7"))
        for ending in ("npy", "pb"):
            folder = self.folder / ending
            folder.mkdir()
            (folder / f"input_0.{ending}").symlink_to("/dev/zero")
            lines = [(IR_RUN, f"--input=arg0={folder}/input_0.{ending}"), (IR_BENCH, f"--inputs={folder}"),
                     (IR_OPT, "-O1", "--verify-semantics", f"--inputs={folder}")]
            if ending == "pb":
                lines.append((IR_RUN, f"--check={folder}"))
            for program, *line in lines:
                with self.subTest(program=program, line=line):
                    result = self.run_program(program, path, "--max-input=1M", *line)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn(f"input_0.{ending}: the input has more than 1048576", result.stderr)

    def test_nesting(self):
        text = (HEAD + LOOPS["nested"] + TAIL).replace("COUNT", "7")
        for program, quick in PROGRAMS.items():
            self.accepted(self.run_program(program, "--max-nesting=4", self.write(text), *quick))
            self.refused(self.run_program(program, "--max-nesting=2", self.write(text), *quick),
                         "program.mlir:1:", "nested deeper than 2 levels", "--max-nesting")
            self.refused(self.run_program(program, "--max-nesting=257", "-"), "--max-nesting is '257'")
        deep = "core.x() {a = " + "[" * 200 + "]" * 200 + "} : () -> ()\n"
        self.accepted(self.run_program(IR_OPT, "--allow-unregistered-dialect", "-", input=deep.replace("core", "acme")))
        self.refused(self.run_program(IR_OPT, "--allow-unregistered-dialect", "--max-nesting=100", "-",
                                      input=deep.replace("core", "acme")), "nested deeper than 100 levels")
        model = pathlib.Path(__file__).parents[1] / "models/squeezenet_bn.eager.ts13/model.onnx"
        self.accepted(self.run_program(IR_OPT, "--max-nesting=20", model))
        self.refused(self.run_program(IR_OPT, "--max-nesting=2", model), "model.onnx", "messages are nested more than 2 deep", "--max-nesting")

    def test_ranks(self):
        """One limit for ONNX files, for text, for what operations make, and for rules."""
        path = self.folder / "model.onnx"
        for rank in (256, 257, 300, 1100):
            for made in (False, True):
                path.write_bytes(OnnxRelu(rank, made))
                text = self.folder / "model.mlir"
                result = self.run_program(IR_OPT, path, "-o", text)
                if rank <= 256:
                    self.accepted(result)
                    self.accepted(self.run_program(IR_OPT, text))
                    continue
                self.refused(result, "node" if made else "x", f"{rank} dimensions (expected at most 256)")
                self.refused(self.run_program(IR_RUN, path), f"{rank} dimensions (expected at most 256)")

    def test_a_fifo_with_a_late_writer_and_without_one(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        text = (HEAD + LOOPS["for"] + TAIL).replace("COUNT", "7")
        writer = threading.Timer(0.5, lambda: fifo.write_text(text))
        writer.start()
        self.accepted(self.run_program(IR_OPT, fifo))
        writer.join()
        self.refused(self.run_program(IR_OPT, fifo), "fifo")

    def test_a_fifo_that_is_written(self):
        fifo = self.folder / "fifo.json"
        os.mkfifo(fifo)
        path = self.write((HEAD + LOOPS["for"] + TAIL).replace("COUNT", "7"))
        for line in ((IR_OPT, path, "-o", fifo), (IR_OPT, path, "-O1", f"--fusion-report={fifo}"),
                     (IR_RUN, path, "--runs=1", f"--json={fifo}"), (IR_RUN, path, "--runs=1", f"--profile={fifo}")):
            if "-o" in line:
                fifo.rename(self.folder / "fifo")
                line = (*line[:-1], self.folder / "fifo")
            self.refused(self.run_program(*line), "nobody reads from it")
            if "-o" in line:
                (self.folder / "fifo").rename(fifo)
        texts = []
        reader = threading.Timer(0.5, lambda: texts.append(fifo.read_text()))
        reader.start()
        self.accepted(self.run_program(IR_RUN, path, "--runs=1", f"--json={fifo}"))
        reader.join()
        self.assertIn("{", texts[0])

    def test_steps_of_folds(self):
        """A product of constants that would take long is left to run time, and a remark says so."""
        big = "tensor<3000x3000xf32>"
        text = ("func.func() <{function_type = () -> tensor<f32>, sym_name = \"main\"}> ({\n"
                f"  %a = core.constant() <{{value = dense<1.0> : {big}}}> : () -> {big}\n"
                f"  %b = ten.matmul(%a, %a) : ({big}, {big}) -> {big}\n"
                f"  %c = ten.reduce_sum(%b) <{{axes = array<i64: 0, 1>, keepdims = false}}> : ({big}) -> tensor<f32>\n"
                "  func.return(%c) : (tensor<f32>) -> ()\n}) : () -> ()\n")
        result = self.run_program(IR_OPT, "--constant-fold=max-bytes=100000000", self.write(text))
        self.accepted(result)
        self.assertEqual(result.stdout.count("ten.matmul"), 1)
        self.assertEqual(result.stderr.count("remark: ten.matmul is not evaluated while compiling: it takes 5.4e+10 steps"), 1)

    def test_wide_programs(self):
        """Memory grows with the number of operands, not with its square."""
        count = 8000
        lines = [f"  %v{i} = ten.leaky_relu(%a) <{{alpha = {i / count + 0.5:e} : f32}}> : (tensor<1xf32>) -> tensor<1xf32>" for i in range(count)]
        text = ("func.func() <{function_type = (tensor<1xf32>) -> tensor<f32>, sym_name = \"main\"}> ({\n^bb0(%a: tensor<1xf32>):\n"
                + "\n".join(lines) + "\n  %c = ten.concat(" + ", ".join(f"%v{i}" for i in range(count)) + ") <{axis = 0 : i64}> : ("
                + ", ".join(["tensor<1xf32>"] * count) + f") -> tensor<{count}xf32>\n"
                f"  %r = ten.reduce_sum(%c) <{{axes = array<i64: 0>, keepdims = false}}> : (tensor<{count}xf32>) -> tensor<f32>\n"
                "  func.return(%r) : (tensor<f32>) -> ()\n}) : () -> ()\n")
        path = self.write(text)
        self.accepted(self.run_program(IR_OPT, "--max-memory=300M", path, "-O2", "--lower", "-o", "/dev/null"))
        self.accepted(self.run_program(IR_RUN, "--max-memory=300M", path, "-O2", "--runs=1", "--threads=1"))

    def test_memory(self):
        add = """func.func() <{function_type = (tensor<30000000xf32>) -> tensor<30000000xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<30000000xf32>):
  %r = ten.exp(%a) : (tensor<30000000xf32>) -> tensor<30000000xf32>
  func.return(%r) : (tensor<30000000xf32>) -> ()
}) : () -> ()
"""
        path = self.write(add)
        self.refused(self.run_program(IR_RUN, "--max-memory=100M", path), "memory")
        self.refused(self.run_program(IR_RUN, "--max-memory=200M", path), "output 'result0': 120000000 bytes of memory")
        self.accepted(self.run_program(IR_RUN, "--max-memory=4G", path))

    def test_messages(self):
        result = self.run_program(IR_OPT, self.write("func.func() ({\n  acme." + "a" * 5_000_000 + "() : () -> ()\n}) : () -> ()\n"))
        self.refused(result)
        self.assertLess(len(result.stderr), 20_000)
        for program, quick in PROGRAMS.items():
            for most in (256, 1000):
                result = self.run_program(program, f"--max-message={most}", self.folder / "program.mlir", *quick)
                self.refused(result)
                self.assertLess(max(len(line) for line in result.stderr.splitlines()), most + 200)
            self.refused(self.run_program(program, "--max-message=255", "-"), "--max-message is '255' (expected at least 256 bytes)")
        result = self.run_program(IR_RUN, "--max-message=300", "--" + "x" * 5000)
        self.assertLess(len(result.stderr), 6000)

    def test_memory_of_every_program(self):
        path = self.write((HEAD + LOOPS["for"] + TAIL).replace("COUNT", "7"))
        for program, quick in PROGRAMS.items():
            self.refused(self.run_program(program, "--max-memory=x", path, *quick), "--max-memory is 'x'")
            self.accepted(self.run_program(program, "--max-memory=4G", path, *quick))

            self.refused(self.run_program(program, "--max-memory=31M", path, *quick), "expected at least 33554432 bytes")

        # Enough for some of what a model needs, but not for all of it.
        weights = "core.constant() <{value = dense<\"0x" + "3F800000" * 1_000_000 + "\"> : tensor<1000000xf32>}> : () -> tensor<1000000xf32>"
        heavy = self.write("func.func() <{function_type = (tensor<1000000xf32>) -> tensor<1000000xf32>, sym_name = \"main\"}> ({\n"
                           "^bb0(%a: tensor<1000000xf32>):\n  %w = " + weights + "\n"
                           "  %r = ten.add(%a, %w) : (tensor<1000000xf32>, tensor<1000000xf32>) -> tensor<1000000xf32>\n"
                           "  func.return(%r) : (tensor<1000000xf32>) -> ()\n}) : () -> ()\n")
        model = pathlib.Path(__file__).parents[1] / "models/vit.eager.ts17/model.onnx"
        for program, quick in PROGRAMS.items():
            for megabytes in range(32, 96, 4):
                for path in (heavy, model):
                    result = self.run_program(program, f"--max-memory={megabytes}M", path, *quick)
                    self.assertIn(result.returncode, (0, 2), result.stderr)
                    if result.returncode != 0:
                        self.refused(result, "memory")

        large = "//" + "x" * 80_000_000
        for program, quick in PROGRAMS.items():
            self.refused(self.run_program(program, "--max-memory=60M", "-", *quick, input=large), "standard input", "memory")

    def test_limits_are_documented(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/security.md").read_text()
        for program in PROGRAMS:
            text = self.run_program(program, "--help=all").stdout
            options = set(part.split("=")[0] for part in text.split() if part.startswith("--max-"))
            self.assertEqual(len(options), 5)
            for option in options:
                self.assertIn(f"`{option}=", page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
