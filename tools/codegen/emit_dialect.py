"""ir/dialect/<d>_ops.h/.cc: operation classes and tables of every dialect; ir/dialect/dialects.h/.cc: all of them."""

import cpp
import model
import op_class
import type_class


def outputs(dialects):
  result = {}
  for dialect in dialects:
    path = f'ir/dialect/{dialect.name}_ops'
    result[path + '.h'] = _header(dialect, path + '.h')
    result[path + '.cc'] = _source(dialect, path + '.h')
  result['ir/dialect/dialects.h'] = _all_header(dialects)
  result['ir/dialect/dialects.cc'] = _all_source(dialects)
  return result


def _header(dialect, path):
  body = ['namespace tenon {\n', 'class OpBuilder;\n', '}  // namespace tenon\n',
          f'namespace tenon::{dialect.name} {{\n']
  defined = dialect.types + dialect.attributes
  body += [type_class.declaration(one) for one in defined]
  body += [op_class.declaration(op) for op in dialect.ops]
  body.append(f'}}  // namespace tenon::{dialect.name}')
  includes = ['<cstdint>', '<limits>', '<optional>', '<span>', '<string>', '<string_view>', '<vector>', '',
              '"absl/status/statusor.h"', '"ir/core/rewrite/edit.h"', '"ir/core/operation.h"', '"ir/core/ranges.h"']
  if defined:
    includes.append('"ir/core/context/dialect_types.h"')
  text = cpp.header(path, includes, '\n'.join(body), f'Operations of the dialect {dialect.name}.')
  return text.replace('#include \n', '\n')


# ---- tables -----------------------------------------------------------------------------------------------------------


def _dtype_mask(constraint):
  names = list(model.DTYPES)
  return f'0x{sum(1 << (names.index(d) + 1) for d in constraint.dtypes):x}u'


def _operand_row(operand):
  c = operand.constraint
  flag = {True: 'true', False: 'false'}
  dialect_type = f', {cpp.string(c.dialect_type)}' if c.dialect_type else ''
  return (f'    {{{cpp.string(operand.name)}, Arity::k{operand.arity}, {flag[c.any]}, {flag[c.scalar_i1]}, '
          f'{_dtype_mask(c)}, {cpp.string(c.description)}{dialect_type}}},')


def _attr_row(owner, attr):
  enums = f'k{owner}{model.camel(attr.name)}Values' if attr.enums else '{}'
  return (f'    {{{cpp.string(attr.name)}, AttrType::k{attr.kind}, {"true" if attr.required else "false"}, '
          f'{cpp.string(op_class.default_text(attr))}, {enums}}},')


def _table(type_name, name, rows):
  """A constant array and its name; an empty one is {}."""
  if not rows:
    return '', '{}'
  return f'constexpr {type_name} {name}[] = {{\n' + '\n'.join(rows) + '\n};\n', name


def _op_tables(op):
  text = ''
  for attr in op.attrs:
    if attr.enums:
      values = ', '.join(map(cpp.string, attr.enums))
      text += f'constexpr const char* k{op.camel}{model.camel(attr.name)}Values[] = {{{values}}};\n'
  prefix = f'k{op.camel}'
  parts = [
      _table('OperandRow', prefix + 'Operands', [_operand_row(o) for o in op.operands]),
      _table('OperandRow', prefix + 'Results', [_operand_row(o) for o in op.results]),
      _table('AttrRow', prefix + 'Attrs', [_attr_row(op.camel, a) for a in op.slots]),
      _table('const char*', prefix + 'Regions', [f'    {cpp.string(r)},' for r in op.regions]),
      _table('SuccessorRow', prefix + 'Successors',
             [f'    {{{cpp.string(s.name)}, {s.operand_group}}},' for s in op.successors]),
  ]
  text += ''.join(p[0] for p in parts)
  traits = ' | '.join(f'static_cast<uint32_t>(Trait::k{t})' for t in op.traits) or '0'
  row = (f'    {{{cpp.string(op.full_name)}, {cpp.string(op.summary)},\n     ' + ', '.join(p[1] for p in parts) +
         f',\n     {traits},\n     {op.shape or "nullptr"}, {op.verify or "nullptr"}, {op.fold or "nullptr"},'
         f' {op.interfaces or "nullptr"}}},')
  return text, row


