"""python3 -m tenon.testing FOLDER: checks that a folder of models keeps its results."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from typing import Sequence

from ..errors import Error, InvalidArgument
from . import CHECKS, LEVELS, Config, Report, engine_versions, make_jobs
from .config import bytes_of, check_names
from .pool import Pool
from .progress import Bar
from .results import ModelResult, shown, worst_status
from .. import _core

_EPILOG = f"""
levels:
{chr(10).join(f"  {level:9} {', '.join(checks)}" for level, checks in LEVELS.items())}

checks:
{chr(10).join(f"  {check:12} {text}" for check, text in CHECKS.items())}

exit status:
  0  no model has a difference or an error
  1  a model has one
  2  the command line or a file of settings is wrong, or a report cannot be written
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m tenon.testing", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG,
        description="Checks that the models of a folder keep their results when Tenon optimizes and runs them.")
    parser.add_argument("folder", help="the folder of the models: *.onnx, *.mlir and *.tnb")
    parser.add_argument("--config", metavar="FILE", help="settings in TOML or JSON (default: tenon-models.toml of the folder)")
    parser.add_argument("--level", choices=LEVELS, help="how much is checked (default: rules)")
    parser.add_argument("--checks", metavar="NAME,…", help="the checks in place of a level")
    parser.add_argument("-k", action="append", default=[], metavar="TEXT", dest="filters",
                        help="only models with this in their name, or that fit this pattern; !TEXT leaves models out; repeatable")
    parser.add_argument("--rules", action="append", default=[], metavar="FILE", help="also apply these rules; repeatable")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; - prints only that")
    parser.add_argument("--html", metavar="FILE", help="write the report as one HTML page")
    parser.add_argument("-j", type=int, default=0, metavar="N", dest="processes",
                        help="models that are checked at a time (default: one per core)")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="of each model (default: 300)")
    parser.add_argument("--memory-limit", metavar="BYTES", help="of each model, such as 4G (default: none)")
    parser.add_argument("--list", action="store_true", help="list the models and their checks, and do nothing else")
    return parser


def _lines(model: ModelResult) -> str:
    """What is printed of a model: a line, and more for each check that did not pass."""
    done = [check.check for check in model.checks if check.status == "passed"]
    lines = [f"{model.status:7} {shown(model.model)}" + (f" ({', '.join(done)})" if done else "")]
    for check in model.checks:
        if check.status in ("failed", "error"):
            lines += [f"  {line}" for line in check.text().splitlines()]
    if model.status == "skipped":
        lines[0] += f" ({shown(model.checks[0].reason)})" if model.checks else ""
    return "\n".join(lines)


def _write(path: str, text: str) -> None:
    try:
        if path == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            # Names of files may hold bytes that are no text.
            pathlib.Path(path).write_text(text, "utf-8", "backslashreplace")
    except OSError as error:
        raise InvalidArgument(f"{path}: cannot be written: {error.strerror}") from None


def _run(options: argparse.Namespace) -> int:
    folder = pathlib.Path(options.folder)
    config = Config.read(options.config) if options.config else Config.find(folder)
    base = config.of("")
    if options.rules:
        config.change(rules=base.rules + tuple(str(pathlib.Path(rules).resolve()) for rules in options.rules))
    if options.time_limit is not None:
        if not 0 < options.time_limit <= 1e8:
            raise InvalidArgument(f"--time-limit is {options.time_limit} (expected seconds)")
        config.change(time_limit=options.time_limit)
    if options.memory_limit is not None:
        config.change(memory_limit=bytes_of(options.memory_limit, "--memory-limit"))
    if options.processes < 0:
        raise InvalidArgument(f"-j is {options.processes} (expected a number from 0 on)")
    checks = check_names(options.checks.split(","), "--checks") if options.checks else None
    jobs = make_jobs(options.folder, config=config, level=options.level, checks=checks, filters=options.filters)
    if options.list:
        for job in jobs:
            print(f"{shown(job.model.name)}: {job.settings.skip or ', '.join(job.settings.checks)}")
        return 0
    progress, quiet = Bar(len(jobs)), options.json == "-"
    waiting = [job.model.name for job in jobs]
    done: dict[str, ModelResult] = {}

    def on_model(result: ModelResult) -> None:
        """Prints the models in order, each as soon as those before it are done."""
        progress.ends(result)
        done[result.model] = result
        while not quiet and waiting and waiting[0] in done:
            progress.clear()
            print(_lines(done[waiting.pop(0)]), flush=True)

    results = Pool().run(jobs, options.processes or os.cpu_count() or 1, progress.begins, on_model)
    progress.clear()
    report = Report(options.folder, _core.version, engine_versions(), results)
    if not quiet:
        counts = ", ".join(f"{count} {status}" for status, count in report.counts().items() if count)
        print(f"{len(results)} model{'' if len(results) == 1 else 's'}: {counts}")
    if options.json:
        _write(options.json, report.to_json())
    if options.html:
        _write(options.html, report.html())
    return 0 if worst_status(model.status for model in results) in ("passed", "skipped") else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except Error as error:
        print(f"tenon.testing: {shown(error.message, keep_lines=True)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
