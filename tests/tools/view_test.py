"""What --view draws. Usage: view_test.py FOLDER_OF_PROGRAMS [CHROMIUM]. With a browser, its page is looked at as well."""

import json
import os
import random as numbers
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import browser

BIN = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'build/bin'
CHROMIUM = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else ''
IR_OPT = os.path.join(BIN, 'ir-opt')
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'models')
BERT = os.path.join(MODELS, 'bert.eager.ts17', 'model.onnx')
GELU = '/model/encoder/layer.0/intermediate/intermediate_act_fn/'
# A name of a node that would end the element that holds the data, and run as a program.
EVIL = '</script><script>document.title="evil"</script>"\\<img src=x onerror=alert(1)>&amp;]]>\x1b[31m'
TEXT_OF_EVIL = json.dumps(EVIL).replace('\\u001b', '\\1B')  # as IR text writes it
PROGRAM = '''func.func() <{{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}}> ({{
^bb0(%x: tensor<4xf32>):
{body}
  func.return(%{last}) : (tensor<4xf32>) -> ()
}}) : () -> ()
'''
HOSTILE = PROGRAM.format(last=1, body=f'''  %0 = ten.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32> loc({TEXT_OF_EVIL})
  %1 = ten.mul(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc({TEXT_OF_EVIL})''')
FATES = ('kept', 'fused', 'rewritten', 'folded', 'removed', 'new')


def chain(length, groups=0):
  """A program of many operations, flat or in groups of this size."""
  names = ('abs', 'neg', 'exp', 'tanh')
  lines = []
  for i in range(length):
    place = f' loc("/part.{i // groups // 10}/block.{i // groups}/op.{i}")' if groups else ''
    lines.append(f'  %v{i} = ten.{names[i % 4]}(%{"x" if i == 0 else f"v{i - 1}"}) : (tensor<4xf32>) -> tensor<4xf32>{place}')
  return PROGRAM.format(body='\n'.join(lines), last=f'v{length - 1}')


def run(*arguments, text=None, program=IR_OPT):
  result = subprocess.run([program, *arguments], input=text, capture_output=True, check=False, timeout=300, encoding='utf-8')
  return result.returncode, result.stdout, result.stderr


def data_of(page):
  return json.loads(re.search(r'<script type="application/json" id="program">(.*?)</script>', page, re.S)[1])


class Program:
  """A program of a page's data, with its texts."""

  def __init__(self, data, index):
    self.texts, self.data = data['strings'], data['programs'][index]
    self.ops = self.data['ops']

  def text(self, column, op):
    return self.texts[self.ops[column][op]]

  def named(self, name):
    return [op for op, number in enumerate(self.ops['name']) if self.texts[number] == name]

  def nodes(self, op):
    return [self.texts[number] for number in self.ops['from'][op]]

  def fate(self, op):
    return FATES[self.ops['fate'][op]]


class Test(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)

  def view(self, name, *arguments, text=None):
    path = os.path.join(self.folder.name, name)
    status, out, err = run(*arguments, f'--view={path}', text=text)
    self.assertEqual((status, out), (0, ''), err)
    with open(path, encoding='utf-8') as file:
      return file.read()


