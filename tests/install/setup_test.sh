#!/bin/bash
# tools/setup without apt, without root, and with nothing to do: what it says and how it ends.
set -euo pipefail
setup=$(cd "$(dirname "$0")/../.." && pwd)/tools/setup
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in bash sed tr env printf cat mktemp rm; do
  ln -s "$(command -v "$tool")" "$work/$tool"
done
stub() { printf '#!/bin/bash\n%s\n' "$2" > "$work/$1"; chmod +x "$work/$1"; }
fail() { echo "FAILED: $1"; echo "$output"; exit 1; }
run() { status=0; output=$(PATH=$work "$work/bash" "$setup" "$@" 2>&1 < /dev/null) || status=$?; }

stub id 'echo 1000'
run
[[ $status == 2 && $output == *libabsl-dev* && $output == *"no apt-get"* ]] || fail "without dpkg and apt"

stub dpkg-query 'printf "ii  g++\nii  cmake\nrc  ninja-build\n"'
stub apt-get 'echo "apt-get was called"; exit 0'
run
[[ $status == 2 && $output == *"apt-get install ninja-build"* && $output != *"g++"* ]] || fail "without root"
[[ $output != *"was called"* ]] || fail "without root, apt-get must not be called"

run --dry-run --with-mlir
[[ $status == 0 && $output == *mlir-22-tools* && $output != *cmake* ]] || fail "--dry-run"

run --wrong
[[ $status == 2 && $output == *"--wrong"* ]] || fail "unknown option"

stub id 'echo 0'
stub apt-get 'exit 100'
run
[[ $status == 2 && $output == *"could not install"* ]] || fail "apt-get fails"
stub apt-get 'exit 0'
run
[[ $status == 0 && $output == *done* ]] || fail "apt-get succeeds"

stub dpkg-query 'for name in g++ cmake ninja-build ccache pkg-config libabsl-dev libfmt-dev libxxhash-dev \
  nlohmann-json3-dev libprotobuf-dev:amd64 protobuf-compiler libdnnl-dev ocl-icd-opencl-dev:amd64 libhwy-dev libxbyak-dev \
  python3 python3-dev python3-venv python3-yaml libre2-dev libjpeg-dev libpng-dev libwebp-dev libtiff-dev libopenjp2-7-dev; do echo "ii  $name"; done'
stub apt-get 'echo "apt-get was called"; exit 1'
run
[[ $status == 0 && $output == *"are installed"* ]] || fail "nothing to do"
echo "ok"
