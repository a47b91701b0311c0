"""Hooks of MkDocs: pages are written for GitHub, and the site shows them alike.

- An entry of the navigation with a * becomes the pages whose names match it.
- A link to a file outside of docs/ leads to `extra.source_url`, or becomes text with the file's path.
- A page that shows marks of Markdown as text is a warning, and so an error.
- Lists are indented by four columns a level and blocks are set off by blank lines, which Python-Markdown needs and GitHub
  does not. The comments that tell tools/docs/run_docs.py what to do with a block are left out.
"""

import fnmatch
import logging
import pathlib
import posixpath
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402


LOG = logging.getLogger("mkdocs.hooks.tenon")


def expanded(entries, names):
    """The navigation with the names of pages in place of patterns."""
    for entry in entries:
        if isinstance(entry, str) and "*" in entry:
            yield from fnmatch.filter(names, entry)
        elif isinstance(entry, dict):
            yield {title: list(expanded(value, names)) if isinstance(value, list) else value for title, value in entry.items()}
        else:
            yield entry


def outside(page, target):
    """The path from the root of the repository, if the target is a file outside of docs/; else None."""
    if not target or re.match(r"[a-z][a-z0-9+.-]*:|#|/", target):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target.partition("#")[0]))
    return None if path.startswith("docs/") else path


def shown(text, path):
    """The text of a link that leads nowhere: it names the file."""
    name = posixpath.basename(path)
    plain = pages.plain(text)
    if plain.rstrip("/") in (path, name):
        return f"`{plain}`"
    return text if name in plain else f"{text} (`{path}`)"


def blank(match):
    return re.sub(r"[^\n]", "x", match if isinstance(match, str) else match[0])


def rewrite_links(text, page, source_url):
    """The page with its links to files outside of docs/ rewritten. `page` is its name below docs/."""
    lines = text.split("\n")
    found = pages.Walker().walk(text)
    for line in found:
        if line.role in ("code", "fence", "comment", "indented"):
            lines[line.number - 1] = blank(lines[line.number - 1])
    masked = pages.without_code("\n".join(lines))

    edits = []  # (start, end, replacement)
    definitions = {}
    for line in found:
        definition = pages.DEFINITION.match(line.text) if line.role == "definition" else None
        path = outside(page, definition[2]) if definition else None
        if path:
            definitions[definition[1].lower()] = path
            start = sum(len(other) + 1 for other in lines[:line.number - 1])
            edits.append((start, start + len(lines[line.number - 1]),
                          f"[{definition[1]}]: {source_url}{path}" if source_url else ""))
    for match in pages.LINK.finditer(masked):
        path = outside(page, match[3].strip("<>"))
        label = text[match.start(2):match.end(2)]
        if path and source_url:
            edits.append((match.start(3), match.end(3), source_url + path))
        elif path:
            edits.append((match.start(), match.end(), label if match[1] else shown(label, path)))
    for match in pages.REFERENCE.finditer(masked):
        path = definitions.get((match[2] or match[1]).lower())
        if path and not source_url:
            edits.append((match.start(), match.end(), shown(text[match.start(1):match.end(1)], path)))
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def normalize(text):
    """The page as Python-Markdown reads what GitHub reads in it."""
    result = []
    before = None
    fence_indent = 0
    for line in pages.Walker().walk(text):
        if line.role == "comment":
            continue
        depth = line.depth - (line.role == "item")
        raw = line.raw
        if line.role == "blank":
            new = ""
        elif line.role == "code":
            new = " " * (4 * depth) + raw[min(fence_indent, pages.indentation(raw)):] if raw.strip() else ""
        else:
            if line.role == "fence":
                fence_indent = pages.indentation(raw)
            new = " " * (4 * depth) + raw.strip()
            if line.role == "table":
                new = pages.CODE_SPAN.sub(lambda match: match[0].replace("\\|", "|"), new)
        if before is not None and before.role in ("text", "quote", "item", "heading") and (
                line.role == "item" and before.depth == 0
                or line.role == "table"
                or line.role == "fence"
                or line.role == "quote" and before.role != "quote"):
            result.append("")
        result.append(new)
        before = line
    return "\n".join(result) + "\n"


def leftovers(html):
    """Marks of Markdown that a reader would see in the page: what Python-Markdown took for text."""
    text = re.sub(r"<(pre|code|h[1-6])\b.*?</\1>", "", html, flags=re.S)
    for match in re.finditer(r"(?:^|>)[ ]*(```|~~~|\||[-*+] |1\. |#{1,6} )[^<]*", text, re.M):
        yield match[0].lstrip("> ")
    for match in re.finditer(r"\]\([^\s()<>]+\)", text):
        yield match[0]


def on_files(files, config):
    if config.nav:
        names = sorted(file.src_uri for file in files.documentation_pages())
        config.nav = list(expanded(config.nav, names))
    return files


def on_page_markdown(markdown, page, config, files):
    url = config.extra.get("source_url") or ""
    return normalize(rewrite_links(markdown, page.file.src_uri, url.rstrip("/") + "/" if url else ""))


def on_page_content(html, page, config, files):
    for found in leftovers(html):
        LOG.warning("%s: this is shown as text: %s", page.file.src_uri, " ".join(found.split())[:80])
    return html
