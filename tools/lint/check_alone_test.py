#!/usr/bin/env python3
"""The lint of sources that compile alone must be able to fail: a source that another one of its unity file completes."""

import json
import pathlib
import tempfile
import unittest

import check_alone


class CheckAloneTest(unittest.TestCase):
    def test_unity_file(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            unity = root / "CMakeFiles" / "t.dir" / "Unity" / "unity_0_cxx.cxx"
            unity.parent.mkdir(parents=True)
            (root / "first.cc").write_text("#include <vector>\nint NUMBER_OF() { return 1; }\n")
            (root / "second.cc").write_text("std::vector<int> numbers(NUMBER_OF());\n")
            unity.write_text(f'#include "{root}/first.cc"\n#include "{root}/second.cc"\n')
            (root / "compile_commands.json").write_text(json.dumps([{
                "directory": str(root), "file": str(unity),
                "command": f"ccache c++ -DNUMBER_OF=number -O2 -Wall -std=c++20 -o unity.o -c {unity}"}]))
            known = check_alone.commands(root)
            self.assertEqual(set(known), {root / "first.cc", root / "second.cc"})
            flags = known[root / "second.cc"]
            self.assertEqual(flags, ["-DNUMBER_OF=number", "-std=c++20"])
            self.assertEqual(check_alone.errors("c++", unity, flags), "")
            self.assertEqual(check_alone.errors("c++", root / "first.cc", flags), "")
            self.assertIn("second.cc:1", check_alone.errors("c++", root / "second.cc", flags))


if __name__ == "__main__":
    unittest.main()
