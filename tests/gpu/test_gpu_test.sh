#!/bin/bash
# tools/test-gpu where there is no device, and with an emulated one.
#
#   test_gpu_test.sh BUILD_FOLDER EMULATED_PLUGIN
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
export TENON_CUDA_PLUGIN=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
smi() {
  printf '#!/bin/bash\n%s\n' "$1" > "$folder/nvidia-smi"
  chmod +x "$folder/nvidia-smi"
}
# expect STATUS TEXT ARGUMENT...
expect() {
  local status=0
  PATH=$folder:$PATH TENON_TEST_GPU_RESULTS=$folder/results tools/test-gpu "${@:3}" > "$folder/out" 2>&1 || status=$?
  if [[ $status != "$1" ]] || ! grep -q -e "$2" "$folder/out"; then
    cat "$folder/out"
    echo "exit status $status (expected $1) of: test-gpu ${*:3}; expected in the output: $2"
    exit 1
  fi
}
smi 'exit 9'
expect 2 'no CUDA device'
smi 'echo "GPU 0: emulated"'
expect 2 'unknown option --no' --no
expect 2 'not there' --prebuilt "$folder"
few=(--prebuilt "$build" --quick --tests '*OnADevice/cuda_softmax' --models 'bert.eager*')
expect 0 '^PASS' "${few[@]}"
grep -q '^bert.eager.ts17  *ok .* 0 operations' "$folder/out"
grep -q '^1 ran, 0 assertions failed' "$folder/out"
[[ -s $folder/results/bert.eager.ts17.profile.json && -s $folder/results/bert.eager.ts17.cuda.json ]]
# The same from an archive, with the libraries in it.
expect 0 'few.tar.gz: ' --prebuilt "$build" --pack "$folder/few.tar.gz"
mkdir "$folder/few"
tar -C "$folder/few" -xzf "$folder/few.tar.gz"
TENON_CUDA_PLUGIN= expect 0 '^PASS' "${few[@]}" --prebuilt "$folder/few"
# A plugin that is not there.
TENON_CUDA_PLUGIN=$folder/none.so expect 2 'not there' "${few[@]}"
# Results that are wrong.
mkdir "$folder/wrong"
cp -r tests/models/bert.eager.ts17/. "$folder/wrong"
cp "$folder/wrong/test_data_set_1/output_0.pb" "$folder/wrong/test_data_set_0/output_0.pb"
expect 1 '^wrong  *FAIL' "${few[@]}" "$folder/wrong/model.onnx"
