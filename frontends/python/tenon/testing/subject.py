"""A model that is checked: its programs, its inputs, and how its results are compared."""

from __future__ import annotations

import functools
import os
import shlex
from typing import Any, NamedTuple, Sequence

from .. import _core
from ..declarations import is_yaml, op_file
from ..errors import Error
from ..models import Model
from ..programs import Program
from .config import Settings
from .results import finite, larger, split_type

_TEXT_PARTS = ("#spans", "#text")
_SEQUENCE_PARTS = ("#offsets", "#dims", "#data", "#present")


class Case(NamedTuple):
    """Inputs of one run, and right outputs; none if they are not known."""

    name: str
    inputs: list[Any]
    expected: list[Any]


class Skip(Exception):
    """A check does not suit the model. The text says why."""


class Subject:
    """The model in a file, with what the checks share. Everything is made when it is needed."""

    def __init__(self, name: str, path: str, shown: str, folder: str, data: str, settings: Settings,
                 rule_files: Sequence[str], can_repeat: bool) -> None:
        self.name = name
        self.path = path
        self.shown = shown
        """The path for commands that people copy."""
        self.folder = folder
        """The folder of the models, for such commands."""
        self.data = data
        self.settings = settings
        self.rule_files = list(rule_files)
        self.can_repeat = can_repeat
        """False if some rules are in no file."""
        self.tolerances = {dtype: (pair.atol, pair.rtol) for dtype, pair in settings.all_tolerances().items()}

    @functools.cached_property
    def op_files(self) -> list[tuple[str, str]]:
        """The files that declare operations, as the C++ side reads them."""
        return [op_file(path) for path in self.settings.ops]

    @functools.cached_property
    def plain(self) -> Model:
        """The model as it is."""
        settings = self.settings
        handle = _core.testing_load(self.path, plugins=list(settings.plugins), op_files=self.op_files,
                                    external_data="")
        return Model(handle, lambda diagnostic: None)

    @functools.cached_property
    def plain_program(self) -> Program:
        """The program of the model at -O0."""
        model = self.plain.clone()
        model.optimize(0)
        return model.compile(threads=1)

    @functools.cached_property
    def optimized(self) -> Model:
        """The optimized model."""
        settings, model = self.settings, self.plain.clone()
        model.optimize(None if settings.pipeline else settings.opt_level, pipeline=settings.pipeline, rules=self.rule_files,
                       disabled_rules=settings.disabled_rules, fast_math=settings.fast_math)
        return model

    @functools.cached_property
    def optimized_program(self) -> Program:
        """The program of the optimized model."""
        return self.optimized.compile(threads=1)

    @property
    def optimize_options(self) -> dict[str, Any]:
        """The optimization, for functions of _core."""
        settings = self.settings
        return {"level": settings.opt_level, "pipeline": settings.pipeline, "rule_files": self.rule_files,
                "disabled_rules": list(settings.disabled_rules), "fast_math": settings.fast_math}

    @functools.cached_property
    def samples(self) -> list[Case]:
        """Generated inputs with the outputs of the model as it is. Those that the model refuses are in `refused`.

        Cases with infinite or NaN outputs are left out, unless all have some.
        """
        made = _core.testing_sample_cases(self.plain._handle, sizes=dict(self.settings.sizes))
        cases, finite_cases, failure = [], [], None
        for number, (_, inputs) in enumerate(made):
            try:
                outputs = run(self.plain_program, inputs)
            except Error as error:
                failure = error
                self.refused.append(f"sample {number}: {error.message}")
                continue
            cases.append(Case(f"sample {number}", inputs, outputs))
            if all(map(_is_finite, outputs)):
                finite_cases.append(cases[-1])
        if not cases and failure is not None:
            raise failure
        return finite_cases or cases

    @functools.cached_property
    def refused(self) -> list[str]:
        """Generated inputs that the model does not run on, with reasons."""
        return []

    def few_samples(self) -> list[Case]:
        """The samples for checks that run many programs: the first three, and the last, which has rare values."""
        return self.samples if len(self.samples) < 5 else [*self.samples[:3], self.samples[-1]]

    @functools.cached_property
    def data_sets(self) -> list[Case]:
        """The data sets beside the model."""
        folder = self.settings.data or self.data
        if not folder:
            raise Skip("there is no test_data_set_N beside the model")
        made = _core.testing_read_cases(self.plain._handle, self.plain_program._handle, folder)
        return [Case(*each) for each in made]

    @property
    def data_folder(self) -> str:
        """The folder of the data sets."""
        return self.settings.data or self.data

    @functools.cached_property
    def draws(self) -> bool:
        """Whether the model draws random numbers. Other engines draw other ones."""
        return any(op.name.startswith("random.") for op in self.plain.module().walk())

    def refuse_odd_ports(self, engine: str) -> None:
        """Raises Skip if another engine cannot be given the inputs, or gives other outputs."""
        if self.draws:
            raise Skip(f"the model draws random numbers, and {engine} draws other ones")
        for spec in (*self.plain_program.inputs, *self.plain_program.outputs):
            if spec.name.endswith(_TEXT_PARTS + _SEQUENCE_PARTS):
                raise Skip(f"'{spec.name.rpartition('#')[0]}' is a sequence, an optional value or text, which is not "
                           f"compared with {engine}")

    @property
    def has_text(self) -> bool:
        """Whether an output is text, whose spans may differ where the strings are equal."""
        return any(spec.name.endswith(_TEXT_PARTS) for spec in self.plain_program.outputs)

    def compare(self, actual: Sequence[Any], expected: Sequence[Any]) -> list[dict[str, Any]]:
        """Compares all outputs by the tolerances of the model."""
        result: list[dict[str, Any]] = _core.testing_compare(self.plain_program._handle, list(actual), list(expected),
                                                            tolerances=self.tolerances)
        return result

    def command(self, program: str, *options: str) -> str:
        """A command line for this model with these settings; "" if it cannot be written."""
        settings = self.settings
        # The programs read no YAML.
        if not self.can_repeat or any(map(is_yaml, settings.ops)):
            return ""
        words = [program, self.shown]
        words.append(f"--pass-pipeline={settings.pipeline}" if settings.pipeline else f"-O{settings.opt_level}")
        words += [f"--rules={relative(rules)}" for rules in self.rule_files]
        words += [f"--load-plugin={relative(plugin)}" for plugin in settings.plugins]
        words += [f"--load-ops={relative(ops)}" for ops in settings.ops]
        words += [f"--disable-rules={','.join(settings.disabled_rules)}"] if settings.disabled_rules else []
        words += ["--fast-math"] if settings.fast_math else []
        return shlex.join([*words, *options])

    def repeat_check(self, check: str) -> str:
        """The command line that makes one check again."""
        words = ["python3", "-m", "tenon.testing", self.folder, "-k", self.name, f"--checks={check}"]
        return shlex.join(words)


