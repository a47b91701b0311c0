#!/usr/bin/env python3
"""Runs the commands of pages and compares their output; checks that code on pages is an excerpt of a file of the tree.

  tools/docs/run_docs.py [PAGE...] --bin build/bin     all pages by default
  tools/docs/run_docs.py [PAGE...] --check             runs no command
  tools/docs/run_docs.py [PAGE...] --list-not-run      lists the blocks that are not run, with their reasons
  tools/docs/run_docs.py PAGE --bin build/bin --update writes into the page what its commands print

tools/docs/README.md says how blocks are written. The blocks of a page run from top to bottom in one copy of the checkout. Its
build/bin is a link to --bin, and `cmake --install build` works there if --bin is in a build folder.
Exit status: 0 all is as the pages say, 1 findings, 2 wrong usage.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import excerpts
import outputs
import pages

TIMEOUT = 120  # seconds, of one command
SHOWN_LINES = 60  # of the output of a command that fails
STATUS = re.compile(r"\[exit status: (\d+)\]$")
# A block in one of these languages must be tested: run, written to a file, or an excerpt of a file.
COMMANDS = "console"
SHELL_LANGUAGES = {"sh", "bash", "shell", "shellsession", "shell-session", "zsh", "terminal"}
TESTED_LANGUAGES = {"cpp", "python", "cmake", "drr", "yaml"}
OTHER_NAMES = {"c++": "cpp", "cc": "cpp", "cxx": "cpp", "py": "python", "python3": "python"}
# How the scratch copy and the home of whoever runs this appear in outputs.
SHOWN_ROOT, SHOWN_HOME = "/home/you/tenon", "/home/you"

# Runs before each command: what an earlier command exported, and where it went, holds for the next one too.
PRELUDE = """\
unset BASH_ENV
if [[ -f "$TENON_DOCS_STATE/environment" ]]; then
  source "$TENON_DOCS_STATE/environment"
  cd "$(cat "$TENON_DOCS_STATE/folder")"
