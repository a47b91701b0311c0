"""A Markdown page of all ops."""


def _cell(text):
  return text.replace('|', '\\|')


def _operand(operand):
  text = operand.constraint.text
  return f'{operand.name}: {text if operand.arity == "Single" else f"{operand.arity}<{text}>"}'


def _default(attr):
  if isinstance(attr.default, bool):
    return 'true' if attr.default else 'false'
  return str(attr.default)


def _attr(attr):
  kind = f'Enum({"|".join(attr.enums)})' if attr.kind == 'Enum' else attr.kind
  if attr.has_default:
    return f'{attr.name}: {kind} = {_default(attr)}'
  return f'{attr.name}: {kind}{"?" if attr.optional else ""}'


def page(dialects):
  lines = ['# Operations', '', 'Made by `tools/codegen/tenon_codegen.py --docs` from `ir/dialect/*.yaml`.', '']
  for dialect in dialects:
    lines += [f'## {dialect.name}', '', dialect.summary, '']
    lines += ['| op | operands | attributes | results | traits | ONNX | meaning |', '|---|---|---|---|---|---|---|']
    for op in sorted(dialect.ops, key=lambda o: o.name):
      columns = [f'`{op.full_name}`', ', '.join(map(_operand, op.operands)), ', '.join(map(_attr, op.attrs)),
                 ', '.join(map(_operand, op.results)), ', '.join(op.traits),
                 op.onnx if isinstance(op.onnx, str) else ('yes' if op.onnx else ''), op.summary]
      lines.append('| ' + ' | '.join(_cell(c) for c in columns) + ' |')
    lines.append('')
  return '\n'.join(lines)
