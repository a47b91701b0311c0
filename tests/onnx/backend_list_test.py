#!/usr/bin/env python3
"""What backend_test.py says of outcomes that are not as listed, and of lists that are wrong."""

import os
import tempfile
import unittest

import backend_test

LIST = """# comment
suite archive: 3 cases, 0 light models
suite onnx-1.0: 2 cases, 0 light models

refused "has no counterpart" "type STRING": Not supported.
  node/test_a
  node/test_old (only onnx-1.0)

differs "elements differ": Rounded elsewhere.
  simple/test_b
"""
AS_LISTED = {"node/test_a": ("SKIP", "Foo has no counterpart"), "simple/test_b": ("FAIL", "2 elements differ"),
             "node/test_c": ("PASS", "")}


def read(text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        return backend_test.read_list(file.name)


class BackendList(unittest.TestCase):

    def problems(self, changes, suite="archive"):
        suites, entries = read(LIST)
        outcomes = {name: outcome for name, outcome in {**AS_LISTED, **changes}.items() if outcome}
        return backend_test.problems_of(suite, suites[suite]["cases"], outcomes, entries)

    def check(self, changes, *parts, suite="archive"):
        problems = self.problems(changes, suite)
        self.assertEqual(len(problems), len(parts), problems)
        for problem, part in zip(problems, parts):
            self.assertIn(part, problem)

    def test_outcomes_as_listed(self):
        self.check({})

    def test_unexpected_pass(self):
        self.check({"node/test_a": ("PASS", "")}, "node/test_a passes")
        self.check({"simple/test_b": ("PASS", "")}, "simple/test_b passes")

    def test_unexpected_failure(self):
        self.check({"node/test_c": ("FAIL", "wrong")}, "node/test_c: FAIL wrong")
        self.check({"node/test_c": ("SKIP", "Foo has no counterpart")}, "node/test_c: SKIP")

    def test_failure_of_another_kind(self):
        self.check({"node/test_a": ("FAIL", "Foo has no counterpart")}, "node/test_a: FAIL")
        self.check({"node/test_a": ("SKIP", "needs a kernel")}, "node/test_a: SKIP needs a kernel")

    def test_listed_case_that_does_not_exist(self):
        self.check({"node/test_a": None}, "has 2 cases (expected 3)", "node/test_a is listed and not in the suite")

    def test_other_suites(self):
        old = {"node/test_c": None, "simple/test_b": None, "node/test_old": ("SKIP", "type STRING")}
        self.check(old, suite="onnx-1.0")
        self.check({**old, "node/test_old": None, "node/test_c": ("PASS", "")}, "node/test_old is listed", suite="onnx-1.0")
        self.check({"node/test_old": ("SKIP", "type STRING"), "node/test_c": None}, "node/test_old: SKIP")

    def test_wrong_lists(self):
        for text, message in ((LIST + "  node/test_a\n", "listed twice"), (LIST + "node/test_z\n", "neither"),
                              (LIST + "  node/test_z (only onnx-9)\n", "no suite onnx-9"), ("  node/test_a\n", "neither")):
            with self.assertRaises(SystemExit) as raised:
                read(text)
            self.assertIn(message, str(raised.exception))

    def test_the_list_in_the_tree_is_sorted(self):
        with open(backend_test.LIST, encoding="utf-8") as file:
            groups = file.read().split("\n\n")
        for group in groups:
            names = [line.split()[0] for line in group.splitlines() if line.startswith("  ")]
            self.assertEqual(names, sorted(names))


if __name__ == "__main__":
    os.chdir("/")
    unittest.main()
