"""What ir-opt tells about things, passes and runs. Usage: ir_opt_debug_test.py PATH_OF_IR_OPT."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

IR_OPT = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'ir-opt'
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, 'tests/models')
MODEL = os.path.join(MODELS, 'bert.eager.ts17/model.onnx')

TEXT = '''func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = ten.abs(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = ten.abs(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = ten.add(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%2) : (tensor<2xf32>) -> ()
}) : () -> ()
'''
# No kernel runs it.
OPAQUE = TEXT.replace('ten.add(', 'onnx.Nothing(')
WRONG = TEXT.replace('%0 = ten.abs', '%0 = ten.abss')


def ir_opt(*args, text=TEXT):
  result = subprocess.run([IR_OPT, *args], input=text.encode(), capture_output=True, check=False, timeout=300)
  return result.returncode, result.stdout.decode(), result.stderr.decode()


class InFolder(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, self.folder)

  def path(self, name, text=None):
    path = os.path.join(self.folder, name)
    if text is not None:
      with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path

  def read(self, name):
    with open(os.path.join(self.folder, name), encoding='utf-8') as file:
      return file.read()

  def ok(self, *args, text=TEXT):
    status, out, err = ir_opt(*args, text=text)
    self.assertEqual(status, 0, err)
    return out, err


class Describe(InFolder):

  def test_kinds(self):
    for name, parts in [
        ('cse', ['cse: pass on func.func\n  Merges equal operations\n', 'Statistics:\n    ops-merged  operations replaced']),
        ('constant-fold', ['Options:\n    max-bytes ', '(default: 65536)', 'skipped-too-large']),
        ('plan-memory', ['Properties of the module:\n    needs        lowered\n    establishes  planned\n']),
        ('O1', ['O1: pipeline\n', '\n  = fold-parameters,infer-shapes,']),
        ('ten.matmul', ['ten.matmul: operation of dialect ten\n', 'Operands:\n', 'Results:\n', 'Kernels:\n    cpu.matmul', 'ref.matmul', 'Traits: pure']),
        ('nn.softmax', ['Attributes:\n    axis  i64 (required)\n']),
        ('cf.cond_br', ['Successors:\n', 'Traits: ', 'terminator']),
        ('cpu.softmax', ['cpu.softmax: kernel of nn.softmax\n  Runs on the CPU']),
        ('ten', ['ten: dialect of ', 'ten.matmul ']),
        ('gelu-erf', ['// activation (fuse), patterns/', 'rule gelu-erf {\n', 'replace nn.gelu(x)']),
        ('norm', ['norm (fuse): family of ', '\n  Rules:\n']),
    ]:
      with self.subTest(name=name):
        out, err = self.ok('--describe', name, text='')
        self.assertEqual(err, '')
        for part in parts:
          self.assertIn(part, out)
    for name, nearest in [('csee', 'cse'), ('ten.matmull', 'ten.matmul'), ('relu', 'ten.relu'), ('gelu-err', 'gelu-erf'), ('nrom', 'norm')]:
      status, out, err = ir_opt(f'--describe={name}', text='')
      self.assertEqual((status, out), (2, ''))
      self.assertIn(f"kernel, rule or family '{name}'; did you mean '{nearest}'?", err)

  def test_what_files_declare(self):
    rules = self.path('r.drr', 'rule half-of { match neg(my.halve(x)) replace my.halve(neg(x)) lowers before(my.halve, neg) }\n')
    ops = self.path('ops.drr', 'op my.halve(x: float) -> elementwise')
    options = (f'--rules={rules}', f'--load-ops={ops}')
    self.assertIn('rule half-of {\n', self.ok('--describe=half-of', *options)[0])
    self.assertIn('my.halve: operation of dialect my\n', self.ok('--describe=my.halve', *options)[0])
    self.assertEqual(ir_opt('--describe=half-of')[0], 2)

  def test_everything_that_is_listed(self):
    """Passes with their statistics, over models that make them count."""
    names = re.findall(r'^  --?([a-zA-Z][\w-]*)', self.ok('--list-passes', text='')[0], re.M)
    self.assertGreater(len(names), 40)
    texts = {name: self.ok('--describe', name, text='')[0] for name in names}
    counted = 0
    for model in ('bert.eager.ts17', 'squeezenet_bn.eager.ts13'):
      model = os.path.join(MODELS, model, 'model.onnx')
      for passes in (['-O3', '--lower'], ['-O1', '--compress-weights', '--expand-layers', '--expand-fused', '--topological-sort', '--strip-locations', '--print-op-stats']):
        status, _, err = ir_opt(model, *passes, '--pass-statistics-json', '-o', '/dev/null', text='')
        self.assertEqual(status, 0, err)
        report = json.loads(err.splitlines()[-1])
        for row in report['passes']:
          for counter in row['statistics']:
            counted += 1
            described = re.findall(r'^    (\S+) ', texts[row['name']].partition('Statistics:')[2], re.M)
            self.assertTrue('*' in described or '/' in counter or counter in described, (row, described))
    self.assertGreater(counted, 30)


class Diagnostics(InFolder):

  def status_of(self, comment):
    text = WRONG.replace('  %0', f'  // {comment}\n  %0')
    return ir_opt('-', '--verify-diagnostics', text=text)

  def test_regular_expressions(self):
    for comment in (r"expected-error-re@+1 {{unknown op 'ten\.{{[a-z]+}}' in dialect}}",
                    "expected-error-re@below {{unknown {{op|type}} 'ten.abss'}}", 'expected-error-re@+1 {{did you mean}}',
                    "expected-error-re@+1 {{ten.ab{{s{2}}}'}}", 'expected-error-re@+1 {{{{^unknown op}}}}', 'expected-error-re@+1 1 {{{{s{2}}}}}'):
      with self.subTest(comment=comment):
        comment = comment.replace(r'\.', '.')
        status, _, err = self.status_of(comment)
        self.assertEqual(status, 0, err)
    for comment, message in ((r"expected-error-re@+1 {{unknown op 'ten.{{[0-9]+}}'}}", 'was not produced'), ("expected-error-re@+1 {{ten[.]abss}}", 'was not produced'),
                             (r"expected-error@+1 {{unknown op 'ten.{{[a-z]+}}'}}", 'was not produced'), ('expected-warning-re@+1 {{{{.*}}}}', 'was not produced')):
      with self.subTest(comment=comment):
        status, _, err = self.status_of(comment)
        self.assertEqual(status, 1, err)
        self.assertIn(message, err)
    status, _, err = self.status_of('expected-error-re@+1 {{a {{(}} b}}')
    self.assertEqual(status, 2)
    self.assertIn('<stdin>: line 3: missing )', err)
    self.assertEqual(self.status_of('expected-error-re@+1 {{a {{b}}')[0], 2)


class Printing(InFolder):

  def test_diff(self):
    _, err = self.ok('-', '--cse', '--dce', '--print-ir-diff')
    self.assertEqual(err.count('-----// IR'), 1)
    self.assertIn("// -----// IR Diff After cse ('func.func' operation: @f) //----- //\n--- before cse\n+++ after cse\n@@ -", err)
    self.assertIn('\n-  %1 = ten.abs(%x)', err)
    self.assertIn('\n+  %1 = ten.add(%0, %0)', err)
    # Of the named passes only; a pass that changes nothing has none.
    self.assertNotIn('Diff', self.ok('-', '--cse', '--dce', '--print-ir-diff', '--print-ir-after=dce')[1])
    self.assertIn('Dump Before cse', self.ok('-', '--cse', '--print-ir-diff', '--print-ir-before=cse')[1])
    # One diff for each change that is dumped, for any number of threads.
    _, whole = ir_opt(MODEL, '-O2', '--print-ir-after-change', '-o', '/dev/null', text='')[1:]
    _, diffs = ir_opt(MODEL, '-O2', '--print-ir-diff', '-o', '/dev/null', text='')[1:]
    titles = lambda text: re.findall(r"// IR \w+ After (.*) //-", text)
    self.assertEqual([t for t in titles(whole) if t in titles(diffs)], titles(diffs))
    self.assertGreater(len(titles(diffs)), 3)
    self.assertLess(len(diffs), len(whole) / 2)

  def test_a_diff_is_a_patch(self):
    if shutil.which('patch') is None:
      self.skipTest('needs patch')
    self.ok('-', '--cse', '--print-ir-before=cse', '--print-ir-after=cse', f'--print-ir-tree-dir={self.path("whole")}')
    self.ok('-', '--cse', '--print-ir-diff', f'--print-ir-tree-dir={self.path("diff")}')
    place = 'builtin_module_no-symbol-name/func_func_f/0_0_cse'
    file = self.path('whole/' + place + '.before.mlir')
    subprocess.run(['patch', '-s', file, self.path('diff/' + place + '.diff')], check=True, timeout=60)
    self.assertEqual(self.read(file), self.read('whole/' + place + '.mlir'))

  def test_tree(self):
    tree = self.path('tree')
    text = TEXT + TEXT.replace('"f"', '"../g h"')
    _, err = self.ok('-', '--cse', '--pass-pipeline=canonicalize,dce', '--print-ir-after-all', f'--print-ir-tree-dir={tree}', '-j2', text=text)
    self.assertEqual(err, '')
    found = sorted(os.path.join(os.path.relpath(at, tree), file) for at, _, files in os.walk(tree) for file in files)
    self.assertEqual(found, [f'builtin_module_no-symbol-name/func_func_{name}/0_{place}.mlir'
                             for name in ('___g_h', 'f') for place in ('0_cse', '1_canonicalize', '2_dce')])
    self.assertTrue(self.read('tree/' + found[3]).startswith('func.func() <{'))
    for used in (tree, self.path('file', 'x')):
      status, _, err = ir_opt('-', '--cse', '--print-ir-after-all', f'--print-ir-tree-dir={used}')
      self.assertEqual(status, 2)
      self.assertIn('is there (expected a new or an empty folder)', err)
    status, _, err = ir_opt('-', '--cse', '--print-ir-after-all', '--print-ir-tree-dir=/proc/nowhere')
    self.assertNotEqual(status, 0)
    self.assertIn('cannot be created', err)

  def test_module_scope(self):
    text = TEXT + TEXT.replace('"f"', '"g"')
    for threads in ('-j1', '-j2'):
      _, err = self.ok('-', '--cse', '--print-ir-after-change', '--print-ir-module-scope', threads, text=text)
      dumps = err.split('// -----//')[1:]
      self.assertEqual(len(dumps), 2)
      self.assertEqual([dump.count('ten.abs') for dump in dumps], [3, 2])
      self.assertTrue(all('sym_name = "g"' in dump for dump in dumps))


class Reports(InFolder):

  def test_statistics(self):
    _, err = self.ok('-', '--cse', '--canonicalize', '--pass-statistics-json')
    report = json.loads(err)
    self.assertEqual(report['passes'][0], {'name': 'cse', 'number': '0_0', 'statistics': {'ops-merged': 1}})
    self.assertIsInstance(report['rules'], dict)
    _, err = self.ok(MODEL, '-O2', '--pass-statistics-json', '-o', '/dev/null', text='')
    self.assertEqual(json.loads(err.splitlines()[-1])['rules']['gelu-erf'], 2)

  def test_timing(self):
    _, err = self.ok('-', '--cse', '--timing')
    self.assertRegex(err, r'(?s)Name----\n .*\(read\)\n.* cse\n.*\(verify\)\n.*\(write\)\n.* Total\n$')
    total, *lines = [float(row) for row in re.findall(r'^ +(?:Total: )?([\d.]+) (?:seconds|\()', err, re.M)]
    self.assertAlmostEqual(total, lines[-1])
    _, err = self.ok('-', '--cse', '--timing-json')
    report = json.loads(err)
    self.assertEqual(report['name'], 'builtin.module')
    self.assertEqual(report['children'][0]['children'][0]['name'], 'cse')
    self.assertGreater(report['read_seconds'], 0)
    self.assertGreater(report['write_seconds'], 0)
    _, err = self.ok('-', '--cse', '--timing', '--split-input-file', text=f'{TEXT}// -----\n{TEXT}')
    self.assertEqual(err.count('(read)'), 2)
    out = self.path('out.onnx')
    _, err = self.ok(MODEL, '--simplify', '--timing-json', '-o', out, text='')
    self.assertGreater(json.loads(err.splitlines()[-1])['write_seconds'], 0)

  def test_roundtrip(self):
    # Names of values, places, unknown operations, attributes of all kinds, large constants.
    strange = TEXT.replace('%0 = ten.abs(%x)', '%0 = "a.b"(%x) {k = array<i64: 1>, u, s = "\\22\\00"}').replace('%1', '%"a name"')
    for options in (['-'], ['-', '--cse'], [MODEL, '-O2'], [MODEL]):
      with self.subTest(options=options):
        _, err = self.ok(*options, '--verify-roundtrip', '--allow-unregistered-dialect', '-o', '/dev/null', text=TEXT)
        self.assertEqual(err, '')
    status, _, err = ir_opt('-', '--verify-roundtrip', '--allow-unregistered-dialect', text=strange)
    self.assertIn(status, (0, 2), err)  # a name that the text cannot have is an error of reading
    for model in sorted(os.listdir(MODELS))[::12]:
      model = os.path.join(MODELS, model, 'model.onnx')
      if os.path.exists(model):
        self.ok(model, '-O2', '--lower', '--verify-roundtrip', '-o', '/dev/null', text='')


class Reproducers(InFolder):

  OPTION = '--pass-pipeline-crash-reproducer'

  def test_a_pass_that_fails(self):
    file = self.path('r.mlir')
    status, _, err = ir_opt('-', '-O1', '--lower', f'{self.OPTION}={file}', text=OPAQUE)
    self.assertEqual(status, 3, err)
    self.assertIn(f'ir-opt: {file} repeats this: ir-opt {file} --run-reproducer\n', err)
    self.assertIn('external_resources', self.read(file))
    again, _, same = ir_opt(file, '--run-reproducer')
    self.assertEqual(again, 3)
    self.assertEqual(same.splitlines()[-1].split(':')[-1], [line for line in err.splitlines() if 'repeats' not in line][-1].split(':')[-1])
    # Only the pass that fails, and what came before it in the program.
    local = self.path('l.mlir')
    ir_opt('-', '-O1', '--lower', f'--mlir-pass-pipeline-crash-reproducer={local}', '--mlir-pass-pipeline-local-reproducer', text=OPAQUE)
    pipeline = re.search(r'pipeline: "(.*)"', self.read(local))[1]
    self.assertRegex(pipeline, r'^builtin\.module\((func\.func\()?lower-to-kernels[^,]*\)$')
    self.assertEqual(self.read(local).count('ten.abs'), 1)
    self.assertEqual(ir_opt(local, '--run-reproducer')[0], 3)
    # As text it is a program.
    self.assertIn('onnx.Nothing', self.ok(file)[0])

  def test_options(self):
    rules = self.path('my rules.drr', 'rule wrong { match abs(x) replace neg(x) lowers "absolutes" }\n')
    file = self.path('r.mlir')
    line = ['--apply-rules=file="' + rules + '"', '--verify-semantics', '--fast-math', '--max-trips=77', '--disable-rules=gelu-erf']
    status, _, err = ir_opt('-', *line, f'{self.OPTION}={file}')
    self.assertEqual(status, 1, err)
    again, _, same = ir_opt(file, '--run-reproducer')
    self.assertEqual(again, 1)
    self.assertIn('changed what the program computes', same)
    for option in ('--verify-semantics', '--fast-math', '--max-trips=77', '--disable-rules=gelu-erf'):
      self.assertIn(option, self.read(file))
    status, _, err = ir_opt(file, '--run-reproducer', '--cse')
    self.assertEqual(status, 2)
    self.assertIn('--run-reproducer runs the passes of its file', err)
    for text, message in ((TEXT, 'holds no mlir_reproducer'), ('', 'holds no mlir_reproducer')):
      status, _, err = ir_opt(self.path('none.mlir', text), '--run-reproducer')
      self.assertEqual(status, 2)
      self.assertIn(message, err)
    self.assertEqual(ir_opt('-', '--run-reproducer')[0], 2)
    # As mlir-opt writes them.
    self.path('theirs.mlir', TEXT + '{-#\n  external_resources: {\n    mlir_reproducer: {\n      verify_each: true,\n'
              '      pipeline: "builtin.module(func.func(cse))",\n      disable_threading: true\n    }\n  }\n#-}\n')
    self.assertEqual(self.ok(self.path('theirs.mlir'), '--run-reproducer')[0].count('ten.abs'), 1)

  def test_files_of_strangers(self):
    """They name neither code nor outputs, and lift no limit."""
    marker, loops = self.path('marker'), '--max-trips=5000000'

    def held(*arguments):
      lines = ''.join(argument.replace('"', '\\22') + '\\n' for argument in arguments)
      return self.path('theirs.mlir', TEXT + '{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: "cse",\n'
                       f'      arguments: "{lines}"\n    }}\n  }}\n#-}}\n')

    for argument in ('-o=' + marker, f'-o{marker}', f'--trace={marker}.html', f'--fusion-report={marker}', f'--view={marker}.svg',
                     f'--print-ir-tree-dir={marker}', f'--pass-pipeline-crash-reproducer={marker}', f'--save-params={marker}',
                     f'--load-plugin={marker}.so', '--external-data=/', '--params=/etc/passwd', '--help', '--run-reproducer', '--cse',
                     marker, '--', '-', '--max-trips=0', loops, '--max-memory=9000000G', '--max-input=9G', '--max-message=1G'):
      with self.subTest(argument=argument):
        status, out, err = ir_opt(held('--verify-each=false', argument), '--run-reproducer')
        self.assertEqual((status, out), (2, ''))
        self.assertIn(f"theirs.mlir: the file holds '{argument}', ", err)
        self.assertEqual(os.listdir(self.folder), ['theirs.mlir'])
    self.assertEqual(ir_opt(held('--rules'), '--run-reproducer')[0], 2)
    # The command line may.
    self.ok(held('--max-trips=0', '--verify-each=false'), '--run-reproducer', loops)
    self.ok(held('--max-trips=7', '--max-nesting=100'), '--run-reproducer', '-o', marker)
    self.assertIn('ten.', self.read(marker))

  def test_what_a_run_that_is_well_may_not_remove(self):
    file, fifo, link = self.path('in.mlir', TEXT), self.path('fifo'), self.path('link.mlir')
    os.mkfifo(fifo)
    os.symlink('in.mlir', link)
    os.link(file, self.path('hard.mlir'))
    os.symlink('/dev/null', self.path('null'))
    before = sorted(os.listdir(self.folder))
    for name, message in (('in.mlir', 'the input'), ('link.mlir', 'the input'), ('hard.mlir', 'the input'), ('./fifo', 'not a regular file'),
                          ('null', 'not a regular file'), ('.', 'Is a directory'), ('in.onnx', 'the name promises an ONNX model')):
      with self.subTest(name=name):
        status, _, err = ir_opt(file, '-O2', f'{self.OPTION}={self.path(name)}')
        self.assertEqual(status, 2)
        self.assertIn(message, err)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertEqual(self.read('in.mlir'), TEXT)
    # The file behind a link goes away, and not the link.
    os.symlink('made.mlir', self.path('new.mlir'))
    self.ok(file, '-O2', f'{self.OPTION}={self.path("new.mlir")}')
    self.assertEqual(sorted(os.listdir(self.folder)), sorted(before + ['new.mlir']))

  def test_outputs_of_passes_that_are_lost(self):
    """They are no failure of a pass."""
    def limit():
      signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
      resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    file = self.path('in.mlir', TEXT)
    for line in (['--print-ir-after-all', f'--print-ir-tree-dir={self.path("tree")}'], [f'{self.OPTION}={self.path("r.mlir")}']):
      result = subprocess.run([IR_OPT, file, '-O2', '-o', '/dev/null', *line], capture_output=True, check=False, timeout=300, preexec_fn=limit)
      self.assertEqual(result.returncode, 2, result.stderr)
      self.assertIn(b'File too large', result.stderr)

  def test_a_run_that_is_well_leaves_none(self):
    for local in ([], ['--pass-pipeline-local-reproducer']):
      out, err = self.ok('-', '-O2', f'{self.OPTION}={self.path("r.mlir")}', *local)
      self.assertEqual((os.listdir(self.folder), err), ([], ''))
      self.assertEqual(out, self.ok('-', '-O2')[0])

  def test_fatal_signals(self):
    for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL):
      with self.subTest(number=number):
        file = self.path('r.mlir')
        # Nobody reads what it prints, so that it waits amid its passes.
        with subprocess.Popen([IR_OPT, MODEL, '-O2', '--print-ir-after-all', f'{self.OPTION}={file}', '-o', '/dev/null'],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
          for _ in range(1000):
            if os.path.exists(file):
              break
            time.sleep(0.05)
          time.sleep(0.5)
          process.send_signal(number)
          err = process.communicate(timeout=120)[1].decode()
          sanitized = os.environ.get('TENON_SANITIZED') == '1'  # sanitizers end the program themselves
          self.assertIn(process.returncode, (-number, 1) if sanitized and number == signal.SIGSEGV else (-number,))
        if number != signal.SIGKILL and not sanitized:
          self.assertIn(f'ir-opt: {file} repeats this: ', err)
        self.assertIn('fused.attention', self.ok(file, '--run-reproducer', '--elide-resources')[0])
        os.remove(file)


class ExternalData(InFolder):

  def test_on_request(self):
    model, data = self.path('m.onnx'), self.path('m.weights')
    self.ok(MODEL, '--simplify', '-o', model, f'--external-data-out={data}', text='')
    self.assertGreater(os.path.getsize(data), 10 * os.path.getsize(model) // 100)
    inline = self.path('i.onnx')
    self.ok(MODEL, '--simplify', '-o', inline, text='')
    self.assertEqual(self.ok(model, text='')[0], self.ok(inline, text='')[0])
    os.mkdir(self.path('deep'))
    self.ok(model, '--simplify', '-o', self.path('n.onnx'), f'--external-data-out={self.path("deep/w")}', text='')
    twice = self.path('twice.onnx')
    self.ok(inline, '--simplify', '-o', twice, text='')
    self.assertEqual(self.ok(self.path('n.onnx'), text='')[0], self.ok(twice, text='')[0])
    before = sorted(os.listdir(self.folder))
    for out, weights, message in [
        (model, '/tmp/outside.weights', 'external data lies in the folder of its model'),
        (self.path('deep/o.onnx'), self.path('w'), 'external data lies in the folder of its model'),
        (self.path('o.onnx'), data, 'which the model needs (expected another name)'),
        (self.path('o.onnx'), model, 'which is the input (expected another name)'),
        (self.path('o.onnx'), self.path('o.onnx'), 'both write'),
        (self.path('o.onnx'), self.path('nowhere/w'), 'cannot be created'),
        (self.path('o.onnx'), '/dev/full', 'expected a regular file'),
        ('-', self.path('w'), '--external-data-out has no effect where no ONNX model is written'),
        (self.path('o.mlir'), self.path('w'), '--external-data-out has no effect where no ONNX model is written'),
    ]:
      with self.subTest(out=out, weights=weights):
        status, _, err = ir_opt(model, '--simplify', '-o', out, f'--external-data-out={weights}', text='')
        self.assertEqual(status, 2, err)
        self.assertIn(message, err)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
    self.assertEqual(self.ok(model, text='')[0], self.ok(inline, text='')[0])

  def test_no_room(self):
    import resource  # pylint: disable=import-outside-toplevel

    def limit():
      signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
      resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))

    result = subprocess.run([IR_OPT, MODEL, '--simplify', '-o', self.path('m.onnx'), f'--external-data-out={self.path("w")}'],
                            stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300, preexec_fn=limit)
    self.assertEqual(result.returncode, 2)
    self.assertIn(b'w: cannot be written: File too large', result.stderr)
    self.assertEqual(os.listdir(self.folder), [])

  def test_checker(self):
    try:
      import onnx.checker  # pylint: disable=import-outside-toplevel
    except ImportError:
      self.skipTest('needs the Python package onnx')
    model = self.path('m.onnx')
    self.ok(MODEL, '--simplify', '-o', model, f'--external-data-out={self.path("w")}', text='')
    onnx.checker.check_model(model, full_check=True)
    tensors = [t for t in onnx.load(model, load_external_data=False).graph.initializer if t.external_data]
    self.assertGreater(len(tensors), 10)
    for tensor in tensors:
      entries = {entry.key: entry.value for entry in tensor.external_data}
      self.assertEqual((entries['location'], int(entries['offset']) % 4096), ('w', 0))


if __name__ == '__main__':
  unittest.main()
