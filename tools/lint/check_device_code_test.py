#!/usr/bin/env python3
"""Tests what check_device_code reads from the assembler's output; needs no compiler."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent / "check_device_code")
LOADER = importlib.machinery.SourceFileLoader("check_device_code", PATH)
SPEC = importlib.util.spec_from_loader("check_device_code", LOADER)
check = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(check)

OUTPUT = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'
ptxas info    : Function properties for _Z1aPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 128 bytes smem, 848 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90'
ptxas info    : Function properties for _Z1bPf
    80 bytes stack frame, 60 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
"""


LOG = """[1/3] Building CXX object CMakeFiles/tenon_cuda.dir/Unity/unity_0_cxx.cxx.o
note: not of a kernel
[2/3] Building CUDA object CMakeFiles/tenon_cuda.dir/kernels/gpu/device/a.cu.o
""" + OUTPUT.replace("'sm_90'", "'sm_80'", 1) + """[3/3] Linking CXX shared module lib/libtenon_cuda.so
warning of the linker
"""


class LogTest(unittest.TestCase):
    def test_reads_what_was_printed_for_each_source(self):
        outputs = check.outputs_in(LOG)
        self.assertEqual(list(outputs), ["a.cu"])
        self.assertEqual([row[:2] for row in check.parse(outputs["a.cu"])], [("_Z1aPf", "sm_80"), ("_Z1bPf", "sm_90")])

    def run_on(self, *arguments):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
            file.write(LOG)
            file.flush()
            return subprocess.run([sys.executable, "-B", PATH, "--log", file.name, *arguments], capture_output=True, text=True)

    def test_findings_are_told_by_architecture(self):
        done = self.run_on("--arch", "sm_80", "a.cu")
        self.assertEqual((done.returncode, done.stdout), (0, "check_device_code: 1 kernels, 0 findings\n"))
        done = self.run_on("--arch", "sm_90", "a.cu")
        self.assertEqual(done.returncode, 1)
        self.assertIn("for sm_90: spills 100 bytes of registers\n", done.stdout)

    def test_a_file_that_was_not_built_is_a_finding(self):
        for arguments in (("--arch", "sm_100", "a.cu"), ("--arch", "sm_90", "b.cu")):
            done = self.run_on(*arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn("expected the log of a build from nothing", done.stdout)


class ParseTest(unittest.TestCase):
    def test_reads_registers_spills_and_shared_memory(self):
        self.assertEqual(list(check.parse(OUTPUT)),
                         [("_Z1aPf", "sm_90", 40, 0, 128), ("_Z1bPf", "sm_90", 255, 100, 0)])

    def test_finds_what_is_too_much(self):
        self.assertEqual(list(check.problems_of(40, 0, 128)), [])
        self.assertEqual(len(list(check.problems_of(255, 100, 50000))), 3)


if __name__ == "__main__":
    unittest.main()
