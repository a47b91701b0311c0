"""A small SVG canvas for the diagrams of the design pages.

The canvas refuses a picture that cannot be read: text that leaves its box or the picture, text over text, and lines
through text are errors. Widths are those of DejaVu Sans, which is wider than the fonts that most readers have.
"""

import html

# Widths of the printable ASCII characters in thousandths of the font size.
SANS = [
    318,
    401,
    460,
    838,
    636,
    950,
    780,
    275,
    390,
    390,
    500,
    838,
    318,
    361,
    318,
    337,
    636,
    636,
    636,
    636,
    636,
    636,
    636,
    636,
    636,
    636,
    337,
    337,
    838,
    838,
    838,
    531,
    1000,
    684,
    686,
    698,
    770,
    632,
    575,
    775,
    752,
    295,
    295,
    656,
    557,
    863,
    748,
    787,
    603,
    787,
    695,
    635,
    611,
    732,
    684,
    989,
    685,
    611,
    685,
    390,
    337,
    390,
    838,
    500,
    500,
    613,
    635,
    550,
    635,
    615,
    352,
    635,
    634,
    278,
    278,
    579,
    278,
    974,
    634,
    612,
    635,
    635,
    411,
    521,
    392,
    634,
    592,
    818,
    592,
    592,
    525,
    636,
    337,
    636,
    838,
]
BOLD_FACTOR = 1.12
MONO_WIDTH = 602
SIZE = {"normal": 13, "small": 11, "tiny": 10}

# Fill and stroke of each kind of box: in light, then in dark surroundings.
KINDS = {
    "plain": ("#f6f8fa", "#818b98", "#21262d", "#8b949e"),
    "ir": ("#ddf4ff", "#0969da", "#0d2b4e", "#58a6ff"),
    "rule": ("#dafbe1", "#1a7f37", "#0f2f1a", "#3fb950"),
    "run": ("#fff1e5", "#bc4c00", "#38210d", "#f0883e"),
    "io": ("#fbefff", "#8250df", "#2b1d46", "#bc8cff"),
    "warn": ("#fff8c5", "#9a6700", "#352a08", "#d29922"),
}


class DrawingError(Exception):
    """The picture would not be readable."""


def text_width(text, size="normal", bold=False, mono=False):
    pixels = SIZE[size]
    if mono:
        return len(text) * MONO_WIDTH * pixels / 1000
    width = sum(SANS[ord(c) - 32] if 32 <= ord(c) < 127 else 838 for c in text) * pixels / 1000
    return width * BOLD_FACTOR if bold else width


def _overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _crosses(segment, box):
    """Does a line segment meet a rectangle? (Liang and Barsky)"""
    (x1, y1), (x2, y2) = segment
    low, high = 0.0, 1.0
    for start, delta, least, most in ((x1, x2 - x1, box[0], box[2]), (y1, y2 - y1, box[1], box[3])):
        if delta == 0:
            if not least <= start <= most:
                return False
            continue
        a, b = (least - start) / delta, (most - start) / delta
        low, high = max(low, min(a, b)), min(high, max(a, b))
    return low <= high


def _number(x):
    return f"{x:.1f}".rstrip("0").rstrip(".")


