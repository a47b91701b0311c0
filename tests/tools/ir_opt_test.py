"""Runs ir-opt as a user does. Usage: ir_opt_test.py PATH_OF_IR_OPT."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

IR_OPT = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith('-') else 'ir-opt'
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = os.path.join(ROOT, 'tests/models/bert.eager.ts17/model.onnx')

GOOD = '''func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = ten.abs(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = ten.abs(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = ten.add(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%2) : (tensor<2xf32>) -> ()
}) : () -> ()
'''
BAD = GOOD.replace('%0 = ten.abs', '%0 = ten.abss')


def ir_opt(*args, text=None):
  data = text.encode() if isinstance(text, str) else text
  result = subprocess.run([IR_OPT, *args], input=data, capture_output=True, check=False, timeout=120)
  return result.returncode, result.stdout.decode(), result.stderr.decode()


class IrOptTest(unittest.TestCase):

  def run_ok(self, *args, text=GOOD):
    status, out, err = ir_opt(*args, text=text)
    self.assertEqual(status, 0, err)
    return out

  def test_prints_what_it_reads(self):
    once = self.run_ok('-')
    self.assertEqual(self.run_ok('-', text=once), once)
    self.assertIn('ten.add(', once)

  def test_generic_form_and_alias(self):
    generic = self.run_ok('-', '--print-generic')
    self.assertIn('"ten.add"(', generic)
    self.assertEqual(self.run_ok('-', '--mlir-print-op-generic'), generic)
    self.assertEqual(self.run_ok('-', text=generic), self.run_ok('-').replace('%x', '%arg0'))  # it has no names

  def test_locations(self):
    self.assertIn('"<stdin>":3:', self.run_ok('-', '--mlir-print-debuginfo'))

  def test_passes_by_flag_and_by_pipeline(self):
    by_flag = self.run_ok('-', '--cse')
    self.assertEqual(by_flag.count('ten.abs'), 1)
    self.assertEqual(self.run_ok('-', '--pass-pipeline=builtin.module(func.func(cse))'), by_flag)
    self.assertEqual(self.run_ok('-', '--pass-pipeline', 'cse'), by_flag)

  def test_order_is_that_of_the_command_line(self):
    status, _, err = ir_opt('-', '--dump-pass-pipeline', '--dce', '--pass-pipeline=cse', '--dce', text=GOOD)
    self.assertEqual(status, 0, err)
    self.assertLess(err.index('dce'), err.index('cse'))
    self.assertLess(err.index('cse'), err.rindex('dce'))

  def test_a_printed_pipeline_can_be_read(self):
    for pipeline in ['O2', 'fuse', 'fuse{before=packing}', 'compress-weights']:
      status, _, printed = ir_opt('-', '--dump-pass-pipeline', '--pass-pipeline=' + pipeline, text=GOOD)
      self.assertEqual(status, 0, printed)
      status, _, again = ir_opt('-', '--dump-pass-pipeline', '--pass-pipeline=' + printed.strip(), text=GOOD)
      self.assertEqual((status, again), (0, printed))

  def test_output_file(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'out.mlir')
      self.assertEqual(self.run_ok('-', '-o', path), '')
      with open(path, encoding='utf-8') as f:
        self.assertEqual(f.read(), self.run_ok('-'))
      self.assertNotEqual(ir_opt('-', '-o', path, text=BAD)[0], 0)
      self.assertEqual(os.listdir(folder), ['out.mlir'])  # no temporary, and the old result stays
      with open(path, encoding='utf-8') as f:
        self.assertIn('ten.add', f.read())

  def test_standard_output_by_its_name(self):
    ir = self.run_ok('-')
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'log')
      with open(path, 'w', encoding='utf-8') as log:
        log.write('before\n')
        log.flush()
        for _ in range(2):  # neither is what came before replaced, nor what comes after lost
          subprocess.run([IR_OPT, '-', '-o', '/dev/stdout'], input=GOOD.encode(), stdout=log, check=True, timeout=120)
      with open(path, encoding='utf-8') as f:
        self.assertEqual(f.read(), 'before\n' + ir + ir)

  def test_parts(self):
    status, out, _ = ir_opt('-', '--split-input-file', text=f'{GOOD}// -----\n{BAD}// -----\n{GOOD}')
    self.assertNotEqual(status, 0)
    self.assertEqual(out.split('// -----\n'), [self.run_ok('-'), '', self.run_ok('-')])

  def test_opaque_rules(self):
    lines = self.run_ok('--list-rules=opaque').splitlines()
    opaque, rules = map(int, re.fullmatch(r'(\d+) of (\d+) rules have parts that only C\+\+ says', lines[-1]).groups())
    self.assertEqual(len(lines), opaque + 1)
    self.assertLessEqual(opaque * 10, rules)
    for line in lines[:-1]:
      self.assertRegex(line, r'^[a-z0-9-]+ +[a-z].+  \[patterns/.+:\d+\]$')

  def test_wrong_use(self):
    cases = [
        (['-', '-O9'], 'there is no level -O9 (expected -O0 to -O3)'),
        (['-', '-O99'], 'there is no level -O99 (expected -O0 to -O3)'),
        (['-', '--cs'], "unknown option '--cs'; did you mean '--cse'?"),
        (['-', '--print-generc'], "did you mean '--print-generic'?"),
        (['-', '--pass-pipeline=cse,csee'], "pipeline:1:5: unknown pass 'csee'; did you mean 'cse'?\n  cse,csee\n      ^"),
        (['-', '--cse=x=1'], "pipeline:1:1: pass 'cse' has no option 'x'"),
        (['-', '--pass-pipeline=fuse{rules=norm,linaer}'], "'linaer' (expected some of norm, activation, gated, quantized,"),
        (['-', '--pass-pipeline=fuse{from=linaer}'], "'linaer' (expected one of norm, activation, gated, quantized,"),
        (['-', '-o'], "-o needs a value (FILE)"),
        (['-', '--timing=maybe'], "'maybe' (expected true or false)"),
        (['-', '--list-ops=x'], "--list-ops takes no value"),
        (['--list-rules='], "--list-rules= needs a value (RULE)"),
        (['--check-rules='], "--check-rules= needs a value (FILE)"),
        (['-', '--O2='], "-O2= needs a value (its options)"),
        (['-', '--cse='], "--cse= needs a value (its options)"),
        (['--list-rules=nowhere'], "there is no rule 'nowhere'"),
        (['--list-rules=silu@node'], "--list-rules is 'silu@node' (expected a rule, a family, the start of names or a pattern)"),
        (['-', '--explain'], "--explain needs a value"),
        (['-', '-O2', '--explain=@x'], "'@x' names no rule or no node (expected RULE or RULE@NODE)"),
        (['-', '-O2', '--explain=norm@'], "'norm@' names no rule or no node"),
        (['-', '--rules=/nowhere'], '/nowhere: rules cannot be read: No such file or directory'),
        ([''], 'an empty argument (expected a file)'),
        (['-', '-=x'], 'an option without a name'),
        (['-', '--print-ir-after=csee'], "no pass 'csee' to print before or after; did you mean 'cse'?"),
        (['-', 'b.mlir'], "a second input 'b.mlir'"),
        (['-', '-o', 'a', '-o=b'], "-o is given twice: 'a', then 'b' (expected once)"),
        (['-', '--timing', '--timing=false'], "--timing is given twice: 'true', then 'false'"),
        (['-', '--explain=norm', '--explain=conv'], "--explain is given twice: 'norm', then 'conv'"),
        (['--check-rules', 'my.drr'], "'my.drr' beside --check-rules (expected --check-rules=my.drr)"),
        (['/nowhere/x.mlir'], '/nowhere/x.mlir: cannot open: No such file'),
        (['-', '--inputs=.'], '--inputs goes with --verify-semantics'),
        (['-', '--verify-semantics', '--inputs=/nowhere'], '--inputs: /nowhere is not a folder'),
        (['-', '-o', '/nowhere/x.mlir'], '/nowhere/x.mlir: cannot be created: No such file'),
        (['-', '--cse', '--fusion-report=/nowhere/x.json'], '/nowhere/x.json: cannot be created: No such file'),
    ]
    for args, message in cases:
      with self.subTest(args=args):
        status, out, err = ir_opt(*args, text=GOOD)
        self.assertEqual((status, out), (2, ''))
        self.assertIn(message, err)

  def test_broken_input(self):
    status, out, err = ir_opt('-', text=BAD)
    self.assertEqual((status, out), (2, ''))
    self.assertIn("<stdin>:3:8: error: unknown op 'ten.abss' in dialect 'ten'; did you mean 'ten.abs'?", err)
    for text in (b'\x08\x07', b'\x00', os.urandom(300), GOOD[:-30], '"' * 1000, '(' * 100000):
      with self.subTest(text=text[:20]):
        status, out, err = ir_opt('-', text=text)
        self.assertEqual((status, out), (2, ''))
        self.assertNotEqual(err, '')

  def test_empty_input_is_an_error(self):
    status, _, err = ir_opt('-', text='')
    self.assertEqual(status, 2)
    self.assertIn('<stdin>: the file is empty', err)

  def test_split_input_file(self):
    status, out, err = ir_opt('-', '--split-input-file', text=GOOD + '// -----\n' + BAD + '// -----\n' + GOOD)
    self.assertEqual(status, 2)
    self.assertIn('<stdin>:11:8: error: unknown op', err)
    self.assertEqual(out.count('// -----\n'), 2)
    self.assertEqual(out.count('ten.add'), 2)

  def test_verify_diagnostics(self):
    wanted = BAD.replace('  %0', "  // expected-error@+1 {{unknown op 'ten.abss'}}\n  %0")
    self.assertEqual(ir_opt('-', '--verify-diagnostics', text=wanted)[0], 0)
    for text, message in [(BAD, 'unexpected diagnostic'), (wanted.replace('+1', '+2'), 'was not produced'),
                          (wanted.replace('unknown op', 'unknown oops'), 'was not produced'),
                          (GOOD + '// expected-error {{x}}\n', 'expected error "x" was not produced')]:
      with self.subTest(text=text):
        status, _, err = ir_opt('-', '--verify-diagnostics', text=text)
        self.assertEqual(status, 1)
        self.assertIn(message, err)
    self.assertEqual(ir_opt('-', '--verify-diagnostics', text=GOOD + '// expected-eror {{x}}\n')[0], 2)

  def test_unregistered_dialects(self):
    text = GOOD.replace('%0 = ten.abs', '%0 = "their.abs"')
    self.assertEqual(ir_opt('-', text=text)[0], 2)
    self.assertIn('their.abs', self.run_ok('-', '--allow-unregistered-dialect', text=text))

  def test_reports_go_to_standard_error(self):
    status, out, err = ir_opt('-', '--cse', '--mlir-timing', '--mlir-print-ir-after-all', text=GOOD)
    self.assertEqual(status, 0)
    self.assertIn('IR Dump After cse', err)
    self.assertIn('Execution time report', err)
    self.assertEqual(out, self.run_ok('-', '--cse'))

  def test_optimised_model(self):
    # The second run changes nothing, and gives the same bytes.
    once = self.run_ok(MODEL, '-O2', text=None)
    self.assertIn('fused.attention', once)
    self.assertEqual(self.run_ok(MODEL, '-O2', text=None), once)
    self.assertEqual(self.run_ok('-', '-O2', text=once), once)

  def test_explain(self):
    out = self.run_ok(MODEL, '-O2', '--explain=gelu-erf', text=None)
    self.assertIn('gelu-erf: fired 2 times', out)
    self.assertIn('  at /model/encoder/layer.1/intermediate/intermediate_act_fn/Mul_1 (with ', out)
    self.assertNotIn('func.func', out)
    # A family, the start of names, a node by the end of its name; without passes of rules nothing fires.
    self.assertIn('linear-bias: fired 12 times', self.run_ok(MODEL, '-O2', '--explain=linear', text=None))
    node = '--explain=gelu@layer.1/intermediate/intermediate_act_fn/Erf'
    self.assertIn('gelu-erf: fired 1 time\n', self.run_ok(MODEL, '-O2', node, text=None))
    out = self.run_ok(MODEL, '--cse', '--explain=gelu', text=None)
    self.assertIn('nothing: the rule fires here when it is applied', out)
    status, _, err = ir_opt(MODEL, '-O2', '--explain=gelu@/no/Erf')
    self.assertEqual(status, 2)
    self.assertIn("no node of the model is named '/no/Erf'; there is '/model/encoder/layer.", err)
    status, _, err = ir_opt(MODEL, '-O2', '--explain=gelu-erff')
    self.assertEqual(status, 2)
    self.assertIn("no rule 'gelu-erff'; did you mean 'gelu-erf'?", err)

  def test_fusion_report(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'report')
      self.assertEqual(self.run_ok(MODEL, '-O2', '--fusion-report=' + path, text=None), '')
      self.run_ok(MODEL, '-O2', '--fusion-report=' + path + '.json', text=None)
      with open(path, encoding='utf-8') as f:
        self.assertIn('attention: fired 2 times', f.read())
      with open(path + '.json', encoding='utf-8') as f:
        rules = {rule['rule']: rule for rule in json.load(f)['rules']}
      self.assertEqual(rules['attention']['fired'], 2)
      self.assertIn('/model/encoder/layer.0/attention/self/MatMul_1', rules['attention']['hits'][0]['nodes'])

  def test_rules_of_a_file(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'r.drr')
      with open(path, 'w', encoding='utf-8') as f:
        f.write('rule twice { match add(abs(x), abs(x)) may coincide replace mul(abs(x), splat(2)) }')
      self.assertIn('ten.mul', self.run_ok('-', '--cse', '--apply-rules=file=' + path))
      self.assertIn('ten.mul', self.run_ok('-', '--cse', '--fuse', '--rules=' + path))
      self.assertIn('1 rule checked: 0 wrong', self.run_ok('--check-rules=' + path))
      with open(path, 'w', encoding='utf-8') as f:
        f.write('rule gelu-erf { match abs(abs(x)) replace abs(x) }')
      status, _, err = ir_opt('-', '--rules=' + path, text=GOOD)
      self.assertEqual(status, 2)
      self.assertIn("rule 'gelu-erf' has the name of the rule in patterns/", err)
      # A wrong rule: the check finds it, and a run with it is told apart from one without.
      with open(path, 'w', encoding='utf-8') as f:
        f.write('rule gelu-of-all { match mul(x, erf(y)) replace mul(x, y) }\n'
                'rule half { match div(x, splat(1.41421356)) replace mul(x, splat(0.7)) lowers "quotients" }')
      status, out, _ = ir_opt('--check-rules=' + path)
      self.assertEqual(status, 1)
      self.assertIn('half (', out)
      self.assertIn('2 rules checked: 2 wrong', out)
      status, _, err = ir_opt(MODEL, '-O2', '--rules=' + path, '--verify-semantics')
      self.assertEqual(status, 1)
      self.assertIn("pass 'fuse' on 'func.func' operation: @main: changed what the program computes", err.replace('main_graph', 'main'))
      self.assertIn('first by rule half, applied to ten.div at /model/encoder/layer.0', err)
      self.assertRegex(err, r'inputs: batch = 2, seq = \d; input_ids : 2x\dxi64 = \[\d')

  def test_given_rules(self):
    """Rules on what fusion makes, when they are applied, and what is said about them."""
    with tempfile.TemporaryDirectory() as folder:
      path, other = os.path.join(folder, 'r.drr'), os.path.join(folder, 's.drr')
      with open(path, 'w', encoding='utf-8') as f:
        f.write('rule my-gelu { match gelu(x) replace gelu(x) {approximate = "tanh"} lowers "gelus" }\n'
                'rule my-linear {\n  stage final\n  match fused.linear(x, const w, b, none) {activation = "gelu_tanh"}\n'
                '  replace fused.linear(x, w, b, none) {activation = "gelu_sigmoid"} lowers "gelus"\n}\n'
                'rule my-relu { match fused.linear(x, const w, b, none) {activation = "relu"}\n'
                '  replace fused.linear(x, w, b, none) {activation = "silu"} lowers "relus" }\n')
      out = self.run_ok(MODEL, '-O2', '--rules=' + path, '--elide-resources', text=None)
      self.assertEqual(out.count('activation = "gelu_sigmoid"'), 2)
      for flag in ('--rules=' + path, '--apply-rules=file=' + path):
        out = self.run_ok(MODEL, '-O2', flag, '--explain=my-relu', text=None)
        self.assertIn('attribute \'activation\' is "gelu', out)
        self.assertIn('my-relu: defined in ' + path + ':7', out)
      out = self.run_ok(MODEL, '-O2', '--rules=' + path, '--explain=my', text=None)
      self.assertIn('my-gelu: fired 2 times', out)
      self.assertIn('my-linear: fired 2 times', out)
      # Nothing of this pipeline applies the second, nothing of the other any.
      for pipeline, count in (('fuse', 1), ('O1', 3)):
        status, _, err = ir_opt('-', '--pass-pipeline=' + pipeline, '--rules=' + path, text=GOOD)
        self.assertEqual((status, err.count('is not applied: ')), (0, count), err)
      # Nothing in the file, but a byte order mark; no file.
      with open(other, 'w', encoding='utf-8-sig') as f:
        f.write('')
      self.run_ok(MODEL, '-O2', '--rules=' + other, '--elide-resources', text=None)
      status, _, err = ir_opt(MODEL, '-O2', '--rules=' + folder)
      self.assertEqual((status, err), (2, f'ir-opt: {folder}: rules cannot be read: it is a folder\n'))
      status, _, err = ir_opt('--check-rules=/dev/stdin', text='rule a { match neg(neg(x)) replace x }')
      self.assertEqual(status, 2)
      self.assertIn('expected a file, not a pipe', err)
      # One name twice, wherever it is given.
      with open(other, 'w', encoding='utf-8') as f:
        f.write('\nrule my-gelu { match abs(abs(x)) replace abs(x) }\n')
      message = f"{other}:2: rule 'my-gelu' has the name of the rule in {path}:1"
      for flags in (['--check-rules=' + path, '--check-rules=' + other], ['-', '--rules=' + path, '--rules=' + other],
                    ['-', '--rules=' + path, '--apply-rules=file=' + other]):
        status, _, err = ir_opt(*flags, text=GOOD)
        self.assertEqual(status, 2)
        self.assertIn(message, err)
      with open(other, 'a', encoding='utf-8') as f:
        f.write('rule my-gelu { match neg(neg(x)) replace x }\n')
      status, _, err = ir_opt('--check-rules=' + other)
      self.assertEqual(status, 2)
      self.assertIn(f"{other}:3: rule 'my-gelu' has the name of the rule in {other}:2", err)
      # A mistake in the text is none of what a rule computes.
      for body, message in (('relu(cast(x) {to = "f32"}) replace relu(x)', 's.drr:1:38: expected an element type, got a text'),
                            ('where(c, x, x) replace x', "variable 'c' is not used")):
        with open(other, 'w', encoding='utf-8') as f:
          f.write('rule typo { match ' + body + ' }')
        status, out, err = ir_opt('--check-rules=' + other)
        self.assertEqual((status, out), (2, ''))
        self.assertIn(message, err)
      # Each of these is right; the second never has its turn.
      with open(other, 'w', encoding='utf-8') as f:
        f.write('rule all { match relu(relu(x)) replace relu(x) }\nrule some { match relu(relu(abs(x))) where float(x) replace abs(x) }')
      status, out, _ = ir_opt('--check-rules=' + other)
      self.assertEqual(status, 1)
      self.assertIn("rule 'some' (" + other + ":2) is never reached", out)

  def test_verify_semantics_of_calls(self):
    def function(name, visibility, body):
      t = 'tensor<?xf32, ["N"]>'
      return (f'func.func() <{{function_type = ({t}) -> {t}, sym_name = "{name}"{visibility}}}> ({{\n^bb0(%x: {t}):\n'
              '  %one = core.constant() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>\n'
              f'  %0 = {body} -> {t}\n  %1 = ten.mul(%0, %one) : ({t}, tensor<f32>) -> {t}\n'
              f'  func.return(%1) : ({t}) -> ()\n}}) : () -> ()\n')
    text = (function('twice', ', sym_visibility = "private"', 'ten.add(%x, %x) : (tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>)')
            + function('main', '', 'func.call(%x) <{callee = @twice}> : (tensor<?xf32, ["N"]>)'))
    for options in (['--canonicalize'], ['--inline'], ['-O2', '--lower']):
      status, _, err = ir_opt('-', *options, '--verify-semantics', text=text)
      self.assertEqual(status, 0, err)
      self.assertRegex(err, r'verify-semantics: @main: \d+ pass(?:es keep| keeps) the results on \d inputs\n')

  def test_verify_semantics(self):
    status, out, err = ir_opt(MODEL, '-O2', '--lower', '--verify-semantics', '-o', '-')
    self.assertEqual(status, 0, err)
    self.assertIn('kernel.', out)
    self.assertRegex(err, r'verify-semantics: @\w+: \d+ pass(?:es keep| keeps) the results on 4 inputs')
    data = os.path.join(os.path.dirname(MODEL), 'test_data_set_0')
    status, out, err = ir_opt(MODEL, '-O2', '--verify-semantics', '--inputs=' + data)
    self.assertEqual((status, out), (0, ''), err)
    self.assertIn('on 1 input', err)
    # Inputs that are not there are missed also where no pass changes anything.
    with tempfile.TemporaryDirectory() as folder:
      status, out, err = ir_opt('-', '--cse', '--verify-semantics', '--inputs=' + folder, text=GOOD)
      self.assertEqual((status, out), (2, ''))
      self.assertIn('input_0', err)

  def test_golden_files_keep_the_results(self):
    """What golden files show of passes that move computations computes the same."""
    for name in ('canonicalize_splits', 'classify_masks', 'compose_movement', 'expand_einsum', 'fuse_loops',
                 'hoist_slices', 'outline', 'propagate_layout', 'sink_expands'):
      path = os.path.join(ROOT, 'tests/golden/transforms', name + '.ir')
      with self.subTest(name), open(path, encoding='utf-8') as f:
        pipeline = f.readline().removeprefix('// test: opt ').strip()
        status, _, err = ir_opt(path, '--pass-pipeline=' + pipeline, '--verify-semantics')
        self.assertEqual(status, 0, err)
        self.assertRegex(err, 'pass(?:es keep| keeps) the results')

  def test_outline_says_which_marks_stay(self):
    path = os.path.join(ROOT, 'tests/golden/transforms/outline_marks.ir')
    status, _, err = ir_opt(path, '--pass-pipeline=outline{by=marks}', '--verify-semantics')
    self.assertEqual(status, 0, err)
    self.assertIn("'ctl.fail' is marked 'step' and stays: it has effects", err)
    self.assertIn("'ten.exp' is marked 'unread' and stays: nothing reads its results", err)
    self.assertRegex(err, '@marks: 1 pass keeps the results')

  def test_verify_semantics_of_what_overflows(self):
    """A softmax without the maximum taken off, of numbers whose exponentials are infinite on ordinary samples."""
    tensor, row = 'tensor<4x8xf32>', 'tensor<4x1xf32>'
    program = f'''func.func() <{{function_type = ({tensor}) -> {tensor}, sym_name = "main"}}> ({{
^bb0(%x: {tensor}):
  %k = core.constant() <{{value = dense<100.0> : tensor<f32>}}> : () -> tensor<f32>
  %m = ten.mul(%x, %k) : ({tensor}, tensor<f32>) -> {tensor}
  %e = ten.exp(%m) : ({tensor}) -> {tensor}
  %s = ten.reduce_sum(%e) <{{axes = array<i64: 1>, keepdims = true}}> : ({tensor}) -> {row}
  %d = ten.div(%e, %s) : ({tensor}, {row}) -> {tensor}
  func.return(%d) : ({tensor}) -> ()
}}) : () -> ()
'''
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'softmax.ir')
      with open(path, 'w', encoding='utf-8') as f:
        f.write(program)
      status, out, err = ir_opt(path, '-O2', '--fast-math', '--verify-semantics', '-o', '-')
      self.assertEqual(status, 0, err)
      self.assertIn('nn.softmax', out)
      rules = os.path.join(folder, 'wrong.drr')
      with open(rules, 'w', encoding='utf-8') as f:
        f.write('rule flat { match softmax(mul(x, splat(100))) {axis = a} replace softmax(x) {axis = a} }')
      status, _, err = ir_opt(path, '-O2', '--fast-math', '--verify-semantics', '--apply-rules=file=' + rules)
      self.assertEqual(status, 1, err)
      self.assertIn('floats divided by 64, since the program overflows otherwise', err)

  def test_verify_semantics_finds_wrong_rules(self):
    """Rules that are wrong in what ordinary inputs rarely show."""
    decoder, padded = (os.path.join(os.path.dirname(os.path.dirname(MODEL)), name, 'model.onnx')
                       for name in ('llama_past.sdpa.ts17', 'roberta.sdpa.ts14'))
    cases = [
        ('scale', MODEL, 'match softmax(add(mul(m, splat(0.35355338)), k)) {axis = -1} replace softmax(add(m, k)) {axis = -1}'),
        ('scale-off', MODEL, 'match softmax(add(mul(m, splat(0.35355338)), k)) {axis = -1} '
         'replace softmax(add(mul(m, splat(0.3535)), k)) {axis = -1} lowers "x"'),
        ('axis', MODEL, 'match softmax(x) {axis = -1} where rank(x) == 4 replace softmax(x) {axis = 2} lowers "x"'),
        ('mask', MODEL, 'match softmax(add(x, _k)) {axis = -1} replace softmax(x) {axis = -1}'),
        ('function', MODEL, 'match mul(mul(x, add(erf(div(x, splat(1.41421356))), splat(1))), splat(0.5)) '
         'replace gelu(x) {approximate = "tanh"}'),
        ('epsilon', MODEL, 'match layer_norm(x, w, b) {axis = -1, epsilon = 1e-12} '
         'replace layer_norm(x, w, b) {axis = -1, epsilon = 1e-7} lowers "x"'),
        ('epsilon-outside', decoder, 'match div(x, sqrt(add(v, splat(e)))) replace div(x, add(sqrt(v), splat(e))) lowers "x"'),
        ('guard', decoder, 'match where(is_nan(x), _z, x) replace x'),
        ('bound', decoder, 'match less_equal(x, y) replace less(x, y) lowers "x"'),
        ('sign', decoder, 'match mul(x, sigmoid(x)) replace mul(abs(x), sigmoid(x)) lowers "x"'),
        ('padding', padded, 'match equal(x, y) replace less(x, y) lowers "x"'),
        ('own-element', padded, 'match cumsum(x) {axis = a} replace cumsum(x) {axis = a, exclusive = true} lowers "x"'),
    ]
    for name, model, body in cases:
      with self.subTest(name), tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'wrong.drr')
        with open(path, 'w', encoding='utf-8') as f:
          f.write(f'rule {name} {{ {body} }}\n')
        status, _, err = ir_opt(model, '-O2', '--rules=' + path, '--verify-semantics')
        self.assertEqual(status, 1, err)
        self.assertIn("pass 'fuse' on 'func.func' operation", err)
        self.assertIn(f'first by rule {name}, applied to ', err)

  def test_bisect_limit(self):
    status, out, err = ir_opt(MODEL, '-O2', '--opt-bisect-limit=0')
    self.assertEqual(status, 0, err)
    self.assertNotIn('fused.', out)
    self.assertEqual(err, '')
    status, _, err = ir_opt(MODEL, '-O2', '--opt-bisect-limit=3')
    self.assertEqual(status, 0, err)
    self.assertIn('opt-bisect-limit: step 3 is ', err)
    self.assertEqual(ir_opt(MODEL, '--opt-bisect-limit=x')[0], 2)
    status, _, err = ir_opt(MODEL, '-O2', '--opt-bisect-limit=1000000')
    self.assertEqual(status, 0, err)
    self.assertRegex(err, r'^opt-bisect-limit: the run has \d+ steps, all were made\n$')
    steps = int(re.search(r'\d+', err)[0])
    self.assertIn(f'step {steps} is ', ir_opt(MODEL, '-O2', f'--opt-bisect-limit={steps}')[2])

  def test_disabled_rules(self):
    gelus = lambda *more: ir_opt(MODEL, '-O2', *more)[1].count('nn.gelu') + ir_opt(MODEL, '-O2', *more)[1].count('"gelu"')
    self.assertGreater(gelus(), 0)
    for names in ('gelu-erf', 'activation', 'gelu-*', 'attention,gelu-erf', 'gelu'):
      self.assertEqual(gelus(f'--disable-rules={names}'), 0, names)
    self.assertEqual(gelus('--disable-rules=attention', '--disable-rules=gelu-erf'), 0)
    for names, message in [('gelu-err', "there is no rule 'gelu-err'; did you mean 'gelu-erf'?"),
                           ('gelu-erf,', 'an empty name of a rule'), ('nowhere-*', "there is no rule 'nowhere-*'")]:
      status, out, err = ir_opt(MODEL, '-O2', f'--disable-rules={names}')
      self.assertEqual((status, out), (2, ''))
      self.assertIn(f'ir-opt: --disable-rules: {message}', err)
    status, out, err = ir_opt(MODEL, '-O2', '--disable-rules=gelu-erf', '--explain=gelu-erf')
    self.assertEqual(status, 0, err)
    self.assertRegex(out, r'^gelu-erf: fired 0 times\ngelu-erf: disabled \(--disable-rules\)\ngelu-erf: would fire at /')

  def test_order_that_cannot_be(self):
    status, out, err = ir_opt('-', '--plan-memory', text=GOOD)
    self.assertEqual((status, out), (2, ''))
    self.assertIn("pass 'plan-memory' cannot run here: it needs the module to be lowered (no pass before it establishes that; "
                  "'lower-to-kernels' does)", err)

  def test_lists(self):
    for flag, part in [('--help', 'Usage: ir-opt'), ('--list-passes', '--cse'), ('--list-ops', 'ten.matmul'),
                       ('--version', 'ir-opt (Tenon) '), ('--list-rules', '')]:
      with self.subTest(flag=flag):
        self.assertIn(part, self.run_ok(flag, text=None))

  def test_automata_of_rules(self):
    out = self.run_ok('--rule-automaton=gated', text='')
    self.assertEqual(out, self.run_ok('--rule-automaton=gated', text=''))
    self.assertTrue(out.startswith('digraph "'), out[:80])
    self.assertEqual(out.count('digraph'), out.count('\n}\n'))
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'half.drr')
      with open(path, 'w', encoding='utf-8') as file:
        file.write('rule half { match mul(x, splat(0.5)) replace div(x, splat(2)) lowers "products" }')
      out = self.run_ok(f'--rule-automaton={path}', text='')
      self.assertIn('digraph "ten.mul" {', out)
      self.assertIn('label="0.5"', out)
    status, _, err = ir_opt('--rule-automaton=gatde', text='')
    self.assertEqual(status, 2)
    self.assertIn("there is no family 'gatde'", err)

  def test_text_of_rules(self):
    one = self.run_ok('--list-rules=gelu-erf', text=None)
    self.assertRegex(one, r'\A// activation \(fuse\), patterns/activations/gelu\.cc:\d+\nrule gelu-erf \{\n')
    self.assertIn('\n  replace nn.gelu(x)\n}\n', one)
    family = self.run_ok('--list-rules=norm', text=None)
    self.assertGreater(family.count('\nrule '), 20)
    self.assertEqual(self.run_ok('--list-rules=silu', text=None).count('\nrule '), 1)
    # Without computed attributes it is a file of rules, under another name.
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'one.drr')
      with open(path, 'w', encoding='utf-8') as f:
        f.write(one.replace('rule gelu-erf', 'rule my-gelu'))
      self.assertIn('1 rule checked: 0 wrong', self.run_ok(f'--check-rules={path}', text=None))

  def test_liveness_has_the_names_of_the_text(self):
    text = '''func.func() <{function_type = (i1, f32, f32) -> f32, sym_name = "main"}> ({
^bb0(%arg0: i1, %one: f32, %arg2: f32):
  %one_0, %pair:2 = a.b() : () -> (f32, f32, f32)
  cf.cond_br(%arg0)[^bb1, ^bb2] : (i1) -> ()
^bb1:
  func.return(%pair#1) : (f32) -> ()
^bb2:
  %0 = a.c(%one, %arg2, %one_0) : (f32, f32, f32) -> f32
  func.return(%0) : (f32) -> ()
}) : () -> ()
'''
    status, out, err = ir_opt('-', '--allow-unregistered-dialect', '--pass-pipeline=func.func(print-liveness)', text=text)
    self.assertEqual(status, 0, err)
    self.assertIn('  ^bb0: in nothing, out %one %arg2 %one_0 %pair#1\n  ^bb1: in %pair#1, out nothing\n', err)
    for line in text.splitlines()[1:]:
      self.assertIn(line.split('  //')[0], out)

  def test_any_number_of_threads_writes_the_same(self):
    # Functions of several kinds: folds, products on constants, fusions, branches, calls, equal operations.
    text = ''
    for i in range(60):
      text += f'''func.func() <{{function_type = (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>, sym_name = "f{i}"}}> ({{
^bb0(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>):
  %c = core.constant() <{{value = dense<{i}.5> : tensor<4x4xf32>}}> : () -> tensor<4x4xf32>
  %p = ten.matmul(%c, %c) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = ten.sigmoid(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = ten.mul(%x, %s) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = ten.abs(%m) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = ten.abs(%m) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = ten.add(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %k = func.call(%t, %y) <{{callee = @f{(i * 7 + 1) % 60}}}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = ten.add(%k, %p) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return(%r) : (tensor<4x4xf32>) -> ()
}}) : () -> ()
'''
    for options in (['-O1', '--print-ir-after-change'], ['-O2', '--pass-statistics'], ['-O3'],
                    ['-O2', '--pass-pipeline=func.func(print-liveness),canonicalize', '--print-ir-after-all'],
                    ['-O2', '--explain=silu']):
      one = ir_opt('-', *options, text=text)
      self.assertEqual(one[0], 0, one[2])
      for threads in ('-j2', '--threads=5'):
        self.assertEqual(ir_opt('-', *options, threads, text=text), one, options)
    status, _, err = ir_opt('-', '-O1', '-j0', text=GOOD)
    self.assertEqual(status, 2)
    self.assertIn('-j is', err)
  def test_a_listed_rule_alone_is_the_same_rule(self):
    """Also without the files that declared its operations."""
    with tempfile.TemporaryDirectory() as folder:
      rules, ops, alone = (os.path.join(folder, name) for name in ('my.drr', 'ops.json', 'alone.drr'))
      with open(rules, 'w', encoding='utf-8') as f:
        f.write('op my.twice(x: float, each y: f32) {by: f32 = 2.0, mode: {"a", "b"} = "b"} -> same_as(x) same_dtype "twice"\n'
                'rule one { match neg(my.halve(x)) replace my.halve(neg(x)) lowers before(my.halve, neg) }\n'
                'rule two { match any(my.twice(x) {by = any, mode = "a"} | my.halve(x)) where float(x) replace relu(x) }\n'
                'rule three { match ten.relu(ten.relu(x)) replace relu(x) }\n'
                'rule four { match abs(abs(x)) replace abs(x) lowers ops(my.halve, abs) }\n')
      with open(ops, 'w', encoding='utf-8') as f:
        f.write('{"ops": [{"op": "my.halve", "at": "my.yaml:1:1", "summary": "Halves \\"x\\".", "operands": [{"name": "x", "arity": "single", '
                '"types": ["float"]}], "attrs": [], "result": ["tensor"], "traits": [], '
                '"shape": "elementwise"}]}')
      for name, declared in (('one', ['my.halve']), ('two', ['my.halve', 'my.twice']), ('three', []), ('four', ['my.halve']),
                             ('*', None)):
        for option in ('--list-rules', '--describe'):
          if name == '*' and option == '--describe':
            continue
          text = self.run_ok(f'{option}={name}', f'--rules={rules}', f'--load-ops={ops}', text=None)
          if name == '*':  # the rules of the files: built-in ones may not be given again
            text = text[:text.index('\n//')] + text[text.index('// ' + rules):]
          else:
            self.assertEqual(re.findall(r'^op (\S+?)\(', text, re.M), declared, text)
          with open(alone, 'w', encoding='utf-8') as f:
            f.write(text)
          again = self.run_ok(f'--list-rules={name}', f'--rules={alone}', text=None)
          if name == '*':
            again = again[:again.index('\n//')] + again[again.index('// ' + alone):]
          plain = lambda t: re.sub(r'^//.*\n', '', t, flags=re.M).strip().replace('\n\n', '\n')
          self.assertEqual(plain(again), plain(text))

  def test_rules_of_a_file_are_listed(self):
    with tempfile.TemporaryDirectory() as folder:
      path, ops = os.path.join(folder, 'my.drr'), os.path.join(folder, 'ops.drr')
      with open(path, 'w', encoding='utf-8') as f:
        f.write('rule half-of { summary "a half" match neg(my.halve(x)) replace my.halve(neg(x)) lowers before(my.halve, neg) }\n')
      with open(ops, 'w', encoding='utf-8') as f:
        f.write('op my.halve(x: float) -> elementwise')
      options = (f'--rules={path}', f'--load-ops={ops}')
      text = self.run_ok('--list-rules=half-of', *options, text=None)
      self.assertTrue(text.startswith(f'op my.halve(x: float) -> elementwise\n\n// {path}, {path}:1\nrule half-of {{\n'), text)
      self.assertIn('match   ten.neg(my.halve(x))', text)
      with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
      self.assertIn('\nrule half-of {\n', self.run_ok('--list-rules=half-of', *options, text=None))
      self.assertEqual(self.run_ok('--list-rules=half-*', *options, text=None).count('rule '), 1)
      everything = self.run_ok('--list-rules', *options, text=None)
      self.assertIn(f'\n{path}: rules of a file\n  half-of ', everything)
      self.assertTrue(everything.startswith(self.run_ok('--list-rules', text=None)))
      built_in, of_file = self.run_ok('--list-rules=opaque', text=None), self.run_ok('--list-rules=opaque', *options, text=None)
      count = lambda lines: int(re.search(r' of (\d+) rules', lines).group(1))
      self.assertEqual(count(of_file), count(built_in) + 1)
      status, _, err = ir_opt('--list-rules=half-off', *options, text=None)
      self.assertEqual(status, 2)
      self.assertIn("there is no rule 'half-off'; did you mean 'half-of'?", err)
      with open(path, 'w', encoding='utf-8') as f:
        f.write(text[text.index('rule half-of'):])
      status, _, err = ir_opt('--list-rules', f'--rules={path}', text=None)
      self.assertEqual(status, 2)
      self.assertIn("'my.halve'", err)

  def test_onnx(self):
    from_path = self.run_ok(MODEL, '--elide-resources', text=None)
    self.assertIn('func.func', from_path)
    with open(MODEL, 'rb') as f:
      status, from_pipe, err = ir_opt('-', '--elide-resources', text=f.read())
    self.assertEqual(status, 0, err)
    self.assertEqual(from_pipe, from_path)


if __name__ == '__main__':
  unittest.main()
