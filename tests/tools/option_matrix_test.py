"""Every option of every program, over every model: none ends by a signal. Usage: option_matrix_test.py FOLDER_OF_PROGRAMS [--full]
[--sample=N] [--smallest=N] [--node-suite=FOLDER]. Options come from --help, rules from --list-rules. Without --full, each option runs at least once, and the
rest is sampled; the sample is the same in each run."""

import argparse
import os
import subprocess
import sys
import tempfile
import zlib

import command_line

QUICK = {'ir-opt': [], 'ir-run': ['--runs=1', '--threads=1'], 'ir-bisect': ['--threads=1'], 'ir-reduce': ['--test=true', '--max-tries=1'],
         'ir-bench': ['--rounds=1', '--turn=1', '--time=1', '--warmup=1', '--threads=1']}
# A minute of work whatever the model, and processes of their own.
ALONE = ('--check-rules', '--list-passes', '--list-rules', '--list-ops', '--describe', '--help', '--version')
TIMEOUT = 300


def lines_of(name, program, models, values):
  """(weight, line): those of weight 0 are always run."""
  rows = command_line.options(program)
  taken = {argument.partition('=')[0] for argument in QUICK[name]}
  for row in rows:
    option = row[0]
    for arguments in values.arguments(row, next(iter(models.values()))):
      if option in ALONE:
        yield 0 if arguments != ['--check-rules'] else 1, [program, *arguments]
    if option in ALONE:
      continue
    for model in models.values():
      for number, arguments in enumerate(values.arguments(row, model)):
        quick = [argument for argument in QUICK[name] if argument.partition('=')[0] != option]
        own = [] if option == '--onnx-test' else [model]
        yield 1, [program, *own, *quick, *arguments]
        # What reports say of an optimised program is another thing.
        if name == 'ir-opt' and not option.startswith('-O'):
          yield 1, [program, *own, '-O2', *arguments]
  if name != 'ir-opt':
    return
  for rule in command_line.rules_and_families(program):
    for model in models.values():
      yield 1, [program, model, '-O2', '--explain=' + rule]


def sampled(lines, most):
  """The same ones each time: those whose text has the smallest checksums."""
  always = [line for weight, line in lines if weight == 0]
  rest = [line for weight, line in lines if weight != 0]
  def key(line):
    return zlib.crc32(' '.join(part.replace(command_line.ROOT, '') for part in line[1:]).encode())
  # Every option at least once.
  first, seen = [], set()
  for line in sorted(rest, key=key):
    options = {part.partition('=')[0] for part in line[1:] if part.startswith('-')}
    if not options <= seen:
      seen |= options
      first.append(line)
  chosen = {id(line) for line in first}
  more = [line for line in sorted(rest, key=key) if id(line) not in chosen and line[1:] != ['--check-rules']]
  return always + first + more[:max(0, most - len(always) - len(first))]


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('programs')
  parser.add_argument('--full', action='store_true')
  parser.add_argument('--sample', type=int, default=900, help='lines in all')
  parser.add_argument('--smallest', type=int, default=0, help='only so many models, the smallest ones (all by default)')
  parser.add_argument('--no-rule-check', action='store_true', help='without --check-rules of all rules, which takes sanitized programs minutes')
  parser.add_argument('--node-suite', default='', help="ONNX's node tests, instead of tests/models")
  options = parser.parse_args()
  models = command_line.models() if not options.node_suite else {
      name: os.path.join(options.node_suite, name, 'model.onnx') for name in sorted(os.listdir(options.node_suite))
      if os.path.exists(os.path.join(options.node_suite, name, 'model.onnx'))}
  if options.smallest > 0 and len(models) > options.smallest:
    chosen = sorted(models, key=lambda name: os.path.getsize(models[name]))[:options.smallest]
    print(f'skipped {len(models) - len(chosen)} of {len(models)} models: left out by --smallest', flush=True)
    models = {name: models[name] for name in sorted(chosen)}
  if not models:
    sys.exit('no models')
  failed = ran = 0
  statuses = {}
  with tempfile.TemporaryDirectory() as folder:
    values = command_line.Values(folder)
    for name in command_line.PROGRAMS:
      program = os.path.join(options.programs, name)
      lines = [entry for entry in lines_of(name, program, models, values)
               if not (options.no_rule_check and entry[1][1:] == ['--check-rules'])]
      chosen = [line for _, line in lines] if options.full else sampled(lines, options.sample // (1 if name == 'ir-opt' else 4))
      for line in chosen:
        ran += 1
        try:
          result = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=TIMEOUT)
          status, text = result.returncode, result.stderr.decode(errors='replace')
        except subprocess.TimeoutExpired:
          status, text = 'timeout', ''
        statuses[status] = statuses.get(status, 0) + 1
        if status in (0, 1, 2, 3, 4, 5) and 'internal error' not in text and 'Sanitizer' not in text:
          continue
        failed += 1
        print(f'FAIL {status}: {" ".join(line)}\n{text[-2000:]}', flush=True)
  print(f'{ran} lines: {failed} ended by a signal or not at all; statuses {statuses}')
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
