#!/usr/bin/env python3
"""The drift check of the pictures must be able to fail: it sees a change of the code, and pictures that nobody can read are
refused."""

import contextlib
import io
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/docs"))

import draw_diagrams
import svg_canvas


def findings(root, *arguments):
    """The names of the pictures that draw_diagrams.py complains about, and the exit status."""
    output = io.StringIO()
    with mock.patch.object(sys, "argv", ["draw_diagrams.py", f"--root={root}", *arguments]), contextlib.redirect_stdout(output):
        status = draw_diagrams.main()
    lines = [line for line in output.getvalue().splitlines() if ".svg: " in line]
    return {pathlib.Path(line.split(".svg: ")[0]).name for line in lines}, status


class DrawDiagramsTest(unittest.TestCase):
    def setUp(self):
        """A root of links to the tree's entries. `edit` replaces a folder on the way by a copy of its entries."""
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for entry in ROOT.iterdir():
            if entry.name not in {".git", "docs"} and not entry.name.startswith("build"):
                (self.root / entry.name).symlink_to(entry)
        shutil.copytree(ROOT / "docs/images", self.root / "docs/images")

    def own(self, path):
        """Makes the folders on the way to `path` folders of this root."""
        place = self.root
        for part in pathlib.PurePosixPath(path).parent.parts:
            place = place / part
            if place.is_symlink():
                target = place.resolve()
                place.unlink()
                place.mkdir()
                for entry in target.iterdir():
                    (place / entry.name).symlink_to(entry)
        return self.root / path

    def edit(self, path, old, new):
        place = self.own(path)
        text = place.read_text(encoding="utf-8")
        self.assertIn(old, text)
        place.unlink()
        place.write_text(text.replace(old, new, 1), encoding="utf-8")

    def test_the_tree_and_its_pictures_agree(self):
        self.assertEqual(findings(ROOT, "--check"), (set(), 0))

    def test_drawing_makes_what_the_check_wants(self):
        self.assertEqual(findings(self.root, f"--out={self.root / 'new'}"), (set(), 0))
        self.assertEqual(findings(self.root, "--check", f"--out={self.root / 'new'}"), (set(), 0))

    def test_an_edited_or_missing_picture_is_seen(self):
        path = self.root / "docs/images/layers.svg"
        path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
        (self.root / "docs/images/gpu.svg").unlink()
        self.assertEqual(findings(self.root, "--check"), ({"layers", "gpu"}, 1))

    def test_changes_of_the_code_are_seen(self):
        for path, old, new, pictures in [
            ("tools/lint/check_layers.py", '"drr": ["ir/base", "ir/core", "ir/dialect/declared_op.h", "pass"]', '"drr": ["ir/core"]', {"layers"}),
            ("tools/lint/check_layers.py", '"tests": EVERYTHING,', '"tests": EVERYTHING, "more": [],', {"layers"}),
            ("ir/dialect/q.yaml", "- op: linear", "- op: conv\n- op: linear", {"dialects"}),
            ("ir/core/operation.h", "uint16_t num_results_;", "uint32_t num_results_;", {"operation-memory"}),
            ("frontends/cpp/pipelines.cc", ",final-rules,fuse-elementwise", ",fuse-elementwise", {"pipeline-o2"}),
            (
                "frontends/cpp/pipelines.cc",
                '",widen-half,lower-to-kernels,plan-memory"',
                '",lower-to-kernels,plan-memory"',
                {"pipeline-o2", "executor"},
            ),
            (
                "patterns/families.def",
                'TENON_RULE_FAMILY(Norm, "norm", "fuse"',
                'TENON_RULE_FAMILY(Norm, "norm", "canonicalize"',
                {"rule-families"},
            ),
            (
                "patterns/families.def",
                '"mlp", "fuse", kOnRequest',
                '"mlp", "fuse", kAlways',
                {"rule-families"},
            ),
            ("drr/check/edges.cc", "{-14, 16, 6, -10}", "{-14, 16, 7, -10}", {"rule-safety"}),
            ("drr/rule/condition.cc", '"may overflow"', '"can overflow"', {"rule-safety"}),
            ("drr/rewrite/rewriter.h", "Refusal Apply", "Refusal ApplyNow", {"rule-safety"}),
            ("ir/core/dims/dim_expr.h", "kMin,", "kMin, kMax,", {"shapes"}),
            ("ir/dialect/shapes/shape_data.h", "kMaxElements = 64", "kMaxElements = 128", {"shapes"}),
            ("frontends/onnx/file/wire.h", "kMaxMessageDepth = 100", "kMaxMessageDepth = 90", {"importer"}),
            ("executor/run/runner.cc", "kMaxPrepared = 16", "kMaxPrepared = 8", {"executor"}),
            (
                "tests/golden/transforms/plan_memory.ir",
                "kernel.arena_bytes = 40960",
                "kernel.arena_bytes = 49152",
                {"memory-plan"},
            ),
            ("executor/memory/memory_planner.h", "kArenaAlignment = 64", "kArenaAlignment = 256", {"memory-plan"}),
        ]:
            with self.subTest(path=path, new=new):
                self.setUp()
                self.edit(path, old, new)
                self.assertEqual(findings(self.root, "--check"), (pictures, 1))

    def test_new_folders_are_seen(self):
        for folder, pictures in [("kernels/cpu/sparse", {"kernels"}), ("tests/sparse", {"testing"})]:
            with self.subTest(folder=folder):
                self.setUp()
                self.own(folder).mkdir()
                self.assertEqual(findings(self.root, "--check"), (pictures, 1))


class CanvasTest(unittest.TestCase):
    def test_text_over_text(self):
        canvas = svg_canvas.Canvas("t")
        canvas.text(20, 30, "first")
        with self.assertRaisesRegex(svg_canvas.DrawingError, "lies over 'first'"):
            canvas.text(30, 34, "second")
        canvas.text(20, 50, "third")

    def test_text_that_does_not_fit(self):
        canvas = svg_canvas.Canvas("t")
        with self.assertRaisesRegex(svg_canvas.DrawingError, "pixels"):
            canvas.box(10, 10, 40, 30, "plain", "a long title")
        with self.assertRaisesRegex(svg_canvas.DrawingError, "leaves the picture"):
            canvas.text(740, 30, "outside")

    def test_a_line_through_text(self):
        canvas = svg_canvas.Canvas("t")
        canvas.text(20, 30, "words")
        canvas.arrow((10, 50), (100, 50))
        canvas.svg(80)
        canvas.arrow((10, 10), (60, 40))
        with self.assertRaisesRegex(svg_canvas.DrawingError, "a line crosses 'words'"):
            canvas.svg(80)


if __name__ == "__main__":
    unittest.main()
