#!/usr/bin/env python3
"""The lint of header costs must be able to fail: headers over their budget, without one, and budgets of no header."""

import pathlib
import tempfile
import unittest

import check_header_cost


class CheckHeaderCostTest(unittest.TestCase):
    def test_findings(self):
        budget = {"a.h": 1000, "b.h": 1000}
        self.assertEqual(list(check_header_cost.findings({"a.h": 1000, "b.h": 1019}, budget)), [])
        self.assertIn("a.h: 1021 lines, the budget is 1000",
                      "".join(check_header_cost.findings({"a.h": 1021, "b.h": 10}, budget)))
        self.assertIn("c.h: 5 lines, and no budget",
                      "".join(check_header_cost.findings({"a.h": 1, "b.h": 1, "c.h": 5}, budget)))
        self.assertIn("b.h: has a budget, but few files", "".join(check_header_cost.findings({"a.h": 1}, budget)))

    def test_budget_file(self):
        version, budget = check_header_cost.read_budget("# comment\ncompiler gcc 12\n  1200 ir/core/a.h\n")
        self.assertEqual((version, budget), ("gcc 12", {"ir/core/a.h": 1200}))

    def test_cost_follows_includes(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "light.h").write_text("int light;\n")
            (root / "heavy.h").write_text('#include "light.h"\n#include <vector>\n')
            (root / "broken.h").write_text('#include "nowhere.h"\n')
            light, heavy, broken = (check_header_cost.cost("c++", folder, name) for name in ("light.h", "heavy.h", "broken.h"))
        self.assertEqual(light, (1, ""))
        self.assertGreater(heavy[0], 1000)
        self.assertIsNone(broken[0])
        self.assertIn("nowhere.h", broken[1])


if __name__ == "__main__":
    unittest.main()
