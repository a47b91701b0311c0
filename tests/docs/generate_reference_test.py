"""Tests of tools/docs/generate_reference.py on texts of its own: how it reads helps, lists and sources, and what it refuses."""

import ast
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, 'tools/docs'), os.path.join(ROOT, 'tools/codegen')]

import doxygen_filter  # pylint: disable=wrong-import-position
import op_examples  # pylint: disable=wrong-import-position
import op_page  # pylint: disable=wrong-import-position
import reference_cpp  # pylint: disable=wrong-import-position
import reference_environment  # pylint: disable=wrong-import-position
import reference_programs  # pylint: disable=wrong-import-position
import reference_python  # pylint: disable=wrong-import-position
import reference_rules  # pylint: disable=wrong-import-position
import reference_text as md  # pylint: disable=wrong-import-position

FLAT = '''ir-run MODEL [options]: runs a model.
MODEL is a file.

  -O0 … -O3                       level (default: 2)
  --check=DIR                     inputs and outputs: input_N.pb
                                  in DIR
  --shape=a=1,b=128               sizes [--dim]
  --explain=RULE                  why a rule fired (IR only with -o)

Exit status: 0 ok; 1 an output differs; 2 bad input, or an output
that cannot be written.
'''
GROUPED = '''Usage: ir-run MODEL [options]

Running:
  -O0 … -O3                       level (default: 2)
  --check=DIR                     inputs

Limits:
  --max-memory=BYTES              memory

Exit status:
  0  ok
  1  an output differs
  2  bad input

Examples:
  ir-run a.onnx
  ir-run --help

Guides:
  docs/guide/run-a-model.md
'''


class Helps(unittest.TestCase):

  def test_flat(self):
    parts = reference_programs.read_help(FLAT)
    text = '\n'.join(reference_programs.program_page('ir-run', parts))
    self.assertIn('```text\nir-run MODEL [options]\n```', text)
    self.assertIn('MODEL is a file.', text)
    self.assertIn('- `-O0 … -O3`: level. Default: 2.', text)
    self.assertIn('- `--check=DIR`: inputs and outputs: `input_N.pb` in DIR.', text)
    self.assertIn('- `--shape=a=1,b=128` (also `--dim`): sizes.', text)
    self.assertIn('- `--explain=RULE`: why a rule fired (IR only with `-o`).', text)
    self.assertNotIn('Exit status:', text)
    self.assertEqual(reference_programs.statuses('ir-run', parts),
                     {0: 'ok', 1: 'an output differs', 2: 'bad input, or an output that cannot be written'})

  def test_grouped(self):
    parts = reference_programs.read_help(GROUPED)
    text = '\n'.join(reference_programs.program_page('ir-run', parts))
    for title in ('Running', 'Limits', 'Examples'):
      self.assertIn(f'## {title}\n', text)
    self.assertIn('```text\nir-run a.onnx\nir-run --help\n```', text)
    self.assertNotIn('## Exit status', text)
    self.assertNotIn('## Guides', text)
    self.assertEqual(reference_programs.statuses('ir-run', parts), {0: 'ok', 1: 'an output differs', 2: 'bad input'})

  def test_no_statuses(self):
    with self.assertRaisesRegex(md.PageError, 'no exit statuses'):
      reference_programs.statuses('ir-run', reference_programs.read_help('ir-run MODEL\n\n  --help  print this\n'))

  def test_passes(self):
    passes, pipelines = reference_programs.read_passes(
        'Passes:\n  --a                             Does a\n      x=<count>                   how many (default: 3)\n'
        '      y=<text>                    a name\n  --b                             Does b\n\nPipelines:\n'
        '  -O0                             little\n      = a,b{x=1,2}\n')
    self.assertEqual(passes, {'a': {'summary': 'Does a', 'options': [('x', 'count', '3', 'how many'), ('y', 'text', '', 'a name')]},
                              'b': {'summary': 'Does b', 'options': []}})
    self.assertEqual(pipelines, {'O0': ['little', 'a,b{x=1,2}']})


class Rules(unittest.TestCase):

  def test_list(self):
    families = reference_rules.read_list(
        'norm (fuse): norms\n  one                      x (y)  [patterns/layers/norm.cc:12]\n'
        '  two                      z (may overflow, ignores infinity without a proof)  [patterns/layers/norm.cc:13]\n')
    self.assertEqual(families, [{'name': 'norm', 'phase': 'fuse', 'summary': 'norms', 'rules': [
        {'name': 'one', 'summary': 'x (y)', 'gives_up': '', 'file': 'patterns/layers/norm.cc'},
        {'name': 'two', 'summary': 'z', 'gives_up': 'may overflow, ignores infinity', 'file': 'patterns/layers/norm.cc'}]}])
    with self.assertRaisesRegex(md.PageError, 'neither a family nor a rule'):
      reference_rules.read_list('norm (fuse): norms\nwhat is this\n')

  def test_layout_keeps_the_text(self):
    parts = ' | '.join(f'ten.mul(x, ten.add(ten.exp(any(a | b)), splat({i}))) {{axes = {{1, 2}}, word = "a, (b | c"}}' for i in range(9))
    rule = f'rule long {{\n  summary "a, (b | c"\n  match   any({parts})\n  replace x\n}}'
    pretty = reference_rules.pretty(rule)
    self.assertEqual(''.join(pretty.split()), ''.join(rule.split()))
    self.assertLessEqual(max(map(len, pretty.split('\n'))), reference_rules.WIDTH)
    self.assertEqual(reference_rules.pretty('rule short {\n  match   relu(x)\n  replace x\n}'),
                     'rule short {\n  match   relu(x)\n  replace x\n}')


