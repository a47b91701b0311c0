"""Makes Doxygen's comments of the plain ones of a header: doxygen_filter.py FILE prints the header, line for line.

- The first comment of a file describes the file.
- A comment in front of a function describes it, and the overloads that follow without a comment or an empty line.
- A comment behind a declaration describes it; lines of comments under it that begin at the same column go on with it.
A function that is defaulted or deleted needs no comment, and neither do the member types of an iterator. Comments that begin with
---- are titles between members, and no description.
"""

import re
import sys

OWN = re.compile(r'^(\s*)//(?!/)\s?(.*)$')
BEHIND = re.compile(r'^(\s*\S.*?)\s//(?!/)\s?(.*)$')
NO_COMMENT = re.compile(r'\s*[^{}]*= (?:default|delete);|'
                        r'\s*using (?:difference_type|value_type|reference|pointer|iterator_category) = .*;')


def has_string_slash(code):
  """Is the // inside of a string, as in a web address?"""
  return code.count('"') % 2 == 1


def escaped(text):
  """Doxygen's commands and HTML mean nothing in our comments."""
  marks = r'([\\@#<>%&`])' if text.count('`') % 2 else r'([\\@#<>%&])'  # code that goes on in the next line
  return re.sub(marks, r'\\\1', text)


def function_name(line):
  """Of a declaration that begins in this line; '' for anything else."""
  match = re.match(r'[^()=]*?\b(operator\W+|\w+)\(', line)
  return match[1] if match else ''


def statements_end(line):
  code = re.sub(r'//.*$', '', line).rstrip()
  return code.endswith((';', '}', ':', ','))


def filtered(text):
  lines = text.split('\n')
  result = []
  comment = []         # of the last block, for declarations that follow it
  comment_indent = -1
  in_statement = False  # the line before goes on
  described = ''        # the name of the function that it describes
  behind_column = -1    # of a comment behind a declaration, which the next lines may go on with
  for line in lines:
    own, behind = OWN.match(line), BEHIND.match(line)
    stripped = line.strip()
    if own:
      column = len(own[1])
      if behind_column == column:
        result.append(f'{own[1]}///< {escaped(own[2])}')
        continue
      behind_column = -1
      if own[2].startswith('----') or own[2].startswith('NOLINT'):
        comment = []
        result.append(line)
        continue
      if not comment or not result or not OWN.match(lines[len(result) - 1]):
        comment = []
      comment.append(own[2])
      comment_indent = column
      result.append(f'{own[1]}/// {escaped(own[2])}')
      in_statement = False
      continue
    behind_column = -1
    if not stripped:
      comment = []
      in_statement = False
      result.append(line)
      continue
    if behind and not has_string_slash(behind[1]) and not stripped.startswith('#'):
      behind_column = line.index('//', len(behind[1]))
      result.append(f'{behind[1]} ///< {escaped(behind[2])}')
      comment = []
      in_statement = not statements_end(behind[1])
      continue
    if NO_COMMENT.fullmatch(line) and not in_statement:
      result.append(f'/** \\cond */{line}/** \\endcond */')  # says all there is to say
      continue
    indent = len(line) - len(line.lstrip())
    previous = lines[len(result) - 1] if result else ''
    follows = comment and indent == comment_indent and not in_statement and not OWN.match(previous)
    is_declaration = not stripped.startswith(('#', '}', '{', 'public:', 'private:', 'protected:', 'namespace'))
    name = function_name(line) if not in_statement else ''
    if follows and is_declaration and name and name == described:
      result.append(f'{line[:indent]}/** {escaped(" ".join(comment))} */ {line[indent:]}')
    else:
      result.append(line)
    if OWN.match(previous):
      described = name
    if stripped.startswith(('}', 'public:', 'private:', 'protected:')):
      comment = []
    in_statement = not statements_end(line) and not stripped.startswith('#')
  return '\n'.join(of_file(result))


def of_file(lines):
  """The comment at the beginning is that of the file. The next empty line goes, so that all others keep their numbers."""
  empty = next((i for i, line in enumerate(lines) if not line), None)
  if empty is None or not lines[0].startswith('///'):
    return lines
  return ['/// \\file'] + lines[:empty] + lines[empty + 1:]


def main():
  with open(sys.argv[1], encoding='utf-8') as f:
    sys.stdout.write(filtered(f.read()))


if __name__ == '__main__':
  main()
