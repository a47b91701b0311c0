"""The types of the package: _core.pyi is what nanobind writes, and mypy accepts everything.

  stubs_test.py [--update]   --update writes _core.pyi
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

import tenon

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUB = ROOT / "frontends" / "python" / "tenon" / "_core.pyi"


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "_core.pyi"
        subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "tenon._core", "-o", path], check=True)
        written = path.read_text()
    if "--update" in sys.argv:
        STUB.write_text(written)
    elif written != STUB.read_text():
        print(f"{STUB.relative_to(ROOT)} is not what nanobind writes: run {sys.argv[0]} --update")
        return 1
    if importlib.util.find_spec("mypy") is None:
        print("mypy is not installed")
        return 77
    # The package as it is built, which has the generated modules of tenon.ops, and a program that uses the types.
    package = pathlib.Path(tenon.__file__).parent
    return subprocess.run([sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", "/dev/null", package,
                           ROOT / "tests" / "python" / "typed_program.py"], cwd=ROOT,
                          env={**os.environ, "MYPYPATH": os.fspath(package.parent)}).returncode


if __name__ == "__main__":
    sys.exit(main())
