"""Plants near misses into an exported model and asks ir-opt why the rule does not fire. Usage: explain_test.py IR_OPT.

The model is printed as text, one line of it is changed, and the explanation must name the node and the reason.
"""

import os
import re
import subprocess
import sys
import unittest

IR_OPT = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'ir-opt'
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'models')
LAYER = '/model/encoder/layer.1/'
GELU = LAYER + 'intermediate/intermediate_act_fn/'
SELF = LAYER + 'attention/self/'


def change(text, node, old, new):
  """Replaces `old` in the line of the op at `node`; `new` may say {out} and {type} for its result."""
  lines = text.split('\n')
  at = [i for i, line in enumerate(lines) if line.endswith(f'loc("{node}")')]
  assert len(at) == 1, (node, len(at))
  assert old in lines[at[0]], (old, lines[at[0]])
  lines[at[0]] = lines[at[0]].replace(old, new)
  return '\n'.join(lines)


def insert_after(text, node, op):
  """Puts a unary op behind the op at `node`, in front of all its users."""
  lines = text.split('\n')
  at = next(i for i, line in enumerate(lines) if line.endswith(f'loc("{node}")'))
  name, result = re.match(r' *(%\w+) = .*-> (.*) loc\(', lines[at]).groups()
  pattern = re.compile(re.escape(name) + r'(?!\w)')
  for i in range(at + 1, len(lines)):
    lines[i] = pattern.sub('%planted', lines[i])
  lines.insert(at + 1, f'    %planted = {op}({name}) : ({result}) -> {result} loc("planted")')
  return '\n'.join(lines)


def use_also(text, node):
  """Returns the result of the op at `node` as well."""
  lines = text.split('\n')
  at = next(i for i, line in enumerate(lines) if line.endswith(f'loc("{node}")'))
  name, result = re.match(r' *(%\w+) = .*-> (.*) loc\(', lines[at]).groups()
  end = next(i for i, line in enumerate(lines) if 'func.return(' in line)
  lines[end] = re.sub(r'\((%[\w#]+)\) : \((.*)\) -> \(\)', rf'(\1, {name}) : (\2, {result}) -> ()', lines[end])
  head = next(i for i, line in enumerate(lines) if 'function_type = ' in line)
  lines[head] = re.sub(r'(function_type = \(.*?\) -> )(tensor<.*?\]>)', rf'\1(\2, {result})', lines[head])
  lines[head] = re.sub(r'(res_attrs = \[)(.*?)(\])', r'\1\2, {core.name = "planted"}\3', lines[head])
  return '\n'.join(lines)


def f32(number):
  return f'dense<{number}>'


# (what, change of the text, query, what the explanation says)
CASES = [
    ('a constant', lambda t: change(t, GELU + 'Constant_2', f32('5.000000e-01'), f32('4.000000e-01')), 'gelu',
     [f'gelu-erf: nearly at {GELU}Mul_1: matched 4 of 5 ops; stopped at {GELU}Mul_1: operand 1 is the constant 0.4 : '
      'tensor<f32>, the rule wants a constant of 0.5']),
    ('a root', lambda t: change(t, GELU + 'Constant', f32('1.41421354'), f32('1.5')), f'gelu@{GELU}Erf',
     [f'stopped at {GELU}Div: operand 1 is the constant 1.5']),
    ('another function', lambda t: change(t, GELU + 'Erf', 'ten.erf', 'ten.tanh'), 'gelu-erf',
     [f'matched 4 of 5 ops; stopped at {GELU}Add: operand 0 is ten.tanh at {GELU}Erf, the rule wants ten.erf']),
    ('another sum', lambda t: change(t, GELU + 'Add', 'ten.add', 'ten.sub'), 'gelu*',
     [f'stopped at {GELU}Add: operand 1 is the constant -1 : tensor<f32>, the rule wants a constant of 1']),
    ('another last op', lambda t: change(t, GELU + 'Mul_1', 'ten.mul', 'ten.sub'), 'gelu',
     [f'ten.mul at {GELU}Mul is used by ten.add at {GELU}Mul_1']),
    ('an op in between', lambda t: insert_after(t, GELU + 'Erf', 'ten.abs'), 'gelu',
     [f'matched 5 of 5 ops; stopped at planted: ten.abs stands between ten.erf at {GELU}Erf and ten.add at {GELU}Add']),
    ('a use outside', lambda t: use_also(t, GELU + 'Add'), 'gelu',
     [f'stopped at {GELU}Add: its result is also used by func.return']),
    ('an axis', lambda t: change(t, SELF + 'Softmax', 'axis = 3', 'axis = 1'), 'attention',
     [f'attention: nearly at {SELF}MatMul_1: matched 4 of 5 ops; stopped at {SELF}Softmax: attribute \'axis\' is 1']),
    ('an axis, asked at the node', lambda t: change(t, SELF + 'Softmax', 'axis = 3', 'axis = 1'),
     'attention@attention/self/Softmax', [f'stopped at {SELF}Softmax: attribute \'axis\' is 1']),
    ('weights used twice', lambda t: use_also(t, SELF + 'Softmax'), 'attention',
     [f'stopped at {SELF}Softmax: its result is also used by func.return']),
    ('an op behind the softmax', lambda t: insert_after(t, SELF + 'Softmax', 'ten.abs'), 'attention',
     [f'stopped at planted: ten.abs stands between nn.softmax at {SELF}Softmax and ten.matmul at {SELF}MatMul_1']),
    ('no softmax', lambda t: change(t, SELF + 'Softmax', 'nn.softmax', 'nn.log_softmax'), 'attention',
     [f'operand 0 is nn.log_softmax at {SELF}Softmax, the rule wants nn.softmax']),
    ('it fired', lambda t: t, f'gelu@{GELU}Erf', ['gelu-erf: fired 1 time\n', f'  at {GELU}Mul_1']),
]


class ExplainTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    model = os.path.join(MODELS, 'bert.eager.ts17/model.onnx')
    cls.text = subprocess.run([IR_OPT, model, '--print-locations'], check=True, capture_output=True).stdout.decode()

  def test_near_misses(self):
    for what, plant, query, expected in CASES:
      with self.subTest(what):
        result = subprocess.run([IR_OPT, '-', '-O2', '--explain=' + query], input=plant(self.text).encode(),
                                capture_output=True, check=False, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        for line in expected:
          self.assertIn(line, result.stdout.decode())


if __name__ == '__main__':
  unittest.main()
