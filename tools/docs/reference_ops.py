"""docs/reference/ops/: a page for each dialect, from ir/dialect/*.yaml; docs/reference/onnx-operators.md."""

import collections
import glob
import os
import re
import sys

import reference_text as md

sys.path.insert(0, os.path.join(md.ROOT, 'tools/codegen'))

import loader  # pylint: disable=wrong-import-position
import model  # pylint: disable=wrong-import-position
import op_examples  # pylint: disable=wrong-import-position
from op_page import KINDS, SETS, anchor, attribute_rows, first_words, formula, parametric_lines, syntax, values_table  # pylint: disable=wrong-import-position

FOLDER = 'docs/reference/ops'
# In the order of the index page.
ORDER = ('ten', 'nn', 'fused', 'q', 'random', 'str', 'image', 'core', 'ctl', 'func', 'cf', 'builtin', 'kernel')


def dialects():
  loaded = {d.name: d for d in loader.load(sorted(glob.glob(os.path.join(md.ROOT, 'ir/dialect/*.yaml'))))}
  missing = set(loaded) ^ set(ORDER)
  if missing:
    raise md.PageError(f'tools/docs/reference_ops.py: ORDER and ir/dialect/*.yaml differ in {sorted(missing)}')
  return [loaded[name] for name in ORDER]


# ---- one op ---------------------------------------------------------------------------------------------------------


def op_lines(op, data):
  lines = [f'## {op.full_name}', '', first_words(op), '']
  if op.details:
    lines += [op.details, '']
  lines += md.fence('text', syntax(op))
  lines += values_table('operand', op.operands, op)
  rows = list(attribute_rows(op, data.attributes))
  if rows:
    lines += md.table(['attribute', 'kind', 'default', 'meaning'], rows)
  if op.needs_segments:
    lines += ['The generic form has `operandSegmentSizes`: how many values each operand has, in the order of the operands. An '
              'absent one has 0.', '']
  lines += values_table('result', op.results, op)
  for title, things in (('region', op.regions), ('successor', [s.name for s in op.successors])):
    if things:
      lines += md.table([title, 'meaning'], [(f'`{t}`', formula(md.sentence(op.about.get(t, '')))) for t in things])
  if op.results:
    if op.shape not in data.shapes:
      raise md.PageError(f'{op.shape} of {op.full_name} is not in tools/docs/reference/shapes.yaml')
    lines += [f'**Shape.** {shape_rule(op, data)}', '']
  lines += [f'**Traits.** {traits_text(op)} **Effects.** {effects(op)}', '']
  if data.imported.get(op.full_name):
    lines += [f'**ONNX.** The importer makes it of {md.join_words(f"`{name}`" for name in data.imported[op.full_name])}.', '']
  example = op_examples.example_of(op)
  if example:
    lines += ['**Example.**', '', *md.fence('mlir', example)]
  return lines


def shape_rule(op, data):
  if op.shape == 'InferElementwise' and len(op.operands) == 1:
    return f'The result has the shape of `{op.operands[0].name}`.'
  return formula(data.shapes[op.shape])


def traits_text(op):
  return ', '.join(f'[{t}](index.md#traits)' for t in op.traits) + '.' if op.traits else 'None.'


def effects(op):
  found = [word for trait, word in (('ReadsMemory', 'It reads memory'), ('WritesMemory', 'It writes memory'),
                                    ('Random', 'It is random')) if trait in op.traits]
  if found:
    return md.join_words(found) + '.'
  if op.regions and 'Pure' not in op.traits:
    return 'Those of the ops in its regions.' if op.dialect == 'ctl' else 'None of its own.'
  if 'Pure' in op.traits or 'Terminator' in op.traits or 'Symbol' in op.traits:
    return 'None.'
  return 'Unknown: it may read and write memory.'


# ---- pages ----------------------------------------------------------------------------------------------------------


class Data:
  """What the pages say beside the definitions."""

  def __init__(self, all_dialects):
    self.attributes = md.data('attributes.yaml')
    self.shapes = md.data('shapes.yaml')
    self.traits = md.data('traits.yaml')
    self.onnx = Onnx(all_dialects)
    self.imported = self.onnx.by_op()
    used = {op.shape for d in all_dialects for op in d.ops}
    for name in sorted(set(self.shapes) - used):
      raise md.PageError(f'tools/docs/reference/shapes.yaml: no op has the shape function {name}')
    known = set(loader.known_traits())
    if known != set(self.traits):
      raise md.PageError(f'tools/docs/reference/traits.yaml and enum Trait differ in {sorted(known ^ set(self.traits))}')


def pages():
  """{path: text}."""
  all_dialects = dialects()
  data = Data(all_dialects)
  result = {f'{FOLDER}/{d.name}.md': dialect_page(d, data) for d in all_dialects}
  result[f'{FOLDER}/index.md'] = index_page(all_dialects, data)
  result['docs/reference/onnx-operators.md'] = data.onnx.page()
  return {path: '\n'.join(lines).rstrip('\n') + '\n' for path, lines in result.items()}


