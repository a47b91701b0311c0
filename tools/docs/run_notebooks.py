#!/usr/bin/env python3
"""Runs the code cells of notebooks and compares what they print with the outputs in the file.

  tools/docs/run_notebooks.py [NOTEBOOK...]            all of docs/notebooks by default
  tools/docs/run_notebooks.py [NOTEBOOK...] --update   writes the outputs into the notebooks

Each notebook runs from top to bottom in a process of its own, in a scratch folder docs/notebooks, beside which
the other folders are those of the checkout. The module tenon comes from PYTHONPATH. An output is what a cell prints, and the text of the
expression at its end. No package of Jupyter is needed.
Exit status: 0 all outputs are as in the files, 1 findings, 2 wrong usage.
"""

import argparse
import ast
import contextlib
import difflib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "notebooks"
TIMEOUT = 120  # seconds, of one notebook


def text_of(lines):
    """The text of a notebook's field, which is a text or a list of lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def lines_of(text):
    return text.splitlines(keepends=True)


def run_cell(source, names):
    """The outputs of a cell, as the format has them. An exception is an output, too."""
    printed, outputs, shown, error = io.StringIO(), [], None, None
    with contextlib.redirect_stdout(printed):
        try:
            tree = ast.parse(source)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<cell>", "exec"), names)
            if last is not None:
                shown = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        except Exception as raised:
            error = raised
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines_of(printed.getvalue())})
    if shown is not None:
        outputs.append({"data": {"text/plain": lines_of(repr(shown))}, "metadata": {}, "output_type": "execute_result"})
    if error is not None:
        outputs.append({"ename": type(error).__name__, "evalue": str(error), "output_type": "error", "traceback": []})
        if "raises-exception" not in names["__tags__"]:
            traceback.print_exception(error, file=sys.stderr)
    return outputs


def run_here(path):
    """Prints the outputs of each code cell of a notebook, as JSON."""
    notebook = json.loads(pathlib.Path(path).read_text())
    names = {"__name__": "__main__"}
    results = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        names["__tags__"] = cell.get("metadata", {}).get("tags", [])
        outputs = run_cell(text_of(cell["source"]), names)
        results.append(outputs)
        if outputs and outputs[-1]["output_type"] == "error" and "raises-exception" not in names["__tags__"]:
            break
    print(json.dumps(results))


def run_apart(path):
    """The outputs of the code cells, from a fresh process in a scratch folder; or the status with which it failed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "docs" / "notebooks"
        folder.mkdir(parents=True)
        for entry in ROOT.iterdir():
            if entry.name != "docs" and not entry.name.startswith("."):
                (pathlib.Path(scratch) / entry.name).symlink_to(entry)
        done = subprocess.run([sys.executable, "-B", __file__, "--here", path], cwd=folder, text=True,
                              stdout=subprocess.PIPE, timeout=TIMEOUT, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.returncode


def broken_links(notebook):
    """The links of the text that lead to no file."""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text_of(cell["source"])):
            if "://" not in target and not (FOLDER / target).exists():
                yield target


def comparable(outputs):
    """What of outputs is compared: the texts."""
    texts = []
    for output in outputs:
        if output["output_type"] == "stream":
            texts.append(text_of(output["text"]))
        elif output["output_type"] == "error":
            texts.append(f"{output['ename']}: {output['evalue']}")
        else:
            texts.append(text_of(output["data"].get("text/plain", "")))
    return texts


def dump(notebook):
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def check(path, update):
    """Findings about a notebook, as texts. With `update`, what it prints is written into it."""
    notebook = json.loads(path.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    findings = [f"there is no {target}" for target in broken_links(notebook)]
    results = run_apart(path)
    if isinstance(results, int):
        return [*findings, f"the process of the notebook ended with status {results}"]
    for number, (cell, outputs) in enumerate(zip(cells, results), 1):
        raises = "raises-exception" in cell.get("metadata", {}).get("tags", [])
        failed = any(output["output_type"] == "error" for output in outputs)
        if failed != raises:
            what = f"raises {outputs[-1]['ename']}" if failed else "raises nothing (expected an exception)"
            findings.append(f"cell {number}: {what}")
        for output in outputs:
            if output["output_type"] == "execute_result":
                output["execution_count"] = number
        if comparable(cell["outputs"]) != comparable(outputs) and not update:
            old, new = ("\n".join(comparable(each)).splitlines() for each in (cell["outputs"], outputs))
            findings.append(f"cell {number} prints something else (--update writes it):\n"
                            + "\n".join(difflib.unified_diff(old, new, "in the notebook", "now", lineterm="")))
        cell["outputs"], cell["execution_count"] = outputs, number
    if len(results) < len(cells):
        findings.append(f"cells {len(results) + 1} to {len(cells)} did not run")
    if update and not findings:
        path.write_text(dump(notebook))
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        run_here(options.notebooks[0])
        return 0
    status = 0
    for path in options.notebooks or sorted(FOLDER.glob("*.ipynb")):
        path = path.resolve()
        if not path.is_file():
            print(f"run_notebooks: {path}: no such file", file=sys.stderr)
            return 2
        findings = check(path, options.update)
        for finding in findings:
            print(f"{os.path.relpath(path, ROOT)}: {finding}")
        status = 1 if findings else status
        print(f"{'FAILED' if findings else 'ok':7} {os.path.relpath(path, ROOT)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
