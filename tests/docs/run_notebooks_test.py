#!/usr/bin/env python3
"""tools/docs/run_notebooks.py runs what a notebook says, and sees each way in which a notebook can be wrong."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "docs" / "run_notebooks.py"


def code(source, *outputs, tags=()):
    return {"cell_type": "code", "execution_count": 1, "id": "c", "metadata": {"tags": list(tags)}, "outputs": list(outputs),
            "source": source}


def printed(text):
    return {"name": "stdout", "output_type": "stream", "text": [text]}


def value(text):
    return {"data": {"text/plain": [text]}, "execution_count": 1, "metadata": {}, "output_type": "execute_result"}


class NotebooksTest(unittest.TestCase):
    def run_notebook(self, *cells, arguments=(), status=0):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.ipynb"
            path.write_text(json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
            result = subprocess.run([sys.executable, "-B", SCRIPT, path, *arguments], capture_output=True, text=True)
            self.assertEqual(result.returncode, status, result.stdout + result.stderr)
            return result.stdout, [cell.get("outputs") for cell in json.loads(path.read_text())["cells"]]

    def test_right(self):
        self.run_notebook(code("x = 2\nprint(x)\nx * 2", printed("2\n"), value("4")), code("x", value("2")), code("y = 1"))

    def test_one_process_for_all_cells_and_a_new_one_for_each_notebook(self):
        self.run_notebook(code("x = 1"), code("x", value("1")))
        self.run_notebook(code("'x' in globals()", value("False")))

    def test_other_output(self):
        for cell in (code("print(1)", printed("2\n")), code("1", value("2")), code("1"), code("", value("1")),
                     code("print(1)\n2", printed("1\n"))):
            out, outputs = self.run_notebook(cell, status=1)
            self.assertIn("prints something else", out)
            self.assertEqual(outputs, [cell["outputs"]])

    def test_exceptions(self):
        out, _ = self.run_notebook(code("1 / 0"), code("2", value("2")), status=1)
        self.assertIn("cell 1: raises ZeroDivisionError", out)
        self.assertIn("cells 2 to 2 did not run", out)
        error = {"ename": "ZeroDivisionError", "evalue": "division by zero", "output_type": "error", "traceback": []}
        self.run_notebook(code("1 / 0", error, tags=["raises-exception"]), code("2", value("2")))
        out, _ = self.run_notebook(code("1", value("1"), tags=["raises-exception"]), status=1)
        self.assertIn("raises nothing", out)
        out, _ = self.run_notebook(code("import os\nos._exit(3)"), status=1)
        self.assertIn("status 3", out)
        out, _ = self.run_notebook(code("x ="), status=1)
        self.assertIn("SyntaxError", out)

    def test_update(self):
        _, outputs = self.run_notebook(code("print(1)\n2", printed("0\n")), arguments=["--update"])
        self.assertEqual(outputs, [[printed("1\n"), value("2")]])
        _, outputs = self.run_notebook(code("1 / 0", printed("0\n")), arguments=["--update"], status=1)
        self.assertEqual(outputs, [[printed("0\n")]])

    def test_links(self):
        cell = {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["[a](../guide/use-from-python.md#install) [b](none.md)"]}
        out, _ = self.run_notebook(cell, status=1)
        self.assertIn("none.md", out)
        self.assertNotIn("use-from-python", out)

    def test_no_such_notebook(self):
        self.assertEqual(subprocess.run([sys.executable, "-B", SCRIPT, "none.ipynb"], stderr=subprocess.PIPE).returncode, 2)


if __name__ == "__main__":
    unittest.main()
