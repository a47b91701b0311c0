"""Terms: what a traced rule computes from a match, for attributes of what it makes and for its conditions.

    from tenon import ops, terms

    @tenon.rule(where=lambda x, s: (terms.rank(x) == 2) & (s > 0))
    def fold_scale(x, s: tenon.Attr):
        return ops.exp(ops.log(x * s)), x * s

Operators and the words of docs/reference/rule-language.md make terms: terms.rank(x), terms.dim(x, -1). So a function of
Python that computes with terms runs once, and the rule has what it computed as text.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable


class Term:
    """A number, text, list or condition of a rule, which is known when the rule matches."""

    __slots__ = ("_text", "_whole")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str, whole: bool = True) -> None:
        self._text = text
        self._whole = whole

    def __add__(self, other: Any) -> Term:
        return _joined(self, "+", other)

    def __radd__(self, other: Any) -> Term:
        return _joined(other, "+", self)

    def __sub__(self, other: Any) -> Term:
        return _joined(self, "-", other)

    def __rsub__(self, other: Any) -> Term:
        return _joined(other, "-", self)

    def __mul__(self, other: Any) -> Term:
        return _joined(self, "*", other)

    def __rmul__(self, other: Any) -> Term:
        return _joined(other, "*", self)

    def __truediv__(self, other: Any) -> Term:
        return _joined(self, "/", other)

    def __rtruediv__(self, other: Any) -> Term:
        return _joined(other, "/", self)

    def __mod__(self, other: Any) -> Term:
        return _joined(self, "%", other)

    def __rmod__(self, other: Any) -> Term:
        return _joined(other, "%", self)

    def __neg__(self) -> Term:
        return Term(f"-{_part(self)}", False)

    def __getitem__(self, index: Any) -> Term:
        return Term(f"{_part(self)}[{text_of(index)}]")

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return _joined(self, "==", other)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return _joined(self, "!=", other)

    def __lt__(self, other: Any) -> Term:
        return _joined(self, "<", other)

    def __le__(self, other: Any) -> Term:
        return _joined(self, "<=", other)

    def __gt__(self, other: Any) -> Term:
        return _joined(self, ">", other)

    def __ge__(self, other: Any) -> Term:
        return _joined(self, ">=", other)

    def __and__(self, other: Any) -> Term:
        return _joined(self, "&&", other)

    def __or__(self, other: Any) -> Term:
        return _joined(self, "||", other)

    def __invert__(self) -> Term:
        return Term(f"!{_part(self)}", False)

    def __bool__(self) -> bool:
        raise TypeError("a term of a rule is not known while the rule is made (write & | ~ for and, or, not, and "
                        "terms.if_(condition, a, b))")

    def __iter__(self) -> Any:
        raise TypeError("a list of a rule is not known while the rule is made (expected an index, as in sizes[0])")

    def __repr__(self) -> str:
        return f"<tenon.Term {self._text}>"


if TYPE_CHECKING:
    Attr = Any
    """Marks an argument of a traced rule that is an attribute of what the rule matches, or the number of a constant."""
else:

    class Attr:
        """Marks an argument of a traced rule that is an attribute of what the rule matches, or the number of a constant.

            def f(x, a: tenon.Attr): return ops.softmax(ops.softmax(x, axis=a), axis=a), ops.softmax(x, axis=a)
        """


def text_of(value: Any) -> str:
    """A term, number, text, boolean or list in the notation of rules. TypeError for anything else."""
    if isinstance(value, Term):
        return value._text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if math.isnan(value):
            raise ValueError("a rule has no constant that is not a number")
        return "inf" if value == math.inf else "-inf" if value == -math.inf else repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(text_of, value)) + "}"
    raise TypeError(f"an attribute of type {type(value).__name__} (expected a number, text, boolean, list or term)")


def _part(value: Any) -> str:
    """The text as an operand of an operator."""
    text = text_of(value)
    whole = value._whole if isinstance(value, Term) else not text.startswith("-")
    return text if whole else f"({text})"


def _joined(left: Any, sign: str, right: Any) -> Term:
    try:
        return Term(f"{_part(left)} {sign} {_part(right)}", False)
    except TypeError:
        return NotImplemented  # type: ignore[no-any-return]  # what Python asks of operators


def _argument(word: str, value: Any) -> str:
    name = getattr(value, "term_name", None)
    if name is None:
        return text_of(value)
    if not name:
        raise TypeError(f"terms.{word}: a value that the rule computes (expected an argument of the rule, which has a name)")
    return str(name)


def __getattr__(word: str) -> Callable[..., Term]:
    """A word of the rule language as a function: terms.rank(x). `if_` is the word if."""
    if word.startswith("_"):
        raise AttributeError(word)
    name = word.rstrip("_")

    def make(*arguments: Any) -> Term:
        return Term(f"{name}({', '.join(_argument(name, each) for each in arguments)})")

    make.__name__ = word
    return make
