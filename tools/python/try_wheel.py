"""Installs the wheel beside this file with pip, and uses it. tools/python/wheel runs it in a root that has nothing else."""

import pathlib
import subprocess
import sys
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def install():
    pip, = HERE.glob("pip-*.whl")
    wheels = [wheel for wheel in HERE.glob("*.whl") if wheel != pip]
    # Debian's marker says that apt manages its interpreter. This root has no apt.
    command = [sys.executable, pip / "pip", "install", "--quiet", "--no-index", "--no-cache-dir", "--root-user-action=ignore"]
    if pathlib.Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists():
        command.append("--break-system-packages")
    subprocess.run([*command, *wheels], check=True)


def entry_points():
    """The programs that the wheel promises."""
    wheel, = HERE.glob("tenon-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        name, = (name for name in archive.namelist() if name.endswith("dist-info/entry_points.txt"))
        section = archive.read(name).decode().split("[console_scripts]")[1].split("[")[0]
    return [line.split("=")[0].strip() for line in section.split("\n") if "=" in line]


def loaded():
    return {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}


def use():
    before = loaded()
    import tenon
    heavy = {"numpy", "torch"} & set(sys.modules)
    assert not heavy, f"import tenon loads {heavy}"

    import numpy as np
    program = tenon.load(HERE / "bert.eager.ts17" / "model.onnx").compile()
    output, = program(np.ones((1, 8), np.int64), attention_mask=np.ones((1, 8), np.int64))
    assert output.shape == (1, 8, 32) and np.isfinite(output).all()
    # As exported, its convolutions run in oneDNN, which the first of them loads.
    model = tenon.load(HERE / "resnet_bn.eager.ts17" / "model.onnx")
    exported = model.compile()
    model.optimize()
    optimized = model.compile()
    image = np.ones((1, 3, 32, 32), np.float32)
    assert np.allclose(exported(image)[0], optimized(image)[0], atol=1e-5)

    # What was loaded for it is in the wheel, or a part of every Linux that pip installs it on.
    package = pathlib.Path(tenon.__file__).parent
    inside = {path for path in loaded() - before if path.startswith(str(package.parent / "tenon"))}
    names = {pathlib.Path(path).name.split("-")[0].split(".so")[0] for path in inside}
    missing = {"libtenon", "libdnnl", "libprotobuf", "libgomp"} - names
    assert not missing, f"not from the wheel: {missing}"

    programs = entry_points()
    commands = pathlib.Path(sysconfig.get_path("scripts"))
    for name in programs:
        version = subprocess.run([commands / name, "--version"], check=True, capture_output=True, text=True).stdout
        assert version.startswith(name), version
    for folder in ("bert.eager.ts17", "resnet_bn.eager.ts17"):
        check = subprocess.run([commands / "ir-run", HERE / folder / "model.onnx", "-O2", f"--check={HERE / folder / 'test_data_set_0'}"],
                               capture_output=True, text=True)
        assert check.returncode == 0 and "PASS" in check.stdout, check.stdout + check.stderr
    print(f"ok: tenon {tenon.__version__} on Python {sys.version.split()[0]}: {len(inside)} libraries of the wheel, "
          f"{len(programs)} programs")


if __name__ == "__main__":
    if sys.argv[1:] == ["installed"]:
        use()
    else:
        install()
        # An interpreter sees the folder that pip makes when it starts.
        sys.exit(subprocess.run([sys.executable, "-B", __file__, "installed"]).returncode)
