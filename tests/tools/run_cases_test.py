#!/usr/bin/env python3
"""tools/cmake/run_cases.py on a program that behaves as GoogleTest does, and what the summary makes of it."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "cmake"))
import summarize_tests  # noqa: E402

# What its cases do is in their names: each process of it writes the cases that it runs into a file.
PROGRAM = '''#!/usr/bin/env python3
import os, sys, time
variables = os.environ
names = variables["CASES"].split()
filters = [a.split("=", 1)[1].split(":") for a in sys.argv if a.startswith("--gtest_filter=")]
if filters:
    names = [name for name in names if name in filters[0]]
total = int(variables.get("GTEST_TOTAL_SHARDS", 1))
names = names[int(variables.get("GTEST_SHARD_INDEX", 0))::total]
if "--gtest_list_tests" in sys.argv:
    for name in names:
        suite, case = name.split(".")
        print(suite + ".\\n  " + case + "  # GetParam() = 3")
    sys.exit(0)
open(variables["LOG"], "a").write(" ".join(names) + "\\n")
failed = leaked = False
print("Running main() from gtest_main.cc")
for name in names:
    print("[ RUN      ] " + name, flush=True)
    if "leak" in name:
        leaked = True
    if "crash" in name:
        print("==1==ERROR: AddressSanitizer: heap-use-after-free", flush=True)
        os.abort()
    if "hang" in name:
        time.sleep(60)
    if "skip" in name:
        print("file.cc:3: Skipped\\nneeds a device\\n\\n[  SKIPPED ] " + name + " (0 ms)")
    elif "fail" in name:
        failed = True
        print("file.cc:7: Failure\\nExpected 1\\n[  FAILED  ] " + name + ", where GetParam() = 3 (0 ms)")
    else:
        print("says this [       OK ] " + name + " (0 ms)")
print("[  FAILED  ] 1 test, listed below:" if failed else "[  PASSED  ] all")
if leaked:
    print("==1==ERROR: LeakSanitizer: detected memory leaks", flush=True)
sys.exit(1 if failed else 23 if leaked else 0)
'''


class RunCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, "program")
        self.log = os.path.join(self.folder.name, "log")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)

    def run_cases(self, cases, *options):
        with open(self.log, "w", encoding="utf-8"):
            pass
        done = subprocess.run(
            [sys.executable, "-B", str(ROOT / "tools/cmake/run_cases.py"), self.program,
             *(options or ("--group", "0", "--of", "1"))],
            env={**os.environ, "CASES": cases, "LOG": self.log}, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        with open(self.log, encoding="utf-8") as file:
            return done.returncode, done.stdout, file.read().splitlines()

    def test_cases_that_pass_run_in_one_process(self):
        status, output, processes = self.run_cases("A.one A.two B.three")
        self.assertEqual((status, output), (0, "3 cases passed, 0 cases failed, 0 cases skipped\n"))
        self.assertEqual(processes, ["A.one A.two B.three"])

    def test_groups_share_the_cases(self):
        ran = []
        for group in range(2):
            status, _, processes = self.run_cases("A.one A.two B.three", "--group", str(group), "--of", "2")
            self.assertEqual(status, 0)
            ran += processes
        self.assertEqual(ran, ["A.one B.three", "A.two"])

    def test_a_failed_case_is_named_with_its_output(self):
        status, output, _ = self.run_cases("A.one A.fails B.three")
        self.assertEqual(status, 1)
        self.assertTrue(output.startswith("2 cases passed, 1 cases failed, 0 cases skipped\n"), output)
        self.assertIn("file.cc:7: Failure\nExpected 1\n", output)
        self.assertTrue(output.endswith("FAILED: A.fails\n"), output)
        self.assertNotIn("says this", output)

    def test_cases_behind_one_that_ends_the_process_run(self):
        status, output, processes = self.run_cases("A.one A.crashes B.three B.crashes B.four")
        self.assertEqual(status, 1)
        self.assertTrue(output.startswith("3 cases passed, 2 cases failed, 0 cases skipped\n"), output)
        self.assertIn("heap-use-after-free\nA.crashes ended the process (status -6)", output)
        self.assertTrue(output.endswith("FAILED: A.crashes\nFAILED: B.crashes\n"), output)
        self.assertEqual(processes, ["A.one A.crashes B.three B.crashes B.four", "B.three B.crashes B.four", "B.four"])

    def test_the_last_case_may_end_the_process(self):
        status, output, _ = self.run_cases("A.one A.crashes")
        self.assertEqual(status, 1)
        self.assertTrue(output.endswith("FAILED: A.crashes\n"), output)

    def test_a_case_that_takes_too_long_fails_alone(self):
        status, output, _ = self.run_cases("A.one A.hangs B.three", "--group", "0", "--of", "1", "--case-seconds", "2")
        self.assertEqual(status, 1)
        self.assertTrue(output.startswith("2 cases passed, 1 cases failed"), output)
        self.assertIn("A.hangs took longer than 2.0 s", output)

    def test_a_leak_is_traced_to_its_case(self):
        status, output, processes = self.run_cases("A.one A.leaks B.three")
        self.assertEqual(status, 1)
        self.assertTrue(output.startswith("2 cases passed, 1 cases failed"), output)
        self.assertIn("LeakSanitizer", output)
        self.assertIn("A.leaks passed, and its process ended with status 23", output)
        self.assertEqual(processes[1:], ["A.one", "A.leaks", "B.three"])

    def test_a_program_that_does_not_start_fails(self):
        with open(self.program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'cannot load a library'\nexit 127\n")
        status, output, _ = self.run_cases("A.one")
        self.assertEqual(status, 1)
        self.assertIn("cannot load a library\nall cases passed, and their process ended with status 127", output)

    def summary_of(self, *outputs):
        path = os.path.join(self.folder.name, "tests.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("<testsuite>")
            for index, (status, output) in enumerate(outputs):
                file.write(f'<testcase name="api.cases.{index}" time="1" status="{"fail" if status else "run"}">'
                           f"{'<failure/>' if status else ''}<system-out>{output}</system-out></testcase>")
            file.write("</testsuite>")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = summarize_tests.main(path)
        return status, printed.getvalue()

    def test_the_summary_counts_cases_and_names_what_was_skipped(self):
        runs = [self.run_cases("A.one A.skips B.skips")[:2], self.run_cases("C.one")[:2], (0, "1 test\n")]
        status, text = self.summary_of(*runs)
        self.assertEqual(status, 0)
        self.assertRegex(text, r"api +5 +0 +3\.0\n")
        self.assertIn("skipped: needs a device: A.skips, B.skips\n", text)
        self.assertTrue(text.endswith("5 tests, 0 failed, 2 skipped\n"), text)

    def test_the_summary_counts_failed_cases(self):
        status, text = self.summary_of(self.run_cases("A.one A.fails B.fails")[:2])
        self.assertEqual(status, 1)
        self.assertIn("    FAILED: A.fails\n    FAILED: B.fails\n", text)
        self.assertTrue(text.endswith("3 tests, 2 failed, 0 skipped\n"), text)


if __name__ == "__main__":
    unittest.main()
