#!/usr/bin/env python3
"""The help of the programs in all its forms: help_test.py FOLDER_OF_PROGRAMS."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import command_line

BIN = sys.argv.pop(1)


def help_of(name, form=''):
  return command_line.text_of(os.path.join(BIN, name), f'--help={form}' if form else '--help')


def topics_of(name):
  return re.findall(r'--help=([a-z]+)', help_of(name))


def rows_of(text):
  return re.findall(r'^  (--?[a-zA-Z][\w-]*)', text, re.M)


def names_of(name):
  return [option for option, _, _ in command_line.options(os.path.join(BIN, name))]


class Help(unittest.TestCase):

  def test_topics(self):
    for name in command_line.PROGRAMS:
      topics = topics_of(name)
      self.assertEqual(topics.pop(), 'all')
      self.assertEqual(len(topics), len(set(topics)))
      self.assertLessEqual({'limits', 'general', 'passes'} - set(topics), {'passes'} if name == 'ir-reduce' else set())
      rows = []
      for topic in topics:
        with self.subTest(name=name, topic=topic):
          text = help_of(name, topic)
          self.assertTrue(text.startswith('Usage: ' + name))
          self.assertLessEqual(len(text.splitlines()), 60)
          self.assertEqual([line for line in text.splitlines() if len(line) > 100], [])
          rows += rows_of(text)
      self.assertEqual(sorted(rows), sorted(rows_of(help_of(name, 'all').partition('Exit status:')[0])))
      result = subprocess.run([os.path.join(BIN, name), '--help=limit'], capture_output=True, text=True, check=False, timeout=60)
      self.assertEqual((result.returncode, result.stdout), (2, ''))
      self.assertIn("--help is 'limit' (expected one of all, ", result.stderr)
      self.assertIn("did you mean 'limits'?", result.stderr)

  def test_manual_pages(self):
    if shutil.which('groff') is None:
      self.skipTest('needs groff')
    for name in command_line.PROGRAMS:
      with self.subTest(name=name):
        result = subprocess.run(['groff', '-man', '-Tascii', '-ww', '-P-c', '-P-b', '-P-u'], input=help_of(name, 'man').encode(), capture_output=True,
                                check=True, timeout=60)
        self.assertEqual(result.stderr, b'')
        text = result.stdout.decode()
        for part in ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'EXIT STATUS', 'EXAMPLES', 'SEE ALSO'):
          self.assertIn(part, text)
        self.assertRegex(text, rf'NAME\n +{name} +- +[A-Z]')
        for option in rows_of(help_of(name, 'all').partition('Exit status:')[0]):
          self.assertRegex(text, re.escape(option) + r'\b')

  def completed(self, name, *words):
    """What bash offers for the last word."""
    function = '_' + name.replace('-', '_')
    script = (f'source "$1"; complete -p {name} >/dev/null || exit 3; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              f'{function} {name} "${{@: -1}}" "${{@: -2:1}}" || true; printf "%s\\n" "${{COMPREPLY[@]}}"')
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, name)
      with open(path, 'w', encoding='utf-8') as file:
        file.write(help_of(name, 'bash'))
      subprocess.run(['bash', '-n', path], check=True, timeout=60)
      with open(os.path.join(folder, 'model.onnx'), 'w', encoding='utf-8'):
        pass
      result = subprocess.run(['bash', '--norc', '-c', script, 'bash', path, name, *words], cwd=folder, capture_output=True, text=True, check=True,
                              timeout=60)
      self.assertEqual(result.stderr, '')
      return [word for word in result.stdout.split('\n') if word]

  def test_bash(self):
    for name in command_line.PROGRAMS:
      with self.subTest(name=name):
        offered = {word.rstrip('=') for word in self.completed(name, '-')}
        self.assertEqual(set(names_of(name)) - offered, set())
        self.assertEqual(self.completed(name, '--max-nes'), ['--max-nesting='])
        self.assertEqual(self.completed(name, 'mod'), ['model.onnx'])
    self.assertEqual(self.completed('ir-opt', '--onnx-ops', '=', 'st'), ['standard'])
    self.assertEqual(self.completed('ir-opt', '--onnx-ops', '='), ['standard', 'functions', 'ort'])
    self.assertEqual(self.completed('ir-run', '--check', '=', 'mod'), ['model.onnx'])
    self.assertEqual(self.completed('ir-opt', '--topological-s'), ['--topological-sort'])

  def test_zsh(self):
    for name in command_line.PROGRAMS:
      text = help_of(name, 'zsh')
      self.assertTrue(text.startswith(f'#compdef {name}\n'))
      for option in names_of(name):
        self.assertRegex(text, rf"(?m)^  '\*?{re.escape(option)}=?\[")
      # zsh quotes as sh does: one command of as many words as lines.
      words = subprocess.run(['bash', '-c', '_arguments() { printf "%s\\n" "$#"; }; ' + text], capture_output=True, text=True, check=True, timeout=60)
      self.assertEqual(int(words.stdout), text.count('\n') - 2)
      if shutil.which('zsh') is not None:
        subprocess.run(['zsh', '-n', '/dev/stdin'], input=text, text=True, check=True, timeout=60)


if __name__ == '__main__':
  unittest.main()
