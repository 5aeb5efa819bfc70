# Shared by the scripts: packages, configuring and building, each with one line of progress on standard error.
# Standard output stays the program's own. Source it after `set -euo pipefail`.
#   TRAINBENCH_PRESET      preset of CMakePresets.json (release)
#   TRAINBENCH_CMAKE_ARGS  further arguments of cmake, separated by blanks
#   TRAINBENCH_INSTALL=0   install nothing: build with what is there

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
preset=${TRAINBENCH_PRESET:-release}
build=$root/build/$preset
logs=$build/log
started=$SECONDS

# Debian 12, Ubuntu 24.04 and newer name these alike.
build_packages=(cmake g++ git ninja-build libbenchmark-dev libcli11-dev libeigen3-dev libgtest-dev
                nlohmann-json3-dev zlib1g-dev)
# Providers and data: used where a release has them, not missed where it does not.
optional_packages=(bible-kjv dataset-fashion-mnist libdnnl-dev libopenblas-openmp-dev)
test_packages=(libbenchmark-tools python3-jsonschema python3-scipy)

say() { echo "trainbench: $*" >&2; }

# die CODE MESSAGE: 1 where a step failed, 2 where this machine or the command line is at fault.
die() {
  say "$2"
  exit "$1"
}

# On a terminal, how far a build is, by its own count: ninja's "[12/224]" or make's "[ 12%]".
show_counts() {
  if [ ! -t 2 ]; then
    cat >/dev/null
    return
  fi
  local line
  while IFS= read -r line; do
    if [[ $line =~ ^\[\ *([0-9/]+%?)\] ]]; then printf '\r%s ' "${BASH_REMATCH[1]}" >&2; fi
  done
  printf '\r\033[K' >&2
}

# quietly LOG COMMAND...: runs it with its output in LOG; where it fails, shows the end of that and stops.
quietly() {
  local log=$logs/$1.log
  shift
  mkdir -p "$logs"
  if ! "$@" 2>&1 </dev/null | tee "$log" | show_counts; then
    tail -n 30 "$log" >&2
    die 1 "'$*' failed; the whole output is in $log"
  fi
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# need_packages NAME...: installs those that are missing, as root or through sudo.
need_packages() {
  [ "${TRAINBENCH_INSTALL:-1}" != 0 ] || return 0
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    die 2 "no apt on this machine; install the like of these and set TRAINBENCH_INSTALL=0: $* ${optional_packages[*]}"
  fi
  local name missing=() optional=()
  for name in "$@"; do installed "$name" || missing+=("$name"); done
  for name in "${optional_packages[@]}"; do installed "$name" || optional+=("$name"); done
  # A release that lacks an optional package is asked once, not at every start.
  local asked=$logs/optional-packages
  if [ ${#missing[@]} -eq 0 ] && [ "${optional[*]}" = "$(cat "$asked" 2>/dev/null)" ]; then return 0; fi

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    elif [ ${#missing[@]} -eq 0 ]; then
      return 0
    else
      die 2 "packages are missing and neither root nor sudo is at hand; run: apt-get install ${missing[*]} ${optional[*]}"
    fi
  fi
  say "packages: installing ${missing[*]} ${optional[*]}"
  [ ${#as_root[@]} -eq 0 ] || "${as_root[@]}" true
  quietly apt-update "${as_root[@]}" apt-get update
  local offered=() policy
  for name in "${optional[@]}"; do
    policy=$(apt-cache policy "$name")
    if [[ $policy == *"Candidate: "[^\(]* ]]; then offered+=("$name"); fi
  done
  quietly apt-install "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" "${offered[@]}"
  # What CMake remembers of the libraries it looked for is no longer true.
  rm -f "$build/CMakeCache.txt"
  optional=()
  for name in "${optional_packages[@]}"; do installed "$name" || optional+=("$name"); done
  echo "${optional[*]}" >"$asked"
}

# build_targets TARGET...: configures where needed, then builds; a second time this takes a second or so.
build_targets() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  [ -n "$version" ] || die 2 "cmake is not installed; 3.25 or newer is needed"
  [ "$(printf '%s\n' 3.25 "$version" | sort -V | sed -n 1p)" = 3.25 ] ||
    die 2 "cmake $version is too old; 3.25 or newer is needed (Debian 12, Ubuntu 24.04)"

  local -a arguments launcher=()
  read -rd '' -a arguments <<<"${TRAINBENCH_CMAKE_ARGS:-}" || true
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  local generator="Unix Makefiles"
  command -v ninja >/dev/null && generator=Ninja
  if [ -f "$build/CMakeCache.txt" ]; then  # a build folder keeps its generator
    generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
  fi
  # What configuring depends on is compared, so that it is not done at every start; the rest CMake sees itself.
  local wanted
  wanted="$generator ${launcher[*]} ${arguments[*]} $(cksum <"$root/CMakePresets.json")"
  if [ ! -f "$build/CMakeCache.txt" ] || [ "$wanted" != "$(cat "$logs/configured" 2>/dev/null)" ]; then
    say "configuring in $build"
    rm -f "$logs/configured"
    (cd "$root" && quietly configure cmake --fresh --preset "$preset" -G "$generator" "${launcher[@]}" "${arguments[@]}")
    echo "$wanted" >"$logs/configured"
  fi
  say "building (the first time takes some minutes)"
  quietly build cmake --build "$build" --parallel "$(nproc)" --target "$@"
}
