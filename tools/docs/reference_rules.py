"""docs/reference/rules.md and docs/reference/rules/: the rewrite rules, from `ir-opt --list-rules`."""

import re

import reference_text as md

WIDTH = 110


def pages(programs):
  families = read_list(programs.output('ir-opt', '--list-rules'))
  texts = read_texts(programs.output('ir-opt', '--list-rules=*'))
  listed = [rule['name'] for family in families for rule in family['rules']]
  if sorted(listed) != sorted(texts):
    raise md.PageError(f'ir-opt --list-rules and --list-rules=* differ in {sorted(set(listed) ^ set(texts))}')
  result = {f'docs/reference/rules/{f["name"]}.md': family_page(f, texts) for f in families}
  result['docs/reference/rules.md'] = index_page(families)
  return {path: '\n'.join(lines).rstrip('\n') + '\n' for path, lines in result.items()}


def read_list(text):
  families = []
  for line in text.rstrip('\n').split('\n'):
    head = re.fullmatch(r'(\w+) \((\w+)\): (.*)', line)
    row = re.fullmatch(r'  (\S+) +(.*?)(?: \(((?:may|ignores)[^()]*) without a proof\))?  \[([^\]:]+)(?::\d+)?\]', line)
    if head:
      families.append({'name': head[1], 'phase': head[2], 'summary': head[3], 'rules': []})
    elif row and families:
      families[-1]['rules'].append({'name': row[1], 'summary': row[2], 'gives_up': row[3] or '', 'file': row[4]})
    else:
      raise md.PageError(f'ir-opt --list-rules: {line!r} is neither a family nor a rule')
  return families


def read_texts(text):
  """{name: text of the rule}."""
  texts = {}
  for part in re.split(r'^// .*\n', text, flags=re.M)[1:]:
    texts[re.match(r'rule (\S+) \{', part)[1]] = part.strip()
  return texts


def index_page(families):
  intro = ['Find every built-in rewrite [rule](../glossary.md#rule) here, in the order in which Tenon applies them.',
           'The text of one rule, or of a family:', '',
           *md.fence('console', '$ build/bin/ir-opt --list-rules=relu-from-max\n'
                     '// activation (fuse), patterns/activations/activation.cc:1\n...')[:-1]]
  lines = md.page('Rules', '`ir-opt --list-rules`', intro)
  lines += ['`ir-opt MODEL -O2 --explain=RULE` says where a rule fired in a model, and what stopped it elsewhere.',
            '[Write a rule](../guide/write-a-rule.md) explains the notation, and [the rule language](rule-language.md) has its grammar.', '']
  lines += md.table(['[family](../glossary.md#family)', 'pass', 'rules', 'what it finds'],
                    [(f'[`{f["name"]}`](rules/{f["name"]}.md)', f'[`{f["phase"]}`](passes.md#{f["phase"]})', str(len(f['rules'])),
                      md.escape(md.sentence(f['summary'][0].upper() + f['summary'][1:])))
                     for f in families])
  lines += ['## What a rule may give up', '',
            'A rule keeps the result of the program, within rounding. Some rules are right only for some numbers. They declare what they',
            'give up, and they fire only where a condition proves that nothing is lost. [`--fast-math`](../glossary.md#fast-math) applies',
            'them everywhere. [Rule safety](../design/rule-safety.md#the-contract) states the whole contract.', '']
  lines += md.table(['declared', 'meaning'],
                    [('`may overflow`', 'The result may be infinite or NaN although the result of the source is finite.'),
                     ('`ignores infinity`', 'Where an input is infinite or NaN, the result may be finite, infinite or NaN regardless of the source.'),
                     ('`ignores sign of zero`', 'Where an input is zero, the result may be that of a zero of the other sign.')])
  some = [(rule, family) for family in families for rule in family['rules'] if rule['gives_up']]
  lines += [f'These {len(some)} rules declare something:', '']
  lines += md.table(['rule', 'family', 'declares'],
                    [(f'[`{r["name"]}`](rules/{f["name"]}.md#{r["name"]})', f'`{f["name"]}`', declared(r)) for r, f in some])
  return lines


