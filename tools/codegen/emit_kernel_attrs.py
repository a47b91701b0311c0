"""kernels/op_attrs.h: attributes of every op as plain structs, for kernels, which know no IR."""

import cpp
import model

PATH = 'kernels/op_attrs.h'

_TYPES = {'Bool': 'bool', 'Unit': 'bool', 'I64': 'int64_t', 'F32': 'float', 'F64': 'double', 'Str': 'std::string',
          'Symbol': 'std::string', 'I64s': 'std::vector<int64_t>', 'Dims': 'std::vector<int64_t>',
          'F32s': 'std::vector<float>', 'Type': 'DType'}


def fields(op):
  """The attributes that kernels see, in order."""
  return [a for a in op.attrs if a.kind == 'Enum' or a.kind in _TYPES]


def enum_name(op, attr):
  return op.camel + model.camel(attr.name)


def cpp_type(op, attr):
  base = enum_name(op, attr) if attr.kind == 'Enum' else _TYPES[attr.kind]
  return f'std::optional<{base}>' if attr.optional and attr.kind != 'Unit' else base


def initializer(op, attr):
  if not attr.has_default:
    return '{}'
  if attr.kind == 'Bool':
    return ' = true' if attr.default else ' = false'
  if attr.kind == 'Enum':
    return f' = {enum_name(op, attr)}::{model.enumerator(attr.default)}'
  if attr.kind == 'I64':
    return f' = {cpp.int_literal(attr.default)}'
  if attr.kind in ('F32', 'F64'):
    return f' = {cpp.float_literal(attr.default, attr.kind)}'
  if attr.kind == 'Type':
    name = next(k for k, v in model.DTYPES.items() if v == attr.default)
    return f' = DType::k{name}'
  if attr.kind in ('I64s', 'F32s', 'Dims'):
    literal = cpp.int_literal if attr.kind == 'I64s' else lambda v: cpp.float_literal(v, attr.kind)
    return '{' + ', '.join(map(literal, attr.default)) + '}'
  return f' = {cpp.string(attr.default)}'


def outputs(dialects):
  body = []
  for dialect in dialects:
    body.append(f'namespace tenon::{dialect.name} {{\n')
    for op in dialect.ops:
      for attr in fields(op):
        if attr.kind == 'Enum':
          values = ', '.join(model.enumerator(e) for e in attr.enums)
          body.append(f'enum class {enum_name(op, attr)} : uint8_t {{ {values} }};')
      body.append(f'// {op.full_name}')
      members = [f'  {cpp_type(op, a)} {a.cpp}{initializer(op, a)};' for a in fields(op)]
      body.append('\n'.join([f'struct {op.camel}Attrs {{'] + members + ['};\n']))
    body.append(f'}}  // namespace tenon::{dialect.name}\n')
  includes = ['<cstdint>', '<limits>', '<optional>', '<string>', '<vector>', '', '"ir/base/dtype.h"']
  text = cpp.header(PATH, includes, '\n'.join(body), 'Attributes of operations as kernels see them.')
  return {PATH: text.replace('#include \n', '\n')}
