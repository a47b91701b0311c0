"""docs/reference/environment.md, from tools/docs/reference/environment.yaml and from what the sources read."""

import re
import subprocess

import reference_text as md

# How sources read a variable, by the names of files.
_CPP = re.compile(r'\bgetenv\("(\w+)"\)')
_CPP_ANY = re.compile(r'\bgetenv\(')
_TEMPORARY = re.compile(r'\btemp_directory_path\(')  # reads TMPDIR
# Assigning to an entry of os.environ is no reading.
_PYTHON = re.compile(r'\benviron(?:\.get\(|\[)\s*["\'](\w+)["\'](?!\]\s*=[^=])|\bgetenv\(["\'](\w+)["\']')
_CMAKE = re.compile(r'\$ENV\{(\w+)\}')
_SHELL = re.compile(r'\$\{([A-Z][A-Z0-9_]*):?[-+=?]')
_YAML = re.compile(r'!ENV \[?(\w+)')


def readers():
  """{variable: files that read it}, of all files of the repository but generated pages."""
  listed = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=md.ROOT, capture_output=True, text=True, check=False)
  if listed.returncode != 0:
    raise md.PageError(f'git ls-files: {listed.stderr.strip()}')
  found = {}
  for path in sorted(set(listed.stdout.split('\n'))):
    if not path or path.startswith(('docs/', '.github/')) or path.endswith('.md'):
      continue
    for name in variables_of(path):
      found.setdefault(name, []).append(path)
  return found


def variables_of(path):
  try:
    text = md.source(path)
  except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
    return set()
  if path.endswith(('.cc', '.h', '.cu', '.cuh', '.inc')):
    names = set(_CPP.findall(text))
    if len(_CPP.findall(text)) < len(_CPP_ANY.findall(text)):
      raise md.PageError(f'{path} calls getenv with something else than one literal text (expected the name itself)')
    return names | ({'TMPDIR'} if _TEMPORARY.search(text) else set())
  if path.endswith(('CMakeLists.txt', '.cmake', '.cmake.in')):
    return set(_CMAKE.findall(text))
  if path.endswith(('.yml', '.yaml')):
    return set(_YAML.findall(text))
  names = {name for pair in _PYTHON.findall(text) for name in pair if name}
  if text.startswith('#!') and 'sh' in text.split('\n', 1)[0]:
    names |= set(_SHELL.findall(text))
  return names


def pages():
  groups = md.data('environment.yaml')['groups']
  found = readers()
  for group in groups:
    group['variables'] = [v for v in group['variables'] if v['name'] in found or 'optional' not in v]
  listed = [v['name'] for g in groups for v in g['variables']]
  missing = sorted(set(found) - set(listed))
  if missing:
    places = ', '.join(f'{name} ({found[name][0]})' for name in missing)
    raise md.PageError(f'tools/docs/reference/environment.yaml has no entry for {places}')
  idle = sorted(set(listed) - set(found))
  if idle:
    raise md.PageError(f'tools/docs/reference/environment.yaml: nothing reads {", ".join(idle)}')
  return {'docs/reference/environment.md': '\n'.join(page(groups, found)).rstrip('\n') + '\n'}


def page(groups, found):
  intro = ['Find here every environment variable that Tenon reads: the library, the programs, the scripts and the tests.',
           'For example, this keeps packed weights for the next start:', '',
           *md.fence('console', '$ TENON_WEIGHT_CACHE=cache build/bin/ir-run tests/models/bert.eager.ts17/model.onnx --runs=1')[:-1]]
  lines = md.page('Environment variables', 'tools/docs/reference/environment.yaml and the sources', intro)
  lines += ['An unset variable and an empty one mean the same for the library and the programs, unless the text says otherwise.',
            'No variable limits the number of threads: use `--threads` or `CompileOptions::threads`. `OMP_NUM_THREADS` has no effect.', '']
  lines += md.table(['variable', 'values', 'for'],
                    [(f'[`{v["name"]}`](#{v["name"].lower()})', v['value'], g['title'].lower()) for g in groups for v in g['variables']])
  for group in groups:
    lines += [f'## {group["title"]}', '', group['intro'], '']
    for variable in group['variables']:
      files = [f'`{path}`' for path in found[variable['name']]]
      lines += [f'### {variable["name"]}', '', md.sentence(variable['meaning']), '', f'- Value: {variable["value"]}',
                f'- Unset: {md.sentence(variable["unset"])}', f'- Read by: {", ".join(files)}', '']
  return lines
