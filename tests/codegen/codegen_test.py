"""Tests of tools/codegen: right files give the classes that are wanted, wrong ones a message with file and line."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, 'tools/codegen/tenon_codegen.py')
sys.path.insert(0, os.path.join(ROOT, 'tools/codegen'))

import cpp  # pylint: disable=wrong-import-position
import emit_dialect  # pylint: disable=wrong-import-position
import emit_kernel_attrs  # pylint: disable=wrong-import-position
import loader  # pylint: disable=wrong-import-position
import model  # pylint: disable=wrong-import-position
import op_class  # pylint: disable=wrong-import-position

HEAD = 'dialect: demo\nsummary: Demo.\nops:\n'  # ops start at line 4


def load(text, name='demo.yaml'):
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as f:
      f.write(text)
    return loader.load([path])


def generated(text, suffix):
  return emit_dialect.outputs(load(HEAD + text))[f'ir/dialect/demo_ops{suffix}']


class WrongYaml(unittest.TestCase):
  """Each case: lines of YAML after HEAD, the line of the error, and what the message says."""

  CASES = [
      ('- {op: a, summary: x., operand: [x: Tensor]}', 4, r"unknown key 'operand'.*did you mean 'operands'"),
      ('- {op: a, summary: x., op: b}', 4, "key 'op' twice"),
      ('- {op: Abs, summary: x.}', 4, "op 'Abs' is malformed .expected lower case"),
      ('- {summary: x.}', 4, 'no name'),
      ('- {op: a}', 4, 'no summary'),
      ('- {op: a, summary: x.}\n- {op: b, summary: x.}\n- {op: a, summary: x.}', 6, "'a' is defined again.*line 4"),
      ('- op: a\n  summary: x.\n  operands: [x: Tensr]', 6, "unknown constraint 'Tensr'.*did you mean 'Tensor'"),
      ('- op: a\n  summary: x.\n  operands: [x: Tensor<Flaot>]', 6, "element type 'Flaot'.*did you mean 'Float'"),
      ('- op: a\n  summary: x.\n  operands: [x: Optional<Tensor>, y: Tensor]', 6, "'y' is required but follows 'x'"),
      ('- op: a\n  summary: x.\n  operands: {x: Tensor}', 6, 'operands is a mapping .expected a list'),
      ('- op: a\n  summary: x.\n  operands: [Tensor]', 6, 'is a text .expected a mapping'),
      ('- op: a\n  summary: x.\n  operands: [x: Tensor]\n  results: [x: Tensor]', 7, "'x' has the name of another"),
      ('- op: a\n  summary: x.\n  operands: [slots: Tensor]', 6, "'slots' has a reserved name"),
      ('- op: a\n  summary: x.\n  operands: [x: Tensor]\n  results: [a: Variadic<Tensor>, b: Variadic<Tensor>]\n'
       '  shape: explicit', 7, "'b' follows a variadic result"),
      ('- op: a\n  summary: x.\n  attrs:\n    k: Bol', 7, "unknown kind 'Bol'.*did you mean 'Bool'"),
      ('- op: a\n  summary: x.\n  attrs:\n    k: Bool = True', 7, "bad default 'True' .expected true or false"),
      ('- op: a\n  summary: x.\n  attrs:\n    i: I64 = 1\n    k: I64 = 1.5', 8, "bad default '1.5'.*64-bit integer"),
      ('- op: a\n  summary: x.\n  attrs:\n    k: F32 = one', 7, "bad default 'one' .expected a number"),
      ('- op: a\n  summary: x.\n  attrs:\n    k: "I64s = 1"', 7, "bad default '1' .expected a list"),
      ('- op: a\n  summary: x.\n  attrs:\n    k: Enum(none|tanh) = tahn', 7, "one of none, tanh; did you mean 'tanh'"),
      ('- op: a\n  summary: x.\n  attrs:\n    k: Enum', 7, 'Enum.first.second'),
      ('- op: a\n  summary: x.\n  attrs:\n    k: Enum(a|A)', 7, 'a value twice'),
      ('- op: a\n  summary: x.\n  attrs:\n    k: Type = float', 7, 'one of i1, i8'),
      ('- op: a\n  summary: x.\n  attrs:\n    k: Elements = 1', 7, 'cannot have a default'),
      ('- op: a\n  summary: x.\n  attrs:\n    k: "I64? = 1"', 7, "both '[?]' and a default"),
      ('- op: a\n  summary: x.\n  attrs:\n    k: I64(a|b)', 7, 'only Enum does'),
      ('- op: a\n  summary: x.\n  traits: [Pur]', 6, "unknown trait 'Pur'.*did you mean 'Pure'"),
      ('- op: a\n  summary: x.\n  operands: [x: Tensor]\n  results: [y: Tensor]\n  traits: [Pure,\n    Commutative]',
       9, 'Commutative does not fit .expected two operands'),
      ('- op: a\n  summary: x.\n  traits: [Pure,\n    Pure]', 7, "trait 'Pure' twice .expected it once"),
      ('- op: a\n  summary: x.\n  regions: [%s]' % ', '.join(f'r{i}' for i in range(16)), 4,
       '16 regions .expected at most 15'),
      ('- op: a\n  summary: x.\n  results: [y: Tensor]', 4, 'has no shape'),
      ('- op: a\n  summary: x.\n  operands: [x: Tensor]\n  results: [y: Tensor]\n  shape: inferIt', 8,
       "shape is 'inferIt' .expected SameAsFirst"),
      ('- op: a\n  summary: x.\n  verify: check', 6, "verify 'check' is malformed .expected the name of a C"),
      ('- op: a\n  summary: x.\n  operands: [args: Variadic<Any>]\n  traits: [Terminator]\n  successors: [d: arg]', 8,
       "unknown operand 'arg'.*did you mean 'args'"),
      ('- op: a\n  summary: x.\n  successors: [d]', 4, 'expected the trait Terminator'),
      ('- op: a\n  summary: x.\n  operands: [x: Tensor]\n  tests: [{x: 2y3xf32}]', 7, "type '2y3xf32'"),
      ('- op: a\n  summary: x.\n  operands: [value: Tensor]\n  about: {vlaue: The input.}', 7, "did you mean 'value'"),
      ('- op: a\n  summary: x.\n  operands: [x: Tensor]\n  tests:\n  - {}', 8, "has no 'x'"),
      ('- op: a\n  summary: x: y', 5, 'not YAML'),
      ('- {op: a, summary: x., attrs: {k: Bool?}}', 4, 'not YAML.*quote'),
  ]

  def test_every_case(self):
    for text, line, message in self.CASES:
      with self.subTest(text=text):
        with self.assertRaises(model.SchemaError) as caught:
          load(HEAD + text + '\n')
        self.assertRegex(str(caught.exception), rf'^\S*demo\.yaml:{line}: .*{message}')
        self.assertNotIn('\n', str(caught.exception))

  # As CASES, but `types:` and `attributes:` stand before the ops, from line 3 on.
  TYPE_CASES = [
      ('types:\n- {summary: x.}', 4, 'an entry of types has no name'),
      ('types:\n- {type: t}', 4, 'demo.t has no summary'),
      ('types:\n- {type: T, summary: x.}', 4, "type 'T' is malformed"),
      ('types:\n- {type: t, summary: x., paramters: {}}', 4, "did you mean 'parameters'"),
      ('types:\n- {type: t, summary: x.}\n- {type: t, summary: x.}', 5, "type 't' is defined again.*line 4"),
      ('types:\n- type: t\n  summary: x.\n  parameters:\n    k: Sr', 7, "unknown kind 'Sr'.*did you mean 'Str'"),
      ('types:\n- type: t\n  summary: x.\n  parameters:\n    k: I64?', 7, "'k' may be absent"),
      ('types:\n- type: t\n  summary: x.\n  parameters:\n    k: Unit', 7, "'k' may be absent"),
      ('types:\n- type: t\n  summary: x.\n  parameters:\n    a: I64 = 1\n    b: I64', 8, "'b' has no default, but 'a'"),
      ('types:\n- type: t\n  summary: x.\n  parameters:\n    rank: I64', 7, "'rank' has a reserved name"),
      ('types:\n- {type: t, summary: x., verify: check}', 4, "verify 'check' is malformed"),
      ('attributes:\n- {type: t, summary: x.}', 4, "unknown key 'type' .expected one of attribute,"),
      ('types:\n- {type: ledger, summary: x.}\nops:\n- op: a\n  summary: x.\n  operands: [x: "!demo.leger"]', 8,
       "unknown type '!demo.leger'.*did you mean 'demo.ledger'"),
      ('ops:\n- op: a\n  summary: x.\n  operands: [x: "!ledger"]', 6, "malformed type '!ledger' .expected '!dialect.name'"),
      ('ops:\n- op: a\n  summary: x.\n  operands:\n  - x: !demo.t', 7, 'is the YAML tag !demo.t .expected .* in quotes'),
      ('ops:\n- op: a\n  summary: x.\n  operands: [x: "!other.t"]\n  results: [y: Tensor]\n  traits: [Elementwise]', 8,
       'Elementwise does not fit .expected tensors'),
  ]

  def test_types(self):
    for text, line, message in self.TYPE_CASES:
      with self.subTest(text=text):
        with self.assertRaises(model.SchemaError) as caught:
          load('dialect: demo\nsummary: Demo.\n' + text + ('' if 'ops:' in text else '\nops: []') + '\n')
        self.assertRegex(str(caught.exception), rf'^\S*demo\.yaml:{line}: .*{message}')

  def test_file_level(self):
    for text, line, message in [('', 1, 'is empty'), ('dialect: demo\n', 1, "no 'ops'"), ('- a\n', 1, 'is a list'),
                                ('dialect: other\nops: []\n', 1, 'expected other.yaml'),
                                ('dialect: demo\nops: []\noops: 1\n', 3, "unknown key 'oops'")]:
      with self.subTest(text=text):
        with self.assertRaisesRegex(model.SchemaError, rf'demo\.yaml:{line}: .*{message}'):
          load(text)

  def test_missing_file(self):
    with self.assertRaisesRegex(model.SchemaError, 'nowhere.yaml: cannot be read'):
      loader.load(['nowhere.yaml'])


class Generated(unittest.TestCase):

  def test_slots_are_sorted_and_hold_segments(self):
    op = load(HEAD + '- op: a\n  summary: x.\n  operands: [x: Tensor, y: Optional<Tensor>, z: Optional<Tensor>]\n'
              '  attrs: {zeta: Bool = false, alpha: I64}\n  results: [o: Tensor]\n')[0].ops[0]
    self.assertEqual([a.name for a in op.slots], ['alpha', 'operandSegmentSizes', 'zeta'])
    self.assertEqual([a.name for a in op.attrs], ['zeta', 'alpha'])

  def test_one_loose_operand_needs_no_segments(self):
    op = load(HEAD + '- op: a\n  summary: x.\n  operands: [x: Tensor, y: Variadic<Tensor>]\n')[0].ops[0]
    self.assertEqual(op.slots, [])

  def test_keyword_names(self):
    header = generated('- op: not\n  summary: x.\n  operands: [default: Tensor<Bool>]\n  results: [o: Tensor]\n', '.h')
    self.assertIn('class NotOp : public OpHandle', header)
    self.assertIn('Value default_() const', header)

  def test_shape_function_by_trait(self):
    dialect = load(HEAD + '- {op: a, summary: x., operands: [x: Tensor], results: [o: Tensor], traits: [Elementwise]}\n'
                   '- {op: b, summary: x., operands: [x: Tensor], results: [o: Tensor]}\n'
                   '- {op: c, summary: x., results: [o: Tensor], shape: explicit}\n'
                   '- {op: d, summary: x., operands: [x: Tensor]}\n')[0]
    self.assertEqual([op.shape for op in dialect.ops], ['InferElementwise', 'InferSameAsFirst', '', ''])
    self.assertEqual([op.explicit_results for op in dialect.ops], [False, False, True, False])

  def test_default_text_is_mlir(self):
    op = load(HEAD + '- op: a\n  summary: x.\n  attrs:\n    b: Bool = true\n    e: F32 = 1.0e-5\n    f: F32 = 3\n'
              '    g: F64 = -inf\n    i: I64 = -7\n    l: "I64s = [1, 2]"\n    n: "F32s = []"\n    s: Str = hi\n'
              '    t: Type = f32\n')[0].ops[0]
    self.assertEqual([op_class.default_text(a) for a in op.attrs],
                     ['true', '1.0e-05 : f32', '3.0 : f32', '0xFFF0000000000000 : f64', '-7 : i64', 'array<i64: 1, 2>',
                      'array<f32>', '"hi"', 'f32'])

  def test_kernel_struct(self):
    text = emit_kernel_attrs.outputs(load(
        HEAD + '- op: my_op\n  summary: x.\n  attrs: {pad_mode: Enum(NOTSET|SAME_UPPER) = SAME_UPPER, d: Dims, '
        'v: Elements, o: "I64?", t: Type}\n'))['kernels/op_attrs.h']
    self.assertIn('enum class MyOpPadMode : uint8_t { kNotset, kSameUpper };', text)
    self.assertIn('MyOpPadMode pad_mode = MyOpPadMode::kSameUpper;', text)
    self.assertIn('std::vector<int64_t> d{};', text)
    self.assertIn('std::optional<int64_t> o{};', text)
    self.assertIn('DType t{};', text)
    self.assertNotIn(' v{', text)
    self.assertEqual(re.findall('#include "(.*)"', text), ['ir/base/dtype.h'])

  def test_floats_read_back(self):
    for value in (0.1, 1e-5, 3.0, 1e30, 16777217.0):
      self.assertEqual(model.to_f32(float(cpp.decimal(model.to_f32(value), 'F32'))), model.to_f32(value))
      self.assertEqual(float(cpp.decimal(value, 'F64')), value)

  def test_hash_is_fnv1a(self):
    self.assertEqual(model.op_hash(''), 0xcbf29ce484222325)
    self.assertEqual(model.op_hash('a'), 0xaf63dc4c8601ec8c)


class External(unittest.TestCase):
  """Dialects outside of the tree."""

  TEXT = ('- op: twice\n  summary: Doubles.\n  operands: [x: Tensor]\n  results: [out: Tensor]\n  attrs: {k: I64 = 1}\n'
          '  traits: [Pure, Elementwise]\n')

  def run_on(self, text, name='demo', headers=ROOT):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, f'{name}.yaml')
      with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
      out = os.path.join(folder, 'out')
      result = subprocess.run([sys.executable, '-B', SCRIPT, '--external', '--out', out, '--headers', headers, path],
                              capture_output=True, text=True, check=False)
      files = {}
      for found in sorted(os.listdir(out)) if os.path.isdir(out) else []:
        with open(os.path.join(out, found), encoding='utf-8') as f:
          files[found] = f.read()
      return result, files

  def test_files(self):
    result, files = self.run_on(HEAD + self.TEXT + '  about: {k: A number.}')
    self.assertEqual((result.returncode, result.stderr), (0, ''))
    self.assertEqual(list(files), ['demo.md', 'demo_ops.cc', 'demo_ops.h', 'demo_patterns.cc', 'demo_patterns.h'])
    self.assertIn('Dialect DemoDialect();', files['demo_ops.h'])
    self.assertIn('#include "tenon/ir/core/operation.h"', files['demo_ops.h'])
    self.assertIn('#include "demo_ops.h"', files['demo_ops.cc'])
    self.assertIn('drr::Val Twice(', files['demo_patterns.h'])
    for line in ('# Dialect demo', '## demo.twice', '| `k` | integer | `1` | A number. |'):
      self.assertIn(line, files['demo.md'])
    for name, text in files.items():
      self.assertNotRegex(text, r'#include "(ir|drr|patterns)/', name)

  def test_a_dialect_without_rules(self):
    _, files = self.run_on('dialect: demo\nsummary: Demo.\nops:\n- {op: stop, summary: Stops., traits: [Terminator]}\n')
    self.assertEqual((files['demo_patterns.h'], files['demo_patterns.cc']), ('', ''))

  def test_errors(self):
    result, files = self.run_on(HEAD + self.TEXT)
    self.assertEqual((result.returncode, files), (1, {}))
    self.assertRegex(result.stderr, r"demo.yaml:8: demo.twice: attribute 'k' has no meaning")
    result, files = self.run_on('dialect: ten\nsummary: Demo.\nops:\n- {op: stop, summary: Stops.}\n', 'ten')
    self.assertEqual((result.returncode, files), (1, {}))
    self.assertRegex(result.stderr, r"ten.yaml:4: dialect 'ten' is one of Tenon's")


class CommandLine(unittest.TestCase):

  def run_script(self, *args):
    return subprocess.run([sys.executable, '-B', SCRIPT, *args], capture_output=True, text=True, check=False)

  def yaml(self):
    folder = os.path.join(ROOT, 'ir/dialect')
    return sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith('.yaml'))

  def test_writes_what_it_lists_and_nothing_twice(self):
    with tempfile.TemporaryDirectory() as out:
      self.assertEqual(self.run_script('--out', out, *self.yaml()).returncode, 0)
      listed = self.run_script('--out', out, '--list-outputs', *self.yaml()).stdout.split()
      written = sorted(os.path.relpath(os.path.join(d, f), out) for d, _, files in os.walk(out) for f in files)
      self.assertEqual(sorted(listed), written)
      stamps = {f: os.stat(os.path.join(out, f)).st_mtime_ns for f in written}
      with open(os.path.join(out, written[0]), 'a', encoding='utf-8') as f:
        f.write('// changed\n')
      self.assertEqual(self.run_script('--out', out, *self.yaml()).returncode, 0)
      again = {f: os.stat(os.path.join(out, f)).st_mtime_ns for f in written}
      self.assertEqual([f for f in written if stamps[f] != again[f]], [written[0]])

  def test_documentation_does_not_reach_cpp(self):
    op = '- op: a\n  summary: x.\n  operands: [x: Tensor]\n  results: [y: Tensor]\n'
    words = '  details: |\n    More.\n  about: {x: The input., y: The output.}\n  example: "%y = demo.a(%x)"\n'
    for suffix in ('.h', '.cc'):
      self.assertEqual(generated(op, suffix), generated(op + words, suffix))
    loaded = load(HEAD + op + words)[0].ops[0]
    self.assertEqual((loaded.details, loaded.about['y'], loaded.example), ('More.', 'The output.', '%y = demo.a(%x)'))

  def test_errors_exit_with_1(self):
    with tempfile.TemporaryDirectory() as out:
      path = os.path.join(out, 'demo.yaml')
      with open(path, 'w', encoding='utf-8') as f:
        f.write(HEAD + '- {op: a}\n')
      result = self.run_script('--out', out, path)
      self.assertEqual((result.returncode, result.stdout), (1, ''))
      self.assertIn('demo.yaml:4: demo.a has no summary', result.stderr)
      self.assertEqual(os.listdir(out), ['demo.yaml'])

  def test_a_dialect_outside_of_the_tree(self):
    with tempfile.TemporaryDirectory() as out:
      result = self.run_script('--external', '--out', out, os.path.join(ROOT, 'tests/codegen/demo.yaml'))
      self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))
      self.assertEqual(sorted(os.listdir(out)), ['demo.md', 'demo_ops.cc', 'demo_ops.h', 'demo_patterns.cc', 'demo_patterns.h'])
      for name in os.listdir(out):
        with open(os.path.join(out, name), encoding='utf-8') as f:
          text = f.read()
        self.assertNotRegex(text, r'#include "ir/')
        if name.startswith('demo_ops'):
          self.assertIn('from demo.yaml', text)
        elif name == 'demo.md':
          self.assertIn('### !demo.ledger', text)

  def test_writes_types_as_json(self):
    text = ('dialect: demo\nsummary: Demo.\ntypes:\n- {type: ledger, summary: L., parameters: {currency: Str, limit: I64 = 1}}\n'
            'attributes:\n- {attribute: rate, summary: R.}\n'
            'ops:\n- {op: a, summary: A., operands: [x: "!demo.ledger"], results: [y: "!demo.ledger"]}\n')
    with tempfile.TemporaryDirectory() as out:
      path = os.path.join(out, 'demo.yaml')
      with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
      result = self.run_script('--ops-json', '-', path)
      self.assertEqual((result.returncode, result.stderr), (0, ''))
      root = json.loads(result.stdout)
      (ledger,) = root['types']
      self.assertEqual((ledger['type'], ledger['summary']), ('demo.ledger', 'L.'))
      self.assertEqual(ledger['parameters'], [{'name': 'currency', 'kind': 'string', 'required': True},
                                              {'name': 'limit', 'kind': 'i64', 'required': False, 'default': '1 : i64'}])
      self.assertEqual([(a['attribute'], a['parameters']) for a in root['attributes']], [('demo.rate', [])])
      self.assertEqual(root['ops'][0]['operands'], [{'name': 'x', 'arity': 'single', 'types': ['!demo.ledger']}])
      self.assertEqual(root['ops'][0]['result'], ['!demo.ledger'])
      with open(path, 'w', encoding='utf-8') as f:
        f.write(text.replace('summary: R.', 'summary: R., verify: CheckRate'))
      result = self.run_script('--ops-json', '-', path)
      self.assertEqual(result.returncode, 1)
      self.assertIn("demo.yaml:6: demo.rate: 'verify' has no form in JSON", result.stderr)

  def test_writes_ops_as_json(self):
    ops = ('- {op: a, summary: A., operands: [x: Tensor<Float>, s: "Optional<Tensor<F32|I8>>"], attrs: {k: F32 = 1.5, m: '
           '"Enum(p|q)", o: "I64?"}, results: [y: Tensor], traits: [Pure, Elementwise]}\n'
           '- {op: b, summary: B., operands: [x: Tensor], results: [y: Tensor<Bool>], traits: [Pure, Idempotent]}\n')
    with tempfile.TemporaryDirectory() as out:
      path = os.path.join(out, 'demo.yaml')
      with open(path, 'w', encoding='utf-8') as f:
        f.write(HEAD + ops)
      result = self.run_script('--ops-json', '-', path)
      self.assertEqual((result.returncode, result.stderr), (0, ''))
      a, b = json.loads(result.stdout)['ops']
      self.assertEqual((a['op'], a['shape'], a['result'], a['traits']), ('demo.a', 'elementwise', ['tensor'], []))
      self.assertEqual(a['operands'], [{'name': 'x', 'arity': 'single', 'types': ['float']},
                                       {'name': 's', 'arity': 'optional', 'types': ['i8', 'f32']}])
      self.assertEqual(a['attrs'], [{'name': 'k', 'kind': 'f32', 'required': False, 'default': '1.5 : f32'},
                                    {'name': 'm', 'kind': 'enum', 'required': True, 'values': ['p', 'q']},
                                    {'name': 'o', 'kind': 'i64', 'required': False}])
      self.assertEqual((b['shape'], b['result'], b['traits']), ('same_as_first', ['i1'], ['idempotent']))
      self.assertTrue(a['at'].endswith('demo.yaml:4:4'), a['at'])
      for wrong, message in (('shape: InferOther', 'the shape has no form in JSON'),
                             ('fold: FoldOther', "'fold' has no form in JSON"),
                             ('traits: [Random]', 'trait Random has no form in JSON')):
        with open(path, 'w', encoding='utf-8') as f:
          f.write(HEAD + '- {op: a, summary: A., operands: [x: Tensor], results: [y: Tensor], %s}\n' % wrong)
        result = self.run_script('--ops-json', '-', path)
        self.assertEqual((result.returncode, result.stdout), (1, ''))
        self.assertIn(message, result.stderr)


if __name__ == '__main__':
  unittest.main()