def dialect_page(dialect, data):
  ops = sorted(dialect.ops, key=lambda op: op.name)
  intro = [f'Look up the ops of the [dialect](../../glossary.md#dialect) `{dialect.name}` here: syntax, operands, attributes, results and shapes.',
           f'{md.sentence(formula(dialect.summary))} [How to read these pages](index.md) explains the notation.', '',
           *md.fence('console', f"$ build/bin/ir-opt --list-ops | grep '^{dialect.name}[.]'")[:-1]]
  lines = md.page(f'Dialect {dialect.name}', f'ir/dialect/{dialect.name}.yaml', intro)
  lines += md.table(['op', 'what it does'], [(f'[`{op.full_name}`](#{anchor(op)})', formula(md.sentence(op.summary))) for op in ops])
  for op in ops:
    lines += op_lines(op, data)
  for title, defined in (('Types', dialect.types), ('Attributes', dialect.attributes)):
    lines += parametric_lines(title, defined)
  return lines


def index_page(all_dialects, data):
  intro = ['Find every op of the IR from here, and look up what the tables of the pages mean.',
           'An op is written in the [text format](../text-format.md).', '',
           *md.fence('console', '$ build/bin/ir-opt --list-ops')[:-1]]
  lines = md.page('Operations', 'ir/dialect/*.yaml', intro)
  lines += md.table(['dialect', 'ops', 'what it holds'],
                    [(f'[`{d.name}`]({d.name}.md)', str(len(d.ops)), formula(md.sentence(d.summary))) for d in all_dialects])
  lines += ['A program may also hold ops of ONNX that Tenon does not have, such as `onnx.ImageDecoder`. They print and are',
            'optimized around, but they do not run. [ONNX operators](../onnx-operators.md) lists the operators that are imported.', '']
  lines += ['## Element types', '', 'Operands and results name the element types that they allow:', '']
  lines += md.table(['words', 'element types'], [
      ('tensor', 'all: ' + ', '.join(f'`{t}`' for t in model.DTYPES.values())),
      *[(f'tensor of {words}', ', '.join(f'`{model.DTYPES[d]}`' for d in model.DTYPES if d in model.DTYPE_SETS[key]))
        for _, key, words in SETS]])
  lines += ['[Narrow types](../../glossary.md#narrow-type) are stored, moved and converted. An op that computes refuses them.', '']
  lines += ['A tensor may have [symbolic](../../glossary.md#symbol) or unknown extents. `tensor<?x8xf32, ["B", ""]>` has the symbol `B`.', '',
            'An optional operand may be absent. An op with two or more operands that are optional or of any number has the attribute',
            '`operandSegmentSizes`, as in MLIR. Text has it, or the names of such operands:',
            '[operands by name](../text-format.md#operands-by-name).', '']
  lines += ['## Attributes', '', 'An attribute has one of these kinds:', '']
  lines += md.table(['kind', 'how it is written'], [KINDS[k] for k in model.ATTR_KINDS])
  lines += ['Attributes stand in `<{ }>`, in any order. An attribute with a default may be left out when text is read. The printer',
            'sorts them, and leaves out those at their default, except in the generic form.', '']
  lines += ['## Shapes', '',
            'The line "Shape" of an op says how the types of its results follow from its operands and attributes. An operand of unknown',
            'rank gives a result of unknown rank. Extents may be symbols: `[B, S] + [1, S]` is `[B, S]`.', '',
            'The verifier compares written types with this rule. Element type and rank must agree, and two numbers must be equal.', '']
  lines += ['## Traits', '']
  lines += md.table(['trait', 'what it says'], [(f'`{name}`', text) for name, text in data.traits.items()])
  lines += ['An op of a dialect that is not registered may have any effect, so no pass removes or moves it.', '']
  return lines


# ---- ONNX -----------------------------------------------------------------------------------------------------------

DOMAINS = {'standard': ('op_adapters.def', 'Import'), 'com.microsoft': ('microsoft_adapters.def', 'ImportMicrosoft'),
           'ai.onnx.ml': ('ml_adapters.def', 'ImportMl'),
           'ai.onnx.preview': ('preview_adapters.def', 'ImportPreview'),
           'ai.onnx.preview.training': ('training_adapters.def', 'ImportTraining')}


