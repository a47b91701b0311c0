"""The class of one operation: attributes struct, Create, accessors."""

import math
import struct

import cpp
import model

# Kind -> (field of Attrs, what an accessor returns, how it reads a slot). `{a}` is the slot's attribute.
KINDS = {
    'Any': ('Attribute', 'Attribute', '{a}'),
    'Elements': ('Attribute', 'Attribute', '{a}'),
    'Unit': ('bool', 'bool', 'static_cast<bool>({a})'),
    'Bool': ('bool', 'bool', '{a}.bool_value()'),
    'I64': ('int64_t', 'int64_t', '{a}.int_value()'),
    'F32': ('float', 'float', 'static_cast<float>({a}.float_value())'),
    'F64': ('double', 'double', '{a}.float_value()'),
    'Str': ('std::string', 'std::string_view', '{a}.str()'),
    'Enum': ('std::string', 'std::string_view', '{a}.str()'),
    'Symbol': ('std::string', 'std::string_view', '{a}.str()'),
    'I64s': ('std::vector<int64_t>', 'std::span<const int64_t>', '{a}.ints()'),
    'F32s': ('std::vector<float>', 'std::vector<float>', 'std::vector<float>({a}.floats().begin(), {a}.floats().end())'),
    'Dims': ('std::vector<DimExpr>', 'std::span<const DimExpr>', '{a}.dims()'),
    'Type': ('DType', 'DType', '{a}.type().dtype()'),
    'TypeAttr': ('Type', 'Type', '{a}.type()'),
}
# Kinds whose null value says "absent".
_NULLABLE = {'Any', 'Elements', 'TypeAttr', 'Unit'}


def is_std_optional(attr):
  return attr.optional and attr.kind not in _NULLABLE


def field_type(attr):
  base = KINDS[attr.kind][0]
  return f'std::optional<{base}>' if is_std_optional(attr) else base


def default_text(attr):
  """The default as MLIR text; '' without one."""
  if not attr.has_default:
    return ''
  value = attr.default
  if attr.kind == 'Bool':
    return 'true' if value else 'false'
  if attr.kind == 'I64':
    return f'{value} : i64'
  if attr.kind in ('F32', 'F64'):
    return f'{_float_text(value, attr.kind)} : {attr.kind.lower()}'
  if attr.kind == 'I64s':
    return 'array<i64' + (': ' + ', '.join(map(str, value)) if value else '') + '>'
  if attr.kind == 'F32s':
    return 'array<f32' + (': ' + ', '.join(_float_text(v, 'F32') for v in value) if value else '') + '>'
  if attr.kind == 'Dims':
    return '#core.dims<>'
  if attr.kind == 'Type':
    return value
  return '"' + value.replace('\\', '\\\\').replace('"', '\\"') + '"'


def _float_text(value, kind):
  if math.isinf(value) or math.isnan(value):
    return '0x' + struct.pack('>f' if kind == 'F32' else '>d', value).hex().upper()
  return cpp.decimal(value, kind)


def initializer(attr):
  if not attr.has_default:
    return '{}'
  value = attr.default
  if attr.kind == 'Bool':
    return ' = true' if value else ' = false'
  if attr.kind == 'I64':
    return f' = {cpp.int_literal(value)}'
  if attr.kind in ('F32', 'F64'):
    return f' = {cpp.float_literal(value, attr.kind)}'
  if attr.kind == 'I64s':
    return '{' + ', '.join(map(cpp.int_literal, value)) + '}'
  if attr.kind == 'F32s':
    return '{' + ', '.join(cpp.float_literal(v, 'F32') for v in value) + '}'
  if attr.kind == 'Dims':
    return '{}'
  if attr.kind == 'Type':
    return ' = DType::k' + next(k for k, v in model.DTYPES.items() if v == value)
  return f' = {cpp.string(value)}'


# ---- Create -----------------------------------------------------------------------------------------------------------


def _parameters(op):
  types = {'Single': 'Value', 'Optional': 'Value', 'Variadic': 'std::span<const Value>'}
  result = ['OpBuilder& builder', 'Location location']
  result += [f'{types[o.arity]} {o.cpp}' for o in op.operands]
  result += [f'Block* {model.cpp_name(s.name)}' for s in op.successors]
  if op.explicit_results:
    result.append('std::span<const Type> result_types')
  if op.attrs:
    result.append('const Attrs& attrs')
  return result


