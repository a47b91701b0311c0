"""Pages from what the programs print: ir-opt.md, ir-run.md, ir-bench.md, exit-status.md (--help) and passes.md (--list-passes)."""

import glob
import os
import re
import subprocess

import reference_text as md

PROGRAMS = {
    'ir-opt': 'Look up the options of `ir-opt` here. It reads a program, runs passes on it, and writes it as text.',
    'ir-run': 'Look up the options of `ir-run` here. It runs a model as it is and optimized, and compares and times both.',
    'ir-bench': 'Look up the options of `ir-bench` here. It times a model, alone or beside other engines.',
    'ir-bisect': 'Look up the options of `ir-bisect` here. It finds the rewrite that changes the results of a model.',
    'ir-reduce': 'Look up the options of `ir-reduce` here. It makes a program small that shows a mistake.',
}
GUIDES = {
    'ir-opt': '[Optimize with ir-opt](../guide/optimize-with-ir-opt.md) shows it at work. [Passes](passes.md) lists passes and pipelines.',
    'ir-run': '[Run a model](../guide/run-a-model.md) and [Profile](../guide/profile.md) show it at work.',
    'ir-bench': '[Benchmark](../guide/benchmark.md) shows it at work.',
    'ir-bisect': '[Debug a rewrite](../guide/debug-a-rewrite.md) shows it at work.',
    'ir-reduce': '[Make a program small](../guide/reduce-a-program.md) shows it at work.',
}
COMMANDS = {
    'ir-opt': 'build/bin/ir-opt tests/models/bert.eager.ts17/model.onnx -O2 --elide-resources -o fused.mlir',
    'ir-run': 'build/bin/ir-run tests/models/bert.eager.ts17/model.onnx -O2 --check tests/models/bert.eager.ts17/test_data_set_0 --runs=1',
    'ir-bench': 'build/bin/ir-bench tests/models/bert.eager.ts17/model.onnx --rounds=1 --turn=1',
    'ir-bisect': 'build/bin/ir-bisect tests/models/bert.eager.ts17/model.onnx --check=tests/models/bert.eager.ts17/test_data_set_0',
    'ir-reduce': "build/bin/ir-reduce tests/models/bert.eager.ts17/model.onnx --test='grep -q nn.softmax' --max-tries=20 -o small.mlir",
}
TEXT = ('Guides',)  # sections that GUIDES replaces
STATUS = re.compile(r'\bexit statuse?s?\b', re.I)
MEANINGS = 'exit-status.yaml'


class Programs:
  """The built programs, each asked once."""

  def __init__(self, folder):
    self.folder = folder
    self.outputs = {}

  def output(self, program, *arguments):
    key = (program, *arguments)
    if key not in self.outputs:
      path = os.path.join(self.folder, program)
      if not os.path.isfile(path):
        raise md.PageError(f'{path} is not there (expected --bin to name the folder of the built programs)')
      result = subprocess.run([path, *arguments], capture_output=True, check=False, timeout=600, stdin=subprocess.DEVNULL)
      if result.returncode != 0:
        raise md.PageError(f'{program} {" ".join(arguments)}: exit status {result.returncode}\n{result.stderr.decode()}')
      self.outputs[key] = result.stdout.decode()
    return self.outputs[key]


def pages(programs):
  helps = {name: read_help(programs.output(name, '--help=all')) for name in PROGRAMS}
  result = {f'docs/reference/{name}.md': program_page(name, parts) for name, parts in helps.items()}
  result['docs/reference/exit-status.md'] = status_page({name: statuses(name, parts) for name, parts in helps.items()})
  result['docs/reference/passes.md'] = passes_page(programs.output('ir-opt', '--list-passes'))
  return {path: '\n'.join(lines).rstrip('\n') + '\n' for path, lines in result.items()}


# ---- --help ---------------------------------------------------------------------------------------------------------


class Part:
  """A part of a help text: a title ('' for none) and rows (name, text), or plain lines."""

  def __init__(self, title):
    self.title = title
    self.rows = []
    self.lines = []


