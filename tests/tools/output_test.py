"""What the programs print arrives or is missed, and names from models do no harm. Usage: output_test.py FOLDER_OF_PROGRAMS."""

import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import command_line

BIN = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'build/bin'
MODEL = os.path.join(command_line.MODELS, 'squeezenet_bn.eager.ts13/model.onnx')
NAMED = os.path.join(command_line.MODELS, 'bert.eager.ts17/model.onnx')
RUN = ['--runs=1', '--threads=1']
BENCH = ['--rounds=1', '--turn=1', '--time=1', '--warmup=1', '--threads=1']
# Controls, C1, marks of direction, characters without width, what is no UTF-8.
HARMFUL = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]')

CHAIN = '''func.func() <{{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "f"}}> ({{
^bb0(%v0: tensor<2xf32>):
{}
  func.return(%v{}) : (tensor<2xf32>) -> ()
}}) : () -> ()
'''


def program(name):
  return os.path.join(BIN, name)


def run(name, *args, **more):
  more = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'timeout': 300, **more}
  if 'input' in more:
    del more['stdin']
  return subprocess.run([program(name), *args], check=False, **more)


# What each program needs besides the option to be quick, and an argument that makes it read a model.
LINES = {'ir-opt': [MODEL], 'ir-run': [MODEL, *RUN], 'ir-bench': [MODEL, *BENCH]}


class OutputTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, self.folder)

  def lines(self):
    """Each option of each program, once each way."""
    values = command_line.Values(self.folder)
    for name, line in LINES.items():
      passes = False
      for row in command_line.options(program(name)):
        option = row[0]
        passes = passes or (name == 'ir-opt' and option == '--apply-rules')
        if passes and option not in ('--cse', '-O2'):
          continue  # passes print nothing of their own
        taken = {argument.partition('=')[0] for argument in line}
        if option in taken or option == '--neighbor':
          continue
        for arguments in values.arguments(row, MODEL):
          if 'cuda' in arguments[0] or arguments == ['--check-rules']:
            continue  # no device; a minute for all rules
          own = [] if option in ('--check-rules', '--onnx-test') else line
          yield [name, *own, *arguments]

  def test_help_fits_a_screen(self):
    for name, most in (('ir-opt', 60), ('ir-run', 60), ('ir-bench', 60), ('ir-bisect', 60), ('ir-reduce', 60)):
      with self.subTest(name=name):
        lines = run(name, '--help').stdout.decode().splitlines()
        self.assertLessEqual(len(lines), most)
        every = run(name, '--help=all').stdout.decode().splitlines()
        self.assertEqual([line for line in lines + every if len(line) > 100], [])
        self.assertLess({line for line in lines if line.startswith('  -')}, {line for line in every if line.startswith('  -')})
        titles = [line for line in lines if re.fullmatch('[A-Z][^:]*:', line)]
        self.assertGreater(len(titles), 6)
        self.assertEqual(titles[-3:], ['Exit status:', 'Examples:', 'Guides:'])
        rows = [line for line in lines if line.startswith('  -')]
        self.assertGreater(len(rows), 10)
        for row in rows:
          self.assertRegex(row, r'^  -\S.*?  +\S')  # one line with a text
        for page in re.findall(r'docs/\S+\.md', '\n'.join(lines)):
          self.assertTrue(os.path.exists(os.path.join(command_line.ROOT, page)), page)

  def test_what_cannot_be_printed_is_an_error(self):
    tried = 0
    lines = list(self.lines())
    chosen = command_line.share(lines, 'options whose output is lost')
    for name, *line in chosen:
      with self.subTest(line=[name, *line]):
        usual = run(name, *line)
        if usual.returncode != 0 or not usual.stdout:
          continue
        tried += 1
        with open('/dev/full', 'wb') as full:
          result = run(name, *line, stdout=full)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(b'standard output: cannot be written: No space left', result.stderr)
    self.assertGreater(tried, 30 * len(chosen) // len(lines))

  def test_reports_on_standard_error_that_are_lost(self):
    for option in ('--timing', '--timing-json', '--pass-statistics', '--print-ir-after-all', '--dump-pass-pipeline'):
      with self.subTest(option=option), open('/dev/full', 'wb') as full:
        self.assertNotEqual(run('ir-opt', MODEL, '-O1', option, '-o', '/dev/null', stderr=full).returncode, 0)

  def test_a_closed_stream(self):
    for name, line in LINES.items():
      for args in (['--help'], line):
        with self.subTest(name=name, args=args):
          command = ' '.join([program(name), *args])
          result = subprocess.run(['sh', '-c', command + ' >&-'], capture_output=True, check=False, timeout=300)
          self.assertEqual(result.returncode, 2, result.stderr)
          self.assertIn(b'standard output: cannot be written', result.stderr)
    # A file that is written does not get the stream's number.
    out = os.path.join(self.folder, 'out.mlir')
    command = f'{program("ir-opt")} {MODEL} --cse -o {out} --timing 2>&- >&-'
    self.assertEqual(subprocess.run(['sh', '-c', command], check=False, timeout=300).returncode, 2)
    with open(out, encoding='utf-8') as file:
      self.assertNotIn('Execution time', file.read())

    # Nor is the file blamed for the stream.
    for streams in ('>&-', '2>&-', '<&-', '<&- >&- 2>&-'):
      for name, file in (('ir-opt', f'{MODEL} --cse -o /dev/null'), ('ir-opt', f'{MODEL} -O2 --fusion-report=/dev/null')):
        with self.subTest(streams=streams, file=file):
          result = subprocess.run(['sh', '-c', f'{program(name)} {file} {streams}'], capture_output=True, check=False, timeout=300)
          self.assertEqual(result.returncode, 0, result.stderr)

  def test_two_outputs_in_one_file(self):
    text = os.path.join(self.folder, 'm.mlir')
    with open(text, 'w', encoding='utf-8') as file:
      file.write(CHAIN.format('  %v1 = ten.abs(%v0) : (tensor<2xf32>) -> tensor<2xf32>', 1))
    os.mkdir(os.path.join(self.folder, 'sub'))
    os.symlink('same.json', os.path.join(self.folder, 'link.json'))
    os.symlink('.', os.path.join(self.folder, 'here'))
    spellings = ('same.json', './same.json', 'sub/../same.json', 'link.json', 'here/same.json', os.path.join(self.folder, 'same.json'))
    checked = 0
    for name in command_line.PROGRAMS:
      outputs = [row[0] for row in command_line.options(program(name))
                 if row[0] in ('-o', '--fusion-report', '--trace', '--json', '--profile') and not (name == 'ir-bisect' and row[0] == '-o')]
      for first in outputs:
        for second in outputs:
          for spelling in spellings if first < second else ():
            ends = 'same.json'
            if '-o' in (first, second):
              continue  # no name is right for IR text and for a report in JSON
            with self.subTest(name=name, first=first, second=second, spelling=spelling):
              line = [os.path.abspath(program(name)), 'm.mlir', '-O2', f'{first}={ends}', f'{second}={spelling}']
              result = subprocess.run(line, capture_output=True, check=False, timeout=300, cwd=self.folder)
              self.assertEqual(result.returncode, 2, result.stderr)
              self.assertIn(b'both write', result.stderr)
              self.assertFalse(os.path.exists(os.path.join(self.folder, 'same.json')))
              checked += 1
    self.assertGreaterEqual(checked, 12)
    line = [os.path.abspath(program('ir-opt')), 'm.mlir', '-O2', '-o', 'same', '--fusion-report=same']
    result = subprocess.run(line, capture_output=True, check=False, timeout=300, cwd=self.folder)
    self.assertIn(b'both write', result.stderr)
    # Nothing is lost on devices.
    self.assertEqual(run('ir-opt', text, '-O2', '-o', '/dev/null', '--fusion-report=/dev/null').returncode, 0)

  def test_outputs_that_are_inputs(self):
    """No output replaces what the program reads; -o may replace the model, as it is read as a whole before."""
    # An option with the file that it reads. The files are wrong: each is refused before it is opened.
    inputs = {'--rules': 'file', '--load-ops': 'file', '--load-plugin': 'file', '--params': 'file', '--view-profile': 'file',
              '--replace-params': 'file', '--adapter': 'file', '--input': 'x=file', '--inputs': 'folder', '--check': 'folder'}
    outputs = {'-o': 'file', '--save-params': 'file', '--json': 'file.json', '--fusion-report': 'file', '--trace': 'file.json',
               '--view': 'file.html', '--pass-pipeline-crash-reproducer': 'file', '--external-data-out': 'file', '--profile': 'file.json',
               '--save-program': 'file', '--save-outputs': 'folder', '--print-ir-tree-dir': 'folder'}
    for name in ('file', 'file.json', 'file.html'):
      with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as file:
        file.write(CHAIN.format('  %v1 = ten.abs(%v0) : (tensor<2xf32>) -> tensor<2xf32>', 1))
    os.mkdir(os.path.join(self.folder, 'folder'))
    os.symlink('.', os.path.join(self.folder, 'here'))
    model = os.path.join(self.folder, 'm.mlir')
    shutil.copy(os.path.join(self.folder, 'file'), model)
    checked = set()
    for name in command_line.PROGRAMS:
      given = {row[0]: row[1] for row in command_line.options(program(name))}
      # Each option whose value is a file or a folder has a part in this test.
      known = {*inputs, *outputs, '--check-rules', '--rule-automaton', '--weight-cache', '--external-data', '--onnx-test', '--python'}
      self.assertEqual({option for option, value in given.items() if re.search(r'\b(FILE|DIR)\b', value)} - known, set())
      for output in given.keys() & outputs.keys():
        target = 'folder' if given[output] == 'DIR' else outputs[output]
        lines = [(['here/' + target], True)]
        for option in given.keys() & inputs.keys():
          if ('folder' in inputs[option]) == (target == 'folder'):
            lines.append(([model, option, inputs[option].replace('file', target)], False))
        for line, is_model in lines if target != 'folder' else lines[1:]:
          before = {file: pathlib.Path(self.folder, file).read_bytes() for file in ('file', 'file.json', 'file.html')}
          result = subprocess.run([os.path.abspath(program(name)), *line, f'{output}={target}'], capture_output=True, check=False,
                                  timeout=300, cwd=self.folder)
          message = result.stderr.decode()
          with self.subTest(name=name, line=line, output=output):
            if is_model and output == '-o':
              self.assertNotIn('would replace', message)
              continue
            self.assertEqual(result.returncode, 2, message)
            reader = 'is the input' if is_model else f'{line[1]} reads'
            self.assertEqual(message, f'{name}: {output} would replace {target}, which {reader} (expected another name)\n')
            self.assertEqual(before, {file: pathlib.Path(self.folder, file).read_bytes() for file in before})
          checked.add((name, output, line[1] if not is_model else ''))
    self.assertGreater(len(checked), 60)
    result = run('ir-opt', model, '--cse', '-o', model)
    self.assertEqual(result.returncode, 0, result.stderr)

  def test_outputs_that_are_files_of_the_model(self):
    """External data, which no option names."""
    for name, data, *line in (('ir-opt', 'w.json', '-O2', '--trace='), ('ir-opt', 'w', '-O2', '--fusion-report='), ('ir-opt', 'w', '-O1', '-o='),
                              ('ir-run', 'w.json', *RUN, '--json='), ('ir-bench', 'w.json', *BENCH, '--json=')):
      model, data = os.path.join(self.folder, 'm.onnx'), os.path.join(self.folder, data)
      self.assertEqual(run('ir-opt', MODEL, '--simplify', '-o', model, f'--external-data-out={data}').returncode, 0)
      content = pathlib.Path(data).read_bytes()
      self.assertTrue(content)
      with self.subTest(name=name, line=line):
        result = run(name, model, *line[:-1], line[-1] + data)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(b'which the model needs (expected another name)', result.stderr)
        self.assertEqual(pathlib.Path(data).read_bytes(), content)

  def test_a_pipe_that_nobody_reads(self):
    for name, line in LINES.items():
      with self.subTest(name=name):
        read, write = os.pipe()
        os.close(read)
        result = run(name, *line, stdout=write)
        os.close(write)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(b'standard output: cannot be written: Broken pipe', result.stderr)

  def test_files_that_cannot_be_written(self):
    def limit():
      signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
      resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    for name, option, ending in (('ir-opt', '-o', '.mlir'), ('ir-opt', '--fusion-report', '.json'), ('ir-opt', '--view', '.html'),
                                 ('ir-run', '--json', '.json'), ('ir-run', '--profile', '.json'),
                                 ('ir-run', '--profile', '.trace.json'), ('ir-run', '--save-outputs', ''),
                                 ('ir-bench', '--json', '.json')):
      passes = ['-O1'] if name == 'ir-opt' else []
      with self.subTest(name=name, option=option):
        path = os.path.join(self.folder, 'limited' + ending)
        result = run(name, *LINES[name], *passes, f'{option}={path}', preexec_fn=limit)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(b'File too large', result.stderr)
        self.assertFalse(os.path.isfile(path))
        if option != '--save-outputs':
          self.assertEqual(run(name, *LINES[name], *passes, f'{option}=/dev/full').returncode, 2)
    left = [entry for _, _, files in os.walk(self.folder) for entry in files]
    self.assertEqual(left, [])

  def test_names_that_promise_another_format(self):
    for name, option, file, format_name in (
        ('ir-opt', '-o', 'out.ort', 'a model of ONNX Runtime'), ('ir-opt', '-o', 'out.ONNX', 'an ONNX model'),
        ('ir-opt', '-o', 'out.json', 'JSON'), ('ir-opt', '-o', 'out.npy', 'a NumPy array'),
        ('ir-opt', '-o', 'out.mlir.gz', 'a compressed file'), ('ir-opt', '--fusion-report', 'r.onnx', 'an ONNX model'),
        ('ir-opt', '--fusion-report', 'r.mlir', 'IR text'), ('ir-run', '--json', 'out.onnx', 'an ONNX model'),
        ('ir-bench', '--json', 'out.mlir', 'IR text'), ('ir-run', '--json', 'out.tnb', 'a binary module')):
      with self.subTest(name=name, option=option, file=file):
        path = os.path.join(self.folder, file)
        passes = ['-O1'] if option == '--fusion-report' else []
        result = run(name, MODEL, *passes, option + '=' + path)
        self.assertEqual((result.returncode, result.stdout), (2, b''))
        self.assertIn(f'the name promises {format_name} (expected a name like out.', result.stderr.decode())
        self.assertFalse(os.path.exists(path))
    for file in ('out', 'out.txt', 'out.mlir', 'out.ir'):
      self.assertEqual(run('ir-opt', MODEL, '-o', os.path.join(self.folder, file)).returncode, 0)

  def test_names_from_models_are_escaped(self):
    with open(NAMED, 'rb') as file:
      model = file.read()
    for old, new in ((b'/intermediate/intermediate_act_fn/Erf', b'\x1b]0;t\x07\x1b[2J\nFAIL: \xe2\x80\xae\xc2\x9b\xff\x7f'),
                     (b'/attention/self/value/MatMul', b'\x1b[31m\xff/\xe2\x80\xae\n'),
                     (b'input_ids', b'\x1b[31m\xe2\x80\x8b\n'), (b'attention_mask', b'\x1b[1;1H\r\xc2\x85\xff\n')):
      self.assertIn(old, model)
      model = model.replace(old, new[:len(old)] + b'x' * (len(old) - len(new)))
    path = os.path.join(self.folder, 'named.onnx')
    with open(path, 'wb') as file:
      file.write(model)
    report = os.path.join(self.folder, 'report')
    profile = os.path.join(self.folder, 'profile')
    seen = 0
    for name, *args in (('ir-opt',), ('ir-opt', '-O2', '--print-locations'), ('ir-opt', '-O2', '--explain=gelu'),
                        ('ir-opt', '--cse', '--explain=gelu'), ('ir-opt', '-O2', '--fusion-report=-'),
                        ('ir-opt', '-O2', '--fusion-report=' + report), ('ir-opt', '-O2', '--verify-semantics'),
                        ('ir-opt', '-O2', f'--fusion-report={report}.json'), ('ir-opt', '-O2', '--explain=gelu@/no\x1b[0m/Erf'),
                        ('ir-opt', '-O2', '--opt-bisect-limit=40', '--print-ir-after-all', '-o', '/dev/null'),
                        ('ir-run', *RUN), ('ir-run', *RUN, '--profile'), ('ir-run', *RUN, '--json=-'),
                        ('ir-run', *RUN, f'--profile={profile}.json'), ('ir-run', *RUN, f'--profile={profile}.trace.json'),
                        ('ir-run', *RUN, '--shape=\x1b[31m=3'), ('ir-run', *RUN, '--input=\x1b=/no/\x1b'),
                        ('ir-run', '\x1b[31m.onnx'), ('ir-bench', *BENCH), ('ir-bench', *BENCH, '--json=-'),
                        ('ir-bench', '--\x1b[31m'), ('ir-opt', '--\x1b[31m')):
      with self.subTest(name=name, args=args):
        result = run(name, *([] if any('\x1b' in arg for arg in args) and name != 'ir-run' else [path]), *args)
        self.assertGreaterEqual(result.returncode, 0)
        for text in (result.stdout.decode(), result.stderr.decode()):
          self.assertIsNone(HARMFUL.search(text), HARMFUL.search(text))
          self.assertNotRegex(text, r'(?m)^FAIL: ')
          seen += text.count('\\1B') + text.count('\\u001b')
        if '--json=-' in args:
          json.loads(result.stdout.decode('ascii'))
    self.assertGreater(seen, 20)
    for file in (profile + '.json', profile + '.trace.json', report + '.json', report):
      with self.subTest(file=file), open(file, encoding='ascii') as f:
        text = f.read()
        self.assertIsNone(HARMFUL.search(text))
        if file != report:
          self.assertIn('\\u001b', text)
          json.loads(text)

  def test_long_tokens_are_not_echoed(self):
    most = 20 << 20
    long = 'a' * most
    good = CHAIN.format('  %v1 = ten.abs(%v0) : (tensor<2xf32>) -> tensor<2xf32>', 1)
    for text in (good.replace('ten.abs', 'ten.' + long), good.replace('ten.abs', long + '.abs'),
                 good.replace('(%v0)', f'(%{long})'), good.replace('ten.abs(', f'ten.abs <{{x = "{long}"}}> ('),
                 good.replace('xf32', 'x' + long), long, '"' + long, '@' + long, '%' + long + ' =', '1' * most,
                 good.replace('tensor<2', 'tensor<' + '2' * most), good.replace('ten.abs(', f'ten.abs <{{{long} = 1}}> ('),
                 good.replace('^bb0', '^bb0, ^' + long)):
      with self.subTest(text=text[:60] + text[120:200]):
        result = run('ir-opt', '-', input=text.encode())
        self.assertEqual((result.returncode, result.stdout), (2, b''))
        self.assertLess(len(result.stderr), 16384)
        self.assertNotEqual(result.stderr, b'')
    # In arguments, as long as the system takes them.
    some = 'b' * 100000
    for name, *args in (('ir-opt', '--' + some), ('ir-opt', '-', '--pass-pipeline=' + some), ('ir-opt', some),
                        ('ir-opt', '-', '-O2', '--explain=' + some), ('ir-run', '--' + some), ('ir-run', MODEL, '--input=' + some),
                        ('ir-run', MODEL, '--shape=' + some + '=1'), ('ir-bench', '--against=' + some, MODEL)):
      with self.subTest(name=name, args=[arg[:20] for arg in args]):
        result = run(name, *args, input=good.encode())
        self.assertEqual(result.returncode, 2, result.stderr[:200])
        self.assertLess(len(result.stderr), 16384)

  def test_files_that_are_no_models(self):
    with open(MODEL, 'rb') as file:
      model = file.read()
    cases = (
        ('marked.mlir', 'func.func'.encode('utf-16'), 'the byte-order mark at its beginning says that this is text in UTF-16'),
        ('marked.onnx', 'ir_version'.encode('utf-32'), 'the byte-order mark at its beginning says that this is text in UTF-32'),
        ('lfs.onnx', b'version https://git-lfs.github.com/spec/v1\noid sha256:1\n', 'a pointer of Git LFS'),
        ('page.onnx', b'<!DOCTYPE html>\n<p>404', "text, not an ONNX model; it begins with '<!DOCTYPE html>'"),
        ('front.onnx', b' ' * 600 + model[600:], 'not an ONNX model'),
        ('cut.onnx', model[:2000], 'ONNX'),
        ('noise.onnx', b'\xff' * 600 + model[600:], 'ONNX'),
        ('cut', model[:2000], 'ONNX'),
        ('noise', b'\xff' * 600 + model[600:], 'ONNX'),
    )
    for file, data, message in cases:
      path = os.path.join(self.folder, file)
      with open(path, 'wb') as f:
        f.write(data)
      for name, line in LINES.items():
        with self.subTest(name=name, file=file):
          result = run(name, path, *line[1:])
          self.assertEqual(result.returncode, 2, result.stderr)
          self.assertIn(message, result.stderr.decode())
          self.assertNotIn('expected an op', result.stderr.decode())
    path = os.path.join(self.folder, 'control.mlir')
    with open(path, 'wb') as f:
      f.write(CHAIN.format('  \x01', 0).encode())
    self.assertIn('control.mlir:3:3: error', run('ir-opt', path).stderr.decode())

  def wait_for(self, process, found):
    for _ in range(3000):
      if found() or process.poll() is not None:
        return
      time.sleep(0.002)

  def test_temporary_files_go_with_signals(self):
    ops = 60000
    text = os.path.join(self.folder, 'long.mlir')
    with open(text, 'w', encoding='utf-8') as file:
      file.write(CHAIN.format('\n'.join(f'  %v{i + 1} = ten.abs(%v{i}) : (tensor<2xf32>) -> tensor<2xf32>'
                                        for i in range(ops)), ops))
    folder = os.path.join(self.folder, 'results')
    os.mkdir(folder)
    for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
      # The file is there for as long as it takes to print the program: try again where that was too short.
      for _ in range(20):
        with subprocess.Popen([program('ir-opt'), text, '-o', os.path.join(folder, 'out.mlir')]) as process:
          self.wait_for(process, lambda: any(entry != 'out.mlir' for entry in os.listdir(folder)))
          process.send_signal(end)
          status = process.wait(timeout=60)
        self.assertIn(os.listdir(folder), ([], ['out.mlir']))
        if status != 0:
          break
      with self.subTest(signal=end):
        self.assertEqual(status, -end)

  def test_folders_go_with_signals(self):
    python = os.path.join(self.folder, 'python')
    with open(python, 'w', encoding='utf-8') as file:
      file.write('#!/bin/sh\nexec sleep 30\n')
    os.chmod(python, 0o755)
    folder = os.path.join(self.folder, 'tmp')
    os.mkdir(folder)
    for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
      with self.subTest(signal=end):
        args = [program('ir-bench'), MODEL, *BENCH, '--against=onnxruntime', '--python=' + python]
        with subprocess.Popen(args, env={**os.environ, 'TMPDIR': folder}, start_new_session=True) as process:
          self.wait_for(process, lambda: any('inputs.json' in files for _, _, files in os.walk(folder)))
          process.send_signal(end)
          self.assertEqual(process.wait(timeout=60), -end)
          with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the engine that sleeps, if it still does
        self.assertEqual(os.listdir(folder), [])

  def test_what_is_missing_is_named(self):
    for missing in ('numpy', 'onnxruntime', 'openvino'):
      engine = 'onnxruntime' if missing == 'numpy' else missing
      site = os.path.join(self.folder, missing)
      os.mkdir(site)
      for package in {engine, 'numpy'} - {missing}:
        with open(os.path.join(site, package + '.py'), 'w', encoding='utf-8') as file:
          file.write('')
      python = os.path.join(site, 'python')
      with open(python, 'w', encoding='utf-8') as file:
        file.write(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} -S -s -B "$@"\n')
      os.chmod(python, 0o755)
      with self.subTest(missing=missing):
        result = run('ir-bench', MODEL, *BENCH, '--against=' + engine, '--python=' + python)
        self.assertEqual(result.returncode, 4)
        self.assertIn(f'the Python package {missing} is not installed', result.stderr.decode())


if __name__ == '__main__':
  unittest.main()
