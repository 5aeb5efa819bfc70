#!/usr/bin/env bash
# The portable build (preset portable) with fetched libraries (TRAINBENCH_FETCH), offline.
# The libraries' sources come from Debian's archive: where it has the very file that is pinned in
# cmake/TrainbenchDependencies.cmake, that one, else the release it has. They are kept in build/fetched. Nothing is
# installed and apt's own lists stay as they are.
# Exit status 77: the sources cannot be had here, and nothing was built.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$PWD/build/fetched
mkdir -p "$folder"
sources=$folder/sources
build=$PWD/build/portable
jobs=$(nproc)
# The name in TrainbenchDependencies.cmake, Debian's source package, and where the system would have its headers.
libraries=(
  "zlib zlib z(lib|conf)\.h"
  "eigen eigen3 eigen3/"
  "json nlohmann-json3 nlohmann/"
  "cli11 cli11 CLI/"
  "benchmark benchmark benchmark/"
  "googletest googletest g(test|mock)/"
)

not_run() {
  echo "note: not run: $*"
  exit 77
}

fail() {
  echo "fetched.sh: $*" >&2
  exit 1
}

# Downloads and unpacks upstream's archives, without Debian's patches, to $sources/NAME.
unpack_sources() {
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg apt=$folder/apt library name package header archive
  local packages=()
  for library in "${libraries[@]}"; do
    read -r name package header <<<"$library"
    [ -d "$sources/$name" ] || packages+=("$package")
  done
  [ ${#packages[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || not_run "no apt-get to get the libraries' sources with"
  [ -r $keyring ] || not_run "$keyring, the key of Debian's archive, is not here"

  rm -rf "$apt"
  mkdir -p "$apt"/{lists,cache,archives}/partial "$sources"
  echo "deb-src [signed-by=$keyring] http://deb.debian.org/debian bookworm main" >"$apt/sources.list"
  local options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
                 -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Update::Error-Mode=any
                 -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=2)
  apt-get "${options[@]}" update || not_run "Debian's list of sources cannot be had"
  (cd "$apt/archives" && apt-get "${options[@]}" source --download-only "${packages[@]}") ||
    not_run "Debian's sources of ${packages[*]} cannot be had"

  for library in "${libraries[@]}"; do
    read -r name package header <<<"$library"
    [ ! -d "$sources/$name" ] || continue
    archive=$(echo "$apt/archives/$package"_*.orig.tar.*)
    mkdir "$sources/$name.part"
    tar -xf "$archive" -C "$sources/$name.part" --strip-components=1
    if grep -q "$(sha256sum "$archive" | cut -d ' ' -f 1)" cmake/TrainbenchDependencies.cmake; then
      echo "$name as pinned" >"$folder/$name.origin"
    else
      archive=${archive##*/"${package}_"}
      echo "$name ${archive%.orig.tar.*}, another release" >"$folder/$name.origin"
    fi
    mv "$sources/$name.part" "$sources/$name"
  done
  rm -rf "$apt"
}

# Configures as on a machine that has none of the libraries. configure ARGUMENTS OF cmake...
configure() {
  local arguments=() library name rest
  for library in "${libraries[@]}"; do
    read -r name rest <<<"$library"
    arguments+=("-DFETCHCONTENT_SOURCE_DIR_${name^^}=$sources/$name")
  done
  cmake --fresh -G Ninja "$@" -DTRAINBENCH_FETCH=ON -DFETCHCONTENT_FULLY_DISCONNECTED=ON "${arguments[@]}"
}

# Every library served headers of its fetched source, and the system's copy of none was found, read or linked.
check_origin() {
  local library name package header found
  ninja -C "$build" -t deps >"$folder/headers"
  ninja -C "$build" -t commands trainbench data_idx_test >"$folder/commands"
  for library in "${libraries[@]}"; do
    read -r name package header <<<"$library"
    grep -qF "/sources/$name/" "$folder/headers" || fail "$name: no header of $sources/$name was used"
    found=$(grep -m 1 -E "^ +/usr/(local/)?include/$header" "$folder/headers") && fail "$name: the system's$found was used"
  done
  found=$(grep -m 1 -oE "[^ ]*/lib(z|benchmark|benchmark_main|gtest|gtest_main|gmock)\.so[^ ]*|-l(z|benchmark|gtest)\b|/usr/[^ ]*/lib(z|benchmark|gtest)[a-z_]*\.a" \
    "$folder/commands") && fail "the system's $found was linked"
  found=$(ldd "$build/trainbench" "$build/tests/data/data_idx_test" | grep -E 'lib(z|benchmark|gtest)[_.]' | sed -n 1p) &&
    fail "a shared library is needed: $found"
  found=$(grep -E '^(ZLIB|Eigen3|nlohmann_json|CLI11|benchmark|GTest)_(DIR|LIBRARY[A-Z_]*|INCLUDE_DIR):.*=/' \
    "$build/CMakeCache.txt") && fail "CMake looked at the system: $found"
  echo "note: libraries: $(cat "$folder"/*.origin | paste -s -d ';')"
}

# A debug build of ours still has the benchmark library optimized, as its numbers would else be wrong.
check_debug() {
  configure -S . -B "$folder/debug" -DCMAKE_BUILD_TYPE=Debug -DTRAINBENCH_CUDA=OFF
  ninja -C "$folder/debug" -t commands benchmark >"$folder/commands"
  grep -E 'benchmark_runner\.cc\.o ' "$folder/commands" | grep -- '-DNDEBUG' >/dev/null ||
    fail "the benchmark library was built for debugging"
}

# Nothing of the libraries is installed with the program.
check_installed() {
  local prefix=$folder/prefix foreign
  rm -rf "$prefix"
  cmake --install "$build" --prefix "$prefix"
  foreign=$(find "$prefix" -type f -not -path '*/bin/trainbench' -not -path '*/share/trainbench/*' | sed -n 1p)
  [ -z "$foreign" ] || fail "a library's $foreign was installed"
  (cd / && "$prefix/bin/trainbench" list ci)
}

unpack_sources
configure --preset portable "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" # nothing is timed
cmake --build "$build" --parallel "$jobs" --target trainbench data_idx_test
check_origin
check_debug
check_installed
"$build/trainbench" --version
ctest --test-dir "$build" --tests-regex '^data_idx_test$' --no-tests=error --output-on-failure
