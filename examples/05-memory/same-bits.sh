#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trains a few steps under every policy and compares logs and gradients byte by byte.
# The tools are those in PATH.
#
#   same-bits.sh [POLICY...]     all policies when none is named
set -euo pipefail
case "${1-}" in -h | --help) sed -n 's/^#   //p' "$0" && exit ;; esac
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

act-import "$here/../06-train-shakespeare/config.json" --batch 2 --seq 32 -o "$folder/model.mlir"
[ $# -gt 0 ] || set -- selective attention-core attention layer sqrt segments=2
for policy in none "$@"; do
  act-opt "$folder/model.mlir" --fuse-attention --remat=$policy -o "$folder/step.mlir"
  act-run train "$folder/step.mlir" --data "$here/../data/tinyshakespeare.txt" --steps 3 \
    --lr 1e-3 --log "$folder/$policy.jsonl" --dump-gradients "$folder/$policy.gradients" \
    2>"$folder/progress" || { cat "$folder/progress" >&2; exit 1; }
  cmp "$folder/none.jsonl" "$folder/$policy.jsonl"
  cmp "$folder/none.gradients" "$folder/$policy.gradients"
done
echo "the same losses and gradients, byte by byte: none $*"