class Worst:
    """The difference that is the largest relative to its tensor, over many comparisons."""

    def __init__(self) -> None:
        self.largest: dict[str, Any] | None = None

    def add(self, output: str, dtype: str, difference: dict[str, Any]) -> None:
        """Counts one comparison."""
        self.largest = larger(self.largest, {"output": output, "dtype": dtype, "max_abs": finite(difference["max_abs"]),
                                             "max_rel": finite(difference["max_rel"])})

    def add_type(self, output: str, type_text: str, difference: dict[str, Any]) -> None:
        """The same for a type as C++ writes it."""
        self.add(output, split_type(type_text)[1], difference)


def run(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a program as tenon.Tensor objects."""
    return list(program.run(list(inputs), results="tensor"))


def _is_finite(tensor: Any) -> bool:
    if tensor.dtype not in ("float16", "float32", "float64"):
        return True
    import numpy

    return bool(numpy.isfinite(numpy.asarray(tensor)).all())


def relative(path: str) -> str:
    """The path as people write it here. Others stay as they are."""
    shown = os.path.relpath(path) if os.path.isabs(path) else path
    return path if shown.startswith("..") else shown


def shape_of(tensor: Any) -> list[int]:
    """The shape as a list of int."""
    return [int(extent) for extent in tensor.shape]
