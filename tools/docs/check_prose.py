#!/usr/bin/env python3
"""Counts sentences that are too long or have no subject, and checks the terms that pages link to.

  tools/docs/check_prose.py [PAGE...] [--limit N] [--root DIR]     docs/**, README.md, CONTRIBUTING.md by default

Paragraphs, items of lists, cells of tables and quotations are read; code, headings and the tables of docs/reference are
not, nor are lists of names. A code span or an address is one word.
Exit status: 0 at most N findings (0 by default), 1 more, 2 wrong usage.
"""

import argparse
import pathlib
import posixpath
import re
import sys

import pages

LONGEST = 32  # words of a sentence
AIM = 25
GLOSSARY = "docs/glossary.md"
GUIDE = "tools/docs/README.md"

CODE = "\u00a7"  # stands for a code span: one word, with which a sentence may begin
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx|Fig|No)\.(?=\s+[^A-Z]|,|\))|\b(e\.g|i\.e|vs|cf)\.")
END = re.compile(rf"(?<=[.!?])[\"'”’)\]*_]*\s+(?=[\"'“‘(\[*_]*[A-Z0-9{CODE}])")
WORD = re.compile(rf"[^\W_]|{CODE}")

# A sentence whose subject the reader has to work out.
HEADLESS = re.compile(
    r"(?:What(?:ever)?|Who(?:ever|m)?|Which(?:ever)?|There that|That which|(?:Those|These|This|It) (?:that|which|who)"
    r"|That (?:is|are|was|were|has|have|does|can|may|must|will|would|means|makes|gives|takes|lets|needs|keeps|costs))\b")
# A sentence without a subject that is no imperative.
SUBJECTLESS = re.compile(r"(?:Is|Are|Was|Were|Has|Does|Can|Cannot|Must|Should|May|Will|Returns|Gives|Makes|Takes)\b")


