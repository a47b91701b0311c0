"""Reads and verifies the example of every op with ir-opt. Usage: op_examples_test.py IR_OPT.

An example is the `example:` of a dialect file, or the one that tools/docs/op_examples.py derives.
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

# Ops of lowered programs, which nobody writes by hand.
WITHOUT = {'kernel'}


def ops():
  return [op for dialect in loader.load(glob.glob(os.path.join(ROOT, 'ir/dialect/*.yaml'))) for op in dialect.ops]


def read(text, *options):
  return subprocess.run([IR_OPT, '-', *options], input=text, capture_output=True, text=True, check=False)


def result_types(op, text):
  """What the line of the op says behind `->`; names that infer-shapes has made of unknown extents are left out."""
  line = next((line for line in text.split('\n') if op.full_name + '(' in line), None)
  if line is None:
    return None
  types = re.sub(rf'"{re.escape(op.full_name)}_[^"]*"', '"?"', line.split(' -> ')[-1])
  return re.sub(r', \[(?:"\??"(?:, )?)+\]', '', types)


class OpExamples(unittest.TestCase):

  def test_every_op_has_one(self):
    missing = [op.full_name for op in ops() if op.dialect not in WITHOUT and not op_examples.example_of(op)]
    self.assertEqual(missing, [], 'expected an example: in ir/dialect/*.yaml')

  def test_examples_show_their_op(self):
    for op in ops():
      example = op_examples.example_of(op)
      if example:
        self.assertIn(op.full_name + '(', example)

  def test_examples_are_valid(self):
    for op in ops():
      example = op_examples.example_of(op)
      if not example:
        continue
      with self.subTest(op.full_name):
        text = op_examples.as_module(example)
        result = read(text)
        self.assertEqual((result.returncode, result.stderr), (0, ''), f'{op.full_name}:\n{text}{result.stderr}')

  def test_types_follow_from_shape_functions(self):
    """What an example says of its result is no less than what the shape function knows."""
    for op in ops():
      example = op_examples.example_of(op)
      if not example or not op.shape or '\n' in example:
        continue
      with self.subTest(op.full_name):
        text = op_examples.as_module(example)
        written, inferred = (result_types(op, read(text, *options).stdout) for options in ([], ['--infer-shapes']))
        if inferred is not None:  # else the op has become a constant
          self.assertEqual(written, inferred)

  def test_a_wrong_example_is_an_error(self):
    text = op_examples.as_module('%out = ten.add(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>')
    self.assertEqual(read(text).returncode, 2)


if __name__ == '__main__':
  unittest.main()
