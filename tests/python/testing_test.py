"""tenon.testing: what it finds in planted models, and that it finds nothing in right ones.

  testing_test.py PLUGIN   PLUGIN is planted_plugin.cc
"""

import contextlib
import html
import importlib.util
import io
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from html.parser import HTMLParser

import numpy as np

import small_models
import tenon
from tenon import testing
from tenon.testing.models import find, matching
from tenon.testing.results import position_of, split_type

sys.path.append(str(small_models.ROOT / "tests" / "tools"))
import onnx_wire

PLUGIN = os.path.abspath(sys.argv[1])

# gelu(x) by erf, with nodes.
ERF = """
func.func() <{arg_attrs = [{core.name = "x"}], res_attrs = [{core.name = "y"}], function_type = (tensor<?x8xf32, ["n", ""]>) -> tensor<?x8xf32, ["n", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x8xf32, ["n", ""]>):
  %c = core.constant() <{value = dense<1.41421354> : tensor<f32>}> : () -> tensor<f32>
  %d = ten.div(%x, %c) : (tensor<?x8xf32, ["n", ""]>, tensor<f32>) -> tensor<?x8xf32, ["n", ""]> loc("/gelu/Div")
  %e = ten.erf(%d) : (tensor<?x8xf32, ["n", ""]>) -> tensor<?x8xf32, ["n", ""]> loc("/gelu/Erf")
  %s = ten.exp(%e) : (tensor<?x8xf32, ["n", ""]>) -> tensor<?x8xf32, ["n", ""]> loc("/gelu/Exp")
  func.return(%s) : (tensor<?x8xf32, ["n", ""]>) -> ()
}) : () -> ()
"""
GELU = """
func.func() <{arg_attrs = [{core.name = "x"}], res_attrs = [{core.name = "y"}], function_type = (tensor<?x8xf32, ["n", ""]>) -> tensor<?x8xf32, ["n", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x8xf32, ["n", ""]>):
  %c = core.constant() <{value = dense<1.41421354> : tensor<f32>}> : () -> tensor<f32>
  %one = core.constant() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %half = core.constant() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %d = ten.div(%x, %c) : (tensor<?x8xf32, ["n", ""]>, tensor<f32>) -> tensor<?x8xf32, ["n", ""]> loc("/gelu/Div")
  %e = ten.erf(%d) : (tensor<?x8xf32, ["n", ""]>) -> tensor<?x8xf32, ["n", ""]> loc("/gelu/Erf")
  %a = ten.add(%e, %one) : (tensor<?x8xf32, ["n", ""]>, tensor<f32>) -> tensor<?x8xf32, ["n", ""]> loc("/gelu/Add")
  %m = ten.mul(%x, %a) : (tensor<?x8xf32, ["n", ""]>, tensor<?x8xf32, ["n", ""]>) -> tensor<?x8xf32, ["n", ""]> loc("/gelu/Mul")
  %h = ten.mul(%m, %half) : (tensor<?x8xf32, ["n", ""]>, tensor<f32>) -> tensor<?x8xf32, ["n", ""]> loc("/gelu/Mul_1")
  func.return(%h) : (tensor<?x8xf32, ["n", ""]>) -> ()
}) : () -> ()
"""
TEXT = """
func.func() <{function_type = () -> (tensor<3xi64>, tensor<?xui8>), res_attrs = [{core.name = "out#spans"}, {core.name = "out#text"}], sym_name = "main"}> ({
  %x = core.constant() <{value = dense<[1, 2147483649, 2]> : tensor<3xi64>}> : () -> tensor<3xi64>
  %text = core.constant() <{value = dense<[97, 98]> : tensor<2xui8>}> : () -> tensor<2xui8>
  %0, %1 = str.concat(%x, %text, %x, %text) : (tensor<3xi64>, tensor<2xui8>, tensor<3xi64>, tensor<2xui8>) -> (tensor<3xi64>, tensor<?xui8>)
  func.return(%0, %1) : (tensor<3xi64>, tensor<?xui8>) -> ()
}) : () -> ()
"""
RANDOM = """
func.func() <{function_type = () -> (tensor<4xf32>), res_attrs = [{core.name = "drawn"}], sym_name = "main"}> ({
  %0 = random.uniform() <{shape = #core.dims<4>, to = f32, stream = 1}> : () -> tensor<4xf32>
  func.return(%0) : (tensor<4xf32>) -> ()
}) : () -> ()
"""
WRONG_RULE = """rule exp-is-one-more {
  summary "exp(x) by the first terms of its series"
  match   exp(x)
  replace add(x, splat(1.0))
  lowers  ops(exp)
}
"""


