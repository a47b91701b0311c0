"""What a page says of one operation: syntax, operands, attributes and results, as Markdown."""

import re

import md_text as md
import model

# How an attribute of a kind is written in text.
KINDS = {
    'Bool': ('bool', '`true` or `false`'),
    'I64': ('integer', '`3` (64 bits)'),
    'F32': ('f32', '`1.0e-5 : f32`'),
    'F64': ('f64', '`0.5 : f64`'),
    'Str': ('text', '`"words"`'),
    'Enum': ('word', '`"relu"`, one of the words that the op lists'),
    'I64s': ('integers', '`array<i64: 1, 2>`'),
    'F32s': ('floats', '`array<f32: 0.5, 2.0>`'),
    'Dims': ('dimensions', '`#core.dims<"B", "S + 1", 768>`'),
    'Type': ('element type', '`f32`'),
    'TypeAttr': ('type', 'any type: `(tensor<2xf32>) -> tensor<2xf32>`'),
    'Elements': ('elements', '`dense<[1.0, 2.0]> : tensor<2xf32>`'),
    'Symbol': ('symbol', '`@name`'),
    'Unit': ('unit', 'the name alone'),
    'Any': ('attribute', 'any attribute'),
}
SETS = (('wide', 'Wide', 'booleans and numbers'), ('number', 'Number', 'numbers'), ('float', 'Float', 'floats'),
        ('integer', 'Int', 'integers'), ('narrow', 'Narrow', 'narrow types'))


def anchor(op):
  return op.full_name.replace('.', '')


def first_words(op):
  """`ten.add` adds …: the summary as a sentence with a subject."""
  summary = md.sentence(op.summary)
  verb = summary.split()[0]
  if not re.fullmatch(r'[A-Z][a-z]+s', verb):
    raise md.PageError(f'{op.full_name}: summary begins with {verb!r} (expected a verb, such as Computes)')
  return f'`{op.full_name}` {summary[0].lower()}{formula(summary[1:])}'


def formula(text):
  """Bars and stars of formulas, outside of code, are no Markdown."""
  parts = re.split(r'(`[^`]*`)', text)
  return ''.join(part if part.startswith('`') else re.sub(r'([*_<|\[\]])', r'\\\1', part) for part in parts)


def type_words(operand):
  c = operand.constraint
  if c.any:
    words = 'any value'
  elif c.scalar_i1:
    words = 'a value of type `i1`'
  elif c.dialect_type:
    words = f'a value of type `!{c.dialect_type}`'
  elif len(c.dtypes) == len(model.DTYPES):
    words = 'tensor'
  else:
    name = next((words for _, key, words in SETS if sorted(model.DTYPE_SETS[key]) == sorted(c.dtypes)), None)
    names = [f'`{model.DTYPES[d]}`' for d in c.dtypes]
    words = 'tensor of ' + (name or ' or '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names))
  suffix = {'Single': '', 'Optional': ', optional', 'Variadic': ', any number'}[operand.arity]
  return words + suffix


def default_text(attr):
  if attr.optional:
    return 'absent'
  if not attr.has_default:
    return 'required'
  value = attr.default
  if attr.kind in ('I64s', 'F32s', 'Dims') and not value:
    return 'empty'
  if isinstance(value, bool):
    return '`true`' if value else '`false`'
  if attr.kind in ('F32', 'F64'):
    return f'`{short_float(value, attr.kind)}`'
  return f'`"{value}"`' if attr.kind in ('Str', 'Enum') else f'`{value}`'


def short_float(value, kind):
  """The fewest digits that are the same number."""
  for digits in range(1, 18):
    text = f'{value:.{digits}g}'
    same = model.to_f32(float(text)) if kind == 'F32' else float(text)
    if same == value or value != value:
      return text
  return str(value)


def attribute_rows(op, common):
  for attr in sorted(op.attrs, key=lambda a: a.name):
    meaning = op.about.get(attr.name, common.get(attr.name))
    if meaning is None:
      raise md.PageError(f'{op.full_name}: attribute {attr.name} has no meaning (expected it in `about:` of '
                               'ir/dialect/*.yaml or in tools/docs/reference/attributes.yaml)')
    if attr.enums:
      meaning = f'{md.sentence(meaning)} One of {", ".join(f"`{word}`" for word in attr.enums)}.'
    yield f'`{attr.name}`', KINDS[attr.kind][0], default_text(attr), formula(md.sentence(meaning))


def syntax(op):
  """The op as text, with names for what it takes."""
  def shown(result):
    return {'Single': f'%{result.name}', 'Optional': f'[%{result.name}]', 'Variadic': f'%{result.name}…'}[result.arity]

  def operand(o):
    listed = f'{o.name} = [%{o.name}…]' if op.needs_segments else f'%{o.name}…'
    return {'Single': f'%{o.name}', 'Optional': f'[{o.name} = %{o.name}]', 'Variadic': listed}[o.arity]

  results = ', '.join(map(shown, op.results))
  text = (results + ' = ' if results else '') + f'{op.full_name}({", ".join(map(operand, op.operands))})'
  if op.successors:
    text += '[' + ', '.join(f'^{s.name}' for s in op.successors) + ']'
  attrs = [f'{a.name} = {KINDS[a.kind][0].replace(" ", "-")}' for a in op.slots if not a.internal]
  text += f' <{{{", ".join(attrs)}}}>' if attrs and len(text) + len(', '.join(attrs)) <= 100 else packed(attrs)
  text += ' ({' + '}, {'.join(f' {r} ' for r in op.regions) + '})' if op.regions else ''
  made = ', '.join(r.name for r in op.results)
  if len(op.results) != 1 or op.results[0].arity != 'Single':
    made = f'({made})'
  return f'{text} : ({", ".join(o.name for o in op.operands)}) -> {made}'


def packed(attrs):
  """Attributes on lines of their own, as many as fit."""
  if not attrs:
    return ''
  lines = ['   ']
  for i, attr in enumerate(attrs):
    piece = f' {attr}' + (',' if i + 1 < len(attrs) else '}>')
    if len(lines[-1]) + len(piece) > 100:
      lines.append('   ')
    lines[-1] += piece
  return ' <{\n' + '\n'.join(lines) + '\n   '


def values_table(title, values, op):
  """Operands or results; without a column of meanings where none is written."""
  if not values:
    return []
  rows = [[f'`{v.name}`', type_words(v)] for v in values]
  if not any(v.name in op.about for v in values):
    return md.table([title, 'type'], rows)
  return md.table([title, 'type', 'meaning'], [
      row + [formula(md.sentence(op.about[v.name])) if v.name in op.about else ''] for row, v in zip(rows, values)])


def parametric_lines(title, defined):
  """The types or attributes that a dialect defines."""
  lines = [f'## {title}', ''] if defined else []
  for one in sorted(defined, key=lambda d: d.name):
    lines += [f'### {one.text[0]}{one.full_name}', '', formula(md.sentence(one.summary)), '']
    lines += [one.details, ''] if one.details else []
    lines += md.fence('text', one.text)
    if one.parameters:
      lines += md.table(['parameter', 'kind', 'default'], [
          (f'`{p.name}`', KINDS[p.kind][0] if not p.enums else ' or '.join(f'`"{e}"`' for e in p.enums), default_text(p))
          for p in one.parameters])
  return lines
