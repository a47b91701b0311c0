"""frontends/onnx/ops/one_to_one.inc: ONNX op types whose import is a change of name (`onnx:` in a dialect file)."""

import cpp
import model

OUTPUT = 'frontends/onnx/ops/one_to_one.inc'
_ATTR_KINDS = ('Bool', 'I64', 'F32', 'I64s', 'Str', 'Enum')


def _names(op):
  names = op.onnx if isinstance(op.onnx, list) else [op.onnx]
  for name in names:
    if not isinstance(name, str) or not name.isidentifier():
      raise model.SchemaError(op.mark, f"{op.full_name}: onnx is '{name}' (expected the name of an ONNX op, or a list "
                                       'of names)')
  return names


def _check(op):
  for operand in op.operands:
    if operand.arity != 'Single':
      raise model.SchemaError(op.mark, f"{op.full_name}: onnx does not fit operand '{operand.name}' (expected single "
                                       'operands; write an adapter in frontends/onnx otherwise)')
  if len(op.results) != 1 or op.results[0].arity != 'Single':
    raise model.SchemaError(op.mark, f'{op.full_name}: onnx does not fit its results (expected one)')
  for attr in op.attrs:
    if attr.kind not in _ATTR_KINDS:
      raise model.SchemaError(op.mark, f"{op.full_name}: onnx does not fit attribute '{attr.name}' (expected one of the "
                                       f"kinds {', '.join(_ATTR_KINDS)}; write an adapter in frontends/onnx otherwise)")


def outputs(dialects):
  found = {}
  for dialect in dialects:
    for op in dialect.ops:
      if op.onnx is None:
        continue
      _check(op)
      for name in _names(op):
        if name in found:
          raise model.SchemaError(op.mark, f'{op.full_name}: onnx {name} is already {found[name]}')
        found[name] = op.full_name
  lines = [f'TENON_ONNX_ONE_TO_ONE({name}, {cpp.string(found[name])})' for name in sorted(found)]
  return {OUTPUT: cpp.BANNER + '\n'.join(lines) + '\n'}
