#!/usr/bin/env python3
"""Progress on a terminal: progress_test.py FOLDER_OF_PROGRAMS. Takes about ten seconds."""

import os
import pty
import select
import subprocess
import sys
import time
import unittest

BIN = sys.argv.pop(1)
TEXT = b'''func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %b = ten.abs(%a) : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%b) : (tensor<2xf32>) -> ()
}) : () -> ()
'''
ERASE = b'\r\033[K'


def slow_run(line, seconds, term='xterm', terminal=True):
  """Runs a program whose input takes a while. Returns what it writes on standard error."""
  ours, theirs = pty.openpty() if terminal else os.pipe()
  environment = {**os.environ, 'TERM': term}
  with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
    os.close(theirs)
    time.sleep(seconds)
    process.stdin.write(TEXT)
    process.stdin.close()
    text = b''
    while select.select([ours], [], [], 30)[0]:
      try:
        part = os.read(ours, 4096)
      except OSError:  # the other end is closed
        break
      if not part:
        break
      text += part
    status = process.wait()
  os.close(ours)
  return status, text


class Progress(unittest.TestCase):

  def line(self, *arguments):
    return [os.path.join(BIN, 'ir-opt'), '-', *arguments]

  def test_shows_what_takes_long(self):
    status, text = slow_run(self.line('-O2'), 3.5)
    self.assertEqual(status, 0, text)
    self.assertIn(ERASE + b'ir-opt: reading <stdin>, 2 s', text)
    self.assertTrue(text.endswith(ERASE), text)

  def test_programs_that_run_models(self):
    status, text = slow_run([os.path.join(BIN, 'ir-run'), '-', '--runs=1'], 3.5)
    self.assertEqual(status, 0, text)
    self.assertIn(b'ir-run: reading -, 2 s', text)

  def test_shows_nothing(self):
    for what, seconds, arguments, more in (
        ('quick', 0, (), {}), ('quiet', 3, ('--quiet',), {}), ('no terminal', 3, (), {'terminal': False}), ('dumb', 3, (), {'term': 'dumb'})):
      with self.subTest(what=what):
        self.assertEqual(slow_run(self.line(*arguments), seconds, **more), (0, b''))


if __name__ == '__main__':
  unittest.main()
