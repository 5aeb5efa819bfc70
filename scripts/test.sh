#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: test.sh [ARGUMENTS OF ctest...]
# What else can be set: scripts/lib/setup.sh.
set -euo pipefail
# shellcheck source=scripts/lib/setup.sh
. "$(dirname "$0")/lib/setup.sh"

need_packages "${build_packages[@]}" "${test_packages[@]}"
build_targets all
say "testing (after $((SECONDS - started)) s)"
cd "$root"
exec ctest --preset "$preset" --parallel "$(nproc)" "$@"
