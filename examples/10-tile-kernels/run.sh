#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles kernels, runs them on the simulator, or on the CPU where TARGET is host, and
# compares what they compute with reference.py. Arrays go to the current folder.
#
#   run.sh TARGET SEED FILE.mlir…      TARGET: sm_80, sm_86, sm_89, sm_90a or host; SEED: of the
#                                     simulator (0: as early as possible); the names of the
#                                     files are those in this folder
#   SIZES=M=64,N=32 run.sh …           with other block sizes
set -eu
case "${1-}" in -h | --help) sed -n 's/^#   //p' "$0" && exit ;; esac
[ $# -ge 3 ] || {
  echo "run.sh: expected TARGET, SEED and kernels, found $# arguments; call it as" >&2
  sed -n 's/^#   /  /p' "$0" >&2
  exit 1
}
here=$(cd "$(dirname "$0")" && pwd)
device=(--target "$1") seed=$2
[ "$1" != host ] || device=(--device host)
[ -z "${SIZES-}" ] || device+=(--block-size "$SIZES")
shift 2

# run FILE KERNEL DTYPE RESULT INPUT…, shapes as 37x200
run() {
  local file=$1 kernel=$2 dtype=$3 result=$4 arguments=() inputs=()
  shift 4
  for shape in "$@"; do
    inputs+=("$kernel.${#inputs[@]}.npy")
    python3 "$here/reference.py" make "${inputs[-1]}" "$dtype" "$shape"
    arguments+=(--arg "in:${inputs[-1]}")
  done
  arguments+=(--arg "out:$dtype[${result//x/,}]:$kernel.out.npy")
  act-run kernel "$file" "${device[@]}" --seed "$seed" "${arguments[@]}" > "$kernel.txt"
  python3 "$here/reference.py" "$kernel" "${inputs[@]}" "$kernel.out.npy"
}

for file in "$@"; do
  case $(basename "$file" .mlir) in
    vector-add) run "$file" add f32 1000 1000 1000 ;;
    softmax) run "$file" softmax f32 37x200 37x200 ;;
    matmul) run "$file" matmul bf16 200x160 200x192 192x160 ;;
    attention) run "$file" attention bf16 240x80 240x80 240x80 240x80 ;;
    matmul-hopper) run "$file" matmul bf16 300x480 300x192 192x480 ;;
    attention-hopper)
      shape=$(grep -om1 "[0-9]*x128xbf16" "$file" | head -n 1)
      shape=${shape%xbf16}
      run "$file" attention bf16 "$shape" "$shape" "$shape" "$shape"
      ;;
    causal-attention) run "$file" causal bf16 240x80 240x80 240x80 240x80 ;;
    *) echo "$file: expected a name of $here/*.mlir" >&2; exit 1 ;;
  esac
done
