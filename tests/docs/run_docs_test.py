#!/usr/bin/env python3
"""tools/docs/run_docs.py runs what a page says, and sees each way in which a page can be wrong."""

import unittest

from trees import Tree, run

import excerpts
import outputs
import run_docs


class RunDocsTest(unittest.TestCase):

    def check(self, page, *options, files=(), status=None):
        """What run_docs prints of one page of a tree with one program."""
        self.tree = Tree(self, {"docs/page.md": page, "data/model.txt": "weights\n", **dict(files)})
        programs = self.tree.root.parent / "programs"
        programs.mkdir()
        program = programs / "ir-opt"
        program.write_text("#!/bin/bash\necho \"took $RANDOM.5 ms\"\necho note >&2\ncat \"$1\"\n")
        program.chmod(0o755)
        code, output = run(run_docs.main, "--root", self.tree.root, "--bin", programs, "docs/page.md", *options)
        if status is not None:
            self.assertEqual(code, status, output)
        return output

    def test_a_page_that_is_right(self):
        output = self.check("""
            # Page

            Save this as `in.txt`:

            <!-- file: in.txt -->
            ```text
            first 1
            second 2
            ```

            ```console
            $ build/bin/ir-opt in.txt
            took 3.25 ms
            note
            first 1
            ...
            $ build/bin/ir-opt \\
            >   data/model.txt > out.txt; cat out.txt
            ...
            weights
            $ ls missing.txt
            ...
            [exit status: 2]
            $ true
            $ exit 3
            [exit status: 3]
            ```

            <!-- not run: needs a network -->
            ```console
            $ false
            ```
            """, status=0)
        self.assertIn("docs/page.md:30: not run: needs a network", output)
        self.assertIn("docs/page.md: 5 commands, 1 files, 0 excerpts, 1 not run", output)
        self.assertFalse((self.tree.root / "out.txt").exists())
        self.assertFalse((self.tree.root / "in.txt").exists())

    def test_the_tree_is_left_alone(self):
        self.check("""
            <!-- file: data/model.txt -->
            ```text
            changed
            ```

            ```console
            $ echo more >> data/model.txt; echo new > data/new.txt; cat data/model.txt
            changed
            more
            ```
            """, status=0)
        self.assertEqual(self.tree.read("data/model.txt"), "weights\n")
        self.assertFalse((self.tree.root / "data/new.txt").exists())

    def test_a_build_folder_can_be_installed_but_not_built(self):
        tree = Tree(self, {"docs/page.md": "```console\n$ ls build\nbin\ncmake_install.cmake\n```\n",
                           "build/bin/ir-opt": "", "build/CMakeCache.txt": "", "build/build.ninja": "",
                           "build/cmake_install.cmake": ""})
        status, output = run(run_docs.main, "--root", tree.root, "--bin", tree.root / "build/bin", "docs/page.md")
        self.assertEqual(status, 0, output)

    def test_folder_and_environment_hold_for_later_commands(self):
        self.check("""
            ```console
            $ cd data; export NAME="a b"
            $ cat model.txt; echo "$NAME"
            weights
            a b
            $ pwd
            /home/you/tenon/data
            ```
            """, status=0)

    def test_streams_are_in_the_order_of_a_terminal(self):
        self.check("""
            ```console
            $ python3 -c 'import sys; sys.stderr.write("b\\n")' | cat; for i in a c; do printf '%s\\n' $i; echo note >&2; done
            b
            a
            note
            c
            note
            ```
            """, status=0)

    def test_an_output_that_differs(self):
        output = self.check("""
            ```console
            $ printf 'one\\ntwo 2\\nthree\\n'
            one
            two 7
            four
            ```
            """, status=1)
        self.assertIn("docs/page.md:2: the output of `printf 'one\\ntwo 2\\nthree\\n'` differs\n", output)
        self.assertIn("    --- docs/page.md\n    +++ output\n    @@ docs/page.md:3 @@\n     one\n     two 7\n    -four\n    +three\n",
                      output)

    def test_an_exit_status_that_differs(self):
        self.assertIn("docs/page.md:2: `false` ended with status 1 (expected 0)", self.check("```console\n$ false\n```\n", status=1))
        self.assertIn("ended with status 0 (expected 4)",
                      self.check("```console\n$ true\n[exit status: 4]\n```\n", status=1))
        self.assertIn("ended with status 7 (expected 0)",
                      self.check("```console\n$ echo a; exit 7\na\n```\n", status=1))
        # bash -e: the first command of a line that fails ends it.
        self.check("```console\n$ false; echo a\n```\n", status=1)
        # A signal counts as in a shell.
        self.check("```console\n$ kill -TERM $$\n[exit status: 143]\n```\n", status=0)

    def test_a_command_that_takes_too_long(self):
        before, run_docs.TIMEOUT = run_docs.TIMEOUT, 1
        self.addCleanup(setattr, run_docs, "TIMEOUT", before)
        output = self.check("```console\n$ echo a; sleep 60\na\n$ false\n```\n", status=1)
        self.assertIn("was ended after 1 s; what follows was not run", output)
        self.assertNotIn("`false`", output)

    def test_settings_of_the_caller_do_not_count(self):
        import os
        os.environ["TENON_THREADS"] = "1"
        self.addCleanup(os.environ.pop, "TENON_THREADS")
        self.check("```console\n$ echo ${TENON_THREADS-none}\nnone\n```\n", status=0)

    def test_update(self):
        self.check("""
            1. A step:

               ```console
               $ printf 'a\\nb\\n'
               x
               $ echo c; exit 4
               y
               $ echo d
               d
               ```
            """, "--update", status=0)
        self.assertEqual(self.tree.read("docs/page.md"), "1. A step:\n\n   ```console\n   $ printf 'a\\nb\\n'\n   a\n   b\n"
                         "   $ echo c; exit 4\n   c\n   [exit status: 4]\n   $ echo d\n   d\n   ```\n")

    def test_mistakes_in_blocks(self):
        for page, message in (
                ("```\ntext\n```\n", ":1: the block has no language"),
                ("~~~\ntext\n~~~\n", ":1: the block has no language"),
                ("# Page\n\n    code\n", ":3: an indented block of code"),
                ("> ```console\n> $ false\n> ```\n", ":1: a fence inside a quotation"),
                ("```text\nno end\n", ":1: the fence is not closed"),
                ("```sh\nfalse\n```\n", ":1: commands in a block of the language sh (expected console"),
                ("<!-- not run: slow -->\n```bash\nfalse\n```\n", ":2: commands in a block of the language bash"),
                ("```cpp\nint a;\n```\n", ":1: C++ that no build compiles"),
                ("<!-- not run: slow -->\n```cpp\nint a;\n```\n", ":2: C++ that no build compiles"),
                ("```c++\nint a;\n```\n", ":1: the language c++ is written cpp here"),
                ("```python\na = 1\n```\n", ":1: a block of the language python that nothing tests"),
                ("```console\nls\n```\n", ":2: output without a command"),
                ("```console\n```\n", ":1: a block of commands without a command"),
                ("```console\n$ echo \\\na\n```\n", ":3: the line before ends in `\\`"),
                ("```console\n$ echo \\\n```\n", ":2: the last command is not continued"),
                ("```console\n$ false\n[exit status: 1]\nmore\n```\n", ":3: the exit status is not the last line"),
                ("<!-- file: ../a -->\n```text\na\n```\n", ":1: ../a is outside of the checkout"),
                ("<!-- file: a -->\n\n```text\na\n```\n", ":1: `file:` stands before no block"),
                ("<!-- not run: -->\n```console\n$ false\n```\n", ":1: `not run:` says nothing"),
                ("<!-- form: a.cc -->\n```cpp\nint a;\n```\n", ":1: unknown comment `form:` before a block"),
                ("<!-- file: a -->\n```console\n$ true\n```\n", ":1: a block of commands is no file"),
                ("<!-- from: nowhere.cc -->\n```cpp\nint a;\n```\n", ":2: the file nowhere.cc does not exist"),
                ("<!-- from: docs/page.md -->\n```cpp\nint a;\n```\n", ":2: docs/page.md is a page")):
            for option in ((), ("--check",)):
                self.assertIn("docs/page.md" + message, self.check(page, *option, status=1), page)

    def test_excerpts_of_a_page(self):
        page = "<!-- from: a.cc -->\n```cpp\nint a;\nint {};\n```\n"
        files = {"a.cc": "int a;\nint b;\n"}
        self.check(page.format("b"), files=files, status=0)
        self.assertIn("docs/page.md:4: excerpt of a.cc: `int c;` does not follow the line before it (the file has `int b;`",
                      self.check(page.format("c"), files=files, status=1))

    def test_code_in_readmes_of_folders(self):
        for value, status in ((1, 0), (2, 1)):
            page = f"<!-- from: ir/a.yaml -->\n```yaml\na:\n  b: {value}\n```\n"
            tree = Tree(self, {"docs/page.md": "# Page\n", "ir/README.md": page, "ir/a.yaml": "a:\n  b: 1\n"})
            code, output = run(run_docs.main, "--root", tree.root, "--check")
            self.assertEqual(code, status, output)
        self.assertIn("ir/README.md:4: excerpt of ir/a.yaml: `b: 2` does not follow", output)

    def test_an_example_that_no_build_compiles(self):
        page = "<!-- from: examples/guide/a.cc -->\n```cpp\nint a;\n```\n"
        files = {"examples/guide/a.cc": "int a;\n", "examples/guide/CMakeLists.txt": "example(ab)\n"}
        self.assertIn("docs/page.md:2: no build compiles examples/guide/a.cc", self.check(page, files=files, status=1))
        files["examples/guide/CMakeLists.txt"] = "example(a)\n"
        self.check(page, files=files, status=0)

    def test_blocks_that_are_not_run_are_listed(self):
        page = "<!-- not run: needs a GPU -->\n```console\n$ true\n```\n"
        self.assertEqual(self.check(page, "--list-not-run", status=0), "docs/page.md:2: needs a GPU\n")

    def test_wrong_usage(self):
        tree = Tree(self, {"docs/page.md": "# Page\n"})
        self.assertEqual(run(run_docs.main, "--root", tree.root)[0], 2)
        self.assertEqual(run(run_docs.main, "--root", tree.root, "--check", "docs/none.md")[0], 2)
        self.assertEqual(run(run_docs.main, "--root", tree.root, "--check")[0], 0)


