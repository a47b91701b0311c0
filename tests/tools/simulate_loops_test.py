#!/usr/bin/env python3
"""What tools/simulate-loops finds in a disassembly and counts in a loop, without a simulator."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / 'tools' / 'simulate-loops'
loader = importlib.machinery.SourceFileLoader('simulate_loops', str(SCRIPT))
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader('simulate_loops', loader))
loader.exec_module(tool)


def lines(*texts):
  return [(16 * i, text) for i, text in enumerate(texts)]


class LoopsTest(unittest.TestCase):

  def test_inner_loops_alone(self):
    found = list(tool.inner_loops(lines(
        'xor    %eax,%eax', 'vmovups (%rdi),%ymm0', 'vfmadd231ps %ymm0,%ymm1,%ymm2', 'cmp    %rax,%rcx',
        'jne    10 <Tile<6, 2, false>(Tile const&)+0x10>', 'dec    %rdx', 'jne    0 <Tile<6, 2, false>(Tile const&)>', 'ret')))
    self.assertEqual([[line.text for line in loop] for loop in found],
                     [['vmovups (%rdi),%ymm0', 'vfmadd231ps %ymm0,%ymm1,%ymm2', 'cmp    %rax,%rcx', 'jne 0x10']])

  def test_loops_that_end_with_a_plain_jump_leave_elsewhere(self):
    loop = lines('cmp    %rsi,%rax', 'jg     40', 'vaddps %ymm0,%ymm1,%ymm2', 'jmp    0', 'ret')
    self.assertEqual(len(list(tool.inner_loops(loop))), 1)
    self.assertEqual(list(tool.inner_loops(lines('vaddps %ymm0,%ymm1,%ymm2', 'jmp    0'))), [])


class LinesTest(unittest.TestCase):

  def check(self, text, **expected):
    line = tool.Line(0, text)
    self.assertEqual({name: getattr(line, name) for name in expected}, expected, text)

  def test_kinds(self):
    self.check('vfmadd231ps (%rax,%rcx,4),%ymm1,%ymm2', fma=True, loads=True, stores=False, indexed=True, arithmetic=True)
    self.check('vbroadcastss 0x4(%rsi),%ymm3', loads=True, shuffle=False, arithmetic=False)
    self.check('vbroadcastss %xmm0,%ymm3', loads=False, shuffle=True, arithmetic=True)
    self.check('vmovups %zmm1,0x40(%rdi){%k1}', stores=True, loads=False, wide=True)
    self.check('vmovaps %ymm1,%ymm2', loads=False, arithmetic=False)
    self.check('prefetcht0 (%r8)', loads=True, stores=False, vector=False)
    self.check('lea    0x0(,%rdi,4),%r15', loads=False, stores=False)
    self.check('vdivps %zmm1,%zmm2,%zmm3', divides=True, arithmetic=True)


class BoundsTest(unittest.TestCase):

  def test_what_each_resource_needs(self):
    texts = ['vmovups (%rdi),%ymm1', 'vbroadcastss (%rsi),%ymm2', 'vfmadd231ps %ymm1,%ymm2,%ymm3', 'vfmadd231ps 0x20(%rdi),%ymm2,%ymm4',
             'add    $0x40,%rdi', 'cmp    %rdi,%rdx', 'jne    0x0']
    loop = [tool.Line(0, text) for text in texts]
    costs = [(1, 0.5), (1, 0.5), (1, 0.5), (2, 0.5), (1, 0.25), (1, 0.25), (1, 0.5)]
    need = tool.bounds(loop, 'haswell', costs)
    self.assertEqual(need['fma'], 1.0)
    self.assertEqual(need['load'], 1.5)
    self.assertEqual(need['issue'], 6 / 4)  # the sum with its load, and the comparison with its jump, count once

  def test_an_index_takes_a_sum_from_its_load(self):
    loop = [tool.Line(0, 'vfmadd231ps (%rdi,%rax,4),%ymm2,%ymm4')]
    self.assertEqual(tool.bounds(loop, 'skylake', [(2, 0.5)])['issue'], 2 / 4)
    self.assertEqual(tool.bounds(loop, 'znver2', [(2, 0.5)])['issue'], 1 / 5)


class ErrorsTest(unittest.TestCase):

  def test_wrong_use_is_told(self):
    cases = [(['--mca=true', '('], "'(' is no regular expression"), (['--mca=/nowhere/mca'], '/nowhere/mca: no such program'),
             (['--mca=true', '--objdump=/nowhere/objdump'], '/nowhere/objdump: no such program')]
    for args, expected in cases:
      result = subprocess.run([sys.executable, '-B', str(SCRIPT), sys.executable, *args], capture_output=True, text=True, check=False, timeout=60)
      self.assertEqual(result.returncode, 1, args)
      self.assertTrue(result.stderr.startswith(expected), result.stderr)


if __name__ == '__main__':
  unittest.main()
