"""python/tenon/ops/<dialect>.py: for every op a function that makes it, and a class that tells it and names its parts."""

import ast
import keyword
import os
import re

import md_text as md
import model
import op_page

_STUB = os.path.join(model.REPO_ROOT, 'frontends', 'python', 'tenon', '_core.pyi')
# Parameters of every function, and the names that generated annotations use.
_PARAMETERS = {'ip', 'node', 'result_types'}
_ANNOTATION_NAMES = {'bool', 'int', 'float', 'str', 'list', 'tuple', 'object'}
# (what a function takes, what an operation gives) for each kind of attribute.
_KINDS = {
    'Bool': ('bool', 'bool'), 'Unit': ('bool', 'bool'), 'I64': ('int', 'int'), 'F32': ('float', 'float'),
    'F64': ('float', 'float'), 'Str': ('str', 'str'), 'Enum': ('str', 'str'), 'Symbol': ('str', 'str'),
    'I64s': ('_t.Sequence[int]', 'list[int]'), 'F32s': ('_t.Sequence[float]', 'list[float]'),
    'Dims': ('_t.Sequence[int | str | None]', 'str'), 'Type': ('_d.TypeLike', '_c.Type'),
    'TypeAttr': ('_d.TypeLike', '_c.Type'), 'Elements': ('object', 'object'), 'Any': ('object', 'object'),
}
_WRAP = 116
# Dialects that may be left out, as in the notation of rules.
SHORT = ('ten', 'nn', 'core')


