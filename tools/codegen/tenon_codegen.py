#!/usr/bin/env python3
"""Generates C++ from the dialect files.

  tenon_codegen.py --out DIR [--list-outputs] ir/dialect/*.yaml
  tenon_codegen.py --ops-json FILE my.yaml
  tenon_codegen.py --external --out DIR [--headers DIR] my.yaml

Every module emit_*.py beside this file has a function outputs(dialects) -> {path below DIR: text}; a new kind of
output is a new such file. A file is written only when its text changes. --ops-json writes the operations as data, for
`ir-opt --load-ops=FILE`. --external writes the code of dialects outside of Tenon (external.py); tenon_add_dialect of CMake
calls it. Exit status: 0 done, 1 a YAML file is wrong
(one line `file:line: message` on standard error).
"""

import argparse
import glob
import importlib
import os
import sys
import tempfile

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, _HERE)

import external  # pylint: disable=wrong-import-position
import loader  # pylint: disable=wrong-import-position
import model  # pylint: disable=wrong-import-position
import ops_json  # pylint: disable=wrong-import-position


def emitters():
  names = sorted(os.path.splitext(os.path.basename(p))[0] for p in glob.glob(os.path.join(_HERE, 'emit_*.py')))
  return [importlib.import_module(name) for name in names]


def all_outputs(dialects):
  outputs = {}
  for emitter in emitters():
    for path, text in emitter.outputs(dialects).items():
      if path in outputs:
        raise RuntimeError(f'{emitter.__name__} writes {path} a second time')
      outputs[path] = text
  return dict(sorted(outputs.items()))


def write_if_changed(path, text):
  """True if the file was written."""
  try:
    with open(path, encoding='utf-8') as f:
      if f.read() == text:
        return False
  except OSError:
    pass
  folder = os.path.dirname(path) or '.'
  os.makedirs(folder, exist_ok=True)
  handle, temporary = tempfile.mkstemp(dir=folder, prefix='.codegen-')
  try:
    with os.fdopen(handle, 'w', encoding='utf-8') as f:
      f.write(text)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)
  except BaseException:
    os.unlink(temporary)
    raise
  return True


def main(argv):
  parser = argparse.ArgumentParser(description='Generates C++ from dialect files.', allow_abbrev=False)
  parser.add_argument('--out', metavar='DIR', help='folder that receives the generated files')
  parser.add_argument('--list-outputs', action='store_true', help='print the paths below DIR and write nothing')
  parser.add_argument('--ops-json', metavar='FILE', help='write the operations as JSON to FILE; "-": standard output')
  parser.add_argument('--external', action='store_true', help='the dialects are no part of Tenon')
  parser.add_argument('--headers', metavar='DIR', default=model.HEADERS, help="folder of Tenon's headers, which declare its traits")
  parser.add_argument('yaml', nargs='+', help='dialect files')
  args = parser.parse_args(argv)
  if not (args.out or args.list_outputs or args.ops_json):
    parser.error('one of --out, --list-outputs and --ops-json is needed')
  model.HEADERS = args.headers
  try:
    dialects = loader.load(args.yaml)
    if args.ops_json:
      text = ops_json.text(dialects, {os.path.splitext(os.path.basename(path))[0]: path for path in args.yaml})
      if args.ops_json == '-':
        sys.stdout.write(text)
      else:
        write_if_changed(args.ops_json, text)
    outputs = {}
    if args.external:
      external.check(dialects, loader.names_of_tenon())
      outputs = external.outputs(dialects)
    elif args.out or args.list_outputs:
      outputs = all_outputs(dialects)
  except model.SchemaError as e:
    print(e, file=sys.stderr)
    return 1
  if args.list_outputs:
    print('\n'.join(outputs))
    return 0
  for path, text in outputs.items():
    write_if_changed(os.path.join(args.out, path), text)
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
