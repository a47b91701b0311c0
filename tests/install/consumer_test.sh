#!/bin/bash
# consumer_test.sh <build folder> <cmake> <model folder>: installs Tenon into a fresh prefix, builds
# examples/embedding and examples/guide against it with find_package, and runs them.
set -euo pipefail
build=$1
cmake=$2
model=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# Nothing installed may point back into the source or the build folder.
if grep -r -l -F -e "$build" -e "$root" "$work/prefix/lib/cmake"; then
  echo "FAILED: the files above name folders of the build"
  exit 1
fi
# Public headers carry the prefix, internal ones are not there, and the umbrella compiles.
headers=$work/prefix/include/tenon
for internal in ir/core/context/context_impl.h executor/program_impl.h kernels/cpu/gemm/gemm.h drr/match/matcher.h; do
  [[ -e $root/$internal ]] || { echo "FAILED: $internal is not in the tree: name another internal header"; exit 1; }
  [[ ! -e $headers/$internal ]] || { echo "FAILED: the internal header $internal is installed"; exit 1; }
done
if grep -rnE '#include "(ir|pass|drr|patterns|transforms|kernels|executor|frontends)/' "$headers"; then
  echo "FAILED: the includes above lack tenon/"
  exit 1
fi
echo '#include "tenon/tenon.h"' > "$work/umbrella.cc"
c++ -std=c++20 -fsyntax-only -Wall -Wextra -I "$work/prefix/include" "$work/umbrella.cc"
# Outside of the source tree: what is not installed must not be found by accident. With the archives and with libtenon.so.
cp -r "$root/examples/embedding" "$work/embedding"
for library in tenon shared; do
  {
    "$cmake" -G Ninja -S "$work/embedding" -B "$work/build-$library" -DCMAKE_PREFIX_PATH="$work/prefix" \
             -DCMAKE_BUILD_TYPE=Release -DTENON_LIBRARY=tenon::$library &&
      "$cmake" --build "$work/build-$library"
  } > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  output=$("$work/build-$library/embedding" "$model/model.onnx") || { echo "$output"; exit 1; }
  echo "$output"
  for expected in "acme-scaled-gelu fired 2 times" "first value" "wrong inputs: INVALID_ARGUMENT"; do
    [[ $output == *"$expected"* ]] || { echo "FAILED: tenon::$library: expected '$expected'"; exit 1; }
  done
done
# The shared library has the name of its version, and the program gets Tenon from there alone.
version=$(sed -n 's/^#define TENON_VERSION "\(.*\)"/\1/p' "$root/frontends/cpp/version.h")
needed=$(objdump -p "$work/build-shared/embedding")
[[ $needed == *"NEEDED"*"libtenon.so.$version"* ]] || { echo "FAILED: embedding does not need libtenon.so.$version"; exit 1; }
[[ -e $work/prefix/lib/libtenon.so.$version ]] || { echo "FAILED: there is no $work/prefix/lib/libtenon.so.$version"; exit 1; }
if ! nm -DC --defined-only "$work/prefix/lib/libtenon.so" | grep ' T tenon::Load(' > /dev/null; then
  echo "FAILED: libtenon.so does not export tenon::Load"
  exit 1
fi
# A program in C needs the header and libtenon.so, and neither CMake nor C++.
cc -std=c11 -Wall -Wextra -Werror -pedantic -I "$work/prefix/include" "$root/examples/guide/use_from_c.c" \
   -L "$work/prefix/lib" -ltenon -o "$work/use_from_c"