def read_help(text):
  """Parts in their order. Rows are indented and begin with a dash; their text may go on in lines that are indented more."""
  parts = [Part('')]
  for line in text.rstrip('\n').split('\n'):
    title = re.fullmatch(r'([A-Z][^:]*):', line)
    row = re.match(r'  (-\S.*?)(?:\s{2,}(\S.*))?$', line)
    if title:
      parts.append(Part(title[1]))
    elif row and not (parts[-1].lines and parts[-1].title):
      parts[-1].rows.append([row[1], row[2] or ''])
    elif parts[-1].rows and re.match(r' {8,}\S', line):
      parts[-1].rows[-1][1] = f'{parts[-1].rows[-1][1]} {line.strip()}'.strip()
    elif parts[-1].rows and line and not line.startswith(' '):
      parts.append(Part(''))  # a paragraph behind rows
      parts[-1].lines.append(line)
    elif line or parts[-1].lines:
      parts[-1].lines.append(line)
  return parts


def program_page(name, parts):
  intro = [PROGRAMS[name], GUIDES[name], '', *md.fence('console', '$ ' + COMMANDS[name])[:-1]]
  lines = md.page(name, f'`{name} --help=all`', intro)
  usage = [p for p in parts if not p.title and not p.rows]
  first = parts[0]
  call = re.fullmatch(r'(?:Usage: )?(ir-\w+ .*?)(?:: .*)?', first.lines[0])
  if call is None:
    raise md.PageError(f'{name} --help begins with {first.lines[0]!r} (expected how the program is called)')
  lines += [*md.fence('text', call[1]), *paragraphs(first.lines[1:]), '']
  for part in parts:
    if part.title in TEXT or (part is not first and part in usage) or STATUS.search(part.title):
      continue
    if part.rows:
      lines += [f'## {part.title or "Options"}', '']
      lines += [option_line(option, text) for option, text in part.rows] + ['']
    elif part.title:
      lines += [f'## {part.title}', '', *md.fence('text', '\n'.join(line[2:] for line in part.lines).strip('\n'))]
  for part in usage[1:]:
    lines += [*paragraphs(part.lines), '']
  ignored = 'Rules of `--rules` that no pass applies are a warning.'
  if name == 'ir-opt':
    ignored = ('Two cases are warnings: rules of `--rules` that no pass applies, and `--split-input-file` or '
               '`--verify-diagnostics` for an ONNX model.')
  lines += [f'An option that would have no effect beside the others is an error. {ignored}', '',
            'A value follows `=` or is the next argument.' + (
                " The options of a pass follow `=` only: `--fuse='rules=norm'`." if name == 'ir-opt' else ''), '']
  if name == 'ir-opt':
    lines += ['Each pass and each pipeline is a flag as well: see [passes](passes.md).', '']
  lines += ['[Exit statuses](exit-status.md) and [environment variables](environment.md) have pages of their own.', '']
  return [line for i, line in enumerate(lines) if line or i == 0 or lines[i - 1]]


def paragraphs(lines):
  """Paragraphs of a help text, without what says exit statuses."""
  result = []
  for block in '\n'.join(lines).split('\n\n'):
    # A line that names exit statuses begins a paragraph of its own.
    kept = []
    for line in block.split('\n'):
      if re.match(r'exit status', line, re.I):
        break
      kept.append(words(line.strip()))
    if any(kept):
      result += [*kept, '']
  return result[:-1]


def option_line(option, text):
  alias = re.search(r' \[(--?[\w-]+)\]$', text)
  if alias:
    text = text[:alias.start()]
  default = re.search(r' \(default: ([^()]+)\)$', text)
  also = f' (also `{alias[1]}`)' if alias else ''
  if default:
    return f'- `{option}`{also}: {words(md.sentence(text[:default.start()]))} Default: {words(md.sentence(default[1]))}'
  return f'- `{option}`{also}: {words(md.sentence(text))}'


