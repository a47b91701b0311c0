"""The pytest plugin of tenon.testing: which tests it makes, and what they say.

  pytest_plugin_test.py PLUGIN   PLUGIN is planted_plugin.cc
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

import small_models
from testing_test import ERF, WRONG_RULE

MODULE = "tenon.testing.pytest_plugin"


class PytestTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.add("pytest.ini", "[pytest]\ntenon_models = models\n")
        self.add("models/erf.mlir", ERF)
        self.add("models/linear.mlir", small_models.LINEAR)
        self.add("test_other.py", "def test_other():\n    pass\n")

    def add(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def pytest(self, *arguments, status=0):
        result = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", MODULE, "-p", "no:cacheprovider", *arguments],
                                cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout

    def test_items(self):
        listed = self.pytest("--collect-only", "-q", "--tenon-level=outputs").splitlines()
        self.assertEqual(listed[:5], [f"models/erf.mlir::{check}" for check in
                                      ("import", "data", "optimize", "onnxruntime")] + ["models/linear.mlir::import"])
        self.assertIn("test_other.py::test_other", listed)
        listed = self.pytest("--collect-only", "-q", "-k", "linear and optimize").splitlines()
        self.assertEqual(listed[0], "models/linear.mlir::optimize")
        self.assertEqual(listed[1], "")
        self.assertIn("models/erf.mlir::rules", self.pytest("--collect-only", "-q", "-m", "tenon", "models/erf.mlir"))

    def test_right_models(self):
        out = self.pytest("--tenon-level=passes", "-rs")
        self.assertIn("9 passed, 4 skipped", out.splitlines()[-1])
        self.assertIn("there is no test_data_set_N", out)

    def test_failure_and_report(self):
        self.add("models/tenon-models.toml", 'rules = ["wrong.drr"]\nlevel = "outputs"')
        self.add("models/wrong.drr", WRONG_RULE)
        out = self.pytest("--tenon-report=report.json", "-k", "erf or linear", status=1)
        for part in ("erf: optimize: failed", "rule exp-is-one-more", "wrong.drr:1", "/gelu/Exp", "in pass fuse",
                     "repeat: ir-bisect models/erf.mlir -O2 --rules=models/wrong.drr"):
            self.assertIn(part, out)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(report["summary"], {"passed": 1, "failed": 1, "error": 0, "skipped": 0})
        self.assertEqual(report["folder"], "models")
        self.assertEqual([check["check"] for check in report["models"][0]["checks"]],
                         ["import", "data", "optimize", "onnxruntime"])
        self.pytest("--tenon-report=report.html", "models/linear.mlir")
        self.assertIn("linear", (self.folder / "report.html").read_text())

    def test_report_that_cannot_be_written(self):
        for path in ("models", "nowhere/report.json"):
            result = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", MODULE, f"--tenon-report={path}"],
                                    cwd=self.folder, text=True, capture_output=True)
            self.assertEqual(result.returncode, 4)
            self.assertIn(f"{path} cannot be written", result.stderr)

    @unittest.skipIf(importlib.util.find_spec("xdist") is None, "needs pytest-xdist")
    def test_several_processes(self):
        self.add("models/tenon-models.toml", 'rules = ["wrong.drr"]\nlevel = "outputs"')
        self.add("models/wrong.drr", WRONG_RULE)
        self.pytest("--tenon-report=one.json", status=1)
        self.pytest("--tenon-report=two.json", "-n", "2", status=1)
        self.assertEqual((self.folder / "one.json").read_text(), (self.folder / "two.json").read_text())

    def test_settings_name_the_folder(self):
        self.add("pytest.ini", "[pytest]\n")
        self.assertNotIn("mlir", self.pytest("--collect-only", "-q"))
        self.add("tenon-models.toml", 'folder = "models"\nlevel = "import"\n[models."lin*"]\nskip = "not yet"')
        self.assertIn("2 passed, 1 skipped", self.pytest().splitlines()[-1])
        self.add("tenon-models.toml", 'folder = "models"\nlevle = "import"')
        result = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", MODULE], cwd=self.folder, text=True,
                                capture_output=True)
        self.assertEqual(result.returncode, 4)
        self.assertIn("there is no setting 'levle'", result.stderr)

    def test_entry_point(self):
        project = tomllib.loads((small_models.ROOT / "pyproject.toml").read_text())
        self.assertEqual(project["project"]["entry-points"]["pytest11"], {"tenon": MODULE})


if __name__ == "__main__":
    if importlib.util.find_spec("pytest") is None:
        print("pytest is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
