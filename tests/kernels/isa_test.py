#!/usr/bin/env python3
"""Runs the tests of kernels with fewer instructions than the CPU has.

  isa_test.py TENON_KERNELS_TEST LEVEL

Exit status 77, which CTest counts as skipped, where the CPU lacks the level.
"""

import os
import subprocess
import sys

TESTS = "*KernelVsReferenceTest*:GemmTest*:VectorOps*"


def main():
    program, level = sys.argv[1:]
    result = subprocess.run([program, f"--gtest_filter={TESTS}", "--gtest_brief=1"], env={**os.environ, "TENON_ISA": level},
                            stderr=subprocess.PIPE, text=True, check=False)
    sys.stderr.write(result.stderr)
    if "this CPU has no more than" in result.stderr:
        print(f"skipped: this CPU has no {level}")
        return 77
    if f"TENON_ISA={level} is ignored" in result.stderr:
        print(f"{level} is no level of instructions")
        return 1
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
