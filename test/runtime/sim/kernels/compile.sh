#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the kernels beside this script to the PTX that is checked in:
#
#   compile.sh [NAME...]        cuda/NAME.cu; all of them when none is named
#
# The first lines of a source say for which architectures ("// targets: sm_80 sm_90a")
# and, when it is not -O3, with which options ("// flags: -O0"). Needs nvcc (the CUDA
# toolkit); with ptxas at hand each file is assembled too. Paths are cut from the
# debug information, and comments of the compiler from the text.
set -euo pipefail
case "${1-}" in -h | --help) sed -n 's/^#   //p' "$0" && exit ;; esac
cd "$(dirname "$0")/cuda"
names=("$@")
[ ${#names[@]} -gt 0 ] || names=($(ls ./*.cu | sed 's|./||; s|\.cu$||'))
out=/tmp/act-kernels # debug sections name the folder: one that says nothing
mkdir -p "$out"
trap 'rm -r "$out"' EXIT
for name in "${names[@]}"; do
  flags=$(sed -n 's|^// flags: ||p' "$name.cu")
  for target in $(sed -n 's|^// targets: ||p' "$name.cu"); do
    # shellcheck disable=SC2086
    cp "$name.cu" ./*.h "$out"
    (cd "$out" && nvcc -ptx -arch="$target" ${flags:--O3 -lineinfo} "$name.cu" -o x.ptx)
    if command -v ptxas >/dev/null; then
      ptxas -arch="$target" "$out/x.ptx" -o "$out/x.cubin"
    fi
    sed -E -e 's|(\.file[^"]*")[^"]*/|\1|' -e '/^[[:space:]]*(\/\/.*)?$/d' \
      "$out/x.ptx" >"$name.$target.ptx"
  done
done
