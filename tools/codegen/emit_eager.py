"""executor/eager/<dialect>.{h,cc}: a C++ function for each operation, which runs it at once."""

import cpp
import emit_kernel_attrs
import model
import op_class

# Dialects of structure: their operations do not run by themselves.
STRUCTURE = ('builtin', 'cf', 'core', 'ctl', 'func', 'kernel')
# Their functions are also found in tenon::eager itself. No name is in both.
INLINE = ('nn', 'ten')
TABLE = 'executor/eager/op_entries.cc'
_PARAMETERS = {'attrs', 'options'}


def callable_ops(dialect):
  """The operations that a call can run: tensors and plain attributes in, tensors out."""
  if dialect.name in STRUCTURE:
    return []
  fields = {id(op): {a.name for a in emit_kernel_attrs.fields(op)} for op in dialect.ops}
  return [op for op in dialect.ops
          if op.results and op.shape and not op.regions and not op.successors
          and all(a.name in fields[id(op)] or a.optional for a in op.attrs)]


def struct(op):
  return f'::tenon::{op.dialect}::{op.camel}Attrs'


def _id(op):
  return model.camel(op.dialect) + op.camel


def entry(op):
  return f'k{_id(op)}Entry'


def _result(op):
  if len(op.results) == 1 and op.results[0].arity == 'Single':
    return 'absl::StatusOr<Tensor>'
  if all(r.arity == 'Single' for r in op.results):
    return f'absl::StatusOr<std::array<Tensor, {len(op.results)}>>'
  return 'absl::StatusOr<Tensors>'


def _signature(op, defaults):
  """The parameters; defaults go as far to the left as all behind them have one."""
  parameters = []
  for o in op.operands:
    if o.cpp in _PARAMETERS:
      raise model.SchemaError(o.mark, f'{op.full_name}: an operand must not be named {o.name} (a parameter of the eager function)')
    if o.arity == 'Variadic':
      parameters.append((f'std::span<const Tensor> {o.cpp}', None))
    else:
      parameters.append((f'const Tensor& {o.cpp}', 'Tensor()' if o.arity == 'Optional' else None))
  if emit_kernel_attrs.fields(op):
    required = any(a.required for a in op.attrs)
    parameters.append((f'const {struct(op)}& attrs', None if required else f'{struct(op)}()'))
  parameters.append(('const CallOptions& options', 'CallOptions()'))
  texts, open_ = [], True
  for text, default in reversed(parameters):
    open_ = open_ and default is not None
    texts.append(f'{text} = {default}' if defaults and open_ else text)
  return ', '.join(reversed(texts))


def _comment(op):
  text = op.summary.rstrip('.')
  optional = [f'`{o.name}`' for o in op.operands if o.arity == 'Optional']
  notes = [f'{", ".join(optional)} may be {"a null tensor" if len(optional) == 1 else "null tensors"}'] if optional else []
  if len(op.results) > 1 or op.results[0].arity != 'Single':
    notes.append('Results: ' + ', '.join(r.name for r in op.results))
  return '// ' + '. '.join([f'{op.full_name}: {text}', *notes]) + '.'


def _header(dialect, ops):
  path = f'executor/eager/{dialect.name}.h'
  inline = 'inline ' if dialect.name in INLINE else ''
  body = [f'namespace tenon::eager {{\n{inline}namespace {dialect.name} {{\n']
  for op in ops:
    body.append(f'{_comment(op)}\n{_result(op)} {op.camel}({_signature(op, True)});')
  body.append(f'\n}}  // namespace {dialect.name}\n}}  // namespace tenon::eager')
  includes = ['<array>', '<span>', '', '"absl/status/statusor.h"', '"executor/eager/engine.h"', '"executor/tensor.h"',
              '"kernels/op_attrs.h"']
  comment = f'The operations of the dialect {dialect.name} as functions that run at once. See executor/eager/engine.h.'
  return path, cpp.header(path, includes, '\n'.join(body), comment).replace('#include \n', '\n')


def _write(op, attr):
  """Puts one field into its slot."""
  slot = [a.name for a in op.slots].index(attr.name)
  field = f'a.{attr.cpp}'
  if attr.kind == 'Unit':
    return f'  if ({field}) slots[{slot}] = Attribute::Unit(context);'
  value = f'*{field}' if attr.optional else field
  if attr.kind == 'Enum':
    names = ', '.join(cpp.string(e) for e in attr.enums)
    made = f'EnumAttribute(context, static_cast<int>({value}), {{{names}}})'
  elif attr.kind == 'Dims':
    made = f'DimsAttribute(context, {value})'
  else:
    made = op_class.make(attr, value, 'context')
  guard = f'if ({field}) ' if attr.optional else ''
  if attr.kind == 'Type' and not attr.optional:
    guard = f'if ({field} != DType::kInvalid) '  # the verifier says that it is missing
  return f'  {guard}slots[{slot}] = {made};'


