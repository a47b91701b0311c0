"""The options of the programs as --help and --list-passes list them, and values for each, for tests that go through all of them."""

import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, 'tests/models')
PROGRAMS = ('ir-opt', 'ir-run', 'ir-bench', 'ir-bisect', 'ir-reduce')
RULE = os.path.join(ROOT, 'tests/rules/planted/right')

ROW = re.compile(r'^  (--?[a-zA-Z][\w-]*)(?:=(\S+)|\[=(\S+)\])?(?:\s{2,}|$)')


def share(items, what):
  """All of them. Of programs under sanitizers every third, which is enough to look for mistakes of memory; a line says what was left out."""
  items = list(items)
  if os.environ.get('TENON_SANITIZED') != '1':
    return items
  chosen = items[::3]
  print(f'skipped {len(items) - len(chosen)} of {len(items)} {what}: run by builds without sanitizers', flush=True)
  return chosen


def models():
  """The folders of tests/models that hold a model, by name."""
  found = {name: os.path.join(MODELS, name, 'model.onnx') for name in sorted(os.listdir(MODELS))}
  return {name: path for name, path in found.items() if os.path.exists(path)}


def text_of(program, option):
  return subprocess.run([program, option], capture_output=True, check=True, timeout=60).stdout.decode()


def options(program):
  """(name, name of the value or '', is the value optional) of each row; passes and pipelines of ir-opt too."""
  rows = []
  text = text_of(program, '--help=all')
  if os.path.basename(program) == 'ir-opt':
    text += text_of(program, '--list-passes')
  for line in text.splitlines():
    if line.startswith('  -O0 … '):
      last = int(line.split('-O')[2].split()[0])
      rows += [(f'-O{level}', '', False) for level in range(last + 1)]
      continue
    match = ROW.match(line)
    if match is not None:
      rows.append((match[1], match[2] or match[3] or '', match[3] is not None))
  return list(dict.fromkeys(rows))  # the levels of ir-opt are pipelines too


def rules_and_families(program):
  """What --explain takes: the families and rules of --list-rules."""
  text = text_of(program, '--list-rules')
  return list(dict.fromkeys(match[1] for match in re.finditer(r'^ *([a-z][\w-]*) (?:\(|  *\S)', text, re.M)))


class Values:
  """What the options take. A number and a word are tried where the value's name is not known here."""

  def __init__(self, folder):
    self.folder = folder
    self.rules = sorted(os.path.join(RULE, name) for name in os.listdir(RULE))

  def of(self, option, value_name, model):
    data = os.path.join(os.path.dirname(model), 'test_data_set_0')
    new = os.path.join(self.folder, 'out')
    by_option = {
        '-o': ['-', new],
        '--rules': [self.rules[0]],
        '--check-rules': [self.rules[0]],
        '--fusion-report': ['-', new, new + '.json'],
        '--json': ['-', new + '.json'],
        '--profile': [new + '.json', new + '.trace.json'],
        '--save-outputs': [new + '.folder'],
        '--print-ir-tree-dir': [new + '.tree'],
        '--pass-pipeline-crash-reproducer': [new + '.mlir'],
        '--external-data-out': [new + '.weights'],
        '--describe': ['cse', 'ten.add', 'gelu-erf', 'nowhere'],
        '--weight-cache': [new + '.cache'],
        '--onnx-test': [os.path.dirname(model)],
        '--against': ['one-thread'],
        '--python': ['python3'],
        '--trace': [new + '.html', new + '.json'],
        '--view': [new + '.html', new + '.svg', new + '.dot'],
    }
    by_name = {
        'TEXT': ['cse', 'O2'],
        'CMD': ['true', 'test -s {}'],
        'PASSES': ['cse,fuse'],
        'RULE[@NODE]': ['attention', 'linear@MatMul'],
        'RULE': ['silu', 'norm', 'conv-*', 'nowhere'],
        'DIR': [data],
        'NAME,…': ['attention', 'gelu-erf,pack-*'],
        'TOPIC': ['all', 'limits', 'man', 'bash', 'zsh', 'nowhere'],
        'BYTES': ['1', '300', '1G'],
        'A': ['0.1'],
        'R': ['0.1'],
        'P': ['fp32', 'bf16', 'int8'],
        'N': ['1', '7'],
        'MS': ['1'],
        'S': ['1'],
        'B=1,S=128': ['batch_size=1', 'batch=2,sequence=3'],
        'a=1,x=2,3': ['batch_size=1', 'batch=2,sequence=3', 'input_ids=2,3'],
        'FROM:TO': ['input_ids:', ':logits', 'nowhere:'],
        'onnxruntime': ['onnxruntime'],
        'a=1,b=128': ['batch_size=1', 'batch=2,sequence=3'],
        'cpu|cuda': ['cpu', 'cuda'],
        'NAME=FILE': ['input_ids=' + os.path.join(data, 'input_0.pb')],
    }
    if option in by_option:
      return by_option[option]
    return by_name.get(value_name, ['1', 'x'])

  def arguments(self, row, model):
    """Every way to write the option."""
    option, value_name, optional = row
    if not value_name:
      return [[option]]
    ways = [[f'{option}={value}'] for value in self.of(option, value_name, model)]
    return ways + ([[option]] if optional else [])