class OutputsTest(unittest.TestCase):

    def test_numbers_and_widths_are_masked(self):
        for expected, actual in (("took 1.5 ms", "took 12 ms"), ("error 3e-07", "error 0"), ("| a   | 12 |", "| a | 1,234 |"),
                                 ("  x", "    x"), ("  9.5 ms", "12.5 ms"), ("-----", "--------"), ("end  ", "end")):
            self.assertTrue(outputs.matches([expected], [actual]), (expected, actual))
        for expected, actual in (("a 1", "b 1"), ("a1", "a"), ("a 1 2", "a 1"), ("x", "  x"), ("", "a"), ("1 ms", "1 us")):
            self.assertFalse(outputs.matches([expected], [actual]), (expected, actual))

    def test_dots_stand_for_any_lines(self):
        lines = ["a", "b", "c", "b", "d"]
        for expected in (["..."], ["a", "...", "d"], ["a", "b", "...", "b", "d"], ["...", "c", "...", "d"], ["a", "...", "..."],
                         ["...", "b", "d"], ["a", "...", "b", "c", "b", "d"], lines):
            self.assertTrue(outputs.matches(expected, lines), expected)
        for expected in (["a", "..."][:1], ["...", "c"], ["b", "..."], ["a", "...", "c", "c", "...", "d"], ["...", "d", "..", "a"],
                         ["a", "b", "c", "...", "c", "b", "d"], lines + ["..."] + ["d"]):
            self.assertFalse(outputs.matches(expected, lines), expected)

    def test_a_diff_shows_what_differs_only(self):
        diff = list(outputs.unified_diff(["a", "...", "y", "z"], ["a", "b", "c", "x", "z"], "page.md", 10))
        self.assertEqual(diff[:3], ["--- page.md", "+++ output", "@@ page.md:10 @@"])
        self.assertEqual(sorted(line for line in diff[3:] if line[0] in "+-"), ["-y"])
        many = [f"line {'x' * n}" for n in range(40)]
        diff = list(outputs.unified_diff(many[:20] + ["wrong"] + many[21:], many, "page.md", 1))
        self.assertEqual(diff[2], "@@ page.md:18 @@")
        self.assertEqual(len(diff), 2 + 1 + 3 + 2 + 3)