def _source(dialect, header):
  tables = [_op_tables(op) for op in dialect.ops]
  declared = sorted({op.shape for op in dialect.ops if op.shape})
  lines = [cpp.BANNER.rstrip('\n'), f'#include "{header}"', '', '#include <bit>', '', '#include "ir/core/builder.h"',
           '#include "ir/dialect/dialects.h"', '#include "ir/dialect/op_table.h"', '', 'namespace tenon {', '']
  lines += [f'absl::Status {f}(const InferContext& context, ResultTypes& results);' for f in declared]
  lines += [f'absl::Status {f}(Operation& op);' for f in sorted({op.verify for op in dialect.ops if op.verify})]
  lines += [f'bool {f}(Operation& op, std::span<const Attribute> constants,\n'
            '    absl::InlinedVector<FoldResult, 2>& results);'
            for f in sorted({op.fold for op in dialect.ops if op.fold})]
  lines += [f'void {f}(InterfaceMap& interfaces);' for f in sorted({op.interfaces for op in dialect.ops if op.interfaces})]
  lines += [f'absl::Status {f}(std::span<const Attribute> parameters);'
            for f in sorted({one.verify for one in dialect.types + dialect.attributes if one.verify})]
  # Inside the dialect's own namespace: unity builds compile the tables of several dialects together.
  lines += ['', f'namespace {dialect.name} {{', 'namespace {', '']
  lines += [text for text, _ in tables if text]
  rows_text, rows_name = _table('OpRow', 'kOps', [row for _, row in tables])
  if rows_text:
    rows_name = f'{dialect.name}::{rows_name}'
  lines.append(rows_text)
  arguments = ''
  if dialect.types or dialect.attributes:
    for defined in (dialect.types, dialect.attributes):
      text, name = type_class.tables(defined, _attr_row, _table)
      lines += [text] if text else []
      arguments += f', {dialect.name}::{name}' if defined else ', {}'
  lines += ['}  // namespace', f'}}  // namespace {dialect.name}', '', f'Dialect {dialect.camel}Dialect() {{',
            f'  return MakeDialect({cpp.string(dialect.name)}, {cpp.string(dialect.summary)}, {rows_name}{arguments});', '}', '',
            '}  // namespace tenon', '', f'namespace tenon::{dialect.name} {{', '']
  lines += [type_class.definition(one) for one in dialect.types + dialect.attributes]
  lines += [op_class.definition(op) for op in dialect.ops]
  lines.append(f'}}  // namespace tenon::{dialect.name}')
  return '\n'.join(lines) + '\n'


def _all_header(dialects):
  path = 'ir/dialect/dialects.h'
  body = ['namespace tenon {\n']
  body += [f'Dialect {d.camel}Dialect();' for d in dialects]
  body += ['\n// Registers every dialect of Tenon. REQUIRES: none of them is registered yet.',
           'void RegisterAllDialects(Context& context);\n', '}  // namespace tenon']
  return cpp.header(path, ['"ir/core/context/context.h"'], '\n'.join(body), 'All dialects.')


def _all_source(dialects):
  lines = [cpp.BANNER.rstrip('\n'), '#include "ir/dialect/dialects.h"', '', '#include "ir/base/check.h"', '',
           'namespace tenon {', '', 'void RegisterAllDialects(Context& context) {',
           '  const auto add = [&](Dialect dialect) {',
           '    const absl::Status status = context.RegisterDialect(std::move(dialect));',
           '    TENON_CHECK_MSG(status.ok(), std::string(status.message()));', '  };']
  lines += [f'  add({d.camel}Dialect());' for d in dialects]
  return '\n'.join(lines + ['}', '', '}  // namespace tenon']) + '\n'
