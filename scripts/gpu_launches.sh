#!/usr/bin/env bash
# How many kernels a training step launches, as a table in Markdown: docs/gpu/launches.md.
#   scripts/gpu_launches.sh BUILD [LAUNCHER...]   LAUNCHER: what runs GPU programs, such as "simgpu run --"
# It records steps at the workloads' own sizes, whose count depends on shapes and device, and runs none. Fails where
# the test gpu_launches_test does: more launches than its bounds, an allocation or a wait inside a step.
set -euo pipefail
if [ $# -lt 1 ] || [ ! -x "$1/tests/gpu/gpu_launches_test" ]; then
  echo "usage: scripts/gpu_launches.sh BUILD [LAUNCHER...], with gpu_launches_test built in the folder BUILD" >&2
  exit 2
fi
build=$1
shift
output=$(TRAINBENCH_REQUIRE_GPU=1 "$@" "$build/tests/gpu/gpu_launches_test") || { echo "$output" >&2; exit 1; }
cat <<'HEADER'
| Workload | Precision | launches, fused | with `fusion: off` | ratio |
|---|---|--:|--:|--:|
HEADER
grep '^|' <<<"$output"
