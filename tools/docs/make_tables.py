#!/usr/bin/env python3
"""Writes the tables of the documentation from docs/data/*.json.

  make_tables.py [--check] [--tree DIR]

A page holds a table between two comments; everything between them is generated:

  <!-- table: NAME/VIEW -->
  <!-- end -->

NAME is docs/data/NAME.json. VIEW is one of its "tables"; without VIEW the table has all rows. --check writes nothing. It
fails if a page differs from its data, if a data file lacks a field or appears on no page, or if a page is too long.
docs/data/README.md describes the files. Needs only Python.
"""

import argparse
import json
import pathlib
import statistics
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
LONGEST = {"docs/performance.md": 160, "docs/models.md": 150}
START, END = "<!-- table: ", "<!-- end -->"
REQUIRED = ("machine", "date", "commit", "commit_found_by", "versions", "command", "rows")
NOTHING = "–"


class Wrong(Exception):
    """What is wrong with a page or a data file, for whoever mends it."""


class Literal(float):
    """A number that is shown with the digits that the file has: 1.20 stays 1.20."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def load(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_float=Literal)
    except ValueError as error:
        raise Wrong(f"{path}: not JSON: {error}") from error


def show(value):
    """One cell. A ratio has an interval; a list holds repeated measurements."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, list):
        return ", ".join(show(part) for part in value)
    if isinstance(value, dict) and "ratio" in value:
        return f"{show(value['ratio'])} ({show(value['low'])}–{show(value['high'])})"
    if isinstance(value, dict):
        return f"{show(value['from'])} to {show(value['to'])}"
    return value.text if isinstance(value, Literal) else str(value)


def middle(value):
    """The number that a summary counts for a cell."""
    if isinstance(value, list):
        return statistics.mean(middle(part) for part in value)
    if isinstance(value, dict):
        return float(value["ratio"]) if "ratio" in value else (float(value["from"]) + float(value["to"])) / 2
    return float(value)


def is_number(value):
    return isinstance(value, (int, float, dict, list))


def grid(header, rows):
    """A table in Markdown. Columns with numbers alone, but for the first, are aligned to the right."""
    rows = [list(row) for row in rows]
    right = [index > 0 and all(is_number(row[index]) or row[index] in (None, "") for row in rows)
             for index in range(len(header))]
    yield "| " + " | ".join(header) + " |"
    yield "|" + "|".join("--:" if flag else "---" for flag in right) + "|"
    for row in rows:
        yield "| " + " | ".join(show(cell) for cell in row) + " |"


def times(count, noun):
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# Figures: files with "measurements".


def chosen(data, view):
    """The measurements that a view names, each with the rows that it shows."""
    wanted = view.get("measurements")
    flag = view.get("where")
    known = [measurement.get("id") for measurement in data["measurements"]]
    if wanted and not set(wanted) <= set(known):
        raise Wrong(f"a view names measurements {wanted}, of which some are not in {known}")
    for measurement in data["measurements"]:
        if wanted and measurement["id"] not in wanted:
            continue
        rows = [row for row in measurement["rows"] if not flag or row.get(flag)]
        if rows:
            yield measurement, rows


def joined(rows, key):
    """Rows of several measurements of one thing become one row."""
    result = {}
    for row in rows:
        result.setdefault(row[key], {}).update(row)
    return list(result.values())


def summary(data, rows, view):
    """A line a group: how many rows it has, and median, least and largest of some columns."""
    titles = data["columns"]
    groups = {}
    for row in rows:
        groups.setdefault(row[view["group"]], []).append(row)
    header = [titles[view["group"]], "measured"]
    for key in view["of"]:
        header += [f"{titles[key]}, median", "range"]
    lines = []
    for name, members in groups.items():
        line = [name, len(members)]
        for key in view["of"]:
            numbers = [middle(row[key]) for row in members if key in row]
            least, largest = Literal(f"{min(numbers):.2f}"), Literal(f"{max(numbers):.2f}")
            line += [Literal(f"{statistics.median(numbers):.2f}"),
                     {"from": least, "to": largest} if len(numbers) > 1 else None]
        lines.append(line)
    yield from grid(header, lines)


def distinct(values):
    return list(dict.fromkeys(value for value in values if value))


