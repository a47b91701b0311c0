"""Reads dialect files and checks them.

Every mistake in a YAML file becomes one line `file:line: message (expected ...)` in model.SchemaError.
"""

import os
import re

import yaml

import loader_types
import model
import nodes
from model import (ATTR_KINDS, DTYPES, DTYPE_SETS, KINDS_WITHOUT_DEFAULT, MAX_REGIONS, MAX_SLOTS, MAX_SUCCESSORS,
                   RESERVED_NAMES, Attr, Constraint, Dialect, Op, Operand, SchemaError, Successor, display, enumerator,
                   op_hash, to_f32)


def load(paths):
  """Reads and checks dialect files; returns dialects sorted by name."""
  dialects = {}
  hashes = {}
  for path in sorted(paths):
    dialect = _Loader(path).load()
    if dialect.name in dialects:
      raise SchemaError(dialect.ops[0].mark if dialect.ops else None,
                        f"dialect '{dialect.name}' is defined again (expected one file a dialect; the first is "
                        f'{display(dialects[dialect.name].path)})')
    dialects[dialect.name] = dialect
    for op in dialect.ops:
      other = hashes.setdefault(op_hash(op.full_name), op.full_name)
      if other != op.full_name:
        raise SchemaError(op.mark, f"op '{op.full_name}' has the same hash as '{other}' (expected another name)")
  loader_types.check_uses(dialects)
  return [dialects[name] for name in sorted(dialects)]


def known_traits():
  """The names of enum Trait, from the header that declares it."""
  with open(os.path.join(model.HEADERS, 'ir/core/context/op_info.h'), encoding='utf-8') as f:
    body = re.search(r'enum class Trait[^{]*\{(.*?)\};', f.read(), re.S).group(1)
  return re.findall(r'\bk(\w+)\s*=\s*1u\s*<<', body)


def names_of_tenon():
  """The names of Tenon's own dialects: those of its YAML files, or of the headers made of them."""
  folder = os.path.join(model.HEADERS, 'ir/dialect')
  found = [re.fullmatch(r'([a-z]\w*)(?:\.yaml|_ops\.h)', name) for name in sorted(os.listdir(folder))]
  return {match[1] for match in found if match} - {'declared'}


