"""The package as `cmake --install --component python` lays it out works without the build folder.

  install_test.py CMAKE BUILD_FOLDER
"""

import os
import pathlib
import subprocess
import sys
import tempfile

CODE = """
import importlib.util, pathlib, sys, tenon
package = pathlib.Path(tenon.__file__).parent
assert package == pathlib.Path(sys.argv[1]) / "tenon", package
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "libtenon" in line}
assert libraries and all(path.startswith(sys.argv[1]) for path in libraries), libraries
assert tenon.ops.nn.softmax and tenon.ops.ten.Add
assert (package / "testing" / "pytest_plugin.py").exists()
if importlib.util.find_spec("yaml"):
    pathlib.Path("acme.yaml").write_text("dialect: acme\\nops:\\n- {op: twice, summary: Doubles x., operands: [x: Tensor<Float>], "
                                         "results: [out: Tensor], traits: [Pure, Elementwise]}\\n")
    extension = tenon.Extension()
    extension.load_ops("acme.yaml")
    assert extension.declared("acme.twice").name == "acme.twice"
assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
"""


def main():
    cmake, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        subprocess.run([cmake, "--install", build, "--component", "python", "--prefix", folder], check=True,
                       stdout=subprocess.DEVNULL)
        files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        print(f"{len(files)} files, {size / 1e6:.1f} MB")
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        environment["PYTHONPATH"] = folder
        return subprocess.run([sys.executable, "-B", "-c", CODE, folder], cwd=folder, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
