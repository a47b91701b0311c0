"""Plants near misses into an exported model and asks ir-opt why the rule does not fire. Usage: explain_test.py IR_OPT.

The model is printed as text, one line of it is changed, and the explanation must name the node and the reason.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import command_line

IR_OPT = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'ir-opt'
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'models')
BERT, LLAMA = 'bert.eager.ts17', 'llama_past.sdpa.ts17'
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


def line_of(lines, node):
  return next(i for i, line in enumerate(lines) if line.endswith(f'loc("{node}")'))


def parts_of(line):
  """Result, op, operands, types of the operands, type of the result."""
  result, op, operands, types = re.match(r' *(%\w+) = (\S+?)\((.*?)\) (.*) loc\(', line).groups()
  types, out = re.search(r': \((.*)\) -> (.*)$', types).groups()
  return result, op, operands.split(', '), re.findall(r'tensor<[^\]]*?(?:\]>|>)', types), out


def insert_on(text, node, index, op):
  """Puts an op in front of one operand of the op at `node`; `op` says {value} and {type} for it."""
  lines = text.split('\n')
  at = line_of(lines, node)
  _, _, operands, types, _ = parts_of(lines[at])
  value, type_text = operands[index], types[index]
  operands[index] = '%planted'
  lines[at] = re.sub(r'\(.*?\)', lambda _: '(' + ', '.join(operands) + ')', lines[at], count=1)
  lines.insert(at, '    %planted = ' + op.format(value=value, type=type_text) + ' loc("planted")')
  return '\n'.join(lines)


def unary(op):
  return op + '({value}) : ({type}) -> {type}'


def exchange(text, node, unary_node):
  """The op at `unary_node`, which reads the op at `node`, comes before it instead."""
  lines = text.split('\n')
  first, second = line_of(lines, node), line_of(lines, unary_node)
  name, op, operands, types, _ = parts_of(lines[first])
  result, root, _, _, out = parts_of(lines[second])
  lines[first] = f'    {name} = {root}({operands[0]}) : ({types[0]}) -> {types[0]} loc("{unary_node}")'
  lines[second] = f'    {result} = {op}({name}, {operands[1]}) : ({types[0]}, {types[1]}) -> {out} loc("{node}")'
  return '\n'.join(lines)


def through_f16(text, node):
  """The result of the op at `node` is rounded to f16."""
  text = insert_after(text, node, 'ten.relu').replace('%planted', '%wide')
  lines = text.split('\n')
  at = line_of(lines, 'planted')
  _, _, operands, types, _ = parts_of(lines[at])
  half = types[0].replace('f32', 'f16')
  lines[at:at + 1] = [
      f'    %half = ten.cast({operands[0]}) <{{to = f16}}> : ({types[0]}) -> {half} loc("planted/half")',
      f'    %wide = ten.cast(%half) <{{to = f32}}> : ({half}) -> {types[0]} loc("planted/wide")']
  return '\n'.join(lines)


def swap_operands(text, node):
  lines = text.split('\n')
  at = line_of(lines, node)
  _, _, operands, types, _ = parts_of(lines[at])
  lines[at] = lines[at].replace('(' + ', '.join(operands) + ')', '(' + ', '.join(operands[::-1]) + ')', 1)
  lines[at] = lines[at].replace('(' + ', '.join(types) + ')', '(' + ', '.join(types[::-1]) + ')', 1)
  return '\n'.join(lines)


def use_also(text, node):
  """Returns the result of the op at `node` as well."""
  lines = text.split('\n')
  at = next(i for i, line in enumerate(lines) if line.endswith(f'loc("{node}")'))
  name, result = re.match(r' *(%\w+) = .*-> (.*) loc\(', lines[at]).groups()
  end = next(i for i, line in enumerate(lines) if 'func.return(' in line)
  lines[end] = re.sub(r'\((%.*?)\) : \((.*)\) -> \(\)', rf'(\1, {name}) : (\2, {result}) -> ()', lines[end])
  head = next(i for i, line in enumerate(lines) if 'function_type = ' in line)
  lines[head] = re.sub(r'(function_type = \(.*?\) -> )\(?(tensor<.*?\]>)\)?, res_attrs', rf'\1(\2, {result}), res_attrs',
                       lines[head])
  lines[head] = re.sub(r'(res_attrs = \[)(.*?)(\])', r'\1\2, {core.name = "planted"}\3', lines[head])
  return '\n'.join(lines)


def computed_scale(text):
  """The number of a layer's scores is the largest id of a token."""
  text = insert_on(text, SELF + 'Mul', 1, 'ten.cast(%largest) <{{to = f32}}> : (tensor<i64>) -> {type}')
  lines = text.split('\n')
  ids = re.search(r'\^bb0\((%\w+)', text).group(1)
  lines.insert(line_of(lines, 'planted'), f'    %largest = ten.reduce_max({ids}) <{{axes = array<i64: 0, 1>, keepdims = false}}>'
               ' : (tensor<?x?xi64, ["batch", "seq"]>) -> tensor<i64>')
  return '\n'.join(lines)


