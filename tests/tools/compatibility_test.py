#!/usr/bin/env python3
"""No name of a release goes without a warning: compatibility_test.py FOLDER_OF_PROGRAMS [--update].

released_names.txt lists options, passes and environment variables of the last release. A name may be missing from the programs
only if CHANGELOG.md lists it under "### Deprecated" of a release (docs/compatibility.md). --update writes the list: do that at
each release, and at no other time.
"""

import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, 'tools/docs')]

import reference_programs  # pylint: disable=wrong-import-position
import reference_text as md  # pylint: disable=wrong-import-position

BIN = sys.argv.pop(1)
LIST = 'tests/tools/released_names.txt'


def present_names():
  programs = reference_programs.Programs(BIN)
  names = set()
  for program in reference_programs.PROGRAMS:
    for part in reference_programs.read_help(programs.output(program, '--help=all')):
      for option, text in part.rows:
        if option.startswith('-') and '…' not in option:
          names.add(f'{program} ' + re.match(r'-+[\w-]+', option)[0])
        names |= {f'{program} {alias}' for alias in re.findall(r' \[(--?[\w-]+)\]$', text)}
  passes, pipelines = reference_programs.read_passes(programs.output('ir-opt', '--list-passes'))
  names |= {f'pipeline {name}' for name in pipelines}
  for name, row in passes.items():
    names |= {f'pass {name}'} | {f'pass {name} {option[0]}' for option in row['options']}
  for group in md.data('environment.yaml')['groups'][:1]:
    names |= {f'variable {variable["name"]}' for variable in group['variables']}
  return names


def deprecated(changelog):
  """The names in code spans under "### Deprecated" of releases, not of what is unreleased."""
  names = set()
  for part in re.split(r'^## ', changelog, flags=re.M)[1:]:
    for section in re.findall(r'^### Deprecated\n(.*?)(?=^###? |\Z)', part, re.M | re.S):
      names |= set(re.findall(r'`([^`]+)`', section)) if not part.startswith('Unreleased') else set()
  return names


class Compatibility(unittest.TestCase):

  def test_released_names(self):
    released = {line for line in md.source(LIST).split('\n') if line and not line.startswith('#')}
    self.assertGreater(len(released), 100)
    gone = released - present_names() - deprecated(md.source('CHANGELOG.md'))
    self.assertEqual(sorted(gone), [], 'names that a release had: bring them back, or follow docs/compatibility.md#deprecation')

  def test_changelog(self):
    text = '# C\n\n## Unreleased\n\n### Deprecated\n- `pass a`\n\n## 0.1.0\n\n### Deprecated\n- `ir-opt --b`: write `--c`\n\n### IR\n- `d`\n'
    self.assertEqual(deprecated(text), {'ir-opt --b', '--c'})


if __name__ == '__main__':
  if '--update' in sys.argv:
    with open(os.path.join(ROOT, LIST), 'w', encoding='utf-8') as file:
      version = re.search(r'#define TENON_VERSION "(.*)"', md.source('frontends/cpp/version.h'))[1]
      file.write(f'# Names of release {version}. compatibility_test.py --update writes them.\n' + '\n'.join(sorted(present_names())) + '\n')
  else:
    unittest.main()
