#!/usr/bin/env python3
"""The C API stays what it is: symbols_test.py NM LIBRARY [--update]

Compares three lists: the functions that frontends/c/*.h declare, the tenon* symbols of LIBRARY, and
tests/c_api/symbols.txt. That list also has the members of the structs, in order, and the numbers of the
enumerators. Within one TENON_C_API_MAJOR, functions, members and numbers are only added. Members are added
at the end, and only to structs with a size and to those that the library makes. --update adds what is new to the list.
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / 'tests/c_api/symbols.txt'
HEADERS = ROOT / 'frontends/c'
# Structs that only the library makes, one at a time. All others without struct_size keep their members.
FROM_LIBRARY = ('TenonDiagnostic', 'TenonPassInfo', 'TenonPort')
INTERNAL = ('convert.h', 'convert_types.h', 'create.h', 'errors.h', 'objects.h', 'tensor_views.h')
TITLE = '# Everything that C sees. symbols_test.py --update adds what is new; nothing goes within a major version.'


def without_comments(text):
  return re.sub(r'//[^\n]*', '', text)


def enumerators(text):
  for body in re.findall(r'\benum(?: \w+)? \{(.*?)\}', text, re.S):
    for name, number, shift in re.findall(r'(\w+)\s*=\s*(\d+)(?: << (\d+))?', body):
      yield f'number {name} {int(number) << int(shift or 0)}'


def structs(text):
  for name, body in re.findall(r'\bstruct (\w+) \{\n(.*?)\n\} \1;', text, re.S):
    members = []
    for line in ' '.join(body.split()).split(';'):
      pointer = re.match(r'.*\(\*(\w+)\)', line)
      named = pointer or re.match(r'.*?(\w+)$', line.strip())
      if named:
        members.append(named[1])
    yield f'struct {name} ' + ' '.join(members)


def declared():
  """The lines of the list, as the headers have it; and the version."""
  lines, version = [], None
  for path in sorted(HEADERS.glob('*.h')):
    if path.name in INTERNAL:
      continue
    text = without_comments(path.read_text(encoding='utf8'))
    found = re.findall(r'#define TENON_C_API_(?:MAJOR|MINOR) (\d+)', text)
    version = tuple(map(int, found)) or version
    lines += [f'function {name}' for name in re.findall(r'TENON_C_API\b[^;{]*?\b(tenon\w+)\(', text)]
    lines += list(enumerators(text)) + list(structs(text))
  return sorted(lines), version


def exported(nm, library):
  which = '-D' if '.so' in pathlib.Path(library).name else '-g'
  output = subprocess.run([nm, '--defined-only', which, library], capture_output=True, text=True, check=True).stdout
  return set(re.findall(r'^[0-9a-f]+ [TW] (tenon[A-Z]\w*)$', output, re.M))


def read_list():
  """The lines of the file, and its version; no lines if there is no file."""
  if not LIST.exists():
    return [], (0, 0)
  lines = [line for line in LIST.read_text(encoding='utf8').split('\n') if line and not line.startswith('#')]
  return lines[1:], tuple(map(int, re.match(r'version (\d+)\.(\d+)$', lines[0]).groups()))


def goes_on(old, new):
  """Whether a line of the list is still right."""
  grows = re.match(r'struct \w+ struct_size\b', old) or key(old).removeprefix('struct ') in FROM_LIBRARY
  return old == new or (bool(grows) and new.startswith(old + ' '))


def key(line):
  return ' '.join(line.split()[:2])


def gone(listed, current):
  """The lines of the list that the headers contradict."""
  by_key = {key(line): line for line in current}
  return [line for line in listed if not goes_on(line, by_key.get(key(line), ''))]


class Symbols(unittest.TestCase):

  def test_headers_and_library(self):
    lines, _ = declared()
    functions = {line.split()[1] for line in lines if line.startswith('function ')}
    self.assertGreater(len(functions), 100, 'no functions found in the headers')
    found = exported(NM, LIBRARY)
    self.assertEqual(sorted(functions - found), [], 'declared in a header, and not in the library')
    self.assertEqual(sorted(found - functions), [], 'in the library, and declared in no header')

  def test_list(self):
    lines, version = declared()
    listed, listed_version = read_list()
    if version[0] == listed_version[0]:
      self.assertEqual(gone(listed, lines), [], 'gone or changed within a major version of the C API')
    self.assertEqual(sorted(set(lines) - set(listed)), [], 'not in tests/c_api/symbols.txt: run symbols_test.py --update')
    self.assertEqual(version, listed_version, 'another version: run symbols_test.py --update')

  def test_umbrella(self):
    text = (HEADERS / 'tenon_c.h').read_text(encoding='utf8')
    included = set(re.findall(r'#include "frontends/c/(\w+\.h)"', text))
    headers = {path.name for path in HEADERS.glob('*.h')} - set(INTERNAL) - {'tenon_c.h'}
    self.assertEqual(included, headers)
    listed = (ROOT / 'tools/docs/public_headers.txt').read_text(encoding='utf8')
    for name in headers | {'tenon_c.h'}:
      self.assertIn(f'frontends/c/{name}\n', listed)

  def test_of_the_test(self):
    kept, old = ['function tenonA', 'number TENON_B 1'], 'struct TenonC struct_size b'
    self.assertEqual(gone([*kept, old], [*kept, old, 'function tenonD']), [])
    self.assertEqual(gone([*kept, old], [*kept, old + ' c']), [])
    self.assertEqual(gone([*kept, old], ['number TENON_B 2', 'struct TenonC b struct_size']), [*kept, old])
    self.assertEqual(gone([old], [old + 'c']), [old])
    self.assertEqual(gone(['struct TenonC a'], ['struct TenonC a b']), ['struct TenonC a'])
    self.assertEqual(gone(['struct TenonPort a'], ['struct TenonPort a b']), [])
    text = 'typedef struct X {\n  size_t a;\n  void (*f)(void* s);\n  const T* const* b;\n} X;\nenum { P = 1 << 3, Q = 2 };'
    self.assertEqual(list(structs(text)), ['struct X a f b'])
    self.assertEqual(list(enumerators(text)), ['number P 8', 'number Q 2'])


def update():
  lines, version = declared()
  listed, listed_version = read_list()
  lost = gone(listed, lines) if listed_version[0] == version[0] else []
  if lost:
    print('gone or changed within a major version of the C API:\n  ' + '\n  '.join(lost), file=sys.stderr)
    return 1
  LIST.write_text('\n'.join([TITLE, f'version {version[0]}.{version[1]}', *lines]) + '\n', encoding='utf8')
  return 0


if __name__ == '__main__':
  if '--update' in sys.argv:
    sys.exit(update())
  NM, LIBRARY = sys.argv[1:3]
  del sys.argv[1:3]
  unittest.main()
