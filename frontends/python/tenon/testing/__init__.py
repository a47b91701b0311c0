"""Checks that a folder of models keeps its results, pass by pass and rule by rule.

    report = tenon.testing.validate("models")
    assert report.ok, report.to_dict()

`python3 -m tenon.testing FOLDER` does the same, and tenon.testing.pytest_plugin makes tests of it. The guide "Keep models
covered" shows all three.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any, Callable, Iterable, Sequence

from .. import _core, arguments
from ..errors import InvalidArgument
from ..rules import Rules
from . import engines
from .config import CHECKS, LEVELS, Config, Settings, check_names, level_checks
from .models import FoundModel, find, matching
from .pool import Job, Pool
from .progress import Bar
from .results import CheckResult, Finding, ModelResult, Report
from .tolerances import Tolerance

__all__ = ["CHECKS", "LEVELS", "CheckResult", "Config", "Finding", "ModelResult", "Report", "Settings", "Tolerance",
           "validate"]


def validate(folder: str | os.PathLike[str], *, config: Config | str | os.PathLike[str] | None = None,
             level: str | None = None, checks: Iterable[str] | None = None, filters: Iterable[str] = (),
             rules: Rules | Sequence[Rules] = (), processes: int = 0, progress: bool = False,
             on_check: Callable[[str, str], None] | None = None,
             on_model: Callable[[ModelResult], None] | None = None) -> Report:
    """Checks all models of a folder, each in a process of its own.

    Args:
      folder: The folder. Its models are *.onnx, *.mlir and *.tnb, also in folders below.
      config: Settings, or a file with settings; by default tenon-models.toml or tenon-models.json of the folder, which may
        name no code.
      level: "import", "outputs", "passes" or "rules": the checks of all models that have no settings of their own.
      checks: The checks in place of a level.
      filters: Parts of names, or patterns. Models that none of them takes are left out; "!TEXT" leaves models out.
      rules: Rules that are also applied, beside those of the settings.
      processes: How many models are checked at a time; 0 means one per core.
      progress: Whether a bar on standard error shows how many models are done.
      on_check: Called with the model and the check that begins, by several threads.
      on_model: Called with each model that is done, in the order in which they are.

    Raises:
      InvalidArgument: A setting is wrong, or the folder has no models that the filters take.
    """
    jobs = make_jobs(folder, config=config, level=level, checks=checks, filters=filters, rules=rules)
    bar = Bar(len(jobs), arguments.flag("progress", progress))

    def check_begins(model: str, check: str) -> None:
        bar.begins(model, check)
        if on_check is not None:
            on_check(model, check)

    def model_ends(result: ModelResult) -> None:
        bar.ends(result)
        if on_model is not None:
            bar.clear()
            on_model(result)

    try:
        count = arguments.integer("processes", processes, 32, least=0)
        results = Pool().run(jobs, count or os.cpu_count() or 1, check_begins, model_ends)
    finally:
        bar.clear()
    return Report(os.fspath(folder), _core.version, engine_versions(), results)


def make_jobs(folder: str | os.PathLike[str], *, config: Config | str | os.PathLike[str] | None = None,
              level: str | None = None, checks: Iterable[str] | None = None, filters: Iterable[str] = (),
              rules: Rules | Sequence[Rules] = ()) -> list[Job]:
    """The jobs of validate(), sorted by the name of the model."""
    path = pathlib.Path(folder)
    if not path.is_dir():
        raise InvalidArgument(f"{path}: not a folder (expected a folder of models)")
    if config is None:
        config = Config.find(path)
    elif not isinstance(config, Config):
        config = Config.read(os.fspath(config))
    if level is not None and checks is not None:
        raise InvalidArgument(f"level is {level!r} beside checks (expected one of them: checks stand in place of a level)")
    if level is not None:
        config.change(checks=level_checks(level, "level"))
    if checks is not None:
        config.change(checks=check_names(arguments.texts("checks", checks), "checks"))
    found = find(path)
    if not found:
        raise InvalidArgument(f"{path}: there are no models (expected *.onnx, *.mlir or *.tnb)")
    taken = matching(found, tuple(arguments.texts("filters", filters)))
    if not taken:
        raise InvalidArgument(f"the filters take no model (there are: {', '.join(model.name for model in found)})")
    texts = [(rule.name, rule.text) for rule in ([rules] if isinstance(rules, Rules) else rules)]
    return [Job(model, config.of(model.name), os.fspath(folder), texts) for model in taken]


def engine_versions() -> dict[str, str | None]:
    """The other engines that can be compared with, and their versions."""
    return {"onnxruntime": engines.onnxruntime_version()}
