"""Dialects as Python objects. Emitters read them; loader.py makes them from YAML."""

import dataclasses
import math
import os
import struct

REPO_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where the headers of Tenon lie. Another folder where Tenon is installed.
HEADERS = REPO_ROOT

# Names in C++ (`DType::k…`) and in IR text, in the order of enum DType.
DTYPES = {
    'Bool': 'i1', 'I8': 'i8', 'I16': 'i16', 'I32': 'i32', 'I64': 'i64', 'U8': 'ui8', 'U16': 'ui16', 'U32': 'ui32',
    'U64': 'ui64', 'F16': 'f16', 'BF16': 'bf16', 'F32': 'f32', 'F64': 'f64', 'F8E4M3FN': 'f8E4M3FN',
    'F8E4M3FNUZ': 'f8E4M3FNUZ', 'F8E5M2': 'f8E5M2', 'F8E5M2FNUZ': 'f8E5M2FNUZ', 'F8E8M0FNU': 'f8E8M0FNU',
    'F4E2M1FN': 'f4E2M1FN', 'I4': 'i4', 'I2': 'i2', 'U4': 'ui4', 'U2': 'ui2',
}
_FLOATS = ['F16', 'BF16', 'F32', 'F64']
_INTS = ['I8', 'I16', 'I32', 'I64', 'U8', 'U16', 'U32', 'U64']
_WIDE = ['Bool'] + _INTS + _FLOATS
# Narrow types are stored, moved and converted, and nothing else computes with them.
DTYPE_SETS = {'Float': _FLOATS, 'Int': _INTS, 'Number': _INTS + _FLOATS, 'Index': ['I32', 'I64'], 'Wide': _WIDE,
              'Narrow': [d for d in DTYPES if d not in _WIDE]}

ATTR_KINDS = ['Any', 'Unit', 'Bool', 'I64', 'F32', 'F64', 'Str', 'Enum', 'I64s', 'F32s', 'Dims', 'Type', 'TypeAttr',
              'Elements', 'Symbol']
KINDS_WITHOUT_DEFAULT = {'Any', 'Unit', 'TypeAttr', 'Elements', 'Symbol'}

_CPP_KEYWORDS = set('''alignas alignof and asm auto bool break case catch char class compl concept const continue
    decltype default delete do double else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not nullptr operator or private protected public register requires return short
    signed sizeof static struct switch template this throw true try typedef typeid typename union unsigned using
    virtual void volatile while xor'''.split())
# Members of every generated class, and names that generated functions use.
RESERVED_NAMES = {'op', 'attrs', 'builder', 'location', 'result_types', 'found', 'info', 'num_operands', 'operands',
                   'segments', 'slots', 'successors'}


# What an operation has room for (ir/core/operation.h).
MAX_SLOTS, MAX_REGIONS, MAX_SUCCESSORS = 255, 15, 7


class SchemaError(Exception):
  """A defect of a YAML file, with its place; without a mark the message names the file."""

  def __init__(self, mark, message):
    place = f'{display(mark.name)}:{mark.line + 1}: ' if mark is not None else ''
    super().__init__(place + message)


def display(path):
  relative = os.path.relpath(path, REPO_ROOT)
  return path if relative.startswith('..') else relative


def camel(name):
  """reduce_sum -> ReduceSum."""
  return ''.join(part[:1].upper() + part[1:] for part in name.split('_'))


def cpp_name(name):
  """A name usable as a C++ identifier."""
  return name + '_' if name in _CPP_KEYWORDS else name


def enumerator(name):
  """SAME_UPPER -> kSameUpper."""
  return 'k' + camel(name.lower())


@dataclasses.dataclass
class Constraint:
  text: str                   # as written, without Optional<> and Variadic<>
  any: bool = False
  scalar_i1: bool = False
  dtypes: list = dataclasses.field(default_factory=list)  # keys of DTYPES, in their order
  dialect_type: str = ''      # only this type, without '!': 'acme.ledger'

  @property
  def description(self):
    if self.any:
      return 'any type'
    if self.scalar_i1:
      return 'i1'
    if self.dialect_type:
      return '!' + self.dialect_type
    if len(self.dtypes) == len(DTYPES):
      return 'a tensor'
    names = [DTYPES[d] for d in self.dtypes]
    return 'a tensor of ' + (names[0] if len(names) == 1 else ', '.join(names[:-1]) + ' or ' + names[-1])