def _equals_default(attr):
  """C++ condition; '' where there is no cheap one."""
  field = f'attrs.{attr.cpp}'
  if not attr.has_default:
    return ''
  if attr.kind == 'F32':
    bits = struct.unpack('<I', struct.pack('<f', attr.default))[0]
    return f'std::bit_cast<uint32_t>({field}) == 0x{bits:08x}u'
  if attr.kind == 'F64':
    bits = struct.unpack('<Q', struct.pack('<d', attr.default))[0]
    return f'std::bit_cast<uint64_t>({field}) == 0x{bits:016x}u'
  if attr.kind == 'Bool':
    return field if attr.default else '!' + field
  if attr.kind in ('I64', 'Type'):
    return f'{field} == {initializer(attr)[3:]}'
  if attr.kind in ('Str', 'Enum'):
    return f'{field}.empty()' if attr.default == '' else f'{field} == {cpp.string(attr.default)}'
  return f'{field}.empty()' if not attr.default else ''


def make(attr, value, context='builder.context()'):
  return {
      'Bool': f'Attribute::Bool({context}, {value})',
      'I64': f'Attribute::I64({context}, {value})',
      'F32': f'Attribute::F32({context}, {value})',
      'F64': f'Attribute::F64({context}, {value})',
      'Str': f'Attribute::Str({context}, {value})',
      'Enum': f'Attribute::Str({context}, {value})',
      'Symbol': f'Attribute::SymbolRef({context}, {value})',
      'I64s': f'Attribute::I64s({context}, {value})',
      'F32s': f'Attribute::F32s({context}, {value})',
      'Dims': f'Attribute::Dims({context}, {value})',
      'Type': f'Attribute::TypeAttr({context}, Type::Scalar({context}, {value}))',
      'TypeAttr': f'Attribute::TypeAttr({context}, {value})',
      'Unit': f'Attribute::Unit({context})',
      'Any': value,
      'Elements': value,
  }[attr.kind]


def _slot_value(attr, slot):
  field = f'attrs.{attr.cpp}'
  if attr.kind in ('Any', 'Elements'):
    return field
  if is_std_optional(attr):
    return f'{field} ? {make(attr, "*" + field)} : Attribute()'
  if attr.optional:  # Unit and TypeAttr
    return f'{field} ? {make(attr, field)} : Attribute()'
  condition = _equals_default(attr)
  return f'{condition} ? info.default_value({slot}) : {make(attr, field)}' if condition else make(attr, field)


def _missing_checks(op):
  """Required attributes whose C++ value can say that the caller forgot them."""
  lines = []
  for attr in op.attrs:
    if not attr.required:
      continue
    test = {'Any': f'!attrs.{attr.cpp}', 'Elements': f'!attrs.{attr.cpp}', 'TypeAttr': f'!attrs.{attr.cpp}',
            'Type': f'attrs.{attr.cpp} == DType::kInvalid', 'Symbol': f'attrs.{attr.cpp}.empty()',
            'Enum': f'attrs.{attr.cpp}.empty()'}.get(attr.kind)
    if test:
      lines += [f'  if ({test}) {{',
                f'    return absl::InvalidArgumentError("{op.full_name}: attribute \'{attr.name}\' is not set");', '  }']
  return lines


def _operand_lines(op):
  """Statements that fill `operands`, and the expression for them."""
  if not op.operands:
    return [], '{}'
  if all(o.arity == 'Single' for o in op.operands):
    return [f'  const Value operands[] = {{{", ".join(o.cpp for o in op.operands)}}};'], 'operands'
  if len(op.operands) == 1 and op.operands[0].arity == 'Variadic':
    return [], op.operands[0].cpp
  if any(o.arity == 'Variadic' for o in op.operands):
    lines = ['  absl::InlinedVector<Value, 8> operands;']
    for o in op.operands:
      if o.arity == 'Single':
        lines.append(f'  operands.push_back({o.cpp});')
      elif o.arity == 'Optional':
        lines.append(f'  if ({o.cpp}) operands.push_back({o.cpp});')
      else:
        lines.append(f'  operands.insert(operands.end(), {o.cpp}.begin(), {o.cpp}.end());')
    return lines, 'operands'
  lines = [f'  Value operands[{len(op.operands)}];', '  size_t num_operands = 0;']
  for o in op.operands:
    guard = '' if o.arity == 'Single' else f'if ({o.cpp}) '
    lines.append(f'  {guard}operands[num_operands++] = {o.cpp};')
  return lines, 'std::span<const Value>(operands, num_operands)'


