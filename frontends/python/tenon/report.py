"""What Model.optimize did."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from ._core import View


class PassTime(NamedTuple):
    """One run of a pass."""

    name: str
    """The entry of the pipeline, with its options."""
    op: str
    """The kind of operation that it ran on."""
    seconds: float
    """The wall time, with passes inside."""
    depth: int
    """How many passes it is nested in."""
    changed: bool
    """Whether it changed the program."""


class OptimizeReport:
    """The result of one call of Model.optimize. Notebooks show it as a table.

    Attributes:
      rules: How often each rule fired.
      precision: The precision of the optimized program.
      seconds: The wall time of the call.
      steps: The number of changes.
      passes: The passes in order, with times; empty with several threads.
      explained: Where the rule of `explain` fired or nearly matched.
      statistics: The counters of each pass in Python, by its name.
      view: With view=True, a picture of the model before and after; else None.
    """

    def __init__(self, *, rules: dict[str, int], precision: str, seconds: float, steps: int, explained: str,
                 passes: Sequence[tuple[str, str, float, int, bool]], statistics: dict[str, dict[str, int]],
                 view: View | None = None) -> None:
        self.rules = rules
        self.precision = precision
        self.seconds = seconds
        self.steps = steps
        self.explained = explained
        self.statistics = statistics
        self.view = view
        self.passes = [PassTime(*each) for each in passes]

    def __str__(self) -> str:
        lines = [f"{sum(self.rules.values())} applications of {len(self.rules)} rules in {self.seconds * 1e3:.1f} ms"]
        lines += [f"  {count:6d}  {name}" for name, count in self._by_count()]
        if self.explained:
            lines.append(self.explained.rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tenon.OptimizeReport: {str(self).splitlines()[0]}>"

    def _by_count(self) -> list[tuple[str, int]]:
        return sorted(self.rules.items(), key=lambda item: (-item[1], item[0]))

    def _slowest(self) -> list[PassTime]:
        return sorted(self.passes, key=lambda each: (-each.seconds, each.name))[:10]

    def _repr_html_(self) -> str:
        import html

        rules = "".join(f"<tr><td>{html.escape(name)}</td><td>{count}</td></tr>" for name, count in self._by_count())
        passes = "".join(f"<tr><td>{html.escape(each.name)}</td><td>{each.seconds * 1e3:.2f}</td></tr>"
                         for each in self._slowest())
        explained = f"<pre>{html.escape(self.explained)}</pre>" if self.explained else ""
        return (f"<p>{html.escape(str(self).splitlines()[0])}, precision {html.escape(self.precision)}</p>"
                f"<table><tr><th>rule</th><th>fired</th></tr>{rules}</table>"
                f"<table><tr><th>pass</th><th>ms</th></tr>{passes}</table>{explained}")