def words(text):
  """A line of help as Markdown: options, files and values as code, marks of Markdown as themselves."""
  def word(match):
    token = match[0]
    lead, token = re.match(r'([("\']*)(.*)', token).groups()
    body, trail = re.match(r'(.*?)([)"\',.;:]*)$', token).groups()
    if re.fullmatch(r'--?[A-Za-z][\w-]*(?:[=\[].*)?', body) or re.fullmatch(
        r'[\w./-]*\w\.(?:json|html|pb|npy|onnx|md|mlir|txt)|\w+(?:_\w+)+', body):
      return f'{lead}`{body}`{trail}'
    return lead + md.escape(body) + md.escape(trail)
  return re.sub(r'\S+', word, text)


# ---- exit statuses --------------------------------------------------------------------------------------------------


def statuses(name, parts):
  """{status: meaning} as a help says it: a sentence "Exit status: 0 done; 1 …", or a section with a line for each."""
  found = {}
  for part in parts:
    text = ' '.join(' '.join(part.lines).split())
    if STATUS.search(part.title):
      for line in part.lines + [f'{a} {b}' for a, b in part.rows]:
        match = re.match(r'\s*(\d)\s+(.*)', line)
        if match:
          found[int(match[1])] = match[2]
        elif found and line.strip():
          found[max(found)] += ' ' + line.strip()
    elif STATUS.search(text):
      rest = text[STATUS.search(text).end():].lstrip(': ')
      rest = re.split(r'(?<=\.) (?=[A-Z])', rest)[0]
      for match in re.finditer(r'(?:^|[,;:] )(\d) (.*?)(?=[,;] \d |[.]?$)', rest):
        found[int(match[1])] = match[2]
  if sorted(found)[:3] != [0, 1, 2]:
    raise md.PageError(f'{name} --help says no exit statuses that this script understands (found {found})')
  return found


def status_page(by_program):
  meanings = md.data(MEANINGS)
  known = sorted({status for found in by_program.values() for status in found})
  if [str(status) for status in known] != sorted(meanings['statuses']):
    raise md.PageError(f'tools/docs/reference/{MEANINGS} has {sorted(meanings["statuses"])}, the programs have {known}')
  intro = ['See here what the exit status of a program means, and what a script may conclude from it.', '',
           *md.fence('console', '$ build/bin/ir-opt nowhere.onnx\nir-opt: nowhere.onnx: cannot open: No such file or directory\n'
                     '[exit status: 2]')[:-1]]
  lines = md.page('Exit statuses', f'the help of the programs and tools/docs/reference/{MEANINGS}', intro)
  lines += md.table(['status', 'meaning'], [(f'`{status}`', md.sentence(meanings['statuses'][str(status)])) for status in known])
  lines += ['## By program', '', 'The help of each program says:', '']
  lines += md.table(['status', *(f'`{name}`' for name in by_program)],
                    [[f'`{status}`', *(words(found.get(status, 'never')) for found in by_program.values())] for status in known])
  for title, text in meanings['sections'].items():
    lines += [f'## {title}', '', text.rstrip(), '']
  return lines


# ---- passes ---------------------------------------------------------------------------------------------------------

TYPES = {'bool': '`true` or `false`', 'int': 'an integer', 'count': 'a number, 0 or more', 'text': 'text',
         'list': 'names with commas: `rules=norm,linear`'}


