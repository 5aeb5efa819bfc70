#!/usr/bin/env bash
# One command for a machine that has a GPU, its driver and the CUDA libraries, but nothing to install from:
#   scripts/gpu_check.sh prepare [FOLDER]   here: builds everything and packs it, <= 64 MiB (build/gpu-check-packed)
#   FOLDER/gpu_check.sh                     there: runs the stages and writes the results
# The stages come in order of value, each in a process of its own with a time limit, all within 8 minutes; one that
# fails does not stop the next. Results go to $OUT where that is set, else to results/gpu-check-DATE; each file is
# written as its stage runs. The exit status is 1 where a stage failed. On a simulated GPU, which `info` tells, the
# small shapes of the ci suite stand for the quick suite's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# carry_images FROM TO: the IDX files uncompressed, which xz packs better than gzip did, of the training images the
# first half.
carry_images() {
  python3 - "$@" <<'PYTHON'
import gzip, math, pathlib, struct, sys
source, target = map(pathlib.Path, sys.argv[1:])
target.mkdir()
for path in source.glob("*-ubyte.gz"):
    content = gzip.open(path).read()
    header = 4 + 4 * content[3]
    count, *extents = struct.unpack_from(f">{content[3]}I", content, 4)
    if path.name.startswith("train-"):
        count //= 2
    content = content[:4] + struct.pack(">I", count) + content[8 : header + count * math.prod(extents)]
    (target / path.stem).write_bytes(content)
PYTHON
}

prepare() {
  # Any x86-64 CPU with AVX2; the GPU's architectures with their machine code, and PTX for newer ones.
  export TRAINBENCH_PRESET=gpu-check
  # shellcheck source=scripts/lib/setup.sh
  . "$here/lib/setup.sh"
  local folder=${1:-$root/build/gpu-check-packed} stage=$build/payload program data size
  need_packages "${build_packages[@]}"
  build_targets trainbench gpu_tests
  rm -rf "$stage" "$folder"
  mkdir -p "$stage/bin" "$stage/lib" "$stage/tests" "$folder"
  quietly install cmake --install "$build" --prefix "$stage" --strip
  while read -r program; do
    [ -f "$program" ] || continue  # a test's working folder
    quietly strip strip -o "$stage/tests/$(basename "$program")" "$program"
  done < <(cd "$build" && ctest --show-only=json-v1 -L gpu | grep -o "\"$build/tests/[^\"]*\"" | tr -d '"' | sort -u)
  find "$build/tests/gpu" -maxdepth 1 -name '*.so' -exec cp -t "$stage/tests" {} +
  # CUDA's libraries and the C and C++ runtimes are that machine's own.
  ldd "$stage/bin/trainbench" | awk '$3 ~ /^\// { print $3 }' |
    grep -vE '/lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|cuda|cudart|cublas|cublasLt|cudnn|nvidia-ml)\.so' |
    xargs -I{} cp -L {} "$stage/lib/"
  data=/usr/share/datasets/fashion-mnist
  if [ -d "$data" ]; then carry_images "$data" "$stage/fashion-mnist"; fi
  if command -v bible >/dev/null; then bible -f gen1:1-rev22:21 >"$stage/bible.txt"; fi
  cp "$root"/scripts/peers/pytorch*.py "$stage/"
  say "packing"
  # The programs share most of their bytes, the GPU's code: side by side, the dictionary reaches from one to the next.
  (cd "$stage" && tar -cf - -T <(printf 'bin\ntests\n' && ls --ignore=bin --ignore=tests)) |
    xz -T1 --lzma2=preset=6,dict=64MiB >"$folder/payload.tar.xz"
  cp "$here/gpu_check.sh" "$folder/"
  size=$(du -sk "$folder" | cut -f1)
  [ "$size" -le 65536 ] || die 1 "$folder holds $size KiB, more than 65536"
  say "packed $folder, $size KiB; there: bash $(basename "$folder")/gpu_check.sh"
}

budget_s=480
summary=()
failures=0

