#!/usr/bin/env python3
"""Tests what check_device_code reads from the assembler's output; needs no compiler."""

import importlib.machinery
import importlib.util
import pathlib
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


class ParseTest(unittest.TestCase):
    def test_reads_registers_spills_and_shared_memory(self):
        self.assertEqual(list(check.parse(OUTPUT)),
                         [("_Z1aPf", "sm_90", 40, 0, 128), ("_Z1bPf", "sm_90", 255, 100, 0)])

    def test_finds_what_is_too_much(self):
        self.assertEqual(list(check.problems_of(40, 0, 128)), [])
        self.assertEqual(len(list(check.problems_of(255, 100, 50000))), 3)


if __name__ == "__main__":
    unittest.main()
