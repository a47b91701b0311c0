"""Operations, types and attributes as JSON, for programs that get them from a file at run time (`ir-opt --load-ops`).

Only what a file can say: one result, the shapes Elementwise and SameAsFirst, no regions, no C++ functions.
"""

import json

import model
import op_class

_SHAPES = {'InferElementwise': 'elementwise', 'InferSameAsFirst': 'same_as_first'}
# The words of drr/text for the kinds of attributes, by AttrType.
_KINDS = {'Bool': 'bool', 'I64': 'i64', 'F32': 'f32', 'F64': 'f64', 'Str': 'string', 'I64s': 'i64s', 'F32s': 'f32s',
          'Dims': 'dims', 'Type': 'type', 'Enum': 'enum'}
# Pure and Elementwise follow from the rest.
_TRAITS = {'Pure': None, 'Elementwise': None, 'Commutative': 'commutative', 'Idempotent': 'idempotent',
           'SameDtype': 'same_dtype', 'SameOperandDtype': 'same_operand_dtype'}
_SETS = {'tensor': list(model.DTYPES), **{name.lower(): dtypes for name, dtypes in model.DTYPE_SETS.items()
                                          if name in ('Float', 'Int', 'Number')}}


def text(dialects, sources):
  """The JSON text. `sources` names the files of the dialects, by name of the dialect."""
  ops = [_op(op, sources[dialect.name]) for dialect in dialects for op in dialect.ops]
  result = {}
  for key in ('types', 'attributes'):
    defined = [_parametric(one, sources[dialect.name]) for dialect in dialects for one in getattr(dialect, key)]
    if defined:
      result[key] = defined
  return json.dumps({**result, 'ops': ops}, indent=1) + '\n'


def _wrong(mark, op, what):
  raise model.SchemaError(mark, f'{op.full_name}: {what}')


def _parametric(one, source):
  if one.verify:
    _wrong(one.mark, one, f"'verify' has no form in JSON (expected no check)")
  return {
      one.what: one.full_name,
      'at': f'{source}:{one.mark.line + 1}:{one.mark.column + 1}',
      'summary': one.summary,
      'parameters': [_attr(one, p) for p in one.parameters],
  }


def _op(op, source):
  for name in ('regions', 'successors', 'verify', 'fold', 'interfaces'):
    if getattr(op, name):
      _wrong(op.mark, op, f"'{name}' has no form in JSON (expected an operation without it)")
  if op.shape not in _SHAPES or len(op.results) != 1 or op.results[0].arity != 'Single':
    _wrong(op.mark, op, 'the shape has no form in JSON (expected one result of shape Elementwise or SameAsFirst)')
  for trait in op.traits:
    if trait not in _TRAITS:
      _wrong(op.mark, op, f"trait {trait} has no form in JSON (expected one of {', '.join(_TRAITS)})")
  return {
      'op': op.full_name,
      'at': f'{source}:{op.mark.line + 1}:{op.mark.column + 1}',
      'summary': op.summary,
      'operands': [_operand(op, o) for o in op.operands],
      'attrs': [_attr(op, a) for a in op.attrs],
      'result': _operand(op, op.results[0])['types'],
      'traits': [_TRAITS[trait] for trait in op.traits if _TRAITS[trait]],
      'shape': _SHAPES[op.shape],
  }


def _operand(op, operand):
  if operand.constraint.dialect_type:
    return {'name': operand.name, 'arity': operand.arity.lower(), 'types': ['!' + operand.constraint.dialect_type]}
  if not operand.constraint.dtypes:
    _wrong(operand.mark, op, f"'{operand.name}' has no form in JSON (expected Tensor, Tensor<dtypes> or '!dialect.name')")
  dtypes = operand.constraint.dtypes
  types = [word for word, members in _SETS.items() if sorted(members) == sorted(dtypes)]
  return {'name': operand.name, 'arity': operand.arity.lower(), 'types': types or [model.DTYPES[d] for d in dtypes]}


def _attr(op, attr):
  if attr.kind not in _KINDS:
    _wrong(attr.mark, op, f"attribute '{attr.name}' has no form in JSON (expected one of {', '.join(_KINDS)})")
  entry = {'name': attr.name, 'kind': _KINDS[attr.kind], 'required': attr.required}
  if attr.has_default:
    entry['default'] = op_class.default_text(attr)
  if attr.enums:
    entry['values'] = attr.enums
  return entry