@dataclasses.dataclass
class Operand:
  name: str
  arity: str                  # Single, Optional, Variadic
  constraint: Constraint
  mark: object = None

  @property
  def cpp(self):
    return cpp_name(self.name)


@dataclasses.dataclass
class Attr:
  name: str
  kind: str                   # one of ATTR_KINDS
  optional: bool = False      # `Kind?`: absent when not given
  has_default: bool = False
  default: object = None      # bool, int, float, str, or a list of them
  enums: list = dataclasses.field(default_factory=list)
  internal: bool = False      # operandSegmentSizes
  mark: object = None

  @property
  def cpp(self):
    return cpp_name(self.name)

  @property
  def required(self):
    return not (self.optional or self.has_default)


@dataclasses.dataclass
class Successor:
  name: str
  operand_group: int = -1


@dataclasses.dataclass
class Op:
  dialect: str
  name: str                   # without the dialect
  summary: str
  operands: list
  attrs: list                 # in the order of the file
  results: list
  traits: list
  regions: list
  successors: list
  shape: str                  # C++ name of the shape function; '' if result types must be given or there are none
  verify: str
  fold: str
  interfaces: str             # C++ name of the function that adds them; '' if there are none
  onnx: object                # text, mapping or list as written; None if absent
  tests: list                 # list of {operand or attribute: text}
  # Only the reference pages read these three (tools/docs).
  details: str                # more paragraphs behind the summary
  about: dict                 # what operands, attributes, results, regions and successors mean, by name
  example: str                # one call of the op as text IR
  mark: object = None

  @property
  def full_name(self):
    return f'{self.dialect}.{self.name}'

  @property
  def camel(self):
    return camel(self.name)

  @property
  def class_name(self):
    return self.camel + 'Op'

  @property
  def needs_segments(self):
    return sum(o.arity != 'Single' for o in self.operands) >= 2

  @property
  def slots(self):
    """Attributes by slot: sorted by name, with operandSegmentSizes where it is needed."""
    slots = list(self.attrs)
    if self.needs_segments:
      slots.append(Attr('operandSegmentSizes', 'Any', optional=True, internal=True))
    return sorted(slots, key=lambda a: a.name)

  @property
  def explicit_results(self):
    """Result types are an argument of Create."""
    return bool(self.results) and not self.shape


@dataclasses.dataclass
class Parametric:
  """A type or an attribute that a dialect defines."""
  dialect: str
  what: str                   # 'type' or 'attribute'
  name: str                   # without the dialect
  summary: str
  parameters: list            # of Attr, in the order of the text
  verify: str                 # C++ name of the check; '' if there is none
  details: str
  mark: object = None

  @property
  def full_name(self):
    return f'{self.dialect}.{self.name}'

  @property
  def camel(self):
    return camel(self.name)

  @property
  def class_name(self):
    return self.camel + ('Type' if self.what == 'type' else 'Attr')

  @property
  def text(self):
    """How IR text writes it: !acme.ledger<currency, limit>."""
    parameters = ', '.join(p.name for p in self.parameters)
    return ('!' if self.what == 'type' else '#') + self.full_name + (f'<{parameters}>' if parameters else '')


@dataclasses.dataclass
class Dialect:
  name: str
  summary: str
  ops: list
  path: str
  types: list = dataclasses.field(default_factory=list)       # of Parametric
  attributes: list = dataclasses.field(default_factory=list)  # of Parametric

  @property
  def camel(self):
    return camel(self.name)


def op_hash(name):
  """HashOpName of ir/core/context/op_info.h."""
  h = 0xcbf29ce484222325
  for byte in name.encode():
    h = ((h ^ byte) * 0x100000001b3) & 0xffffffffffffffff
  return h


def to_f32(value):
  """Rounds to float; overflow gives infinity."""
  if math.isinf(value) or math.isnan(value):
    return value
  try:
    return struct.unpack('<f', struct.pack('<f', value))[0]
  except OverflowError:
    return math.copysign(math.inf, value)
