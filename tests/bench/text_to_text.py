#!/usr/bin/env python3
"""How fast a program of an unregistered dialect goes from text to generic text, compared with mlir-opt.

    tests/bench/text_to_text.py build/bin/ir-opt MLIR_OPT [--ops 1000000] [--shape plain,names,...] [--runs 2]

Prints the processor's time and the peak memory of both processes for each shape of program, and the ratios. Both
programs read, verify and write; MLIR runs without threads.
"""

import argparse
import os
import sys
import tempfile

T = "tensor<4x8xf32>"


def plain(n):
    """Operations with two operands."""
    for i in range(n):
        yield f'  %{i} = "other.op"(%{max(i - 1, 0)}, %0) : ({T}, {T}) -> {T}\n' if i else f'  %0 = "other.in"() : () -> {T}\n'


def attributes(n):
    """The same with an attribute of few values."""
    for line, i in zip(plain(n), range(n)):
        yield line.replace(") : (", f") {{a = {i % 7} : i64}} : (", 1)


def names(n):
    """Many operations' names, several results, an opaque type, and a dictionary that no other operation has."""
    opaque = '!f.t<i32, "a">'
    yield f'  %v0:2 = "f.in"() : () -> (f32, {opaque})\n'
    for i in range(1, n):
        yield (f'  %v{i}:2 = "f.op{i % 97}"(%v{i - 1}#0, %v{i - 1}#1) {{axis = {i % 5} : i64, name = "n{i}", '
               f'shape = [1, 2, {i % 11}], tag = "{i % 3}"}} : (f32, {opaque}) -> (f32, {opaque})\n')


def regions(n):
    """Small operations in small regions."""
    for i in range(n // 4):
        yield (f'  "t.f"() ({{\n  ^bb0(%a: i32):\n    %0 = "t.a"(%a) : (i32) -> i32\n    "t.b"(%0, %a) : (i32, i32) -> ()\n'
               f'    "t.r"(%0) : (i32) -> ()\n  }}) {{sym = "f{i}"}} : () -> ()\n')


def locations(n):
    """Locations of 1000 names and 5000 lines."""
    for i in range(n):
        yield f'  %{i} = "f.op"() : () -> f32 loc("model/layer{i % 1000}/x"("m.py":{i % 5000 + 1}:{i % 80 + 1}))\n'


def constants(n):
    """Small constants, all different."""
    for i in range(n):
        yield f'  %{i} = "f.const"() {{value = dense<[{i}, {i + 1}, {i * 7}]> : tensor<3xi32>}} : () -> tensor<3xi32>\n'


def types(n):
    """Tensors, all of different types."""
    for i in range(n):
        yield f'  %{i} = "f.op"() : () -> tensor<{i}x4xf32>\n'


SHAPES = {f.__name__: f for f in (plain, attributes, names, regions, locations, constants, types)}


def cost(command):
    """Seconds of the processor and kilobytes of the largest resident size of a process."""
    pid = os.fork()
    if pid == 0:
        os.execvp(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ir_opt")
    parser.add_argument("mlir_opt")
    parser.add_argument("--ops", type=int, default=1000000)
    parser.add_argument("--shape", default=",".join(SHAPES))
    parser.add_argument("--runs", type=int, default=2, help="the least of so many runs counts")
    options = parser.parse_args()
    print("| program | ir-opt, s | MLIR, s | MLIR / ir-opt | ir-opt, MB | MLIR, MB | ir-opt / MLIR |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for shape in options.shape.split(","):
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write('"builtin.module"() ({\n')
            file.writelines(SHAPES[shape](options.ops))
            file.write("}) : () -> ()\n")
            file.flush()
            both = [file.name, "-o", "/dev/null", "--allow-unregistered-dialect"]
            ours = [options.ir_opt, *both, "--print-generic"]
            theirs = [options.mlir_opt, *both, "--mlir-print-op-generic", "--mlir-disable-threading"]
            if shape == "locations":
                ours.append("--print-locations")
                theirs.append("--mlir-print-debuginfo")
            (our_time, our_memory), (their_time, their_memory) = (
                (min(c[0] for c in costs), min(c[1] for c in costs))
                for costs in ([cost(command) for _ in range(options.runs)] for command in (ours, theirs)))
        print(f"| {shape} | {our_time:.2f} | {their_time:.2f} | {their_time / our_time:.1f}x | {our_memory / 1024:.0f} "
              f"| {their_memory / 1024:.0f} | {our_memory / their_memory:.2f} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
