"""Reads the types and attributes that a dialect file defines, and checks the operands that take such types."""

import re

import nodes
from model import Parametric, SchemaError

# Members of every generated class, and names that generated functions use.
_RESERVED = {'context', 'dims', 'dtype', 'inputs', 'kind', 'parameters', 'rank', 'results', 'storage', 'text', 'type', 'values'}


def definitions(loader, file_keys, what, dialect):
  """The entries of `types:` or `attributes:`."""
  result = []
  for node in nodes.items(file_keys[what + 's'][1], what + 's') if what + 's' in file_keys else []:
    keys = nodes.pairs(node, f'an entry of {what}s', [what, 'summary', 'parameters', 'verify', 'details'])
    if what not in keys:
      raise SchemaError(node.start_mark, f"an entry of {what}s has no name (expected '{what}: name')")
    mark = keys[what][0].start_mark
    name = nodes.identifier(keys[what][1], what)
    place = f'{dialect}.{name}'
    if 'summary' not in keys or not nodes.text(keys['summary'][1], f'{place}: summary').strip():
      raise SchemaError(mark, f"{place} has no summary (expected 'summary: one sentence')")
    result.append(Parametric(dialect, what, name, nodes.text(keys['summary'][1], 'summary').strip(),
                             _parameters(loader, keys, place), loader.function(keys, place, 'verify'),
                             loader.doc_text(keys, place, 'details'), mark))
  return result


def _parameters(loader, keys, place):
  if 'parameters' not in keys:
    return []
  result = []
  for name, (key, value) in nodes.pairs(keys['parameters'][1], f'{place}: parameters').items():
    nodes.identifier(key, f'{place}: parameter')
    where = f"{place}: parameter '{name}'"
    if name in _RESERVED:
      raise SchemaError(key.start_mark, f"{where} has a reserved name (expected none of {', '.join(sorted(_RESERVED))})")
    parameter = loader.attr(name, key, value, where)
    if parameter.optional:
      raise SchemaError(value.start_mark, f'{where} may be absent (expected a kind that is always there, or a default)')
    if result and result[-1].has_default and not parameter.has_default:
      raise SchemaError(key.start_mark, f"{where} has no default, but '{result[-1].name}' before it has (expected another "
                                        'order, or a default)')
    result.append(parameter)
  return result


def check_classes(defined):
  """Refuses two classes of one name."""
  seen = {}
  for one in defined:
    first = seen.setdefault(one.class_name, one)
    if first is not one:
      raise SchemaError(one.mark, f"{one.what} '{one.name}' is defined again (expected a new name; the first is in line "
                                  f'{first.mark.line + 1})')


def type_name(text, node, place):
  """The name in the constraint `!dialect.name`."""
  match = re.fullmatch(r'!([a-z][a-z0-9_]*\.[a-z][a-z0-9_]*)', text)
  if not match:
    raise SchemaError(node.start_mark, f"{place} has the malformed type '{text}' (expected '!dialect.name')")
  return match.group(1)


def check_uses(dialects):
  """Operands and results take types that exist. Those of dialects of other runs are not known here."""
  for dialect in dialects.values():
    for op in dialect.ops:
      for operand in op.operands + op.results:
        name = operand.constraint.dialect_type
        owner = dialects.get(name.split('.')[0])
        if not name or owner is None:
          continue
        known = [t.full_name for t in owner.types]
        if name not in known:
          raise SchemaError(operand.mark, f"{op.full_name}: '{operand.name}' takes the unknown type '!{name}' (expected one "
                                          f"of the types of {owner.name}{nodes.suggest(name, known)})")
