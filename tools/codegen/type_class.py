"""The class of a type or an attribute that a dialect defines, and its row in the table of the dialect."""

import cpp
import model
import op_class


def _base(one):
  return 'Type' if one.what == 'type' else 'Attribute'


def declaration(one):
  cls, base = one.class_name, _base(one)
  lines = []
  if one.parameters:
    lines.append(f'struct {cls}Parameters {{')
    lines += [f'  {op_class.field_type(p)} {p.cpp}{op_class.initializer(p)};' for p in one.parameters]
    lines.append('};\n')
  lines += [f'// {one.summary} In text: {one.text}. Null if default-constructed.',
            f'class {cls} : public {base} {{', ' public:',
            f'  static constexpr std::string_view kName = {cpp.string(one.full_name)};']
  parameters = ''
  if one.parameters:
    lines.append(f'  using Parameters = {cls}Parameters;')
    parameters = ', const Parameters& parameters'
    if not any(p.required for p in one.parameters):
      parameters += ' = {}'
  lines += [f'  {cls}() = default;',
            f'  explicit {cls}({base} value) : {base}(value) {{}}  // Does not check the class.',
            f'  // Errors of MakeDialect{base} (dialect_types.h). Thread-safe.',
            f'  static absl::StatusOr<{cls}> Get(Context& context{parameters});']
  if one.parameters:
    lines.append('')
  for i, parameter in enumerate(one.parameters):
    _, returned, read = op_class.KINDS[parameter.kind]
    lines.append(f'  {returned} {parameter.cpp}() const {{ return {read.format(a=f"ParametersOf(*this)[{i}]")}; }}')
  return '\n'.join(lines + ['};\n'])


def definition(one):
  cls, base = one.class_name, _base(one)
  lines = [f'absl::StatusOr<{cls}> {cls}::Get(Context& context'
           f'{", const Parameters& parameters" if one.parameters else ""}) {{']
  values = '{}'
  if one.parameters:
    lines.append('  const Attribute values[] = {')
    for parameter in one.parameters:
      value = op_class.make(parameter, f'parameters.{parameter.cpp}', 'context')
      lines.append(f'      {_or_null(parameter, value)},')
    lines.append('  };')
    values = 'values'
  lines += [f'  const absl::StatusOr<{base}> made = MakeDialect{base}(context, kName, {values});',
            '  if (!made.ok()) return made.status();', f'  return {cls}(*made);', '}\n']
  return '\n'.join(lines)


def _or_null(parameter, value):
  """A value that the caller has not set is a null attribute, which MakeDialectType refuses with the parameter's name."""
  field = f'parameters.{parameter.cpp}'
  unset = {'TypeAttr': f'!{field}', 'Type': f'{field} == DType::kInvalid', 'Symbol': f'{field}.empty()',
           'Enum': f'{field}.empty()'}.get(parameter.kind)
  return f'{unset} ? Attribute() : {value}' if unset and parameter.required else value


def tables(defined, attr_row, table):
  """The text of the tables, and the name of the array of rows; `{}` without any."""
  text, rows = '', []
  for one in defined:
    prefix = f'k{one.class_name}'
    for parameter in one.parameters:
      if parameter.enums:
        values = ', '.join(map(cpp.string, parameter.enums))
        text += f'constexpr const char* k{one.class_name}{model.camel(parameter.name)}Values[] = {{{values}}};\n'
    array, name = table('AttrRow', prefix + 'Parameters', [attr_row(one.class_name, p) for p in one.parameters])
    text += array
    rows.append(f'    {{{cpp.string(one.full_name)}, {cpp.string(one.summary)}, {name}, {one.verify or "nullptr"}}},')
  what = _base(defined[0]) if defined else ''
  array, name = table('ParametricRow', f'k{what}Rows', rows)
  return text + array, name
