#!/usr/bin/env python3
"""Runs one group of the cases of a GoogleTest program in one process.

  run_cases.py PROGRAM --group I --of N [--case-seconds S]

A process for each case costs its start, which sanitizers make long. A case that fails prints what it would print
alone. A case that ends the process, or takes longer than S seconds, fails, and the cases behind it run in another
process. Where the process fails after all of its cases passed (a leak), each of them runs alone to find which it was.
The first line says how many cases ran. Each skipped case has a line with its reason. Exit status: 0 all passed, 1 a
case failed, 2 the group cannot run."""

import argparse
import os
import re
import selectors
import subprocess
import sys
import time

STARTED = re.compile(r"\[ RUN      \] (\S+)$")
ENDED = re.compile(r"\[ {2}(?:     OK|FAILED |SKIPPED) \] ([^\s,]+)")
KINDS = (("[       OK ]", "passed"), ("[  FAILED  ]", "failed"), ("[  SKIPPED ]", "skipped"))


def case_names(listing):
    """The names of cases in the output of --gtest_list_tests."""
    suite, names = "", []
    for line in listing.splitlines():
        name = line.split("#")[0].rstrip()
        if name.startswith("  "):
            names.append(suite + name.strip())
        elif re.fullmatch(r"\S+\.", name):
            suite = name
    return names


def reason_of(output):
    """Why a case was skipped: the line behind GoogleTest's "Skipped"."""
    lines = [line.strip() for line in output if line.strip()]
    for line, following in zip(lines, lines[1:]):
        if line.endswith("Skipped"):
            return following
    return "no reason given"


class Group:
    """The cases of one group, and what became of them."""

    def __init__(self, program, environment, seconds):
        self.program = program
        self.environment = environment
        self.seconds = seconds
        self.results = {}  # name -> (kind, lines of output)

    def run(self, names=None):
        """Runs the named cases, all of the group by default. Returns the last case that began and did not end, the exit
        status, whether it took too long, and the output outside of cases."""
        command = [self.program, "--gtest_color=no"]
        environment = self.environment
        if names is not None:
            command.append("--gtest_filter=" + ":".join(names))
            environment = {key: value for key, value in environment.items() if not key.startswith("GTEST_")}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        selector = selectors.DefaultSelector()
        selector.register(process.stdout, selectors.EVENT_READ)
        case, output, outside, rest = None, [], [], b""
        deadline, late = time.monotonic() + self.seconds, False
        while True:
            if not selector.select(max(0, deadline - time.monotonic())):
                late = True
                process.kill()
                break
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            *lines, rest = (rest + chunk).split(b"\n")
            if not chunk and rest:
                lines, rest = [rest], b""
            for line in lines:
                line = line.decode(errors="replace")
                if match := STARTED.match(line):
                    case, output = match[1], []
                    deadline = time.monotonic() + self.seconds
                elif case and (match := ENDED.search(line)) and match[1] == case:
                    kind = next(kind for mark, kind in KINDS if mark in line)
                    self.results[case] = (kind, output + [line])
                    case, output = None, []
                    deadline = time.monotonic() + self.seconds
                elif case:
                    output.append(line)
                else:
                    outside.append(line)
            if not chunk:
                break
        process.stdout.close()
        status = process.wait()
        if case is not None:
            why = f"took longer than {self.seconds} s" if late else f"ended the process (status {status})"
            self.results[case] = ("failed", output + [f"{case} {why}"])
        return case, status, late, outside


def listed(program, environment):
    done = subprocess.run([program, "--gtest_list_tests"], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{program} --gtest_list_tests ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
        sys.exit(2)
    return case_names(done.stdout)


def run_group(group):
    """Runs all cases; returns messages on what failed outside of cases."""
    messages = []
    cut, status, late, outside = group.run()
    while cut is not None:
        rest = [name for name in listed(group.program, group.environment) if name not in group.results]
        if not rest:
            return messages
        cut, status, late, outside = group.run(rest)
    if late:
        return ["\n".join(outside + [f"the program did not end within {group.seconds} s"])]
    if status == 0 or any(kind == "failed" for kind, _ in group.results.values()):
        return messages
    # Nothing says in which case it leaked.
    for name in list(group.results):
        _, alone, _, printed = group.run([name])
        if alone != 0 and group.results[name][0] != "failed":
            group.results[name] = ("failed", printed + [f"{name} passed, and its process ended with status {alone}"])
    if not any(kind == "failed" for kind, _ in group.results.values()):
        messages.append("\n".join(outside + [f"all cases passed, and their process ended with status {status}"]))
    return messages


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--group", type=int, required=True)
    parser.add_argument("--of", type=int, required=True)
    parser.add_argument("--case-seconds", type=float, default=300)
    args = parser.parse_args(arguments)
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(args.of), "GTEST_SHARD_INDEX": str(args.group)}
    group = Group(args.program, environment, args.case_seconds)
    messages = run_group(group)
    of_kind = {"passed": [], "failed": [], "skipped": []}
    for name, (kind, _) in group.results.items():
        of_kind[kind].append(name)
    print(", ".join(f"{len(names)} cases {kind}" for kind, names in of_kind.items()))
    for name in of_kind["skipped"]:
        print(f"skipped {name}: {reason_of(group.results[name][1])}")
    for name in of_kind["failed"]:
        print("\n".join(["", f"failed {name}"] + group.results[name][1]))
    for message in messages:
        print(message)
    for name in of_kind["failed"]:
        print(f"FAILED: {name}")
    return 1 if of_kind["failed"] or messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
