"""docs/reference/cpp-options.md: the fields and members of the C++ API, from the comments of its headers."""

import re

import reference_text as md

API, EXECUTOR = 'frontends/cpp/tenon.h', 'executor/'
# Structs: each row is a field. Classes: each row is a public member.
STRUCTS = [('LoadOptions', API), ('OptimizeOptions', API), ('OptimizeReport', API), ('CompileOptions', API),
           ('RunOptions', EXECUTOR + 'run_options.h'), ('Limits', 'ir/base/limits.h'), ('PassManagerOptions', 'pass/pass_manager.h'),
           ('TensorSpec', EXECUTOR + 'program.h'), ('Stats', EXECUTOR + 'session.h')]
CLASSES = [('Tensor', EXECUTOR + 'tensor.h'), ('Model', API), ('Program', EXECUTOR + 'program.h'), ('Session', EXECUTOR + 'session.h'),
           ('IoBinding', EXECUTOR + 'io_binding.h'), ('CancelToken', EXECUTOR + 'run_options.h')]
# Headers: each row is a function outside of classes.
FUNCTIONS = [API] + [f'frontends/cpp/{name}.h' for name in
                     ('extension', 'plugin', 'passes', 'files/npy', 'files/looks_like_text', 'rules/explain', 'rules/rule_names',
                      'rules/given_rules', 'samples/sample_inputs', 'samples/sample_sizes')]
FUNCTIONS += ['frontends/debug/compare.h', 'frontends/debug/verify_semantics.h']
TITLES = {'Stats': 'Session::Stats'}


def body_of(name, text, path):
  """The lines of a struct or class, without those of private members."""
  match = re.search(rf'^( *)(?:struct|class) {name} \{{\n(.*?)^\1\}};', text, re.M | re.S)
  if match is None:
    raise md.PageError(f'{path} has no struct or class {name} (tools/docs/reference_cpp.py)')
  lines = re.split(r'^ *private:\n', match[2], maxsplit=1, flags=re.M)[0].split('\n')
  indent = len(match[1]) + 2
  return [line[indent:] for line in lines if line.strip() != 'public:' and not line.startswith('#')]


def declarations(lines):
  """(declaration, comment) of each member; an empty comment where it has none of its own."""
  comment, code, column = [], '', -1  # column: of a comment behind the declaration, which goes on below it
  found = []
  for line in lines:
    own = re.match(r'( *)// ?(.*)$', line)
    if own and not code:
      if found and len(own[1]) == column:
        found[-1][1] += ' ' + own[2]
      else:
        comment, column = comment + [own[2]], -1
      continue
    column = -1
    if not line.strip():
      comment = []
      continue
    behind = re.match(r'(.*?\S) +// ?(.*)$', line)
    code += ' ' + (behind[1] if behind else line).strip()
    if code.count('{') != code.count('}') or not code.endswith((';', '}')):
      continue
    if re.search(r'= (default|delete);$', code):
      comment, code = [], ''
      continue
    found.append([signature(code.strip().rstrip(';')), ' '.join(comment)])
    if behind and not behind[2].startswith('NOLINT'):
      found[-1][1] = f'{found[-1][1]} {behind[2]}'.strip()
      column = line.index('//', len(behind[1]))
    comment, code = [], ''
  return found


def signature(code):
  """Without the body or the initializers of a function that is defined here. Fields stay as they are."""
  depth = 0
  for i, c in enumerate(code):
    depth += {'(': 1, '<': 1, ')': -1, '>': -1}.get(c, 0)
    if depth == 0 and c in '=;':
      return code
    if depth == 0 and c == ')':
      return (code[:i + 1] + re.match(r'(?: const)?', code[i + 1:])[0]).replace('( ', '(')
  return code


def prose(comment):
  """A comment as Markdown: code stays code."""
  parts = ' '.join(comment.split()).split('`')
  text = '`'.join(part if i % 2 else md.escape(part).replace('\\|', '|') for i, part in enumerate(parts))
  return md.sentence(text[0].upper() + text[1:]) if text else ''


def fields(name, path):
  rows = []
  for code, comment in declarations(body_of(name, md.source(path), path)):
    match = re.match(r'(.*?[\w>*]) (\w+(?: = [^,]*)?(?:, \w+(?: = [^,]*)?)*|\w+\{\})$', code)
    if match is None or '(' in match[2] or code.startswith(('static ', 'using ', 'struct ')):
      continue
    for part in match[2].split(', '):
      field, _, value = part.partition(' = ')
      rows.append((f'`{field.removesuffix("{}")}`', f'`{match[1]}`', f'`{value}`' if value else '', prose(comment)))
  return md.table(['field', 'type', 'default', 'meaning'], rows)


def name_of(code):
  return code.partition('(')[0].split()[-1]


def members(name, path):
  rows, last = [], ''
  for code, comment in declarations(body_of(name, md.source(path), path)):
    if '(' not in code or 'operator=' in code or code.startswith((f'~{name}', f'{name}({name}&&', 'struct ')):
      continue
    rows.append((f'`{code}`', prose(comment) or ('As above.' if name_of(code) == last else '')))
    last = name_of(code)
  return md.table(['member', 'meaning'], rows)


def functions(path):
  """The functions of a header, without its classes and their members."""
  text = re.search(r'^namespace tenon \{\n(.*)^\}  // namespace tenon', md.source(path), re.M | re.S)
  if text is None:
    raise md.PageError(f'{path} has no namespace tenon (tools/docs/reference_cpp.py)')
  lines = re.sub(r'^(?:class|struct|enum class) [^;{]*\{\n.*?^\};', '', text[1], flags=re.M | re.S).split('\n')
  rows = [(f'`{code.removeprefix("inline ")}`', prose(comment)) for code, comment in declarations(lines)
          if '(' in code and not code.startswith(('struct ', 'class ', 'enum ', 'using ', 'inline constexpr '))]
  return md.table(['function', 'meaning'], rows)


def pages():
  intro = ['Look up the fields of options, the members of classes and the functions of `frontends/cpp` and `frontends/debug` here. [C++ API](cpp-api.md) says which header to include for a task.', '',
           '<!-- from: examples/guide/embed_the_runtime.cc -->',
           *md.fence('cpp', '  tenon::CompileOptions compile;\n  compile.threads = 2;\n'
                     '  compile.limits.memory_bytes = int64_t{1} << 30;')[:-1]]
  lines = md.page('C++ options and members', 'the headers', intro)
  lines += ['The texts are the comments of the headers. An empty default is that of the type: an empty text, or null.', '']
  for maker, listed in ((fields, STRUCTS), (members, CLASSES)):
    for name, path in listed:
      lines += [f'## {TITLES.get(name, name)}', '', f'`{path}`', '', *maker(name, path)]
  lines += ['## Functions', '', 'The functions of `frontends/cpp`, and two of `frontends/debug`. They are in namespace `tenon`.', '']
  for path in FUNCTIONS:
    lines += [f'### {path.removeprefix("frontends/").removeprefix("cpp/")}', '', f'`{path}`', '', *functions(path)]
  return {'docs/reference/cpp-options.md': '\n'.join(lines).rstrip('\n') + '\n'}
