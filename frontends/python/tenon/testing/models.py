"""The models of a folder."""

from __future__ import annotations

import fnmatch
import pathlib
from typing import Iterable, NamedTuple

SUFFIXES = (".onnx", ".mlir", ".tnb")
"""Files that are models: ONNX, IR text and binary modules."""


class FoundModel(NamedTuple):
    """A model of a folder."""

    name: str
    """The path below the folder, without the suffix, and without a last part that is "model"."""
    path: pathlib.Path
    """The file."""
    data: pathlib.Path | None
    """The folder with test_data_set_N that belongs to it."""


def find(folder: pathlib.Path) -> list[FoundModel]:
    """Returns all models below `folder`, sorted by name. Folders whose names begin with a dot are left out.

    Data sets belong to the model beside them if there is one alone.
    """
    paths = [path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file()
             and not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return sorted(one(path, folder) for path in paths)


def one(path: pathlib.Path, folder: pathlib.Path) -> FoundModel:
    """The model in a file of `folder`."""
    beside = [other for other in path.parent.iterdir() if other.suffix in SUFFIXES and other.is_file()]
    data = path.parent if len(beside) == 1 and any(path.parent.glob("test_data_set_*")) else None
    name = path.relative_to(folder).with_suffix("").as_posix()
    same_name = any((path.parent.parent / f"{path.parent.name}{suffix}").is_file() for suffix in SUFFIXES)
    if name.endswith("/model") and not same_name:
        name = name.removesuffix("/model")
    elif len(beside) > 1 and sum(other.stem == path.stem for other in beside) > 1:
        name += path.suffix
    return FoundModel(name, path, data)


def matching(models: Iterable[FoundModel], filters: Iterable[str]) -> list[FoundModel]:
    """The models that a filter takes: a part of the name, or a pattern with * and ?. "!TEXT" leaves models out."""
    wanted = [text for text in filters if not text.startswith("!")]
    unwanted = [text[1:] for text in filters if text.startswith("!")]

    def takes(text: str, name: str) -> bool:
        return text in name or fnmatch.fnmatchcase(name, text)

    return [model for model in models
            if (not wanted or any(takes(text, model.name) for text in wanted))
            and not any(takes(text, model.name) for text in unwanted)]
