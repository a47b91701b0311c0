#!/bin/bash
# The CUDA plugin on the model of CUDA (cuda_model/): kernels and models agree with the CPU, and a call that fails,
# whichever it is, is an error and no crash.
#
#   cuda_model_test.sh BUILD_FOLDER PLUGIN
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
export TENON_CUDA_PLUGIN=$2
# The model of CUDA runs kernels in the emulator. Attention of the sizes of models takes minutes there, and the tests of
# the emulated device reach each of its ways.
"$build/tests/tenon_gpu_test" --gtest_filter='*OnADevice*-GpuAttentionTest.*' --gtest_brief=1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# run MODEL RUNS ARGUMENT...
run() { "$build/bin/ir-run" "tests/models/$1/model.onnx" --device cuda --runs="$2" --check "tests/models/$1" "${@:3}"; }
for model in bert.eager.ts17 llama_past.sdpa.ts17; do run "$model" 3 > /dev/null; done
for precision in bf16 int8; do run bert.eager.ts17 1 --precision="$precision" > /dev/null; done
TENON_CUDA_TF32=1 run bert.eager.ts17 1 --atol=1e-2 --rtol=1e-2 > /dev/null

# A device that the plugin has no code for is refused when it is opened.
if TENON_CUDA_MODEL_IS_NEWER=1 run bert.eager.ts17 1 > "$out" 2>&1 \
  || ! grep -q 'was built for compute capability 8.0 and 9.0, .*CMAKE_CUDA_ARCHITECTURES=90' "$out"; then
  cat "$out"
  echo "a device without code is not refused with a reason"
  exit 1
fi

# The first calls one by one, later ones here and there, until the run has fewer.
failed=0
for ((call = 1; ; call += call < 40 ? 1 : call / 12)); do
  status=0
  TENON_CUDA_MODEL_FAILS=$call run bert.eager.ts17 3 > "$out" 2>&1 || status=$?
  if ((status >= 128)); then
    cat "$out"
    echo "ir-run ended with $status where call $call fails"
    exit 1
  fi
  if ((status != 0)); then
    failed=$((failed + 1))
    grep -q 'ir-run: ' "$out" || { cat "$out"; echo "no message where call $call fails"; exit 1; }
  elif ((call > 2000)); then
    break
  fi
done
((failed > 40)) || { echo "only $failed of the calls that failed were noticed"; exit 1; }
