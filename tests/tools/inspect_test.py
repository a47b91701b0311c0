#!/usr/bin/env python3
"""ir-opt --inspect, --extract and --shape: inspect_test.py PATH_OF_IR_OPT PATH_OF_IR_RUN."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from onnx_wire import F32, attribute, field, graph, model, node, tensor, value

IR_OPT, IR_RUN = sys.argv.pop(1), sys.argv.pop(1)
BERT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'models/bert.eager.ts17/model.onnx')


def run(program, *arguments):
  result = subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
  return result.returncode, result.stdout.decode(), result.stderr.decode()


def named(name, *arguments, **attributes):
  """A node with a name of its own."""
  return node(*arguments, **attributes).replace(field(3, 'the node'), field(3, name), 1)


def weights(name, *dims):
  count = 1
  for dim in dims:
    count *= dim
  return tensor(name, F32, dims, struct.pack(f'<{count}f', *[(i % 7 - 3) / 4 for i in range(count)]))


def layers(domain=''):
  """x[batch, 4] -> lin1 -> h -> act -> r -> lin2 -> y, with the names of a TensorFlow model for r."""
  return model(
      [named('lin1', 'Gemm', ['x', 'w1', 'b1'], ['h']), named('act', 'Relu', ['h'], ['r:0']),
       named('lin2', 'MatMul', ['r:0', 'w2'], ['y0']), named('add', 'Add', ['y0', 'z'], ['y']),
       named('side', 'Odd' if domain else 'Neg', ['x'], ['s'], domain=domain)],
      [value('x', F32, ('batch', 4)), value('z', F32, ('batch', 2))],
      [value('y', F32, ('batch', 2)), value('s', F32, ('batch', 4))],
      [weights('w1', 4, 8), weights('b1', 8), weights('w2', 8, 2)])


class Folder(unittest.TestCase):

  def setUp(self):
    self.folder = pathlib.Path(tempfile.mkdtemp())
    self.addCleanup(shutil.rmtree, self.folder)
    self.model = self.write('m.onnx', layers())

  def write(self, name, data):
    path = self.folder / name
    path.write_bytes(data)
    return path

  def ok(self, *arguments):
    status, out, err = run(IR_OPT, *arguments)
    self.assertEqual(status, 0, err)
    return out

  def fails(self, message, *arguments):
    status, out, err = run(IR_OPT, *arguments)
    self.assertEqual(status, 2, out)
    self.assertIn(message, err)
    self.assertEqual(out, '')


class Inspect(Folder):

  def report(self, *arguments):
    return json.loads(self.ok(*arguments, '--inspect', '--json=-'))

  def test_numbers(self):
    report = self.report(self.model, '--shape=batch=3')
    self.assertEqual(report['inputs'][0], {'name': 'x', 'dtype': 'f32', 'shape': [3, 4]})
    self.assertEqual(report['outputs'][0], {'name': 'y', 'dtype': 'f32', 'shape': [3, 2]})
    self.assertEqual(report['opsets'], {'ai.onnx': 17})
    self.assertEqual(report['parameters'], {'tensors': 3, 'elements': 56, 'bytes': 224})
    self.assertEqual(report['flops'], {'number': 2 * 3 * 8 * 4 + 2 * 3 * 2 * 8, 'expression': '', 'uncounted_operations': 0})
    self.assertEqual(report['operators'], {'Add': 1, 'Gemm': 1, 'MatMul': 1, 'Neg': 1, 'Relu': 1})
    self.assertEqual(report['unsupported'], [])

  def test_expressions(self):
    report = self.report(self.model)
    self.assertEqual(report['inputs'][0]['shape'], ['batch', 4])
    self.assertEqual(report['flops'], {'number': 0, 'expression': '96 * batch', 'uncounted_operations': 0})
    self.assertIn('96 * batch', self.ok(self.model, '--inspect'))

  def test_convolution_attention_and_loops_of_a_shipped_model(self):
    report = self.report(BERT, '--shape=batch=2,seq=16')
    self.assertGreater(report['flops']['number'], 0)
    self.assertEqual(report['flops']['expression'], '')
    optimized = self.report(BERT, '-O2', '--shape=batch=2,seq=16')
    self.assertLess(abs(optimized['flops']['number'] / report['flops']['number'] - 1), 0.01)
    self.assertLess(optimized['bytes_moved']['number'], report['bytes_moved']['number'])

  def test_unsupported(self):
    report = self.report(self.write('odd.onnx', layers('acme')))
    self.assertEqual([(op['op'], op['node']) for op in report['unsupported']], [('acme.Odd', 'side')])
    self.assertIn('domain acme is not known', report['unsupported'][0]['reason'])
    status, out, err = run(IR_OPT, self.folder / 'odd.onnx', '--inspect')
    self.assertEqual((status, err), (0, ''))
    self.assertIn('acme.Odd  side: ', out)

  def test_ir_text_and_output(self):
    text = self.folder / 'm.mlir'
    self.ok(self.model, '--inspect', '-o', text)
    report = self.report(text)
    self.assertEqual((report['opsets'], report['flops']['expression']), ({}, '96 * batch'))

  def test_a_branch_counts_once(self):
    branch = graph([node('MatMul', ['x', 'w'], ['t'])], [], [value('t', F32, (2, 4))])
    data = model([node('If', ['c'], ['y'], then_branch=('g', branch), else_branch=('g', branch))],
                 [value('c', 9, ()), value('x', F32, (2, 4))], [value('y', F32, (2, 4))], [weights('w', 4, 4)])
    report = self.report(self.write('if.onnx', data))
    self.assertEqual(report['operators'], {'If': 1, 'MatMul': 2})
    self.assertIn(report['flops']['number'], (64, 128))


class Simplify(Folder):

  def test_operators_of_onnx_runtime_stay(self):
    for name, kept in (('bert', ('com.microsoft.Attention', 'com.microsoft.BiasGelu')),
                       ('llama', ('com.microsoft.GroupQueryAttention', 'SimplifiedLayerNormalization'))):
      with self.subTest(name=name):
        source = os.path.join(os.path.dirname(os.path.dirname(BERT)), f'{name}.onnxruntime/model.onnx')
        target = self.folder / f'{name}.onnx'
        self.ok(source, '--simplify', '-o', target)
        before, after = (json.loads(self.ok(path, '--inspect', '--json=-'))['operators'] for path in (source, target))
        self.assertLessEqual(sum(after.values()), sum(before.values()))
        for operator in kept:
          self.assertEqual(after[operator], before[operator])


class Extract(Folder):

  def part(self, what, *arguments):
    out = self.folder / 'part.onnx'
    self.ok(self.model, f'--extract={what}', '-o', out, *arguments)
    report = json.loads(self.ok(out, '--inspect', '--json=-'))
    return [v['name'] for v in report['inputs']], [v['name'] for v in report['outputs']], report

  def test_values_and_nodes(self):
    for what, inputs, outputs, operators in (
        ('h:r:0', ['h'], ['r:0'], ['Relu']), ('h:y0', ['h'], ['y0'], ['MatMul', 'Relu']), (':h', ['x'], ['h'], ['Gemm']),
        ('act:lin2', ['h'], ['y0'], ['MatMul', 'Relu']), ('r:0,z:', ['r:0', 'z', 'x'], ['y', 's'], ['Add', 'MatMul', 'Neg']),
        ('r:0,z:add', ['r:0', 'z'], ['y'], ['Add', 'MatMul']), ('x:h,s', ['x'], ['h', 's'], ['Gemm', 'Neg']),
        ('w2,r:0:y0', ['w2', 'r:0'], ['y0'], ['MatMul'])):
      with self.subTest(what=what):
        got_inputs, got_outputs, report = self.part(what)
        self.assertEqual((got_inputs, got_outputs), (inputs, outputs))
        self.assertLessEqual(set(report['operators']) - {'Gemm', 'Add'}, set(operators) | {'MatMul'})

  def test_other_inputs_are_told(self):
    status, _, err = run(IR_OPT, self.model, '--extract=r:0:y', '-o', self.folder / 'part.onnx')
    self.assertEqual(status, 0)
    self.assertIn('the part also reads the input "z"', err)

  def test_inferred_types(self):
    _, _, report = self.part('h:y0')
    self.assertEqual(report['inputs'], [{'name': 'h', 'dtype': 'f32', 'shape': ['batch', 8]}])

  def test_the_parts_compute_what_the_model_computes(self):
    first, second = self.folder / 'first.onnx', self.folder / 'second.onnx'
    saved = [self.folder / name for name in ('whole', 'one', 'two')]
    self.ok(self.model, '--extract=:r:0', '-o', first)
    self.ok(self.model, '--extract=r:0,z:y', '-o', second)
    self.assertEqual(run(IR_RUN, self.model, '--runs=1', f'--save-outputs={saved[0]}')[0], 0)
    x, z, y = (saved[0] / f'{name}.pb' for name in ('input_0', 'input_1', 'output_0'))
    self.assertEqual(run(IR_RUN, first, '--runs=1', f'--input=x={x}', f'--save-outputs={saved[1]}')[0], 0)
    (saved[2]).mkdir()
    shutil.copy(saved[1] / 'output_0.pb', saved[2] / 'input_0.pb')
    shutil.copy(z, saved[2] / 'input_1.pb')
    shutil.copy(y, saved[2] / 'output_0.pb')
    status, out, err = run(IR_RUN, second, '--runs=1', f'--check={saved[2]}')
    self.assertEqual(status, 0, out + err)

  def test_errors(self):
    for what, message in (
        ('hh:y', 'there is no value or node "hh" to cut at; did you mean'), ('h:yy', '"yy"'), ('h', 'expected FROM:TO'), (':', 'has no ends'),
        ('y0:r:0', '"y0" of node "lin2" does not feed "r:0"'), ('s:y', '"s" of node "side" does not feed "y"')):
      with self.subTest(what=what):
        self.fails(message, self.model, f'--extract={what}')

  def test_ir_text_has_no_parts(self):
    text = self.folder / 'm.mlir'
    self.ok(self.model, '-o', text)
    self.fails('this is IR text', text, '--extract=h:y')

  def test_names_with_commas(self):
    self.model = self.write('commas.onnx', model(
        [named('a,b', 'Neg', ['x'], ['h,1']), named('c', 'Abs', ['h,1'], ['h']), named('d', 'Add', ['h,1', 'h'], ['y'])],
        [value('x', F32, (2,))], [value('y', F32, (2,))]))
    for what, inputs, outputs in (('h,1:c', ['h,1'], ['h']), ('h,1,h:y', ['h,1', 'h'], ['y']), (':a,b,c', ['x'], ['h,1', 'h'])):
      with self.subTest(what=what):
        self.assertEqual(self.part(what)[:2], (inputs, outputs))

  def test_names_in_branches(self):
    then = graph([named('twice', 'Add', ['h', 'h'], ['t']), named('last', 'Neg', ['t'], ['u'])], [], [value('u', F32, (2,))])
    otherwise = graph([named('once', 'Abs', ['h'], ['u'])], [], [value('u', F32, (2,))])
    self.model = self.write('branches.onnx', model(
        [named('first', 'Relu', ['x'], ['h']), named('if', 'If', ['c'], ['y'], then_branch=('g', then), else_branch=('g', otherwise))],
        [value('x', F32, (2,)), value('c', 9, ())], [value('y', F32, (2,))]))
    for what, inputs, outputs, operators in (
        (':t', ['x'], ['t'], {'Relu': 1, 'Add': 1}), ('t:last', ['t'], ['u'], {'Neg': 1}), ('h:once', ['h'], ['u'], {'Abs': 1})):
      with self.subTest(what=what):
        got_inputs, got_outputs, report = self.part(what)
        self.assertEqual((got_inputs, got_outputs, report['operators']), (inputs, outputs, operators))

  def test_another_output_of_a_node_in_front(self):
    self.model = self.write('split.onnx', model(
        [named('split', 'Split', ['x'], ['a', 'b'], axis=0), named('sum', 'Add', ['a', 'b'], ['y'])], [value('x', F32, (4, 2))],
        [value('y', F32, (2, 2))]))
    inputs, outputs, report = self.part('a:y')
    self.assertEqual((inputs, outputs), (['a', 'x'], ['y']))
    self.assertEqual(report['operators'].get('Add'), 1)

  def test_captured_values_and_external_weights(self):
    branch = graph([node('Mul', ['h', 'h'], ['t'])], [], [value('t', F32, (2, 4))])
    data = model([named('first', 'Neg', ['x'], ['h']), named('choice', 'If', ['c'], ['y'], then_branch=('g', branch), else_branch=('g', branch)),
                  named('last', 'Add', ['y', 'w'], ['o'])],
                 [value('c', 9, ()), value('x', F32, (2, 4))], [value('o', F32, (2, 4))],
                 [tensor('w', F32, (4,), external={'location': 'w.bin'})])
    self.write('w.bin', struct.pack('<4f', 1, 2, 3, 4))
    self.model = self.write('if.onnx', data)
    self.assertEqual(self.part('h,c:o')[:2], (['h', 'c'], ['o']))
    self.assertEqual(self.part('c:choice')[:2], (['c', 'x'], ['y']))


class Shape(Folder):

  def test_dimension_and_whole_shape(self):
    for what in ('batch=3', 'x=3,4', 'x=3,4,z=3,2'):
      with self.subTest(what=what):
        out = self.folder / 'fixed.onnx'
        self.ok(self.model, f'--shape={what}', '-o', out)
        report = json.loads(self.ok(out, '--inspect', '--json=-'))
        self.assertEqual([v['shape'] for v in report['inputs'] + report['outputs']], [[3, 4], [3, 2], [3, 2], [3, 4]])
        self.assertIn('tensor<3x8xf32>', self.ok(self.model, f'--shape={what}'))

  def test_named_expressions_follow(self):
    data = model([node('Concat', ['p', 'x'], ['y'], axis=0)], [value('p', F32, ('past', 2)), value('x', F32, (1, 2)), value('m', F32, ('past + 1',))],
                 [value('y', F32, ('past + 1', 2)), value('m', F32, ('past + 1',))])
    report = json.loads(self.ok(self.write('past.onnx', data), '--shape=past=4', '--inspect', '--json=-'))
    self.assertEqual([v['shape'] for v in report['inputs']], [[4, 2], [1, 2], [5]])

  def test_conflicts(self):
    for what, message in (
        ('bach=3', 'there is no input or dimension "bach" to give a size; did you mean \'batch\'? (there are: batch, x, z)'),
        ('x=3,5', 'dimension 1 of input "x" is 4 in the model, so it cannot be 5'),
        ('x=3', 'input "x" has 2 dimensions and is given 1 sizes'),
        ('x=3,4,batch=2', 'dimension "batch" is 3 by the shape of "x", but 2 is given too'),
        ('x=3,4,z=2,2', 'dimension "batch" is 2 by the shape of "z", but 3 by that of "x"'),
        ('batch=1,2', 'is a dimension and has 2 sizes'), ('batch', '--shape is'), ('batch=1,batch=2', 'each name once'),
        ('batch=-1', '--shape is')):
      with self.subTest(what=what):
        self.fails(message, self.model, f'--shape={what}')

  def test_shapes_that_the_operations_refuse(self):
    data = model([node('Add', ['a', 'b'], ['y'])], [value('a', F32, ('n',)), value('b', F32, ('m',))], [value('y', F32, ())])
    self.fails('', self.write('add.onnx', data), '--shape=n=2,m=3')


if __name__ == '__main__':
  unittest.main()