class Canvas:
    """One picture. Coordinates are pixels from the top left corner."""

    def __init__(self, title, width=760):
        self.title = title
        self.width = width
        self._below, self._items, self._texts, self._segments = [], [], [], []

    # ---- shapes

    def rect(self, x, y, width, height, kind="plain", dashed=False, hollow=False, radius=6):
        if x < 4 or x + width > self.width - 4:
            raise DrawingError(f"{self.title}: a box leaves the picture at x = {x}")
        classes = f"k-{kind}" + (" hollow" if hollow else "") + (" dashed" if dashed else "")
        self._below.append(
            f'<rect class="{classes}" x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" '
            f'height="{_number(height)}" rx="{radius}"/>'
        )

    def text(self, x, y, text, size="normal", bold=False, mono=False, muted=False, anchor="start", most=None):
        """Text on the base line y. `most`: the width that it must fit into."""
        width = text_width(text, size, bold, mono)
        if most is not None and width > most:
            raise DrawingError(f"{self.title}: '{text}' needs {width:.0f} pixels and has {most:.0f}")
        left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
        pixels = SIZE[size]
        box = (left, y - 0.78 * pixels, left + width, y + 0.24 * pixels)
        if left < 4 or box[2] > self.width - 4:
            raise DrawingError(f"{self.title}: '{text}' leaves the picture")
        for other, words in self._texts:
            if _overlap(box, other):
                raise DrawingError(f"{self.title}: '{text}' lies over '{words}'")
        self._texts.append((box, text))
        classes = " ".join([size] + [name for name, on in (("bold", bold), ("mono", mono), ("muted", muted)) if on])
        anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._items.append(
            f'<text class="{classes}" x="{_number(x)}" y="{_number(y)}"{anchored}>' f"{html.escape(text, quote=False)}</text>"
        )

    def box(self, x, y, width, height, kind, title, lines=(), mono=True, bold=True, dashed=False, mono_lines=False):
        """A box with a title and smaller lines below it, centered."""
        self.rect(x, y, width, height, kind, dashed)
        middle, most = x + width / 2, width - 10
        total = (16 if title else 0) + 14 * len(lines)
        base = y + (height - total) / 2 + 12
        if total > height - 4:
            raise DrawingError(f"{self.title}: the box '{title}' needs {total + 4} pixels and has {height}")
        if title:
            self.text(middle, base, title, bold=bold, mono=mono, anchor="middle", most=most)
            base += 15
        for line in lines:
            self.text(middle, base, line, "small", mono=mono_lines, muted=True, anchor="middle", most=most)
            base += 14

    def arrow(self, *points, dashed=False, head=True):
        for segment in zip(points, points[1:]):
            self._segments.append(segment)
        path = " ".join(("M" if i == 0 else "L") + f"{_number(x)} {_number(y)}" for i, (x, y) in enumerate(points))
        classes = "edge" + (" dashed" if dashed else "")
        ending = ' marker-end="url(#head)"' if head else ""
        self._items.append(f'<path class="{classes}" d="{path}"{ending}/>')

    def legend(self, x, y, entries):
        """Colours and their meaning, from left to right."""
        for kind, words in entries:
            self.rect(x, y - 10, 14, 12, kind, radius=3)
            self.text(x + 20, y, words, "small", muted=True)
            x += 20 + text_width(words, "small") + 22

    # ---- the whole

    def svg(self, height):
        for segment in self._segments:
            for box, words in self._texts:
                if _crosses(segment, (box[0] - 1, box[1], box[2] + 1, box[3])):
                    raise DrawingError(f"{self.title}: a line crosses '{words}'")
        for box, words in self._texts:
            if box[3] > height - 4 or box[1] < 4:
                raise DrawingError(f"{self.title}: '{words}' leaves the picture")
        title = html.escape(self.title, quote=False)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{_number(height)}" '
            f'viewBox="0 0 {self.width} {_number(height)}" role="img">',
            "<!-- Drawn by tools/docs/draw_diagrams.py. Change the script or the code that it reads, not this file. -->",
            f"<title>{title}</title>",
            f"<style>\n{_style()}\n</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
            f'<rect class="card" x="0.5" y="0.5" width="{self.width - 1}" height="{_number(height - 1)}" rx="8"/>',
        ]
        return "\n".join(lines + self._below + self._items) + "\n</svg>\n"


def _style():
    """Colours for light surroundings, and others where the reader's system is dark. The card behind the picture goes with
    them, so that a page that is dark while the system is light is readable too."""
    sans = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif"
    mono = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    rules = [
        f"text {{ font-family: {sans}; fill: #1f2328 }}",
        f".mono {{ font-family: {mono} }}",
        ".bold { font-weight: 600 }",
        ".muted { fill: #424a53 }",
        *(f".{name} {{ font-size: {pixels}px }}" for name, pixels in SIZE.items()),
        ".card { fill: #ffffff; stroke: #d1d9e0 }",
        ".edge { fill: none; stroke: #59636e; stroke-width: 1.3 }",
        ".tip { fill: #59636e }",
        *(f".k-{kind} {{ fill: {fill}; stroke: {stroke} }}" for kind, (fill, stroke, _, _) in KINDS.items()),
        ".hollow { fill: none }",
        ".dashed { stroke-dasharray: 5 4 }",
        "@media (prefers-color-scheme: dark) {",
        "text { fill: #f0f6fc }",
        ".muted { fill: #c2c9d1 }",
        ".card { fill: #0d1117; stroke: #3d444d }",
        ".edge { stroke: #9198a1 }",
        ".tip { fill: #9198a1 }",
        *(f".k-{kind} {{ fill: {fill}; stroke: {stroke} }}" for kind, (_, _, fill, stroke) in KINDS.items()),
        ".hollow { fill: none }",
        "}",
    ]
    return "\n".join(rules)
