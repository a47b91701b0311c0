#!/bin/bash
# tools/test-gpu where there is no device, and with an emulated one.
#
#   test_gpu_test.sh BUILD_FOLDER EMULATED_PLUGIN
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
results=""
export TENON_CUDA_PLUGIN=$2
tool=$PWD/tools/test-gpu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
smi() {
  printf '#!/bin/bash\n%s\n' "$1" > "$folder/nvidia-smi"
  chmod +x "$folder/nvidia-smi"
}
# expect STATUS TEXT ARGUMENT...
expect() {
  local status=0
  PATH=$folder:$PATH TENON_TEST_GPU_RESULTS=${results:-$folder/results} "$tool" "${@:3}" > "$folder/out" 2>&1 \
    || status=$?
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
grep -q '^bert.eager.ts17  *ok .* 0 fallbacks' "$folder/out"
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
# Paths are the caller's; models in folders of one name keep their results apart.
mkdir -p "$folder/caller/one" "$folder/caller/two"
cp -r tests/models/bert.eager.ts17 "$folder/caller/one/model"
cp -r tests/models/bert.eager.ts17 "$folder/caller/two/model"
ln -s "$build" "$folder/caller/build"
cd "$folder/caller"
results=results expect 0 '^PASS' "${few[@]}" --prebuilt build one/model/model.onnx two/model/model.onnx
grep -q '^model  *ok' "$folder/out"
grep -q '^model.2  *ok' "$folder/out"
[[ -s results/model.cuda.json && -s results/model.2.cuda.json ]]
expect 0 'packed.tar.gz: ' --prebuilt build --pack packed.tar.gz
[[ -s packed.tar.gz ]]
# The folder of results is emptied if it is one, and left alone if it is not.
touch results/old.txt
mkdir results/kept
touch results/kept/mine results/mine.onnx
results=results expect 0 '^PASS' "${few[@]}"
[[ ! -e results/old.txt && ! -e results/model.json && -s results/summary.txt ]]
[[ -e results/kept/mine && -e results/mine.onnx ]]
touch one/summary.txt
results=one expect 2 'has no summary.txt of earlier results' "${few[@]}"
[[ -s one/model/model.onnx ]]