def merged_in_another_order(text):
  text = change(text, SELF + 'Transpose_3', '0, 2, 1, 3', '0, 3, 2, 1')
  for node in ('Transpose_3', 'Reshape_3'):
    text = change(text, SELF + node, 'tensor<?x?x4x8xf32, ["batch", "seq", "", ""]>',
                  'tensor<?x8x?x4xf32, ["batch", "", "seq", ""]>')
  return text


def f32(number):
  return f'dense<{number}>'


# (what, change of the text, query, what the explanation says)
CASES = [
    ('a constant', lambda t: change(t, GELU + 'Constant_2', f32('5.000000e-01'), f32('4.000000e-05')), 'gelu',
     [f'gelu-erf: nearly at {GELU}Mul_1: matched 4 of 5 ops; stopped at {GELU}Mul_1: operand 1 is the constant 4e-05 : '
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
    ('a root that is rounded', lambda t: change(t, GELU + 'Constant', f32('1.41421354'), f32('1.41')), 'gelu',
     [f'stopped at {GELU}Div: operand 1 is the constant 1.41 : tensor<f32>, the rule wants a constant of 1.4142']),
    ('a function of two tensors', lambda t: insert_on(t, GELU + 'Mul', 0, unary('ten.abs')), 'gelu',
     [f'stopped at {GELU}Div: operand 0 is ten.add at {LAYER}intermediate/dense/Add, the rule wants \'x\' again, '
      'which is ten.abs at planted']),
    ('a scale that is computed', computed_scale, 'attention',
     [f'matched 4 of 5 ops; stopped at {SELF}Mul: operand 1 is ten.cast at planted, the rule wants a constant']),
    ('scores rounded to f16', lambda t: through_f16(t, SELF + 'MatMul'), 'attention',
     [f'attention: nearly at {SELF}MatMul_1: matched 4 of 5 ops; stopped at {SELF}Mul: operand 0 is ten.cast at planted/wide, '
      'the rule wants ten.matmul']),
    ('scores rounded to f16, asked at the product', lambda t: through_f16(t, SELF + 'MatMul'), f'attention@{SELF}MatMul',
     [f'attention: nearly at {SELF}MatMul_1: matched 4 of 5 ops; stopped at {SELF}Mul: operand 0 is ten.cast at planted/wide']),
    ('weights rounded to f16', lambda t: through_f16(t, SELF + 'Softmax'), 'attention',
     ['matched 5 of 5 ops; stopped at planted/wide: ten.cast stands between ten.cast at planted/half and',
      f'also at planted/half: ten.cast stands between nn.softmax at {SELF}Softmax']),
    ('heads merged in another order', merged_in_another_order, 'attention-merge-transpose',
     [f'nearly at {SELF}Transpose_3: matched 1 of 2 ops; stopped at {SELF}Transpose_3: attribute \'perm\' is array<i64: 0, 3, 2, 1>']),
    ('keys of something else', lambda t: insert_on(t, SELF + 'key/MatMul', 0, unary('ten.relu')), 'pack-qkv',
     [f'stopped at {SELF}key/MatMul: operand 0 is ten.relu at planted, the rule wants \'x\' again']),
    ('a function before the norm', lambda t: insert_after(t, LAYER + 'output/Add', 'ten.abs'), 'skip',
     [f'skip-layer-norm: nearly at {LAYER}output/LayerNorm/LayerNormalization: matched 2 of 2 ops; stopped at planted: '
      f'ten.abs stands between ten.add at {LAYER}output/Add']),
]

NODE = '/model/model/model/layers.1/'
NORM, ATTN, MLP = NODE + 'input_layernorm/', NODE + 'self_attn/', NODE + 'mlp/'


def mean_over_rows(text):
  for node in ('ReduceMean', 'Add', 'Sqrt', 'Div', 'Mul'):
    text = change(text, NORM + node, 'tensor<?x?x1xf32, ["batch", "seq", ""]>', 'tensor<?x1x48xf32, ["batch", "", ""]>')
  return change(text, NORM + 'ReduceMean', 'array<i64: 2>', 'array<i64: 1>')


LLAMA_CASES = [
    ('epsilon outside of the root', lambda t: exchange(t, NORM + 'Add', NORM + 'Sqrt'), 'rms-norm',
     [f'stopped at {NORM}Add: ten.add stands between ten.sqrt at {NORM}Sqrt and ten.div']),
    ('another power', lambda t: change(t, NORM + 'Constant', f32('2.000000e+00'), f32('3.000000e+00')), 'rms-norm',
     [f'stopped at {NORM}ReduceMean: operand 0 is ten.pow at {NORM}Pow, the rule wants ten.mul; also at {NORM}Pow: '
      'operand 1 is the constant 3']),
    ('the norm of another tensor', lambda t: insert_on(t, NORM + 'Mul', 0, unary('ten.relu')), 'rms-norm',
     [f'stopped at {NORM}Pow: operand 0 is ten.add', 'the rule wants \'x\' again, which is ten.relu at planted\n']),
    ('a mean over rows', mean_over_rows, 'rms-norm',
     [f'stopped at {NORM}ReduceMean: the rule wants that the axes are the last ones, and axes is {{1}}']),
    ('a mean over rows, asked of the family', mean_over_rows, 'norm',
     [f'rms-norm: nearly at {NORM}Div: matched 4 of 5 ops; stopped at {NORM}ReduceMean: the rule wants that the axes']),
    ('a root that is an output', lambda t: use_also(t, NORM + 'Sqrt'), 'norm',
     [f'rms-norm: nearly at {NORM}Div: matched 4 of 5 ops; stopped at {NORM}Sqrt: its result is also used by func.return, '
      'as an output, outside']),
    ('a normed tensor used twice', lambda t: use_also(t, NORM + 'Mul'), 'rms-norm-scale',
     [f'its result (that of {NORM}Mul) is also used by func.return']),
    ('a gate of another tensor', lambda t: insert_on(t, MLP + 'act_fn/Mul', 0, unary('ten.abs')), 'silu',
     [f'stopped at {MLP}act_fn/Sigmoid: operand 0 is ten.matmul at {MLP}gate_proj/MatMul, the rule wants \'x\' again, '
      'which is ten.abs at planted']),
    ('a guard that gives one', lambda t: change(t, ATTN + 'Constant_59', f32('0.000000e+00'), f32('1.000000e+00')), 'attention',
     [f'attention: nearly at {ATTN}MatMul_1: matched 5 of 6 ops; stopped at {ATTN}Where_3: operand 1 is the constant 1']),
    ('a rotation without a sign', lambda t: change(t, ATTN + 'Neg', 'ten.neg', 'ten.abs'), 'rotary',
     [f'stopped at {ATTN}Concat_3: operand 0 is ten.abs at {ATTN}Neg, the rule wants ten.neg']),
    ('keys changed behind the past', lambda t: insert_after(t, ATTN + 'Concat_5', 'ten.abs'), 'attention-append',
     [f'matched 3 of 3 ops; stopped at planted: ten.abs stands between ten.concat at {ATTN}Concat_5 and fused.attention']),
    ('values changed behind the past, asked at the node', lambda t: insert_after(t, ATTN + 'Concat_6', 'ten.abs'),
     f'attention-append@{ATTN}Concat_6', [f'stopped at planted: ten.abs stands between ten.concat at {ATTN}Concat_6']),
    ('the past behind the keys', lambda t: swap_operands(t, ATTN + 'Concat_5'), 'attention-append',
     [f'stopped at {ATTN}Concat_6: a dimension of \'v\' is seq, the rule wants past (its S)']),
]


class ExplainTest(unittest.TestCase):

  def check(self, model, cases):
    path = os.path.join(MODELS, model, 'model.onnx')
    text = subprocess.run([IR_OPT, path, '--print-locations'], check=True, capture_output=True).stdout.decode()
    for what, plant, query, expected in command_line.share(cases, f'near misses in {model}'):
      with self.subTest(what):
        result = subprocess.run([IR_OPT, '-', '-O2', '--explain=' + query], input=plant(text).encode(),
                                capture_output=True, check=False, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        for line in expected:
          self.assertIn(line, result.stdout.decode())

  def test_near_misses_in_an_encoder(self):
    self.check(BERT, CASES)

  def test_near_misses_in_a_decoder(self):
    self.check(LLAMA, LLAMA_CASES)

  def ask(self, model, rule, *options):
    """What --explain says at -O2 of a rule that is given as text."""
    name = re.match(r'rule (\S+)', rule)[1]
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'own.drr')
      with open(path, 'w', encoding='utf-8') as file:
        file.write(rule)
      result = subprocess.run([IR_OPT, os.path.join(MODELS, model, 'model.onnx'), '-O2', '--rules=' + path, *options,
                               f'--explain={name}'], capture_output=True, check=False, timeout=120, encoding='utf-8')
      self.assertEqual(result.returncode, 0, result.stderr)
      return result.stdout.replace(path, 'own.drr')

  def test_own_rule_names_who_was_faster(self):
    text = self.ask(LLAMA, 'rule square { match pow(x, splat(2)) replace mul(x, x) lowers "powers" }')
    node = '/model/model/model/norm/Pow'
    self.assertIn(f'square: fits the model as it is written at {node}, but rule square-from-power (in canonicalize) changed '
                  f'{node} first, into ten.mul at {node}: match that instead\n', text)
    self.assertNotIn('nearly', text)
    self.assertTrue(text.startswith('square: fired 0 times\n'))
    self.assertTrue(text.endswith('square: defined in own.drr:1\n'))
    # Without that rule, the own one fires.
    text = self.ask(LLAMA, 'rule square { match pow(x, splat(2)) replace mul(x, x) lowers "powers" }',
                    '--disable-rules=square-from-power')
    self.assertIn('square: fired 5 times\n', text)
    self.assertNotIn('fits', text)

  def test_own_rule_names_folds_and_passes(self):
    text = self.ask(LLAMA, 'rule by-one { match mul(x, splat(1)) replace x }')
    self.assertIn('by-one: fits the model as it is written at /model/model/model/rotary_emb/Mul_1, but a fold (in '
                  'canonicalize) changed /model/model/model/rotary_emb/Mul_1 first\n', text)
    self.assertNotIn('matched 0 of 1', text)
    text = self.ask(BERT, 'rule own-expand { match expand(x) {shape = any} replace relu(x) lowers "expands" }')
    self.assertIn('but pass ', text)

  def test_own_rule_whose_op_came_and_went(self):
    rule = ('rule biased-gelu { match gelu(fused.linear(x, w, b, none)) '
            'replace fused.linear(x, w, b, none) {activation = "gelu"} }')
    text = self.ask(BERT, rule)
    self.assertRegex(text, r'biased-gelu: nn\.gelu at \S+ was made by rule gelu-erf and taken by rule \S+ \(in fuse\{before=packing\}\) '
                     r'before the rule saw it, into fused\.linear at \S+: match that instead, or see --disable-rules; '
                     r'also at 1 more place\n')
    self.assertNotIn('no place nearly', text)
    self.assertIn('biased-gelu: fired 2 times\n', self.ask(BERT, rule, '--disable-rules=linear-activation'))

  def test_own_rule_where_a_built_in_rule_takes_the_node(self):
    program = """func.func() <{function_type = (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>), sym_name = "main"}> ({
^bb0(%x: tensor<4x8xf32>):
  %k = core.constant() <{value = dense<1.5> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.mul(%x, %k) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = ten.sigmoid(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ten.mul(%x, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return(%2, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()
}) : () -> ()
"""
    rule = ('rule quick { match mul(x, sigmoid(mul(x, splat(s)))) where s > 1.6 && s < 1.8 replace mul(x, x) }')
    with tempfile.TemporaryDirectory() as folder:
      for name, text in (('near.mlir', program), ('own.drr', rule)):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
          file.write(text)
      for question in ('quick', 'quick@near.mlir:6:8'):
        result = subprocess.run([IR_OPT, 'near.mlir', '-O2', '--rules=own.drr', f'--explain={question}'], cwd=folder,
                                capture_output=True, check=False, timeout=120, encoding='utf-8')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r'near\.mlir:6:8 \(as the model is written\): matched 2 of 3 ops; stopped at '
                         r'near\.mlir:4:8: .*the rule wants that s > 1\.6, and s is 1\.5')
        self.assertIn('rule gated', result.stdout)

  def test_own_rule_that_nearly_fits(self):
    # The normal form has no power any more: the model as it is written has.
    text = self.ask(LLAMA, 'rule cube { match pow(x, splat(3)) replace mul(x, mul(x, x)) lowers "powers" }')
    node = '/model/model/model/norm/Pow'
    self.assertIn(f'cube: nearly at {node} (as the model is written): matched 0 of 1 ops; stopped at {node}: operand 1 is the '
                  'constant 2 ', text)
    # Where both forms say the same, the answer also names who took the node since.
    text = self.ask(BERT, 'rule scale { match div(x, splat(1.5)) replace mul(x, splat(0.6666667)) lowers "divisions" }')
    node = GELU.replace('layer.1', 'layer.0') + 'Div'
    self.assertIn(f'scale: nearly at {node}: matched 0 of 1 ops; stopped at {node}: operand 1 is the constant 1.4142135', text)
    self.assertIn('; rule gelu-erf has since replaced part of it\n', text)

  def test_far_misses_name_the_nearest_place(self):
    # Little of it is there: without a node the answer names the place that has most.
    rule = ('rule far { match tanh(exp(abs(sqrt(neg(sigmoid(fused.linear(x, w, b, none) {transpose_w = any})))))) '
            'replace fused.linear(x, w, b, none) }')
    text = self.ask(BERT, rule)
    self.assertRegex(text, r'^far: fired 0 times\nfar: no place nearly matches; the nearest is \S+: matched 1 of 7 ops; '
                     r'stopped at \S+: ')
    self.assertIn('fused.linear at ', text)
    # A family answers with one place, and reports have none of these.
    self.assertLessEqual(text.count('matched'), 1)
    self.assertIn('none: no place nearly matches\n', self.ask(BERT, 'rule none { match ceil(floor(x)) replace x }'))
    with tempfile.TemporaryDirectory() as folder:
      report = os.path.join(folder, 'report.txt')
      subprocess.run([IR_OPT, os.path.join(MODELS, BERT, 'model.onnx'), '-O2', '--fusion-report=' + report, '-o', os.devnull],
                     check=True, capture_output=True)
      with open(report, encoding='utf-8') as f:
        self.assertIn('no match and no near miss: ', f.read())

  def test_rules_may_name_loaded_operations(self):
    with tempfile.TemporaryDirectory() as folder:
      ops, rules, program = (os.path.join(folder, name) for name in ('ops.json', 'own.drr', 'x.mlir'))
      with open(ops, 'w', encoding='utf-8') as file:
        file.write('{"ops": [{"op": "my.scale", "at": "my.yaml:1:1", "summary": "Scales x.", "operands": [{"name": "x", "arity": "single", '
                   '"types": ["float"]}], "attrs": [], "result": ["tensor"], "traits": ["same_dtype"], '
                   '"shape": "same_as_first"}]}')
      with open(program, 'w', encoding='utf-8') as file:
        file.write('func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({\n'
                   '^bb0(%x: tensor<4xf32>):\n  %0 = my.scale(%x) : (tensor<4xf32>) -> tensor<4xf32>\n'
                   '  %1 = ten.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>\n'
                   '  func.return(%1) : (tensor<4xf32>) -> ()\n}) : () -> ()\n')

      def explain(rule):
        with open(rules, 'w', encoding='utf-8') as file:
          file.write(rule)
        return subprocess.run([IR_OPT, program, '-O2', '--load-ops=' + ops, '--rules=' + rules, '--explain=own'],
                              capture_output=True, check=False, encoding='utf-8')

      self.assertIn('own: fired 1 time\n', explain('rule own { match relu(my.scale(x)) replace relu(x) }').stdout)
      # Element types that the operation never has are no matter of the program.
      for condition in ('dtype(x) == i32', '!float(x)'):
        result = explain('rule own { match relu(my.scale(x)) where %s replace relu(x) }' % condition)
        self.assertEqual(result.returncode, 2)
        self.assertIn("own.drr:1: rule 'own': no program matches, since 'x' cannot have any element type: operand 'x' of "
                      'my.scale is a tensor of ', result.stderr)
        self.assertIn(', and the rule wants ' + condition, result.stderr)

  def test_own_rule_that_is_disabled(self):
    text = self.ask(BERT, 'rule root { match div(x, splat(1.41421354)) replace mul(x, splat(0.70710678)) lowers "divisions" }',
                    '--disable-rules=root')
    self.assertTrue(text.startswith('root: fired 0 times\nroot: disabled (--disable-rules)\nroot: fits the model as it is written at '
                                    f'{GELU.replace("layer.1", "layer.0")}Div\n'), text)

  def test_report_tells_what_earlier_applications_found(self):
    """A later family has taken the sum; the report says all the same why the norm was not fused with it."""
    path = os.path.join(MODELS, BERT, 'model.onnx')
    text = subprocess.run([IR_OPT, path, '--print-locations'], check=True, capture_output=True).stdout.decode()
    text = insert_after(text, LAYER + 'output/Add', 'ten.abs')
    with tempfile.TemporaryDirectory() as folder:
      report = os.path.join(folder, 'report.txt')
      subprocess.run([IR_OPT, '-', '-O2', '--fusion-report=' + report, '-o', os.devnull], input=text.encode(), check=True,
                     capture_output=True)
      with open(report, encoding='utf-8') as f:
        self.assertIn('stopped at planted: ten.abs stands between ten.add', f.read())


if __name__ == '__main__':
  unittest.main()
