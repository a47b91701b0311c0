#!/usr/bin/env python3
"""Draws docs/images/*.svg, the pictures of the design pages, from the code.

Names, orders, numbers and sizes come from the code (diagram_sources.py). diagrams_of_*.py say what stands where. A box that
names a file or a function checks that it is there. So a picture either shows the code or fails to draw.

  draw_diagrams.py                 writes the pictures
  draw_diagrams.py --check         compares with the committed ones; exit status 1 if one differs
  draw_diagrams.py --out=DIR       writes to another folder
"""

import argparse
import pathlib
import sys

import diagrams_of_ir  # noqa: F401  (registers its pictures)
import diagrams_of_runs  # noqa: F401
from diagram_parts import PICTURES
from diagram_sources import SourceError, Sources
from svg_canvas import DrawingError


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=pathlib.Path, default=root, help="the checkout whose code is drawn")
    parser.add_argument("--out", type=pathlib.Path, help="the folder of the pictures (docs/images of the root)")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the pictures that are there")
    arguments = parser.parse_args()
    out = arguments.out or arguments.root / "docs/images"

    source = Sources(arguments.root)
    findings = 0
    for name, draw in PICTURES.items():
        path = out / f"{name}.svg"
        try:
            svg = draw(source)
        except (SourceError, DrawingError) as error:
            print(f"{path}: cannot be drawn: {error}")
            findings += 1
            continue
        if not arguments.check:
            out.mkdir(parents=True, exist_ok=True)
            path.write_text(svg, encoding="utf-8")
        elif not path.exists():
            print(f"{path}: does not exist (tools/docs/draw_diagrams.py draws it)")
            findings += 1
        elif path.read_text(encoding="utf-8") != svg:
            print(f"{path}: the code has changed since it was drawn (tools/docs/draw_diagrams.py draws it again)")
            findings += 1
    print(f"draw_diagrams: {len(PICTURES)} pictures, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
