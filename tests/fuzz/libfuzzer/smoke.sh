#!/bin/bash
# smoke.sh <target> <seconds>: runs a target on its seeds and on what libFuzzer makes of them.
# It fails if an input breaks a promise, and if the run did not get beyond the seeds.
set -euo pipefail
target=$1
seconds=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/seeds" "$work/found"
cd "$work"

TENON_WRITE_SEEDS=$work/seeds "$target" -runs=0 "$work/found" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
seeds=$(find "$work/seeds" -type f | wc -l)
if [[ $seeds -lt 4 ]]; then
  echo "$target wrote $seeds seeds (expected 4 at least)"
  exit 1
fi
status=0
"$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -seed=1 -print_final_stats=1 \
  -artifact_prefix="$work/found/broken-" "$work/found" "$work/seeds" > "$work/log" 2>&1 || status=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
if [[ $status != 0 || ${runs:-0} -le $seeds ]]; then
  tail -n 60 "$work/log"
  for file in "$work"/found/broken-*; do
    if [[ -f $file ]]; then echo "the input, in base64:"; base64 "$file" | head -c 8000; fi
  done
  echo "$target: exit status $status after ${runs:-0} inputs"
  exit 1
fi
echo "$runs inputs, $seeds of them seeds"