LD_LIBRARY_PATH="$work/prefix/lib" "$work/use_from_c" > "$work/use_from_c.out"
diff "$root/examples/guide/use_from_c.expected" "$work/use_from_c.out"
# A plugin that was built outside of the tree adds to the installed programs, and to a host that links libtenon.so.
plugin=$work/build-shared/libacme.so
rewritten=$("$work/prefix/bin/ir-opt" "$model/model.onnx" -O2 --acme-merge-scale --elide-resources --load-plugin="$plugin")
[[ $rewritten == *acme.scaled_gelu* ]] || { echo "FAILED: ir-opt --load-plugin=libacme.so rewrites nothing"; exit 1; }
"$work/prefix/bin/ir-run" "$model/model.onnx" --runs=1 --load-plugin="$plugin" > "$work/log" || { cat "$work/log"; exit 1; }
output=$("$work/build-shared/embedding" "$model/model.onnx" "$plugin") || { echo "$output"; exit 1; }
[[ $output == *"acme-scaled-gelu fired 2 times"* ]] || { echo "FAILED: with the plugin: $output"; exit 1; }
# A program that shows no symbols to plugins says so.
if message=$("$work/build-tenon/embedding" "$model/model.onnx" "$plugin" 2>&1) || [[ $message != *"$plugin: "*"undefined symbol"* ]]; then
  echo "FAILED: on a plugin for a program without exports: $message"
  exit 1
fi
# A dialect of YAML outside of the tree, as a plugin: classes, functions for rules, checks and a page.
cp -r "$root/examples/dialect" "$work/dialect"
{
  "$cmake" -G Ninja -S "$work/dialect" -B "$work/build-dialect" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release &&
    "$cmake" --build "$work/build-dialect"
} > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -q '^## dsp.window$' "$work/build-dialect/dsp.dialects/dsp.md" || { echo "FAILED: dsp.md lacks dsp.window"; exit 1; }
plugin=$work/build-dialect/libdsp.so
cat > "$work/signals.mlir" <<'END'
func.func() <{function_type = (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>):
  %half = core.constant() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.mul(%b, %half) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = ten.add(%a, %0) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = dsp.window(%1) <{kind = "hann", size = 8 : i64}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return(%2) : (tensor<2x8xf32>) -> ()
}) : () -> ()
END
"$work/prefix/bin/ir-opt" "$work/signals.mlir" -O2 --load-plugin="$plugin" -o "$work/mixed.mlir"
grep -q 'dsp.mix.*gain = 0.5\|dsp.mix.*gain = 5' "$work/mixed.mlir" || { cat "$work/mixed.mlir"; echo "FAILED: no dsp.mix"; exit 1; }
"$work/prefix/bin/ir-run" "$work/signals.mlir" --runs=1 --load-plugin="$plugin" > "$work/log" || { cat "$work/log"; exit 1; }
"$work/prefix/bin/ir-opt" --check-rules --load-plugin="$plugin" > "$work/log" || { cat "$work/log"; exit 1; }
sed 's/size = 8/size = 7/' "$work/signals.mlir" > "$work/wrong.mlir"
if message=$("$work/prefix/bin/ir-opt" "$work/wrong.mlir" --load-plugin="$plugin" 2>&1) || [[ $message != *"wrong.mlir:6"*"size is not the length"* ]]; then
  echo "FAILED: on a wrong dsp.window: $message"
  exit 1
fi
sed -i 's/\[Pure, Elementwise\]/[Pur]/' "$work/dialect/dsp.yaml"
if "$cmake" --build "$work/build-dialect" > "$work/log" 2>&1 || ! grep -q "dsp.yaml:9: dsp.mix has the unknown trait 'Pur'" "$work/log"; then
  cat "$work/log"
  echo "FAILED: on a wrong dsp.yaml"
  exit 1
fi
# What cannot be loaded ends with a message that names the file.
if message=$("$work/build-tenon/embedding" "$work/missing.onnx" 2>&1) || [[ $message != *missing.onnx* ]]; then
  echo "FAILED: on a missing file: $message"
  exit 1
fi
# The programs that docs/guide quotes print what the tree says.
mkdir -p "$work/checkout/examples" "$work/checkout/tests"
cp -r "$root/examples/guide" "$work/checkout/examples"
ln -s "$root/tests/models" "$work/checkout/tests/models"  # for the programs that run a model
{
  "$cmake" -G Ninja -S "$work/checkout/examples/guide" -B "$work/guide-build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release &&
    "$cmake" --build "$work/guide-build" &&
    "$(dirname "$cmake")/ctest" --test-dir "$work/guide-build" --output-on-failure
} > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