class ExcerptsTest(unittest.TestCase):

    SOURCE = "struct A {\n  int a;\n\n  int b;\n  int c;\n};\nint d;\nint a;\n"

    def difference(self, text, language="cpp", source=SOURCE):
        return excerpts.difference(text.split("\n"), language, source)

    def test_excerpts(self):
        for text in ("struct A {\n  int a;\n  int b;", "int b;\nint c;", "struct A {\n  // ...\n  int c;\n};", "// ...\nint d;\n// ...",
                     "int a;\n\nint b;\n// ...\nint a;"):
            self.assertIsNone(self.difference(text), text)

    def test_what_is_no_excerpt(self):
        for text, position, message in (
                ("int e;", 0, "is not in the file"),
                ("int a;\nint c;", 1, "does not follow the line before it (the file has `int b;`"),
                ("int d;\nint a;\nint b;", 2, "(the file has the end of the file"),
                ("int d;\n// ...\nint b;", 2, "is not in the file after line 7"),
                ("// ...", 0, "empty")):
            found = self.difference(text)
            self.assertEqual(found[0], position, text)
            self.assertIn(message, found[1])

    def test_indentation_counts_where_it_means_something(self):
        source = "a:\n  b:\n    c: 1\n"
        self.assertIsNone(self.difference("b:\n  c: 1", "yaml", source))
        self.assertIsNotNone(self.difference("b:\nc: 1", "yaml", source))


if __name__ == "__main__":
    unittest.main()
