#!/usr/bin/env python3
"""ir-run --compare with a stand-in for ONNX Runtime: compare_test.py PATH_OF_IR_RUN. With onnxruntime in PATH's python3, that too."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from onnx_wire import F32, field, graph, model, node, value

IR_RUN = sys.argv.pop(1)

# Takes the place of Python with peer.py. Knows one model: x -> a = -x -> b = |a| -> y = -b. `wrong` names a value that it gets wrong.
FAKE = '''
import array, json, os, socket, struct, sys
_, _, engine, model, folder, threads, device = sys.argv
stream = socket.socket(fileno=3)
def reply(**fields):
  stream.sendall((json.dumps(fields) + '\\n').encode())
with open(os.path.join(folder, 'outputs.onnx'), 'rb') as file:
  assert b'a' in file.read()
with open(os.path.join(folder, 'inputs.json'), encoding='utf-8') as file:
  source = json.load(file)[0]['file']
reply(ready=True, version='fake', load_ms=1)
next(stream.makefile('r', encoding='utf-8'))
with open(source, 'rb') as file:
  data = file.read()
start = 10 + struct.unpack('<H', data[8:10])[0]
x = array.array('f', data[start:])
values = {'s': list(x), 'a': [-v for v in x], 'c': [-v for v in x], 'b': [abs(v) for v in x], 'y': [-abs(v) for v in x]}
files = []
for name in OUTPUTS:
  if name == WRONG:
    values[name][4] += 1
  files.append(None if name == MISSING else os.path.join(folder, name + '.npy'))
  with open(os.path.join(folder, name + '.npy'), 'wb') as file:
    file.write(data[:start] + array.array('f', values[name]).tobytes())
reply(files=files)
'''


def named(name, *arguments, **attributes):
  """A node with a name of its own."""
  return node(*arguments, **attributes).replace(field(3, 'the node'), field(3, name), 1)


def has_onnxruntime():
  return subprocess.run(['python3', '-c', 'import onnxruntime, numpy'], capture_output=True, check=False).returncode == 0


class Compare(unittest.TestCase):

  def setUp(self):
    self.folder = pathlib.Path(tempfile.mkdtemp())
    self.addCleanup(shutil.rmtree, self.folder)
    nodes = [named(f'node_{target}', op, [source], [target]) for op, source, target in (('Neg', 'x', 'a'), ('Abs', 'a', 'b'), ('Neg', 'b', 'y'))]
    self.model = self.folder / 'm.onnx'
    self.model.write_bytes(model(nodes, [value('x', F32, (2, 3))], [value('y', F32, (2, 3))]))

  def python(self, wrong='', missing='', outputs=('y', 'a', 'b')):
    script = self.folder / 'fake.py'
    script.write_text(f'OUTPUTS, WRONG, MISSING = {outputs!r}, {wrong!r}, {missing!r}\n' + FAKE)
    path = self.folder / 'python'
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -B {script} "$@"\n')
    path.chmod(0o755)
    return path

  def run_it(self, *arguments):
    line = [IR_RUN, self.model, '--compare=onnxruntime', *arguments]
    result = subprocess.run([str(part) for part in line], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
    return result.returncode, result.stdout.decode(), result.stderr.decode()

  def test_sequence(self):
    nodes = [named('node_a', 'Neg', ['x'], ['a']), named('node_s', 'SequenceConstruct', ['a'], ['s']),
             named('node_c', 'ConcatFromSequence', ['s'], ['c'], axis=0),
             named('node_b', 'Abs', ['c'], ['b']), named('node_y', 'Neg', ['b'], ['y'])]
    self.model.write_bytes(model(nodes, [value('x', F32, (2, 3))], [value('y', F32, (2, 3))]))
    status, out, err = self.run_it(f"--python={self.python(missing='s', outputs=('y', 'a', 's', 'c', 'b'))}")
    self.assertEqual(status, 0, out + err)
    self.assertIn('4 values compared', out)

  def test_equal(self):
    status, out, err = self.run_it(f'--python={self.python()}')
    self.assertEqual(status, 0, out + err)
    self.assertIn('3 values compared with onnxruntime fake', out)
    self.assertTrue(out.endswith('PASS\n'), out)

  def test_the_first_value_that_differs(self):
    for wrong in ('a', 'b', 'y'):
      with self.subTest(wrong=wrong):
        status, out, err = self.run_it(f'--python={self.python(wrong)}')
        self.assertEqual(status, 1, out + err)
        self.assertIn(f'first difference: value "{wrong}" of node "node_{wrong}" (2x3xf32)', out)
        self.assertIn('1.00e+00 abs', out)
        self.assertIn(' at [1, 1]', out)
        status, out, err = self.run_it(f'--python={self.python(wrong)}', '--json=-')
        report = json.loads(out)
        self.assertEqual((status, report['pass'], report['first_difference']['value'], report['first_difference']['position']),
                         (1, False, wrong, [1, 1]), err)
        self.assertEqual([entry['value'] for entry in report['values']], ['a', 'b', 'y'])

  def test_values_without_numbers(self):
    status, out, err = self.run_it(f'--python={self.python(missing="b")}')
    self.assertEqual(status, 0, out + err)
    self.assertIn('note: onnxruntime gives no numbers for 1 values, such as "b"', out)

  def test_another_number_of_values(self):
    status, _, err = self.run_it(f'--python={self.python(outputs=("y",))}')
    self.assertEqual(status, 4)
    self.assertIn('has 1 values (expected 3)', err)

  def test_a_missing_engine(self):
    bare = self.folder / 'bare'
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S -B "$@"\n')
    bare.chmod(0o755)
    status, _, err = self.run_it(f'--python={bare}')
    self.assertEqual(status, 4)
    self.assertIn('the Python package', err)
    status, _, err = self.run_it(f'--python={self.folder}/none')
    self.assertEqual(status, 4)
    self.assertIn('--python=PATH names the Python to use', err)

  def test_ir_text(self):
    self.model = self.folder / 'm.mlir'
    self.model.write_text('''func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %b = ten.abs(%a) : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%b) : (tensor<2xf32>) -> ()
}) : () -> ()
''')
    status, _, err = self.run_it(f'--python={self.python()}')
    self.assertEqual(status, 2)
    self.assertIn('IR text', err)

  @unittest.skipUnless(has_onnxruntime(), 'python3 has no onnxruntime')
  def test_onnxruntime(self):
    branches = [graph([named(f'mul{i}', 'Mul', ['x', 'w'], [f't{i}'])], [], [value(f't{i}', F32, (2, 4))]) for i in range(2)]
    w = field(1, 4) + field(2, 1) + field(8, 'w') + field(13, field(1, 'location') + field(2, 'w.bin')) + field(14, 1)
    (self.folder / 'w.bin').write_bytes(struct.pack('<4f', 1, 2, 3, 4))
    self.model.write_bytes(model(
        [named('if', 'If', ['c'], ['h'], then_branch=('g', branches[0]), else_branch=('g', branches[1])), named('add', 'Add', ['h', 'w'], ['y'])],
        [value('c', 9, ()), value('x', F32, (2, 4))], [value('y', F32, (2, 4))], [w]))
    status, out, err = self.run_it()
    self.assertEqual(status, 0, out + err)


if __name__ == '__main__':
  unittest.main()
