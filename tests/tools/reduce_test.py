"""Plants what a test looks for into programs, and lets ir-reduce find the smallest one. Usage: reduce_test.py FOLDER_OF_PROGRAMS."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import command_line

BIN = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'build/bin'
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'models')
OPT = os.path.join(BIN, 'ir-opt')

# Blocks, a region, calls, attributes, an optional operand: each in the way of something smaller.
MANY = '''builtin.module() <{sym_name = "top"}> ({
  func.func() <{function_type = (tensor<8xf32>) -> tensor<8xf32>, sym_name = "unused"}> ({
  ^bb0(%x: tensor<8xf32>):
    func.return(%x) : (tensor<8xf32>) -> ()
  }) : () -> ()
  func.func() <{function_type = (tensor<8xf32>) -> tensor<8xf32>, sym_name = "called", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<8xf32>):
    %0 = ten.abs(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = ten.exp(%0) {note = 1 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    func.return(%1) : (tensor<8xf32>) -> ()
  }) : () -> ()
  func.func() <{function_type = (tensor<i1>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>), sym_name = "main"}> ({
  ^bb0(%c: tensor<i1>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    %w = core.constant() <{value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>}> : () -> tensor<8xf32>
    %0 = ten.mul(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    cf.cond_br(%c, %0)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<i1>, tensor<8xf32>) -> ()
  ^bb1:
    %1 = func.call(%0) <{callee = @called}> : (tensor<8xf32>) -> tensor<8xf32>
    cf.br(%1)[^bb2] : (tensor<8xf32>) -> ()
  ^bb2(%2: tensor<8xf32>):
    %3 = ctl.if(%c) ({
      %5 = ten.tanh(%2) : (tensor<8xf32>) -> tensor<8xf32>
      ctl.yield(%5) : (tensor<8xf32>) -> ()
    }, {
      %6 = ten.sigmoid(%y) : (tensor<8xf32>) -> tensor<8xf32>
      ctl.yield(%6) : (tensor<8xf32>) -> ()
    }) : (tensor<i1>) -> tensor<8xf32>
    %4 = ten.add(%3, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    func.return(%4, %0) : (tensor<8xf32>, tensor<8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
'''
FOREIGN = '''"builtin.module"() ({
  "acme.table"() <{rows = 3 : i64, sym_name = "t"}> ({
    %0 = "acme.make"() {kind = "a"} : () -> i32
    %1:2 = "acme.pair"(%0, %0) {kind = "b", size = 4 : i64} : (i32, i32) -> (i32, i64)
    "acme.use"(%1#0, %1#1) : (i32, i64) -> ()
    "acme.use"(%0) {wanted} : (i32) -> ()
    "acme.end"() : () -> ()
  }) : () -> ()
}) : () -> ()
'''


def run(*arguments, text=None):
  result = subprocess.run([os.path.join(BIN, 'ir-reduce'), *arguments], input=text, capture_output=True, check=False, timeout=600,
                          encoding='utf-8')
  return result.returncode, result.stdout, result.stderr


def ops(text):
  """Names of the operations, without modules, functions and terminators."""
  names = re.findall(r'^ *(?:%[\w:, %]+ = )?"?([a-z_]+\.[\w.]+)"?\(', text, re.M)
  return [name for name in names if name not in ('builtin.module', 'func.func', 'func.return', 'ctl.yield', 'cf.br', 'cf.cond_br')]


class ReduceTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)

  def path(self, name, text=None):
    path = os.path.join(self.folder.name, name)
    if text is not None:
      with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path

  def reduced(self, text, test, *arguments):
    status, out, err = run('-', f'--test={test}', *arguments, text=text)
    self.assertEqual(status, 0, err)
    return out

  @unittest.skipIf(os.environ.get('TENON_SANITIZED') == '1', 'hundreds of runs of ir-opt: builds without sanitizers make them')
  def test_a_planted_rule_that_verify_semantics_finds(self):
    rules = self.path('wrong.drr', 'rule gelu-by-tanh {\n  match gelu(x)\n  replace gelu(x) {approximate = "tanh"}\n'
                      '  lowers "error functions"\n}\n')
    small, report = self.path('small.mlir'), self.path('r.json')
    # Status 1: the semantics differ. Other failures are no part of it.
    test = f"{OPT} {{}} --canonicalize --fuse --verify-semantics --rules='{rules}' -o /dev/null; test $? = 1"
    status, out, err = run(os.path.join(MODELS, 'bert.eager.ts17', 'model.onnx'), f'--test={test}', '-o', small,
                           f'--json={report}')
    self.assertEqual(status, 0, err)
    # Those that another rule makes a gelu of.
    self.assertRegex(out, r'^8 operations of \d+ are left after \d+ tests\n$')
    with open(small, encoding='utf-8') as file:
      text = file.read()
    self.assertEqual(sorted(set(ops(text))), ['core.constant', 'ten.add', 'ten.div', 'ten.erf', 'ten.mul'], text)
    with open(report, encoding='utf-8') as file:
      report = json.load(file)
    self.assertTrue(report['complete'])
    self.assertGreater(report['ops_before'], 100)
    self.assertLess(report['tries'], 400)
    # The same program every time.
    again = self.path('again.mlir')
    self.assertEqual(run(os.path.join(MODELS, 'bert.eager.ts17', 'model.onnx'), f'--test={test}', '-o', again)[0], 0)
    with open(again, encoding='utf-8') as file:
      self.assertEqual(file.read(), text)

  def test_control_flow_goes(self):
    text = self.reduced(MANY, 'grep -q ten.tanh')
    self.assertEqual(ops(text), ['ten.tanh'])
    self.assertNotIn('^bb1', text)
    self.assertNotIn('unused', text)
    self.assertNotIn('top', text)
    self.assertIn('tensor<1xf32>', text)

  def test_what_a_called_function_holds(self):
    # The call is needed, so that the type of the function stays.
    text = self.reduced(MANY, 'f() { grep -q ten.exp "$1" && grep -q func.call "$1"; }; f {}')
    self.assertEqual(sorted(ops(text)), ['func.call', 'ten.exp'], text)
    self.assertNotIn('note', text)

  def test_one_way_of_a_jump(self):
    text = self.reduced(MANY, "grep -q 'cf.br('")
    self.assertEqual(ops(text), [])
    self.assertNotIn('cf.cond_br', text)

  def test_sizes_stay_if_asked(self):
    text = self.reduced(MANY, 'grep -q ten.tanh', '--shrink-dims=false')
    self.assertRegex(text, r'ten\.tanh\(%\w+\) : \(tensor<8xf32>\) -> tensor<8xf32>')

  def test_a_constant_becomes_a_splat(self):
    text = self.reduced(MANY, 'grep -q ten.mul.*constant {} || grep -q "core.constant.*8xf32" {}', '--shrink-dims=false')
    self.assertIn('dense<1.000000e+00> : tensor<8xf32>', text)

  def test_operations_of_others(self):
    status, out, err = run('-', '--test=grep -q wanted', '--print-generic', '--allow-unregistered-dialect', text=FOREIGN)
    self.assertEqual(status, 0, err)
    self.assertEqual(ops(out), ['acme.use'] if 'acme.table' not in out else ['acme.table', 'acme.use'], out)
    self.assertNotIn('kind', out)
    self.assertNotIn('rows', out)

  def test_rules_of_the_user_are_tried(self):
    rules = self.path('simpler.drr', 'rule no-tanh { match tanh(x) replace neg(x) lowers "tanh" }\n')
    text = '''func.func() <{function_type = (tensor<2xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = ten.concat(%x, %x) <{axis = 0 : i64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %1 = ten.tanh(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return(%1) : (tensor<4xf32>) -> ()
}) : () -> ()
'''
    # Only what a rule can reach: one operation less than before.
    text = self.reduced(text, 'grep -q "concat\\|neg"', '--pass-pipeline=canonicalize', f'--rules={rules}')
    self.assertEqual(ops(text), ['ten.concat'] if 'concat' in text else ['ten.neg'])

  def test_programs_of_all_kinds(self):
    # Every second program of golden files with regions, blocks, calls or several functions, and an operation of each to keep.
    folder = os.path.join(os.path.dirname(MODELS), 'golden')
    programs = []
    for name in ('transforms', 'exec', 'verify'):
      for file in sorted(os.listdir(os.path.join(folder, name))):
        with open(os.path.join(folder, name, file), encoding='utf-8') as source:
          parts = re.split(r'\n\n(?=//)', source.read())
        texts = ['\n'.join(line for line in part.splitlines() if not line.startswith('//')) for part in parts]
        programs += [text for text in texts if re.search(r'ctl\.|cf\.|func\.call|sym_visibility', text) and len(text) < 8000]
    self.assertGreater(len(programs), 50)
    reduced = 0
    for i, text in command_line.share(enumerate(programs[::2]), 'programs of golden files'):
      names = ops(text) or ['func.return']
      keep = names[i % len(names)]
      status, out, err = run('-', '--allow-unregistered-dialect', f"--test=grep -q '{keep}(\\|{keep}\"('", '--max-tries=200',
                             '--pass-pipeline=canonicalize', text=text)
      self.assertIn(status, (0, 2), (text, err))  # some golden files show what is wrong
      reduced += status == 0
      if status == 0:
        self.assertIn(keep, out)
        self.assertLessEqual(len(ops(out)), len(ops(text)), text)
    self.assertGreater(reduced, 5)

  def test_a_test_that_takes_too_long_fails(self):
    script = self.path('slow.sh', '#!/bin/sh\ngrep -q ten.add "$1" || sleep 100\n')
    os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR)
    begin = time.monotonic()
    small = self.path('small.mlir')
    status, out, err = run(self.path('in.mlir', MANY), f'--test={script}', '--timeout=1', '--max-tries=12', '-o', small)
    self.assertEqual(status, 0, err)
    self.assertRegex(out, r'\d+ tests took longer than 1 s and failed\n')
    self.assertRegex(out, r'stopped after 13 tests \(--max-tries allows more\)\n')
    self.assertLess(time.monotonic() - begin, 60)

  def test_what_was_found_survives_an_end(self):
    small = self.path('small.mlir')
    test = 'sleep 0.3; grep -q ten.tanh {}'
    process = subprocess.Popen([os.path.join(BIN, 'ir-reduce'), self.path('in.mlir', MANY), f'--test={test}', '-o', small])
    for _ in range(300):
      if os.path.exists(small):
        break
      time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    self.assertNotEqual(process.wait(60), 0)
    with open(small, encoding='utf-8') as file:
      text = file.read()
    self.assertIn('ten.tanh', text)
    self.assertLess(len(text), len(MANY))
    self.assertEqual([name for name in os.listdir(self.folder.name) if name not in ('in.mlir', 'small.mlir')], [])

  def test_a_test_that_fails_at_once(self):
    status, _, err = run('-', '--test=sh -c "echo is wrong >&2; exit 7"', text=MANY)
    self.assertEqual(status, 1)
    self.assertIn("the test ends with status 7 for the program as it is, its last line is 'is wrong' (expected exit status 0)", err)
    status, _, err = run('-', '--test=no-such-command-here', text=MANY)
    self.assertEqual(status, 1)
    self.assertIn('ends with status 127', err)

  def test_wrong_lines(self):
    for arguments, message in [
        ((), 'no program (expected ir-reduce FILE --test=CMD'),
        (('x.mlir',), 'no test (expected --test=CMD'),
        (('nowhere.onnx', '--test=true'), 'nowhere.onnx: cannot open'),
        (('-', '--test=true', '--pass-pipeline=canonicalise'), "did you mean 'canonicalize'"),
        (('-', '--test=true', '--rules=nowhere.drr'), 'nowhere.drr'),
        (('-', '--test=true', '--json=-'), '--json=- and the program both go to standard output'),
        (('-', '--test=true', '--timeout=0'), '--timeout'),
        (('-', '--test=true', '-O2'), '-O2'),
    ]:
      status, _, err = run(*arguments, text=MANY)
      self.assertEqual(status, 2, (arguments, err))
      self.assertIn(message, err)


if __name__ == '__main__':
  unittest.main()
