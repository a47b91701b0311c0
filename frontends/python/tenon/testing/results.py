"""What the checks found."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import unicodedata
from typing import Any, Iterable, Mapping, Sequence

from .. import _core, arguments
from ..errors import InvalidArgument

STATUSES = ("passed", "failed", "error", "skipped")
"""The states of a check: `failed` is a difference, `error` a check that could not be made."""

_HARMFUL = ("Cc", "Cf", "Cs", "Zl", "Zp")  # categories of Unicode: controls, marks of direction, ends of lines


def shown(text: str, keep_lines: bool = False) -> str:
    """Text of a model or a file for a terminal: characters that control one are escaped, as are bytes that are no text.

    keep_lines: Whether ends of lines stay, for texts of several lines.
    """
    def is_harmful(char: str) -> bool:
        return unicodedata.category(char) in _HARMFUL and not (keep_lines and char == "\n")

    return "".join(f"\\u{ord(char):04x}" if is_harmful(char) else char for char in text)


@dataclasses.dataclass
class Finding:
    """One difference, and what makes it. Empty texts and lists: it is not known, or there is none."""

    against: str
    """What the results are compared with."""
    problem: str
    """What differs, in words."""
    case: str = ""
    """The data set, or "sample N"."""
    output: str = ""
    """The output of the model, or the result of the operation."""
    dtype: str = ""
    """The element type of the output, in NumPy's terms."""
    shape: list[int] = dataclasses.field(default_factory=list)
    """The shape of the output."""
    max_abs: float | None = None
    """The largest absolute difference; None if it is infinite or no number."""
    max_rel: float | None = None
    """The largest difference, divided by the largest element."""
    position: list[int] | None = None
    """The index of the element that is farthest beyond the tolerance."""
    kind: str = ""
    """What makes the difference: "rule", "fold", "pass", "kernel", "import" or "import or kernel"."""
    pass_entry: str = ""
    """The entry of the pipeline."""
    rule: str = ""
    """The rule."""
    place: str = ""
    """Where the rule is defined."""
    step: int = 0
    """The number of the step, as --opt-bisect-limit counts."""
    op: str = ""
    """The operation to which the step was applied, or that the kernel runs."""
    kernel: str = ""
    """The kernel."""
    nodes: list[str] = dataclasses.field(default_factory=list)
    """The nodes of the model."""
    example: str = ""
    """Inputs that show the difference."""
    before: str = ""
    """IR text of the program, or of the operations, before the step."""
    after: str = ""
    """The same after the step."""
    repeat: str = ""
    """A command that shows the difference again."""

    def culprit(self) -> str:
        """What makes the difference, in a few words."""
        words = []
        if self.rule:
            words.append(f"rule {self.rule}" + (f" ({self.place})" if self.place else ""))
        elif self.kernel:
            words.append(f"kernel {self.kernel}")
        elif self.kind in ("fold", "kernel") or "import" in self.kind:
            words.append(self.kind)
        if self.pass_entry:
            words.append(f"in pass {self.pass_entry}" if words else f"pass {self.pass_entry}")
        if self.op:
            words.append(f"at {self.op}" if self.kernel or not words else f"applied to {self.op}")
        return " ".join(words) or "not found"

    def text(self) -> str:
        """A few lines for people."""
        lines = [shown(f"{self.case + ': ' if self.case else ''}{self.output + ': ' if self.output else ''}{self.problem}"),
                 f"  against: {shown(self.against)}", f"  caused by: {shown(self.culprit())}"]
        lines += [f"  nodes: {', '.join(map(shown, self.nodes))}"] if self.nodes else []
        if self.max_abs is not None and self.position is not None:
            lines.append(f"  largest difference: {self.max_abs:.3g} at {self.position}")
        lines += [f"  repeat: {shown(self.repeat)}"] if self.repeat else []
        return "\n".join(lines)


@dataclasses.dataclass
class CheckResult:
    """One check of a model."""

    check: str
    """Its name, as in config.CHECKS."""
    status: str = "passed"
    """One of STATUSES."""
    reason: str = ""
    """Why the check is skipped, or what the error is."""
    node: str = ""
    """The node of the model that an error names."""
    compared: str = ""
    """How much was compared, in words."""
    largest: dict[str, Any] | None = None
    """The difference that is the largest relative to its tensor: output, dtype, max_abs and max_rel. None: no tensor was
    compared."""
    findings: list[Finding] = dataclasses.field(default_factory=list)
    """All differences beyond the tolerances."""
    skipped: list[str] = dataclasses.field(default_factory=list)
    """Parts that were left out, each with its reason."""

    def text(self) -> str:
        """A few lines for people, beginning with the status."""
        lines = [f"{self.check}: {self.status}" + (f": {shown(self.reason, keep_lines=True)}" if self.reason else "")]
        lines += [f"  {line}" for finding in self.findings for line in finding.text().splitlines()]
        return "\n".join(lines)


