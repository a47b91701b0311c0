#!/bin/bash
# The CUDA plugin on the model of CUDA (cuda_model/): kernels and models agree with the CPU, and a call that fails,
# whichever it is, is an error and no crash.
#
#   cuda_model_test.sh BUILD_FOLDER PLUGIN
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
export TENON_CUDA_PLUGIN=$2
"$build/tests/tenon_gpu_test" --gtest_filter='*OnADevice*' --gtest_brief=1
run() { "$build/bin/ir-run" "tests/models/$1/model.onnx" --device cuda --runs="$2" --check "tests/models/$1"; }
for model in bert.eager.ts17 llama_past.sdpa.ts17; do run "$model" 3 > /dev/null; done

# The first calls one by one, later ones here and there, until the run has fewer.
out=$(mktemp)
trap 'rm -f "$out"' EXIT
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
