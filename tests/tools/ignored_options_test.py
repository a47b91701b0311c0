#!/usr/bin/env python3
"""Options that would change nothing are refused: ignored_options_test.py FOLDER_OF_PROGRAMS. Takes a few seconds."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import command_line

BIN = sys.argv.pop(1)
MODEL = os.path.join(command_line.MODELS, 'squeezenet_bn.eager.ts13/model.onnx')
DATA = os.path.join(os.path.dirname(MODEL), 'test_data_set_0')
TEXT = """func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %b = ten.abs(%a) : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%b) : (tensor<2xf32>) -> ()
}) : () -> ()
"""

# A line, and the option that its message names.
REFUSED = [
    *[(f'ir-opt {action} {more}', named) for action in ('--list-ops', '--list-rules', '--list-passes')
      for more, named in (('-o out.mlir', '-o'), ('TEXT', 'm.mlir'), ('-O2', '-O2'), ('--timing', '--timing'))],
    ('ir-opt --list-ops --list-rules', '--list-ops'),
    ('ir-opt --list-ops --rules=RULE', '--rules'),
    ('ir-opt --list-rules --load-ops=RULE', '--load-ops'),
    ('ir-opt --check-rules=RULE -O2', '-O2'),
    ('ir-opt --check-rules=RULE --rules=RULE', '--rules'),
    ('ir-opt --check-rules=RULE -o out.mlir', '-o'),
    *[(f'ir-opt TEXT {option}', option.partition('=')[0]) for option in (
        '--threads=2', '--timing', '--timing-json', '--pass-statistics', '--pass-statistics-json', '--print-ir-diff',
        '--pass-pipeline-crash-reproducer=r.mlir', '--print-ir-before-all', '--print-ir-after-all',
        '--print-ir-after-change', '--print-ir-after-failure', '--print-ir-before=cse', '--print-ir-after=cse',
        '--opt-bisect-limit=1', '--disable-rules=gelu-erf', '--trace=t.json', '--verify-semantics', '--explain=gelu', '--fusion-report=report.txt', '--fast-math')],
    *[(f'{line} --fast-math', '--fast-math') for line in (
        'ir-opt TEXT -O0', 'ir-opt TEXT --cse', 'ir-run MODEL -O0', 'ir-bench MODEL -O0')],
    ('ir-opt TEXT -O1 --print-ir-before=fuse', '--print-ir-before'),
    ('ir-opt TEXT --cse --print-ir-after=dce', '--print-ir-after'),
    ('ir-opt TEXT -O2 --explain=gelu --print-generic', '--print-generic'),
    ('ir-opt TEXT -O2 --explain=gelu --print-locations', '--print-locations'),
    ('ir-opt TEXT -O2 --explain=gelu --elide-resources', '--elide-resources'),
    ('ir-opt TEXT --inputs=DATA', '--inputs'),
    ('ir-opt TEXT -O2 --view-profile=p.json', '--view-profile'),
    ('ir-opt TEXT -O2 --view=v.html --split-input-file', '--view'),
    ('ir-opt TEXT --cse --print-ir-tree-dir=tree', '--print-ir-tree-dir'),
    ('ir-opt TEXT --cse --print-ir-module-scope', '--print-ir-module-scope'),
    ('ir-opt TEXT --cse --pass-pipeline-local-reproducer', '--pass-pipeline-local-reproducer'),
    ('ir-opt TEXT --cse --pass-pipeline-crash-reproducer=r.mlir --split-input-file', '--pass-pipeline-crash-reproducer'),
    ('ir-opt TEXT --cse --pass-pipeline-crash-reproducer=r.mlir --pass-pipeline-local-reproducer --opt-bisect-limit=1', '--pass-pipeline-local-reproducer'),
    ('ir-opt TEXT -o out.mlir --external-data-out=w', '--external-data-out'),
    ('ir-opt --describe=cse --list-ops', '--describe'),
    ('ir-opt --describe=cse TEXT', 'm.mlir'),
    *[(f'ir-run --onnx-test CASE {option}', option.partition('=')[0]) for option in (
        '--check=DATA', '--compare=onnxruntime', '--input=x=y', '--json=-', '--profile', '--runs=1', '--save-outputs=out', '--seed=1', '--shape=a=1')],
    ('ir-run --onnx-test', '--onnx-test'),
    ('ir-run MODEL --check=DATA --seed=1', '--seed'),
    ('ir-run MODEL --reference --threads=1', '--threads'),
    ('ir-run MODEL --reference --weight-cache=out', '--weight-cache'),
    ('ir-run MODEL --reference --device=cuda', '--reference'),
    ('ir-run MODEL --json=- --profile', '--profile'),
    ('ir-run MODEL --verify-weights', '--verify-weights'),
    ('ir-run MODEL --python=python3', '--python'),
    *[(f'ir-run MODEL --compare=onnxruntime {option}', option.partition('=')[0]) for option in (
        '--check=DATA', '--check-memory', '--external-data=DATA', '--profile', '--runs=1', '--save-outputs=out')],
    ('ir-opt MODEL --json=-', '--json'),
    ('ir-opt TEXT --inspect --split-input-file', '--split-input-file'),
    ('ir-opt TEXT --inspect --elide-resources', '--elide-resources'),
    ('ir-run MODEL --input=INPUT --seed=3', '--seed'),
    ('ir-bisect MODEL --reference --threads=1', '--threads'),
    ('ir-bisect MODEL --inputs=DATA --shape=a=1', '--shape'),
    ('ir-bisect MODEL -O1 --pass-pipeline=O2', '-O1'),
    ('ir-reduce TEXT --test=true --json=-', '--json'),
    ('ir-bench MODEL --atol=1', '--atol'),
    ('ir-bench MODEL --rtol=1', '--rtol'),
    ('ir-bench MODEL --python=python3', '--python'),
    ('ir-bench MODEL --python=python3 --against=one-thread', '--python'),
]
# Beside the same options, what has an effect.
ACCEPTED = [
    'ir-opt TEXT -O1 --fast-math', 'ir-opt TEXT -O0 --fast-math=false', 'ir-opt TEXT --apply-rules=file=RULE --fast-math',
    'ir-run TEXT -O1 --fast-math --runs=1',
    'ir-opt --list-ops --max-nesting=9', 'ir-opt --list-ops --help', 'ir-opt TEXT --timing=false',
    'ir-opt TEXT -O1 --timing --print-ir-before=cse', 'ir-opt TEXT -O1 --timing --timing-json=false',
    'ir-opt TEXT -O2 --explain=gelu --print-generic -o -', 'ir-opt TEXT -O2 --explain=gelu --print-generic --print-ir-after=cse',
    'ir-run MODEL --runs=1 --seed=1', 'ir-run MODEL --runs=1 --reference', 'ir-run TEXT --json=out.json --profile',
    'ir-run --onnx-test --check=DATA --version', 'ir-bench --python=x --help',
]


class IgnoredOptions(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, self.folder)
    with open(os.path.join(self.folder, 'm.mlir'), 'w', encoding='ascii') as file:
      file.write(TEXT)
    self.names = {'TEXT': 'm.mlir', 'MODEL': MODEL, 'DATA': DATA, 'CASE': os.path.dirname(MODEL),
                  'RULE': os.path.join(command_line.RULE, sorted(os.listdir(command_line.RULE))[0]),
                  'INPUT': 'input=' + os.path.join(DATA, 'input_0.pb')}

  def run_line(self, line):
    for name, value in self.names.items():
      line = line.replace(name, value)
    program, *arguments = line.split()
    environment = {key: value for key, value in os.environ.items() if key != 'TENON_WEIGHT_CACHE'}
    return subprocess.run([os.path.join(BIN, program), *arguments], cwd=self.folder, env=environment, capture_output=True,
                          text=True, check=False, timeout=100, stdin=subprocess.DEVNULL)

  def test_refused(self):
    for line, named in REFUSED:
      with self.subTest(line=line):
        result = self.run_line(line)
        self.assertEqual((result.returncode, result.stdout), (2, ''), result.stderr)
        self.assertIn(named, result.stderr)
        self.assertEqual(os.listdir(self.folder), ['m.mlir'])

  def test_accepted(self):
    for line in ACCEPTED:
      with self.subTest(line=line):
        result = self.run_line(line)
        self.assertEqual(result.returncode, 0, result.stderr)

  def test_warned_of(self):
    for option in ('--split-input-file', '--verify-diagnostics'):
      self.assertIn(f'warning: {option} has no effect', self.run_line(f'ir-opt MODEL {option}').stderr)

  def test_misspelt_attributes(self):
    """In the second dictionary an attribute may be of any name, so that it is no error."""
    for quote in ('', '"'):
      for name in ('axs', 'core.axs'):
        text = TEXT.replace('ten.abs(%a)', f'{quote}nn.softmax{quote}(%a) <{{axis = 0 : i64}}> {{{name} = 1 : i64}}')
        with open(os.path.join(self.folder, 'm.mlir'), 'w', encoding='ascii') as file:
          file.write(text)
        for line in ('ir-opt TEXT', 'ir-run TEXT --runs=1', 'ir-bench TEXT --rounds=1 --turn=1 --time=1'):
          with self.subTest(line=line, name=name, quote=quote):
            result = self.run_line(line)
            self.assertEqual(result.returncode, 0, result.stderr)
            if '.' in name:
              self.assertEqual(result.stderr, '')
            else:
              self.assertRegex(result.stderr, r"m.mlir:3:\d+: warning: op 'nn.softmax' has no attribute 'axs'.*did you mean 'axis'\?")
      with open(os.path.join(self.folder, 'm.mlir'), 'w', encoding='ascii') as file:
        file.write(TEXT.replace('ten.abs(%a)', f'{quote}nn.softmax{quote}(%a) <{{axs = 0 : i64}}>'))
      result = self.run_line('ir-opt TEXT')
      self.assertEqual(result.returncode, 2)
      self.assertIn("error: op 'nn.softmax' has no attribute 'axs'; did you mean 'axis'?", result.stderr)


if __name__ == '__main__':
  unittest.main()
