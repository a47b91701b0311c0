"""Pictures of programs: Model.view, Module.view, optimize(view=True)."""

import html
import json
import os
import pathlib
import re
import tempfile
import unittest

import small_models
import tenon

BERT = small_models.model_file("bert.eager.ts17")
CHAIN = """
func.func() <{{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}}> ({{
^bb0(%v0: tensor<4xf32>):
{}
  func.return(%v{}) : (tensor<4xf32>) -> ()
}}) : () -> ()
"""


def chain(length):
    lines = [f"  %v{i + 1} = ten.abs(%v{i}) : (tensor<4xf32>) -> tensor<4xf32>" for i in range(length)]
    return tenon.load(CHAIN.format("\n".join(lines), length).encode())


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="program">(.*?)</script>', page, re.S)[1])


class ViewTest(unittest.TestCase):
    def test_one_program(self):
        for view in (tenon.load(BERT).view(), tenon.load(BERT).module().view()):
            self.assertIsInstance(view, tenon.View)
            self.assertRegex(repr(view), r"^<tenon.View of \d+ operations>$")
            data = data_of(view.html())
            self.assertEqual(len(data["programs"]), 1)
            self.assertIn("ten.matmul", data["strings"])
            self.assertIn("ten.matmul", view.svg())
            self.assertRegex(view.dot(), "^digraph")

    def test_before_and_after(self):
        model = tenon.load(BERT)
        report = model.optimize(view=True, disabled_rules="gelu-erf", explain="gelu-erf")
        data = data_of(report.view.html())
        self.assertEqual(len(data["programs"]), 2)
        self.assertIn("fused.attention", data["strings"])
        self.assertTrue(any(text.startswith("fuse-attention") or "attention" in text for text in data["strings"]))
        self.assertTrue(data["misses"])
        self.assertRegex(repr(report.view), r"before and \d+ after O2>$")
        self.assertIn("gelu-erf", report.explained)
        self.assertIn("fused.attention", report.view.dot())
        # It is the program of that call, and the same model without the picture.
        other = tenon.load(BERT)
        self.assertIsNone(other.optimize(disabled_rules="gelu-erf").view)
        self.assertEqual(other.text(), model.text())
        before = report.view.html()
        model.optimize(pipeline="cse")
        self.assertEqual(report.view.html(), before)

    def test_rules_and_passes_in_python(self):
        @tenon.rule
        def view_neg_of_neg(x):
            return -(-x), x

        source = CHAIN.format("  %v1 = ten.neg(%v0) : (tensor<4xf32>) -> tensor<4xf32> loc(\"/a/First\")\n"
                              "  %v2 = ten.neg(%v1) : (tensor<4xf32>) -> tensor<4xf32> loc(\"/a/Second\")\n"
                              "  %v3 = ten.tanh(%v2) : (tensor<4xf32>) -> tensor<4xf32> loc(\"/a/Third\")", 3)

        @tenon.register_pass("view-nothing")
        def nothing(module, context):
            pass

        view = tenon.load(source.encode()).optimize(pipeline="view-nothing,fuse", rules=view_neg_of_neg, view=True).view
        self.assertIn("view-nothing,fuse", repr(view))
        self.assertEqual(view.dot().count("ten.neg"), 2)

    def test_notebooks(self):
        view = chain(3).view()
        text = view._repr_html_()
        frame = re.fullmatch(r'<iframe title="[^"]*" sandbox="allow-scripts[^"]*" style="[^"]*" srcdoc="([^"]*)"></iframe>', text)
        self.assertIsNotNone(frame)
        self.assertEqual(html.unescape(frame[1]), view.html())

    def test_files(self):
        view = chain(3).view()
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("v.html", view.html()), ("v.svg", view.svg()), ("v.dot", view.dot())):
                path = pathlib.Path(folder) / name
                view.save(path)
                self.assertEqual(path.read_text(), text)
            view.save(os.path.join(folder, "bytes.dot").encode())
            for wrong in ("v.png", "v", os.path.join(folder, "none", "v.svg")):
                with self.subTest(wrong), self.assertRaises(tenon.InvalidArgument):
                    view.save(wrong)
            for wrong in (None, 3):
                with self.assertRaises(TypeError):
                    view.save(wrong)
            self.assertEqual(sorted(os.listdir(folder)), ["bytes.dot", "v.dot", "v.html", "v.svg"])

    def test_profile(self):
        model = chain(2)
        node = data_of(model.view().html())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p.json"
            calls = [{"op": "ten.abs", "node": "<bytes>:5:8", "ms": 3.25}]
            path.write_text(json.dumps({"calls": calls}))
            for view in (model.view(profile=path), model.module().view(os.fspath(path))):
                self.assertIn("3.25", view.html())
            self.assertNotIn("3.25", json.dumps(node))
            for content in ("{", "[]", '{"calls": [{}]}'):
                path.write_text(content)
                with self.subTest(content), self.assertRaisesRegex(tenon.InvalidArgument, "p.json"):
                    model.view(profile=path)
            with self.assertRaises(FileNotFoundError):
                model.view(profile=os.path.join(folder, "none.json"))
        with self.assertRaises(TypeError):
            model.view(profile=3.5)

    def test_limits(self):
        view = chain(2100).view()
        self.assertEqual(len(data_of(view.html())["programs"]), 1)
        for still in (view.svg, view.dot):
            with self.assertRaisesRegex(tenon.InvalidArgument, "2000"):
                still()

    def test_wrong_options(self):
        model = chain(1)
        with self.assertRaises(TypeError):
            model.optimize(view="yes")
        with self.assertRaises(TypeError):
            tenon.View()

        def fail(name, steps):
            raise KeyError(name)

        with self.assertRaises(KeyError):
            model.optimize(view=True, progress=fail)
        seen = []
        self.assertIsNotNone(model.optimize(view=True, threads=4, progress=lambda name, steps: seen.append(name)).view)
        self.assertTrue(seen)


if __name__ == "__main__":
    unittest.main()
