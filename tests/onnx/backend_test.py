#!/usr/bin/env python3
"""Runs ONNX's backend test suite at -O0 and -O2 and compares the outcome of every case with backend_skips.txt.

    backend_test.py <ir-run> cases|light

`cases` are the folders node, pytorch-converted, pytorch-operator and simple; `light` are nine convolutional networks.
Exit status: 0 all as listed; 1 not; 77 there is no suite (1 if TENON_REQUIRE_ONNX_SUITE is set).
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
import time

import backend_suite

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "backend_skips.txt")
SUITE = re.compile(r"suite (\S+): (\d+) cases, (\d+) light models$")
GROUP = re.compile(r'(refused|differs)((?: "[^"]+")+): (\S.*)$')
ENTRY = re.compile(r"  ([\w-]+/\w+)(?: \(only (.+)\))?$")
OUTCOME = re.compile(r"(PASS|SKIP|FAIL) (\w+)(?:: (.*))?$")
SECONDS = 800


class Group:
    """Cases that fail for one reason. `outcome` is what ir-run says of them, with one of `parts` in its message."""

    def __init__(self, outcome, parts, reason):
        self.outcome, self.parts, self.reason = outcome, parts, reason


def read_list(path):
    """The sizes of the known suites, and the group and the suites (all, if none are named) of each case listed."""
    suites, entries, group = {}, {}, None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if match := SUITE.match(line):
                suites[match[1]] = {"cases": int(match[2]), "light": int(match[3])}
            elif match := GROUP.match(line):
                group = Group({"refused": "SKIP", "differs": "FAIL"}[match[1]], re.findall(r'"([^"]+)"', match[2]), match[3])
            elif (match := ENTRY.match(line)) and group:
                if match[1] in entries:
                    raise SystemExit(f"{path}:{number}: {match[1]} is listed twice")
                only = match[2].split(", ") if match[2] else []
                if unknown := [suite for suite in only if suite not in suites]:
                    raise SystemExit(f"{path}:{number}: there is no suite {unknown[0]}")
                entries[match[1]] = group, only
            else:
                raise SystemExit(f"{path}:{number}: neither a suite, a group nor a case: {line}")
    return suites, entries


def run(ir_run, folder, kind):
    """What ir-run says of each case of a kind, as `kind/name`: the outcome and the message. Ends the test if it dies."""
    names = sorted(os.listdir(os.path.join(folder, kind)))
    command = [ir_run, "--onnx-test", "-O2", "--threads=1", os.path.join(folder, kind)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, errors="replace")
        output, errors, status = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, errors, status = (expired.stdout or b"").decode(errors="replace"), "", f"none in {SECONDS} s"
    outcomes = {}
    for line in output.splitlines():
        if match := OUTCOME.match(line):
            outcomes[f"{kind}/{match[2]}"] = match[1], match[3] or ""
    silent = [name for name in names if f"{kind}/{name}" not in outcomes]
    if silent or status not in (0, 1):
        raise SystemExit(f"ir-run ended with status {status} and said nothing of {len(silent)} cases of {kind}, the first "
                         f"of them {silent[0] if silent else '(none)'}:\n{errors[-3000:]}")
    return outcomes


def problems_of(suite, size, outcomes, entries):
    """What is not as listed, one text each."""
    problems = []
    if len(outcomes) != size:
        problems.append(f"the suite {suite} has {len(outcomes)} cases (expected {size})")
    for name, (outcome, message) in sorted(outcomes.items()):
        group, only = entries.get(name, (None, []))
        if only and suite not in only:
            group = None
        if outcome == "PASS":
            if group:
                problems.append(f"{name} passes (expected: {group.reason}); take it off the list")
        elif group is None:
            problems.append(f"{name}: {outcome} {message}")
        elif outcome != group.outcome or not any(part in message for part in group.parts):
            problems.append(f"{name}: {outcome} {message} (expected {group.outcome} with {group.parts})")
    kinds = {name.split("/")[0] for name in outcomes}
    for name, (_, only) in sorted(entries.items()):
        # Suites of other versions may lack what the archive has.
        expected = suite in only if only else suite == "archive"
        if expected and name.split("/")[0] in kinds and name not in outcomes:
            problems.append(f"{name} is listed and not in the suite")
    return problems


def print_figures(suite, outcomes, entries, seconds):
    counts = collections.Counter(outcome for outcome, _ in outcomes.values())
    print(f"suite {suite}: {len(outcomes)} cases, {counts['PASS']} passed, {counts['SKIP']} refused, "
          f"{counts['FAIL']} differ, {seconds:.1f} s")
    reasons = collections.Counter(entries[name][0].reason for name, (outcome, _) in outcomes.items()
                                  if outcome != "PASS" and name in entries)
    for reason, count in reasons.most_common():
        print(f"{count:5}  {reason}")


def main(ir_run, what):
    suites, entries = read_list(LIST)
    with tempfile.TemporaryDirectory(prefix="tenon-onnx-suite-") as scratch:
        kinds = backend_suite.KINDS if what == "cases" else ("light",)
        suite, folder = backend_suite.find(os.path.dirname(os.path.dirname(HERE)), scratch, list(suites), kinds)
        if suites[suite][what] == 0:
            print(f"the suite {suite} has no light models")
            return 77
        if what == "light":
            laid_out = tempfile.mkdtemp(dir=scratch)
            backend_suite.lay_out_light_models(folder, os.path.join(laid_out, "light"))
            folder = laid_out
        start = time.monotonic()
        outcomes = {}
        for kind in kinds:
            outcomes.update(run(ir_run, folder, kind))
        print_figures(suite, outcomes, entries, time.monotonic() - start)
        problems = problems_of(suite, suites[suite][what], outcomes, entries)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("cases", "light"):
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except backend_suite.Missing as missing:
        print(missing)
        sys.exit(1 if os.environ.get("TENON_REQUIRE_ONNX_SUITE") else 77)
