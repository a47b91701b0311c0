"""Files that declare operations: YAML becomes JSON, which the C++ side reads."""

from __future__ import annotations

import os
import sys

from .errors import InvalidArgument, NotFound

_GENERATOR = os.path.join(os.path.dirname(__file__), "codegen")


def is_yaml(path: str) -> bool:
    """Whether the name promises YAML."""
    return path.endswith((".yaml", ".yml"))


def read_yaml(path: str) -> str:
    """The operations of a YAML file as JSON (docs/reference/file-formats.md).

    A process of its own reads the file with tools/codegen, which is a program and no library.

    Raises:
      NotFound: The file cannot be read.
      InvalidArgument: The file is wrong, or PyYAML is not installed.
    """
    import importlib.util  # here, as they take longer to import than this package
    import subprocess

    if not os.path.isfile(path):
        raise NotFound(f"{path}: operations cannot be read: "
                       f"{'it is no regular file' if os.path.exists(path) else 'No such file or directory'}")
    if importlib.util.find_spec("yaml") is None:
        raise InvalidArgument(f"{path}: reading YAML needs PyYAML, which is not installed (pip install pyyaml)")
    command = [sys.executable, "-B", os.path.join(_GENERATOR, "tenon_codegen.py"),
               "--headers", os.path.join(_GENERATOR, "headers"), "--ops-json", "-", os.path.abspath(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"}
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8", env=environment)
    if done.returncode != 0:
        message = done.stderr.strip().replace(os.path.abspath(path), path)
        raise InvalidArgument(message or f"{path}: operations cannot be read")
    return done.stdout


def op_file(path: str) -> tuple[str, str]:
    """The path with its contents as JSON; "" for files that the C++ side reads itself."""
    return path, read_yaml(path) if is_yaml(path) else ""
