"""What `pip install .` and tools/python/wheel make. Nothing is compiled: the wheel's files are those of a build folder.

  wheel_test.py CMAKE BUILD_FOLDER [repaired]

`repaired` repairs that wheel with auditwheel, and uses it in a root directory without the libraries of the build.
"""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import zipfile

import scikit_build_core.build as backend

ROOT = pathlib.Path(__file__).resolve().parents[2]


def install(folder):
    """The files of the package, as scikit-build-core has CMake install them."""
    subprocess.run([CMAKE, "--install", BUILD, "--component", "python", "--strip", "--prefix", folder], check=True,
                   stdout=subprocess.DEVNULL)


def pack(folder):
    """A wheel of this build, with the names and tags of pyproject.toml."""
    files = pathlib.Path(folder, "files")
    install(files)
    info = files / backend.prepare_metadata_for_build_wheel(os.fspath(files))
    names = [path.relative_to(files) for path in sorted(files.rglob("*")) if path.is_file()]
    names.append(info.relative_to(files) / "RECORD")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in names))  # auditwheel adds sums and sizes
    tag, = (line.split()[1] for line in (info / "WHEEL").read_text().splitlines() if line.startswith("Tag:"))
    wheel = pathlib.Path(folder, f"{info.name.removesuffix('.dist-info')}-{tag}.whl")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        for name in names:
            archive.write(files / name, name)
    return wheel


class WheelTest(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)  # of the backend
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_targets(self):
        """CMake has the targets that pyproject.toml builds."""
        targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["build"]["targets"]
        rules = "\n".join(path.read_text() for path in (pathlib.Path(BUILD, name) for name in ("build.ninja", "Makefile"))
                          if path.exists())
        for target in targets:
            self.assertTrue(re.search(rf"(?m)^(build )?{target}: ", rules), f"there is no target {target}")

    def test_programs(self):
        """Every program is a command, runs beside the library, and shares it."""
        install(self.folder)
        package = pathlib.Path(self.folder, "tenon")
        programs = sorted(path.name for path in (package / "bin").iterdir() if path.suffix != ".py")
        scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
        self.assertEqual(programs, sorted(scripts))
        self.assertEqual(programs, sorted(path.parent.name for path in ROOT.glob("tools/*/main.cc")))
        for name in programs:
            self.assertEqual(scripts[name], f"tenon.commands:{name.replace('-', '_')}")
            code = f"import sys, tenon.commands; sys.argv[1:] = ['--version']; tenon.commands.{name.replace('-', '_')}()"
            result = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": self.folder},
                                    capture_output=True, text=True)
            self.assertTrue(result.stdout.startswith(name), result.stdout + result.stderr)
            self.assertLess((package / "bin" / name).stat().st_size, 2e6, f"{name} has code of libtenon.so")

    def test_source_archive(self):
        """An sdist has every file that a build reads."""
        tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True)
        if tracked.returncode != 0:
            self.skipTest("no checkout of Git")
        with tarfile.open(pathlib.Path(self.folder, backend.build_sdist(self.folder))) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        missing = [name for name in tracked.stdout.splitlines() if not name.startswith("tests/") and name not in names]
        self.assertFalse(missing)


if __name__ == "__main__":
    CMAKE, BUILD, *mode = sys.argv[1:]
    if mode == ["repaired"]:
        os.chdir(ROOT)
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(subprocess.run([ROOT / "tools" / "python" / "wheel", f"--wheel={pack(folder)}", f"--python={sys.executable}",
                                     f"--out={folder}/out", "--in-bare-root"]).returncode)
    unittest.main(argv=sys.argv[:1])
