#!/usr/bin/env python3
"""docs/paddle-passes.md: every rule, pass and operation that it names exists, and does its work in the program named beside it.

  paddle_passes_test.py <ir-opt>
"""

import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "paddle-passes.md"
FEWEST_ROWS = 90
REQUEST = "on request"  # what a row says of rules and operations that no pipeline has
FAMILIES_ON_REQUEST = ("blocks", "mlp", "transformer", "transformer,stacks", "siblings")
WORDS = {"causal"}  # that stand in code and name an attribute
IR_OPT = None


def ir_opt(*arguments):
    result = subprocess.run([IR_OPT, *arguments], capture_output=True, text=True, timeout=120, check=False)
    if result.returncode != 0:
        raise AssertionError(f"ir-opt {' '.join(map(str, arguments))}: {result.stderr}")
    return result.stdout


def rows(page):
    """(line, what Paddle has, what is here, where) of each row of the tables."""
    for number, line in enumerate(page.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[0] != "Paddle" and not cells[0].startswith("---"):
            yield number, *cells


def names(cell):
    return re.findall(r"`([^`]+)`", cell)


def fired_in(report):
    return {rule["rule"] for rule in json.loads(report.read_text(encoding="utf-8"))["rules"] if rule["fired"]}


class Program:
    """A program of the tree: the rules that fire, and its text, the passes and what they leave. Of a model the same on request."""

    def __init__(self, name):
        model = ROOT / "tests" / "models" / name / "model.onnx"
        golden = ROOT / "tests" / "golden" / name
        self.passes = self.requested_text = ""
        self.requested = set()
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.json"
            if model.exists():
                for family in FAMILIES_ON_REQUEST:
                    pipeline = f"--pass-pipeline=O2,fuse{{rules={family}}}"
                    self.requested_text += ir_opt(model, pipeline, "--elide-resources", f"--fusion-report={report}", "-o", "-")
                    self.requested |= fired_in(report)
                self.text = ir_opt(model, "-O2", "--elide-resources", f"--fusion-report={report}", "-o", "-")
            else:
                self.text = golden.read_text(encoding="utf-8")
                test = re.match(r"// test: opt (.+)\n", self.text)
                self.passes = test[1] if test else ""
                if not re.search("fuse{|canonicalize|^O[1-3]", self.passes):
                    self.fired = set()
                    return
                ir_opt(golden, f"--pass-pipeline={self.passes}", f"--fusion-report={report}")
            self.fired = fired_in(report)
            if not model.exists():
                self.requested, self.requested_text = self.fired, self.text


program = functools.lru_cache(maxsize=None)(Program)


class PaddlePasses(unittest.TestCase):

    def test_every_name_exists_and_works(self):
        page = PAGE.read_text(encoding="utf-8")
        rules = set(re.findall(r"^  (\S+) ", ir_opt("--list-rules"), re.M))
        passes = set(re.findall(r"^  --([a-z-]+)", ir_opt("--list-passes"), re.M))
        ops = set(re.findall(r"^\s*([a-z]+\.[a-z0-9_]+)", ir_opt("--list-ops"), re.M))
        found = list(rows(page))
        self.assertGreaterEqual(len(found), FEWEST_ROWS)
        for line, paddle, here, where in found:
            with self.subTest(line=line, paddle=paddle):
                for name in names(here):
                    self.assertTrue(name in rules | passes | ops | WORDS, f"{name} is no rule, pass or operation")
                if here.startswith("none: "):
                    self.assertEqual(where, "")
                    continue
                kind = here.split()[0]
                self.assertIn(kind, ("rule", "rules", "pass", "op"))
                self.assertTrue(names(where), "no program")
                programs = [program(name) for name in names(where)]
                first = names(here)[0]
                if kind == "pass":
                    self.assertTrue(any(first in p.passes for p in programs), f"no test of {first} in {where}")
                elif kind == "op":
                    texts = [p.requested_text if REQUEST in here else p.text for p in programs]
                    self.assertTrue(any(f"{first}(" in text for text in texts), f"{first} is in none of {where}")
                else:
                    for rule in names(here):
                        if rule in rules:
                            fired = [p.requested if REQUEST in here else p.fired for p in programs]
                            self.assertTrue(any(rule in each for each in fired), f"{rule} fires in none of {where}")

    def test_a_row_is_read(self):
        self.assertEqual(list(rows("| Paddle | Tenon | fires in |\n|---|---|---|\n| a, b | rule `c` | `d.ir` |\n")),
                         [(3, "a, b", "rule `c`", "`d.ir`")])


if __name__ == "__main__":
    IR_OPT = sys.argv.pop(1)
    unittest.main()
