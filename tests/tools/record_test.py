#!/usr/bin/env python3
"""tests/bench/record with a benchmark that prints planned ratios: what it records, and what it calls a regression."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

RECORD = pathlib.Path(__file__).resolve().parents[1] / "bench" / "record"
# Stands for ir-bench: the ratio comes from the file beside it, or it fails where the model is named "broken".
BENCH = """#!/usr/bin/env python3
import json, pathlib, sys
if "/broken/" in sys.argv[1]:
    sys.exit("cannot run the model")
low, median, high = json.loads((pathlib.Path(__file__).parent / "ratio.json").read_text())
print(json.dumps({"processor": "a processor", "rounds": 3, "engines": [
    {"name": "tenon", "version": "0", "ms": {"median": 1.5}},
    {"name": "onnxruntime", "version": "1.2", "ratio": {"median": median, "low": low, "high": high}}]}))
"""


class Record(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.bin = self.work / "out put" / "bin"
        self.bin.mkdir(parents=True)
        (self.bin / "ir-bench").write_text(BENCH)
        (self.bin / "ir-bench").chmod(0o755)
        self.record = self.work / "record.jsonl"
        self.add_model("small")

    def add_model(self, name):
        (self.work / "models" / name).mkdir(parents=True)
        (self.work / "models" / name / "model.onnx").write_bytes(b"")

    def run_record(self, *arguments, ratio=None):
        if ratio:
            (self.bin / "ratio.json").write_text(json.dumps(ratio))
        return subprocess.run([sys.executable, "-B", RECORD, *arguments, "--record", self.record],
                              capture_output=True, text=True, cwd=self.work)

    def measure(self, ratio, *more):
        return self.run_record(self.work / "models", "--build", self.bin.parent, *more, ratio=ratio)

    def lines(self):
        return [json.loads(line) for line in self.record.read_text().splitlines()]

    def test_commands_come_from_the_page(self):
        done = self.measure(None, "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("build/bin/ir-bench build/full/small/model.onnx --inputs=build/full/small/test_data_set_0 --pin "
                      "--against=onnxruntime,openvino --threads=2\n", done.stdout)
        self.assertIn("--precision=int8\n", done.stdout)
        self.assertIn("start_time.py", done.stdout)
        # Starts from saved programs, and from the file that ONNX Runtime has optimized.
        self.assertIn("test_data_set_0 --against=onnxruntime,onnxruntime-saved\n",
                      "".join(line + "\n" for line in done.stdout.splitlines() if not line.startswith("not run: ")))
        self.assertIn("not run: ", done.stdout)
        runs = [line for line in done.stdout.splitlines() if not line.startswith("not run: ")]
        self.assertFalse([line for line in runs if "$" in line])
        self.assertFalse(self.record.exists())

    def test_records_and_compares(self):
        # Both commands of start_time.py run for real here, and fail without their program: that is told, and the rest is recorded.
        done = self.measure([1.1, 1.2, 1.3])
        self.assertEqual(done.returncode, 1)
        self.assertIn("start_time.py", done.stderr)
        self.assertIn("0 regressions, 2 failures", done.stdout)
        lines = self.lines()
        self.assertEqual(len({line["command"] for line in lines}), len(lines))
        self.assertEqual({key: lines[0][key] for key in ("model", "engine", "version", "median", "low", "high", "tenon_ms", "rounds")},
                         {"model": "small", "engine": "onnxruntime", "version": "1.2", "median": 1.2, "low": 1.1, "high": 1.3,
                          "tenon_ms": 1.5, "rounds": 3})
        # Intervals that overlap are no regression; those apart are one, and a return is an improvement.
        self.assertIn("0 regressions", self.measure([1.0, 1.1, 1.15]).stdout)
        done = self.measure([0.8, 0.85, 0.9])
        self.assertIn(": 1.100 (1.000 to 1.150): regression\n", done.stdout)
        self.assertIn(f"{len(lines)} regressions", done.stdout)
        self.assertIn(": improvement\n", self.measure([1.1, 1.2, 1.3]).stdout)

    def test_compares_the_last_run(self):
        entry = {"run": "a", "processor": "p", "command": "c", "model": "m", "engine": "e", "commit": "1234", "version": "1",
                 "median": 1.2, "low": 1.1, "high": 1.3}
        slower = {**entry, "run": "b", "commit": "5678", "version": "2", "median": 1.0, "low": 0.9, "high": 1.05}
        other_machine = {**slower, "processor": "q"}
        self.record.write_text("".join(json.dumps(line) + "\n" for line in (entry, slower, other_machine)))
        done = self.run_record("--compare")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "m, e / tenon: 1.000 (0.900 to 1.050); 1234: 1.200 (1.100 to 1.300) with e 1: regression\n"
                         "m, e / tenon: 1.000 (0.900 to 1.050); the first on this processor\n")

    def test_says_what_is_wrong(self):
        self.assertIn("expected MODELS", self.run_record().stderr)
        self.assertIn("has no lines", self.run_record("--compare").stderr)
        self.assertIn("has no model wrong", self.measure([1, 1, 1], "--only", "wrong").stderr)
        self.add_model("broken")
        done = self.measure([1, 1, 1], "--only", "broken")
        self.assertEqual(done.returncode, 1)
        self.assertIn("record: broken: ", done.stderr)
        self.assertIn("cannot run the model", done.stderr)
        self.record.write_text('{"run": "a"}\n')
        done = self.measure([1, 1, 1])
        self.assertEqual(done.returncode, 2)
        self.assertIn("record.jsonl:1: lacks processor", done.stderr)


if __name__ == "__main__":
    unittest.main()
