"""Finds ONNX's backend test suite and lays it out as folders of cases, `<kind>/<case>/model.onnx`."""

import glob
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import tarfile

KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple")
ARCHIVE = "data/onnx-backend-tests.tar.xz"
DEBIAN = "/usr/share/libonnx-testdata/data"
LIGHT_SHAPE = (1, 3, 224, 224)  # the input of every light model, as ONNX's own runner generates it

# ONNX 1.23 and later install the code that generates the node cases, but not their files.
GENERATE = """
import os, sys
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
WRITERS = {"map_type": numpy_helper.from_dict, "sequence_type": numpy_helper.from_list,
           "optional_type": numpy_helper.from_optional}
def message(value, info):
    if hasattr(value, "SerializeToString"):
        return value
    return WRITERS.get(info.type.WhichOneof("value"), numpy_helper.from_array)(value, info.name)
for case in collect_testcases():
    folder = os.path.join(sys.argv[1], case.name)
    for number, data in enumerate(case.data_sets):
        data_set = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(data_set)
        graph = case.model.graph
        for prefix, values, infos in zip(("input", "output"), data, (graph.input, graph.output)):
            for index, (value, info) in enumerate(zip(values, infos)):
                with open(os.path.join(data_set, f"{prefix}_{index}.pb"), "wb") as file:
                    file.write(message(value, info).SerializeToString())
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(case.model.SerializeToString())
"""


class Missing(Exception):
    """No suite was found; the text says where it was looked for."""


def find_archive(repository):
    """The archive that TENON_ONNX_SUITE names, or the one beside the repository or its worktrees; None if there is none."""
    named = os.environ.get("TENON_ONNX_SUITE")
    if named:
        if not os.path.isfile(named):
            raise Missing(f"TENON_ONNX_SUITE names {named}, which is no file")
        return named
    for above in ("..", "../.."):
        path = os.path.join(repository, above, "shared", ARCHIVE)
        if os.path.isfile(path):
            return path
    return None


def unpack(archive, folder, kinds):
    """Unpacks the folders `kinds` of the archive; gives the folder that holds them."""
    with tarfile.open(archive) as tar:
        members = [member for member in tar if set(member.name.split("/")) & set(kinds)]
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, members, filter="data")
        else:
            tar.extractall(folder, members)
    for root, folders, _ in os.walk(folder):
        if set(kinds) <= set(folders):
            return root
    raise Missing(f"{archive} holds no folders {', '.join(kinds)}")


def from_package(folder, known, kinds):
    """The name and the data of the installed `onnx` package; None if it has no suite that is known."""
    spec = importlib.util.find_spec("onnx")
    if spec is None or not spec.origin:
        return None
    data = os.path.join(os.path.dirname(spec.origin), "backend", "test", "data")
    if not os.path.isdir(os.path.join(data, "simple")):
        return None
    version = subprocess.run([sys.executable, "-c", "import onnx; print(onnx.__version__)"],
                             capture_output=True, text=True, check=True).stdout.strip()
    name = f"onnx-{version}"
    if name not in known:
        return None
    if all(os.path.isdir(os.path.join(data, kind)) for kind in kinds):
        return name, data
    for kind in KINDS[1:]:
        shutil.copytree(os.path.join(data, kind), os.path.join(folder, kind))
    generated = subprocess.run([sys.executable, "-W", "ignore", "-c", GENERATE, os.path.join(folder, "node")],
                               capture_output=True, text=True)
    if generated.returncode != 0:
        raise Missing(f"{name} cannot generate its node cases: {generated.stderr.strip()[-500:]}")
    return name, folder


def from_debian(known):
    """The name and the data of Debian's libonnx-testdata; None if it is not installed or not known."""
    if not os.path.isdir(DEBIAN):
        return None
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libonnx-testdata"], capture_output=True, text=True)
    name = f"onnx-{shown.stdout.split('-')[0]}"
    return (name, DEBIAN) if name in known else None


def find(repository, folder, known, kinds):
    """The name of a suite, one of `known`, and the folder that holds its `kinds`.

    `folder`, which is empty, receives what is unpacked or generated.
    """
    archive = find_archive(repository)
    if archive:
        return "archive", unpack(archive, folder, kinds)
    found = from_package(folder, known, kinds) or from_debian(known)
    if found:
        return found
    raise Missing(f"there is no shared/{ARCHIVE} beside the repository, and none of {', '.join(known[1:])} is installed "
                  "as a Python package or as libonnx-testdata of Debian (tools/setup --with-onnx-suite)")


def tensor(shape, raw):
    """A TensorProto of floats without a name, so that it is the input of its number."""
    dims = b"".join(b"\x08" + varint(extent) for extent in shape)
    return dims + b"\x10\x01" + b"\x4a" + varint(len(raw)) + raw


def varint(value):
    encoded = b""
    while value >= 0x80:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def lay_out_light_models(data, folder):
    """Writes each model of data/light as a case below `folder`, with the input that ONNX's own runner generates."""
    size = 1
    for extent in LIGHT_SHAPE:
        size *= extent
    raw = struct.pack(f"<{size}f", *(i / size for i in range(size)))
    for model in sorted(glob.glob(os.path.join(data, "light", "*.onnx"))):
        case = os.path.join(folder, os.path.basename(model)[: -len(".onnx")])
        data_set = os.path.join(case, "test_data_set_0")
        os.makedirs(data_set)
        shutil.copy(model, os.path.join(case, "model.onnx"))
        shutil.copy(model[: -len(".onnx")] + "_output_0.pb", os.path.join(data_set, "output_0.pb"))
        with open(os.path.join(data_set, "input_0.pb"), "wb") as file:
            file.write(tensor(LIGHT_SHAPE, raw))
