"""The bindings use only what CPython has in its stable ABI from 3.12 on: a compiler of 3.11 does not see other names.

  stable_abi_test.py
"""

import pathlib
import re
import sys

import abi3info

BINDINGS = pathlib.Path(__file__).resolve().parents[2] / "frontends" / "python" / "bindings"
OLDEST = (3, 12)  # wheel.py-api of pyproject.toml
# Of the headers of every version: macros that name no symbol.
HEADERS = {"Py_TYPE", "Py_None", "Py_INCREF", "Py_DECREF", "Py_XDECREF"}


def stable_names():
    names = set(HEADERS)
    for table in (abi3info.FUNCTIONS, abi3info.DATAS, abi3info.MACROS, abi3info.STRUCTS, abi3info.TYPEDEFS):
        for key, entry in table.items():
            if (entry.added.major, entry.added.minor) <= OLDEST:
                names.add(getattr(key, "name", key))
    return names


def main():
    stable = stable_names()
    assert "PyObject_CallNoArgs" in stable and "PyObject_CallOneArg" not in stable
    status = 0
    for path in sorted(BINDINGS.rglob("*.[ch]*")):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            code = re.sub(r'"(\\.|[^"])*"', "", line.partition("//")[0])
            for name in re.findall(r"\b_?Py(?:[A-Z]\w*)?_\w+", code):
                if name not in stable:
                    print(f"{path.relative_to(BINDINGS)}:{number}: {name} is not in the stable ABI of CPython 3.12")
                    status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