def declared(rule):
  if not rule['gives_up']:
    return ''
  return ', '.join(f'`{words}`' for words in rule['gives_up'].split(', '))


def family_page(family, texts):
  count = len(family['rules'])
  rules = 'rule' if count == 1 else 'rules'
  intro = [f'Look up the {count} {rules} of the family `{family["name"]}` here. The [pass](../../glossary.md#pass) [`{family["phase"]}`](../passes.md#{family["phase"]})',
           f'applies them in this order. They find {md.escape(family["summary"])}.', '',
           *md.fence('console', f'$ build/bin/ir-opt --list-rules={family["name"]}')[:-1]]
  lines = md.page(f'Rules of the family {family["name"]}', '`ir-opt --list-rules=*`', intro)
  lines += ['`compute(…)` and `opaque(…)` stand for C++ functions, which text cannot say; the named file has them.', '']
  lines += md.table(['rule', 'what it says', 'declares'],
                    [(f'[`{r["name"]}`](#{r["name"]})', md.escape(r['summary']), declared(r)) for r in family['rules']])
  for rule in family['rules']:
    lines += [f'## {rule["name"]}', '', f'In `{rule["file"]}`:', '', *md.fence('text', pretty(texts[rule['name']]))]
  return lines


# ---- layout of long rules -------------------------------------------------------------------------------------------


def pretty(text):
  """The rule with lines of at most WIDTH columns, where brackets allow it. Spaces mean nothing to rules."""
  lines = []
  for line in text.split('\n'):
    head = re.match(r' *(?:[a-z]+|&&) +', line)
    if len(line) <= WIDTH or head is None or line.lstrip().startswith('summary'):
      lines.append(line)
    else:
      lines += broken(line[:head.end()], line[head.end():])
  return '\n'.join(lines)


def broken(prefix, text):
  """The text behind a prefix. What does not fit is cut at the separators of its outermost brackets."""
  if len(prefix) + len(text) <= WIDTH:
    return [prefix + text]
  opening = first_bracket(text)
  if opening < 0:
    return [prefix + text]
  closing = end_of(text, opening)
  parts, marks = split_outside(text[opening + 1:closing])
  if not parts:
    return [prefix + text]
  indent = ' ' * (len(prefix) - len(prefix.lstrip()) + 4) if prefix.strip() else prefix + '  '
  lines = [prefix + text[:opening + 1]]
  for part, mark in zip(parts, marks + ['']):
    lines += broken(indent, part + mark)
  rest = text[closing:]
  if len(lines[-1]) + len(rest) <= WIDTH or first_bracket(rest[1:]) < 0:
    lines[-1] += rest
  else:
    tail = broken(' ' * (len(lines[-1]) - len(lines[-1].lstrip())), rest[1:].lstrip())
    lines[-1] += rest[0]
    lines += tail
  return lines


def first_bracket(text):
  quoted = False
  for i, c in enumerate(text):
    if c == '"':
      quoted = not quoted
    elif not quoted and c in '({':
      return i
  return -1


def end_of(text, at):
  depth, quoted = 0, False
  for i in range(at, len(text)):
    c = text[i]
    if c == '"':
      quoted = not quoted
    elif not quoted and c in '({':
      depth += 1
    elif not quoted and c in ')}':
      depth -= 1
      if depth == 0:
        return i
  raise md.PageError(f'nothing closes {text[at:at + 40]!r}')


def split_outside(text):
  """The parts at commas or bars outside of brackets, and the mark behind each but the last."""
  parts, marks, depth, quoted, begin = [], [], 0, False, 0
  for i, c in enumerate(text):
    if c == '"':
      quoted = not quoted
    elif quoted:
      continue
    elif c in '({':
      depth += 1
    elif c in ')}':
      depth -= 1
    elif depth == 0 and (c == ',' or text[i - 1:i + 2] == ' | '):
      parts.append(text[begin:i].strip())
      marks.append(',' if c == ',' else ' |')
      begin = i + 1
  return parts + [text[begin:].strip()], marks
