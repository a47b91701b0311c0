"""The process that checks one model: python -m tenon.testing.worker FD.

Reads a job as JSON from standard input, and writes JSON lines to the file descriptor FD: {"begin": CHECK} before a check
and {"done": …} behind it. tenon.testing.pool starts it, so that a crash ends one check and not the run.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import json
import os
import pathlib
import resource
import sys
import tempfile
from typing import Any

from ..rules import Rules
from .checks import run_check
from .config import Settings
from .engines import load_object
from .results import CheckResult
from .subject import Skip, Subject
from .tolerances import Tolerance


def settings_from_dict(fields: dict[str, Any]) -> Settings:
    """The reverse of dataclasses.asdict."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    fields["tolerances"] = {dtype: Tolerance(*pair) for dtype, pair in fields["tolerances"].items()}
    return Settings(**fields)


def _rule_files(settings: Settings, texts: list[tuple[str, str]], folder: str) -> list[str]:
    """Files of all rules. Those of functions and of texts are written to `folder`."""
    files = []
    texts = list(texts)
    for source in settings.rules:
        path, colon, name = source.rpartition(":")
        if colon and path.endswith(".py"):
            rules = load_object(path, name)
            if not isinstance(rules, Rules):
                raise TypeError(f"{name} of {path} is a {type(rules).__name__} (expected a rule)")
            texts.append((rules.name, rules.text))
        else:
            files.append(source)
    for number, (name, text) in enumerate(texts):
        below = pathlib.Path(folder) / str(number)
        below.mkdir()
        file = below / (pathlib.PurePath(name).name or "rules.drr")
        file.write_text(text)
        files.append(str(file))
    return files


def _without(folder: str, value: Any) -> Any:
    """The same without the names of our temporary files, which differ from run to run."""
    if isinstance(value, str):
        for number in range(100):
            value = value.replace(f"{folder}/{number}/", "")
            if folder not in value:
                break
        return value
    if isinstance(value, list):
        return [_without(folder, each) for each in value]
    if isinstance(value, dict):
        return {key: _without(folder, each) for key, each in value.items()}
    return value


def main() -> int:
    """Runs the job of standard input."""
    faulthandler.enable()
    job = json.load(sys.stdin)
    out = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    settings = settings_from_dict(job["settings"])
    if settings.memory_limit:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = settings.memory_limit if hard == resource.RLIM_INFINITY else min(hard, settings.memory_limit)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    with tempfile.TemporaryDirectory(prefix="tenon-testing-") as folder:
        problem, subject = CheckResult(""), None
        try:
            files = _rule_files(settings, job["rule_texts"], folder)
            subject = Subject(job["name"], job["path"], job["shown"], job["folder"], job["data"], settings, files,
                              can_repeat=all(file in settings.rules for file in files))
        except Skip as reason:
            problem = CheckResult("", "skipped", str(reason))
        except Exception as error:
            problem = CheckResult("", "error", f"{type(error).__name__}: {error}")
        for check in job["checks"]:
            print(json.dumps({"begin": check}), file=out)
            if subject is None:
                result = dataclasses.replace(problem, check=check)
            else:
                result = run_check(check, subject)
            print(json.dumps({"done": _without(folder, dataclasses.asdict(result))}), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
