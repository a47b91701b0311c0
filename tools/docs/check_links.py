#!/usr/bin/env python3
"""Checks the links of the documentation, the lengths of its pages, and that a reader can get to each of them.

  tools/docs/check_links.py [--root DIR]

Pages: README.md, CONTRIBUTING.md, docs/**, the README.md files of folders, .github/**. Exit status: 0 clean, 1 findings.
"""

import argparse
import fnmatch
import pathlib
import posixpath
import re
import sys
import urllib.parse

import pages

# Lines that a page may have.
LIMITS = [("docs/guide/*", 200), ("docs/design/*", 150), ("docs/performance.md", 160), ("docs/models.md", 150)]
HOME = "docs/index.md"  # no page needs to link to it
NAVIGATION = "tools/docs/mkdocs.yml"
NAVIGATION_ENTRY = re.compile(r"^ +- (?:[^:#]+: )?([\w./*-]+\.md)$")
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:")


class Checker:
    def __init__(self, root):
        self.root = root
        self.files = pages.tree_files(root)
        self.folders = {parent.as_posix() for name in self.files for parent in pathlib.PurePosixPath(name).parents}
        self.names = pages.linked_pages(root)
        self.pages = {name: pages.read(root / name) for name in self.names}
        self.anchors = {name: page.anchors() for name, page in self.pages.items()}
        self.linked = set()

    def check(self):
        """Yields (page, line, message)."""
        for name, page in self.pages.items():
            for link in page.links():
                message = self.check_link(name, link)
                if message:
                    yield name, link.line, message
        yield from self.check_pages()
        yield from self.check_navigation()

    def check_link(self, name, link):
        if link.target is None:
            return f"[{link.text}] has no definition (expected a line `[{link.text}]: target`)"
        if not link.target:
            return f"[{link.text}] leads nowhere"
        if EXTERNAL.match(link.target):
            return None
        path, _, anchor = link.target.partition("#")
        path, anchor = urllib.parse.unquote(path), urllib.parse.unquote(anchor)
        if path.startswith("/"):
            return f"{link.target} begins with a slash (expected a path relative to the page)"
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        if target.startswith(".."):
            return f"{link.target} is outside of the repository"
        if target not in self.files and target not in self.folders:
            exists = (self.root / target).exists()
            return f"{link.target}: " + ("no file of the repository (git ignores it)" if exists else "there is no such file")
        if target != name:
            self.linked.add(target)
        if anchor:
            return self.check_anchor(link.target, target, anchor)
        return None

    def check_anchor(self, shown, target, anchor):
        if target not in self.anchors:
            if not target.endswith(".md"):
                return f"{shown}: an anchor into a file that is no page (lines move; link to the file)"
            self.anchors[target] = pages.read(self.root / target).anchors()
        github, site = self.anchors[target]
        if anchor in github and anchor in site:
            return None
        if anchor in github or anchor in site:
            where = "on GitHub" if anchor in github else "on the site"
            return f"{shown}: the anchor exists only {where} (give the heading another text, or no namesake)"
        return f"{shown}: {target} has no heading with the anchor {anchor}"

    def check_pages(self):
        for name in pages.tested_pages(self.root):
            page = self.pages[name]
            for pattern, limit in LIMITS:
                if fnmatch.fnmatchcase(name, pattern) and len(page.lines) > limit:
                    yield name, limit + 1, f"the page has {len(page.lines)} lines (its limit is {limit})"
            if name.startswith("docs/"):
                titles = [heading for heading in page.headings if heading.level == 1]
                if not titles or titles[0] is not page.headings[0]:
                    yield name, 1, "the page has no title (expected a first heading `# Title`)"
                for heading in titles[1:]:
                    yield name, heading.line, "a second title (expected `##`)"
                if name != HOME and name not in self.linked:
                    yield name, 1, "no other page links to this one"

    def check_navigation(self):
        if NAVIGATION not in self.files:
            yield NAVIGATION, 1, "there is no such file"
            return
        listed = set()
        everything = pages.site_pages(self.root)
        for number, line in enumerate((self.root / NAVIGATION).read_text(encoding="utf-8").splitlines(), 1):
            entry = NAVIGATION_ENTRY.match(line)
            if entry:
                found = fnmatch.filter(everything, "docs/" + entry[1])
                if not found:
                    yield NAVIGATION, number, f"docs/{entry[1]}: there is no such page"
                listed.update(found)
        for name in everything:
            if name not in listed:
                yield name, 1, f"the page is not in the navigation of {NAVIGATION}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pages.ROOT)
    checker = Checker(parser.parse_args(arguments).root.resolve())
    findings = list(checker.check())
    for name, line, message in findings:
        print(f"{name}:{line}: {message}")
    print(f"check_links: {len(checker.names)} pages, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