def provenance(parts, with_notes):
    """One paragraph: how to repeat a table, and where its figures are from."""
    measurements = [measurement for measurement, _ in parts]
    commands = " or ".join(f"`{command}`" for command in distinct(m["command"] for m in measurements))
    of_rows = [{**measurement, **row} for measurement, rows in parts for row in rows]
    dates = sorted(distinct(row["date"] for row in of_rows))
    commits = distinct(row["commit"] for row in of_rows)
    versions = {}
    for measurement in measurements:
        for name, version in measurement["versions"].items():
            versions.setdefault(name, []).append(version if version != "not recorded" else "(version not recorded)")
    facts = [
        " and ".join(distinct(m["machine"] for m in measurements)),
        dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
        f"{len(commits)} commits" if len(commits) > 3 else times(len(commits), "commit").split()[1] + " "
        + ", ".join(f"`{commit}`" for commit in commits),
        *(f"{name} {' and '.join(distinct(known))}" for name, known in versions.items()),
    ]
    rounds = distinct(m.get("rounds") for m in measurements)
    if len(measurements) == 1 and rounds:
        facts.append(f"{rounds[0]} rounds" if rounds[0][-1].isdigit() else rounds[0])
    notes = distinct(m.get("notes") for m in measurements) if with_notes else []
    return " ".join([f"Repeat: {commands}. Measured: {'; '.join(facts)}.", *notes])


def figures(data, view):
    parts = list(chosen(data, view))
    rows = [row for _, members in parts for row in members]
    if not rows:
        raise Wrong("a view without a row")
    if "join" in view:
        rows = joined(rows, view["join"])
    if "lowest" in view:
        rows = sorted(rows, key=lambda row: middle(row[view["lowest"]]))[:view["rows"]]
    if "group" in view:
        yield from summary(data, rows, view)
    else:
        columns = view.get("columns") or [key for key in data["columns"] if any(key in row for row in rows)]
        yield from grid([data["columns"][key] for key in columns], ([row.get(key) for key in columns] for row in rows))
    yield ""
    yield provenance(parts, with_notes=not {"group", "lowest"} & set(view))


# Models: the file that tools/models/table.py writes.


def by_kind(data):
    kinds = {}
    for architecture in data["architectures"]:
        kinds.setdefault(architecture["kind"], []).append(architecture)
    return sorted(kinds.items())


def fused_names(data):
    return sorted({name for architecture in data["architectures"] for name in architecture["fused"]})


def total(members, key):
    return sum(member[key] for member in members)


def models_totals(data):
    yield (f"{data['models']} small models of {len(data['architectures'])} architectures, with {data['data_sets']} data sets. "
           f"Exporters: {', '.join(data['exporters'])}.")
    yield ""
    yield f"- {data['equal']['O0']} give the expected results at `-O0`, {data['equal']['O2']} at `-O2`."
    yield (f"- {data['fully_fused']} give them at `-O2` with all of their attention fused: no softmax and no product of two "
           "activations is left outside `fused.attention`.")
    yield ""
    yield f"Repeat: `{data['command']}`. Measured: {data['date']}; commit `{data['commit']}`."


def models_kinds(data):
    yield from grid(
        ["Kind", "architectures", "models", "right at -O0", "right at -O2", "attention fused", "softmax left", "products left"],
        ([kind, len(members), total(members, "models"), total(members, "O0"), total(members, "O2"),
          sum(member["fused"].get("attention", 0) for member in members) or None, total(members, "softmax_left") or None,
          total(members, "products_left") or None] for kind, members in by_kind(data)))


def models_fused_by_kind(data):
    names = fused_names(data)
    yield from grid(["Kind", *(f"`{name}`" for name in names)],
                    ([kind, *(sum(member["fused"].get(name, 0) for member in members) or None for name in names)]
                     for kind, members in by_kind(data)))


def models_names(data):
    yield from grid(["Kind", "Architectures"],
                    ([kind, ", ".join(member["name"] for member in members)] for kind, members in by_kind(data)))


def models_left(data):
    for kind, members in by_kind(data):
        left = [member["name"] for member in members if member["softmax_left"] or member["products_left"]]
        if left:
            yield f"- {kind}: {', '.join(left)}"


def models_failing(data):
    if not data["failing"]:
        yield "None."
    for failure in data["failing"]:
        yield f"- `{failure['model']}`: {failure['error']}"


def models_operations(data):
    for state in sorted({operation["state"] for operation in data["operations"]}):
        names = [operation["name"] for operation in data["operations"] if operation["state"] == state]
        yield f"- {times(len(names), 'operation')} {state}: {', '.join(names)}"