class Onnx:
  """Which ONNX operators become which ops: `onnx:` of the dialects, and tools/docs/reference/onnx.yaml."""

  def __init__(self, all_dialects):
    self.one_to_one = {}
    ops = {}
    for dialect in all_dialects:
      for op in dialect.ops:
        ops[op.full_name] = op
        if op.onnx is not None:
          for name in op.onnx if isinstance(op.onnx, list) else [op.onnx]:
            self.one_to_one[name] = op.full_name
    self.ops = ops
    self.adapted = md.data('onnx.yaml')
    self.since = dict(re.findall(r'\{"(\w+)", (\d+)\}', re.search(r'kSince\[\] = \{(.*?)\};', md.source(
        'frontends/onnx/ops/adapters.cc'), re.S).group(1)))
    self.newest = re.search(r'kNewestOpset = (\d+)', md.source('frontends/onnx/ops/adapters.h')).group(1)
    self.check()

  def check(self):
    importer = Importer()
    for domain, (def_file, prefix) in DOMAINS.items():
      in_code = set(re.findall(r'^TENON_\w+_ADAPTER\((\w+)\)', md.source(f'frontends/onnx/ops/{def_file}'), re.M))
      listed = set(self.adapted[domain])
      if in_code != listed:
        raise md.PageError(f'tools/docs/reference/onnx.yaml and frontends/onnx/ops/{def_file} differ in {sorted(in_code ^ listed)}')
      for name, made in self.adapted[domain].items():
        reached = importer.ops_of(prefix + name)
        for op in made:
          if op not in self.ops:
            raise md.PageError(f'tools/docs/reference/onnx.yaml: {name}: there is no op {op}')
          if (self.ops[op].dialect, self.ops[op].class_name) not in reached:
            raise md.PageError(f'tools/docs/reference/onnx.yaml: {name}: {prefix + name} makes no {op}')

  def by_op(self):
    found = collections.defaultdict(list)
    for name, op in self.one_to_one.items():
      found[op].append(name)
    for domain, operators in self.adapted.items():
      for name, made in operators.items():
        for op in made:
          found[op].append(name if domain == 'standard' else f'{domain}.{name}')
    return {op: sorted(names, key=lambda n: ('.' in n, n)) for op, names in found.items()}

  def page(self):
    intro = ['See here whether Tenon imports an ONNX operator, and which ops become of it.',
             f'The importer reads operators up to opset {self.newest}. To write the imported program as text:', '',
             *md.fence('console', '$ build/bin/ir-opt tests/models/bert.eager.ts17/model.onnx --elide-resources -o imported.mlir')[:-1]]
    lines = md.page('ONNX operators', 'ir/dialect/*.yaml, frontends/onnx and tools/docs/reference/onnx.yaml', intro)
    lines += ['An operator that is not listed becomes an [opaque op](../glossary.md#opaque-op), such as `onnx.ImageDecoder`, and a remark names it. So does a',
              'form that Tenon does not have. The program prints and is optimized around the op, but it does not run.', '',
              'The tables leave out casts, constants and reshapes between the ops.', '',
              'The column _read from opset_ is the lowest opset at which the importer reads the operator. It may be lower than the opset',
              'in which ONNX added the operator: the importer does not check that.', '', '## Standard operators', '']
    standard = {**{n: [op] for n, op in self.one_to_one.items()}, **self.adapted['standard']}
    lines += md.table(['operator', 'read from opset', 'becomes'],
                      [(f'`{name}`', self.since.get(name, '1'), self.links(standard[name])) for name in sorted(standard)])
    lines += ['## Operators of com.microsoft', '', "ONNX Runtime's optimizers and quantizers write these operators.", '']
    lines += md.table(['operator', 'becomes'],
                      [(f'`{name}`', self.links(made)) for name, made in sorted(self.adapted['com.microsoft'].items())])
    lines += ['## Operators of ai.onnx.ml', '',
              'Converters of scikit-learn, LightGBM and the like write these operators. Labels are integers.', '']
    lines += md.table(['operator', 'becomes'],
                      [(f'`{name}`', self.links(made)) for name, made in sorted(self.adapted['ai.onnx.ml'].items())])
    lines += ['## Previews of ONNX', '', 'ONNX may change these operators. Those of `ai.onnx.preview.training` are one step of an optimizer each.', '']
    lines += md.table(['operator', 'becomes'],
                      [(f'`{domain}.{name}`', self.links(made)) for domain in ('ai.onnx.preview', 'ai.onnx.preview.training')
                       for name, made in sorted(self.adapted[domain].items())])
    return lines

  def links(self, made):
    if not made:
      return 'its input'
    return ', '.join(f'[`{op}`](ops/{self.ops[op].dialect}.md#{anchor(self.ops[op])})' for op in made)


class Importer:
  """Which ops the functions of frontends/onnx make, themselves or through functions that they name."""

  _DEFINITION = re.compile(r'^(?!namespace|struct|class|enum|using|constexpr|static_assert|[\s/#}])[^\n;={}]*?([\w:~]+)\('
                           r'(?:[^{};]|\{\})*?\)(?: const)? \{(?:\n(.*?)^\}| (.*?) \}$)', re.M | re.S)

  def __init__(self):
    self.bodies = collections.defaultdict(list)
    paths = glob.glob(os.path.join(md.ROOT, 'frontends/onnx/**/*.cc'), recursive=True)
    for path in sorted(p for p in paths if '/export/' not in p):
      with open(path, encoding='utf-8') as f:
        text = re.sub(r'^template <.*>\n', '', f.read(), flags=re.M)
      for match in self._DEFINITION.finditer(text):
        self.bodies[match[1].split('::')[-1]].append(match[2] or match[3] or '')

  def ops_of(self, function):
    seen, todo, made = set(), [function], set()
    while todo:
      name = todo.pop()
      if name in seen:
        continue
      seen.add(name)
      for body in self.bodies.get(name, []):
        made.update(re.findall(r'\b(\w+)::(\w+Op)\b', body))
        todo += [word for word in set(re.findall(r'\b[A-Z]\w+\b', body)) if word in self.bodies]
    return made
