"""Reads a YAML file as nodes that know their place, and says what is wrong with them.

Scalars are text, never YAML's booleans and numbers, so that an op may be called `not`.
"""

import difflib
import re

import yaml

from model import SchemaError, display


def suggest(word, known):
  close = difflib.get_close_matches(word, known, 1, 0.6)
  return f"; did you mean '{close[0]}'?" if close else ''


def compose(path):
  """The root node of a file; None if it is empty."""
  try:
    with open(path, encoding='utf-8') as f:
      return yaml.compose(_Named(f, path), Loader=yaml.SafeLoader)
  except OSError as e:
    raise SchemaError(None, f'{path}: cannot be read: {e.strerror}') from e
  except UnicodeDecodeError as e:
    raise SchemaError(None, f'{path}: is not UTF-8 text') from e
  except yaml.MarkedYAMLError as e:
    mark = e.problem_mark or e.context_mark
    raise SchemaError(mark, f'not YAML: {e.problem} (expected a value; quote text that holds any of , ? : [ ] '
                            '{ })') from e
  except yaml.YAMLError as e:
    raise SchemaError(None, f'{display(path)}: not YAML: {" ".join(str(e).split())}') from e


def text(node, what):
  if not isinstance(node, yaml.ScalarNode):
    raise SchemaError(node.start_mark, f'{what} is a {_kind(node)} (expected text)')
  if node.tag.startswith('!') and not node.value:
    raise SchemaError(node.start_mark, f"{what} is the YAML tag {node.tag} (expected '{node.tag}' in quotes)")
  return node.value


def items(node, what):
  """Items of a sequence."""
  if not isinstance(node, yaml.SequenceNode):
    raise SchemaError(node.start_mark, f'{what} is a {_kind(node)} (expected a list)')
  return node.value


def pairs(node, what, known=None):
  """Entries of a mapping as {key: (key node, value node)}, in order."""
  if not isinstance(node, yaml.MappingNode):
    raise SchemaError(node.start_mark, f'{what} is a {_kind(node)} (expected a mapping)')
  result = {}
  for key, value in node.value:
    name = text(key, f'a key of {what}')
    if known is not None and name not in known:
      raise SchemaError(key.start_mark, f"{what} has an unknown key '{name}' (expected one of "
                                        f"{', '.join(known)}{suggest(name, known)})")
    if name in result:
      raise SchemaError(key.start_mark, f"{what} has the key '{name}' twice (expected it once)")
    result[name] = (key, value)
  return result


def plain(node):
  """A node as str, list and dict."""
  if isinstance(node, yaml.ScalarNode):
    return node.value
  if isinstance(node, yaml.SequenceNode):
    return [plain(n) for n in node.value]
  return {text(k, 'a key'): plain(v) for k, v in node.value}


def identifier(node, what, pattern=r'[a-z][a-z0-9_]*', expected='lower case letters, digits and _'):
  name = text(node, what)
  if not re.fullmatch(pattern, name):
    raise SchemaError(node.start_mark, f"{what} '{name}' is malformed (expected {expected})")
  return name


class _Named:
  """Gives a stream the path that marks shall show."""

  def __init__(self, stream, path):
    self._stream = stream
    self.name = path

  def read(self, size=-1):
    return self._stream.read(size)


class StartMark:
  line = 0

  def __init__(self, name):
    self.name = name


def _kind(node):
  return {yaml.ScalarNode: 'text', yaml.SequenceNode: 'list', yaml.MappingNode: 'mapping'}[type(node)]
