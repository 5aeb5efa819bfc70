#!/usr/bin/env bash
# Installs what is missing, builds, and runs the program: bench.sh [ARGUMENTS OF trainbench...]
# Without arguments it runs the suite `quick`. What else can be set: scripts/lib/setup.sh.
set -euo pipefail
# shellcheck source=scripts/lib/setup.sh
. "$(dirname "$0")/lib/setup.sh"

need_packages "${build_packages[@]}"
build_targets trainbench
[ $# -gt 0 ] || set -- run quick
say "running trainbench $* (after $((SECONDS - started)) s)"
exec "$build/trainbench" "$@"
