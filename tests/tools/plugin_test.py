#!/usr/bin/env python3
"""Plugins in all programs: plugin_test.py FOLDER_OF_PROGRAMS ACME.so BROKEN.so MODEL.onnx CC

ACME is examples/embedding as a plugin; MODEL is one that its rule finds GELU in. Files of other versions are made of BROKEN."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN, ACME, BROKEN, MODEL, CC = sys.argv[1:]
del sys.argv[1:]
TEXT = """func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %y = acme.scaled_gelu(%x) <{scale = 2.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %z = ten.abs(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return(%z) : (tensor<4xf32>) -> ()
}) : () -> ()
"""


class Plugins(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, self.folder)
    self.text = self.write('acme.mlir', TEXT.encode())

  def write(self, name, content):
    path = os.path.join(self.folder, name)
    with open(path, 'wb') as file:
      file.write(content)
    return path

  def run_line(self, program, *arguments, mode=''):
    environment = {**os.environ, 'BROKEN_PLUGIN': mode}
    return subprocess.run([os.path.join(BIN, program), *arguments], cwd=self.folder, env=environment, capture_output=True, text=True,
                          check=False, timeout=300, stdin=subprocess.DEVNULL)

  def ok(self, *line):
    result = self.run_line(*line)
    self.assertEqual((result.returncode, result.stderr), (0, ''), result.stdout)
    return result.stdout

  def refused(self, *line, mode=''):
    result = self.run_line(*line, mode=mode)
    self.assertEqual((result.returncode, result.stdout), (2, ''), result.stderr)
    return result.stderr

  def changed(self, *changes):
    """A copy of BROKEN with other bytes of the same number."""
    with open(BROKEN, 'rb') as file:
      content = file.read()
    for before, after in changes:
      self.assertIn(before, content)
      self.assertEqual(len(before), len(after))
      content = content.replace(before, after)
    return self.write('changed.so', content)

  def test_runs(self):
    plugin = '--load-plugin=' + ACME
    # Passes of a plugin are options, wherever it is named.
    for line in ((plugin, '-O2', '--acme-merge-scale'), ('-O2', '--acme-merge-scale', plugin)):
      self.assertEqual(self.ok('ir-opt', MODEL, '--elide-resources', *line).count('acme.scaled_gelu'), 2)
    self.assertNotIn('acme', self.ok('ir-opt', MODEL, '--elide-resources', '-O2'))
    self.assertIn('fired', self.ok('ir-opt', MODEL, '-O2', '--explain=acme-scaled-gelu', plugin))
    self.assertIn('acme.scaled_gelu', self.ok('ir-opt', self.text, '-O2', '--lower', plugin))
    self.assertEqual(self.run_line('ir-opt', self.text, '-O2', '--verify-semantics', plugin).returncode, 0)
    self.assertIn('acme-scaled-gelu', self.run_line('ir-opt', MODEL, '-O2', '--pass-statistics', '-o', 'out.mlir', plugin).stderr)
    for line in (('ir-run', '--runs=1'), ('ir-bench', '--rounds=1', '--turn=1'), ('ir-bisect',), ('ir-reduce', '--test=true')):
      result = self.run_line(*line, self.text, plugin)
      self.assertEqual(result.returncode, 0, result.stderr)
    self.assertEqual(self.run_line('ir-run', '--runs=1', MODEL, plugin).returncode, 0)
    self.assertIn('acme.scaled_gelu', self.refused('ir-opt', self.text))

  def test_shows_what_it_adds(self):
    plugin = '--load-plugin=' + ACME
    self.assertIn('--acme-merge-scale', self.ok('ir-opt', '--list-passes', plugin))
    self.assertIn('acme.scaled_gelu', self.ok('ir-opt', '--list-ops', plugin))
    rules = self.ok('ir-opt', '--list-rules', plugin)
    self.assertIn(f'acme: rules of the plugin {ACME}', rules)
    self.assertIn('  acme-scaled-gelu', rules)
    self.assertIn('acme-scaled-gelu', self.ok('ir-opt', '--list-rules=acme-*', plugin))
    self.assertIn('digraph', self.ok('ir-opt', '--rule-automaton=acme', plugin))
    self.assertIn('1 rule checked: 0 wrong', self.ok('ir-opt', '--check-rules', plugin))
    for program in ('ir-opt', 'ir-run', 'ir-bench', 'ir-bisect', 'ir-reduce'):
      text = self.ok(program, '--help', plugin)
      for name in (f'acme, of {ACME}', 'acme.scaled_gelu', 'ref.acme.scaled_gelu', 'acme-scaled-gelu', '--acme-merge-scale'):
        self.assertIn(name, text)
      self.assertNotIn('acme', self.ok(program, '--help'))

  def test_files_that_are_no_plugin(self):
    source = self.write('empty.c', b'int nothing;\n')
    library = os.path.join(self.folder, 'empty.so')
    subprocess.run([CC, '-shared', '-fPIC', '-o', library, source], check=True)
    for name, wanted in (('missing.so', 'No such file'), ('.', 'not a regular file'), ('acme.mlir', 'not a shared library'),
                         ('empty.so', 'not a plugin of Tenon'), (os.path.join(BIN, 'ir-opt'), 'cannot be loaded')):
      for program in ('ir-opt', 'ir-run'):
        message = self.refused(program, self.text, '--load-plugin', name)
        self.assertTrue(message.startswith(f'{program}: {name}: '), message)
        self.assertIn(wanted, message)
    os.mkfifo(os.path.join(self.folder, 'fifo.so'))
    self.assertIn('fifo.so: not a regular file', self.refused('ir-opt', self.text, '--load-plugin=fifo.so'))

  def test_a_name_is_a_path(self):
    """The loader's folders are not searched."""
    shutil.copy(ACME, os.path.join(self.folder, 'libacme-copy.so'))
    self.assertIn('acme', self.ok('ir-opt', '--list-ops', '--load-plugin=libacme-copy.so'))
    environment = {**os.environ, 'LD_LIBRARY_PATH': self.folder}
    result = subprocess.run([os.path.join(BIN, 'ir-opt'), '--list-ops', '--load-plugin=libacme-copy.so'], cwd='/', env=environment,
                            capture_output=True, text=True, check=False, timeout=60)
    self.assertEqual(result.returncode, 2, result.stdout)
    self.assertIn('libacme-copy.so: No such file', result.stderr)

  def test_other_versions(self):
    other = self.changed((b'|Tenon 0.', b'|Tenon 9.'))
    message = self.refused('ir-opt', '--list-ops', '--load-plugin=' + other, mode='throw')
    for part in (other, 'Tenon 9.', 'Tenon 0.', 'interface 1'):
      self.assertIn(part, message)
    self.assertIn('interface 7', self.refused('ir-run', self.text, '--load-plugin=' + self.changed((b'|interface 1|', b'|interface 7|'))))
    for part, changed in ((b'|headers ', b'|headerz '), (b'|C++ ABI ', b'|C++ ABJ ')):
      message = self.refused('ir-opt', '--list-ops', '--load-plugin=' + self.changed((part, changed)))
      self.assertIn(changed.decode()[1:], message)
      self.assertIn('was built with', message)
    self.assertIn('Tenon', self.refused('ir-opt', '--list-ops', '--load-plugin=' + self.changed((b'|Tenon 0.', b'\0Tenon 0.'))))

  def test_missing_symbols(self):
    message = self.refused('ir-opt', '--list-ops', '--load-plugin=' + self.changed((b'\0tenonPlugin\0', b'\0tenonPlugim\0')))
    self.assertIn('not a plugin of Tenon', message)
    message = self.refused('ir-opt', '--list-ops', '--load-plugin=' + self.changed((b'InferElementwise', b'InferElementwize')))
    self.assertIn('undefined symbol', message)
    self.assertIn('InferElementwize', message)

  def test_functions_that_fail(self):
    self.assertIn('broken.op', self.ok('ir-opt', '--list-ops', '--load-plugin=' + BROKEN))
    for mode, wanted in (('throw', 'an exception: no license'), ('throw-number', 'an exception that is no std::exception'),
                         ('status', 'the server does not answer'), ('pass', "'cse'"), ('kernel', "'broken.other'"),
                         ('no-infer', 'has no shape function'), ('nested', 'it loads other plugins')):
      with self.subTest(mode=mode):
        message = self.run_line('ir-opt', '--list-ops', '--load-plugin=' + BROKEN, mode=mode).stderr
        self.assertTrue(message.startswith(f"ir-opt: {BROKEN}: plugin 'broken': "), message)
        self.assertIn(wanted, message)
        self.assertEqual(message.count('\n'), 1)

  def test_the_same_plugin_twice(self):
    copy = os.path.join(self.folder, 'copy.so')
    shutil.copy(ACME, copy)
    for second in (ACME, copy):
      message = self.refused('ir-opt', '--list-ops', '--load-plugin=' + ACME, '--load-plugin=' + second)
      self.assertIn(f"{second}: there is a plugin 'acme' already, in {ACME}", message)
    both = self.ok('ir-opt', '--list-ops', '--load-plugin=' + BROKEN, '--load-plugin=' + ACME)
    self.assertTrue('broken.op' in both and 'acme.scaled_gelu' in both)


if __name__ == '__main__':
  unittest.main()