def write_data(folder, name, inputs, outputs):
    """A data set in the format of ONNX: TensorProtos of f32."""
    (folder / name).mkdir(parents=True)
    for prefix, arrays in (("input", inputs), ("output", outputs)):
        for number, array in enumerate(arrays):
            array = np.asarray(array, np.float32)
            content = onnx_wire.tensor("", onnx_wire.F32, array.shape, array.tobytes())
            (folder / name / f"{prefix}_{number}.pb").write_bytes(content)


class Folder(unittest.TestCase):
    """Each test has a folder of models."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def add(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def validate(self, **options):
        """With the settings of the folder, which may name code."""
        options.setdefault("config", testing.Config.find(self.folder, allow_code=True))
        return testing.validate(self.folder, processes=2, **options)

    def only(self, report, check, model=None):
        """The result of one check."""
        models = [each for each in report.models if model in (None, each.model)]
        return next(each for each in models[0].checks if each.check == check)

    def planted(self, mode):
        os.environ["TENON_TEST_PLANTED"] = mode
        self.addCleanup(os.environ.pop, "TENON_TEST_PLANTED")

    def command(self, *arguments, **options):
        return subprocess.run([sys.executable, "-B", "-m", "tenon.testing", self.folder, *arguments], text=True,
                              capture_output=True, cwd=self.folder, **options)


class RightModelsTest(Folder):
    def test_models_of_the_tree(self):
        report = testing.validate(small_models.MODELS, filters=["bert.eager", "parallel"], processes=2)
        self.assertEqual([model.model for model in report.models],
                         ["bert.eager.ts17", "distilbert.eager.ts11", "parallel.handmade"])
        for model in report.models:
            self.assertEqual([check.check for check in model.checks],
                             [check for check in testing.CHECKS if check != "script"])
            for check in model.checks:
                self.assertIn(check.status, ("passed", "skipped"), f"{model.model}: {check.text()}")
                self.assertEqual(bool(check.reason), check.status == "skipped")
            self.assertEqual({check.check for check in model.checks if check.status == "passed"} - {"onnxruntime"},
                             {"import", "data", "optimize", "kernels", "passes", "rules"})
        bert = report.models[0].checks
        self.assertIn("2 cases", bert[1].compared)
        self.assertGreater(bert[1].largest["max_abs"], 0)  # not compared with itself
        self.assertIn("rules in", bert[-1].compared)
        self.assertTrue(report.ok)

    def test_odd_models(self):
        self.add("no_inputs.mlir", RANDOM)
        self.add("below/linear.mlir", small_models.LINEAR)
        self.add("broken.mlir", "func.func(")
        self.add("unknown.mlir", RANDOM.replace("random.uniform", "nowhere.op"))
        write_data(self.folder / "below", "test_data_set_0", [[[1, 2]]], [[[1, 2, 1]]])
        report = self.validate()
        self.assertEqual([model.model for model in report.models], ["below/linear", "broken", "no_inputs", "unknown"])
        self.assertEqual([model.status for model in report.models], ["passed", "error", "passed", "error"])
        self.assertEqual(self.only(report, "data", "below/linear").status, "passed")
        self.assertIn("broken.mlir:1:", self.only(report, "import", "broken").reason)
        self.assertIn("nowhere", self.only(report, "import", "unknown").reason)
        self.assertFalse(report.ok)

    def test_text_and_sequences(self):
        self.add("text.mlir", TEXT)
        for name, elements in (("sequence", onnx_wire.i64s("i", [1], [])), ("wrong", onnx_wire.i64s("i", [5], []))):
            values = [onnx_wire.value(each, dims=("n", 3)) for each in "ab"]
            nodes = [onnx_wire.node("SequenceConstruct", ["a", "b"], ["s"]), onnx_wire.node("SequenceAt", ["s", "i"], ["y"])]
            outputs = [onnx_wire.value("y", dims=("n", 3))]
            (self.folder / f"{name}.onnx").write_bytes(onnx_wire.model(nodes, values, outputs, [elements]))
        report = self.validate()
        self.assertEqual([(model.model, model.status) for model in report.models],
                         [("sequence", "passed"), ("text", "passed"), ("wrong", "error")])
        self.assertIn("text", self.only(report, "passes", "text").reason)
        self.assertIn("position", self.only(report, "import", "wrong").reason)

    def test_random_numbers_are_compared_with_themselves_alone(self):
        self.add("a/model.mlir", RANDOM)
        write_data(self.folder / "a", "test_data_set_0", [], [[1, 2, 3, 4]])
        report = self.validate()
        self.assertEqual(self.only(report, "optimize").status, "passed")
        self.assertIn("random", self.only(report, "data").reason)

    def test_results_do_not_depend_on_the_number_of_processes(self):
        for number in range(4):
            self.add(f"m{number}.mlir", ERF)
        first = testing.validate(self.folder, processes=1, rules=tenon.Rules.from_text(WRONG_RULE, name="wrong.drr"))
        second = testing.validate(self.folder, processes=4, rules=tenon.Rules.from_text(WRONG_RULE, name="wrong.drr"))
        self.assertEqual(first.to_dict(), second.to_dict())


class PlantedTest(Folder):
    def test_wrong_rule(self):
        self.add("erf.mlir", ERF)
        self.add("wrong.drr", WRONG_RULE)
        self.add("tenon-models.toml", 'rules = ["wrong.drr"]')
        report = self.validate()
        self.assertEqual({check.check for check in report.models[0].checks if check.status == "failed"},
                         {"optimize", "passes", "rules"})
        for name in ("optimize", "passes", "rules"):
            finding = self.only(report, name).findings[0]
            self.assertEqual((finding.kind, finding.rule), ("rule", "exp-is-one-more"), name)
            self.assertTrue(finding.place.endswith("wrong.drr:1"), finding.place)
            self.assertTrue(finding.pass_entry.startswith("fuse") or finding.pass_entry == "final-rules", finding.pass_entry)
            self.assertEqual(finding.nodes, ["/gelu/Exp"])
            self.assertEqual(finding.dtype, "float32")
            self.assertGreater(finding.max_abs, 0.01)
            self.assertIsNotNone(finding.position)
            self.assertIn("ten.exp", finding.before)
            self.assertIn("--rules=wrong.drr", finding.repeat.replace(f"{self.folder}/", ""))
        self.assertIn("rule exp-is-one-more", self.only(report, "rules").text())

    def test_rule_that_is_a_function(self):
        self.add("erf.mlir", ERF)
        self.add("mine.py", "import tenon\nfrom tenon import ops\n\n@tenon.rule(lowers='ops(exp)')\ndef wrong_exp(x):\n    return ops.exp(x), ops.tanh(x)\n")
        self.add("tenon-models.toml", 'rules = ["mine.py:wrong_exp"]\nlevel = "outputs"')
        finding = self.only(self.validate(), "optimize").findings[0]
        self.assertEqual(finding.rule, "wrong-exp")
        self.assertIn("tenon.testing", finding.repeat)
        self.assertNotIn("tenon-testing-", json.dumps(self.validate().to_dict()))

    def test_wrong_pass(self):
        self.planted("pass")
        self.add("erf.mlir", ERF)
        self.add("tenon-models.json", json.dumps({"plugins": [PLUGIN], "pipeline": "planted-pass,O2"}))
        report = self.validate()
        for name in ("optimize", "passes"):
            finding = self.only(report, name).findings[0]
            self.assertEqual((finding.kind, finding.rule, finding.pass_entry), ("pass", "", "planted-pass"), name)
            self.assertIn("--pass-pipeline=planted-pass,O2", finding.repeat)
        self.assertEqual(len(self.only(report, "passes").findings), 1)
        self.assertEqual(self.only(report, "kernels").status, "passed")

    def test_wrong_kernel(self):
        self.planted("kernel")
        self.add("a/model.mlir", ERF)
        x = np.linspace(-1, 1, 8, dtype=np.float32)[None]
        y = np.asarray(tenon.load((self.folder / "a/model.mlir")).compile(reference=True)(x)[0])
        write_data(self.folder / "a", "test_data_set_0", [x], [y])
        self.add("tenon-models.json", json.dumps({"plugins": [PLUGIN]}))
        report = self.validate()
        for name in ("data", "kernels"):
            finding = self.only(report, name).findings[0]
            self.assertEqual((finding.kind, finding.kernel), ("kernel", "planted.erf"), name)
            self.assertEqual(finding.nodes, ["/gelu/Erf"])
        # They run on reference kernels.
        self.assertEqual([self.only(report, name).status for name in ("passes", "rules")], ["passed", "passed"])

    def test_wrong_kernel_of_the_optimized_program(self):
        self.planted("gelu")
        self.add("gelu.mlir", GELU)
        self.add("tenon-models.json", json.dumps({"plugins": [PLUGIN]}))
        report = self.validate()
        for name in ("optimize", "kernels"):
            finding = self.only(report, name).findings[0]
            self.assertEqual((finding.kind, finding.kernel, finding.rule), ("kernel", "planted.gelu", ""), name)
            self.assertIn("nn.gelu", finding.op)
            self.assertEqual(sorted(finding.nodes), [f"/gelu/{node}" for node in ("Add", "Div", "Erf", "Mul", "Mul_1")])

    def test_wrong_data(self):
        self.add("a/model.mlir", small_models.LINEAR)
        write_data(self.folder / "a", "test_data_set_0", [[[1, 2]]], [[[1, 2, 1]]])
        write_data(self.folder / "a", "test_data_set_1", [[[1, 2], [0, 0]]], [[[1, 2, 1], [0, 0.5, 0]]])
        check = self.only(self.validate(checks=["data"]), "data")
        finding, = check.findings
        self.assertEqual((finding.case, finding.position, finding.shape), ("test_data_set_1", [1, 1], [2, 3]))
        self.assertEqual((finding.kind, finding.max_abs), ("import or kernel", 0.5))
        self.assertEqual(check.largest, {"output": "y", "dtype": "float32", "max_abs": 0.5, "max_rel": 0.25})
        self.add("tenon-models.toml", '[models."a*".tolerances.float32]\natol = 0.3')
        self.assertTrue(self.validate(checks=["data"]).ok)

    def test_a_crash_ends_one_check(self):
        self.planted("crash")
        self.add("erf.mlir", ERF)
        self.add("linear.mlir", small_models.LINEAR)
        self.add("tenon-models.json", json.dumps({"plugins": [PLUGIN]}))
        report = self.validate(checks=["import", "passes", "rules"])
        self.assertEqual([model.status for model in report.models], ["error", "passed"])
        checks = report.models[0].checks
        self.assertEqual([check.check for check in checks], ["import", "passes", "rules"])
        self.assertIn("SIGABRT", checks[0].reason)
        self.assertEqual(checks[2].status, "passed")  # on reference kernels

    def test_limits(self):
        self.planted("hang")
        self.add("erf.mlir", ERF)
        self.add("linear.mlir", small_models.LINEAR)
        self.add("tenon-models.json", json.dumps({"plugins": [PLUGIN], "models": {"erf": {"time_limit": 2}}}))
        report = self.validate(checks=["import", "optimize"])
        self.assertIn("time limit of 2 s", self.only(report, "import", "erf").reason)
        self.assertEqual(self.only(report, "optimize", "erf").status, "skipped")
        self.assertEqual(report.models[1].status, "passed")
        self.add("tenon-models.json", json.dumps({"memory_limit": "200M", "models": {"erf": {"sizes": {"n": 100_000_000}}}}))
        report = self.validate(checks=["import"])
        self.assertEqual([model.status for model in report.models], ["error", "passed"])
        self.assertIn("memory", self.only(report, "import", "erf").reason)


    def test_interrupt(self):
        self.planted("hang")
        self.add("erf.mlir", ERF)
        self.add("tenon-models.json", json.dumps({"plugins": [PLUGIN]}))
        environment = {**os.environ, "TENON_TESTING_TEST": str(self.folder)}
        running = subprocess.Popen([sys.executable, "-B", "-m", "tenon.testing", self.folder, f"--config={self.folder}/tenon-models.json"], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(self.processes()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.communicate(timeout=60)[1], "")
        self.assertEqual(running.returncode, 130)
        self.assertEqual(self.processes(), [])

    def processes(self):
        """The processes that this test has started."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"TENON_TESTING_TEST={self.folder}".encode() in path.read_bytes():
                    found.append(path.parent.name)
            except OSError:
                pass
        return found


