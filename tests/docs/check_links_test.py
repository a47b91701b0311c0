#!/usr/bin/env python3
"""tools/docs/check_links.py sees each kind of link that leads nowhere, pages that are too long and pages that are lost."""

import subprocess
import unittest

from trees import Tree, run

import check_links
import pages

NAVIGATION = "nav:\n  - index.md\n  - Guides:\n      - guide/*.md\n  - A title: design.md\n"


class CheckLinksTest(unittest.TestCase):

    def findings(self, files=(), git=False):
        tree = Tree(self, {
            "README.md": "# Tenon\n\n[Site](docs/index.md), [design](docs/design.md).\n",
            "docs/index.md": "# Home\n\n[A guide](guide/run.md)\n",
            "docs/design.md": "# Design\n\n## What `ir-opt` does\n",
            "docs/guide/run.md": "# Run\n",
            "ir/core/op.h": "int a;\n",
            "tools/docs/mkdocs.yml": NAVIGATION,
            **dict(files)})
        if git:
            subprocess.run(["git", "init", "-q", tree.root], check=True)
        pages.tree_files.cache_clear()
        status, output = run(check_links.main, "--root", tree.root)
        self.assertEqual(status, 0 if " 0 findings" in output else 1)
        return output

    def link(self, text, git=False, **files):
        """What is found of a page docs/guide/run.md with this text."""
        return self.findings({"docs/guide/run.md": "# Run\n\n" + text + "\n", **{
            name.replace("__", "/").replace("_md", ".md"): content for name, content in files.items()}}, git)

    def test_a_tree_that_is_right(self):
        output = self.link("[a](../design.md), [b](../design.md#what-ir-opt-does), [c](../../ir/core/op.h), [d](../../ir/core/),\n"
                           "[e](https://example.org/x), [f](#run), [`g[0]`](<../design.md> \"title\"), [h][H] and [i][], ![j](../k.svg)\n\n"
                           "[h]: ../design.md\n[i]: ../design.md#design\n\n"
                           "`[code](none.md)` \\[x](none.md) <a href=\"../design.md\">k</a> <a id=\"here\"></a> [l](#here)\n\n"
                           "```text\n[block](none.md)\n```\n\n<!-- [comment](none.md) -->", **{"docs__k.svg": "<svg/>"})
        self.assertIn(" 0 findings", output)

    def test_links_that_lead_nowhere(self):
        for text, message in (
                ("[a](none.md)", ":3: none.md: there is no such file"),
                ("text\ntext [a\nb](none.md)", ":4: none.md: there is no such file"),
                ("- [a](none.md)", ":3: none.md"),
                ("| a |\n|---|\n| [b](none.md) |", ":5: none.md"),
                ("> [a](none.md)", ":3: none.md"),
                ("### A [b](none.md)", ":3: none.md"),
                ("[![a](none.svg)](../design.md)", ":3: none.svg"),
                ("![a](none.svg)", ":3: none.svg"),
                ("<img src=\"none.svg\">", ":3: none.svg"),
                ("[a]()", ":3: [a] leads nowhere"),
                ("[a][b]", ":3: [a] has no definition"),
                ("[a]: none.md", ":3: none.md"),
                ("[a](../Design.md)", ":3: ../Design.md: there is no such file"),
                ("[a](/docs/design.md)", ":3: /docs/design.md begins with a slash"),
                ("[a](../../../other.md)", ":3: ../../../other.md is outside"),
                ("[a](#none)", ":3: #none: docs/guide/run.md has no heading with the anchor none"),
                ("[a](../design.md#none)", ":3: ../design.md#none: docs/design.md has no heading"),
                ("[a](../design.md#What-ir-opt-does)", ":3: ../design.md#What-ir-opt-does: docs/design.md has no heading"),
                ("[a](../../ir/core/op.h#L1)", ":3: ../../ir/core/op.h#L1: an anchor into a file that is no page"),
                ("## Twice\n\n## Twice\n\n[a](#twice-1)", ":7: #twice-1: the anchor exists only on GitHub"),
                ("## `tensor<2xf32>`\n\n[a](#tensor2xf32)", ":5: #tensor2xf32: the anchor exists only on GitHub")):
            self.assertIn("docs/guide/run.md" + message, self.link(text), text)

    def test_every_page_is_read(self):
        for name in ("README.md", "CONTRIBUTING.md", "docs/design.md", "ir/README.md", "docs/data/README.md", ".github/ISSUE_TEMPLATE/bug.md"):
            text = "# A\n\n[a](none.md) [b](docs/index.md) [c](docs/design.md)\n"
            self.assertIn(f"{name}:3: none.md: there is no such file", self.findings({name: text}))

    def test_a_file_that_git_ignores(self):
        self.assertIn("../../out/a.txt: no file of the repository (git ignores it)",
                      self.link("[a](../../out/a.txt)", git=True, **{"out__a.txt": "a", ".gitignore": "/out/\n"}))

    def test_lengths(self):
        for name, limit in (("docs/guide/run.md", 200), ("docs/design/ir.md", 150), ("docs/models.md", 150),
                            ("docs/performance.md", 160)):
            fits = {name: "# A\n" * 1 + "\n" * (limit - 1)}
            self.assertNotIn("its limit is", self.findings(fits))
            self.assertIn(f"{name}:{limit + 1}: the page has {limit + 1} lines (its limit is {limit})",
                          self.findings({name: "# A\n" + "\n" * limit}))

    def test_pages_that_nothing_leads_to(self):
        output = self.findings({"docs/guide/lost.md": "# Lost\n\n[Myself](lost.md#lost)\n"})
        self.assertIn("docs/guide/lost.md:1: no other page links to this one", output)
        self.assertIn(" 0 findings", self.findings({"docs/data/README.md": "A folder.\n"}))
        self.assertIn("docs/lost.md:1: the page is not in the navigation", self.findings({"docs/lost.md": "# Lost\n"}))
        self.assertIn("tools/docs/mkdocs.yml:4: docs/none.md: there is no such page",
                      self.findings({"tools/docs/mkdocs.yml": NAVIGATION.replace("guide/*.md", "none.md")}))
        self.assertIn("tools/docs/mkdocs.yml:6: docs/x/*.md: there is no such page",
                      self.findings({"tools/docs/mkdocs.yml": NAVIGATION + "  - x/*.md\n"}))

    def test_titles(self):
        self.assertIn("docs/design.md:1: the page has no title", self.findings({"docs/design.md": "## Design\n\n# A\n"}))
        self.assertIn("docs/design.md:3: a second title", self.findings({"docs/design.md": "# Design\n\n# A\n"}))


class SlugsTest(unittest.TestCase):

    def test_slugs(self):
        for heading, slug in (("A title", "a-title"), ("`ir-opt --explain`", "ir-opt---explain"), ("What's *new*?", "whats-new"),
                              ("A & B", "a--b"), ("[link](x.md) `a_b`", "link-a_b"), ("1. Step", "1-step")):
            self.assertEqual(pages.github_slug(heading), slug)
            self.assertEqual(pages.site_slug(heading), slug)
        self.assertEqual(list(pages.numbered(["a", "b", "a", "a"], "-")), ["a", "b", "a-1", "a-2"])


if __name__ == "__main__":
    unittest.main()