def members():
  """The members of tenon.ir.Operation: parts of these names get a mark."""
  with open(_STUB, encoding='utf-8') as f:
    tree = ast.parse(f.read())
  for node in tree.body:
    if isinstance(node, ast.ClassDef) and node.name == 'Operation':
      return {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
  raise model.SchemaError(None, f'{model.display(_STUB)} has no class Operation')


def function_name(name):
  return name + '_' if keyword.iskeyword(name) or name in _ANNOTATION_NAMES else name


def part_name(name, taken):
  return name + '_' if keyword.iskeyword(name) or name in taken else name


def _words(text):
  """A sentence without Markdown's links, for docstrings."""
  return md.sentence(re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', ' '.join(text.split()))).replace('\\', '\\\\').replace('"""', "'''")


def _wrapped(text, indent, rest):
  lines, line = [], ' ' * indent
  for word in text.split():
    if len(line) + 1 + len(word) > _WRAP and line.strip():
      lines.append(line)
      line = ' ' * rest + word
    else:
      line += ('' if not line.strip() else ' ') + word
  return lines + [line]


def _literal(attr):
  value = attr.default
  if isinstance(value, float) and (value != value or value in (float('inf'), float('-inf'))):
    return f"float('{value}')"
  if attr.kind in ('F32', 'F64'):
    return repr(float(op_page.short_float(value, attr.kind)))
  return repr(tuple(value)) if isinstance(value, (list, tuple)) else repr(value)


def _operand_type(operand, kind):
  return {'Single': f'{kind}', 'Optional': f'{kind} | None', 'Variadic': f'_t.Sequence[{kind}]'}[operand.arity]


def _result_type(op, kind):
  if not op.results:
    return '_c.Operation'
  if len(op.results) == 1 and op.results[0].arity == 'Single':
    return kind
  if all(r.arity == 'Single' for r in op.results):
    return f'tuple[{", ".join([kind] * len(op.results))}]'
  return f'tuple[{kind}, ...]'


def _parameters(op, taken):
  """(name, annotation, default or None) of operands, then of attributes."""
  kind = '_d.V' if _traced(op) else '_c.Value'
  operands, optional = [], True
  for o in reversed(op.operands):
    optional = optional and o.arity != 'Single'
    default = None if not optional else 'None' if o.arity == 'Optional' else '()'
    number = f'{kind} | float' if kind == '_d.V' else kind
    operands.insert(0, (part_name(o.name, taken), _operand_type(o, number), default))
  attrs = []
  for a in op.attrs:
    takes = _KINDS[a.kind][0]
    if a.optional:
      attrs.append((part_name(a.name, taken), 'bool' if a.kind == 'Unit' else f'{takes} | None', 'False' if a.kind == 'Unit' else 'None'))
    else:
      attrs.append((part_name(a.name, taken), takes, _literal(a) if a.has_default else None))
  # Required ones first, so that the signature reads well.
  attrs.sort(key=lambda p: p[2] is not None)
  return operands, attrs


def _traced(op):
  """Whether a rule can have the operation: then values of rules serve as operands, too."""
  return bool(op.operands) and len(op.results) == 1 and op.results[0].arity == 'Single' and bool(op.shape)


def _about(op):
  lines = []
  for title, parts in (('Operands', op.operands), ('Attributes', sorted(op.attrs, key=lambda a: a.name)), ('Results', op.results)):
    rows = []
    for part in parts:
      meaning = op.about.get(part.name, '')
      if title != 'Attributes':
        words = op_page.type_words(part).replace('`', '')
        meaning = f'{words}. {meaning}' if meaning else words
      elif part.enums:
        meaning = f'{md.sentence(meaning) if meaning else ""} One of {", ".join(part.enums)}.'.strip()
      if meaning:
        rows += _wrapped(f'{part.name}: {_words(meaning)}', 6, 8)
    if rows:
      lines += ['', f'    {title}:', *rows]
  return lines


def _docstring(op):
  lines = [f'    """{_words(op.summary)}']
  for paragraph in (op.details or '').strip().split('\n\n'):
    if paragraph:
      lines.append('')
      for item in re.split(r'\n(?=- )', paragraph):
        lines += _wrapped(_words(item), 4, 6 if item.startswith('- ') else 4)
  about = _about(op)
  return lines + about + ['    """'] if len(lines) > 1 or about else [lines[0] + '"""']


def _function(op, taken):
  operands, attrs = _parameters(op, taken)
  place = ([('result_types', '_t.Sequence[_d.TypeLike]', None)] if op.explicit_results else []) + [
      ('ip', '_d.InsertionPoint | None', 'None'), ('node', 'str', "''")]
  def shown(p):
    return f'{p[0]}: {p[1]}' + ('' if p[2] is None else f' = {p[2]}')
  parameters = [*map(shown, operands), '*', *map(shown, attrs), *map(shown, place)]
  result = _result_type(op, '_d.V' if _traced(op) else '_c.Value')
  names = ''.join(f', {o.name!r}' for o in op.operands)
  name = function_name(op.name)
  lines = [f'@_d.op({op.full_name!r}{names})']
  line = f'def {name}('
  for i, parameter in enumerate(parameters):
    piece = parameter + (',' if i + 1 < len(parameters) else f') -> {result}:')
    if len(line) + 1 + len(piece) > _WRAP:
      lines.append(line)
      line = ' ' * (len(name) + 5) + piece
    else:
      line += ('' if line.endswith('(') else ' ') + piece
  return [*lines, line, *_docstring(op), '    ...', '', '']


def _class(op, taken):
  lines = [f'class {op.camel}(_d.OpClass, name={op.full_name!r}):', f'    """{op.full_name}: {_words(op.summary)}"""', '']
  parts = [(o.name, {'Single': '_c.Value', 'Optional': '_c.Value | None', 'Variadic': 'list[_c.Value]'}[o.arity]) for o in op.operands]
  for a in sorted(op.attrs, key=lambda a: a.name):
    gives = _KINDS[a.kind][1]
    parts.append((a.name, f'{gives} | None' if a.optional and a.kind != 'Unit' else gives))
  parts += [(r.name, {'Single': '_c.Value', 'Optional': '_c.Value | None', 'Variadic': 'list[_c.Value]'}[r.arity]) for r in op.results]
  parts += [(r, '_c.Region') for r in op.regions]
  seen = set()
  for name, annotation in parts:
    if name in seen:
      raise model.SchemaError(op.mark, f"{op.full_name}: two parts are named '{name}' (expected names that Python can tell apart)")
    seen.add(name)
    lines.append(f'    {part_name(name, taken)}: {annotation}')
  return [*lines, '', '']


def _module(dialect, taken):
  for op in dialect.ops:
    for part in [*op.operands, *op.attrs]:
      if part.name in _PARAMETERS:
        raise model.SchemaError(part.mark, f"{op.full_name}: '{part.name}' is a parameter of every function in Python (expected another name)")
  lines = [f'"""Operations of the dialect {dialect.name}. {_words(dialect.summary)}', '',
           'Generated from ir/dialect/*.yaml. See tenon.ops.', '"""', '',
           '# The bodies are empty: the decorator makes the operation.', '# mypy: disable-error-code="empty-body"', '',
           'from __future__ import annotations', '', 'import typing as _t', '', 'from .. import _core as _c',
           'from . import _declare as _d', '', '']
  for op in sorted(dialect.ops, key=lambda op: op.name):
    if not op.successors:
      lines += _function(op, taken)
  for op in sorted(dialect.ops, key=lambda op: op.name):
    lines += _class(op, taken)
  return '\n'.join(lines).rstrip('\n') + '\n'


def outputs(dialects):
  taken = members()
  result = {f'python/tenon/ops/{d.name}.py': _module(d, taken) for d in dialects}
  names = sorted(d.name for d in dialects)
  short = [name for name in SHORT if name in names]
  lines = ['"""The dialects of tenon.ops. Generated from ir/dialect/*.yaml."""', '', 'from typing import TYPE_CHECKING', '',
           'if TYPE_CHECKING:']
  lines += [f'    from . import {name} as {name}' for name in names]
  lines += [f'    from .{name} import *' for name in short]
  lines += ['', f'DIALECTS = {tuple(names)!r}', f'SHORT = {tuple(short)!r}', '']
  _check_short([d for d in dialects if d.name in short])
  result['python/tenon/ops/_dialects.py'] = '\n'.join(lines)
  return result


def _check_short(dialects):
  """`ops.relu` must mean one operation."""
  seen = {}
  for dialect in dialects:
    for op in dialect.ops:
      if seen.setdefault(op.name, dialect.name) != dialect.name:
        raise model.SchemaError(op.mark, f'{op.full_name}: {seen[op.name]} has an operation of this name (expected another: '
                                         'tenon.ops has both without the dialect)')
