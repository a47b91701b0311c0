"""Finds the pages of the documentation and reads their Markdown, as far as the checkers need it.

`read(path)` gives a `Page`: its lines with their roles, its fenced blocks, its texts (paragraphs, items of lists, cells of
tables), its headings and its links. It knows the Markdown that both GitHub and the site render: fences, `#` headings,
lists, tables whose lines begin with `|`, comments, links.
"""

import dataclasses
import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

FENCE = re.compile(r"(`{3,}|~{3,})\s*([^\s`]*)([^`]*)$")
QUOTED_FENCE = re.compile(r"\s*>\s*(```|~~~)")
HEADING = re.compile(r"(#{1,6})\s+(.*?)(?:\s+#+)?$")
ITEM = re.compile(r"([-*+]|\d{1,9}[.)])(\s+|$)")
DIRECTIVE = re.compile(r"<!--\s*([a-z][a-z ]*):\s*(.*?)\s*-->$")
DEFINITION = re.compile(r"\[([^\]]+)\]:\s+<?(\S+?)>?(?:\s+\"[^\"]*\")?$")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*(<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\[([^\[\]]*)\]")
HTML_LINK = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)\s*=\s*\"([^\"]*)\"")
HTML_ANCHOR = re.compile(r"<a\b[^>]*?\b(?:id|name)\s*=\s*\"([^\"]*)\"")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)


def indentation(line):
    return len(line) - len(line.lstrip(" "))


@dataclasses.dataclass
class Line:
    number: int
    role: str  # blank, text, item, heading, table, quote, html, comment, rule, definition, fence, code or indented
    text: str  # without indentation and markers
    raw: str
    depth: int  # how many lists it is in
    offset: int  # the column at which the content of the innermost list begins
    starts: bool = False  # text and items: begins a paragraph


@dataclasses.dataclass
class Block:
    """A fenced block. `line` is the number of its first fence; its content begins one line later."""
    line: int
    language: str
    lines: list
    indent: int
    directives: dict
    closed: bool = True


@dataclasses.dataclass
class Text:
    """Text that belongs together: a paragraph, an item of a list, a cell of a table, a quotation."""
    line: int
    role: str  # paragraph, item, cell, header, quote or heading
    text: str  # lines of the page joined by newlines


@dataclasses.dataclass
class Heading:
    line: int
    level: int
    text: str


@dataclasses.dataclass
class Link:
    line: int
    text: str
    target: str  # None where a reference has no definition


class Walker:
    """Gives each line of a page its role."""

    def __init__(self):
        self.lists = []
        self.open = False  # a paragraph, which the next line may go on with
        self.fence = None
        self.comment = False

    def walk(self, text):
        return [self.line(number, raw.expandtabs(4)) for number, raw in enumerate(text.splitlines(), 1)]

    def line(self, number, raw):
        def made(role, text, starts=False):
            self.open = role in ("text", "item", "quote")
            return Line(number, role, text, raw, len(self.lists), self.lists[-1] if self.lists else 0, starts)

        stripped = raw.strip()
        if self.fence is not None:
            if re.fullmatch(re.escape(self.fence[0]) + "+", stripped) and len(stripped) >= len(self.fence):
                self.fence = None
                return made("fence", stripped)
            return made("code", raw)
        if self.comment:
            self.comment = "-->" not in raw
            return made("comment", stripped)
        if not stripped:
            return made("blank", "")

        indent = indentation(raw)
        item = ITEM.match(stripped)
        if item and self.open and item[1][0].isdigit() and item[1][:-1] != "1" and not self.lists:
            item = None  # a number that a paragraph was broken before
        starts_block = item or FENCE.match(stripped) or HEADING.match(stripped) or stripped.startswith(("|", "<!--", ">"))
        if self.open and not starts_block:
            return made("text", stripped)
        while self.lists and indent < self.lists[-1]:
            self.lists.pop()
        if indent - (self.lists[-1] if self.lists else 0) >= 4 and not self.open and not FENCE.match(stripped):
            return made("indented", stripped)
        fence = FENCE.match(stripped)
        if fence:
            self.fence = fence[1]
            return made("fence", stripped)
        if stripped.startswith("<!--"):
            self.comment = "-->" not in stripped
            return made("comment", stripped)
        if re.fullmatch(r"([-*_])(\s*\1){2,}", stripped):
            return made("rule", stripped)
        heading = HEADING.match(stripped)
        if heading:
            return made("heading", heading[2])
        if item:
            self.lists.append(indent + len(item[1]) + (len(item[2]) if 0 < len(item[2]) <= 4 else 1))
            return made("item", stripped[item.end():], True)
        if stripped.startswith("|"):
            return made("table", stripped)
        if stripped.startswith(">"):
            started = self.open
            return made("quote", stripped.lstrip("> "), not started)
        if DEFINITION.match(stripped):
            return made("definition", stripped)
        if re.match(r"</?[a-zA-Z][^>]*>?", stripped) and not re.match(r"<https?:", stripped):
            return made("html", stripped)
        return made("text", stripped, True)


