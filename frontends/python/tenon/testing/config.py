"""Settings of models: which checks run, on which programs, and how results are compared."""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import os
import pathlib
import stat
import tomllib
from typing import Any, Mapping

from ..errors import InvalidArgument
from . import tolerances
from .tolerances import Tolerance

FILE_NAMES = ("tenon-models.toml", "tenon-models.json")
"""The names of a file with settings, in the folder of the models."""

CHECKS: Mapping[str, str] = {
    "import": "the model is read, compiled as it is, and runs",
    "data": "the outputs are those of the data sets beside the model",
    "optimize": "the optimized program computes what the unoptimized one does",
    "onnxruntime": "the outputs are those of ONNX Runtime",
    "script": "the outputs are those of a Python function, such as a PyTorch module",
    "kernels": "each operation computes the same with its kernel and with the reference kernel",
    "passes": "each pass keeps the outputs",
    "rules": "each rule and each fold keeps the results of the operations that it replaces",
}
"""The checks in the order in which they run, with what holds if one passes."""

LEVELS: Mapping[str, tuple[str, ...]] = {
    "import": ("import",),
    "outputs": ("import", "data", "optimize", "onnxruntime", "script"),
    "passes": ("import", "data", "optimize", "onnxruntime", "script", "kernels", "passes"),
    "rules": tuple(CHECKS),
}
"""The checks of each level."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of one model. Paths are absolute."""

    checks: tuple[str, ...] = LEVELS["rules"]
    """The checks that run."""
    skip: str = ""
    """Why nothing is checked; empty if it is."""
    opt_level: int = 2
    """The optimization level, from 0 to 3."""
    pipeline: str = ""
    """Pipeline text in place of a level."""
    rules: tuple[str, ...] = ()
    """Files of rules, and "FILE.py:NAME" for rules that are Python functions."""
    disabled_rules: tuple[str, ...] = ()
    """Rules, families and patterns that are not applied."""
    fast_math: bool = False
    """Whether rules that may overflow are applied."""
    plugins: tuple[str, ...] = ()
    """Shared libraries with operations, kernels, rules and passes."""
    ops: tuple[str, ...] = ()
    """Files that declare operations."""
    reference: bool = True
    """Whether `passes` and `rules` run on reference kernels, so that a wrong kernel does not show there."""
    programs_per_rule: int = 4
    """How many different programs `rules` runs for each rule."""
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Sizes of named dimensions in generated inputs."""
    data: str = ""
    """The folder with data sets; empty: beside the model."""
    script: str = ""
    """"FILE.py:FUNCTION". The function returns something to call, and its inputs."""
    tolerances: Mapping[str, Tolerance] = dataclasses.field(default_factory=dict)
    """Tolerances that differ from the defaults, by element type."""
    time_limit: float = 300
    """Seconds of wall time for all checks of a model."""
    memory_limit: int = 0
    """Bytes that the process of a model may have; 0 means no limit."""

    def all_tolerances(self) -> dict[str, Tolerance]:
        """The tolerances of all element types."""
        return {**tolerances.DEFAULTS, **self.tolerances}


_TEXTS = {"skip", "pipeline", "script", "data"}
_LISTS = {"rules", "disabled_rules", "plugins", "ops"}
_PATHS = {"rules", "plugins", "ops", "data", "script"}
_CODE = ("plugins", "script", "rules")
_FLAGS = {"fast_math", "reference"}
_MOST_BYTES = 1 << 20
_MOST_SECONDS = 1e8
_KEYS = sorted({field.name for field in dataclasses.fields(Settings)} | {"level"})


class Config:
    """Settings of a folder of models: defaults, and changes for models whose names match a pattern."""

    def __init__(self, defaults: Settings | None = None) -> None:
        self._defaults = defaults or Settings()
        self._models: list[tuple[str, dict[str, Any]]] = []
        self.folder: pathlib.Path | None = None
        """The folder of models that the file names, if it names one."""
        self.path: pathlib.Path | None = None
        """The file, if there is one."""

    def change(self, **changes: Any) -> None:
        """Changes settings of all models. Settings of the file for single models stay."""
        self._defaults = dataclasses.replace(self._defaults, **changes)

    def of(self, model: str) -> Settings:
        """The settings of a model. Later patterns of a file override earlier ones.

        A level has the check `script` for models with a script only.
        """
        settings = self._defaults
        for pattern, changes in self._models:
            if fnmatch.fnmatchcase(model, pattern):
                merged = dict(settings.tolerances) | changes.get("tolerances", {})
                settings = dataclasses.replace(settings, **{**changes, "tolerances": merged})
        if not settings.script and settings.checks in LEVELS.values():
            checks = tuple(check for check in settings.checks if check != "script")
            settings = dataclasses.replace(settings, checks=checks)
        return settings

    @classmethod
    def read(cls, path: str | pathlib.Path, *, allow_code: bool = True) -> Config:
        """Reads a file in TOML or JSON. Its paths are relative to its folder.

        Args:
          path: The file, of at most 1 MiB.
          allow_code: Whether the file may name code, which then runs with all rights of the process: plugins, a script,
            and rules in Python.

        Raises:
          InvalidArgument: The file cannot be read, or a setting is wrong. The message names the file and the setting.
        """
        path = pathlib.Path(path)
        try:
            text = _read_file(path)
            content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except RecursionError:
            raise InvalidArgument(f"{path}: lists and tables are nested too deeply") from None
        except (OSError, ValueError) as error:
            raise InvalidArgument(f"{path}: {error}") from None
        if not isinstance(content, dict):
            raise InvalidArgument(f"{path}: a {type(content).__name__} (expected a table)")
        config = cls()
        config.path = path
        models = content.pop("models", {})
        folder = content.pop("folder", None)
        if folder is not None:
            if not isinstance(folder, str):
                raise InvalidArgument(f"{path}: folder is {folder!r} (expected text)")
            config.folder = (path.parent / folder).resolve()
        config.change(**_read_settings(content, str(path), path.parent))
        if not isinstance(models, dict):
            raise InvalidArgument(f"{path}: models is {models!r} (expected a table by name)")
        for pattern, settings in models.items():
            place = f'{path}: models."{pattern}"'
            if not isinstance(settings, dict):
                raise InvalidArgument(f"{place} is {settings!r} (expected a table)")
            config._models.append((pattern, _read_settings(settings, place, path.parent)))
        if not allow_code:
            config._refuse_code()
        return config

    @classmethod
    def find(cls, folder: pathlib.Path, *, allow_code: bool = False) -> Config:
        """Reads the file of this folder, if there is one. The folder may come from a stranger, so `allow_code` is off."""
        for name in FILE_NAMES:
            if (folder / name).is_file():
                return cls.read(folder / name, allow_code=allow_code)
        return cls()

    def _refuse_code(self) -> None:
        for settings in ({name: getattr(self._defaults, name) for name in _CODE}, *(changes for _, changes in self._models)):
            for name in _CODE:
                value = settings.get(name)
                if value and (name != "rules" or any(".py:" in file for file in value)):
                    raise InvalidArgument(f"{self.path}: {name} names code, and the file was found beside the models "
                                          f"(expected --config={self.path} or config=, if it is trusted)")


def _read_file(path: pathlib.Path) -> str:
    """The text of a regular file. Pipes and devices, which may never end, are an OSError."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError("not a regular file (expected a file with settings)")
        text = stream.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES} bytes of settings")
    return text.decode()


