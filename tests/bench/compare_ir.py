#!/usr/bin/env python3
"""Runs ir_core_bench and mlir_ir_bench in turns and prints medians, minima and ratios per operation.

  tests/bench/compare_ir.py BUILD_DIR [--rounds 7] [--min-time 0.3] [--check]

Times are of the processor, not of the clock, so that other load disturbs them less. --check fails where a
target is missed: create, verify and clone 2.5 times as fast as MLIR, read binary files 5 times as fast as MLIR's bytecode,
at most 112 bytes an operation.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

TIMES = ['Create', 'CreateAgain', 'Verify', 'Clone', 'Walk', 'ReplaceAllUses', 'Erase', 'Print', 'Parse', 'WriteBinary',
         'ReadBinary']
TARGETS = {'Create': 2.5, 'Verify': 2.5, 'Clone': 2.5, 'ReadBinary': 5}
MAX_BYTES = 112


def measure(program, min_time):
  """Benchmark name -> its counters, of one run."""
  command = [program, '--benchmark_format=json', f'--benchmark_min_time={min_time}']
  run = subprocess.run(command, capture_output=True, text=True, check=True)
  return {b['name'].split('/')[0].removeprefix('BM_'): b for b in json.loads(run.stdout)['benchmarks']}


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('build', help='build directory, or the folder with both programs')
  parser.add_argument('--rounds', type=int, default=7)
  parser.add_argument('--min-time', type=float, default=0.3, help='seconds per benchmark and round')
  parser.add_argument('--check', action='store_true', help='fail where a target is missed')
  args = parser.parse_args()

  folders = [args.build, os.path.join(args.build, 'tests')]
  programs = []
  for name in ('ir_core_bench', 'mlir_ir_bench'):
    found = [p for p in (os.path.join(f, name) for f in folders) if os.path.isfile(p)]
    if not found:
      parser.error(f'no {name} in {args.build}; mlir_ir_bench needs libmlir-22-dev and llvm-22-dev')
    programs.append(found[0])

  rounds = []
  for _ in range(args.rounds):
    rounds.append([measure(program, args.min_time) for program in programs])

  missed = []
  print('| ns per op      | Tenon median (min) | MLIR 22 median (min) | MLIR / Tenon, median of rounds |')
  print('|----------------|-------------------:|---------------------:|-------------------------------:|')
  for name in TIMES:
    ours, theirs = ([r[side][name]['per_op'] * 1e9 for r in rounds] for side in (0, 1))
    ratio = statistics.median(b / a for a, b in zip(ours, theirs))
    cells = [f'{statistics.median(v):.1f} ({min(v):.1f})' for v in (ours, theirs)]
    print(f'| {name:14} | {cells[0]:>18} | {cells[1]:>20} | {ratio:>29.2f}x |')
    if ratio < TARGETS.get(name, 0):
      missed.append(f'{name}: {ratio:.2f}x, wanted {TARGETS[name]}x')
  resident = [statistics.median(r[side]['Bytes']['rss_bytes_per_op'] for r in rounds) for side in (0, 1)]
  pool = rounds[0][0]['Bytes']['pool_bytes_per_op']
  print(f'\nBytes per op: {pool:.2f} in the pool, {resident[0]:.2f} resident; MLIR {resident[1]:.2f} resident.')
  if round(pool, 2) > MAX_BYTES:
    missed.append(f'{pool:.2f} bytes per op, wanted {MAX_BYTES}')
  for line in missed:
    print('missed:', line)
  return 1 if args.check and missed else 0


if __name__ == '__main__':
  sys.exit(main())
