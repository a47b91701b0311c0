#!/usr/bin/env python3
"""What leaves the fast path is named: fallback_notes_test.py FOLDER_OF_PROGRAMS [EMULATED_PLUGIN]. Takes some seconds."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import command_line

BIN = sys.argv.pop(1)
PLUGIN = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1].endswith('.so') else None
MERGED = os.path.join(command_line.MODELS, 'gpt2_merged.optimum/model.onnx')
PRODUCTS = """func.func() <{function_type = (tensor<16x16xTYPE>) -> tensor<16x16xTYPE>, sym_name = "main"}> ({
^bb0(%a: tensor<16x16xTYPE>):
  %0 = ten.matmul(%a, %a) : (tensor<16x16xTYPE>, tensor<16x16xTYPE>) -> tensor<16x16xTYPE>
  %1 = ten.matmul(%0, %a) : (tensor<16x16xTYPE>, tensor<16x16xTYPE>) -> tensor<16x16xTYPE>
  func.return(%1) : (tensor<16x16xTYPE>) -> ()
}) : () -> ()
"""
WHY = 'cpu.matmul: needs f32, operand 0 is f64'
REGIONS = 'regions of control flow run on the host'
BENCH = ['--rounds=1', '--turn=1', '--time=1', '--warmup=1']


def run(program, *arguments, plugin=None):
  environment = {**os.environ, 'TENON_CUDA_PLUGIN': plugin} if plugin else None
  result = subprocess.run([os.path.join(BIN, program), *arguments], env=environment, capture_output=True, text=True,
                          check=False, timeout=280)
  if result.returncode != 0:
    raise AssertionError(f'{program} {arguments}: {result.returncode}\n{result.stderr[-2000:]}')
  return result.stdout


class FallbackNotes(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name

  def products(self, dtype):
    path = os.path.join(self.folder, dtype + '.mlir')
    with open(path, 'w', encoding='ascii') as file:
      file.write(PRODUCTS.replace('TYPE', dtype))
    return path

  def test_reference_kernels(self):
    path = self.products('f64')
    note = f'{path}:3:8: ten.matmul runs on a reference kernel: {WHY} (2 operations)'
    self.assertIn(f'note: {note}\n', run('ir-run', path))
    self.assertEqual(json.loads(run('ir-run', path, '--json=-'))['notes'], [note])
    self.assertIn(f'note: {note}\n', run('ir-bench', path, *BENCH))
    self.assertIn(note, json.loads(run('ir-bench', path, *BENCH, '--json=-'))['notes'])
    self.assertEqual(run('ir-opt', path, '-O2', '--lower').count(f'kernel.fallback = "{WHY}"'), 2)
    profile = os.path.join(self.folder, 'p.json')
    self.assertIn(f'ref.matmul of ten.matmul: {WHY}', run('ir-run', path, '--profile=' + profile))
    with open(profile, encoding='ascii') as file:
      found = json.load(file)
    self.assertEqual([(row['call'], row['reason'], row['calls']) for row in found['fallbacks']],
                     [('ref.matmul of ten.matmul', WHY, 2)])
    self.assertEqual([call['fallback'] for call in found['calls']], [WHY, WHY])
    self.assertNotIn('reference kernel', run('ir-run', path, '--reference'))

  def test_fast_programs_say_nothing(self):
    for dtype in ('f32', 'f16', 'bf16'):
      path = self.products(dtype)
      self.assertNotIn('note:', run('ir-run', path, '--profile'))
      self.assertNotIn('kernel.fallback', run('ir-opt', path, '-O2', '--lower'))

  @unittest.skipUnless(PLUGIN, 'needs the emulated plugin')
  def test_regions_on_a_gpu(self):
    profile = os.path.join(self.folder, 'p.json')
    text = run('ir-run', MERGED, '--device=cuda', '--runs=1', '--profile=' + profile, plugin=PLUGIN)
    self.assertRegex(text, r'note: .*ctl\.if runs on the CPU, with \d+ operations: ' + REGIONS)
    self.assertRegex(text, r'note: copied in a run: \d+ inputs and \d+ values')
    with open(profile, encoding='ascii') as file:
      found = json.load(file)
    self.assertGreater(len(found['fallbacks']), 3)
    self.assertEqual({row['reason'] for row in found['fallbacks']}, {REGIONS})
    lowered = run('ir-opt', MERGED, '-O2', '--lower-cuda', '--elide-resources')
    self.assertGreater(lowered.count(f'kernel.fallback = "{REGIONS}"'), 10)
    self.assertRegex(run('ir-bench', MERGED, '--device=cuda', *BENCH, plugin=PLUGIN),
                     r'note: .*ctl\.if runs on the CPU, with \d+ operations: ' + REGIONS)


if __name__ == '__main__':
  unittest.main()
