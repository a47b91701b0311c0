#!/usr/bin/env python3
"""Disassembles the tiles of matrix products and of attention: inner loops must not keep vectors in memory, and attention's
must fetch.

  gemm_registers_test.py OBJDUMP LIBRARY

A compiler that does not unroll a loop over the registers of a tile indexes them in memory, at less than half the speed
and without a word; it also leaves out fetches for which a function of their own was called. An inner loop is what lies between a backward jump and its target, with a multiplication and without
another such jump in it. Exit status 77, which CTest counts as skipped, where the library has no such tiles.
"""

import re
import subprocess
import sys

FUNCTION = re.compile(r'^[0-9a-f]+ <(.*)>:$')
INSTRUCTION = re.compile(r'^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$')
# Tiles are called RunTile<rows, vectors, packed>, RunStream<rows> and RunInt8Tile<rows, vectors>, attention's Multiply<rows, vectors>.
TILE = re.compile(r'(?:^|::|\s)(RunTile<\d+, \d+, (?:true|false)>|RunStream<\d+>|RunInt8Tile<\d+, \d+>|Multiply<\d+, \d+>)')
MULTIPLIES = re.compile(r'^v(fmadd\w+ps|dpbf16ps|pdpbusd|pmaddwd)$')
STACK_VECTOR = re.compile(r'\(%(rsp|rbp)[,)].*%[yz]mm|%[yz]mm.*\(%(rsp|rbp)[,)]')


def functions(text):
  name, lines = None, []
  for line in text.splitlines():
    match = FUNCTION.match(line)
    if match:
      if name:
        yield name, lines
      name, lines = match.group(1), []
      continue
    match = INSTRUCTION.match(line)
    if match:
      lines.append((int(match.group(1), 16), match.group(2), match.group(3)))
  if name:
    yield name, lines


def inner_loops(lines):
  index = {address: i for i, (address, _, _) in enumerate(lines)}
  loops = []
  for i, (address, name, operands) in enumerate(lines):
    target = re.match(r'([0-9a-f]+)\b', operands)
    if name.startswith('j') and target and int(target.group(1), 16) <= address:
      begin = index.get(int(target.group(1), 16))
      if begin is not None:
        loops.append((begin, i))
  for begin, end in loops:
    if any(begin <= b and e < end for b, e in loops if (b, e) != (begin, end)):
      continue
    body = lines[begin:end + 1]
    if any(MULTIPLIES.match(name) for _, name, _ in body):
      yield body


def main():
  objdump, library = sys.argv[1:]
  text = subprocess.run([objdump, '-dC', '--no-show-raw-insn', library], capture_output=True, text=True, check=True).stdout
  tiles, bad = 0, []
  for name, lines in functions(text):
    tile = TILE.search(name)
    if not tile:
      continue
    loops = list(inner_loops(lines))
    if loops and tile.group(1).startswith('Multiply') and not any(i.startswith('prefetch') for _, i, _ in sum(loops, [])):
      bad.append(f'{tile.group(1)}: no inner loop fetches')
    for body in loops:
      tiles += 1
      bad += [f'{tile.group(1)}: a vector in memory in {instruction} {operands}' for _, instruction, operands in body
              if STACK_VECTOR.search(operands)]
  if tiles == 0:
    print('no tiles with fused multiplication in the library')
    return 77
  print(f'{tiles} inner loops')
  for line in bad:
    print(line)
  return 1 if bad else 0


if __name__ == '__main__':
  sys.exit(main())