class Environment(unittest.TestCase):

  def test_readers(self):
    self.assertEqual(reference_environment._CPP.findall('std::get_env("A"); get_env("B") get_env(name)'.replace('_', '')), ['A', 'B'])
    self.assertEqual([a or b for a, b in reference_environment._PYTHON.findall(
        'os.ENV.get("A", "") os.ENV["B"] os.ENV["D"] = "1" os.ENV | x os.get_env(\'C\')'.replace('ENV', 'environ').replace('_', ''))],
        ['A', 'B', 'C'])
    self.assertEqual(reference_environment._SHELL.findall('${A:-x} ${B-} ${C} ${d:-e} ${E:+:$E}'), ['A', 'B', 'E'])
    self.assertEqual(reference_environment._CMAKE.findall('"$ENV{A}" ${B}'), ['A'])

  def test_every_reader_is_found(self):
    """No source names getenv in a way that the patterns miss."""
    found = reference_environment.readers()
    self.assertIn('frontends/cpp/tenon.cc', found['TENON_WEIGHT_CACHE'])
    self.assertIn('tools/cmake/configure_and_build', found['JOBS'])


class Examples(unittest.TestCase):

  def test_module(self):
    text = op_examples.as_module('%y, %z = ten.topk(%x) <{axis = 1, k = #core.dims<2>}> : (tensor<2x?xf32, ["", "N"]>) -> '
                                 '(tensor<2x2xf32>, tensor<2x2xi64>)')
    self.assertIn('function_type = (tensor<2x?xf32, ["", "N"]>) -> (tensor<2x2xf32>, tensor<2x2xi64>)', text)
    self.assertIn('func.return(%y, %z) : (tensor<2x2xf32>, tensor<2x2xi64>) -> ()', text)

  def test_values_of_regions(self):
    text = op_examples.as_module('%r = ctl.if(%c) ({\n  %0 = ten.neg(%x) : (tensor<f32>) -> tensor<f32>\n'
                                 '  ctl.yield(%0) : (tensor<f32>) -> ()\n}, {\n  ctl.yield(%x) : (tensor<f32>) -> ()\n'
                                 '}) : (tensor<i1>) -> tensor<f32>')
    self.assertIn('^bb0(%x: tensor<f32>, %c: tensor<i1>):', text)
    self.assertIn('func.return(%r) : (tensor<f32>) -> ()', text)


class CppApi(unittest.TestCase):
  """docs/reference/cpp-api.md names headers that are there and public, and the symbols that it says are in them."""

  def test_headers(self):
    public = [line for line in md.source('tools/docs/public_headers.txt').split('\n') if line and not line.startswith('#')]
    self.assertEqual(public, sorted(set(public)))
    rows = re.findall(r'^\| [^|]+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$',
                      md.source('docs/reference/cpp-api.md').split('\n## Ownership')[0], re.M)[1:]
    self.assertGreater(len(rows), 20)
    stable = self.stable_headers(public)
    for headers, symbols, said in rows:
      names = re.findall(r'`([\w/]+\.h)`', headers)
      folder = ''
      texts = ''
      found = []
      for name in names:
        folder = os.path.dirname(name) or folder
        path = name if '/' in name else f'{folder}/{name}'
        if path.endswith(('_ops.h', '/dialects.h')):
          continue  # generated
        self.assertIn(path, public)
        texts += md.source(path)
        found += [os.path.basename(path)] if path in stable else []
      found = 'yes' if len(found) == len(names) else ', '.join(f'`{name}`' for name in found) or 'no'
      self.assertEqual(said, found, f'the column "stable" of {headers}')
      for symbol in re.findall(r'`(\w+)`', symbols) if texts and 'dialects.h' not in headers else []:
        if path != 'patterns/prelude.h':
          self.assertTrue(re.search(rf'\b{symbol}\b', texts), f'{symbol} is not in {headers}')

  @staticmethod
  def stable_headers(public):
    """The public headers of frontends/c; those of frontends/cpp, and all headers that they include."""
    found = {path for path in public if path.startswith('frontends/c/')}
    todo = [path for path in public if path.startswith('frontends/cpp/')]
    while todo:
      path = todo.pop()
      if path not in found and os.path.exists(os.path.join(md.ROOT, path)):
        found.add(path)
        todo += re.findall(r'^#include "([^"]+)"', md.source(path), re.M)
    return found

  def test_members(self):
    lines = ['// Before.', 'int a = 0;', 'int b = 0, c = 1;  // behind', '                   // and on', '', '// Of f.', 'int f(int x = 1) const {',
             '  return x;', '}', 'int f(std::span<int> x) { return 1; }', 'C() = default;', 'const T* p = nullptr;']
    self.assertEqual(reference_cpp.declarations(lines), [
        ['int a = 0', 'Before.'], ['int b = 0, c = 1', 'behind and on'], ['int f(int x = 1) const', 'Of f.'],
        ['int f(std::span<int> x)', ''], ['const T* p = nullptr', '']])

  def test_every_option_has_a_meaning(self):
    text = reference_cpp.pages()['docs/reference/cpp-options.md']
    for name in ('allow_unregistered_dialects', 'verify_each', 'reference', 'verify_weights', 'check_memory', 'fast_math', 'num_bytes'):
      self.assertIn(name, text)
    empty = [line for line in text.split('\n') if line.startswith('| `') and line.endswith('|  |')]
    self.assertEqual(empty, [], 'members without a comment')

  def test_filter_keeps_lines(self):
    text = ('// A file.\n#ifndef A\n\n// Two of them\n// with lines.\nint a();\nint a(int b);\nint b();\n\nstruct C {  // a struct\n'
            '  int d = 0;  // behind\n              // and on\n  C() = default;\n};\n')
    made = doxygen_filter.filtered(text).split('\n')
    self.assertEqual(len(made), len(text.split('\n')))
    self.assertEqual(made[:5], ['/// \\file', '/// A file.', '#ifndef A', '/// Two of them', '/// with lines.'])
    self.assertEqual(made[6:8], ['/** Two of them with lines. */ int a(int b);', 'int b();'])
    self.assertEqual(made[10:12], ['  int d = 0;  ///< behind', '              ///< and on'])

  def test_filter_asks_no_comment_of_iterator_types(self):
    hidden = doxygen_filter.filtered('class I {\n public:\n  using reference = int&;\n  using other = int&;\n};\n').split('\n')
    self.assertEqual(hidden[2:4], ['/** \\cond */  using reference = int&;/** \\endcond */', '  using other = int&;'])