class ViewTest(Test):

  def test_what_fused_into_what(self):
    data = data_of(self.view('v.html', BERT, '-O2'))
    before, after = Program(data, 0), Program(data, 1)
    gelu = [op for op in range(len(after.ops['name'])) if GELU + 'Erf' in after.nodes(op)]
    self.assertEqual(len(gelu), 1)
    self.assertEqual(after.fate(gelu[0]), 'fused')
    self.assertTrue(after.text('rule', gelu[0]))
    self.assertRegex(after.text('place', gelu[0]), r'^patterns/.*\.cc:\d+$')
    for node in ('Div', 'Erf', 'Add', 'Mul', 'Mul_1'):
      ops = [op for op in range(len(before.ops['name'])) if before.nodes(op) == [GELU + node]]
      self.assertEqual([before.fate(op) for op in ops], ['fused'], node)
    fates = {before.fate(op) for op in range(len(before.ops['name']))}
    self.assertEqual(fates - {'kept', 'fused', 'rewritten', 'folded', 'removed'}, set())
    self.assertNotIn('removed', {after.fate(op) for op in range(len(after.ops['name']))})

  def test_values_and_types(self):
    data = data_of(self.view('v.html', '-', '--cse', text=chain(3)))
    program = Program(data, 1)
    self.assertEqual([program.texts[n] for n in program.ops['name']], ['input', 'ten.abs', 'ten.neg', 'ten.exp', 'func.return'])
    values = program.data['values']
    self.assertEqual([program.texts[n] for n in values['type']], ['f32[4]'] * 4)
    self.assertEqual(values['op'], [0, 1, 2, 3])
    self.assertEqual([inputs[0] for inputs in program.ops['inputs'][1:]], [0, 1, 2, 3])
    self.assertEqual({program.fate(op) for op in range(5)}, {'kept'})

  def test_groups_follow_the_module_hierarchy(self):
    program = Program(data_of(self.view('v.html', BERT)), 0)
    groups = program.data['groups']
    def path(group):
      parts = []
      while group > 0:
        parts.insert(0, program.texts[groups[group]['label']])
        group = groups[group]['parent']
      return '/'.join(parts)
    erf = next(op for op in range(len(program.ops['name'])) if program.nodes(op) == [GELU + 'Erf'])
    self.assertEqual(f'/{path(program.ops["group"][erf])}/{program.text("label", erf)}', GELU + 'Erf')
    for group in groups:  # each box and each bend once, in its row
      nodes = [node for row in group['rows'] for node in row]
      self.assertEqual(sorted(nodes), list(range(len(group['closed']))))
      self.assertEqual(len(group['closed']), len(group['open']))

  def test_near_misses_have_reasons(self):
    erf = ['--disable-rules=gelu-erf']
    data = data_of(self.view('v.html', BERT, '-O2', *erf))
    report = os.path.join(self.folder.name, 'report.json')
    self.assertEqual(run(BERT, '-O2', *erf, f'--fusion-report={report}')[0], 0)
    with open(report, encoding='utf-8') as file:
      rules = json.load(file)['rules']
    expected = [(rule['rule'], miss['matched'], miss['wanted'], [[s['node'], s['reason']] for s in miss['stops']])
                for rule in rules for miss in rule['near_misses']]
    texts = data['strings']
    seen = [(texts[m['rule']], m['matched'], m['wanted'], [[texts[n], texts[r]] for n, r in m['stops']]) for m in data['misses']]
    self.assertEqual(seen, expected)
    self.assertGreater(len(seen), 0)
    noted = {number for misses in data['programs'][1]['ops']['misses'] for number in misses}
    self.assertGreater(len(noted), 0)

  def test_times_of_a_profile(self):
    profile = os.path.join(self.folder.name, 'p.json')
    status, _, err = run(BERT, '--runs=1', f'--profile={profile}', program=os.path.join(BIN, 'ir-run'))
    self.assertEqual(status, 0, err)
    data = data_of(self.view('v.html', BERT, '-O2', f'--view-profile={profile}'))
    with open(profile, encoding='utf-8') as file:
      calls = json.load(file)['calls']
    self.assertAlmostEqual(data['all_ms'], sum(call['ms'] for call in calls), places=4)
    self.assertGreater(data['shown_ms'], data['all_ms'] / 2)
    after = Program(data, 1)
    self.assertAlmostEqual(sum(ms for ms in after.ops['ms'] if ms > 0), data['shown_ms'], places=3)
    attention = after.named('fused.attention')
    self.assertTrue(attention)
    self.assertTrue(all(after.ops['ms'][op] > 0 for op in attention))

  def test_wrong_profiles(self):
    path = os.path.join(self.folder.name, 'p.json')
    for text, problem in (('{', 'it is not JSON'), ('[]', "it has no list 'calls'"), ('{"calls": 1}', "it has no list 'calls'"),
                          ('{"calls": [{"op": "a"}]}', "an entry of 'calls' lacks 'op', 'node' or 'ms'"),
                          ('{"calls": [{"op": "a", "node": "b", "ms": -1}]}', "a time of 'calls' is negative or too long")):
      with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
      status, _, err = run(BERT, f'--view={self.folder.name}/v.html', f'--view-profile={path}')
      self.assertEqual((status, err), (2, f"ir-opt: --view-profile: {path}: {problem} (expected the JSON of 'ir-run --profile=FILE.json')\n"))
      self.assertFalse(os.path.exists(self.folder.name + '/v.html'))
    with open(path, 'w', encoding='utf-8') as file:
      file.write('{"calls": [{"op": "ten.no", "node": "/nowhere", "ms": 1}]}')
    status, _, err = run(BERT, f'--view={self.folder.name}/v.html', f'--view-profile={path}')
    self.assertEqual(status, 0)
    self.assertIn('has no time of an operation of this program', err)

  def test_equal_runs_give_equal_bytes(self):
    for name in ('v.html', 'v.svg', 'v.dot'):
      self.assertEqual(self.view(name, BERT, '-O2'), self.view(name, BERT, '-O2'))

  def test_the_program_stays_the_same(self):
    out = os.path.join(self.folder.name, 'm.mlir')
    self.view('v.html', BERT, '-O2', '-o', out)
    with open(out, encoding='utf-8') as file:
      self.assertEqual(file.read(), run(BERT, '-O2')[1])

  def test_the_page_needs_nothing_else(self):
    page = self.view('v.html', BERT, '-O2')
    without_data = re.sub(r'<script type="application/json".*?</script>', '', page, flags=re.S)
    self.assertNotRegex(without_data, r'(src|href)\s*=|https?:|@import|url\(|innerHTML|eval\(')
    self.assertIn("default-src 'none'", page)
    self.assertIn('<noscript><p>This page needs JavaScript', page)
    self.assertNotIn('<', re.search(r'<script type="application/json" id="program">(.*?)</script>', page, re.S)[1])

  def test_names_stay_data(self):
    page = self.view('v.html', '-', '-O2', text=HOSTILE)
    self.assertEqual(page.count('<script'), 2)
    self.assertNotIn('<img', page)
    self.assertIn(EVIL, data_of(page)['strings'])
    svg = self.view('v.svg', '-', '-O2', text=HOSTILE)
    tree = xml.etree.ElementTree.fromstring(svg)
    self.assertEqual({element.tag.split('}')[1] for element in tree.iter()} - {'svg', 'title', 'style', 'g', 'rect', 'path', 'text', 'circle'}, set())
    self.assertNotIn('\x1b', svg)
    dot = self.view('v.dot', '-', '-O2', text=HOSTILE)
    self.assertNotIn('\x1b', dot)
    for line in dot.split('\n'):  # quotes are closed, and only escaped ones stand inside
      self.assertRegex(line, r'^([^"]|"([^"\\]|\\.)*")*$')

  def check_boxes(self, svg, programs):
    """No box lies over another one or across the border of a group, and all types and lines are in the picture."""
    tree = xml.etree.ElementTree.fromstring(svg)
    space = '{http://www.w3.org/2000/svg}'
    found = [g for g in tree.findall(space + 'g') if 'transform' in g.attrib]
    self.assertEqual(len(found), programs)
    box = lambda r: tuple(float(r.attrib[k]) for k in ('x', 'y', 'width', 'height'))
    apart = lambda a, b: a[0] >= b[0] + b[2] or a[0] + a[2] <= b[0] or a[1] >= b[1] + b[3] or a[1] + a[3] <= b[1]
    inside = lambda a, b: a[0] >= b[0] and a[0] + a[2] <= b[0] + b[2] and a[1] >= b[1] and a[1] + a[3] <= b[1] + b[3]
    for program in found:
      boxes = [box(r) for r in program.iter(space + 'rect') if r.attrib['class'] == 'box']
      groups = [box(r) for r in program.iter(space + 'rect') if r.attrib['class'] == 'group']
      self.assertTrue(boxes)
      for i, one in enumerate(boxes):
        self.assertTrue(all(apart(one, other) for other in boxes[:i]))
        self.assertTrue(all(apart(one, group) or inside(one, group) for group in groups))
      for i, one in enumerate(groups):
        self.assertTrue(all(apart(one, other) or inside(one, other) or inside(other, one) for other in groups[:i]))
    return sum(len(list(program.iter(space + 'path'))) for program in found)

  def test_boxes_of_svg_do_not_overlap(self):
    self.check_boxes(self.view('v.svg', BERT, '-O2'), 2)

  def test_boxes_of_random_programs_do_not_overlap(self):
    random = numbers.Random(1)
    for _ in range(12):
      length = random.randint(1, 70)
      lines, values = [], ['x']
      for i in range(length):
        name = '/'.join(f'part.{random.randint(0, 2)}' for _ in range(random.randint(0, 4)))
        place = random.choice(['', f' loc("{name}/op.{i}")', f' loc(fused["/part.1/a.{i}", "{name}/op.{i}"])'])
        lines.append(f'  %v{i} = ten.add(%{random.choice(values)}, %{random.choice(values[-3:])}) : '
                     f'(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>{place}')
        values.append(f'v{i}')
      text = PROGRAM.format(body='\n'.join(lines), last=values[-1])
      paths = self.check_boxes(self.view('v.svg', '-', text=text), 1)
      self.assertGreaterEqual(paths, length)

  def test_dot_has_all_operations_and_edges(self):
    dot = self.view('v.dot', '-', text=chain(5, 2))
    self.assertEqual(len(re.findall(r'^\s+before\d+ \[label=', dot, re.M)), 7)
    self.assertEqual(dot.count(' -> '), 6)
    self.assertEqual(dot.count('{'), dot.count('}'))

  def test_the_picture_of_the_guide(self):
    root = os.path.dirname(os.path.dirname(MODELS))
    with open(os.path.join(root, 'docs', 'guide', 'look-at-a-program.md'), encoding='utf-8') as file:
      layer, line = re.search(r'^\$ export L=(.*)\n\$ build/bin/ir-opt (.*) --view=layer.svg$', file.read(), re.M).groups()
    picture = os.path.join(root, 'docs', 'images', 'view-layer.svg')
    path = os.path.join(self.folder.name, 'layer.svg')
    command = [os.path.abspath(IR_OPT), *line.replace('$L', layer).split(), f'--view={path}']
    result = subprocess.run(command, cwd=root, capture_output=True, check=False, timeout=60)
    self.assertEqual(result.returncode, 0, result.stderr)
    with open(picture, encoding='utf-8') as old, open(path, encoding='utf-8') as new:
      self.assertEqual(old.read(), new.read(), f'{picture} is not what the commands of the guide draw: run them and copy layer.svg there')

  def test_limits_of_still_pictures(self):
    text = chain(2500)
    for name, format_name in (('v.svg', 'an SVG file'), ('v.dot', 'a DOT file')):
      status, _, err = run('-', f'--view={self.folder.name}/{name}', text=text)
      self.assertEqual((status, err), (2, f'ir-opt: {format_name} shows at most 2000 operations, and the programs have 2502 '
                                          '(expected FILE.html, which opens and closes parts)\n'))
      self.assertFalse(os.path.exists(f'{self.folder.name}/{name}'))

  def test_regions_and_functions_are_groups(self):
    program = Program(data_of(self.view('v.html', os.path.join(MODELS, 'onnx_loop.ts17', 'model.onnx')
                                        if os.path.isdir(os.path.join(MODELS, 'onnx_loop.ts17')) else '-',
                                        text=LOOP)), 0)
    inner = [op for op, group in enumerate(program.ops['inner']) if group >= 0]
    self.assertTrue(inner)
    for op in inner:
      self.assertEqual(program.data['groups'][program.ops['inner'][op]]['op'], op)

  def test_wrong_lines(self):
    status, _, err = run(BERT, '-O2', '--view=v.txt')
    self.assertEqual((status, err), (2, "ir-opt: --view is 'v.txt' (expected FILE.html, FILE.svg or FILE.dot)\n"))
    status, _, err = run(BERT, '-O2', '--view=/nowhere/v.html')
    self.assertEqual(status, 2)
    self.assertIn('/nowhere', err)


