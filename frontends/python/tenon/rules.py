"""Rewrite rules: in text notation, or traced from a function."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union, overload

from . import _core, arguments
from .terms import Attr, Term, text_of

if TYPE_CHECKING:
    from .extension import Extension
    from .models import Model


Where = Union[str, Callable[..., Any]]
"""Conditions of a rule: text, or a function of its arguments."""
_NAME = re.compile(r"[A-Za-z_]\w*")


class RuleCheck(NamedTuple):
    """The result of the check of one rule."""

    rule: str
    """The name of the rule."""
    verdict: str
    """ "right", "wrong", "invalid", or "unchecked" if too few programs match."""
    failures: list[str]
    """The reasons, with a program each."""

    @property
    def ok(self) -> bool:
        """True for a rule that was checked and is right."""
        return self.verdict == "right"


class Rules:
    """Rules for Model.optimize(rules=…). Make them with from_text(), from_file() or the decorator tenon.rule.

    Attributes:
      text: The rules in text notation (docs/reference/rule-language.md).
      name: The name of the text in messages.
      extension: The extension that has operations of the rules; None without one.
    """

    def __init__(self, text: str, name: str, extension: Extension | None = None) -> None:
        self.text = text
        self.name = name
        self.extension = extension

    @classmethod
    def from_text(cls, text: str, *, name: str = "<rules>", extension: Extension | None = None) -> Rules:
        """Reads rules from a text. Mistakes are reported by check(), by names, and by Model.optimize."""
        return cls(text, name, extension)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, extension: Extension | None = None) -> Rules:
        """Reads rules from a file."""
        name = arguments.path("path", path)
        with open(name, encoding="utf-8") as file:
            return cls(file.read(), name, extension)

    @property
    def names(self) -> list[str]:
        """The names of the rules. Raises InvalidArgument at a mistake in the text."""
        return _core.rule_names(self.text, self.name, self.extension)

    def check(self, *, matches: int = 20, seed: int = 1) -> list[RuleCheck]:
        """Checks each rule by running it: random programs that match must compute the same afterward.

        It takes seconds for most rules. Raises InvalidArgument at a mistake in the text.
        """
        return [RuleCheck(*each) for each in _core.check_rules(self.text, self.name, matches, seed, self.extension)]

    def explain(self, model: Model, *, rule: str = "", node: str = "") -> str:
        """Says where a rule fires or nearly matches in `model`, which stays as it is.

        Args:
          model: The model as it was loaded.
          rule: The name of the rule; by default the only one.
          node: A part of a node's name.
        """
        if not rule:
            names = self.names
            if len(names) != 1:
                raise ValueError(f"there are {len(names)} rules (expected rule=, one of {', '.join(names)})")
            rule = names[0]
        return model.clone().optimize(rules=self, explain=f"{rule}@{node}" if node else rule).explained

    def __repr__(self) -> str:
        return f"<tenon.Rules of {self.name}>"


class Value:
    """A value in the graphs of a rule that is traced: an argument, or the result of an operation."""

    __slots__ = ("_op", "_operands", "_attributes", "_name")

    def __init__(self, op: str, operands: tuple[Value, ...], attributes: dict[str, Any], name: str = "") -> None:
        self._op = op
        self._operands = operands
        self._attributes = attributes
        self._name = name

    def __add__(self, other: Any) -> Value:
        return _make("add", (self, other))

    def __radd__(self, other: Any) -> Value:
        return _make("add", (other, self))

    def __sub__(self, other: Any) -> Value:
        return _make("sub", (self, other))

    def __rsub__(self, other: Any) -> Value:
        return _make("sub", (other, self))

    def __mul__(self, other: Any) -> Value:
        return _make("mul", (self, other))

    def __rmul__(self, other: Any) -> Value:
        return _make("mul", (other, self))

    def __truediv__(self, other: Any) -> Value:
        return _make("div", (self, other))

    def __rtruediv__(self, other: Any) -> Value:
        return _make("div", (other, self))

    def __pow__(self, other: Any) -> Value:
        return _make("pow", (self, other))

    def __matmul__(self, other: Any) -> Value:
        return _make("matmul", (self, other))

    def __neg__(self) -> Value:
        return _make("neg", (self,))

    @property
    def term_name(self) -> str:
        """How terms call the value; "" if they cannot."""
        return self._name if self._op == "" else ""

    def __bool__(self) -> bool:
        raise TypeError("a value of a rule is not known while the rule is made (write conditions as where=…)")


def _make(op: str, operands: tuple[Any, ...], attributes: dict[str, Any] | None = None) -> Value:
    return Value(op, tuple(_value(each, op) for each in operands), attributes or {})


def _value(value: Any, op: str) -> Value:
    if isinstance(value, Value):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Value("splat", (), {}, text_of(float(value)))
    if isinstance(value, Term):
        return Value("splat", (), {}, text_of(value))
    raise TypeError(f"{op}: an operand of type {type(value).__name__} (expected a value of the rule, or a number)")


def traced(op: str, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Value:
    """Makes a value of a rule: the result of an operation. Functions of tenon.ops call it."""
    return _make(op, operands, attributes)


class Const:
    """Marks an argument of a traced rule that must be a constant: `def f(x, w: tenon.Const)`."""


class _Writer:
    """Writes the graphs of one rule. Parts that are used several times get names."""

    def __init__(self, constants: set[str], where: str) -> None:
        self.named = set(_NAME.findall(where))  # in terms
        self.constants = constants  # arguments that have no `const` before them yet
        self.uses: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.lets: list[str] = []

    def count(self, value: Value) -> None:
        self.uses[id(value)] = self.uses.get(id(value), 0) + 1
        if self.uses[id(value)] == 1:
            terms = [value._name] if value._op == "splat" else [text_of(each) for each in value._attributes.values()]
            self.named.update(name for term in terms for name in _NAME.findall(term))
            for operand in value._operands:
                self.count(operand)

    def text(self, value: Value, share: bool) -> str:
        if value._op == "":
            # The notation asks for the mark of names that stand for anything, and are used nowhere else.
            name = value._name if self.uses[id(value)] > 1 or value._name in self.named else f"_{value._name}"
            if value._name in self.constants:
                self.constants.remove(value._name)
                return f"const {name}"
            return name
        if value._op == "splat":
            return f"splat({value._name})"
        if id(value) in self.names:
            return self.names[id(value)]
        text = f"{value._op}({', '.join(self.text(each, share) for each in value._operands)})"
        if value._attributes:
            text += " {" + ", ".join(f"{name} = {text_of(each)}" for name, each in value._attributes.items()) + "}"
        if share and self.uses[id(value)] > 1:
            name = f"part{len(self.names)}"
            self.names[id(value)] = name
            self.lets.append(f"  let     {name} = {text}")
            return name
        return text


def _conditions(where: Where, arguments: dict[str, Value | Term]) -> str:
    """The text of conditions. A function gets the arguments of the rule that it names."""
    if isinstance(where, str):
        return where
    import inspect

    if isinstance(where, (Term, list, tuple)) or not callable(where):
        raise TypeError(f"where is a {type(where).__name__} (expected text, or a function of arguments of the rule)")
    names = list(inspect.signature(where).parameters)
    for name in names:
        if name not in arguments:
            raise TypeError(f"where: the rule has no argument {name} (expected some of {', '.join(arguments)})")
    found = where(*(arguments[name] for name in names))
    all_of = found if isinstance(found, (list, tuple)) else (found,)
    for each in all_of:
        if not isinstance(each, Term):
            raise TypeError(f"where returns a {type(each).__name__} (expected a condition, such as terms.rank(x) == 2)")
    return " && ".join(text_of(each) if len(all_of) == 1 else f"({text_of(each)})" for each in all_of)


def _trace(function: Callable[..., Any], where: Where, lowers: str, summary: str, extension: Extension | None) -> Rules:
    import inspect

    if not inspect.isfunction(function):
        raise TypeError(f"a rule is made from a {type(function).__name__} (expected a function)")
    if not function.__name__.isidentifier():
        raise TypeError("a rule has the name of its function, and a lambda has none (expected a def)")
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            raise TypeError(f"{function.__name__}: the argument {parameter.name} is not positional, or has a default (expected "
                            "one plain argument for each value of the rule)")
        if not parameter.name.isascii() or not parameter.name.islower():
            raise TypeError(f"{function.__name__}: the argument {parameter.name} (expected a name in lower case)")
    arguments = {p.name: Term(p.name) if p.annotation in (Attr, "Attr", "tenon.Attr") else Value("", (), {}, p.name)
                 for p in parameters}
    graphs = function(*arguments.values())
    conditions = _conditions(where, arguments)
    if not isinstance(graphs, tuple) or len(graphs) != 2:
        raise TypeError(f"{function.__name__} returns a {type(graphs).__name__} (expected two graphs: what the rule "
                        "matches, and what takes its place)")
    source, target = (graph if isinstance(graph, tuple) else (graph,) for graph in graphs)
    if len(source) != len(target) or not source or not all(isinstance(each, Value) for each in source):
        raise TypeError(f"{function.__name__}: {len(source)} matched values and {len(target)} results (expected as many)")
    results = [_value(each, function.__name__) for each in target]
    constants = {p.name for p in parameters if p.annotation in (Const, "Const", "tenon.Const")}
    writer = _Writer(constants, conditions)
    for value in [*source, *results]:
        writer.count(value)
    matched = ", ".join(writer.text(each, True) for each in source)
    shared = len(writer.lets)
    replaced = ", ".join(writer.text(each, True) for each in results)
    lines = [f"rule {function.__name__.strip('_').replace('_', '-').lower()} {{"]
    text = summary or (function.__doc__ or "").strip().partition("\n")[0]
    if text:
        lines.append(f"  summary {text_of(text)}")
    lines += writer.lets[:shared]
    lines.append(f"  match   {matched}")
    if conditions:
        lines.append(f"  where   {conditions}")
    lines += writer.lets[shared:]
    lines.append(f"  replace {replaced}")
    if lowers:
        lines.append(f"  lowers  {lowers}")
    lines.append("}")
    place = f"{os.path.basename(function.__code__.co_filename)}:{function.__name__}"
    return Rules("\n".join(lines) + "\n", place, extension)


@overload
def rule(function: Callable[..., Any]) -> Rules: ...
@overload
def rule(*, where: Where = "", lowers: str = "", summary: str = "",
         extension: Extension | None = None) -> Callable[[Callable[..., Any]], Rules]: ...


def rule(function: Callable[..., Any] | None = None, *, where: Where = "", lowers: str = "", summary: str = "",
         extension: Extension | None = None) -> Any:
    """Makes a rule from a function of values that returns (what it matches, what takes its place).

        @tenon.rule
        def silu_from_sigmoid(x):
            return x * ops.sigmoid(x), ops.nn.silu(x)

    The function runs once, on values that stand for any tensor. Numbers are constants of equal elements. A value that is
    used twice is one value. The rule has the name of the function, with "-" for "_".

    Args:
      function: The function; its arguments are names in lower case. The annotation tenon.Const asks for a constant.
        tenon.Attr makes an argument an attribute: it stands where the rule matches it, and functions of Python compute
        attributes of the result from it.
      where: Conditions in text, such as "rank(x) == 2 && float(x)", or a function of some arguments of the rule that
        returns a condition or a list of them: lambda x: terms.rank(x) == 2 (tenon.terms).
      lowers: What each rewrite makes smaller, for a rule that does not make fewer operations.
      summary: One sentence; by default the first line of the function's description.
      extension: The extension that has operations of the rule, for check().
    """
    if function is not None:
        return _trace(function, where, lowers, summary, extension)
    return lambda given: _trace(given, where, lowers, summary, extension)