class PythonApi(unittest.TestCase):

  CLASS = '''class Thing(Base):
    """A thing: `x` and y_z.

        code()

    Attributes:
      x: The first
        of two.
    """

    size: int
    """In bytes."""

    def __init__(self, x, *rest, y: int = 3, **more) -> None: ...
    @property
    def name(self) -> "_core.Name":
        """The name."""
    @name.setter
    def name(self, to): ...
    async def run(self, inputs, *, seed=0) -> Any:
        """Runs it.

        Raises:
          Cancelled: It was ended.
        """
    def _hidden(self): ...
'''

  @staticmethod
  def lines(text, is_stub=False):
    return '\n'.join(reference_python.entry('m.Thing', [ast.parse(text).body[0]], is_stub))

  def test_class(self):
    text = self.lines(self.CLASS)
    self.assertIn('```text\nm.Thing(x, *rest, y=3, **more)\n```', text)
    self.assertIn('A thing: `x` and y\\_z.', text)
    self.assertIn('```text\ncode()\n```', text)
    self.assertIn('| `x` | The first of two. |', text)
    self.assertIn('| `size` | `int` | In bytes. |', text)
    self.assertIn('| `name` | `Name` | The name. |', text)
    self.assertIn('| `run(inputs, *, seed=0) -> Any` | Runs it. |', text)
    self.assertIn('#### m.Thing.run\n\n| exception | when |\n|---|---|\n| `Cancelled` | It was ended. |', text)
    self.assertNotIn('_hidden', text)

  def test_function(self):
    text = self.lines('def load(a, b="x"):\n  """Loads a."""\n')
    self.assertIn('```text\nm.Thing(a, b=\'x\')\n```\n\n`Thing` loads a.', text)

  def test_descriptions_are_required(self):
    for source in ('def f(): ...', 'class A: ...', 'class A:\n  """A."""\n  def f(self): ...'):
      with self.subTest(source), self.assertRaisesRegex(md.PageError, 'has no description'):
        self.lines(source)
    self.assertNotIn('only(', self.lines('class A:\n  """A."""\n  def only(self): ...', is_stub=True))

  def test_all_public_names_are_there(self):
    text = reference_python.pages()[reference_python.PAGE]
    for name in ('tenon.load', 'tenon.Model', 'tenon.Tensor', 'tenon.rule', 'tenon.Attr', 'tenon.ir.Module', 'tenon.ir.parse',
                 'tenon.testing.validate', 'tenon.InvalidModel'):
      self.assertIn(f'\n### {name}\n', text)


class Ops(unittest.TestCase):

  def test_numbers(self):
    self.assertEqual([op_page.short_float(v, 'F32') for v in (9.999999747378752e-06, 0.75, float('-inf'))],
                     ['1e-05', '0.75', '-inf'])

  def test_formulas_are_no_markdown(self):
    self.assertEqual(op_page.formula('|x| * `a_b` [1]'), r'\|x\| \* `a_b` \[1\]')


if __name__ == '__main__':
  unittest.main()
