#!/usr/bin/env python3
"""What programs read of a model besides its file: model_files_test.py FOLDER_OF_PROGRAMS."""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from onnx_wire import F32, model, node, one_op, tensor, value

BIN = pathlib.Path(sys.argv.pop(1))
QUICK = {
    'ir-opt': ['-O2'],
    'ir-run': ['--runs=1'],
    'ir-bench': ['--rounds=1', '--turn=1', '--time=1', '--warmup=1'],
    'ir-bisect': [],
    'ir-reduce': ['--test=true', '--max-tries=1'],
}
# Statuses that say the model was read. ir-bisect finds nothing wrong.
READ = {'ir-opt': {0}, 'ir-run': {0}, 'ir-bench': {0}, 'ir-bisect': {0, 1, 4, 5}, 'ir-reduce': {0}}


def run(program, *arguments, data=None):
  line = [str(BIN / program), *QUICK[program], *map(str, arguments)]
  result = subprocess.run(line, input=data, capture_output=True, check=False, timeout=100)
  return result.returncode, result.stdout.decode(), result.stderr.decode(errors='replace')


class ModelFiles(unittest.TestCase):

  def setUp(self):
    self.folder = pathlib.Path(tempfile.mkdtemp())
    self.addCleanup(shutil.rmtree, self.folder)
    self.weights = tensor('w', F32, (4,), external={'location': 'w.bin'})
    self.model = one_op('Add', (4,), [self.weights], extra=['w'])
    (self.folder / 'm').mkdir()
    (self.folder / 'data').mkdir()
    (self.folder / 'm/m.onnx').write_bytes(self.model)
    (self.folder / 'data/w.bin').write_bytes(struct.pack('<4f', 1, 2, 3, 4))

  def test_external_data_of_another_folder(self):
    path, data = self.folder / 'm/m.onnx', self.folder / 'data'
    for program, statuses in READ.items():
      with self.subTest(program=program):
        status, _, err = run(program, path)
        self.assertEqual(status, 2, err)
        self.assertIn('external data file "w.bin"', err)
        status, _, err = run(program, path, f'--external-data={data}')
        self.assertIn(status, statuses, err)

  def test_links(self):
    path = self.folder / 'm/m.onnx'
    for make in (lambda: (self.folder / 'm/w.bin').symlink_to('../data/w.bin'),
                 lambda: os.link(self.folder / 'data/w.bin', self.folder / 'm/w.bin')):
      make()
      for program, statuses in READ.items():
        with self.subTest(program=program):
          status, _, err = run(program, path)
          self.assertEqual(status, 2, err)
          # The message says how to accept what it refuses.
          self.assertIn('--external-data-links', err)
          status, _, err = run(program, path, '--external-data-links')
          self.assertIn(status, statuses, err)
      (self.folder / 'm/w.bin').unlink()

  def test_a_model_of_standard_input(self):
    for program in ('ir-opt', 'ir-run'):
      with self.subTest(program=program):
        status, _, err = run(program, '-', data=self.model)
        self.assertEqual(status, 2, err)
        self.assertIn('--external-data names one', err)
        status, _, err = run(program, '-', f'--external-data={self.folder / "data"}', data=self.model)
        self.assertEqual(status, 0, err)


class OpaqueOps(unittest.TestCase):
  """What ir-opt prints of a model, it reads, with operators that Tenon does not know."""

  MODELS = {
      'an unknown operator': model([node('Unheard', ['x'], ['y'])], [value('x', F32, (4,))], [value('y', F32, (4,))]),
      'another domain': model([node('Own', ['x'], ['y'], domain='my.domain', alpha=0.5)], [value('x', F32, (4,))],
                              [value('y', F32, (4,))]),
      'a type without counterpart': model(
          [node('Unheard', ['x'], ['h']), node('Relu', ['h'], ['y'])], [value('x', 8, (4,))], [value('y', F32, (4,))]),
      'graphs within': model(
          [node('Unheard', ['x'], ['y'],
                body=('g', b''.join((b'',))))], [value('x', F32, (4,))], [value('y', F32, (4,))]),
  }

  def test_round_trips(self):
    for name, content in self.MODELS.items():
      for options in ([], ['--print-generic'], ['--print-locations']):
        with self.subTest(model=name, options=options), tempfile.TemporaryDirectory() as folder:
          path = pathlib.Path(folder, 'm.onnx')
          path.write_bytes(content)
          status, text, err = run('ir-opt', path, *options)
          self.assertEqual(status, 0, err)
          self.assertIn('onnx.', text)
          status, again, err = run('ir-opt', '-', *options, data=text.encode())
          self.assertEqual(status, 0, err)
          self.assertEqual(again, text)

  def test_programs_name_the_operator(self):
    _, text, _ = run('ir-opt', '-', data=self.MODELS['another domain'])
    status, _, err = run('ir-run', '-', data=text.encode())
    self.assertEqual(status, 3, err)
    self.assertIn('onnx.my.domain.Own', err)

  def test_other_unknown_dialects_need_the_option(self):
    status, _, err = run('ir-opt', '-', data=b'%0 = my.op() : () -> i32')
    self.assertEqual(status, 2, err)
    self.assertIn('--allow-unregistered-dialect', err)


if __name__ == '__main__':
  unittest.main()