class _Loader:
  """Reads one file."""

  def __init__(self, path):
    self.path = path
    self.traits = known_traits()

  # ---- file -----------------------------------------------------------------------------------------------------

  def load(self):
    root = nodes.compose(self.path)
    if root is None:
      raise SchemaError(nodes.StartMark(self.path), 'the file is empty (expected dialect, summary and ops)')
    keys = nodes.pairs(root, 'the file', ['dialect', 'summary', 'types', 'attributes', 'ops'])
    for needed in ('dialect', 'ops'):
      if needed not in keys:
        raise SchemaError(root.start_mark, f"the file has no '{needed}' (expected dialect, summary and ops)")
    name_node = keys['dialect'][1]
    name = nodes.identifier(name_node, 'dialect')
    stem = os.path.splitext(os.path.basename(self.path))[0]
    if name != stem:
      raise SchemaError(name_node.start_mark, f"dialect '{name}' is in {stem}.yaml (expected {name}.yaml)")
    summary = nodes.text(keys['summary'][1], 'summary') if 'summary' in keys else ''
    ops = {}
    for node in nodes.items(keys['ops'][1], 'ops'):
      op = self.op(node, name)
      clash = next((o for o in ops.values() if o.camel == op.camel), None)
      if clash is not None:
        raise SchemaError(op.mark, f"op '{op.name}' is defined again (expected a new name; the first is in line "
                                   f'{clash.mark.line + 1})')
      ops[op.name] = op
    types = loader_types.definitions(self, keys, 'type', name)
    attributes = loader_types.definitions(self, keys, 'attribute', name)
    loader_types.check_classes(types + attributes)
    return Dialect(name, summary, list(ops.values()), self.path, types, attributes)

  # ---- ops ------------------------------------------------------------------------------------------------------

  _OP_KEYS = ['op', 'summary', 'operands', 'attrs', 'results', 'traits', 'shape', 'verify', 'fold', 'interfaces', 'regions',
              'successors', 'onnx', 'tests', 'details', 'about', 'example']

  def op(self, node, dialect):
    keys = nodes.pairs(node, 'an op', self._OP_KEYS)
    if 'op' not in keys:
      raise SchemaError(node.start_mark, "an op has no name (expected 'op: name')")
    mark = keys['op'][0].start_mark
    name = nodes.identifier(keys['op'][1], 'op')
    what = f'{dialect}.{name}'
    if 'summary' not in keys or not nodes.text(keys['summary'][1], f'{what}: summary').strip():
      raise SchemaError(mark, f"{what} has no summary (expected 'summary: one sentence')")
    operands = self.operands(keys, what, 'operands')
    results = self.operands(keys, what, 'results')
    attrs = self.attrs(keys, what)
    traits = self.trait_list(keys, what)
    regions = [nodes.identifier(n, f'{what}: region')
               for n in nodes.items(keys['regions'][1], f'{what}: regions')] if 'regions' in keys else []
    successors = self.successors(keys, what, operands)
    op = Op(dialect, name, nodes.text(keys['summary'][1], 'summary').strip(), operands, attrs, results, traits, regions,
            successors, '', self.function(keys, what, 'verify'), self.function(keys, what, 'fold'),
            self.function(keys, what, 'interfaces'),
            nodes.plain(keys['onnx'][1]) if 'onnx' in keys else None, [], self.doc_text(keys, what, 'details'), {},
            self.doc_text(keys, what, 'example'), mark)
    op.shape = self.shape(keys, what, op)
    op.tests = self.tests(keys, what, op)
    op.about = self.about(keys, what, op)
    self.check_names(op, keys)
    self.check_traits(op, keys)
    self.check_limits(op)
    return op

  def named_entries(self, node, what):
    """`[name: text, …]` as (name, key node, value node)."""
    for item in nodes.items(node, what):
      pairs = nodes.pairs(item, f'an entry of {what}')
      if len(pairs) != 1:
        raise SchemaError(item.start_mark, f'an entry of {what} has {len(pairs)} keys (expected name: constraint)')
      for name, (key, value) in pairs.items():
        yield name, key, value

  def operands(self, keys, what, key_name):
    if key_name not in keys:
      return []
    singular = key_name[:-1]
    result = []
    last_loose = None
    for _, key, value in self.named_entries(keys[key_name][1], f'{what}: {key_name}'):
      name = nodes.identifier(key, f'{what}: {singular}')
      place = f"{what}: {singular} '{name}'"
      arity, constraint = self.constraint(value, place)
      if arity == 'Single' and last_loose is not None:
        raise SchemaError(key.start_mark, f"{place} is required but follows '{last_loose}', which may be absent "
                                          '(expected Optional<…> or Variadic<…>, or another order)')
      if arity != 'Single':
        if key_name == 'results' and last_loose is not None:
          raise SchemaError(key.start_mark, f'{place} follows a variadic result (expected one such result, the last)')
        if key_name == 'results' and arity == 'Optional':
          raise SchemaError(value.start_mark, f'{place} is optional (expected a single or a variadic result)')
        last_loose = name
      result.append(Operand(name, arity, constraint, key.start_mark))
    return result

  def constraint(self, node, place):
    text = nodes.text(node, place).strip()
    arity = 'Single'
    match = re.fullmatch(r'(Optional|Variadic)<(.*)>', text)
    if match:
      arity, text = match.groups()
    if text == 'Any':
      return arity, Constraint(text, any=True)
    if text == 'I1':
      return arity, Constraint(text, scalar_i1=True)
    if text == 'Tensor':
      return arity, Constraint(text, dtypes=list(DTYPES))
    if text.startswith('!'):
      return arity, Constraint(text, dialect_type=loader_types.type_name(text, node, place))
    match = re.fullmatch(r'Tensor<(.*)>', text)
    if not match:
      known = ['Tensor', 'Any', 'I1', 'Optional', 'Variadic']
      word = re.match(r'\w*', text).group()
      hint = nodes.suggest(word, known) if word not in known else ''
      raise SchemaError(node.start_mark, f"{place} has the unknown constraint '{text}' (expected Tensor, "
                                         "Tensor<dtypes>, Any, I1, a type like '!dialect.name', or one of them in "
                                         f'Optional<…> or Variadic<…>{hint})')
    chosen = set()
    for word in match.group(1).split('|'):
      word = word.strip()
      if word in DTYPE_SETS:
        chosen.update(DTYPE_SETS[word])
      elif word in DTYPES:
        chosen.add(word)
      else:
        known = list(DTYPE_SETS) + list(DTYPES)
        raise SchemaError(node.start_mark, f"{place} has the unknown element type '{word}' (expected one of "
                                           f"{', '.join(known)}{nodes.suggest(word, known)})")
    return arity, Constraint(text, dtypes=[d for d in DTYPES if d in chosen])

  def attrs(self, keys, what):
    if 'attrs' not in keys:
      return []
    result = []
    for name, (key, value) in nodes.pairs(keys['attrs'][1], f'{what}: attrs').items():
      nodes.identifier(key, f'{what}: attribute')
      result.append(self.attr(name, key, value, f"{what}: attribute '{name}'"))
    return result

  def attr(self, name, key, node, place):
    text = nodes.text(node, place).strip()
    match = re.fullmatch(r'(\w+)\s*(\([^)]*\))?\s*(\?)?\s*(?:=\s*(.*))?', text, re.S)
    if not match:
      raise SchemaError(node.start_mark, f"{place} is written '{text}' (expected 'Kind', 'Kind?' or 'Kind = default')")
    kind, choices, optional, default = match.groups()
    if kind not in ATTR_KINDS:
      raise SchemaError(node.start_mark, f"{place} has the unknown kind '{kind}' (expected one of "
                                         f"{', '.join(ATTR_KINDS)}{nodes.suggest(kind, ATTR_KINDS)})")
    attr = Attr(name, kind, optional=optional is not None or kind == 'Unit', mark=key.start_mark)
    if kind == 'Enum':
      attr.enums = [c.strip() for c in (choices or '()')[1:-1].split('|')]
      if any(not re.fullmatch(r'[A-Za-z][A-Za-z0-9_]*', c) for c in attr.enums):
        raise SchemaError(node.start_mark, f"{place} is written '{text}' (expected Enum(first|second|…))")
      if len({enumerator(c) for c in attr.enums}) != len(attr.enums):
        raise SchemaError(node.start_mark, f'{place} has a value twice (expected distinct values)')
    elif choices:
      raise SchemaError(node.start_mark, f"{place}: kind {kind} takes no '{choices}' (only Enum does)")
    if default is not None:
      if attr.optional:
        raise SchemaError(node.start_mark, f"{place} has both '?' and a default (expected one of them)")
      if kind in KINDS_WITHOUT_DEFAULT:
        raise SchemaError(node.start_mark, f"{place}: kind {kind} cannot have a default (expected '{kind}' or "
                                           f"'{kind}?')")
      attr.has_default = True
      attr.default = self.default(attr, default.strip(), node, place)
    return attr

  def default(self, attr, text, node, place):
    def bad(expected):
      raise SchemaError(node.start_mark, f"{place} has the bad default '{text}' (expected {expected})")

    def integer(word):
      if not re.fullmatch(r'[+-]?\d+', word) or not -2**63 <= int(word) < 2**63:
        bad('a 64-bit integer' if attr.kind == 'I64' else 'a list of 64-bit integers like [1, 2]')
      return int(word)

    def number(word):
      try:
        value = float(word)
      except ValueError:
        bad('a number, inf, -inf or nan' if attr.kind in ('F32', 'F64') else 'a list of numbers like [0.5, 2]')
      return to_f32(value) if attr.kind != 'F64' else value

    def listed(parse, expected):
      if not (text.startswith('[') and text.endswith(']')):
        bad(expected)
      inner = text[1:-1].strip()
      return [parse(word.strip()) for word in inner.split(',')] if inner else []

    if attr.kind == 'Bool':
      return text == 'true' if text in ('true', 'false') else bad('true or false')
    if attr.kind == 'I64':
      return integer(text)
    if attr.kind in ('F32', 'F64'):
      return number(text)
    if attr.kind == 'I64s':
      return listed(integer, 'a list of 64-bit integers like [1, 2]')
    if attr.kind == 'F32s':
      return listed(number, 'a list of numbers like [0.5, 2]')
    if attr.kind == 'Dims':
      return [] if text.replace(' ', '') == '[]' else bad('[], the only default of Dims')
    if attr.kind == 'Type':
      names = list(DTYPES.values())
      return text if text in names else bad(f"one of {', '.join(names)}{nodes.suggest(text, names)}")
    if attr.kind == 'Enum':
      if text not in attr.enums:
        bad(f"one of {', '.join(attr.enums)}{nodes.suggest(text, attr.enums)}")
      return text
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text

  def trait_list(self, keys, what):
    traits = []
    for node in nodes.items(keys['traits'][1], f'{what}: traits') if 'traits' in keys else []:
      trait = self.trait(node, what)
      if trait in traits:
        raise SchemaError(node.start_mark, f"{what} has the trait '{trait}' twice (expected it once)")
      traits.append(trait)
    return traits

  def trait(self, node, what):
    name = nodes.text(node, f'{what}: trait')
    if name not in self.traits:
      raise SchemaError(node.start_mark, f"{what} has the unknown trait '{name}' (expected one of "
                                         f"{', '.join(self.traits)}{nodes.suggest(name, self.traits)})")
    return name

  def successors(self, keys, what, operands):
    if 'successors' not in keys:
      return []
    result = []
    names = [o.name for o in operands]
    for item in nodes.items(keys['successors'][1], f'{what}: successors'):
      if isinstance(item, yaml.ScalarNode):
        result.append(Successor(nodes.identifier(item, f'{what}: successor')))
        continue
      for name, (key, value) in nodes.pairs(item, f'an entry of {what}: successors').items():
        nodes.identifier(key, f'{what}: successor')
        group = nodes.text(value, f'{what}: operands of successor {name}')
        if group not in names:
          raise SchemaError(value.start_mark, f"{what}: successor '{name}' takes the unknown operand '{group}' "
                                              f"(expected one of {', '.join(names)}{nodes.suggest(group, names)})")
        result.append(Successor(name, names.index(group)))
    return result

  def function(self, keys, what, key):
    if key not in keys:
      return ''
    return nodes.identifier(keys[key][1], f'{what}: {key}', r'[A-Z][A-Za-z0-9]*', 'the name of a C++ function')

  def shape(self, keys, what, op):
    special = {'SameAsFirst': 'InferSameAsFirst', 'Elementwise': 'InferElementwise', 'explicit': ''}
    if 'shape' in keys:
      node = keys['shape'][1]
      name = nodes.text(node, f'{what}: shape')
      if not op.results:
        raise SchemaError(node.start_mark, f'{what} has a shape function but no results (expected results)')
      if name in special:
        if name != 'explicit' and not op.operands:
          raise SchemaError(node.start_mark, f'{what}: shape {name} needs an operand')
        return special[name]
      if not re.fullmatch(r'Infer[A-Z][A-Za-z0-9]*', name):
        raise SchemaError(node.start_mark, f"{what}: shape is '{name}' (expected SameAsFirst, Elementwise, explicit or "
                                           f'the name of a C++ function Infer…{nodes.suggest(name, special)})')
      return name
    if not op.results:
      return ''
    if 'Elementwise' in op.traits:
      return special['Elementwise']
    if not op.operands or len(op.results) > 1 or op.results[0].arity != 'Single':
      raise SchemaError(op.mark, f'{what} has no shape (expected the name of a shape function, or explicit: only ops '
                                 'with an operand and one result have a default)')
    return special['SameAsFirst']

  def tests(self, keys, what, op):
    if 'tests' not in keys:
      return []
    known = [o.name for o in op.operands] + [a.name for a in op.attrs]
    result = []
    for item in nodes.items(keys['tests'][1], f'{what}: tests'):
      case = nodes.pairs(item, f'a test of {what}', known)
      for operand in op.operands:
        if operand.arity == 'Single' and operand.name not in case:
          raise SchemaError(item.start_mark, f"a test of {what} has no '{operand.name}' (expected a type like 2x3xf32)")
        if operand.name in case:
          key, value = case[operand.name]
          for text in ([nodes.text(value, 'a type')] if isinstance(value, yaml.ScalarNode) else nodes.plain(value)):
            if not re.fullmatch(r'((\d+|[A-Za-z_]\w*)x)*(' + '|'.join(DTYPES.values()) + ')', str(text)):
              raise SchemaError(value.start_mark, f"a test of {what} has the type '{text}' for {operand.name} "
                                                  '(expected one like 2x3xf32)')
      result.append({name: nodes.plain(value) for name, (_, value) in case.items()})
    return result

  # ---- what only the reference pages read -----------------------------------------------------------------------

  def doc_text(self, keys, what, key):
    return nodes.text(keys[key][1], f'{what}: {key}').strip() if key in keys else ''

  def about(self, keys, what, op):
    if 'about' not in keys:
      return {}
    known = ([e.name for group in (op.operands, op.attrs, op.results, op.successors) for e in group] + op.regions)
    entries = nodes.pairs(keys['about'][1], f'{what}: about', known)
    return {name: nodes.text(value, f'{what}: about {name}').strip() for name, (_, value) in entries.items()}

  def check_names(self, op, keys):
    seen = {}
    groups = [('operand', op.operands), ('result', op.results), ('attribute', op.attrs)]
    entries = [(kind, e.name, e.mark) for kind, group in groups for e in group]
    entries += [('region', r, op.mark) for r in op.regions] + [('successor', s.name, op.mark) for s in op.successors]
    for kind, name, mark in entries:
      if name in RESERVED_NAMES:
        raise SchemaError(mark, f"{op.full_name}: {kind} '{name}' has a reserved name (expected none of "
                                f"{', '.join(sorted(RESERVED_NAMES))})")
      if name in seen:
        raise SchemaError(mark, f"{op.full_name}: {kind} '{name}' has the name of another {seen[name]} "
                                '(expected distinct names)')
      seen[name] = kind

  def check_limits(self, op):
    for things, count, most in [('attributes', len(op.slots), MAX_SLOTS), ('regions', len(op.regions), MAX_REGIONS),
                                ('successors', len(op.successors), MAX_SUCCESSORS)]:
      if count > most:
        raise SchemaError(op.mark, f'{op.full_name} has {count} {things} (expected at most {most})')

  def check_traits(self, op, keys):
    def need(trait, condition, expected):
      if trait in op.traits and not condition:
        node = next(n for n in keys['traits'][1].value if n.value == trait)
        raise SchemaError(node.start_mark, f'{op.full_name}: trait {trait} does not fit (expected {expected})')

    need('Commutative', len(op.operands) >= 2, 'two operands')
    need('Elementwise', op.operands and len(op.results) == 1, 'operands and one result')
    need('Elementwise', not any(o.constraint.dialect_type for o in op.operands + op.results), 'tensors')
    need('Idempotent', len(op.operands) == 1 and len(op.results) == 1, 'one operand and one result')
    need('ConstantLike', not op.operands and len(op.results) == 1, 'no operands and one result')
    need('View', op.operands and op.results, 'an operand and a result')
    need('SingleBlock', op.regions, 'a region')
    need('IsolatedFromAbove', op.regions, 'a region')
    need('SymbolTable', op.regions, 'a region')
    need('Symbol', any(a.name == 'sym_name' for a in op.attrs), 'an attribute sym_name')
    if op.successors and 'Terminator' not in op.traits:
      raise SchemaError(op.mark, f'{op.full_name} has successors (expected the trait Terminator)')
