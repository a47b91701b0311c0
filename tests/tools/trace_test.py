"""What --trace writes. Usage: trace_test.py IR_OPT [CHROMIUM]. With a browser, its page is looked at as well."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import browser

IR_OPT = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'ir-opt'
CHROMIUM = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else ''
MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'models')
BERT = os.path.join(MODELS, 'bert.eager.ts17', 'model.onnx')
GELU = '/model/encoder/layer.0/intermediate/intermediate_act_fn/'
# A name of a node that would end the element that holds the data, and run as a program.
EVIL = '</script><script>document.title="evil"</script><img src=x onerror=alert(1)>&amp;'
HOSTILE = f'''func.func() <{{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}}> ({{
^bb0(%x: tensor<4xf32>):
  %0 = ten.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32> loc({json.dumps(EVIL)})
  %1 = ten.mul(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc({json.dumps(EVIL)})
  func.return(%1) : (tensor<4xf32>) -> ()
}}) : () -> ()
'''


def run(*arguments, text=None):
  result = subprocess.run([IR_OPT, *arguments], input=text, capture_output=True, check=False, timeout=300, encoding='utf-8')
  return result.returncode, result.stdout, result.stderr


class TraceTest(unittest.TestCase):

  def write(self, name, *arguments, text=None):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, name)
      status, _, err = run(*arguments, f'--trace={path}', '-o', '/dev/null', text=text)
      self.assertEqual(status, 0, err)
      with open(path, encoding='utf-8') as file:
        return file.read()

  def test_steps_are_those_of_bisection(self):
    trace = json.loads(self.write('t.json', BERT, '-O2'))
    self.assertEqual(trace['version'], 1)
    numbers = [step['step'] for step in trace['steps']]
    self.assertEqual(numbers, sorted(set(numbers)))
    self.assertLessEqual(numbers[-1], trace['asked'])
    status, _, err = run(BERT, '-O2', '--opt-bisect-limit=1000000', '-o', '/dev/null')
    self.assertEqual((status, err), (0, f'opt-bisect-limit: the run has {trace["asked"]} steps, all were made\n'))
    for step in trace['steps']:
      if step['name'] in ('gelu-erf', 'attention', 'cse'):
        _, _, err = run(BERT, '-O2', f'--opt-bisect-limit={step["step"]}', '-o', '/dev/null')
        name = f'pass {step["name"]} on @main' if step['kind'] == 'pass' else f'{step["name"]} of '
        self.assertIn(f'opt-bisect-limit: step {step["step"]} is {name}', err)

  def test_a_rule_with_its_operations(self):
    trace = json.loads(self.write('t.json', BERT, '-O2'))
    step = next(s for s in trace['steps'] if s['name'] == 'gelu-erf')
    self.assertEqual((step['kind'], step['pass'], step['function']), ('rule', 'fuse{before=packing}', 'main'))
    self.assertRegex(step['place'], r'^patterns/activations/gelu\.cc:\d+$')
    self.assertEqual(step['nodes'], [GELU + node for node in ('Mul_1', 'Mul', 'Add', 'Erf', 'Div')])
    self.assertEqual([made['op'] for made in step['made']], ['nn.gelu'])
    self.assertEqual(sorted(step['made'][0]['from']), sorted(step['nodes']))
    self.assertEqual(re.findall(r'ten\.\w+', step['before']), ['ten.div', 'ten.erf', 'ten.add', 'ten.mul', 'ten.mul'])
    self.assertEqual(re.findall(r'(?:ten|nn)\.\w+', step['after']), ['nn.gelu'])

  def test_both_sides_are_programs_that_compute_the_same(self):
    trace = json.loads(self.write('t.json', BERT, '-O2'))
    checked = 0
    for step in trace['steps']:
      if step['kind'] == 'pass' or 'dense_resource' in step['before'] + step['after']:
        continue
      self.assertTrue(step['before'] and step['after'], step['step'])
      for text in (step['before'], step['after']):
        status, _, err = run('-', '-o', '/dev/null', text=text)
        self.assertEqual(status, 0, err + text)
      arguments = [re.search(r'\^bb0\((.*)\):', text) for text in (step['before'], step['after'])]
      self.assertEqual(*(match and match[1] for match in arguments))
      checked += 1
    self.assertGreater(checked, 20)

  def test_a_pass_shows_the_lines_that_it_changes(self):
    trace = json.loads(self.write('t.json', BERT, '-O2'))
    step = next(s for s in trace['steps'] if s['name'] == 'sink-expands')
    self.assertEqual((step['kind'], step['nodes'], step['made']), ('pass', [], []))
    self.assertIn('ten.expand', step['before'])
    self.assertNotIn('ten.expand', step['after'])
    self.assertLess(len(step['before'].split('\n')), 12)

  def test_equal_runs_give_equal_bytes(self):
    for name in ('t.json', 't.html'):
      self.assertEqual(self.write(name, BERT, '-O2'), self.write(name, BERT, '-O2'))

  def test_the_page_needs_nothing_else(self):
    page = self.write('t.html', BERT, '-O2')
    without_data = re.sub(r'<script type="application/json".*?</script>', '', page, flags=re.S)
    self.assertNotRegex(without_data, r'(src|href)\s*=|https?:|@import|url\(')
    self.assertIn("default-src 'none'", page)
    data = re.search(r'<script type="application/json" id="trace">(.*?)</script>', page, re.S)[1]
    self.assertNotIn('<', data)
    self.assertEqual(json.loads(data), json.loads(self.write('t.json', BERT, '-O2')))

  def test_names_stay_data(self):
    page = self.write('t.html', '-', '-O2', text=HOSTILE)
    self.assertEqual(page.count('<script'), 2)
    self.assertNotIn('<img', page)
    data = re.search(r'<script type="application/json" id="trace">(.*?)</script>', page, re.S)[1]
    steps = json.loads(data)['steps']
    self.assertEqual(steps[0]['nodes'], [EVIL])

  def test_wrong_names_of_files(self):
    for name in ('t.txt', 't'):
      status, _, err = run(BERT, '-O2', f'--trace={name}')
      self.assertEqual((status, err), (2, f"ir-opt: --trace is '{name}' (expected FILE.html or FILE.json)\n"))
    self.assertEqual(run(BERT, '--trace=t.json')[0], 2)  # no passes


@unittest.skipUnless(CHROMIUM, 'needs chromium')
class PageTest(unittest.TestCase):
  write = TraceTest.write

  def look(self, page, script, expected):
    """`script` puts what it sees into `out`."""
    self.assertEqual(browser.look(CHROMIUM, page, script), expected)

  def test_keys_filter_and_panes(self):
    page = self.write('t.html', BERT, '-O2')
    steps = json.loads(self.write('t.json', BERT, '-O2'))['steps']
    title = lambda s: f'Step {s["step"]}: ' + ('fold' if s['kind'] == 'fold' else f'{s["kind"]} {s["name"]}')
    gelu = [s for s in steps if s['name'] == 'gelu-erf']
    found = [s for s in steps if 'gelu-erf' in '\n'.join([s['name'], *s['nodes'], s['before'], s['after']])]
    self.look(page, 'out.push(at("title").textContent); key("j"); out.push(at("title").textContent);'
              'key("ArrowDown"); key("k"); out.push(at("title").textContent); at("next").click();'
              'out.push(at("title").textContent); at("previous").click(); key("p"); key("p");'
              'out.push(at("title").textContent);',
              [title(steps[i]) for i in (0, 1, 1, 2, 0)])
    self.look(page, 'type("gelu-erf"); out.push(at("list").children.length, at("title").textContent,'
              'at("before").textContent.trim(), at("after").textContent.trim(), at("count").textContent);'
              'out.push(document.querySelectorAll("#after .new").length > 0);'
              'type("no such thing"); out.push(at("title").textContent, at("before").textContent.trim());',
              [len(found), title(gelu[0]), gelu[0]['before'].strip(), gelu[0]['after'].strip(),
               f'{len(found)} of {len(steps)} steps', True, 'No step', ''])

  def test_names_are_text(self):
    page = self.write('t.html', '-', '-O2', text=HOSTILE)
    self.look(page, 'out.push(document.title, document.images.length, at("facts").textContent.includes(trace.steps[0].nodes[0]));',
              ['Rewrite trace of <stdin>', 0, True])


if __name__ == '__main__':
  unittest.main()
