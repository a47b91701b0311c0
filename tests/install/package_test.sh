#!/bin/bash
# package_test.sh <build folder> <cmake> <model folder>: makes the packages, unpacks them into empty folders, and uses what
# is there: programs, a project that finds Tenon by CMake, and one by pkg-config.
set -euo pipefail
build=$1
cmake=$2
model=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1"; if [[ -s $work/log ]]; then tail -n 50 "$work/log"; fi; exit 1; }

if ! command -v dpkg-deb > /dev/null || ! command -v dpkg-shlibdeps > /dev/null; then
  echo "needs dpkg-deb and dpkg-shlibdeps (package dpkg-dev)"
  exit 77
fi
version=$(sed -n 's/^#define TENON_VERSION "\(.*\)"/\1/p' "$root/frontends/cpp/version.h")
(cd "$work" && "$(dirname "$cmake")/cpack" --config "$build/CPackConfig.cmake" -B "$work/packages") > "$work/log" 2>&1 || fail "cpack"
deb=$(echo "$work"/packages/tenon_"$version"*.deb)
archive=$(echo "$work"/packages/tenon-"$version"-*.tar.gz)
[[ -f $deb && -f $archive ]] || fail "expected a .deb and a .tar.gz in $(ls "$work/packages")"

# What the package says that it needs is installed here, and covers every library that its files name.
depends=$(dpkg-deb --field "$deb" Depends)
for needed in libc6 libstdc++6 libfmt libprotobuf libabsl; do
  [[ $depends == *"$needed"* ]] || fail "Depends lacks $needed: $depends"
done
dpkg-deb -x "$deb" "$work/root"
mkdir -p "$work/debian"
printf 'Source: tenon\n\nPackage: tenon\nArchitecture: any\nDescription: test\n' > "$work/debian/control"
(cd "$work" && dpkg-shlibdeps -O -e root/usr/bin/ir-opt -e "root/usr/lib/libtenon.so.$version") > "$work/needed" 2> "$work/log" ||
  fail "dpkg-shlibdeps"
for name in $(sed 's/^shlibs:Depends=//; s/([^)]*)//g; s/,/ /g' "$work/needed"); do
  [[ ", $depends," == *", $name"[\ ,]* ]] || fail "Depends lacks $name: $depends"
done

# The archive has the same files. No text of them names the build.
mkdir "$work/archive"
tar -xzf "$archive" -C "$work/archive" --strip-components=1
(cd "$work/root/usr" && find . -type f | sort) > "$work/files.deb"
(cd "$work/archive" && find . -type f | sort) > "$work/files.tar"
diff "$work/files.deb" "$work/files.tar" > "$work/log" || fail "the packages have different files"
if grep -r -I -l -F -e "$build" -e "$root" "$work/root" > "$work/log"; then fail "these files name folders of the build"; fi

# From here on only the unpacked package is there: the checkout and its build are hidden where that is allowed.
cp -r "$root/examples/embedding" "$work/embedding"
cp -r "$model" "$work/model"
cat > "$work/use" <<END
set -euo pipefail
prefix=$work/root/usr
"\$prefix/bin/ir-run" "$work/model/model.onnx" --runs=1
"$cmake" -G Ninja -S "$work/embedding" -B "$work/app" -DCMAKE_PREFIX_PATH="\$prefix" -DCMAKE_BUILD_TYPE=Release -DTENON_LIBRARY=tenon::shared
"$cmake" --build "$work/app"
"$work/app/embedding" "$work/model/model.onnx" "$work/app/libacme.so"
"\$prefix/bin/ir-opt" "$work/model/model.onnx" -O2 -o "$work/out.mlir" --load-plugin="$work/app/libacme.so"
grep -q acme.scaled_gelu "$work/out.mlir"
export PKG_CONFIG_PATH=\$prefix/lib/pkgconfig
[[ \$(pkg-config --modversion tenon) == $version ]]
flags=\$(pkg-config --cflags --libs tenon)
printf '#include <cstdio>\n#include "tenon/frontends/cpp/tenon.h"\nint main(int, char** v) { auto m = tenon::Load(v[1]); std::puts(m.ok() ? "loaded" : "failed"); return !m.ok(); }\n' > "$work/small.cc"
c++ "$work/small.cc" -o "$work/small" \$flags -Wl,-rpath,"\$prefix/lib"
"$work/small" "$work/model/model.onnx"
END
if unshare --mount true 2> /dev/null; then
  unshare --mount bash -c "mount -t tmpfs none '$root' && bash '$work/use'" > "$work/log" 2>&1 || fail "with the package alone"
else
  bash "$work/use" > "$work/log" 2>&1 || fail "with the package"
fi
for expected in "acme-scaled-gelu fired 2 times" "loaded"; do
  grep -q "$expected" "$work/log" || fail "expected '$expected'"
done
echo "ok: $(basename "$deb"), $(basename "$archive")"
