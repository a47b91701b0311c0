#!/usr/bin/env python3
"""Prints a table of a JUnit file of ctest: tests, failures and time per group, then each reason for skipping with the
tests that were skipped for it, and the end of what failed tests printed. The cases that run_cases.py ran in one process
count one by one. Exit status 1 if any failed."""

import re
import sys
import xml.etree.ElementTree as ElementTree


def reason_of(case):
    """Why a test was skipped, as it printed it: behind GoogleTest's "Skipped", else the last line."""
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    for line, following in zip(lines, lines[1:]):
        if line.endswith("Skipped"):
            return following
    return lines[-1] if lines else "no reason given"


def cases_of(case):
    """Of a test that run_cases.py ran: the numbers of cases that ran and that failed, and (name, reason) of each that was
    skipped. None of another test."""
    lines = (case.findtext("system-out") or "").strip().splitlines()
    counted = re.fullmatch(r"(\d+) cases passed, (\d+) cases failed, (\d+) cases skipped", lines[0]) if lines else None
    if not counted:
        return None
    passed, failed, skipped = map(int, counted.groups())
    reasons = [match.groups() for line in lines[1 : 1 + skipped] if (match := re.fullmatch(r"skipped (\S+): (.*)", line))]
    return passed + failed + skipped, failed, reasons


def end_of(case, lines=30, width=300):
    """The last lines that a test printed."""
    printed = [line.rstrip()[:width] for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    return [f"    {line}" for line in printed[-lines:]]


def main(path):
    groups, failed, skipped = {}, [], {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        group = groups.setdefault(name.split(".")[0].split("/")[-1 if "/" in name.split(".")[0] else 0], [0, 0, 0.0])
        cases, failures, reasons = cases_of(case) or (1, None, [])
        for skipped_case, reason in reasons:
            skipped.setdefault(reason, []).append(skipped_case)
        group[0] += cases
        group[2] += float(case.get("time") or 0)
        status = case.get("status")
        if case.find("failure") is not None or status == "fail":
            group[1] += failures or 1
            failed.append((name, end_of(case)))
        elif case.find("skipped") is not None or status in ("notrun", "disabled"):
            skipped.setdefault(reason_of(case), []).append(name.split("  # ")[0])
    slowest = sorted(groups.items(), key=lambda item: -item[1][2])[:12]
    print(f"{'slowest groups':44} tests  failed  seconds")
    for name, (tests, failures, seconds) in slowest:
        print(f"{name:44} {tests:5} {failures:7} {seconds:8.1f}")
    total = sum(group[0] for group in groups.values())
    for reason, names in skipped.items():
        print(f"skipped: {reason}: {', '.join(names)}")
    for name, printed in failed:
        print("\n".join([f"FAILED: {name}"] + printed))
    for name, _ in failed:
        print(f"FAILED: {name}")
    print(f"{total} tests, {sum(group[1] for group in groups.values())} failed, {sum(len(names) for names in skipped.values())} skipped")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
