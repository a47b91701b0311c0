"""Compares excerpts on pages with the files that they are from."""

import pathlib
import re
import textwrap

ELISION = re.compile(r"\s*(?://|#|--)?\s*\.\.\.\s*$")
INDENTED_LANGUAGES = {"python", "yaml"}  # indentation has a meaning


def _lines(lines, language):
    """(position, line) of the lines that count: those that are not blank, without indentation if it means nothing."""
    if language in INDENTED_LANGUAGES:
        lines = textwrap.dedent("\n".join(line.rstrip() for line in lines)).split("\n")
    else:
        lines = [line.strip() for line in lines]
    return [(position, line) for position, line in enumerate(lines) if line.strip()]


def _segments(lines):
    """The runs of lines between lines of dots, each with the position of its first line."""
    segments, current, start = [], [], 0
    for position, line in enumerate(lines):
        if ELISION.match(line):
            segments.append((start, current))
            current, start = [], position + 1
        else:
            current.append(line)
    segments.append((start, current))
    return [(start, segment) for start, segment in segments if any(line.strip() for line in segment)]


def _matched(wanted, source, start, language):
    """How many of the wanted lines stand in the source from line `start` on."""
    if language in INDENTED_LANGUAGES:
        # The same number of lines, with the indentation that they have in common taken off.
        window = []
        for line in source[start:]:
            if line.strip():
                window.append(line)
            if len(window) == len(wanted):
                break
        window = textwrap.dedent("\n".join(window)).split("\n")
    else:
        window = [line for line in source[start:start + 4 * len(wanted) + 8] if line.strip()]
    count = 0
    for (_, line), found in zip(wanted, window):
        if line.strip() != found.strip() or (language in INDENTED_LANGUAGES and line != found):
            break
        count += 1
    return count


def difference(lines, language, source):
    """None if the lines are an excerpt of the source; else (position of the line that is not, what is wrong)."""
    source = [line.rstrip() for line in source.splitlines()]
    place = 0
    segments = _segments(lines)
    if not segments:
        return 0, "the excerpt is empty"
    for start, segment in segments:
        wanted = _lines(segment, language)
        best, best_place = 0, None
        for candidate in range(place, len(source)):
            if not source[candidate].strip():
                continue
            count = _matched(wanted, source, candidate, language)
            if count > best:
                best, best_place = count, candidate
            if count == len(wanted):
                break
        if best < len(wanted):
            position, line = wanted[best]
            if best == 0:
                # Either it is nowhere, or it is before what the excerpt showed already.
                earlier = any(_matched(wanted[:1], source, candidate, language) for candidate in range(place))
                where = f" after line {place}, where the lines before it are" if earlier else ""
                return start + position, f"`{line.strip()}` is not in the file{where}"
            following = [line for line in source[best_place:] if line.strip()][best:best + 1]
            found = f"`{following[0].strip()}`" if following else "the end of the file"
            return start + position, (f"`{line.strip()}` does not follow the line before it "
                                      f"(the file has {found}; a line `// ...` stands for lines left out)")
        left = best
        while left:
            left -= bool(source[best_place].strip())
            best_place += 1
        place = best_place
    return None


def check(block, name, root):
    """The same for a block that names its file."""
    path = pathlib.PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not (root / path).is_file():
        return 0, f"the file {name} does not exist (expected a path from the root of the repository)"
    if path.suffix == ".md":
        return 0, f"{name} is a page (expected a source file)"
    # Folders of the layers and of tests are globbed; examples are listed.
    listing = root / path.parent / "CMakeLists.txt"
    if path.suffix in (".c", ".cc") and path.parts[0] == "examples":
        if not listing.is_file() or not re.search(rf"\b{re.escape(path.stem)}\b", listing.read_text(encoding="utf-8")):
            return 0, f"no build compiles {name} (expected it in {path.parent}/CMakeLists.txt)"
    found = difference(block.lines, block.language, (root / path).read_text(encoding="utf-8"))
    return None if found is None else (found[0] + 1, f"excerpt of {name}: {found[1]}")
