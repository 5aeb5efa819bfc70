#!/usr/bin/env bash
# Judges one git revision by another on this machine: ab.sh REF_A REF_B [ARGUMENTS OF trainbench ab...]
#   scripts/ab.sh origin/main HEAD quick --filter train/mlp --max-slowdown 2%
# Builds both in worktrees of their own, with the same compiler and options, and this checkout, whose `trainbench ab`
# measures the two. Exit status: compare's. What else can be set: scripts/lib/setup.sh.
set -euo pipefail
# shellcheck source=scripts/lib/setup.sh
. "$(dirname "$0")/lib/setup.sh"

[ $# -ge 2 ] || die 2 "ab.sh REF_A REF_B [ARGUMENTS OF trainbench ab...]: two git revisions are needed"
commits=()
for ref in "$1" "$2"; do
  commit=$(git -C "$root" rev-parse --verify --quiet "$ref^{commit}") || die 2 "ab.sh: '$ref' is no revision of this repository"
  commits+=("$commit")
done
shift 2

need_packages "${build_packages[@]}"
work=$(mktemp -d)
repository=$root  # also while a tree is built, whose root is another
clean_up() {
  for side in a b; do git -C "$repository" worktree remove --force "$work/$side" 2>/dev/null || true; done
  rm -rf "$work"
  git -C "$repository" worktree prune
}
trap clean_up EXIT

# build_tree FOLDER: the program in that checkout, which the compiler's cache takes for the same as another.
build_tree() {
  local root=$1 build=$1/build/$preset logs=$1/build/$preset/log
  CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=true build_targets trainbench
}

for side in a b; do
  commit=${commits[0]}
  [ $side = a ] || commit=${commits[1]}
  say "$side is $(git -C "$root" log -1 --format='%h %s' "$commit")"
  git -C "$root" worktree add --quiet --detach "$work/$side" "$commit"
  build_tree "$work/$side"
done
build_tree "$root"

say "measuring (after $((SECONDS - started)) s)"
"$build/trainbench" ab "$work/a/build/$preset/trainbench" "$work/b/build/$preset/trainbench" "$@"