fi
trap 'status=$?; export -p > "$TENON_DOCS_STATE/environment"; pwd > "$TENON_DOCS_STATE/folder"; exit $status' EXIT
"""


class Command:
    def __init__(self, line, text):
        self.line = line  # of the page
        self.text = text
        self.output_line = line + 1
        self.output = []
        self.status = 0


def commands_of(block):
    """(commands, problems) of a block of commands; problems are (line, message)."""
    commands, problems = [], []
    continued = False
    for number, line in enumerate(block.lines, block.line + 1):
        if continued:
            if line.startswith("> ") or line == ">":
                commands[-1].text += "\n" + line[2:]
                commands[-1].output_line = number + 1
                continued = line.endswith("\\")
                continue
            problems.append((number, "the line before ends in `\\` (expected its continuation, which begins with `> `)"))
            continued = False
        if line.startswith("$ "):
            commands.append(Command(number, line[2:]))
            continued = line.endswith("\\")
        elif not commands:
            if line.strip():
                problems.append((number, "output without a command (expected a line that begins with `$ `)"))
        else:
            commands[-1].output.append(line)
    if continued:
        problems.append((block.line + len(block.lines), "the last command is not continued"))
    if not commands:
        problems.append((block.line, "a block of commands without a command (expected a line that begins with `$ `)"))
    for command in commands:
        while command.output and not command.output[-1].strip():
            command.output.pop()
        status = STATUS.match(command.output[-1].strip()) if command.output else None
        if status:
            command.status = int(status[1])
            command.output.pop()
        for offset, line in enumerate(command.output):
            if STATUS.match(line.strip()):
                problems.append((command.output_line + offset, "the exit status is not the last line of the output"))
    return commands, problems


def check_block(block, root):
    """Problems of a block by itself, as (line, message)."""
    directives, language = block.directives, block.language
    for name, value in directives.items():
        if name not in ("file", "from", "not run"):
            yield block.line - 1, f"unknown comment `{name}:` before a block (expected `file:`, `from:` or `not run:`)"
        elif not value:
            yield block.line - 1, f"`{name}:` says nothing (expected {'a reason' if name == 'not run' else 'a path'})"
    if not language:
        yield block.line, "the block has no language (expected one behind its first fence, `text` for plain text)"
    elif language in OTHER_NAMES:
        yield block.line, f"the language {language} is written {OTHER_NAMES[language]} here"
    elif language in SHELL_LANGUAGES and "file" not in directives and "from" not in directives:
        yield block.line, f"commands in a block of the language {language} (expected {COMMANDS}, with `$ ` before each)"
    elif language == "cpp" and "file" not in directives and "from" not in directives:
        yield block.line, "C++ that no build compiles (expected `<!-- from: FILE -->` or `<!-- file: FILE -->` before it)"
    elif language in TESTED_LANGUAGES and not directives:
        yield block.line, (f"a block of the language {language} that nothing tests (expected `<!-- from: FILE -->`, "
                           "`<!-- file: FILE -->` or `<!-- not run: REASON -->` before it)")
    if language == COMMANDS:
        if "file" in directives or "from" in directives:
            yield block.line - 1, "a block of commands is no file"
        yield from commands_of(block)[1]
    if directives.get("file"):
        path = pathlib.PurePosixPath(directives["file"])
        if path.is_absolute() or ".." in path.parts:
            yield block.line - 1, f"{path} is outside of the checkout (expected a path below its root)"
    if directives.get("from"):
        found = excerpts.check(block, directives["from"], root)
        if found:
            yield block.line + found[0], found[1]


class Checkout:
    """A copy of a checkout for the commands of one page."""

    def __init__(self, root, programs):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="tenon-docs-")).resolve()
        self.folder = self.base / "tenon"
        self.state = self.base / "state"
        self.state.mkdir()
        (self.state / "prelude").write_text(PRELUDE)
        for name in pages.tree_files(root):
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target, follow_symlinks=False)
        build = self.folder / "build"
        build.mkdir(parents=True, exist_ok=True)
        (build / "bin").symlink_to(programs)
        # If the programs lie in a build folder, it can be installed from the copy, but not built.
        if (programs.parent / "CMakeCache.txt").is_file():
            for path in programs.parent.iterdir():
                if path != programs and not path.name.startswith(".") and path.name not in ("CMakeCache.txt", "build.ninja"):
                    (build / path.name).symlink_to(path)

    def write(self, name, lines):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def run(self, command):
        """(exit status or None after the time limit, lines of output)"""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("TENON_") and name not in ("CDPATH", "ENV")}
        environment.update(BASH_ENV=str(self.state / "prelude"), TENON_DOCS_STATE=str(self.state), LC_ALL="C.UTF-8",
                           TERM="dumb", NO_COLOR="1")
        # Line by line, as on a terminal: else lines of standard error come before those of standard output.
        process = subprocess.Popen(["stdbuf", "-oL", "bash", "-e", "-c", command.text], cwd=self.folder, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            output = process.communicate(timeout=TIMEOUT)[0]
            status = process.returncode
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # what the command left in the background too
            except ProcessLookupError:
                pass
        if status is None:
            output = process.communicate()[0]
        elif status < 0:
            status = 128 - status
        text = output.decode("utf-8", errors="replace").replace(str(self.folder), SHOWN_ROOT)
        home = os.environ.get("HOME", "")
        if home not in ("", "/"):
            text = re.sub(re.escape(home) + r"(?=/|\b)", SHOWN_HOME, text)
        lines = text.split("\n")
        while lines and not lines[-1].strip():
            lines.pop()
        return status, lines

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)


class Runner:
    def __init__(self, root, programs=None, update=False, keep=False):
        self.root, self.programs, self.update, self.keep = root, programs, update, keep
        self.findings = 0
        self.replacements = []  # (first line, number of lines, lines), of the page at hand

    def report(self, page, line, message, details=()):
        self.findings += 1
        print(f"{page}:{line}: {message}")
        for detail in details:
            print("    " + detail)

    def readme(self, name):
        """Of the README.md of a source folder, only its code."""
        for block in pages.read(self.root / name).blocks:
            for line, message in check_block(block, self.root) if block.language in TESTED_LANGUAGES else ():
                self.report(name, line, message)

    def page(self, name):
        path = self.root / name
        page = pages.read(path)
        problems = list(page.problems)
        for block in page.blocks:
            problems += check_block(block, self.root)
        for line, message in sorted(problems):
            self.report(name, line, message)
        counts = {"commands": 0, "files": 0, "excerpts": 0, "not run": 0}
        for block in page.blocks:
            counts["excerpts"] += "from" in block.directives
            counts["files"] += "file" in block.directives
            if "not run" in block.directives:
                counts["not run"] += 1
                print(f"{name}:{block.line}: not run: {block.directives['not run']}")
            elif block.language == COMMANDS:
                counts["commands"] += len(commands_of(block)[0])
        if self.programs is not None and counts["commands"]:
            self.run(name, page)
        if self.replacements:
            lines = path.read_text(encoding="utf-8").split("\n")
            for first, length, replacement in reversed(self.replacements):
                lines[first - 1:first - 1 + length] = replacement
            path.write_text("\n".join(lines), encoding="utf-8")
            print(f"{name}: {len(self.replacements)} outputs updated")
            self.replacements = []
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))

    def run(self, name, page):
        checkout = Checkout(self.root, self.programs)
        try:
            for block in page.blocks:
                if block.directives.get("file") and "not run" not in block.directives:
                    checkout.write(block.directives["file"], block.lines)
                if block.language != COMMANDS or "not run" in block.directives:
                    continue
                for command in commands_of(block)[0]:
                    if not self.run_command(name, block, command, checkout):
                        return
        finally:
            if self.keep:
                print(f"{name}: files are in {checkout.folder}")
            else:
                checkout.remove()

    def run_command(self, name, block, command, checkout):
        """False when nothing that follows can be run."""
        shown = command.text.replace("\\\n", "")
        status, lines = checkout.run(command)
        if status is None:
            self.report(name, command.line, f"`{shown}` was ended after {TIMEOUT} s; what follows was not run", lines[-SHOWN_LINES:])
            return False
        same = not command.output or outputs.matches(command.output, lines)
        if status == command.status and same:
            return True
        if self.update:
            written = len(command.output) + (command.status != 0)
            replacement = (lines if command.output else []) + ([f"[exit status: {status}]"] if status else [])
            self.replacements.append((command.output_line, written, [" " * block.indent + line for line in replacement]))
            return True
        if status != command.status:
            if command.output:
                details = list(outputs.unified_diff(command.output, lines, name, command.output_line))[:SHOWN_LINES]
            else:
                details = lines[-SHOWN_LINES:]
            self.report(name, command.line, f"`{shown}` ended with status {status} (expected {command.status})", details)
        else:
            self.report(name, command.line, f"the output of `{shown}` differs",
                        list(outputs.unified_diff(command.output, lines, name, command.output_line))[:SHOWN_LINES])
        return True


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="a path, of the current folder or of the root")
    parser.add_argument("--bin", type=pathlib.Path, metavar="DIR", help="the folder with ir-opt, ir-run and ir-bench")
    parser.add_argument("--check", action="store_true", help="run no command")
    parser.add_argument("--list-not-run", action="store_true", help="only list the blocks that are not run")
    parser.add_argument("--update", action="store_true", help="write what the commands print into the pages")
    parser.add_argument("--keep", action="store_true", help="keep the folder in which the commands ran, and name it")
    parser.add_argument("--root", type=pathlib.Path, default=pages.ROOT, help="the checkout (this one by default)")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    names = []
    for name in options.pages:
        path = next((path for path in (root / name, pathlib.Path(name).resolve()) if path.is_file()), None)
        if path is None or not path.is_relative_to(root):
            parser.error(f"{name}: no page of {root}")
        names.append(path.relative_to(root).as_posix())
    names = names or pages.tested_pages(root)
    if options.list_not_run:
        for name in names:
            for block in pages.read(root / name).blocks:
                if "not run" in block.directives:
                    print(f"{name}:{block.line}: {block.directives['not run']}")
        return 0
    if not options.check and (options.bin is None or not options.bin.is_dir()):
        parser.error("--bin DIR must name the folder with the programs, such as build/bin (or give --check)")
    readmes = [name for name in pages.linked_pages(root) if name.endswith("/README.md")] if not options.pages else []
    runner = Runner(root, None if options.check else options.bin.resolve(), options.update, options.keep)
    for name in names:
        runner.page(name)
    for name in readmes:
        runner.readme(name)
    print(f"run_docs: {len(names)} pages, {runner.findings} findings")
    return 1 if runner.findings else 0


if __name__ == "__main__":
    sys.exit(main())