def sentences(text):
    """The sentences of a text, as a reader sees them, each with the number of line breaks of the text before it."""
    text = re.sub(r"!\[[^\[\]]*\]\([^()]*\)", "", text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", "", text)
    text = pages.CODE_SPAN.sub(lambda match: CODE + "\n" * match[0].count("\n"), text)
    text = pages.plain(text)
    text = re.sub(r"<?https?://[^\s>]*[^\s>.,;:)]>?", CODE, text)
    text = ABBREVIATIONS.sub(lambda match: match[0].replace(".", ""), text)
    start = 0
    for end in [match for match in END.finditer(text)] + [None]:
        stop = end.start() if end else len(text)
        sentence = text[start:stop].strip()
        if sentence:
            yield sentence, text.count("\n", 0, start + len(text[start:stop]) - len(text[start:stop].lstrip()))
        start = end.end() if end else len(text)


def count_words(sentence):
    return sum(1 for word in sentence.split() if WORD.search(word))


def is_enumeration(sentence):
    """Whether it is a list of names, such as `albert, bert, camembert, ...`, which is data."""
    parts = sentence.split(",")
    return len(parts) >= 8 and count_words(sentence) <= 1.5 * len(parts)


def is_headless(sentence, role):
    sentence = sentence.lstrip("\"'“‘(*_")
    # Items and cells are often labels, no sentences.
    if sentence.endswith("?") or (role != "paragraph" and not sentence.rstrip("\"')”’").endswith((".", "!"))):
        return False
    if HEADLESS.match(sentence):
        return True
    return role == "paragraph" and SUBJECTLESS.match(sentence) is not None


def prose(page, tables):
    """The texts that hold sentences. A bold beginning, such as `**Threads.**`, is a heading."""
    for text in page.texts:
        if text.role in ("paragraph", "item", "quote") or (text.role == "cell" and tables):
            heading = re.match(r"\*\*[^*]+(?:[.:?!]\*\*|\*\*[.:])\s*", text.text)
            rest = text.text[heading.end():] if heading else text.text
            if rest.strip():
                role = "paragraph" if text.role in ("paragraph", "quote") else text.role
                yield text.line + text.text[:len(text.text) - len(rest)].count("\n"), role, rest


def normalized(term):
    """Terms are equal but for case and the plural."""
    words = re.sub(r"\s+", " ", pages.plain(term)).strip().lower()
    for ending, replacement in (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("s", "")):
        if words.endswith(ending) and not words.endswith("ss"):
            return words[:-len(ending)] + replacement
    return words


class Glossary:
    """The terms of the glossary: its headings below the title, and what is bold at the beginning of a text."""

    def __init__(self, page):
        self.places = {}  # normalized term -> lines
        for heading in page.headings:
            if heading.level > 1:
                self._add(heading.text, heading.line)
        for text in page.texts:
            bold = re.match(r"\*\*([^*]+?)[.:]?\*\*", text.text)
            if text.role in ("paragraph", "item", "cell") and bold:
                self._add(bold[1], text.line)
        github, site = page.anchors()
        self.anchors = github & site

    def _add(self, term, line):
        # "batch size (batch)" and "lowering, lower" name a term twice.
        for name in re.split(r"[,/()]", term):
            if name.strip():
                self.places.setdefault(normalized(name), []).append(line)

    def check(self):
        for term, lines in self.places.items():
            if len(lines) > 1:
                yield lines[1], f"the term {term} is defined twice (line {lines[0]} too)"

    def check_links(self, name, page):
        for link in page.links():
            path, _, anchor = (link.target or "").partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if target != GLOSSARY or name == GLOSSARY and not anchor:
                continue
            if anchor and anchor not in self.anchors:
                yield link.line, f"the term {anchor} is not in {GLOSSARY}"
            if not anchor and "glossary" not in link.text.lower() and normalized(link.text) not in self.places:
                yield link.line, f"the term {link.text!r} is not in {GLOSSARY} (expected a link to the anchor of one)"

    def check_bold(self, page):
        """Bold inside a sentence marks a term."""
        for text in page.texts:
            if text.role not in ("paragraph", "item", "quote"):
                continue
            masked = pages.without_code(text.text)
            for match in re.finditer(r"(?<=\w[ \n,])\*\*([^*]+)\*\*", masked):
                term = text.text[match.start(1):match.end(1)]
                if not term.startswith("[") and normalized(term) not in self.places:
                    line = text.line + text.text.count("\n", 0, match.start())
                    yield line, f"bold inside a sentence marks a term, and {term!r} is not in {GLOSSARY} (emphasis: `_..._`)"


class Statistics:
    def __init__(self):
        self.pages = self.sentences = self.words = self.long = self.over_aim = self.headless = self.terms = 0

    def __str__(self):
        return (f"{self.pages} pages, {self.sentences} sentences, {self.words / max(1, self.sentences):.1f} words on average, "
                f"{self.over_aim} over {AIM}; {self.long} over {LONGEST}, {self.headless} without a subject, "
                f"{self.terms} unknown terms")


def check_page(name, page, glossary, statistics):
    """Yields (line, message)."""
    statistics.pages += 1
    for line, role, text in prose(page, tables=not name.startswith("docs/reference/")):
        for sentence, breaks in sentences(text):
            words = count_words(sentence)
            if words == 0 or is_enumeration(sentence):
                continue
            if role != "cell":  # few of them are sentences
                statistics.sentences += 1
                statistics.words += words
            statistics.over_aim += words > AIM
            shown = " ".join(sentence.replace(CODE, "`...`").split())
            if words > LONGEST:
                statistics.long += 1
                yield line + breaks, f"{words} words in a sentence (at most {LONGEST}): {shown}"
            if is_headless(sentence, role):
                statistics.headless += 1
                yield line + breaks, f"no subject to begin with (name the thing first): {shown}"
    if glossary is not None:
        for line, message in [*glossary.check_links(name, page), *glossary.check_bold(page)]:
            statistics.terms += 1
            yield line, message


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="a path from the root")
    parser.add_argument("--limit", type=int, default=0, help="findings that are allowed")
    parser.add_argument("--root", type=pathlib.Path, default=pages.ROOT)
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    names = options.pages or pages.tested_pages(root) + [name for name in (GUIDE,) if name in pages.tree_files(root)]
    findings = 0

    def report(name, line, message):
        nonlocal findings
        findings += 1
        print(f"{name}:{line}: {message}")

    glossary = None
    if (root / GLOSSARY).is_file():
        glossary = Glossary(pages.read(root / GLOSSARY))
    elif not options.pages:
        report(GLOSSARY, 1, "there is no such page")
    statistics = Statistics()
    for name in names:
        if not (root / name).is_file():
            parser.error(f"{name}: no page of {root}")
        page = pages.read(root / name)
        for line, message in sorted(check_page(name, page, glossary, statistics)):
            report(name, line, message)
        if name == GLOSSARY and glossary is not None:
            for line, message in glossary.check():
                report(name, line, message)
    print(f"check_prose: {statistics}")
    return 1 if findings > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