LOOP = '''func.func() <{function_type = (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%c: tensor<i1>, %x: tensor<4xf32>):
  %0 = ctl.if(%c) ({
    %1 = ten.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ctl.yield(%1) : (tensor<4xf32>) -> ()
  }, {
    %2 = ten.neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ctl.yield(%2) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return(%0) : (tensor<4xf32>) -> ()
}) : () -> ()
'''


@unittest.skipUnless(CHROMIUM, 'needs chromium')
class PageTest(Test):

  def look(self, page, script, expected, *options):
    """`script` puts what it sees into `out`."""
    self.assertEqual(browser.look(CHROMIUM, page, script, '--window-size=1400,900', *options), expected)

  def test_search_keys_and_details(self):
    page = self.view('v.html', BERT, '-O2')
    data = data_of(page)
    erf = [op for op in range(len(data['programs'][0]['ops']['name'])) if Program(data, 0).nodes(op) == [GELU + 'Erf']]
    self.look(page, '''type("layer.0 act_fn/erf"); out.push(found.filter(f => f[0] === sides[0]).map(f => f[1]));
      key("n"); out.push(at("details").textContent.includes("ten.erf"), chosen.side === sides[0], linked[1].size);
      out.push(sides[0].visible(sides[0].find(OP, chosen.index)));
      const partner = [...linked[1]][0]; out.push(FATES[data.programs[1].ops.fate[partner]][0], sides[1].visible(sides[1].find(OP, partner)));
      key("p"); out.push(chosen.side === sides[1]);
      out.push(at("details").textContent.includes("made by"), at("details").textContent.includes("comes from"), linked[0].size >= 5);
      key("Escape"); out.push(chosen, at("filter").value, found.length === sides[0].p.ops.name.length + sides[1].p.ops.name.length);
      type("no such thing"); key("n"); out.push(found.length, chosen);''',
              [erf, True, True, 1, True, 'fused', True, True, True, True, True, None, '', True, 0, None])

  def test_groups_open_and_close(self):
    page = self.view('v.html', '-', text=chain(200, 10))
    self.look(page, '''const side = sides[0], boxes = () => { side.fit(); return side.drawn; };
      side.open = new Set([0]); side.place(); const closed = boxes(); out.push(closed < 10);
      const group = side.p.groups.findIndex((g, i) => i > 0 && g.parent === 0);
      toggle(side, group); out.push(boxes() > closed, side.open.has(group));
      toggle(side, group); out.push(boxes() === closed);
      side.open = new Set(side.p.groups.keys()); side.place(); out.push(boxes());''',
              [True, True, True, True, 202])

  def test_a_click_finds_what_is_drawn(self):
    page = self.view('v.html', BERT, '-O2')
    self.look(page, '''const side = sides[0];
      side.open = new Set(side.p.groups.keys()); side.place(); side.fit(1);
      let right = 0, wrong = 0;
      for (let op = 0; op < side.p.ops.name.length; ++op) {
        if (side.p.ops.inner[op] >= 0) continue;
        const b = side.find(OP, op), hit = side.hit((b.x + b.w / 2 - side.x) * side.scale, (b.y + b.h / 2 - side.y) * side.scale);
        if (hit && hit.kind === OP && hit.index === op) ++right; else ++wrong;
      }
      out.push(right > 50, wrong); out.push(side.hit(-1e5, -1e5));''', [True, 0, None])

  def test_boxes_of_a_page_do_not_overlap(self):
    page = self.view('v.html', BERT, '-O2')
    self.look(page, """let bad = 0, checked = 0, seed = 1;
      const random = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
      const check = (s, m) => {
        for (const row of m.group.rows) {
          let right = -Infinity;
          for (const node of row) {
            if (node >= m.group.items.length / 2) continue;
            const b = s.box(m, node);
            ++checked;
            if (b.x < right + 10 || b.x < m.x - 1 || b.x + b.w > m.x + m.w + 1 || b.y < m.y || b.y + b.h > m.y + m.h) ++bad;
            right = b.x + b.w;
          }
        }
        for (const kid of m.kids.values()) check(s, kid);
      };
      for (let k = 0; k <= 10; ++k) for (const s of sides) {
        s.open = new Set([0]);
        s.p.groups.forEach((g, i) => { if (random() < k / 10) s.open.add(i); });
        s.place();
        check(s, s.root);
      }
      out.push(bad, checked > 300);""", [0, True])

  def test_names_are_text(self):
    page = self.view('v.html', '-', '-O2', text=HOSTILE)
    self.look(page, '''type("img"); key("n"); out.push(document.title, document.images.length, document.scripts.length <= 3,
      at("details").textContent.includes(data.strings.find(s => s.includes("onerror"))));''',
              ['Program <stdin>', 0, True, True])

  def test_only_what_is_visible_is_drawn(self):
    for groups in (0, 10):
      page = self.view('v.html', '-', '--cse', text=chain(10000, groups))
      self.look(page, '''const side = sides[0]; side.open = new Set(side.p.groups.keys()); side.place(); side.fit(1);
        const drawn = []; for (let i = 0; i < 20; ++i) { side.y += side.root.h / 25; side.draw(); drawn.push(side.drawn); }
        out.push(drawn.every(n => n > 0 && n < 100), side.p.ops.name.length);''', [True, 10002])


if __name__ == '__main__':
  unittest.main()
