#!/usr/bin/env python3
"""Every place that names the version of Tenon names the same one: versions_test.py FOLDER_OF_PROGRAMS CMAKE_PACKAGE_FILE...

frontends/cpp/version.h has the version. CMake and pyproject.toml read it there. This test compares the numbers of the header with
its text, programs, what CMake configures, and what people write by hand: changelog, pages, examples and lists of a release.
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.argv.pop(1))
CONFIGURED = [pathlib.Path(path) for path in sys.argv[1:]]
del sys.argv[1:]


def read(path):
  return (ROOT / path).read_text(encoding='utf8')


def defined(path, name):
  return re.search(rf'^#define {name} "?([0-9.]+)"?$', read(path), re.M)[1]


VERSION = defined('frontends/cpp/version.h', 'TENON_VERSION')
MINOR = VERSION.rsplit('.', 1)[0]
# What people write by hand, with the version that it should name. Each pattern must match somewhere.
WRITTEN = {
    r'find_package\(tenon ([0-9.]+)': MINOR,
    r'\bir-\w+ \(Tenon\) ([0-9.]+)': VERSION,
    r'\blibtenon\.so\.([0-9]+\.[0-9.]*[0-9])': VERSION,
    r'\btenon[-_]([0-9]+\.[0-9]+\.[0-9]+)': VERSION,
    r'\bthis is Tenon ([0-9.]+)': VERSION,
    r'\bTenon has version ([0-9]+\.[0-9]+)': MINOR,
    r'^tenon ([0-9]+\.[0-9]+\.[0-9]+) ': VERSION,
}
# It speaks of other versions, too.
OTHERS = ('docs/upgrade.md', 'docs/reference', 'docs/data')


def hand_written():
  for folder, suffixes in (('docs', ('.md',)), ('examples', ('.txt', '.md'))):
    for path in sorted((ROOT / folder).rglob('*')):
      name = str(path.relative_to(ROOT))
      if path.suffix in suffixes and not name.startswith(OTHERS):
        yield name, path.read_text(encoding='utf8')


class Versions(unittest.TestCase):

  def test_header(self):
    numbers = [defined('frontends/cpp/version.h', f'TENON_VERSION_{part}') for part in ('MAJOR', 'MINOR', 'PATCH')]
    self.assertEqual('.'.join(numbers), VERSION)

  def test_programs(self):
    for program in ('ir-bench', 'ir-bisect', 'ir-opt', 'ir-reduce', 'ir-run'):
      output = subprocess.run([BIN / program, '--version'], capture_output=True, text=True, check=True).stdout
      self.assertEqual(output, f'{program} (Tenon) {VERSION}\n')

  def test_configured(self):
    for path in CONFIGURED:
      found = set(re.findall(r'(?:PACKAGE_VERSION|^Version:|CPACK_PACKAGE_VERSION) ?"?([0-9]+\.[0-9]+\.[0-9]+)"?', path.read_text(encoding='utf8'), re.M))
      self.assertEqual(found, {VERSION}, path)

  def test_pages_and_examples(self):
    missing = dict(WRITTEN)
    for name, text in hand_written():
      for pattern, expected in WRITTEN.items():
        for match in re.finditer(pattern, text, re.M):
          missing.pop(pattern, None)
          self.assertEqual(match[1], expected, f'{name}: {match[0]}')
    self.assertEqual(missing, {}, 'nothing matches: mend the pattern, or take it out')
    self.assertEqual(re.search(r"version: str = '([^']+)'", read('frontends/python/tenon/_core.pyi'))[1], VERSION)
    self.assertIn(f'such as "{VERSION}"', read('frontends/c/status.h'))

  def test_release(self):
    releases = re.findall(r'^## (.*)$', read('CHANGELOG.md'), re.M)
    self.assertEqual(releases[0], 'Unreleased')
    self.assertRegex(releases[1], rf'^{re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)$')
    numbers = [tuple(map(int, release.split()[0].split('.'))) for release in releases[1:]]
    self.assertEqual(numbers, sorted(set(numbers), reverse=True), 'releases of the changelog: the newest first')
    self.assertIn(f'# Names of release {VERSION}.', read('tests/tools/released_names.txt').split('\n')[0])
    self.assertIn(f' to Tenon {MINOR}.', read('docs/upgrade.md').split('\n')[2], 'the page is about another version')

  def test_moved_headers(self):
    """The table of docs/upgrade.md names headers that there are."""
    public = set(read('tools/docs/public_headers.txt').split('\n'))
    rows = re.findall(r'^\| .* \| (`tenon/.*) \|$', read('docs/upgrade.md'), re.M)
    self.assertGreater(len(rows), 5)
    for row in rows:
      first, *more = re.findall(r'`([^`]+)`', row)
      folder = first.rsplit('/', 1)[0]
      for header in [first] + [f'{folder}/{name}' for name in more]:
        self.assertIn(header.removeprefix('tenon/'), public)

  def test_c_api(self):
    """The list of the C API is that of its version."""
    version = '.'.join(defined('frontends/c/status.h', f'TENON_C_API_{part}') for part in ('MAJOR', 'MINOR'))
    self.assertEqual(read('tests/c_api/symbols.txt').split('\n')[1], f'version {version}')


if __name__ == '__main__':
  unittest.main()
