"""frontends/python/bindings/attr_maps.h: attributes of operations by name, for kernels in Python."""

import cpp
import emit_kernel_attrs

PATH = 'frontends/python/bindings/attr_maps.h'


def _value(op, attr):
  field = f'a.{attr.cpp}'
  optional = attr.optional and attr.kind != 'Unit'
  value = f'*{field}' if optional else field
  if attr.kind == 'Enum':
    names = ', '.join(cpp.string(e) for e in attr.enums)
    value = f'EnumText({{{names}}}, static_cast<int>({value}))'
  elif attr.kind in ('F32', 'F64'):
    value = f'static_cast<double>({value})'
  added = f'map.Add({cpp.string(attr.name)}, {value});'
  return f'if ({field}) {added}' if optional else added


def outputs(dialects):
  readers, rows = [], []
  for dialect in dialects:
    for op in dialect.ops:
      fields = emit_kernel_attrs.fields(op)
      if not fields or not op.results:
        continue
      name = f'Read{dialect.camel}{op.camel}'
      readers += [f'inline void {name}(const void* attrs, kernels::AttrMap& map) {{',
                  f'  const auto& a = *static_cast<const {dialect.name}::{op.camel}Attrs*>(attrs);',
                  *[f'  {_value(op, a)}' for a in fields], '}']
      rows.append(f'    {{{cpp.string(op.full_name)}, {name}}},')
  body = '\n'.join([
      'namespace tenon::python {', '',
      '// The text of an enumerator.',
      'inline std::string EnumText(std::initializer_list<const char*> names, int i) { return names.begin()[i]; }', '',
      *readers, '',
      '// Adds the attributes of a call of `op` to `map`: `attrs` points to the struct of kernels/op_attrs.h. False for an op',
      '// without one.',
      'inline bool ReadAttrs(std::string_view op, const void* attrs, kernels::AttrMap& map) {',
      '  static constexpr struct {', '    std::string_view op;', '    void (*read)(const void* attrs, kernels::AttrMap& map);', '  } kReaders[] = {',
      *rows, '  };',
      '  for (const auto& each : kReaders) {', '    if (each.op != op) continue;', '    each.read(attrs, map);', '    return true;', '  }',
      '  return false;', '}', '', '}  // namespace tenon::python'])
  includes = ['<initializer_list>', '<string>', '<string_view>', '', '"kernels/attr_map.h"', '"kernels/op_attrs.h"']
  text = cpp.header(PATH, includes, body, 'Attributes of operations by name, for kernels in Python.')
  return {PATH: text.replace('#include \n', '\n')}