def _segments_line(op):
  sizes = {'Single': '1', 'Optional': '{} ? 1 : 0', 'Variadic': 'static_cast<int64_t>({}.size())'}
  values = ', '.join(sizes[o.arity].format(o.cpp) for o in op.operands)
  return f'  const int64_t segments[] = {{{values}}};'


def definition(op):
  cls = op.class_name
  lines = [f'absl::StatusOr<{cls}> {cls}::Create({", ".join(_parameters(op))}) {{']
  lines += _missing_checks(op)
  lines += ['  const OpInfo* found = builder.context().FindOp(kId);',
            f'  TENON_CHECK_MSG(found != nullptr, "dialect {op.dialect} is not registered");']
  operand_lines, operands = _operand_lines(op)
  lines += operand_lines
  slots = '{}'
  if op.slots:
    lines.append('  [[maybe_unused]] const OpInfo& info = *found;')
    if op.needs_segments:
      lines.append(_segments_line(op))
    lines.append('  const Attribute slots[] = {')
    for i, attr in enumerate(op.slots):
      value = 'Attribute::Ints(builder.context(), DType::kI32, segments)' if attr.internal else _slot_value(attr, i)
      lines.append(f'      {value},  // {attr.name}')
    lines.append('  };')
    slots = 'slots'
  if op.explicit_results or not op.results:
    types = 'result_types' if op.explicit_results else '{}'
    tail = ''
    if op.successors or op.regions:
      blocks = 'successors' if op.successors else '{}'
      if op.successors:
        lines.append(f'  Block* const successors[] = {{{", ".join(model.cpp_name(s.name) for s in op.successors)}}};')
      tail = f', {blocks}, {len(op.regions)}'
    lines.append(f'  return {cls}(builder.Insert(Operation::Create(*found, location, {types}, {operands}, {slots}{tail})));')
  else:
    lines += [f'  absl::StatusOr<Operation*> op = builder.CreateInferred(*found, location, {operands}, {slots});',
              '  if (!op.ok()) return op.status();', f'  return {cls}(*op);']
  lines.append('}\n')
  if op.attrs:
    lines += [f'{cls}::Attrs {cls}::attrs() const {{', '  Attrs attrs;']
    for attr in op.attrs:
      lines += _read_into_struct(op, attr)
    lines += ['  return attrs;', '}\n']
  return '\n'.join(lines)


def _read_into_struct(op, attr):
  slot = _slot(op, attr)
  copies = {'std::string_view': 'std::string({})', 'std::span<const int64_t>': '{{{0}.begin(), {0}.end()}}',
            'std::span<const DimExpr>': '{{{0}.begin(), {0}.end()}}'}
  read = KINDS[attr.kind][2].format(a='slot')
  guard = f'const Attribute slot = op_->slot({slot})'
  if attr.kind in ('Any', 'Elements', 'Unit'):
    return [f'  attrs.{attr.cpp} = {read.replace("slot", f"op_->slot({slot})")};']
  returned = KINDS[attr.kind][1]
  if returned in copies:
    if 'span' in returned:
      name = 'values'
      field_base = KINDS[attr.kind][0]
      return [f'  if ({guard}) {{', f'    const auto {name} = {read};',
              f'    attrs.{attr.cpp} = {field_base}({name}.begin(), {name}.end());', '  }']
    read = f'std::string({read})'
  return [f'  if ({guard}) attrs.{attr.cpp} = {read};']


# ---- declaration ------------------------------------------------------------------------------------------------------


def _slot(op, attr):
  return [a.name for a in op.slots].index(attr.name)


def _attr_accessor(op, attr):
  _, returned, read = KINDS[attr.kind]
  slot = f'op_->slot({_slot(op, attr)})'
  name = attr.cpp
  if is_std_optional(attr):
    return [f'  std::optional<{returned}> {name}() const {{', f'    if (const Attribute slot = {slot}) return '
            f'{read.format(a="slot")};', '    return std::nullopt;', '  }']
  if attr.optional and attr.kind == 'TypeAttr':
    return [f'  Type {name}() const {{ return {slot} ? {slot}.type() : Type(); }}']
  return [f'  {returned} {name}() const {{ return {read.format(a=slot)}; }}']