def passes_page(text):
  passes, pipelines = read_passes(text)
  details = md.data('passes.yaml')
  if set(details) != set(passes):
    raise md.PageError(f'tools/docs/reference/passes.yaml and --list-passes differ in {sorted(set(details) ^ set(passes))}')
  intro = ['Find here every [pass](../glossary.md#pass) with its options, and the [pipelines](../glossary.md#pipeline) that run them.',
           'Passes run in the order of the command line. This runs two of them, the second with an option:', '',
           *md.fence('console', "$ build/bin/ir-opt tests/models/bert.eager.ts17/model.onnx --canonicalize "
                     "--constant-fold='max-bytes=1024' \\\n> --elide-resources -o folded.mlir")[:-1]]
  lines = md.page('Passes and pipelines', '`ir-opt --list-passes` and tools/docs/reference/passes.yaml', intro)
  lines += ['The same as the text of a pipeline:', '']
  lines += md.fence('console', "$ build/bin/ir-opt tests/models/bert.eager.ts17/model.onnx "
                    "--pass-pipeline='canonicalize,constant-fold{max-bytes=1024}' \\\n> --elide-resources -o folded.mlir")
  lines += ['A pipeline may stand in a pipeline: `--pass-pipeline=O2,lower`. `--dump-pass-pipeline` prints what runs.',
            '[Write a pass](../guide/write-a-pass.md) shows how to add one.', '', '## Pipelines', '']
  for name, (summary, steps) in pipelines.items():
    lines += [f'### {name}', '', f'`{"-" if len(name) == 2 else "--"}{name}`: ' + md.escape(md.sentence(summary)), '']
    lines += md.fence('text', wrapped(steps))
  lines += ['## Passes', '']
  lines += md.table(['pass', 'what it does'], [(f'[`{name}`](#{name})', md.escape(md.sentence(p['summary']))) for name, p in passes.items()])
  for name, p in passes.items():
    lines += [f'### {name}', '', f'`--{name}`: ' + md.escape(md.sentence(p['summary'][0].lower() + p['summary'][1:])), '',
              md.sentence(details[name]), '']
    if p['options']:
      lines += md.table(['option', 'value', 'default', 'meaning'], [
          (f'`{o}`', TYPES[kind], f'`{default}`' if default else 'none', md.escape(md.sentence(meaning)))
          for o, kind, default, meaning in p['options']])
    lines += [*facts(name), '']
  return lines


def read_passes(text):
  passes, pipelines = {}, {}
  section = None
  for line in text.rstrip('\n').split('\n'):
    if re.fullmatch(r'\w+:', line):
      section = line[:-1]
      continue
    name = re.match(r'  (--?\S+)(?:\s+(.*))?$', line)
    option = re.match(r'      (\S+)=<(\w+)>(?:\s+(.*))?$', line)
    steps = re.match(r'      = (.*)$', line)
    more = re.match(r' {20,}(\S.*)$', line)
    if option:
      meaning, default = re.fullmatch(r'(.*?)(?: \(default: (.*?)\))?', option[3] or '').groups()
      passes[last]['options'].append((option[1], option[2], default or '', meaning))
    elif steps:
      pipelines[last][1] = steps[1]
    elif name:
      last = name[1].lstrip('-')
      if section == 'Passes':
        passes[last] = {'summary': name[2] or '', 'options': []}
      else:
        pipelines[last] = [name[2] or '', '']
    elif more and section == 'Passes':
      passes[last]['summary'] = f'{passes[last]["summary"]} {more[1]}'.strip()
    elif line:
      raise md.PageError(f'ir-opt --list-passes: {line!r} is not understood')
  return passes, pipelines


def wrapped(steps):
  """The text of a pipeline, broken behind commas outside of braces."""
  lines, depth, word = [''], 0, ''
  for c in steps + ',':
    word += c
    depth += {'{': 1, '}': -1}.get(c, 0)
    if c == ',' and depth == 0:
      if lines[-1] and len(lines[-1]) + len(word) > 100:
        lines.append('')
      lines[-1] += word
      word = ''
  return '\n'.join(lines)[:-1]


def facts(name):
  """Where a pass is, and what it needs and leaves of a module."""
  stem = name.replace('-', '_')
  found = [path for folder in ('transforms', 'executor', 'frontends/onnx/export')
           for path in glob.glob(os.path.join(md.ROOT, folder, '**', f'{stem}.cc'), recursive=True)]
  if len(found) != 1:
    raise md.PageError(f'pass {name}: expected one {stem}.cc in transforms, executor or frontends/onnx/export, found {len(found)}')
  path = os.path.relpath(found[0], md.ROOT)
  code = md.source(path)
  properties = {'kShapesInferred': 'shapes inferred', 'kLowered': 'lowered', 'kPlanned': 'planned'}
  lines = []
  for field, text in (('needs', 'It needs the module to be'), ('establishes', 'Afterwards the module is'),
                      ('destroys', 'Afterwards the module is no longer')):
    for match in re.finditer(rf'info\.{field} = ([^;]*);', code):
      found = [properties[word] for word in re.findall(r'ModuleProperty::(\w+)', match[1])]
      lines.append(f'{text} {md.join_words(found)}.')
  return [' '.join([*lines, f'The code is in `{path}`.'])]
