"""The report as one HTML page, which needs no script and no other file."""

from __future__ import annotations

import html
from typing import Any

from .results import CheckResult, Finding, ModelResult, Report

_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: .25em .6em; text-align: left; vertical-align: top; }
summary { cursor: pointer; } details { margin: .4em 0; } details.finding { border-left: 4px solid #c33; padding-left: .8em; }
pre { overflow: auto; background: #8881; padding: .6em; } code { overflow-wrap: anywhere; }
.passed { color: #18794e; } .failed, .error { color: #c33; font-weight: 600; } .skipped { color: #888; }
""".strip()


def page(report: Report) -> str:
    """The text of the page. Models with differences are open."""
    counts = report.counts()
    summary = ", ".join(f'<span class="{status}">{count} {status}</span>' for status, count in counts.items())
    engines = ", ".join(f"{_text(name)} {_text(version) if version else 'is not installed'}"
                        for name, version in report.engines.items())
    checks = list(dict.fromkeys(check.check for model in report.models for check in model.checks))
    head = "".join(f"<th>{_text(check)}</th>" for check in checks)
    rows = "".join(_row(number, model, checks) for number, model in enumerate(report.models))
    details = "\n".join(_model(number, model) for number, model in enumerate(report.models))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Models of {_text(report.folder)}</title><style>{_STYLE}</style></head><body>
<h1>Models of {_text(report.folder)}</h1>
<p>{summary}. Tenon {_text(report.tenon)}; {engines}.</p>
<table><thead><tr><th>model</th>{head}</tr></thead><tbody>
{rows}</tbody></table>
{details}
</body></html>
"""


def _text(value: Any) -> str:
    return html.escape(str(value))


def _row(number: int, model: ModelResult, checks: list[str]) -> str:
    states = {check.check: check for check in model.checks}
    cells = ""
    for name in checks:
        check = states.get(name)
        cells += (f'<td class="{check.status}" title="{_text(check.reason or check.compared)}">{check.status}</td>'
                  if check is not None else "<td></td>")
    return f'<tr><td><a href="#model{number}">{_text(model.model)}</a></td>{cells}</tr>\n'


def _model(number: int, model: ModelResult) -> str:
    shown = " open" if model.status in ("failed", "error") else ""
    checks = "\n".join(map(_check, model.checks))
    tolerances = "".join(f"<tr><td>{_text(dtype)}</td><td>{pair[0]:g}</td><td>{pair[1]:g}</td></tr>"
                         for dtype, pair in model.tolerances.items())
    return (f'<details id="model{number}"{shown}><summary><b>{_text(model.model)}</b> '
            f'<span class="{model.status}">{model.status}</span> <code>{_text(model.path)}</code></summary>\n{checks}\n'
            f"<details><summary>tolerances</summary><table><tr><th>element type</th><th>atol</th><th>rtol</th></tr>"
            f"{tolerances}</table></details></details>")


def _check(check: CheckResult) -> str:
    parts = [f'<h3>{_text(check.check)}: <span class="{check.status}">{check.status}</span></h3>']
    parts += [f"<p>{_text(check.reason)}</p>"] if check.reason else []
    parts += [f"<p>node <code>{_text(check.node)}</code></p>"] if check.node else []
    parts += [f"<p>Compared: {_text(check.compared)}.{_largest(check.largest)}</p>"] if check.compared else []
    parts += map(_finding, check.findings)
    if check.skipped:
        items = "".join(f"<li>{_text(each)}</li>" for each in check.skipped)
        parts.append(f"<details><summary>{len(check.skipped)} left out</summary><ul>{items}</ul></details>")
    return "\n".join(parts)


def _largest(largest: dict[str, Any] | None) -> str:
    if largest is None:
        return ""
    return (f" Largest difference: {_number(largest['max_abs'])}, {_number(largest['max_rel'])} of the largest element, "
            f"of {_text(largest['output'])} ({_text(largest['dtype'])}).")


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"


def _finding(finding: Finding) -> str:
    rows = [("compared with", finding.against), ("case", finding.case), ("output", finding.output),
            ("type", f"{finding.dtype} {finding.shape}" if finding.dtype else ""),
            ("largest difference", f"{_number(finding.max_abs)}, {_number(finding.max_rel)} of the largest element"),
            ("position", str(finding.position) if finding.position is not None else ""),
            ("caused by", finding.culprit()), ("step", str(finding.step) if finding.step else ""),
            ("nodes", ", ".join(finding.nodes)), ("repeat", finding.repeat)]
    table = "".join(f"<tr><th>{name}</th><td><code>{_text(value)}</code></td></tr>" for name, value in rows if value)
    texts = "".join(f"<p>{name}</p><pre>{_text(value)}</pre>"
                    for name, value in (("example", finding.example), ("before", finding.before),
                                        ("after", finding.after)) if value)
    return (f'<details class="finding" open><summary>{_text(finding.output or finding.against)}: {_text(finding.problem)}'
            f"</summary><table>{table}</table>{texts}</details>")