class EnginesTest(Folder):
    SCRIPT = "def make():\n    import numpy as np\n    x = np.ones((1, 2), np.float32)\n    return lambda x: {returned}, {{'x': x}}\n"

    def script(self, returned, **more):
        self.add("linear.mlir", small_models.LINEAR)
        self.add("make.py", self.SCRIPT.format(returned=returned))
        self.add("tenon-models.json", json.dumps({"script": "make.py:make", **more}))
        return self.only(self.validate(checks=["script"]), "script")

    def test_script(self):
        right = self.script("(np.array([[1, 1, 0]], np.float32),)")
        self.assertEqual((right.status, right.reason), ("passed", ""))
        wrong = self.script("[np.array([[1, 1, 2]], np.float32)]")
        self.assertEqual((wrong.status, wrong.findings[0].position), ("failed", [0, 2]))
        self.assertIn("2 outputs", self.script("(x, x)").reason)
        self.assertEqual(self.script("1 / 0").reason, "ZeroDivisionError: division by zero")
        self.assertIn("no such file", self.script("x", script="other.py:make").reason)

    def test_rule_that_a_script_refutes(self):
        # Outputs of a script are arrays, with which the search for the step runs.
        self.add("erf.mlir", ERF)
        self.add("wrong.drr", WRONG_RULE)
        self.add("make.py", "import math\nimport numpy as np\ndef make():\n    x = np.ones((1, 8), np.float32)\n"
                            "    return lambda x: np.vectorize(lambda v: math.exp(math.erf(v / math.sqrt(2))))(x).astype(np.float32), [x.tolist()]\n")
        self.add("tenon-models.json", json.dumps({"script": "make.py:make", "rules": ["wrong.drr"]}))
        check = self.only(self.validate(checks=["script"]), "script")
        self.assertEqual((check.status, check.reason), ("failed", ""))
        self.assertEqual(check.findings[0].rule, "exp-is-one-more")

    def test_package_of_a_script_is_missing(self):
        self.add("linear.mlir", small_models.LINEAR)
        self.add("make.py", "import no_such_package")
        self.add("tenon-models.toml", 'script = "make.py:make"')
        check = self.only(self.validate(checks=["script"]), "script")
        self.assertEqual(check.status, "skipped")
        self.assertIn("no_such_package", check.reason)

    def engine(self, body, *options):
        """A package onnxruntime that computes with Tenon."""
        self.add("packages/onnxruntime/__init__.py", f"""
import types, tenon
class SessionOptions:
    def add_session_config_entry(self, *_): pass
GraphOptimizationLevel = types.SimpleNamespace(ORT_DISABLE_ALL=0)
class InferenceSession:
    def __init__(self, content, options, providers):
        self.program = tenon.load(content).compile(threads=1)
    def get_inputs(self):
        return self.program.inputs
    def run(self, names, feeds):
        outputs = list(self.program.run(feeds))
        {body}
        return outputs
""")
        path = os.pathsep.join([str(self.folder / "packages"), os.environ["PYTHONPATH"]])
        shutil.copytree(small_models.MODELS / "bert.eager.ts17", self.folder / "bert")
        result = self.command("--checks=onnxruntime", "--json=report.json", *options, env={**os.environ, "PYTHONPATH": path})
        return result, json.loads((self.folder / "report.json").read_text())["models"][0]["checks"][0]

    def test_other_engine(self):
        result, check = self.engine("")
        self.assertEqual((result.returncode, check["status"]), (0, "passed"), result.stdout)

    def test_rule_that_another_engine_refutes(self):
        self.add("wrong.drr", "rule no-softmax {\n  match   softmax(x) {axis = any}\n  replace sigmoid(x)\n  lowers  ops(nn.softmax)\n}\n")
        result, check = self.engine("", "--rules=wrong.drr")
        self.assertEqual((result.returncode, check["status"]), (1, "failed"), result.stdout)
        self.assertEqual(check["findings"][0]["rule"], "no-softmax")

    def test_node_that_differs_from_another_engine(self):
        result, check = self.engine("outputs = [value + 1 if value.dtype.kind == 'f' and value.ndim == 3 else value for value in outputs]")
        self.assertEqual((result.returncode, check["status"]), (1, "failed"))
        finding = check["findings"][0]
        self.assertEqual(finding["kind"], "import or kernel")
        self.assertIn("embeddings", finding["nodes"][0])
        self.assertIn("--compare=onnxruntime", finding["repeat"])

    @unittest.skipIf(importlib.util.find_spec("onnxruntime") is None, "needs ONNX Runtime")
    def test_onnxruntime(self):
        report = testing.validate(small_models.MODELS, filters=["bert.eager"], checks=["onnxruntime"])
        self.assertEqual([model.status for model in report.models], ["passed"] * 2)


