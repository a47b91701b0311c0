"""Passes that are functions of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence, overload

from . import _core

if TYPE_CHECKING:
    import inspect

PassFunction = Callable[..., None]
_PARTS = {bool: "bool", int: "int", str: "str", list: "list", tuple: "list"}
_LISTS = ("list", "List", "Sequence", "tuple")
_NAMES = {"bool": "bool", "int": "int", "str": "str"}
_registered: dict[str, PassSpec] = {}


class PassOption(NamedTuple):
    """An option of a pass."""

    name: str
    """The name in pipeline text, such as "max-size"."""
    keyword: str
    """The name of the argument, such as "max_size"."""
    type: str
    """"bool", "int", "str" or "list"."""
    default_text: str
    """The default in pipeline text."""
    required: bool
    """Whether pipeline text must give it."""


class PassSpec(NamedTuple):
    """A pass in Python, as register_pass has read it."""

    name: str
    """The name in pipeline text."""
    summary: str
    """One line."""
    on: str
    """The operation on which it runs: "builtin.module" or "func.func"."""
    function: PassFunction
    """The function."""
    options: list[PassOption]
    """The options."""


class PipelineReport(NamedTuple):
    """The result of run_pipeline."""

    changed: bool
    """Whether a pass has changed the module."""
    statistics: list[tuple[str, dict[str, int]]]
    """The counters of each pass that has some, in the order of the pipeline."""


def registered() -> list[PassSpec]:
    """All passes in Python, by name."""
    return [_registered[name] for name in sorted(_registered)]


@overload
def register_pass(name: PassFunction) -> PassFunction: ...
@overload
def register_pass(name: str = "", *, on: str = "builtin.module", summary: str = "") -> Callable[[PassFunction], PassFunction]: ...


def register_pass(name: Any = "", *, on: str = "builtin.module", summary: str = "") -> Any:
    """Makes a function a pass that pipelines can name.

        @tenon.register_pass("drop-dropout")
        def drop_dropout(module, context, *, limit: int = 10):
            for op in module.walk():
                ...
                context.count("dropped")

        model.optimize(pipeline="drop-dropout{limit=3},O2")

    The function gets the operation on which the pass runs, and a PassContext. Its keyword-only arguments are options of
    type bool, int, str or a list of str; one without a default must be given. The program is verified after each change. An
    exception ends the run, and is the __cause__ of the error. Registering a name again replaces the pass.

    Args:
      name: The name in pipeline text; by default that of the function, with "-" for "_".
      on: "builtin.module", or "func.func" for a pass that runs on each function.
      summary: One line; by default the first line of the function's description.

    Raises:
      AlreadyExists: A pass or pipeline of Tenon has the name.
      InvalidArgument: Pipeline text cannot express the name.
    """
    if callable(name):
        return _register(name, "", on, summary)
    if not isinstance(name, str):
        raise TypeError(f"the name of a pass is a {type(name).__name__} (expected text)")
    return lambda function: _register(function, name, on, summary)


def _register(function: PassFunction, name: str, on: str, summary: str) -> PassFunction:
    if not callable(function):
        raise TypeError(f"a pass is a {type(function).__name__} (expected a function)")
    if on not in ("builtin.module", "func.func"):
        raise ValueError(f"a pass runs on '{on}' (expected builtin.module or func.func)")
    called = getattr(function, "__name__", "pass")
    text = summary or (function.__doc__ or "").strip().partition("\n")[0]
    spec = PassSpec(name or called.strip("_").replace("_", "-"), text, on, function, _options(function, called))
    _core.check_pass(spec)
    _registered[spec.name] = spec
    return function


def _options(function: PassFunction, called: str) -> list[PassOption]:
    import inspect  # here, as it takes longer to import than this package

    options = []
    positional = 0
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional = 2
        elif parameter.kind is parameter.KEYWORD_ONLY:
            options.append(_option(parameter, called))
        elif parameter.kind is not parameter.VAR_KEYWORD:
            if positional == 2 and parameter.default is not parameter.empty:
                raise TypeError(f"{called}: the argument {parameter.name} is not keyword-only (expected a * before the options, "
                                "as in `def f(module, context, *, limit=10)`)")
            positional += 1
    if positional != 2:
        raise TypeError(f"{called} has {positional} arguments (expected an operation and a context; options are keyword-only)")
    return options


def _option(parameter: inspect.Parameter, called: str) -> PassOption:
    default = parameter.default
    required = default is parameter.empty
    if required:
        annotation = parameter.annotation
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        kind = _NAMES.get(text) or ("list" if any(word in str(annotation) for word in _LISTS) else "")
    else:
        kind = _PARTS.get(type(default), "")
    if not kind:
        given = f"the type {text}" if required and annotation is not parameter.empty else (
            "no type" if required else f"a default of the type {type(default).__name__}")
        raise TypeError(f"{called}: the option {parameter.name} has {given} (expected a default or an annotation: bool, int, "
                        "str or a list of str)")
    # Also what is not used must be a value of the type.
    text = {"bool": "false", "int": "0"}.get(kind, "") if required else _text(default)
    return PassOption(parameter.name.replace("_", "-"), parameter.name, kind, text, required)


def _text(value: bool | int | str | Sequence[str]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, str)) else ",".join(value)


def run_pipeline(module: _core.Module, pipeline: str) -> PipelineReport:
    """Runs passes on a module, such as "my-pass,canonicalize,cse". Passes in Python are named like all others.

    Handles to operations are gone afterward. An error changes nothing.

    Raises:
      InvalidModel: The module is wrong.
      InvalidArgument: The pipeline is wrong, or a pass made a wrong program.
      CallbackError: A pass raised an exception, which is the __cause__.
    """
    import json  # here, as it takes longer to import than this package

    changed, text = module.run_pipeline(pipeline)
    passes = json.loads(text)["passes"] if text else []
    return PipelineReport(changed, [(entry["name"], entry["statistics"]) for entry in passes])
