#!/usr/bin/env python3
"""tools/docs/site_hook.py turns pages of GitHub into pages of the site."""

import re
import unittest

from trees import ROOT

import pages
import site_hook


class SiteHookTest(unittest.TestCase):

    def test_navigation(self):
        names = ["index.md", "ops/a.md", "ops/b.md", "x.md"]
        self.assertEqual(list(site_hook.expanded(["index.md", {"Ops": ["ops/*.md", {"X": "x.md"}]}], names)),
                         ["index.md", {"Ops": ["ops/a.md", "ops/b.md", {"X": "x.md"}]}])

    def rewrite(self, text, url=""):
        return site_hook.rewrite_links(text, "guide/run.md", url)

    def test_links_to_sources(self):
        url = "https://example.org/"
        for text, with_url, without in (
                ("[op](../../ir/core/op.h)", f"[op](<{url}ir/core/op.h>)", "op (`ir/core/op.h`)"),
                ("[`op.h`](../../ir/core/op.h)", f"[`op.h`](<{url}ir/core/op.h>)", "`op.h`"),
                ("[README](../../README.md#a)", f"[README](<{url}README.md>)", "README (`README.md`)"),
                ("a\n[b\nc][d] e\n\n[d]: ../../ir/\n", f"a\n[b\nc][d] e\n\n[d]: {url}ir\n", "a\nb\nc (`ir`) e\n\n\n"),
                ("[a](../design.md), [b](#c), [d](https://e.org/f), `[g](../../h)`, ![i](../images/j.svg)",) * 3,
                ("```text\n[a](../../b)\n```\n",) * 3):
            self.assertEqual(self.rewrite(text, url), with_url.replace("(<", "(").replace(">)", ")"))
            self.assertEqual(self.rewrite(text), without)

    def test_lists_and_blocks(self):
        for text, normalized in (
                ("Text:\n- a\n  - b\n    more\n- c", "Text:\n\n- a\n    - b\n        more\n- c"),
                ("1. a\n\n   ```console\n   $ b\n     c\n\n   ```\n2. d\n", "1. a\n\n    ```console\n    $ b\n      c\n\n    ```\n2. d"),
                ("Text\n| a |\n|---|\n| `b\\|c` |", "Text\n\n| a |\n|---|\n| `b|c` |"),
                ("Save this:\n<!-- file: a -->\n```text\na\n  b\n```", "Save this:\n\n```text\na\n  b\n```"),
                ("A sum of 7 and\n17. Two\n- a\nlazy\n\nEnd", "A sum of 7 and\n17. Two\n\n- a\n    lazy\n\nEnd"),
                ("```text\n- a\n  - b\n```", "```text\n- a\n  - b\n```")):
            self.assertEqual(site_hook.normalize(text), normalized + "\n", text)

    def test_leftovers(self):
        self.assertEqual(list(site_hook.leftovers("<p>text\n- a</p><p>| b |</p><p>[c](d.md)</p>")),
                         ["- a", "| b |", "](d.md)"])
        self.assertEqual(list(site_hook.leftovers("<h2>1. A</h2><pre><code>- a\n| b |</code></pre><p>sum of\n17. A - b</p><code>[c](d)</code>")), [])

    def test_the_slugs_of_the_site_are_those_of_github(self):
        # check_links.py relies on it; pages.site_slug is pymdownx's function in this configuration.
        configuration = (ROOT / "tools/docs/mkdocs.yml").read_text()
        self.assertIn("slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}", configuration)
        self.assertEqual(pages.site_slug("`a` -- B_c"), "a----b_c")

    def test_warnings_are_errors(self):
        configuration = (ROOT / "tools/docs/mkdocs.yml").read_text()
        for check in ("omitted_files: warn", "not_found: warn", "anchors: warn", "absolute_links: warn"):
            self.assertIn(check, configuration)
        self.assertIn("--strict", (ROOT / "tools/docs/build").read_text())
        for line in (ROOT / "tools/docs/requirements.txt").read_text().splitlines():
            self.assertTrue(line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.]+", line), f"{line} is not pinned")


if __name__ == "__main__":
    unittest.main()
