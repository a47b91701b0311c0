"""Asks ir-opt why passes leave operations apart, and why shifted windows do not become attention. Usage: explain_passes_test.py IR_OPT."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import command_line

IR_OPT = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'ir-opt'
T = 'tensor<4x8xf32>'


class Function:
  """A function whose operations have the names of their results as locations."""

  def __init__(self, **inputs):
    self.inputs = inputs
    self.types = dict(inputs)
    self.lines = []

  def op(self, out, name, operands=(), attrs='', result=T, body=''):
    types = ', '.join(self.types[o] for o in operands)
    properties = f' <{{{attrs}}}>' if attrs else ''
    self.lines.append(f'  %{out} = {name}({", ".join("%" + o for o in operands)}){properties}{body} : ({types}) -> {result} loc("{out}")')
    self.types[out] = result
    return out

  def number(self, out, value, kind='f32'):
    return self.op(out, 'core.constant', attrs=f'value = dense<{value}> : tensor<{kind}>', result=f'tensor<{kind}>')

  def text(self, *results):
    ins, outs = ', '.join(self.inputs.values()), ', '.join(self.types[r] for r in results)
    names = lambda values: ', '.join(f'{{core.name = "{v}"}}' for v in values)
    arguments = ', '.join(f'%{n}: {t}' for n, t in self.inputs.items())
    return (f'func.func() <{{arg_attrs = [{names(self.inputs)}], function_type = ({ins}) -> ({outs}), res_attrs = [{names(results)}], '
            f'sym_name = "main"}}> ({{\n^bb0({arguments}):\n' + '\n'.join(self.lines) +
            f'\n  func.return({", ".join("%" + r for r in results)}) : ({outs}) -> ()\n}}) : () -> ()\n')


def other_shape():
  f = Function(x=T, y='tensor<2x4x8xf32>')
  f.op('a', 'ten.exp', ['x'])
  f.op('b', 'ten.add', ['a', 'y'], result='tensor<2x4x8xf32>')
  return f.text('b')


def many_inputs():
  f = Function(**{f'x{i}': T for i in range(20)})
  total = 'x0'
  for i in range(1, 20):
    total = f.op(f's{i}', 'ten.add', [total, f'x{i}'])
  return f.text(total)


def many_steps():
  f = Function(x=T)
  last = 'x'
  for i in range(40):
    last = f.op(f's{i}', ('ten.exp', 'ten.tanh')[i % 2], [last])
  return f.text(last)


def something_between():
  f = Function(x=T)
  f.op('a', 'ten.exp', ['x'])
  f.op('m', 'ten.reduce_max', ['a'], 'axes = array<i64: 1>', 'tensor<4x1xf32>')
  f.op('b', 'ten.sub', ['a', 'm'])
  return f.text('b')


def row_at_the_end():
  f = Function(x=T)
  f.op('a', 'ten.exp', ['x'])
  f.op('b', 'ten.tanh', ['a'])
  f.op('m', 'ten.reduce_max', ['b'], 'axes = array<i64: 1>', 'tensor<4x1xf32>')
  return f.text('m')


def no_step():
  f = Function(x='tensor<4x8xf64>')
  f.op('a', 'ten.exp', ['x'], result='tensor<4x8xf64>')
  f.op('h', 'ten.cast', ['a'], 'to = f32')
  f.op('b', 'ten.exp', ['h'])
  f.op('c', 'ten.tanh', ['b'])
  return f.text('c')


def fused():
  f = Function(x=T)
  f.op('a', 'ten.exp', ['x'])
  f.op('b', 'ten.tanh', ['a'])
  return f.text('b')


def loop(f, out, start, bound='ub'):
  body = (f' ({{\n  ^bb0(%i: tensor<i64>, %p: {T}):\n    %0 = ten.exp(%p) : ({T}) -> {T} loc("{out}_body")\n    ctl.yield(%0) : ({T}) -> ()\n  }})')
  return f.op(out, 'ctl.for', ['lb', bound, 'one', start], body=body)


def two_loops(second, bound='ub', names=''):
  f = Function(x=T, y=T)
  for name, value in (('lb', 0), ('ub', 5), ('one', 1), ('six', 6)):
    f.number(name, value, 'i64')
  loop(f, 'first', 'x')
  f.op('between', 'ten.neg', ['first' if second == 'between' else 'y'])
  loop(f, 'second', second, bound)
  if names:
    f.lines[-1] = f.lines[-1].replace(' : (tensor<i64>', names + ' : (tensor<i64>', 1)
  return f.text('first', 'second')


IMAGE = 'tensor<1x4x8x8xf32>'
CONV = 'dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>'


def image(then):
  f = Function(x=IMAGE, w='tensor<4x4x3x3xf32>', y=IMAGE, z='tensor<1x2x2x8x8xf32>')
  f.op('conv', 'nn.conv', ['x', 'w'], CONV, IMAGE)
  return f.text(then(f))


def rows_of_pixels(f):
  return f.op('flat', 'ten.reshape', ['conv'], 'shape = #core.dims<1, 2, 128>', 'tensor<1x2x128xf32>')


def another_image(f):
  return f.op('sum', 'ten.add', ['conv', 'y'], result=IMAGE)


def along_axes(f):
  return f.op('norm', 'nn.layer_norm', ['conv'], 'axis = 3 : i64, operandSegmentSizes = array<i32: 1, 0, 0>', IMAGE)


def groups(f):
  return f.op('norm', 'nn.group_norm', ['conv'], 'groups = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 0>', IMAGE)


# (pass, what, program, what the explanation says)
PASSES = [
    ('fuse-elementwise', 'it fired', fused, ['fuse-elementwise: fired 1 time\n', '  at a']),
    ('fuse-elementwise', 'another shape', other_shape, [
        'fuse-elementwise: nearly at a: stopped at b: ten.add at b computes tensor<2x4x8xf32>, the group tensor<4x8xf32>\n']),
    ('fuse-elementwise', 'inputs', many_inputs, ['stopped at s16: the group would have 17 inputs, at most 16 are allowed\n']),
    ('fuse-elementwise', 'steps', many_steps, ['stopped at s32: the group would have 33 steps, at most 32 are allowed\n']),
    ('fuse-elementwise', 'something in between', something_between, [
        'nearly at a: stopped at m: ten.reduce_max at m reads the group and ten.sub at b needs it: it would stand inside of the group\n']),
    ('fuse-elementwise', 'a row that nothing else needs', row_at_the_end, ['fired 1 time', 'no other place nearly matches']),
    ('fuse-elementwise', 'its types', no_step, ['fired 1 time', 'no other place nearly matches']),
    ('fuse-loops', 'it fired', lambda: two_loops('y'), ['fuse-loops: fired 1 time\n', '  at first (with second)']),
    ('fuse-loops', 'bounds', lambda: two_loops('y', 'six'), [
        'fuse-loops: nearly at first: stopped at second: no loop before it that may move has the same bounds and step\n']),
    ('fuse-loops', 'results of the first', lambda: two_loops('first'), ['nearly at first: stopped at first: the second loop reads its results\n']),
    ('fuse-loops', 'results of the first, through another', lambda: two_loops('between'), [
        'stopped at first: the second loop reads its results\n']),
    ('fuse-loops', 'attributes', lambda: two_loops('y', names=' {my.mark = 1 : i64}'), [
        'stopped at second: a loop with further attributes stays as it is\n']),
    ('propagate-layout', 'it fired', lambda: image(lambda f: f.op('act', 'ten.relu', ['conv'], result=IMAGE)), [
        'propagate-layout: fired 2 times\n']),
    ('propagate-layout', 'a reshape', lambda: image(rows_of_pixels), [
        'nearly at flat: stopped at flat: it makes tensor<1x2x128xf32> of tensor<1x4x8x8xf32>, which moves axis 1\n']),
    ('propagate-layout', 'an image that is not moved', lambda: image(another_image), [
        'nearly at sum: stopped at sum: 1 of its images have channels last and 1 would be transposed for it\n']),
    ('propagate-layout', 'other axes', lambda: image(along_axes), ['nearly at norm: stopped at norm: nn.layer_norm of these axes']),
    ('propagate-layout', 'groups', lambda: image(groups), ['nearly at norm: stopped at norm: it has 2 groups, only one reads channels last\n']),
]

S4, S5 = 'tensor<?x2x16x16xf32, ["16 * B", "", "", ""]>', 'tensor<?x16x2x16x16xf32, ["B", "", "", "", ""]>'
X, SPLIT, HEADS = ('tensor<?x16x24xf32, ["16 * B", "", ""]>', 'tensor<?x16x2x12xf32, ["16 * B", "", "", ""]>',
                   'tensor<?x2x16x12xf32, ["16 * B", "", "", ""]>')


def windows(axis=3, add='ten.add', softmax='nn.softmax', transpose_a='', after=None, also=()):
  """Attention over shifted windows: the mask of each window is added where windows have an axis of their own.

  `after`: a result, and the function of it that the operation behind it reads. `also`: results that are outputs, too."""
  f = Function(q=X, k=X, v=X, bias='tensor<1x2x16x16xf32>', mask='tensor<1x16x1x16x16xf32>')
  place, planted = after or ('', '')
  read_as = {}

  def op(out, name, operands, result, attrs=''):
    f.op(out, name, [read_as.get(o, o) for o in operands], attrs, result)
    if out == place and planted == 'ten.cast':
      f.op('half', 'ten.cast', [out], 'to = f16', result.replace('f32', 'f16'))
      read_as[out] = f.op('wide', 'ten.cast', ['half'], 'to = f32', result)
    elif out == place:
      read_as[out] = f.op('planted', planted, [out], result=result)

  for part in 'qkv':
    op(part + '_split', 'ten.reshape', [part], SPLIT, 'shape = #core.dims<"16 * B", 16, 2, 12>')
    op(part + '_heads', 'ten.transpose', [part + '_split'], HEADS, 'perm = array<i64: 0, 2, 1, 3>')
  f.number('scale', 0.28867513)
  op('scaled', 'ten.mul', ['q_heads', 'scale'], HEADS)
  op('scores', 'ten.matmul', ['scaled', 'k_heads'], S4, 'transpose_b = true')
  op('biased', 'ten.add', ['scores', 'bias'], S4)
  op('by_window', 'ten.reshape', ['biased'], S5, 'shape = #core.dims<"B", 16, 2, 16, 16>')
  op('masked', add, ['by_window', 'mask'], S5)
  op('together', 'ten.reshape', ['masked'], S4, 'shape = #core.dims<"16 * B", 2, 16, 16>')
  op('weights', softmax, ['together'], S4, f'axis = {axis} : i64')
  op('mixed', 'ten.matmul', ['weights', 'v_heads'], HEADS, transpose_a)
  op('merged', 'ten.transpose', ['mixed'], SPLIT, 'perm = array<i64: 0, 2, 1, 3>')
  op('out', 'ten.reshape', ['merged'], X, 'shape = #core.dims<"16 * B", 16, 24>')
  return f.text('out', *also)


# (what, program, what the first near miss says)
WINDOWS = [
    ('it fires', windows, None),
    ('weights read elsewhere', lambda: windows(also=['weights']), 'stopped at weights: its result is also used by func.return'),
    ('masked scores read elsewhere', lambda: windows(also=['masked']), r'masked: its result is also used by'),
    ('log softmax', lambda: windows(softmax='nn.log_softmax'), 'operand 0 is nn.log_softmax at weights, the rule wants nn.softmax'),
    ('weights transposed', lambda: windows(transpose_a='transpose_a = true'), "stopped at mixed: attribute 'transpose_a' is true"),
    ('function of the weights', lambda: windows(after=('weights', 'ten.abs')), 'stopped at planted: ten.abs stands between'),
    ('weights in f16', lambda: windows(after=('weights', 'ten.cast')), 'stopped at wide: ten.cast stands between'),
    ('axis', lambda: windows(axis=2), "stopped at weights: attribute 'axis' is 2"),
    ('mask that multiplies', lambda: windows(add='ten.mul'), 'stopped at masked: ten.mul stands between ten.reshape at by_window and'),
    ('function of the product', lambda: windows(after=('scores', 'ten.abs')), 'stopped at planted: ten.abs stands between ten.matmul at scores and ten.add at biased'),
    ('function of the biased scores', lambda: windows(after=('biased', 'ten.relu')), 'stopped at planted: ten.relu stands between ten.add at biased and'),
    ('function of the masked scores', lambda: windows(after=('masked', 'ten.relu')), 'stopped at planted: ten.relu stands between'),
    ('function of the scores in one axis again', lambda: windows(after=('together', 'ten.relu')), 'stopped at planted: ten.relu stands between'),
    ('scores in f16', lambda: windows(after=('scores', 'ten.cast')), 'stopped at biased: operand 0 is ten.cast at wide, the rule wants ten.matmul'),
]


def explain(text, what, *options):
  result = subprocess.run([IR_OPT, '-', *options, f'--explain={what}'], input=text, capture_output=True, check=False, timeout=120, encoding='utf-8')
  assert result.returncode == 0, result.stderr
  return result.stdout


class ExplainPassesTest(unittest.TestCase):

  def test_passes_name_the_operation_and_the_reason(self):
    for name, what, program, expected in command_line.share(PASSES, 'near misses of passes'):
      with self.subTest(f'{name}: {what}'):
        told = explain(program(), name, f'--pass-pipeline=infer-shapes,{name}')
        for line in expected:
          self.assertIn(line, told)

  def test_the_report_has_passes(self):
    with tempfile.TemporaryDirectory() as folder:
      report = os.path.join(folder, 'report.json')
      subprocess.run([IR_OPT, '-', '--pass-pipeline=fuse-elementwise', f'--fusion-report={report}'], input=something_between(),
                     check=True, capture_output=True, encoding='utf-8')
      with open(report, encoding='utf-8') as f:
        entry = next(e for e in json.load(f)['rules'] if e['rule'] == 'fuse-elementwise')
    self.assertEqual(entry['near_misses'][0]['stops'][0]['node'], 'm')

  def test_a_node_restricts_the_answer(self):
    told = explain(many_steps(), 'fuse-elementwise@s39', '--pass-pipeline=fuse-elementwise')
    self.assertIn('fired 1 time\n', told)
    self.assertNotIn('nearly', told)

  def test_shifted_windows(self):
    for what, program, expected in command_line.share(WINDOWS, 'shifted windows'):
      with self.subTest(what):
        told = explain(program(), 'attention', '-O2')
        nearly = [line for line in told.splitlines() if ': nearly at ' in line or 'the nearest is' in line]
        if expected is None:
          self.assertIn('attention: fired 1 time\n', told)
          continue
        self.assertTrue(nearly and nearly[0].startswith('attention: '), told)
        self.assertRegex(nearly[0], expected)


if __name__ == '__main__':
  unittest.main()
