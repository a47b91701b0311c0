"""Binary modules in all programs. Usage: binary_module_test.py FOLDER_OF_PROGRAMS."""

import os
import subprocess
import sys
import tempfile
import unittest

BIN = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'build/bin'
BERT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'models', 'bert.eager.ts17')
MODEL = os.path.join(BERT, 'model.onnx')


def run(program, *arguments, stdin=None):
  return subprocess.run([os.path.join(BIN, program), *arguments], capture_output=True, check=False, timeout=600, input=stdin)


class BinaryModuleTest(unittest.TestCase):

  def setUp(self):
    holder = tempfile.TemporaryDirectory()
    self.addCleanup(holder.cleanup)
    self.folder = holder.name

  def path(self, name):
    return os.path.join(self.folder, name)

  def write(self, *arguments, name='m.tnb'):
    result = run('ir-opt', MODEL, *arguments, '-o', self.path(name))
    self.assertEqual((result.returncode, result.stderr), (0, b''))
    return self.path(name)

  def text(self, *arguments, stdin=None):
    result = run('ir-opt', *arguments, '--print-locations', stdin=stdin)
    self.assertEqual(result.returncode, 0, result.stderr)
    return result.stdout

  def test_text_is_the_same_behind_a_binary_file(self):
    for level in ('-O0', '-O2'):
      with self.subTest(level=level):
        self.assertEqual(self.text(self.write(level)), self.text(MODEL, level))

  def test_equal_programs_give_equal_bytes(self):
    with open(self.write('-O2'), 'rb') as first, open(self.write('-O2', name='again.tnb'), 'rb') as second:
      self.assertEqual(first.read(), second.read())

  def test_is_known_by_its_first_bytes(self):
    with open(self.write(), 'rb') as file:
      contents = file.read()
    expected = self.text(MODEL)
    for name in ('m', 'm.mlir', 'm.onnx'):
      with self.subTest(name=name), open(self.path(name), 'wb') as file:
        file.write(contents)
        file.flush()
        self.assertEqual(self.text(self.path(name)), expected)
    self.assertEqual(self.text('-', stdin=contents), expected)

  def test_a_lowered_program_is_kept(self):
    self.assertEqual(self.text(self.write('-O2', '--lower')), self.text(MODEL, '-O2', '--lower'))

  def test_all_programs_read_it(self):
    file = self.write()
    data = os.path.join(BERT, 'test_data_set_0')
    result = run('ir-run', file, '--check=' + data, '--runs=1')
    self.assertEqual((result.returncode, b'PASS' in result.stdout), (0, True), result.stderr)
    result = run('ir-bench', file, '--rounds=1', '--turn=1', '--time=1', '--warmup=1', '--threads=1')
    self.assertEqual(result.returncode, 0, result.stderr)
    result, of_model = (run('ir-bisect', one, '--check=' + data, '--threads=1') for one in (file, MODEL))
    self.assertEqual(result.returncode, of_model.returncode, result.stderr)

  def test_reducer_reads_and_writes_it(self):
    small = self.path('small.tnb')
    result = run('ir-reduce', self.write(), '--test=grep -q ten.softmax {} || grep -q nn.softmax {}', '-o', small, '--max-tries=60')
    self.assertEqual(result.returncode, 0, result.stderr)
    with open(small, 'rb') as file:
      self.assertEqual(file.read(4), b'\x89TNB')
    self.assertIn(b'softmax', self.text(small))

  def test_parameters_go_to_a_file_of_their_own(self):
    weights = self.path('w.safetensors')
    file = self.write('--unfold-parameters', '--save-params=' + weights)
    self.assertLess(os.path.getsize(file), os.path.getsize(weights))
    result = run('ir-run', file, '--params=' + weights, '--check=' + os.path.join(BERT, 'test_data_set_0'), '--runs=1')
    self.assertEqual(result.returncode, 0, result.stderr)

  def test_options_of_text_are_refused(self):
    for arguments, message in ((('--print-locations',), 'where no IR is printed'), (('--split-input-file',), 'binary module'),
                               (('--elide-resources',), 'where no IR is printed')):
      with self.subTest(arguments=arguments):
        result = run('ir-opt', MODEL, *arguments, '-o', self.path('refused.tnb'))
        self.assertEqual(result.returncode, 2)
        self.assertIn(message, result.stderr.decode())
        self.assertFalse(os.path.exists(self.path('refused.tnb')))
    file = self.write()
    result = run('ir-opt', file, '--shape=batch=1')
    self.assertIn('this is a binary module', result.stderr.decode())
    self.assertEqual(result.returncode, 2)
    result = run('ir-opt', file, '--split-input-file', '--elide-resources')
    self.assertEqual(result.returncode, 0)
    self.assertIn('--split-input-file has no effect on what is not IR text', result.stderr.decode())

  def test_damaged_files_are_errors_of_one_line(self):
    with open(self.write(), 'rb') as file:
      contents = file.read()
    newer = contents[:8] + b'\x07' + contents[9:]
    damaged = contents[:100] + bytes([contents[100] ^ 1]) + contents[101:]
    for name, changed, message in (('newer', newer, 'version 7 of the binary format, and this build reads versions 1 to 1'),
                                   ('cut', contents[:1000], 'it is cut off'), ('damaged', damaged, 'its checksum is another'),
                                   ('head', contents[:20], 'ends within its header')):
      for program in ('ir-opt', 'ir-run'):
        with self.subTest(name=name, program=program):
          with open(self.path('bad.tnb'), 'wb') as file:
            file.write(changed)
          result = run(program, self.path('bad.tnb'))
          self.assertEqual(result.returncode, 2)
          self.assertIn(message, result.stderr.decode())
          self.assertEqual(result.stderr.count(b'\n'), 1, result.stderr)


if __name__ == '__main__':
  unittest.main()
