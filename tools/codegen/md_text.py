"""Pieces of Markdown."""


class PageError(Exception):
  """Something that the pages need is missing or wrong."""


def escape(text):
  """Plain text as Markdown that shows it."""
  for mark in '\\*_[]<>|':
    text = text.replace(mark, '\\' + mark)
  return text


def cell(text):
  """Markdown in a table: only a bar outside of code needs care."""
  return ' '.join(text.split()).replace('|', '\\|')


def table(header, rows):
  lines = ['| ' + ' | '.join(header) + ' |', '|' + '---|' * len(header)]
  return lines + ['| ' + ' | '.join(map(cell, row)) + ' |' for row in rows] + ['']


def fence(language, text):
  return [f'```{language}', *text.rstrip('\n').split('\n'), '```', '']


def sentence(text):
  """With a full stop."""
  text = text.strip()
  return text if text.endswith(('.', '!', '?', ':')) else text + '.'


def join_words(words):
  words = list(words)
  return ' and '.join([', '.join(words[:-1]), words[-1]]) if len(words) > 1 else ''.join(words)