def bytes_of(text: str | int, place: str) -> int:
    """Reads a number of bytes, such as 4096 or "2G"."""
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    digits, shift = str(text), 0
    if digits[-1:] in units:
        digits, shift = digits[:-1], units[digits[-1]]
    if isinstance(text, bool) or not digits.isascii() or not digits.isdecimal() or len(digits) > 15:
        raise InvalidArgument(f"{place} is {text!r} (expected a number of bytes, such as 4096 or \"2G\")")
    return int(digits) << shift


def check_names(names: Any, place: str) -> tuple[str, ...]:
    """The checks with these names, in the order in which they run."""
    if not isinstance(names, (list, tuple)):
        raise InvalidArgument(f"{place} is {names!r} (expected a list)")
    for name in names:
        if name not in CHECKS:
            raise InvalidArgument(f"{place}: there is no check {name!r} (expected {', '.join(CHECKS)})")
    return tuple(name for name in CHECKS if name in names)


def level_checks(level: Any, place: str) -> tuple[str, ...]:
    """The checks of a level."""
    if level not in LEVELS:
        raise InvalidArgument(f"{place}: there is no level {level!r} (expected {', '.join(LEVELS)})")
    return LEVELS[level]


def _read_settings(content: dict[str, Any], place: str, folder: pathlib.Path) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, value in content.items():
        where = f"{place}: {key}"
        if key == "level":
            settings.setdefault("checks", level_checks(value, where))
        elif key == "checks":
            settings["checks"] = check_names(value, where)
        elif key == "tolerances":
            settings[key] = tolerances.read(value, where)
        elif key == "memory_limit":
            settings[key] = bytes_of(value, where)
        elif key == "sizes":
            settings[key] = _sizes(value, where)
        elif key in _TEXTS:
            settings[key] = _text(value, where)
        elif key in _LISTS:
            if not isinstance(value, list):
                raise InvalidArgument(f"{where} is {value!r} (expected a list)")
            settings[key] = tuple(_text(each, where) for each in value)
        elif key in _FLAGS:
            if not isinstance(value, bool):
                raise InvalidArgument(f"{where} is {value!r} (expected true or false)")
            settings[key] = value
        elif key in ("opt_level", "programs_per_rule"):
            most = 3 if key == "opt_level" else 1000
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
                raise InvalidArgument(f"{where} is {value!r} (expected 0 to {most})")
            settings[key] = value
        elif key == "time_limit":
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _MOST_SECONDS:
                raise InvalidArgument(f"{where} is {value!r} (expected seconds)")
            settings[key] = float(value)
        else:
            raise InvalidArgument(f"{place}: there is no setting '{key}' (expected {', '.join(_KEYS)})")
        if key in _PATHS:
            settings[key] = _absolute(settings[key], folder)
    return settings


def _sizes(value: Any, where: str) -> dict[str, int]:
    if not isinstance(value, dict):
        raise InvalidArgument(f"{where} is {value!r} (expected a table of numbers)")
    for name, size in value.items():
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 1 << 63:
            raise InvalidArgument(f"{where}: {name} is {size!r} (expected a number from 0 on)")
    return dict(value)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"{where} is {value!r} (expected text)")
    return value


def _absolute(value: Any, folder: pathlib.Path) -> Any:
    if isinstance(value, tuple):
        return tuple(_absolute(each, folder) for each in value)
    return str((folder / value).resolve()) if value else value
