"""executor/attr_decode.{h,cc}: from attribute slots of an op to the plain struct that its kernels read."""

import cpp
import emit_kernel_attrs

HEADER = 'executor/attr_decode.h'
SOURCE = 'executor/attr_decode.cc'

_HEADER_BODY = '''
namespace tenon {

// The kernels' attribute struct of an op (kernels/op_attrs.h), filled from the op's slots. Dimension
// expressions must be constants. An op without such a struct gets a kernels::AttrMap, or null if it has no attributes;
// an error names the attribute.
absl::StatusOr<std::shared_ptr<const void>> DecodeAttrs(const OpInfo& info, std::span<const Attribute> slots);

}  // namespace tenon
'''


def _statement(op, attr):
  slot = [a.name for a in op.slots].index(attr.name)
  arguments = f'"{attr.name}", slots[{slot}], out->{attr.cpp}'
  if attr.kind == 'Enum':
    names = ', '.join(cpp.string(e) for e in attr.enums)
    return f'  TENON_RETURN_IF_ERROR(ReadEnumAttr({arguments}, {{{names}}}));'
  return f'  TENON_RETURN_IF_ERROR(ReadAttr({arguments}));'


def _decoder(op):
  struct = f'{op.dialect}::{op.camel}Attrs'
  lines = [f'// {op.full_name}', f'absl::StatusOr<std::shared_ptr<const void>> Decode{_id(op)}(std::span<const Attribute> slots) {{',
           f'  auto out = std::make_shared<{struct}>();']
  lines += [_statement(op, a) for a in emit_kernel_attrs.fields(op)]
  lines += ['  return std::shared_ptr<const void>(std::move(out));', '}\n']
  return '\n'.join(lines)


def _id(op):
  return op.dialect.capitalize() + op.camel


def outputs(dialects):
  # Ops without attributes share the path below: their kernels read none.
  ops = [op for d in dialects for op in d.ops if emit_kernel_attrs.fields(op)]
  lines = ['#include "executor/attr_decode.h"', '', '#include "executor/compile/attr_reading.h"', '#include "fmt/format.h"',
           '#include "ir/base/check.h"', '#include "kernels/op_attrs.h"', '', 'namespace tenon {', 'namespace {', '']
  lines += [_decoder(op) for op in ops]
  lines += ['}  // namespace', '',
            'absl::StatusOr<std::shared_ptr<const void>> DecodeAttrs(const OpInfo& info, std::span<const Attribute> slots) {',
            '  if (static_cast<int>(slots.size()) != info.num_slots()) {',
            '    return absl::InvalidArgumentError(',
            '        fmt::format("{} attributes (expected {})", slots.size(), info.num_slots()));', '  }',
            '  switch (info.id()) {']
  lines += [f'    case HashOpName({cpp.string(op.full_name)}): return Decode{_id(op)}(slots);' for op in ops]
  lines += ['    default: return ReadAttrMap(info, slots);', '  }', '}', '', '}  // namespace tenon', '']
  header = cpp.header(HEADER, ['<memory>', '<span>', '"absl/status/statusor.h"', '"ir/core/context/op_info.h"'],
                      _HEADER_BODY, 'Attributes of operations for kernels.')
  return {HEADER: header, SOURCE: cpp.BANNER + '\n'.join(lines)}
