#!/usr/bin/env python3
"""tools/docs/make_tables.py on small trees: what it writes, and that it sees drift."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "docs"))
import make_tables  # noqa: E402

SPEED = """{
  "question": "How fast?",
  "columns": {"model": "Model", "ms": "ms", "ratio": "ratio", "kind": "kind"},
  "tables": {"kinds": {"group": "kind", "of": ["ratio"]}, "first": {"where": "page", "columns": ["model", "ms"]}},
  "measurements": [
    {"machine": "a processor", "date": "2026-01-02", "commit": "abc1234", "commit_found_by": "git log",
     "versions": {"Other": "1.2"}, "command": "bench $M", "rounds": "5",
     "rows": [
       {"model": "a", "kind": "x", "ms": 1.20, "ratio": {"ratio": 1.38, "low": 1.36, "high": 1.40}, "page": true},
       {"model": "b", "kind": "x", "ratio": [0.90, 1.1]},
       {"model": "c", "kind": "y", "ms": 12, "ratio": {"from": 0.96, "to": 1.0}, "commit": "def5678", "date": "2026-01-03"}
     ]}
  ]
}"""
MODELS = {
    "date": "2026-01-02", "commit": "abc1234", "command": "table.py DIR", "exporters": ["dynamo"], "models": 3, "data_sets": 6,
    "equal": {"O0": 3, "O2": 2}, "fully_fused": 1, "failing": [{"model": "b.x", "error": "an output differs"}],
    "architectures": [
        {"name": "a", "kind": "encoders", "models": 2, "O0": 2, "O2": 2, "softmax_left": 0, "products_left": 0,
         "fused": {"attention": 4, "linear": 8}},
        {"name": "b", "kind": "encoders", "models": 1, "O0": 1, "O2": 0, "softmax_left": 1, "products_left": 0, "fused": {}}],
    "operations": [{"name": "If", "models": 1, "nodes": 2, "state": "opaque"}],
}
PAGE = "# Speed\n\n<!-- table: speed{} -->\n{}<!-- end -->\nbehind\n"
TABLE = """| Model | ms | ratio | kind |
|---|--:|--:|---|
| a | 1.20 | 1.38 (1.36–1.40) | x |
| b | – | 0.90, 1.1 | x |
| c | 12 | 0.96 to 1.0 | y |

Repeat: `bench $M`. Measured: a processor; 2026-01-02 to 2026-01-03; commits `abc1234`, `def5678`; Other 1.2; 5 rounds.
"""


class Tables(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        (self.tree / "docs" / "data").mkdir(parents=True)
        self.page = self.tree / "docs" / "speed.md"
        self.data = self.tree / "docs" / "data" / "speed.json"
        self.data.write_text(SPEED, encoding="utf-8")
        self.page.write_text(PAGE.format("", ""), encoding="utf-8")

    def run_tables(self, check=False):
        with contextlib.redirect_stdout(io.StringIO()):
            return make_tables.run(self.tree, check)

    def text(self):
        return self.page.read_text(encoding="utf-8")

    def show(self, view):
        self.page.write_text(PAGE.format(view, ""), encoding="utf-8")
        self.assertEqual(self.run_tables(), [])
        return self.text()

    def test_a_table_has_the_digits_of_the_file(self):
        self.assertEqual(self.run_tables(), [])
        self.assertEqual(self.text(), PAGE.format("", TABLE))

    def test_writing_twice_changes_nothing(self):
        self.run_tables()
        written = self.text()
        self.assertEqual(self.run_tables(check=True), [])
        self.assertEqual(self.run_tables(), [])
        self.assertEqual(self.text(), written)

    def test_a_changed_figure_is_drift(self):
        self.run_tables()
        self.data.write_text(SPEED.replace("1.20", "1.30"), encoding="utf-8")
        written = self.text()
        self.assertIn("docs/speed.md differs", self.run_tables(check=True)[0])
        self.assertEqual(self.text(), written)

    def test_a_table_changed_by_hand_is_drift(self):
        self.run_tables()
        self.page.write_text(self.text().replace("| 12 |", "| 11 |"), encoding="utf-8")
        self.assertIn("docs/speed.md differs", self.run_tables(check=True)[0])

    def test_a_file_that_no_page_shows_is_an_error(self):
        self.page.write_text("# Speed\n", encoding="utf-8")
        self.assertEqual(self.run_tables(check=True), ["docs/data/speed.json is on no page"])

    def test_a_summary_has_a_row_for_each_group(self):
        text = self.show("/kinds")
        self.assertIn("| x | 2 | 1.19 | 1.00 to 1.38 |\n", text)
        self.assertIn("| y | 1 | 0.98 | – |\n", text)

    def test_a_view_chooses_rows_and_columns(self):
        self.assertIn("| Model | ms |\n|---|--:|\n| a | 1.20 |\n\n", self.show("/first"))

    def test_mistakes_are_named(self):
        for page, problem in (
                ("<!-- table: other -->\n<!-- end -->\n", "docs/speed.md:1: table other: no docs/data/other.json"),
                ("<!-- table: speed/none -->\n<!-- end -->\n", "speed.json has the views kinds, first"),
                ("<!-- table: speed -->\n", "no <!-- end --> behind table speed"),
                ("<!-- table: speed -->\n<!-- end -->\n<!-- end -->\n", "docs/speed.md:3: <!-- end --> without a table")):
            self.page.write_text(page, encoding="utf-8")
            self.assertIn(problem, "\n".join(self.run_tables(check=True)))

    def test_a_measurement_says_where_it_is_from(self):
        self.data.write_text(SPEED.replace('"commit": "abc1234", ', ""), encoding="utf-8")
        self.assertEqual(self.run_tables(), ["docs/data/speed.json: a measurement lacks commit"])
        self.data.write_text(SPEED.replace('"ms": 12', '"weight": 12'), encoding="utf-8")
        self.assertEqual(self.run_tables(), ["docs/data/speed.json: no title in columns for weight"])

    def test_a_long_page_is_an_error(self):
        (self.tree / "docs" / "performance.md").write_text("line\n" * 161, encoding="utf-8")
        self.assertIn("docs/performance.md has 161 lines, and 160 are allowed", self.run_tables())

    def test_models(self):
        (self.tree / "docs" / "data" / "models.json").write_text(json.dumps(MODELS), encoding="utf-8")
        (self.tree / "docs" / "models.md").write_text(
            "".join(f"<!-- table: models/{view} -->\n<!-- end -->\n" for view in make_tables.MODELS), encoding="utf-8")
        self.assertEqual(self.run_tables(), [])
        text = (self.tree / "docs" / "models.md").read_text(encoding="utf-8")
        for line in ("- 3 give the expected results at `-O0`, 2 at `-O2`.", "| encoders | 2 | 3 | 3 | 2 | 4 | 1 | – |",
                     "| Kind | `attention` | `linear` |", "| encoders | 4 | 8 |", "| encoders | a, b |", "- encoders: b",
                     "- `b.x`: an output differs", "- 1 operation opaque: If", "| a | encoders | 2 | 2 | 2 | – | – |",
                     "| If | 1 | 2 | opaque |"):
            self.assertIn(line + "\n", text)


if __name__ == "__main__":
    unittest.main()
