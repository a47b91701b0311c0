#!/usr/bin/env python3
"""Times groups with reductions, norms and softmax against their parts, in turns.

  tests/bench/row_groups.py BUILD [--turns N] [--only SUBSTRING]

BUILD has bin/ir-opt and bin/ir-bench. Each program runs as fuse-elementwise leaves it without knowing the number of rows,
and as fuse-elementwise{rows=true} does. A figure is the least time of all turns; above 1 the group is faster.
Exit status: 0 done; 1 a program does not run; 2 wrong usage.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# T: the rows, K: one number for each, V: one row.
PROGRAMS = {
    "sum(exp(x - y))": """
  %a = ten.sub(%x, %y) : (T, T) -> T
  %b = ten.exp(%a) : (T) -> T
  %o = ten.reduce_sum(%b) <{axes = array<i64: 1>, keepdims = true}> : (T) -> K""",
    "variance": """
  %m = ten.reduce_mean(%x) <{axes = array<i64: 1>, keepdims = true}> : (T) -> K
  %a = ten.sub(%x, %m) : (T, K) -> T
  %b = ten.mul(%a, %a) : (T, T) -> T
  %o = ten.reduce_mean(%b) <{axes = array<i64: 1>, keepdims = true}> : (T) -> K""",
    "x / |x|": """
  %a = ten.mul(%x, %x) : (T, T) -> T
  %s = ten.reduce_sum(%a) <{axes = array<i64: 1>, keepdims = true}> : (T) -> K
  %q = ten.sqrt(%s) : (K) -> K
  %o = ten.div(%x, %q) : (T, K) -> T""",
    "(x - y) / |x - y|": """
  %d = ten.sub(%x, %y) : (T, T) -> T
  %a = ten.mul(%d, %d) : (T, T) -> T
  %s = ten.reduce_sum(%a) <{axes = array<i64: 1>, keepdims = true}> : (T) -> K
  %q = ten.sqrt(%s) : (K) -> K
  %o = ten.div(%d, %q) : (T, K) -> T""",
    "(x - mean(x)) * y": """
  %s = ten.reduce_mean(%x) <{axes = array<i64: 1>, keepdims = true}> : (T) -> K
  %a = ten.sub(%x, %s) : (T, K) -> T
  %o = ten.mul(%a, %y) : (T, T) -> T""",
    "softmax(x * 0.125 + y)": """
  %a = ten.mul(%x, %number) : (T, S) -> T
  %b = ten.add(%a, %y) : (T, T) -> T
  %o = nn.softmax(%b) <{axis = 1}> : (T) -> T""",
    "softmax(x) * y + x": """
  %a = nn.softmax(%x) <{axis = 1}> : (T) -> T
  %b = ten.mul(%a, %y) : (T, T) -> T
  %o = ten.add(%b, %x) : (T, T) -> T""",
    "rms_norm(x) * silu(y)": """
  %a = nn.rms_norm(%x, %w) <{axis = 1}> : (T, V) -> T
  %g = nn.silu(%y) : (T) -> T
  %o = ten.mul(%a, %g) : (T, T) -> T""",
    "gelu(layer_norm(x))": """
  %a = nn.layer_norm(%x, %w, %w) <{axis = 1, operandSegmentSizes = array<i32: 1, 1, 1>}> : (T, V, V) -> T
  %o = nn.gelu(%a) <{approximate = "none"}> : (T) -> T""",
}
SHAPES = ((128, 768), (1024, 768), (128, 4096), (1536, 128), (16384, 128))
PIPELINE = "infer-shapes,canonicalize,fuse-elementwise"


def program(body, n):
  """The text of a function with this body. The pass does not know the number of rows, so that it makes no group by itself."""
  names = '["B", ""]'
  types = {"T": f"tensor<?x{n}xf32, {names}>", "K": f"tensor<?x1xf32, {names}>", "V": f"tensor<{n}xf32>", "S": "tensor<f32>"}
  result = types[body[-1]]
  return (f"func.func() <{{function_type = ({types['T']}, {types['T']}, {types['V']}) -> {result}, sym_name = \"main\"}}> ({{\n"
          f"^bb0(%x: {types['T']}, %y: {types['T']}, %w: {types['V']}):\n"
          "  %number = core.constant() <{value = dense<0.125> : tensor<f32>}> : () -> tensor<f32>"
          + re.sub(r"\b[TKVS]\b", lambda found: types[found[0]], body) +
          f"\n  func.return(%o) : ({result}) -> ()\n}}) : () -> ()\n")


def run(command):
  done = subprocess.run(command, capture_output=True, text=True, check=False)
  if done.returncode != 0:
    print(f"{' '.join(command)}\n{done.stderr}", file=sys.stderr)
    sys.exit(1)
  return done.stdout


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("build")
  parser.add_argument("--turns", type=int, default=6)
  parser.add_argument("--only", default="")
  args = parser.parse_args()
  binaries = os.path.join(args.build, "bin")
  print(f"{'program':24} {'rows':>6} {'n':>5}  parts, us  group, us  parts / group")
  with tempfile.TemporaryDirectory() as folder:
    for name, body in PROGRAMS.items():
      if args.only not in name:
        continue
      for rows, n in SHAPES:
        source = os.path.join(folder, "program.mlir")
        with open(source, "w", encoding="utf-8") as file:
          file.write(program(body, n))
        forms = {}
        for form, pipeline in (("parts", PIPELINE), ("group", PIPELINE + "{rows=true}")):
          forms[form] = os.path.join(folder, form + ".mlir")
          run([os.path.join(binaries, "ir-opt"), source, "--pass-pipeline=" + pipeline, "-o", forms[form]])
        least = dict.fromkeys(forms, float("inf"))
        for _ in range(args.turns):
          for form, file in forms.items():
            options = ["-O0", f"--dim=B={rows}", "--rounds=3", "--turn=8", "--json=-"]
            report = json.loads(run([os.path.join(binaries, "ir-bench"), file, *options]))
            least[form] = min(least[form], report["engines"][0]["ms"]["min"] * 1000)
        print(f"{name:24} {rows:6} {n:5} {least['parts']:10.1f} {least['group']:10.1f} {least['parts'] / least['group']:14.2f}",
              flush=True)
  return 0


if __name__ == "__main__":
  sys.exit(main())