# stage NAME LIMIT_S COMMAND...: output to NAME.txt, as it comes; the rest of the budget where that is shorter.
stage() {
  local name=$1 limit=$2 begin=$SECONDS left=$((budget_s - SECONDS)) status=0 word
  shift 2
  [ "$limit" -le "$left" ] || limit=$left
  if [ "$limit" -lt 5 ]; then
    word="not run, the time is used up"
    failures=$((failures + 1))
  else
    timeout --kill-after=5 "$limit" "$@" >"$results/$name.txt" 2>&1 </dev/null || status=$?
    case $status in
      0) word=passed ;;
      124 | 137) word="stopped after its $limit s" ;;
      *) word="failed with exit status $status: $(grep -v '^$' "$results/$name.txt" | tail -n 1 | cut -c1-150)" ;;
    esac
    [ "$status" -eq 0 ] || failures=$((failures + 1))
  fi
  summary+=("$(printf '%-15s %4d s  %s' "$name" $((SECONDS - begin)) "$word")")
  printf '%s\n' "${summary[@]}" >"$results/summary.txt"
  echo "${summary[-1]}"
}

# The folders that may hold CUDA's libraries: the toolkit's, and those of NVIDIA's Python packages.
cuda_folders() {
  ls -d /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib /usr/local/nvidia/lib64 2>/dev/null || true
  python3 - 2>/dev/null <<'PYTHON' || true
import glob, site, sys
for folder in {*site.getsitepackages(), *sys.path}:
    for library in glob.glob(folder + "/nvidia/*/lib"):
        print(library)
PYTHON
}

gpu_tests() {
  local program status failed=0
  for program in "$1"/tests/*_test; do
    status=0
    echo "== $(basename "$program")"
    TRAINBENCH_REQUIRE_GPU=1 "$program" --gtest_brief=1 || status=$?
    [ "$status" -eq 0 ] || failed=1
  done
  return $failed
}

run() {
  local images=synthetic data=(--data synthetic) suite=quick device=${TRAINBENCH_GPU_CHECK_DEVICES:-cpu,gpu}
  results=${OUT:-results/gpu-check-$(date +%Y%m%d-%H%M%S)}
  mkdir -p "$results"
  results=$(cd "$results" && pwd)
  payload=$(mktemp -d)
  trap 'rm -rf "$payload"' EXIT
  tar -C "$payload" -xJf "$here/payload.tar.xz" ||
    python3 -m tarfile -e "$here/payload.tar.xz" "$payload"
  if [ -d "$payload/fashion-mnist" ]; then
    images=$payload/fashion-mnist
    data+=(--data "images28=$images" --data "images32=$images")
  fi
  if [ -f "$payload/bible.txt" ]; then data+=(--data "text=$payload/bible.txt"); fi
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$payload/lib:$(cuda_folders | paste -sd:)
  export LD_LIBRARY_PATH
  export PATH=$payload/bin:$PATH

  stage verify 120 trainbench verify --device gpu "${data[@]}"
  stage info 40 trainbench info --json
  if grep -q '"simulated": true' "$results/info.txt"; then
    suite=ci
    echo "note: this GPU is simulated: the ci suite's small shapes are run, and no time says anything"
  fi
  local workload
  for workload in mlp gpt resnet20 lstm diffusion resnet50 gpt2; do
    stage "train-$workload" 60 trainbench run "$suite" --filter "^train/$workload/" --device "$device" "${data[@]}" \
      --out "$results/train-$workload.json"
  done
  stage rest 60 trainbench run "$suite" --filter '^(?!train/)' --device "$device" "${data[@]}" --out "$results/rest.json"
  stage tests 120 bash "$here/gpu_check.sh" tests "$payload"
  if [ -f "$payload/pytorch.py" ] && python3 -c 'import torch' 2>/dev/null; then
    stage pytorch 60 python3 "$payload/pytorch.py" --trainbench "$payload/bin/trainbench" --device cuda --data "$images"
  fi
  echo "$((SECONDS)) s, $failures stages failed; results in $results"
  [ "$failures" -eq 0 ]
}

case ${1:-run} in
  prepare) prepare "${@:2}" ;;
  tests) gpu_tests "$2" ;;
  run) run ;;
  *)
    echo "gpu_check.sh: unknown argument '$1'; it takes prepare [FOLDER], or nothing" >&2
    exit 2
    ;;
esac
