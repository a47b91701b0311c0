#!/bin/bash
# consumer_test.sh <build folder> <cmake> <model folder>: installs Tenon into a fresh prefix, builds main.cc against
# it with find_package, and runs it on a model.
set -euo pipefail
build=$1
cmake=$2
model=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# Nothing installed may point back into the source or the build folder.
if grep -r -l -F -e "$build" -e "$(cd "$here/../.." && pwd)" "$work/prefix/lib/cmake"; then
  echo "FAILED: the files above name folders of the build"
  exit 1
fi
{
  "$cmake" -G Ninja -S "$here" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release &&
    "$cmake" --build "$work/consumer"
} > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/consumer/consumer" "$model/model.onnx"
