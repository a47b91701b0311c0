"""docs/reference/python-api.md: what the Python package has, from its sources and from _core.pyi."""

import ast
import os
import re

import reference_text as md

PACKAGE = 'frontends/python/tenon'
PAGE = 'docs/reference/python-api.md'
# Modules whose names users write: `tenon.ir.parse`. The others are parts of `tenon`.
MODULES = ('tenon', 'tenon.ir', 'tenon.testing')
# What a reader looks for first, and last.
_FIRST, _LAST = ('models', 'programs', 'report', 'rules', 'terms'), ('_core', 'errors')
_SECTION = re.compile(r'^(Args|Attributes|Raises):$')


class Module:
  """The definitions of one file."""

  def __init__(self, name, path):
    self.name = name
    self.tree = ast.parse(md.source(path), path)
    self.doc = ast.get_docstring(self.tree) or ''
    self.defined = {}  # functions, classes and assignments
    self.imported = {}  # name: (module, name there)
    for node in self.tree.body:
      if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        self.defined.setdefault(node.name, []).append(node)
      elif isinstance(node, ast.ImportFrom) and node.level:
        for alias in node.names:
          self.imported[alias.asname or alias.name] = (node.module, alias.name, node.level)
      elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == '__all__':
        self.all = ast.literal_eval(node.value)
      elif isinstance(node, ast.If):  # definitions for type checkers and for others: the last one has the description
        for inner in ast.walk(node):
          if isinstance(inner, ast.ClassDef):
            self.defined.setdefault(inner.name, []).append(inner)


class Package:
  """The files of the package, which are read when they are needed."""

  def __init__(self):
    self.modules = {}

  def module(self, name):
    """`tenon.testing.config` and the like; the stub of the C++ side for `tenon._core`."""
    if name not in self.modules:
      base = os.path.join(os.path.dirname(PACKAGE), *name.split('.'))
      paths = [base + '.pyi', base + '.py', os.path.join(base, '__init__.py')]
      path = next((path for path in paths if os.path.exists(os.path.join(md.ROOT, path))), None)
      if path is None:
        return None
      self.modules[name] = Module(name, path)
    return self.modules[name]

  def find(self, module, name):
    """(module, definitions) of a public name; None for a module or a constant."""
    while True:
      if name in module.defined:
        return module, module.defined[name]
      if name not in module.imported:
        return None
      source, name, level = module.imported[name]
      base = module.name.split('.')
      package = base[:len(base) - level + 1] if os.path.isdir(os.path.join(md.ROOT, os.path.dirname(PACKAGE), *base)) else base[:len(base) - level]
      if source is None:
        return None  # a module
      module = self.module('.'.join([*package, source]))
      if module is None:
        return None


def signature(function, called, bound):
  """`load(source, *, name=None) -> Model`, with defaults and without types of arguments. `bound`: leaves out self."""
  arguments = function.args
  positional = [*arguments.posonlyargs, *arguments.args]
  defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
  parts = [one(argument, default) for argument, default in zip(positional, defaults)][1 if bound else 0:]
  if arguments.vararg is not None:
    parts.append('*' + arguments.vararg.arg)
  elif arguments.kwonlyargs:
    parts.append('*')
  parts += [one(argument, default) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
  if arguments.kwarg is not None:
    parts.append('**' + arguments.kwarg.arg)
  result = '' if function.returns is None or function.name == '__init__' else f' -> {type_text(function.returns)}'
  return f"{called}({', '.join(parts)}){result}"


def one(argument, default):
  return argument.arg if default is None else f'{argument.arg}={ast.unparse(default)}'


def type_text(node):
  text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
  return text.replace('_core.', '')


def described(doc, what):
  """(paragraphs, {section: [(name, text)]}) of a description."""
  if not doc:
    raise md.PageError(f'{what} has no description')
  text, sections, items = [], {}, None
  for line in doc.split('\n'):
    section = _SECTION.match(line)
    if section:
      items = sections.setdefault(section[1], [])
    elif items is None:
      text.append(line)
    elif re.match(r'^  \S', line):
      name, _, meaning = line.strip().partition(': ')
      items.append((name, meaning))
    elif line.strip() and line.startswith('   ') and items:
      items[-1] = (items[-1][0], f'{items[-1][1]} {line.strip()}')
    elif line.strip():
      items = None
      text.append(line)
  return text, sections


def prose(lines):
  """The paragraphs as Markdown; lines that are indented are code."""
  result, code = [], []

  def end_code():
    if code:
      result.extend(['', *md.fence('text', '\n'.join(each[4:] for each in code).strip('\n'))])
      code.clear()

  for line in lines:
    if line.startswith('    ') or (code and not line.strip()):
      code.append(line)
      continue
    end_code()
    result.append(shown(line))
  end_code()
  return [*'\n'.join(result).strip('\n').split('\n'), '']


def shown(text):
  """Plain text as Markdown; code in it stays."""
  parts = re.split(r'(`[^`]*`)', text)
  return ''.join(part if part.startswith('`') else md.escape(part) for part in parts)


def lists(sections):
  lines = []
  for title, header in (('Args', 'argument'), ('Attributes', 'attribute'), ('Raises', 'exception')):
    if title in sections:
      lines += md.table([header, 'when' if title == 'Raises' else 'meaning'],
                        [(f'`{name}`', shown(meaning)) for name, meaning in sections[title]])
  return lines


def function_lines(name, function):
  text, sections = described(ast.get_docstring(function), name)
  # The description begins with what the function does.
  text[0] = f"`{name.rpartition('.')[2]}` {text[0][0].lower()}{text[0][1:]}"
  return [f'### {name}', '', *md.fence('text', signature(function, name, False)), *prose(text), *lists(sections)]


def decorators(function):
  return {ast.unparse(each) for each in function.decorator_list}


def members_of(node):
  """Public functions of a class, the last of each name: overloads come first, and setters behind what they set."""
  found = {}
  for member in node.body:
    if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) and not any('setter' in each for each in decorators(member)):
      if not member.name.startswith('_') or member.name == '__call__':
        found[member.name] = member
  return found


