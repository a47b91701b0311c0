#!/usr/bin/env python3
"""Programs load no code from the working directory: planted_code_test.py IR_RUN IR_BENCH MODEL [CC].

Each case plants a library or a script that leaves a mark when it is loaded, and runs a program from that folder.
The cases that name the planted file show that it would leave its mark.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

IR_RUN, IR_BENCH, MODEL, CC = [pathlib.Path(path) for path in sys.argv[1:4]] + [sys.argv[4:] or ["cc"]]
SOURCE = 'extern int creat(const char*, unsigned);\n__attribute__((constructor)) static void load(void) { creat("%s", 0600); }\n'
SCRIPT = "#!/usr/bin/env python3\nopen(%r, 'w').close()\n"


class PlantedCode(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.mark = self.folder / "mark"
        self.stand = self.folder / "stand"
        self.stand.mkdir()

    def plant_library(self, *names):
        source = self.folder / "planted.c"
        source.write_text(SOURCE % self.mark)
        for name in names:
            target = self.stand / name
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([*CC, "-shared", "-fPIC", "-o", target, source], check=True)

    def plant_script(self, name):
        path = self.stand / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCRIPT % str(self.mark))
        path.chmod(0o755)

    def run_program(self, program, *arguments, called=None, **environment):
        environment = {key: value for key, value in os.environ.items() if key != "TENON_CUDA_PLUGIN"} | environment
        result = subprocess.run([called or str(program), *map(str, arguments)], executable=program, cwd=self.stand,
                                env=environment, capture_output=True, text=True, errors="replace", timeout=120,
                                check=False)
        self.assertGreaterEqual(result.returncode, 0, result.stderr)
        return result

    def cuda(self, called, **environment):
        return self.run_program(IR_RUN, MODEL, "--device=cuda", called=called, **environment)

    def test_plugin_beside_the_name_by_which_the_program_was_called(self):
        self.plant_library("libtenon_cuda.so", "bin/libtenon_cuda.so", "lib/libtenon_cuda.so")
        (self.stand / "ir-run").touch()
        (self.stand / "bin" / "ir-run").touch()
        for called in ("ir-run", "./ir-run", "bin/ir-run", "bin/none", "", str(self.stand / "ir-run")):
            self.cuda(called)
            self.assertFalse(self.mark.exists(), called)

    def test_plugin_on_relative_entries_of_the_loader(self):
        self.plant_library("libtenon_cuda.so", "lib/libtenon_cuda.so")
        for entries in ("", ":", ":/usr/lib", "/usr/lib:", ".", "lib", "./lib:/usr/lib", "/usr/lib::/lib"):
            result = self.cuda("ir-run", LD_LIBRARY_PATH=entries)
            self.assertFalse(self.mark.exists(), entries)
            self.assertNotIn("Segmentation", result.stderr)

    def test_plugin_that_is_named(self):
        self.plant_library("libtenon_cuda.so", "other/mine.so")
        for name in ("libtenon_cuda.so", "./libtenon_cuda.so", "other/mine.so", self.stand / "other" / "mine.so"):
            result = self.cuda("ir-run", TENON_CUDA_PLUGIN=str(name))
            self.assertTrue(self.mark.exists(), f"{name}: {result.stderr}")
            self.assertIn("is not Tenon's CUDA plugin", result.stderr)
            self.mark.unlink()

    def test_plugin_in_an_absolute_folder_of_the_loader(self):
        self.plant_library("lib/libtenon_cuda.so")
        for entries in (f"{self.stand}/lib", f":{self.stand}/lib"):
            self.cuda("ir-run", LD_LIBRARY_PATH=entries)
            self.assertTrue(self.mark.exists(), entries)
            self.mark.unlink()

    def bench(self, *arguments, **environment):
        return self.run_program(IR_BENCH, MODEL, "--against=onnxruntime", "--rounds=1", "--turn=1", "--warmup=1", "--time=1", *arguments, **environment)

    def compare(self, *arguments, **environment):
        return self.run_program(IR_RUN, MODEL, "--compare=onnxruntime", *arguments, **environment)

    def test_python_of_the_working_directory(self):
        for name in ("python3", "bin/python3", "ir-bench-peer.py"):
            self.plant_script(name)
        for path in ("", ":", f":{os.environ['PATH']}", f"{os.environ['PATH']}:", ".", "bin", f"bin:{os.environ['PATH']}"):
            self.bench(PATH=path)
            self.compare(PATH=path)
            self.assertFalse(self.mark.exists(), path)
        for run in (self.bench, self.compare):
            run("--python=./python3")
            self.assertTrue(self.mark.exists())
            self.mark.unlink()

    def test_modules_of_the_working_directory(self):
        for name in ("onnxruntime.py", "numpy.py", "json.py", "socket.py", "sitecustomize.py", "usercustomize.py",
                     "modules/onnxruntime.py", "modules/json.py"):
            self.plant_script(name)
        for path in (None, "", ":", ".", "modules", ":/usr/lib", "/usr/lib:"):
            for run in (self.bench, self.compare):
                run(**({} if path is None else {"PYTHONPATH": path}))
            self.assertFalse(self.mark.exists(), path)
        for run in (self.bench, self.compare):
            run(PYTHONPATH=str(self.stand / "modules"))
            self.assertTrue(self.mark.exists())
            self.mark.unlink()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
