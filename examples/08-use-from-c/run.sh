#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the Llama of 06-train-shakespeare to an artifact, train.c to a program, and
# runs it; then compile.c, which does without the artifact. The tools are those in PATH;
# the libraries are looked for beside them.
#
#   run.sh [FOLDER]     files go to build/use-from-c
set -eu
case "${1-}" in -h | --help) sed -n 's/^#   //p' "$0" && exit ;; esac
here=$(cd "$(dirname "$0")" && pwd)
folder=${1-$here/../../build/use-from-c}
library=$(cd "$(dirname "$(command -v act-opt)")/../lib" && pwd)
mkdir -p "$folder"

act-import "$here/../06-train-shakespeare/config.json" --batch 8 --seq 64 -o "$folder/llama.mlir"
act-opt "$folder/llama.mlir" --fuse-attention --emit="$folder/llama.act" -o /dev/null
${CC:-clang-22} -std=c11 -Wall -Wextra -I "$here/../../include" "$here/train.c" \
  -o "$folder/train" -L "$library" -lact_runtime -Wl,-rpath,"$library"
"$folder/train" "$folder/llama.act" "$here/../data/tinyshakespeare.txt"

${CC:-clang-22} -std=c11 -Wall -Wextra -I "$here/../../include" "$here/compile.c" \
  -o "$folder/compile" -L "$library" -lact_compiler -lact_runtime -Wl,-rpath,"$library"
"$folder/compile" "$here/../06-train-shakespeare/config.json" "$here/../data/tinyshakespeare.txt"