@dataclasses.dataclass
class ModelResult:
    """All checks of a model."""

    model: str
    """Its name."""
    path: str
    """Its file, relative to the folder of the models."""
    checks: list[CheckResult] = dataclasses.field(default_factory=list)
    """The checks in the order in which they run."""
    tolerances: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    """atol and rtol by element type, as they were used."""

    @property
    def status(self) -> str:
        """`error` or `failed` if a check is, `passed` if one is, else `skipped`."""
        return worst_status(check.status for check in self.checks)


@dataclasses.dataclass
class Report:
    """The results for a folder of models."""

    folder: str
    """The folder, as it was given."""
    tenon: str
    """The version of Tenon."""
    engines: dict[str, str | None]
    """The version of each other engine; None if it is not installed."""
    models: list[ModelResult]
    """The models by name."""

    @property
    def ok(self) -> bool:
        """True if no model has a difference or an error."""
        return all(model.status in ("passed", "skipped") for model in self.models)

    def counts(self) -> dict[str, int]:
        """The number of models by status."""
        return {status: sum(model.status == status for model in self.models) for status in STATUSES}

    def html(self) -> str:
        """The report as one page, which needs no script and no other file."""
        from .page import page  # which needs this module

        return page(self)

    def to_json(self) -> str:
        """The report as JSON, in ASCII. The guide "Keep models covered" describes the fields."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report to *.html or *.json. Raises InvalidArgument for other names, and if it cannot be written."""
        name = arguments.path("path", path)
        if name.endswith(".html"):
            text = self.html()
        elif name.endswith(".json"):
            text = self.to_json()
        else:
            raise InvalidArgument(f"a report cannot be written as {name} (expected *.html or *.json)")
        _core.write_file(name, text.encode(errors="backslashreplace"))  # names of files may hold bytes that are no text

    def _repr_html_(self) -> str:
        import html

        # A frame: the style of the page is not that of the notebook.
        return ('<iframe title="Report" sandbox style="width: 100%; height: 500px; border: 1px solid #ccc" '
                f'srcdoc="{html.escape(self.html())}"></iframe>')

    def to_dict(self) -> dict[str, Any]:
        """The report for JSON. The guide "Keep models covered" describes the fields."""
        models = []
        for model in self.models:
            fields = dataclasses.asdict(model)
            models.append({"model": fields.pop("model"), "path": fields.pop("path"), "status": model.status, **fields})
        return {"version": 1, "tenon": self.tenon, "folder": self.folder, "engines": self.engines,
                "summary": self.counts(), "models": models}


def check_from_dict(fields: Mapping[str, Any]) -> CheckResult:
    """The reverse of dataclasses.asdict, for a check that another process made."""
    findings = [Finding(**finding) for finding in fields["findings"]]
    return CheckResult(**{**fields, "findings": findings})


def finite(number: float) -> float | None:
    """The number; None if it is infinite or NaN, which JSON does not have."""
    return number if math.isfinite(number) else None


def position_of(element: int, shape: Sequence[int]) -> list[int] | None:
    """The index of an element in row-major order; None for -1."""
    if element < 0:
        return None
    position = []
    for extent in reversed(shape):
        element, index = divmod(element, extent)
        position.append(index)
    return position[::-1]


def split_type(text: str) -> tuple[list[int], str]:
    """The shape, and the element type in NumPy's terms, of a type such as "2x3xf32"."""
    parts = text.split("x")
    dims, dtype = parts[:-1], parts[-1]
    for prefix, name in (("bf", "bfloat"), ("ui", "uint"), ("f", "float"), ("i", "int")):
        if dtype.startswith(prefix) and dtype[len(prefix):].isdecimal():
            dtype = "bool" if dtype == "i1" else name + dtype[len(prefix):]
            break
    return [int(dim) for dim in dims if dim.isdecimal()], dtype


def larger(first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any] | None:
    """The larger of two differences, by max_rel; an infinite one is the largest."""
    if first is None or second is None:
        return first if second is None else second

    def size(difference: dict[str, Any]) -> float:
        return math.inf if difference["max_rel"] is None else float(difference["max_rel"])

    return second if size(second) > size(first) else first


def worst_status(states: Iterable[str]) -> str:
    """`error` before `failed` before `passed` before `skipped`."""
    found = set(states)
    return next((state for state in ("error", "failed", "passed") if state in found), "skipped")
