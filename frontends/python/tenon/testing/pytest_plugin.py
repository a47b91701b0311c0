"""A pytest plugin that makes tests of models: one for each model and check.

    [pytest]
    tenon_models = tests/models

does it for that folder; a file tenon-models.toml beside it, with `folder = "tests/models"`, does the same and has
settings. Nothing happens in a project that has neither.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any, Iterator

import pytest

from .. import _core
from ..errors import Error
from . import engine_versions
from .config import CHECKS, FILE_NAMES, LEVELS, Config, level_checks
from .models import SUFFIXES, one
from .pool import Job, Pool
from .results import CheckResult, ModelResult, Report, check_from_dict

_FOLDERS = pytest.StashKey[dict[pathlib.Path, Config]]()
_RESULTS = pytest.StashKey[dict[str, ModelResult]]()


class DifferenceFound(Exception):
    """A check of a model did not pass."""

    def __init__(self, result: CheckResult) -> None:
        super().__init__(result.reason or result.status)
        self.result = result


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tenon", "models with Tenon")
    group.addoption("--tenon-level", choices=LEVELS, help="how much is checked of each model (default: rules)")
    group.addoption("--tenon-report", metavar="FILE", help="write a report: HTML for *.html, else JSON")
    parser.addini("tenon_models", "folders with models that are tested", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tenon: a check of a model (tenon.testing)")
    try:
        folders = _folders(config)
        level = config.getoption("--tenon-level")
        for settings in folders.values():
            if level is not None:
                settings.change(checks=level_checks(level, "--tenon-level"))
    except Error as error:
        raise pytest.UsageError(error.message) from None
    report = config.getoption("--tenon-report")
    if report is not None and (pathlib.Path(report).is_dir() or not pathlib.Path(report).absolute().parent.is_dir()):
        raise pytest.UsageError(f"--tenon-report: {report} cannot be written (expected a file in a folder that exists)")
    config.stash[_FOLDERS] = folders
    config.stash[_RESULTS] = {}


def _folders(config: pytest.Config) -> dict[pathlib.Path, Config]:
    """The folders of models, with their settings."""
    folders: dict[pathlib.Path, Config] = {}
    for path in config.getini("tenon_models"):
        folder = pathlib.Path(path).resolve()
        if not folder.is_dir():
            raise pytest.UsageError(f"tenon_models: {folder} is not a folder")
        folders[folder] = Config.find(folder, allow_code=True)  # as pytest runs a conftest.py there
    for name in FILE_NAMES:
        if (config.rootpath / name).is_file():
            settings = Config.read(config.rootpath / name)
            if settings.folder is None:
                settings.folder = config.rootpath
            if not settings.folder.is_dir():
                raise pytest.UsageError(f"{name}: folder: {settings.folder} is not a folder")
            folders[settings.folder] = settings
            break
    return folders


def pytest_collect_file(file_path: pathlib.Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in SUFFIXES:
        return None
    path = file_path.resolve()
    holding = [folder for folder in parent.config.stash[_FOLDERS] if path.is_relative_to(folder)]
    if not holding:
        return None
    file: ModelFile = ModelFile.from_parent(parent, path=file_path)
    file.folder = max(holding, key=lambda folder: len(folder.parts))
    return file


class ModelFile(pytest.File):
    """A model. Its items are the checks."""

    folder: pathlib.Path

    def collect(self) -> Iterator[pytest.Item]:
        model = one(self.path.resolve(), self.folder)
        settings = self.config.stash[_FOLDERS][self.folder].of(model.name)
        for check in settings.checks:
            item: ModelItem = ModelItem.from_parent(self, name=check)
            item.job = Job(model, dataclasses.replace(settings, checks=(check,)), os.path.relpath(self.folder))
            item.extra_keyword_matches.update((model.name, check))
            item.add_marker("tenon")
            yield item


class ModelItem(pytest.Item):
    """A check of a model. It runs in a process of its own."""

    job: Job
    tenon_result: dict[str, Any] | None = None

    def runtest(self) -> None:
        model = Pool().run_one(self.job, lambda name, check: None)
        self.tenon_result = dataclasses.asdict(model)
        result = model.checks[0]
        if result.status == "skipped":
            pytest.skip(result.reason)
        if result.status != "passed":
            raise DifferenceFound(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, DifferenceFound):
            return f"{self.job.model.name}: {excinfo.value.result.text()}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[pathlib.Path, int | None, str]:
        return self.path, None, f"{self.job.model.name}: {CHECKS[self.name]}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    outcome: Any = yield
    if isinstance(item, ModelItem) and call.when == "call":
        # pytest-xdist hands the attributes of a report to the process that writes ours.
        outcome.get_result().tenon_result = item.tenon_result


class _Collector:
    """Collects the results of all processes, where pytest prints them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: Any) -> None:
        fields = getattr(report, "tenon_result", None)
        if fields is None or report.when != "call":
            return
        checks = [check_from_dict(check) for check in fields["checks"]]
        model = self._config.stash[_RESULTS].setdefault(
            fields["model"], ModelResult(fields["model"], fields["path"], [], fields["tolerances"]))
        model.checks += checks


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Collector(session.config), "tenon-results")


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    path = config.getoption("--tenon-report")
    if path is None or hasattr(config, "workerinput"):
        return
    order = list(CHECKS)
    models = [model for _, model in sorted(config.stash[_RESULTS].items())]
    for model in models:
        model.checks.sort(key=lambda check: order.index(check.check))
    folders = ", ".join(os.path.relpath(folder, config.rootpath) for folder in config.stash[_FOLDERS])
    report = Report(folders, _core.version, engine_versions(), models)
    is_page = path.endswith((".html", ".htm"))
    text = report.html() if is_page else report.to_json()
    pathlib.Path(path).write_text(text, "utf-8", "backslashreplace")
