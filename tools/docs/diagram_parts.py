"""What the modules with the pictures of the design pages share."""

PICTURES = {}


def picture(draw):
    """Registers a function that draws docs/images/<its name, with dashes>.svg."""
    PICTURES[draw.__name__.replace("_", "-")] = draw
    return draw


def gate_row(canvas, y, height, width, gap, gates, kind):
    """Boxes from left to right, each with a title, the files where it lies, and what it does."""
    for i, (title, files, lines) in enumerate(gates):
        x = 16 + i * (width + gap)
        canvas.rect(x, y, width, height, kind)
        canvas.text(x + width / 2, y + 19, title, bold=True, anchor="middle", most=width - 8)
        for file in files:
            canvas.text(x + width / 2, y + 35, file, "tiny", mono=True, anchor="middle", most=width - 4)
        for j, line in enumerate(lines):
            canvas.text(x + width / 2, y + 55 + 14 * j, line, "small", muted=True, anchor="middle", most=width - 6)
        if i + 1 < len(gates):
            canvas.arrow((x + width + 2, y + height / 2), (x + width + gap - 2, y + height / 2))