# What a setter takes where that is not the field of Attrs.
_SETTER_TYPES = {'std::string': 'std::string_view', 'std::vector<int64_t>': 'std::span<const int64_t>',
                 'std::vector<float>': 'std::span<const float>', 'std::vector<DimExpr>': 'std::span<const DimExpr>'}


def _attr_setter(op, attr):
  base = _SETTER_TYPES.get(KINDS[attr.kind][0], KINDS[attr.kind][0])
  name, slot, context = attr.cpp, _slot(op, attr), 'op_->context()'
  if is_std_optional(attr):
    return [f'  void set_{name}(std::optional<{base}> value) const {{',
            f'    op_->set_slot({slot}, value ? {make(attr, "*value", context)} : Attribute());', '  }']
  value = make(attr, 'value', context)
  if attr.optional and attr.kind in ('Unit', 'TypeAttr'):
    value = f'value ? {value} : Attribute()'
  return [f'  void set_{name}({base} value) const {{ op_->set_slot({slot}, {value}); }}']


def _operand_accessor(op, index):
  operand = op.operands[index]
  name = operand.cpp
  loose_before = any(o.arity != 'Single' for o in op.operands[:index])
  if operand.arity == 'Single':
    return f'  Value {name}() const {{ return op_->operand({index}); }}'
  if operand.arity == 'Optional':
    if op.needs_segments or loose_before:
      return f'  Value {name}() const {{ return op_->operand_or_null({index}); }}  // null if absent'
    return (f'  Value {name}() const {{ return op_->num_operands() > {index} ? op_->operand({index}) : Value(); }}'
            '  // null if absent')
  return (f'  OperandRange {name}() const {{\n'
          f'    const auto [first, count] = op_->operand_group({index});\n'
          '    return {op_->operands().data() + first, count};\n  }')


def _operand_setter(op, index):
  operand = op.operands[index]
  name = operand.cpp
  if operand.arity == 'Single':
    return f'  void set_{name}(Value value) const {{ op_->set_operand({index}, value); }}'
  if operand.arity == 'Optional':
    return (f'  void set_{name}(Value value) {{ op_ = SetOperandGroup(op_, {index}, {{&value, value ? 1u : 0u}}); }}'
            '  // null: absent')
  return f'  void set_{name}(std::span<const Value> values) {{ op_ = SetOperandGroup(op_, {index}, values); }}'


def _result_accessor(op, index):
  result = op.results[index]
  if result.arity == 'Single':
    return f'  Value {result.cpp}() const {{ return op_->result({index}); }}'
  return (f'  ResultRange {result.cpp}() const {{\n'
          f'    return op_->num_results() > {index} ? ResultRange(op_->result({index}), op_->num_results() - {index}) : '
          'ResultRange();\n  }')


def declaration(op):
  cls = op.class_name
  lines = []
  if op.attrs:
    lines.append(f'struct {cls}Attrs {{')
    lines += [f'  {field_type(a)} {a.cpp}{initializer(a)};' for a in op.attrs]
    lines.append('};\n')
  lines += [f'// {op.summary}', f'class {cls} : public OpHandle {{', ' public:', '  using OpHandle::OpHandle;',
            f'  static constexpr std::string_view kName = {cpp.string(op.full_name)};',
            '  static constexpr OpId kId = HashOpName(kName);']
  if op.attrs:
    lines.append(f'  using Attrs = {cls}Attrs;')
  parameters = _parameters(op)
  if op.attrs:
    parameters[-1] += ' = {}'
  lines += ['', f'  static absl::StatusOr<{cls}> Create({", ".join(parameters)});', '']
  lines += [_operand_accessor(op, i) for i in range(len(op.operands))]
  lines += [_result_accessor(op, i) for i in range(len(op.results))]
  lines += [f'  Region& {model.cpp_name(r)}() const {{ return op_->region({i}); }}' for i, r in enumerate(op.regions)]
  lines += [f'  Block* {model.cpp_name(s.name)}() const {{ return op_->successor({i}); }}'
            for i, s in enumerate(op.successors)]
  for attr in op.attrs:
    lines += _attr_accessor(op, attr)
  if op.attrs:
    lines.append('  Attrs attrs() const;')
  lines += [_operand_setter(op, i) for i in range(len(op.operands))]
  for attr in op.attrs:
    lines += _attr_setter(op, attr)
  lines += ['};\n']
  return '\n'.join(lines)
