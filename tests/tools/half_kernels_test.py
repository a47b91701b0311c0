#!/usr/bin/env python3
"""16-bit floats run on fast kernels wherever f32 does: half_kernels_test.py IR_OPT. Takes some seconds.

The calls are the examples of the ops, lowered for the CPU as they are and with f16 or bf16 for f32.
"""

import glob
import os
import re
import subprocess
import sys
import unittest

IR_OPT = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'ir-opt'
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, 'tools/codegen'), os.path.join(ROOT, 'tools/docs')]

import loader  # pylint: disable=wrong-import-position
import op_examples  # pylint: disable=wrong-import-position

HALVES = ('f16', 'bf16')
OTHERS = ('i1', 'i8', 'i16', 'i32', 'i64', 'ui8', 'ui16', 'ui32', 'ui64', 'f16', 'bf16', 'f32', 'f64')
ELEMENT = re.compile(r'(?<=x)f32\b|(?<=tensor<)f32\b')


def kernels(text):
  """The kernels of a lowered program; None if it is none, as where an op takes f32 only."""
  result = subprocess.run([IR_OPT, '-', '--lower'], input=text, capture_output=True, text=True, check=False)
  return re.findall(r'kernel = "([^"]*)"', result.stdout) if result.returncode == 0 else None


def on_reference(names):
  return [name for name in names if name.startswith('ref.')]


class HalfKernels(unittest.TestCase):

  def test_examples_of_ops(self):
    slow, compared = [], 0
    for dialect in loader.load(glob.glob(os.path.join(ROOT, 'ir/dialect/*.yaml'))):
      for op in dialect.ops:
        example = op_examples.example_of(op)
        if not example or not ELEMENT.search(example):
          continue
        text = op_examples.as_module(example)
        fast = kernels(text)
        if not fast or on_reference(fast):
          continue
        for half in HALVES:
          names = kernels(ELEMENT.sub(half, text))
          if names is None:
            continue
          compared += 1
          if on_reference(names):
            slow.append(f'{op.full_name} of {half}: {on_reference(names)}')
    self.assertEqual(slow, [], 'f32 has a fast kernel')
    self.assertGreater(compared, 100)

  def test_casts(self):
    pairs = sorted({pair for half in HALVES for other in OTHERS for pair in ((half, other), (other, half))} -
                   {(half, half) for half in HALVES})
    args = ', '.join(f'%x{i}: tensor<7x9x{a}>' for i, (a, _) in enumerate(pairs))
    body = ''.join(f'  %{i} = ten.cast(%x{i}) <{{to = {b}}}> : (tensor<7x9x{a}>) -> tensor<7x9x{b}>\n'
                   for i, (a, b) in enumerate(pairs))
    inputs, results = (', '.join(f'tensor<7x9x{pair[k]}>' for pair in pairs) for k in (0, 1))
    names = kernels(f'func.func() <{{function_type = ({inputs}) -> ({results}), sym_name = "main"}}> ({{\n^bb0({args}):\n{body}'
                    f'  func.return({", ".join(f"%{i}" for i in range(len(pairs)))}) : ({results}) -> ()\n}}) : () -> ()\n')
    self.assertEqual(names, ['cpu.cast'] * len(pairs))


if __name__ == '__main__':
  unittest.main()
