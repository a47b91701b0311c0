"""Compares the output of a command with what a page shows of it."""

import re

NUMBER = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?(?:[eE][+-]?\d+)?")
LARGEST_TABLE = 1_000_000


def mask(line):
    """The line without what may differ: numbers, the width of white space, the length of rules."""
    line = re.sub(r"-{3,}", "---", NUMBER.sub("#", line.rstrip()))
    line = re.sub(r"\s+", " ", line)
    return line.lstrip() if line.startswith(" #") else line  # a column of numbers that is aligned to the right


def is_elision(line):
    return line.strip() == "..."


def matches(expected, actual):
    """Whether the lines are as expected, where a line `...` stands for any number of lines."""
    segments, current = [], []
    for line in expected:
        if is_elision(line):
            segments.append(current)
            current = []
        else:
            current.append(mask(line))
    segments.append(current)
    lines = [mask(line) for line in actual]
    if len(segments) == 1:
        return segments[0] == lines
    first, *middle, last = segments
    if len(first) + len(last) > len(lines) or lines[:len(first)] != first or lines[len(lines) - len(last):] != last:
        return False
    place, end = len(first), len(lines) - len(last)
    for segment in middle:
        while lines[place:place + len(segment)] != segment:
            place += 1
            if place + len(segment) > end:
                return False
        place += len(segment)
        if place > end:
            return False
    return True


def _align(expected, actual):
    """Pairs (mark, line, position in expected): ' ' as expected, '-' missing, '+' unexpected; '.' lines that were left out."""
    masked_expected = [None if is_elision(line) else mask(line) for line in expected]
    masked_actual = [mask(line) for line in actual]
    rows, columns = len(expected), len(actual)
    costs = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows, -1, -1):
        for column in range(columns, -1, -1):
            if row == rows:
                costs[row][column] = columns - column
                continue
            skip = costs[row + 1][column]
            if masked_expected[row] is None:
                costs[row][column] = min(skip, costs[row][column + 1]) if column < columns else skip
                continue
            best = skip + 1
            if column < columns:
                best = min(best, costs[row][column + 1] + 1)
                if masked_expected[row] == masked_actual[column]:
                    best = min(best, costs[row + 1][column + 1])
            costs[row][column] = best
    row = column = 0
    while row < rows or column < columns:
        cost = costs[row][column]
        if row < rows and masked_expected[row] is None:
            if costs[row + 1][column] == cost:
                yield ".", "...", row
                row += 1
            else:
                column += 1
        elif (row < rows and column < columns and masked_expected[row] == masked_actual[column]
              and costs[row + 1][column + 1] == cost):
            yield " ", expected[row], row
            row, column = row + 1, column + 1
        elif row < rows and costs[row + 1][column] + 1 == cost:
            yield "-", expected[row], row
            row += 1
        else:
            yield "+", actual[column], row
            column += 1


def unified_diff(expected, actual, page, line, context=3):
    """Lines of a diff of an output that does not match. `line` is the line of the page with the first expected one."""
    most = max(1, LARGEST_TABLE // (len(expected) + 1))
    cut = len(actual) - most
    marks = list(_align(expected, actual[:most]))
    changed = [index for index, (mark, _, _) in enumerate(marks) if mark in "+-"]
    yield f"--- {page}"
    yield "+++ output"
    shown = -1
    for index in changed:
        if index <= shown:
            continue
        start = max(shown + 1, index - context)
        end = index
        while end + 1 < len(marks) and any(mark in "+-" for mark, _, _ in marks[end + 1:end + 2 * context + 2]):
            end += 1
        end = min(len(marks) - 1, end + context)
        yield f"@@ {page}:{line + marks[start][2]} @@"
        for mark, text, _ in marks[start:end + 1]:
            yield f"{' ' if mark == '.' else mark}{text}"
        shown = end
    if cut > 0:
        yield f"({cut} more lines of output)"
