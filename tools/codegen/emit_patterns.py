"""patterns/<dialect>_patterns.h: for every op a function that makes a node of a rule's graph."""

import cpp
import model

_TYPES = {'Bool': 'bool', 'Unit': 'bool', 'I64': 'int64_t', 'F32': 'float', 'F64': 'double', 'Str': 'std::string',
          'Enum': 'std::string', 'Symbol': 'std::string', 'I64s': 'drr::I64s', 'F32s': 'drr::F32s', 'Dims': 'drr::Dims',
          'Type': 'DType', 'TypeAttr': 'Attribute', 'Elements': 'Attribute', 'Any': 'Attribute'}
_OPERANDS = {'Single': 'const drr::Val&', 'Optional': 'const drr::OptVal&', 'Variadic': 'const drr::ValList&'}
# Dialects that rules neither match nor make. Spans and bytes of files are no numbers.
_NOT_IN_RULES = ('builtin', 'func', 'cf', 'kernel', 'str', 'image')


def in_rules(op):
  """Ops that rules may match and make: plain computations."""
  return op.results and not op.regions and not op.successors and not {'Random', 'Terminator', 'Symbol'} & set(op.traits)


def args_struct(op):
  fields = [f'  drr::AttrArg<{_TYPES[a.kind]}> {a.cpp}{{}};' for a in op.attrs]
  return '\n'.join([f'struct {op.camel}Args {{'] + fields + ['};']) + '\n' if op.attrs else ''


def signature(op, default):
  parameters = [f'{_OPERANDS[o.arity]} {o.cpp}' for o in op.operands]
  if op.attrs:
    parameters.append(f'const {op.camel}Args& args{default}')
  return f'drr::Val {op.camel}({", ".join(parameters)})'


def definition(op):
  groups = [f'drr::One({o.cpp})' if o.arity == 'Single' else f'{o.cpp}.operands()' for o in op.operands]
  attrs = [f'{{{cpp.string(a.name)}, args.{a.cpp}.node()}}' for a in op.attrs]
  return (f'{signature(op, "")} {{\n'
          f'  return drr::MakeOp({cpp.string(op.full_name)}, {{{", ".join(groups)}}}, {{{", ".join(attrs)}}});\n}}\n')


def outputs(dialects):
  result = {}
  paths = []
  for dialect in dialects:
    ops = [op for op in dialect.ops if in_rules(op)]
    if dialect.name in _NOT_IN_RULES or not ops:
      continue
    path = f'patterns/{dialect.name}_patterns'
    paths.append(path + '.h')
    space = f'tenon::pattern::{dialect.name}'
    body = [f'namespace {space} {{\n']
    body += [f'// {op.full_name}: {op.summary}\n{args_struct(op)}{signature(op, " = {}")};\n' for op in ops]
    body.append(f'}}  // namespace {space}')
    result[path + '.h'] = cpp.header(path + '.h', ['"drr/rule/val.h"'], '\n'.join(body),
                                     f'Pattern functions of dialect {dialect.name}.')
    body = [cpp.BANNER + f'#include "{path}.h"\n\nnamespace {space} {{\n']
    body += [definition(op) for op in ops]
    body.append(f'}}  // namespace {space}\n')
    result[path + '.cc'] = '\n'.join(body)
  path = 'patterns/ops.h'
  result[path] = cpp.header(path, [f'"{p}"' for p in paths], '', 'Pattern functions of all dialects.')
  return result
