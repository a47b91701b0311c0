#!/usr/bin/env python3
"""tools/docs/check_prose.py sees long sentences, sentences without a subject and unknown terms, and nothing else."""

import unittest

from trees import Tree, run

import check_prose
import pages

GLOSSARY = "# Glossary\n\n## KV cache\n\nKeys and values.\n\n- **family**: rules.\n- **Batch size (batch)**: rows.\n"


def words(count):
    return " ".join(["word"] * count)


class CheckProseTest(unittest.TestCase):

    def check(self, text, name="docs/page.md", options=(), files=()):
        tree = Tree(self, {name: "# Page\n\n" + text + "\n", "docs/glossary.md": GLOSSARY, **dict(files)})
        pages.tree_files.cache_clear()
        status, output = run(check_prose.main, "--root", tree.root, name, *options)
        lines = output.splitlines()
        self.assertEqual(status, 1 if len(lines) > 1 else 0, output)
        return lines[:-1]

    def test_long_sentences(self):
        self.assertEqual(self.check(f"The {words(31)}."), [])
        self.assertEqual(self.check(f"The {words(32)}."),
                         [f"docs/page.md:3: 33 words in a sentence (at most 32): The {words(32)}."])
        for text, line in ((f"A {words(16)}\n{words(16)}.", 3), (f"A word.\nThe {words(32)}.", 4), (f"A word. The {words(32)}.", 3),
                           (f"- The {words(32)}.", 3), (f"- A\n  - The {words(32)}", 4), (f"> The {words(32)}.", 3),
                           (f"| a |\n|---|\n| {words(33)} |", 5), (f"Word (see `a. B`), {words(16)}; {words(16)}.", 3),
                           (f"A word, e.g. {words(32)}.", 3), (f"The version 1.2 {words(31)}.", 3),
                           (", ".join(["It is a word"] * 9) + ".", 3),
                           (f"The [link {words(20)}](a.md) {words(12)}.", 3)):
            found = self.check(text)
            self.assertEqual(len(found), 1, (text, found))
            self.assertIn(f"docs/page.md:{line}: 3", found[0])

    def test_what_is_no_sentence(self):
        for text in (f"```text\n{words(40)}\n```", f"`{words(40)}` is one word.", f"<!-- {words(40)} -->", f"## {words(40)}",
                     f"![{words(40)}](a.svg)", "See https://example.org/" + "/".join(["word"] * 40) + " for more.",
                     f"| {words(20)} | {words(20)} |\n|---|---|\n| {words(20)} | {words(20)} |", f"{words(20)}\n\n{words(20)}",
                     f"- {words(20)}\n- {words(20)}", f"{words(20)}. `code` {words(20)}.", f"A {words(20)}! A {words(20)}? A {words(20)}.",
                     f"{words(20)}:\n\n```text\na\n```\n\n{words(20)}.", f"(A {words(20)}.) The {words(20)}.", "- - -",
                     "Models: " + ", ".join(["word"] * 40)):
            self.assertEqual(self.check(text), [], text)

    def test_tables_of_the_reference_are_not_read(self):
        table = f"| a |\n|---|\n| {words(40)} |"
        self.assertEqual(self.check(table, name="docs/reference/ops/ten.md"), [])
        self.assertEqual(len(self.check(words(40) + ".\n\n" + table, name="docs/reference/ops/ten.md")), 1)

    def test_sentences_without_a_subject(self):
        for text in ("What a family makes no rule sees.", "Who makes something of them can have them.", "Whatever is left is lost.",
                     "There that is not is an error.", "That which is planned is placed.", "Those that differ are listed.",
                     "That is all: two files.", "Which rule fires depends on the order.", "A pass runs. What it leaves is valid.",
                     "Is written by hand.", "Returns the value.", "\"What is left\" is lost.", "- What is left is lost.",
                     "What\nis left is lost.", "What `ir-opt` promises:"):
            found = self.check(text)
            self.assertEqual(len(found), 1, text)
            self.assertIn("no subject to begin with", found[0])

    def test_sentences_with_a_subject(self):
        for text in ("What happens if an input is missing?", "Whose tensor it is matters.", "There are two programs.", "That file is written.",
                     "Those values are equal.", "This is a pass.", "- What a rule is", "- Returns the value.", "Run it again.",
                     "| What |\n|---|\n| What a rule is |", "**What it does.** The pass merges ops.", "## What is left",
                     "Returned values are new.", "Whether it runs depends on the input."):
            self.assertEqual(self.check(text), [], text)

    def test_terms(self):
        for text in ("[KV cache](glossary.md#kv-cache), [families](glossary.md), [the glossary](x.md), [Glossary](glossary.md)",
                     "A **KV cache** and **families** in a **batch**.", "**Not a term.** It begins a paragraph.", "- **Label**: text",
                     "`a **b** c`", "A [**KV cache**](glossary.md#kv-cache)."):
            self.assertEqual(self.check(text), [], text)
        for text, message in (("[stage](glossary.md)", "the term 'stage' is not in docs/glossary.md"),
                              ("[stage](glossary.md#stage)", "the term stage is not in docs/glossary.md"),
                              ("A\n**stage** of it.", ":4: bold inside a sentence marks a term, and 'stage' is not")):
            found = self.check(text)
            self.assertEqual(len(found), 1, text)
            self.assertIn(message, found[0])
        self.assertIn("docs/glossary.md:7: the term family is defined twice (line 3 too)", self.check(
            "## Family\n\nA.\n\n- **Families**: rules.", name="docs/glossary.md", files={
                "docs/glossary.md": "# G\n\n## Family\n\nA.\n\n- **Families**: rules.\n"} | {}))

    def test_pages_by_default(self):
        long = f"# A\n\nThe {words(32)}.\n"
        names = ("README.md", "CONTRIBUTING.md", "docs/a.md", "docs/b/c.md", "tools/docs/README.md")
        tree = Tree(self, {name: long for name in (*names, "ir/README.md")})
        pages.tree_files.cache_clear()
        status, output = run(check_prose.main, "--root", tree.root)
        self.assertEqual(status, 1)
        for name in names:
            self.assertIn(f"{name}:3: 33 words", output)
        self.assertNotIn("ir/README.md", output)
        self.assertIn("docs/glossary.md:1: there is no such page", output)
        # A limit.
        self.assertEqual(run(check_prose.main, "--root", tree.root, "--limit", 6)[0], 0)
        self.assertEqual(run(check_prose.main, "--root", tree.root, "--limit", 5)[0], 1)


if __name__ == "__main__":
    unittest.main()