def models_architectures(data):
    yield from grid(["Architecture", "kind", "models", "right at -O0", "right at -O2", "softmax left", "products left"],
                    ([a["name"], a["kind"], a["models"], a["O0"], a["O2"], a["softmax_left"] or None,
                      a["products_left"] or None] for a in data["architectures"]))


def models_fused(data):
    names = fused_names(data)
    yield from grid(["Architecture", *(f"`{name}`" for name in names)],
                    ([a["name"], *(a["fused"].get(name) for name in names)] for a in data["architectures"] if a["fused"]))


def models_nodes(data):
    yield from grid(["Operation", "models", "nodes", "state"],
                    ([o["name"], o["models"], o["nodes"], o["state"]] for o in data["operations"]))


MODELS = {
    "totals": models_totals, "kinds": models_kinds, "fused-by-kind": models_fused_by_kind, "names": models_names,
    "left": models_left, "failing": models_failing, "operations": models_operations,
    "architectures": models_architectures, "fused": models_fused, "nodes": models_nodes,
}


# Pages.


def verify(name, data):
    if "architectures" in data:
        return
    if not data.get("question") or not data.get("columns") or not data.get("measurements"):
        raise Wrong(f"docs/data/{name}.json: needs question, columns and measurements")
    for measurement in data["measurements"]:
        missing = [key for key in REQUIRED if key not in measurement]
        if missing:
            raise Wrong(f"docs/data/{name}.json: a measurement lacks {', '.join(missing)}")
        for row in measurement["rows"]:
            unknown = sorted(set(row) - set(data["columns"]) - {"commit", "date", "page", "note"})
            if unknown:
                raise Wrong(f"docs/data/{name}.json: no title in columns for {', '.join(unknown)}")


def render(data, name, view):
    """The lines of one table."""
    if name not in data:
        raise Wrong(f"table {name}: no docs/data/{name}.json")
    tables = MODELS if "architectures" in data[name] else data[name].get("tables", {})
    if view and view not in tables:
        raise Wrong(f"table {name}/{view}: docs/data/{name}.json has the views {', '.join(tables) or 'none'}")
    try:
        if "architectures" in data[name]:
            return list(tables[view or "architectures"](data[name]))
        return list(figures(data[name], tables.get(view, {})))
    except Wrong as error:
        raise Wrong(f"table {name}/{view}: {error}") from error


def fill(text, data, page):
    """The page with all of its tables, and the names of the data files that it shows."""
    lines, result, used = text.splitlines(), [], set()
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line == END:
            raise Wrong(f"{page}:{position}: {END} without a table before it")
        result.append(line)
        if not line.startswith(START) or not line.endswith(" -->"):
            continue
        name, _, view = line[len(START):-len(" -->")].partition("/")
        end = next((i for i in range(position, len(lines)) if lines[i] == END or lines[i].startswith(START)), None)
        if end is None or lines[end] != END:
            raise Wrong(f"{page}:{position}: no {END} behind table {name}")
        try:
            result += [*render(data, name, view), END]
        except Wrong as error:
            raise Wrong(f"{page}:{position}: {error}") from error
        used.add(name)
        position = end + 1
    return "\n".join(result) + "\n", used


def run(tree, check):
    """What is wrong with the tables of a tree; without `check` they are written."""
    data = {path.stem: load(path) for path in sorted((tree / "docs" / "data").glob("*.json"))}
    problems, shown = [], set()
    for name, file in data.items():
        try:
            verify(name, file)
        except Wrong as error:
            problems.append(str(error))
    if problems:
        return problems
    for path in sorted((tree / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        page = path.relative_to(tree).as_posix()
        if START in text and page != "docs/data/README.md":
            try:
                made, used = fill(text, data, page)
            except Wrong as error:
                problems.append(str(error))
                continue
            shown |= used
            if check and made != text:
                problems.append(f"{page} differs from docs/data; tools/docs/make_tables.py writes its tables")
            elif made != text:
                path.write_text(made, encoding="utf-8")
                print(f"{page}: written")
            text = made
        count = len(text.splitlines())
        if count > LONGEST.get(page, count):
            problems.append(f"{page} has {count} lines, and {LONGEST[page]} are allowed")
    problems += [f"docs/data/{name}.json is on no page" for name in sorted(set(data) - shown)]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where a page differs")
    parser.add_argument("--tree", type=pathlib.Path, default=TREE, help="the checkout (that of this program)")
    options = parser.parse_args()
    try:
        problems = run(options.tree, options.check)
    except Wrong as error:
        problems = [str(error)]
    for problem in problems:
        print(f"make_tables.py: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
