"""Examples of ops as text IR: the `example:` of a dialect file, or one that follows from the definition.

as_module(example) makes a module of it that ir-opt reads: values that the example only uses become arguments of a function,
and what it defines becomes its results.
"""

import re

_OPEN, _CLOSE = '([{<', ')]}>'
# The element type that a derived example takes, by the element types that an operand allows.
_PREFERRED = ('F32', 'I64', 'Bool')
_WHOLE = ('func.func', 'builtin.module', 'core.parameter')


def example_of(op):
  """The text of an example, or '' where none is written and none follows from the definition."""
  return op.example or _derived(op)


def _derived(op):
  """Of ops whose operands may all have one shape, and whose attributes have defaults."""
  plain = (op.operands and all(o.arity == 'Single' and o.constraint.dtypes for o in op.operands) and
           len(op.results) == 1 and op.results[0].arity == 'Single' and
           op.shape in ('InferElementwise', 'InferSameAsFirst') and not any(a.required for a in op.attrs))
  if not plain:
    return ''
  types = [_tensor(o.constraint.dtypes) for o in op.operands]
  allowed = op.results[0].constraint.dtypes
  result = _tensor(allowed) if len(allowed) == 1 else types[0]
  operands = ', '.join('%' + o.name for o in op.operands)
  return f'%{op.results[0].name} = {op.full_name}({operands}) : ({", ".join(types)}) -> {result}'


def _tensor(dtypes):
  from model import DTYPES  # pylint: disable=import-outside-toplevel
  dtype = next((d for d in _PREFERRED if d in dtypes), dtypes[0])
  return f'tensor<2x3x{DTYPES[dtype]}>'


# ---- from an example to a module ------------------------------------------------------------------------------------


def as_module(example):
  """Text that ir-opt reads. Functions, modules and parameters stand as they are; what else stands in a function."""
  if example.startswith(_WHOLE):
    return example + '\n'
  reader = _Reader(example)
  reader.ops()
  values = reader.free
  types, results = ', '.join(values.values()), ', '.join(reader.results.values())
  arguments = ', '.join(f'{name}: {kind}' for name, kind in values.items())
  body = [f'func.func() <{{function_type = ({types}) -> ({results}), sym_name = "example"}}> ({{', f'^bb0({arguments}):']
  body += ['  ' + line for line in example.split('\n')]
  body += [f'  func.return({", ".join(reader.results)}) : ({results}) -> ()', '}) : () -> ()', '']
  text = '\n'.join(body)
  names = sorted(set(re.findall(r'core\.get_parameter\(\) <\{name = @(\w+)\}> : \(\) -> tensor<[^>]*x(\w+)>', text)))
  return ''.join(f'core.parameter() <{{sym_name = "{name}", type = {dtype}}}> : () -> ()\n'
                 for name, dtype in names) + text


class _Reader:
  """Walks over ops in MLIR's generic form and notes the values that nothing defines."""

  def __init__(self, text):
    self.text = text
    self.at = 0
    self.defined = set()
    self.depth = 0
    self.free = {}     # values that nothing defines, with their types
    self.results = {}  # values that stand outside of all regions, with their types

  def ops(self):
    while self.at < len(self.text):
      self.skip_space()
      if self.text.startswith('}', self.at) or self.at >= len(self.text):
        return
      if self.text.startswith('^', self.at):
        self.label()
      else:
        self.op()

  def label(self):
    end = self.text.index(':\n', self.at)
    self.defined.update(re.findall(r'(%\w+):', self.text[self.at:end]))
    self.at = end + 1

  def op(self):
    match = re.compile(r'\s*(?:([%\w:, ]+?) = )?"?([\w.]+)"?').match(self.text, self.at)
    if not match:
      raise ValueError(f'no op at {self.text[self.at:self.at + 40]!r}')
    self.at = match.end()
    operands = _split(self.group('('))
    for opening in '[<{':  # successors, attributes
      self.skip_space()
      if self.text.startswith(opening, self.at):
        self.group(opening)
    self.skip_space()
    if self.text.startswith('({', self.at):
      self.at += 1
      while True:
        self.skip_space()
        self.at += 1  # { or ,
        if self.text[self.at - 1] == ')':
          break
        if self.text[self.at - 1] == '{':
          self.depth += 1
          self.ops()
          self.depth -= 1
          self.at += 1  # }
    self.skip_space()
    self.expect(':')
    types = _split(self.group('('))
    self.expect('->')
    self.skip_space()
    made = _split(self.group('(')) if self.text.startswith('(', self.at) else [self.type()]
    for name, kind in zip(operands, types):
      if name not in self.defined:
        self.free.setdefault(name, kind)
    results = [result.strip() for result in (match.group(1) or '').split(',')]
    self.defined.update(results)
    if self.depth == 0 and results != ['']:
      self.results.update(zip(results, made))

  def skip_space(self):
    while self.at < len(self.text) and self.text[self.at].isspace():
      self.at += 1

  def expect(self, word):
    self.skip_space()
    if not self.text.startswith(word, self.at):
      raise ValueError(f'expected {word!r} at {self.text[self.at:self.at + 40]!r}')
    self.at += len(word)

  def group(self, opening):
    """What stands between a bracket here and the one that closes it."""
    self.skip_space()
    if not self.text.startswith(opening, self.at):
      raise ValueError(f'expected {opening!r} at {self.text[self.at:self.at + 40]!r}')
    end = _end_of_group(self.text, self.at)
    inner = self.text[self.at + 1:end]
    self.at = end + 1
    return inner

  def type(self):
    begin = self.at
    self.at = re.compile(r'!?[\w.]+').match(self.text, self.at).end()
    if self.text.startswith('<', self.at):
      self.group('<')
    return self.text[begin:self.at]


def _end_of_group(text, at):
  depth, quoted = 0, False
  for i in range(at, len(text)):
    c = text[i]
    if c == '"':
      quoted = not quoted
    elif quoted or text.startswith('->', i) or text.startswith('->', i - 1):
      continue
    elif c in _OPEN:
      depth += 1
    elif c in _CLOSE:
      depth -= 1
      if depth == 0:
        return i
  raise ValueError(f'nothing closes {text[at:at + 40]!r}')


def _split(text):
  """The parts between commas outside of brackets."""
  parts, depth, quoted, begin = [], 0, False, 0
  for i, c in enumerate(text + ','):
    if c == '"':
      quoted = not quoted
    elif quoted or text.startswith('->', i) or (i > 0 and text.startswith('->', i - 1)):
      continue
    elif c in _OPEN:
      depth += 1
    elif c in _CLOSE:
      depth -= 1
    elif c == ',' and depth == 0:
      parts.append(text[begin:i].strip())
      begin = i + 1
  return [part for part in parts if part]
