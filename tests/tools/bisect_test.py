"""Plants wrong rules into optimizations and asks ir-bisect for them. Usage: bisect_test.py FOLDER_OF_PROGRAMS."""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

import command_line

BIN = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'build/bin'
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'models')
# Each is wrong by more than rounding, and is found at the first node that it takes.
RULES = {
    'gelu-by-tanh': ('bert.eager.ts17', 'gelu(x)', 'gelu(x) {approximate = "tanh"}', 'lowers "error functions"',
                     'nn.gelu at /model/encoder/layer.0/intermediate/intermediate_act_fn/'),
    'relu-is-abs': ('t5_encoder.eager.ts17', 'relu(x)', 'abs(x)', 'lowers "rectifiers"',
                        'ten.relu at /model/encoder/block.0/layer.1/DenseReluDense/'),
    'silu-is-gelu': ('llama_past.sdpa.ts17', 'silu(x)', 'gelu(x)', 'lowers "sigmoids"',
                     'nn.silu at /model/model/model/layers.0/mlp/act_fn/'),
}


def run(program, *arguments):
  result = subprocess.run([os.path.join(BIN, program), *arguments], capture_output=True, check=False, timeout=600,
                          encoding='utf-8')
  return result.returncode, result.stdout, result.stderr


def model(name):
  return os.path.join(MODELS, name, 'model.onnx')


def data(name):
  return os.path.join(MODELS, name, 'test_data_set_0')


class BisectTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)

  def path(self, name):
    return os.path.join(self.folder.name, name)

  def rules(self, text):
    with open(self.path('wrong.drr'), 'w', encoding='utf-8') as file:
      file.write(text)
    return self.path('wrong.drr')

  def test_finds_planted_rules(self):
    cases = [(name, check) for name in RULES for check in (True, False)]
    for name, check in command_line.share(cases, 'planted rules'):
      folder, match, replace, lowers, op = RULES[name]
      with self.subTest(name, check=check):
        rules = self.rules(f'rule {name} {{\n  match {match}\n  replace {replace}\n  {lowers}\n}}\n')
        small = self.path('small')
        inputs = [f'--check={data(folder)}'] if check else []
        status, out, err = run('ir-bisect', model(folder), *inputs, f'--rules={rules}', '-o', small,
                               '--json=' + self.path('r.json'))
        self.assertEqual(status, 1, err)
        with open(self.path('r.json'), encoding='utf-8') as file:
          report = json.load(file)
        self.assertEqual((report['kind'], report['name'], report['function']), ('rule', name, 'main'))
        self.assertEqual(report['place'], f'{rules}:1')
        self.assertTrue(report['op'].startswith(op), report['op'])
        self.assertLessEqual(report['runs'], math.ceil(math.log2(report['steps'])) + 1)
        self.assertIn(f'found in {report["runs"]} runs\n', out)
        self.assertTrue(report['reduced'])
        self.assertEqual(report['ops'], 1)
        # The reduced program shows the difference by itself.
        status, _, err = run('ir-opt', f'{small}/before.mlir', f'--pass-pipeline={report["pass"]}', f'--rules={rules}',
                             '--verify-semantics')
        self.assertEqual(status, 1, err)
        self.assertIn(f'first by rule {name}', err)
        # So do the two programs.
        for program, status in (('before', 0), ('after', 1)):
          self.assertEqual(run('ir-run', f'{small}/{program}.mlir', '-O0', f'--check={small}', '--runs=1')[0], status)

  def test_the_step_is_that_of_the_limit(self):
    rules = self.rules('rule gelu-by-tanh {\n  match gelu(x)\n  replace gelu(x) {approximate = "tanh"}\n  lowers "erf"\n}\n')
    status, out, err = run('ir-bisect', model('bert.eager.ts17'), f'--rules={rules}', '--reduce=false')
    self.assertEqual(status, 1, err)
    step = re.match(r'step (\d+) of (\d+) changes', out)
    _, _, err = run('ir-opt', model('bert.eager.ts17'), '-O2', f'--rules={rules}', f'--opt-bisect-limit={step[1]}', '-o', '/dev/null')
    self.assertIn(f'step {step[1]} is gelu-by-tanh of nn.gelu at ', err)

  def test_without_a_mistake(self):
    for name in ('bert.eager.ts17', 't5_encoder.eager.ts17'):
      status, out, err = run('ir-bisect', model(name), f'--check={data(name)}')
      self.assertEqual(status, 0, err)
      self.assertRegex(out, r'^no output differs: the results are right after all \d+ steps\n$')
    self.assertEqual(run('ir-bisect', model('bert.eager.ts17'), '-O0')[0], 0)
    # Some samples do not suit these: an index is out of range.
    for name in ('roberta.sdpa.ts14', 'llama.onnxruntime', 'resnet_bn.eager.ts17'):
      status, _, err = run('ir-bisect', model(name))
      self.assertEqual(status, 0, err)

  def test_a_disabled_rule_is_no_step(self):
    rules = self.rules('rule gelu-by-tanh {\n  match gelu(x)\n  replace gelu(x) {approximate = "tanh"}\n  lowers "erf"\n}\n')
    status, _, err = run('ir-bisect', model('bert.eager.ts17'), f'--rules={rules}', '--disable-rules=gelu-by-tanh')
    self.assertEqual(status, 0, err)

  def test_results_that_are_wrong_before(self):
    expected = self.path('expected')
    os.mkdir(expected)
    for file in os.listdir(data('bert.eager.ts17')):
      with open(os.path.join(data('bert.eager.ts17'), file), 'rb') as source:
        content = bytearray(source.read())
      if file.startswith('output_0'):
        content[-2:] = b'\x20\x41'  # the last element is 10
      with open(os.path.join(expected, file), 'wb') as target:
        target.write(content)
    status, _, err = run('ir-bisect', model('bert.eager.ts17'), f'--check={expected}')
    self.assertEqual(status, 5, err)
    self.assertIn('the results are wrong without any step', err)

  def test_wrong_lines(self):
    for arguments, message in [
        ((), 'no model (expected ir-bisect MODEL.onnx'),
        ((model('bert.eager.ts17'), '--check=nowhere'), '--check: nowhere is not a folder'),
        ((model('bert.eager.ts17'), '--inputs=.', '--shape=seq=3'), '--shape has no effect beside --inputs'),
        ((model('bert.eager.ts17'), '--disable-rules=gelu-err'), "there is no rule 'gelu-err'; did you mean 'gelu-erf'?"),
        ((model('bert.eager.ts17'), '--pass-pipeline=plan-memory'), "pass 'plan-memory' cannot run here"),
        ((model('bert.eager.ts17'), '-o', '-'), "-o is '-' (expected a folder)"),
        (('nowhere.onnx',), 'nowhere.onnx: cannot open'),
    ]:
      status, _, err = run('ir-bisect', *arguments)
      self.assertEqual(status, 2, err)
      self.assertIn(message, err)


if __name__ == '__main__':
  unittest.main()
