#!/usr/bin/env python3
"""Resident memory that processes share when they run one saved program.

  shared_memory.py IR_BENCH PROGRAM [--inputs DIR] [--processes 2] [--check SHARE] [--json FILE]

PROGRAM is a file of `ir-run --save-program`. Each process loads it and runs it again and again. The system counts for each
mapping the resident bytes (Rss), and a proportional part of those that several processes have (Pss). Printed are the mean
Rss and Pss of the mapping of PROGRAM, in MB. --check fails if Pss is more than SHARE times Rss: with N processes the least
is 1/N. FILE gets the figures as JSON.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def resident(pid, path):
    """Rss and Pss of the mapping of `path` in a process, in KiB. None once it has ended."""
    sums = [0, 0]
    of_file = False
    try:
        with open(f"/proc/{pid}/smaps", encoding="utf-8") as smaps:
            for line in smaps:
                key, _, rest = line.partition(":")
                if key in ("Rss", "Pss"):
                    sums[key == "Pss"] += int(rest.split()[0]) if of_file else 0
                elif "-" in line.split(" ", 1)[0]:
                    of_file = line.rstrip("\n").endswith(path)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return sums


def measure(options):
    """The mean over the processes of the sample in which their mappings had the most resident bytes."""
    path = os.path.realpath(options.program)
    command = [options.ir_bench, path, "--threads=1", "--rounds=100000", f"--time={options.seconds}"]
    if options.inputs:
        command.append(f"--inputs={options.inputs}")
    best = None
    with tempfile.TemporaryFile("w+") as output:
        processes = [subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) for _ in range(options.processes)]
        while all(process.poll() is None for process in processes):
            sample = [resident(process.pid, path) for process in processes]
            if None not in sample and (best is None or sum(one[0] for one in sample) > sum(one[0] for one in best)):
                best = sample
            time.sleep(0.1)
        if any(process.wait() for process in processes):
            output.seek(0)
            sys.exit(f"shared_memory.py: {command[0]} failed:\n{output.read()}")
    if best is None:
        sys.exit("shared_memory.py: the processes ended before they were measured")
    return {f"{kind}_mb": round(statistics.mean(one[kind == "pss"] for one in best) / 1024, 1) for kind in ("rss", "pss")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ir_bench")
    parser.add_argument("program")
    parser.add_argument("--inputs")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=5, help="how long each process runs (default: 5)")
    parser.add_argument("--check", type=float)
    parser.add_argument("--json")
    options = parser.parse_args()
    figures = {"processes": options.processes, **measure(options)}
    print(f"{options.processes} processes: {figures['rss_mb']} MB of the file resident, {figures['pss_mb']} MB a process")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(figures, out)
    if options.check is not None and figures["pss_mb"] > options.check * figures["rss_mb"]:
        return f"shared_memory.py: more than {options.check} of the mapping is a process's own"
    return 0


if __name__ == "__main__":
    sys.exit(main())
