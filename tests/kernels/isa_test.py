#!/usr/bin/env python3
"""Runs the tests of kernels with fewer instructions than the CPU has.

  isa_test.py TENON_KERNELS_TEST LEVEL

Exit status 77, which CTest counts as skipped, where the CPU lacks the level, and where it is the CPU's own: the cases of
the program run at that one anyway.
"""

import os
import re
import subprocess
import sys

TESTS = "*KernelVsReferenceTest*:GemmTest*:VectorOps*"


HIGHEST = "avx512_bf16"


def run(program, level, tests):
    return subprocess.run([program, f"--gtest_filter={tests}", "--gtest_brief=1"], env={**os.environ, "TENON_ISA": level},
                          stderr=subprocess.PIPE, text=True, check=False)


def own_level(program):
    """The level that the program takes by itself."""
    limited = re.search(r"this CPU has no more than (\w+)", run(program, HIGHEST, "HalfCastTest.*").stderr)
    return limited[1] if limited else HIGHEST


def main():
    program, level = sys.argv[1:]
    if level == own_level(program):
        print(f"skipped: {level} is this CPU's own level, at which the other tests run")
        return 77
    result = run(program, level, TESTS)
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