class CommandTest(Folder):
    def test_command(self):
        self.add("erf.mlir", ERF)
        self.add("linear.mlir", small_models.LINEAR)
        self.add("wrong.drr", WRONG_RULE)
        right = self.command("--json=report.json", "--html=report.html", "-j", "2")
        self.assertEqual((right.returncode, right.stderr), (0, ""), right.stdout)
        self.assertEqual(right.stdout.splitlines()[-1], "2 models: 2 passed")
        wrong = self.command("--rules", "wrong.drr", "--json=-", "--html=report.html")
        self.assertEqual((wrong.returncode, wrong.stderr), (1, ""))
        report = json.loads(wrong.stdout)
        self.assertEqual(report["summary"], {"passed": 1, "failed": 1, "error": 0, "skipped": 0})
        self.assertEqual(report["version"], 1)
        finding = report["models"][0]["checks"][-1]["findings"][0]
        self.assertEqual(finding["rule"], "exp-is-one-more")
        self.assertEqual(report["models"][0]["tolerances"]["float32"], [5e-5, 1e-4])
        text = (self.folder / "report.html").read_text()
        for part in ("exp-is-one-more", "/gelu/Exp", "wrong.drr:1", "erf.mlir"):
            self.assertIn(part, text)
        self.check_html(text)
        self.assertEqual(self.command("-k", "lin", "--rules", "wrong.drr").returncode, 0)
        self.assertEqual(self.command("-k", "!erf", "--list").stdout, "linear: import, data, optimize, onnxruntime, kernels, passes, rules\n")
        self.assertIn("exit status:", self.command("--help").stdout)

    def test_progress_on_a_terminal(self):
        self.add("linear.mlir", small_models.LINEAR)
        outer, inner = pty.openpty()
        self.addCleanup(os.close, outer)
        result = subprocess.run([sys.executable, "-B", "-m", "tenon.testing", self.folder, "--level=import"], text=True,
                                stdout=subprocess.PIPE, stderr=inner)
        os.close(inner)
        shown = os.read(outer, 1 << 16).decode()
        self.assertIn("[....................] 0/1 linear: import", shown)
        self.assertIn("[####################] 1/1 linear", shown)
        self.assertTrue(shown.endswith("\r\033[K"), shown)
        self.assertEqual(result.stdout, "passed  linear (import)\n1 model: 1 passed\n")

    def test_progress_in_python(self):
        self.add("linear.mlir", small_models.LINEAR)
        for progress in (False, True):
            shown, seen = io.StringIO(), []
            with contextlib.redirect_stderr(shown):
                self.validate(level="import", progress=progress, on_model=lambda result: seen.append(result.model))
            self.assertEqual(seen, ["linear"])
            self.assertEqual("[####################] 1/1 linear" in shown.getvalue(), progress)
            self.assertEqual(shown.getvalue().endswith("\r\033[K"), progress)
        with self.assertRaises(TypeError):
            self.validate(level="import", progress=1)

    def test_files_of_the_working_directory_are_no_modules(self):
        self.add("linear.mlir", small_models.LINEAR)
        self.add("resource.py", "raise SystemExit('this file was imported')")
        code = "import sys; sys.path.remove(''); from tenon.testing.__main__ import main; sys.exit(main(['.', '--level=import']))"
        result = subprocess.run([sys.executable, "-B", "-c", code], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def test_the_repeated_command_shows_the_difference(self):
        self.add("erf.mlir", ERF)
        self.add("wrong.drr", WRONG_RULE)
        wrong = json.loads(self.command("--rules=wrong.drr", "--json=-", "--checks=optimize").stdout)
        repeat = wrong["models"][0]["checks"][0]["findings"][0]["repeat"]
        self.assertEqual(repeat, "ir-bisect erf.mlir -O2 --rules=wrong.drr")

    def check_html(self, text):
        test = self

        class Page(HTMLParser):
            open_tags = []

            def handle_starttag(self, tag, attributes):
                test.assertNotIn(tag, ("script", "link", "img", "iframe"))
                test.assertFalse(any(name in ("src", "onclick") for name, _ in attributes))
                if tag not in ("meta", "br"):
                    self.open_tags.append(tag)

            def handle_endtag(self, tag):
                test.assertEqual(self.open_tags.pop(), tag)

        page = Page()
        page.feed(text)
        self.assertEqual(page.open_tags, [])

    def test_reports_in_python(self):
        self.add("linear.mlir", small_models.LINEAR)
        report = self.validate(level="import")
        self.check_html(report.html())
        for name in ("r.html", "r.json"):
            report.save(self.folder / name)
        self.assertEqual((self.folder / "r.html").read_text(), report.html())
        self.assertEqual(json.loads((self.folder / "r.json").read_text()), json.loads(json.dumps(report.to_dict())))
        frame = report._repr_html_()
        self.assertTrue(frame.startswith('<iframe title="Report" sandbox style='))
        self.assertEqual(html.unescape(frame.partition('srcdoc="')[2].rpartition('"')[0]), report.html())
        for wrong in ("r.txt", self.folder, self.folder / "none" / "r.html"):
            with self.assertRaises(tenon.InvalidArgument):
                report.save(wrong)

    @unittest.skipIf(importlib.util.find_spec("yaml") is None, "needs PyYAML")
    def test_operations_in_yaml(self):
        self.add("acme.yaml", "dialect: acme\nops:\n- {op: twice, summary: Doubles x., operands: [x: Tensor<Float>], "
                              "results: [out: Tensor], traits: [Pure, Elementwise]}\n")
        self.add("mine.mlir", small_models.LINEAR)
        self.add("twice.drr", "rule twice-of-add {\n  match   add(x, x)\n  replace acme.twice(x)\n  lowers  ops(add)\n}\n")
        self.add("tenon-models.json", json.dumps({"ops": ["acme.yaml"], "rules": ["twice.drr"]}))
        report = self.validate(checks=["import", "optimize"])
        self.assertTrue(report.ok, report.to_dict())
        self.add("acme.yaml", "dialect: acme\n")
        self.assertIn("acme.yaml", self.only(self.validate(checks=["import"]), "import").reason)

    def test_names_in_html_are_text(self):
        self.add("<b>&.mlir", small_models.LINEAR)
        self.command("--html=report.html", "--level=import")
        text = (self.folder / "report.html").read_text()
        self.assertIn("&lt;b&gt;&amp;", text)
        self.assertNotIn("<b>&.mlir", text)
        self.check_html(text)

    def test_wrong_command_lines(self):
        self.assertIn("no models", self.command().stderr)
        self.add("linear.mlir", small_models.LINEAR)
        for arguments, message in ((["-k", "nothing"], "take no model"), (["--checks=x"], "no check 'x'"),
                                   (["--config=none.toml"], "none.toml"), (["--time-limit=0"], "seconds"),
                                   (["--memory-limit=lots"], "number of bytes"), (["-j", "-1"], "-j"),
                                   (["--json=/no/such", "--level=import"], "cannot be written")):
            with self.subTest(arguments):
                result = self.command(*arguments)
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertIn(message, result.stderr)
                self.assertNotIn("Traceback", result.stderr)

    def test_wrong_settings(self):
        self.add("linear.mlir", small_models.LINEAR)
        for text, message in (("x = 1", "no setting 'x'"), ('level = "all"', "no level 'all'"), ("=", "line 1"),
                              ("opt_level = 9", "0 to 3"), ("[tolerances.f32]", "no element type 'f32'"),
                              ("[tolerances.float32]\natol = -1", "atol of float32"), ("[models.a]\ny = 1", 'models."a"'),
                              ('rules = "x.drr"', "expected a list"), ("skip = 3", "expected text"),
                              ("fast_math = 1", "true or false"), ("time_limit = 0", "seconds"),
                              ("[sizes]\nn = -1", "from 0 on"), ("models = 3", "table"), ("checks = 3", "list")):
            with self.subTest(text):
                self.add("tenon-models.toml", text)
                with self.assertRaises(tenon.InvalidArgument) as caught:
                    self.validate()
                self.assertIn(message, str(caught.exception))
                self.assertIn("tenon-models.toml", str(caught.exception))

    def test_settings_that_do_harm(self):
        self.add("linear.mlir", small_models.LINEAR)
        for text, message in (("time_limit = nan", "seconds"), ("time_limit = inf", "seconds"), ("time_limit = 1e300", "seconds"),
                              ('memory_limit = "' + "9" * 5000 + '"', "number of bytes"), ('memory_limit = "\u0663G"', "number of bytes"),
                              ("[sizes]\nn = 99999999999999999999", "from 0 on"), ("x = " + "[" * 100_000, "too deeply"),
                              ("#" * 2_000_000, "more than 1048576 bytes"), ('skip = "\0"', "line 1")):
            with self.subTest(text[:40]):
                self.add("tenon-models.toml", text)
                with self.assertRaises(tenon.InvalidArgument) as caught:
                    self.validate()
                self.assertIn(message, str(caught.exception))
        (self.folder / "tenon-models.toml").unlink()
        self.add("deep.json", "[" * 100_000)
        os.mkfifo(self.folder / "fifo.toml")
        for name, message in (("deep.json", "too deeply"), ("fifo.toml", "not a regular file"), ("/dev/zero", "not a regular file"),
                              (".", "Is a directory")):
            result = self.command(f"--config={name}", timeout=60)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(message, result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_settings_beside_models_name_no_code(self):
        self.add("linear.mlir", small_models.LINEAR)
        self.add("make.py", f"open({str(self.folder / 'mark')!r}, 'w').close()")
        for settings in ({"script": "make.py:make"}, {"plugins": [PLUGIN]}, {"rules": ["make.py:rule"]},
                         {"models": {"lin*": {"script": "make.py:make"}}}, {"models": {"none": {"plugins": ["x.so"]}}}):
            with self.subTest(settings):
                self.add("tenon-models.json", json.dumps(settings))
                result = self.command("--level=import")
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertIn("names code, and the file was found beside the models (expected --config=", result.stderr)
                with self.assertRaisesRegex(tenon.InvalidArgument, "names code"):
                    testing.validate(self.folder)
                self.assertFalse((self.folder / "mark").exists())
        self.add("tenon-models.json", json.dumps({"script": "make.py:make"}))
        self.command("--config=tenon-models.json", "--checks=script")
        self.assertTrue((self.folder / "mark").exists())

    def test_names_for_terminals(self):
        harmful = "\x1b[2J\u202e\nfailed"
        for name in (harmful, "caf\udce9"):
            self.add(f"{name}.mlir", ERF.replace("/gelu/Exp", "\\1B[2J\\0Afailed"))
        self.add("wrong.drr", WRONG_RULE)
        for arguments in (["--list"], ["--checks=rules", "--rules=wrong.drr"], ["--checks=rules", "--rules=wrong.drr", "--json=-"]):
            result = self.command(*arguments)
            text = result.stdout + result.stderr
            self.assertNotIn("Traceback", text)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")
            lines = [line for line in text.splitlines() if line.startswith("failed")]
            self.assertEqual(len(lines), "--list" not in arguments and "--json=-" not in arguments, text)
            self.assertIn("\\u001b", text)
        self.command("--checks=import", "--html=report.html", "--json=report.json")
        self.assertTrue((self.folder / "report.html").read_text())

    def test_skipped_model(self):
        self.add("linear.mlir", small_models.LINEAR)
        self.add("tenon-models.toml", '[models.linear]\nskip = "not yet"')
        result = self.command()
        self.assertEqual((result.returncode, result.stdout), (0, "skipped linear (not yet)\n1 model: 1 skipped\n"))


class ModelsTest(Folder):
    def test_names(self):
        for name in ("a/model.mlir", "b.mlir", "b/model.mlir", "c/x.mlir", "c/x.onnx", "c/y.mlir", ".d/z.mlir", "e.txt"):
            self.add(name, "")
        (self.folder / "a" / "test_data_set_0").mkdir()
        (self.folder / "c" / "test_data_set_0").mkdir()
        found = find(self.folder)
        self.assertEqual([model.name for model in found], ["a", "b", "b/model", "c/x.mlir", "c/x.onnx", "c/y"])
        self.assertEqual([model.data for model in found], [self.folder / "a"] + [None] * 5)
        self.assertEqual([model.name for model in matching(found, ["c/", "!x*"])], ["c/x.mlir", "c/x.onnx", "c/y"])
        self.assertEqual([model.name for model in matching(found, ["c/?.*", "!onnx"])], ["c/x.mlir"])


class ResultsTest(unittest.TestCase):
    def test_positions_and_types(self):
        self.assertEqual(position_of(5, [2, 3]), [1, 2])
        self.assertEqual(position_of(0, []), [])
        self.assertIsNone(position_of(-1, [2]))
        self.assertEqual(split_type("2x3xf32"), ([2, 3], "float32"))
        self.assertEqual(split_type("i1"), ([], "bool"))
        self.assertEqual(split_type("4xbf16"), ([4], "bfloat16"))
        self.assertEqual(split_type("0xui8"), ([0], "uint8"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
