#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trains the model of config.json on Shakespeare, a letter at a time, draws the
# loss and lets the model write. The tools are those in PATH.
#
#   train.sh [STEPS [FOLDER]]     1000 steps, files go to build/shakespeare
set -eu
case "${1-}" in -h | --help) sed -n 's/^#   //p' "$0" && exit ;; esac
here=$(cd "$(dirname "$0")" && pwd)
steps=${1-1000}
out=${2-$here/../../build/shakespeare}
mkdir -p "$out"

act-import "$here/config.json" --batch 16 --seq 128 -o "$out/model.mlir"
act-opt "$out/model.mlir" --fuse-attention -o "$out/fused.mlir"
act-run train "$out/fused.mlir" --data "$here/../data/tinyshakespeare.txt" \
  --steps "$steps" --lr 3e-3 --eval-every 100 \
  --log "$out/log.jsonl" --log-times --save "$out/weights.safetensors"
python3 "$here/../loss-curve.py" "$out/log.jsonl"
act-run generate "$out/fused.mlir" --init "$out/weights.safetensors" \
  --prompt "ROMEO:" --tokens 200 --temperature 0.8 --seed 1