def _definitions(op):
  fields = emit_kernel_attrs.fields(op)
  lines = []
  if fields:
    s = struct(op)
    lines += [f'void Write{_id(op)}(Context& context, const void* attrs, std::span<Attribute> slots) {{',
              f'  const auto& a = *static_cast<const {s}*>(attrs);']
    lines += [_write(op, a) for a in fields]
    lines += ['}', f'bool Equal{_id(op)}(const void* left, const void* right) {{',
              f'  const auto& a = *static_cast<const {s}*>(left);',
              f'  const auto& b = *static_cast<const {s}*>(right);',
              '  return ' + ' && '.join(f'a.{f.cpp} == b.{f.cpp}' for f in fields) + ';', '}',
              f'std::shared_ptr<const void> Copy{_id(op)}(const void* attrs) {{',
              f'  return std::make_shared<{s}>(*static_cast<const {s}*>(attrs));', '}']
  hooks = ', '.join(f'{hook}{_id(op)}' if fields else 'nullptr' for hook in ('Write', 'Equal', 'Copy'))
  lines.append(f'constexpr OpEntry {entry(op)} = {{{cpp.string(op.full_name)}, {hooks}}};\n')
  return '\n'.join(lines)


def _function(op):
  groups = []
  for o in op.operands:
    groups.append(o.cpp if o.arity == 'Variadic' else f'{{&{o.cpp}, 1}}')
  attrs = '&attrs' if emit_kernel_attrs.fields(op) else 'nullptr'
  lines = [f'{_result(op)} {op.camel}({_signature(op, False)}) {{']
  if groups:
    lines.append(f'  const std::span<const Tensor> operands[] = {{{", ".join(groups)}}};')
  call = f'CallOf(options, {entry(op)}, {"operands" if groups else "{}"}, {attrs})'
  if _result(op) == 'absl::StatusOr<Tensors>':
    lines.append(f'  return {call};')
  elif _result(op) == 'absl::StatusOr<Tensor>':
    lines.append(f'  return OnlyOf({call});')
  else:
    lines.append(f'  return ArrayOf<{len(op.results)}>({call});')
  lines.append('}\n')
  return '\n'.join(lines)


def _source(dialect, ops):
  lines = [f'#include "executor/eager/{dialect.name}.h"', '', '#include "executor/eager/generated_calls.h"', '',
           'namespace tenon::eager {', 'namespace {', '']
  lines += [_definitions(op) for op in ops]
  lines += ['}  // namespace', '']
  inline = 'inline ' if dialect.name in INLINE else ''
  lines += [f'{inline}namespace {dialect.name} {{', '']
  lines += [_function(op) for op in ops]
  lines += [f'}}  // namespace {dialect.name}', '',
            f'std::span<const OpEntry* const> {dialect.camel}Entries() {{',
            '  static constexpr const OpEntry* kEntries[] = {' + ', '.join(f'&{entry(op)}' for op in ops) + '};', '  return kEntries;', '}', '',
            '}  // namespace tenon::eager', '']
  return f'executor/eager/{dialect.name}.cc', cpp.BANNER + '\n'.join(lines)


def _table(dialects):
  lines = ['#include "executor/eager/generated_calls.h"', '', 'namespace tenon::eager {', '']
  lines += [f'std::span<const OpEntry* const> {d.camel}Entries();' for d in dialects]
  lines += ['', 'std::vector<const OpEntry*> AllEntries() {', '  std::vector<const OpEntry*> all;',
            '  for (const std::span<const OpEntry* const> entries : {' + ', '.join(f'{d.camel}Entries()' for d in dialects) + '})',
            '    all.insert(all.end(), entries.begin(), entries.end());', '  return all;', '}', '',
            '}  // namespace tenon::eager', '']
  return cpp.BANNER + '\n'.join(lines)


def _umbrella(dialects):
  path = 'executor/eager/eager.h'
  return path, cpp.header(path, ['"executor/eager/engine.h"', *(f'"executor/eager/{d.name}.h"' for d in dialects)], '',
                          'All operations as functions that run at once.')


def outputs(dialects):
  with_calls = [(d, callable_ops(d)) for d in dialects]
  with_calls = [(d, ops) for d, ops in with_calls if ops]
  if not with_calls:
    return {}
  named = [op.camel for d, ops in with_calls if d.name in INLINE for op in ops]
  twice = sorted({name for name in named if named.count(name) > 1})
  if twice:
    raise model.SchemaError(None, f'{" and ".join(INLINE)} both have {", ".join(twice)}, which would be one name in tenon::eager')
  made = dict(_header(d, ops) for d, ops in with_calls)
  made.update(_source(d, ops) for d, ops in with_calls)
  made.update([_umbrella([d for d, _ in with_calls])])
  made[TABLE] = _table([d for d, _ in with_calls])
  return made
