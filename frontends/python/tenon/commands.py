"""The programs of Tenon, as commands of an installed package."""

import os
import pathlib
import sys
from typing import NoReturn


def _become(name: str) -> NoReturn:
    """Replaces this process by the program `name`, with the same arguments."""
    program = pathlib.Path(__file__).parent / "bin" / name
    if not program.exists():
        sys.exit(f"{name} is not in this package (expected {program}; a wheel has it)")
    os.execv(program, [name, *sys.argv[1:]])


def ir_bench() -> NoReturn:
    """Runs ir-bench."""
    _become("ir-bench")


def ir_bisect() -> NoReturn:
    """Runs ir-bisect."""
    _become("ir-bisect")


def ir_opt() -> NoReturn:
    """Runs ir-opt."""
    _become("ir-opt")


def ir_reduce() -> NoReturn:
    """Runs ir-reduce."""
    _become("ir-reduce")


def ir_run() -> NoReturn:
    """Runs ir-run."""
    _become("ir-run")