def fields_of(node):
  """(name, type, description) of the annotated fields: a text behind a field describes it."""
  rows = []
  for i, member in enumerate(node.body):
    if not isinstance(member, ast.AnnAssign) or not isinstance(member.target, ast.Name) or member.target.id.startswith('_'):
      continue
    behind = node.body[i + 1] if i + 1 < len(node.body) else None
    text = behind.value.value if isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant) else ''
    rows.append((f'`{member.target.id}`', f'`{type_text(member.annotation)}`', shown(str(text))))
  return rows


def class_lines(name, node, is_stub):
  doc = ast.get_docstring(node)
  text, sections = described(doc, name)
  lines = [f'### {name}', '']
  made = next((member for member in node.body if isinstance(member, ast.FunctionDef) and member.name == '__init__'), None)
  if made is not None and 'handle' not in {argument.arg for argument in made.args.args}:
    lines += md.fence('text', signature(made, name, True))
  lines += [*prose(text), *lists(sections)]
  fields = fields_of(node)
  if fields:
    lines += md.table(['field', 'type', 'meaning'], fields)
  properties, methods = [], []
  long = []
  for member in members_of(node).values():
    what = f'{name}.{member.name}'
    if ast.get_docstring(member) is None and is_stub:
      continue  # only other files of the package call it
    text, sections = described(ast.get_docstring(member), what)
    meaning = ' '.join(shown(line) for line in text if not line.startswith('    '))
    if 'property' in decorators(member):
      properties.append((f'`{member.name}`', f'`{type_text(member.returns)}`', meaning))
      continue
    called = signature(member, member.name, 'staticmethod' not in decorators(member))
    methods.append((f'`{called}`', meaning))
    if sections:
      long += [f'#### {what}', '', *lists(sections)]
  if properties:
    lines += md.table(['property', 'type', 'meaning'], properties)
  if methods:
    lines += md.table(['method', 'what it does'], methods)
  return lines + long


def entry(name, nodes, is_stub):
  node = nodes[-1]
  if isinstance(node, ast.ClassDef):
    return class_lines(name, node, is_stub)
  return function_lines(name, node)


def is_described(nodes):
  return isinstance(nodes[-1], (ast.ClassDef, ast.FunctionDef))


def place(source):
  """For sorting: those that readers look for first, then all others, then errors and the C++ side."""
  name = source.rpartition('.')[2]
  return (_FIRST.index(name) if name in _FIRST else len(_FIRST) + (name in _LAST), source)


def pages():
  package = Package()
  lines = md.page('Python API', f'{PACKAGE} and its stubs', [
      'Look up the functions and classes of the package `tenon` here. [Use Tenon from Python](../guide/use-from-python.md) shows them in use.',
      '', '```console', '$ export PYTHONPATH=$PWD/build/python', '$ python3 -c "import tenon; help(tenon.load)"', '...', '```', '',
      '`help` shows the same texts, with the types of arguments. `tenon.ops` has a function for each [operation](ops/index.md).'])
  for module_name in MODULES:
    module = package.module(module_name)
    groups = {}  # by the file that defines the names
    for name in module.all:
      found = package.find(module, name)
      if found is not None and is_described(found[1]):
        groups.setdefault(found[0].name, []).append((name, found[1]))
    lines += [f'## {module_name}', '', shown(md.sentence(module.doc.split('\n')[0])), '']
    for source in sorted(groups, key=place):
      for name, nodes in groups[source]:
        lines += entry(f'{module_name}.{name}', nodes, source.endswith('._core'))
  return {PAGE: '\n'.join(lines).rstrip('\n') + '\n'}
