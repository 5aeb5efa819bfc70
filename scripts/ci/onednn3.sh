#!/usr/bin/env bash
# The oneDNN provider with version 3 of the library, whose interface differs from Debian's 2: onednn3.sh [FOLDER]
# The library comes from PyPI's builds for GNU OpenMP and goes to FOLDER (default: build/onednn3), as does the build.
# Exit status 77: it cannot be had here.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-build/onednn3}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
version=2023.2.0 # of oneAPI; oneDNN 3.2

if [ ! -e "$folder/root/lib/libdnnl.so" ]; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" download --quiet --no-deps --dest "$folder/wheels" "onednn-cpu-gomp==$version" \
    "onednn-devel-cpu-gomp==$version" || {
    echo "note: not run: PyPI's oneDNN $version cannot be had"
    exit 77
  }
  rm -rf "$folder/root" "$folder/part"
  for wheel in "$folder"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$folder/part"; done
  mkdir "$folder/root"
  cp -a "$folder"/part/*.data/data/{lib,include} "$folder/root" 2>/dev/null || true # not every wheel has both
  ln -sf libdnnl.so.3 "$folder/root/lib/libdnnl.so" # wheels hold no links
fi

cmake --fresh --preset ci -B "$folder/build" -G Ninja -DTRAINBENCH_CUDA=OFF \
  "-DCMAKE_PREFIX_PATH=$folder/root"
grep -q "^trainbench_onednn_LIBRARY.*=$folder/root/lib/libdnnl.so$" -i "$folder/build/CMakeCache.txt" || {
  echo "onednn3.sh: CMake took another oneDNN" >&2
  exit 1
}
tests=(cpu_matmul_test cpu_convolution_provider_test ops_conv2d_test)
cmake --build "$folder/build" --parallel "$(nproc)" --target "${tests[@]}"
linked=$(ldd "$folder/build/tests/cpu/cpu_matmul_test")
[[ $linked == *"libdnnl.so.3 "* ]] || {
  echo "onednn3.sh: the tests use another oneDNN" >&2
  exit 1
}
(IFS='|' && ctest --test-dir "$folder/build" --tests-regex "^(${tests[*]})$" --no-tests=error --output-on-failure)