def without_code(text):
    """The text with code spans and escaped characters blanked out; every other character keeps its place."""
    text = re.sub(r"\\[^\w\s]", "xx", text)
    return CODE_SPAN.sub(lambda match: "".join(c if c == "\n" else "x" for c in match[0]), text)


def plain(text):
    """The text as a reader sees it: without the marks of links, code, emphasis and HTML."""
    # Code keeps its characters: `a_b_c` has no emphasis and `<x>` is no tag.
    spans = []

    def keep(match):
        spans.append(match[2])
        return f"\0{len(spans) - 1}\0"

    text = CODE_SPAN.sub(keep, text)
    text = LINK.sub(lambda match: match[2], text)
    text = REFERENCE.sub(lambda match: match[1], text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", "", text)
    text = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", text, flags=re.S)
    text = re.sub(r"(?<!\w)([*_])(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", text, flags=re.S)
    text = re.sub(r"\\([^\w\s])", r"\1", text)
    return re.sub("\0(\\d+)\0", lambda match: spans[int(match[1])], text)


def github_slug(heading):
    return re.sub(r"[^\w\- ]", "", plain(heading).strip().lower()).replace(" ", "-")


def site_slug(heading):
    """What pymdownx.slugs.slugify(case=lower) makes of a heading: text in angle brackets is a tag to it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"</?[^>]*>", "", plain(heading)).strip().lower()).replace(" ", "-")


def numbered(slugs, separator):
    """Slugs that occur again get a number, as GitHub (-1) and the site (_1) do it."""
    seen = set()
    for slug in slugs:
        name, count = slug, 0
        while name in seen:
            count += 1
            name = f"{slug}{separator}{count}"
        seen.add(name)
        yield name


def cells(row):
    """The cells of a line of a table. A pipe inside code must be escaped, as GitHub demands it."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


class Page:
    def __init__(self, text):
        self.lines = Walker().walk(text)
        self.problems = []  # (line, message): what no reader of Markdown would make of it what its author wanted
        self.blocks = self._blocks()
        self.texts = self._texts()
        self.headings = [Heading(line.number, len(line.raw.lstrip()) - len(line.raw.lstrip().lstrip("#")), line.text)
                         for line in self.lines if line.role == "heading"]
        for line in self.lines:
            if line.role == "indented":
                self.problems.append((line.number, "an indented block of code (expected a fence with a language)"))
            if QUOTED_FENCE.match(line.raw) and line.role == "quote":
                self.problems.append((line.number, "a fence inside a quotation is not checked (expected it outside)"))

    def _blocks(self):
        blocks, block, directives = [], None, {}
        pending = []  # lines of directives that belong to no block yet
        for line in self.lines:
            if line.role == "fence" and block is None:
                fence = FENCE.match(line.text)
                block = Block(line.number, fence[2], [], indentation(line.raw), directives, closed=False)
                blocks.append(block)
                directives, pending = {}, []
            elif line.role == "fence":
                block.closed = True
                block = None
            elif line.role == "code":
                block.lines.append(line.raw[min(block.indent, indentation(line.raw)):])
            else:
                directive = DIRECTIVE.match(line.text) if line.role == "comment" else None
                if directive:
                    directives[directive[1]] = directive[2]
                    pending.append((line.number, directive[1]))
                else:
                    self._dangling(pending)
                    directives, pending = {}, []
        self._dangling(pending)
        for found in blocks:
            if not found.closed:
                self.problems.append((found.line, "the fence is not closed"))
        return blocks

    def _dangling(self, pending):
        for number, name in pending:
            if name in ("file", "from", "not run"):
                self.problems.append((number, f"`{name}:` stands before no block (expected a fence on the next line)"))

    def _texts(self):
        texts, current = [], None
        table = []
        for line in self.lines + [Line(0, "blank", "", "", 0, 0)]:
            if line.role == "table":
                table.append(line)
            elif table:
                texts += self._table(table)
                table = []
            if line.role in ("text", "item", "quote"):
                if line.starts or current is None:
                    role = {"item": "item", "quote": "quote"}.get(line.role, "item" if line.depth else "paragraph")
                    current = Text(line.number, role, line.text)
                    texts.append(current)
                else:
                    current.text += "\n" + line.text
                continue
            current = None
            if line.role == "heading":
                texts.append(Text(line.number, "heading", line.text))
            elif line.role == "html":
                texts.append(Text(line.number, "html", line.text))
        return texts

    @staticmethod
    def _table(rows):
        header = len(rows) > 1 and re.fullmatch(r"[\s|:-]+", rows[1].text) is not None
        for index, row in enumerate(rows):
            if header and index == 1:
                continue
            for cell in cells(row.text):
                yield Text(row.number, "header" if header and index == 0 else "cell", cell)

    def definitions(self):
        found = (DEFINITION.match(line.text) for line in self.lines if line.role == "definition")
        return {match[1].lower(): match[2] for match in found}

    def links(self):
        definitions = self.definitions()
        for line in self.lines:
            if line.role == "definition":
                yield Link(line.number, "", DEFINITION.match(line.text)[2])
        for text in self.texts:
            masked = without_code(text.text)

            def at(position, text=text):
                return text.line + text.text.count("\n", 0, position)

            # The text of a link may hold an image, which is a link of its own.
            for match in LINK.finditer(masked):
                yield Link(at(match.start()), text.text[match.start(2):match.end(2)], match[3].strip("<>"))
                for inner in LINK.finditer(match[2]):
                    yield Link(at(match.start()), inner[2], inner[3].strip("<>"))
            for match in REFERENCE.finditer(masked):
                label = (match[2] or match[1]).lower()
                yield Link(at(match.start()), text.text[match.start(1):match.end(1)], definitions.get(label))
            for match in HTML_LINK.finditer(masked):
                yield Link(at(match.start()), "", match[1])

    def anchors(self):
        """(anchors on GitHub, anchors on the site)"""
        named = {name for text in self.texts for name in HTML_ANCHOR.findall(without_code(text.text))}
        github = numbered((github_slug(heading.text) for heading in self.headings), "-")
        site = numbered((site_slug(heading.text) for heading in self.headings), "_")
        return named | set(github), named | set(site)


def read(path):
    return Page(path.read_text(encoding="utf-8"))


@functools.cache
def tree_files(root):
    """The names of the files of a checkout, relative to it: those of git and those that git does not ignore."""
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, check=True).stdout.decode()
        top = subprocess.run(["git", "-C", str(root), "rev-parse", "--show-toplevel"], capture_output=True, check=True)
        if pathlib.Path(top.stdout.decode().strip()).resolve() == root.resolve():
            return frozenset(name for name in listed.split("\0") if name and (root / name).is_file())
    except (OSError, subprocess.CalledProcessError):
        pass
    found = set()
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "__pycache__") and not re.match(r"build(-|$)", name)]
        found.update((pathlib.Path(folder) / name).relative_to(root).as_posix() for name in files)
    return frozenset(found)


def site_pages(root):
    """The pages of the site: docs/**.md but for README.md files, which describe a folder. Relative to the root."""
    return sorted(name for name in tree_files(root)
                  if name.startswith("docs/") and name.endswith(".md") and not name.endswith("/README.md"))


def tested_pages(root):
    """The pages whose commands are run."""
    return [name for name in ("README.md", "CONTRIBUTING.md") if name in tree_files(root)] + site_pages(root)


def linked_pages(root):
    """The pages whose links are checked: those above, every folder's README.md and the templates for issues."""
    others = sorted(name for name in tree_files(root)
                    if name.endswith("/README.md")
                    or name.startswith(".github/") and name.endswith(".md"))
    return tested_pages(root) + others
